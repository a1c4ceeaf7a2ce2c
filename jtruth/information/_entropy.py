"""Entropy and mutual information of tables of probabilities, in bits; host side, float64."""

import numpy as np
from jaxtyping import Float
from scipy.special import entr, kl_div

from jtruth.posterior import validate_prior

BITS = 1.0 / np.log(2.0)  # nats to bits


def checked_prior(prior, num_classes: int) -> Float[np.ndarray, " classes"]:
    """The prior in float64 with sum exactly 1; ValueError if it is no distribution over the classes."""
    prior = validate_prior(prior, num_classes).astype(np.float64)
    return prior / prior.sum()


def entropy(p: Float[np.ndarray, "*shape symbols"]) -> Float[np.ndarray, "*shape"]:
    """H in bits of the distributions in the last axis."""
    return np.asarray(entr(p).sum(axis=-1) * BITS)


def table_information(
    joint: Float[np.ndarray, "classes cells"], prior: Float[np.ndarray, " classes"]
) -> float:
    """What the columns of a joint table p(class, cell) add to I in bits, Su section 4; all of them: I itself.

    The mean over cells of the divergence of posterior rho and prior, as a sum of rho log(rho / prior) - rho
    + prior. The extra terms add to zero in every column, and each summand is non-negative, so that little
    information is not lost between entropies that are large.
    """
    of_cell = joint.sum(axis=0)
    possible = of_cell > 0
    rho = joint[:, possible] / of_cell[possible]
    return float(kl_div(rho, prior[:, None]).sum(axis=0) @ of_cell[possible] * BITS)
