"""Uphill by the steps of an EM algorithm, with jumps: one loop for every model that is fitted by EM.

A model says where one step of EM goes from a point, and how high the point is. With labelers near chance EM
crawls, for ten thousand steps and more. So after the first steps every second one is a jump along the way the
last ones took (SQUAREM, Varadhan and Roland 2008, scheme S3), kept only if the objective does not fall. The
fixed points are those of EM, and convergence is measured by what one step of EM would change.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import from_here
from jtruth._squarem import squarem


class Summit(NamedTuple):
    """Where the climb is, and at its end where it stopped."""

    params: Any
    before: Any  # the point before
    mapped: Any  # where a step from `params` goes
    objective: Float[Array, ""]
    damping: Array  # part of a step that is taken
    plain: Array  # steps since the start or the last jump
    longest: Array  # jump allowed; changes by 4 when one of this length pays or does not
    converged: Bool[Array, ""]  # one more step would change no parameter by `tol`
    num_steps: Int[Array, ""]
    path: Float[Array, " steps"]  # objective at the start and after each step; the last is repeated
    largest_drop: Float[Array, ""]  # of the objective by a plain step, if more than rounding; else 0
    kept: Any  # what `improve` said beside


def climb(
    improve: Callable[[Any, Any], tuple[Float[Array, ""], Any, Any]],
    start: Any,
    inside: Callable[[Any, Any], Any],
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
    plain_steps: int = 5,
    terms: Any = 0.0,
    kept: Any = None,
) -> Summit:
    """Climb from `start`; pure, for `jit` and `vmap`.

    Args:
        improve: (params, kept) -> (objective there, params after one step of EM, kept). A step that lowers
            the objective is taken back and tried at half its length, unless `terms` says that it cannot.
        start: a pytree of float arrays.
        inside: (params after a jump, params after a plain step) -> the former, brought into their domain.
        max_steps, tol: most steps, and the change of any parameter in one step that counts as none.
        plain_steps: before the first jump.
        terms: how many terms of about 1 the objective sums up, beside its own size, for what rounding can do;
            above 0 every plain step is taken, and the largest drop is reported.
        kept: what `improve` gets first; later what it said at the point that it starts from.
    """

    def step(old: Summit) -> Summit:
        jumped = (old.plain >= 1) & (old.num_steps >= plain_steps)
        far, length = _jump(old, inside)
        near = jax.tree.map(lambda a, b: (1 - old.damping) * a + old.damping * b, old.params, old.mapped)
        tried = _where(jumped, far, near)
        objective, mapped, found = improve(tried, old.kept)
        slack = 64 * jnp.finfo(objective.dtype).eps * (jnp.abs(old.objective) + terms)
        drop = jnp.where(jumped, 0, old.objective - objective)
        good = (objective >= old.objective - slack) | (~jumped & (jnp.asarray(terms) > 0))
        limited = jumped & (length >= old.longest)
        longest = jnp.where(good, 4 * old.longest, jnp.maximum(old.longest / 4, 2))
        damping = jnp.where(good, jnp.minimum(2 * old.damping, 1), old.damping / 2)
        after, params = _where(good, mapped, old.mapped), _where(good, tried, old.params)
        pairs = zip(jax.tree.leaves(after), jax.tree.leaves(params), strict=True)
        moved = jnp.stack([jnp.abs(a - b).max() for a, b in pairs])
        highest = jnp.where(good, objective, old.objective)
        return Summit(
            params=params,
            before=_where(good, old.params, old.before),
            mapped=after,
            objective=highest,
            damping=jnp.where(jumped, old.damping, damping),
            plain=jnp.where(jumped | ~good, 0, old.plain + 1),
            longest=jnp.where(limited, longest, old.longest),
            converged=moved.max() < tol,
            num_steps=old.num_steps + 1,
            path=from_here(old.path, old.num_steps + 1, highest),
            largest_drop=jnp.maximum(old.largest_drop, jnp.where(drop > slack, drop, 0)),
            kept=_where(good, found, old.kept),
        )

    start = jax.tree.map(jnp.asarray, start)
    objective, mapped, kept = improve(start, kept)
    one, none = jnp.ones((), objective.dtype), jnp.zeros((), jnp.int32)
    path = jnp.broadcast_to(objective, max_steps + 1)
    state = Summit(
        start, start, mapped, objective, one, none, 4 * one, jnp.array(False), none, path, 0 * one, kept
    )
    return jax.lax.while_loop(lambda s: ~s.converged & (s.num_steps < max_steps), step, state)


def _jump(state: Summit, inside: Callable[[Any, Any], Any]) -> tuple[Any, Array]:
    """Go on along the curve of three successive points; second, the length: 1 is where EM goes."""
    before, now, after = (jax.tree.leaves(p) for p in (state.before, state.params, state.mapped))
    far, length = squarem(before, now, after, state.longest)
    return inside(jax.tree.unflatten(jax.tree.structure(state.params), far), state.mapped), length


def _where(condition: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
