"""Models that are trained on the labels while they are cleaned: one interface for two kinds of learners.

A learner turns labels into *evidence* (one row for each sample) and evidence into a model:

    "labels"  one-hot rows at the consolidated labels: noise ignored, as in the paper
    "mmse"    class posteriors: the risk (40) of Su, known error rates
    "ml"      log p(labels | class): the likelihood (32) of Su

A sample that an oracle has cleaned is a certain row in all three.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from jtruth._host import log
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth.training import Linear, linear_objective, solve_linear
from jtruth.training.linear import check_options, zero_start

KINDS = ("labels", "mmse", "ml")


class Learner(ABC):
    """Interface for training on evidence, (samples, classes), of the samples where `where` is True."""

    kind: str

    @abstractmethod
    def fit(self, x: Any, evidence: Any, where: Any, start: Any = None) -> tuple[Any, bool]:
        """Train a model; also returns whether training converged."""

    @abstractmethod
    def probabilities(self, model: Any, x: Any) -> Float[np.ndarray, "samples classes"]:
        """p(class | features) of the model."""

    def evidence(self, log_likelihood: Any, prior: Any, label: Any) -> Float[np.ndarray, "samples classes"]:
        """Evidence of this kind of learner; `log_likelihood` includes the oracle's answers."""
        if self.kind == "labels":
            return np.eye(prior.size)[label]
        return log_likelihood if self.kind == "ml" else softmax(log_likelihood + log(prior)[None], axis=1)

    def retrain(
        self, model: Any, x: Any, evidence: Any, where: Any, rows: Int[np.ndarray, " copies"], new: Any
    ) -> list[Any]:
        """Models of copies of the data in which row rows[k] is new[k]; here one after the other."""
        models = []
        for row, row_evidence in zip(rows, new, strict=True):
            copy = np.array(evidence)
            copy[row] = row_evidence
            models.append(self.fit(x, copy, where, model)[0])
        return models

    def predictions(self, models: Any, x: Any) -> Int[np.ndarray, "copies samples"]:
        """Most probable classes by each of the models of `retrain`."""
        return np.stack([self.probabilities(model, x).argmax(axis=1) for model in models])

    def sample_loss(self, model: Any, x: Any, evidence: Any) -> Any:
        """Loss of one sample, differentiable in the model."""
        raise ValueError(
            f"{type(self).__name__} has no derivatives, which strategy 'risk' and stopping advice need; use "
            "LinearLearner, or another strategy"
        )

    def penalty(self, model: Any, num_samples: Any) -> Any:
        """Penalty of the objective, in the units of `standard`."""
        return 0.0

    def standard(self, model: Any, x: Any) -> tuple[Any, Any]:
        """The same model and features in the units of the objective."""
        return model, x


@dataclass(frozen=True)
class LinearLearner(Learner):
    """Logistic regression (softmax for more classes) with penalty lambda/(2N) times the squared weights.

    Weights are penalised per standard deviation of their feature, so predictions do not depend on units;
    models hold weights in the original units.
    """

    kind: str = "ml"
    regularisation: float = 1.0

    def __post_init__(self) -> None:
        choose("kind", self.kind, KINDS)

    def fit(self, x: Any, evidence: Any, where: Any, start: Any = None) -> tuple[Any, bool]:
        """L-BFGS from `start` (0 if None), up to a gradient of 1e-6."""
        regularisation, objective, loss = self._options(evidence)
        centre, sd = units(x)
        with jax.enable_x64(True):
            first = in_units(as_linear(start, x, evidence), -centre / sd, 1 / sd)
            x, evidence, where = arrays((x - centre) / sd, evidence, where)
            weight = jnp.asarray(regularisation, jnp.float64)
            solved = solve_linear(x, evidence, weight, first, objective=objective, loss=loss, where=where)
        return in_units(solved.model, centre, sd), bool(solved.converged)

    def standard(self, model: Any, x: Any) -> tuple[Any, Any]:
        """Features in standard deviations from their means, and the model of these."""
        centre, sd = units(x)
        return in_units(model, -centre / sd, 1 / sd), (x - centre) / sd

    def retrain(self, model: Any, x: Any, evidence: Any, where: Any, rows: Any, new: Any) -> Any:
        """All copies at once (see `retrain`); a copy that does not converge keeps its last step."""
        used, place = np.flatnonzero(where), np.cumsum(where) - 1  # held-out samples cost nothing
        start, standard = self.standard(model, np.asarray(x, np.float64))
        with jax.enable_x64(True):
            start = as_linear(start, x, evidence)
            data = arrays(standard[used], np.asarray(evidence)[used], np.ones(used.size, bool))
            models, _ = retrain(data, start, place[rows], new, *self._options(evidence))
        centre_sd = units(x)
        each = [in_units(Linear(*one), *centre_sd) for one in zip(*models, strict=True)]
        return Linear(*(np.stack(part) for part in zip(*each, strict=True)))

    def probabilities(self, model: Any, x: Any) -> Float[np.ndarray, "samples classes"]:
        """Sigmoid or softmax of the scores."""
        scores = np.asarray(x) @ np.asarray(model.weights) + np.asarray(model.intercept)
        return softmax(np.stack([np.zeros_like(scores), scores], 1) if scores.ndim == 1 else scores, axis=1)

    def predictions(self, models: Any, x: Any) -> Int[np.ndarray, "copies samples"]:
        """Most probable classes by each of stacked models."""
        scores = np.einsum("nd,kd...->kn...", x, np.asarray(models.weights))
        scores = scores + np.asarray(models.intercept)[:, None]
        return (scores > 0).astype(np.int64) if scores.ndim == 2 else scores.argmax(axis=2)

    def sample_loss(self, model: Any, x: Any, evidence: Any) -> Any:
        """(40) or (32) of one sample."""
        objective, loss = self._options(evidence[None])[1:]
        return linear_objective(model, x[None], evidence[None], jnp.zeros((), x.dtype), objective=objective,
                                loss=loss)  # fmt: skip

    def penalty(self, model: Any, num_samples: Any) -> Any:
        """lambda / (2N) times the squared weights."""
        return self.regularisation * (model.weights**2).sum() / (2 * num_samples)

    def _options(self, evidence: Any) -> tuple[float, str, str]:
        objective = "ml" if self.kind == "ml" else "mmse"
        return self.regularisation, objective, check_options(objective, None, np.shape(evidence)[1])


@dataclass(frozen=True)
class SklearnLearner(Learner):
    """A scikit-learn classifier with `sample_weight`: each sample once for each class, weighted by evidence.

    Retraining is a loop on the host: an EMI step over N candidates is N fits.
    """

    estimator: Any
    kind: str = "mmse"

    __repr__ = one_line

    def __post_init__(self) -> None:
        choose("kind", self.kind, ("labels", "mmse"))

    def fit(self, x: Any, evidence: Any, where: Any, start: Any = None) -> tuple[Any, bool]:
        """Fit a clone of the estimator; it has not converged if it warns so."""
        import warnings

        from sklearn.base import clone
        from sklearn.exceptions import ConvergenceWarning

        x, weight = np.asarray(x)[where], np.asarray(evidence)[where]
        classes = np.repeat(np.arange(weight.shape[1]), len(x))
        rows, weight = np.tile(x, (weight.shape[1], 1)), weight.T.ravel()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            fresh: Any = clone(self.estimator)
            if not (weight.reshape(-1, len(x)) > 0).any(axis=1).all():
                raise ValueError("a class has no sample to learn from: train with kind 'mmse'")
            model = fresh.fit(rows[weight > 0], classes[weight > 0], sample_weight=weight[weight > 0])
        return model, not any(issubclass(w.category, ConvergenceWarning) for w in caught)

    def probabilities(self, model: Any, x: Any) -> Float[np.ndarray, "samples classes"]:
        """`predict_proba`, or the predictions if there is none."""
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(x), np.float64)
        return np.eye(len(model.classes_))[model.predict(x)]


_CONSTANT = 1e-10  # of its size a feature varies less than this: it is constant
_SETTLED = 1e-8  # the gradient at which a retraining ends
_FEW, _MANY = 6, 12  # most steps with one Hessian, and then most with new ones
_BLOCK = 64  # copies that are retrained at a time
_HALVINGS = 0.5 ** np.arange(8)
_LEVEL = 1e-13  # differences of the objective (of order 1) that are rounding


def arrays(x: Any, evidence: Any, where: Bool[np.ndarray, " samples"]) -> tuple[Any, Any, Any]:
    """Features, evidence (both float64) and mask of the used samples, on the device."""
    return jnp.asarray(x, jnp.float64), jnp.asarray(evidence, jnp.float64), jnp.asarray(where)


def units(x: Any) -> tuple[Float[np.ndarray, " features"], Float[np.ndarray, " features"]]:
    """Mean and standard deviation of each feature; 1 if all values are equal up to rounding."""
    x = np.asarray(x, np.float64)
    top = np.abs(x).max(axis=0, initial=0.0)
    top = np.where(top > 0, top, 1.0)
    sd = (x / top).std(axis=0)
    return top * (x / top).mean(axis=0), np.where(sd > _CONSTANT, top * sd, 1.0)


def in_units(model: Any, centre: np.ndarray, sd: np.ndarray) -> Linear:
    """A model of (x - centre) / sd as the model of x."""
    weights = (np.asarray(model.weights).T / sd).T
    return Linear(np.asarray(model.intercept) - centre @ weights, weights)


def as_linear(start: Any, x: Any, evidence: Any) -> Linear:
    """The model to start from, in float64."""
    if start is not None:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), start)
    classes = np.shape(evidence)[1]
    return zero_start(jnp.asarray(x, jnp.float64), classes, check_options("mmse", None, classes))


def retrain(data, start, rows, new, *options):
    """Fit every copy of `data`, see `arrays`, by Newton's method: (stacked models, largest gradients).

    One row of N changes little, so the Hessian at the start serves all steps: the error shrinks by about 1/N
    a step. If that is not enough (an outlier changes its class) the copy starts again, with a new Hessian at
    every step. Copies, in which row rows[k] has evidence new[k], are processed in blocks of 64, the last
    padded, because each size is compiled.
    """
    models, slopes = _padded(False, data, start, rows, new, options)
    left = np.flatnonzero(~(slopes <= _SETTLED))
    if left.size:
        models[left], slopes[left] = _padded(True, data, start, rows[left], new[left], options)
    unravel = ravel_pytree(start)[1]
    return jax.tree.map(np.asarray, jax.vmap(unravel)(jnp.asarray(models))), slopes


def _padded(often, data, start, rows, new, options):
    """(flat models, largest gradients) in blocks of 64, or one of a power of two for fewer."""
    size = min(_BLOCK, 1 << (len(rows) - 1).bit_length())
    filled = np.resize(np.arange(len(rows)), (-(-len(rows) // size), size))
    blocks = [(jnp.asarray(rows[block], jnp.int32), jnp.asarray(new[block], jnp.float64)) for block in filled]
    parts = [_newton(data, start, *row, *options, often) for row in blocks]
    flat, slope = (np.concatenate(column)[: len(rows)] for column in zip(*parts, strict=True))
    return flat, np.abs(slope).max(axis=1)


def _inverse(hessian, change, theta, rows, new):
    # Intercepts of a softmax are known up to a constant: H is singular there, and the gradient 0.
    of_change = jax.vmap(jax.hessian(change))(theta, rows, new)
    return jnp.linalg.inv(hessian + of_change + 1e-6 * jnp.eye(theta.shape[1], dtype=theta.dtype)[None])


@partial(jax.jit, static_argnames=("objective", "loss", "often"))
def _newton(data, start, rows, new, regularisation, objective, loss, often):
    """(flat models, gradients) by steps with the first Hessian; or (`often`) with new ones and halving."""
    (x, evidence, where), (flat, unravel) = data, ravel_pytree(start)
    count, options = where.sum().astype(x.dtype), {"objective": objective, "loss": loss}

    def cost(theta):
        return linear_objective(unravel(theta), x, evidence, regularisation, where=where, **options)

    def change(theta, row, row_evidence):  # what one changed row adds to the objective
        old, new = (
            linear_objective(unravel(theta), x[row][None], e[None], jnp.zeros_like(count), **options)
            for e in (evidence[row], row_evidence)
        )
        return (new - old) / count

    copies = jnp.repeat(flat[None], rows.size, axis=0)
    first = None if often else _inverse(jax.hessian(cost)(flat)[None], change, copies, rows, new)

    def value(theta, row, row_evidence):
        return cost(theta) + change(theta, row, row_evidence)

    def halved(theta, move, row, row_evidence):
        """The longest of the move, its half, quarter, ... that does not lead up."""
        tried = theta[None] - jnp.outer(_HALVINGS, move)
        level = value(theta, row, row_evidence) + _LEVEL
        values = jax.vmap(value, in_axes=(0, None, None))(tried, row, row_evidence)
        falls = values <= level
        first = tried[jnp.argmax(falls)]  # or the full move at the minimum, where none does
        return jnp.where(falls.any() | jnp.isfinite(values[0]), first, theta)

    def step(state):
        theta, slope, number = state
        inverse = first
        if inverse is None:
            inverse = _inverse(jax.vmap(jax.hessian(cost))(theta), change, theta, rows, new)
        move = jnp.einsum("kp,kpq->kq", slope, inverse)
        theta = jax.vmap(halved)(theta, move, rows, new) if often else theta - move
        slope = jax.vmap(jax.grad(value))(theta, rows, new)
        return theta, slope, number + 1

    def unsettled(state):
        return ~(jnp.abs(state[1]).max() <= _SETTLED) & (state[2] < (_MANY if often else _FEW))

    slope = jax.grad(cost)(flat)[None] + jax.vmap(jax.grad(change))(copies, rows, new)
    return jax.lax.while_loop(unsettled, step, (copies, slope, jnp.zeros((), jnp.int32)))[:2]
