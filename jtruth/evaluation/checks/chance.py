"""Do predictions and labels agree better than chance? If not, their order or the coding may be wrong.

With V[i, c] the votes of sample i for class c (its class posterior, where the noise is known), agreement is
S = sum_i V[i, y_pred_i]. Had the predictions been handed out to the samples at random, S would have the mean
and variance of a linear statistic of a random permutation (Hoeffding 1951, A Combinatorial Central Limit
Theorem), both exact sums here. Divided by what the spread of labels and predictions allows, and by the
agreement of the labels among themselves (Spearman's correction for attenuation), S - E S estimates the
correlation of predictions and true classes: 0 by chance, 1 at best.

The alarm needs a correlation within two standard errors of chance, and one that a useful classifier would
not show: below .4 by three of them, so that small or noisy sets stay quiet. Or it is three below chance.
Measured (`tests/evaluation/checks/test_chance.py`): shuffled predictions of 300 samples with three labels
raise it in 97 %, classifiers of correlation .5 and more in fewer than 1 %.
"""

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import across, log, softmax
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import LOOK_FIRST, Check
from jtruth.labels import Labels
from jtruth.stats.agreement import krippendorff

NAME = "better than chance"
USEFUL = 0.4
ALARM = (
    "predictions agree with the labels {} chance (correlation with the truth about {:.2f} +- {:.2f}): is the "
    "order of y_pred, or the coding of classes, right? Hand over predictions by task id and as class names"
)


def chance_check(data: Inputs, model: Model) -> tuple[Check, ...]:
    """The check of the classifier against chance; nothing where the data cannot tell."""
    if data.labels is not None and data.model is None:
        votes, shared = votes_of(data.labels)
    else:
        votes = softmax(model.log_likelihood + log(model.prior)[None, :])
        shares = votes.mean(axis=0)
        spread = 1 - shares @ shares
        shared = 1 - float(across(np.add, votes * (1 - votes)).mean() / spread) if spread > 1e-12 else 0.0
    return judged(votes, shared, data.y_pred)


def votes_of(labels: Labels) -> tuple[Float[np.ndarray, "samples classes"], float]:
    """Votes, and the correlation of truth and a vote by the agreement of the labels among themselves."""
    counts = labels.counts()
    return counts.astype(np.float64), max(float(np.nan_to_num(krippendorff(counts).point)), 0.0) ** 0.5


def judged(
    votes: Float[np.ndarray, "samples classes"], shared: float, y_pred: Int[np.ndarray, " samples"]
) -> tuple[Check, ...]:
    """The verdict on predictions, where truth and a vote have the correlation `shared`."""
    found = correlation(votes, y_pred)
    if found is None or shared < 1e-6:
        return ()
    value, error = found[0] / shared, found[1] / shared
    worse = value < -3 * error
    if worse or value < min(2 * error, USEFUL - 3 * error):
        text = ALARM.format("worse than" if worse else "no better than", value, error)
        return (Check(NAME, float(value), None, LOOK_FIRST, text),)
    if value < 2 * error:
        return ()
    text = f"correlation of predictions and truth about {min(value, 1):.2f} +- {error:.2f} by chance"
    return (Check(NAME, float(value), None, "fits", text),)


def correlation(
    votes: Float[np.ndarray, "samples classes"], y_pred: Int[np.ndarray, " samples"]
) -> tuple[float, float] | None:
    """Correlation of predictions and single votes, its standard error by chance; None if one is constant.

    S - E S over sqrt(G_pred G_votes) times the number of votes, with G = 1 - sum of squared class shares: for
    two classes the phi coefficient. Var S = sum_ij d_ij^2 / (N - 1), with d the doubly centred table of what
    sample i adds if it gets the prediction of sample j; equal predictions are taken together.
    """
    size, total = len(y_pred), votes.sum()
    number = np.bincount(y_pred, minlength=votes.shape[1]).astype(np.float64)
    by_sample, by_class = votes @ number / size, votes.mean(axis=0)
    mean = float(by_class @ number)
    centred = (votes[:, c] - by_sample - (by_class[c] - mean / size) for c in range(votes.shape[1]))
    variance = sum(many * float(one @ one) for one, many in zip(centred, number, strict=True))
    variance = variance / max(size - 1, 1)
    spread = (1 - (number**2).sum() / size**2) * (1 - (votes.sum(axis=0) ** 2).sum() / total**2)
    if variance <= 1e-12 * size or spread <= 1e-12:
        return None
    scale = total * spread**0.5
    return float(votes[np.arange(size), y_pred].sum() - mean) / scale, variance**0.5 / scale
