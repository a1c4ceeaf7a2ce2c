"""A stream of labels as a file: what the next day starts from.

The file is a checkpoint (`jtruth.sampling.checkpoint`): an npz archive with the arrays, and the names and
settings as JSON in one of them. It is written beside the old one and put in its place, so a kill leaves the
old file or the new one. A digest of all that is in it is checked on reading.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from jtruth.learning.em.dawid_skene import Smoothing
from jtruth.learning.em.kinds import Kinds
from jtruth.learning.em.streaming import Closed, Stream
from jtruth.sampling.checkpoint import Checkpoint, digest

_MARK = "stream of labels, Dawid and Skene's model, format 1"
_ARRAYS = ("prior", "matrices", "kind")
_WORDS = ("log_likelihood", "converged", "num_steps", "warnings", "classes", "smoothing", "batches")


def write_stream(path: str | Path, state: Stream) -> None:
    """Write the state to a file that `read_stream` reads."""
    arrays = {name: getattr(state, name) for name in _ARRAYS}
    arrays |= {f"kinds_{name}": value for name, value in state.kinds._asdict().items()}
    arrays |= {f"closed_{name}": np.asarray(value) for name, value in state.closed._asdict().items()}
    arrays |= {"tasks": _text(state.tasks), "workers": _text(state.workers)}
    words = {name: getattr(state, name) for name in _WORDS}
    Checkpoint(path, _MARK).write(arrays, words | {"digest": _digest(arrays, words)})


def read_stream(path: str | Path) -> Stream:
    """The state that was written.

    Raises:
        ValueError: no such file, a file of something else, or one that was damaged or changed.
    """
    try:
        found = Checkpoint(path, _MARK).read()
    except ValueError as error:
        raise ValueError(f"{path} is no state of a stream of labels: {error}") from None
    if found is None:
        raise ValueError(f"there is no file {str(path)!r}; begin_stream makes the first state")
    arrays, words = found
    if words.pop("digest", None) != _digest(arrays, words):
        raise ValueError(f"{path} was changed after it was written (its digest differs): take a copy of it")
    kinds = Kinds(*(arrays[f"kinds_{name}"] for name in Kinds._fields))
    *kept, samples, labels = (arrays[f"closed_{name}"] for name in Closed._fields)
    for name in ("warnings", "classes", "batches"):
        words[name] = tuple(words[name])
    words["smoothing"] = Smoothing(*words["smoothing"])
    return Stream(
        **{name: arrays[name] for name in _ARRAYS},
        **words,
        tasks=tuple(json.loads(arrays["tasks"].tobytes())),
        workers=tuple(json.loads(arrays["workers"].tobytes())),
        kinds=kinds,
        closed=Closed(kept[0], kept[1], kept[2], int(samples), int(labels)),
    )


def _text(names: tuple) -> np.ndarray:
    """Names as the bytes of JSON text: text stays text and numbers numbers."""
    return np.frombuffer(
        json.dumps([n.item() if isinstance(n, np.generic) else n for n in names]).encode(), np.uint8
    )


def _digest(arrays: dict[str, np.ndarray], words: dict[str, Any]) -> str:
    return digest(arrays, json.dumps(words, sort_keys=True))
