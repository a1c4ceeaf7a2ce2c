"""Checks for copied or derived columns of labels, and for gold that cannot be what it is called.

Each uses a binomial or product distribution under a hypothesis that favors the labels:

`written_back`: no sample with several labels has two different ones: .95^n, n the labels outside the most
common class.
`standing_twice`: each column occurs at least twice: agreement^n, n the repeated labels.
`vote_column`: a labeler never differs from the majority vote of the others: (1 - .75 rate)^n, with the error
rate of the vote.
`repeats_labels`: at most 2 % of predictions differ from the vote or from a labeler, although three quarters
of the errors of the vote (half of a labeler's) would make more.
`exchanged_codes`: with permuted classes gold would fit labels and predictions far better: a binomial tail of
1e-5 of a coin, for as many permutations as there are, of the vote and of every classifier, and more than half
of the gold of every class concerned.
`gold_is_vote`: the product of the probabilities that the vote is right. `gold_is_predictions`: where the vote
differs, the product of the probabilities that the predictions are right, at least 1/4 each, because labelers
may be wrong together. With all of the truth known, (1 - error of the vote / 3)^n.
`learned_part`: at the start or end predictions equal the vote, with 2 % of exceptions, although the rest of
the samples, class by class and scaled by disagreement, predicts more.
`chosen_gold`: labelers agree on gold samples more or less than in a random choice: a hypergeometric tail of
5e-5 on either side. `random_gold_check`: the mean of 1 - largest class probability in the gold against that
of samples drawn again; and gold of one class only.

The error rates of labelers and of their vote are estimated twice (`learned_errors`), by Dawid and Skene's EM
and from the agreement of labelers; the smaller counts. Both assume independent errors.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from jaxtyping import Float, Int
from scipy.special import bdtr, bdtrc, gammaln

from jtruth._host import across, best_matching, cross_table, smoothed_vote_shares, softmax
from jtruth._random import Key, host_rng
from jtruth._validation.words import number_of, quoted
from jtruth.evaluation.checks.label_sets import Sets, modes, observed, with_classifier
from jtruth.evaluation.parts import FALSE_ALARM, Check, alarm
from jtruth.labels import Labels

Codes = Int[np.ndarray, " samples"]
Votes = Int[np.ndarray, "samples classes"]
_MOST_RIGHT = 0.95
_OF_VOTE, _OF_LABELER = 3 / 4, 1 / 2  # parts of an error rate by the labels that are used
_ECHO = 0.02  # share of differences above which predictions are no echo
_FEWEST = 10  # samples of a class outside of a part that show how often predictions differ
_GLANCE = 1000  # different rows that tell most columns apart
_MOST_ASKED = 3  # labelers whose column is compared with a fit of the others


def written_back(labels: Labels) -> tuple[Check, ...]:
    """Labelers never disagree, on enough samples to be suspicious."""
    patterns = labels.patterns()
    votes = patterns.labels.counts()
    several = across(np.add, votes) >= 2
    if labels.num_labelers < 2 or (across(np.maximum, votes) < across(np.add, votes)).any():
        return ()
    by_class = patterns.counts[several] @ votes[several]
    rare, number = int(by_class.sum() - by_class.max(initial=0)), int(patterns.counts[several].sum())
    text = (
        f"labelers agree on all of {number_of(number, 'sample')}: was one answer, such as a majority vote, "
        "copied to all of them? Then the labels cannot show accuracy. Give each labeler's own labels"
    )
    return alarm("labelers never disagree", rare, _MOST_RIGHT**rare, text)


def standing_twice(labels: Labels) -> tuple[Check, ...]:
    """Every labeler's column occurs more than once."""
    patterns = labels.patterns()
    row, labeler, label, times = patterns.entries()
    for part in (row < _GLANCE, slice(None)):
        mark = np.bincount(labeler[part], (row[part] + 1.0) * (label[part] + 2.0), labels.num_labelers)
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
    copies = int(sum(number[group[1:]].sum() for group in groups))
    votes = patterns.labels.select_labelers([group[0] for group in groups]).counts()
    pairs = (patterns.counts @ (votes * (votes.sum(axis=1, keepdims=True) - 1))).sum()
    agreement = (patterns.counts @ (votes * (votes - 1))).sum() / pairs if pairs else 1.0
    workers = labels.worker_names
    names = "; ".join(quoted(str(workers[t]) for t in group) for group in groups[:2])
    text = (
        f"every labeler occurs more than once with identical labels ({names}): was the table joined from the "
        "same labels twice? The intervals count them twice. Keep one of each"
    )
    return alarm("labelers stand twice", copies, agreement**copies, text)


def vote_column(labels: Labels) -> tuple[Check, ...]:
    """One labeler is the majority vote of the others."""
    if labels.num_labelers < 4:
        return ()
    patterns = labels.patterns()
    row, labeler, label, times = patterns.entries()
    votes, size = patterns.labels.counts(), labels.num_labelers
    without = [winners(votes - taken) for taken in np.eye(labels.num_classes, dtype=votes.dtype)]
    # Of the others who label a sample: 0 no vote, 1 the class that is taken away, 2 another.
    state = np.stack([np.where(vote < 0, 0, 1 + (vote != c)) for c, vote in enumerate(without)], axis=1)
    state = state[row, label]
    _, equal, differ = cross_table(labeler, state, (size, 3), times).T
    shared = equal + differ
    usual = differ.sum() / max(shared.sum(), 1)
    odd = np.flatnonzero((differ == 0) & ((1 - _OF_VOTE * usual) ** shared * size < FALSE_ALARM))
    for t in odd[np.argsort(-shared[odd], kind="stable")][:_MOST_ASKED]:
        judged = (labeler == t) & (state > 0)
        right, _ = learned_errors(labels.select_labelers(np.delete(np.arange(size), t)))
        right = np.bincount(patterns.inverse, right) / patterns.counts
        error = 1 - float(np.average(right[row[judged]], weights=times[judged]))
        p_value = (1 - _OF_VOTE * error) ** shared[t] * size
        if p_value < FALSE_ALARM:
            name, number = str(labels.worker_names[t]), number_of(int(shared[t]), "sample")
            text = (
                f"labeler {name!r} equals the majority vote of the others on all {number} samples, although "
                f"about {error:.0%} of the votes are wrong: is this column the vote itself? Leave it out"
            )
            return alarm("a labeler is the vote", shared[t], p_value, text)
    return ()


def repeats_labels(labels: Labels, y_pred: Codes, name: str = "") -> tuple[Check, ...]:
    """Predictions repeat the majority vote, or one labeler."""
    patterns, size = labels.patterns(), labels.num_labelers
    votes = patterns.labels.counts()
    if size < 2 or across(np.add, votes).max() < 3:
        return ()
    row, labeler, label, times = patterns.entries()
    vote, counts = winners(votes), patterns.table(y_pred, max(labels.num_classes, int(y_pred.max()) + 1))
    clear = np.flatnonzero(vote >= 0)
    number = times, times - counts[row, label]
    shared, differ = (np.bincount(labeler, n, size + 1).astype(np.int64) for n in number)
    shared[size] = patterns.counts[clear].sum()
    differ[size] = shared[size] - counts[clear, vote[clear]].sum()
    near = (differ <= _ECHO * shared) & (shared >= 30)
    if not near.any():
        return ()
    right, errors = learned_errors(labels)
    of_vote = 1 - right[vote[patterns.inverse] >= 0].mean() if clear.size else 0.0
    rates = np.clip([*_OF_LABELER * errors, _OF_VOTE * of_vote], 0, 1)
    p_values = bdtr(differ, shared, rates) * (size + 1)
    t = int(np.argmin(np.where(near, p_values, np.inf)))
    if p_values[t] > FALSE_ALARM:
        return ()
    whom, error, also = "the majority vote", of_vote, ""
    if t < size:
        whom, error = f"labeler {str(labels.worker_names[t])!r}", errors[t]
        also = ", or leave this labeler out"
    whose = f"predictions of {name!r}" if name else "predictions"
    equal = f"differ from {whom} on {int(differ[t])} of" if differ[t] else f"are equal to {whom} on all of"
    text = (
        f"{whose} {equal} {number_of(int(shared[t]), 'sample')}, including mistakes (about {error:.0%} by "
        "the labels): was the classifier trained on these labels, or were they copied? Then they cannot "
        f"grade it. Give predictions for samples that were not used in training{also}"
    )
    return alarm("predictions repeat labels", differ[t], p_values[t], text)


def learned_part(labels: Labels, y_pred: Codes, name: str = "") -> tuple[Check, ...]:
    """Predictions repeat the labels of the first or the last samples only."""
    votes, p_values = labels.counts(), {}
    vote, total = winners(votes), votes.sum(axis=1)
    asked = np.flatnonzero(vote >= 0)
    vote, differ = vote[asked], y_pred[asked] != vote[asked]
    doubt = 1 - votes[asked, vote] / total[asked]
    for share, side in product(np.arange(1, 10) / 10, (1, -1)):
        inside = np.arange(asked.size)[::side] < share * asked.size
        number, wrong = (np.bincount(vote, on, labels.num_classes) for on in (~inside, ~inside & differ))
        rate = np.where(number >= _FEWEST, wrong / np.maximum(number, 1), 0.0)[vote[inside]]
        if not rate.any() or differ[inside].sum() > _ECHO * inside.sum():
            continue
        easier = min(doubt[inside].mean() / doubt[~inside].mean(), 1.0) if doubt[~inside].any() else 1.0
        error = _OF_VOTE * easier * rate.mean()
        p_values[share, side] = float(bdtr(differ[inside].sum(), inside.sum(), error))
    (share, side), p_value = min(p_values.items(), key=lambda item: item[1], default=((0.0, 0), 1.0))
    whose, part = f"predictions of {name!r}" if name else "predictions", "first" if side > 0 else "last"
    text = (
        f"{whose} repeat the labels of about the {part} {share:.0%} of the samples only: was the classifier "
        "trained on these? Then their labels cannot grade it. Leave those samples out"
    )
    return alarm("predictions repeat labels", share, p_value * 18, text)


def learned_errors(labels: Labels) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " labelers"]]:
    """P(the vote of each sample is right), and each labeler's error rate."""
    votes, (labeled, raters, fit) = labels.counts(), _fitted(labels)
    vote = winners(votes)
    right = np.ones(labels.num_samples)
    right[labeled] = fit.posterior[0][np.arange(labeled.size), vote[labeled]]
    sample, rater, label = raters.entries()
    asked = vote[labeled][sample] >= 0
    differ = np.bincount(rater, asked & (label != vote[labeled][sample]), raters.num_labelers)
    rate = differ / np.maximum(np.bincount(rater, asked, raters.num_labelers), 1)
    errors = 1 - np.einsum("c,tcc->t", fit.prior[0], fit.matrices[0])
    return np.where(vote >= 0, np.maximum(right, right_by_agreement(votes)), 1.0), np.minimum(errors, rate)


def _fitted(labels: Labels, y_pred: Codes | None = None) -> tuple[np.ndarray, Labels, Sets]:
    """Samples with a label, their raters (predictions last), and Dawid and Skene's fit of these."""
    labeled = np.flatnonzero(labels.labels_per_sample() > 0)
    raters = labels.restrict(labeled)
    if y_pred is not None:
        raters = with_classifier(raters, y_pred[labeled])
    start = smoothed_vote_shares(labels.counts()[labeled])[None]
    return labeled, raters, modes(observed(raters, collapse=False), start, max_cycles=60, tol=1e-5)


def right_by_agreement(votes: Votes) -> Float[np.ndarray, " samples"]:
    """P(the vote is right) by agreement, a^2 + (1 - a)^2 / (C - 1) for two labels of accuracy a."""
    total, size = votes.sum(axis=1), votes.shape[1]
    pairs = (total * (total - 1)).sum()
    agree = (votes * (votes - 1)).sum() / pairs if pairs else 1.0
    a = 1 / size + np.sqrt((size - 1) / size * max(agree - 1 / size, 0.0))
    odds = np.log(max(a * (size - 1), 1e-12) / max(1 - a, 1e-12))
    return across(np.maximum, softmax(odds * votes))


def winners(votes: Int[np.ndarray, "*rows classes"]) -> Int[np.ndarray, "*rows"]:
    """The class with the most votes; -1 for ties and without votes."""
    top = across(np.maximum, votes)
    single = (across(np.add, (votes == top[..., None]).view(np.int8)) == 1) & (top > 0)
    return np.where(single, votes.argmax(axis=-1), -1)


_SURE = 1e-5
_ODD = 0.01  # below it, equality is worth a quiet word
_LEAST = 5  # gold samples of a class before it can be called exchanged
_LEAST_RIGHT = 1 / 4  # least probability that predictions are right
AT_RANDOM, _SHUFFLES, _ALARM = "gold at random", 1999, 0.01
_UNLIKE = (
    "gold samples are {} uncertain than the others (mean uncertainty {:.2f} and {:.2f}, p = {:.2g}): they "
    "are probably not a random sample, so the intervals are invalid. Describe how they were chosen "
    "(gold=jt.io.Gold(classes, inclusion or strata)), or verify random samples"
)
_ONE_CLASS = (
    "all {} gold samples are of class {!r}, but by the labels only {:.0%} of all samples are (p = {:.2g} for "
    "a random sample). Gold chosen by its class cannot be used here: verify random samples"
)


def exchanged_codes(
    gold: Codes, votes: Votes, predictions: Mapping[str, Codes], classes: Sequence[str]
) -> tuple[Check, ...]:
    """Gold fits labels and all predictions far better with permuted classes."""
    size, known = votes.shape[1], gold >= 0
    coded = [winners(votes), *predictions.values()]
    asked = [known & (codes >= 0) for codes in coded]  # only where both are known
    tables = [cross_table(gold[on], codes[on], (size, size)) for codes, on in zip(coded, asked, strict=True)]
    becomes = best_matching(np.sum(tables, axis=0))
    moved = np.flatnonzero((becomes != np.arange(size)) & (tables[0].sum(axis=1) >= _LEAST))
    if moved.size < 2 or set(becomes[moved]) != set(moved):
        return ()
    p_value = 0.0
    for table in tables:  # as many side with the permuted gold if a coin decides; most of every class do
        changed, same = table[moved, becomes[moved]], table[moved, moved]
        most = (2 * changed > table[moved].sum(axis=1)).all()
        tail = float(bdtrc(changed.sum() - 1, (changed + same).sum(), 0.5)) if most else 1.0
        p_value = max(p_value, tail)
    if p_value * np.exp(gammaln(size + 1)) > _SURE:
        return ()
    number, stay = int(known.sum()), np.trace(tables[0])
    go = tables[0][np.arange(size), becomes].sum()
    whom = "labels and predictions" if predictions else "labels"
    if moved.size == 2:
        pairs = f"{classes[moved[0]]!r} and {classes[moved[1]]!r} are swapped"
    else:
        pairs = ", ".join(f"{classes[c]!r} is read as {classes[becomes[c]]!r}" for c in moved.tolist())
    text = (
        f"gold contradicts {whom} on most samples: it matches the majority vote on {stay} of {number} "
        f"samples, and on {go} if its {pairs}. The class codes are probably mixed up: give class names "
        "instead of codes, or correct the order of the classes"
    )
    return alarm("codes of the gold", go - stay, p_value, text)


def gold_is_vote(gold: Codes, labels: Labels) -> tuple[Check, ...]:
    """Gold equals the majority vote even where the vote is uncertain."""
    vote = winners(labels.counts())
    asked = _all_equal(gold, vote, labels, 3)
    if not asked.size:
        return ()
    p_value = float(np.prod(learned_errors(labels)[0][asked]))
    text = (
        f"gold equals the majority vote on all of {number_of(asked.size, 'sample')}, although the vote "
        f"should sometimes be wrong (p = {p_value:.1g}): was it made from these labels? Then it adds "
        "nothing. Verify samples independently, or leave gold out"
    )
    return alarm("gold and the vote", asked.size, p_value, text, odd=_ODD)


def _all_equal(gold: np.ndarray, codes: np.ndarray, labels: Labels, at_least: int) -> np.ndarray:
    """Samples in both if they never differ and some sample has `at_least` labels; else none."""
    asked = np.flatnonzero((gold >= 0) & (codes >= 0))
    differ = (gold[asked] != codes[asked]).any() or labels.labels_per_sample().max() < at_least
    return asked[:0] if differ else asked


def gold_is_predictions(gold: Codes, labels: Labels, predictions: Mapping[str, Codes]) -> tuple[Check, ...]:
    """Gold equals the predictions of a classifier wherever the vote differs from them."""
    checks, vote = [], winners(labels.counts())
    for name, y_pred in predictions.items():
        equal = _all_equal(gold, y_pred, labels, 2)
        differ = equal[(vote[equal] >= 0) & (vote[equal] != y_pred[equal])]
        if not differ.size:
            continue
        whose = f"those of {name!r}" if name else "the predictions"
        text = (
            f"gold equals {whose} on all of {number_of(equal.size, 'sample')}, even on the {differ.size} "
            "where the majority vote disagrees: "
        )
        if equal.size == gold.size and (1 - differ.size / gold.size / 3) ** gold.size <= _ODD:
            text += "are they the same column? Then nothing is graded. Give the classifier's own predictions"
            checks += alarm("gold and the predictions", differ.size, None, text)
            continue
        labeled, _, fit = _fitted(labels, y_pred)
        right = fit.posterior[0][np.searchsorted(labeled, differ), y_pred[differ]]
        p_value = float(np.prod(np.maximum(right, _LEAST_RIGHT)))
        text += (
            f"was gold filled in from the predictions (p = {p_value:.1g} if not)? Then it adds nothing. "
            "Verify samples independently, or leave gold out"
        )
        checks += alarm("gold and the predictions", differ.size, p_value, text, odd=_ODD)
    return tuple(checks)


def chosen_gold(gold: Codes, votes: Votes) -> tuple[Check, ...]:
    """Labelers agree on the gold samples more, or less, than on others."""
    from scipy.stats import hypergeom  # half a second, and only where there is gold

    several, known = votes.sum(axis=1) >= 2, gold >= 0
    agreed = several & (votes.max(axis=1) == votes.sum(axis=1))
    asked = several & known
    number, agreeing = int(asked.sum()), int((agreed & known).sum())
    if not 0 < number < several.sum():
        return ()
    dist = hypergeom(int(several.sum()), int(agreed.sum()), number)
    p_value = 2 * float(min(dist.cdf(agreeing), dist.sf(agreeing - 1)))
    share = float(agreed[several & ~asked].mean())  # of the others
    if agreeing / number > share:
        kind, on, part, rest = "easy", "agree", agreeing, share
    else:
        kind, on, part, rest = "doubtful", "disagree", number - agreeing, 1 - share
    text = (
        f"labelers {on} on {part} of {number} gold samples and on {rest:.0%} of the others: gold was chosen "
        f"among {kind} samples (p = {p_value:.1g}), and does not represent the rest. Describe how it was "
        "chosen (gold=jt.io.Gold(classes, inclusion or strata)), or verify random samples"
    )
    return alarm("gold was chosen", agreeing / number - share, p_value, text)


def random_gold_check(
    class_posterior: Float[np.ndarray, "samples classes"], gold: Codes, key: Key, classes: Sequence[str]
) -> tuple[Check, ...]:
    """Gold is not a random sample, by the uncertainty of its classes from labels alone."""
    doubt, known = 1 - class_posterior.max(axis=1), gold >= 0
    number = int(known.sum())
    if number in (0, known.size):
        return ()
    of = np.unique(gold[known])
    share = float(class_posterior[:, of[0]].mean())
    if of.size == 1 and (p := share**number) < _ALARM:
        words = _ONE_CLASS.format(number, classes[of[0]], share, p)
        return (Check(AT_RANDOM, share, p, "does not fit", words),)
    if np.ptp(doubt) < 1e-9:
        return ()
    rng = host_rng(key, "gold at random")
    drawn = [doubt[rng.choice(doubt.size, number, replace=False)].mean() for _ in range(_SHUFFLES)]
    off = np.abs(np.array(drawn) - doubt.mean())
    lead = doubt[known].mean() - doubt.mean()
    p = (1 + int((off >= abs(lead) - 1e-12).sum())) / (1 + _SHUFFLES)
    if p >= _ALARM:
        text = f"gold samples are as uncertain as the others (p = {p:.2g})"
        return (Check(AT_RANDOM, float(lead), p, "fits", text),)
    words = _UNLIKE.format("more" if lead > 0 else "less", doubt[known].mean(), doubt[~known].mean(), p)
    return (Check(AT_RANDOM, float(lead), p, "does not fit", words),)
