"""The posterior of (A, B) in fixed shapes, for `batch`: the mode, the tilted laws, the table. Pure JAX.

`operating_point` and `exact` do the same for one data set on the host; names and formulas are theirs.
`prior` is a `BetaPrior` of arrays.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, gammaln
from jaxtyping import Array

from jtruth.testing.binary.operating_point import curvature

_MAX_STEPS = 100  # Newton steps


# ---- the mode ----------------------------------------------------------------------------------------------


def _tilts(point):
    """Shifts of the log-odds by the operating point, for y_pred = 1 and y_pred = 0."""
    d, f = point[..., 0], point[..., 1]
    return jnp.log(d) - jnp.log(f), jnp.log1p(-d) - jnp.log1p(-f)


def _information(x, one, size, point, prior):
    """Gradient, minus Hessian and the slopes of (E[A], E[B]) at an operating point: `operating_point`."""
    d, f = point[0], point[1]
    t1, t0 = _tilts(point)
    q = jax.nn.sigmoid(x + jnp.where(one, t1, t0))
    v = q * jax.nn.sigmoid(-(x + jnp.where(one, t1, t0)))
    n1, n = one.sum(dtype=x.dtype), size.astype(x.dtype)
    mean, variance = ((jnp.where(one, p, 0).sum(), jnp.where(one, 0, p).sum()) for p in (q, v))
    found, hessian, slopes = curvature(d, f, (n1, n - n1), mean, variance, prior)
    return jnp.stack(found), hessian, jnp.stack([jnp.stack(row) for row in slopes]), jnp.stack(variance)


def most_probable(x, one, size, prior):
    """`size` samples count; the others have log-odds -inf, are not predicted positive and fill up the array.

    Most probable (p_D, p_FA), posterior sd of (A, B) by Laplace, and whether Newton converged.
    """

    def body(state):
        point, _, number = state
        gradient, (dd, ff, df), _, _ = _information(x, one, size, point, prior)
        step = jnp.stack([ff * gradient[0] - df * gradient[1], dd * gradient[1] - df * gradient[0]])
        step = step / (dd * ff - df**2)
        tiny = jnp.finfo(x.dtype).tiny
        room = jnp.where(step > 0, (1 - point) / jnp.maximum(step, tiny), -point / jnp.minimum(step, -tiny))
        return point + step * jnp.minimum(1.0, 0.9 * room.min()), jnp.abs(step).max(), number + 1

    def unfinished(state):
        return (state[1] > 1e-5) & (state[2] < _MAX_STEPS)  # quadratic: the last step leaves about 1e-10

    start = (jnp.full(2, 0.5, x.dtype), jnp.asarray(jnp.inf, x.dtype), 0)
    point, change, _ = jax.lax.while_loop(unfinished, body, start)
    _, (dd, ff, df), slopes, variance = _information(x, one, size, point, prior)
    covariance = jnp.stack([jnp.stack([ff, -df]), jnp.stack([-df, dd])]) / (dd * ff - df**2)
    spread = variance + jnp.einsum("ij,jk,ik->i", slopes, covariance, slopes, precision="highest")
    return point, jnp.sqrt(spread), change <= 1e-5


# ---- the tilted Poisson-binomial laws ----------------------------------------------------------------------


class TiltedLaws(NamedTuple):
    """Laws of A (side 0) and B (side 1) under the tilts of the operating point; leading axis: sets."""

    pmf: Array  # (2, width)
    start: Array  # (2,) count of the first entry
    certain: Array  # (2, 2) how many flips of a side are heads for certain, tails for certain
    log_gain: Array  # (2,) log E[e^(tilt count)] before the tilt


def tilted_laws(x, one, point, width) -> TiltedLaws:
    """Both laws on `width` counts for a chunk of sets, one flip of each side a step.

    The window follows the running mean by at most one count a step. The loop ends with the longer side.
    """
    sets, samples = x.shape
    t1, t0 = _tilts(point)
    tilt = jnp.where(one, t1[:, None], t0[:, None])
    step_of = jnp.where(one, jnp.cumsum(one, axis=1), jnp.cumsum(~one, axis=1)) - 1
    where = (step_of, jnp.broadcast_to(jnp.arange(sets)[:, None], x.shape), jnp.where(one, 0, 1))
    heads = (
        jnp.zeros((samples, sets, 2), x.dtype)
        .at[where]
        .set(jax.nn.sigmoid(x + tilt), mode="promise_in_bounds")
    )
    tails = (
        jnp.ones((samples, sets, 2), x.dtype)
        .at[where]
        .set(jax.nn.sigmoid(-x - tilt), mode="promise_in_bounds")
    )
    number = jnp.stack([one.sum(1), (~one).sum(1)], axis=1)
    last_start = jnp.maximum(number + 1 - width, 0)

    def flip(state):
        step, pmf, start, mean = state
        p, r = heads[step], tails[step]
        mean = mean + p
        move = (mean - width // 2 >= (start + 1).astype(x.dtype)) & (start < last_start)
        p, r = p[..., None], r[..., None]
        padded = jnp.pad(pmf, ((0, 0), (0, 0), (1, 1)))
        stayed = p * padded[..., :-2] + r * pmf
        moved = p * pmf + r * padded[..., 2:]
        return step + 1, jnp.where(move[..., None], moved, stayed), start + move.astype(start.dtype), mean

    first = jnp.zeros((sets, 2, width), x.dtype).at[:, :, 0].set(1)
    state = (0, first, jnp.zeros_like(number), jnp.zeros((sets, 2), x.dtype))
    _, pmf, start, _ = jax.lax.while_loop(lambda s: s[0] < number.max(), flip, state)
    gain = jnp.logaddexp(jax.nn.log_sigmoid(-x), jax.nn.log_sigmoid(x) + tilt)
    of_sides = jnp.stack([jnp.where(one, gain, 0).sum(1), jnp.where(one, 0, gain).sum(1)], axis=1)
    certain = jnp.stack([(tails == 0).sum(0), (heads == 0).sum(0) - (samples - number)], axis=-1)
    return TiltedLaws(pmf, start, certain, of_sides)


# ---- the table ---------------------------------------------------------------------------------------------


def _log_gamma_bend(first, size, centre, offset):
    """log Gamma(k + offset) - log Gamma(centre + offset) - (k - centre) log(centre + offset), k = first + i.

    A sum of log1p((k - centre)/(centre + offset)) away from the centre, so that nothing large cancels. Where
    k + offset is not positive, outside the possible range, it means nothing.
    """
    k = first + jnp.arange(size, dtype=first.dtype)
    inside = k.astype(offset.dtype) + offset > 0
    away = (k - centre).astype(offset.dtype) / (centre.astype(offset.dtype) + offset)
    step = jnp.log1p(jnp.where(inside, away, 0))
    total = jnp.cumsum(step) - step  # over the earlier k
    return total - total[jnp.clip(centre - first, 0, size - 1)]


def _cropped(law, first, size):
    """`size` entries of a law around its mean, and the counts that they stand for."""
    place = (law * jnp.arange(law.size, dtype=law.dtype)).sum() / law.sum()
    cut = jnp.clip(place.astype(first.dtype) - size // 2, 0, law.size - size)
    return jax.lax.dynamic_slice(law, (cut,), (size,)), first + cut + jnp.arange(size, dtype=first.dtype)


def _edge_mass(mass, law, counts, lowest, highest):
    """Mass of the cells beside which there should be another one, but it was cut off or underflowed."""
    padded = jnp.pad(law > 0, 1)
    lost_below = (counts > lowest) & ~padded[:-2]
    lost_above = (counts < highest) & ~padded[2:]
    return jnp.where((law > 0) & (lost_below | lost_above), mass, 0).sum()


def posterior_table(one, n, point, laws: TiltedLaws, prior, window):
    """P(A, B | y_pred, z) on its window, log p(y_pred | z), the counts of both axes, and the edge mass."""
    n1 = one.sum()
    totals, tilts = (n1, n - n1), _tilts(point)
    law, counts = zip(*(_cropped(laws.pmf[s], laws.start[s], window[s]) for s in (0, 1)), strict=True)
    centre = [jnp.clip(counts[s][window[s] // 2], 0, totals[s]) for s in (0, 1)]
    g, slope, constant = _sum_factor(counts, centre[0] + centre[1], n, prior)
    logs = []
    for s, (alpha, beta) in enumerate(((prior.a_d, prior.a_f), (prior.b_d, prior.b_f))):
        log_f, its_constant = _side_factor(
            law[s], counts[s], totals[s], centre[s], alpha, beta, slope - tilts[s]
        )
        logs.append(log_f)
        constant += its_constant + laws.log_gain[s] - tilts[s] * centre[s].astype(point.dtype)
    log_p = (
        logs[0][:, None]
        + logs[1][None, :]
        + g[jnp.arange(window[0])[:, None] + jnp.arange(window[1])[None, :]]
    )
    return _normalised(log_p, constant, law, counts, possible(one, n, laws))


def plug_in_table(one, n, point, laws: TiltedLaws, window):
    """`posterior_table` at a given operating point: the tilted laws are the laws, A and B independent."""
    law, counts = zip(*(_cropped(laws.pmf[s], laws.start[s], window[s]) for s in (0, 1)), strict=True)
    logs = [jnp.where(part > 0, jnp.log(jnp.where(part > 0, part, 1)), -jnp.inf) for part in law]
    n1 = one.sum()
    totals = jnp.stack([n1, n - n1]).astype(point.dtype)
    constant = laws.log_gain.sum() + totals[0] * jnp.log(point[1]) + totals[1] * jnp.log1p(-point[1])
    log_p = logs[0][:, None] + logs[1][None, :]
    return _normalised(log_p, constant, law, counts, possible(one, n, laws))


def possible(one, n, laws: TiltedLaws):
    """Smallest and largest possible counts of both sides, (2, 2); what fills up the array is no sample."""
    n1 = one.sum()
    totals = jnp.stack([n1, n - n1])
    filling = jnp.stack([jnp.zeros_like(n), one.shape[0] - n])
    return jnp.stack([laws.certain[:, 0], totals - (laws.certain[:, 1] - filling)], axis=1)


def _normalised(log_p, constant, law, counts, limits):
    """What both tables return."""
    top = log_p.max()
    p = jnp.exp(log_p - top)
    total = p.sum()
    p = p / total
    edges = jnp.zeros((), p.dtype)
    for s in (0, 1):
        edges += _edge_mass(p.sum(1 - s), law[s], counts[s], limits[s, 0], limits[s, 1])
    return p, constant + top + jnp.log(total), counts, edges


def _side_factor(law, counts, total, centre, alpha, beta, slope):
    """log PB(k) Gamma(k + alpha) Gamma(total - k + beta) e^(slope (k - centre)), and its constant.

    The constant is what the gamma functions are at the centre; the rest is relative to it.
    """
    at, other = centre.astype(alpha.dtype) + alpha, (total - centre).astype(alpha.dtype) + beta
    bend = _log_gamma_bend(counts[0], counts.size, centre, alpha)
    bend += _log_gamma_bend(total - counts[-1], counts.size, total - centre, beta)[::-1]
    line = (jnp.log(at) - jnp.log(other) + slope) * (counts - centre).astype(alpha.dtype)
    log_law = jnp.log(jnp.where(law > 0, law, 1))
    return jnp.where(law > 0, log_law + bend + line, -jnp.inf), gammaln(at) + gammaln(other)


def _sum_factor(counts, centre, n, prior):
    """log g(a + b) = -log Gamma(a + b + .) Gamma(n - a - b + .): bend, slope at the centre, constant."""
    alpha, beta = prior.a_d + prior.b_d, prior.a_f + prior.b_f
    at, other = centre.astype(alpha.dtype) + alpha, (n - centre).astype(alpha.dtype) + beta
    first, size = counts[0][0] + counts[1][0], counts[0].size + counts[1].size
    bend = _log_gamma_bend(first, size, centre, alpha)
    bend += _log_gamma_bend(n - first - size + 1, size, n - centre, beta)[::-1]
    constant = -gammaln(at) - gammaln(other) - betaln(prior.a_d, prior.b_d) - betaln(prior.a_f, prior.b_f)
    return -bend, jnp.log(other) - jnp.log(at), constant
