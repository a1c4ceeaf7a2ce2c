"""Any file as objects or as a table of text: JSON, JSON lines, Parquet, Excel, CSV and TSV, or a zip of one.

What a file is, its first bytes say; its name is not asked. Objects whose values are plain become a table, and
so do lists of columns or of rows, and labels by task and labeler (`_unwrapped`). Values become the text that
a table would have: times in ISO form, durations in seconds, 1.0 as 1 where all numbers of a column are whole;
what is in an object inside has the names of both ("verdicts.gpt").
"""

import io
import json
import re
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from jtruth._validation import text as tables
from jtruth._validation.coded import by_appearance, different, merged, renamed
from jtruth._validation.ids import is_frame, is_missing, read_frame
from jtruth._validation.text import File, TextTable, decoded, has_words, joined_note, read_bytes, read_table
from jtruth._validation.words import COLUMN_WORDS, Source, column_called, duplicates, number_of, quoted
from jtruth.io.evaluation_logs import eval_log
from jtruth.io.exports import of_records
from jtruth.io.label_rows import as_text
from jtruth.io.plan import FilePlan

_HIDDEN = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$)")  # what a Mac puts into a zip
Records = dict[str, list[dict]]  # file in a zip ("" where there is one file) -> objects


def parsed(path: Any, sep: str | None = None) -> tuple[Records, Source] | TextTable:
    """The objects of JSON, the table of any other file or frame; what is parsed already stays as it is."""
    if isinstance(path, TextTable) or type(path) is tuple:
        return path
    if is_frame(path):
        return _of_frame(path)
    file = read_bytes(path)
    data, source = file.data, Source(file.name, "object")
    if data.startswith(b"PAR1"):
        return _parquet(file.name, data)
    if data.startswith(b"PK\x03\x04"):
        if inside := _zipped(file):
            if log := eval_log(inside, file.name):
                return {"": [log]}, source
            return _together(inside, source, sep)
        if b"xl/workbook.xml" in data:
            return _sheet(file)
    if data[:64].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1] in (b"{", b"["):
        objects, source = _objects(file)
        return {"": objects}, source
    return read_table(file, sep)


def _of_frame(frame: Any) -> TextTable:
    """A data frame as a table of text; its whole numbers and times as they are written."""
    table = read_frame(frame)
    columns = tuple([text_of(value) for value in table[name].to_list()] for name in table.columns)
    orders = {name: list(map(text_of, kind.categories)) for name, kind in table.schema.items()
              if hasattr(kind, "categories")}  # fmt: skip
    source = Source("the frame", "row", 0)
    return TextTable(tuple(map(str, table.columns)), columns, source, orders=orders)


def _together(inside: list[File], source: Source, sep: str | None) -> tuple[Records, Source] | TextTable:
    """The objects of several files, or the table of one."""
    if twice := duplicates(Path(one.name).stem for one in inside):
        names = quoted(Path(one.name).name for one in inside if Path(one.name).stem in twice)
        why = "have one name, which is their annotator's. Rename one, or leave it out"
        raise ValueError(source.says(f"{names} {why}"))
    read = {Path(one.name).stem: parsed(one, sep) for one in inside}
    objects = {stem: one[0] for stem, one in read.items() if not isinstance(one, TextTable)}
    alone = {stem: records[""] for stem, records in objects.items() if "" in records}
    (first, *more) = read.values()
    if isinstance(first, TextTable) and not more:
        return first
    if len(alone) == len(read):
        return alone, source
    names = quoted(Path(one.name).name for one in inside)
    raise ValueError(source.says(f"a zip of {len(inside)} files ({names}): take out the one to read"))


def _zipped(file: File) -> list[File]:
    """The files of a zip but for a Mac's; none where it is Excel's, or damaged. File names are annotators."""
    limit = tables.largest(len(file.data))
    with suppress(ImportError):
        import zipfile_zstd  # noqa: F401  # pyright: ignore[reportMissingImports]  # teaches zipfile Zstandard
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            inside = [one for one in archive.infolist() if not one.is_dir()]
            size = sum(one.file_size for one in inside)
            names = [one.filename for one in inside if not _HIDDEN.search(one.filename)]
            if "xl/workbook.xml" in names:
                return []
            read = names if size <= limit else []
            files = [File(f"{file.name}/{name}", Path(name).suffixes, archive.read(name)) for name in read]
    except NotImplementedError:
        how = f"pip install zipfile-zstd, or inspect log convert {file.name} --to json --output-dir logs"
        why = f"it is packed by a newer method (Zstandard), as inspect_ai may do: {how}"
        raise ValueError(f"{file.name}: {why}") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, EOFError, OSError):
        return []  # damaged, or encrypted; what is no table is refused where tables are read
    tables.check_size(size, file.name, len(file.data))
    return files


def _sheet(file: File) -> TextTable:
    """The only sheet of an Excel file as a table of text; whole numbers have no point there."""
    try:
        from openpyxl import load_workbook  # pyright: ignore[reportMissingModuleSource, reportMissingImports]
    except ImportError:
        why = "this is an Excel file, and reading it needs openpyxl (pip install openpyxl); or save it as CSV"
        raise ValueError(f"{file.name}: {why}") from None
    sheets: dict[str, dict[int, dict[int, str]]] = {}  # sheet -> row -> column -> text of what is not empty
    try:
        for sheet in load_workbook(io.BytesIO(file.data), read_only=True, data_only=True).worksheets:
            sheet.reset_dimensions()  # what a file says of its own size may be wrong: then rows would be lost
            for k, row in enumerate(sheet.iter_rows(values_only=True), 1):
                if cells := {j: text for j, value in enumerate(row) if (text := text_of(value)).strip()}:
                    sheets.setdefault(sheet.title, {})[k] = cells
    except Exception as problem:  # of a damaged file openpyxl raises whatever its parts did
        raise ValueError(f"{file.name}: this Excel file is damaged ({problem})") from None
    if len(sheets) != 1:
        names = quoted(sheets) if sheets else "none"
        raise ValueError(f"{file.name} has {len(sheets)} sheets with tables ({names}); keep one")
    (rows,) = sheets.values()
    used = sorted({j for cells in rows.values() for j in cells})
    source, empty = Source(file.name, "row", 0, list(rows)), number_of(max(rows) - len(rows), "empty row")
    note = source.says(f"{empty} skipped among the rows of the sheet.")
    cells = [[row.get(j, "") for j in used] for row in rows.values()]
    notes = (note,) * (max(rows) > len(rows))
    return _composed(tables.rows_table(cells, source, file, notes=notes))


def text_of(value: Any) -> str:
    """A value of any type as text that means the same: ISO times, seconds, true; whole numbers have no point.

    >>> text_of(datetime(2026, 1, 2, 9)), text_of(timedelta(minutes=1.5)), text_of(2.0), text_of(b"cat")
    ('2026-01-02T09:00:00', '90', '2', 'cat')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return ""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, datetime) and value.time() == time() and value.tzinfo is None:
        value = value.date()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        read = value.decode(errors="replace")
        return read if read.isprintable() and "\ufffd" not in read else value.hex()
    if isinstance(value, int | float | list | tuple | dict | np.ndarray):
        value = value.tolist() if isinstance(value, np.ndarray) else value
        return json.dumps(value, ensure_ascii=False, default=text_of)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def texts_of(values: Sequence) -> list[str]:
    """Values of a column as text; 1.0 stays "1.0" beside 1.5 where no number is written without a point."""
    types = set(map(type, values))
    if types <= {str, type(None)}:
        return [value or "" for value in values]
    if types == {int}:
        return list(map(str, values))
    points = float in types and int not in types and any(type(v) is float and v % 1 > 0 for v in values)
    return [as_text(value) if points and type(value) is float else text_of(value) for value in values]


def _composed(table: TextTable) -> TextTable:
    """A table whose letters are composed (NFC)."""
    columns, notes = [], table.notes
    for column in (list(table.header), *table.columns):
        names = different(column)
        if not unicodedata.is_normalized("NFC", "\n".join(names)):
            notes += joined_note(names, table.source.name)
            column = renamed(column, {name: unicodedata.normalize("NFC", name) for name in names})
        columns.append(column)
    return table._replace(header=tuple(columns[0]), columns=tuple(columns[1:]), notes=notes)


def strict_json(text: str) -> Any:
    """What a JSON text says; ValueError: it is none, has a name twice in an object, or too many brackets."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = quoted(duplicates(name for name, _ in pairs))
        raise ValueError(f"{twice} occurs more than once in one object. Keep one of them.")
    return fields


def _objects(file: File) -> tuple[list[dict], Source]:
    """The objects of JSON or JSON lines, their letters composed, and where they stand."""
    file, notes = decoded(file)
    source = Source(file.name, "object", notes=notes)
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(source.says(f"not UTF-8 text ({problem.reason}). Save it as UTF-8.")) from None
    records, lines = _values(text, source.name)
    source = replace(source, unit="line", first=1, numbers=lines) if lines else source
    plain = json.dumps(records, ensure_ascii=False) if "\\u" in text else ""
    if not unicodedata.is_normalized("NFC", plain):
        source = replace(source, notes=notes + joined_note(plain.split('"'), source.name))
        records = json.loads(unicodedata.normalize("NFC", plain))
    if len(records) > 1 and all(isinstance(row, list) for row in records):
        source = replace(source, unit="row", first=1)
        records = _of_rows(records[0], records[1:], source)
    bad = next((k for k, one in enumerate(records) if not isinstance(one, dict)), None)
    if bad is not None:
        needed = "an object with names and values is needed"
        raise ValueError(f"{source.at([bad])}: {needed}; got {records[bad]!r:.80}")
    if not records:
        raise ValueError(source.says("the file is empty"))
    return records, source


def _values(text: str, name: str) -> tuple[list[Any], list[int]]:
    """The values of a list; or one object, or those of JSON lines, with the line of each."""
    if text.lstrip().startswith("["):
        return _json(text, name), []
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    with suppress(ValueError):
        if len(rows) > 1:  # one object may be written in many lines
            return [strict_json(text)], [1]
    return [_json(line, name, number) for number, line in rows], [number for number, _ in rows]


def _json(text: str, name: str, line: int = 0) -> Any:
    """What a JSON text says; an error names the file, and the line where it is known."""
    try:
        return strict_json(text)
    except json.JSONDecodeError as problem:
        raise ValueError(f"{name}, line {line or problem.lineno}: this is no JSON ({problem.msg})") from None
    except ValueError as problem:
        raise ValueError(f"{name}{f', line {line}' if line else ''}: {problem}") from None


def _of_rows(header: list, rows: list, source: Source) -> list[dict]:
    """Objects of a list of names and lists of values."""
    if not all(isinstance(name, str) for name in header) or duplicates(header):
        what = "the first list must hold the names of the columns, each once"
        raise ValueError(source.says(f"{what}; got {quoted(header, 8)}"))
    bad = [k for k, row in enumerate(rows) if not isinstance(row, list) or len(row) != len(header)]
    if bad:
        raise ValueError(f"{source.at(bad)}: a list of {len(header)} values is needed ({quoted(header, 8)})")
    tables.check_names(header, [texts_of(row) for row in rows[:500]], source.name, 1)
    return [dict(zip(header, row, strict=True)) for row in rows]


def table_of(records: Iterable[dict], source: Source) -> TextTable:
    """Objects as a table of text; what an object lacks is missing. One may hold all (`_unwrapped`)."""
    records, notes = list(records), source.notes
    if len(records) == 1 and (inside := _unwrapped(records[0], source)):
        records, how = inside
        source, notes = Source(source.name, "entry", 1), (*notes, source.says(f"this was read as {how}."))
    records = list(map(_flat, _one_each(records)))
    header = tuple(dict.fromkeys(str(name) for one in records for name in one))
    if not header:
        raise ValueError(source.says("the objects are empty: there are no names and values to read"))
    columns = tuple(texts_of([one.get(name) for one in records]) for name in header)
    return TextTable(header, columns, source, None, notes)


def _unwrapped(one: dict[str, Any], source: Source) -> tuple[list[dict], str] | None:
    """The objects that an object holds in a usual layout, and how; None: it is one of them itself."""
    lists = {name: value for name, value in one.items() if isinstance(value, list) and value}
    boxes = {name: value for name, value in one.items() if isinstance(value, dict) and value}
    objects = [name for name, value in lists.items() if all(isinstance(entry, dict) for entry in value)]
    if "columns" in lists and all(isinstance(row, list) for row in lists.get("data", [0])):
        rows = _of_rows(lists["columns"], lists["data"], source)
        index = lists.get("index", [])
        if len(index) == len(rows) and index != list(range(len(rows))):
            rows = [{"index": name} | row for name, row in zip(index, rows, strict=True)]
        return rows, "rows beside the names of their columns"
    if len(objects) > 1:
        raise ValueError(source.says(f"{quoted(objects)} are lists of objects: keep only the one to read"))
    if objects:
        rows, rest = lists[objects[0]], [name for name in one if name != objects[0]]
        key = (boxes.get("schema", {}).get("primaryKey") or [None])[0]
        if [row.get(key) for row in rows] == list(range(len(rows))):  # an index of pandas
            rows = [{name: value for name, value in row.items() if name != key} for row in rows]
        return rows, f"the list {objects[0]!r}" + (f"; {quoted(rest)} beside it was not used" if rest else "")
    if lists and len(lists) == len(one):
        return _of_columns(lists, source), f"columns {quoted(one, 8)}"
    if len(boxes) == len(one) > 1:
        return _by_keys(boxes)
    if len(boxes) == 1 and not lists:
        ((name, box),) = boxes.items()
        deeper = len(one) == 1 or all(isinstance(value, dict | list) for value in box.values())
        inside = _unwrapped(box, source) if deeper else None
        return inside and (inside[0], f"{inside[1]}, in {name!r}")
    alike = not lists and not boxes and len(set(map(type, one.values()))) == 1
    if alike and len(one) > 2 and not has_words(one):
        return [{"task": name, "label": value} for name, value in one.items()], "one label for each task"
    return None


def _one_each(records: list[dict]) -> list[dict]:
    """An object for each entry of the list that holds labels with their labelers, where objects have one."""
    names = (name for one in records for name, some in one.items() if isinstance(some, list) and some)
    for name in dict.fromkeys(names):
        inside = [entry for one in records for entry in one.get(name) or ()]
        keys = {key for one in inside if isinstance(one, dict) for key in one}
        named = all(has_words(keys, (role,)) for role in ("label", "worker"))
        if not (named and all(isinstance(one, dict) for one in inside)):
            continue
        outer = {key for one in records for key in one} - {name}
        inner = {key: f"{name}.{key}" for key in keys & outer if column_called("task", [key])}
        beside = {key: f"outer.{key}" for key in keys & outer - inner.keys()}
        return [
            {beside.get(key, key): value for key, value in one.items() if key != name}
            | {inner.get(key, key): value for key, value in entry.items()}
            for one in records
            for entry in one.get(name) or ()
        ]
    return records


def _of_columns(lists: dict[str, list], source: Source) -> list[dict]:
    """Objects of columns, which are equally long; few of them, or one has a name that is known."""
    sizes = set(map(len, lists.values()))
    if len(sizes) > 1 or (3 * len(lists) > 2 * max(sizes) and not has_words(lists)):
        raise ValueError(source.says(
            f"the lists {quoted(lists)} have {quoted(sizes)} values: are they columns, or the labels of one "
            "sample each? Columns must have equal lengths, and one must be named label. Write labels as "
            'objects {"task": "t1", "worker": "ann", "label": "yes"}'
        ))  # fmt: skip
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _by_keys(boxes: dict[str, dict[str, Any]]) -> tuple[list[dict], str]:
    """Objects in objects: columns or rows by an index, or labels by task and labeler, "key" and "inner"."""
    inner = list(dict.fromkeys(name for box in boxes.values() for name in box))
    numbers = list(map(str, range(max(len(inner), len(boxes)))))
    many = 2 * len(inner) >= 3 * len(boxes) or has_words(boxes)
    how = "rows by their {}" if has_words(inner, ("label",)) else ""
    if has_words(boxes, ("label",)) or (many and inner == numbers[: len(inner)]):
        how = f"columns {quoted(boxes, 8)} by the index of a row"
        turned = {name: {c: box.get(name) for c, box in boxes.items()} for name in inner}
        boxes, inner = turned, list(boxes)
    if how:
        key = "index" if column_called("task", inner) else "task"
        counted = list(boxes) == numbers[: len(boxes)]
        return [box if counted else {key: name} | box for name, box in boxes.items()], how.format(key)
    rows_first = _starts(inner, "worker") or _starts(boxes, "task")
    turned = _starts(inner, "task") or _starts(boxes, "worker")
    few = 3 * len(inner) <= 2 * len(boxes) and inner != numbers[: len(inner)]
    a, b = ("task", "worker") if rows_first or (few and not turned) else ("key", "inner")
    a, b = ("worker", "task") if turned and not rows_first else (a, b)
    pairs = ((key, name, value) for key, box in boxes.items() for name, value in box.items())
    rows = [{a: k, b: n} | (v if isinstance(v, dict) else {"label": v}) for k, n, v in pairs]
    return rows, f"labels by {a} and {b}"


def _starts(names: Iterable[str], role: str) -> bool:
    """Whether all names begin with words for a role, or a letter for one and a number: "rater 1", "w2"."""
    words, letter = COLUMN_WORDS[role].replace(" ", "|"), "[tqis]" if role == "task" else "[wraj]"
    return all(re.match(rf"{words}|{letter}\W?[0-9]", name.casefold()) for name in names)


def _flat(record: dict, before: str = "") -> dict[str, Any]:
    """An object whose objects inside are entries of its own: {"a": {"b": 1}} is {"a.b": 1}."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        deeper = isinstance(value, dict) and value
        fields |= _flat(value, f"{before}{name}.") if deeper else {f"{before}{name}": value}
    return fields


def _parquet(name: str, data: bytes) -> TextTable:
    try:
        from pyarrow import parquet, types
    except ImportError:
        why = "this is a Parquet file, and reading it needs pyarrow: pip install 'jtruth[frames]'"
        raise ValueError(f"{name}: {why}") from None
    try:
        opened = parquet.ParquetFile(io.BytesIO(data))
        about, schema = opened.metadata, opened.schema_arrow
        texts = [field.name for field in schema if str(field.type) in _TEXT]
        opened = parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts)  # as they are stored
        size = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        size = max(size, 4 * about.num_rows * about.num_columns)
        table = opened.read() if size <= tables.largest(len(data)) else schema.empty_table()
    except (ValueError, OSError) as problem:  # pyarrow's own are ValueErrors
        raise ValueError(f"{name}: this Parquet file cannot be read ({problem})") from None
    tables.check_size(size, name, len(data))
    while any(map(types.is_struct, table.schema.types)):
        table = table.flatten()  # an object's values are columns of their own: "verdicts.gpt"
    columns, names = tuple(map(_column, table.columns)), tuple(table.column_names)
    orders = {
        name: texts_of(column.unify_dictionaries().chunk(0).dictionary.to_pylist())
        for name, column in zip(names, table.columns, strict=True)
        if getattr(column.type, "ordered", False) and column.num_chunks
    }
    return _composed(TextTable(names, columns, Source(name, "row"), orders=orders))


_TEXT = ("string", "large_string")  # types of Arrow; pandas 3 writes the second
_ENGINE_ABOVE = 20_000_000  # rows of a Parquet file that are counted by an engine
_ENGINE_MEMORY = "1GB"


def large_table(path: Any, asked: FilePlan) -> tuple[Any, dict[str, Any]] | None:
    """A lazy table of a Parquet file of very many rows, and options of `stream_of_table`; None of any other.

    Polars reads it if it is installed, in pieces; else DuckDB, which is allowed a gigabyte.
    """
    special = asked.labelers, asked.map, asked.pass_at, asked.contains, asked.silent, asked.repeats
    if any(special) or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        if file.read(4) != b"PAR1":
            return None
    from pyarrow import parquet

    about = parquet.read_metadata(path)
    if about.num_rows <= _ENGINE_ABOVE:
        return None
    header = about.schema.to_arrow_schema().names
    task, *more = asked.task or (column_called("task", header),)
    others = ("worker", "label")
    columns = {"task": task} | {role: getattr(asked, role) or column_called(role, header) for role in others}
    if more or None in columns.values():
        return None
    return _engine_of(str(path)), columns | {"classes": asked.classes, "missing": asked.missing or "error"}


def _engine_of(path: str) -> Any:
    try:
        import polars
    except ImportError:
        import duckdb

        duckdb.execute(f"set memory_limit = '{_ENGINE_MEMORY}'")
        duckdb.execute("set temp_directory = $1", [tempfile.gettempdir()])
        return duckdb.read_parquet(path)
    polars.Config.set_engine_affinity("streaming")
    return polars.scan_parquet(path)


def _column(column: Any) -> Sequence[str]:
    """A column of Arrow as text; Arrow finds its different values, and only these become text."""
    import pyarrow as pa

    is_coded = pa.types.is_dictionary
    if is_coded(column.type) and (column.null_count or str(column.type.value_type) not in _TEXT):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.tz in (None, "UTC"):  # there may be millions
        moments = column.to_numpy()
        given = moments[~np.isnat(moments)]
        unit: Any = next((u for u in "Ds" if (given.astype(f"M8[{u}]") == given).all()), "us")
        zone = "Z" * (column.type.tz is not None and unit != "D")
        texts = np.datetime_as_string(moments, unit=unit).tolist()
        return ["" if text == "NaT" else f"{text}{zone}" for text in texts]
    try:
        column = column if is_coded(column.type) else column.dictionary_encode(null_encoding="encode")
        chunks = column.unify_dictionaries().chunks
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # of lists and the like
        return texts_of(column.to_pylist())
    if not chunks:
        return []
    stored, names = np.concatenate([np.from_dlpack(chunk.indices) for chunk in chunks]), chunks[0].dictionary
    names = names.to_pylist()  # which may stand in any order, and some nowhere
    codes, first = by_appearance(stored, len(names))
    return merged(codes, texts_of([names[k] for k in stored[first].tolist()]))


def as_table(path: Any, sep: str | None = None, known: bool = True) -> TextTable:
    """A table, from a file of any kind or as it is; of a `known` tool with one label a task, these."""
    table = parsed(path, sep)
    if isinstance(table, TextTable):
        return table
    records, source = table
    if len(records) > 1:
        raise ValueError(source.says(f"{quoted(records)} are files of one zip: take out the one to read"))
    rows = of_records(records, source, None) if known else None
    if rows is not None and len(set(rows.task)) == len(rows.task):
        return TextTable(("task", "label"), (rows.task, rows.label), rows.source)
    return table_of(next(iter(records.values())), source)
