"""The command `jtruth clean` in Python: a queue of samples to check, from labels and perhaps features.

With features, a cleaning (`loop`) is begun, or continued from a state file with the answers of a gold table.
Without, the probability that each label is wrong (`issues`). Error rates that are not given are learned from
the labels; with one label a sample from out-of-sample probabilities, or from features by cross-validation.
"""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from jtruth._host import evenly, labels_log_likelihood, log
from jtruth._random import host_rng
from jtruth._validation import by_class
from jtruth._validation.words import number_of
from jtruth.answers import Column, Document, Queue, facts, how, warning_notes
from jtruth.cleaning.expected_fall import stopping_advice
from jtruth.cleaning.issues import Issues, shared_confusion, suspicious_labels
from jtruth.cleaning.learners import LinearLearner
from jtruth.cleaning.loop import answer, ask, followed, label_posterior, start
from jtruth.cleaning.state import State, read_state, write_state
from jtruth.labels import Labels
from jtruth.learning import Fit, fit_noise_layer
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.learning.methods import clamp
from jtruth.learning.predicted import sharpened
from jtruth.noise import ConfusionMatrices, DrawnMatrices, NoiseModel

_TOGETHER = 4.0  # design effect from which labels are ranked as if samples confused everybody (*)
FROM_PROBABILITIES = (
    "Error rates are learned from one label per sample and the probabilities of a model that was not trained "
    "on it, sharpened where the labels support that."
)
_AT_MEAN = "Error rates are given as draws; the queue uses their mean."
_FOLDS, _LEAST = 5, 1e-9  # of the cross-validation; probability of an error that was not seen
_ADVISED = 20  # answers that stopping advice looks ahead
_MOST_DRAWS, _LAYER_DRAWS = 200, 50  # of class posteriors

# (*) Of the crowds in benchmarks/label_issues.py five have 1.1 to 2.5, where independence ranks as well or
# better, and one, fifty labels a picture, has 7.8, where it ranks much worse: nothing lies between.
# (**) Only in the JSON: benchmarks/label_issues.py has how often its sign and its interval were right.

# Meaning of the score of a strategy; the others have a score of their own.
SCORES = {
    "risk": "expected reduction of the loss",
    "wrong_label": "P(wrong) by features",
    "sort_noise": "P(wrong) by the label",
    "uncertainty": "P(model is wrong)",
    "emi": "expected gain of accuracy",
    "emi_split": "expected gain of accuracy",
}


def begin(
    labels: Labels, rates: tuple[NoiseModel | None, Any], features: Any, *, probabilities: Any = None,
    costs: Any = None, strategy: str | None = None, level: float = 0.95, seed: int = 0,
) -> tuple[State, tuple[str, ...], Issues | None]:  # fmt: skip
    """Start a cleaning with features: its state, notes on error rates, and the number of wrong labels.

    `rates` (noise, prior) are learned if the noise is None; `probabilities` (samples, classes) are
    out-of-sample p(y | features) for the expected answers; `costs` have shape (samples, 1). `strategy` None
    is "risk", or "wrong_label" with one label a sample and learned rates. Only then wrong labels are counted,
    with an interval of probability `level`.
    """
    (noise, prior), found = rates, None
    if noise is None and (labels.labels_per_sample() == 1).all():
        if probabilities is None:
            probabilities = crossed_probabilities(features, labels, seed)
        found, prior, notes, known = counted_by(labels, probabilities, seed, level)
        notes = (*notes, found.caution)
        strategy = strategy or "wrong_label"
    else:
        known, prior, notes = _rates(labels, noise, prior, seed)
        strategy = strategy or "risk"
    held_out = 1 / 3 if "split" in strategy or strategy == "masked_tars" else 0.0
    price = None if costs is None else np.asarray(costs)[:, 0]
    options = {"validation": held_out, "costs": price, "probabilities": probabilities}
    return start(features, labels, known, prior, strategy=strategy, seed=seed, **options), notes, found


def queue(
    state: State,
    budget: int,
    *,
    gold: Any = None,
    path: str | Path | None = None,
    notes: tuple[str, ...] = (),
    wrong: Issues | None = None,
) -> Document:
    """The next samples to check of a cleaning, begun or continued.

    `gold` (samples,) are answers to what was asked, -1 elsewhere; the state is kept in the file `path`, which
    is read if it exists. `wrong` is the number of wrong labels at the start.
    """
    if path is not None and Path(path).exists():
        state = read_state(path, state)
    if gold is not None:  # only what was asked for is taken, the rest is refused
        named = zip(state.task_names, gold, strict=True)
        state = answer(state, {task: int(label) for task, label in named if label >= 0})
    elif not state.trail:
        state = followed(state, None)
    num_open = int(state.open.sum())
    if budget > num_open:
        raise ValueError(f"--budget {budget} exceeds the {num_open} samples left to ask for")
    request = ask(state, budget)
    if path is not None:
        write_state(path, request.state)
    rows = [
        {"task": task, "reason": reason, "score": float(score)}
        for task, reason, score in zip(request.tasks, request.reasons, request.scores, strict=True)
    ]
    advice = stopping_advice(state, min(_ADVISED, num_open), key=state.seed, effects=request.effects)
    forecast = {k: v for k, v in asdict(advice).items() if k not in ("worth_it", "sentence")}  # (**)
    counted = {} if wrong is None else {"expected_wrong": wrong.expected, "interval": list(wrong.interval)}
    accuracy, what = state.trail[-1][1], SCORES.get(state.strategy, "score")
    columns = (Column("score", what, form=".3g"), Column("reason", "why"))
    blocks = (
        Queue("queue", "Tasks to check, in order", "task", columns, rows),
        warning_notes((*notes, *state.doubts)),
        how(("strategy", state.strategy), ("estimated accuracy on these samples", f"{accuracy:.3f}")),
        facts(strategy=state.strategy, num_answers=len(state.answers), estimated_accuracy=accuracy,
              score_is=what, advice=forecast, **counted),
    )  # fmt: skip
    about = f"{number_of(len(rows), 'task')} to check, {number_of(len(state.answers), 'answer')} so far"
    first = f"Check these {number_of(len(rows), 'task')} in this order."
    if wrong is not None:
        first = f"{wrong.sentence} {first}"
    return Document("Which labels should an expert check?", about, first, blocks)


def believed(state: State, wrong: Issues | None = None) -> Float[np.ndarray, "samples classes"]:
    """Class probabilities of each sample, by all labels if they were judged; certain if verified."""
    known = np.full(len(state.x), -1)
    known[[i for i, _ in state.answers]] = [label for _, label in state.answers]
    return clamp(label_posterior(state) if wrong is None else wrong.class_posterior, known)


def crossed_probabilities(features: Any, labels: Labels, seed: int) -> np.ndarray:
    """(samples, classes) probabilities of cross-fitted logistic regression, with rates from a first fit."""
    label_of = labels.counts().argmax(axis=1)
    x = np.asarray(features, np.float64)
    mixed = host_rng(seed, "folds of cleaning").permutation(label_of.size)
    fold = np.empty(label_of.size, np.int64)
    fold[mixed[np.argsort(label_of[mixed], kind="stable")]] = np.arange(label_of.size) % _FOLDS
    first = _out_of_fold(LinearLearner("labels"), x, np.eye(labels.num_classes)[label_of], fold)
    rates = np.asarray(fit_noise_layer(labels, first, key=seed, num_bootstrap=20).matrices[0])
    return _out_of_fold(LinearLearner("ml"), x, log(np.maximum(rates, _LEAST))[:, label_of].T, fold)


def _out_of_fold(learner: LinearLearner, x: Any, evidence: Any, fold: np.ndarray) -> np.ndarray:
    """(samples, classes) probabilities of models that each saw all folds but the sample's."""
    p = np.empty(evidence.shape)
    for k in range(_FOLDS):
        model = learner.fit(x, evidence, fold != k)[0]
        p[fold == k] = learner.probabilities(model, x[fold == k])
    return p


def counted_by(
    labels: Labels, probabilities: Any, seed: int, level: float = 0.95
) -> tuple[Issues, Any, tuple[str, ...], ConfusionMatrices]:
    """Wrong labels with one label a sample by a model's probabilities; prior, notes, error rates."""
    posterior, prior, notes, sharp, matrix = _by_layer(labels, probabilities, seed)
    found = suspicious_labels(labels, posterior, probabilities=sharp, prior=prior, level=level, key=seed)
    rates = np.repeat(np.asarray(matrix, np.float64), labels.num_labelers, axis=0)  # one for all labelers
    return found, prior, notes, ConfusionMatrices(rates)


def _by_layer(labels: Labels, probabilities: Any, seed: int) -> tuple[Any, Any, tuple[str, ...], Any, Any]:
    """With one label a sample: class posterior, prior, notes, sharpened probabilities, and the matrix."""
    sharp = sharpened(labels, probabilities)
    layer = fit_noise_layer(labels, sharp, key=seed)
    notes = (FROM_PROBABILITIES, *layer.warnings)
    return layer_draws(labels, layer), layer.prior, notes, sharp, layer.matrices


def _rates(labels: Labels, noise: Any, prior: Any, seed: int) -> tuple[Any, Any, tuple[str, ...]]:
    if noise is not None:
        prior = noise.mean_prior if prior is None else prior
        if prior is None:
            raise ValueError("known error rates need the class prior too: --prior, or in the noise file")
        prior = by_class(prior, labels.class_names)
        drawn = isinstance(noise, DrawnMatrices)
        return (noise.mean, prior, (_AT_MEAN,)) if drawn else (noise, prior, ())
    fit = fit_joint(labels, key=seed)
    if not fit.usable:
        raise ValueError(
            "the labelers' error rates cannot be learned (too few labels per sample): give --noise, or run "
            "`jtruth labelers` with --gold first"
        )
    notes = (*fit.warnings, "Error rates are learned from the labels, and used as known in the queue.")
    return ConfusionMatrices(fit.mean_matrices.astype(np.float64)), fit.prior.mean(axis=0), notes


def suggestions(
    labels: Labels, posterior: Float[np.ndarray, "samples classes"], order: Iterable[tuple[int, int]],
    rows: Iterable[tuple[int, int]],
) -> list[tuple[str, float | None, int | None]]:  # fmt: skip
    """Suggested class of each row of a table, its probability, and the rank of the row in the queue.

    Args:
        labels, posterior: the labels, and the class probabilities.
        order: (sample, labeler) of the labels to check, the first first; labeler -1: of the sample.
        rows: the same of each row of the table; sample -1: no suggestion.
    """
    place: dict[tuple[int, int], int] = {}
    for k, (i, t) in enumerate(order):
        place.setdefault((i, t), k)
        place.setdefault((i, -1), k)
    rows = list(rows)
    ranks = {k: n for n, k in enumerate(sorted({place[row] for row in rows if row in place}), 1)}
    best, names = posterior.argmax(axis=1).tolist(), tuple(map(str, labels.class_names))
    return [
        (names[best[row[0]]], float(posterior[row[0], best[row[0]]]), ranks.get(place.get(row, -1)))
        if row[0] >= 0 else ("", None, None) for row in rows
    ]  # fmt: skip


def issues(
    labels: Labels, noise: NoiseModel | None, prior: Any, *, probabilities: Any = None, gold: Any = None,
    level: float = 0.95, seed: int = 0,
) -> tuple[Issues, tuple[str, ...]]:  # fmt: skip
    """Every label, the most suspicious first, and notes; arguments as in `begin` and `suspicious_labels`."""
    posterior, shares, notes, probabilities = _class_posteriors(labels, noise, prior, probabilities, seed)
    features = {} if probabilities is None else {"probabilities": probabilities, "prior": shares}
    return suspicious_labels(labels, posterior, gold=gold, level=level, key=seed, **features), notes


def _class_posteriors(
    labels: Labels, noise: Any, prior: Any, probabilities: Any, seed: int
) -> tuple[Any, Any, tuple[str, ...], Any]:
    """Class posteriors (draws, or several assumptions), prior, notes, and probabilities."""
    if noise is not None:
        known, shares, _ = _rates(labels, noise, prior, seed)
        drawn = [(model, pi if prior is None else shares) for model, pi in noise.models(_LAYER_DRAWS)]
        p = np.stack([
            softmax(np.asarray(model.log_likelihood(labels), np.float64) + log(np.asarray(pi))[None], axis=1)
            for model, pi in drawn or [(known, shares)]
        ])  # fmt: skip
        return p if drawn else p[0], np.asarray(shares, np.float64), (), probabilities
    if (labels.labels_per_sample() == 1).all():
        if probabilities is None:
            raise ValueError("one label per sample cannot show errors: give --predictions or --noise")
        return _by_layer(labels, probabilities, seed)[:4]
    alone = fit_joint(labels, key=seed)
    if not alone.usable:
        raise ValueError("these labels cannot show errors: give --predictions or --noise")
    together = shared_confusion(labels, key=seed)
    posteriors = {
        "independent": posterior_draws(labels, alone),
        "labeler_strata": fit_joint(labels, key=seed, dependence="labeler_strata").class_posterior,
        "shared_confusion": together.draws,
    }
    effect = together.design_effect(labels.label.size / labels.num_samples)
    if effect < _TOGETHER:
        return posteriors, alone.prior.mean(axis=0), (), probabilities
    note = f"Errors on one sample are dependent ({effect:.1f} labels are worth one independent label): "
    first = {"shared_confusion": posteriors.pop("shared_confusion")}
    return first | posteriors, together.prior, (note + "ranked by 'shared_confusion'",), probabilities


def posterior_draws(labels: Labels, fit: JointPosterior) -> Float[np.ndarray, "draws samples classes"]:
    """Class posteriors under the draws of error rates and prior of a `fit_joint`, at most 200 of them.

    Raises:
        ValueError: a fit of dependent labelers, whose rates depend on strata; use its `class_posterior`.
    """
    if fit.dependence != "independent":
        raise ValueError(
            f"this fit is {fit.dependence!r}; give its class_posterior together with that of 'independent', "
            "as a mapping of assumptions"
        )
    matrices, draw = (evenly([column], _MOST_DRAWS) for column in (fit.matrices, fit.matrix_draw))
    log_p = labels_log_likelihood(matrices.astype(np.float64), *labels.arrays, labels.num_samples)
    return softmax(log_p + log(fit.prior[draw])[:, None, :], axis=2)


def layer_draws(labels: Labels, fit: Fit) -> Float[np.ndarray, "draws samples classes"]:
    """Class posteriors given each sample's one label alone, under 50 bootstrap samples of the fit."""
    label = labels.counts().argmax(axis=1)
    rows = fit.prior[None, :, None] * fit.bootstrap[:_LAYER_DRAWS]
    draws = rows[:, :, label].swapaxes(1, 2)
    return draws / draws.sum(axis=2, keepdims=True)
