"""The size of the package, and exported names that nobody uses: limits that may only fall.

A name that a module exports is used where another file of the package, a page, a notebook, a benchmark or the
README has it; tests and pages made from the source do not count. A type may also be an argument or result of
an exported function. A change that makes one of the numbers smaller writes the new one here.
"""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.source import ROOT, defined, nodes, sources, trees

AT_MOST = {"lines": 56_990, "files": 242, "classes": 256, "exported names": 324, "unused names": 0}
LONGEST_FILE = 500


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


@cache
def exported() -> dict[Path, list[str]]:
    """The `__all__` of every room, by its `__init__.py`."""
    found = {}
    for path in sources():
        for node in trees()[path].body if path.name == "__init__.py" else []:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found[path] = ast.literal_eval(node.value)
    return found


@cache
def homes() -> dict[str, dict[Path, bool]]:
    """The files that define a name at their top, and whether it is a type there."""
    found: dict[str, dict[Path, bool]] = {}
    for path, tree in trees().items():
        for name, is_type in defined(tree):
            found.setdefault(name, {}).setdefault(path, is_type)
    return found


def home(name: str, room: Path) -> tuple[Path | None, bool]:
    """The file of a room, or of the package, that defines a name; and whether it is a type."""
    files = sorted(homes().get(name, {}), key=lambda path: room not in path.parents)
    return (files[0], homes()[name][files[0]]) if files else (None, False)


@cache
def unused() -> list[str]:
    """Exported names that nobody uses."""
    inside = {path: words(text) for path, text in sources().items() if path.name != "__init__.py"}
    outside = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.py")]
    outside += [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "benchmarks").glob("*.py")]
    elsewhere = set().union(*(words(path.read_text()) for path in outside if path.name != "results.md"))
    found = []
    for init, names in exported().items():
        for name in names if init.parent.name[0] != "_" else []:
            path, is_type = home(name, init.parent)
            text = sources().get(path, "")
            used = name in elsewhere or any(name in said for file, said in inside.items() if file != path)
            taken = is_type and len(re.findall(rf"\b{name}\b", text)) > 1
            if path is not None and not used and not taken:
                found.append(f"{init.parent.name}.{name}")
    return found


@cache
def sizes() -> dict[str, int]:
    count = Counter()
    for path, text in sources().items():
        count["lines"] += text.count("\n")
        count["files"] += 1
        count["classes"] += sum(isinstance(node, ast.ClassDef) for node, _ in nodes(trees()[path]))
    count["exported names"] = len({name for names in exported().values() for name in names})
    count["unused names"] = len(unused())
    return dict(count)


@pytest.mark.parametrize("what", AT_MOST)
def test_the_house_does_not_grow(what):
    more = unused() if what == "unused names" else sizes()
    assert sizes()[what] <= AT_MOST[what], more


def test_no_file_is_too_long_to_read():
    long = {str(path): text.count("\n") for path, text in sources().items()}
    assert {name: size for name, size in long.items() if size > LONGEST_FILE} == {}
