"""Information of labelers about the class, in bits (Su sections 4, 5.5 and 6.3.1)."""

from jtruth.information.dist import label_distribution, mixture
from jtruth.information.labelers import (
    best_labelers,
    bsbc_information,
    equivalent_error,
    equivalent_labeler,
    labeler_information,
    smallest_team,
)
from jtruth.information.mutual import mutual_information

__all__ = [
    "best_labelers", "bsbc_information", "equivalent_error", "equivalent_labeler", "label_distribution",
    "labeler_information", "mixture", "mutual_information", "smallest_team",
]  # fmt: skip
