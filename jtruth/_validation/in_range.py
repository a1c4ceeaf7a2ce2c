"""Class codes and probabilities that a public function is given: in range, as many as there should be.

Of a traced array, and of one that is spread over devices, there is nothing to look at.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jtruth._arrays import is_concrete
from jtruth._validation.words import some


def check_codes(
    codes: Any,
    num_codes: int,
    name: str,
    *,
    size: int | None = None,
    missing: bool = False,
    kinds: str = "iubf",
) -> None:
    """ValueError unless `codes` are whole numbers 0..num_codes-1, in one axis of the right length.

    Args:
        codes: concrete; of a traced array there is nothing to look at.
        num_codes: how many codes there are.
        name: of the argument, for the message.
        size: how many entries there must be; any number if None.
        missing: whether -1 stands for "not known".
        kinds: of NumPy's dtypes, those that are taken; without "f" 1.0 is refused.
    """
    if not is_concrete(codes):
        return
    values = np.asarray(codes)
    if values.ndim != 1 or (size is not None and values.shape != (size,)):
        wanted = "one axis" if size is None else f"shape ({size},), one entry for each sample"
        raise ValueError(f"{name} must have {wanted}; got shape {values.shape}")
    if values.dtype.kind not in kinds:
        raise ValueError(f"{name} must hold class codes 0 to {num_codes - 1}; got dtype {values.dtype}")
    low = -1 if missing else 0
    if values.size and values.dtype.kind in "iu" and values.min() >= low and values.max() < num_codes:
        return
    good = (values >= low) & (values < num_codes) & (values == np.floor(values))  # NaN is not
    bad = np.flatnonzero(~good)
    if bad.size:
        unknown = ", or -1 for not known" if missing else ""
        raise ValueError(
            f"{name}[{bad[0]}] is {values[bad[0]]} ({bad.size} such entries: {some(bad)}); give class codes "
            f"0 to {num_codes - 1}{unknown}"
        )


def check_probabilities(x: Any, name: str, *, slack: float = 0.0) -> None:
    """ValueError unless every entry of a NumPy array lies in [0, 1 + slack]; the first bad entry is named."""
    if not isinstance(x, np.ndarray):
        return
    bad = np.argwhere(~((x >= 0) & (x <= 1 + slack)))  # NaN is bad too
    if len(bad):
        at = tuple(map(int, bad[0]))
        raise ValueError(
            f"{_entry(name, at)} is {x[at]}, not a probability ({len(bad)} bad of {x.size}); give numbers "
            "from 0 to 1"
        )


def sum_tolerance(x: Any) -> float:
    """How far the sum of a row may be from 1: 1e-6, or the rounding of so many terms of a short dtype."""
    dtype = getattr(x, "dtype", np.dtype(np.float64))
    short = jnp.issubdtype(dtype, jnp.floating)
    return max(1e-6, np.shape(x)[-1] * float(jnp.finfo(dtype).eps)) if short else 1e-6


def check_rows(
    x: Any, name: str, tolerance: float | None = None, hint: str = "divide counts by their sum"
) -> None:
    """ValueError unless the last axis of a NumPy array holds distributions; the first bad row is named."""
    if not isinstance(x, np.ndarray):
        return
    p = x.astype(np.float64)
    check_probabilities(p, name, slack=1e-6)
    total = p.sum(axis=-1)
    bad = np.argwhere(np.abs(total - 1) > (sum_tolerance(x) if tolerance is None else tolerance))
    if len(bad):
        at = tuple(map(int, bad[0]))
        many = f" ({len(bad)} such rows of {total.size})" if at else ""
        raise ValueError(f"{_entry(name, at)} sums to {total[at]:.9g}, not to 1{many}; {hint}")


def _entry(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]" if at else name
