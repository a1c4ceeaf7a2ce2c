"""`jtruth labelers` by EM, day by day and by an annotation model; error rates with draws go on."""

import numpy as np
import pytest

from jtruth.cli import people as engines
from jtruth.io import read_labels, read_noise
from tests.cli.files import write


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Two days of labels of four labelers, and both together; a task of the first day is labelled again."""
    folder, rng = tmp_path_factory.mktemp("days"), np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    z = np.where(rng.random((120, 4)) < (0.6, 0.7, 0.8, 0.9), y[:, None], 1 - y[:, None])
    rows = [(f"q{i}", f"w{t}", ("no", "yes")[z[i, t]]) for i in range(120) for t in range(4)]
    late = [row for row in rows if int(row[0][1:]) >= 80 or row[:2] == ("q0", "w3")]
    for name, some in (("one", [r for r in rows if r not in late]), ("two", late), ("all", rows)):
        write(folder / f"{name}.csv", ("task", "worker", "label"), some)
    return folder


def test_two_days_are_the_whole_file(answer, refusal, days):
    state, table = days / "state", days / "psi.json"
    answer("labelers", "--update", state, days / "one.csv")
    written = "--save", table, "--consensus", days / "c.csv"
    two, out = answer("labelers", days / "two.csv", "--update", state, *written)
    assert "161 labels added, 2 sets in all, 120 tasks; EM continued from the state" in out
    every, _ = answer("labelers", days / "all.csv", "--update", days / "whole")
    for a, b in zip(two["labelers"], every["labelers"], strict=True):
        assert a["worker"] == b["worker"] and a["num_labels"] == b["num_labels"] == 120
        assert a["low"] < a["accuracy"] < a["high"] and abs(a["accuracy"] - b["accuracy"]) < 0.01
    assert [row["worker"] for row in two["labelers"]] == ["w0", "w1", "w2", "w3"]
    assert "Gaussian approximation around the EM estimate" in two["warnings"][-2]
    labels = read_labels(days / "all.csv")
    prior, matrices = read_noise(table, labels)["draws"]
    assert matrices.shape == (len(prior), 4, 2, 2) and len(prior) >= 50
    rates = {row["worker"]: row["confusion_matrix"]["mean"] for row in two["labelers"]}
    for t, name in enumerate(labels.workers):
        np.testing.assert_allclose(matrices.mean(axis=0)[t], rates[name], atol=1e-3)
    assert len((days / "c.csv").read_text().splitlines()) == 121
    again = refusal("labelers", days / "two.csv", "--update", state)
    assert "the same labels were added before" in again
    other = write(days / "other.csv", ("task", "worker", "label"), [("q500", "w0", "maybe")])
    assert "maybe" in refusal("labelers", other, "--update", state)


@pytest.mark.usefixtures("few_lineages")
def test_fast_answers_the_same_question_and_finds_the_same_spammer(answer, tmp_path):
    """EM and its normal approximation against Gibbs sampling with other estimates: one target, one
    posterior, one worst."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    z = np.where(rng.random((200, 5)) < (0.9, 0.8, 0.85, 0.5, 0.75), y[:, None], 1 - y[:, None])
    rows = [(f"q{i}", f"w{t}", z[i, t]) for i in range(200) for t in range(5)]
    path = write(tmp_path / "l.csv", ("task", "worker", "label"), rows)
    slow, fast = (answer("labelers", path, *how)[0] for how in ((), ("--fast",)))
    for name in ("target", "interval_kind", "rests_on"):
        assert slow[name] == fast[name]
    one, other = ({row["worker"]: row for row in found["labelers"]} for found in (slow, fast))
    assert slow["labelers"][0]["worker"] == fast["labelers"][0]["worker"] == "w3"
    for worker, row in one.items():
        assert other[worker]["accuracy"] == pytest.approx(row["accuracy"], abs=0.06)
        widths = [found["high"] - found["low"] for found in (other[worker], row)]
        assert widths[0] == pytest.approx(widths[1], rel=0.25)


@pytest.mark.slow
def test_very_many_labels_are_fast_unless_said_otherwise(answer, days, monkeypatch):
    monkeypatch.setattr(engines, "QUICK_ABOVE", 400)
    monkeypatch.setattr("jtruth.evaluation.by_one_model._CHEAP", 800)  # so that 400 labels are many here too
    found, out = answer("labelers", days / "all.csv")
    assert "more than 400 labels, so labelers are estimated by EM" in out
    assert found["interval_kind"] == "predictive" and found["assumptions"][0]["name"] == "independent"
    assert "estimated by EM" not in answer("labelers", days / "one.csv")[1]


@pytest.mark.parametrize(
    "options, said",
    [
        (("--fast", "--gold", "column:gold"), "--gold needs Gibbs sampling"),
        (("--fast", "--labelers-are", "people"), "--labelers-are needs Gibbs sampling"),
        (("--fast", "--model", "mace"), "two different methods"),
        (("--model", "nothing"), "one_coin"),
        (("--update", "no/such/folder/state"), "there is no folder"),
    ],
)
def test_engines_that_do_not_go_together(refusal, days, options, said):
    assert said in refusal("labelers", days / "one.csv", *options)


@pytest.mark.slow
def test_an_annotation_model(answer, days):
    found, out = answer("labelers", days / "all.csv", "--model", "one_coin")
    assert [row["worker"] for row in found["labelers"]] == ["w0", "w1", "w2", "w3"]
    assert "NUTS draws of the annotation model one_coin" in " ".join(out.split())
    rates = found["labelers"][0]["confusion_matrix"]["mean"]
    assert rates[0][0] == pytest.approx(rates[1][1], abs=1e-6)  # one coin for both classes
