"""The recipes "Add an assumption" and "Add a question" of docs/extending.md, followed at run time.

An assumption: its file and its entry give a what-if row without gold, which `sensitivity` varies. A question:
its file, and every table posterior answers it.
"""

from types import ModuleType

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges, registry
from jtruth.latent import Effort
from jtruth.learning import fit_joint
from jtruth.tables.metrics import expected_table
from jtruth.tables.posterior import TableDraws
from tests.evaluation.crowds import crowd, some_gold
from tests.source import recipes

MODEL, ENTRY, QUESTION = (recipes(word)[0] for word in ("def empty_", "Entry(", "def mean_cost"))
KEY = jax.random.key(0)
SHOWN = ["majority_vote", "independent", "labeler_strata", "shared_strata", "random_effect"]


def file_of(text: str) -> dict:
    module = ModuleType("added")
    exec(text, vars(module))
    return vars(module)


@pytest.fixture(scope="module")
def added(few_lineages):
    """The entry in the table: what is tested here is where it has a say."""
    entry = eval(ENTRY, vars(registry) | file_of(MODEL))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.ASSUMPTIONS, entry.name, entry)
        yield entry


@pytest.fixture(scope="module")
def answer(added):
    _, y_pred, labels = crowd()
    return jt.evaluate(y_pred, labels, key=KEY)


def test_the_entry_is_a_row_and_has_no_say_in_the_dist(added, answer):
    rows = {row.name: row for row in answer.assumptions}
    assert list(rows) == [*SHOWN, "empty_samples"]
    shown = answer.summary(full=True), answer.to_dict()["assumptions"][-1]["sentence"]
    assert all(added.sentence in text for text in shown)


def test_its_word_is_one_of_assume_and_said_as_taken_for_granted(added):
    _, y_pred, labels = crowd()
    found = jt.evaluate(y_pred, labels, assume="empty_samples", key=KEY)
    (row,) = found.assumptions
    assert (row.name, row.sentence) == ("empty_samples", "some samples show nothing and everybody guesses")
    assert found.interval_kind == "posterior" and 0 < found.accuracy.sd < 0.2
    with pytest.raises(ValueError, match=r"choose one of unknown, .*empty_samples"):
        jt.evaluate(y_pred, labels, assume="mine")


@pytest.mark.slow
def test_more_classes_are_taken_too_and_gold_needs_no_model_of_them(added):
    y, y_pred, labels = crowd()
    found = jt.evaluate(y_pred, labels, gold=some_gold(y, 30), key=KEY)
    names = [row.name for row in found.assumptions]
    assert names == ["majority_vote", "independent", "ppi", "gold_only"]
    three = inputs.read(y_pred, jt.Labels.from_matrix(labels.to_matrix(), 3), None, None, None, 1)
    assert added in registry.entries(three)
    (member,), _ = ranges.members([added], three, KEY, pointwise=True)
    assert member.posterior.shape == (3, 3) and ranges.loo_of([member])[0] is not None


@pytest.mark.slow
def test_sensitivity_moves_it_and_at_rest_errors_are_independent(added, answer):
    found = answer.sensitivity_analysis("empty", values=[0.0, 0.25], key=KEY)
    assert found.base == 0.0 and found.axis == "share of samples that show nothing"
    rest, moved = found.metrics["accuracy"]
    alone = next(row for row in answer.assumptions if row.name == "independent").metrics["accuracy"]
    assert rest.mean == pytest.approx(alone.mean, abs=0.02) and rest.sd == pytest.approx(alone.sd, rel=0.35)
    assert moved.mean != pytest.approx(rest.mean, abs=0.002)


@pytest.mark.slow
def test_the_model_finds_again_what_made_the_labels():
    """One seed: the true share of empty samples, and the habit, inside wide intervals (4.5 sd)."""
    rng, size = np.random.default_rng(0), 1500
    y, shows = rng.integers(0, 2, (size, 1)), rng.random((size, 1)) >= 0.25  # else everybody throws a coin
    given = np.where(rng.random((size, 5)) < np.where(shows, 0.92, 0.5), y, 1 - y)
    labels, build = jt.Labels.from_matrix(given[:, 1:], 2), file_of(MODEL)["empty_samples"]
    effort = Effort(burn_in=100, min_sweeps=1200, max_sweeps=8000, max_rhat=1.1, min_ess=60)
    fit = fit_joint(labels, y_pred=given[:, 0], dependence=build, key=KEY, effort=effort)
    assert fit.dependence == "empty_samples" and fit.weights is not None
    share = fit.weights[:, 0, 1]
    assert abs(share.mean() - 0.25) < 4.5 * np.hypot(share.std(), np.sqrt(0.25 * 0.75 / 1500))
    # P(class 1 is given) of a labeler, averaged over full and empty samples, .75 and .25 of all
    rates = fit.mean_matrices[:, :, 1].mean(axis=0)
    np.testing.assert_allclose(rates, [0.75 * 0.08 + 0.125, 0.75 * 0.92 + 0.125], atol=0.04)


@pytest.fixture(scope="module")
def mean_cost():
    return file_of(QUESTION)["mean_cost"]


PRICE = np.array([[0.0, 1.0], [5.0, 0.5]])


def test_a_question_is_answered_by_every_holder(mean_cost, answer):
    _, y_pred, labels = crowd(size=60)
    given = {"noise": jt.noise.Symmetric(0.1, 2), "prior": [0.5, 0.5]}
    exact = jt.evaluate(y_pred, labels, target="in-sample", **given)
    by_hand = (exact.confusion_matrix * PRICE).sum() / 60  # linear: the mean is that of the mean table
    assert mean_cost(exact.posterior, PRICE).mean == pytest.approx(by_hand, abs=1e-9)
    drawn = TableDraws(exact.posterior.draws(KEY, 4000))
    dist, other = mean_cost(drawn, PRICE), mean_cost(exact.posterior, PRICE)
    assert abs(dist.mean - other.mean) < 4.5 * other.sd / np.sqrt(4000)
    assert dist.interval(0.9).low == pytest.approx(other.interval(0.9).low, abs=0.5 * other.sd)
    parts = [mean_cost(row.posterior, PRICE).mean for row in answer.assumptions]
    whole = mean_cost(answer.posterior, PRICE)
    low, high = whole.interval(0.9)
    assert all(low < one < high for one in parts) and low < whole.mean < high
    with pytest.raises(ValueError, match=r"price has shape \(3, 3\)"):
        mean_cost(exact.posterior, np.eye(3))


@pytest.mark.slow
def test_a_question_is_answered_with_gold(mean_cost):
    """All gold: the cost is the one that everybody can count."""
    y, y_pred, labels = crowd(size=80)
    found = jt.evaluate(y_pred, labels, gold=y, key=KEY)
    counted = (expected_table(np.eye(2)[y], y_pred, 2) * PRICE).sum() / y.size
    assert mean_cost(found.posterior, PRICE).mean == pytest.approx(counted, abs=1e-6)
