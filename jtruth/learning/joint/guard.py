"""Warnings that no convergence check gives: swapped classes, and data that determine nothing.

Swap two classes in pi and in the rows of every matrix, and the likelihood is the same. So the mean matrices
of all raters are checked, over all chains and in each one: for two classes their mean diagonal must be at
least 1/2, for more the best match of labels must be the identity. Gold of every class names the classes.

A labeler who is more often wrong than right makes several modes. Then half of the chains start where one
labeler is believed: the one who contradicts the mode most among those whom the other labelers confirm more
often than chance. A start in a mode without weight is given up (`latent.infer.gibbs.sources`).
"""

from collections.abc import Callable

import numpy as np

from jtruth._host import across, best_matching
from jtruth.labels import Labels
from jtruth.latent.model import LatentModel
from jtruth.latent.rows import Rows
from jtruth.learning._fit import clamp

_FEWEST = 10  # labels of a labeler
_ALARM = 3.0  # standard errors below chance that make an adversary
_BELIEF = 5.0  # votes of the labeler who is believed
_BELIEVED = 4  # labelers, one after the other
_APART = 1.0  # standard deviations between the means of both halves
SEVERAL = (
    "Chains started at the EM mode and elsewhere disagree ({:.1f} standard deviations apart), so the "
    "posterior may have several modes whose weights are unknown."
)


def check_switching(
    mean_matrices: np.ndarray, class_names: tuple, gold: np.ndarray | None = None
) -> str | None:
    """A sentence if classes have exchanged names, by mean matrices (chains, raters, classes, classes).

    The raters are those with labels. None with `gold` of every class, (samples,) and -1 where unknown.
    """
    if gold is not None and np.unique(gold[gold >= 0]).size == len(class_names):
        return None
    overall = mean_matrices.mean(axis=0)
    chains = np.array([_is_switched(m) for m in mean_matrices])
    if not (_is_switched(overall) or chains.any()):
        return None
    diagonal = float(np.einsum("tcc->", overall) / (overall.shape[0] * overall.shape[1]))
    best = best_matching(overall.sum(axis=0))
    order = ", ".join(f"{class_names[c]!r} as {class_names[k]!r}" for c, k in enumerate(best) if c != k)
    what = f"the raters would call {order}" if order else f"the mean diagonal is {diagonal:.2f}"
    where = "" if chains.all() else f" in {chains.sum()} of {chains.size} chains"
    return (
        f"Class labels have switched{where}: {what}. In these draws, classes have swapped names, so do not "
        "use them. Start elsewhere, use a prior with a heavier diagonal, or give gold labels of each class."
    )


def _is_switched(matrices: np.ndarray) -> bool:
    if matrices.shape[1] == 2:
        return bool(np.diagonal(matrices, axis1=1, axis2=2).mean() < 0.5)
    best = best_matching(matrices.sum(axis=0))
    return bool((best != np.arange(best.size)).any())


def check_identified(
    labels: Labels, y_pred: np.ndarray | None, gold: np.ndarray | None, informed: bool = False
) -> str | None:
    """A sentence if the data cannot determine the answer.

    With two raters a sample a continuum of matrices fits equally well; it takes a third one somewhere, gold
    labels, or a model with few parameters (`informed`).
    """
    if informed or (gold is not None and (gold >= 0).any()):
        return None
    per_sample = labels.labels_per_sample()
    raters = per_sample if y_pred is None else per_sample + (y_pred >= 0)
    if raters.max() >= 3:
        return None
    classifier = "" if y_pred is None else " besides the classifier's"
    most = {0: "no label", 1: "one label"}.get(int(per_sample.max()), f"{per_sample.max()} labels")
    return (
        f"Not identified: no sample has more than {most}{classifier}, so all error rates fit equally well, "
        "and the draws repeat the prior. Collect a second and third label for some samples or gold labels, "
        "or give known error rates."
    )


def away_from(model: LatentModel, rows: Rows) -> Callable[[np.ndarray], np.ndarray | None]:
    """The function from a mode (states, rows) to another start, None where one start is enough.

    Only classes start elsewhere; strata given the class stay, since the prior alone names them.
    """

    def away(mode: np.ndarray) -> np.ndarray | None:
        of_class = mode.reshape(model.num_classes, model.num_strata, -1)
        agree, number, confirmed = _agreement(rows, of_class.sum(axis=1))
        chance = 1 / model.num_classes
        error = np.sqrt(chance * (1 - chance) / np.maximum(number, 1))
        adversary = (number >= _FEWEST) & (agree < chance - _ALARM * error)
        trusted = (number >= _FEWEST) & (confirmed > chance)
        named = np.unique(rows.gold[rows.gold >= 0]).size == model.num_classes
        if named or not trusted.any() or not adversary.any():
            return None
        believed = int(np.argmin(np.where(trusted, agree, np.inf)))
        classes = clamp(_believing(rows, believed), rows.gold).T
        strata = of_class + 1e-12
        strata = strata / strata.sum(axis=1, keepdims=True)
        return np.ascontiguousarray((classes[:, None] * strata).reshape(mode.shape))

    return away


def believing_each(rows: Rows) -> list[np.ndarray]:
    """Starts (states, rows) in each of which one labeler is believed, of those with the most labels."""
    chosen = np.argsort(-rows.labels.labels_per_labeler(), kind="stable")[:_BELIEVED].tolist()
    return [np.ascontiguousarray(clamp(_believing(rows, t), rows.gold).T) for t in chosen]


def several_modes(draws: dict[str, np.ndarray]) -> str | None:
    """A sentence where both halves of the chains differ; `draws` (chains, sweeps, ...) by name."""
    most = 0.0
    for values in draws.values():
        half = len(values) // 2
        first, second = values[:half].astype(np.float64), values[half:].astype(np.float64)
        spread = np.sqrt((first.var(axis=(0, 1)) + second.var(axis=(0, 1))) / 2)
        gap = np.abs(first.mean(axis=(0, 1)) - second.mean(axis=(0, 1)))
        most = max(most, float(np.max(gap / np.maximum(spread, 1e-12), initial=0.0)))
    return SEVERAL.format(most) if most > _APART else None


def _agreement(rows: Rows, of_class: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each labeler: share of labels that equal the mode, their number, share that others confirm."""
    sample, labeler, label = rows.labels.entries()
    weight, size = rows.multiplicity[sample].astype(np.float64), rows.labels.num_labelers
    number = np.bincount(labeler, weight, size)
    agree = np.bincount(labeler, weight * of_class[label, sample], size) / np.maximum(number, 1)
    others = rows.labels.counts()[sample].astype(np.float64)
    others[np.arange(label.size), label] -= 1
    top = others == others.max(axis=1, keepdims=True)
    equal = top[np.arange(label.size), label] / top.sum(axis=1) * others.any(axis=1)
    judged = np.bincount(labeler, weight * others.any(axis=1), size)
    return agree, number, np.bincount(labeler, weight * equal, size) / np.maximum(judged, 1)


def _believing(rows: Rows, believed: int) -> np.ndarray:
    """(rows, classes) vote shares where one labeler has several votes; even where there is no vote."""
    votes = rows.labels.counts().astype(np.float64) + 1e-3
    sample, labeler, label = rows.labels.entries()
    own = labeler == believed
    np.add.at(votes, (sample[own], label[own]), _BELIEF)
    return votes / across(np.add, votes)[:, None]
