"""Error rates of one label a sample, with the probabilities of a classifier that was not trained on it.

**Confident learning** (Northcutt, Jiang and Chuang 2021). A sample is *confidently* of class c where its
probability of c reaches the threshold t_c, the mean probability of c over the samples labelled c (2); of
several such classes it is the most probable one. Counting gives

    counts[c, k]    samples labelled k that are confidently of class c                                   (1)
    joint[c, k]     counts[c, k] / sum_c counts[c, k] * (share of the labels that are k)                  (3)

and from the joint follow p(y), p(label | y), and the number of wrong labels; rows are true classes (the
paper's are labels). Where classes overlap thresholds mislead.

**The noise layer** (Sukhbaatar et al. 2015, Jindal et al. 2016, with a fixed base). If errors of labels z_i
depend on the class alone, p(z_i = k | x_i) = sum_c q_i[c] psi[c, k] with q_i[c] = p(y_i = c | x_i). The
log-likelihood is concave in psi and EM finds its maximum. Whether q fits: `slope` is the slope of the
log-likelihood in a factor of all log q, at factor 1, in units of its bootstrap error: far above 0 the
classifier is underconfident about the TRUE class, far below overconfident. A classifier that predicts the
noisy labels themselves gives psi = identity, and nothing here can detect it.

A model trained on noisy labels is underconfident about the true class, and the noise layer then finds too few
wrong labels. `sharpened` takes the power of q, 1 or more, of highest likelihood (temperature scaling: Guo et
al. 2017, here with psi free). Powers below 1 are left out, since errors of people and models are correlated.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import softmax

from jtruth._arrays import safe_log
from jtruth._host import cross_table, diagonal_rows, log, vote_shares
from jtruth._random import as_key, host_rng, seeded
from jtruth._validation.in_range import check_not_negative, check_rows, check_whole
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, check_steps, clamp, gold_and_prior
from jtruth.learning.em import algorithm as em

_JUDGED = 0.02  # share of the slope's error that must be left once psi is fitted
_POWERS, _LEAST = np.geomspace(1.0, 7.0, 10), 1e-9  # of `sharpened`; the least probability that it takes
_UNFIT = 3.0  # |slope| from which the probabilities do not fit: 27 of 10 000 that do


def confident_joint(
    probabilities: Float[np.ndarray, "samples classes"],
    label: Int[np.ndarray, " samples"],
    known: Int[np.ndarray, " samples"],
) -> dict[str, np.ndarray]:
    """Thresholds (2), confident joint (1) and its calibration (3), by name.

    "thresholds" (classes,), inf where no sample has this label; "confident" (samples,), the class a sample is
    confidently of (its `known` one, if any), -1 where none; "counts" (1) and "joint" (3) (classes, classes).
    """
    classes = probabilities.shape[1]
    number = np.bincount(label, minlength=classes)
    own = np.bincount(label, probabilities[np.arange(label.size), label], classes)
    thresholds = np.where(number > 0, own / np.maximum(number, 1), np.inf)
    # A mean of equal numbers may be rounded up past them, and a sample must not fall below itself.
    reached = probabilities >= thresholds * (1 - 64 * np.finfo(np.float64).eps)
    best = np.where(reached, probabilities, -1).argmax(axis=1)
    confident = np.where(known >= 0, known, np.where(reached.any(axis=1), best, -1))
    sure = confident >= 0
    counts = cross_table(confident[sure], label[sure], (classes, classes)).astype(np.float64)
    joint = counts * (number / number.sum() / np.maximum(counts.sum(axis=0), 1))
    return {"thresholds": thresholds, "confident": confident, "counts": counts, "joint": joint}


def one_label(
    labels: Labels, probabilities: Any, gold: Any
) -> tuple[Int[np.ndarray, " samples"], Float[np.ndarray, "samples classes"], Int[np.ndarray, " samples"]]:
    """(label, probabilities, known class or -1) of each sample, checked."""
    known, _ = gold_and_prior(labels, gold, None)
    number = labels.labels_per_sample()
    bad = np.flatnonzero(number != 1)
    if bad.size:
        raise ValueError(
            f"sample {bad[0]} has {number_of(number[bad[0]], 'label')} ({bad.size} such), but this method "
            "needs one per sample. For several labelers use fit_joint, or choose one label (select_labelers)"
        )
    shape = (labels.num_samples, labels.num_classes)
    q = np.asarray(probabilities, np.float64)
    if q.shape != shape:
        raise ValueError(f"probabilities has shape {q.shape}; it must be {shape}, samples by classes")
    check_rows(q, "probabilities", tolerance=1e-4, hint="rows must be p(y | x) of every class")
    label = labels.counts().argmax(axis=1).astype(np.int32)
    return label, q / q.sum(axis=1, keepdims=True), known.astype(np.int32)


def fit_confident(labels: Labels, probabilities: Any, *, gold: Any = None) -> Fit:
    """Confident learning for one noisy label a sample.

    Args:
        labels: exactly one label for each sample; several labelers are taken as one.
        probabilities: (samples, classes) p(y | x) of a classifier that was not fitted to these labels of
            these samples: trained elsewhere, or by cross-validation.
        gold: (samples,) known classes, -1 where unknown.

    Returns:
        `Fit`. Its prior holds the row sums of the joint, its class posterior p(y | x) p(label | y),
        normalized; its log-likelihood is NaN. Its own: `matrices` (1, classes, classes), p(label | y);
        `expected_wrong`, a number of labels; `thresholds`, `confident`, `counts`, `joint` of
        `confident_joint`.

    Raises:
        ValueError: a sample with no label or several, or rows that are no distributions.

    >>> labels = Labels.from_matrix(np.array([[0], [0], [0], [1], [1], [1]]), 2)
    >>> p = np.array([0.1, 0.2, 0.9, 0.8, 0.9, 0.7])
    >>> fit = fit_confident(labels, np.stack([1 - p, p], axis=1))
    >>> print(fit.thresholds.round(3), fit.counts.tolist(), round(fit.expected_wrong, 2))
    [0.6 0.8] [[2.0, 0.0], [1.0, 2.0]] 1.0
    """
    label, q, known = one_label(labels, probabilities, gold)
    confident = confident_joint(q, label, known)
    joint = confident["joint"]
    matrix = vote_shares(joint)  # rows of a class that no sample is confidently of are uniform
    by_label = q * matrix[:, label].T
    posterior = clamp(vote_shares(by_label), known)
    wrong = float((1 - np.trace(joint)) * label.size)
    own = {"matrices": matrix[None], "expected_wrong": wrong, **confident}
    doubts = tuple(_doubts_of_counts(confident, labels, by_label))
    return Fit(joint.sum(axis=1), posterior, float("nan"), True, 1, doubts, own)


def _doubts_of_counts(confident: Any, labels: Labels, by_label: np.ndarray) -> Any:
    names = labels.class_names
    for c in np.flatnonzero(np.isinf(confident["thresholds"])):
        yield f"No sample is labelled {names[c]!r}, so that class has no confidence threshold."
    for c in np.flatnonzero((confident["counts"].sum(axis=1) == 0) & np.isfinite(confident["thresholds"])):
        yield f"No sample is confidently of class {names[c]!r}, so its row is uniform and uninformative."
    if (none := (confident["confident"] < 0).mean()) > 0.5:
        yield f"{100 * none:.0f} % of the samples have no confident class; the counts use the others."
    if stray := int((by_label.sum(axis=1) == 0).sum()):
        what = number_of(stray, "label has", "labels have")
        yield f"{what} probability 0 under the fit, and a uniform class posterior."


def noise_layer(data: em.LongForm, settings: Any) -> em.Model:
    """The model for EM: psi (classes, classes); `settings`: q, for a prior, and pseudo-counts."""
    q, pseudo = settings
    one_hot, log_q = jax.nn.one_hot(data.label, q.shape[1], dtype=q.dtype), jnp.log(q)

    def joint(params: Any) -> Array:
        psi = jnp.maximum(params[0], jnp.finfo(q.dtype).tiny)
        return log_q + one_hot @ jnp.log(psi).T

    return em.of_probabilities(joint, (pseudo,))


def _one_each(label: np.ndarray) -> em.LongForm:
    """One label of each sample, by one labeler, as EM reads it."""
    ones, none = np.ones(label.size), np.zeros(label.size, np.int32)
    return em.LongForm(np.arange(label.size, dtype=np.int32), none, label, ones, none - 1, ones)


@partial(jax.jit, static_argnames="max_steps")
def _replicates(data, weights, start, settings, *, max_steps, tol):
    """(psi, slope, converged) of each row of weights."""

    def one(weight):
        now, prior = data._replace(weight=weight), start[1]
        end = em.maximise(noise_layer, now, start, settings, prior, max_steps=max_steps, tol=tol)
        slope = (weight[:, None] * _slopes(end.kept[0], settings[0])).sum()
        return end.params[0], slope, end.converged

    return jax.lax.map(one, weights)  # on a CPU faster than vmap and its batch of small matrices


def _slopes(posterior: Any, q: Any) -> Any:
    """(samples, classes) whose sum is the slope of the log-likelihood in the factor of all log q, at 1."""
    return (posterior - q) * safe_log(jnp.where(q > 0, q, 1))


@seeded
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
) -> Fit:
    """Error rates of one noisy label a sample, from out-of-sample probabilities of the true class.

    Args:
        labels, gold: as for `fit_confident`.
        probabilities: (samples, classes) p(y | x) of the TRUE class, out of sample for these labels.
        key: of the bootstrap; 0 if None.
        pseudo: labels added to the diagonal, and over the rest of each row; 0: maximum likelihood.
        num_bootstrap: bootstrap samples, at least 20.
        max_steps, tol: of EM.

    Returns:
        A `Fit` with `interval`; its class posterior is p(y | x, label), its log-likelihood that of the labels
        given x (and gold). Its own: `matrices` (1, classes, classes), p(label | y); `slope` in standard
        errors, NaN where labels are uninformative; `expected_wrong`, a number of labels; `row_labels`
        (classes,), expected labels behind each row; `bootstrap` (replicates, classes, classes), psi of each.

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
    check_not_negative(pseudo, "pseudo")
    check_whole(20, num_bootstrap=num_bootstrap)
    check_steps(max_steps, tol)
    q = clamp(q, known)
    added, start = diagonal_rows(classes, pseudo, pseudo), diagonal_rows(classes, 0.8, 0.2)
    rng = host_rng(as_key(key), "noise layer bootstrap")
    weights = rng.multinomial(size, np.full(size, 1 / size), num_bootstrap).astype(np.float64)
    data, steps = _one_each(label), {"max_steps": max_steps}
    settings, prior = (q, added), np.full(classes, 1 / classes)
    best = em.run(noise_layer, data, (start, prior), settings, prior, tol=tol, **steps)
    begin, (posterior, _, log_likelihood) = best.params, best.kept
    with jax.enable_x64(True):
        again = _replicates(data, weights, begin, settings, tol=max(tol, 1e-6), **steps)
        matrices, slopes, settled = map(np.asarray, again)
        each = np.asarray(_slopes(posterior, q)).sum(axis=1)
    spread, slope = float(slopes.std(ddof=1)), float(each.sum())
    judged = spread > _JUDGED * np.sqrt((each**2).sum())  # else psi fits whatever the factor is
    own = {
        "matrices": begin[0][None],
        "slope": slope / spread if judged else float("nan"),
        "expected_wrong": float((1 - posterior[np.arange(size), label]).sum()),
        "row_labels": posterior.sum(axis=0),
        "bootstrap": matrices,
    }
    converged, num_steps, shares = bool(best.converged), int(best.num_steps), posterior.mean(axis=0)
    fit = Fit(shares, posterior, float(log_likelihood), converged, num_steps, own=own)
    return fit._replace(warnings=tuple(_doubts_of_layer(fit, labels.class_names, int((~settled).sum()))))


def sharpened(labels: Labels, probabilities: Any) -> Float[np.ndarray, "samples classes"]:
    """q^t, rows summing to 1, with the t >= 1 of highest likelihood under the noise layer.

    >>> q = np.tile([[0.6, 0.4], [0.4, 0.6]], (50, 1))  # always right, and underconfident at .6
    >>> bool(sharpened(Labels.from_matrix(q.argmax(axis=1)[:, None], 2), q)[0, 0] > 0.9)
    True
    """
    label, q, _ = one_label(labels, probabilities, None)
    data, classes = _one_each(label), q.shape[1]
    added, start = diagonal_rows(classes, 1.0, 1.0), diagonal_rows(classes, 0.8, 0.2)
    even, tried = np.full(classes, 1 / classes), []
    for power in _POWERS:
        sharp = softmax(power * log(np.maximum(q, _LEAST)), axis=1)
        found = em.run(noise_layer, data, (start, even), (sharp, added), even, tol=1e-5, max_steps=500)
        tried.append((float(found.kept[2]), sharp))
    return max(tried, key=lambda one: one[0])[1]


def _doubts_of_layer(fit: Fit, names: Any, unsettled: int) -> Any:
    if not fit.converged or unsettled:
        yield f"EM did not converge ({unsettled} of {len(fit.bootstrap)} bootstrap samples); raise max_steps."
    if np.isnan(fit.slope):
        yield "These labels cannot show whether the probabilities are calibrated."
    elif abs(fit.slope) > _UNFIT:
        way, errors = ("underconfident", "few") if fit.slope > 0 else ("overconfident", "many")
        yield (
            f"The classifier is {way} (slope {fit.slope:+.1f} standard errors), so too {errors} label errors "
            "are found. Calibrate it on verified samples."
        )
    for c in np.flatnonzero(fit.row_labels < 1):
        yield f"Fewer than one sample is expected in class {names[c]!r}, so its row comes from pseudo-counts."
