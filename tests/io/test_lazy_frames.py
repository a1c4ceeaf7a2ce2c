"""Labels in an engine's table: the same labels as from a frame in memory, and the same errors."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import jtruth as jt
from jtruth._validation import columns as lazy_frame
from jtruth._validation.coded import different
from jtruth.io.exports import as_text
from jtruth.io.parsing import as_table
from tests.engines import NAMES, connections, engines  # noqa: F401


def rows(num_tasks=40, whole=False):
    """Three labels of each task by some of five workers, in any order; ids are text or whole numbers."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(num_tasks), 3)
    worker = (task + 2 * np.tile(np.arange(3), num_tasks)) % 5
    order = rng.permutation(task.size)
    label = np.array(["no", "yes", "maybe"])[rng.integers(3, size=task.size)]
    ids = task if whole else np.array([f"image {k}" for k in task])
    return {"item": ids[order].tolist(), "rater": [f"w{k}" for k in worker[order]], "rating": label.tolist()}


def facts(labels):
    """The labels as a set of facts, and what was said."""
    sample, labeler, label = labels.entries()
    named = zip(sample.tolist(), labeler.tolist(), label.tolist(), strict=True)
    return sorted((labels.tasks[i], labels.workers[t], labels.classes[k]) for i, t, k in named), labels.notes


@engines
@pytest.mark.parametrize("whole", [False, True])
def test_an_engine_gives_the_labels_of_the_frame(engine, whole):
    """The same labels by id; samples and labelers in sorted order."""
    columns = rows(whole=whole)
    found = jt.read_labels(engine(columns), **NAMES)
    eager = jt.read_labels(pl.DataFrame(columns), **NAMES)
    assert facts(found) == facts(eager)
    assert found.classes == eager.classes == ("maybe", "no", "yes")
    assert found.tasks == tuple(sorted(set(columns["item"])))
    assert found.workers == ("w0", "w1", "w2", "w3", "w4")


@engines
def test_missing_labels_are_refused_or_counted(engine):
    """Nulls and words for nothing."""
    columns = rows()
    columns["rating"][:3] = [None, "NA", None]
    with pytest.raises(ValueError, match=r"\(task 'image [0-9]+', worker 'w[0-4]', label None\).*no label"):
        jt.Labels.from_frame(engine(columns), **NAMES)
    found = jt.Labels.from_frame(engine(columns), missing="drop", **NAMES)
    assert facts(found) == facts(jt.Labels.from_frame(pl.DataFrame(columns), missing="drop", **NAMES))
    assert "3 of 120 rows have no label" in found.notes[0]


@engines
@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"item": None}, {}, "no task id .got None.. Fill it in"),
        ({"rater": None}, {}, "no worker id .got None.. Fill it in"),
        ({"rating": "si"}, {"classes": ["no", "yes", "maybe"]}, "label 'si' is not one of the classes"),
        ({}, {"task": "thing"}, "no column 'thing'; the columns are 'item', 'rater', 'rating'"),
        ({}, {"repeats": "last"}, "have no order; keep one label of each in the query"),
    ],
)
def test_what_a_frame_is_refused_for_an_engine_is_refused_for(engine, change, options, message):
    """In the words of other tables; a row is named by what it says."""
    columns = rows()
    for name, value in change.items():
        columns[name][7] = value
    with pytest.raises(ValueError, match=message):
        jt.Labels.from_frame(engine(columns), **(NAMES | options))


@engines
def test_repeated_labels(engine):
    """A worker who labelled a task twice is refused by option; a tie goes to the first class."""
    columns = {name: [*values, values[0]] for name, values in rows().items()}
    task, worker = columns["item"][0], columns["rater"][0]
    with pytest.raises(ValueError, match=rf"worker '{worker}' labelled task '{task}' 2 times"):
        jt.Labels.from_frame(engine(columns), repeats="error", **NAMES)
    assert jt.Labels.from_frame(engine(columns), repeats="keep", **NAMES).num_labels == 121
    columns["rating"][0], columns["rating"][-1] = "maybe", "yes"
    for names in (["maybe", "no", "yes"], ["yes", "no", "maybe"]):
        labels = jt.Labels.from_frame(engine(columns), classes=names, **NAMES)
        found, notes = facts(labels)
        assert (task, worker, names[0]) in found and len(found) == 120
        assert notes[0].endswith(" Ties go to the first class, because these rows have no order.")


@engines
def test_only_codes_leave_the_engine(engine, monkeypatch):
    """Tables of ids with their codes, and one of codes: no row of text is collected."""
    seen = []
    whole = lazy_frame.collected

    def collected(table):
        found = whole(table)
        seen.append((found.shape, sorted(str(kind) for kind in found.schema.values())))
        return found

    monkeypatch.setattr(lazy_frame, "collected", collected)
    jt.Labels.from_frame(engine(rows()), **NAMES)
    assert [shape for shape, _ in seen] == [(40, 2), (5, 2), (3, 2), (120, 3)]
    assert seen[-1][1] == ["Int64"] * 3


def test_parquet_columns_are_the_text_of_their_values(tmp_path):
    """Numbers, text, nulls, categories in an order of their own, lists: as every value by itself would be."""
    columns = {
        "task": pa.chunked_array([pa.array([3, None, 3]), pa.array([1, 2, 3])]),
        "worker": pa.array(["b", "a", "b", "", None, "a"]),
        "label": pa.DictionaryArray.from_arrays([1, 0, 1, 1, 0, 0], ["no", "yes", "never"]),
        "odd": pa.array([[1], [2], [], None, [1], [2]]),
        "score": pa.array([0.5, float("nan"), 1.0, None, 0.5, 2.0]),
        "words": pa.array(["c", "b", "b", "d", "a", "c"]),  # each of three parts has values of its own
        "large": pa.array(["2", "1", "2", "2", "1", "0"], pa.large_string()),
    }
    parquet.write_table(pa.table(columns), tmp_path / "labels.parquet", row_group_size=2)
    found = as_table(tmp_path / "labels.parquet")
    for name, column in zip(found.header, found.columns, strict=True):
        values = columns[name].to_pylist()
        assert list(column) == [as_text(value) for value in values]
        assert different(column) == list(dict.fromkeys(map(as_text, values)))
