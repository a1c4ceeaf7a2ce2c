"""Expected width of an interval under a plan, by Fisher information and by simulation.

**Fisher information of the collapsed likelihood.** With the true classes summed out, a sample with labels has
information I_lab about the parameters, one with gold I_gold; both are sums over patterns of labels. N samples
with G gold answers and the priors give

    J = (N - G) I_lab + G I_gold + I_prior.

The metric is a ratio of two linear forms of the count table with influence u[c, symbol] (delta method). Its
posterior variance is

    population:  d' J^-1 d                                     d = E[u s],  s the complete-data score
    in-sample:   (N - G) E[Var(u | x)] / N^2 + e' J^-1 e       e = (N - G)/N E[Cov(u, s | x)]

with x the observations of a sample: the first in-sample term is the uncertainty of these samples' classes at
known rates, the second that of the rates. With two even classes, one labeler and symmetric errors it is that
of Lam & Stork section 4. A beta distribution with this variance, its mean moved by the prior to first order,
gives the width of the shortest interval. It is inaccurate if priors count as much as data (`share_of_prior`).

Labelers of one kind are exchangeable, so a pattern is how many of them named each class. For a pattern and
the predicted symbol u, the complete-data score of class c is e_k - p for every categorical distribution (the
prior, row c of K, row c of the labelers' matrices), in logits relative to class 0. Labelers of a kind share
one parameter; each is learned alone, but only the sum of exchangeable scores informs about K.

**Simulation.** Data sets are drawn under a plan and analysed with known rates, by the exact posterior of the
counts (more classes: by draws), or with learned ones, by `fit_joint` with gold clamped. Plans are compared on
common random numbers: they use the first N rows and the first people of each kind, so a larger plan contains
the data of a smaller one, and their difference is far more precise than either.
"""

from collections import Counter
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import block_diag
from scipy.special import betaincinv, ndtri

from jtruth._host import cross_table, diagonal_rows, known_classes, labels_log_likelihood, log_odds, picked
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng, seeded, stream
from jtruth.information.dist import compositions, group_log_pmf
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.learning.joint.posterior import fit_joint
from jtruth.noise import ConfusionMatrices
from jtruth.planning.settings import Plan, Setting, check_plan, plan_cost
from jtruth.simulation import Simulated
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.testing.binary.exact import confusion_nodes, count_table
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.multiclass import count_posterior

_MOST_PATTERNS = 60_000
_EDGE = 1e-4  # a probability of 0 or 1 has no logit; the information is taken this far inside


def inside(matrix: np.ndarray) -> np.ndarray:
    """Rows of probabilities moved off 0 and 1."""
    moved = np.maximum(matrix, _EDGE)
    return moved / moved.sum(axis=-1, keepdims=True)


def _kind(matrix: np.ndarray, people: int, share: float):
    """Counts (X_g, C) of one kind's labels and log p(counts | class), (X_g, C)."""
    silent = np.full((len(matrix), 1), 1 - share)  # one symbol more: no label
    rows = np.concatenate([share * matrix, silent], axis=1) if share < 1 else matrix
    return compositions(people, rows.shape[1])[:, : len(matrix)], group_log_pmf(rows[None], people)[0].T


def _patterns(setting: Setting, labels: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """p(pattern, u, c) of all patterns of a mix, and the complete-data scores (..., parameters)."""
    classes = setting.prior.size
    matrices = [inside(kind.matrix) for kind in setting.labelers]
    used = [g for g, count in enumerate(labels) if count > 0]
    kinds = [_kind(matrices[g], _people(labels[g]), labels[g] / _people(labels[g])) for g in used]
    number = prod(len(counts) for counts, _ in kinds) * classes
    if number > _MOST_PATTERNS:
        raise ValueError(f"there are {number} label patterns; merge kinds with similar error rates")
    where = np.array(list(product(*(range(len(counts)) for counts, _ in kinds))), int)
    where = where.reshape(number // classes, len(kinds))
    log_p = np.zeros((len(where), classes))
    for column, (_, of_kind) in enumerate(kinds):
        log_p = log_p + of_kind[where[:, column]]
    confusion = inside(setting.confusion)
    joint = np.exp(log_p)[:, None, :] * (setting.prior[:, None] * confusion).T[None]
    blocks = [_row_scores(confusion, np.eye(confusion.shape[1]))[None]]
    if setting.rates == "learned":
        blocks.insert(0, (np.eye(classes) - setting.prior)[None, None, :, 1:])
        blocks += [
            _row_scores(matrices[g], counts[where[:, column]])[:, None]
            for column, (g, (counts, _)) in enumerate(zip(used, kinds, strict=True))
        ]
    return joint, np.concatenate([np.broadcast_to(b, (*joint.shape, b.shape[-1])) for b in blocks], axis=-1)


def _people(count: float) -> int:
    """Number of people of a kind who give so many labels a sample."""
    return int(np.ceil(count - 1e-9))


def _row_scores(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(X, C, C (U - 1)): in row c counts (X, U) - (their sum) matrix[c], elsewhere 0."""
    classes, symbols = matrix.shape
    block = np.zeros((len(counts), classes, classes, symbols))
    for c in range(classes):
        block[:, c, c] = counts - counts.sum(axis=1, keepdims=True) * matrix[c]
    return block[..., 1:].reshape(len(counts), classes, -1)


def row_prior(classes: int, learned: bool) -> np.ndarray:
    """(C, C) Dirichlet concentrations of a matrix: those of `fit_joint`, or flat as in `exact`."""
    return diagonal_rows(classes, 2.0, 1.0) if learned else np.ones((classes, classes))


def _prior_terms(setting: Setting, labels: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Minus the Hessian, and the gradient, of the log prior in logits; each person has a prior."""
    learned = setting.rates == "learned"
    matrices = [(inside(setting.confusion), 1)]
    rows = [(setting.prior, np.ones(setting.prior.size))] if learned else []
    for kind, count in zip(setting.labelers, labels, strict=True):
        matrices += [(inside(kind.matrix), _people(count))] if count > 0 and learned else []
    for matrix, people in matrices:
        rows += list(zip(matrix, people * row_prior(len(matrix), learned), strict=True))
    information = [alpha.sum() * (np.diag(p) - np.outer(p, p))[1:, 1:] for p, alpha in rows]
    pull = [(alpha - alpha.sum() * p)[1:] for p, alpha in rows]
    return np.asarray(block_diag(*information)), np.concatenate(pull)


_TAILS = 0.5 - 0.5 * np.cos(np.pi * np.arange(14) / 13)  # denser where a tail is empty
_DOUBTFUL = 0.06  # above it predictions were off by more than 10 % in simulations
_FEW = 10.0
_NARROW = 1e5  # beta distributions with larger a + b are normal to all digits shown


class PlanWidth(NamedTuple):
    """A plan, its cost, and the expected width of the shortest interval of the metric."""

    plan: Plan
    cost: float
    width: float
    standard_error: float = 0.0  # of the width, if it is simulated
    # Of the information about the metric, that which the priors supply (predicted).
    share_of_prior: float = 0.0
    widths: Float[np.ndarray, " sets"] = np.zeros(0)  # of simulated data sets, where the metric was defined
    covered: float = float("nan")  # share of the simulated intervals that covered the truth
    method: str = "Fisher information"
    warnings: tuple[str, ...] = ()

    __repr__ = one_line

    def __str__(self) -> str:
        sets = self.widths.size
        error = f" +- {self.standard_error:.3f} in {sets} simulated sets" if sets else ""
        return f"expected width {self.width:.3f}{error}; {self.method}"


class Information(NamedTuple):
    """Information of one sample under one mix of labelers. P parameters."""

    labels: tuple[float, ...]  # per sample, of every kind
    labelled: Float[np.ndarray, "parameters parameters"]  # I_lab
    gold: Float[np.ndarray, "parameters parameters"]  # I_gold
    prior: Float[np.ndarray, "parameters parameters"]  # I_prior, once
    pull: Float[np.ndarray, " parameters"]  # gradient of the log prior
    slope: Float[np.ndarray, " parameters"]  # d
    hidden_slope: Float[np.ndarray, " parameters"]  # E[Cov(u, s | x)]
    hidden: float  # E[Var(u | x)]


def information(setting: Setting, labels: tuple[float, ...]) -> Information:
    """Information of one sample about all unknowns, and the metric's slopes.

    Raises:
        ValueError: more than 60 000 patterns of labels.
    """
    joint, score = _patterns(setting, labels)
    seen = joint.sum(axis=2)
    share = joint / np.where(seen > 0, seen, 1)[..., None]
    observed = (share[..., None] * score).sum(axis=2)
    u = setting.influence.T[None]
    mean_u = (share * u).sum(axis=2)
    slope = np.einsum("xuc,xucp->p", joint * u, score)
    flat = score.reshape(-1, score.shape[-1])
    prior, pull = _prior_terms(setting, labels)
    return Information(
        labels=labels,
        labelled=np.einsum("xu,xup,xuq->pq", seen, observed, observed, optimize=True),
        gold=(flat * joint.reshape(-1, 1)).T @ flat,
        prior=prior,
        pull=pull,
        slope=slope,
        hidden_slope=slope - np.einsum("xu,xup->p", seen * mean_u, observed),
        hidden=float((joint * (u - mean_u[..., None]) ** 2).sum()),
    )


def approximate_width(setting: Setting, plan: Plan) -> PlanWidth:
    """Predict the width of the metric's interval under a plan, in milliseconds.

    Its `warnings` say when the prediction is rough; then use `simulated_width`. ValueError for an impossible
    plan, or more than 60 000 patterns of labels.

    Source: Su 6.3.2 asks the question; Lam & Stork section 4 is the case of one known symmetric labeler.

    >>> from jtruth.planning import Labeler
    >>> made = Setting([0.7, 0.3], 0.9, [Labeler("crowd", 0.2, people=5)], rates="known")
    >>> for count in (1, 3, 5):
    ...     print(count, f"{approximate_width(made, Plan(500, (count,), 0)).width:.4f}")
    1 0.1180
    3 0.0703
    5 0.0605
    """
    check_plan(setting, plan)
    mix = information(setting, plan.labels)
    predicted = widths(setting, mix, np.array([plan.num_samples]), plan.num_gold)
    width, share = (float(predicted[k][0]) for k in ("width", "share_of_prior"))
    warnings, rarest = [], plan.num_samples * float(setting.prior.min())
    if share > _DOUBTFUL:
        warnings.append(
            f"Predicted widths are rough: {100 * share:.0f} % of the information on error rates is prior."
        )
    if rarest < _FEW:
        warnings.append(f"Predicted widths are rough: the rarest class has about {rarest:.0f} samples.")
    cost = plan_cost(setting, plan)
    return PlanWidth(plan, cost, width, share_of_prior=share, warnings=tuple(warnings))


def widths(setting: Setting, sample: Information, num_samples: np.ndarray, num_gold) -> dict:
    """Width, sd and share of the prior for many (num_samples, num_gold) of one mix."""
    n = np.atleast_1d(np.asarray(num_samples, np.float64))
    g = np.broadcast_to(np.asarray(num_gold, np.float64), n.shape)
    data = (n - g)[:, None, None] * sample.labelled + g[:, None, None] * sample.gold
    total = data + sample.prior
    in_sample = setting.target == "in-sample"
    slope = ((n - g) / n)[:, None] * sample.hidden_slope if in_sample else np.tile(sample.slope, (n.size, 1))
    spread = np.linalg.solve(total, slope[..., None])[..., 0]
    rates = (slope * spread).sum(axis=1)
    variance = rates + in_sample * (n - g) / n**2 * sample.hidden
    by_prior = np.einsum("np,pq,nq->n", spread, sample.prior, spread) / np.maximum(rates, 1e-300)
    mean = np.clip(setting.value + spread @ sample.pull, 1e-6, 1 - 1e-6)
    width = beta_width(mean, variance, setting.level)
    return {"width": width, "sd": np.sqrt(variance), "share_of_prior": by_prior}


def beta_width(mean: np.ndarray, variance: np.ndarray, level: float) -> np.ndarray:
    """Width of the shortest interval of the Beta with these moments; a narrow distribution is normal."""
    most = mean * (1 - mean)
    size = most / np.clip(variance, most / _NARROW, 0.999 * most) - 1
    a, b = np.maximum(mean * size, 0.05), np.maximum((1 - mean) * size, 0.05)
    low = (1 - level) * _TAILS[None, :]
    ends = betaincinv(a[:, None], b[:, None], low), betaincinv(a[:, None], b[:, None], low + level)
    normal = 2 * ndtri((1 + level) / 2) * np.sqrt(variance)
    return np.where(variance > most / _NARROW, (ends[1] - ends[0]).min(axis=1), normal)


def draw(
    setting: Setting, plan: Plan, key: Any, number: int
) -> tuple[Simulated, Int[np.ndarray, " samples"]]:
    """Set `number` of a plan, a column of labels for each person, and its gold, -1 if unknown."""
    people = np.array([kind.people for kind in setting.labelers])
    rng = host_rng(key, "data set", number)
    u = rng.random((plan.num_samples, 2 + 2 * int(people.sum())))  # rows first: more samples only append
    y = picked(np.tile(setting.prior, (len(u), 1)), u[:, 0])
    y_pred = picked(setting.confusion[y], u[:, 1])
    columns, matrices, shares = [], [], []
    first = 2 + 2 * np.concatenate([[0], np.cumsum(people)[:-1]])
    for g, count in enumerate(plan.labels):
        used, matrix = _people(count), setting.labelers[g].matrix
        for t in range(used):
            at = first[g] + 2 * t
            columns.append(np.where(u[:, at] < count / used, picked(matrix[y], u[:, at + 1]), -1))
            matrices.append(matrix)
            shares.append(count / used)
    z = np.array(columns, int).reshape(len(columns), len(u)).T
    noise = ConfusionMatrices(np.array(matrices).reshape(-1, *setting.confusion.shape))
    gold = np.where(np.arange(len(u)) < plan.num_gold, y, -1)  # rows are exchangeable: the first are random
    return Simulated(y, y_pred, z, noise, np.array(shares)), gold


def log_likelihood(data: Simulated, gold: np.ndarray) -> Float[np.ndarray, "samples classes"]:
    """log p(labels | class) at the known matrices; gold is certain. Labels of gold samples are not used."""
    noise: Any = data.noise
    sample, labeler = (index.ravel() for index in np.indices(data.z.shape))
    z = np.asarray(data.z).ravel()
    return known_classes(labels_log_likelihood(noise.matrices, sample, labeler, z, gold.size), gold)


_QUICK = Effort(max_work=8e8, max_rhat=1.03, min_ess=150.0)  # of the sampler of a learned set
_NODES = 8192  # of the quasi-random rule for population metrics with known rates, a power of 2


def dist_of_metric(
    setting: Setting, data: Simulated, gold: Any, key: Any
) -> tuple[Estimate, tuple[str, ...]]:
    """Posterior of the metric from one set: exact, by draws of the count table, or joint; and warnings."""
    population, warnings = setting.target == "population", ()
    if setting.rates == "learned":
        if not (data.z >= 0).any():
            tables = _gold_only(setting, data, gold, key)
        else:
            tables, warnings = _learned(setting, data, gold, key)
    elif setting.prior.size > 2:  # draws of the count table, and of K given it (Dirichlet rows)
        drawn = count_posterior(log_likelihood(data, gold), setting.prior, data.y_pred, key=key)
        tables = setting.prior[:, None] * drawn.confusion if population else drawn.counts.astype(np.float64)
    else:
        odds = log_odds(log_likelihood(data, gold), setting.prior)
        table = count_table(collapse(odds, np.asarray(data.y_pred)))
        if not population:
            return table.estimate(setting.of_table), warnings
        tables = setting.prior[:, None] * confusion_nodes(table, _NODES)
    return DrawsEstimate(np.asarray(setting.of_table.of_table(tables))), warnings


def _learned(setting: Setting, data: Simulated, gold: Any, key: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    labels = Labels.from_matrix(data.z, setting.prior.size, allow_unlabelled=True)
    fit = fit_joint(labels, y_pred=data.y_pred, gold=gold, key=key, effort=_QUICK)
    known = fit.identified  # what is not is drawn with little effort
    warnings = {
        "were not identified, so the draws repeat the prior": not known,
        "had classes that swapped names": known and fit.switched,
        "did not converge in the work allowed": known and not fit.converged,
    }
    return fit.tables(setting.target), tuple(text for text, holds in warnings.items() if holds)


def _gold_only(setting: Setting, data: Simulated, gold: Any, key: Any) -> np.ndarray:
    known = gold >= 0
    table = cross_table(gold[known], data.y_pred[known], setting.confusion.shape) * 1.0
    if setting.target == "in-sample" and known.all():
        return table[None]
    if setting.target == "in-sample":
        raise ValueError("some samples have neither a label nor gold: give each one or the other")
    rng = host_rng(key, "gold only")
    rows = rng.standard_gamma(table + row_prior(len(table), True), size=(_NODES, *table.shape))
    pi = rng.standard_gamma(table.sum(axis=1) + 1, size=(_NODES, len(table)))
    return (pi / pi.sum(axis=1, keepdims=True))[..., None] * rows / rows.sum(axis=2, keepdims=True)


_ANALYSED = {"known": "exact posterior at known error rates", "learned": "joint posterior (fit_joint)"}


@seeded
def simulated_width(
    setting: Setting,
    plan: Plan,
    *,
    key: Any = None,
    num_sets: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PlanWidth:
    """Expected posterior width of the metric under a plan, on common random numbers.

    `setting.rates` selects the analysis; there are 200 sets for known rates, 16 for learned ones, or
    `num_sets`. The same key gives the same uniform numbers to every plan: `a.widths - b.widths` is the
    difference of two plans on the same data.

    >>> from jtruth.planning import Labeler
    >>> made = Setting([0.7, 0.3], 0.9, [Labeler("crowd", 0.2, people=5)], rates="known")
    >>> one, three = (simulated_width(made, Plan(500, (n,), 0), key=0, num_sets=10) for n in (1, 3))
    >>> bool(one.width > 1.3 * three.width), three.method
    (True, 'exact posterior at known error rates')
    """
    key, plan = as_key(key), check_plan(setting, plan)
    number = (200 if setting.rates == "known" else 16) if num_sets is None else num_sets
    if number < 2:
        raise ValueError(f"num_sets is {number}; a mean with an error needs at least 2")
    ends, truths, of_sets = [], [], []
    for k in range(number):
        data, gold = draw(setting, plan, key, k)
        dist, warning = dist_of_metric(setting, data, gold, stream(key, "analysis", k))
        truths.append(setting.value)
        if setting.target == "in-sample":
            table = cross_table(data.y, data.y_pred, setting.confusion.shape) * 1.0
            truths[-1] = float(setting.of_table.of_table(table))
        ends.append(dist.interval(setting.level))
        of_sets.append(warning)
        if progress is not None:
            progress(k + 1, number)
    (low, high), truth = np.array(ends).T, np.array(truths)
    defined = np.isfinite(high - low)
    times = Counter(text for of_set in of_sets for text in set(of_set))
    warnings = [f"{times[text]} of {number} sets {text}" for text in sorted(times)]
    if not defined.all():
        lost = number - defined.sum()
        warnings.insert(0, f"The metric was undefined in {lost} of {number} sets, which are left out.")
    low, high, truth = low[defined], high[defined], truth[defined]
    width, nan = high - low, float("nan")
    return PlanWidth(
        plan,
        plan_cost(setting, plan),
        float(width.mean()) if width.size else nan,
        float(width.std(ddof=1) / np.sqrt(width.size)) if width.size > 1 else nan,
        widths=width,
        covered=float(((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean()) if width.size else nan,
        method=_ANALYSED[setting.rates],
        warnings=tuple(warnings),
    )
