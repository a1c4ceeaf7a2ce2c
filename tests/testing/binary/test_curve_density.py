"""The density of a curve is the average of the joint posteriors at its thresholds."""

import numpy as np
import pytest

from jtruth.testing import collapse, count_table, curve_density

RNG = np.random.default_rng(0)
Y = (RNG.random(60) < 0.4).astype(int)
SCORES = np.round(RNG.normal(1.5 * Y, 1.0), 1)
ODDS = np.log(2 / 3) + np.where(Y, 1, -1) * RNG.choice([1.0, 2.0], 60)


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
    ("change", "message"),
    [
        ({"curve": "lift"}, "choose one of roc"),
        ({"scores": np.zeros(60)}, "no curve between"),
        ({"scores": SCORES[1:]}, "one size"),
        ({"scores": np.full(60, np.inf)}, r"scores\[0\] is inf"),
    ],
)
def test_refused(as_installed, change, message):
    with pytest.raises(ValueError, match=message):
        curve_density(**{"log_odds": ODDS, "scores": SCORES, **change})
