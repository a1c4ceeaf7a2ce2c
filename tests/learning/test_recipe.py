"""The recipe "Add a consensus method" of docs/extending.md, word for word: one function and one line."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import jtruth as jt
from jtruth.cli.app import app
from jtruth.learning import methods
from tests.source import recipes

FILE, LINE = recipes("last_word")
Z = np.array([[0, 1, -1], [1, 1, 0], [-1, 0, -1], [1, -1, -1]])


@pytest.fixture(autouse=True)
def last_word(monkeypatch):
    names = {}
    exec(FILE, names)
    entry = eval(LINE, vars(methods) | names)
    monkeypatch.setitem(methods.METHODS, entry.name, entry)


def test_it_is_a_method_of_consensus():
    found = jt.consensus(jt.Labels.from_matrix(Z, 2), "last_word", gold=[-1, -1, -1, 0])
    np.testing.assert_array_equal(found.label, [1, 0, 0, 0])
    np.testing.assert_array_equal(found.probability, 1)


def test_the_command_knows_it(tmp_path):
    rows = [(f"t{i}", f"w{t}", "ab"[k]) for i, row in enumerate(Z) for t, k in enumerate(row) if k >= 0]
    path, out = tmp_path / "labels.csv", tmp_path / "consensus.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("task", "worker", "label"), *rows])
    run = CliRunner().invoke(app, ["consensus", str(path), "--method", "last_word", "--out", str(out)])
    assert run.exit_code == 0, run.output
    with out.open(newline="") as file:
        assert [line["label"] for line in csv.DictReader(file)] == ["b", "a", "a", "b"]


def test_a_wrong_name_lists_it():
    with pytest.raises(ValueError, match="last_word"):
        jt.consensus(jt.Labels.from_matrix(Z, 2), "first_word")
