"""Shares of groups and their differences: enumeration, perfect labels, new items, refusals."""

import itertools
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import gammaln

import jtruth as jt
from jtruth.evaluation.gold.shares import prevalence
from jtruth.evaluation.groups import PAIRED, Groups, group_shares, independent_draws, read_groups
from jtruth.evaluation.inputs import read_labels_alone
from jtruth.latent import STANDARD
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.draws import DrawsEstimate

pytestmark = pytest.mark.usefixtures("few_sets")

KEY = jax.random.key(3)
N = 60
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
Z = np.where(RNG.random((N, 3)) < 0.8, Y[:, None], 1 - Y[:, None])
LABELS = jt.Labels.from_matrix(Z, 2)
GROUP = np.array(["a", "b", "c"])[np.arange(N) % 3]


@pytest.mark.slow
def test_counts_of_groups_are_the_joint_posterior():
    """Against the sum over all label vectors, with class shares, groups and matrices integrated out.

    Two samples are gold, or a chain that exchanges the classes would be turned back.
    """
    z = np.array([[1, 1], [0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    group, gold = np.array([0, 0, 0, 1, 1, 1]), np.array([-1, 0, -1, 1, -1, -1])
    row = np.array([[2.0, 1.0], [1.0, 2.0]])
    dist, unaware = np.zeros((4, 4)), np.zeros((4, 4))
    for y in itertools.product([0, 1], repeat=6):
        y = np.array(y)
        if y[1] != 0 or y[3] != 1:
            continue
        log_p = gammaln(1 + np.bincount(y, minlength=2)).sum()
        for given, prior in ((z[:, 0], row), (z[:, 1], row), (group, np.full((2, 3), 0.5))):
            counts = np.zeros(prior.shape)
            np.add.at(counts, (y, given), 1)
            if given is group:
                unaware[y[:3].sum(), y[3:].sum()] += np.exp(log_p)
            log_p += (gammaln(prior + counts).sum(1) - gammaln((prior + counts).sum(1))).sum()
        dist[y[:3].sum(), y[3:].sum()] += np.exp(log_p)
    labels = jt.Labels.from_matrix(z, 2)
    groups = read_groups(group, labels)
    priors = DirichletPriors(num_symbols=groups.symbols.shape[1], classifier_concentration=groups.symbols,
                             diagonal=2.0, off_diagonal_total=1.0)  # fmt: skip
    fit = fit_joint(labels, gold=gold, key=KEY, y_pred=groups.group, priors=priors, effort=STANDARD)
    shares = groups.of_tables(fit.counts)
    found = np.zeros((4, 4))
    np.add.at(found, tuple(np.rint(3 * shares).astype(int).T), 1 / len(shares))
    expected = dist / dist.sum()
    # The fit has at least 400 effective draws: 4.5 standard errors of a probability.
    most = 4.5 * np.sqrt(expected * (1 - expected) / 400) + 1e-3
    assert (np.abs(found - expected) < most).all()
    assert (np.abs(unaware / unaware.sum() - expected) > most).any()  # groups do say something


@pytest.mark.usefixtures("few_lineages")
@pytest.mark.parametrize("how", [{"assume": "independent"}, {"gold": Y}])
def test_labels_that_are_right_give_the_shares_as_they_are(how):
    labels = jt.Labels.from_matrix(np.tile(Y[:, None], (1, 5)), 2)
    found = prevalence(labels, key=0, by=GROUP, **how).groups
    truth = {name: Y[name == GROUP].mean() for name in "abc"}
    for name in "abc":
        assert found.dists.values[name].mean == pytest.approx(truth[name], abs=0.01)
    for (a, b), dist in found.dists.differences.items():
        assert dist.mean == pytest.approx(truth[a] - truth[b], abs=0.02)
        here, new = found.in_sample.p_better(a, b), found.dists.p_better(a, b)
        assert here == pytest.approx(0.5 + 0.5 * np.sign(truth[a] - truth[b]), abs=0.03)
        assert truth[a] == truth[b] or abs(new - 0.5) < abs(here - 0.5)
    assert found.dists.ranking == tuple(sorted(truth, key=lambda name: -truth[name]))
    assert found.label_shares == pytest.approx([truth[name] for name in "abc"])
    found = found._replace(dists=found.in_sample)
    text, two = found.sentence("posterior interval", 0.95, "population"), found.dists.ranking[:2]
    assert f"has a larger share of class '1' than {two[1]}" in text and "1 true class" not in text
    p, most = found.dists.p_better(*two), found.dists.best[two[0]]
    assert f"with probability {p:.2f}, and the largest of all groups with probability {most:.2f}" in text
    assert (found.blocks(0.95)[0].columns[-1][0] == "num_gold") == ("gold" in how)


@pytest.mark.usefixtures("few_lineages")
def test_probabilities_of_a_table_hang_together():
    found = prevalence(LABELS, key=0, by=Groups(GROUP, positive="0"), gold=np.where(np.arange(N) < 30, Y, -1))
    groups = found.groups
    assert groups is not None and groups.positive == "0" and groups.num_gold == (10, 10, 10)
    dists = groups.dists
    assert sum(dists.best.values()) == pytest.approx(1)
    draws = dists.columns
    for a, b in itertools.permutations("abc", 2):
        first, second = (draws[:, "abc".index(name)] for name in (a, b))
        expected = (first > second).mean() + 0.5 * (first == second).mean()
        assert dists.p_better(a, b) == pytest.approx(expected, abs=1e-12)
        assert dists.p_better(a, b) + dists.p_better(b, a) == pytest.approx(1)
    rows = groups.blocks(0.95)[1].rows
    neighbours = ["".join(dists.ranking[:2]), "".join(dists.ranking[1:])]
    assert [row["first"] + row["second"] for row in rows[:2]] == neighbours
    assert all(row["low"] <= row["mean"] <= row["high"] and row["mean"] >= 0 for row in rows)
    for row in rows:
        pair = row["first"], row["second"]
        assert row["first_larger"] == dists.p_better(*pair) != row["first_larger_in_sample"]
        assert (
            row["first_larger_in_sample"] == groups.in_sample.p_better(*pair) and row["items_in_common"] == 0
        )
    text, p = groups.sentence("posterior interval", 0.95, "population"), dists.p_better(*dists.ranking[:2])
    assert p < 0.95 and f"P({dists.ranking[0]} larger) = {p:.2f}" in text and "It is not clear" in text
    # Class 1 is the other side of class 0: the same distribution turned round.
    other = prevalence(LABELS, key=0, by=GROUP, gold=np.where(np.arange(N) < 30, Y, -1)).groups
    for name in "abc":
        assert other.dists.values[name].mean == pytest.approx(1 - dists.values[name].mean, abs=1e-12)


@pytest.mark.usefixtures("few_lineages")
def test_errors_of_groups_add_up_where_nobody_knows_that_they_cancel():
    rng = np.random.default_rng(1)
    dists = [DrawsEstimate(np.sort(rng.beta(a, 3, 20_000))) for a in (2, 6)]
    columns = independent_draws(dists, KEY)
    np.testing.assert_array_equal(np.sort(columns, axis=0), np.stack([dist.draws for dist in dists], axis=1))
    gap = columns[:, 0] - columns[:, 1]
    assert gap.mean() == pytest.approx(dists[0].mean - dists[1].mean)
    # A correlation of 20 000 draws has a standard error of .007.
    assert gap.var() == pytest.approx(dists[0].sd ** 2 + dists[1].sd ** 2, rel=0.04)
    free = prevalence(LABELS, key=0, by=GROUP)
    sure = prevalence(LABELS, key=0, by=GROUP, assume="independent")
    assert free.rule == "predictive"
    for pair, dist in free.groups.dists.differences.items():
        assert dist.sd > sure.groups.dists.differences[pair].sd
    assert any("favors one group" in text for text in free.warnings)


@pytest.mark.parametrize("common", [15, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 40))])
def test_new_items_move_groups_as_items_drawn_again_do(common):
    """Known classes: the spread of differences against items drawn again, common ones together."""
    rng = np.random.default_rng(2)
    size = (40, 50)
    hard = rng.random(100)
    item = np.concatenate([np.arange(40), np.arange(40 - common, 90 - common)])
    group = np.repeat([0, 1], size)
    y = (rng.random(90) < 0.15 + 0.7 * hard[item]).astype(int)
    labels = jt.Labels.from_matrix(y[:, None], 2)
    groups = read_groups(Groups(group, item), labels)
    share = np.array([y[group == g].mean() for g in (0, 1)])
    data = replace(read_labels_alone(labels, y, key=KEY), target="population")
    found = group_shares(groups, np.tile(share, (5_000, 1)), data, y.astype(float))
    assert found.in_common == {("0", "1"): common}
    drawn = []
    for _ in range(5_000):
        weight = rng.poisson(1.0, 100)[item]  # an item comes as often in both groups
        drawn.append(np.diff([np.average(y[group == g], weights=weight[group == g]) for g in (0, 1)])[0])
    # Sds of 5000 draws: .01 each, relative; weights of 40 or 50 items cost two or three per cent.
    assert found.dists.differences["0", "1"].sd == pytest.approx(np.std(drawn), rel=0.06)
    assert found.in_sample.differences["0", "1"].sd == 0


@pytest.mark.usefixtures("few_lineages")
def test_the_same_items_in_two_groups_are_paired():
    """Whoever passes an item as `a` passes it as `b`: their differences are narrower than their shares."""
    rng = np.random.default_rng(5)
    y = (rng.random(120)[:, None] < [0.5, 0.7]).astype(int).ravel()
    labels = jt.Labels.from_matrix(np.where(rng.random((240, 3)) < 0.8, y[:, None], 1 - y[:, None]), 2)
    group, item = np.tile(["a", "b"], 120), np.repeat(np.arange(120), 2)
    some = np.where(item < 40, y, -1)
    paired = prevalence(labels, key=0, by=Groups(group, item), gold=some)
    alone = prevalence(labels, key=0, by=group, gold=some)
    assert PAIRED in paired.warnings and PAIRED not in alone.warnings
    for kind in ("dists", "in_sample"):
        one, other = (getattr(found.groups, kind).differences["a", "b"] for found in (paired, alone))
        low, high = one.interval()
        assert one.sd < 0.95 * other.sd and low <= y[::2].mean() - y[1::2].mean() <= high
    # Of 40 known answers in each group only 6 are of items known in both: pairs would say less.
    few = np.where(np.where(group == "a", item < 40, (item >= 34) & (item < 74)), y, -1)
    found, apart = (prevalence(labels, key=0, by=by, gold=few) for by in (Groups(group, item), group))
    assert PAIRED not in found.warnings
    ends = [one.groups.in_sample.differences["a", "b"].interval() for one in (found, apart)]
    assert ends[0] == ends[1] and np.diff(ends[0]) < 0.45
    sure = prevalence(labels, key=0, by=Groups(group, item), gold=y).groups
    assert sure.in_sample.differences["a", "b"].mean == pytest.approx(y[::2].mean() - y[1::2].mean())
    assert sure.in_sample.differences["a", "b"].sd == pytest.approx(0, abs=1e-12)
    differ = (y[::2] != y[1::2]).mean() - (y[::2].mean() - y[1::2].mean()) ** 2
    assert sure.dists.differences["a", "b"].sd == pytest.approx(np.sqrt(differ / 120), rel=0.05)  # 4000 draws


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["a"] * N, "by has one group, 'a'; give 2 or more"),
        ([None, "", *["a", "b"] * 29], "samples without a group: 0, 1"),
        (["a", "b"], f"by has 2 entries but there are {N} samples"),
        (Groups(GROUP, ["q"] * N), "an item occurs twice in one group"),
        (Groups(GROUP, positive=2), "positive=2 is not one of the classes .0., .1."),
        (Groups(GROUP, positive="maybe"), "maybe"),
    ],
)
def test_groups_that_cannot_be_asked_about(by, message):
    with pytest.raises(ValueError, match=message):
        prevalence(LABELS, by=by)


@pytest.mark.usefixtures("few_lineages")
def test_small_groups_and_labels_that_tell_nothing_are_said():
    by = np.where(np.arange(N) < 2, "tiny", GROUP)
    found = prevalence(LABELS, key=0, by=by, gold=np.where(np.arange(N) % 3 == 0, Y, -1))
    assert "'tiny' have fewer than 5 samples, so their shares are very uncertain." in found.warnings
    assert any("'b', 'c', 'tiny' have fewer than 5 gold answers" in text for text in found.warnings)
    enough = prevalence(LABELS, key=0, by=GROUP, gold=np.where(np.arange(N) < 15, Y, -1))
    assert enough.groups.num_gold == (5, 5, 5) and not any("fewer than 5" in t for t in enough.warnings)
    nothing = prevalence(jt.Labels.from_matrix(Z[:, :2], 2), by=GROUP)
    assert nothing.rule == "not identified" and nothing.groups is None


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
def test_fifty_groups_and_groups_by_task():
    by = {f"t{k}": f"g{k % 50}" for k in range(400)}
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, (400, 1))
    z = np.where(rng.random((400, 3)) < 0.8, y, 1 - y)
    labels = jt.Labels.from_matrix(z, 2).with_names(tasks=list(by))
    found = prevalence(labels, key=0, by=by, assume="independent").groups
    assert len(found.dists.differences) == 50 * 49 // 2 and tuple(found.sizes) == (8,) * 50
    mine = np.array([by[str(task)] == "g7" for task in labels.tasks])
    assert found.label_shares[found.names.index("g7")] == pytest.approx(labels.to_matrix()[mine].mean())
