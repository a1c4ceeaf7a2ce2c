"""Methods of every result: `__repr__ = one_line` and, where it has a picture, `plot = picture`.

One line is the name and fields: numbers and short texts, type and shape of arrays, sizes of containers, and
names of other results, without computing anything. Pictures need matplotlib, which is imported on first use;
`jtruth.plots.blocks` defines them.
"""

import dataclasses
import reprlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

_MOST, _TEXT, _ITEMS = 200, 40, 4  # characters of a line and of a text in it, items of a tuple shown


def one_line(self: Any) -> str:
    """`Name(field=..., ...)` of a NamedTuple or dataclass, at most 200 characters."""
    names = getattr(self, "_fields", None) or [field.name for field in dataclasses.fields(self)]
    fields = [f"{name}={_brief(getattr(self, name, None))}" for name in names if not name.startswith("_")]
    line = f"{type(self).__name__}({', '.join(fields)})"
    return line if len(line) <= _MOST else line[: _MOST - 4] + "...)"


def picture(self: Any, ax: Any = None, *, full: bool = False, assumptions: bool = False) -> Any:
    """Draw this answer: a new Figure, or its first panel on `ax`.

    Of an evaluation, `assumptions` adds the mean under each (some may have to be fitted), `full` all panels.
    Needs matplotlib (the extra `plots`). `jtruth.plots` has functions with more options.
    """
    plots = import_module(f"{__package__}.plots")
    return plots.plot_result(self, ax=ax, full=full, assumptions=assumptions)


def _brief(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _TEXTS.repr(value)
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        text = f"{value:.4g}"
        return f"{text}.0" if text.removeprefix("-").isdigit() else text
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        comma = "," if len(value) == 1 else ""
        return f"({', '.join(map(_brief, value))}{comma})" if _is_few(value) else f"({len(value)} items)"
    if isinstance(value, Mapping | set | frozenset):
        return f"{{{len(value)} items}}"
    if isinstance(value, type) or callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return f"{type(value).__name__}(...)"


def _is_few(value: tuple | list) -> bool:
    """Whether a tuple has only few numbers or texts, or pairs of them."""
    inside = [item for one in value for item in (one if type(one) is tuple else (one,))]
    return len(value) <= _ITEMS >= len(inside) and all(i is None or isinstance(i, _PLAIN) for i in inside)


_PLAIN = str | bool | int | float
_TEXTS = reprlib.Repr()
_TEXTS.maxstring = _TEXT
