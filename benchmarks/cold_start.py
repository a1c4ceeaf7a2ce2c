"""Wall seconds of the first answer: `jtruth evaluate examples/caries.csv --rater 5` in fresh processes.

Run: taskset -c 0,1 python benchmarks/cold_start.py     (Linux; two cores)
Three cases, in turn: no compilation cache; `--compilation-cache` with an empty folder; the same folder again.
Imports are included; beside the medians, the time of `import jtruth` alone and of an empty interpreter.

Measured: AMD EPYC, 2 of 4 cores (the others busy), Python 3.11.7, jax 0.10.2. The sampler is NumPy, so there
is hardly anything to compile and the cache changes nothing; three quarters of the time are imports.

    no cache       median  2.19 s   (1.88 to 2.49)
    cold cache     median  2.21 s   (2.16 to 3.11)
    warm cache     median  2.32 s   (2.09 to 2.96)
    import jtruth  median  1.63 s   (1.50 to 1.91)
    python alone   median  0.01 s   (0.01 to 0.02)
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 5
ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "jtruth.cli", "evaluate", "examples/caries.csv", "--rater", "5"]


def seconds(command):
    """Wall time of one process; its output must end well."""
    begin = time.perf_counter()
    subprocess.run(
        command, cwd=ROOT, env={**os.environ, "JAX_PLATFORMS": "cpu"}, check=True, capture_output=True
    )
    return time.perf_counter() - begin


def main():
    """Print medians and extremes."""
    times = {}
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            cached = [*COMMAND, "--compilation-cache", folder]
            for name, command in (
                ("no cache", COMMAND),
                ("cold cache", cached),
                ("warm cache", cached),
                ("import jtruth", [sys.executable, "-c", "import jtruth"]),
                ("python alone", [sys.executable, "-c", ""]),
            ):
                times.setdefault(name, []).append(seconds(command))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(
        f"python {platform.python_version()}, {cores} cores, load {os.getloadavg()[0]:.1f}, "
        f"{REPEATS} runs each"
    )
    for name, some in times.items():
        print(f"{name:14s} median {statistics.median(some):5.2f} s   ({min(some):.2f} to {max(some):.2f})")


if __name__ == "__main__":
    main()
