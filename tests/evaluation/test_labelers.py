"""How good is every labeler: checks, assumptions and gold, and text that no name can spoil."""

import functools
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.checks.verdicts import ALARM, labeler_checks
from jtruth.evaluation.labelers import ONLY_GOLD
from jtruth.evaluation.labelers_text import labelers_headline
from jtruth.evaluation.text import MORE_RIGHT, summary_text
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.joint.guard import check_switching
from jtruth.sampling import Effort

pytestmark = pytest.mark.usefixtures("few_sweeps")

DOUBTS = ("label patterns", "pairwise agreement", "labeler misfit", "labelers share errors")
CARIES = Path(__file__).resolve().parents[2] / "examples" / "caries.csv"
BAD = "\x1b[2J"


def crowd(seed, size=300, right=(0.8,) * 5, copying=0.0):
    """Labels of independent labelers, the second of whom may copy the first; and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    z = np.where(rng.random((size, len(right))) < right, y[:, None], 1 - y[:, None])
    z[:, 1] = np.where(rng.random(size) < copying, z[:, 0], z[:, 1])
    return jt.Labels.from_matrix(z, 2), y


@pytest.fixture
def whole(monkeypatch):
    """Chains long enough that no member is left out."""
    effort = Effort(
        burn_in=100, min_sweeps=1200, max_sweeps=12_000, max_rhat=1.08, min_ess=60, nuisance=False
    )
    monkeypatch.setattr(ranges, "EFFORT", effort)


def test_every_labeler_has_a_range_of_its_own(whole):
    """Worst first; the hull of what the members say by their own draws; the target is named."""
    right = (0.9, 0.6, 0.8, 0.7)
    labels, y = crowd(3, size=200, right=right)
    report = jt.evaluate_labelers(labels, key=1)
    assert [row["worker"] for row in report.rows] == ["1", "3", "2", "0"]
    for row in report.rows:
        t = int(row["worker"])
        said = row["by_assumption"]
        assert list(said) == ["majority_vote", "independent", "shared_strata", "random_effect"]
        assert row["accuracy"] == pytest.approx(np.mean([one["mean"] for one in said.values()]), abs=1e-12)
        assert row["low"] == min(one["low"] for one in said.values())
        assert row["high"] == max(one["high"] for one in said.values())
        assert row["low"] < (labels.to_matrix()[:, t] == y).mean() < row["high"]
        z = labels.to_matrix()[:, t]
        own = report.posterior.class_posterior[np.arange(200), z].mean()
        assert said["independent"]["mean"] == pytest.approx(own, abs=0.01)
        others = np.where(labels.counts()[:, 1] - (z == 1) >= 2, 1, 0)  # of three; their majority
        assert said["majority_vote"]["mean"] == pytest.approx((others == z).mean())
    assert ONLY_GOLD in report.warnings and ONLY_GOLD in str(report)
    assert "share of the labels given that are right" in str(report).splitlines()[0]
    other = jt.evaluate_labelers(labels, key=1, target="population")
    assert "label for a new sample" in str(other) and "majority_vote" not in other.rows[0]["by_assumption"]
    said = {row["worker"]: row["by_assumption"]["independent"]["mean"] for row in other.rows}
    assert said["0"] == pytest.approx(other.posterior.labeler_accuracy[:, 0].mean(), abs=1e-12)
    with pytest.raises(ValueError, match="target='population' has no answer with gold"):
        jt.evaluate_labelers(labels, gold=y, target="population")


def test_the_file_on_which_evaluate_reports_misfits(whole):
    """On cd70ba6 narrow intervals were printed without a word."""
    report = jt.evaluate_labelers(jt.read_labels(CARIES))
    loud = {c.name for c in report.checks if c.verdict == "does not fit"}
    assert loud >= {"label patterns", "labelers share errors"}
    assert str(report).splitlines()[1].startswith("4 checks speak") and "fit: patterns" in str(report)
    answer = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert {c["name"] for c in answer["checks"]} >= loud and answer["assumed"] == [MORE_RIGHT]
    assert answer["target"] == "in-sample" and answer["interval_kind"] == "sensitivity range"
    assert len(answer["assumptions"]) == 4
    assert max(row["high"] - row["low"] for row in answer["labelers"]) > 0.08  # .03 by one model
    assert not any("classifier" in c.message for c in report.checks)


def alarm(labels, key=0):
    """Whether any check of the model is loud, with error rates by EM."""
    fit = fit_dawid_skene(labels, smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01))
    found = labeler_checks(labels, fit.prior, fit.matrices, jax.random.key(key))
    assert {c.name for c in found} >= {"pairwise agreement", "labelers share errors"}
    return any(c.verdict == "does not fit" for c in found if c.name in DOUBTS)


@pytest.mark.slow
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


@functools.cache
def answer_of_three_classes():
    z = np.random.default_rng(0).integers(0, 3, (30, 3))
    labels, prior = jt.Labels.from_matrix(z, 3), [0.3, 0.3, 0.4]
    return jt.evaluate(z[:, 0], labels, noise=jt.noise.Symmetric(0.2, 3), prior=prior).to_dict()


@pytest.mark.parametrize("where", ["classes", "labelers", "metrics"])
def test_names_cannot_move_the_cursor(where):
    """Class and worker names go through one function; on cd70ba6 they reached the terminal as they are."""
    answer = dict(answer_of_three_classes())
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


def test_a_report_in_which_nobody_is_determined_can_be_printed():
    rows = [{"worker": name, "accuracy": 0.6, "low": 0.1, "high": 0.95} for name in "ab"]
    said = {"labelers": rows, "level": 0.95, "interval_kind": "posterior interval", "estimand": "accuracy"}
    assert labelers_headline(said) == "2 labelers: accuracy, not determined for 2 (95 % posterior intervals)."
