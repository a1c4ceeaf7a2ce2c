"""Uphill by the steps of an EM algorithm, with jumps: one loop for every model of this folder.

A model says where one step of EM goes from a point, and how high the point is. Where the M step has no closed
form it may be a Newton step: that points uphill, because the gradient of what EM climbs is that of its lower
bound (Fisher's identity), but may go too far. So a step that lowers the objective is taken back and tried at
half its length, and every second step is a jump along the way the last ones took (SQUAREM, Varadhan and
Roland 2008, scheme S3), kept only if the objective does not fall. The fixed points are those of EM, and
convergence is measured by what one step of EM would change.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jtruth._squarem import squarem

_PLAIN_STEPS = 5  # before the first jump


class Summit(NamedTuple):
    """Where the climb stopped."""

    params: Any
    objective: Float[Array, ""]
    converged: Bool[Array, ""]  # one more step would change no parameter by `tol`
    num_steps: Int[Array, ""]


class _State(NamedTuple):
    params: Any
    before: Any  # the point before
    mapped: Any  # where a step from `params` goes
    objective: Array
    damping: Array  # part of a step that is taken
    plain: Array  # steps since the start or the last jump
    longest: Array  # jump allowed
    converged: Array
    num_steps: Array


def climb(
    improve: Callable[[Any], tuple[Float[Array, ""], Any]],
    start: Any,
    inside: Callable[[Any, Any], Any],
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
) -> Summit:
    """Climb from `start`; pure, for `jit` and `vmap`.

    Args:
        improve: params -> (objective there, params after one step of EM).
        start: a pytree of float arrays.
        inside: (params after a jump, params after a plain step) -> the former, brought into their domain.
        max_steps, tol: most steps, and the change of any parameter in one step that counts as none.
    """

    def step(old):
        jumped = (old.plain >= 1) & (old.num_steps >= _PLAIN_STEPS)
        far, length = _jump(old, inside)
        near = jax.tree.map(lambda a, b: (1 - old.damping) * a + old.damping * b, old.params, old.mapped)
        tried = _where(jumped, far, near)
        objective, mapped = improve(tried)
        slack = 64 * jnp.finfo(objective.dtype).eps * jnp.abs(old.objective)
        kept = objective >= old.objective - slack
        limited = jumped & (length >= old.longest)
        longest = jnp.where(kept, 4 * old.longest, jnp.maximum(old.longest / 4, 2))
        damping = jnp.where(kept, jnp.minimum(2 * old.damping, 1), old.damping / 2)
        after = _where(kept, mapped, old.mapped)
        params = _where(kept, tried, old.params)
        pairs = zip(jax.tree.leaves(after), jax.tree.leaves(params), strict=True)
        moved = jnp.stack([jnp.abs(a - b).max() for a, b in pairs])
        return _State(
            params=params,
            before=_where(kept, old.params, old.before),
            mapped=after,
            objective=jnp.where(kept, objective, old.objective),
            damping=jnp.where(jumped, old.damping, damping),
            plain=jnp.where(jumped | ~kept, 0, old.plain + 1),
            longest=jnp.where(limited, longest, old.longest),
            converged=moved.max() < tol,
            num_steps=old.num_steps + 1,
        )

    start = jax.tree.map(jnp.asarray, start)
    objective, mapped = improve(start)
    one = jnp.ones((), objective.dtype)
    state = _State(
        start, start, mapped, objective, one, jnp.zeros((), jnp.int32), 4 * one, jnp.array(False),
        jnp.zeros((), jnp.int32),
    )  # fmt: skip
    state = jax.lax.while_loop(lambda s: ~s.converged & (s.num_steps < max_steps), step, state)
    return Summit(state.params, state.objective, state.converged, state.num_steps)


def _jump(state, inside):
    """Go on along the curve of three successive points; second, the length: 1 is where EM goes."""
    before, now, after = (jax.tree.leaves(p) for p in (state.before, state.params, state.mapped))
    far, length = squarem(before, now, after, state.longest)
    return inside(jax.tree.unflatten(jax.tree.structure(state.params), far), state.mapped), length


def _where(condition, yes, no):
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def inside_unit(far, plain):
    """Probabilities after a jump, as far from 0 and 1 as a tenth of where EM would go."""
    return jnp.clip(far, 0.1 * plain, 1 - 0.1 * (1 - plain))
