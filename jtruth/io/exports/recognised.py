"""Which tool wrote a file, by the keys that only it uses."""

from jtruth._validation.text import TextTable
from jtruth._validation.words import Source
from jtruth.io.exports import argilla, doccano, label_studio, mturk, prodigy
from jtruth.io.exports.rows import LabelRows


def of_records(files: dict[str, list[dict]], source: Source, label: str | None) -> LabelRows | None:
    """Rows of objects, by the file in a zip that holds them ("" where there is one); None: no known export.

    Args:
        files: name -> objects.
        source: for messages.
        label: the field that the user named; None if none was.
    """
    records = next(iter(files.values()))
    first = records[0]
    if len(files) > 1:
        every = all(doccano.is_doccano(some[0]) for some in files.values())
        return doccano.of_documents(files, source) if every else None
    if label_studio.is_tasks(first):
        return label_studio.of_tasks(records, source, label)
    if label_studio.is_min(set(first)):
        return label_studio.of_min(records, source, label)
    if prodigy.is_prodigy(first):
        return prodigy.of_lines(records, source)
    if any(map(argilla.is_argilla, records)):
        return argilla.of_records(records, source, label)
    if doccano.is_doccano(first):
        return doccano.of_documents(files, source)
    return None


def of_table(table: TextTable, label: str | None) -> LabelRows | None:
    """Rows of a text table that is an export; None: no known one."""
    header = set(table.header)
    if mturk.is_mturk(header):
        return mturk.of_batch(table, label)
    if label_studio.is_min(header):
        rows = [dict(zip(table.header, row, strict=True)) for row in zip(*table.columns, strict=True)]
        return label_studio.of_min(rows, table.source, label)
    return None
