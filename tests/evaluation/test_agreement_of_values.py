"""`set_agreement` and `rating_agreement`: columns in, a sentence out, and refusals."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.learning.values import members
from jtruth.stats.agreement import krippendorff, point
from jtruth.stats.raters import limits_of_agreement

TASK, WORKER = [k // 3 for k in range(60)], ["ann", "bob", "cal"] * 20


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    level = np.array([0.0, 0.5, 2.0])
    return np.repeat(rng.normal(0, 3, 20), 3) + np.tile(level, 20) + rng.normal(0, 0.5, 60)


def test_rows_may_stand_in_any_order(ratings):
    found = jt.rating_agreement(TASK, WORKER, ratings)
    order = np.random.default_rng(1).permutation(60)
    again = jt.rating_agreement([f"t{TASK[k]}" for k in order], [WORKER[k] for k in order], ratings[order])
    for name in ("icc_2_1", "icc_2_k", "icc_3_1"):
        assert again.overall[name][:4] == pytest.approx(found.overall[name][:4], nan_ok=True)
    assert again.overall["krippendorff"].value == pytest.approx(found.overall["krippendorff"].value)
    expected = limits_of_agreement(ratings[0::3] - ratings[2::3])
    assert found.pairs["ann", "cal"] == {**expected, "num_samples": 20} and found.complete


def test_sentence_and_screen(ratings):
    found = jt.rating_agreement(TASK, WORKER, ratings)
    single, mean = found.overall["icc_2_1"], found.overall["icc_2_k"]
    assert single.low < 0.5 and single.high > 0.9
    said = f"Raters agree poorly to very well: ICC(2,1) {single}. The mean of 3 raters has ICC {mean}."
    assert found.blocks().sentence == said
    rng = np.random.default_rng(2)
    task, rater = (code.ravel() for code in np.indices((8, 7)))
    seven = jt.rating_agreement(task, rater, rng.normal(size=56))
    (pairs,) = (table for table in seven.blocks().tables() if table.name == "pairs")
    assert len(seven.to_dict()["pairs"]) == 21 and len(pairs.shown()[0]) == 10
    far = [max(-row["lower"]["mean"], row["upper"]["mean"]) for row in pairs.rows]
    assert [far[k] for k in pairs.order] == sorted(far)[::-1][:10]
    assert "11 pairs with narrower limits" in seven.summary(full=True)


def test_who_shares_nothing_is_left_out_and_said(ratings):
    found = jt.rating_agreement([*TASK, 77, 78], [*WORKER, "dan", "ann"], [*ratings, 1e6, -1e6])
    assert found.warnings == ("1 rater left out (no task in common with others): dan.",)
    expected = jt.rating_agreement(TASK, WORKER, ratings).overall
    assert {name: one[2:4] for name, one in found.overall.items()} == {k: v[2:4] for k, v in expected.items()}
    task, worker = [*TASK, *(k + 20 for k in TASK)], [*WORKER, *(f"{name} 2" for name in WORKER)]
    (note,) = jt.rating_agreement(task, worker, np.tile(ratings, 2)).warnings
    assert note.startswith("The raters form 2 groups without a common task")


def test_classes_of_sets_are_binary_questions():
    rng = np.random.default_rng(5)
    truth = rng.random((20, 2)) < 0.5
    told = np.where(rng.random((60, 2)) < [0.02, 0.3], ~truth[TASK], truth[TASK])
    sets = [{name for name, yes in zip(("hard", "easy"), row[::-1], strict=True) if yes} for row in told]
    found = jt.set_agreement(TASK, WORKER, sets, distance="jaccard")
    assert list(found.overall) == ["jaccard", "masi", "equal"] and list(found.by_class) == ["easy", "hard"]
    for k, name in enumerate(("easy", "hard")):
        yes = told[:, k].reshape(20, 3).sum(axis=1)
        assert found.by_class[name].value == point(krippendorff(np.stack([3 - yes, yes], axis=1)))
        assert found.shares[name] == pytest.approx(told[:, k].mean())
    shown = found.blocks()
    assert "is lowest on 'hard'" in shown.sentence and "highest on 'easy'" in shown.sentence
    labels = eval(shown.next.removeprefix("jt.evaluate_labelers(")[:-1],
                  {"jt": jt, "task": TASK, "worker": WORKER, "sets": sets})  # fmt: skip
    assert jt.labeler_agreement(labels).overall["krippendorff"].value == found.by_class["hard"].value


PAIRS = [1, 1, 2, 2], ["a", "b"] * 2
REFUSED = [
    (jt.rating_agreement, ([1, 2], ["a", "a"], [1.0, 2.0]), "needs two raters, but there is only a"),
    (jt.rating_agreement, ([1, 1, 2], ["a", "b", "a"], [1, 2, 3]), "only 1 task of 2 with rows of two"),
    (jt.rating_agreement, ([*PAIRS[0], 3], [*PAIRS[1], "a"], [2, 2, 2, 2, 5]), "because all values are 2"),
    (jt.rating_agreement, (*PAIRS, [1, 2, np.nan, 3]), "row 2: nan is not a finite number"),
    (jt.rating_agreement, (*PAIRS, [1, 2, 3, "4"]), "row 3: '4' is not a finite number"),
    (jt.rating_agreement, ([1, 1, 1, 2], ["a", "b", "b", "a"], [1, 2, 3, 4]), "row 2: worker 'b' gave"),
    (jt.rating_agreement, (*PAIRS, [1, 2, 3]), "one entry a row each"),
    (jt.set_agreement, (*PAIRS, [["x"], "toxic", [], []]), "row 1: 'toxic' is not a set of classes"),
    (jt.set_agreement, (*PAIRS, [["x"], None, [], []]), "row 1: None is not a set of classes"),
    (jt.set_agreement, (*PAIRS, [["x"], [["y"]], [], []]), r"row 1: \[\['y'\]\] is not a set of classes"),
    (jt.set_agreement, (*PAIRS, [["x"]] * 4), "here they are all equal"),
    (jt.set_agreement, (np.repeat(range(600), 2), ["a", "b"] * 600, [[k] for k in range(1200)]), "are 1200"),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "columns", "message"), REFUSED, ids=[said for *_, said in REFUSED])
def test_refused(as_installed, ask, columns, message):
    with pytest.raises(ValueError, match=message):
        ask(*columns)


def test_text_is_no_set_of_its_letters(as_installed):
    with pytest.raises(ValueError, match="row 0: 'cat' is not a set of classes"):
        members(["cat"], ["c", "a", "t"])
    assert members([["b", "a"], ()], ["b", "a", "c"])[0].tolist() == [[True, True, False], [False] * 3]
