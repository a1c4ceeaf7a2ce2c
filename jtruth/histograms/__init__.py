"""Label histograms: class probabilities, and predictions of disagreement, judged when experts disagree.

Several labels of one sample are draws from its class probabilities Q (Mimori, Sasada, Matsui and Sato 2021).
From their histograms: losses of predicted class probabilities without the bias of small n (`loss_estimates`,
`losses`, `calibration`), statistics of several labels (`panels`), calibrated probabilities (`scaling`), a law
around them (`concentration`, `dirichlet`). Arrays in, arrays out; numbers in brackets are the paper's
equations.
"""

from jtruth.histograms.bins import MergedBins, equal_mass_edges, equal_width_edges, merged_edges
from jtruth.histograms.calibration import calibration_log_loss, calibration_loss, dispersion_loss
from jtruth.histograms.calibrator import (
    Calibrated,
    Calibrator,
    epistemic_after_one_label,
    fit_calibrator,
)
from jtruth.histograms.concentration import (
    HeadOptions,
    concentration_loss,
    concentration_slope,
    fit_concentration_head,
    free_concentration,
    global_concentration,
)
from jtruth.histograms.dirichlet import (
    best_concentration,
    disagreement_probability,
    ensemble_disagreement,
    ensemble_posterior,
    log_dirichlet_multinomial,
    one_label,
    opinion_gain,
    posterior_probabilities,
)
from jtruth.histograms.estimates import LossTable, bootstrap_draws, loss_estimates, loss_values
from jtruth.histograms.label_counts import (
    Histograms,
    check_probabilities,
    from_counts,
    from_labels,
    with_at_least,
)
from jtruth.histograms.losses import (
    best_weights,
    epistemic_log_loss,
    epistemic_loss,
    log_loss,
    mean_of,
    squared_loss,
)
from jtruth.histograms.panels import (
    any_kernel,
    dirichlet_weights,
    disagreement,
    label_weights,
    majority_strength,
    multinomial_weights,
    panel_entropy,
    panel_moments,
    statistic_loss,
    unanimity,
)
from jtruth.histograms.scaling import (
    choose_penalties,
    fit_isotonic,
    fit_scaling,
    isotonic_probabilities,
    scaled_log_probabilities,
    scaling_loss,
)

__all__ = [
    "Calibrated",
    "Calibrator",
    "HeadOptions",
    "Histograms",
    "LossTable",
    "MergedBins",
    "any_kernel",
    "best_concentration",
    "best_weights",
    "bootstrap_draws",
    "calibration_log_loss",
    "calibration_loss",
    "check_probabilities",
    "choose_penalties",
    "concentration_loss",
    "concentration_slope",
    "dirichlet_weights",
    "disagreement",
    "disagreement_probability",
    "dispersion_loss",
    "ensemble_disagreement",
    "ensemble_posterior",
    "epistemic_after_one_label",
    "epistemic_log_loss",
    "epistemic_loss",
    "equal_mass_edges",
    "equal_width_edges",
    "fit_calibrator",
    "fit_concentration_head",
    "fit_isotonic",
    "fit_scaling",
    "free_concentration",
    "from_counts",
    "from_labels",
    "global_concentration",
    "isotonic_probabilities",
    "label_weights",
    "log_dirichlet_multinomial",
    "log_loss",
    "loss_estimates",
    "loss_values",
    "majority_strength",
    "mean_of",
    "merged_edges",
    "multinomial_weights",
    "one_label",
    "opinion_gain",
    "panel_entropy",
    "panel_moments",
    "posterior_probabilities",
    "scaled_log_probabilities",
    "scaling_loss",
    "squared_loss",
    "statistic_loss",
    "unanimity",
    "with_at_least",
]
