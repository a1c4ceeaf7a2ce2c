"""Exact information of any number of independent, unequal labelers as one integral (two or three classes).

Summing over the labels of T different labelers takes symbols^T terms. But the entropy that labels leave is a
sum over label vectors z of a function of the C numbers q_c = prior[c] prod_t p(z_t | c) alone,

    eta(q) = sum_c q_c log(sum_k q_k / q_c),

and this function is a mixture of monomials, which do factorise over the labelers. Differentiating the
Mellin-Barnes formula of (sum_c q_c)^a at a = 1, and moving its contours past the pole at 0, gives

    eta(q) = sum_S (2 pi i)^(1 - |S|) integral prod_{c in S} Gamma(-s_c) q_c^(s_c) ds

over all sets S of two or more classes; the s_c add to 1 and each has real part 1/|S|. Summed over z, the
product of the q becomes a product over labelers of M_t(s) = sum_k prod_c p_t(k | c)^(s_c). So, in nats,

    I(Z; Y) = sum_S (2 pi i)^(1 - |S|) integral prod_c Gamma(-s_c) prior[c]^(s_c) [1 - prod_t M_t(s)] ds.

For two classes this is, with s = 1/2 + iu,

    1/2 integral Re{prior[0]^(1-s) prior[1]^s [1 - prod_t M_t(s)]} / ((1/4 + u^2) cosh(pi u)) du,

and at u = 0, M_t is the Bhattacharyya coefficient of the labeler's two rows.

|M_t(s)| is at most 1 in the whole strip 0 < Re s_c and the kernel falls like exp(-pi |Im s|), so the
trapezoidal rule converges geometrically at a rate that no labeler can spoil: 159 points for two classes and
83 000 for three, whatever T is, give 14 digits. (Four classes would need a volume of points.)
"""

import itertools
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gamma

from jtruth.information._entropy import BITS
from jtruth.information.law import LabelLaw

MOST_CLASSES = 3
_DIGITS = 37.0  # both errors of the trapezoidal rule, step and range, are about exp(-37)
_BLOCK = 1 << 21  # complex numbers held at once


def independent_information(
    law: LabelLaw, prior: Float[np.ndarray, " classes"], teams: Int[np.ndarray, "teams labelers"]
) -> Float[np.ndarray, " teams"]:
    """I(Z; Y) in bits of teams of conditionally independent labelers, exact up to rounding.

    Args:
        law: of one stratum.
        prior: (classes,), float64, at most three classes of positive prior.
        teams: how many labelers of each kind (row of `law`) are in the team; 0 or 1 to choose among labelers.

    Returns:
        (teams,) bits; absolute error about 1e-14.

    Example:
        >>> from jtruth.information.law import label_law
        >>> law = label_law(np.array([[[.95, .05], [.05, .95]], [[.75, .25], [.25, .75]]]))
        >>> prior = np.array([225, 126]) / 351
        >>> independent_information(law, prior, np.array([[1, 0], [0, 9], [1, 9]])).round(5)
        array([0.66661, 0.7578 , 0.87434])
    """
    possible = np.flatnonzero(prior > 0)
    total = np.zeros(len(teams))
    for size in range(2, possible.size + 1):
        for subset in itertools.combinations(possible, size):
            total += _term(law.rows[0][:, list(subset)], prior[list(subset)], teams)
    return total * BITS


def _term(rows: np.ndarray, prior: np.ndarray, teams: np.ndarray) -> np.ndarray:
    """The integral of one set of classes for every team, in nats."""
    s, kernel = _points(len(prior))
    kernel = kernel * np.exp(s @ np.log(prior))
    step = max(1, _BLOCK // (max(rows.shape[0], len(teams)) * rows.shape[2]))
    total = np.zeros(len(teams))
    for start in range(0, len(s), step):
        part = slice(start, start + step)
        log_moments = _log1p(_moments_less_one(rows, s[part]))  # (labelers, points)
        total += -np.real(_expm1_of_sum(teams, log_moments) @ kernel[part])
    return total


def _expm1_of_sum(teams: np.ndarray, log_moments: np.ndarray) -> np.ndarray:
    """prod_t M_t - 1 for every team and point; -1 where a member of the team has M_t = 0."""
    never = np.isneginf(np.real(log_moments))
    total = np.expm1(teams @ np.where(never, 0.0, log_moments))
    return np.where((teams > 0).astype(float) @ never > 0, -1.0, total) if never.any() else total


def _moments_less_one(rows: np.ndarray, s: np.ndarray) -> np.ndarray:
    """M_t(s) - 1, (labelers, points), without cancellation where the classes are hardly told apart.

    As the s_c add to 1, M_t - 1 = sum_k p_t(k | first) [exp(sum_c s_c log(p_t(k | c) / p_t(k | first))) - 1].
    A symbol that one of the classes excludes has no product, hence -p_t(k | first).
    """
    total = np.zeros((rows.shape[0], len(s)), complex)
    for symbol in np.moveaxis(rows, 2, 0):  # (labelers, classes)
        seen = (symbol > 0).all(axis=1)
        ratio = np.log(np.where(seen[:, None], symbol, 1.0))
        power = np.expm1((ratio - ratio[:, :1]) @ s.T)
        total += symbol[:, :1] * np.where(seen[:, None], power, -1.0)
    return total


def _log1p(x: np.ndarray) -> np.ndarray:
    """log(1 + x) of complex x with small relative error for small |x|; -inf + 0i at x = -1."""
    real, imag = np.real(x), np.imag(x)
    small = np.abs(x) < 0.5
    near = 0.5 * np.log1p(np.where(small, real * (2.0 + real) + imag**2, 0.0))
    with np.errstate(divide="ignore"):
        far = np.log(np.where(small, 1.0, np.abs(1.0 + x)))
    return np.where(small, near, far) + 1j * np.arctan2(imag, 1.0 + real)


@lru_cache(maxsize=4)
def _points(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Points s (points, size) and the kernel at each, weight included, for sets of `size` classes.

    The integrand at the conjugate point is the conjugate, so one half of the points counts twice. The step
    keeps away from the ends of the strip, which is 1/size to either side, by 15 %.
    """
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
