"""Kinds of tables that were once misread: what each means, or the doubt that names both ways to read it."""

import json

import numpy as np
import pandas as pd
import pytest

import jtruth as jt
from jtruth._validation.times import times_of

ROWS = [("a", "x", "y"), ("b", "y", "y"), ("c", "x", "x"), ("d", "y", "x"), ("e", "x", "y"), ("f", "x", "x")]


def wide(*columns, header="item,ann,bob,cid"):
    """Rows r0, r1, ... of these columns."""
    return "\n".join(
        [header, *(",".join([f"r{k}", *row]) for k, row in enumerate(zip(*columns, strict=True))), ""]
    )


def three(words):
    """Labels of three labelers that use every word."""
    return [words[k:] + words[:k] for k in range(3)]


def long(header, ids=ROWS):
    return "\n".join(
        [header, *(f"{t},w{k},{label}" for t, *labels in ids for k, label in enumerate(labels)), ""]
    )


INSIDE = [
    {
        "id": t,
        "label": "x",
        "annotations": [{"id": k, "annotator": f"w{k}", "label": v} for k, v in enumerate(some)],
    }
    for t, *some in ROWS
]
NAMED = "".join(f"{t},{k},n{k},{v}\n" for t, *some in ROWS for k, v in enumerate(some))
COMMAS = [[f'"{value}"' for value in row] for row in three(["1,5", "2", "2,5", "3"])]
TWO = ("x", "y"), "nominal"
READ = {  # content; classes, scale; first two samples
    "-1 among lower grades": (wide(*three(["-2", "-1", "0"])), ("-2", "-1", "0"), "interval", "r0 r1"),
    "errors of spreadsheets": (
        wide(["1", "#N/A", "2"], ["2", "2", "#REF!"], ["1", "n.a.", "1"]), ("1", "2"), "interval", "r0 r1"),
    "decimal commas": (wide(*COMMAS), ("1.5", "2", "2.5", "3"), "interval", "r0 r1"),
    "percent": (wide(*three(["0%", "50%", "100%"])), ("0%", "50%", "100%"), "interval", "r0 r1"),
    "numbered levels": (
        wide(*three(["2 - ok", "1 - bad", "3 - good"])),
        ("1 - bad", "2 - ok", "3 - good"), "ordinal", "r0 r1"),
    "numbered nouns": (
        wide(*three(["1: cat", "2: dog", "3: cow"])), ("1: cat", "2: dog", "3: cow"), "nominal", "r0 r1"),
    "a space behind each comma": ('item, ann, bob\nr0, x, "y"\nr1, y, y\nr2, x, x\n', *TWO, "r0 r1"),
    "numbers of subjects": ("subject,ann,bob\n3,x,y\n1,y,y\n0,x,x\n2,y,x\n4,x,y\n", *TWO, "0 1"),
    "numbers in the first column": ("photo,ann,bob\n2,x,y\n1,y,y\n3,x,x\n5,y,x\n4,x,y\n", *TWO, "2 1"),
    "an index that names": ("index,ann,bob\nu,x,y\nv,y,y\nw,x,x\n", *TWO, "u v"),
    "grades like a count": ("item,u,v,w\na,1,2,1\nb,2,2,1\nc,3,3,1\n", ("1", "2", "3"), "interval", "a b"),
    "participants": (long("statement,participant,response"), *TWO, "a b"),
    "persons beside items": (long("item,subject,response"), *TWO, "a b"),
    "graders": (long("essay,grader,grade"), *TWO, "a b"),
    "an id and a name": (f"doc,annotator_id,annotator_name,category\n{NAMED}", *TWO, "a b"),
    "transposed with a count": (
        "coder,1,2,3,4\nA,2,1,3,1\nB,2,2,3,1\nC,3,3,3,1\n", ("1", "2", "3"), "interval", "1 2"),
    "annotations inside": (json.dumps(INSIDE), *TWO, "a b"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_one_meaning_is_read(write, name):
    content, classes, scale, tasks = READ[name]
    labels = jt.read_labels(write(content, "f.json" if content.startswith("[") else "f.csv"))
    assert (labels.class_names, labels.scale, labels.task_names[:2]) == (classes, scale, tuple(tasks.split()))
    assert labels.num_labelers == (3 if "interval" in scale or content.startswith("item,ann,bob,cid") else 2)
    if labels.values:
        assert labels.values == tuple(float(one.rstrip("%")) for one in classes)


PARTS = "ann_tone,ann_style,bob_tone,bob_style"
DOUBTS = {
    "none below words of a scale": (
        wide(*three(["none", "mild", "severe"])),
        r"none may be .*\['none', 'mild', 'severe'\] or abstain=\['none'\]"),
    "-1 beside grades": (wide(*three(["-1", "0", "1"])), r"-1 may be .*\['-1', '0', '1'\] or abstain"),
    "persons or samples": (long("subject,stimulus,rating"), r"no columns 'task', 'worker'"),
    "votes for classes": (
        "item,cat,dog,cow\na,3,1,1\nb,0,5,0\nc,2,2,1\n", r"sum to 5 in every row.*--labelers cat,dog,cow"),
    "one class is marked": ("item,cat,dog\na,1,0\nb,0,1\nc,0,1\nd,1,0\n", r"sum to 1 in every row"),
    "labelers and questions": (
        wide(*three(["1", "2", "3"]), ["1", "1", "2"], header=f"item,{PARTS}"),
        rf"two parts.*--labelers ann_tone,bob_tone, --labelers ann_tone,ann_style, or --labelers {PARTS}"),
    "names in two lines": ("item,A,,B,\n,q1,q2,q1,q2\na,x,y,x,y\n", r"line 1: columns 3, 5 have no name"),
    "letters of another code": (
        wide(["caf\x8e", "th\x8e"], ["th\x8e", "th\x8e"]).encode("latin-1"), r"not UTF-8 text"),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBTS)
def test_two_meanings_are_a_doubt(write, name):
    content, message = DOUBTS[name]
    with pytest.raises(ValueError, match=message):
        jt.read_labels(write(content))


def test_doubts_are_settled_as_they_say(write):
    content, _ = DOUBTS["none below words of a scale"]
    assert jt.read_labels(write(content), abstain=["none"]).class_names == ("mild", "severe")
    assert jt.read_labels(write(content), classes=["none", "mild", "severe"]).num_labels == 9
    assert jt.read_labels(write(DOUBTS["-1 beside grades"][0]), abstain=["-1"]).class_names == ("0", "1")
    raters = "item,rater_1,rater_2\na,0,1\nb,1,0\nc,0,1\n"  # who are called so count no votes
    assert jt.read_labels(write(raters)).num_labelers == 2
    fours = wide(*three(["x", "y", "x"]), ["y", "y", "x"], header="item,ann_1,ann_2,bob_1,bob_2")
    assert jt.read_labels(write(fours)).num_labelers == 4


def test_the_order_that_a_file_or_frame_declares(tmp_path):
    """Words on no ladder, a level that nobody gave, columns that contradict one another, an unordered one."""
    frame = pd.DataFrame({"item": list("aabb"), "rater": list("uvuv"), "grade": ["wow", "meh", "meh", "wow"]})
    order = pd.CategoricalDtype(["meh", "fine", "wow"], ordered=True)
    frame.astype({"grade": order}).to_parquet(tmp_path / "long.parquet")
    columns = frame.pivot(index="item", columns="rater", values="grade")
    columns.astype(order).to_parquet(tmp_path / "wide.parquet")
    for found in (jt.read_labels(tmp_path / "long.parquet"), jt.read_labels(tmp_path / "wide.parquet"),
                  jt.read_labels(columns.astype(order).reset_index(), labelers=["u", "v"])):  # fmt: skip
        assert (found.class_names, found.scale) == (("meh", "fine", "wow"), "ordinal")
        assert found.to_matrix().tolist() == [[2, 0], [0, 2]]
    assert jt.read_labels(tmp_path / "long.parquet", classes=["wow", "meh", "fine"]).class_names[0] == "wow"
    frame.astype({"grade": "category"}).to_parquet(tmp_path / "plain.parquet")
    assert jt.read_labels(tmp_path / "plain.parquet").scale == "nominal"
    other = pd.CategoricalDtype(["wow", "meh"], ordered=True)
    columns.astype({"u": order, "v": other}).to_parquet(tmp_path / "two.parquet")
    with pytest.raises(ValueError, match="order their classes in two ways"):
        jt.read_labels(tmp_path / "two.parquet")


def test_logs_whose_verdicts_are_all_the_same(write):
    """The other verdict of the tool is the other class; of a table nobody knows it."""

    def log(*values):
        return json.dumps({"version": 2, "eval": {"model": "m"}, "plan": {}, "samples": [
            {"id": k, "epoch": 1, "scores": {"s": {"value": v}}} for k, v in enumerate(values)]})  # fmt: skip

    for value, classes in (
        ("C", ("I", "C")),
        ("I", ("I", "C")),
        (1.0, ("0", "1")),
        (True, ("false", "true")),
    ):
        labels = jt.read_labels(write(log(value, value), "log.json"))
        assert labels.class_names == classes and any("the other class is" in note for note in labels.notes)
    with pytest.raises(ValueError, match="the only label is 'P'"):
        jt.read_labels(write(log("P", "P"), "log.json"))
    with pytest.raises(ValueError, match="the only label is 'pass'"):
        jt.read_labels(write("item,ann,bob\na,pass,pass\nb,pass,pass\n"))


def test_fields_that_are_no_answers(write):
    """Remarks and fields of one value give way to the field of answers; two such fields are a doubt."""

    def toloka(**more):
        return "\n".join(["\t".join(["ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "INPUT:t", *more]), *(
            "\t".join([t, f"w{k}", "i", *(fill(t, k, v) for fill in more.values())])
            for t, *some in ROWS for k, v in enumerate(some))]) + "\n"  # fmt: skip

    label = lambda t, k, v: v  # noqa: E731
    beside = {"OUTPUT:device": lambda t, k, v: "phone", "OUTPUT:note": lambda t, k, v: f"remark {t}{k}"}
    labels = jt.read_labels(write(toloka(**{"OUTPUT:result": label}, **beside), "a.tsv"))
    assert labels.class_names == ("x", "y") and labels.num_labels == 12
    assert "were not used: 'device', 'note'" in " ".join(labels.notes)
    with pytest.raises(ValueError, match=r"several outputs .*--label result or --label second"):
        jt.read_labels(write(toloka(**{"OUTPUT:result": label, "OUTPUT:second": label}), "a.tsv"))
    studio = [{"annotation_id": 2 * n + k, "annotator": k, "id": t, "text": t, "mood": v, "lead_time": 1.5}
              for n, (t, *some) in enumerate(ROWS) for k, v in enumerate(some)]  # fmt: skip
    assert jt.read_labels(write(json.dumps(studio), "min.json")).class_names == ("x", "y")


def test_times_of_each_label(write):
    """Seconds by sample and labeler; days that may be months are said; ids of nine digits are no times."""
    rows = [(t, f"w{k}", v, f"{20 + k}.0{n + 1}.2024 1{k}:05", 123456789 + n * 2 + k)
            for n, (t, *some) in enumerate(ROWS) for k, v in enumerate(some)]  # fmt: skip
    table = "item,annotator,label,when,row_id\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    data = jt.read(write(table))
    when = [
        np.datetime64(f"2024-0{n + 1}-{20 + k}T1{k}:05", "s").astype(float) for n in range(6) for k in (0, 1)
    ]
    np.testing.assert_array_equal(data.times, np.reshape(when, (6, 2)))
    unclear = table.replace("20.0", "2/").replace("21.0", "1/").replace(".2024", "/2024")
    data = jt.read(write(unclear))
    assert data.times is None and any("Column 'when' was not used" in note for note in data.notes)
    turk = times_of(["Mon Jan 02 10:00:00 PST 2023", "Tue Jul 04 10:00:00 EDT 2023"])
    assert turk is not None
    assert turk.tolist() == [1672682400.0, 1688479200.0]  # 18:00 and 14:00 UTC


def test_numbers_that_are_no_classes_though_there_are_few(write):
    """Fine decimals that hardly ever stand twice, unlike grades with halves; votes by name; averages."""
    shares = "item,judge,score\n" + "".join(f"r{k % 4},j{k // 4},0.{k * 7 + 11}\n" for k in range(12))
    with pytest.raises(ValueError, match=r"labels are 12 different numbers from 0.11 to 0.88"):
        jt.read_labels(write(shares))
    assert jt.read_labels(write(wide(*three(["1", "1.5", "2", "2.5", "3"])))).scale == "interval"
    votes = [{"id": k, "votes": {"yes": k % 4, "no": k % 3}} for k in range(9)]
    with pytest.raises(ValueError, match=r"'votes.yes', 'votes.no' may count the votes"):
        jt.read_labels(write("\n".join(map(json.dumps, votes)), "a.jsonl"))
    summary = {"results": {"arc": {"acc,none": 0.5}}, "versions": {"arc": 1}, "config": {"model": "hf"}}
    with pytest.raises(ValueError, match=r"harness summary, and it has averages alone; run .*--log_samples"):
        jt.read_labels(write(json.dumps(summary), "r.json"))
