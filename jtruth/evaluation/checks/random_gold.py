"""Was gold a random sample? Its samples should be as doubtful as the rest.

Gold that was asked where labels disagree, or where they agree, says something else of the other samples than
gold at random, and the intervals that rest on it do not hold. Whether gold was random cannot be seen in the
gold answers, but in the samples that were chosen: the doubt of a sample, 1 less its most probable class given
the labels, does not depend on the choice. So the mean doubt of the gold samples is compared with that of as
many samples drawn at random, again and again: a permutation test, whose false alarms are as often as its
p-value says. Of other kinds of choice one more is seen: gold of one class only, where by the labels as many
random samples would hardly be of one class.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from jtruth._random import Key, host_rng
from jtruth.evaluation.parts import Check

NAME = "gold at random"
_SHUFFLES, _ALARM = 1999, 0.01
LOUD = (
    "gold samples are {} doubtful than the others (mean doubt {:.2f} and {:.2f}, p = {:.2g}): they were "
    "hardly chosen at random, and then intervals do not hold. Say how they were chosen "
    "(gold=jt.io.Gold(classes, inclusion or strata)), or ask for the truth of samples drawn at random"
)


ONE_CLASS = (
    "all {} gold samples are of class {!r}, and by the labels {:.0%} of all samples are: of as many random "
    "ones that would happen with p = {:.2g}. Gold chosen by its class does not tell what this answer "
    "reads from it: ask for the truth of samples drawn at random"
)


def random_gold_check(
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    key: Key,
    classes: Sequence[str],
) -> tuple[Check, ...]:
    """The check; nothing where all or none is gold, or all samples are equally doubtful.

    Args:
        class_posterior: (samples, classes) by labels alone.
        gold: (samples,) -1 where unknown.
        key: of the permutations.
        classes: their names.
    """
    doubt, known = 1 - class_posterior.max(axis=1), gold >= 0
    number = int(known.sum())
    if number in (0, known.size):
        return ()
    seen = np.unique(gold[known])
    if seen.size == 1 and (p := float(class_posterior[:, seen[0]].mean()) ** number) < _ALARM:
        share = class_posterior[:, seen[0]].mean()
        words = ONE_CLASS.format(number, classes[seen[0]], share, p)
        return (Check(NAME, float(share), p, "does not fit", words),)
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
        return (Check(NAME, float(seen), p, "fits", text),)
    words = LOUD.format("more" if seen > 0 else "less", *means, p)
    return (Check(NAME, float(seen), p, "does not fit", words),)
