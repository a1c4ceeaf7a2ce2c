"""The random-effect model on data; its density and its posterior are tested in tests/latent."""

from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.latent import Effort
from jtruth.learning import DirichletPriors, fit_joint

fit_effect = partial(fit_joint, dependence="random_effect")


@pytest.mark.slow
def test_dentist_5_under_gradual_difficulty():
    """Six keys: .251 [.157, .376], means within .003, ends within .002 and .013 of these."""
    split = jt.read_labels(Path(__file__).parents[3] / "examples" / "caries.csv").split_rater("5")
    fit = fit_effect(split.labels, y_pred=split.y_pred, key=jax.random.key(1))
    table = fit.tables("in-sample")
    precision = table[:, 1, 1] / table[:, :, 1].sum(1)
    low, high = np.quantile(precision, [0.025, 0.975])
    assert fit.usable and fit.converged and fit.dependence == "random_effect"
    assert abs(precision.mean() - 0.251) < 0.012 and abs(low - 0.157) < 0.015 and abs(high - 0.376) < 0.035
    assert table.sum() == pytest.approx(3869 * len(table))
    again = fit_effect(split.labels, y_pred=split.y_pred, key=jax.random.key(1))
    np.testing.assert_array_equal(again.counts, fit.counts)


@pytest.mark.slow
def test_lineages_reach_the_tails():
    """In the far tail class 1 swallows hard samples of class 0, and its slopes are large. 300 x 5 labels."""
    draw = np.random.default_rng(1)
    y = (draw.random(300) < 0.3).astype(int)
    z = np.where(draw.random((300, 5)) < 0.8, y[:, None], 1 - y[:, None])
    y_pred = np.where(draw.random(300) < 0.87, y, 1 - y)
    effort = Effort(min_sweeps=6400, max_sweeps=6400, min_ess=1e9, ends=True, nuisance=False)
    fit = fit_effect(jt.Labels.from_matrix(z, 2), y_pred=y_pred, key=jax.random.key(2), effort=effort)
    assert fit.convergence.num_sweeps <= 6400 and min(fit.convergence.ess.values()) > 140


def test_what_it_cannot_take():
    three = jt.Labels.from_matrix(np.array([[0, 1, 2], [2, 1, 0]]), 3)
    with pytest.raises(ValueError, match="two classes"):
        fit_effect(three, y_pred=[0, 1], key=jax.random.key(0))
    two = jt.Labels.from_matrix(np.tile([[0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 1]], (10, 1)), 2)
    for how in ({"effort": Effort(mesh=object())}, {"priors": DirichletPriors(start=np.full((30, 2), 0.5))}):
        with pytest.raises(ValueError, match=r"leave priors\.start and mesh out"):
            fit_joint(two, dependence="random_effect", **how)
