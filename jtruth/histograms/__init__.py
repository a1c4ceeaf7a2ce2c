"""Label histograms: class probabilities, and predictions of disagreement, judged when experts disagree.

Several labels of one sample are draws from its class probabilities Q (Mimori, Sasada, Matsui and Sato 2021).
From their histograms: losses of predicted class probabilities without the bias of small n (`calibration`),
calibrated probabilities and a law around them (`concentration`). Arrays in, arrays out; numbers in brackets
are the paper's equations.
"""

from jtruth.histograms.calibration import (
    Calibration,
    MergedBins,
    calibration_loss,
    dispersion_loss,
    loss_estimates,
)
from jtruth.histograms.concentration import (
    epistemic_after_one_label,
    fit_calibrator,
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
    "Calibration", "Histograms", "MergedBins", "calibration_loss", "disagreement", "dispersion_loss",
    "epistemic_after_one_label", "epistemic_loss", "fit_calibrator", "from_counts", "from_labels", "log_loss",
    "loss_estimates", "one_label", "opinion_gain", "posterior_probabilities", "squared_loss",
]  # fmt: skip
