"""The import direction of the package, from its source files.

A part (a folder or a file directly under `jtruth/`) may import parts of lower layers and itself; parts of the
same layer never import each other. Nobody imports another part's private file or private name, no files
import each other in a circle, and no public function has the name of a file of its own package (it would hide
it). Functions have at most eight arguments but for those named here, and errors are raised, not asserted.
NumPyro and matplotlib are imported in few files, data frame libraries and scikit-learn only inside functions,
and `__init__.py` files have names only (the root's also the two functions for lazy imports). Every rule is
tested on small package trees with one violation each (`test_violation_is_found`).
"""

import ast
import functools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.source import PACKAGE, for_types, nodes, parsed, trees

# From the bottom up. "_*" stands for every private helper directly under jtruth/.
LAYERS: list[set[str]] = [
    {"_*"},
    {"stats", "labels", "answers"},
    {"noise", "lam_stork", "io", "posterior", "inspection", "latent", "tables"},
    {"simulation", "testing", "learning", "information", "histograms"},
    {"asking"},  # below evaluation, whose answers name the samples to ask for
    {"training", "evaluation", "comparison"},
    {"plots", "planning", "cleaning", "pairwise", "models"},
    {"cli"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

FRAMES = {"pandas", "polars", "pyarrow", "sklearn"}  # optional: imported inside functions or not at all
LAZY = "learning"  # the one room with a name that loads a heavy library: `fit_nuts` is NumPyro's
NEVER = {"jaxopt", "chex", "distrax", "tensorflow_probability", "funsor", "arviz"}


def part_of(path: Path, package: Path) -> str:
    """`testing` for testing/exact.py, `labels` for labels.py, "_*" for _validation.py, "" for __init__.py.

    `__main__.py` is the door of `cli`.
    """
    first = path.relative_to(package).parts[0].removesuffix(".py")
    if first == "__init__":
        return ""
    if first == "__main__":
        return "cli"
    return "_*" if first.startswith("_") else first


@functools.cache
def imports(tree: ast.Module, path: Path, package: Path) -> tuple[tuple[str, int, bool], ...]:
    """(dotted name, line, whether it runs when the file is imported) of every import in one file."""
    return tuple(_imports(tree, path, package))


def _imports(tree: ast.Module, path: Path, package: Path) -> Iterator[tuple[str, int, bool]]:
    folder = ["jtruth", *path.relative_to(package).parts[:-1]]
    for node, eager in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            yield from ((f"{module}.{alias.name}", node.lineno, eager) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else "?"
            yield str(name), node.lineno, eager


def holds_only_names(tree: ast.Module, lazily: bool = False) -> bool:
    """Docstring, imports, `__all__`, `__version__`; in some also what makes names lazy (PEP 562)."""
    imported = ast.Import | ast.ImportFrom
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        start = ("__", "_HOMES") if lazily else "__"
        dunder = isinstance(node, ast.Assign) and all(
            isinstance(target, ast.Name) and target.id.startswith(start) for target in node.targets
        )
        lazy = isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__")
        typed = for_types(node) and all(isinstance(inner, imported) for inner in node.body)  # type: ignore
        if not (docstring or dunder or isinstance(node, imported) or (lazily and (lazy or typed))):
            return False
    return True


def wrong_layer(part: str, name: str, package: Path) -> str | None:
    """Why a file of `part` may not import the jtruth name `name`; None if it may."""
    names = name.split(".")
    if part == "":
        return None  # the package's own __init__ gathers names from everywhere
    target = names[1] if len(names) > 1 else ""
    if not ((package / target).is_dir() or (package / f"{target}.py").is_file()) or not target:
        return "imports from the package root; name the file that defines it"
    target = "_*" if target.startswith("_") else target
    if target == part:
        return None
    if target not in LEVEL:
        return f"imports {target}, which has no layer; add it to LAYERS"
    if LEVEL[target] == LEVEL[part]:
        return f"imports its sibling {target}"
    if LEVEL[target] > LEVEL[part]:
        return f"imports {target}, which is a layer above"
    return None


def private(part: str, name: str) -> str | None:
    """Why a file of `part` may not import the jtruth name `name`: it is inside another part and private."""
    first, *inside = name.split(".")[1:]
    hidden = [word for word in inside if word.startswith("_") and not word.startswith("__")]
    if part in ("", "_*" if first.startswith("_") else first) or first.startswith("_") or not hidden:
        return None
    return f"imports {hidden[0]}, which is private to {first}"


def file_of(name: str, package: Path) -> Path | None:
    """The file behind a dotted jtruth name: a module, a package, or the module that a name is in."""
    words = name.split(".")[1:]
    for length in range(len(words), 0, -1):
        path = package.joinpath(*words[:length])
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file() and length == len(words):
            return path / "__init__.py"
    return None


def circles(files: dict[Path, ast.Module], package: Path) -> Iterator[str]:
    """Files of one part that import each other, directly or through others (layers keep parts apart)."""
    arrows = {
        path: {
            target
            for name, _, _ in imports(tree, path, package)
            if name.startswith("jtruth.")
            and (target := file_of(name, package)) not in (None, path)
            and part_of(target, package) == part_of(path, package)
        }
        for path, tree in files.items()
        if path.name != "__init__.py"
    }
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        yield "circle: " + " -> ".join(path.relative_to(package.parent).as_posix() for path in error.args[1])


def hidden_files(tree: ast.Module, path: Path) -> Iterator[str]:
    """Names that an `__init__` takes from somewhere although a file of that name lies beside it."""
    for node in tree.body if path.name == "__init__.py" else []:
        for alias in node.names if isinstance(node, ast.ImportFrom) else []:
            given = alias.asname or alias.name
            beside = (path.parent / f"{given}.py").is_file() or (
                path.parent / given / "__init__.py"
            ).is_file()
            if beside and (node.module or "").split(".")[-1] != path.parent.name:
                yield f"{given} is a name and a file; rename the file"


def wrong_library(part: str, path: Path, name: str, eager: bool) -> str | None:
    """Why this file may not import the third-party name `name` here; None if it may."""
    library = name.split(".")[0]
    if library in NEVER:
        return f"imports {library}, which jtruth does not depend on"
    if name.startswith("jax.core") and name != "jax.core.Tracer":
        return f"imports {name}; only Tracer of jax.core is stable"
    if library in FRAMES and eager:
        return f"imports {library} at module level"
    if library == "matplotlib" and part != "plots":
        return "imports matplotlib outside plots"
    doors = (("latent", "nuts.py"), ("learning", "functions.py"))
    if library == "numpyro" and path.name != "bayes.py" and (part, path.name) not in doors:
        return "imports numpyro outside bayes.py, annotation/functions.py and latent/infer/nuts.py"
    return None


# Functions of more than eight arguments, all of them options that people give by name.
MANY_ARGUMENTS = {
    "evaluate", "fit_dawid_skene", "from_long", "prevalence", "read_labels", "_Methods.__init__"
}  # fmt: skip
MOST_ARGUMENTS = 8


def habits(tree: ast.Module, excepted: set[str] = MANY_ARGUMENTS) -> Iterator[str]:
    """Functions of many arguments, and `assert` where the library should raise an error."""
    inside = {id(f): c.name for c, _ in nodes(tree) if isinstance(c, ast.ClassDef) for f in c.body}
    for node, _ in nodes(tree):
        if isinstance(node, ast.Assert):
            yield f"asserts in line {node.lineno}; raise an error that says what to do"
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        named = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        size = len(named) - (named[:1] in (["self"], ["cls"]))
        name = f"{inside[id(node)]}.__init__" if node.name == "__init__" else node.name
        if size > MOST_ARGUMENTS and name not in excepted:
            yield f"{name} takes {size} arguments, at most {MOST_ARGUMENTS}: make an object of some"


def violations(package: Path) -> list[str]:
    """One line for each broken rule in the package tree at `package`."""
    found = []
    files = {path: parsed(path) for path in sorted(package.rglob("*.py"))}
    plots_is_heavy = any(
        eager and name.startswith("matplotlib")
        for path, tree in files.items()
        if part_of(path, package) == "plots"
        for name, _, eager in imports(tree, path, package)
    )
    for path, tree in files.items():
        part, where = part_of(path, package), path.relative_to(package.parent).as_posix()
        if part and part not in LEVEL:
            found.append(f"{where}: {part} has no layer; add it to LAYERS")
            continue
        lazily = path.parent in (package, package / LAZY)
        if path.name == "__init__.py" and not holds_only_names(tree, lazily):
            found.append(f"{where}: holds more than names")
        found += [f"{where}: {reason}" for reason in (*hidden_files(tree, path), *habits(tree))]
        doors = ("_one_line.py", "__init__.py")  # below jtruth/: what they import is said when asked for
        for name, line, eager in imports(tree, path, package):
            if name == "?" and (path.name not in doors or path.parent != package):
                found.append(f"{where}:{line}: imports what a text says; name it")
            inside = name == "jtruth" or name.startswith("jtruth.")
            reason = wrong_layer(part, name, package) if inside else wrong_library(part, path, name, eager)
            reason = reason or (private(part, name) if inside else None)
            if name.startswith("jtruth.plots") and part != "plots" and eager and plots_is_heavy:
                reason = reason or "imports plots at module level, and plots imports matplotlib there"
            if reason:
                found.append(f"{where}:{line}: {reason}")
    found += circles(files, package)
    return found


def test_package_obeys_the_layers():
    assert (PACKAGE / "__init__.py").is_file()
    assert violations(PACKAGE) == []


def test_every_layer_and_every_exception_is_of_something_that_is_there():
    assert set(LEVEL) == {part_of(path, PACKAGE) for path in trees()} - {""}
    found = [line for tree in trees().values() for line in habits(tree, excepted=set())]
    assert {line.partition(" takes ")[0] for line in found} == MANY_ARGUMENTS


# A small tree that obeys every rule; each case below adds or replaces one file.
CLEAN = {
    "__init__.py": '"""Names."""\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n'
    '    from jtruth import plots\n\n_HOMES = {}\n__all__ = ["plots"]\n\ndef __getattr__(name): pass\n',
    "_validation.py": "import numpy as np\n",
    "latent/infer/nuts.py": "import numpyro\n",
    "labels.py": "from jtruth import _validation\n\nclass Labels: pass\n",
    "noise/__init__.py": "from jtruth.noise.symmetric import Symmetric\n",
    "noise/symmetric.py": "from ..labels import Labels\nfrom jax.core import Tracer\n",
    "learning/bayes.py": "import numpyro\nfrom jtruth.noise import Symmetric\n",
    "testing/exact.py": "from . import metrics\nimport jtruth.stats.estimates\n",
    "testing/metrics.py": "def f():\n    import pandas\n",
    "stats/regions.py": "",
    "plots.py": "import matplotlib.pyplot as plt\n",
    "cli.py": "from jtruth import planning\n\ndef show():\n    from jtruth import plots\n",
    "planning.py": "from jtruth.testing.binary.exact import x\n",
}

# (file, its text, the violation that must be reported).
BROKEN = [
    ("labels.py", "from jtruth.noise import Symmetric", "labels.py:1: imports noise, which is"),
    ("stats/regions.py", "def f():\n    import jtruth.cli", "regions.py:2: imports cli"),
    ("labels.py", "importlib.import_module('jtruth.noise')", "labels.py:1: imports noise"),
    ("labels.py", "importlib.import_module(f'jtruth.{x}')", "labels.py:1: imports what a text says"),
    ("testing/exact.py", "from jtruth import learning", "exact.py:1: imports its sibling learning"),
    ("_validation.py", "from jtruth import labels", "_validation.py:1: imports labels"),
    ("planning.py", "import jtruth as jt", "planning.py:1: imports from the package root"),
    ("planning.py", "from jtruth.labels import _codes", "planning.py:1: imports _codes, which"),
    ("testing/metrics.py", "def f():\n    from jtruth.testing import exact", "circle: jtruth/testing/"),
    ("noise/__init__.py", "from jtruth.labels import symmetric", "symmetric is a name and a file"),
    ("magic.py", "", "jtruth/magic.py: magic has no layer"),
    ("noise/__init__.py", "def f(): pass", "noise/__init__.py: holds more than names"),
    ("__init__.py", "def f(): pass", "jtruth/__init__.py: holds more than names"),
    ("learning/glad.py", "from numpyro import infer", "glad.py:1: imports numpyro outside"),
    ("planning.py", "def f():\n    import matplotlib", "planning.py:2: imports matplotlib outside"),
    ("cli.py", "from jtruth import plots", "cli.py:1: imports plots at module level"),
    ("io.py", "import pandas as pd", "io.py:1: imports pandas at module level"),
    ("labels.py", "import chex", "labels.py:1: imports chex"),
    ("labels.py", "def f(a, b, c, d, e, *, g, h, i, j): ...", "f takes 9 arguments"),
    ("labels.py", "\nassert True", "labels.py: asserts in line 2"),
    ("labels.py", "from jax.core import Var", "labels.py:1: imports jax.core.Var"),
]


def write_package(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "jtruth"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def test_clean_tree_has_no_violation(tmp_path):
    assert violations(write_package(tmp_path, CLEAN)) == []


@pytest.mark.parametrize(("name", "text", "expected"), BROKEN, ids=[case[2] for case in BROKEN])
def test_violation_is_found(tmp_path, name, text, expected):
    found = violations(write_package(tmp_path, CLEAN | {name: text}))
    assert len(found) == 1 and expected in found[0]
