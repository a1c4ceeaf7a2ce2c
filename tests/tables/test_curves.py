"""Curves of one table are scikit-learn's; bands cover as stated."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from jtruth.tables.curves import against_rest, curves


def one_table(y, bins, size):
    table = np.zeros((1, 2, size), np.int64)
    np.add.at(table, (0, y, bins), 1)
    return table


@pytest.mark.parametrize("seed", range(5))
def test_with_known_classes_everything_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    y[:2] = 0, 1
    score = np.clip((2 * y + rng.normal(2, 2, 60)).astype(int), 0, 7)
    found = curves(one_table(y, score, 8))
    false_alarm, detection, _ = roc_curve(y, score, drop_intermediate=False)
    here = np.unique(np.stack([found.false_alarm[0], found.detection[0]]), axis=1)
    np.testing.assert_allclose(here, np.unique(np.stack([false_alarm, detection]), axis=1), atol=1e-12)
    np.testing.assert_allclose(found.auc.mean, roc_auc_score(y, score), atol=1e-12)
    np.testing.assert_allclose(found.average_precision.mean, average_precision_score(y, score), atol=1e-12)
    for most in (0.1, 0.37, 1.0):
        area = most * found.partial_auc(most).mean
        standard = 0.5 * (1 + (area - most**2 / 2) / (most - most**2 / 2))
        np.testing.assert_allclose(standard, roc_auc_score(y, score, max_fpr=most), atol=1e-12)
    costs = [2 * ((score >= t) & (y == 0)).mean() + 3 * ((score < t) & (y == 1)).mean() for t in range(9)]
    mine = [found.cost_at(8 - t, 2, 3).mean for t in range(9)]
    np.testing.assert_allclose(mine, costs, atol=1e-12)
    assert mine[8 - found.best_thresholds(2, 3)[0]] == min(mine)
    shares = [y[score == t].mean() if (score == t).any() else np.nan for t in range(8)]
    np.testing.assert_allclose([found.positives_in(t).mean for t in range(8)], shares, atol=1e-12)
    precision, recall, _ = precision_recall_curve(y, score)
    mine = {
        (round(r, 9), round(p, 9))
        for r, p in zip(found.detection[0, 1:], found.precision[0, 1:], strict=True)
        if p == p
    }
    theirs = {(round(r, 9), round(p, 9)) for r, p in zip(recall[:-1], precision[:-1], strict=True)}
    assert theirs <= mine
    assert np.isnan(found.precision[0, 0])  # nothing is predicted: there is no such point


def test_area_of_the_scores_lies_within_what_bins_hide():
    """Any order inside the bins: the area of full scores differs by at most `hidden`, and reaches it."""
    rng = np.random.default_rng(0)
    y, bins = rng.integers(0, 2, 80), rng.integers(0, 5, 80)
    found = curves(one_table(y, bins, 5))
    for sign in (1, -1):
        full = bins + sign * 0.5 * y  # the best and the worst order inside every bin
        difference = roc_auc_score(y, full) - found.auc.mean
        np.testing.assert_allclose(difference, sign * found.hidden.mean, atol=1e-12)


def test_bands_hold_draws_pointwise_and_whole():
    rng = np.random.default_rng(1)
    n1 = rng.multinomial(200, [0.1, 0.2, 0.3, 0.4], 2000)
    n0 = rng.multinomial(300, [0.4, 0.3, 0.2, 0.1], 2000)
    found = curves(np.stack([n0, n1], axis=1))
    band = found.roc(0.9, 21)
    lines = np.array(
        [np.interp(band.x, a, b) for a, b in zip(found.false_alarm, found.detection, strict=True)]
    )
    inside = (band.low <= lines) & (lines <= band.high)
    equal = np.isin(band.x, np.linspace(0, 1, 21)[1:-1])
    assert np.abs(inside[:, equal].mean(0) - 0.9).max() < 0.02
    whole = ((band.low_all - 1e-12 <= lines) & (lines <= band.high_all + 1e-12)).all(1).mean()
    assert 0.9 <= whole < 0.97 and inside.all(1).mean() < 0.9
    for line in band[1:6]:  # whole curves
        assert line[0] == 0 and line[-1] == 1 and (np.diff(line) >= 0).all()
    at = np.stack([found.false_alarm.mean(axis=0), found.detection.mean(axis=0)])
    assert (np.interp(at[0, 1:], band.x[1:], band.mean[1:]) >= at[1, 1:] - 1e-12).all()
    within = np.isin(band.x, np.linspace(0, 1, 21)) & (band.x > 0)
    chords = np.interp(band.x, *at)  # randomising between two thresholds reaches these
    expected = np.maximum(lines.mean(axis=0), chords)[within]
    np.testing.assert_allclose(band.mean[within], expected, atol=1e-12)
    assert (band.low_all <= band.low + 1e-12).all() and (band.high <= band.high_all + 1e-12).all()


def test_lines_go_up_a_vertical_step_and_keep_their_first_point():
    """Two thresholds at false-alarm rate 0: the line starts at the upper; precision at its first."""
    found = curves(np.array([[[2.0, 2, 0, 0], [1, 1, 2, 0]]]))
    assert found.detection_by(0).mean == 0.5 and found.detection_by(0.25).mean == 0.625
    assert found.precision_by(0.1).mean == 1.0 and found.precision_by(1).mean == 0.5
    band = found.roc(points=5)
    np.testing.assert_allclose(band.mean[1:], 0.5 + 0.5 * band.x[1:])
    assert (band.x[0], band.mean[0]) == (0, 0)


@pytest.mark.parametrize("rows", [(0, 1), (1, 0)])
def test_a_class_without_samples_has_no_curve(rows):
    found = curves(np.array([[[3, 2, 1], [0, 0, 0]]])[:, rows])
    assert np.isnan(found.auc.mean) and np.isnan(found.roc().mean).all()
    assert np.isnan(found.partial_auc(0.5).mean)
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        found.partial_auc(0)
    with pytest.raises(ValueError, match="2 bins or more"):
        curves(np.ones((1, 2, 1)))


def test_one_against_the_rest():
    tables = np.arange(18.0).reshape(1, 3, 6)
    rest, own = against_rest(tables, 1)[0]
    np.testing.assert_array_equal(own, tables[0, 1])
    np.testing.assert_array_equal(rest, tables[0, 0] + tables[0, 2])
