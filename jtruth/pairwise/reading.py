"""Tables of comparisons: which two systems, on which question, in which order, judged by whom, who won.

Files are parsed as everywhere. What was said of columns goes first, then their names, then what the cells
hold. Usual layouts: model_a, model_b, winner; two games in exchanged orders (g1_winner, g2_winner); flags of
each outcome (winner_model_a, ...); winner, loser; a column for each judge; two systems that no column names.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth._validation.ids import check_columns
from jtruth._validation.text import TextTable
from jtruth._validation.words import column_called, number_in, quoted
from jtruth.io.apply import BETWEEN
from jtruth.io.columns import Columns, is_beside, is_rater, role_of, says_something
from jtruth.io.label_rows import called_human
from jtruth.io.parsing import as_table
from jtruth.io.plan import FilePlan
from jtruth.io.reading import opened, parsed_or_frame

FIRST, SECOND, TIE, _NOTHING = 0, 1, 2, -1  # answers: the first system is better, the second, neither
_THING = r"(?:model|system|assistant|response|output|answer|generator|option|candidate|side|text|summary)"
_HOW = r"(?:slightly|much|far|somewhat|clearly|significantly)?"
_BETTER = rf"(?:[\W_]*(?:is[\W_]*)?{_HOW}[\W_]*(?:better|best|wins?|won|winner|preferred))?"
_SIDE = re.compile(
    rf"[\W_]*(?:{_THING}[\W_]*)?(a|b|1|2|left|right|first|second)(?:[\W_]*{_THING})?{_BETTER}[\W_]*"
)
_CUT = re.compile(rf"{_BETTER}$", re.IGNORECASE)
_CODE = {"a": 0, "1": 0, "b": 1, "2": 1, "left": 3, "first": 3, "right": 4, "second": 4}  # from 3 on by place
_TIE = re.compile(
    r"(.*\b)?(ties?|tied|draw|drawn)\b.*|(both|neither|equal)\b.*|no (preference|winner|difference)"
    r"|(about )?(the )?same|similar|[\W_]*c[\W_]*|=|a ?=+ ?b"
)
_NO_VERDICT = {"error", "$error$", "invalid", "skip", "skipped", "unknown", "unsure"}
_MOSTLY = 0.9  # of the rows
_ENDS = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"))
_SYSTEM = {"model", "system", "generator", "assistant", "bot", "candidate", "player", "agent", "engine",
           "llm", "method", "policy", "variant", "modelname", "systemname", "name", "competitor"}  # fmt: skip
_WON = (("winner", "loser"), ("chosen", "rejected"), ("preferred", "rejected"))
_WINNER = ("winner", "win", "preferred", "preference", "pref", "choice", "verdict", "outcome", "result",
           "vote", "judgment", "judgement", "label", "answer", "better", "rating", "value")  # fmt: skip
_ORDER = re.compile(
    r"(is_?)?(swap|swapped|flipped|reversed|exchanged)|order(ing)?|position|(shown|presented)_first"
)
_AS_WRITTEN = {"false", "no", "0", "ab", "original", "normal", "a_first", "1"}
_EXCHANGED = {"true", "yes", "1", "2", "ba", "swapped", "reversed", "exchanged", "flipped", "b_first"}
_QUESTION = ("instructionid", "conversationid", "instruction", "conversation", "battle", "match", "game")
_NAMES_ROWS = re.compile(r"(?i).*(id|_key|idx|index|_nr|_no)")
FOUND = "Columns {} were taken for the systems (systems=...)."
UNUSED = "Not used: {}. Do two of them name the systems (systems=...)?"
ONE_LABEL = "Say label=... (at the command line --label NAME)"
VERIFIED = ("task", "model_a", "model_b", "winner")  # columns of a table of verified preferences


class Comparisons(NamedTuple):
    """Answers to comparisons of two systems each; `read_preferences` makes it."""

    systems: tuple[str, ...]
    judges: tuple[str, ...]
    names: tuple[str, ...]  # of the comparisons: the question, and the pair where there are several
    question: Int[np.ndarray, " comparisons"]
    pair: Int[np.ndarray, "comparisons 2"]  # codes of the two systems, the lower first
    item: Int[np.ndarray, " answers"]  # the comparison that was judged
    judge: Int[np.ndarray, " answers"]
    exchanged: Int[np.ndarray, " answers"]  # 0: the first of the pair was shown first; 1: not; -1: not known
    answer: Int[np.ndarray, " answers"]  # 0: the first of the pair is better; 1: the second; 2: tie
    gold: Int[np.ndarray, " comparisons"]  # the same where it is verified, -1 elsewhere
    notes: tuple[str, ...] = ()
    how: str = ""  # which columns were read
    people: str = ""  # verified preferences that the file seems to hold, as `gold` of `read_preferences`

    __repr__ = one_line


class _Roles(NamedTuple):
    """Which column is which; the answers are "one" column, of "judges", "orders", "flags", or "won"."""

    systems: tuple[str, str] | None
    answers: tuple[str, ...]
    how: str
    task: tuple[str, ...]
    judge: str | None
    order: str | None


class _Row(NamedTuple):
    """One answer: its row in the table, its question with the turn and without, ..., who is better."""

    k: int
    task: str
    question: str
    a: str
    b: str
    judge: str
    exchanged: bool | None
    code: int


def read_preferences(
    path: Any,
    *,
    gold: Any = None,
    systems: Sequence[str] = (),
    order: str | None = None,
    plan: FilePlan | None = None,
    sep: str | None = None,
) -> Comparisons:
    """Comparisons from a file of any kind, or a data frame.

    Args:
        path: the file, "-" or a frame.
        gold: verified preferences: "column:NAME", "worker:NAME", or a table with the same questions.
        systems: the two columns that name the systems.
        order: column that says whether answers were shown in exchanged order, or who was shown first.
        plan: what was said of the columns task, worker, label and labelers, and of the words in them (map,
            classes, abstain, repeats).
        sep: separator.

    Raises:
        ValueError: naming the file and the first rows that cannot be used: no column of winners, a winner
            that is neither system, different answers of a judge to one comparison in one order, systems that
            never met.
    """
    plan = plan or FilePlan()
    table, (kind, _, name) = _table(path, sep), (gold if isinstance(gold, str) else "").partition(":")
    columns = Columns(table, leave_out=[name] if kind == "column" else ())
    roles = _roles(columns, plan, tuple(systems), order)
    rows, notes = _rows(columns, roles, plan)
    verified: list[_Row] = []
    if kind == "worker":
        every, rows = rows, [row for row in rows if row.judge != name]
        verified = [row for row in every if row.judge == name]
        if not verified or not rows:
            text = f"no judge {name!r} beside others; there are {quoted(sorted({r.judge for r in every}))}"
            raise ValueError(table.source.says(text))
    elif kind == "column":
        check_columns(columns.header, {"gold": name}, table.source)
        verified, _ = _rows(columns, roles._replace(answers=(name,), how="one", judge=None), plan)
    elif gold is not None:
        known, plain = Columns(_table(gold, sep)), FilePlan(classes=plan.classes, map=plan.map)
        verified, _ = _rows(known, _roles(known, plain, (), None), plain)
    found = _compiled(rows, plan, columns, roles, (*table.notes, *_of_columns(columns, roles), *notes))
    found = found._replace(people="" if gold is not None else _people(columns, roles, found.judges))
    return _with_gold(found, verified) if verified else found


def _table(path: Any, sep: str | None) -> TextTable:
    """A file as a table; of exports of tools that name no systems the labels they hold."""
    file = parsed_or_frame(path, sep)
    with suppress(ValueError):
        table = as_table(file, known=False)
        if isinstance(file, TextTable) or _pair(Columns(table)):
            return table
    return opened(file, None, sep).table


def _roles(columns: Columns, plan: FilePlan, systems: tuple[str, ...], order: str | None) -> _Roles:
    """Columns by what was said, by their names, by their cells."""
    header, source = columns.header, columns.table.source
    said = [("systems", n) for n in systems] + [("task", n) for n in plan.task or ()] + [("order", order)]
    said += [("worker", plan.worker), ("label", plan.label), *(("labelers", n) for n in plan.labelers or ())]
    for role, name in said:
        if name is not None:
            check_columns(header, {role: name}, source)
    if len(systems) not in (0, 2):
        raise ValueError(f"systems names {len(systems)} columns; name the two that hold the systems")
    pair = (systems[0], systems[1]) if systems else _pair(columns) or _pair_by_cells(columns)
    rest = [name for name in columns.free if name not in (pair or ())]
    if order and not _is_order(columns, order, pair):
        text = f"column {order!r} holds {quoted(columns.values(order))}, which do not say who was shown first"
        raise ValueError(
            source.says(f"{text}. Write AB and BA, no and yes (exchanged), or the name of the system")
        )
    named = (n for n in rest if _ORDER.fullmatch(n.casefold()) and _is_order(columns, n, pair))
    order = order or next(named, None)
    rest = [name for name in rest if name != order]
    ids = (n for n in rest if _NAMES_ROWS.fullmatch(n) and column_called("worker", [n]) is None)
    found = column_called("task", rest) or _named(rest, _QUESTION) or next(ids, None)
    task = plan.task or (() if found is None else (found,))
    rest = [name for name in rest if name not in task]
    judge = plan.worker or column_called("worker", rest)
    answers, how = _answers(columns, plan, [name for name in rest if name != judge], pair, judge)
    turns = [n for n in rest if n.casefold() == "turn" and n not in answers and len(columns.values(n)) > 1]
    turns = [] if plan.task or not task else turns
    return _Roles(
        (answers[0], answers[1]) if how == "won" else pair, answers, how, (*task, *turns), judge, order
    )


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _named(names: Sequence[str], words: Iterable[str]) -> str | None:
    """The first column of one of these names."""
    return next((name for word in words for name in names if _plain(name) == word), None)


def _pair(columns: Columns) -> tuple[str, str] | None:
    """Two columns of systems: model_a and model_b, generator_1 and generator_2, others whose names repeat."""
    plain, won = {_plain(name): name for name in columns.header}, _named(columns.header, _WINNER)
    stems = [(one.removesuffix(a).removesuffix("s"), one, one.removesuffix(a) + b)
             for a, b in _ENDS for one in plain if one.endswith(a)]  # fmt: skip
    stems += [(one.removeprefix(a), one, b + one.removeprefix(a))
              for a, b in _ENDS for one in plain if one.removeprefix(a) in _SYSTEM]  # fmt: skip
    found = [(stem, plain[a], plain[b]) for stem, a, b in stems if b in plain and a != b]
    found = [one for one in found if won or not (_all_say(columns, one[1]) and _all_say(columns, one[2]))]
    known = [(a, b) for stem, a, b in found if stem in _SYSTEM]
    return next(iter([*known, *((a, b) for _, a, b in found if _repeat(columns, a, b))]), None)


def _repeat(columns: Columns, a: str, b: str) -> bool:
    """Whether two columns hold names that come again, and no texts or numbers."""
    if is_rater(a) or any(columns.is_text_or_time(name) or columns.numbers(name) for name in (a, b)):
        return False
    return 1 < len({*columns.values(a), *columns.values(b)}) <= columns.size / 2


def _pair_by_cells(columns: Columns) -> tuple[str, str] | None:
    """Two columns of a few names, different in each row: the same in both, or the winner's among them."""
    named = {word for some in _WON for word in some} | {*_WINNER, *_QUESTION}
    may = [n for n in columns.free if _plain(n) not in named and _names_some(columns, n)]
    others = {n: [cell.strip().casefold() for cell in columns[n]] for n in columns.free}
    for a, b in combinations(may, 2):
        one, two = others[a], others[b]
        if _share(x != y for x, y in zip(one, two, strict=True)) < _MOSTLY:
            continue
        winner = [n for n in others if n not in (a, b) and _wins(columns, n, one, two)]
        told = any(not _all_say(columns, n) for n in winner)
        same = len({*one} & {*two}) >= min(len({*one}), len({*two}), 2)
        if winner and (same or told):
            return a, b
    return None


def _names_some(columns: Columns, name: str) -> bool:
    """Whether a column holds a few names that come again: no numbers, texts, verdicts or judges."""
    words = columns.values(name)
    few = 0 < len(words) <= columns.size / 2 and not columns.is_text_or_time(name)
    verdicts = any(code_of(word) == TIE for word in words) or _all_say(columns, name)
    judges = column_called("worker", [name]) or role_of(name) == "gold" or is_rater(name)
    return few and not (verdicts or judges or columns.numbers(name) or _ORDER.fullmatch(name.casefold()))


def _wins(columns: Columns, name: str, one: list[str], two: list[str]) -> bool:
    """Whether a column says who won of the systems in each row: by side, or by name."""
    if _all_say(columns, name):
        return _plain(name) in _WINNER or not (columns.numbers(name) or is_beside(name))
    cells = zip(columns[name], one, two, strict=True)
    return _share(c.strip().casefold() in (x, y) or code_of(c) is not None for c, x, y in cells) >= _MOSTLY


def _share(told: Iterable[bool]) -> float:
    return float(np.mean(list(told)))


def _of_columns(columns: Columns, roles: _Roles) -> list[str]:
    """What a person should know of the columns: which were taken for the systems by cells, or not used."""
    if roles.how == "won":
        return []
    if roles.systems:
        return [FOUND.format(quoted(roles.systems))] * (
            roles.systems == _pair_by_cells(columns) != _pair(columns)
        )
    used = {*roles.task, *roles.answers, roles.judge, roles.order}
    beside = [name for name in columns.free if name not in used and _names_some(columns, name)]
    return [UNUSED.format(quoted(beside, 3))] if beside else []


def _people(columns: Columns, roles: _Roles, judges: Sequence[str]) -> str:
    """Verified preferences that stand in the file: a column or a judge called so, as they are asked for."""
    used = {*roles.task, *(roles.systems or ()), roles.judge, roles.order}
    used |= set(roles.answers) if len(roles.answers) == 1 else set()
    beside = [n for n in columns.header if n not in used and (called_human(n) or role_of(n) == "gold")]
    one, two = ([c.strip().casefold() for c in columns[n]] for n in roles.systems or (columns.header[0],) * 2)
    found = [f"column:{name}" for name in beside if _wins(columns, name, one, two)]
    found += [f"worker:{name}" for name in judges if called_human(name) and roles.judge]
    return found[0] if found and len(found) < len(judges) + (roles.how != "judges") else ""


def _all_say(columns: Columns, name: str) -> bool:
    """Whether all cells say which of two is better."""
    words = columns.values(name)
    return bool(words) and all(code_of(word) is not None for word in words)


def _answers(
    columns: Columns, plan: FilePlan, rest: list[str], pair: tuple[str, str] | None, judge: str | None
) -> tuple[tuple[str, ...], str]:
    """The columns of the winner, and what several of them are."""
    if plan.label or plan.labelers:
        return ((plan.label,), "one") if plan.label else (plan.labelers or (), "judges")
    free = [name for name in rest if role_of(name) not in ("gold", "derived")]
    plain = {_plain(name): name for name in free}
    for one, name in plain.items():
        other = plain.get(one.replace("1", "2", 1), name)
        if other != name and any(word in one for word in _WINNER):
            return (name, other), "orders"
    flags = [name for word, name in plain.items() if word.startswith("winner") and columns.numbers(name)]
    if len(flags) == 3 and "tie" in flags[2].casefold():
        return tuple(flags), "flags"
    if pair is None and (won := next((some for some in _WON if set(some) <= set(plain)), None)):
        return (plain[won[0]], plain[won[1]]), "won"
    if named := _named(free, _WINNER):
        return (named,), "one"
    said = set(map(str.casefold, plan.map or ()))
    mapped = [
        n
        for n in free
        if is_rater(n) and (columns.numbers(n) or {*map(str.casefold, columns.values(n))} <= said)
    ]
    several = [n for n in free if _all_say(columns, n) and not (is_beside(n) or columns.numbers(n))]
    several = [n for n in free if n in (*mapped, *several)]
    if judge is not None and several:
        several = [n for n in several if not called_human(n)] or several
        if len(several) == 1:
            return tuple(several), "one"
        text = f"columns {quoted(several)} say who won, and column {judge!r} who judged"
        raise ValueError(columns.table.source.says(f"{text}. {ONE_LABEL}"))
    if several:
        return tuple(several), "judges"
    advice = f"{ONE_LABEL}, or labelers=... (--labelers A,B) for one each"
    text = f"no column says who won; columns are {quoted(columns.header, 12)}. {advice}"
    raise ValueError(columns.table.source.says(text))


def _is_order(columns: Columns, name: str, pair: tuple[str, str] | None) -> bool:
    """Whether the cells of a column say who was shown first: AB and BA, true and false, names of systems."""
    words = {value.casefold() for value in columns.values(name)}
    systems = {value.casefold() for one in pair or () for value in columns.values(one)}
    return bool(words) and (words <= _AS_WRITTEN | _EXCHANGED or words <= systems)


def code_of(text: str) -> int | None:
    """What a cell says: 0, 1 the system by its column, 3, 4 by its place, 2 tie, -1 nothing; None: not known.

    >>> [code_of(text) for text in ("model_a", "[[B]]", "tie (bothbad)", "A>>B", "response 2 better", "left")]
    [0, 1, 2, 0, 1, 3]
    """
    word = text.strip().casefold()
    if not says_something(text) or word in _NO_VERDICT:
        return _NOTHING
    if found := re.fullmatch(r"\W*([ab])\s*([<>])+\s*[ab]\W*", word):
        return int((found[1] == "a") != (found[2] == ">"))
    if _TIE.fullmatch(word):
        return TIE
    if (number := number_in(word)) == number:
        return {1.0: 0, 2.0: 1, 1.5: 2}.get(number)
    return None if (found := _SIDE.fullmatch(word)) is None else _CODE[found[1]]


def _codes(columns: Columns, names: Sequence[str], plan: FilePlan) -> dict[str, tuple[int | None, str]]:
    """(code, word) of every different cell of these columns, in the words of the plan."""
    said = {key.casefold(): name for key, name in (plan.map or {}).items()}
    classes, silent = plan.classes or (), {word.casefold() for word in plan.silent}
    words = {c: said.get(c.strip().casefold(), c.strip()) for name in names for c in columns[name]}
    words |= {c: classes[int(w)] for c, w in words.items() if w.isdecimal() and int(w) < len(classes)}
    numbers = {number_in(word) for word in words.values() if says_something(word)}
    by_number = _by_number(numbers) if numbers and all(n == n for n in numbers) else {}
    if by_number is None:
        text = f"who won is written as numbers ({', '.join(f'{n:g}' for n in sorted(numbers)[:6])})"
        advice = "Say what they mean by map=... (at the command line --map 1=A,2=B,3=tie)"
        raise ValueError(columns.table.source.says(f"{text}. {advice}"))
    quiet = {cell for cell, word in words.items() if word.casefold() in silent}
    coded = {c: _NOTHING if c in quiet else by_number.get(number_in(w), code_of(w)) for c, w in words.items()}
    return {c: (code, _CUT.sub("", words[c]) if code is None else words[c]) for c, code in coded.items()}


def _by_number(numbers: set[float]) -> dict[float, int] | None:
    """Codes of numbers of one usual sense: 1 to 2, the nearer one; 1, 0, -1; 1, 0 with .5 a tie."""
    if all(1 <= n <= 2 for n in numbers):
        return {n: TIE if n == 1.5 else int(n > 1.5) for n in numbers}
    for first, second, tie in ((1.0, -1.0, 0.0), (1.0, 0.0, 0.5)):
        if numbers <= {first, second, tie} and (second if tie == 0 else tie) in numbers:
            return {first: FIRST, second: SECOND, tie: TIE}
    return None


def _rows(columns: Columns, roles: _Roles, plan: FilePlan) -> tuple[list[_Row], list[str]]:
    """One row for each answer; ValueError: winners that are neither system."""
    table, size = columns.table, columns.size
    key = [columns[name] for name in roles.task]
    lead = [c for c, name in zip(key, roles.task, strict=True) if name.casefold() != "turn" or len(key) == 1]
    sides = _sides(columns, roles, plan) if roles.systems is None else ("", "")
    a_of, b_of = (columns[n] for n in roles.systems) if roles.systems else ([n] * size for n in sides)
    said = set(map(str.casefold, columns.values(roles.order))) if roles.order else set()
    usual = False if roles.systems or roles.how == "orders" else None
    rows, lost, bad = [], Counter(), []
    alone = "judge" if roles.how != "judges" else None
    for cells, who, game in _given(columns, roles):
        codes = {} if roles.how in ("flags", "won") else _codes(columns, who, plan)
        for k, cell in enumerate(cells):
            a, b = a_of[k].strip(), b_of[k].strip()
            code, word = (cell, "") if isinstance(cell, int) else codes[cell]
            code = {b.casefold(): SECOND, a.casefold(): FIRST}.get(word.casefold(), code)
            shown = (
                _exchanged(columns[roles.order][k].strip().casefold(), a, b, said) if roles.order else usual
            )
            exchanged = None if shown is None or roles.how == "won" else shown != game
            if not (a and b) or (code is None and a != b):
                bad.append((k, cell if a and b else ""))
            elif code is None or code == _NOTHING or a == b:
                lost["that compare a system with itself" if a == b else "without a winner"] += 1
            else:
                code = abs(code - 3 - bool(exchanged)) if code > TIE else code  # by its place
                task, question = (BETWEEN.join(c[k] for c in some) or str(k) for some in (key, lead))
                judge = _judge(columns[roles.judge][k]) if roles.judge else alone or who[0]
                rows.append(_Row(k, task, question, a, b, judge, exchanged, code))
    if bad:
        where, cell = [k for k, _ in bad], bad[0][1]
        what = f"winner {cell!r} is neither system ({a_of[where[0]]!r}, {b_of[where[0]]!r}) nor a tie"
        advice = "Correct it, or say by map=... what it means (A, B, tie or nothing)"
        raise ValueError(f"{table.source.at(where)}: {what if cell else 'a system has no name'}. {advice}")
    if not rows:
        raise ValueError(table.source.says("no row says which of two different systems is better"))
    return rows, [table.source.says(f"{many} rows {why} were left out.") for why, many in lost.items()]


def _given(columns: Columns, roles: _Roles) -> Iterator[tuple[Sequence[Any], tuple[str, ...], bool]]:
    """(cells, their columns, whether it is the game in exchanged order) for each column of answers."""
    if roles.how == "won":
        yield [FIRST] * columns.size, (), False
    elif roles.how == "flags":
        flags = np.array([[number_in(cell) == 1 for cell in columns[name]] for name in roles.answers])
        yield np.where(flags.sum(axis=0) == 1, flags.argmax(axis=0), _NOTHING).tolist(), (), False
    else:
        for k, name in enumerate(roles.answers):
            yield columns[name], (name,), roles.how == "orders" and k == 1


def _exchanged(cell: str, a: str, b: str, cells: set[str]) -> bool | None:
    """Whether the system of column b was shown first; None: it is not said."""
    if cell in (a.casefold(), b.casefold()):
        return cell == b.casefold()
    if cell == "1":
        return "2" not in cells
    return True if cell in _EXCHANGED else False if cell in _AS_WRITTEN else None


def _judge(cell: str) -> str:
    """The name of a judge; of a list, as MT-bench writes model and prompt, its words."""
    with suppress(ValueError):
        return " ".join(map(str, json.loads(cell))) if cell.startswith("[") else cell.strip() or "judge"
    return cell


def _sides(columns: Columns, roles: _Roles, plan: FilePlan) -> tuple[str, str]:
    """Names of two systems that no column names, by the words of the answers."""
    words = list(_codes(columns, roles.answers, plan).values())
    names = list(dict.fromkeys(word for code, word in words if code is None))
    if len(names) == 2:
        return names[0], names[1]
    if names:
        text = f"no columns name the systems, and winners are {quoted(names, 6)}"
        raise ValueError(
            columns.table.source.says(f"{text}. Say systems=... (at the command line --systems A,B)")
        )
    words += [(code_of(word), word) for word in plan.classes or ()]
    known = [one for one in words if one[0] in (0, 1, 3, 4) and number_in(one[1]) != number_in(one[1])]
    known.sort(reverse=True)  # words for places give way to others
    named = {code % 3: _CUT.sub("", word).strip("[] ") for code, word in known if code is not None}
    first, second = named.get(FIRST, "A"), named.get(SECOND, "B")
    return (first.upper(), second.upper()) if len(first) == len(second) == 1 else (first, second)


def _compiled(rows: list[_Row], plan: FilePlan, columns: Columns, roles: _Roles, notes: tuple) -> Comparisons:
    """Codes for names; contradictory repeats and systems that never met are refused."""
    place, judges, questions = (
        {name: k for k, name in enumerate(dict.fromkeys(names))}
        for names in (
            (n for r in rows for n in (r.a, r.b)),
            (r.judge for r in rows),
            (r.question for r in rows),
        )
    )
    systems, items, of_item, cells = list(place), {}, [], {}
    for row in rows:
        turned = place[row.a] > place[row.b]
        item = items.setdefault((row.task, *sorted((place[row.a], place[row.b]))), len(items))
        of_item += [questions[row.question]] * (item == len(of_item))
        answer = row.code if row.code == TIE or not turned else 1 - row.code
        exchanged = -1 if row.exchanged is None else int(row.exchanged != turned)
        cells.setdefault((item, judges[row.judge], exchanged), []).append((row.k, answer))
    kept, more = _once(cells, plan.repeats or ("keep" if {roles.judge, roles.how} == {None, "one"} else ""),
                       columns.table)  # fmt: skip
    if not roles.task:
        more.append("No column names the question: each row is one of its own (task=...).")
    names = [t if len(systems) == 2 else BETWEEN.join((t, systems[a], systems[b])) for t, a, b in items]
    pair = np.array([pair for _, *pair in items])
    item, judge, exchanged, answer = np.array(kept).T
    group = np.arange(len(systems))
    for a, b in np.unique(pair, axis=0):
        group[group == group[b]] = group[a]
    if (group != group[0]).any():
        others, met = ([n for n, g in zip(systems, group, strict=True) if (g == group[0]) == one]
                       for one in (False, True))  # fmt: skip
        text = f"{quoted(others)} never met {quoted(met)}, directly or through others"
        raise ValueError(columns.table.source.says(f"{text}: ask about each group by itself"))
    return Comparisons(
        tuple(systems), tuple(judges), tuple(names), np.array(of_item), pair, item, judge, exchanged, answer,
        np.full(len(items), -1), tuple(dict.fromkeys((*notes, *more))),
        "; ".join(f"{role} {quoted(names, 8)}" for role, names in _named_roles(roles).items() if any(names)),
    )  # fmt: skip


def _named_roles(roles: _Roles) -> dict[str, tuple]:
    """The columns of each role."""
    return {"question": roles.task, "systems": roles.systems or (), "winner": roles.answers,
            "judge": (roles.judge,), "order": (roles.order,)}  # fmt: skip


def _once(cells: dict, repeats: str, table: TextTable) -> tuple[list[tuple[int, ...]], list[str]]:
    """One answer of a judge to a comparison in one order; all with repeats="keep"."""
    kept, same, differ = [], 0, []
    for where, given in cells.items():
        answers = [answer for _, answer in given][:: -1 if repeats == "last" else 1]
        kept += [(*where, answer) for answer in (answers if repeats == "keep" else answers[:1])]
        same += (len(given) - 1) * (repeats != "keep")
        differ += [k for k, _ in given] if len(set(answers)) > 1 and not repeats else []
    if differ:
        what = "the same judge gives different answers to the same comparison in the same order"
        advice = "repeats='first', 'last' or 'keep', or name another column of the question by task=..."
        raise ValueError(f"{table.source.at(sorted(differ))}: {what}. Say {advice}")
    return kept, [table.source.says(f"{same} rows repeat an answer and were counted once.")] * bool(same)


def _with_gold(found: Comparisons, verified: list[_Row]) -> Comparisons:
    """Verified preferences of these comparisons, a tie where they differ; ValueError: of none of these."""
    where = {name: k for k, name in enumerate(found.names)}
    gold, others = found.gold.copy(), []
    for row in verified:
        pair = [name for name in found.systems if name in (row.a, row.b)]
        k = where.get(row.task if len(found.systems) == 2 else BETWEEN.join((row.task, *pair)))
        if k is None or len(pair) < 2:
            others.append(f"{row.task}: {row.a}, {row.b}")
            continue
        code = TIE if row.code == TIE else pair.index((row.a, row.b)[row.code])
        gold[k] = code if gold[k] in (-1, code) else TIE
    text = f"{len(others)} verified comparisons are not among those judged ({quoted(others, 3)})"
    if len(others) == len(verified):
        raise ValueError(f"gold: {text}. Questions and names of systems must be the same in both")
    notes = (f"{text} and were not used.",) * bool(others)
    return found._replace(gold=gold, notes=(*found.notes, *notes))


def to_verify(found: Comparisons, number: int, rng: np.random.Generator) -> list[tuple[str, str, str, str]]:
    """Rows of the columns `VERIFIED` for random comparisons without gold, sides exchanged at random.

    People fill in the winner (a name, A, B or tie); the table is then the `gold` of `read_preferences`.
    """
    rows, several = [], len(found.systems) > 2
    for k in rng.permutation(np.flatnonzero(found.gold < 0))[:number]:
        a, b = (found.systems[s] for s in found.pair[k])
        task = found.names[k].removesuffix(BETWEEN.join(("", a, b)) if several else "")
        rows.append((task, *((b, a) if rng.random() < 0.5 else (a, b)), ""))
    return rows
