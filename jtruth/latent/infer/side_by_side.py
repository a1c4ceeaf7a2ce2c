"""Samplers that work on one model, or on many side by side in one compiled program.

A sampler is a generator: where it needs a compiled function it yields a `Call`, and is sent the result.
`alone` runs one of them. `side_by_side` runs many: calls of the same function with arrays of equal shapes
are made as one (under `vmap` on an accelerator; on a CPU one after the other, to stay in its cache). Each has
its own random numbers, so results do not depend on the neighbors.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Hashable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from jtruth._mesh import over_sets
from jtruth.latent.walk import TooLarge

T = TypeVar("T")
_FLYING = 2  # calls that are made at the same time


class Call(NamedTuple):
    """A pure function of arrays, compiled for what is static, and its arguments."""

    function: Callable
    static: tuple[tuple[str, Hashable], ...]
    arrays: tuple  # pytrees of arrays

    def made(self) -> Any:
        """The result of the function."""
        return self.function(*self.arrays, **dict(self.static))

    def shape(self) -> Hashable:
        """Calls with equal values can be made as one."""
        leaves, tree = jax.tree.flatten(self.arrays)
        return self.function, self.static, tree, tuple((np.shape(a), np.result_type(a)) for a in leaves)


Sampler = Generator[Call, Any, T]


def alone(sampler: Sampler[T]) -> T:
    """The result of one sampler."""
    answer = None
    while True:
        try:
            call = sampler.send(answer)
        except StopIteration as end:
            return end.value
        answer = call.made()


def side_by_side(samplers: Sequence[Sampler[T]], at_once: int, mesh: Any = None) -> list[T | None]:
    """The results of all samplers; None of one that is `TooLarge`. A mesh shares those that run at once.

    Other calls are prepared while a call is made.
    """
    results: list[T | None] = [None] * len(samplers)
    ready: dict[Hashable, deque[tuple[int, Call]]] = defaultdict(deque)
    flying: deque[tuple[list[int], Any]] = deque()
    others, going = iter(range(len(samplers))), 0

    def go_on(k: int, answer: Any) -> bool:
        """Whether sampler k has another call, which is ready then."""
        try:
            call = samplers[k].send(answer)
        except StopIteration as end:
            results[k] = end.value
            return False
        except TooLarge:
            return False
        ready[call.shape()].append((k, call))
        return True

    while True:
        for k in islice(others, (_FLYING + 1) * at_once - going):
            going += go_on(k, None)
        while len(flying) < _FLYING and any(ready.values()):
            calls = max(ready.values(), key=len)
            chosen = [calls.popleft() for _ in range(min(at_once, len(calls)))]
            flying.append(([k for k, _ in chosen], _made([call for _, call in chosen], at_once, mesh)))
        if not flying:
            return results
        chosen, answers = flying.popleft()
        answers = jax.device_get(answers)
        for place, k in enumerate(chosen):
            going -= 1 - go_on(k, jax.tree.map(lambda a, place=place: a[place], answers))


def _made(calls: list[Call], size: int, mesh: Any) -> Any:
    """The results of all these calls, filled up to a size, since a program is compiled for each number."""
    filled = calls + calls[-1:] * (size - len(calls))  # a program is compiled for each number
    leaves = zip(*(jax.tree.leaves(call.arrays) for call in filled), strict=True)
    together = _together(calls[0].function, calls[0].static, jax.tree.structure(calls[0].arrays))
    return over_sets(together, mesh, *map(np.stack, leaves))


@lru_cache(maxsize=64)
def _together(function: Callable, static: tuple, tree: Any) -> Callable:
    """The function of many sets of arrays, given as their leaves."""
    size = None if jax.default_backend() == "cpu" else 256

    def one(leaves: Any) -> Any:
        return function(*jax.tree.unflatten(tree, leaves), **dict(static))

    return jax.jit(lambda *leaves: jax.lax.map(one, leaves, batch_size=size))
