"""`preferences`: exact posteriors for correct answers, position bias, gold, shared errors, ranks."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from jtruth import preferences
from jtruth.pairwise import Comparisons
from jtruth.pairwise.judges import by_order, new_win_rates


def compared(answers, exchanged, question=None, judge=None, item=None, gold=None):
    """Comparisons of x and y."""
    item = np.arange(len(answers)) if item is None else item
    number, judge = item.max() + 1, np.zeros(len(item), int) if judge is None else judge
    return Comparisons(
        ("x", "y"), tuple(f"j{k}" for k in range(judge.max() + 1)), tuple(map(str, range(number))),
        np.arange(number) if question is None else question, np.tile([0, 1], (number, 1)), item, judge,
        np.asarray(exchanged), np.asarray(answers), np.full(number, -1) if gold is None else gold,
    )  # fmt: skip


def dists(found, by):
    return next(row for row in found.win_rates if row["by"] == by)


def test_answers_as_given_have_the_dirichlet_posterior():
    """By its moments, and the Beta distribution of the same."""
    counts = np.array([30, 12, 6])
    found = compared(np.repeat([0, 1, 2], counts), np.zeros(48, int))
    drawn = by_order(found, np.arange(48), np.random.default_rng(0))[0]
    p = (counts + 0.5) / 49.5
    mean = p @ [1, 0, 0.5]
    sd = np.sqrt((p @ [1, 0, 0.25] - mean**2) / 50.5)
    assert abs(drawn.mean() - mean) < 4 * sd / 63 and abs(drawn.std() / sd - 1) < 0.05
    row = dists(preferences(found, key=0), "judge j0")
    size = mean * (1 - mean) / sd**2 - 1
    dist = beta(mean * size, (1 - mean) * size)
    assert abs(row["probability_better"] - dist.sf(0.5)) < 0.01
    np.testing.assert_allclose([row["low"], row["high"]], dist.ppf([0.025, 0.975]), atol=0.012)


def test_turns_of_one_question_count_as_they_agree():
    """Three turns that always agree are one comparison; turns of their own are three."""
    once = np.repeat([0, 1], [20, 10])
    alike, question = np.repeat(once, 3), np.repeat(np.arange(30), 3)
    apart = compared(alike, np.zeros(90, int), np.arange(90))
    together, single = compared(alike, np.zeros(90, int), question), compared(once, np.zeros(30, int))
    sd = [
        by_order(f, np.arange(len(f.item)), np.random.default_rng(0))[0].std()
        for f in (single, together, apart)
    ]
    assert abs(sd[1] / sd[0] - 1) < 0.1 and sd[2] / sd[0] < 0.65
    counts = np.tile([60.0, 30.0, 0.0], (4000, 1))
    new = [new_win_rates(counts, f, np.random.default_rng(0)).std() for f in (together, apart)]
    assert abs(new[0] / sd[0] - 1) < 0.1 and abs(new[1] / sd[2] - 1) < 0.1


def test_a_judge_who_takes_the_first_is_found_out_and_says_nothing_of_the_systems():
    item, exchanged = np.tile(np.arange(40), 2), np.repeat([0, 1], 40)
    found = preferences(compared(exchanged, exchanged, item=item), key=0)
    (judge,) = found.judges
    assert judge["first_shown"]["low"] > 0.93 and judge["same_exchanged"]["high"] < 0.08
    assert dists(found, "judge j0")["low"] < 0.5 < dists(found, "judge j0")["high"]
    assert any("favors the answer shown first" in text for text in found.warnings)
    fair = preferences(compared(item % 2, exchanged, item=item), key=0)
    assert fair.judges[0]["same_exchanged"]["low"] > 0.92 and not any("favors" in w for w in fair.warnings)


def panel(rng, number, gold=0):
    """Three judges who share what they see in half of the comparisons; the first saw both orders."""
    truth, common = rng.choice(3, number, p=[0.5, 0.3, 0.2]), rng.choice(3, number, p=[0.2, 0.7, 0.1])
    alike, columns = rng.random(number) < 0.5, []
    for judge, order in ((0, 0), (0, 1), (1, 0), (2, 0)):
        own = np.where(rng.random(number) < 0.8, truth, rng.integers(0, 3, number))
        columns.append((np.where(alike, common, own), order, judge))
    answers, exchanged, judge = (
        np.concatenate([np.broadcast_to(c[k], number) for c in columns]) for k in range(3)
    )
    known = np.where(np.arange(number) < gold, truth, -1)
    return compared(answers, exchanged, None, judge, np.tile(np.arange(number), 4), known)


def test_verified_preferences_correct_what_judges_share():
    found = preferences(panel(np.random.default_rng(0), 600, gold=150), key=0)
    truth, given = dists(found, "truth"), dists(found, "all answers")
    assert (
        found.rule == "post-stratification" and truth["low"] <= 0.6 <= truth["high"] and given["high"] < 0.6
    )
    assert [row["row"] for row in found.matrices[:2]] == ["j0 (x shown first): x", "j0 (x shown first): y"]
    says = np.array([[row["says"][k]["mean"] for k in ("x", "y", "tie")] for row in found.matrices])
    assert says.shape == (12, 3) and np.allclose(says.sum(axis=1), 1)
    one = panel(np.random.default_rng(0), 600, gold=150)
    seen = (one.judge == 0) & (one.exchanged == 0) & (one.gold[one.item] == 0)
    counts = np.bincount(one.answer[seen], minlength=3) + 0.5
    np.testing.assert_allclose(says[0], counts / counts.sum(), atol=0.005)


@pytest.mark.slow
def test_without_gold_the_predictive_interval_is_wide_and_the_headline_says_so():
    found = preferences(panel(np.random.default_rng(0), 200), key=0)
    truth, given = dists(found, "truth"), dists(found, "all answers")
    assert found.rule == "predictive" and truth["low"] < 0.6 < truth["high"]
    assert truth["high"] - truth["low"] > 2 * (given["high"] - given["low"]) and len(found.matrices) == 12
    assert str(found).startswith("Allowing for judge errors, ")
    assert "Uncorrected, the verdicts say " in " ".join(str(found).split())
    vouched = preferences(panel(np.random.default_rng(0), 200), key=0, assume="independent")
    assert vouched.rule == "joint posterior" and dists(vouched, "truth")["high"] < truth["high"]


def several(seed=0):
    rng = np.random.default_rng(seed)
    rows = [(q, *rng.choice(list("abcd"), 2, replace=False), j) for q in range(80) for j in ("m", "n")]
    frame = pd.DataFrame(rows, columns=["question", "model_a", "model_b", "judge"])
    strong = {"a": 1.5, "b": 0.5, "c": -0.5, "d": -1.5}
    gap = frame.model_a.map(strong) - frame.model_b.map(strong)
    wins = rng.random(len(frame)) < 1 / (1 + np.exp(-gap))
    return frame.assign(
        winner=np.where(rng.random(len(frame)) < 0.1, "tie", np.where(wins, "model_a", "model_b"))
    )


def test_several_systems_are_ranked_with_probabilities():
    found = preferences(several(), key=0)
    assert "".join(row["system"] for row in found.strengths) == "abcd"
    ranks = np.array([[row["ranks"][str(k)] for k in range(1, 5)] for row in found.strengths])
    np.testing.assert_allclose(ranks.sum(axis=0), 1)
    np.testing.assert_allclose(ranks.sum(axis=1), 1)
    assert abs(sum(row["strength"]["mean"] for row in found.strengths)) < 1e-9
    assert abs(np.mean([row["win_rate"]["mean"] for row in found.strengths]) - 0.5) < 1e-3
    assert found.order_probability is not None and found.order_probability > 0.5
    assert "a is preferred to all others" in str(found) and "order a > b > c > d" in " ".join(
        str(found).split()
    )
    assert preferences(several(), key=0).to_dict() == found.to_dict()
    verified = several(1).assign(human=lambda t: t.winner)
    corrected = preferences(verified[verified.judge == "m"], gold="column:human", key=0)
    rates = [row["mean"] for row in corrected.win_rates if row["system"] == corrected.strengths[0]["system"]]
    assert (
        abs(np.mean(rates) - corrected.strengths[0]["win_rate"]["mean"]) < 1e-9
    )  # pairs are of the truth too
    assert "A shown first" in corrected.matrices[0]["row"] and [*corrected.matrices[0]["says"]] == [
        "A",
        "B",
        "tie",
    ]
    assert corrected.rule == "corrected" and corrected.matrices_by == "verified preferences"
    assert any("needs gold, or three answers" in w for w in preferences(several(), correct=True).warnings)


def test_one_judge_alone_and_one_order_are_said():
    found = preferences(several()[lambda t: t.judge == "m"].query("model_a < model_b"), key=0)
    text = " ".join(found.warnings)
    assert (
        "Position bias is unknown. Ask again with the two answers swapped to measure it." in text
        and "The judge may be wrong" in text
    )


def test_one_system_through_the_whole_answer_and_equal_ones_are_named():
    found = preferences(compared([1] * 30 + [0] * 10, [0] * 40), key=0)
    (row,) = found.win_rates
    assert row["system"] == "y" and row["against"] == "x" and row["mean"] > 0.5 and row["low"] < row["mean"]
    assert (
        "y wins" in found.summary() and "P(y better)" in found.summary() and "Neither" not in found.summary()
    )
    assert preferences(compared([2] * 20, [0] * 20), key=0).summary().startswith("Every answer is a tie")
    even = several().assign(winner="tie")
    even.loc[::2, "winner"] = np.resize(["model_a", "model_b"], len(even[::2]))
    assert "No system is clearly preferred: " in " ".join(preferences(even, key=0).summary().split())
    rows = preferences(several(), key=0).win_rates
    assert [row["by"] for row in rows][:3] == ["a against b", "a against c", "a against d"]
    assert all(row["by"] == f"{row['system']} against {row['against']}" and row["mean"] > 0.5 for row in rows)


def test_gold_of_every_comparison_needs_no_note_and_nobody_is_called_judge_judge():
    frame = several().query("model_a in ['a', 'b'] and model_b in ['a', 'b']")
    frame = frame.assign(question=range(len(frame)), human=frame.winner)
    every = preferences(frame, gold="column:human", key=0).warnings
    some = preferences(
        frame.assign(human=frame.human.where(frame.index % 4 == 0)), gold="column:human", key=0
    )
    assert not any("random" in text or "nothing" in text for text in every)
    assert any("assumed to be a random sample" in text for text in some.warnings)
    text = preferences(frame.drop(columns=["judge", "human"]), key=0).summary(full=True)
    assert "By the judge, " in text and "judge judge" not in text
