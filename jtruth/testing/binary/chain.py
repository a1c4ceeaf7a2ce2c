"""Two classes, any alphabet of symbols: the posterior of the count table as a chain (methods 3.3b).

Score bins (ROC, precision-recall), pairs of predictions or "abstain" are symbols 0..B-1. Symbol u has N_u
samples, a_u of them positive; PB_u is the distribution of a_u given the labels alone. Host side, float64.

**Symbols without an order** (`symbol_chain`). With rows of K ~ Dirichlet(alpha) integrated out,

    P(a_1..a_B | y_pred, z) ~ prod_u f_u(a_u) g(sum_u a_u),
    f_u(a) = PB_u(a) Gamma(a + alpha_1u) Gamma(N_u - a + alpha_0u),
    g(S)   = 1 / (Gamma(S + sum alpha_1) Gamma(N - S + sum alpha_0)).

One backward pass along the running sum gives the evidence and independent draws. Factors f_u are tilted by
e^(t a), so that the tilted means add up to a sum where g falls by e^(-t) a step. With B = 2 this is
`exact.count_table`.

**Ordered score bins, neighbours similar** (`symbol_walk`). Bin b has a share pi_b of positives; its logit f_b
is a random walk along the bins in the normal quantile u of their middle ranks,

    f_(b+1) = f_b + slope (u_(b+1) - u_b) + step sqrt(u_(b+1) - u_b) noise,

so step 0 is the line of the binormal model. Slope and step are learned: a score that ranks well over many
bins is assumed to rank well where the labels are uninformative. With o, p the odds of pi_b and of the prior,

    p(labels of bin b | f_b) ~ sum_a PB_b(a) (o/p)^a ((1 - pi_b) / (1 - prior))^N_b,

and the same terms are the distribution of a. Each f_b lies on a grid where its likelihood is within e^-30 of
the largest: a hidden Markov chain. A known class prior is the mean of pi over the population: walks are
weighted by the normal density of the prior given the bins, tempered where labels and prior conflict.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
import scipy
from jaxtyping import Bool, Float, Int
from scipy.special import digamma, expit, gammaln, logit, ndtr, ndtri, softmax

from jtruth._arrays import AnyArray
from jtruth._host import lattice, log, picked
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth._validation.in_range import check_codes, check_no_nan
from jtruth.stats.poisson_binomial import log_pmf
from jtruth.tables.posterior import CellWeights, Sums, TableDraws
from jtruth.testing.binary.exact import cell_at

_Dist = tuple[int, np.ndarray]  # smallest possible number of positives, and log distribution
_BELOW = 45.0  # terms below e^-45 of the largest are dropped
_AT_ONCE = 4_000_000  # numbers in one array


class SymbolChain(eqx.Module):
    """Posterior of the numbers of positives a_u, one for each symbol.

    `factor[u]` (tilted, largest 1) is at a_u = `first[u]` + 0, 1, ...; `ahead[u]` is the sum over all symbols
    from u on given the running sum before, from the least up.
    """

    sizes: Int[np.ndarray, " symbols"]
    first: Int[np.ndarray, " symbols"]
    factor: tuple[np.ndarray, ...]
    ahead: tuple[np.ndarray, ...]
    log_evidence: float  # log p(y_pred | z) under the priors
    alpha: Float[np.ndarray, "classes symbols"]  # of the Dirichlet priors of the rows of K

    __repr__ = one_line

    def draws(self, key: Key, n: int) -> Int[np.ndarray, "draws symbols"]:
        """Independent draws of (a_1..a_B)."""
        return self.quantiles(1 - host_rng(key, "symbol chain").random((self.sizes.size, n)).T)

    def quantiles(self, points: Float[np.ndarray, "draws symbols"]) -> Int[np.ndarray, "draws symbols"]:
        """(a_1..a_B) at points of the unit cube, each given those before it."""
        n = len(points)
        above, place = np.empty((n, self.sizes.size), np.int64), np.zeros(n, np.int64)
        for u, (factor, after) in enumerate(zip(self.factor, self.ahead[1:], strict=True)):
            window = np.lib.stride_tricks.sliding_window_view(after, factor.size)
            step = max(_AT_ONCE // factor.size, 1)
            for k in range(0, n, step):
                above[k : k + step, u] = _chosen(
                    window[place[k : k + step]] * factor, points[k : k + step, u]
                )
            place = place + above[:, u]
        return above + self.first

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Sums of cells with these weights in every possible table, and its probability, exactly.

        None where the sums depend on more than two sums of a_u, or on too many of their values.
        """
        moves = np.stack([hits[1] - hits[0], misses[1] - misses[0]])
        kinds, kind = np.unique(moves, axis=1, return_inverse=True)
        moving = np.flatnonzero(kinds.any(axis=0))
        if moving.size > 2:
            return None
        both = [self._sum_of(np.ravel(kind) == k) for k in moving] + [np.ones(1)] * (2 - moving.size)
        if both[0].size * both[1].size > _AT_ONCE:
            return None
        ahead = np.correlate(self.ahead[-1], self._sum_of(~np.isin(np.ravel(kind), moving)), mode="valid")
        ahead = np.lib.stride_tricks.sliding_window_view(ahead, both[1].size)
        probability = both[0][:, None] * both[1] * ahead
        kept = np.nonzero(probability > 1e-14 * probability.max())
        steps = np.pad(kinds[:, moving], ((0, 0), (0, 2 - moving.size))) @ np.stack(kept)
        least = np.stack([hits[0], misses[0]]) @ self.sizes + moves @ self.first
        sums = least[:, None] + steps
        return sums[0], sums[1], probability[kept] / probability[kept].sum()

    def _sum_of(self, chosen: Bool[np.ndarray, " symbols"]) -> Float[np.ndarray, " values"]:
        """Tilted weights of the sum of a_u - first_u over some symbols."""
        total = np.ones(1)
        for u in np.flatnonzero(chosen):
            total = np.convolve(total, self.factor[u])
        return total

    def tables(self, key: Key, n: int) -> TableDraws:
        """Independent draws of the count table, (n, 2, symbols)."""
        return _tables(self.sizes, self.draws(key, n))

    def shares(
        self, positives: Int[np.ndarray, "draws symbols"], key: Key
    ) -> Float[np.ndarray, "draws classes symbols"]:
        """A draw of the rows of K, (classes, symbols), given each draw of the positives."""
        counts = _tables(self.sizes, positives).counts
        gamma = host_rng(key, "rows given counts").standard_gamma(counts + self.alpha)
        return gamma / gamma.sum(axis=2, keepdims=True)


def _tables(sizes: Int[np.ndarray, " symbols"], positives: Int[np.ndarray, "draws symbols"]) -> TableDraws:
    return TableDraws(np.stack([sizes - positives, positives], axis=1))


def _chosen(weight: Float[np.ndarray, "n cells"], u: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Draw a cell of each row by inversion."""
    return picked(weight / weight.sum(axis=1, keepdims=True), u)


class ChainTables(TableDraws):
    """Evenly spread tables of the posterior of a chain, or of several with weights; sums are exact."""

    chains: tuple[SymbolChain, ...] = eqx.field(kw_only=True)
    weight: Float[np.ndarray, " chains"] = eqx.field(kw_only=True)

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Both sums in every table of every chain; of the draws where these are too many."""
        each = [one for chain in self.chains if (one := chain.counted(hits, misses)) is not None]
        if len(each) < len(self.chains):
            return super().counted(hits, misses)
        hit, miss = (np.concatenate([one[k] for one in each]) for k in range(2))
        return hit, miss, np.concatenate([w * one[2] for w, one in zip(self.weight, each, strict=True)])


def chain_tables(chains: Sequence[SymbolChain], weight: Float[np.ndarray, " chains"]) -> ChainTables:
    """Tables at points of a lattice (`_host.lattice`), independent of any key."""
    points = lattice(chains[0].sizes.size + 1)
    which = np.searchsorted(np.cumsum(weight)[:-1], points[:, 0], side="right")
    drawn = [_tables(c.sizes, c.quantiles(points[which == k, 1:])).counts for k, c in enumerate(chains)]
    return ChainTables(np.concatenate(drawn), chains=tuple(chains), weight=weight)


def symbol_chain(
    log_odds: Float[AnyArray, " samples"],
    symbols: Int[AnyArray, " samples"],
    num_symbols: int,
    alpha: Float[np.ndarray, "classes symbols"] | float | int = 1.0,
) -> SymbolChain:
    """Exact posterior of the numbers of positives, symbols without an order.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), prior included; +-inf where certain.
        symbols: (samples,) 0..num_symbols-1.
        num_symbols: B, at least 2. A symbol that never occurs is allowed.
        alpha: concentrations of the Dirichlet priors of the rows of K, (2, B) negative class first, or one
            number.

    Raises:
        ValueError: sizes that differ, symbols out of range, NaN, or concentrations that are not positive.

    >>> chain = symbol_chain(np.array([2.0, 1.0, -1.0, -2.0]), np.array([2, 1, 1, 0]), 3)
    >>> chain.draws(0, 3).shape, round(chain.log_evidence, 3)
    ((3, 3), -4.793)
    """
    x, u = _checked_symbols(log_odds, symbols, num_symbols)
    alpha = checked_alpha(alpha, (2, num_symbols))
    sizes, totals, samples = np.bincount(u, minlength=num_symbols), alpha.sum(axis=1), x.size
    sides = []
    for k in range(num_symbols):
        start, dist = _dist_of_positives(x[u == k])
        a = start + np.arange(dist.size)
        sides.append((start, dist + gammaln(a + alpha[1, k]) + gammaln(sizes[k] - a + alpha[0, k])))
    tilt = _balanced_tilt(sides, totals, samples)
    factor, first, scale = [], [], 0.0
    for start, side in sides:
        tilted = side + tilt * (start + np.arange(side.size))
        kept = np.flatnonzero(tilted > tilted.max() - _BELOW)
        scale += tilted.max()
        factor.append(np.exp(tilted[kept[0] : kept[-1] + 1] - tilted.max()))
        first.append(start + kept[0])
    end = sum(first) + np.arange(sum(part.size - 1 for part in factor) + 1)
    log_g = -gammaln(end + totals[1]) - gammaln(samples - end + totals[0]) - tilt * end
    ahead, scale = [np.exp(log_g - log_g.max())], scale + log_g.max()
    for part in reversed(factor):
        values = np.correlate(ahead[0], part, mode="valid")
        scale += np.log(values.max())
        ahead.insert(0, values / values.max())
    evidence = float(scale + (gammaln(totals).sum() - gammaln(alpha).sum()))
    return SymbolChain(sizes, np.array(first), tuple(factor), tuple(ahead), evidence, alpha)


def _dist_of_positives(x: np.ndarray) -> _Dist:
    """Distribution of the number of positives given log-odds x."""
    sure = int((x == np.inf).sum())
    doubtful, counts = np.unique(x[np.isfinite(x)], return_counts=True)
    if not doubtful.size:
        return sure, np.zeros(1)
    return sure, log_pmf(doubtful, counts, 0, int(counts.sum()))


def _balanced_tilt(sides: list, totals: np.ndarray, samples: int) -> float:
    """The t for which the tilted means add up to the sum where log g has slope -t."""

    def tilt(total: float) -> float:
        return float(digamma(samples - total + totals[0]) - digamma(total + totals[1]))

    def gap(total: float) -> float:
        dists = ((start, softmax(side + tilt(total) * np.arange(side.size))) for start, side in sides)
        return float(sum(start + p @ np.arange(p.size) for start, p in dists)) - total

    return tilt(scipy.optimize.brentq(gap, 0.0, float(samples), xtol=1e-6 * max(samples, 1)))


def _checked_symbols(log_odds: Any, symbols: Any, num_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """(log_odds, symbols) as arrays, or ValueError."""
    x, u = np.asarray(log_odds, np.float64), np.asarray(symbols)
    if num_symbols < 2:
        raise ValueError(f"num_symbols is {num_symbols}; with fewer than 2 nothing is predicted")
    check_no_nan(x, "log_odds")
    check_codes(u, num_symbols, "symbols", size=x.size, kinds="iu")
    return x, u.astype(np.int64)


def checked_alpha(alpha: Any, shape: tuple[int, int], least: float | None = None) -> np.ndarray:
    """Concentrations of the rows of K, (classes, symbols): positive, at least `least`; or ValueError."""
    values = np.asarray(alpha, np.float64)
    if values.ndim and values.shape != shape:
        raise ValueError(f"alpha has shape {values.shape}; give one number or shape {shape}")
    enough = values > 0 if least is None else values >= least
    if not (np.isfinite(values) & enough).all():
        what = "positive" if least is None else f"at least {least}"
        raise ValueError(f"alpha must be finite and {what}; its minimum is {values.min()}")
    return np.broadcast_to(values, shape).copy()


# ---- ordered bins ------------------------------------------------------------------------------------------

_SLOPES = np.array([-6, -3, -1, 0, 0.5, 1, 1.5, 2, 3, 4.5, 6.5, 9, 13.0])
_STEPS = np.array([0.3, 0.8, 2.0, 5.0, 12.0])  # of a half-Cauchy prior of scale 1
_SLOPE_SD, _MIDDLE_SD = 5.0, 3.0  # of their normal priors; the middle is f at u = 0
_FARTHEST, _NEAR = 15.0, 30.0  # largest logit of a share; likelihoods below e^-30 are dropped
_CELLS = 64  # of the grid of each bin
_SPARE, _ENOUGH = 8, 100  # walks drawn for each that is kept; fewer good ones are tempered to so many


def symbol_walk(
    log_odds: Float[AnyArray, "*rates samples"],
    bins: Int[AnyArray, " samples"],
    num_bins: int,
    prior: Float[AnyArray, "*rates"] | float,
    key: Key,
    n: int,
) -> tuple[TableDraws, Float[np.ndarray, "draws bins"], float]:
    """Draw the numbers and shares of positives in ordered bins independently.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), prior included, +-inf where certain; or (rates, samples)
            for several draws of the error rates: draw d is of row d mod rates.
        bins: (samples,) 0..num_bins-1, in the order of the scores.
        num_bins: at least 2.
        prior: p(y = 1) that is in `log_odds`, for each row.
        key: random.
        n: number of draws, a multiple of the number of rows.

    Returns:
        Count tables (draws, 2, bins) of the samples at hand; shares (draws, bins) of positives in the
        population of each bin; and the power of the weights by the class prior, below 1 where it contradicts
        the labels.

    Raises:
        ValueError: sizes that differ, bins out of range, NaN, a prior that is not inside (0, 1).

    >>> tables, _, _ = symbol_walk(np.array([2.0, 1.0, -1.0, -2.0]), np.array([2, 1, 1, 0]), 3, 0.5, 0, 10)
    >>> tables.counts.shape
    (10, 2, 3)
    """
    rows, share = np.atleast_2d(np.asarray(log_odds, np.float64)), np.atleast_1d(np.asarray(prior, float))
    for x in rows:
        _, u = _checked_symbols(x, bins, num_bins)
    if share.shape != rows.shape[:1] or not ((share > 0) & (share < 1)).all():
        raise ValueError(f"prior is {prior}; give p(y = 1), above 0 and below 1, for each row of log_odds")
    if n < 1 or n % len(rows):
        raise ValueError(f"n is {n}; give a multiple of the {len(rows)} rows of log_odds")
    sizes, rng, per_row = np.bincount(u, minlength=num_bins), host_rng(key, "symbol walk"), n // len(rows)
    if not np.isfinite(rows).any():  # every class is certain
        sure = np.stack([np.bincount(u, weights=x > 0, minlength=num_bins) for x in rows]).astype(np.int64)
        sure = np.tile(sure, (per_row, 1))
        return _tables(sizes, sure), (sure + 0.5) / (sizes + 1), 1.0
    dists = [[_dist_of_positives(x[u == b]) for x in rows] for b in range(num_bins)]
    grids = [_grid(dist, share, int(size)) for dist, size in zip(dists, sizes, strict=True)]
    edges, log_p = (np.stack(part) for part in zip(*grids, strict=True))
    middle = ndtri((np.cumsum(sizes) - sizes / 2 + 1e-3) / (sizes.sum() + 2e-3))
    place = _walked(edges, log_p, middle, logit(share), _SPARE * per_row, rng)
    f = (edges[:, 1:] + edges[:, :-1]) / 2
    shares = expit(f[np.arange(num_bins), place])
    kept, power = _kept_by_prior(shares, sizes, share, per_row, rng)
    place, chosen = (np.take_along_axis(part, kept[:, :, None], axis=1) for part in (place, shares))
    bins_of = zip(dists, f, np.moveaxis(place, 2, 0), strict=True)
    counts = np.stack([_positives(dist, middles, at, share, rng) for dist, middles, at in bins_of], axis=2)
    chosen, counts = (np.swapaxes(part, 0, 1).reshape(n, num_bins) for part in (chosen, counts))
    return _tables(sizes, counts), chosen, power


def _grid(
    dists: list[_Dist], prior: np.ndarray, size: int
) -> tuple[Float[np.ndarray, " cells_and_one"], Float[np.ndarray, "rates cells"]]:
    """Edges of a bin's grid and the log-likelihood, the grid refined twice around its peak."""
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(3):
        edges = np.linspace(low, high, _CELLS + 1)
        f = (edges[1:] + edges[:-1]) / 2
        total = np.stack([_weights(dist, p, f)[1] for dist, p in zip(dists, prior, strict=True)])
        value = total - size * (np.logaddexp(0, f) + np.log1p(-prior)[:, None])
        near = np.flatnonzero((value > value.max(axis=1, keepdims=True) - _NEAR).any(axis=0))
        low, high = edges[max(near[0] - 1, 0)], edges[min(near[-1] + 2, _CELLS)]
    return edges, value


def _weights(
    dist: _Dist, prior: float, f: np.ndarray, *, sums: bool = False
) -> tuple[np.ndarray, Float[np.ndarray, " cells"]]:
    """Cumulative scaled weights of every number of positives (if `sums`), and the log of their total."""
    start, log_p = dist
    upto, total = np.empty((f.size if sums else 0, log_p.size)), np.empty(f.size)
    step = max(_AT_ONCE // log_p.size, 1)
    for k in range(0, f.size, step):
        log_weight = log_p + (f[k : k + step] - logit(prior))[:, None] * (start + np.arange(log_p.size))
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        if sums:
            upto[k : k + step] = weight.cumsum(axis=1)
        total[k : k + step] = top[:, 0] + np.log(weight.sum(axis=1))
    return upto, total


def _walked(
    edges: Float[np.ndarray, "bins cells_and_one"],
    log_p: Float[np.ndarray, "bins rates cells"],
    middle: Float[np.ndarray, " bins"],
    start: Float[np.ndarray, " rates"],
    number: int,
    rng: np.random.Generator,
) -> Int[np.ndarray, "rates number bins"]:
    """Cells of every bin by the hidden Markov chain; `middle`: u of the bins, `start`: logit of the prior."""
    grid = [(slope, step) for slope in _SLOPES for step in _STEPS]
    slope_weight = np.gradient(_SLOPES) * np.exp(-0.5 * (_SLOPES / _SLOPE_SD) ** 2)
    weight = np.outer(slope_weight, np.gradient(_STEPS) / (1 + _STEPS**2))
    evidence = np.stack([_back(edges, log_p, middle, start, *pair)[0] for pair in grid], axis=1)
    p = softmax(evidence + np.log(weight.ravel()), axis=1).cumsum(axis=1)
    pair_of = (p[:, None, :-1] < rng.random((len(p), number))[..., None]).sum(axis=2)
    cells = np.zeros((*pair_of.shape, len(edges)), np.int64)
    for k in np.unique(pair_of):
        rate, place = np.nonzero(pair_of == k)
        _, first, ahead, kernels = _back(edges, log_p, middle, start, *grid[k])
        at = cells[rate, place, 0] = _chosen(first[rate], 1 - rng.random(rate.size))
        for b, kernel in enumerate(kernels, start=1):
            at = cells[rate, place, b] = _chosen(kernel[at] * ahead[b][rate], 1 - rng.random(rate.size))
    return cells


def _back(
    edges: np.ndarray, log_p: np.ndarray, middle: np.ndarray, start: np.ndarray, slope: float, step: float
) -> tuple[np.ndarray, np.ndarray, list, list]:
    """(log evidence (rates,), weights of the first bin's cells, messages of all bins, kernels)."""
    kernels = []  # transition probabilities from a cell to those of the next bin
    for cells, following, gap in zip(edges[:-1], edges[1:], np.diff(middle), strict=True):
        sd = np.sqrt(step**2 * gap + (cells[1] - cells[0]) ** 2 / 12)
        drift = (cells[1:, None] + cells[:-1, None]) / 2 + slope * gap
        kernels.append(np.diff(ndtr((following - drift) / sd), axis=1))
    scale, message, ahead = np.zeros(start.size), np.ones(log_p.shape[1:]), []
    for b in range(len(edges) - 1, -1, -1):
        top = log_p[b].max(axis=1, keepdims=True)
        message = message * np.exp(log_p[b] - top)
        if b == 0:
            sd = np.sqrt(_MIDDLE_SD**2 + step**2 * abs(middle[0]))
            z = (edges[0] - start[:, None] - slope * middle[0]) / sd
            message = message * np.diff(ndtr(z), axis=1)
        most = np.maximum(message.max(axis=1, keepdims=True), 1e-300)
        message, scale = message / most, scale + (top + np.log(most))[:, 0]
        ahead.insert(0, message)
        if b:
            message = message @ kernels[b - 1].T
    return scale + log(message.sum(axis=1)), message, ahead, kernels


def _kept_by_prior(
    shares: Float[np.ndarray, "rows walks bins"], sizes: np.ndarray, prior: np.ndarray, number: int, rng: Any
) -> tuple[Int[np.ndarray, "rows number"], float]:
    """Resample walks by how well the mean of their shares agrees with the class prior."""
    share = sizes / sizes.sum()
    mean = shares @ share
    variance = np.maximum((shares - mean[..., None]) ** 2 @ share, 1e-12) / sizes.sum()
    log_weight = -0.5 * (mean - prior[:, None]) ** 2 / variance - 0.5 * np.log(variance)
    kept, lowest = [], 1.0
    for row in log_weight:

        def spare(power: float, row: np.ndarray = row) -> float:  # effective weights, less those wanted
            return 1 / (softmax(power * row) ** 2).sum() - min(_ENOUGH, row.size // 4)

        if spare(1.0) < 0:
            power = float(scipy.optimize.brentq(spare, 0.0, 1.0))
            lowest, row = min(lowest, power), power * row
        kept.append(rng.choice(row.size, number, p=softmax(row)))
    return np.stack(kept), lowest


def _positives(
    dists: list[_Dist], f: np.ndarray, at: Int[np.ndarray, "rates draws"], prior: np.ndarray, rng: Any
) -> Int[np.ndarray, "rates draws"]:
    """Numbers of positives of a bin given the cells, whose middles are `f`."""
    positives = np.empty(at.shape, np.int64)
    for r, p in enumerate(prior):
        cells, which = np.unique(at[r], return_inverse=True)
        upto = _weights(dists[r], p, f[cells], sums=True)[0]
        positives[r] = dists[r][0] + cell_at(upto, which, 1 - rng.random(which.size))
    return positives
