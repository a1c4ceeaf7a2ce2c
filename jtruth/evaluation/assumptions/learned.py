"""The noise model is not known: learn it together with everything else, the classifier as one more labeler.

`joint_model` draws class prior, error rates and true classes together, so that their uncertainty is part of
the answer; `plug_in_model` takes the most probable error rates as known, which is fast and too sure.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jtruth._host import known_classes, labels_log_likelihood, vote_shares
from jtruth._validation import present
from jtruth.evaluation.assumptions.registry import INDEPENDENT, sampled, tables_in
from jtruth.evaluation.checks.label_sets import Parameters
from jtruth.evaluation.checks.of_labels import by_number
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import worst_first
from jtruth.labels import Labels
from jtruth.latent import STANDARD, Effort
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate

# Some 30 s at most: a model that wants more says that it did not converge.
EFFORT = STANDARD._replace(max_work=6e9, max_bytes=100_000_000)

PLUG_IN_WARNING = (
    "the labelers' error rates and the class prior were learned from these labels and plugged in: the "
    "intervals ignore their uncertainty and are too narrow"
)


def joint_model(data: Inputs) -> Model:
    """The joint posterior (`jtruth.learning.joint.posterior`) of labelers, classifier and true classes.

    Where labels are missing by class (`jtruth.evaluation.checks.of_labels`) `data` says so to all other
    models.
    """
    labels, fit = data.own_labels(), labels_fit(data, EFFORT)
    if not fit.usable:
        return replace(_refused(labels, *fit.warnings), fit=fit)
    laws = [DrawsEstimate(fit.labeler_accuracy[:, t]) for t in range(labels.num_labelers)]
    accuracies = [(law.mean, *law.interval(data.level)[:2]) for law in laws]
    classifier = present(fit.classifier, "the classifier's matrix").mean(0)
    matrices = np.concatenate([fit.mean_matrices, classifier[None]])
    found = _learned(data, fit.prior.mean(0), matrices, accuracies)
    return replace(found, warnings=fit.warnings, count_draws=tables_in(fit, data), fit=fit)


def learn_shares(data: Inputs, fit: JointPosterior) -> bool:
    """Whether all models after this one learn class shares for each number of labels; says so in `data`.

    `fit` is independence with the same shares for all.
    """
    if not fit.usable or data.shares != "one" or data.prior is not None:
        return False
    data.missing = by_number(data.own_labels(), fit.class_posterior)
    return bool(data.missing)


def labels_fit(data: Inputs, effort: Effort = STANDARD) -> JointPosterior:
    """The joint posterior of independence, with class shares for each number of labels where they differ."""
    fit = sampled(data, INDEPENDENT, data.key, effort)
    return sampled(data, INDEPENDENT, data.key, effort) if learn_shares(data, fit) else fit


def plug_in_model(data: Inputs, *, unaided: bool = False) -> Model:
    """Dawid-Skene by EM (highest posterior density under weak pseudo-counts), plugged in.

    `unaided`: by the labels alone; else the classifier is one more labeler.
    """
    labels = data.own_labels()
    if not data.num_gold and not (labels.labels_per_sample() >= 2).any():
        return _refused(labels, NOT_IDENTIFIED)
    fit = fit_dawid_skene(
        labels if unaided else with_classifier(labels, data.y_pred),
        gold=data.some_gold,
        prior=data.prior,
        smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01),
    )
    matrices = fit.matrices
    if unaided:
        own = vote_shares(data.table(fit.class_posterior))
        matrices = np.concatenate([matrices, own[None]])
    accuracy = np.einsum("c,tcc->t", fit.prior, matrices[:-1])
    accuracies = [(float(mean), np.nan, np.nan) for mean in accuracy]
    warnings = (PLUG_IN_WARNING, *(w for w in fit.warnings if "rest on no label" not in w))
    return replace(_learned(data, fit.prior, matrices, accuracies), warnings=warnings)


def _learned(
    data: Inputs, prior: np.ndarray, matrices: np.ndarray, accuracies: Sequence[tuple[float, float, float]]
) -> Model:
    """The model at these matrices (raters, classes, classes), the classifier last."""
    labels = data.own_labels()
    log_likelihood = labels_log_likelihood(matrices[:-1], *labels.arrays, labels.num_samples)
    rates = Parameters(prior[None], matrices[None])
    found = worst_first(labels.workers or range(labels.num_labelers), labels.labels_per_labeler(), accuracies)
    labelers = tuple(one for _, one in found)
    return Model(known_classes(log_likelihood, data.gold), prior, labelers=labelers, rates=rates)


def _refused(labels: Labels, reason: str, *warnings: str) -> Model:
    nothing = np.zeros((labels.num_samples, labels.num_classes))
    return Model(nothing, np.full(labels.num_classes, np.nan), refusal=reason, warnings=warnings)


NOT_IDENTIFIED = (
    "not identified: with one label a sample, any error rate of the labelers fits as well as any other. "
    "Get a second and third label for some samples, or give noise=... or gold labels"
)


def with_classifier(labels: Labels, y_pred: np.ndarray) -> Labels:
    """The labels with the classifier appended as one more labeler (the last)."""
    sample = np.concatenate([np.asarray(labels.sample), np.arange(labels.num_samples)])
    labeler = np.concatenate([np.asarray(labels.labeler), np.full(labels.num_samples, labels.num_labelers)])
    label = np.concatenate([np.asarray(labels.label), y_pred])
    sample, labeler, label = (v.astype(np.int32) for v in (sample, labeler, label))
    size = (labels.num_samples, labels.num_labelers + 1, labels.num_classes)
    workers = (*labels.workers, "the classifier") if labels.workers else None
    return Labels(sample, labeler, label, *size, workers=workers, classes=labels.classes)
