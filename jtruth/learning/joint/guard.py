"""Two doubts that no convergence check sees: swapped classes, and data that determine nothing.

Labels alone do not name the classes. Swap two of them in pi and in the rows of every matrix, and the
likelihood is the same; only the prior (labelers are more often right than wrong) and the start tell the
twins apart, and a chain can sit in the wrong one and look perfect there. So after every fit the posterior
mean matrices of all raters are looked at, over all chains and in each one: for two classes their mean
diagonal must not be below 1/2, for more the best matching of true classes to given labels must be the
identity. Gold labels of every class name the classes, and this check has then nothing to say.
"""

from typing import NamedTuple

import numpy as np

from jtruth._host import best_matching
from jtruth._one_line import one_line
from jtruth.labels import Labels


class Switching(NamedTuple):
    """The verdict on swapped classes."""

    switched: bool  # over all chains, or in some of them
    chains: np.ndarray  # (chains,) bool
    mean_diagonal: float  # of the mean matrices of all raters
    best_permutation: np.ndarray  # (classes,) the label that true class c goes with best
    sentence: str | None

    __repr__ = one_line


def check_switching(
    mean_matrices: np.ndarray, class_names: tuple, gold: np.ndarray | None = None
) -> Switching:
    """Look at mean matrices (chains, raters, classes, classes) of raters who gave labels.

    Where `gold`, (samples,) and -1 where unknown, has samples of every class, these name the classes: raters
    who are more often wrong than right are then a finding, and no verdict is given.
    """
    overall = mean_matrices.mean(axis=0)
    named = gold is not None and np.unique(gold[gold >= 0]).size == len(class_names)
    chains = np.array([not named and _is_switched(m) for m in mean_matrices])
    switched = not named and bool(_is_switched(overall) or chains.any())
    diagonal = float(np.einsum("tcc->", overall) / (overall.shape[0] * overall.shape[1]))
    best = best_matching(overall.sum(axis=0))
    sentence = None
    if switched:
        order = ", ".join(f"{class_names[c]!r} as {class_names[k]!r}" for c, k in enumerate(best) if c != k)
        what = f"the raters would call {order}" if order else f"their mean diagonal is {diagonal:.2f}"
        where = "" if chains.all() else f" in {chains.sum()} of {chains.size} chains"
        sentence = (
            f"Class labels have switched{where}: {what}. The draws describe a mirror image of the data in "
            "which classes have exchanged names, so do not use them. Start elsewhere, use a prior with a "
            "heavier diagonal, or give gold labels for some samples of each class."
        )
    return Switching(switched, chains, diagonal, best, sentence)


def _is_switched(matrices: np.ndarray) -> bool:
    if matrices.shape[1] == 2:
        return bool(np.diagonal(matrices, axis1=1, axis2=2).mean() < 0.5)
    best = best_matching(matrices.sum(axis=0))
    return bool((best != np.arange(best.size)).any())


def check_identified(
    labels: Labels, y_pred: np.ndarray | None, gold: np.ndarray | None, informed: bool
) -> str | None:
    """Why the data cannot determine the answer, or None.

    Two raters a sample leave a continuum of matrices that fit equally well; it takes three somewhere, gold
    labels, or knowledge of the labelers (pseudo-counts, `informed`).
    """
    if informed or (gold is not None and (gold >= 0).any()):
        return None
    per_sample = labels.labels_per_sample()
    raters = per_sample if y_pred is None else per_sample + (y_pred >= 0)
    if raters.max() >= 3:
        return None
    classifier = "" if y_pred is None else " beside the classifier's"
    most = {0: "no label", 1: "one label"}.get(int(per_sample.max()), f"{per_sample.max()} labels")
    return (
        f"Not identified: no sample has more than {most}{classifier}, so without gold labels any "
        "error rate fits as well as any other and these draws repeat the prior. Get a second and third label "
        "for some samples, gold labels, or say how good the labelers are."
    )
