"""Until it is good enough: the loops of the package for everything that is fitted by an optimum.

`climb` goes uphill by the steps of an EM algorithm; after the first ones every second step is a jump along
the way the last ones took (`squarem`: Varadhan and Roland 2008, scheme S3), kept only if the objective does
not fall. With labelers near chance plain EM takes ten thousand steps and more. The fixed points are those of
EM, and convergence is measured by what one step of EM would change.

`minimise` is L-BFGS until the gradient is small, as one loop that can be jitted and vmapped. In float32 an
objective is flat at 1e-7 and its differences say nothing; a line search that finds no better point is an end.
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
    """The point that a jump would reach, and the length of the jump: 1 is `after`, where EM goes.

    It asks arrays (the parameters at three successive iterates) for nothing but arithmetic, so NumPy's will
    do. `batch` leading axes number independent problems, each with its own length.
    """
    speed = [b - a for a, b in zip(before, now, strict=True)]
    bend = [(c - b) - s for b, c, s in zip(now, after, speed, strict=True)]
    fast, bent = (sum((d**2).sum(tuple(range(batch, d.ndim))) for d in part) ** 0.5 for part in (speed, bend))
    length = (fast / (bent + 1e-30)).clip(1, longest)  # at a fixed point both are 0, and the length is 1
    wide = [length.reshape(*length.shape, *[1] * (a.ndim - batch)) for a in before]
    curve = zip(before, speed, bend, wide, strict=True)
    return [a + 2 * step * s + step**2 * d for a, s, d, step in curve], length


def inside_simplex(far: Any, plain: Any) -> Any:
    """A distribution after a jump, above a tenth of where EM would go: EM never leaves an exact 0 again."""
    far = far.clip(0.1 * plain)
    return far / far.sum(-1, keepdims=True)


def normalised(rows: Any) -> Any:
    """Counts over their sums (last axis), the M step of a distribution; a row of zeros is uniform."""
    total = rows.sum(axis=-1, keepdims=True)
    return jnp.where(total > 0, rows / jnp.where(total > 0, total, 1), 1 / rows.shape[-1])


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
    """Climb from `start`, a pytree of float arrays; pure, for `jit` and `vmap`.

    Args:
        improve: (params, kept) -> (objective there, params after one step of EM, kept). A step that lowers
            the objective is taken back and tried at half its length, unless `terms` says that it cannot.
        inside: (params after a jump, params after a plain step) -> the former, brought into their domain.
        max_steps, tol: most steps, and the change of any parameter in one step that counts as none.
        plain_steps: before the first jump.
        terms: how many terms of about 1 the objective sums up, beside its own size, for what rounding can do;
            above 0 every plain step is taken, and the largest drop is reported.
        kept: what `improve` gets first; later what it said at the point that it starts from.
    """

    def step(old: Summit) -> Summit:
        jumped = (old.plain >= 1) & (old.num_steps >= plain_steps)
        before, now, after = (jax.tree.leaves(p) for p in (old.before, old.params, old.mapped))
        far, length = squarem(before, now, after, old.longest)  # on along the curve of these points
        far = inside(jax.tree.unflatten(jax.tree.structure(old.params), far), old.mapped)
        near = jax.tree.map(lambda a, b: (1 - old.damping) * a + old.damping * b, old.params, old.mapped)
        tried = _where(jumped, far, near)
        objective, mapped, beside = improve(tried, old.kept)
        slack = 64 * jnp.finfo(objective.dtype).eps * (jnp.abs(old.objective) + terms)
        drop = jnp.where(jumped, 0, old.objective - objective)
        good = (objective >= old.objective - slack) | (~jumped & (jnp.asarray(terms) > 0))
        good = good & jnp.isfinite(objective) | ~jnp.isfinite(old.objective)  # NaN is nowhere, from there any
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

    Where it stopped, the value there, never above that at the start, whether no entry of the gradient is
    `tol` or more, and the number of steps.
    """
    import optax  # a fifth of a second to import, and only here

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
