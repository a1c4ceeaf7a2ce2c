"""Scores when nobody vouches for how labelers err: predictive curves, and curves by gold.

The symbols of the count table are twelve bins of the score: a row of a classifier has few probabilities, and
its prior (two samples a row) says little. Half of their mass is that of the positives by the labels, else
few bins hold them and average precision is not that of the scores (`bin_edges`). Readings of the labels give
draws of that table, hence curves and areas; each number of a curve is widened by how far readings were off
elsewhere, as a metric of the whole table is (`assumptions.predictive`). Where some true classes are known
they give draws of the table of bins (`gold.tables`), and everything follows from these.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth._random import Key, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import OVERALL, of_no_effect
from jtruth.evaluation.assumptions.predictive import law_of
from jtruth.evaluation.assumptions.registry import Entry, Progress, entries
from jtruth.evaluation.gold.answer import NO_MODEL, gold_warnings, labels_posterior, without_gold
from jtruth.evaluation.gold.measured import GoldSampling, judged_samples
from jtruth.evaluation.gold.tables import gold_tables
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.curves import Band, Curves, against_rest, curves
from jtruth.tables.posterior import thinned

BINS = 12
DRAWS = 2000
_RARE_SHARE = 0.15  # of a class, below which areas by gold are doubtful
RARE = (
    "one class is rare: areas by gold are then often too low, and intervals of 95 % held those of about half "
    "of public cases; metrics of predictions by gold hold"
)


class ScoreView(NamedTuple):
    """What one reading of the labels says of a score."""

    name: str
    sentence: str
    curves: Curves

    __repr__ = one_line


class PredictiveCurves(NamedTuple):
    """Readings of the labels, asked for one number of the curve at a time."""

    views: tuple[ScoreView, ...]
    labelers_are: str
    num_samples: int

    __repr__ = one_line

    @property
    def num_thresholds(self) -> int:
        """One more than there are bins."""
        return self.views[0].curves.num_thresholds

    def law(
        self, of: Callable[[Curves], DrawsEstimate], bounds: tuple[float | int, float | int] = (0, 1)
    ) -> DrawsEstimate:
        """Predictive law of a number of the curve."""
        draws = {view.name: of(view.curves).draws for view in self.views}
        ends = (float(bounds[0]), float(bounds[1]))
        return law_of(draws, OVERALL, self.labelers_are, float(self.num_samples), ends)

    def roc(self, level: float = 0.95, points: int = 51) -> Band:
        """Detection by false-alarm rate."""
        x = np.linspace(0, 1, points)
        return self._band(x, [self.law(lambda c, v=v: c.detection_by(v)) for v in x], level)

    def precision_recall(self, level: float = 0.95, points: int = 50) -> Band:
        """Precision by recall, at recalls above 0."""
        x = np.linspace(0, 1, points + 1)[1:]
        return self._band(x, [self.law(lambda c, v=v: c.precision_by(v)) for v in x], level)

    def _band(self, x: np.ndarray, laws: Sequence[DrawsEstimate], level: float) -> Band:
        """The wide band has Bonferroni's level for the inner points of the curve, one for each edge."""
        wide = 1 - (1 - check_level(level)) / max(self.num_thresholds - 2, 1)
        low, high = np.array([law.equal_tails(level) for law in laws]).T
        low_all, high_all = np.array([law.equal_tails(wide) for law in laws]).T
        return Band(x, np.array([law.mean for law in laws]), low, high, low_all, high_all, level)


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
) -> tuple[PredictiveCurves, tuple[str, ...]]:
    """Predictive curves, and what is doubtful."""
    found, _, doubts = score_members(data, coded, lambda entry: entry.reading, key, progress)
    views = []
    for one in found:
        counts = np.asarray(thinned([one.posterior], DRAWS).counts)
        of_class = curves(against_rest(counts, data.positive))
        views.append(ScoreView(one.name, one.entry.sentence, of_class))
    return PredictiveCurves(tuple(views), data.labelers_are, coded.size), (ranges.ONLY_GOLD, *doubts)


def score_by_gold(
    data: inputs.Inputs,
    coded: Int[np.ndarray, " samples"],
    sampling: GoldSampling,
    key: Key,
    progress: Progress | None = None,
) -> tuple[Curves, tuple[str, ...]]:
    """Curves of the tables of bins that gold and labels give, and what is doubtful."""
    unaided = without_gold(data)
    found, asked, doubts = score_members(
        unaided, coded, lambda entry: entry.reading, key, progress, needed=False
    )
    if not found:
        doubts = [NO_MODEL.format(doubts[0])]
    posterior = labels_posterior(found, asked.own_labels())
    judged = judged_samples(coded, posterior, data.gold, sampling)
    drawn = gold_tables(
        coded, asked.num_symbols, posterior, data.gold, judged.sample, stream(key, "curves by gold"),
        rising=data.positive,
    )  # fmt: skip
    said = (*of_no_effect(data.labelers_are), *gold_warnings(judged.taken_as_random, data.num_gold))
    found = curves(against_rest(drawn.counts[::2], data.positive))
    rare = (RARE,) if min(found.share.mean, 1 - found.share.mean) < _RARE_SHARE else ()
    return found, (*said, *rare, *doubts)
