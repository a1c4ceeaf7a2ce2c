"""Would the answer be another one if the prior counted half or twice as much?

Where samples are few, or one class is rare, an interval may say what the prior of the error rates says rather
than what the labels do. Power scaling (`jtruth.stats.loo`) shows it without another fit: the draws
of the joint posterior are weighted as if its prior had been raised to the power 1/2 and 2. Where an end of a
headline interval moves by more than a third of the interval's width the answer is called prior-driven, with
both versions. Power 2 is left out where the squared Dirichlet priors would not be laws (concentrations of at
most 1/2: more than two classes). Of rows that are alike (`jtruth.latent.models.alike`) the prior of what they
have in common is scaled; their law given that is part of the model. Of hard and easy samples the prior of
their shares is scaled too, under the random effect that of what everybody feels. The likelihood is raised
to a power too:
an answer that the prior moves and the labels move as well is one about which they disagree, and one that the
labels hardly move is one about which they say little. Where the answer is predictive all this speaks of
the reading of independent errors, whose prior is at hand. With known noise rows are alike, Dirichlet (score
bins of many classes, `table_doubts`), or flat, and then there is nothing to scale. Where a class has a
handful of samples the ends of its intervals are fractions of few, and one step between them can be a third of
the width.

Most sets whose interval misses are not prior-driven and should not be called so: intervals of 95 % miss in 5
of 100 sets where the prior is the very law that the sets were drawn from (`benchmarks/honesty.py`).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from jtruth._validation import present
from jtruth.evaluation.answers import answer_of, headline_of
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.evaluation.assumptions.registry import tables_in
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.parts import Check
from jtruth.labels import Labels
from jtruth.latent.fit import RowLikelihood, chosen_draws
from jtruth.learning.joint.draws import ALIKE_ROWS, LogPrior, row_prior
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.chains import effective_sample_size
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.loo import equal_draws, power_scaled
from jtruth.tables.posterior import estimates
from jtruth.testing.methods import Tested
from jtruth.testing.multiclass.count_draws import CountDraws

NAME = "prior-driven"
POWERS = {0.5: "half", 2.0: "twice"}
MOST = 1 / 3  # of the width, that an end may move
DRIVEN = "{} would be [{:.2f}, {:.2f}] instead of [{:.2f}, {:.2f}] if {} counted {}: prior-driven"
STEADY = "no end moves by more than {:.0%} of its interval if {} counts {}"
BLIND = "the draws do not say what the answer would be if {} counted {} (Pareto k {:.2f})"
_FEWEST = 200  # draws
LABELS_AGAINST = "; the labels disagree: if they counted a quarter more it would be {:.2f} instead of {:.2f}"
LABELS_SILENT = "; the labels say little about it"
_MORE, _SPEAKS = (
    1.25,
    0.2,
)  # power of the likelihood; posterior sds that it moves a mean which labels speak of


def prior_check(data: Inputs, fit: JointPosterior | None) -> tuple[Check, ...]:
    """The check of a joint posterior of one model; nothing where no prior is fixed or can be scaled."""
    if fit is None or fit.counts is None or fit.log_prior is None:
        return ()
    return check_of(_numbers(fit, data), fit, data.level)


def vouched_check(found: Sequence[Member], data: Inputs) -> tuple[Check, ...]:
    """The check of models that somebody vouches for: equally many draws of each, each with its own prior."""
    fits = [m.fit for m in found if m.fit is not None and m.fit.usable]
    if len(fits) < max(len(found), 1) or not all(_long(fit.log_prior) for fit in fits):
        return ()
    if len(fits) == 1:
        return prior_check(data, fits[0])
    what, laws, others = f"the prior of {' and of '.join(m.name for m in found)}", [], []
    for fit in fits:
        prior = present(fit.log_prior, "the log prior")
        powers = [power for power in POWERS if prior.proper(power)]
        each, blind = _versions(_numbers(fit, data), prior, powers, _relative_ess(_chains(fit), prior))
        if blind is not None:
            return (Check(NAME, None, None, "cannot be seen", BLIND.format(what, *blind)),)
        laws.append({name: law for name, (law, _) in each.items()})
        others.append({name: other for name, (_, other) in each.items()})
    names = [n for n in headline_of(data) if all(n in each for each in laws)]
    powers = [p for p in POWERS if all(p in e[n] for e in others for n in names)]
    size = min(law.draws.size for each in laws for law in each.values())
    versions = {}
    for n in names:
        scaled = {p: _as_one([e[n][p] for e in others], size) for p in powers}
        versions[n] = (_as_one([e[n] for e in laws], size), scaled)
    return (versions_check(versions, what, data.level),)


def _as_one(laws: Sequence[DrawsEstimate], size: int) -> DrawsEstimate:
    """`size` draws of each, evenly spaced."""
    chosen = [law.draws[np.linspace(0, law.draws.size - 1, size).astype(int)] for law in laws]
    return DrawsEstimate(np.concatenate(chosen))


def _numbers(fit: JointPosterior, data: Inputs) -> dict[str, np.ndarray]:
    """Draws of the headline metrics of the answer's target, one for each of `fit.matrix_draw`."""
    answer = answer_of(present(tables_in(fit, data), "the count tables")[fit.matrix_draw], data)
    laws = estimates(answer.table, answer.classes, answer.positive)
    return {n: law.draws for n in headline_of(data) if isinstance(law := laws.get(n), DrawsEstimate)}


def _long(prior: LogPrior | None) -> bool:
    """Whether it can be scaled: there are draws enough, and it is not flat."""
    return prior is not None and prior.values.size >= _FEWEST and bool(np.ptp(prior.values) > 0)


def _chains(fit: JointPosterior) -> int:
    return np.unique(fit.chain).size


def check_of(draws: dict[str, np.ndarray], fit: JointPosterior, level: float) -> tuple[Check, ...]:
    """The check of any numbers, `draws` (kept,) by name, one for each of `fit.matrix_draw`."""
    prior = fit.log_prior
    if not fit.usable or prior is None or not _long(prior):  # flat: raising it changes nothing
        return ()
    powers = [power for power in POWERS if prior.proper(power)]
    relative = _relative_ess(_chains(fit), prior)
    check = judged(draws, prior, powers, level, relative)
    name = next((name for name in draws if check.message.startswith(f"{name} would be")), None)
    if name is None or fit.pointwise is None:
        return (check,)
    chosen, log_likelihood = likelihood_of_draws(fit.pointwise, fit.matrix_draw.size)
    said = labels_say(np.asarray(draws[name], np.float64)[chosen], log_likelihood, relative)
    return (check._replace(message=check.message + said),)


def likelihood_of_draws(rows: RowLikelihood, kept: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of the `kept` draws of all chains have a likelihood, and its log, classes summed out."""
    chains, _, size = rows.log_p.shape
    first = np.arange(chains)[:, None] * (kept // chains)
    times = np.bincount(rows.row_of_sample, minlength=size)
    return (first + chosen_draws(chains, kept // chains, size)).ravel(), (rows.log_p @ times).ravel()


def labels_say(values: np.ndarray, log_likelihood: np.ndarray, relative_ess: float = 1.0) -> str:
    """What a prior-driven number's labels say, by raising the likelihood to a power; "" if draws cannot tell.

    Args:
        values, log_likelihood: (draws,) of the number, and of all that was seen.
        relative_ess: of the likelihood.
    """
    there = ~np.isnan(values)
    scaled = power_scaled(log_likelihood, _MORE, relative_ess)
    total = scaled.weights[there].sum()
    if not (scaled.reliable and total > 0 and np.ptp(values[there]) > 0):
        return ""
    mean, then = values[there].mean(), scaled.weights[there] @ values[there] / total
    moved = abs(then - mean) / values[there].std()
    return LABELS_AGAINST.format(then, mean) if moved > _SPEAKS else LABELS_SILENT


def doubts_of(draws: dict[str, np.ndarray], fit: JointPosterior | None, level: float) -> tuple[str, ...]:
    """What the check says where it speaks against these numbers, for answers without a list of checks."""
    checks = () if fit is None else check_of(draws, fit, level)
    return tuple(check.message for check in checks if check.verdict == "does not fit")


def labeler_check(labels: Labels, fit: JointPosterior, level: float) -> tuple[Check, ...]:
    """The check of how many labels of each labeler are right."""
    number = labels.labels_per_labeler()
    if fit.right is None:
        return ()
    names = labels.workers or tuple(range(labels.num_labelers))
    right = fit.right[fit.matrix_draw]
    given = {f"accuracy of labeler {names[t]!r}": right[:, t] / number[t] for t in np.flatnonzero(number)}
    return check_of(given, fit, level)


def table_doubts(
    draws: dict[str, np.ndarray], found: CountDraws, concentration: np.ndarray, level: float
) -> tuple[str, ...]:
    """What the check says against numbers from `count_posterior` whose rows had a fixed Dirichlet prior.

    Args:
        draws: (draws,) by name, of `found`.
        found: draws of counts and rows.
        concentration: (classes, symbols) of the rows. Ones are flat, and no power changes them.
        level: of the intervals.
    """
    prior = row_prior(found.confusion, concentration)
    powers = [power for power in POWERS if prior.proper(power)]
    if np.ptp(prior.values) == 0 or not powers:
        return ()
    number, known = len(found.counts), found.ess[~np.isnan(found.ess)]
    relative = float(np.clip(known.min(initial=number) / number, 1e-3, 1.0))
    check = judged(draws, prior, powers, level, relative)
    return (check.message,) if check.verdict == "does not fit" else ()


def known_noise_check(answer: Tested, names: Sequence[str], level: float) -> tuple[Check, ...]:
    """The check of a count table under known noise; nothing but of rows that are alike (others are flat).

    Args:
        answer: with the table.
        names: metrics to look at.
        level: of the intervals.
    """
    table = answer.table
    if not isinstance(table, CountDraws) or table.log_prior is None or table.log_prior.size < _FEWEST:
        return ()
    prior = LogPrior(table.log_prior, 1.0, (ALIKE_ROWS["classifier"],))
    laws = estimates(table, answer.classes, answer.positive)
    draws = {name: law.draws for name in names if isinstance(law := laws.get(name), DrawsEstimate)}
    return (judged(draws, prior, list(POWERS), level, _relative_ess(table.num_chains, prior)),)


def share_doubts(labels: Labels, fit: JointPosterior, level: float) -> tuple[str, ...]:
    """What the check says of the share of each class in the samples."""
    if fit.class_counts is None:
        return ()
    share = fit.class_counts[fit.matrix_draw] / labels.num_samples
    return doubts_of(
        {f"share of {n!r}": share[:, c] for c, n in enumerate(map(str, labels.class_names))}, fit, level
    )


def judged(
    draws: dict[str, np.ndarray], prior: LogPrior, powers: list[float], level: float, relative_ess: float
) -> Check:
    """The verdict; `draws` (draws,) by metric. The interval that moves most is named."""
    what = ", ".join(prior.covers[:-1]) + " and " * (len(prior.covers) > 1) + prior.covers[-1]
    each, blind = _versions(draws, prior, powers, relative_ess)
    if blind is not None:
        return Check(NAME, None, None, "cannot be seen", BLIND.format(f"the prior of {what}", *blind))
    return versions_check(each, f"the prior of {what}", level)


# By metric: its law, and what it would be under each power.
Versions = Mapping[str, tuple[DrawsEstimate, Mapping[float, DrawsEstimate]]]


def _versions(
    draws: dict[str, np.ndarray], prior: LogPrior, powers: list[float], relative_ess: float
) -> tuple[Versions, tuple[str, float] | None]:
    """The laws under each power; or which power the draws do not reach, and their Pareto k."""
    found = [(power, power_scaled(prior.values, power, relative_ess)) for power in powers]
    bad = next(((power, scaled) for power, scaled in found if not scaled.reliable), None)
    if bad is not None:
        return {}, (POWERS[bad[0]], bad[1].pareto_k)
    each = {}
    for name, values in draws.items():
        values = np.asarray(values, np.float64)
        others = {p: DrawsEstimate(equal_draws(values, scaled.weights, values.size)) for p, scaled in found}
        each[name] = (DrawsEstimate(values), others)
    return each, None


def versions_check(versions: Versions, what: str, level: float) -> Check:
    """The verdict on laws, given what they would be if `what` counted half or twice."""
    most, sentence, powers = 0.0, "", {}
    for name, (law, others) in versions.items():
        (low, high), powers = law.interval(level), others
        for power, other in others.items():
            a, b = other.interval(level)
            moved = max(abs(a - low), abs(b - high))
            share = moved / (high - low) if high > low else 0.0
            if share > most:
                most, sentence = share, DRIVEN.format(name, a, b, low, high, what, POWERS[power])
    if most > MOST:
        return Check(NAME, most, None, "does not fit", sentence)
    said = " or ".join(POWERS[power] for power in powers)
    return Check(NAME, most, None, "fits", STEADY.format(most, what, said))


def _relative_ess(chains: int, prior: LogPrior) -> float:
    """Effective sample size of the log prior over the number of its draws."""
    ess = float(effective_sample_size(prior.values.reshape(chains, -1, 1))[0])
    return float(np.clip(ess / prior.values.size, 1e-3, 1.0)) if np.isfinite(ess) else 1.0
