"""Every question that the package asks of a noisy-label model, and the array helpers that all models use.

A noise model is p(z | y; psi) of Su section 1.1: the law of the labels that a sample receives, given its
correct class. Two questions must be answered: how likely are these labels under every class
(`log_likelihood`), and which labels would labelers give to samples of known class (`sample`). The array of
the first is all that class posteriors, testing and training see. The other questions have an answer that is
true of any model ("not known"), and a model that answers them gets what is asked for:

    num_labelers        information, where the caller need not say how many labelers there are
    scaled(factor)      `sensitivity("error_rates")`: the same model with other error rates
    strata(number)      information: independent labelers, given a stratum of the sample; where there is one
                        stratum (`as_matrices`) also planning and `evaluate_batch`
    hardness            the check whether the classifier errs where the labelers do
    mean_prior          `evaluate` without prior: the class prior that was learned with the parameters
    models(most)        `evaluate`: one answer for each draw of parameters that are not known exactly
    to_dict, from_dict  JSON (`jtruth evaluate --noise`); nothing to write

Build `log_likelihood` from `safe_log` and `sum_over_labels`, so that impossible labels give -inf (never NaN)
and gradients stay finite.
"""

import abc
import inspect
import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth.labels import Labels

_UNROLLED = 16  # classes of a row that are added up without a loop
Truth = Int[Array | np.ndarray, " samples"]  # the class of each sample
Mask = Bool[Array | np.ndarray, "samples labelers"]  # who gives a label
Given = Int[Array, "samples labelers"]  # labels; -1: none


class Strata(NamedTuple):
    """p(z | y) = sum_s weights[s, y] prod_t rows[s, t, y, z_t]; float64 NumPy arrays.

    The stratum s is whatever makes the labels of a sample dependent. If it is known for each sample,
    `of_sample` says it.
    """

    rows: Float[np.ndarray, "strata labelers classes symbols"]  # p(symbol | class, stratum), sums to 1
    weights: Float[np.ndarray, "strata classes"]  # p(stratum | class), columns sum to 1
    of_sample: Int[np.ndarray, " samples"] | None = None


class NoiseModel(eqx.Module):
    """Law of the noisy labels of a sample given its class. Samples are independent."""

    num_classes: eqx.AbstractVar[int]

    @abc.abstractmethod
    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """log p(z_i | y_i = c; psi_i) for every sample i and class c; 0 where a sample has no label."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, y: Truth, mask: Mask) -> Given:
        """Draw labels for samples of class `y`; -1 where `mask` is False (that labeler gives no label)."""

    @property
    def num_labelers(self) -> int | None:
        """Number of labelers T; None where one parameter stands for all of them, or if it is not known."""
        return None

    def scaled(self, factor: float) -> "NoiseModel":
        """The same model with its error rates times `factor`, at most 1."""
        raise ValueError(
            f"the error rates of {type(self).__name__} cannot be scaled: the model has no method `scaled`"
        )

    def strata(self, num_labelers: int | None) -> Strata | None:
        """The law of the labels of one sample; None if the model does not say it."""
        return None

    @property
    def hardness(self) -> Float[np.ndarray, " samples"] | None:
        """One number for each sample, larger where labelers err more; None where the model knows none."""
        return None

    @property
    def mean_prior(self) -> Float[np.ndarray, " classes"] | None:
        """Class prior that was learned with the parameters; None where none was."""
        return None

    def models(self, most: int) -> Iterator[tuple["NoiseModel", np.ndarray]]:
        """What the parameters and the class prior may be, draw after draw; none if they are known."""
        return iter(())

    def to_dict(self) -> dict[str, Any]:
        """Name of the model and its parameters as plain numbers and lists, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"model": type(self).__name__} | {name: np.asarray(v).tolist() for name, v in values.items()}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "NoiseModel":
        """The model that `to_dict` wrote: called on `NoiseModel` any model, on a model that one.

        Raises:
            ValueError: no model of this name, or parameters that are missing, unknown or bad.

        Example:
            >>> from jtruth.noise import NoiseModel, Symmetric
            >>> NoiseModel.from_dict(Symmetric(0.1, 2).to_dict()).error
            array(0.1)
        """
        known = {model.__name__: model for model in _kinds(cls) if not inspect.isabstract(model)}
        model = known.get(given.get("model", ""))
        if model is None:
            raise ValueError(
                f"there is no noise model {given.get('model')!r}; the models are {sorted(known)}"
            )
        wanted, found = {field.name for field in fields(model)}, set(given) - {"model"}
        if wanted != found:
            raise ValueError(
                f"{model.__name__} has the parameters {sorted(wanted)}; missing: {sorted(wanted - found)}, "
                f"unknown: {sorted(found - wanted)}"
            )
        return model(**{name: given[name] for name in wanted})


def _kinds(model: type[NoiseModel]) -> Iterator[type[NoiseModel]]:
    """A class of models and all that are derived from it, directly or through others."""
    yield model
    for derived in model.__subclasses__():
        yield from _kinds(derived)


def sum_over_labels(log_p: Float[Array, "labels classes"], labels: Labels) -> Float[Array, "samples classes"]:
    """Su (58): the sum over the labels of each sample; a missing label (-1) adds 0."""
    given = jnp.asarray(labels.label) >= 0
    log_p = jnp.where(given[:, None], log_p, 0.0)
    return jax.ops.segment_sum(log_p, jnp.asarray(labels.sample), num_segments=labels.num_samples)


def draw_rows(key: PRNGKeyArray, rows: Float[Array, "*shape classes"]) -> Int[Array, "*shape"]:
    """One class from every row of probabilities. A class of probability 0 is never drawn.

    By the inverse distribution function, one uniform number a row. Probabilities are added up from left to
    right, so that a class of probability 0 adds nothing, not even by rounding, and the number lies in (0, 1]
    times the total of the same sums: it never passes the last class that has any.
    """
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
    """The numbers of `jax.random.uniform`, drawn in one row: a short last axis takes twice as long."""
    return jax.random.uniform(key, (math.prod(shape),), dtype).reshape(shape)


def check_sizes(what: str, in_labels: int, in_model: int, parameter: str) -> None:
    """ValueError unless a size of the labels and a size of the model agree (both are static)."""
    if in_labels != in_model:
        raise ValueError(
            f"the labels have {in_labels} {what} but {parameter} is for {in_model}; "
            f"build the noise model for the {what} of these labels"
        )


def per_labeler(value, num_labelers: int | None, name: str) -> Float[np.ndarray, " labelers"]:
    """One number for each labeler, where the model may hold one for all of them."""
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


def as_matrices(given: Any, num_labelers: int, what: str) -> Any:
    """The matrices (labelers, classes, symbols) that a noise model stands for; what is no model as it is.

    Args:
        given: a noise model, or anything else. Of draws of matrices the mean.
        num_labelers: T, how many are wanted.
        what: name of the argument, for errors.

    Raises:
        ValueError: a model of other labelers, or one that no matrices say: its labels of a sample are
            dependent given the class, or it does not say their law.
    """
    if not isinstance(given, NoiseModel):
        return given
    own = given.num_labelers
    if own not in (None, num_labelers):
        raise ValueError(
            f"{what} is a {type(given).__name__} of {own} labelers and {num_labelers} is wanted here; give a "
            f"model, or matrices, of {num_labelers}"
        )
    found = given.strata(num_labelers)
    if found is None or len(found.rows) != 1:
        raise ValueError(
            f"{what} is a {type(given).__name__}, which "
            + ("does not say its law (`strata`)" if found is None else "makes labels of a sample dependent")
            + f"; give independent labelers: ConfusionMatrices, Symmetric, or an array ({num_labelers}, "
            "classes, classes)"
        )
    return found.rows[0]


def one_stratum(rows: Float[np.ndarray, "labelers classes symbols"]) -> Strata:
    """Independent labelers."""
    return Strata(rows[None], np.ones((1, rows.shape[1])))
