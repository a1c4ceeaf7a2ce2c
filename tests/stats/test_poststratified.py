"""Class counts by strata: closed forms, quadrature over shares, unequal inclusion probabilities."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import beta, comb

from jtruth.stats import ppi
from jtruth.stats.ppi import class_counts, strata_of

DRAWS = 40_000
WORTH, SHARPNESS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0), {0.5: 0.25, 1.0: 0.5, 2.0: 0.25}
MOVED = {0.0: 0.6, 0.35: 0.2, 0.7: 0.2}


def drawn(strata, num=DRAWS, second=None):
    """Draws; the guess may be moved towards a second one: a classifier may know better than the labels."""
    moves = {} if second is None else {by: q for by, q in MOVED.items() if by}
    others = [(q, (1 - by) * strata[3] + by * np.array(second)) for by, q in moves.items()]
    return class_counts(strata, np.random.default_rng(0), others=others, num_draws=num)


def grid(guess, second=None):
    """Probability, and Dirichlet concentrations of every stratum, at each point of the grid."""
    guess = np.array(guess, float)
    moves = {0.0: 1.0} if second is None else MOVED
    for (sharpness, p), worth, (moved, q) in product(SHARPNESS.items(), WORTH, moves.items()):
        share = guess if second is None else (1 - moved) * guess + moved * np.array(second)
        share = share**sharpness / (share**sharpness).sum(axis=1, keepdims=True)
        yield p * q, worth * share + min(0.5, 2 / len(guess)) / guess.shape[1]


def known_of(size, known, guess):
    """Strata of which gold is a random part."""
    known = np.array(known)
    return np.array(size), known, known.astype(float), np.array(guess, float)


def test_a_guess_of_one_worth_is_a_dirichlet_multinomial(monkeypatch):
    """Three classes, 4 of 14 known, worth 2: the posterior of what is left in closed form, 5 standard
    errors."""
    monkeypatch.setattr(ppi, "_WORTH", np.array([2.0]))
    monkeypatch.setattr(ppi, "_SHARPNESS", {1.0: 1.0})
    known, guess = np.array([3, 1, 0]), np.array([0.5, 0.3, 0.2])
    left = drawn(known_of([14], [known], [guess]))[:, 0] - known
    dist = stats.dirichlet_multinomial(2 * guess + 0.5 / 3 + known, 10)
    for row in ([10, 0, 0], [7, 3, 0], [6, 2, 2], [5, 4, 1], [9, 1, 0]):
        p = dist.pmf(row)
        assert abs((left == row).all(axis=1).mean() - p) < 5 * np.sqrt(p / DRAWS)  # two-sided 6e-7
    np.testing.assert_allclose(left.mean(0), dist.mean(), atol=5 * np.sqrt(np.diag(dist.cov()).max() / DRAWS))


def two_strata_by_quadrature(size, known, guess, second=None):
    """P(counts of class 1): shares integrated by quadrature at every point of the grid, its evidence half.

    Two strata share worth, sharpness and move, so their counts depend on each other.
    """
    total = np.zeros([n + 1 for n in size])
    for probability, concentration in grid(guess, second):
        parts = []
        for n, (k0, k1), (a0, a1) in zip(size, known, concentration, strict=True):
            part, open_ = np.zeros(n + 1), n - k0 - k1
            for more in range(open_ + 1):
                # p = sin^2 t: what is infinite at the ends of p is finite in t
                part[k1 + more] = comb(open_, more) * quad(
                    lambda t, u=2 * (k1 + more + a1) - 1, v=2 * (k0 + open_ - more + a0) - 1:
                    2 * np.sin(t) ** u * np.cos(t) ** v, 0, np.pi / 2,
                )[0] / beta(a0, a1)  # fmt: skip
            parts.append(part)
        total += probability * np.outer(*parts) / np.sqrt(np.sum(np.outer(*parts)))  # the sum is the evidence
    return total / total.sum()


@pytest.mark.parametrize("second", [None, [(1.0, 0.0), (0.0, 1.0)]])
@pytest.mark.parametrize("known", [[(1, 4), (3, 0)], [(4, 1), (1, 2)], [(0, 0), (2, 2)]])
def test_worth_sharpness_and_move_are_weighed_by_the_evidence(known, second):
    """Guesses that gold bears out, contradicts, and meets in one stratum only; 5 standard errors a cell."""
    size, guess = (8, 6), [(0.1, 0.9), (0.8, 0.2)]
    expected = two_strata_by_quadrature(size, known, guess, second)
    found = drawn(known_of(size, known, guess), second=second)[:, :, 1]
    share = np.zeros_like(expected)
    np.add.at(share, tuple(found.T), 1 / DRAWS)
    error = np.sqrt(expected * (1 - expected) / DRAWS)
    assert (np.abs(share - expected) < 5 * error + 2e-4).all()  # 63 cells: false alarm below 4e-5


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_counts_hold_what_is_known_and_add_up(share):
    """Where all classes are known nothing is open."""
    rng = np.random.default_rng(2)
    stratum, y = rng.integers(0, 5, 200), rng.integers(0, 3, 200)
    gold = np.where(rng.random(200) < share, y, -1)
    strata, names = strata_of(stratum, rng.dirichlet(np.ones(3), 200), gold)
    known = [[(gold[stratum == s] == c).sum() for c in range(3)] for s in names]
    np.testing.assert_array_equal(strata[1], known)
    found = drawn(strata, num=400)
    assert (found.sum(axis=2) == strata[0]).all() and (found >= strata[1]).all()
    assert found.shape == (400, 5, 3) and found.dtype == np.int64


def test_weights_are_kish_and_equal_ones_change_nothing():
    """v = 1/pi - 1 each, scaled so that they count as (sum v)^2 / sum v^2."""
    gold = np.array([1, 0, 1, -1, -1, -1, 1, -1])
    stratum, guess = np.array([0, 0, 0, 0, 0, 0, 1, 1]), np.full((8, 2), 0.5)
    chance = np.array([0.5, 0.25, 0.25, np.nan, np.nan, np.nan, 0.2, np.nan])
    found, _ = strata_of(stratum, guess, gold, chance)
    v = np.array([1.0, 3.0, 3.0])
    scale = v.sum() / (v**2).sum()
    np.testing.assert_allclose(found[2][0], [3 * scale, 4 * scale])
    np.testing.assert_allclose(found[2][1], [0, 1])  # one sample counts as one, whatever its chance
    even, _ = strata_of(stratum, guess, gold, np.where(gold >= 0, 0.3, np.nan))
    random, _ = strata_of(stratum, guess, gold)
    np.testing.assert_allclose(even[2], random[2])
    sure, _ = strata_of(stratum, guess, gold, np.where(gold >= 0, 1.0, np.nan))
    assert (sure[2] == 0).all() and (sure[1] == random[1]).all()  # they stand for nobody else
