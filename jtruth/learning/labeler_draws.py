"""Draws of class prior and labelers' matrices, whatever model and engine they are from.

What a table of labelers needs. `fit_joint` gives draws with much beside them; the normal law around the mode
of EM (`em.laplace`) and the annotation models by NUTS (`NutsFit.matrix_draws`) give these.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line


class LabelerDraws(NamedTuple):
    """The names are those of `JointPosterior`."""

    prior: Float[np.ndarray, "draws classes"]
    matrices: Float[np.ndarray, "draws labelers classes classes"]  # float32
    mean_matrices: Float[np.ndarray, "labelers classes classes"]
    labeler_accuracy: Float[np.ndarray, "draws labelers"]  # sum_c pi[c] psi_t[c, c]
    class_posterior: Float[np.ndarray, "samples classes"]
    how: str  # a sentence: what the draws are of
    warnings: tuple[str, ...] = ()

    __repr__ = one_line


def labeler_draws(
    prior: Float[np.ndarray, "draws classes"],
    matrices: Float[np.ndarray, "draws labelers classes classes"],
    class_posterior: Float[np.ndarray, "samples classes"],
    how: str,
    warnings: tuple[str, ...] = (),
) -> LabelerDraws:
    """The draws with what follows from them."""
    right = np.einsum("mc,mtcc->mt", prior, matrices, dtype=np.float64)
    mean = matrices.mean(axis=0, dtype=np.float64)
    return LabelerDraws(prior, matrices.astype(np.float32), mean, right, class_posterior, how, warnings)
