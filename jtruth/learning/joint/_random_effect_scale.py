"""Where the sampler of the random-effect model starts, and in which coordinates it moves.

Hamiltonian steps want coordinates in which the posterior is about round: x = mode + R u with R R' the inverse
of the curvature C at the mode. Up to 100 labelers C is found whole, by differences of 2 size gradients. With
more of them that would cost more than the sampling. But every labeler's two numbers a meet the rest only
through the nine that all share (class share, means, slopes), so C is taken as an arrow,

    C = [ D  B ]   D: diagonal, of the a, by the information of labels whose states are known
        [ B' G ]   B, G: the rows of the shared numbers, by differences of 18 gradients

whose R costs as much as there are labelers. C is a scale for the sampler only: the law of the draws does not
depend on it. Where C is found whole, burn-in corrects R by how the draws really spread (`adapted`): curvature
at the mode knows nothing of long tails.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from jtruth.learning.joint._random_effect_density import Density

MOST_WHOLE = 100  # labelers whose curvature is found whole
_WIDTH = 1e-4  # of differences
_FLATTEST = 0.1  # curvature below which a direction is taken as flat as that
_AT_ONCE = 2_000_000  # numbers of one array


class Whole(NamedTuple):
    """R as a dense matrix."""

    root: np.ndarray  # (size, size)

    def apply(self, u: Float[np.ndarray, "points size"]) -> Float[np.ndarray, "points size"]:
        """R u of every point."""
        return u @ self.root.T

    def apply_transposed(self, x: Float[np.ndarray, "points size"]) -> Float[np.ndarray, "points size"]:
        """R' x of every point."""
        return x @ self.root


class Arrow(NamedTuple):
    """R as the parts of an arrow; `place` (size,) says where the shared numbers are."""

    narrow: np.ndarray  # (others,) D^(-1/2)
    border: np.ndarray  # (others, shared) -D^(-1) B L^(-T)
    corner: np.ndarray  # (shared, shared) L^(-T), L L' = G - B' D^(-1) B
    place: np.ndarray

    def apply(self, u: Float[np.ndarray, "points size"]) -> Float[np.ndarray, "points size"]:
        """R u of every point."""
        out = np.empty_like(u)
        shared = u[:, self.place]
        out[:, ~self.place] = u[:, ~self.place] * self.narrow + shared @ self.border.T
        out[:, self.place] = shared @ self.corner.T
        return out

    def apply_transposed(self, x: Float[np.ndarray, "points size"]) -> Float[np.ndarray, "points size"]:
        """R' x of every point."""
        out = np.empty_like(x)
        others = x[:, ~self.place]
        out[:, ~self.place] = others * self.narrow
        out[:, self.place] = others @ self.border + x[:, self.place] @ self.corner
        return out


Scale = Whole | Arrow


def find_mode(density: Density) -> Float[np.ndarray, " size"]:
    """A mode of the density, from a start at which everybody is better than chance."""

    def negative(point):
        value, gradient = density(point[None])
        return -value[0], -gradient[0]

    start = np.zeros(density.size)
    start[-8:] = [1.2, 1.2, 0.5, 0.5, 1.2, 1.2, 0.5, 0.5]
    return np.asarray(minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x)


def curvature_scale(density: Density, mode: Float[np.ndarray, " size"]) -> Scale:
    """R at the mode."""
    if density.labelers <= MOST_WHOLE:
        curvature = _slopes(density, mode, np.arange(density.size))
        return Whole(_inverse_root((curvature + curvature.T) / 2))
    place = np.zeros(density.size, bool)
    place[: density.first] = place[density.last :] = True
    rows = _slopes(density, mode, np.flatnonzero(place))  # (shared, size)
    border, corner = rows[:, ~place].T, rows[:, place]
    diagonal = density.labeler_information(mode)
    below = border / diagonal[:, None]
    root = _inverse_root((corner + corner.T) / 2 - border.T @ below)
    return Arrow(1 / np.sqrt(diagonal), -below @ root, root, place)


def adapted(
    root: Float[np.ndarray, "size size"], draws: Float[np.ndarray, "chains draws size"]
) -> Float[np.ndarray, "size size"]:
    """R by the spread of draws, drawn towards the `root` at the mode, the more so the fewer they are.

    Ten transitions count as one draw, and the root as 2 size draws: in so many dimensions the spread of fewer
    draws is mostly noise.
    """
    flat = draws.reshape(-1, draws.shape[-1])
    u = np.linalg.solve(root, (flat - flat.mean(axis=0)).T)
    worth, prior = len(flat) / 10, 2.0 * len(root)
    spread = (worth * (u @ u.T) / len(flat) + prior * np.eye(len(root))) / (worth + prior)
    return np.asarray(root @ np.linalg.cholesky(spread))


def gradients_of_scale(density: Density) -> int:
    """How many gradients `curvature_scale` asks for."""
    shared = density.first + density.size - density.last
    return 2 * (density.size if density.labelers <= MOST_WHOLE else shared)


def _slopes(density: Density, mode: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Rows of minus the matrix of second derivatives."""
    steps = np.zeros((which.size, density.size))
    steps[np.arange(which.size), which] = _WIDTH
    most = max(1, int(_AT_ONCE / density.numbers))  # points at once
    parts = np.array_split(steps, -(-len(steps) // most))
    slopes = [density(mode + part)[1] - density(mode - part)[1] for part in parts]
    return -np.concatenate(slopes) / (2 * _WIDTH)


def _inverse_root(curvature: np.ndarray) -> np.ndarray:
    """R with R R' the inverse, flat directions cut."""
    values, vectors = np.linalg.eigh(curvature)
    return vectors / np.sqrt(np.maximum(values, _FLATTEST))


def transition(rng, density, scale, state, value, gradient, step):
    """One HMC transition of every chain with a random number of leapfrog steps; mean acceptance last."""
    momentum = rng.standard_normal(state.shape)
    size = step * rng.uniform(0.4, 1.2, (len(state), 1))
    steps = int(rng.integers(1, 2 * max(1, min(16, round(1.5 / step))) + 1))
    new, slope, energy = state, gradient, 0.5 * (momentum**2).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            momentum = momentum + 0.5 * size * scale.apply_transposed(slope)
            new = new + size * scale.apply(momentum)
            there, slope = density(new)
            momentum = momentum + 0.5 * size * scale.apply_transposed(slope)
        gain = there - value - 0.5 * (momentum**2).sum(axis=1) + energy
    chance = np.exp(np.minimum(np.nan_to_num(gain, nan=-np.inf), 0.0))
    take = rng.random(len(state)) < chance
    return (
        np.where(take[:, None], new, state),
        np.where(take, there, value),
        np.where(take[:, None], slope, gradient),
        float(chance.mean()),
    )
