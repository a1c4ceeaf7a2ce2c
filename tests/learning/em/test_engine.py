"""A stream begun by an engine: the fit of the same labels in memory, from patterns alone, and refusals."""

import numpy as np
import polars as pl
import pytest

import jtruth as jt
from jtruth._validation import lazy_frame, lazy_patterns
from jtruth.learning import Smoothing, begin_stream, stream_of_table, update

NAMES = {"task": "item", "worker": "rater", "label": "rating"}
SMOOTH = Smoothing(2.0, 0.5, 1.0)
OPEN = []  # connections: a relation of DuckDB 1.4 does not keep its own open


@pytest.fixture(scope="module", autouse=True)
def connections():
    """Closed at the end."""
    yield
    while OPEN:
        OPEN.pop().close()


def duck(columns):
    """A relation of DuckDB."""
    import duckdb  # not above: when such a module is unloaded, DuckDB 2.0 complains

    OPEN.append(duckdb.connect())
    return OPEN[-1].from_arrow(pl.DataFrame(columns).to_arrow())


ENGINES = {"polars": lambda columns: pl.DataFrame(columns).lazy(), "duckdb": duck}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=list(ENGINES))


def rows(size=300, labelers=35, seed=0):
    """Three labels of a task, some without; few teams, so that patterns repeat; in any order."""
    rng = np.random.default_rng(seed)
    y, team = rng.integers(0, 3, size), rng.integers(0, labelers // 5, size)
    task = np.repeat(np.arange(size), 3)
    worker = (5 * team[:, None] + np.array([0, 2, 4])).ravel()
    label = np.where(rng.random(task.size) < 0.8, np.repeat(y, 3), rng.integers(0, 3, task.size))
    kept = rng.permutation(np.flatnonzero(rng.random(task.size) < 0.9))
    names = np.array(["no", "yes", "maybe"])[label[kept]]
    return {
        "item": task[kept].tolist(),
        "rater": [f"w{k:02}" for k in worker[kept]],
        "rating": names.tolist(),
    }


@pytest.fixture(scope="module")
def given():
    return rows()


@pytest.fixture(scope="module")
def in_memory(given):
    return begin_stream(jt.Labels.from_frame(pl.DataFrame(given).lazy(), **NAMES), smoothing=SMOOTH)


def patterns(state):
    """{labels of a row: how many samples have it}."""
    ends = np.cumsum(state.kinds.length)
    code = [tuple(part.tolist()) for part in np.split(state.kinds.code, ends[:-1])]
    return dict(zip(code, state.kinds.number.tolist(), strict=True))


@engines
def test_an_engine_gives_the_fit_of_the_labels_in_memory(engine, given, in_memory, monkeypatch):
    """Same patterns, same fit; more labelers than bits in one number; no task leaves the engine."""
    seen = []

    def collected(table):
        found = whole(table)
        seen.append(found.shape)
        return found

    whole = lazy_frame.collected
    for module in (lazy_frame, lazy_patterns):
        monkeypatch.setattr(module, "collected", collected)
    state = stream_of_table(engine(given), **NAMES, smoothing=SMOOTH)
    assert (state.workers, state.classes) == (in_memory.workers, in_memory.classes)
    assert patterns(state) == patterns(in_memory)
    assert state.tasks == () and state.class_posterior.shape == (0, 3)
    np.testing.assert_allclose(state.matrices, in_memory.matrices, atol=1e-8)
    np.testing.assert_allclose(state.prior, in_memory.prior, atol=1e-8)
    assert state.log_likelihood == pytest.approx(in_memory.log_likelihood, abs=1e-6)
    size, found = len(state.workers), len(patterns(in_memory))
    assert found < len(in_memory.tasks) / 1.5  # so that patterns say something
    assert sorted(seen) == sorted([(0, 3), (0, 3), (size, 2), (3, 2), (0, 3), (found, size * 2 // 62 + 3)])


def test_what_follows_takes_it_for_any_stream(given, in_memory):
    """Labelers with intervals; new tasks of a second day: the fit of both days."""
    state = stream_of_table(pl.DataFrame(given).lazy(), **NAMES, smoothing=SMOOTH)
    one, other = (jt.evaluation.quick_labelers(s, key=0) for s in (state, in_memory))
    for mine, theirs in zip(one.rows, other.rows, strict=True):
        assert mine["num_labels"] == theirs["num_labels"]
        assert mine["low"] == pytest.approx(theirs["low"], abs=1e-6)
    later = rows(size=60, seed=1)
    later["item"] = [1000 + k for k in later["item"]]
    new = jt.Labels.from_frame(pl.DataFrame(later), **NAMES, classes=state.classes)
    both = {name: given[name] + later[name] for name in given}
    whole = stream_of_table(pl.DataFrame(both).lazy(), **NAMES, smoothing=SMOOTH)
    after = update(state, new)
    order = [after.workers.index(worker) for worker in whole.workers]
    np.testing.assert_allclose(after.matrices[order], whole.matrices, atol=1e-5)


@engines
def test_missing_labels(engine, given):
    """Refused with the row; or left out, with tasks that have nothing else counted."""
    columns = {name: list(values) for name, values in given.items()}
    gone = [k for k, item in enumerate(columns["item"]) if item == 7]
    for k in gone:
        columns["rating"][k] = None
    columns["rating"][gone[0]] = "NA"
    with pytest.raises(ValueError, match=r"row \(task 7, worker 'w[0-9]+', label (None|'NA')\): no label"):
        stream_of_table(engine(columns), **NAMES)
    state = stream_of_table(engine(columns), **NAMES, missing="drop", smoothing=SMOOTH)
    frame = pl.DataFrame(columns).filter(pl.col("item") != 7)
    assert patterns(state) == patterns(stream_of_table(frame.lazy(), **NAMES, smoothing=SMOOTH))
    assert "1 tasks have no label at all and were left out" in state.warnings


@engines
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("item", None, "row .task None.*no task id. Fill it in"),
        ("rater", None, "worker None.*no worker id. Fill it in"),
        ("rating", "si", "label 'si' is not one of the classes"),
    ],
)
def test_rows_that_cannot_be_used(engine, given, column, value, message):
    """By what they say; nothing is repaired."""
    columns = {name: list(values) for name, values in given.items()}
    columns[column][5] = value
    with pytest.raises(ValueError, match=message):
        stream_of_table(engine(columns), **NAMES, classes=["no", "yes", "maybe"])


@engines
def test_a_worker_who_labelled_a_task_twice(engine, given):
    """A sum of two labels would be another label, or another worker's."""
    columns = {name: [*values, values[4]] for name, values in given.items()}
    with pytest.raises(
        ValueError, match=rf"task {given['item'][4]}, worker '{given['rater'][4]}'.*more than"
    ):
        stream_of_table(engine(columns), **NAMES)


def test_tables_that_are_none():
    """In memory, empty, without the column."""
    frame = pl.DataFrame({"task": [1], "worker": ["a"], "label": ["x"]})
    with pytest.raises(ValueError, match=r"which is in memory: use begin_stream\(Labels.from_frame"):
        stream_of_table(frame)
    with pytest.raises(ValueError, match="no column 'rater'; the columns are 'task', 'worker', 'label'"):
        stream_of_table(frame.lazy(), worker="rater")
    with pytest.raises(ValueError, match="the table has no rows with a label"):
        stream_of_table(frame.lazy().filter(pl.col("task") > 1))
