"""Welinder et al. (2010): what a sample shows, what a labeler looks at, and where the labeler draws the line.

Two classes. A sample of class z shows x_i ~ N(mu_z, sigma^2 I) in a space of one or more dimensions, the
classes at -1 and +1 on the first axis. Labeler t sees x_i with noise of their own and says 1 if w_t . x lies
above a line tau_t,

    p(label 1 | x_i) = Phi(w_t . x_i - tau_t),

so |w_t| is the expertise (1 / standard deviation of the noise), the direction of w_t what the labeler looks
at, and tau_t / |w_t| the bias. As there, all of x, w and tau are the most probable ones jointly, and the
class of a sample follows from its x alone. The priors are ours: w ~ N(first axis, I), tau ~ N(0, 3^2); sigma
.8. With few labels a sample the class probabilities are too sure or too shy (`benchmarks/learners.py`);
`fit_nuts("welinder", ...)` averages over positions (in one dimension) and draws the rest.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import ndtr

from jtruth import _host
from jtruth._random import as_key, host_rng
from jtruth._validation.in_range import check_whole
from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning.em import long_form as lf

_SDS = (0.8, 1.0, 3.0)  # of x around the mean of its class, of w around the first axis, of tau around 0
_AGAINST = 0.25  # share of samples whose class is not that of most votes, above which it is said


def not_two_classes(labels: Labels) -> str | None:
    """Why labels cannot be used: the model is for two classes."""
    if labels.num_classes == 2:
        return None
    return (
        f"Welinder's model is for two classes; these labels have {labels.num_classes}: choose glad or "
        "minimax_entropy, where samples differ too"
    )


def fit_welinder(
    labels: Labels,
    *,
    dimensions: int = 1,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable positions, directions and thresholds, jointly; two classes.

    Args:
        labels, gold: see `jtruth.learning.methods`.
        dimensions: of the space. With more than one the start of the other axes is drawn, by `key`.
        prior: (2,) class shares; (1/2, 1/2) if None, as in the paper: they cannot be learned beside
            positions, which would all move to the more frequent class.
        key, max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`; its log-likelihood is NaN, since positions are not summed out. Its own: `position` x (samples,
        dimensions); `direction` w (labelers, dimensions), `threshold` tau, `expertise` |w| and `bias` tau /
        |w| (labelers,), NaN at expertise 0, above 0 class 0 is favoured; `matrices` with x summed out, p(1 |
        z) = Phi((+-w_1 - tau) / sqrt(1 + sigma^2 |w|^2)); `spread` sigma; `log_posterior`, up to a constant.

    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_welinder(Labels.from_matrix(z, 2))
    >>> print(fit.class_posterior.argmax(axis=1), fit.expertise.argmin())
    [0 0 1 1 0 1] 2
    """
    data, known, (shares, _) = lf.read(labels, gold, prior, max_steps, tol)
    if reason := not_two_classes(labels):
        raise ValueError(reason)
    shares = np.full(2, 0.5) if prior is None else shares
    check_whole(dimensions=dimensions)
    start = (*_start(labels, data, dimensions, key), shares)
    end = lf.run(welinder, data, start, np.array(_SDS), shares, max_steps=max_steps, tol=tol)
    doubts = (
        *_unlabelled(labels),
        *lf.silent(labels, "their direction and threshold are those of the prior."),
    )
    fit = lf.fitted(labels, known, end, (*doubts, *_against_votes(end.posterior, labels)))
    position, labelers = end.summit.params[0][: labels.num_samples], labels.num_labelers
    own = _of_labelers(end.summit.params[1][:labelers], end.summit.params[2][:labelers], _SDS[0])
    own |= {"position": position, "log_posterior": fit.log_posterior}
    return fit._replace(log_likelihood=float("nan"), own=own)


def _of_labelers(direction: np.ndarray, threshold: np.ndarray, spread: float) -> dict[str, Any]:
    """What w and tau say of labelers."""
    expertise = np.linalg.norm(direction, axis=1)
    nowhere = np.full(threshold.size, np.nan)
    bias = np.divide(threshold, expertise, out=nowhere, where=expertise > 0)
    centre = np.stack([-direction[:, 0], direction[:, 0]], axis=1)
    one = ndtr((centre - threshold[:, None]) / np.sqrt(1 + spread**2 * expertise**2)[:, None])
    return {"direction": direction, "threshold": threshold, "spread": spread, "expertise": expertise,
            "bias": bias, "matrices": np.stack([1 - one, one], axis=2)}  # fmt: skip


def _start(labels: Labels, data: lf.LongForm, dimensions: int, key: Any) -> tuple[np.ndarray, ...]:
    """Votes on the first axis, a little chance on the others, labelers who look along the first axis."""
    position = np.zeros((data.known.size, dimensions))
    position[: labels.num_samples, 0] = 2 * _host.vote_shares(labels.counts())[:, 1] - 1
    if dimensions > 1:
        drawn = host_rng(as_key(key), "welinder").standard_normal((labels.num_samples, dimensions - 1))
        position[: labels.num_samples, 1:] = 0.3 * drawn
    direction = np.zeros((lf.bucket(labels.num_labelers), dimensions))
    direction[:, 0] = 1.0
    return position, direction, np.zeros(direction.shape[0])


def welinder(data: lf.LongForm, sds: Any) -> lf.Model:
    """The model for `em`: position (samples, d), direction (labelers, d), threshold; `sds` of their priors.

    A step moves all positions, then all labelers, by Newton steps with a diagonal that bounds the curvature.
    """
    sample_sd, direction_sd, threshold_sd = sds
    centre, mass = jnp.asarray([-1.0, 1.0], data.each.dtype), data.weight[:, None]
    seen = partial(_seen, data)

    def from_straight(direction):
        return direction - jnp.zeros_like(direction).at[:, 0].set(1)

    def joint(params):
        position = params[0]
        apart = (position[:, :1] - centre[None, :]) ** 2 + (position[:, 1:] ** 2).sum(axis=1, keepdims=True)
        of_labels = data.by_sample(seen(*params[:3])[0])
        return data.shares(params[3]) - 0.5 * apart / sample_sd**2 + of_labels[:, None]

    def m_step(params, of_class, _):
        position, direction, threshold, _ = params
        _, slope, bend = seen(position, direction, threshold)
        w, none = direction[data.labeler], jnp.zeros_like(position)
        pull = none.at[:, 0].set((of_class * centre[None, :]).sum(axis=1)) - position
        gradient = none.at[data.sample].add(slope * w) + mass * pull / sample_sd**2
        stiff = none.at[data.sample].add(w.shape[1] * bend * w**2) + jnp.maximum(mass, 1) / sample_sd**2
        moved = position + gradient / stiff

        _, slope, bend = seen(moved, direction, threshold)
        x, none, size = moved[data.sample], jnp.zeros_like(direction), w.shape[1] + 1
        gradient = none.at[data.labeler].add(slope * x) - from_straight(direction) / direction_sd**2
        stiff = none.at[data.labeler].add(size * bend * x**2) + 1 / direction_sd**2
        none = jnp.zeros_like(threshold)
        lower = none.at[data.labeler].add(-slope[:, 0]) - threshold / threshold_sd**2
        firm = none.at[data.labeler].add(size * bend[:, 0]) + 1 / threshold_sd**2
        return moved, direction + gradient / stiff, threshold + lower / firm

    def log_prior(params):
        off = (from_straight(params[1]) ** 2).sum() / direction_sd**2
        return -0.5 * (off + (params[2] ** 2).sum() / threshold_sd**2)

    return lf.Model(joint, m_step, log_prior, lambda far, plain: far)


def _seen(
    data: lf.LongForm, position: Array, direction: Array, threshold: Array
) -> tuple[Array, Array, Array]:
    """log p(label), its slope and -curvature in how far above the line a sample looks."""
    each = data.each[:, None]
    sign = jnp.where(data.label == 1, 1.0, -1.0).astype(each.dtype)
    far = (direction[data.labeler] * position[data.sample]).sum(axis=1) - threshold[data.labeler]
    log_p = jax.scipy.stats.norm.logcdf(sign * far)
    mills = jnp.exp(jax.scipy.stats.norm.logpdf(far) - log_p)
    return log_p, each * (sign * mills)[:, None], each * (mills * (mills + sign * far))[:, None]


def _unlabelled(labels):
    """A sentence if some samples have no label."""
    if none := np.count_nonzero(labels.labels_per_sample() == 0):
        yield f"{none} samples have no label; their position is that of the more frequent class."


def _against_votes(posterior, labels):
    """A sentence where most probable positions have followed few labelers against all others."""
    votes, posterior = labels.counts(), posterior[: labels.num_samples]
    clear = (votes[:, 0] != votes[:, 1]) & (posterior[:, 0] != posterior[:, 1])
    against = (posterior.argmax(axis=1) != votes.argmax(axis=1)) & clear
    if against.sum() > _AGAINST * clear.sum():
        yield (
            f"{against.sum()} of {clear.sum()} samples have another class than most of their labels say: the "
            'most probable positions may follow one labeler. Compare with fit_nuts("welinder"), which '
            "averages over positions, or with another method."
        )
