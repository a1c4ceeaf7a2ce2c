"""What a latent-class model is, and what was observed: the two inputs of the Gibbs sampler.

Every sample has a hidden STATE s in 0..S-1. A state belongs to a class, and to a stratum inside the class
(easy or hard, say; one stratum is plain Dawid and Skene). With c(s) and h(s) its class and stratum,

  pi ~ Dirichlet(class_prior),  w[v] ~ Dirichlet(stratum_prior[v]),  p(s) = pi[c(s)] * w[v(c(s)), h(s)]

and every rater t gives symbol k with probability theta[t, row(s), k]. Raters come in groups that have the
same symbols: the labelers, and the classifier under test. `row_of_state` says which row of a rater's matrix
a state uses, so strata that look alike to a rater share a row. The rows of a rater's matrix are
independent, theta[t, r] ~ Dirichlet(prior[t, r]); or, with `strength` a, theta[t, r] ~ Dirichlet(a G[r])
around rows G[r] ~ Dirichlet(common_prior[r]) that all raters of the group have in common; or they are `alike`
(see there) and nothing about them is fixed.

Samples may be of several groups, each with a pi of its own and the same Dirichlet prior.

Known classes and whatever else is certain about a sample enter as `offset`, a fixed log weight per state.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from jtruth.sampling.alike import Alike


class Raters(NamedTuple):
    """Raters with the same symbols and the same rows."""

    prior: np.ndarray  # (raters, rows, symbols) Dirichlet concentrations, positive; else EM's start
    row_of_state: np.ndarray  # (states,) row used in each state; -1: the offset explains the symbol
    strength: float = 0.0  # a; 0 for independent raters
    common_prior: np.ndarray | None = None  # (rows, symbols) concentrations of G
    alike: Alike | None = None


class LatentModel(NamedTuple):
    """States, their prior, and the raters."""

    state_class: np.ndarray  # (states,)
    state_stratum: np.ndarray  # (states,)
    class_prior: np.ndarray  # (classes,) Dirichlet concentrations of pi, or pi itself if `class_fixed`
    class_fixed: bool
    weight_row: np.ndarray  # (classes,) which row of stratum weights a class uses
    stratum_prior: np.ndarray  # (weight rows, strata) Dirichlet concentrations
    raters: tuple[Raters, ...]
    held: bool = False  # whether the stratum weights are known, the shares of `stratum_prior`

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self.class_prior.size

    @property
    def num_strata(self) -> int:
        """Number of strata of each class."""
        return self.stratum_prior.shape[1]


class Observed(NamedTuple):
    """What was seen, equal samples merged into rows."""

    symbols: tuple[sparse.csr_array, ...]  # per group of raters: (rows, raters * symbols) how often given
    multiplicity: np.ndarray  # (rows,) samples in each row, float64
    offset: np.ndarray  # (states, rows) log weight of each state; -inf is impossible
    row_of_sample: np.ndarray  # (samples,)
    group: np.ndarray | None = None  # (rows,) 0..V-1: each group has a class prior of its own


def prediction_columns(y_pred: np.ndarray, num_symbols: int) -> sparse.csr_array:
    """(samples, symbols) one-hot; a row without a prediction is empty."""
    rows = np.flatnonzero(y_pred >= 0)
    return sparse.csr_array((np.ones(rows.size), (rows, y_pred[rows])), shape=(y_pred.size, num_symbols))
