"""Roles of the columns of a table of comparisons, and the meaning of their cells.

Named columns come first, then columns with known names, then those with matching cells: two columns of the
same few names, different in each row, are the systems.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from jtruth._validation.ids import check_columns
from jtruth._validation.text import TextTable
from jtruth._validation.words import column_called, number_in, quoted
from jtruth.io.columns import Columns, is_beside, is_rater, role_of, says_something
from jtruth.io.label_rows import called_human
from jtruth.io.plan import FilePlan

FIRST, SECOND, TIE, NOTHING = 0, 1, 2, -1  # answers: the first system is better, the second, neither
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
_ID = re.compile(r".*(id|_key|idx|index|_nr|_no)")
TAKEN = "Columns {} were read as the systems (systems=...)."
UNUSED = "Ignored columns: {}. Do they hold the systems (systems=...)?"
ONE_LABEL = "Give label=... (at the command line --label NAME)"


class Roles(NamedTuple):
    """Roles of columns; the answers are "one" column, of "judges", "orders", "flags", or "won"."""

    systems: tuple[str, str] | None
    answers: tuple[str, ...]
    how: str
    task: tuple[str, ...]
    judge: str | None
    order: str | None


def roles_of(
    columns: Columns, plan: FilePlan, systems: tuple[str, ...] = (), order: str | None = None
) -> tuple[Roles, list[str]]:
    """Columns by the options, by their names, by their cells; and notes."""
    _check_columns(columns, plan, systems, order)
    named = (systems[0], systems[1]) if systems else _pair_by_names(columns)
    pair = named or _pair_by_cells(columns)
    rest = [name for name in columns.free if name not in (pair or ())]
    order = _order(columns, rest, pair, order)
    rest = [name for name in rest if name != order]
    ids = [n for n in rest if _ID.fullmatch(n.casefold()) and not column_called("worker", [n])]
    question = column_called("task", rest) or _named(rest, _QUESTION) or next(iter(ids), None)
    task = plan.task or (() if question is None else (question,))
    rest = [name for name in rest if name not in task]
    judge = plan.worker or column_called("worker", rest)
    rest = [name for name in rest if name != judge]
    answers, how = _answers(columns, plan, rest, pair, judge)
    rest = [name for name in rest if name not in answers]
    turns = [n for n in rest if n.casefold() == "turn" and len(columns.values(n)) > 1]
    turns = [] if plan.task or not task else turns
    notes = [] if named or not pair else [TAKEN.format(quoted(pair))]
    if pair is None and how != "won" and (beside := [n for n in rest if _may_name(columns, n)]):
        notes = [UNUSED.format(quoted(beside, 3))]
    pair = (answers[0], answers[1]) if how == "won" else pair
    return Roles(pair, answers, how, (*task, *turns), judge, order), notes


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _named(names: Sequence[str], words: Iterable[str]) -> str | None:
    """The first column of one of these names."""
    return next((name for word in words for name in names if _plain(name) == word), None)


def pair_of(columns: Columns) -> tuple[str, str] | None:
    """The two columns with the systems, by their names or by their cells."""
    return _pair_by_names(columns) or _pair_by_cells(columns)


def compares(table: TextTable) -> bool:
    """Whether this is clearly a table of comparisons: two systems in each row, and the winner."""
    columns = Columns(table)
    plain = {_plain(name) for name in columns.header}
    export = {"task", "worker", "label"} <= plain and plain & {"pair", "against"}  # as they are read
    if export or any(set(some) <= plain for some in _WON):
        return True
    pair = pair_of(columns)
    if pair is None or any(columns.numbers(name) or _all_say(columns, name) for name in pair):
        return False
    differ = sum(x != y for x, y in zip(*(columns[name] for name in pair), strict=True))
    won = [n for n in columns.free if n not in pair and _says_who(columns, n, pair)]
    flags = [name for name in plain if name.startswith("winner")]
    return differ >= _MOSTLY * columns.size and bool(won or len(flags) == 3)


def _pair_by_names(columns: Columns) -> tuple[str, str] | None:
    """Two columns of systems: model_a and model_b, generator_1 and generator_2, other repeated names."""
    plain, won = {_plain(name): name for name in columns.header}, _named(columns.header, _WINNER)
    stems = [(one.removesuffix(a).removesuffix("s"), one, one.removesuffix(a) + b)
             for a, b in _ENDS for one in plain if one.endswith(a)]  # fmt: skip
    stems += [(one.removeprefix(a), one, b + one.removeprefix(a))
              for a, b in _ENDS for one in plain if one.removeprefix(a) in _SYSTEM]  # fmt: skip
    found = [(stem, plain[a], plain[b]) for stem, a, b in stems if b in plain and a != b]
    found = [one for one in found if won or not (_all_say(columns, one[1]) and _all_say(columns, one[2]))]
    known = [(a, b) for stem, a, b in found if stem in _SYSTEM]
    others = ((a, b) for _, a, b in found if _may_name(columns, a) and _may_name(columns, b))
    return known[0] if known else next(others, None)


def _check_columns(columns: Columns, plan: FilePlan, systems: tuple[str, ...], order: str | None) -> None:
    given = {"systems": systems, "task": plan.task, "order": (order,), "worker": (plan.worker,),
            "label": (plan.label,), "labelers": plan.labelers}  # fmt: skip
    for role, names in given.items():
        for name in names or ():
            if name is not None:
                check_columns(columns.header, {role: name}, columns.table.source)
    if len(systems) not in (0, 2):
        raise ValueError(f"systems lists {len(systems)} columns; give the two that hold the systems")


def _order(columns: Columns, rest: list[str], pair: tuple[str, str] | None, given: str | None) -> str | None:
    if given is None:
        return next((n for n in rest if _called_order(n) and _is_order(columns, n, pair)), None)
    if not _is_order(columns, given, pair):
        text = f"column {given!r} holds {quoted(columns.values(given))}, which do not show which came first"
        advice = "Write AB and BA, no and yes (swapped), or the name of the system"
        raise ValueError(columns.table.source.says(f"{text}. {advice}"))
    return given


def _called_order(name: str) -> bool:
    return _ORDER.fullmatch(name.casefold()) is not None


def _pair_by_cells(columns: Columns) -> tuple[str, str] | None:
    """Two columns of a few names, different in each row: the same in both, or with the winners' names."""
    named = {*_WINNER, *_QUESTION, *(word for some in _WON for word in some)}
    free = [n for n in columns.free if _plain(n) not in named and _may_name(columns, n)]
    for a, b in combinations(free, 2):
        differ = sum(x.strip() != y.strip() for x, y in zip(columns[a], columns[b], strict=True))
        if differ < _MOSTLY * columns.size:
            continue
        one, two = set(columns.values(a)), set(columns.values(b))
        won = [n for n in columns.free if n not in (a, b) and _says_who(columns, n, (a, b))]
        alike = len(one & two) >= min(len(one), len(two), 2)
        if won and (alike or not all(_all_say(columns, n) for n in won)):
            return a, b
    return None


def _may_name(columns: Columns, name: str) -> bool:
    """Whether a column has a few repeated names: no numbers, texts, verdicts or judges."""
    words = columns.values(name)
    if not 0 < len(words) <= columns.size / 2 or columns.is_text_or_time(name) or columns.numbers(name):
        return False
    if column_called("worker", [name]) or role_of(name) == "gold" or is_rater(name) or _called_order(name):
        return False
    return not (any(code_of(word) == TIE for word in words) or _all_say(columns, name))


def _says_who(columns: Columns, name: str, pair: tuple[str, str] | None) -> bool:
    """Whether a column has the winner: by side, or by the names of the two systems of its row."""
    if _all_say(columns, name):
        return _plain(name) in _WINNER or not (columns.numbers(name) or is_beside(name))
    systems = {value.casefold() for one in pair or () for value in columns.values(one)}
    words = [word.casefold() for word in columns.values(name)]
    if not pair or not words or not all(word in systems or code_of(word) is not None for word in words):
        return False
    rows = zip(*(columns[n] for n in (name, *pair)), strict=True)
    fit = [w.strip().casefold() in (a.strip().casefold(), b.strip().casefold(), "") or code_of(w) is not None
           for w, a, b in rows]  # fmt: skip
    return sum(fit) >= _MOSTLY * columns.size


def people_of(columns: Columns, roles: Roles, judges: Sequence[str]) -> str:
    """Verified preferences in the file: a column or a judge with such a name, as an option for `gold`."""
    used = {*roles.task, *(roles.systems or ()), roles.judge, roles.order}
    used |= set(roles.answers) if roles.how != "judges" else set()
    beside = [n for n in columns.header if n not in used and (called_human(n) or role_of(n) == "gold")]
    found = [f"column:{name}" for name in beside if _says_who(columns, name, roles.systems)]
    found += [f"worker:{name}" for name in judges if roles.judge and called_human(name)]
    kept = set(judges) - {name.partition(":")[2] for name in found}
    return found[0] if found and kept else ""


def _all_say(columns: Columns, name: str) -> bool:
    words = columns.values(name)
    return bool(words) and all(code_of(word) is not None for word in words)


def _answers(
    columns: Columns, plan: FilePlan, rest: list[str], pair: tuple[str, str] | None, judge: str | None
) -> tuple[tuple[str, ...], str]:
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
    votes = _votes(columns, free, plan)
    several = [n for n in free if n in votes or _says_who(columns, n, pair)]
    if not several:
        advice = f"{ONE_LABEL}, or labelers=... (--labelers A,B) for one each"
        text = f"no column holds the winner; columns are {quoted(columns.header, 12)}. {advice}"
        raise ValueError(columns.table.source.says(text))
    if judge is None and (len(several) > 1 or _all_say(columns, several[0])):
        return tuple(several), "judges"
    if len(several) > 1:
        several = [n for n in several if not called_human(n)] or several
    if len(several) > 1:
        text = f"columns {quoted(several)} hold winners, and column {judge!r} the judge. {ONE_LABEL}"
        raise ValueError(columns.table.source.says(text))
    return tuple(several), "one"


def _votes(columns: Columns, free: list[str], plan: FilePlan) -> list[str]:
    """Columns of judges: with numbers, or with the mapped words or two names of systems."""
    raters, given = list(filter(is_rater, free)), set(map(str.casefold, plan.map or ()))
    words = {n: {w.casefold() for w in columns.values(n) if code_of(w) is None} for n in free}
    systems = set().union(*(words[n] for n in raters)) - given
    systems = systems if len(systems) == 2 else set()
    judge = {n: words[n] <= given | systems or columns.numbers(n) for n in raters}
    return [n for n in free if judge.get(n, words[n] and words[n] <= systems)]


def _is_order(columns: Columns, name: str, pair: tuple[str, str] | None) -> bool:
    """Whether the cells of a column are orders: AB and BA, true and false, names of systems."""
    words = {value.casefold() for value in columns.values(name)}
    systems = {value.casefold() for one in pair or () for value in columns.values(one)}
    return bool(words) and (words <= _AS_WRITTEN | _EXCHANGED or words <= systems)


def code_of(text: str) -> int | None:
    """Code of a cell: 0, 1 a system by its column, 3, 4 by its place, 2 tie, -1 nothing; None: unknown.

    >>> [code_of(text) for text in ("model_a", "[[B]]", "tie (bothbad)", "A>>B", "response 2 better", "left")]
    [0, 1, 2, 0, 1, 3]
    """
    word = text.strip().casefold()
    if not says_something(text) or word in _NO_VERDICT:
        return NOTHING
    if found := re.fullmatch(r"\W*([ab])\s*([<>])+\s*[ab]\W*", word):
        return int((found[1] == "a") != (found[2] == ">"))
    if _TIE.fullmatch(word):
        return TIE
    if (number := number_in(word)) == number:
        return {1.0: 0, 2.0: 1, 1.5: 2}.get(number)
    return None if (found := _SIDE.fullmatch(word)) is None else _CODE[found[1]]


def codes_of(columns: Columns, names: Sequence[str], plan: FilePlan) -> dict[str, tuple[int | None, str]]:
    """(code, word) of every different cell of these columns, in the words of the plan."""
    given = {key.casefold(): name for key, name in (plan.map or {}).items()}
    classes, silent = plan.classes or (), {word.casefold() for word in plan.silent}
    words = {c: given.get(c.strip().casefold(), c.strip()) for name in names for c in columns[name]}
    words |= {c: classes[int(w)] for c, w in words.items() if w.isdecimal() and int(w) < len(classes)}
    numbers = {number_in(word) for word in words.values() if says_something(word)}
    by_number = _by_number(numbers) if numbers and all(n == n for n in numbers) else {}
    if by_number is None:
        text = f"winners are numbers ({', '.join(f'{n:g}' for n in sorted(numbers)[:6])})"
        shown = [f"{n:g}" for n in sorted(numbers, key=lambda n: (n == 0 and len(numbers) > 2, n))]
        words = ",".join(f"{n}={word}" for n, word in zip(shown, ("A", "B", "tie"), strict=False))
        advice = f"Translate them by map=... (at the command line --map {words})"
        raise ValueError(columns.table.source.says(f"{text}. {advice}"))
    quiet = {cell for cell, word in words.items() if word.casefold() in silent}
    coded = {c: NOTHING if c in quiet else by_number.get(number_in(w), code_of(w)) for c, w in words.items()}
    return {c: (code, _CUT.sub("", words[c]) if code is None else words[c]) for c, code in coded.items()}


def _by_number(numbers: set[float]) -> dict[float, int] | None:
    """Codes of numbers in a usual format: 1 to 2, the nearer one; 1, 0, -1; 1, 0 with .5 a tie."""
    if all(1 <= n <= 2 for n in numbers):
        return {n: TIE if n == 1.5 else int(n > 1.5) for n in numbers}
    for first, second, tie in ((1.0, -1.0, 0.0), (1.0, 0.0, 0.5)):
        if numbers <= {first, second, tie} and (second if tie == 0 else tie) in numbers:
            return {first: FIRST, second: SECOND, tie: TIE}
    return None


def exchanged_in(cell: str, a: str, b: str, cells: set[str]) -> bool | None:
    """Whether the system of column b was shown first; None if unknown."""
    if cell in (a.casefold(), b.casefold()):
        return cell == b.casefold()
    if cell == "1":
        return "2" not in cells
    return True if cell in _EXCHANGED else False if cell in _AS_WRITTEN else None


def sides_of(columns: Columns, roles: Roles, plan: FilePlan) -> tuple[str, str]:
    """Names of two systems without columns, by the words of the answers."""
    words = list(codes_of(columns, roles.answers, plan).values())
    names = list(dict.fromkeys(word for code, word in words if code is None))
    if len(names) == 2:
        return names[0], names[1]
    if names:
        text = f"no columns name the systems, and winners are {quoted(names, 6)}"
        raise ValueError(
            columns.table.source.says(f"{text}. Give systems=... (at the command line --systems A,B)")
        )
    words += [(code_of(word), word) for word in plan.classes or ()]
    known = [one for one in words if one[0] in (0, 1, 3, 4) and number_in(one[1]) != number_in(one[1])]
    known.sort(reverse=True)  # words for places give way to others
    named = {code % 3: _CUT.sub("", word).strip("[] ") for code, word in known if code is not None}
    first, second = named.get(FIRST, "A"), named.get(SECOND, "B")
    return (first.upper(), second.upper()) if len(first) == len(second) == 1 else (first, second)
