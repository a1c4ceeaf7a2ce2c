"""Prior sensitivity: how the result changes if the prior has half or twice the weight.

Power scaling (`jtruth.stats.loo`) needs no other fit: draws are reweighted as if their prior were raised to
the power 1/2 or 2 (2 only if the squared Dirichlet priors are proper). If an end of a headline interval moves
by more than a third of the width, the result is called prior-driven, with both versions. For hierarchical
rows the prior of their common part is scaled, for hard and easy samples that of their shares too. The
likelihood is scaled too, to show whether the labels contradict the prior or carry little information.

For predictive results all this is about the model of independent errors. Most sets whose interval misses are
not prior-driven (`benchmarks/honesty.py`).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from jtruth._host import evenly
from jtruth._validation import present
from jtruth.evaluation.assumptions.registry import tables_in
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.parts import Assumption, Check
from jtruth.labels import Labels
from jtruth.latent.fit import RowLikelihood, chosen_draws
from jtruth.learning.joint.draws import ALIKE_ROWS, LogPrior, row_prior
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.chains import effective_sample_size
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.loo import equal_draws, power_scaled
from jtruth.tables.posterior import estimates
from jtruth.testing.methods import Tested
from jtruth.testing.multiclass import CountDraws

NAME = "prior-driven"
POWERS = {0.5: "half", 2.0: "twice"}
MOST = 1 / 3  # of the width, that an end may move
DRIVEN = "{} would be [{:.2f}, {:.2f}] instead of [{:.2f}, {:.2f}] if {} had {} the weight: prior-driven"
STEADY = "no endpoint moves by more than {:.0%} of the width if {} has {} the weight"
BLIND = "the draws cannot show the effect of giving {} {} the weight (Pareto k {:.2f})"
LABELS_AGAINST = "; the labels disagree: with a quarter more weight it would be {:.2f} instead of {:.2f}"
LABELS_SILENT = "; the labels say little about it"
_FEWEST = 200  # draws
_MORE, _SPEAKS = 1.25, 0.2  # power of the likelihood; sds that it moves an informed mean

# Draws of numbers by name, the log prior of each draw, and its effective sample size over their number.
Numbers = Mapping[str, np.ndarray]
Part = tuple[Numbers, LogPrior, float]


def scaled_check(parts: Sequence[Part], level: float, covers: str = "") -> Check:
    """Verdict on numbers of one model or several; `covers` names the scaled parameters, by default all."""
    if not covers:
        *first, last = parts[0][1].covers
        covers = "the prior of " + (f"{', '.join(first)} and {last}" if first else last)
    powers = [power for power in POWERS if all(prior.proper(power) for _, prior, _ in parts)]
    scaled = {power: [power_scaled(prior.values, power, ess) for _, prior, ess in parts] for power in powers}
    for power, weighted in scaled.items():
        for _, shape, reliable in weighted:
            if not reliable:
                return Check(NAME, None, None, "cannot be seen", BLIND.format(covers, POWERS[power], shape))
    most, sentence = 0.0, ""
    for name in (name for name in parts[0][0] if all(name in numbers for numbers, _, _ in parts)):
        draws = [np.asarray(numbers[name], np.float64) for numbers, _, _ in parts]
        low, high = DrawsEstimate(evenly(draws)).interval(level)
        for power, weighted in scaled.items():
            pairs = zip(draws, weighted, strict=True)
            then = DrawsEstimate(evenly([equal_draws(x, weights, x.size) for x, (weights, *_) in pairs]))
            a, b = then.interval(level)
            moved = max(abs(a - low), abs(b - high)) / (high - low) if high > low else 0.0
            if moved > most:
                most, sentence = moved, DRIVEN.format(name, a, b, low, high, covers, POWERS[power])
    if most > MOST:
        return Check(NAME, most, None, "does not fit", sentence)
    text = STEADY.format(most, covers, " or ".join(POWERS[p] for p in powers))
    return Check(NAME, most, None, "fits", text)


def prior_check(data: Inputs, fit: JointPosterior | None) -> tuple[Check, ...]:
    """Check a joint posterior of one model; nothing if no prior can be scaled."""
    if fit is None or fit.counts is None:
        return ()
    return check_of(_headline(fit, data), fit, data.level)


def vouched_check(members: Sequence[Assumption], data: Inputs) -> tuple[Check, ...]:
    """Check the models of a named assumption: equally many draws of each, each with its own prior."""
    fits = [m.fit for m in members if m.fit is not None]
    if len(fits) == len(members) == 1:
        return prior_check(data, fits[0])
    parts = [_of_fit(_headline(fit, data), fit) for fit in fits if fit.usable]
    known = [part for part in parts if part is not None]
    if len(known) < max(len(members), 1):
        return ()
    return (scaled_check(known, data.level, f"the prior of {' and of '.join(m.name for m in members)}"),)


def check_of(draws: Numbers, fit: JointPosterior, level: float) -> tuple[Check, ...]:
    """Check any numbers, `draws` (kept,) by name, one for each of `fit.matrix_draw`."""
    part = _of_fit(draws, fit)
    if not fit.usable or part is None:
        return ()
    check = scaled_check([part], level)
    name = next((name for name in draws if check.message.startswith(f"{name} would be")), None)
    if name is None or fit.pointwise is None:
        return (check,)
    chosen, log_likelihood = likelihood_of_draws(fit.pointwise, fit.matrix_draw.size)
    of_labels = labels_say(np.asarray(draws[name], np.float64)[chosen], log_likelihood, part[2])
    return (check._replace(message=check.message + of_labels),)


def _part(draws: Numbers, prior: LogPrior | None, chains: int) -> Part | None:
    """Draws with the prior that is scaled; None if it is flat, or draws are few."""
    if prior is None or prior.values.size < _FEWEST or not np.ptp(prior.values) > 0:
        return None
    ess = float(effective_sample_size(prior.values.reshape(chains, -1, 1))[0]) / prior.values.size
    return draws, prior, float(np.clip(ess, 1e-3, 1.0)) if np.isfinite(ess) else 1.0


def _of_fit(draws: Numbers, fit: JointPosterior) -> Part | None:
    return _part(draws, fit.log_prior, np.unique(fit.chain).size)


def _headline(fit: JointPosterior, data: Inputs) -> dict[str, np.ndarray]:
    tables = present(tables_in(fit, data), "the count tables")
    return _drawn(estimates(data.tables(tables[fit.matrix_draw]), *data.answered), data.headline)


def _drawn(dists: Mapping[str, Estimate], names: Sequence[str]) -> dict[str, np.ndarray]:
    return {name: dist.draws for name in names if isinstance(dist := dists.get(name), DrawsEstimate)}


def likelihood_of_draws(rows: RowLikelihood, kept: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the `kept` draws of all chains with a likelihood, and its log, classes summed out."""
    chains, _, size = rows.log_p.shape
    first = np.arange(chains)[:, None] * (kept // chains)
    times = np.bincount(rows.row_of_sample, minlength=size)
    return (first + chosen_draws(chains, kept // chains, size)).ravel(), (rows.log_p @ times).ravel()


def labels_say(values: np.ndarray, log_likelihood: np.ndarray, relative_ess: float = 1.0) -> str:
    """Effect of the labels on a prior-driven number, by a power of their likelihood; "" if unknown."""
    there = ~np.isnan(values)
    weights, _, reliable = power_scaled(log_likelihood, _MORE, relative_ess)
    total = weights[there].sum()
    if not (reliable and total > 0 and np.ptp(values[there]) > 0):
        return ""
    mean, then = values[there].mean(), weights[there] @ values[there] / total
    moved = abs(then - mean) / values[there].std()
    return LABELS_AGAINST.format(then, mean) if moved > _SPEAKS else LABELS_SILENT


def labeler_check(labels: Labels, fit: JointPosterior, level: float) -> tuple[Check, ...]:
    """Check the accuracy of each labeler."""
    number = labels.labels_per_labeler()
    if fit.right is None:
        return ()
    names, right = labels.worker_names, fit.right[fit.matrix_draw]
    shares = {f"accuracy of labeler {names[t]!r}": right[:, t] / number[t] for t in np.flatnonzero(number)}
    return check_of(shares, fit, level)


def known_noise_check(answer: Tested, names: Sequence[str], level: float) -> tuple[Check, ...]:
    """Check a count table under known noise; only for hierarchical rows, because others have a flat prior."""
    table = answer.table
    if not isinstance(table, CountDraws) or table.log_prior is None:
        return ()
    draws = _drawn(estimates(table, answer.classes, answer.positive), names)
    prior = LogPrior(table.log_prior, 1.0, (ALIKE_ROWS["classifier"],))
    part = _part(draws, prior, table.num_chains)
    return () if part is None else (scaled_check([part], level),)


def _doubts(checks: Sequence[Check]) -> tuple[str, ...]:
    return tuple(check.message for check in checks if check.verdict == "does not fit")


def doubts_of(draws: Numbers, fit: JointPosterior | None, level: float) -> tuple[str, ...]:
    """Warnings of the check about numbers of a fit; see `check_of`."""
    return () if fit is None else _doubts(check_of(draws, fit, level))


def share_doubts(labels: Labels, fit: JointPosterior, level: float) -> tuple[str, ...]:
    """Warnings of the check about the share of each class in the samples."""
    if fit.class_counts is None:
        return ()
    share = (fit.class_counts[fit.matrix_draw] / labels.num_samples).T
    named = zip(map(str, labels.class_names), share, strict=True)
    return doubts_of({f"share of {name!r}": draws for name, draws in named}, fit, level)


def table_doubts(
    draws: Numbers, table: CountDraws, concentration: np.ndarray, level: float
) -> tuple[str, ...]:
    """Warnings of the check about numbers from `count_posterior` with a fixed Dirichlet prior of the rows."""
    prior = row_prior(table.confusion, concentration)
    if np.ptp(prior.values) == 0:
        return ()
    number, known = len(table.counts), table.ess[~np.isnan(table.ess)]
    relative = float(np.clip(known.min(initial=number) / number, 1e-3, 1.0))
    return _doubts([scaled_check([(draws, prior, relative)], level)])
