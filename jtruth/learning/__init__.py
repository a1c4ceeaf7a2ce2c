"""What is the noisy-label model? Learn it, and the class prior, from the labels themselves."""

from jtruth.learning.em._steps import EMResult, dawid_skene_em
from jtruth.learning.em.columns import LabelColumns, columns_from_labels, columns_from_matrix
from jtruth.learning.em.dawid_skene import DawidSkene, Smoothing, fit_dawid_skene
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.learning.joint.random_effect import fit_random_effect
from jtruth.learning.majority import MajorityVote, fit_majority_vote, majority_vote, majority_winner
from jtruth.learning.methods import METHODS, Learned, Method
from jtruth.learning.predicted.confident import ConfidentFit, confident_joint, fit_confident, prune
from jtruth.learning.predicted.noise_layer import NoiseLayer, fit_noise_layer, noise_layer_em
from jtruth.learning.spectral.kos import KargerOhShah, fit_kos, kos_messages

__all__ = [
    "METHODS",
    "ConfidentFit",
    "DawidSkene",
    "EMResult",
    "JointPosterior",
    "KargerOhShah",
    "LabelColumns",
    "Learned",
    "MajorityVote",
    "Method",
    "NoiseLayer",
    "Smoothing",
    "columns_from_labels",
    "columns_from_matrix",
    "confident_joint",
    "dawid_skene_em",
    "fit_confident",
    "fit_dawid_skene",
    "fit_joint",
    "fit_kos",
    "fit_majority_vote",
    "fit_noise_layer",
    "fit_random_effect",
    "kos_messages",
    "majority_vote",
    "majority_winner",
    "noise_layer_em",
    "prune",
]
