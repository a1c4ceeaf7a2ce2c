"""Strengths of systems: Bradley and Terry's model with Davidson's ties and an order effect.

    p(first better) : p(second better) : p(tie) = exp(d/2) : exp(-d/2) : nu,   d = s_first - s_second + g_j o,


with o = +1 if the first of the pair was shown first, -1 if the second was and 0 if unknown (Davidson 1970,
Biometrika 57; Davidson and Beaver 1977). Weak normal priors make the mode exist. Answers to one question are
dependent: the covariance is the sandwich H^-1 J H^-1 with scores summed by question (Mueller 2013,
Econometrica 81), and H^-1 if every question has one answer.

If the truth is only known by evidence, log p(answers of the judges | first, second, tie better) from error
matrices, the likelihood sums over the three.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp

from jtruth._host import known_classes, labels_log_likelihood
from jtruth._one_line import one_line
from jtruth._validation import collapse_rows
from jtruth.labels import Labels
from jtruth.pairwise.reading import Comparisons

DRAWS, _MATRICES, _EFFECTS = 4000, 20, 50  # draws of strengths; of error matrices; order effects
PRIOR_SD = (2.0, 1.5, 1.0)  # of strengths, of log nu, of order effects
_PRIOR_TIES = -1.0  # mean of log nu


class Davidson(NamedTuple):
    """Mode and covariance of strengths, log nu and order effects, in this order."""

    mode: Float[np.ndarray, " parameters"]
    covariance: Float[np.ndarray, "parameters parameters"]
    num_systems: int

    __repr__ = one_line

    def draws(self, rng: np.random.Generator, number: int) -> Float[np.ndarray, "draws parameters"]:
        """Draws by the normal approximation."""
        return rng.multivariate_normal(self.mode, self.covariance, number, method="eigh")


def design(
    pair: Int[np.ndarray, "rows 2"],
    num_systems: int,
    judge: Int[np.ndarray, " rows"] | None = None,
    order: Int[np.ndarray, " rows"] | None = None,
) -> Float[np.ndarray, "rows 3 parameters"]:
    """Terms of each parameter in the log odds of first, second and tie; an order effect for each judge."""
    rows, effects = len(pair), 0 if judge is None else int(judge.max()) + 1
    x = np.zeros((rows, 3, num_systems + 1 + effects))
    row = np.arange(rows)
    for column, size in ((pair[:, 0], 0.5), (pair[:, 1], -0.5)):
        x[row, 0, column], x[row, 1, column] = size, -size
    x[:, 2, num_systems] = 1.0
    if judge is not None:
        half = 0.5 * np.asarray(order)
        x[row, 0, num_systems + 1 + judge], x[row, 1, num_systems + 1 + judge] = half, -half
    return x


def fit_davidson(
    x: Float[np.ndarray, "kinds 3 parameters"],
    evidence: Float[np.ndarray, "kinds 3"],
    kind: Int[np.ndarray, " rows"],
    question: Int[np.ndarray, " rows"],
    num_systems: int,
) -> Davidson:
    """The mode by L-BFGS, and the covariance around it.

    Args:
        x: `design` of each kind of row.
        evidence: log p(data | first, second, tie better); for an answer 0 at it and -inf elsewhere.
        kind: the kind of each row.
        question: clusters of dependent rows.
        num_systems: number of parameters that are strengths.
    """
    size, times = x.shape[2], np.bincount(kind, minlength=len(x))
    sd = np.repeat(PRIOR_SD, [num_systems, 1, size - num_systems - 1])
    centre = np.where(np.arange(size) == num_systems, _PRIOR_TIES, 0.0)

    def parts(theta: Any) -> tuple[Any, ...]:
        log_p = log_softmax(x @ theta, axis=1)
        value = logsumexp(log_p + evidence, axis=1)
        p, r = np.exp(log_p), np.exp((log_p + evidence).T - value).T
        return value, p, r, np.einsum("nk,nkp->np", r - p, x)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, _, _, score = parts(theta)
        z = (theta - centre) / sd
        return 0.5 * z @ z - times @ value, z / sd - times @ score

    mode = minimize(loss, centre, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "gtol": 1e-7}).x
    _, p, r, score = parts(mode)
    precision = np.diag(sd**-2.0)
    inverse = np.linalg.inv(_spread(x, p, times) - _spread(x, r, times) + precision)
    _, place, number = np.unique(question, return_inverse=True, return_counts=True)
    if number.max() == 1:
        return Davidson(mode, inverse, num_systems)
    of_question = csr_array((np.ones(len(kind)), (place, kind)), shape=(len(number), len(x)))
    few = len(number) / max(len(number) - 1, 1)
    middle = few * score.T @ ((of_question.T @ of_question) @ score) + precision
    return Davidson(mode, inverse @ middle @ inverse, num_systems)


def _spread(x: np.ndarray, p: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Sum over rows of the covariance of their three lines of the design, under weights p."""
    mean = np.einsum("nk,nkp->np", p, x)
    lines = x.reshape(-1, x.shape[2])
    return ((p * times[:, None]).reshape(-1, 1) * lines).T @ lines - (times[:, None] * mean).T @ mean


class Strengths(NamedTuple):
    """Draws: strength of each system, win rate (ties half) against the average of the others, nu of ties."""

    strength: Float[np.ndarray, "draws systems"]
    win_rate: Float[np.ndarray, "draws systems"]
    nu: Float[np.ndarray, " draws"]

    __repr__ = one_line

    @property
    def rank_probabilities(self) -> Float[np.ndarray, "systems ranks"]:
        """P(a system has a rank), the first rank the strongest."""
        rank = (-self.strength).argsort(axis=1).argsort(axis=1)
        return np.stack([(rank == k).mean(axis=0) for k in range(rank.shape[1])], axis=1)

    def against(self, a: int, b: int) -> Float[np.ndarray, " draws"]:
        """Win rate of a system against another, a tie counting half."""
        return _win_rate(self.strength[:, a] - self.strength[:, b], self.nu)

    @classmethod
    def of(cls, theta: Float[np.ndarray, "draws parameters"], num_systems: int) -> "Strengths":
        """From draws of the parameters."""
        s, nu = theta[:, :num_systems], np.exp(theta[:, num_systems])
        s = s - s.mean(axis=1, keepdims=True)
        win = np.zeros_like(s)
        for k in range(num_systems):
            win[:, k] = _win_rate(s[:, [k]] - np.delete(s, k, axis=1), nu[:, None]).mean(axis=1)
        return cls(s, win, nu)


def _win_rate(difference: np.ndarray, nu: np.ndarray) -> np.ndarray:
    up = np.exp(difference / 2)
    return (up + nu / 2) / (up + 1 / up + nu)


def strengths_of(
    found: Comparisons,
    rng: np.random.Generator,
    corrected: tuple[Labels, np.ndarray, np.ndarray] | None = None,
) -> Strengths:
    """Strengths by the answers as given, with order effects; or corrected for the judges' errors.

    `corrected` are the answers as labels, known classes and draws of the error matrices; the mode is found
    for some of these draws, to include their uncertainty.
    """
    size = len(found.systems)
    if corrected is None:
        pair, judge, order = found.pair[found.item], found.judge, found.exchanged
        seen = np.unique(np.column_stack([judge, pair, order])[order >= 0], axis=0)
        twice, number = np.unique(seen[:, :3], axis=0, return_counts=True)
        both = np.isin(judge, twice[number > 1, 0])  # others show no order effect
        most = np.argsort(-np.bincount(judge), kind="stable").argsort(kind="stable")[judge]
        effect = np.minimum(most, _EFFECTS)  # judges with few answers share one
        shown = np.where(both & (order >= 0), 1 - 2 * order, 0)
        rows = np.column_stack([pair, effect, shown, found.answer])
        first, kind, _ = collapse_rows(rows)
        kinds = rows[first]
        x = design(kinds[:, :2], size, kinds[:, 2], kinds[:, 3])
        evidence = np.where(np.arange(3) == kinds[:, [4]], 0.0, -np.inf)
        fit = fit_davidson(x, evidence, kind, found.question[found.item], size)
        return Strengths.of(fit.draws(rng, DRAWS), size)
    labels, gold, matrices = corrected
    x, every = design(found.pair, size), np.arange(len(found.pair))
    chosen, parts = np.linspace(0, len(matrices) - 1, _MATRICES).astype(int), []
    for one in matrices[chosen]:
        evidence = labels_log_likelihood(one, *labels.arrays, labels.num_samples)
        fit = fit_davidson(x, known_classes(evidence, gold), every, found.question, size)
        parts.append(fit.draws(rng, DRAWS // _MATRICES))
    return Strengths.of(np.concatenate(parts), size)
