"""The cheapest plan: against an exhaustive search, confirmed by simulation, and refusals."""

import itertools
import json
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.io import read_labels
from jtruth.planning import Labeler, Plan, Setting, best_plan, read_setting
from jtruth.planning.search import _result, cheapest_of_mix, mixes, narrowest_of_mix
from jtruth.planning.settings import kinds_of, plan_cost
from jtruth.planning.widths import approximate_width, simulated_width, widths

KEY = jax.random.key(0)


def made(target="population", gold=0.7, rates="known"):
    kinds = [Labeler("crowd", 0.25, 0.05, people=3), Labeler("expert", 0.05, 0.4)]
    return Setting([0.6, 0.4], 0.9, kinds, rates=rates, target=target, cost_sample=0.02, cost_gold=gold)


def affordable(asked, sizes):
    """Cost and width of every size and mix, with and without gold."""
    found = []
    for mix, gold in itertools.product([mix for mix in mixes(asked) if sum(mix.labels)], (0, 20, 100)):
        n = np.array([size for size in sizes if size >= gold])
        width = widths(asked, mix, n, gold)["width"]
        alone = approximate_width(asked, Plan(int(n[-1]), mix.labels, gold)).width
        assert width[-1] == pytest.approx(alone, rel=1e-12)  # sums of many at once round otherwise
        costs = [plan_cost(asked, Plan(int(size), mix.labels, gold)) for size in n]
        found += zip(costs, width, strict=True)
    return found


def test_cost_by_hand():
    assert plan_cost(made(), Plan(100, (2, 1), 10)) == pytest.approx(100 * 0.02 + 90 * 0.5 + 7)
    assert plan_cost(made(rates="learned"), Plan(100, (2, 1), 10)) == pytest.approx(2 + 50 + 7)
    assert plan_cost(made(gold=np.inf), Plan(100, (2, 0), 0)) == pytest.approx(2 + 10)


@pytest.mark.parametrize("rates", ["learned", pytest.param("known", marks=pytest.mark.slow)])
def test_nothing_cheaper_on_the_grid(rates):
    """Every size from 40 to 400 for every mix, with and without gold: none is narrow enough and cheaper."""
    asked = made(rates=rates)
    found = [cheapest_of_mix(asked, mix, 0.12, 40, 400) for mix in mixes(asked)]
    best = min((row for row in found if row is not None), key=lambda row: row.cost)
    assert best.width <= 0.12
    every = affordable(asked, range(40, 401, 3))
    assert best.cost <= min(cost for cost, width in every if width <= 0.12) + 1e-9
    smaller = best.plan._replace(num_samples=best.plan.num_samples - 1)
    if smaller.num_gold <= smaller.num_samples:
        assert approximate_width(asked, smaller).width > 0.12


def test_a_mix_that_is_wider_than_the_approximation_says_pays_for_it():
    """What was simulated 1.2 times as wide is planned for .12/1.2, and shown with the width to see: .12."""
    asked = made(rates="known")
    mix = next(mix for mix in mixes(asked) if sum(mix.labels) == 3)
    corrected = cheapest_of_mix(asked, mix, 0.12, 40, 4000, 1.2)
    finer = cheapest_of_mix(asked, mix, 0.1, 40, 4000)
    assert corrected.plan == finer.plan and corrected.cost == finer.cost
    assert corrected.width == pytest.approx(1.2 * finer.width, rel=1e-12)
    assert corrected.width == pytest.approx(1.2 * approximate_width(asked, corrected.plan).width, rel=1e-9)
    assert 0.115 < corrected.width <= 0.12


@pytest.mark.slow
def test_nothing_narrower_for_the_budget():
    asked = made()
    found = [narrowest_of_mix(asked, mix, 60.0, 20, 2000) for mix in mixes(asked)]
    best = min((row for row in found if row is not None), key=lambda row: row.width)
    assert best.cost <= 60 + 1e-9
    every = affordable(asked, range(20, 900, 7))
    assert best.width <= min(width for cost, width in every if cost <= 60) + 1e-9


@pytest.mark.parametrize(("rates", "gold"), [("known", 0.7), ("learned", 0.7), ("learned", 0.05)])
def test_the_budget_is_spent(rates, gold):
    """One sample more, labelled as the others are, with gold where all have it, would be too dear."""
    asked, some = made(gold=gold, rates=rates), 0
    for mix in mixes(asked):
        row = narrowest_of_mix(asked, mix, 40.0, 1, 10**6)
        if row is None:
            continue
        all_gold = row.plan.num_gold == row.plan.num_samples
        some += 0 < row.plan.num_gold < row.plan.num_samples or all_gold
        more = row.plan._replace(
            num_samples=row.plan.num_samples + 1, num_gold=row.plan.num_gold + int(all_gold)
        )
        assert row.cost <= 40.0 + 1e-9 < plan_cost(asked, more) + 2e-9, mix.labels
    assert some  # with gold as well


def test_a_prior_never_answers_for_the_data():
    """A wide interval needs few samples, but not so few that priors are more than .3 of what is known."""
    asked = made(rates="learned", gold=np.inf)
    mix = next(mix for mix in mixes(asked) if mix.labels == (3.0, 1.0))
    row = cheapest_of_mix(asked, mix, 0.9, 1, 10**5)
    taken = approximate_width(asked, row.plan)
    fewer = approximate_width(asked, row.plan._replace(num_samples=row.plan.num_samples - 1))
    assert taken.share_of_prior <= 0.3 < fewer.share_of_prior
    assert fewer.width < 0.9  # the width alone would allow it
    poor = plan_cost(asked, row.plan) * 0.9
    assert narrowest_of_mix(asked, mix, poor, 1, 10**5) is None


def test_kinds_of_labelers_by_hand(monkeypatch):
    """Six labelers in pairs, best first, each the mean weighted by labels; who has a price is alone."""
    right = np.array([0.9, 0.6, 0.8, 0.7, 0.95, 0.5, 0.85])
    sizes = [40, 10, 20, 30, 10, 60, 5]
    labels = jt.Labels.from_long(
        [f"s{i}" for size in sizes for i in range(size)],
        [f"w{t}" for t, size in enumerate(sizes) for _ in range(size)],
        [i % 2 for size in sizes for i in range(size)],
    )
    learned = SimpleNamespace(
        usable=True,
        prior=np.array([[0.5, 0.5], [0.7, 0.3]]),
        mean_matrices=np.stack([[[r, 1 - r], [1 - r, r]] for r in right]),
    )
    monkeypatch.setattr("jtruth.planning.settings.fit_joint", lambda *_, **__: learned)
    kinds, prior = kinds_of(labels, costs={"w5": 3.0})
    np.testing.assert_allclose(prior, [0.6, 0.4])
    pairs = [(0.95 * 10 + 0.9 * 40) / 50, (0.85 * 5 + 0.8 * 20) / 25, (0.7 * 30 + 0.6 * 10) / 40]
    np.testing.assert_allclose([kind.matrix[0, 0] for kind in kinds], [*pairs, 0.5])
    assert [kind.cost for kind in kinds] == [1.0, 1.0, 1.0, 3.0] and kinds[-1].name == "w5"


@pytest.mark.slow
def test_cheapest_plan_is_confirmed():
    found = best_plan(made(), width=0.08, key=KEY, num_sets=30)
    again = simulated_width(found.setting, found.best.plan, key=KEY, num_sets=30)
    assert found.best.width == again.width <= 0.08 * 1.006
    assert found.best.cost == pytest.approx(plan_cost(found.setting, found.best.plan))
    assert all(row.cost >= found.best.cost for row in found.others)
    text = found.summary(full=True)
    parts = "cheapest plan for accuracy", "crowd", "Input", "confirmed by simulation", "err independently"
    assert all(part in text for part in parts)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert written["plan"]["num_samples"] == found.best.plan.num_samples
    assert written["wanted"] == {"width": 0.08}


@pytest.mark.slow
def test_prices_decide():
    """Cheap gold: gold for all. A dear crowd: the expert. Free samples: one label each rather than three."""

    def cheapest(setting):
        return best_plan(setting, width=0.08, key=KEY, num_sets=10).best.plan

    gold = cheapest(made(gold=0.01))
    assert gold.num_gold == gold.num_samples and sum(gold.labels) == 0
    kinds = [Labeler("crowd", 0.25, 5.0, people=3), Labeler("expert", 0.05, 0.4)]
    assert cheapest(Setting([0.6, 0.4], 0.9, kinds, rates="known")).labels == (0, 1)
    # Lam & Stork's Figure 2: good labelers should label other samples, poor ones the same, were they cheap.
    good, dear = (
        cheapest(Setting([0.5, 0.5], 0.9, [Labeler("a", 0.03, people=3)], rates="known", cost_sample=c))
        for c in (0.0, 30.0)
    )
    assert good.labels == (1.0,) and dear.labels[0] > 1


def test_fixed_samples_and_budget():
    found = best_plan(made(target="in-sample"), width=0.06, key=KEY, num_samples=300, num_sets=20)
    assert found.best.plan.num_samples == 300 and found.best.width <= 0.0604
    bought = best_plan(made(), budget=40.0, key=KEY, num_sets=10)
    text = bought.summary(full=True)
    assert bought.best.cost <= 40 and "narrowest" in text and "shows a range" not in text


def test_a_column_has_one_meaning_and_the_plan_stands_first_in_it():
    """All widths of the table are simulated, also of other mixes; the narrowest, or cheapest, comes first."""
    for wanted in ({"budget": 40.0}, {"width": 0.12}):
        found = best_plan(made(), key=KEY, num_sets=10, **wanted)
        (table,) = (one for one in found.blocks().tables() if one.name == "alternatives")
        column = table.columns[-1].name
        drawn = [one for one in found.others if one.widths.size]
        assert column == "width" and len(table.rows) > 1 and f"{found.best.width:.3f}" in found.summary()
        for row, one in zip(table.rows, (found.best, *drawn), strict=True):
            plan = Plan(row["num_samples"], one.plan.labels, row["num_gold"])
            assert row["predicted_width"] == pytest.approx(approximate_width(found.setting, plan).width)
            again = simulated_width(found.setting, plan, key=KEY, num_sets=10).width
            assert row["width"] == pytest.approx(again)
        decides = [row["width" if "budget" in wanted else "cost"] for row in table.rows]
        assert decides[0] == min(decides) and None not in decides
    drawn = found.best._replace(width=0.2)
    rows = {(9.0,): drawn._replace(width=0.1, widths=np.zeros(0)), (8.0,): drawn}
    shown = _result(found.setting, rows, found.best, ("budget", 40.0), 2)
    assert [one.width for one in shown.others] == [0.2, 0.1]  # what was simulated comes first


@pytest.mark.slow
def test_learned_from_a_file(pytestconfig):
    labels = read_labels(pytestconfig.rootpath / "examples" / "caries.csv")
    kinds, prior = kinds_of(labels, key=KEY, costs={"5": 3.0})
    assert prior[1] == pytest.approx(0.2, abs=0.03) and len(kinds) == 4
    assert {kind.name: kind.cost for kind in kinds}["5"] == 3.0
    assert sum(kind.people for kind in kinds) == 5
    alone = labels.select_labelers([0])
    with pytest.raises(ValueError, match="cannot be learned"):
        kinds_of(alone, key=KEY)
    for typed, said in (("x::3", "no labeler 'x'"), ("5:0.2:3", "errors are learned")):
        with pytest.raises(ValueError, match=said):
            read_setting([typed], labels, key=KEY)


def test_what_a_person_types():
    found = read_setting(["a:0.1/0.3:2:3"], prior=[0.6, 0.4], classifier="0.8,0.1")
    kind = found.labelers[0]
    assert kind.people == 3 and kind.cost == 2 and kind.matrix[1, 0] == pytest.approx(0.3)
    np.testing.assert_allclose(found.confusion, [[0.9, 0.1], [0.2, 0.8]])
    three = read_setting(["a:0.2"], prior=[0.3, 0.3, 0.4], metric="recall")
    assert three.labelers[0].matrix[0, 1] == pytest.approx(0.1)
    np.testing.assert_allclose(read_setting(["a:0.2/0.1/0.3"]).prior, 1 / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either width"),
        ({"width": 0.1, "budget": 3.0}, "either width"),
        ({"width": 0.1, "labelers": []}, "no labelers"),
        ({"width": 2.0}, "width is 2"),
        ({"budget": -1.0}, "budget is -1"),
        ({"budget": 0.1}, "is too small for an informative plan"),
        ({"width": 0.001}, "no plan of at most"),
        ({"width": 0.1, "labelers": ["a"]}, "write name:error"),
        ({"width": 0.1, "labelers": ["a:x:1"]}, "write name:error"),
        ({"width": 0.1, "labelers": ["a:1.2:1"]}, "not a probability"),
        ({"width": 0.1, "labelers": ["a::1"]}, "no error rate"),
        ({"width": 0.1, "labelers": ["a:.1:-1"]}, "the cost of labeler 'a' must be 0 or more"),
        ({"width": 0.1, "labelers": ["a:.1:1:0"]}, "people must be a positive"),
        ({"width": 0.1, "labelers": ["a:.1:1", "a:.2:1"]}, "with different names"),
        ({"width": 0.1, "labelers": ["a:.1/.2/.3:1"], "prior": [0.5, 0.5]}, "3 classes"),
        ({"width": 0.1, "labelers": [f"{n}:.2:1:9" for n in "abc"]}, "mixes of labelers"),
        ({"width": 0.1, "classifier": "good"}, "classifier 'good'"),
        ({"width": 0.1, "classifier": ".8,.1", "prior": [0.2, 0.3, 0.5]}, "two classes"),
        ({"width": 0.1, "classifier": "0,0", "metric": "precision"}, "never predicts"),
        ({"width": 0.1, "prior": [0.5, 0.4]}, "sums to"),
        ({"width": 0.1, "prior": [1.0, 0.0]}, "leave this class out"),
        ({"width": 0.1, "metric": "luck"}, "luck"),
        ({"width": 0.1, "target": "in-sample"}, "needs num_samples"),
        ({"width": 0.1, "max_samples": 5}, "at least 20"),
        ({"width": 0.1, "rates": "guessed"}, "rates"),
        ({"width": 0.1, "level": 1.5}, "level"),
        ({"width": 0.1, "positive": 2}, "positive"),
        ({"width": 0.1, "cost_sample": -1.0}, "cost_sample must be 0 or more"),
    ],
)
def test_what_is_refused(as_installed, options, message):
    limits = {name: options[name] for name in ("width", "budget", "max_samples") if name in options}
    typed = {"labelers": ["a:.2:1:2"], "rates": "known"} | options
    with pytest.raises(ValueError, match=message):
        made = read_setting(**{name: value for name, value in typed.items() if name not in limits})
        best_plan(made, key=KEY, num_sets=2, **limits)


def test_impossible_plans():
    for plan in (Plan(0, (1, 0), 0), Plan(10, (1, 0), 11), Plan(10, (1,), 0), Plan(10, (4, 0), 0)):
        with pytest.raises(ValueError, match=r"plan|labels"):
            approximate_width(made(), plan)
    with pytest.raises(ValueError, match="at least 2"):
        simulated_width(made(), Plan(50, (1, 0), 0), key=KEY, num_sets=1)
