"""`--calibration FILE`: error rates of the judges from another file."""

import numpy as np
import pytest

from tests.cli.files import write
from tests.evaluation.test_calibrated import RIGHT, simulated

pytestmark = pytest.mark.usefixtures("few_lineages")
WORDS = np.array(["fail", "pass"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Wide files with and without human labels, the same in rows, and new items of two systems."""
    to, rng = tmp_path_factory.mktemp("calibration"), np.random.default_rng(1)
    truth, old = simulated(rng, 120, [0.6, 0.4], RIGHT[:2])
    write(
        to / "cal.csv",
        ("item", "judge", "human"),
        zip(range(120), WORDS[old[:, 0]], WORDS[truth], strict=True),
    )
    write(to / "plain.csv", ("item", "judge"), zip(range(120), WORDS[old[:, 0]], strict=True))
    write(to / "truth.csv", ("item", "label"), zip(range(120), WORDS[truth], strict=True))
    rows = [
        (i, who, WORDS[z])
        for i in range(120)
        for who, z in zip(("judge", "human"), (old[i, 0], truth[i]), strict=True)
    ]
    write(to / "rows.csv", ("task", "worker", "label"), rows)
    y, new = simulated(rng, 200, [0.2, 0.8], RIGHT[:2])
    half = np.repeat(["a", "b"], 100)
    write(
        to / "new.csv", ("item", "judge", "half"), zip(range(500, 700), WORDS[new[:, 0]], half, strict=True)
    )
    score = np.round(np.clip(0.5 + 0.3 * (y - 0.5) + rng.normal(size=200) / 6, 0, 1), 4)
    rows = zip(range(500, 700), WORDS[(score > 0.5).astype(int)], score, strict=True)
    write(to / "scores.csv", ("item", "label", "score"), rows)
    sites = [(i, "pq"[i % 2], WORDS[old[i, 0]], WORDS[truth[i]]) for i in range(120)]
    write(to / "sites.csv", ("item", "site", "judge", "human"), sites)
    systems = [(i % 100, "xy"[i // 100], "judge", WORDS[new[i, 0]]) for i in range(200)]
    write(to / "systems.csv", ("task", "system", "worker", "label"), systems)
    write(to / "always.csv", ("item", "judge"), [(i, "pass") for i in range(600, 700)])
    write(to / "same.csv", ("item", "judge", "human"), [(i, "pass", WORDS[i % 2]) for i in range(40)])
    write(to / "no_fail.csv", ("item", "judge", "human"), [(i, WORDS[i % 2], "pass") for i in range(40)])
    return to


def test_the_truth_is_found_or_named(folder, answer):
    """Wide, in rows, in a table beside: the same numbers; the raw rate is on the first screen."""
    ask = "prevalence", folder / "new.csv", "--positive", "pass", "--calibration"
    found, out = answer(*ask, folder / "cal.csv")
    share = found["shares"]["pass"]
    assert found["rule"] == "calibration" and share["low"] < 0.8 < share["high"] and "Of the labels, " in out
    for more in (
        (folder / "cal.csv", "--gold", "column:human"), (folder / "rows.csv",),
        (folder / "rows.csv", "--gold", "worker:human"),
        (folder / "plain.csv", "--gold", folder / "truth.csv", "--labelers", "judge"),
    ):  # fmt: skip
        again, _ = answer(*ask, *more)
        assert again["shares"]["pass"] == share, more


def test_groups_a_rater_and_a_judge_who_always_passes(folder, answer):
    found, _ = answer(
        "prevalence", folder / "systems.csv", "--calibration", folder / "rows.csv", "--by", "system"
    )
    assert {row["group"] for row in found["by"]["groups"]} == {"x", "y"}
    ask = "evaluate", folder / "new.csv", "--rater", "judge", "--positive", "pass"
    graded, _ = answer(*ask, "--calibration", folder / "cal.csv")
    assert graded["metrics"]["recall"]["low"] < RIGHT[1, 0] < graded["metrics"]["recall"]["high"]
    always, _ = answer("prevalence", folder / "always.csv", "--calibration", folder / "cal.csv")
    assert always["shares"]["pass"]["high"] > 0.99 and always["label_shares"]["pass"] == 1
    blind, out = answer("prevalence", folder / "always.csv", "--calibration", folder / "same.csv", "--full")
    assert blind["num_calibration"] == 40 and blind["shares"]["fail"]["high"] > 0.9 and "next:" not in out


def test_refused(folder, refusal):
    assert "no calibration item is truly 'fail'" in refusal(
        "prevalence", folder / "new.csv", "--calibration", folder / "no_fail.csv"
    )
    write(folder / "x.csv", ("item", "judge_x"), [(i, "pass") for i in range(9)])
    assert "has no judge of the calibration ('judge')" in refusal(
        "prevalence", folder / "x.csv", "--calibration", folder / "cal.csv"
    )
    assert "no labeler is called human" in refusal(
        "prevalence", folder / "new.csv", "--calibration", folder / "plain.csv", "--labelers", "judge"
    )
    for what in ((), ("--scores",)):
        assert "no calibration item is truly 'fail'" in refusal(
            "evaluate", folder / "new.csv", "--predictions", folder / "scores.csv", *what,
            *(() if what else ("--by", "half")), "--calibration", folder / "no_fail.csv",
        )  # fmt: skip
    assert "no column 'site' to group by" in refusal(  # a group of the calibration only
        "evaluate", folder / "new.csv", "--rater", "judge", "--by", "site", "--calibration",
        folder / "sites.csv",
    )  # fmt: skip


def test_groups_and_scores_by_a_calibration(folder, answer, run):
    """A column of groups of the new items only or of both; a gate; scores at a threshold."""
    ask = "evaluate", folder / "new.csv", "--predictions", folder / "scores.csv", "--positive", "pass"
    ask += "--calibration", folder / "cal.csv"
    by, out = answer(*ask, "--by", "half")
    assert by["comparison"]["num_calibration"] == 120
    assert "120 verified calibration items set" in " ".join(out.split())
    assert {row["name"]: row["num_samples"] for row in by["comparison"]["classifiers"]} == {
        "a": 100,
        "b": 100,
    }
    again, _ = answer("evaluate", folder / "systems.csv", "--rater", "judge", "--by", "system",
                      "--calibration", folder / "rows.csv", "--require", "x > .1")  # fmt: skip
    assert again["comparison"]["metric"] == "accuracy" and again["verdict"] == "met"
    code, out, err = run(*ask, "--by", "half", "--require", "a - b > .9")
    assert (code, err) == (3, "") and "is not met" in out
    found, out = answer(*ask, "--scores", "--threshold", ".5", "--require", "auc >= .5")
    assert found["auc"]["low"] > 0.5 and found["num_calibration"] == 120 and found["verdict"] == "met"
    assert "At threshold 0.5" in out
    code, out, _ = run(*ask, "--scores", "--threshold", ".5", "--require", "recall > .999")
    assert code == 3 and "is not met" in out
