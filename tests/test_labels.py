"""Labels: factories and their errors, views, selections, and invariances."""

import itertools
from dataclasses import replace

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from jtruth.io import read_labels
from jtruth.labels import Labels

TASK, WORKER, LABEL = ["b", "a", "b", "a"], ["w", "w", "v", "u"], ["no", "yes", "no", "maybe"]


def rows_of(labels: Labels) -> list[tuple]:
    """(task, worker, class name) of every label, sorted: what the labels say, whatever their order."""
    tasks, workers = labels.tasks or range(labels.num_samples), labels.workers or range(labels.num_labelers)
    entries = zip(labels.sample.tolist(), labels.labeler.tolist(), labels.label.tolist(), strict=True)
    return sorted((tasks[i], workers[t], labels.class_names[c]) for i, t, c in entries if c >= 0)


@st.composite
def matrices(draw):
    """A matrix of codes with -1 for missing, at least one label per row, and the number of classes."""
    n, t, c = draw(st.integers(1, 12)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    z = np.array(draw(st.lists(st.integers(-1, c - 1), min_size=n * t, max_size=n * t))).reshape(n, t)
    z[(z < 0).all(axis=1), 0] = 0
    return z, c


def test_from_long_codes_in_order_of_appearance_and_names_sorted():
    labels = Labels.from_long(TASK, WORKER, LABEL)
    assert labels.tasks == ("b", "a") and labels.workers == ("w", "v", "u")
    assert labels.classes == ("maybe", "no", "yes") and labels.notes == ()
    assert labels.sample.tolist() == [0, 1, 0, 1]
    assert labels.labeler.tolist() == [0, 0, 1, 2]
    assert labels.label.tolist() == [1, 2, 1, 0]
    assert labels.sample.dtype == labels.labeler.dtype == labels.label.dtype == np.int32


@pytest.mark.parametrize(
    ("label", "options", "classes", "codes"),
    [
        ([0, 1, 1], {}, ("0", "1"), [0, 1, 1]),
        (["0", "1", "1"], {}, ("0", "1"), [0, 1, 1]),
        (np.array([2, 0, 1]), {}, ("0", "1", "2"), [2, 0, 1]),
        ([2.0, 0.0, 1.0], {}, ("0", "1", "2"), [2, 0, 1]),
        ([True, False, True], {}, ("0", "1"), [1, 0, 1]),
        ([0, 2, 2], {"num_classes": 4}, ("0", "1", "2", "3"), [0, 2, 2]),
        ([10, 9, 10], {}, ("9", "10"), [1, 0, 1]),  # names that are numbers sort as numbers
        (["01", "1", "1"], {"classes": ("01", "1")}, ("01", "1"), [0, 1, 1]),  # "01" is not 1
        ([1, -1, 1], {"classes": (-1, 1)}, ("-1", "1"), [1, 0, 1]),
        ([1, 0, 1], {"classes": ("no", "yes")}, ("no", "yes"), [1, 0, 1]),  # codes with names
        ([1, 0, 1], {"classes": ("1", "0")}, ("1", "0"), [0, 1, 0]),  # names win over codes
        (["NA", "EU", "NA"], {"classes": ("EU", "NA")}, ("EU", "NA"), [1, 0, 1]),
    ],
)
def test_classes(label, options, classes, codes):
    labels = Labels.from_long(["x", "y", "z"], ["w"] * 3, label, **options)
    assert labels.classes == classes and labels.label.tolist() == codes


def long(task=("x", "y"), worker=("v", "w"), label=("no", "yes"), **options):
    return lambda: Labels.from_long(task, worker, label, **options)


BAD = [
    (long(label=["no"]), "equally long; got 2, 2 and 1 values"),
    (long([], [], []), "no labels: the table has no rows"),
    (long(task="xy"), "task must be a sequence"),
    (long(task=3), "task must be a sequence"),
    (long(task=np.zeros((2, 1), int)), "task must have one axis; got shape (2, 1)"),
    (long(worker=["v", None]), "row 1: no worker id (got None)"),
    (long(task=[1, float("nan")]), "row 1: no task id (got nan)"),
    (long(task=pd.Series(["x", pd.NA], dtype=object)), "row 1: no task id (got <NA>)"),
    (long(worker=["v", ""]), "row 1: no worker id (got '')"),
    (long(task=[1, "1"]), "whole number (row 0: 1) and text (row 1: '1')"),
    (long(task=[1.0, 2.0]), "row 0: task id 1.0 is a decimal number"),
    (long(task=[["x"], ["y"]]), "task ids must be text or whole numbers"),
    (long(tasks=["x", "z"]), "row 1: 1 ids are not in the list of tasks: 'y'"),
    (long(workers=[1, 2]), "rows 0, 1: 2 ids are not in the list of workers: 'v', 'w'"),
    (long(tasks=["x", "y", "x"]), "list of tasks names some more than once: 'x'"),
    (long(label=["no", None]), "row 1: no label (got None)"),
    (long(label=[0, float("nan")]), "row 1: no label (got nan)"),
    (long(label=[0, -1]), "row 1: no label (got -1)"),
    (long(label=["no", "NA"]), "If 'NA' is a class, name all classes"),
    (long(label=[0, 0.5]), "row 1: label 0.5 is neither a class code 0..C-1"),
    (long(label=[("a",), ("b",)]), "label ('a',) is neither a class code"),
    (long(label=[1, "1"]), "labels mix types: whole number (row 0: 1) and text (row 1: '1')"),
    (long(label=[0, 2], num_classes=2), "row 1: label 2 is not a whole number 0..1"),
    (long(label=[0, -2], num_classes=2), "row 1: label -2 is not a whole number 0..1"),
    (long(label=["no", "si"], classes=["no", "yes"]), "label 'si' is not one of the classes"),
    (long(label=["no", "no"]), "the only label is 'no': name all classes"),
    (long(classes=["a", "a"]), "two or more different names; got 'a', 'a'"),
    (long(classes=["no", "yes"], num_classes=3), "num_classes is 3 but classes has 2"),
    (long(num_classes=1), "num_classes must be at least 2; got 1"),
    (
        long(["x", "y", "x"], ["v", "v", "v"], [0, 1, 0], repeats="error"),
        "rows 0, 2: worker 'v' labelled task 'x' 2 times (1 repeat in all). Set repeats='majority'",
    ),
    (long(repeats="drop"), "repeats must be one of 'majority', 'first', 'last', 'keep', 'error'"),
    (long(missing="ignore"), "missing must be one of 'error', 'drop'; got 'ignore'"),
    (long(tasks=["x", "q", "y"]), "1 of 3 samples has no label: 'q'. Leave them out, or set"),
    (long(label=[None, None], missing="drop"), "no label is given: name all classes"),
    (lambda: Labels.from_matrix([[0, 2]], 2), "z[0, 1] is 2, not a class code 0..1 (1 such"),
    (lambda: Labels.from_matrix([[0, -2]], 2), "z[0, 1] is -2, not a class code"),
    (lambda: Labels.from_matrix([[0.5]], 2), "z[0, 0] is 0.5, not a class code"),
    (lambda: Labels.from_matrix([[0, np.nan]], 2), "z[0, 1] is nan, not a class code"),
    (lambda: Labels.from_matrix([0, 1], 2), "got shape (2,), dtype int64"),
    (lambda: Labels.from_matrix(np.zeros((0, 3), int), 2), "got shape (0, 3)"),
    (lambda: Labels.from_matrix([["no"]], 2), "z[0, 0]: label 'no' is not a whole number 0..1"),
    (lambda: Labels.from_matrix([[0]], 1), "num_classes must be at least 2; got 1"),
    (lambda: Labels.from_matrix([[0], [-1]], 2), "1 of 2 samples has no label: 1"),
    (
        lambda: Labels.from_frame(pd.DataFrame({"item": [1]})),
        "no columns 'task', 'worker', 'label'; the columns are 'item'. "
        "Name the column of the task and the worker and the label "
        "by task=..., worker=..., label=... (at the command line --task item --worker NAME",
    ),
    (
        lambda: Labels.from_frame(pd.DataFrame({"task": [1, 2], "worker": ["a", None], "label": [0, 1]})),
        "row 1: no worker id",
    ),
]


@pytest.mark.parametrize(("make", "fragment"), BAD, ids=[said for _, said in BAD])
def test_bad_input_is_refused_with_its_place(make, fragment):
    with pytest.raises(ValueError) as caught:
        make()
    assert fragment in str(caught.value)


def test_repeats():
    columns = ["x", "x", "y", "x"], ["v", "v", "v", "w"], [0, 1, 1, 1]
    kept = Labels.from_long(*columns, repeats="keep")
    first, last = (Labels.from_long(*columns, repeats=how) for how in ("first", "last"))
    assert kept.num_labels == 4 and kept.has_repeats()
    assert kept.notes == (
        "Repeated labels (1) count as independent, so intervals are too narrow. "
        "repeats='majority' counts one label per labeler and sample.",
    )
    assert first.label.tolist() == [0, 1, 1] and last.label.tolist() == [1, 1, 1]
    assert first.notes == ("1 repeated label: the first per labeler and sample counts (repeats='first').",)
    assert Labels.from_long(*columns).notes[0].endswith(" 1 tie went to the earliest label.")
    assert kept.counts().tolist() == [[1, 2], [0, 1]]
    assert kept.labels_of("v", repeat="first").tolist() == [0, 1]
    assert kept.labels_of("v", repeat="last").tolist() == [1, 1]
    for use in (kept.to_matrix, lambda: kept.labels_of("v")):
        with pytest.raises(ValueError, match=r"some labelers gave several|repeatedly"):
            use()


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


@pytest.mark.parametrize("repeats", ["majority", "first", "last"])
@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=ROWS)
def test_one_label_of_each_and_what_repeats_said_by_loops(repeats, rows):
    given = {}
    for task, worker, label in rows:
        given.setdefault((f"t{task}", f"w{worker}"), []).append(label)
    most = {pair: max(map(own.count, own)) for pair, own in given.items()}
    best = {pair: [c for c in own if own.count(c) == most[pair]] for pair, own in given.items()}
    place = -1 if repeats == "last" else 0
    kept = {pair: own[place] for pair, own in (best if repeats == "majority" else given).items()}
    columns = [[f"t{i}" for i, _, _ in rows], [f"w{t}" for _, t, _ in rows], [c for _, _, c in rows]]
    labels = Labels.from_long(*columns, num_classes=3, repeats=repeats)
    found = zip(*(a.tolist() for a in labels.arrays), strict=True)
    assert {(labels.tasks[i], labels.workers[t]): c for i, t, c in found} == kept
    ties = sum(len(set(one)) > 1 for one in best.values()) if repeats == "majority" else 0
    assert any(f" {ties} tie" in note for note in labels.notes) == (ties > 0)
    if len(rows) == len(given):
        assert labels.self_agreement is None and "repeat" not in str(labels.notes)
        return
    assert labels.notes[0].startswith(f"{len(rows) - len(given)} repeated label")
    for worker, counted in zip(labels.workers, labels.self_agreement, strict=True):
        mine = [own for (_, name), own in given.items() if name == worker and len(own) > 1]
        pairs = [[a == b for a, b in itertools.combinations(own, 2)] for own in mine]
        number, agree = sum(map(len, pairs)), sum(map(sum, pairs))
        share = agree / max(number, 1)
        spread = sum((sum(one) - share * len(one)) ** 2 for one in pairs)
        worth = (
            len(mine) if share in (0, 1) else min(number, share * (1 - share) * number**2 / max(spread, 1e-9))
        )
        assert counted.item() == (sum(map(len, mine)) - len(mine), number, agree, pytest.approx(worth))


def test_what_repeats_said_goes_with_the_labelers():
    labels = Labels.from_long(list("aabbbc"), list("vvwwww"), [0, 1, 1, 1, 1, 0])
    assert labels.self_agreement["agree"].tolist() == [0, 3]
    assert labels.select_labelers([1, 0]).self_agreement["agree"].tolist() == [3, 0]
    assert labels.without_labeler("v").self_agreement["pairs"].tolist() == [3]
    assert labels.restrict([2]).with_names(tasks=["z"]).self_agreement["agree"].tolist() == [0, 3]
    assert jax.tree.map(lambda a: a, labels).self_agreement is None


def test_missing_labels_are_dropped_only_on_request_and_counted():
    columns = ["x", "y", "x", "z"], ["v", "v", "w", "u"], ["no", None, "yes", "NA"]
    dropped = Labels.from_long(*columns, missing="drop")
    assert dropped.tasks == ("x",) and dropped.workers == ("v", "w", "u")
    assert dropped.notes == (
        "2 of 4 rows have no label and were left out (missing='drop').",
        "2 tasks have no label and were left out: 'y', 'z'.",
        "1 labeler gave no label: 'u'.",
    )
    kept = Labels.from_long(*columns, missing="drop", allow_unlabelled=True)
    assert kept.tasks == ("x", "y", "z") and kept.labels_per_sample().tolist() == [2, 0, 0]


def test_unused_classes_are_noted():
    labels = Labels.from_long([1, 2], [1, 1], [0, 2], classes=["a", "b", "c"])
    assert labels.notes == ("1 class never occurs: 'b'.",)


def test_from_matrix_takes_other_marks_of_missing():
    z = np.array([[0, -1], [1, 1]])
    plain = Labels.from_matrix(z, 2)
    for other, mark in ((np.where(z < 0, 9, z), 9), (np.where(z < 0, np.nan, z), np.nan)):
        assert rows_of(Labels.from_matrix(other, 2, missing=mark)) == rows_of(plain)
    assert rows_of(Labels.from_matrix(jnp.asarray(z), 2)) == rows_of(plain)
    assert rows_of(Labels.from_matrix(np.array([[0, 255], [1, 1]], np.uint8), 2, missing=255)) == rows_of(
        plain
    )
    assert Labels.from_matrix([[0], [-1]], 2, allow_unlabelled=True).num_samples == 2


def test_from_frame_of_categories():
    frame = pd.DataFrame({"task": [1, 2], "worker": ["a", "a"], "label": pd.Categorical(["yes", "no"])})
    labels = Labels.from_frame(frame)
    assert rows_of(labels) == [(1, "a", "yes"), (2, "a", "no")] and labels.tasks == (1, 2)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: pl.DataFrame(d).lazy()])
def test_from_frame_of_every_kind(kind):
    frame = kind({"item": TASK, "rater": WORKER, "rating": LABEL})
    labels = Labels.from_frame(frame, task="item", worker="rater", label="rating")
    assert rows_of(labels) == sorted(zip(TASK, WORKER, LABEL, strict=True))


def test_views_against_a_small_example():
    labels = Labels.from_long(TASK, WORKER, LABEL)
    assert labels.labels_per_sample().tolist() == [2, 2]
    assert labels.labels_per_labeler().tolist() == [2, 1, 1]
    assert labels.class_code("yes") == labels.class_code("YES") == 2 and labels.worker_index("u") == 2
    with pytest.raises(ValueError, match=r"no class 'si'; there are 'maybe', 'no', 'yes'"):
        labels.class_code("si")
    with pytest.raises(ValueError, match=r"no worker 'q'; there are 'w', 'v', 'u'"):
        labels.worker_index("q")


def test_capitals_of_a_class_count_where_they_tell_two_apart():
    labels = Labels.from_long(["a", "b", "c"], ["w"] * 3, ["No", "no", "yes"])
    assert labels.class_code("No") != labels.class_code("no")
    with pytest.raises(ValueError, match="no class 'NO'"):
        labels.class_code("NO")


def test_entries_of_minus_one_count_for_nothing():
    full = Labels.from_long(TASK, WORKER, LABEL)
    marked = Labels(full.sample, full.labeler, np.where(full.labeler == 1, -1, full.label), 2, 3, 3)
    assert marked.num_labels == 3
    assert rows_of(marked) == [(0, 0, "1"), (1, 0, "2"), (1, 2, "0")]
    assert marked.to_matrix().tolist() == [[1, -1, -1], [2, -1, 0]]
    assert marked.padded()[1].tolist() == [[1, -1], [2, 0]]


@given(matrices(), st.randoms(use_true_random=False))
def test_views_do_not_depend_on_the_order_of_entries(case, random):
    z, num_classes = case
    labels = Labels.from_matrix(z, num_classes)
    order = list(range(len(labels.label)))
    random.shuffle(order)
    leaves = (leaf[order] for leaf in (labels.sample, labels.labeler, labels.label))
    mixed = Labels(*leaves, labels.num_samples, labels.num_labelers, num_classes)
    assert (mixed.to_matrix() == z).all() and (mixed.counts() == labels.counts()).all()
    for one, other in zip(mixed.padded(), labels.padded(), strict=True):
        assert (one == other).all()
    assert (mixed.patterns().inverse == labels.patterns().inverse).all()


@given(matrices())
def test_counts_and_padded_against_loops(case):
    z, num_classes = case
    labels = Labels.from_matrix(z, num_classes)
    assert labels.counts().tolist() == [[(row == c).sum() for c in range(num_classes)] for row in z]
    for row, labeler, label in zip(z, *labels.padded(), strict=True):
        pairs = [(t, c) for t, c in zip(labeler.tolist(), label.tolist(), strict=True) if t >= 0]
        assert pairs == [(t, c) for t, c in enumerate(row.tolist()) if c >= 0]
        assert ((labeler < 0) == (label < 0)).all()


@given(matrices())
def test_patterns_are_the_distinct_rows(case):
    z, num_classes = case
    rows, inverse, counts = Labels.from_matrix(z, num_classes).patterns()
    distinct = rows.to_matrix()
    assert len({tuple(row) for row in z.tolist()}) == len(distinct) == rows.num_samples
    assert (distinct[inverse] == z).all()
    assert (np.bincount(inverse, minlength=len(distinct)) == counts).all() and counts.sum() == len(z)


def test_patterns_keep_repeats_apart():
    labels = Labels.from_long([0, 0, 1, 2, 2], [5] * 5, [1, 1, 1, 1, 1], num_classes=2, repeats="keep")
    assert sorted(labels.patterns().counts.tolist()) == [1, 2]


@given(matrices(), st.data())
def test_round_trip_matrix_long_frame(case, data):
    z, num_classes = case
    labels = Labels.from_matrix(z, num_classes)
    names = [f"{k:02d}" for k in data.draw(st.permutations(range(num_classes)))]
    order = data.draw(st.permutations(range(len(labels.label))))
    frame = pl.DataFrame(
        {
            "task": [f"t{i}" for i in labels.sample[list(order)]],
            "worker": [f"w{t}" for t in labels.labeler[list(order)]],
            "label": [names[c] for c in labels.label[list(order)]],
        }
    )
    again = Labels.from_frame(
        frame,
        tasks=[f"t{i}" for i in range(len(z))],
        workers=[f"w{t}" for t in range(z.shape[1])],
        classes=names,
    )
    assert (again.to_matrix() == z).all()


@given(matrices(), st.data())
def test_selections(case, data):
    z, num_classes = case
    labels = Labels.from_matrix(z, num_classes).with_names(tasks=[f"t{i}" for i in range(len(z))])
    samples = data.draw(st.lists(st.sampled_from(range(len(z))), unique=True))
    part = labels.restrict(samples)
    assert part.tasks == tuple(f"t{i}" for i in samples) and part.num_samples == len(samples)
    assert (part.to_matrix() == z[samples]).all()
    workers = data.draw(st.permutations(range(z.shape[1])))[: z.shape[1] - 1]
    assert (labels.select_labelers(workers).to_matrix() == z[:, workers]).all()
    assert (labels.without_labeler(0).to_matrix() == z[:, 1:]).all()
    assert (labels.labels_of(0) == z[:, 0]).all()


@pytest.mark.parametrize("chosen", [[0, 0], [2], [-1], [0.0], [[0]], [True, False]])
def test_selection_refuses_what_is_no_set_of_indices(chosen):
    with pytest.raises(ValueError, match=r"choose samples by distinct indices 0\.\.1"):
        Labels.from_long(TASK, WORKER, LABEL).restrict(chosen)


def test_split_rater():
    z = np.array([[0, 1, -1], [1, -1, -1], [-1, 0, 1], [1, 1, 0]])
    labels = Labels.from_matrix(z, 2).with_names(workers=["a", "b", "c"], tasks=["p", "q", "r", "s"])
    split = labels.split_rater("a")
    assert [part.tolist() for part in (split.y_pred, split.samples, split.alone)] == [[0, 1], [0, 3], [1]]
    assert split.labels.workers == ("b", "c") and split.labels.tasks == ("p", "s")
    assert split.labels.to_matrix().tolist() == [[1, -1], [1, 0]]
    with pytest.raises(ValueError, match="worker 0 cannot be graded, because nobody else labelled"):
        Labels.from_matrix([[1, -1], [-1, 0]], 2).split_rater(0)


def test_samples_that_nobody_labelled_are_not_the_raters_own():
    z = np.array([[0, 1], [1, -1], [-1, -1], [-1, 0]])
    found = Labels.from_matrix(z, 2, allow_unlabelled=True).split_rater(0)
    assert found.samples.tolist() == [0] and found.alone.tolist() == [1]


def test_split_rater_with_repeats():
    labels = Labels.from_long(list("xxyx"), list("vvvw"), [0, 1, 1, 1], repeats="keep")
    with pytest.raises(ValueError, match="set repeat='first' or 'last'"):
        labels.split_rater("v")
    assert labels.split_rater("v", repeat="first").y_pred.tolist() == [0]
    assert labels.split_rater("v", repeat="last").y_pred.tolist() == [1]


def test_pytree_goes_through_transformations_and_loses_its_names():
    labels = Labels.from_long(TASK, WORKER, LABEL)
    leaves, structure = jax.tree.flatten(labels)
    assert len(leaves) == 3 and structure == jax.tree.structure(Labels.from_long(TASK, WORKER, LABEL))

    @jax.jit
    def histogram(z: Labels):
        return jnp.zeros((z.num_samples, z.num_classes), jnp.int32).at[z.sample, z.label].add(1)

    assert (np.asarray(histogram(labels)) == labels.counts()).all()
    out = jax.jit(lambda z: z)(labels)
    assert (out.tasks, out.workers, out.classes, out.notes) == (None, None, None, ())
    named = out.with_names(tasks=labels.tasks, workers=labels.workers, classes=labels.classes)
    assert rows_of(named) == rows_of(labels) and (out.to_matrix() == labels.to_matrix()).all()
    with pytest.raises(ValueError, match="tasks needs 2 different names; got 1: 'b'"):
        out.with_names(tasks=["b"])
    with pytest.raises(ValueError, match="classes needs 3 different names"):
        out.with_names(classes=["a", "b", "a"])


def test_many_labels_of_many_workers():
    """Size, not time: codes above 16 bits, and keys (sample, labeler, class) above 32 bits."""
    n, rng = 70_000, np.random.default_rng(0)
    labels = Labels.from_long(np.arange(n), rng.integers(0, 90_000, n), rng.integers(0, 9, n))
    assert labels.num_labels == n and labels.padded()[0].shape == (n, 1)
    rows, inverse, _ = labels.patterns()
    for one, other in zip(rows.padded(), labels.padded(), strict=True):
        assert (one[inverse] == other).all()


def test_labels_that_say_nothing_are_left_out_and_counted():
    rows = [
        ("a", "x", "yes"),
        ("a", "y", "Unsure"),
        ("b", "x", "no"),
        ("b", "y", "skip"),
        ("c", "x", "unsure"),
    ]
    task, worker, label = zip(*rows, strict=True)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    for labels in (
        Labels.from_long(task, worker, label, abstain=["unsure", "skip"]),
        Labels.from_frame(frame, abstain=["unsure", "skip"]),
        read_labels(frame, abstain=["unsure", "skip"]),
    ):
        assert labels.classes == ("no", "yes") and labels.num_labels == 2 and labels.tasks == ("a", "b")
        said = " ".join(labels.notes)
        assert "3 of 5 labels are abstentions ('Unsure', 'skip', 'unsure') and were left out." in said
        assert "1 task has no label and was left out" in said and "1 labeler gave no label" in said
        assert "missing='drop'" not in said
    with pytest.raises(ValueError, match="no label"):  # missing is another thing
        Labels.from_long(task, worker, [*label[:4], None], abstain=["unsure", "skip"])


def test_patterns_by_one_number_a_row_are_those_by_sorting(monkeypatch):
    z = np.random.default_rng(1).integers(-1, 3, (300, 4))
    z[:, 1] = 2
    order = np.random.default_rng(2).permutation(np.count_nonzero(z >= 0))
    for some in (slice(None), order):
        labels = Labels.from_matrix(z, 3)
        labels = Labels(*(a[some] for a in labels.entries()), 300, 4, 3)
        with monkeypatch.context() as patched:
            patched.setattr("jtruth.labels.check.row_codes", lambda *_: None)
            sorted_rows = replace(labels).patterns()
        coded = labels.patterns()
        assert (coded.inverse == sorted_rows.inverse).all() and (coded.counts == sorted_rows.counts).all()
        assert (coded.labels.to_matrix() == sorted_rows.labels.to_matrix()).all()
