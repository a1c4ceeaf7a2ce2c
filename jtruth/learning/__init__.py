"""What is the noisy-label model? Learn it, and the class prior, from the labels themselves."""

from jtruth.learning._columns import LabelColumns, columns_from_labels, columns_from_matrix
from jtruth.learning._dawid_skene_em import EMResult, dawid_skene_em
from jtruth.learning.dawid_skene import DawidSkene, Smoothing, fit_dawid_skene
from jtruth.learning.majority import majority_vote, majority_winner

__all__ = [
    "DawidSkene",
    "EMResult",
    "LabelColumns",
    "Smoothing",
    "columns_from_labels",
    "columns_from_matrix",
    "dawid_skene_em",
    "fit_dawid_skene",
    "majority_vote",
    "majority_winner",
]
