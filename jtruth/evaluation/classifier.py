"""`evaluate`: predictions and noisy labels in, posteriors of the classifier's metrics out.

Three situations. The noise model is given (or the log-likelihood array itself): the exact posterior. The
noise model is given but the class prior is not: the prior is integrated out (two classes). Neither is given:
both are learned from the labels, and unless somebody vouches for an assumption the answer is predictive
(`model_error`): what models of the labels say, widened by how far they were off on other data.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Array

from jtruth._random import stream
from jtruth._validation import present
from jtruth.evaluation import answers, inputs, methods
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import PredictiveTable, rests_on
from jtruth.evaluation.assumptions.ranges import (
    joint_model,
    labeler_draws,
    labeler_laws,
    plug_in_model,
    readings_of,
)
from jtruth.evaluation.assumptions.registry import INDEPENDENT, check_assume, entries, granted
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.of_labels import REFUSED, all_refused
from jtruth.evaluation.checks.prior_sensitivity import known_noise_check, prior_check, vouched_check
from jtruth.evaluation.checks.verdicts import checks_of
from jtruth.evaluation.gold.answer import gold_answer
from jtruth.evaluation.inputs import Inputs, Judging, Model, Progress
from jtruth.evaluation.labeler_report import behaviour_of
from jtruth.evaluation.parts import PREDICTIVE, Assumption
from jtruth.evaluation.result import Evaluation
from jtruth.inspection import Finding, suspicions
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.posterior import estimates, thinned
from jtruth.testing.methods import Tested


def evaluate(
    y_pred: Any,
    labels: Labels | np.ndarray | Array,
    *,
    noise: Any = None,
    prior: Sequence[float] | np.ndarray | None = None,
    gold: Any = None,
    assume: str | None = None,
    labelers_are: str | None = None,
    method: str = "bayes",
    positive: int | str | None = None,
    order: Any = None,
    target: str | None = None,
    level: float = 0.95,
    key: Any = None,
    progress: Progress | None = None,
) -> Evaluation:
    """How good is a classifier, judged by noisy labels?

    Args:
        y_pred: (samples,) predicted classes, as class names, or as codes 0..C-1 where their order is known. A
            Series, dict or frame with task ids is matched by them; a plain sequence is in the order of the
            samples (`labels.tasks`). The same holds for `gold` and `order`.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        noise: a noise model (`jt.noise...`) of known parameters; learned from the labels if None.
        prior: (classes,) class prior. If None and the noise is given, it is integrated out (uniform prior).
        gold: (samples,) known classes, -1 where unknown. With learned error rates and assume "unknown" they
            say what the labels are worth (`jtruth.evaluation.gold.tables`); else they are clamped.
            Gold that is not a random sample of all is a `jtruth.io.Gold`, as `read_gold_sample` reads it.
        assume: what classifier and labelers share given the class: "unknown" (None means the same), as much
            as on public data sets; "independent", nothing; "shared_difficulty", hard samples;
            "partly_shared", an unknown part of them (four or more labels a sample).
            Only with learned error rates and method "bayes" ("laplace": "unknown" or "independent"); other
            answers take errors as independent.
        labelers_are: "people", "experts", "llm_judges" (automatic metrics too) or None, who labels: where
            nobody vouches for an assumption and there is no gold it says how far models of labels may be off.
        method: "bayes" (exact posterior), "empirical_bayes", "sampling", "exact_means", "labels",
            "no_predictions", "prior_marginal" (see `jtruth.testing`), "laplace" (learned error rates, whose
            posterior is taken as normal around its mode where "bayes" would sample), "majority_vote",
            "plug_in" (learned error rates taken as known), "smyth" (classes by EM taken as true), or
            "tars" (unbiased counts with confidence intervals for the population; error rates and prior
            given).
        positive: code or name of the positive class, whose precision, recall and so on are meant; class 1
            if None. Of more than two classes: where it is given, "empirical_bayes", "sampling",
            "exact_means", "labels", "no_predictions" and "prior_marginal" test this class against all others
            and say so, accuracy too; else, and by the other methods always, the full table is tested.
        order: (samples,) when each sample was labelled, on any scale; adds a check for raters who change.
        target: "in-sample" (the default, but for "tars") or "population", see `jtruth.evaluation.methods`.
        level: probability of the printed intervals.
        key: of whatever is drawn at random: a whole number or a JAX key; 0 if None.
        progress: called with (sweeps done, sweeps planned) while learned error rates are sampled.

    Returns:
        An `Evaluation`; print it.

    Raises:
        ValueError: unusable input, naming what and where.

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> result = jt.evaluate([1, 0, 1, 0, 1, 0], labels, noise=noise, prior=[0.5, 0.5])
    >>> round(result.accuracy.mean, 3)
    0.961
    """
    check_assume(assume)
    methods.check_method(method)
    how = Judging(
        noise=noise, prior=prior, gold=gold, assume=assume if method in methods.LEARNING else INDEPENDENT,
        labelers_are=labelers_are, level=level, key=key, progress=progress,
    )  # fmt: skip
    data = inputs.read_judged("evaluate", y_pred, labels, how, positive)
    when = inputs.read_order(order, data)
    learned = data.model is None and method in methods.LEARNING
    if method == methods.LAPLACE:
        methods.check_laplace(data)
        data.normal = True
    data.target = methods.target_of(target, method, data)
    found = _learned(data) if learned else _known(data, method)
    checks = (*look_at(data, {"": data.y_pred}), *checks_of(data, found.model, when))
    if found.kind == PREDICTIVE and all_refused(checks):  # no model's what-if means anything then
        said = (REFUSED, *found.answer.warnings)
        found = found._replace(what_if=answers.WhatIf(), answer=found.answer._replace(warnings=said))
    return _evaluation(data, method, when, found._replace(checks=(*checks, *found.checks)))


def _learned(data: Inputs) -> answers.Found:
    """Error rates are learned: gold, a predictive law, or what somebody vouches for."""
    pooled = data.open and data.num_gold > 0
    unaided = data.without_gold() if pooled else data
    model = joint_model(unaided)
    fit, answered = model.fit, model.refusal is None
    if pooled:
        data.missing = unaided.missing
        if not answered:  # labels alone say nothing of labelers, or exchange classes; gold names them
            model = joint_model(data)
        return gold_answer(data, model, present(fit, "the joint posterior"))
    if data.open and fit is not None and fit.identified:
        found = _over_assumptions(data, fit, model)
    elif answered and data.assume != INDEPENDENT:  # what the joint posterior itself answers
        return _vouched(data, model)
    else:
        found = answers.Found(methods.answer_by(data, model, data.key), model, model.labelers)
    return found._replace(checks=prior_check(data, fit)) if answered else found


def _known(data: Inputs, method: str) -> answers.Found:
    """Error rates are given, or taken as known once they are learned."""
    model = data.model
    if model is None:
        if method == methods.TARS:
            raise ValueError("method='tars' takes error rates as known: give noise=... and prior=[...]")
        model = methods.smyth_model(data) if method == methods.SMYTH else plug_in_model(data)
    if method == methods.TARS:
        return answers.Found(methods.tars_answer(data, model), model, model.labelers, methods.TARS_KIND)
    answer = methods.answer_by(data, model, data.key, method)
    checks = known_noise_check(answer, answers.headline_of(data), data.level)
    return answers.Found(answer, model, model.labelers, checks=checks)


def _evaluation(data: Inputs, method: str, order: np.ndarray | None, found: answers.Found) -> Evaluation:
    """Everything that was found, under its public names."""
    answer, model = found.answer, found.model
    metrics = estimates(answer.table, answer.classes, answer.positive)
    said = (*model.warnings, *inputs.warnings(data), *answer.warnings)
    if method != methods.TARS:  # its unbiased counts are not kept to [0, 1]
        said += answers.beyond_shares(metrics, data.level)
    learned = model.fit is not None and data.assume == INDEPENDENT
    sentence = granted(INDEPENDENT, learned=learned) + (methods.TARS_TARGET if method == methods.TARS else "")
    alone = Assumption(INDEPENDENT, sentence, metrics, None, answer.table)
    return Evaluation(
        method=method, target=data.target, level=data.level, interval_kind=found.kind, key=data.stated,
        metrics=metrics, posterior=answer.table, cells=answer.table.cells(data.level),
        num_samples=data.y_pred.size, num_labelers=data.samples.num_labelers,
        num_labels=data.samples.num_labels, num_gold=data.num_gold, classes=answer.classes,
        positive=data.classes[data.positive], headline=answers.headline_of(data),
        prior=answers.prior_of(data, model, answer.classes), labelers=found.labelers,
        baselines={"majority_vote": answers.vote_metrics(data, answer)} if data.labels is not None else {},
        what_if=found.what_if or answers.WhatIf([alone]), checks=found.checks,
        warnings=tuple(dict.fromkeys(said)), advice=found.advice, fit=answer.fit, basis=(data, model),
        log_evidence=methods.log_evidence_of(answer, model, data), suspicious=_odd_things(data, model, order),
        rests_on=rests_on(data.labelers_are) if found.kind == PREDICTIVE else "",
    )  # fmt: skip


def _odd_things(data: Inputs, model: Model, order: np.ndarray | None) -> tuple[Finding, ...]:
    """What is odd in the labels that judge a classifier: who changed (with an order), and all counts."""
    if data.labels is None:
        return ()
    odd = suspicions(data.labels)
    if order is None or model.rates is None:
        return odd
    matrices = model.rates.matrices[0][:-1]
    _, found = behaviour_of(data.labels, model.rates.prior[0], matrices, order, data.some_gold)
    return (*(one for one in found if one.name == "drift"), *odd)


def _vouched(data: Inputs, model: Model) -> answers.Found:
    """Somebody vouches for an assumption: one law, of equally many draws of every model that makes it."""
    assume = str(data.assume)
    some = [entry for entry in entries(data) if entry.group == assume]
    found, doubts = ranges.members(some, data, data.key)
    if not found:
        none = answers.of_nothing(data, "bayes")._replace(warnings=tuple(doubts))
        return answers.Found(none, model, (), what_if=answers.WhatIf())
    pooled = thinned([one.posterior for one in found])
    answer = Tested("bayes", pooled, None, float("nan"), tuple(doubts), *answers.names_of(data))
    laws = estimates(answer.table, *answers.names_of(data))
    one = Assumption(assume, granted(assume, learned=True), laws, None, answer.table)
    key = stream(data.key, "vouched labelers")
    draws = list(labeler_draws(found, data.own_labels(), data.target, key).values())
    size = min(map(len, draws))
    alike = np.concatenate([part[np.linspace(0, len(part) - 1, size).astype(int)] for part in draws])
    labelers = answers.labelers_of(data, [DrawsEstimate(column) for column in alike.T])
    return answers.Found(
        answer, model, labelers, what_if=answers.WhatIf([one]), checks=vouched_check(found, data)
    )


def _over_assumptions(data: Inputs, fit: JointPosterior, model: Model) -> answers.Found:
    """Nobody vouches for anything: readings of the labels, widened by what such readings missed elsewhere.

    `fit` is that of independence. If no model has an answer there is none, whatever the votes say.
    """
    some = [entry for entry in entries(data) if entry.reading]
    found, doubts = ranges.members(some, data, data.key, known={INDEPENDENT: fit})
    later = answers.WhatIf(make=partial(ranges.what_if, replace(data, normal=False)))
    if all(member.fit is None for member in found) and len(later.rows) == len(found):
        none = answers.of_nothing(data, "bayes")._replace(warnings=tuple(doubts))
        return answers.Found(none, model, (), PREDICTIVE, answers.WhatIf())
    table = PredictiveTable(readings_of(found), data.labelers_are)
    answer = Tested("bayes", table, None, float("nan"), (ranges.ONLY_GOLD, *doubts), *answers.names_of(data))
    labels = data.own_labels()
    draws = labeler_draws(found, labels, data.target, stream(data.key, "labelers of a range"))
    labelers = answers.labelers_of(data, labeler_laws(draws, labels, data.labelers_are))
    return answers.Found(answer, model, labelers, PREDICTIVE, later)
