"""One simulated data set to the interval of its metric, by the methods that `simulation` names."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._random import host_rng
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.planning._data import DataSet, log_likelihood
from jtruth.planning._patterns import row_prior
from jtruth.planning.settings import Setting
from jtruth.sampling import Effort
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.nodes import confusion_nodes
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.multiclass.count_draws import count_posterior

_NODES = 8192  # of the quasi-random rule for population metrics with known rates, a power of 2


class SetInterval(NamedTuple):
    """Interval of the metric, the truth it is about, and what was doubtful."""

    low: float
    high: float
    truth: float
    doubts: tuple[str, ...] = ()


def set_interval(setting: Setting, data: DataSet, key, effort: Effort) -> SetInterval:
    """Analyse one set: exact, by draws of the count table, or by the joint posterior."""
    truth, doubts = setting.value, ()
    if setting.target == "in-sample":
        table = np.zeros(setting.confusion.shape)
        np.add.at(table, (data.y, data.y_pred), 1)
        truth = float(metric_of(setting, table))
    if setting.rates == "learned":
        law, doubts = _learned(setting, data, key, effort)
    elif setting.prior.size == 2:
        law = known_binary(setting, data)
    else:
        law = _known(setting, data, key)
    low, high, _ = law.interval(setting.level)
    return SetInterval(low, high, truth, doubts)


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


def _learned(setting: Setting, data: DataSet, key, effort: Effort) -> tuple[Estimate, tuple[str, ...]]:
    """The joint posterior, with what was doubtful about it."""
    classes = setting.prior.size
    z = data.z if data.z.shape[1] else np.full((data.y.size, 1), -1)
    if not (z >= 0).any():
        return _gold_only(setting, data, key), ()
    labels = Labels.from_matrix(z, classes, allow_unlabelled=True)
    fit = fit_joint(labels, y_pred=data.y_pred, gold=data.gold, key=key, effort=effort)
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
    table = np.zeros(setting.confusion.shape)
    known = data.gold >= 0
    np.add.at(table, (data.gold[known], data.y_pred[known]), 1)
    if setting.target == "in-sample" and known.all():
        return DrawsEstimate(metric_of(setting, table[None]))
    if setting.target == "in-sample":
        raise ValueError("samples without a label and without gold: give each one or the other")
    rng = host_rng(key, "gold only")
    rows = rng.standard_gamma(table + row_prior(len(table), True), size=(_NODES, *table.shape))
    pi = rng.standard_gamma(table.sum(axis=1) + 1, size=(_NODES, len(table)))
    joint = (pi / pi.sum(axis=1, keepdims=True))[..., None] * rows / rows.sum(axis=2, keepdims=True)
    return DrawsEstimate(metric_of(setting, joint))
