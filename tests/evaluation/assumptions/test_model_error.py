"""Errors of models fitted to labels: mixtures by simulation, kinds of labelers, and refusals."""

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
    dist_of,
    first_larger,
    parts_of,
    shares_of,
    widened,
    width_assumption,
)
from jtruth.stats.draws import predictive
from jtruth.tables.posterior import TableDraws
from tests.evaluation.crowds import crowd

GROUPS = sorted({group for _, group in ERRORS})
SOURCES = ("people", "llm_judges")  # on which errors were learned
SAID = {"majority_vote": (1.8, 0.1), "independent": (2.4, 0.2)}


def dist(kind, group, said=SAID):
    parts, weights = widened(list(said.values()), group, kind)
    return predictive(parts, FLAT, weights=weights)


def of_source(kind, group, said=SAID):
    return predictive(parts_of(said.values(), ERRORS[kind, group]), FLAT)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kind", SOURCES)
def test_the_distribution_is_that_of_a_new_source(kind, group):
    """Drawn as the docstring has it: a source, its scale, a reading, its error. Scales are seven nodes of
    their distribution, which moves probabilities by less than .01; 200 000 draws by .001."""
    rng, n, (slope, log_tau, spread) = np.random.default_rng(0), 200_000, ERRORS[kind, group]
    which = rng.integers(0, 2, n)
    centre, scale = np.array(list(SAID.values()))[which].T
    tau = np.exp(log_tau + spread * rng.standard_normal(n))
    z = slope * centre + np.hypot(slope * scale, tau) * rng.standard_t(3, n)
    x = np.where(rng.random(n) < FLAT, rng.random(n), expit(z))
    found = of_source(kind, group).draws
    for p in (0.025, 0.1, 0.5, 0.9, 0.975):
        assert (found < np.quantile(x, p)).mean() == pytest.approx(p, abs=0.012)


@pytest.mark.parametrize("group", GROUPS)
def test_only_people_have_a_distribution_of_their_own(group):
    """The distribution functions, at a hundred places; judges and experts change nothing, and say so."""
    places = np.linspace(0.01, 0.99, 100)
    sources = [(of_source(kind, group).draws[:, None] < places).mean(axis=0) for kind in SOURCES]
    judges = 0.9 if "difference" in group else 0.5
    for kind in KINDS:
        share = 0.1 if kind == "people" else judges
        found = (dist(kind, group).draws[:, None] < places).mean(axis=0)
        np.testing.assert_allclose(found, (1 - share) * sources[0] + share * sources[1], atol=1.5e-3)
        assert shares_of(kind, group) == pytest.approx({"people": 1 - share, "llm_judges": share})
    assert all(f"kind {kind} changes nothing" in width_assumption(kind) for kind in ("experts", "llm_judges"))
    assert "--labelers-are people" in width_assumption("unknown")


@pytest.mark.parametrize("group", GROUPS)
def test_people_are_narrower(group):
    widths = {kind: np.diff(dist(kind, group).equal_tails())[0] for kind in KINDS}
    assert widths["people"] < 0.9 * widths["unknown"] and widths["unknown"] == widths["llm_judges"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.3, 0.3)])
def test_the_point_is_the_median_within_what_the_readings_say(kind, bounds):
    """So it is never further from any truth than the worse of the two."""
    rng = np.random.default_rng(3)
    for centre in (0.2, 0.5, 0.9, 0.99):
        low, high = bounds
        one, two = (low + (high - low) * rng.beta(50 * c, 50 * (1 - c), 500) for c in (centre, centre**1.5))
        found = dist_of({"majority_vote": one, "independent": two}, "overall", kind, 400.0, bounds)
        ends = sorted([one.mean(), two.mean()])
        assert found.mean == np.clip(np.median(found.draws), *ends)
        for truth in np.linspace(*bounds, 21):
            assert abs(found.mean - truth) <= max(abs(end - truth) for end in ends) + 1e-12
        assert found.interval().low <= found.mean <= found.interval().high


def test_which_of_two_labelers_is_better_by_simulation():
    """First a source, its scale, a reading and its error; 200 000 draws: .002. Judges never make it clear."""
    rng, n = np.random.default_rng(0), 200_000
    draws = {
        "majority_vote": 0.8 + 0.02 * rng.standard_normal((400, 3)),
        "independent": rng.beta(45, 5, (400, 3)),
    }
    draws["majority_vote"][:, 1] -= 0.35
    draws["independent"][:, 1] -= 0.4
    draws["independent"][:, 2] = np.nan
    pairs, sizes = np.array([[0, 1], [1, 0], [0, 2]]), np.full(3, 300.0)
    for kind in KINDS:
        found = first_larger(draws, pairs, kind, sizes)
        assert found[0] + found[1] == pytest.approx(1)  # what the third says by the vote alone is not lost
        assert (found[0] > 0.95) == (kind == "people") and 0.3 < found[2] < 0.7
        few, fewer, many = (  # whoever labelled less says how rough the difference is
            first_larger(draws, pairs[:1], kind, np.array(n))
            for n in ([300.0, 20.0, 1.0], [20.0, 20.0, 1.0], [300.0] * 3)
        )
        assert few == fewer and few != many
        total, shares = 0.0, shares_of(kind, "difference of labelers")
        for source, share in shares.items():
            slope, log_tau, spread = ERRORS[source, "difference of labelers"]
            which = rng.integers(0, 2, n)
            gaps = [values[:, 0] - values[:, 1] for values in draws.values()]
            z = [np.log(((g + 1) * 150 + 0.5) / ((1 - g) * 150 + 0.5)) for g in gaps]
            centre, scale = (np.array([f(one) for one in z])[which] for f in (np.mean, np.std))
            tau = np.exp(log_tau + spread * rng.standard_normal(n))
            error = np.hypot(slope * scale, tau) * rng.standard_t(3, n)
            total += share * (slope * centre + error > 0).mean()
        assert found[0] == pytest.approx((1 - FLAT) * total + FLAT / 2, abs=0.012)


def test_a_reading_that_says_nothing_has_no_say():
    vote, silent = {"majority_vote": np.linspace(0.7, 0.9, 5)}, {"independent": np.full(5, np.nan)}
    with_it, alone = (dist_of(draws, "overall", "people", np.inf) for draws in (vote | silent, vote))
    np.testing.assert_array_equal(with_it.draws, alone.draws)
    none = dist_of(silent, "overall", "people", np.inf)
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
    share, cells = (
        dist_of({"independent": counts[:, 1, 0] / 100}, "one class", "people", 100.0),
        table.cells(),
    )
    np.testing.assert_allclose([table.cell(1, 0).mean, *table.cell(1, 0).interval()],
                               100 * np.array([share.mean, *share.interval()]))  # fmt: skip
    counts[:, :, 1] = np.stack([np.arange(9), 10 - np.arange(9)], axis=1)  # of 10 that are called positive
    table = PredictiveTable({"independent": TableDraws(counts)}, "people")
    few = dist_of({"independent": counts[:, 1, 1] / 10}, "one class", "people", 10.0)
    np.testing.assert_array_equal(table.estimate("precision").draws, few.draws)
    assert (cells.low <= cells.mean).all() and (cells.mean <= cells.high).all() and cells.high.max() < 110


@pytest.fixture(scope="module")
def by_kind(few_lineages):
    _, y_pred, labels = crowd()
    return {kind: jt.evaluate(y_pred, labels, labelers_are=kind) for kind in ("people", "llm_judges", None)}


def test_what_a_dist_rests_on_is_said_everywhere_and_what_if_never_looks_like_an_answer(by_kind):
    said = {kind: found.rests_on for kind, found in by_kind.items()}
    assert "9 public data sets labelled by people (95 %" in said["people"]
    assert (
        "LLM judges and automatic metrics" in said["llm_judges"] and "gives narrower intervals" in said[None]
    )
    for kind, found in by_kind.items():
        d = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        text, page = found.summary(full=True), page_html(found.blocks())
        assert d["rests_on"] == said[kind] and d["interval_kind"] == "predictive"
        assert f"Assumption of the width: {said[kind]}" in text and said[kind] in page
        for row in found.assumptions:
            (line,) = (line for line in text.splitlines() if row.sentence in line)
            assert "95 %" not in line and "[" not in line and f"{row.metrics['recall'].mean:.3f}" in line
        table = page.split("Estimates under each assumption")[1].split(
            "The labels alone cannot tell which assumption"
        )[0]
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
def test_every_question_is_narrower_for_people_and_says_what_it_assumes(asked):
    (_, y_pred, labels), (question, about) = crowd(), QUESTIONS[asked]
    kinds = {"people": "labelled by people", None: "gives narrower", "llm_judges": "changes nothing"}
    found = {kind: question(*about(y_pred), labels, labelers_are=kind) for kind in kinds}
    widths = {kind: WIDTHS[asked](one) for kind, one in found.items()}
    assert widths["people"] < 0.95 * widths["llm_judges"] and widths["llm_judges"] == widths[None]
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
        with pytest.raises(ValueError, match="labelers_are='experts' is for learned error rates"):
            question(*about(y_pred), labels, labelers_are="experts", **useless[how])
