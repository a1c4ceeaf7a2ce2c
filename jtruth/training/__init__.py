"""Training on noisy labels: objectives, models, alternatives, and a scikit-learn estimator (Su section 3)."""

from jtruth.training._inputs import Stop
from jtruth.training.corrections import (
    backward,
    backward_risk,
    fit_voters,
    forward,
    forward_risk,
    label_estimates,
    layered,
    median_scores,
    predict_labels,
    replication_counts,
    trace_penalty,
    vote,
    vote_shares,
    weak_losses,
    with_labelers,
)
from jtruth.training.em import fit_gaussians, fit_mbem, fit_raykar
from jtruth.training.linear import Linear, fit_linear, linear_objective, linear_outputs, solve_linear
from jtruth.training.minibatch import Recipe, fit, mlp, outputs_of
from jtruth.training.objectives import (
    brier,
    cross_entropy,
    discriminative_ml,
    estimated_auc,
    generative_ml,
    log_probabilities,
    logistic,
    ml,
    mmse,
    mmse_risk,
    risk_variance,
)

__all__ = [
    "Linear", "Recipe", "Stop", "backward", "backward_risk", "brier", "cross_entropy",
    "discriminative_ml", "estimated_auc", "fit", "fit_gaussians", "fit_linear", "fit_mbem", "fit_raykar",
    "fit_voters", "forward", "forward_risk", "generative_ml", "label_estimates", "layered",
    "linear_objective", "linear_outputs", "log_probabilities", "logistic", "median_scores", "ml", "mlp",
    "mmse", "mmse_risk", "outputs_of", "predict_labels", "replication_counts", "risk_variance",
    "solve_linear", "trace_penalty", "vote", "vote_shares", "weak_losses", "with_labelers",
]  # fmt: skip
