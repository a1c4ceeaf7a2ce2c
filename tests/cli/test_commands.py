"""Commands of Python functions: shares, corrections, ask, sensitivity, models, simulated files."""

import csv
import html
import io
import itertools
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import polars as pl
import pytest
import typer

import jtruth as jt
from jtruth.answers import Document, facts
from jtruth.asking import ask_next
from jtruth.cli import classifier
from jtruth.cli.app import SECTIONS, Sectioned
from jtruth.cli.options import COMMANDS, LABELS, OUTPUT, as_typed, command, flat, option
from jtruth.cli.output import give, progress
from jtruth.cli.reading import Tables, inclusion_of, labels_of, noise_of
from jtruth.evaluation import compare_classifiers
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.evaluation.assumptions.sensitivity import ways
from jtruth.io import parsing, read_gold, read_labels, read_noise, read_predictions
from jtruth.latent import Progress
from jtruth.noise import Symmetric
from tests.cli.files import rows_of, write

pytestmark = pytest.mark.usefixtures("few_lineages")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def made(run, folder):
    """What `jtruth simulate` writes is one for all tests: 60 samples, 3 labelers."""
    if not (folder / "labels.csv").exists():
        options = ("--samples", 60, "--labelers", 3, "--classes", "fail,pass", "--seed", 1)
        code, out, err = run("simulate", folder, *options)
        assert code == 0 and "next: jtruth evaluate" in out, err
    return folder


def test_simulated_files_are_what_evaluate_reads(made):
    labels = read_labels(made / "labels.csv")
    assert labels.num_samples == 60 and labels.workers == ("w0", "w1", "w2")
    assert labels.classes == ("fail", "pass")
    truth = read_gold(made / "truth.csv", labels)
    right = (np.asarray(truth)[:, None] == labels.to_matrix()).mean()
    assert 0.66 < right < 0.94  # 180 labels of error .2: 4.6 standard deviations, two-sided 1e-5 at most


def test_prevalence_says_rate_and_what_to_ask(answer, made):
    labels, rows = read_labels(made / "labels.csv"), rows_of(made / "truth.csv")
    gold = write(made / "some.csv", ("task", "label"), rows[:20])
    found, out = answer("prevalence", made / "labels.csv", "--gold", gold, "--report", made / "p.html",
                        "--ask-out", made / "ask.csv", "--ask", 7)  # fmt: skip
    direct = jt.prevalence(labels, gold=read_gold(gold, labels), key=0)
    assert found["shares"]["pass"]["mean"] == pytest.approx(direct.shares["pass"].mean)
    assert found["gold_to_halve"] > 0 and "Verify next: " in out and "next" not in found
    asked = rows_of(made / "ask.csv")
    assert (made / "ask.csv").read_text().startswith("task,label,stratum,stratum_size\n")
    assert [row[0] for row in asked[:7]] == found["ask"] and len(asked) == 27
    assert {row[0] for row in asked[7:]} == {row[0] for row in rows[:20]}
    assert "What share of the samples is of each class?" in (made / "p.html").read_text()


def test_labelers_consensus_and_error_rates_go_on(run, answer, made):
    found, _ = answer("labelers", made / "labels.csv", "--consensus", made / "c.csv",
                      "--save", made / "psi.json")  # fmt: skip
    labels = read_labels(made / "labels.csv")
    read = jt.read_predictions(made / "c.csv", labels)
    assert (read.probabilities.argmax(axis=1) == read.y_pred).all()
    noise, written = noise_of(made / "psi.json", labels)[0], read_noise(made / "psi.json", labels)
    rows = {row["worker"]: row for row in found["labelers"]}
    for t, name in enumerate(labels.workers):
        np.testing.assert_allclose(written["confusion_matrices"][t], rows[name]["confusion_matrix"]["mean"])
        assert (noise.matrices[:, t].std(axis=0) > 0.01).all()  # how well they are known
    assert written["prior"].sum() == pytest.approx(1)
    code, out, err = run("evaluate", made / "labels.csv", "--predictions", made / "c.csv", "--noise",
                         made / "psi.json")  # fmt: skip
    assert code == 0 and "Error rates are given as 64 draws" in out, err
    code, out, err = run("clean", made / "labels.csv", "--noise", made / "psi.json", "--budget", "5")
    assert code == 0 and "5 most suspicious labels" in out, (out, err)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--differ", "68/1000", "--mislabeling", "0.01"), "0.059 [0.043, 0.075]"),
        (("--differ", "68/1000", "--mislabeling", "2/200"), "0.059 [0.039, 0.079]"),
        (
            ("--called", "680/1000", "--sensitivity", "45/50", "--specificity", "40/50"),
            "0.686 [0.587, 0.809]",
        ),
    ],
)
def test_correct(run, arguments, said):
    code, out, err = run("correct", *arguments)
    assert code == 0 and said in out, (out, err)


@pytest.mark.parametrize("truth", [False, True])
def test_ask(run, answer, tmp_path, truth):
    run("simulate", tmp_path, "--samples", 60, "--labelers", 4, "--looks", 0.6, "--seed", 2)
    labels = read_labels(tmp_path / "labels.csv")
    ask = ("ask", tmp_path / "labels.csv", "--predictions", tmp_path / "predictions.csv", "--num", 5,
           "--common-only", *(["--truth"] if truth else []))  # fmt: skip
    found, out = answer(*ask, "--out", tmp_path / "ask.csv")
    header, rows = (tmp_path / "ask.csv").read_text().splitlines()[0], rows_of(tmp_path / "ask.csv")
    assert len(out.splitlines()) <= 40 and len(rows) == len(found["rows"]) == 5
    if not truth:
        given = {(labels.tasks[i], labels.workers[t]) for i, t, _ in zip(*labels.arrays, strict=True)}
        assert header == "task,worker,drop" and not given & {(task, who) for task, who, _ in rows}
        return
    asked = ask_next(labels, 5, y_pred=jt.read_predictions(tmp_path / "predictions.csv", labels).y_pred)
    assert header == "task,label,stratum,stratum_size" and found["columns"] == [
        "task",
        "stratum",
        "stratum_size",
    ]
    for (task, label, *stratum), i in zip(rows, asked.samples, strict=True):
        h = asked.strata[i]
        assert (task, label, stratum) == (labels.tasks[i], "", [asked.names[h], str(asked.sizes[h])])
    chances = write(
        tmp_path / "all.csv", ("task", "inclusion"), [(t, 0.1 + k / 99) for k, t in enumerate(labels.tasks)]
    )
    np.testing.assert_allclose(inclusion_of(chances, labels), 0.1 + np.arange(labels.num_samples) / 99)


def test_sensitivity_and_its_tipping_point(answer, small):
    graded = ("--predictions", small / "pred.csv", "--noise", small / "noise.json")
    found, out = answer("sensitivity", small / "labels.csv", *graded, "--what", "prior", "--threshold", "0.5")
    assert found["sentence"].startswith("Accuracy stays above 0.5") and found["sentence"] in out
    assert len(found["values"]) == len(found["metrics"]["accuracy"])


def test_names_in_a_help_are_in_the_table_and_a_wrong_one_lists_all(run, refusal, small, monkeypatch):
    monkeypatch.setattr("jtruth.cli.classifier.judged", lambda *given: pytest.fail("the fit was begun"))
    graded = ("sensitivity", small / "labels.csv", "--predictions", small / "pred.csv")
    err = refusal(*graded, "--what", "mine")
    assert all(repr(name) in err for name in ways())
    _, out, _ = run("sensitivity", "--help")
    lines = " ".join(out.split())
    for typed, known in (("--what", [*ways()]), ("--assume", [e.group for e in ASSUMPTIONS.values()])):
        said = re.search(rf"{typed} [A-Z]+ ((?:\w+, )+\w+ or \w+)", lines)[1]
        assert set(said.replace(" or ", ", ").split(", ")) == set(filter(None, known)), said


def test_version(run):
    code, out, _ = run("--version")
    assert code == 0 and out.strip() == f"jtruth {jt.__version__}"


def test_every_command_has_an_example_that_its_options_know(run):
    for function in sum(SECTIONS.values(), ()):
        example = COMMANDS[function][1]
        code, out, _ = run(function.__name__, "--help")
        shown = " ".join(out.split())
        assert code == 0 and f"Example: jtruth {function.__name__} {example}" in shown
        options = shown.partition("Example: ")[0]
        assert all(word in options for word in example.split() if word.startswith("--")), example


def test_order_is_a_number_for_each_task(small):
    rows = [(*row, 10 - int(row[0][1:])) for row in rows_of(small / "labels.csv")]
    path = write(small / "when.csv", ("task", "worker", "label", "when"), rows)
    tables = Tables(as_typed(classifier.evaluate, file=path, order="when"))
    assert tables.order().tolist() == [10 - int(task[1:]) for task in tables.labels.tasks]
    text = path.read_text()
    for wrong in ("noon", "1_0"):  # Python alone takes the second for ten
        path.write_text(text.replace(",10", f",{wrong}"))
        with pytest.raises(ValueError, match=f"when '{wrong}' is neither a number nor a date"):
            Tables(as_typed(classifier.evaluate, file=path, order="when")).order()


def test_help_groups_commands_and_options(run):
    """Every command and every option once, under a heading; plain text."""
    code, out, _ = run("--help")
    heads = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert code == 0 and [f"{title}:" for title in SECTIONS] == heads[-len(SECTIONS) :]
    assert all(out.count(f"\n  {function.__name__} ") == 1 for function in sum(SECTIONS.values(), ()))
    code, out, _ = run("evaluate", "--help")
    assert code == 0 and "\x1b" not in out
    parts = out.split("\n\n")
    read = run("evaluate", "--help-reading")[1]
    assert read.startswith("How tables are read:") and len(out.splitlines()) <= 40
    (written,) = (part for part in parts if part.startswith("Output and help:"))
    (asked,) = (part for part in parts if part.startswith("Input and options:"))
    assert "--sep" in read and "--report" in written and "--full" in written and "--rater" in asked
    assert "--sep" not in written + asked and out.count("--help ") == 1


@pytest.fixture
def spied(monkeypatch):
    """(unit, parts) of every bar that is made, and what it is told."""
    made, calls = [], []

    @contextmanager
    def spy(unit, parts=1):
        made.append((unit, parts))
        yield lambda done, planned: calls.append((done, planned))

    for module in ("people", "shares"):
        monkeypatch.setattr(f"jtruth.cli.{module}.progress", spy)
    return made, calls


def test_long_work_says_how_far_it_is(run, small, spied):
    """What moves the bar is called until all that was planned is done."""
    code, _, err = run("prevalence", small / "labels.csv", "--assume", "independent")
    assert code == 0 and spied[1][-1][0] == spied[1][-1][1] > 0, err


def test_the_bar_of_models_is_told_by_the_sampler_and_counts_the_models(refusal, small, monkeypatch, spied):
    """What is sampled calls the bar that was made for as many models as were asked for."""

    def sampled(labels, *, models, key, settings, nuts):
        assert not nuts
        settings.progress.report(7, 9)
        raise ValueError(f"asked for {models}")

    monkeypatch.setattr("jtruth.comparison.compare_models", sampled)
    err = refusal("models", small / "labels.csv", "--models", "one_coin, pooled,mace")
    assert "['one_coin', 'pooled', 'mace']" in err
    assert spied == ([("model", 3)], [(7, 9)])


class Terminal(io.StringIO):
    """Standard error that says that it is a terminal."""

    def isatty(self):
        return True


def command_bar():
    with progress("sweeps") as advance:
        for done in range(1, 4):
            advance(done, 3)
            time.sleep(0.11)


def python_bar():
    with Progress().reporting() as tell:
        for done in range(1, 4):
            time.sleep(0.11)
            tell(done, 3)


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
@pytest.mark.parametrize(("work", "says"), [(command_bar, "sweeps"), (python_bar, "3/3")])
def test_bars_are_for_terminals_and_have_no_colour(monkeypatch, kind, work, says):
    """Asked for or not: none into a pipe or a file, no colour that NO_COLOR would forbid, gone at the end."""
    screen = kind()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("jtruth.cli.output._DELAY", 0.0)
    monkeypatch.setattr("jtruth._checkpoint._UNASKED", 0.05)
    work()
    drawn = screen.getvalue()
    assert (says in drawn) == (kind is Terminal) and not re.search(r"\x1b\[[0-9;]*m", drawn)
    assert kind is not Terminal or drawn.endswith("\r")


def test_one_bar_for_all_models_never_goes_back_and_is_gone_at_the_end(monkeypatch):
    """Three runs of ten steps, the second of which plans more when it is half done."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("jtruth.cli.output._DELAY", 0.0)
    monkeypatch.setattr("tqdm.std.time", partial(next, itertools.count(0.0, 0.11)))  # every step is drawn
    steps = (
        [(k, 10) for k in range(1, 11)]
        + [(k, 10 if k < 6 else 20) for k in range(1, 21)]
        + [(3, 10), (10, 10)]
    )
    with progress("model", 3) as advance:
        for done, planned in steps:
            advance(done, planned)
    drawn = screen.getvalue()
    shown = [int(x) for x in re.findall(r"(\d+)%", drawn)]
    assert shown == sorted(shown) and shown[-1] == 100 and 33 in shown
    assert all(f"model {k} of 3" in drawn for k in (1, 2, 3)) and "model 4" not in drawn
    assert not drawn.rsplit("\r", 2)[-2].strip() or not drawn.rsplit("\r", 1)[-1].strip()


IN_TURN = """
import sys
from jtruth.cli import main
for number, words in enumerate({}):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit:
        print("end", number)
"""


@pytest.mark.slow
def test_neither_terminals_nor_pipes_get_colours(small):
    """FORCE_COLOR and NO_COLOR alike: help, answer and refusal are plain text."""
    commands = [["inspect", str(small / "labels.csv")], ["inspect", "--help"], ["inspect", "--no"]]
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        command = [sys.executable, "-c", IN_TURN.format(commands)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {variable: "1"})
        said = done.stdout + done.stderr
        assert all(part in said for part in ("3 labelers", "Show this message", "No such option", "end 2"))
        assert "\x1b" not in said


def test_a_command_is_one_function(capsys, small):
    """The recipe of docs/extending.md: options of its own and shared ones, the help and all faces."""

    @command(
        "LABELS.csv --twice", LABELS, OUTPUT,
        twice=option("Count each two times.", False),
        least=option("Refuse fewer.", 0),
    )  # fmt: skip
    def count(args):
        """How many labels there are."""
        if args.least < 0:
            raise ValueError("--least is below 0")
        number = labels_of(args).num_labels * (1 + args.twice)
        give(args, Document("How many?", "", f"{number} labels", (facts(number=number),)))

    program = typer.Typer(rich_markup_mode=None)
    program.command(cls=Sectioned)(flat(count))

    def call(*words):
        program(list(map(str, words)), standalone_mode=False)
        return capsys.readouterr().out

    told = call("--help")
    assert "How many labels there are." in told and "--least" in told and "--sep" not in told
    assert "--sep" in call("--help-reading")
    assert call(small / "labels.csv", "--twice", "--json", small / "n.json").strip() == "240 labels"
    assert json.loads((small / "n.json").read_text())["number"] == 240
    with pytest.raises(ValueError, match="below 0"):
        call(small / "labels.csv", "--least", -1)


def test_agreement_says_what_python_says(run, answer, small):
    found, out = answer("agreement", "labels.csv", "--report", "a.html", folder=small)
    expected = jt.labeler_agreement(jt.read_labels(small / "labels.csv"))
    coefficient = expected.overall["krippendorff"]
    assert found["overall"]["krippendorff"]["value"] == pytest.approx(coefficient.value)
    assert found["level"] == 0.95 and found["key"] == 0 and len(found["pairs"]) == 3
    assert found["pairs"][0]["value"] == pytest.approx(next(iter(expected.pairs.values())).value)
    page = html.unescape((small / "a.html").read_text())
    for text in ("ann, bob", str(coefficient), str(list(expected.pairs.values())[2])):
        assert text in " ".join(out.split()) and text in " ".join(page.replace("−", "-").split())
    looked = " ".join(run("inspect", "labels.csv", folder=small)[1].split())
    assert all(str(one) in looked for one in expected.overall.values())


def test_agreement_by_weights_and_level(run, small):
    code, out, err = run("agreement", "labels.csv", folder=small, full=False)
    assert (
        code == 0 and len(out.splitlines()) <= 15 and "kappa of pairs ranges from" in " ".join(out.split())
    ), err
    code, out, _ = run("agreement", "labels.csv", "--weights", "quadratic", "--level", 0.5, folder=small)
    assert code == 0 and "quadratic weights; interval differences for alpha" in out
    found = jt.labeler_agreement(jt.read_labels(small / "labels.csv"), weights="quadratic", level=0.5)
    assert str(found.overall["gwet_ac1"]) in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "kappa"),
    [
        (("low", "medium", "high"), "0.286"),  # by hand: 1 - (5 / 6) / (7 / 6)
        (("1", "2", "10"), "0.512"),  # 1 - (82 / 6) / 28
        (("ash", "elm", "oak"), None),
    ],
)
def test_agreement_goes_by_what_classes_are(run, tmp_path, words, kappa):
    pairs = [(0, 0), (0, 1), (1, 1), (2, 2), (2, 0), (1, 1)]
    rows = [f"{k},{words[a]},{words[b]}" for k, (a, b) in enumerate(pairs)]
    (tmp_path / "labels.csv").write_text("\n".join(["item,x,y", *rows]) + "\n")
    asked = ("--wide", "--task", "item", "--weights", "quadratic", "--full")
    code, out, error = run("agreement", "labels.csv", *asked, folder=tmp_path)
    if kappa is None:
        assert code == 2 and "--weights quadratic needs the order" in error and "Python" not in error
        assert "--scale ordinal --classes low,mid,high" in error
    else:
        assert code == 0 and re.search(rf"^x, y +{kappa}", out, re.M), out
        assert ("--scale nominal" in " ".join(out.split())) == (words[0] == "low")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--weights", "cubic"), "cubic"),
        (("--level", "2"), "level"),
        (("--worker", "nobody"), "no column 'nobody'"),
    ],
)
def test_what_cannot_be_asked_of_agreement(refusal, small, more, message):
    assert message in refusal("agreement", "labels.csv", *more, folder=small)


def test_compare(answer, refusal, small):
    lines = (small / "pred.csv").read_text().splitlines()
    turned = [line.replace("yes", "no") if k % 4 == 0 else line for k, line in enumerate(lines)]
    (small / "worse.csv").write_text("\n".join(turned) + "\n")
    (small / "part.csv").write_text("\n".join(lines[:31]) + "\n")
    base = ["compare", small / "labels.csv", small / "pred.csv"]
    asked = ["--classes", "no,yes", "--noise", small / "noise.json", "--metric", "recall", "--margin", ".01"]
    both = [*base, small / "worse.csv", *asked, "--at-least", ".9"]
    told, out = answer(*both, "--plot", small / "o.svg", "--report", small / "o.html")
    assert "pred has the better recall" in out and "P(at least 0.9)" in out
    page = (small / "o.html").read_text()
    assert "Which classifier has the better recall?" in page and "pred - worse" in page
    labels = read_labels(small / "labels.csv", classes=("no", "yes"))
    said = {name: read_predictions(small / f"{name}.csv", labels).y_pred for name in ("pred", "worse")}
    given = read_noise(small / "noise.json", labels)
    noise, prior = Symmetric(given["symmetric"], 2), np.array(given["prior"])
    options = {"metric": "recall", "margin": 0.01, "at_least": 0.9, "noise": noise, "prior": prior}
    again, _ = answer(*both, "--metric", "sensitivity")
    assert json.loads(json.dumps(again["comparison"]).replace("sensitivity", "recall")) == told["comparison"]
    assert told.pop("next").startswith("jtruth ask")
    assert told == compare_classifiers(said, labels, **options).to_dict()
    assert "</svg>" in (small / "o.svg").read_text()

    assert "common" in refusal(*base, small / "part.csv", *asked)
    found, out = answer(*base, small / "part.csv", *asked, "--common-only")
    assert found["comparison"]["num_samples"] == 30 and "30 common tasks" in out
    assert "two classifiers are called 'pred'" in refusal(*base, small / "pred.csv", *asked)
    assert "1 classifier cannot be compared" in refusal(*base, *asked)


def test_consensus(answer, small):
    asked = ("--gold", small / "gold.csv", "--out", small / "c.csv", "--method", "majority_vote")
    found, out = answer("consensus", small / "labels.csv", *asked)
    assert "40 samples by majority_vote" in out and "every label has the same weight" in out
    with open(small / "c.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["task", "label", "p_no", "p_yes", "labels", "disagree"]
    for row, sample in zip(rows, found["samples"], strict=True):
        assert (row["task"], row["label"]) == (sample["task"], sample["label"])
        assert float(row[f"p_{row['label']}"]) == pytest.approx(sample["probability"])
        assert row["disagree"].split() == sample["disagree"] and row["labels"] == "3"
    gold = dict(rows_of(small / "gold.csv"))
    assert all(row["label"] == gold[row["task"]] for row in rows if row["task"] in gold)
    # Three votes on each task: whoever disagrees is one of three, or gold speaks against two and more.
    assert all(len(s["disagree"]) <= 1 for s in found["samples"] if s["task"] not in gold)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "vote"), "--method vote is not available; choose one of majority_vote,"),
        (("--method", "majority_vote", "--prior", ".5,.5"), "leave prior out"),
        (("--out", "nowhere/c.csv"), "there is no folder 'nowhere'"),
    ],
)
def test_what_consensus_refuses(refusal, small, words, said):
    assert said in refusal("consensus", small / "labels.csv", *words)


def test_a_large_file_is_left_to_an_engine(run, monkeypatch, tmp_path):
    """Polars or, where it is not installed, DuckDB; what needs tasks by name is refused."""
    rows = [(f"t{k}", f"w{t}", "yes" if (k % 3 == 0) != (k % (5 + t) == 0) else "no")
            for k in range(300) for t in range(4)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    frame.write_parquet(tmp_path / "labels.parquet")
    monkeypatch.setattr(parsing, "_ENGINE_ABOVE", 1000)
    code, out, _ = run("labelers", "labels.parquet", "--save", "rates.json", folder=tmp_path)
    assert code == 0 and "4 labelers, 1,200 labels" in " ".join(out.split()).replace("1200", "1,200")
    assert set(json.loads((tmp_path / "rates.json").read_text())["confusion_matrices"]) == {
        "w0",
        "w1",
        "w2",
        "w3",
    }
    code, out, _ = run("prevalence", "labels.parquet", folder=tmp_path)
    assert code == 0 and "300 samples" in out and "next: jtruth labelers labels.parquet" in out
    code, _, err = run("prevalence", "labels.parquet", "--by", "day", folder=tmp_path)
    assert code == 2 and "--by needs tasks by name" in err
    monkeypatch.setitem(sys.modules, "polars", None)
    found = parsing.large_table(tmp_path / "labels.parquet", parsing.FilePlan())
    assert type(found[0]).__name__ == "DuckDBPyRelation" and found[1]["worker"] == "worker"
