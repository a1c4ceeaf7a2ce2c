"""The interface of a noisy-label model, and array functions that all models use.

A noise model is p(z | y; psi) of Su section 1.1. It must have `log_likelihood` (how likely are these labels
under every class) and `sample` (labels for samples of known class). Other methods have a default, "not
known", and a model that overrides them can be used for

    num_labelers        information, where the caller does not give the number of labelers
    scaled(factor)      `sensitivity("error_rates")`: the same model with other error rates
    strata(number)      information: independent labelers, given a stratum of the sample; where there is one
                        stratum (`as_matrices`) also planning and `evaluate_batch`
    hardness            the check whether the classifier errs where the labelers do
    mean_prior          `evaluate` without prior: the class prior that was learned with the parameters
    models(most)        `evaluate`: one answer for each draw of parameters that are not known exactly
    to_dict, from_dict  JSON (`jtruth evaluate --noise`); they work for every model

Build `log_likelihood` from `safe_log` and `sum_over_labels`, so that impossible labels give -inf (never NaN)
and gradients stay finite. Labels are `Labels` or an array of codes, -1 where there is none; `as_entries`
accepts both. With arrays a model is a pure function under jit, vmap and grad (docs/jax.md). Parameters are
checked in `__init__`, which JAX does not call when it rebuilds an `equinox.Module`, and kept as float64
NumPy: results are float64 under `jax.enable_x64(True)`, else float32.

A sample of known class has a row of the log-likelihood that is 0 at the class and -inf elsewhere (Su 2.2.2).
"""

import abc
import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import AnyArray, as_array, is_concrete, is_readable, safe_log
from jtruth._one_line import one_line
from jtruth._random import Key, as_key
from jtruth._validation import by_class, quoted, some
from jtruth._validation.in_range import check_codes, check_probabilities, check_rows, sum_tolerance
from jtruth.labels import Labels

_UNROLLED = 16  # classes of a row that are added up without a loop
Truth = Int[AnyArray, " samples"]  # the class of each sample
Mask = Bool[AnyArray, "samples labelers"]  # who gives a label
DrawnLabels = Int[Array, "samples labelers"]  # labels; -1: none
Given = Labels | Int[AnyArray, "samples labelers"]  # or codes of symbols, traced or not; -1: none


class Strata(NamedTuple):
    """p(z | y) = sum_s weights[s, y] prod_t rows[s, t, y, z_t]; the stratum s makes labels dependent."""

    rows: Float[np.ndarray, "strata labelers classes symbols"]  # p(symbol | class, stratum), sums to 1
    weights: Float[np.ndarray, "strata classes"]  # p(stratum | class), columns sum to 1
    of_sample: Int[np.ndarray, " samples"] | None = None  # where it is known

    __repr__ = one_line

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.rows.shape[1]

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.rows.shape[2]

    def known(self) -> list[tuple[float, "Strata"]]:
        """(weight, distribution) of each stratum if samples have known ones; else itself, with weight 1."""
        if self.of_sample is None:
            return [(1.0, self)]
        certain = np.ones((1, self.num_classes))
        return [(float(w[0]), Strata(r[None], certain)) for r, w in zip(self.rows, self.weights, strict=True)]


class NoiseModel(eqx.Module):
    """Distribution of the noisy labels of a sample given its class. Samples are independent."""

    num_classes: eqx.AbstractVar[int]
    __hash__ = object.__hash__  # `jax.jit(model.log_likelihood)` asks for it

    @abc.abstractmethod
    def log_likelihood(self, labels: Given) -> Float[Array, "samples classes"]:
        """log p(z_i | y_i = c; psi_i) for every sample i and class c; 0 where a sample has no label."""

    @abc.abstractmethod
    def sample(self, key: Key, y: Truth, mask: Mask) -> DrawnLabels:
        """Draw labels for samples of class `y`; -1 where `mask` is False (that labeler gives no label)."""

    @property
    def num_labelers(self) -> int | None:
        """Number of labelers T; None where one parameter is that of all of them, or if it is not known."""
        return None

    def scaled(self, factor: float) -> "NoiseModel":
        """The same model with its error rates times `factor`, at most 1."""
        raise ValueError(
            f"the error rates of {type(self).__name__} cannot be scaled: the model has no method `scaled`"
        )

    def strata(self, num_labelers: int | None) -> Strata | None:
        """Distribution of the labels of one sample; None if it is not known."""
        return None

    @property
    def hardness(self) -> Float[np.ndarray, " samples"] | None:
        """One number for each sample, larger where labelers err more; None if it is not known."""
        return None

    @property
    def mean_prior(self) -> Float[np.ndarray, " classes"] | None:
        """Class prior that was learned with the parameters; None if none was."""
        return None

    def models(self, most: int) -> Iterator[tuple["NoiseModel", np.ndarray]]:
        """Draws of the parameters (as models) and of the class prior; none if they are known."""
        return iter(())

    def to_dict(self) -> dict[str, Any]:
        """Name of the model and its parameters as plain numbers and lists, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"model": type(self).__name__} | {name: np.asarray(v).tolist() for name, v in values.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "NoiseModel":
        """The model that `to_dict` wrote; of a derived class only that model.

        Raises:
            ValueError: no model of this name, or parameters that are missing, unknown or bad.

        >>> from jtruth.noise import NoiseModel, Symmetric
        >>> NoiseModel.from_dict(Symmetric(0.1, 2).to_dict()).error
        array(0.1)
        """
        known = {model.__name__: model for model in _models(cls) if not inspect.isabstract(model)}
        model = known.get(values.get("model", ""))
        if model is None:
            raise ValueError(
                f"there is no noise model {values.get('model')!r}; the models are {sorted(known)}"
            )
        wanted, given = {field.name for field in fields(model)}, set(values) - {"model"}
        if wanted != given:
            raise ValueError(
                f"{model.__name__} has the parameters {sorted(wanted)}; missing: {sorted(wanted - given)}, "
                f"unknown: {sorted(given - wanted)}"
            )
        return model(**{name: values[name] for name in wanted})


class IndependentLabelers(NoiseModel):
    """Labelers who err independently given the class, by their matrices."""

    @abc.abstractmethod
    def rows(self) -> Float[Array, "labelers classes symbols"]:
        """p(label | class) of each labeler, in JAX's current dtype (`current`)."""

    def log_likelihood(self, labels: Given) -> Float[Array, "samples classes"]:
        """Su (58). ValueError if `labels` has other numbers of symbols or labelers, or wrong codes."""
        rows = self.rows()
        labels = as_entries(labels, rows.shape[2])
        check_sizes("classes", labels.num_classes, rows.shape[2], "the model")
        check_sizes("labelers", labels.num_labelers, rows.shape[0], "the model")
        return rows_log_likelihood(rows, labels)

    def sample(self, key: Key, y: Truth, mask: Mask) -> DrawnLabels:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        rows = self.rows()
        y, mask = as_asked(y, mask, rows.shape[1])
        check_sizes("labelers", mask.shape[1], rows.shape[0], "the model")
        return drawn_labels(as_key(key), rows, y, mask)

    def strata(self, num_labelers: int | None) -> Strata:
        """Independent labelers."""
        with jax.enable_x64(True):
            return one_stratum(np.asarray(self.rows(), np.float64))


@jax.jit
def rows_log_likelihood(
    matrices: Float[Array, "labelers classes symbols"], labels: Labels
) -> Float[Array, "samples classes"]:
    """Su (58), compiled as a whole."""
    by_label = safe_log(jnp.swapaxes(matrices, 1, 2))  # (labelers, symbols, true): one row per lookup
    log_p = by_label[jnp.asarray(labels.labeler), jnp.asarray(labels.label)]
    return sum_over_labels(log_p, labels)


@jax.jit
def drawn_labels(key: PRNGKeyArray, matrices: Array, y: Array, mask: Array) -> DrawnLabels:
    """One draw from row y of every labeler's matrix."""
    return jnp.where(mask, draw_rows(key, jnp.swapaxes(matrices, 0, 1)[y]), -1)


def _models(model: type[NoiseModel]) -> Iterator[type[NoiseModel]]:
    """A class of models and all that are derived from it."""
    yield model
    for derived in model.__subclasses__():
        yield from _models(derived)


def as_entries(labels: Given, num_symbols: int) -> Labels:
    """Labels as they are; an array (samples, labelers) as labels whose three codes broadcast to its shape.

    ValueError for another dtype or number of axes, and, where arrays are concrete, for wrong codes.
    """
    if isinstance(labels, Labels):
        return labels
    z = labels if isinstance(labels, jax.Array) else np.asarray(labels)
    if z.ndim != 2 or z.dtype.kind not in "iub":
        raise ValueError(
            f"labels are an array of shape {z.shape} and dtype {z.dtype}; give jt.Labels, or whole numbers "
            "of shape (samples, labelers) with -1 where there is no label (many such arrays: jax.vmap)"
        )
    check_codes(z, num_symbols, "labels", size=z.shape, missing=True)
    samples, labelers = z.shape
    sample, labeler = (jnp.arange(size, dtype=jnp.int32) for size in (samples, labelers))
    codes = jnp.asarray(z, jnp.int32)
    return Labels(sample[:, None], labeler[None, :], codes, samples, labelers, num_symbols)


def as_asked(y: Truth, mask: Mask, num_classes: int) -> tuple[Int[Array, " samples"], Bool[Array, "..."]]:
    """The arguments of `sample` as JAX arrays; ValueError for other shapes, dtypes or wrong classes."""
    mask = mask if isinstance(mask, jax.Array) else np.asarray(mask)
    if mask.ndim != 2 or mask.dtype.kind != "b":
        raise ValueError(
            f"mask is an array of shape {mask.shape} and dtype {mask.dtype}; it must be True or False for "
            "each of (samples, labelers)"
        )
    check_codes(y, num_classes, "y", size=mask.shape[0])
    return jnp.asarray(y, jnp.int32), jnp.asarray(mask)


def sum_over_labels(
    log_p: Float[Array, "*labels classes"], labels: Labels
) -> Float[Array, "samples classes"]:
    """Su (58): the sum over the labels of each sample; a missing label (-1) adds 0."""
    present = jnp.asarray(labels.label) >= 0
    log_p = jnp.where(present[..., None], log_p, 0.0)
    if log_p.ndim == 3:  # of an array: (samples, labelers, classes)
        return log_p.sum(axis=1)
    return jax.ops.segment_sum(log_p, jnp.asarray(labels.sample), num_segments=labels.num_samples)


def log_total(terms: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """log of the sum of exponentials along an axis; where all are 0, -inf with gradient 0 (not NaN)."""
    possible = (terms > -jnp.inf).any(axis=axis, keepdims=True)
    total = jax.nn.logsumexp(jnp.where(possible, terms, 0.0), axis=axis)
    return jnp.where(possible.squeeze(axis), total, -jnp.inf)


def draw_rows(key: PRNGKeyArray, rows: Float[Array, "*shape classes"]) -> Int[Array, "*shape"]:
    """One class from every row of probabilities; one of probability 0 is never drawn, even by rounding."""
    from_left = jnp.moveaxis(rows, -1, 0)
    few = min(from_left.shape[0], _UNROLLED)

    def add(total: Array, p: Array) -> tuple[Array, None]:
        return total + p, None

    total, _ = jax.lax.scan(add, jnp.zeros_like(from_left[0]), from_left, unroll=few)
    height = (1 - uniform_numbers(key, total.shape, total.dtype)) * total

    def climb(so_far: tuple[Array, Array], p: Array) -> tuple[tuple[Array, Array], None]:
        below, drawn = so_far
        below = below + p
        return (below, drawn + (below < height).astype(jnp.int32)), None

    start = jnp.zeros_like(total), jnp.zeros(total.shape, jnp.int32)
    (_, drawn), _ = jax.lax.scan(climb, start, from_left, unroll=few)
    return drawn


def uniform_numbers(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Float[Array, "..."]:
    """`jax.random.uniform`, drawn in one row: a short last axis takes twice as long."""
    return jax.random.uniform(key, (math.prod(shape),), dtype).reshape(shape)


def check_sizes(what: str, in_labels: int, in_model: int, parameter: str) -> None:
    """ValueError unless a size of the labels and a size of the model agree (both are static)."""
    if in_labels != in_model:
        raise ValueError(
            f"the labels have {in_labels} {what} but {parameter} is for {in_model}; "
            f"build the noise model for the {what} of these labels"
        )


def per_labeler(value, num_labelers: int | None, name: str) -> Float[np.ndarray, " labelers"]:
    """One number for each labeler, also where the model has one for all."""
    value = np.asarray(value, np.float64)
    if value.ndim == 0 and (num_labelers is None or num_labelers < 1):
        raise ValueError(f"one {name} stands for all labelers; say how many with num_labelers=")
    return value if value.ndim else np.full(num_labelers or 1, value)


def scale_errors(matrices: Float[np.ndarray, "*shape classes classes"], factor: float) -> np.ndarray:
    """Off-diagonal entries times `factor`; a row that would sum to more than 1 is all errors."""
    errors = matrices * (1 - np.eye(matrices.shape[-1])) * factor
    total = errors.sum(axis=-1, keepdims=True)
    errors = errors / np.maximum(total, 1.0)
    return errors + np.eye(matrices.shape[-1]) * np.maximum(1 - total, 0.0)


def as_matrices(model: Any, num_labelers: int, what: str) -> Any:
    """The matrices (labelers, classes, symbols) of a noise model; any other object is returned as it is.

    ValueError for a model of other labelers, or one without matrices; `what` is its name in the message.
    """
    if not isinstance(model, NoiseModel):
        return model
    size = model.num_labelers
    if size not in (None, num_labelers):
        raise ValueError(
            f"{what} is a {type(model).__name__} of {size} labelers, but this needs {num_labelers}; give a "
            f"model, or matrices, of {num_labelers}"
        )
    dist = model.strata(num_labelers)
    if dist is None or len(dist.rows) != 1:
        raise ValueError(
            f"{what} is a {type(model).__name__}, which "
            + ("has no distribution (`strata`)" if dist is None else "makes labels of a sample dependent")
            + f"; give independent labelers: ConfusionMatrices, Symmetric, or an array ({num_labelers}, "
            "classes, classes)"
        )
    return dist.rows[0]


def one_stratum(rows: Float[np.ndarray, "labelers classes symbols"]) -> Strata:
    """Independent labelers."""
    return Strata(rows[None], np.ones((1, rows.shape[1])))


Parameter = AnyArray


def as_parameter(x, name: str) -> Parameter:
    """A float64 NumPy array if `x` is concrete; `x` as a JAX array if it is traced or spread over devices."""
    if not is_readable(x):
        return jnp.asarray(x)  # gathering a sharded array on the host would defeat its purpose
    x = by_class(x, range(len(x)), name) if hasattr(x, "keys") else x  # a dict, Series or frame by names
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers in a rectangular array: {error}") from None


def as_probabilities(x, name: str, what: str) -> Parameter:
    """A probability, or one for each of `what`, checked."""
    p = as_parameter(x, name)
    check_ndim(p, name, (0, 1), f"() or ({what},)")
    check_probabilities(p, name)
    return p


def check_matrix_rows(x: Parameter, name: str, original: object = None) -> None:
    """`check_rows` of confusion matrices; `original` is what they were before they became float64."""
    hint = "rows are the true class, columns the given class: is it transposed, or were counts not divided?"
    check_rows(x, name, sum_tolerance(x if original is None else original), hint)


def check_ndim(x: Parameter, name: str, allowed: tuple[int, ...], axes: str) -> None:
    """ValueError unless `x` (traced or not) has an allowed number of axes."""
    if x.ndim not in allowed:
        raise ValueError(f"{name} must have shape {axes}, got {x.shape}")


def current(*parameters: Parameter) -> tuple[jax.Array, ...]:
    """Parameters as JAX arrays of one floating dtype: the widest of JAX's own, else JAX's current default."""
    traced = [p.dtype for p in parameters if isinstance(p, jax.Array)]
    floating = [dtype for dtype in traced if jnp.issubdtype(dtype, jnp.floating)]
    dtype = max(floating, key=lambda d: d.itemsize) if floating else jnp.result_type(float)
    return tuple(jnp.asarray(p, dtype) for p in parameters)


def as_current(model: Any) -> Any:
    """A model whose parameters are JAX arrays (`current`), for a compiled function."""
    leaves, tree = jax.tree.flatten(model)
    return jax.tree.unflatten(tree, current(*leaves))


def with_known_labels(
    log_likelihood: Float[AnyArray, "samples classes"], known: Int[AnyArray, " samples"]
) -> Float[Array, "samples classes"]:
    """The log-likelihood with the rows of known samples replaced by 0 at the class and -inf elsewhere.

    `known` is -1 where the class is not known. ValueError as `check_known_labels`, where arrays are concrete.

    >>> print(with_known_labels(np.array([[-1., -2.], [-1., -2.]]), np.array([-1, 1])))
    [[ -1.  -2.]
     [-inf   0.]]
    """
    if is_concrete((log_likelihood, known)):
        check_known_labels(log_likelihood, known)
    log_likelihood, known = as_array(log_likelihood), jnp.asarray(known, jnp.int32)
    classes = jnp.arange(log_likelihood.shape[1], dtype=jnp.int32)
    row = jnp.where(known[:, None] == classes[None, :], 0.0, -jnp.inf).astype(log_likelihood.dtype)
    return jnp.where(known[:, None] >= 0, row, log_likelihood)


def check_known_labels(
    log_likelihood: Float[AnyArray, "samples classes"],
    known: Int[AnyArray, " samples"],
    tasks: Sequence | None = None,
) -> None:
    """Refuse known classes of likelihood 0: a labeler who cannot err gave another label.

    Args:
        log_likelihood: (samples, classes), concrete.
        known: (samples,), -1 where not known.
        tasks: names of the samples for the message; their numbers if None.

    Raises:
        ValueError: lengths differ, a known label outside -1..C-1, or a known class of likelihood 0.
    """
    log_likelihood, known = np.asarray(jax.device_get(log_likelihood)), np.asarray(jax.device_get(known))
    check_codes(known, log_likelihood.shape[1], "known", size=len(log_likelihood), missing=True)
    rows = np.flatnonzero(known >= 0)
    bad = rows[np.isneginf(log_likelihood[rows, known[rows]])]
    if bad.size:
        names = quoted(tasks[i] for i in bad) if tasks is not None else some(bad)
        raise ValueError(
            f"the known classes of {bad.size} sample(s) have likelihood 0, because a labeler with error rate "
            f"0 gave another label: {names}. Correct these, or give the labelers a small error rate"
        )
