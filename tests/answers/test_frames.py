"""Frames out: the rows of an answer in a frame of any library are the numbers of the answer."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.answers.data import BACKENDS, frame
from jtruth.comparison import LeaveOneOut, ModelComparison
from jtruth.evaluation import quick_labelers

NOISE, EVEN = jt.noise.Symmetric(0.2, 2), [0.5, 0.5]


@pytest.fixture(scope="module")
def answers():
    """Answers with rows: (answer, column, its values)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], 1 - y[:, None])
    labels = jt.Labels.from_matrix(z, 2)
    said = {name: np.where(rng.random(60) < right, y, 1 - y) for name, right in (("a", 0.9), ("b", 0.6))}
    compared = jt.compare_classifiers(said, labels, noise=NOISE, prior=EVEN)
    labelers, votes = quick_labelers(labels), jt.consensus(labels, "majority_vote")
    gold = np.where(np.arange(60) < 40, y, -1)
    shares = jt.prevalence(labels, gold=gold, assume="independent", key=0)
    loo = LeaveOneOut(-10.0, 1.0, 2.0, np.zeros(4), np.zeros(4), 0.7)
    models = ModelComparison(
        ("m", "n"), (loo, loo), np.array([0.0, -2.0]), np.zeros(2), (False, True), "", (), 0
    )
    return {
        "compare": (compared, "mean", [compared.values[name].mean for name in compared.ranking]),
        "labelers": (labelers, "accuracy", [row["accuracy"] for row in labelers.rows]),
        "consensus": (votes, "p_1", votes.class_posterior[:, 1].tolist()),
        "prevalence": (shares, "mean", [law.mean for law in shares.shares.values()]),
        "models": (models, "difference", [0.0, -2.0]),
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["compare", "labelers", "consensus", "prevalence", "models"])
def test_rows_are_those_of_the_answer(answers, name, backend):
    pytest.importorskip(backend)
    answer, column, expected = answers[name]
    found = answer.to_frame(backend)
    assert type(found).__module__.startswith(backend)
    values = found[column].to_pylist() if backend == "pyarrow" else found[column].to_list()
    assert values == expected


def test_what_cannot_be_a_frame():
    with pytest.raises(ValueError, match="needs one of pandas, polars, pyarrow; 'numpy' is not"):
        frame([{"a": 1}], "numpy")
    with pytest.raises(ValueError, match="nothing is determined"):
        frame([])
