"""One judge against verified labels alone, and two sequences of labels: scikit-learn, Jeffreys, draws."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn import metrics as sk

import jtruth as jt

N = 60
RNG = np.random.default_rng(12)
HUMAN = RNG.random(N) < 0.6
SAID = np.where(RNG.random(N) < 0.8, HUMAN, ~HUMAN)
WORD = np.array(["fail", "pass"])
HUMANS, JUDGE = WORD[HUMAN.astype(int)], WORD[SAID.astype(int)]


@pytest.fixture(scope="module")
def graded():
    return jt.evaluate(JUDGE, gold=HUMANS)


def test_of_these_samples_every_number_is_that_of_scikit_learn(graded):
    here = graded.in_sample
    right = {
        "accuracy": sk.accuracy_score(HUMANS, JUDGE),
        "precision": sk.precision_score(HUMANS, JUDGE, pos_label="pass"),
        "recall": sk.recall_score(HUMANS, JUDGE, pos_label="pass"),
        "sensitivity": sk.recall_score(HUMANS, JUDGE, pos_label="pass"),
        "tnr": sk.recall_score(HUMANS, JUDGE, pos_label="fail"),
        "kappa": sk.cohen_kappa_score(HUMANS, JUDGE),
        "balanced_accuracy": sk.balanced_accuracy_score(HUMANS, JUDGE),
        "share": HUMAN.mean(),
        "fpr": 1 - sk.recall_score(HUMANS, JUDGE, pos_label="fail"),
        "fnr": 1 - sk.recall_score(HUMANS, JUDGE, pos_label="pass"),
    }
    assert here.sensitivity.mean == here.recall.mean and isinstance(here.sensitivity, type(here.recall))
    assert here.fpr.mean == here.false_alarm_rate.mean and here.fnr.mean == here.estimate("fnr").mean
    for name, value in right.items():
        dist = here.estimate(name)
        assert dist.mean == pytest.approx(value, abs=1e-9) and dist.sd == pytest.approx(0, abs=1e-9), name
    assert graded.verified.tolist() == sk.confusion_matrix(HUMANS, JUDGE, labels=WORD).tolist()
    assert {"specificity", "kappa"} <= set(graded.metrics) == set(here.metrics)


def test_of_new_samples_rates_are_jeffreys_and_the_rest_is_drawn_from_the_cells(graded):
    (tn, fp), (fn, tp) = graded.verified
    for dist, hit, miss in ((graded.specificity, tn, fp), (graded.recall, tp, fn)):
        low, high = dist.interval(0.95)[:2]
        assert np.allclose([low, high], beta.ppf([0.025, 0.975], hit + 0.5, miss + 0.5), atol=2e-3)
    cells = RNG.dirichlet(graded.verified.ravel() + 0.25, 40_000).reshape(-1, 2, 2)
    rows, columns = cells.sum(axis=2), cells.sum(axis=1)
    seen, chance = cells[:, 0, 0] + cells[:, 1, 1], (rows * columns).sum(axis=1)
    drawn = np.quantile((seen - chance) / (1 - chance), [0.025, 0.975])
    assert np.allclose(graded.estimate("kappa").interval(0.95)[:2], drawn, atol=0.03)
    line = " ".join(graded.summary(full=True).split())
    slope, of = tp / (tp + fn) + tn / (tn + fp) - 1, f"{round(100 * SAID.mean())} % of all samples are called"
    assert f"{of} 'pass'; the estimated true share is {round(100 * HUMAN.mean())} % [" in line
    assert abs(float(line.partition("1) is ")[2].partition(" ")[0]) - slope) < 0.02


def test_ids_part_of_the_gold_and_several_classes():
    """A Series or dict is matched by its ids; samples that nobody verified still say what the judge calls."""
    ids = [f"e{k}" for k in range(N)]
    some = {ids[k]: HUMANS[k] for k in range(20, N)}
    found = jt.evaluate(dict(zip(ids, JUDGE, strict=True)), gold=some)
    part = np.where(np.arange(N) < 20, None, HUMANS)
    assert found.num_gold == 40 and "40 verified, no other labels" in str(found)
    assert found.metrics["kappa"].mean == jt.evaluate(JUDGE, gold=part).metrics["kappa"].mean
    assert found.verified.tolist() == sk.confusion_matrix(HUMANS[20:], JUDGE[20:], labels=WORD).tolist()
    assert found.confusion_matrix[:, 1].sum() == pytest.approx(SAID.sum())
    three = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
    assert jt.evaluate(three, gold=three).in_sample.accuracy.mean == 1 and "kappa" in str(
        jt.evaluate(three, gold=three)
    )
    other = jt.evaluate_labelers(jt.Labels.from_matrix(JUDGE[:, None]), gold=HUMANS)
    assert other.rows[0]["verified"] == sk.confusion_matrix(HUMANS, JUDGE, labels=WORD).tolist()


def test_a_judge_of_whom_nothing_can_be_said():
    """One who always passes is worth 0; without a class among the gold nothing is said of that class."""
    always = jt.evaluate(np.repeat("pass", N), gold=HUMANS)
    assert (
        "TPR + TNR − 1) is 0.00 [" in always.summary(full=True)
        and always.in_sample.estimate("kappa").mean == 0
    )
    one_class = str(jt.evaluate(JUDGE, gold=np.repeat("pass", N)))
    assert "No sample is verified as 'fail'" in one_class and "TPR + TNR" not in one_class
    for words, message in (
        ({}, "labels is None: give labels, or verified classes as gold="),
        ({"gold": HUMANS[:9]}, "has 60 entries"),
    ):
        with pytest.raises(ValueError, match=message):
            jt.evaluate(JUDGE, **words)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_two_sequences_of_labels_agree_as_scikit_learn_says(weights):
    a, b = RNG.integers(1, 6, 40), RNG.integers(1, 6, 40)
    b = np.where(RNG.random(40) < 0.6, a, b)
    found = jt.labeler_agreement(a, b, weights=weights or "nominal")
    assert found.kappa.value == pytest.approx(sk.cohen_kappa_score(a, b, weights=weights), abs=1e-9)
    assert "Cohen's kappa" in found.blocks().sentence
    turned = jt.labeler_agreement(
        {k: v for k, v in enumerate(a.tolist())},
        dict(list(enumerate(b.tolist()))[::-1]),
        weights=weights or "nominal",
    )
    assert turned.kappa.value == found.kappa.value
    with pytest.raises(ValueError, match="first has 40 entries and second has 39 entries: give one"):
        jt.labeler_agreement(a, b[:-1])
