"""Which tool wrote a file, and its labels.

A format is a line of `TOOLS`, beside its reader (`annotation_tools`, `evaluation_logs`): what its file is
called; patterns of keys that only this tool uses (after ">" of objects inside), or a function that recognizes
a record; the reader, which yields what `label_rows` says; and what the tool calls labelers, an entry that can
be the label, and labels. Records are objects of JSON, or rows of a table as text.
"""

from contextlib import suppress
from itertools import islice, product

from jtruth._validation.text import PlainColumns, TextTable
from jtruth._validation.words import Source
from jtruth.io import annotation_tools, evaluation_logs
from jtruth.io.label_rows import GOLD, LabelRows, as_text, within

__all__ = ["GOLD", "LabelRows", "as_text", "of_records", "of_table"]
TOOLS = (*annotation_tools.TOOLS, *evaluation_logs.TOOLS)  # the first that recognizes a record
_DAMAGED = (TypeError, KeyError, AttributeError, IndexError)  # what readers of a damaged record end in
_FIRST = 20  # records that are asked which tool wrote them
_OF_SEVERAL = ("doccano export", "inspect_ai log")  # may be a zip of several files


def of_records(files: dict[str, list[dict]], source: Source, label: str | None) -> LabelRows | None:
    """Rows of objects by their file in a zip ("": one file); None: no known export. `label`: its field."""
    found, (records, *others) = {_tool(some) for some in files.values()}, files.values()
    inside = [some for some in records[0].values() if isinstance(some, list) and some]
    alone = found == {None} and len(records) == len(inside) == 1 and not others
    if alone and isinstance(inside[0][0], dict):  # an answer of an interface: {"data": [...], "meta": {...}}
        return of_records({"": inside[0]}, Source(source.name, "object"), label)
    tool = found.pop()
    if tool is None or found or (others and tool[0] not in _OF_SEVERAL):
        return None
    if tool[0] in _OF_SEVERAL:
        records = [record | {annotation_tools.FILE: name} for name, some in files.items() for record in some]
    rows = LabelRows([], [], [], source, tool=tool[0], wanted=label)
    rows.records = records if tool in annotation_tools.TOOLS else []
    try:
        return rows.read(tool[2](rows, records), *tool[3:])
    except _DAMAGED as problem:
        why = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise rows.refuse(f"not as a {rows.tool} has it ({why}); is the file damaged?") from None


def of_table(table: TextTable, label: str | None) -> LabelRows | None:
    """Rows of a text table that is an export; None: no known one."""
    columns = table.columns
    plain = isinstance(columns, PlainColumns)
    head = columns.head(_FIRST) if plain else islice(zip(*columns, strict=True), _FIRST)
    if _tool([dict(zip(table.header, row, strict=True)) for row in head]) is None:
        return None
    records = [dict(zip(table.header, row, strict=True)) for row in zip(*columns, strict=True)]
    return of_records({"": records}, table.source, label)


def _tool(records: list[dict]) -> tuple | None:
    """The line of the tool that wrote one of the first records; a damaged one is no tool's."""
    for tool, record in product(TOOLS, records[:_FIRST]):
        keys, depth = tool[1], 3 * str(tool[1]).startswith(">")
        with suppress(*_DAMAGED):
            fits = keys(record) if callable(keys) else any(within(record, keys.strip("> "), depth, _FIRST))
            if fits:
                return tool
    return None
