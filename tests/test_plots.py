"""Pictures hold what they should: the true value, the level, names on the axes."""

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jtruth as jt
from jtruth import plots


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    z = np.where(rng.random((200, 3)) < 0.2, 1 - y[:, None], y[:, None])
    y_pred = np.where(rng.random(200) < 0.85, y, 1 - y)
    arguments = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5], "key": jax.random.key(0)}
    labels = jt.Labels.from_matrix(z, 2)
    return {m: jt.evaluate(y_pred, labels, method=m, **arguments) for m in ("bayes", "empirical_bayes")}


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_estimate(results):
    ax = plots.plot_estimate(
        results["bayes"].recall, ideal=0.9, label="recall", draws=np.linspace(0.7, 0.9, 50)
    )
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"95 % region", "mean", "mode", "true value", "draws"} <= set(names)
    assert "recall" in ax.get_xlabel() and ax.get_ylim()[0] == 0


def test_metrics(results):
    ax = plots.plot_metrics(results["bayes"], ideal={"accuracy": 0.85})
    assert len(ax.get_yticklabels()) == 5 and "95 % posterior intervals" in ax.get_xlabel()
    crosses = [line for line in ax.get_lines() if line.get_marker() == "x"]
    assert crosses[0].get_xdata()[0] == results["bayes"].baselines["majority_vote"]["accuracy"]


def test_comparison(results):
    answers = {"exact": results["bayes"].accuracy, "labelers": np.array([0.7, 0.8]), "vote": 0.75}
    ax = plots.plot_comparison(answers, ideal=0.8, label="accuracy")
    assert [t.get_text() for t in ax.get_yticklabels()] == list(answers)


@pytest.mark.parametrize("method", ["bayes", "empirical_bayes"])
def test_joint_is_a_roc_plane(results, method):
    joint = results[method].joint("recall", "false_alarm_rate")
    ax = plots.plot_joint(joint, ideal=(0.85, 0.15))
    assert "false-alarm" in ax.get_xlabel() and "recall" in ax.get_ylabel()
    low, high = ax.get_xlim()
    assert low < joint.mean[1] < high


def test_paths(results):
    ax = plots.plot_paths({"ratios": results["empirical_bayes"].posterior.fit}, ideal=(0.85, 0.15))
    assert len(ax.get_lines()) == 4 and ax.get_ylim() == (0, 1)
