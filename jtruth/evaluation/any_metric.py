"""`metric_posterior`: the posterior of any function of true classes and predictions, by drawn label vectors.

A metric of raw scores or probabilities (log loss, Brier score, the area of the scores themselves) is no
function of a count table, but of the classes of all samples. So whole label vectors are drawn from their
posterior given labels and predictions (`label_vectors`), and the function is asked of each, many at once, in
chunks of bounded memory. What a classifier said enters the posterior through its symbol: the predicted class,
or for numbers the bin of the score (20 bins of equal mass and a smooth prior where one assumption is made,
see `scores`; 12 bins where several are shown, see `score_ranges`).

Where nobody vouches for independence the function is asked under every assumption that `evaluate` shows, and
the answer is what-if, their hull: how far models of labels are off for a function that nobody saw before is
not known, so no coverage is promised (`evaluate`, `evaluate_scores` and `compare_classifiers` know it for
theirs). With gold it has to be said what is assumed.

`fn(y, prediction)` gets a vector of codes. If JAX can trace it, it is compiled and mapped over draws;
if not, as with scikit-learn's functions, it is called in a loop with NumPy arrays, and the answer says so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth import _validation as check
from jtruth.answers import Answer, Column, Shown, Table, facts, how, law_row, warning_notes
from jtruth.answers.blocks import cell_text
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import UNKNOWN_KIND
from jtruth.evaluation.assumptions.registry import INDEPENDENT, entries, granted
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.label_vectors import Vectors, independent_vectors, member_vectors
from jtruth.evaluation.parts import View, assumption_table
from jtruth.evaluation.score_tables import BINS, bin_edges, finite_scores, with_bins
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.posterior import NO_LAW, RangeEstimate

_BINS = 20
WHAT_IF = "what-if range"
SLOW = "the function is not one that JAX can trace, so it was called once for each draw: slow"
NOBODY = "nothing about what labelers and classifier share: lowest to highest under several assumptions"


@dataclass(frozen=True, repr=False)
class MetricPosterior(Answer):
    """A number, or an array of numbers, under one assumption or several."""

    views: tuple[View, ...]
    level: float
    assumption: str
    warnings: tuple[str, ...]

    @property
    def interval_kind(self) -> str:
        """A posterior, or the range over several assumptions, which promises no coverage."""
        return "posterior" if len(self.views) == 1 else WHAT_IF

    @property
    def draws(self) -> Float[np.ndarray, "draws ..."]:
        """One value, or array of values, for each drawn vector of classes; a range has none."""
        first, *others = self.views
        if others:
            raise ValueError(f"{NO_LAW}; those of one are views[0].drawn")
        return first.drawn

    def estimate(self, *place: int) -> DrawsEstimate | RangeEstimate:
        """Law, or range, of one entry; of the number itself without `place`."""
        shape = self.views[0].drawn.shape[1:]
        if len(place) != len(shape):
            raise ValueError(f"the function's values have shape {shape}; give {len(shape)} indices")
        laws = [DrawsEstimate(view.drawn[(slice(None), *place)]) for view in self.views]
        if len(laws) == 1:
            return laws[0]
        return RangeEstimate(tuple(laws))

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        places = list(np.ndindex(*self.views[0].drawn.shape[1:]))
        rows = [
            {"place": str(list(place)) if place else "value", **law_row(self.estimate(*place), self.level)}
            for place in places
        ]
        views = [
            {"name": view.name, "sentence": view.sentence,
             "values": {row["place"]: _mean(view.drawn[(slice(None), *p)])
                        for row, p in zip(rows, places, strict=True)}}
            for view in self.views
        ]  # fmt: skip
        missing = max(1 - (row["probability_defined"] or 0.0) for row in rows)
        note = f"Undefined in up to {missing:.1%} of draws." if missing else ""
        percent = f"{100 * self.level:g} % posterior interval" if len(self.views) == 1 else WHAT_IF
        columns = (Column("mean", "mean [interval]", ("low", "high"), ".4f"),)
        blocks = (
            Table("values", f"The number, with {percent}s", "place", columns, rows, note, unit=None,
                  missing="undefined", by_name=True),
            assumption_table("assumptions", views if len(views) > 1 else (),
                             [Column(("values", row["place"]), row["place"], form=".4f") for row in rows]),
            warning_notes(self.warnings), how(("assumed", self.assumption)),
            facts(level=self.level, interval_kind=self.interval_kind, assumption=self.assumption),
        )  # fmt: skip
        ends = [rows[0][name] for name in ("mean", "low", "high")]
        what = f"{rows[0]['place']} of {len(rows)}: " if len(rows) > 1 else ""
        sentence = f"{what}{cell_text(ends, '.4f', 'undefined')} ({percent}; assumed: {self.assumption})."
        return Shown("What is the posterior of this metric?", f"{len(self.views)} views", sentence, blocks)


def _mean(draws: np.ndarray) -> float:
    known = draws[~np.isnan(draws)]
    return float(known.mean()) if known.size else float("nan")


def metric_posterior(
    fn: Callable[[Any, Any], Any],
    prediction: Any,
    labels: Labels | np.ndarray | Array,
    *,
    num_draws: int = 1000,
    **how: Unpack[Judging],
) -> MetricPosterior:
    """The posterior of fn(true classes, prediction).

    Args:
        fn: (y, prediction) -> a number or an array; y (samples,) codes. Ready: `jtruth.testing.of_labels`.
        prediction: (samples,) classes, or scores (floats) of class 1, or probabilities (samples, classes).
            Classes and scores may be a Series, dict or frame with task ids.
        labels: as for `evaluate`.
        num_draws: drawn label vectors of each assumption.
        how: noise, prior, gold, assume, level, key, progress, see `Judging`. Where the noise is known the
            prior must be too. Gold is clamped, which says nothing of shared errors, so that assume
            "independent" has to be said beside it where error rates are learned. Progress is told draws too.

    Raises:
        ValueError: unusable labels or predictions, values that are no numbers or change their shape, gold
            for a range, or a name where a function belongs.

    >>> import jtruth as jt
    >>> from jtruth.testing.of_labels import brier
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> p = np.array([0.9, 0.2, 0.6, 0.1, 0.8, 0.3])
    >>> found = jt.metric_posterior(brier, p, labels, noise=noise, prior=[0.5, 0.5])
    >>> bool(0.03 < found.estimate().mean < 0.2)
    True
    """
    if not callable(fn):
        raise ValueError(
            f"fn is {fn!r}; give a function of (true classes, prediction), or ask by a metric's name: "
            "evaluate(...).estimate('accuracy')"
        )
    if num_draws < 2:
        raise ValueError(f"num_draws is {num_draws}; give 2 or more")
    data, given = _read(prediction, labels, how)
    if data.open and data.num_gold:
        raise ValueError(
            "gold corrects metrics of tables, curves and differences (evaluate, evaluate_scores, "
            "compare_classifiers); a function of your own it can only be clamped into: say "
            "assume='independent' if you can vouch for it, or leave gold out"
        )
    if data.labelers_are != UNKNOWN_KIND:
        raise ValueError(
            f"labelers_are={data.labelers_are!r} says how far metrics of tables, curves and differences are "
            "off; of a function of your own nobody knows: leave labelers_are out"
        )
    ask, doubts = _asker(fn, given, data)
    told = _told(data, given, BINS if data.open else _BINS)
    if data.open:
        sources, more = _several(data, told, num_draws)
        doubts, assumed = (*more, *doubts), NOBODY
    else:
        assumed = granted(INDEPENDENT)
        vectors = independent_vectors(told, num_draws)
        sources = [(View(INDEPENDENT, assumed, np.zeros(0)), vectors)]
    views: list[View] = []
    for view, vectors in sources:
        found: list[np.ndarray] = []
        for some in vectors:
            found.append(_checked(ask(some), found))
            if data.progress is not None:
                done = len(views) * num_draws + sum(map(len, found))
                data.progress(done, len(sources) * num_draws)
        views.append(view._replace(drawn=np.concatenate(found)))
    return MetricPosterior(tuple(views), data.level, assumed, (*told.notes, *doubts))


def _several(
    data: inputs.Inputs, told: inputs.Inputs, num_draws: int
) -> tuple[list[tuple[View, Iterator[Vectors]]], list[str]]:
    """A view, still empty, and label vectors for every assumption that is shown, and what is doubtful."""
    asked = told if told.symbols is None else with_bins(data, told.y_pred)
    found, doubts = ranges.members([e for e in entries(asked) if e.shown], asked, data.key)
    if not any(one.fit is not None for one in found):
        why = next(iter(doubts), "no model can be fitted to these labels")
        raise ValueError(f"error rates cannot be learned, so nothing can be said: {why}")
    sources = [
        (View(one.name, one.entry.sentence, np.zeros(0)), member_vectors(one, told, num_draws))
        for one in found
    ]
    return sources, [ranges.ONLY_GOLD, *doubts]


def _read(prediction: Any, labels: Any, how: Judging) -> tuple[inputs.Inputs, np.ndarray]:
    """Checked input, and the prediction as codes or floats in the order of the samples."""
    shape, kind = _look_of(prediction)
    classes = len(shape) != 2 and kind != "f"
    data = inputs.read_judged("metric_posterior", prediction if classes else None, labels, how)
    inputs.need_prior(data)
    check.choose("assume", "unknown" if data.assume is None else data.assume, ("unknown", INDEPENDENT))
    if len(shape) == 2:
        values = _probabilities(np.asarray(prediction, np.float64), data.y_pred.size, len(data.classes))
    elif kind == "f":
        if len(data.classes) != 2:
            raise ValueError(f"one score a sample ranks two classes, and there are {len(data.classes)}")
        values = finite_scores(inputs.aligned(prediction, "scores", data))
    else:
        values = np.asarray(data.y_pred, np.int32)
    return data, values


def _look_of(prediction: Any) -> tuple[tuple[int, ...], str]:
    """Shape and kind of numbers; of a dictionary those of its values, of a frame those of a vector."""
    if isinstance(prediction, dict):
        prediction = list(prediction.values())
    if check.is_frame(prediction):
        return (len(prediction),), "O"
    array = np.asarray(prediction)
    return array.shape, array.dtype.kind


def _probabilities(p: np.ndarray, size: int, classes: int) -> np.ndarray:
    """(samples, classes) that sum to 1."""
    if p.shape != (size, classes):
        raise ValueError(f"probabilities have shape {p.shape}; give ({size} samples, {classes} classes)")
    bad = np.flatnonzero(~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (abs(p.sum(axis=1) - 1) > 1e-5))
    if bad.size:
        raise ValueError(
            f"probabilities of sample {bad[0]} are {p[bad[0]].tolist()}; they must not be negative, and "
            f"sum to 1 ({bad.size} such samples)"
        )
    return p.astype(np.float64)


def _told(data: inputs.Inputs, given: np.ndarray, bins: int) -> inputs.Inputs:
    """The input with what labels are told of the prediction: its class, or the bin of its score."""
    if given.dtype.kind != "f":
        return replace(data, y_pred=given.astype(np.int64))
    if given.ndim == 2 and len(data.classes) > 2:
        return replace(data, y_pred=given.argmax(axis=1))
    scores = given if given.ndim == 1 else given[:, 1]
    coded = np.searchsorted(bin_edges(scores, bins), scores, side="right")
    number = max(int(coded.max()) + 1, 2)
    return replace(data, y_pred=coded, symbols=np.ones((2, number)))


def _asker(fn: Callable, given: np.ndarray, data: inputs.Inputs) -> tuple[Callable, tuple[str, ...]]:
    """(vectors of classes -> values, what is to be said): compiled where JAX can trace the function."""
    size = data.y_pred.size
    try:
        jax.eval_shape(fn, jax.ShapeDtypeStruct((size,), np.int32), jnp.asarray(given))
    except Exception:  # whatever is wrong with it shows when it is called with arrays

        def loop(some: Vectors) -> np.ndarray:
            return np.stack([np.asarray(fn(y, given), np.float64) for y in some])

        return loop, (SLOW,)
    mapped = jax.jit(jax.vmap(fn, in_axes=(0, None)))

    def program(some: Vectors) -> np.ndarray:
        return np.asarray(mapped(jnp.asarray(some), jnp.asarray(given)), np.float64)

    return program, ()


def _checked(values: np.ndarray, before: list[np.ndarray]) -> np.ndarray:
    if before and values.shape[1:] != before[0].shape[1:]:
        raise ValueError(
            f"fn returned shape {before[0].shape[1:]} for one draw and {values.shape[1:]} for another"
        )
    return values
