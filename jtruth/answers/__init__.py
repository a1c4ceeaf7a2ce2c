"""Results as documents, and their output: terminal, JSON, HTML, data frames. Pictures: `jtruth.plots`."""

from jtruth.answers.answer import Answer
from jtruth.answers.blocks import (
    Check,
    Column,
    Curve,
    Document,
    Matrix,
    Note,
    Notes,
    Queue,
    Table,
    check_notes,
    facts,
    finding_notes,
    how,
    sentence_notes,
    warning_notes,
)
from jtruth.answers.data import dist_row

__all__ = [
    "Answer", "Check", "Column", "Curve", "Document", "Matrix", "Note", "Notes", "Queue", "Table",
    "check_notes", "dist_row", "facts", "finding_notes", "how", "sentence_notes", "warning_notes",
]  # fmt: skip
