"""The file that outlives a run, whatever sampler made it: named arrays, and a few words about them.

A checkpoint is an npz file. It carries a *mark*, a digest of everything that the draws depend on: data,
model, key and settings. Arrays are digested by their bytes, functions by module, qualified name and source,
so the mark is the same in another process. A file whose mark differs belongs to another run and is refused;
so is whatever is no checkpoint. Files are written beside the old one and then put in its place: a kill or a
full disk leaves the old file or the new one, never half of one.
"""

import functools
import hashlib
import inspect
import json
import os
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np


class Checkpoint:
    """The file of one run, or nothing at all if `path` is None."""

    def __init__(self, path: str | Path | None, mark: str, seconds: float = 0.0):
        """`seconds`: least time between two writings by `write_if_due`."""
        self.path = None if path is None else Path(path)
        self.mark, self.seconds, self.written = mark, seconds, time.monotonic()

    def read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays and words of the file; None where there is none yet.

        Raises:
            ValueError: no checkpoint, a damaged one, or one of another run; the file is named.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            with open(self.path, "rb") as raw, np.load(raw) as file:  # so that it is closed whatever happens
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays.pop("about")))
            mark, words = about["mark"], about["words"]
        except Exception as error:  # a damaged file can make the reader fail in any way
            raise ValueError(
                f"{self.path} is not a checkpoint of a sampler, or it is damaged ({type(error).__name__}: "
                f"{' '.join(str(error).split())[:100]}); remove it, or give another checkpoint path"
            ) from error
        if mark != self.mark:
            raise ValueError(
                f"{self.path} belongs to another run (other data, model, priors, key or settings); "
                "remove it, or give another checkpoint path"
            )
        return arrays, words

    def write(self, arrays: dict[str, np.ndarray], words: dict[str, Any]) -> None:
        """Put these into the file."""
        if self.path is None:
            return
        about = np.array(json.dumps({"mark": self.mark, "words": words}))
        beside = self.path.with_name(self.path.name + ".part")
        try:
            with open(beside, "wb") as file:
                np.savez(file, about=about, **arrays)  # pyright: ignore[reportArgumentType]
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except OSError:
            beside.unlink(missing_ok=True)  # what was written before stays as it is
            raise
        self.written = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether there is a file, and the last writing is long enough ago."""
        return self.path is not None and time.monotonic() - self.written >= self.seconds


def digest(*things: Any) -> str:
    """A mark of everything that a run depends on: arrays, functions, numbers, text, and nests of them."""
    found = hashlib.sha256()
    for thing in things:
        _add(found, thing)
    return found.hexdigest()


def _add(found: Any, thing: Any) -> None:
    if isinstance(thing, functools.partial):
        _add(found, (thing.func, thing.args, thing.keywords))
    elif isinstance(thing, dict):
        _add(found, sorted(thing.items()))
    elif isinstance(thing, list | tuple):
        found.update(f"[{type(thing).__name__} {len(thing)}".encode())
        if set(map(type, thing)) <= {str, int}:  # names of millions of tasks: the same bytes, at once
            found.update("".join(map(repr, thing)).encode())
            return
        for part in thing:
            _add(found, part)
    elif isinstance(thing, np.ndarray | np.generic | jax.Array):
        value = np.ascontiguousarray(thing)
        found.update(f"{value.shape}{value.dtype}".encode() + value.tobytes())
    elif inspect.isroutine(thing) or inspect.isclass(thing):
        found.update(f"{thing.__module__}.{thing.__qualname__}".encode() + _source(thing))
        for cell in getattr(thing, "__closure__", None) or ():
            _add(found, cell.cell_contents)
    elif thing is None or isinstance(thing, bool | int | float | str | bytes | np.dtype):
        found.update(repr(thing).encode())
    else:  # repr may hold a memory address, which is another one in the next process
        leaves, tree = jax.tree.flatten(thing)
        found.update(f"{type(thing).__module__}.{type(thing).__qualname__}".encode())
        if not (len(leaves) == 1 and leaves[0] is thing):
            _add(found, (str(tree.num_leaves), leaves))


def _source(thing: Any) -> bytes:
    """Source text; the bytes of the compiled code where there is none, as in an interactive session."""
    try:
        return inspect.getsource(thing).encode()
    except (OSError, TypeError):
        return getattr(getattr(thing, "__code__", None), "co_code", b"")
