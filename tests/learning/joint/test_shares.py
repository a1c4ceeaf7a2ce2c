"""Class shares for each number of labels: exact enumeration, and labels that are missing by class."""

import itertools

import jax
import numpy as np
import pytest
from scipy.special import betaln

import jtruth as jt
from jtruth.latent import Effort
from jtruth.latent.rows import groups_by_number, merge_samples
from jtruth.learning import fit_joint
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.stats.chains import effective_sample_size


@pytest.mark.slow
def test_gibbs_equals_enumeration():
    """Five samples with one to three labels; Beta-binomials of two groups' shares and of all rows.

    5 standard errors: fewer than 1 false alarm in 10 000 for 10 numbers.
    """
    z = np.array([[0, 1, 0], [1, 1, -1], [0, 0, 1], [1, -1, 1], [1, 1, 0]])
    labels = jt.Labels.from_matrix(z, 2)
    group = (z >= 0).sum(axis=1) == 3
    weights, every = [], np.array(list(itertools.product((0, 1), repeat=5)))
    for y in every:
        value = sum(betaln(1 + (y[g] == 1).sum(), 1 + (y[g] == 0).sum()) for g in (group, ~group))
        for t, c in itertools.product(range(3), range(2)):
            own = z[(y == c) & (z[:, t] >= 0), t]
            value += betaln(2 + (own == c).sum(), 1 + (own != c).sum()) - betaln(2, 1)
        weights.append(np.exp(value))
    weights = np.array(weights) / np.sum(weights)
    effort = Effort(chains=32, burn_in=50, min_sweeps=16_000)
    fit = fit_joint(
        labels, key=jax.random.key(0), priors=DirichletPriors(shares="by_number", diagonal=2.0), effort=effort
    )
    np.testing.assert_allclose(fit.class_posterior[:, 1], weights @ every, atol=0.02)
    for power in (1, 2):
        value, exact = fit.class_counts[:, 1] ** power, every.sum(axis=1) ** power
        ess = float(effective_sample_size(value.reshape(32, -1, 1).astype(float), ranked=False)[0])
        assert abs(value.mean() - weights @ exact) < 5 * value.std() / np.sqrt(ess)
    # pi of all: the mean of the groups' shares, which are Beta(1 + ones, 1 + zeros) given the classes.
    ones = np.stack([every[:, g].sum(axis=1) for g in (group, ~group)])
    size = np.array([group.sum(), (~group).sum()])
    mean = (size / 5) @ ((1 + ones) / (2 + size[:, None])) @ weights
    assert abs(fit.prior[:, 1].mean() - mean) < 0.01


def missing_by_class(seed, samples=600):
    rng = np.random.default_rng(seed)
    y = (rng.random(samples) < 0.4).astype(int)
    z = np.where(rng.random((samples, 5)) < 0.8, y[:, None], 1 - y[:, None])
    y_pred = np.where(rng.random(samples) < 0.85, y, 1 - y)
    z = np.where(rng.random(z.shape) < np.array([0.35, 0.85])[y][:, None], z, -1)
    return y, jt.Labels.from_matrix(z, 2, allow_unlabelled=True), y_pred


def test_groups_are_by_number_and_few():
    _, labels, _ = missing_by_class(0)
    rows = merge_samples(labels, None, None)
    group = groups_by_number(labels, rows)[rows.row_of_sample]
    number = labels.labels_per_sample()
    assert 2 <= np.unique(group).size <= 5
    assert (np.array([number[group == g].max() for g in np.unique(group)[:-1]])
            < np.array([number[group == g].min() for g in np.unique(group)[1:]])).all()  # fmt: skip


@pytest.mark.slow
def test_the_random_effect_has_them_too():
    """Labels missing by class: what one share for all takes for errors is known by the number of labels."""
    y, labels, y_pred = missing_by_class(1)
    effort = Effort(max_rhat=1.1, min_ess=50)
    found = [
        fit_joint(
            labels,
            y_pred=y_pred,
            key=0,
            priors=DirichletPriors(shares=shares),
            dependence="random_effect",
            effort=effort,
        )
        for shares in ("one", "by_number")
    ]
    error = [abs(f.class_counts[:, 1].mean() - y.sum()) for f in found]
    assert found[1].usable and error[1] < error[0]


def test_they_are_refused_beside_a_prior_and_by_another_name():
    _, labels, _ = missing_by_class(0, 50)
    for shares, message in (("by_number", "leave one of them out"), ("all", "shares")):
        with pytest.raises(ValueError, match=message):
            fit_joint(labels, key=0, prior=[0.5, 0.5], priors=DirichletPriors(shares=shares))
