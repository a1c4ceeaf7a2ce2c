"""How good is every labeler: checks, assumptions and gold, and text that no name can spoil."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.checks.verdicts import ALARM, labeler_checks
from jtruth.evaluation.labelers import MISFIT, ONLY_GOLD
from jtruth.evaluation.labelers_text import DOUBTS
from jtruth.evaluation.text import MORE_RIGHT, summary_text
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.joint.guard import check_switching

pytestmark = pytest.mark.usefixtures("few_sweeps")

CARIES = Path(__file__).resolve().parents[2] / "examples" / "caries.csv"
BAD = "\x1b[2J"


def crowd(seed, size=300, right=(0.8,) * 5, copying=0.0):
    """Labels of independent labelers, the second of whom may copy the first; and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    z = np.where(rng.random((size, len(right))) < right, y[:, None], 1 - y[:, None])
    z[:, 1] = np.where(rng.random(size) < copying, z[:, 0], z[:, 1])
    return jt.Labels.from_matrix(z, 2), y


def test_every_labeler_has_draws_of_its_own():
    """Worst first; each with mean and matrix of its own draws, and an interval around its accuracy."""
    right = (0.9, 0.6, 0.8, 0.7)
    labels, y = crowd(3, size=200, right=right)
    report = jt.evaluate_labelers(labels, key=1)
    assert [row["worker"] for row in report.rows] == ["1", "3", "2", "0"]
    for row in report.rows:
        t = int(row["worker"])
        assert row["accuracy"] == pytest.approx(report.posterior.labeler_accuracy[:, t].mean(), abs=1e-12)
        assert row["low"] < (labels.to_matrix()[:, t] == y).mean() < row["high"]
        assert row["confusion_matrix"]["mean"] == report.posterior.mean_matrices[t].tolist()
        z = labels.to_matrix()[:, t]
        expected = np.mean([report.posterior.class_posterior[i, z[i]] for i in range(200)])
        assert row["share_right"] == pytest.approx(expected, abs=1e-12)
    assert ONLY_GOLD in report.warnings and ONLY_GOLD in str(report)


def test_the_file_on_which_evaluate_reports_misfits():
    """On cd70ba6 narrow intervals were printed without a word."""
    report = jt.evaluate_labelers(jt.read_labels(CARIES))
    loud = {c.name for c in report.checks if c.verdict == "does not fit"}
    assert loud >= {"label patterns", "labelers share errors"}
    assert report.warnings[0] == MISFIT and MISFIT in str(report) and "does not fit: patterns" in str(report)
    answer = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert {c["name"] for c in answer["checks"]} >= loud and answer["assumed"][1] == MORE_RIGHT
    assert not any("classifier" in c.message for c in report.checks)


def alarm(labels, key=0):
    """Whether any check of the model is loud, with error rates by EM."""
    fit = fit_dawid_skene(labels, smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01))
    found = labeler_checks(labels, fit.prior, fit.matrices, jax.random.key(key))
    assert {c.name for c in found} >= {"pairwise agreement", "labelers share errors"}
    return any(c.verdict == "does not fit" for c in found if c.name in DOUBTS)


def test_false_alarms_and_power():
    """The verdicts hold together at 5 %: 10 or more of 40 by chance has probability 6e-6; copies are seen."""
    assert ALARM == 0.05
    assert sum(alarm(crowd(seed)[0]) for seed in range(40)) < 10
    assert all(alarm(crowd(seed, copying=0.6)[0]) for seed in range(3))


def test_few_labelers_cannot_contradict_the_model_and_that_is_said():
    labels, _ = crowd(0, right=(0.8, 0.8, 0.8))
    report = jt.evaluate_labelers(labels)
    assert report.checks[0].verdict == "cannot be seen" and "3 raters" in report.checks[0].message


def test_gold_of_every_class_names_the_classes():
    """All labelers are wrong in 8 of 10: with gold that is an answer; on cd70ba6 none was given.

    A fit that starts from the votes stays where 240 samples outvote the 60 that are known.
    """
    labels, y = crowd(1, right=(0.2,) * 5)
    gold = np.where(np.arange(y.size) < 60, y, -1)
    report = jt.evaluate_labelers(labels, gold=gold)
    assert len(report.rows) == 5 and MORE_RIGHT not in report.assumed and MORE_RIGHT not in str(report)
    assert all(abs(row["accuracy"] - 0.2) < 0.1 for row in report.rows)
    answer = jt.evaluate(y, labels, gold=gold, assume="independent")
    assert answer.accuracy.mean > 0.9 and answer.assumed == ()


def test_the_guard_still_speaks_where_gold_leaves_a_class_out():
    mirror = np.tile([[0.2, 0.8], [0.8, 0.2]], (2, 3, 1, 1))
    assert check_switching(mirror, ("a", "b")).switched
    assert check_switching(mirror, ("a", "b"), np.array([0, -1, 0])).switched
    named = check_switching(mirror, ("a", "b"), np.array([0, -1, 1]))
    assert not named.switched and not named.chains.any() and named.sentence is None
    three = np.tile(np.roll(np.eye(3), 1, axis=0), (2, 3, 1, 1))
    assert check_switching(three, ("a", "b", "c"), np.array([0, 1, 1])).switched
    assert not check_switching(three, ("a", "b", "c"), np.array([0, 1, 2])).switched


def test_what_every_answer_without_gold_assumes_is_printed():
    """All labelers at .2 and no gold: .138 was printed where .88 is true, with no word of it."""
    labels, y = crowd(2, size=120, right=(0.8, 0.7, 0.75))
    found = jt.evaluate(y, labels, assume="independent")
    assert found.to_dict()["assumed"] == [MORE_RIGHT] and f"assumed throughout: {MORE_RIGHT}" in str(found)
    known = jt.evaluate(y, labels, noise=jt.noise.Symmetric(0.2, 2))
    assert known.assumed == () and "assumed throughout" not in str(known)
    assert MORE_RIGHT in jt.prevalence(labels).assumption
    assert MORE_RIGHT not in jt.prevalence(labels, gold=np.where(np.arange(120) < 40, y, -1)).assumption


@pytest.mark.parametrize("where", ["classes", "labelers", "metrics"])
def test_names_cannot_move_the_cursor(where):
    """Class and worker names go through one function; on cd70ba6 they reached the terminal as they are."""
    z = np.random.default_rng(0).integers(0, 3, (30, 3))
    labels = jt.Labels.from_matrix(z, 3)
    answer = jt.evaluate(z[:, 0], labels, noise=jt.noise.Symmetric(0.2, 3), prior=[0.3, 0.3, 0.4]).to_dict()
    row = {"worker": f"ann{BAD}", "num_labels": 3, "accuracy": 0.5, "low": 0.4, "high": 0.6}
    if where == "classes":
        answer["classes"] = [f"no{BAD}", "yes\t", "\u202emaybe"]
        answer["positive"] = f"no{BAD}"
    elif where == "labelers":
        answer["labelers"] = [row]
    else:
        metrics = answer["metrics"]
        answer["metrics"] = {f"recall[my_class{BAD}]": metrics["recall"], **metrics}
    text = summary_text(answer)
    assert all(c.isprintable() for c in text.replace("\n", ""))
    assert r"\x1b[2J" in text and ("my_class" in text or where != "metrics")
