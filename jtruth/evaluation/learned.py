"""The noise model is not known: learn it, with the classifier as one more labeler, and plug it in."""

from typing import Any

import numpy as np

from jtruth.evaluation.inputs import Inputs, Model, clamp
from jtruth.labels import Labels
from jtruth.learning import Smoothing, fit_dawid_skene

PLUG_IN_WARNING = (
    "the labelers' error rates and the class prior were learned from these labels and plugged in: the "
    "intervals ignore their uncertainty and are too narrow"
)


def with_classifier(labels: Labels, y_pred: np.ndarray) -> Labels:
    """The labels with the classifier appended as one more labeler (the last)."""
    sample = np.concatenate([np.asarray(labels.sample), np.arange(labels.num_samples)])
    labeler = np.concatenate([np.asarray(labels.labeler), np.full(labels.num_samples, labels.num_labelers)])
    label = np.concatenate([np.asarray(labels.label), y_pred])
    sample, labeler, label = (v.astype(np.int32) for v in (sample, labeler, label))
    size = (labels.num_samples, labels.num_labelers + 1, labels.num_classes)
    return Labels(sample, labeler, label, *size, classes=labels.classes)


def is_identified(labels: Labels, gold: np.ndarray) -> bool:
    """Whether labels and predictions can determine error rates: a sample with two labels, or gold."""
    return bool((labels.labels_per_sample() >= 2).any() or (gold >= 0).any())


def learned_model(data: Inputs, method: str, key: Any) -> Model:
    """Dawid-Skene by EM (highest posterior density under weak pseudo-counts), plugged in."""
    labels = data.labels
    assert labels is not None  # a log-likelihood array is a known model
    if not is_identified(labels, data.gold):
        nothing = np.zeros((labels.num_samples, labels.num_classes))
        prior = np.full(labels.num_classes, np.nan)
        return Model(nothing, prior, identified=False)
    fit = fit_dawid_skene(
        with_classifier(labels, data.y_pred),
        gold=data.gold if (data.gold >= 0).any() else None,
        prior=data.prior,
        smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01),
    )
    matrices = fit.matrices[: labels.num_labelers]
    log_likelihood = _log_likelihood(labels, matrices)
    accuracy = np.einsum("c,tcc->t", fit.prior, matrices)
    counts = labels.labels_per_labeler()
    workers = labels.workers or tuple(range(labels.num_labelers))
    rows = [
        {"worker": str(workers[t]), "num_labels": int(counts[t]), "accuracy": float(accuracy[t])}
        for t in np.argsort(accuracy, kind="stable")
    ]
    warnings = (PLUG_IN_WARNING, *(w for w in fit.warnings if "rest on no label" not in w))
    return Model(clamp(log_likelihood, data.gold), fit.prior, warnings=warnings, labelers=tuple(rows))


def _log_likelihood(labels: Labels, matrices: np.ndarray) -> np.ndarray:
    """(58) for the learned matrices, on the host: the first answer should not wait for a compiler."""
    given = np.asarray(labels.label) >= 0
    sample, labeler, label = (np.asarray(v)[given] for v in (labels.sample, labels.labeler, labels.label))
    with np.errstate(divide="ignore"):
        log_p = np.log(matrices)[labeler, :, label]
    columns = [
        np.bincount(sample, weights=log_p[:, c], minlength=labels.num_samples)
        for c in range(labels.num_classes)
    ]
    out = np.stack(columns, 1)
    return out
