"""Repeated labels of a labeler: one of each is calibrated, all are not; sentences on self-agreement."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import quick_labelers
from jtruth.evaluation.habits import with_repeats
from jtruth.inspection import inspect_labels

JUDGES, TIMES, RIGHT, SAME = 4, 5, 0.75, 0.93


def epochs(seed, size=2000):
    """True classes, and columns of judges who have an opinion of a sample and slip from it at times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    opinion = np.where(rng.random((size, JUDGES)) < RIGHT, y[:, None], 1 - y[:, None])
    z = np.where(rng.random((size, JUDGES, TIMES)) < SAME, opinion[..., None], 1 - opinion[..., None])
    sample, judge, _ = np.indices(z.shape)
    return y, (sample.ravel(), judge.ravel(), z.ravel())


def excess(repeats):
    """What a consensus says above what is right, of each of 12 sets of labels."""
    over = []
    for seed in range(12):
        y, columns = epochs(seed)
        p = np.asarray(jt.consensus(jt.Labels.from_long(*columns, repeats=repeats)).class_posterior)
        over.append(p.max(axis=1).mean() - (p.argmax(axis=1) == y).mean())
    return np.array(over)


def test_a_consensus_is_as_right_as_it_says_unless_repeats_count_as_labels():
    """Student's t of 12 sets below 4.4 in 99.9 %; kept repeats claim ten points too much in every set."""
    one = excess("majority")
    assert abs(one.mean()) < 4.4 * one.std(ddof=1) / np.sqrt(one.size) and abs(one.mean()) < 0.02
    assert excess("keep").min() > 0.1


@pytest.fixture(scope="module")
def labels():
    return jt.Labels.from_long(*epochs(0)[1]).with_names(workers=["ann", "bob", "cy", "dan"])


def test_labelers_and_a_first_look_say_how_often_they_agree_with_themselves(labels):
    """Two labels of one opinion are equal in SAME^2 + (1 - SAME)^2 = .8698 of pairs, 20 000 each."""
    share = labels.self_agreement["agree"] / labels.self_agreement["pairs"]
    assert share == pytest.approx([SAME**2 + (1 - SAME) ** 2] * JUDGES, abs=0.02)
    look = inspect_labels(labels)
    least_first = sorted(zip(labels.workers, share, strict=True), key=lambda one: one[1])
    named = [f"{name!r} {100 * part:.0f} %" for name, part in least_first]
    (text,) = (one.message for one in look.findings if one.name == "repeats")
    assert look.num_repeats == 32_000 and f"themselves in 87 % of repeats ({', '.join(named)})." in text
    assert "independent" not in text and "different questions" not in text
    many = jt.Labels.from_long(*epochs(1, 8000)[1]).with_names(workers=labels.workers)  # too many to sample
    for one in (labels, many):
        report, share = quick_labelers(one), one.self_agreement["agree"] / one.self_agreement["pairs"]
        rows = {row["worker"]: row["self_agreement"] for row in report.to_dict()["labelers"]}
        assert [rows[name]["share"] for name in one.workers] == pytest.approx(share)
        assert all(row["low"] < row["share"] < row["high"] for row in rows.values())
        assert {row["pairs"] for row in rows.values()} == {10 * one.num_samples}
        assert "agrees with own repeats" in report.summary(full=True)
    once = jt.Labels.from_matrix(labels.to_matrix(), 2)
    assert "own repeats" not in quick_labelers(once).summary(full=True)


def test_repeats_that_count_as_labels_and_those_of_two_questions_are_said():
    rng = np.random.default_rng(1)
    columns = np.repeat(np.arange(60), 6), np.tile([0, 0, 1, 1, 2, 2], 60), rng.integers(0, 2, 360)
    for repeats, said in (("keep", True), ("first", False)):
        found = inspect_labels(jt.Labels.from_long(*columns, repeats=repeats)).findings
        (text,) = (one.message for one in found if one.name == "repeats")
        assert ("All count as independent, so" in text) == said
        assert "hardly above chance: are they different questions?" in text
    alone = jt.Labels.from_long(list("aab"), list("vvw"), [0, 1, 1]).without_labeler("v")
    assert not any(one.name == "repeats" for one in inspect_labels(alone).findings)


@pytest.mark.parametrize("first", [0.0, 0.3, 0.6])
def test_bounds_of_what_repeats_say_are_exact_for_two_classes(first):
    """Samples of three kinds, where a label is right with probability q: all pairs of labels enumerated."""
    q, weight = np.array([first, 0.7, 1.0]), np.array([0.2, 0.5, 0.3])
    accuracy, agree = weight @ q, weight @ (q**2 + (1 - q) ** 2)
    rows = [{"worker": "0", "accuracy": accuracy}]
    labels = jt.Labels.from_long([0, 0, 1], [0, 0, 1], [0, 1, 1])
    counted = np.array([(1, 10**6, round(agree * 10**6), 10.0), (0, 0, 0, 0.0)], labels.self_agreement.dtype)
    object.__setattr__(labels, "self_agreement", counted)
    said = with_repeats(rows, labels, 0.95)[0]["self_agreement"]
    assert said["wrong_again"] == pytest.approx(weight @ (1 - q) ** 2 / (weight @ (1 - q)), abs=1e-5)
    assert accuracy <= said["right_at_most"] + 1e-9


def test_intervals_of_agreement_with_oneself_hold():
    """600 labelers, 25 samples each, 4 labels a sample: 95 % hold the truth, .92 to .98 at 3.3 errors."""
    rng, labelers = np.random.default_rng(2), 600
    q = rng.beta(4, 1, (25, labelers))
    z = rng.random((4, 25, labelers)) < q
    _, sample, who = np.indices(z.shape)
    labels = jt.Labels.from_long(sample.ravel(), who.ravel(), z.ravel().astype(int), num_classes=2)
    rows = with_repeats([{"worker": str(t), "accuracy": 0.8} for t in range(labelers)], labels, 0.95)
    truth = (4 * 5 + 1 * 2) / (5 * 6)  # E q^2 + E (1 - q)^2 of Beta(4, 1)
    held = np.mean([row["self_agreement"]["low"] <= truth <= row["self_agreement"]["high"] for row in rows])
    assert 0.92 < held < 0.98
