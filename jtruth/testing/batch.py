"""Exact posteriors of thousands of data sets in one compiled call, on CPU, GPU or TPU (methods: `exact`).

The law of (A, B), true positives and false negatives, is that of `exact`, computed in fixed shapes:

1. Newton finds the mode of the collapsed likelihood of the operating point, as `operating_point` does.
2. Tilted by that operating point, the two Poisson-binomial laws are centred where the posterior lies. Each is
   built flip by flip on a window of counts that travels with the running mean: sums of positive numbers, so
   the relative error stays small in the tails, where the gamma factors move the mass.
3. The gamma functions enter as sums of log-ratios from the centre, which keep their accuracy in float32.
4. Accuracy and precision live on lattices, so their intervals are exact. The atoms of the ratios (recall,
   false alarms, F1) are pooled in `bins` equal bins over mean +- 8 sd (less where 0 or 1 is nearer), and an
   interval is a run of whole bins: `resolution` is the width of a bin, sd/128 at the default of 2048.

Nothing is cut silently: `edge_mass` is the posterior mass in the outermost cells that the window, or the
range of the floating-point numbers, leaves, and `ok` says whether it is negligible. For a set that is not ok
take a larger window, or `testing.exact.count_table`, which has no such limits.

Precision: float64 agrees with `count_table` to 1e-10. In float32 means are good to about 1e-3 sd and interval
ends to a bin or two; sets whose posterior is more than about twice as wide as the tilted laws (poor labelers)
run out of exponents and are flagged.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betaln, gammaln
from jaxtyping import Array, Bool, Float, Int

from jtruth.stats.regions import check_level
from jtruth.testing.metrics import METRICS
from jtruth.testing.operating_point import BetaPrior

_REACH = 9.0  # half-width of an automatic window, in standard deviations of the count
_SPREAD = 8.0  # half-width of the binned range of a ratio, in standard deviations
_MAX_STEPS = 100  # Newton steps
_SETS_AT_ONCE = 16  # on a CPU this keeps the tables in the cache


class BatchSummary(NamedTuple):
    """Posterior summaries of many data sets; metrics in the order of `METRICS`, given that they are defined."""

    mean: Float[Array, "sets metrics"]
    sd: Float[Array, "sets metrics"]
    low: Float[Array, "sets metrics"]  # shortest interval that holds at least `level`
    high: Float[Array, "sets metrics"]
    mass: Float[Array, "sets metrics"]  # what it holds
    resolution: Float[Array, "sets metrics"]  # width of the bins behind low and high; 0: exact
    probability_defined: Float[Array, "sets metrics"]
    log_evidence: Float[Array, " sets"]  # log p(y_pred | z)
    operating_point: Float[Array, "sets 2"]  # most probable (p_D, p_FA)
    edge_mass: Float[Array, " sets"]  # posterior mass in the outermost cells that are not the last possible
    ok: Bool[Array, " sets"]  # Newton converged and edge_mass <= max(1e-12, 8 eps)


def exact_batch(
    log_odds: Float[Array | np.ndarray, "sets samples"],
    y_pred: Int[Array | np.ndarray, "sets samples"],
    *,
    prior: BetaPrior = BetaPrior(),
    level: float = 0.95,
    window: tuple[int, int] | None = None,
    bins: int = 2048,
    sets_at_once: int | None = None,
) -> BatchSummary:
    """Exact posterior of the five metrics for every data set.

    Args:
        log_odds: (sets, samples) logit p(y_i = 1 | z_i), +-inf where certain. Its dtype is that of the work:
            float64 needs `jax.enable_x64(True)` around the call.
        y_pred: (sets, samples), 0 or 1.
        prior: Beta priors of p_D and p_FA.
        level: probability of the intervals.
        window: how many counts (A, B) to keep; by default what the widest set needs, found by a first pass
            (which needs concrete input: give the window under jit or vmap).
        bins: bins for the laws of recall, false alarms and F1.
        sets_at_once: how many sets are worked on together; memory is about 60 bytes x window[0] x window[1]
            for each. Default 16 on CPU, 512 elsewhere.

    Raises:
        ValueError: level outside (0, 1), or a window, bins or sets_at_once that is not positive.

    Example:
        >>> import numpy as np
        >>> from jtruth.testing.batch import exact_batch
        >>> x, y_pred = np.array([[2.0, 1.0, -1.0, -3.0]]), np.array([[1, 1, 0, 0]])
        >>> found = exact_batch(x, y_pred, window=(8, 8))
        >>> bool(found.ok[0]), round(float(found.mean[0, 0]), 3)
        (True, 0.834)
    """
    check_level(level)
    x, y = jnp.asarray(log_odds), jnp.asarray(y_pred)
    if window is None:
        window = enough_window(x, y, prior)
    chunk = sets_at_once or (_SETS_AT_ONCE if jax.default_backend() == "cpu" else 512)
    for name, value in (("window", min(window)), ("bins", bins), ("sets_at_once", chunk)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be positive")
    prior = BetaPrior(*(jnp.asarray(v, x.dtype) for v in prior))
    return _summarise_all(x, y, prior, jnp.asarray(level, x.dtype), tuple(window), bins, chunk)


def enough_window(x: Array, y: Array, prior: BetaPrior = BetaPrior()) -> tuple[int, int]:
    """Counts of A and of B that hold +-9 posterior sd of the widest set, in multiples of 32 (host side)."""
    prior = BetaPrior(*(jnp.asarray(v, x.dtype) for v in prior))
    sd = np.asarray(_spreads(x, y, prior), np.float64).max(axis=0, initial=0.0)
    possible = x.shape[1] + 1
    need = np.minimum(2 * _REACH * sd + 12, possible)
    return int(-(-need[0] // 32) * 32), int(-(-need[1] // 32) * 32)


@jax.jit
def _spreads(x, y, prior):
    """Posterior standard deviations of (A, B), (sets, 2)."""
    return jax.lax.map(lambda s: _newton(*s, prior)[1], (x, y == 1), batch_size=_SETS_AT_ONCE)


@partial(jax.jit, static_argnames=("window", "bins", "chunk"))
def _summarise_all(x, y, prior, level, window, bins, chunk) -> BatchSummary:
    """`chunk` sets at a time; the last chunk is filled up with copies of the last set."""
    sets = x.shape[0]
    chunk = min(chunk, sets)
    where = jnp.minimum(jnp.arange(-(-sets // chunk) * chunk), sets - 1).reshape(-1, chunk)

    def one_chunk(index):
        return _summarise_chunk(x[index], y[index] == 1, prior, level, window, bins)

    found = jax.lax.map(one_chunk, where)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:sets], found)


def _summarise_chunk(x, one, prior, level, window, bins) -> BatchSummary:
    point, _, converged = jax.vmap(_newton, in_axes=(0, 0, None))(x, one, prior)
    pmf, start, shift = _tilted_laws(x, one, point, max(window))
    of_set = partial(_summarise_set, prior=prior, level=level, window=window, bins=bins)
    return jax.vmap(of_set)(x, one, point, converged, pmf, start, shift)


# ---- 1. the mode ----------------------------------------------------------------------------------------


def _tilts(point):
    """Shifts of the log-odds by the operating point, for y_pred = 1 and y_pred = 0."""
    d, f = point[..., 0], point[..., 1]
    return jnp.log(d) - jnp.log(f), jnp.log1p(-d) - jnp.log1p(-f)


def _information(x, one, point, prior):
    """Gradient, minus Hessian and the slopes of (E[A], E[B]) at an operating point: `operating_point`."""
    d, f = point[0], point[1]
    t1, t0 = _tilts(point)
    q = jax.nn.sigmoid(x + jnp.where(one, t1, t0))
    v = q * jax.nn.sigmoid(-(x + jnp.where(one, t1, t0)))
    n1, n = one.sum(dtype=x.dtype), x.shape[0]
    a, b = jnp.where(one, q, 0).sum(), jnp.where(one, 0, q).sum()
    va, vb = jnp.where(one, v, 0).sum(), jnp.where(one, 0, v).sum()
    gradient = jnp.stack(
        [
            (a + prior.a_d) / d - (b + prior.b_d) / (1 - d),
            (n1 - a + prior.a_f) / f - (n - n1 - b + prior.b_f) / (1 - f),
        ]
    )
    dd = (a + prior.a_d - va) / d**2 + (b + prior.b_d - vb) / (1 - d) ** 2
    ff = (n1 - a + prior.a_f - va) / f**2 + (n - n1 - b + prior.b_f - vb) / (1 - f) ** 2
    df = va / (d * f) + vb / ((1 - d) * (1 - f))
    slopes = jnp.stack([jnp.stack([va / d, -va / f]), jnp.stack([-vb / (1 - d), vb / (1 - f)])])
    return gradient, (dd, ff, df), slopes, jnp.stack([va, vb])


def _newton(x, one, prior):
    """Most probable (p_D, p_FA), posterior sd of (A, B) by Laplace, and whether Newton converged."""

    def body(state):
        point, _, number = state
        gradient, (dd, ff, df), _, _ = _information(x, one, point, prior)
        step = jnp.stack([ff * gradient[0] - df * gradient[1], dd * gradient[1] - df * gradient[0]])
        step = step / (dd * ff - df**2)
        tiny = jnp.finfo(x.dtype).tiny
        room = jnp.where(step > 0, (1 - point) / jnp.maximum(step, tiny), -point / jnp.minimum(step, -tiny))
        return point + step * jnp.minimum(1.0, 0.9 * room.min()), jnp.abs(step).max(), number + 1

    def unfinished(state):
        return (state[1] > 1e-5) & (state[2] < _MAX_STEPS)  # quadratic: the last step leaves about 1e-10

    start = (jnp.full(2, 0.5, x.dtype), jnp.asarray(jnp.inf, x.dtype), 0)
    point, change, _ = jax.lax.while_loop(unfinished, body, start)
    _, (dd, ff, df), slopes, variance = _information(x, one, point, prior)
    covariance = jnp.stack([jnp.stack([ff, -df]), jnp.stack([-df, dd])]) / (dd * ff - df**2)
    spread = variance + jnp.einsum("ij,jk,ik->i", slopes, covariance, slopes, precision="highest")
    return point, jnp.sqrt(spread), change <= 1e-5


# ---- 2. the tilted Poisson-binomial laws ----------------------------------------------------------------


def _tilted_laws(x, one, point, width):
    """Laws of A and B under the tilts of `point` on `width` counts, for a chunk of sets.

    Returns pmf (sets, 2, width), the count of the first entry (sets, 2), and log E[e^(tilt count)], (sets, 2).
    Both laws advance together, one flip each; the loop ends with the longer of the two.
    """
    sets, samples = x.shape
    rank = jnp.where(one, jnp.cumsum(one, axis=1), jnp.cumsum(~one, axis=1)) - 1
    t1, t0 = _tilts(point)
    tilt = jnp.where(one, t1[:, None], t0[:, None])
    q = jax.nn.sigmoid(x + tilt)
    side = jnp.where(one, 0, 1)
    row = jnp.broadcast_to(jnp.arange(sets)[:, None], x.shape)
    flips = jnp.zeros((samples, sets, 2), x.dtype).at[rank, row, side].set(q)
    number = jnp.stack([one.sum(1), (~one).sum(1)], axis=1)
    last = jnp.maximum(number + 1 - width, 0)

    def body(state):
        step, pmf, start, mean = state
        p = flips[step]
        mean = mean + p
        move = (mean - width // 2 >= (start + 1).astype(x.dtype)) & (start < last)
        stay, p = 1.0 - move.astype(x.dtype)[..., None], p[..., None]
        left = jnp.pad(pmf, ((0, 0), (0, 0), (1, 0)))[..., :-1]
        right = jnp.pad(pmf, ((0, 0), (0, 0), (0, 1)))[..., 1:]
        middle = (1 - stay) * p + stay * (1 - p)
        pmf = (stay * p) * left + middle * pmf + ((1 - stay) * (1 - p)) * right
        return step + 1, pmf, start + move, mean

    zeros = jnp.zeros((sets, 2), x.dtype)
    first = jnp.zeros((sets, 2, width), x.dtype).at[:, :, 0].set(1)
    state = (0, first, jnp.zeros((sets, 2), number.dtype), zeros)
    _, pmf, start, _ = jax.lax.while_loop(lambda s: s[0] < number.max(), body, state)
    gain = jnp.logaddexp(jax.nn.log_sigmoid(-x), jax.nn.log_sigmoid(x) + tilt)
    return pmf, start, jnp.stack([jnp.where(one, gain, 0).sum(1), jnp.where(one, 0, gain).sum(1)], axis=1)


# ---- 3. the table ---------------------------------------------------------------------------------------


def _log_gamma_ratio(first, size, centre, offset):
    """log Gamma(k + offset) - log Gamma(centre + offset) - (k - centre) log(centre + offset), k = first + i.

    A sum of log1p((k - centre)/(centre + offset)) away from the centre, so that nothing large cancels; where
    k + offset is not positive (outside the possible range) the value means nothing.
    """
    k = (first + jnp.arange(size)).astype(offset.dtype)
    base = centre + offset
    safe = jnp.maximum((k - centre) / base, -0.999999)
    step = jnp.log1p(jnp.where(k + offset > 0, safe, 0.0))
    total = jnp.cumsum(step) - step  # sum over earlier k
    here = jnp.clip(centre.astype(first.dtype) - first, 0, size - 1)
    return total - total[here]


def _table(one, point, pmf, start, prior, window):
    """Posterior of (A, B) on its window, log of its sum (without the tilts' constants), counts, edge mass."""
    dtype, (rows, columns) = point.dtype, window
    n1, n = one.sum(), one.shape[0]
    sizes, totals = (rows, columns), (n1, n - n1)
    alpha1, alpha0 = (prior.a_d, prior.b_d), (prior.a_f, prior.b_f)
    t = _tilts(point)
    laws, counts, centres, possible = [], [], [], []
    for side in (0, 1):
        law, first = _crop(pmf[side], start[side], sizes[side])
        k = first + jnp.arange(sizes[side])
        laws.append(law), counts.append(k), possible.append(law > 0)
        mean = (law * (k - first).astype(dtype)).sum() / law.sum()
        centres.append(first + jnp.round(mean).astype(first.dtype))
    whole = centres[0] + centres[1]
    total_d, total_f = prior.a_d + prior.b_d, prior.a_f + prior.b_f
    constant = -gammaln(whole.astype(dtype) + total_d) - gammaln((n - whole).astype(dtype) + total_f)
    constant = constant - betaln(prior.a_d, prior.b_d) - betaln(prior.a_f, prior.b_f)
    logs = []
    slope = jnp.log((n - whole).astype(dtype) + total_f) - jnp.log(whole.astype(dtype) + total_d)
    for side in (0, 1):
        k, centre, total = counts[side], centres[side].astype(dtype), totals[side].astype(dtype)
        other = total - centre
        bend = _log_gamma_ratio(k[0], k.size, centre, alpha1[side])
        bend += _log_gamma_ratio((totals[side] - k)[-1], k.size, other, alpha0[side])[::-1]
        line = jnp.log(centre + alpha1[side]) - jnp.log(other + alpha0[side]) + slope - t[side]
        logs.append(_safe_log(laws[side]) + bend + line * (k - centres[side]).astype(dtype))
        constant = constant + gammaln(centre + alpha1[side]) + gammaln(other + alpha0[side]) - t[side] * centre
    low, length = counts[0][0] + counts[1][0], rows + columns
    g = _log_gamma_ratio(low, length, whole.astype(dtype), total_d)
    g += _log_gamma_ratio(n - low - length + 1, length, (n - whole).astype(dtype), total_f)[::-1]
    log_p = logs[0][:, None] + logs[1][None, :] - _hankel(g, rows, columns)
    top = log_p.max()
    p = jnp.exp(log_p - top)
    total = p.sum()
    p = p / total
    edges = _edge_mass(p.sum(1), laws[0], counts[0], totals[0]) + _edge_mass(p.sum(0), laws[1], counts[1], totals[1])
    return p, jnp.log(total) + top + constant, counts, edges


def _summarise_set():
    pass
