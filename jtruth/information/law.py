"""The law of the labels of one sample in a form that sums can be taken over.

Information needs more than the array `log_likelihood`: it averages over labels that nobody has given yet.
`Strata` holds what that takes; every noise model that answers `strata` has one:

    p(z | y) = sum_s weights[s, y] prod_t rows[s, t, y, z_t].

The stratum s is whatever makes the labels of a sample dependent: the shared draw of `SharedErrors`, or the
difficulty of the sample. Without one there is a single stratum. A labeler who may stay silent has "no label"
as one more symbol. Where somebody knows the stratum of each sample (a difficulty that is given in the noise
model), information is the average over strata.

Entropy and mutual information of tables of probabilities, in bits; host side, float64.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import entr, kl_div

from jtruth._arrays import is_concrete
from jtruth._validation.in_range import check_probabilities, check_rows, check_shape
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata, as_parameter, check_matrix_rows, check_ndim, one_stratum
from jtruth.posterior import validate_prior


def label_law(noise, *, num_labelers: int | None = None, participation=None) -> Strata:
    """The law of a sample's labels under a noise model, matrices, or a law.

    Args:
        noise: a noise model, an array (labelers, classes, symbols) whose rows sum to 1 (symbols need not be
            classes: score bins, "don't know"), or a `Strata`. Strata that the model knows for each sample
            are observed: each sample is equally likely, and its stratum known.
        num_labelers: T, needed where one error or fallibility stands for all labelers.
        participation: eta, a number or (labelers,): probability that a labeler labels a sample, independent
            of everything else. 0 leaves a labeler out. Everybody labels if None.

    Raises:
        ValueError: unknown kind of model, bad numbers, or sizes that do not match.

    Example:
        >>> from jtruth.noise import Symmetric
        >>> law = label_law(Symmetric(.1, 2), num_labelers=3, participation=.5)
        >>> law.rows.shape, law.rows[0, 0, 1].round(3)
        ((1, 3, 2, 3), array([0.05, 0.45, 0.5 ]))
    """
    law = noise if isinstance(noise, Strata) else _law_of(noise, num_labelers)
    if num_labelers is not None and law.num_labelers != num_labelers:
        raise ValueError(
            f"num_labelers is {num_labelers} but the noise model is for {law.num_labelers} labelers; leave "
            "num_labelers out, or give one error for all labelers"
        )
    return law if participation is None else _with_participation(law, participation)


def mixture(
    models: Sequence, weights: Sequence[float] | np.ndarray, *, num_labelers: int | None = None
) -> Strata:
    """A `Strata` in which nobody knows which of several models a sample follows.

    The labels of a sample become dependent: a wrong one makes a difficult sample likely, where the others
    are worth less.

    Args:
        models: what `label_law` accepts, all for the same labelers and classes.
        weights: probability of each, the same for every class.
        num_labelers: T, where the models do not say it.

    Raises:
        ValueError: no model, models of different sizes, or weights that are no distribution.

    Example:
        >>> from jtruth.noise import Symmetric
        >>> law = mixture([Symmetric(.05, 2), Symmetric(.4, 2)], [.8, .2], num_labelers=3)
        >>> law.rows.shape, law.weights[:, 0]
        ((2, 3, 2, 2), array([0.8, 0.2]))
    """
    laws = [label_law(model, num_labelers=num_labelers) for model in models]
    weights = np.asarray(weights, np.float64)
    if not laws or weights.shape != (len(laws),):
        raise ValueError(f"give one weight for each model; got {len(laws)} models, weights {weights.shape}")
    check_rows(weights, "weights")
    shapes = {law.rows.shape[1:] for law in laws}
    if len(shapes) > 1:
        raise ValueError(f"the models differ in (labelers, classes, symbols): {sorted(shapes)}")
    rows = np.concatenate([law.rows for law in laws])
    return Strata(rows, np.concatenate([w * law.weights for w, law in zip(weights, laws, strict=True)]))


def _law_of(noise, num_labelers: int | None) -> Strata:
    """The law of one kind of model."""
    if not is_concrete(noise):
        raise ValueError("information is computed on the host; call it outside of jit, vmap and grad")
    if not isinstance(noise, NoiseModel):
        return one_stratum(_checked_array(noise))
    found = noise.strata(num_labelers)
    if found is None:
        raise ValueError(
            f"{type(noise).__name__} does not say the law of the labels of one sample (method `strata` of "
            "NoiseModel); only mutual_information does without, by method='enumerate' or 'monte_carlo'"
        )
    return found


def _checked_array(given) -> np.ndarray:
    """(labelers, classes, symbols), rows sum to 1."""
    rows = as_parameter(given, "matrices")
    check_shape(rows, "matrices", "labelers classes symbols")
    check_matrix_rows(rows, "matrices")
    return np.asarray(rows)


def _with_participation(law: Strata, participation) -> Strata:
    """The law with "no label" as last symbol; labelers who never take part are left out."""
    eta = as_parameter(participation, "participation")
    check_ndim(eta, "participation", (0, 1), "() or (labelers,)")
    check_probabilities(eta, "participation")
    if eta.ndim and eta.shape[0] != law.num_labelers:
        raise ValueError(
            f"participation has {eta.shape[0]} entries but there are {law.num_labelers} labelers"
        )
    eta = np.broadcast_to(np.asarray(eta), (law.num_labelers,))
    rows, eta = law.rows[:, eta > 0], eta[eta > 0]
    if (eta < 1).any():
        silent = np.broadcast_to((1 - eta)[None, :, None, None], (*rows.shape[:3], 1))
        rows = np.concatenate([rows * eta[None, :, None, None], silent], axis=-1)
    return law._replace(rows=rows)


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
