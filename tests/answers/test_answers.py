"""Every answer in every output: consistent contents, no line wider than the terminal, short by default."""

import functools
import itertools
import json

import numpy as np
import pandas as pd
import pytest

import jtruth as jt
from jtruth.answers import Column, Curve, Document, Matrix, Notes, Table
from jtruth.answers.blocks import cell_text, value_of
from jtruth.answers.data import answer_dict, answer_frame, frame, table_rows
from jtruth.answers.html import page_html
from jtruth.answers.terminal import size, terminal_text
from jtruth.asking import ask_next, next_labels
from jtruth.cleaning import suspicious_labels
from jtruth.cleaning.expected_fall import Advice
from jtruth.comparison import LeaveOneOut, ModelComparison
from jtruth.evaluation import errs_on, quick_labelers
from jtruth.evaluation.calibration import evaluate_calibration
from jtruth.lam_stork import estimate_error_rate, rogan_gladen
from jtruth.planning import Labeler, Offer, Setting, best_plan, more_data
from jtruth.testing.of_labels import brier
from tests.answers.test_pages import read
from tests.evaluation.crowds import crowd, experts

pytestmark = pytest.mark.usefixtures("few_lineages")

N = 60
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
Z = np.where(RNG.random((N, 3)) < 0.8, Y[:, None], 1 - Y[:, None])
PRED, WORSE = (np.where(RNG.random(N) < right, Y, 1 - Y) for right in (0.9, 0.6))
SCORES = np.clip(0.5 + (Y - 0.5) * 0.4 + RNG.normal(0, 0.2, N), 0.01, 0.99)
GOLD = np.where(np.arange(N) < 40, Y, -1)
LABELS = jt.Labels.from_matrix(Z, 2)
LONG = [code.ravel() for code in np.indices(Z.shape)]
NOISE, EVEN = jt.noise.Symmetric(0.2, 2), [0.5, 0.5]
KNOWN = {"noise": NOISE, "prior": EVEN}
THREE = jt.Labels.from_matrix(RNG.integers(0, 3, (N, 3)), 3)
THREE_NOISE = {"noise": jt.noise.Symmetric(0.25, 3), "prior": [0.3, 0.3, 0.4]}


def models():
    loo = LeaveOneOut(-10.0, 1.0, 2.0, np.zeros(4), np.zeros(4), 0.7)
    zeros = np.array([0.0, -2.0])
    return ModelComparison(("m", "n"), (loo, loo), zeros, np.ones(2), (False, True), "told", ("doubt",), 0)


def duel(systems="xy"):
    """Every pair of systems on 20 questions, in both orders, by two judges."""
    rows = [(q, a, b, j, (a, b, "tie")[(q + len(j)) % 5 % 3], a) for q in range(20)
            for a, b in itertools.permutations(systems, 2) for j in ("m", "no")]  # fmt: skip
    return pd.DataFrame(rows, columns=["question", "model_a", "model_b", "judge", "winner", "human"])


def plan():
    setting = Setting((0.5, 0.5), 0.9, [Labeler("crowd", 0.2, 0.1, 3)], rates="known")
    return best_plan(setting, width=0.2, num_sets=5, key=0)


def issues():
    return suspicious_labels(LABELS, 0.2 + 0.6 * np.eye(2)[Y], key=0)


DAYS = np.array([f"2026-01-{1 + k % 12:02}" for k in range(N)])
ANSWERS = {
    "Evaluation": lambda: jt.evaluate(PRED, LABELS, **KNOWN),
    "Evaluation of three classes": lambda: jt.evaluate(Z[:, 0], THREE, **THREE_NOISE),
    "Evaluation by what-if": lambda: jt.evaluate(*crowd()[1:]),
    "Evaluation by votes": lambda: jt.evaluate(PRED, LABELS, method="majority_vote"),
    "Evaluation of nothing": lambda: jt.evaluate([1, 0], jt.Labels.from_matrix(np.array([[1], [0]]), 2)),
    "Comparison": lambda: jt.compare_classifiers({"a": PRED, "b": WORSE}, LABELS, **KNOWN, at_least=0.8),
    "LabelerReport": lambda: quick_labelers(LABELS),
    "Prevalence": lambda: jt.prevalence(LABELS, gold=GOLD, assume="independent"),
    "Prevalence by day": lambda: jt.prevalence(LABELS, gold=GOLD, by=DAYS),
    "Labelers by day": lambda: jt.evaluation.labelers_by_group(LABELS, DAYS, gold=GOLD),
    "Prevalence by group": lambda: jt.prevalence(LABELS, gold=GOLD, by=np.arange(N) % 3),
    "Prevalence by calibration": lambda: jt.prevalence(LABELS, calibration=(LABELS, Y)),
    "Gate": lambda: jt.prevalence(LABELS, gold=GOLD).require("1 >= .1", "1 < .5"),
    "ErrsOn": lambda: errs_on(LABELS, GOLD, {"words": RNG.random(N), "id": Y, "art": Y[::-1]}),
    "Preferences": lambda: jt.preferences(duel()),
    "Preferences of three": lambda: jt.preferences(duel("xyz"), gold="column:human"),
    "ScoreEvaluation": lambda: jt.evaluate_scores(SCORES, LABELS, **KNOWN, threshold=0.5),
    "ClassScores": lambda: jt.evaluate_class_scores(RNG.random((N, 3)), THREE, **THREE_NOISE, bins=4),
    "MetricPosterior": lambda: jt.metric_posterior(brier, SCORES, LABELS, **KNOWN),
    "Consensus": lambda: jt.consensus(LABELS, "majority_vote"),
    "LabelerAgreement": lambda: jt.labeler_agreement(LABELS),
    "SetAgreement": lambda: jt.set_agreement(*LONG, [["a", "b"][:k] for k in Z.ravel() + (LONG[0] > 30)]),
    "RatingAgreement": lambda: jt.rating_agreement(*LONG, Y[LONG[0]] + RNG.normal(0, 0.5, 3 * N)),
    "Issues": issues,
    "PlanSearch": plan,
    "MoreData": lambda: more_data(LABELS, offer=Offer((1,), (30,), 1.0, 5.0), num_sets=1),
    "LabelRequest": lambda: next_labels(
        jt.Labels.from_matrix(np.where(np.arange(N)[:, None] % 3 == np.arange(3), -1, Z), 2), PRED, 5,
        rates=(np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1)), EVEN)),
    "GoldRequest": lambda: ask_next(LABELS, 5, y_pred=PRED, gold=jt.io.Gold(GOLD)),
    "Sensitivity": lambda: ANSWERS["Evaluation"]().sensitivity_analysis("prior", values=[0.3, 0.5]),
    "ModelComparison": models,
    "CalibrationReport": lambda: evaluate_calibration(*experts()[::-1], method="temperature", split=2),
    "Advice": lambda: Advice(0.004, -0.01, 0.02, 0.001, 0.6, 20, True, "More cleaning may be worthwhile"),
    "RateEstimate": lambda: estimate_error_rate((68, 1000), mislabeling=(2, 200)),
    "RateEstimate of a share": lambda: rogan_gladen((50, 1000), sensitivity=0.9, specificity=0.9),
    "Inspection": lambda: jt.inspect_labels(LABELS),
}  # fmt: skip


SLOW = ("Evaluation by what-if", "CalibrationReport", "ClassScores")  # what fits much has tests of its own
PARAMS = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ANSWERS]


DRAWN = ("Evaluation of nothing", "Comparison", "PlanSearch", "Sensitivity", "LabelRequest")


@functools.cache
def made(name):
    return ANSWERS[name]()


@pytest.fixture(scope="module", params=PARAMS)
def answer(request):
    return made(request.param)


def flat(text):
    return " ".join(text.split()).replace("\u2212", "-")  # a page has minus signs that are some


def kept(table, most, last):
    first, rest, _ = table.shown(most, last)
    return [*first, *rest]


def said_by(block, rows):
    """Every label and every value of a block in words."""
    match block:
        case Table():
            return [block.label(row) for row in rows] + [
                cell_text(value_of(one, row), one.form, block.missing)
                for row in rows
                for one in block.columns
            ]
        case Matrix():
            pairs = [(a, b) for a in range(len(block.rows)) for b in range(len(block.columns))]
            return [*block.rows, *block.columns, *(block.text(a, b) for a, b in pairs)]
        case Notes():
            return [note.text for note in block.items if note.sign != "alarm"]
    return []


def test_what_one_face_shows_all_show(answer):
    """Labels and values of every block are in the text, on the page, and in the JSON by their names."""
    shown = answer.blocks()
    text, page = answer.summary(full=True), flat(" ".join(read(page_html(shown)).texts))
    lines, found = flat(text), json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert (
        flat(shown.sentence) in lines and flat(shown.sentence) in page and found["sentence"] == shown.sentence
    )
    assert found["schema"] == 1 and found["jtruth"] == jt.__version__ and found["question"] == shown.question
    for block in shown.blocks:
        long, short = ((), ())
        if isinstance(block, Table):
            long, short = (kept(block, *most) for most in ((40, 10), (20, 5)))
        assert all(flat(one) in page for one in said_by(block, long)), block
        assert all(flat(one) in lines for one in said_by(block, short)), block
        if getattr(block, "name", ""):
            held = found
            for name in block.name.split("."):
                held = held[name]
            in_json(block, held)


def in_json(block, held):
    match block:
        case Table():
            names = [row[block.key] for row in block.rows]
            assert set(names) <= set(held) if block.by_name else len(held) == len(names)
        case Notes():
            assert held == [note.text if note.data is None else note.data for note in block.items]
        case Matrix():
            assert set(held) == {"mean", "low", "high"}
        case Curve():
            assert all(one["x"] for one in ([held] if "x" in held else held.values()))


def test_every_table_is_a_frame(answer):
    pytest.importorskip("polars")
    shown = answer.blocks()
    for table in shown.tables():
        if table.name:
            found = answer_frame(shown, "polars", table.name)
            assert found[table.key].to_list() == [row[table.key] for row in table_rows(table)]
            one = table.columns[0]
            if isinstance(one.name, str):
                values = [row.get(one.name) for row in table.rows]
                assert found[one.name].to_list() == [None if v != v else v for v in values]
    with pytest.raises(ValueError, match="no table 'none such'"):
        answer.to_frame(table="none such")
    with pytest.raises(ValueError, match="nothing is determined"):
        frame([])


def test_no_line_is_wider_than_the_terminal(answer):
    plain = answer.blocks()
    shown = plain.more(next="jtruth evaluate " + "--option value " * 9)
    for full, width in itertools.product((False, True), (44, 60, 80, 132)):
        assert max(map(size, terminal_text(shown, full=full, width=width).splitlines())) <= width
    assert "\n  " not in plain.next


def test_brief_is_brief_and_the_default(answer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert str(answer) == answer.summary() and len(str(answer).splitlines()) <= 28
    dists = [dist for part in vars(answer).values() if isinstance(part, dict) for dist in part.values()]
    for one in (
        answer,
        getattr(answer, "posterior", None),
        *(one for one in dists if hasattr(one, "interval")),
    ):
        assert "\n" not in repr(one) and len(repr(one)) <= 200
    html = answer._repr_html_()
    assert "<p><b>" in html and "<script" not in html


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in DRAWN)) for name in ANSWERS]
)
def test_answers_can_be_drawn(name):
    """The kinds of blocks; what is drawn of every other answer is in `test_plots.py` too."""
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = made(name).plot()
    figure.canvas.draw()
    assert any(ax.has_data() or ax.texts for ax in figure.axes)
    plt.close(figure)


def test_three_notes_that_matter_most_and_they_look_different():
    from jtruth._validation.words import Read
    from jtruth.answers import Document, Note, warning_notes

    said = [Read("it was read as a wide table"), "numbers are doubtful", "Look first: stop"]
    shown = Document("q", "", "s", (warning_notes(said), Notes("", "", [Note("bad", "against")] * 4)))
    lines = terminal_text(shown, width=80).splitlines()
    assert lines[0] == "Look first: stop" and lines[2:5] == ["Warning: against."] * 3
    full = terminal_text(shown, full=True, width=80)
    assert "Note: it was read" in full and "Warning: numbers are doubtful" in full and full.count("stop") == 1


def test_rows_of_a_screen_may_have_another_order_than_the_json():
    rows = [{"name": name, "size": k} for k, name in enumerate("abc")]
    table = Table("sizes", "Sizes", "name", (Column("size", "size", form="d"),), rows, order=(2, 0, 1))
    document = Document("Which?", "", "These.", (table,))
    lines = terminal_text(document, full=True).splitlines()
    shown = [line.split()[0] for line in lines if line.split()[:1] in (["a"], ["b"], ["c"])]
    assert shown == ["c", "a", "b"]
    assert [row["name"] for row in answer_dict(document)["sizes"]] == ["a", "b", "c"]
