"""Text tables (CSV, TSV, either of them gzipped) as columns of text, with the line of every row.

Readers that guess turn a worker "NA" into a missing value and "001" into 1, and move all columns by one
when a row has a field too many. Here every field stays the text it is and every row must fit the header.
Long plain tables are split as whole blocks of text, all others, and every table with a fault, by the csv
module (`tests/io/test_long_tables.py` compares both).
"""

import csv
import gzip
import io
import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jtruth._files import unescaped
from jtruth._one_line import one_line
from jtruth._validation.coded import Coded, different
from jtruth._validation.ids import check_columns
from jtruth._validation.words import Source, brief, check_visible, duplicates, quoted, some

BLOCK = 1 << 20  # bytes that are looked at together: beside a file only its codes are kept
_LIFT, _GIGABYTES = "JTRUTH_UNPACK_GB", 4.0  # what a compressed file may become
_RATIO, _SMALL = (
    200,
    1e8,
)  # times its size, or bytes that are no burden; labels shrink to a tenth or a hundredth
_LIMIT = 131_072  # the csv module refuses longer fields
_NEWLINE, _BOM = 10, b"\xef\xbb\xbf"


def _is_escaped(data: bytes) -> bool:
    """Whether some cell may be one that `write_table` wrote with an apostrophe and a space."""
    return b"' " in data and any(b"' " + mark in data for mark in (b"=", b"+", b"-", b"@", b"\t", b"\r"))


class PlainColumns(Sequence):
    """The columns of a plain table, each coded when it is asked for: what nobody reads costs nothing."""

    def __init__(self, data: bytes, blocks: list[slice], sep: str, width: int):
        self._data, self._blocks, self._sep, self._width = data, blocks, sep, width
        self._done: dict[int, Coded] = {}

    def __len__(self) -> int:
        return self._width

    def __getitem__(self, key: Any) -> Any:
        wanted = range(self._width)[key]
        self.load(wanted if isinstance(wanted, range) else [wanted])
        return tuple(map(self._done.get, wanted)) if isinstance(wanted, range) else self._done[wanted]

    def head(self, number: int) -> list[list[str]]:
        """The first rows; no column is coded for them."""
        rows = self._data[self._blocks[0]].split(b"\n", number)[:number]
        return [row.decode().split(self._sep) for row in rows]

    def load(self, wanted: Iterable[int]) -> None:
        """Code several columns in one pass."""
        known = {k: (defaultdict(count().__next__), []) for k in wanted if k not in self._done}
        for block in self._blocks if known else ():
            fields = self._data[block].decode().replace("\n", self._sep).split(self._sep)
            for k, (numbers, codes) in known.items():
                column = fields[k :: self._width]
                codes.append(np.fromiter(map(numbers.__getitem__, column), np.int32, len(column)))
        for k, (numbers, codes) in known.items():
            self._done[k] = Coded(np.concatenate(codes), list(numbers))


def plain_columns(data: bytes, sep: str, block: int = BLOCK) -> tuple[list[str], PlainColumns] | None:
    """(header, columns) of UTF-8 without quotation marks or faults; None: the csv module has to look."""
    data = data.removeprefix(_BOM).replace(b"\r\n", b"\n") if b"\r" in data else data.removeprefix(_BOM)
    if b'"' in data or b"\0" in data or b"\r" in data or not sep.isascii() or _is_escaped(data):
        return None
    begin, end = data.find(b"\n") + 1, len(data.rstrip(b"\n"))
    width, blocks, start = data[:begin].count(sep.encode()) + 1, [], begin
    if not 0 < begin < end or width < 2:
        return None
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError:
        return None
    line = np.array([ord(sep)] * (width - 1) + [_NEWLINE])
    while start < end:
        stop = data.find(b"\n", min(start + block, end), end)
        stop = end if stop < 0 else stop
        raw = np.frombuffer(data, np.uint8, stop - start, start)
        at = np.flatnonzero((raw == ord(sep)) | (raw == _NEWLINE))
        marks = np.append(raw[at], _NEWLINE)
        if marks.size % width or (marks.reshape(-1, width) != line).any():
            return None
        if np.diff(at, prepend=0, append=raw.size).max() > _LIMIT:
            return None
        blocks.append(slice(start, stop))
        start = stop + 1
    return data[: begin - 1].decode().split(sep), PlainColumns(data, blocks, sep, width)


_NO_TEXT = {  # first bytes of files that are no text tables
    b"PK\x03\x04": "an Excel or zip file. Save the table as CSV",
    b"PAR1": "a Parquet file. It can be read as labels or predictions, not here",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8",
}
_SHORT = 1 << 16  # bytes: the csv module reads so many in the time that a second reader takes to begin


class NoRows(ValueError):
    """A table with a header alone."""


class File(NamedTuple):
    """A file that has been read: what messages call it, and its bytes."""

    name: str
    suffixes: list
    data: bytes


def read_bytes(path: "str | PathLike | File") -> File:
    """The whole file, once and unpacked: pipes and standard input ("-") cannot be read a second time."""
    if isinstance(path, File):
        file = path
    elif str(path) == "-":
        file = File("standard input", [], sys.stdin.buffer.read())
    else:
        file = File(Path(path).name, Path(path).suffixes, Path(path).read_bytes())
    if not file.data.startswith(b"\x1f\x8b"):
        return file
    try:
        with gzip.open(io.BytesIO(file.data)) as packed:
            data = packed.read(largest(len(file.data)) + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise ValueError(f"{file.name}: the gzip file is damaged ({problem})") from None
    check_size(len(data), file.name, len(file.data))
    return file._replace(data=data)


def largest(packed: int) -> int:
    """Bytes that a compressed file of so many may become."""
    wish = os.environ.get(_LIFT, "")
    if not wish:
        return int(min(_GIGABYTES * 1e9, max(_RATIO * packed, _SMALL)))
    try:
        lifted = float(wish)
    except ValueError:
        lifted = -1.0
    if not 0 < lifted < 1e9:
        raise ValueError(f"{_LIFT} is {wish!r}; give a number of gigabytes, such as {_LIFT}=50, or unset it")
    return int(lifted * 1e9)


def check_size(size: int, name: str, packed: int) -> None:
    """Refuse a compressed file that becomes larger than that."""
    if size > largest(packed):
        raise ValueError(
            f"{name}: unpacked this is more than {largest(packed) / 1e9:.2g} GB, the limit for a file of "
            f"{packed / 1e6:.2g} MB. If it is meant to be so large, say how large it "
            f"may be: {_LIFT}=50 in the environment allows 50 GB"
        )


class TextTable(NamedTuple):
    """A text table."""

    header: tuple  # column names
    columns: Sequence  # text of each column: a list, or `Coded`
    source: Source
    decimal: str | None = None  # what stands before the decimals of numbers; None: found in them

    __repr__ = one_line

    def pick(self, columns: dict[str, str]) -> tuple[Sequence[str], ...]:
        """The wanted columns, by what they hold; fields with spaces around them are refused."""
        check_columns(self.header, columns, self.source)
        places = [self.header.index(name) for name in columns.values()]
        if isinstance(self.columns, PlainColumns):
            self.columns.load(places)
        picked = tuple(self.columns[place] for place in places)
        for name, column in zip(columns.values(), picked, strict=True):
            names = different(column)
            whole = "".join(["x", *names, "x"])  # there may be millions, and usually none has a space
            some_space = len(whole.split()) > 1
            spaced = [value for value in names if value != value.strip()] if some_space else []
            if spaced:
                rows = [k for k, value in enumerate(column) if value == spaced[0]]
                raise ValueError(
                    f"{self.source.at(rows)}: {name} {brief(spaced[0])} begins or ends with a space, "
                    f"and {brief(spaced[0].strip())} would be something else. Remove the space."
                )
        return picked


def read_table(path: "str | PathLike | File", sep: str | None = None) -> TextTable:
    """A whole text table ("-": standard input); `sep`: a comma (.tsv: a tab), or what alone a header has."""
    file = read_bytes(path)
    if sep is None:
        sep, header = "\t" if ".tsv" in file.suffixes else ",", file.data.partition(b"\n")[0]
        other = [mark for mark in ",;\t|" if mark.encode() in header]
        sep = other[0] if len(other) == 1 else sep
    long = len(file.data) >= _SHORT and not file.data.startswith(tuple(_NO_TEXT))
    columns = plain_columns(file.data, sep) if long else None
    if columns is None:
        return _any_table(file, sep)
    return TextTable(header_of(columns[0], file, sep), columns[1], Source(file.name, "line", 2))


def _any_table(file: File, sep: str) -> TextTable:
    """A table by the csv module, which also says what is wrong with it."""
    rows: list[tuple[str, ...]] = []  # of tuples, which keep the garbage collector less busy than lists
    with _records(file, sep) as reader:
        header = header_of(next(reader, []), file, sep)
        starts = [reader.line_num + 1]  # the line on which each record starts
        for row in reader:
            rows.append(tuple(row))
            starts.append(reader.line_num + 1)
    while rows and not rows[-1]:
        rows.pop()
    for row, line in zip(rows, starts, strict=False):
        if not row:
            raise ValueError(f"{file.name}, line {line} is empty. Delete the line.")
        if len(row) != len(header):
            raise ValueError(
                f"{file.name}, line {line}: {len(row)} fields where the header has {len(header)} "
                f"({some(header, 8)}): {quoted(row, 8)}. A field that contains {sep!r} must stand in "
                "quotation marks."
            )
    if not rows:
        raise NoRows(f"{file.name}: the file has a header but no rows")
    columns = tuple(map(list, zip(*rows, strict=True)))
    if _is_escaped(file.data):
        columns = tuple(list(map(unescaped, column)) for column in columns)
    plain = starts[len(rows) - 1] == len(rows) + 1  # no field contains a line break: row k is line k + 2
    return TextTable(header, columns, Source(file.name, "line", 2, None if plain else starts[: len(rows)]))


def header_of(fields: list[str], file: File, sep: str) -> tuple[str, ...]:
    """Names of columns, or a sentence about what cannot be one."""
    header = tuple(unescaped(name.strip()) for name in fields)
    if not any(header):
        raise ValueError(
            f"{file.name}: the file is empty, or its first line is. It must start with column names"
        )
    other = [mark for mark in ",;\t|" if mark != sep and len(header) == 1 and mark in header[0]]
    if other:
        raise ValueError(
            f"{file.name}: the header is one field, {brief(header[0])}. Is the separator {other[0]!r}? "
            f"Then say sep={other[0]!r}."
        )
    if "Status" in header and any(name.startswith("[") for name in header):  # promptfoo's, after each output
        header = tuple(f"{name} {k}" if name in header[:k] else name for k, name in enumerate(header))
    check_visible(header, header, "column name", Source(file.name, "column", 1))
    twice = duplicates(name for name in header if name)
    if twice:
        raise ValueError(f"{file.name}: the header has {quoted(twice)} more than once. Rename or remove one.")
    return header


@contextmanager
def _records(file: File, sep: str) -> Iterator:
    """A CSV reader of the file; whatever is wrong with the file as such becomes a ValueError."""
    for magic, what in _NO_TEXT.items():
        if file.data.startswith(magic):
            raise ValueError(f"{file.name}: this is {what}.")
    text = io.TextIOWrapper(io.BytesIO(file.data), "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=sep, strict=True)
    try:
        yield reader
    except csv.Error as problem:
        text = f"{file.name}, near line {reader.line_num}: {problem}. Check the quotation marks."
        raise ValueError(text) from None
    except UnicodeDecodeError as problem:
        text = f"{file.name}, after line {reader.line_num}: not UTF-8 text ({problem.reason})"
        raise ValueError(f"{text}. Save it as UTF-8.") from None
