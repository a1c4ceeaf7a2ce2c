"""The command line: what it prints, what it writes, and how it ends."""

import json
import subprocess
import sys

import pytest

from jtruth.evaluation import evaluate
from jtruth.io import read_labels

pytestmark = pytest.mark.usefixtures("few_lineages")

CARIES, ANESTHESIA = "examples/caries.csv", "examples/anesthesia.csv"


def test_the_first_command_of_the_readme(run, tmp_path, monkeypatch):
    """It prints and writes what `evaluate` answers to these predictions and labels, and no other option."""
    calls = []

    def spy(*given, **options):
        calls.append((given, options, evaluate(*given, **options)))
        return calls[-1][-1]

    monkeypatch.setattr("jtruth.evaluation.evaluate", spy)
    code, out, err = run("evaluate", CARIES, "--rater", "5", "--json", tmp_path / "out.json")
    assert code == 0 and "Traceback" not in err
    for part in ("Recall", "precision", "majority vote", "worst first", "does not fit"):
        assert part in out
    assert out.count(": does not fit: ") == 6
    answer = json.loads((tmp_path / "out.json").read_text())
    split = read_labels(CARIES).split_rater("5")
    (((y_pred, labels), options, result),) = calls
    assert (y_pred == split.y_pred).all() and (labels.to_matrix() == split.labels.to_matrix()).all()
    chosen = {name: value for name, value in options.items() if value is not None and value is not False}
    assert set(chosen) - {"progress"} == {"level", "key", "method"} and options["method"] == "bayes"
    assert options["level"] == 0.95 and options["key"] == 0
    assert answer["metrics"] == result.to_dict()["metrics"]
    assert answer["num_samples"] == 3869
    assert len(result.summary(width=80).splitlines()) <= 15


def test_options_reach_the_answer(run, small):
    base = ["evaluate", small / "labels.csv", "--predictions", small / "pred.csv", "--classes", "no,yes"]
    known = [*base, "--noise", small / "noise.json", "--json", small / "o.json"]
    code, out, _ = run(*known, "--level", "0.8", "--positive", "no", "--seed", "3")
    answer = json.loads((small / "o.json").read_text())
    assert code == 0 and answer["level"] == 0.8 and answer["positive"] == "no" and "80 %" in out
    run(*known, "--method", "empirical_bayes")
    assert json.loads((small / "o.json").read_text())["method"] == "empirical_bayes"
    run(*known, "--prior", ".9,.1")
    assert json.loads((small / "o.json").read_text())["prior"] == pytest.approx([0.9, 0.1])
    run(*known, "--gold", small / "gold.csv", "--common-only")
    assert json.loads((small / "o.json").read_text())["num_gold"] == 5
    same = [*base, "--prior", ".5,.5", "--json", small / "m.json"]
    run(*known)
    run(*same, "--noise", small / "matrices.json")
    one, two = (json.loads((small / name).read_text())["metrics"] for name in ("o.json", "m.json"))
    assert one["recall"]["mean"] == pytest.approx(two["recall"]["mean"], abs=1e-9)


def test_fast_is_the_method_laplace(run, small, monkeypatch):
    """What is not sampled compiles nothing, and says the same; the next command is as fast."""
    words = ["evaluate", small / "labels.csv", "--rater", "ann", "--json", small / "out.json"]
    code, out, err = run(*words, "--fast", full=False)
    answer = json.loads((small / "out.json").read_text())
    assert code == 0 and answer["method"] == "laplace" and "--rater ann --fast" in out, err
    asked = []
    monkeypatch.setattr("jtruth.evaluation.evaluate", lambda *_, **how: asked.append(how) or 1 / 0)
    for same in (("--fast",), ("--method", "laplace")):
        run(*words, *same)
    assert asked[0]["method"] == "laplace" and asked[0].keys() == asked[1].keys()
    assert all(asked[1][name] == value for name, value in asked[0].items() if name != "progress")


UNUSABLE = [
    (["evaluate", CARIES], "either --predictions"),
    (["evaluate", "examples/none.csv", "--rater", "5"], "none.csv"),
    (["evaluate", CARIES, "--rater", "9"], "'9'"),
    (["evaluate", ANESTHESIA, "--rater", "2"], "repeats"),
    (["evaluate", CARIES, "--rater", "5", "--prior", "a,b"], "one number for each class"),
    (["evaluate", CARIES, "--rater", "5", "--level", "2"], "between 0 and 1"),
    (["evaluate", CARIES, "--rater", "5", "--worker", "rater"], "rater"),
    (["evaluate", CARIES, "--rater", "5", "--method", "magic"], "magic"),
    (["evaluate", CARIES, "--rater", "5", "--positive", "yes"], "yes"),
    (["evaluate", CARIES, "--rater", "5", "--fast", "--method", "plug_in"], "two ways to an answer"),
    (["evaluate", CARIES, "--rater", "5", "--fast", "--scores"], "--predictions"),
    (["evaluate", CARIES, "--rater", "5", "--fast", "--by", "worker"], "--rater has no say"),
]


@pytest.mark.parametrize(("arguments", "part"), UNUSABLE, ids=[" ".join(a[1:]) for a, _ in UNUSABLE])
def test_unusable_input_is_one_readable_line_and_exit_code_2(run, arguments, part):
    code, _, err = run(*arguments)
    assert code == 2 and part in err and "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("jtruth: ")


@pytest.mark.slow
def test_repeats_can_be_kept(run):
    code, out, _ = run("evaluate", ANESTHESIA, "--rater", "2", "--repeats", "keep")
    assert code == 0 and "45 samples" in out


def test_plan(run, tmp_path):
    """A plan from typed labelers, and from a file; the answer, its alternatives, and what was put in."""
    quick = ["--rates", "known", "--sets", "20"]
    typed = ["--labeler", "crowd:.25:.05:3", "--labeler", "expert:.05:.5", "--prior", ".7,.3", *quick]
    out = tmp_path / "plan.json"
    code, text, _ = run(
        "plan", "--width", ".08", *typed, "--cost-sample", ".02", "--cost-gold", "2", "--json", out
    )
    answer = json.loads(out.read_text())
    assert code == 0 and "cheapest plan for accuracy" in text and "other mix" in text and "Put in" in text
    assert answer["simulated"]["width"] <= 0.0805 and answer["cost_gold"] == 2
    code, text, _ = run(
        "plan", "--budget", "30", *typed, "--metric", "recall", "--positive", "0", "--seed", "2"
    )
    assert code == 0 and "narrowest plan for recall" in text
    code, text, _ = run("plan", CARIES, "--width", ".1", "--labeler", "5::3", *quick)
    assert code == 0 and "5 (error" in text


def test_plan_says_what_is_wrong(run):
    for arguments, message in (
        (("--width", ".1"), "no labelers"),
        (("--width", ".1", "--budget", "3", "--labeler", "a:.2:1"), "either width"),
        (("--width", ".1", "--labeler", "a"), "write name:error:cost"),
        (("--width", ".1", "--labeler", "a:.2:1", "--positive", "yes"), "classes are numbers"),
    ):
        code, _, err = run("plan", *arguments)
        assert code == 2 and message in err and "Traceback" not in err


def test_help_is_fast_and_loads_no_jax(pytestconfig):
    """`--help` of all and of one command answers without NumPy; on cd70ba6 it took 2.5 s."""
    code = """
import sys
from jtruth.cli import main
for sys.argv[1:] in ["--help"], ["evaluate", "--help"]:
    try:
        main()
    except SystemExit as end:
        assert not end.code and not {"jax", "numpy"} & set(sys.modules), sorted(sys.modules)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=pytestconfig.rootpath)
    assert done.returncode == 0 and done.stdout.count("Show this message") == 2, done.stderr


def test_a_page_to_forward_says_how_it_was_made(run, small):
    path = small / "page.html"
    code, _, _ = run(
        "labelers", small / "labels.csv", "--gold", small / "gold.csv", "--report", path, "--seed", "3"
    )
    page = path.read_text()
    assert code == 0 and "How good is every labeler?" in page and "<svg" in page
    assert "jtruth labelers" in page and "--seed 3" in page and "jax " in page
    code, _, err = run("labelers", small / "labels.csv", "--report", small / "nowhere" / "page.html")
    assert code == 2 and "--report" in err and "there is no folder" in err
