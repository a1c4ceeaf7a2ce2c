"""Labelers with a common prior: few labels give the population and wide intervals; groups."""

import numpy as np
import pytest

from jtruth._random import as_key, stream
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.learning import fit_domains, fit_hierarchical, fit_joint
from jtruth.learning.joint.draws import ALIKE_ROWS
from tests.learning.crowds import from_votes

SHORT = Effort(chains=4, burn_in=100, min_sweeps=800, max_sweeps=800)


@pytest.fixture(scope="module")
def sparse():
    """80 labelers, 40 right in .9 and 40 in .6; number 0 has no label, 1 has 2, 40 has 60, all others 6."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 200)
    accuracy = np.repeat([0.9, 0.6], 40)
    number = np.full(80, 6)
    number[[0, 1, 40]] = 0, 2, 60
    labeler = np.repeat(np.arange(80), number)
    sample = np.concatenate([rng.choice(200, n, replace=False) for n in number])
    label = np.where(rng.random(labeler.size) < accuracy[labeler], y[sample], 1 - y[sample])
    return Labels(sample, labeler, label, 200, 80, 2)


@pytest.fixture(scope="module")
def fits(sparse):
    groups = np.repeat(["near", "far"], 40)
    return fit_hierarchical(sparse, key=1, effort=SHORT), fit_hierarchical(
        sparse, groups=groups, key=1, effort=SHORT
    )


def test_one_population_is_what_fit_joint_does_by_itself_on_sparse_labels(sparse, fits):
    same = fit_joint(sparse, key=stream(as_key(1), "hierarchical"), effort=SHORT)
    np.testing.assert_array_equal(fits[0].posterior.labeler_accuracy, same.labeler_accuracy)
    np.testing.assert_allclose(fits[0].class_posterior, same.class_posterior)


@pytest.mark.parametrize(("right", "learned"), [(0.57, True), (0.8, False)])
def test_labelers_who_hardly_agree_have_no_fixed_prior(right, learned):
    """Five of .57 were taken for .67, the mean of a fixed prior, and so was a good classifier."""
    rng = np.random.default_rng(7)
    y = (rng.random(200) < 0.4).astype(int)
    z = np.where(rng.random((200, 6)) < right, y[:, None], 1 - y[:, None])
    few = Effort(chains=4, burn_in=20, min_sweeps=80, max_sweeps=80)
    labels = Labels.from_matrix(z[:, :5], 2)
    fit = fit_joint(labels, y_pred=z[:, 5], key=0, effort=few, priors=from_votes(labels))
    # What the rows have in common is learned under a prior of its own; without it the rows are fixed.
    assert fit.log_prior.covers == ("classes", *(ALIKE_ROWS.values() if learned else ALIKE_ROWS))


def test_few_labels_mean_the_population_and_a_wide_interval(fits):
    fit = fits[0]
    width = np.diff(fit.accuracy_interval(), axis=1)[:, 0]
    assert width[40] < 0.75 * width[0] and width[1] > 0.9 * width[0]
    # Nobody said anything about labeler 0: posterior mean of the population, near the mean of all others.
    assert fit.accuracy[0] == pytest.approx(np.mean(fit.accuracy), abs=0.04)


def test_groups_are_populations(fits):
    """Who gave nothing is like their own group, and the groups differ."""
    alone, grouped = fits
    assert grouped.groups == ("far", "near") and alone.groups == ("all",)
    near, far = grouped.accuracy[:40].mean(), grouped.accuracy[41:].mean()
    assert near - far > 0.15
    assert abs(grouped.accuracy[0] - near) < 0.05
    assert grouped.accuracy[0] > alone.accuracy[0] + 0.04


def test_groups_that_are_none_are_refused(sparse):
    with pytest.raises(ValueError, match=r"groups has shape \(2,\); give one group for each of the 80"):
        fit_hierarchical(sparse, groups=["a", "b"])
    with pytest.raises(ValueError, match="labelers without a group: 3;"):
        fit_hierarchical(sparse, groups=["a"] * 3 + [None] + ["b"] * 76)


@pytest.mark.slow
def test_what_a_labeler_does_in_one_domain_says_something_of_the_next():
    """Ten labelers of .55 to .95, three domains, the last with 8 samples and few labels."""
    rng = np.random.default_rng(2)
    skill = np.linspace(0.55, 0.95, 10)
    domain = np.repeat(["a", "b", "c"], [150, 150, 8])
    y = rng.integers(0, 2, domain.size)
    z = np.where(rng.random((domain.size, 10)) < skill[None, :], y[:, None], 1 - y[:, None])
    labels = Labels.from_matrix(z, 2)
    fit = fit_domains(labels, domain, effort=SHORT)
    assert fit.domains == ("a", "b", "c") and fit.accuracy.shape == (10, 3)
    assert fit.matrices.shape == (10, 3, 2, 2) and fit.class_posterior.shape == (308, 2)
    alone = fit_hierarchical(labels.restrict(np.flatnonzero(domain == "c")), effort=SHORT)
    error = [np.sqrt(np.mean((x - skill) ** 2)) for x in (fit.accuracy[:, 2], alone.accuracy)]
    assert error[0] < 0.75 * error[1]
    width = np.diff(fit.accuracy_interval(), axis=2)[:, :, 0].mean(axis=0)
    assert width[2] > 1.3 * width[0]
    with pytest.raises(ValueError, match="samples without a domain: 3;"):
        fit_domains(labels, [None if i == 3 else "a" for i in range(308)])
