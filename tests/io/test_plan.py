"""The plan of a table: roles of columns, doubts and options that resolve them, and saved plans."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import jtruth as jt
from jtruth.io import FilePlan, inspect_file
from jtruth.io.reading import opened


def table(header, rows):
    return "\n".join(",".join(map(str, row)) for row in (header.split(","), *rows)) + "\n"


def crowd(size=60, labelers=3, seed=0):
    """(samples, labelers) of yes and no, right three times in four."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    z = np.where(rng.random((size, labelers)) < 0.75, y[:, None], 1 - y[:, None])
    return np.array(["no", "yes"])[z]


Z = crowd()
WIDE = [(f"x{i}", *row) for i, row in enumerate(Z)]


@pytest.mark.parametrize(
    ("header", "rows", "layout", "labelers"),
    [
        ("item,r1,r2,r3", [(1, 1, 1, 2), (2, 1, 3, 3), (3, 2, 2, 2)], "wide", ("r1", "r2", "r3")),
        (
            "key,ann,bea",
            [(f"q{k}", g, h) for k, (g, h) in enumerate(zip("132524", "132424", strict=True))],
            "wide",
            ("ann", "bea"),
        ),
        ("rater,q1,q2,q3", [("a", "x", "y", "x"), ("b", "x", "y", "y")], "transposed", ("q1", "q2", "q3")),
        (
            "item,split,a,b,seconds",
            [(k, "dev", "x", "xy"[k % 2], k / 7) for k in range(9)],
            "wide",
            ("a", "b"),
        ),
        ("id,label,note", [(k, "xy"[k % 2], f"n {k}") for k in range(9)], "one label each", None),
        ("id,a,b,c", [(k, "x", "", "y" if k else "x") for k in range(4)], "wide", ("a", "c")),  # b is empty
        ("n,a,b", [], "wide", None),
    ],
)
def test_layouts(write, header, rows, layout, labelers):
    if not rows:
        with pytest.raises(ValueError, match="header but no rows"):
            opened(write(header + "\n"))
        return
    plan = opened(write(table(header, rows))).plan
    assert (plan.layout, plan.labelers, plan.doubts) == (layout, labelers, ())


def test_a_second_key_is_a_doubt_and_both_ways_are_said(write):
    rows = [(i, w, q, Z[i, w]) for i in range(20) for w in range(3) for q in ("clear", "true")]
    path = write(table("item,annotator,question,answer", rows))
    with pytest.raises(
        ValueError, match=r"--task item,question\); to compare its groups, --by question.*repeats"
    ):
        jt.read_labels(path)
    labels = jt.read_labels(path, task=("item", "question"))
    assert labels.num_samples == 40 and labels.num_labels == 120 and "0 | clear" in labels.tasks
    assert jt.read_labels(path, repeats="majority").num_labels == 60
    look = inspect_file(path)
    assert look.plan.doubts and "Unclear" in str(look) and look.mapping is None


def test_the_one_column_that_repeats_with_each_labeler_is_the_sample(tmp_path):
    """No name says "ticket" is the sample; a day, a remark of the same tickets or a length change nothing."""
    rows = [(f"T-{i}", who, "ab"[(i * i + j) % 2], f"2026-01-{1 + i % 28:02d}", f"about {i}", i % 7)
            for i in range(30) for j, who in enumerate(("ann", "bob", "cem"))]  # fmt: skip
    names = ["ticket", "annotator", "label", "day", "body", "length"]
    frame = pd.DataFrame(rows, columns=names)
    for kept in (names[:3], names[:4], names, ["annotator", "day", "length", "label", "ticket"]):
        data = jt.read(frame[kept])
        assert data.plan.task == ("ticket",) and data.labels.num_labels == 90, kept
        assert data.labels.num_samples == 30 and "'ticket'" in " ".join(data.labels.notes)
    for kept in (["annotator", "label", "length"], ["annotator", "label", "day"], ["annotator", "label"]):
        with pytest.raises(ValueError, match="no column 'task'"):
            jt.read(frame[kept])
    other = frame.assign(form=[f"F{(i + (j == 2)) % 30}" for i in range(30) for j in range(3)])
    with pytest.raises(ValueError, match="no column 'task'"):  # tickets and forms are other samples
        jt.read(other[["ticket", "form", "annotator", "label"]])


def test_epochs_are_repeats_of_one_labeler(write):
    rows = [(i, w, e, Z[i, w]) for i in range(20) for w in range(3) for e in range(4)]
    labels = jt.read_labels(write(table("sample,judge,epoch,verdict", rows)))
    assert labels.num_labels == 60 and labels.self_agreement["agree"].sum() > 0


def test_an_id_that_never_repeats_beside_one_that_does_is_asked_about(write):
    rows = [(f"s{3 * i + w}", f"t{i}", w, Z[i, w]) for i in range(20) for w in range(3)]
    path = write(table("id,traceId,judge,value", rows))
    with pytest.raises(ValueError, match=r"no two rows have the same id.*--task traceId.*--task id"):
        jt.read_labels(path)
    assert jt.read_labels(path, task="traceId").num_samples == 20
    assert jt.read_labels(path, task="id").num_samples == 60


def test_what_is_called_gold_or_final_is_no_labeler(write):
    rows = [(f"x{i}", *row, row[0], row[1]) for i, row in enumerate(Z)]
    data = jt.read(write(table("item,a,b,c,truth,final_label", rows)))
    assert data.labels.worker_names == ("a", "b", "c") and data.plan.roles["final_label"] == "derived"
    codes = {name: k for k, name in enumerate(data.labels.class_names)}
    assert data.gold.tolist() == [codes[row[0]] for row in Z]
    long = [(f"x{i}", w, v) for i, row in enumerate(Z) for w, v in zip(("a", "b", "GOLD"), row, strict=True)]
    path = write(table("task,worker,label", long))
    data = jt.read(path)
    assert data.labels.worker_names == ("a", "b") and data.gold.tolist() == [codes[row[2]] for row in Z]
    assert any("'GOLD' is named like verified labels" in note for note in data.notes)
    assert jt.read_labels(path, labelers=("a", "GOLD")).worker_names == ("a", "GOLD")


def test_a_column_made_of_the_others_is_a_doubt(write):
    z = crowd(size=200, labelers=5)
    votes = (z[:, :4] == "yes").sum(axis=1) + (z[:, 0] == "yes") * 0.5
    rows = [
        (f"x{i}", *row[:4], "yes" if v > 2.2 else "no")
        for i, (row, v) in enumerate(zip(z, votes, strict=True))
    ]
    path = write(table("item,a,b,c,d,e", rows))
    with pytest.raises(ValueError, match="labeler 'e' equals the majority of the others"):
        jt.read_labels(path)
    assert jt.read_labels(path, labelers=list("abcd")).num_labelers == 4
    assert jt.read_labels(path, labelers=list("abcde")).num_labelers == 5
    own = [(f"x{i}", *row) for i, row in enumerate(z)]
    assert jt.read_labels(write(table("item,a,b,c,d,e", own))).num_labelers == 5


def test_marks_are_no_label_unless_named_or_all_there_is(write):
    rows = [(i, *("*" if (i + t) % 3 == 0 else v for t, v in enumerate(Z[i]))) for i in range(20)]
    path = write(table("unit,a,b,c", rows))
    labels = jt.read_labels(path)
    assert labels.class_names == ("no", "yes") and labels.num_labels == 40
    assert any("20 cells '*' have no label" in note for note in labels.notes)
    assert jt.read_labels(path, classes=("*", "no", "yes")).num_labels == 60
    signs = jt.read_labels(write(table("unit,a,b", [(i, "+-"[i % 2], "+-"[i % 3 % 2]) for i in range(9)])))
    assert signs.class_names == ("+", "-") and signs.num_labels == 18


def test_one_and_zero_beside_yes_and_no(write):
    words = [("True", "1"), ("false", "0"), ("yes", "TRUE"), ("no", "0")]
    labels = jt.read_labels(write(table("task,a,b", [(k, *pair) for k, pair in enumerate(words)])))
    assert labels.num_classes == 2 and labels.to_matrix().tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


def test_sets_are_refused_with_a_way_and_asked_about_one_class(write):
    cells = ["toxic", "insult", "insult;toxic", "toxic;insult"]
    rows = [(i, w, cells[(i + w) % 4]) for i in range(12) for w in range(2)]
    path = write(table("task,worker,label", rows))
    with pytest.raises(ValueError, match=r"labels are sets of classes.*contains='"):
        jt.read_labels(path)
    labels = jt.read_labels(path, contains="toxic")
    assert labels.class_names == ("no", "yes") and labels.counts()[:, 1].sum() == sum(
        "toxic" in r[2] for r in rows
    )
    commas = jt.read_labels(
        write('task,a,b\n1,"Pain, acute",well\n2,well,well\n3,"Pain, acute","Pain, other"\n')
    )
    assert commas.num_classes == 3


def test_a_plan_is_kept_and_used_again(write, tmp_path):
    path = write(table("who,a,b,c,extra", [(*row, "x") for row in WIDE]))
    plan = opened(path, FilePlan.asked(labelers=("a", "c"), map={"yes": "pass", "no": "fail"})).plan
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
    again = jt.read_labels(path, plan=tmp_path / "plan.json")
    assert again.worker_names == ("a", "c") and again.class_names == ("fail", "pass")
    other = jt.read_labels(path, plan=plan, labelers=("b", "c"))  # options are edits of the plan
    assert other.worker_names == ("b", "c") and other.class_names == ("fail", "pass")
    with pytest.raises(ValueError, match="no plan of jtruth"):
        jt.read_labels(path, plan=write('{"layout": "wide", "colour": 1}'))


def test_everything_that_stands_in_a_file(write):
    rows = [
        (f"x{i}", "new" if i % 2 else "old", *row, i % 7 / 7, f"2026-01-{1 + i % 28:02}")
        for i, row in enumerate(Z)
    ]
    data = jt.read(write(table("item,system,a,b,model,score,day", rows)))
    assert data.labels.worker_names == ("a", "b") and data.groups["system"].tolist() == [
        row[1] for row in rows
    ]
    assert [data.labels.class_names[c] for c in data.predictions["model"]] == Z[:, 2].tolist()
    np.testing.assert_allclose(data.scores["score"], [row[-2] for row in rows])
    assert data.times[1] - data.times[0] == 86400 and data.gold is None


def test_features_are_no_labelers(write):
    rng = np.random.default_rng(0)
    path = write(table("id,p0,p1,p2,p3", [(k, *rng.integers(0, 17, 4)) for k in range(99)]))
    with pytest.raises(ValueError, match="If these numeric columns are labelers and not features"):
        jt.read_labels(path)
    raters = jt.read_labels(write(table("id,judge_a,judge_b", [(k, k % 15, k % 15) for k in range(60)])))
    assert raters.num_labelers == 2 and raters.scale == "interval"


def test_a_column_among_labelers_with_a_class_of_its_own_is_a_doubt_where_rows_are_few(tmp_path):
    """Two commands are shown, and each gives its labels; in a longer table such a column is not used."""
    path = tmp_path / "wide.csv"
    path.write_text("doc_id,gpt-4o,claude,qwen,gemini\na,1,1,,1\nb,0,1,2,1\nc,0,0,,1\n")
    with pytest.raises(ValueError, match="'qwen' is between columns of labelers") as doubt:
        jt.read(path)
    for names in re.findall(r"--labelers ([\w,-]+)", str(doubt.value)):
        assert jt.read(path, labelers=names.split(",")).labels.worker_names == tuple(names.split(","))
    path.write_text(path.read_text() + "d,0,1,,1\n")
    assert jt.read(path).labels.worker_names == ("gpt-4o", "claude", "gemini")
