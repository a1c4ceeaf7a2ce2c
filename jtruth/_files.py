"""Atomic writing of files: under a temporary name beside the old file, then in its place.

A kill, a full disk or a second process leaves the old file or the new one, never half of one. Tables are
written in the format of the file's ending. In CSV and TSV, text that a spreadsheet would read as a formula
gets an apostrophe and a space before it, which `unescaped` removes. An apostrophe alone is part of a name:
other programs' files have workers such as '-x.
"""

import csv
import gzip
import io
import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PathLike = str | os.PathLike
WRITTEN: dict[str, None] = {}  # files that this process has written, in order
HALF: dict[str, None] = {}  # temporary files that are being written
_OLD = 3600.0  # seconds, after which temporary files of a killed process are deleted
_FORMULA = re.compile(r"(' )*[=+\-@\t\r]")  # start of a formula, or of an escaped one


@contextmanager
def replacing(path: PathLike, mode: str = "w", *, new: bool = False) -> Iterator[IO]:
    """A file that replaces `path` when the block succeeds; otherwise nothing is changed.

    `mode` "w" is text (UTF-8, line ends unchanged), "wb" bytes; `new`: FileExistsError if the file exists by
    then. Pipes and devices are written directly.
    """
    form: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            with open(path, mode, **form) as file:
                yield file
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror or str(problem), str(path)) from problem
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f"{target.name[:200]}.{os.getpid()}-{uuid4().hex[:8]}.part")
    HALF[os.fspath(beside)] = None
    try:
        with open(beside, mode, **form) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(beside, target.stat().st_mode & 0o777)
        _put(beside, target, new)
        WRITTEN[os.fspath(path)] = None
    except OSError as problem:
        why = f"{problem.strerror or problem} (nothing was changed)"
        raise OSError(problem.errno, why, str(path)) from problem
    finally:
        beside.unlink(missing_ok=True)
        HALF.pop(os.fspath(beside), None)
    _remove_old(target)


def _put(beside: Path, target: Path, new: bool) -> None:
    if new:
        with suppress(PermissionError):  # a file system without links
            os.link(beside, target)
            return
    os.replace(beside, target)


def _remove_old(target: Path) -> None:
    """Delete temporary files that killed processes left beside a file."""
    for left in target.parent.glob(f"{escape(target.name[:200])}.*-????????.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                left.unlink()


@contextmanager
def kept_still(path: Path) -> Iterator[bool]:
    """Whether there is a file, locked against other callers inside the block."""
    while True:
        try:
            file = open(path, "r+b")  # noqa: SIM115
        except FileNotFoundError:
            yield False
            return
        with file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                yield True  # else it was replaced while we waited
                return


def write_text(path: PathLike, text: str) -> None:
    with replacing(path) as file:
        file.write(text)


def write_picture(path: Path, figure: Any) -> None:
    """Write a figure of matplotlib, in the format of the file's ending."""
    with replacing(path, "wb") as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png")


_SEPARATORS = {"": ",", ".csv": ",", ".tsv": "\t"}  # "": a pipe, or a name without an ending
ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".parquet")


def ending_of(path: PathLike, among: Sequence[str] = ENDINGS) -> str:
    """The ending of a table's file, without .gz; "" of a name that has none.

    Raises:
        ValueError: an ending that is not `among` those that can be written (of a tool: without .gz).
    """
    name = Path(path).name.lower()
    ending, packed = Path(name.removesuffix(".gz")).suffix, name.endswith(".gz")
    plain = among is ENDINGS and (not ending or (ending in ENDINGS[:4] and packed))
    if not plain and (packed or ending not in among):
        found = Path(name).suffix or "without an ending"
        raise ValueError(f"{Path(path).name!r}: cannot write {found}; end it in {', '.join(among)}")
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError(f"{Path(path).name!r}: Parquet needs pyarrow: pip install 'jtruth[frames]'")
    return ending


@contextmanager
def _text(path: PathLike) -> Iterator[IO[str]]:
    """A text file, gzipped if its name ends in .gz."""
    with replacing(path, "wb") as raw:
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if Path(path).suffix == ".gz" else None
        text = io.TextIOWrapper(packed or raw, "utf-8", newline="")
        yield text
        text.detach()
        if packed is not None:
            packed.close()


def write_objects(path: PathLike, objects: Iterable[dict[str, Any]]) -> None:
    """Write objects as a list of JSON, or as JSON lines for .jsonl."""
    first, between, last = ("", "\n", "\n") if ending_of(path) == ".jsonl" else ("[\n", ",\n", "\n]\n")
    with _text(path) as text:
        for k, one in enumerate(objects):
            text.write((between if k else first) + json.dumps(plain_json(one), ensure_ascii=False))
        text.write(last)


def plain_json(value: Any) -> Any:
    """JSON-ready: NumPy to lists and numbers, NaN and infinities to None."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {name: plain_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_table(path: PathLike, header: Sequence[str], rows: Iterable[Sequence[Any]], own: int = 0) -> None:
    """Write a table in the format of the file's ending, or as CSV.

    Formulas in CSV and TSV are escaped, but for the first `own` columns, which are the user's.
    """
    ending = ending_of(path)
    if ending == ".parquet":
        return _write_parquet(path, header, rows)
    if ending not in _SEPARATORS:
        return write_objects(path, (dict(zip(header, row, strict=True)) for row in rows))
    with _text(path) as text:
        writer = csv.writer(text, delimiter=_SEPARATORS[ending], lineterminator="\n")
        for row in chain([header], rows):
            writer.writerow((*row[:own], *map(_escaped, row[own:])))


def _write_parquet(path: PathLike, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write Parquet: columns of numbers stay numbers; mixed ones become text."""
    from pyarrow import parquet, table

    cells = zip(*map(plain_json, rows), strict=True)
    columns = dict(zip(header, cells, strict=False)) or dict.fromkeys(header, ())
    for name, column in columns.items():
        if len({isinstance(one, str) for one in column if one is not None}) > 1:
            columns[name] = tuple(one if one is None else str(one) for one in column)
    with replacing(path, "wb") as raw:
        parquet.write_table(table({name: list(column) for name, column in columns.items()}), raw)


def _escaped(cell: Any) -> Any:
    """Text that a spreadsheet would compute, with an apostrophe and a space before it."""
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    with suppress(ValueError):
        float(cell)
        return cell
    return "' " + cell


def unescaped(cell: str) -> str:
    """The inverse of `_escaped`.

    >>> [unescaped(_escaped(text)) for text in ("=1+1", "-0.5", "' =x", "'-x", "it's")]
    ['=1+1', '-0.5', "' =x", "'-x", "it's"]
    """
    return cell[2:] if cell[:2] == "' " and _FORMULA.match(cell) else cell
