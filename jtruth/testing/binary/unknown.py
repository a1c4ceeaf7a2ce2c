"""Exact tables with an unknown class prior integrated out.

The normaliser of the exact posterior is the evidence p(y_pred, z | prior), so the posterior of the prior is
known on a quadrature grid; a metric has the mixture of its exact distributions at the nodes. Host, float64.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import CellWeights, Sums, TablePosterior
from jtruth.testing.binary.exact import exact_posterior
from jtruth.testing.binary.operating_point import collapse, log_likelihood, most_probable

_NODES = 24


class Mixture(TablePosterior, eqx.Module):
    """Exact tables at the nodes of a parameter, and the posterior probabilities of the nodes."""

    parameter: Float[np.ndarray, " nodes"]
    weight: Float[np.ndarray, " nodes"]
    tables: Sequence[Any]
    log_evidence: float

    @property
    def shape(self) -> tuple[int, int]:
        """Two classes, two symbols."""
        return 2, 2

    def estimate(self, metric: str | Metric) -> Estimate:
        """Distribution of a metric with the parameter integrated out."""
        return mix([table.estimate(metric) for table in self.tables], self.weight)

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Both sums in every table of every node."""
        each = [table.counted(hits, misses) for table in self.tables]
        hit, miss = (np.concatenate([one[k] for one in each]) for k in range(2))
        return hit, miss, np.concatenate([w * one[2] for w, one in zip(self.weight, each, strict=True)])

    def cell(self, true: int, symbol: int) -> Estimate:
        """Distribution of an element of the table with the parameter integrated out."""
        return mix([table.cell(true, symbol) for table in self.tables], self.weight)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint distribution of two metrics with the parameter integrated out."""
        parts = [table.joint(first, second) for table in self.tables]
        mass = self.weight * np.array([p.probability_defined for p in parts])
        weight = np.concatenate([m / mass.sum() * p.weight for m, p in zip(mass, parts, strict=True)])
        points = np.concatenate([p.points for p in parts])
        return JointEstimate(parts[0].first, parts[0].second, points, weight, float(mass.sum()))

    def draws(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n 2 2"]:
        """n draws of the table, the parameter integrated out."""
        node, *keys = jax.random.split(key, len(self.tables) + 1)
        nodes = np.asarray(jax.random.choice(node, len(self.tables), (n,), p=np.asarray(self.weight)))
        out = np.empty((n, 2, 2))
        for k in np.unique(nodes):
            out[nodes == k] = self.tables[k].draws(keys[k], int((nodes == k).sum()))
        return out


def mix(dists: Sequence[Estimate], weight: Float[np.ndarray, " dists"]) -> Estimate:
    """Mixture of distributions: atoms are pooled, densities added on a common grid."""
    defined = weight * np.array([dist.probability_defined for dist in dists])
    share, known = defined / max(defined.sum(), 1e-300), float(defined.sum())
    used = [(dist, w) for dist, w in zip(dists, share, strict=True) if w > 1e-14]
    discrete = [(dist, w) for dist, w in used if isinstance(dist, PmfEstimate)]
    if len(discrete) == len(used):
        values = np.concatenate([dist.values for dist, _ in discrete] or [np.zeros(0)])
        pmf = np.concatenate([w * dist.pmf for dist, w in discrete] or [np.zeros(0)])
        values, where = np.unique(values, return_inverse=True)
        pmf = np.bincount(where, weights=pmf, minlength=values.size)
        return PmfEstimate(values, pmf, known, lattice=all(dist.lattice for dist, _ in discrete))
    grids = [dist.grid for dist, _ in used if isinstance(dist, DensityEstimate)]
    grid = np.linspace(min(g[0] for g in grids), max(g[-1] for g in grids), 4001)
    return DensityEstimate(grid, np.sum([w * dist.density(grid) for dist, w in used], axis=0), known)


def unknown_prior(log_ratio: Float[np.ndarray, " samples"], y_pred: Int[np.ndarray, " samples"]) -> Mixture:
    """Integrate the class prior pi(1), uniform a priori, out of the exact posterior.

    Args:
        log_ratio: log p(z_i | y_i = 1) - log p(z_i | y_i = 0); `log_evidence` is then log p(y_pred, z) less
            the sum of log p(z_i | y_i = 0).
        y_pred: predictions, 0 or 1.
    """

    def data_at(share):
        return collapse(log_ratio + np.log(share) - np.log1p(-share), y_pred)

    def log_label_evidence(share):
        certain = np.isposinf(log_ratio)  # known positives: count log pi(1) alone
        terms = np.logaddexp(np.log1p(-share), np.log(share) + log_ratio[~certain])
        return float(terms.sum() + certain.sum() * np.log(share))

    def roughly(share):  # Laplace's approximation of the evidence, to place the nodes
        data = data_at(share)
        mode = most_probable(data)
        spread = 0.5 * np.linalg.slogdet(mode.covariance)[1]
        height = log_likelihood(data, mode.p_detection, mode.p_false_alarm)
        return height + spread + log_label_evidence(share)

    low, high = 0.0, 1.0
    for _ in range(3):  # the part that holds the mass of exp(roughly)
        scan = np.linspace(low, high, 27)
        height = np.array([roughly(float(v)) for v in scan[1:-1]])
        inside = np.flatnonzero(height > height.max() - 30.0)
        low, high = float(scan[inside[0]]), float(scan[inside[-1] + 2])
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    parameter = 0.5 * (high + low) + 0.5 * (high - low) * node
    tables = [exact_posterior(data_at(float(v))) for v in parameter]
    pairs = zip(tables, parameter, strict=True)
    log_w = np.array([t.log_evidence + log_label_evidence(v) for t, v in pairs])
    mass = 0.5 * (high - low) * weight * np.exp(log_w - log_w.max())
    return Mixture(parameter, mass / mass.sum(), tables, float(log_w.max() + np.log(mass.sum())))
