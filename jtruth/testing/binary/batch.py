"""Exact posteriors of thousands of data sets in one compiled call, on CPU, GPU or TPU.

The distribution of (A, B), true positives and false negatives, is that of `exact`, in fixed shapes; names and
formulas are those of `operating_point` and `exact`, and the prior is a `BetaPrior` of arrays:

1. Newton finds the mode of the collapsed likelihood of the operating point, as in `operating_point`. 2.
Tilted by that operating point, the two Poisson-binomials are centred where the posterior lies. Each is
   built flip by flip on a window of counts that moves with the running mean: sums of positive numbers, so the
   relative error stays small in the tails, where the gamma factors move the mass.
3. The gamma functions enter as sums of log-ratios from the centre, which are accurate in float32. 4. Accuracy
and precision live on lattices, so their intervals are exact. The atoms of the ratios (recall,
   false alarms, F1) are pooled in 2048 equal bins over mean +- 8 sd (less near 0 or 1), and an interval is a
   run of whole bins: `resolution` is the width of a bin, at most sd/128, and the interval is at most two bins
   wider than the shortest of `exact`.

Where `ok` is False the window, or the range of floating-point numbers (nearly random labels), cuts off
posterior mass: use a larger window, or `exact.count_table`. At N = 1000 float64 agrees with that to 1e-12
(means, sd); float32 to 1e-5 sd (means), 1e-5 of itself (sd), a bin (intervals) and 1e-3 (log evidence).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betaln, gammaln
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import AnyArray, largest, must_be_concrete
from jtruth._mesh import over_sets
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes
from jtruth.stats.estimates import check_level
from jtruth.tables.metrics import METRICS, default_metrics
from jtruth.testing.binary.operating_point import BetaPrior, curvature, tilts
from jtruth.testing.weighted_tables import WeightedTables

Odds = Float[AnyArray, "sets samples"]
Codes = Int[AnyArray, "sets samples"]
_REACH = 8.0  # half-width of an automatic window, in standard deviations of the count
_SPREAD = 8.0  # half-width of the binned range of a ratio, in standard deviations
_BINS = 2048  # for the distributions of recall, false alarms and F1
_SETS_AT_ONCE = 16  # on a CPU this keeps the tables in the cache; 512 elsewhere
_MAX_STEPS = 100  # Newton steps


class BatchSummary(NamedTuple):
    """Posterior summaries; metrics in the order of `default_metrics`, each given that it is defined."""

    mean: Float[Array, "sets metrics"]
    sd: Float[Array, "sets metrics"]
    low: Float[Array, "sets metrics"]  # shortest interval that holds at least `level`
    high: Float[Array, "sets metrics"]
    mass: Float[Array, "sets metrics"]  # what it holds
    resolution: Float[Array, "sets metrics"]  # width of the bins behind low and high; 0: exact
    probability_defined: Float[Array, "sets metrics"]
    log_evidence: Float[Array, " sets"]  # log p(y_pred | z)
    operating_point: Float[Array, "sets 2"]  # most probable (p_D, p_FA)
    edge_mass: Float[Array, " sets"]  # posterior mass where the window cuts the table
    ok: Bool[Array, " sets"]  # Newton converged and edge_mass <= max(1e-12, 8 eps)

    __repr__ = one_line


def exact_batch(
    log_odds: Odds,
    y_pred: Codes,
    *,
    prior: BetaPrior | Float[AnyArray, "sets 2"] = BetaPrior(),
    level: float = 0.95,
    window: tuple[int, int] | None = None,
    mesh: jax.sharding.Mesh | None = None,
) -> BatchSummary:
    """Exact posterior of the five metrics for every data set.

    Args:
        log_odds: (sets, samples) logit p(y_i = 1 | z_i), +-inf where certain. Its dtype is that of the work:
            float64 needs `jax.enable_x64(True)` around the call.
        y_pred: (sets, samples), 0 or 1; -1 pads smaller sets.
        prior: Beta priors of p_D and p_FA; or operating points (p_D, p_FA) that are plugged in (empirical
            Bayes, Su 2.2-2.3), for which `log_evidence` is log p(y_pred | z; p_D, p_FA).
        level: probability of the intervals.
        window: how many counts (A, B) to keep; by default `enough_window`, which needs concrete input: pass a
            window under jit or vmap.
        mesh: devices that share the sets (`jtruth._mesh`); sets are padded to a multiple of them.

    Raises:
        ValueError: level outside (0, 1), shapes that differ or are empty, a window that is not positive, or
            a wrong code.

    >>> x, y_pred = np.array([[2.0, 1.0, -1.0, -3.0]]), np.array([[1, 1, 0, 0]])
    >>> found = exact_batch(x, y_pred, window=(8, 8))
    >>> bool(found.ok[0]), round(float(found.mean[0, 0]), 3)
    (True, 0.908)
    """
    check_level(level)
    if log_odds.shape != y_pred.shape or not log_odds.size:
        raise ValueError(
            f"log_odds has shape {log_odds.shape} and y_pred {y_pred.shape}; both must be (sets, "
            "samples) and not empty"
        )
    check_codes(y_pred, 2, "y_pred", size=log_odds.shape, missing=True)
    y = jnp.asarray(y_pred)
    x = jnp.where(y < 0, -jnp.inf, jnp.asarray(log_odds))
    beta = prior if isinstance(prior, BetaPrior) else None
    window = enough_window(x, y, beta or BetaPrior()) if window is None else window
    if min(window) < 1:
        raise ValueError(f"window is {window}; both counts must be positive")
    beta = jax.tree.map(lambda v: jnp.asarray(v, x.dtype), beta)
    run = partial(_summarise_all, prior=beta, level=jnp.asarray(level, x.dtype), window=tuple(window))
    return over_sets(run, mesh, x, y, *([] if beta else [jnp.asarray(prior, x.dtype)]))


def exact_counts(
    log_odds: Float[AnyArray, " samples"],
    y_pred: Int[AnyArray, " samples"],
    *,
    prior: BetaPrior = BetaPrior(),
    window: tuple[int, int],
) -> WeightedTables:
    """List the exact posterior of the count table of one data set; pure, for any metric.

    For thousands of sets use `jax.lax.map(..., batch_size=16)`: faster than `vmap` on a CPU, and few tables
    are in memory.

    Args:
        log_odds, y_pred, prior: as for `exact_batch`, of one set.
        window: how many true positives and how many false negatives to list: (window[0], window[1], 2, 2)
            tables; see `enough_window`.

    >>> found = exact_counts(np.array([2.0, 1.0, -1.0, -3.0]), np.array([1, 1, 0, 0]), window=(8, 8))
    >>> bool(found.ok), round(float(found.mean("accuracy")), 3), round(float(found.mean("kappa")), 3)
    (True, 0.908, 0.815)
    """
    check_codes(y_pred, 2, "y_pred", size=len(log_odds), missing=True)
    y = jnp.asarray(y_pred)[None]
    x = jnp.where(y < 0, -jnp.inf, jnp.asarray(log_odds)[None])
    beta = jax.tree.map(lambda v: jnp.asarray(v, x.dtype), prior)
    return jax.tree.map(lambda leaf: leaf[0], _summarise_chunk(x, y, None, beta, None, tuple(window)))


def enough_window(log_odds: Odds, y_pred: Codes, prior: BetaPrior = BetaPrior()) -> tuple[int, int]:
    """Counts of A and of B that hold +-8 posterior sd of the widest set, in multiples of 32 (host side)."""
    must_be_concrete("enough_window", "window=(counts, counts)", log_odds, y_pred, prior)
    x, y = jnp.asarray(log_odds), jnp.asarray(y_pred)
    prior = jax.tree.map(lambda v: jnp.asarray(v, x.dtype), prior)
    sd = np.asarray(_spreads(x, y, prior), np.float64)
    possible = x.shape[1] + 1
    need = np.fmin(2 * _REACH * np.fmax.reduce(sd, axis=0, initial=0.0) + 12, possible)  # NaN sets aside
    return int(-(-need[0] // 32) * 32), int(-(-need[1] // 32) * 32)


@jax.jit
def _spreads(x, y, prior):
    """Posterior standard deviations of (A, B), (sets, 2)."""

    def spread(data):
        x, y = data
        return _mode(x, y == 1, (y >= 0).sum(), prior)[1]

    return jax.lax.map(spread, (x, y), batch_size=_SETS_AT_ONCE)


@partial(jax.jit, static_argnames="window")
def _summarise_all(x, y, point=None, *, prior, level, window) -> BatchSummary:
    """Summaries in chunks of sets; the last chunk is padded with copies of the last set."""
    sets = x.shape[0]
    chunk = min(_SETS_AT_ONCE if jax.default_backend() == "cpu" else 512, sets)
    where = jnp.minimum(jnp.arange(-(-sets // chunk) * chunk), sets - 1).reshape(-1, chunk)

    def of_chunk(index):
        at = None if point is None else point[index]
        return _summarise_chunk(x[index], y[index], at, prior, level, window)

    summaries = jax.lax.map(jax.checkpoint(of_chunk), where)  # saves the memory of gradients
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:sets], summaries)


def _summarise_chunk(x, y, point, prior, level, window) -> Any:
    """Summaries of some sets; without a level their tables."""
    positive, size, converged = y == 1, (y >= 0).sum(axis=1), jnp.ones(x.shape[0], bool)
    tilted_by = point
    if prior is not None:
        point, _, converged = jax.vmap(_mode, in_axes=(0, 0, 0, None))(x, positive, size, prior)
        tilted_by = jax.lax.stop_gradient(point)  # probabilities do not depend on the tilt
    dists = _tilted_dists(x, positive, tilted_by, max(window))

    def of_set(positive, size, point, tilted_by, converged, dists):
        p, log_evidence, counts, edge_mass = _table(positive, size, tilted_by, dists, prior, window)
        ok = converged & (edge_mass <= jnp.maximum(1e-12, 8 * jnp.finfo(p.dtype).eps))
        if level is None:
            return WeightedTables(_cells(counts, positive.sum(), size, p), p, ok)
        numbers = _metrics(p, counts, positive.sum(), size, level)
        return BatchSummary(
            **numbers, log_evidence=log_evidence, operating_point=point, edge_mass=edge_mass, ok=ok
        )

    return jax.vmap(of_set)(positive, size, point, tilted_by, converged, dists)


# ---- the mode ----------------------------------------------------------------------------------------------


def _information(x, positive, size, point, prior):
    """Gradient, minus Hessian and the slopes of (E[A], E[B]) at an operating point."""
    d, f = point[0], point[1]
    t1, t0 = tilts(d, f, jnp)
    q = jax.nn.sigmoid(x + jnp.where(positive, t1, t0))
    v = q * jax.nn.sigmoid(-(x + jnp.where(positive, t1, t0)))
    n1, n = positive.sum(dtype=x.dtype), size.astype(x.dtype)
    mean, variance = ((jnp.where(positive, p, 0).sum(), jnp.where(positive, 0, p).sum()) for p in (q, v))
    gradient, hessian, slopes = curvature(d, f, (n1, n - n1), mean, variance, prior)
    return jnp.stack(gradient), hessian, jnp.stack([jnp.stack(row) for row in slopes]), jnp.stack(variance)


def _mode(x, positive, size, prior):
    """Mode (p_D, p_FA), Laplace sd of (A, B), convergence; derivatives are those of one more Newton step."""
    known = jax.lax.stop_gradient((x, positive, size)), jax.lax.stop_gradient(prior)

    def body(state):
        point, _, number = state
        gradient, (dd, ff, df), _, _ = _information(*known[0], point, known[1])
        step = jnp.stack([ff * gradient[0] - df * gradient[1], dd * gradient[1] - df * gradient[0]])
        step = step / (dd * ff - df**2)
        tiny = jnp.finfo(x.dtype).tiny
        most = jnp.where(step > 0, (1 - point) / jnp.maximum(step, tiny), -point / jnp.minimum(step, -tiny))
        return point + step * jnp.minimum(1.0, 0.9 * most.min()), jnp.abs(step).max(), number + 1

    def unfinished(state):
        return (state[1] > 1e-5) & (state[2] < _MAX_STEPS)  # quadratic: the last step leaves about 1e-10

    start = (jnp.full(2, 0.5, x.dtype), jnp.asarray(jnp.inf, x.dtype), 0)
    point, change, _ = jax.lax.while_loop(unfinished, body, start)
    gradient, (dd, ff, df), slopes, variance = _information(x, positive, size, point, prior)
    covariance = jnp.stack([jnp.stack([ff, -df]), jnp.stack([-df, dd])]) / (dd * ff - df**2)
    spread = variance + jnp.einsum("ij,jk,ik->i", slopes, covariance, slopes, precision="highest")
    step = (covariance * gradient[None, :]).sum(1)
    return point + (step - jax.lax.stop_gradient(step)), jnp.sqrt(spread), change <= 1e-5


# ---- the tilted Poisson-binomial distributions -------------------------------------------------------------


def _tilted_dists(x, positive, point, width) -> tuple[Array, Array, Array, Array]:
    """Tilted distributions (sets, 2, width) of A, B, first counts, heads, tails, log E[e^(tilt count)]."""
    sets, samples = x.shape
    t1, t0 = tilts(point[:, 0], point[:, 1], jnp)
    tilt = jnp.where(positive, t1[:, None], t0[:, None])
    step_of = jnp.where(positive, jnp.cumsum(positive, axis=1), jnp.cumsum(~positive, axis=1)) - 1
    where = (step_of, jnp.broadcast_to(jnp.arange(sets)[:, None], x.shape), jnp.where(positive, 0, 1))

    def by_step(fill, chance):
        return jnp.full((samples, sets, 2), fill, x.dtype).at[where].set(chance, mode="promise_in_bounds")

    heads, tails = by_step(0, jax.nn.sigmoid(x + tilt)), by_step(1, jax.nn.sigmoid(-x - tilt))
    number = jnp.stack([positive.sum(1), (~positive).sum(1)], axis=1)
    pmf, start = _flipped(heads, tails, number, width)
    gain = jnp.logaddexp(jax.nn.log_sigmoid(-x), jax.nn.log_sigmoid(x) + tilt)
    of_sides = jnp.stack([jnp.where(positive, gain, 0).sum(1), jnp.where(positive, 0, gain).sum(1)], axis=1)
    certain = jnp.stack([(tails == 0).sum(0), (heads == 0).sum(0) - (samples - number)], axis=-1)
    return pmf, start, certain, of_sides


def flips(heads, tails, number, width, steps) -> tuple[Array, Array]:
    """Probabilities (sets, sides, width) of heads in `number` flips (sets, sides), and their first counts.

    `heads`, `tails`: (flips, sets, sides) probabilities of each; `steps` flips are made.
    """
    last_start = jnp.maximum(number + 1 - width, 0)

    def flip(step, state):
        pmf, start, mean = state
        p, r = heads[step], tails[step]
        mean = mean + p
        move = (mean - width // 2 >= (start + 1).astype(mean.dtype)) & (start < last_start)
        p, r = p[..., None], r[..., None]
        padded = jnp.pad(pmf, ((0, 0), (0, 0), (1, 1)))
        stayed = p * padded[..., :-2] + r * pmf
        moved = p * pmf + r * padded[..., 2:]
        return jnp.where(move[..., None], moved, stayed), start + move.astype(start.dtype), mean

    first = jnp.zeros((*number.shape, width), heads.dtype).at[:, :, 0].set(1)
    state = (first, jnp.zeros_like(number), jnp.zeros(number.shape, heads.dtype))
    return jax.lax.fori_loop(0, steps, flip, state)[:2]


@partial(jax.custom_jvp, nondiff_argnums=(3,))
def _flipped(heads, tails, number, width):
    return flips(heads, tails, number, width, largest(number))


@_flipped.defjvp
def _slope_of_flipped(width, primals, tangents):
    """Derivative by a fixed number of steps, which reverse mode needs."""
    heads, tails, number = primals

    def flipped(heads, tails):
        return flips(heads, tails, number, width, heads.shape[0])

    return jax.jvp(flipped, (heads, tails), tangents[:2])


# ---- the table ---------------------------------------------------------------------------------------------


def _log_gamma_bend(first, size, centre, offset):
    """log Gamma(k + offset), k = first + i, less its value and slope at `centre`; nothing large cancels."""
    k = first + jnp.arange(size, dtype=first.dtype)
    inside = k.astype(offset.dtype) + offset > 0
    away = (k - centre).astype(offset.dtype) / (centre.astype(offset.dtype) + offset)
    step = jnp.log1p(jnp.where(inside, away, 0))
    total = jnp.cumsum(step) - step  # over the earlier k
    return total - total[jnp.clip(centre - first, 0, size - 1)]


def _log_gammas(first, size, centre, n, alpha, beta):
    """log Gamma(k + alpha) Gamma(n - k + beta), k = first + i: bend, and slope and value at the centre."""
    of_k, of_rest = centre.astype(alpha.dtype) + alpha, (n - centre).astype(alpha.dtype) + beta
    bend = _log_gamma_bend(first, size, centre, alpha)
    bend += _log_gamma_bend(n - first - size + 1, size, n - centre, beta)[::-1]
    return bend, jnp.log(of_k) - jnp.log(of_rest), gammaln(of_k) + gammaln(of_rest)


def _cropped(dist, first, size):
    """`size` entries of a distribution around its mean, and the counts that they stand for."""
    place = (dist * jnp.arange(dist.size, dtype=dist.dtype)).sum() / dist.sum()
    cut = jnp.clip(place.astype(first.dtype) - size // 2, 0, dist.size - size)
    return jax.lax.dynamic_slice(dist, (cut,), (size,)), first + cut + jnp.arange(size, dtype=first.dtype)


def _edge_mass(mass, dist, counts, lowest, highest):
    """Mass of cells whose neighbour was cut off or underflowed."""
    padded = jnp.pad(dist > 0, 1)
    lost_below = (counts > lowest) & ~padded[:-2]
    lost_above = (counts < highest) & ~padded[2:]
    return jnp.where((dist > 0) & (lost_below | lost_above), mass, 0).sum()


def _table(positive, n, point, dists, prior, window):
    """P(A, B | y_pred, z) on its window, log p(y_pred | z), the counts of both axes, and the edge mass."""
    pmf, start, certain, log_gain = dists
    n1, shifts = positive.sum(), tilts(point[0], point[1], jnp)
    totals = (n1, n - n1)
    dist, counts = zip(*(_cropped(pmf[s], start[s], window[s]) for s in (0, 1)), strict=True)
    logs = [jnp.where(part > 0, jnp.log(jnp.where(part > 0, part, 1)), -jnp.inf) for part in dist]
    if prior is None:
        ones, zeros = (total.astype(point.dtype) for total in totals)
        constant = log_gain.sum() + ones * jnp.log(point[1]) + zeros * jnp.log1p(-point[1])
        log_p = logs[0][:, None] + logs[1][None, :]
    else:
        centre = [jnp.clip(counts[s][window[s] // 2], 0, totals[s]) for s in (0, 1)]
        first, alphas = counts[0][0] + counts[1][0], (prior.a_d + prior.b_d, prior.a_f + prior.b_f)
        bend, slope, of_sum = _log_gammas(first, sum(window), centre[0] + centre[1], n, *alphas)
        constant = -of_sum - betaln(prior.a_d, prior.b_d) - betaln(prior.a_f, prior.b_f)
        for s, alphas in enumerate(((prior.a_d, prior.a_f), (prior.b_d, prior.b_f))):
            side_bend, side_slope, of_side = _log_gammas(
                counts[s][0], window[s], centre[s], totals[s], *alphas
            )
            away = (counts[s] - centre[s]).astype(point.dtype)
            logs[s] = logs[s] + side_bend + (side_slope + (-slope - shifts[s])) * away
            constant += of_side + log_gain[s] - shifts[s] * centre[s].astype(point.dtype)
        places = jnp.arange(window[0])[:, None] + jnp.arange(window[1])[None, :]
        log_p = logs[0][:, None] + logs[1][None, :] - bend[places]
    top = log_p.max()
    p = jnp.exp(log_p - top)
    total = p.sum()
    p, edges = p / total, jnp.zeros((), p.dtype)
    for s, filling in enumerate((0, positive.shape[0] - n)):  # padding is no sample
        highest = totals[s] - (certain[s, 1] - filling)
        edges += _edge_mass(p.sum(1 - s), dist[s], counts[s], certain[s, 0], highest)
    return p, constant + top + jnp.log(total), counts, edges


# ---- the metrics -------------------------------------------------------------------------------------------


def _cells(counts, n1, n, p):
    """The count table of every cell of P(A, B), (A, B, 2, 2): rows are true classes."""
    tp, fn = counts[0].astype(p.dtype)[:, None], counts[1].astype(p.dtype)[None, :]
    tp, fn = jnp.broadcast_to(tp, p.shape), jnp.broadcast_to(fn, p.shape)
    chosen, total = n1.astype(p.dtype), n.astype(p.dtype)
    return jnp.stack([total - chosen - fn, chosen - tp, fn, tp], axis=-1).reshape(*p.shape, 2, 2)


def _metrics(p, counts, n1, n, level):
    """The first seven fields of `BatchSummary`, each (metrics,)."""
    chosen, total = n1.astype(p.dtype), n.astype(p.dtype)
    table = _cells(counts, n1, n, p)
    cells = [table[..., i, j] for i, j in ((1, 1), (0, 1), (1, 0), (0, 0))]
    first = counts[0][0] - counts[1][-1] + n - n1
    correct = (first + jnp.arange(sum(p.shape) - 1, dtype=n1.dtype)).astype(p.dtype)
    rows, columns = p.shape  # masses of A - B: the columns reversed, then sums of antidiagonals
    padded = jnp.pad(p[:, ::-1], ((0, 0), (0, rows))).ravel()
    differences = padded[: rows * (rows + columns - 1)].reshape(rows, -1).sum(0)
    share = jnp.where(n1 > 0, counts[0].astype(p.dtype) / jnp.maximum(chosen, 1), jnp.nan)
    dists = {
        "accuracy": _lattice(correct / total, differences, level, 1 / total),
        "precision": _lattice(share, p.sum(1), level, 1 / jnp.maximum(chosen, 1)),
    }
    names = default_metrics("01")
    ratios = [name for name in names if name not in dists]
    values = jnp.stack([jnp.broadcast_to(METRICS[name](*cells), p.shape) for name in ratios])
    binned = jax.vmap(lambda v: _binned(v, p, level))(values)
    dists |= {name: tuple(part[i] for part in binned) for i, name in enumerate(ratios)}
    rows = [dists[name] for name in names]
    fields = BatchSummary._fields[: len(rows[0])]
    return {name: jnp.stack(column) for name, *column in zip(fields, *rows, strict=True)}


def _moments(values, p):
    """(mean, sd, probability) of the defined values (not NaN); NaN if there are none."""
    defined = ~jnp.isnan(values) & (p > 0)
    weight, values = jnp.where(defined, p, 0), jnp.where(defined, values, 0)
    total = weight.sum()
    mean = (weight * values).sum() / total
    variance = (weight * (values - mean) ** 2).sum() / total
    spread = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0 * variance)
    return mean, spread, total


def _lattice(values, pmf, level, step):
    """A metric whose values are `step` apart: its interval is exact."""
    mean, sd, defined = _moments(values, pmf)
    first, length, mass = _shortest_run(pmf / pmf.sum(), level)
    low = values[first]
    zero = jnp.zeros((), pmf.dtype)
    return mean, sd, low, low + length.astype(pmf.dtype) * step, mass + 0 * low, zero, defined


def _binned(values, p, level):
    """A metric with a value for every cell: the interval is a run of equal bins."""
    mean, sd, defined = _moments(values, p)
    low, high = jnp.maximum(mean - _SPREAD * sd, 0), jnp.minimum(mean + _SPREAD * sd, 1)
    width = (high - low) / _BINS
    safe = jnp.where(width > 0, width, 1)
    used = ~jnp.isnan(values) & (p > 0)
    place = jnp.where(used, (values - low) / safe, 0).astype(jnp.int32)
    place, weight = jnp.clip(place, 0, _BINS - 1).ravel(), jnp.where(used, p, 0).ravel()
    # Without the promise a CPU scatter takes eight times as long.
    mass = jnp.zeros(_BINS, p.dtype).at[place].add(weight, mode="promise_in_bounds")
    first, length, inside = _shortest_run(mass / defined, level)
    start = low + first.astype(p.dtype) * width
    return mean, sd, start, start + (length + 1).astype(p.dtype) * width, inside, width, defined


def _shortest_run(mass, level):
    """First entry, further entries and mass of the shortest run with `level`; ties: the most mass."""
    size = mass.size
    upto = jnp.concatenate([jnp.zeros(1, mass.dtype), jnp.cumsum(mass)])
    padded = jnp.concatenate([upto, jnp.full(size, upto[-1])])
    slack = jnp.maximum(1e-12, 8 * jnp.finfo(mass.dtype).eps)

    def sums(length):  # of the runs of `length` entries
        return jax.lax.dynamic_slice(padded, (length,), (size,)) - upto[:-1]

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        enough = sums(middle).max() >= level * upto[-1] - slack
        return jnp.where(enough, low, middle + 1), jnp.where(enough, middle, high)

    start = (jnp.asarray(1), jnp.asarray(size))
    length, _ = jax.lax.fori_loop(0, size.bit_length(), halve, start)
    runs = sums(length)
    first = jnp.argmax(runs)
    return first, length - 1, runs[first]
