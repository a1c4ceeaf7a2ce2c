"""Run-time checks of the annotations of jtruth, on the first calls of every function in every test.

The option `--jaxtyping-packages` in pyproject.toml wraps every function of jtruth, so that arguments and
result are compared with their annotations. A check costs about 50 microseconds, too much inside a sampler
that calls a function 20 000 times (a quarter of the time of all tests). So a function is checked until it has
been called `FIRST` times in a test, and again from the next test on. A function inside another one is new at
every call of that; wrapping it costs a millisecond, so only the first of a test are wrapped. Without a
conftest that marks the start of a test (doctests) every call is checked.
"""

import functools
import inspect
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import beartype
import jaxtyping

FIRST = 3

# An int is a float here, as it is for every static type checker.
_check = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))
_test = 0
_off: list[Any] = []
_inside: Counter = Counter()  # how often each function inside another one was made in this test
_jaxtyped = jaxtyping.jaxtyped


def _first_made(*given: Any, **options: Any) -> Any:
    """`jaxtyping.jaxtyped`, which leaves functions inside others alone where enough of them are checked."""

    def decorated(function: Any) -> Any:
        code = getattr(function, "__code__", None)
        if _test and code is not None and "<locals>" in function.__qualname__:
            _inside[code] += 1
            if _inside[code] > FIRST:
                return function
        return _jaxtyped(function, **options)

    return _jaxtyped(*given, **options) if given else decorated


jaxtyping.jaxtyped = _first_made  # the wrapped source says `@jaxtyping.jaxtyped(typechecker=...)`


def new_test() -> None:
    """All functions are checked again."""
    global _test
    _test += 1
    _inside.clear()
    while _off:
        del _off.pop().__no_type_check__


def first_calls(stand_in: Callable) -> Callable:
    """What jaxtyping calls with a function of the same name and signature as one in jtruth, but no body."""
    checked: Callable | None = None
    test, calls = 0, 0

    @functools.wraps(stand_in)
    def check(*args: Any, **kwargs: Any) -> Any:
        nonlocal checked, test, calls
        if checked is None:  # many are never called
            checked = _check(stand_in)
        test, calls = _test, calls + 1 if test == _test else 1
        if _test and calls == FIRST:
            _switch_off(stand_in)
        return checked(*args, **kwargs)

    return check


def _switch_off(stand_in: Callable) -> None:
    """jaxtyping lets a function with `__no_type_check__` through; one inside another stays checked."""
    found: Any = sys.modules[stand_in.__module__]
    for name in stand_in.__qualname__.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    for inside in ("fget", "__func__"):  # of a property, of a class method
        found = getattr(found, inside, found)
    raw = inspect.unwrap(found) if callable(found) else None
    if inspect.isfunction(raw) and raw.__qualname__ == stand_in.__qualname__ and raw not in _off:
        raw.__no_type_check__ = True
        _off.append(raw)
