"""Warnings above the answer: the first line of each, JSON, page and frame, and none on clean data."""

import re

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.checks.columns import (
    chosen_gold,
    exchanged_codes,
    gold_is_predictions,
    gold_is_vote,
    learned_errors,
    learned_part,
    repeats_labels,
    standing_twice,
    vote_column,
    winners,
    written_back,
)
from jtruth.evaluation.checks.first_look import first_look, threshold_outside
from jtruth.evaluation.score_tables import _walked
from jtruth.tables.posterior import TableDraws
from jtruth.testing.of_labels import brier

pytestmark = pytest.mark.usefixtures("few_lineages")  # alarms are counts: no fit has to be good

KNOWN = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]}
CLASSES = ("no", "yes")


def agreeing(y, y_pred):
    return (y == y_pred).mean()


def drawn(seed=0, size=300, labelers=5, right=0.8, classes=2, good=0.88):
    """Truth, labels by independent labelers, predictions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    other = (y[:, None] + rng.integers(1, classes, (size, labelers))) % classes
    z = np.where(rng.random((size, labelers)) < right, y[:, None], other)
    return y, z, np.where(rng.random(size) < good, y, (y + rng.integers(1, classes, size)) % classes)


def labels_of(z, classes=2):
    names = CLASSES if classes == 2 else tuple("abcdefgh"[:classes])
    workers = [f"w{t}" for t in range(z.shape[1])]
    return jt.Labels.from_matrix(z, classes).with_names(workers=workers, classes=names)


def some_gold(truth, known):
    return np.where(np.isin(np.arange(truth.size), known), truth, -1)


def first_line(answer):
    return str(answer).splitlines()[0]


def alarm_of(y_pred, labels):
    """The first line of the answer, without the two words that every alarm begins with."""
    line = first_line(jt.evaluate(y_pred, labels, **KNOWN))
    assert line.startswith("Look first: ")
    return line.removeprefix("Look first: ")


EXCHANGED = (
    "Look first: gold contradicts {} on most samples: it matches the majority vote on 6 of 60 samples, and "
    "on 54 if its 'no' and 'yes' are swapped. The class codes are probably mixed up: give class names "
    "instead of codes, or correct the order of the classes."
)


def test_exchanged_codes_stand_above_every_answer():
    y, z, y_pred = drawn()
    labels, gold = labels_of(z), some_gold(1 - y, np.arange(60))
    found = jt.evaluate(y_pred, labels, gold=gold, **KNOWN)
    line = EXCHANGED.format("labels and predictions")
    assert first_line(found) == line and repr(found).startswith(f"Evaluation({line}")
    assert "look_first" in list(found.to_dict())[:6] and found.to_dict()["look_first"] == [line]
    assert found.blocks().alarms == (line,) and line.replace("'", "&#x27;") in found._repr_html_()
    pytest.importorskip("pandas")
    assert found.to_frame("pandas").columns[0] == "look_first"
    share = jt.prevalence(labels, gold=gold)
    assert first_line(share) == EXCHANGED.format("labels") == share.blocks().alarms[0]
    two = jt.compare_classifiers({"a": y_pred, "b": y}, labels, gold=gold, **KNOWN)
    assert first_line(two) == line == two.to_dict()["look_first"][0] == two.blocks().alarms[0]
    assert two.blocks().sentence.startswith("b has the better accuracy")
    scores = jt.evaluate_scores(y + 0.5 * y_pred, labels, gold=gold, **KNOWN)
    assert first_line(scores) == EXCHANGED.format("labels") == scores.blocks().alarms[0]
    assert scores.blocks().sentence.startswith("The area under the ROC curve")


def test_exchanged_codes_of_some_of_many_classes():
    y, z, y_pred = drawn(classes=5, size=400)
    turned = np.array([0, 1, 4, 2, 3])[y]  # a cycle of three
    (found,) = exchanged_codes(turned, labels_of(z, 5).counts(), {"": y_pred}, tuple("abcde"))
    assert "if its 'c' is read as 'd', 'd' is read as 'e', 'e' is read as 'c'" in found.message
    assert exchanged_codes(y, labels_of(z, 5).counts(), {"": y_pred}, tuple("abcde")) == ()
    lenient = np.where(y == 0, np.arange(400) % 5, 0)  # one class is called by another's name, one way only
    assert exchanged_codes(y, np.eye(5, dtype=int)[lenient], {}, tuple("abcde")) == ()


def test_gold_that_is_the_vote():
    _, z, y_pred = drawn(labelers=3, right=0.75)
    labels = labels_of(z)
    gold = some_gold(winners(labels.counts()), np.arange(100))
    line = first_line(jt.evaluate(y_pred, labels, gold=gold, **KNOWN))
    p_value = gold_is_vote(gold, labels)[0].p_value
    assert line.startswith("Look first: gold equals the majority vote on all of 100 samples")
    assert f"(p = {p_value:.1g}): was it made from these labels?" in line
    right, _ = learned_errors(labels)
    assert p_value == pytest.approx(np.prod(right[:100]), rel=1e-9)
    assert p_value < 1e-4
    few = some_gold(gold, np.arange(20))
    assert all(check.verdict != "look first" for check in gold_is_vote(few, labels))


def test_gold_that_is_the_predictions():
    y, z, y_pred = drawn()
    labels, rival = labels_of(z), drawn(seed=1)[2]
    differ = int((winners(labels.counts()) != y_pred).sum())
    whole = f"gold equals {{}} on all of 300 samples, even on the {differ} where the majority vote"
    line = first_line(jt.evaluate(y_pred, labels, gold=y_pred, **KNOWN))
    assert line.startswith(f"Look first: {whole.format('the predictions')}")
    assert "are they the same column?" in line
    assert gold_is_predictions(y, labels, {"": y})[0].p_value is None  # gold as predictions
    # 100 of 300: the chances that predictions are right, by EM of labels and predictions, 1/4 at least
    gold = some_gold(y_pred, np.arange(100))
    two = jt.compare_classifiers({"a": y_pred, "b": rival}, labels, gold=gold)
    both = jt.Labels.from_matrix(np.column_stack([z, y_pred]), 2)
    chance = jt.consensus(both, key=0).class_posterior[np.arange(300), y_pred]
    asked = (gold >= 0) & (winners(labels.counts()) != y_pred)
    (found,) = gold_is_predictions(gold, labels, {"": y_pred})
    assert np.log(found.p_value) == pytest.approx(np.log(np.maximum(chance[asked], 1 / 4)).sum(), abs=0.3)
    assert first_line(two).startswith("Look first: gold equals those of 'a' on all of 100 samples")
    assert f"even on the {asked.sum()} where" in first_line(two)
    assert gold_is_predictions(some_gold(y_pred, np.arange(10)), labels, {"": y_pred}) == ()
    assert gold_is_predictions(some_gold(y, np.flatnonzero(y == y_pred)[:30]), labels, {"": y_pred}) == ()


@pytest.mark.parametrize(("easy", "words"), [(True, "agree on 40 of 40"), (False, "disagree on 40 of 40")])
def test_chosen_gold(easy, words):
    y, z, _ = drawn(size=400)
    labels = labels_of(z)
    same = labels.counts().max(axis=1) == 5
    gold = some_gold(y, np.flatnonzero(same == easy)[:40])
    (found,) = chosen_gold(gold, labels.counts())
    rest = (same == easy)[gold < 0].mean()
    line = first_line(jt.evaluate_labelers(labels, gold=gold))
    assert line.startswith(f"Look first: labelers {words} gold samples and on {rest:.0%} of the others")
    assert f"{'easy' if easy else 'doubtful'} samples (p = {found.p_value:.1g})" in line
    told = jt.io.Gold(gold, np.where(same == easy, 0.5, 0.1))
    assert not first_line(jt.evaluate_labelers(labels, gold=told)).startswith("Look first")


def test_an_aggregate_written_back():
    _, z, y_pred = drawn()
    once = np.repeat(z[:, :1], 3, axis=1)
    assert alarm_of(y_pred, labels_of(once)).startswith("labelers agree on all of 300 samples")
    assert written_back(labels_of(once[:40])) == ()  # too few to be odd
    once[7, 0] = 1 - once[7, 0]
    assert written_back(labels_of(once)) == ()


def test_every_labeler_twice():
    _, z, y_pred = drawn(labelers=3)
    labels = labels_of(z[:, [0, 1, 2, 1, 0, 2]])
    line = alarm_of(y_pred, labels)
    assert line.startswith("every labeler occurs more than once") and "'w0', 'w4'; 'w1', 'w3'" in line
    assert standing_twice(labels_of(z[:, [0, 1, 2, 1, 0]])) == ()


def test_a_labeler_who_is_the_vote():
    _, z, y_pred = drawn(right=0.75)
    others = labels_of(z)
    vote, (right, _) = winners(others.counts()), learned_errors(others)
    labels, met = labels_of(np.column_stack([z, vote])), vote >= 0
    line, error = alarm_of(y_pred, labels), 1 - right[met].mean()
    assert vote_column(labels)[0].p_value == pytest.approx(6 * (1 - 0.75 * error) ** met.sum())
    assert line.startswith(f"labeler 'w5' equals the majority vote of the others on all {met.sum()} samples")
    assert f"although about {error:.0%} of the votes are wrong" in line


@pytest.mark.parametrize("column", [2, "vote"])
def test_predictions_that_repeat_labels(column):
    _, z, _ = drawn(right=0.7)
    labels = labels_of(z)
    y_pred = winners(labels.counts()) if column == "vote" else z[:, column].copy()
    y_pred[:3] = 1 - y_pred[:3]
    right, errors = learned_errors(labels)
    error = 1 - right.mean() if column == "vote" else errors[2]
    whom = "the majority vote" if column == "vote" else "labeler 'w2'"
    line = alarm_of(y_pred, labels)
    assert line.startswith(f"predictions differ from {whom} on 3 of 300 samples")
    assert f"(about {error:.0%} by the labels)" in line
    assert ("or leave this labeler out" in line) == (column != "vote")


def test_scores_that_point_the_other_way_and_a_threshold_outside():
    y, z, _ = drawn()
    scores = np.random.default_rng(1).normal(size=300) - y
    lines = str(jt.evaluate_scores(scores, labels_of(z), threshold=50, **KNOWN)).splitlines()
    first = "Look first: scores point the wrong way: samples with high scores are labelled 'no'"
    assert lines[0].startswith(first)
    assert "area under the ROC curve 0.33" in lines[0]
    outside = f"threshold 50 lies outside the scores ({scores.min():g} to {scores.max():g})"
    assert lines[1].startswith(f"Look first: {outside}")
    right = jt.evaluate_scores(-scores, labels_of(z), threshold=0.5, **KNOWN)
    assert right.checks == () and not first_line(right).startswith("Look first")


@pytest.mark.slow
def test_columns_of_scores_in_another_order():
    y, z, _ = drawn(classes=3, labelers=3)
    scores = np.random.default_rng(1).dirichlet(np.ones(3), 300) + np.eye(3)[y]
    known = {"noise": jt.noise.Symmetric(0.2, 3), "prior": np.full(3, 1 / 3), "bins": 4}
    turned = scores[:, [1, 2, 0]]
    line = first_line(jt.evaluate_class_scores(turned, labels_of(z, 3), **known))
    assert line.startswith("Look first: the columns of scores contradict their own classes ('b', 'c';")
    assert jt.evaluate_class_scores(scores, labels_of(z, 3), **known).checks == ()


def test_one_of_several_classifiers_is_worse_than_chance():
    _, z, y_pred = drawn()
    line = first_line(jt.compare_classifiers({"good": y_pred, "bad": 1 - y_pred}, labels_of(z), **KNOWN))
    assert line.startswith("Look first: 'bad': predictions agree with the labels worse than chance")
    assert "-0.76 +- 0.07" in line


def test_a_column_of_counts_that_was_not_used(tmp_path, column="votes"):
    _, z, y_pred = drawn(size=60)
    rows = [f"{i},w{t},{CLASSES[z[i, t]]},{1 + (i + t) % 3}" for i in range(60) for t in range(5)]
    (tmp_path / "labels.csv").write_text("\n".join([f"task,worker,label,{column}", *rows]) + "\n")
    labels = jt.read_labels(tmp_path / "labels.csv", classes=CLASSES)
    line = alarm_of(y_pred, labels)
    assert line.startswith(f"labels.csv: column {column!r} was not used") and "(up to 3)" in line


def test_counts_of_votes_given_as_labels():
    _, z, y_pred = drawn(size=60)
    counts = jt.Labels.from_matrix(np.stack([(z == 0).sum(axis=1), (z == 1).sum(axis=1)], axis=1), 6)
    assert counts.notes[0].startswith("Look first: every row of z sums to 5, like counts of votes by class")
    known = {"noise": jt.noise.Symmetric(0.2, 6), "prior": np.full(6, 1 / 6)}
    found = jt.evaluate(y_pred, counts, method="majority_vote", **known)  # its answer is not the question
    assert first_line(found) == counts.notes[0]


def test_counts_of_votes_are_told_although_a_few_are_missing():
    """5 of 60 rows have a vote less. Labels whose rows mostly have one sum because all agree are none."""
    votes = np.random.default_rng(0).multinomial(5, [0.5, 0.3, 0.2], 60)
    votes[:5, 0] = np.maximum(votes[:5, 0] - 1, 0)
    missing = int((votes.sum(axis=1) < 5).sum())
    said = jt.Labels.from_matrix(votes, 6).notes[0]
    assert f"{60 - missing} of 60 rows of z sum to 5, like counts of votes" in said and 0 < missing <= 5
    agreed = np.where(np.arange(60)[:, None] < 55, 1, np.random.default_rng(1).integers(0, 3, (60, 3)))
    constant = np.stack([np.full(60, 1), (np.arange(60) < 5).astype(int)], axis=1)  # one always says 1
    for table in (agreed, constant, votes[:25], np.where(votes == 2, -1, votes)):
        notes = jt.Labels.from_matrix(table, 6, allow_unlabelled=True).notes
        assert not any("counts of votes" in note for note in notes)


def test_a_column_of_classes_against_its_own_probabilities(tmp_path):
    _, z, y_pred = drawn(size=60)
    share = np.where(y_pred == 1, 0.9, 0.2)
    head, file = "task,label,p_no,p_yes", tmp_path / "pred.csv"
    labels = labels_of(z).with_names(tasks=range(60))
    for first, second, wrong in ((share, 1 - share, 60), (1 - share, share, 0)):
        rows = [f"{i},{CLASSES[y_pred[i]]},{first[i]:.3f},{second[i]:.3f}" for i in range(60)]
        file.write_text("\n".join([head, *rows]) + "\n")
        found = jt.read_predictions(file, labels)
        told = jt.evaluate(found.y_pred, labels, **KNOWN).with_warnings(found.notes)
        assert first_line(told).startswith("Look first: ") == bool(wrong)
        said = "pred.csv: column 'label' is not the most probable class in 60 of 60 rows"
        assert (said in first_line(told)) == bool(wrong)


@pytest.mark.parametrize("shape", [(300, 5, 2), (100, 3, 2), (60, 4, 3), (200, 8, 4)])
def test_clean_data_raise_nothing(shape):
    """20 sets, gold of a random tenth to a third: no alarm (each rings in at most 1e-4 of such sets)."""
    size, labelers, classes = shape
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        y, z, y_pred = drawn(seed, size, labelers, rng.uniform(0.6, 0.98), classes, rng.uniform(0.6, 1.0))
        gold = some_gold(y, rng.choice(size, rng.integers(size // 10, size // 3), replace=False))
        found = first_look(labels_of(z, classes), gold, {"a": y_pred, "perfect": y}, True)
        alarms = [check for check in found if check.verdict == "look first"]
        assert [a for a in alarms if a.name != "the same predictions"] == []


@pytest.mark.parametrize("shape", [(300, 1), (300, 2), (12, 5)])
def test_few_labels_are_no_trouble(shape):
    y, z, y_pred = drawn(size=shape[0], labelers=shape[1])
    found = first_look(labels_of(z), y, {"": y_pred}, True)
    assert all(check.verdict != "look first" for check in found)
    assert repeats_labels(labels_of(z), z[:, 0]) == ()


def test_one_of_several_classifiers_has_another_order():
    """What `evaluate` says of a classifier alone is said of it beside others; with a log-likelihood too."""
    _, z, y_pred = drawn()
    two = {"a": y_pred, "b": np.random.default_rng(0).permutation(drawn()[2])}
    line = first_line(jt.compare_classifiers(two, labels_of(z)))
    assert line.startswith("Look first: 'b': predictions agree with the labels no better than chance")
    log_p = np.asarray(KNOWN["noise"].log_likelihood(labels_of(z)))
    bare = jt.compare_classifiers(two, log_p, prior=[0.5, 0.5]).blocks().alarms
    assert len(bare) == 1 and bare[0].startswith(
        "Look first: 'b': predictions agree with the labels no better than chance"
    )


@pytest.mark.parametrize("side", [1, -1])
def test_predictions_that_were_learned_on_a_part(side):
    y, z, y_pred = drawn(size=600)
    labels = labels_of(z)
    part = np.arange(600)[::side] < 300
    learned = np.where(part, winners(labels.counts()), y_pred)
    line, where = alarm_of(learned, labels), "first" if side > 0 else "last"
    assert re.match(f"predictions repeat the labels of about the {where} [456]0% of the samples", line)
    easy = np.where(part[:, None], y[:, None], z)  # nobody errs there, and the classifier neither
    assert learned_part(labels_of(easy), np.where(part, y, y_pred)) == ()
    assert learned_part(labels, y_pred) == ()


def test_scores_that_are_numbers_of_rows_and_a_threshold_of_another_scale():
    y, z, _ = drawn()
    order = np.argsort(y, kind="stable")
    labels, other = labels_of(z[order]), np.random.default_rng(2).permutation(300)
    numbered = "Look first: scores change by one step from row to row"
    assert first_line(jt.evaluate_scores(np.arange(300.0), labels, **KNOWN)).startswith(numbered)
    shuffled = labels_of(z[order][other]).with_names(tasks=other.tolist())
    assert first_line(jt.evaluate_scores(-other / 300, shuffled, **KNOWN)).startswith(numbered)
    ranks = np.argsort(np.argsort(y + np.random.default_rng(3).normal(size=300)))  # a rank is a score
    assert jt.evaluate_scores(ranks.astype(float), labels_of(z), **KNOWN).checks == ()
    percent = 100 * np.random.default_rng(4).beta(1 + 3 * y, 4 - 3 * y)
    lines = [first_line(jt.evaluate_scores(percent, labels_of(z), threshold=t, **KNOWN)) for t in (0.5, 50)]
    below = (percent < 0.5).mean()
    assert f"but scores go from {percent.min():g} to {percent.max():g}: {below:.0%} of" in lines[0]
    assert lines[0].startswith("Look first: threshold 0.5 is on a scale of 0 to 1") and "Look" not in lines[1]
    hits = np.random.default_rng(5).poisson(0.2 + 2 * y).astype(float)  # more than none is meant
    assert threshold_outside(hits, 0.5, y.mean()) == ()


def test_any_metric_of_predictions_that_contradict_the_votes():
    _y, z, y_pred = drawn()
    p = np.where(y_pred == 1, 0.8, 0.1)
    for wrong, words in (
        (1 - p, "scores point the wrong way"),
        (np.stack([p, 1 - p], axis=1), "scores point the wrong way"),
        (1 - y_pred, "predictions agree with the labels worse than chance"),
    ):
        found = jt.metric_posterior(
            brier if wrong.dtype.kind == "f" else agreeing, wrong, labels_of(z), **KNOWN
        )
        assert first_line(found).startswith(f"Look first: {words}")
    right = jt.metric_posterior(brier, p, labels_of(z), **KNOWN)
    assert right.blocks().alarms == ()


def test_groups_that_differ_by_a_space():
    _, z, y_pred = drawn()
    by = np.array(["A", "a ", "b"])[np.arange(300) % 3]
    line = "Look first: some groups differ only in case, spaces or leading zeros: 'A', 'a '"
    assert first_line(jt.evaluation.compare_groups(y_pred, labels_of(z), by, **KNOWN)).startswith(line)
    assert first_line(jt.prevalence(labels_of(z), by=by)).startswith(line)


def test_what_is_given_is_doubted_and_nothing_else():
    """5 % are positive: a prior that says otherwise is doubted where somebody gave it."""
    y = (np.arange(400) % 20 == 0).astype(int)
    rng = np.random.default_rng(1)
    z = np.where(rng.random((400, 5)) < 0.97, y[:, None], 1 - y[:, None])
    scores = rng.normal(size=400) + 3 * y
    said = "contradict the class prior: check the given {}"
    for given, words in (({"prior": [0.5, 0.5]}, "prior"), ({}, None)):
        notes = jt.evaluate_scores(scores, labels_of(z), assume="independent", **given).warnings
        assert any(said.format(words) in text for text in notes) == (words is not None)
        assert any("class prior: check" in text for text in notes) == (words is not None)
    walks = TableDraws(np.array([[[3, 1], [1, 3]]] * 4)), np.ones((4, 2)), 0.5  # labels against the prior
    assert _walked(walks, walks[0].counts, 1)[1] == () != _walked(walks, walks[0].counts, 1, "prior")[1]
    known = {"noise": jt.noise.Symmetric(0.03, 2), "prior": [0.001, 0.999]}
    notes = jt.evaluate_scores(scores, labels_of(z), **known).warnings
    assert any(said.format("error rates and prior") in text for text in notes)


def test_times_and_chances_that_cannot_be():
    y, z, y_pred = drawn(size=60)
    times = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
    times[7] = np.datetime64("NaT")
    labels = labels_of(z).with_names(tasks=[f"t{i}" for i in range(60)])
    pandas = pytest.importorskip("pandas")
    for order in (
        times,
        pandas.Series(times, index=labels.tasks),
        [None if t != t else t.astype("datetime64[s]").item() for t in times],
    ):
        with pytest.raises(ValueError, match=r"order\[.*7'?\] is .*no time \(1 such\)"):
            jt.evaluate(y_pred, labels, order=order, **KNOWN)
    gold = jt.io.Gold(some_gold(y, np.arange(10)), np.where(np.arange(60) < 12, 1.0, 0.2))
    with pytest.raises(
        ValueError, match=r"inclusion of gold is 1 for 2 samples without gold \('t10', 't11'\)"
    ):
        jt.evaluate_labelers(labels, gold=gold)
