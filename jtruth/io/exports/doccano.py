"""doccano: documents with a list of labels; a file for each user, or annotations that name theirs.

A project whose annotators work apart is exported as a zip with one JSONL file for each user, whose name is
the worker. Older versions write annotations with the user's number instead. A file of documents that does
not say who labelled them is one worker.
"""

from jtruth.io.exports.rows import NOBODY, Collector, LabelRows, one_value

_TEXTS = ("text", "data", "filename")


def is_doccano(record: dict) -> bool:
    """Whether this is a document with its labels."""
    labels = record.get("label", record.get("labels"))
    old = record.get("annotations")
    named = isinstance(old, list) and all({"label", "user"} <= set(a) for a in old if isinstance(a, dict))
    return any(key in record for key in _TEXTS) and (isinstance(labels, list) or (named and old is not None))


def of_documents(found: Collector, files: dict[str, list[dict]], _: str | None) -> LabelRows:
    """Rows of documents, by the name of their file ("" where there is one file)."""
    if len(files) > 1 and not all("id" in record for records in files.values() for record in records):
        raise ValueError(found.source.says("some documents have no id: which are they in the other files?"))
    count = 0
    for user, records in files.items():
        for record in records:
            found.record = count
            count += 1
            task = record.get("id", found.record)
            for who, value in _labels(record, user, found):
                found.add(task, who, value)
    return found.done("doccano export", "a file for each annotator" if len(files) > 1 else "")


def _labels(record: dict, user: str, found: Collector) -> list[tuple]:
    """(worker, label) of one document."""
    old = record.get("annotations")
    if isinstance(old, list) and old and "user" in old[0]:
        return [(one["user"], one["label"]) for one in old]
    value = one_value(record.get("label", record.get("labels")) or [], found, "'label'")
    if isinstance(value, list):
        raise found.refuse("its labels mark parts of the text; jtruth reads one class for the whole")
    if value is None:
        found.skip("documents without a label")
        return []
    return [(user or NOBODY, value)]
