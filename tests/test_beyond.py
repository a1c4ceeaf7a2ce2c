"""Formulas of docs/papers/beyond.md, computed as written there, beside enumeration and jtruth.

Other tests that the page names are not repeated; here are the remaining claims: errors of convolution and of
the Fourier transform, the unidentified example, the bound of the flat part, and that the evidence by
tempering is unbiased.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm, t

from jtruth.stats.draws import predictive
from jtruth.stats.poisson_binomial import pmf


def flips(p):
    """The Poisson-binomial distribution of independent flips, from 0 on."""
    dist, start = pmf(p, np.ones(p.size, int))
    assert start == 0 and dist.size == p.size + 1
    return dist


def test_a_convolution_keeps_relative_errors_and_a_fourier_transform_does_not():
    """(1 + 3u)^N - 1 against exact fractions, N = 120."""
    rho = np.round(np.random.default_rng(0).random(120), 6)
    exact, dist = [Fraction(1)], np.ones(1)
    for p in rho:
        q = Fraction(float(p))
        exact = [(1 - q) * x + q * y for x, y in zip([*exact, 0], [0, *exact], strict=True)]
        dist = np.append(dist, 0) * (1 - p) + np.insert(dist, 0, 0) * p
    off = [abs(float(Fraction(float(x)) / e - 1)) for x, e in zip(dist, exact, strict=True)]
    assert max(off) < (1 + 3 * 2.0**-53) ** 120 - 1
    assert dist == pytest.approx(flips(rho), rel=1e-12)
    phase = np.exp(2j * np.pi * np.arange(121) / 121)
    fourier = np.fft.fft(np.prod(1 - rho[:, None] + rho[:, None] * phase, axis=0)).real / 121
    assert np.abs(fourier - dist).max() < 1e-15  # absolute; but the ends of the distribution are far smaller:
    assert np.abs(fourier / dist - 1).max() > 1


def test_the_example_of_section_2_is_not_identified():
    """Labelers who copy one label: all (r, e) of a line give each (label, prediction) the same chance."""
    seen = 0.8

    def dist(r, e):
        return {(z, p): sum(0.5 * (1 - e if z == y else e) * (r if p == y else 1 - r) for y in (0, 1))
                for z, p in itertools.product((0, 1), repeat=2)}  # fmt: skip

    first = dist(seen, 0.0)
    for r in (0.85, 0.9, 1.0):
        e = (r - seen) / (2 * r - 1)
        assert 0 <= e < 0.5 and r * (1 - e) + (1 - r) * e == pytest.approx(seen)
        assert dist(r, e) == pytest.approx(first, abs=1e-15)


def test_the_dist_of_section_2_is_a_density_that_never_loses_more_than_its_flat_part():
    """(2) by quadrature over log tau, beside `predictive`."""
    at, sd, mu, sigma, w0 = 1.2, 0.3, np.log(0.4), 0.5, 0.02
    logits = np.linspace(-30, 30, 20_001)
    step = norm.ppf((np.arange(200) + 0.5) / 200)
    scale = np.sqrt(sd**2 + np.exp(2 * (mu + sigma * step)))
    dist = sum(t.pdf((logits - at) / s, 3) / s for s in scale) / scale.size
    assert np.trapezoid(dist, logits) == pytest.approx(1.0, abs=1e-3)
    theta = expit(logits)
    density = (1 - w0) * dist / (theta * (1 - theta)) + w0
    assert (-np.log(density)).max() <= -np.log(w0)
    opinions = [(at, s) for s in scale]
    upto = np.cumsum(density * theta * (1 - theta)) * (logits[1] - logits[0])
    ends = np.interp([0.05, 0.95], upto / upto[-1], theta)
    assert predictive(opinions, flat=w0).equal_tails(0.9) == pytest.approx(ends, abs=1e-3)


def test_evidence_by_tempering_is_unbiased():
    """(5): every history of two points, three temperatures, two states, with its probability."""
    prior, like, beta = np.array([0.7, 0.3]), np.array([0.2, 1.5]), (0.0, 0.3, 1.0)
    bridge = prior * like ** beta[1]
    bridge = bridge / bridge.sum()
    accept = [min(1.0, bridge[1 - k] / bridge[k]) for k in (0, 1)]
    move = np.array([[1 - accept[0], accept[0]], [accept[1], 1 - accept[1]]])  # Metropolis, leaves p_1
    assert bridge @ move == pytest.approx(bridge)
    mean = 0.0
    for points in itertools.product((0, 1), repeat=2):
        w = like[list(points)] ** (beta[1] - beta[0])
        for parents in itertools.product((0, 1), repeat=2):  # indices of resampled points
            for moved in itertools.product((0, 1), repeat=2):
                chance = prior[list(points)].prod() * (w[list(parents)] / w.sum()).prod()
                chance *= np.prod([move[points[j], m] for j, m in zip(parents, moved, strict=True)])
                mean += chance * w.mean() * (like[list(moved)] ** (beta[2] - beta[1])).mean()
    assert mean == pytest.approx(prior @ like, abs=1e-14)


def test_gold_of_any_weight_is_unbiased_with_the_stated_variance():
    """(3) over all 20 gold samples of 3 from 6, and its least variance."""
    rng = np.random.default_rng(0)
    u, n, size = rng.random(6), 3, 6
    f = 0.5 * u + 0.5 * rng.random(6)
    samples = [list(s) for s in itertools.combinations(range(size), n)]
    covariance = np.cov(u, f)
    best = covariance[0, 1] / covariance[1, 1]
    variances = {}
    for power in (-0.5, 0.0, best, best + 0.2, 1.0):
        found = np.array([power * f.mean() + (u - power * f)[s].mean() for s in samples])
        assert found.mean() == pytest.approx(u.mean(), abs=1e-14)
        stated = (1 - n / size) * (u - power * f).var(ddof=1) / n
        assert found.var() == pytest.approx(stated, rel=1e-12)
        variances[power] = stated
    assert min(variances, key=variances.get) == best
    assert variances[best] == pytest.approx((1 - np.corrcoef(u, f)[0, 1] ** 2) * variances[0.0])
