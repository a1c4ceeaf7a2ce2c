"""p-values of the checks by parametric bootstrap.

Label sets are drawn from the fitted model and fitted again, so that a statistic is compared with what it is
when the model is true and its parameters had to be learned. A check with several components (one for each
class, labeler or pair) takes the largest standardised one; the observed set is one of those that mean and
standard deviation come from, which makes it exchangeable with the others when the model holds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jtruth._random import Key, host_rng
from jtruth.evaluation.checks import _statistics as statistics
from jtruth.evaluation.checks._fit import Fitted, Modes
from jtruth.evaluation.checks.sets import Design, Parameters, Sets, observed, simulate
from jtruth.labels import Labels

_ENTRIES = 3_000_000  # labels of all simulated sets together
_FEWEST, _MOST = 99, 399  # simulated sets
_BATCH = 400_000  # labels handled at once
_SIZES = ("patterns", "prior")  # likelihood ratios: large is bad, small is good


class Component(NamedTuple):
    """One check: its p-value, and which component stands out."""

    p_value: float
    worst: int  # component with the largest standardised value
    value: float  # that value: standard deviations from what is expected (patterns: the statistic itself)


class Largest(NamedTuple):
    """Largest standardised component of every set, and which it is in the first set."""

    size: np.ndarray  # (sets,)
    worst: int
    value: float  # with its sign


class Bootstrap(NamedTuple):
    """All checks of one label set."""

    checks: dict[str, Component]
    adjusted: dict[str, float]  # p-values for all checks together: below .05 in 5 % of the sets that fit
    pairs: np.ndarray  # (pairs, 2) raters behind the components of "agreement"
    num_samples: int  # samples that were looked at
    design: Design


def bootstrap(
    raters: Labels,
    start: Parameters,
    key: Key,
    *,
    gold: np.ndarray | None = None,
    order: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> Bootstrap:
    """Check the model of independent errors on labels of all raters, the classifier last.

    Args:
        raters: labels, the classifier's predictions as the last rater's.
        start: parameters near the mode.
        key: JAX random key.
        gold: (samples,) known classes, -1 elsewhere.
        order: (samples,) when each sample was labelled, from -1 to 1; adds the check "drift".
        prior: (classes,) class prior that is held fixed.
    """
    rng = host_rng(key, "model bootstrap")
    raters, gold, order = _some_samples(raters, gold, order, rng)
    real = observed(raters, gold, order)
    num = int(np.clip(_ENTRIES // real.design.row.size, _FEWEST, _MOST))
    pairs = statistics.rater_pairs(real)

    def every(sets: Sets, fitted: Fitted) -> dict[str, np.ndarray]:
        found = _statistics(sets, fitted, pairs)
        if prior is not None:
            found["prior"] = _prior_ratio(sets, fitted)
        return found

    values = _sets(real, start, every, num, rng, prior)
    if len(pairs.raters):
        values["misfit"] = _by_rater(values["agreement"], pairs.raters, real.design.num_raters)
    checks, ranks = {}, {}
    for name, one in values.items():
        found = largest(one) if name not in _SIZES else Largest(one[:, 0], 0, float(one[0, 0]))
        if found is not None:
            ranks[name] = p_values(found.size)
            checks[name] = component(found)
    adjusted = _adjusted(ranks)
    if real.design.num_raters > 2:
        alike = _sets(real, start, _alike, min(num, _FEWEST), rng, prior, alike=True)["alike"]
        found = largest(alike)
        if found is not None:
            checks["alike"] = component(found)
    return Bootstrap(checks, adjusted, pairs.raters, raters.num_samples, real.design)


def _sets(
    real: Sets,
    start: Parameters,
    measure: Callable[[Sets, Fitted], dict[str, np.ndarray]],
    num: int,
    rng: np.random.Generator,
    prior: np.ndarray | None,
    *,
    alike: bool = False,
) -> dict[str, np.ndarray]:
    """Statistics of the observed set and, below it, of `num` sets drawn from its mode."""
    mode = Modes(real, prior, alike=alike).fit(start, max_cycles=300, tol=1e-6)
    parts = [measure(real, mode)]
    left, step = num, max(1, _BATCH // real.design.row.size)
    while left > 0:
        drawn = simulate(real, mode.parameters, np.exp(mode.log_p[0]), min(step, left), rng)
        parts.append(measure(drawn, Modes(drawn, prior, alike=alike).fit(mode.parameters)))
        left -= step
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _alike(sets: Sets, fitted: Fitted) -> dict[str, np.ndarray]:
    return {"alike": statistics.alike(sets, statistics.residuals(sets, fitted))}


def _prior_ratio(sets: Sets, fitted: Fitted) -> np.ndarray:
    """2 (log-likelihood with the prior free - with the prior held), (sets, 1)."""
    free = Modes(sets).fit(fitted.parameters, max_cycles=40)
    return 2 * (sets.weight * (free.log_p - fitted.log_p)).sum(axis=1, keepdims=True)


def _by_rater(agreement: np.ndarray, pairs: np.ndarray, num_raters: int) -> np.ndarray:
    """Sum of squared standardised residuals of each rater's pairs, (sets, raters)."""
    sd = agreement.std(axis=0)
    z = (agreement - agreement.mean(axis=0)) / np.where(sd > 0, sd, np.inf)
    member = (pairs[:, :, None] == np.arange(num_raters)).any(axis=1)
    return z**2 @ member


def _statistics(sets: Sets, fitted: Fitted, pairs: statistics.Pairs) -> dict[str, np.ndarray]:
    """Every statistic that the design allows, (sets, components)."""
    found = {}
    if sets.design.kind is not None:
        found["patterns"] = statistics.patterns(sets, fitted)
    r = statistics.residuals(sets, fitted)
    if len(pairs.raters):
        found["agreement"] = statistics.agreement(sets, fitted, pairs)
    if sets.design.num_raters > 2:
        found["labelers together"] = statistics.labelers_together(sets, r)
    found["difficulty"] = statistics.classifier_with_difficulty(sets, r)
    found["single labelers"] = statistics.classifier_with_labeler(sets, r)
    if sets.design.order is not None:
        found["drift"] = statistics.drift(sets, r)
    return found


def largest(values: np.ndarray) -> Largest | None:
    """Over the components of (sets, components) values; None where nothing varies."""
    sd = values.std(axis=0)
    alive = sd > 1e-6 * max(1.0, float(np.abs(values).max()))
    if not alive.any():
        return None
    z = np.where(alive, (values - values.mean(axis=0)) / np.where(alive, sd, 1.0), 0.0)
    worst = int(np.abs(z[0]).argmax())
    return Largest(np.abs(z).max(axis=1), worst, float(z[0, worst]))


def component(found: Largest) -> Component:
    """With the p-value of the first set."""
    return Component(float(p_values(found.size)[0]), found.worst, found.value)


def p_values(size: np.ndarray) -> np.ndarray:
    """Share of the sets, itself among them, whose statistic is at least as large, for every set."""
    return (size[None, :] >= size[:, None] - 1e-12).mean(axis=1)


def _adjusted(ranks: dict[str, np.ndarray]) -> dict[str, float]:
    """Westfall and Young: how often the smallest p-value of a set is as small as each of the first set's."""
    if not ranks:
        return {}
    smallest = np.min(list(ranks.values()), axis=0)
    return {name: float((smallest <= p[0] + 1e-12).mean()) for name, p in ranks.items()}


def _some_samples(
    raters: Labels, gold: np.ndarray | None, order: np.ndarray | None, rng: np.random.Generator
) -> tuple[Labels, np.ndarray | None, np.ndarray | None]:
    """A random part of the samples, where labels are so many that the bootstrap would take long."""
    most = _ENTRIES // _FEWEST
    complete = raters.num_classes ** min(raters.num_labelers, 30) <= raters.num_samples and order is None
    if len(raters.sample) <= most or complete:
        return raters, gold, order
    size = max(1, int(raters.num_samples * most / len(raters.sample)))
    chosen = np.sort(rng.choice(raters.num_samples, size, replace=False))
    gold, order = (None if a is None else a[chosen] for a in (gold, order))
    return raters.restrict(chosen), gold, order
