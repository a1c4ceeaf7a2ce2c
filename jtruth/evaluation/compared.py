"""The answer of `compare_classifiers`: metrics, differences, and who is the best, with what probability.

Where classifiers were compared by twos, or each number has a predictive law by itself, no draw holds all of
them. `joined` puts their laws together again by a normal copula: each law keeps its shape, and the mean
difference and correlation of any two are those that the law of their difference shows.

Labels alone often cannot tell who is better: models were more certain of differences than right (11 of 20
intervals that excluded 0 had the right sign). Predictive probabilities say so, and about how many gold
answers would tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from jtruth._one_line import one_line
from jtruth._random import Key, Stated, host_rng
from jtruth.answers import Answer, Shown
from jtruth.evaluation.comparison_blocks import comparison_blocks
from jtruth.evaluation.parts import Check
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import Metric
from jtruth.tables.pairs import smaller_is_better

_DRAWS = 4000
TOLD = 0.95  # probability from which it can be told who is better
Pair = tuple[int, int]


class Wishes(NamedTuple):
    """What was asked."""

    metric: Metric
    margin: float
    at_least: float | None
    level: float

    __repr__ = one_line

    @property
    def sign(self) -> float:
        """-1 if smaller is better."""
        return -1.0 if smaller_is_better(self.metric) else 1.0


class Laws(NamedTuple):
    """What is known of K classifiers."""

    values: tuple[DrawsEstimate, ...]
    differences: Mapping[Pair, DrawsEstimate]  # first minus second, first < second
    columns: Float[np.ndarray, "draws classifiers"]  # of the metric

    __repr__ = one_line

    def ranks(self, sign: float) -> Float[np.ndarray, "classifiers ranks"]:
        """Probability of each classifier to be first, second, ...; equal ones share their ranks.

        `sign` is -1 if smaller is better.
        """
        if self.columns.shape[1] == 2:  # the law of their difference, of which columns are an approximation
            first = self.better(0, 1, 0.0) if sign > 0 else self.better(1, 0, 0.0)
            return np.array([[first, 1 - first], [1 - first, first]])
        known = self.columns[~np.isnan(self.columns).any(axis=1)] * sign
        size = self.columns.shape[1]
        if not len(known):
            return np.full((size, size), np.nan)
        above = (known[:, None, :] > known[:, :, None]).sum(axis=2)
        equal = (known[:, None, :] == known[:, :, None]).sum(axis=2)
        rank = np.arange(size)
        inside = (rank >= above[..., None]) & (rank < (above + equal)[..., None])
        return (inside / equal[..., None]).mean(axis=0)

    def difference(self, first: int, second: int) -> Float[np.ndarray, " draws"]:
        """Draws of first minus second, in which it is defined."""
        turned = first > second
        draws = self.differences[(second, first) if turned else (first, second)].draws
        return (-draws if turned else draws)[~np.isnan(draws)]

    def better(self, first: int, second: int, beyond: float) -> float:
        """P(first - second > beyond); a negative `beyond` asks whether it is not much worse.

        With `beyond` 0 the better one is meant, and equal ones share it: a tie counts half.
        """
        draws = self.difference(first, second)
        if not draws.size:
            return float("nan")
        half = 0.5 if beyond == 0 else 0.0
        return float((draws > beyond).mean() + half * (draws == beyond).mean())

    def tie(self, first: int, second: int) -> float:
        """P(first = second)."""
        draws = self.difference(first, second)
        return float((draws == 0).mean()) if draws.size else float("nan")

    def meets(self, k: int, least: float, sign: float) -> float:
        """P(the requirement is met)."""
        draws = self.values[k].draws[~np.isnan(self.values[k].draws)]
        return float((sign * draws >= sign * least).mean()) if draws.size else float("nan")


@dataclass(frozen=True, repr=False)
class Comparison(Answer):
    """Which classifier is better, and how sure one may be. `print` it; `to_dict` for JSON."""

    wishes: Wishes
    names: tuple[str, ...]
    laws: Laws
    interval_kind: str  # "posterior" or "predictive"
    assumption: str  # what is taken for granted
    assumptions: tuple[tuple[str, tuple[float, ...]], ...]  # a sentence, and each one's metric under it
    agreement: Mapping[str, float]  # share of all labels that each repeats; empty without labels
    num_samples: int
    num_gold: int
    positive: str
    warnings: tuple[str, ...]
    key: Stated
    checks: tuple[Check, ...] = ()  # alarms that stand above the answer

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.wishes.metric.name

    @property
    def level(self) -> float:
        """Probability of the intervals."""
        return self.wishes.level

    @property
    def margin(self) -> float:
        """By more than this a classifier counts as better."""
        return self.wishes.margin

    @property
    def at_least(self) -> float | None:
        """The requirement."""
        return self.wishes.at_least

    @property
    def smaller_is_better(self) -> bool:
        """Of this metric."""
        return self.wishes.sign < 0

    @property
    def values(self) -> dict[str, DrawsEstimate]:
        """The metric of each."""
        return dict(zip(self.names, self.laws.values, strict=True))

    @property
    def differences(self) -> dict[tuple[str, str], DrawsEstimate]:
        """First minus second."""
        return {(self.names[a], self.names[b]): law for (a, b), law in self.laws.differences.items()}

    @cached_property
    def ranks(self) -> Float[np.ndarray, "classifiers ranks"]:
        """Probability of each of `names` to be first, second, ..."""
        return self.laws.ranks(self.wishes.sign)

    @property
    def best(self) -> dict[str, float]:
        """Probability of each to be the best; equal ones share it."""
        return dict(zip(self.names, self.ranks[:, 0].tolist(), strict=True))

    @property
    def better(self) -> dict[tuple[str, str], float]:
        """By more than `margin`; both orders of every two; ties are halves."""
        every = range(len(self.names))
        turn = (lambda a, b: (a, b)) if self.wishes.sign > 0 else (lambda a, b: (b, a))
        return {
            (self.names[a], self.names[b]): self.laws.better(*turn(a, b), self.margin)
            for a in every
            for b in every
            if a != b
        }

    @property
    def meets(self) -> dict[str, float]:
        """Probability that each meets `at_least`; empty without one."""
        if self.at_least is None:
            return {}
        found = {k: self.laws.meets(k, self.at_least, self.wishes.sign) for k in range(len(self.names))}
        return {self.names[k]: p for k, p in found.items()}

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names, the best mean first."""
        sign, means = -self.wishes.sign, {name: law.mean for name, law in self.values.items()}
        return tuple(sorted(self.names, key=lambda name: sign * np.nan_to_num(means[name])))

    @property
    def told(self) -> bool:
        """Whether it can be told that the first of the ranking is better than the second."""
        first, second = self.ranking[:2]
        return self.better[first, second] >= TOLD

    @property
    def gold_to_tell(self) -> int | None:
        """About how many random gold answers would tell the first two apart; None: not even all of them.

        Of n gold answers a difference d has variance of about D/n, D the share of samples on which the two
        differ; it is told apart where d is two standard errors.
        """
        first, second = (self.names.index(name) for name in self.ranking[:2])
        low, high = sorted((first, second))
        draws = self.laws.difference(low, high)
        if not draws.size:
            return None
        d, apart = abs(float(draws.mean())), float(np.abs(draws).max())
        needed = 4 * apart / d**2 if d > 0 else np.inf
        return None if needed > self.num_samples else max(int(np.ceil(needed / 10) * 10), 10)

    def with_warnings(self, sentences: Iterable[str]) -> "Comparison":
        """The same answer with more warnings."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *sentences))))

    def at_level(self, level: float) -> "Comparison":
        """The same answer with intervals of another probability."""
        return replace(self, wishes=self.wishes._replace(level=check_level(level)))

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return comparison_blocks(self)

    def __repr__(self) -> str:
        first = self.ranking[0]
        return f"Comparison({self.metric}: {first!r} is best with probability {self.best[first]:.2f})"


def joined(
    values: Sequence[DrawsEstimate], differences: Mapping[Pair, DrawsEstimate], key: Key
) -> Float[np.ndarray, "draws classifiers"]:
    """Draws of all values together, from the law of each and of every difference: a normal copula.

    A number without a law (never defined) is NaN in every draw. Correlations of twos need not fit together;
    the nearest matrix that is one is taken (negative eigenvalues, which are Monte Carlo error, become 0).
    Nor need means: those of values and of differences are least squares apart, and the differences decide.
    """
    size, sd = len(values), np.array([max(law.sd, 0.0) for law in values])
    together = np.eye(size)
    for (a, b), law in differences.items():
        product = sd[a] * sd[b]
        found = (sd[a] ** 2 + sd[b] ** 2 - law.sd**2) / (2 * product) if product > 0 else 0.0
        together[a, b] = together[b, a] = np.clip(np.nan_to_num(found), -1.0, 1.0)
    root, axes = np.linalg.eigh(together)
    half = axes * np.sqrt(np.maximum(root, 0.0))
    half = half / np.sqrt((half**2).sum(axis=1, keepdims=True))
    normal = host_rng(key, "compared together").standard_normal((_DRAWS, size)) @ half.T
    columns = np.full((_DRAWS, size), np.nan)
    for k, law in enumerate(values):
        known = law.draws[~np.isnan(law.draws)]
        if known.size:
            columns[:, k] = np.quantile(known, ndtr(normal[:, k]), method="inverted_cdf")
    lead = np.zeros((size, size))
    for (a, b), law in differences.items():
        lead[a, b] = law.mean - (values[a].mean - values[b].mean)
    lead = np.nan_to_num(lead - lead.T)
    return columns + lead.mean(axis=1)
