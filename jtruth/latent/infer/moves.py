"""Hamiltonian moves of many points at once, at any temperature: the one program of a kind.

The density at temperature b is prior likelihood^b, or start^(1 - b) (prior likelihood)^b where a law near the
posterior is known (`laplace`). A move takes `steps` leapfrog steps in coordinates x = R v, R a root of a
covariance of the points. There is one gradient in the program, inside the loop over
steps, so it is compiled once: a move begins with it, instead of remembering it from the last. All random
numbers come from outside.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jtruth.latent import density
from jtruth.latent.density import Seen
from jtruth.latent.infer.laplace import Start
from jtruth.latent.model import Arrays, Kind

_WANTED, _RATE = 0.8, 0.5  # acceptance, and how fast the size of a step learns


class Random(NamedTuple):
    """Random numbers of some moves."""

    momentum: Any  # (moves, size, P) normal
    accept: Any  # (moves, P) uniform
    length: Any  # (moves, P) of a step, around 1


class Setting(NamedTuple):
    """How to move."""

    temperature: Any  # ()
    step: Any  # () size of a step
    root: Any  # (size, size) lower triangle R
    steps: Any  # () leapfrog steps of a move
    learning: Any  # () whether the size of a step changes: 1 or 0


class Moved(NamedTuple):
    """Points after every move."""

    path: Float[Array, "moves size P"]
    log_ratio: Float[Array, "moves P"]  # what the temperature is the power of
    step: Float[Array, ""]
    accepted: Float[Array, " moves"]  # mean probability of acceptance


@partial(jax.jit, static_argnames=("kind",))
def moves(
    kind: Kind,
    arrays: Arrays,
    seen: Seen,
    x: Any,
    random: Random,
    setting: Setting,
    start: Start | None = None,
) -> Moved:
    """Some moves of all points, from the prior or from a `start`."""
    b, root, steps = setting.temperature, setting.root, setting.steps

    def parts(x: Any) -> tuple[Any, Any]:
        ratio, first = density.log_likelihood(kind.channel(arrays, x), seen), kind.log_prior(arrays, x)
        if start is not None:
            near = start.log_density(x)
            ratio, first = ratio + first - near, near
        value = first + b * ratio
        return value.sum(), (value, ratio)  # points do not meet: the slope of the sum is each one's

    gradient = jax.grad(parts, has_aux=True)

    def move(carry: Any, given: Random) -> tuple[Any, Any]:
        x, step = carry
        h = (step * given.length)[None]

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
        q, v, first, last = jax.lax.fori_loop(0, steps + 1, leap, (x, given.momentum, nothing, nothing))
        gain = last[0] - first[0] + 0.5 * ((given.momentum**2).sum(axis=0) - (v**2).sum(axis=0))
        chance = jnp.minimum(1.0, jnp.exp(jnp.where(jnp.isfinite(gain), gain, -jnp.inf)))
        yes = given.accept < chance
        x, ratio = jnp.where(yes[None], q, x), jnp.where(yes, last[1], first[1])
        step = step * jnp.exp(setting.learning * _RATE * (chance.mean() - _WANTED))
        return (x, step), (x, ratio, chance.mean())

    (_, step), (path, ratio, accepted) = jax.lax.scan(move, (x, setting.step), random)
    return Moved(path, ratio, step, accepted)


class Laws(NamedTuple):
    """What draws say about rows and parameters."""

    named: dict[str, Any]  # (moves, ..., P) natural parameters
    classes: Float[Array, "moves rows classes P"]
    log_p: Float[Array, "moves rows P"]


@partial(jax.jit, static_argnames=("kind", "classes"))
def laws(kind: Kind, arrays: Arrays, seen: Seen, path: Any, u: Any, *, classes: int) -> Laws:
    """Natural parameters, class of every row, and log p(row), of points (moves, size, P).

    Uniform numbers `u` (moves, classes, P) choose between the images of a point.
    """

    def one(given: tuple[Any, Any]) -> Laws:
        x = kind.unfold(arrays, *given)
        joint = density.log_joint(kind.channel(arrays, x), seen)
        return Laws(kind.named(arrays, x), density.class_law(joint, classes), density.total(joint))

    return jax.lax.map(one, (path, u))
