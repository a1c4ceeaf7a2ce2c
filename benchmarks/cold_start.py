"""Wall seconds of the first answer: `jtruth evaluate examples/caries.csv --rater 5` in fresh processes.

Run: taskset -c 0,1 python benchmarks/cold_start.py     (Linux; two cores)
Three cases, in turn: no compilation cache; `--compilation-cache` with an empty folder; the same folder again.
Imports are included; beside the medians, the time of `import jtruth` alone and of an empty interpreter.

Measured: AMD EPYC, 2 of 4 cores, Python 3.11.7, jax 0.10.2. The answer is the whole sensitivity range: five
assumptions, their leave-one-out densities, and checks by 399 simulated label sets. The samplers are NumPy, so
there is hardly anything to compile and the cache changes nothing; a third of the time are imports.

The medians below are of an earlier version. Today's, three runs each on 2 quiet cores without a cache:
caries 12.4, 11.6 and 11.7 s (goal 3), --fast 3.2, 3.7 and 3.3 s (goal 1.5), import jtruth .02 s. On a
machine shared by eight, CPU seconds of one run each of this one: --help .15, --version .14, a refused
option .26, import jtruth .02, import jax .70, import jtruth.evaluation 1.85 (of which JAX .70, SciPy
about .3, Equinox .2, our 285 files .5); caries 12.9 and --fast 3.9 with their imports. So a fast answer
in 1.5 s is below the floor of the imports, and the long one is sweeps of the samplers, not start-up.
scipy.stats, scipy.integrate, scipy.ndimage and optax are imported where they are used, which an answer
for caries does not; keys are made and derived without a program of JAX.

A default answer without imports, CPU seconds by the rule of 250 + 3000 sweeps and that of `burn_in.py`, one
process, 2 busy cores: N = 400, T = 5 5.8 and 6.0, now 6.8 and 6.5; N = 4000, T = 10 11.0, now 11.5. So the
shorter burn-in saves nothing here (goals 1.5 and 5 s): shared strata takes 3.2 to 4.4 s of both, 1950 and
2750 sweeps of 32 chains until the ends are known at N = 400, and at N = 4000 it stops at `max_work` by either
rule. How slowly that model mixes is what stops it, not burn-in; the other models take .1 to 1.4 s each at
N = 400. N = 40 000, T = 10 took 238 s of the wall once, at a load of 5 to 10 (goal 20); it was not profiled.

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

    no cache       median  4.23 s   (3.96 to 4.50)
    cold cache     median  4.37 s   (4.12 to 4.65)
    warm cache     median  4.25 s   (4.00 to 4.66)
    import jtruth  median  1.39 s   (1.16 to 1.45)
    python alone   median  0.01 s   (0.01 to 0.01)

Once each: --fast 2.4 s, --assume independent 2.1 s; a crowd of 37 labelers, 2004 samples, 6012 labels 6.7 s.
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
