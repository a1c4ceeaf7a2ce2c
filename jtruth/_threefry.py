"""JAX's own generator of keys, by whole numbers of Python: deriving keys of keys starts no device.

JAX compiles a program before it makes the first key and another before it folds the first number in: half a
second before anything is drawn. Threefry-2x32 (Salmon et al. 2011: 20 rounds of add, rotate, xor) of one pair
of numbers is some microseconds without. `tests/test_random.py` compares every bit with `jax.random`.
"""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

_IMPL = "threefry2x32"
_ROTATE = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY, _MASK = 0x1BD11BDA, 0xFFFFFFFF


def fold(key: tuple[int, int], number: int) -> tuple[int, int]:
    """The words of `jax.random.fold_in(key, number)`: threefry of (0, number)."""
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    x, y = schedule[0], (number + schedule[1]) & _MASK
    for five in range(5):
        for rotate in _ROTATE[4 * (five % 2) : 4 * (five % 2) + 4]:
            x = (x + y) & _MASK
            y = (((y << rotate) | (y >> (32 - rotate))) & _MASK) ^ x
        x = (x + schedule[(five + 1) % 3]) & _MASK
        y = (y + schedule[(five + 2) % 3] + five + 1) & _MASK
    return x, y


def words_of(key: Any) -> tuple[int, int] | None:
    """The two words of a typed key; None where it is traced, several, or of another generator."""
    if isinstance(key, Tracer) or key.ndim or jax.random.key_impl(key) != _IMPL:
        return None
    with jax.ensure_compile_time_eval():  # a known key stays known inside a function that is traced
        first, second = np.asarray(jax.random.key_data(key)).tolist()
    return first, second


def key_of(words: tuple[int, int]) -> jax.Array:
    """A typed key of two words."""
    data: Any = np.array(words, np.uint32)
    return jax.random.wrap_key_data(data, impl=_IMPL)


def is_default() -> bool:
    """Whether new keys of JAX are of this generator."""
    return jax.config.values["jax_default_prng_impl"] == _IMPL
