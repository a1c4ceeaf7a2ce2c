"""Predictions that need a word before they are judged: the same twice, one class only, never a class of gold.

Nothing here is a guess: predictions and gold are compared as they are.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Int

from jtruth._validation.words import number_of
from jtruth.evaluation.parts import LOOK_FIRST, WORTH_KNOWING, Check

Predictions = Mapping[str, Int[np.ndarray, " samples"]]  # by the classifier's name, "" if there is one

_MANY = 30  # samples on which two classifiers hardly agree by chance


def same_predictions(predictions: Predictions) -> tuple[Check, ...]:
    """Two classifiers who predict the same class on every sample."""
    return tuple(
        Check(
            "the same predictions", float(one.size), None, LOOK_FIRST if one.size >= _MANY else WORTH_KNOWING,
            f"{a!r} and {b!r} predict the same class on each of {number_of(one.size, 'sample')}: their "
            "difference is 0 whatever the truth is. Was one file given twice? Hand over the other's "
            "predictions, or leave one out",
        )
        for (a, one), (b, two) in combinations(predictions.items(), 2)
        if (one == two).all()
    )  # fmt: skip


def one_class_only(predictions: Predictions, classes: Sequence[str]) -> tuple[Check, ...]:
    """One of several classifiers who always predicts one class (of a single one `inputs.warnings` tells)."""
    constant = {name: int(codes[0]) for name, codes in predictions.items() if (codes == codes[0]).all()}
    return tuple(
        Check(
            "one class predicted", None, None, WORTH_KNOWING,
            f"every prediction of {name!r} is {classes[code]!r}: its metrics that need another prediction "
            "are undefined or trivial; compare it by accuracy or recall, or leave it out",
        )
        for name, code in constant.items()
        if name
    )  # fmt: skip


def never_predicted(
    gold: Int[np.ndarray, " samples"], predictions: Predictions, classes: Sequence[str]
) -> tuple[Check, ...]:
    """A class that gold samples are of and a classifier never predicts."""
    of_gold = np.bincount(gold[gold >= 0], minlength=len(classes))
    found = []
    for name, codes in predictions.items():
        absent = (of_gold > 0) & (np.bincount(codes, minlength=len(classes)) == 0)
        for c in np.flatnonzero(absent).tolist() if (codes != codes[0]).any() else ():
            whose = f"{name!r} never predicts" if name else "nobody predicts"
            text = (
                f"{whose} class {classes[c]!r}, which {number_of(int(of_gold[c]), 'gold sample')} are of: "
                "its recall is 0 and its precision undefined. Is it called otherwise in the predictions?"
            )
            found.append(Check("class never predicted", float(of_gold[c]), None, WORTH_KNOWING, text))
    return tuple(found)
