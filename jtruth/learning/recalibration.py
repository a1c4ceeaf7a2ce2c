"""Gold that says how to read what labels alone made too sure, or sure of the wrong thing.

Labels alone give h[i, c] = p(y_i = c | labels) under some model. Where labelers copy each other or share
mistakes, h is too sure and may be biased, yet it still ranks the samples. So learn from the gold how to read
it:

    p(y_i = c) proportional to exp(bias_c + slope * log h[i, c]),
    bias_c ~ N(0, 1.5^2 / 2),  log slope ~ N(0, LOG_SLOPE_SD^2).

For two classes this is p(y_i = 1) = sigmoid(a + b logit h_i) with a = bias_1 - bias_0 ~ N(0, 1.5^2). The
posterior of bias and slope is sampled by importance sampling around its mode, from a Student t law; gold
samples keep their class, the others are drawn. h must not have seen the gold. Gold may be chosen at random,
or by h itself as far as bias and slope say all.
"""

from typing import Any

import numpy as np
import scipy
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth._arrays import systematic
from jtruth._random import host_rng
from jtruth._validation.in_range import check_codes, check_rows
from jtruth.learning._fit import Fit, one_hot

BIAS_SD = 1.5 / np.sqrt(2)  # of one bias; the difference of two has 1.5
LOG_SLOPE_SD = 0.7  # judges that copy each other ask for slopes below .4
FLOOR = 1e-6  # probabilities below count as this: no number of labels makes a class impossible
_FREEDOM = 5.0
_PROPOSALS = 8000
_LEAST_ESS = 1000.0
_CHUNK = 8_000_000


def recalibrate(
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    *,
    key: Any = None,
    num_draws: int = 4000,
) -> Fit:
    """Learn from gold how to read a class posterior, and draw the classes of all samples.

    Args:
        class_posterior: (samples, classes), made without the gold; rows sum to 1.
        gold: (samples,) known classes, -1 where unknown. Without any the draws are those of the prior.
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        num_draws: how many draws.

    Returns:
        `Fit`, of means over the draws; its log-likelihood is NaN, and it has converged where the mode was
        found and `ess` is at least 1000. Its own: `bias` (draws, classes) and `slope` (draws,); `counts`
        (draws, classes), samples of each class, gold counted as it is, and `shares` of them; `ess` of the
        importance sample.

    Raises:
        ValueError: shapes, probabilities or classes that cannot be.

    >>> import jax
    >>> h = np.repeat([[0.1, 0.9], [0.9, 0.1]], [600, 400], axis=0)
    >>> gold = np.full(1000, -1)
    >>> gold[::25] = np.where(np.arange(0, 1000, 25) % 4 == 0, 0, np.arange(0, 1000, 25) < 600)
    >>> found = recalibrate(h, gold, key=jax.random.key(0))  # gold: a quarter of those ones are zeros
    >>> print(f"{found.shares[:, 1].mean():.2f}")
    0.46
    """
    rng = host_rng(key, "recalibration")
    h, gold = np.asarray(class_posterior, np.float64), np.asarray(gold)
    if h.ndim != 2 or h.shape[1] < 2:
        raise ValueError(f"class_posterior has shape {h.shape}; give (samples, classes)")
    check_rows(h, "class_posterior")
    check_codes(gold, h.shape[1], "gold", size=len(h), missing=True, kinds="iu")
    gold = gold.astype(np.int64)
    score = np.log(np.maximum(h, FLOOR))
    known = np.flatnonzero(gold >= 0)
    answers, times = np.unique(np.column_stack([score, gold])[known], axis=0, return_counts=True)
    gold_rows = answers[:, :-1], answers[:, -1].astype(int), times
    points, ess, found = _parameters(*gold_rows, num_draws, rng)
    counts = np.bincount(gold[known], minlength=h.shape[1])[None, :] + np.zeros((num_draws, 1), np.int64)
    rows, row_of_sample, size = np.unique(score[gold < 0], axis=0, return_inverse=True, return_counts=True)
    total = np.zeros(rows.shape)
    step = max(1, _CHUNK // max(rows.size, 1))
    for start in range(0, num_draws, step):
        part = slice(start, start + step)
        p = np.exp(_log_probability(points[part], rows))
        total += p.sum(axis=0)
        counts[part] += rng.multinomial(size, p).sum(axis=1)
    posterior = one_hot(gold, h.shape[1])
    posterior[gold < 0] = (total / num_draws)[row_of_sample.reshape(-1)]
    shares, converged = counts / len(h), bool(found and ess >= _LEAST_ESS)
    own = {"bias": points[:, :-1], "slope": np.exp(points[:, -1]), "counts": counts, "shares": shares,
           "ess": ess}  # fmt: skip
    return Fit(shares.mean(axis=0), posterior, float("nan"), converged, own=own)


def _log_probability(points: np.ndarray, score: np.ndarray) -> np.ndarray:
    """log p(class) of rows of log h, for points (..., classes + 1) of biases and log slope."""
    logits = points[..., None, :-1] + np.exp(points[..., None, -1:]) * score
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def _log_density(points: np.ndarray, score: np.ndarray, truth: np.ndarray, times: np.ndarray) -> np.ndarray:
    """log prior + log likelihood of gold answers of these log h and classes, up to a constant, (points,)."""
    prior = -0.5 * (points[:, :-1] ** 2).sum(1) / BIAS_SD**2 - 0.5 * (points[:, -1] / LOG_SLOPE_SD) ** 2
    log_p = _log_probability(points, score)
    return prior + log_p[:, np.arange(truth.size), truth] @ times


def _parameters(
    score: np.ndarray, truth: np.ndarray, times: np.ndarray, num_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, float, bool]:
    """Draws (draws, classes + 1), effective size of the importance sample, whether the mode was found."""
    size, gold = score.shape[1] + 1, (score, truth, times)

    def negative(v):
        return -_log_density(v[None], *gold)[0]

    best = scipy.optimize.minimize(negative, np.zeros(size), method="BFGS", options={"gtol": 1e-4})
    # Expected curvature there: prior plus Fisher information, positive.
    p = np.exp(_log_probability(best.x, score))  # (answers, classes)
    one = np.broadcast_to(np.eye(size - 1), (*p.shape, size - 1))
    jacobian = np.concatenate([one, np.exp(best.x[-1]) * score[:, :, None]], axis=2)
    centred = jacobian - (p[:, :, None] * jacobian).sum(axis=1, keepdims=True)
    information = np.einsum("i,ic,icj,ick->jk", times.astype(float), p, centred, centred)
    information += np.diag([*np.full(size - 1, BIAS_SD**-2), LOG_SLOPE_SD**-2])
    root = np.linalg.cholesky(np.linalg.inv(information))
    stretch = np.sqrt(rng.chisquare(_FREEDOM, _PROPOSALS) / _FREEDOM)
    offset = rng.standard_normal((_PROPOSALS, size)) / stretch[:, None]
    points = best.x + offset @ root.T
    step = max(1, _CHUNK // max(score.size, 1))
    parts = [_log_density(points[k : k + step], *gold) for k in range(0, _PROPOSALS, step)]
    proposal = -0.5 * (_FREEDOM + size) * np.log1p((offset**2).sum(1) / _FREEDOM)
    weight = softmax(np.concatenate(parts) - proposal)
    drawn = systematic(weight, num_draws, rng.random())
    # BFGS also stops where rounding ends all progress; what counts is how flat the density is there.
    return rng.permutation(points[drawn]), float(1 / (weight**2).sum()), bool(np.abs(best.jac).max() < 1e-2)
