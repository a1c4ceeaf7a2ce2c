"""Rows with a common prior, against draws of the prior that share no code with the sampler.

Comparisons allow 5 standard errors of both sides together: fewer than 1 false alarm in 10 000 for 60 numbers.
"""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln

from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.latent.models.alike import (
    Alike,
    _log_right,
    _log_wrong,
    alike_classes,
    alike_raters,
    draw_rows,
    first_state,
    move,
    row_counts,
)
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.chains import effective_sample_size
from jtruth.testing.multiclass import count_posterior


def prior_rows(rng, log_share, right, draws):
    """Draws of matrices (draws, rows, symbols) by the definition in the module, one family."""
    symbols = log_share.size
    mu, g = rng.random(draws), rng.random(draws)
    kappa = np.exp(np.log(10) + 1.5 * rng.standard_normal(draws))
    alpha = np.exp(np.log(symbols - 1) + 1.5 * rng.standard_normal(draws))
    out = np.zeros((draws, len(right), symbols))
    for r, own in enumerate(right):
        wrong = [u for u in range(symbols) if u != own]
        q = np.exp(g[:, None] * log_share[wrong])
        q /= q.sum(axis=1, keepdims=True)
        w = rng.standard_gamma(np.maximum(alpha[:, None] * q, 1e-12)) + 1e-300
        w /= w.sum(axis=1, keepdims=True)
        d = rng.beta(np.maximum(mu * kappa, 1e-12), np.maximum((1 - mu) * kappa, 1e-12))
        out[:, r, own], out[:, r, wrong] = d, (1 - d)[:, None] * w
    return out


def members(rng, a, b, draws, number):
    """Chances to be right of the members of a family of mean Beta(a, b), (draws, number)."""
    mu, kappa = rng.beta(a, b, draws), np.exp(np.log(10) + 1.5 * rng.standard_normal(draws))
    first, second = (np.maximum(v, 1e-12)[:, None] for v in (mu * kappa, (1 - mu) * kappa))
    return rng.beta(first, second, (draws, number))


def check_tables(counts, y_pred, every, weight, of_class):
    """Right predictions and samples of a class, and their squares, against vectors of classes `every`.

    `weight` (draws of the prior, vectors) is the probability of each vector and what was seen.
    """
    found = np.einsum("dcc->d", counts), counts[:, of_class].sum(axis=1)
    wanted = (every == y_pred).sum(axis=1), (every == of_class).sum(axis=1)
    for value, exact in [(v**k, e**k) for v, e in zip(found, wanted, strict=True) for k in (1, 2)]:
        parts = (weight @ exact).reshape(20, -1).mean(1) / weight.sum(1).reshape(20, -1).mean(1)
        mean, error = weight.mean(0) @ exact / weight.mean(0).sum(), parts.std() / np.sqrt(20)
        ess = float(effective_sample_size(value.reshape(32, -1, 1).astype(float), ranked=False)[0])
        assert abs(value.mean() - mean) < 5 * np.hypot(value.std() / np.sqrt(ess), error)


EFFORT = Effort(chains=32, burn_in=100, min_sweeps=16_000)


def test_count_posterior_equals_the_prior_weighted_by_all_label_vectors():
    """Five samples, three classes: p(y | y_pred, z) with K averaged over 40 000 draws of its prior."""
    rng = np.random.default_rng(0)
    lik, prior = rng.dirichlet(np.ones(3), 5), np.array([0.5, 0.3, 0.2])
    y_pred = np.array([0, 1, 1, 2, 1])
    share = alike_classes(np.bincount(y_pred)).log_share
    np.testing.assert_allclose(np.exp(share), [1 / 3, 1, 1 / 3])
    k = prior_rows(rng, share, [0, 1, 2], 40_000)
    every = np.array(list(itertools.product(range(3), repeat=5)))
    weight = np.stack([k[:, y, y_pred].prod(axis=1) for y in every], axis=1) * (
        prior[every] * lik[range(5), every]
    ).prod(axis=1)
    found = count_posterior(np.log(lik), prior, y_pred, key=jax.random.key(1), effort=EFFORT)
    check_tables(found.counts, y_pred, every, weight, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labeler_strata", "independent", "shared_strata"])
def test_labelers_that_are_alike_equal_the_prior_weighted_by_all_states(name):
    """Four samples of two classes, easy or hard in strata, two labelers, a classifier: nothing is fixed."""
    rng, draws, samples = np.random.default_rng(3), 30_000, 4
    z = np.array([[0, 1], [1, 1], [0, 0], [1, -1]])
    y_pred = np.array([0, 1, 1, 1])
    pi, easy = rng.random(draws), rng.beta(10, 1, (draws, 2))
    state_class, share, dists = np.array([0, 1]), np.stack([1 - pi, pi], axis=1), ((2, 1),) * 2
    own = members(rng, 1, 1, draws, 2)  # (draws, states)
    if name != "independent":
        state_class, own, dists = np.array([0, 0, 1, 1]), np.repeat(own, 2, axis=1), ((9, 1), (3, 3)) * 2
        share = np.repeat(share, 2, axis=1) * np.stack([easy, 1 - easy], axis=2).reshape(draws, 4)
    if name == "shared_strata":  # families: easy rows of both classes, hard rows of both
        own = np.stack([members(rng, 3, 1, draws, 2), members(rng, 1.5, 1.5, draws, 2)], 2).reshape(draws, 4)
    labelers = np.stack(
        [members(rng, *dist, draws, 2) for dist in dists], axis=2
    )  # (draws, labelers, states)
    each = np.ones((samples, draws, state_class.size))  # p(state, what is seen of a sample)
    for i in range(samples):
        each[i] = share * np.where(y_pred[i] == state_class, own, 1 - own)
        for t in np.flatnonzero(z[i] >= 0):
            each[i] *= np.where(z[i, t] == state_class, labelers[:, t], 1 - labelers[:, t])
    every = np.array(list(itertools.product(range(state_class.size), repeat=samples)))
    weight = np.stack([each[range(samples), :, s].prod(axis=0) for s in every], axis=1)
    labels, key = Labels.from_matrix(z, 2), jax.random.key(4)
    found = fit_joint(labels, y_pred=y_pred, dependence=name, key=key, effort=EFFORT)
    check_tables(found.counts, y_pred, state_class[every], weight, 1)


def test_moves_leave_the_posterior_of_a_family_alone():
    """Hyperparameters and counts drawn from the prior, some moves: the state still has the prior's
    distribution.

    (If state and counts are drawn jointly, a correct transition given the counts keeps the joint
    distribution.)
    """
    rng = np.random.default_rng(4)
    chains, rows, symbols = 20_000, 3, 3
    group = Alike(np.arange(3), np.zeros((1, 3), np.int64), np.log([0.2, 0.7, 0.1]))
    state = first_state(group, chains)
    state[:, 0, 0] = stats.logistic.rvs(size=chains, random_state=rng)
    state[:, 0, 1] = np.log(10) + 1.5 * rng.standard_normal(chains)
    state[:, 0, 2] = np.log(2) + 1.5 * rng.standard_normal(chains)
    state[:, 0, 3] = rng.random(chains)
    empty = row_counts(group, np.zeros((chains, 1, rows, symbols)))
    theta = np.exp(draw_rows(empty, state, rng)).reshape(chains, 1, rows, symbols)
    np.testing.assert_allclose(theta.sum(-1), 1, atol=1e-9)
    size = np.array([6, 2, 20])
    counts = np.stack([rng.multinomial(m, theta[:, 0, r]) for r, m in enumerate(size)], axis=1)[:, None]
    for _ in range(3):
        state = move(row_counts(group, counts.astype(float)), state, rng)
    dists = (
        stats.logistic.cdf,
        lambda x: stats.norm.cdf(x, np.log(10), 1.5),
        lambda x: stats.norm.cdf(x, np.log(2), 1.5),
        stats.uniform.cdf,
    )
    for k, cdf in enumerate(dists):
        assert stats.kstest(state[:, 0, k], cdf).pvalue > 1e-5, k


@pytest.mark.parametrize("classes", [2, 4])
def test_equal_counts_that_are_counted_once_give_the_densities_of_all_rows(classes):
    """Sums over many labelers of few labels, written out row by row with SciPy, with and without tallies."""
    rng, raters, chains = np.random.default_rng(classes), 60, 3
    votes, mean = rng.integers(1, 50, classes), np.where(np.eye(classes), 3.0, 0.6)
    counts = rng.poisson(mean, (chains, raters, classes, classes)).astype(float)
    group = alike_raters(votes, raters)
    state = first_state(group, chains) + 0.4 * rng.standard_normal((chains, classes, 4))
    state[..., 3] = rng.random((chains, classes))
    data = row_counts(group, counts)
    assert data.tallies
    right, wrong = np.zeros((2, chains, classes))
    for m, c in itertools.product(range(chains), range(classes)):
        odds, log_kappa, log_alpha, g = state[m, c]
        mu, kappa, others = 1 / (1 + np.exp(-odds)), np.exp(log_kappa), np.arange(classes) != c
        a, b, k = mu * kappa, (1 - mu) * kappa, counts[m, :, c]
        missed = k[:, others].sum(axis=1)
        right[m, c] = stats.norm.logpdf(log_kappa, np.log(10), 1.5) - stats.norm.logpdf(0, 0, 1.5)
        right[m, c] += (
            2 * np.log(mu) + np.log(1 - mu) + (betaln(a + k[:, c], b + missed) - betaln(a, b)).sum()
        )
        q = (votes / votes.max())[others] ** g
        cells = np.exp(log_alpha) * q / q.sum()
        wrong[m, c] = -0.5 * ((log_alpha - np.log(max(classes - 1, 1))) / 1.5) ** 2
        wrong[m, c] += (gammaln(cells + k[:, others]) - gammaln(cells)).sum()
        wrong[m, c] += (gammaln(cells.sum()) - gammaln(cells.sum() + missed)).sum()
    for of in (data, data._replace(tallies=())):
        np.testing.assert_allclose(_log_right(of, state), right, rtol=1e-10)
        if classes > 2:
            np.testing.assert_allclose(_log_wrong(of, state), wrong, rtol=1e-10)
