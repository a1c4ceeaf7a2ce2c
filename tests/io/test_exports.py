"""Exports of annotation tools, wide tables and other forms: the same seven labels in every format."""

import gzip
import json
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jtruth.io import apply, read_gold, read_labels, read_predictions
from jtruth.io.reading import opened

FOLDER = Path(__file__).parent / "exports"
HEAD = "task,worker,label\n"
ANN, BOB = ["pos", "pos", "neg", "neg"], ["pos", "neg", "neg", None]  # of the tasks 1 to 4

ROWS_OF_STUDIO = "Label Studio export (one row for each annotation), 2 annotators"
FORMS = {  # how a file is read, and what is said of the rest
    "label_studio.json": ("Label Studio export, 2 annotators, choice field 'sentiment'", "1 cancelled anno"),
    "label_studio_min.json": (ROWS_OF_STUDIO,),
    "label_studio.csv": (ROWS_OF_STUDIO,),
    "prodigy.jsonl": ("Prodigy export, 2 annotators, choices", "1 ignored question was left out"),
    "argilla.json": ("Argilla export, 2 annotators, question 'sentiment'",),
    "argilla_flat.json": ("Argilla export, 2 annotators, question 'sentiment'",),
    "argilla_feedback.jsonl": ("Argilla export, 2 annotators, question 'sentiment'", "1 discarded response"),
    "mturk.csv": ("Mechanical Turk batch, 2 annotators, answer 'sentiment'", "1 rejected assignment was"),
    "mturk_json.csv": ("Mechanical Turk batch, 2 annotators, answer 'sentiment'",),
    "wide.csv": ("a wide table: 2 labelers 'ann', 'bob'; IDs in 'item'",
                 "Column 'gold' is named like verified labels, so it is not a labeler",
                 "Column 'model' is a classifier by its name"),
    "long.jsonl": ("",),
}  # fmt: skip


def names(labels):
    """(tasks, labelers) of class names, None where there is no label."""
    return [[labels.classes[c] if c >= 0 else None for c in row] for row in labels.to_matrix()]


def same(labels):
    assert names(labels) == [list(row) for row in zip(ANN, BOB, strict=True)]


@pytest.mark.parametrize("name", FORMS)
def test_the_same_labels_in_every_export(name):
    labels = read_labels(FOLDER / name)
    same(labels)
    form, *said = FORMS[name]
    assert labels.notes[0].startswith(f"Read as {form}") if form else not labels.notes, labels.notes
    assert all(text in " ".join(labels.notes) for text in said)


def task_table(path, name):
    """A column beside the samples of a file."""
    file = opened(path)
    return apply.beside(file.table, file.plan, name)


def test_doccano_by_a_file_for_each_user(tmp_path):
    files = {f"{who}.jsonl": (FOLDER / f"doccano_{who}.jsonl").read_text() for who in ("ann", "bob")}
    labels = read_labels(zipped(tmp_path / "export.zip", files))
    same(labels)
    assert labels.workers == ("ann", "bob") and "1 document without a label" in " ".join(labels.notes)
    alone = read_labels(FOLDER / "doccano_ann.jsonl")
    assert alone.num_labelers == 1 and [row[0] for row in names(alone)] == ANN
    old = read_labels(FOLDER / "doccano_old.jsonl")
    assert old.workers == ("1", "2") and names(old) == [["1", "1"], ["1", "0"], ["0", "0"], ["0", None]]


def test_prodigy_asks_whether_a_label_fits():
    labels = read_labels(FOLDER / "prodigy_binary.jsonl")
    word = {"pos": "accept", "neg": "reject", None: None}
    assert names(labels) == [[word[a], word[b]] for a, b in zip(ANN, BOB, strict=True)]


def test_parquet_frames_and_matrices(tmp_path):
    long = read_labels(FOLDER / "long.jsonl")
    rows = [(i + 1, ("ann", "bob")[t], long.classes[c]) for i, t, c in zip(*long.arrays, strict=True)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame.to_parquet(tmp_path / "labels.parquet")
    same(read_labels(tmp_path / "labels.parquet"))
    assert names(read_labels(frame)) == names(long)
    z = np.array([[1, 1], [1, 0], [0, 0], [0, -1]])
    np.save(tmp_path / "L.npy", z)
    for matrix in (z, tmp_path / "L.npy"):
        assert read_labels(matrix).to_matrix().tolist() == z.tolist()


def test_wide_tables_are_long_ones_with_empty_cells(write):
    content = "key,NA,02,x\n007,0,1,\n7,1,1,0\n8,NA,0,1\n9,1,,0\n"
    labels = read_labels(write(content), task="key")  # NA is a cell of who was not asked, and it is said
    assert any("1 of 10 rows has no label and was left out" in note for note in labels.notes)
    named = read_labels(write(content), task="key", classes=("0", "1", "NA"))
    assert named.num_labels == 10 and named.counts()[2].tolist() == [1, 1, 1]
    assert labels.tasks == ("007", "7", "8", "9") and labels.workers == ("NA", "02", "x")
    expected = [[0, 1, -1], [1, 1, 0], [-1, 0, 1], [1, -1, 0]]
    assert labels.to_matrix().tolist() == expected
    many = "task," + ",".join("abc") + "\n" + "".join(f"{k},{k},{k + 1},{k}\n" for k in range(4))
    with pytest.raises(ValueError, match="no columns 'worker', 'label'"):
        read_labels(write(many))  # different values everywhere: does not look wide
    assert read_labels(write(many), labelers=list("abc")).num_labelers == 3
    with pytest.raises(ValueError, match="'count' may count rows"):
        read_labels(write("task,a,b,count\n1,0,0,5\n2,0,1,2\n3,1,1,3\n4,1,1,9\n"))


def test_predictions_and_gold_in_columns_of_the_same_file():
    path = FOLDER / "wide.csv"
    labels = read_labels(path)
    for read, name in ((read_predictions, "model"), (read_gold, "gold")):
        table = task_table(path, name)
        found = read(table, labels, task=table.header[0], label=table.header[1])
        codes = getattr(found, "y_pred", found)
        expected = {"model": ["pos", "pos", "pos", "neg"], "gold": ANN}[name]
        assert [labels.classes[c] for c in codes] == expected


def test_one_column_of_a_long_table(write):
    content = "task,worker,label,truth\n1,a,x,x\n1,b,y,\n2,a,y,y\n2,b,y,y\n3,a,x,\n"
    table = task_table(write(content), "truth")
    assert table.columns == (["1", "2"], ["x", "y"])
    assert read_gold(table, read_labels(write(content)), label="truth").tolist() == [0, 1, -1]
    with pytest.raises(ValueError, match=r"lines 2, 3: task '1' has truth 'x' and 'y'"):
        task_table(write(content.replace("1,b,y,", "1,b,y,y")), "truth")


def changed(name, change):
    records = json.loads((FOLDER / name).read_text())
    change(records)
    return json.dumps(records)


def two_fields(records):
    extra = records[0]["annotations"][0]["result"][0] | {"from_name": "topic"}
    records[0]["annotations"][0]["result"].append(extra)


def two_choices(records):
    records[1]["annotations"][0]["result"][0]["value"]["choices"] = ["pos", "neg"]


ROW = '{"task": 1, "worker": "a", "label": "x"}\n'
BAD = {
    "several fields": (changed("label_studio.json", two_fields), "several choice fields .*'sentiment', 'top"),
    "no object": ("[1, 2]", "object 0: an object with names and values is needed; got 1"),
    "broken line": ('{"task": 1}\n{"task": ', "line 2: this is no JSON"),
    "broken list": ('[{"task": 1},\n{"task" 2}]', "line 2: this is no JSON"),
    "empty list": ("[]", "the file is empty"),
    "empty objects": ("[{}, {}]", "the objects are empty"),
    "other objects": ('{"a": 1}\n{"a": 2}', "no columns 'task', 'worker', 'label'; the columns are 'a'"),
    "no annotations": ('[{"id": 1, "data": {}, "annotations": []}]', "Label Studio export, and it holds no"),
    "a name twice": (ROW + ROW.replace("}", ', "label": "y"}'), "line 2: 'label' occurs more than"),
    "no label": (ROW + ROW.replace('"x"', "NaN"), "line 2: no label"),
    "no task": (ROW + ROW.replace("1", "NaN"), "line 2: no task id"),
    "too deep": ("[" * 100_000, "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("content, message", BAD.values(), ids=BAD)
def test_bad_exports(write, content, message):
    with pytest.raises(ValueError, match=message):
        read_labels(write(content, "export.json"))


def test_several_choices_are_a_set_and_a_field_can_be_named(write):
    """Where one label has two classes all are sets, written in one order."""
    path = write(changed("label_studio.json", two_choices), "export.json")
    with pytest.raises(ValueError, match=r"labels are sets of classes.*contains='pos'"):
        read_labels(path)
    rows = opened(path).rows()
    assert set(rows.label) == {'["neg", "pos"]', '["neg"]', '["pos"]'} and len(rows.label) == 7
    labels = read_labels(path, contains="neg")
    assert labels.classes == ("no", "yes") and labels.label.sum() == sum("neg" in one for one in rows.label)
    path = write(changed("label_studio.json", two_fields), "export.json")
    labels = read_labels(path, label="topic", classes=("neg", "pos"))
    assert names(labels) == [["pos"]]
    assert "6 annotations without 'topic' were left out." in labels.notes


def zipped(path, files):
    """A zip of these texts, or bytes, by their names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_zip_is_what_is_inside(tmp_path):
    ann, bob = ((FOLDER / f"doccano_{who}.jsonl").read_text() for who in ("ann", "bob"))
    hidden = {"__MACOSX/one/._ann.jsonl": b"\x00\x05\x16\x07", "one/.DS_Store": b"\x00"}
    same(read_labels(zipped(tmp_path / "mac.zip", {"one/ann.jsonl": ann, "one/bob.jsonl": bob} | hidden)))
    for name in ("label_studio.json", "prodigy.jsonl", "mturk.csv", "wide.csv"):
        same(read_labels(zipped(tmp_path / "one.zip", {name: (FOLDER / name).read_bytes()})))
    assert read_labels(zipped(tmp_path / "a.zip", {"ann.jsonl": ann})).workers == ("ann",)


def test_what_collides_in_a_zip_is_refused(tmp_path):
    ann, bob = ((FOLDER / f"doccano_{who}.jsonl").read_text() for who in ("ann", "bob"))
    plain, no_id = '{"task": 1, "worker": "a", "label": "x"}\n', ann.replace('"id": 1, ', "")
    assert no_id != ann
    path, table = tmp_path / "z.zip", "task,worker,label\n1,a,x\n"
    inner = zipped(path, {"ann.jsonl": ann, "bob.jsonl": bob}).read_bytes()
    for files, said in (
        ({"p/ann.jsonl": ann, "q/ann.jsonl": bob}, "'ann.jsonl', 'ann.jsonl' have one name"),
        ({"ann.jsonl": no_id, "bob.jsonl": bob}, "some documents have no id"),
        ({"ann.jsonl": plain, "bob.jsonl": plain}, "'ann', 'bob' are files of one zip: take out the one"),
        ({"a.csv": table, "b.csv": "task\n1\n"}, "a zip of 2 files .'a.csv', 'b.csv'."),
        ({"a.csv": inner}, "a zip of 1 files .'a.csv'."),
    ):
        with pytest.raises(ValueError, match=rf"^z.zip: {said}"):
            read_labels(zipped(path, files))


def test_compressed_files_have_a_limit(tmp_path, monkeypatch):
    text = HEAD + "".join(f"{k},w,{k % 2}\n" for k in range(5000))
    frame = pd.DataFrame({"task": np.zeros(90_000, int), "worker": "w", "label": "x"})
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    zipped(tmp_path / "a.zip", {"a.csv": text})
    assert read_labels(tmp_path / "a.csv.gz").num_labels == read_labels(tmp_path / "a.zip").num_labels == 5000
    monkeypatch.setenv("JTRUTH_UNPACK_GB", "0.00002")
    for name in ("a.csv.gz", "a.zip", "a.parquet"):
        with pytest.raises(ValueError, match=rf"^{name}: the unpacked .* 2e-05 GB.*JTRUTH_UNPACK_GB=50"):
            read_labels(tmp_path / name)
    for wish in ("many", "-1", "nan", "inf", "0"):
        monkeypatch.setenv("JTRUTH_UNPACK_GB", wish)
        for name in ("a.csv.gz", "a.zip"):
            with pytest.raises(
                ValueError, match=rf"^JTRUTH_UNPACK_GB is '{wish}'; it must be a number of gigab"
            ):
                read_labels(tmp_path / name)


def test_a_file_of_nothing_but_one_letter_is_not_unpacked(tmp_path, monkeypatch):
    """A packed file becomes 200 times its size at most, or 0.1 GB; who wants more says so."""
    few = HEAD + "1,a,x\n2,a,y\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(few.encode() + b"\n" * 110_000_000))
    with pytest.raises(ValueError, match=r"^a.csv.gz: the unpacked file exceeds 0.1 GB, the limit for a "):
        read_labels(tmp_path / "a.csv.gz")
    monkeypatch.setattr("jtruth._validation.text._SMALL", 1000)
    text = HEAD + "".join(f"{k},a,x{k % 2}\n" for k in range(20_000))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_labels(tmp_path / "b.csv.gz").num_labels == 20_000  # packed to a fifth


def test_objects_inside_objects_have_names_of_both(write):
    rows = [{"id": k, "verdicts": {"gpt": "yn"[k % 2], "claude": "y", "deep": {"er": "n"}}} for k in range(4)]
    labels = read_labels(write("\n".join(map(json.dumps, rows)), "a.jsonl"))
    assert labels.workers == ("verdicts.gpt", "verdicts.claude", "verdicts.deep.er")


DAMAGED = (  # file, what is in its last record, what is there instead, and what is said of it
    ("label_studio.json", '"type": "choices"', '"type": ["choices"]', ""),  # nothing of the labels any more
    ("doccano_old.jsonl", '"label": ', '"lebal": ', "line 4: .*'label' is missing"),
    ("prodigy.jsonl", '"_input_hash": ', '"_hash": ', ""),
    ("prodigy.jsonl", '"answer"', '"anser"', r"line 8: not as a Prodigy export has it \('answer' is missing"),
    ("argilla_flat.json", ".responses.users", ".responses.usars", ""),
    (
        "argilla_flat.json",
        '.responses.users": [',
        '.responses.users": ["x", ',
        "object 3: .*differ in number",
    ),
)


@pytest.mark.parametrize("name, old, new, said", DAMAGED)
def test_an_entry_that_the_tool_would_not_write_is_named(write, name, old, new, said):
    """Only the last entry is damaged; no reader ends in a TypeError or KeyError."""
    before, found, after = (FOLDER / name).read_text().rpartition(old)
    assert found
    with pytest.raises(ValueError, match=f"{name}, {said}") if said else nullcontext():
        read_labels(write(before + new + after, name), repeats="keep")
