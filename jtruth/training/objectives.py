"""What to minimise when the labels are noisy: Table 9 of Su (2023), one function for each of its rows.

Each function returns one number, the *primary term* of (28), from two arrays (samples, classes). One comes
from the model (log-probabilities, log-densities or losses under every class) and one from the labels: their
`log_likelihood` log p(z_i | y_i = c), or their class posterior p(y_i = c | z_i).

    discriminative, ML     -1/N sum_i log sum_c p(z_i | c) p(c | x_i)               (31)-(32)
    discriminative, MAP    the same - 1/N log p(theta)                              Appendix E.1
    generative, ML         -1/N sum_i log sum_c p(x_i | c) p(z_i | c) pi(c)         Appendix E.2
    generative, MAP        the same - 1/N log p(theta)                              Appendix E.3
    MMSE                    1/N sum_i sum_c p(c | z_i) L(s_i, c)                    (40)

Four things to know. (32) does not use the class prior, although the paper lists it among its arguments; (40)
does, through the class posterior. (40) is as convex as its loss is, (32) is not convex: start it more than
once. (40) is unbiased on average over classes drawn from the prior, not given the features: weak labels pull
what it fits from p(c | x) towards the prior, so thresholds suffer before the order of the samples does, and
where the model is probabilistic (32) is the better of the two. And the gradient (50) needs no code:
differentiating `mmse_risk` with `jax.grad` weighs the classes at the outputs of the model and then runs the
model backwards once, however many classes there are.

`where` (samples,) leaves samples out, for padding: they count neither in the sum nor in N, whatever their
rows hold, and no gradient flows to them (pad features with zeros all the same: a model's own backward pass
turns a NaN into NaN times 0). With nothing left a mean is 0. Pure JAX, of the dtype given.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import is_concrete, safe_log
from jtruth._validation.in_range import check_codes
from jtruth.posterior import validate_confusion
from jtruth.training._inputs import check_no_nan, check_per_class, check_posterior, check_whole

PerClass = Float[Array | np.ndarray, "samples classes"]
Prior = Float[Array | np.ndarray, " classes"]
Mask = Bool[Array | np.ndarray, " samples"] | None
Scalar = Float[Array, ""]


def discriminative_ml(log_probabilities: PerClass, log_likelihood: PerClass, *, where: Mask = None) -> Scalar:
    """Su (32): -1/N sum_i log sum_c p(z_i | c) p(c | x_i; theta).

    Args:
        log_probabilities: (samples, classes), log p(y_i = c | x_i; theta), for instance by
            `jtruth.training.log_probabilities` from the outputs of any model.
        log_likelihood: (samples, classes), from a noise model; 0 and -inf for a known class, which makes
            this the ordinary cross-entropy (30).
        where: (samples,), False for padding.

    Example:
        >>> import jax.numpy as jnp
        >>> from jtruth.training import discriminative_ml, log_probabilities
        >>> log_p = log_probabilities(jnp.array([0.0, 2.0]))
        >>> print(f"{discriminative_ml(log_p, jnp.log(jnp.array([[.9, .2], [.1, .8]]))):.4f}")
        0.4656
    """
    check_per_class({"log_probabilities": log_probabilities, "log_likelihood": log_likelihood}, where=where)
    log_probabilities, log_likelihood = _same_dtype(log_probabilities, log_likelihood)
    return _mean(-_log_sum(log_probabilities + log_likelihood, where), where)


def discriminative_map(
    log_probabilities: PerClass,
    log_likelihood: PerClass,
    log_density: Float[Array, ""],
    *,
    where: Mask = None,
    num_samples: int | None = None,
) -> Scalar:
    """Su E.1: (32) - log p(theta) / N.

    Args:
        log_probabilities, log_likelihood, where: as for `discriminative_ml`.
        log_density: log p(theta), up to a constant. `-lam / 2 * sum(theta**2)` is a normal prior of
            variance 1/lam, and the regulariser of App. F.
        num_samples: N of the whole training set, when the arrays are a minibatch of it.
    """
    likelihood = discriminative_ml(log_probabilities, log_likelihood, where=where)
    return likelihood - _share(log_density, log_probabilities, where, num_samples)


def generative_ml(
    log_densities: PerClass, log_likelihood: PerClass, prior: Prior, *, where: Mask = None
) -> Scalar:
    """Su E.2: -1/N sum_i log sum_c p(x_i | c; theta) p(z_i | c) pi(c).

    Args:
        log_densities: (samples, classes), log p(x_i | y_i = c; theta).
        log_likelihood: (samples, classes), from a noise model.
        prior: (classes,), the class prior pi.
        where: (samples,), False for padding.
    """
    rows = {"log_densities": log_densities, "log_likelihood": log_likelihood}
    check_per_class(rows, prior=prior, where=where)
    log_densities, log_likelihood, prior = _same_dtype(log_densities, log_likelihood, prior)
    return _mean(-_log_sum(log_densities + log_likelihood + safe_log(prior)[None, :], where), where)


def generative_map(
    log_densities: PerClass,
    log_likelihood: PerClass,
    prior: Prior,
    log_density: Float[Array, ""],
    *,
    where: Mask = None,
    num_samples: int | None = None,
) -> Scalar:
    """Su E.3: the objective of `generative_ml` - log p(theta) / N; see `discriminative_map`."""
    likelihood = generative_ml(log_densities, log_likelihood, prior, where=where)
    return likelihood - _share(log_density, log_densities, where, num_samples)


def mmse_risk(losses: PerClass, posterior: PerClass, *, where: Mask = None) -> Scalar:
    """Su (40): the MMSE estimate of the empirical risk, 1/N sum_i sum_c p(c | z_i) L(s_i, c).

    Args:
        losses: (samples, classes), the loss of every sample under every class (`jtruth.training.losses`,
            or any other).
        posterior: (samples, classes), p(y_i = c | z_i) (41), from `jtruth.class_posterior`. With one-hot
            rows this is the empirical risk (33) of the correct labels.
        where: (samples,), False for padding.

    Example:
        >>> import jax.numpy as jnp
        >>> from jtruth.training import cross_entropy, mmse_risk
        >>> logits, posterior = jnp.array([[2., 0.], [0., 1.]]), jnp.array([[.9, .1], [.5, .5]])
        >>> print(f"{mmse_risk(cross_entropy(logits), posterior):.4f}")
        0.5701
    """
    return _mean(mmse_losses(losses, posterior, where=where), where)


def mmse_losses(losses: PerClass, posterior: PerClass, *, where: Mask = None) -> Float[Array, " samples"]:
    """Su (43): the MMSE estimate of every sample's loss; a class of probability 0 may have any loss."""
    if np.shape(losses) != np.shape(posterior):
        raise ValueError(
            f"losses have shape {np.shape(losses)}, posterior {np.shape(posterior)}; they must agree"
        )
    check_posterior(posterior, where)
    losses, posterior = _same_dtype(losses, posterior)
    if is_concrete((losses, posterior, where)):
        used = posterior > 0 if where is None else (posterior > 0) & jnp.asarray(where)[:, None]
        check_no_nan(np.where(np.asarray(used), np.asarray(losses), 0), "losses")
    return _weighed(losses, posterior, where)


@jax.jit
def _weighed(losses: Array, posterior: Array, where: Mask = None) -> Float[Array, " samples"]:
    """Su (43) of arrays that are known to be sound."""
    possible = posterior > 0
    if where is not None:
        possible = possible & jnp.asarray(where)[:, None]
    return jnp.where(possible, posterior * jnp.where(possible, losses, 0), 0).sum(axis=1)


def empirical_risk(losses: PerClass, y: Int[Array | np.ndarray, " samples"], *, where: Mask = None) -> Scalar:
    """Su (33): 1/N sum_i L(s_i, y_i), for classes y that are known or taken for known."""
    check_per_class({"losses": losses}, where=where)
    check_codes(y, np.shape(losses)[1], "y", size=np.shape(losses)[0])
    losses = jnp.asarray(losses)
    return _mean(jnp.take_along_axis(losses, jnp.asarray(y, jnp.int32)[:, None], axis=1)[:, 0], where)


def risk_variance(losses: PerClass, posterior: PerClass, *, where: Mask = None) -> Scalar:
    """Variance of the empirical risk given these labels, Su 3.4.2: 1/N^2 sum_i var(L(s_i, Y_i) | z_i).

    It is the squared error that (40) is expected to have here: the risk of the correct labels is normal
    about (40) with this variance. How much (40) varies from training set to training set is another matter.
    """
    check_per_class({"losses": losses, "posterior": posterior}, where=where)
    check_posterior(posterior, where)
    spread = _loss_variances(*_same_dtype(losses, posterior))
    return _mean(spread, where) / _count(spread, where)


def expected_risk_variance(
    losses: PerClass,
    channel: Float[Array | np.ndarray, "*samples classes outcomes"],
    prior: Prior,
    *,
    where: Mask = None,
) -> Scalar:
    """Su (47): the mean square error of (40) before labels are seen, 1/N^2 sum_i E[var(L(s_i, Y_i) | Z_i)].

    Args:
        losses: (samples, classes).
        channel: p(z | y = c) of every outcome z that the labels of a sample can have, (classes, outcomes)
            for all samples alike or (samples, classes, outcomes).
        prior: (classes,).
        where: (samples,), False for padding.
    """
    check_per_class({"losses": losses}, prior=prior, where=where)
    _check_outcomes(channel, *np.shape(losses))
    losses, channel, prior = _same_dtype(losses, channel, prior)
    if channel.ndim == 2:
        channel = jnp.broadcast_to(channel[None], (losses.shape[0], *channel.shape))
    joint = prior[None, :, None] * channel  # p(y, z)
    marginal = joint.sum(axis=1)
    posterior = joint / jnp.where(marginal > 0, marginal, 1)[:, None, :]
    by_outcome = jax.vmap(_loss_variances, in_axes=(None, 2), out_axes=1)(losses, posterior)
    spread = (marginal * by_outcome).sum(axis=1)
    return _mean(spread, where) / _count(spread, where)


def _check_outcomes(channel: Array | np.ndarray, num_samples: int, num_classes: int) -> None:
    """p(z | y = c), for all samples alike or for each, with rows that sum to 1."""
    shape = np.shape(channel)
    if shape[:-1] not in ((num_classes,), (num_samples, num_classes)):
        raise ValueError(
            f"channel has shape {shape}; it must be ({num_classes}, outcomes) or ({num_samples}, "
            f"{num_classes}, outcomes), the probability of every outcome given the class"
        )
    if is_concrete(channel):
        validate_confusion(np.asarray(channel).reshape(-1, shape[-1]))


@jax.jit
def _loss_variances(losses: Array, posterior: Array) -> Float[Array, " samples"]:
    """var(L(s_i, Y_i) | z_i), about the mean (43)."""
    mean = _weighed(losses, posterior)
    return _weighed((losses - mean[:, None]) ** 2, posterior)


@jax.jit
def _log_sum(joint: PerClass, where: Mask) -> Float[Array, " samples"]:
    """log sum_c exp(joint[i, c]), with value -inf and gradient 0 (not NaN) where all terms are -inf."""
    joint = jnp.asarray(joint)
    possible = (joint > -jnp.inf).any(axis=1)
    used = possible if where is None else possible & jnp.asarray(where)
    total = jax.nn.logsumexp(jnp.where(used[:, None], joint, 0), axis=1)
    return jnp.where(possible, total, -jnp.inf)


@jax.jit
def _mean(values: Float[Array, " samples"], where: Mask) -> Scalar:
    """The mean of the samples that count; 0 where there is none."""
    if where is None:
        return values.mean()
    return jnp.where(jnp.asarray(where), values, 0).sum() / _count(values, where)


def _count(values: Float[Array, " samples"], where: Mask) -> Scalar:
    """N, the number of samples that count (1 if there is none), in the dtype of `values`."""
    if where is None:
        return jnp.asarray(values.shape[0], values.dtype)
    return jnp.maximum(jnp.asarray(where).sum(), 1).astype(values.dtype)


def _share(log_density: Array, rows: PerClass, where: Mask, num_samples: int | None) -> Array:
    """log p(theta) / N, N being the training set's size, or else the number of samples that count."""
    if np.ndim(log_density):
        raise ValueError(f"log_density has shape {np.shape(log_density)}; log p(theta) is one number")
    check_no_nan(log_density, "log_density")
    if num_samples is not None and is_concrete(num_samples):
        check_whole(num_samples=num_samples)
    return log_density / (_count(jnp.asarray(rows)[:, 0], where) if num_samples is None else num_samples)


def _same_dtype(first, *others) -> tuple[Array, ...]:
    """All as arrays of the dtype of the first, which is what the model computed."""
    first = jnp.asarray(first)
    return (first, *(jnp.asarray(x, first.dtype) for x in others))
