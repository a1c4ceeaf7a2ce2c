"""Error messages for similar or invisible names, wrong columns, and containers of the wrong kind.

And the names of jtruth itself: a word has one meaning.
"""

import ast
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jtruth as jt
from jtruth._validation import brief, encode_ids
from jtruth._validation.ids import in_order
from jtruth._validation.words import Source, alike_note
from jtruth.evaluation import inputs
from jtruth.labels import Labels
from tests.source import ROOT, defined, nodes, trees


def long(label=("a", "b", "c"), worker=(1, 1, 1), task=(1, 2, 3), **options):
    return Labels.from_long(task, worker, label, **options)


@pytest.mark.parametrize(
    "hidden", ["b\r", "b\u200b", "b\u3000", "\x1a", "b\xa0", "\ufeffb", "b\tc", "\x1b[2Jb"]
)
def test_what_cannot_be_seen_is_refused(hidden):
    with pytest.raises(ValueError, match=r"row 1: label .* has a character that cannot be seen"):
        long(["a", hidden, "c"])
    with pytest.raises(ValueError, match=r"row 1: worker id .* has a character that cannot be seen"):
        long(worker=["a", hidden, "c"])
    with pytest.raises(ValueError, match=r"class .* has a character that cannot be seen"):
        long(classes=["a", "b", hidden])
    if hidden not in ("b\tc",):
        with pytest.raises(ValueError, match=r"row 1: task id .* has a character that cannot be seen"):
            long(task=["a", hidden, "c"])


def test_a_task_may_be_a_text_of_several_lines():
    assert long(task=["a\nb", "c\td", "e"]).tasks == ("a\nb", "c\td", "e")


@pytest.mark.parametrize(
    "pair", [("1", "1.0"), ("0", "00"), ("10", "1e1"), ("1", "\uff11"), ("01", "1"), ("+1", "1")]
)
def test_classes_equal_as_numbers_are_refused_unless_named(pair):
    with pytest.raises(ValueError, match="equal as numbers"):
        long([*pair, "2"])
    assert long([*pair, "2"], classes=[*pair, "2"]).classes == (*pair, "2")


def test_long_numbers_are_compared_digit_by_digit():
    near = [str(2**70), str(2**70 + 1), "7"]
    assert set(long(near).classes) == set(near)


@pytest.mark.parametrize(
    "pair", [("Yes", "yes"), ("\uff21", "A"), ("no", "no "), ("a  b", "a b"), ("STRASSE", "straße")]
)
def test_look_alikes_are_said_where_answers_are_given(pair):
    labels = long([*pair, "else"])
    assert any("Some class names differ only in" in note for note in labels.notes)
    workers = long(["0", "1", "1"], worker=[*pair, "else"])
    note = next(note for note in workers.notes if "Some worker ids differ only in" in note)
    assert inputs.warnings(inputs.read([0, 1, 1], workers, None, None, None, 1)) == [note]
    assert alike_note(["a", "b", "nan", "NaN1", "1_0", "10"], "names") == ()


def test_numbers_stand_where_they_say_and_other_ids_in_order_of_appearance():
    columns = [3, 0, 2, 1], [1, 0, 1, 1], [0, 1, 1, 0]
    for convert in (int, str):
        labels = Labels.from_long(*([convert(v) for v in c] for c in columns))
        assert labels.tasks == tuple(map(convert, range(4))) and labels.workers == tuple(map(convert, (0, 1)))
        assert labels.sample.tolist() == [3, 0, 2, 1] and labels.inferred == ()
    assert Labels.from_long([3, 1, 2], [5, 4, 4], [0, 1, 1]).tasks == (3, 1, 2)
    assert encode_ids(["00", "1"], "task", None, Source())[1] == ("00", "1")


def test_which_orders_can_be_expected():
    for ids in (("a", "b"), ("t9", "t10"), (1, 2, 30), ("x1y2", "x1y10"), ()):
        assert in_order(ids)
    for ids in (("b", "a"), ("t11", "t9", "t10"), (2, 1)):
        assert not in_order(ids)
    unsorted = Labels.from_long(["b", "a"], [1, 1], ["x", "y"])
    assert unsorted.inferred == ("tasks", "classes")
    assert unsorted.with_names(tasks=["b", "a"]).inferred == ("classes",)
    both = {"tasks": ["b", "a"], "classes": ["x", "y"]}
    assert Labels.from_long(["b", "a"], [1, 1], ["x", "y"], **both).inferred == ()
    assert Labels.from_matrix([["x", "y"]]).inferred == ("classes",)
    assert Labels.from_matrix([["x", "y"]], classes=["y", "x"]).inferred == ()


@pytest.mark.parametrize(
    "label", [range(30_000), [f"x{k}" for k in range(30_000)], [f"x{k % 2000}" for k in range(30_000)]]
)
def test_the_wrong_column_as_label(label):
    with pytest.raises(ValueError, match=r"label has (30000|2000) different values.*the right column\?"):
        Labels.from_long(range(30_000), [1] * 30_000, label)


@pytest.mark.parametrize("number", [10**9, "2", 2.0, True, None, 1])
def test_numbers_of_classes_that_are_none(as_installed, number):
    for make in (lambda: Labels.from_matrix([[0, 0]], number), lambda: long([0, 0, 0], num_classes=number)):
        with pytest.raises(ValueError, match=r"num_classes|the only label is"):
            make()


def test_labels_put_together_by_hand_are_checked_when_used(as_installed):
    leaves = np.array([0, 1]), np.array([0, 0]), np.array([0, 9])
    wrong = Labels(*leaves, 2, 1, 2)
    for use in (wrong.counts, wrong.padded, lambda: jt.evaluate([0, 1], wrong), lambda: jt.prevalence(wrong)):
        with pytest.raises(ValueError, match=r"label\[1\] of these Labels is 9, outside -1..1"):
            use()
    with pytest.raises(ValueError, match=r"sample\[1\] of these Labels is 1, outside 0..0"):
        Labels(*leaves[:2], np.array([0, 1]), 1, 1, 2).counts()


@pytest.mark.parametrize(
    ("z", "options", "classes", "codes"),
    [
        ([[0, None], [1, 1]], {"num_classes": 2}, ("0", "1"), [[0, -1], [1, 1]]),
        ([["no", None], ["yes", "no"]], {}, ("no", "yes"), [[0, -1], [1, 0]]),
        (np.array([["no", "yes"]]), {"classes": ["yes", "no"]}, ("yes", "no"), [[1, 0]]),
        (np.array([[0, np.nan]], object), {"num_classes": 2}, ("0", "1"), [[0, -1]]),
        ([["no", ""], ["yes", "no"]], {"missing": ""}, ("no", "yes"), [[0, -1], [1, 0]]),
        ([[0, 1], [1, -1]], {"classes": ["no", "yes"]}, ("no", "yes"), [[0, 1], [1, -1]]),
        ([[0, 1], [1, -1]], {}, ("0", "1"), [[0, 1], [1, -1]]),
        ([[True, False]], {"num_classes": 2}, None, [[1, 0]]),
    ],
)
def test_matrices_of_names_strings_and_none(z, options, classes, codes):
    labels = Labels.from_matrix(z, **options)
    assert labels.classes == classes and labels.to_matrix().tolist() == codes


def test_wide_frames_keep_their_names():
    frame = pd.DataFrame({"ann": [0, 1, None], "bob": [1, 1, 0]}, index=["x", "y", "z"])
    for z in (frame, frame.astype("Int64")):
        labels = Labels.from_matrix(z, 2)
        assert labels.tasks == ("x", "y", "z") and labels.workers == ("ann", "bob")
        assert labels.to_matrix().tolist() == [[0, 1], [1, 1], [-1, 0]]
    for z in (pl.DataFrame({"ann": ["n", "y", None]}), pa.table({"ann": ["n", "y", None]})):
        labels = Labels.from_matrix(z, allow_unlabelled=True)
        assert labels.tasks is None and labels.workers == ("ann",) and labels.classes == ("n", "y")


FOREIGN = [
    (lambda: Labels.from_matrix([[0, "a"]], 2), r"labels mix types.*z\[0, 0\]: 0.*z\[0, 1\]: 'a'"),
    (lambda: Labels.from_matrix([[0, 1], [1]], 2), "rows differ in length"),
    (lambda: Labels.from_matrix(None, 2), "z must be a"),
    (
        lambda: Labels.from_matrix(pd.DataFrame([[0, 1]], index=pd.MultiIndex.from_tuples([(1, 2)])), 2),
        "several levels",
    ),
    (lambda: Labels.from_matrix(pd.DataFrame([[0], [1]], index=["x", "x"]), 2), "2 different names"),
    (lambda: Labels.from_matrix([["no", ""]]), r"z\[0, 1\]: no label \(got ''\)"),
    (lambda: Labels.from_matrix([[2**70, 1]], 2), r"z\[0, 0\]: label 1180591620717411303424 is not"),
    (lambda: Labels.from_frame([1, 2]), "frame is a list, not a data frame"),
    (lambda: Labels.from_frame({"task": [1]}), "frame is a dict"),
    (lambda: Labels.from_frame(np.zeros((2, 3))), "frame is a ndarray"),
    (lambda: Labels.from_frame("labels.csv"), "frame is a str.*jtruth.read_labels"),
    (lambda: Labels.from_frame(Path("labels.csv")), "frame is a PosixPath"),
    (
        lambda: Labels.from_frame(pd.DataFrame([[1, 2, 0, 1]], columns=["task", "worker", "label", "label"])),
        "unique column names, got: - 'label' 2 times",
    ),
    (lambda: long(task={1, 2, 3}), "task must be a sequence of values"),
    (lambda: long(task={1: 1}), "task must be a sequence of values"),
    (lambda: long([[0], [1], [0]]), "labels must be class codes or class names"),
]


@pytest.mark.parametrize(("make", "message"), FOREIGN, ids=[said for _, said in FOREIGN])
def test_foreign_containers_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_ids_beyond_64_bits_are_ids():
    big = [2**70, 2**70 + 1, 2**64 - 1]
    for task in (big, np.array(big, object)):
        assert long(task=task).tasks == tuple(big)


def test_long_fields_are_cut_in_messages(tmp_path):
    assert len(brief("x" * 131_072)) < 120 and "131074 characters" in brief("x" * 131_072)
    with pytest.raises(ValueError) as caught:
        long(["0", "1", "2" * 100_000], classes=["0", "1"])
    assert len(str(caught.value)) < 300


GOOD = jt.Labels.from_matrix([[0, 1, 1], [1, 1, 1], [0, 0, 0]], 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": 1.7}, "positive=1.7 is not one of the classes"),
        ({"positive": True}, "positive=True is not"),
        ({"level": None}, "level is None"),
        ({"level": "high"}, "level is high"),
        ({"prior": {}}, "prior has a number for no class, but the classes are"),
        ({"prior": "even"}, "prior is 'even'"),
        (
            {"prior": {"0": 0.5, "one": 0.5}},
            "prior has a number for '0', 'one', but the classes are '0', '1'",
        ),
    ],
)
def test_options_that_are_none(as_installed, options, message):
    with pytest.raises(ValueError, match=message):
        jt.evaluate([0, 1, 0], GOOD, noise=jt.noise.Symmetric(0.2, 2), **options)


def clashes(homes):
    """Names with two meanings; `homes` is (name, where, what it is), equal things being one meaning."""
    meanings = {}
    for name, where, what in homes:
        meanings.setdefault(name, {}).setdefault(what, where)
    return {name: sorted(found.values()) for name, found in meanings.items() if len(found) > 1}


MODELS_OF_A_ROOM = {"jtruth.models": {"testing"}}  # the NumPyro model of `jtruth.testing`


def exported():
    """Names of every public `__all__`; the same object in two of them is one meaning."""
    for module in pkgutil.walk_packages(jt.__path__, "jtruth."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            found = importlib.import_module(module.name)
            names = set(getattr(found, "__all__", ())) - MODELS_OF_A_ROOM.get(module.name, set())
            yield from ((n, module.name, id(getattr(found, n))) for n in sorted(names))
    yield from ((name, "jtruth", id(getattr(jt, name))) for name in jt.__all__)


def crossing():
    """Public names that one room imports from a file of another; each file that defines one is a meaning."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in trees().items()
    }
    names = {file: {name for name, _ in defined(tree)} for file, tree in files.items()}
    for by, tree in files.items():
        for node, _ in nodes(tree):
            of = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and of in files and of.split(".")[:2] != by.split(".")[:2]:
                yield from ((a.name, of, of) for a in node.names if a.name in names[of])


@pytest.mark.parametrize("found", [exported, crossing])
def test_the_same_word_is_the_same_thing(found):
    homes = list(found())
    assert len(homes) > 300 and clashes(homes) == {}
    name, where, _ = homes[0]
    assert clashes([*homes, (name, "elsewhere", "another thing")]) == {name: sorted([where, "elsewhere"])}
