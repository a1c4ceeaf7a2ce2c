"""Parameters of noise models: checked and kept on the host, turned into JAX arrays inside methods.

Why a model may check its parameters in `__init__`: JAX rebuilds an `equinox.Module` (under jit, vmap, scan,
tree_map) by `tree_unflatten`, which sets the fields and never calls `__init__`. So placeholders, batched
arrays and gradients pass unchecked, and the checks see only what a person or a program constructs. Inside
a traced function the constructor may also receive tracers; these have no values to look at and are kept.

Why float64 NumPy: with x64 off `jnp.asarray(.1)` is float32 for good. Kept in NumPy, the same model gives
float64 results under `with jax.enable_x64(True)` and float32 results outside of it.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jtruth._arrays import is_concrete
from jtruth._validation.in_range import check_rows, sum_tolerance

Parameter = jax.Array | np.ndarray


def as_parameter(x, name: str) -> Parameter:
    """A float64 NumPy array if `x` is concrete; `x` as a JAX array if it is traced or spread over devices."""
    if not is_concrete(x):
        return jnp.asarray(x)
    if isinstance(x, jax.Array) and len(x.sharding.device_set) > 1:
        return x  # gathering a sharded array on the host would defeat its purpose
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers in a rectangular array: {error}") from None


def check_matrix_rows(x: Parameter, name: str, given: object = None) -> None:
    """`check_rows` of confusion matrices; `given` is what they were before they became float64."""
    hint = "rows are the true class, columns the given class: is it transposed, or were counts not divided?"
    check_rows(x, name, sum_tolerance(x if given is None else given), hint)


def check_ndim(x: Parameter, name: str, allowed: tuple[int, ...], axes: str) -> None:
    """ValueError unless `x` (traced or not) has an allowed number of axes."""
    if x.ndim not in allowed:
        raise ValueError(f"{name} must have shape {axes}, got {x.shape}")


def check_num_classes(num_classes) -> int:
    """`num_classes` as an int of at least 2."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, int | np.integer) or num_classes < 2:
        raise ValueError(f"num_classes must be an integer of at least 2, got {num_classes!r}")
    return int(num_classes)


def current(*parameters: Parameter) -> tuple[jax.Array, ...]:
    """Parameters as JAX arrays of one floating dtype.

    JAX arrays keep their dtype (the widest one, if they differ) and NumPy arrays follow it; where all are
    NumPy the dtype is JAX's current default, float64 exactly when x64 is on.

    The dtype is always said. `jnp.asarray(x)` of a NumPy array that a live jitted function has captured
    under the other x64 setting returns that other dtype (jax 0.10.2 keeps such constants by identity).
    """
    traced = [p.dtype for p in parameters if isinstance(p, jax.Array)]
    floating = [dtype for dtype in traced if jnp.issubdtype(dtype, jnp.floating)]
    dtype = max(floating, key=lambda d: d.itemsize) if floating else jnp.result_type(float)
    return tuple(jnp.asarray(p, dtype) for p in parameters)
