"""The joint posterior of many sets of two classes by weighted draws about its mode: no chains.

The law is that of `batch`. With the classes summed out it has few coordinates, log odds of the class prior
and of every rater's rows, and where labels speak it is one hill in them. So EM and Newton steps find its top,
draws come from a split t law about it, and each is weighted by the true density over that of the t law;
draws by these weights then give every sample a class. Equal samples are one term of the density, and nothing
has to burn in or to forget where it was.

The split t law of Geweke (1989, Econometrica 57, 1317): along each axis of the curvature it is as much wider,
one way and the other, as keeps its density above the true one wherever that was looked at, so that weights
stay bounded where log odds are skew. With more coordinates its tails are thinner; else it would be far too
wide.

Where the law is no such hill the numbers say so, and the set belongs to `batch`: largest weights that follow
a Pareto law with k above `stats.loo.good_shape`, too few effective draws, a top that Newton did not find, or
a density not far below the top's where the classes have exchanged names. What cannot be seen is another hill
that is no exchange of names. With three classes and more weights are too uneven (of 128 sets of 300 samples
and 5 raters 88 % kept fewer than a hundred effective draws of a thousand).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth import _validation as check
from jtruth._mesh import over_sets
from jtruth.learning.joint.batch import JointBatch, keys_of_sets, row_prior
from jtruth.stats.loo import good_shape, smoothed_weights

_MOST_COORDINATES = 40
_DRAWS, _KEPT = 1000, 500  # weighted draws, and how many by their weights give samples their classes
_AT = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)  # standard deviations
_EM_STEPS, _NEWTON_STEPS = 50, 5
_FLAT = 1e-6  # slope at the top
_FAR_BELOW = 9.0  # log density: exp(-9) is 1e-4
_SAME = 0.1  # log odds
_STEP = 32  # distinct rows are filled up to multiples of it: a program is compiled for each


class WeightedBatch(NamedTuple):
    """Draws of every set, and whether they are to be trusted."""

    found: JointBatch  # of one chain; `counts` of `_KEPT` draws
    ess: Float[np.ndarray, " sets"]  # of `counts`
    pareto_k: Float[np.ndarray, " sets"]
    ok: Bool[np.ndarray, " sets"]


class _Weighed(NamedTuple):
    """What a device returns of a set."""

    found: JointBatch
    log_weight: Float[Array, " draws"]
    slope: Float[Array, ""]  # largest, at the top
    elsewhere: Float[Array, ""]  # log density where classes have exchanged names less that at the top


def few_enough(raters: int, classes: int) -> bool:
    """Whether such draws are worth trying."""
    return classes == 2 and 1 + 2 * raters <= _MOST_COORDINATES


def weighted_batch(
    key: Any,
    labels: Int[Array | np.ndarray, "sets samples labelers"],
    y_pred: Int[Array | np.ndarray, "sets samples"],
    num_classes: int,
    *,
    mesh: jax.sharding.Mesh | None = None,
) -> WeightedBatch:
    """Weigh draws of every set.

    Args:
        key: a whole number or a JAX key; each set has a stream of its own, by its number.
        labels: codes 0..C-1, -1 for no label.
        y_pred: predicted classes, -1 for none. A sample with neither is filling.
        num_classes: C.
        mesh: devices to share the sets.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> weighed = weighted_batch(0, z[None], z[None, :, 0], 2)
    >>> weighed.found.counts.shape, bool(weighed.found.matrices[0, 0, 0, 0] > 0.9)
    ((1, 1, 500, 2, 2), True)
    """
    seen = np.concatenate([np.asarray(labels), np.asarray(y_pred)[:, :, None]], axis=2).astype(np.int32)
    rows, times, of_sample = _merged(seen)
    with jax.enable_x64(True):
        keys = jax.random.key_data(keys_of_sets(key, len(seen), "weighted batch"))
        run = partial(_weigh_all, classes=num_classes)
        out = over_sets(run, mesh, keys, *map(jnp.asarray, (rows, times, of_sample, seen[:, :, -1])))
    found, log_weight, slope, elsewhere = jax.tree.map(np.asarray, out)
    known = np.isfinite(log_weight).all(axis=1)
    _, k = smoothed_weights(np.where(known[:, None], log_weight, 0.0), 1.0)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    effective = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1)
    ess = 1 / (1 / effective + 1 / _KEPT)
    one_hill = (slope < _FLAT) & (elsewhere < -_FAR_BELOW)
    return WeightedBatch(found, ess, k, known & one_hill & (k < good_shape(_DRAWS)))


def _merged(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of every set (sets, rows, raters), samples behind each, and each sample's row."""
    each = [check.collapse_rows(one) for one in seen]
    most = _STEP * -(-max(len(first) for first, _, _ in each) // _STEP)
    rows = np.full((len(seen), most, seen.shape[2]), -1, np.int32)
    times = np.zeros((len(seen), most))
    for s, (first, _, count) in enumerate(each):
        rows[s, : len(first)] = seen[s, first]
        times[s, : len(first)] = np.where((seen[s, first] >= 0).any(axis=1), count, 0)
    return rows, times, np.stack([row for _, row, _ in each]).astype(np.int32)


@partial(jax.jit, static_argnames=("classes",))
def _weigh_all(keys, rows, times, of_sample, y_pred, *, classes) -> _Weighed:
    def one(data):
        key, rows, times, of_sample, y_pred = data
        return _weigh(jax.random.wrap_key_data(key), rows, times, of_sample, y_pred, classes)

    return jax.lax.map(one, (keys, rows, times, of_sample, y_pred))


class _Law:
    """Log density in the coordinates: log odds of the class prior, then of all rows, against the last."""

    def __init__(self, rows, times, classes):
        self.classes, self.raters, self.times = classes, rows.shape[1], times
        codes = jnp.arange(classes, dtype=rows.dtype)
        one_hot = (rows.T[:, None, :] == codes[None, :, None]).astype(times.dtype)
        self.votes = one_hot.sum(axis=0)  # (classes, rows)
        self.x = one_hot.reshape(self.raters * classes, -1)
        self.alpha = row_prior(classes, times.dtype)[:, None, :]  # (classes, 1, classes)

    def logs(self, v):
        """Log class prior (..., classes) and log rows (..., classes, raters, classes)."""
        shape = (*v.shape[:-1], self.classes, self.raters, self.classes - 1)
        odds = v[..., : self.classes - 1], v[..., self.classes - 1 :].reshape(shape)
        return tuple(jax.nn.log_softmax(jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, 1)])) for a in odds)

    def joint(self, log_prior, log_rows):
        """log p(class, row's labels), (..., classes, rows)."""
        return log_rows.reshape(*log_rows.shape[:-2], -1) @ self.x + log_prior[..., None]

    def density(self, v):
        """Up to a constant, (...,): Dirichlet laws of probabilities, as densities of log odds."""
        log_prior, log_rows = self.logs(v)
        labels = jax.nn.logsumexp(self.joint(log_prior, log_rows), axis=-2) @ self.times
        return labels + self.prior_density(log_prior, log_rows)

    def prior_density(self, log_prior, log_rows):
        """The part of it that does not depend on labels."""
        alpha = self.alpha.reshape((1,) * (log_rows.ndim - 3) + self.alpha.shape)
        return log_prior.sum(axis=-1) + (alpha * log_rows).sum(axis=(-3, -2, -1))

    def climb(self, shares):
        """Coordinates after EM from class probabilities (classes, rows)."""

        def means(p):
            counts = (p * self.times[None]) @ self.x.T
            rows = counts.reshape(self.classes, self.raters, self.classes) + self.alpha
            return jnp.log(p @ self.times + 1), jnp.log(rows)

        def step(_, p):
            prior, rows = means(p)
            return jax.nn.softmax(
                self.joint(jax.nn.log_softmax(prior), jax.nn.log_softmax(rows, axis=-1)), axis=0
            )

        prior, rows = means(jax.lax.fori_loop(0, _EM_STEPS, step, shares))
        return jnp.concatenate([prior[:-1] - prior[-1], (rows[..., :-1] - rows[..., -1:]).ravel()])


def _freedom(size: int) -> int:
    """Degrees of freedom of the t law in so many coordinates, an even number."""
    return 2 * round(max(10.0, size**2 / 13) / 2)


def _axes(law, top):
    """Axes (coordinates, coordinates) of the curvature in standard deviations, and both ways' spreads."""
    size, freedom = top.size, _freedom(top.size)
    values, vectors = jnp.linalg.eigh(-jax.hessian(law.density)(top))
    axes = vectors.T / jnp.sqrt(values)[:, None]  # NaN where it is no top
    at = jnp.asarray([_AT, [-a for a in _AT]], axes.dtype)[:, :, None, None]  # (ways, steps, 1, 1)
    fall = law.density(top) - law.density(top[None, None, None] + at * axes[None, None])
    in_t = jnp.sqrt(freedom * jnp.expm1(2 * fall / (freedom + size)))  # where the t law has fallen as much
    return axes, (jnp.abs(at[..., 0]) / in_t).max(axis=1)


def _weigh(key, rows, times, of_sample, y_pred, classes) -> _Weighed:
    """One set."""
    law = _Law(rows, times, classes)
    slope, curvature = jax.grad(law.density), jax.hessian(law.density)
    total = law.votes.sum(axis=0)
    shares = jnp.where(total[None] > 0, law.votes / jnp.maximum(total, 1.0)[None], 1 / classes)

    def newton(_, v):
        return v - jnp.linalg.solve(curvature(v), slope(v))

    top = jax.lax.fori_loop(0, _NEWTON_STEPS, newton, law.climb(shares))
    exchanged = law.climb(shares[::-1])
    apart = jnp.abs(exchanged - top).max() > _SAME
    elsewhere = jnp.where(apart, law.density(exchanged) - law.density(top), -jnp.inf)

    axes, spreads = _axes(law, top)
    size, freedom = top.size, _freedom(top.size)
    key_normal, key_scale, key_kept, key_class = jax.random.split(key, 4)
    # a gamma variable of half the degrees of freedom is a sum of exponentials
    gamma = jax.random.exponential(key_scale, (_DRAWS, freedom // 2), times.dtype).sum(axis=1)
    normal = jax.random.normal(key_normal, (_DRAWS, size), times.dtype)
    t = normal / jnp.sqrt(2 * gamma / freedom)[:, None]
    spread = jnp.where(t > 0, spreads[0][None], spreads[1][None])
    v = top[None] + (t * spread) @ axes
    log_prior, log_rows = law.logs(v)
    joint = law.joint(log_prior, log_rows)
    evidence = jax.nn.logsumexp(joint, axis=1)
    density = evidence @ times + law.prior_density(log_prior, log_rows)
    log_t = jnp.log(spread).sum(axis=1) + (freedom + size) / 2 * jnp.log1p((t * t).sum(axis=1) / freedom)
    log_weight = density + log_t
    weight = jax.nn.softmax(log_weight)

    # Draws by their weights, at even distances of their sum; then a class for each sample.
    heights = (jnp.arange(_KEPT, dtype=times.dtype) + jax.random.uniform(key_kept, dtype=times.dtype)) / _KEPT
    kept = jnp.minimum(jnp.searchsorted(jnp.cumsum(weight), heights), _DRAWS - 1)
    p = jnp.exp(joint - evidence[:, None])  # (draws, classes, rows)
    upto = jnp.cumsum(p[kept].astype(jnp.float32), axis=1)
    u = jax.random.uniform(key_class, (_KEPT, of_sample.size), jnp.float32)
    symbols = (y_pred[:, None] == jnp.arange(classes, dtype=y_pred.dtype)[None]).astype(jnp.float32)
    above = [(u >= upto[:, c][:, of_sample]).astype(jnp.float32) @ symbols for c in range(classes - 1)]
    at_least = jnp.stack([jnp.broadcast_to(symbols.sum(axis=0), (_KEPT, classes)), *above], axis=1)
    counts = at_least - jnp.concatenate([at_least[:, 1:], jnp.zeros_like(at_least[:, :1])], axis=1)

    matrices = jnp.tensordot(weight, jnp.exp(log_rows), 1).swapaxes(0, 1)
    posterior = jnp.tensordot(weight, p, 1)[:, of_sample].T
    found = JointBatch(counts[None], weight @ jnp.exp(log_prior), matrices, posterior)
    return _Weighed(found, log_weight, jnp.abs(slope(top)).max(), elsewhere)
