"""`jtruth agreement`: the numbers of `labeler_agreement` and of `inspect`, on every face."""

import html

import pytest

import jtruth as jt


def test_the_command_says_what_python_says(run, answer, small):
    found, out = answer("agreement", "labels.csv", "--report", "a.html", folder=small)
    expected = jt.labeler_agreement(jt.read_labels(small / "labels.csv"))
    coefficient = expected.overall["krippendorff"]
    assert found["overall"]["krippendorff"]["value"] == pytest.approx(coefficient.value)
    assert found["level"] == 0.95 and found["key"] == 0 and len(found["pairs"]) == 3
    assert found["pairs"][0]["value"] == pytest.approx(next(iter(expected.pairs.values())).value)
    page = html.unescape((small / "a.html").read_text())
    for text in ("ann, bob", str(coefficient), str(list(expected.pairs.values())[2])):
        assert text in " ".join(out.split()) and text in " ".join(page.split())
    looked = " ".join(run("inspect", "labels.csv", folder=small)[1].split())
    assert all(str(one) in looked for one in expected.overall.values())


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
def test_what_cannot_be_asked(refusal, small, more, message):
    assert message in refusal("agreement", "labels.csv", *more, folder=small)
