"""Joint posteriors of two metrics: (P_D, P_FA), (PREC, REC), or any other pair.

`JointEstimate` is exact: the cells of a count table are points in the plane of the two metrics.
`JointDensity` is the paper's normal form, (17) and (18), on the unit square. Host side, float64.
"""

from collections.abc import Callable

import equinox as eqx
import numpy as np
import scipy
from jaxtyping import Float

from jtruth._one_line import one_line, picture


class JointEstimate(eqx.Module):
    """Exact joint distribution of two metrics: points (cells, 2) and their probabilities.

    Cells in which either metric is undefined are left out; `probability_defined` is the mass of the others.
    """

    first: str
    second: str
    points: Float[np.ndarray, "cells 2"]
    weight: Float[np.ndarray, " cells"]
    probability_defined: float

    plot = picture
    __repr__ = one_line

    @property
    def mean(self) -> Float[np.ndarray, " 2"]:
        """Posterior mean of the pair."""
        return self.weight @ self.points

    @property
    def covariance(self) -> Float[np.ndarray, "2 2"]:
        """Posterior covariance of the pair."""
        centred = self.points - self.mean[None, :]
        return (centred * self.weight[:, None]).T @ centred

    @property
    def mode(self) -> Float[np.ndarray, " 2"]:
        """The most probable cell of the count table; of equal weights, the peak of a smoothed grid."""
        if np.ptp(self.weight) > 0 or len(self.weight) < 2:
            return self.points[int(np.argmax(self.weight))]
        from scipy.ndimage import gaussian_filter

        edges = [np.linspace(v.min(), v.max() + 1e-9, 41) for v in self.points.T]
        mass = gaussian_filter(np.histogram2d(*self.points.T, bins=edges)[0], 2.0)
        i, j = np.unravel_index(int(np.argmax(mass)), mass.shape)
        return np.array([0.5 * (e[k] + e[k + 1]) for e, k in zip(edges, (i, j), strict=True)])

    def on_grid(self, x_edges: np.ndarray, y_edges: np.ndarray) -> Float[np.ndarray, "x y"]:
        """Density averaged over the bins of a grid, for pictures."""
        mass, _, _ = np.histogram2d(*self.points.T, bins=[x_edges, y_edges], weights=self.weight)
        return mass / np.outer(np.diff(x_edges), np.diff(y_edges))


class JointDensity(eqx.Module):
    """A joint density of two metrics on the unit square, confined to a box that contains its mass."""

    first: str
    second: str
    density: Callable[[np.ndarray, np.ndarray], np.ndarray]
    box: tuple[tuple[float, float], tuple[float, float]]
    mean: Float[np.ndarray, " 2"]

    plot = picture
    __repr__ = one_line

    @property
    def mode(self) -> Float[np.ndarray, " 2"]:
        """Where the density is highest."""
        x, y, height = self.on_grid()
        i, j = np.unravel_index(int(np.argmax(height)), height.shape)
        optimum = scipy.optimize.minimize(
            lambda p: -float(self.density(p[0], p[1])), [x[i], y[j]], method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12}, bounds=self.box,
        )  # fmt: skip
        return optimum.x

    def on_grid(self, points: int = 201) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Grid of the box and the density on it: x (points,), y (points,), density (points, points)."""
        x, y = (np.linspace(low, high, points) for low, high in self.box)
        return x, y, self.density(x[:, None], y[None, :])
