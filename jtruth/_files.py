"""How jtruth writes files: beside the old one, under a name of its own, and then in its place.

A kill, a full disk or a second process leaves the old file or the new one, never half of one. CSV tables are
written here too: text that a spreadsheet would take for a formula gets an apostrophe and a space before it,
which tables are read without (`unescaped`), so that every name comes back as it was. An apostrophe alone is
part of a name: other programs' files have workers such as '-x.
"""

import csv
import gzip
import io
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

WRITTEN: dict[str, None] = {}  # files that this process has written, in their order
HALF: dict[str, None] = {}  # files beside others that are being written
_OLD = 3600.0  # seconds after which what a killed process left beside a file is taken away
_FORMULA = re.compile(r"(' )*[=+\-@\t\r]")  # how a cell begins that a spreadsheet computes; or one escaped


@contextmanager
def replacing(path: str | os.PathLike, mode: str = "w", *, new: bool = False) -> Iterator[IO]:
    """A file that takes the place of `path` when the block ends well; otherwise nothing is changed.

    `mode` "w" is text (UTF-8, line ends as they are given), "wb" bytes; `new`: nobody may have written it
    meanwhile (FileExistsError). Pipes and devices are written as they are.
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
    _take_away(target)


def _put(beside: Path, target: Path, new: bool) -> None:
    if new:
        with suppress(PermissionError):  # a file system without links
            os.link(beside, target)
            return
    os.replace(beside, target)


def _take_away(target: Path) -> None:
    """What processes that were killed long ago left beside a file."""
    for left in target.parent.glob(f"{escape(target.name[:200])}.*-????????.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                left.unlink()


@contextmanager
def kept_still(path: Path) -> Iterator[bool]:
    """Whether there is a file; then nobody else who asks like this is inside such a block meanwhile."""
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


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text."""
    with replacing(path) as file:
        file.write(text)


def write_picture(path: Path, figure: Any) -> None:
    """Write a figure of matplotlib, in the format that the name of the file says."""
    with replacing(path, "wb") as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png")


def write_table(path: str | os.PathLike, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV, gzipped if its name ends in .gz; numbers stay numbers, text is no formula."""
    with replacing(path, "wb") as raw:
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if Path(path).suffix == ".gz" else None
        text = io.TextIOWrapper(packed or raw, "utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_escaped, header))
        writer.writerows(map(_escaped, row) for row in rows)
        text.detach()
        if packed is not None:
            packed.close()


def _escaped(cell: Any) -> Any:
    """Text that a spreadsheet would compute, with an apostrophe and a space before it."""
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    with suppress(ValueError):
        float(cell)
        return cell
    return "' " + cell


def unescaped(cell: str) -> str:
    """What `_escaped` was given.

    >>> [unescaped(_escaped(text)) for text in ("=1+1", "-0.5", "' =x", "'-x", "it's")]
    ['=1+1', '-0.5', "' =x", "'-x", "it's"]
    """
    return cell[2:] if cell[:2] == "' " and _FORMULA.match(cell) else cell
