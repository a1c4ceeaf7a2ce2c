"""Any file as objects or as a table of text: JSON, JSON lines, Parquet, Excel, CSV and TSV, or a zip of one.

What a file is, its first bytes say; its name is not asked. Objects whose values are plain become a table.
Values become the text that a table would have: 1 stays "1" and 1.0 "1.0", which are different names; what is
in an object inside has the names of both ("verdicts.gpt").
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any

import numpy as np

from jtruth._validation.coded import merged
from jtruth._validation.text import (
    File,
    TextTable,
    check_size,
    header_of,
    largest,
    read_bytes,
    read_table,
)
from jtruth._validation.words import Source, duplicates, present, quoted
from jtruth.io.eval_archive import eval_log
from jtruth.io.label_rows import as_text

_HIDDEN = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$)")  # what a Mac puts into a zip
Records = dict[str, list[dict]]  # file in a zip ("" where there is one file) -> objects


def parsed(path: Any, sep: str | None = None) -> tuple[Records, Source] | TextTable:
    """The objects of JSON, the table of anything else; what is parsed already stays as it is."""
    if isinstance(path, TextTable) or type(path) is tuple:
        return path
    file = read_bytes(path)
    data, source = file.data, Source(file.name, "object")
    if data.startswith(b"PAR1"):
        return _parquet(file.name, data)
    if data.startswith(b"PK\x03\x04") and (log := eval_log(file)):
        return {"": [log]}, source
    if data.startswith(b"PK\x03\x04") and (inside := _zipped(file)):
        read = {Path(one.name).stem: parsed(one, sep) for one in inside}
        if len(read) == 1 and isinstance(only := next(iter(read.values())), TextTable):
            return only
        objects = {stem: one[0] for stem, one in read.items() if not isinstance(one, TextTable)}
        alone = {stem: records[""] for stem, records in objects.items() if "" in records}
        if len(alone) == len(read):
            return alone, source
        names = quoted(Path(one.name).name for one in inside)
        raise ValueError(source.says(f"a zip of {len(inside)} files ({names}): take out the one to read"))
    if data.startswith(b"PK\x03\x04") and b"xl/workbook.xml" in data:
        return _sheet(file)
    if data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        objects, source = _objects(data, source)
        return {"": objects}, source
    return read_table(file, sep)


def _zipped(file: File) -> list[File]:
    """The files of a zip but for a Mac's; none where it is Excel's, or damaged. File names are annotators."""
    limit = largest(len(file.data))
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            inside = [one for one in archive.infolist() if not one.is_dir()]
            size = sum(one.file_size for one in inside)
            names = [one.filename for one in inside if not _HIDDEN.search(one.filename)]
            if "xl/workbook.xml" in names:
                return []
            read = names if size <= limit else []
            files = [File(f"{file.name}/{name}", Path(name).suffixes, archive.read(name)) for name in read]
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, ValueError, EOFError, OSError):
        return []  # damaged, or encrypted; what is no table is refused where tables are read
    check_size(size, file.name, len(file.data))
    if twice := duplicates(Path(name).stem for name in names):
        alike = quoted(name for name in names if Path(name).stem in twice)
        raise ValueError(
            f"{file.name}: {alike} have one name, which is their annotator's. Rename one, or leave it out"
        )
    return files


def _sheet(file: File) -> TextTable:
    """The only sheet of an Excel file as a table of text; whole numbers have no point there."""
    try:
        from openpyxl import load_workbook  # pyright: ignore[reportMissingModuleSource, reportMissingImports]
    except ImportError:
        why = "this is an Excel file, and reading it needs openpyxl (pip install openpyxl); or save it as CSV"
        raise ValueError(f"{file.name}: {why}") from None
    try:
        book = load_workbook(io.BytesIO(file.data), read_only=True, data_only=True)
        sheets = {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    except Exception as problem:  # of a damaged file openpyxl raises whatever its parts did
        raise ValueError(f"{file.name}: this Excel file is damaged ({problem})") from None
    sheets = {name: rows for name, rows in sheets.items() if any(map(any, rows))}
    if len(sheets) != 1:
        names = quoted(sheets) if sheets else "none"
        raise ValueError(f"{file.name}: one sheet with a table is read; there are {len(sheets)} ({names})")
    rows = [[_cell(value) for value in row] for row in next(iter(sheets.values()))]
    while not any(rows[-1]):
        rows.pop()
    width = max(k + 1 for row in rows for k, cell in enumerate(row) if cell)
    columns = tuple(list(column) for column in zip(*(row[:width] for row in rows[1:]), strict=True))
    return TextTable(header_of(rows[0][:width], file, ","), columns, Source(file.name, "row", 2))


def _cell(value: Any) -> str:
    """A cell of Excel, which has no whole numbers of its own, as text."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value.isoformat() if isinstance(value, date | time) else as_text(value)


def strict_json(text: str) -> Any:
    """What a JSON text says; ValueError: a name twice in an object, or too many brackets.

    Of what is no JSON it is a `json.JSONDecodeError`.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = quoted(duplicates(name for name, _ in pairs))
        raise ValueError(f"{twice} stands there more than once in one object. Keep one of them.")
    return fields


def _objects(data: bytes, source: Source) -> tuple[list[dict], Source]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(source.says(f"not UTF-8 text ({problem.reason}). Save it as UTF-8.")) from None
    if text.lstrip().startswith("["):
        try:
            records = strict_json(text)
        except json.JSONDecodeError as problem:
            where = f"{source.name}, line {problem.lineno}"
            raise ValueError(f"{where}: this is no JSON ({problem.msg})") from None
        except ValueError as problem:
            raise ValueError(source.says(str(problem))) from None
    else:
        records, lines = _lines(text, source.name)
        source = Source(source.name, "line", 1, lines)
    bad = next((k for k, one in enumerate(records) if not isinstance(one, dict)), None)
    if bad is not None:
        needed = "an object with names and values is needed"
        raise ValueError(f"{source.at([bad])}: {needed}; got {records[bad]!r:.80}")
    if not records:
        raise ValueError(source.says("there is nothing in this file"))
    return records, source


def _lines(text: str, name: str) -> tuple[list[Any], list[int]]:
    """JSON lines and their numbers; a text that is one object over many lines is that object."""
    records, numbers = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(strict_json(line))
        except json.JSONDecodeError as problem:
            try:
                return [strict_json(text)], [1]
            except ValueError:
                raise ValueError(f"{name}, line {number}: this is no JSON ({problem.msg})") from None
        except ValueError as problem:
            raise ValueError(f"{name}, line {number}: {problem}") from None
        numbers.append(number)
    return records, numbers


def table_of(records: Iterable[dict], source: Source) -> TextTable:
    """Objects as a table of text; what an object lacks is missing."""
    records = list(map(_flat, records))
    header = tuple(dict.fromkeys(str(name) for one in records for name in one))
    if not header:
        raise ValueError(source.says("the objects are empty: there are no names and values to read"))
    columns = tuple([as_text(one.get(name)) for one in records] for name in header)
    return TextTable(header, columns, source)


def _flat(record: dict, before: str = "") -> dict[str, Any]:
    """An object whose objects inside are entries of its own: {"a": {"b": 1}} is {"a.b": 1}."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        deeper = isinstance(value, dict) and value
        fields |= _flat(value, f"{before}{name}.") if deeper else {f"{before}{name}": value}
    return fields


def _parquet(name: str, data: bytes) -> TextTable:
    try:
        from pyarrow import parquet
    except ImportError:
        why = "this is a Parquet file, and reading it needs pyarrow: pip install 'jtruth[frames]'"
        raise ValueError(f"{name}: {why}") from None
    limit = largest(len(data))
    try:
        opened = parquet.ParquetFile(io.BytesIO(data))
        about = opened.metadata
        size = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        size = max(size, 4 * about.num_rows * about.num_columns)
        table = opened.read() if size <= limit else None
    except (ValueError, OSError) as problem:  # pyarrow's own are ValueErrors
        raise ValueError(f"{name}: this Parquet file cannot be read ({problem})") from None
    check_size(size, name, len(data))
    table = present(table, "the table")
    return TextTable(tuple(table.column_names), tuple(map(_column, table.columns)), Source(name, "row"))


def _column(column: Any) -> Sequence[str]:
    """A column of Arrow as text; Arrow finds its different values, and only these become text."""
    import pyarrow as pa

    if pa.types.is_nested(column.type) or not len(column):
        return [as_text(value) for value in column.to_pylist()]
    if pa.types.is_dictionary(column.type):  # its values may stand in any order, and some nowhere
        column = column.cast(column.type.value_type)
    chunks = column.dictionary_encode(null_encoding="encode").unify_dictionaries().chunks
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    return merged(codes, [as_text(value) for value in chunks[0].dictionary.to_pylist()])


def as_table(path: Any, sep: str | None = None) -> TextTable:
    """A table, from a file of any kind or as it is."""
    table = parsed(path, sep)
    if isinstance(table, TextTable):
        return table
    records, source = table
    if len(records) > 1:
        raise ValueError(source.says(f"{quoted(records)} are files of one zip: take out the one to read"))
    return table_of(next(iter(records.values())), source)
