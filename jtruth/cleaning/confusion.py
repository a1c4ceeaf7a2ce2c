"""Samples that confuse everybody alike: what the labels of one sample say when they are not independent.

Fifty labels of one picture are not fifty witnesses. If the picture shows a deer that looks like a horse,
people err together, and a model in which labels err independently given the class becomes certain of the
horse. Here every sample has its own row of label probabilities, drawn around the row of its class:

    q_i | y_i = c  ~  Dirichlet(concentration * matrix[c]),     labels of sample i  ~  q_i,

so that the counts of a sample's labels are Dirichlet-multinomial, more spread out than multinomial. The
marginal likelihood is maximised, with one label of every kind and eight right ones as a prior of each row and
log concentration ~ N(log 10, 2^2). That is a crowd of people who are alike. What one labeler's labels say is
then taken from rows of their own, drawn to the crowd's by ten labels a class, and the evidence of the n
labels of a sample is divided by the design effect of such samples,

    log p(labels | c)  =  (1 + concentration) / (n + concentration)  sum_t log row_t[c, z_t],

which never exceeds that of 1 + concentration independent labels. The concentration is learned from
disagreement between samples of one class; labelers of very different skill in one sample look like it too, so
this is a cautious answer (benchmarks/label_issues.py has it beside independence on six crowds). Uncertainty
is carried by bootstrap samples of samples. With one label a sample nothing can be learned.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp, softmax

from jtruth._host import labels_log_likelihood
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth.labels import Labels

_STEPS, _OWN = 10, 10.0  # of EM for the labelers, and labels of the crowd that each row is drawn to
_CENTRE, _WIDTH = np.log(10.0), 2.0  # of log concentration
_PSEUDO, _RIGHT = 1.0, 8.0  # labels that each row is taken to have had, of every kind and right ones


class SharedConfusion(NamedTuple):
    """A crowd's rows, how much samples differ, and the class of each sample."""

    prior: Float[np.ndarray, " classes"]
    matrix: Float[np.ndarray, "classes classes"]  # p(label | class) of the crowd
    rows: Float[np.ndarray, "labelers classes classes"]  # of each labeler, drawn to the crowd's
    concentration: float  # large: labels of one sample are independent given its class
    concentrations: Float[np.ndarray, " draws"]  # of bootstrap samples
    class_posterior: Float[np.ndarray, "samples classes"]
    draws: Float[np.ndarray, "draws samples classes"]  # under bootstrap samples: for `suspicious_labels`

    __repr__ = one_line

    def design_effect(self, num_labels: float) -> float:
        """How many labels of one sample say as much as one independent label, where it has `num_labels`."""
        return (num_labels + self.concentration) / (1 + self.concentration)


def shared_confusion(labels: Labels, *, num_bootstrap: int = 50, key: Any = None) -> SharedConfusion:
    """Fit the model to the counts of each sample's labels.

    Args:
        labels: some samples with two labels or more.
        num_bootstrap: bootstrap samples of samples.
        key: of the bootstrap; 0 if None.

    Raises:
        ValueError: no sample has two labels; fewer than two bootstrap samples.
        RuntimeError: the search for the maximum fails.

    Example:
        >>> counts = np.array([[9, 1], [1, 9], [6, 4], [10, 0]])
        >>> rows = [[0] * a + [1] * b for a, b in counts]
        >>> found = shared_confusion(Labels.from_matrix(np.array(rows), 2), num_bootstrap=20)
        >>> [bool(p > 0.5) for p in found.class_posterior[:, 0]], bool(found.design_effect(10) > 1)
        ([True, False, True, True], True)
    """
    counts = np.asarray(labels.counts(), np.int64)
    if counts.sum(axis=1).max(initial=0) < 2 or num_bootstrap < 2:
        raise ValueError("shared confusion is learned from samples with two labels or more, and by "
                         f"num_bootstrap of 2 or more (got {num_bootstrap})")  # fmt: skip
    kinds, of_sample, times = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    of_sample, table = of_sample.ravel(), _Counts.of(kinds)
    best = _fitted(table, times.astype(float), None)
    rng = host_rng(as_key(key), "bootstrap of shared confusion")
    share = times / times.sum()
    again = [
        _fitted(table, w.astype(float), best) for w in rng.multinomial(len(counts), share, num_bootstrap)
    ]
    first = softmax(table.log_joint(best), axis=1)[of_sample]
    rows, posterior = _with_labelers(labels, best, first)
    draws = [_with_labelers(labels, theta, posterior)[1] for theta in again]
    matrix, concentration, prior = _parts(best, kinds.shape[1])
    each = np.array([_parts(theta, kinds.shape[1])[1] for theta in again])
    return SharedConfusion(prior, matrix, rows, concentration, each, posterior, np.stack(draws))


def _with_labelers(labels: Labels, theta: np.ndarray, posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the labelers, and the posterior by them: a few steps of EM with the evidence divided."""
    classes = labels.num_classes
    matrix, concentration, prior = _parts(theta, classes)
    sample, labeler, label = (part[labels.arrays[2] >= 0] for part in map(np.asarray, labels.arrays))
    number = np.bincount(sample, minlength=labels.num_samples)
    share = ((1 + concentration) / (np.maximum(number, 1) + concentration))[:, None]
    cell, size = labeler * classes + label, labels.num_labelers * classes
    rows = np.tile(matrix, (labels.num_labelers, 1, 1))
    for _ in range(_STEPS):
        counts = [np.bincount(cell, posterior[sample, c], size).reshape(-1, classes) for c in range(classes)]
        rows = np.stack(counts, axis=1) + _OWN * matrix[None]
        rows /= rows.sum(axis=2, keepdims=True)
        given = labels_log_likelihood(rows[None], sample, labeler, label, labels.num_samples)[0]
        posterior = softmax(share * given + np.log(prior)[None], axis=1)
    return rows, posterior


class _Counts(NamedTuple):
    """Distinct rows of counts: which of the sums over l < y of log(alpha + l) each of them takes."""

    picks: csr_array  # (rows, classes x (most + 1)) ones at (k, y_k)
    totals: np.ndarray  # labels of each row
    num_classes: int
    most: int

    @classmethod
    def of(cls, kinds: np.ndarray) -> "_Counts":
        rows, classes = kinds.shape
        most = int(kinds.max())
        columns = (np.arange(classes)[None] * (most + 1) + kinds).ravel()
        starts = np.arange(0, rows * classes + 1, classes)
        picks = csr_array((np.ones(rows * classes), columns, starts), (rows, classes * (most + 1)))
        return cls(picks, kinds.sum(axis=1), classes, most)

    def log_joint(self, theta: np.ndarray) -> np.ndarray:
        """(rows, classes) log prior + log p(counts | class), without the multinomial coefficient."""
        matrix, concentration, prior = _parts(theta, self.num_classes)
        steps = np.log(concentration * matrix[..., None] + np.arange(self.most)[None, None])
        whole = np.log(concentration + np.arange(self.totals.max()))
        return self.picks @ _sums(steps).T - _sums(whole)[self.totals][:, None] + np.log(prior)[None]

    def slopes(self, theta: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """d log p / d alpha (class, label), and / d concentration of what is subtracted, both weighted."""
        matrix, concentration, _ = _parts(theta, self.num_classes)
        steps = 1 / (concentration * matrix[..., None] + np.arange(self.most)[None, None])
        taken = (self.picks.T @ weight).T.reshape(self.num_classes, self.num_classes, self.most + 1)
        whole = _sums(1 / (concentration + np.arange(self.totals.max())))[self.totals]
        each = (taken * _sums(steps).reshape(taken.shape)).sum(axis=2)
        return each, float(weight.sum(axis=1) @ whole)


def _sums(steps: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... along the last axis; the axes between it and the first in one."""
    sums = np.concatenate([np.zeros((*steps.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)
    return sums.reshape(len(sums), -1) if steps.ndim > 1 else sums


def _parts(theta: np.ndarray, classes: int) -> tuple[np.ndarray, float, np.ndarray]:
    """(matrix, concentration, prior) of one vector."""
    rows, prior = theta[: classes**2].reshape(classes, classes), theta[classes**2 + 1 :]
    return softmax(rows, axis=1), float(np.exp(theta[classes**2])), softmax(prior)


def _by_majority(table: _Counts, times: np.ndarray) -> np.ndarray:
    """Where the search begins: rows and shares of the most frequent labels."""
    kinds = table.picks.indices.reshape(len(times), -1) - np.arange(table.num_classes) * (table.most + 1)
    voted = (kinds == kinds.max(axis=1, keepdims=True)) * times[:, None]
    voted = voted / (voted > 0).sum(axis=1, keepdims=True)
    rows = voted.T @ kinds + _PSEUDO + _RIGHT * np.eye(table.num_classes)
    shares = voted.sum(axis=0) + _PSEUDO
    parts = np.log(rows / rows.sum(axis=1, keepdims=True)).ravel(), [_CENTRE], np.log(shares / shares.sum())
    return np.concatenate(parts)


def _fitted(table: _Counts, times: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """The vector of largest posterior density, rows of counts weighted by how often they occur."""
    classes = table.num_classes
    pseudo = _PSEUDO + _RIGHT * np.eye(classes)

    def cost(theta):
        rows = theta[: classes**2].reshape(classes, classes)
        joint = table.log_joint(theta)
        log_rows, log_prior = log_softmax(rows, axis=1), log_softmax(theta[classes**2 + 1 :])
        off = (theta[classes**2] - _CENTRE) / _WIDTH
        value = times @ logsumexp(joint, axis=1) + (pseudo * log_rows).sum() + log_prior.sum() - off**2 / 2
        return -value, -gradient(theta, softmax(joint, axis=1) * times[:, None], off)

    def gradient(theta, weight, off):
        matrix, concentration, prior = _parts(theta, classes)
        each, whole = table.slopes(theta, weight)
        by_row = concentration * matrix * (each - (each * matrix).sum(axis=1, keepdims=True))
        by_log = concentration * ((each * matrix).sum() - whole) - off / _WIDTH
        by_row += pseudo - pseudo.sum(axis=1, keepdims=True) * matrix
        by_prior = weight.sum(axis=0) - times.sum() * prior + 1 - classes * prior
        return np.concatenate([by_row.ravel(), [by_log], by_prior])

    start = _by_majority(table, times) if start is None else start
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    if not (np.isfinite(found.fun) and np.abs(found.jac).max() < 1e-2 * max(times.sum(), 1.0)):
        raise RuntimeError(f"the fit of shared confusion did not converge: {found.message}")
    return found.x
