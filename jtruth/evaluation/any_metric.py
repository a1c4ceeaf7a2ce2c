"""`metric_posterior`: the posterior of any function of true classes and predictions, by drawn label vectors.

Whole label vectors are drawn, in chunks of bounded memory. The classifier enters through its symbol: the
class, or the bin of a score (20 of equal mass, or 12 with several assumptions). If errors are independent,
classes are independent given the classifier's rows K,

    p(y_i = c | K, z, symbols) ~ p(z_i | c) prior[c] K[c, symbol_i],

and K is drawn from its posterior: with two classes by the chain of symbols, or for bins by a walk along them;
with more by Gibbs sampling; learned rates together with those of labelers.

Without an assumption the result is the hull over all assumptions of `evaluate`, without coverage. For each
symbol a vector has as many samples of class c as a drawn table, chosen with the odds of their class posterior
(systematic sampling in random order).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import expit

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import Key, host_rng, stream
from jtruth._validation.in_range import check_rows, check_shape
from jtruth.answers import Answer, Column, Document, Table, dist_row, how, warning_notes
from jtruth.answers.blocks import cell_text, check_notes, facts_of
from jtruth.evaluation import inputs
from jtruth.evaluation import score_tables as binned
from jtruth.evaluation.assumptions import ranges, registry
from jtruth.evaluation.assumptions.model_error import UNKNOWN_KIND
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, INDEPENDENT
from jtruth.evaluation.checks import first_look as look
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.parts import LOOK_FIRST, ONLY_GOLD, Assumption, Check, assumption_table
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.posterior import NO_DISTRIBUTION, RangeEstimate
from jtruth.testing.binary.chain import symbol_chain, symbol_walk
from jtruth.testing.multiclass import count_posterior

_AT_ONCE = 4_000_000  # numbers in one array of log-probabilities
_BINS, _COARSE, _RATES = 20, 4, 50
WHAT_IF = "what-if range"
SLOW = "JAX cannot trace the function, so it was called once for each draw, which is slow."
NOBODY = "unknown dependence of labelers and classifier: the range over several assumptions"
WITH_GOLD = (
    "gold corrects metrics of tables, curves and differences (evaluate, evaluate_scores, "
    "compare_classifiers), but not a function of your own: say assume='independent' if you can vouch for it, "
    "or leave gold out"
)
Vectors = Int[np.ndarray, "draws samples"]  # of classes
# log p(z_i | c) prior[c] (samples, classes) and draws of the classifier's rows (draws, classes, symbols), for
# one state of knowledge of the labelers.
State = tuple[Float[np.ndarray, "samples classes"], Float[np.ndarray, "draws classes symbols"]]


@dataclass(frozen=True, repr=False)
class MetricPosterior(Answer):
    """Posterior of a number, or an array of numbers, under one or several assumptions."""

    drawn: Mapping[str, Float[np.ndarray, "draws ..."]]  # by the name of the assumption
    level: float
    assumption: str
    warnings: tuple[str, ...]
    checks: tuple[Check, ...] = ()

    @property
    def interval_kind(self) -> str:
        """A posterior, or a range over several assumptions, which has no coverage."""
        return "posterior" if len(self.drawn) == 1 else WHAT_IF

    @property
    def draws(self) -> Float[np.ndarray, "draws ..."]:
        """Values (draws, ...) for drawn vectors of classes; ValueError for a range."""
        first, *others = self.drawn.values()
        if others:
            raise ValueError(f"{NO_DISTRIBUTION}; for one assumption take drawn[{next(iter(self.drawn))!r}]")
        return first

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.drawn.values())).shape[1:]

    def estimate(self, *place: int) -> DrawsEstimate | RangeEstimate:
        """Distribution, or range, of one entry; of the number itself without `place`."""
        if len(place) != len(self._shape):
            raise ValueError(
                f"the function's values have shape {self._shape}; give {len(self._shape)} indices"
            )
        dists = [DrawsEstimate(draws[(slice(None), *place)]) for draws in self.drawn.values()]
        return dists[0] if len(dists) == 1 else RangeEstimate(tuple(dists))

    def blocks(self) -> Document:
        """Build the document of the result."""
        places = {str(list(p)) if p else "value": p for p in np.ndindex(self._shape)}
        rows = [{"place": name, **dist_row(self.estimate(*p), self.level)} for name, p in places.items()]
        views = [
            {"name": name, "sentence": ASSUMPTIONS[name].sentence,
             "values": {k: DrawsEstimate(draws[(slice(None), *p)]).mean for k, p in places.items()}}
            for name, draws in self.drawn.items()
            if len(self.drawn) > 1
        ]  # fmt: skip
        missing = max(1 - (row["probability_defined"] or 0.0) for row in rows)
        note = f"Undefined in up to {missing:.1%} of draws." if missing else ""
        percent = f"{100 * self.level:g} % posterior interval" if len(self.drawn) == 1 else WHAT_IF
        columns = (Column("mean", "estimate [interval]", ("low", "high"), ".4f"),)
        blocks = (
            Table("values", f"Values, with {percent}s", "place", columns, rows, note, unit=None,
                  missing="undefined", by_name=True),
            assumption_table(views, [Column(("values", k), k, form=".4f") for k in places]),
            check_notes(self.checks), warning_notes(self.warnings), how(("assumed", self.assumption)),
            facts_of(self, "level", "interval_kind", "assumption"),
        )  # fmt: skip
        ends = [rows[0][name] for name in ("mean", "low", "high")]
        what = f"{rows[0]['place']} of {len(rows)}: " if len(rows) > 1 else ""
        sentence = f"{what}{cell_text(ends, '.3f', 'undefined')} ({percent}; assumption: {self.assumption})."
        return Document("What is the posterior of this metric?", f"{len(self.drawn)} views", sentence, blocks)


def metric_posterior(
    fn: Callable[[Any, Any], Any],
    prediction: Any,
    labels: Labels | np.ndarray | Array,
    *,
    num_draws: int = 1000,
    **how: Unpack[Judging],
) -> MetricPosterior:
    """Estimate the posterior of fn(true classes, prediction).

    Args:
        fn: (y, prediction) -> a number or an array; y (samples,) codes. Examples: `jtruth.testing.of_labels`.
        prediction: (samples,) classes, or scores (floats) of class 1, or probabilities (samples, classes);
            matched by task ids if they have some.
        labels: as for `evaluate`.
        num_draws: number of drawn label vectors under each assumption.
        how: see `Judging`; known noise needs the prior. Gold is clamped, so with learned error rates it needs
            assume="independent". `progress` counts draws too.

    Raises:
        ValueError: unusable labels or predictions, values that are no numbers or change their shape, gold
            without an assumption, or a name in place of a function.

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
            f"fn is {fn!r}; give a function of (true classes, prediction), or use a named metric: "
            "evaluate(...).estimate('accuracy')"
        )
    if num_draws < 2:
        raise ValueError(f"num_draws is {num_draws}; give 2 or more")
    data, outputs = _read(prediction, labels, how)
    if data.open and data.num_gold:
        raise ValueError(WITH_GOLD)
    if data.labelers_are != UNKNOWN_KIND:
        raise ValueError(
            f"labelers_are={data.labelers_are!r} applies to metrics of tables, curves and differences, not "
            "to a function of your own: leave labelers_are out"
        )
    ask, slow = _asker(fn, outputs, data)
    coded = _with_symbols(data, outputs, binned.BINS if data.open else _BINS)
    if data.open:
        asked = coded if coded.symbols is None else binned.with_bins(data, coded.y_pred)
        listed = [entry for entry in registry.entries(asked) if entry.listed]
        members, doubts = ranges.members(listed, asked, data.key)
        if not any(one.fit is not None for one in members):
            why = next(iter(doubts), "no model can be fitted to these labels")
            raise ValueError(f"error rates cannot be learned from these labels: {why}")
        sources = {one.name: member_vectors(one, coded, num_draws) for one in members}
        assumed, doubts = NOBODY, [ONLY_GOLD, *doubts]
    else:
        sources, doubts = {INDEPENDENT: independent_vectors(coded, num_draws)}, []
        assumed = registry.assumption_of(INDEPENDENT)
    drawn: dict[str, np.ndarray] = {}
    for name, vectors in sources.items():
        parts: list[np.ndarray] = []
        for some in vectors:
            values = ask(some)
            if parts and values.shape[1:] != parts[0].shape[1:]:
                raise ValueError(
                    f"fn returned shape {parts[0].shape[1:]} for one draw and {values.shape[1:]} for another"
                )
            parts.append(values)
            if data.progress is not None:
                done = len(drawn) * num_draws + sum(map(len, parts))
                data.progress(done, len(sources) * num_draws)
        drawn[name] = np.concatenate(parts)
    return MetricPosterior(drawn, data.level, assumed, (*coded.notes, *doubts, *slow), _alarms(data, outputs))


def _alarms(data: inputs.Inputs, outputs: np.ndarray) -> tuple[Check, ...]:
    if outputs.dtype.kind == "f" and (outputs.ndim == 1 or len(data.classes) == 2):
        scores = outputs if outputs.ndim == 1 else outputs[:, 1]
        data = replace(data, positive=1)
        return (*look.look_at(data, {}), *look.row_numbers(scores, data), *look.backward_scores(scores, data))
    y_pred = outputs if outputs.dtype.kind != "f" else outputs.argmax(axis=1)
    turned = look.backward_columns(outputs, data) if outputs.dtype.kind == "f" else ()
    found = look.chance_check(replace(data, y_pred=y_pred.astype(np.int64)), data.model)
    by_chance = (one for one in found if one.verdict == LOOK_FIRST)
    return (*look.look_at(data, {"": y_pred}), *turned, *by_chance)


def _read(prediction: Any, labels: Any, how: Judging) -> tuple[inputs.Inputs, np.ndarray]:
    # Shape and kind of numbers; of a dictionary those of its values, of a frame those of a vector.
    values = list(prediction.values()) if isinstance(prediction, dict) else prediction
    shape, kind = (len(values),), "O"
    if not check.is_frame(values):
        shape, kind = np.shape(values), np.asarray(values).dtype.kind
    classes = len(shape) != 2 and kind != "f"
    data = inputs.read_one_assumption("metric_posterior", prediction if classes else None, labels, how)
    if len(shape) == 2:
        values = np.asarray(prediction, np.float64)
        sizes = {"samples": data.y_pred.size, "classes": len(data.classes)}
        check_shape(values, "probabilities", "samples classes", **sizes)
        check_rows(values, "probabilities", 1e-5)
    elif kind == "f":
        if len(data.classes) != 2:
            raise ValueError(f"one score per sample ranks two classes, but there are {len(data.classes)}")
        values = binned.finite_scores(inputs.aligned(prediction, "scores", data))
    else:
        values = np.asarray(data.y_pred, np.int32)
    return data, values


def _with_symbols(data: inputs.Inputs, outputs: np.ndarray, bins: int) -> inputs.Inputs:
    """The input with the symbol of each prediction: its class, or the bin of its score."""
    if outputs.dtype.kind != "f":
        return replace(data, y_pred=outputs.astype(np.int64))
    if outputs.ndim == 2 and len(data.classes) > 2:
        return replace(data, y_pred=outputs.argmax(axis=1))
    scores = outputs if outputs.ndim == 1 else outputs[:, 1]
    bin_ = np.searchsorted(binned.bin_edges(scores, bins), scores, side="right")
    number = max(int(bin_.max()) + 1, 2)
    return replace(data, y_pred=bin_, symbols=np.ones((2, number)))


def _asker(fn: Callable, outputs: np.ndarray, data: inputs.Inputs) -> tuple[Callable, tuple[str, ...]]:
    """(vectors of classes -> values, warnings); compiled if JAX can trace the function."""
    size = data.y_pred.size
    try:
        jax.eval_shape(fn, jax.ShapeDtypeStruct((size,), np.int32), jnp.asarray(outputs))
    except Exception:  # whatever is wrong with it shows when it is called with arrays

        def loop(some: Vectors) -> np.ndarray:
            return np.stack([np.asarray(fn(y, outputs), np.float64) for y in some])

        return loop, (SLOW,)
    mapped = jax.jit(jax.vmap(fn, in_axes=(0, None)))

    def program(some: Vectors) -> np.ndarray:
        return np.asarray(mapped(jnp.asarray(some), jnp.asarray(outputs)), np.float64)

    return program, ()


def independent_vectors(data: inputs.Inputs, num_draws: int) -> Iterator[Vectors]:
    """Label vectors if errors are independent, in chunks; notes are added to `data`."""
    states = (_known if data.model is not None else _learned)(data, num_draws, data.key)
    # log p(z_i | c) prior[c] K[c, symbol_i] of each draw
    joints = (log_joint + log(row)[:, data.y_pred].T for log_joint, rows in states for row in rows)
    most = max(_AT_ONCE // (data.y_pred.size * len(data.classes)), 1)
    for k in count():
        some = list(islice(joints, most))
        if not some:
            return
        yield _drawn(np.stack(some), stream(data.key, "label vectors", k))


def member_vectors(member: Assumption, data: inputs.Inputs, num_draws: int) -> Iterator[Vectors]:
    """Label vectors under one fitted assumption, in chunks."""
    rng = host_rng(stream(data.key, member.name), "label vectors of one assumption")
    if member.fit is not None:
        p = member.fit.class_posterior
    else:  # of ties and of samples without a label nothing else is known
        truth, silent = registry.voted(data)
        p = truth + silent[:, None]
    counts = member.posterior.counts
    chosen = np.linspace(0, len(counts) - 1, num_draws).astype(int)
    size = max(_AT_ONCE // max(data.y_pred.size, 1), 1)
    for k in range(0, num_draws, size):
        yield tied_vectors(p, data.y_pred, counts[chosen[k : k + size]], rng)


def tied_vectors(
    p: Float[np.ndarray, "samples classes"],
    symbols: Int[np.ndarray, " samples"],
    tables: Int[np.ndarray, "draws classes symbols"],
    rng: np.random.Generator,
) -> Int[np.ndarray, "draws samples"]:
    """A vector of classes for each table with its counts; `p` are class posteriors up to a factor."""
    classes = p.shape[1]
    y = np.full((len(tables), len(p)), classes - 1, np.int32)
    for u in np.unique(symbols):
        rows = np.flatnonzero(symbols == u)
        left = np.ones((len(tables), rows.size), bool)
        for c in range(classes - 1):
            with np.errstate(invalid="ignore"):  # NaN where a sample is of an earlier class for certain
                odds = log(p[rows, c]) - log(p[rows, c + 1 :].sum(axis=1))
            taken = _fixed_number(odds, left, tables[:, c, u].astype(np.float64), rng)
            draw, place = np.nonzero(taken)
            y[draw, rows[place]] = c
            left &= ~taken
    return y


def _fixed_number(
    odds: Float[np.ndarray, " samples"],
    left: Bool[np.ndarray, "draws samples"],
    number: Float[np.ndarray, " draws"],
    rng: np.random.Generator,
) -> Bool[np.ndarray, "draws samples"]:
    """Choose `number` of the remaining samples in each draw, with odds in proportion to `odds`."""
    odds = np.where(np.isnan(odds), np.inf, odds)
    low, high = np.full((len(left), 1), -60.0), np.full((len(left), 1), 60.0)
    for _ in range(40):
        middle = (low + high) / 2
        few = (expit(odds + middle) * left).sum(axis=1, keepdims=True) < number[:, None]
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    chance = expit(odds + high) * left
    order = rng.random(left.shape).argsort(axis=1)
    upto = np.cumsum(np.take_along_axis(chance, order, axis=1), axis=1)
    upto *= (number / np.maximum(upto[:, -1], 1e-300))[:, None]
    step = np.floor(upto + rng.random((len(left), 1)))
    taken = np.diff(step, axis=1, prepend=0.0) > 0
    inside = np.zeros(left.shape, bool)
    np.put_along_axis(inside, order, taken, axis=1)
    return inside & left


def _known(data: inputs.Inputs, num_draws: int, key: Key) -> Iterator[State]:
    model = check.present(data.model, "the noise model")
    joint = model.log_likelihood + log(model.prior)[None, :]
    if len(data.classes) > 2:
        key = stream(key, "rows of a metric, many classes")
        draws = count_posterior(model.log_likelihood, model.prior, data.y_pred, key=key)
        chosen = np.linspace(0, len(draws.confusion) - 1, num_draws).astype(int)
        yield joint, draws.confusion[chosen]
        return
    odds = log_odds(model.log_likelihood, model.prior)
    if data.symbols is not None:
        yield joint, _bin_rows(odds, data, float(model.prior[1]), num_draws, key)
        return
    dist = symbol_chain(odds, data.y_pred, data.num_symbols)
    drawn = dist.draws(stream(key, "tables of a metric"), num_draws)
    yield joint, dist.shares(drawn, stream(key, "rows given bins"))


def _bin_rows(
    odds: Float[np.ndarray, "*rates samples"], data: inputs.Inputs,
    prior: Float[np.ndarray, " rates"] | float, draws: int, key: Key,
) -> Float[np.ndarray, "draws classes bins"]:  # fmt: skip
    """Rows of K by a walk along the bins, up to a factor for each bin; draw d is of row d mod rates."""
    which = odds, data.y_pred, data.num_symbols, prior
    _, shares, _ = symbol_walk(*which, stream(key, "rows of a metric"), draws)
    p = np.resize(prior, draws)[:, None]
    return np.stack([(1 - shares) / (1 - p), shares / p], axis=1)


def _learned(data: inputs.Inputs, num_draws: int, key: Key) -> Iterator[State]:
    """Draw error rates and prior too; scores inform them through four coarse bins."""
    scored, number = data.symbols is not None, data.num_symbols
    coarse = min(_COARSE, number)
    rough = data.y_pred * coarse // number if scored else data.y_pred
    fit = binned.rates_with(rough, coarse if scored else None, data, stream(key, "rates of a metric"))
    data.notes += fit.warnings
    if scored:
        odds, prior = binned.odds_given_rates(fit, data, min(num_draws, _RATES))
        few, planned = len(odds), -(-num_draws // len(odds)) * len(odds)
        rows = _bin_rows(odds, data, prior, planned, key)[:num_draws]
        for k in range(few):
            # log p(z_i | c) prior[c] up to a factor for each sample
            yield np.stack([-np.logaddexp(0, odds[k]), -np.logaddexp(0, -odds[k])], axis=1), rows[k::few]
        return
    few, classifier = min(num_draws, len(fit.matrices)), check.present(fit.classifier, "the classifier")
    share = np.diff(np.linspace(0, num_draws, few + 1).astype(int))
    for (place, log_p, prior), draws in zip(registry.drawn_rates(fit, data, few), share, strict=True):
        yield log_p + log(prior), np.repeat(classifier[fit.matrix_draw[place]][None], draws, axis=0)


def _drawn(log_joint: np.ndarray, key: Key) -> Int[np.ndarray, "draws samples"]:
    height = np.exp(log_joint - log_joint.max(axis=2, keepdims=True)).cumsum(axis=2)
    point = host_rng(key, "classes of a metric").random(log_joint.shape[:2]) * height[..., -1]
    return (height <= point[..., None]).sum(axis=2).astype(np.int32)
