"""Several processes at one job (`jax.distributed`): what each knows, told to all of them.

Every process must ask at the same place of the program. So whoever finds a fault tells it, too, and all of
them raise it: a process that stopped alone would leave the others waiting.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jtruth._validation.words import quoted


def told(thing: Any) -> list[Any]:
    """What every process says, in the order of processes: plain values, as JSON has them."""
    if jax.process_count() == 1:
        return [thing]
    text = np.frombuffer(json.dumps(thing).encode(), np.uint8)
    sizes = _gathered(np.array([text.size], np.int32))[:, 0]
    rows = _gathered(np.pad(text, (0, int(sizes.max()) - text.size)))
    return [json.loads(row[:size].tobytes()) for row, size in zip(rows, sizes, strict=True)]


def together(work: Callable[[], Any]) -> Any:
    """What `work` gives here; a ValueError of any process is raised by all.

    Raises:
        ValueError: the first one, with the number of its process.
    """
    found, problem = None, None
    try:
        found = work()
    except ValueError as fault:
        problem = str(fault)
    faults = told(problem)
    first = next((k for k, one in enumerate(faults) if one is not None), None)
    if first is not None:
        where = f"process {first}: " if len(faults) > 1 else ""
        raise ValueError(f"{where}{faults[first]}")
    return found


def same_everywhere(what: str, names: Sequence | None) -> None:
    """Refuse names that differ between processes.

    Raises:
        ValueError: showing those of process 0 and of the first that has others.
    """
    tables = told(None if names is None else list(names))
    other = next((k for k, one in enumerate(tables) if one != tables[0]), None)
    if other is not None:
        shown = [f"process {k} has {_shown(tables[k])}" for k in (0, other)]
        raise ValueError(
            f"the {what} differ: {' and '.join(shown)}. Codes mean names: all processes need one table"
        )


def no_common(what: str, names: Sequence[str]) -> None:
    """Refuse names that two processes have.

    Raises:
        ValueError: naming the first of them.
    """
    if jax.process_count() == 1:
        return
    marks = [_mark(name) for name in names]
    sizes = [int(size) for size in told(len(marks))]
    pairs = np.zeros((max(sizes), 2), np.uint32)  # 64 bits in two halves: JAX would cut them
    pairs[: len(marks)] = np.array(marks, np.uint64).view(np.uint32).reshape(-1, 2)
    every = np.ascontiguousarray(_gathered(pairs)).view(np.uint64)[:, :, 0]
    others = [every[k, :size] for k, size in enumerate(sizes) if k != jax.process_index()]
    twice = np.flatnonzero(np.isin(np.array(marks, np.uint64), np.concatenate(others)))
    found = told([str(names[k]) for k in twice[:5].tolist()])
    who = [k for k, some in enumerate(found) if some]
    if who:
        raise ValueError(
            f"processes {' and '.join(map(str, who))} have {what} in common: {quoted(found[who[0]])}. "
            "All labels of one must be in one shard"
        )


def _mark(name: str) -> int:
    """64 bits of a name, the same in every process."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def _gathered(array: np.ndarray) -> np.ndarray:
    """(processes, ...) the arrays of all processes, which have one shape."""
    from jax.experimental.multihost_utils import process_allgather

    return np.asarray(process_allgather(array)).reshape(jax.process_count(), *array.shape)


def _shown(names: list | None) -> str:
    return "none" if names is None else f"{len(names)}: {quoted(names, 8)}"
