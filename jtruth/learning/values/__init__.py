"""Labels that are not one class each: symbols, sets, probabilities, grades, ratings; one waist for all."""

from jtruth.learning.values.fit import fit_values
from jtruth.learning.values.multilabel import MultiLabel, fit_multilabel
from jtruth.learning.values.ordinal import OrdinalLink
from jtruth.learning.values.probabilities import DirichletChannel
from jtruth.learning.values.ratings import NormalRatings
from jtruth.learning.values.symbols import SetMatrices, SymbolMatrices
from jtruth.learning.values.table import Values

__all__ = [
    "DirichletChannel",
    "MultiLabel",
    "NormalRatings",
    "OrdinalLink",
    "SetMatrices",
    "SymbolMatrices",
    "Values",
    "fit_multilabel",
    "fit_values",
]
