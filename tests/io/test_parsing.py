"""Any file to one table: types, encodings, empty rows, titles, layouts of JSON, Excel; nothing is lost."""

import csv
import io
import json
import re
import zipfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from jtruth import Labels, read_labels
from jtruth._validation.text import File, TextTable, read_table, whole_numbers
from jtruth._validation.words import Source
from jtruth.io.parsing import as_table, parsed, table_of, text_of
from jtruth.io.tables import numbers

FRAME = pd.DataFrame(
    {"task": [f"i{k // 3}" for k in range(30)], "worker": list("abc") * 10, "label": [*"ynynn"] * 6}
)
ROWS = sorted(FRAME.itertuples(index=False, name=None))
CSV = FRAME.to_csv(index=False)


def file(content, name="f.csv"):
    """A file of text or bytes."""
    data = content if isinstance(content, bytes) else content.encode()
    return File(name, ["." + name.rpartition(".")[2]], data)


def from_json(value):
    """The table of a value in JSON."""
    return as_table(file(json.dumps(value), "f.json"))


def rows_of(table, names=("task", "worker", "label")):
    """Rows of the columns with these names, sorted."""
    return sorted(zip(*(table.columns[table.header.index(name)] for name in names), strict=True))


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table", "records", "list", "tight", "rows"])
def test_every_layout_of_json_is_the_same_table(orient):
    """As pandas writes it; and the records beside a version, in UTF-16, inside a box."""
    made = {
        "list": lambda: FRAME.to_dict("list"),
        "tight": lambda: FRAME.to_dict("tight"),
        "rows": lambda: [list(FRAME.columns), *FRAME.to_numpy().tolist()],
    }
    value = made[orient]() if orient in made else json.loads(FRAME.to_json(orient=orient))
    table = from_json(value)
    assert rows_of(table) == ROWS
    assert bool(table.notes) == (orient not in ("records", "rows"))
    if orient == "records":
        assert rows_of(as_table(file(json.dumps(value).encode("utf-16"), "f.json"))) == ROWS
        found = from_json({"version": 3, "results": value})
        assert rows_of(found) == ROWS and "'version' beside it was not used" in found.notes[0]
    if orient == "list":
        assert rows_of(from_json({"version": 3, "data": value})) == ROWS


@pytest.mark.parametrize("by", ["task", "worker"])
def test_labels_by_task_and_labeler_in_either_order(by):
    """The raw object stays for the readers of exports; names decide where numbers do not."""
    other = "worker" if by == "task" else "task"
    nested = {key: dict(zip(part[other], part["label"], strict=True)) for key, part in FRAME.groupby(by)}
    raw = parsed(file(json.dumps(nested), "f.json"))
    assert raw[0] == {"": [nested]} and rows_of(table_of(raw[0][""], raw[1])) == ROWS
    deep = {k: {w: {"label": v, "seconds": 2} for w, v in row.items()} for k, row in nested.items()}
    assert rows_of(as_table(file(json.dumps(deep), "f.json"))) == ROWS
    truth = as_table(file(json.dumps({"truth": {"i1": "y", "i2": "n", "i3": "y"}}), "f.json"))
    assert rows_of(truth, ("task", "label")) == [("i1", "y"), ("i2", "n"), ("i3", "y")]
    record = {"id": "i1", "verdicts": {"gpt": "y", "opus": "n", "mini": "n"}}  # alone in its file
    assert len(as_table(file(json.dumps(record), "f.json")).header) == 4
    square = {a: {b: "y" for b in "pqr"} for a in "xyz"}
    assert as_table(file(json.dumps(square), "f.json")).header == ("key", "inner", "label")
    numbered = {f"w{a}": {str(b): "y" for b in range(3)} for a in range(4)}  # by labelers, or by columns
    assert rows_of(as_table(file(json.dumps(numbered), "f.json")))[0] == ("0", "w0", "y")
    named = {a: {f"item {b}": "y" for b in range(3)} for a in "xyz"}
    assert as_table(file(json.dumps(named), "f.json")).header == ("worker", "task", "label")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({f"t{k}": ["y", "n"] for k in range(5)}, "are they columns, or the labels of one sample each"),
        ({f"t{k}": ["y", "n", "y"] for k in range(3)}, "are they columns, or the labels of one sample each"),
        ({"task": ["a", "b"], "label": ["x"]}, "have 1, 2 values"),
        ({"train": [{"task": 1}], "test": [{"task": 2}]}, "'train', 'test' are lists of objects"),
        ([["t0", "a", "y"], ["t0", "b", "y"], ["t1", "a", "y"]], "line 1: this looks like data"),
        ([["task", 1], ["a", "b"]], "the first list must hold the names of the columns"),
        ([["task", "label"], ["a"]], "a list of 2 values is needed"),
    ],
)
def test_json_that_could_be_two_things(value, message):
    with pytest.raises(ValueError, match=message):
        as_table(file(json.dumps(value), "f.json"))


def test_types_become_text_that_means_the_same(tmp_path):
    """Of Parquet, read back by pandas; two files of one column each are one column."""
    moments = [datetime(2026, 1, 2, 9), datetime(2026, 1, 2, 9, 30, 5, 250000), None]
    columns = {
        "when": moments,
        "zone": pd.Series(pd.to_datetime(moments)).dt.tz_localize("Asia/Tokyo"),
        "day": [date(2026, 1, 2), date(1969, 12, 31), None],
        "clock": [time(9), time(9, 0, 1), None],
        "price": [Decimal("4.00"), Decimal("12.50"), None],
        "took": pd.to_timedelta([90, 0.5, None], "s"),
        "bytes": [b"cat", b"\xff\x00", None],
        "kind": pd.Categorical(["x", "y", None]),
        "ok": pd.array([True, False, None], "boolean"),
        "grade": [1.0, 2.0, None],
        "score": [1.0, 2.5, None],
        "said": [{"gpt": "y", "id": {"n": 1}}, {"gpt": "n", "id": None}, None],
        "many": [["a", "b"], [], None],
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "f.parquet")
    table = as_table(tmp_path / "f.parquet")
    got = dict(zip(table.header, map(list, table.columns), strict=True))
    assert all(column[2] == "" for column in got.values())
    for name in ("when", "zone", "day"):
        again, given = got[name][:2], pd.Series(list(columns[name])[:2])
        again = pd.to_datetime(pd.Series(again), utc=name == "zone", format="ISO8601")
        assert again.tolist() == pd.to_datetime(given, utc=name == "zone").tolist()
    for name, wanted in {
        "clock": ["09:00:00", "09:00:01"], "price": ["4.00", "12.50"], "took": ["90", "0.5"],
        "bytes": ["cat", "ff00"], "kind": ["x", "y"], "ok": ["true", "false"], "grade": ["1", "2"],
        "score": ["1.0", "2.5"], "said.gpt": ["y", "n"], "said.id.n": ["1", ""], "many": ['["a", "b"]', "[]"],
    }.items():  # fmt: skip
        assert got[name][:2] == wanted
    values = [np.float32(2), timedelta(hours=1), None, float("nan"), pd.NA]
    assert list(map(text_of, values)) == ["2", "3600", "", "", ""]


def test_whole_numbers_beside_gaps_are_whole_numbers(tmp_path):
    """As pandas writes them to CSV; codes with zeros and real decimals stay."""
    frame = pd.DataFrame({"label": [1, 2, None, 10]})
    column = list(csv.reader(io.StringIO(frame.to_csv(index=False, na_rep="NA"))))[1:]
    assert whole_numbers([row[0] for row in column]) == ["1", "2", "NA", "10"]
    assert whole_numbers(["4", "4.0", "-0.0", ""]) == ["4", "4", "0", ""]
    assert whole_numbers(["4", "4.0", "4.5"]) == ["4", "4", "4.5"]
    for column in (["001", "1.0"], ["1.0", "1.5"], ["1.0", "unsure"], ["1.10", "1.0"], ["a"], ["1", "2"]):
        assert whole_numbers(column) is column
    records = [{"task": k, "label": [1, 1.0, 2.0, "unsure"][k % 4]} for k in range(8)]
    assert as_table(file(json.dumps(records), "f.json")).columns[1] == ["1", "1", "2", "unsure"] * 2
    tasks = Labels.from_frame(FRAME.assign(task=[k // 3 + 0.0 for k in range(30)])).tasks
    assert tasks == tuple(range(10))


@pytest.mark.parametrize("long", [1, 300])
def test_rows_without_text_are_skipped_and_said(long):
    """At the end and inside, in short tables and in long ones (which are split in blocks)."""
    body = CSV.partition("\n")[2] * long
    clean = as_table(file("task,worker,label\n" + body))
    for tail, count in ((",,\n,,\n", 2), ("\n\n", 2), (",,", 1), (",,,,,\n", 1)):
        table = read_table(file("task,worker,label\n" + body + tail))
        assert rows_of(table) == rows_of(clean)
        assert [table.source.at([k]) for k in (0, 29)] == ["f.csv, line 2", "f.csv, line 31"]
        rows = f"{count} empty row{'s' * (count > 1)} at the end {'were' if count > 1 else 'was'} skipped."
        assert table.notes == (f"f.csv: {rows}",)
    inside = body.replace("i5,a", ",,\n\ni5,a", 1)
    table = read_table(file("task,worker,label\n" + inside))
    assert rows_of(table) == rows_of(clean) and table.notes[0].endswith(
        ", lines 17, 18: empty, so nothing was read from there."
    )
    assert table.source.at([14, 15]) == "f.csv, lines 16, 19"
    unnamed = read_table(file("task,worker,label,,\n" + body.replace("\n", ",,\n")))
    assert unnamed.header == clean.header and rows_of(unnamed) == rows_of(clean)


HEAD = "task,worker,label\n"


@pytest.mark.parametrize("long", [1, 300])
@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda body: HEAD + body + HEAD + body, "the column names occur"),
     (lambda body: HEAD + body + "\ufeff" + HEAD + body, "names occur again"),
     (lambda body: body, "line 1: this looks like data.* for instance task,worker,label"),
     (lambda body: body.replace("y\n", "5.5\n").replace("n\n", "2.25\n"), "for instance task,worker,label")],
)  # fmt: skip
def test_headers_that_stand_twice_or_nowhere(change, message, long):
    with pytest.raises(ValueError, match=message):
        read_table(file(change(CSV.partition("\n")[2] * long)))


@pytest.mark.parametrize("header", ["item,ann,bob", "0,1,2", "1,2,3", ",a,b", "q1,q2,note"])
def test_names_that_are_names(header):
    """Numbered columns and an unnamed index, too; the same rows without names would be refused."""
    table = read_table(file(header + "\n" + "".join(f"{k},{k % 2},{k % 2}\n" for k in range(9))))
    assert ",".join(table.header) == header
    assert len(table.columns[0]) == 9


def test_titles_above_the_names_are_said():
    for title in ("Study of 2026\n", "Study of 2026,,\n\n", "Study\nPart 2,,\n"):
        table = read_table(file(title + CSV))
        assert rows_of(table) == ROWS and "f.csv, line 1 is a title and was skipped: 'Study" in table.notes[0]
        assert table.source.at([0]) == f"f.csv, line {title.count(chr(10)) + 2}"
    with pytest.raises(ValueError, match=r"f.csv, line 1: only the first of 3 columns has a name, 'Study'"):
        read_table(file("Study,,\nann,bob,cid\ny,y,n\nn,y,n\n"))
    for column in ("task\na,b\nc,d\n", "Study\na,b\nc,d\n", "task\na,label\nc,d\n"):  # ids, no names
        with pytest.raises(ValueError, match=r"f.csv, line 2: 2 fields where the header has 1"):
            read_table(file(column))


@pytest.mark.parametrize("text", ["naïve,größer,José", "it’s,“so”,25 °C", "Ærø,NIÑO,à la carte"])
def test_encodings_that_the_bytes_decide(text):
    content = f"task,worker,label\n{text}\n"
    wanted = [[cell] for cell in text.split(",")]
    for name in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        data = content.encode(name)
        table = read_table(file(data))
        assert list(table.columns) == wanted and table.header == ("task", "worker", "label")
        assert ("Windows-1252" in "".join(table.notes)) == (name == "cp1252")
    assert read_table(file(b"\xfe\xff" + content.encode("utf-16-be"))).columns[0] == wanted[0]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("да,нет", "cp1251"), ("はい,いいえ", "shift_jis"), ("好,坏", "gbk"), ("ναι,όχι", "cp1253"),
     ("예,아", "euc-kr"), ("é,ÿ", "latin-1")],
)  # fmt: skip
def test_encodings_that_the_bytes_do_not_decide_are_refused(text, encoding):
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_table(file(f"task,label\n{text}\n".encode(encoding)))
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_table(file("task,label\né,y\n".encode() + "José,n\n".encode("cp1252")))


@pytest.mark.parametrize("kind", ["csv", "json", "escaped", "parquet"])
def test_letters_in_two_forms_are_one_name(kind, tmp_path):
    frame = pd.DataFrame({"task": ["1", "2", "3"], "worker": ["a"] * 3, "label": ["e\u0301", "é", "z"]})
    if kind == "parquet":
        frame.to_parquet(tmp_path / "f")
    else:
        text = frame.to_csv(index=False) if kind == "csv" else None
        text = text or json.dumps(frame.to_dict("records"), ensure_ascii=kind == "escaped")
        (tmp_path / "f").write_text(text, encoding="utf-8")
    table = as_table(tmp_path / "f")
    assert list(table.columns[2]) == ["é", "é", "z"] and "'é' had two spellings" in table.notes[0]
    assert read_labels(tmp_path / "f").classes == ("z", "é")


def test_fields_of_any_length(write):
    long = CSV.replace("\n", ",note\n", 1).replace("y\n", 'y,"' + "word, " * 50_000 + '"\n')
    path, limit = write(long.replace("n\n", "n,\n")), csv.field_size_limit()
    assert read_labels(path).num_labels == 30 and csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("texts", "decimal", "values"),
    [
        (["1,073", "910", "2,000"], None, [1073, 910, 2000]),
        (["1,073", "910.5"], None, [1073, 910.5]),
        (["1,234,567", "8"], None, [1234567, 8]),
        (["3,5", "12,25", "1,234"], None, [3.5, 12.25, 1.234]),
        (["1.234,5", "1.234", "3,5"], None, [1234.5, 1234, 3.5]),
        (["1,234", "5,678"], ",", [1.234, 5.678]),
        (["1,234", "5,678"], ".", [1234, 5678]),
        (["1,234", "5,678"], None, "1234 or 1.234. If the comma .* --decimal , and .* --decimal ."),
        (["1,234", "5000"], None, "1234 or 1.234"),
        (["3,5", "4.5"], None, "not a finite number. If the comma is a decimal mark"),
    ],
)
def test_commas_in_numbers(texts, decimal, values):
    table = TextTable(("score",), [texts], Source("f.csv", "line", 2), decimal)
    if isinstance(values, str):
        with pytest.raises(ValueError, match=values):
            numbers(table, "score")
    else:
        assert numbers(table, "score").tolist() == values


def test_excel_is_read_to_its_last_row_and_no_further():
    """Whatever it says of its size; a far cell without text costs nothing."""
    excel = pytest.importorskip("openpyxl", reason="reads Excel files; not among the packages of every run")
    book, made, wrong = excel.Workbook(), io.BytesIO(), io.BytesIO()
    for row in [["Study"], [], ["task", "worker", "label"], *ROWS[:17], [], *ROWS[17:]]:
        book.active.append([*row[:2], 1.0 if row[2] == "y" else 2.5] if row in ROWS else row)
    book.active.cell(1048576, 16384, " ")
    book.save(made)
    with zipfile.ZipFile(made) as whole, zipfile.ZipFile(wrong, "w") as archive:
        for name in whole.namelist():
            size = b'<dimension ref="A1:C12"'
            archive.writestr(name, re.sub(b'<dimension ref="[^"]*"', size, whole.read(name)))
    found = as_table(file(wrong.getvalue(), "f.xlsx"))
    assert rows_of(found) == [(t, w, "1" if c == "y" else "2.5") for t, w, c in ROWS]
    assert "2 empty rows skipped" in found.notes[0] and "row 1 is a title" in found.notes[1]
    assert found.source.at([0, 29]) == "f.xlsx, rows 4, 34"
