"""Any file as objects or as a table of text: JSON, JSON lines, Parquet, zip of JSON lines, CSV and TSV.

What a file is, its first bytes say; its name is not asked. Objects whose values are plain become a table,
so that everything that can be read from a table can be read from JSON and Parquet as well. Values become the
text that a table would have: 1 stays "1" and 1.0 "1.0", which are different names.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jtruth._validation.coded import merged
from jtruth._validation.text import File, Table, read_bytes, read_table
from jtruth._validation.words import Source
from jtruth.io.exports.rows import as_text

Records = dict[str, list[dict]]  # file in a zip ("" where there is one file) -> objects


class Parsed(NamedTuple):
    """A file that has been read: objects or a table."""

    records: Records | None  # of JSON
    table: Table | None  # of anything else
    source: Source


def parsed(path: Any, sep: str | None = None) -> Parsed:
    """The objects of JSON, the table of anything else; what is parsed already stays as it is.

    Raises:
        ValueError: a file that is neither, with its line.
    """
    if isinstance(path, Parsed):
        return path
    file = read_bytes(path)
    data = gzip.decompress(file.data) if _is_gzip(file) else file.data
    start = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if data.startswith(b"PAR1"):
        table = _parquet(file.name, data)
        return Parsed(None, table, table.source)
    if data.startswith(b"PK\x03\x04") and (inside := _zipped(data)):
        source = Source(file.name, "object")
        return Parsed({name: _objects(text, source)[0] for name, text in inside.items()}, None, source)
    if start in (b"{", b"["):
        objects, source = _objects(data, Source(file.name, "object"))
        return Parsed({"": objects}, None, source)
    table = read_table(file, sep)
    return Parsed(None, table, table.source)


def _is_gzip(file: File) -> bool:
    """Whether this is gzipped JSON; gzipped tables are read, and refused, where tables are."""
    if not file.data.startswith(b"\x1f\x8b"):
        return False
    try:
        return gzip.open(io.BytesIO(file.data)).read(64).lstrip()[:1] in (b"{", b"[")
    except (OSError, EOFError):
        return False


def _zipped(data: bytes) -> dict[str, bytes]:
    """JSON files in a zip, by the stem of their names."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if name.endswith((".jsonl", ".json"))]
            return {Path(name).stem: archive.read(name) for name in names}
    except zipfile.BadZipFile:
        return {}  # a table that is none is refused where tables are read


def _objects(data: bytes, source: Source) -> tuple[list[dict], Source]:
    """Objects of a JSON list, or one on each line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(source.says(f"not UTF-8 text ({problem.reason}). Save it as UTF-8.")) from None
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except json.JSONDecodeError as problem:
            raise ValueError(
                f"{source.name}, line {problem.lineno}: this is no JSON ({problem.msg})"
            ) from None
    else:
        found, lines = _lines(text, source.name)
        source = Source(source.name, "line", 1, lines)
    bad = next((k for k, one in enumerate(found) if not isinstance(one, dict)), None)
    if bad is not None:
        raise ValueError(
            f"{source.at([bad])}: an object with names and values is needed; got {found[bad]!r:.80}"
        )
    if not found:
        raise ValueError(source.says("there is nothing in this file"))
    return found, source


def _lines(text: str, name: str) -> tuple[list[Any], list[int]]:
    """JSON lines and their numbers; a text that is one object over many lines is that object."""
    found, numbers = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError as problem:
            try:
                return [json.loads(text)], [1]
            except json.JSONDecodeError:
                raise ValueError(f"{name}, line {number}: this is no JSON ({problem.msg})") from None
        numbers.append(number)
    return found, numbers


def table_of(records: Iterable[dict], source: Source) -> Table:
    """Objects as a table of text; what an object lacks is missing."""
    records = list(records)
    header = tuple(dict.fromkeys(str(name) for one in records for name in one))
    columns = tuple([as_text(one.get(name)) for one in records] for name in header)
    return Table(header, columns, source)


def _parquet(name: str, data: bytes) -> Table:
    """A Parquet file as a table of text."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ValueError(
            f"{name}: this is a Parquet file, and reading it needs pyarrow: pip install 'jtruth[frames]'"
        ) from None
    try:
        found = parquet.read_table(io.BytesIO(data))
    except (ValueError, OSError) as problem:  # pyarrow's own are ValueErrors
        raise ValueError(f"{name}: this Parquet file cannot be read ({problem})") from None
    return Table(tuple(found.column_names), tuple(map(_column, found.columns)), Source(name, "row"))


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


def as_table(path: Any, sep: str | None = None) -> Table:
    """A table, from a file of any kind or as it is."""
    if isinstance(path, Table):
        return path
    records, table, source = parsed(path, sep)
    return table_of((records or {"": []})[""], source) if table is None else table
