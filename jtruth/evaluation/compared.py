"""The answer of `compare_classifiers`: metrics, differences, and who is the best, with what probability.

Probabilities come from one posterior, or from several assumptions between which the labels cannot decide;
then each is a range from the lowest to the highest member of the hull, with the mean over the middle ones.

Where classifiers were compared by twos (see `compare`) no draw holds all of them. `joined` puts their laws
together again by a normal copula: each law keeps its shape, and the mean difference and correlation of any
two are those that the law of their difference shows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from jtruth._frames import frame
from jtruth._one_line import one_line
from jtruth._page import Page, write_page
from jtruth._pictures import as_printed, picture
from jtruth._random import Key, Stated, host_rng
from jtruth._version import __version__
from jtruth.evaluation.as_json import estimate_dict
from jtruth.evaluation.comparison_page import comparison_page
from jtruth.evaluation.text import IN_SAMPLE
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate

_DRAWS = 4000
Pair = tuple[int, int]


class Chance(NamedTuple):
    """A probability; of several assumptions the mean of the middle ones, the lowest and the highest."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.high - self.low < 5e-3:
            return f"{self.mean:.2f}"
        return f"{self.low:.2f} to {self.high:.2f}"


class View(NamedTuple):
    """What one assumption says of K classifiers."""

    name: str
    sentence: str
    values: tuple[DrawsEstimate, ...]
    differences: Mapping[Pair, DrawsEstimate]  # first minus second, first < second
    columns: Float[np.ndarray, "draws classifiers"]  # of the metric
    point: bool = True  # whether it is one of the middle ones
    hull: bool = True

    __repr__ = one_line

    def best(self, sign: float) -> Float[np.ndarray, " classifiers"]:
        """Probability of each to be the best; equal ones share it. `sign` is -1 if smaller is better."""
        return self.ranks(sign)[:, 0]

    def ranks(self, sign: float) -> Float[np.ndarray, "classifiers ranks"]:
        """Probability of each classifier to be first, second, ...; equal ones share their ranks."""
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

    def better(self, first: int, second: int, beyond: float) -> float:
        """P(first - second > beyond); a negative `beyond` asks whether it is not much worse.

        With `beyond` 0 the better one is meant, and equal ones share it: a tie counts half.
        """
        turned = first > second
        draws = self.differences[(second, first) if turned else (first, second)].draws
        draws = (-draws if turned else draws)[~np.isnan(draws)]
        if not draws.size:
            return float("nan")
        half = 0.5 if beyond == 0 else 0.0
        return float((draws > beyond).mean() + half * (draws == beyond).mean())

    def tie(self, first: int, second: int) -> float:
        """P(first = second), for first < second."""
        draws = self.differences[first, second].draws
        return float((draws[~np.isnan(draws)] == 0).mean()) if not np.isnan(draws).all() else float("nan")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Which classifier is better, and how sure one may be. `print` it; `to_dict` for JSON."""

    metric: str
    names: tuple[str, ...]
    level: float
    interval_kind: str  # "posterior", "sensitivity range" or "pooled interval"
    values: Mapping[str, Estimate]  # the metric of each
    differences: Mapping[tuple[str, str], Estimate]  # first minus second
    best: Mapping[str, Chance]
    better: Mapping[
        tuple[str, str], Chance
    ]  # by more than `margin`; both orders of every two; ties are halves
    meets: Mapping[str, Chance]  # the requirement `at_least`; empty without one
    margin: float
    at_least: float | None
    smaller_is_better: bool
    agreement: Mapping[str, float]  # share of all labels that each repeats; empty without labels
    assumptions: tuple[View, ...]
    num_samples: int
    num_gold: int
    positive: str
    warnings: tuple[str, ...]
    key: Stated

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names, the best posterior mean first."""
        sign = 1.0 if self.smaller_is_better else -1.0
        return tuple(sorted(self.names, key=lambda name: sign * np.nan_to_num(self.values[name].mean)))

    @property
    def ranks(self) -> Float[np.ndarray, "classifiers ranks"]:
        """Probability of each of `names` to be first, second, ...: the mean over the middle assumptions."""
        middle = [view for view in self.assumptions if view.point]
        return np.mean([view.ranks(-1.0 if self.smaller_is_better else 1.0) for view in middle], axis=0)

    def with_warnings(self, sentences: Iterable[str]) -> "Comparison":
        """The same answer with more warnings."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *sentences))))

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Plain values for JSON."""
        at = self.level if level is None else level
        chance = lambda one: {k: None if np.isnan(v) else v for k, v in one._asdict().items()}  # noqa: E731
        return {
            "jtruth": __version__,
            "key": self.key,
            "comparison": {
                "metric": self.metric,
                "positive": self.positive,
                "level": at,
                "target": IN_SAMPLE,
                "interval_kind": self.interval_kind,
                "num_samples": self.num_samples,
                "num_gold": self.num_gold,
                "smaller_is_better": self.smaller_is_better,
                "margin": self.margin,
                "at_least": self.at_least,
                "ranking": list(self.ranking),
                "classifiers": [
                    {
                        "name": name,
                        **estimate_dict(self.values[name], at),
                        "best": chance(self.best[name]),
                        "meets": chance(self.meets[name]) if self.meets else None,
                        "ranks": [None if np.isnan(p) else float(p) for p in row],
                        "agreement_with_labels": self.agreement.get(name),
                    }
                    for name, row in zip(self.names, self.ranks, strict=True)
                ],
                "differences": [
                    {
                        "first": a,
                        "second": b,
                        **estimate_dict(law, at),
                        "first_better": chance(self.better[a, b]),
                        "second_better": chance(self.better[b, a]),
                    }
                    for (a, b), law in self.differences.items()
                ],
            },
            "assumptions": [
                {"name": v.name, "sentence": v.sentence, "values": [estimate_dict(e, at) for e in v.values]}
                for v in self.assumptions
            ],
            "warnings": list(self.warnings),
        }

    plot = picture
    _repr_html_ = as_printed

    def to_frame(self, backend: str | None = None) -> Any:
        """A row for each classifier as a data frame, best first; backends as in `Evaluation.to_frame`."""
        rows = [
            {
                "name": name,
                **estimate_dict(self.values[name], self.level),
                **_columns("best", self.best[name]),
            }
            for name in self.ranking
        ]
        return frame(rows, backend)

    def page(self) -> Page:
        """The comparison as a page."""
        return comparison_page(self.to_dict(), str(self).partition("\n")[0])

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def __str__(self) -> str:
        from jtruth.evaluation.comparison_text import comparison_text

        return comparison_text(self)

    def __repr__(self) -> str:
        """One line."""
        first = self.ranking[0]
        return f"Comparison({self.metric}: {first!r} is best with probability {self.best[first]})"


def _columns(what: str, one: Chance) -> dict[str, float]:
    """A probability and its ends as columns of a frame."""
    return {f"{what}_{name}": value for name, value in one._asdict().items()}


def chance(found: Sequence[float], views: Sequence[View]) -> Chance:
    """A probability of every assumption as one: its mean over the middle ones, and its hull."""
    middle = [p for p, view in zip(found, views, strict=True) if view.point]
    hull = [p for p, view in zip(found, views, strict=True) if view.hull]
    return Chance(float(np.mean(middle)), float(min(hull)), float(max(hull)))


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
