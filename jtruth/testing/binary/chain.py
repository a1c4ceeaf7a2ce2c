"""The exact posterior of the count table for two classes and any alphabet of symbols (methods 3.3b).

Score bins (ROC, precision-recall), pairs of predictions or "abstain" are symbols 0..B-1. Symbol u has N_u
samples, a_u of them positive. With rows of K ~ Dirichlet(alpha) integrated out,

    P(a_1..a_B | y_pred, z) ~ prod_u f_u(a_u) g(sum_u a_u),
    f_u(a) = PB_u(a) Gamma(a + alpha_1u) Gamma(N_u - a + alpha_0u),
    g(S)   = 1 / (Gamma(S + sum alpha_1) Gamma(N - S + sum alpha_0)),

PB_u being the law of the number of positives among the samples with symbol u given the labels alone. It is a
chain in the running sum: one backward pass gives the evidence, every marginal, and independent draws of the
whole table. f_u spans hundreds of orders of magnitude, so every f_u is tilted by e^(t a), with the t at which
the tilted means add up to a sum where g falls by just e^(-t) a step; what is below e^-45 of its largest value
is left out. Host side, float64. With B = 2 this is `exact.count_table`.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import digamma, gammaln

from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth.stats.estimates import PmfEstimate
from jtruth.stats.poisson_binomial import log_pmf
from jtruth.tables.posterior import TableDraws

_BELOW = 45.0  # what is smaller than e^-45 of the largest is left out
_MOST_AT_ONCE = 4_000_000  # numbers held at once while drawing


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
        before = np.ones(1)  # weight of the running sum, from base[0] = 0 up
        for u in range(symbol):
            before = np.convolve(before, self.factor[u])
            before = before / before.max()
        own, after = self.factor[symbol], self.ahead[symbol + 1]
        pmf = own * np.correlate(after, before, mode="valid")[: own.size]
        return PmfEstimate(
            (self.first[symbol] + np.arange(own.size)).astype(float), pmf / pmf.sum(), lattice=True
        )

    def positives(self) -> PmfEstimate:
        """Law of the number of all positives."""
        total = np.ones(1)
        for part in self.factor:
            total = np.convolve(total, part)
            total = total / total.max()
        pmf = total * self.ahead[-1]
        return PmfEstimate((self.base[-1] + np.arange(pmf.size)).astype(float), pmf / pmf.sum(), lattice=True)

    def draws(self, key: Key, n: int) -> Int[np.ndarray, "draws symbols"]:
        """Independent draws of (a_1..a_B)."""
        rng = host_rng(key, "symbol chain")
        found, place = np.empty((n, self.num_symbols), np.int64), np.zeros(n, np.int64)
        for u, (own, after) in enumerate(zip(self.factor, self.ahead[1:], strict=True)):
            window = np.lib.stride_tricks.sliding_window_view(after, own.size)
            step = max(_MOST_AT_ONCE // own.size, 1)
            for k in range(0, n, step):
                part = slice(k, min(k + step, n))
                weight = np.cumsum(window[place[part]] * own, axis=1)
                height = (1 - rng.random(len(weight))) * weight[:, -1]
                found[part, u] = (weight < height[:, None]).sum(axis=1)
            place = place + found[:, u]
        return found + self.first

    def tables(self, key: Key, n: int) -> TableDraws:
        """Independent draws of the count table, (n, 2, symbols)."""
        positives = self.draws(key, n)
        return TableDraws(np.stack([self.sizes - positives, positives], axis=1))

    def shares(
        self, positives: Int[np.ndarray, "draws symbols"], key: Key
    ) -> Float[np.ndarray, "draws classes symbols"]:
        """A draw of the rows of K, both classes' shares of the symbols, given each draw of the positives."""
        counts = np.stack([self.sizes - positives, positives], axis=1)
        gamma = host_rng(key, "rows given counts").standard_gamma(counts + self.alpha)
        return gamma / gamma.sum(axis=2, keepdims=True)


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
    x, u = checked_symbols(log_odds, symbols, num_symbols)
    concentration = checked_concentrations(alpha, num_symbols)
    sizes = np.bincount(u, minlength=num_symbols)
    logs, starts = [], []
    for k in range(num_symbols):
        start, law = law_of_positives(x[u == k])
        a = start + np.arange(law.size)
        starts.append(start)
        logs.append(law + gammaln(a + concentration[1, k]) + gammaln(sizes[k] - a + concentration[0, k]))
    totals, samples = concentration.sum(axis=1), x.size
    tilt = balanced_tilt(starts, logs, totals, samples)
    factor, first, scale = [], [], 0.0
    for start, side in zip(starts, logs, strict=True):
        tilted = side + tilt * (start + np.arange(side.size))
        kept = np.flatnonzero(tilted > tilted.max() - _BELOW)
        scale += tilted.max()
        factor.append(np.exp(tilted[kept[0] : kept[-1] + 1] - tilted.max()))
        first.append(start + kept[0])
    lengths = np.array([part.size for part in factor])
    base = np.concatenate([[0], np.cumsum(first)])
    end = base[-1] + np.arange((lengths - 1).sum() + 1)
    log_g = -gammaln(end + totals[1]) - gammaln(samples - end + totals[0]) - tilt * end
    ahead, scale = [np.exp(log_g - log_g.max())], scale + log_g.max()
    for part in reversed(factor):
        values = np.correlate(ahead[0], part, mode="valid")
        scale += np.log(values.max())
        ahead.insert(0, values / values.max())
    constant = gammaln(totals).sum() - gammaln(concentration).sum()
    evidence = float(scale + constant)
    return SymbolChain(
        sizes, np.array(first), tuple(factor), tuple(ahead), base, evidence, concentration
    )  # fmt: skip


def law_of_positives(x: np.ndarray) -> tuple[int, np.ndarray]:
    """The smallest possible number of positives given log-odds x, and its log law up to the largest."""
    sure = int((x == np.inf).sum())
    doubtful, counts = np.unique(x[np.isfinite(x)], return_counts=True)
    if not doubtful.size:
        return sure, np.zeros(1)
    return sure, log_pmf(doubtful, counts, 0, int(counts.sum()))


def balanced_tilt(starts: list, logs: list, totals: np.ndarray, samples: int) -> float:
    """The t at which tilted means add up to the sum where log g has slope -t, by bisection in that sum."""
    low, high = 0.0, float(samples)
    tilt = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        tilt = float(digamma(samples - middle + totals[0]) - digamma(middle + totals[1]))
        mean = 0.0
        for start, side in zip(starts, logs, strict=True):
            weight = side + tilt * np.arange(side.size)
            weight = np.exp(weight - weight.max())
            mean += start + weight @ np.arange(side.size) / weight.sum()
        low, high = (middle, high) if mean > middle else (low, middle)
        if high - low < 1e-6 * max(samples, 1):
            break
    return tilt


def checked_symbols(log_odds, symbols, num_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """(log_odds, symbols) as arrays, or ValueError."""
    x, u = np.asarray(log_odds, np.float64), np.asarray(symbols)
    if num_symbols < 2:
        raise ValueError(f"num_symbols is {num_symbols}; with fewer than 2 nothing is predicted")
    if x.ndim != 1 or u.shape != x.shape or u.dtype.kind not in "iu":
        raise ValueError(f"log_odds and symbols must be of one size; got shapes {x.shape} and {u.shape}")
    bad = np.flatnonzero(np.isnan(x))
    if bad.size:
        raise ValueError(f"log_odds[{bad[0]}] is NaN")
    bad = np.flatnonzero((u < 0) | (u >= num_symbols))
    if bad.size:
        raise ValueError(f"symbols[{bad[0]}] is {u[bad[0]]}; there are {num_symbols} symbols, from 0 up")
    return x, u.astype(np.int64)


def checked_concentrations(alpha, num_symbols: int) -> np.ndarray:
    """Concentrations of both rows, (2, symbols), or ValueError."""
    given = np.asarray(alpha, np.float64)
    if given.ndim and given.shape != (2, num_symbols):
        raise ValueError(f"alpha has shape {given.shape}; give one number or shape (2, {num_symbols})")
    if not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(f"alpha must be finite and positive; its minimum is {given.min()}")
    return np.broadcast_to(given, (2, num_symbols)).copy()
