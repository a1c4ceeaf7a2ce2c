"""Verdicts of scorers on samples, and the rows that they become.

A log is read by a generator of `Verdict`s, which `verdicts` makes a reader like all others. Scorers are
labelers. A model under test is a column `model`, and a part of the task where several models answered one
sample: what is judged is one answer. One scorer that is called human is proposed as gold, and a labeler
until it is used so, if its labels are those of the others. Where the scorers have different scales nothing
is guessed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from jtruth._validation.words import number_in, quoted
from jtruth.io.label_rows import GOLD, LabelRows, as_text

Verdict = tuple[Any, Any, Any, dict[str, Any]]  # sample, scorer, value, entries of other columns
_PEOPLE = {"human", "humans", "gold", "truth", "expert", "annotation", "annotator", "manual"}
_LETTERS = {1.0: "C", 0.5: "P", 0.0: "I"}  # inspect_ai's correct, partial and incorrect; N is no answer
_LONGEST = 80  # characters of a value that can name a group
_TAKEN = {"self", "task", "worker", "label", "model", "epoch", "repeat", "order", "time"}


def verdicts(who: str = "scorer", people: bool = True) -> Callable:
    """Makes a reader of a generator with the same arguments, which sets `rows.record` before each verdict.

    Args:
        who: what the tool calls a scorer.
        people: whether a scorer who is called human is gold.
    """

    def reader_of(generator: Callable[..., Iterator[Verdict]]) -> Callable[..., LabelRows]:
        @wraps(generator)
        def reader(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
            rows.wanted, rows.empty = label, "verdicts without a value"
            kept = [(rows.record, *one) for one in generator(rows, records, label)]
            if rows.wanted is not None:
                wanted = rows.one_of((as_text(one[2]) for one in kept), rows.wanted, who)
                kept = [one for one in kept if as_text(one[2]) == wanted]
            return _rows_of(rows, kept, who, people and rows.wanted is None)

        return reader

    return reader_of


def _rows_of(rows: LabelRows, kept: list[tuple], who: str, people: bool) -> LabelRows:
    """Rows of verdicts with their records; `people`: whether one scorer who is called human is gold."""
    scorers = dict.fromkeys(as_text(one[2]) for one in kept if as_text(one[3]))
    human = [scorer for scorer in scorers if people and called_human(scorer)]
    human = human if len(human) == 1 < len(scorers) else []
    told = _on_one_scale(rows, [one for one in kept if as_text(one[2]) not in human], who)
    models = defaultdict(set)
    for _, sample, _, _, more in kept:
        models[as_text(sample)].add(as_text(more.get("model")))
    several = any(len(some) > 1 for some in models.values())
    truth: dict[str, Counter] = defaultdict(Counter)
    said = {
        name: {as_text(told(one[3])) for one in kept if (as_text(one[2]) in human) is name}
        for name in (True, False)
    }
    rows.person = human[0] if human and said[True] <= said[False] else ""
    for rows.record, sample, scorer, value, more in kept:
        task = f"{as_text(sample)} | {as_text(more.get('model'))}" if several else as_text(sample)
        if as_text(scorer) not in human or rows.person:
            rows.add(task, scorer, told(value), **more)
        if as_text(scorer) in human and as_text(value):
            truth[task][as_text(told(value))] += 1
    for task, counts in truth.items():  # epochs that contradict one another are no truth
        first, *others = counts.most_common(2)
        rows.aside(GOLD, task, None if others and others[0][1] == first[1] else first[0])
    if human:
        what = "one of the labelers here, or" if rows.person else "no labeler here, and with"
        rows.notes += (f"{quoted(human)} seems to be a person: {what} --gold export:{GOLD} verified labels.",)
    return rows.done(who=who)


def called_human(scorer: str) -> bool:
    """Whether it is called so: "correct_human", "goldLabel"."""
    return not _PEOPLE.isdisjoint(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", scorer))


def _on_one_scale(rows: LabelRows, kept: list[tuple], who: str) -> Callable[[Any], Any]:
    """How values are written: whole numbers without a point, true as 1 beside numbers, 1 as C beside I."""
    values: dict[str, set] = defaultdict(set)
    for _, _, scorer, value, _ in kept:
        some = value if isinstance(value, list) else [value]
        values[as_text(scorer)] |= {_number(one) for one in some if as_text(one)}
    words = {name for name, some in values.items() if any(isinstance(one, str) for one in some)}
    numbers = [some for name, some in values.items() if name not in words]
    letters = {one for name in words for one in values[name]} <= {*_LETTERS.values(), "N"}
    table = _LETTERS if words and letters and all(some <= set(_LETTERS) for some in numbers) else {}
    grades = any(max(some, default=0) > 1 for some in numbers)
    if (words and any(numbers) and not table) or (grades and any(0 < n < 1 for s in numbers for n in s)):
        shown = "; ".join(f"{name}: {quoted(sorted(some, key=str), 3)}" for name, some in values.items())
        one = f"for instance --label {next(iter(values))!r}"
        raise ValueError(
            rows.source.says(f"the {who}s have different scales ({shown}). Read one alone, {one}")
        )
    mixed = any(not isinstance(one[3], bool) for one in kept)

    def told(value: Any) -> Any:
        if isinstance(value, bool | int | float) and value in table:
            return table[float(value)]
        whole = (isinstance(value, bool) and mixed) or (isinstance(value, float) and value.is_integer())
        return int(value) if whole else value

    return told


def _number(value: Any) -> Any:
    """A value as a number, where it is one."""
    number = float(value) if isinstance(value, bool) else number_in(as_text(value))
    return as_text(value) if number != number else number


def groups(metadata: Any) -> dict[str, Any]:
    """The short plain values of a sample's metadata, each a column that can name groups."""
    entries = metadata.items() if isinstance(metadata, dict) else ()
    short = {k: v for k, v in entries if isinstance(v, str | int | float) and len(str(v)) <= _LONGEST}
    return {f"metadata.{name}" if name in _TAKEN else str(name): value for name, value in short.items()}


def texts(value: Any) -> list[str]:
    """A list as texts; one value is a list of one."""
    return [as_text(part) for part in value] if isinstance(value, list) else [as_text(value)]
