"""When each sample was labelled: numbers or dates from the user, one for each sample, checked on the host."""

from typing import Any

import numpy as np

from jtruth import _validation as check
from jtruth.evaluation import inputs
from jtruth.labels import Labels


def read_order(order: Any, data: inputs.Inputs) -> np.ndarray | None:
    """(samples,) finite numbers, or None; dates become microseconds."""
    if order is None:
        return None
    return _numbers_or_dates(inputs.aligned(order, "order", data).values)


def read_labelled(order: Any, labels: Labels) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The same where no classifier is judged, and notes."""
    if order is None:
        return None, ()
    found = check.align(inputs.concrete(order, "order"), check.samples_of(labels), "order")
    return _numbers_or_dates(found.values), tuple(found.notes)


def _numbers_or_dates(found: np.ndarray) -> np.ndarray:
    if found.dtype == object and all(hasattr(v, "timestamp") for v in found):
        found = np.array([v.timestamp() for v in found])
    if found.dtype.kind == "M":
        found = found.astype("datetime64[us]").astype(np.int64)
    if found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ValueError(
            f"order has dtype {found.dtype}; give one finite number or date for each of {found.size} samples"
        )
    return found
