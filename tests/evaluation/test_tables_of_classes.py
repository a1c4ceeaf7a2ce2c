"""Tables of a number for each sample and class: a frame's rows by task id, its columns by class."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jtruth as jt
from jtruth.evaluation.calibration import evaluate_calibration
from tests.evaluation.crowds import experts

pytestmark = pytest.mark.usefixtures("few_lineages")


@pytest.fixture(scope="module")
def probabilities():
    """A classifier's probabilities, and labels with ids and class names, in their order."""
    labels, p = experts()
    return p, labels.with_names(tasks=[f"t{k}" for k in range(150)], classes=("dog", "cat", "ant"))


def frames_of(p, labels):
    """The same as frames: as they are; rows shuffled and columns swapped; that by polars, with a column."""
    straight = pd.DataFrame(p, index=list(labels.tasks), columns=list(labels.class_names))
    mixed = straight[straight.columns[::-1]].sample(frac=1, random_state=0)
    columns = {name: mixed[name].to_numpy() for name in mixed}
    return straight, mixed, pl.DataFrame({"task": list(mixed.index), **columns})


def scores(p, labels):
    known = {"noise": jt.noise.Symmetric(0.2, 3), "prior": np.full(3, 1 / 3), "bins": 4}
    found = jt.evaluate_class_scores(p, labels, **known)
    return [dist.mean for dist in found.auc.values()]


def calibration(p, labels):
    found = evaluate_calibration(p, labels, method="temperature", split=2)
    return [one.mean for one in found.before.values()]


def suspicious(p, labels):
    return jt.cleaning.suspicious_labels(labels, p).p_wrong


def suspicious_by_both(p, labels):
    half = np.full((150, 3), 1 / 3)
    return jt.cleaning.suspicious_labels(labels, half, probabilities=p, prior=half[0]).p_wrong


@pytest.mark.parametrize(
    "question", [pytest.param(scores, marks=pytest.mark.slow), calibration, suspicious, suspicious_by_both]
)
def test_rows_are_matched_by_task_and_columns_by_class(probabilities, question):
    """A frame with shuffled rows or swapped columns gave other numbers without a word."""
    p, labels = probabilities
    wanted = question(p, labels)
    frames = frames_of(p, labels)
    for frame in frames:
        np.testing.assert_allclose(question(frame, labels), wanted, rtol=1e-12)
    assert not np.allclose(question(frames[1].to_numpy(), labels), wanted, rtol=1e-3)
    with pytest.raises(ValueError, match="columns 'dog', 'cat', 'bird', but the classes are 'dog', 'cat'"):
        question(frames[0].rename(columns={"ant": "bird"}), labels)
    with pytest.raises(ValueError, match="is for a task without labels"):
        question(frames[0].rename(index={"t3": "t999"}), labels)
