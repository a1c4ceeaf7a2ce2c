"""Posterior of the error rate with an uncertain mislabeling rate (section 7): quadrature, calibration."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from jtruth.lam_stork import error_rate_posterior


@pytest.mark.parametrize("counts", [((8, 60), (2, 20)), ((0, 15), (0, 3)), ((40, 90), (9, 25))])
def test_posterior_is_the_double_integral(counts):
    (d, size), (k, audit) = counts
    constant = 2 * special.binom(size, d) / special.beta(k + 0.5, audit - k + 0.5)

    def density(e):
        def inner(v):
            """Beta(k + 1/2, audit - k + 1/2) at m = v^2, so that it is finite at 0, times the binomial."""
            m = v * v
            p = e + m - 2 * e * m
            prior = constant * v ** (2 * k) * (1 - m) ** (audit - k - 0.5)
            return prior * p**d * (1 - p) ** (size - d)

        return integrate.quad(inner, 0, 1, limit=200, epsabs=1e-13, points=[0.05, 0.2, 0.5, 0.9])[0]

    node, weight = np.polynomial.legendre.leggauss(80)
    e = 0.5 * (node + 1)
    pdf = np.array([density(v) for v in e])
    total = 0.5 * weight @ pdf
    found = error_rate_posterior(counts[0], mislabeling=counts[1])
    np.testing.assert_allclose(found.error.density(e), pdf / total, atol=2e-4 * pdf.max() / total)
    mean = 0.5 * weight @ (pdf * e) / total
    assert found.error.mean == pytest.approx(mean, rel=1e-4)
    square = 0.5 * weight @ (pdf * e**2) / total
    assert found.error.sd == pytest.approx(np.sqrt(square - mean**2), rel=1e-3)


def test_posterior_with_a_known_rate_is_a_truncated_beta():
    found = error_rate_posterior((70, 1_000_000), mislabeling=0.00005).error
    law = stats.beta(71, 999_931)
    left, right = law.cdf(0.00005), law.cdf(0.99995)
    for u in (0.01, 0.5, 0.99):
        expected = (law.ppf(left + u * (right - left)) - 0.00005) / 0.9999
        assert float(found._quantile(np.array([u]))[0]) == pytest.approx(expected, rel=1e-4)
    assert error_rate_posterior((3, 40), mislabeling=0.0).error.mean == pytest.approx(4 / 42, rel=1e-6)


def test_posterior_of_large_and_lopsided_problems():
    """Ten million tests, an audit of ten: the law of e is that of a minus m, wide; and it learns m from a."""
    found = error_rate_posterior((1_000_000, 10_000_000), mislabeling=(0, 10))
    assert found.error.interval(0.999).high < 0.1005 and 0 < found.mislabeling_mean < 0.1
    audit = stats.beta(0.5, 10.5)
    m = np.linspace(0, 0.1, 200_001)[1:-1] - 2.5e-7
    weight = audit.pdf(m) / (1 - 2 * m)  # Beta of the audit, Jacobian of e(a, m), a nearly known
    assert found.mislabeling_mean == pytest.approx(weight @ m / weight.sum(), rel=5e-3)
    confused = error_rate_posterior((30, 100), mislabeling=(1, 2))
    conflict = error_rate_posterior((5, 1000), mislabeling=(30, 100))
    assert "contradict the mislabeling rate 0.3" in conflict.warnings[0]
    assert "contradict" in error_rate_posterior((5, 1000), mislabeling=0.02).warnings[0]
    assert error_rate_posterior((12, 1000), mislabeling=0.02).warnings == ()
    assert 0.2 < confused.probability_reversed < 0.8 and "more often than right" in confused.warnings[0]
