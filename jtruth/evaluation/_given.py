"""What stands in the place of labels, or of a class: `Labels`, a log-likelihood, what looks like one of them.

A label matrix of whole numbers taken for a log-likelihood makes one class of every labeler, and a confident
answer to a question that nobody asked. Whole numbers, true/false and data frames are therefore never one.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jtruth import _validation as check
from jtruth.labels import Labels, advice_on, must_be_labels


def as_labels(given: Any, what: str = "labels") -> Labels:
    """The labels, or an error that says what was handed over and how to make `Labels` of it."""
    labels = must_be_labels(given, what)
    check.check_entries(labels.arrays, (labels.num_samples, labels.num_labelers, labels.num_classes))
    return labels


def read_log_likelihood(given: Any, noise: Any) -> np.ndarray:
    """(samples, classes) log p(z_i | y_i = c), float64; anything that is no such array is refused."""
    listed = isinstance(given, list | tuple) and not hasattr(given, "class_posterior")
    if not listed and (not hasattr(given, "dtype") or check.is_frame(given) or hasattr(given, "iloc")):
        as_labels(given)
    try:
        log_likelihood = np.asarray(given)
    except ValueError:
        raise ValueError("labels has rows of different lengths; give jt.Labels") from None
    if log_likelihood.ndim != 2 or log_likelihood.shape[1] < 2:
        raise ValueError(
            f"labels is an array of shape {log_likelihood.shape}; give jt.Labels, or log p(z_i | y_i = c) of "
            "shape (samples, classes)"
        )
    if not jnp.issubdtype(log_likelihood.dtype, np.floating):
        raise ValueError(f"labels is an array of {log_likelihood.dtype}, and a log-likelihood has decimal "
                         f"numbers; {advice_on(log_likelihood)}")  # fmt: skip
    log_likelihood = log_likelihood.astype(np.float64)
    if noise is not None:
        raise ValueError("labels is already a log-likelihood array, so noise has nothing to act on; give one")
    finite = log_likelihood[np.isfinite(log_likelihood)]
    if (finite > 0).any() and (finite == np.floor(finite)).all():
        raise ValueError(f"labels is an array of whole numbers; {advice_on(np.nan_to_num(log_likelihood))}")
    bad = np.flatnonzero(np.isnan(log_likelihood).any(1) | (log_likelihood == np.inf).any(1))
    if bad.size:
        raise ValueError(
            f"the log-likelihood of samples {check.some(bad)} is NaN or infinite; check the noise model"
        )
    if (log_likelihood > 1e-9).any() and np.allclose(log_likelihood.sum(1), 1):
        raise ValueError("the rows of labels sum to 1: these are probabilities; give log p(z_i | y_i = c)")
    return log_likelihood


def read_positive(positive: Any, classes: tuple[str, ...]) -> int:
    """Code of the class that is called positive, by its name or code."""
    if isinstance(positive, str) and positive in classes:
        return classes.index(positive)
    number = isinstance(positive, int | np.integer) and not isinstance(positive, bool)
    code = int(positive) if number else -1
    if not 0 <= code < len(classes):
        raise ValueError(
            f"positive={positive!r} is not one of the classes {check.quoted(classes)}; give a class code 0 "
            f"to {len(classes) - 1}, or a class name"
        )
    return code
