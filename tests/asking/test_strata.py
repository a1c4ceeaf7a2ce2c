"""Designs for choosing gold: inclusion probabilities of all samples, rounds that combine, records."""

import numpy as np
import pytest

from jtruth.asking import ask_next
from jtruth.asking.gold import gold_that_halves
from jtruth.evaluation.gold.tables import gold_tables, labels_posterior, ppi_metric
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.stats.ppi import gold_sample
from jtruth.tables.metrics import named_metric


def crowd(seed, share=0.4, size=200, hard=0.2):
    """(classes, predictions, labels of three who share hard samples)."""
    rng = np.random.default_rng([7, *np.ravel(seed)])
    y, right = (rng.random(size) < share).astype(int), np.where(rng.random(size) < hard, 0.5, 0.96)
    drawn = rng.random((size, 4)) < right[:, None]
    z = np.where(drawn, y[:, None], 1 - y[:, None])
    return y, z[:, 0], Labels.from_matrix(z[:, 1:], 2)


def test_every_sample_has_the_same_chance_in_one_round_and_in_two():
    """Every stratum has its share, but for rounding, here and in all others; frequencies are 40 of 200."""
    _, y_pred, labels = crowd(0)
    times, again = np.zeros(200), np.zeros(200)
    for key in range(400):
        both = ask_next(labels, 40, y_pred=y_pred, key=key)
        gold = np.full(200, -1)
        gold[ask_next(labels, 17, y_pred=y_pred, key=key).samples] = 0
        more = ask_next(labels, 23, y_pred=y_pred, gold=Gold(gold), key=1000 + key)
        assert (gold[more.samples] < 0).all()
        gold[more.samples] = 0
        for chosen in (both.samples, np.flatnonzero(gold >= 0)):
            number = np.bincount(both.strata[chosen], minlength=len(both.names))
            assert (np.abs(number - both.sizes * 0.2) < 2).all() and number.sum() == 40
        times[both.samples] += 1
        again[gold >= 0] += 1
    assert (
        np.abs(np.array([times, again]) - 80) < 4.9 * np.sqrt(400 * 0.2 * 0.8)
    ).all()  # 400: false alarm 4e-4


def test_whoever_stops_early_has_asked_for_the_first():
    _, y_pred, labels = crowd(1)
    ten, thirty = (ask_next(labels, num, y_pred=y_pred) for num in (10, 30))
    np.testing.assert_array_equal(thirty.samples[:10], ten.samples)
    assert ten.names[0] == "0 predicted, labels say 0" and len(ten.names) == 4
    assert ask_next(labels, 10).names == ("labels say 0", "labels say 1")
    np.testing.assert_array_equal(ten.strata, 2 * y_pred + (labels.counts()[:, 1] > 1))
    tied = ask_next(Labels.from_matrix([[0, 1], [1, 0], [0, 0], [1, 1]], 2), 2)
    assert tied.names == ("labels say 0", "labels say 1", "labels say 0 or 1")
    many = ask_next(Labels.from_matrix(np.arange(8)[:, None] % 7, 7), 3, y_pred=np.arange(8) % 7)
    assert set(many.names) == {f"{c} predicted, labels agree" for c in range(7)}


def test_half_of_the_answers_where_a_class_is_rare_and_no_bias():
    """Gold alone, weighed by what the strata say, is right on average over 300 choices; unweighed not."""
    y, y_pred, labels = crowd(2, share=0.06, size=400, hard=0.04)
    found, naive, half = [], [], []
    for key in range(300):
        asked = ask_next(labels, 60, y_pred=y_pred, key=key)
        half.append(60 - np.bincount(asked.strata[asked.samples]).max())
        gold = np.full(400, -1)
        gold[asked.samples] = y[asked.samples]
        sample, guess = gold_sample(gold >= 0, strata=asked.strata), np.full((400, 2), 0.5)
        found.append(ppi_metric("accuracy", y_pred, guess, gold, sample=sample, power=0.0).value)
        naive.append((gold == y_pred)[gold >= 0].mean())
    others = 400 - asked.sizes.max()
    assert others < 60 and abs(np.mean(half) - min(30, others)) < 3
    error = np.std(found) / np.sqrt(300)
    assert abs(np.mean(found) - (y == y_pred).mean()) < 4 * error < abs(np.mean(naive) - (y == y_pred).mean())


@pytest.mark.parametrize("share", [0.4, 0.06])
def test_covers_after_two_rounds_and_after_stopping(share):
    """100 sets each; 87 or fewer of 100 held at .95 have probability .002 in each of four numbers."""
    held = np.zeros(4, int)
    for seed in range(100):
        y, y_pred, labels = crowd([3, seed], share, hard=share / 2)
        guess, gold, width = labels_posterior([], labels), np.full(200, -1), 1.0
        while width > 0.15 and (gold >= 0).sum() < 120:
            known = None if gold.max() < 0 else Gold(gold, strata=asked.strata)  # noqa: F821
            asked = ask_next(labels, 20, y_pred=y_pred, gold=known, key=seed)
            gold[asked.samples] = y[asked.samples]
            drawn = gold_tables(y_pred, 2, guess, gold, gold_sample(gold >= 0, strata=asked.strata), seed)
            width = np.diff(drawn.estimate("accuracy").interval())[0]
        table = np.bincount(2 * y + y_pred, minlength=4).reshape(2, 2)
        for k, name in enumerate(("accuracy", "precision", "recall", "f1")):
            low, high = drawn.estimate(name).interval()
            held[k] += low - 1e-9 <= named_metric(name).of_table(table) <= high + 1e-9
    assert (held > 87).all(), held


def test_what_gold_of_strata_says():
    """Shares of the gold that are those of the samples: equal chances. Else n/N, lonely strata together."""
    gold, strata = np.zeros(100, bool), np.repeat(["a", "b", "c"], [60, 39, 1])
    gold[:6] = gold[60:64] = True
    np.testing.assert_allclose(gold_sample(gold, strata=strata).inclusion, 0.1)
    gold[6:30] = gold[99] = True
    found = gold_sample(gold, strata=strata)
    np.testing.assert_allclose(found.inclusion, np.repeat([0.5, 4 / 39, 1.0], [30, 4, 1]))
    gold[61:64] = False  # one of b: with a, for c is known to the last
    np.testing.assert_allclose(gold_sample(gold, strata=strata).inclusion[:31], 31 / 99)
    gold[60] = False  # none of b, as from a file that holds what was asked alone
    sizes = np.where(gold, np.repeat([60, 39, 1], [60, 39, 1]), -1)
    found = gold_sample(gold, strata=np.where(gold, strata, ""), sizes=sizes)
    np.testing.assert_allclose(found.inclusion, np.repeat([30 / 99, 1.0], [30, 1]))


def test_refused(as_installed):
    y, y_pred, labels = crowd(2, share=0.06, size=400, hard=0.04)
    asked = ask_next(labels, 60, y_pred=y_pred)
    gold = np.full(400, -1)
    gold[asked.samples] = y[asked.samples]
    for num in (0, 341):
        with pytest.raises(ValueError, match=f"num must be 1 to 340.*got {num}"):
            ask_next(labels, num, y_pred=y_pred, gold=Gold(gold, strata=asked.strata))
    for other in (Gold(gold, strata=asked.strata), Gold(gold, np.where(y_pred == 1, 0.9, 0.1))):
        with pytest.raises(ValueError, match="unequal probabilities, in other strata"):
            ask_next(labels, 10, gold=other)
    assert ask_next(labels, 10, y_pred=y_pred, gold=Gold(gold, strata=asked.strata)).to_halve > 10
    assert (gold_that_halves(0, 400), gold_that_halves(400, 400)) == (400, 0)
    assert gold_that_halves(30, np.inf) == 90 and gold_that_halves(30, 1e9) == 90  # new samples


@pytest.mark.parametrize(("known", "size"), [(5, 60), (20, 1000), (100, 1000), (30, 10**6)])
def test_what_halves_is_the_smallest_number_that_does(known, size):
    width = lambda n: np.sqrt(1 / n - 1 / size)  # noqa: E731
    smallest = next(n for n in range(known, size) if width(n) <= width(known) / 2)
    assert gold_that_halves(known, size) == smallest - known
