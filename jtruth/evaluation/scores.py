"""`evaluate_scores`: how well does a score rank, judged by noisy labels? ROC, precision-recall, their areas.

Scores are cut into bins of about equal numbers of samples, equal scores together, and the bin is the symbol
that the classifier "predicts". Given error rates and class prior the count table of bins has an exact
posterior with a smooth prior (`jtruth.testing.binary.tree`). Learned error rates are drawn by `fit_joint`,
with the score in four coarse bins as one more labeler, and every draw of them gives tables of the fine bins.
Where nobody vouches for independence the answer is a range (`score_ranges`). Two classes.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int

from jtruth import _validation as check
from jtruth._host import known_classes, labels_log_likelihood, log_odds
from jtruth._random import Key, as_key, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import GROUPS, INDEPENDENT
from jtruth.evaluation.score_ranges import BINS as RANGE_BINS
from jtruth.evaluation.score_ranges import CurveRange, ScoreView, score_range
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level
from jtruth.tables.curves import Curves, curves
from jtruth.testing.binary.tree import symbol_tree

_DRAWS, _RATE_DRAWS, _COARSE = 4000, 50, 4
_MOST_BINS = 200
_KINDS = {"posterior": "posterior intervals", "sensitivity range": "sensitivity ranges"}


class ScoreEvaluation(NamedTuple):
    """What `evaluate_scores` found; print it."""

    auc: Estimate  # area under the ROC curve, ties within a bin counted half
    average_precision: Estimate
    curves: Curves | CurveRange
    assumption: str
    edges: Float[np.ndarray, " inner_edges"]  # a score is in bin k if k edges are at or below it
    hidden: float  # most that the AUC of the scores themselves can differ from that of the bins, on average
    positive: str
    level: float
    warnings: tuple[str, ...]
    interval_kind: str = "posterior"  # or "sensitivity range"

    @property
    def assumptions(self) -> tuple[ScoreView, ...]:
        """What every assumption says, where nobody vouched for one."""
        return self.curves.views if isinstance(self.curves, CurveRange) else ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "interval_kind": self.interval_kind,
            "assumptions": [
                {
                    "name": view.name,
                    "sentence": view.sentence,
                    "auc": self._row(view.curves.auc),
                    "average_precision": self._row(view.curves.average_precision),
                }
                for view in self.assumptions
            ],
            "auc": self._row(self.auc),
            "average_precision": self._row(self.average_precision),
            "assumption": self.assumption,
            "level": self.level,
            "positive": self.positive,
            "num_bins": self.edges.size + 1,
            "hidden_by_bins": self.hidden,
            "curves": {
                name: {k: [None if np.isnan(v) else float(v) for v in values] for k, values in rows.items()}
                for name, rows in (
                    ("roc", self.curves.roc(self.level)._asdict()),
                    ("precision_recall", self.curves.precision_recall(self.level)._asdict()),
                )
                if rows.pop("level")
            },
            "warnings": list(self.warnings),
        }

    def _row(self, law: Estimate) -> dict[str, float]:
        low, high, _ = law.interval(self.level)
        return {"mean": law.mean, "low": low, "high": high}

    def __str__(self) -> str:
        rows = [self._row(law) for law in (self.auc, self.average_precision)]
        auc, average = (f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for row in rows)
        lines = [
            f"area under the ROC curve {auc}; no label was taken as true",
            f"average precision {average}",
            f"positive: {self.positive}; {100 * self.level:g} % {_KINDS[self.interval_kind]}; "
            f"{self.edges.size + 1} bins of scores, which hide at most {self.hidden:.3f} of the area",
            f"assumed: {self.assumption}",
        ]
        for view in self.assumptions:
            row = self._row(view.curves.auc)
            lines.append(f"  {row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]  {view.sentence}")
        return "\n".join([*lines, *(f"! {text}" for text in self.warnings)])


def evaluate_scores(
    scores: Any,
    labels: Labels | np.ndarray | Array,
    *,
    noise: Any = None,
    prior: Any = None,
    assume: str | None = None,
    bins: int = 20,
    positive: int | str | None = None,
    level: float = 0.95,
    key: Any = None,
) -> ScoreEvaluation:
    """How well does a score separate two classes, judged by noisy labels?

    Args:
        scores: (samples,) finite numbers, larger for the positive class; a Series, dict or frame with task
            ids is matched by them.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, 2).
        noise: a noise model of known parameters; learned from the labels if None.
        prior: (2,) class prior; needed where the noise is known.
        assume: "independent" where error rates are learned and you can vouch for it; by default a sensitivity
            range over the assumptions of `evaluate` that can take score bins (`score_ranges`).
        bins: most bins of scores, 2 to 200.
        positive: code or name of the class that high scores speak for; class 1 if None.
        level: probability of the intervals.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: scores that are no finite numbers, other than two classes, or unusable labels.

    Nominal 95 % of the AUC held .92 to .97 in seven simulated settings of known noise, and .88 where the
    AUC is .96 and there is one label a sample: the smooth prior is cautious there (`benchmarks/curves.py`).

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> found = jt.evaluate_scores([0.9, 0.2, 0.6, 0.1, 0.8, 0.3], labels, noise=noise, prior=[0.5, 0.5])
    >>> bool(found.auc.mean > 0.8), len(found.edges)
    (True, 5)
    """
    level = check_level(level)
    check.choose("assume", "unknown" if assume is None else assume, ("unknown", INDEPENDENT))
    data, values = _read(scores, labels, noise, prior, positive)
    if data.model is None and assume != INDEPENDENT:
        return _range(data, values, bins, level, as_key(key))
    edges = bin_edges(values, bins)
    coded = np.searchsorted(edges, values, side="right")
    key, side = as_key(key), data.positive
    tables, doubts = (
        _exact(data, coded, key) if data.model is not None else _learned(data, coded, values, key)
    )
    found = curves(tables[:, [1 - side, side]])
    equal = () if edges.size else ("all scores are equal: they rank nothing, and the area is 1/2",)
    warnings = (*inputs.warnings(data), *equal, *doubts)
    return ScoreEvaluation(found.auc, found.average_precision, found, GROUPS[INDEPENDENT], edges,
                           found.hidden.mean, data.classes[side], level, warnings)  # fmt: skip


def _range(data: inputs.Inputs, values: np.ndarray, bins: int, level: float, key: Key) -> ScoreEvaluation:
    """Nobody vouches for anything: the hull over assumptions, of coarse bins."""
    edges = bin_edges(values, min(bins, RANGE_BINS))
    found, doubts = score_range(data, np.searchsorted(edges, values, side="right"), key)
    hidden = found.law(lambda c: c.hidden).mean
    return ScoreEvaluation(
        found.law(lambda c: c.auc), found.law(lambda c: c.average_precision), found,
        "nothing about what labelers and score share: a sensitivity range", edges, hidden,
        data.classes[data.positive], level, (*doubts, *inputs.warnings(data)), "sensitivity range",
    )  # fmt: skip


def bin_edges(scores: Float[np.ndarray, " samples"], bins: int) -> Float[np.ndarray, " inner_edges"]:
    """Inner edges of at most `bins` bins of about equal numbers of samples; equal scores share a bin.

    Raises:
        ValueError: fewer than 2 bins, or more than 200.
    """
    if not 2 <= bins <= _MOST_BINS:
        raise ValueError(f"bins is {bins}; give 2 to {_MOST_BINS}")
    distinct, counts = np.unique(scores, return_counts=True)
    if distinct.size <= bins:
        return distinct[1:]
    before = np.cumsum(counts) - counts
    wanted = scores.size * np.arange(1, bins) / bins
    return distinct[np.unique(np.clip(np.searchsorted(before, wanted), 1, distinct.size - 1))]


def _read(scores, labels, noise, prior, positive) -> tuple[inputs.Inputs, Float[np.ndarray, " samples"]]:
    """Checked input with predictions still empty, and the scores in the order of the samples."""
    size = labels.num_samples if isinstance(labels, Labels) else len(labels)
    tasks = labels.tasks if isinstance(labels, Labels) else None
    nothing = check.with_tasks(np.zeros(size, np.int32), tasks)
    data = inputs.read(nothing, labels, noise, prior, None, positive)
    if len(data.classes) != 2:
        raise ValueError(f"scores rank two classes and there are {len(data.classes)}: {data.classes}")
    if data.model is not None and prior is None:
        raise ValueError("known error rates need the class prior too: give prior=[p(class 0), p(class 1)]")
    data.notes = tuple(note for note in data.notes if "y_pred" not in note)
    return data, finite_scores(inputs.aligned(scores, "scores", data))


def finite_scores(found: check.Aligned) -> Float[np.ndarray, " samples"]:
    """The values, if they are finite numbers."""
    try:
        values = np.asarray(found.values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"{found.entries.entry(bad, 'score', float(values[bad[0]]))} "
            f"but scores must be finite ({bad.size} such)"
        )
    return values


Tables = Int[np.ndarray, "draws classes bins"]


def _exact(
    data: inputs.Inputs, coded: Int[np.ndarray, " samples"], key: Key
) -> tuple[Tables, tuple[str, ...]]:
    """Draws given log-likelihood and prior."""
    model = check.present(data.model, "the noise model")
    tree = symbol_tree(log_odds(model.log_likelihood, model.prior), coded, max(int(coded.max()) + 1, 2))
    return np.asarray(tree.tables(stream(key, "score tables"), _DRAWS).counts), ()


def _learned(
    data: inputs.Inputs, coded: Int[np.ndarray, " samples"], values: Float[np.ndarray, " samples"], key: Key
) -> tuple[Tables, tuple[str, ...]]:
    """Draws given draws of error rates and prior, and what is doubtful about those."""
    labels = data.own_labels()
    coarse = bin_edges(values, _COARSE)
    symbols = max(coarse.size + 1, 2)
    rough = np.searchsorted(coarse, values, side="right")
    key_rates = stream(key, "score rates")
    fit = fit_joint(labels, y_pred=rough, num_symbols=symbols, prior=data.prior, key=key_rates)
    if not fit.usable:
        raise ValueError(fit.warnings[0])
    chosen = np.linspace(0, len(fit.matrices) - 1, _RATE_DRAWS).astype(int)
    parts = []
    for number, k in enumerate(chosen):
        log_p = labels_log_likelihood(fit.matrices[k].astype(np.float64), *labels.arrays, labels.num_samples)
        odds = log_odds(known_classes(log_p, data.gold), fit.prior[fit.matrix_draw[k]])
        tree = symbol_tree(odds, coded, max(int(coded.max()) + 1, 2))
        parts.append(tree.tables(stream(key, "tables given rates", number), _DRAWS // _RATE_DRAWS).counts)
    return np.concatenate(parts), fit.warnings
