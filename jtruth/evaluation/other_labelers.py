"""How good is every labeler, by another model or engine than Gibbs sampling?

`quick_labelers`: Dawid and Skene's model by EM, with the normal law around its mode. Millions of labels take
seconds, and a stream of labels (`jtruth.learning.update`) is reported each day. `labelers_by_model`: an
annotation model by NUTS, for instance one in which labelers with few labels lean on the others.

Neither runs the checks against independent errors that `evaluate_labelers` runs; both say so.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from jtruth._random import Stated, as_key, stated
from jtruth._validation import choose
from jtruth._validation.words import Read
from jtruth.evaluation._given import as_labels
from jtruth.evaluation.assumptions.model_error import OVERALL, check_kind, rests_on
from jtruth.evaluation.assumptions.predictive import law_of
from jtruth.evaluation.checks.verdicts import refused
from jtruth.evaluation.labeler_rows import labeler_rows
from jtruth.evaluation.labelers import ONLY_GOLD as WHY_WIDE
from jtruth.evaluation.labelers import LabelerReport
from jtruth.evaluation.parts import PREDICTIVE
from jtruth.evaluation.text import IN_SAMPLE, INDEPENDENT, MORE_RIGHT, POPULATION
from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.learning.em.kinds import expected_counts, posterior_of
from jtruth.learning.em.laplace import laplace_draws
from jtruth.learning.em.streaming import Smoothing, Stream, begin_stream
from jtruth.learning.labeler_draws import LabelerDraws
from jtruth.stats.regions import check_level

QUICK = (
    "the one reading of the labels is {}, not sampled. No check was made whether the labels contradict "
    "independent errors; without --fast they are, and other readings have a say (evaluate_labelers)"
)
BY_MODEL = "{}. No check was made whether the labels contradict independent errors (evaluate_labelers does)"

ONLY_GOLD = (
    "labels alone cannot show whether labelers are wrong together: these intervals take errors to be "
    "independent, and held real labelers in 18 to 80 % where samples differ in difficulty. Only gold can "
    "tell: find out the truth of 30 samples chosen at random (gold=...)"
)


def the_prior(num_classes: int) -> Smoothing:
    """Pseudo-counts that stand for the prior of `fit_joint` in the basis of the normal law."""
    return Smoothing(2.0, 1.0 / (num_classes - 1), 1.0)


def quick_labelers(labels: Labels | Stream, *, key: Any = None, level: float = 0.95) -> LabelerReport:
    """What `evaluate_labelers` says of each labeler, by one reading of them: EM and the law at its mode.

    The share of the labels given that are right, expected at the mode, has the spread of the chance that a
    new label is right, and then the predictive law of `jtruth.evaluation.assumptions.of_labelers`.

    Args:
        labels: the noisy labels; or a stream of them, begun with `Smoothing` above 0 (`the_prior`).
        key: a whole number or a JAX key; 0 if None.
        level: probability of the intervals.

    Raises:
        ValueError: no label, or a stream without pseudo-counts.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [400, 300, 60, 50], axis=0)
    >>> report = quick_labelers(Labels.from_matrix(z, 2))
    >>> report.rows[0]["worker"], report.rows[0]["low"] < 0.87 < report.rows[0]["high"]
    ('1', True)
    """
    check_level(level)
    odd, notes = (), ()
    if isinstance(labels, Stream):
        state = labels
    else:
        named = as_labels(labels)
        odd, notes = suspicions(named), tuple(map(Read, named.notes))
        if named.tasks is None or named.workers is None:
            named = named.with_names(tasks=range(named.num_samples), workers=range(named.num_labelers))
        state = begin_stream(named, smoothing=the_prior(named.num_classes))
    posterior = posterior_of(state.kinds, state.prior, state.matrices)
    draws = laplace_draws(state, as_key(key), posterior)
    counts = expected_counts(state.kinds, posterior, len(state.workers))[0] + state.closed.matrices
    given, kind = counts.sum(axis=(1, 2)), check_kind(None)
    right = np.trace(counts, axis1=1, axis2=2) / np.maximum(given, 1)
    values = np.clip(draws.labeler_accuracy - draws.labeler_accuracy.mean(axis=0) + right, 0, 1)
    sizes = np.maximum(given, 1.0)
    laws = [law_of({"independent": x}, OVERALL, kind, n) for x, n in zip(values.T, sizes, strict=True)]
    rows = labeler_rows(draws, state.workers, np.rint(given), level, laws)
    said = (*notes, *draws.warnings, QUICK.format(draws.how), WHY_WIDE)
    found = _report((level, stated(key)), state.classes, rows, draws, said, odd)
    return replace(found, target=IN_SAMPLE, interval_kind=PREDICTIVE, rests_on=rests_on(kind))


def labelers_by_model(
    labels: Labels, model: str, *, key: Any = None, level: float = 0.95, settings: Any = None
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler by an annotation model (NUTS).

    Args:
        labels: the noisy labels.
        model: a name of `jtruth.learning.annotation.bayes.MODELS`, such as "hierarchical_dawid_skene".
        key: a whole number or a JAX key; 0 if None.
        level: probability of the intervals.
        settings: `jtruth.sampling.NutsSettings`.

    Raises:
        ValueError: an unknown model, or no label.
    """
    from jtruth.learning.annotation.bayes import MODELS, fit_nuts
    from jtruth.sampling import NutsSettings

    check_level(level)
    choose("model", model, tuple(MODELS))
    labels = as_labels(labels)
    fit = fit_nuts(model, labels, key=as_key(key), settings=settings or NutsSettings())
    draws, odd = fit.matrix_draws(), suspicions(labels)
    names = tuple(map(str, labels.class_names))
    if not fit.usable:
        none = refused(fit.warnings[0])
        return replace(
            _report((level, stated(key)), names, [], draws, (*map(Read, labels.notes), *fit.warnings), odd),
            checks=none,
        )
    workers = labels.workers or tuple(range(labels.num_labelers))
    rows = labeler_rows(draws, workers, labels.labels_per_labeler(), level)
    said = (*map(Read, labels.notes), *draws.warnings, BY_MODEL.format(draws.how), ONLY_GOLD)
    return _report((level, stated(key)), names, rows, draws, said, odd)


def _report(
    asked: tuple[float, Stated], classes: tuple, rows: list, draws: LabelerDraws, warnings: tuple, odd: tuple
) -> LabelerReport:
    prior = tuple(draws.prior.mean(axis=0).tolist())
    return LabelerReport(
        asked[0], tuple(map(str, classes)), tuple(rows), prior, warnings, draws, asked[1],
        assumed=(INDEPENDENT, MORE_RIGHT), suspicious=odd, target=POPULATION,
        interval_kind="posterior", assumptions=(("independent", INDEPENDENT),),
    )  # fmt: skip
