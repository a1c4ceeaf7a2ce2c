"""Cost and side effects of `import jtruth`, in a fresh process; annotations are executed here."""

import ast
import json
import os
import subprocess
import sys

import pytest

import jtruth
from tests.source import ROOT

HEAVY = ["numpyro", "matplotlib", "pandas", "polars", "pyarrow", "sklearn"]
HEAVY += ["arviz", "arviz_base", "arviz_stats"]
HOMES = ("plots", "models")  # whose business are matplotlib and NumPyro
ROOMS = ["plots", "training", "planning", "labels"]

PROBE = f"""
import importlib, json, pkgutil, sys, types

def anew():
    for name in [name for name in sys.modules if name.split(".")[0] == "jtruth"]:
        del sys.modules[name]
    return importlib.import_module("jtruth")

def settings():
    return {{name: str(value) for name, value in jax.config.values.items()}}

def touched():
    return {{name: value for name, value in settings().items() if before.get(name, value) != value}}

anew()
found = {{"alone": sorted(sys.modules)}}
import jax
from jax._src import xla_bridge
before, jt = settings(), anew()
found |= {{"changed": touched(), "backends": sorted(xla_bridge._backends)}}

import jtruth.cli.app, jtruth.evaluation, jtruth.cli.reading
found["shell"] = sorted(sys.modules)

import jtruth.training.estimator
found["none"] = [name for name in jt.__all__ if name not in {HOMES} and getattr(jt, name) is None]
found |= {{"every": sorted(sys.modules), "dir": dir(jt)}}

for room in {ROOMS}:
    jt = anew()
    assert room not in vars(jt)
    found[room] = getattr(jt, room).__name__
jt = anew()
for one in pkgutil.walk_packages(jt.__path__, "jtruth."):
    if not one.name.startswith(("jtruth.plots", "jtruth.cli", "jtruth.models")) and "bayes" not in one.name:
        importlib.import_module(one.name)
found["after"] = [name for name, value in vars(jt).items()
                  if isinstance(value, types.ModuleType) and name[0] != "_"]

jax.config.update("jax_enable_x64", True)
jax.numpy.zeros(3)
print(json.dumps(found | {{"changed then": touched(), "backends then": sorted(xla_bridge._backends)}}))
"""


@pytest.fixture(scope="module")
def found() -> dict:
    """What a fresh interpreter at the repository root found; it prints one JSON object, nothing else."""
    command = [sys.executable, "-W", "error", "-c", PROBE]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_import_alone_loads_not_even_jax_and_a_room_needs_no_import_of_its_own(found):
    """On cd70ba6 three of these are AttributeErrors. Each is asked for in a package imported anew."""
    assert {"jtruth", "jtruth._version"} <= set(found["alone"])
    assert not {"jax", "numpy", "scipy"} & set(found["alone"])
    assert [found[room] for room in ROOMS] == [f"jtruth.{room}" for room in ROOMS]


def test_every_name_is_there_when_it_is_used_and_none_loads_a_heavy_library(found):
    """Rooms too, but for `HOMES`; nor does the estimator load scikit-learn.

    Python sets a package's attribute when a file of it is imported: none that was not a name before, but for
    the console's.
    """
    assert found["none"] == [] and {"plots", "training", "planning", "evaluate"} <= set(found["dir"])
    assert [name for name in HEAVY if name in found["every"]] == []
    assert set(found["after"]) <= {*jtruth.__all__, "cli"} and {"inspection", "stats"} <= set(found["after"])


def test_the_shell_waits_for_no_room_of_scipy_that_few_answers_need(found):
    """Each is a tenth of a second before anything is read; `scipy` loads them when somebody asks for them."""
    slow = {f"scipy.{room}" for room in ("interpolate", "linalg", "optimize", "spatial", "stats")}
    assert "scipy.special" in found["shell"] and not slow & set(found["shell"])
    assert "scipy.stats" not in found["every"]


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


def test_import_starts_no_backend_and_leaves_the_jax_configuration_alone(found):
    """Both would be seen."""
    assert found["backends"] == [] and found["changed"] == {}
    assert found["backends then"] and found["changed then"] == {"jax_enable_x64": "True"}
