"""Scores when nobody vouches for how labelers err: curves under every assumption, and their hull.

The symbols of the count table are coarse bins of the score, eight of equal mass, so that a row of a
classifier has few probabilities and its prior (two samples a row) says little. Every assumption of the
registry that can take symbols gives draws of that table, hence curves and areas; the range is the hull of
their intervals, as in `ranges`, and a band is the hull of their bands. Score and labels may share difficulty
only as far as strata of easy and hard samples say it: the random effect knows classes and is not among the
members.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth._random import Key
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.registry import Entry, Progress, entries
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.curves import Band, Curves, against_rest, curves
from jtruth.tables.posterior import thinned
from jtruth.tables.several import RangeEstimate

BINS = 8
DRAWS = 2000


class ScoreView(NamedTuple):
    """What one assumption says of a score."""

    name: str
    sentence: str
    curves: Curves
    point: bool
    hull: bool

    __repr__ = one_line


class CurveRange(NamedTuple):
    """Curves under several assumptions: lines in the middle of some, bands around those of others."""

    views: tuple[ScoreView, ...]

    __repr__ = one_line

    @property
    def num_thresholds(self) -> int:
        """One more than there are bins."""
        return self.views[0].curves.num_thresholds

    def law(
        self, of: Callable[[Curves], DrawsEstimate], bounds: tuple[float | int, float | int] = (0, 1)
    ) -> RangeEstimate:
        """A number of each view's curves as a range."""
        point, hull = ([of(v.curves) for v in self.views if getattr(v, kind)] for kind in ("point", "hull"))
        return RangeEstimate(tuple(point), tuple(hull))

    def roc(self, level: float = 0.95, points: int = 101) -> Band:
        """Detection by false-alarm rate: mean line of the middle views, hull of bands."""
        return self._band([view.curves.roc(level, points) for view in self.views])

    def precision_recall(self, level: float = 0.95, points: int = 100) -> Band:
        """Precision by recall: mean line of the middle views, hull of bands."""
        return self._band([view.curves.precision_recall(level, points) for view in self.views])

    def _band(self, bands: Sequence[Band]) -> Band:
        middle = [band for band, view in zip(bands, self.views, strict=True) if view.point]
        hull = [band for band, view in zip(bands, self.views, strict=True) if view.hull]
        low, low_all = (np.min([getattr(b, k) for b in hull], axis=0) for k in ("low", "low_all"))
        high, high_all = (np.max([getattr(b, k) for b in hull], axis=0) for k in ("high", "high_all"))
        mean = np.mean([band.mean for band in middle], axis=0)
        return Band(bands[0].x, mean, low, high, low_all, high_all, bands[0].level)


def score_members(
    data: inputs.Inputs,
    coded: Int[np.ndarray, " samples"],
    wanted: Callable[[Entry], bool],
    key: Key,
    progress: Progress | None = None,
    needed: bool = True,
) -> tuple[list[ranges.Member], inputs.Inputs, list[str]]:
    """Fits of the wanted assumptions with the bins as symbols, the input they saw, and what is doubtful.

    Where no model can learn error rates and they are not `needed` there is no fit, and the first doubt says
    why.

    Raises:
        ValueError: labels from which no model can learn error rates that are needed.
    """
    classes = len(data.classes)
    number = max(int(coded.max()) + 1, classes + 1)  # never as many as classes: bins are no classes
    flat = inputs.Symbols(number, np.full((classes, number), 2.0 / number))
    asked = replace(data, y_pred=coded, symbols=flat, positive=1)
    some = [entry for entry in entries(asked) if wanted(entry)]
    found, doubts = ranges.members(some, asked, key, progress=progress)
    if not any(one.fit is not None for one in found):
        why = next(iter(doubts), "no model can be fitted to these labels")
        if needed:
            raise ValueError(f"error rates cannot be learned, so scores cannot be judged: {why}")
        return [], asked, [why]
    return found, asked, doubts


def score_range(
    data: inputs.Inputs, coded: Int[np.ndarray, " samples"], key: Key, progress: Progress | None = None
) -> tuple[CurveRange, tuple[str, ...]]:
    """Curves under every assumption that is shown, and what is doubtful."""
    found, _, doubts = score_members(data, coded, lambda entry: entry.shown, key, progress)
    views = tuple(
        ScoreView(
            one.name,
            one.entry.sentence,
            curves(against_rest(np.asarray(thinned([one.posterior], DRAWS).counts), data.positive)),
            one.entry.point,
            one.entry.hull,
        )
        for one in found
    )
    return CurveRange(views), (ranges.ONLY_GOLD, *doubts)
