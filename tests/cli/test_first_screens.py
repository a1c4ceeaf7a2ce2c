"""Every command on one small data set with hostile names: first screen, JSON, page, next command.

Tasks, workers and classes are markup, quotation marks, right-to-left words and shell syntax. None of it may
reach a page as markup, and no name may break a `next:` line. (Invisible characters are refused when a file is
read; `tests/answers` has them on pages. `ask` is in `test_commands.py`.)
"""

import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

from jtruth.answers.terminal import size
from tests.answers.test_pages import HOSTILE, read
from tests.cli.files import write

pytestmark = pytest.mark.usefixtures("few_lineages")

CLASSES = ("<b>no</b>", 'it\'s "yes" & more')
WORKERS = ("<script>alert(1)</script>", "عربي <img src=x>", "';rm -rf $HOME")
SIZE = 40


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder whose name has a blank: labels, two classifiers, scores, gold, error rates."""
    folder = tmp_path_factory.mktemp("a world")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, SIZE)
    tasks = [f"{HOSTILE[i % 4]}{i}" for i in range(SIZE)]
    seen = lambda right: np.where(rng.random(SIZE) < right, y, 1 - y)  # noqa: E731
    given = {who: seen(0.85) for who in WORKERS}
    rows = [
        (tasks[i], who, CLASSES[z[i]], WORKERS[i % 2])
        for t, (who, z) in enumerate(given.items())
        for i in range(SIZE)
        if (i + t) % 5  # the others were not asked
    ]
    write(folder / "labels.csv", ("task", "worker", "label", "system"), rows)
    for name, right in (("A", 0.9), ("B", 0.7)):
        said = seen(right)
        p = np.where(said == 1, 0.8, 0.3) + 0.1 * rng.random(SIZE)
        table = [(t, CLASSES[c], q, 1 - q, q) for t, c, q in zip(tasks, said, p.round(6), strict=True)]
        header = ("task", "label", "score", *(f"p_{name}" for name in CLASSES))
        write(folder / f"{name}.csv", header, table)
    write(folder / "GOLD.csv", ("task", "label"), [(tasks[i], CLASSES[y[i]]) for i in range(12)])
    (folder / "noise.json").write_text(json.dumps({"symmetric": 0.15, "prior": [0.5, 0.5]}))
    return folder


GRADE = "labels.csv --predictions A.csv --noise noise.json"
PAGES = {  # command -> what it is asked; all of them write a page
    "evaluate": GRADE,
    "evaluate --full": f"{GRADE} --prior .4,.6",
    "evaluate --scores": f"{GRADE} --scores",
    "evaluate --by system": GRADE,
    "labelers": "labels.csv --fast",
    "agreement": "labels.csv",
    "prevalence": "labels.csv --assume independent",
    "prevalence --by system": "labels.csv --assume independent",
    "compare": "labels.csv A.csv B.csv --noise noise.json",
    "calibrate": "labels.csv --predictions A.csv --method temperature",
    "clean": "labels.csv --noise noise.json --budget 5",
    "plan": "labels.csv --width .2 --rates known --sets 20",
    "models": "labels.csv --models one_coin,pooled --warmup 100 --samples 100",
}
PLAIN = {
    "inspect": "labels.csv",
    "consensus": "labels.csv --method majority_vote",
    "sensitivity": f"{GRADE} --what prior --threshold .5",
    "correct": "--called 680/1000 --sensitivity 45/50 --specificity 40/50",
    "simulate": "made --samples 30",
}
# What has tests of its own: all but the first two
SLOW = ("models", "calibrate", "consensus", "plan", "prevalence --by system", "simulate", "agreement",
        "sensitivity", "inspect", "correct")  # fmt: skip
COMMANDS = [
    pytest.param(name, text, marks=pytest.mark.slow if name in SLOW else (), id=name)
    for name, text in (PAGES | PLAIN).items()
]


def refuse(text):
    raise AssertionError(f"{text} is no JSON")


@pytest.mark.parametrize(("name", "text"), COMMANDS)
def test_screen_json_page_and_next_line(run, world, name, text, monkeypatch):
    """20 lines of 80 columns at most (--full: 70), JSON without NaN, valid HTML, `next:` runs as printed."""
    monkeypatch.setenv("COLUMNS", "80")
    words = [*name.split()[:1], *shlex.split(text), *name.split()[1:], "--json", "out.json"]
    words += ["--report", "out.html"] if name in PAGES else []
    code, out, err = run(*words, folder=world, full=False)
    assert code == 0 and "Traceback" not in err, err
    assert len(out.splitlines()) <= (70 if "--full" in words else 20), out
    assert max(map(size, out.splitlines())) <= 80
    assert "\x1b" not in out and "\u202e" not in out
    found = json.loads((world / "out.json").read_text(), parse_constant=refuse)
    assert found and isinstance(found, dict)
    if name in PAGES:
        html = (world / "out.html").read_text()
        assert len(html.encode()) < 300_000
        assert not {"script", "b", "img"} & set(read(html).tags) and "\u202e" not in html
    (step,) = (line for line in out.replace("\\\n", "").splitlines() if line.startswith("next: jtruth "))
    code, _, err = run(*shlex.split(step, comments=True)[2:], folder=world)
    assert code == 0, err


def test_json_of_evaluate_is_as_designed(answer, world):
    found, _ = answer("evaluate", *shlex.split(GRADE), folder=world)
    assert set(found) >= {
        "jtruth", "method", "level", "num_samples", "num_labelers", "num_labels", "classes", "positive",
        "prior", "metrics", "confusion_matrix", "labelers", "baselines", "checks", "interval_kind",
        "assumptions", "warnings",
    }  # fmt: skip
    assert set(found["metrics"]) >= {"accuracy", "precision", "recall", "false_alarm_rate", "f1"}
    dist = {"mean", "mode", "sd", "low", "high", "probability_defined"}
    assert all(set(row) == dist for row in found["metrics"].values())
    assert all(row["low"] <= row["mean"] <= row["high"] for row in found["metrics"].values())
    table = found["confusion_matrix"]
    assert set(table) == {"mean", "low", "high"} and np.sum(table["mean"]) == pytest.approx(SIZE)
    assert all({"name", "statistic", "p_value", "verdict", "message"} <= set(c) for c in found["checks"])
    assert all({"name", "sentence", "metrics"} <= set(one) for one in found["assumptions"])
    assert found["interval_kind"] == "posterior" and "accuracy" in found["baselines"]["majority_vote"]


def test_a_shell_completes_commands_and_options():
    """What the completion script of bash asks, and what `--show-completion` tells people to install."""
    ask = {"COMP_WORDS": "jtruth eval", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'jtruth'\nfrom jtruth.cli import main; main()"
    env = os.environ | ask | {"_JTRUTH_COMPLETE": "complete_bash"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert "evaluate" in done.stdout and "labelers" not in done.stdout, done.stderr
