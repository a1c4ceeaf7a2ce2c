"""What a method that learns from labels gives back: one type for all of them.

The fields are what every consensus has. What only one method knows, such as matrices or abilities, is in
`own`, is listed in the docstring of the function that fits, and is read like a field: `fit.matrices`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line


class Fit(NamedTuple):
    """A fitted method. All arrays are NumPy float64."""

    prior: Float[np.ndarray, " classes"]  # class shares
    class_posterior: Float[np.ndarray, "samples classes"]  # rows sum to 1; a known class has 1
    log_likelihood: float  # log p(labels, gold classes) at the estimate; NaN where a method has none
    converged: bool = True  # whether an iteration came to its end; True where there is none
    num_steps: int = 0
    warnings: tuple[str, ...] = ()  # what is doubtful, one sentence each
    own: Mapping[str, Any] = MappingProxyType({})  # what only this method says, by name

    __repr__ = one_line

    def __getattr__(self, name: str) -> Any:
        """What only this method says, as if it were a field."""
        if name in self.own:
            return self.own[name]
        known = ", ".join([*self._fields, *self.own])
        raise AttributeError(f"this fit has no {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        """The names in `own` are among those that a notebook offers."""
        return [*object.__dir__(self), *self.own]

    def __reduce__(self) -> tuple:
        """Plain data, so that fits are saved and sent to other processes."""
        return type(self), (*self[:-1], dict(self.own))

    def noise_model(self) -> Any:
        """How labelers err, in the form that testing and training take: a model of `jtruth.noise`.

        Matrices, else difficulties and fallibilities, else one accuracy for each labeler.

        Raises:
            ValueError: the method does not estimate how labelers err.
        """
        from jtruth import noise

        own, classes = self.own, self.prior.size
        if "matrices" in own:
            return noise.ConfusionMatrices(own["matrices"])
        if "fallibility" in own:
            return noise.DifficultyFallibility(own["difficulty"], own["fallibility"], classes)
        if "accuracy" in own:
            return noise.Symmetric(1.0 - own["accuracy"], classes)
        raise ValueError(
            "this fit has no error rates of codes, so no model of `jtruth.noise` holds it; choose a method "
            "that estimates how labelers err, or hand over its array by_class, where it has one"
        )


class LabelerDraws(NamedTuple):
    """Draws of class prior and labelers' matrices, whatever model and engine they are from.

    What a table of labelers needs, by the names of `JointPosterior`: of the normal law around the mode of EM
    (`em.laplace`) and of annotation models by NUTS (`NutsFit.matrix_draws`).
    """

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
