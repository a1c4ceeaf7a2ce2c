"""Model comparison: PSIS-LOO against exact leave-one-out, differences, export, and what is refused."""

import jax
import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import jtruth as jt
from jtruth.comparison import compare_models, leave_one_out, to_datatree
from jtruth.learning.bayes import fit_bayes

OPTIONS = {"num_warmup": 300, "num_samples": 500, "chunk": 100}


def crowd(seed, copying):
    rng = np.random.default_rng(seed)
    y = (rng.random(120) < 0.4).astype(int)
    right = np.array([0.9, 0.75, 0.6, 0.8, 0.7])
    z = np.where(rng.random((120, 5)) < right, y[:, None], 1 - y[:, None])
    z[:, 4] = np.where(rng.random(120) < copying, z[:, 0], z[:, 4])
    return jt.Labels.from_matrix(z, 2)


@pytest.fixture(scope="module")
def fits():
    labels = crowd(0, 0.0)
    return [
        fit_bayes(labels, key=jax.random.key(k), model=model, **OPTIONS)
        for k, model in enumerate(("one_coin", "pooled"))
    ]


@pytest.fixture(scope="module")
def compared(fits):
    return compare_models(fits[0].labels, key=jax.random.key(0), models=fits)


@pytest.mark.slow
def test_differences_are_those_of_the_pointwise_values(compared):
    first, second = compared.loo
    gap = second.pointwise - first.pointwise
    assert compared.names[0] == "one_coin"  # labelers of different accuracy
    assert compared.difference[0] == 0 and compared.difference[1] == pytest.approx(gap.sum())
    assert compared.difference_se[1] == pytest.approx(np.sqrt(gap.size * gap.var()))
    assert first.pointwise.shape == (120,) and first.elpd == pytest.approx(first.pointwise.sum())
    assert all(name in str(compared) for name in compared.names)


@pytest.mark.slow
def test_loo_is_leave_one_out():
    """Of the pooled model with its class known: the exact answer is a ratio of evidences.

    Three labels a sample by one pooled labeler. The evidence of counts of label patterns is integrated on a
    grid of (pi, p(1|1), p(1|0)), so every left-out density is a ratio of two integrals.
    """
    rng = np.random.default_rng(1)
    y = rng.random(40) < 0.5
    z = np.where(rng.random((40, 3)) < 0.8, y[:, None], ~y[:, None]).astype(int)
    labels = jt.Labels.from_matrix(z, 2)
    fit = fit_bayes(labels, key=jax.random.key(2), model="pooled", **OPTIONS)
    ones = z.sum(1)
    t = (np.arange(60) + 0.5) / 60
    pi, p, q = np.meshgrid(t, t, t, indexing="ij")
    density = np.log(p) - betaln(2, 1) - betaln(1, 2) + np.log1p(-q)  # Beta(2, 1) of being right in each row
    each = {
        k: np.logaddexp(
            np.log(pi) + k * np.log(p) + (3 - k) * np.log1p(-p),
            np.log1p(-pi) + k * np.log(q) + (3 - k) * np.log1p(-q),
        )
        for k in range(4)
    }
    total = density + sum((ones == k).sum() * each[k] for k in range(4))
    exact = {k: logsumexp(total) - logsumexp(total - each[k]) for k in range(4)}
    found = leave_one_out(fit)
    for k in range(4):
        np.testing.assert_allclose(found.pointwise[ones == k], exact[k], atol=0.02)
    assert found.elpd == pytest.approx(sum(exact[k] for k in ones), abs=0.3)
    assert (found.pareto_k < found.good_k).all()


@pytest.mark.slow
def test_export(fits):
    tree = to_datatree(fits[0])
    assert tree["posterior"]["accuracy"].dims == ("chain", "draw", "labeler")
    assert tree["log_likelihood"]["labels"].shape == (4, 500, 120)
    assert int(tree["observed_data"]["votes"].sum()) == 600


@pytest.mark.slow
def test_what_is_refused(fits):
    labels = fits[0].labels
    with pytest.raises(ValueError, match="two models or more"):
        compare_models(labels, key=jax.random.key(0), models=["pooled"])
    with pytest.raises(ValueError, match="other labels"):
        compare_models(crowd(3, 0.5), key=jax.random.key(0), models=fits)
    with pytest.raises(ValueError, match="needs a key"):
        compare_models(labels, key=None, models=fits)
