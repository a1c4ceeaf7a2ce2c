"""An unknown class prior, or an unknown common error rate, integrated out over exact tables.

The normaliser of the exact posterior is the evidence p(y_pred, z | parameter). So the posterior of one
unknown parameter is the evidence times its prior on a quadrature grid, and the posterior of a metric is the
mixture of its exact laws at the nodes. Host side, float64.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import betaln, xlog1py, xlogy

from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.tables.binary import BinaryTable
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.operating_point import collapse, log_likelihood, most_probable

_NODES = 24


class Mixture(BinaryTable, eqx.Module):
    """Exact tables at the nodes of a parameter, and the posterior probabilities of the nodes."""

    parameter: Float[np.ndarray, " nodes"]
    weight: Float[np.ndarray, " nodes"]
    tables: Sequence[Any]
    log_evidence: float

    def estimate(self, metric: str | Metric) -> Estimate:
        """Law of a metric with the parameter integrated out."""
        return mix([table.estimate(metric) for table in self.tables], self.weight)

    @property
    def predicted(self) -> tuple[int, int]:
        """Numbers of samples predicted positive and negative."""
        return self.tables[0].predicted

    def count_law(self, axis: int) -> Estimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        return mix([table.count_law(axis) for table in self.tables], self.weight)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint law of two metrics with the parameter integrated out."""
        parts = [table.joint(first, second) for table in self.tables]
        mass = self.weight * np.array([p.probability_defined for p in parts])
        weight = np.concatenate([m / mass.sum() * p.weight for m, p in zip(mass, parts, strict=True)])
        return JointEstimate(
            parts[0].first,
            parts[0].second,
            np.concatenate([p.points for p in parts]),
            weight,
            float(mass.sum()),
        )

    def draws(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n 2 2"]:
        """n draws of the table, the parameter integrated out."""
        node, *keys = jax.random.split(key, len(self.tables) + 1)
        nodes = np.asarray(jax.random.choice(node, len(self.tables), (n,), p=np.asarray(self.weight)))
        out = np.empty((n, 2, 2))
        for k in np.unique(nodes):
            out[nodes == k] = self.tables[k].draws(keys[k], int((nodes == k).sum()))
        return out

    @property
    def parameter_law(self) -> DensityEstimate | PmfEstimate:
        """Posterior of the parameter, as atoms at the nodes."""
        return PmfEstimate(self.parameter, self.weight)


def mix(laws: Sequence[Estimate], weight: Float[np.ndarray, " laws"]) -> Estimate:
    """Mixture of laws: atoms are pooled, densities added on a common grid."""
    defined = weight * np.array([law.probability_defined for law in laws])
    share = defined / max(defined.sum(), 1e-300)
    atoms = [(law, w) for law, w in zip(laws, share, strict=True) if w > 1e-14]
    discrete = [(law, w) for law, w in atoms if isinstance(law, PmfEstimate)]
    if len(discrete) == len(atoms):
        values = np.concatenate([law.values for law, _ in discrete] or [np.zeros(0)])
        pmf = np.concatenate([w * law.pmf for law, w in discrete] or [np.zeros(0)])
        values, where = np.unique(values, return_inverse=True)
        lattice = all(law.lattice for law, _ in discrete)
        return PmfEstimate(
            values, np.bincount(where, weights=pmf, minlength=values.size), float(defined.sum()), lattice
        )
    grids = [law for law, _ in atoms if isinstance(law, DensityEstimate)]
    grid = np.linspace(min(g.grid[0] for g in grids), max(g.grid[-1] for g in grids), 4001)
    pdf = np.sum([w * law.density(grid) for law, w in atoms], axis=0)
    return DensityEstimate(grid, pdf, float(defined.sum()))


def integrate_out(
    table_at: Callable[[float], tuple[Any, float]],
    approximate: Callable[[float], float],
    *,
    log_prior: Callable[[float], float],
    low: float,
    high: float,
    nodes: int = _NODES,
) -> Mixture:
    """Posterior of the counts with one parameter in (low, high) integrated out.

    Args:
        table_at: parameter -> (count table, log evidence of everything observed).
        approximate: parameter -> roughly that log evidence, cheaply; only says where the nodes should lie.
        log_prior: log density of the parameter.
        low, high: range of the parameter.
        nodes: Gauss-Legendre nodes on the range that holds the posterior (found by scanning twice).
    """
    scan = np.linspace(low, high, 27)[1:-1]
    for _ in range(3):  # narrow the range to where the posterior is
        height = np.array([approximate(float(v)) + log_prior(float(v)) for v in scan])
        inside = np.flatnonzero(height > height.max() - 30.0)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, scan.size - 1)
        left = scan[first] if inside[0] > 0 else low
        right = scan[last] if inside[-1] < scan.size - 1 else high
        low, high = float(left), float(right)
        scan = np.linspace(low, high, 27)[1:-1]
    node, weight = np.polynomial.legendre.leggauss(nodes)
    parameter = 0.5 * (high + low) + 0.5 * (high - low) * node
    found = [table_at(float(v)) for v in parameter]
    log_w = np.array([e + log_prior(v) for (_, e), v in zip(found, parameter, strict=True)])
    mass = 0.5 * (high - low) * weight * np.exp(log_w - log_w.max())
    evidence = float(log_w.max() + np.log(mass.sum()))
    return Mixture(parameter, mass / mass.sum(), [table for table, _ in found], evidence)


def log_beta_density(a: float, b: float) -> Callable[[float], float]:
    """Log density of Beta(a, b)."""
    return lambda v: float(xlogy(a - 1, v) + xlog1py(b - 1, -v) - betaln(a, b))


def _mixture(log_odds_at, log_label_evidence, y_pred, log_prior, low, high, exact_posterior) -> Mixture:
    """Integrate a parameter out, given the log-odds of the samples and log p(z) as functions of it."""

    def data_at(value):
        return collapse(log_odds_at(value), y_pred)

    def table_at(value):
        table = exact_posterior(data_at(value))
        return table, table.log_evidence + log_label_evidence(value)

    def roughly(value):  # Laplace's approximation of the same evidence
        data = data_at(value)
        mode = most_probable(data)
        spread = 0.5 * np.linalg.slogdet(mode.covariance)[1]
        height = log_likelihood(data, mode.p_detection, mode.p_false_alarm)
        return height + spread + log_label_evidence(value)

    return integrate_out(table_at, roughly, log_prior=log_prior, low=low, high=high)


def unknown_prior(
    log_ratio: Float[np.ndarray, " samples"],
    y_pred: Int[np.ndarray, " samples"],
    *,
    beta: tuple[float, float] = (1.0, 1.0),
    exact_posterior: Callable[..., Any] = count_table,
) -> Mixture:
    """The class prior pi(1) ~ Beta(*beta) integrated out of the exact posterior.

    Args:
        log_ratio: log p(z_i | y_i = 1) - log p(z_i | y_i = 0); `log_evidence` is then log p(y_pred, z) up to
            the sum of log p(z_i | y_i = 0), which does not depend on the prior.
        y_pred: predictions, 0 or 1.
        beta: parameters of the Beta prior of pi(1).
        exact_posterior: how a table is made; `binary.exact_posterior` for very large samples.

    Returns:
        A Mixture whose parameter is pi(1).
    """

    def log_odds_at(share):
        return log_ratio + np.log(share) - np.log1p(-share)

    def log_label_evidence(share):
        certain = np.isposinf(log_ratio)  # known positives: count log pi(1) alone
        terms = np.logaddexp(np.log1p(-share), np.log(share) + log_ratio[~certain])
        return float(terms.sum() + certain.sum() * np.log(share))

    prior = log_beta_density(*beta)
    return _mixture(log_odds_at, log_label_evidence, y_pred, prior, 0.0, 1.0, exact_posterior)


def unknown_error(
    votes: Int[np.ndarray, "samples 2"],
    y_pred: Int[np.ndarray, " samples"],
    prior: Float[np.ndarray, " 2"],
    *,
    beta: tuple[float, float] = (1.0, 1.0),
    exact_posterior: Callable[..., Any] = count_table,
) -> Mixture:
    """One error probability eps < 1/2, common to all labelers (57) and unknown, integrated out.

    2 eps ~ Beta(*beta). eps < 1/2 says that labelers are better than chance: without it eps and 1 - eps with
    the classes swapped could not be told apart.

    Args:
        votes: (samples, 2), how many labels 0 and 1 each sample has, `labels.counts()`.
        y_pred: predictions, 0 or 1.
        prior: (2,) class prior.
        beta: parameters of the Beta prior of 2 eps.
        exact_posterior: how a table is made.

    Returns:
        A Mixture whose parameter is eps; `log_evidence` is log p(y_pred, z).
    """
    zeros, ones = np.asarray(votes, np.float64).T

    def log_joint(error):
        right, wrong = np.log1p(-error), np.log(error)
        return np.log(prior[0]) + zeros * right + ones * wrong, np.log(
            prior[1]
        ) + ones * right + zeros * wrong

    def log_odds_at(error):
        negative, positive = log_joint(error)
        return positive - negative

    def log_label_evidence(error):
        return float(np.logaddexp(*log_joint(error)).sum())

    density = log_beta_density(*beta)
    double = lambda error: density(2 * error) + float(np.log(2))  # noqa: E731
    return _mixture(log_odds_at, log_label_evidence, y_pred, double, 0.0, 0.5, exact_posterior)
