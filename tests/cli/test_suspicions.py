"""Warnings about odd files in every command; order reveals drift; no headline against failed checks."""

import json
import re

import numpy as np
import pytest

import jtruth as jt
from jtruth.inspection import inspect_labels
from tests.cli.files import write

pytestmark = pytest.mark.usefixtures("few_sets")

ODD = ("vocabularies", "separate_groups", "opposed", "constant", "copies", "few_labels", "single_label",
       "repeats")  # fmt: skip


@pytest.fixture
def odd(tmp_path):
    """Labels with every suspicion that there is, predictions, and known error rates."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    seen = lambda: np.where(rng.random(90) < 0.9, y, 1 - y)  # noqa: E731
    first = seen()
    good = {name: seen() for name in ("bob", "cy", "dan", "eve")}
    said = {"ann": first, "copy": first, **good, "swap": 1 - y, "same": np.zeros(90, int)}
    rows = [(f"t{i}", who, ("cat", "dog")[z[i]]) for who, z in said.items() for i in range(60)]
    rows += [(f"t{i}", "rare", ("cat", "dog")[y[i]]) for i in range(4)] + [("t0", "bob", "dog")]
    rows += [
        (f"t{i}", who, ("red", "blue")[z[i]])
        for who, z in (("gus", seen()), ("hal", seen()))
        for i in range(60, 89)
    ]
    rows += [("t89", "gus", "red")]
    truth = [(f"t{i}", (("cat", "dog") if i < 60 else ("red", "blue"))[y[i]]) for i in range(90)]
    write(tmp_path / "labels.csv", ("task", "worker", "label"), rows)
    write(tmp_path / "pred.csv", ("task", "label"), truth)
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.25] * 4}))
    return tmp_path


def test_inspect_and_evaluate_agree_on_what_is_suspicious(answer, odd):
    looked, first = answer("inspect", odd / "labels.csv")
    graded = ("--predictions", odd / "pred.csv", "--noise", odd / "noise.json")
    found, out = answer("evaluate", odd / "labels.csv", *graded, "--report", odd / "out.html")
    assert tuple(one["name"] for one in found["suspicious"]) == ODD
    assert found["suspicious"] == looked["findings"]
    assert not any("--repeats" in step["command"] for step in looked["next_steps"])
    for one in found["suspicious"]:
        assert one["message"] in first and one["message"] in out
    page = (odd / "out.html").read_text()
    assert "Unusual patterns in the labels" in page and "Did they look at the samples?" in page


@pytest.mark.slow
def test_labelers_find_the_same_oddities(odd, few_lineages):
    labels = jt.read_labels(odd / "labels.csv", repeats="majority")
    report = jt.evaluate_labelers(labels)
    known = inspect_labels(labels).findings
    assert len(known) == len(ODD) and report.suspicious[-len(ODD) :] == known


@pytest.fixture
def tired(tmp_path):
    """300 tasks in random order of `when`: four labelers who end by guessing."""
    rng = np.random.default_rng(3)
    y, when = rng.integers(0, 2, 300), rng.permutation(300)
    right = np.where(when < 150, 0.97, 0.6)
    z = np.where(rng.random((4, 300)) < right, y, 1 - y)
    rows = [(f"t{i}", who, z[t, i], when[i]) for t, who in enumerate("abcd") for i in range(300)]
    write(tmp_path / "pred.csv", ("task", "label"), [(f"t{i}", c) for i, c in enumerate(y)])
    return write(tmp_path / "labels.csv", ("task", "worker", "label", "when"), rows)


@pytest.mark.slow
@pytest.mark.parametrize("extra", [(), ("--order", "when")])
@pytest.mark.parametrize("command", ["labelers", "evaluate"])
def test_order_finds_labelers_who_change(answer, tired, command, extra):
    """The effect is 9 standard deviations; without the option there is no such check."""
    graded = ("--predictions", tired.parent / "pred.csv", "--assume", "independent")
    found, _ = answer(command, tired, *extra, *(graded if command == "evaluate" else ()))
    checks = {c["name"]: c for c in found["checks"]}
    assert ("drift" in checks) == bool(extra)
    assert not extra or checks["drift"]["verdict"] == "does not fit", checks["drift"]


def test_headline_of_labelers_says_who_is_told_apart_and_checks_stand_below(run, few_lineages):
    """The caries file: narrow intervals stood in the headline, against four checks."""
    code, out, err = run("labelers", "examples/caries.csv", "--report", "/dev/null")
    first, _, second, *_ = out.splitlines()
    assert code == 0, err
    assert first.startswith("Estimated accuracy of labelers on new samples ranges from ")
    wide = "The intervals of 5 and 2 are wider than 50 points: labelers may make the same mistakes"
    assert wide in first, first
    assert re.match(r"Note: The labelers' errors are not independent \(4 of \d+ model", second), second
    assert "Assumption of the width: estimates err as they did on" in " ".join(out.split())
    assert len(out.splitlines()) <= 51  # the last is the command to run once the file is filled in
