"""Text tables (CSV, TSV, either of them gzipped) as columns of text, with the line of every row.

Readers that guess turn a worker "NA" into a missing value and "001" into 1, and move all columns by one
when a row has a field too many. Here every field stays the text it is and every row must fit the header.
Rows without any text are skipped, which the notes of the table say, as they do of changed letters. Long plain
tables are split as whole blocks of text, all others, and every table with a fault, by the csv module
(`tests/io/test_long_tables.py` compares both).
"""

import csv
import gzip
import io
import os
import re
import sys
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count, islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jtruth._files import unescaped
from jtruth._one_line import one_line
from jtruth._validation import words
from jtruth._validation.coded import Coded, different, renamed
from jtruth._validation.ids import MISSING_TEXT, check_columns
from jtruth._validation.words import Source, brief, quoted

BLOCK = 1 << 20  # bytes that are looked at together: beside a file only its codes are kept
_LIFT, _GIGABYTES = "JTRUTH_UNPACK_GB", 4.0  # what a compressed file may become
_RATIO, _SMALL = 200, 1e8  # times its size, or bytes that are no burden; labels shrink to 1/10 or 1/100
_FIELD = 2**31 - 1  # characters that the csv module may read into one field; by itself it stops at 131 072
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
        lines = (line for block in self._blocks for line in self._data[block].split(b"\n"))
        return [line.decode().split(self._sep) for line in islice(lines, number)]

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


def plain_columns(data: bytes, sep: str, block: int = BLOCK) -> tuple[list[str], PlainColumns, int] | None:
    """Header, columns, empty rows at the end of UTF-8 without quotation marks; None: csv has to look."""
    data = data.removeprefix(_BOM).replace(b"\r\n", b"\n") if b"\r" in data else data.removeprefix(_BOM)
    if b'"' in data or b"\0" in data or b"\r" in data or not sep.isascii() or _is_escaped(data):
        return None
    begin, end = data.find(b"\n") + 1, data.find(b"\n", len(data.rstrip(b"\n" + sep.encode())))
    end = len(data) if end < 0 else end
    empty, head = data.count(b"\n", end) - data.endswith(b"\n", end), data[: max(begin - 1, 0)]
    width, blocks, start = head.count(sep.encode()) + 1, [], begin
    if not 0 < begin < end or not all(head.split(sep.encode())[1:]) or width < 2:
        return None  # with columns that have no name, or a title above the names
    bare = sep.encode() * (width - 1)  # a row without text; what begins with a space may be one, too
    odd = (head + b"\n", _BOM, bare + b"\n", b" ", b"\t" if sep != "\t" else b" ")
    if any(data.find(b"\n" + mark, 0, end + 1) >= 0 for mark in odd):
        return None
    if not data.isascii() and data.decode(errors="ignore").encode() != data:
        return None
    line = np.array([ord(sep)] * (width - 1) + [_NEWLINE])
    while start < end:
        stop = data.find(b"\n", min(start + block, end), end)
        stop = end if stop < 0 else stop
        raw = np.frombuffer(data, np.uint8, stop - start, start)
        marks = np.append(raw[(raw == ord(sep)) | (raw == _NEWLINE)], _NEWLINE)
        if marks.size % width or (marks.reshape(-1, width) != line).any():
            return None
        blocks.append(slice(start, stop))
        start = stop + 1
    return head.decode().split(sep), PlainColumns(data, blocks, sep, width), max(empty, 0)


_NO_TEXT = {  # first bytes of files that are no text tables
    b"PK\x03\x04": "an Excel or zip file. Save the table as CSV",
    b"PAR1": "a Parquet file. It can be read as labels or predictions, not here",
    b"\xff\xfe": "damaged UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "damaged UTF-16 text. Save it as UTF-8",
}
_MARKED = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_NO_1252 = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+|[\x81\x83\x88\x8d\x8f\x90\x98\x9d\xff]")
_SEEN = 500  # rows that are compared with the names of columns
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
    lifted = words.number_in(wish)
    if not 0 < lifted < 1e9:
        raise ValueError(f"{_LIFT} is {wish!r}; it must be a number of gigabytes, such as {_LIFT}=50")
    return int(lifted * 1e9)


def check_size(size: int, name: str, packed: int) -> None:
    """Refuse a compressed file that becomes larger than that."""
    if size > largest(packed):
        limit = f"{largest(packed) / 1e9:.2g} GB, the limit for a file of {packed / 1e6:.2g} MB"
        advice = f"set {_LIFT}=50 in the environment to allow 50 GB"
        raise ValueError(f"{name}: the unpacked file exceeds {limit}. If this is intended, {advice}")


def decoded(file: File) -> tuple[File, tuple[str, ...]]:
    """The file as UTF-8 whose letters are composed (NFC), and what had to be done; no text stays as it is."""
    data, notes = file.data, ()
    if data.isascii():
        return file, ()
    mark = next((name for mark, name in _MARKED.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(mark)
    except UnicodeDecodeError:
        text = _western(data) if mark == "utf-8" else ""
        if not text:
            return file, ()
        notes = (f"{file.name} is not UTF-8, and was read as Windows-1252 text.",)
    if not unicodedata.is_normalized("NFC", text):
        notes += joined_note(set(re.split(r'[",;\t|\r\n]', text)), file.name)
        text = unicodedata.normalize("NFC", text)
    elif mark == "utf-8" and not notes:
        return file, ()
    return file._replace(data=text.encode("utf-8", "surrogatepass")), notes


def _western(data: bytes) -> str:
    """Text in Windows-1252, whose letters stand one or two together between those of ASCII; "" of others."""
    text = "" if _NO_1252.search(data) else data.decode("cp1252")
    found = re.findall(r"([A-Za-z]?)([^\x00-\x7f]+)([A-Za-z]?)", text)
    runs = [(bool(a or b), run, sum(map(str.isalpha, run))) for a, run, b in found]
    odd = any(letters > 2 or (letters and len(run) > (3 if beside else 1)) for beside, run, letters in runs)
    if not re.search("[\xc0-\xff]|^[^\\w]*$", "".join(run for *_, run, letters in runs if letters)):
        return ""  # letters that only Windows has, such as Ž: more often of another code
    sure = any(beside for beside, _, letters in runs if letters) or not any(letters for *_, letters in runs)
    return text if sure and not odd else ""


def joined_note(names: Iterable[str], name: str) -> tuple[str, ...]:
    """A sentence about names that are one in composed letters (NFC), and were different before."""
    twice = words.duplicates(unicodedata.normalize("NFC", one) for one in set(names))
    text = f"{quoted(sorted(twice))} had two spellings that look the same; they were merged."
    return (Source(name).says(text),) if twice else ()


class TextTable(NamedTuple):
    """A text table."""

    header: tuple  # column names
    columns: Sequence  # text of each column: a list, or `Coded`
    source: Source
    decimal: str | None = None  # what stands before the decimals of numbers; None: found in them
    notes: tuple[str, ...] = ()  # sentences about what was skipped or changed
    orders: Any = None  # column -> its values from lowest to highest, where the file declares them
    escaped: bool = False  # whether cells had an apostrophe that keeps spreadsheets from computing them

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
            for value in () if list(map(str.strip, names)) == names else names:
                if value != value.strip():
                    rows = [k for k, other in enumerate(column) if other == value]
                    where = f"{self.source.at(rows)}: {name} {brief(value)} begins or ends with a space"
                    what = f"{brief(value.strip())} would be another one. Remove the space."
                    raise ValueError(f"{where}; {what}")
        return picked


def read_table(path: "str | PathLike | File", sep: str | None = None) -> TextTable:
    """A whole text table ("-": standard input); `sep`: a comma (.tsv: a tab), or what alone a header has."""
    file, notes = decoded(read_bytes(path))
    header = file.data.partition(b"\n")[0]
    if sep is None:
        sep = "\t" if ".tsv" in file.suffixes else ","
        other = [mark for mark in ",;\t|" if mark.encode() in header]
        sep = other[0] if len(other) == 1 else sep
    spaced = 0 < header.count(sep.encode()) == header.count(f"{sep} ".encode())  # a, b, c
    found = None if spaced or len(file.data) < _SHORT else plain_columns(file.data, sep)
    if found is None:
        return _any_table(file, sep, notes, spaced)
    header, columns, empty = header_of(found[0], file, sep), *found[1:]
    check_names(header, columns.head(_SEEN), file.name, 1)
    notes += _skipped_at_end(file.name, empty)
    return TextTable(header, columns, Source(file.name, "line", 2), None, notes)


def _any_table(file: File, sep: str, notes: tuple[str, ...] = (), spaced: bool = False) -> TextTable:
    """A table by the csv module, which also says what is wrong with it."""
    for magic, what in _NO_TEXT.items():
        if file.data.startswith(magic):
            raise ValueError(f"{file.name}: this is {what}.")
    text = io.TextIOWrapper(io.BytesIO(file.data), "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=sep, strict=True, skipinitialspace=spaced)
    limit = csv.field_size_limit(_FIELD)
    rows, starts = [], [1]  # the line on which each row starts
    try:
        for row in reader:
            rows.append(tuple(row))  # tuples keep the garbage collector less busy than lists
            starts.append(reader.line_num + 1)
    except csv.Error as problem:
        text = f"{file.name}, near line {reader.line_num}: {problem}. Check the quotation marks."
        raise ValueError(text) from None
    except UnicodeDecodeError as problem:
        text = f"{file.name}, after line {reader.line_num}: not UTF-8 text ({problem.reason})"
        raise ValueError(f"{text}. Save it as UTF-8.") from None
    finally:
        csv.field_size_limit(limit)
    if escaped := _is_escaped(file.data):
        rows = rows[:1] + [tuple(map(unescaped, row)) for row in rows[1:]]  # names are in `header_of`
    return rows_table(rows, Source(file.name, "line", 1, starts), file, sep, notes)._replace(escaped=escaped)


def rows_table(
    rows: Sequence[Sequence[str]], source: Source, file: File, sep: str = ",", notes: tuple[str, ...] = ()
) -> TextTable:
    """A table of rows of text, the names of columns first; empty rows and titles are skipped, with notes."""
    full = [k for k, row in enumerate(rows) if "".join(row).strip(" \t")]
    titles = full[: _titles([rows[k] for k in full[:5]])]
    notes += tuple(f"{source.at([k])} is a title and was skipped: {brief(rows[k][0], 60)}." for k in titles)
    begin, *body = full[len(titles) :] or [0]
    header = header_of(list(rows[begin]) if full else [], file, sep)
    _check_rows(rows, begin, body, header, source, sep)
    if not body:
        raise NoRows(f"{file.name}: the file has a header but no rows")
    columns = list(map(list, zip(*(rows[k] for k in body), strict=True)))
    kept = [k for k, name in enumerate(header) if name or any(columns[k])]  # no names and no text: no columns
    if len(kept) > 2 and not any(header[k] for k in kept[1:]):
        what = f"only the first of {len(kept)} columns has a name, {brief(header[kept[0]])}. If it is a title"
        raise ValueError(f"{source.at([begin])}: {what}, remove the line; otherwise name every column")
    bare = [k + 1 for k in kept[1:] if not header[k]]
    if len(bare) > 1:
        what = f"columns {words.some(bare)} have no name. If names stand in two lines, join them into one"
        raise ValueError(f"{source.at([begin])}: {what}")
    if gaps := sorted(set(range(body[-1])).difference(full)):
        notes += (f"{source.at(gaps)}: empty, so nothing was read from there.",)
    notes += _skipped_at_end(source.name, len(rows) - 1 - body[-1])
    names, columns = tuple(header[k] for k in kept), tuple(columns[k] for k in kept)
    return TextTable(names, columns, source.only(body), None, notes)


def _check_rows(
    rows: Sequence, begin: int, body: list[int], header: Sequence[str], source: Source, sep: str
) -> None:
    """Refuse rows that are longer or shorter than the header, and names of columns that look like data."""
    for k in body:
        if len(rows[k]) != len(header):
            what = f"{len(rows[k])} fields where the header has {len(header)} ({words.some(header, 8)})"
            advice = f"Put fields that contain {sep!r} in quotation marks."
            raise ValueError(f"{source.at([k])}: {what}: {quoted(rows[k], 8)}. {advice}")
    first = list(rows[begin])
    again = [k for k in body if rows[k][-1] == first[-1] and len(first) > 1]
    again = [k for k in again if [rows[k][0].lstrip("\ufeff"), *rows[k][1:]] == first]
    check_names(header, [rows[k] for k in body[:_SEEN] if k not in again], source.name, source.number(begin))
    if again:
        where = f"{source.at(again)}: the column names occur again"
        raise ValueError(f"{where}. Were several files joined? Remove these lines.")


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows are one cell, no name of a column, above names of columns that are known."""
    number = 0
    while number < len(rows) and not any(map(str.strip, rows[number][1:])):
        number += 1
    if number == len(rows) or not has_words(rows[number]):
        return 0
    return 0 if any(has_words(row[:1]) for row in rows[:number]) else number


def has_words(names: Iterable[str], roles: Iterable[str] = words.COLUMN_WORDS) -> bool:
    """Whether some name is that of a column with such a role; numbered names are not."""
    plain = [name.strip() for name in names if not re.search("[0-9]", name)]
    return any(words.column_called(role, plain) for role in roles)


def _skipped_at_end(name: str, number: int) -> tuple[str, ...]:
    rows = f"{words.number_of(number, 'empty row')} at the end {'was' if number == 1 else 'were'} skipped."
    return (f"{name}: {rows}",) if number > 0 else ()


def _shape(cell: str) -> str:
    """What cells of a kind have in common: that they are numbers, or the text but for its digits."""
    return "#" if words.number_in(cell) == words.number_in(cell) else re.sub("[0-9]+", "#", cell)


def check_names(header: Sequence[str], rows: Sequence[Sequence[str]], name: str, line: Any) -> None:
    """Refuse a header that looks like data: cells that stand again below, numbers, ids like those below."""
    columns = list(zip(*rows, strict=True))
    names, below = list(filter(None, header)), set().union(*columns) - {""}
    counted = any(names == [str(k + first) for k in range(len(names))] for first in (0, 1))
    if len(names) < 2 or not columns or counted:
        return
    for cell, column in zip(header, columns, strict=True):
        kind, kinds = _shape(cell), [_shape(value) for value in column if value]
        alike = kind != cell and kinds.count(kind) >= 0.9 * max(len(kinds), 1)
        if cell and not (cell in below or alike or len(cell.split()) > 3):
            return
    sizes = [len(set(column)) for column in columns]
    first, *rest = sorted(range(len(header)), key=lambda k: -sizes[k])
    long = len(rest) == 2 and sizes[first] < len(columns[0])
    names = ("worker", "label") if long else [f"labeler{k}" for k in sorted(rest)]
    roles = {first: "task"} | dict(zip(rest if long else sorted(rest), names, strict=True))
    what = f"this looks like data, not like column names ({quoted(header, 6)})"
    instance = ",".join(roles[k] for k in range(len(header)))
    raise ValueError(f"{name}, line {line}: {what}. Put a line with names before it, for instance {instance}")


_WHOLE, _PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?"), re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def whole_numbers(column: Sequence) -> Sequence:
    """A column of numbers in which 4.0 is 4, as pandas writes whole numbers beside gaps; others stay.

    So are columns of whole numbers alone, and of numbers with and without a point; "001" is no number.

    >>> whole_numbers(["1.0", "", "2.0"]), whole_numbers(["1.0", "1.5"]), whole_numbers(["001", "1.0"])
    (['1', '', '2'], ['1.0', '1.5'], ['001', '1.0'])
    """
    names = different(column)
    names = [name for name in names if isinstance(name, str)] if {*map(type, names)} != {str} else names
    if ".0" not in "\n".join(names):
        return column
    given = [name for name in names if name.strip().casefold() not in MISSING_TEXT - {"-1"}]
    whole = {name: str(int(name.partition(".")[0])) for name in given if _WHOLE.fullmatch(name)}
    mixed = any("." not in name for name in whole) and all(map(_PLAIN.fullmatch, given))
    return renamed(column, whole) if mixed or len(whole) == len(given) else column


def header_of(fields: list[str], file: File, sep: str) -> tuple[str, ...]:
    """Names of columns, or a sentence about what cannot be one."""
    header = tuple(unescaped(name.strip()) for name in fields)
    if not any(header):
        advice = "It must start with column names"
        raise ValueError(f"{file.name}: the file is empty, or its first line is. {advice}")
    other = [mark for mark in ",;\t|" if mark != sep and len(header) == 1 and mark in header[0]]
    if other:
        advice = f"If the separator is {other[0]!r}, set sep={other[0]!r}."
        raise ValueError(f"{file.name}: the header is one field, {brief(header[0])}. {advice}")
    if "Status" in header and any(name.startswith("[") for name in header):  # promptfoo's, after each output
        header = tuple(f"{name} {k}" if name in header[:k] else name for k, name in enumerate(header))
    words.check_visible(header, header, "column name", Source(file.name, "column", 1))
    twice = words.duplicates(name for name in header if name)
    if twice:
        advice = "Rename or remove one; if this is data, put a line with names before it."
        raise ValueError(f"{file.name}: the header has {quoted(twice)} more than once. {advice}")
    return header
