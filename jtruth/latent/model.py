"""What a sampler must know of a model: coordinates without bounds, their prior, and what they mean.

A `Kind` is four pure functions that serve many data sets; the arrays of one data set (concentrations, which
row a state uses, nodes) come apart from it, so that one compiled program serves all models of a kind whose
arrays have equal shapes. Coordinates are (size, P): P points side by side.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jtruth.latent.density import Channel, Seen

Arrays = Any  # of a model: NamedTuples of float32 arrays


def _as_it_is(arrays: Arrays, x: Any) -> Any:
    return x


def _first(arrays: Arrays, x: Any, u: Any) -> Any:
    return x


def _alone(arrays: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
    return []


class Kind(NamedTuple):
    """A family of models. Equal functions share compiled programs.

    Where a likelihood has symmetries that the prior has not (easy and hard samples exchange names), points
    have images of equal likelihood. `log_prior` is then that of all images together, samplers stay with one
    of them (`fold`), and a draw is one of the images, by its prior (`unfold`).
    """

    log_prior: Callable[[Arrays, Any], Any]  # (arrays, x) -> (P,) density of the coordinates
    channel: Callable[[Arrays, Any], Channel]
    named: Callable[[Arrays, Any], dict[str, Any]]  # natural parameters, (..., P) each
    draw: Callable[[Arrays, np.random.Generator, int], np.ndarray]  # P points of the prior, (size, P)
    size: Callable[[Arrays], int]  # number of coordinates
    fold: Callable[[Arrays, np.ndarray], np.ndarray] = (
        _as_it_is  # one of the images of each point, on the host
    )
    unfold: Callable[[Arrays, Any, Any], Any] = (
        _first  # (arrays, x, u): an image drawn by uniform u (classes, P)
    )
    images: Callable[[Arrays], list[tuple[np.ndarray, np.ndarray]]] = _alone  # x -> sign * x[place], each


class Model(NamedTuple):
    """One model of one data set."""

    kind: Kind
    arrays: Arrays
    seen: Seen
    classes: int
    rows: int  # that are no filling

    @property
    def work(self) -> float:
        """Numbers that one evaluation of one point computes."""
        return float(np.prod(self.seen.offset.shape) * (self.seen.design.shape[1] + 8))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.kind.size(self.arrays)
