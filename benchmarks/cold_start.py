"""Wall seconds of the first answer: `jtruth evaluate examples/caries.csv --rater 5` in fresh processes.

Run: taskset -c 0,1 python -m benchmarks cold_start     (Linux; two cores)
Three cases, in turn: no compilation cache; `--compilation-cache` with an empty folder; the same folder again.
Imports are included; beside the medians, the time of `import jtruth` alone and of an empty interpreter.

Measured: AMD EPYC, 2 quiet cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6. The answer is the whole sensitivity
range: four models, their leave-one-out densities, and checks by 399 simulated label sets. The samplers are
NumPy, so there is hardly anything to compile and the cache changes nothing:

    no cache       median  7.17 s   (7.03 to 8.08)
    cold cache     median  7.20 s   (7.17 to 7.65)
    warm cache     median  7.17 s   (7.11 to 7.65)
    import jtruth  median  0.02 s   (0.02 to 0.02)
    python alone   median  0.01 s   (0.01 to 0.02)

Once each: --fast 2.5 s, --help .11 s, --version .14, a refused option .26. The goals, 3 s and 1.5 s, are
missed: 1.2 s are imports (JAX .6, SciPy .2 and our 285 files are the rest), so a fast answer is near its
floor; of the long one 5.4 s are 6450 sweeps of 32 chains, 4500 of them of shared strata, .7 ms each (pooled
rows .27, states .24, Dirichlet rows .08, counts .07). On a machine shared by eight it took 12 s.
scipy.stats, scipy.integrate, scipy.ndimage and optax are imported where they are used, which an answer
for caries does not; keys are made and derived without a program of JAX.

The shorter burn-in of large sets saves
nothing here: shared strata takes most of the time by either rule, 1950 and 2750 sweeps of 32 chains until the
ends are known at N = 400, and at N = 4000 it stops at `max_work`.

Other samplers of shared strata, tried on two simulated sets of N = 400, T = 5 and one of N = 4000, T = 10
with independent errors (32 chains, beside other work; effective draws of the worst end of a classifier's 95 %
intervals for a second of CPU at N = 400; at N = 4000 Hamiltonian steps give 18):

    Gibbs sweeps, as they are                                                90 to 140
    Hamiltonian steps, states summed out (31 numbers, gradient .33 ms)       60 to 800
    the same with a Gibbs sweep after each                                   50 to 240
    sweeps, and mass moved between two states with the states summed out     50 to 300
    sweeps, mass, and a hard state drawn anew beside another or by its prior 70 to 150
    sweeps, and two states slid along where their mixture stays what it is   20 to 140

None is faster, and where a number is high the chains had not been everywhere. In a few per cent of the
posterior the hard samples of one class are what other models call samples of another: a place of its own with
a narrow way to it, and the lower end of the accuracy's interval lies between it and the rest. So that end of
the first set is .67 to .69 (Gibbs) or .66 to .75 (Hamiltonian) by sampler and length, and at N = 4000 .845 by
125 sweeps that look converged, .80 to .61 by samplers that go there. A prior without hard samples that are
mostly labelled wrongly needs a third to a sixth of the time and gives .78 instead of .69 (.80 instead of .70
of the second), but says that labelers are never wrong together, which is what the model is for: not taken.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 5
ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "jtruth", "evaluate", "examples/caries.csv", "--rater", "5"]


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
    print(f"{REPEATS} runs each")
    for name, some in times.items():
        print(f"{name:14s} median {statistics.median(some):5.2f} s   ({min(some):.2f} to {max(some):.2f})")


if __name__ == "__main__":
    main()
