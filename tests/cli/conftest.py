"""Commands run in this process, and small files for them."""

import json
import os
import signal
import sys

import numpy as np
import pytest

from tests.cli.files import write
from tests.shared_fits import fits_are_shared  # noqa: F401


@pytest.fixture
def run(monkeypatch, capsys, pytestconfig):
    """Run `jtruth ARGUMENTS --full` in this process, in `folder` if given: (exit code, stdout, stderr)."""
    from jtruth import cli  # not above: annotations are executed if tests alone import jtruth

    monkeypatch.chdir(pytestconfig.rootpath)

    def call(*arguments, folder=None, full=True):
        words = [str(one) for one in arguments]
        if full and words[:1] and not words[0].startswith("-") and not any("--help" in w for w in words):
            arguments = (*arguments, "--full")
        if folder is not None:
            monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["jtruth", *map(str, arguments)])
        monkeypatch.setattr(os, "_exit", sys.exit)  # where an interrupt ends
        with pytest.raises(SystemExit) as stop:
            cli.main()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, printed.err

    return call


@pytest.fixture
def answer(run, tmp_path):
    """`answer(*words)`: what a command that ends well writes by --json, and prints."""

    def call(*words, **how):
        code, out, err = run(*words, "--json", tmp_path / "answer.json", **how)
        assert code == 0, err
        return json.loads((tmp_path / "answer.json").read_text()), out

    return call


@pytest.fixture
def refusal(run):
    """`refusal(*words)`: the one line with which a command ends before any work."""

    def call(*words, **how):
        code, out, err = run(*words, **how)
        assert code == 2 and not out and len(err.strip().splitlines()) == 1, (code, out, err)
        return err

    return call


def crowd(seed, size, name, workers):
    """Classes, and rows (task, worker, answer) of workers who are right four times in five."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    rows = [
        (f"{name}{i}", w, ("no", "yes")[int(y[i] if rng.random() < 0.8 else 1 - y[i])])
        for i in range(size)
        for w in workers
    ]
    return [(f"{name}{i}", ("no", "yes")[c]) for i, c in enumerate(y)], rows


@pytest.fixture
def small(tmp_path):
    """A small label file, predictions, gold and noise files."""
    truth, rows = crowd(0, 40, "t", ("ann", "bob", "cy"))
    write(tmp_path / "labels.csv", ("task", "worker", "label"), rows)
    write(tmp_path / "pred.csv", ("task", "label"), truth)
    write(tmp_path / "gold.csv", ("task", "label"), truth[:5])
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.5, 0.5]}))
    matrix = [[0.8, 0.2], [0.2, 0.8]]
    matrices = {"confusion_matrices": {w: matrix for w in ("ann", "bob", "cy")}}
    (tmp_path / "matrices.json").write_text(json.dumps(matrices))
    return tmp_path


@pytest.fixture
def export(tmp_path):
    """Files as people have them: other columns, semicolons, a repeat, a row without a label."""
    truth, rows = crowd(1, 60, "h ", ("ann", "bob", "cy d", "eve"))
    rows += [("h 0", "ann", "no"), ("h 1", "bob", "")]
    write(tmp_path / "my labels.csv", ("HITId", "WorkerId", "Answer"), rows, ";")
    write(tmp_path / "PRED.csv", ("HITId", "Answer"), truth, ";")
    write(tmp_path / "GOLD.csv", ("HITId", "Answer"), truth[:20], ";")
    return tmp_path
