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


def check_key(key: Any, why: str) -> None:
    """Random starts, minibatches and draws need a key."""
    if key is None:
        raise ValueError(f"{why} need a key; pass key=jax.random.key(0), or any other seed")
