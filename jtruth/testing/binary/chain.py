"""Two classes, any alphabet of symbols: the posterior of the count table as a chain (methods 3.3b).

Score bins (ROC, precision-recall), pairs of predictions or "abstain" are symbols 0..B-1. Symbol u has N_u
samples, a_u of them positive; PB_u is the law of a_u given the labels alone. Host side, float64.

**Symbols without an order** (`symbol_chain`). With rows of K ~ Dirichlet(alpha) integrated out,

    P(a_1..a_B | y_pred, z) ~ prod_u f_u(a_u) g(sum_u a_u),
    f_u(a) = PB_u(a) Gamma(a + alpha_1u) Gamma(N_u - a + alpha_0u),
    g(S)   = 1 / (Gamma(S + sum alpha_1) Gamma(N - S + sum alpha_0)).

One backward pass along the running sum gives the evidence, every marginal, and independent draws. f_u is
tilted by e^(t a), with the t at which the tilted means add up to a sum where g falls by e^(-t) a step. With
B = 2 this is `exact.count_table`.

**Ordered score bins, whose neighbours are alike** (`symbol_walk`). Bin b has a share pi_b of positives; its
logit f_b is a walk along the bins in the normal quantile u of their middle ranks,

    f_(b+1) = f_b + slope (u_(b+1) - u_b) + step sqrt(u_(b+1) - u_b) noise,

so with step 0 this is the binormal model's line. Slope and step are learned: a score that ranks well over
many bins is taken to rank well where labels do not say. With o, p the odds of pi_b and of the prior,

    p(labels of bin b | f_b) ~ sum_a PB_b(a) (o/p)^a ((1 - pi_b) / (1 - prior))^N_b,

and the same terms are the law of a. Each f_b lies on a grid where its likelihood is within e^-30 of the
largest: a hidden Markov chain. A known class prior is the mean of pi over the population: walks weigh by the
normal density of the prior given the bins at hand, tempered where labels and prior contradict each other.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import digamma, expit, gammaln, logit, ndtr, ndtri, softmax

from jtruth._host import log
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth._validation.in_range import check_no_nan
from jtruth.stats.estimates import PmfEstimate
from jtruth.stats.poisson_binomial import log_pmf
from jtruth.tables.posterior import TableDraws

_BELOW = 45.0  # what is smaller than e^-45 of the largest is left out
_AT_ONCE = 4_000_000  # numbers held at once


class SymbolChain(eqx.Module):
    """Posterior of the numbers of positives a_u, one for each symbol.

    `first[u]` + 0, 1, ... are the values of a_u that `factor[u]` (tilted, largest 1) belongs to;
    `ahead[u]` holds the sum over all symbols from u on given the running sum before, from `base[u]` up.
    """

    sizes: Int[np.ndarray, " symbols"]
    first: Int[np.ndarray, " symbols"]
    factor: tuple[np.ndarray, ...]
    ahead: tuple[np.ndarray, ...]
    base: Int[np.ndarray, " symbols_and_end"]
    log_evidence: float  # log p(y_pred | z) under the priors
    alpha: Float[np.ndarray, "classes symbols"]  # of the Dirichlet priors of the rows of K

    __repr__ = one_line

    @property
    def num_symbols(self) -> int:
        """B."""
        return self.sizes.size

    def marginal(self, symbol: int) -> PmfEstimate:
        """Law of the number of positives among the samples with this symbol."""
        own, after = self.factor[symbol], self.ahead[symbol + 1]
        pmf = own * np.correlate(after, self._before(symbol), mode="valid")[: own.size]
        return _lattice(int(self.first[symbol]), pmf)

    def positives(self) -> PmfEstimate:
        """Law of the number of all positives."""
        return _lattice(int(self.base[-1]), self._before(self.num_symbols) * self.ahead[-1])

    def _before(self, symbol: int) -> Float[np.ndarray, " sums"]:
        """Weights of the running sum before a symbol, from `base` up, the largest 1."""
        weight = np.ones(1)
        for part in self.factor[:symbol]:
            weight = np.convolve(weight, part)
            weight = weight / weight.max()
        return weight

    def draws(self, key: Key, n: int) -> Int[np.ndarray, "draws symbols"]:
        """Independent draws of (a_1..a_B)."""
        rng = host_rng(key, "symbol chain")
        found, place = np.empty((n, self.num_symbols), np.int64), np.zeros(n, np.int64)
        for u, (own, after) in enumerate(zip(self.factor, self.ahead[1:], strict=True)):
            window = np.lib.stride_tricks.sliding_window_view(after, own.size)
            step = max(_AT_ONCE // own.size, 1)
            for k in range(0, n, step):
                found[k : k + step, u] = _chosen(window[place[k : k + step]] * own, rng)
            place = place + found[:, u]
        return found + self.first

    def tables(self, key: Key, n: int) -> TableDraws:
        """Independent draws of the count table, (n, 2, symbols)."""
        return _tables(self.sizes, self.draws(key, n))

    def shares(
        self, positives: Int[np.ndarray, "draws symbols"], key: Key
    ) -> Float[np.ndarray, "draws classes symbols"]:
        """A draw of the rows of K, both classes' shares of the symbols, given each draw of the positives."""
        counts = _tables(self.sizes, positives).counts
        gamma = host_rng(key, "rows given counts").standard_gamma(counts + self.alpha)
        return gamma / gamma.sum(axis=2, keepdims=True)


def _tables(sizes: Int[np.ndarray, " symbols"], positives: Int[np.ndarray, "draws symbols"]) -> TableDraws:
    return TableDraws(np.stack([sizes - positives, positives], axis=1))


def _lattice(first: int, weight: Float[np.ndarray, " counts"]) -> PmfEstimate:
    """The law on the whole numbers from `first` up."""
    return PmfEstimate((first + np.arange(weight.size)).astype(float), weight / weight.sum(), lattice=True)


def _chosen(weight: Float[np.ndarray, "draws cells"], rng: np.random.Generator) -> Int[np.ndarray, " draws"]:
    """One of each row's cells."""
    upto = weight.cumsum(axis=1)
    return (upto < ((1 - rng.random(len(upto))) * upto[:, -1])[:, None]).sum(axis=1)


def symbol_chain(
    log_odds: Float[Array | np.ndarray, " samples"],
    symbols: Int[Array | np.ndarray, " samples"],
    num_symbols: int,
    alpha: Float[np.ndarray, "classes symbols"] | float | int = 1.0,
) -> SymbolChain:
    """The exact posterior.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), prior included; +-inf where certain.
        symbols: (samples,) 0..num_symbols-1.
        num_symbols: B, at least 2. A symbol that never occurs is allowed.
        alpha: concentrations of the Dirichlet priors of the rows of K, (2, B) negative class first, or one
            number.

    Raises:
        ValueError: sizes that differ, symbols out of range, NaN, or concentrations that are not positive.

    >>> chain = symbol_chain(np.array([2.0, 1.0, -1.0, -2.0]), np.array([2, 1, 1, 0]), 3)
    >>> chain.draws(0, 3).shape, round(chain.marginal(2).mean, 3)
    ((3, 3), 0.894)
    """
    x, u = _checked_symbols(log_odds, symbols, num_symbols)
    alpha = checked_alpha(alpha, (2, num_symbols))
    sizes, totals, samples = np.bincount(u, minlength=num_symbols), alpha.sum(axis=1), x.size
    sides = []
    for k in range(num_symbols):
        start, law = _law_of_positives(x[u == k])
        a = start + np.arange(law.size)
        sides.append((start, law + gammaln(a + alpha[1, k]) + gammaln(sizes[k] - a + alpha[0, k])))
    tilt = _balanced_tilt(sides, totals, samples)
    factor, first, scale = [], [], 0.0
    for start, side in sides:
        tilted = side + tilt * (start + np.arange(side.size))
        kept = np.flatnonzero(tilted > tilted.max() - _BELOW)
        scale += tilted.max()
        factor.append(np.exp(tilted[kept[0] : kept[-1] + 1] - tilted.max()))
        first.append(start + kept[0])
    base = np.concatenate([[0], np.cumsum(first)])
    end = base[-1] + np.arange(sum(part.size - 1 for part in factor) + 1)
    log_g = -gammaln(end + totals[1]) - gammaln(samples - end + totals[0]) - tilt * end
    ahead, scale = [np.exp(log_g - log_g.max())], scale + log_g.max()
    for part in reversed(factor):
        values = np.correlate(ahead[0], part, mode="valid")
        scale += np.log(values.max())
        ahead.insert(0, values / values.max())
    evidence = float(scale + (gammaln(totals).sum() - gammaln(alpha).sum()))
    return SymbolChain(sizes, np.array(first), tuple(factor), tuple(ahead), base, evidence, alpha)


def _law_of_positives(x: np.ndarray) -> tuple[int, np.ndarray]:
    """The smallest possible number of positives given log-odds x, and its log law up to the largest."""
    sure = int((x == np.inf).sum())
    doubtful, counts = np.unique(x[np.isfinite(x)], return_counts=True)
    if not doubtful.size:
        return sure, np.zeros(1)
    return sure, log_pmf(doubtful, counts, 0, int(counts.sum()))


def _balanced_tilt(sides: list, totals: np.ndarray, samples: int) -> float:
    """The t at which tilted means add up to the sum where log g has slope -t, by bisection in that sum."""
    low, high, tilt = 0.0, float(samples), 0.0
    for _ in range(60):
        middle = (low + high) / 2
        tilt = float(digamma(samples - middle + totals[0]) - digamma(middle + totals[1]))
        mean = 0.0
        for start, side in sides:
            weight = side + tilt * np.arange(side.size)
            weight = np.exp(weight - weight.max())
            mean += start + weight @ np.arange(side.size) / weight.sum()
        low, high = (middle, high) if mean > middle else (low, middle)
        if high - low < 1e-6 * max(samples, 1):
            break
    return tilt


def _checked_symbols(log_odds: Any, symbols: Any, num_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """(log_odds, symbols) as arrays, or ValueError."""
    x, u = np.asarray(log_odds, np.float64), np.asarray(symbols)
    if num_symbols < 2:
        raise ValueError(f"num_symbols is {num_symbols}; with fewer than 2 nothing is predicted")
    if x.ndim != 1 or u.shape != x.shape or u.dtype.kind not in "iu":
        raise ValueError(f"log_odds and symbols must be of one size; got shapes {x.shape} and {u.shape}")
    check_no_nan(x, "log_odds")
    bad = np.flatnonzero((u < 0) | (u >= num_symbols))
    if bad.size:
        raise ValueError(f"symbols[{bad[0]}] is {u[bad[0]]}; there are {num_symbols} symbols, from 0 up")
    return x, u.astype(np.int64)


def checked_alpha(alpha: Any, shape: tuple[int, int], least: float | None = None) -> np.ndarray:
    """Concentrations of the rows of K, (classes, symbols), or ValueError; above 0, or from `least` up."""
    given = np.asarray(alpha, np.float64)
    if given.ndim and given.shape != shape:
        raise ValueError(f"alpha has shape {given.shape}; give one number or shape {shape}")
    enough = given > 0 if least is None else given >= least
    if not (np.isfinite(given) & enough).all():
        what = "positive" if least is None else f"at least {least}"
        raise ValueError(f"alpha must be finite and {what}; its minimum is {given.min()}")
    return np.broadcast_to(given, shape).copy()


# ---- ordered bins ------------------------------------------------------------------------------------------

_SLOPES = np.array([-6, -3, -1, 0, 0.5, 1, 1.5, 2, 3, 4.5, 6.5, 9, 13.0])
_STEPS = np.array([0.3, 0.8, 2.0, 5.0, 12.0])  # of a half-Cauchy prior of scale 1
_SLOPE_SD, _MIDDLE_SD = 5.0, 3.0  # of their normal priors; the middle is f at u = 0
_FARTHEST, _NEAR = 15.0, 30.0  # a share is never nearer to 0 than e^-15; e^-30 of likelihoods are left out
_SPARE, _ENOUGH = 8, 100  # walks drawn for each that is kept; fewer good ones are tempered to so many


class WalkDraws(NamedTuple):
    """Independent draws of the shares and numbers of positives in ordered bins."""

    sizes: Int[np.ndarray, " bins"]
    shares: Float[np.ndarray, "draws bins"]  # of positives in the population of each bin
    positives: Int[np.ndarray, "draws bins"]  # among the samples at hand
    tempered: float  # 1, or the power of the class prior's weights where it contradicts the labels

    def tables(self) -> TableDraws:
        """The count tables, (draws, 2, bins)."""
        return _tables(self.sizes, self.positives)


class _Bin(NamedTuple):
    """Grid of a bin's f, the likelihood there, and the laws of its number of positives by labels alone."""

    edges: Float[np.ndarray, " cells_and_one"]
    log_likelihood: Float[np.ndarray, "rates cells"]
    laws: tuple[tuple[int, Float[np.ndarray, " counts"]], ...]  # of each row of rates: smallest, logs
    size: int

    @property
    def cells(self) -> Float[np.ndarray, " cells"]:
        """The middle of each cell of the grid."""
        return (self.edges[1:] + self.edges[:-1]) / 2


def symbol_walk(
    log_odds: Float[Array | np.ndarray, "*rates samples"],
    bins: Int[Array | np.ndarray, " samples"],
    num_bins: int,
    prior: Float[Array | np.ndarray, "*rates"] | float,
    key: Key,
    n: int,
    *,
    cells: int = 64,
) -> WalkDraws:
    """Draws from the posterior.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), prior included, +-inf where certain; or (rates, samples)
            for several states of knowledge of the error rates: draw d is of row d mod rates.
        bins: (samples,) 0..num_bins-1, in the order of the scores.
        num_bins: at least 2.
        prior: p(y = 1) that is in `log_odds`, for each row.
        key: random.
        n: number of draws, a multiple of the number of rows.
        cells: of the grid of each bin.

    Raises:
        ValueError: sizes that differ, bins out of range, NaN, a prior that is not inside (0, 1).

    >>> found = symbol_walk(np.array([2.0, 1.0, -1.0, -2.0]), np.array([2, 1, 1, 0]), 3, 0.5, 0, 10)
    >>> found.tables().counts.shape
    (10, 2, 3)
    """
    rows, share = np.atleast_2d(np.asarray(log_odds, np.float64)), np.atleast_1d(np.asarray(prior, float))
    for x in rows:
        _, u = _checked_symbols(x, bins, num_bins)
    if share.shape != rows.shape[:1] or not ((share > 0) & (share < 1)).all():
        raise ValueError(f"prior is {prior}; give p(y = 1), above 0 and below 1, for each row of log_odds")
    if n < 1 or n % len(rows):
        raise ValueError(f"n is {n}; give a multiple of the {len(rows)} rows of log_odds")
    sizes, rng, each = np.bincount(u, minlength=num_bins), host_rng(key, "symbol walk"), n // len(rows)
    if not np.isfinite(rows).any():  # every class is certain: there is nothing to draw
        sure = np.stack([np.bincount(u, weights=x > 0, minlength=num_bins) for x in rows]).astype(np.int64)
        sure = np.tile(sure, (each, 1))
        return WalkDraws(sizes, (sure + 0.5) / (sizes + 1), sure, 1.0)
    laws = [_bin([x[u == b] for x in rows], share, cells) for b in range(num_bins)]
    middle = ndtri((np.cumsum(sizes) - sizes / 2 + 1e-3) / (sizes.sum() + 2e-3))
    place = _walked(laws, middle, logit(share), _SPARE * each, rng)
    shares = expit(np.stack([one.cells[at] for one, at in zip(laws, place, strict=True)], axis=2))
    kept, power = _kept_by_prior(shares, sizes, share, each, rng)
    taken = [np.take_along_axis(at, kept, axis=1) for at in place]
    counts = np.stack([_positives(one, at, share, rng) for one, at in zip(laws, taken, strict=True)], axis=2)
    chosen = np.take_along_axis(shares, kept[:, :, None], axis=1)
    chosen, counts = (np.swapaxes(part, 0, 1).reshape(n, num_bins) for part in (chosen, counts))
    return WalkDraws(sizes, chosen, counts, power)


def _bin(x: list[np.ndarray], prior: np.ndarray, cells: int) -> _Bin:
    """A bin whose grid is laid three times, each time where the likelihood was."""
    laws, (low, high) = tuple(map(_law_of_positives, x)), (-_FARTHEST, _FARTHEST)
    for _ in range(3):
        edges = np.linspace(low, high, cells + 1)
        found = _Bin(edges, np.zeros((0, 0)), laws, x[0].size)
        value = np.stack([_log_terms(found, r, p)[1] for r, p in enumerate(prior)])
        near = np.flatnonzero((value > value.max(axis=1, keepdims=True) - _NEAR).any(axis=0))
        low, high = edges[max(near[0] - 1, 0)], edges[min(near[-1] + 2, cells)]
    return found._replace(log_likelihood=value)


def _log_terms(
    one: _Bin, row: int, prior: float, at: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Of cells: scaled weights of every number of positives, as sums from the smallest, and their log sum."""
    f = one.cells if at is None else one.cells[at]
    start, law = one.laws[row]
    sums, total = np.empty((f.size if at is not None else 0, law.size)), np.empty(f.size)
    step = max(_AT_ONCE // law.size, 1)
    for k in range(0, f.size, step):
        part = f[k : k + step]
        log_weight = law + (part - logit(prior))[:, None] * (start + np.arange(law.size))
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        if at is not None:
            sums[k : k + step] = weight.cumsum(axis=1)
        total[k : k + step] = top[:, 0] + np.log(weight.sum(axis=1))
    return sums, total - one.size * (np.logaddexp(0, f) + np.log1p(-prior))


def _walked(
    bins: list[_Bin],
    middle: Float[np.ndarray, " bins"],
    start: Float[np.ndarray, " rows"],
    number: int,
    rng: np.random.Generator,
) -> list[Int[np.ndarray, "rows number"]]:
    """Cells of every bin by the hidden Markov chain, `number` of each row of rates.

    `middle` holds u of the bins, `start` the logit of the class prior, around which f begins.
    """
    grid = [(slope, step) for slope in _SLOPES for step in _STEPS]
    slope_weight = np.gradient(_SLOPES) * np.exp(-0.5 * (_SLOPES / _SLOPE_SD) ** 2)
    weight = np.outer(slope_weight, np.gradient(_STEPS) / (1 + _STEPS**2))
    evidence = np.stack([_back(bins, middle, start, *one)[0] for one in grid], axis=1)  # (rates, grid)
    p = softmax(evidence + np.log(weight.ravel()), axis=1).cumsum(axis=1)
    picked = (p[:, None, :-1] < rng.random((len(p), number))[..., None]).sum(axis=2)
    found = [np.zeros(picked.shape, np.int64) for _ in bins]
    for k in np.unique(picked):
        rate, place = np.nonzero(picked == k)
        _, first, ahead, kernels = _back(bins, middle, start, *grid[k])
        at = found[0][rate, place] = _chosen(first[rate], rng)
        for b, kernel in enumerate(kernels):
            at = found[b + 1][rate, place] = _chosen(kernel[at] * ahead[b + 1][rate], rng)
    return found


def _back(
    bins: list[_Bin], middle: np.ndarray, start: np.ndarray, slope: float, step: float
) -> tuple[np.ndarray, np.ndarray, list, list]:
    """(log evidence (rates,), weights of the first bin's cells, messages of all bins, kernels)."""
    kernels = [
        _kernel(one, two, slope * gap, step**2 * gap)
        for one, two, gap in zip(bins[:-1], bins[1:], np.diff(middle), strict=True)
    ]
    scale, message, ahead = np.zeros(start.size), np.ones((start.size, bins[-1].cells.size)), []
    for b in range(len(bins) - 1, -1, -1):
        log_p = bins[b].log_likelihood
        top = log_p.max(axis=1, keepdims=True)
        message = message * np.exp(log_p - top)
        if b == 0:
            sd = np.sqrt(_MIDDLE_SD**2 + step**2 * abs(middle[0]))
            z = (bins[0].edges - start[:, None] - slope * middle[0]) / sd
            message = message * np.diff(ndtr(z), axis=1)
        most = np.maximum(message.max(axis=1, keepdims=True), 1e-300)
        message, scale = message / most, scale + (top + np.log(most))[:, 0]
        ahead.insert(0, message)
        if b:
            message = message @ kernels[b - 1].T
    return scale + log(message.sum(axis=1)), message, ahead, kernels


def _kernel(one: _Bin, two: _Bin, drift: float, variance: float) -> Float[np.ndarray, "cells next_cells"]:
    """Probability to go from a cell, anywhere in it, into each of the next bin's."""
    width = one.edges[1] - one.edges[0]
    sd = np.sqrt(variance + width**2 / 12)
    return np.diff(ndtr((two.edges[None, :] - one.cells[:, None] - drift) / sd), axis=1)


def _kept_by_prior(
    shares: Float[np.ndarray, "rows walks bins"],
    sizes: np.ndarray,
    prior: np.ndarray,
    each: int,
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, "rows each"], float]:
    """Walks that are kept, by how well the class prior is the mean of their shares."""
    share = sizes / sizes.sum()
    mean = shares @ share
    variance = np.maximum((shares - mean[..., None]) ** 2 @ share, 1e-12) / sizes.sum()
    log_weight = -0.5 * (mean - prior[:, None]) ** 2 / variance - 0.5 * np.log(variance)
    kept, least = [], 1.0
    for row in log_weight:
        low, high, wanted = 0.0, 1.0, min(_ENOUGH, row.size // 4)
        if _effective(row) < wanted:
            for _ in range(40):
                power = (low + high) / 2
                low, high = (power, high) if _effective(power * row) >= wanted else (low, power)
            least, row = min(least, low), low * row
        kept.append(rng.choice(row.size, each, p=softmax(row)))
    return np.stack(kept), least


def _effective(log_weight: np.ndarray) -> float:
    """Effective number of weights."""
    p = np.exp(log_weight - log_weight.max())
    return float(p.sum() ** 2 / (p**2).sum())


def _positives(
    one: _Bin, at: Int[np.ndarray, "rows draws"], prior: np.ndarray, rng: np.random.Generator
) -> Int[np.ndarray, "rows draws"]:
    """Numbers of positives given the cells."""
    found = np.empty(at.shape, np.int64)
    for r, p in enumerate(prior):
        cells, which = np.unique(at[r], return_inverse=True)
        upto = _log_terms(one, r, p, cells)[0]
        # Every row of sums is brought to (k, k + 1], so that one search finds all.
        upto = upto / upto[:, -1:] + np.arange(cells.size)[:, None]
        height = which + 1 - rng.random(which.size)
        found[r] = one.laws[r][0] + np.searchsorted(upto.ravel(), height) - which * upto.shape[1]
    return found
