"""What the metric would be if the class of one sample were known: all that asking for a label depends on.

Let m[i, c] = E[M | data, y_i = c]. An answer k of labeler t on sample i depends on the data through y_i
alone, so E[M | data, k] is an average of m[i, :], and the expected drop of the posterior variance of M is, by
the law of total variance, exactly the variance of E[M | data, k] over the answers. Where error rates are
unknown the same is true with the parameters beside the class: averages over their draws d,

    P[k] = mean_d sum_c p_d[i, c] psi_d[t, c, k]
    E[M | k] = mean_d sum_c p_d[i, c] psi_d[t, c, k] m_d[i, c] / P[k].
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth._host import log
from jtruth._validation import collapse_rows
from jtruth.labels import Labels
from jtruth.tables.metrics import Metric, Terms
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.operating_point import collapse


class Values(NamedTuple):
    """p(y_i = c | data, draw) and E[M | data, draw, y_i = c] of distinct samples."""

    probability: Float[np.ndarray, "draws rows classes"]
    metric: Float[np.ndarray, "draws rows classes"]
    matrices: Float[np.ndarray, "draws labelers classes classes"]
    variance: float  # of the metric now


class Rows(NamedTuple):
    """Samples with the same labels, prediction and gold are one row."""

    first: Int[np.ndarray, " rows"]  # a sample of the row
    row_of_sample: Int[np.ndarray, " samples"]
    size: Int[np.ndarray, " rows"]


class Asked(NamedTuple):
    """The metric that is to become known, and its terms: exact for a ratio, else to first order."""

    metric: Metric
    terms: Terms


def merged(labels: Labels, y_pred: np.ndarray, gold: np.ndarray) -> Rows:
    """Distinct samples."""
    code = np.column_stack([labels.patterns().inverse, y_pred, gold])
    return Rows(*collapse_rows(code))


def reductions(values: Values) -> Float[np.ndarray, "rows labelers"]:
    """Expected drop of the variance of the metric for every row and labeler."""
    draws = len(values.probability)
    metric = values.metric - (values.probability * values.metric).sum(2).mean()  # centred: nothing cancels
    weighted = values.probability * metric
    drop = np.zeros((values.probability.shape[1], values.matrices.shape[1]))
    for t in range(drop.shape[1]):
        rows = values.matrices[:, t]  # (draws, classes, answers)
        chance = np.einsum("dic,dck->ik", values.probability, rows, optimize=True) / draws
        moment = np.einsum("dic,dck->ik", weighted, rows, optimize=True) / draws
        by_answer = moment**2 / np.where(chance > 0, chance, 1)
        drop[:, t] = by_answer.sum(axis=1) - moment.sum(axis=1) ** 2
    return np.maximum(drop, 0.0)


def exact_values(
    log_odds: Float[np.ndarray, " samples"],
    y_pred: np.ndarray,
    metric: Metric,
    rows: Rows,
    matrices: np.ndarray,
) -> Values:
    """Two classes, known rates: by exact tables in which one sample is certain, twice for every row.

    The probability of the class follows from the evidence of those tables. All given that the metric is
    defined.
    """
    now = count_table(collapse(log_odds, y_pred)).estimate(metric)
    log_p, mean = np.empty((len(rows.first), 2)), np.empty((len(rows.first), 2))
    for r, i in enumerate(rows.first):
        for c, sign in enumerate((-1.0, 1.0)):
            if log_odds[i] == -sign * np.inf:
                log_p[r, c], mean[r, c] = -np.inf, 0.0
                continue
            moved = log_odds.copy()
            moved[i] = sign * np.inf
            table = count_table(collapse(moved, y_pred))
            law = table.estimate(metric)
            defined = float(log(np.array(law.probability_defined)))
            log_p[r, c] = table.log_evidence - np.logaddexp(0.0, -sign * log_odds[i]) + defined
            mean[r, c] = law.mean if law.probability_defined > 0 else 0.0
    return Values(softmax(log_p, axis=1)[None], mean[None], matrices[None], now.sd**2)


def drawn_values(
    log_likelihood: Float[np.ndarray, "draws rows classes"],
    prior: Float[np.ndarray, "draws classes"],
    confusion: Float[np.ndarray, "draws classes symbols"],
    matrices: Float[np.ndarray, "draws labelers classes classes"],
    y_pred: Int[np.ndarray, " rows"],
    rows: Rows,
    asked: Asked,
    target: str,
) -> Values:
    """Any number of classes, known or learned rates: from draws of what is unknown beside the classes.

    Given a draw the samples are independent, and the metric is linearised at its expected table, which is
    exact for accuracy and of relative order 1/N for ratios.
    """
    p = softmax(log_likelihood + log(prior)[:, None] + log(np.swapaxes(confusion, 1, 2))[:, y_pred], axis=2)
    if target == "population":
        table = prior[:, :, None] * confusion
        found = np.asarray(asked.metric.of_table(table))
        return Values(p, np.broadcast_to(found[:, None, None], p.shape), matrices, float(found.var()))
    parts = asked.terms.of_samples(y_pred)  # (rows, classes)
    above, below = (((p * part).sum(2) * rows.size).sum(1) for part in parts)
    centre = above / below
    influence = (parts[0] - centre[:, None, None] * parts[1]) / below[:, None, None]
    influence = influence - (p * influence).sum(2, keepdims=True)
    within = ((p * influence**2).sum(2) * rows.size).sum(1)
    values = centre[:, None, None] + influence
    return Values(p, values, matrices, float(centre.var() + within.mean()))
