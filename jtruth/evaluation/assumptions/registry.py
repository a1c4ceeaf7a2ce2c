"""The table of assumptions about labelers and classifier given the class, one entry each.

A fit is a function (inputs, key, effort) -> (draws of the count table, fit or None): `latent_classes(model)`,
with a name that `fit_joint` knows or a function that builds a model as in `jtruth.learning.joint.models`, or
another one, such as `majority_votes`. The key is that of the result.

Labels alone do not determine which assumption holds. The predictive distribution (`model_error`) uses the two
base models; the others show what would follow. "copying" is only for `sensitivity`. With labels alone
(`read_labels_alone`) every sample has the same symbol, so a table holds the class counts.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Num

from jtruth._host import known_classes, labels_log_likelihood, majority
from jtruth._random import Key, host_rng, stream
from jtruth._validation import collapse_rows, present
from jtruth.evaluation.inputs import Inputs
from jtruth.latent import Effort, Progress
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.learning.joint.models import Build, fixed_share, partly_shared
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.noise.base import scale_errors

_VOTE_DRAWS = 4000
_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


# Draws of the count table in the order of the codes, and the sampler's result, where there was one.
Fitted = tuple[Num[np.ndarray, "draws classes symbols"] | None, JointPosterior | None]
Fitter = Callable[..., Fitted]  # of (data, key, effort); a latent-class model takes `share` too


def latent_classes(model: str | Build) -> Fitter:
    """Fit by `fit_joint` of a model by name, or by a function that builds one."""
    name = model if isinstance(model, str) else model.__name__

    def fit(data: Inputs, key: Key, effort: Effort, share: float | None = None) -> Fitted:
        posterior = sampled(data, model, stream(key, name), effort, share)
        return tables_in(posterior, data), posterior

    return fit


def sampled(
    data: Inputs, model: str | Build, key: Key, effort: Effort, share: float | None = None
) -> JointPosterior:
    """`fit_joint` of this input; `share` of dependent samples, if it is fixed (`sensitivity`)."""
    normal = (data.normal and model == INDEPENDENT) or None
    effort = effort._replace(normal=normal, progress=Progress(data.progress))
    built = model if share is None else fixed_share(model, share)
    return fit_joint(data.own_labels(), **asked(data), dependence=built, key=key, effort=effort)


def asked(data: Inputs) -> dict[str, Any]:
    """What `fit_joint` is given of this input beside the labels."""
    y_pred, concentration = (data.y_pred, data.symbols) if data.num_symbols > 1 else (None, None)
    shares = "by_number" if data.missing else "one"
    symbols = None if concentration is None else concentration.shape[1]
    priors = DirichletPriors(classifier_concentration=concentration, shares=shares, num_symbols=symbols)
    return {"y_pred": y_pred, "gold": data.some_gold, "prior": data.prior, "priors": priors}


def tables_in(fit: JointPosterior, data: Inputs) -> Any:
    """Draws of the count table of a fit, or of its class counts, one symbol wide; None if it has none."""
    if fit.classifier is None or fit.counts is None:
        return None if fit.class_counts is None else fit.class_counts[:, :, None]
    return fit.counts


def drawn_rates(
    fit: JointPosterior, data: Inputs, number: int, factor: float = 1.0
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For `number` draws of learned error rates, times `factor`: index, log p(z_i | y_i = c), class prior."""
    labels = data.own_labels()
    for k in np.linspace(0, len(fit.matrices) - 1, number).astype(int).tolist():
        rates = fit.matrices[k].astype(np.float64)
        rates = rates if factor == 1 else scale_errors(rates, factor)
        log_p = labels_log_likelihood(rates, *labels.arrays, labels.num_samples)
        yield k, known_classes(log_p, data.gold), fit.prior[fit.matrix_draw[k]]


def majority_votes(data: Inputs, key: Key, effort: Effort) -> Fitted:
    """Fit of the majority vote, without a model: see `vote_draws`."""
    return vote_draws(data, key), None


def voted(data: Inputs) -> tuple[Float[np.ndarray, "samples classes"], Bool[np.ndarray, " samples"]]:
    """Majority vote (gold where known), ties shared, 0 for samples without labels; and which these are."""
    labels, known = data.own_labels(), data.gold >= 0
    truth = majority(labels.counts())
    truth[known] = data.gold[known, None] == np.arange(labels.num_classes)[None, :]
    silent = (labels.labels_per_sample() == 0) & ~known
    truth[silent] = 0.0
    return truth, silent


def vote_draws(data: Inputs, key: Key) -> Num[np.ndarray, "draws classes symbols"]:
    """Draws of the count table if the majority vote (gold where known) is right.

    Ties are broken at random. Samples without a label are like the others: cells are Dirichlet(counts +
    2/cells), a prior of two samples for any number of classes.
    """
    (truth, silent), rng = voted(data), host_rng(key, "majority vote")
    table = data.table(truth)

    def shares() -> np.ndarray:
        drawn = rng.dirichlet(table.ravel() + 2.0 / table.size, size=_VOTE_DRAWS)
        return drawn.reshape(-1, *table.shape)

    tied = (truth > 0).sum(axis=1) > 1
    sure = np.rint(data.table(np.where(tied[:, None], 0.0, truth))).astype(np.int64)
    draws = np.tile(sure, (_VOTE_DRAWS, 1, 1))
    rows = np.column_stack([truth > 0, data.y_pred])[tied]
    first, _, number = collapse_rows(rows)
    for (*among, symbol), times in zip(rows[first], number, strict=True):
        classes = np.flatnonzero(among)
        even = np.full(classes.size, 1 / classes.size)
        draws[:, classes, symbol] += rng.multinomial(times, even, size=_VOTE_DRAWS)
    if silent.any():
        among = shares()
        for symbol, times in enumerate(np.bincount(data.y_pred[silent], minlength=table.shape[1])):
            of_symbol = among[:, :, symbol] / among[:, :, symbol].sum(axis=1, keepdims=True)
            draws[:, :, symbol] += rng.multinomial(times, of_symbol)
    return draws


def share_of_errors(fit: JointPosterior, data: Inputs, copying: float) -> float:
    """Posterior share of the classifier's errors that repeat a label, given the probability of copying."""
    classifier = present(fit.classifier, "the classifier's matrix")
    votes = data.own_labels().counts().astype(np.float64)
    at = np.arange(len(data.y_pred))
    equal = votes[at, data.y_pred] / np.maximum(votes.sum(axis=1), 1)
    alone = classifier.mean(axis=0)[:, data.y_pred].T * (1 - copying)
    copied = copying * equal[:, None] / np.maximum(alone + copying * equal[:, None], 1e-300)
    wrong = fit.class_posterior * (np.arange(len(data.classes)) != data.y_pred[:, None])
    return float((wrong * copied).sum() / max(wrong.sum(), 1e-300))


class Entry(NamedTuple):
    """One assumption: its sentence, its fit, and where it is used."""

    name: str
    sentence: str  # beginning with "if"
    fit: Fitter
    takes: Callable[[int, int], bool] = lambda classes, symbols: True  # numbers of classes and symbols
    listed: bool = True  # a line of what-if
    base: bool = False  # one of the base models of predictive distributions (`model_error`)
    last_resort: bool = False  # never too large, and asked where nothing else has an answer
    group: str | None = None  # the word for `assume` under which it answers, pooled with others of the group
    assumed: str = ""  # its assumption in words; by default `sentence` without "if"
    of_labelers: str = ""  # the sentence where labelers alone are the question
    # `Evaluation.sensitivity_analysis` varies the share of dependent samples: its name, title of the axis,
    # default values (at 0 errors are independent), and the position of a share on the axis.
    moved: str = ""
    axis: str = ""
    shares: tuple[float, ...] = _SHARES
    place: Callable[[JointPosterior, Inputs, float], float] = lambda fit, data, share: share


_COVERAGE = (
    " (on public data such intervals covered the accuracy in 50 % of cases labelled by people and in 15 % of "
    "those labelled by LLM judges)"
)

_ENTRIES = (
    Entry("majority_vote", "if the majority is right on every sample", majority_votes,
          base=True),
    Entry("independent", "if errors are independent given the class", latent_classes("independent"),
          base=True, last_resort=True, group="independent",
          assumed="classifier and labelers err independently of one another, given the true class"),
    Entry("labeler_strata", "if some samples are hard for the labelers only",
          latent_classes("labeler_strata"),
          takes=lambda classes, symbols: symbols > 1,
          moved="labeler_dependence", axis="share of samples that are hard for the labelers only"),
    Entry("shared_strata", "if some samples are hard for labelers and classifier",
          latent_classes("shared_strata"), group="shared_difficulty",
          assumed="some samples are hard for labelers and classifier, given the true class",
          moved="hard_samples", axis="share of samples that are hard for labelers and classifier",
          of_labelers="if some samples are hard for all labelers"),
    Entry("random_effect", "if samples differ gradually in difficulty for labelers and classifier",
          latent_classes("random_effect"), takes=lambda classes, symbols: classes == 2 and symbols < 3,
          group="shared_difficulty",
          of_labelers="if samples differ gradually in difficulty for all labelers"),
    Entry("copying", "if the classifier repeats labels of the labelers", latent_classes("copying"),
          takes=lambda classes, symbols: classes == symbols, listed=False,
          moved="shared_errors", axis="share of the classifier's errors that are shared with labelers",
          shares=(0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6), place=share_of_errors),
    Entry("partly_shared", "if an unknown part of the hard samples is hard for the classifier too",
          latent_classes(partly_shared), takes=lambda classes, symbols: symbols > 1, listed=False,
          group="partly_shared",
          assumed="some samples are hard for the labelers, given the true class, and an unknown part of "
          "them for the classifier too"),
)  # fmt: skip
ASSUMPTIONS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}

INDEPENDENT, UNKNOWN = "independent", "unknown"


def entries(data: Inputs) -> list[Entry]:
    """Assumptions that apply to these data, in the order of the rows."""
    classes, symbols = len(data.classes), data.num_symbols
    return [entry for entry in ASSUMPTIONS.values() if entry.takes(classes, symbols)]


def assumption_of(word: str, *, learned: bool = False) -> str:
    """The assumption behind a value of `assume`; for learned rates with its coverage on public data."""
    members = [entry for entry in ASSUMPTIONS.values() if entry.group == word]
    sentence = next((e.assumed for e in members if e.assumed), members[0].sentence.removeprefix("if "))
    return sentence + (_COVERAGE if learned and word == INDEPENDENT else "")


def check_assume(assume: str | None, data: Inputs | None = None) -> None:
    """Refuse an unknown assumption, or (with `data`) one that does not fit given error rates."""
    known = (UNKNOWN, *dict.fromkeys(entry.group for entry in ASSUMPTIONS.values() if entry.group))
    if assume is not None and assume not in known:
        raise ValueError(f"assume={assume!r} is not available; choose one of {', '.join(known)}")
    if data is not None and data.model is not None and assume not in (None, UNKNOWN, INDEPENDENT):
        raise ValueError(
            f"assume={assume!r} is for learned error rates, but here they are given: leave one out"
        )
