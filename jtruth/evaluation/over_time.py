"""Class shares of many groups, or of ordered days, with one set of error rates.

The labels of a sample are one of a few symbols (by the class probability that they imply). The probabilities
of the symbols, for samples of the class and for others, are one pair of rows for all groups; draws of the
rows come from verified labels or from a model of the labelers. The share s of a group has the likelihood

    prod_u (s p(u | class) + (1 - s) p(u | other))^n_u  s^k (1 - s)^l,

with n the samples by symbol and k, l the verified ones. The posterior is computed on a grid, with Jeffreys'
prior.

Days are smoothed: the logit of the share is a random walk. A step has standard deviation sigma times the root
of its length in median steps, and one step in 50 is a jump (standard deviation 1.5). Sigma is integrated over
a grid. The chain is filtered forward and drawn backward on a lattice (Kitagawa 1987, JASA 82, 1032). Each
draw of the rows has its own paths, so their common error is not smoothed away.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.special import expit, log_expit

from jtruth._host import cross_table
from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.learning.em.columns import merge_patterns, posterior_of, rows_of

Codes = Int[np.ndarray, " samples"]
Draws = Float[np.ndarray, "draws groups"]
SIGMAS = np.array([0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0])  # of a step; equally probable beforehand
JUMP, JUMP_SD = 0.02, 1.5  # probability of a jump in a step, and its standard deviation
_ROWS, _PATHS = 250, 4  # draws of the rows, and paths of each
_COARSE, _FINE, _LATTICE = 192, 64, 128  # points
_SMALLEST = 1e4  # odds beyond which no share is looked for, times the samples of a group
_PILOT, _NO_WEIGHT = 10, 1e-3  # rows of the first pass; posterior below which a sigma is left out
_MOST_NUMBERS = 20_000_000  # of all draws together
MOST_DAYS = 2000  # that are smoothed
_SYMBOLS, _JEFFREYS = 8, 0.5


class Evidence(NamedTuple):
    """Labels and verified classes of the groups; class 1 against all others."""

    counts: Int[np.ndarray, "groups symbols"]  # samples that are not verified
    gold: Int[np.ndarray, "groups 2"]  # verified ones
    rows: Float[np.ndarray, "draws 2 symbols"]  # p(symbol | class)

    __repr__ = one_line

    def log_likelihood(self, draw: int, x: Float[np.ndarray, "*groups points"]) -> np.ndarray:
        """(groups, points), at logits `x` of shares, the same for all groups or each its own."""
        share, (other, own) = expit(x), self.rows[draw]
        total = self.gold[:, 1:] * log_expit(x) + self.gold[:, :1] * log_expit(-x)
        if x.ndim == 1:
            mixed = other[:, None] + (own - other)[:, None] * share
            return total + self.counts @ np.log(np.maximum(mixed, 1e-300))
        for u in np.flatnonzero(self.counts.any(axis=0)):
            mixed = other[u] + (own[u] - other[u]) * share
            total = total + self.counts[:, u, None] * np.log(np.maximum(mixed, 1e-300))
        return total

    def in_samples(self, rng: np.random.Generator, share: Draws) -> np.ndarray:
        """(draws, groups): shares of the class in these samples, given shares of new ones."""
        size = np.maximum(self.counts.sum(axis=1) + self.gold.sum(axis=1), 1)
        right = np.tile(self.gold[:, 1], (len(share), 1))
        paths = -(-len(share) // len(self.rows))
        of_draw = np.repeat(np.arange(len(self.rows)), paths)[: len(share)]
        for u in np.flatnonzero(self.counts.any(axis=0)):
            own, other = (self.rows[of_draw, c, u][:, None] for c in (1, 0))
            chance = own * share / np.maximum(own * share + other * (1 - share), 1e-300)
            right += rng.binomial(self.counts[:, u], np.clip(chance, 0, 1))
        return right / size


def symbols_of(p: Float[np.ndarray, " samples"], most: int = _SYMBOLS) -> Codes:
    """Symbol of each sample by its class probability, at most so many and about equal in size.

    >>> symbols_of(np.array([0.1, 0.9, 0.5, 0.1])).tolist()
    [0, 2, 1, 0]
    """
    values, place, number = np.unique(np.round(p, 6), return_inverse=True, return_counts=True)
    if values.size <= most:
        return place.reshape(-1)
    middle = (np.cumsum(number) - number / 2) / number.sum()
    # No symbol spans one half, and the most informative ones at the ends have fewer samples.
    cut = np.floor(most * 0.5 * (1 - np.cos(np.pi * middle))).astype(int) * 2 + (values >= 0.5)
    return np.unique(cut, return_inverse=True)[1][place].reshape(-1)


def evidence_of(
    group: Codes, number: int, symbol: Codes,
    known: Codes, tables: Num[np.ndarray, "draws 2 symbols"],
) -> Evidence:  # fmt: skip
    """Evidence of groups by draws of `tables` (class by symbol); `known` is 1 for the class, 0, or -1."""
    chosen = tables[np.linspace(0, len(tables) - 1, _ROWS).astype(int)]
    rows = chosen + _JEFFREYS / tables.shape[2]
    open_, some = known < 0, known >= 0
    counts = cross_table(group[open_], symbol[open_], (number, tables.shape[2]))
    gold = cross_table(group[some], known[some], (number, 2))
    rows /= rows.sum(axis=2, keepdims=True)
    return Evidence(counts.astype(np.int64), gold.astype(np.int64), rows)


def shares_apart(evidence: Evidence, rng: np.random.Generator) -> Draws:
    """Draws of the share of new samples of each group alone, given the rows."""
    groups = len(evidence.counts)
    size = evidence.counts.sum(axis=1) + evidence.gold.sum(axis=1)
    far = float(np.log(_SMALLEST * max(size.max(initial=1), 1)))
    x = np.linspace(-far, far, _COARSE)
    jeffreys = 0.5 * (log_expit(x) + log_expit(-x))
    mean = np.zeros((groups, x.size))
    for m in range(0, len(evidence.rows), max(len(evidence.rows) // 50, 1)):
        mean += _normalised(evidence.log_likelihood(m, x) + jeffreys)
    total = mean.cumsum(axis=1) / mean.sum(axis=1, keepdims=True)
    first, last = (total < 1e-6).sum(axis=1), (total < 1 - 1e-6).sum(axis=1)
    low, high = x[np.maximum(first - 1, 0)], x[np.minimum(last + 1, x.size - 1)]
    fine = low[:, None] + (high - low)[:, None] * (np.arange(_FINE) + 0.5) / _FINE
    jeffreys = 0.5 * (log_expit(fine) + log_expit(-fine))
    paths = int(np.clip(_MOST_NUMBERS // (groups * len(evidence.rows)), 1, 8))
    draws = np.empty((len(evidence.rows), paths, groups))
    for m in range(len(evidence.rows)):
        cdf = _normalised(evidence.log_likelihood(m, fine) + jeffreys).cumsum(axis=1)
        for r in range(paths):
            cell = (cdf < rng.random((groups, 1))).sum(axis=1) + rng.random(groups)
            draws[m, r] = low + (high - low) * np.minimum(cell, _FINE) / _FINE
    return expit(draws.reshape(-1, groups))


def shares_in_order(
    evidence: Evidence, when: Float[np.ndarray, " groups"], rng: np.random.Generator
) -> Draws:
    """Draws of the share of new samples of each day, smoothed over neighboring days."""
    gap = np.diff(when)
    gap = np.clip(np.round(gap / np.median(gap), 1), 0.1, 1000.0)
    size = evidence.counts.sum(axis=1) + evidence.gold.sum(axis=1)
    far = float(np.log(_SMALLEST * max(size.max(initial=1), 1)))
    pilot, ends, sigmas = np.linspace(0, len(evidence.rows) - 1, _PILOT).astype(int), (-far, far), SIGMAS
    for rows in (pilot, pilot, np.arange(len(evidence.rows))):
        x = np.linspace(*ends, _LATTICE)
        start, step = _normalised(0.5 * (log_expit(x) + log_expit(-x))), x[1] - x[0]
        seen = np.empty((when.size, len(rows), x.size), np.float32)
        for k, m in enumerate(rows):
            likelihood = evidence.log_likelihood(int(m), x)
            seen[:, k] = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        found = np.array([_filtered(seen, start, _kernels(x, float(s), gap), gap)[0] for s in sigmas])
        weight = _normalised(found.T)
        picked = (weight.cumsum(axis=1)[:, None] < rng.random((len(rows), _PATHS, 1))).sum(axis=2)
        paths = np.empty((len(rows), _PATHS, when.size))
        for k in np.unique(picked):
            mine, kernels = np.flatnonzero((picked == k).any(axis=1)), _kernels(x, float(sigmas[k]), gap)
            _, messages = _filtered(seen[:, mine], start, kernels, gap, keep=True)
            at = np.argwhere(picked[mine] == k)
            cells = _drawn_back(messages, kernels, gap, at[:, 0], rng)
            paths[mine[at[:, 0]], at[:, 1]] = x[cells] + step * (rng.random((len(at), 1)) - 0.5)
        wide = 2 * step + 0.1 * np.ptp(paths)
        ends = (max(float(paths.min() - wide), -far), min(float(paths.max() + wide), far))
        sigmas = sigmas[weight.mean(axis=0) > _NO_WEIGHT] if len(rows) == _PILOT else sigmas
    return expit(paths.reshape(-1, when.size))


def _normalised(log_weight: np.ndarray) -> np.ndarray:
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def _kernels(x: np.ndarray, sigma: float, gap: np.ndarray) -> dict[float, np.ndarray]:
    """p(next point | point) by the length of the step, (from, to)."""
    apart, step, kernels = np.abs(x[:, None] - x), x[1] - x[0], {}
    jump = _rows(np.exp(-0.5 * (apart / JUMP_SD) ** 2))
    for length in np.unique(gap).tolist():
        sd, still = sigma * np.sqrt(length), (1 - JUMP) ** length
        if sd >= step:
            near = np.exp(-0.5 * (apart / sd) ** 2)
        else:  # a normal distribution narrower than the lattice: three points with its variance
            side = 0.5 * (sd / step) ** 2
            near = np.where(apart < 0.5 * step, 1 - 2 * side, np.where(apart < 1.5 * step, side, 0.0))
        kernels[length] = (still * _rows(near) + (1 - still) * jump).astype(np.float32)
    return kernels


def _rows(weight: np.ndarray) -> np.ndarray:
    return weight / weight.sum(axis=1, keepdims=True)


def _filtered(
    seen: np.ndarray, start: np.ndarray, kernels: dict[float, np.ndarray], gap: np.ndarray, keep: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Log evidence (rows,), and p(point | days until then) if kept; `seen` (days, rows, points)."""
    message, log_evidence = np.broadcast_to(start.astype(np.float32), seen[0].shape), np.zeros(seen.shape[1])
    messages = np.empty(seen.shape if keep else (0, 0, 0), np.float32)
    for t, likelihood in enumerate(seen):
        message = (message @ kernels[gap[t - 1]] if t else message) * likelihood
        total = message.sum(axis=1, keepdims=True)
        message = message / np.maximum(total, 1e-30)
        log_evidence += np.log(np.maximum(total[:, 0], 1e-30))
        if keep:
            messages[t] = message
    return log_evidence, messages


def _drawn_back(
    messages: np.ndarray, kernels: dict[float, np.ndarray], gap: np.ndarray, row: np.ndarray,
    rng: np.random.Generator,
) -> Int[np.ndarray, "paths days"]:  # fmt: skip
    cells: Any = np.empty((row.size, len(messages)), np.int64)
    weight = messages[-1][row]
    for t in range(len(messages) - 1, -1, -1):
        if t < len(messages) - 1:
            weight = messages[t][row] * kernels[gap[t]].T[cells[:, t + 1]]
        total = weight.cumsum(axis=1)
        cells[:, t] = (total < rng.random((row.size, 1)) * total[:, -1:]).sum(axis=1)
    return np.minimum(cells, messages.shape[2] - 1)


def tables_of(
    labels: Labels, code: int, prior: Float[np.ndarray, "draws classes"],
    matrices: Float[np.ndarray, "draws labelers classes classes"],
) -> tuple[Codes, Float[np.ndarray, "some 2 symbols"]]:  # fmt: skip
    """Symbols of the samples, and tables of `evidence_of` by draws of class shares and matrices."""
    patterns, row = merge_patterns(rows_of(labels))
    mean = posterior_of(patterns, prior.mean(axis=0), matrices.mean(axis=0))[:, code]
    symbol, tables = symbols_of(mean[row]), []
    of_pattern = np.empty(patterns.number.size, np.int64)
    of_pattern[row] = symbol
    for m in np.linspace(0, len(matrices) - 1, _ROWS).astype(int):
        own = posterior_of(patterns, prior[m], matrices[m])[:, code]
        both = [np.bincount(of_pattern, patterns.number * p) for p in (1 - own, own)]
        tables.append(np.stack(both))
    return symbol, np.array(tables)


def table_of(p: Float[np.ndarray, " samples"], symbol: Codes) -> np.ndarray:
    """(1, 2, symbols): expected samples of each class by symbol, given the probability of class 1."""
    return np.stack([np.bincount(symbol, one) for one in (1 - p, p)])[None]
