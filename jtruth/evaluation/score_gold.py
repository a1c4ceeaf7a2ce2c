"""Curves of a score where some true classes are known: models fitted without gold, and gold once (PPI++).

The area under the ROC curve is a U-statistic, a mean over pairs of a positive and a negative sample. To first
order it is a mean over samples (Hajek's projection): what a sample adds is the share of the other class that
it outranks. On tables of score bins these are the derivatives of the area by the cells, taken at the table
that PPI++ estimates; the mean of what samples add is then estimated by PPI++ like any other mean. The same
holds for every smooth function of a curve: average precision, a partial area, recall at a threshold or at a
false-alarm rate, the cost of a decision. So each of them has the law that `evaluate` gives its metrics with
gold (`gold.pooled`): one posterior for little and for much gold.

A line of the ROC band is the recall at one false-alarm rate. The whole curve is fixed by its inner points,
one for each edge of the bins, and the wide band has Bonferroni's level for that many.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth._random import Key
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import Progress
from jtruth.evaluation.gold.answer import NO_MODEL, labels_posterior, without_gold
from jtruth.evaluation.gold.measured import GoldSampling, judged_samples
from jtruth.evaluation.gold.pooled import RANDOM_GOLD, GoldPosterior
from jtruth.evaluation.score_ranges import DRAWS, score_members
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.curves import Band, Curves, against_rest, curves
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import thinned

Number = float | int


class GoldCurves(NamedTuple):
    """Models and gold, asked for one number of the curve at a time."""

    pool: GoldPosterior
    positive: int
    at: Float[np.ndarray, "classes bins"]  # the table by PPI++, where derivatives are taken

    __repr__ = one_line

    @property
    def num_thresholds(self) -> int:
        """One more than there are bins."""
        return self.pool.shape[1] + 1

    def law(
        self, of: Callable[[Curves], DrawsEstimate], bounds: tuple[Number, Number] = (0, 1)
    ) -> DrawsEstimate:
        """Law of a number of the curve."""

        def of_table(table: np.ndarray) -> np.ndarray:
            flat = np.asarray(table, np.float64).reshape(-1, *self.pool.shape)
            return of(curves(against_rest(flat, self.positive))).draws.reshape(np.shape(table)[:-2])

        metric = Metric("number of a curve", of_table, bounds=(float(bounds[0]), float(bounds[1])))
        return self.pool.estimate(metric._replace(joint=metric.terms(self.at)))

    def roc(self, level: float = 0.95, points: int = 51) -> Band:
        """Detection by false-alarm rate."""
        x = np.linspace(0, 1, points)
        return self._band(x, [self.law(lambda c, v=v: c.detection_by(v)) for v in x], level)

    def precision_recall(self, level: float = 0.95, points: int = 50) -> Band:
        """Precision by recall, at recalls above 0."""
        x = np.linspace(0, 1, points + 1)[1:]
        return self._band(x, [self.law(lambda c, v=v: c.precision_by(v)) for v in x], level)

    def _band(self, x: np.ndarray, laws: list[DrawsEstimate], level: float) -> Band:
        wide = 1 - (1 - check_level(level)) / max(self.num_thresholds - 2, 1)
        low, high = np.array([law.equal_tails(level)[:2] for law in laws]).T
        low_all, high_all = np.array([law.equal_tails(wide)[:2] for law in laws]).T
        return Band(x, np.array([law.mean for law in laws]), low, high, low_all, high_all, level)


def score_pool(
    data: inputs.Inputs,
    coded: Int[np.ndarray, " samples"],
    sampling: GoldSampling,
    key: Key,
    progress: Progress | None = None,
) -> tuple[GoldCurves, tuple[str, ...]]:
    """Models of the labels without gold, if there are any, and PPI++; and what is doubtful."""
    unaided = without_gold(data)
    found, asked, doubts = score_members(unaided, coded, lambda e: e.gold, key, progress, needed=False)
    if not found:
        doubts = [NO_MODEL.format(doubts[0])]
    judged = judged_samples(coded, labels_posterior(found, asked.own_labels()), data.gold, sampling)
    judged = replace(judged, num_symbols=asked.num_symbols)
    models = {one.name: thinned([one.posterior], DRAWS) for one in found}
    pool = GoldPosterior(models, judged, (len(data.classes), asked.num_symbols), coded.size)
    random = [RANDOM_GOLD] if judged.taken_as_random else []
    return GoldCurves(pool, data.positive, judged.table), (*random, *doubts)
