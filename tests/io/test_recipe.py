"""The recipe "Add a reader" of docs/extending.md, followed word for word: two functions and one line."""

import json

import pytest
from typer.testing import CliRunner

from jtruth.cli.app import app
from jtruth.io import exports, read_labels
from tests.source import recipes

FILE, LINE = recipes("is_tally")


@pytest.fixture
def export(tmp_path, monkeypatch):
    names = {}
    exec(FILE, names)
    monkeypatch.setattr(exports, "TOOLS", (*exports.TOOLS, eval(LINE, names)))
    votes = [{"ann": "yes", "bob": "no"}, {"ann": "no", "bob": None}]
    path = tmp_path / "tally.json"
    path.write_text(json.dumps([{"tally_id": k, "votes": some} for k, some in enumerate(votes)]))
    return path


def test_its_export_is_read(export):
    labels = read_labels(export)
    assert (labels.tasks, labels.workers, labels.num_labels) == (("0", "1"), ("ann", "bob"), 3)
    notes = " ".join(labels.notes)
    assert "Read as Tally export, 2 voters" in notes and "1 vote without a label was left out" in notes


def test_commands_read_it_too(export):
    run = CliRunner().invoke(app, ["inspect", str(export), "--full"])
    assert run.exit_code == 0 and "Tally export" in run.output
