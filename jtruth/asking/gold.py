"""Which samples to find the truth of next, and how many would be enough.

The gold that PPI++ and the pooled rule (`gold`) take must be a probability sample: every sample had a known
chance to be asked. The most uncertain ones alone are no such sample: they say nothing of the others, and
mistakes that the class posterior does not know of stay hidden. `ask_next` asks at random, but for uncertain
samples more often, and hands over the chances.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth._random import host_rng
from jtruth.io.gold import Gold
from jtruth.stats.estimates import Estimate
from jtruth.stats.ppi import GoldSample, PpiEstimate
from jtruth.stats.student import StudentEstimate
from jtruth.stats.student_t import t_quantile
from jtruth.tables.metrics import expected_table, named_metric

_UNIFORM = 0.2  # share of the samples to ask that is spread evenly, whatever the model thinks


class GoldRequest(NamedTuple):
    """Samples to ask for, and what to remember about the asking."""

    samples: Int[np.ndarray, " asked"]  # indices, the most useful first
    inclusion: Float[np.ndarray, " samples"]  # of old and new gold together: hand it over with the gold
    reduction: Float[np.ndarray, " samples"]  # expected drop of the metric's variance by asking this sample

    __repr__ = one_line


def gold_to_halve(found: PpiEstimate, sample: GoldSample, level: float = 0.95) -> int:
    """How many more random gold answers halve the width of the PPI++ interval.

    With n of N samples gold and d(n) degrees of freedom the width is proportional to
    t(d(n)) sqrt(1/n - 1/N), because residuals keep their spread; the least n' with half of it is searched.
    At n' = N the width is 0. 0 if nothing is left to halve.
    """
    size, now = sample.num_samples, sample.chosen.size
    if found.standard_error == 0 or size == now:
        return 0
    further = np.arange(now, size + 1)
    freedom, shrink = _with_more(found, sample, further)
    width = -t_quantile((1 - level) / 2, freedom) * shrink
    return int(further[np.argmax(width <= 0.5 * width[0])] - now)


def gold_that_halves(
    law_of: Callable[[StudentEstimate], Estimate], law: Estimate, found: PpiEstimate, sample: GoldSample,
    level: float = 0.95,
) -> int:  # fmt: skip
    """How many more random gold answers halve the width of a law of which PPI++ is only a part.

    What PPI++ will say is not known: it is taken to say the mean of the law as it is, with the error and the
    freedom of so much gold. The least number is found by bisection, because more gold makes a law narrower.

    Args:
        law_of: the law if PPI++ says this.
        law: as it is.
        found, sample, level: as in `gold_to_halve`.
    """
    size, now = sample.num_samples, sample.chosen.size
    ends = law.interval(level)
    if size == now or not ends.high > ends.low:
        return 0
    error = found.standard_error if np.isfinite(found.standard_error) else float("nan")

    def wide(number: int) -> bool:
        freedom, shrink = _with_more(found, sample, number)
        measured = replace(found.law, centre=law.mean, scale=float(error * shrink), freedom=float(freedom))
        after = law_of(measured).interval(level)
        return after.high - after.low > 0.5 * (ends.high - ends.low)

    if np.isnan(error):  # no gold tells anything: nobody knows what gold is worth here
        return 0
    low, high = now, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high - now


def _with_more(found: PpiEstimate, sample: GoldSample, further: np.ndarray | int) -> tuple[Any, Any]:
    """Degrees of freedom with so many gold samples in all, and the standard error as a share of today's."""
    now, size = sample.chosen.size, sample.num_samples
    telling = max(found.num_informative, 1) / now  # share of gold that tells something, taken to stay
    fitted = max(found.num_informative - found.law.freedom, 0.0)
    freedom = np.maximum(telling * further - fitted, 1.0)
    return freedom, np.sqrt((1 / further - 1 / size) / (1 / now - 1 / size))


def ask_next(
    y_pred: Int[np.ndarray, " samples"],
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Gold,
    num: int,
    *,
    key: Any,
    classes: Sequence[str],
    positive: int = 1,
    metric: str = "accuracy",
) -> GoldRequest:
    """Choose samples to get gold for, uncertain ones more often, with known probabilities.

    To know sample i removes the variance of what it adds to the metric, Var(u_i), where u = (a - R b)/sum(b)
    is the metric's linear form and y_i ~ class_posterior[i]. For accuracy this is q (1 - q)/N^2 with q the
    probability that the prediction is right. Asking for the largest would leave PPI++ with a sample that
    stands for nothing else; asked with probability proportional to sd(u_i) (the best allocation by Neyman)
    gold stays a probability sample. A fifth of the questions is spread evenly, for mistakes that the class
    posterior does not know of.

    With 20 random gold answers and 40 asked ones nominal 95 % intervals of PPI++ covered accuracy in 94.4,
    precision in 96.3, recall in 95.2 and F1 in 94.2 % (+- .7) of 900 or more simulated sets of 400. Of recall
    they were no narrower than those of 60 random ones, which covered 90.7 %.

    Args:
        y_pred, class_posterior: as in `pooled_gold`; the class posterior has not seen the gold.
        gold: known classes, -1 where unknown, with each sample's probability to have been asked for it; the
            same for all if `inclusion` is None.
        num: how many new samples.
        key: JAX random key; the choice is a random one.
        classes, positive, metric: see `jtruth.tables.metrics.named_metric`.

    Returns:
        `GoldRequest`. Ask for all of `samples`, and hand `inclusion` over with the gold.

    Raises:
        ValueError: more samples wanted than there are without gold.
    """
    known = np.asarray(gold.classes) >= 0
    left = np.flatnonzero(~known)
    if not 1 <= num <= left.size:
        raise ValueError(f"num must be 1 to {left.size}, the number of samples without gold; got {num}")
    _, variance = influences(y_pred, class_posterior, classes, positive, metric)
    chance = _chances(np.sqrt(variance), left, num)
    rng = host_rng(key, "ask")
    order = rng.permutation(left)
    place = (rng.random() + np.arange(num)) * (chance[order].sum() / num)
    chosen = order[np.minimum(np.searchsorted(np.cumsum(chance[order]), place), order.size - 1)]
    given = np.full(known.size, known.mean()) if gold.inclusion is None else np.asarray(gold.inclusion)
    both = 1 - (1 - given) * (1 - chance)
    return GoldRequest(chosen[np.argsort(-variance[chosen], kind="stable")], both, variance)


def influences(
    y_pred: Int[np.ndarray, " samples"], class_posterior: Float[np.ndarray, "samples classes"],
    classes: Sequence[str], positive: int, metric: str,
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]:  # fmt: skip
    """Mean and variance, over its unknown class, of what each sample adds to a metric's linear form."""
    table = expected_table(class_posterior, y_pred, len(classes))
    terms = named_metric(metric, classes, positive).terms(table).of_samples(y_pred)
    expected = [(part * class_posterior).sum(axis=1) for part in terms]
    total = expected[1].sum()
    influence = (terms.numerator - expected[0].sum() / total * terms.denominator) / total
    mean = (influence * class_posterior).sum(axis=1)
    return mean, (class_posterior * (influence - mean[:, None]) ** 2).sum(axis=1)


def _chances(spread: np.ndarray, left: np.ndarray, num: int) -> np.ndarray:
    """Probability of every sample to be asked as if none had gold; those of `left` sum to num."""
    even = _UNIFORM / left.size
    total = spread[left].sum()
    want = even + (1 - _UNIFORM) * spread / total if total > 0 else np.full(spread.size, 1 / left.size)
    return np.minimum(1.0, scale_that_sums(want[left], 0.0, 1.0, num) * want)


def scale_that_sums(want: np.ndarray, least: Any, most: Any, total: int) -> float:
    """The factor by which `want`, clipped to `least` and `most`, sums to `total`; by bisection: it grows."""
    low, high = 0.0, 2.0 * float((most / want).max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.clip(middle * want, least, most).sum() < total else (low, middle)
    return high
