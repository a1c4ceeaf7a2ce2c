"""A document on a terminal: brief or in full, never wider than the terminal.

Brief is the headline, the first table, up to three important notes and the next command, in 20 lines; full is
every block. Wide tables keep all numbers: sentences are wrapped, and columns that do not fit are in a second
table.
"""

import re
import shutil
from collections.abc import Callable
from unicodedata import east_asian_width

from jtruth._validation.words import escaped, number_of, plain
from jtruth.answers.blocks import (
    SIGNS,
    Block,
    Curve,
    Document,
    Matrix,
    Note,
    Notes,
    Table,
    cell_text,
    number,
    value_of,
)

Words = Callable[[str], str]  # from the library's sentences to the reader's, as the command line has its own
Cells = list[str]

_LINES, _NOTES, _NOTE = 20, 3, 2  # of a brief answer of 80 columns: its lines, its notes, and lines of a note
_BRIEF, _FULL, _QUEUE = (8, 2), (20, 5), (50, 1)  # rows of a table, and how many of them are its last
_SQUARE, _ERRORS, _POINTS = 8, 6, 7
_LEAST = 18  # characters that a column of sentences gets
_LONG = 30  # a column with a longer text is one of sentences
_GAP = "  "


def terminal_text(
    document: Document, *, full: bool = False, width: int | None = None, words: Words = str, read: str = ""
) -> str:
    """Lines of at most `width` columns (None: the terminal's, or 80); `read`: how the input was read."""
    width = shutil.get_terminal_size((80, 24)).columns if width is None else width
    width = max(width, 2 * _LEAST)
    say = lambda text, before="": [] if not text else wrapped(escaped(words(text)), width, before)  # noqa: E731
    head = [line for text in (*document.alarms, document.sentence, *document.lines) for line in say(text)]
    dim = [f"\x1b[2m{line}\x1b[22m" for line in say(read)]  # without marks in files and pipes: `typer.echo`
    tail = [*dim, *_next(document.next, width, words, full)]
    if full:
        doubt = [line for one in _doubt(document) for line in _note(one, width, words)]
        lines = [*head, *say(document.about), *doubt]
        for block in document.blocks:
            found = _block(block, width, words)
            lines += ["", *found] if found else []
    else:
        notes = [_short(one, width, words) for one in _most_important(document) if one.text != read]
        space = max(_LINES, _LINES * 80 // width) - len(head) - len(tail)
        about = [] if not document.about else say(f"{document.about}.")
        more = _left(document, len(notes), width, words)
        body, shown = _body(document, width, space - len(about) - len(more), notes, words)
        if cut := any(line.startswith("(") and "more row" in line for line in body):  # that names --full too
            body, shown = _body(document, width, space - len(about), notes, words)
        lines = [*head, *about, *body]
        tail = [*([] if cut else _left(document, len(notes) - shown, width, words)), *tail]
    return "\n".join(line.rstrip() for line in (*lines, *tail))


def _body(
    document: Document, width: int, space: int, notes: list[list[str]], words: Words
) -> tuple[list[str], int]:
    """The first table and whole notes in about `space` lines, and the number of notes."""
    lines: list[str] = []
    notes = [note for note in notes if len(note) <= _NOTE]
    for table in document.tables()[:1]:
        spare = sum(map(len, notes[:1])) if len(table.rows) > _BRIEF[0] else 0  # rows go before notes
        last = 0 if table.queue or table.by_name else _BRIEF[1]
        for most in range(_BRIEF[0], last or 1, -1):
            out = table.shown(most, full=False)[2] if table.sequence else 0
            kept = tuple(c for c in table.columns if not (c.detail or (out and c.step)))
            brief, left = table._replace(columns=kept), words("summary(full=True)")
            lines = ["", *table_lines(brief, width, (most, last), whole=False, left=left)]
            lines += [words(f"({number_of(out, 'more row')}: summary(full=True))")] if out else []
            if len(lines) + spare <= space:
                break
    shown = 0
    for note in notes:
        if shown < _NOTES and len(lines) + len(note) <= space:
            lines, shown = [*lines, *note], shown + 1
    return lines, shown


def _left(document: Document, notes: int, width: int, words: Words) -> list[str]:
    """A line on the tables and notes that a brief text omits, and how to see them."""
    drawn = [one for one in document.blocks if isinstance(one, Table | Matrix | Curve)]
    drawn = [one for one in drawn if not isinstance(one, Table) or one.rows]
    first = document.tables()[:1]
    titles = [re.split("[,:;(]", one.title)[0].strip() for one in drawn if one not in first]
    names = [f"{title[0].lower()}{title[1:]}" for title in titles if title]
    names += [number_of(notes, "more note")] if names and notes > 0 else []
    start, shown = f"More with {words('summary(full=True)')}: ", len(names)
    said = lambda: f"{start}{', '.join(names[:shown])}{' and more' * (shown < len(names))}."  # noqa: E731
    while shown and size(said()) > width:
        shown -= 1
    return [said()] if shown else []


def _doubt(document: Document) -> list[Note]:
    return [Note(document.doubt_sign, document.doubt)] if document.doubt else []


def _most_important(document: Document) -> list[Note]:
    """Notes of a brief text: failed checks in one sentence, and none that is shown elsewhere."""
    quiet = {"alarm", "good", *(["bad"] if document.doubt else [])}
    notes = [
        note
        for note in document.notes()
        if note.sign not in quiet
        and note.text not in document.sentence
        and note.text != document.next
        and not (note.sign in ("say", "open") and isinstance(note.data, dict))  # without a recommendation
        and not (" ask " in document.next and "ask_next" in note.text)  # the next command does that
    ]
    return sorted([*_doubt(document), *notes], key=lambda note: list(SIGNS).index(note.sign))


def _short(note: Note, width: int, words: Words) -> list[str]:
    """Lines of a note; a long one loses its last sentences or clauses."""
    lines, text = _note(note, width, words), note.text
    while len(lines) > _NOTE and (end := max(text.rfind(". "), text.rfind("; "))) > 0:
        text = text[:end]
        lines = _note(note._replace(text=f"{text}."), width, words)
    return lines


def _block(block: Block, width: int, words: Words) -> list[str]:
    match block:
        case Table():
            most = _QUEUE if block.queue else _FULL
            lines = table_lines(block, width, most, left=words("to_dict()")) if block.rows else []
        case Matrix():
            lines = _matrix_lines(block, width)
        case Curve():
            lines = [line for name in block.series for line in _series_lines(block, name, width)]
        case Notes():
            kept = [note for note in block.items if note.sign != "alarm"]
            lines = [line for note in kept for line in _note(note, width, words)]
        case dict():
            return []
    note = getattr(block, "note", "")
    if not lines:
        return []
    title = wrapped(escaped(words(block.title)), width) if block.title else []
    return [*title, *lines, *(wrapped(escaped(words(note)), width, "  ") if note else [])]


def _note(note: Note, width: int, words: Words) -> list[str]:
    mark, verdict = SIGNS[note.sign]
    name = f"{plain(note.name).capitalize()}{f' ({verdict})' if verdict else ''}: " if note.name else ""
    text = f"{name}{note.text}"
    text += "." * (mark not in ("", "Tip:") and text[-1:] not in ".?!")
    lay = _commented if "  # " in text else wrapped
    return lay(escaped(words(f"{mark} {text}" if mark else f"  {text}")), width)


def table_lines(
    table: Table, width: int, most: tuple[int, int] = _FULL, *, whole: bool = True, left: str = "to_dict()"
) -> list[str]:
    """Lines of a table with `most` rows, and last ones; `whole`: columns that do not fit come below."""
    first, last, out = table.shown(*most, full=whole)
    rows = (*first, *last)
    places = [*range(len(first)), *range(len(table.rows) - len(last), len(table.rows))]
    ranks = [f"{k + 1} " if table.queue else "" for k in places]
    names = [f"{rank}{table.label(row)}" for rank, row in zip(ranks, rows, strict=True)]
    columns = [
        [plain(one.title), *(escaped(cell_text(value_of(one, row), one.form, table.missing)) for row in rows)]
        for one in table.columns
    ]
    label = [table.head, *map(escaped, names)]
    split = len(first) + 1 if out and not table.sequence else None
    return _laid_out(label, columns, width, (split, f"({number_of(out, 'more row')}: {left})"), whole)


def _laid_out(
    label: Cells, columns: list[Cells], width: int, cut: tuple[int | None, str], whole: bool = True
) -> list[str]:
    """Rows under a head; columns that do not fit are in a second table, or below the name of the row."""
    long_names = max(map(size, label)) > _LONG
    texts = [column for column in columns if max(map(size, column[1:]), default=0) > _LONG]
    short = [column for column in columns if column not in texts]
    sentences = [label, *texts] if long_names else texts
    sizes = [max(map(size, column)) + len(_GAP) for column in short]
    used = (len(_GAP) + _LEAST) * len(sentences) + (0 if long_names else max(map(size, label)))
    if used + max(sizes, default=0) > width + (len(_GAP) if long_names else 0):
        return _stacked(label, columns, width, cut)
    fit = 0
    while fit < len(short) and used + sizes[fit] <= width:
        used += sizes[fit]
        fit += 1
    fit = max(fit, 1)
    front, rest = short[:fit], short[fit:]
    lines = _rows(None if long_names else label, front, sentences, width, cut)
    return [*lines, "", *_laid_out(label, rest, width, cut)] if rest and whole else lines


def _stacked(label: Cells, columns: list[Cells], width: int, cut: tuple[int | None, str]) -> list[str]:
    """Every row as lines below its name, if a terminal is too narrow for a table."""
    lines: list[str] = []
    for k in range(1, len(label)):
        lines += [cut[1]] if k == cut[0] else []
        lines += wrapped(label[k], width)
        for one in columns:
            lines += wrapped(f"{one[0]}: {one[k]}".strip(": "), width, "    ")
    return [*lines, *[cut[1]] * (cut[0] == len(label))]


def _rows(
    label: Cells | None, front: list[Cells], sentences: list[Cells], width: int, cut: tuple[int | None, str]
) -> list[str]:
    """Lines of a table whose columns fit; sentences share the remaining width, and are wrapped."""
    sizes = [max(map(size, column)) for column in front]
    used = sum(sizes) + len(_GAP) * len(sizes)
    used += 0 if label is None else max(map(size, label))
    each = (width - used) // len(sentences) - len(_GAP) if sentences else 0
    lines: list[str] = []
    for k in range(len((front or sentences or [label or []])[0])):
        if k == cut[0]:
            lines.append(cut[1])
        text = "" if label is None else _pad(label[k], max(map(size, label)))
        text += "".join(_GAP + _aligned(c, k, w) for c, w in zip(front, sizes, strict=True))
        parts = [wrapped(column[k], max(each, _LEAST)) for column in sentences]
        for n in range(max([1, *map(len, parts)])):
            start = text if n == 0 else " " * size(text)
            tail = "".join(_GAP + _pad(p[n] if n < len(p) else "", max(each, _LEAST)) for p in parts)
            lines.append((start + tail)[2 if label is None else 0 :])
    return [*lines, *[cut[1]] * (cut[0] == len((front or sentences or [label or []])[0]))]


def _aligned(column: Cells, k: int, width: int) -> str:
    """A cell of a column: words to the left, numbers to the right."""
    words = sum(cell[:1].isalpha() or cell[:1] in "<'\"" for cell in column[1:] if cell)
    blanks = " " * (width - size(column[k]))
    return column[k] + blanks if 2 * words > len(column) - 1 else blanks + column[k]


def _matrix_lines(block: Matrix, width: int) -> list[str]:
    rows, columns = list(map(plain, block.rows)), list(map(plain, block.columns))
    if max(len(rows), len(columns)) <= _SQUARE:
        cells = [[name, *(block.text(a, b) for a in range(len(rows)))] for b, name in enumerate(columns)]
        return _laid_out(["", *rows], cells, width, (None, ""))
    pairs = off_diagonal(block)[:_ERRORS]
    label = ["largest errors", *(f"{rows[a]} -> {columns[b]}" for a, b in pairs)]
    return _laid_out(label, [["", *(block.text(a, b) for a, b in pairs)]], width, (None, ""))


def off_diagonal(block: Matrix) -> list[tuple[int, int]]:
    """Off-diagonal cells, the largest first."""
    mean = block.cells["mean"]
    pairs = [(a, b) for a in range(len(block.rows)) for b in range(len(block.columns)) if a != b]
    return sorted(pairs, key=lambda pair: -mean[pair[0]][pair[1]])


def _series_lines(block: Curve, name: str, width: int) -> list[str]:
    """Evenly spaced points of a curve; more if they have names."""
    points = block.series[name]
    known = [k for k, value in enumerate(points["mean"]) if value is not None]
    most = _FULL[0] if block.named else _POINTS
    step = max((len(known) - 1) / (most - 1), 1)
    chosen = sorted({known[round(j * step)] for j in range(min(most, len(known)))}) if known else []
    x, form = points["x"], ".0f" if all(float(points["x"][k]).is_integer() for k in known) else ".3f"
    ends = [points[end] for end in ("low", "high") if end in points]
    label = [plain(name) if name else "", *[""] * len(chosen)]
    columns = [
        [plain(block.x), *(plain(block.named.get(x[k], "")) or number(x[k], form) for k in chosen)],
        [plain(block.y), *(cell_text([points["mean"][k], *(end[k] for end in ends)]) for k in chosen)],
    ]
    left = [f"({number_of(len(known) - len(chosen), 'more point')} in the JSON)"] * (len(known) > len(chosen))
    return [*_laid_out(label, columns, width, (None, "")), *left] if chosen else []


def _next(step: str, width: int, words: Words, full: bool) -> list[str]:
    if not step:
        return []
    lines = [""] if full else []
    for mark, text in zip(("next", "then"), escaped(words(step)).split("\n"), strict=False):
        lines += _commented(f"{mark}: {text}", width)
    return lines


def _commented(text: str, width: int) -> list[str]:
    """A command, and its comment behind or below it."""
    command, _, comment = text.partition("  # ")
    lines = _command(command, width)
    if comment and size(lines[-1]) + 4 + size(comment) <= width:
        lines[-1] += f"  # {comment}"
    elif comment:
        lines += wrapped(comment, width, "  # ")
    return lines


def _command(text: str, width: int) -> list[str]:
    """A command in lines that a shell reads as one."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and size(lines[-1]) + size(word) + 3 > width:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def wrapped(text: str, width: int, before: str = "") -> list[str]:
    """A text in lines of at most `width` columns; `before` starts the first, blanks the others.

    >>> wrapped("a few words and an_unbreakable_name", 12, "! ")
    ['! a few', '  words and', '  an_unbreak', '  able_name']
    """
    lines, start = [before], " " * len(before)
    for word in text.replace("\n", " ").replace(" %", "\N{NO-BREAK SPACE}%").split(" "):
        gap = "" if lines[-1] in (before, start) else " "
        if gap and size(lines[-1]) + 1 + size(word) > width:
            lines.append(start)
            gap = ""
        while size(lines[-1]) + len(gap) + size(word) > width:
            cut = _fitting(word, width - size(lines[-1]) - len(gap))
            lines[-1] += gap + word[:cut]
            lines.append(start)
            gap, word = "", word[cut:]
        lines[-1] += gap + word
    return [line.replace("\N{NO-BREAK SPACE}%", " %") for line in lines]


def _fitting(word: str, space: int) -> int:
    """Number of characters of a word that fit into so many columns, at least one."""
    used = 0
    for k, c in enumerate(word):
        used += size(c)
        if used > space:
            return max(k, 1)
    return len(word)


def size(text: str) -> int:
    """Width of a text on a terminal, in columns."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - size(text))
