"""Random keys: one key from the user, and a named stream for every place that draws.

A user's key is a whole number, a JAX key (typed or raw), or None, which means 0; `as_key` makes a typed JAX
key of it. Two places must not draw the same numbers from one key, so nobody uses the key directly:
`host_rng(key, "checks")` is a NumPy generator and `stream(key, "checks")` a JAX key that depend only on the
key and on the name (and the number of a repetition).

JAX compiles programs to make the first key and to fold in the first number: half a second. `fold` is
Threefry-2x32 (Salmon et al. 2011) in Python, microseconds for one pair of numbers; `tests/test_random.py`
compares every bit with `jax.random`.
"""

import hashlib
import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

F = TypeVar("F", bound=Callable)
Key = int | np.integer | np.ndarray | jax.Array  # what `as_key` takes, but None
Stated = int | list[int]  # a key in a result, which reproduces its streams
_MOST = 2**32 - 1
_HOW = f"give a whole number 0..{_MOST}, or a JAX key such as jax.random.key(0)"


def as_key(key: Any = None) -> jax.Array:
    """A typed JAX key from a whole number, a JAX key (typed, raw, or its words), or None, which is 0.

    >>> bool(as_key(7) == as_key(jax.random.PRNGKey(7))), bool(as_key() == as_key(0))
    (True, True)
    """
    if isinstance(key, list):  # words from JSON; `_from_raw` refuses anything else
        key = np.asarray(key)
        if key.dtype.kind in "iu" and ((key >= 0) & (key <= _MOST)).all():
            key = key.astype(np.uint32)
    if isinstance(key, jax.Array | np.ndarray) and key.ndim:
        return _from_raw(key)
    if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key
    if isinstance(key, bool | np.bool_ | float | np.floating):
        raise ValueError(f"key is {key!r}: {_HOW}")
    try:
        number = 0 if key is None else operator.index(key)
    except TypeError:
        raise ValueError(f"key is {key!r} of type {type(key).__name__}: {_HOW}") from None
    if not 0 <= number <= _MOST:
        raise ValueError(f"key is {number}: {_HOW}")
    return key_of((0, number)) if is_default() else jax.random.key(number)


def seeded(function: F) -> F:
    """Accept scikit-learn's `random_state=` for `key=`; a generator of NumPy draws the key."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if "random_state" in options:
            state = options.pop("random_state")
            if options.get("key") is not None:
                raise ValueError("key and random_state are the same: give one of them")
            draw = getattr(state, "integers", None) or getattr(state, "randint", None)
            options["key"] = int(draw(2**31 - 1)) if draw else state
        return function(*args, **options)

    return cast(F, call)


def uniforms(key: Any, n: int) -> np.ndarray:
    """`n` numbers between 0 and 1 of a user's key, float64 whatever JAX's default is."""
    with jax.enable_x64(True):
        return np.asarray(jax.random.uniform(as_key(key), (n,)), np.float64)


def stated(key: Any = None) -> Stated:
    """A user's key for a result: the whole number that makes it (0 for None), else its words.

    >>> stated(7), stated(), stated(jax.random.key(7)), stated(np.array([3, 7], np.uint32))
    (7, 0, 7, [3, 7])
    """
    words = key_words(as_key(key))
    return words[-1] if key_words(words[-1]) == words else words


def key_words(key: Any) -> list[int]:
    """The words of a key; equal words are equal keys."""
    if type(key) is int and 0 <= key <= _MOST and is_default():
        return [0, key]  # no device is started for it
    return [int(word) for word in np.asarray(jax.random.key_data(as_key(key))).ravel()]


def host_rng(key: Any, name: str, *numbers: int) -> np.random.Generator:
    """NumPy generator of the stream `name` of a key, and of its repetition `numbers`.

    >>> a, b = host_rng(0, "checks").random(2), host_rng(0, "checks").random(2)
    >>> bool((a == b).all()), bool((a == host_rng(0, "votes").random(2)).any())
    (True, False)
    """
    words = [*key_words(key), *_digest(name), *(int(number) for number in numbers)]
    return np.random.default_rng(np.random.SeedSequence(words))


def stream(key: Any, name: str, *numbers: Any) -> jax.Array:
    """JAX key of the stream `name` of a key; `numbers`, of the repetition, may be traced."""
    return _folded(as_key(key), *_digest(name), *numbers)


def _folded(key: jax.Array, *numbers: Any) -> jax.Array:
    """`jax.random.fold_in` of several numbers; on the host where key and numbers are known."""
    words = words_of(key)
    if words is None or not all(isinstance(n, int | np.integer) and 0 <= n <= _MOST for n in numbers):
        for number in numbers:
            key = jax.random.fold_in(key, number)
        return key
    for number in numbers:
        words = fold(words, int(number))
    return key_of(words)


def streams(key: Any, name: str, repetitions: int) -> list[jax.Array]:
    """`[stream(key, name, k) for k in range(repetitions)]`, the name looked up once."""
    first = stream(key, name)
    return [_folded(first, k) for k in range(repetitions)]


def _digest(name: str) -> list[int]:
    """Two words of 32 bits from a name, the same in every process."""
    found = hashlib.sha256(name.encode()).digest()
    return [int.from_bytes(found[k : k + 4], "little") for k in (0, 4)]


def _from_raw(key: Any) -> jax.Array:
    """A key from its words, as of jax.random.PRNGKey."""
    typed = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    if not typed and key.dtype == np.uint32 and key.ndim == 1:
        try:
            return jax.random.wrap_key_data(jnp.asarray(key))
        except (TypeError, ValueError):
            pass
    what = "several keys" if typed else f"an array of {key.dtype}"
    raise ValueError(f"key is {what} of shape {tuple(key.shape)}: {_HOW}")


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
    data: Any = np.array(words, np.uint32)
    return jax.random.wrap_key_data(data, impl=_IMPL)


def is_default() -> bool:
    """Whether new keys of JAX are Threefry."""
    return jax.config.values["jax_default_prng_impl"] == _IMPL
