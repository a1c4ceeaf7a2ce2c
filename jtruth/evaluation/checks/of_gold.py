"""Gold that cannot be what it is called: codes exchanged, the vote or the predictions again, chosen samples.

`exchanged_codes`: with the classes of the gold permuted it would fit labels and predictions far better. Were
the labels right as often under the true codes as under the exchanged ones, which of the two a sample sides
with would be a coin toss; the alarm needs a binomial tail of 1e-5, for as many permutations as there are, of
the majority vote and of every classifier, and more than half of the gold samples of every class concerned.

`gold_is_vote`: gold never differs from the majority vote, although by the labels the vote should be wrong on
some gold samples: the product of the chances to be right (`learned_errors`) is below 1e-4.

`gold_is_predictions`: gold never differs from the predictions. A classifier may be far better than its judges
make it look, so it is granted two thirds of the errors that labels see: (1 - error / 3)^n below 1e-4.

`chosen_gold`: gold samples on which labelers agree are so many, or so few, as in no random choice: a
hypergeometric tail of 5e-5 on either side. Where gold is said to be chosen nobody asks.

`random_gold_check`: the doubt of a sample, 1 less its most probable class given the labels, does not depend
on a random choice, so the mean doubt of the gold is compared with that of samples drawn again and again: a
permutation test. One more kind of choice is seen: gold of one class only, where random samples would hardly
be of one class.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import bdtrc, gammaln

from jtruth._host import best_matching, cross_table
from jtruth._random import Key, host_rng
from jtruth._validation.words import number_of
from jtruth.evaluation.checks.columns import learned_errors, winners
from jtruth.evaluation.parts import Check, alarm
from jtruth.labels import Labels

_SURE = 1e-5
_ODD = 0.01  # below it, equality is worth a quiet word
_LEAST = 5  # gold samples of a class before it can be called exchanged
_GRANTED = 1 / 3  # of the errors that labels see in a classifier, what is taken for its own
AT_RANDOM, _SHUFFLES, _ALARM = "gold at random", 1999, 0.01
_UNLIKE = (
    "gold samples are {} doubtful than the others (mean doubt {:.2f} and {:.2f}, p = {:.2g}): they were "
    "hardly chosen at random, and then intervals do not hold. Say how they were chosen "
    "(gold=jt.io.Gold(classes, inclusion or strata)), or ask for the truth of samples drawn at random"
)
_ONE_CLASS = (
    "all {} gold samples are of class {!r}, and by the labels {:.0%} of all samples are: of as many random "
    "ones that would happen with p = {:.2g}. Gold chosen by its class does not tell what this answer "
    "reads from it: ask for the truth of samples drawn at random"
)


def exchanged_codes(
    gold: Int[np.ndarray, " samples"],
    votes: Int[np.ndarray, "samples classes"],
    predictions: Mapping[str, Int[np.ndarray, " samples"]],
    classes: Sequence[str],
) -> tuple[Check, ...]:
    """Would gold fit labels and all predictions with its classes permuted?"""
    size, known = votes.shape[1], gold >= 0
    said = [winners(votes), *predictions.values()]
    both = [(codes, known & (codes >= 0)) for codes in said]  # where nothing is said nothing is counted
    tables = np.array([cross_table(gold[on], codes[on], (size, size)) for codes, on in both])
    becomes = best_matching(tables.sum(axis=0))
    moved = np.flatnonzero((becomes != np.arange(size)) & (tables[0].sum(axis=1) >= _LEAST))
    if moved.size < 2 or set(becomes[moved]) != set(moved):
        return ()
    p_value = max(_coin(table, moved, becomes) for table in tables)
    if p_value * np.exp(gammaln(size + 1)) > _SURE:
        return ()
    number, stay = int(known.sum()), np.trace(tables[0])
    go = tables[0][np.arange(size), becomes].sum()
    whom = "labels and predictions" if predictions else "labels"
    if moved.size == 2:
        pairs = f"{classes[moved[0]]!r} and {classes[moved[1]]!r} are exchanged"
    else:
        pairs = ", ".join(f"{classes[c]!r} is read as {classes[becomes[c]]!r}" for c in moved.tolist())
    text = (
        f"gold contradicts {whom} on most samples: it fits the majority vote on {stay} of {number}, and on "
        f"{go} if its {pairs}. Its codes, or those of the labels, are probably not what you think: hand over "
        "class names instead of codes, or correct the order of the classes"
    )
    return alarm("codes of the gold", go - stay, p_value, text)


def _coin(table: np.ndarray, moved: np.ndarray, becomes: np.ndarray) -> float:
    """P(as many side with the permuted gold | a coin decides); 1 unless most of every class do."""
    go, stay = table[moved, becomes[moved]], table[moved, moved]
    if (2 * go <= table[moved].sum(axis=1)).any():
        return 1.0
    return float(bdtrc(go.sum() - 1, (go + stay).sum(), 0.5))


def gold_is_vote(gold: Int[np.ndarray, " samples"], labels: Labels) -> tuple[Check, ...]:
    """Does gold never differ from the majority vote, where the vote is in doubt?"""
    vote = winners(labels.counts())
    asked = np.flatnonzero((gold >= 0) & (vote >= 0))
    if not asked.size or (gold[asked] != vote[asked]).any() or labels.labels_per_sample().max() < 3:
        return ()
    p_value = float(np.prod(learned_errors(labels)[0][asked]))
    text = (
        f"gold is the majority vote on each of {number_of(asked.size, 'sample')}, where by the labels the "
        f"vote should sometimes be wrong (p = {p_value:.1g}): was it made from these labels? Then it proves "
        "nothing. Find out the truth by other means, or leave gold out"
    )
    return alarm("gold and the vote", asked.size, p_value, text, odd=_ODD)


def gold_is_predictions(
    gold: Int[np.ndarray, " samples"], labels: Labels, predictions: Mapping[str, Int[np.ndarray, " samples"]]
) -> tuple[Check, ...]:
    """Does gold never differ from the predictions of a classifier that labels contradict?"""
    asked, found = np.flatnonzero(gold >= 0), []
    for name, y_pred in predictions.items():
        if not asked.size or (gold[asked] != y_pred[asked]).any() or labels.labels_per_sample().max() < 2:
            continue
        error = float(learned_errors(labels, y_pred)[1][-1])
        p_value = (1 - _GRANTED * error) ** asked.size
        whose = f"those of {name!r}" if name else "the predictions"
        text = (
            f"gold is equal to {whose} on each of {number_of(asked.size, 'sample')}, and by the labels about "
            f"{error:.0%} of the predictions are wrong: was gold filled in from the predictions? Then it "
            "proves nothing. Find out the truth by other means, or leave gold out"
        )
        found += alarm("gold and the predictions", asked.size, p_value, text, odd=_ODD)
    return tuple(found)


def chosen_gold(
    gold: Int[np.ndarray, " samples"], votes: Int[np.ndarray, "samples classes"]
) -> tuple[Check, ...]:
    """Do labelers agree on the gold samples as on others?"""
    from scipy.stats import hypergeom  # half a second, and only where there is gold

    several, known = votes.sum(axis=1) >= 2, gold >= 0
    agreed = several & (votes.max(axis=1) == votes.sum(axis=1))
    asked, number = several & known, int((several & known).sum())
    seen = int((agreed & known).sum())
    if not 0 < number < several.sum():
        return ()
    law = hypergeom(int(several.sum()), int(agreed.sum()), number)
    p_value = 2 * float(min(law.cdf(seen), law.sf(seen - 1)))
    others = float(agreed[several & ~asked].mean())
    kind, on = ("easy", "agree") if seen / number > others else ("doubtful", "disagree")
    part = seen if on == "agree" else number - seen
    other = others if on == "agree" else 1 - others
    text = (
        f"labelers {on} on {part} of {number} gold samples and on {other:.0%} of the others: gold was chosen "
        f"among {kind} samples (p = {p_value:.1g}), and what it says does not hold for the rest. Say how it "
        "was chosen (gold=jt.io.Gold(classes, inclusion or strata)), or ask for the truth of samples drawn "
        "at random"
    )
    return alarm("gold was chosen", seen / number - others, p_value, text)


def random_gold_check(
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    key: Key,
    classes: Sequence[str],
) -> tuple[Check, ...]:
    """The check, `class_posterior` by labels alone; nothing where all or none is gold, or doubt is equal."""
    doubt, known = 1 - class_posterior.max(axis=1), gold >= 0
    number = int(known.sum())
    if number in (0, known.size):
        return ()
    seen = np.unique(gold[known])
    share = float(class_posterior[:, seen[0]].mean())
    if seen.size == 1 and (p := share**number) < _ALARM:
        words = _ONE_CLASS.format(number, classes[seen[0]], share, p)
        return (Check(AT_RANDOM, share, p, "does not fit", words),)
    if np.ptp(doubt) < 1e-9:
        return ()
    rng = host_rng(key, "gold at random")
    drawn = [doubt[rng.choice(doubt.size, number, replace=False)].mean() for _ in range(_SHUFFLES)]
    off = np.abs(np.array(drawn) - doubt.mean())
    seen = doubt[known].mean() - doubt.mean()
    p = (1 + int((off >= abs(seen) - 1e-12).sum())) / (1 + _SHUFFLES)
    means = (float(doubt[known].mean()), float(doubt[~known].mean()))
    if p >= _ALARM:
        text = f"gold samples are as doubtful as the others (p = {p:.2g})"
        return (Check(AT_RANDOM, float(seen), p, "fits", text),)
    words = _UNLIKE.format("more" if seen > 0 else "less", *means, p)
    return (Check(AT_RANDOM, float(seen), p, "does not fit", words),)
