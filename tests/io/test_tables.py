"""Files: contents, errors with their place, and round trips."""

import gzip
import io
import os
import threading
import unicodedata

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

from jtruth.evaluation import inputs
from jtruth.io import read_gold, read_labels, read_noise, read_predictions, read_scores, write_labels
from jtruth.labels import Labels

GOOD = "task,worker,label\n1,ann,no\n1,bob,yes\n2,ann,yes\n"
LABELS = Labels.from_long(["1", "1", "2", "3"], ["a", "b", "a", "b"], ["no", "yes", "yes", "no"])


def test_labels_stay_the_text_they_are(write):
    path = write("task,extra,worker,label\n001,x,NA,1\n1,,1e3,0\n001,y,1000,2\n")
    labels = read_labels(path)
    assert labels.tasks == ("001", "1") and labels.workers == ("NA", "1e3", "1000")
    assert labels.classes == ("0", "1", "2") and labels.label.tolist() == [1, 0, 2]
    assert labels.sample.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (GOOD, "labels.csv"),
        (b"\xef\xbb\xbf" + GOOD.encode(), "bom.csv"),
        (GOOD.replace("\n", "\r\n"), "windows.csv"),
        (GOOD + "\n\n", "blank end.csv"),
        (GOOD[:-1], "no newline at the end.csv"),
        (GOOD.replace("task,worker,label", " task , worker,label "), "header with spaces.csv"),
        (GOOD.replace("ann", '"ann"'), "quotes.csv"),
        (GOOD.replace(",", "\t"), "labels.tsv"),
        (GOOD.replace(",", ";"), "labels.csv"),
        (GOOD.replace(",", "\t"), "labels.csv"),
        (GOOD.replace(",", "|"), "labels.tsv"),
        (gzip.compress(GOOD.encode(), mtime=0), "labels.csv.gz"),
        (gzip.compress(GOOD.replace(",", "\t").encode(), mtime=0), "labels.tsv.gz"),
    ],
)
def test_one_table_in_many_dresses(write, content, name):
    labels = read_labels(write(content, name))
    assert labels.tasks == ("1", "2") and labels.workers == ("ann", "bob")
    assert labels.to_matrix().tolist() == [[0, 1], [1, -1]]


def test_other_columns_and_separators(write):
    path = write("item;rater;rating\n1;a;0\n2;a;1\n")
    labels = read_labels(path, sep=";", task="item", worker="rater", label="rating")
    assert labels.tasks == ("1", "2") and labels.label.tolist() == [0, 1]


def test_missing_labels_can_be_dropped(write):
    path = write("task,worker,label\n1,a,yes\n1,b,\n2,a,null\n3,b,no\n")
    labels = read_labels(path, missing="drop")
    assert labels.tasks == ("1", "3") and labels.num_labels == 2
    assert labels.notes[0].startswith("2 of 4 rows have no label")
    assert "1 task has no label and was left out: '2'." in labels.notes
    named = read_labels(write("task,worker,label\n1,a,None\n2,a,Some\n"), classes=["None", "Some"])
    assert named.label.tolist() == [0, 1]


def test_repeats_by_option(write):
    path = write("task,worker,label\n1,a,0\n1,a,1\n")
    assert read_labels(path, repeats="keep").label.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"labels.csv, lines 2, 3: worker 'a' labelled task '1' 2 times"):
        read_labels(path, repeats="error")
    path = write("task,worker,label\n1,a,0\n1,a,1\n1,a,1\n")
    assert read_labels(path, repeats="majority").label.tolist() == [1]
    assert read_labels(path, repeats="last").label.tolist() == [1]


HEAD = "task,worker,label\n"
BAD_LABELS = [
    (
        GOOD.replace(",", ";", 1).replace(",", "|", 1),
        "the header is one field, 'task;worker|label'. If the separator is ';', set sep=';'",
    ),
    ("", "labels.csv: the file is empty"),
    (HEAD, "labels.csv: the file has a header but no rows"),
    (
        "where,worker,label\n1,a,0\n",
        "labels.csv: no column 'task'; the columns are 'where', 'worker', 'label'. Name the column of the "
        "task by task=... (at the command line --task NAME)",
    ),
    (HEAD + "1,a,0\n1,b,0,7\n", "labels.csv, line 3: 4 fields where the header has 3"),
    ("task,task,label\n1,2,3\n", "the header has 'task' more than once"),
    (HEAD + "1,a,0\n1,b,\n2,a,nan\n", "labels.csv, lines 3, 4: no label (got '')"),
    (HEAD + "1,a,0\n,a,0\n", "labels.csv, line 3: no task id (got '')"),
    (HEAD + "1,a,0\n2,a,1\n1,a,0\n", "labels.csv, lines 2, 4: worker 'a' labelled task '1' 2 times"),
    (HEAD + "1,a, 0\n1,b,0\n", "line 2: label ' 0' begins or ends with a space; '0' would"),
    (HEAD + '1,"a,0\n', "Check the quotation marks"),
    (HEAD.encode() + b"1,Jos\xff,0\n", "not UTF-8 text"),
    (GOOD.encode("utf-16")[:-1], "this is damaged UTF-16 text. Save it as UTF-8"),
    (b"PK\x03\x04rest", "this is an Excel or zip file. Save the table as CSV"),
    (b"PAR1rest", "this Parquet file cannot be read"),
    (gzip.compress(GOOD.encode(), mtime=0)[:-9], "the gzip file is damaged"),
    (HEAD + '"a\nb",1,0\n"a\nb",2,1\n"a\nb",1,0\n', "lines 2, 6: worker '1' labelled task 'a\\nb' 2 times"),
    (HEAD + '"a\nb",1,0\n2,a\n', "labels.csv, line 4: 2 fields"),
]


@pytest.mark.parametrize("case", BAD_LABELS, ids=[case[1] for case in BAD_LABELS])
def test_bad_label_files(write, case):
    content, fragment = case
    with pytest.raises(ValueError) as caught:
        read_labels(write(content), repeats="error")
    assert fragment in str(caught.value)


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4)] * 2),
        min_size=2,
        unique=True,
    ),
    st.booleans(),
)
def test_round_trip_through_a_file(tmp_path_factory, pairs, compressed):
    tasks, workers = zip(*pairs, strict=True)
    labels = Labels.from_long(tasks, workers, [k % 2 for k in range(len(pairs))])
    path = tmp_path_factory.mktemp("trip") / ("labels.csv.gz" if compressed else "labels.csv")
    write_labels(path, labels)
    again = read_labels(path)
    assume(all(unicodedata.is_normalized("NFC", name) for name in tasks + workers))  # files are read so
    assert (again.tasks, again.workers, again.classes) == (labels.tasks, labels.workers, labels.classes)
    for leaf, other in zip(
        (again.sample, again.labeler, again.label), (labels.sample, labels.labeler, labels.label), strict=True
    ):
        assert (leaf == other).all()


def test_written_names_with_separators_and_quotes_come_back(tmp_path):
    labels = Labels.from_long(['a,"b', "c\nd"], ["x y", "z;"], ["yes, sir", "no"])
    write_labels(tmp_path / "odd.csv", labels)
    again = read_labels(tmp_path / "odd.csv")
    assert again.tasks == labels.tasks and again.classes == labels.classes


def test_labels_without_names_are_written_by_number(tmp_path):
    write_labels(tmp_path / "z.csv", Labels.from_matrix([[0, 1], [1, -1]], 2))
    assert (tmp_path / "z.csv").read_text() == "task,worker,label\n0,0,0\n0,1,1\n1,0,1\n"


def test_predictions_are_put_in_the_order_of_the_samples(write):
    path = write("task,label,score,p_yes,p_no\n3,no,.2,.1,.9\n1,yes,.7,.8,.2\n2,no,.5,.4,.6\n", "pred.csv")
    found = read_predictions(path, LABELS)
    assert found.y_pred.tolist() == [1, 0, 0] and found.samples.tolist() == [0, 1, 2] and found.notes == ()
    assert found.scores.tolist() == [0.7, 0.5, 0.2]
    np.testing.assert_allclose(found.probabilities, [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]], rtol=1e-15)
    plain = read_predictions(write("id,guess\n1,no\n2,no\n3,yes\n"), LABELS, task="id", label="guess")
    assert plain.scores is None and plain.probabilities is None and plain.y_pred.tolist() == [0, 0, 1]


def test_probabilities_alone_are_predictions_of_the_most_probable_class(write):
    found = read_predictions(write("task,p_no,p_yes\n2,.6,.4\n1,.2,.8\n3,.9,.1\n", "p.csv"), LABELS)
    assert (
        found.y_pred.tolist() == [1, 0, 0] and "the most probable class is the prediction" in found.notes[0]
    )
    tied = write("task,p_no,p_yes\n2,.6,.4\n1,.5,.5\n3,.9,.1\n", "tied.csv")
    with pytest.raises(ValueError, match=r"line 3: no class is .* Give a column 'label'"):
        read_predictions(tied, LABELS)
    with pytest.raises(ValueError, match="no column 'said'"):
        read_predictions(tied, LABELS, label="said")
    alone = read_scores(tied, LABELS)
    np.testing.assert_allclose(alone.probabilities[:, 1], [0.5, 0.4, 0.1])
    assert alone.scores is None and alone.notes == ()


def test_scores_alone(write):
    found = read_scores(write("task,score\n2,.6\n1,-2\n3,7\n", "s.csv"), LABELS)
    assert found.scores.tolist() == [-2.0, 0.6, 7.0] and found.probabilities is None
    with pytest.raises(ValueError, match="has 2 rows"):
        read_scores(write("task,score\n2,.6\n2,-2\n3,7\n", "s2.csv"), LABELS)


@pytest.mark.parametrize("total", [0.9, 0.98, 1.02, 1.1])
def test_probabilities_that_were_not_just_rounded_are_refused(write, total):
    path = write(f"task,label,no,yes\n1,no,.5,{total - 0.5:.2f}\n2,no,.5,.5\n3,yes,0,1\n", "pred.csv")
    with pytest.raises(ValueError, match=f"line 2: the class probabilities sum to {total:g}, not to 1"):
        read_predictions(path, LABELS)


def test_predictions_as_codes_and_for_numbered_tasks(write):
    path = write("task,label\n0,1\n1,0\n", "pred.csv")
    assert read_predictions(path, Labels.from_matrix([[0], [1]], 2)).y_pred.tolist() == [1, 0]
    ints = Labels.from_long([1, 0], ["a", "a"], ["no", "yes"], classes=["no", "yes"])
    assert ints.tasks == (0, 1)  # ids are compared as text; codes stand for names in an order that was given
    assert read_predictions(path, ints).y_pred.tolist() == [1, 0]


def test_only_common_tasks_on_request(write):
    path = write("task,label\n9,no\n3,no\n1,yes\n8,no\n", "pred.csv")
    with pytest.raises(ValueError) as caught:
        read_predictions(path, LABELS)
    for fragment in (
        "pred.csv: 1 of 3 labelled tasks has no row in it ('2')",
        "2 of its rows are for tasks without labels ('9', '8')",
        "set common_only=True to use the 2 common tasks",
    ):
        assert fragment in str(caught.value)
    found = read_predictions(path, LABELS, common_only=True)
    assert found.samples.tolist() == [0, 2] and found.y_pred.tolist() == [1, 0]
    assert len(found.notes) == 1 and "the 2 common tasks are used" in found.notes[0]
    assert LABELS.restrict(found.samples).tasks == ("1", "3")


def test_equal_predictions_are_allowed_and_noted(write):
    found = read_predictions(write("task,label\n1,no\n2,no\n3,no\n"), LABELS)
    assert found.y_pred.tolist() == [0, 0, 0] and found.notes == ("1 class is never predicted: 'yes'.",)


def test_rounded_probabilities_are_rescaled_and_counted_but_for_rounding_of_arithmetic(write):
    found = read_predictions(write("task,label,no,yes\n1,no,.333,.666\n2,no,.5,.5\n3,yes,0,1\n"), LABELS)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-15)
    assert found.notes == ("Class probabilities were rescaled in 1 row (at most 0.001 off).",)
    path = write("task,label,no,yes\n1,no,.3333333,.6666666\n2,no,.5,.5\n3,yes,.1,.9\n", "pred.csv")
    found = read_predictions(path, LABELS)
    assert found.notes == () and abs(found.probabilities[0].sum() - 1) < 1e-12


BAD_PREDICTIONS = [
    ("task,a,b\n1,no,x\n", "pred.csv: no column 'label'; the columns are 'task', 'a', 'b'"),
    ("task,label\n1,\n", "pred.csv, line 2: no label (got ''). Leave such rows out."),
    ("task,label\n,no\n", "pred.csv, line 2: no task id"),
    ("task,label\n1,maybe\n", "line 2: label 'maybe' is not one of the classes 'no', 'yes'"),
    ("task,label\n1,2\n", "line 2: label '2' is not one of the classes"),
    ("task,label\n01,no\n", "No task is in both: do the ids agree? Labels have '1', '2', '3'"),
    (
        "model,task,label\na,1,no\na,2,no\nb,1,no\n",
        "lines 2, 4: task '1' has 2 rows (1 task does). One row per task is needed; the columns are 'model'",
    ),
    ("task,label,score\n1,no,high\n", "pred.csv, line 2: score 'high' is not a finite number"),
    ("task,label,score\n1,no,nan\n", "line 2: score 'nan' is not a finite number"),
    ("task,label,score\n1,no,1\n2,no,inf\n", "line 3: score 'inf' is not a finite number"),
    ("task,label,score\n1,no,\n", "line 2: score '' is not a finite number"),
    ("task,label,score\n1,no,1_0\n", "line 2: score '1_0' is not a finite number"),
    ("task,label,p_no\n1,no,.5\n", "there is a column 'p_no' but none for 'p_yes'"),
    (
        "task,label,p_no,p_yes,p_maybe\n1,no,.5,.5,0\n",
        "'p_maybe' beside 'p_no' would belong to a class that does not exist; the classes are 'no', 'yes'",
    ),
    ("task,label,no,yes,maybe\n1,no,.5,.3,.2\n", "line 2: the class probabilities sum to 0.8, not to 1"),
    ("task,label,no,yes\n1,no,-.1,1.1\n", "line 2: probabilities must lie in [0, 1]; got [-0.1, 1.1]"),
]


@pytest.mark.parametrize(("content", "fragment"), BAD_PREDICTIONS, ids=[said for _, said in BAD_PREDICTIONS])
def test_bad_prediction_files(write, content, fragment):
    with pytest.raises(ValueError) as caught:
        read_predictions(write(content, "pred.csv"), LABELS)
    assert fragment in str(caught.value)


def test_missing_score_column(write):
    with pytest.raises(ValueError, match=r"no column 'margin'; the columns are 'task', 'label'"):
        read_predictions(write("task,label\n1,no\n2,no\n3,no\n"), LABELS, score="margin")


def test_gold(write):
    assert read_gold(write("task,label\n3,yes\n1,no\n"), LABELS).tolist() == [0, -1, 1]
    path = write("task,label\n3,yes\n7,no\n", "gold.csv")
    with pytest.raises(ValueError, match=r"gold.csv: 1 of its rows is for a task without labels \('7'\)"):
        read_gold(path, LABELS)
    assert read_gold(path, LABELS, common_only=True).tolist() == [-1, -1, 1]
    with pytest.raises(ValueError, match="No task is in both"):
        read_gold(write("task,label\n7,no\n"), LABELS, common_only=True)


def test_pipes_and_standard_input(tmp_path, monkeypatch):
    """What cannot be read twice: a named pipe, and "-"; also with a line break in a field."""
    text = HEAD + '"a\nb",x,0\n1,x,1\n'
    for content in (text.encode(), gzip.compress(text.encode())):
        pipe = tmp_path / f"pipe{len(content)}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert read_labels(pipe).tasks == ("a\nb", "1")
        writer.join()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_labels("-").tasks == ("a\nb", "1")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(HEAD.encode())))
    with pytest.raises(ValueError, match="standard input: the file has a header but no rows"):
        read_labels("-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"symmetric": 0.1}')))
    assert read_noise("-", LABELS) == {"symmetric": 0.1}


@pytest.mark.parametrize("end", ["\t", " ", "\xa0", "\u3000", "\u200b"])
def test_a_field_that_ends_in_nothing_to_see(write, end):
    for place in range(3):
        row = ["1", "a", "no"]
        row[place] += end
        with pytest.raises(ValueError, match=r"labels.csv, line 3: .*(with a space|cannot be seen)"):
            read_labels(write(HEAD + "2,b,yes\n" + ",".join(row) + "\n"))


def test_end_of_file_marks_and_long_fields(write):
    with pytest.raises(ValueError, match=r"labels.csv, line 4: 1 fields where the header has 3 .*'\\x1a'"):
        read_labels(write(GOOD[: GOOD.index("2,ann")] + "\x1a"))
    for row in ("1,a," + "x" * 100_000, "y" * 100_000 + ",b"):
        with pytest.raises(ValueError) as caught:
            read_labels(write(HEAD + "1,a,0\n" + row + "\n"), classes=["0", "1"])
        assert len(str(caught.value)) < 400


def test_gold_left_out_is_said_where_the_answer_is_given(write):
    gold = read_gold(write("task,label\n3,yes\n7,no\n"), LABELS, common_only=True)
    assert gold.tasks == LABELS.tasks and "1 of its rows is for a task without labels ('7')" in gold.notes[0]
    _, notes = inputs.read_gold(gold, LABELS)
    assert notes == gold.notes
    part = LABELS.restrict([2, 1])
    assert inputs.read_gold(gold[:0].tolist() or {"3": "yes"}, part)[0].tolist() == [1, -1]


def test_numbers_in_files_are_codes_only_where_the_order_is_known(write):
    path = write("task,label\n1,0\n2,1\n3,1\n", "pred.csv")
    with pytest.raises(ValueError, match=r"pred.csv, lines 2, 3, 4: label '0' is a number.*classes="):
        read_predictions(path, LABELS)
    with pytest.raises(ValueError, match="their order is unknown"):
        read_gold(path, LABELS)
    said = LABELS.with_names(classes=["no", "yes"])
    found = read_predictions(path, said)
    assert found.y_pred.tolist() == [0, 1, 1] and found.y_pred.tasks == LABELS.tasks


def test_a_column_beside_that_could_be_the_answer_is_asked_about(write):
    """`label` may be the gold of a table of predictions, and the prediction in a table of gold."""
    for beside, read, option in (("prediction", read_predictions, "pred"), ("gold", read_gold, "gold")):
        path = write(f"task,label,{beside}\n1,no,no\n2,yes,no\n3,no,yes\n", "one.csv")
        said = rf"one.csv, lines 3, 4: 'label' and '{beside}' differ.*--{option}-label {beside}"
        with pytest.raises(ValueError, match=said):
            read(path, LABELS)
        read(path, LABELS, label="label")
        found = read(path, LABELS, label=beside)
        assert np.asarray(getattr(found, "y_pred", found)).tolist() == [0, 0, 1]
        read(write(f"task,label,{beside}\n1,no,no\n2,yes,yes\n3,no,no\n", "same.csv"), LABELS)
        read(write(f"task,label,{beside}_by\n1,no,ann\n2,yes,ann\n3,no,bob\n", "who.csv"), LABELS)


def test_a_score_that_numbers_the_rows_of_a_sorted_file(write):
    tasks = [f"t{i}" for i in np.random.default_rng(0).permutation(40)]
    labels = Labels.from_long(sorted(tasks), ["a"] * 40, [0, 1] * 20)
    row, said = np.arange(40), "Look first: s.csv: column 'score' numbers the rows"
    for scores, rings in ((row, True), (row[::-1] / 40, True), (row**2, False)):
        rows = "".join(f"{t},{s}\n" for t, s in zip(tasks, scores, strict=True))
        notes = read_scores(write(f"task,score\n{rows}", "s.csv"), labels).notes
        assert any(text.startswith(said) for text in notes) == rings


def test_workers_that_are_counts_are_refused(write):
    rng = np.random.default_rng(0)
    yes = rng.integers(0, 6, 60)
    rows = [f"t{i},{n},{c}" for i, k in enumerate(yes) for n, c in ((k, "yes"), (5 - k, "no")) if n]
    with pytest.raises(
        ValueError, match="the worker column has numbers, and no two rows of a task have the same label"
    ):
        read_labels(write("task,worker,label\n" + "\n".join(rows) + "\n"))
    for workers in (["1", "2"], ["1", "2", "3"]):  # two that always disagree, three of whom two agree
        z = [(i, w, ["yes", "no"][(i + k) % 2]) for i in range(60) for k, w in enumerate(workers)]
        read_labels(write("task,worker,label\n" + "".join(f"{i},{w},{c}\n" for i, w, c in z)))
    never = [f"{i},{w},{'abc'[(i + w) % 3]}" for i in range(60) for w in range(3)]  # each of three people
    read_labels(write("task,worker,label\n" + "\n".join(never) + "\n"))


def test_a_wide_table_whose_tasks_are_not_the_first_column(write):
    rows = "".join(f"{['yes', 'no'][k % 2]},q{k},{['no', 'yes'][k % 3 == 0]}\n" for k in range(12))
    labels = read_labels(write("ann,task,bob\n" + rows))
    assert labels.workers == ("ann", "bob") and labels.tasks == tuple(f"q{k}" for k in range(12))
    assert labels.to_matrix()[:3].tolist() == [[1, 1], [0, 0], [1, 0]]


def test_names_that_were_typed_are_looked_for_although_a_table_has_no_worker(write):
    """One label a task is read as one labeler only where nobody said what the columns are called."""
    path = write("task,answer\n1,no\n2,yes\n")
    assert read_labels(path).workers == ("answer",)
    with pytest.raises(ValueError, match=r"no columns? .*'who'"):
        read_labels(path, worker="who")
