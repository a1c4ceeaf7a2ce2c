"""The answer of `evaluate` when some true classes are known: models and gold together, and whom to ask."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jtruth._host import smoothed_vote_shares
from jtruth._random import Key, stream
from jtruth.asking.gold import ask_next
from jtruth.evaluation.answers import headline_of, names_of
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.learned import labels_fit
from jtruth.evaluation.assumptions.of_labelers import labeler_draws
from jtruth.evaluation.assumptions.registry import INDEPENDENT, Progress, entries
from jtruth.evaluation.checks.prior_driven import POWERS, versions_check
from jtruth.evaluation.checks.random_gold import random_gold_check
from jtruth.evaluation.gold.labelers import pooled_shares
from jtruth.evaluation.gold.measured import GoldSampling, judged_samples
from jtruth.evaluation.gold.pooled import GoldAnswer, pooled_gold
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.labeler_rows import Labeler, worst_first
from jtruth.evaluation.parts import Assumption, Check
from jtruth.evaluation.text import IN_SAMPLE
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.sampling.watch import Watch
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import named_metric, title
from jtruth.testing.tested import Tested

SENTENCES = {
    "ppi": "if gold corrects what the labels alone say (PPI++)",
    "gold_only": "if nothing but gold is believed",
}
NO_MODEL = "labels alone determine nothing ({}): gold alone answers, corrected by vote shares"
NOT_BETWEEN = (
    "not between its precision and its recall: {}. Each metric is put together from models and gold by "
    "itself, so that one may be nearer to the gold than the others"
)
_SEEN = 0.005  # differences between metrics that a reader sees
_ASKED = 5  # samples named in the advice


def without_gold(data: Inputs) -> Inputs:
    """The same with no class known: what models are fitted to, so that gold is used once."""
    return replace(data, gold=np.full_like(data.gold, -1))


class WithGold(NamedTuple):
    """What models and gold say together."""

    answer: Tested
    metrics: Mapping[str, Estimate]
    rows: tuple[Assumption, ...]  # what each part of it says
    advice: tuple[str, ...]  # on more gold
    checks: tuple[Check, ...]  # was it random?
    labelers: tuple[Labeler, ...]  # the share of right labels, by models and gold together


def gold_answer(
    data: Inputs, fit: JointPosterior, sampling: GoldSampling, level: float, key: Key,
    progress: Progress | None,
) -> WithGold:  # fmt: skip
    """The answer; `fit` is independence without gold."""
    found, doubts = [], [NO_MODEL.format(fit.warnings[0])] if not fit.identified else []
    if fit.identified:
        some = [entry for entry in entries(data) if entry.gold]
        found, doubts = ranges.members(
            some, without_gold(data), key, progress=progress, known={INDEPENDENT: fit}
        )
    posterior = labels_posterior(found, data.own_labels())
    classes, positive = names_of(data)
    turned = len(data.classes) == 2 and data.positive == 0  # (negative, positive), as `tables_of` has it
    judged = judged_samples(
        1 - data.y_pred if turned else data.y_pred,
        posterior[:, ::-1] if turned else posterior,
        np.where(data.gold >= 0, 1 - data.gold, -1) if turned else data.gold,
        sampling,
    )
    models = {m.name: m.posterior for m in found}
    pool = pooled_gold(models, judged, classes=classes, positive=positive, level=level)
    rows = [ranges.row(m, data) for m in found]
    rows += [
        Assumption(name, SENTENCES[name], {k: v.law for k, v in part.items()})
        for name, part in (("ppi", pool.ppi), ("gold_only", pool.gold_only))
    ]
    advice = _advice(data, pool.more_gold, posterior, stream(key, "pool"), sampling)
    warnings = (*pool.warnings, *_apart(pool.metrics), *doubts)
    answer = Tested("bayes", pool.posterior, None, float("nan"), warnings, classes, positive)
    random = judged.taken_as_random
    checks = ()
    if random:
        checks = random_gold_check(posterior, data.gold, key, data.classes)
    checks += models_check(pool, headline_of(data), level, classes, positive)
    labelers = _labelers(data, found, posterior, sampling, level, key)
    return WithGold(answer, pool.metrics, tuple(rows), advice, checks, labelers)


def _labelers(
    data: Inputs,
    found: list[ranges.Member],
    posterior: np.ndarray,
    sampling: GoldSampling,
    level: float,
    key: Key,
) -> tuple[Labeler, ...]:
    """How often each labeler is right, the worst first; as in `evaluate_labelers`."""
    labels = data.own_labels()
    draws = labeler_draws(found, labels, IN_SAMPLE, stream(key, "labelers beside gold"))
    laws = pooled_shares(draws, labels, posterior, data.gold, sampling)
    rows = worst_first(labels, [(law.mean, *law.interval(level)[:2]) for law in laws])
    return tuple(one for _, one in rows)


def _apart(metrics: Mapping[str, Estimate]) -> tuple[str, ...]:
    """F1 lies between precision and recall; laws that are put together one by one need not."""
    found = []
    for name, law in metrics.items():
        if name.partition("[")[0] == "f1":
            ends = [metrics[name.replace("f1", other, 1)].mean for other in ("precision", "recall")]
            if law.mean > max(ends) + _SEEN or law.mean < min(ends) - _SEEN:
                found.append(name)
    several = [name for name in found if "[" in name] or [title(name) for name in found]
    return (NOT_BETWEEN.format(" and ".join(several)),) if found else ()


def labels_posterior(found: list[ranges.Member], labels: Labels) -> np.ndarray:
    """What labels and predictions alone say of each sample's class, (samples, classes): a guess for PPI++.

    The mean of two readings: the mean of the models' posteriors, which are too sure where errors are shared,
    and vote shares (one vote spread over the classes is added), which know nothing of good and bad labelers.
    """
    shares = smoothed_vote_shares(labels.counts())
    models = [m.fit.class_posterior for m in found if m.fit is not None]
    return 0.5 * (shares + np.mean(models, axis=0)) if models else shares


def labels_only_posterior(
    labels: Labels, key: Key, progress: Progress | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """What the labels alone say of each sample's class, untouched by gold, (samples, classes), and doubts.

    The mean of two readings: p(y_i = c | labels) of the joint posterior, which believes that labelers err
    independently and is far too sure if they do not, and vote shares (one vote spread over the classes is
    added), which know nothing of good and bad labelers. With judges that copy each other, recalibrated by 30
    gold answers, the first alone covered 86 to 92 %, the mean 95 to 96 %; with independent judges the mean is
    a tenth wider. Where labels alone determine nothing: vote shares.
    """
    shares = smoothed_vote_shares(labels.counts())
    doubt = "no sample has three labels"
    if not too_few_labels(labels):
        fit, _ = labels_fit(labels, key=key, watch=Watch(progress))
        if fit.usable:
            return 0.5 * (fit.class_posterior + shares), () if fit.converged else fit.warnings
        doubt = fit.warnings[0]
    return shares, (f"labels alone determine nothing ({doubt}); samples are ranked by their vote shares",)


def too_few_labels(labels: Labels) -> bool:
    """Two labels a sample leave a continuum of matrices that fit equally well."""
    return int(labels.labels_per_sample().max()) < 3


def models_check(
    pool: GoldAnswer, names: Sequence[str], level: float, classes: tuple[str, ...], positive: int
) -> tuple[Check, ...]:
    """Would these metrics of the answer be others if what models say counted half or twice?"""
    versions = {}
    for name in names:
        law = pool.metrics.get(name)
        if law is None or not pool.posterior.models or np.isnan(law.mean):
            continue
        metric, measured = named_metric(name, classes, positive), pool.ppi[name].law
        others = {power: pool.posterior.given(metric, measured, power).law for power in POWERS}
        versions[name] = (law, others)
    return (versions_check(versions, "what models of the labels say", level),) if versions else ()


def _advice(
    data: Inputs, more: Mapping[str, int], posterior: np.ndarray, key: Key, sampling: GoldSampling
) -> tuple[str, ...]:
    """How many more answers would halve the intervals, and which samples to ask for."""
    left = data.gold.size - data.num_gold
    if left == 0:
        return ()
    parts = [f"{more[name]} for {title(name)}" for name in headline_of(data) if more.get(name)]
    sentences = []
    if parts:
        sentences.append(f"gold answers that would halve the interval: {', '.join(parts)} (of {left} left)")
    if sampling.strata is None:
        asked = ask_next(
            data.y_pred, posterior, Gold(data.gold, sampling.inclusion), min(_ASKED, left), key=key,
            classes=data.classes, positive=data.positive,
        )  # fmt: skip
        tasks = data.own_labels().tasks or tuple(range(data.y_pred.size))
        named = ", ".join(str(tasks[i]) for i in asked.samples)
        sentences.append(
            f"ask next for {named}: drawn at random, uncertain samples more often; for more, and the "
            "inclusion probabilities to hand over with the answers, see jtruth.asking.gold.ask_next"
        )
    return tuple(sentences)
