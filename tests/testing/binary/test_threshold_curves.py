"""Algorithm 1 at every threshold: each point is the algorithm's own, ends and known classes are exact."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import metrics

from jtruth.testing import collapse, curve_density, curves_at_thresholds, iterate, ratio_step
from jtruth.testing.binary import threshold_curves
from jtruth.testing.binary.exact import count_table

RNG = np.random.default_rng(0)
Y = (RNG.random(80) < 0.4).astype(int)
SCORES = np.round(RNG.normal(1.5 * Y, 1.0), 1)
VOTES = np.where(RNG.random((80, 2)) < 0.2, 1 - Y[:, None], Y[:, None]).sum(axis=1)
ODDS = np.log(2 / 3) + 2 * (VOTES - 1) * np.log(4)


def test_every_point_is_the_algorithms_own():
    found = curves_at_thresholds(ODDS, SCORES)
    assert found.threshold.size == np.unique(SCORES).size + 1
    run = jax.jit(lambda y_pred: iterate(ratio_step(jnp.asarray(ODDS), y_pred), dtype=jnp.float64))
    for k in (1, 7, 20, found.threshold.size - 2):
        fit = run(jnp.asarray(found.threshold[k] <= SCORES, jnp.int32))
        np.testing.assert_allclose(found.detection[k], fit.p_detection, atol=1e-10)
        np.testing.assert_allclose(found.false_alarm[k], fit.p_false_alarm, atol=1e-10)
        assert found.converged[k] == fit.converged
        odds = ODDS + np.log(found.detection[k] / found.false_alarm[k])
        mean = (1 / (1 + np.exp(-odds)))[found.threshold[k] <= SCORES].mean()
        np.testing.assert_allclose(found.precision[k], mean, atol=1e-10)
    first = [found.false_alarm[0], found.detection[0], found.false_alarm[-1], found.detection[-1]]
    assert first == [0, 0, 1, 1] and np.isnan(found.precision[0])
    assert abs(found.precision[-1] - (1 / (1 + np.exp(-ODDS))).mean()) < 1e-12
    assert found.area_of_envelope > 0.6 and 0.6 < found.area_in_order < 1


def test_curves_are_scikit_learns_where_classes_are_known():
    """Rates are kept from 0 and 1 by .001."""
    found = curves_at_thresholds(np.where(Y == 1, np.inf, -np.inf), SCORES)
    roc = found.false_alarm, found.detection, found.threshold
    theirs = metrics.roc_curve(Y, SCORES, drop_intermediate=False)
    for ours, known in zip(roc, theirs, strict=True):
        np.testing.assert_allclose(ours, known, atol=1.001e-3)
    points = found.precision[1:], found.detection[1:], found.threshold[1:]
    precision, recall, thresholds = metrics.precision_recall_curve(Y, SCORES)
    for ours, known in zip(points, (precision[:-1], recall[:-1], thresholds), strict=True):
        np.testing.assert_allclose(ours, known[::-1], atol=1.001e-3)  # without their point where nothing is


def test_blocks_change_no_point(monkeypatch):
    whole = curves_at_thresholds(ODDS, SCORES)
    monkeypatch.setattr(threshold_curves, "_AT_ONCE", 8 * 16)
    parts = curves_at_thresholds(ODDS, SCORES)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_one_threshold():
    flat = curves_at_thresholds(ODDS, np.zeros(80))
    assert flat.area_in_order == 0.5 and flat.threshold.tolist() == [np.inf, 0.0]


@pytest.mark.parametrize(("curve", "pair"), [("roc", ("false_alarm_rate", "recall")),
                                             ("precision_recall", ("recall", "precision"))])  # fmt: skip
def test_average_of_joint_posteriors(curve, pair):
    found = curve_density(ODDS, SCORES, curve=curve, thresholds=3, cells=20)
    distinct = np.unique(SCORES)[1:]
    assert found.threshold.tolist() == distinct[[0, round((distinct.size - 1) / 2), -1]].tolist()
    expected = np.zeros((20, 20))
    for threshold in found.threshold:
        joint = count_table(collapse(ODDS, (threshold <= SCORES).astype(int))).joint(*pair)
        place = np.minimum((joint.points * 20 + 1e-12).astype(int), 19)
        np.add.at(expected, tuple(place.T), joint.weight * 400 / 3)
    np.testing.assert_allclose(found.density.mean(), 1.0)
    # A point on an edge between cells may fall to either side by rounding.
    assert np.abs(found.density - expected).sum() < 0.05 * expected.sum()


def test_known_classes_lie_on_the_curve():
    found = curve_density(np.where(Y == 1, np.inf, -np.inf), SCORES, thresholds=5, cells=7)
    expected = np.zeros((7, 7))
    for threshold in found.threshold:
        rates = [(threshold <= SCORES)[c == Y].mean() for c in (0, 1)]
        expected[tuple(min(int(rate * 7), 6) for rate in rates)] += 49 / 5
    np.testing.assert_allclose(found.density, expected)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (curve_density, {"curve": "lift"}, "curve must be one of"),
        (curve_density, {"scores": np.zeros(80)}, "no curve between"),
        (curve_density, {"scores": SCORES[1:]}, "log_odds has shape"),
        (curve_density, {"scores": np.full(80, np.inf)}, r"scores\[0\] is inf"),
        (curves_at_thresholds, {"scores": SCORES[1:]}, "log_odds has shape"),
        (curves_at_thresholds, {"scores": np.full(80, np.nan)}, r"scores\[0\] is nan"),
    ],
)
def test_bad_input(as_installed, make, change, message):
    with pytest.raises(ValueError, match=message):
        make(**{"log_odds": ODDS, "scores": SCORES, **change})
