"""Write docs/results.md: every result type of the package, field by field, from the source itself.

Run: python docs/make_results.py            (a test compares the page with what this prints)

A result type is a class of this package that a public function returns, or that is found in a field, property
or method of such a class, or is a kind of one (an `Estimate`). A field has its type, with the shape of
arrays, and the comment behind it in the source; a property or method the first line of its docstring.
"""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx

import jtruth
from jtruth.stats.estimates import Estimate

PAGE = Path(__file__).parent / "results.md"
HEAD = """# What comes back

Every type that a public function of jtruth returns, by the room it lives in, with its fields and what can be
asked of it. All are plain data: the fields are the whole state. A law (`Estimate`) is asked for its mean,
interval or samples; it is never just a number. `docs/make_results.py` writes this page from the source.
"""


DOORS = """`result.plot()` needs the extra `plots`, `result.to_frame()` one of pandas, polars, pyarrow.
What is not in this table has no picture of its own: fits of models go to ArviZ, whose pictures show chains; a
number with two ends, and what other answers are made of, is drawn with these; gradients are no answers."""
_DOORS = {"plot": "`plot()`", "__str__": "`print`", "to_dict": "`to_dict()`", "to_frame": "`to_frame()`",
          "report": "`report(path)`", "_repr_html_": "in a notebook"}  # fmt: skip


def public_functions() -> Iterator[tuple[str, Callable]]:
    """(room, function) of every function in the `__all__` of the package and of its rooms."""
    found = [name for _, name, _ in pkgutil.iter_modules(jtruth.__path__) if not name.startswith("_")]
    rooms = [name for name in found if name != "cli"]
    for room in sorted(rooms):
        module = importlib.import_module(f"jtruth.{room}")
        for name in names_of(module):
            value = getattr(module, name)
            if callable(value) and not inspect.isclass(value) and value.__module__.startswith("jtruth"):
                yield f"{room}.{name}", value
    for place in BESIDE:
        module, _, name = place.rpartition(".")
        yield place, getattr(importlib.import_module(f"jtruth.{module}"), name)


def names_of(module: Any) -> list[str]:
    """Public names of a room: its `__all__`; of a file without one, what it defines."""
    own = [n for n, of in vars(module).items() if getattr(of, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", None) or [n for n in own if not n.startswith("_")])


BESIDE = (  # public, but imported from their own file so that their room loads without them
    "evaluation.calibration.evaluate_calibration",
    "evaluation.gold.tables.gold_tables",
    "evaluation.gold.tables.ppi_metric",
    "learning.behaviour.labeler_behaviour",
    "learning.values.fit_multilabel",
    "learning.values.fit_values",
    "testing.bayes.binary_nuts",
    "testing.bayes.multiclass_nuts",
    "training.bayes.fit_bayes",
    "training.bayes.predictive_probabilities",
)


def is_result(found: Any) -> bool:
    """Whether an object is a class of ours that holds data and does not turn labels into anything."""
    if not inspect.isclass(found) or found.__name__.startswith("_"):
        return False
    if not found.__module__.startswith("jtruth."):
        return False
    holds = hasattr(found, "_fields") or dataclasses.is_dataclass(found)
    kinds = issubclass(found, eqx.Module | Estimate) or inspect.isabstract(found)
    return (holds or kinds) and found.__name__ not in NOT_RESULTS


NOT_RESULTS = ("Labels", "NoiseModel", "Metric", "LinearRatio", "OfTable")  # what functions take


def classes_in(annotation: Any) -> Iterator[type]:
    """The result types that an annotation mentions."""
    if is_result(annotation):
        yield annotation
    for part in typing.get_args(annotation):
        yield from classes_in(part)


def hints(of: Any) -> dict[str, Any]:
    """Annotations of a function or class; those that cannot be resolved are left out."""
    try:
        return typing.get_type_hints(of)
    except (NameError, TypeError):
        return dict(getattr(of, "__annotations__", {}))


def result_types() -> dict[type, list[str]]:
    """Every result type, and the public functions that return it (none: it is a part of another)."""
    found: dict[type, list[str]] = {}
    for name, function in public_functions():
        for kind in classes_in(hints(function).get("return")):
            found.setdefault(kind, []).append(name)
    queue = list(found)
    while queue:
        kind = queue.pop()
        parts = [*hints(kind).values(), *(hints(m).get("return") for _, m in methods(kind))]
        parts += kind.__subclasses__()
        for part in parts:
            for other in classes_in(part):
                if other not in found:
                    found[other] = []
                    queue.append(other)
    return found


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """(name, function) of the public properties and methods that a class defines itself."""
    for name, value in vars(kind).items():
        inside = ("fget", "func", "__func__")  # of a property, of one that is kept, of a class method
        function = next((getattr(value, name) for name in inside if hasattr(value, name)), value)
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(function)):
            yield name, inspect.unwrap(function)


def fields(kind: type) -> dict[str, str]:
    """Fields of a class with their types and what the source says of them."""
    source = inspect.getsource(kind)
    lines, tree = source.splitlines(), ast.parse(inspect.cleandoc("\n" + source)).body[0]
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            said = lines[node.end_lineno - 1].partition("  # ")[2].strip()
            kind_of = " ".join(ast.unparse(node.annotation).split()).replace("AnyArray", "Array | np.ndarray")
            found[node.target.id] = f"`{kind_of}`" + (f"; {said}" if said else "")
    return {name: text for name, text in found.items() if not name.startswith("_")}


def first_sentence(of: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(of) or "").partition("\n")[0]


def section(kind: type, returned_by: list[str]) -> list[str]:
    """One class as a list."""
    by = f" Returned by {', '.join(f'`{n}`' for n in returned_by)}." if returned_by else ""
    out = [f"### {kind.__name__}", "", f"`{kind.__module__}`. {first_sentence(kind)}{by}", ""]
    more = [b for b in kind.__bases__ if dataclasses.is_dataclass(b) and dataclasses.fields(b)]
    out += [f"- All that `{base.__name__}` has." for base in more]
    out += [f"- `{name}`: {text}" for name, text in fields(kind).items()]
    for name, function in methods(kind):
        call = "" if isinstance(vars(kind)[name], property | cached_property) else "()"
        out.append(f"- `{name}{call}`: {first_sentence(function)}")
    return [*out, ""]


def doors(found: dict[type, list[str]]) -> list[str]:
    """A table of the answers that draw themselves: what else each can do."""
    lines = ["## What draws, prints and tabulates itself", "", DOORS, ""]
    lines += [f"| | {' | '.join(_DOORS.values())} |", "|---" * (len(_DOORS) + 1) + "|"]
    for kind in sorted((k for k in found if hasattr(k, "plot")), key=lambda k: k.__name__):
        has = ["yes" if offers(kind, name) else "" for name in _DOORS]
        lines.append(f"| `{kind.__name__}` | {' | '.join(has)} |")
    return [*lines, ""]


def offers(kind: type, name: str) -> bool:
    """Whether a class has a method of its own; every class has some `__str__`."""
    return hasattr(kind, name) and (name != "__str__" or kind.__str__ not in (object.__str__, tuple.__str__))


def page() -> str:
    """The whole text."""
    found = result_types()
    rooms = sorted({kind.__module__.split(".")[1] for kind in found})
    lines = [HEAD, *doors(found)]
    for room in rooms:
        lines += [f"## {room}", ""]
        some = [kind for kind in found if kind.__module__.split(".")[1] == room]
        for kind in sorted(some, key=lambda k: (not found[k], k.__name__)):
            lines += section(kind, found[kind])
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
