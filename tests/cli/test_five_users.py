"""Commands on the site's pages that name shipped files run as printed, and give the right answer.

The truth of examples/judges.csv is known to the script that wrote it. Names in capitals are the reader's own
files, and lines with them are left out.
"""

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("few_lineages")

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("index.md", "judges_with_30_gold.md", "which_labels_to_buy.md")


def lines():
    """Every command of the pages, once."""
    text = "".join((ROOT / "docs" / name).read_text() for name in PAGES)
    found = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    return sorted({one for one in found if one.startswith("jtruth") and not re.search(r"[A-Z]{4}", one)})


@pytest.fixture(scope="module")
def truth():
    """1 where an answer truly passes, and whether judge c said so."""
    rows, passes = runpy.run_path(str(ROOT / "examples" / "make_examples.py"))["judges"]()
    return passes, [row[3] == "pass" for row in rows]


@pytest.mark.parametrize("line", lines())
def test_a_line_of_the_site_runs_and_is_right(run, line, tmp_path, truth):
    words = [str(tmp_path / w) if w == "check_next.csv" else w for w in shlex.split(line)[1:]]
    code, out, err = run(*words, "--json", tmp_path / "out.json")
    assert code == 0 and out and "Traceback" not in err, err
    found, (passes, said) = json.loads((tmp_path / "out.json").read_text()), truth
    if words[0] == "prevalence":
        share = found["shares"]["pass"]
        assert share["low"] <= sum(passes) / 300 <= share["high"] and share["high"] - share["low"] < 0.25
    if words[0] == "evaluate":
        dist = found["metrics"]["accuracy"]
        right = sum(bool(y) == z for y, z in zip(passes, said, strict=True)) / 300
        assert dist["low"] <= right <= dist["high"] and dist["high"] - dist["low"] < 0.3


def test_pages_hold_lines_for_every_user():
    assert {shlex.split(one)[1] for one in lines()} == {
        "inspect",
        "evaluate",
        "prevalence",
        "labelers",
        "plan",
    }
