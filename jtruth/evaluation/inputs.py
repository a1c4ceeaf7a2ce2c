"""What the user handed to `evaluate`, checked on the host and turned into arrays before any JAX call."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from scipy.special import logsumexp, softmax

from jtruth._host import known_classes, log
from jtruth._host import log_odds as class_log_odds
from jtruth._validation import quoted, some
from jtruth.labels import Labels
from jtruth.noise import NoiseModel, check_known_labels
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.testing.binary import METHODS

ASSUMPTIONS = ("unknown", "independent", "shared_difficulty")


@dataclass
class Model:
    """What is known of the labels' noise: log p(z_i | y_i = c), the prior, and how far to trust them."""

    log_likelihood: np.ndarray  # (samples, classes); known samples are 0 and -inf
    prior: np.ndarray  # (classes,)
    prior_unknown: bool = False  # two classes: the prior is to be integrated out
    refusal: str | None = None  # why no number can be given
    warnings: tuple[str, ...] = ()
    labelers: tuple[dict[str, Any], ...] = ()
    count_draws: np.ndarray | None = None  # (draws, classes, symbols), where the error rates were sampled too
    source: Any = None  # what error rates were learned by: the sampler's result, or that of EM

    def prior_found(self, share: float, positive: int) -> None:
        """Record the posterior mean of an unknown prior."""
        self.prior = np.full(2, 1 - share)
        self.prior[positive] = share


@dataclass
class Inputs:
    """Checked input; `model` is None when the noise model has to be learned."""

    y_pred: np.ndarray  # (samples,) codes
    labels: Labels | None
    model: Model | None
    gold: np.ndarray  # (samples,) codes, -1 unknown
    prior: np.ndarray | None
    positive: int
    classes: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def num_labelers(self) -> int:
        """Number of labelers; 0 when only a log-likelihood was given."""
        return self.labels.num_labelers if self.labels is not None else 0

    @property
    def num_labels(self) -> int:
        """Number of labels; 0 when only a log-likelihood was given."""
        return int((np.asarray(self.labels.label) >= 0).sum()) if self.labels is not None else 0

    @property
    def binary_classes(self) -> tuple[str, ...]:
        """Names of (negative, positive); more classes than two are tested one against the rest."""
        if len(self.classes) == 2:
            return (self.classes[1 - self.positive], self.classes[self.positive])
        return (f"not {self.classes[self.positive]}", self.classes[self.positive])


def check_options(assume: str | None, method: str, key: Any) -> None:
    """Refuse unknown methods and assumptions, and a missing key, by name."""
    if assume is not None and assume not in ASSUMPTIONS:
        raise ValueError(f"assume={assume!r} is not available; choose one of {', '.join(ASSUMPTIONS)}")
    known = (*METHODS, "plug_in", "majority_vote")
    if method not in known:
        raise ValueError(f"method={method!r}; choose one of {', '.join(known)}")
    if method == "sampling" and key is None:
        raise ValueError(
            'method="sampling" draws random numbers: give key=jax.random.key(0), or another seed'
        )


def codes(values: Any, classes: tuple[str, ...], what: str, missing: bool) -> np.ndarray:
    """Class codes from codes or class names; -1 only where missing values are allowed."""
    if isinstance(values, Tracer):
        raise ValueError(f"{what} is traced; evaluate works on the host, call it outside jit and vmap")
    raw = np.asarray(values)
    if raw.ndim != 1:
        raise ValueError(f"{what} has shape {raw.shape}; give one class for each sample")
    if raw.dtype.kind in "OUS":
        position = {name: k for k, name in enumerate(classes)}
        unknown = [i for i, v in enumerate(raw.tolist()) if str(v) not in position]
        if unknown:
            i = unknown[0]
            raise ValueError(f"{what}[{i}] is {raw.tolist()[i]!r}, not one of the classes {quoted(classes)}")
        return np.array([position[str(v)] for v in raw.tolist()], np.int32)
    if raw.dtype.kind == "b":
        raw = raw.astype(np.int32)
    bad = np.flatnonzero(~np.isfinite(raw.astype(np.float64)) | (raw != np.floor(raw)))
    if bad.size:
        raise ValueError(
            f"{what}[{bad[0]}] is {raw[bad[0]]}, not a class; give codes 0 to {len(classes) - 1}"
        )
    bad = np.flatnonzero((raw < (-1 if missing else 0)) | (raw >= len(classes)))
    if bad.size:
        allowed = f"0 to {len(classes) - 1}" + (" (or -1 for unknown)" if missing else "")
        raise ValueError(
            f"{what}[{bad[0]}] is {raw[bad[0]]}; classes are {allowed} ({bad.size} such entries)"
        )
    return raw.astype(np.int32)


def read(y_pred: Any, labels: Any, noise: Any, prior: Any, gold: Any, positive: Any) -> Inputs:
    """Check everything and build the known noise model, if one was given."""
    table = labels if isinstance(labels, Labels) else None
    if table is not None:
        num_samples, num_classes = table.num_samples, table.num_classes
        classes, log_likelihood = tuple(map(str, table.class_names)), None
    else:
        log_likelihood = _log_likelihood(labels, noise)
        num_samples, num_classes = log_likelihood.shape
        classes = tuple(str(c) for c in range(num_classes))
    y = codes(y_pred, classes, "y_pred", missing=False)
    if y.size != num_samples:
        raise ValueError(f"y_pred has {y.size} entries but there are {num_samples} samples; they must match")
    known = np.full(num_samples, -1, np.int32) if gold is None else codes(gold, classes, "gold", missing=True)
    if known.size != num_samples:
        raise ValueError(f"gold has {known.size} entries but there are {num_samples} samples (-1: unknown)")
    if prior is not None:
        prior = validate_prior(np.asarray(prior, np.float64), num_classes)
    if noise is not None:
        if not isinstance(noise, NoiseModel):
            raise ValueError(
                f"noise is a {type(noise).__name__}; give a model of jt.noise, or None to learn one"
            )
        if table is None:
            raise ValueError("noise=... needs jt.Labels; an array of log-likelihoods already contains it")
        with jax.enable_x64(True):
            log_likelihood = np.asarray(noise.log_likelihood(table), np.float64)
    tasks = table.tasks if table is not None else None
    model = None if log_likelihood is None else _known_model(log_likelihood, prior, known, tasks)
    code = _positive(positive, classes)
    return Inputs(y, table, model, known, prior, code, classes, tuple(getattr(table, "notes", ())))


def read_order(order: Any, data: Inputs) -> np.ndarray | None:
    """(samples,) finite numbers, or None."""
    if order is None:
        return None
    found = np.asarray(order)
    if found.dtype.kind == "M":
        found = found.astype("datetime64[us]").astype(np.int64)
    if found.shape != data.y_pred.shape or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ValueError(
            f"order has shape {found.shape} and dtype {found.dtype}; give one finite number or date for each "
            f"of the {data.y_pred.size} samples"
        )
    return found


def _log_likelihood(given: Any, noise: Any) -> np.ndarray:
    log_likelihood = np.asarray(given, np.float64)
    if log_likelihood.ndim != 2 or log_likelihood.shape[1] < 2:
        raise ValueError(
            f"labels is an array of shape {log_likelihood.shape}; give jt.Labels, or log p(z_i | y_i = c) of "
            "shape (samples, classes)"
        )
    if noise is not None:
        raise ValueError("labels is already a log-likelihood array, so noise has nothing to act on; give one")
    bad = np.flatnonzero(np.isnan(log_likelihood).any(1) | (log_likelihood == np.inf).any(1))
    if bad.size:
        raise ValueError(
            f"the log-likelihood of samples {some(bad)} is NaN or infinite; check the noise model"
        )
    if (log_likelihood > 1e-9).any() and np.allclose(log_likelihood.sum(1), 1):
        raise ValueError("the rows of labels sum to 1: these are probabilities; give log p(z_i | y_i = c)")
    return log_likelihood


def _known_model(log_likelihood: np.ndarray, prior: Any, gold: np.ndarray, tasks: Any) -> Model:
    check_not_contradictory(log_likelihood, tasks, prior=prior)
    check_known_labels(log_likelihood, gold, tasks)
    clamped = known_classes(log_likelihood, gold)
    if prior is not None:
        return Model(clamped, prior)
    if log_likelihood.shape[1] == 2:
        return Model(clamped, np.array([0.5, 0.5]), prior_unknown=True)
    found, converged = most_likely_prior(clamped)
    note = "the class prior was not given; the one of highest likelihood is plugged in"
    return Model(clamped, found, warnings=(note if converged else note + " (it did not converge)",))


def most_likely_prior(log_likelihood: np.ndarray, *, max_steps: int = 10_000) -> tuple[np.ndarray, bool]:
    """Class prior of highest likelihood given log p(z_i | y_i = c), by EM; and whether it converged."""
    prior = np.full(log_likelihood.shape[1], 1.0 / log_likelihood.shape[1])
    for _ in range(max_steps):
        new = softmax(log_likelihood + log(prior)[None, :], axis=1).mean(0)
        if np.abs(new - prior).max() < 1e-10:
            return new, True
        prior = new
    return prior, False


def _positive(positive: Any, classes: tuple[str, ...]) -> int:
    if isinstance(positive, str):
        if positive not in classes:
            raise ValueError(f"positive={positive!r} is not one of the classes {quoted(classes)}")
        return classes.index(positive)
    if isinstance(positive, bool) or not 0 <= int(positive) < len(classes):
        raise ValueError(f"positive={positive!r}; give a class code 0 to {len(classes) - 1}, or a class name")
    return int(positive)


def log_odds(data: Inputs, model: Model) -> np.ndarray:
    """logit p(y_i = positive | z_i), (samples,), float64; other classes are taken together."""
    return class_log_odds(model.log_likelihood, model.prior, data.positive)


def log_label_evidence(model: Model) -> float:
    """log p(z) = sum_i log sum_c prior[c] p(z_i | y_i = c)."""
    return float(np.sum(logsumexp(model.log_likelihood + log(model.prior)[None, :], axis=1)))


def warnings(data: Inputs) -> list[str]:
    """What is worth saying of the input itself."""
    out = list(data.notes)
    predicted = np.unique(data.y_pred)
    if predicted.size == 1:
        name = data.classes[predicted[0]]
        out.append(
            f"every prediction is {name!r}: metrics that need another prediction are undefined or trivial"
        )
    return out
