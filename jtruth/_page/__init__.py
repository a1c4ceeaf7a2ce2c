"""Pages to forward: an answer as one self-contained HTML file."""

from jtruth._page.blocks import (
    Bar,
    Bars,
    Chart,
    Facts,
    Matrix,
    Note,
    Notes,
    Page,
    Part,
    Series,
    Table,
    few,
    number,
)
from jtruth._page.html import Words, page_html, write_page

__all__ = [
    "Bar",
    "Bars",
    "Chart",
    "Facts",
    "Matrix",
    "Note",
    "Notes",
    "Page",
    "Part",
    "Series",
    "Table",
    "Words",
    "few",
    "number",
    "page_html",
    "write_page",
]
