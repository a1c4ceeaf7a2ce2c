"""Which samples to find the truth of next, and how many would be enough.

The gold that corrects labels must be a probability sample: every sample had a known chance to be asked. The
most uncertain ones alone are no such sample: they say nothing of the others. `ask_next` asks at random, but
for uncertain samples more often, and hands over the chances.

`ask_strata` asks for all at once. Samples are cut by what the classifier says and, inside that, by the margin
by which labels speak for it (the class posterior of what is predicted less that of the likeliest other
class). Inside a stratum gold is a simple random sample; how many answers a stratum gets is Neyman's
allocation,

    n_h ~ N_h sd_h,     sd_h^2 = mean over the stratum of Var(u_i) + variance of E u_i in it,

with u the metric's linear form (`influences`) and y_i ~ class_posterior[i]. A fifth of the answers goes to
strata by their sizes, for mistakes that the class posterior does not know of, and every stratum gets three
(or all of its samples), so that its spread can be seen. The estimate is PPI++ (`jtruth.stats.ppi`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._arrays import systematic
from jtruth._random import host_rng
from jtruth._validation.words import number_of
from jtruth.answers import Answer, Column, Document, Queue, facts
from jtruth.io.gold import Gold
from jtruth.stats.ppi import GoldSample, PpiEstimate
from jtruth.stats.student import t_quantile
from jtruth.tables.metrics import expected_table, named_metric

_EVEN = 0.2  # share of the answers that is spread evenly over the samples, whatever the model thinks


@dataclass(frozen=True, repr=False)
class GoldRequest(Answer):
    """Samples to find out the truth of, all of them, and what to remember about the asking."""

    samples: Int[np.ndarray, " asked"]  # indices; one by one the most useful first
    inclusion: Float[np.ndarray, " samples"]  # chance of each to be among old and new gold: hand it over
    reduction: Float[np.ndarray, " samples"]  # expected drop of the metric's variance by asking this sample
    strata: Int[np.ndarray, " samples"] | None = None  # in which the asked ones are a random sample
    names: tuple[str, ...] = ()  # what each stratum is
    to_halve: int | None = None  # more random gold answers that would halve the interval, where that is known

    def blocks(self) -> Document:
        """The question, the answer and what stands behind it, for all faces."""
        rows = [{"sample": int(i), "inclusion": float(self.inclusion[i]), "drop": float(self.reduction[i])}
                for i in self.samples]  # fmt: skip
        columns = [Column("inclusion", "chance to be asked"), Column("drop", "drop of variance", form=".2e")]
        if self.strata is not None:
            rows = [row | {"stratum": self.names[self.strata[row["sample"]]]} for row in rows]
            columns.append(Column("stratum", "stratum"))
        design = "uncertain ones more often" if self.strata is None else "inside strata of the same chance"
        sentence = f"Find out the truth of these {number_of(len(rows), 'sample')}, drawn at random, {design}."
        if self.to_halve:
            sentence += f" About {self.to_halve} more gold answers would halve the interval."
        blocks = (
            Queue("samples", "The truth of these is asked for", "sample", tuple(columns), rows),
            facts(chances=self.inclusion, to_halve=self.to_halve),
        )
        about = "hand the chances (or strata) over with the answers: jt.io.Gold(classes, inclusion, strata)"
        return Document("Which true classes to find out next?", about, sentence, blocks)


def gold_to_halve(found: PpiEstimate, sample: GoldSample, level: float = 0.95) -> int:
    """How many more random gold answers halve the width of the PPI++ interval; 0 if nothing is left to halve.

    With n of N samples gold and d(n) degrees of freedom the width is proportional to t(d(n)) sqrt(1/n - 1/N).
    """
    size, now = sample.num_samples, sample.chosen.size
    if found.standard_error == 0 or size == now:
        return 0
    further = np.arange(now, size + 1)
    telling = max(found.num_informative, 1) / now  # share of gold that tells something, taken to stay
    fitted = max(found.num_informative - found.law.freedom, 0.0)
    freedom = np.maximum(telling * further - fitted, 1.0)
    shrink = np.sqrt((1 / further - 1 / size) / (1 / now - 1 / size))
    width = -t_quantile((1 - level) / 2, freedom) * shrink
    return int(further[np.argmax(width <= 0.5 * width[0])] - now)


def gold_that_halves(known: int, size: int) -> int:
    """How many more random gold answers about halve an interval, its width ~ sqrt(1/known - 1/size)."""
    if known in (0, size):
        return size - known
    return int(np.ceil(1.0 / ((1 / known - 1 / size) / 4 + 1 / size))) - known


def ask_next(
    y_pred: Int[np.ndarray, " samples"],
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Gold,
    num: int,
    *,
    key: Any = None,
    classes: Sequence[str],
    positive: int = 1,
    metric: str = "accuracy",
) -> GoldRequest:
    """Choose samples to get gold for, uncertain ones more often, with known probabilities.

    To know sample i removes the variance of what it adds to the metric, Var(u_i), where u = (a - R b)/sum(b)
    is the metric's linear form and y_i ~ class_posterior[i]. It is asked for with probability proportional to
    sd(u_i) (the best allocation by Neyman); a fifth of the questions is spread evenly, for mistakes that the
    class posterior does not know of. With 20 random gold answers and 40 asked ones nominal 95 % intervals of
    PPI++ covered accuracy in 94.4, precision in 96.3, recall in 95.2 and F1 in 94.2 % (+- .7) of 900 or more
    simulated sets of 400.

    Args:
        y_pred, class_posterior: as in `gold_tables`; the class posterior has not seen the gold.
        gold: known classes, -1 where unknown, with each sample's probability to have been asked for it; the
            same for all if `inclusion` is None.
        num: how many new samples; all of them are to be asked for, and `inclusion` goes with the gold.
        key: of the choice, which is a random one: a whole number or a JAX key; 0 if None.
        classes, positive, metric: see `jtruth.tables.metrics.named_metric`.

    Raises:
        ValueError: more samples wanted than there are without gold.
    """
    known = np.asarray(gold.classes) >= 0
    left = np.flatnonzero(~known)
    if not 1 <= num <= left.size:
        raise ValueError(f"num must be 1 to {left.size}, the number of samples without gold; got {num}")
    _, variance = influences(y_pred, class_posterior, classes, positive, metric)
    spread = np.sqrt(variance)
    even, total = _EVEN / left.size, spread[left].sum()
    want = even + (1 - _EVEN) * spread / total if total > 0 else np.full(spread.size, 1 / left.size)
    chance = np.minimum(1.0, scale_that_sums(want[left], 0.0, 1.0, num) * want)  # those of `left` sum to num
    rng = host_rng(key, "ask")
    order = rng.permutation(left)
    chosen = order[systematic(chance[order], num, rng.random())]
    before = np.full(known.size, known.mean()) if gold.inclusion is None else np.asarray(gold.inclusion)
    both = 1 - (1 - before) * (1 - chance)
    return GoldRequest(chosen[np.argsort(-variance[chosen], kind="stable")], both, variance)


def influences(
    y_pred: Int[np.ndarray, " samples"], class_posterior: Float[np.ndarray, "samples classes"],
    classes: Sequence[str], positive: int, metric: str,
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]:  # fmt: skip
    """Mean and variance, over its unknown class, of what each sample adds to a metric's linear form."""
    table = expected_table(class_posterior, y_pred, len(classes))
    terms = named_metric(metric, classes, positive).terms(table)[:, :, y_pred].swapaxes(1, 2)
    expected = [(part * class_posterior).sum(axis=1) for part in terms]
    total = expected[1].sum()
    influence = (terms[0] - expected[0].sum() / total * terms[1]) / total
    mean = (influence * class_posterior).sum(axis=1)
    return mean, (class_posterior * (influence - mean[:, None]) ** 2).sum(axis=1)


def scale_that_sums(want: np.ndarray, lowest: Any, highest: Any, total: int) -> float:
    """The factor by which `want`, clipped to `least` and `most`, sums to `total`; by bisection: it grows."""
    low, high = 0.0, 2.0 * float((highest / want).max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.clip(middle * want, lowest, highest).sum() < total else (low, middle)
    return high


_LEAST = 3  # answers of a stratum
_ANSWERS = 6  # of a stratum on average, at least: so many decide how finely margins are cut
_MOST_CUTS = 3
_WORDS = {  # by the number of parts of a predicted class
    1: ("",),
    2: (", labels less for it", ", labels more for it"),
    3: (", labels least for it", ", labels less for it", ", labels most for it"),
}


def ask_strata(
    y_pred: Int[np.ndarray, " samples"],
    class_posterior: Float[np.ndarray, "samples classes"],
    num: int,
    *,
    key: Any = None,
    classes: Sequence[str],
    positive: int = 1,
    metric: str = "accuracy",
) -> GoldRequest:
    """Choose samples to get gold for, at random inside strata of prediction and margin.

    Arguments are those of `ask_next`, but no gold has been asked for before, and the metric is any of the
    registry. Ask for all of `samples`, and hand `strata` over with the gold. With 30 gold of 400 samples
    PPI++'s interval of precision was half as wide as with simple random gold, those of accuracy and F1 a
    tenth narrower, that of recall a sixth wider (coverage .99 to 1).

    Raises:
        ValueError: fewer answers than three for each predicted class, or more than there are samples.

    >>> p = np.random.default_rng(0).dirichlet([1, 1], 200)
    >>> asked = ask_strata(p.argmax(axis=1), p, 30, key=0, classes=("no", "yes"))
    >>> asked.samples.size, asked.names[0]
    (30, 'no predicted, labels less for it')
    """
    size = y_pred.size
    fewest = int(np.minimum(np.bincount(y_pred), _LEAST).sum())
    if num < fewest or num > size:
        raise ValueError(
            f"num must be {fewest} to {size}: {_LEAST} answers for each predicted class, and no more than "
            f"there are samples; got {num}"
        )
    means, variances = influences(y_pred, class_posterior, classes, positive, metric)
    strata, names = _cut(y_pred, class_posterior, num, classes)
    sizes = np.bincount(strata)
    inside = [strata == h for h in range(sizes.size)]
    spread = np.array([np.sqrt(variances[mask].mean() + means[mask].var()) for mask in inside])
    numbers = _allocated(sizes, spread, num)
    rng = host_rng(key, "ask in strata")
    chosen = [rng.permutation(np.flatnonzero(mask))[:n] for mask, n in zip(inside, numbers, strict=True)]
    return GoldRequest(np.concatenate(chosen), (numbers / sizes)[strata], variances, strata, names)


def _cut(
    y_pred: np.ndarray, class_posterior: np.ndarray, num: int, classes: Sequence[str]
) -> tuple[Int[np.ndarray, " samples"], tuple[str, ...]]:
    """Strata of about equal sizes by margin, for every predicted class; equal margins stay together."""
    samples, others = np.arange(y_pred.size), class_posterior.copy()
    others[samples, y_pred] = -1.0
    margin = class_posterior[samples, y_pred] - others.max(axis=1)
    predicted = np.unique(y_pred)
    cuts = int(np.clip(num // (_ANSWERS * predicted.size), 1, _MOST_CUTS))
    strata, names = np.empty(y_pred.size, np.int64), []
    for u in predicted:
        rows = np.flatnonzero(y_pred == u)
        distinct, counts = np.unique(margin[rows], return_counts=True)
        edges = distinct[:0]  # margins at which the next part begins, as near to equal parts as they allow
        if distinct.size > 1:
            below, wanted = np.cumsum(counts)[:-1] / rows.size, np.arange(1, cuts) / cuts
            edges = np.unique(distinct[1:][np.abs(below[None, :] - wanted[:, None]).argmin(axis=1)])
        part = _joined(np.searchsorted(edges, margin[rows], side="right"))
        parts = np.unique(part)
        for place, k in enumerate(parts):
            strata[rows[part == k]] = len(names)
            names.append(f"{classes[u]} predicted{_WORDS[parts.size][place]}")
    return strata, tuple(names)


def _joined(part: Int[np.ndarray, " samples"]) -> Int[np.ndarray, " samples"]:
    """Parts with too few samples to show a spread go to their nearest neighbour, as long as there is one."""
    counts = np.bincount(part)
    few, others = np.flatnonzero((counts > 0) & (counts < _LEAST)), np.flatnonzero(counts)
    if not few.size or others.size == 1:
        return part
    others = others[others != few[0]]
    return _joined(np.where(part == few[0], others[np.abs(others - few[0]).argmin()], part))


def _allocated(sizes: np.ndarray, spread: np.ndarray, num: int) -> Int[np.ndarray, " strata"]:
    """How many of each stratum: Neyman's, at least three (or all), at most all; they sum to `num`."""
    fewest = np.minimum(_LEAST, sizes)
    weight = sizes * spread
    weight = weight / weight.sum() if weight.sum() > 0 else sizes / sizes.sum()
    want = num * (_EVEN * sizes / sizes.sum() + (1 - _EVEN) * weight)
    real = np.clip(scale_that_sums(want, fewest, sizes, num) * want, fewest, sizes)
    numbers = np.floor(real + 1e-9).astype(np.int64)
    rest = np.argsort(numbers - real, kind="stable")  # the largest remainders get what is left
    for h in [h for h in rest if numbers[h] < sizes[h]][: num - int(numbers.sum())]:
        numbers[h] += 1
    return numbers
