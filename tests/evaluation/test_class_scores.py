"""One class against the rest: known classes, averages of distributions, bad columns."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import jtruth as jt
from jtruth.answers.html import page_html


def case(seed=0, size=90):
    """(classes, probabilities, labels)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size)
    votes = np.where(rng.random((size, 3)) < 0.8, y[:, None], rng.integers(0, 3, (size, 3)))
    p = 0.4 * np.eye(3)[y] + 0.6 * rng.dirichlet(np.ones(3), size)
    return y, p, jt.Labels.from_matrix(votes, 3)


def test_known_classes_are_scikit_learns():
    """Every score is a bin of its own, so nothing is hidden."""
    y, p, _ = case(size=20)
    with np.errstate(divide="ignore"):
        certain = np.log(np.eye(3)[y])
    found = jt.evaluate_class_scores(p, certain, prior=np.full(3, 1 / 3), bins=20)
    for average in ("macro", "weighted"):
        theirs = roc_auc_score(y, p, multi_class="ovr", average=average)
        np.testing.assert_allclose(found.auc[average].mean, theirs, atol=1e-12)
        theirs = average_precision_score(np.eye(3)[y], p, average=average)
        np.testing.assert_allclose(found.average_precision[average].mean, theirs, atol=1e-12)
    page = page_html(found.blocks())
    assert all(f"{found.auc[average].mean:.3f}" in page for average in ("macro", "weighted"))
    for c in range(3):
        np.testing.assert_allclose(found.each[str(c)].auc.mean, roc_auc_score(y == c, p[:, c]), atol=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
def test_nobody_vouches_and_gold():
    """Averages take the same quantile of every class's posterior, predictive or by gold; gold narrows
    them."""
    y, p, labels = case()
    found = jt.evaluate_class_scores(p, labels, bins=4)
    assert all(one.interval_kind == "predictive" for one in found.each.values())
    dists, (low, high) = [one.auc for one in found.each.values()], found.auc["macro"].interval(0.95)
    assert found.auc["macro"].mean == pytest.approx(np.mean([dist.mean for dist in dists]), abs=1e-3)
    inner = [np.mean([dist.equal_tails(0.9)[k] for dist in dists]) for k in (0, 1)]
    np.testing.assert_allclose(found.auc["macro"].equal_tails(0.9), inner, atol=1e-3)
    assert found.to_dict()["averages"]["auc"]["macro"]["low"] == low
    assert "Labels cannot show" in found.summary(full=True)
    gold = np.where(np.arange(90) < 60, y, -1)
    pooled = jt.evaluate_class_scores(p, labels, bins=4, gold=gold)
    assert pooled.each["0"].interval_kind == "posterior" and pooled.each["0"].num_gold == 60
    a, b = pooled.auc["macro"].interval(0.95)
    assert b - a < high - low and "60 verified labels (gold) were used" in pooled.summary(full=True)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones((4, 2)), r"scores has shape \(4, 2\); it must be \(4 samples, 3 classes\)"),
        (np.array([[1, 1, 1], [1, np.inf, 1], [1, 1, 1], [1, 1, 1.0]]), "sample 1 for class '1' is inf"),
        ([["a"] * 3] * 4, "must be numbers"),
    ],
)
def test_refused(as_installed, scores, message):
    with pytest.raises(ValueError, match=message):
        jt.evaluate_class_scores(scores, np.zeros((4, 3)), prior=np.full(3, 1 / 3))
