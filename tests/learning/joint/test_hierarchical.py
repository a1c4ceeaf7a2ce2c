"""Labelers who are alike: few labels mean the population and a wide interval; groups are populations."""

import numpy as np
import pytest

from jtruth._random import as_key, stream
from jtruth.labels import Labels
from jtruth.learning import fit_hierarchical, fit_joint
from jtruth.sampling import Effort

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
