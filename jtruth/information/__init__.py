"""Which labelers are worth what? Information about the class in bits (Su sections 4, 5.5 and 6.3.1)."""

from jtruth.information.labelers import (
    LabelerInformation,
    LabelerOrder,
    added_information,
    best_labelers,
    labeler_information,
)
from jtruth.information.law import LabelLaw, beta_difficulty, label_law, mixture
from jtruth.information.mutual import Information, mutual_information
from jtruth.information.teams import (
    EquivalentLabeler,
    bsbc_information,
    equivalent_error,
    equivalent_labeler,
    smallest_team,
)

__all__ = [
    "EquivalentLabeler",
    "Information",
    "LabelLaw",
    "LabelerInformation",
    "LabelerOrder",
    "added_information",
    "best_labelers",
    "beta_difficulty",
    "bsbc_information",
    "equivalent_error",
    "equivalent_labeler",
    "label_law",
    "labeler_information",
    "mixture",
    "mutual_information",
    "smallest_team",
]
