"""Class shares: enumeration, gold, copying judges, unidentified shares, text and JSON."""

import itertools
import json

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth._host import cross_table
from jtruth.evaluation.gold.shares import prevalence
from jtruth.evaluation.gold.tables import labels_only_posterior, too_few_labels
from jtruth.latent import STANDARD
from jtruth.learning.joint.posterior import fit_joint
from tests.evaluation.crowds import some_gold
from tests.learning.crowds import dirichlet_multinomial

pytestmark = pytest.mark.usefixtures("few_lineages")

KEY = jax.random.key(2)


def judges(seed=0, size=300, share=0.7, copying=False):
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < share).astype(int)
    right = np.where(y[:, None] == 1, [0.95, 0.75, 0.85], [0.7, 0.95, 0.8])
    z = np.where(rng.random((size, 3)) < right, y[:, None], 1 - y[:, None])
    if copying:
        z[:, 2] = np.where(rng.random(size) < 0.9, z[:, 0], z[:, 2])
    return y, z


@pytest.mark.slow
def test_count_draws_are_the_joint_posterior():
    """Against the sum over all 2^5 label vectors with prior and matrices integrated out (Dirichlet).

    So are those of the right labels of one labeler.
    """
    z = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 0, 1], [1, 1, -1]])
    gold = np.array([-1, 0, -1, -1, -1])
    row = np.array([[2.0, 1.0], [1.0, 2.0]])
    weight, of_right = np.zeros(6), np.zeros(6)
    for y in map(np.array, itertools.product([0, 1], [0], [0, 1], [0, 1], [0, 1])):
        log_p = dirichlet_multinomial(np.bincount(y, minlength=2), np.ones(2))
        for column in z.T:
            given = column >= 0
            log_p += dirichlet_multinomial(cross_table(y[given], column[given], (2, 2)), row)
        weight[y.sum()] += np.exp(log_p)
        of_right[(z[:, 0] == y).sum()] += np.exp(log_p)
    labels = jt.Labels.from_matrix(z, 2)
    fit = fit_joint(labels, gold=gold, key=KEY, effort=STANDARD)
    for draws, dist in ((fit.class_counts[:, 1], weight), (fit.right[:, 0], of_right)):
        found, expected = np.bincount(draws, minlength=6) / len(draws), dist / dist.sum()
        # The fit has at least 400 effective draws: 4.5 standard errors of a probability.
        assert (np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 400) + 1e-3).all()


@pytest.mark.slow
def test_rules_and_what_they_promise():
    y, z = judges()
    labels, gold = jt.Labels.from_matrix(z, 2), some_gold(y, 30)
    options = ({}, {"gold": gold}, {"gold": gold, "assume": "independent"})
    answers = free, safe, narrow = [prevalence(labels, key=KEY, **how) for how in options]
    assert [one.rule for one in answers] == ["predictive", "post-stratification", "joint posterior"]
    assert [one.num_gold for one in answers] == [0, 30, 30]
    widths = []
    for result in answers:
        low, high = result.shares["1"].interval(0.95)
        assert low <= y.mean() <= high  # these keys; coverage is measured in benchmarks/judges.py
        widths.append(high - low)
        other = result.shares["0"].interval(0.95)
        np.testing.assert_allclose([1 - other.high, 1 - other.low], [low, high], atol=0.01)
    assert widths[2] < widths[1] and len(free.assumptions) == 2 and not safe.assumptions
    low, high = free.shares["1"].interval(0.95)
    assert all(low < one["1"] < high and one["0"] + one["1"] == pytest.approx(1)
               for one in free.assumptions.values())  # fmt: skip
    assert "95 % predictive intervals" in free.summary(full=True)
    assert "95 % posterior intervals" in safe.summary(full=True)
    vouched = prevalence(labels, key=KEY, assume="independent").shares["1"]
    assert vouched.sd > 0 and np.diff(vouched.interval(0.95)) < widths[0]
    assert any("only" in w or "gold" in w for w in free.warnings) and not safe.warnings
    assert "the labels outweigh them" in narrow.warnings[0]
    np.testing.assert_allclose(safe.class_posterior.sum(axis=1), 1)


def test_vouching_for_independence_does_not_forget_the_gold():
    y, z = judges(size=80)
    gold = some_gold(y, 20)
    found = prevalence(jt.Labels.from_matrix(z, 2), key=KEY, gold=gold, assume="independent")
    np.testing.assert_allclose(found.class_posterior[gold >= 0, 1], gold[gold >= 0], atol=1e-12)


def test_all_gold_is_the_answer():
    y, z = judges(size=60)
    labels = jt.Labels.from_matrix(z, 2)
    found = prevalence(labels, key=KEY, gold=y)
    assert not found.warnings
    (warning,) = prevalence(labels, key=KEY, gold=y, labelers_are="people").warnings
    assert warning.startswith("labelers_are='people' has no effect here")
    assert found.shares["1"].mean == pytest.approx(y.mean()) and found.in_sample.shares["1"].sd == 0


@pytest.mark.parametrize("columns", [1, 2])
def test_without_gold_one_or_two_judges_are_not_identified(columns):
    y, z = judges()
    labels = jt.Labels.from_matrix(z[:, :columns], 2)
    found = prevalence(labels, key=KEY)
    text = found.summary(full=True)
    assert found.rule == "not identified" and not found.shares
    assert text.startswith("Not identified") and "30 random samples" in text
    with_gold = prevalence(labels, key=KEY, gold=some_gold(y, 30))
    low, high = with_gold.shares["1"].interval(0.95)
    assert low <= y.mean() <= high and "vote shares" in with_gold.warnings[0]


def test_a_class_that_gold_hardly_met_is_named():
    y, z = judges(share=0.04)
    gold = some_gold(y, 30)
    found = prevalence(jt.Labels.from_matrix(z, 2), key=KEY, gold=gold)
    assert f"only {(gold == 1).sum()} of 30 verified labels is of class '1'" in found.warnings[0]
    assert len(found.warnings) == 1


def test_score_is_the_mean_of_joint_posterior_and_vote_shares():
    """One vote is spread over the classes; where labels determine nothing the shares stand alone."""
    _, z = judges(size=60)
    labels = jt.Labels.from_matrix(z, 2)
    shares = (labels.counts() + 0.5) / 4
    score, _ = labels_only_posterior(labels, KEY)
    expected = 0.5 * (fit_joint(labels, key=KEY).class_posterior + shares)
    np.testing.assert_allclose(score, expected, rtol=1e-12)
    two = labels.select_labelers([0, 1])
    alone, doubts = labels_only_posterior(two, KEY)
    np.testing.assert_allclose(alone, (two.counts() + 0.5) / 3, rtol=1e-12)
    assert "ranked by their vote shares" in doubts[0]


def test_more_classes_and_names():
    rng = np.random.default_rng(4)
    y = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
    z = np.where(rng.random((200, 4)) < 0.75, y[:, None], rng.integers(0, 3, (200, 4)))
    names = np.array(["bad", "fair", "good"])
    labels = jt.Labels.from_matrix(z, 3).with_names(classes=names.tolist())
    gold = some_gold(y, 40)
    found = prevalence(labels, key=KEY, gold=gold, level=0.999)
    for c, name in enumerate(names):
        low, high = found.shares[name].interval(0.9999)
        assert low <= (y == c).mean() <= high
    assert sum(dist.mean for dist in found.shares.values()) == pytest.approx(1)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["rule"] == "post-stratification" and set(plain["shares"]) == set(names)
    assert plain["shares"]["good"]["low"] <= plain["shares"]["good"]["mean"]
    assert sum(plain["label_shares"].values()) == pytest.approx(1)
    lines = found.summary(full=True).splitlines()
    assert all(f" are {str(n)!r}" in lines[0] for n in names) and "99.9 % intervals" in lines[0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"key": "x"}, "key is 'x' of type str: give a whole number"),
        ({"assume": "copying"}, "assume must be None or 'independent'"),
        ({"gold": [1, 0, 1]}, "gold has 3 entries but there are 40"),
        ({"gold": np.full(40, 7)}, r"gold\[0\] is 7"),
        ({"level": 1.0}, "level is 1"),
    ],
)
def test_input_that_cannot_be_used(as_installed, how, message):
    with pytest.raises(ValueError, match=message):
        prevalence(jt.Labels.from_matrix(judges(size=40)[1], 2), **how)


def test_two_labels_of_every_sample_are_too_few_and_three_of_some_are_not():
    z = np.array([[0, 0, 0], [1, 1, -1], [0, 1, -1], [1, -1, -1]])
    labels = [jt.Labels.from_matrix(part, 2) for part in (z, z[:, :2])]
    assert [too_few_labels(one) for one in labels] == [False, True]
