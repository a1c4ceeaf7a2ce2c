"""Rows that are alike: how often a row is right, and where its errors go, learned from all rows together.

A row r of a rater gives its right symbol with probability d[r], and wrong ones in proportions w[r]:

    theta[r, right] = d[r],   theta[r, u] = (1 - d[r]) w[r, u]
    d[r] ~ Beta(mu kappa, (1 - mu) kappa),   w[r] ~ Dirichlet(alpha q[r]),   q[r, u] ~ share[u]^g

mu, kappa, alpha and g belong to a family of rows and are drawn too (methods 15.3): kappa says how much rows
of a family differ in accuracy, alpha how much in the pattern of their errors, and g how far errors go to
frequent symbols. A fixed Dirichlet prior decides the answer where rows are many and samples few: ten classes
with one pseudo-sample in each of a hundred cells moved the accuracy of a thousand samples by .012, half its
interval (`benchmarks/honesty.py`).

    mu ~ Beta(mean_prior),  log kappa ~ N(log 10, 1.5),  log alpha ~ N(log(symbols - 1), 1.5),  g ~ U(0, 1)

Given the counts of a row d and w can be summed out, so the four move by Metropolis steps on a product of
beta-binomial and Dirichlet-multinomial laws, and rows are drawn afterwards: exact, and nothing but counts is
looked at. A step's scale is drawn anew each time over one and a half powers of ten.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, gammaln

from jtruth._host import log

_STEPS = 2  # Metropolis steps a sweep, for (mu, kappa) and for (alpha, g) each
_SPREAD = 1.5  # of log kappa and log alpha a priori
_KAPPA = np.log(10.0)  # a priori centre of log kappa
_FARTHEST = 12.0  # of logit mu, and of log kappa and log alpha from 0: nothing changes beyond


class Alike(NamedTuple):
    """Which rows of a group of raters are alike, and what their symbols mean."""

    right: np.ndarray  # (rows,) the right symbol of each row of a matrix
    family: np.ndarray  # (raters, rows) 0..F-1
    log_share: np.ndarray  # (symbols,) log share of each symbol, on any scale
    mean_prior: tuple[float, float] | np.ndarray = (1.0, 1.0)  # Beta of mu; (families, 2) if they differ
    known: np.ndarray | None = None  # (raters, rows, symbols) earlier labels of known class

    @property
    def num_families(self) -> int:
        """F."""
        return int(self.family.max()) + 1


def alike_classes(counts: np.ndarray) -> Alike:
    """The rows of one classifier are alike; `counts` (classes,) how often it predicted each class."""
    classes = counts.size
    return Alike(np.arange(classes), np.zeros((1, classes), np.int64), log_shares(counts))


def alike_raters(counts: np.ndarray, raters: int, known: np.ndarray | None = None) -> Alike:
    """The rows of one class are alike over raters; `counts` (classes,) of all their labels.

    Raters are right more often than wrong a priori: the mean of a family is Beta(2, 1).
    """
    classes = counts.size
    family = np.tile(np.arange(classes), (raters, 1))
    return Alike(np.arange(classes), family, log_shares(counts), (2.0, 1.0), known)


def alike_in_strata(alike: Alike, classes: int, means: np.ndarray, *, by_class: bool) -> Alike:
    """The same raters where samples are of several strata: rows class 0 stratum 0, class 0 stratum 1, ...

    Args:
        alike: of the raters in one stratum.
        classes: how many there are.
        means: (strata, 2) Beta law of a family's mean in each stratum.
        by_class: whether the rows of a class are a family, or those of all classes; of one stratum each.
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
    """log of counts, the largest 0; what never occurred counts as half a sample."""
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
    wrong = np.log(max(alike.log_share.size - 1, 1))
    return np.tile([1.0, _KAPPA, wrong, 0.5], (chains, alike.num_families, 1))


def log_prior(alike: Alike, state: Float[np.ndarray, "*draws families 4"]) -> Float[np.ndarray, "*draws"]:
    """Log density of mu, log kappa, log alpha and g of all families, up to a constant: what is fixed.

    Only this prior can be raised to a power (`jtruth.stats.power_scaling`): the law of rows given the four
    is part of the model.
    """
    first, second = np.broadcast_to(alike.mean_prior, (alike.num_families, 2)).astype(np.float64).T
    odds, symbols = state[..., 0].astype(np.float64), alike.log_share.size
    found = -(first - 1) * np.logaddexp(0, -odds) - (second - 1) * np.logaddexp(0, odds)
    found -= 0.5 * ((state[..., 1] - _KAPPA) / _SPREAD) ** 2
    if symbols > 2:
        found -= 0.5 * ((state[..., 2] - np.log(symbols - 1)) / _SPREAD) ** 2
    return found.sum(axis=-1)


class Seen(NamedTuple):
    """Counts of all rows, taken apart. R = raters * rows."""

    alike: Alike
    family: np.ndarray  # (R,)
    right: np.ndarray  # (R,)
    member: np.ndarray  # (R, families) one-hot
    counts: np.ndarray  # (chains, R, symbols), 0 at the right symbol
    hits: np.ndarray  # (chains, R) counts of the right symbol
    misses: np.ndarray  # (chains, R)
    where: tuple[np.ndarray, ...]  # chain, row and symbol of the wrong counts above 0
    wrong: np.ndarray  # those counts


def seen(alike: Alike, counts: np.ndarray) -> Seen:
    """Take counts (chains, raters, rows, symbols) apart."""
    chains, raters, _, symbols = counts.shape
    family, right = alike.family.ravel(), np.tile(alike.right, raters)
    rest = (counts if alike.known is None else counts + alike.known).reshape(chains, -1, symbols).copy()
    at = np.arange(family.size)
    hits = rest[:, at, right]
    rest[:, at, right] = 0.0
    where = np.nonzero(rest)
    member = np.eye(alike.num_families)[family]
    return Seen(alike, family, right, member, rest, hits, rest.sum(axis=2), where, rest[where])


def move(data: Seen, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """`state` (chains, families, 4) after Metropolis steps given the counts."""
    state = _metropolis(data, state, rng, _log_right, slice(0, 2))
    if data.alike.log_share.size < 3:
        return state  # one wrong symbol: there is no pattern
    return _metropolis(data, state, rng, _log_wrong, slice(2, 4))


def _metropolis(data: Seen, state: np.ndarray, rng: np.random.Generator, density, part: slice) -> np.ndarray:
    now = density(data, state)
    for _ in range(_STEPS):
        scale = 2.0 * 10.0 ** -rng.uniform(0.0, 1.5, (*state.shape[:2], 1))
        new = state.copy()
        new[..., part] += scale * rng.standard_normal((*state.shape[:2], 2))
        new[..., 3] = np.abs((new[..., 3] + 1) % 2 - 1)  # g is reflected at 0 and 1
        inside = np.abs(new[..., part]).max(axis=-1) < _FARTHEST
        then = np.where(inside, density(data, np.where(inside[..., None], new, state)), -np.inf)
        better = np.log1p(-rng.random(now.shape)) < then - now
        state, now = np.where(better[..., None], new, state), np.where(better, then, now)
    return state


def _log_right(data: Seen, state: np.ndarray) -> np.ndarray:
    """log p(hits, mu, kappa) as a density of (logit mu, log kappa), (chains, families)."""
    first, second = np.asarray(data.alike.mean_prior, np.float64).T
    mu = 1 / (1 + np.exp(-state[..., 0]))
    prior = first * np.log(mu) + second * np.log1p(-mu) - 0.5 * ((state[..., 1] - _KAPPA) / _SPREAD) ** 2
    a, b = (p[:, data.family] for p in _beta(state))
    return prior + (betaln(a + data.hits, b + data.misses) - betaln(a, b)) @ data.member


def _log_wrong(data: Seen, state: np.ndarray) -> np.ndarray:
    """log p(wrong symbols, alpha, g) as a density of (log alpha, g), (chains, families)."""
    alpha = np.exp(state[..., 2])
    middle = np.log(data.alike.log_share.size - 1)
    prior = -0.5 * ((state[..., 2] - middle) / _SPREAD) ** 2
    of_row = alpha[:, data.family]
    rows = gammaln(of_row) - gammaln(of_row + data.misses)
    chain, row, symbol = data.where
    cells = of_row[chain, row] * _pattern(data, state)(chain, row, symbol)
    terms = gammaln(cells + data.wrong) - gammaln(cells)
    size, families = rows.shape[0], alpha.shape[1]
    place = chain * families + data.family[row]
    return prior + rows @ data.member + np.bincount(place, terms, size * families).reshape(size, families)


def _beta(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters of the Beta law of d, (chains, families)."""
    kappa, mu = np.exp(state[..., 1]), 1 / (1 + np.exp(-state[..., 0]))
    return kappa * mu, kappa * (1 - mu)


def _pattern(data: Seen, state: np.ndarray):
    """q[row, symbol], as a function of chain, row and symbol (not the right one)."""
    weight = np.exp(state[..., 3:] * data.alike.log_share)  # (chains, families, symbols)
    total = weight.sum(axis=-1)

    def q(chain, row, symbol):
        family, right = data.family[row], data.right[row]
        return weight[chain, family, symbol] / (total[chain, family] - weight[chain, family, right])

    return q


def draw_rows(data: Seen, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Log of one draw of every row given counts and families, (chains, R, symbols)."""
    a, b = (p[:, data.family] for p in _beta(state))
    right, wrong = _log_gamma(a + data.hits, rng), _log_gamma(b + data.misses, rng)
    chains, size, symbols = data.counts.shape
    total = np.logaddexp(right, wrong)
    at = np.arange(size)
    if symbols == 2:
        logs = np.empty(data.counts.shape)
        logs[:, at, data.right], logs[:, at, 1 - data.right] = right - total, wrong - total
        return logs
    grid = np.ogrid[:chains, :size, :symbols]
    with np.errstate(divide="ignore"):
        q = _pattern(data, state)(*grid)
    q[:, at, data.right] = 1.0  # replaced below
    alpha = np.exp(state[..., 2])[:, data.family, None]
    logs = _log_gamma(alpha * q + data.counts, rng)
    logs[:, at, data.right] = -np.inf
    logs -= logs.max(axis=2, keepdims=True)
    logs -= log(np.exp(logs).sum(axis=2, keepdims=True))
    logs += (wrong - total)[..., None]
    logs[:, at, data.right] = right - total
    return logs


def _log_gamma(concentration: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Log of gamma draws; G(a) has the law of G(a + 1) U^(1/a), so a small one gives no log 0."""
    logs = np.log(rng.standard_gamma(concentration + 1))
    return logs - rng.standard_exponential(concentration.shape) / concentration
