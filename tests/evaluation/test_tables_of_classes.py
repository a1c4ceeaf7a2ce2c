"""Tables of a number for each sample and class: a frame's rows by task id, its columns by class."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import jtruth as jt
from jtruth.evaluation.calibration import evaluate_calibration as calibration_of

pytestmark = pytest.mark.usefixtures("few_lineages")


@pytest.fixture(scope="module")
def probabilities():
    """A classifier's probabilities, and labels with ids and class names, in their order."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], rng.integers(0, 3, (60, 3)))
    p = rng.dirichlet(np.ones(3), 60) * 0.5 + 0.5 * np.eye(3)[y]
    tasks = tuple(f"t{k}" for k in range(60))
    return p, replace(jt.Labels.from_matrix(z, 3), tasks=tasks, classes=("dog", "cat", "ant"))


def frames_of(p, labels):
    """The same as frames: as they are; rows shuffled and columns swapped; that by polars, with a column."""
    straight = pd.DataFrame(p, index=list(labels.tasks), columns=list(labels.class_names))
    mixed = straight[straight.columns[::-1]].sample(frac=1, random_state=0)
    columns = {name: mixed[name].to_numpy() for name in mixed}
    return straight, mixed, pl.DataFrame({"task": list(mixed.index), **columns})


def scores(p, labels):
    found = jt.evaluate_class_scores(p, labels, noise=jt.noise.Symmetric(0.2, 3), prior=np.full(3, 1 / 3))
    return [law.mean for law in found.auc.values()]


def calibration(p, labels):
    return [one.mean for one in calibration_of(p, labels, split=2).before.values()]


def suspicious(p, labels):
    return jt.cleaning.suspicious_labels(labels, p).p_wrong


@pytest.mark.parametrize("question", [scores, calibration, suspicious])
def test_rows_are_matched_by_task_and_columns_by_class(probabilities, question):
    """A frame with shuffled rows or swapped columns gave other numbers without a word."""
    p, labels = probabilities
    wanted = question(p, labels)
    frames = frames_of(p, labels)
    for frame in frames:
        np.testing.assert_allclose(question(frame, labels), wanted, rtol=1e-12)
    assert not np.allclose(question(frames[1].to_numpy(), labels), wanted, rtol=1e-3)
    with pytest.raises(ValueError, match="columns 'dog', 'cat', 'bird', and the classes are 'dog', 'cat'"):
        question(frames[0].rename(columns={"ant": "bird"}), labels)
    with pytest.raises(ValueError, match="are for tasks without labels"):
        question(frames[0].rename(index={"t3": "t99"}), labels)


def test_probabilities_beside_a_posterior_too(probabilities):
    p, labels = probabilities
    half, prior = np.full_like(p, 1 / 3), np.full(3, 1 / 3)
    wanted = jt.cleaning.suspicious_labels(labels, half, probabilities=p, prior=prior).p_wrong
    for frame in frames_of(p, labels):
        found = jt.cleaning.suspicious_labels(labels, half, probabilities=frame, prior=prior)
        np.testing.assert_allclose(found.p_wrong, wanted, rtol=1e-12)
