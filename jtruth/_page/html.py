"""A page as one HTML file: no network, no script, pictures inside, light, dark and on paper.

Every text is escaped here, in one function, and what cannot be printed is written as an escape; a policy in
the head forbids the browser to load or run anything, so that even a mistake here could not. Long sentences
and lists are cut with a word that says so: a page stays below 300 kB whatever it is about.
"""

import platform
import sys
from collections.abc import Callable, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path

from jtruth._page.blocks import Bar, Bars, Chart, Facts, Matrix, Note, Notes, Page, Part, Table, few
from jtruth._page.style import STYLE
from jtruth._page.svg import axis_of, axis_svg, bar_svg, chart_svg
from jtruth._validation.terminal import escaped, plain
from jtruth._version import __version__

Words = Callable[[str], str]  # from the library's sentences to the reader's, as the command line has its own

_LONGEST, _MOST_NOTES = 1000, 30
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_VERDICTS = {"bad": "does not fit", "open": "cannot be seen", "good": "fits", "say": "worth knowing"}


def page_html(page: Page, *, facts: Sequence[tuple[str, str]] = (), words: Words = str) -> str:
    """The page as HTML.

    Args:
        page: what is to be said.
        facts: more of how it was made, for instance the command and the seed.
        words: how sentences of the library are put for this reader.
    """
    made = Facts("How it was made", (*facts, ("versions", _versions())))
    doubt = f'<p class="doubt">{_text(words(page.doubt))}</p>' if page.doubt else ""
    parts = "".join(
        f"<section><h2>{_text(p.title)}</h2>{_part(p, words)}</section>" for p in (*page.parts, made)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(page.title)}</title><style>{STYLE}</style></head>\n<body><main>"
        f'<h1>{_text(page.title)}</h1><p class="about">{_text(page.about)}</p>'
        f'<p class="answer">{_text(words(page.answer))}</p>{doubt}{parts}</main></body></html>\n'
    )


def write_page(
    path: str | PathLike, page: Page, *, facts: Sequence[tuple[str, str]] = (), words: Words = str
) -> None:
    """Write the page to a file."""
    Path(path).write_text(page_html(page, facts=facts, words=words), encoding="utf-8")


def _text(text: str) -> str:
    """Text of anybody as text and nothing else."""
    text = escaped(str(text))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ... ({len(text) - _LONGEST} more characters)"
    return escape(text, quote=True).replace("\n", " ")


def _name(text: str) -> str:
    """A name in a table, cut where it is long, with a direction of its own."""
    return f"<bdi>{_text(plain(text))}</bdi>"


def _versions() -> str:
    found = [f"jtruth {__version__}", f"Python {platform.python_version()}"]
    for name in ("jax", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # a build of its own without metadata
            found.append(f"{name} {getattr(sys.modules.get(name), '__version__', 'of unknown version')}")
    return ", ".join(found)


def _part(part: Part, words: Words) -> str:
    match part:
        case Bars():
            return _bars(part) + _note(part.note, words)
        case Table():
            rows = [_row([_name(row[0]), *map(_text, row[1:])]) for row in part.rows]
            return _table(_row(map(_text, part.head), "th"), rows) + _note(part.note, words)
        case Matrix():
            return _matrix(part) + _note(part.note, words)
        case Chart():
            return _chart(part) + _note(part.note, words)
        case Notes():
            return _notes(part.items, words)
        case Facts():
            items = (f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in part.items)
            return f'<dl class="facts">{"".join(items)}</dl>'


def _note(text: str, words: Words) -> str:
    return f'<p class="note">{_text(words(text))}</p>' if text else ""


def _row(cells, tag: str = "td", kind: str = "") -> str:
    return f"<tr{kind}>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _table(head: str, rows: Sequence[str], kind: str = "") -> str:
    body = f"<table{kind}><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{body}</div>'


def _bars(part: Bars) -> str:
    ends = axis_of(part)
    first, last, out = few(part.rows)
    rows = [_bar(row, ends) for row in first]
    if out:
        rows.append(f'<tr><td colspan="{len(part.head)}">... {out} more between these are left out</td></tr>')
    rows += [_bar(row, ends) for row in last]
    name, picture, *cells = map(_text, part.head)
    head = f'<tr><th>{name}</th><th class="pic">{picture}{axis_svg(ends)}</th>'
    return _table(head + "".join(f"<th>{c}</th>" for c in cells) + "</tr>", rows, ' class="bars"')


def _bar(row: Bar, ends: tuple[float, float]) -> str:
    kind = ' class="strong"' if row.strong else ""
    cells = "".join(f"<td>{_text(cell)}</td>" for cell in row.cells)
    return f'<tr{kind}><td>{_name(row.name)}</td><td class="pic">{bar_svg(row, ends)}</td>{cells}</tr>'


def _matrix(part: Matrix) -> str:
    head = _row(["", *map(_name, part.columns)], "th")
    rows = []
    for name, cells, weights in zip(part.rows, part.cells, part.weight, strict=True):
        shades = [f' class="w{round(10 * w)}"' if round(10 * w) else "" for w in weights]
        inside = (f"<td{s}>{_text(c)}</td>" for c, s in zip(cells, shades, strict=True))
        rows.append(f"<tr><td>{_name(name)}</td>{''.join(inside)}</tr>")
    return _table(head, rows, ' class="matrix"')


def _chart(part: Chart) -> str:
    keys = "; ".join(f"{name}: {s.name}" for name, s in zip(_SERIES, part.series, strict=False))
    sides = f"Across: {part.x}. Up: {part.y}." + (f" {keys}." if len(part.series) > 1 else "")
    return chart_svg(part) + f'<p class="note">{_text(sides)}</p>'


_SERIES = ("blue, filled or solid", "orange, hollow or dashed", "green, dotted", "yellow")


def _notes(items: Sequence[Note], words: Words) -> str:
    first, last, out = few(items, _MOST_NOTES, 1)
    more = [Note("say", f"{out} more are left out here")] if out else []
    found = []
    for one in (*first, *more, *last):
        tag = f"{plain(one.name)}: {_VERDICTS[one.kind]}" if one.name else ""
        mark = f'<span class="tag">{_text(tag)}.</span> ' if tag else ""
        found.append(f'<li class="{one.kind}">{mark}{_text(words(one.text))}</li>')
    return f"<ul>{''.join(found)}</ul>"
