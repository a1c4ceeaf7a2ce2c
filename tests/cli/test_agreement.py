"""`jtruth agreement`: the numbers of `labeler_agreement` and of `inspect`, on every face."""

import html
import json

import pytest

import jtruth as jt


def test_the_command_says_what_python_says(run, small):
    code, out, err = run("agreement", "labels.csv", "--json", "a.json", "--report", "a.html", folder=small)
    assert code == 0, err
    answer = json.loads((small / "a.json").read_text())
    found = jt.labeler_agreement(jt.read_labels(small / "labels.csv"))
    assert answer["overall"]["krippendorff"]["value"] == pytest.approx(found.overall["krippendorff"].value)
    assert answer["level"] == 0.95 and answer["key"] == 0 and len(answer["pairs"]) == 3
    assert answer["pairs"][0]["value"] == pytest.approx(next(iter(found.pairs.values())).value)
    page = html.unescape((small / "a.html").read_text())
    for text in ("ann, bob", str(found.overall["krippendorff"]), str(list(found.pairs.values())[2])):
        assert text in " ".join(out.split()) and text in " ".join(page.split())
    code, looked, _ = run("inspect", "labels.csv", folder=small)
    assert code == 0
    for one in found.overall.values():
        assert str(one) in " ".join(looked.split())


def test_brief_weights_and_level(run, small):
    code, out, err = run("agreement", "labels.csv", folder=small, full=False)
    assert code == 0 and len(out.splitlines()) <= 15 and "Cohen's kappa is from" in " ".join(out.split()), err
    code, out, _ = run("agreement", "labels.csv", "--weights", "quadratic", "--level", 0.5, folder=small)
    assert code == 0 and "quadratic weights, interval differences" in out
    found = jt.labeler_agreement(jt.read_labels(small / "labels.csv"), weights="quadratic", level=0.5)
    assert str(found.overall["gwet_ac1"]) in " ".join(out.split())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--weights", "linear"), "alpha has no linear differences"),
        (("--weights", "cubic"), "cubic"),
        (("--level", "2"), "level"),
        (("--worker", "nobody"), "no column 'nobody'"),
    ],
)
def test_what_cannot_be_asked(run, small, more, message):
    code, out, err = run("agreement", "labels.csv", *more, folder=small)
    assert code == 2 and message in err and not out and err.count("\n") == 1
