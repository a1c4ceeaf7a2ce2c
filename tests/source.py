"""The source of the package and the Python of its pages, for the tests that inspect them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "jtruth"


@cache
def sources() -> dict[Path, str]:
    return {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def python_of(page: Path) -> list[str]:
    """The blocks of Python of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def recipes(*words: str) -> list[str]:
    """The blocks of docs/extending.md that hold one of these words."""
    return [
        block for block in python_of(ROOT / "docs" / "extending.md") if any(word in block for word in words)
    ]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: parsed(path) for path in sources()}


@cache
def nodes(tree: ast.Module) -> list[tuple[ast.AST, bool]]:
    """Every node of a file, and whether it runs when the file is imported: it is in no function."""
    found: list[tuple[ast.AST, bool]] = []
    left: list[tuple[ast.AST, bool]] = [(tree, True)]
    while left:
        node, eager = left.pop()
        found.append((node, eager))
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        eager = eager and not function and not for_types(node)
        left += [(child, eager) for child in ast.iter_child_nodes(node)]
    return found


def for_types(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:`, which holds imports that never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def defined(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """The names that a file defines at its top, and whether each is a type."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, isinstance(node, ast.ClassDef)
        for one in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(one, ast.Name):
                yield one.id, False
