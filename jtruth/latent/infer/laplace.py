"""Starts for tempering if the prior is far away: a mixture of Student's t around the modes of the posterior.

Points of the prior, and its mean, climb to modes by L-BFGS, all in one run. Each mode gets a t distribution
with the curvature there, by differences of gradients, and the weight of Laplace's approximation. Errors of
the approximation cost time only, since tempering weights every point by the posterior over this density; but
a mode to which no point climbs is overlooked.

This is for one level in each class and many labels: with levels the posterior is often a ridge, and with few
labels t distributions are far too narrow.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float
from scipy.special import gammaln, softmax

from jtruth.latent import density
from jtruth.latent.density import Seen
from jtruth.latent.model import Arrays, Kind, Model

MODES = 4  # that are kept at most
_CLIMBERS = 16  # points that climb
_STEPS = 400  # of all climbers together
_FREEDOM = 8.0  # degrees of freedom of the t distributions
_WIDER = 1.1  # than the curvature
_APART = 0.3  # standard deviations in each coordinate, root mean square, between modes that are two
_WITHOUT = 20.0  # log weight below the best, from which a mode is left out
_NEWTON, _NUDGE = 3, 0.03  # steps to the top, and the difference of coordinates that shows the curvature
_DEEP = -1e30  # height of a point that has none, for a line search to turn round there
_FLATTEST = 0.05  # least curvature of a mode, 1 / variance: the priors' own is .2 and more


class Start(NamedTuple):
    """A mixture of K t distributions."""

    log_weight: Any  # (K,) with all constants of the density
    centre: Any  # (K, size)
    scale: Any  # (K, size, size) lower triangles L: x = centre + L t
    whiten: Any  # (K, size, size) their inverses

    def log_density(self, x: Float[Array, "size P"]) -> Float[Array, " P"]:
        """Log density of points, in a traced program."""
        size = x.shape[0]
        t = jnp.einsum("kij,kjp->kip", self.whiten, x[None] - self.centre[:, :, None])
        fall = 0.5 * (_FREEDOM + size) * jnp.log1p((t**2).sum(axis=1) / _FREEDOM)
        return jax.nn.logsumexp(self.log_weight[:, None] - fall, axis=0)

    def draw(self, rng: np.random.Generator, number: int) -> Float[np.ndarray, "size number"]:
        """Points of the mixture."""
        each = self.log_weight + np.log(self.scale.diagonal(axis1=1, axis2=2)).sum(axis=1)
        chosen = rng.choice(each.size, number, p=softmax(each.astype(np.float64)))
        t = rng.standard_normal((number, self.centre.shape[1]))
        t /= np.sqrt(rng.chisquare(_FREEDOM, (number, 1)) / _FREEDOM)
        x = self.centre[chosen] + np.einsum("nij,nj->ni", self.scale[chosen], t)
        return np.ascontiguousarray(x.T, np.float32)


def start_of(model: Model, rng: np.random.Generator) -> Start | None:
    """The mixture for a model; None where no point climbs to a mode that float32 can hold."""
    slopes = _slopes(model)
    some = model.kind.draw(model.arrays, rng, 8 * _CLIMBERS)
    first = np.column_stack([some.mean(axis=1), some[:, 1:_CLIMBERS]]).astype(np.float64)
    tops = _climbed(slopes, first[:, np.isfinite(slopes(first)[0])])
    heights = slopes(tops)[0]
    tops = tops[:, np.argsort(-heights)[: np.isfinite(heights).sum()]]
    modes: list[tuple[float, np.ndarray, np.ndarray]] = []
    while tops.shape[1] and len(modes) < MODES:
        top, root = polished(slopes, tops[:, 0])
        height, volume = float(slopes(top[:, None])[0][0]), np.log(np.diagonal(root)).sum()
        if not np.isfinite(height + volume) or not np.isfinite(root).all():
            tops = tops[:, 1:]
            continue
        if modes and height + volume < modes[0][0] - _WITHOUT:
            break
        modes.append((height + volume, top, root))
        far = np.sqrt((np.linalg.solve(root, tops - top[:, None]) ** 2).mean(axis=0))
        far[0] = 0.0  # it is the one that was looked at, however far it went
        tops = tops[:, far > _APART * np.sqrt(2)]
    return mixture(modes) if modes else None


def mixture(modes: list[tuple[float, np.ndarray, np.ndarray]]) -> Start:
    """t distributions around modes with these log weights, filled up with copies without weight."""
    size = modes[0][1].size
    weight = np.full(MODES, -np.inf)
    weight[: len(modes)] = [w for w, _, _ in modes]
    filled = [*modes, *[modes[0]] * (MODES - len(modes))]
    centre = np.array([c for _, c, _ in filled])
    scale = _WIDER * np.array([s for _, _, s in filled])
    constant = gammaln((_FREEDOM + size) / 2) - gammaln(_FREEDOM / 2) - size / 2 * np.log(_FREEDOM * np.pi)
    share = weight - np.logaddexp.reduce(weight)
    logs = share + constant - np.log(scale.diagonal(axis1=1, axis2=2)).sum(axis=1)
    parts = (np.maximum(logs, -1e30), centre, scale, np.linalg.inv(scale))
    return Start(*(a.astype(np.float32) for a in parts))


# Heights (P,) and gradients (size, P) of points (size, P).
Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _slopes(model: Model) -> Slopes:
    """Log posterior and its gradient, `_CLIMBERS` points at a time; -inf and 0 where either is not finite."""

    def slopes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        number = x.shape[1]
        if not number:
            return np.zeros(0), x
        x = np.pad(x, [(0, 0), (0, -number % _CLIMBERS)], mode="edge").astype(np.float32)
        parts = [x[:, k : k + _CLIMBERS] for k in range(0, number, _CLIMBERS)]
        found = zip(*(_heights(model.kind, model.arrays, model.seen, part) for part in parts), strict=True)
        heights, gradients = (np.concatenate(a, axis=-1).astype(np.float64)[..., :number] for a in found)
        finite = np.isfinite(heights) & np.isfinite(gradients).all(axis=0)
        return np.where(finite, heights, -np.inf), np.where(finite, gradients, 0.0)

    return slopes


def _climbed(slopes: Slopes, x: Float[np.ndarray, "size P"]) -> Float[np.ndarray, "size P"]:
    """Where the points end."""

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = slopes(flat.reshape(x.shape))
        return -float(np.maximum(value, _DEEP).sum()), -slope.ravel()

    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "maxcor": 20, "ftol": 1e-8}
    optimum = scipy.optimize.minimize(negative, x.ravel(), jac=True, method="L-BFGS-B", options=options)
    return optimum.x.reshape(x.shape)


def polished(slopes: Slopes, x: Float[np.ndarray, " size"]) -> tuple[np.ndarray, np.ndarray]:
    """The top by Newton steps, and a lower triangle L, L L' the inverse of the curvature there.

    The best of a step and its halves is taken, if it leads up. L is NaN where the density is flat or a saddle
    at the end: with few labels of a labeler it rises along narrow ridges with little of the posterior's mass.
    """
    for _ in range(_NEWTON):
        values, vectors = _curvature(slopes, x)
        height, slope = slopes(x[:, None])
        step = vectors @ (vectors.T @ slope / np.maximum(values, _FLATTEST)[:, None])
        tried = x[:, None] + step * 0.5 ** np.arange(_CLIMBERS)[None]
        heights = slopes(tried)[0]
        best = int(np.argmax(heights))
        if not heights[best] > height[0]:
            break
        x = tried[:, best]
    values, vectors = _curvature(slopes, x)
    if not values[0] >= _FLATTEST:
        return x, np.full((x.size, x.size), np.nan)
    upper: Any = np.linalg.qr((vectors / np.sqrt(values)).T, mode="r")
    return x, (upper * np.sign(upper.diagonal())[:, None]).T


def _curvature(slopes: Slopes, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, rising, and eigenvectors of the curvature, by central differences of gradients."""
    nudge = _NUDGE * np.eye(x.size)
    height, slope = slopes(np.concatenate([x[:, None] + nudge, x[:, None] - nudge], axis=1))
    if not np.isfinite(height).all():
        return np.full(x.size, -np.inf), np.eye(x.size)
    curvature = (slope[:, x.size :] - slope[:, : x.size]) / (2 * _NUDGE)
    return np.linalg.eigh(0.5 * (curvature + curvature.T))


@partial(jax.jit, static_argnames=("kind",))
def _heights(kind: Kind, arrays: Arrays, seen: Seen, x: Any) -> tuple[Any, Any]:
    """Log posterior of every point, up to what does not depend on it, and its gradient."""

    def total(x: Any) -> tuple[Any, Any]:
        value = density.log_likelihood(kind.channel(arrays, x), seen) + kind.log_prior(arrays, x)
        return value.sum(), value

    slope, value = jax.grad(total, has_aux=True)(x)
    return value, slope
