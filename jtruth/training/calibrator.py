"""`HistogramCalibrator`: calibrated probabilities and disagreement with scikit-learn's vocabulary.

    from jtruth.training.calibrator import HistogramCalibrator

It takes the place of `CalibratedClassifierCV`'s second step where samples have several labels: X are a
classifier's class probabilities or logits, y the labels. scikit-learn (1.6 or newer) is imported when the
name is first asked for.
"""

from functools import cache
from typing import Any

import jax
import numpy as np

from jtruth import histograms as hist
from jtruth._random import as_key
from jtruth._validation.in_range import check_rows
from jtruth.histograms.calibrator import CALIBRATIONS, Calibrated, fit_calibrator
from jtruth.labels import Labels


class _Methods:
    """Calibrate class probabilities on label histograms, with a law around them.

    Args:
        method: "temperature", "vector", "matrix", "dirichlet", or "alpha", which leaves class probabilities
            as they are. All add alpha_0, so that disagreement and the effect of a label can be predicted.
        inputs: what X holds: "probabilities", "logits", or "auto", probabilities if all rows are
            distributions.
        bias_penalty, weight_penalty: (48), (49), where the method has them.
        penalty, normalise: of alpha-calibration.
        random_state: seed of the split that stops the fit of alpha_0.

    Attributes:
        classes_: classes in order of the columns of X.
        calibrator_: the fitted `jtruth.histograms.Calibrator`.

    Example:
        >>> import numpy as np
        >>> from jtruth.training.calibrator import HistogramCalibrator
        >>> p = np.array([[.9, .1], [.8, .2], [.1, .9], [.3, .7], [.6, .4]] * 4)
        >>> counts = np.array([[2, 1], [3, 0], [1, 2], [1, 2], [1, 1]] * 4)
        >>> fitted = HistogramCalibrator(method="temperature").fit(p, counts)
        >>> bool(fitted.predict_proba(p)[0, 0] < .9)  # was too sure
        True
    """

    def __init__(
        self,
        *,
        method="alpha",
        inputs="auto",
        bias_penalty=0.1,
        weight_penalty=1.0,
        penalty=0.005,
        normalise="labels",
        random_state=0,
    ):
        self.method, self.inputs = method, inputs
        self.bias_penalty, self.weight_penalty = bias_penalty, weight_penalty
        self.penalty, self.normalise, self.random_state = penalty, normalise, random_state

    def fit(self, X, y):
        """Fit.

        `X`: (samples, classes); `y`: counts of that shape, `Histograms`, `Labels` or one label each.

        Raises:
            ValueError: see `fit_calibrator`; or columns of X and classes of y that differ in number.
        """
        from sklearn.utils.validation import check_consistent_length, validate_data

        if self.method not in CALIBRATIONS:
            raise ValueError(f"method must be one of {', '.join(CALIBRATIONS)}; got {self.method!r}")
        x: Any = validate_data(self, X, dtype=np.float64, ensure_min_features=2)
        histograms, self.classes_ = _histograms(y, x.shape[1])
        check_consistent_length(x, np.zeros(histograms.num_samples))
        names = ("bias_penalty", "weight_penalty", "penalty", "normalise")
        options = {name: getattr(self, name) for name in names}
        with jax.enable_x64(True):
            p = self._probabilities(x, fitting=True)
            self.calibrator_ = fit_calibrator(
                as_key(self.random_state), histograms, p, method=self.method, **options
            )
        return self

    def _probabilities(self, X, fitting=False):
        """X as probabilities; whether it holds them is settled by `fit`."""
        if fitting:
            rows = (X >= 0).all() and bool((np.abs(X.sum(axis=1) - 1) <= 1e-6).all())
            self._logits = self.inputs == "logits" or (self.inputs == "auto" and not rows)
        if self._logits:
            X = np.exp(X - X.max(axis=1, keepdims=True))
            return X / X.sum(axis=1, keepdims=True)
        check_rows(X, "probabilities")
        return X

    def law(self, X) -> Calibrated:
        """Calibrated probabilities and concentration of each sample."""
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        x: Any = validate_data(self, X, reset=False, dtype=np.float64)
        with jax.enable_x64(True):
            return Calibrated(*map(np.asarray, self.calibrator_(self._probabilities(x))))

    def predict_proba(self, X):
        """Calibrated class probabilities (samples, classes)."""
        return np.asarray(self.law(X).probabilities)

    def predict(self, X):
        """The most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_disagreement(self, X):
        """Probability that two labelers disagree (71)."""
        with jax.enable_x64(True):
            return np.asarray(self.law(X).disagreement)

    def posterior(self, X, y):
        """Class probabilities after labels `y` (in any form that `fit` takes), (79)."""
        law = self.law(X)
        histograms, _ = _histograms(y, len(self.classes_), self.classes_)
        with jax.enable_x64(True):
            return np.asarray(hist.posterior_probabilities(histograms, *law))


def _histograms(y: Any, num_classes: int, classes: Any = None) -> tuple[hist.Histograms, np.ndarray]:
    """`y` as histograms, and the classes."""
    plain = np.arange(num_classes) if classes is None else np.asarray(classes)
    if isinstance(y, hist.Histograms):
        return y, plain
    if isinstance(y, Labels):
        return hist.from_labels(y), np.array(y.classes) if y.classes else plain
    y = np.asarray(y) if isinstance(y, list | tuple) else y
    if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        return hist.from_counts(np.asarray(y)), plain
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    known = np.unique(y) if classes is None else plain
    if classes is None and len(known) != num_classes:
        raise ValueError(f"y has {len(known)} classes but X has {num_classes} columns, one for each class")
    counts = (y[:, None] == known).astype(np.int32)
    return hist.from_counts(counts), known


@cache
def _assembled() -> type:
    """The methods on top of scikit-learn's base classes."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    names = {"__module__": __name__, "__qualname__": "HistogramCalibrator", "__doc__": _Methods.__doc__}
    return type("HistogramCalibrator", (_Methods, ClassifierMixin, BaseEstimator), names)


def __getattr__(name: str) -> Any:
    """`HistogramCalibrator`, on demand (PEP 562), so that importing this module needs no scikit-learn."""
    if name == "HistogramCalibrator":
        return _assembled()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
