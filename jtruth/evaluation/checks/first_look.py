"""Alarms about gold, labels or predictions that are not what they are called.

Each alarm is a function of counts, with a false-alarm rate of at most 1e-4.

**Chance.** With V[i, c] the votes of sample i for class c (its class posterior for known noise), agreement is
S = sum_i V[i, y_pred_i]. For randomly permuted predictions, S has the mean and variance of a linear
permutation statistic (Hoeffding 1951), both exact sums here. Divided by the maximum given the spread of
labels and predictions, and by the agreement of the labels among themselves (Spearman), S - E S estimates the
correlation of predictions and true classes. An alarm needs one within two standard errors of chance and below
.4 by three of them, or three below chance.

**Direction of scores.** With h_i the share of the votes of sample i for the positive class and R_i the rank
of its score, sum h_i R_i has such a distribution too. An alarm needs an area under the ROC curve by the
labels below .4 and a sum five standard deviations below its mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int, Num

from jtruth._host import across, cross_table, log, softmax, vote_shares
from jtruth._validation.words import LOOK, number_in, number_of, present, quoted
from jtruth.evaluation.checks import columns
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import LOOK_FIRST, WORTH_KNOWING, Check, alarm
from jtruth.labels import Labels
from jtruth.stats.agreement import krippendorff, point
from jtruth.stats.chains import mean_ranks

Scores = Float[np.ndarray, " samples"]
Codes = Int[np.ndarray, " samples"]
CHANCE = "better than chance"
Predictions = Mapping[str, Codes]  # by the classifier's name, "" if there is one
_MANY = 30  # samples on which two classifiers rarely agree by chance
_FAR, _WORSE = -5.0, 0.4
_FEW_BELOW = 0.02  # share of whole numbers below a threshold under 1 that may be meant
_BACK = "Give 1 - score (or -score), or set positive=... to the class that high scores indicate"
_USEFUL = 0.4
_ALARM = (
    "predictions agree with the labels {} chance (correlation with the truth about {:.2f} +- {:.2f}): are "
    "the order of y_pred and the class codes right? Give predictions by task id and as class names"
)


def look_at(data: Inputs, predictions: Predictions) -> tuple[Check, ...]:
    """Alarms about checked input; only the check of chance without labels."""
    if data.labels is None:
        named = [(replace(data, y_pred=codes), name) for name, codes in predictions.items() if name]
        return sum((chance_check(one, data.model, name) for one, name in named), ())
    return first_look(data.labels, data.gold, predictions, data.open and data.sampling.at_random)


def first_look(
    labels: Labels, gold: Codes, predictions: Predictions, random_gold: bool = False
) -> tuple[Check, ...]:
    """Alarms about labels, predictions and gold; `random_gold`: gold is assumed to be random."""
    checks: list[Check] = []
    if (gold >= 0).any():
        checks += columns.exchanged_codes(gold, labels.counts(), predictions, labels.class_names) or (
            *columns.gold_is_vote(gold, labels), *columns.gold_is_predictions(gold, labels, predictions),
        )  # fmt: skip
        checks += columns.chosen_gold(gold, labels.counts()) if random_gold else ()
    checks += columns.written_back(labels) or (*columns.standing_twice(labels), *columns.vote_column(labels))
    for name, y_pred in predictions.items():
        checks += columns.repeats_labels(labels, y_pred, name) or columns.learned_part(labels, y_pred, name)
        if name:  # of one without a name `chance_check` is asked by itself
            counts = labels.patterns().table(y_pred, labels.num_classes)
            checks += chance_verdict(*votes_of(labels), counts, name)
    checks += odd_predictions(gold, predictions, labels.class_names)
    read = [note.removeprefix(LOOK).removesuffix(".") for note in labels.notes if note.startswith(LOOK)]
    return (*checks, *(Check("reading", None, None, LOOK_FIRST, text) for text in read))


def odd_predictions(gold: Codes, predictions: Predictions, classes: Sequence[str]) -> Iterator[Check]:
    """Predictions that equal another's, are constant, or never have a class that gold has."""
    for a, b in combinations(predictions, 2):
        if (predictions[a] == predictions[b]).all():
            text = (
                f"{a!r} and {b!r} predict the same class on all of {number_of(gold.size, 'sample')}, so "
                "their difference is 0. Was one file given twice? Give the other's predictions, or leave one "
                "out"
            )
            verdict = LOOK_FIRST if gold.size >= _MANY else WORTH_KNOWING
            yield Check("the same predictions", float(gold.size), None, verdict, text)
    constant = {name for name, codes in predictions.items() if (codes == codes[0]).all()}
    for name in (name for name in predictions if name in constant and name):  # "": `inputs.warnings` tells
        text = (
            f"every prediction of {name!r} is {classes[predictions[name][0]]!r}, so some metrics are "
            "undefined or trivial; compare it by accuracy or recall, or leave it out"
        )
        yield Check("one class predicted", None, None, WORTH_KNOWING, text)
    of_gold = np.bincount(gold[gold >= 0], minlength=len(classes))
    for name in (name for name in predictions if name not in constant):
        absent = (of_gold > 0) & (np.bincount(predictions[name], minlength=len(classes)) == 0)
        for c in np.flatnonzero(absent).tolist():
            whose = f"{name!r} never predicts" if name else "the predictions never have"
            text = (
                f"{whose} class {classes[c]!r}, although {number_of(int(of_gold[c]), 'gold sample')} have "
                "it: its recall is 0 and its precision undefined. Is it named differently there?"
            )
            yield Check("class never predicted", float(of_gold[c]), None, WORTH_KNOWING, text)


def chance_check(data: Inputs, model: Model | None, name: str | None = None) -> tuple[Check, ...]:
    """Check the classifier against chance; nothing if the data cannot show it."""
    if data.labels is not None and data.model is None:
        counts = data.labels.patterns().table(data.y_pred, data.num_symbols)
        return chance_verdict(*votes_of(data.labels), counts)
    model = present(model, "the noise model")
    first, row, times, _ = data.distinct_rows
    counts = cross_table(row, data.y_pred, (first.size, data.num_symbols))
    votes = softmax(model.log_likelihood[first] + log(model.prior)[None, :])
    shares = times @ votes / times.sum()
    spread = 1 - shares @ shares
    doubt = times @ across(np.add, votes * (1 - votes)) / times.sum()
    return chance_verdict(votes, 1 - float(doubt / spread) if spread > 1e-12 else 0.0, counts, name)


def votes_of(labels: Labels) -> tuple[Float[np.ndarray, "patterns classes"], float]:
    """Votes, and the correlation of truth and a vote by the agreement of the labels."""
    shared = max(float(np.nan_to_num(point(krippendorff(labels.counts())))), 0.0) ** 0.5
    return labels.patterns().labels.counts().astype(np.float64), shared


def chance_verdict(
    votes: Float[np.ndarray, "rows classes"],
    shared: float,
    counts: Num[np.ndarray, "rows classes"],
    name: str | None = None,
) -> tuple[Check, ...]:
    """Verdict on predictions, given the correlation `shared` of truth and a vote; by `name` only alarms."""
    by_chance = correlation(votes, counts)
    if by_chance is None or shared < 1e-6:
        return ()
    value, error = (number / shared for number in by_chance)
    worse = value < -3 * error
    if worse or value < min(2 * error, _USEFUL - 3 * error):
        text = _ALARM.format("worse than" if worse else "no better than", value, error)
        of, whose = ("", "") if name is None else (f": {name}", f"{name!r}: ")
        return alarm(CHANCE + of, value, None, whose + text)
    if value < 2 * error or name is not None:
        return ()
    text = f"correlation of predictions and truth about {min(value, 1):.2f} (standard error {error:.2f})"
    return (Check(CHANCE, value, None, "fits", text),)


def correlation(
    votes: Float[np.ndarray, "rows classes"], counts: Num[np.ndarray, "rows classes"]
) -> tuple[float, float] | None:
    """Correlation of predictions and single votes, its standard error by chance; None if one is constant.

    (S - E S) / sqrt(G_pred G_votes) / votes, G = 1 - sum of squared class shares: the phi coefficient of two
    classes. Var S = sum_ij d_ij^2 / (N - 1), d the doubly centred table of what sample i adds if it gets the
    prediction of sample j. `votes` are of a sample of each row, `counts` of all of its samples.
    """
    times, number = counts.sum(axis=1), counts.sum(axis=0).astype(np.float64)
    size = float(number.sum())
    if not votes.any():
        return None
    by_sample, by_class = votes @ number / size, times @ votes / size
    total = by_class.sum() * size
    mean = float(by_class @ number)
    centred = (votes[:, c] - by_sample - (by_class[c] - mean / size) for c in range(votes.shape[1]))
    variance = sum(many * float(times @ column**2) for column, many in zip(centred, number, strict=True))
    variance = variance / max(size - 1, 1)
    spread = (1 - (number**2).sum() / size**2) * (1 - ((by_class * size) ** 2).sum() / total**2)
    if variance <= 1e-12 * size or spread <= 1e-12:
        return None
    scale = total * spread**0.5
    return float((votes * counts).sum() - mean) / scale, variance**0.5 / scale


def backward_scores(scores: Scores, data: Inputs) -> tuple[Check, ...]:
    """High scores go with labels of the other class."""
    area, away = _area(labels_opinion(data)[:, data.positive], scores)
    if not (away < _FAR and area < _WORSE):
        return ()
    negative = data.classes[1 - data.positive] if len(data.classes) == 2 else "others"
    text = (
        f"scores point the wrong way: samples with high scores are labelled {negative!r} (area under the ROC "
        f"curve {area:.2f} by the given labels). {_BACK}"
    )
    return alarm("direction of the scores", away, None, text)


def backward_columns(scores: Float[np.ndarray, "samples classes"], data: Inputs) -> tuple[Check, ...]:
    """Most columns of scores contradict their own class."""
    areas = [_area(h, s) for h, s in zip(labels_opinion(data).T, scores.T, strict=True)]
    against = [name for name, (_, away) in zip(data.classes, areas, strict=True) if away < _FAR]
    mean = float(np.mean([area for area, _ in areas]))
    if 2 * len(against) < len(areas) or mean >= 0.5:
        return ()
    text = (
        f"the columns of scores contradict their own classes ({quoted(against, 4)}; mean area under the ROC "
        f"curve {mean:.2f} by the given labels): are the columns in the order of the classes? Give a data "
        "frame whose columns have the names of the classes"
    )
    return alarm("direction of the scores", mean, None, text)


def row_numbers(scores: Scores, data: Inputs, what: str = "scores") -> tuple[Check, ...]:
    """Scores are row numbers, or ids of the tasks."""
    ids = np.array([number_in(str(task)) for task in data.samples.task_names])
    for number in (np.arange(scores.size), ids) if scores.size >= _MANY else ():
        slope = np.ptp(scores) / np.ptp(number) if np.isfinite(number).all() and np.ptp(number) else 0.0
        for line in (slope * number, -slope * number):
            if slope and np.ptp(scores - line) <= 1e-6 * np.ptp(scores):
                text = (
                    f"{what} change by one step from row to row: are they row numbers? Row numbers rank well "
                    "where rows are sorted, but mean nothing. Give the scores"
                )
                return alarm("numbers of rows", slope, None, text)
    return ()


def labels_opinion(data: Inputs) -> Float[np.ndarray, "samples classes"]:
    """Class shares of each sample by the votes; for known error rates its class posterior."""
    if data.model is not None:
        return softmax(data.model.log_likelihood + log(data.model.prior)[None, :])
    return vote_shares(data.own_labels().counts())


def _area(share: Scores, scores: Scores) -> tuple[float, float]:
    """Area under the ROC curve given shares of positives, and its standard deviations from chance."""
    size, rank = share.size, mean_ranks(scores[:, None])[:, 0]
    spread = np.sqrt(share.var() * rank.var() * size**2 / max(size - 1, 1))
    if not spread > 1e-9:
        return 0.5, 0.0
    lead = float(share @ (rank - rank.mean()))
    pairs = share.sum() * (1 - share).sum()
    return 0.5 + lead / float(pairs), lead / float(spread)


def threshold_outside(scores: Scores, threshold: float | None, positives: float) -> tuple[Check, ...]:
    """A threshold has all samples on one side, or is on another scale than the scores."""
    low, high = float(scores.min()), float(scores.max())
    if threshold is None:
        return ()
    below = float((scores < threshold).mean())
    most = min(_FEW_BELOW if (scores == np.floor(scores)).all() else 1.0, (1 - positives) / 2)
    if low <= threshold <= high:
        if not (0 < threshold < 1 and low >= 0 and high > 2 and below < most):
            return ()
        text = (
            f"threshold {threshold:g} is on a scale of 0 to 1, but scores go from {low:g} to {high:g}: "
            f"{below:.0%} of the samples are below it. Give a threshold on the scale of the scores"
        )
        return alarm("threshold", threshold, None, text)
    side = "nothing" if threshold > high else "everything"
    text = (
        f"threshold {threshold:g} lies outside the scores ({low:g} to {high:g}), so {side} is predicted "
        "positive: give a threshold on the scale of the scores"
    )
    return alarm("threshold", threshold, None, text)
