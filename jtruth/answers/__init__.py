"""What an answer is made of, and its faces: terminal, JSON, HTML, data frames. Pictures: `jtruth.plots`."""

from jtruth.answers.answer import Answer
from jtruth.answers.blocks import (
    Column,
    Curve,
    Fact,
    Facts,
    Matrix,
    Note,
    Notes,
    Queue,
    Series,
    Shown,
    Table,
    check_notes,
    facts,
    finding_notes,
    how,
    sentence_notes,
    warning_notes,
)
from jtruth.answers.data import answer_dict, law_row, plain_json
from jtruth.answers.html import write_page
from jtruth.answers.terminal import terminal_text

__all__ = [
    "Answer",
    "Column",
    "Curve",
    "Fact",
    "Facts",
    "Matrix",
    "Note",
    "Notes",
    "Queue",
    "Series",
    "Shown",
    "Table",
    "answer_dict",
    "check_notes",
    "facts",
    "finding_notes",
    "how",
    "law_row",
    "plain_json",
    "sentence_notes",
    "terminal_text",
    "warning_notes",
    "write_page",
]
