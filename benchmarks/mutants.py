"""Do the tests notice? One-line faults are put into a copy of the package, one at a time, and tests run.

    python benchmarks/mutants.py                        # all of them, about half an hour on one core
    python benchmarks/mutants.py --only ppi             # those whose text, replacement or tests match
    python benchmarks/mutants.py --resume done.jsonl        # go on with a run that was stopped
    python benchmarks/mutants.py --check                # does every text still occur exactly once?

The faults are in `mutants.txt` beside this file: what a careful but tired person could write and no linter
notices, such as a wrong axis, a sign, an exchanged argument, a mean for a maximum, an argument that is
ignored, a tolerance that is too wide. `tests:` names the tests that should fail, as pytest takes them, until
the next such line; `- ` is a text that occurs exactly once in the package, `+ ` stands in its place, and `= `
says why a fault is none:

    tests: tests/stats/test_ppi.py::test_all_gold_is_certain_and_right
    - left = 1 - gold.inclusion
    + left = np.ones_like(gold.inclusion)
    = nobody can tell, because ...

The file is found by searching for the text, so faults survive moved files. The tests must pass on the copy as
it is before any fault is put in. Processes are forked from one that has imported JAX and so on already.

Result (22 November 2026): 213 faults, all tried: 211 killed, 2 survivors are equivalent. About 150 of the
kills are from before the folders moved.
"""

import argparse
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".txt")
PRELOADED = [
    "jax", "jax.numpy", "jax.scipy.special", "equinox", "optax", "scipy.stats", "scipy.optimize",
    "scipy.sparse", "sklearn.metrics", "pandas", "hypothesis", "beartype", "pytest", "arviz_stats",
]  # fmt: skip
KILLED, SURVIVED, SLOW = "killed", "survived", "killed (time)"


class Mutant(NamedTuple):
    """One fault."""

    text: str
    replacement: str
    tests: tuple[str, ...]
    equivalent: str  # why it changes nothing that anybody could see; "" for a fault

    def label(self) -> str:
        """One line."""
        return f"{' '.join(self.text.split())}  ->  {' '.join(self.replacement.split()) or '(nothing)'}"


def parse(lines: list[str]) -> list[Mutant]:
    """The faults of the list; several lines of one sign are one text."""
    found, tests = [], ()
    for block in re.split(r"\n\s*\n", "\n".join(line for line in lines if not line.startswith("#"))):
        part: dict[str, list[str]] = {"-": [], "+": [], "=": []}
        for line in filter(None, block.splitlines()):
            if line.startswith("tests: "):
                tests = tuple(line.removeprefix("tests: ").split())
            elif line[0] in part:
                part[line[0]].append(line[2:])
            else:
                raise ValueError(f"{LIST.name}: a line begins with tests:, -, +, = or #; got {line!r}")
        if part["-"]:
            text, new, why = ("\n".join(part[sign]) for sign in "-+=")
            found.append(Mutant(text, new, tests, why))
    return found


def place_of(text: str, package: Path) -> Path:
    """The one file of the package with this text."""
    hits = [(path, path.read_text().count(text)) for path in sorted(package.rglob("*.py"))]
    where = [path for path, count in hits for _ in range(count)]
    if len(where) != 1:
        raise ValueError(f"occurs {len(where)} times, not once: {text!r}")
    return where[0]


def copied(folder: Path) -> Path:
    """The tracked files of this repository, and the reference data beside it."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, names.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "copy" / name)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return folder / "copy"


def run_pytest(copy: str, tests: list[str], log: str) -> None:
    """In a process of its own: the exit code is pytest's."""
    import pytest

    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1), os.dup2(file, 2)
    os.chdir(copy)
    sys.path.insert(0, copy)
    sys.dont_write_bytecode = False  # the copy is thrown away, and compiling it costs more than most tests
    quiet = "ignore::pytest.PytestAssertRewriteWarning"  # of what has been imported already
    sys.exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-W", quiet, *tests])))


def tried(copy: Path, tests: list[str], seconds: float) -> tuple[int | None, str]:
    """pytest's exit code, None if it took too long, and what it printed last."""
    log = copy.parent / "log.txt"
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=run_pytest, args=(str(copy), tests, str(log)))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return None, "took too long"
    output = log.read_text() if log.exists() else ""
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return process.exitcode, failed[-1] if failed else (output.strip().splitlines() or ["nothing"])[-1]


def verdict(mutant: Mutant, copy: Path, seconds: float, clock: list[float]) -> tuple[str, str]:
    """Put the fault in, run its tests, take it out."""
    path = place_of(mutant.text, copy / "jtruth")
    before = path.read_text()
    try:
        _write(path, before.replace(mutant.text, mutant.replacement), clock)
        code, said = tried(copy, list(mutant.tests), seconds)
    finally:
        _write(path, before, clock)
    if code in (0, 1, None):
        return {0: SURVIVED, 1: KILLED, None: SLOW}[code], said
    raise RuntimeError(f"pytest ended with {code}, so this is no fault that a test can find: {said}")


def _write(path: Path, text: str, clock: list[float]) -> None:
    """Every version of a file has a time of its own, or Python would take an old one from its cache."""
    path.write_text(text)
    clock[0] += 2
    os.utime(path, (clock[0], clock[0]))


def main() -> int:
    """Run, print a table, count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="regular expression on text, replacement and tests")
    parser.add_argument("--resume", type=Path, help="file of verdicts: read if there, and written")
    parser.add_argument("--seconds", type=float, default=300, help="for the tests of one fault")
    parser.add_argument("--check", action="store_true", help="only look for the texts")
    chosen = parser.parse_args()
    mutants = [m for m in parse(LIST.read_text().splitlines()) if re.search(chosen.only, str(tuple(m)))]
    lost = [problem for m in mutants if (problem := _lost(m))]
    print(*lost, f"{len(mutants)} faults, {len(lost)} of them without a place", sep="\n")
    if lost or chosen.check:
        return bool(lost)
    known = _verdicts(chosen.resume)
    left = [m for m in mutants if str(tuple(m)) not in known]
    with tempfile.TemporaryDirectory() as folder:
        copy, clock = copied(Path(folder)), [time.time()]
        multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
        tests = sorted({test for m in left for test in m.tests} - known.keys())
        code, said = tried(copy, tests, 60 * chosen.seconds) if tests else (0, "")
        if code != 0:
            print(f"without any fault the tests already fail: {said}")
            return 1
        _remember(chosen.resume, dict.fromkeys(tests, "passes without a fault"))
        for mutant in left:
            began = time.monotonic()
            found, said = verdict(mutant, copy, chosen.seconds, clock)
            print(f"{found:<13} {time.monotonic() - began:4.0f} s  {mutant.label()}  [{said}]", flush=True)
            known[str(tuple(mutant))] = found
            _remember(chosen.resume, {str(tuple(mutant)): found})
    return _summary(mutants, known)


def _lost(mutant: Mutant) -> str:
    try:
        place_of(mutant.text, ROOT / "jtruth")
    except ValueError as problem:
        return str(problem)
    return ""


def _verdicts(path: Path | None) -> dict[str, str]:
    if path is None or not path.exists():
        return {}
    return dict(json.loads(line) for line in path.read_text().splitlines())


def _remember(path: Path | None, verdicts: dict[str, str]) -> None:
    if path is not None:
        with open(path, "a") as file:
            file.writelines(json.dumps(item) + "\n" for item in verdicts.items())


def _summary(mutants: list[Mutant], known: dict[str, str]) -> int:
    """Counts; 1 if a fault survived that is not explained, or an explained one was noticed after all."""
    survived = [m for m in mutants if known[str(tuple(m))] == SURVIVED]
    open_ones = [m for m in survived if not m.equivalent]
    wrong = [m for m in mutants if m.equivalent and m not in survived]
    print(f"{len(mutants)} faults: {len(mutants) - len(survived)} killed, {len(survived)} survived")
    for m in survived:
        print(f"  {'equivalent' if m.equivalent else 'SURVIVED'}: {m.label()}  {m.equivalent}")
    for m in wrong:
        print(f"  noticed, though the list says that nobody can: {m.label()}")
    return bool(open_ones or wrong)


if __name__ == "__main__":
    sys.exit(main())
