"""Label histograms: class probabilities, and predicted disagreement, evaluated by several labels of a sample.

Several labels of one sample are draws from its class probabilities Q (Mimori, Sasada, Matsui and Sato 2021).
From their histograms: losses of predicted class probabilities without the bias of small n (`calibration`),
calibrated probabilities and a distribution around them (`concentration`). Numbers in brackets are the paper's
equations.
"""

from jtruth.histograms.calibration import (
    Calibration,
    MergedBins,
    calibration_loss,
    dispersion_loss,
    loss_estimates,
)
from jtruth.histograms.concentration import (
    best_concentration,
    concentration_loss,
    disagreement_probability,
    epistemic_after_one_label,
    fit_calibrator,
    log_dirichlet_multinomial,
    one_label,
    opinion_gain,
    posterior_probabilities,
)
from jtruth.histograms.label_counts import (
    Histograms,
    disagreement,
    epistemic_loss,
    from_counts,
    from_labels,
    log_loss,
    squared_loss,
)

__all__ = [
    "Calibration", "Histograms", "MergedBins", "best_concentration", "calibration_loss", "concentration_loss",
    "disagreement", "disagreement_probability", "dispersion_loss", "epistemic_after_one_label",
    "epistemic_loss", "fit_calibrator", "from_counts", "from_labels", "log_dirichlet_multinomial", "log_loss",
    "loss_estimates", "one_label", "opinion_gain", "posterior_probabilities", "squared_loss",
]  # fmt: skip
