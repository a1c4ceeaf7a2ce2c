"""How wide will the interval be? By simulation: draw data sets under a plan, analyse each, average.

How each set is analysed is decided by what will be known:

rates="known"     two classes: the exact posterior of the counts (`testing.exact`). For the population metric
                  the operating point is added: given the counts its rows are beta laws, exactly. More
                  classes: draws of the count table (`testing.multiclass`).
rates="learned"   the joint posterior `learning.fit_joint`: class prior, every person's matrix and the
                  classifier's matrix are drawn together; gold is clamped.

Plans are compared on common random numbers: every sample of every set has its own row of uniform numbers,
one for its class, one for its prediction, and two for each person who may label it. Plans use the first N
rows and the first people of each kind, so a plan with more samples, labels or gold contains the data of a
plan with fewer, and the difference of two plans is far better known than either.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import cross_table, known_classes, labels_log_likelihood, picked
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng, stream
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.learning.joint.posterior import fit_joint
from jtruth.planning.approximation import row_prior
from jtruth.planning.settings import Plan, Setting, check_plan
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.testing.binary.exact import confusion_nodes, count_table
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.multiclass import count_posterior


class DataSet(NamedTuple):
    """One simulated data set."""

    y: Int[np.ndarray, " samples"]
    y_pred: Int[np.ndarray, " samples"]
    z: Int[np.ndarray, "samples people"]  # -1 where there is no label
    kind: Int[np.ndarray, " people"]  # which kind each column of z is of
    gold: Int[np.ndarray, " samples"]  # -1 where the class is not known


def draw(setting: Setting, plan: Plan, key: Any, number: int) -> DataSet:
    """Set `number` of a plan; the same key gives the same uniform numbers to every plan."""
    people = np.array([kind.people for kind in setting.labelers])
    rng = host_rng(key, "data set", number)
    u = rng.random((plan.num_samples, 2 + 2 * int(people.sum())))  # rows first: more samples only append
    y = picked(np.tile(setting.prior, (len(u), 1)), u[:, 0])
    y_pred = picked(setting.confusion[y], u[:, 1])
    columns, kinds = [], []
    first = 2 + 2 * np.concatenate([[0], np.cumsum(people)[:-1]])
    for g, count in enumerate(plan.labels):
        used = int(np.ceil(count - 1e-9))
        for t in range(used):
            at = first[g] + 2 * t
            given = picked(setting.labelers[g].matrix[y], u[:, at + 1])
            columns.append(np.where(u[:, at] < count / used, given, -1))
            kinds.append(g)
    z = np.array(columns, int).reshape(len(columns), len(u)).T
    gold = np.where(np.arange(len(u)) < plan.num_gold, y, -1)  # rows are exchangeable: the first are random
    return DataSet(y, y_pred, z, np.array(kinds, int), gold)


def log_likelihood(setting: Setting, data: DataSet) -> Float[np.ndarray, "samples classes"]:
    """log p(labels | class) at the known matrices; gold is certain. Labels of gold samples are not used."""
    matrices = np.array([setting.labelers[g].matrix for g in data.kind]).reshape(-1, *setting.confusion.shape)
    sample, labeler = (index.ravel() for index in np.indices(data.z.shape))
    total = labels_log_likelihood(matrices, sample, labeler, data.z.ravel(), data.y.size)
    return known_classes(total, data.gold)


_QUICK = Effort(max_work=8e8, max_rhat=1.03, min_ess=150.0)  # of the sampler of a learned set
_NODES = 8192  # of the quasi-random rule for population metrics with known rates, a power of 2


SetInterval = tuple[float, float, float, tuple[str, ...]]  # its ends, the truth, and what was doubtful


def set_interval(setting: Setting, data: DataSet, key) -> SetInterval:
    """Analyse one set: exact, by draws of the count table, or by the joint posterior."""
    truth, doubts = setting.value, ()
    if setting.target == "in-sample":
        table = cross_table(data.y, data.y_pred, setting.confusion.shape) * 1.0
        truth = float(metric_of(setting, table))
    if setting.rates == "learned":
        law, doubts = _learned(setting, data, key)
    elif setting.prior.size == 2:
        law = known_binary(setting, data)
    else:
        law = _known(setting, data, key)
    low, high = law.interval(setting.level)
    return low, high, truth, doubts


def metric_of(setting: Setting, tables: Float[np.ndarray, "*tables classes symbols"]) -> np.ndarray:
    """The metric of count or probability tables; NaN where it is undefined."""
    return np.asarray(setting.of_table.of_table(tables))


def known_binary(setting: Setting, data: DataSet) -> Estimate:
    """The exact law: of the counts, or of the population metric by beta laws given the counts."""
    log_lik = log_likelihood(setting, data)
    with np.errstate(invalid="ignore"):
        x = np.log(setting.prior[1] / setting.prior[0]) + log_lik[:, 1] - log_lik[:, 0]
    table = count_table(collapse(x, data.y_pred))
    if setting.target == "population":
        confusion = confusion_nodes(table, _NODES)
        return DrawsEstimate(metric_of(setting, setting.prior[:, None] * confusion))
    return table.estimate(setting.of_table)


def _known(setting: Setting, data: DataSet, key) -> DrawsEstimate:
    """More classes: draws of the count table, and of K given it (its rows are Dirichlet laws)."""
    found = count_posterior(log_likelihood(setting, data), setting.prior, data.y_pred, key=key)
    tables = found.counts.astype(np.float64)
    if setting.target == "population":
        tables = setting.prior[:, None] * found.confusion
    return DrawsEstimate(metric_of(setting, tables))


def _learned(setting: Setting, data: DataSet, key) -> tuple[Estimate, tuple[str, ...]]:
    """The joint posterior, with what was doubtful about it."""
    classes = setting.prior.size
    z = data.z if data.z.shape[1] else np.full((data.y.size, 1), -1)
    if not (z >= 0).any():
        return _gold_only(setting, data, key), ()
    labels = Labels.from_matrix(z, classes, allow_unlabelled=True)
    fit = fit_joint(labels, y_pred=data.y_pred, gold=data.gold, key=key, effort=_QUICK)
    doubts = []
    if not fit.identified:
        doubts.append("were not identified: the draws repeat the prior")
    elif fit.switching.switched:
        doubts.append("had classes that exchanged their names")
    if not fit.converged:
        doubts.append("did not converge in the little work allowed")
    return DrawsEstimate(metric_of(setting, fit.tables(setting.target))), tuple(doubts)


def _gold_only(setting: Setting, data: DataSet, key) -> Estimate:
    """Without labels: gold samples alone tell about prior and classifier, and there is nothing to learn."""
    known = data.gold >= 0
    table = cross_table(data.gold[known], data.y_pred[known], setting.confusion.shape) * 1.0
    if setting.target == "in-sample" and known.all():
        return DrawsEstimate(metric_of(setting, table[None]))
    if setting.target == "in-sample":
        raise ValueError("samples without a label and without gold: give each one or the other")
    rng = host_rng(key, "gold only")
    rows = rng.standard_gamma(table + row_prior(len(table), True), size=(_NODES, *table.shape))
    pi = rng.standard_gamma(table.sum(axis=1) + 1, size=(_NODES, len(table)))
    joint = (pi / pi.sum(axis=1, keepdims=True))[..., None] * rows / rows.sum(axis=2, keepdims=True)
    return DrawsEstimate(metric_of(setting, joint))


_ANALYSED = {"known": "exact posterior at known error rates", "learned": "joint posterior (fit_joint)"}


class SimulatedWidth(NamedTuple):
    """Widths of the metric's interval in simulated data sets."""

    plan: Plan
    mean: float  # expected width
    standard_error: float  # of that mean
    widths: Float[np.ndarray, " sets"]
    covered: float  # share of the intervals that held the truth
    method: str
    warnings: tuple[str, ...]

    __repr__ = one_line

    def __str__(self) -> str:
        """One line: expected width, its error, how many sets and how they were analysed."""
        return (
            f"expected width {self.mean:.3f} +- {self.standard_error:.3f} in {self.widths.size} simulated "
            f"sets; {self.method}"
        )


def simulated_width(
    setting: Setting,
    plan: Plan,
    *,
    key: Any = None,
    num_sets: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulatedWidth:
    """Expected posterior width of the metric under a plan, on common random numbers.

    Args:
        setting: see `setting`; `setting.rates` says how a set is analysed.
        plan: what to buy. `a.widths - b.widths` is what one plan costs or saves on the same data.
        key: a whole number or a JAX key; left out, it is 0. The same key gives the same uniform
            numbers to every plan.
        num_sets: data sets; 200 for known rates, 16 for learned ones.
        progress: called with (sets done, sets planned).

    Raises:
        ValueError: a plan that is impossible, or fewer than two sets.

    >>> import jax
    >>> from jtruth.planning import Question, labeler, setting
    >>> made = setting([0.7, 0.3], 0.9, [labeler("crowd", 0.2, people=5)], Question(rates="known"))
    >>> one, three = (simulated_width(made, Plan(500, (n,), 0), key=0, num_sets=10) for n in (1, 3))
    >>> bool(one.mean > 1.3 * three.mean), three.method
    (True, 'exact posterior at known error rates')
    """
    key, plan = as_key(key), check_plan(setting, plan)
    number = (200 if setting.rates == "known" else 16) if num_sets is None else num_sets
    if number < 2:
        raise ValueError(f"num_sets is {number}; a mean with an error needs at least 2")
    rows = []
    for s in range(number):
        rows.append(set_interval(setting, draw(setting, plan, key, s), stream(key, "analysis", s)))
        if progress is not None:
            progress(s + 1, number)
    low, high, truth = (np.array([row[i] for row in rows]) for i in range(3))
    width = high - low
    defined = np.isfinite(width)
    warnings = []
    if not defined.all():
        warnings.append(
            f"the metric was undefined in {(~defined).sum()} of {len(rows)} sets; they are left out"
        )
    doubts = sorted({text for row in rows for text in row[3]})
    warnings += [f"{sum(d in row[3] for row in rows)} of {len(rows)} sets {d}" for d in doubts]
    width, inside = width[defined], ((low <= truth + 1e-9) & (truth <= high + 1e-9))[defined]
    error = float(width.std(ddof=1) / np.sqrt(width.size)) if width.size > 1 else float("nan")
    mean = float(width.mean()) if width.size else float("nan")
    covered = float(inside.mean()) if width.size else float("nan")
    return SimulatedWidth(plan, mean, error, width, covered, _ANALYSED[setting.rates], tuple(warnings))
