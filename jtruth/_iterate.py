"""Iterations that maximise or minimise an objective: accelerated EM, and L-BFGS.

`climb` uses the steps of an EM algorithm; after the first ones every second step is an extrapolation along
the last ones (`squarem`: Varadhan and Roland 2008, scheme S3), kept only if the objective does not fall. With
nearly random labels plain EM takes ten thousand steps and more. The fixed points are those of EM, and
convergence is measured by the change in one EM step.

`minimise` is L-BFGS until the gradient is small, as one loop that can be jitted and vmapped. In float32 an
objective is flat at 1e-7; a line search that finds no better point ends the loop.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import from_here


def squarem(
    before: Sequence[Any], now: Sequence[Any], after: Sequence[Any], longest: Any, *, batch: int = 0
) -> tuple[list[Any], Any]:
    """The extrapolated point, and the length of the jump: 1 is `after`, the next EM step.

    It uses only arithmetic on arrays (the parameters at three successive iterates), of NumPy or JAX. `batch`
    leading axes number independent problems, each with its own length.
    """
    speed = [b - a for a, b in zip(before, now, strict=True)]
    bend = [(c - b) - s for b, c, s in zip(now, after, speed, strict=True)]
    fast, bent = (sum((d**2).sum(tuple(range(batch, d.ndim))) for d in part) ** 0.5 for part in (speed, bend))
    length = (fast / (bent + 1e-30)).clip(1, longest)  # 1 at a fixed point
    wide = [length.reshape(*length.shape, *[1] * (a.ndim - batch)) for a in before]
    curve = zip(before, speed, bend, wide, strict=True)
    return [a + 2 * step * s + step**2 * d for a, s, d, step in curve], length


def inside_simplex(far: Any, plain: Any) -> Any:
    """A distribution after a jump, at least a tenth of EM's step: EM never leaves an exact 0."""
    far = far.clip(0.1 * plain)
    return far / far.sum(-1, keepdims=True)


def normalised(rows: Any) -> Any:
    """Counts over their sums (last axis), the M step of a distribution; a row of zeros is uniform."""
    total = rows.sum(axis=-1, keepdims=True)
    return jnp.where(total > 0, rows / jnp.where(total > 0, total, 1), 1 / rows.shape[-1])


class Summit(NamedTuple):
    """State of `climb`."""

    params: Any
    before: Any  # the previous point
    mapped: Any  # the EM step from `params`
    objective: Float[Array, ""]
    damping: Array  # fraction of a step that is taken
    plain: Array  # steps since the start or the last jump
    longest: Array  # jump allowed; changes by a factor 4 with its success
    converged: Bool[Array, ""]  # one more step would change no parameter by `tol`
    num_steps: Int[Array, ""]
    path: Float[Array, " steps"]  # objective at the start and after each step; the last is repeated
    largest_drop: Float[Array, ""]  # of the objective by a plain step, if more than rounding; else 0
    kept: Any  # auxiliary output of `improve`


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
    """Maximise from `start`, a pytree of float arrays; pure, for `jit` and `vmap`.

    Args:
        improve: (params, kept) -> (objective there, params after one step of EM, kept). A step that lowers
            the objective is taken back and tried at half its length, unless `terms` is above 0.
        inside: (params after a jump, params after a plain step) -> the former, moved into their domain.
        max_steps, tol: most steps, and the change of any parameter in one step that means convergence.
        plain_steps: before the first jump.
        terms: number of terms of about 1 in the objective, beside its own size, for its rounding; above 0
            every plain step is taken, and the largest drop is reported.
        kept: the first auxiliary input of `improve`; later its output at the current point.
    """

    def step(old: Summit) -> Summit:
        jumped = (old.plain >= 1) & (old.num_steps >= plain_steps)
        before, now, after = (jax.tree.leaves(p) for p in (old.before, old.params, old.mapped))
        far, length = squarem(before, now, after, old.longest)
        far = inside(jax.tree.unflatten(jax.tree.structure(old.params), far), old.mapped)
        near = jax.tree.map(lambda a, b: (1 - old.damping) * a + old.damping * b, old.params, old.mapped)
        tried = _where(jumped, far, near)
        objective, mapped, beside = improve(tried, old.kept)
        slack = 64 * jnp.finfo(objective.dtype).eps * (jnp.abs(old.objective) + terms)
        drop = jnp.where(jumped, 0, old.objective - objective)
        good = (objective >= old.objective - slack) | (~jumped & (jnp.asarray(terms) > 0))
        good = good & jnp.isfinite(objective) | ~jnp.isfinite(old.objective)  # from NaN any
        limited = jumped & (length >= old.longest)
        longest = jnp.where(good, 4 * old.longest, jnp.maximum(old.longest / 4, 2))
        damping = jnp.where(good, jnp.minimum(2 * old.damping, 1), old.damping / 2)
        next_step, params = _where(good, mapped, old.mapped), _where(good, tried, old.params)
        pairs = zip(jax.tree.leaves(next_step), jax.tree.leaves(params), strict=True)
        moved = jnp.stack([jnp.abs(a - b).max() for a, b in pairs])
        highest = jnp.where(good, objective, old.objective)
        return Summit(
            params=params,
            before=_where(good, old.params, old.before),
            mapped=next_step,
            objective=highest,
            damping=jnp.where(jumped, old.damping, damping),
            plain=jnp.where(jumped | ~good, 0, old.plain + 1),
            longest=jnp.where(limited, longest, old.longest),
            converged=moved.max() < tol,
            num_steps=old.num_steps + 1,
            path=from_here(old.path, old.num_steps + 1, highest),
            largest_drop=jnp.maximum(old.largest_drop, jnp.where(drop > slack, drop, 0)),
            kept=_where(good, beside, old.kept),
        )

    start = jax.tree.map(jnp.asarray, start)
    objective, mapped, kept = improve(start, kept)
    one, none = jnp.ones((), objective.dtype), jnp.zeros((), jnp.int32)
    path = jnp.broadcast_to(objective, max_steps + 1)
    state = Summit(
        start, start, mapped, objective, one, none, 4 * one, jnp.array(False), none, path, 0 * one, kept
    )
    return jax.lax.while_loop(lambda s: ~s.converged & (s.num_steps < max_steps), step, state)


def _where(condition: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def minimise(
    objective: Callable[[Any], Float[Array, ""]], start: Any, *, max_steps: int, tol: Any
) -> tuple[Any, Float[Array, ""], Bool[Array, ""], Int[Array, ""]]:
    """Minimise a smooth function of a pytree of floats from `start`.

    Returns the last point, its value (never above that at the start), whether all entries of the gradient are
    below `tol`, and the number of steps.
    """
    import optax  # slow to import

    def largest_of(gradient):
        return optax.tree.norm(gradient, ord="inf")

    solver = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(objective)

    def step(carry):
        params, state, count = carry
        value, gradient = value_and_grad(params, state=state)
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax needs both
            updates, state = solver.update(
                gradient, state, params, value=value, grad=gradient, value_fn=objective
            )
        return optax.apply_updates(params, updates), state, count + 1

    def unfinished(carry):
        _, state, count = carry
        moved = (count == 0) | (optax.tree.get(state, "learning_rate") > 0)
        return (
            (count < max_steps) & ((count == 0) | (largest_of(optax.tree.get(state, "grad")) >= tol)) & moved
        )

    params, _, count = jax.lax.while_loop(
        unfinished, step, (start, solver.init(start), jnp.zeros((), jnp.int32))
    )
    value, gradient = jax.value_and_grad(objective)(params)
    return params, value, largest_of(gradient) < tol, count
