"""Prior, gold and `positive` affect every part of the answer, member by member."""

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

import jtruth as jt
from jtruth._host import most_likely_prior
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges, registry
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from tests.evaluation.crowds import careless

pytestmark = pytest.mark.usefixtures("few_lineages")

KEY = jax.random.key(3)


def read(y_pred, z, classes=2, *, prior=None, gold=None):
    return inputs.read(y_pred, jt.Labels.from_matrix(z, classes), None, prior, gold, 1)


def test_rows_of_the_majority_votes_table_are_true_classes():
    """Two kinds of mistakes, 60 and 10: whoever exchanges rows and columns exchanges them."""
    voted = np.repeat([0, 0, 1, 1], [100, 60, 10, 130])
    y_pred = np.repeat([0, 1, 0, 1], [100, 60, 10, 130])
    data = read(y_pred, np.tile(voted[:, None], (1, 3)))
    found = registry.vote_draws(data, KEY).mean(axis=0)
    np.testing.assert_allclose(found, [[100, 60], [10, 130]], atol=3)


def test_the_majority_votes_table_counts_samples_without_a_label_too():
    """They are shared out as the others are: every draw adds up to all samples."""
    z = np.array([[0, 0], [1, 1], [-1, -1], [1, 1], [-1, -1]])
    labels = jt.Labels.from_matrix(z, 2, allow_unlabelled=True)
    data = inputs.read(np.array([0, 1, 1, 1, 0]), labels, None, None, None, 1)
    np.testing.assert_allclose(registry.vote_draws(data, KEY).sum(axis=(1, 2)), 5)


def test_the_majority_vote_beside_the_answer_is_for_the_class_with_the_most_votes():
    """Two votes of five are the most when the other classes have two and one, or share three evenly."""
    z = np.array([[2, 2, 0, 1, 0], [2, 2, 0, 1, -1], [0, 0, 1, 2, -1], [1, 1, 1, 2, 0]])
    labels, y_pred = jt.Labels.from_matrix(z, 3), np.array([2, 2, 2, 0])
    noise, prior = jt.noise.Symmetric(0.2, 3), np.ones(3) / 3
    found = jt.evaluate(y_pred, labels, noise=noise, prior=prior, positive=2).baselines["majority_vote"]
    # Class 2 has half of the first sample (a tie with class 0), the second one, and no other.
    assert found["precision"] == pytest.approx(1.5 / 3) and found["recall"] == 1


def test_gold_is_the_truth_of_the_majority_votes_member():
    y, y_pred, z = careless()
    gold = np.where(np.arange(y.size) % 2 == 0, 1 - z[:, 0], -1)  # half of the truth, and nobody voted so
    z = np.tile(z[:, :1], (1, 3))
    truth = np.where(gold >= 0, gold, z[:, 0])
    expected = np.zeros((2, 2))
    np.add.at(expected, (truth, y_pred), 1)
    found = registry.vote_draws(read(y_pred, z, gold=gold), KEY).mean(axis=0)
    np.testing.assert_allclose(found, expected, atol=2)


@pytest.mark.slow
def test_every_member_keeps_to_the_prior_and_to_the_gold_that_were_given():
    """Each model is fitted with both: its draws of the prior are the given one, its gold samples certain."""
    y, y_pred, z = careless()
    gold = np.where(np.arange(y.size) < 20, y, -1)
    data = read(y_pred, z, prior=[0.65, 0.35], gold=gold)
    names = ("independent", "labeler_strata", "shared_strata", "random_effect")
    found, _ = ranges.members([ASSUMPTIONS[name] for name in names], data, KEY)
    assert [m.name for m in found] == list(names)
    for member in found:
        assert member.fit is not None
        np.testing.assert_allclose(member.fit.prior, np.tile([0.65, 0.35], (len(member.fit.prior), 1)))
        np.testing.assert_allclose(member.fit.class_posterior[:20, 1], gold[:20] == 1, atol=1e-12)


def test_learned_checks_are_told_of_gold():
    """Two labelers and a classifier without gold leave nothing to check; with gold there is something."""
    y, y_pred, z = careless(labelers=2)
    labels = jt.Labels.from_matrix(z, 2)
    alone = jt.evaluate(y_pred, labels, assume="independent")
    known = jt.evaluate(y_pred, labels, assume="independent", gold=np.where(np.arange(80) < 40, y, -1))
    assert alone.checks[0].verdict == "cannot be seen" and alone.checks[0].p_value is None
    assert known.checks[0].name == "label patterns" and known.checks[0].p_value is not None


def test_learned_checks_are_told_of_the_prior():
    _, y_pred, z = careless()
    labels = jt.Labels.from_matrix(z, 2)
    known = jt.evaluate(y_pred, labels, assume="independent", prior=[0.5, 0.5])
    free = jt.evaluate(y_pred, labels, assume="independent")
    assert "given prior" in [c.name for c in known.checks]
    assert "given prior" not in [c.name for c in free.checks]


def test_check_of_a_given_prior_looks_at_samples_without_gold_only():
    """Gold was asked for where it is of class 1; that says nothing of the prior."""
    y, y_pred, z = careless(size=200)
    chosen = (y == 1) & (np.arange(200) < 120)
    given = {"noise": jt.noise.Symmetric(0.1, 2), "prior": [0.5, 0.5]}
    with_gold = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 2), gold=np.where(chosen, 1, -1), **given)
    without = jt.evaluate(y_pred[~chosen], jt.Labels.from_matrix(z[~chosen], 2), **given)
    found = [next(c for c in r.checks if c.name == "given prior") for r in (with_gold, without)]
    assert found[0].statistic == pytest.approx(found[1].statistic, abs=1e-9)
    assert found[0].p_value == pytest.approx(found[1].p_value, abs=1e-9)


def test_positive_names_the_class_also_where_the_prior_is_integrated_out():
    """Class 0 as positive, against the same data with the classes renamed."""
    _, y_pred, z = careless(size=60)
    noise = jt.noise.ConfusionMatrices(np.tile([[0.9, 0.1], [0.3, 0.7]], (3, 1, 1)))
    mirror = jt.noise.ConfusionMatrices(np.tile([[0.7, 0.3], [0.1, 0.9]], (3, 1, 1)))
    found = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 2), noise=noise, positive=0)
    expected = jt.evaluate(1 - y_pred, jt.Labels.from_matrix(1 - z, 2), noise=mirror)
    for name in ("recall", "precision", "false_alarm_rate"):
        assert found.metrics[name].mean == pytest.approx(expected.metrics[name].mean, abs=1e-9)
    np.testing.assert_allclose(found.prior, expected.prior, atol=1e-9)  # in the order of `classes`: "1", "0"
    np.testing.assert_allclose(found.confusion_matrix, expected.confusion_matrix, atol=1e-9)
    assert found.metrics["recall"].mean != pytest.approx(found.metrics["false_alarm_rate"].mean, abs=0.05)


def test_most_likely_prior_is_the_most_likely_one():
    """EM against a general optimiser, where labels are weak and EM is slow."""
    rng = np.random.default_rng(5)
    log_likelihood = np.log(rng.dirichlet(np.full(3, 6.0), 60))
    found, converged = most_likely_prior(log_likelihood)

    def minus(free):
        log_prior = np.append(free, 0.0) - logsumexp(np.append(free, 0.0))
        return -logsumexp(log_likelihood + log_prior, axis=1).sum()

    best = minimize(minus, np.zeros(2), method="BFGS", options={"gtol": 1e-8}).x
    expected = np.exp(np.append(best, 0.0) - logsumexp(np.append(best, 0.0)))
    assert converged
    np.testing.assert_allclose(found, expected, atol=1e-5)
