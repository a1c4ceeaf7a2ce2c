"""How far labels mislead models: mixtures by simulation, kinds of labelers, and where they are refused."""

import json

import numpy as np
import pytest
from scipy.special import expit

import jtruth as jt
from jtruth.answers.html import page_html
from jtruth.evaluation.assumptions.model_error import (
    ERRORS,
    FLAT,
    KINDS,
    PredictiveTable,
    law_of,
    rests_on,
    widened,
)
from jtruth.stats.draws import predictive
from jtruth.tables.posterior import TableDraws
from tests.evaluation.crowds import crowd

GROUPS = sorted({group for _, group in ERRORS})
SAID = {"majority_vote": (1.8, 0.1), "independent": (2.4, 0.2)}


def law(kind, group, said=SAID):
    return predictive(*widened(list(said.values()), group, kind))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kind", ["people", "llm_judges"])
def test_the_law_is_that_of_a_new_source(kind, group):
    """Drawn as the docstring has it: a source, its scale, a reading, its error. Scales are seven nodes of
    their law, which moves probabilities by less than .01; 200 000 draws by .001."""
    rng, n, (slope, log_tau, spread) = np.random.default_rng(0), 200_000, ERRORS[kind, group]
    which = rng.integers(0, 2, n)
    centre, scale = np.array(list(SAID.values()))[which].T
    tau = np.exp(log_tau + spread * rng.standard_normal(n))
    z = slope * centre + np.hypot(slope * scale, tau) * rng.standard_t(3, n)
    x = np.where(rng.random(n) < FLAT, rng.random(n), expit(z))
    found = law(kind, group).draws
    for p in (0.025, 0.1, 0.5, 0.9, 0.975):
        assert (found < np.quantile(x, p)).mean() == pytest.approx(p, abs=0.012)


@pytest.mark.parametrize("group", GROUPS)
def test_whoever_does_not_say_gets_half_of_each(group):
    """The distribution functions, at a hundred places; experts get the same, and say so."""
    places = np.linspace(0.01, 0.99, 100)
    unknown, experts, people, judges = (
        (law(kind, group).draws[:, None] < places).mean(axis=0)
        for kind in ("unknown", "experts", "people", "llm_judges")
    )
    np.testing.assert_allclose(unknown, 0.5 * (people + judges), atol=1.5e-3)
    np.testing.assert_array_equal(unknown, experts)
    assert "say who labels" in rests_on("unknown")
    assert "of experts there is no public source" in rests_on("experts")


@pytest.mark.parametrize("group", ["overall", "one class", "share of samples"])
def test_judges_are_wider_than_people(group):
    widths = {kind: np.diff(law(kind, group).equal_tails())[0] for kind in KINDS}
    assert widths["people"] < widths["unknown"] and widths["people"] < 0.8 * widths["llm_judges"]
    # Their slope: claims are believed in part.
    assert law("llm_judges", group).mean < law("people", group).mean


def test_a_reading_that_says_nothing_has_no_say():
    vote, silent = {"majority_vote": np.linspace(0.7, 0.9, 5)}, {"independent": np.full(5, np.nan)}
    with_it, alone = (law_of(draws, "overall", "people", np.inf) for draws in (vote | silent, vote))
    np.testing.assert_array_equal(with_it.draws, alone.draws)
    none = law_of(silent, "overall", "people", np.inf)
    assert none.mean == pytest.approx(0.5, abs=1e-3) and none.sd == pytest.approx(12**-0.5, abs=1e-3)


def test_what_predictions_settle_is_a_point():
    """Nobody is ever predicted positive: recall 0, no precision, no samples in the column."""
    counts = np.zeros((9, 2, 2), int)
    counts[:, 0, 0], counts[:, 1, 0] = np.arange(60, 69), np.arange(40, 31, -1)
    table = PredictiveTable({"independent": TableDraws(counts)}, "people")
    recall, alarm, precision = (table.estimate(n) for n in ("recall", "false_alarm_rate", "precision"))
    assert (recall.mean, recall.sd) == (0, 0) and (alarm.mean, alarm.sd) == (0, 0)
    assert np.isnan(precision.mean) and precision.probability_defined == 0
    assert table.estimate("accuracy").sd > 0.01
    assert table.cell(1, 1).interval() == (0, 0)
    np.testing.assert_allclose(table.cells().mean.sum(axis=0), [100, 0])


@pytest.fixture(scope="module")
def by_kind(few_lineages):
    _, y_pred, labels = crowd()
    return {kind: jt.evaluate(y_pred, labels, labelers_are=kind) for kind in ("people", "llm_judges", None)}


def test_what_a_law_rests_on_is_said_everywhere_and_what_if_never_looks_like_an_answer(by_kind):
    said = {kind: found.rests_on for kind, found in by_kind.items()}
    assert "9 public sources labelled by people (each left out in turn, 95 %" in said["people"]
    assert "LLM judges and automatic metrics" in said["llm_judges"] and "half of them" in said[None]
    for kind, found in by_kind.items():
        d = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        text, page = found.summary(full=True), page_html(found.blocks())
        assert d["rests_on"] == said[kind] and d["interval_kind"] == "predictive"
        assert f"rests on: {said[kind]}" in text and said[kind] in page
        for row in found.assumptions:
            (line,) = (line for line in text.splitlines() if row.sentence in line)
            assert "95 %" not in line and "[" not in line and f"{row.metrics['recall'].mean:.3f}" in line
        table = page.split("What each assumption says")[1].split("Nobody can choose")[0]
        assert "95 %" not in table and not any(f">{mark}" in table for mark in ("[", "("))


QUESTIONS = {  # and what each is asked about, beside the labels
    "evaluate": (jt.evaluate, lambda y_pred: [y_pred]),
    "compare": (jt.compare_classifiers, lambda y_pred: [{"a": y_pred, "b": 1 - y_pred}]),
    "scores": (jt.evaluate_scores, lambda y_pred: [y_pred + 0.5]),
    "class scores": (jt.evaluate_class_scores, lambda y_pred: [np.eye(2)[y_pred]]),
    "metric": (jt.metric_posterior, lambda y_pred: [lambda y, p: (y == p).mean(), y_pred]),
    "labelers": (jt.evaluate_labelers, lambda y_pred: []),
    "prevalence": (jt.prevalence, lambda y_pred: []),
}
WIDTHS = {
    "compare": lambda found: found.values["a"].sd,
    "scores": lambda found: found.auc.sd,
    "labelers": lambda found: sum(row["high"] - row["low"] for row in found.rows),
    "prevalence": lambda found: found.shares["1"].sd,
}


@pytest.mark.usefixtures("few_lineages")
@pytest.mark.parametrize(
    "asked", [pytest.param(x, marks=[pytest.mark.slow] * (x == "scores")) for x in WIDTHS]
)
def test_every_question_is_wider_for_judges_and_says_what_its_law_rests_on(asked):
    (_, y_pred, labels), (question, about) = crowd(), QUESTIONS[asked]
    kinds = {"people": "labelled by people", None: "half of them", "llm_judges": "LLM judges"}
    found = {kind: question(*about(y_pred), labels, labelers_are=kind) for kind in kinds}
    widths = {kind: WIDTHS[asked](one) for kind, one in found.items()}
    factor = 0.8 if asked == "scores" else 1.0
    assert widths["people"] < factor * widths["llm_judges"] and widths["people"] < widths[None]
    for kind, one in found.items():
        said = one.rests_on if asked == "labelers" else one.assumption
        assert kinds[kind] in said and said in one.summary(full=True) and said in page_html(one.blocks())


@pytest.mark.parametrize("asked", QUESTIONS)
def test_words_for_labelers_are_refused_where_they_are_unknown_or_of_no_use(asked, as_installed):
    """Of no use are they where nothing is learned or somebody vouches."""
    (_, y_pred, labels), (question, about) = crowd(size=20), QUESTIONS[asked]
    useless = {
        "known": {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]},
        "vouched": {"assume": "independent"}, "plugged": {"method": "plug_in"},
    }  # fmt: skip
    taken = {"evaluate": useless, "labelers": (), "prevalence": ("vouched",)}.get(asked, ("known", "vouched"))
    with pytest.raises(ValueError, match=r"labelers_are must be one of .*'llm_judges'; got 'robots'"):
        question(*about(y_pred), labels, labelers_are="robots")
    for how in taken:
        with pytest.raises(ValueError, match="labelers_are='experts' says how far"):
            question(*about(y_pred), labels, labelers_are="experts", **useless[how])
