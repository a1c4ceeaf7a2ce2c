"""One judge against people at the command line, and the positive class of a file."""

import json

import numpy as np
import pytest

from tests.cli.files import write


@pytest.fixture
def scans(tmp_path):
    """Disease in a quarter of the scans, by three readers, a model and the truth; and its table."""
    rng = np.random.default_rng(3)
    truth = rng.random(120) < 0.25
    given = truth[:, None] ^ (rng.random((120, 4)) < [0.1, 0.2, 0.2, 0.2])
    rows = np.where(np.column_stack([truth, given]), "disease", "healthy")
    header = ("scan", "truth", "model", "reader1", "reader2", "reader3")
    write(tmp_path / "scans.csv", header, [(f"s{i}", *row) for i, row in enumerate(rows)])
    return tmp_path, truth, given


def test_the_positive_class_has_a_line_of_its_own_that_can_be_typed(run, scans):
    folder, truth, given = scans
    asked = ("scans.csv", "--predictions", "column:model", "--gold", "column:truth", "--json", "a.json")
    code, out, _ = run("evaluate", *asked, folder=folder, full=False)
    assert code == 0 and "Positive class: disease; --positive healthy to change." in out.splitlines()
    found = json.loads((folder / "a.json").read_text())
    assert (found["positive"], found["positive_chosen"]) == ("disease", "by its meaning")
    assert found["confusion_matrix"]["mean"][1][1] == (truth & given[:, 0]).sum()
    code, out, _ = run("evaluate", *asked, "--positive", "healthy", folder=folder, full=False)
    assert code == 0 and "Positive class: healthy." in out.splitlines()
    assert json.loads((folder / "a.json").read_text())["positive_chosen"] == "as asked"
    compared = ("scans.csv", "column:model", "column:reader1", "--gold", "column:truth", "--metric", "recall")
    assert (
        "Positive class: disease; --positive healthy to change." in run("compare", *compared)[1].splitlines()
    )


def test_an_option_that_a_sentence_suggests_is_quoted_for_the_shell():
    from jtruth.cli.words import shell_words

    for name, typed in (("a b", "'a b'"), ("it's", "'it'\"'\"'s'"), ("ok", "ok")):
        assert shell_words(f"c; positive={name!r} to change.") == f"c; --positive {typed} to change."
