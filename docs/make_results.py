"""Write docs/results.md: which public function answers what, and what it returns, from the source itself.

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
import re
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx

import jtruth
from jtruth.stats.estimates import Estimate

PAGE = Path(__file__).parent / "results.md"
HEAD = """# What functions return

This page is for anybody who uses jtruth from Python and looks for a function, or for what it returns.
The tables list, module by module, what each function answers. The [API](api/index.md) has the arguments of
functions and the fields of results.

```python
import jtruth as jt

judges = jt.read("examples/judges.csv").labels.split_rater("judge_c")
result = jt.evaluate(judges.y_pred, judges.labels, noise=jt.noise.Symmetric(0.1, 2), prior=[0.4, 0.6], key=0)
low, high = result.accuracy.interval(0.95)
print(f"{result.accuracy.mean:.2f} [{low:.2f}, {high:.2f}]")
```

```text
@OUTPUT@
```

## What every answer can do
An answer is the result of a question such as `jt.evaluate` or `jt.prevalence`. All answers have these:

| | |
|---|---|
| `print(answer)` | the answer on one screen; `answer.summary(full=True)` prints all of it |
| `answer.plot()` | a picture (needs the extra `plots`) |
| `answer.to_dict()` | all numbers as plain Python, as in the JSON of a command |
| `answer.to_frame()` | the main table as a data frame of pandas, polars or pyarrow |
| `answer.report(path)` | an HTML page; with `full=True` also the estimate under each assumption |

A metric of an answer is an `Estimate`, which is a distribution and not a single number: `mean`, `sd`,
`interval(0.95)`, `p_above(limit)`, `sample(key, n)`.
Fits of models are plain data: their fields are the whole state.
"""


def public_functions() -> Iterator[tuple[str, Callable]]:
    """(name, function) of every function in the `__all__` of the package and of its modules."""
    found = [name for _, name, _ in pkgutil.iter_modules(jtruth.__path__) if not name.startswith("_")]
    for place in sorted(name for name in found if name != "cli"):
        module = importlib.import_module(f"jtruth.{place}")
        for name in names_of(module):
            value = getattr(module, name)
            if callable(value) and not inspect.isclass(value) and value.__module__.startswith("jtruth"):
                yield f"{place}.{name}", value
    for place in BESIDE:
        module, _, name = place.rpartition(".")
        yield place, getattr(importlib.import_module(f"jtruth.{module}"), name)


def names_of(module: Any) -> list[str]:
    """Public names of a module: its `__all__`; without one, what it defines."""
    own = [n for n, of in vars(module).items() if getattr(of, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", None) or [n for n in own if not n.startswith("_")])


BESIDE = (  # public, but imported from their own file so that their module loads without them
    "evaluation.calibration.evaluate_calibration",
    "evaluation.gold.tables.gold_tables",
    "evaluation.gold.tables.ppi_metric",
    "learning.behaviour.labeler_behaviour",
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


def rows(place: str) -> list[str]:
    """A line for each function of a module that returns a result: what it answers, and the type."""
    out = []
    listed = sorted(public_functions(), key=lambda named: not named[0].endswith(".evaluate"))
    for name, function in listed:
        kinds = [kind.__name__ for kind in classes_in(hints(function).get("return"))]
        if name.partition(".")[0] == place and kinds:
            text = first_sentence(function).replace("|", "\\|")
            out.append(f"| `{name}` | {text} | {', '.join(f'`{kind}`' for kind in dict.fromkeys(kinds))} |")
    return out


FIRST = ("evaluation", "io", "pairwise", "cleaning", "asking", "planning")


def page() -> str:
    """The whole text. The output of the example is kept: docs/refresh_outputs.py writes it."""
    kept = re.search(r"```text\n(.*?)\n```", PAGE.read_text(), re.DOTALL) if PAGE.exists() else None
    places = dict.fromkeys([*FIRST, *(name.partition(".")[0] for name, _ in public_functions())])
    lines = [HEAD.replace("@OUTPUT@", kept[1] if kept else "")]
    for place in places:
        if found := rows(place):
            purpose = first_sentence(importlib.import_module(f"jtruth.{place}"))
            lines += [f"## jtruth.{place}", "", f"{purpose} [All names](api/{place}.md).", ""]
            lines += ["| function | what it answers | returns |", "|---|---|---|", *found, ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
