"""All functions with a device path on the accelerator that JAX sees and on the CPU: differences and speed.

    python benchmarks/accelerator.py [--samples 100000] [--sets 256] [--repeats 3] [--small] [jobs: all]

Run it directly, since `python -m benchmarks` uses the CPU only. Each job is a call of the public interface,
including data movement: on JAX's default device, then on the CPU. It prints the seconds of the first call,
the median of later ones, and the difference of the answers: the largest relative difference of computed
numbers, standard errors for means of draws ("sd of the mean").

    em        Dawid and Skene, 20 steps, 5 labels by 5 labelers, 4 classes
    temper    the joint posterior of 400 samples from the prior by temperatures
    gibbs     300 sweeps of the joint posterior, XLA
    known     exact posterior of many sets of 200 samples
    learned   joint posterior of many sets of 200 samples
    simulate  Su 5.1, sets of 500 samples
    ratios    Algorithm 1 of many sets of 200 samples
    counts    exact means of many sets of 200 samples, by every count table

Without names `benchmarks/vmap.py` follows, on JAX's default device. `--small` only checks that all of it
runs.

Not run on an accelerator: none was available. On a CPU against itself (x86-64, 2 cores, load 2, jax 0.10.2;
--samples 20000 --sets 64 --repeats 2):

    job       first s   later s   cpu first   cpu later   ratio   apart
    em            3.44      0.04        0.38        0.02     0.6   0.0e+00
    temper        6.99      1.28        1.93        0.85     0.7   0.0 sd of the mean
    gibbs         6.44      2.01        2.65        2.55     1.3   0.0 sd of the mean
    known        11.61      0.05        2.00        0.06     1.1   0.0e+00
    learned       9.67      0.45        2.25        0.56     1.2   0.0 sd of the mean
    simulate      2.90      0.19        0.88        0.18     0.9   0.0 sd of the mean
"""

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import vmap

import jtruth as jt
from jtruth.latent import Effort
from jtruth.learning import fit_dawid_skene, fit_joint

RATIOS = jax.jit(jax.vmap(vmap.algorithm_1))
COUNTS = jax.jit(jax.vmap(partial(vmap.exact_means, window=(96, 96))))
RATES = np.full((5, 2, 2), 0.2) + 0.6 * np.eye(2)


class Answer(NamedTuple):
    """What a job says, and the standard errors of means of draws (0: numbers that are computed)."""

    value: np.ndarray
    error: np.ndarray | float = 0.0


def crowd(shape: tuple[int, ...], classes: int) -> tuple[np.ndarray, np.ndarray]:
    """(predictions, labels) that are right four times in five, by five labelers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, shape)
    right = rng.random((*shape, 6)) < 0.8
    seen = np.where(right, y[..., None], rng.integers(0, classes, right.shape))
    return seen[..., 5], seen[..., :5]


def em(samples: int, sets: int) -> Answer:
    _, z = crowd((samples,), 4)
    return Answer(fit_dawid_skene(jt.Labels.from_matrix(z, 4), max_steps=20, tol=0.0).matrices)


def temper(samples: int, sets: int) -> Answer:
    return _accuracy(400, None)


def gibbs(samples: int, sets: int) -> Answer:
    return _accuracy(samples, Effort(device=True, chains=4, burn_in=50, min_sweeps=300, max_sweeps=300))


def _accuracy(samples: int, effort: Effort | None) -> Answer:
    y_pred, z = crowd((samples,), 2)
    options = {} if effort is None else {"effort": effort}
    fit = fit_joint(jt.Labels.from_matrix(z, 2), y_pred=y_pred, key=0, **options)
    drawn = np.trace(fit.tables("in-sample"), axis1=1, axis2=2) / samples
    return Answer(drawn.mean(), drawn.std() / 10)  # at least 100 draws that tell


def known(samples: int, sets: int) -> Answer:
    batch = jt.evaluate_batch(*crowd((sets, 200), 2), noise=RATES, prior=np.array([0.5, 0.5]))
    return Answer(np.stack([batch.mean, batch.sd]))


def learned(samples: int, sets: int) -> Answer:
    batch = jt.evaluate_batch(*crowd((sets, 200), 2), key=0)
    return Answer(batch.mean, batch.sd / 7)  # at least 50 draws that tell


def dependent(samples: int, sets: int) -> Answer:
    batch = jt.evaluate_batch(*crowd((sets // 8, 200), 2), method="shared_strata", key=0)
    return Answer(batch.mean, batch.sd / 7)


def simulate(samples: int, sets: int) -> Answer:
    draw = partial(jt.simulate_difficulty_fallibility, num_samples=500, num_labelers=5)
    drawn = [draw(key, prior=[0.5, 0.5], confusion=[[0.9, 0.1], [0.2, 0.8]]) for key in range(sets)]
    right = np.array([np.mean(np.asarray(data.y_pred) == np.asarray(data.y)) for data in drawn])
    return Answer(right.mean(), right.std() / np.sqrt(sets))


def ratios(samples: int, sets: int) -> Answer:
    return _mapped(RATIOS, sets)


def counts(samples: int, sets: int) -> Answer:
    return _mapped(COUNTS, sets)


def _mapped(program: Callable[..., jax.Array], sets: int) -> Answer:
    y_pred, z = crowd((sets, 200), 2)
    log_odds = ((2 * z - 1).sum(-1) * np.log(4.0)).astype(np.float32)
    return Answer(np.asarray(program(log_odds, y_pred)))


JOBS: Mapping[str, Callable[[int, int], Answer]] = {
    job.__name__: job for job in (em, temper, gibbs, known, learned, dependent, simulate, ratios, counts)
}


def timed(job: Callable[[], Answer], repeats: int) -> tuple[Answer, float, float]:
    """The answer, seconds of the first call, and the median of those that follow."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        answer = job()
        seconds.append(time.perf_counter() - start)
    return answer, seconds[0], float(np.median(seconds[1:]))


def apart(first: Answer, second: Answer) -> str:
    """How far two answers are from each other."""
    away = np.abs(np.asarray(first.value, np.float64) - second.value)
    if np.all(np.asarray(first.error) == 0):
        return f"{away.max() / np.abs(second.value).max():.1e}"
    return f"{(away / np.hypot(first.error, second.error)).max():.1f} sd of the mean"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []])
    for name, default in (("samples", 100_000), ("sets", 256), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    if asked.small:
        asked.samples, asked.sets, asked.repeats = 500, 16, 1
    cpu = jax.devices("cpu")[0]
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind} against {cpu.device_kind}")
    print("job       first s   later s   cpu first   cpu later   ratio   apart")
    for name in asked.jobs or JOBS:
        job = partial(JOBS[name], asked.samples, asked.sets)
        answer, first, later = timed(job, asked.repeats)
        with jax.default_device(cpu):
            of_cpu, cpu_first, cpu_later = timed(job, asked.repeats)
        times = f"{first:9.2f} {later:9.2f} {cpu_first:11.2f} {cpu_later:11.2f} {cpu_later / later:7.1f}"
        print(f"{name:8} {times}   {apart(answer, of_cpu)}", flush=True)
    if not asked.jobs:
        vmap.main(["--small"] if asked.small else [])


if __name__ == "__main__":
    main()
