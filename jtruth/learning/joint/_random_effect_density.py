"""The density of the random-effect model and its gradient, for many points at once; NumPy.

Two classes. A sample of class c has a hidden ease e ~ N(0, 1), and given both everybody errs independently:

  P(labeler t is right | c, e)    = sigmoid(a[t, c] + m[c] + lam[c] e)
  P(classifier is right | c, e)   = sigmoid(k[c] + kap[c] e)

with a ~ N(0, .8), m ~ N(1.2, 1), lam ~ N+(0, 1), kap ~ N+(lam, .5), k ~ N(1.2, 1.2) and a uniform class
share. Where labels are few, the spread of labelers is not fixed at .8: a = spread[c] u with u ~ N(0, 1) and
log spread ~ N(log .8, .75), so that labelers who gave little are known by the others. e is summed over
Gauss-Hermite nodes, so a sample is in one of 2 x nodes states, and equal samples are one row: the cost
follows the distinct rows. The gradient is that of EM: with the expected number of right and wrong labels of
every state, each rater is a logistic regression.

A point is the vector (logit of the share of class 1, [log spread,] a or u, m, soft lam, k, soft kap); where
groups of samples have class shares of their own, all their logits come first. The soft slope s
with lam = log(1 + exp(3 s)) / 3 is lam itself where lam is large, and like its logarithm where it is small.
With the logarithm everywhere the posterior is a horn: a class that swallows hard samples of the other one
needs large slopes, in a narrow range of the logarithm, beside the wide range of slopes near 0 that all do the
same. Steps that suit the wide part are too long for the horn, chains stayed outside of it, or in it for
hundreds of transitions, and the low end of the range was luck.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, log_ndtr

from jtruth.learning.joint._rows import Rows, gold_offset, label_columns
from jtruth.sampling.model import prediction_columns

_A_SD, _M, _M_SD, _K, _K_SD, _KAP_SD = 0.8, 1.2, 1.0, 1.2, 1.2, 0.5
_SPREAD_SD = 0.75  # of log spread, where it is learned
_SHARP = 3.0  # slopes of more than about 1/3 are their own coordinates


@dataclass(frozen=True)
class Parameters:
    """Natural parameters of points, all with the points first."""

    logit_share: np.ndarray  # (points, groups)
    a: np.ndarray  # (points, labelers, classes)
    m: np.ndarray  # (points, classes), and so the others
    lam: np.ndarray
    k: np.ndarray
    kap: np.ndarray
    spread: np.ndarray | None = None  # (points, classes) sd of a, where it is learned


class Density:
    """log p(parameters, everything seen), up to a constant, with gradient."""

    def __init__(
        self, rows: Rows, prior: np.ndarray | None, nodes: int = 15, *, learned: bool = False,
        group: np.ndarray | None = None,
    ):  # fmt: skip
        """`prior` (2,): known class share, None: drawn; `learned`: spread too; `group` (rows,): of shares."""
        x, w = np.polynomial.hermite_e.hermegauss(nodes)
        self.ease, self.nodes = x, nodes
        self.labelers = rows.labels.num_labelers
        self.fixed = None if prior is None else float(np.log(prior[1]) - np.log(prior[0]))
        seen = sparse.hstack([label_columns(rows.labels), prediction_columns(rows.y_pred, 2)], format="csr")
        self.design = sparse.csr_array(seen)
        self.transposed = sparse.csr_array(seen.T.tocsr())
        self.multiplicity = rows.multiplicity.astype(np.float64)
        self.state_class = np.repeat([0, 1], nodes)
        self.log_node = np.log(w / w.sum())
        self.offset = gold_offset(rows.gold, self.state_class) + np.tile(self.log_node, 2)[:, None]
        size = rows.multiplicity.size
        self.group = np.zeros(size, np.int64) if group is None else group
        self.groups, self.learned = int(self.group.max(initial=0)) + 1, learned
        self.member = np.eye(self.groups)[self.group]  # (rows, groups)
        self.first = self.groups + 2 * learned  # where the labelers' own numbers begin
        self.last = self.first + 2 * self.labelers
        self.size = self.last + 8
        # Numbers that one evaluation computes: states x (labels seen, rows, and a table of raters).
        wide = seen.nnz + 3 * rows.multiplicity.size + 6 * (self.labelers + 1)
        self.numbers = float(2 * nodes * wide)

    def split(self, points: np.ndarray) -> Parameters:
        """Parameters of points (points, size)."""
        share = points[:, : self.groups]
        share = share if self.fixed is None else np.full_like(share, self.fixed)
        rest = points[:, self.last :].reshape(-1, 4, 2)
        a = points[:, self.first : self.last].reshape(-1, self.labelers, 2)
        spread = np.exp(points[:, self.groups : self.first]) if self.learned else None
        a = a if spread is None else a * spread[:, None]
        slopes = np.logaddexp(0, _SHARP * rest[:, 1::2]) / _SHARP
        return Parameters(share, a, rest[:, 0], slopes[:, 0], rest[:, 2], slopes[:, 1], spread)

    def logits(self, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Logits of being right: (points, labelers, classes, nodes), and the classifier's."""
        of_labelers = (p.a + p.m[:, None])[..., None] + (p.lam[..., None] * self.ease)[:, None]
        return of_labelers, p.k[..., None] + p.kap[..., None] * self.ease

    def states(self, p: Parameters, logits: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """p(state | row) (states, points, rows), and the log-likelihood of every row (points, rows)."""
        raters = np.concatenate([logits[0], logits[1][:, None]], axis=1)  # (points, raters, classes, nodes)
        right, wrong = -np.logaddexp(0, -raters), -np.logaddexp(0, raters)
        # Symbol k is right in the states of class k: columns are (rater, symbol), states (class, node).
        symbol = np.eye(2, dtype=bool)[:, :, None]  # (symbols, classes, 1)
        table = np.where(symbol[None, None], right[:, :, None], wrong[:, :, None])
        points = len(raters)
        table = np.moveaxis(table.reshape(points, -1, 2 * self.nodes), 0, -1)  # (columns, states, points)
        log_p = self.design @ np.ascontiguousarray(table).reshape(table.shape[0], -1)
        log_p = np.ascontiguousarray(log_p.T).reshape(2 * self.nodes, points, -1)
        log_share = np.stack([-np.logaddexp(0, p.logit_share), -np.logaddexp(0, -p.logit_share)])
        log_p += (log_share if self.groups == 1 else log_share[:, :, self.group])[self.state_class]
        log_p += self.offset[:, None, :]
        top = log_p.max(axis=0)
        weight = np.exp(log_p - top, out=log_p)
        total = weight.sum(axis=0)
        weight /= total
        return weight, top + np.log(total)

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log density (points,) and its gradient (points, size)."""
        p = self.split(points)
        logits = self.logits(p)
        weight, log_rows = self.states(p, logits)
        value, gradient = self._prior(points, p)
        value = value + log_rows @ self.multiplicity
        expected = weight * self.multiplicity
        of_class = expected.reshape(2, self.nodes, *expected.shape[1:]).sum(axis=1) @ self.member
        if self.fixed is None:  # of_class: (classes, points, groups)
            gradient[:, : self.groups] += of_class[1] - of_class.sum(axis=0) * expit(p.logit_share)
        right, both = self._seen(expected)
        raters = np.concatenate([logits[0], logits[1][:, None]], axis=1)
        slope = right - both * expit(raters)
        labelers, classifier = slope[:, :-1], slope[:, -1]
        by_a = labelers.sum(axis=-1)  # (points, labelers, classes)
        if p.spread is not None:
            gradient[:, self.groups : self.first] += (by_a * p.a).sum(axis=1)
            by_a = by_a * p.spread[:, None]
        gradient[:, self.first : self.last] += by_a.reshape(len(points), -1)
        rest = gradient[:, self.last :].reshape(-1, 4, 2)  # a view
        growth = expit(_SHARP * points[:, self.last :].reshape(-1, 4, 2)[:, 1::2])  # d slopes / d soft slopes
        rest[:, 0] += labelers.sum(axis=(1, 3))
        rest[:, 1] += growth[:, 0] * (labelers.sum(axis=1) @ self.ease)
        rest[:, 2] += classifier.sum(axis=-1)
        rest[:, 3] += growth[:, 1] * (classifier @ self.ease)
        return value, gradient

    def labeler_information(self, point: np.ndarray) -> np.ndarray:
        """(2 labelers,) curvature of minus the log density by each a (or u), as if the states were known."""
        p = self.split(point[None])
        logits = self.logits(p)
        _, both = self._seen(self.states(p, logits)[0] * self.multiplicity)
        chance = expit(logits[0])
        found = (both[:, :-1] * chance * (1 - chance)).sum(axis=-1)
        if p.spread is None:
            return found.ravel() + 1 / _A_SD**2
        return (found * p.spread[:, None] ** 2).ravel() + 1.0

    def _seen(self, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected right labels, and all labels, of each rater: (points, raters, classes, nodes)."""
        found = self.transposed @ np.ascontiguousarray(expected.reshape(-1, expected.shape[2]).T)
        found = np.moveaxis(found.reshape(self.labelers + 1, 2, 2, self.nodes, -1), -1, 0)
        return np.stack([found[:, :, 0, 0], found[:, :, 1, 1]], axis=2), found.sum(axis=2)

    def _prior(self, points: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Log prior with the Jacobians of logit and soft slopes, and its gradient."""
        gradient = np.zeros_like(points)
        s = points[:, : self.groups]  # a known share leaves its coordinate to the uniform prior
        value = (-np.logaddexp(0, s) - np.logaddexp(0, -s)).sum(axis=1)
        gradient[:, : self.groups] = 1 - 2 * expit(s)
        a, sd = points[:, self.first : self.last], 1.0 if self.learned else _A_SD
        value = value - 0.5 * (a**2).sum(axis=1) / sd**2
        gradient[:, self.first : self.last] = -a / sd**2
        if self.learned:
            away = (points[:, self.groups : self.first] - np.log(_A_SD)) / _SPREAD_SD
            value = value - 0.5 * (away**2).sum(axis=1)
            gradient[:, self.groups : self.first] = -away / _SPREAD_SD
        rest = gradient[:, self.last :].reshape(-1, 4, 2)
        m, k, gap, z = _standard(p)
        soft = _SHARP * points[:, self.last :].reshape(-1, 4, 2)[:, 1::2]
        jacobian = -np.logaddexp(0, -soft).sum(axis=1)
        growth, bend = expit(soft), _SHARP * expit(-soft)
        mills = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
        rest[:, 0], rest[:, 2] = -m / _M_SD, -k / _K_SD
        rest[:, 1] = growth[:, 0] * ((gap - mills) / _KAP_SD - p.lam) + bend[:, 0]
        rest[:, 3] = -growth[:, 1] * gap / _KAP_SD + bend[:, 1]
        return value + (_log_population(p) + jacobian).sum(axis=1), gradient

    def log_prior(self, points: np.ndarray) -> np.ndarray:
        """(points,) log density of what has a fixed prior, up to a constant (`jtruth.stats.power_scaling`).

        In natural parameters, in which the class share is uniform. Of labelers whose spread is learned it is
        the spread's; their law given that is part of the model.
        """
        p = self.split(points)
        if p.spread is None:
            own = -0.5 * (p.a**2).sum(axis=(1, 2)) / _A_SD**2
        else:
            own = -0.5 * ((np.log(p.spread / _A_SD) / _SPREAD_SD) ** 2).sum(axis=1)
        return own + _log_population(p).sum(axis=1)


def _standard(p: Parameters) -> tuple[np.ndarray, ...]:
    """What labelers and classifier share, in standard deviations of its prior: m, k, kap - lam; and lam."""
    return (p.m - _M) / _M_SD, (p.k - _K) / _K_SD, (p.kap - p.lam) / _KAP_SD, p.lam / _KAP_SD


def _log_population(p: Parameters) -> np.ndarray:
    """Log prior of m, lam, k and kap, (points, classes)."""
    m, k, gap, z = _standard(p)
    return -0.5 * (m**2 + k**2 + gap**2 + p.lam**2) - log_ndtr(z)
