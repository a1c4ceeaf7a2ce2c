"""How far one `evaluate` walks: files of the package that it visits, moves of the predictions between rooms.

Run: python -m benchmarks walks             (a minute; -v for the names)

A file is visited when a function of it is called; the second call is watched, the first one also imports. The
walk of `y_pred` is the order in which functions get it as an argument, by itself or inside what they are
given, every call site once, so that members and metrics count once. A move is a change of room (a folder or
file right under jtruth/; private helpers are nobody's room), a climb a move to a room of a higher layer.

Measured, two classes, four labelers (the same on any machine):

    noise given  32 files of 9001 lines; y_pred  6 moves, 3 climbs
    range        45 files of 11572 lines; y_pred 12 moves, 6 climbs
    gold         46 files of 12114 lines; y_pred 15 moves, 7 climbs

At f524620 it was 44, 81 and 82 files, 4, 6 and 11 moves: files are fewer and larger, and the predictive
distribution asks models and votes about the predictions. Wanted were 18, 28 and 30 files, 12 moves and 3
climbs. (Range and gold made 10 and 19 moves, 5 and 9 climbs, while independence and the other models came to
`fit_joint` by two ways, three places made a table of votes, and distributions with gold were computed twice.)
Every climb is a return to `evaluation` from a question of another room: to `learning` (classes; gradual
difficulty), `tables` (the table of votes), and with gold to PPI++ (terms of each sample) and to `asking`
(whom to ask next). These are five different questions about the predictions, and none is asked on behalf of
another.

Another way to count reads the source, every branch one after the other, and takes for the predictions
whatever was made of them or lies in an object with them: labels, class posteriors, draws, distributions. By
that the way is long and has become longer: in its first 400 steps 53 moves and 24 climbs, where the commit of
which 12 and 3 were asked had 24 and 12; 101 and 46 to its end. It cannot be 12 and 3 while arithmetic stands
in one
place: every call of a helper and the next step of its caller is a climb, and of the 46 now 21 come back from
private helpers and `posterior`, 13 from `tables` and 5 from `stats`, the rooms that everybody shares.
Before, the same lines stood in several rooms.

The files are not there, and they were fewer (34, 53, 56) before the checks of chance, of missing labels and
of the prior, the pool of what models missed on other data and the matching of ids came in. Files are short:
6972 lines in 18 files are 390 each, where the rule of the house is 100 to 250, so fewer files would be longer
ones, and nothing would be simpler: no file is visited only to be passed through. A default answer samples
four models, checks them by simulated label sets and compares them by leave-one-out: that is what its files
do.
"""

import inspect
import itertools
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np

import jtruth as jt

ROOT = Path(jt.__file__).parent
LEVEL = run_path(str(ROOT.parent / "tests" / "test_layers.py"))["LEVEL"]
SIZE = 120


def place(code: Any) -> Path | None:
    """The file of a function inside the package."""
    path = Path(code.co_filename)
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) and code.co_name != "<module>" else None


def room(file: Path) -> str:
    """Its folder, or itself; nothing for private helpers."""
    first = file.parts[0].removesuffix(".py")
    return "" if first.startswith("_") else first


def holds(value: Any, y_pred: np.ndarray, depth: int = 2) -> bool:
    """Whether a value is the predictions, or a container of ours in which they are."""
    if isinstance(value, np.ndarray):
        return value.shape == y_pred.shape and value.dtype.kind in "iu" and bool((value == y_pred).all())
    if depth and (isinstance(value, tuple) or type(value).__module__.startswith("jtruth")):
        inside = value if isinstance(value, tuple) else vars(value).values()
        return any(holds(part, y_pred, depth - 1) for part in inside)
    return False


def walk(call: Callable[[], Any], y_pred: np.ndarray) -> tuple[set[Path], list[str]]:
    """Files visited, and the rooms that the predictions went through."""
    files: set[Path] = set()
    sites: set[tuple] = set()
    rooms: list[str] = []

    def look(frame: Any, event: str, _: Any) -> None:
        file = place(frame.f_code) if event == "call" else None
        if file is None:
            return
        files.add(file)
        caller = frame.f_back
        site = (frame.f_code, caller.f_code if caller else None, caller.f_lineno if caller else 0)
        if site in sites:
            return
        sites.add(site)
        given = inspect.getargvalues(frame)
        named = [given.locals[name] for name in given.args if name in given.locals]
        if room(file) and rooms[-1:] != [room(file)] and any(holds(value, y_pred) for value in named):
            rooms.append(room(file))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, rooms


def main() -> None:
    """Three questions on one small data set."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, SIZE)
    z = np.where(rng.random((SIZE, 4)) < 0.2, 1 - y[:, None], y[:, None])
    y_pred = np.where(rng.random(SIZE) < 0.15, 1 - y, y)
    labels, gold = jt.Labels.from_matrix(z, 2), np.where(np.arange(SIZE) < 40, y, -1)
    cases: dict[str, dict[str, Any]] = {
        "noise given": {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]},
        "range": {},
        "gold": {"gold": gold},
    }
    for name, options in cases.items():
        jt.evaluate(y_pred, labels, key=0, **options)
        files, rooms = walk(partial(jt.evaluate, y_pred, labels, key=0, **options), y_pred)
        climbs = sum(LEVEL[b] > LEVEL[a] for a, b in itertools.pairwise(rooms))
        lines = sum(len((ROOT / file).read_text().splitlines()) for file in files)
        moves = f"y_pred {len(rooms) - 1:2} moves, {climbs} climbs"
        print(f"    {name:12} {len(files)} files of {lines} lines; {moves}")
        if "-v" in sys.argv:
            print("   ", " ".join(sorted(map(str, files))), "\n   ", " ".join(rooms))


if __name__ == "__main__":
    main()
