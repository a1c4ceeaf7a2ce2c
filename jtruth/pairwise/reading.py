"""Read tables of comparisons: question, two systems, order, judge and winner.

Usual layouts: model_a, model_b, winner; two games in exchanged orders (g1_winner, g2_winner); flags of each
outcome (winner_model_a, ...); winner, loser; a column for each judge; two systems without columns.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth._validation.ids import check_columns
from jtruth._validation.text import TextTable
from jtruth._validation.words import number_in, number_of, quoted
from jtruth.io.apply import BETWEEN
from jtruth.io.columns import Columns, says_something
from jtruth.io.parsing import as_table, parsed
from jtruth.io.plan import FilePlan
from jtruth.io.reading import opened
from jtruth.pairwise.columns import (
    FIRST,
    NOTHING,
    SECOND,
    TIE,
    Roles,
    codes_of,
    exchanged_in,
    pair_of,
    people_of,
    roles_of,
    sides_of,
)

NOBODY, UNNAMED = "judge", "(unnamed)"  # names of judges without a column, or with an empty cell
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
    people: str = ""  # verified preferences in the file, as `gold` of `read_preferences`

    __repr__ = one_line


class _Row(NamedTuple):
    """One answer: its row in the table, its question with and without the turn, ..., the winner."""

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
    """Read comparisons from a file of any kind, or a data frame.

    Args:
        path: the file, "-" or a frame.
        gold: verified preferences: "column:NAME", "worker:NAME", or a table with the same questions.
        systems: the two columns that name the systems.
        order: column with the order in which answers were shown, or the one shown first.
        plan: columns task, worker, label and labelers, and the words in them (map, classes, abstain,
            repeats).
        sep: separator.

    Raises:
        ValueError: naming the file and the first unusable rows: no column of winners, a winner that is
            neither system, different answers of a judge to one comparison in one order, systems that never
            met.
    """
    plan = plan or FilePlan()
    table, (kind, _, name) = _table(path, sep), (gold if isinstance(gold, str) else "").partition(":")
    columns = Columns(table, leave_out=[name] if kind == "column" else ())
    roles, doubts = roles_of(columns, plan, tuple(systems), order)
    rows, notes = _rows(columns, roles, plan)
    verified: list[_Row] = []
    if kind == "worker":
        every, rows = rows, [row for row in rows if row.judge != name]
        verified = [row for row in every if row.judge == name]
        if not verified or not rows:
            text = f"no judge {name!r} besides others; there are {quoted(sorted({r.judge for r in every}))}"
            raise ValueError(table.source.says(text))
    elif kind == "column":
        check_columns(columns.header, {"gold": name}, table.source)
        verified, _ = _rows(columns, roles._replace(answers=(name,), how="one", judge=None), plan)
    elif gold is not None:
        known, plain = Columns(_table(gold, sep)), FilePlan(classes=plan.classes, map=plan.map)
        verified, _ = _rows(known, roles_of(known, plain)[0], plain)
    found = _compiled(rows, plan, columns, roles, (*table.notes, *doubts, *notes))
    found = found._replace(people="" if gold is not None else people_of(columns, roles, found.judges))
    return _with_gold(found, verified) if verified else found


def _table(path: Any, sep: str | None) -> TextTable:
    """A file as a table; for exports of annotation tools without systems, their labels."""
    file = parsed(path, sep)
    with suppress(ValueError):
        table = as_table(file, known=False)
        if isinstance(file, TextTable) or pair_of(Columns(table)):
            return table
    return opened(file, None, sep).table


def _rows(columns: Columns, roles: Roles, plan: FilePlan) -> tuple[list[_Row], list[str]]:
    """One row for each answer; ValueError: winners that are neither system."""
    table, size = columns.table, columns.size
    key = [columns[name] for name in roles.task]
    lead = [c for c, name in zip(key, roles.task, strict=True) if name.casefold() != "turn" or len(key) == 1]
    sides = sides_of(columns, roles, plan) if roles.systems is None else ("", "")
    a_of, b_of = (columns[n] for n in roles.systems) if roles.systems else ([n] * size for n in sides)
    order = columns[roles.order] if roles.order else None
    orders = set(map(str.casefold, columns.values(roles.order))) if roles.order else set()
    judges = columns[roles.judge] if roles.judge else ()
    usual = False if roles.systems or roles.how == "orders" else None
    rows, lost, bad = [], Counter(), []
    for cells, who, game in _given(columns, roles):
        codes = {} if roles.how in ("flags", "won") else codes_of(columns, who, plan)
        for k, cell in enumerate(cells):
            a, b = a_of[k].strip(), b_of[k].strip()
            code, word = (cell, "") if isinstance(cell, int) else codes[cell]
            code = {b.casefold(): SECOND, a.casefold(): FIRST}.get(word.casefold(), code)
            shown = usual if order is None else exchanged_in(order[k].strip().casefold(), a, b, orders)
            exchanged = None if shown is None or roles.how == "won" else shown != game
            if not (a and b) or (code is None and a != b):
                bad.append((k, cell if a and b else ""))
            elif code is None or code == NOTHING or a == b:
                lost["comparing a system with itself" if a == b else "without a winner"] += 1
            else:
                code = abs(code - 3 - bool(exchanged)) if code > TIE else code  # by its place
                task, question = (BETWEEN.join(c[k] for c in some) or str(k) for some in (key, lead))
                judge = _judge(judges[k]) if judges else who[0] if roles.how == "judges" else NOBODY
                rows.append(_Row(k, task, question, a, b, judge, exchanged, code))
    if bad:
        where, cell = [k for k, _ in bad], bad[0][1]
        what = f"winner {cell!r} is neither system ({a_of[where[0]]!r}, {b_of[where[0]]!r}) nor a tie"
        advice = "Correct it, or translate it by map=... (to A, B, tie or nothing)"
        raise ValueError(f"{table.source.at(where)}: {what if cell else 'a system has no name'}. {advice}")
    if not rows:
        raise ValueError(table.source.says("no row compares two different systems"))
    notes = [table.source.says(f"Left out: {number_of(many, 'row')} {why}.") for why, many in lost.items()]
    unnamed = sum(row.judge == UNNAMED for row in rows)
    nameless = f"{number_of(unnamed, 'answer has', 'answers have')} no judge: counted as of one more judge."
    notes += [nameless] * (unnamed > 0)
    cells = (cell for cells, _, _ in _given(columns, roles) for cell in cells)
    numbers = (number_in(cell) for cell in cells if isinstance(cell, str))
    cut = sum(1 < number < 2 and number != 1.5 for number in numbers)
    return rows, notes + [f"{cut} preferences between 1 and 2 were cut at 1.5."] * (cut > 0)


def _given(columns: Columns, roles: Roles) -> Iterator[tuple[Sequence[Any], tuple[str, ...], bool]]:
    """(cells, their columns, whether it is the game in exchanged order) for each column of answers."""
    if roles.how == "won":
        yield [FIRST] * columns.size, (), False
    elif roles.how == "flags":
        flags = np.array([[number_in(cell) == 1 for cell in columns[name]] for name in roles.answers])
        yield np.where(flags.sum(axis=0) == 1, flags.argmax(axis=0), NOTHING).tolist(), (), False
    else:
        for k, name in enumerate(roles.answers):
            yield columns[name], (name,), roles.how == "orders" and k == 1


def _judge(cell: str) -> str:
    """The name of a judge; of a list, as MT-bench writes model and prompt, its words."""
    with suppress(ValueError):
        if cell.startswith("["):
            return " ".join(map(str, json.loads(cell)))
        return cell.strip() if says_something(cell) else UNNAMED
    return cell


def _compiled(rows: list[_Row], plan: FilePlan, columns: Columns, roles: Roles, notes: tuple) -> Comparisons:
    """Codes for names; ValueError for contradictory repeats and systems that never met."""
    place = _numbered(name for row in rows for name in (row.a, row.b))
    judges, questions = _numbered(row.judge for row in rows), _numbered(row.question for row in rows)
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
        more.append("No column identifies the question, so each row is its own (task=...).")
    names = [t if len(systems) == 2 else BETWEEN.join((t, systems[a], systems[b])) for t, a, b in items]
    pair = np.array([pair for _, *pair in items])
    item, judge, exchanged, answer = np.array(kept).T
    group = np.arange(len(systems))
    for a, b in np.unique(pair, axis=0):
        group[group == group[b]] = group[a]
    if (group != group[0]).any():
        others, met = ([n for n, g in zip(systems, group, strict=True) if (g == group[0]) == one]
                       for one in (False, True))  # fmt: skip
        text = f"{quoted(others)} were never compared with {quoted(met)}, directly or through others"
        raise ValueError(columns.table.source.says(f"{text}: analyse each group alone"))
    of_role = {"question": roles.task, "systems": roles.systems or (), "winner": roles.answers,
               "judge": (roles.judge,), "order": (roles.order,)}  # fmt: skip
    return Comparisons(
        tuple(systems), tuple(judges), tuple(names), np.array(of_item), pair, item, judge, exchanged, answer,
        np.full(len(items), -1), tuple(dict.fromkeys((*notes, *more))),
        "; ".join(f"{role} {quoted(names, 8)}" for role, names in of_role.items() if any(names)),
    )  # fmt: skip


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: k for k, name in enumerate(dict.fromkeys(names))}


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
        raise ValueError(f"{table.source.at(sorted(differ))}: {what}. Give {advice}")
    return kept, [
        table.source.says(f"{number_of(same, 'row repeats', 'rows repeat')} an answer: counted once.")
    ] * bool(same)


def _with_gold(found: Comparisons, verified: list[_Row]) -> Comparisons:
    """Add verified preferences, a tie if they differ; ValueError if they are of other comparisons."""
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
    number = number_of(len(others), "verified comparison is", "verified comparisons are")
    text = f"{number} not among those judged ({quoted(others, 3)})"
    if len(others) == len(verified):
        raise ValueError(f"gold: {text}. Questions and names of systems must be the same in both")
    notes = (f"{text}, so not used.",) * bool(others)
    return found._replace(gold=gold, notes=(*found.notes, *notes))


def to_verify(found: Comparisons, number: int, rng: np.random.Generator) -> list[tuple[str, str, str, str]]:
    """Rows of `VERIFIED` for random comparisons, sides exchanged at random, for people to fill in."""
    rows, several = [], len(found.systems) > 2
    for k in rng.permutation(np.flatnonzero(found.gold < 0))[:number]:
        a, b = pair = [found.systems[s] for s in found.pair[k]]
        task = found.names[k].removesuffix(BETWEEN.join(("", a, b)) if several else "")
        turned = rng.random() < 0.5 and pair != ["A", "B"]  # which are places, not names
        rows.append((task, *(pair[::-1] if turned else pair), ""))
    return rows
