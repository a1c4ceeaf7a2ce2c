"""Rows that are alike: how often a row is right, and where its errors go, learned from all rows together.

A row r of a rater gives its right symbol with probability d[r], and wrong ones in proportions w[r]:

    theta[r, right] = d[r],   theta[r, u] = (1 - d[r]) w[r, u]
    d[r] ~ Beta(mu kappa, (1 - mu) kappa),   w[r] ~ Dirichlet(alpha q[r]),   q[r, u] ~ share[u]^g
    mu ~ Beta(mean_prior),  log kappa ~ N(log 10, 1.5),  log alpha ~ N(log(symbols - 1), 1.5),  g ~ U(0, 1)

mu, kappa, alpha and g belong to a family of rows and are drawn too (methods 15.3): a fixed Dirichlet prior
decides the answer where rows are many and samples few (`benchmarks/honesty.py`).

In Gibbs sampling d and w are summed out: the four move by Metropolis steps on a product of beta-binomial and
Dirichlet-multinomial distributions, at scales drawn over one and a half powers of ten; then rows are drawn.

As a log density the coordinates of d and w are distances from the family's center in (about) standard
deviations of the family, var log Gamma(a) being about 1/a + 1/a^2; the Jacobian is in the density.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import betaln as host_betaln

from jtruth._arrays import betaln, gammaln, log_gamma_draws, metropolis, namespace
from jtruth._host import across, log_sum
from jtruth._one_line import one_line
from jtruth.latent import bijections
from jtruth.latent.bijections import log_sigmoid

_STEPS = 2  # Metropolis steps a sweep, for (mu, kappa) and for (alpha, g) each
SPREAD = 1.5  # of log kappa and log alpha a priori
KAPPA = float(np.log(10.0))  # a priori centre of log kappa
_FARTHEST = 12.0  # of logit mu, and of log kappa and log alpha from 0: nothing changes beyond


class Alike(NamedTuple):
    """Which rows of a group of raters are alike, and which symbols are right."""

    right: Any  # (rows,) the right symbol of each row of a matrix
    family: Any  # (raters, rows) 0..F-1
    log_share: Any  # (symbols,) log share of each symbol, on any scale
    mean_prior: Any = (1.0, 1.0)  # Beta of mu; (families, 2) if they differ

    __repr__ = one_line

    @property
    def num_families(self) -> int:
        """F."""
        return int(self.family.max()) + 1


def alike_classes(counts: np.ndarray) -> Alike:
    """The rows of one classifier are alike; `counts` (classes,) of its predictions."""
    classes = counts.size
    return Alike(np.arange(classes), np.zeros((1, classes), np.int64), log_shares(counts))


def alike_raters(counts: np.ndarray, raters: int) -> Alike:
    """The rows of one class are alike over raters; `counts` (classes,) of all their labels.

    The mean of a family is Beta(2, 1): raters are right more often than wrong a priori.
    """
    classes = counts.size
    family = np.tile(np.arange(classes), (raters, 1))
    return Alike(np.arange(classes), family, log_shares(counts), (2.0, 1.0))


def alike_in_strata(alike: Alike, classes: int, means: np.ndarray, *, by_class: bool) -> Alike:
    """The same raters with several strata: rows class 0 stratum 0, class 0 stratum 1, ...

    The rows of a class (`by_class`), or of all classes, are a family in each stratum, whose mean has the Beta
    distribution `means` (strata, 2).
    """
    strata = len(means)
    rows = np.arange(classes * strata)
    family = rows if by_class else rows % strata
    return alike._replace(
        right=rows // strata,
        family=np.tile(family, (len(alike.family), 1)),
        mean_prior=np.tile(means, (classes if by_class else 1, 1)),
    )


def log_shares(counts: np.ndarray) -> np.ndarray:
    """log of counts, the largest 0; a count of 0 is taken as half a sample."""
    share = np.log(np.maximum(counts, 0.5))
    return share - share.max()


def centre(alike: Alike) -> np.ndarray:
    """(raters, rows, symbols) concentrations at the middle of the priors: where EM starts."""
    (raters, rows), symbols = alike.family.shape, alike.log_share.size
    means = np.broadcast_to(alike.mean_prior, (alike.num_families, 2))[alike.family]
    a, b = means[..., :1], means[..., 1:]
    right = np.eye(symbols)[alike.right]
    mean = 1 - 0.5 * b / (a + b)  # half way to 1: a start, not a prior
    row = 10.0 * (mean * right + (1 - mean) * (1 - right) / max(symbols - 1, 1))
    return np.broadcast_to(row, (raters, rows, symbols)).copy()


def first_state(alike: Alike, chains: int) -> np.ndarray:
    """(chains, families, 4): logit mu, log kappa, log alpha, g at the start."""
    return np.tile([1.0, KAPPA, _pattern_centre(alike.log_share.size), 0.5], (chains, alike.num_families, 1))


def log_prior(alike: Alike, state: Float[np.ndarray, "*draws families 4"]) -> Float[np.ndarray, "*draws"]:
    """Log density of mu, log kappa, log alpha and g of all families, up to a constant.

    Only this fixed prior can be raised to a power (`jtruth.stats.loo`).
    """
    first, second = np.broadcast_to(alike.mean_prior, (alike.num_families, 2)).astype(np.float64).T
    odds, symbols = state[..., 0].astype(np.float64), alike.log_share.size
    density = -(first - 1) * np.logaddexp(0, -odds) - (second - 1) * np.logaddexp(0, odds)
    density += _normal(state[..., 1], KAPPA)
    if symbols > 2:
        density += _normal(state[..., 2], _pattern_centre(symbols))
    return density.sum(axis=-1)


class RowCounts(NamedTuple):
    """Counts of all rows. R = raters * rows."""

    alike: Alike
    family: np.ndarray  # (R,)
    right: np.ndarray  # (R,)
    is_right: np.ndarray  # (1, R, symbols)
    member: np.ndarray  # (R, families) one-hot
    counts: Any  # (chains, R, symbols), 0 at the right symbol where there are more than two
    hits: Any  # (chains, R) counts of the right symbol
    misses: Any  # (chains, R)
    where: tuple[np.ndarray, ...]  # chain, row and symbol: of the wrong counts above 0, or of all if traced
    wrong: Any  # those counts
    # Of whole numbers on the host, where few differ: counts that occur, and how many have them. Of hits,
    # misses and both (chains, families, counts); of wrong symbols (chains, matrix rows, symbols, counts).
    tallies: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


def row_counts(alike: Alike, counts: Any) -> RowCounts:
    """`RowCounts` of counts (chains, raters, rows, symbols)."""
    xp, (chains, raters, _, symbols) = namespace(counts), counts.shape
    family, right = alike.family.ravel(), np.tile(alike.right, raters)
    is_right = np.arange(symbols) == right[None, :, None]
    every = counts.reshape(chains, -1, symbols)
    hits = every[:, np.arange(family.size), right]
    member = np.eye(alike.num_families)[family]
    if symbols == 2:  # one wrong symbol: there is no pattern
        misses = every[:, np.arange(family.size), 1 - right]
        data = RowCounts(alike, family, right, is_right, member, every, hits, misses, (), misses)
        return data._replace(tallies=_tallies(data)) if xp is np else data
    rest = xp.where(is_right, 0.0, every)
    where = np.nonzero(rest) if xp is np else tuple(np.ogrid[:chains, : family.size, :symbols])
    wrong, misses = (rest[where], across(np.add, rest)) if xp is np else (rest, rest.sum(axis=2))
    data = RowCounts(alike, family, right, is_right, member, rest, hits, misses, where, wrong)
    return data._replace(tallies=_tallies(data)) if xp is np else data


def _tallies(data: RowCounts) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """How often each count occurs, if they are few: see `RowCounts`."""
    (chains, size), families = data.hits.shape, data.alike.num_families
    both = data.hits + data.misses
    if both.max(initial=0) * families > size or (data.alike.family != data.alike.family[0]).any():
        return ()
    group, shape = np.arange(chains)[:, None] * families + data.family, (chains, families)
    made = [_tally(group, n, shape) for n in (data.hits, data.misses, both)]
    if data.alike.log_share.size > 2:
        (chain, row, symbol), rows = data.where, data.alike.family.shape[1]
        shape = chains, rows, data.alike.log_share.size
        made.append(_tally(np.ravel_multi_index((chain, row % rows, symbol), shape), data.wrong, shape))
    return tuple(made)


def _tally(group: np.ndarray, counts: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    whole = counts.astype(np.int64)
    most = int(whole.max(initial=0)) + 1
    number = np.bincount((whole + group * most).ravel(), minlength=int(np.prod(shape)) * most)
    return np.arange(most), number.reshape(*shape, most)


def _log_gamma(of: np.ndarray, tally: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Sum of log Gamma(of + count) over a tally."""
    values, number = tally
    return np.einsum("...k,...k->...", gammaln(of[..., None] + values), number)


def move(data: RowCounts, state: Any, rng: Any) -> Any:
    """`state` (chains, families, 4) after Metropolis steps given the counts."""
    state = _metropolis(data, state, rng, _log_right, slice(0, 2))
    if data.alike.log_share.size < 3:
        return state  # one wrong symbol: there is no pattern
    return _metropolis(data, state, rng, _log_wrong, slice(2, 4))


def _metropolis(data: RowCounts, state: Any, rng: Any, log_density, part: slice) -> Any:
    xp, shape = namespace(state), (_STEPS, *state.shape[:2])
    moves, others = 2.0 * 10.0 ** -rng.uniform(0.0, 1.5, (*shape, 1)), np.zeros((*shape, 2))
    moves = moves * rng.standard_normal((*shape, 2))
    moves = xp.concatenate([others, moves] if part.start else [moves, others], axis=3)

    def propose(state: Any, move: Any) -> Any:
        new = state + move
        return xp.concatenate([new[..., :3], xp.abs((new[..., 3:] + 1) % 2 - 1)], axis=2)  # g in [0, 1]

    def density(new: Any) -> Any:
        inside = xp.abs(new[..., part]).max(axis=-1) < _FARTHEST
        return xp.where(inside, log_density(data, xp.where(inside[..., None], new, state)), -np.inf)

    return metropolis(propose, density, state, moves, rng.random(shape))


def _log_right(data: RowCounts, state: Any) -> Any:
    """log p(hits, mu, kappa) as a density of (logit mu, log kappa), (chains, families)."""
    xp, families = namespace(state), data.alike.num_families
    first, second = np.broadcast_to(data.alike.mean_prior, (families, 2)).astype(np.float64).T[:, None, :]
    mu = 1 / (1 + xp.exp(-state[..., 0]))
    prior = first * xp.log(mu) + second * xp.log1p(-mu) + _normal(state[..., 1], KAPPA)
    each = _beta(state)
    if data.tallies:
        parts: Any = zip((*each, sum(each)), data.tallies, strict=False)
        hits, misses, both = (_log_gamma(of, tally) for of, tally in parts)
        return prior + hits + misses - both - betaln(*each) * data.member.sum(axis=0)[None]
    a, b = (p[:, data.family] for p in each)
    likelihood = betaln(a + data.hits, b + data.misses) @ data.member
    return prior + likelihood - betaln(*each) * data.member.sum(axis=0)[None]


def _log_wrong(data: RowCounts, state: Any) -> Any:
    """log p(wrong symbols, alpha, g) as a density of (log alpha, g), (chains, families)."""
    alpha = namespace(state).exp(state[..., 2])
    prior = _normal(state[..., 2], _pattern_centre(data.alike.log_share.size))
    if data.tallies:
        size = data.alike.family.shape[1]
        cells = alpha[:, data.family[:size], None] * _pattern(data, state, slice(size))
        terms = _log_gamma(cells, data.tallies[3]) - gammaln(cells) * data.tallies[3][1].sum(axis=-1)
        each = gammaln(alpha) * data.member.sum(axis=0) - _log_gamma(alpha, data.tallies[1])
        return prior + each + terms.sum(axis=2) @ data.member[:size]
    of_row = alpha[:, data.family]
    rows = gammaln(of_row) - gammaln(of_row + data.misses)
    chain, row, symbol = data.where
    cells = of_row[chain, row] * _pattern(data, state)[chain, row, symbol]
    terms = gammaln(cells + data.wrong) - gammaln(cells)
    if terms.ndim == 3:  # traced: of every cell, 0 where nothing was counted
        return prior + (rows + terms.sum(axis=2)) @ data.member
    size, families = rows.shape[0], alpha.shape[1]
    place = chain * families + data.family[row]
    return prior + rows @ data.member + np.bincount(place, terms, size * families).reshape(size, families)


def _normal(x: Any, centre: float) -> Any:
    return -0.5 * ((x - centre) / SPREAD) ** 2


def _pattern_centre(symbols: int) -> float:
    return float(np.log(max(symbols - 1, 1)))


def _beta(state: Any) -> tuple[Any, Any]:
    """Parameters of the Beta distribution of d, (chains, families)."""
    xp = namespace(state)
    kappa, mu = xp.exp(state[..., 1]), 1 / (1 + xp.exp(-state[..., 0]))
    return kappa * mu, kappa * (1 - mu)


def _pattern(data: RowCounts, state: Any, rows: slice = slice(None)) -> Any:
    """q (chains, rows, symbols) of some rows; it means nothing at the right symbol."""
    # (chains, families, symbols)
    weight = namespace(state).exp(state[..., 3:] * data.alike.log_share[None, None, :])
    family, right = data.family[rows], data.right[rows]
    rest = weight.sum(axis=-1)[:, family] - weight[:, family, right]
    return weight[:, family] / rest[..., None]


def draw_rows(data: RowCounts, state: Any, rng: Any) -> Any:
    """Log of one draw of every row given counts and families, (chains, R, symbols)."""
    xp, symbols = namespace(state), data.counts.shape[2]
    a, b = (p[:, data.family] for p in _beta(state))
    right, misses = a + data.hits, b + data.misses
    concentration = xp.stack([right, misses], axis=2)
    if symbols > 2:
        alpha = xp.exp(state[..., 2])[:, data.family, None]
        wrong = alpha * _pattern(data, state) + data.counts
        each = xp.where(data.is_right, right[..., None], wrong)
        concentration = xp.concatenate([each, misses[..., None]], axis=2)
    drawn = log_gamma_draws(concentration, rng)  # once, as it compiles for a second
    if symbols == 2:
        odds = xp.where(data.is_right, 1.0, -1.0) * (drawn[..., :1] - drawn[..., 1:])
        return -_softplus(-odds)
    wrong = xp.where(data.is_right, -np.inf, drawn[..., :-1])
    total = log_sum(wrong)[..., None] if xp is np else jax.nn.logsumexp(wrong, axis=2, keepdims=True)
    odds = (drawn[:, np.arange(data.right.size), data.right] - drawn[..., -1])[..., None]
    return xp.where(data.is_right, -_softplus(-odds), wrong - total - _softplus(odds))


def _softplus(x: Any) -> Any:
    """log(1 + e^x), ten times as fast as `np.logaddexp`."""
    xp = namespace(x)
    return xp.maximum(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))


_LEAST = 1e-6  # of a concentration: the gamma function of float32 needs one


def by_family(alike: Alike) -> Alike:
    """The same with a Beta distribution of every family, as log densities take it."""
    means = np.broadcast_to(alike.mean_prior, (alike.num_families, 2)).astype(np.float64)
    return alike._replace(mean_prior=means)


def constant(alike: Alike) -> float:
    """The constant of the log density of families; `alike` of `by_family`."""
    normals = alike.num_families * (1 if alike.log_share.size == 2 else 2)
    return -host_betaln(*alike.mean_prior.T).sum() - normals * np.log(SPREAD * np.sqrt(2 * np.pi))


def shape_of(alike: Alike) -> tuple[int, int]:
    """Families and coordinates of each: two symbols have no pattern of errors."""
    return len(alike.mean_prior), 2 if alike.log_share.size == 2 else 4


def _wrong(alike: Alike) -> Any:
    """(R, U - 1) which symbol is the k-th wrong one."""
    k, right = np.arange(alike.log_share.size - 1, dtype=np.int32)[None], alike.right[:, None]
    return k + (k >= right).astype(np.int32)


def state(alike: Alike, f: Any) -> Any:
    """(F, 4, P): logit mu, log kappa, log alpha and g, from coordinates (F, 2 or 4, P).

    They are cut at `_FARTHEST`: at a kappa of 1e9 log Gamma has no digit left in float32.
    """
    f = jnp.clip(f, -_FARTHEST, _FARTHEST)
    if f.shape[1] == 4:
        return jnp.concatenate([f[:, :3], jax.nn.sigmoid(f[:, 3:])], axis=1)
    return jnp.concatenate([f, jnp.zeros_like(f[:, :1]), jnp.full_like(f[:, :1], 0.5)], axis=1)


def log_families(alike: Alike, f: Any) -> Any:
    """Log density of the coordinates of the families, (P,), less `constant`."""
    odds, first, second = f[:, 0], alike.mean_prior[:, :1], alike.mean_prior[:, 1:]
    density = first * log_sigmoid(odds) + second * log_sigmoid(-odds)
    density = density + _normal(f[:, 1], KAPPA)
    if f.shape[1] == 4:
        density = density + _normal(f[:, 2], _pattern_centre(alike.log_share.size))
        density = density + log_sigmoid(f[:, 3]) + log_sigmoid(-f[:, 3])
    return density.sum(axis=0)


def _dist(alike: Alike, f: Any) -> tuple[Any, ...]:
    """Parameters a and b (F, P) of the Beta distributions of d, and center and scale of logit d.

    For the wrong symbols concentrations alpha q (F, R, U - 1, P), and centers (F, R, U - 2, P) and scales
    (F, P) of their log ratios; None for two symbols.
    """
    of, wrong = state(alike, f), alike.log_share.size - 1
    kappa = jnp.exp(of[:, 1])
    a = kappa * jax.nn.sigmoid(of[:, 0]) + _LEAST
    b = kappa * jax.nn.sigmoid(-of[:, 0]) + _LEAST
    scale = jnp.sqrt(1 / a + 1 / a**2 + 1 / b + 1 / b**2)
    if wrong == 1:
        return a, b, jnp.log(a / b), scale, None, None, None
    log_q = jax.nn.log_softmax(
        of[:, 3, None, None] * alike.log_share[_wrong(alike)][None, :, :, None], axis=2
    )
    alpha = jnp.exp(of[:, 2])
    each = alpha / wrong
    centres = jnp.einsum("ko,frkp->frop", bijections.basis(wrong, f.dtype), log_q)
    q = alpha[:, None, None] * jnp.exp(log_q) + _LEAST
    return a, b, jnp.log(a / b), scale, q, centres, jnp.sqrt(1 / each + 1 / each**2)


def rows(alike: Alike, f: Any, z: Any) -> tuple[Any, Any]:
    """Logs of the rows (T, R, U, P) from coordinates z (T, R, U - 1, P), and the log density of z, (P,)."""
    a, b, centre, scale, q, centres, scales = _dist(alike, f)
    symbols, one_hot = alike.log_share.size, partial(jax.nn.one_hot, dtype=f.dtype)
    member = one_hot(alike.family, len(f))  # (T, R, F)
    of_rows = member.sum(axis=0).T  # (F, R) how many raters' rows are of a family

    def spread(values: Any) -> Any:  # (F, P) -> (T, R, P)
        return jnp.einsum("trf,fp->trp", member, values)

    logit = spread(centre) + spread(scale) * z[:, :, 0]
    right, miss = log_sigmoid(logit), log_sigmoid(-logit)
    density = (spread(a) * right + spread(b) * miss).sum(axis=(0, 1))
    each = gammaln(a + b) - gammaln(a) - gammaln(b) + jnp.log(scale)
    wrong = miss[:, :, None]
    if q is not None:
        u = jnp.einsum("trf,frop->trop", member, centres) + spread(scales)[:, :, None] * z[:, :, 1:]
        w = bijections.log_rows(u)
        density = density + (jnp.einsum("trf,frop->trop", member, q) * w).sum(axis=(0, 1, 2))
        norm = gammaln(q.sum(axis=2)) - gammaln(q).sum(axis=2)  # (F, R, P)
        free = w.shape[2] - 1
        norm = norm + free * jnp.log(scales)[:, None] + float(0.5 * np.log(w.shape[2]))
        density = density + (of_rows[:, :, None] * norm).sum(axis=(0, 1))
        wrong = wrong + w
    density = density + (of_rows.sum(axis=1)[:, None] * each).sum(axis=0)
    logs = jnp.einsum("trop,rou->trup", wrong, one_hot(_wrong(alike), symbols))
    return logs + jnp.einsum("trp,ru->trup", right, one_hot(alike.right, symbols)), density


def coordinates(alike: Alike, state: Any, rows: Any) -> tuple[Any, Any]:
    """Coordinates (F, 2 or 4) and (T, R, U - 1) of one point, from its `state` (F, 4) and rows (T, R, U)."""
    g = state[:, 3:]
    f = state[:, :2] if rows.shape[2] == 2 else jnp.concatenate([state[:, :3], jnp.log(g / (1 - g))], 1)
    dist: list[Any] = [None if a is None else a[..., 0] for a in _dist(alike, f[..., None])]
    (_, _, centre, scale, _, centres, scales), of = dist, alike.family
    right = jnp.take_along_axis(rows, alike.right[None, :, None], axis=2)[..., 0]
    z = ((jnp.log(right) - jnp.log1p(-right) - centre[of]) / scale[of])[..., None]
    if centres is None:
        return f, z
    r = np.arange(rows.shape[1])
    u = jnp.log(rows[:, r[:, None], _wrong(alike)]) @ bijections.basis(rows.shape[2] - 1, rows.dtype)
    return f, jnp.concatenate([z, (u - centres[of, r[None]]) / scales[of][..., None]], axis=2)


def draw(alike: Alike, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of families (F, 2 or 4, P) and of rows (T, R, U - 1, P), drawn from the prior."""
    rows, count = alike.family.shape[1], len(alike.mean_prior)
    symbols = alike.log_share.size
    logs = [
        log_gamma_draws(np.tile(alike.mean_prior[:, k, None], (1, number)).astype(float), rng) for k in (0, 1)
    ]
    parts = [logs[0] - logs[1], KAPPA + SPREAD * rng.standard_normal((count, number))]
    if symbols > 2:
        parts.append(np.log(symbols - 1) + SPREAD * rng.standard_normal((count, number)))
        parts.append(rng.logistic(size=(count, number)))
    f = np.clip(np.stack(parts, axis=1), -12, 12).astype(np.float32)
    with jax.ensure_compile_time_eval():
        dist: list[Any] = [None if a is None else np.asarray(a, np.float64) for a in _dist(alike, f)]
    (a, b, centre, scale), (q, centres, scales) = dist[:4], dist[4:]
    of = alike.family
    logit = log_gamma_draws(a[of], rng) - log_gamma_draws(b[of], rng)
    z = ((logit - centre[of]) / scale[of])[:, :, None]
    if q is not None:
        r = np.arange(rows)[None, :]
        u = np.einsum("ko,trkp->trop", bijections.basis(symbols - 1), log_gamma_draws(q[of, r], rng))
        z = np.concatenate([z, (u - centres[of, r]) / scales[of][:, :, None]], axis=2)
    return f, np.clip(z, -30, 30).astype(np.float32)
