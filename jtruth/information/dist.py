"""Distribution of the labels of one sample, and its exact information about the class.

The distribution is a `Strata`. Where the stratum of each sample is known, information is the average over
strata.

**Independent, unequal labelers, two or three classes: one integral.** The conditional entropy is a sum over
label vectors z of a function of the numbers q_c = prior[c] prod_t p(z_t | c) alone, eta(q) = sum_c q_c
log(sum_k q_k / q_c), and this function is a mixture of monomials, which factorise over the labelers.
Differentiating the Mellin-Barnes formula of (sum_c q_c)^a at a = 1, and moving its contours past the pole at
0, gives

    eta(q) = sum_S (2 pi i)^(1 - |S|) integral prod_{c in S} Gamma(-s_c) q_c^(s_c) ds

over all sets S of two or more classes; the s_c add to 1 and each has real part 1/|S|. Summed over z, the
product of the q becomes a product over labelers of M_t(s) = sum_k prod_c p_t(k | c)^(s_c). So, in nats,

    I(Z; Y) = sum_S (2 pi i)^(1 - |S|) integral prod_c Gamma(-s_c) prior[c]^(s_c) [1 - prod_t M_t(s)] ds.

|M_t(s)| is at most 1 in the whole strip 0 < Re s_c and the kernel falls like exp(-pi |Im s|), so the
trapezoidal rule converges geometrically: 159 points for two classes and 83 000 for three give 14 digits.

**Equal labelers, dependent or not: a sum over counts**, binomial or multinomial for each group.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import entr, gamma, gammaln, kl_div, log1p, logsumexp

from jtruth._arrays import is_concrete
from jtruth._host import log
from jtruth._validation.in_range import check_rows, check_shape
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata, as_parameter, check_matrix_rows, one_stratum
from jtruth.posterior import validate_prior

ClassShares = Float[np.ndarray, " classes"]


def label_distribution(noise, *, num_labelers: int | None = None) -> Strata:
    """Distribution of a sample's labels under a noise model, matrices, or a distribution.

    Args:
        noise: a noise model, an array (labelers, classes, symbols) whose rows sum to 1 (symbols need not be
            classes), or a `Strata`. Strata that the model knows for each sample are observed.
        num_labelers: T, needed where all labelers share one error or fallibility.

    Raises:
        ValueError: unknown kind of model, bad numbers, or sizes that do not match.

    >>> from jtruth.noise import Symmetric
    >>> dist = label_distribution(Symmetric(.1, 2), num_labelers=3)
    >>> dist.rows.shape, dist.rows[0, 0, 1].round(3)
    ((1, 3, 2, 2), array([0.1, 0.9]))
    """
    dist = noise if isinstance(noise, Strata) else _dist_of(noise, num_labelers)
    if num_labelers is not None and dist.num_labelers != num_labelers:
        raise ValueError(
            f"num_labelers is {num_labelers} but the noise model is for {dist.num_labelers} labelers; leave "
            "num_labelers out, or give one error for all labelers"
        )
    return dist


def mixture(
    models: Sequence, weights: Sequence[float] | np.ndarray, *, num_labelers: int | None = None
) -> Strata:
    """Make a `Strata` of several models, where the model of each sample is unknown.

    Args:
        models: what `label_distribution` accepts, all for the same labelers and classes.
        weights: probability of each, the same for every class.
        num_labelers: T, where the models do not have it.

    Raises:
        ValueError: no model, models of different sizes, or weights that are no distribution.

    >>> from jtruth.noise import Symmetric
    >>> dist = mixture([Symmetric(.05, 2), Symmetric(.4, 2)], [.8, .2], num_labelers=3)
    >>> dist.rows.shape, dist.weights[:, 0]
    ((2, 3, 2, 2), array([0.8, 0.2]))
    """
    dists = [label_distribution(model, num_labelers=num_labelers) for model in models]
    weights = np.asarray(weights, np.float64)
    if not dists or weights.shape != (len(dists),):
        raise ValueError(f"give one weight for each model; got {len(dists)} models, weights {weights.shape}")
    check_rows(weights, "weights")
    shapes = {dist.rows.shape[1:] for dist in dists}
    if len(shapes) > 1:
        raise ValueError(f"the models differ in (labelers, classes, symbols): {sorted(shapes)}")
    rows = np.concatenate([dist.rows for dist in dists])
    return Strata(rows, np.concatenate([w * dist.weights for w, dist in zip(weights, dists, strict=True)]))


def _dist_of(noise, num_labelers: int | None) -> Strata:
    """Distribution of one kind of model."""
    if not is_concrete(noise):
        raise ValueError("information is computed on the host; call it outside of jit, vmap and grad")
    if not isinstance(noise, NoiseModel):
        rows = as_parameter(noise, "matrices")
        check_shape(rows, "matrices", "labelers classes symbols")
        check_matrix_rows(rows, "matrices")
        return one_stratum(np.asarray(rows))
    dist = noise.strata(num_labelers)
    if dist is None:
        raise ValueError(
            f"{type(noise).__name__} has no distribution of the labels of one sample (method `strata` of "
            "NoiseModel); only mutual_information works without it"
        )
    return dist


BITS = 1.0 / np.log(2.0)  # nats to bits


def checked_prior(prior, num_classes: int) -> ClassShares:
    """The prior in float64 with sum exactly 1; ValueError if it is no distribution over the classes."""
    prior = validate_prior(prior, num_classes).astype(np.float64)
    return prior / prior.sum()


def entropy(p: Float[np.ndarray, "*shape symbols"]) -> Float[np.ndarray, "*shape"]:
    """H in bits of the distributions in the last axis."""
    return np.asarray(entr(p).sum(axis=-1) * BITS)


def table_information(joint: Float[np.ndarray, "classes cells"], prior: ClassShares) -> float:
    """Contribution of the columns of a joint table p(class, cell) to I in bits, Su section 4.

    A sum over cells of rho log(rho / prior) - rho + prior, each non-negative, so that small information is
    not lost between large entropies.
    """
    of_cell = joint.sum(axis=0)
    possible = of_cell > 0
    rho = joint[:, possible] / of_cell[possible]
    return float(kl_div(rho, prior[:, None]).sum(axis=0) @ of_cell[possible] * BITS)


MOST_CLASSES = 3
_DIGITS = 37.0  # both errors of the trapezoidal rule, step and range, are about exp(-37)
_BLOCK = 1 << 21  # complex numbers in one array


def independent_information(
    dist: Strata, prior: ClassShares, teams: Int[np.ndarray, "teams labelers"]
) -> Float[np.ndarray, " teams"]:
    """I(Z; Y) in bits of teams of conditionally independent labelers, absolute error about 1e-14.

    `dist` has one stratum, `prior` at most three classes above 0, `teams` the number of each kind of labeler.
    """
    possible = np.flatnonzero(prior > 0)
    total = np.zeros(len(teams))
    for size in range(2, possible.size + 1):
        for subset in itertools.combinations(possible, size):
            total += _term(dist.rows[0][:, list(subset)], prior[list(subset)], teams)
    return total * BITS


def _term(rows: np.ndarray, prior: np.ndarray, teams: np.ndarray) -> np.ndarray:
    """The integral of one set of classes for every team, in nats."""
    s, kernel = _points(len(prior))
    kernel = kernel * np.exp(s @ np.log(prior))
    step = max(1, _BLOCK // (max(rows.shape[0], len(teams)) * rows.shape[2]))
    total = np.zeros(len(teams))
    for start in range(0, len(s), step):
        part = slice(start, start + step)
        log_moments = log1p(_moments_less_one(rows, s[part]))  # (labelers, points)
        never = np.isneginf(np.real(log_moments))
        product = np.expm1(teams @ np.where(never, 0.0, log_moments))  # prod_t M_t - 1
        if never.any():
            product = np.where((teams > 0).astype(float) @ never > 0, -1.0, product)
        total += -np.real(product @ kernel[part])
    return total


def _moments_less_one(rows: np.ndarray, s: np.ndarray) -> np.ndarray:
    """M_t(s) - 1 = sum_k p_t(k | first) [exp(sum_c s_c log(p_t(k | c) / p_t(k | first))) - 1]."""
    total = np.zeros((rows.shape[0], len(s)), complex)
    for symbol in np.moveaxis(rows, 2, 0):  # (labelers, classes)
        possible = (symbol > 0).all(axis=1)
        ratio = np.log(np.where(possible[:, None], symbol, 1.0))
        power = np.expm1((ratio - ratio[:, :1]) @ s.T)
        total += symbol[:, :1] * np.where(possible[:, None], power, -1.0)
    return total


@lru_cache(maxsize=4)
def _points(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Points s (points, size), one of each conjugate pair, and the weighted kernel at each."""
    h = 2 * np.pi * 0.85 / size / _DIGITS
    reach = int(_DIGITS / np.pi / h) + 1
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * (size - 1), indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, size - 1)  # the middle row is the origin
    grid = grid[len(grid) // 2 :]
    imaginary = h * np.concatenate([grid, -grid.sum(axis=1, keepdims=True)], axis=1)
    s = 1.0 / size + 1j * imaginary
    kernel = 2.0 * np.prod(gamma(-s), axis=1) * (h / (2 * np.pi)) ** (size - 1)
    kernel[0] /= 2.0
    keep = np.abs(kernel) > np.exp(-_DIGITS - 4) * np.abs(kernel).max()
    return s[keep], kernel[keep]


MOST_TERMS = 1 << 26  # cells times strata times classes: seconds
_INNER = 1 << 16  # cells handled in one NumPy call


def counts_information(dist: Strata, prior: ClassShares) -> float:
    """I(Z; Y) in bits by the sum over the counts of each group of equal labelers, Su section 4."""
    rows, sizes = equal_labelers(dist.rows)
    groups = [group_log_pmf(rows[:, g], int(m)) for g, m in enumerate(sizes)]
    groups.sort(key=lambda pmf: pmf.shape[-1], reverse=True)
    inner, outer = _split(groups, dist)
    parts = []
    for cells in itertools.product(*[range(pmf.shape[-1]) for pmf in outer]):
        log_p = inner
        for pmf, cell in zip(outer, cells, strict=True):
            log_p = log_p + pmf[..., cell, None]
        if len(log_p) > 1:
            log_p = np.asarray(logsumexp(log_p + log(dist.weights)[..., None], axis=0, keepdims=True))
        parts.append(table_information(prior[:, None] * np.exp(log_p[0]), prior))
    return math.fsum(parts)


def equal_labelers(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows (strata, groups, classes, symbols), and the number of labelers of each."""
    flat = np.ascontiguousarray(np.moveaxis(rows, 1, 0)).reshape(rows.shape[1], -1)
    _, first, sizes = np.unique(flat, axis=0, return_index=True, return_counts=True)
    return rows[:, first], sizes


def num_terms(dist: Strata) -> int:
    """Number of terms of the sum: cells times strata times classes."""
    rows, sizes = equal_labelers(dist.rows)
    cells = (math.comb(int(m) + _used(rows[:, g]).sum() - 1, int(m)) for g, m in enumerate(sizes))
    return math.prod(cells) * rows.shape[0] * rows.shape[2]


def compositions(total: int, parts: int) -> np.ndarray:
    """Every way to write `total` as an ordered sum of `parts` counts, (ways, parts)."""
    if parts == 1:
        return np.full((1, 1), total)
    if parts == 2:
        first = np.arange(total + 1)
        return np.stack([first, total - first], axis=1)
    blocks = [compositions(total - k, parts - 1) for k in range(total + 1)]
    first = np.repeat(np.arange(total + 1), [len(block) for block in blocks])
    return np.column_stack([first, np.concatenate(blocks)])


def _used(rows: np.ndarray) -> np.ndarray:
    """Whether each symbol of a labeler, (strata, classes, symbols), ever occurs."""
    return np.asarray((rows > 0).any(axis=(0, 1)))


def group_log_pmf(rows: np.ndarray, size: int) -> np.ndarray:
    """Multinomial log-probability of every count vector of one group, (strata, classes, cells)."""
    rows = rows[..., _used(rows)]
    n = compositions(size, rows.shape[-1])
    impossible = (rows == 0).astype(float) @ n.T > 0
    log_p = np.log(np.where(rows > 0, rows, 1.0)) @ n.T - gammaln(n + 1).sum(axis=1)
    log_p = np.where(impossible, -np.inf, log_p)
    return log_p - logsumexp(log_p, axis=-1, keepdims=True)


def _split(groups: list[np.ndarray], dist: Strata) -> tuple[np.ndarray, list[np.ndarray]]:
    """The combined table of as many groups as fit in one call, and the other groups."""
    inner = np.zeros((dist.rows.shape[0], dist.num_classes, 1))
    outer = []
    for pmf in groups:
        if inner.shape[-1] * pmf.shape[-1] <= _INNER or inner.shape[-1] == 1:
            inner = (inner[..., None] + pmf[..., None, :]).reshape(*inner.shape[:2], -1)
        else:
            outer.append(pmf)
    return inner, outer
