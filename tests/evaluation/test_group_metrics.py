"""Metrics of a classifier, and labelers, in groups: enumeration, perfect labels, refusals."""

import itertools

import jax
import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.metrics import recall_score

import jtruth as jt
from jtruth.evaluation import Groups, compare_groups, labelers_by_group
from jtruth.evaluation.groups import PAIRED

pytestmark = pytest.mark.usefixtures("few_sets")

KEY = jax.random.key(3)


def test_tables_of_groups_are_the_exact_posterior():
    """Against the sum over all label vectors, with rows over (group, prediction) integrated out, all flat.

    There are 4000 draws: 4.5 standard errors of a mean of accuracies, whose sd is below .4.
    """
    z = np.array([[1, 1], [0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    y_pred, group, prior = np.array([1, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1]), np.array([0.4, 0.6])
    labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.2, 2)
    log_p = np.asarray(noise.log_likelihood(labels)) + np.log(prior)
    weights, values = [], []
    for y in map(np.array, itertools.product([0, 1], repeat=6)):
        counts = np.zeros((2, 4))
        np.add.at(counts, (y, 2 * group + y_pred), 1)
        rows = gammaln(1 + counts).sum() - gammaln(4 + counts.sum(axis=1)).sum()
        weights.append(log_p[np.arange(6), y].sum() + rows)
        values.append([(y == y_pred)[group == g].mean() for g in (0, 1)])
    expected = np.average(values, axis=0, weights=np.exp(weights))
    found = compare_groups(y_pred, labels, group, noise=noise, prior=prior, key=KEY).in_sample
    means = [found.values[name].mean for name in ("0", "1")]
    np.testing.assert_allclose(means, expected, atol=4.5 * 0.4 / np.sqrt(4000))
    assert found.sizes == (3, 3) and found.differences["0", "1"].mean == pytest.approx(means[0] - means[1])


@pytest.mark.parametrize("metric", ["accuracy", "recall", "kappa"])
def test_perfect_labels_give_the_metric_of_each_group(metric):
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 90), np.array(["a", "b", "c"])[np.arange(90) % 3]
    y_pred = np.where(rng.random(90) < np.where(group == "a", 0.95, 0.7), y, 1 - y)
    sure = np.where(np.eye(2, dtype=bool)[y], 0.0, -np.inf)
    found = compare_groups(y_pred, sure, group, prior=[0.5, 0.5], metric=metric, key=KEY, target="in-sample")
    for name in "abc":
        here, dist = group == name, found.values[name]
        if metric == "recall":
            assert dist.mean == pytest.approx(recall_score(y[here], y_pred[here]))
        if metric == "accuracy":
            assert dist.mean == pytest.approx((y == y_pred)[here].mean())
        assert dist.sd == pytest.approx(0, abs=1e-9)
    assert found.ranking[0] == "a" and found.best["a"] == 1.0
    shown = found.blocks()
    assert "group" in shown.question and "3 groups" in shown.about


@pytest.mark.slow
def test_the_same_items_in_two_groups_are_paired(few_lineages):
    """A classifier and judge `d` fail on the same items in both: their differences are narrower."""
    rng = np.random.default_rng(2)
    y, hard = rng.integers(0, 2, (100, 2)), rng.random(100) < 0.4
    wrong = lambda: np.where(hard[:, None], 0.9, [0.05, 0.15]) > rng.random(100)[:, None]  # noqa: E731
    y_pred, d = (np.where(wrong(), 1 - y, y).ravel() for _ in range(2))
    y, group, item = y.ravel(), np.tile(["a", "b"], 100), np.repeat(np.arange(100), 2)
    z = np.where(rng.random((200, 3)) < 0.85, y[:, None], 1 - y[:, None])
    labels = jt.Labels.from_matrix(np.column_stack([z, d]), 2).with_names(workers=list("abcd"))
    gold = np.where(item < 70, y, -1)

    def dists(gold, item, metric="accuracy"):
        by, given = Groups(group, item), {"gold": gold, "key": KEY}
        found = compare_groups(y_pred, labels, by, metric=metric, **given).in_sample
        judges = labelers_by_group(labels, by, target="in-sample", **given)
        for one, said in ((found, metric == "accuracy"), (judges, True)):
            assert (PAIRED in one.warnings) == (item is not None and said)
        return found.differences["a", "b"], judges.differences["d"]["a", "b"]

    paired = dists(gold, item)
    with pytest.MonkeyPatch.context() as patch:  # no pairs: labels are not read again
        for room in ("compare", "group_labelers"):
            patch.setattr(f"jtruth.evaluation.{room}.labels_only_posterior", None)
        apart = dists(gold, None)
    for one, other, given in zip(paired, apart, (y_pred, d), strict=True):
        right = given == y
        low, high = one.interval()
        assert one.sd < 0.9 * other.sd, (one.sd, other.sd)
        assert low <= right[::2].mean() - right[1::2].mean() <= high
    for one, given in zip(dists(y, item), (y_pred, d), strict=True):
        right = given == y
        assert one.mean == pytest.approx(right[::2].mean() - right[1::2].mean())
        assert one.sd == pytest.approx(0, abs=1e-12)
    dists(gold, item, "recall")


def test_what_groups_refuse():
    y, labels = np.arange(20) % 2, jt.Labels.from_matrix(np.arange(20)[:, None] % 2, 2)
    given = {"noise": jt.noise.Symmetric(0.1, 2), "prior": [0.5, 0.5]}
    with pytest.raises(ValueError, match="one group"):
        compare_groups(y, labels, ["a"] * 20, **given)
    with pytest.raises(ValueError, match="by has 3 entries"):
        compare_groups(y, labels, ["a", "b", "c"], **given)
    with pytest.raises(ValueError, match="one group"):
        labelers_by_group(labels, ["a"] * 20)


def test_a_labeler_who_errs_in_one_group_is_found(few_lineages):
    """`tired` guesses in group b: the difference is in his row alone."""
    rng = np.random.default_rng(1)
    y, group = rng.integers(0, 2, 240), np.repeat(["a", "b"], 120)
    right = np.full((240, 4), 0.9)
    right[120:, 3] = 0.5
    z = np.where(rng.random((240, 4)) < right, y[:, None], 1 - y[:, None])
    labels = jt.Labels.from_matrix(z, 2).with_names(workers=["ann", "bob", "cy", "tired"])
    found = labelers_by_group(labels, group, gold=np.where(np.arange(240) % 2, y, -1), key=KEY)
    assert found.rows[0]["worker"] == "tired" and found.rows[0]["group"] == "b"
    gap = found.differences["tired"]["a", "b"]
    assert gap.interval(0.95)[0] > 0.15
    clear = [who for who, dists in found.differences.items() if dists["a", "b"].interval(0.95)[0] > 0]
    assert "tired" in clear
    sentence = found.blocks().sentence
    assert "tired is better in a than in b" in sentence and "of 4 differences" in sentence
