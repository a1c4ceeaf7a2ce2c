"""Yesterday's draws as today's prior: their Dirichlet law, and two days against one fit."""

import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import DirichletPriors, fit_joint
from jtruth.learning.carry import carried, concentration

FIXED = DirichletPriors(diagonal=2, off_diagonal_total=1)


def test_the_law_of_the_same_mean_and_spread():
    rng = np.random.default_rng(0)
    wanted = np.array([[40.0, 5, 5], [3, 8, 1]])
    draws = np.stack([rng.dirichlet(a, 100_000) for a in wanted], axis=1)
    np.testing.assert_allclose(concentration(draws), wanted, rtol=0.05)


def day(seed, names):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 150)
    z = np.where(rng.random((150, 4)) < (0.65, 0.75, 0.85, 0.9), y[:, None], 1 - y[:, None])
    task, worker = (a.ravel() for a in np.indices(z.shape))
    return [f"{seed}-{i}" for i in task], [names[t] for t in worker], z.ravel().tolist()


@pytest.fixture(scope="module")
def both_days():
    """Labels of the first and of the second day, and fits of the first and of both."""
    one, two = day(1, "abcd"), day(2, "abcd")
    first = Labels.from_long(*one)
    rows = [list(x) + list(y) for x, y in zip(one, two, strict=True)]
    fits = [fit_joint(x, key=0, priors=FIXED) for x in (first, Labels.from_long(*rows))]
    return first, Labels.from_long(two[0], two[1], two[2], workers=list("dcba")), fits


def test_two_days_by_the_sampler_are_nearly_one_fit_of_both(both_days):
    first, second, fits = both_days
    more = carried(fits[0].prior, fits[0].matrices, first.workers, second)
    after = fit_joint(second, key=0, priors=FIXED._replace(
        pseudo_counts=more.pseudo_counts, prior_concentration=more.prior_concentration))  # fmt: skip
    sd = fits[1].labeler_accuracy.std(axis=0)
    off = after.labeler_accuracy.mean(axis=0)[::-1] - fits[1].labeler_accuracy.mean(axis=0)
    assert np.abs(off / sd).max() < 0.6
    assert (np.abs(after.labeler_accuracy.std(axis=0)[::-1] / sd - 1) < 0.3).all()
    alone = fit_joint(second, key=0, priors=FIXED)
    assert after.labeler_accuracy.std(axis=0).mean() < 0.85 * alone.labeler_accuracy.std(axis=0).mean()


def test_what_is_refused():
    labels, draws = Labels.from_long(["a", "a"], ["x", "y"], [0, 1]), np.full((30, 2), 0.5)
    rows = np.full((30, 1, 2, 2), 0.5)
    with pytest.raises(ValueError, match="no labeler of these labels"):
        carried(draws, rows, ["z"], labels)
    with pytest.raises(ValueError, match="5 draws do not say"):
        carried(draws[:5], rows, ["x"], labels)
    with pytest.raises(ValueError, match="for 2 workers and 2 classes"):
        carried(draws, rows, ["x", "y"], labels)
