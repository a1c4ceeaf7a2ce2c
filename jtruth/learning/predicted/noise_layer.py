"""The likelihood of one label a sample, given p(y | x): a noise layer on top of a classifier, by EM.

The data of confident learning (`confident`): a label z_i for each sample, and q_i[c] = p(y_i = c | x_i) of a
classifier that has not seen it. If labels err in a way that depends on the class alone,

    p(z_i = k | x_i) = sum_c q_i[c] psi[c, k],

the noise layer of Sukhbaatar et al. (2015) and Jindal et al. (2016) with its base held fixed. The
log-likelihood
is concave in psi, so EM finds its maximum: the E-step is r_i[c] proportional to q_i[c] psi[c, z_i], the
M-step counts. Nothing is thresholded: a sample halfway between two classes counts half.

Three things are said besides psi. Intervals: EM of bootstrap samples, which are weights. Whether q fits:
the slope of the log-likelihood when all log q are multiplied by a factor, at factor 1, in units of its
bootstrap error (`slope`). Far above 0 the classifier is too timid about the TRUE class, far below too sure;
psi then shows too few or too many errors. What no computation on these data can find: a classifier that was
trained to predict noisy labels, and does, explains them by psi = identity. And `against` compares the error
rates of confident learning with these, and says where thresholds mislead.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import ndtri

from jtruth._host import diagonal_rows
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning._given import clamp
from jtruth.learning.predicted.confident import one_label

_JUDGED = 0.02  # share of the slope's error that must be left once psi is fitted
_UNFIT = 3.0  # |slope| from which the probabilities do not fit: 27 of 10 000 that do


class LayerResult(NamedTuple):
    """What `noise_layer_em` returns."""

    matrix: Float[Array, "classes classes"]
    class_posterior: Float[Array, "samples classes"]
    log_likelihood: Float[Array, ""]
    slope: Float[Array, ""]  # d log-likelihood / d factor of all log q, at 1
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]

    __repr__ = one_line


class NoiseLayer(Fit):
    """Error rates of one label a sample by maximum likelihood; see `fit_noise_layer`."""

    def interval(self, level: float = 0.95) -> Float[np.ndarray, "two classes classes"]:
        """Low and high ends of psi, entry by entry: percentiles of the bootstrap."""
        return np.quantile(self.bootstrap, [(1 - level) / 2, (1 + level) / 2], axis=0)

    def against(self, matrix: Any, classes: Any = None, *, level: float = 0.99) -> tuple[str, ...]:
        """Classes whose rate of right labels in another matrix (confident learning's) is unlikely.

        Args:
            matrix: (classes, classes), rows of true classes.
            classes: names, for the sentences.
            level: probability that no class of all is named if `matrix` is right.

        Returns:
            One sentence for each class that is further off than chance, counting all classes, allows.
        """
        other, own = np.diag(np.asarray(matrix, np.float64)), np.diag(self.matrices[0])
        error = np.maximum(
            np.diagonal(self.bootstrap, axis1=1, axis2=2).std(axis=0), 1 / (self.row_labels + 2)
        )
        far = np.abs(other - own) > -ndtri((1 - level) / (2 * own.size)) * error
        names = range(own.size) if classes is None else classes
        return tuple(
            f"Thresholds mislead for class {names[c]!r}: they say that {other[c]:.1%} of its labels are "
            f"right, the likelihood {own[c]:.1%} +- {error[c]:.1%}."
            for c in np.flatnonzero(far)
        )


@partial(jax.jit, static_argnames="max_steps")
def noise_layer_em(
    probabilities: Float[Array | np.ndarray, "samples classes"],
    label: Int[Array | np.ndarray, " samples"],
    weight: Float[Array | np.ndarray, " samples"],
    start: Float[Array | np.ndarray, "classes classes"],
    pseudo: Float[Array | np.ndarray, "classes classes"],
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
) -> LayerResult:
    """EM for psi; pure, jitted, to be vmapped over weights.

    Args:
        probabilities: q; a known class is a row with a single 1.
        label: 0..C-1.
        weight: how often each sample counts.
        start: first psi, positive.
        pseudo: pseudo-counts of each row; 0 is maximum likelihood.
        max_steps: static.
        tol: done when no entry of psi moves by this much.
    """
    classes = probabilities.shape[1]
    q, label = jnp.asarray(probabilities), jnp.asarray(label, jnp.int32)
    weight = jnp.asarray(weight)[:, None]
    given = jax.nn.one_hot(
        label, classes, dtype=q.dtype
    )  # weights go with the other factor: one matrix product

    def e_step(matrix):
        joint = q * (given @ matrix.T)
        total = joint.sum(axis=1)
        return joint / jnp.where(total > 0, total, 1)[:, None], total

    def step(state):
        matrix, _, count = state
        rows = (weight * e_step(matrix)[0]).T @ given + pseudo
        total = rows.sum(axis=1, keepdims=True)
        new = jnp.where(total > 0, rows / jnp.where(total > 0, total, 1), 1 / classes)
        return new, jnp.abs(new - matrix).max(), count + 1

    state = (jnp.asarray(start), jnp.array(jnp.inf, q.dtype), jnp.array(0, jnp.int32))
    matrix, moved, count = jax.lax.while_loop(lambda s: (s[1] >= tol) & (s[2] < max_steps), step, state)
    posterior, total = e_step(matrix)
    logs = jnp.log(jnp.where(q > 0, q, 1))
    slope = (weight * (posterior - q) * logs).sum()
    log_p = jnp.where(weight[:, 0] > 0, weight[:, 0] * jnp.log(total), 0).sum()
    return LayerResult(matrix, posterior, log_p, slope, moved < tol, count)


@partial(jax.jit, static_argnames="max_steps")
def _replicates(q, label, weights, start, pseudo, *, max_steps, tol):
    """(psi, slope, converged) of each row of weights."""

    def one(weight):
        found = noise_layer_em(q, label, weight, start, pseudo, max_steps=max_steps, tol=tol)
        return found.matrix, found.slope, found.converged

    return jax.lax.map(
        one, weights
    )  # on a CPU faster than vmap, whose products have a batch of small matrices


def fit_noise_layer(
    labels: Labels,
    probabilities: Any,
    *,
    key: Any = None,
    gold: Any = None,
    pseudo: float = 1.0,
    num_bootstrap: int = 200,
    max_steps: int = 5000,
    tol: float = 1e-8,
) -> NoiseLayer:
    """Error rates of one noisy label a sample, from out-of-sample probabilities of the true class.

    Args:
        labels: exactly one label for each sample, by one labeler or by many who are taken as one.
        probabilities: (samples, classes) p(y | x) of the TRUE class by a classifier that has not seen these
            labels of these samples.
        key: of the bootstrap; 0 if None.
        gold: (samples,) known classes, -1 where unknown.
        pseudo: labels added to the diagonal, and as many spread over the rest of each row; 0 is maximum
            likelihood.
        num_bootstrap: bootstrap samples, at least 20.
        max_steps, tol: of EM.

    Returns:
        A `Fit`; its class posterior is p(y | x, label), its log-likelihood that of the labels given x (and
        gold). Its own: `matrices` (1, classes, classes), p(label | y), one for all labels; `slope` in
        standard errors, far from 0 the probabilities do not fit, NaN where labels cannot tell;
        `expected_wrong`, a number of labels; `row_labels` (classes,), expected labels behind each row;
        `bootstrap` (replicates, classes, classes), psi of each bootstrap sample.

    Raises:
        ValueError: a sample with no label or several, rows that are no distributions, options out of range.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 3000)
    >>> p = 1 / (1 + np.exp(-3 * (rng.standard_normal(3000) + 3 * y - 1.5)))  # p(y = 1 | x)
    >>> z = np.where(rng.random(3000) < np.where(y == 1, 0.05, 0.2), 1 - y, y)
    >>> q, labels = np.stack([1 - p, p], axis=1), Labels.from_matrix(z[:, None], 2)
    >>> fit = fit_noise_layer(labels, q, num_bootstrap=50)
    >>> low, high = fit.interval()
    >>> bool(low[0, 1] < 0.2 < high[0, 1]), bool(low[1, 0] < 0.05 < high[1, 0]), fit.warnings
    (True, True, ())
    """
    label, q, known = one_label(labels, probabilities, gold)
    classes, size = q.shape[1], label.size
    if not (np.isfinite(pseudo) and pseudo >= 0) or num_bootstrap < 20 or max_steps < 1 or not tol > 0:
        raise ValueError(
            f"need pseudo >= 0, num_bootstrap >= 20, max_steps >= 1, tol > 0; got {pseudo}, {num_bootstrap}, "
            f"{max_steps}, {tol}"
        )
    q = clamp(q, known)
    added, start = diagonal_rows(classes, pseudo, pseudo), diagonal_rows(classes, 0.8, 0.2)
    rng = host_rng(as_key(key), "noise layer bootstrap")
    weights = rng.multinomial(size, np.full(size, 1 / size), num_bootstrap).astype(np.float64)
    with jax.enable_x64(True):
        best = noise_layer_em(q, label, np.ones(size), start, added, max_steps=max_steps, tol=tol)
        best = jax.tree.map(np.asarray, best)
        again = _replicates(q, label, weights, best.matrix, added, max_steps=max_steps, tol=max(tol, 1e-6))
        matrices, slopes, settled = map(np.asarray, again)
    spread, slope = float(slopes.std(ddof=1)), float(best.slope)
    each = ((best.class_posterior - q) * np.log(np.where(q > 0, q, 1))).sum(axis=1)
    judged = spread > _JUDGED * np.sqrt((each**2).sum())  # else psi fits whatever the factor is
    own = {
        "matrices": best.matrix[None],
        "slope": slope / spread if judged else float("nan"),
        "expected_wrong": float((1 - best.class_posterior[np.arange(size), label]).sum()),
        "row_labels": best.class_posterior.sum(axis=0),
        "bootstrap": matrices,
    }
    fit = NoiseLayer(
        best.class_posterior.mean(axis=0),
        best.class_posterior,
        float(best.log_likelihood),
        bool(best.converged),
        int(best.num_steps),
        own=own,
    )
    return fit._replace(warnings=tuple(_doubts(fit, labels.class_names, int((~settled).sum()))))


def _doubts(fit: NoiseLayer, names: Any, unsettled: int) -> Any:
    """Sentences about what the likelihood could not settle."""
    if not fit.converged or unsettled:
        yield f"EM did not converge ({unsettled} of {len(fit.bootstrap)} bootstrap samples); raise max_steps."
    if np.isnan(fit.slope):
        yield "Whether the probabilities fit the true class cannot be told from these labels."
    elif abs(fit.slope) > _UNFIT:
        way, errors = ("timid", "few") if fit.slope > 0 else ("sure", "many")
        yield (
            f"The probabilities are too {way} about the true class (slope {fit.slope:+.1f} standard errors), "
            f"so too {errors} errors are found; calibrate the classifier on samples of known class."
        )
    for c in np.flatnonzero(fit.row_labels < 1):
        yield f"Less than one sample seems to be of class {names[c]!r}; its row comes from pseudo-counts."
    impossible = int((fit.class_posterior.sum(axis=1) < 0.5).sum())
    if impossible:
        yield f"{impossible} labels are impossible under all classes of probability above 0; give pseudo > 0."
