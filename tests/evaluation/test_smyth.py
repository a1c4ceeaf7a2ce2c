"""Smyth's grading of one labeler by the others, and Carlotto's accuracy."""

import numpy as np
import pytest

import jtruth as jt
from benchmarks._papers.agreement_accuracy import carlotto_accuracy
from jtruth.lam_stork.rates import true_error_rate
from jtruth.learning import Smoothing, fit_dawid_skene
from tests.learning.crowds import from_matrix, simulate


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_labeler_is_graded_by_em_of_all_others(classes):
    labels = from_matrix(simulate(5, 60, 5, classes, 0.8, 0.9)[0], classes)
    split = labels.split_rater(2)
    found = jt.evaluate(split.y_pred, split.labels, method="smyth")
    em = fit_dawid_skene(split.labels, smoothing=Smoothing(0.01, 0.01))
    truth = em.class_posterior.argmax(axis=1)
    assert found.accuracy.mean == pytest.approx((truth == np.asarray(split.y_pred)).mean())
    table = np.zeros((classes, classes))
    np.add.at(table, (truth, np.asarray(split.y_pred)), 1)
    np.testing.assert_allclose(found.posterior.cells(0.95).mean, table)
    assert any("taken as the truth (method='smyth')" in text for text in found.warnings)
    said = "The most probable classes by EM were taken as true, so there are no intervals."
    assert said in found.summary(full=True)


def test_conditions_are_said_and_gold_is_kept():
    z, y = simulate(5, 60, 5, 2, 0.8, 0.9)
    z[:, 4] = np.random.default_rng(0).integers(0, 2, 60)
    found = jt.evaluate(z[:, 0].clip(0), from_matrix(z[:, 1:], 2), method="smyth", gold=y)
    assert any("Labelers 3 are not clearly better than chance" in text for text in found.warnings)
    assert found.accuracy.mean == pytest.approx((z[:, 0].clip(0) == y).mean())


def test_carlotto_is_lam_and_stork_for_two_classes_and_simulated_for_four():
    assert 1 - carlotto_accuracy(0.93, 0.99, 2) == pytest.approx(true_error_rate(0.07, 0.01))
    assert carlotto_accuracy(0.83 * 0.9 + 0.17 * 0.1 / 6, 0.9, 7) == pytest.approx(0.83)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 100_000)
    wrong = lambda share: np.where(rng.random(y.size) < share, (y + rng.integers(1, 4, y.size)) % 4, y)  # noqa: E731
    agree = (wrong(0.2) == wrong(0.1)).mean()
    assert agree == pytest.approx(0.8 * 0.9 + 0.2 * 0.1 / 3, abs=5 * 0.0014)  # 5 sd: 6e-7
    with pytest.raises(ValueError, match=r"chance for 4 classes"):
        carlotto_accuracy(0.5, 0.25, 4)
    with pytest.raises(ValueError, match=r"apparent is 1\.5"):
        carlotto_accuracy(1.5, 0.9, 4)


@pytest.mark.parametrize("method", ["smyth", "majority_vote"])
def test_tables_where_some_samples_have_no_label(method):
    """A sample without a label is shared by the classes of a tie: all of them, or the most probable of EM."""
    z, _ = simulate(5, 60, 5, 2, 0.8, 0.9)
    z[::6] = -1
    labels, y_pred = from_matrix(z, 2), np.arange(60) % 4 // 2
    votes = np.asarray(labels.counts(), float)
    if method == "smyth":
        votes = fit_dawid_skene(labels, smoothing=Smoothing(0.01, 0.01)).class_posterior
    table = np.zeros((2, 2))
    for vote, u in zip(votes, y_pred, strict=True):
        best = np.isclose(vote, vote.max(), atol=1e-6)
        table[best, u] += 1 / best.sum()
    found = jt.evaluate(y_pred, labels, method=method)
    np.testing.assert_allclose(found.posterior.cells(0.95).mean, table)
    assert table.sum() == 60
