"""The posterior of the count table by each method of `evaluate`, given a label model.

Error rates given as draws: one exact posterior for each draw, mixed,

    p(table | predictions, labels) = sum_r w_r p(table | predictions, labels, psi_r),
    w_r  proportional to  p(predictions | labels, psi_r)

If the draws were learned from the same labels, this integrates the error rates out (two classes; with more
the weights are equal). Draws from other labels are not updated by these, so the posterior is wider.

`method="smyth"` takes the most probable classes by EM as true (Smyth et al. 1994).

The target is "in-sample" (metrics of the predictions on these samples) or "population" (on new samples, from
the rates pi[c] K[c, u]).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array
from scipy.special import softmax

from jtruth._host import log, log_odds, log_sum, majority
from jtruth._random import stream
from jtruth._validation import choose, present
from jtruth.evaluation.assumptions.ranges import plug_in_model
from jtruth.evaluation.assumptions.registry import INDEPENDENT, UNKNOWN, check_assume
from jtruth.evaluation.inputs import AT_MEAN, Inputs, Model, known_by_draws
from jtruth.evaluation.parts import IN_SAMPLE, POPULATION, TARGETS
from jtruth.latent import Effort
from jtruth.learning import check_consistency
from jtruth.noise import NoiseModel
from jtruth.posterior import class_posterior
from jtruth.tables.posterior import TableDraws, thinned
from jtruth.testing import binary_posterior, consolidate, estimate_counts, resampled_table
from jtruth.testing import methods as testing
from jtruth.testing.binary.exact import Mixture, unknown_prior
from jtruth.testing.methods import BINARY_METHODS, MULTICLASS_METHODS, Tested
from jtruth.testing.multiclass import count_posterior

_TWO_CLASSES, _MORE = 64, 24  # draws for which a posterior is computed: an exact one, one by sampling
_FEW = 10.0
_EACH = Effort(chains=4, burn_in=50, min_sweeps=240, max_rhat=1.05, min_ess=60.0)  # one of many draws
TARS, SMYTH, LAPLACE, VOTE = "tars", "smyth", "laplace", "majority_vote"
TAKEN = {  # methods that know no uncertainty
    "labels": "the most probable class of each sample was taken as true, so there are no intervals",
    VOTE: "the majority vote was taken as true, so there are no intervals",
    SMYTH: "the most probable classes by EM were taken as true, so there are no intervals",
}
LEARNING = ("bayes", LAPLACE)  # methods that learn error rates where none are given
ONE_AGAINST_REST = (
    "This method handles two classes: the metrics are those of {!r} against all others, and assume that "
    "errors do not depend on which of the others is true."
)
TARS_KIND = "confidence interval"
TARS_TARGET = "; the intervals are for the population of samples, not for these samples"
_UNBIASED = (
    "TARS is unbiased, but its estimates may leave [0, 1], and it does not use predictions to judge labels; "
    "method='bayes' does."
)
_VOTED = "The majority vote (gold where given) is taken as the truth, so there are no intervals."
_VOTE_ALONE = "method='majority_vote' does not use the given noise and prior."
_BY_EM = "The most probable classes by EM are taken as the truth (method='smyth'), so there are no intervals."


def check_method(method: str) -> None:
    """Refuse an unknown method."""
    known = (*BINARY_METHODS, LAPLACE, "plug_in", VOTE, TARS, SMYTH)
    if method not in known:
        raise ValueError(f"method={method!r}; choose one of {', '.join(known)}")


def target_of(target: str | None, method: str) -> str:
    """Target of the result (None: the method's own); ValueError if the method does not have it."""
    usual = IN_SAMPLE if method in TAKEN else POPULATION
    if target is None or target == usual:
        return usual
    choose("target", target, TARGETS)
    if method == TARS:
        raise ValueError("method='tars' is for the population only; leave target out, or use 'bayes'")
    if method in TAKEN:
        raise ValueError(
            f"method={method!r} counts these samples without uncertainty, so it has no answer for new "
            "samples. Use method='bayes', or leave target out"
        )
    return target


def check_combination(method: str, assume: str | None, data: Inputs) -> None:
    """Refuse a method or an assumption that does not fit the input."""
    given = data.model is not None
    if given and method in ("plug_in", LAPLACE, SMYTH):
        raise ValueError(
            f"method={method!r} learns error rates, but here they are given (noise, a fit, or "
            "log-likelihoods): leave method out for the exact answer, or leave noise out"
        )
    if given and method == TARS and data.known_prior is None:
        raise ValueError("method='tars' needs the class prior: give prior=[...], or use 'bayes'")
    check_assume(assume, data)
    if method != "bayes" and assume not in (None, UNKNOWN, INDEPENDENT):
        raise ValueError(
            f"method={method!r} assumes independent errors, and assume={assume!r} is another model: leave "
            "one of the two out"
        )


def tars_answer(data: Inputs, model: Model) -> Tested:
    """Count table estimated by TARS; known classes count as labels without error."""
    noise = present(data.noise, "the noise model")
    consolidated = consolidate(data.own_labels(), noise, model.prior, key=data.key)
    known = data.gold >= 0
    rates = np.where(known[:, None, None], np.eye(len(data.classes))[None], consolidated.rates)
    consolidated = consolidated._replace(label=np.where(known, data.gold, consolidated.label), rates=rates)
    counts = estimate_counts(data.y_pred, consolidated)
    table = resampled_table(counts, key=data.key)
    if len(data.classes) == 2 and data.positive == 0:  # (negative, positive), as `Inputs.tables` has it
        point = present(table.point, "the estimated table")[::-1, ::-1]
        table = TableDraws(table.counts[:, ::-1, ::-1], point=point)
    warnings = (_UNBIASED,)
    error = consolidated.error.max()
    warnings += (f"The error rates of consolidated labels are exact to {error:.2g}.",) if error > 0 else ()
    return Tested(TARS, table, None, float("nan"), warnings, *data.answered)


def smyth_model(data: Inputs) -> Model:
    """Dawid and Skene's EM on the labels alone, with warnings about the consistency of its rates."""
    model = plug_in_model(data, unaided=True)
    if model.refusal is not None:
        return model
    labels, matrices = data.own_labels(), present(model.matrices, "the learned rates")
    which = {"num_samples": labels.num_samples, "workers": labels.workers}
    doubts = check_consistency(model.prior, matrices[:-1], labels.labels_per_labeler(), **which)
    return replace(model, warnings=(*model.warnings, *doubts))


def drawn_answer(data: Inputs, noise: NoiseModel, key: jax.Array) -> Tested:
    """Posterior of the table, averaged over draws of the error rates; a given prior holds for each."""
    two, data = len(data.classes) == 2 or data.one_against_rest, replace(data, noise=None)
    keys = jax.random.split(stream(key, "drawn error rates"), _TWO_CLASSES)
    answers = []
    for r, (one, prior) in enumerate(noise.models(_TWO_CLASSES if two else _MORE)):
        model = data.known_model(one, prior)
        if two:
            answers.append(answer_by(data, model, keys[r]))
            continue  # more classes: few draws, as there are many answers
        some = count_posterior(model.log_likelihood, model.prior, data.y_pred, key=keys[r], effort=_EACH)
        doubts = testing.converged_or_not(some)
        answers.append(Tested("bayes", some, None, float("nan"), doubts, *data.answered))
    first, number = answers[0], len(answers)
    notes = [note for answer in answers for note in answer.warnings]
    averaged = f"Error rates are given as {number} draws, and all results are averaged over them."
    if not isinstance(first.table, TableDraws):
        evidence = np.array([answer.log_evidence for answer in answers])
        weight, tables = softmax(evidence), [answer.table for answer in answers]
        table = Mixture(np.arange(number, dtype=np.float64), weight, tables, float("nan"))
        count = 1.0 / (weight**2).sum()
        if count < _FEW:
            notes.append(
                f"The predictions agree with few of the {number} draws of error rates ({count:.1f} effective "
                "draws). Learn them with the predictions, by leaving noise out."
            )
    else:
        table = thinned([answer.table for answer in answers if isinstance(answer.table, TableDraws)])
    warnings = tuple(dict.fromkeys((*notes, averaged)))
    return first._replace(table=table, fit=None, log_evidence=float("nan"), warnings=warnings)


def answer_of(
    counts: np.ndarray, data: Inputs, method: str = "bayes", warnings: tuple[str, ...] = ()
) -> Tested:
    """Posterior from draws of the count table (draws, classes, symbols) in the order of the codes."""
    return Tested(method, data.tables(counts), None, float("nan"), warnings, *data.answered)


def of_nothing(data: Inputs, method: str = "bayes", warnings: Sequence[str] = ()) -> Tested:
    """A posterior of NaN: not identified."""
    return answer_of(np.full((1, *[len(data.classes)] * 2), np.nan), data, method, tuple(warnings))


def vote_table(data: Inputs, *, gold: bool = False) -> np.ndarray:
    """Counts (classes, classes) with the majority vote (or gold) as truth; tied classes share a sample."""
    if data.labels is None:
        raise ValueError("the majority vote needs labels; an array of log-likelihoods has none")
    if gold and data.num_gold:
        truth, known = majority(data.labels.counts()), data.gold >= 0
        truth[known] = np.eye(len(data.classes))[data.gold[known]]
        return data.table(truth)
    patterns = data.labels.patterns()
    return majority(patterns.labels.counts()).T @ patterns.table(data.y_pred, data.num_symbols)


def answer_by(data: Inputs, model: Model, key: Array, method: str = "bayes") -> Tested:
    """Posterior of the table by a method, given a label model."""
    if method == VOTE:
        notes = (_VOTED,) if data.noise is None and data.prior is None else (_VOTED, _VOTE_ALONE)
        return answer_of(vote_table(data, gold=True)[None], data, method, notes)
    if model.refusal is not None:
        return of_nothing(data, method)
    if data.noise is not None and method == "bayes" and known_by_draws(data.noise):
        model.warnings = tuple(warning for warning in model.warnings if warning != AT_MEAN)
        return drawn_answer(data, data.noise, key)
    if model.count_draws is not None:
        return answer_of(model.count_draws, data)._replace(fit=model.fit)
    if method != "bayes" and model.prior_unknown:
        raise ValueError(f"method={method!r} needs the class prior: give prior=[...], or use 'bayes'")
    if method == SMYTH:
        truth = majority(np.asarray(class_posterior(model.log_likelihood, model.prior), np.float64))
        return answer_of(data.table(truth)[None], data, SMYTH, (_BY_EM,))  # tied classes share a sample
    known = "bayes" if method == "plug_in" else method
    if len(data.classes) > 2 and (known == "bayes" or not data.one_against_rest):
        return _any_classes(data, model, known, key)
    y = (data.y_pred == data.positive).astype(np.int32)
    if model.prior_unknown:
        return _prior_integrated_out(data, model, y)
    odds = log_odds(model.log_likelihood, model.prior, data.positive)  # other classes are taken together
    posterior = binary_posterior(odds, y, method=known, key=key)
    if len(data.classes) == 2:
        return posterior._replace(classes=data.answered[0])
    name = data.classes[data.positive]
    warnings = (*posterior.warnings, ONE_AGAINST_REST.format(name))
    return posterior._replace(classes=(f"not {name}", name), warnings=warnings)


def _any_classes(data: Inputs, model: Model, method: str, key: Array) -> Tested:
    if method not in MULTICLASS_METHODS:
        raise ValueError(
            f"method={method!r} handles two classes: give positive=... for one class against all others, or "
            f"use {', '.join(MULTICLASS_METHODS)}"
        )
    how: dict[str, Any] = {"key": key, "method": method, "classes": data.classes}
    posterior = testing.multiclass_posterior(model.log_likelihood, model.prior, data.y_pred, **how)
    return posterior._replace(positive=data.positive)


def _prior_integrated_out(data: Inputs, model: Model, y: np.ndarray) -> Tested:
    """Two classes, known noise, unknown prior: a mixture of exact tables over a uniform prior."""
    positive = data.positive
    ratio = model.log_likelihood[:, positive] - model.log_likelihood[:, 1 - positive]
    mixture = unknown_prior(ratio, y)
    share = float(mixture.parameter @ mixture.weight)
    model.prior = np.where(np.arange(2) == positive, share, 1 - share)  # its posterior mean
    negative = model.log_likelihood[:, 1 - positive]
    log_evidence = mixture.log_evidence + float(negative[np.isfinite(negative)].sum())
    note = "The class prior was not given; it is integrated out over a uniform prior."
    return Tested("bayes", mixture, None, log_evidence, (note,), *data.answered)


def log_evidence_of(answer: Tested, model: Model, data: Inputs) -> float:
    """log p(y_pred, z) of a known noise model (several classes: of the collapsed predictions); else NaN."""
    if data.model is None or model.prior_unknown:
        return answer.log_evidence
    first, _, times, _ = data.distinct_rows  # log p(z) = sum_i log sum_c prior[c] p(z_i | y_i = c)
    log_joint = model.log_likelihood[first] + log(model.prior)[None, :]
    return answer.log_evidence + float(times @ log_sum(log_joint))
