"""Checks: against plain loops and other fits, false alarms under the model, and power."""

import itertools
import tracemalloc
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import binomtest, kstest

import jtruth as jt
from jtruth.evaluation.checks import bootstrap as boot
from jtruth.evaluation.checks import verdicts
from jtruth.evaluation.checks.bootstrap import holm
from jtruth.evaluation.checks.label_sets import (
    PSEUDO_COUNT,
    modes,
    observed,
    simulate,
    with_classifier,
    with_pairs,
)
from jtruth.evaluation.checks.verdicts import given_checks, learned_checks
from jtruth.evaluation.inputs import read
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.noise import ConfusionMatrices, Symmetric

KEY, WEAK = jax.random.key(0), Smoothing(diagonal=0.01, off_diagonal=0.01)
CARIES = Path(__file__).resolve().parents[3] / "examples" / "caries.csv"


def raters(seed=0, size=300, labelers=4, classes=2, present=1.0, copying=0.0):
    """Labels of independent labelers, predictions and truth; the second labeler may copy the first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    right = rng.uniform(0.65, 0.9, labelers + 1)
    z = np.where(rng.random((size, labelers + 1)) < right, y[:, None], -2)
    z = np.where(z == -2, (y[:, None] + rng.integers(1, classes, z.shape)) % classes, z)
    z[:, 1] = np.where(rng.random(size) < copying, z[:, 0], z[:, 1])
    labels = np.where(rng.random((size, labelers)) < present, z[:, :-1], -1)
    return jt.Labels.from_matrix(labels, classes, allow_unlabelled=True), z[:, -1], y


def fitted(table):
    fit = fit_dawid_skene(table, smoothing=WEAK)
    return fit.prior[None], fit.matrices[None]


def checked(labels, y_pred, **given):
    """The checks of learned error rates by name."""
    table = with_classifier(labels, y_pred)
    return {check.name: check for check in learned_checks(table, fitted(table), KEY, **given)}


@pytest.mark.parametrize("collapse", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_modes_are_those_of_dawid_and_skene(collapse):
    """One EM for many sets against the one for one set, which has the same pseudo-counts."""
    labels, y_pred, _ = raters(labelers=3, present=0.9)
    table = with_classifier(labels, y_pred)
    sets = observed(table, collapse=collapse)
    assert (sets.kind is not None) == collapse
    start = np.array([[0.5, 0.5]]), np.tile([[0.8, 0.2], [0.2, 0.8]], (1, 4, 1, 1))
    found = modes(sets, start, max_cycles=400, tol=1e-9)
    assert PSEUDO_COUNT == 0.01
    same = WEAK._replace(prior=0.01)
    expected = fit_dawid_skene(table, smoothing=same, tol=1e-13, max_steps=20000)
    np.testing.assert_allclose(found.prior[0], expected.prior, atol=2e-5)
    np.testing.assert_allclose(found.matrices[0], expected.matrices, atol=2e-5)


def test_statistics_against_loops():
    labels, y_pred, y = raters(1, size=60, labelers=3, classes=3, present=0.7)
    gold = np.where(np.arange(60) < 9, y, -1)
    table = with_classifier(labels, y_pred)
    sets = with_pairs(observed(table, gold, collapse=False))
    fit = modes(sets, fitted(table), max_cycles=5)
    prior, theta = fit.prior[0], fit.matrices[0]
    z = np.full((60, 4), -1)
    z[table.sample, table.labeler] = table.label
    p = np.where(gold[:, None] >= 0, gold[:, None] == np.arange(3), np.ones(3)) * prior
    for t in range(4):
        p = p * np.where(z[:, t, None] >= 0, theta[t].T[z[:, t]], 1.0)
    p /= p.sum(axis=1, keepdims=True)
    e = np.zeros((60, 4, 3))
    for i, t, c in itertools.product(range(60), range(4), range(3)):
        if z[i, t] >= 0:
            e[i, t, c] = float(z[i, t] != c) - (1 - theta[t, c, c])
    agree, variance = np.zeros(len(sets.pairs)), np.zeros(len(sets.pairs))
    for k, (t, u) in enumerate(sets.pairs):
        for i in np.flatnonzero((z[:, t] >= 0) & (z[:, u] >= 0)):
            chance = np.einsum("ck,ck->c", theta[t], theta[u])
            chance = chance[gold[i]] if gold[i] >= 0 else prior @ chance
            agree[k] += (z[i, t] == z[i, u]) - chance
            variance[k] += chance * (1 - chance)
    number = np.maximum((z[:, :3] >= 0).sum(axis=1), 1)
    pairwise = sum(e[:, t] * e[:, u] for t in range(3) for u in range(t))
    mean = e[:, 3] * e[:, :3].sum(axis=1) / number[:, None]
    together, hard = (
        [p[:, c] @ v[:, c] / np.sqrt(p[:, c] @ v[:, c] ** 2) for c in range(3)] for v in (pairwise, mean)
    )
    single = [
        (p * e[:, 3] * e[:, t]).sum() / np.sqrt((p * e[:, 3] ** 2 * e[:, t] ** 2).sum()) for t in range(3)
    ]
    alike = [p[:, c] @ e[:, t, c] for c in range(3) for t in range(3)]
    for found, expected in (
        (boot.agreement(fit), agree / np.sqrt(variance)),
        (boot.labelers_together(fit), together),
        (boot.classifier_with_difficulty(fit), hard),
        (boot.classifier_with_labeler(fit), single),
        (boot.one_matrix(fit), alike),
    ):
        np.testing.assert_allclose(found[0], expected, atol=1e-9)


@pytest.mark.parametrize("collapse", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_simulated_sets_follow_the_model(collapse):
    """Mean agreement of raters, and gold classes kept. Each z-test at 1e-5."""
    labels, y_pred, y = raters(2, labelers=3, present=0.8)
    gold = np.where(np.arange(300) < 40, y, -1)
    table = with_classifier(labels, y_pred)
    sets = with_pairs(observed(table, gold, collapse=collapse))
    fit = modes(sets, fitted(table), max_cycles=50)
    drawn = simulate(sets, fit.parameters, np.exp(fit.log_p[0]), 800, np.random.default_rng(0))
    assert np.allclose(drawn.weight.sum(axis=1), 300)
    gap = boot.agreement(modes(drawn, fit.parameters, max_cycles=0))
    z = gap.mean(axis=0) / gap.std(axis=0) * np.sqrt(800)
    assert np.abs(z).max() < 5


def test_pairs_of_raters_take_memory_by_labels():
    """One sample of 3000 labelers: 4.5 million pairs of labels, and no two of them meet five times."""
    rng = np.random.default_rng(0)
    many = with_classifier(jt.Labels.from_matrix(rng.integers(0, 2, (1, 3000)), 2), np.ones(1, int))
    sets = observed(many, np.array([-1]))
    tracemalloc.start()
    assert not len(with_pairs(sets).pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 36e6  # one column of all those pairs


def test_simulated_labels_of_gold_samples_are_of_their_class():
    """Raters who never err: gold and labels of simulated sets agree in every sample that has gold."""
    y = np.random.default_rng(4).integers(0, 2, 60)
    table = jt.Labels.from_matrix(np.tile(y[:, None], (1, 3)), 2)
    gold = np.where(np.arange(60) < 20, y, -1)
    sets = observed(table, gold, collapse=False)
    sure = np.array([[0.5, 0.5]]), np.tile(np.eye(2), (1, 3, 1, 1))
    drawn = simulate(sets, sure, np.ones(60), 30, np.random.default_rng(0))
    known = np.flatnonzero(gold[sets.row] >= 0)
    assert (drawn.label[:, known] == gold[sets.row[known]]).all()
    assert (drawn.label != sets.label).any()  # the others are drawn anew


def test_the_misfit_of_a_labeler_is_of_standardised_residuals(monkeypatch):
    """Pairs that agree more than expected by chance, or vary more, say no more: one pair far out does."""
    labels, y_pred, _ = raters(labelers=4)
    table, rng = with_classifier(labels, y_pred), np.random.default_rng(0)
    pairs = [tuple(map(int, pair)) for pair in with_pairs(observed(table)).pairs]
    drawn = rng.normal(size=(100, len(pairs)))
    drawn[0] = 0.5
    drawn[0, pairs.index((2, 3))] = 5.0
    scale = np.where([pair == (2, 3) for pair in pairs], 0.1, 1.0)
    scale[pairs.index((0, 1))] = 20.0
    drawn = drawn * scale + np.where([0 in pair for pair in pairs], 30.0, 0.0)
    given = {"pairwise agreement": drawn, boot.ALIKE: rng.normal(size=(100, 2))}
    monkeypatch.setattr(boot, "_sets", lambda *_, **__: given)
    (_, worst, value) = boot.bootstrap(table, fitted(table), KEY)[0]["labeler misfit"]
    sums = np.zeros((100, 5))
    for k, pair in enumerate(pairs):
        for rater in pair:
            sums[:, rater] += ((drawn[:, k] - np.mean(drawn[:, k])) / np.std(drawn[:, k])) ** 2
    z = (sums[0] - sums.mean(axis=0)) / sums.std(axis=0)
    assert worst in (2, 3) and worst == np.abs(z).argmax() and value == pytest.approx(z[worst])
    assert value > 4


def test_p_values_are_ranks():
    values = np.random.default_rng(0).normal(size=(200, 3))
    p, worst, value = boot.largest(values)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    assert worst == np.abs(scaled[0]).argmax() and value == pytest.approx(scaled[0, worst])
    assert p.min() == 1 / 200 and p.max() == 1.0
    assert p[0] == np.mean(np.abs(scaled).max(axis=1) >= np.abs(scaled[0]).max() - 1e-12)
    assert boot._adjusted({"one": p})["one"] == pytest.approx(p[0])
    assert boot.largest(np.zeros((5, 2))) is None


def test_adjusted_p_values_against_the_smallest_of_each_set():
    """Westfall and Young, by loops; and Holm's steps where error rates are given."""
    rng = np.random.default_rng(1)
    ranks = {name: rng.permutation(100) / 100 + 0.01 for name in ("one", "two", "three")}
    for name, p in ranks.items():
        as_small = [min(ranks[other][s] for other in ranks) <= p[0] + 1e-12 for s in range(100)]
        assert boot._adjusted(ranks)[name] == pytest.approx(np.mean(as_small))
    np.testing.assert_allclose(holm(np.array([0.03, 0.01])), [0.03, 0.02])
    np.testing.assert_allclose(holm(np.array([0.03, 0.04, 0.9])), [0.09, 0.09, 0.9])


def test_caries_is_found_out():
    y_pred, labels, *_ = jt.read_labels(CARIES).split_rater("5")
    checks = checked(labels, y_pred)
    assert checks["label patterns"].statistic == pytest.approx(129.85, abs=0.02)
    assert "G2 = 129.8 on 20 degrees of freedom" in checks["label patterns"].message
    hard = checks["classifier and hard samples"]
    assert hard.verdict == "does not fit" and "the classifier errs more often" in hard.message
    assert checks["enough labels"].verdict == "fits"
    assert "labeler '2'" in checks["classifier and single labelers"].message


def test_three_raters_of_two_classes_prove_nothing(few_sets):
    labels, y_pred, y = raters(labelers=2)
    patterns = checked(labels, y_pred)["label patterns"]
    assert patterns.verdict == "cannot be seen" and "3 raters and 2 classes, any labels" in patterns.message
    gold = np.where(np.arange(300) < 50, y, -1)
    assert checked(labels, y_pred, gold=gold)["label patterns"].verdict == "fits"


def test_a_copying_labeler_is_named(few_sets):
    labels, y_pred, _ = raters(3, size=600, labelers=7, copying=0.4)
    checks = checked(labels.with_names(workers=["ann", "bob", *"cdefg"]), y_pred)
    assert "labeler 'ann' and labeler 'bob' agree more often" in checks["pairwise agreement"].message


def test_a_given_prior_is_checked_where_error_rates_are_learned(few_sets):
    """Against the likelihood ratio of two fits of the other EM."""
    labels, y_pred, y = raters(6, size=500)
    table, share = with_classifier(labels, y_pred), (y == 1).mean()
    for prior, verdict in (([1 - share, share], "fits"), ([0.75, 0.25], "does not fit")):
        check = checked(labels, y_pred, prior=np.array(prior))["given prior"]
        far = {"smoothing": WEAK, "tol": 1e-12, "max_steps": 20000}
        free, held = (fit_dawid_skene(table, prior=p, **far).log_likelihood for p in (None, prior))
        assert check.verdict == verdict and check.statistic == pytest.approx(2 * (free - held), abs=0.02)


@pytest.mark.slow
def test_a_labeler_who_gets_tired_is_named():
    labels, y_pred, y = raters(4, size=600)
    z = labels.to_matrix().copy()
    late, rng = np.arange(600) >= 300, np.random.default_rng(0)
    z[late, 2] = np.where(rng.random(300) < 0.5, y[late], 1 - y[late])
    result = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 2), assume="independent", order=np.arange(600))
    (drift,) = (check for check in result.checks if check.name == "drift")
    named = " ".join(finding.message for finding in result.suspicious if finding.name == "drift")
    assert drift.verdict == "does not fit" and drift.message.startswith("'2' changed over time")
    assert "of '2' fell" in named and "of '1'" not in named


def test_few_labels_are_said(few_sets):
    z = np.full((60, 8), -1)
    z[np.arange(60), np.arange(60) % 7] = np.random.default_rng(0).integers(0, 2, 60)
    z[:3, 7] = 1
    found = checked(jt.Labels.from_matrix(z, 2), z.max(axis=1))["enough labels"]
    assert found.verdict == "cannot be seen" and "1.1 labels per sample" in found.message
    assert "8 of 8 labelers have fewer than 10 labels (labeler 0" in found.message


def test_a_part_of_many_samples_is_looked_at(monkeypatch):
    monkeypatch.setattr("jtruth.evaluation.checks.bootstrap._ENTRIES", 99 * 500)
    labels, y_pred, y = raters(5, size=400, labelers=9, present=0.5)
    gold = np.where(np.arange(400) < 40, y, -1)
    number = int(400 * 500 / (labels.num_labels + 400))
    checks = checked(labels, y_pred, gold=gold).values()
    assert any(f"; from {number} of 400 samples" in check.message for check in checks)


@pytest.mark.slow
@pytest.mark.parametrize("labelers, present", [(3, 1.0), (5, 0.6)])
def test_false_alarms(labelers, present, few_sets):
    """200 sets for which the model holds; binomial tests at 1e-4 that a p-value is below .05 in 5 %.

    The observed set is one of all that are compared, so .05 is held with 99 simulated sets as with 399: these
    200 sets say nothing finer. `labelers alike`, which is compared with as few, is not looked at here.
    """
    small, loud = {}, []
    for seed in range(200):
        labels, y_pred, _ = raters(100 + seed, size=250, labelers=labelers, present=present)
        table = with_classifier(labels, y_pred)
        checks, adjusted, _ = boot.bootstrap(table, fitted(table), jax.random.key(seed))
        for name, one in checks.items():
            small.setdefault(name, []).append(one[0][0] <= 0.05)
        loud.append(min(adjusted.values()) < 0.05)
    for name, values in {**small, "any": loud}.items():
        if name != "labelers alike":  # these labelers are not
            assert binomtest(int(np.sum(values)), 200, 0.05).pvalue > 1e-4, (name, np.mean(values))


def known(seed, size=400, factor=1.0, prior=(0.6, 0.4), dependent=False):
    """Labels of known error rates, a log-likelihood with rates `factor` times as large, and predictions."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < prior[1]).astype(int)
    wrong = np.array([0.15, 0.25, 0.3])
    z = np.where(rng.random((size, 3)) < wrong, 1 - y[:, None], y[:, None])
    mistaken = np.where(dependent & (rng.random(size) < 0.5), z[:, 0] != y, rng.random(size) < 0.2)
    noise = ConfusionMatrices([[[1 - e, e], [e, 1 - e]] for e in factor * wrong])
    labels = jt.Labels.from_matrix(z, 2)
    return labels, noise, np.asarray(noise.log_likelihood(labels)), np.where(mistaken, 1 - y, y)


def test_prior_score_is_the_derivative():
    """Against the numerical gradient and, by its distribution, against chi2 (Kolmogorov-Smirnov at 1e-4)."""
    _, _, log_p, _ = known(0, size=50)
    prior, step = np.array([0.55, 0.45]), 1e-5

    def value(share):
        return logsumexp(log_p + np.log([share, 1 - share]), axis=1)

    score = (value(0.55 + step) - value(0.55 - step)) / (2 * step)
    once = np.ones(400)
    statistic, p = verdicts.prior_score(log_p, prior, once[:50])
    assert statistic == pytest.approx(score.sum() ** 2 / (score**2).sum(), rel=1e-6) and 0 < p < 1
    found = [verdicts.prior_score(known(seed)[2], np.array([0.6, 0.4]), once)[1] for seed in range(300)]
    assert kstest(found, "uniform").pvalue > 1e-4
    assert verdicts.prior_score(np.zeros((5, 2)), prior, once[:5]) is None


@pytest.mark.parametrize(
    "wrong, alarm",
    [
        ({"factor": 1.5}, "given error rates"),
        ({"prior": (0.3, 0.7)}, "given prior"),
        ({"dependent": True}, "classifier and single labelers"),
    ],
)
def test_given_things_are_contradicted(wrong, alarm):
    labels, noise, _, y_pred = known(3, size=1500, **wrong)
    checks = jt.evaluate(y_pred, labels, noise=noise, prior=[0.6, 0.4]).checks
    assert alarm in [c.name for c in checks if c.verdict == "does not fit"]
    assert [c.name for c in checks] == ["given prior", "given error rates", "classifier and vote margin",
                                        "classifier and single labelers", "better than chance"]  # fmt: skip


def test_given_checks_without_labels_and_without_doubt():
    _, _, log_p, y_pred = known(4)
    names = [c.name for c in jt.evaluate(y_pred, log_p).checks]
    assert names == ["classifier and vote margin", "better than chance"]
    certain = np.where(np.eye(2)[y_pred] > 0, 0.0, -np.inf)
    checks = jt.evaluate(y_pred, certain, prior=[0.6, 0.4]).checks
    assert [c.verdict for c in checks] == ["fits", "cannot be seen", "fits"]
    repeated = jt.Labels.from_long([0, 0, 1], [0, 0, 0], [1, 1, 0], repeats="keep")
    result = jt.evaluate([1, 0], repeated, noise=Symmetric(0.2, 2), prior=[0.5, 0.5])
    assert any("repeated labels" in c.message for c in result.checks)


def test_dependence_by_loops_and_equal_samples_taken_together():
    """The observed sums by their definition, of every sample, and of rows that stand for many."""
    labels, _, log_p, y_pred = known(5, size=120)
    kinds, prior = labels.patterns(), np.array([0.6, 0.4])
    first = np.unique(kinds.inverse, return_index=True)[1]
    wrong = np.moveaxis(labels.to_matrix()[:, :, None] != np.arange(2), 1, 0).astype(float)
    h, found = softmax(log_p + np.log(prior), axis=1), []
    for shares, number, values in (
        (h[first], kinds.table(y_pred, 2), wrong[:, first]),
        (h, np.eye(2)[y_pred], wrong),
    ):
        start = verdicts._classifier_rates(shares, number[None], np.full((1, 2, 2), 0.5), max_steps=200)
        found.append(verdicts._dependence(shares, number[None], start, {"x": values})["x"][0])
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    rates = verdicts._classifier_rates(h, np.eye(2)[y_pred][None], start)[0]
    p = h * rates[:, y_pred].T
    p /= p.sum(axis=1, keepdims=True)
    for c, t in itertools.product(range(2), range(3)):
        mean = h[:, c] @ wrong[t, :, c] / h[:, c].sum()
        residual = (y_pred != c) - (1 - rates[c, c])
        expected = (p[:, c] * residual) @ (wrong[t, :, c] - mean)
        assert found[0][3 * c + t] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_false_alarms_of_given_things(monkeypatch):
    """200 sets, each against 99 (as above); binomial tests at 1e-4."""
    monkeypatch.setattr(verdicts, "_SETS", 99)
    small = {}
    for seed in range(200):
        labels, noise, _, y_pred = known(1000 + seed, size=200)
        data = read(y_pred, labels, noise, [0.6, 0.4], None, None)
        for check in given_checks(data, data.model, KEY):
            small.setdefault(check.name, []).append(check.p_value <= 0.05)
    for name, values in small.items():
        assert binomtest(int(np.sum(values)), 200, 0.05).pvalue > 1e-4, (name, np.mean(values))


def test_order_must_be_one_number_a_sample():
    labels, _, _, y_pred = known(0, size=20)
    for order in (np.arange(19), np.full(20, np.nan), np.array(["a"] * 20)):
        with pytest.raises(ValueError, match=r"^order"):
            jt.evaluate(y_pred, labels, order=order)
