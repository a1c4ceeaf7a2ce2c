"""Codes, probabilities and numbers that a public function is given: in range, as many as there should be.

Of a traced array, and of one that is spread over devices, there is nothing to look at.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jtruth._arrays import is_readable
from jtruth._validation.words import some

_FEW = 5  # numbers that a message shows


def check_codes(
    codes: Any,
    num_codes: int,
    name: str,
    *,
    size: int | tuple[int, ...] | None = None,
    missing: bool = False,
    kinds: str = "iubf",
) -> None:
    """ValueError unless `codes` are whole numbers 0..num_codes-1, of this size or shape, or in one axis.

    -1 may stand for "not known" if `missing`; `kinds` of NumPy's dtypes are taken (no "f": 1.0 is refused).
    """
    shape = (size,) if isinstance(size, int | np.integer) else size
    if shape is not None and np.shape(codes) != shape:
        each = ", one entry for each sample" if len(shape) == 1 else ", samples by labelers"
        raise ValueError(f"{name} must have shape {shape}{each}; got shape {np.shape(codes)}")
    if not is_readable(codes):
        return
    values = np.asarray(codes)
    if shape is None and values.ndim != 1:
        raise ValueError(f"{name} must have one axis; got shape {values.shape}")
    if values.dtype.kind not in kinds:
        raise ValueError(f"{name} must hold class codes 0 to {num_codes - 1}; got dtype {values.dtype}")
    low = -1 if missing else 0
    if values.size and values.dtype.kind in "iu" and values.min() >= low and values.max() < num_codes:
        return
    good = (values >= low) & (values < num_codes) & (values == np.floor(values))  # NaN is not
    bad = np.argwhere(~good)
    if len(bad):
        unknown, at = ", or -1 for not known" if missing else "", tuple(map(int, bad[0]))
        where = some(bad[:, 0]) if shape is None or len(shape) == 1 else some(bad.tolist())
        raise ValueError(
            f"{_entry(name, at)} is {values[at]} ({len(bad)} such: {where}); give class codes "
            f"0 to {num_codes - 1}{unknown}"
        )


def check_shape(x: Any, name: str, axes: str, **sizes: int) -> tuple[int, ...]:
    """The shape of an array, traced or not; ValueError unless its axes are these, none of them empty.

    `axes` are names, "samples classes" (of classes there are two or more); `sizes` lengths that are known.
    """
    shape, names = np.shape(x), axes.split()
    least = [2 if axis == "classes" else 1 for axis in names]
    fits = len(shape) == len(names) and all(map(int.__ge__, shape, least))
    if not fits or any(size != sizes.get(axis, size) for axis, size in zip(names, shape, strict=True)):
        wanted = [f"{sizes[axis]} {axis}" if axis in sizes else axis for axis in names]
        comma = "," if len(names) == 1 else ""
        raise ValueError(f"{name} has shape {shape}; it must be ({', '.join(wanted)}{comma})")
    return shape


def check_probabilities(x: Any, name: str, *, slack: float = 0.0) -> None:
    """ValueError unless every entry of a NumPy array lies in [0, 1 + slack]; the first bad entry is named."""
    if isinstance(x, np.ndarray):
        good = (x >= 0) & (x <= 1 + slack)  # NaN is not
        _all(good, x, name, ", not a probability", "give numbers from 0 to 1 (not percentages)")


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
        many = f" ({len(bad)} such, of {total.size})" if at else ""
        raise ValueError(f"{_entry(name, at)} sums to {total[at]:.9g}, not to 1{many}; {hint}")


def check_finite(x: Any, name: str, advice: str) -> None:
    """ValueError unless every entry of a NumPy array of numbers is finite; the first bad entry is named."""
    _all(np.isfinite(x.astype(np.float64)), x, name, "", advice)


def check_features(x: np.ndarray, **sizes: int) -> None:
    """ValueError unless these are (samples, features) of finite real numbers."""
    check_shape(x, "x", "samples features", **sizes)
    if x.dtype.kind not in "biuf" and not jnp.issubdtype(x.dtype, jnp.floating):
        raise ValueError(f"x must be real numbers, got dtype {x.dtype}; encode categories first")
    check_finite(x, "x", "impute or drop them")


def check_counts(x: np.ndarray, name: str, bits: int = 53) -> None:
    """ValueError unless every entry counts labels: whole, 0 or more; the first bad entry is named.

    `bits` of a number that holds them: 53 of float64, 31 of int32.
    """
    good = (x >= 0) & (x == np.floor(x))  # NaN is not
    _all(good, x, name, "", "counts of labels are whole numbers, 0 or more: give counts, not shares")
    _all(x < 2.0**bits, x, name, "", f"counts of 2^{bits} and more are too large: divide all by one number")


def check_not_negative(value: Any, name: str) -> None:
    """A number, or an array of numbers, that is finite and not below 0."""
    if not is_readable(value):
        return
    try:
        numbers = np.atleast_1d(np.asarray(value, np.float64)).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number of 0 or more, got {value!r}") from None
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        raise ValueError(f"{name} must be 0 or more, got {numbers[bad[0]]:g}")


def check_positive(value: Any, name: str, what: str, *, size: int | None = None, least: float = 0.0) -> None:
    """Finite numbers, `size` of them unless None, above 0 or at least `least`; `what` they are."""
    numbers = np.atleast_1d(np.asarray(value, np.float64))
    good = np.isfinite(numbers) & (numbers >= least if least else numbers > 0)
    if not good.all() or numbers.shape != (numbers.size if size is None else size,):
        must = f"at least {least:g}" if least else "above 0"
        if numbers.size > _FEW and not good.all():  # the first bad one says enough
            name, value = f"{name}[{np.argmin(good)}]", numbers.ravel()[np.argmin(good)]
        text = value if np.size(value) <= _FEW else f"of shape {np.shape(value)}"
        raise ValueError(f"{name} is {text}; give {what}, {must}")


def check_no_nan(values: Any, name: str) -> None:
    """Real numbers, none of them NaN; infinite ones may be meant."""
    if not is_readable(values):
        return
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" and str(numbers.dtype) != "bfloat16":
        raise ValueError(f"{name} must be real numbers, got dtype {numbers.dtype}")
    good = ~np.isnan(numbers.astype(np.float64))
    _all(good, np.where(good, "", "NaN"), name, "", "the model diverged, or data are missing")


def check_whole(least: int = 1, **numbers: Any) -> None:
    """Whole numbers of at least `least`, by their names."""
    for name, number in numbers.items():
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not whole or number < least:
            kind = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
            raise ValueError(f"{name} must be {kind}, got {number!r}")


def _all(good: Any, values: np.ndarray, name: str, what: str, advice: str) -> None:
    bad = np.argwhere(~np.asarray(good))
    if len(bad):
        at = tuple(map(int, bad[0]))
        many = f"({len(bad)} such)"
        raise ValueError(f"{_entry(name, at)} is {values[at]}{what} {many}; {advice}")


def _entry(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]" if at else name
