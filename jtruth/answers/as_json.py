"""An answer as plain numbers, lists and strings, ready for JSON; and laws and arrays as such."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jtruth._version import __version__
from jtruth.answers.blocks import Block, Curve, Facts, Matrix, Notes, Shown, Table

SCHEMA = 1  # of the JSON; larger where a name changes its meaning or goes away


def answer_dict(shown: Shown) -> dict[str, Any]:
    """The answer by the names of its blocks; a name with a point is inside another."""
    found: dict[str, Any] = {
        "jtruth": __version__,
        "schema": SCHEMA,
        "question": shown.question,
        "sentence": shown.sentence,
        "about": shown.about,
        "look_first": list(shown.alarms),
    }
    for block in shown.blocks:
        for name, value in _values(block):
            _put(found, name.split("."), plain_json(value))
    return found | ({"next": shown.next} if shown.next else {})


def _values(block: Block) -> list[tuple[str, Any]]:
    """What a block holds, by name."""
    match block:
        case Facts():
            return [(one.name, one.value) for one in block.items if one.name]
        case Table() if block.by_name:
            value = {row[block.key]: _without(row, (block.key, *block.aside)) for row in block.rows}
        case Table():
            value = [_without(row, block.aside) for row in block.rows]
        case Matrix():
            value = dict(block.cells)
        case Curve():
            only = len(block.series) == 1
            value = block.series[0].points if only else {one.name: one.points for one in block.series}
        case Notes():
            value = [note.text if note.data is None else note.data for note in block.items]
    return [(block.name, value)] if block.name else []


def _without(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _put(found: dict[str, Any], path: list[str], value: Any) -> None:
    """Put a value at its place; objects of the same name are one."""
    *folders, name = path
    for folder in folders:
        found = found.setdefault(folder, {})
    old = found.get(name)
    found[name] = old | value if isinstance(old, dict) and isinstance(value, dict) else value


def law_row(law: Any, level: float) -> dict[str, Any]:
    """Mean, mode, sd, shortest interval and the probability that the number is defined, of an `Estimate`."""
    names = ("mean", "mode", "sd", "low", "high", "probability_defined")
    if law.mean != law.mean:  # never defined: there is no more to ask
        return dict.fromkeys(names) | {"probability_defined": plain_json(law.probability_defined)}
    low, high = law.interval(level)
    values = (law.mean, law.mode, law.sd, low, high, law.probability_defined)
    row = dict(zip(names, values, strict=True))
    return {name: plain_json(value) for name, value in row.items()}


def plain_json(value: Any) -> Any:
    """JSON-ready: NumPy to lists and numbers, NaN and infinities to None."""
    if isinstance(value, np.ndarray):
        return [plain_json(v) for v in value.tolist()]
    if isinstance(value, Mapping):
        return {name: plain_json(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
