"""What is the noisy-label model? Learn it, and the class prior, from the labels themselves."""

from jtruth.learning.em._steps import EMResult, dawid_skene_em
from jtruth.learning.em.columns import LabelColumns, columns_from_labels, columns_from_matrix
from jtruth.learning.em.dawid_skene import DawidSkene, Smoothing, fit_dawid_skene
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.learning.joint.random_effect import fit_random_effect
from jtruth.learning.majority import MajorityVote, fit_majority_vote, majority_vote, majority_winner
from jtruth.learning.methods import METHODS, Learned, Method

__all__ = [
    "METHODS",
    "DawidSkene",
    "EMResult",
    "JointPosterior",
    "LabelColumns",
    "Learned",
    "MajorityVote",
    "Method",
    "Smoothing",
    "columns_from_labels",
    "columns_from_matrix",
    "dawid_skene_em",
    "fit_dawid_skene",
    "fit_joint",
    "fit_majority_vote",
    "fit_random_effect",
    "majority_vote",
    "majority_winner",
]
