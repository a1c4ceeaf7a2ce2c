"""Files of other sources: other column names, semicolons, exports that contain models and gold."""

import json
import sys
import types
import zipfile

import numpy as np
import pytest

from tests.cli.files import write

pytestmark = pytest.mark.usefixtures("few_sets")

WORKERS = ("ann", "bob", "cy")


def answers(size=40, seed=0):
    """(tasks, workers, labels, truth) of three people who are right four times in five."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    z = np.where(rng.random((size, 3)) < 0.8, y[:, None], 1 - y[:, None])
    word = np.array(["negative", "positive"])
    return word[z], word[y]


def long(z):
    return [(f"c{i}", w, z[i, t]) for i in range(len(z)) for t, w in enumerate(WORKERS)]


HEADER = ("task", "worker", "label")


@pytest.mark.parametrize(
    "header",
    [
        ("item", "annotator", "verdict"),
        ("HITId", "WorkerId", "answer"),
        pytest.param(("comment_id", "rater", "sentiment"), marks=pytest.mark.slow),
        pytest.param(("id", "judge", "rating"), marks=pytest.mark.slow),
        pytest.param(("question", "user", "label"), marks=pytest.mark.slow),
    ],
)
def test_other_words_for_columns_are_understood_and_said(run, answer, tmp_path, header):
    z, y = answers()
    path = write(tmp_path / "l.csv", header, long(z))
    found, out = answer("inspect", path)
    task, worker, label = map(repr, header)
    read = f"Read as a long table: samples in {task}, labelers in {worker}, labels in {label}."
    assert read in " ".join(out.split())
    assert found["num_samples"] == 40 and found["num_labelers"] == 3
    truth = write(tmp_path / "p.csv", (header[0], "class"), [(f"c{i}", c) for i, c in enumerate(y)])
    code, _, err = run("evaluate", path, "--predictions", truth, "--method", "majority_vote")
    assert code == 0, err


@pytest.mark.parametrize(
    ("header", "typed", "said"),
    [
        (("item", "rater", "verdict"), ("--label", "grade"), "no column 'grade'"),
        (("thing", "who", "says"), (), "no columns 'task', 'worker', 'label'; the columns are"),
        (("thing", "who", "says"), (), "Name the column of the task and the worker and the label by "
         "--task NAME --worker NAME --label NAME"),
    ],
)  # fmt: skip
def test_missing_columns_are_one_sentence_and_a_name_that_was_typed_is_no_guess(
    refusal, tmp_path, header, typed, said
):
    path = write(tmp_path / "l.csv", header, long(answers()[0]))
    assert said in refusal("labelers", path, "--fast", *typed)


def test_semicolons_and_decimal_commas(tmp_path):
    """By what every command reads its tables with."""
    from jtruth.cli.classifier import evaluate
    from jtruth.cli.options import as_typed
    from jtruth.cli.reading import Tables

    z, y = answers()
    path = write(tmp_path / "l.csv", HEADER, long(z), sep=";")

    def scores(texts, sep=";", decimal=None):
        rows = [(f"c{i}", y[i], text) for i, text in enumerate(texts)]
        one = write(tmp_path / "p.csv", ("task", "label", "score"), rows, sep)
        return Tables(as_typed(evaluate, file=path, decimal=decimal), one).scores(one)[0]

    numbers = np.random.default_rng(1).uniform(0.1, 0.9, 40).round(2)
    texts = [f"{x:.2f}" for x in numbers]
    np.testing.assert_array_equal(scores(texts, ","), numbers)
    np.testing.assert_array_equal(scores([text.replace(".", ",") for text in texts]), numbers)
    unclear = [f"1,{k:03}" for k in range(40)]  # 1234, or 1.234?
    with pytest.raises(ValueError, match=r"If the comma is a decimal mark, add --decimal ,"):
        scores(unclear)
    np.testing.assert_allclose(scores(unclear, decimal=","), 1 + np.arange(40) / 1000)


def test_labels_that_say_nothing_are_left_out_counted_and_proposed(answer, refusal, tmp_path):
    rows = [(task, w, "unsure" if k % 10 == 0 else c) for k, (task, w, c) in enumerate(long(answers()[0]))]
    path = write(tmp_path / "l.csv", HEADER, rows)
    _, out = answer("inspect", path)
    assert "Class 'unsure' looks like a missing answer" in out and "--abstain unsure" in out
    for option in (("--abstain", "Unsure,skip"), ("--map", "unsure=")):
        found, out = answer("inspect", path, *option)
        assert found["classes"] == ["negative", "positive"] and found["num_labels"] == 108
        assert "12 of 120 labels are abstentions ('unsure') and were left out." in out
        assert f"evaluate {path} {option[0]} {option[1]} " in out
    words = ["prevalence", path, "--assume", "independent"]
    err = refusal(*words)
    assert "Class 'unsure' looks like a missing answer" in err and "--classes ..." in err
    alone = write(tmp_path / "one.csv", HEADER, [row for row in rows if row[1] == "ann"])  # nothing to fit
    found, _ = answer("prevalence", alone, "--classes", "negative,positive,unsure")
    assert "looks like a missing answer" in " ".join(found["warnings"])
    _, out = answer("inspect", path, "--abstain", "skip")
    assert "never occur" in out and "'skip'" in out


def test_columns_of_gold_predictions_and_scores_are_named(answer, tmp_path):
    z, y = answers()
    rows = [(f"c{i}", *z[i], y[i], y[i], f"{0.1 + i / 50:.3f}") for i in range(40)]
    path = write(tmp_path / "wide.csv", ("task", *WORKERS, "gold", "model_v2", "score"), rows)
    found, _ = answer("inspect", path)
    commands = [step["command"] for step in found["next_steps"]]
    assert f"jtruth evaluate {path} --predictions column:model_v2 --gold column:gold" in commands
    assert f"jtruth evaluate {path} --predictions column:score --scores" in commands
    assert found["num_labelers"] == 3


def test_a_column_of_ids_is_no_labeler(refusal, tmp_path):
    z, _ = answers(300)
    rows = [(f"c{i}", *z[i], 1000 + i) for i in range(300)]
    err = refusal(
        "labelers", write(tmp_path / "wide.csv", ("task", *WORKERS, "row"), rows), "--wide", "--fast"
    )
    assert "labeler 'row' gave 300 labels, and most of them occur once, like ids or text" in err
    assert "Leave this column out, or read it as the task (--task row)" in err


def test_typing_errors_and_rounded_ids_are_said(answer, tmp_path):
    rows = [(f"12345678901234{task[1:]:0>4}", w, c) for task, w, c in long(answers()[0])]
    rows[4] = (*rows[4][:2], "postive")
    _, out = answer("inspect", write(tmp_path / "l.csv", HEADER, rows))
    assert "Class 'postive' (1 label) is one letter from 'positive'" in out
    assert "--map postive=positive" in out and "1 unusual pattern" in out
    assert "40 task ids differ only beyond 15 digits" in out


def test_an_excel_file_needs_openpyxl_or_is_read(answer, refusal, tmp_path, monkeypatch):
    """Where openpyxl is not installed, one that reads what this test wrote stands in its place."""
    z, _ = answers()
    path = tmp_path / "l.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    err = refusal("labelers", path, "--fast")
    assert "reading it needs openpyxl (pip install openpyxl); or save it as CSV" in err
    rows = [(float(i // 3), w, c, None) for i, (_, w, c) in enumerate(long(z))]
    rows = [("task", "worker", "label", None), *rows]
    sheet = {"title": "one", "iter_rows": lambda values_only: [*rows, (None,) * 4]}
    empty = {"title": "two", "iter_rows": lambda values_only: [(None,)]}
    sheet, empty = (types.SimpleNamespace(reset_dimensions=list, **one) for one in (sheet, empty))
    fake = types.ModuleType("openpyxl")
    fake.load_workbook = lambda *_, **__: types.SimpleNamespace(worksheets=[sheet, empty])
    monkeypatch.setitem(sys.modules, "openpyxl", fake)
    found, _ = answer("inspect", path)
    assert found["num_samples"] == 40 and found["num_labelers"] == 3


def test_columns_of_their_own_and_maps(run, refusal, tmp_path):
    rows = [(k, w, 5 if (k + len(w)) % 2 else 2) for k in range(8) for w in ("ann", "bobby", "c")]
    labels = write(tmp_path / "labels.csv", ("task", "worker", "label"), rows)
    said = write(tmp_path / "pred.csv", ("place", "says"), [(k, 5 - k % 2 * 3) for k in range(8)])
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.5, 0.5]}))
    known = ("--pass-at", "4", "--noise", tmp_path / "noise.json", "--positive", "fail")
    asked = ("evaluate", labels, "--predictions", said, *known)
    code, out, err = run(*asked, "--pred-task", "place", "--pred-label", "says")
    assert code == 0, err
    assert "Grades >= 4 count as pass (24 labels)." in out and "Positive class: fail" in out
    # of two columns the other one holds the predictions, whatever its name; of three it must be said
    named = out.replace("--pass-at", "--task task --pass-at").replace(" --pred-label says", "")
    assert run(*asked, "--task", "task", "--pred-task", "place")[1] == named
    assert (
        "no columns 'task', 'label'; the columns are 'place', 'says'. Name the column of the task and the "
        "label by --pred-task NAME --pred-label NAME" in refusal(*asked, "--task", "task")
    )
    said.write_text("task,guess,words\n0,pass,none\n")
    assert "Name the column of the label by --pred-label NAME" in refusal(*asked, "--task", "task")
    assert "write label=class, separated by commas" in refusal("inspect", labels, "--map", "5")
