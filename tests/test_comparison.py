"""Model comparison: PSIS-LOO against exact leave-one-out, differences, export, and refusals.

One NUTS program (the pooled model) serves the fast tests; the alternative is a fit of the Gibbs sampler.
"""

import itertools
import sys

import jax
import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from jtruth import comparison
from jtruth.comparison import compare_models, leave_one_out, to_datatree
from jtruth.labels import Labels
from jtruth.latent import Effort, NutsSettings
from jtruth.latent.fit import chosen_draws
from jtruth.learning.annotation.bayes import fit_nuts, fit_tempered
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.loo import LeaveOneOut, psis_loo

SETTINGS = NutsSettings(num_warmup=300, num_samples=500)


def crowd(seed, samples, right, copying=0.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(samples) < 0.4).astype(int)
    z = np.where(rng.random((samples, len(right))) < right, y[:, None], 1 - y[:, None])
    z[:, -1] = np.where(rng.random(samples) < copying, z[:, 0], z[:, -1])
    return Labels.from_matrix(z, 2)


@pytest.fixture(scope="module")
def pooled():
    """Twelve samples by three labelers who are alike: small enough for the exact answer."""
    return fit_nuts("pooled", crowd(1, 12, [0.8, 0.8, 0.8]), key=jax.random.key(2), settings=SETTINGS)


@pytest.fixture(scope="module")
def gibbs(pooled, few_lineages):
    return fit_joint(pooled.labels, key=jax.random.key(3), effort=Effort(pointwise=True))


def exact_log_evidence(size):
    """log p(labels) of the pooled model by summing over all classes; size[k] samples have k ones of 3 labels.

    pi ~ Dirichlet(1, 1); the row of class 0 is Beta(2, 1) of label 0, that of class 1 Beta(2, 1) of label 1.
    """
    k, terms = np.arange(4), []
    for m in itertools.product(*(range(n + 1) for n in size)):  # m[k] of them are of class 1
        one, zero = np.array(m), size - np.array(m)
        ways = (gammaln(size + 1) - gammaln(one + 1) - gammaln(zero + 1)).sum()
        classes = betaln(one.sum() + 1, zero.sum() + 1)
        rows = betaln(k @ one + 2, (3 - k) @ one + 1) + betaln((3 - k) @ zero + 2, k @ zero + 1)
        terms.append(ways + classes + rows - 2 * betaln(2, 1))
    return logsumexp(terms)


def test_loo_is_leave_one_out(pooled):
    """log p(z_i | other z) is a ratio of two evidences."""
    ones = pooled.labels.to_matrix().sum(axis=1)
    size = np.bincount(ones, minlength=4)
    everything = exact_log_evidence(size)
    exact = np.array([everything - exact_log_evidence(size - (np.arange(4) == k)) for k in ones])
    found = leave_one_out(pooled)
    weight = np.exp(-pooled.log_likelihood())  # of every draw in the harmonic mean, (draws, samples)
    ess = min(values.min() for values in pooled.run.ess.values())
    error = weight.std(axis=0) / weight.mean(axis=0) / np.sqrt(ess)
    assert error.max() < 0.05
    assert (np.abs(found.pointwise - exact) < 4.5 * error).all()  # false alarms below 1e-4
    assert found.num_bad == 0 and found.pareto_k.shape == (12,)
    lpd = logsumexp(pooled.log_likelihood(), axis=0) - np.log(2000)
    assert found.p_loo == pytest.approx(lpd.sum() - found.elpd)


def test_loo_and_evidence_of_tempering_are_exact(pooled):
    """The same ratios of evidences, by the run that gives the evidence too."""
    ones = pooled.labels.to_matrix().sum(axis=1)
    size = np.bincount(ones, minlength=4)
    everything = exact_log_evidence(size)
    exact = np.array([everything - exact_log_evidence(size - (np.arange(4) == k)) for k in ones])
    fit = fit_tempered("pooled", pooled.labels, key=4)
    rows = fit.pointwise
    found = psis_loo(rows.log_p, rows.relative_ess, rows.row_of_sample)
    weight = np.exp(-rows.log_p.reshape(-1, rows.log_p.shape[2])[:, rows.row_of_sample])
    ess = rows.relative_ess * len(weight)
    error = weight.std(axis=0) / weight.mean(axis=0) / np.sqrt(ess)
    assert ess > 400 and error.max() < 0.05
    assert (np.abs(found.pointwise - exact) < 4.5 * error).all()  # false alarms below 1e-4
    assert abs(fit.evidence[0] - everything) < 4 * fit.evidence[1] + 0.1
    assert not any("converge" in text for text in fit.warnings)


@pytest.mark.slow
def test_tempering_and_nuts_compare_alike():
    """Elpd, differences and evidence of both samplers, over models of all kinds, within Monte Carlo error.

    The error of an elpd is that of two means of p_loo terms of 400 draws or more each: below .3 here, and
    the difference of two such numbers is within 4 of these.
    """
    labels = crowd(0, 200, [0.95, 0.75, 0.55, 0.8, 0.9])
    models = ("pooled", "one_coin", "item_difficulty", "dawid_skene")
    fast = compare_models(labels, key=0, models=models)
    slow = compare_models(labels, key=1, models=models, settings=SETTINGS)  # settings of NUTS ask for it
    for name in models:
        one, other = fast.names.index(name), slow.names.index(name)
        assert abs(fast.loo[one].elpd - slow.loo[other].elpd) < 1.2
        assert abs(fast.difference[one] - slow.difference[other]) < 1.2
        assert fast.difference_se[one] == pytest.approx(slow.difference_se[other], abs=0.5)
        (log, error), (its, own) = fast.evidence[one], slow.evidence[other]
        assert abs(log - its) < 4 * np.hypot(error, own)


def test_nuts_is_run_when_it_is_asked_for(pooled, monkeypatch):
    """By name, by its settings, and for a model that cannot be tempered."""
    from jtruth.learning.annotation import bayes

    asked = []
    tempered = bayes.TemperedFit(pooled.pointwise(), (0.0, 0.1), ())
    monkeypatch.setattr(bayes, "evidence_of", lambda fit, key: None)
    monkeypatch.setattr(bayes, "fit_nuts", lambda name, *_, **more: asked.append(name) or pooled)
    monkeypatch.setattr(bayes, "fit_tempered", lambda name, *_, **more: None if name == "mace" else tempered)
    for how in ({}, {"nuts": False}, {"nuts": False, "settings": SETTINGS}):
        compare_models(pooled.labels, models=("pooled", "one_coin"), **how)
    assert not asked
    for how in ({"nuts": True}, {"settings": SETTINGS}):
        compare_models(pooled.labels, models=("pooled", "one_coin"), **how)
        assert asked == ["pooled", "one_coin"]
        asked.clear()
    compare_models(pooled.labels, models=("mace", "one_coin"))
    assert asked == ["mace"]


def test_a_gibbs_fit_can_be_compared(pooled, gibbs):
    labels = pooled.labels
    found, z = leave_one_out(gibbs), labels.to_matrix()
    chains, kept = int(gibbs.chain.max()) + 1, np.arange(len(gibbs.matrix_draw))
    some = chosen_draws(chains, kept.size // chains, gibbs.pointwise.log_p.shape[2])
    kept = kept.reshape(chains, -1)[:, some].ravel()
    prior, matrices = gibbs.prior[gibbs.matrix_draw[kept]], gibbs.matrices[kept]
    log_p = np.array(
        [np.log(np.einsum("dc,dc->d", prior, np.prod(matrices[:, range(3), :, row], axis=0))) for row in z]
    ).T
    lpd = logsumexp(log_p, axis=0) - np.log(len(kept))
    np.testing.assert_allclose(found.p_loo, lpd.sum() - found.elpd, rtol=1e-4)  # matrices are float32
    assert (found.pointwise < lpd + 1e-6).all()


@pytest.mark.slow
def test_differences_are_those_of_the_pointwise_values(pooled, gibbs):
    compared = compare_models(pooled.labels, key=jax.random.key(0), models={"alike": pooled, "gibbs": gibbs})
    first, second = compared.loo
    gap = second.pointwise - first.pointwise
    assert compared.difference[0] == 0 and compared.difference[1] == pytest.approx(gap.sum())
    assert compared.difference[1] <= 0 and compared.difference_se[0] == 0
    assert compared.difference_se[1] == pytest.approx(np.sqrt(gap.size * gap.var()))
    assert compared.told_apart == (False, False) and "do not distinguish" in compared.verdict
    assert "With only 12 samples" in compared.warnings[-1]
    exact = exact_log_evidence(np.bincount(pooled.labels.to_matrix().sum(axis=1), minlength=4))
    log, error = compared.evidence[compared.names.index("alike")]
    assert abs(log - exact) < 4 * error + 0.1
    assert "log evidence" in compared.summary(full=True)
    assert all(name in compared.summary(full=True) for name in ("alike", "gibbs", "do not distinguish"))


def test_what_is_refused(pooled, gibbs):
    labels, key = pooled.labels, jax.random.key(0)
    other = crowd(5, 12, [0.8, 0.6, 0.8])
    with pytest.raises(ValueError, match="two models or more"):
        compare_models(labels, key=key, models=["pooled"])
    with pytest.raises(ValueError, match="each once; got pooled, pooled"):
        compare_models(labels, key=key, models=["pooled", pooled])
    with pytest.raises(ValueError, match="of other labels"):
        compare_models(other, key=key, models=[pooled, gibbs])
    with pytest.raises(ValueError, match="of 'joint' is of other labels"):
        compare_models(crowd(5, 13, [0.8, 0.6, 0.8]), key=key, models=["pooled", gibbs])
    with pytest.raises(ValueError, match="fit it with pointwise=True"):
        leave_one_out(gibbs._replace(pointwise=None))


def test_without_arviz(pooled, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    with pytest.raises(ImportError, match="pip install 'arviz-base"):
        to_datatree(pooled)
    assert np.isfinite(leave_one_out(pooled).elpd)  # only exports need it


def test_bad_terms_are_named(pooled, gibbs, monkeypatch):
    good = leave_one_out(pooled)
    bad = good._replace(pareto_k=np.where(np.arange(12) == 4, 0.9, 0.1))
    monkeypatch.setattr(comparison, "leave_one_out", lambda fit: bad if fit is pooled else good)
    monkeypatch.setattr("jtruth.learning.annotation.bayes.evidence_of", lambda fit, key: None)
    compared = compare_models(pooled.labels, key=jax.random.key(0), models=[pooled, gibbs])
    text = " ".join(compared.warnings)
    assert "pooled: 1 of 12 samples has Pareto k above 0.70 (worst 0.90 at sample 4)" in text
    assert "unreliable" in compared.verdict


@pytest.mark.slow
def test_labelers_of_different_accuracy_are_told_apart():
    labels = crowd(0, 200, [0.95, 0.75, 0.55, 0.8, 0.9])
    compared = compare_models(labels, key=jax.random.key(0), models=("pooled", "one_coin"), settings=SETTINGS)
    assert compared.names == ("one_coin", "pooled") and compared.told_apart == (False, True)
    assert compared.verdict == "one_coin predicts the labels of left-out samples best."


@pytest.mark.parametrize("size", [100, 99])
def test_told_apart_is_beyond_two_standard_errors_and_beyond_four(size):
    """By hand: -3 without error, -10 with an error of 10, -10 with an error of 1."""
    even = np.arange(size) % 2 - (size // 2) / size  # of mean 0, variance nearly 1/4
    of = {"first": (0, 0), "small": (3, 0), "doubtful": (10, 10), "worse": (10, 1)}
    gaps = {name: 2 * even * se / size**0.5 - gap / size for name, (gap, se) in of.items()}
    fits = [(name, LeaveOneOut(gap.sum(), 1.0, 1.0, gap, np.zeros(size), 0.7), (), None)
            for name, gap in gaps.items()]  # fmt: skip
    found = comparison._ordered(fits, 0, None)
    assert found.names[:2] == ("first", "small")
    assert dict(zip(found.names, found.told_apart, strict=True)) == dict.fromkeys(gaps, False) | {
        "worse": True
    }
    np.testing.assert_allclose(sorted(found.difference_se), [0, 0, 1, 10], rtol=0.01, atol=1e-9)
    assert any("With only 99 samples" in text for text in found.warnings) == (size == 99)


@pytest.mark.slow
def test_blocks_of_rows_give_the_same(pooled, monkeypatch):
    from jtruth.learning.annotation import posterior

    whole = leave_one_out(pooled)
    monkeypatch.setattr(posterior, "BLOCK", 3)
    parts = leave_one_out(pooled)
    np.testing.assert_allclose(parts.pointwise, whole.pointwise, rtol=1e-12)
    np.testing.assert_allclose(parts.pareto_k, whole.pareto_k, rtol=1e-9)


def test_rows_show_two_standard_errors_around_the_difference(pooled, gibbs):
    found = compare_models(pooled.labels, key=jax.random.key(0), models={"alike": pooled, "gibbs": gibbs})
    for row in found.blocks().blocks[0].rows:
        gap, se = row["difference"], row["difference_se"]
        assert [row["low"], row["high"]] == pytest.approx([gap - 2 * se, gap + 2 * se])
