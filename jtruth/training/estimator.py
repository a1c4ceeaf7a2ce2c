"""`NoisyLabelClassifier`: training on noisy labels with scikit-learn's interface.

    from jtruth.training.estimator import NoisyLabelClassifier

scikit-learn (1.6 or newer) is imported on first use. The estimator works in float64.

Labels `y` come in three forms: one label for each sample, of any type (one labeler); a matrix (samples,
labelers) of class codes with -1 for no label, which cross-validation can split; or `Labels`. Without `noise`
labels count as correct; where they differ, vote shares are the class posterior. `score` tests the predictions
against noisy labels by `jtruth.testing`.
"""

from functools import cache
from typing import Any

import jax
import numpy as np

from jtruth._arrays import safe_log
from jtruth._host import log_odds, most_likely_prior
from jtruth._validation import choose
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, Symmetric
from jtruth.noise.base import NoiseModel
from jtruth.posterior import class_posterior, validate_prior
from jtruth.testing import curves_at_thresholds
from jtruth.testing.methods import binary_posterior, multiclass_posterior
from jtruth.training._inputs import Stop
from jtruth.training.corrections import label_estimates, vote_shares
from jtruth.training.em import FAMILIES, fit_gaussians, fit_raykar, gaussian_log_probabilities
from jtruth.training.linear import fit_linear, linear_outputs
from jtruth.training.objectives import log_probabilities

OBJECTIVES = ("mmse", "ml", "label_estimation", "raykar")
MODELS = ("linear", *FAMILIES)


def accuracy_score(y_pred: np.ndarray, log_likelihood: np.ndarray, prior: np.ndarray) -> float:
    """Posterior mean of the accuracy of predictions given log p(z_i | y_i = c) and the class prior."""
    if prior.size > 2:
        tested = multiclass_posterior(log_likelihood, prior, y_pred, method="exact_means", key=0)
    else:
        tested = binary_posterior(log_odds(log_likelihood, prior), y_pred)
    return float(tested.estimate("accuracy").mean)


def estimated_auc_score(scores: np.ndarray, log_likelihood: np.ndarray, prior: np.ndarray) -> float:
    """Area under the ROC curve by Algorithm 1 at every threshold, in their order (Su 5.4.2): two classes.

    As a `scorer` it gets the decision function instead of predictions. The area may leave [0, 1], as its
    points need not be monotone.
    """
    if prior.size != 2:
        raise ValueError(f"estimated_auc_score is for two classes, but there are {prior.size}")
    return float(curves_at_thresholds(log_odds(log_likelihood, prior), scores).area_in_order)


_OF_SCORES = (estimated_auc_score,)  # scorers of the decision function


class _Methods:
    """A classifier that learns from noisy labels (Su 2023, section 3).

    Args:
        objective: "mmse" (40), "ml" (31)-(32) (with `regularisation` that is MAP), "label_estimation" (3.7),
            or "raykar", which also learns the labelers and so takes no `noise`.
        model: "linear", or the generative "naive_bayes" and "lda" (objective "ml" only).
        loss: of a linear model: "logistic", "cross_entropy" or "brier"; None for the one that fits.
        noise: error probability, (C, C) or (labelers, C, C) confusion matrices with rows of true classes, a
            noise model, or None.
        prior: class prior (C,); estimated from the training labels if None.
        classes: all classes in order; needed where some may be missing from `y`, as in small folds.
        regularisation: lambda of a linear model, on the weights.
        num_restarts: random starts beside the first one, drawn with `random_state`.
        max_steps, tol: of the solver.
        random_state: seed of the restarts.
        scorer: what `score` returns: a function of (y_pred, log_likelihood, prior), the arrays that
            `jtruth.testing` takes. None for the posterior mean of the accuracy; `estimated_auc_score` for the
            area under the estimated ROC curve, by which Su 5.4 chooses lambda.

    Attributes:
        classes_: classes in order of their columns.
        prior_: class prior.
        fit_: result of the solver (`ModelFit`), with NumPy arrays.
        n_iter_: steps that the solver took.

    >>> import numpy as np
    >>> from jtruth.training.estimator import NoisyLabelClassifier
    >>> x = np.array([[-2.], [-1.5], [-1.], [1.], [1.5], [2.]])
    >>> z = ["no", "no", "yes", "yes", "yes", "yes"]  # the third label is wrong
    >>> NoisyLabelClassifier(noise=.2, prior=[.5, .5], regularisation=.1).fit(x, z).predict(x).tolist()
    ['no', 'no', 'no', 'yes', 'yes', 'yes']
    """

    def __init__(
        self,
        *,
        objective="mmse",
        model="linear",
        loss=None,
        noise=None,
        prior=None,
        classes=None,
        regularisation=1.0,
        num_restarts=0,
        max_steps=1000,
        tol=None,
        random_state=None,
        scorer=None,
    ):
        self.objective, self.model, self.loss = objective, model, loss
        self.noise, self.prior, self.classes = noise, prior, classes
        self.regularisation, self.num_restarts, self.random_state = regularisation, num_restarts, random_state
        self.max_steps, self.tol, self.scorer = max_steps, tol, scorer

    def fit(self, X, y):
        """Train on features (samples, features) and noisy labels; returns the estimator."""
        from sklearn.utils.validation import check_consistent_length, validate_data

        choose("objective", self.objective, OBJECTIVES)
        choose("model", self.model, MODELS)
        if self.model != "linear" and self.objective != "ml":
            raise ValueError(f"model={self.model!r} is generative: use objective='ml'")
        if self.loss not in (None, "logistic", "cross_entropy", "brier"):
            raise ValueError(f"loss={self.loss!r} gives no probabilities; use fit_linear for it")
        if self.objective == "raykar" and self.noise is not None:
            raise ValueError("objective='raykar' learns the labelers' error rates; leave noise=None")
        X = validate_data(self, X, dtype=np.float64)
        labels, self.classes_ = self._labels(y, fitting=True)
        check_consistent_length(X, np.zeros(labels.num_samples))
        if len(self.classes_) < 2:
            raise ValueError(f"classifiers need at least 2 classes in y, got 1 class: {self.classes_[0]!r}")
        with jax.enable_x64(True):
            fit = self._train(X, labels)
            self.fit_ = jax.tree.map(np.asarray, fit)
        self.n_iter_ = max(1, int(self.fit_.num_steps))
        return self

    def decision_function(self, X):
        """Log-odds of the second class (samples,), or log-probabilities (samples, classes)."""
        log_p = self._log_probabilities(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict_proba(self, X):
        """p(y = c | x), (samples, classes)."""
        return np.exp(self._log_probabilities(X))

    def predict(self, X):
        """The most probable class of every sample."""
        log_p = self._log_probabilities(X)
        return self.classes_[np.argmax(log_p, axis=1)]

    def score(self, X, y):
        """Posterior mean of the accuracy on `X` given noisy labels `y`, by `jtruth.testing`.

        Two classes: the exact posterior; more: the deterministic form of Su's Algorithm 4. With correct
        labels it is the accuracy. A `scorer` replaces it; larger should be better.
        """
        log_p = self._log_probabilities(X)
        by_scores = self.scorer in _OF_SCORES and log_p.shape[1] == 2
        predicted = self.decision_function(X) if by_scores else np.argmax(log_p, axis=1)
        with jax.enable_x64(True):
            log_likelihood = np.asarray(self._log_likelihood(self._labels(y)[0]), np.float64)
            scorer = accuracy_score if self.scorer is None else self.scorer
            return scorer(predicted, log_likelihood, self.prior_)

    def _train(self, X, labels: Labels):
        """The solver's result; sets `prior_`."""
        from sklearn.utils import check_random_state

        log_likelihood = self._log_likelihood(labels)
        if self.prior is None:
            self.prior_ = most_likely_prior(np.asarray(log_likelihood, np.float64))[0]
        else:
            prior = validate_prior(self.prior, labels.num_classes, labels.class_names)
            self.prior_ = prior.astype(np.float64)
        options: dict[str, Any] = {"stop": Stop(self.max_steps, self.tol)}
        if self.objective == "raykar":
            return fit_raykar(X, labels, regularisation=self.regularisation, **options)
        if self.model != "linear":
            return fit_gaussians(X, log_likelihood, self.prior_, family=self.model, **options)
        objective = self.objective
        if objective == "label_estimation":
            estimates = label_estimates(class_posterior(log_likelihood, self.prior_))
            log_likelihood = safe_log(jax.nn.one_hot(estimates, labels.num_classes, dtype=X.dtype))
            objective = "mmse"
        options |= {"loss": self.loss, "regularisation": self.regularisation}
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        options["restarts"] = self.num_restarts, jax.random.key(seed)
        return fit_linear(X, log_likelihood, self.prior_, objective=objective, **options)

    def _log_probabilities(self, X):
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        x: Any = validate_data(self, X, reset=False, dtype=np.float64)
        with jax.enable_x64(True):
            if self.model == "linear":
                return np.asarray(log_probabilities(linear_outputs(self.fit_.model, x)))
            prior = self.fit_.prior
            return np.asarray(gaussian_log_probabilities(self.fit_.model, x, prior, family=self.model))

    def _labels(self, y, fitting=False):
        """`y` in any of its forms as `Labels`, and the classes in order."""
        if isinstance(y, Labels):
            return y, np.array(y.classes if y.classes else range(y.num_classes))
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import check_array, column_or_1d

        known = self.classes if fitting else self.classes_
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            z = check_array(y, ensure_all_finite=True)
            num_classes = int(np.max(z)) + 1 if known is None else len(known)
            classes = np.arange(num_classes) if known is None else np.asarray(known)
            return Labels.from_matrix(z, max(2, num_classes)), classes
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes = np.unique(y) if known is None else np.asarray(known)
        z = (y[:, None] == classes).argmax(axis=1)
        if not (classes[z] == y).all():
            raise ValueError(f"y holds {y[classes[z] != y][0]!r}, which is not one of the classes {classes}")
        return Labels.from_matrix(z[:, None], max(2, len(classes))), classes

    def _log_likelihood(self, labels: Labels):
        """(samples, classes) under `noise`."""
        if self.noise is None:
            return safe_log(np.asarray(vote_shares(labels)))
        if isinstance(self.noise, NoiseModel):
            return self.noise.log_likelihood(labels)
        noise = np.asarray(self.noise, np.float64)
        if noise.ndim == 0:
            return Symmetric(float(noise), labels.num_classes).log_likelihood(labels)
        if noise.ndim == 2:
            noise = np.broadcast_to(noise, (labels.num_labelers, *noise.shape))
        return ConfusionMatrices(noise).log_likelihood(labels)


@cache
def _assembled() -> type:
    """The methods combined with scikit-learn's base classes."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    names = {"__module__": __name__, "__qualname__": "NoisyLabelClassifier", "__doc__": _Methods.__doc__}
    return type("NoisyLabelClassifier", (_Methods, ClassifierMixin, BaseEstimator), names)


def __getattr__(name: str) -> Any:
    """Load `NoisyLabelClassifier` on first use (PEP 562): the module itself needs no scikit-learn."""
    if name == "NoisyLabelClassifier":
        return _assembled()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
