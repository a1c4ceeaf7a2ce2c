"""What `import jtruth` costs and touches, seen from a fresh process; annotations are executed here."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jtruth

ROOT = Path(__file__).resolve().parents[1]

HEAVY = [
    "numpyro",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "arviz",
    "arviz_base",
    "arviz_stats",
]

PROBE = """
import json, sys, time

import jax

def settings():
    return {name: str(value) for name, value in jax.config.values.items()}

before = settings()
start = time.perf_counter()
import jtruth
seconds = time.perf_counter() - start

from jax._src import xla_bridge

def touched():
    return {name: value for name, value in settings().items() if before.get(name, value) != value}

found = {"modules": sorted(sys.modules), "seconds": seconds}
found |= {"changed": touched(), "backends": sorted(xla_bridge._backends)}
jax.config.update("jax_enable_x64", True)
jax.numpy.zeros(3)
print(json.dumps(found | {"changed then": touched(), "backends then": sorted(xla_bridge._backends)}))
"""


def probe(code: str) -> dict:
    """Run `code` in a fresh interpreter at the repository root; it prints one JSON object, nothing else."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def imported() -> dict:
    return probe(PROBE)


def test_import_loads_no_heavy_library(imported):
    print(f"import jtruth after import jax: {imported['seconds']:.2f} s")
    assert "jtruth._version" in imported["modules"]
    assert [name for name in [*HEAVY, "scipy.stats"] if name in imported["modules"]] == []


def test_every_name_is_there_when_it_is_used_and_none_loads_a_heavy_library():
    """Rooms too, but for `plots`, whose business is matplotlib; nor does the estimator load scikit-learn.

    Python sets a package's attribute when a file of it is imported: none that was not a name before, but for
    the console's.
    """
    found = probe(
        "import importlib, json, pkgutil, sys, types, jtruth as jt, jtruth.training.estimator\n"
        "there = [name for name in jt.__all__ if name != 'plots' and getattr(jt, name) is None]\n"
        "found = {'none': there, 'modules': sorted(sys.modules), 'dir': dir(jt)}\n"
        "for one in pkgutil.walk_packages(jt.__path__, 'jtruth.'):\n"
        "    if not one.name.startswith(('jtruth.plots', 'jtruth.cli')) and 'bayes' not in one.name:\n"
        "        importlib.import_module(one.name)\n"
        "after = [name for name, value in vars(jt).items() if isinstance(value, types.ModuleType)]\n"
        "print(json.dumps(found | {'after': [name for name in after if name[0] != '_']}))"
    )
    assert found["none"] == [] and {"plots", "training", "planning", "evaluate"} <= set(found["dir"])
    assert [name for name in [*HEAVY, "scipy.stats"] if name in found["modules"]] == []
    assert set(found["after"]) <= {*jtruth.__all__, "cli"} and {"inspection", "stats"} <= set(found["after"])


def test_the_shell_waits_for_no_room_of_scipy_that_few_answers_need():
    """Each is a tenth of a second before anything is read; `scipy` loads them when somebody asks for them."""
    found = probe(
        "import json, sys, jtruth.cli.app, jtruth.evaluation, jtruth.cli.reading\n"
        "print(json.dumps(sorted(name for name in sys.modules if name.count('.') == 1)))"
    )
    slow = {f"scipy.{room}" for room in ("interpolate", "linalg", "optimize", "spatial", "stats")}
    assert "scipy.special" in found and not slow & set(found)


def test_import_alone_loads_not_even_jax_and_a_room_needs_no_import_of_its_own():
    """On cd70ba6 three of these are AttributeErrors. Each is asked for in a package imported anew."""
    rooms = ["plots", "training", "planning", "labels"]
    found = probe(
        f"import json, sys, jtruth\nfound = {{'alone': sorted(sys.modules)}}\nfor room in {rooms}:\n"
        "    for name in [name for name in sys.modules if name.split('.')[0] == 'jtruth']:\n"
        "        del sys.modules[name]\n"
        "    import jtruth as jt\n"
        "    assert room not in vars(jt)\n"
        "    found[room] = getattr(jt, room).__name__\n"
        "print(json.dumps(found))"
    )
    alone = found.pop("alone")
    assert "jtruth" in alone and not {"jax", "numpy", "scipy"} & set(alone)
    assert found == {room: f"jtruth.{room}" for room in rooms}


def test_names_for_type_checkers_are_the_names_at_run_time():
    """The three lists of `jtruth/__init__.py` say the same, and every public room is in them."""
    tree = ast.parse((ROOT / "jtruth" / "__init__.py").read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    homes = {
        alias.name: (node.module or "").removeprefix("jtruth").removeprefix(".")
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name: home for name, home in homes.items() if home} == jtruth._HOMES
    assert sorted([*homes, "__version__"]) == sorted(jtruth.__all__)
    parts = {path.parent.name for path in (ROOT / "jtruth").glob("*/__init__.py")}
    parts |= {path.stem for path in (ROOT / "jtruth").glob("*.py")}
    rooms = {name for name in parts if not name.startswith("_")} - {"cli"}
    assert rooms == {name for name in jtruth.__all__ if name in parts}
    assert rooms == set(homes) - set(jtruth._HOMES)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'jtruth' has no attribute 'evalute'"):
        jtruth.evalute  # noqa: B018
    with pytest.raises(AttributeError, match=r"'jtruth\.learning' has no attribute 'fit_nut'"):
        jtruth.learning.fit_nut  # noqa: B018


def test_fit_nuts_is_in_its_room_without_the_room_loading_numpyro():
    from jtruth.learning.annotation import bayes

    assert jtruth.learning.fit_nuts is bayes.fit_nuts


def test_import_starts_no_backend_and_leaves_the_jax_configuration_alone(imported):
    """Both would be seen."""
    assert imported["backends"] == [] and imported["changed"] == {}
    assert imported["backends then"] and imported["changed then"] == {"jax_enable_x64": "True"}
