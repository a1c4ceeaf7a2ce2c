"""The command line: printed text, written files, and exit codes."""

import re
import subprocess
import sys

import pandas as pd
import pytest

from jtruth.evaluation import evaluate
from jtruth.io import read_labels
from tests.cli.conftest import crowd

pytestmark = pytest.mark.usefixtures("few_lineages")

CARIES, ANESTHESIA = "examples/caries.csv", "examples/anesthesia.csv"


def test_the_first_command_of_the_readme(answer, monkeypatch):
    """It asks for what `evaluate` answers to these predictions and labels by default, and shows all of it.

    Of the models that a default fits only one is fitted: what is said of all is in the tests of `evaluate`.
    """
    calls = []

    def spy(*given, **options):
        calls.append((given, options, evaluate(*given, **options | {"assume": "independent"})))
        return calls[-1][-1]

    monkeypatch.setattr("jtruth.evaluation.evaluate", spy)
    found, out = answer("evaluate", CARIES, "--rater", "5")
    for part in ("recall", "precision", "majority vote", "worst first", " (does not fit): "):
        assert part in out
    split = read_labels(CARIES).split_rater("5")
    (((y_pred, labels), options, result),) = calls
    assert (y_pred == split.y_pred).all() and (labels.to_matrix() == split.labels.to_matrix()).all()
    chosen = {name: value for name, value in options.items() if value is not None and value is not False}
    assert set(chosen) - {"progress"} == {"level", "key", "method"} and options["method"] == "bayes"
    assert options["level"] == 0.95 and options["key"] == 0
    assert found["metrics"] == result.to_dict()["metrics"] and found["num_samples"] == 3869


def test_options_reach_the_answer(answer, small):
    base = ["evaluate", small / "labels.csv", "--predictions", small / "pred.csv", "--classes", "no,yes"]
    known = [*base, "--noise", small / "noise.json"]
    found, out = answer(*known, "--level", "0.8", "--positive", "no", "--seed", "3")
    assert found["level"] == 0.8 and found["positive"] == "no" and "80 %" in out
    assert answer(*known, "--method", "empirical_bayes")[0]["method"] == "empirical_bayes"
    assert answer(*known, "--prior", ".9,.1")[0]["prior"] == pytest.approx([0.9, 0.1])
    assert answer(*known, "--gold", small / "gold.csv", "--common-only")[0]["num_gold"] == 5
    one, _ = answer(*known)
    two, _ = answer(*base, "--prior", ".5,.5", "--noise", small / "matrices.json")
    assert one["metrics"]["recall"]["mean"] == pytest.approx(two["metrics"]["recall"]["mean"], abs=1e-9)


def test_fast_is_the_method_laplace(run, small, monkeypatch):
    """What is not sampled compiles nothing, and says the same."""
    words, asked = ["evaluate", small / "labels.csv", "--rater", "ann"], []

    def spy(*given, **how):
        asked.append(how)
        return evaluate(*given, **how)

    monkeypatch.setattr("jtruth.evaluation.evaluate", spy)
    code, _, err = run(*words, "--fast", full=False)
    assert code == 0, err
    monkeypatch.setattr("jtruth.evaluation.evaluate", lambda *_, **how: asked.append(how) or 1 / 0)
    run(*words, "--method", "laplace")
    assert asked[0]["method"] == "laplace" and asked[0].keys() == asked[1].keys()
    assert all(asked[1][name] == value for name, value in asked[0].items() if name != "progress")


UNUSABLE = [
    (["evaluate", CARIES], "either --predictions"),
    (["evaluate", "examples/none.csv", "--rater", "5"], "none.csv"),
    (["evaluate", CARIES, "--rater", "9"], "'9'"),
    (["evaluate", CARIES, "--rater", "5", "--prior", "a,b"], "one number for each class"),
    (["evaluate", CARIES, "--rater", "5", "--level", "2"], "between 0 and 1"),
    (["evaluate", CARIES, "--rater", "5", "--worker", "rater"], "rater"),
    (["evaluate", CARIES, "--rater", "5", "--method", "magic"], "magic"),
    (["evaluate", CARIES, "--rater", "5", "--positive", "yes"], "yes"),
    (["evaluate", CARIES, "--rater", "5", "--fast", "--method", "plug_in"], "two different methods"),
    (["evaluate", CARIES, "--rater", "5", "--fast", "--scores"], "--predictions"),
    (["evaluate", CARIES, "--rater", "5", "--fast", "--by", "worker"], "--fast is not used"),
    (["plan", "--width", ".1"], "no labelers"),
    (["plan", "--width", ".1", "--labeler", "a:.2:1", "--positive", "yes"], "classes are numbers"),
    (["inspect", "x.csv", "--json", "/nowhere/at/all.json"], "no folder '/nowhere/at'"),
    (["inspect", "x.csv", "--json", "examples"], "this is a folder"),
    (["inspect", CARIES, "--sep", "ab"], "one character"),
    (["evaluate", CARIES, "--rater", "5", "--sep", "\\t"], "for a tab type"),
    (["evaluate", ANESTHESIA, "--rater", "2", "--repeats", "error"], "Set --repeats majority"),
    (["inspect", CARIES, "--sep", ";", "--task", "x"], "set --sep ,"),
    (["labelers", CARIES, "--report", "nowhere/page.html"], "there is no folder 'nowhere'"),
    (["correct"], "give --differ and --mislabeling"),
    (["correct", "--differ", "68"], "--differ needs --mislabeling"),
    (["correct", "--differ", "68", "--mislabeling", "0.1"], "give two counts such as 68/1000"),
    (["correct", "--called", "6/10", "--sensitivity", "high", "--specificity", ".9"],
     "give a rate such as 0.01"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "part"), UNUSABLE, ids=[" ".join(a[1:]) for a, _ in UNUSABLE])
def test_unusable_input_is_one_readable_line_and_exit_code_2(refusal, arguments, part):
    err = refusal(*arguments)
    assert part in err and err.startswith("jtruth: ")


def test_plan(run, answer):
    """A plan from typed labelers, and from a file; the answer, its alternatives, and what was put in."""
    quick = ["--rates", "known", "--sets", "10"]
    typed = ["--labeler", "crowd:.25:.05:3", "--labeler", "expert:.05:.5", "--prior", ".7,.3", *quick]
    found, text = answer("plan", "--width", ".08", *typed, "--cost-sample", ".02", "--cost-gold", "2")
    assert "cheapest plan for accuracy" in text and "other mix" in text and "Input" in text
    assert found["simulated"]["width"] <= 0.0805 and found["cost_gold"] == 2
    words = ("--budget", "30", *typed, "--metric", "recall", "--positive", "0", "--seed", "2")
    code, text, _ = run("plan", *words)
    assert code == 0 and "narrowest plan for recall" in text
    code, text, _ = run("plan", CARIES, "--width", ".1", "--labeler", "5::3", *quick)
    assert code == 0 and "5 (error" in text


def test_a_plan_from_a_file_learns_from_its_gold_and_proposes_it(answer, tmp_path):
    """A person beside judges is proposed as gold; used as such she is no labeler."""
    _, rows = crowd(3, 60, "00", ("gpt", "claude", "human"))
    wide = pd.DataFrame(rows, columns=["task", "who", "label"]).pivot(
        index="task", columns="who", values="label"
    )
    wide.reset_index()[["task", "gpt", "claude", "human"]].to_csv(path := tmp_path / "w.csv", index=False)
    for words in (("--width", 0.3, "--rates", "known"), ()):
        found, _ = answer("plan", path, "--sets", 2, *words)
        assert "--gold column:human" in found["next"]
        found, _ = answer("plan", path, "--gold", "column:human", "--sets", 2, *words)
        assert "--gold column:human" in found["next"]
        names = {one["name"] for one in found.get("labelers", ())}
        assert names == ({"gpt", "claude"} if words else set())
    assert [row["num_new"] for row in found["options"]] == [0, 30, 100, 300]


def test_plan_starts_from_the_labels_there_are(answer, refusal, small):
    """Widths, costs and target; a guessed classifier is said; options of the other question are refused."""
    path, gold = small / "labels.csv", ("--gold", small / "gold.csv")
    found, out = answer("plan", path, *gold, "--cost-gold", 5, "--cost-label", 0.5, "--sets", 1)
    assert [row["cost"] for row in found["options"]] == [0, 20, 40, 60, 150, 175]  # 35 are not verified yet
    assert all(0 < row["width"] < 1 for row in found["options"]) and found["target"] == "population"
    assert "class shares for new samples" in out and "a label 0.5, a verified label 5" in out
    assert "simulated" in out and "next:" not in out
    guessed, out = answer("plan", path, "--metric", "accuracy", "--target", "in-sample", "--sets", 1)
    assert "for these samples" in out and "give --predictions if there is one" in " ".join(out.split())
    assert guessed["options"][4]["cost"] is None and " --truth " in guessed["next"]
    assert "needs a file of labels" in refusal("plan", "--width", 0.1, "--labeler", "a:.2:1", *gold)
    assert "otherwise labelers and classes come from the file" in refusal("plan", path, "--prior", ".5,.5")


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


def test_a_page_has_the_numbers_of_the_screen_and_with_full_each_assumption(run, small, monkeypatch):
    from jtruth.evaluation.assumptions import registry

    fitted, whole, path = [], registry.fit_joint, small / "page.html"

    def counted(*arguments, **options):
        fitted.append(options["dependence"])
        return whole(*arguments, **options)

    monkeypatch.setattr(registry, "fit_joint", counted)
    words = ("evaluate", "labels.csv", "--predictions", "pred.csv", "--report", path)
    code, out, err = run(*words, "--require", "accuracy >= .3", folder=small, full=False)
    brief, number = path.read_text(), re.search(r"accuracy +(0\.\d+) \[(0\.\d+), (\d\.\d+)\]", out)
    assert number and "{}&nbsp;[{},&nbsp;{}]".format(*number.groups()) in brief, (code, err)
    assert fitted == ["independent"] and "takes some seconds, use --full." in brief
    assert "if errors are independent" not in brief
    code, out, _ = run(*words, folder=small)
    page = path.read_text()
    assert code == 0 and len(fitted) == 5 and len(set(fitted)) == 4  # each once for a command
    assert "{}&nbsp;[{},&nbsp;{}]".format(*number.groups()) in page and number[0].split()[-1] in out
    assert "if errors are independent" in page and "Estimates under each assumption" in out
    assert "use --full" not in page


def test_a_page_to_forward_says_how_it_was_made(run, small):
    path = small / "page.html"
    words = ("--gold", small / "gold.csv", "--report", path, "--seed", "3")
    code, _, _ = run("labelers", small / "labels.csv", *words)
    page = path.read_text()
    assert code == 0 and "How good is each labeler?" in page and "<svg" in page
    assert "jtruth labelers" in page and "--seed 3" in page and "jax " in page
