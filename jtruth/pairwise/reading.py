"""Tables of comparisons: which two systems, on which question, in which order, judged by whom, who won.

Files are parsed as everywhere (`jtruth.io.reading.opened`). What was said of columns goes first, then their
names, then what the cells hold. Usual layouts are known: model_a, model_b, winner; two games in exchanged
orders (g1_winner, g2_winner); winner_model_a, winner_model_b, winner_tie; winner, loser; one column for each
judge; labels of two systems that no column names.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth._validation.ids import check_columns
from jtruth._validation.text import TextTable
from jtruth._validation.words import column_called, number_in, quoted
from jtruth.io.apply import BETWEEN
from jtruth.io.columns import Columns, is_beside, is_rater, role_of, says_something
from jtruth.io.plan import FilePlan
from jtruth.io.parsing import as_table
from jtruth.io.reading import opened, parsed_or_frame

FIRST, SECOND, TIE = 0, 1, 2  # codes of answers: which system of the pair is better
_SHOWN_FIRST, _SHOWN_SECOND, _NOTHING = 3, 4, -1
_THING = (
    r"(?:model|system|assistant|response|output|answer|generator|option|candidate|side|text|summary|story)"
)
_BETTER = r"(?:[\W_]*(?:is[\W_]*)?(?:slightly|much|far|significantly)?[\W_]*(?:better|best|wins?|won|winner|preferred))?"
_SIDE = re.compile(
    rf"[\W_]*(?:{_THING}[\W_]*)?(a|b|1|2|one|two|left|right|first|second)(?:[\W_]*{_THING})?{_BETTER}[\W_]*"
)
_CODE = {"a": 0, "1": 0, "one": 0, "b": 1, "2": 1, "two": 1, "left": 3, "first": 3, "right": 4, "second": 4}
_TIE = re.compile(r"(.*\b)?(ties?|tied|draw|drawn)\b.*|both\b.*|neither\b.*|equal.*|(about )?the same|same|similar"
                  r"|no (preference|winner|difference)|[\W_]*c[\W_]*|=|a ?=+ ?b")  # fmt: skip
_NO_VERDICT = {"error", "invalid", "skip", "skipped", "unknown", "unsure", "$error$"}
_ENDS = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("one", "two"))
_SYSTEM = {"model", "system", "generator", "assistant", "bot", "candidate", "player", "agent", "engine", "llm",
           "method", "policy", "variant", "modelname", "systemname", "name", "competitor"}  # fmt: skip
_WON = (("winner", "loser"), ("chosen", "rejected"), ("preferred", "rejected"), ("better", "worse"))
_WINNER = ("winner", "win", "preferred", "preference", "pref", "choice", "verdict", "outcome", "result", "vote",
           "judgment", "judgement", "label", "answer", "better", "rating", "value")  # fmt: skip
_ORDER = re.compile(
    r"(is_?)?(swap|swapped|flipped|reversed|exchanged)|order|position|ordering|(shown|presented)_first|first_shown"
)
_AS_WRITTEN = {"false", "no", "0", "ab", "original", "normal", "a_first", "a first", "1", "as given"}
_EXCHANGED = {
    "true",
    "yes",
    "1",
    "2",
    "ba",
    "swapped",
    "reversed",
    "exchanged",
    "flipped",
    "b_first",
    "b first",
}
_QUESTION = ("instruction", "question_text", "conversation_id", "battle", "match", "game")


class Comparisons(NamedTuple):
    """Answers to comparisons of two systems each; `read_preferences` makes it."""

    systems: tuple[str, ...]
    judges: tuple[str, ...]
    names: tuple[str, ...]  # of the comparisons: the question, and the pair where there are several
    question: Int[np.ndarray, " comparisons"]
    pair: Int[np.ndarray, "comparisons 2"]  # codes of the two systems, the lower first
    item: Int[np.ndarray, " answers"]  # the comparison that was judged
    judge: Int[np.ndarray, " answers"]
    exchanged: Int[
        np.ndarray, " answers"
    ]  # 0: the first of the pair was shown first; 1: the second; -1: not known
    answer: Int[np.ndarray, " answers"]  # 0: the first of the pair is better; 1: the second; 2: tie
    gold: Int[np.ndarray, " comparisons"]  # the same where it is verified, -1 elsewhere
    notes: tuple[str, ...] = ()

    __repr__ = one_line


class _Roles(NamedTuple):
    """Which column is which."""

    systems: tuple[str, str] | None
    answers: tuple[str, ...]  # of the winner; several: one for each judge, or the two orders
    how: str  # "one", "judges", "orders", "flags", "won"
    task: tuple[str, ...]
    judge: str | None
    order: str | None


class _Row(NamedTuple):
    """One answer: place in the table, question with its turn and without, systems in columns a and b, ..."""

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
    systems: Sequence[str] | None = None,
    order: str | None = None,
    plan: FilePlan | None = None,
    sep: str | None = None,
) -> Comparisons:
    """Comparisons from a file of any kind, or a data frame.

    Args:
        path: the file, "-" or a frame.
        gold: verified preferences: "column:NAME", "worker:NAME", or a table with the same questions.
        systems: the two columns that name the systems.
        order: column that says whether the answers were shown in exchanged order, or who was shown first.
        plan: what was said of the columns task, worker, label and labelers, and of the words in them (map,
            classes, abstain, repeats).
        sep: separator.

    Raises:
        ValueError: naming the file and the first rows that cannot be used: no column of winners, a winner that
            is neither system, different answers of a judge to one comparison in one order.
    """
    plan = plan or FilePlan()
    table, (kind, _, name) = _table(path, sep), str(gold).partition(":")
    columns = Columns(table)
    roles = _roles(columns, plan, tuple(systems or ()), order)
    rows, notes = _rows(columns, roles, plan)
    known: dict[tuple[str, frozenset[str]], set[str]] = {}
    if kind == "worker":
        mine = [row for row in rows if row.judge == name]
        if not mine:
            raise ValueError(
                table.source.says(f"no judge {name!r}; there are {quoted({r.judge for r in rows})}")
            )
        rows = [row for row in rows if row.judge != name]
        known = _verdicts(mine)
    elif kind == "column":
        check_columns(columns.header, {"gold": name}, table.source)
        known = _verdicts(_rows(columns, roles._replace(answers=(name,), how="one", judge=None), plan)[0])
    found = _compiled(rows, plan, columns, roles, tuple(dict.fromkeys((*table.notes, *notes))))
    if gold is not None and kind not in ("worker", "column"):
        return _with_gold_table(found, rows, _table(gold, sep), plan)
    return _with_gold(found, known) if known else found


def _table(path: Any, sep: str | None) -> TextTable:
    """A file as a table; of exports of tools that name no systems the labels they hold."""
    file = parsed_or_frame(path, sep)
    with suppress(ValueError):
        table = as_table(file)
        if isinstance(file, TextTable) or _pair(Columns(table)):
            return table
    return opened(file, None, sep).table


def _roles(columns: Columns, plan: FilePlan, systems: tuple[str, ...], order: str | None) -> _Roles:
    """Columns by what was said, by their names, by their cells."""
    header, source = columns.header, columns.table.source
    asked = {"systems": systems, "order": [order], "task": plan.task or (), "worker": [plan.worker],
             "label": [plan.label], "labelers": plan.labelers or ()}  # fmt: skip
    for role, names in asked.items():
        for name in names or ():
            if name is not None:
                check_columns(header, {role: name}, source)
    if systems and len(systems) != 2:
        raise ValueError(f"systems names {len(systems)} columns; name the two that hold the systems")
    pair = (systems[0], systems[1]) if systems else _pair(columns)
    rest = [name for name in header if name not in (pair or ())]
    order = order or next((n for n in rest if _ORDER.fullmatch(n.casefold()) and _is_order(columns, n)), None)
    rest = [name for name in rest if name != order]
    task = plan.task or tuple(filter(None, [column_called("task", rest)]))[:1] or _named(rest, _QUESTION)
    rest = [name for name in rest if name not in task]
    judge = plan.worker or column_called("worker", rest)
    answers, how = _answers(columns, plan, [name for name in rest if name != judge], pair)
    judge = None if judge in answers else judge
    if how == "won":
        pair = (answers[0], answers[1])
    if task and not plan.task:  # turns of one question are comparisons of their own
        task += tuple(name for name in rest if name.casefold() == "turn" and name not in answers)
    return _Roles(pair, answers, how, tuple(task), judge, order)


def _named(names: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """The first column of one of these names."""
    return next(((n,) for word in words for n in names if re.sub(r"[\W_]", "", n.casefold()) ==
                 word.replace("_", "")), ())  # fmt: skip


def _pair(columns: Columns) -> tuple[str, str] | None:
    """Two columns of systems: model_a and model_b, generator_1 and generator_2, ..."""
    plain = {re.sub(r"[\W_]", "", name.casefold()): name for name in columns.header}
    for unknown in (False, True):
        for one, name in plain.items():
            for a, b in _ENDS:
                other = plain.get(one.removesuffix(a) + b) if one.endswith(a) else None
                known = one.removesuffix(a) in _SYSTEM
                if other is None or (unknown and not _repeats(columns, name, other)):
                    continue
                if (known or unknown) and not (_are_answers(columns, name) and _are_answers(columns, other)):
                    return name, other
    return None


def _repeats(columns: Columns, a: str, b: str) -> bool:
    """Whether two columns hold names that come again, and no texts or numbers."""
    values = {*columns.values(a), *columns.values(b)}
    texts = any(columns.is_text_or_time(name) or columns.numbers(name) for name in (a, b))
    return not texts and 1 < len(values) <= columns.size // 2 and not is_rater(a)


def _are_answers(columns: Columns, name: str) -> bool:
    """Whether all cells say which of two is better."""
    words = columns.values(name)
    return bool(words) and all(code_of(word) is not None for word in words)


def _answers(
    columns: Columns, plan: FilePlan, rest: list[str], pair: tuple[str, str] | None
) -> tuple[tuple[str, ...], str]:
    """The columns of the winner, and what several of them are."""
    if plan.label:
        return (plan.label,), "one"
    if plan.labelers:
        return plan.labelers, "judges"
    free = [name for name in rest if role_of(name) not in ("gold", "derived")]
    plain = {re.sub(r"[\W_]", "", name.casefold()): name for name in free}
    for one, name in plain.items():  # two games, or a flag for each end
        game = re.sub("1", "2", one, count=1)
        if "1" in one and game in plain and any(word in one for word in _WINNER):
            return (name, plain[game]), "orders"
    flags = [name for word, name in plain.items() if word.startswith("winner") and columns.numbers(name)]
    if len(flags) == 3 and "tie" in flags[2].casefold():
        return tuple(flags), "flags"
    if pair is None and (won := next((w for w in _WON if set(w) <= set(plain)), None)):
        return (plain[won[0]], plain[won[1]]), "won"
    if named := _named(free, _WINNER):
        return named, "one"
    several = [n for n in free if _are_answers(columns, n) and not is_beside(n)]
    several = [n for n in several if not columns.numbers(n) or is_rater(n)]
    if several:
        return tuple(several), "judges"
    advice = "Say label=... (at the command line --label NAME), or labelers=... (--labelers A,B) for one each"
    raise ValueError(
        columns.table.source.says(
            f"no column says who won; columns are {quoted(columns.header, 12)}. {advice}"
        )
    )


def _is_order(columns: Columns, name: str) -> bool:
    """Whether the cells of a column can say who was shown first: by few words, or names of systems."""
    words = {value.casefold() for value in columns.values(name)}
    few = len(words) <= columns.size // 2 and not columns.numbers(name)
    return bool(words) and (words <= _AS_WRITTEN | _EXCHANGED or few)


def code_of(text: str) -> int | None:
    """What a cell says: 0 or 1 the first or second system by its column, 2 tie, 3 or 4 by its place, -1 nothing.

    >>> [code_of(text) for text in ("model_a", "[[B]]", "tie (bothbad)", "A>>B", "response 2 better", "left", "gpt")]
    [0, 1, 2, 0, 1, 3, None]
    """
    word = text.strip().casefold()
    if not says_something(text) or word in _NO_VERDICT:
        return _NOTHING
    if found := re.fullmatch(r"\W*([ab])\s*([<>])+\s*[ab]\W*", word):
        return int((found[1] == "a") != (found[2] == ">"))
    if _TIE.fullmatch(word):
        return TIE
    number = number_in(word)
    if number == number:
        return {1.0: 0, 2.0: 1, 1.5: 2}.get(number)
    found = _SIDE.fullmatch(word)
    return None if found is None else _CODE[found[1]]


def _codes(columns: Columns, names: Sequence[str], plan: FilePlan) -> dict[str, tuple[int | None, str]]:
    """(code, word) of every different cell of these columns, in the words of the plan."""
    cells = dict.fromkeys(value for name in names for value in columns[name])
    said = {key.casefold(): name for key, name in (plan.map or {}).items()}
    classes, silent = plan.classes or (), {word.casefold() for word in plan.silent}
    words = {cell: said.get(cell.strip().casefold(), cell.strip()) for cell in cells}
    coded = {c: classes[int(w)] for c, w in words.items() if w.isdecimal() and int(w) < len(classes)}
    words |= coded
    numbers = {number_in(word) for word in words.values() if says_something(word)}
    by_number = _by_number(numbers) if numbers and all(n == n for n in numbers) else {}
    if by_number is None:
        text = f"who won is written as numbers ({', '.join(f'{n:g}' for n in sorted(numbers)[:6])})"
        advice = "Say what they mean by map=... (at the command line --map 1=A,2=B,3=tie)"
        raise ValueError(columns.table.source.says(f"{text}. {advice}"))
    nothing = {cell for cell, word in words.items() if word.casefold() in silent}
    return {
        c: (_NOTHING if c in nothing else by_number.get(number_in(w), code_of(w)), w)
        for c, w in words.items()
    }


def _by_number(numbers: set[float]) -> dict[float, int] | None:
    """Codes of numbers, where only one way to read them is usual: 1, 2 (1.5 a tie); 1, -1; 1, 0 with .5 a tie."""
    if all(1 <= n <= 2 for n in numbers):
        return {n: TIE if n == 1.5 else int(n > 1.5) for n in numbers}
    for first, second, tie in ((1.0, -1.0, 0.0), (1.0, 0.0, 0.5)):
        if numbers <= {first, second, tie} and {second if tie == 0 else tie} <= numbers:
            return {first: FIRST, second: SECOND, tie: TIE}
    return None


def _rows(columns: Columns, roles: _Roles, plan: FilePlan) -> tuple[list[_Row], list[str]]:
    """One row for each answer; ValueError: winners that are neither system."""
    table, size = columns.table, columns.size
    key = [columns[name] for name in roles.task]
    lead = [c for c, name in zip(key, roles.task, strict=True) if name.casefold() != "turn" or len(key) == 1]
    names = _sides(columns, roles, plan) if roles.systems is None else ("", "")
    a_of, b_of = (columns[n] for n in roles.systems) if roles.systems else ([n] * size for n in names)
    said = set(map(str.casefold, columns.values(roles.order))) if roles.order else set()
    usual = False if roles.systems or roles.how == "orders" else None
    rows, lost, bad = [], Counter(), []
    for cells, who, game in _given(columns, roles):
        codes = {} if roles.how in ("flags", "won") else _codes(columns, who, plan)
        for k, cell in enumerate(cells):
            a, b = a_of[k].strip(), b_of[k].strip()
            code = cell if isinstance(cell, int) else _named_code(*codes[cell], a, b)
            shown = (
                _exchanged(columns[roles.order][k].strip().casefold(), a, b, said) if roles.order else usual
            )
            exchanged = None if shown is None or roles.how == "won" else shown != game
            if code is None or not (a and b):
                bad.append((k, cell if a and b else ""))
            elif code == _NOTHING or a == b:
                lost["that compare a system with itself" if a == b else "without a winner"] += 1
            else:
                code = abs(code - 3 - bool(exchanged)) if code > TIE else code  # by its place
                task, question = (BETWEEN.join(c[k] for c in some) or str(k) for some in (key, lead))
                judge = _judge(columns[roles.judge][k]) if roles.judge else who[0]
                rows.append(_Row(k, task, question, a, b, judge, exchanged, code))
    if bad:
        where, cell = [k for k, _ in bad], bad[0][1]
        what = f"winner {cell!r} is neither system ({a_of[where[0]]!r}, {b_of[where[0]]!r}) nor a tie"
        advice = "Correct it, or say by map=... what it means (A, B, tie or nothing)"
        raise ValueError(f"{table.source.at(where)}: {what if cell else 'a system has no name'}. {advice}")
    if not rows:
        raise ValueError(table.source.says("no row says which of two different systems is better"))
    return rows, [table.source.says(f"{many} rows {why} were left out.") for why, many in lost.items()]


def _named_code(code: int | None, word: str, a: str, b: str) -> int | None:
    """The name of a system goes first, then words for sides and ties."""
    return {b.casefold(): SECOND, a.casefold(): FIRST}.get(word.casefold(), code)


def _given(columns: Columns, roles: _Roles) -> Iterator[tuple[Sequence[Any], tuple[str, ...], bool]]:
    """(cells, columns they are from, whether it is the game in exchanged order) for each column of answers."""
    if roles.how == "won":
        yield [FIRST] * columns.size, roles.answers, False
    elif roles.how == "flags":
        flags = np.array([[number_in(cell) == 1 for cell in columns[name]] for name in roles.answers])
        yield np.where(flags.sum(axis=0) == 1, flags.argmax(axis=0), _NOTHING).tolist(), roles.answers, False
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
        if cell.startswith("["):
            return " ".join(map(str, json.loads(cell)))
    return cell.strip() or "judge"


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
    cut = re.compile(rf"{_BETTER}$", re.IGNORECASE)
    named = {code % 3: cut.sub("", word).strip("[] ") for code, word in words
             if code in (0, 1, 3, 4) and number_in(word) != number_in(word)}  # fmt: skip
    return named.get(FIRST, "A"), named.get(SECOND, "B")


def _verdicts(rows: list[_Row]) -> dict[tuple[str, frozenset[str]], set[str]]:
    """Who is verified to be better, "" a tie, by comparison."""
    known: dict[tuple[str, frozenset[str]], set[str]] = {}
    for row in rows:
        known.setdefault((row.task, frozenset((row.a, row.b))), set()).add((row.a, row.b, "")[row.code])
    return known


def _compiled(rows: list[_Row], plan: FilePlan, columns: Columns, roles: _Roles, notes: tuple) -> Comparisons:
    """Codes for names; what is odd in the design is said, and contradictory repeats are refused."""
    place = _places(name for row in rows for name in (row.a, row.b))
    judges, systems = _places(row.judge for row in rows), list(place)
    questions, items, of_item, cells = _places(row.question for row in rows), {}, [], {}
    for row in rows:
        turned = place[row.a] > place[row.b]
        pair = tuple(sorted((place[row.a], place[row.b])))
        item = items.setdefault((row.task, *pair), len(items))
        of_item += [questions[row.question]] * (item == len(of_item))
        answer = row.code if row.code == TIE or not turned else 1 - row.code
        exchanged = -1 if row.exchanged is None else int(row.exchanged != turned)
        cells.setdefault((item, judges[row.judge], exchanged), []).append((row.k, answer))
    kept, more = _once(cells, plan, columns.table, roles)
    answers = np.array(kept, np.int64).reshape(-1, 4).T
    names = [t if len(systems) == 2 else BETWEEN.join((t, systems[a], systems[b])) for t, a, b in items]
    if not roles.task:
        more.append("No column names the question, so each row is a question of its own (--task NAME).")
    found = Comparisons(tuple(systems), tuple(judges), tuple(names), np.array(of_item), np.array([p for _, *p in items]),
                        *answers, np.full(len(items), -1), (*notes, *more))  # fmt: skip
    _check_connected(found, columns.table)
    return found


def _places(names: Iterable[str]) -> dict[str, int]:
    """The names in the order of their appearance, and the place of each."""
    return {name: k for k, name in enumerate(dict.fromkeys(names))}


def _once(
    cells: dict, plan: FilePlan, table: TextTable, roles: _Roles
) -> tuple[list[tuple[int, ...]], list[str]]:
    """One answer of a judge to a comparison in one order, or all where no column names judges."""
    kept, same, differ = [], 0, []
    for where, given in cells.items():
        answers = [answer for _, answer in given]
        if len(given) == 1 or plan.repeats == "keep" or (roles.judge is None and roles.how == "one"):
            kept += [(*where, answer) for answer in answers]
            continue
        same += len(given) - 1
        if len(set(answers)) > 1 and plan.repeats is None:
            differ += [k for k, _ in given]
        kept.append((*where, answers[-1 if plan.repeats == "last" else 0]))
    if differ:
        what = "the same judge gives different answers to the same comparison in the same order"
        advice = "repeats='first', 'last' or 'keep', or name another column of the question by task=..."
        raise ValueError(f"{table.source.at(sorted(differ))}: {what}. Say {advice}")
    return kept, [table.source.says(f"{same} rows repeat an answer and were counted once.")] * bool(same)


def _check_connected(found: Comparisons, table: TextTable) -> None:
    """Refuse systems that no chain of comparisons connects: nothing says how they compare."""
    group = np.arange(len(found.systems))
    for a, b in np.unique(found.pair, axis=0):
        group[group == group[b]] = group[a]
    parts = [[found.systems[k] for k in np.flatnonzero(group == g)] for g in np.unique(group)]
    if len(parts) > 1:
        text = f"{quoted(parts[1])} never met {quoted(parts[0])}, directly or through others"
        raise ValueError(table.source.says(f"{text}: ask about each group by itself"))


def _with_gold(
    found: Comparisons, known: dict[tuple[str, frozenset[str]], set[str]], strict: bool = False
) -> Comparisons:
    """Verified preferences of these comparisons; of several different ones of a comparison a tie."""
    gold, where = found.gold.copy(), {}
    for k, ((a, b), name) in enumerate(zip(found.pair, found.names, strict=True)):
        pair = found.systems[a], found.systems[b]
        task = name if len(found.systems) == 2 else name.removesuffix(BETWEEN.join(("", *pair)))
        where[task, frozenset(pair)] = k, pair
    unknown = [task for task, pair in known if (task, pair) not in where]
    if unknown and strict:
        raise ValueError(f"gold: {len(unknown)} verified comparisons are not among these ({quoted(unknown)})")
    for key, verdict in known.items():
        if key in where:
            k, pair = where[key]
            gold[k] = TIE if len(verdict) > 1 else (*pair, "").index(next(iter(verdict)))
    return found._replace(gold=gold)


def _with_gold_table(found: Comparisons, rows: list[_Row], table: TextTable, plan: FilePlan) -> Comparisons:
    """Gold of another table, whose sides are those of the comparisons where it names no systems."""
    columns = Columns(table)
    roles = _roles(columns, FilePlan(classes=plan.classes, map=plan.map), (), None)
    mine, _ = _rows(columns, roles, FilePlan(classes=plan.classes, map=plan.map))
    if not {row.a for row in mine} <= set(found.systems):  # sides
        sides = {(row.task, row.a, row.b): row for row in rows}
        by_task: dict[str, list[_Row]] = {}
        for row in sides.values():
            by_task.setdefault(row.task, []).append(row)
        if several := [row.task for row in mine if len(by_task.get(row.task, ())) > 1]:
            text = f"which comparison of {quoted(several)} is meant? Add the columns of the systems"
            raise ValueError(table.source.says(text))
        mine = [
            row._replace(a=by_task[row.task][0].a, b=by_task[row.task][0].b)
            for row in mine
            if row.task in by_task
        ]
        if not mine:
            raise ValueError(table.source.says("no question of the gold is among the comparisons"))
    return _with_gold(found, _verdicts(mine), strict=True)
