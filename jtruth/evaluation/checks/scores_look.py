"""Scores that point the other way, and thresholds where no score is.

With h_i the share of the votes of sample i for the positive class and R_i the rank of its score, sum h_i R_i
has a known mean and variance if scores are handed out at random (Hoeffding 1951). The alarm needs an area
under the ROC curve by the labels, as they are, below .4 and a sum five standard deviations below its mean:
scores that rank no worse than chance do that in fewer than 1e-6 of all sets. A threshold is compared with
the scores as it is: no probability is in it.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from jtruth._host import log, vote_shares
from jtruth._validation.words import quoted
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.parts import LOOK_FIRST, Check

NAME = "direction of the scores"
_FAR, _WORSE = -5.0, 0.4
_BACK = "Hand over 1 - score (or -score), or say positive=... for the class that high scores speak for"


def backward_scores(scores: Float[np.ndarray, " samples"], data: Inputs) -> tuple[Check, ...]:
    """Do high scores go with labels of the other class?"""
    area, away = _area(said_shares(data)[:, data.positive], scores)
    if not (away < _FAR and area < _WORSE):
        return ()
    other = data.classes[1 - data.positive] if len(data.classes) == 2 else "others"
    text = (
        f"scores point the other way: samples with high scores are labelled {other!r} (area under the ROC "
        f"curve {area:.2f} by the labels as they are). {_BACK}"
    )
    return (Check(NAME, away, None, LOOK_FIRST, text),)


def backward_columns(scores: Float[np.ndarray, "samples classes"], data: Inputs) -> tuple[Check, ...]:
    """Do most columns of scores speak against their own class?"""
    found = [_area(h, s) for h, s in zip(said_shares(data).T, scores.T, strict=True)]
    against = [name for name, (area, away) in zip(data.classes, found, strict=True) if away < _FAR]
    mean = float(np.mean([area for area, _ in found]))
    if 2 * len(against) < len(found) or mean >= 0.5:
        return ()
    text = (
        f"the columns of scores speak against their own classes (of {quoted(against, 4)}; mean area under "
        f"the ROC curve {mean:.2f} by the labels as they are): are the columns in the order of the classes? "
        "Hand over a frame whose columns are called by the classes"
    )
    return (Check(NAME, mean, None, LOOK_FIRST, text),)


def said_shares(data: Inputs) -> Float[np.ndarray, "samples classes"]:
    """What labels say of each sample: shares of the votes; of known error rates the class posterior."""
    if data.model is not None:
        return softmax(data.model.log_likelihood + log(data.model.prior)[None, :], axis=1)
    return vote_shares(data.own_labels().counts())


def _area(share: Float[np.ndarray, " samples"], scores: Float[np.ndarray, " samples"]) -> tuple[float, float]:
    """Area under the ROC curve if samples are positive by these shares, and its sds from chance."""
    from scipy.stats import rankdata  # half a second, and only where there are scores

    size, rank = share.size, rankdata(scores)
    spread = np.sqrt(share.var() * rank.var() * size**2 / max(size - 1, 1))
    if not spread > 1e-9:
        return 0.5, 0.0
    lead = float(share @ (rank - rank.mean()))
    pairs = share.sum() * (1 - share).sum()
    return 0.5 + lead / float(pairs), lead / float(spread)


def threshold_outside(scores: Float[np.ndarray, " samples"], threshold: float | None) -> tuple[Check, ...]:
    """Does a threshold leave all samples on one side?"""
    low, high = float(scores.min()), float(scores.max())
    if threshold is None or low <= threshold <= high:
        return ()
    side = "nothing" if threshold > high else "everything"
    text = (
        f"threshold {threshold:g} lies outside of the scores ({low:g} to {high:g}), so {side} is predicted "
        "positive: give one on the scale of the scores"
    )
    return (Check("threshold", float(threshold), None, LOOK_FIRST, text),)
