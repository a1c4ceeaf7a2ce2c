"""What training functions accept, checked on the host before JAX sees it."""

from typing import Any

import jax
import numpy as np

from jtruth._arrays import as_array, is_concrete
from jtruth._validation import some
from jtruth.posterior import check_not_contradictory, validate_prior


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
    numbers = np.atleast_1d(np.asarray(value, np.float64)).ravel()
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
    if where is not None and np.shape(where) != shape[:1]:
        raise ValueError(
            f"where has shape {np.shape(where)}; it must be ({shape[0]},), True for a sample that counts"
        )
    used = slice(None) if where is None else np.asarray(where, bool) if is_concrete(where) else slice(0)
    for name, values in rows.items():
        if is_concrete(values):
            bad = np.flatnonzero(np.isnan(np.asarray(values, np.float64)[used]).any(axis=1))
            if bad.size:
                raise ValueError(f"{name} holds NaN in {bad.size} row(s) ({some(bad)})")
    if prior is not None and is_concrete(prior):
        validate_prior(prior, shape[1])


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
