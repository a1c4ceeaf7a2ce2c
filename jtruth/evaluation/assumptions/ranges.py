"""Fits under several assumptions: the base models of predictive results, and what-if rows.

A model is left out, with a warning, if its classes have exchanged names, if the data are too large for it, or
if its chains disagree (R-hat of 1.1 or more, or fewer than 50 effective draws). One that only misses the
stricter standard of `EFFORT` stays, with a warning. Chains that disagree stay if no other model is left, and
for labelers and class shares (`keep_all`), where they cover better.

The majority vote for a labeler is that of the others, ties broken at random (`benchmarks/kinds.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from jtruth._host import cross_table, known_classes, labels_log_likelihood, majority, vote_shares
from jtruth._random import Key, host_rng
from jtruth._validation import present
from jtruth.evaluation import parts
from jtruth.evaluation.assumptions.model_error import OVERALL, dists_of
from jtruth.evaluation.assumptions.registry import INDEPENDENT, Entry, asked, entries, sampled, tables_in
from jtruth.evaluation.checks.label_sets import with_classifier
from jtruth.evaluation.checks.of_labels import by_number
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.inputs import Progress as Report
from jtruth.labels import Labels
from jtruth.latent import STANDARD, Effort, Progress, TooLarge
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.joint.posterior import JointPosterior, with_rows
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.loo import LeaveOneOut, psis_loo, sum_and_error
from jtruth.tables.new_samples import new_share
from jtruth.tables.posterior import estimates

LEFT_OUT = "Model {!r} is left out: {}"

# An end may have a standard error of a twentieth of the interval. Some 15 s a member, at most.
EFFORT = Effort(max_rhat=1.02, min_ess=300, max_work=3e9, max_bytes=50_000_000, ends=True, nuisance=False)
# Of independence, if it is the answer: some 30 s at most.
ANSWER_EFFORT = STANDARD._replace(max_work=6e9, max_bytes=100_000_000)
_WORST_RHAT, _FEWEST_DRAWS = 1.1, 50.0
_DRAWS = 1000  # of the majority vote, whose only randomness is in ties
PLUG_IN_WARNING = (
    "The intervals are too narrow: error rates and class prior were estimated from these labels, and their "
    "uncertainty is ignored."
)
NOT_IDENTIFIED = (
    "Not identified: with one label per sample, all error rates fit equally well. Collect a second and third "
    "label for some samples, or give noise=... or gold labels."
)


def members(
    entries: Sequence[Entry],
    data: Inputs,
    key: Key,
    *,
    known: Mapping[str, JointPosterior] | None = None,
    pointwise: bool = False,
    keep_all: bool = False,
) -> tuple[list[parts.Assumption], list[str]]:
    """Fit these entries of the table; returns their results, and a warning for each that is left out.

    `known` are existing fits by name; `pointwise` makes new fits comparable by `loo_of`; with `keep_all`
    models stay whose chains disagree. If a new fit of independent errors finds labels missing by class, it
    and all later models have class shares for each number of labels.
    """
    answers, doubts = [], []
    for k, entry in enumerate(() if data.own_labels().num_labels == 0 else entries):
        part = replace(data, progress=data.progress and partial(_part, data.progress, k, len(entries)))
        fit = (known or {}).get(entry.name)
        counts = None if fit is None else tables_in(fit, data)
        if fit is None:
            effort = EFFORT._replace(give_up=not entry.last_resort, pointwise=pointwise)
            try:
                counts, fit = entry.fit(part, key, effort)
                if entry.name == INDEPENDENT and fit is not None and learn_shares(data, fit):
                    doubts += [check.message for check in data.missing]
                    counts, fit = entry.fit(replace(part, missing=data.missing), key, effort)
            except TooLarge as error:
                doubts.append(LEFT_OUT.format(entry.name, error))
                continue
        if counts is None or not (fit is None or fit.usable):
            reason = fit.warnings[0] if fit is not None and fit.warnings else "it has no count tables"
            doubts.append(LEFT_OUT.format(entry.name, reason))
            continue
        sentence = entry.sentence if data.num_symbols > 1 else entry.of_labelers or entry.sentence
        answers.append(parts.Assumption(entry.name, sentence, posterior=data.tables(counts), fit=fit))
    # Models are left out whose chains disagree, unless no other is left; all warnings are kept.
    models = [member for member in answers if member.fit is not None]
    leave = {member.name for member in models if not keep_all and _disagree(member.fit)}
    if len(leave) == len(models):
        leave = set()
    for member in models:
        for text in member.fit.warnings:
            left = LEFT_OUT.format(member.name, text)
            doubts.append(left if member.name in leave else f"model {member.name!r}: {text}")
    return [member for member in answers if member.name not in leave], doubts


def base_models(data: Inputs, key: Key, **options: Any) -> tuple[list[parts.Assumption], list[str]]:
    """The base models of predictive distributions, and warnings; `options` as for `members`."""
    return members([entry for entry in entries(data) if entry.base], data, key, **options)


def _disagree(fit: JointPosterior) -> bool:
    """Whether chains are too far from convergence for an interval (NaN: no variation)."""
    rhat, ess = (list(values.values()) for values in (fit.convergence.rhat, fit.convergence.ess))
    worst = np.nan_to_num(rhat, nan=1.0).max(initial=1.0) >= _WORST_RHAT
    return bool(worst or np.nan_to_num(ess, nan=np.inf).min(initial=np.inf) < _FEWEST_DRAWS)


def _part(progress: Report, k: int, number: int, done: int, planned: int) -> None:
    progress(k * planned + done, number * planned)


def row(member: parts.Assumption, data: Inputs, loo: Mapping[str, float] | None = None) -> parts.Assumption:
    """A model as a row of the result, with its metrics."""
    table = data.about(member.posterior)
    metrics = estimates(table, *data.answered, more=data.more)
    return member._replace(metrics=metrics, posterior=table, loo=loo, fit=None)


def loo_of(members: list[parts.Assumption]) -> list[Mapping[str, float] | None]:
    """PSIS-LOO of every fitted model, with differences to the first of them."""
    rows: list[Mapping[str, float] | None] = []
    first: LeaveOneOut | None = None
    for pointwise in (None if member.fit is None else member.fit.pointwise for member in members):
        if pointwise is None:
            rows.append(None)
            continue
        loo = psis_loo(pointwise.log_p, pointwise.relative_ess, pointwise.row_of_sample)
        first = first or loo
        gap, error = sum_and_error(loo.pointwise - first.pointwise)
        rows.append({"elpd": loo.elpd, "difference": gap, "difference_se": error, "num_bad": loo.num_bad})
    return rows


def what_if(data: Inputs, model: Model) -> tuple[tuple[parts.Assumption, ...], tuple[str, ...]]:
    """Rows of all listed assumptions, and warnings; fitted once for all targets, and kept in the input."""
    if "fits" not in data.what_if:
        with Progress(data.progress).reporting() as tell:  # one bar for all fits, also where a picture asks
            own = replace(data, normal=False, progress=tell)
            if model.fit is None or data.normal or data.missing:
                fit = sampled(own, INDEPENDENT, data.key, ANSWER_EFFORT._replace(pointwise=True))
            else:
                fit = with_rows(model.fit, own.own_labels(), **asked(own))
            listed = [entry for entry in entries(data) if entry.listed]
            answers, doubts = members(listed, own, data.key, known={INDEPENDENT: fit}, pointwise=True)
        data.what_if["fits"] = list(zip(answers, loo_of(answers), strict=True)), tuple(doubts)
    if data.target not in data.what_if:
        fits, doubts = data.what_if["fits"]
        data.what_if[data.target] = tuple(row(member, data, loo) for member, loo in fits), doubts
    return data.what_if[data.target]


def joint_model(data: Inputs) -> Model:
    """Joint posterior of labelers, classifier and classes; sets `data.missing`."""
    labels = data.own_labels()
    if data.only_gold:
        shares = np.bincount(data.gold[data.gold >= 0], minlength=labels.num_classes) + 0.5
        nothing = np.zeros((labels.num_samples, labels.num_classes))
        return Model(known_classes(nothing, data.gold), shares / shares.sum())
    fit = labels_fit(data, ANSWER_EFFORT)
    if not fit.usable:
        return replace(_refused(labels, fit.warnings[0]), warnings=fit.warnings[1:], fit=fit)
    accuracies = parts.means_and_ends(map(DrawsEstimate, fit.labeler_accuracy.T), data.level)
    classifier = present(fit.classifier, "the classifier's matrix").mean(0)
    matrices = np.concatenate([fit.mean_matrices, classifier[None]])
    model = _learned(data, fit.prior.mean(0), matrices, accuracies)
    return replace(model, warnings=fit.warnings, count_draws=tables_in(fit, data), fit=fit)


def learn_shares(data: Inputs, fit: JointPosterior) -> bool:
    """Whether class shares depend on the number of labels, by independence (`fit`); sets `data.missing`."""
    if not fit.usable or data.missing or data.prior is not None:
        return False
    data.missing = by_number(data.own_labels(), fit.class_posterior)
    return bool(data.missing)


def labels_fit(data: Inputs, effort: Effort = STANDARD) -> JointPosterior:
    """Joint posterior of independent errors, with class shares for each number of labels if they differ."""
    fit = sampled(data, INDEPENDENT, data.key, effort)
    return sampled(data, INDEPENDENT, data.key, effort) if learn_shares(data, fit) else fit


def plug_in_model(data: Inputs, *, unaided: bool = False) -> Model:
    """Dawid-Skene by EM, plugged in; `unaided` by the labels alone, else with the classifier as a labeler."""
    labels = data.own_labels()
    if not data.num_gold and not (labels.labels_per_sample() >= 2).any():
        return _refused(labels, NOT_IDENTIFIED)
    raters = labels if unaided else with_classifier(labels, data.y_pred)
    weak = Smoothing(diagonal=0.01, off_diagonal=0.01)
    fit = fit_dawid_skene(raters, gold=data.some_gold, prior=data.prior, smoothing=weak)
    matrices = fit.matrices
    if unaided:
        classifier = vote_shares(data.table(fit.class_posterior))
        matrices = np.concatenate([matrices, classifier[None]])
    accuracy = np.einsum("c,tcc->t", fit.prior, matrices[:-1])
    accuracies = [(float(mean), np.nan, np.nan) for mean in accuracy]
    warnings = (PLUG_IN_WARNING, *(w for w in fit.warnings if "have no label: " not in w))
    return replace(_learned(data, fit.prior, matrices, accuracies), warnings=warnings)


def _learned(
    data: Inputs, prior: np.ndarray, matrices: np.ndarray, accuracies: Sequence[tuple[float, float, float]]
) -> Model:
    """Label model at these matrices (raters, classes, classes), the classifier last."""
    labels = data.own_labels()
    log_likelihood = labels_log_likelihood(matrices[:-1], *labels.arrays, labels.num_samples)
    labelers = parts.worst_first(labels.worker_names, labels.labels_per_labeler(), accuracies)
    return Model(known_classes(log_likelihood, data.gold), prior, labelers=labelers, matrices=matrices)


def _refused(labels: Labels, reason: str) -> Model:
    nothing = np.zeros((labels.num_samples, labels.num_classes))
    return Model(nothing, np.full(labels.num_classes, np.nan), refusal=reason)


Draws = Float[np.ndarray, "draws labelers"]


def labeler_draws(members: Sequence[parts.Assumption], labels: Labels, key: Key) -> dict[str, Draws]:
    """Draws of the share of each labeler's labels that are right, by model; NaN without labels."""
    number = labels.labels_per_labeler()
    number = np.where(number > 0, number, np.nan)
    draws = {}
    for member in members:
        if member.fit is not None and member.fit.right is not None:
            draws[member.name] = member.fit.right / number
        elif member.fit is None:
            draws[member.name] = others_vote(labels, host_rng(key, "majority of the others"))
    return draws


def others_vote(labels: Labels, rng: np.random.Generator) -> Draws:
    """Share of each labeler's labels that agree with the majority of the others, if there is one."""
    (sample, labeler, label), votes = labels.entries(), labels.counts()
    if labels.has_repeats():
        pair, place = np.unique(sample * labels.num_labelers + labeler, return_inverse=True)
        others = votes[sample] - cross_table(place, label, (pair.size, labels.num_classes))[place]
        own, at = label, np.arange(label.size)
    else:  # the same for all labels of one class on a sample
        row, own = np.nonzero(votes)
        others, place = votes[row], np.zeros(votes.shape, np.int64)
        others[np.arange(own.size), own] -= 1
        place[row, own] = np.arange(own.size)
        at = place[sample, label]
    chance, compared = majority(others)[np.arange(own.size), own], others.any(axis=1)
    values = np.unique(chance[compared])
    kind = np.where(compared, np.searchsorted(values, chance), values.size)
    times = cross_table(labeler, kind[at], (labels.num_labelers, values.size + 1))[:, :-1].astype(np.int64)
    number, total = times.sum(axis=1), np.zeros((_DRAWS, labels.num_labelers))
    for p, of in zip(values, times.T, strict=True):
        total += rng.binomial(of, p, (_DRAWS, of.size))
    return total / np.where(number > 0, number, np.nan)


def about_labelers(dists: Sequence[Estimate], labels: Labels, target: str) -> list[Estimate]:
    """Shares of right labels, among the labels given or among new ones."""
    sizes = labels.labels_per_labeler().tolist() if target == parts.POPULATION else [0] * len(dists)
    return [new_share(dist, size) for dist, size in zip(dists, sizes, strict=True)]


def labeler_dists(draws: Mapping[str, Draws], labels: Labels, labelers_are: str) -> list[DrawsEstimate]:
    """Predictive posterior of each labeler's accuracy, by draws of estimates; NaN if there are none."""
    sizes = np.maximum(labels.labels_per_labeler(), 1).astype(np.float64)
    return dists_of(draws, OVERALL, labelers_are, sizes)
