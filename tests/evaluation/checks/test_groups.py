"""Groups of labelers who agree beyond any accuracy: detection, false alarms, refusal of all."""

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.checks.of_labels import EVERYBODY, GROUPS, all_refused, excess, groups_check
from jtruth.evaluation.parts import Check


def copying(seed, groups, size=400, right=0.8, slip=0.03):
    """Labelers of a group repeat one leader, with slips."""
    rng = np.random.default_rng(seed)
    y, columns = rng.integers(0, 2, size), []
    for number in groups:
        lead = np.where(rng.random(size) < right, y, 1 - y)
        columns += [np.where(rng.random(size) < slip * (number > 1), 1 - lead, lead) for _ in range(number)]
    return y, jt.Labels.from_matrix(np.stack(columns, axis=1), 2)


def check(labels, seed=0):
    found = groups_check(labels, jax.random.key(seed))
    return found[0] if found else None


def test_one_factor_explains_good_and_bad_labelers_exactly():
    """With every pattern as often as it is probable, nothing is left: |K - f f'| < 1e-6."""
    right, patterns = np.array([0.95, 0.8, 0.7, 0.6, 0.9]), np.indices((2,) * 5).reshape(5, -1).T
    p = sum(0.5 * np.prod(np.where(patterns == c, right, 1 - right), axis=1) for c in (0, 1))
    number = np.round(p * 200_000).astype(int)
    found = excess(np.repeat(patterns, number, axis=0), 2, jax.random.key(0), np.zeros((5, 5), bool))
    assert found is not None
    off = ~np.eye(5, dtype=bool)
    assert np.abs(found[0][off]).max() < 2e-4  # rounding of counts


@pytest.mark.parametrize("seed", range(5))
def test_two_panels_are_named_and_refuse_every_model(seed):
    _, labels = copying(seed, (3, 3))
    found = check(labels)
    assert found.name == EVERYBODY and found.verdict == "does not fit"
    assert "'0', '1', '2'" in found.message and "'3', '4', '5'" in found.message
    pairs = Check("pairwise agreement", 9.0, 0.0, "does not fit", "")
    assert all_refused((found, pairs)) and not all_refused((found, pairs._replace(verdict="fits")))


def test_a_pair_is_named_and_refuses_nothing():
    _, labels = copying(0, (2, 1, 1, 1, 1))
    found = check(labels.with_names(workers=["gpt-a", "gpt-b", "c", "d", "e", "f"]))
    assert found.name == GROUPS and not all_refused((found,))
    assert found.message.startswith("labelers 'gpt-a', 'gpt-b' agree with one another more often than their")
    assert "they repeat each other's mistakes. Keep one labeler of such a group" in found.message


def test_of_four_labelers_two_pairs_cannot_be_told_apart():
    _, labels = copying(1, (2, 1, 1), size=1000)
    text = check(labels).message
    assert "'0', '1'" in text and "'2', '3'" in text and "the labels cannot tell which" in text


@pytest.mark.slow
def test_false_alarms_are_rare():
    """60 sets: at most 5 alarms of 1 % (false-alarm rate of this test below 1e-4)."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, right = rng.integers(0, 2, 300), rng.uniform(0.55, 0.95, 5)
        z = np.where(rng.random((300, 5)) < right, y[:, None], 1 - y[:, None])
        alarms += check(jt.Labels.from_matrix(z, 2), seed).verdict != "fits"
    assert alarms <= 5


def test_nothing_is_said_where_nothing_can_be():
    _, labels = copying(0, (1, 1, 1))
    assert groups_check(labels, jax.random.key(0)) == ()
    assert groups_check(labels.restrict(np.arange(10)), jax.random.key(0)) == ()
    assert not all_refused(())
    assert all_refused((Check("labelers never disagree", 1.0, 0.0, "look first", ""),))


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
def test_where_every_model_is_refused_no_answer_says_what_assumptions_say():
    y, labels = copying(0, (3, 3), size=400)
    found = jt.evaluate_labelers(labels)
    assert any(one.name == EVERYBODY for one in found.checks) and all_refused(found.checks)
    assert found.assumptions == () and all(row["by_assumption"] == {} for row in found.rows)
    share, both = jt.prevalence(labels), {"a": y, "b": labels.to_matrix()[:, 0]}
    two = jt.compare_classifiers(both, labels)
    scores = jt.evaluate_scores(y + np.random.default_rng(0).random(400), labels)
    groups = jt.evaluation.compare_groups(y, labels, np.arange(400) % 2)
    assert share.rule == "predictive" and not share.assumptions
    assert two.assumptions == scores.assumptions == groups.assumptions == ()
    for answer in (found, share, two, scores, groups):
        assert any(text.startswith("The checks reject every model") for text in answer.warnings)
