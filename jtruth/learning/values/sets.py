"""Partial labels: a labeler names a set of classes and means that one of them is right.

Su 3.6.1, after Cid-Sueiro (2012), whose matrix p(set | class) has up to 2^C columns. Here a labeler has one
class in mind, with the probabilities of a confusion matrix, and reports a set that holds it; which other
classes he adds depends on what he has in mind and not on the truth beyond it (coarsening at random). Then

    p(set | class c)  is proportional to  sum over k in the set of psi[c, k],

a set of one class is an ordinary label, and the set of all classes is no label at all. Where sets mean more
than that (a labeler who adds classes when he is about to err), make every set a symbol: `SymbolMatrices`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth import _host
from jtruth.learning.values.table import Values, shares_of_votes


class SetMatrices(NamedTuple):
    """What each labeler has in mind, given the class."""

    matrices: Float[np.ndarray, "labelers classes classes"]
    pseudo: Float[np.ndarray, "classes classes"]

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "SetMatrices":
        """Values are (labels, classes) booleans, none of them without a class."""
        value = values.value
        if value.dtype != bool or value.shape[1:] != (num_classes,):
            raise ValueError(
                f"sets must be booleans (labels, {num_classes}); got {value.shape} of {value.dtype}"
            )
        if not value.any(axis=1).all():
            row = int(np.flatnonzero(~value.any(axis=1))[0])
            raise ValueError(f"row {row}: a set without a class says that none is right; leave the row out")
        pseudo = _host.diagonal_rows(num_classes, 2.0, 1.0)
        return cls(np.tile(pseudo / pseudo.sum(axis=1)[:, None], (len(values.workers), 1, 1)), pseudo)

    def start(self, values: Values) -> Float[np.ndarray, "samples classes"]:
        """Every set votes for its classes alike."""
        return shares_of_votes(values, values.value / values.value.sum(axis=1, keepdims=True))

    def log_p(self, values: Values) -> Float[np.ndarray, "labels classes"]:
        """log sum over the set; what is proportional to it alike under every class is left out."""
        return _host.log(
            np.einsum("eck,ek->ec", self.matrices[values.labeler], values.value.astype(np.float64))
        )

    def refit(self, values: Values, weight: Float[np.ndarray, "labels classes"]) -> "SetMatrices":
        """What was in mind is one more unknown of EM: its share among the classes of the set."""
        inside = self.matrices[values.labeler] * values.value[:, None, :]
        share = weight[:, :, None] * inside / np.maximum(inside.sum(axis=2, keepdims=True), 1e-300)
        classes = len(self.pseudo)
        rows = values.by_labeler(share.reshape(-1, classes**2)).reshape(-1, classes, classes) + self.pseudo
        return self._replace(matrices=rows / rows.sum(axis=2, keepdims=True))

    def log_prior(self) -> float:
        """Sum of pseudo-count times log probability."""
        return float((self.pseudo * _host.log(self.matrices)).sum())
