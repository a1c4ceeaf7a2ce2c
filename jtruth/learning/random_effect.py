"""How good is a classifier if difficulty is gradual and everybody feels it? Two classes, one random effect.

The model (`_random_effect_density`) gives every sample a hidden ease that labelers and classifier share, more
or less strongly; independence is the case lam = kap = 0. It fits data in which hard samples fool everybody,
and pulls the estimate of the classifier down where independence pulls it up.

Sampler: Hamiltonian Monte Carlo on the density with ease and classes summed out, in NumPy, 4 to 32 chains
side by side. Coordinates are scaled by the curvature at the mode, chains start around the mode, step size is
set during burn-in, and the chains go on until split R-hat and effective sample size are good, as in `gibbs`.
Nothing is compiled; equal samples are one row.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from jtruth._random import host_rng
from jtruth.labels import Labels
from jtruth.learning._gibbs_guard import check_identified, check_switching
from jtruth.learning._gibbs_inputs import checked_gold, checked_predictions
from jtruth.learning._gibbs_pointwise import RowLikelihood, chosen_draws, row_likelihood
from jtruth.learning._gibbs_spec import Rows, merge_samples
from jtruth.learning._random_effect_density import Density, Parameters
from jtruth.learning.gibbs import STANDARD, Convergence, Effort, diagnose
from jtruth.learning.joint import JointPosterior

_BLOCK = 25  # transitions between two looks at the clock
_BURN_IN = 75
_CHEAP = 60_000  # numbers per evaluation below which Python's time dominates
_ACCEPT = 0.8  # acceptance that the step size aims at


class _Draws(NamedTuple):
    """What one block of transitions leaves, (chains, transitions, ...)."""

    prior: np.ndarray
    counts: np.ndarray
    classifier: np.ndarray
    matrices: np.ndarray
    points: np.ndarray


def fit_random_effect(
    labels: Labels,
    *,
    key: Any,
    y_pred: Any,
    gold: Any = None,
    prior: Any = None,
    effort: Effort = STANDARD,
    progress: Callable[[int, int], None] | None = None,
    pointwise: bool = False,
) -> JointPosterior:
    """Sample class share, labelers, classifier and true classes under a difficulty that all share.

    Args:
        labels: noisy labels of two classes.
        key: JAX random key. The same key gives the same draws.
        y_pred: (samples,) predicted classes, -1 where there is none.
        gold: (samples,) known classes, -1 where unknown.
        prior: (2,) known class prior; by default its logit is drawn (uniform share).
        effort: when to stop; `burn_in` and `min_sweeps` are ignored, a transition is worth many sweeps.
        progress: called with (transitions done, transitions planned), all chains together.
        pointwise: compute log p(one sample | draw) too, for `jtruth.comparison.leave_one_out`.

    Returns:
        `JointPosterior` with `dependence` "random_effect"; matrices are averaged over ease.

    Raises:
        ValueError: input that cannot be used; more than two classes.

    >>> import jax
    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_random_effect(Labels.from_matrix(z, 2), y_pred=z[:, 0], key=jax.random.key(0))
    >>> fit.usable, fit.converged, fit.tables("in-sample").shape[1:]
    (True, True, (2, 2))
    """
    rng = host_rng(key, "random effect")
    if labels.num_classes != 2:
        raise ValueError(
            f"the random-effect model is for two classes, these labels have {labels.num_classes}; "
            'use dependence="shared_strata"'
        )
    if y_pred is None:
        raise ValueError("the random-effect model needs y_pred, the predictions to judge")
    predicted, _ = checked_predictions(labels, y_pred, 2)
    known = checked_gold(labels, gold)
    rows = merge_samples(labels, predicted, known)
    density = Density(rows, None if prior is None else np.asarray(prior, np.float64))
    began = time.monotonic()
    mode, root = find_mode(density)
    chains = effort.chains or int(
        np.clip(4 * (_CHEAP // (8 * density.nodes * rows.multiplicity.size)), 4, 32)
    )
    state = mode + rng.standard_normal((chains, density.size)) @ root.T
    parts, step, done, planned = [], 0.3, 0, _BURN_IN + 100
    value, gradient = density(state)
    states_seen = np.zeros((rows.multiplicity.size, 2))
    stopped_by, rhat, ess = "", {}, {}
    while not stopped_by:
        block = []
        for _ in range(_BLOCK):
            warm = done >= _BURN_IN
            state, value, gradient, accepted = _move(rng, density, root, state, value, gradient, step)
            if not warm:
                step *= np.exp((accepted - _ACCEPT) / (1 + done) ** 0.6)
            else:
                block.append(state)
            done += 1
        if block:
            draws, seen = _digest(rng, density, rows, np.stack(block, axis=1))
            parts.append(draws)
            states_seen += seen
        if progress is not None:
            progress(done * chains, planned * chains)
        spent = time.monotonic() - began
        if done >= planned and parts:
            both = _joined(parts)
            rhat, ess = diagnose(_monitored(both, effort.nuisance))
            if _good(rhat, ess, effort):
                stopped_by = "converged"
            else:
                planned = _BURN_IN + int(1.5 * (planned - _BURN_IN))
        if not stopped_by and len(parts) > 1:
            if spent > effort.max_seconds:
                stopped_by = "max_seconds"
            elif (done - _BURN_IN) * chains >= effort.max_sweeps:
                stopped_by = "max_sweeps"
    both = _joined(parts)
    if not rhat or stopped_by != "converged":
        rhat, ess = diagnose(_monitored(both, effort.nuisance))
    convergence = Convergence(
        stopped_by == "converged", stopped_by, rhat, ess, both.prior.shape[0] * both.prior.shape[1],
        _BURN_IN, time.monotonic() - began,
    )  # fmt: skip
    found = _gather(both, states_seen, convergence, labels, rows, predicted, known)
    return found._replace(pointwise=_pointwise(density, rows, both.points)) if pointwise else found


def _pointwise(density: Density, rows: Rows, points: np.ndarray) -> RowLikelihood:
    """log p(row | draw) at evenly spaced points, (chains, draws, size)."""
    chains, draws = points.shape[:2]
    chosen = points[:, chosen_draws(chains, draws, rows.multiplicity.size)]
    flat = chosen.reshape(-1, points.shape[-1])
    most = max(1, 2_000_000 // max(rows.multiplicity.size * 2 * density.nodes, 1))
    parts = []
    for part in np.array_split(flat, -(-len(flat) // most)):
        p = density.split(part)
        parts.append(density.states(p, density.logits(p))[1])
    return row_likelihood(np.concatenate(parts).reshape(chains, chosen.shape[1], -1), rows.row_of_sample)


def find_mode(density: Density) -> tuple[Float[np.ndarray, " size"], Float[np.ndarray, "size size"]]:
    """Mode, and a matrix R with R R' the inverse of the curvature there (only a scale for the sampler)."""

    def negative(point):
        value, gradient = density(point[None])
        return -value[0], -gradient[0]

    start = np.zeros(density.size)
    start[-8:] = [1.2, 1.2, -0.5, -0.5, 1.2, 1.2, -0.5, -0.5]  # everybody better than chance
    mode = np.asarray(minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x)
    width = 1e-4
    steps = width * np.eye(density.size)
    most = max(1, 2_000_000 // max(density.multiplicity.size * 2 * density.nodes, 1))  # points at once
    slopes = np.concatenate([
        density(mode + part)[1] - density(mode - part)[1]
        for part in np.array_split(steps, -(-density.size // most))
    ])  # fmt: skip
    curvature = -(slopes + slopes.T) / (4 * width)
    eigenvalues, vectors = np.linalg.eigh(curvature)
    return mode, vectors / np.sqrt(np.maximum(eigenvalues, 0.1))


def _move(rng, density, root, state, value, gradient, step):
    """One HMC transition of every chain with a random number of leapfrog steps; mean acceptance last."""
    momentum = rng.standard_normal(state.shape)
    size = step * rng.uniform(0.8, 1.2)
    steps = int(rng.integers(1, 2 * max(1, min(16, round(1.5 / step))) + 1))
    new, slope, energy = state, gradient, 0.5 * (momentum**2).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            momentum = momentum + 0.5 * size * slope @ root
            new = new + size * momentum @ root.T
            there, slope = density(new)
            momentum = momentum + 0.5 * size * slope @ root
        gain = there - value - 0.5 * (momentum**2).sum(axis=1) + energy
    chance = np.exp(np.minimum(np.nan_to_num(gain, nan=-np.inf), 0.0))
    take = rng.random(len(state)) < chance
    return (
        np.where(take[:, None], new, state),
        np.where(take, there, value),
        np.where(take[:, None], slope, gradient),
        float(chance.mean()),
    )


def _digest(rng, density: Density, rows: Rows, points: np.ndarray) -> tuple[_Draws, np.ndarray]:
    """Draws of what people ask for, from points (chains, transitions, size); sums of p(class | row)."""
    shape = points.shape[:2]
    flat = points.reshape(-1, points.shape[-1])
    most = max(1, 2_000_000 // max(rows.multiplicity.size * 2 * density.nodes, 1))
    counts, seen = [], np.zeros((rows.multiplicity.size, 2))
    everything = density.split(flat)
    for part in np.array_split(np.arange(len(flat)), -(-len(flat) // most)):
        p = Parameters(*(getattr(everything, name)[part] for name in Parameters.__annotations__))
        weight, _ = density.states(p, density.logits(p))
        one = weight[density.nodes :].sum(axis=0)  # (points, rows)
        seen += np.stack([(1 - one).sum(axis=0), one.sum(axis=0)], axis=1)
        drawn = rng.binomial(rows.multiplicity, np.clip(one, 0, 1))
        table = np.empty((len(part), 2, 2), np.int64)
        for symbol in range(2):
            mine = rows.y_pred == symbol
            table[:, 1, symbol] = drawn[:, mine].sum(axis=1)
            table[:, 0, symbol] = rows.multiplicity[mine].sum() - table[:, 1, symbol]
        counts.append(table)
    ease_weight = np.exp(density.log_node)
    of_labelers, of_classifier = density.logits(everything)
    right = 1 / (1 + np.exp(-of_labelers)) @ ease_weight
    own = 1 / (1 + np.exp(-of_classifier)) @ ease_weight
    share = 1 / (1 + np.exp(-everything.logit_share))
    draws = _Draws(
        prior=np.stack([1 - share, share], axis=1),
        counts=np.concatenate(counts),
        classifier=_matrix(own),
        matrices=_matrix(right),
        points=flat,
    )
    return _Draws(*(a.reshape(*shape, *a.shape[1:]) for a in draws)), seen


def _matrix(right: np.ndarray) -> np.ndarray:
    """(..., 2) probabilities of being right in each class -> (..., 2, 2) rows true, columns given."""
    first, second = right[..., 0], right[..., 1]
    return np.stack([np.stack([first, 1 - first], -1), np.stack([1 - second, second], -1)], -2)


def _joined(parts: list[_Draws]) -> _Draws:
    return _Draws(*(np.concatenate(a, axis=1) for a in zip(*parts, strict=True)))


def _monitored(draws: _Draws, nuisance: bool) -> dict[str, np.ndarray]:
    counts = draws.counts
    found = {
        "prior": draws.prior[..., 1],
        "counts[1,0]": counts[..., 1, 0],
        "counts[1,1]": counts[..., 1, 1],
        "classifier": np.diagonal(draws.classifier, axis1=-2, axis2=-1),
    }
    return found | {"parameters": draws.points[..., -8:]} if nuisance else found


def _good(rhat: dict[str, float], ess: dict[str, float], effort: Effort) -> bool:
    r, e = np.array(list(rhat.values())), np.array(list(ess.values()))
    return bool((np.isnan(r) | (r < effort.max_rhat)).all() and (np.isnan(e) | (e >= effort.min_ess)).all())


def _gather(draws: _Draws, seen, convergence, labels, rows, predicted, known) -> JointPosterior:
    chains, each = draws.prior.shape[:2]
    active = labels.labels_per_labeler() > 0
    means = np.concatenate([
        draws.matrices.mean(axis=1)[:, active], draws.classifier.mean(axis=1)[:, None]
    ], axis=1)  # fmt: skip
    switching = check_switching(means, labels.class_names, known)
    not_identified = check_identified(labels, predicted, known, informed=False)
    total = chains * each
    flat = {name: a.reshape(total, *a.shape[2:]) for name, a in draws._asdict().items()}
    own = np.diagonal(flat["matrices"], axis1=-2, axis2=-1)
    doubts = (not_identified, switching.sentence, convergence.sentence())
    return JointPosterior(
        prior=flat["prior"],
        matrices=flat["matrices"].astype(np.float32),
        matrix_draw=np.arange(total),
        mean_matrices=flat["matrices"].mean(axis=0),
        labeler_accuracy=np.einsum("mtc,mc->mt", own, flat["prior"]),
        classifier=flat["classifier"],
        counts=flat["counts"],
        class_posterior=(seen / total)[rows.row_of_sample],
        weights=None,
        chain=np.repeat(np.arange(chains), each),
        convergence=convergence,
        switching=switching,
        identified=not_identified is None,
        dependence="random_effect",
        warnings=tuple(text for text in doubts if text),
    )
