"""Draws of every labeler's matrix from an annotation model, for a table of labelers.

A model has parameters of its own (an accuracy, an ability, a habit); each draw of them says with which
probability a labeler gives each label to a sample of each class, averaged over samples where they differ in
difficulty.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jtruth.learning.annotation._fit import NutsFit
from jtruth.learning.labeler_draws import LabelerDraws, labeler_draws
from jtruth.sampling.nuts_run import arithmetic

_MOST_CELLS, _FEWEST = 20_000_000, 100


def matrix_draws(fit: NutsFit) -> LabelerDraws:
    """Matrices and prior of the draws of `fit_nuts`, thinned where there are very many labelers."""
    flat = {name: np.reshape(x, (-1, *x.shape[2:])) for name, x in fit.run.samples.items()}
    size, classes = fit.labels.num_labelers, fit.labels.num_classes
    draws = len(flat["prior"])
    most = max(_FEWEST, _MOST_CELLS // (size * classes**2))
    kept = np.unique(np.linspace(0, draws - 1, min(draws, most)).astype(int))
    with arithmetic():
        chosen = {name: jnp.asarray(x[kept]) for name, x in flat.items()}
        matrices = np.asarray(_matrices(fit.spec.channel, size, chosen, jax.tree.map(jnp.asarray, fit.hyper)))
    how = f"{kept.size} draws of the annotation model {fit.model} by NUTS"
    return labeler_draws(flat["prior"][kept], matrices, fit.class_posterior, how, fit.warnings)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _matrices(channel, num_labelers, draws, hyper):
    """(draws, labelers, classes, classes)."""
    return jax.lax.map(lambda draw: channel(draw, hyper, num_labelers).matrices(), draws)
