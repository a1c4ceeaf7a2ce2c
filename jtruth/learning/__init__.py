"""Learn the noisy-label model and the class prior from the labels themselves."""

from typing import TYPE_CHECKING
from typing import Any as _Any

from jtruth.latent.rows import Rows
from jtruth.learning._fit import Fit, LabelerDraws
from jtruth.learning.em.columns import LabelColumns, columns_from_labels, columns_from_matrix
from jtruth.learning.em.dawid_skene import Smoothing, fit_dawid_skene, fit_one_coin
from jtruth.learning.em.matrices import dawid_skene_em
from jtruth.learning.em.streaming import (
    Stream,
    begin_stream,
    read_stream,
    stream_of_table,
    update,
    write_stream,
)
from jtruth.learning.joint.hierarchical import fit_hierarchical
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.learning.joint.posterior import fit_joint, joint_model
from jtruth.learning.methods import METHODS, check_consistency
from jtruth.learning.minimax_entropy import fit_minimax_entropy
from jtruth.learning.modes import fit_difficulty_fallibility, fit_glad, fit_welinder
from jtruth.learning.predicted import fit_confident, fit_noise_layer
from jtruth.learning.spectral import fit_kos, fit_label_model

if TYPE_CHECKING:
    from jtruth.learning.annotation.bayes import fit_nuts

__all__ = [
    "METHODS", "DirichletPriors", "Fit", "LabelColumns", "LabelerDraws", "Rows", "Smoothing",
    "Stream", "begin_stream", "check_consistency", "columns_from_labels", "columns_from_matrix",
    "dawid_skene_em", "fit_confident", "fit_dawid_skene", "fit_difficulty_fallibility", "fit_glad",
    "fit_hierarchical", "fit_joint", "fit_kos", "fit_label_model", "fit_minimax_entropy",
    "fit_noise_layer", "fit_nuts", "fit_one_coin", "fit_welinder", "joint_model", "read_stream",
    "stream_of_table", "update", "write_stream",
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    """`fit_nuts` on first use (PEP 562), because it imports NumPyro."""
    if name != "fit_nuts":
        raise AttributeError(f"module 'jtruth.learning' has no attribute {name!r}")
    from jtruth.learning.annotation import bayes

    return bayes.fit_nuts
