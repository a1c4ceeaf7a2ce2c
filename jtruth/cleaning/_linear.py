"""Linear models of many copies of the data that differ in one row each, as one compiled program (float64)."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool

from jtruth.training import Linear, Stop, linear_objective, solve_linear
from jtruth.training.linear import zero_start

_SETTLED = 1e-8  # the gradient at which a retraining ends
_STEPS = 12  # most steps with one Hessian, and then most with new ones
_HALVINGS = 0.5 ** np.arange(8)
_LEVEL = 1e-13  # differences of the objective (of order 1) that are rounding


def arrays(x: Any, evidence: Any, where: Bool[np.ndarray, " samples"]) -> tuple[Any, Any, Any]:
    """Features, evidence (both float64) and which samples count, on the device."""
    with jax.enable_x64(True):
        return jnp.asarray(x, jnp.float64), jnp.asarray(evidence, jnp.float64), jnp.asarray(where)


def as_linear(start: Any, x: Any, evidence: Any) -> Linear:
    """The model to start from, in float64."""
    with jax.enable_x64(True):
        if start is not None:
            return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), start)
        classes = np.shape(evidence)[1]
        return zero_start(
            jnp.asarray(x, jnp.float64), classes, "logistic" if classes == 2 else "cross_entropy"
        )


def fit_in_float64(x, evidence, where, start, regularisation, objective, loss):
    """`solve_linear` to a gradient of 1e-6."""
    with jax.enable_x64(True):
        rows, first = arrays(x, evidence, where), as_linear(start, x, evidence)
        weight, options = jnp.asarray(regularisation, jnp.float64), {"objective": objective, "loss": loss}
        return solve_linear(*rows[:2], weight, first, where=rows[2], stop=Stop(tol=1e-6), **options)


@partial(jax.jit, static_argnums=(5, 6))
def retrain(data, start, rows, new, regularisation, objective, loss):
    """Every copy of `data`, see `arrays`, by Newton's method: (stacked models, largest gradients).

    One row of N changes little, so the Hessian at the start serves for all steps and the error shrinks by
    about 1/N a step, which costs a gradient: that of the original at the copy's model, and the changed row's.
    Where that is not enough (an outlier changes its class) the copy starts again, with a new Hessian at every
    step and steps halved until the objective falls.
    """
    x, evidence, where = data
    flat, unravel = ravel_pytree(start)
    count = where.sum().astype(x.dtype)
    options = {"objective": objective, "loss": loss}

    def cost(theta):
        return linear_objective(unravel(theta), x, evidence, regularisation, where=where, **options)

    def change(theta, row, given):
        old, new = (
            linear_objective(unravel(theta), x[row][None], e[None], jnp.zeros_like(count), **options)
            for e in (evidence[row], given)
        )
        return (new - old) / count

    def gradient(theta, row, given):
        return jax.grad(cost)(theta) + jax.grad(change)(theta, row, given)

    def inverse_of(hessian, theta):
        # Intercepts of a softmax are known up to a constant: H is singular there, and the gradient 0.
        own = jax.vmap(jax.hessian(change))(theta, rows, new)
        return jnp.linalg.inv(hessian + own + 1e-6 * jnp.eye(flat.size, dtype=flat.dtype)[None])

    def moved(state, inverse):
        theta = state[0] - jnp.einsum("kp,kpq->kq", state[1], inverse)
        return theta, jax.vmap(gradient)(theta, rows, new), state[2] + 1

    def unsettled(state):
        return ~(jnp.abs(state[1]).max() <= _SETTLED) & (state[2] < _STEPS)

    start_, zero = jnp.repeat(flat[None], rows.size, axis=0), jnp.zeros((), jnp.int32)
    first = jax.vmap(gradient)(start_, rows, new)
    shared = inverse_of(jax.hessian(cost)(flat)[None], start_)
    theta, slope, _ = jax.lax.while_loop(unsettled, lambda s: moved(s, shared), (start_, first, zero))
    done = (jnp.abs(slope).max(axis=1) <= _SETTLED)[:, None]
    again = jnp.where(done, theta, start_), jnp.where(done, slope, first), zero

    def value(theta, row, given):
        return cost(theta) + change(theta, row, given)

    def halved(theta, step, row, given):
        """The longest of the step, its half, quarter, ... that does not lead up."""
        tried = theta[None] - jnp.outer(_HALVINGS, step)
        level = value(theta, row, given) + _LEVEL
        falls = jax.vmap(value, in_axes=(0, None, None))(tried, row, given) <= level
        return tried[jnp.argmax(falls)]  # the first that does; the full step at the minimum, where none does

    def newton(state):
        inverse = inverse_of(jax.vmap(jax.hessian(cost))(state[0]), state[0])
        theta = jax.vmap(halved)(state[0], jnp.einsum("kp,kpq->kq", state[1], inverse), rows, new)
        return theta, jax.vmap(gradient)(theta, rows, new), state[2] + 1

    theta, slope, _ = jax.lax.while_loop(unsettled, newton, again)
    return jax.vmap(unravel)(theta), jnp.abs(slope).max(axis=1)
