"""`inspect_labels`: counts and agreement against definitions, findings, and files of other shapes."""

import itertools
import json

import numpy as np
import pytest

from jtruth.inspection import inspect_labels
from jtruth.io import inspect_file
from jtruth.labels import Labels
from jtruth.stats.agreement import labeler_pairs


def matrix(seed: int, n: int = 60, t: int = 5, accuracy: float = 0.85) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.where(rng.random((n, t)) < accuracy, y[:, None], 1 - y[:, None])


def names_of(inspection) -> list[str]:
    return [finding.name for finding in inspection.findings]


def test_counts_and_agreement_by_loops():
    z = matrix(0)
    z[np.random.default_rng(1).random(z.shape) < 0.3] = -1
    z[:, 0] = np.maximum(z[:, 0], 0)
    look = inspect_labels(Labels.from_matrix(z, 2))
    pairs = [a == b for row in z for a, b in itertools.combinations(row, 2) if min(a, b) >= 0]
    assert look.agreement == pytest.approx(np.mean(pairs), abs=1e-15)
    assert look.num_labels == (z >= 0).sum() and sum(look.labels_per_sample.values()) == 60
    per_labeler = (z >= 0).sum(axis=0)
    assert look.labels_per_labeler == {"min": per_labeler.min(), "median": np.median(per_labeler), "max": 60}
    np.testing.assert_allclose(look.class_shares, [(z == c).sum() / (z >= 0).sum() for c in range(2)])


def test_nothing_odd():
    look = inspect_labels(Labels.from_matrix(matrix(2), 2), file="my labels.csv", options="--task item")
    assert look.findings == () and "Nothing looks unusual." in look.summary(full=True)
    commands = [step["command"] for step in look.next_steps]
    assert "jtruth labelers 'my labels.csv' --task item" in commands
    assert "jtruth evaluate 'my labels.csv' --task item --rater 0" in commands
    assert not any(
        ".csv --" in command.replace("my labels.csv", "") for command in commands
    )  # no invented file
    assert json.loads(json.dumps(look.to_dict()))["num_samples"] == 60


HALVES = (np.arange(60)[:, None] < 30) == (np.arange(5) >= 3)
SPOILED = [  # cells, what stands there instead, and what is found
    (np.s_[:, 1], lambda z: 1, "constant", "Labelers who always give the same class: 1. Did they look"),
    (np.s_[:, 1], lambda z: z[:, 0], "copies", "1 pair never disagrees (0 and 1 on 60 samples)"),
    (np.s_[:, 1], lambda z: 1 - z[:, 1], "opposed", "Agreement with the others is below chance: 1."),
    (np.s_[9:, 1], lambda z: -1, "few_labels", "1 labeler gave fewer than 10 labels: 1."),
    (np.s_[3, 1:], lambda z: -1, "single_label", "1 of 60 samples has only one label"),
    (HALVES, lambda z: -1, "separate_groups", "fall into 2 groups without a common sample"),
]


@pytest.mark.parametrize(("cells", "values", "name", "text"), SPOILED, ids=[one[2] for one in SPOILED])
def test_findings(cells, values, name, text):
    z = matrix(2)
    z[cells] = values(z)
    look = inspect_labels(Labels.from_matrix(z, 2))
    assert names_of(look) == [name]
    assert text in look.findings[0].message and look.findings[0].message in look.summary(full=True)


def test_findings_do_not_depend_on_the_order_of_rows():
    """One labeler after another, or shuffled; eight have too many patterns for one number each."""
    z = matrix(3, t=8)
    z[:, 1] = z[:, 0]
    sample, labeler = (a.ravel(order="F") for a in np.indices(z.shape))
    for order in (np.arange(z.size), np.random.default_rng(0).permutation(z.size)):
        i, t = sample[order], labeler[order]
        labels = Labels.from_long(i, t, z[i, t], num_classes=2)
        assert inspect_labels(labels).findings == inspect_labels(Labels.from_matrix(z, 2)).findings
        assert "copies" in names_of(inspect_labels(labels))


def test_totals_are_the_sums_over_pairs_and_pairs_of_few_labels_are_left_out():
    rng = np.random.default_rng(0)
    sample, labeler, label = rng.integers(0, 12, 60), rng.integers(0, 6, 60), rng.integers(0, 3, 60)
    every = labeler_pairs(sample, labeler, label, (6, 12))
    np.testing.assert_array_equal(every.met, every.shared.sum(axis=1))
    np.testing.assert_array_equal(every.agreed_with, every.agreed.sum(axis=1))
    one = np.zeros(10_000, np.int64)  # one sample that everybody labels: 50 million pairs
    many = labeler_pairs(one, np.arange(10_000), one, (10_000, 1), at_least=20)
    assert not many.shared.nnz and (many.met == 9999).all() and (many.agreed_with == 9999).all()


def test_pairs_are_counted_from_the_first_label_of_each():
    """Labeler 0 changes his mind on sample 0; only what he said first is compared."""
    sample, labeler, label = (np.array(v) for v in ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [1, 0, 0, 1, 1]))
    pairs = labeler_pairs(sample, labeler, label, (2, 2))
    assert (pairs.shared[0, 1], pairs.agreed[0, 1], pairs.variety[0, 1]) == (2, 1, 1)


def test_full_agreement_on_one_class_is_no_copy():
    z = np.zeros((50, 3), int)
    z[:10, 2] = 1
    assert "copies" not in names_of(inspect_labels(Labels.from_matrix(z, 2)))


def test_look_alikes_and_repeats():
    columns = [1, 1, 2, 2, 2], ["07", "7", "7", "7", "b"], ["yes", "Yes", "no", "no", "no"]
    look = inspect_labels(Labels.from_long(*columns, repeats="keep"))
    text, differ = look.summary(full=True), "differ only in case, spaces or leading zeros"
    assert f"Some class names {differ}: 'Yes', 'yes'. Are" in text
    assert f"Some worker ids {differ}: '07', '7'. Are they" in text
    assert look.num_repeats == 1 and "1 label repeated: labelers agree with themselves in 100 %" in text
    # The repeat is no pair of different labelers: (07, 7) disagree, both labels of 7 agree with that of b.
    assert look.agreement == 2 / 3


def test_agreement_between_labelers_who_label_again_by_loops():
    rng = np.random.default_rng(4)
    rows = [(i, w, c) for i in range(20) for w in "abc" for c in rng.integers(0, 3, rng.integers(0, 4))]
    labels = Labels.from_long(*map(list, zip(*rows, strict=True)), repeats="keep")
    pairs = [a[2] == b[2] for a, b in itertools.combinations(rows, 2) if a[0] == b[0] and a[1] != b[1]]
    assert inspect_labels(labels).agreement == pytest.approx(np.mean(pairs), abs=1e-15)


def test_one_labeler_is_not_identified():
    look = inspect_labels(Labels.from_matrix([[0], [1], [1]], 2))
    assert look.agreement is None and np.isnan(look.coefficients["krippendorff"].value)
    assert "not identified" in look.summary(full=True)
    assert any("ask LABELS.csv --truth" in step["command"] for step in look.next_steps)
    assert not any("--rater" in step["command"] for step in look.next_steps)


def test_two_labelers():
    look = inspect_labels(Labels.from_matrix(matrix(4, t=2), 2))
    assert "Two labelers cannot show who is right" in look.summary(full=True)
    assert not any("labelers" in step["command"] or "--rater" in step["command"] for step in look.next_steps)


def test_rater_worth_grading_is_the_one_who_agrees_least():
    z = matrix(5)
    z[:, 3] = np.random.default_rng(6).integers(0, 2, 60)
    labels = Labels.from_matrix(z, 2).with_names(workers=["a", "b", "c", "d d", "e"])
    assert inspect_labels(labels).next_steps[-1]["command"] == "jtruth evaluate LABELS.csv --rater 'd d'"


LONG = "".join(f"{k // 2},{k % 2},{k % 3 % 2}\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "layout", "mapping", "advice"),
    [("task,worker,label\n" + LONG, "long", "task;worker;label", "ready"),
     ("item,Rater ID,rating\n" + LONG, "long", "item;Rater ID;rating",
      "--task item --worker 'Rater ID' --label rating"),
     ("task,label\n1,0\n2,1\n3,0\n", "one label each", "", "--predictions THIS.csv"),
     ("task,label\n1,0\n1,1\n3,0\n4,0\n", "unknown", "", "no column identifies the labelers"),
     ("tooth,picture,when\n" + "".join(f"x{k},p{k},{1990 + k}\n" for k in range(9)), "unknown", "",
      "jtruth needs three columns"),
     ("tooth,r1,r2,r3\n" + "".join(f"x{k},{k % 2},{k % 3 % 2},{k % 5 // 4 or ''}\n" for k in range(9)),
      "wide", "", "'r1', 'r2', 'r3'; IDs in 'tooth'."),
     ("0,1,2\n" + LONG, "unknown", "", "The first line looks like data")],
)  # fmt: skip
def test_files_of_other_shapes(tmp_path, text, layout, mapping, advice):
    (tmp_path / "file.csv").write_text(text)
    look = inspect_file(tmp_path / "file.csv")
    assert look.layout == layout and ";".join((look.mapping or {}).values()) == mapping
    assert advice in str(look) and str(look).startswith("file.csv: ")
    json.dumps(look.to_dict())


def test_file_columns(tmp_path):
    (tmp_path / "file.csv").write_text("task,worker,label\n1,a,x\n2,a,\n2,b,NA\n")
    columns = inspect_file(tmp_path / "file.csv").columns
    assert [(c["num_values"], c["num_missing"]) for c in columns] == [(2, 0), (2, 0), (1, 2)]


def test_labelers_who_use_different_words_are_seen():
    said = ["yes", "no", "yes", "4", "2", "5", "no", "no", "no"]
    labels = Labels.from_long([1, 2, 3] * 3, np.repeat(list("abc"), 3), said)
    found = {one.name: one.message for one in inspect_labels(labels).findings}
    assert "('a', 'c': 'no', 'yes'; 'b': '2', '4', '5'). Translate them" in found["vocabularies"]
    same = Labels.from_long([1, 2, 1, 2], ["a", "a", "b", "b"], ["yes", "yes", "no", "no"])
    assert "vocabularies" not in {one.name for one in inspect_labels(same).findings}
