"""Mixtures of opinions times a measurement: by quadrature, by limits, and by simulation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit

from jtruth.stats.predictive import Opinion, opinion, predictive
from jtruth.stats.student import StudentEstimate

PARTS = [Opinion(1.4, 0.3, 2.0), Opinion(-0.5, 0.8, 1.0)]


def student(z):
    """Density of Student's t on 3 degrees of freedom, in closed form: it is asked for very often."""
    return 6 * np.sqrt(3) / (np.pi * (3 + z**2) ** 2)


def density(z, flat=0.1, measured=None):
    """As the docstring has it, as a density of the logit z."""
    x = expit(z)
    parts = [w * student((z - c) / s) / s for c, s, w in PARTS]
    prior = sum(parts) * (1 - flat) / 3 + flat * x * (1 - x)
    return prior if measured is None else prior * float(measured.density(np.array(x)))


def by_quadrature(f, measured):
    pieces = np.linspace(-25, 25, 101)  # the logit of one half is among them
    parts = [
        [quad(lambda z, g=g: g(expit(z)) * density(z, measured=measured), a, b)[0] for g in (f, np.ones_like)]
        for a, b in pairwise(pieces)
    ]
    total = np.sum(parts, axis=0)
    return total[0] / total[1]


@pytest.mark.parametrize("measured", [None, StudentEstimate(0.6, 0.05, 7.0, 0.0, 1.0)])
def test_mean_and_weights_by_quadrature(measured):
    found = predictive(PARTS, 0.1, measured)
    assert found.law.mean == pytest.approx(by_quadrature(lambda x: x, measured), abs=2e-4)
    below = by_quadrature(lambda x: float(x < 0.5), measured)  # 0.5 is an end of a piece
    assert (found.law.draws < 0.5).mean() == pytest.approx(below, abs=1e-3)
    assert found.weights.sum() + found.flat == pytest.approx(1)
    if measured is None:
        np.testing.assert_allclose([*found.weights, found.flat], [0.6, 0.3, 0.1], atol=1e-3)
        return
    evidence = [
        quad(lambda x, p=p: p(x) * float(measured.density(np.array(x))), 0, 1, points=[0.5, 0.6, 0.7])[0]
        for p in (
            *(lambda x, o=o: o.weight * 0.3 * student((logit(x) - o.centre) / o.scale)
              / o.scale / (x * (1 - x)) for o in PARTS),
            lambda x: 0.1,
        )
    ]  # fmt: skip
    np.testing.assert_allclose([*found.weights, found.flat], np.array(evidence) / sum(evidence), rtol=2e-3)


def test_opinions_that_count_half_or_twice():
    """By a sum over an even grid; power 1 changes nothing, and the measurement is never raised."""
    measured = StudentEstimate(0.6, 0.05, 7.0, 0.0, 1.0)
    z = np.linspace(-25, 25, 100_001)
    prior, likelihood = np.array([density(one) for one in z]), measured.density(expit(z))
    for power in (0.5, 1.0, 2.0):
        mass = prior**power * likelihood
        found = predictive(PARTS, 0.1, measured, power=power)
        assert found.law.mean == pytest.approx(mass @ expit(z) / mass.sum(), abs=2e-4)
        assert found.weights.sum() + found.flat == pytest.approx(1)
    with pytest.raises(ValueError, match="power is 0"):
        predictive(PARTS, 0.1, measured, power=0.0)


def test_a_good_measurement_has_the_last_word():
    """Whatever opinions say, the law goes to the measurement's as it gets better."""
    for centre in (0.1, 0.55, 0.97):
        for scale in (0.02, 1e-3, 1e-5):
            measured = StudentEstimate(centre, scale, 500.0, 0.0, 1.0)
            found = predictive([Opinion(1.4, 0.2)], 0.1, measured).law
            away = abs(found.mean - centre) / scale
            if scale < 1e-2:
                assert away < 0.1 and found.sd == pytest.approx(scale, rel=0.1)
    certain = predictive(PARTS, 0.1, StudentEstimate(0.3, 0.0, 5.0, 0.0, 1.0))
    assert certain.law.mean == 0.3 and certain.law.sd == 0 and certain.flat == 0.1


def test_no_measurement_and_no_opinion_say_nothing():
    flat = StudentEstimate(0.5, np.inf, 1.0, 0.0, 1.0)
    for measured in (None, flat):
        law = predictive((), 1.0, measured).law
        assert law.mean == pytest.approx(0.5, abs=1e-3) and law.sd == pytest.approx(12**-0.5, abs=1e-3)
    law, same = (predictive(PARTS, 0.1, m).law for m in (None, flat))
    np.testing.assert_allclose(law.draws, same.draws, atol=2e-3)
    alone = predictive((), 1.0, StudentEstimate(0.9, 0.1, 3.0, 0.0, 1.0)).law
    expected = StudentEstimate(0.9, 0.1, 3.0, 0.0, 1.0)
    assert alone.mean == pytest.approx(expected.mean, abs=1e-3)
    assert alone.sd == pytest.approx(expected.sd, rel=0.01)


def test_other_bounds_are_the_same_law_stretched():
    unit = predictive(PARTS, 0.1, StudentEstimate(0.7, 0.04, 9.0, 0.0, 1.0)).law
    wide = predictive(PARTS, 0.1, StudentEstimate(0.4, 0.08, 9.0, -1.0, 1.0), (-1.0, 1.0)).law
    np.testing.assert_allclose(wide.draws, 2 * unit.draws - 1, atol=1e-3)


def test_intervals_hold_what_the_model_says():
    """Truths drawn from the prior, measured with known error: 600 sets, 4 standard errors of .95."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(600):
        which = rng.choice(3, p=[0.6, 0.3, 0.1])
        x = (
            rng.random()
            if which == 2
            else expit(PARTS[which].centre + PARTS[which].scale * rng.standard_t(3))
        )
        seen = x + 0.05 * rng.standard_t(10)
        low, high, _ = predictive(PARTS, 0.1, StudentEstimate(seen, 0.05, 10.0, 0.0, 1.0)).law.interval(0.95)
        inside += low <= x <= high
    assert abs(inside / 600 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 600)


def test_what_draws_say():
    draws = np.array([0.2, 0.5, np.nan, 0.9])
    found = opinion(draws, 9.0)
    z = logit((draws[[0, 1, 3]] * 9 + 0.5) / 10)
    assert found.centre == pytest.approx(z.mean()) and found.scale == pytest.approx(z.std())
    assert np.isfinite(opinion(np.ones(5), 40.0).centre)
    assert opinion(2 * draws - 1, 9.0, (-1.0, 1.0)).centre == pytest.approx(found.centre)


def test_a_ratio_of_counts_may_be_one():
    """Half a count is added and taken away again: what all draws say is in the interval."""
    said = opinion(np.ones(50), 40.0)._replace(scale=0.2)
    law = predictive([said], 0.02, size=40.0).law
    assert law.interval(0.95).high == 1 and (law.draws == 1).mean() > 0.3
    half = opinion(np.full(50, 0.5), 40.0)._replace(scale=1e-4)
    assert predictive([half], 1e-6, size=40.0).law.mean == pytest.approx(0.5, abs=1e-4)
    sure = predictive([said], 0.02, StudentEstimate(0.8, 1e-4, 50.0, 0.0, 1.0), size=40.0).law
    assert sure.mean == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize(
    ("parts", "flat"),
    [(PARTS, 0.0), ([], 0.5), ([Opinion(0.0, 0.0)], 0.1), ([Opinion(np.inf, 1.0)], 0.1),
     ([Opinion(0.0, 1.0, 0.0)], 0.1)],
)  # fmt: skip
def test_parts_that_cannot_be(parts, flat, as_installed):
    with pytest.raises(ValueError, match=r"flat is|needs a finite centre"):
        predictive(parts, flat)
