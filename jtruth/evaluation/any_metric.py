"""`metric_posterior`: the posterior of any function of true classes and predictions, by drawn label vectors.

A metric of raw scores or probabilities (log loss, Brier score, the area of the scores themselves) is no
function of a count table, but of the classes of all samples. So whole label vectors are drawn from their
posterior given labels and predictions, and the function is asked of each, many at once, in chunks of bounded
memory. What a classifier said enters the posterior through its symbol: the predicted class, or for numbers
the bin of the score (20 bins of equal mass, smooth prior; see `scores`). Given the classifier's rows K
classes are independent,

    p(y_i = c | K, z, symbols) ~ p(z_i | c) prior[c] K[c, symbol_i],

and K is drawn from its exact posterior (two classes, known noise: the chain or tree of symbols, then K given
the table), by Gibbs sampling (more classes), or together with the labelers' rates (learned).

`fn(y, prediction)` gets a vector of codes. If JAX can trace it, it is compiled and mapped over draws;
if not, as with scikit-learn's functions, it is called in a loop with NumPy arrays, and the answer says so.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth import _validation as check
from jtruth._host import known_classes, labels_log_likelihood, log, log_odds
from jtruth._random import Key, as_key, host_rng, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import GROUPS, INDEPENDENT, Progress
from jtruth.evaluation.scores import bin_edges, finite_scores
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.binary.tree import symbol_tree
from jtruth.testing.multiclass.count_draws import count_posterior

_AT_ONCE = 4_000_000  # numbers in one array of log-probabilities
_BINS, _COARSE = 20, 4
SLOW = "the function is not one that JAX can trace, so it was called once for each draw: slow"


class MetricPosterior(NamedTuple):
    """Draws of a number, or of an array of numbers, one for each drawn vector of classes."""

    draws: Float[np.ndarray, "draws ..."]
    level: float
    assumption: str
    warnings: tuple[str, ...]

    def estimate(self, *place: int) -> DrawsEstimate:
        """Law of one entry; of the number itself without `place`."""
        if len(place) != self.draws.ndim - 1:
            raise ValueError(
                f"the function's values have shape {self.draws.shape[1:]}; give {self.draws.ndim - 1} indices"
            )
        return DrawsEstimate(self.draws[(slice(None), *place)])

    def __str__(self) -> str:
        lines = []
        for place in np.ndindex(*self.draws.shape[1:]):
            law = self.estimate(*place)
            low, high, _ = law.interval(self.level)
            where = f"{list(place)} " if place else ""
            text = f"{where}{law.mean:.4f} [{low:.4f}, {high:.4f}]"
            missing = 1 - law.probability_defined
            lines.append(text + (f" (undefined in {missing:.1%} of draws)" if missing else ""))
        lines.append(f"{100 * self.level:g} % posterior intervals; assumed: {self.assumption}")
        return "\n".join([*lines, *(f"! {text}" for text in self.warnings)])


class _Rows(NamedTuple):
    """The classifier's rows, drawn, for one state of knowledge of the labelers."""

    log_joint: Float[np.ndarray, "samples classes"]  # log p(z_i | c) prior[c]
    rows: Float[np.ndarray, "draws classes symbols"]


def metric_posterior(
    fn: Callable[[Any, Any], Any],
    prediction: Any,
    labels: Labels | np.ndarray | Array,
    *,
    noise: Any = None,
    prior: Any = None,
    assume: str | None = None,
    gold: Any = None,
    num_draws: int = 1000,
    level: float = 0.95,
    key: Any = None,
    progress: Progress | None = None,
) -> MetricPosterior:
    """The posterior of fn(true classes, prediction).

    Args:
        fn: (y, prediction) -> a number or an array; y (samples,) codes. Ready: `jtruth.testing.of_labels`.
        prediction: (samples,) classes, or scores (floats) of class 1, or probabilities (samples, classes).
            Classes and scores may be a Series, dict or frame with task ids.
        labels, noise, prior: as for `evaluate`; where the noise is known the prior must be too.
        assume: "independent"; it has to be said where error rates are learned, because drawn label vectors
            exist only for independent errors.
        gold: (samples,) known classes, -1 where unknown; clamped.
        num_draws: drawn label vectors.
        level: of the printed intervals.
        key: a whole number or a JAX key; 0 if None.
        progress: called with (draws done, draws planned).

    Raises:
        ValueError: unusable labels or predictions, values that are no numbers or change their shape, or error
            rates to be learned without a word on what they share with the classifier.

    >>> import jtruth as jt
    >>> from jtruth.testing.of_labels import brier
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> p = np.array([0.9, 0.2, 0.6, 0.1, 0.8, 0.3])
    >>> found = jt.metric_posterior(brier, p, labels, noise=noise, prior=[0.5, 0.5])
    >>> bool(0.03 < found.estimate().mean < 0.2)
    True
    """
    level = check_level(level)
    if num_draws < 2:
        raise ValueError(f"num_draws is {num_draws}; give 2 or more")
    check.choose("assume", "unknown" if assume is None else assume, ("unknown", INDEPENDENT))
    data, given = _read(prediction, labels, noise, prior, gold)
    if data.model is None and assume != INDEPENDENT:
        raise ValueError(
            "where error rates are learned, label vectors are drawn for independent errors only: say "
            "assume='independent' if you can vouch for it, or give noise=..."
        )
    key = as_key(key)
    symbols, number = _symbols(data, given)
    scored = given.dtype.kind == "f" and len(data.classes) == 2
    states = (_known if data.model is not None else _learned)(data, symbols, number, num_draws, key, scored)
    ask, doubts = _asker(fn, given, data)
    found, done = [], 0
    for k, joint in enumerate(_chunks(states, symbols)):
        y = _drawn(joint, stream(key, "label vectors", k))
        found.append(_checked(ask(y), found))
        done += len(y)
        if progress is not None:
            progress(done, num_draws)
    notes = (*data.notes, *doubts)
    return MetricPosterior(np.concatenate(found), level, GROUPS[INDEPENDENT], notes)


def _read(prediction, labels, noise, prior, gold) -> tuple[inputs.Inputs, np.ndarray]:
    """Checked input, and the prediction as codes or floats in the order of the samples."""
    size = labels.num_samples if isinstance(labels, Labels) else len(labels)
    tasks = labels.tasks if isinstance(labels, Labels) else None
    nothing = check.with_tasks(np.zeros(size, np.int32), tasks)
    shape, kind = _look_of(prediction)
    if len(shape) == 2:
        data = inputs.read(nothing, labels, noise, prior, gold, None)
        values = _probabilities(np.asarray(prediction, np.float64), size, len(data.classes))
    elif kind == "f":
        data = inputs.read(nothing, labels, noise, prior, gold, None)
        if len(data.classes) != 2:
            raise ValueError(f"one score a sample ranks two classes, and there are {len(data.classes)}")
        values = finite_scores(inputs.aligned(prediction, "scores", data))
    else:
        data = inputs.read(prediction, labels, noise, prior, gold, None)
        values = np.asarray(data.y_pred, np.int32)
    if data.model is not None and prior is None:
        raise ValueError("known error rates need the class prior too: give prior=[p(class 0), ...]")
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


def _symbols(data: inputs.Inputs, given: np.ndarray) -> tuple[Int[np.ndarray, " samples"], int]:
    """What the labels are told of the prediction: its class, or the bin of its score."""
    if given.dtype.kind != "f":
        return given.astype(np.int64), len(data.classes)
    if given.ndim == 2 and len(data.classes) > 2:
        return given.argmax(axis=1), len(data.classes)
    scores = given if given.ndim == 1 else given[:, 1]
    coded = np.searchsorted(bin_edges(scores, _BINS), scores, side="right")
    return coded, max(int(coded.max()) + 1, 2)


def _known(
    data: inputs.Inputs, symbols: np.ndarray, number: int, num_draws: int, key: Key, scored: bool
) -> Iterator[_Rows]:
    """The error rates are given."""
    model = check.present(data.model, "the noise model")
    joint = model.log_likelihood + log(model.prior)[None, :]
    if len(data.classes) > 2:
        key = stream(key, "rows of a metric, many classes")
        found = count_posterior(model.log_likelihood, model.prior, symbols, key=key)
        chosen = np.linspace(0, len(found.confusion) - 1, num_draws).astype(int)
        yield _Rows(joint, found.confusion[chosen])
        return
    odds = log_odds(model.log_likelihood, model.prior)
    yield _Rows(joint, _rows(odds, symbols, number, num_draws, stream(key, "rows of a metric"), scored))


def _rows(odds, symbols, number: int, draws: int, key: Key, scored: bool) -> np.ndarray:
    """Draws of K for two classes: of a count table, then of the rows given the table."""
    if scored:
        tree = symbol_tree(odds, symbols, number)
        positives = tree.draws(key, draws)
        return tree.shares(positives, stream(key, "rows given bins"))
    counts = symbol_chain(odds, symbols, number).tables(key, draws).counts
    gamma = host_rng(key, "rows given counts").standard_gamma(counts + 1.0)
    return gamma / gamma.sum(axis=2, keepdims=True)


def _learned(
    data: inputs.Inputs, symbols: np.ndarray, number: int, num_draws: int, key: Key, scored: bool
) -> Iterator[_Rows]:
    """Error rates and prior are drawn too; scores inform them through four coarse bins."""
    labels = data.own_labels()
    coarse = min(_COARSE, number)
    rough = symbols * coarse // number if scored else symbols
    fit = fit_joint(labels, y_pred=rough, gold=data.some_gold, prior=data.prior,
                    key=stream(key, "rates of a metric"),
                    num_symbols=coarse if scored else None)  # fmt: skip
    if not fit.usable:
        raise ValueError(fit.warnings[0])
    data.notes += fit.warnings
    few = min(num_draws, 50) if scored else min(num_draws, len(fit.matrices))
    chosen = np.linspace(0, len(fit.matrices) - 1, few).astype(int)
    share = np.diff(np.linspace(0, num_draws, few + 1).astype(int))
    for k, (place, draws) in enumerate(zip(chosen, share, strict=True)):
        at = fit.matrix_draw[place]
        matrices = fit.matrices[place].astype(np.float64)
        log_p = labels_log_likelihood(matrices, *labels.arrays, labels.num_samples)
        log_p = known_classes(log_p, data.gold)
        if scored:
            odds = log_odds(log_p, fit.prior[at])
            rows = _rows(odds, symbols, number, int(draws), stream(key, "rows given rates", k), True)
        else:
            rows = np.repeat(check.present(fit.classifier, "the classifier")[at][None], draws, axis=0)
        yield _Rows(log_p + log(fit.prior[at])[None, :], rows)


def _chunks(states: Iterator[_Rows], symbols: np.ndarray) -> Iterator[Float[np.ndarray, "_ samples classes"]]:
    """log p(z_i | c) prior[c] K[c, symbol_i] of as many draws as memory is meant for, in equal pieces."""
    waiting: list[np.ndarray] = []
    for log_joint, rows in states:
        most = max(_AT_ONCE // log_joint.size, 1)
        for row in rows:
            waiting.append(log_joint + log(row)[:, symbols].T)
            if len(waiting) == most:
                yield np.stack(waiting)
                waiting = []
    if waiting:
        yield np.stack(waiting)


def _drawn(log_joint: np.ndarray, key: Key) -> Int[np.ndarray, "draws samples"]:
    """A class for every sample of every draw."""
    height = np.exp(log_joint - log_joint.max(axis=2, keepdims=True)).cumsum(axis=2)
    point = host_rng(key, "classes of a metric").random(log_joint.shape[:2]) * height[..., -1]
    return (height <= point[..., None]).sum(axis=2).astype(np.int32)


def _asker(fn: Callable, given: np.ndarray, data: inputs.Inputs) -> tuple[Callable, tuple[str, ...]]:
    """(label vectors -> values, what is to be said): compiled where JAX can trace the function."""
    size = data.y_pred.size
    try:
        jax.eval_shape(fn, jax.ShapeDtypeStruct((size,), np.int32), jnp.asarray(given))
    except Exception:  # whatever is wrong with it shows when it is called with arrays
        return lambda y: np.stack([np.asarray(fn(one, given), np.float64) for one in y]), (SLOW,)
    mapped = jax.jit(jax.vmap(fn, in_axes=(0, None)))
    return lambda y: np.asarray(mapped(jnp.asarray(y), jnp.asarray(given)), np.float64), ()


def _checked(values: np.ndarray, before: list[np.ndarray]) -> np.ndarray:
    if before and values.shape[1:] != before[0].shape[1:]:
        raise ValueError(
            f"fn returned shape {before[0].shape[1:]} for one draw and {values.shape[1:]} for another"
        )
    return values
