"""Formulas of docs/papers/beyond.md, computed as they are written there, beside enumeration and jtruth.

What stands in other tests (the page names them) is not repeated; here are errors of convolution and of the
Fourier transform, and the bound of the flat part.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm, t

from jtruth.stats.draws import predictive
from jtruth.stats.poisson_binomial import pmf


def flips(p):
    """The Poisson-binomial law of independent flips, from 0 on."""
    law, start = pmf(p, np.ones(p.size, int))
    assert start == 0 and law.size == p.size + 1
    return law


def test_a_convolution_keeps_relative_errors_and_a_fourier_transform_does_not():
    """(1 + 3u)^N - 1 against exact fractions, N = 120."""
    rho = np.round(np.random.default_rng(0).random(120), 6)
    exact, law = [Fraction(1)], np.ones(1)
    for p in rho:
        q = Fraction(float(p))
        exact = [(1 - q) * x + q * y for x, y in zip([*exact, 0], [0, *exact], strict=True)]
        law = np.append(law, 0) * (1 - p) + np.insert(law, 0, 0) * p
    off = [abs(float(Fraction(float(x)) / e - 1)) for x, e in zip(law, exact, strict=True)]
    assert max(off) < (1 + 3 * 2.0**-53) ** 120 - 1
    assert law == pytest.approx(flips(rho), rel=1e-12)
    phase = np.exp(2j * np.pi * np.arange(121) / 121)
    fourier = np.fft.fft(np.prod(1 - rho[:, None] + rho[:, None] * phase, axis=0)).real / 121
    assert np.abs(fourier - law).max() < 1e-15  # absolute; but the ends of the law are far smaller:
    assert np.abs(fourier / law - 1).max() > 1


def test_the_law_of_section_2_is_a_density_that_never_loses_more_than_its_flat_part():
    """(2) by quadrature over log tau, beside `predictive`."""
    at, sd, mu, sigma, w0 = 1.2, 0.3, np.log(0.4), 0.5, 0.02
    logits = np.linspace(-30, 30, 20_001)
    step = norm.ppf((np.arange(200) + 0.5) / 200)
    scale = np.sqrt(sd**2 + np.exp(2 * (mu + sigma * step)))
    law = sum(t.pdf((logits - at) / s, 3) / s for s in scale) / scale.size
    assert np.trapezoid(law, logits) == pytest.approx(1.0, abs=1e-3)
    theta = expit(logits)
    density = (1 - w0) * law / (theta * (1 - theta)) + w0
    assert (-np.log(density)).max() <= -np.log(w0)
    opinions = [(at, s) for s in scale]
    upto = np.cumsum(density * theta * (1 - theta)) * (logits[1] - logits[0])
    ends = np.interp([0.05, 0.95], upto / upto[-1], theta)
    assert predictive(opinions, flat=w0).equal_tails(0.9) == pytest.approx(ends, abs=1e-3)
