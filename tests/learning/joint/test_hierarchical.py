"""Labelers with a common prior: few labels give the population and wide intervals."""

import numpy as np
import pytest

from jtruth._random import as_key, stream
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.learning import fit_hierarchical, fit_joint
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
def fit(sparse):
    return fit_hierarchical(sparse, key=1, effort=SHORT)


def test_one_population_is_what_fit_joint_does_by_itself_on_sparse_labels(sparse, fit):
    same = fit_joint(sparse, key=stream(as_key(1), "hierarchical"), effort=SHORT)
    np.testing.assert_array_equal(fit.posterior.labeler_accuracy, same.labeler_accuracy)
    np.testing.assert_allclose(fit.class_posterior, same.class_posterior)


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


def test_few_labels_mean_the_population_and_a_wide_interval(fit):
    width = np.diff(fit.accuracy_interval(), axis=1)[:, 0]
    assert width[40] < 0.75 * width[0] and width[1] > 0.9 * width[0]
    # Nobody said anything about labeler 0: posterior mean of the population, near the mean of all others.
    assert fit.accuracy[0] == pytest.approx(np.mean(fit.accuracy), abs=0.04)
