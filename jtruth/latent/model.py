"""What a latent-class model is, what was observed, and what a sampler needs of them.

Every sample has a hidden state s: a class c(s) and a stratum h(s) inside the class (easy or hard; one stratum
is plain Dawid and Skene). States are ordered by class: class 0 stratum 0, class 0 stratum 1, ...

  pi ~ Dirichlet(class_prior),  w[v] ~ Dirichlet(stratum_prior[v]),  p(s) = pi[c(s)] * w[v(c(s)), h(s)]

Every rater t gives symbol k with probability theta[t, row(s), k]. Raters come in groups with the same
symbols: the labelers, and the classifier under test. Rows are independent, theta[t, r] ~ Dirichlet(prior[t,
r]); or, with `strength` a, theta[t, r] ~ Dirichlet(a G[r]) around common rows G[r] ~
Dirichlet(common_prior[r]); or `alike`. Samples may be of several groups, each with its own pi. What is
certain about a sample, such as its class, is an `offset`, a fixed log weight per state.

A `Kind` is a family of models as pure functions of unconstrained coordinates (size, P), P points side by
side; arrays of one data set are separate, so that one compiled program serves all models of equal shapes. The
arrays of `models.strata.KIND` are a `LatentModel`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jtruth._one_line import one_line
from jtruth.latent.density import Channel, Seen, numbers
from jtruth.latent.models.alike import Alike

Arrays = Any  # of a model: NamedTuples of float32 arrays


class Raters(NamedTuple):
    """Raters with the same symbols and the same rows."""

    prior: Any  # (raters, rows, symbols) Dirichlet concentrations, positive; else EM's start
    row_of_state: Any  # (states,) row used in each state; -1: the offset explains the symbol
    strength: Any = 0.0  # a; 0 for independent raters
    common_prior: Any = None  # (rows, symbols) concentrations of G; None for independent raters
    alike: Alike | None = None

    __repr__ = one_line


class LatentModel(NamedTuple):
    """Classes, strata and raters. Arrays are NumPy's, or those of a traced program."""

    class_prior: Any  # (classes,) Dirichlet concentrations of pi, or pi itself if `class_fixed`
    raters: tuple[Raters, ...]
    class_fixed: Any = False
    stratum_prior: Any = np.ones((1, 1))  # (classes, strata) concentrations, or (1, strata) for all classes
    weights_fixed: Any = False  # whether the stratum weights are known, the shares of `stratum_prior`

    __repr__ = one_line

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self.class_prior.size

    @property
    def num_strata(self) -> int:
        """Number of strata of each class."""
        return self.stratum_prior.shape[1]

    @property
    def state_class(self) -> np.ndarray:
        """(states,) the class of each state."""
        return np.repeat(np.arange(self.num_classes), self.num_strata)

    @property
    def state_weight(self) -> np.ndarray:
        """(states,) the entry of the raveled stratum weights that each state has."""
        rows = np.arange(self.num_classes) % len(self.stratum_prior)
        return (rows[:, None] * self.num_strata + np.arange(self.num_strata)[None]).ravel()


class Observed(NamedTuple):
    """The data, equal samples merged into rows."""

    symbols: tuple[sparse.csr_array, ...]  # per group of raters: (rows, raters * symbols) how often given
    multiplicity: np.ndarray  # (rows,) samples in each row, float64
    offset: np.ndarray  # (states, rows) log weight of each state; -inf is impossible
    row_of_sample: np.ndarray  # (samples,)
    group: np.ndarray | None = None  # (rows,) 0..V-1: each group has a class prior of its own


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
    # one image of each point, on the host; one drawn by uniform u (classes, P); x -> sign * x[place], each
    fold: Callable[[Arrays, np.ndarray], np.ndarray] = lambda arrays, x: x
    unfold: Callable[[Arrays, Any, Any], Any] = lambda arrays, x, u: x
    images: Callable[[Arrays], list[tuple[np.ndarray, np.ndarray]]] = lambda arrays: []


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
        return numbers(self.seen.offset.shape, self.seen.design.shape[1])

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.kind.size(self.arrays)
