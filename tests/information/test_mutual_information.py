"""I(Z; Y) exactly: loops over label vectors, reference values, 40-digit sums, and method against method."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from jtruth.information import mixture, mutual_information
from jtruth.information.mutual import enumerated_information
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from tests.information.channels import by_both, matrices

PRIOR = [225 / 351, 126 / 351]  # Ionosphere, Su 5.5


def by_loops(prior, likelihood, symbols):
    """Su section 4: sum over z and y of p(z, y) log2 [p(z, y) / p(z) pi(y)], one label vector at a time."""
    total = 0.0
    for z in itertools.product(*symbols):
        joint = [prior[c] * likelihood(z, c) for c in range(len(prior))]
        for c, p in enumerate(joint):
            if p > 0:
                total += p * math.log2(p / (sum(joint) * prior[c]))
    return total


def independent_by_loops(rows, prior):
    def likelihood(z, c):
        return math.prod(rows[t][c][k] for t, k in enumerate(z))

    return by_loops(prior, likelihood, [range(len(rows[0][0]))] * len(rows))


def bsbc_mpmath(num_labelers, error, prior):
    """H(Z) - T h(eps) with 40 digits: the formula of Su 4.1 without its superfluous factor pi(0)."""
    with mpmath.workdps(40):
        e, p = mpmath.mpf(error), mpmath.mpf(prior)
        entropy = mpmath.mpf(0)
        for m in range(num_labelers + 1):
            q = (1 - p) * e**m * (1 - e) ** (num_labelers - m) + p * (1 - e) ** m * e ** (num_labelers - m)
            entropy -= mpmath.binomial(num_labelers, m) * q * mpmath.log(q, 2)
        of_one = -e * mpmath.log(e, 2) - (1 - e) * mpmath.log(1 - e, 2)
        return float(entropy - num_labelers * of_one)


SLOW = [pytest.param(*size, marks=pytest.mark.slow) for size in ((6, 2), (4, 3), (6, 3))]


@pytest.mark.parametrize(("num_labelers", "num_classes"), [(1, 2), (4, 2), (2, 3), *SLOW])
def test_unequal_labelers_equal_loops(num_labelers, num_classes):
    rows = matrices(num_labelers, num_labelers, num_classes)
    prior = np.random.default_rng(9).dirichlet(np.ones(num_classes))
    expected = independent_by_loops(rows, prior)
    np.testing.assert_allclose(by_both(rows, prior), expected, atol=1e-13)
    found = enumerated_information(ConfusionMatrices(rows), prior, num_labelers)
    assert found == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("copying", [0.0, 0.4, 1.0])
def test_dependent_labelers_equal_loops(copying):
    rows, shared, prior = matrices(2, 4, 3), matrices(3, 1, 3)[0], [0.5, 0.3, 0.2]
    r = copying * np.array([1.0, 0.5, 1.0, 0.9])

    def likelihood(z, c):
        terms = [
            math.prod(r[t] * (k == s) + (1 - r[t]) * rows[t, c, k] for t, k in enumerate(z)) for s in range(3)
        ]
        return sum(shared[c, s] * terms[s] for s in range(3))

    expected = by_loops(prior, likelihood, [range(3)] * 4)
    model = SharedErrors(rows, shared, r)
    assert mutual_information(model, prior).bits == pytest.approx(expected, abs=1e-13)
    listed = enumerated_information(model, np.array(prior), 4)
    assert listed == pytest.approx(expected, abs=1e-13)


def test_difficulty_known_and_unknown_equal_loops():
    delta, phi, prior = np.array([0.0, 0.3, 0.3, 0.9]), np.array([0.1, 0.3, 0.2]), [0.7, 0.3]
    error = lambda d, f: (d + f - d * f) / 2  # noqa: E731  (60)
    rows = np.array(
        [[[[1 - error(d, f), error(d, f)], [error(d, f), 1 - error(d, f)]] for f in phi] for d in delta]
    )
    known = mutual_information(DifficultyFallibility(delta, phi, 2), prior)
    assert known.bits == pytest.approx(np.mean([independent_by_loops(r, prior) for r in rows]), abs=1e-13)

    def likelihood(z, c):
        return np.mean([math.prod(r[t][c][k] for t, k in enumerate(z)) for r in rows])

    unknown = mixture([DifficultyFallibility(d, phi, 2) for d in delta], np.full(4, 0.25))
    result = mutual_information(unknown, prior)
    assert result.bits == pytest.approx(by_loops(prior, likelihood, [range(2)] * 3), abs=1e-13)
    assert result.bits < known.bits  # not to know the difficulty never helps


def test_golden(golden):
    cases = golden("su_mutual_information")
    for prior, num_labelers, error, bits in cases["bsbc"]:
        result = mutual_information(Symmetric(error, 2), [1 - prior, prior], num_labelers=num_labelers)
        assert result.bits == pytest.approx(bits, abs=1e-10)
    for case in cases["channel"]:
        result = mutual_information(np.array(case["thetas"]), np.array(case["pi"]))
        assert result.bits == pytest.approx(case["mi_bits"], abs=1e-10)


@pytest.mark.parametrize(
    ("num_labelers", "error", "bits"),
    # To three digits the first four are what Su 5.5 prints: .667, .758, .863, .859.
    [(1, 0.05, 0.66661), (9, 0.25, 0.75780), (1, 0.01, 0.86337), (399, 0.45, 0.85919),
     pytest.param(10_000, 0.49, None, marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_values_of_su_5_5_and_ten_thousand_labelers(num_labelers, error, bits):
    exact = bsbc_mpmath(num_labelers, error, mpmath.mpf(126) / 351)
    assert bits is None or exact == pytest.approx(bits, abs=5e-6)
    found = by_both(Symmetric(error, 2), PRIOR, num_labelers=num_labelers)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12 if num_labelers < 10_000 else 1e-11)


def test_little_information_keeps_its_digits():
    """To second order I = pi0 pi1 (1 - 2 eps)^2 2 / ln 2 for eps near 1/2, here 1e-12 bits."""
    error, prior = 0.5 - 1e-6, [0.6, 0.4]
    counts, integral = by_both(Symmetric(error, 2), prior, num_labelers=1)
    expected = 0.24 * (2e-6) ** 2 * 2 / math.log(2)
    assert counts == pytest.approx(expected, rel=2e-3) and integral == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_thousand_unequal_labelers_by_two_halves(num_classes):
    """Many labelers one by one, and the same ones grouped in 3 kinds: sums over counts and the integral."""
    kinds = 0.8 / num_classes + 0.2 * matrices(5, 3, num_classes)
    kinds /= kinds.sum(axis=2, keepdims=True)
    sizes = [300, 150, 50] if num_classes == 2 else [12, 10, 8]
    rows, prior = np.repeat(kinds, sizes, axis=0), np.full(num_classes, 1 / num_classes)
    assert np.ptp(by_both(rows, prior)) < 1e-12


def test_perfect_and_useless_labelers():
    for num_classes in (2, 3):
        prior = np.full(num_classes, 1 / num_classes)
        perfect, useless = np.eye(num_classes), np.full((num_classes, num_classes), 1 / num_classes)
        one = by_both(np.stack([perfect, useless]), prior)
        np.testing.assert_allclose(one, math.log2(num_classes), atol=1e-13)
        np.testing.assert_allclose(by_both(np.stack([useless, useless]), prior), 0, atol=1e-15)


def test_classes_that_never_occur_do_not_matter():
    rows = matrices(7, 3, 4)
    two = mutual_information(rows[:, 1:3], [0.6, 0.4]).bits
    np.testing.assert_allclose(by_both(rows, [0.0, 0.6, 0.4, 0.0]), two, atol=1e-13)


@pytest.mark.parametrize("num_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_certain_and_nearly_certain_labelers(num_classes):
    """Rows with zeros and with entries down to 1e-40: two ways of summing that share nothing."""
    rng = np.random.default_rng(num_classes)
    for _ in range(40 if num_classes == 2 else 2):
        rows = rng.dirichlet(np.full(3, 0.05), (4, num_classes))
        rows = np.where(rng.random(rows.shape) < 0.2, 0.0, rows)
        rows = np.where(rows.sum(axis=2, keepdims=True) == 0, 1.0, rows)
        rows /= rows.sum(axis=2, keepdims=True)
        prior = rng.dirichlet(np.full(num_classes, 0.3))
        assert np.ptp(by_both(rows, prior)) < 2e-14


def test_a_class_that_cannot_be_says_nothing():
    from jtruth.information.mutual import average_information

    log_p = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 50))
    whole = average_information(log_p, np.array([0.4, 0.6, 0.0]))
    assert whole == pytest.approx(average_information(log_p[:, :2], np.array([0.4, 0.6])), rel=1e-9)
