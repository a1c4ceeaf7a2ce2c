"""What is odd in a file is odd for every command; order finds drift; no headline against checks."""

import json
import re

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.assumptions import ranges
from jtruth.inspection import inspect_labels
from jtruth.latent import Effort

ODD = ("vocabularies", "separate_groups", "opposed", "constant", "copies", "few_labels", "single_label",
       "repeats")  # fmt: skip


def write(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


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
    write(tmp_path / "labels.csv", "task,worker,label", rows)
    write(tmp_path / "pred.csv", "task,label", truth)
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.25] * 4}))
    return tmp_path


def test_inspect_and_evaluate_agree_on_what_is_suspicious(run, odd):
    code, first, err = run("inspect", odd / "labels.csv", "--json", odd / "look.json")
    assert code == 0, err
    code, out, err = run("evaluate", odd / "labels.csv", "--predictions", odd / "pred.csv", "--noise",
                         odd / "noise.json", "--repeats", "keep", "--json", odd / "out.json", "--report",
                         odd / "out.html")  # fmt: skip
    assert code == 0, err
    found = json.loads((odd / "out.json").read_text())["suspicious"]
    assert tuple(one["name"] for one in found) == ODD
    assert found == json.loads((odd / "look.json").read_text())["findings"]
    page = (odd / "out.html").read_text()
    for one in found:
        assert one["message"] in first and one["message"] in out
    assert "What is odd in the labels" in page and "Did they look at the samples?" in page


@pytest.fixture
def short(monkeypatch):
    """What is said is looked at, not how well the chains have mixed."""
    for name in ("ANSWER_EFFORT", "EFFORT"):
        monkeypatch.setattr(ranges, name, Effort(burn_in=40, min_sweeps=200, max_rhat=9.0, min_ess=1.0))


@pytest.mark.slow
def test_labelers_find_the_same_oddities(odd, short):
    labels = jt.read_labels(odd / "labels.csv", repeats="keep")
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
    write(tmp_path / "pred.csv", "task,label", [(f"t{i}", c) for i, c in enumerate(y)])
    return write(tmp_path / "labels.csv", "task,worker,label,when", rows)


@pytest.mark.slow
@pytest.mark.parametrize("extra", [(), ("--order", "when")])
@pytest.mark.parametrize("command", ["labelers", "evaluate"])
def test_order_finds_labelers_who_change(run, tired, command, extra):
    """The effect is 9 standard deviations; without the option there is no such check."""
    graded = ("--predictions", tired.parent / "pred.csv", "--assume", "independent")
    code, _, err = run(command, tired, *extra, *(graded if command == "evaluate" else ()), "--json",
                       tired.parent / "out.json")  # fmt: skip
    assert code == 0, err
    checks = {c["name"]: c for c in json.loads((tired.parent / "out.json").read_text())["checks"]}
    assert ("drift" in checks) == bool(extra)
    assert not extra or checks["drift"]["verdict"] == "does not fit", checks["drift"]


def test_headline_of_labelers_says_who_is_told_apart_and_checks_stand_below(run, short):
    """The caries file: narrow intervals stood in the headline, against four checks."""
    code, out, err = run("labelers", "examples/caries.csv", "--report", "/dev/null")
    first, _, second, *_ = out.splitlines()
    assert code == 0, err
    assert first.startswith("5 labelers: share of the labels given that are right, from 0.7")
    said = r"\(95 % predictive intervals\)\. (Intervals overlap|Not told apart): .*\.$"
    assert re.search(said, first), first
    assert second.startswith("!  4 checks speak against independent errors: label patterns")
    assert "  rests on: labels mislead models here as on" in out
    assert len(out.splitlines()) <= 50
