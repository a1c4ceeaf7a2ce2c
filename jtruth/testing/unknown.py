"""An unknown class prior, or an unknown common error rate, integrated out over exact tables.

The normaliser of the exact posterior is the evidence p(y_pred, z | parameter). So the posterior of one
unknown parameter is the evidence times its prior on a quadrature grid, and the posterior of a metric is the
mixture of its exact laws at the nodes. Host side, float64.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import betaln, xlog1py, xlogy

from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.testing.joint import JointEstimate, joint_estimate

_NODES = 24


class Mixture(eqx.Module):
    """Exact tables at the nodes of a parameter, and the posterior probabilities of the nodes."""

    parameter: Float[np.ndarray, " nodes"]
    weight: Float[np.ndarray, " nodes"]
    tables: Sequence[Any]
    log_evidence: float

    def estimate(self, metric: str) -> Estimate:
        """Law of a metric with the parameter integrated out."""
        return mix([table.estimate(metric) for table in self.tables], self.weight)

    @property
    def n1(self) -> int:
        """Number of samples predicted positive."""
        return self.tables[0].n1

    @property
    def n0(self) -> int:
        """Number of samples predicted negative."""
        return self.tables[0].n0

    def count_law(self, axis: int) -> Estimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        return mix([table.count_law(axis) for table in self.tables], self.weight)

    def joint(self, first: str, second: str) -> JointEstimate:
        """Joint law of two metrics with the parameter integrated out."""
        parts = [joint_estimate(table, first, second) for table in self.tables]
        mass = self.weight * np.array([p.probability_defined for p in parts])
        weight = np.concatenate([m / mass.sum() * p.weight for m, p in zip(mass, parts, strict=True)])
        return JointEstimate(
            first, second, np.concatenate([p.points for p in parts]), weight, float(mass.sum())
        )

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
