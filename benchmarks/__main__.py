"""Run a benchmark: `python -m benchmarks NAME [ARGUMENTS]`; without a name, list them.

This sets up every benchmark before NumPy is loaded: one thread for linear algebra, JAX on the CPU, and a
first line with the versions and the load of the machine, for the record of the numbers.
"""

import os

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import ast  # noqa: E402
import platform  # noqa: E402
import runpy  # noqa: E402
import sys  # noqa: E402
from importlib.metadata import version  # noqa: E402
from pathlib import Path  # noqa: E402

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The scripts of this folder that can be run."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def question(name: str) -> str:
    """The first line of a script's docstring."""
    return (ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())) or "").partition("\n")[0]


def main(name: str = "", *arguments: str) -> None:
    """Run one script as if it had been started itself."""
    if name not in names():
        sys.exit("\n".join(f"{one:20} {question(one)}" for one in names()))
    versions = ", ".join(f"{one} {version(one)}" for one in ("jtruth", "jax", "numpy", "scipy"))
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{platform.machine()}, {load}, Python {platform.python_version()}, {versions}", flush=True)
    path = FOLDER / f"{name}.py"
    sys.argv, sys.path[0] = [str(path), *arguments], str(FOLDER)
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
