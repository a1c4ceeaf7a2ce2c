"""Which tool wrote a file, by the keys that only it uses."""

from collections.abc import Callable
from typing import Any

from jtruth._validation.text import TextTable
from jtruth._validation.words import Source
from jtruth.io.exports import argilla, doccano, label_studio, mturk, prodigy
from jtruth.io.exports.rows import Collector, LabelRows

Reader = Callable[[Collector, Any, str | None], LabelRows]
_TOOLS: tuple[tuple[Callable[[dict], bool], Reader], ...] = (  # of one file of objects
    (label_studio.is_tasks, label_studio.of_tasks),
    (label_studio.is_min, label_studio.of_min),
    (prodigy.is_prodigy, prodigy.of_lines),
)


def of_records(files: dict[str, list[dict]], source: Source, label: str | None) -> LabelRows | None:
    """Rows of objects, by the file in a zip that holds them ("" where there is one); None: no known export.

    Args:
        files: name -> objects.
        source: for messages.
        label: the field that the user named; None if none was.

    Raises:
        ValueError: entries that are not as the tool writes them, or hold no single class.
    """
    return _read(Collector(source), _tool(files), label)


def _tool(files: dict[str, list[dict]]) -> tuple[Reader, Any] | None:
    """What reads these files, and what it is given."""
    records = next(iter(files.values()))
    if len(files) > 1:
        every = all(doccano.is_doccano(some[0]) for some in files.values())
        return (doccano.of_documents, files) if every else None
    for recognises, reader in _TOOLS:
        if recognises(records[0]):
            return reader, records
    if any(map(argilla.is_argilla, records)):
        return argilla.of_records, records
    return (doccano.of_documents, files) if doccano.is_doccano(records[0]) else None


def of_table(table: TextTable, label: str | None) -> LabelRows | None:
    """Rows of a text table that is an export; None: no known one."""
    tool: tuple[Reader, Any] | None = None
    if mturk.is_mturk(set(table.header)):
        tool = mturk.of_batch, table
    elif label_studio.is_min(table.header):
        rows = zip(*table.columns, strict=True)
        tool = label_studio.of_min, [dict(zip(table.header, row, strict=True)) for row in rows]
    return _read(Collector(table.source), tool, label)


def _read(found: Collector, tool: tuple[Reader, Any] | None, label: str | None) -> LabelRows | None:
    """What the reader makes of it; of an entry that its tool would not write so, an error with the place."""
    if tool is None:
        return None
    reader, given = tool
    try:
        return reader(found, given, label)
    except (TypeError, KeyError, AttributeError, IndexError) as problem:
        name = reader.__module__.rpartition(".")[2].replace("_", " ")
        why = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise found.refuse(f"not as an export of {name} has it ({why}); is the file damaged?") from None
