"""Rogan-Gladen against its published uses and the binomials behind it."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from jtruth.lam_stork import rogan_gladen
from jtruth.lam_stork.error_rate import corrected_share


def test_published_example():
    """Brucellosis in cows, manual of epiR: 23 of 150, sensitivity .96, specificity .89: 5.1 per 100."""
    found = rogan_gladen((23, 150), sensitivity=0.96, specificity=0.89, method="exact")
    assert f"{100 * found.value:.1f}" == "5.1"
    low, high = stats.binomtest(23, 150).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx(((low - 0.11) / 0.85, (high - 0.11) / 0.85))


def test_unbiased_when_the_judge_is_known():
    """Exactly: over all counts, weighted by the binomial; the same for the variance."""
    x = np.arange(31)
    weight = stats.binom.pmf(x, 30, 0.25 * 0.9 + 0.75 * 0.2)
    values = np.divide(*corrected_share(x / 30, 0.9, 0.8))
    assert weight @ values == pytest.approx(0.25, rel=1e-12)
    p = 0.375
    assert weight @ (values - 0.25) ** 2 == pytest.approx(p * (1 - p) / 30 / 0.49, rel=1e-10)


def test_delta_method():
    found = rogan_gladen((680, 1000), sensitivity=(45, 50), specificity=(40, 50), method="delta", level=0.9)
    share = (0.68 + 0.8 - 1) / 0.7
    variance = (0.68 * 0.32 / 1000 + (1 - share) ** 2 * 0.8 * 0.2 / 50 + share**2 * 0.9 * 0.1 / 50) / 0.7**2
    half = stats.norm.isf(0.05) * np.sqrt(variance)
    assert (found.value, found.standard_error, found.low, found.high) == pytest.approx(
        (share, np.sqrt(variance), share - half, share + half)
    )


def test_adjusted_is_lang_and_reiczigel():
    """Written out for one example; with a known judge it is Agresti and Coull's interval, moved."""
    z = stats.norm.isf(0.025)
    found = rogan_gladen((30, 400), sensitivity=(28, 30), specificity=(58, 60), method="adjusted")
    n = 400 + z * z
    p, se, sp = (30 + z * z / 2) / n, 29 / 32, 59 / 62
    centre = (p + sp - 1) / (se + sp - 1)
    shift = 2 * z * z * (centre * se * (1 - se) / 32 - (1 - centre) * sp * (1 - sp) / 62)
    spread = p * (1 - p) / n + centre**2 * se * (1 - se) / 32 + (1 - centre) ** 2 * sp * (1 - sp) / 62
    half = z * np.sqrt(spread) / (se + sp - 1)
    assert (found.low, found.high) == pytest.approx((centre + shift - half, centre + shift + half))
    assert found.value == pytest.approx((30 / 400 + 58 / 60 - 1) / (28 / 30 + 58 / 60 - 1))
    known = rogan_gladen((30, 400), sensitivity=0.9, specificity=0.95, method="adjusted")
    ends = (p + np.array([-1, 1]) * z * np.sqrt(p * (1 - p) / n) - 0.05) / 0.85
    assert (known.low, known.high) == pytest.approx(tuple(ends))


def test_bootstrap_redraws_the_three_counts():
    rates = {"sensitivity": (9, 10), "specificity": (17, 20), "method": "bootstrap", "key": 3}
    found = rogan_gladen((60, 100), **rates)
    x, a, b = np.meshgrid(np.arange(101), np.arange(11), np.arange(21), indexing="ij")
    weight = stats.binom.pmf(x, 100, 0.6) * stats.binom.pmf(a, 10, 0.9) * stats.binom.pmf(b, 20, 0.85)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = ((x / 100 + b / 20 - 1) / (a / 10 + b / 20 - 1)).ravel()
    order = np.argsort(values)
    cumulative = np.cumsum(weight.ravel()[order])
    ends = np.searchsorted(values[order], [found.low, found.high])
    # Within 4.5 standard errors of a share of 10 000 draws (false alarm 1e-5), and one atom.
    np.testing.assert_allclose(cumulative[ends], [0.025, 0.975], atol=4.5 * 0.00156 + 0.002)
    assert rogan_gladen((60, 100), **rates) == found


def test_exact_interval_holds_its_level():
    """Exactly: over all counts of a small problem."""
    sizes, truth = (12, 6, 6), (0.3, 0.8, 0.9)
    called = truth[0] * truth[1] + (1 - truth[0]) * (1 - truth[2])
    dists = [
        stats.binom.pmf(np.arange(n + 1), n, p) for n, p in zip(sizes, (called, *truth[1:]), strict=True)
    ]
    held = 0.0
    for x, a, b in itertools.product(*(range(n + 1) for n in sizes)):
        if a + b != 6:
            found = rogan_gladen((x, 12), sensitivity=(a, 6), specificity=(b, 6), method="exact", level=0.7)
            held += dists[0][x] * dists[1][a] * dists[2][b] * (found.low <= truth[0] <= found.high)
    assert held > 0.7


def test_what_the_warnings_say():
    assert rogan_gladen((680, 1000), sensitivity=0.9, specificity=0.8).warnings == ()
    found = rogan_gladen((50, 1000), sensitivity=0.9, specificity=0.9)
    assert (
        found.value == pytest.approx(-0.0625) and not found.inside and "outside [0, 1]" in found.warnings[0]
    )
    sure = rogan_gladen((680, 1000), sensitivity=(20, 20), specificity=(18, 20), method="delta")
    assert any("all 20 observations of sensitivity agree" in text for text in sure.warnings)
    assert rogan_gladen((680, 1000), sensitivity=(20, 20), specificity=(18, 20)).warnings == ()
    assert "worse than guessing" in rogan_gladen((500, 1000), sensitivity=0.3, specificity=0.4).warnings[0]
    near = rogan_gladen((10, 1000), sensitivity=0.9, specificity=(99, 100))
    assert near.inside and "reaches beyond [0, 1]" in near.warnings[-1]
    lost = rogan_gladen(
        (50, 100), sensitivity=(3, 4), specificity=(2, 4), method="bootstrap", key=jax.random.key(0)
    )
    assert any("The rate is undefined in" in text for text in lost.warnings)
    wide = rogan_gladen((50, 100), sensitivity=(3, 4), specificity=(2, 4), method="exact")
    assert (wide.low, wide.high) == (-np.inf, np.inf) and "unbounded" in wide.warnings[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"called": 0.68}, "give the pair"),
        ({"called": (7, 5)}, r"called is \(7, 5\)"),
        ({"called": (7.5, 10)}, "whole numbers"),
        ({"sensitivity": 90.0}, "sensitivity is 90.0"),
        ({"specificity": (1, 2, 3)}, r"specificity is \(1, 2, 3\)"),
        ({"specificity": 0.1}, "add up to 1"),
        ({"sensitivity": (1, 2), "specificity": (1, 2)}, "add up to 1"),
        ({"method": "wald"}, "method must be one of"),
        ({"level": 1.0}, "level is 1.0"),
    ],
)
def test_bad_input(options, message, as_installed):
    good = {"called": (680, 1000), "sensitivity": 0.9, "specificity": 0.8}
    with pytest.raises(ValueError, match=message):
        rogan_gladen(**good | options)
