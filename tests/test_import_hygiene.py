"""What `import jtruth` costs and touches, seen from a fresh process; annotations are executed here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import jaxtyping
import pytest

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

print(json.dumps({
    "modules": sorted(sys.modules),
    "seconds": seconds,
    "changed": {name: value for name, value in settings().items() if before.get(name, value) != value},
    "backends": sorted(xla_bridge._backends),
    "file": jtruth.__file__,
}))
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
    assert "jtruth.labels" in imported["modules"]
    assert [name for name in HEAVY if name in imported["modules"]] == []


def test_import_starts_no_backend(imported):
    assert imported["backends"] == []


def test_probe_would_see_a_started_backend():
    code = PROBE.replace("import jtruth\n", "import jtruth\njax.numpy.zeros(3)\n")
    assert probe(code)["backends"] != []


def test_import_leaves_the_jax_configuration_alone(imported):
    assert imported["changed"] == {}


def test_probe_would_see_a_changed_configuration():
    code = PROBE.replace("import jtruth\n", "import jtruth\njax.config.update('jax_enable_x64', True)\n")
    assert probe(code)["changed"] == {"jax_enable_x64": "True"}


def test_annotations_are_executed_in_this_run():
    from jtruth.posterior import class_posterior

    with pytest.raises(jaxtyping.TypeCheckError):
        class_posterior(jnp.zeros(3), jnp.ones(2) / 2)  # (samples,) where (samples, classes) belongs


def test_a_test_may_run_without_them(as_installed):
    from jtruth.posterior import class_posterior

    with pytest.raises(ValueError, match="shape"):
        class_posterior(jnp.zeros((3, 2)), jnp.ones(3) / 3)
