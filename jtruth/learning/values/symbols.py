"""More symbols than classes: "cannot tell" is an answer like any other, and may tell something.

A labeler's matrix has a row for each class and a column for each symbol: p(symbol | class). Who says "cannot
tell" more often where the class is 1 says something about the class; a matrix whose column of "cannot tell"
is the same in every row is an abstention that tells nothing, which is then learned and need not be assumed.

Or a labeler names a set of classes and means that one of them is right: Su 3.6.1, after Cid-Sueiro (2012),
whose matrix p(set | class) has up to 2^C columns. Here a labeler has one class in mind, by a confusion
matrix, and reports a set that holds it; which other classes he adds depends on what he has in mind and not on
the truth beyond it (coarsening at random). Then

    p(set | class c)  is proportional to  sum over k in the set of psi[c, k],

a set of one class is an ordinary label, and the set of all classes is no label at all. Where sets mean more
than that (a labeler who adds classes when he is about to err), make every set a symbol.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth import _host
from jtruth.learning.values.table import Values, log_prior_of_rows, shares_of_votes, whole_numbers


class SymbolMatrices(NamedTuple):
    """p(symbol | class) of each labeler; symbols 0..C-1 are the classes, the others are not."""

    matrices: Float[np.ndarray, "labelers classes symbols"]
    pseudo: Float[np.ndarray, "classes symbols"]  # pseudo-counts of each row

    @classmethod
    def before(cls, values: Values, num_classes: int, num_symbols: int | None = None) -> "SymbolMatrices":
        """Pseudo-counts 2 on the diagonal and 1 in all off it; symbols up to the largest unless said."""
        symbols = max(num_classes, int(values.value.max()) + 1) if num_symbols is None else num_symbols
        whole_numbers(values, symbols, "symbol")
        own = np.arange(num_classes)[:, None] == np.arange(symbols)
        pseudo = np.where(own, 2.0, 1.0 / max(symbols - 1, 1))
        rows = pseudo / pseudo.sum(axis=1, keepdims=True)
        return cls(np.tile(rows, (len(values.workers), 1, 1)), pseudo)

    def start(self, values: Values) -> Float[np.ndarray, "samples classes"]:
        """Vote shares; a symbol that is no class votes for all alike."""
        classes = self.pseudo.shape[0]
        votes = np.where(
            values.value[:, None] < classes, values.value[:, None] == np.arange(classes), 1 / classes
        )
        return shares_of_votes(values, votes.astype(np.float64))

    def log_p(self, values: Values) -> Float[np.ndarray, "labels classes"]:
        """log p(value | class) of each label."""
        return _host.log(self.matrices[values.labeler, :, values.value.astype(np.int64)])

    def refit(self, values: Values, weight: Float[np.ndarray, "labels classes"]) -> "SymbolMatrices":
        """Expected counts and pseudo-counts, normalised."""
        rows = values.counts(weight, self.matrices.shape[2]) + self.pseudo
        return self._replace(matrices=rows / rows.sum(axis=2, keepdims=True))

    log_prior = log_prior_of_rows


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

    log_prior = log_prior_of_rows
