"""Checks of the arguments of training functions, on the host before JAX runs."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from jtruth._arrays import AnyArray, as_array, is_concrete
from jtruth._one_line import one_line
from jtruth._validation import in_range as check
from jtruth._validation import some
from jtruth.labels import Labels, must_be_labels
from jtruth.noise.confusion_matrices import check_matrices as of_labelers
from jtruth.posterior import check_not_contradictory, validate_prior


class Stop(NamedTuple):
    """When an iteration ends."""

    max_steps: int = 1000
    tol: Any = (
        None  # for entries of the gradient (L-BFGS) or changes of responsibilities (EM); None: sqrt(eps)
    )

    def checked(self, dtype: Any, least: int = 1) -> "Stop":
        """The same with a tolerance; ValueError for invalid numbers."""
        check.check_whole(least, max_steps=self.max_steps)
        if self.tol is None:
            return self._replace(tol=float(np.sqrt(jax.numpy.finfo(dtype).eps)))
        check.check_not_negative(self.tol, "tol")
        return self


class ModelFit(NamedTuple):
    """A trained model and its solver's results. Under `vmap` every field has the mapped axis in front."""

    model: Any
    objective: Any  # J(theta), regulariser included; of `fit` the value of the best epoch; NaN of `fit_mbem`
    converged: Any
    num_steps: Any
    class_posterior: Float[AnyArray, "*mapped samples classes"] | None = None  # responsibilities
    path: Any = None  # J after each step of EM, of all starts of linear models, or mean costs of the epochs
    prior: Float[AnyArray, " classes"] | None = None  # of `fit_gaussians` and `fit_mbem`
    matrices: Float[AnyArray, "labelers classes classes"] | None = None  # of `fit_raykar` and `fit_mbem`
    y_pred: Int[np.ndarray, " samples"] | None = None  # predictions of the model of `fit_mbem`
    validation: Any = None  # of `fit`: value on the validation samples after each epoch; NaN without them
    best_epoch: Any = None  # from 0; -1 if no value was finite (the model is the start)
    mode: Any = None  # of `fit_bayes`: the MAP estimate, where the chains start; `model` are draws
    run: Any = None  # of `fit_bayes`: a `jtruth.latent.infer.nuts.NutsRun`

    __repr__ = one_line


def as_features(x: Any) -> jax.Array:
    """Features as a floating (samples, features) array; NaN and infinity are refused by row and column."""
    if not is_concrete(x):
        return x
    values = np.asarray(x)
    check.check_features(values)
    return as_array(x if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64))


def check_evidence(x: Any, log_likelihood: Any, prior: Any = None) -> Any:
    """Check that `log_likelihood` has a possible row for each sample; the prior of its classes."""
    check.check_shape(log_likelihood, "log_likelihood", "samples classes", samples=np.shape(x)[0])
    prior = check_per_class({"log_likelihood": log_likelihood}, prior=prior)
    if is_concrete((log_likelihood, prior)):
        check_not_contradictory(log_likelihood, prior=prior)
    return prior


def check_per_class(rows: dict[str, Any], *, prior: Any = None, where: Any = None) -> Any:
    """Check arrays (samples, classes) of one shape without NaN, a prior, and a mask of the samples.

    Shapes are checked under jit as well, values where they are concrete, except rows left out by `where`.
    Returns the prior in the order of the classes.
    """
    sizes: dict[str, int] = {}
    for name, values in rows.items():
        shape = check.check_shape(values, name, "samples classes", **sizes)
        sizes = {"samples": shape[0], "classes": shape[1]}
    kind = None if where is None else where.dtype if hasattr(where, "dtype") else np.asarray(where).dtype
    if where is not None and (np.shape(where) != shape[:1] or np.dtype(kind).kind != "b"):
        raise ValueError(
            f"where has shape {np.shape(where)} and dtype {kind}; it must be ({shape[0]},) booleans, True "
            "for samples to use"
        )
    used = slice(None) if where is None else np.asarray(where, bool) if is_concrete(where) else slice(0)
    for name, values in rows.items():
        if is_concrete(values):
            bad = np.flatnonzero(np.isnan(np.asarray(values, np.float64)[used]).any(axis=1))
            if bad.size:
                raise ValueError(f"{name} holds NaN in {bad.size} row(s) ({some(bad)})")
    return prior if prior is None or not is_concrete(prior) else validate_prior(prior, shape[1])


def check_outputs(outputs: Any, axes: tuple[int, ...] = (1, 2)) -> None:
    """Check scores (samples,) or logits (samples, classes), as `axes` allows, without NaN."""
    shape = np.shape(outputs)
    if len(shape) not in axes or 0 in shape or (len(shape) == 2 and shape[1] < 2):
        wanted = {1: "scores (samples,)", 2: "logits (samples, classes) of 2 or more classes"}
        raise ValueError(f"outputs have shape {shape}; give {' or '.join(wanted[a] for a in axes)}")
    check.check_no_nan(outputs, "outputs")


def check_matrices(matrices: Any, num_classes: int | None = None, *, symbols: bool = False) -> None:
    """Check p(label | class) of every labeler, (labelers, classes, classes or `symbols`)."""
    shape = of_labelers(matrices, "matrices", symbols=symbols).shape
    if num_classes not in (None, shape[1]) or not shape[0]:
        columns = "symbols" if symbols else num_classes
        raise ValueError(f"matrices have shape {shape}; they must be (labelers, {num_classes}, {columns})")


def as_labels(labels: Any, x: Any = None) -> Labels:
    """Check that `labels` are `Labels`, of as many samples as there are features."""
    labels = must_be_labels(labels)
    if x is not None:
        check.check_shape(x, "x", "samples features", samples=labels.num_samples)
    return labels


def check_posterior(posterior: Any, where: Any = None) -> None:
    """Check rows of class probabilities, which sum to 1 within the rounding of their dtype."""
    check_per_class({"posterior": posterior}, where=where)
    if not is_concrete((posterior, where)):
        return
    used = slice(None) if where is None else np.asarray(where, bool)
    hint = "rows are class probabilities, see jtruth.class_posterior"
    check.check_rows(np.asarray(posterior)[used], "posterior", 1e-4, hint)
