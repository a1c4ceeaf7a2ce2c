"""Whom to ask next about which sample: the expected reduction of entropy, given the labels so far.

The labels of sample i have left the class posterior rho_i. If labeler t is asked, its answer k has
probability sum_c rho_i[c] psi_t[c, k] and leaves another posterior; the entropy falls on average by
I(Z_t; Y | z_i), the information of the channel psi_t with rho_i in the place of the prior. A sample on which
the labelers disagree may have much to gain, one that is settled nothing. Pure JAX, all samples at once.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import as_array, is_concrete, safe_log
from jtruth._validation.in_range import check_rows, sum_tolerance
from jtruth.information.law import label_law
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata, as_parameter, current, sum_over_labels
from jtruth.posterior import class_posterior, validate_prior


def expected_gain(
    posterior: Float[Array | np.ndarray, "samples classes"],
    matrices: Float[Array | np.ndarray, "labelers classes symbols"],
) -> Float[Array, "samples labelers"]:
    """Expected reduction of the entropy of each sample's class, in bits, if each labeler is asked once more.

    Args:
        posterior: (samples, classes), p(y_i = c | labels so far), rows sum to 1.
        matrices: (labelers, classes, symbols), rows = true class. Given the class, the answer must be
            independent of the labels so far; for other models see `expected_gain_of_labels`.

    Returns:
        (samples, labelers) in the dtype of `posterior`, never more than the entropy of the posterior.

    Raises:
        ValueError: (concrete input) shapes that do not fit, or rows that are no distributions.

    Example:
        >>> import numpy as np
        >>> from jtruth.asking.entropy import expected_gain
        >>> good, poor = [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]
        >>> gain = expected_gain(np.array([[.5, .5], [.99, .01]]), np.array([good, poor]))
        >>> print(np.round(np.asarray(gain, float), 3))
        [[0.531 0.029]
         [0.025 0.001]]
    """
    if posterior.ndim != 2 or matrices.ndim != 3 or posterior.shape[1] != matrices.shape[1]:
        raise ValueError(
            "posterior must be (samples, classes) and matrices (labelers, classes, symbols), of the same "
            f"classes; got {posterior.shape} and {matrices.shape}"
        )
    if is_concrete(matrices) and is_concrete(posterior):
        for given, name in ((posterior, "posterior"), (matrices, "matrices")):
            check_rows(as_parameter(given, name), name, sum_tolerance(given))
    states = as_array(posterior)[:, None, :]
    return _gains(states, jnp.asarray(matrices, states.dtype)[:, None], None)


def expected_gain_of_labels(
    noise, labels: Labels, prior: Float[Array | np.ndarray, " classes"]
) -> Float[Array, "samples labelers"]:
    """The same for labels under any model of this package: dependent labelers, difficult samples.

    Under `SharedErrors` the labels so far also tell what the shared draw was, and a labeler who probably
    repeats it has little to add. A labeler who has labelled a sample would say the same again: gain 0.

    Args:
        noise: as for `label_law`; a difficulty for each sample of `labels` is used sample by sample.
        labels: the labels so far; samples without labels have the prior as posterior.
        prior: (classes,).

    Returns:
        (samples, labelers), bits.

    Raises:
        ValueError: sizes that do not match, bad prior, or labels that are impossible under every class.

    Example:
        >>> import numpy as np
        >>> from jtruth.asking import expected_gain_of_labels
        >>> from jtruth.labels import Labels
        >>> from jtruth.noise import SharedErrors
        >>> good = [[.8, .2], [.2, .8]]
        >>> labels = Labels.from_matrix(np.array([[1, -1]]), num_classes=2)
        >>> for copying in (0., .5, 1.):
        ...     model = SharedErrors([good, good], good, copying)
        ...     gain = expected_gain_of_labels(model, labels, np.ones(2) / 2)
        ...     print(np.round(np.asarray(gain, float), 3))
        [[0.    0.182]]
        [[0.    0.113]]
        [[0. 0.]]
    """
    prior = validate_prior(prior, labels.num_classes)
    law = label_law(noise, num_labelers=labels.num_labelers)
    if law.num_classes != labels.num_classes:
        raise ValueError(f"the labels have {labels.num_classes} classes but the model has {law.num_classes}")
    if law.of_sample is not None:
        states, stratum = _observed(noise, labels, prior)
    else:
        states, stratum = _unobserved(law, labels, prior), None
    gains = _gains(states, jnp.asarray(np.moveaxis(law.rows, 1, 0), states.dtype), stratum)
    return jnp.where(jnp.asarray(labels.has_labelled()), 0.0, gains)


def _observed(noise, labels: Labels, prior: np.ndarray) -> tuple[Array, Array]:
    """Class posterior (samples, 1, classes), and the number of each sample's stratum."""
    strata = noise.strata(labels.num_labelers) if isinstance(noise, NoiseModel) else None
    if strata is None or strata.of_sample is None:
        raise ValueError(
            "a law of observed strata does not say which sample is in which: give the noise model"
        )
    posterior, stratum = class_posterior(noise.log_likelihood(labels), prior), strata.of_sample
    return posterior[:, None, :], jnp.asarray(stratum, jnp.int32)


def _unobserved(law: Strata, labels: Labels, prior: np.ndarray) -> Float[Array, "samples strata classes"]:
    """p(stratum, class | labels of the sample): Bayes' rule with pairs of both as the classes."""
    strata, _, classes, _ = law.rows.shape
    (rows, weights, share) = current(law.rows, law.weights, prior)
    labeler, label = jnp.asarray(labels.labeler), jnp.asarray(labels.label)
    log_rows = safe_log(jnp.moveaxis(rows, 3, 0))  # (symbols, strata, labelers, classes)
    of_label = log_rows[label, :, labeler].reshape(-1, strata * classes)
    joint = (weights * share[None, :]).ravel()
    pairs = class_posterior(sum_over_labels(of_label, labels), joint / joint.sum())
    return pairs.reshape(-1, strata, classes)


@jax.jit
def _gains(
    states: Float[Array, "samples strata classes"],
    rows: Float[Array, "labelers kinds classes symbols"],
    stratum: Int[Array, " samples"] | None,
) -> Float[Array, "samples labelers"]:
    """Information of class and answer for every sample, one labeler after the other to save memory."""

    def of_labeler(row):
        row = (
            row[None] if stratum is None else row[stratum][:, None]
        )  # (1 or samples, strata, classes, symbols)
        return _table_information((states[..., None] * row).sum(axis=1))

    return jax.lax.map(of_labeler, rows).T


def _table_information(joint: Float[Array, "samples classes symbols"]) -> Float[Array, " samples"]:
    """I in bits of each joint table, as a sum of non-negative terms; 0 log 0 = 0, with gradient 0."""
    product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    some = joint > 0
    ratio = jnp.log(jnp.where(some, joint, 1.0)) - jnp.log(jnp.where(some, product, 1.0))
    return (joint * ratio - joint + product).sum(axis=(1, 2)) / np.log(2)
