"""One inner solver: L-BFGS until the gradient is small, as one loop that can be jitted and vmapped.

Convergence is judged by the gradient alone. In float32 an objective is flat at 1e-7 and its differences say
nothing; and a line search that finds no better point there is an end, not a failure.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Minimum(NamedTuple):
    """Where the solver stopped. The value is never above that at the start."""

    params: Any
    value: Float[Array, ""]
    gradient: Float[Array, ""]  # largest absolute entry of the gradient
    converged: Bool[Array, ""]  # gradient < tol
    num_steps: Int[Array, ""]


def minimise(
    objective: Callable[[Any], Float[Array, ""]], start: Any, *, max_steps: int, tol: Any
) -> Minimum:
    """Minimise a smooth function of a pytree of floats from `start`."""
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
    largest = largest_of(gradient)
    return Minimum(params, value, largest, largest < tol, count)
