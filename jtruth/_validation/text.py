"""Text tables (CSV, TSV, either of them gzipped) as columns of text, with the line of every row.

Readers that guess turn a worker "NA" into a missing value and "001" into 1, and move all columns by one
when a row has a field too many. Here every field stays the text it is and every row must fit the header.

There are two readers and one result: long plain tables are read as bytes (`byte_table.py`), all others, and
every table that has a fault, by the csv module.
"""

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from jtruth._one_line import one_line
from jtruth._validation.byte_table import ByteColumns, byte_columns
from jtruth._validation.coded import different
from jtruth._validation.ids import check_columns
from jtruth._validation.names import check_visible
from jtruth._validation.words import Source, duplicates, quoted, shown, some

_NO_TEXT = {  # first bytes of files that are no text tables
    b"PK\x03\x04": "an Excel or zip file. Save the table as CSV",
    b"PAR1": "a Parquet file. It can be read as labels or predictions, not here",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8",
}
_SHORT = 1 << 16  # bytes: the csv module reads so many in the time that a second reader takes to begin
_CHUNK = 500  # rows at a time: many lists alive at once keep the garbage collector busy


class NoRows(ValueError):
    """A table with a header alone."""


class File(NamedTuple):
    """A file that has been read: what messages call it, and its bytes."""

    name: str
    suffixes: list
    data: bytes


def read_bytes(path: "str | PathLike | File") -> File:
    """The whole file, once: pipes and standard input ("-") cannot be read a second time."""
    if isinstance(path, File):
        return path
    if str(path) == "-":
        return File("standard input", [], sys.stdin.buffer.read())
    path = Path(path)
    return File(path.name, path.suffixes, path.read_bytes())


class Table(NamedTuple):
    """A text table."""

    header: tuple  # column names
    columns: Sequence  # text of each column: a list, or `Coded`
    source: Source

    __repr__ = one_line

    def pick(self, columns: dict[str, str]) -> tuple[Sequence[str], ...]:
        """The wanted columns, by what they hold; fields with spaces around them are refused."""
        check_columns(self.header, columns, self.source)
        places = [self.header.index(name) for name in columns.values()]
        if isinstance(self.columns, ByteColumns):
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
                    f"{self.source.at(rows)}: {name} {shown(spaced[0])} begins or ends with a space, "
                    f"and {shown(spaced[0].strip())} would be something else. Remove the space."
                )
        return picked


def read_table(path: "str | PathLike | File", sep: str | None = None) -> Table:
    """Read a whole text table; `sep` is a comma unless given (a tab for .tsv). "-" is standard input."""
    file = read_bytes(path)
    sep = sep or ("\t" if ".tsv" in file.suffixes else ",")
    return _long_table(file, sep) or _any_table(file, sep)


def _long_table(file: File, sep: str) -> Table | None:
    """A long plain table; None where it is short or not plain."""
    data = file.data
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return None
    if len(data) < _SHORT or data.startswith(tuple(_NO_TEXT)):
        return None
    found = byte_columns(data, sep, lambda: _any_table(file, sep).columns)
    if found is None:
        return None
    names, columns = found
    return Table(_header(names, file, sep), columns, Source(file.name, "line", 2))


def _any_table(file: File, sep: str) -> Table:
    """A table by the csv module, which also says what is wrong with it."""
    with _records(file, sep) as reader:
        header = _header(next(reader, []), file, sep)
        columns = tuple([] for _ in header)
        while rows := list(islice(reader, _CHUNK)):
            if set(map(len, rows)) != {len(header)}:
                rows = _without_blank_end(rows, reader, file, sep, header, len(columns[0]))
            for place, column in enumerate(columns):
                column.extend([row[place] for row in rows])
        last = reader.line_num
    if not columns[0]:
        raise NoRows(f"{file.name}: the file has a header but no rows")
    plain = last <= len(columns[0]) + 1  # no field contains a line break: row k is line k + 2
    return Table(header, columns, Source(file.name, "line", 2, None if plain else _lines(file, sep)[1:]))


def _header(fields: list[str], file: File, sep: str) -> tuple[str, ...]:
    header = tuple(name.strip() for name in fields)
    if not any(header):
        raise ValueError(
            f"{file.name}: the file is empty, or its first line is. It must start with column names"
        )
    other = [mark for mark in ",;\t|" if mark != sep and len(header) == 1 and mark in header[0]]
    if other:
        raise ValueError(
            f"{file.name}: the header is one field, {shown(header[0])}. Is the separator {other[0]!r}? "
            f"Then say sep={other[0]!r}."
        )
    check_visible(header, header, "column name", Source(file.name, "column", 1))
    twice = duplicates(name for name in header if name)
    if twice:
        raise ValueError(f"{file.name}: the header has {quoted(twice)} more than once. Rename or remove one.")
    return header


def _without_blank_end(
    rows: list, reader: Iterator, file: File, sep: str, header: tuple, done: int
) -> list[list[str]]:
    """Rows up to blank lines at the end of the file; any other misfit is an error."""
    bad = next(k for k, row in enumerate(rows) if len(row) != len(header))
    if not any(rows[bad:]) and not any(reader):
        return rows[:bad]
    place = f"{file.name}, line {_lines(file, sep)[done + bad + 1]}"
    if not rows[bad]:
        raise ValueError(f"{place} is empty. Delete the line.")
    raise ValueError(
        f"{place}: {len(rows[bad])} fields where the header has {len(header)} ({some(header, 8)}): "
        f"{quoted(rows[bad], 8)}. A field that contains {sep!r} must stand in quotation marks."
    )


@contextmanager
def _records(file: File, sep: str) -> Iterator:
    """A CSV reader of the file; whatever is wrong with the file as such becomes a ValueError."""
    for magic, what in _NO_TEXT.items():
        if file.data.startswith(magic):
            raise ValueError(f"{file.name}: this is {what}.")
    raw: Any = io.BytesIO(file.data)
    raw = gzip.GzipFile(fileobj=raw) if file.data.startswith(b"\x1f\x8b") else raw
    reader = csv.reader(io.TextIOWrapper(raw, "utf-8-sig", newline=""), delimiter=sep, strict=True)
    try:
        yield reader
    except csv.Error as problem:
        raise ValueError(
            f"{file.name}, near line {reader.line_num}: {problem}. Check the quotation marks."
        ) from None
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"{file.name}, after line {reader.line_num}: not UTF-8 text ({problem.reason}). Save it as UTF-8."
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise ValueError(f"{file.name}: the gzip file is damaged ({problem})") from None


def _lines(file: File, sep: str) -> list[int]:
    """The line on which each record starts, from 1; the header is the first record."""
    starts, line = [], 1
    with _records(file, sep) as reader:
        for _ in reader:
            starts.append(line)
            line = reader.line_num + 1
    return starts
