"""`evaluate`: posteriors of a classifier's metrics from predictions and noisy labels.

With a noise model (or the log-likelihood array) the posterior is exact; an unknown prior of two classes is
integrated out. Without one, error rates and prior are learned, and the result is predictive (`model_error`)
unless an assumption is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jtruth._host import evenly, log
from jtruth._random import seeded, stream
from jtruth._validation import present
from jtruth.evaluation import by_draws, calibrated, inputs, methods, one_judge
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import PredictiveTable, width_assumption
from jtruth.evaluation.assumptions.registry import INDEPENDENT, assumption_of, check_assume, entries
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.label_sets import with_classifier
from jtruth.evaluation.checks.of_labels import REFUSED, all_refused
from jtruth.evaluation.checks.prior_sensitivity import known_noise_check, prior_check, vouched_check
from jtruth.evaluation.checks.verdicts import checks_of
from jtruth.evaluation.gold import tables as by_gold
from jtruth.evaluation.habits import behaviour_of
from jtruth.evaluation.inputs import Inputs, Judging, Model, Progress
from jtruth.evaluation.parts import ONLY_GOLD, PREDICTIVE, Assumption, means_and_ends, worst_first
from jtruth.evaluation.result import Evaluation
from jtruth.inspection import suspicions
from jtruth.labels import Labels, matrix_labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import default_metrics, named_metric
from jtruth.tables.posterior import estimates, thinned
from jtruth.testing.methods import Tested


@seeded
def evaluate(
    y_pred: Any,
    labels: Any = None,
    *,
    classes: Sequence | None = None,
    noise: Any = None,
    prior: Sequence[float] | np.ndarray | None = None,
    gold: Any = None,
    calibration: Any = None,
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
    """Estimate the metrics of a classifier from noisy labels.

    Args:
        y_pred: (samples,) predicted classes, as class names, or as codes 0..C-1 if their order is known. A
            Series, dict or frame with task ids is matched by them; a plain sequence is in the order of the
            samples (`labels.tasks`). The same holds for `gold` and `order`.
        labels: `Labels`; a plain label matrix (samples, labelers) of class names or codes, with -1 or NaN for
            gaps; or the array log p(z_i | y_i = c) of shape (samples, classes). None if there are only
            verified classes (`gold`). Or draws of a model of the labels, whose uncertainty is included: a
            NumPyro MCMC that has run a function like those of `jt.models`, the result of `fit_nuts`, or a
            dict (a tree of ArviZ) with "class_posterior", p(class | labels) of shape (draws, samples,
            classes).
        classes: names of the classes of a plain label matrix, in the order of their codes.
        noise: a noise model (`jt.noise...`) with known parameters; learned from the labels if None.
        prior: (classes,) class prior. If None and the noise is given, it is integrated out (uniform prior).
        gold: (samples,) known classes, -1 where unknown. With learned error rates and assume "unknown" they
            correct the labels (`jtruth.evaluation.gold.tables`); else they are clamped. Gold that is not a
            simple random sample is a `jtruth.io.Gold`, as `read_gold_sample` reads it.
        calibration: (labels, gold) of other items, or the result of `jtruth.io.read`. Labelers' error rates
            come from there, and the classifier is assumed to err independently of them given the class.
        assume: errors that classifier and labelers share given the class. "unknown" (or None): as many as on
            public data sets; "independent": none; "shared_difficulty": hard samples; "partly_shared": an
            unknown part of them (needs four or more labels a sample). The last two need learned error rates
            and method "bayes".
        labelers_are: the kind of labelers. "people" narrows intervals if no assumption is named and there is
            no gold (with gold: of labelers with fewer than five verified labels); "experts", "llm_judges"
            (also automatic metrics) and None give the same result.
        method: "bayes" (exact posterior), "empirical_bayes", "sampling", "exact_means", "labels",
            "no_predictions", "prior_marginal" (see `jtruth.testing`), "laplace" (Gaussian approximation of
            the posterior of learned error rates), "majority_vote", "plug_in" (learned error rates used as
            known), "smyth" (classes by EM used as true), or "tars" (unbiased counts with confidence intervals
            for the population, by known error rates and prior). "laplace", "plug_in" and "smyth" learn error
            rates and refuse given ones.
        positive: code or name of the positive class. If None: the class that its name suggests (disease, of
            disease and healthy), class 1 of classes without names or in a given order, else the rarer one;
            the result says which. With more than two classes and `positive` given, the methods
            "empirical_bayes", "sampling", "exact_means", "labels", "no_predictions" and "prior_marginal" test
            this class against all others, accuracy included; otherwise the full table is tested.
        order: (samples,) time of each label, on any scale; adds a check for raters that change.
        target: "population", new samples of the same kind, or "in-sample", these samples. If None, the first,
            except for the methods "labels", "majority_vote" and "smyth", which give no uncertainty.
        level: probability of the printed intervals.
        key: seed of all random draws: a whole number or a JAX key; 0 if None. Also `random_state=`.
        progress: called with (sweeps done, sweeps planned) while learned error rates are sampled.

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
    if classes is not None and isinstance(labels, Labels):
        raise ValueError("classes names the classes of a plain label matrix; these Labels have their own")
    labels = matrix_labels(labels, classes)
    if calibration is not None:
        labels, calibration = calibrated.together(
            labels, calibration, noise=noise, prior=prior, gold=gold, assume=assume, order=order,
            method=None if method == "bayes" else method,
        )  # fmt: skip
    if by_draws.holds_draws(labels):
        more = {"noise": noise, "prior": prior, "gold": gold, "order": order, "classes": classes}
        given = [name for name, value in more.items() if value is not None]
        given += [f"assume={assume!r}"] * (assume not in (None, INDEPENDENT))
        if given or method != "bayes":
            raise ValueError(by_draws.ALONE.format(" and ".join(given or [f"method={method!r}"])))
        how = Judging(assume=INDEPENDENT, labelers_are=labelers_are, level=level, key=key)
        return _by_draws(y_pred, by_draws.read_draws(labels), how, positive, target)
    how = Judging(
        noise=noise, prior=prior, gold=gold, assume=assume if method in methods.LEARNING else INDEPENDENT,
        labelers_are=labelers_are, level=level, key=key, progress=progress,
    )  # fmt: skip
    data = inputs.read_judged("evaluate", y_pred, labels, how, positive)
    when = inputs.read_order(order, data)
    learned = data.model is None and method in methods.LEARNING
    methods.check_combination(method, assume, data)
    data.normal = method == methods.LAPLACE
    data.target = methods.target_of(target, method)
    if calibration is not None:
        return _by_calibration(data, calibration)
    result = _learned(data) if learned else _known(data, method)
    model = present(result.basis, "what the answer rests on")[1]
    checks = (*look_at(data, {"": data.y_pred}), *(() if data.only_gold else checks_of(data, model)))
    if result.interval_kind == PREDICTIVE and all_refused(checks):  # no model's what-if means anything then
        result = replace(result, what_if=(), warnings=(REFUSED, *result.warnings))
    odd = () if data.labels is None or data.only_gold else suspicions(data.labels)
    if data.labels is not None and when is not None and model.matrices is not None:  # who changed
        raters = with_classifier(data.labels, data.y_pred)
        _, likely, changed = behaviour_of(raters, model.prior, model.matrices, data, when, judged=True)
        odd, checks = (*(one for one in likely if one.name == "drift"), *odd), (*checks, *changed)
    return replace(result, method=method, checks=(*checks, *result.checks), suspicious=odd)


def _answer(
    data: Inputs, answer: Tested, model: Model, labelers: Sequence[Estimate] | None = None, *,
    unbiased: bool = False, **more: Any,
) -> Evaluation:  # fmt: skip
    """Build the `Evaluation`; `labelers` are posteriors of accuracies, `unbiased` counts may leave [0, 1]."""
    about = answer.table if unbiased else data.about(answer.table)
    named = answer.classes, answer.positive, data.more
    metrics = estimates(about, *named)
    warnings = (*model.warnings, *inputs.warnings(data), *answer.warnings)
    if not unbiased and answer.method != "bayes":
        warnings += _beyond_shares(estimates(answer.table, answer.classes, answer.positive), data.level)
    learned = model.fit is not None and data.assume == INDEPENDENT
    sentence = assumption_of(INDEPENDENT, learned=learned) + (methods.TARS_TARGET if unbiased else "")
    alone = [Assumption(INDEPENDENT, sentence, metrics, None, about)]
    order = [data.classes.index(name) for name in answer.classes if name in data.classes]
    p = model.prior[data.positive]  # of one class against the rest: (rest, positive)
    prior = model.prior[order] if len(order) == len(data.classes) else np.array([1 - p, p])
    samples, rows = data.samples, ()
    if labelers:
        ends = means_and_ends(ranges.about_labelers(labelers, samples, data.target), data.level)
        rows = worst_first(samples.worker_names, samples.labels_per_labeler(), ends)
    fields: dict[str, Any] = {"interval_kind": "posterior", "what_if": alone, "checks": (), **more}
    bare = data.labels is None or data.only_gold
    predictive = fields["interval_kind"] == PREDICTIVE
    return Evaluation(
        method=answer.method, target=data.target, level=data.level, key=data.stated, metrics=metrics,
        posterior=about, cells=answer.table.cells(data.level), num_samples=data.y_pred.size,
        num_labelers=samples.num_labelers, num_labels=samples.num_labels, num_gold=data.num_gold,
        classes=answer.classes, positive=data.classes[data.positive], headline=data.headline,
        verified=data.verified, positive_chosen=data.chosen, prior=prior,
        labelers=model.labelers if labelers is None else rows,
        baselines={} if bare else {"majority_vote": _vote_metrics(data, answer)},
        warnings=tuple(dict.fromkeys(warnings)), fit=answer.fit, basis=(data, model),
        log_evidence=methods.log_evidence_of(answer, model, data),
        rests_on=width_assumption(data.labelers_are) if predictive else "", **fields,
    )  # fmt: skip


def _learned(data: Inputs) -> Evaluation:
    """Error rates are learned: by gold, predictive, or under a named assumption."""
    pooled = data.open and data.num_gold > 0
    unaided = data.without_gold() if pooled and not data.only_gold else data
    model = ranges.joint_model(unaided)
    fit, answered = model.fit, model.refusal is None
    if pooled:
        data.missing = unaided.missing
        if not answered:  # not identified by labels alone, or exchanged classes; gold names them
            model = ranges.joint_model(data)
        return _by_gold(data, model, fit)
    if data.open and fit is not None and fit.identified:
        result = _over_assumptions(data, fit, model)
    elif answered and data.assume != INDEPENDENT:  # what the joint posterior itself answers
        return _vouched(data, model)
    else:
        result = _answer(data, methods.answer_by(data, model, data.key), model)
    return replace(result, checks=prior_check(data, fit)) if answered else result


def _known(data: Inputs, method: str) -> Evaluation:
    model = data.model
    if model is None:
        if method == methods.TARS:
            raise ValueError("method='tars' needs known error rates: give noise=... and prior=[...]")
        learn = methods.smyth_model if method == methods.SMYTH else ranges.plug_in_model
        model = ranges.plug_in_model(data, unaided=True) if method == "no_predictions" else learn(data)
    if method == methods.VOTE:  # nothing is learned or plugged in
        model = replace(model, warnings=())
    if method == methods.TARS:
        answer = methods.tars_answer(data, model)
        return _answer(data, answer, model, unbiased=True, interval_kind=methods.TARS_KIND)
    answer = methods.answer_by(data, model, data.key, method)
    return _answer(data, answer, model, checks=known_noise_check(answer, data.headline, data.level))


def _by_calibration(data: Inputs, calibration: calibrated.Calibration) -> Evaluation:
    found = calibrated.by_calibration(data, calibration)
    p = found.class_posterior
    answer = methods.answer_of(found.counts, data, warnings=found.warnings)
    about, judge = data.about(answer.table), found.own and len(data.classes) == 2
    dists = estimates(about, *data.answered, one_judge.MORE if judge else ())
    alone = [Assumption("calibration", found.basis["assumption"], dists, None, answer.table)]
    result = _answer(data, answer, Model(p, p.mean(axis=0)), (), what_if=alone, checks=found.basis["checks"])
    return replace(
        result, basis=None, baselines={} if found.own else result.baselines, metrics=dists,
        headline=one_judge.HEADLINE if judge else result.headline,
        num_calibration=found.basis["num_calibration"],
    )  # fmt: skip


def _by_draws(
    y_pred: Any, found: by_draws.LabelDraws, how: Judging, positive: Any, target: str | None
) -> Evaluation:
    """Class probabilities come from draws of a model of the labels."""
    p = found.posterior.mean(axis=0)[found.row_of_sample]
    log_p = None if isinstance(found.labels, Labels) else log(p)
    prior = None if log_p is None else np.full(p.shape[1], 1 / p.shape[1])
    labels = found.labels if log_p is None else log_p
    data = inputs.read_judged("evaluate", y_pred, labels, {**how, "prior": prior}, positive)
    data.target = methods.target_of(target, "bayes")
    counts, doubts = by_draws.drawn_tables(found, data.y_pred, data.key)
    answer = methods.answer_of(counts, data, warnings=doubts)
    about = data.about(answer.table)
    alone = [Assumption("draws", by_draws.ASSUMED, estimates(about, *data.answered), None, about)]
    checks = by_draws.checks_of_draws(found, data.classes)
    model = Model(log(p), p.mean(axis=0))
    return replace(_answer(data, answer, model, found.labelers(), what_if=alone, checks=checks), basis=None)


def _vouched(data: Inputs, model: Model) -> Evaluation:
    """One posterior under a named assumption, of equally many draws of every model that makes it."""
    assume = str(data.assume)
    some = [entry for entry in entries(data) if entry.group == assume]
    members, doubts = ranges.members(some, data, data.key)
    if not members:
        return _answer(data, methods.of_nothing(data, warnings=doubts), model, (), what_if=())
    pooled = thinned([assumption.posterior for assumption in members])
    answer = Tested("bayes", pooled, None, float("nan"), tuple(doubts), *data.answered)
    about = data.about(answer.table)
    dists = estimates(about, *data.answered)
    assumption = Assumption(assume, assumption_of(assume, learned=True), dists, None, about)
    key = stream(data.key, "vouched labelers")
    draws = evenly(list(ranges.labeler_draws(members, data.own_labels(), key).values()))
    labelers = [DrawsEstimate(column) for column in draws.T]
    return _answer(data, answer, model, labelers, what_if=[assumption], checks=vouched_check(members, data))


def _over_assumptions(data: Inputs, fit: JointPosterior, model: Model) -> Evaluation:
    """Predictive result: base estimates, widened by their errors on public data sets."""
    base, doubts = ranges.base_models(data, data.key, known={INDEPENDENT: fit})
    if all(member.fit is None for member in base) and len(ranges.what_if(data, model)[0]) == len(base):
        none = methods.of_nothing(data, warnings=doubts)
        return _answer(data, none, model, (), interval_kind=PREDICTIVE, what_if=())
    table = PredictiveTable({one.name: one.posterior for one in base}, data.labelers_are)
    answer = Tested("bayes", table, None, float("nan"), (ONLY_GOLD, *doubts), *data.answered)
    labels = data.own_labels()
    draws = ranges.labeler_draws(base, labels, stream(data.key, "labelers of a range"))
    dists = ranges.labeler_dists(draws, labels, data.labelers_are)
    return _answer(data, answer, model, dists, interval_kind=PREDICTIVE, what_if=None)


def _by_gold(data: Inputs, model: Model, fit: JointPosterior | None) -> Evaluation:
    """Combine labels and gold; `model` is for the checks, `fit` is independence without gold."""
    labels, base, doubts = data.own_labels(), [], []
    if fit is not None and fit.identified:
        base, doubts = ranges.base_models(data.without_gold(), data.key, known={INDEPENDENT: fit})
    elif fit is not None:
        doubts = [by_gold.NO_MODEL.format(fit.warnings[0])]
    posterior = by_gold.labels_posterior([one.fit for one in base], labels)
    drawn = by_gold.tables_by_gold(data, posterior, "tables by gold")
    draws = ranges.labeler_draws(base, labels, stream(data.key, "labelers beside gold"))
    without = ranges.labeler_dists(draws, labels, data.labelers_are)
    counted = by_gold.labeler_tables_by_gold(labels, posterior, data.known, data.key)
    dists = by_gold.dists_by_gold(without, counted)
    asked = range(len(data.classes)) if data.graded or "recall" not in data.headline else [data.positive]
    few = by_gold.few_of_classes(data, asked, [data.y_pred])
    notes = (*by_gold.kind_warnings(data.labelers_are, without, dists), *by_gold.gold_warnings(data), *few)
    answer = methods.answer_of(drawn.counts, data, warnings=(*notes, *doubts))
    if data.num_gold == data.gold.size:  # then every model knows the classes
        truth = data.tables(drawn.counts)
        base = [one._replace(posterior=truth) if one.fit else one for one in base]
    rows = [*(ranges.row(m, data) for m in base), *_by_ppi(data, posterior)]
    return _answer(
        data, answer, model, dists, what_if=rows, advice=by_gold.advice(data, data.y_pred),
        checks=by_gold.random_gold_checks(data, posterior),
    )  # fmt: skip


def _by_ppi(data: Inputs, posterior: np.ndarray) -> list[Assumption]:
    classes, positive = data.answered
    y_pred, known, sample = data.y_pred, data.gold, by_gold.how_chosen(data.known)
    if len(data.classes) == 2 and data.positive == 0:  # (negative, positive), as `Inputs.tables` has it
        y_pred, known, posterior = 1 - y_pred, np.where(known >= 0, 1 - known, -1), posterior[:, ::-1]
    table = by_gold.ppi_table(y_pred, posterior, known, sample)
    names = (*default_metrics(classes), *data.more)
    metrics = {name: named_metric(name, classes, positive) for name in names}
    how: dict[str, Any] = {"sample": sample, "table": table, "target": data.target}
    rules: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("ppi", "verified labels correct the labels (PPI++)", how),
        ("gold_only", "verified labels only", how | {"power": 0.0}),
    )
    return [
        Assumption(rule, sentence, {
            name: by_gold.ppi_metric(metric, y_pred, posterior, known, **options).dist
            for name, metric in metrics.items()
        })
        for rule, sentence, options in rules
    ]  # fmt: skip


def _vote_metrics(data: Inputs, answer: Tested) -> dict[str, float]:
    table = methods.vote_table(data)
    if len(answer.classes) == 2:
        is_positive = np.arange(len(data.classes)) == data.positive
        merged = np.stack([~is_positive, is_positive]).astype(np.float64)  # (negative, positive)
        table = merged @ table @ merged.T
    names = (*default_metrics(answer.classes), *data.more)
    return {n: float(named_metric(n, answer.classes, answer.positive).of_table(table)) for n in names}


def _beyond_shares(metrics: Mapping[str, Estimate], level: float) -> tuple[str, ...]:
    """Warn of an interval by a normal approximation that leaves [0, 1]."""
    asked = [name for name in ("accuracy", "precision") if name in metrics]
    ends = {name: metrics[name].interval(level) for name in asked if not np.isnan(metrics[name].mean)}
    out = [name for name, (low, high) in ends.items() if low < -1e-9 or high > 1 + 1e-9]
    if not out:
        return ()
    return (
        f"The interval of {' and '.join(out)} reaches beyond [0, 1], because there are too few samples for a "
        "normal approximation; method='bayes' needs none.",
    )
