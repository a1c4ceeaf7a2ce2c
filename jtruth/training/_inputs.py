"""What training functions accept, checked on the host before JAX sees it."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jtruth._arrays import as_array, is_concrete
from jtruth._validation import some
from jtruth.labels import Labels
from jtruth.noise.parameters import check_matrix_rows
from jtruth.posterior import check_not_contradictory, validate_prior


class Stop(NamedTuple):
    """When an iteration ends."""

    max_steps: int = 1000
    tol: Any = (
        None  # no entry of the gradient (L-BFGS) or responsibility (EM) moves by more; None: sqrt(rounding)
    )

    def checked(self, dtype: Any, least: int = 1) -> "Stop":
        """The same with a tolerance; ValueError for numbers that cannot be meant."""
        check_whole(least, max_steps=self.max_steps)
        if self.tol is None:
            return self._replace(tol=float(np.sqrt(jax.numpy.finfo(dtype).eps)))
        check_not_negative(self.tol, "tol")
        return self


def as_features(x: Any) -> jax.Array:
    """Features as a floating (samples, features) array; NaN and infinity are refused by row and column."""
    if not is_concrete(x):
        return x
    values = np.asarray(x)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"x must have shape (samples, features), both at least 1; got {values.shape}")
    if not (np.issubdtype(values.dtype, np.number) or values.dtype == bool) or np.iscomplexobj(values):
        raise ValueError(f"x must be real numbers, got dtype {values.dtype}; encode categories first")
    bad = np.argwhere(~np.isfinite(values.astype(np.float64)))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"x[{row}, {column}] is {values[row, column]} ({len(bad)} such entries); impute or drop them"
        )
    return as_array(x if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64))


def check_evidence(x: Any, log_likelihood: Any, prior: Any = None) -> None:
    """One row of `log_likelihood` for each sample, none of them impossible; a prior for its classes."""
    if np.ndim(log_likelihood) != 2 or np.shape(log_likelihood)[0] != np.shape(x)[0]:
        raise ValueError(
            f"log_likelihood has shape {np.shape(log_likelihood)} but x has {np.shape(x)[0]} samples; it "
            "must be (samples, classes)"
        )
    if np.shape(log_likelihood)[1] < 2:
        raise ValueError("log_likelihood has one class; give a column for each of at least 2 classes")
    if prior is not None and is_concrete(prior):
        validate_prior(prior, np.shape(log_likelihood)[1])
    if is_concrete((log_likelihood, prior)):
        check_not_contradictory(log_likelihood, prior=prior)


def check_not_negative(value: Any, name: str) -> None:
    """A number, or an array of numbers, that is finite and not below 0."""
    if not is_concrete(value):
        return
    try:
        numbers = np.atleast_1d(np.asarray(value, np.float64)).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number of 0 or more, got {value!r}") from None
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        raise ValueError(f"{name} must be 0 or more, got {numbers[bad[0]]:g}")


def check_per_class(rows: dict[str, Any], *, prior: Any = None, where: Any = None) -> None:
    """Arrays (samples, classes) of one shape without NaN, a prior for the classes, a mask for the samples.

    Shapes are checked under jit as well, values where there are any. Rows that `where` leaves out may be
    anything.
    """
    shape = np.shape(next(iter(rows.values())))
    for name, values in rows.items():
        if len(np.shape(values)) != 2 or np.shape(values)[1] < 2:
            raise ValueError(
                f"{name} has shape {np.shape(values)}; it must be (samples, classes), 2 or more classes"
            )
        if np.shape(values) != shape:
            first = next(iter(rows))
            raise ValueError(f"{name} has shape {np.shape(values)}, {first} {shape}; they must agree")
    check_where(where, shape[0])
    used = slice(None) if where is None else np.asarray(where, bool) if is_concrete(where) else slice(0)
    for name, values in rows.items():
        if is_concrete(values):
            bad = np.flatnonzero(np.isnan(np.asarray(values, np.float64)[used]).any(axis=1))
            if bad.size:
                raise ValueError(f"{name} holds NaN in {bad.size} row(s) ({some(bad)})")
    if prior is not None and is_concrete(prior):
        validate_prior(prior, shape[1])


def check_where(where: Any, num_samples: int) -> None:
    """A mask (samples,) of booleans, or None."""
    if where is None:
        return
    dtype = where.dtype if hasattr(where, "dtype") else np.asarray(where).dtype
    if np.shape(where) != (num_samples,) or np.dtype(dtype).kind != "b":
        raise ValueError(
            f"where has shape {np.shape(where)} and dtype {dtype}; it must be ({num_samples},) of booleans, "
            "True for a sample that counts"
        )


def check_outputs(outputs: Any, axes: tuple[int, ...] = (1, 2)) -> None:
    """Scores (samples,) or logits (samples, classes), whichever `axes` allows, without NaN."""
    shape = np.shape(outputs)
    if len(shape) not in axes or 0 in shape or (len(shape) == 2 and shape[1] < 2):
        wanted = {1: "scores (samples,)", 2: "logits (samples, classes) of 2 or more classes"}
        raise ValueError(f"outputs have shape {shape}; give {' or '.join(wanted[a] for a in axes)}")
    check_no_nan(outputs, "outputs")


def check_no_nan(values: Any, name: str) -> None:
    """Real numbers, none of them NaN; infinite ones may be meant."""
    if not is_concrete(values):
        return
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" and str(numbers.dtype) != "bfloat16":
        raise ValueError(f"{name} must be real numbers, got dtype {numbers.dtype}")
    bad = np.argwhere(np.isnan(numbers.astype(np.float64)))
    if len(bad):
        at = f"[{', '.join(map(str, bad[0]))}]" if bad.shape[1] else ""
        raise ValueError(
            f"{name}{at} is NaN ({len(bad)} such entries); the model diverged, or data are missing"
        )


def check_matrices(matrices: Any, num_classes: int | None = None, name: str = "matrices") -> None:
    """p(label | class) of every labeler, (labelers, classes, classes), with rows that sum to 1."""
    shape = np.shape(matrices)
    classes = shape[-1] if num_classes is None and shape else num_classes
    if len(shape) != 3 or 0 in shape or shape[1:] != (classes, classes):
        size = "classes" if num_classes is None else num_classes
        raise ValueError(f"{name} have shape {shape}; they must be (labelers, {size}, {size})")
    if is_concrete(matrices):
        check_matrix_rows(np.asarray(matrices), name)


def check_label_matrix(z: Any, num_samples: int, num_labelers: int, num_classes: int) -> None:
    """Labels (samples, labelers), class codes or -1."""
    if np.shape(z) != (num_samples, num_labelers):
        raise ValueError(
            f"z has shape {np.shape(z)}; it must be ({num_samples}, {num_labelers}), samples by labelers"
        )
    check_labels(z, num_classes, "z")


def as_labels(labels: Any, x: Any = None) -> Labels:
    """`labels` themselves, which must be `Labels`, of as many samples as there are features."""
    if not isinstance(labels, Labels):
        kind = type(labels).__name__
        raise ValueError(f"labels is a {kind}; give Labels, for a matrix Labels.from_matrix(z, num_classes)")
    if x is not None and np.shape(x)[0] != labels.num_samples:
        raise ValueError(f"x has {np.shape(x)[0]} samples but the labels have {labels.num_samples}")
    return labels


def check_whole(least: int = 1, **numbers: Any) -> None:
    """Whole numbers of at least `least`, by their names."""
    for name, number in numbers.items():
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not whole or number < least:
            kind = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
            raise ValueError(f"{name} must be {kind}, got {number!r}")


def check_posterior(posterior: Any, where: Any = None) -> None:
    """Rows of class probabilities that sum to 1, within the rounding of their dtype."""
    check_per_class({"posterior": posterior}, where=where)
    if not is_concrete((posterior, where)):
        return
    used = slice(None) if where is None else np.asarray(where, bool)
    p = np.asarray(posterior, np.float64)[used]
    bad = np.flatnonzero(((p < 0) | (p > 1 + 1e-4)).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > 1e-4))
    if bad.size:
        raise ValueError(
            f"posterior: row {bad[0]} is {p[bad[0]].tolist()} ({bad.size} bad rows); rows are class "
            "probabilities and sum to 1, see jtruth.class_posterior"
        )


def check_labels(z: Any, num_classes: int, name: str) -> None:
    """Class codes 0..num_classes-1, or -1 for no label; the first bad entry is named."""
    if not is_concrete(z):
        return
    codes = np.asarray(z)
    if not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"{name} must hold whole numbers, got dtype {codes.dtype}")
    bad = np.flatnonzero((codes.ravel() < -1) | (codes.ravel() >= num_classes))
    if bad.size:
        raise ValueError(
            f"{name} holds {codes.ravel()[bad[0]]} ({bad.size} bad entries, {some(bad)} counted row by row) "
            f"but classes are 0 to {num_classes - 1}, and -1 is no label"
        )
