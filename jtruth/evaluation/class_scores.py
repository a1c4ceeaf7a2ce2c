"""`evaluate_class_scores`: a column of scores for each class, judged one against the rest, and averages.

Every column is cut into bins as in `evaluate_scores`, and the bins are the symbols of a table with a row for
each class: labels of "dog" and of "plane" speak differently of a high score for "cat". Its rows of all other
classes are then added up. Each class has its own posterior of its area.

Averages need more, how the areas of the classes vary together. A sample that is of class a rather than b
raises both areas if its scores say so, so they tend to vary together, but no draw holds all of them. They
are taken to move together entirely (the same quantile of every law), which makes the interval of an average
the widest that the single laws allow: cautious by up to the square root of the number of classes.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, Unpack

import numpy as np
from jaxtyping import Array, Float

from jtruth._frames import frame
from jtruth._one_line import one_line
from jtruth._page import Page, write_page
from jtruth._pictures import as_printed, picture
from jtruth._random import Stated, as_key, stated, stream
from jtruth._version import __version__
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.ranges import first_and_rest
from jtruth.evaluation.judging import Judged, Judging, read_judged
from jtruth.evaluation.score_page import class_score_page
from jtruth.evaluation.score_result import AnyCurves, ScoreEvaluation, kind_text
from jtruth.evaluation.scores import judged, read_asked
from jtruth.evaluation.text import IN_SAMPLE, interval_text
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Curves
from jtruth.tables.several import RangeEstimate

_QUANTILES = (np.arange(4000) + 0.5) / 4000
AVERAGES = ("macro", "weighted")


class ClassScores(NamedTuple):
    """What `evaluate_class_scores` found; print it."""

    each: Mapping[str, ScoreEvaluation]  # by class, against the rest
    auc: Mapping[str, Estimate]  # "macro" and "weighted" averages over the classes
    average_precision: Mapping[str, Estimate]
    weights: Mapping[str, float]  # of the weighted average: shares of the classes, posterior means
    key: Stated

    @property
    def level(self) -> float:
        """Probability of the intervals."""
        return next(iter(self.each.values())).level

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is doubtful about any of the classes."""
        return tuple(dict.fromkeys(text for one in self.each.values() for text in one.warnings))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        row = lambda law: dict(zip(("low", "high"), law.interval(self.level)[:2], strict=True))  # noqa: E731
        averages = {
            name: {k: {"mean": law.mean, **row(law)} for k, law in laws.items()}
            for name, laws in (("auc", self.auc), ("average_precision", self.average_precision))
        }
        each = {name: one.to_dict() for name, one in self.each.items()}
        return {
            "jtruth": __version__,
            "key": self.key,
            "averages": averages,
            "weights": dict(self.weights),
            "each": each,
            "level": self.level,
            "target": IN_SAMPLE,
            "warnings": list(self.warnings),
        }

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def page(self) -> Page:
        """The answer as a page."""
        return class_score_page(self.to_dict(), str(self).partition("\n")[0])

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def to_frame(self, backend: str | None = None) -> Any:
        """Areas of each class and of the averages as a data frame; backends as in `Evaluation.to_frame`."""
        laws = {name: (one.auc, one.average_precision) for name, one in self.each.items()}
        laws |= {f"{name} average": (self.auc[name], self.average_precision[name]) for name in AVERAGES}
        rows = []
        for name, pair in laws.items():
            row: dict[str, Any] = {"class": name}
            for what, law in zip(("auc", "average_precision"), pair, strict=True):
                low, high, _ = law.interval(self.level)
                row |= {what: law.mean, f"{what}_low": low, f"{what}_high": high}
            rows.append(row)
        return frame(rows, backend)

    def __str__(self) -> str:
        first, wide = next(iter(self.each.values())), max(len(name) for name in self.each)
        told, rest = first_and_rest(self.warnings)
        lines = [f"area under the ROC curve, one class against the rest; {first.truth}", *told]
        rows = [(name, one.auc, one.average_precision) for name, one in self.each.items()]
        rows += [(f"{name} average", self.auc[name], self.average_precision[name]) for name in AVERAGES]
        wide = max(wide, len("weighted average"))
        lines += [f"  {'':{wide}}  {'AUC':22}  average precision"]
        lines += [
            f"  {name:{wide}}  {interval_text(auc, self.level):22}  {interval_text(average, self.level)}"
            for name, auc, average in rows
        ]
        lines += [
            f"{kind_text(first)}; averages as if all classes erred together",
            f"assumed: {first.assumption}",
        ]
        return "\n".join([*lines, *rest])


def evaluate_class_scores(
    scores: Any,
    labels: Labels | np.ndarray | Array,
    *,
    bins: int = 8,
    **how: Unpack[Judging],
) -> ClassScores:
    """How well does a column of scores for each class separate it from the rest, judged by noisy labels?

    Args:
        scores: (samples, classes) finite numbers, such as probabilities, in the order of the classes; rows of
            a frame are matched by task id, its columns by class.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        bins: most bins of a column.
        how: noise, prior, gold, assume, level, key, progress, as for `evaluate_scores`: see `Judging`.

    Raises:
        ValueError: scores of another shape or not finite, or unusable labels.

    Each class is fitted by itself: without known noise that takes as long as `evaluate` for every class.

    >>> import jtruth as jt
    >>> z = np.array([[0, 0], [1, 1], [2, 2], [0, 1], [1, 1], [2, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 3), jt.noise.Symmetric(0.1, 3)
    >>> p = np.eye(3)[[0, 1, 2, 0, 1, 2]] * 0.7 + 0.1
    >>> found = jt.evaluate_class_scores(p, labels, noise=noise, prior=np.full(3, 1 / 3))
    >>> list(found.each), bool(found.auc["macro"].mean > 0.8)
    (['0', '1', '2'], True)
    """
    said = Judged.of("evaluate_class_scores", how)
    data = read_judged(None, labels, said)
    given = _columns(scores, data)
    asked = read_asked(data, said, bins, None)
    found = {}
    for c, name in enumerate(data.classes):
        data.positive = c
        found[name] = judged(data, given[:, c], asked, stream(as_key(said.key), "scores of class", c))
    weights = np.array([one.curves.law(_share).mean for one in found.values()])
    laws = tuple(one.curves for one in found.values())
    of = {"auc": _auc, "average_precision": _average_precision}
    share = {"macro": np.full(len(laws), 1 / len(laws)), "weighted": weights / weights.sum()}
    averages = {k: {name: _average(laws, f, share[name]) for name in AVERAGES} for k, f in of.items()}
    return ClassScores(found, averages["auc"], averages["average_precision"],
                       dict(zip(found, share["weighted"].tolist(), strict=True)),
                       stated(said.key))  # fmt: skip


def _columns(scores: Any, data: inputs.Inputs) -> Float[np.ndarray, "samples classes"]:
    """The scores as they can be used, or ValueError."""
    try:
        given = np.asarray(inputs.aligned_table(scores, "scores", data), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    shape = (data.y_pred.size, len(data.classes))
    if given.shape != shape:
        raise ValueError(f"scores have shape {given.shape}; give ({shape[0]} samples, {shape[1]} classes)")
    bad = np.argwhere(~np.isfinite(given))
    if len(bad):
        i, c = bad[0]
        raise ValueError(
            f"the score of sample {i} for class {data.classes[c]!r} is {given[i, c]}; scores must be finite "
            f"({len(bad)} such)"
        )
    return given


def _average(
    parts: Sequence[AnyCurves], of: Callable[[Curves], DrawsEstimate], weights: Float[np.ndarray, " classes"]
) -> Estimate:
    """The average of all classes; of several assumptions the average under each, as a range."""
    views = [getattr(one, "views", ()) for one in parts]
    if not all(views):
        return _together([_draws(one.law(of)) for one in parts], weights)
    names = [view.name for view in views[0] if all(any(v.name == view.name for v in each) for each in views)]
    point, hull = [], []
    for name in names:
        same = [next(view for view in each if view.name == name) for each in views]
        law = _together([of(view.curves) for view in same], weights)
        point += [law] * any(view.point for view in same)
        hull += [law] * any(view.hull for view in same)  # of some classes a model may be missing
    return RangeEstimate(tuple(point), tuple(hull))


def _draws(law: Estimate) -> DrawsEstimate:
    if not isinstance(law, DrawsEstimate):
        raise TypeError(f"an average needs draws, and {type(law).__name__} has none")
    return law


def _together(laws: Sequence[DrawsEstimate], weights: np.ndarray) -> DrawsEstimate:
    """Weighted mean of the same quantile of every law; NaN where one is never defined."""
    known = [law.draws[~np.isnan(law.draws)] for law in laws]
    columns = [np.quantile(d, _QUANTILES) if d.size else np.full(_QUANTILES.size, np.nan) for d in known]
    return DrawsEstimate(np.stack(columns, axis=1) @ weights)


def _auc(c: Curves) -> DrawsEstimate:
    return c.auc


def _average_precision(c: Curves) -> DrawsEstimate:
    return c.average_precision


def _share(c: Curves) -> DrawsEstimate:
    return c.share
