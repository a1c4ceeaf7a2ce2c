"""Exact information by summing over counts: labelers with equal rows matter only through how many said what.

T labelers with the same rows have binomial or multinomial counts, T + 1 cells for two symbols instead of 2^T;
the counts of different groups are combined by adding logarithms. Labelers who are all different are groups
of one, and the sum is then plain enumeration. The labels of a sample may be dependent through a stratum
(see `law`): the probability of a cell is summed over the strata before its logarithm is taken.
"""

import itertools
import math

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, logsumexp

from jtruth._host import log
from jtruth.information._entropy import table_information
from jtruth.information.law import LabelLaw

MOST_TERMS = 1 << 26  # cells times strata times classes that `counts_information` agrees to sum: seconds
_INNER = 1 << 16  # cells handled in one NumPy call


def counts_information(law: LabelLaw, prior: Float[np.ndarray, " classes"]) -> float:
    """I(Z; Y) in bits by the sum over the counts of each group of equal labelers, Su section 4.

    Args:
        law: its strata are summed over, seen by nobody.
        prior: (classes,), float64.

    Raises:
        ValueError: more than `MOST_TERMS` terms.

    Example:
        >>> from jtruth.information.law import label_law
        >>> from jtruth.noise import Symmetric
        >>> prior = np.array([225, 126]) / 351
        >>> print(f"{counts_information(label_law(Symmetric(.45, 2), num_labelers=399), prior):.5f}")
        0.85919
    """
    terms = num_terms(law)
    if terms > MOST_TERMS:
        raise ValueError(
            f"{terms:.3g} terms are too many to sum (at most {MOST_TERMS}); use method='auto', or "
            "method='monte_carlo' with a key"
        )
    rows, sizes = equal_labelers(law.rows)
    groups = [_group_log_pmf(rows[:, g], int(m)) for g, m in enumerate(sizes)]
    groups.sort(key=lambda pmf: pmf.shape[-1], reverse=True)
    inner, outer = _split(groups, law)
    parts = []
    for cells in itertools.product(*[range(pmf.shape[-1]) for pmf in outer]):
        log_p = inner
        for pmf, cell in zip(outer, cells, strict=True):
            log_p = log_p + pmf[..., cell, None]
        parts.append(table_part(log_p, law.weights, prior))
    return math.fsum(parts)


def table_part(log_p: np.ndarray, weights: np.ndarray, prior: np.ndarray) -> float:
    """What some cells add to the information: log p(cell | stratum, class), (strata, classes, cells)."""
    log_w = log(weights)[..., None]
    log_likelihood = log_p[0] if len(log_p) == 1 else np.asarray(logsumexp(log_p + log_w, axis=0))
    return table_information(prior[:, None] * np.exp(log_likelihood), prior)


def equal_labelers(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (strata, groups, classes, symbols) of labelers that differ, and how many there are of each."""
    flat = np.ascontiguousarray(np.moveaxis(rows, 1, 0)).reshape(rows.shape[1], -1)
    _, first, sizes = np.unique(flat, axis=0, return_index=True, return_counts=True)
    return rows[:, first], sizes


def num_terms(law: LabelLaw) -> int:
    """Number of terms of the sum: cells times strata times classes."""
    rows, sizes = equal_labelers(law.rows)
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
    """Which symbols of one labeler, (strata, classes, symbols), ever occur."""
    return np.asarray((rows > 0).any(axis=(0, 1)))


def _group_log_pmf(rows: np.ndarray, size: int) -> np.ndarray:
    """Multinomial log-probability of every count vector of one group, (strata, classes, cells).

    Normalised by its own sum, which takes out the rounding of the logarithms of large factorials.
    """
    rows = rows[..., _used(rows)]
    n = compositions(size, rows.shape[-1])
    impossible = (rows == 0).astype(float) @ n.T > 0
    log_p = np.log(np.where(rows > 0, rows, 1.0)) @ n.T - gammaln(n + 1).sum(axis=1)
    log_p = np.where(impossible, -np.inf, log_p)
    return log_p - logsumexp(log_p, axis=-1, keepdims=True)


def _split(groups: list[np.ndarray], law: LabelLaw) -> tuple[np.ndarray, list[np.ndarray]]:
    """The combined table of as many groups as fit in one call, and the groups that are looped over."""
    inner = np.zeros((law.rows.shape[0], law.num_classes, 1))
    outer = []
    for pmf in groups:
        if inner.shape[-1] * pmf.shape[-1] <= _INNER or inner.shape[-1] == 1:
            inner = (inner[..., None] + pmf[..., None, :]).reshape(*inner.shape[:2], -1)
        else:
            outer.append(pmf)
    return inner, outer
