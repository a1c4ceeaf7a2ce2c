"""Parametric bootstrap of the checks of learned error rates, and their statistics.

A check with several components (one for each class, labeler or pair) uses the largest standardised one. The
observed set is included in mean and standard deviation, which makes it exchangeable with the simulated ones
if the model holds.

A statistic is a function of fitted sets, with a row for every set. All but `patterns` and `prior_ratio` are
sums of products of residuals 1(label is not c) - P(it is not c), each weighted with the posterior of c: the
score of a model with dependence between two raters of a sample. The classifier is the last rater.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Float

from jtruth._random import Key, host_rng
from jtruth.evaluation.checks import label_sets as sets
from jtruth.evaluation.checks.label_sets import Parameters, Sets, modes, sum_by
from jtruth.labels import Labels

_ENTRIES = 3_000_000  # labels of all simulated sets together, of up to four classes
_USUAL, _MANY = 4, 16  # classes: beyond the first a label counts as more; beyond the second more is allowed
_FEWEST, _MOST = 99, 399  # simulated sets
_BATCH = 400_000  # labels handled at once
_RATIOS = ("label patterns", "given prior")  # large is bad, small is good
ALIKE = "labelers alike"
Statistic = Callable[[Sets], np.ndarray | None]  # (sets, components); None: the design does not allow it
# Of one check: the p-value of each set among all, the observed one first; the component that stands out; and
# its value, in standard deviations from what is expected (of a likelihood ratio the ratio itself).
Component = tuple[np.ndarray, int, float]


def bootstrap(
    raters: Labels,
    start: Parameters,
    key: Key,
    *,
    gold: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> tuple[dict[str, Component], dict[str, float], Sets]:
    """Checks of independent errors by name, their adjusted p-values, and the labels that were used."""
    rng = host_rng(key, "model bootstrap")
    real = sets.with_pairs(sets.observed(*_some_samples(raters, gold, rng)))
    num = int(np.clip(_ENTRIES // real.size, _FEWEST, _MOST))
    values = _sets(real, start, STATISTICS, num, rng, prior)
    if "pairwise agreement" in values:  # sums of squares of the standardised residuals of each rater's pairs
        pairs = values["pairwise agreement"]
        sd, member = pairs.std(axis=0), (real.pairs[:, :, None] == np.arange(real.num_raters)).any(axis=1)
        z = (pairs - pairs.mean(axis=0)) / np.where(sd > 0, sd, np.inf)
        values["labeler misfit"] = z**2 @ member
    checks: dict[str, Component] = {}
    for name, statistic in values.items():
        if name in _RATIOS:
            checks[name] = p_values(statistic[:, 0]), 0, float(statistic[0, 0])
        elif (component := largest(statistic)) is not None:
            checks[name] = component
    adjusted = _adjusted({name: ranks for name, (ranks, _, _) in checks.items()})
    if real.num_raters > 2:
        values = _sets(real, start, {ALIKE: one_matrix}, min(num, _FEWEST), rng, prior, one_matrix=True)
        if (component := largest(values[ALIKE])) is not None:
            checks[ALIKE] = component
    return checks, adjusted, real


def _sets(
    real: Sets,
    start: Parameters,
    statistics: Mapping[str, Statistic],
    num: int,
    rng: np.random.Generator,
    prior: np.ndarray | None,
    *,
    one_matrix: bool = False,
) -> dict[str, np.ndarray]:
    """Statistics of the observed set and, below it, of `num` sets drawn from its mode."""

    def fits() -> Iterator[Sets]:
        mode = modes(real, start, prior=prior, one_matrix=one_matrix, max_cycles=300, tol=1e-6)
        yield mode
        step = max(1, _BATCH // real.size)
        for done in range(0, num, step):
            drawn = sets.simulate(real, mode.parameters, np.exp(mode.log_p[0]), min(step, num - done), rng)
            yield modes(drawn, mode.parameters, prior=prior, one_matrix=one_matrix)

    found: dict[str, list[np.ndarray]] = {}
    for fit in fits():
        for name, of in statistics.items():
            if (values := of(fit)) is not None:
                found.setdefault(name, []).append(values)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def largest(values: np.ndarray) -> Component | None:
    """The largest standardised component of each set of (sets, components); None if nothing varies."""
    sd = values.std(axis=0)
    alive = sd > 1e-6 * max(1.0, float(np.abs(values).max()))
    if not alive.any():
        return None
    z = np.where(alive, (values - values.mean(axis=0)) / np.where(alive, sd, 1.0), 0.0)
    worst = int(np.abs(z[0]).argmax())
    return p_values(np.abs(z).max(axis=1)), worst, float(z[0, worst])


def p_values(size: np.ndarray) -> np.ndarray:
    """For every set the share of the sets, itself included, with a statistic at least as large."""
    return (size[None, :] >= size[:, None] - 1e-12).mean(axis=1)


def _adjusted(ranks: dict[str, np.ndarray]) -> dict[str, float]:
    """Westfall and Young: how often the smallest p-value of a set is at most each of the first set's."""
    if not ranks:
        return {}
    smallest = np.min(list(ranks.values()), axis=0)
    return {name: float((smallest <= p[0] + 1e-12).mean()) for name, p in ranks.items()}


def _some_samples(
    raters: Labels, gold: np.ndarray | None, rng: np.random.Generator
) -> tuple[Labels, np.ndarray | None]:
    """A random part of the samples, if there are too many labels for the bootstrap."""
    classes = raters.num_classes
    most = int(_ENTRIES / _FEWEST / max(classes / _USUAL, 1) * max(classes / _MANY, 1))
    complete = classes ** min(raters.num_labelers, 30) <= raters.num_samples
    if len(raters.sample) <= most or complete:
        return raters, gold
    size = max(1, int(raters.num_samples * most / len(raters.sample)))
    chosen = np.sort(rng.choice(raters.num_samples, size, replace=False))
    return raters.restrict(chosen), None if gold is None else gold[chosen]


def patterns(fit: Sets) -> np.ndarray | None:
    """Likelihood ratio G2 of the pattern counts, (sets, 1), if every possible pattern is a row."""
    if fit.kind is None:
        return None
    p = np.exp(fit.log_p)
    expected = p / sum_by(p, fit.kind, fit.kind_size.size)[:, fit.kind] * fit.kind_size[fit.kind]
    ratio = np.where(fit.weight > 0, fit.weight / np.maximum(expected, 1e-300), 1.0)
    return 2 * (fit.weight * np.log(ratio)).sum(axis=1, keepdims=True)


def agreement(fit: Sets) -> np.ndarray | None:
    """Agreements minus expected agreements of every pair of raters, (sets, pairs)."""
    if not len(fit.pairs):
        return None
    theta, (pair, first, second) = fit.matrices, fit.met
    same = (fit.label[:, first] == fit.label[:, second]).astype(np.float64)
    by_class = np.einsum("spck,spck->spc", theta[:, fit.pairs[:, 0]], theta[:, fit.pairs[:, 1]])
    chance = np.einsum("sc,spc->sp", fit.prior, by_class)[:, pair]
    row = fit.row[first]
    known = fit.known[row]
    chance = np.where(known >= 0, by_class[:, pair, np.maximum(known, 0)], chance)
    weight, size = fit.weight[:, row], len(fit.pairs)
    spread = np.sqrt(sum_by(chance * (1 - chance) * weight, pair, size))
    return sum_by((same - chance) * weight, pair, size) / np.maximum(spread, 1e-12)


def labelers_together(fit: Sets) -> np.ndarray | None:
    """Products of the residuals of two labelers of a sample, by true class, (sets, classes)."""
    if fit.num_raters <= 2:
        return None
    squares = fit.per_row(fit.entry**2) - fit.classifier**2
    return _studentised(fit.mass, (fit.labelers**2 - squares) / 2)


def classifier_with_difficulty(fit: Sets) -> np.ndarray:
    """The classifier's residual times the mean one of the sample's labelers, by class, (sets, classes)."""
    number = np.maximum(fit.per_row(np.ones(fit.row.size)) - 1, 1)
    return _studentised(fit.mass, fit.classifier * fit.labelers / number)


def classifier_with_labeler(fit: Sets) -> np.ndarray:
    """The classifier's residual times that of one labeler, (sets, labelers)."""
    row = fit.row
    term, weight = fit.entry * fit.classifier[:, :, row], fit.mass[:, :, row]
    total = fit.per_rater((weight * term).sum(axis=0))
    spread = np.sqrt(fit.per_rater((weight * term**2).sum(axis=0)))
    return (total / np.maximum(spread, 1e-12))[:, :-1]


def prior_ratio(fit: Sets) -> np.ndarray | None:
    """2 (log-likelihood with a free prior - with the given one), (sets, 1)."""
    if fit.fixed is None:
        return None
    free = modes(fit, fit.parameters, max_cycles=40)
    return 2 * (fit.weight * (free.log_p - fit.log_p)).sum(axis=1, keepdims=True)


def one_matrix(fit: Sets) -> np.ndarray:
    """Residuals of each labeler by true class, with one matrix for all, (sets, labelers * classes)."""
    weighted = fit.entry * fit.mass[:, :, fit.row]
    return np.concatenate([fit.per_rater(of_class)[:, :-1] for of_class in weighted], axis=1)


def _studentised(weight: np.ndarray, term: np.ndarray) -> np.ndarray:
    """Sums of weight * term over the roots of those of weight * term^2, (sets, classes)."""
    spread = np.sqrt((weight * term**2).sum(axis=2))
    return ((weight * term).sum(axis=2) / np.maximum(spread, 1e-12)).T


STATISTICS: dict[str, Statistic] = {
    "label patterns": patterns,
    "pairwise agreement": agreement,
    "labelers share errors": labelers_together,
    "classifier and hard samples": classifier_with_difficulty,
    "classifier and single labelers": classifier_with_labeler,
    "given prior": prior_ratio,
}


def holm(p_values: Float[np.ndarray, " checks"]) -> Float[np.ndarray, " checks"]:
    """p-values adjusted for all checks (Holm)."""
    order = np.argsort(p_values, kind="stable")
    stepwise = np.minimum(p_values[order] * np.arange(p_values.size, 0, -1), 1.0)
    return np.maximum.accumulate(stepwise)[np.argsort(order)]
