"""The law of the most probable class given a set of labelers: by signs, by all label vectors, or by draws."""

from typing import Any

import numpy as np

from jtruth._host import log
from jtruth._random import host_rng
from jtruth.noise.base import Strata
from jtruth.stats.vote_law import TOLERANCE, sign_law

_MOST_NUMBERS = 1 << 22  # strata x classes x label vectors that are enumerated
_DRAWS = 20_000  # for each class, where they are too many

Members = tuple[int | None, tuple[int, ...]]  # a known stratum, and the labelers


def law_of_rule(
    strata: Strata, members: Members, prior: np.ndarray, ties: str, key: Any
) -> tuple[np.ndarray, float]:
    """(classes, classes) P(rule says k | true class c), and how far that may be off."""
    stratum, labelers = members
    rows, weights = strata.rows[:, list(labelers)], strata.weights
    if stratum is not None:
        rows, weights = rows[stratum : stratum + 1], np.ones((1, prior.size))
    if len(rows) == 1 and prior.size == 2:
        return independent_law(rows[0], prior, ties)
    count, symbols = rows.shape[1], rows.shape[3]
    if len(rows) * prior.size * float(symbols) ** count <= _MOST_NUMBERS:
        return enumerated_law(rows, weights, prior, ties), 0.0
    return drawn_law(rows, weights, prior, ties, key)


def independent_law(rows: np.ndarray, prior: np.ndarray, ties: str) -> tuple[np.ndarray, float]:
    """Two classes, independent labelers: rows (labelers, classes, labels); the sign of the log-odds."""
    kinds, counts = np.unique(rows.reshape(-1, 4), axis=0, return_counts=True)
    kinds = kinds.reshape(-1, 2, 2)
    possible = (kinds > 0).any(axis=1)  # (labelers, labels) that somebody can give
    odds = log(kinds[:, 1]) - np.where(possible, log(kinds[:, 0]), 0.0)
    odds = np.where(possible, odds, 0.0)
    flip = odds[:, 1] < odds[:, 0]  # label 1 speaks for class 0
    p = np.where(flip[:, None], kinds[:, :, 0], kinds[:, :, 1]).T
    offset = float(np.log(prior[1]) - np.log(prior[0]))
    law = sign_law(odds.min(axis=1), odds.max(axis=1), p, offset=offset, counts=counts)
    says_1 = law.above + (0.5 * law.zero if ties == "random" else 0.0) + 0.5 * law.undecided
    return np.stack([1 - says_1, says_1], axis=1), float(law.undecided.max() / 2)


def enumerated_law(rows: np.ndarray, weights: np.ndarray, prior: np.ndarray, ties: str) -> np.ndarray:
    """Any classes, any hidden strata: (3) as it stands, over all label vectors.

    Args:
        rows: (strata, labelers, classes, labels).
        weights: (strata, classes), p(stratum | class).
        prior: (classes,).
        ties: "random" or "first".
    """
    p = np.ones((*rows.shape[:1], prior.size, 1))
    for t in range(rows.shape[1]):
        p = (p[..., None] * rows[:, t, :, None, :]).reshape(*p.shape[:2], -1)
    of_class = np.einsum("sc,scv->cv", weights, p)
    sizes = np.abs(np.where(rows > 0, log(rows), 0.0)).max(axis=(0, 2, 3)).sum()
    return of_class @ _winners(log(prior)[:, None] + log(of_class), ties, float(sizes)).T


def drawn_law(
    rows: np.ndarray, weights: np.ndarray, prior: np.ndarray, ties: str, key: Any
) -> tuple[np.ndarray, float]:
    """The same by draws of labels, and the largest standard error."""
    rng, law = host_rng(key, "laws of consolidated labels"), np.zeros((prior.size, prior.size))
    top = np.cumsum(rows, axis=3)
    for c in range(prior.size):
        stratum = rng.choice(len(rows), _DRAWS, p=weights[:, c] / weights[:, c].sum())
        u = rng.random((_DRAWS, rows.shape[1], 1)) * top[stratum][:, :, c, -1:]
        z = (u >= top[stratum][:, :, c]).sum(axis=2)  # (draws, labelers)
        each = log(rows[:, np.arange(rows.shape[1])[None, :], :, z])  # (draws, labelers, strata, classes)
        given = each.sum(axis=1) + log(weights)[None]
        of_class = np.logaddexp.reduce(given, axis=1).T
        sizes = float(np.abs(np.where(np.isfinite(of_class), of_class, 0.0)).max())
        law[c] = _winners(log(prior)[:, None] + of_class, ties, sizes).mean(axis=1)
    return law, float(np.sqrt(law * (1 - law) / _DRAWS).max())


def _winners(joint: np.ndarray, ties: str, sizes: float) -> np.ndarray:
    """(classes, vectors) share of each class in the decision; tied classes share it, or the first has it."""
    best = joint.max(axis=0, keepdims=True)
    among = (joint >= best - TOLERANCE * max(1.0, sizes)) & np.isfinite(best)
    if ties == "first":
        among &= np.cumsum(among, axis=0) == 1
    return among / np.maximum(among.sum(axis=0, keepdims=True), 1)
