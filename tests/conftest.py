"""Settings of all tests: float64, no silent promotion, and run-time checks of annotations.

JAX refuses rank promotion (`x + y` with shapes (3,) and (2, 3)) and dtype promotion (int + float arrays),
because both hide mistakes. The option `--jaxtyping-packages` in pyproject.toml turns the shape annotations of
`jtruth` into checks by beartype (`tests/annotations.py`); it works only if nothing imports `jtruth` before
the tests do, so this file must not import it at module level.

Users do not have these checks. A test of an error message about an argument of the wrong shape or type
therefore uses the fixture `as_installed`, which switches them off for that test:

    def test_prior_of_the_wrong_length(as_installed):
        with pytest.raises(ValueError, match="3 numbers but there are 2 classes"):
            ...
"""

import functools
import gc
import hashlib
import inspect
import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # nobody reads the lowered programs of tests

import hypothesis
import jax
import jaxtyping
import pytest

from tests import annotations

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# The same examples in every run: no luck, no date. No deadline: the first call of a jitted function compiles.
hypothesis.settings.register_profile(
    "jtruth",
    derandomize=True,
    deadline=None,
    max_examples=30,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("jtruth")

# Reference values and public data sets live beside the repository; where they are absent their tests skip.
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """No line is wrapped, so that tests find sentences; tests of width say theirs."""
    monkeypatch.setenv("COLUMNS", "100000")


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """`golden("su_tiny5")`: the parsed reference file; NaN and infinities stay null, "nan", "inf", "-inf"."""

    def load(name: str) -> Any:
        folder = SHARED / "golden"
        if not folder.is_dir():
            pytest.skip("no ../shared/golden beside this checkout: reference values are not available")
        return json.loads((folder / f"{name}.json").read_text())

    return load


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`shared_data("bluebirds")`: the folder of one public data set."""

    def locate(name: str) -> Path:
        folder = SHARED / "data"
        if not folder.is_dir():
            pytest.skip("no ../shared/data beside this checkout: public data sets are not available")
        path = folder / name
        if not path.is_dir():
            there = sorted(entry.name for entry in folder.iterdir())
            raise FileNotFoundError(f"{path}: no such data set; there are {there}")
        return path

    return locate


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--write-screens` stores the first screens of the commands that tests/test_words.py compares."""
    parser.addoption("--write-screens", action="store_true")


def pytest_configure(config: pytest.Config) -> None:
    """Tests compile much and compute little, so XLA compiles for them with little effort: in a third.

    What users get, all of XLA's optimizations, is run by the doctests (no conftest), by all notebooks but
    one, by the moves of tempering and by tests with the fixture `optimized`. The two flags are no stable
    interface (an unknown one ends the process, and jax 0.10.0 rounds otherwise with them), so another JAX
    than the one they were tried with goes without.
    """
    if jax.__version_info__[:3] == (0, 10, 2):
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
        )
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # for the processes that tests start
        jax.config.update("jax_disable_most_optimizations", True)
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        _keep_programs(config.rootpath / ".pytest_cache" / "d" / f"programs-{_processor()}")


def _keep_programs(folder: Path) -> None:
    """What the other worker, another test or an earlier run has compiled is not compiled again.

    JAX finds programs by their text, versions and options. The first run in one process takes as long as
    without, a second one half as long; `--cache-clear` forgets them.
    """
    for name, value in (
        ("jax_compilation_cache_dir", str(folder)),
        ("jax_persistent_cache_min_compile_time_secs", 0.0),
        ("jax_persistent_cache_min_entry_size_bytes", -1),
    ):
        os.environ[name.upper()] = str(value)  # for other workers and the processes that tests start
        jax.config.update(name, value)


def _processor() -> str:
    """Programs are of one processor: a checkout may move to another."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    features = next((line for line in lines if line.startswith("flags")), "")
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:12]


@contextmanager
def _optimizations() -> Iterator[None]:
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture
def optimized() -> Iterator[None]:
    """Programs are compiled as for users: for tests that compute for longer than they compile."""
    with _optimizations():
        yield


@pytest.fixture(scope="session", autouse=True)
def moves_are_optimized() -> Iterator[None]:
    """Tempering computes for longer than it compiles: a third of the CPU time of a test that fits models."""
    from jtruth.latent.infer import temper

    moves = temper.moves

    @functools.wraps(moves)
    def optimized(*args: Any, **options: Any) -> Any:
        with _optimizations():
            return moves(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temper, "moves", optimized)
        yield


SHORTENED = {"few_sets", "few_sweeps", "few_lineages", "enough_sweeps"}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Tests of a file that want less work come last: the fixture stays until the end of the file.

    Otherwise those without it would run with or without, by what ran before them in the same worker.
    """
    first: dict[Any, int] = {}
    for item in items:
        first.setdefault(item.path, len(first))
    items.sort(key=lambda item: (first[item.path], len(SHORTENED.intersection(item.fixturenames))))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: Python need not look through it for garbage again and again.

    With the line on tracebacks above a sixth of the CPU time of files that compile much.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 10)


def pytest_runtest_setup() -> None:
    """Executed annotations look at the first calls of every function in every test."""
    annotations.new_test()


@pytest.fixture(scope="module", autouse=True)
def compiled_programs_are_forgotten() -> Iterator[None]:
    """A process may map 65 530 pieces of memory, and compiled programs are several pieces each.

    Linux only counts them in /proc; all tests in one process came to more, and XLA aborted.
    """
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > 30_000:
        jax.clear_caches()


@pytest.fixture(scope="module")
def few_sets() -> Iterator[None]:
    """Checks compare labels with a quarter of the simulated sets: for tests of anything else.

    These sets take half of the time of an answer by known error rates.
    """
    from jtruth.evaluation.checks import bootstrap, verdicts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "_SETS", 39)
        patch.setattr(bootstrap, "_MOST", 99)
        patch.setattr(bootstrap, "_FEWEST", 19)
        yield


@pytest.fixture(scope="module")
def few_sweeps(few_sets: None) -> Iterator[None]:
    """Short chains for what is learned: for tests of what is done with an answer, not of the answer.

    Of independent errors draws of the normal distribution around the mode, for which nothing is compiled,
    also where weights are worth less than users get.
    """
    from jtruth.latent.infer import normal

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normal, "_WORTH", 0.0)
        patch.setattr(normal, "_HOPELESS", 0.05)
        yield from _effort(burn_in=40, min_sweeps=400, max_rhat=9.0, min_ess=1.0)


@pytest.fixture(scope="module")
def few_lineages(few_sweeps: None) -> Iterator[None]:
    """Short chains, and a quarter of those that temper; no second run where they tell different evidences.

    These moves compile for longer than they compute.
    """
    from jtruth.latent.infer import temper

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temper, "_SIZES", temper._SIZES[:1])
        patch.setattr(temper, "_RUNS", 1)
        patch.setattr(temper, "moves", temper.moves.__wrapped__)
        yield


@pytest.fixture(scope="module")
def enough_sweeps() -> Iterator[None]:
    """Chains just good enough that no model of a range is left out: for tests of ranges and of gold."""
    few = {"burn_in": 100, "min_sweeps": 1200, "max_sweeps": 20_000}
    yield from _effort(max_rhat=1.1, min_ess=60.0, nuisance=False, **few)


def _effort(**options: Any) -> Iterator[None]:
    from jtruth.evaluation.assumptions import ranges, sensitivity
    from jtruth.latent import Effort
    from jtruth.learning.joint.posterior import fit_joint

    with pytest.MonkeyPatch.context() as patch:
        for room, name in ((ranges, "ANSWER_EFFORT"), (ranges, "EFFORT"), (sensitivity, "EFFORT")):
            patch.setattr(room, name, Effort(**options))
        defaults = inspect.unwrap(fit_joint).__kwdefaults__  # shares of classes, what to ask, plans, cleaning
        patch.setitem(defaults, "effort", Effort(**options))
        patch.setattr(inspect.unwrap(ranges.labels_fit), "__defaults__", (Effort(**options),))  # with gold
        yield


@pytest.fixture
def as_installed() -> Iterator[None]:
    """Annotations are not executed, as for a user: for tests of the library's own error messages."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
