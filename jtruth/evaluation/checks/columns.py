"""Columns of labels that no labeler wrote: an aggregate written back, every labeler twice, the vote as one.

`written_back`: no sample with several labels has two different ones. Labelers who are right with at most .95
where the class is not the commonest one agree everywhere with probability .95^n, n their labels there.

`standing_twice`: each column stands at least twice, label for label. Two labelers who agree as often as those
of different columns do would be equal with probability agreement^n, n the labels that stand again.

`vote_column`: a labeler never differs from the majority vote of the others, though by the others' own labels
the vote is wrong at some rate, of which three quarters are taken: (1 - .75 rate)^n.

`repeats_labels`: predictions (nearly) equal to the majority vote, or to a labeler who errs: at most 2 %
differ, where three quarters of the errors that the labels show (half of a labeler's) would make more.

How often labelers, and their vote, err by the labels alone (`learned_errors`) is read twice, and the kinder
reading counts: by Dawid and Skene's EM from the majority vote, and by one error rate for all from how often
labelers agree. Both know independent errors only; labelers who share mistakes keep alarms quiet.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import bdtr

from jtruth._host import across, cross_table, smoothed_vote_shares, softmax
from jtruth._validation.words import number_of, quoted
from jtruth.evaluation.checks.label_sets import Modes, observed, with_classifier
from jtruth.evaluation.parts import FALSE_ALARM, Check, alarm
from jtruth.labels import Labels

_MOST_RIGHT = 0.95
_OF_VOTE, _OF_LABELER = 3 / 4, 1 / 2  # of an error rate by the labels, what is taken for true
_ECHO = 0.02  # share of differences above which predictions are no echo
_GLANCE = 1000  # different rows that tell most columns apart
_MOST_ASKED = 3  # labelers whose column is held against a fit of the others


def written_back(labels: Labels) -> tuple[Check, ...]:
    """Do labelers never disagree, on enough samples to be odd?"""
    kinds = labels.patterns()
    votes = kinds.labels.counts()
    several = across(np.add, votes) >= 2
    if labels.num_labelers < 2 or (across(np.maximum, votes) < across(np.add, votes)).any():
        return ()
    by_class = kinds.counts[several] @ votes[several]
    rare, shown = int(by_class.sum() - by_class.max(initial=0)), int(kinds.counts[several].sum())
    text = (
        f"labelers never disagree on any of {number_of(shown, 'sample')}: was one answer (a "
        "majority vote, say) written to all of them? Then there is one labeler, and nothing shows how good "
        "he is. Hand over the labels that each labeler gave"
    )
    return alarm("labelers never disagree", rare, _MOST_RIGHT**rare, text)


def standing_twice(labels: Labels) -> tuple[Check, ...]:
    """Does every labeler's column stand more than once?"""
    kinds = labels.patterns()
    row, labeler, label, times = kinds.entries()
    for some in (row < _GLANCE, slice(None)):
        mark = np.bincount(labeler[some], (row[some] + 1.0) * (label[some] + 2.0), labels.num_labelers)
        if (np.unique(mark[mark > 0], return_counts=True)[1] < 2).any():
            return ()  # no column like this one: nothing has to be sorted
    same: dict[bytes, list[int]] = {}
    order = np.lexsort((label, row, labeler))
    ends = np.cumsum(np.bincount(labeler, minlength=labels.num_labelers))[:-1]
    for t, column in enumerate(np.split(np.stack([row, label], axis=1)[order], ends)):
        if column.size:
            same.setdefault(column.tobytes(), []).append(t)
    groups = list(same.values())
    if len(groups) < 2 or min(map(len, groups)) < 2:
        return ()
    number = np.bincount(labeler, times, labels.num_labelers)
    again = int(sum(number[group[1:]].sum() for group in groups))
    votes = kinds.labels.select_labelers([group[0] for group in groups]).counts()
    pairs = (kinds.counts @ (votes * (votes.sum(axis=1, keepdims=True) - 1))).sum()
    agreement = (kinds.counts @ (votes * (votes - 1))).sum() / pairs if pairs else 1.0
    workers = labels.worker_names
    names = "; ".join(quoted(str(workers[t]) for t in group) for group in groups[:2])
    text = (
        f"every labeler stands more than once, label for label ({names}): was the table put together from "
        "the same labels twice? Intervals count them twice. Keep one of each"
    )
    return alarm("labelers stand twice", again, agreement**again, text)


def vote_column(labels: Labels) -> tuple[Check, ...]:
    """Is one labeler the majority vote of the others?"""
    if labels.num_labelers < 4:
        return ()
    kinds = labels.patterns()
    row, labeler, label, times = kinds.entries()
    votes, size = kinds.labels.counts(), labels.num_labelers
    without = [winners(votes - one) for one in np.eye(labels.num_classes, dtype=votes.dtype)]
    # Of the others who label a sample: 0 no vote, 1 the class that is taken away, 2 another.
    state = np.stack([np.where(vote < 0, 0, 1 + (vote != c)) for c, vote in enumerate(without)], axis=1)
    state = state[row, label]
    found = cross_table(labeler, state, (size, 3), times)
    met, differ = found[:, 1] + found[:, 2], found[:, 2]
    usual = differ.sum() / max(met.sum(), 1)
    odd = np.flatnonzero((differ == 0) & ((1 - _OF_VOTE * usual) ** met * size < FALSE_ALARM))
    for t in odd[np.argsort(-met[odd], kind="stable")][:_MOST_ASKED]:
        mine = (labeler == t) & (state > 0)
        right, _ = learned_errors(labels.select_labelers(np.delete(np.arange(size), t)))
        right = np.bincount(kinds.inverse, right) / kinds.counts
        error = 1 - float(np.average(right[row[mine]], weights=times[mine]))
        p_value = (1 - _OF_VOTE * error) ** met[t] * size
        if p_value < FALSE_ALARM:
            who, shown = str(labels.worker_names[t]), number_of(int(met[t]), "sample")
            text = (
                f"labeler {who!r} never differs from the majority vote of the others, on {shown} of which "
                f"the vote is wrong on about {error:.0%}: is this column the vote itself? Leave it out"
            )
            return alarm("a labeler is the vote", met[t], p_value, text)
    return ()


def repeats_labels(labels: Labels, y_pred: Int[np.ndarray, " samples"], name: str = "") -> tuple[Check, ...]:
    """Are predictions an echo of the majority vote, or of one labeler?"""
    kinds, size = labels.patterns(), labels.num_labelers
    votes = kinds.labels.counts()
    if size < 2 or across(np.add, votes).max() < 3:
        return ()
    row, labeler, label, times = kinds.entries()
    vote, said = winners(votes), kinds.table(y_pred, max(labels.num_classes, int(y_pred.max()) + 1))
    clear = np.flatnonzero(vote >= 0)
    met, differ = (
        np.bincount(labeler, n, size + 1).astype(np.int64) for n in (times, times - said[row, label])
    )
    met[size] = kinds.counts[clear].sum()
    differ[size] = met[size] - said[clear, vote[clear]].sum()
    near = (differ <= _ECHO * met) & (met >= 30)
    if not near.any():
        return ()
    right, errors = learned_errors(labels)
    of_vote = 1 - right[vote[kinds.inverse] >= 0].mean() if clear.size else 0.0
    granted = np.clip([*_OF_LABELER * errors, _OF_VOTE * of_vote], 0, 1)
    p_values = bdtr(differ, met, granted) * (size + 1)
    t = int(np.argmin(np.where(near, p_values, np.inf)))
    if p_values[t] > FALSE_ALARM:
        return ()
    whom = "the majority vote" if t == size else f"labeler {str(labels.worker_names[t])!r}"
    error = of_vote if t == size else errors[t]
    what = f"predictions of {name!r}" if name else "predictions"
    equal = f"are equal to {whom} on all of" if not differ[t] else (
        f"differ from {whom} on {int(differ[t])} of"
    )  # fmt: skip
    text = (
        f"{what} {equal} {number_of(int(met[t]), 'sample')}, mistakes included (about {error:.0%} by the "
        "labels): were they learned on these labels, or copied? Then the labels cannot judge them. Judge "
        "predictions for samples that were not "
        "learned on" + ("" if t == size else ", or leave this labeler out")
    )
    return alarm("predictions repeat labels", differ[t], p_values[t], text)


def learned_errors(
    labels: Labels, y_pred: Int[np.ndarray, " samples"] | None = None
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " labelers"]]:
    """The chance that the majority vote of each sample is right, and each labeler's error rate.

    Predictions are judged as labels of one more labeler, whose error is the last.
    """
    seen, votes = np.flatnonzero(labels.labels_per_sample() > 0), labels.counts()
    raters = labels.restrict(seen)
    if y_pred is not None:
        raters = with_classifier(raters, y_pred[seen])
    modes = Modes(observed(raters, collapse=False))
    fit = modes.fit(modes.parameters(smoothed_vote_shares(votes[seen])[None]), max_cycles=60, tol=1e-5)
    vote = winners(votes)
    right = np.ones(labels.num_samples)
    right[seen] = fit.posterior[0][np.arange(seen.size), vote[seen]]
    sample, rater, label = raters.entries()
    asked = vote[seen][sample] >= 0
    differ = np.bincount(rater, asked & (label != vote[seen][sample]), raters.num_labelers)
    rate = differ / np.maximum(np.bincount(rater, asked, raters.num_labelers), 1)
    errors = 1 - np.einsum("c,tcc->t", fit.parameters.prior[0], fit.parameters.matrices[0])
    return np.where(vote >= 0, np.maximum(right, alike_right(votes)), 1.0), np.minimum(errors, rate)


def alike_right(votes: Int[np.ndarray, "samples classes"]) -> Float[np.ndarray, " samples"]:
    """The chance that the vote is right if all labelers err alike, by how often two labels agree.

    With a the chance to be right, two labels agree with probability a^2 + (1 - a)^2 / (C - 1).
    """
    total, size = votes.sum(axis=1), votes.shape[1]
    pairs = (total * (total - 1)).sum()
    agree = (votes * (votes - 1)).sum() / pairs if pairs else 1.0
    a = 1 / size + np.sqrt((size - 1) / size * max(agree - 1 / size, 0.0))
    odds = np.log(max(a * (size - 1), 1e-12) / max(1 - a, 1e-12))
    return across(np.maximum, softmax(odds * votes))


def winners(votes: Int[np.ndarray, "*rows classes"]) -> Int[np.ndarray, "*rows"]:
    """The class with the most votes; -1 where several have, or where there is no vote.

    >>> winners(np.array([[2, 1], [1, 1], [0, 0]])).tolist()
    [0, -1, -1]
    """
    top = across(np.maximum, votes)
    single = (across(np.add, (votes == top[..., None]).view(np.int8)) == 1) & (top > 0)
    return np.where(single, votes.argmax(axis=-1), -1)
