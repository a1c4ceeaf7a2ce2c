"""Which tool wrote a file: the table of known formats, and what they have in common.

A format is a line of `_TOOLS`: what its file is called, a function that recognizes a record by keys that
only this tool uses, and one that hands rows to `LabelRows`. Records are objects of JSON, or rows of a table
as text. The shapes are described beside the functions: in `annotation_tools`, `crowd_platforms`,
`evaluation_logs` and `judgments`.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from jtruth._validation.text import PlainColumns, TextTable
from jtruth._validation.words import Source
from jtruth.io import annotation_tools as tools
from jtruth.io import crowd_platforms as crowd
from jtruth.io import evaluation_logs as logs
from jtruth.io import judgments
from jtruth.io.label_rows import GOLD, LabelRows, as_text

__all__ = ["GOLD", "LabelRows", "as_text", "of_records", "of_table"]
_DAMAGED = (TypeError, KeyError, AttributeError, IndexError)  # what readers of a damaged record end in
_FIRST = 20  # records that are asked which tool wrote them


def _keys(*names: str) -> Callable[[Iterable[str]], bool]:
    """Recognises records that have all these keys."""
    return set(names).issubset


_TOOLS: tuple[tuple[str, Callable[[dict], Any], Callable], ...] = (  # the first that recognises a record
    ("Label Studio export", tools.is_label_studio, tools.label_studio),
    (
        "Label Studio export (one row for each annotation)",
        _keys("annotation_id", "annotator"),
        tools.label_studio_rows,
    ),
    ("Prodigy export", _keys("_input_hash", "_task_hash", "answer"), tools.prodigy),
    ("Mechanical Turk batch", crowd.is_mechanical_turk, crowd.mechanical_turk),
    ("Toloka result", crowd.is_toloka, crowd.toloka),
    ("Appen report", crowd.is_appen, crowd.appen),
    ("Zooniverse export", _keys("classification_id", "annotations", "subject_ids"), crowd.zooniverse),
    ("Qualtrics survey", crowd.is_qualtrics, crowd.qualtrics),
    ("SageMaker Ground Truth manifest", crowd.is_manifest, crowd.ground_truth),
    ("inspect_ai log", logs.is_inspect, logs.inspect_log),
    ("promptfoo result", logs.is_promptfoo, logs.promptfoo),
    ("promptfoo table", logs.outputs, logs.promptfoo_table),
    ("deepeval test run", logs.deepeval_cases, logs.deepeval),
    ("lm-evaluation-harness log", logs.is_lm_eval, logs.lm_eval),
    ("file of pairwise judgments", judgments.is_pair, judgments.pairs),
    ("file of MT-bench judgments", _keys("question_id", "model", "judge", "score"), judgments.singles),
    ("alpaca_eval file", _keys("instruction", "output_1", "output_2", "preference"), judgments.alpaca),
    ("langfuse export of scores", judgments.is_langfuse, judgments.langfuse),
    ("LangSmith export of feedback", _keys("run_id", "key", "score"), judgments.langsmith),
    ("ragas table", judgments.is_ragas, judgments.ragas),
    ("Argilla export", tools.is_argilla, tools.argilla),
    ("doccano export", tools.is_doccano, tools.doccano),
    ("file with lists of ratings", judgments.has_ratings, judgments.rating_lists),
)


def of_records(files: dict[str, list[dict]], source: Source, label: str | None) -> LabelRows | None:
    """Rows of objects by their file in a zip ("": one file); None: no known export. `label`: its field."""
    found, (first, *_) = {_tool(records) for records in files.values()}, files.values()
    if found == {None} and len(first) == len(files) == 1 and (inner := _only_list(first[0])):
        return of_records({"": inner}, Source(source.name, "object"), label)
    name, _, reader = found.pop() or ("", None, None)
    if reader is None or found or (len(files) > 1 and reader not in (tools.doccano, logs.inspect_log)):
        return None
    data = files if reader is tools.doccano else [record for some in files.values() for record in some]
    return _read(reader, LabelRows([], [], [], source, tool=name), data, label)


def of_table(table: TextTable, label: str | None) -> LabelRows | None:
    """Rows of a text table that is an export; None: no known one."""
    columns = table.columns
    plain = isinstance(columns, PlainColumns)
    head = columns.head(_FIRST) if plain else islice(zip(*columns, strict=True), _FIRST)
    first = [dict(zip(table.header, row, strict=True)) for row in head]
    if _tool(first) is None:
        return None
    records = [dict(zip(table.header, row, strict=True)) for row in zip(*columns, strict=True)]
    return of_records({"": records}, table.source, label)


def _tool(records: list[dict]) -> tuple[str, Callable, Callable] | None:
    """The line of the tool that wrote one of the first records."""
    return next((tool for tool in _TOOLS if any(_fits(tool[1], one) for one in records[:_FIRST])), None)


def _fits(recognizes: Callable[[dict], Any], record: dict) -> bool:
    """Whether a record is a tool's; a damaged one is not, and is named when the file is read."""
    try:
        return bool(recognizes(record))
    except _DAMAGED:
        return False


def _only_list(record: dict) -> list[dict]:
    """The records inside an object as interfaces answer with: {"data": [...], "meta": {...}}."""
    lists = [value for value in record.values() if isinstance(value, list) and value]
    return lists[0] if len(lists) == 1 and all(isinstance(one, dict) for one in lists[0]) else []


def _read(reader: Callable, rows: LabelRows, data: Any, label: str | None) -> LabelRows:
    """What the reader makes of it; of an entry that its tool would not write so, an error with the place."""
    try:
        return reader(rows, data, label)
    except _DAMAGED as problem:
        why = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise rows.refuse(f"not as a {rows.tool} has it ({why}); is the file damaged?") from None
