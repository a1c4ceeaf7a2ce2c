"""`evaluate_labelers`: checks, assumptions and gold, and text with hostile names."""

import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import scipy

import jtruth as jt
from jtruth.answers.html import page_html
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import dist_of
from jtruth.evaluation.by_one_model import quick_labelers
from jtruth.evaluation.checks.verdicts import ALARM, labeler_checks
from jtruth.evaluation.labelers import labelers_headline
from jtruth.evaluation.parts import MORE_RIGHT, ONLY_GOLD
from jtruth.latent import Effort
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.joint.guard import check_switching

pytestmark = pytest.mark.usefixtures("few_lineages")

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


def test_every_labeler_has_a_dist_of_its_own(whole):
    """Worst first; by hand from what both readings say by their own draws; the target is named."""
    right = (0.9, 0.6, 0.8, 0.7)
    labels, y = crowd(3, size=200, right=right)
    report = jt.evaluate_labelers(labels, key=1, target="in-sample")
    assert [row["worker"] for row in report.rows] == ["1", "3", "2", "0"]
    for row in report.rows:
        t = int(row["worker"])
        said, z = row["by_assumption"], labels.to_matrix()[:, t]
        assert list(said) == ["majority_vote", "independent"]
        own = report.posterior.class_posterior[np.arange(200), z].mean()
        assert said["independent"] == pytest.approx(own, abs=0.01)
        others = np.where(labels.counts()[:, 1] - (z == 1) >= 2, 1, 0)  # of three; their majority
        assert said["majority_vote"] == pytest.approx((others == z).mean())
        vote, draws = np.full(5, said["majority_vote"]), report.posterior.right[:, t] / 200
        dist = dist_of({"majority_vote": vote, "independent": draws}, "overall", "unknown", 200.0)
        assert row["accuracy"] == pytest.approx(dist.mean, abs=1e-9)
        np.testing.assert_allclose([row["low"], row["high"]], dist.interval(0.95), atol=1e-9)
        assert 0 <= row["low"] < (z == y).mean() < row["high"] <= 1
        assert all(row["low"] < one < row["high"] for one in said.values())
        np.testing.assert_allclose(np.sum(row["confusion_matrix"]["mean"], 1), 1, atol=1e-9)
        assert row["num_labels"] == 200
    json.dumps(report.to_dict(), allow_nan=False)
    assert "worst first" in report.summary(full=True)
    assert ONLY_GOLD in report.warnings and ONLY_GOLD in report.summary(full=True)
    first = report.summary(full=True).splitlines()[0]
    assert first.startswith("Estimated accuracy of the labels given ranges from ")
    assert "with 95 % intervals" in first
    assert f"Assumption of the width: {report.rests_on}" in report.summary(full=True)
    assert report.rests_on in page_html(report.blocks())
    other = jt.evaluate_labelers(labels, key=1)
    assert "Estimated accuracy of labelers on new samples ranges from " in other.summary(full=True)
    for one, row in zip(other.rows, report.rows, strict=True):
        assert one["accuracy"] == pytest.approx(row["accuracy"], abs=1e-9)
        assert one["high"] - one["low"] > row["high"] - row["low"] - 1e-3
    by_gold = {row["worker"]: row for row in jt.evaluate_labelers(labels, gold=y).rows}
    for t, row in by_gold.items():
        hits = (labels.to_matrix()[:, int(t)] == y).sum()
        ends = scipy.stats.beta(hits + 0.5, 200.5 - hits).ppf([0.025, 0.975])
        np.testing.assert_allclose([row["low"], row["high"]], ends, atol=1e-4)
    alone = jt.evaluate_labelers(labels.select_labelers([0]))
    assert alone.rows == () and "Not identified" in alone.summary(full=True)


def row(name, low, high):
    return {"worker": name, "accuracy": (low + high) / 2, "low": low, "high": high}


SURE = ", each with a probability of 95 % or more."
SAID_OF = "Estimated accuracy ranges from 20 % [10, 30] (a) to 55 % [50, 60] (c), with 95 % intervals."


@pytest.mark.parametrize(
    ("clear", "given", "said"),
    [
        ((), "", ""),
        ([("c", "a")], "", f" a is worse than c{SURE} The other differences are not clear."),
        ([("b", "a"), ("c", "a")], "",
         f" a is worse than all others{SURE} The other differences are not clear."),
        ([("b", "a"), ("c", "a"), ("c", "b")], "if all is well",
         " If all is well, the ranking is clearer than the accuracies: a is worse than all others and c is "
         f"better than b{SURE}"),
    ],
)  # fmt: skip
def test_who_is_clearly_better_is_said_and_nothing_of_others(clear, given, said):
    """Intervals that overlap say nothing: what all labelers share moves them together."""
    rows = [row("a", 0.1, 0.3), row("b", 0.2, 0.55), row("c", 0.5, 0.6)]
    assert labelers_headline(rows, "accuracy", "95 % predictive interval", clear, given) == SAID_OF + said
    rows[0]["spam"] = 0.997
    with_spam = labelers_headline(rows, "accuracy", "95 % predictive interval", clear, given)
    assert with_spam == f"{SAID_OF} a labels at random (probability 1.00).{said}"


@pytest.fixture(scope="module")
def spammed():
    """Five labelers of three classes; the last does not look."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    right = (0.95, 0.93, 0.9, 0.7)
    z = [np.where(rng.random(600) < p, y, (y + rng.integers(1, 3, 600)) % 3) for p in right]
    z = np.stack([*z, rng.integers(0, 3, 600)], axis=1)
    return y, jt.Labels.from_matrix(z, 3).with_names(workers=["anna", "ben", "eva", "cem", "hal"])


@pytest.mark.parametrize("how", ["people", "nobody said", "gold", "fast", "EM"])
def test_a_spammer_and_the_best_are_told_apart_however_it_is_asked(spammed, how, monkeypatch):
    """Where nobody says that people label, under the condition that errors are independent; EM alone has no
    draws of all together, but names who labels at random."""
    y, labels = spammed
    gold = np.where(np.arange(600) < 60, y, -1)
    if how == "EM":
        monkeypatch.setattr("jtruth.evaluation.by_one_model._CHEAP", 0)
    asked = {
        "people": {"labelers_are": "people"}, "nobody said": {}, "gold": {"gold": gold}, "fast": {}, "EM": {}
    }[how]  # fmt: skip
    ask = quick_labelers if how in ("fast", "EM") else jt.evaluate_labelers
    report = ask(labels, key=0, **asked)
    text = " ".join(str(report).split())
    assert "hal labels at random (probability 1.00)." in text and "overlap" not in text
    if how == "EM":
        return
    assert {("anna", "hal"), ("ben", "hal"), ("eva", "hal"), ("cem", "hal")} <= set(report.clear)
    assert (
        "If errors are independent, the ranking is clearer than the accuracies: hal is worse" in text
    ) == (how in ("nobody said", "fast"))
    order = ["hal", "cem", "eva", "ben", "anna"]
    assert all(order.index(better) > order.index(worse) for better, worse in report.clear)


def test_the_file_on_which_evaluate_reports_misfits(whole):
    """On cd70ba6 narrow intervals were printed without a word."""
    report = jt.evaluate_labelers(jt.read_labels(CARIES))
    loud = {c.name for c in report.checks if c.verdict == "does not fit"}
    assert loud >= {"label patterns", "labelers share errors"}
    text = report.summary(full=True)
    assert (
        re.search(
            r"errors are not independent \(4 of \d+ model checks failed\)\. The intervals allow",
            " ".join(text.split()),
        )
        and "fit): label patterns" in text
    )
    answer = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert {c["name"] for c in answer["checks"]} >= loud and answer["assumed"] == [MORE_RIGHT]
    assert answer["target"] == "population" and answer["interval_kind"] == "predictive"
    assert [one["name"] for one in answer["assumptions"]] == ["majority_vote", "independent"]
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
    assert len(report.rows) == 5 and MORE_RIGHT not in report.assumed
    assert MORE_RIGHT not in report.summary(full=True)
    assert all(abs(row["accuracy"] - 0.2) < 0.1 for row in report.rows)
    answer = jt.evaluate(y, labels, gold=gold, assume="independent")
    assert answer.accuracy.mean > 0.9 and answer.assumed == ()


def test_the_guard_still_speaks_where_gold_leaves_a_class_out():
    mirror = np.tile([[0.2, 0.8], [0.8, 0.2]], (2, 3, 1, 1))
    assert check_switching(mirror, ("a", "b"))
    assert check_switching(mirror, ("a", "b"), np.array([0, -1, 0]))
    assert check_switching(mirror, ("a", "b"), np.array([0, -1, 1])) is None
    three = np.tile(np.roll(np.eye(3), 1, axis=0), (2, 3, 1, 1))
    assert check_switching(three, ("a", "b", "c"), np.array([0, 1, 1]))
    assert check_switching(three, ("a", "b", "c"), np.array([0, 1, 2])) is None


def test_what_every_answer_without_gold_assumes_is_printed():
    """All labelers at .2 and no gold: .138 was printed where .88 is true, with no word of it."""
    labels, y = crowd(2, size=120, right=(0.8, 0.7, 0.75))
    found = jt.evaluate(y, labels, assume="independent")
    text = found.summary(full=True)
    assert found.to_dict()["assumed"] == [MORE_RIGHT] and f"Assumption: {MORE_RIGHT}" in text
    known = jt.evaluate(y, labels, noise=jt.noise.Symmetric(0.2, 2))
    assert known.assumed == () and MORE_RIGHT not in known.summary(full=True)
    assert MORE_RIGHT in jt.prevalence(labels).assumption
    assert MORE_RIGHT not in jt.prevalence(labels, gold=np.where(np.arange(120) < 40, y, -1)).assumption


def test_names_cannot_move_the_cursor():
    """Class and worker names go through one function; on cd70ba6 they reached the terminal as they are."""
    labels, _ = crowd(0, size=60, right=(0.8,) * 3)
    labels = labels.with_names(workers=[f"ann{BAD}", "b", "c"], classes=[f"no{BAD}\t", "my_class"])
    z = labels.to_matrix()
    found = jt.evaluate([labels.class_names[c] for c in z[:, 0]], labels, assume="independent", key=0)
    for answer in (found, jt.evaluate(z[:, 0], labels, noise=jt.noise.Symmetric(0.2, 2), prior=[0.3, 0.7])):
        text = answer.summary(full=True)
        assert all(c.isprintable() for c in text.replace("\n", ""))
        assert r"\x1b[2J" in text and "my_class" in text


def test_a_report_in_which_nobody_is_determined_can_be_printed():
    rows = [{"worker": name, "accuracy": 0.6, "low": 0.1, "high": 0.95} for name in "ab"]
    assert labelers_headline(rows, "accuracy", "95 % posterior interval") == (
        "Estimated accuracy ranges from 60 % [10, 95] (a) to 60 % [10, 95] (b), with 95 % intervals. "
        "All intervals are wider than 50 points: labelers may make the same mistakes, and labels alone "
        "cannot show these."
    )
