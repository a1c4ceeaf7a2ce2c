"""The shipped examples: equal to what their generator writes, and to the margins of the published tables."""

import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jtruth.io import read_labels

FOLDER = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(FOLDER / "make_examples.py"))


@pytest.mark.parametrize("name", ["anesthesia.csv", "caries.csv", "judges.csv"])
def test_files_are_what_the_generator_writes(generator, tmp_path, name):
    generator["main"](tmp_path)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_anesthesia():
    labels = read_labels(FOLDER / "anesthesia.csv", repeats="keep")
    assert (labels.num_samples, labels.num_labelers, labels.num_labels) == (45, 5, 315)
    assert labels.classes == ("1", "2", "3", "4") and labels.workers == ("1", "2", "3", "4", "5")
    assert labels.labels_per_labeler().tolist() == [135, 45, 45, 45, 45]
    assert set(labels.labels_per_sample().tolist()) == {7}
    assert labels.counts().sum(axis=0).tolist() == [127, 125, 48, 15]
    with pytest.raises(
        ValueError, match=r"lines 2, 3, 4: worker '1' labelled task '1' 3 times \(90 repeats in all\)"
    ):
        read_labels(FOLDER / "anesthesia.csv", repeats="error")
    once = read_labels(FOLDER / "anesthesia.csv")
    assert once.num_labels == 225 and once.self_agreement["repeats"].sum() == 90


def test_anesthesia_equals_the_copy_that_others_ship(shared_data):
    ours = read_labels(FOLDER / "anesthesia.csv", repeats="keep")
    theirs = read_labels(shared_data("dawid_skene_1979") / "labels.csv", repeats="keep")
    assert (ours.counts() == theirs.counts()).all()
    for mine, other in zip(ours.padded(), theirs.padded(), strict=True):
        assert (mine == other).all()


def test_caries():
    labels = read_labels(FOLDER / "caries.csv")
    assert (labels.num_samples, labels.num_labelers, labels.num_labels) == (3869, 5, 19345)
    z = labels.to_matrix()
    patterns = Counter(map(tuple, z.tolist()))
    assert patterns[0, 0, 0, 0, 0] == 1880 and patterns[1, 1, 1, 1, 1] == 100
    assert patterns[0, 0, 0, 0, 1] == 789 and patterns[1, 0, 0, 0, 0] == 22 and patterns[1, 1, 1, 1, 0] == 1
    rows, _, counts = labels.patterns()
    assert len(counts) == 32 and counts.tolist() == [
        patterns[tuple(row)] for row in rows.to_matrix().tolist()
    ]
    # How often each dentist sees caries, summed from the published pattern counts by their bits.
    published = np.array([patterns[tuple(map(int, f"{k:05b}"))] for k in range(32)])
    bits = (np.arange(32)[:, None] >> np.arange(4, -1, -1)) & 1
    assert (published @ bits).tolist() == z.sum(axis=0).tolist()
