"""A stream started by an engine: the fit of the same labels in memory, patterns alone, refusals."""

import re

import numpy as np
import polars as pl
import pytest

import jtruth as jt
from jtruth._validation import columns as lazy_frame
from jtruth.evaluation import prevalence
from jtruth.evaluation.by_one_model import the_prior
from jtruth.learning import Smoothing, begin_stream, stream_of_table, update
from tests.engines import NAMES, connections, engines  # noqa: F401

SMOOTH = Smoothing(2.0, 0.5, 1.0)


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
    ends = np.cumsum(state.patterns.length)
    code = [tuple(part.tolist()) for part in np.split(state.patterns.code, ends[:-1])]
    return dict(zip(code, state.patterns.number.tolist(), strict=True))


@engines
def test_an_engine_gives_the_fit_of_the_labels_in_memory(engine, given, in_memory, monkeypatch):
    """Same patterns, same fit; more labelers than bits in one number; no task leaves the engine."""
    seen = []

    def collected(table):
        found = whole(table)
        seen.append(found.shape)
        return found

    whole = lazy_frame.collected
    monkeypatch.setattr(lazy_frame, "collected", collected)
    state = stream_of_table(engine(given), **NAMES, smoothing=SMOOTH)
    assert (state.workers, state.classes) == (in_memory.workers, in_memory.classes)
    assert patterns(state) == patterns(in_memory)
    assert state.tasks == () and state.class_posterior.shape == (0, 3)
    np.testing.assert_allclose(state.matrices, in_memory.matrices, atol=1e-8)
    np.testing.assert_allclose(state.prior, in_memory.prior, atol=1e-8)
    assert state.log_likelihood == pytest.approx(in_memory.log_likelihood, abs=1e-6)
    size, found = len(state.workers), len(patterns(in_memory))
    counted, example = (1, 4), (1, 1)  # rows and what is missing; a task
    assert found < len(in_memory.tasks) / 1.5  # so that patterns say something
    assert sorted(seen) == sorted([counted, example, (size, 2), (3, 2), (found, -(-size // (52 // 3)) + 2)])


@engines
@pytest.mark.parametrize("name", ["{}", "q{}", "{}a"])
def test_very_many_rows_are_grouped_part_by_part(engine, given, in_memory, monkeypatch, name):
    """The same patterns for tasks that are numbers, or end with digits or letters."""
    monkeypatch.setattr(lazy_frame, "_TOGETHER", 100)
    told, columns = [], given | {"item": [name.format(k) for k in given["item"]]}
    if name == "{}":
        columns["item"] = [k - 150 for k in given["item"]]
    state = stream_of_table(engine(columns), **NAMES, progress=lambda *done: told.append(done))
    assert patterns(state) == patterns(in_memory) and len(told) > 7 and told[-1][0] == told[-1][1] - 1


def test_shares_of_a_stream_are_those_of_its_labels(given, in_memory):
    labels = jt.Labels.from_frame(pl.DataFrame(given), **NAMES, classes=in_memory.classes)
    by_patterns = stream_of_table(
        pl.DataFrame(given).lazy(), **NAMES, classes=in_memory.classes, smoothing=the_prior
    )
    mine, theirs = (prevalence(one, key=0) for one in (by_patterns, labels))
    assert mine.label_shares == pytest.approx(theirs.label_shares, abs=1e-12)
    assert (mine.num_samples, mine.num_labels) == (labels.num_samples, labels.num_labels)
    for text, shares in theirs.assumptions.items():
        assert mine.assumptions[text] == pytest.approx(shares, abs=0.015)
    for name, share in theirs.shares.items():
        assert mine.shares[name].interval().low == pytest.approx(share.interval().low, abs=0.03)
        assert mine.shares[name].interval().high == pytest.approx(share.interval().high, abs=0.03)
    with pytest.raises(ValueError, match="no samples by name"):
        prevalence(by_patterns, by=np.arange(3))


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
    with pytest.raises(
        ValueError, match=r"rows \(task 7, worker 'w[0-9]+', label 'NA'\), .*label None\): no label"
    ):
        stream_of_table(engine(columns), **NAMES)
    state = stream_of_table(engine(columns), **NAMES, missing="drop", smoothing=SMOOTH)
    frame = pl.DataFrame(columns).filter(pl.col("item") != 7)
    assert patterns(state) == patterns(stream_of_table(frame.lazy(), **NAMES, smoothing=SMOOTH))
    assert "1 task has no label and was left out." in state.warnings


@engines
@pytest.mark.parametrize("classes", [None, ["yes", "no", "maybe"]])
def test_a_worker_who_labels_a_task_again_gives_one_label(engine, given, classes):
    """The patterns, and what is said, of the labels in memory: a majority, a tie, a label and none."""
    columns = {name: list(values) for name, values in given.items()}
    rng = np.random.default_rng(0)
    for k in rng.choice(len(columns["item"]), 200).tolist():
        for name in ("item", "rater"):
            columns[name].append(columns[name][k])
        columns["rating"].append(["no", "yes", "maybe", None][rng.integers(4)])
    options = NAMES | {"classes": classes, "missing": "drop"}
    labels = jt.Labels.from_frame(engine(columns), **options)
    state = stream_of_table(engine(columns), **options, smoothing=SMOOTH)
    assert patterns(state) == patterns(begin_stream(labels, smoothing=SMOOTH))
    assert "Ties go to the first class" in " ".join(labels.notes) and set(labels.notes) <= set(state.warnings)


SIZE = 60
BASE = {"task": np.arange(SIZE) // 3, "worker": np.arange(SIZE) % 3, "label": np.arange(SIZE) // 3 % 2}
TASKS = BASE["task"].astype(str)
WORDS = np.array(["no", "yes"])[BASE["label"]]
HOLE = np.where(np.arange(SIZE) == 4, "", "x")
AS_IN_MEMORY = {
    "nothing wrong": {},
    "worker without a name": {"worker": np.array(["a", "b", ""])[BASE["worker"]]},
    "task without a name": {"task": np.where(TASKS == "7", "", TASKS)},
    "decimal tasks": {"task": BASE["task"] + 0.5},
    "decimal workers": {"worker": BASE["worker"] * 0.5},
    "true or false workers": {"worker": BASE["worker"] == 1},
    "tasks of dates": {"task": np.datetime64("2020-01-01") + BASE["task"]},
    "a task begins unseen": {"task": np.where(TASKS == "7", "\u200b7", TASKS)},
    "a task ends unseen": {"task": np.where(TASKS == "7", "7\t", TASKS)},
    "a worker has it inside": {"worker": np.array(["a\u200bb", "c", "d"])[BASE["worker"]]},
    "every label another": {"label": np.char.add("u", np.arange(SIZE).astype(str))},
    "every label another code": {"label": np.arange(SIZE)},
    "names in two cases": {"label": np.array(["no", "No", "yes"])[np.arange(SIZE) % 3]},
    "workers in two cases": {"worker": np.array(["A", "a", "b"])[BASE["worker"]]},
    "numbers as names": {"label": BASE["label"] + 3},
    "equal numbers": {"label": np.array(["1", "1.0", "2"])[np.arange(SIZE) % 3]},
    "one class": {"label": np.zeros(SIZE, int)},
    "a label that is no number": {"label": np.where(HOLE == "", np.nan, BASE["label"])},
    "empty labels": {"label": np.where(HOLE == "", "", WORDS)},
    "words for nothing": {"label": np.where(HOLE == "", "NA", WORDS)},
    "a labeler of no labels": {"label": np.where(BASE["worker"] == 1, "NA", WORDS)},
    "a label, and none, of one worker": {
        "worker": np.where(np.arange(SIZE) == 1, 0, BASE["worker"]),
        "label": np.where(np.arange(SIZE) == 1, "NA", WORDS),
    },
    "no label at all": {"label": np.full(SIZE, "NA")},
}


@engines
@pytest.mark.parametrize("missing", ["error", pytest.param("drop", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", AS_IN_MEMORY)
def test_what_a_frame_in_memory_says_is_said(engine, case, missing):
    """The same refusal with the same reason (of a row that may be another), or the same names and notes."""
    frame = pl.DataFrame(BASE | AS_IN_MEMORY[case])
    said = []
    for read in (lambda: jt.Labels.from_frame(frame, missing=missing),
                 lambda: stream_of_table(engine(frame), missing=missing, smoothing=SMOOTH)):  # fmt: skip
        try:
            found = read()
        except ValueError as problem:
            said.append(re.sub(r"^rows? (\(.*?\)|[\d, and more]+): ", "", str(problem)))
        else:
            notes = found.notes if isinstance(found, jt.Labels) else found.warnings
            said.append((found.classes, set(found.workers), set(notes)))
    assert said[0] == said[1]


@engines
def test_a_refusal_shows_the_row(engine):
    """As it stands in the table."""
    for name, values, said in (
        ("worker", np.array(["a", "b", ""])[BASE["worker"]], r"\d+, worker '', label '\w+'\): no worker id"),
        ("task", np.where(TASKS == "7", "", TASKS), r"'', worker \d, label 'yes'\): no task id"),
        ("label", np.where(HOLE == "", "si", WORDS), r"\d+, worker \d, label 'si'\): .*not one of the class"),
    ):
        with pytest.raises(ValueError, match=rf"rows? \(task {said}"):
            frame = pl.DataFrame(BASE | {"label": WORDS} | {name: values})
            stream_of_table(engine(frame), classes=["no", "yes"])


def test_tables_that_are_none():
    """In memory, empty, without the column."""
    frame = pl.DataFrame({"task": [1], "worker": ["a"], "label": ["x"]})
    with pytest.raises(ValueError, match=r"which is in memory: use begin_stream\(Labels.from_frame"):
        stream_of_table(frame)
    with pytest.raises(ValueError, match="no column 'rater'; the columns are 'task', 'worker', 'label'"):
        stream_of_table(frame.lazy(), worker="rater")
    with pytest.raises(ValueError, match="the table has no rows"):
        stream_of_table(frame.lazy().filter(pl.col("task") > 1))
