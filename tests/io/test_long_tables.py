"""Two table readers with one result: whole blocks of text against the csv module, on random files."""

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jtruth as jt
from jtruth._validation import text
from jtruth._validation.coded import Coded
from jtruth._validation.text import File, plain_columns, read_table
from jtruth.io.parsing import parsed

FIELDS = st.sampled_from(
    ["", "a", "b", "ann", "12345678", "123456789", "é", "日本", "x" * 9, "y" * 64, "z" * 65, " a", "NA", "-1",
     "0", "1", "007", "'=1", "\x0b", "\u2028", '"q"', '"', "a\rb", "\0"]
)  # fmt: skip
PLAIN = st.sampled_from(["a", "b", "ann", "12345678", "123456789", "é", "日本", "0", "1", "no", "yes"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])


@st.composite
def files(draw):
    """Bytes of a table: mostly plain, sometimes with one of the things that tables have."""
    fields = PLAIN if draw(st.booleans()) else FIELDS
    width, end = draw(st.integers(2, 4)), draw(ENDS)
    rows = draw(st.lists(st.lists(fields, min_size=width, max_size=width), max_size=12))
    header = ["task", "worker", "label", "note"][:width]
    lines = [",".join(row) for row in [header, *rows]]
    if draw(st.integers(0, 3)) == 0:  # a fault: a line more or less, a field more
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["", "a", "a,b,c,d,e", ",,"])))
    mixed = [end if draw(st.integers(0, 30)) else "\r\n" for _ in lines]
    whole = "".join(a + b for a, b in zip(lines, mixed, strict=True))
    whole = whole[: -len(end)] if draw(st.booleans()) else whole + draw(st.sampled_from(["", "\n", "\n\n"]))
    data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + whole.encode()
    return data + draw(st.sampled_from([b"", b"", b"", b"\xff"]))


def found(read, *args):
    """What a reader gives, or the message with which it refuses."""
    try:
        return read(*args)
    except ValueError as problem:
        return str(problem)


def plain(table):
    """Header, rows and lines of a table, for comparison."""
    if isinstance(table, str):
        return table
    columns = [list(column) for column in table.columns]
    return tuple(table.header), columns, [table.source.at([k]) for k in range(len(columns[0]))]


def from_table(data):
    """Labels of a table, without its first reader."""
    labels = jt.read_labels(File("f.csv", [".csv"], data), repeats="keep", missing="drop")
    return [a.tolist() for a in labels.arrays], labels.tasks, labels.workers, labels.classes, labels.notes


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=files(), block=st.integers(8, 200))
def test_blocks_are_read_as_the_csv_module_reads_them(data, block):
    """Columns, lines, codes, names, notes and messages are the same, wherever a block ends."""
    file = File("f.csv", [".csv"], data)
    slow = plain(found(text._any_table, file, ",")), found(from_table, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_SHORT", 0)
        patch.setattr(text, "plain_columns", lambda *args: plain_columns(*args, block=block))
        fast = plain(found(read_table, file)), found(from_table, data)
    assert fast == slow


def long_file(rows=9000):
    """A plain file that is long enough."""
    rng = np.random.default_rng(0)
    labels = ((3 * (k % 3) + rng.integers(3), "no" if rng.integers(2) else "yes") for k in range(rows))
    lines = [f"image {k // 3:05},w{who},{label},{k}" for k, (who, label) in enumerate(labels)]
    return ("task,worker,label,second\n" + "\n".join(lines) + "\n").encode()


@pytest.fixture(scope="module")
def data():
    """Bytes of a long plain file."""
    return long_file()


@pytest.mark.parametrize("change", ["none", "returns", "gzip", "bom", "tabs"])
def test_long_plain_tables_are_read_in_blocks(data, change):
    """Whatever the line ends, the packing and the separator, and with the codes of the csv module."""
    kind, sep = ("tsv", "\t") if change == "tabs" else ("csv", ",")
    changed = {"none": data, "returns": data.replace(b"\n", b"\r\n"), "gzip": gzip.compress(data),
               "bom": b"\xef\xbb\xbf" + data, "tabs": data.replace(b",", b"\t")}[change]  # fmt: skip
    file = File(f"labels.{kind}", [f".{kind}"], changed)
    table = read_table(file)
    assert isinstance(table.columns, text.PlainColumns)
    assert all(isinstance(column, Coded) for column in table.pick({"task": "task", "label": "label"}))
    assert plain(table) == plain(text._any_table(text.read_bytes(file), sep))


def test_columns_that_nobody_reads_are_not_coded(data):
    """A column of text of any length beside the three costs nothing and sends nobody to the csv module."""
    lines = data.decode().splitlines()
    longer = "\n".join([lines[0], *(line + "x" * 100 for line in lines[1:])]).encode()
    table = read_table(File("labels.csv", [".csv"], longer))
    assert all(isinstance(c, Coded) for c in table.pick({name: name for name in ("task", "worker", "label")}))
    assert list(table.columns._done) == [0, 1, 2]
    assert table.columns[3][:1] == ["0" + "x" * 100]  # and where somebody does, it is read


START = b"\nimage 02000,"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [(START, START + b"more,", "line 6002: 5 fields where the header has 4"),
     (START, b"\ntask,worker,label,second" + START, "line 6002: the column names occur"),
     (START, b"\nimage\xff02000,", "not UTF-8 text"),
     (START, b'\n"image 02000,', "Check the quotation marks"),
     (START, b"\nimage 02000 ,", "line 6002: task 'image 02000 ' begins or ends with a space"),
     (START, b"\nimage 01999,", "line[s]? [0-9, ]*6002: worker 'w[0-9]' labelled task"),
     (b",worker,", b",who,", "no column 'worker'; the columns are 'task', 'who', 'label', 'second'")],
)  # fmt: skip
def test_errors_of_long_tables_name_the_line(data, old, new, message):
    """The same words as for short ones."""
    broken = data.replace(old, new, 1)
    if b"01999" in new:  # the worker, too, must be one who has labelled it
        lines = broken.split(b"\n")
        lines[6001] = lines[6000]
        broken = b"\n".join(lines)
    with pytest.raises(ValueError, match=message):
        jt.read_labels(File("labels.csv", [".csv"], broken), worker="worker", repeats="error")


def test_a_parsed_file_is_not_parsed_again(data, monkeypatch):
    """`parsed` takes what it gave."""
    once = parsed(File("labels.csv", [".csv"], data))
    monkeypatch.setattr("jtruth.io.parsing.read_table", lambda *_: pytest.fail("read again"))
    assert jt.read_labels(once).num_samples == 3000


def test_long_tables_take_little_memory(data):
    """Beside the bytes: codes and names, and a block's work; a list of text would be 58 bytes a field."""
    tracemalloc.start()
    table = read_table(File("labels.csv", [".csv"], data))
    table.pick({"task": "task", "worker": "worker", "label": "label"})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 9000 * 4 * 58 * 2
