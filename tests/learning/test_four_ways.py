"""One posterior by four algorithms: the mode plugged in, its normal approximation, tempering, and NUTS."""

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.latent import NutsSettings
from jtruth.learning import DirichletPriors, Smoothing, begin_stream, fit_dawid_skene, fit_joint, fit_nuts
from jtruth.learning.em.laplace import laplace_draws

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("optimized")]


def test_four_ways_agree_on_3869_samples(pytestconfig):
    """Accuracies of five dentists: means within .3 of a standard deviation, as each way has an effective
    number of 400 or more (four errors of a difference are .28), spreads within a fifth, the mode within .5.
    """
    labels = jt.read_labels(pytestconfig.rootpath / "examples" / "caries.csv")
    weak, key = Smoothing(diagonal=2.0, off_diagonal=1.0, prior=1.0), jax.random.key(3)
    mode = fit_dawid_skene(labels, smoothing=weak)
    normal = laplace_draws(begin_stream(labels, smoothing=weak), key).labeler_accuracy
    tempered = fit_joint(labels, priors=DirichletPriors(diagonal=2.0, off_diagonal_total=1.0), key=key)
    nuts = fit_nuts("dawid_skene", labels, key=key, settings=NutsSettings(num_warmup=300, num_samples=500))
    by_nuts = np.einsum("mc,mtcc->mt", nuts.run.flat("prior"), nuts.run.flat("confusion"))
    draws = tempered.labeler_accuracy
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    for other in (normal, by_nuts):
        assert (np.abs(other.mean(axis=0) - mean) < 0.3 * sd).all()
        assert (np.abs(np.log(other.std(axis=0) / sd)) < 0.2).all()
    plugged = np.einsum("c,tcc->t", mode.prior, mode.matrices)
    assert (np.abs(plugged - mean) < 0.5 * sd).all()
