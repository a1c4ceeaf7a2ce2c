"""A mark of the code behind a table or a figure, kept beside its numbers.

The code is the function that makes the part and whatever of `benchmarks/` it calls or reads: functions,
constants, words, and the head of a script whose stored results it takes. Comments, docstrings and layout do
not count. A part whose mark is another one was not made by what stands there now, and is computed again.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HOME = "benchmarks"


class Module(NamedTuple):
    """A file: its top-level names, and what its imports from this folder stand for."""

    names: dict[str, ast.AST]
    imports: dict[str, str]  # name here -> "module" or "module:name"
    head: str


def _imports(tree: ast.AST) -> dict[str, str]:
    """Names that an import of `benchmarks` binds, anywhere in `tree`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == HOME:
            for one in node.names:
                module = f"{node.module}.{one.name}"
                is_file = (ROOT / (module.replace(".", "/") + ".py")).exists()
                found[one.asname or one.name] = module if is_file else f"{node.module}:{one.name}"
    return found


@cache
def _module(name: str) -> Module:
    tree = ast.parse((ROOT / (name.replace(".", "/") + ".py")).read_text())
    names: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id: node for target in targets for one in ast.walk(target)
                      if isinstance(one, ast.Name)}  # fmt: skip
    return Module(names, _imports(tree), ast.get_docstring(tree) or "")


def _text(node: object) -> str:
    """A tree as text: the same for every version of Python, without places and docstrings."""
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = fields["body"][1:]
    said = (f"{name}={_text(value)}" for name, value in fields.items() if value not in (None, []))
    return f"{type(node).__name__}({','.join(said)})"


def _collect(node: ast.AST, name: str, found: dict[str, str]) -> None:
    """All that `node`, of the module `name`, refers to."""
    module = _module(name)
    imports = module.imports | _imports(node)

    def add(where: str, what: str) -> None:
        other = _module(where).names.get(what)
        if other is not None and f"{where}:{what}" not in found:
            found[f"{where}:{what}"] = _text(other)
            _collect(other, where, found)

    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            where = imports.get(one.value.id, "")
            if one.attr == "__doc__" and where:
                found[f"{where}:__doc__"] = _module(where).head
            elif where and ":" not in where:
                add(where, one.attr)
        elif isinstance(one, ast.Name):
            if ":" in imports.get(one.id, ""):
                add(*imports[one.id].split(":"))
            else:
                add(name, one.id)


def mark(paper: str, number: str) -> str:
    """Of the part `number` of a paper, as its file lists it under `PAPER`."""
    name = f"{HOME}._papers.{paper}"
    for node in ast.walk(_module(name).names["PAPER"]):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == number:
                    return _of(value, name)
                if key is None and isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
                    where = _module(name).imports[value.value.id]  # **formulas.LISTS
                    for k, v in _entries(_module(where).names[value.attr]):
                        if k == number and not (isinstance(v, ast.Constant) and v.value is None):
                            return _of(v, where)
    raise KeyError(f"{paper} has no {number}")


def _entries(node: ast.AST) -> list[tuple[str, ast.AST]]:
    value = node.value  # type: ignore[attr-defined]
    return [(key.value, one) for key, one in zip(value.keys, value.values, strict=True)]


def _of(node: ast.AST, name: str) -> str:
    found = {"": _text(node)}
    _collect(node, name, found)
    text = "\n".join(f"{key}\n{value}" for key, value in sorted(found.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
