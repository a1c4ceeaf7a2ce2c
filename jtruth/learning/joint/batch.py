"""The joint posterior of thousands of label sets in one compiled call, on any device that JAX uses.

The model is `fit_joint`'s under independence, with fixed priors: class prior ~ Dirichlet(1), every row of
every rater's matrix ~ Dirichlet with 2 on the diagonal and 1 spread over the rest, the classifier being the
last rater. A Gibbs sweep is two products with one matrix of zeros and ones, (raters * classes, samples).
Every set has its own key, by its number, so draws do not depend on the other sets or on the device.

Two classes need no chains (`weighted_batch`): with informative labels the posterior of the log odds is one
hill. EM and Newton steps find its top. Draws come from a split t distribution around it (Geweke 1989,
Econometrica 57, 1317), widened along each axis of the curvature until its density is above the true one at
several points, so that weights are bounded. Draws by these weights give every sample a class.

Sets for `joint_batch` instead are known by a Pareto k above `stats.loo.good_shape`, too few effective draws,
a top that Newton did not find, or a density not far below the top's where the classes have exchanged names.
Another hill elsewhere is not detected. With three classes and more weights are too uneven
(`benchmarks/engine.py`).
"""

from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth import _validation as check
from jtruth._arrays import AnyArray, JaxGenerator, as_array, log_gamma_draws, systematic
from jtruth._host import diagonal_rows
from jtruth._mesh import over_sets
from jtruth._random import as_key, stream
from jtruth.latent import density
from jtruth.latent.density import Channel, Seen
from jtruth.stats.loo import good_shape, smoothed_weights

_CHAINS, _BURN_IN = 4, 100
_AT_ONCE = 8  # sets, on a CPU: what stays in the cache; elsewhere 256
MOST_RATERS = 19  # of two classes, for weighted draws to be worth trying
_DRAWS, _KEPT = 1000, 500  # weighted draws, and how many by their weights give samples their classes
_AT = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)  # standard deviations
_EM_STEPS, _NEWTON_STEPS = 50, 5
_FLAT = 1e-6  # slope at the top
_FAR_BELOW = 9.0  # log density: exp(-9) is 1e-4
_SAME = 0.1  # log odds
# Accelerators may round float32 products to 10 bits otherwise.
_product = partial(jnp.einsum, precision=jax.lax.Precision.HIGHEST)
_STEP = 32  # distinct rows are filled up to multiples of it: a program is compiled for each


class JointBatch(NamedTuple):
    """Draws and means of every set."""

    counts: Float[AnyArray, "sets chains sweeps classes symbols"]  # n[c, u]: true class, predicted
    prior: Float[AnyArray, "sets classes"]  # posterior means from here on
    matrices: Float[AnyArray, "sets raters classes symbols"]  # the classifier's is the last
    class_posterior: Float[AnyArray, "sets samples classes"]  # of filled-up samples: the class prior
    # of weighted draws, else None: effective draws behind `counts`, shape of the largest weights, and whether
    # they are to be trusted
    ess: Float[AnyArray, " sets"] | None = None
    pareto_k: Float[AnyArray, " sets"] | None = None
    ok: Bool[AnyArray, " sets"] | None = None


def joint_batch(
    key: Any,
    labels: Int[AnyArray, "sets samples labelers"],
    y_pred: Int[AnyArray, "sets samples"],
    num_classes: int,
    *,
    numbers: Int[np.ndarray, " sets"] | None = None,
    sweeps: int = 750,
    mesh: jax.sharding.Mesh | None = None,
) -> JointBatch:
    """Sample every set by Gibbs chains.

    Args:
        key: a whole number or a JAX key.
        labels: codes 0..C-1, -1 for no label.
        y_pred: predicted classes, -1 for none. A sample with neither is filling.
        num_classes: C.
        numbers: of the sets, for their keys; 0, 1, ... by default.
        sweeps: kept of every one of four chains, after 100 from vote shares.
        mesh: devices to share the sets; one axis of it is used.

    >>> import numpy as np
    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> found = joint_batch(0, z[None], z[None, :, 0], 2)
    >>> found.counts.shape, bool(found.matrices[0, 0, 0, 0] > 0.9)
    ((1, 4, 750, 2, 2), True)
    """
    seen = jnp.concatenate([as_array(labels), as_array(y_pred)[:, :, None]], axis=2).astype(jnp.int32)
    keys = _keys(key, np.arange(len(seen)) if numbers is None else numbers, "joint batch")
    at_once = _AT_ONCE if jax.default_backend() == "cpu" else 256
    run = partial(_every, one=_sample, settings=(num_classes, sweeps), at_once=at_once)
    return over_sets(run, mesh, keys, seen)


def _keys(key: Any, numbers: Int[np.ndarray, " sets"], name: str) -> jax.Array:
    """Key data for every set, by its number."""
    base = as_key(key)
    return jax.random.key_data(jax.vmap(lambda n: stream(base, name, n))(jnp.asarray(numbers, jnp.uint32)))


@partial(jax.jit, static_argnames=("one", "settings", "at_once"))
def _every(keys, *sets, one, settings, at_once=None):
    def of(data):
        return one(jax.random.wrap_key_data(data[0]), *data[1:], *settings)

    return jax.lax.map(of, (keys, *sets), batch_size=at_once and min(at_once, len(keys)))


def _sample(key, seen, classes, sweeps) -> JointBatch:
    """One set; `seen` (samples, raters), the classifier last."""
    samples, raters = seen.shape
    codes, dtype = jnp.arange(classes, dtype=seen.dtype), jnp.zeros(()).dtype
    x = (seen.T[:, None, :] == codes[None, :, None]).astype(dtype).reshape(-1, samples)
    weight = (seen >= 0).any(axis=1).astype(dtype)
    rows = jnp.asarray(diagonal_rows(classes, 2.0, 1.0), dtype)
    shape = (_CHAINS, classes, raters, classes)

    def log_dirichlet(key, alpha):
        logs = log_gamma_draws(alpha, JaxGenerator(jax.random.split(key), alpha.dtype))
        return jax.nn.log_softmax(logs, axis=-1)

    def parameters(key, z):
        """Log rows (chains, classes, raters, classes), log prior (chains, classes), and the counts."""
        counts = _product("kcn,fn->kcf", z, x).reshape(shape)
        key_rows, key_prior = jax.random.split(key)
        theta = log_dirichlet(key_rows, counts + rows[None, :, None, :])
        return theta, log_dirichlet(key_prior, z.sum(axis=2) + 1), counts

    def sweep(carry, keyed):
        (theta, pi), sums = carry
        key, kept = keyed
        key_class, key_rows = jax.random.split(key)
        logits = _product("kcf,fn->kcn", theta.reshape(_CHAINS, classes, -1), x) + pi[:, :, None]
        p = _probabilities(logits)
        height = jax.random.uniform(key_class, (_CHAINS, samples), dtype)
        z = _drawn(p, height) * weight[None, None, :]
        theta, pi, counts = parameters(key_rows, z)
        more = jnp.exp(theta).sum(axis=0), jnp.exp(pi).sum(axis=0), p.sum(axis=0)
        return ((theta, pi), tuple(a + kept * b for a, b in zip(sums, more, strict=True))), counts[:, :, -1]

    votes = x.reshape(raters, classes, -1).sum(axis=0)
    total = votes.sum(axis=0, keepdims=True)
    shares = jnp.where(total > 0, votes / jnp.maximum(total, 1), 1 / classes) * weight[None, :]
    key_start, key = jax.random.split(key)
    start = parameters(key_start, jnp.broadcast_to(shares, (_CHAINS, *shares.shape)))[:2]
    zero = (jnp.zeros(shape[1:], dtype), jnp.zeros(classes, dtype), jnp.zeros_like(votes))
    number = _BURN_IN + sweeps
    kept = (jnp.arange(number, dtype=jnp.int32) >= _BURN_IN).astype(dtype)
    (_, sums), counts = jax.lax.scan(sweep, (start, zero), (jax.random.split(key, number), kept))
    counts = counts[_BURN_IN:]
    theta, pi, p = (s / (sweeps * _CHAINS) for s in sums)
    return JointBatch(counts.swapaxes(0, 1), pi, theta.swapaxes(0, 1), p.T)


def _probabilities(logits: Float[Array, "chains classes samples"]) -> Float[Array, "chains classes samples"]:
    """Softmax over classes, class by class: samples are the axis that a processor works on in parallel."""
    parts = [logits[:, c] for c in range(logits.shape[1])]
    top = reduce(jnp.maximum, parts)
    parts = [jnp.exp(part - top) for part in parts]
    total = reduce(jnp.add, parts)
    return jnp.stack([part / total for part in parts], axis=1)


def _drawn(
    p: Float[Array, "chains classes samples"], height: Float[Array, "chains samples"]
) -> Float[Array, "chains classes samples"]:
    """1 at a class drawn by inversion: the first at which the cumulative probability exceeds the height."""
    below, upto, parts = jnp.ones_like(height), jnp.zeros_like(height), []
    for c in range(p.shape[1] - 1):
        upto = upto + p[:, c]
        above = (height >= upto).astype(p.dtype)
        parts.append(below - above)
        below = above
    return jnp.stack([*parts, below], axis=1)


def weighted_batch(
    key: Any,
    labels: Int[AnyArray, "sets samples labelers"],
    y_pred: Int[AnyArray, "sets samples"],
    num_classes: int,
    *,
    mesh: jax.sharding.Mesh | None = None,
) -> JointBatch:
    """Weighted draws of every set; arguments are those of `joint_batch`.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> weighed = weighted_batch(0, z[None], z[None, :, 0], 2)
    >>> weighed.counts.shape, bool(weighed.matrices[0, 0, 0, 0] > 0.9)
    ((1, 1, 500, 2, 2), True)
    """
    seen = np.concatenate([np.asarray(labels), np.asarray(y_pred)[:, :, None]], axis=2).astype(np.int32)
    rows, times, of_sample = _merged(seen)
    with jax.enable_x64(True):
        keys = _keys(key, np.arange(len(seen)), "weighted batch")
        run = partial(_every, one=_weigh, settings=(num_classes,))
        out = over_sets(run, mesh, keys, *map(jnp.asarray, (rows, times, of_sample, seen[:, :, -1])))
    batch, log_weight, slope, exchanged_height = jax.tree.map(np.asarray, out)
    known = np.isfinite(log_weight).all(axis=1)
    _, k = smoothed_weights(np.where(known[:, None], log_weight, 0.0), 1.0)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    effective = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1)
    ess = 1 / (1 / effective + 1 / _KEPT)
    one_hill = (slope < _FLAT) & (exchanged_height < -_FAR_BELOW)
    return batch._replace(ess=ess, pareto_k=k, ok=known & one_hill & (k < good_shape(_DRAWS)))


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


def _dist(one_hot, times):
    """For labels (rows, raters, classes): natural parameters of points (size, P), their density, and EM.

    Coordinates are log odds of the class prior, then of all rows, against the last.
    """
    size, raters, classes = one_hot.shape
    x = one_hot.reshape(size, -1)
    one, none = jnp.ones((size, 1), times.dtype), jnp.zeros((size, 1), times.dtype)
    seen = Seen(jnp.concatenate([x, one], axis=1), none, times, none[:, 0])
    alpha = jnp.asarray(diagonal_rows(classes, 2.0, 1.0), times.dtype)[:, None]

    def parts(v):
        """Log prior (classes, P), log rows (classes, raters, symbols, P), log p(row, class, P), log p(v)."""
        shape = classes, raters, classes - 1, v.shape[1]
        log_rows = jnp.pad(v[classes - 1 :].reshape(shape), [(0, 0), (0, 0), (0, 1), (0, 0)])
        log_rows = jax.nn.log_softmax(log_rows, axis=2)
        log_prior = jax.nn.log_softmax(jnp.pad(v[: classes - 1], [(0, 1), (0, 0)]), axis=0)
        of_seen = log_rows.transpose(1, 2, 0, 3).reshape(-1, classes, v.shape[1])
        joint = density.log_joint(Channel(log_prior[None], jnp.zeros_like(log_prior), of_seen), seen)
        # Dirichlet distributions of probabilities, as densities of log odds, up to a constant
        return log_prior, log_rows, joint, log_prior.sum(0) + (alpha[..., None] * log_rows).sum((0, 1, 2))

    def log_density(v):
        _, _, joint, of_prior = parts(v)
        return times @ density.total(joint) + of_prior

    def climb(shares):
        def point(p):
            weighted = p * times[:, None]
            counts = (weighted.T @ x).reshape(classes, raters, classes)
            prior, rows = jnp.log(weighted.sum(axis=0) + 1), jnp.log(counts + alpha)
            return jnp.concatenate([prior[:-1] - prior[-1], (rows[..., :-1] - rows[..., -1:]).ravel()])

        def step(_, p):
            return density.class_dist(parts(point(p)[:, None])[2], classes)[:, :, 0]

        return point(jax.lax.fori_loop(0, _EM_STEPS, step, shares))

    return parts, log_density, climb


def _about(log_density, top, key_normal, key_scale):
    """Points (size, draws) from a Student's t at the mode, wider on one side; -log density."""
    size = top.size
    freedom = 2 * round(max(10.0, size**2 / 13) / 2)  # an even number
    values, vectors = jnp.linalg.eigh(-jax.hessian(lambda v: log_density(v[:, None])[0])(top))
    axes = vectors.T / jnp.sqrt(values)[:, None]  # in standard deviations; NaN where it is no top
    at = jnp.asarray([_AT, [-a for a in _AT]], axes.dtype)
    points = top[:, None, None, None] + at[None, :, :, None] * axes.T[:, None, None, :]
    fall = log_density(top[:, None])[0] - log_density(points.reshape(size, -1)).reshape(*at.shape, size)
    in_t = jnp.sqrt(
        freedom * jnp.expm1(2 * fall / (freedom + size))
    )  # where the t distribution has fallen as much
    spreads = (jnp.abs(at)[:, :, None] / in_t).max(axis=1)
    # a gamma variable of half the degrees of freedom is a sum of exponentials
    gamma = jax.random.exponential(key_scale, (_DRAWS, freedom // 2), top.dtype).sum(axis=1)
    normal = jax.random.normal(key_normal, (_DRAWS, size), top.dtype)
    t = normal / jnp.sqrt(2 * gamma / freedom)[:, None]
    spread = jnp.where(t > 0, spreads[0][None], spreads[1][None])
    log_t = jnp.log(spread).sum(axis=1) + (freedom + size) / 2 * jnp.log1p((t * t).sum(axis=1) / freedom)
    return (top[None] + (t * spread) @ axes).T, log_t


def _weigh(key, rows, times, of_sample, y_pred, classes):
    """One set: means and counts, log weights, the slope at the top, and the height of the exchanged top."""
    codes = jnp.arange(classes, dtype=rows.dtype)
    one_hot = (rows[:, :, None] == codes[None, None, :]).astype(times.dtype)
    parts, log_density, climb = _dist(one_hot, times)
    at = lambda v: log_density(v[:, None])[0]  # noqa: E731
    slope, curvature = jax.grad(at), jax.hessian(at)
    votes = one_hot.sum(axis=1)
    total = votes.sum(axis=1, keepdims=True)
    shares = jnp.where(total > 0, votes / jnp.maximum(total, 1.0), 1 / classes)

    def newton(_, v):
        return v - jnp.linalg.solve(curvature(v), slope(v))

    top = jax.lax.fori_loop(0, _NEWTON_STEPS, newton, climb(shares))
    exchanged = climb(shares[:, ::-1])
    apart = jnp.abs(exchanged - top).max() > _SAME
    exchanged_height = jnp.where(apart, at(exchanged) - at(top), -jnp.inf)

    key_normal, key_scale, key_kept, key_class = jax.random.split(key, 4)
    v, log_t = _about(log_density, top, key_normal, key_scale)
    log_prior, log_rows, joint, of_prior = parts(v)
    evidence = density.total(joint)
    log_weight = times @ evidence + of_prior + log_t
    weight = jax.nn.softmax(log_weight)

    # Draws by their weights, then a class for each sample.
    kept = systematic(weight, _KEPT, jax.random.uniform(key_kept, dtype=times.dtype))
    p = jnp.exp(joint - evidence[:, None])  # (rows, classes, draws)
    upto = jnp.cumsum(p[..., kept].astype(jnp.float32), axis=1)
    u = jax.random.uniform(key_class, (_KEPT, of_sample.size), jnp.float32)
    symbols = (y_pred[:, None] == jnp.arange(classes, dtype=y_pred.dtype)[None]).astype(jnp.float32)
    above = [(u >= upto[of_sample, c].T).astype(jnp.float32) @ symbols for c in range(classes - 1)]
    at_least = jnp.stack([jnp.broadcast_to(symbols.sum(axis=0), (_KEPT, classes)), *above], axis=1)
    counts = at_least - jnp.concatenate([at_least[:, 1:], jnp.zeros_like(at_least[:, :1])], axis=1)

    batch = JointBatch(
        counts[None],
        jnp.exp(log_prior) @ weight,
        (jnp.exp(log_rows) @ weight).swapaxes(0, 1),
        (p @ weight)[of_sample],
    )
    return batch, log_weight, jnp.abs(slope(top)).max(), exchanged_height
