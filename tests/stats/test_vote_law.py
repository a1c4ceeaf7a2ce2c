"""The sign of a sum of two-point variables: three ways to one answer, and bounds that hold."""

import itertools
import time

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from jtruth.stats.poisson_binomial import SignLaw, sign_law

EXACT = 1e-12


def enumerated(low, high, p, offset, tie=1e-9):
    """(below, zero, above) of one law by all outcomes."""
    found = np.zeros(3)
    for bits in itertools.product((0, 1), repeat=len(low)):
        total = offset + sum(h if b else v for v, h, b in zip(low, high, bits, strict=True))
        chance = np.prod([q if b else 1 - q for q, b in zip(p, bits, strict=True)])
        found[1 if abs(total) < tie else 0 if total < 0 else 2] += chance
    return found


def three(law: SignLaw, which: int) -> np.ndarray:
    return np.array([law.below[which], law.zero[which], law.above[which]])


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_meeting_in_the_middle_is_enumeration(size, seed):
    rng = np.random.default_rng(seed)
    low, high = rng.integers(-3, 4, (2, size)) / 2.0  # ties occur; some terms have high < low
    p, offset = rng.random((2, size)), float(rng.integers(-2, 3)) / 2
    law = sign_law(low, high, p, offset=offset)
    for which in range(2):
        np.testing.assert_allclose(three(law, which), enumerated(low, high, p[which], offset), atol=EXACT)
    np.testing.assert_array_equal(law.undecided, 0)


def test_groups_of_equal_terms_are_the_terms_one_by_one():
    rng = np.random.default_rng(0)
    low, high, p = rng.normal(-1, 0.5, 4), rng.normal(1, 0.5, 4), rng.random((2, 4))
    counts = np.array([3, 1, 5, 2])
    together = sign_law(low, high, p, offset=0.1, counts=counts)
    alone = sign_law(*(np.repeat(v, counts, axis=-1) for v in (low, high, p)), offset=0.1)
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a, b, atol=EXACT)


def test_one_group_is_a_binomial_and_a_tie_is_a_tie():
    votes = sign_law(np.array([-0.3]), np.array([0.3]), np.array([[0.55]]), counts=np.array([400]))
    law = scipy.stats.binom(400, 0.55)
    np.testing.assert_allclose(votes.zero, law.pmf(200), rtol=1e-10)
    np.testing.assert_allclose(votes.above, law.sf(200), rtol=1e-10)
    np.testing.assert_allclose(votes.below, law.cdf(199), rtol=1e-10)


@pytest.mark.parametrize("size", [8, 22])
def test_bounds_contain_the_exact_law_and_are_narrow(size):
    rng = np.random.default_rng(size)
    low, high, p = rng.normal(-1, 0.5, size), rng.normal(1, 0.5, size), rng.random((2, size))
    low[0], high[0] = high[0], low[0]
    exact = sign_law(low, high, p, offset=0.2, method="exact")
    bound = sign_law(low, high, p, offset=0.2, method="bounds")
    assert (bound.undecided < 2e-4).all()
    for side in ("below", "above"):
        least, true = getattr(bound, side), getattr(exact, side)
        assert (least <= true + EXACT).all() and (true <= least + bound.undecided + EXACT).all()
    np.testing.assert_allclose(bound.below + bound.above + bound.undecided, 1, atol=EXACT)


def test_thirty_six_terms_in_time_and_more_by_bounds():
    rng = np.random.default_rng(1)
    low, high, p = rng.normal(-1, 0.3, 37), rng.normal(1, 0.3, 37), rng.uniform(0.6, 0.9, (2, 37))
    start = time.perf_counter()
    law = sign_law(low[:36], high[:36], p[:, :36])
    assert time.perf_counter() - start < 5  # a quarter of a second on one core of 2020
    np.testing.assert_allclose(law.below + law.above, 1, atol=1e-10)
    with pytest.raises(ValueError, match="too many values; use 'bounds'"):
        sign_law(low, high, p, method="exact")
    bound = sign_law(low, high, p)
    assert (bound.undecided > 0).all() and (bound.undecided < 1e-4).all()


def test_infinite_terms_decide():
    low, high = np.array([-np.inf, -1.0, -0.5]), np.array([2.0, np.inf, 0.5])
    p = np.array([[1.0, 0.3, 0.5], [0.4, 0.0, 0.5]])
    law = sign_law(low, high, p, offset=-1.0)
    # Law 0: the first is 2; the second +inf with .3, else -1; the sum is then 0 -+ .5.
    np.testing.assert_allclose(three(law, 0), [0.35, 0, 0.65], atol=EXACT)
    # Law 1: -inf with .6; else 2 - 1 - 1 -+ .5.
    np.testing.assert_allclose(three(law, 1), [0.6 + 0.2, 0, 0.2], atol=EXACT)
    perfect = sign_law(np.array([-np.inf] * 2), np.array([np.inf] * 2), np.array([[1.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(perfect.above, [1, 0])
    np.testing.assert_array_equal(perfect.below, [0, 1])


def test_what_has_no_sign_is_refused():
    with pytest.raises(ValueError, match=r"occur together with probability 0\.5"):
        sign_law(np.array([-np.inf] * 2), np.array([np.inf] * 2), np.full((1, 2), 0.5))
    with pytest.raises(ValueError, match="not the other way round"):
        sign_law(np.array([np.inf]), np.array([1.0]), np.ones((1, 1)))
    with pytest.raises(ValueError, match="offset is inf"):
        sign_law(np.array([0.0]), np.array([1.0]), np.ones((1, 1)), offset=np.inf)
