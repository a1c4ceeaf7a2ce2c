"""Progress and checkpoints of long runs; neither changes a draw.

A checkpoint is an npz file of named arrays and a few words about them. Its *mark* is a digest of everything
that the draws depend on: arrays by bytes, functions by module, qualified name and source. A file whose mark
differs is refused. Streams of labels and cleanings are such files too, with a mark of their kind.
"""

import collections
import contextlib
import functools
import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jtruth._files import kept_still, replacing
from jtruth._version import __version__

Words = dict[str, Any]
_UNASKED = 5.0  # seconds before a bar appears that nobody asked for
Report = Callable[[int, int], None]  # (steps done, steps planned so far), all chains together

_LOST = (
    "{} has other content: another process changed it, or it belongs to another run. Nothing was written; "
    "run the command again to continue from that file, or name another file"
)


class Checkpoint:
    """The file of one run, or nothing at all if `path` is None."""

    def __init__(self, path: str | Path | None, mark: str, seconds: float = 0.0):
        """`seconds`: least time between two writings."""
        self.path = None if path is None else Path(path)
        self.mark, self.seconds, self.written = mark, seconds, time.monotonic()

    def read(self) -> tuple[dict[str, np.ndarray], Words] | None:
        """Arrays and words of the file; None if there is no file yet.

        Raises:
            ValueError: no checkpoint, a damaged one, or one of another run, with the name of the file.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            with open(self.path, "rb") as raw, np.load(raw) as file:  # so that it is closed whatever happens
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays.pop("about")))
            mark, words, content = about["mark"], about["words"], about["content"]
        except Exception as error:  # a damaged file can make the reader fail in any way
            raise ValueError(
                f"{self.path} is not a checkpoint of a sampler, or it is damaged ({type(error).__name__}: "
                f"{' '.join(str(error).split())[:100]}); remove it, or give another checkpoint path"
            ) from error
        version = about.get("jtruth", "of an older version")
        if mark != self.mark and version != __version__:
            raise ValueError(
                f"{self.path} was written by jtruth {version}, and {__version__} cannot continue it: "
                "use that version, remove the file, or give another path"
            )
        if mark != self.mark:
            raise ValueError(
                f"{self.path} belongs to another run (other data, model, priors, key or settings); "
                "remove it, or give another checkpoint path"
            )
        if content != _content(arrays, words):
            raise ValueError(
                f"{self.path} was changed after it was written (its digest differs): use an intact copy"
            )
        return arrays, words

    def write(
        self, arrays: dict[str, np.ndarray], words: Words, keeps: Callable[[Words], bool] | None = None
    ) -> None:
        """Write the file; `keeps` tells from the words of an old file whether its content is part of this.

        Raises:
            ValueError: `keeps` is false (another process was quicker), or the file is of something else.
        """
        if self.path is None:
            return
        words = json.loads(json.dumps(words))  # as they will be read
        about = {"jtruth": __version__, "mark": self.mark, "words": words, "content": _content(arrays, words)}
        with kept_still(self.path) as there:
            old = None if keeps is None else self.read()
            if keeps is not None and old is not None and not keeps(old[1]):
                raise ValueError(_LOST.format(self.path))
            try:
                with replacing(self.path, "wb", new=keeps is not None and not there) as file:
                    np.savez(file, about=np.array(json.dumps(about)), **arrays)  # pyright: ignore[reportArgumentType]
            except FileExistsError:
                raise ValueError(_LOST.format(self.path)) from None
        self.written = time.monotonic()

    def read_parts(self) -> tuple[dict[str, dict[str, np.ndarray]], Words] | None:
        """As `read`, arrays by part and name; a part may be empty."""
        content = self.read()
        if content is None:
            return None
        parts: dict[str, dict[str, np.ndarray]] = collections.defaultdict(dict)
        for name, value in content[0].items():
            part, _, rest = name.partition("/")
            parts[part][rest] = value
        return parts, content[1]

    def write_parts(self, parts: dict[str, dict[str, np.ndarray]], words: Words) -> None:
        """As `write`, arrays by part and name."""
        self.write({f"{part}/{name}": a for part, some in parts.items() for name, a in some.items()}, words)

    @property
    def due(self) -> bool:
        """Whether there is a file, and the last writing is long enough ago."""
        return self.path is not None and time.monotonic() - self.written >= self.seconds


class Progress(NamedTuple):
    """Where progress is reported and kept."""

    report: bool | Report | None = None  # called after every block of steps; True: a bar
    checkpoint: str | Path | None = None  # a file to resume from if it exists, and to write
    seconds: float = 10.0  # least time between two writings; what is finished is always written

    def file(self, mark: str) -> Checkpoint:
        """The file of the run with this mark."""
        return Checkpoint(self.checkpoint, mark, self.seconds)

    @contextlib.contextmanager
    def reporting(self) -> Iterator[Report]:
        """A function of (done, planned): the caller's, a tqdm bar's, or one that does nothing.

        With `report` None, a run of more than five seconds shows a bar on a terminal.
        """
        if callable(self.report):
            yield self.report
        elif not (sys.stderr.isatty() if self.report is None else self.report):
            yield lambda done, planned: None
        else:
            from tqdm.auto import tqdm  # here: in a notebook without ipywidgets its import prints a warning

            unasked = {"delay": _UNASKED, "leave": False} if self.report is None else {}
            with tqdm(unit="step", **unasked) as bar:

                def show(done: int, planned: int) -> None:
                    bar.total = planned
                    bar.update(done - bar.n)

                yield show


def _content(arrays: dict[str, np.ndarray], words: Words) -> str:
    return digest(arrays, json.dumps(words, sort_keys=True))


def digest(*things: Any) -> str:
    """A hash of arrays, functions, numbers, text, and nests of them."""
    sha = hashlib.sha256()
    for thing in things:
        _add(sha, thing)
    return sha.hexdigest()


def _add(sha: Any, thing: Any) -> None:
    if isinstance(thing, functools.partial):
        _add(sha, (thing.func, thing.args, thing.keywords))
    elif isinstance(thing, dict):
        _add(sha, sorted(thing.items()))
    elif isinstance(thing, list | tuple):
        sha.update(f"[{type(thing).__name__} {len(thing)}".encode())
        if set(map(type, thing)) <= {str, int}:  # names of millions of tasks: the same bytes, at once
            sha.update("".join(map(repr, thing)).encode())
            return
        for part in thing:
            _add(sha, part)
    elif isinstance(thing, np.ndarray | np.generic | jax.Array):
        value = np.ascontiguousarray(thing)
        sha.update(f"{value.shape}{value.dtype}".encode() + value.tobytes())
    elif inspect.isroutine(thing) or inspect.isclass(thing):
        try:
            source = inspect.getsource(thing).encode()
        except (OSError, TypeError):  # an interactive session has none: the compiled code
            source = getattr(getattr(thing, "__code__", None), "co_code", b"")
        sha.update(f"{thing.__module__}.{thing.__qualname__}".encode() + source)
        for cell in getattr(thing, "__closure__", None) or ():
            _add(sha, cell.cell_contents)
    elif thing is None or isinstance(thing, bool | int | float | str | bytes | np.dtype):
        sha.update(repr(thing).encode())
    else:  # repr may hold a memory address, which is another one in the next process
        leaves, tree = jax.tree.flatten(thing)
        sha.update(f"{type(thing).__module__}.{type(thing).__qualname__}".encode())
        if not (len(leaves) == 1 and leaves[0] is thing):
            _add(sha, (str(tree.num_leaves), leaves))
