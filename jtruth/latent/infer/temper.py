"""From the prior to the posterior by temperatures: waste-free adaptive sequential Monte Carlo.

Points of prior^1 likelihood^b are moved on to a larger b: each gets the weight likelihood^(b' - b), with b'
such that the weights are worth half of the points. Points drawn by these weights make a few Hamiltonian
moves, all of which are points of the next temperature (Dau and Chopin 2022). So a mode gets the weight that
it has. The mean of the weights estimates the ratio of two normalizing constants, and their product the
evidence, p(labels).

Where evaluations are heavy, points start from a distribution near the posterior (`laplace`). Points live on
`ISLANDS`, independent estimates of the evidence, until the last drawing, which weights islands by it.

The density at temperature b is prior likelihood^b, or start^(1 - b) (prior likelihood)^b. A move takes
leapfrog steps in coordinates x = R v, R a root of a covariance of the points. The program has one gradient,
inside the loop over steps, and gets all random numbers from outside.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jtruth._arrays import systematic
from jtruth.latent import density
from jtruth.latent.density import Seen
from jtruth.latent.infer import laplace
from jtruth.latent.infer.laplace import Start
from jtruth.latent.infer.side_by_side import Call, Sampler
from jtruth.latent.model import Arrays, Kind, Model
from jtruth.latent.walk import TooLarge

ISLANDS = 4
MOVES = 5  # of each point at a temperature
STEPS = 6  # leapfrog steps of a move
# ... of draws to keep where an evaluation is heavy, at most: they go this far, since posteriors of many
# labels are long ridges (41 280 moves of 6 steps, 8640 of 19 for 3000 labels of 50 labelers of .5 to .7)
_LONG, _LENGTH = 20, 4.0
_WORTH = 0.5  # of the points that weights keep
_FIRST_STEP = 0.4
_SETTLING = 3  # times that all move at the last temperature before anything is kept
_MOST = 100  # temperatures
_RUNS, _DOUBT = 3, 0.5  # runs, and the standard error of the log evidence that asks for another
HEAVY = 6e4  # numbers of an evaluation, from which the prior is too far away
_SIZES, _NUMBERS = (128, 256, 512), 8e6  # lineages, and numbers of an evaluation that are cheap
_WANTED, _RATE = 0.8, 0.5  # acceptance, and how fast the size of a step learns
# How often a step is short, and how short: a point in a narrow place rejects all others, and would stay there
_OFTEN, _SHORT = 0.2, 0.2


class Tempered(NamedTuple):
    """Points and the settings of their moves."""

    x: Any  # (size, lineages)
    step: Any  # () size of a step
    root: Any  # (size, size) lower triangle R
    temperature: Any = 1.0  # (); at 1 they are of the posterior
    # log p(everything seen), the parameters integrated out, classes as the prior alone names them; its Monte
    # Carlo standard error, by islands; and how many temperatures it took
    evidence: tuple[float, ...] = ()


@partial(jax.jit, static_argnames=("kind",))
def moves(
    arrays: Arrays,
    seen: Seen,
    state: Tempered,
    random: tuple[Any, Any, Any],
    steps: Any,
    learning: Any,
    start: Start | None = None,
    *,
    kind: Kind,
) -> tuple[Any, Any, Any]:
    """Some moves of all points of `state`, from the prior (temperature 0) or from a `start`.

    `random`: momentum (moves, size, P), normal; for acceptance (moves, P), uniform; and the length of a step
    (moves, P), around 1. `learning`: whether the size of a step changes, 1 or 0. Returns the points after
    every move (moves, size, P), log of what the temperature is the power of (moves, P), and a step's size.
    """
    b, root = state.temperature, state.root

    def parts(x: Any) -> tuple[Any, Any]:
        ratio, first = density.log_likelihood(kind.channel(arrays, x), seen), kind.log_prior(arrays, x)
        if start is not None:
            near = start.log_density(x)
            ratio, first = ratio + first - near, near
        value = first + b * ratio
        return value.sum(), (value, ratio)  # points do not meet: the slope of the sum is each one's

    gradient = jax.grad(parts, has_aux=True)

    def move(carry: Any, noise: Any) -> tuple[Any, Any]:
        (x, step), (momentum, accept, length) = carry, noise
        h = (step * length)[None]

        def leap(i: Any, state: Any) -> Any:
            q, v, first, _ = state
            inner = (i > 0).astype(x.dtype)
            q = q + inner * h * (root @ v)
            slope, (value, likelihood) = gradient(q)
            half = jnp.where((i == 0) | (i == steps), 0.5, 1.0).astype(x.dtype)
            v = v + half * h * (root.T @ slope)
            first = jax.tree.map(lambda old, new: jnp.where(i == 0, new, old), first, (value, likelihood))
            return q, v, first, (value, likelihood)

        nothing = (jnp.zeros_like(x[0]), jnp.zeros_like(x[0]))
        q, v, first, last = jax.lax.fori_loop(0, steps + 1, leap, (x, momentum, nothing, nothing))
        gain = last[0] - first[0] + 0.5 * ((momentum**2).sum(axis=0) - (v**2).sum(axis=0))
        chance = jnp.minimum(1.0, jnp.exp(jnp.where(jnp.isfinite(gain), gain, -jnp.inf)))
        yes = accept < chance
        x, ratio = jnp.where(yes[None], q, x), jnp.where(yes, last[1], first[1])
        step = step * jnp.exp(learning * _RATE * (chance.mean() - _WANTED))
        return (x, step), (x, ratio)

    (_, step), (path, ratio) = jax.lax.scan(move, (state.x, state.step), random)
    return path, ratio, step


@partial(jax.jit, static_argnames=("kind", "classes"))
def dists(arrays: Arrays, seen: Seen, path: Any, u: Any, *, kind: Kind, classes: int) -> tuple[Any, Any, Any]:
    """Natural parameters, class probabilities of every row, and log p(row) of points (moves, size, P).

    Uniform numbers `u` (moves, classes, P) choose between the images of a point.
    """

    def one(point: tuple[Any, Any]) -> tuple[Any, Any, Any]:
        x = kind.unfold(arrays, *point)
        joint = density.log_joint(kind.channel(arrays, x), seen)
        return kind.named(arrays, x), density.class_dist(joint, classes), density.total(joint)

    return jax.lax.map(one, (path, u))


def lineages_for(work: float) -> int:
    """How many points move side by side: more where an evaluation is cheap."""
    if work > HEAVY:
        return 64 if work <= 5 * HEAVY else 32
    return max([size for size in _SIZES if size * work <= _NUMBERS] or [_SIZES[0]])


def far(model: Model) -> bool:
    """Whether the prior is too far away to start there, and the posterior has one hill or a few."""
    return model.work > HEAVY and model.seen.offset.shape[1] == model.classes


def any_start(model: Model) -> Start | None:
    """A start for moves at the last temperature, which do not depend on it."""
    return _flat(model.size) if far(model) else None


@cache
def _flat(size: int) -> Start:
    return laplace.mixture([(0.0, np.zeros(size), np.eye(size))])


def temper(model: Model, rng: np.random.Generator, lineages: int) -> Sampler[Tempered]:
    """Points of the posterior of a model; another run where islands disagree about the evidence."""
    runs: list[tuple[Any, ...]] = []
    while not runs or (len(runs) < _RUNS and _evidence(runs)[1] > _DOUBT):
        start = laplace.start_of(model, rng) if far(model) else None
        first = start.draw(rng, lineages) if start else model.kind.draw(model.arrays, rng, lineages)
        runs.append((yield from _run(model, rng, folded(model, first), start)))
    points, log_w = (np.concatenate([run[k] for run in runs]) for k in (0, 1))
    log_z = np.concatenate([run[2].sum(axis=0) for run in runs])
    x, root = _drawn(model, points, log_w, log_z, lineages, rng)
    return (yield from settled(model, rng, Tempered(x, runs[0][3], root, evidence=_evidence(runs))))


def settled(model: Model, rng: np.random.Generator, state: Tempered) -> Sampler[Tempered]:
    """The state after moves that are not kept, from which scales and step are learned."""
    for _ in range(_SETTLING):
        path, _, step = yield from advance(model, rng, state, 1.0, any_start(model))
        pool = _folded_path(model, path)
        root = root_of(model, pool.transpose(1, 0, 2).reshape(len(state.x), -1))
        state = state._replace(x=np.ascontiguousarray(pool[-1]), step=step, root=root)
    return state


def _run(model: Model, rng: np.random.Generator, x: Any, start: Start | None) -> Sampler[tuple[Any, ...]]:
    """From points of temperature 0 to weighted points of temperature 1.

    Returns points (islands, points, size), their log weights, the log evidence as a sum over the start and
    all temperatures (parts, islands), the size of a step, and the squared error of the evidence by lineages.
    """
    times, share = (np.asarray(a, np.float64) for a in (model.seen.times, model.seen.saturated))
    state, log_z = Tempered(x, _FIRST_STEP, root_of(model, x), 0.0), [np.full(ISLANDS, times @ share)]
    variance = 0.0
    for _ in range(1, _MOST):
        path, ratio, step = yield from advance(model, rng, state, 1.0, start)
        points = _by_island(_folded_path(model, path).transpose(0, 2, 1))
        of_island = _by_island(ratio)
        if not (of_island > -np.inf).any(axis=1).all():
            raise TooLarge("the data are too large for this model: no point has a probability in float32")
        rise = _next(ratio.ravel(), 1 - state.temperature)
        log_w = rise * of_island
        log_z.append(np.logaddexp.reduce(log_w, axis=1) - np.log(log_w.shape[1]))
        of_lineage = np.exp(rise * (ratio - ratio.max())).mean(axis=0)
        variance += of_lineage.var(ddof=1) / of_lineage.mean() ** 2 / of_lineage.size
        if state.temperature + rise >= 1:
            return points, log_w, np.array(log_z), step, variance
        x, root = _drawn(model, points, log_w, None, x.shape[1], rng)
        state = Tempered(x, step, root, state.temperature + rise)
    raise TooLarge(f"the data are too large for this model: {_MOST} temperatures did not reach its posterior")


def folded(model: Model, x: Any) -> Float[np.ndarray, "size points"]:
    """One of the images of each point."""
    return np.ascontiguousarray(model.kind.fold(model.arrays, np.asarray(x)))


def _folded_path(model: Model, path: Any) -> Float[np.ndarray, "moves size points"]:
    moves, size, points = path.shape
    flat = folded(model, np.asarray(path).transpose(1, 0, 2).reshape(size, -1))
    return flat.reshape(size, moves, points).transpose(1, 0, 2)


def advance(
    model: Model,
    rng: np.random.Generator,
    state: Tempered,
    learning: float,
    start: Start | None = None,
    steps: int = STEPS,
) -> Sampler[tuple[Any, np.ndarray, float]]:
    """`MOVES` moves of all points, as `moves` returns them, with -inf for what float32 cannot hold."""
    size, points = state.x.shape
    momentum = rng.standard_normal((MOVES, size, points), dtype=np.float32)
    accept, length, short = rng.random((3, MOVES, points), dtype=np.float32)
    length = (0.5 + 0.6 * length) * np.where(short < _OFTEN, _SHORT, 1.0)
    random = momentum, accept, length.astype(np.float32)
    here = Tempered(state.x, np.float32(state.step), state.root, np.float32(state.temperature))
    how = np.int32(steps), np.float32(learning)
    arrays = model.arrays, model.seen, here, random, *how, start
    path, ratio, step = yield Call(moves, (("kind", model.kind),), arrays)
    return path, np.where(np.isfinite(ratio), np.asarray(ratio, np.float64), -np.inf), float(step)


def kept(model: Model, rng: np.random.Generator, state: Tempered) -> Sampler[Any]:
    """Points (moves, size, P) after `MOVES` moves at the posterior with fixed steps."""
    steps = int(np.clip(_LENGTH / state.step, STEPS, _LONG)) if far(model) else STEPS
    path, _, _ = yield from advance(model, rng, state, 0.0, any_start(model), steps)
    return path


def _by_island(values: Float[np.ndarray, "moves lineages ..."]) -> Float[np.ndarray, "islands points ..."]:
    moves, lineages = values.shape[:2]
    apart = values.reshape(moves, ISLANDS, lineages // ISLANDS, *values.shape[2:])
    return np.moveaxis(apart, 1, 0).reshape(ISLANDS, -1, *values.shape[2:])


def _next(ratio: Float[np.ndarray, " points"], most: float) -> float:
    """The largest rise of b, at most `most`, whose weights are worth enough; by bisection."""
    centred = ratio - ratio.max()

    def worth(rise: float) -> float:
        w = np.exp(rise * centred)
        return float(w.sum() ** 2 / (w**2).sum() / w.size)

    if worth(most) >= _WORTH:
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if worth(middle) < _WORTH else (middle, high)
    return max(low, 1e-12)


def _drawn(
    model: Model,
    points: Float[np.ndarray, "islands points size"],
    log_w: Float[np.ndarray, "islands points"],
    log_z: Float[np.ndarray, " islands"] | None,
    number: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "size lineages"], Float[np.ndarray, "size size"]]:
    """Points drawn by weights, on each island or (with `log_z`) from all; and a root of their covariance.

    Those from all islands are dealt out, so that the groups that are compared later are alike.
    """
    w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    w /= w.sum(axis=1, keepdims=True)
    if log_z is None:
        each = number // len(points)
        chosen = [p[systematic(weight, each, rng.random())] for p, weight in zip(points, w, strict=True)]
    else:
        w *= np.exp(log_z - np.logaddexp.reduce(log_z))[:, None]
        every = points.reshape(-1, points.shape[2])[systematic(w.ravel(), number, rng.random())]
        chosen = [every[k::ISLANDS] for k in range(ISLANDS)]
    root = root_of(model, points.reshape(-1, points.shape[2]).T, w.ravel() / w.sum())
    return np.ascontiguousarray(np.concatenate(chosen).T), root


def root_of(
    model: Model, x: Float[np.ndarray, "size points"], weight: Float[np.ndarray, " points"] | None = None
) -> Float[np.ndarray, "size size"]:
    """A root of the covariance of points, shrunk to its diagonal the more, the fewer they are.

    It is the same for all images of the points, so that a move that crosses to another image and is folded
    back has a reverse of the same length, as detailed balance needs.
    """
    size, number = x.shape
    weight = np.full(number, 1 / number) if weight is None else weight
    centred = x.astype(np.float64) - (x.astype(np.float64) @ weight)[:, None]
    covariance = (centred * weight) @ centred.T
    worth = 1 / (weight**2).sum() / MOVES
    shrunk = worth / (worth + size)
    for place, sign in model.kind.images(model.arrays):
        covariance = 0.5 * (covariance + sign[:, None] * covariance[np.ix_(place, place)] * sign)
    covariance = shrunk * covariance + (1 - shrunk) * np.diag(np.diag(covariance)) + 1e-8 * np.eye(size)
    return np.linalg.cholesky(covariance).astype(np.float32)


def _evidence(runs: list[tuple[Any, ...]]) -> tuple[float, float, int]:
    """Log evidence, its standard error, and the number of temperatures of all runs.

    Islands are few, differences between them at single temperatures are alike from one to the next, and
    lineages of one island depend on each other: the largest of the three errors is stated.
    """
    parts = [run[2] for run in runs]
    log_z = np.concatenate([part.sum(axis=0) for part in parts])
    top = log_z.max()
    z = np.exp(log_z - top)
    ends = z.var(ddof=1) / z.mean() ** 2 / z.size
    single = sum(part.var(axis=1, ddof=1).sum() for part in parts) / ISLANDS / len(parts) ** 2
    lineages = sum(run[4] for run in runs) / len(runs) ** 2
    error = np.sqrt(max(ends, single, lineages))
    return float(top + np.log(z.mean())), float(error), sum(len(part) - 1 for part in parts)
