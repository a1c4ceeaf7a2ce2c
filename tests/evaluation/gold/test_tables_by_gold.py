"""Draws of the count table by gold: consistent, and they cover the truth."""

import jax
import numpy as np
import pytest
from sklearn import metrics as sk

import jtruth as jt
from jtruth.evaluation.gold.tables import gold_tables, labels_posterior
from jtruth.io.gold import Gold
from jtruth.stats.ppi import gold_sample
from jtruth.tables.metrics import named_metric
from tests.evaluation.crowds import some_gold


def example(seed=0, size=400, gold=40, classes=2):
    """True classes, predictions and labels that share hard samples, what the votes say, and gold."""
    rng = np.random.default_rng([1, seed])
    y = rng.choice(classes, size, p=[0.6, 0.4] if classes == 2 else None)
    right = np.where(rng.random(size) < 0.3, 0.55, 0.93)[:, None]
    given = np.where(rng.random((size, 6)) < right, y[:, None], rng.integers(0, classes, (size, 6)))
    labels = jt.Labels.from_matrix(given[:, 1:], classes)
    return y, given[:, 0], labels, labels_posterior([], labels), some_gold(y, gold, seed)


def drawn(y_pred, h, gold, key=0, inclusion=None):
    return gold_tables(y_pred, h.shape[1], h, gold, gold_sample(gold >= 0, inclusion=inclusion), key)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_all_gold_is_scikit_learn_in_every_draw(classes):
    y, y_pred, _, h, _ = example(classes=classes)
    found = drawn(y_pred, h, y)
    assert (found.counts == sk.confusion_matrix(y, y_pred)).all()
    names = tuple("abcdefg"[:classes])
    precision, recall, f1, _ = sk.precision_recall_fscore_support(y, y_pred)
    expected = {"accuracy": sk.accuracy_score(y, y_pred), "precision[b]": precision[1],
                "recall[a]": recall[0], "f1[a]": f1[0], "macro_f1": f1.mean()}  # fmt: skip
    for name, value in expected.items():
        dist = found.estimate(named_metric(name, names))
        assert dist.mean == pytest.approx(value, abs=1e-12) and dist.sd < 1e-12


@pytest.mark.parametrize("gold", [2, 30, 200])
def test_every_draw_is_a_table_of_these_samples(gold):
    """It holds all gold, predictions add up, and F1 lies between precision and recall."""
    _, y_pred, _, h, known = example(gold=gold)
    counts = drawn(y_pred, h, known).counts
    assert (counts.sum(axis=1) == np.bincount(y_pred)).all()
    known, y_pred = known[known >= 0], y_pred[known >= 0]
    assert (counts >= sk.confusion_matrix(known, y_pred, labels=[0, 1])).all()
    precision, recall, f1 = (named_metric(name).of_table(counts) for name in ("precision", "recall", "f1"))
    f1, precision, recall = (one[~np.isnan(f1)] for one in (f1, precision, recall))
    assert (f1 >= np.fmin(precision, recall) - 1e-12).all()
    assert (f1 <= np.fmax(precision, recall) + 1e-12).all()


def test_names_of_the_classes_do_not_matter():
    """Classes exchanged everywhere: means and sds of accuracy, of other random numbers, 5 sd apart."""
    _, y_pred, _, h, known = example()
    one = drawn(y_pred, h, known).estimate("accuracy")
    other = drawn(1 - y_pred, h[:, ::-1], np.where(known >= 0, 1 - known, -1), key=1).estimate("accuracy")
    assert abs(one.mean - other.mean) < 5 * one.sd * np.sqrt(2 / 4000)
    assert other.sd == pytest.approx(one.sd, rel=5 / np.sqrt(4000))


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("order", [(1, 0), (1, 2, 0), (2, 1, 0), (3, 1, 6, 0, 2, 5, 4)])
def test_ties_do_not_go_by_the_names_of_the_classes(order, balanced):
    """Two labels a sample, so that votes are often tied, classes exchanged everywhere: 5 standard errors.

    Ties that went to the first class moved the accuracy by .15 to .6 sd here. `balanced`: classes are equally
    common in all labels too, so that nothing breaks the tie.
    """
    order, size = np.array(order), 420
    classes = order.size
    rng = np.random.default_rng([3, classes])
    y = rng.choice(classes, size, p=(p := np.arange(classes, 0, -1)) / p.sum())
    given = np.where(rng.random((size, 3)) < 0.7, y[:, None], rng.integers(0, classes, (size, 3)))
    votes = (given[:, 1:, None] == np.arange(classes)).sum(axis=1)
    if balanced:  # parts of the samples are alike, with the classes turned in a circle
        parts = np.array_split(np.arange(size), classes)
        for k, part in enumerate(parts):
            votes[part] = np.roll(votes[parts[0]], k, axis=1)
            y[part], given[part, 0] = (y[parts[0]] + k) % classes, (given[parts[0], 0] + k) % classes
    h, y_pred = (votes + 1 / classes) / 3, given[:, 0]
    known = np.where(rng.random(size) < 0.1, y, -1)
    one = drawn(y_pred, h, known).estimate("accuracy")
    turned = np.where(known >= 0, np.argsort(order)[known], -1)
    other = drawn(np.argsort(order)[y_pred], h[:, order], turned, key=1).estimate("accuracy")
    assert abs(one.mean - other.mean) < 5 * one.sd * np.sqrt(2 / 4000)
    assert other.sd == pytest.approx(one.sd, rel=5 / np.sqrt(4000))


def test_gold_of_one_class_leaves_the_other_open():
    """Twenty positives, no negative: recall is narrow, and precision far from certain."""
    y, y_pred, _, h, _ = example()
    known = np.where((y == 1) & (np.cumsum(y == 1) <= 20), 1, -1)
    found = drawn(y_pred, h, known)
    assert found.counts[:, 0].sum(axis=1).max() > 0 and (found.counts[:, 1].sum(axis=1) >= 20).all()
    low, high = found.estimate("accuracy").interval()
    assert 0 < low < high < 1 and high - low > 0.05


def test_little_gold_is_wide_and_holds_the_truth():
    """Two answers in each of 100 sets: 84 or fewer of 100 held at 95 % has probability 4e-5."""
    held, width = 0, []
    for seed in range(100):
        y, y_pred, _, h, known = example(seed, gold=2)
        low, high = drawn(y_pred, h, known, seed).estimate("accuracy").interval()
        held += low <= (y == y_pred).mean() <= high
        width.append(high - low)
    assert held >= 85 and 0.15 < np.mean(width) < 0.8, (held, np.mean(width))


@pytest.mark.slow
def test_unequal_chances_are_taken_into_account():
    """Split votes asked ten times as often: 150 sets, 128 or fewer of accuracy held have probability 6e-6."""
    held = np.zeros(2)
    for seed in range(150):
        y, y_pred, labels, h, _ = example(seed)
        rng = np.random.default_rng([2, seed])
        chance = np.where(labels.counts().min(axis=1) > 0, 0.3, 0.03)
        known = np.where(rng.random(y.size) < chance, y, -1)
        flat = np.full_like(h, 0.5)  # what the labels say is of no help, so that weights alone decide
        for k, inclusion in enumerate((chance, None)):
            low, high = drawn(y_pred, flat, known, seed, inclusion).estimate("accuracy").interval()
            held[k] += low <= (y == y_pred).mean() <= high
    assert held[0] >= 129 and held[1] < 115, held


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
def test_evaluate_hands_the_draws_over():
    _, y_pred, labels, _, known = example(size=150)
    found = jt.evaluate(y_pred, labels, gold=known, key=3)
    assert found.interval_kind == "posterior" and found.rests_on == ""
    counts = found.posterior.draws(jax.random.key(0), 4000)
    dist = found.estimate("f1")
    assert dist.mean == pytest.approx(named_metric("f1").of_table(counts).mean(), abs=5 * dist.sd / 60)
    again = jt.evaluate(y_pred, labels, gold=known, key=3)
    np.testing.assert_array_equal(again.accuracy.draws, found.accuracy.draws)
    same = jt.evaluate(y_pred, labels, gold=Gold(known, np.full(150, 40 / 150)), key=3)
    assert same.accuracy.mean == pytest.approx(found.accuracy.mean, abs=1e-9)
