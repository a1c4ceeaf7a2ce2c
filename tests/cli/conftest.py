"""Commands run in this process, and small files for them."""

import json
import sys

import numpy as np
import pytest

from jtruth import cli


@pytest.fixture
def run(monkeypatch, capsys, pytestconfig):
    """Run `jtruth ARGUMENTS` in this process: (exit code, stdout, stderr)."""
    monkeypatch.chdir(pytestconfig.rootpath)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["jtruth", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, printed.err

    return call


@pytest.fixture
def small(tmp_path):
    """A small label file, predictions, gold and noise files."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    rows = [
        (f"t{i}", w, ("no", "yes")[int(y[i] if rng.random() < 0.8 else 1 - y[i])])
        for i in range(40)
        for w in ("ann", "bob", "cy")
    ]
    write = lambda name, header, lines: (tmp_path / name).write_text(  # noqa: E731
        "\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n"
    )
    write("labels.csv", "task,worker,label", rows)
    write("pred.csv", "task,label", [(f"t{i}", ("no", "yes")[int(y[i])]) for i in range(40)])
    write("gold.csv", "task,label", [(f"t{i}", ("no", "yes")[int(y[i])]) for i in range(5)])
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.5, 0.5]}))
    matrix = [[0.8, 0.2], [0.2, 0.8]]
    matrices = {"confusion_matrices": {w: matrix for w in ("ann", "bob", "cy")}}
    (tmp_path / "matrices.json").write_text(json.dumps(matrices))
    return tmp_path


@pytest.fixture
def export(tmp_path):
    """Files as people have them: other columns, semicolons, a repeat, a row without a label."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    rows = [
        (f"h {i}", w, ("no", "yes")[int(y[i] if rng.random() < 0.8 else 1 - y[i])])
        for i in range(60)
        for w in ("ann", "bob", "cy d", "eve")
    ]
    rows += [("h 0", "ann", "no"), ("h 1", "bob", "")]
    truth = [(f"h {i}", ("no", "yes")[int(y[i])]) for i in range(60)]
    for name, header, lines in (
        ("my labels.csv", ("HITId", "WorkerId", "Answer"), rows),
        ("PRED.csv", ("HITId", "Answer"), truth),
        ("GOLD.csv", ("HITId", "Answer"), truth[:20]),
    ):
        (tmp_path / name).write_text("\n".join(";".join(line) for line in [header, *lines]) + "\n")
    return tmp_path
