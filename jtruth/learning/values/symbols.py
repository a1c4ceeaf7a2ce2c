"""More symbols than classes: "cannot tell" is an answer like any other, and may tell something.

A labeler's matrix has a row for each class and a column for each symbol: p(symbol | class). Who says "cannot
tell" more often where the class is 1 says something about the class; a matrix whose column of "cannot tell"
is the same in every row is an abstention that tells nothing, which is then learned and need not be assumed.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth import _host
from jtruth.learning.values.table import Values, shares_of_votes, whole_numbers


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
        labelers, classes, symbols = self.matrices.shape
        cell = values.labeler * symbols + values.value.astype(np.int64)
        counts = [np.bincount(cell, weight[:, c], labelers * symbols) for c in range(classes)]
        rows = np.stack(counts, axis=1).reshape(labelers, symbols, classes).swapaxes(1, 2) + self.pseudo
        return self._replace(matrices=rows / rows.sum(axis=2, keepdims=True))

    def log_prior(self) -> float:
        """Sum of pseudo-count times log probability."""
        return float((self.pseudo * _host.log(self.matrices)).sum())

    def noise_model(self):
        """`jtruth.noise.ConfusionMatrices` with as many columns as symbols."""
        from jtruth.noise import ConfusionMatrices

        return ConfusionMatrices(self.matrices)
