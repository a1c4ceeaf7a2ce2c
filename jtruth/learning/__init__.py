"""What is the noisy-label model? Learn it, and the class prior, from the labels themselves."""

from jtruth.learning._columns import LabelColumns, columns_from_labels, columns_from_matrix
from jtruth.learning._dawid_skene_em import EMResult, dawid_skene_em
from jtruth.learning.dawid_skene import DawidSkene, Smoothing, fit_dawid_skene
from jtruth.learning.joint import JointPosterior, fit_joint
from jtruth.learning.majority import majority_vote, majority_winner
from jtruth.learning.random_effect import fit_random_effect

__all__ = [
    "DawidSkene",
    "EMResult",
    "JointPosterior",
    "LabelColumns",
    "Smoothing",
    "columns_from_labels",
    "columns_from_matrix",
    "dawid_skene_em",
    "fit_dawid_skene",
    "fit_joint",
    "fit_random_effect",
    "majority_vote",
    "majority_winner",
]
