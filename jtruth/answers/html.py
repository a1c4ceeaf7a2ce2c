"""A document as one HTML file: no network, no script, pictures inside, light, dark and on paper.

Every text is escaped in one function, unprintable characters too; a policy in the head forbids loading or
running anything. Long sentences and lists are shortened, so a page stays below 300 kB. Pictures are SVG in
the colors of the page and have numbers only: names are in the table around them.
"""

import math
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from typing import Any, TypeGuard

from jtruth._files import write_text
from jtruth._validation.words import escaped, number_of, plain
from jtruth._version import __version__
from jtruth.answers.blocks import (
    SIGNS,
    Block,
    Column,
    Curve,
    Document,
    Matrix,
    Note,
    Notes,
    Row,
    Table,
    at,
    cell_text,
    few,
    how,
    value_of,
)
from jtruth.answers.terminal import off_diagonal

_LIGHT = "--fg:#1a1c1e;--soft:#5d646b;--bg:#fff;--card:#f4f6f8;--line:#d6dbe0;--blue:#0072b2;--bad:#b3261e;--open:#8a5a00;--good:#1b6e3c;--cross:#c2410c"  # noqa: E501
_DARK = "--fg:#e6e8ea;--soft:#a3abb3;--bg:#14171a;--card:#1e2226;--line:#3a4148;--blue:#58b4e8;--bad:#ff8a80;--open:#f0b95a;--good:#7bd6a0;--cross:#ff9d5c"  # noqa: E501

_SHADES = "".join(
    f".w{k}{{background:color-mix(in srgb,var(--blue) {5 * k}%,transparent)}}" for k in range(1, 11)
)


def _stacked(of: str) -> str:
    """Style of a narrow table: name, bar, and a line for each number with the title of its column."""
    return f"""{of} tr{{display:block;border-bottom:1px solid var(--line);max-width:32rem}}
{of} thead th:not(.pic),{of} thead .pic~.pic,{of} .none{{display:none}}{of} thead .pic{{font-size:0}}
{of} th,{of} td{{border:0;display:flex;flex-wrap:wrap;justify-content:space-between;column-gap:.8rem}}
{of}:not(.one) svg{{margin-left:calc(100% - 10.5rem)}}{of} .is{{display:inline}}{of} .pic{{width:100%}}
{of} td:first-child{{font-weight:600}}"""


STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;padding:2rem 1.2rem;max-width:60rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}}
h1{{font-size:1.5rem;line-height:1.25;margin:0 0 .3rem}}
h2{{font-size:1.1rem;margin:2.2rem 0 .5rem;break-after:avoid}}
p{{margin:.4rem 0}}.wide{{overflow-x:auto}}.about,.note,.how{{color:var(--soft);font-size:.88rem}}
.answer{{font-size:1.15rem;padding:.8rem 1rem;border-left:.3rem solid var(--blue);background:var(--card)}}
.doubt{{padding:.6rem 1rem;border-left:.3rem solid var(--bad);background:var(--card);font-weight:600}}
table{{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}}
th,td{{padding:.22rem .5rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:middle}}
th{{font-weight:600;color:var(--soft)}}td:first-child,th:first-child{{text-align:left;overflow-wrap:anywhere;color:var(--fg)}}
.pic svg{{display:block;width:100%;min-width:7.5rem;max-width:10.5rem;margin-left:auto}}
.one .pic{{padding:0 .4rem;width:36%}}.one .pic svg{{min-width:13rem;max-width:none}}
.stack td:first-child{{min-width:6rem}}.many td:first-child{{min-width:10.5rem}}
.is{{display:none;color:var(--soft)}}
.axis{{stroke:var(--line);stroke-width:1}}.zero{{stroke:var(--fg);stroke-width:1.5}}
.tick{{fill:var(--soft);font-size:12px;font-family:inherit}}
.bar{{fill:var(--blue);opacity:.45}}.dot{{fill:var(--blue);stroke:var(--bg);stroke-width:1.5}}
.cross{{stroke:var(--cross);stroke-width:2;fill:none}}
.chart{{width:100%;max-width:34rem;height:auto;display:block}}
.s0{{--c:var(--blue)}}.s1{{--c:var(--cross)}}.s2{{--c:var(--good)}}.s3{{--c:var(--open)}}
.s0 path,.s1 path,.s2 path,.s3 path{{stroke:var(--c);fill:none;stroke-width:2}}
.s1 path.line{{stroke-dasharray:7 4}}.s2 path.line{{stroke-dasharray:2 4}}
.s3 path.line{{stroke-dasharray:9 3 2 3}}.s0 circle,.s1 circle,.s2 circle,.s3 circle{{fill:var(--c)}}
.s1 circle,.s3 circle{{fill:var(--bg);stroke:var(--c);stroke-width:2}}
.diagonal{{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 3}}
.s0 polygon,.s1 polygon,.s2 polygon,.s3 polygon{{fill:var(--c);opacity:.18}}
.matrix td{{text-align:right;white-space:nowrap}}.matrix td:first-child{{text-align:left}}
.matrix tr>:first-child{{max-width:12rem;overflow-wrap:break-word}}
{_SHADES}
ul{{margin:.3rem 0;padding:0;list-style:none}}
li{{margin:.35rem 0;padding:.35rem .7rem;border-left:.25rem solid var(--line);overflow-wrap:anywhere;
break-inside:avoid}}
.bad{{border-color:var(--bad)}}.open{{border-color:var(--open)}}.good{{border-color:var(--good)}}
.tag{{font-weight:600}}.bad .tag{{color:var(--bad)}}
.open .tag{{color:var(--open)}}.good .tag{{color:var(--good)}}
@media print{{:root{{color-scheme:light;{_LIGHT}}}body{{padding:0;max-width:none;font-size:11px}}
tr,svg,.answer,.doubt{{break-inside:avoid}}
*{{-webkit-print-color-adjust:exact;print-color-adjust:exact}}.wide{{overflow:visible}}}}
@media (min-width:78rem){{.wide:has(.many){{margin:0 -8rem}}}}
@media (max-width:44rem){{{_stacked(".stack")}.chart .tick{{font-size:18px}}.matrix td{{white-space:normal}}}}
@media (max-width:60rem){{{_stacked(".many")}}}
""".strip()


Words = Callable[[str], str]  # from the library's sentences to the reader's, as the command line has its own

_LONGEST, _MOST_NOTES, _BRIEF_NOTES = 1000, 30, 3
_MANY = 5  # columns of numbers above which a narrow screen stacks them
_MOST_COLUMNS, _MOST_SQUARE, _MOST_ERRORS = 12, 12, 25
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_ADVICE = r"(?<![\w-])--\w|\bjtruth[ .][a-z]|\b\w+=[\w.'\[]"
_CITE = f"jtruth {__version__}, a Python package by its authors. Its README lists the papers of the methods."


def page_html(
    document: Document, *, made: Sequence[tuple[str, str]] = (), words: Words = str, paper: bool = False
) -> str:
    """The document as an HTML file; `made`: how, besides versions; `words` rephrases sentences.

    `paper`: for the supplement of a paper, with a reference and without advice.
    """
    say = (lambda text: _without_advice(words(text))) if paper else words
    made = [one for one in made if not (paper and one[0] == "command")]
    made += [("input", note.text) for note in document.notes() if note.sign == "read"]
    made += [("versions", _versions()), ("reference", _CITE * paper)]
    first = [(text, "answer") for text in (document.sentence, *document.lines)]
    first += [(text, "doubt") for text in (*document.alarms, document.doubt)]
    above = "".join(f'<p class="{kind}">{_text(text)}</p>' for one, kind in first if (text := say(one)))
    step = words(document.next).replace("\n", "; then: ")
    below = f'<p class="note">Next: {_text(step)}</p>' * bool(step and not paper)
    parts = "".join(
        f"<section><h2>{_text(say(block.title))}</h2>{inside}</section>"
        for block in (*document.blocks, how(*made, title="How it was made"))
        if not isinstance(block, dict) and (inside := _block(block, say, document.tables(), paper))
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(document.question)}</title><style>{STYLE}</style></head>\n<body><main>"
        f'<h1>{_text(document.question)}</h1><p class="about">{_text(words(document.about))}</p>'
        f"{above}{parts}{below}</main></body></html>\n"
    )


def write_page(path: str | PathLike, document: Document, **options: Any) -> None:
    """Write the page to a file, with the options of `page_html`."""
    write_text(path, page_html(document, **options))


def _without_advice(text: str) -> str:
    """The sentences of a text, and their parentheses, without commands and options.

    >>> _without_advice("Positive class: pass (to change: --positive fail). Verify more: jtruth ask a.csv.")
    'Positive class: pass.'
    >>> _without_advice("Gold is assumed to be random; if it is not, give --inclusion.")
    'Gold is assumed to be random.'
    """
    text = re.sub(r" \([^()]*\)", lambda found: "" if re.search(_ADVICE, found[0]) else found[0], text)
    kept = " ".join(one for one in re.split(r"(?<=[.?!;]) ", text) if not re.search(_ADVICE, one))
    return f"{kept[:-1]}." if kept.endswith(";") else kept or text  # no warning is lost


def notebook_html(document: Document) -> str:
    """The headline, the first table and the most important notes, for a notebook."""
    lines = [f"<p><b>{_text(text)}</b></p>" for text in (*document.alarms, document.sentence)]
    lines += [f"<p>{_text(text)}</p>" for text in document.lines]
    lines += [_table(table, [], (0.0, 1.0)) for table in document.tables()[:1]]
    notes = [note for note in document.notes() if note.sign not in ("alarm", "good")]
    return "".join(lines) + (_notes(notes[:_BRIEF_NOTES], str) if notes else "")


def _text(text: str) -> str:
    """Escaped text."""
    text = escaped(str(text))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ... ({len(text) - _LONGEST} more characters)"
    return escape(text, quote=True).replace("\n", " ")


def _name(text: str) -> str:
    """A name in a table, shortened if it is long, with its own text direction."""
    return f"<bdi>{_text(plain(text))}</bdi>"


def _versions() -> str:
    versions = [f"jtruth {__version__}", f"Python {platform.python_version()}"]
    for name in ("jax", "numpy"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # a build of its own without metadata
            versions.append(f"{name} {getattr(sys.modules.get(name), '__version__', 'of unknown version')}")
    return ", ".join(versions)


def _block(block: Block, words: Words, tables: Sequence[Table], paper: bool) -> str:
    """A block as HTML, empty without content; of `tables` those with the same unit share an axis."""
    match block:
        case Table() if block.rows:
            alike = [one for one in tables if one.unit is not None and one.unit == block.unit]
            inside = _table(block, block.bars(), axis_of(block, *alike))
            if block.bars() and not alike and sum(bool(one.bars()) for one in tables) > 1:
                inside += '<p class="note">This table has an axis of its own.</p>'
        case Matrix():
            inside = _matrix(block)
        case Curve():
            inside = _curve(block)
        case Notes():
            out = ("alarm", "read", "do") if paper else ("alarm", "read")
            kept = [note for note in block.items if note.sign not in out]
            return _notes(kept, words) if kept else ""
        case _:
            return ""
    return inside + (f'<p class="note">{_text(words(block.note))}</p>' if block.note else "")


def _row(cells, tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _rows(head: str, rows: Sequence[str], kind: str = "") -> str:
    body = f"<table{kind}><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{body}</div>'


def _table(table: Table, bars: Sequence[Column], ends: tuple[float, float]) -> str:
    """A table with pictures of the intervals of `bars`: before the number if there is one, else below."""
    columns, alone = table.columns[:_MOST_COLUMNS], len(bars) == 1
    width, left, unit = _WIDTH if alone else _WIDTH // 2, len(table.columns) - len(columns), table.unit
    first, last, out = table.shown()

    def cell(inside: str, picture: str, kind: str = "", tag: str = "td") -> str:
        if alone and picture:
            return f'<{tag} class="pic">{picture}</{tag}><{tag}>{inside}</{tag}>'
        kind = f' class="{kind}"' if (kind := "pic" if picture else kind) else ""
        return f"<{tag}{kind}>{inside}{picture}</{tag}>"

    def drawn(row: Row, one: Column) -> str:
        values, cross = value_of(one, row), at(row, table.cross) if table.cross else None
        text = _text(cell_text(values, one.form, table.missing))
        if isinstance(values[0], int | float):  # in one line, with a minus sign that is one
            text = re.sub(r"(?<![\w.])-(?=[\d.])", "\u2212", text).replace(" ", "&nbsp;")
        inside = f'<span class="is">{_text(one.title)}</span><span>{text}</span>'  # a narrow page has no head
        picture = bar_svg([*values, cross if one == bars[0] else None], ends, width) if one in bars else ""
        return cell(inside, picture, "none" * (text == table.missing))

    cells = lambda row: "".join(drawn(row, one) for one in columns)  # noqa: E731
    line = lambda row: f"<tr><td>{_name(table.label(row))}</td>{cells(row)}</tr>"  # noqa: E731
    axis = axis_svg(ends, width)
    heads = [cell(_text(one.title), axis if one in bars else "", tag="th") for one in columns]
    span = "".join(heads).count("<th") + 1
    gap = [f'<tr><td colspan="{span}">({number_of(out, "more row")} left out)</td></tr>'] if out else []
    kind = f' class="stack{" one" * alone}{" many" * (len(columns) + (not alone) > _MANY)}"'
    notes = [f"{number_of(left, 'column')} left out."] if left > 0 else []
    if bars and unit is not None and ends[0] > unit[0] < unit[1] > ends[1]:
        notes.append(f"The axis shows part of the range {unit[0]:g} to {unit[1]:g}.")
    if bars and table.cross:
        named = next((one.title for one in table.columns if one.name == table.cross), plain(table.cross))
        notes.append(f"Dot and bar: {_text(bars[0].title)}. Cross: {_text(named)}.")
    body = _rows(f"<tr><th></th>{''.join(heads)}</tr>", [*map(line, first), *gap, *map(line, last)], kind)
    return body + "".join(f'<p class="note">{text}</p>' for text in notes)


def _matrix(block: Matrix) -> str:
    """The matrix, or of a large one its largest off-diagonal cells."""
    if max(len(block.rows), len(block.columns)) > _MOST_SQUARE:
        pairs = off_diagonal(block)
        rows = [_row([_name(block.rows[a]), _name(block.columns[b]), _text(block.text(a, b))])
                for a, b in pairs[:_MOST_ERRORS]]  # fmt: skip
        out = f"Largest off-diagonal cells; {len(pairs) - len(rows)} smaller ones left out."
        return _rows(_row(["", "", ""], "th"), rows) + f'<p class="note">{out}</p>'
    top = max((value for row in block.cells["mean"] for value in row), default=0.0) or 1.0
    rows = []
    for a, name in enumerate(block.rows):
        shades = [round(10 * value / top) for value in block.cells["mean"][a]]
        shade_classes = [f' class="w{shade}"' if shade else "" for shade in shades]
        texts = (_text(block.text(a, b)).replace(", ", ",&nbsp;") for b in range(len(shades)))
        inside = (f"<td{kind}>{text}</td>" for kind, text in zip(shade_classes, texts, strict=True))
        rows.append(f"<tr><td>{_name(name)}</td>{''.join(inside)}</tr>")
    return _rows(_row(["", *map(_name, block.columns)], "th"), rows, ' class="matrix"')


def _curve(block: Curve) -> str:
    keys = "; ".join(f"{look}: {name}" for look, name in zip(_SERIES, block.series, strict=False))
    sides = f"Horizontal axis: {block.x}. Vertical axis: {block.y}."
    sides += f" {keys[0].upper()}{keys[1:]}." if len(block.series) > 1 else ""
    return curve_svg(block) + f'<p class="note">{_text(sides)}</p>'


_SERIES = ("blue, filled or solid", "orange, hollow or dashed", "green, dotted", "yellow")
_NOTE_CLASSES = {"bad": "bad", "alarm": "bad", "good": "good", "how": "how"}
_NOTE_CLASSES |= dict.fromkeys(("open", "warn", "look"), "open")


def _notes(items: Sequence[Note], words: Words) -> str:
    first, last, out = few(items, _MOST_NOTES, 1)
    more = [Note("say", f"{number_of(out, 'note')} left out")] if out else []
    parts = []
    for one in (*first, *more, *last):
        verdict = SIGNS[one.sign][1]
        tag = f"{plain(one.name).capitalize()}{f' ({verdict})' if verdict else ''}" if one.name else ""
        mark = f'<span class="tag">{_text(tag)}:</span> ' if tag else ""
        parts.append(f'<li class="{_NOTE_CLASSES.get(one.sign, "say")}">{mark}{_text(words(one.text))}</li>')
    return f"<ul>{''.join(parts)}</ul>"


_WIDTH, _HEIGHT, _SIDE = 288, 26, 14
_ZOOM = 0.3  # of the unit
_CHART = (560, 360, 56, 42)  # width, height, margins of the axes at the left and below


def axis_of(block: Table, *others: Table) -> tuple[float, float]:
    """Ends of an axis for every number of all bars: the unit, or less than `_ZOOM` of it."""
    every = [(one, row) for one in (block, *others) for row in one.rows]
    crosses = [at(row, one.cross) for one, row in every if one.cross and one.bars()]
    drawn = [v for one, row in every for column in one.bars() for v in value_of(column, row)]
    values = [v for v in (*drawn, *crosses) if _known(v)]
    if not values:
        return block.unit or (0.0, 1.0)
    low, high = min(values), max(values)
    if block.unit is not None and high - low >= _ZOOM * (block.unit[1] - block.unit[0]):
        return min(low, block.unit[0]), max(high, block.unit[1])  # kappa below 0 still shows
    margin = 0.04 * (high - low) or 0.05
    low, high = low - margin, high + margin
    if block.unit is not None:
        low, high = max(low, min(block.unit[0], min(values))), min(high, max(block.unit[1], max(values)))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers inside [low, high], about so many.

    >>> ticks(0.13, 0.92)
    [0.2, 0.4, 0.6, 0.8]
    """
    raw = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def axis_svg(ends: tuple[float, float], width: int = _WIDTH) -> str:
    """The numbers of the axis, for the head of a table."""
    marks = "".join(
        f'<text class="tick" x="{_place(t, ends, width):.1f}" y="18" text-anchor="middle">{t:g}</text>'
        for t in ticks(*ends, width // 50)
    )
    return _svg(marks.replace(">-", ">\u2212"), width)


def bar_svg(values: Sequence[Any], ends: tuple[float, float], width: int = _WIDTH) -> str:
    """Mean, interval and cross of one row: `values` are mean, low, high, other; None if unknown."""
    mean, low, high, other = values
    place = partial(_place, ends=ends, width=width)
    parts = [
        f'<path class="axis" d="{"".join(f"M{place(t):.1f} 0V26" for t in ticks(*ends, width // 50))}"/>'
    ]
    parts += [f'<path class="zero" d="M{place(0.0):.1f} 0V26"/>'] if ends[0] < 0 < ends[1] else []
    if _known(low) and _known(high):
        left, right = place(low), place(high)
        long = max(right - left, 1.5)
        parts.append(f'<rect class="bar" x="{left:.1f}" y="8" width="{long:.1f}" height="10"/>')
    if _known(mean):
        parts.append(f'<circle class="dot" cx="{place(mean):.1f}" cy="13" r="5"/>')
    if _known(other):
        parts.append(f'<path class="cross" d="M{place(other) - 4:.1f} 9l8 8m0 -8l-8 8"/>')
    return _svg("".join(parts), width)


def _svg(inside: str, width: int) -> str:
    return f'<svg viewBox="0 0 {width} {_HEIGHT}" aria-hidden="true">{inside}</svg>'


def _place(value: float, ends: tuple[float, float], width: int) -> float:
    return _SIDE + (width - 2 * _SIDE) * (value - ends[0]) / (ends[1] - ends[0])


def _known(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def curve_svg(block: Curve) -> str:
    """Lines, points, bands and axes of a chart; points that are not finite are omitted."""
    width, height, left, below = _CHART
    series = block.series.values()
    across = _ends([x for points in series for x in points["x"]])
    up = _ends([y for points in series for k in ("mean", "low", "high") for y in points.get(k, ())])
    x_ends, y_ends = _with_margin(across), _with_margin(up)

    def at(x: float, y: float) -> tuple[float, float]:
        along = left + (width - left - 12) * (x - x_ends[0]) / (x_ends[1] - x_ends[0])
        return along, height - below - (height - below - 12) * (y - y_ends[0]) / (y_ends[1] - y_ends[0])

    parts = []
    for t, name in block.ticks() or [(t, f"{t:g}") for t in ticks(*x_ends)]:
        x, y = at(t, y_ends[0])
        parts.append(f'<path class="axis" d="M{x:.1f} {y:.1f}V12"/>')
        place = f'x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle"'
        parts.append(f'<text class="tick" {place}>{_text(name)}</text>')
    for t in ticks(*y_ends):
        x, y = at(x_ends[0], t)
        parts.append(f'<path class="axis" d="M{x:.1f} {y:.1f}H{width - 12}"/>')
        parts.append(f'<text class="tick" x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{t:g}</text>')
    if block.diagonal:
        low, high = max(across[0], up[0]), min(across[1], up[1])
        parts.append(f'<path class="diagonal" d="M{_pair(at(low, low))}L{_pair(at(high, high))}"/>')
    for k, points in enumerate(series):
        parts.append(f'<g class="s{k % 4}">{_series(points, block.line, at)}</g>')
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg>'


def _series(values: Mapping[str, Sequence[Any]], line: bool, at: Callable) -> str:
    x, y, ends = values["x"], values["mean"], [values.get(name) for name in ("low", "high")]
    kept = [k for k in range(len(x)) if _known(x[k]) and _known(y[k])]
    points = [at(x[k], y[k]) for k in kept]
    parts = []
    if None not in ends:
        low, high = ([at(x[k], end[k]) for k in kept if _known(end[k])] for end in ends if end is not None)
        if line:
            parts.append(f'<polygon points="{" ".join(map(_pair, [*low, *high[::-1]]))}"/>')
        else:
            bars = "".join(f"M{_pair(a)}L{_pair(b)}" for a, b in zip(low, high, strict=False))
            parts.append(f'<path d="{bars}"/>')
    if line and points:
        parts.append(f'<path class="line" d="M{"L".join(map(_pair, points))}"/>')
    if not line or len(points) < 2:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
    return "".join(parts)


def _pair(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _ends(values: Sequence[float]) -> tuple[float, float]:
    known = [v for v in values if _known(v)] or [0.0, 1.0]
    return min(known), max(known)


def _with_margin(ends: tuple[float, float]) -> tuple[float, float]:
    margin = 0.04 * (ends[1] - ends[0]) or 0.5
    return ends[0] - margin, ends[1] + margin
