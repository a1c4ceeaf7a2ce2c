"""`compare_classifiers`: exact for known classes, paired, calibrated, wide without gold."""

import itertools
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import betainc, gammaln
from scipy.stats import beta, binomtest
from sklearn.metrics import cohen_kappa_score, f1_score, precision_score, recall_score, roc_auc_score

import jtruth as jt
from jtruth.evaluation import compare, inputs
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.evaluation.compare import judged_together, parts_of
from jtruth.evaluation.compared import Dists, joined
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.pairs import Decided
from jtruth.testing.binary.chain import symbol_chain

pytestmark = pytest.mark.usefixtures("few_sets")

NOISE, PRIOR = jt.noise.Symmetric(0.2, 2), np.array([0.6, 0.4])


def rivals(seed, size=300, labelers=3, accuracies=(0.9, 0.84, 0.7), shared=0.5, error=0.2):
    """(classes, predictions by name, labels); errors of the classifiers go together."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.4).astype(int)
    z = np.where(rng.random((size, labelers)) < error, 1 - y[:, None], y[:, None])
    hard = rng.random(size)
    where = [np.where(rng.random(size) < shared, hard, rng.random(size)) for _ in accuracies]
    said = [np.where(u < a, y, 1 - y) for u, a in zip(where, accuracies, strict=True)]
    return y, dict(zip("abc", said, strict=False)), jt.Labels.from_matrix(z, 2)


def certain(y, classes=2):
    with np.errstate(divide="ignore"):
        return np.log(np.eye(classes)[y])


def test_known_classes_are_scikit_learn():
    y, said, _ = rivals(0)
    other = {
        "recall": recall_score, "precision": precision_score, "f1": f1_score, "kappa": cohen_kappa_score
    }  # fmt: skip
    for metric, function in other.items():
        found = jt.compare_classifiers(said, certain(y), prior=PRIOR, metric=metric).in_sample
        true = {name: function(y, p) for name, p in said.items()}
        for name in said:
            np.testing.assert_allclose(found.values[name].mean, true[name], atol=1e-12)
        np.testing.assert_allclose(found.differences["a", "c"].mean, true["a"] - true["c"], atol=1e-12)
        assert found.ranking[0] == max(true, key=true.get) and found.best[found.ranking[0]] == 1
        assert found.differences["a", "b"].sd < 1e-12


def test_two_classifiers_against_enumeration_of_all_classes():
    """8 samples: exact distributions from all 256 label vectors with the rows integrated out.

    For new samples nothing is drawn that has an error: whatever the key, P(better) is the sum over all label
    vectors of that of two gammas, and accuracy the mean of Beta distributions.
    """
    rng = np.random.default_rng(2)
    odds, codes = rng.normal(0, 1.5, 8), rng.integers(0, 2, (2, 8))
    log_lik = np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], axis=1)
    two, given = {"a": codes[0], "b": codes[1]}, {"prior": [0.5, 0.5]}
    new, (weight, value, only) = jt.compare_classifiers(two, log_lik, **given), ([], [], [])
    for y in itertools.product((0, 1), repeat=8):
        y = np.array(y)
        table = np.zeros((2, 4))
        np.add.at(table, (y, 2 * codes[0] + codes[1]), 1)
        weight.append(
            log_lik[np.arange(8), y].sum() + gammaln(table + 0.5).sum() - gammaln(table.sum(1) + 2).sum()
        )
        one, other = codes == y
        value.append(one.mean() - other.mean())
        only.append([(one & ~other).sum(), (other & ~one).sum(), one.sum()])
    weight = np.exp(np.array(weight) - max(weight))
    weight, value, (f, s, right) = weight / weight.sum(), np.array(value), np.transpose(only)
    found = new.in_sample
    dist = found.differences["a", "b"]
    sd = np.sqrt(weight @ value**2 - (weight @ value) ** 2)
    assert abs(dist.mean - weight @ value) < 4.5 * sd / np.sqrt(4000)  # two-sided 7e-6
    chance = weight[value > 1e-9].sum() + 0.5 * weight[np.abs(value) < 1e-9].sum()
    assert abs(found.best["a"] - chance) < 4.5 * 0.5 / np.sqrt(4000)
    assert found.better["a", "b"] == pytest.approx(found.best["a"])
    assert new.better["a", "b"] == pytest.approx(weight @ betainc(s + 0.5, f + 0.5, 0.5), abs=1e-12)
    assert new.values["a"].mean == pytest.approx(weight @ right / 8, abs=1e-12)
    below = [weight @ betainc(right + 0.5, 8.5 - right, end) for end in new.values["a"].interval(0.9)]
    np.testing.assert_allclose(below, [0.05, 0.95], atol=1e-4)
    gap, k = new.differences["a", "b"], rng.choice(256, 200_000, p=weight)
    q, r = rng.beta(f[k] + 0.5, s[k] + 0.5), rng.beta((f + s)[k] + 1, 9 - (f + s)[k])
    for level in (0.5, 0.95):
        ends = np.quantile(r * (2 * q - 1), [(1 - level) / 2, (1 + level) / 2])
        np.testing.assert_allclose(gap.interval(level), ends, atol=0.01)
    again = jt.compare_classifiers(two, log_lik, key=5, target="in-sample", **given)
    assert again.population.better == new.better and again.better == found.better
    assert again.to_dict()["comparison"]["population"]["differences"][0]["first_better"] == max(
        new.best.values()
    )
    recall = jt.compare_classifiers(two, log_lik, metric="recall", **given)  # of positives only
    hits = [
        [(y & p & (1 - o)).sum() for p, o in (codes, codes[::-1])]
        for y in itertools.product((0, 1), repeat=8)
    ]
    f, s = np.transpose(hits)
    assert recall.better["a", "b"] == pytest.approx(weight @ betainc(s + 0.5, f + 0.5, 0.5), abs=1e-12)


def test_all_classes_known_16_against_15_and_three_groups(few_lineages):
    """By a million draws of four cells and of two shares, SciPy's binomial test and Jeffreys' interval."""
    rng = np.random.default_rng(1)
    cell = rng.permutation(np.repeat([0, 1, 2, 3], [46, 16, 15, 3]))
    y, wrong = np.arange(80) % 2, {"m1": cell >= 2, "m2": cell % 2 == 1}
    labels = jt.Labels.from_matrix(np.stack([y, np.where(cell == 3, 1 - y, y)], axis=1), 2)
    found = jt.compare_classifiers({name: np.where(w, 1 - y, y) for name, w in wrong.items()}, labels, gold=y)
    chances = rng.dirichlet(np.array([46, 16, 15, 3]) + 0.5, 1_000_000)
    gap, dist = chances[:, 1] - chances[:, 2], found.differences["m1", "m2"]
    assert found.best["m1"] == pytest.approx((gap > 0).mean(), abs=4.5 * 0.5 / 1000)
    np.testing.assert_allclose(dist.interval(), np.quantile(gap, [0.025, 0.975]), atol=1.5e-3)
    assert dist.mean == pytest.approx(1 / 80) and found.in_sample.best["m1"] == 1
    np.testing.assert_allclose(found.values["m1"].interval(), beta(62.5, 18.5).ppf([0.025, 0.975]), atol=1e-3)
    row = found.to_dict()["comparison"]["differences"][0]
    assert (row["only_first"]["mean"], row["only_second"]["mean"]) == (16, 15)
    for f, s in ((16, 15), (9, 2), (0, 0)):
        only = Decided(
            DrawsEstimate(np.full(3, 1.0 * f)), DrawsEstimate(np.full(3, 1.0 * s)), 80.0, "accuracy", False
        )
        assert only.mcnemar == pytest.approx(binomtest(f, f + s).pvalue if f else 1.0)
    text = " ".join(str(found).split())
    assert (
        "It is not clear whether m1 or m2 has the better accuracy for new samples: m1 − m2 is +1.3 points"
        in text
    )
    assert "m1 alone is right on 16 of 80 samples, m2 alone on 15 (exact McNemar p = 1.00)." in text

    group = np.repeat(["s1", "s2", "s3"], 60)
    right = np.concatenate([np.arange(60) < n for n in (28, 44, 46)])
    y = np.tile(np.arange(60) % 2, 3)
    three = jt.evaluation.compare_groups(np.where(right, y, 1 - y), certain(y), group, prior=[0.5, 0.5])
    shares = rng.beta(*(np.array([[46, 44], [14, 16]]) + 0.5)[:, :, None], (2, 1_000_000))
    assert three.better["s3", "s2"] == pytest.approx(
        (shares[0] > shares[1]).mean(), abs=4.5 * 0.5 / np.sqrt(16_000)
    )
    assert three.in_sample.better["s3", "s2"] == 1 and "P(the order s3, s2, s1 is right)" in " ".join(
        str(three).split()
    )


def test_chances_margins_ranks_and_requirements_follow_from_the_draws():
    _, said, labels = rivals(1)
    options = {"noise": NOISE, "prior": PRIOR, "metric": "false_alarm_rate", "margin": 0.02, "at_least": 0.15}
    new = jt.compare_classifiers(said, labels, **options)
    found = new.in_sample
    columns = found.columns
    assert sum(found.best.values()) == pytest.approx(1)
    np.testing.assert_allclose(found.ranks.sum(axis=0), 1)
    np.testing.assert_allclose(found.ranks.sum(axis=1), 1)
    assert found.better["a", "c"] == np.mean(columns[:, 2] - columns[:, 0] > 0.02)  # smaller is better
    assert found.meets["a"] == np.mean(columns[:, 0] <= 0.15)
    assert found.ranking == tuple("abc"[k] for k in np.argsort(columns.mean(axis=0)))
    order = found.columns[:, ["abc".index(name) for name in found.ranking]]
    assert found.order_probability == (np.diff(order, axis=1) >= 0).all(axis=1).mean()
    assert "P(at most 0.15)" in found.summary(full=True) and "by more than 0.02" in found.summary(full=True)
    assert found.agreement["b"] == pytest.approx((labels.to_matrix() == said["b"][:, None]).mean())
    again = jt.compare_classifiers(said, labels, key=jax.random.key(0), **options)
    assert again.to_dict() == new.to_dict()


@pytest.mark.slow
def test_an_unknown_prior_is_integrated_out():
    """Numbers of positives against a sum over 100 shares, each with the evidence of labels and tuples."""
    _, said, labels = rivals(3)
    data = inputs.read(said["a"], labels, NOISE, None, None, None)
    ((_, part, what),) = parts_of(np.stack([said["a"], said["b"]]), data)
    found, _ = judged_together(part, what)
    positives = found.counts[:, 1].sum(axis=1)
    ratio, share = np.diff(data.model.log_likelihood, axis=1)[:, 0], (np.arange(100) + 0.5) / 100
    evidence, mean = np.empty(100), np.empty(100)
    for k, one in enumerate(share):
        odds = ratio + np.log(one / (1 - one))
        chain = symbol_chain(odds, part.y_pred, what.num_symbols, what.prior(2.0, 0.5))
        evidence[k] = chain.log_evidence + np.logaddexp(np.log1p(-one), np.log(one) + ratio).sum()
        mean[k] = chain.draws(k, 4000).sum(axis=1).mean()
    weight = np.exp(evidence - evidence.max())
    assert abs(positives.mean() - weight @ mean / weight.sum()) < 4.5 * positives.std() / np.sqrt(4000)
    flipped = jt.compare_classifiers(said, labels, noise=NOISE, metric="recall", positive="0")
    direct = jt.compare_classifiers(said, labels, noise=NOISE, metric="recall[0]")
    assert flipped.positive == "0" and flipped.values["a"].mean == direct.values["a"].mean


def test_five_classifiers_go_by_twos_and_come_together_again():
    rng = np.random.default_rng(4)
    y, said, labels = rivals(4, size=120)
    said |= {name: np.where(rng.random(120) < 0.75, y, 1 - y) for name in "de"}
    found = jt.compare_classifiers(said, labels, noise=NOISE, prior=PRIOR)
    assert len(found.differences) == 10 and "in pairs" in found.warnings[0]
    assert sum(found.best.values()) == pytest.approx(1)
    dists, lead = found, np.zeros((5, 5))
    for (a, b), dist in dists.differences.items():
        a, b = "abcde".index(a), "abcde".index(b)
        lead[a, b], lead[b, a] = dist.mean, -dist.mean
    together = dists.columns.mean(axis=0)  # least squares of the ten differences
    error = 5 * max(dist.sd for dist in dists.values.values()) / np.sqrt(len(dists.columns))
    np.testing.assert_allclose(together - together.mean(), lead.mean(axis=1), atol=error)


def test_joined_dists_keep_their_correlations():
    rng = np.random.default_rng(5)
    true = rng.multivariate_normal([0, 0.1, 0.3], [[1, 0.8, 0.2], [0.8, 1, 0.4], [0.2, 0.4, 2]], 4000)
    values = {name: DrawsEstimate(column) for name, column in zip("abc", true.T, strict=True)}
    pairs = {(a, b): DrawsEstimate(values[a].draws - values[b].draws) for a, b in ("ab", "ac", "bc")}
    found = joined(values, pairs, 0)
    np.testing.assert_allclose(np.corrcoef(found.T), np.corrcoef(true.T), atol=5 / np.sqrt(4000))
    for sign, best in ((1.0, true.argmax(1)), (-1.0, true.argmin(1))):
        ranks = Dists(values, pairs, true, sign).ranks
        np.testing.assert_allclose(ranks[:, 0], [np.mean(best == k) for k in range(3)])


@pytest.fixture(scope="module")
def learned(few_lineages):
    """(classes, answer without a word, vouched for, with gold): 200 samples, four labelers."""
    y, said, labels = rivals(6, size=200, labelers=4)
    two = {"a": said["a"], "c": np.maximum(said["a"], said["c"])}  # the tuple (1, 0) never occurs
    gold = np.where(np.arange(200) < 40, y, -1)
    return (
        y,
        two,
        jt.compare_classifiers(two, labels),
        jt.compare_classifiers(two, labels, assume="independent"),
        jt.compare_classifiers(two, labels, gold=gold),
        labels,
    )


def test_nobody_vouches(learned):
    y, two, open_, vouched, gold, labels = learned
    true = (two["a"] == y).mean() - (two["c"] == y).mean()
    for found, kind in ((open_, "predictive"), (vouched, "posterior"), (gold, "posterior")):
        low, high = found.differences["a", "c"].interval(0.95)
        assert low < true < high and found.ranking == ("a", "c") and found.interval_kind == kind
        assert f"Assumption: {found.assumption}" in found.summary(full=True)
    assert "Labels cannot show" in open_.warnings[0] and "Labels cannot show" in open_.summary(full=True)
    assert gold.num_gold == 40 and "40 verified labels" in gold.summary(full=True)
    assert "chosen at random" in gold.warnings[0]
    assert (
        not gold.assumptions
        and not vouched.assumptions
        and "what each assumption says" not in gold.summary(full=True)
    )
    rows = dict(open_.assumptions)  # means by sentence, of what-if only: no interval, no probability
    assert list(rows) == [ASSUMPTIONS[name].sentence for name in ("majority_vote", "independent")]
    votes = majority(y, two, labels)
    assert rows[ASSUMPTIONS["majority_vote"].sentence] == pytest.approx(votes, abs=0.02)  # ties are drawn
    assert vouched.values["a"].mean == pytest.approx(rows[ASSUMPTIONS["independent"].sentence][0], abs=0.01)


def majority(y, two, labels):
    """Accuracy if the majority is right; ties are coins."""
    share = labels.counts() == labels.counts().max(axis=1, keepdims=True)
    share = share / share.sum(axis=1, keepdims=True)
    return [share[np.arange(y.size), p].mean() for p in two.values()]


def test_labels_alone_cannot_tell_and_how_much_gold_would(learned):
    """n gold answers tell d where d is two standard errors, sqrt(D / n), D the share that decides it."""
    found = learned[2]
    d = found.differences["a", "c"]
    assert not found.told and found.better["a", "c"] < 0.95
    assert d.mean == found.values["a"].mean - found.values["c"].mean
    need = 4 * np.abs(found.in_sample.differences["a", "c"].draws).max() / d.mean**2
    assert found.gold_to_tell == (None if need > 200 else 10 * np.ceil(need / 10))
    first = found.summary(full=True).split("\n")[0]
    assert first.startswith(
        "The labels alone cannot tell whether a or c has the better accuracy for new samples. "
    )
    told = found.gold_to_tell
    assert f"About {told} verified labels of random samples would tell" in first
    assert "robab" not in found.summary(full=True) and "P(" not in found.summary(full=True)
    plain = found.to_dict()["comparison"]
    assert (plain["told"], plain["gold_to_tell"]) == (False, told)
    assert plain["interval_kind"] == "predictive"
    assert plain["differences"][0]["first_better"] is None
    assert all(row["best"] is row["ranks"] is None for row in plain["classifiers"])
    for low, high, close in ((-0.02, 0.029, True), (-0.01, 0.05, False), (-0.05, 0.01, False)):
        near = replace(found, differences={("a", "c"): DrawsEstimate(np.linspace(low, high, 400))})
        assert near.close == close  # both ends of the interval have to be within .03
    sure = {("a", "c"): DrawsEstimate(np.linspace(-0.004, 0.2, 100))}
    told = replace(found, differences=sure)
    assert told.told and told.to_dict()["comparison"]["gold_to_tell"] is None
    assert told.to_dict()["comparison"]["differences"][0]["first_better"] == told.best["a"] > 0.95
    first = " ".join(told.summary(full=True).split())
    assert (
        first.startswith("a has the better accuracy for new samples: a − c is +")
        and "P(a better) = 0.98" in first
    )


@pytest.mark.usefixtures("few_lineages")
def test_a_predictive_difference_lies_within_what_discordant_samples_allow(learned):
    """Of accuracy: the share on which predictions differ; of recall readings say how many are positive."""
    _, two, open_, *_ = learned
    apart = (two["a"] != two["c"]).mean()
    dist, new = open_.in_sample.differences["a", "c"], open_.differences["a", "c"]
    assert np.abs(dist.draws).max() <= apart + 1e-12 and dist.sd > 0.1 * apart
    drawn = np.sqrt(dist.sd**2 + (apart - dist.mean**2) / 200)  # and the error of having drawn these samples
    assert dist.sd < new.sd == pytest.approx(drawn, rel=0.1) and new.mean == pytest.approx(
        dist.mean, abs=0.01
    )
    labels = learned[5]
    for metric in ("recall", "precision", "mcc", "false_alarm_rate"):
        found = jt.compare_classifiers(two, labels, metric=metric, labelers_are="people", level=0.9)
        assert np.nanmax(np.abs(found.differences["a", "c"].draws)) <= 1
        assert (found.best["a"] + found.best["c"]) == pytest.approx(1)
        ends = [dist.interval(0.9) for dist in found.values.values()]
        assert all((metric == "mcc" or low >= 0) and low <= high <= 1 for low, high in ends)
        sign = -1 if metric == "false_alarm_rate" else 1
        means = [sign * found.values[name].mean for name in found.ranking]
        assert means[0] >= means[1]
        d, (p, q) = found.differences["a", "c"].draws, (found.better["a", "c"], found.better["c", "a"])
        assert p == pytest.approx((sign * d > 0).mean() + 0.5 * (d == 0).mean()) and p + q == pytest.approx(1)


@pytest.mark.usefixtures("few_lineages")
def test_the_prior_is_asked_about_the_differences_that_are_shown(monkeypatch):
    """Draws that the check of the prior gets are the first classifier's accuracy less another's."""
    asked = {}
    monkeypatch.setattr(compare, "doubts_of", lambda draws, fit, level: asked.update(draws) or ("said",))
    _, three, labels = rivals(3, size=80)
    found = jt.compare_classifiers(three, labels)
    assert "said" in found.warnings
    assert list(asked) == [f"difference in accuracy of classifiers 1 and {k}" for k in (2, 3)]
    (means,) = (values for text, values in found.assumptions if "independen" in text)
    for k, draws in enumerate(asked.values(), 1):
        error = 5 * draws.std() / np.sqrt(draws.size / 20)
        assert draws.mean() == pytest.approx(means[0] - means[k], abs=error) and draws.std() > 0


@pytest.mark.usefixtures("few_lineages")
@pytest.mark.parametrize("gold", [False, True])
def test_identical_classifiers_do_not_differ(learned, gold):
    y, two, labels = learned[0], learned[1], learned[5]
    options = {"gold": np.where(np.arange(200) < 40, y, -1)} if gold else {}
    found = jt.compare_classifiers({"a": two["a"], "b": two["a"]}, labels, **options)
    assert (found.differences["a", "b"].draws == 0).all() and found.better["a", "b"] == 0.5
    assert found.ranks.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert found.gold_to_tell is None and not found.told and not found.in_sample.told
    text = " ".join(str(found).split())
    assert "a and b agree on all 200 samples." in text and "equal with" not in text


@pytest.mark.usefixtures("few_lineages")
def test_gold_answers_where_labels_alone_determine_nothing():
    """One label a sample: gold and vote shares, and no model; the truth is held. The key is fixed."""
    y, said, labels = rivals(6, size=200, labelers=1)
    two, gold = {name: said[name] for name in "ac"}, np.where(np.arange(200) < 60, y, -1)
    found = jt.compare_classifiers(two, labels, gold=gold, labelers_are="people")
    assert any(
        "labelers_are='people' has no effect here, because the verified" in text for text in found.warnings
    )
    low, high = found.differences["a", "c"].interval(0.95)
    assert low < (two["a"] == y).mean() - (two["c"] == y).mean() < high < low + 0.4
    assert found.interval_kind == "posterior"
    assert any("labels alone determine nothing" in text for text in found.warnings)
    score = two["a"] + 0.5 * two["c"]
    area = jt.evaluate_scores(score, labels, gold=gold, labelers_are="llm_judges")
    assert any("labelers_are='llm_judges' has no effect" in text for text in area.warnings)
    low, high = area.auc.interval(0.95)
    assert low < roc_auc_score(y, score) < high < low + 0.3
    assert any("labels alone determine nothing" in text for text in area.warnings)


def test_three_classes():
    """Known classes give the table itself; a poor third classifier is found by Gibbs sampling."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 150)
    said = {n: np.where(rng.random(150) < a, y, (y + 1) % 3) for n, a in (("a", 0.9), ("b", 0.6))}
    found = jt.compare_classifiers(said, certain(y, 3), prior=np.full(3, 1 / 3), metric="macro_f1").in_sample
    np.testing.assert_allclose(found.values["b"].mean, f1_score(y, said["b"], average="macro"), atol=1e-12)
    z = np.where(rng.random((150, 3)) < 0.2, (y[:, None] + 1) % 3, y[:, None])
    labels = jt.Labels.from_matrix(z, 3)
    noisy = jt.compare_classifiers(said, labels, noise=jt.noise.Symmetric(0.2, 3), prior=np.full(3, 1 / 3))
    assert noisy.best["a"] > 0.99 and noisy.differences["a", "b"].mean > 0.15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predictions": [[0, 1]]}, "is a list; give a dict"),
        ({"predictions": {"a": [0, 1, 1, 0]}}, "1 classifier cannot"),
        ({"predictions": {"a": [0, 1, 1, 0], "": [0, 1, 1, 0]}}, "names are text"),
        ({"predictions": {"a": [0, 1, 1, 0], "b": [0, 1, 1]}}, "y_pred of 'b' has 3 entries but there are 4"),
        ({"predictions": {"a": [0, 1, 1, 0], "b": [0, 1, 2, 1]}}, "2"),
        ({"metric": "speed"}, "unknown metric"),
        ({"margin": 1.0}, "margin is 1"),
        ({"margin": -0.1}, "margin is -0.1"),
        ({"at_least": 1.5}, r"at_least is 1.5; accuracy lies in \[0, 1\]"),
        ({"metric": "kappa", "at_least": -1.5}, r"at_least is -1.5; kappa lies in \[-1, 1\]"),
        ({"metric": "mcc", "margin": 2.0}, r"give a number from 0 to below 2"),
        ({"assume": "luck"}, "assume"),
        ({"target": "all"}, "target"),
        pytest.param(
            {"labels": jt.Labels.from_matrix(np.array([[0], [1], [1], [0]]), 2)},
            "nothing can be compared",
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.usefixtures("few_lineages")
def test_refused(as_installed, change, message):
    good = {
        "predictions": {"a": [0, 1, 1, 0], "b": [0, 1, 0, 1]},
        "labels": np.log([[0.8, 0.2], [0.3, 0.7]] * 2),
    }
    options = {} if "labels" in change else {"prior": [0.5, 0.5]}
    with pytest.raises(ValueError, match=message):
        jt.compare_classifiers(**{**good, **options, **change})


def test_two_numbers_of_one_thing_are_one_number_and_ties_are_said():
    """Of two classifiers to be the best is to be better; ties are halves, by enumeration of all classes."""
    rng = np.random.default_rng(7)
    z, truth = rng.integers(0, 2, (8, 3)), rng.integers(0, 2, 8)
    two = {"a": truth, "b": np.where(np.arange(8) < 2, 1 - truth, truth)}
    noise, prior = jt.noise.Symmetric(0.3, 2), [0.5, 0.5]
    labels = jt.Labels.from_matrix(z, 2)
    found = jt.compare_classifiers(two, labels, noise=noise, prior=prior, target="in-sample")
    for a, b in (("a", "b"), ("b", "a")):
        assert found.best[a] == found.better[a, b]
    assert found.best["a"] + found.best["b"] == pytest.approx(1)
    drawn = found.differences["a", "b"].draws
    assert any(f"equal with probability {(drawn == 0).mean():.2f}" in text for text in found.warnings)
    assert found.better["a", "b"] == pytest.approx((drawn > 0).mean() + (drawn == 0).mean() / 2)
    margin = jt.compare_classifiers(two, labels, noise=noise, prior=prior, margin=0.01)
    assert not any("a tie counts half" in text for text in margin.warnings)
