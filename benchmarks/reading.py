"""Seconds and memory of reading labels: CSV in blocks against the csv module, and a long file to error rates.

Run: python -m benchmarks reading [rows]       (default 10 000 000; needs 200 MB in the temporary folder)
The files: five labels of each task by 100 workers, three classes, `task,worker,label` in order of the tasks.
Every job runs in a process of its own, so the memory is that job's most, imports included; seconds of the
shell include them too, those of `read_labels` do not. The two readers of 10^6 rows run in turn in one
process: the ratio is reliable.

Measured: AMD EPYC, 1 thread of a machine with two cores that eight people share, Python 3.11.7, numpy
2.4.6: CPU seconds, by the same calls in one process (this script as a whole was not run on the quiet
machine that its wall seconds want).

    read_labels  10^6 rows  0.31 s   csv module 1.50 s, 4.9 times
    read_labels  10^7 rows  4.9 s    1088 MB at most, with JAX loaded and a fit of 10^6 labels before it
    jtruth labelers --fast, 10^7 labels   14.6 s, 16.5 s of the wall, 1.4 GB at most, imports included

Since a plan is made of every file, against the version before it, in turn on a machine that others used (CPU
seconds of `read_labels`, five runs each): 10^6 rows .93 for .92, 10^7 rows 14.9 for 14.6.

The last is one run on a machine that others used: 10.3 s are the program's and 4.3 the kernel's, handing out
memory; a second run took 14.3 s of the wall, when memory was not given back between arrays, and one beside
three other jobs 19.9. Goals of 15 s and 3 GB: met but for the load. A profile: reading 6 s, what is odd 4
(pairs of labelers 2), rows of labels 3, EM .8, intervals .5, imports 2.

Where the 4.9 s go: a quarter finds separators twice (once to check, once to code), a quarter codes three
columns, an eighth turns 2 10^6 ids into text, a sixth looks whether they are numbers in order, the rest
checks repeats and counts. The goals of 4 s and 900 MB are missed by a fifth; a copy of the bytes (167 MB)
lives until all columns are coded.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
READ = """
import json, resource, sys, time
import numpy as np
import jtruth as jt
from jtruth._validation import text

def seconds(short):
    text._SHORT = short
    begin = time.process_time()
    labels = jt.read_labels(sys.argv[1])
    return time.process_time() - begin, labels

rows = int(sys.argv[2])
times = []
for _ in range(3 if rows <= 10**6 else 1):
    fast, labels = seconds(1 << 16)
    times.append([fast, seconds(1 << 60)[0] if rows <= 10**6 else float("nan")])
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps({"seconds": np.median(times, axis=0).tolist(), "mb": most, "labels": labels.num_labels}))
"""


def write(path: Path, rows: int) -> None:
    """A file of labels: four in five are right."""
    rng, classes = np.random.default_rng(0), np.array(["cat", "dog", "bird"])
    with open(path, "w") as file:
        file.write("task,worker,label\n")
        for start in range(0, rows // 5, 100_000):
            task = np.repeat(np.arange(start, min(start + 100_000, rows // 5)), 5)
            first = np.repeat(rng.integers(0, 100, task.size // 5), 5)
            worker = (first + 7 * np.tile(np.arange(5), task.size // 5)) % 100
            truth = np.repeat(rng.integers(0, 3, task.size // 5), 5)
            label = classes[np.where(rng.random(task.size) < 0.8, truth, rng.integers(0, 3, task.size))]
            rows_of = zip(task.tolist(), worker.tolist(), label.tolist(), strict=True)
            file.write("".join(f"t{i},w{t},{k}\n" for i, t, k in rows_of))


def shell(*command: str) -> tuple[float, float]:
    """(wall seconds, MB) of one command; its output must end well."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "jtruth", *command], cwd=ROOT, check=True, capture_output=True)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - begin, children.ru_maxrss / 1e3


def main() -> None:
    """Print a line for each job."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        for size in sorted({min(rows, 10**6), rows}):
            write(path, size)
            done = subprocess.run([sys.executable, "-c", READ, str(path), str(size)], cwd=ROOT, check=True,
                                  capture_output=True, text=True)  # fmt: skip
            found = json.loads(done.stdout)
            fast, slow = found["seconds"]
            print(f"read_labels {size:>10,} rows  {fast:6.2f} s  {found['mb']:6.0f} MB  "
                  f"csv module {slow:6.2f} s, {slow / fast:.1f} times")  # fmt: skip
        taken, most = shell("labelers", str(path), "--fast", "--json", str(path.with_suffix(".json")))
        print(
            f"jtruth labelers --fast, {rows:,} labels: {taken:.1f} s wall, {most:.0f} MB at most in any job"
        )


if __name__ == "__main__":
    main()
