"""Checks of error rates and a class prior that were given: do the labels contradict them?

Three questions. `prior_score`: would another class prior make the labels more likely (score test)?
`label_law`: do labelers use the classes, and agree with one another, as often as labels drawn from the
given model do? `classifier_dependence`: given the true class, does the classifier err where labels are
unsure, where samples are difficult, or where one labeler errs? The last simulates predictions given the
labels at hand, with the classifier's own error rates estimated anew for every simulated set.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import chdtrc

from jtruth._host import across, log, log_sum, softmax
from jtruth._random import Key, host_rng, streams
from jtruth.evaluation.checks.bootstrap import Component, largest
from jtruth.evaluation.parts import Check
from jtruth.labels import Labels
from jtruth.noise import NoiseModel

GOLD_TELLS = "find out the truth of 30 or more samples chosen at random, and compare"
PRIOR = (
    "the labels do not contradict the given class prior",
    "another class prior would make these labels far more likely. Leave prior out to have it integrated out, "
    "or look whether the samples are from elsewhere",
)
RATES = (
    "labelers use the classes and agree with one another as often as the given error rates say",
    "labelers do not use the classes and agree with one another as often as the given error rates say. Leave "
    "noise out to have them learned, or " + GOLD_TELLS,
)
CLASSIFIER = (
    "given the class, the classifier's errors do not go with it",
    "given the class, the classifier's errors go with it, so they are not independent of the labels: "
    + GOLD_TELLS,
)
ALARM = 0.05
MOST_LABELS = 500_000  # more are not simulated
_SETS = 199
_LABELS = 20_000_000  # of all simulated sets together; more labels, fewer sets
_TOGETHER = 25
_SAMPLES = 5_000  # samples that predictions are simulated for
_LEAST_SHARED = 5


def prior_score(
    log_likelihood: np.ndarray, prior: np.ndarray, times: np.ndarray | None = None
) -> tuple[float, float] | None:
    """Score statistic of the class prior, chi2 on classes - 1 degrees of freedom, and its p-value.

    Args:
        log_likelihood: (rows, classes) log p(z_i | y_i = c) of samples whose class is not known.
        prior: (classes,) all of them positive.
        times: (rows,) how many samples each row stands for; one if None.
    """
    times = np.ones(len(log_likelihood)) if times is None else times
    log_p = log_sum(log_likelihood + log(prior))[:, None]
    ratio = np.exp(log_likelihood - log_p)
    score = ratio[:, :-1] - ratio[:, -1:]
    information = score.T @ (score * times[:, None])
    values, vectors = np.linalg.eigh(information)
    alive = values > 1e-9 * max(values[-1], 1e-300)
    if len(score) == 0 or not alive.any() or values[-1] < 1e-12:
        return None  # the labels say nothing about the classes
    along = vectors[:, alive].T @ (times @ score)
    statistic = float((along**2 / values[alive]).sum())
    return statistic, float(chdtrc(int(alive.sum()), statistic))


def label_law(labels: Labels, noise: NoiseModel, prior: np.ndarray, key: Key) -> Component | None:
    """Label frequencies and agreements against those of labels drawn from the given model."""
    z = labels.to_matrix()
    mask = z >= 0
    rng = host_rng(key, "label law")
    shared = mask.T.astype(np.float64) @ mask
    pairs = np.argwhere(np.triu(shared, 1) >= _LEAST_SHARED)
    sets = [_label_statistics(z, labels.num_classes, pairs)]
    repetitions = int(np.clip(_LABELS // max(labels.num_labels, 1), 39, _SETS))
    where = jnp.asarray(mask)
    for one in streams(key, "label law", repetitions):
        y = rng.choice(prior.size, size=len(z), p=prior).astype(np.int32)
        sets.append(_label_statistics(np.asarray(_drawn(noise, one, y, where)), labels.num_classes, pairs))
    return largest(np.array(sets))


@jax.jit
def _drawn(noise: NoiseModel, key: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
    """Labels (samples, labelers); compiled as a whole, for it is called some hundred times."""
    return noise.sample(key, y, mask)


def _label_statistics(z: np.ndarray, classes: int, pairs: np.ndarray) -> np.ndarray:
    """All agreements together, how often each labeler uses each class, agreements of each pair."""
    votes = (z[:, :, None] == np.arange(classes)).astype(np.float32)
    flat = np.moveaxis(votes, 1, 0).reshape(z.shape[1], -1)
    agree = (flat @ flat.T)[pairs[:, 0], pairs[:, 1]]
    return np.concatenate([[agree.sum()], votes.sum(axis=0).ravel(), agree])


def classifier_dependence(
    log_likelihood: np.ndarray,
    prior: np.ndarray,
    y_pred: np.ndarray,
    covariates: Callable[[np.ndarray], dict[str, np.ndarray]],
    key: Key,
    alike: np.ndarray | None = None,
) -> dict[str, Component | None]:
    """Does the classifier's error, given the class, go with a covariate of the sample?

    Args:
        log_likelihood: (samples, classes).
        prior: (classes,).
        y_pred: (samples,) predicted classes.
        covariates: of samples with these numbers, by name, (covariates, samples, classes): of a sample, if
            it is of that class.
        key: JAX random key.
        alike: (samples,) number of each sample's row; samples of a row have the same log-likelihood and the
            same covariates.
    """
    rng = host_rng(key, "dependence")
    chosen = np.arange(len(y_pred))
    if len(y_pred) > _SAMPLES:
        chosen = rng.choice(len(y_pred), _SAMPLES, replace=False)
    log_likelihood, y_pred = log_likelihood[chosen], y_pred[chosen]
    first, row = np.arange(chosen.size), np.arange(chosen.size)
    if alike is not None:
        _, first, row = np.unique(alike[chosen], return_index=True, return_inverse=True)
    seen = Counted(row, prior.size, first.size * prior.size <= chosen.size)
    held = {name: values[:, seen.entries] for name, values in covariates(chosen[first]).items()}
    h = softmax(log_likelihood[first] + log(prior))
    start = np.broadcast_to(np.full(prior.size, 1 / prior.size), (1, prior.size, prior.size))
    rows = _classifier_rows(h[seen.entries], *seen.of(y_pred[None]), start, max_steps=200)
    below, rows_below = np.cumsum(h, axis=1)[row, :-1], np.cumsum(rows[0], axis=1)[:, :-1]
    sets = [_dependence(h[seen.entries], *seen.of(y_pred[None]), rows, held)]
    for k in range(0, _SETS, _TOGETHER):
        shape = (min(_TOGETHER, _SETS - k), chosen.size, 1)
        y = across(np.add, (rng.random(shape) >= below).astype(int))
        drawn = across(np.add, (rng.random(shape) >= rows_below[y]).astype(int))
        sets.append(_dependence(h[seen.entries], *seen.of(drawn), rows, held))
    return {name: largest(np.concatenate([part[name] for part in sets])) for name in held}


class Counted(NamedTuple):
    """Predictions of samples as entries: each pair of row and prediction with its number, if `merge`."""

    row: np.ndarray  # (samples,)
    classes: int
    merge: bool  # else every sample is an entry

    @property
    def entries(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.row.max() + 1), self.classes) if self.merge else self.row

    def of(self, y_pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and number of samples of the entries, (sets or 1, entries) each; of (sets, samples)."""
        if not self.merge:
            return y_pred, np.ones((1, self.row.size))
        size = self.entries.size
        code = np.arange(len(y_pred))[:, None] * size + self.row * self.classes + y_pred
        number = np.bincount(code.ravel(), minlength=len(y_pred) * size).reshape(-1, size)
        return np.arange(size)[None] % self.classes, number


def _classifier_rows(
    h: np.ndarray, y_pred: np.ndarray, times: np.ndarray, start: np.ndarray, max_steps: int = 8
) -> np.ndarray:
    """Error rates of highest likelihood, (sets, classes, classes), of predictions (sets, entries), by EM."""
    num, classes = max(len(y_pred), len(times)), h.shape[1]
    code = (np.arange(num)[:, None] * classes + y_pred).ravel()
    rows = np.broadcast_to(start, (num, classes, classes))
    for step in range(max_steps):
        p = _posterior(h, rows, y_pred) if step or max_steps < 100 else np.broadcast_to(h, (num, *h.shape))
        p = p * times[:, :, None]
        counts = [np.bincount(code, p[:, :, c].ravel(), num * classes) for c in range(classes)]
        new = np.stack(counts, axis=-1).reshape(num, classes, classes).swapaxes(1, 2) + 0.01
        new = new / new.sum(axis=2, keepdims=True)
        moved, rows = np.abs(new - rows).max(), new
        if moved < 1e-4:
            break
    return rows


def _posterior(h: np.ndarray, rows: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    """p(class | labels, prediction), (sets, samples, classes)."""
    p = h * np.ascontiguousarray(rows.swapaxes(1, 2))[np.arange(len(rows))[:, None], y_pred]
    return p / across(np.add, p)[..., None]


def _dependence(
    h: np.ndarray, y_pred: np.ndarray, times: np.ndarray, start: np.ndarray, covariates: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Sums of error residual times centred covariate, (sets, covariates * classes) for each name."""
    rows = _classifier_rows(h, y_pred, times, start)
    p, all_h = _posterior(h, rows, y_pred) * times[:, :, None], h * times[0][:, None]
    wrong = 1 - np.einsum("scc->sc", rows)
    weighted = p * ((y_pred[:, :, None] != np.arange(h.shape[1])) - wrong[:, None, :])
    out = {}
    for name, values in covariates.items():
        mean = np.einsum("nc,vnc->vc", all_h, values) / np.maximum(all_h.sum(axis=0), 1e-300)
        centred = values - mean[:, None, :]
        sums = [weighted[:, :, c] @ centred[:, :, c].T for c in range(h.shape[1])]
        out[name] = np.concatenate(sums, axis=1)
    return out


def given_checks(
    log_likelihood: np.ndarray,
    prior: np.ndarray,
    y_pred: np.ndarray,
    key: Key,
    *,
    prior_given: bool,
    labels: Labels | None = None,
    noise: NoiseModel | None = None,
    alike: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> tuple[Check, ...]:
    """Checks of given error rates (and of a given prior), where the answer takes them as known.

    Args:
        log_likelihood: (samples, classes) of the labels, without gold.
        prior: (classes,) given, or found from the labels.
        y_pred: (samples,) predicted classes.
        key: JAX random key.
        prior_given: whether to check the prior.
        labels, noise: where known, for the checks that need single labels.
        alike: a sample of each row of equal samples, the row of each sample, the number of samples of each
            row, and whether no class is known there (`Alike`); None: every sample is one, and no class known.
    """
    every = np.arange(len(y_pred))
    first, row, times, free = alike or (every, every, np.ones(every.size), np.ones(every.size, bool))
    found: list[tuple[str, float, float, str, str]] = []
    if prior_given and (prior > 0).all():
        score = prior_score(log_likelihood[first[free]], prior, times[free])
        if score is not None:
            found.append(("given prior", *score, *PRIOR))
    quiet: list[Check] = []
    if labels is not None and noise is not None:
        law = None
        if labels.num_labels <= MOST_LABELS and not labels.patterns().labels.has_repeats():
            law = label_law(labels, noise, prior, key)
        if law is None:
            text = f"not checked: over {MOST_LABELS} labels, repeated labels, or none to compare"
            quiet.append(Check("given error rates", None, None, "cannot be seen", text))
        else:
            found.append(("given error rates", law.value, law.p_value, *RATES))
    covariates = partial(_covariates, log_likelihood, prior, labels, noise)
    found_with = classifier_dependence(log_likelihood, prior, y_pred, covariates, key, row if alike else None)
    for name, one in found_with.items():
        if one is None:
            quiet.append(Check(name, None, None, "cannot be seen", "labels leave no doubt to compare with"))
        else:
            found.append((name, one.value, one.p_value, *CLASSIFIER))
    return (*_holm(found), *quiet)


def _covariates(
    log_likelihood: np.ndarray,
    prior: np.ndarray,
    labels: Labels | None,
    noise: NoiseModel | None,
    chosen: np.ndarray,
) -> dict[str, np.ndarray]:
    """What the classifier's errors are held against, (covariates, chosen samples, classes) each."""
    found = {"classifier and vote margin": softmax(log_likelihood[chosen] + log(prior))[None]}
    classes = prior.size
    if noise is not None and noise.hardness is not None:
        found["classifier and difficulty"] = np.repeat(noise.hardness[None, chosen, None], classes, axis=2)
    kinds = None if labels is None else labels.patterns()
    if kinds is not None and not kinds.labels.has_repeats() and 1 < kinds.labels.num_labelers <= 30:
        used, row = np.unique(kinds.inverse[chosen], return_inverse=True)
        z = kinds.labels.restrict(used).to_matrix()[row]
        wrong = (z[:, :, None] != np.arange(classes)) & (z >= 0)[:, :, None]
        found["classifier and single labelers"] = np.moveaxis(wrong, 1, 0).astype(np.float64)
    return found


def _holm(found: list[tuple[str, float, float, str, str]]) -> list[Check]:
    """Verdicts that hold together (Holm), in the order of `found`."""
    order = np.argsort([f[2] for f in found], kind="stable")
    worst, adjusted = 0.0, {}
    for rank, k in enumerate(order):
        worst = max(worst, min(1.0, found[k][2] * (len(found) - rank)))
        adjusted[int(k)] = worst
    checks = []
    for k, (name, statistic, p_value, fits, misfit) in enumerate(found):
        bad = adjusted[k] < ALARM
        size = f"p = {p_value:.2g}"
        if p_value < ALARM <= adjusted[k]:
            size += f", {adjusted[k]:.2g} for all checks together"
        text = f"{misfit if bad else fits} ({size})"
        checks.append(Check(name, statistic, p_value, "does not fit" if bad else "fits", text))
    return checks
