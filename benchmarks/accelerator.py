"""Everything that has a device path, on the accelerator that JAX sees, or on the CPU: right, and how fast?

    python benchmarks/accelerator.py [--samples 1000000] [--sets 256] [--repeats 5] [names of jobs: all]

Each job runs in float32 and float64 on JAX's default device, and in float64 on the CPU as the reference: the
largest difference from it is printed, relative to the largest number of the reference ("draws": other
numbers, so what is compared are means of draws). The first call less the median of the
others is what compiling takes. `bytes` are what the job must at least read and write (said at each job), as a
share of the rate that copying a large array reaches on the same device: 1 is as fast as memory allows.

    em          Dawid and Skene, 20 steps, 5 labels by 100 labelers, 4 classes; samples x steps
    means       Algorithm 2 by exact means, 7 steps; samples x steps
    exact       exact posterior of the count tables of many sets of 500 samples; samples
    joint       joint posterior of many sets, 5 labelers, 4 x 150 sweeps; samples x sweeps
    gibbs       the joint posterior's sweeps of one set, 5 labels by 100 labelers, in two programs of 50 for
                four chains, laying out and moving the set included; samples x sweeps
    simulate    sets of 500 samples with 5 labelers, Su 5.1; samples

Not run on an accelerator: none was at hand. On the CPU (AMD EPYC, 2 cores, busy, load 5; jax 0.10.2; with
--samples 200000 --sets 64 --repeats 3). The memory rate, 1.7 GB/s, was that of a copy into fresh memory,
which this script now avoids; compile times of float64 leave out what the reference had compiled before.

    job      type      samples/s   GB/s  share of memory  compile s  largest difference
    em       float64    1.12e+07   0.36            0.208       0.71  0.0e+00
    em       float32    1.91e+07   0.54            0.311       5.49  2.5e-07
    means    float64    9.25e+06   0.11            0.065       0.50  0.0e+00
    means    float32    1.4e+07    0.11            0.065       2.85  5.9e-07
    exact    float64    1.32e+05   0.00            0.001       3.72  0.0e+00
    exact    float32    3.24e+05   0.00            0.002      19.80  5.2e-07
    joint    float64    7.8e+06    0.94            0.544       3.13  0.0e+00
    joint    float32    1.75e+07   1.05            0.611      19.92  1.1e-02 (draws)
    gibbs    float64    3.16e+07   1.52            0.129       6.69  0.0e+00 (10^6, 11.8 GB/s)
    simulate float64    4.14e+05   0.01            0.007       0.76  0.0e+00
    simulate float32    9.58e+05   0.03            0.016       7.05  5.3e-03 (draws)
"""

import argparse
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
if os.environ.get("JAX_PLATFORMS") == "cpu":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

from collections.abc import Callable  # noqa: E402
from typing import NamedTuple  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from jtruth.learning import LabelColumns, dawid_skene_em  # noqa: E402
from jtruth.learning.joint.batch import BatchEffort, joint_batch  # noqa: E402
from jtruth.sampling import device, kernel  # noqa: E402
from jtruth.sampling.model import LatentModel, Observed, Raters, prediction_columns  # noqa: E402
from jtruth.simulation import simulate_difficulty_fallibility  # noqa: E402
from jtruth.testing import exact_step, iterate  # noqa: E402
from jtruth.testing.binary.batch import exact_batch  # noqa: E402

CONFUSION = np.array([[0.8, 0.2], [0.3, 0.7]])


class Job(NamedTuple):
    """What to run in a type, how many samples that handles, and the least bytes it moves per float size."""

    run: Callable[[str], list[np.ndarray]]
    samples: float
    numbers: float  # of the job's float type, read or written
    codes: float = 0.0  # of four bytes
    draws: bool = False  # other types draw other numbers: compared by their means


def crowd(samples: int, classes: int, labelers: int = 100, each: int = 5) -> tuple[np.ndarray, ...]:
    """(who, label, prediction) of samples with labels by some of many labelers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, samples)
    who = rng.integers(0, labelers // each, (samples, each)) + np.arange(each) * (labelers // each)
    right = rng.random(who.shape) < rng.uniform(0.6, 0.9, labelers)[who]
    label = np.where(right, y[:, None], rng.integers(0, classes, who.shape))
    return who, label, np.where(rng.random(samples) < 0.8, y, rng.integers(0, classes, samples))


def em(samples: int, sets: int) -> Job:
    """Each step reads the codes of five labels, a weight and a known class of each sample."""
    who, label, _ = crowd(samples, 4)
    code = np.ascontiguousarray((who * 4 + label).T.astype(np.int32))
    votes = (label[:, :, None] == np.arange(4)).mean(axis=1)

    def run(dtype):
        data = LabelColumns(code, np.ones(samples, dtype), np.full(samples, -1, np.int32))
        zeros = np.zeros((100, 4, 4), dtype)
        found = dawid_skene_em(data, votes.astype(dtype), (zeros[0, 0], zeros), max_steps=20, tol=0.0)
        return [found.prior, found.matrices, found.class_posterior]

    return Job(run, 20.0 * samples, 20.0 * samples, 20.0 * 6 * samples)


def means(samples: int, sets: int) -> Job:
    """Each step reads a log-odds and a prediction of each sample."""
    rng = np.random.default_rng(1)
    x = rng.normal(-1.0, 3.0, samples)
    y_pred = (rng.random(samples) < 1 / (1 + np.exp(-x))).astype(np.int32)

    @jax.jit
    def fitted(x):
        fit = iterate(exact_step(x, y_pred), dtype=x.dtype, tol=0.0, max_steps=7)
        return fit.p_detection, fit.p_false_alarm

    return Job(lambda dtype: list(fitted(jnp.asarray(x, dtype))), 7.0 * samples, 7.0 * samples, 7.0 * samples)


def exact(samples: int, sets: int) -> Job:
    """Reads a log-odds and a prediction of each sample, writes 20 numbers a set."""
    rng = np.random.default_rng(2)
    x = rng.normal(-1.0, 3.0, (sets, 500))
    y_pred = (rng.random(x.shape) < 0.3 + 0.4 * (x > 0)).astype(np.int32)

    def run(dtype):
        found = exact_batch(jnp.asarray(x, dtype), y_pred)
        return [found.mean, found.sd]

    return Job(run, 500.0 * sets, 520.0 * sets, 500.0 * sets)


def joint(samples: int, sets: int) -> Job:
    """A sweep of a chain reads twelve zeros and ones a sample, and writes two probabilities and a class."""
    rng = np.random.default_rng(3)
    y = (rng.random((sets, 500)) < 0.4).astype(int)
    z = np.where(rng.random((sets, 500, 5)) < 0.8, y[..., None], 1 - y[..., None])
    y_pred = np.where(rng.random(y.shape) < 0.85, y, 1 - y)

    def run(dtype):
        with jax.enable_x64(dtype == "float64"):
            found = joint_batch(0, z, y_pred, 2, effort=BatchEffort(4, 50, 100))
        return [found.prior, found.matrices]

    return Job(run, 4 * 150.0 * y.size, 4 * 150 * 15.0 * y.size, draws=True)


def gibbs(samples: int, sets: int) -> Job:
    """A sweep of a chain reads six codes and a uniform number of a sample, and writes two probabilities."""
    who, label, y_pred = crowd(samples // 10, 2)
    size, (raters, every) = len(who), (100, np.arange(2))
    column = (who * 2 + label).ravel(), np.repeat(np.arange(size), who.shape[1])
    seen = sparse.csr_array((np.ones(label.size), column[::-1]), shape=(size, 2 * raters))
    row = np.array([[2.0, 1.0], [1.0, 2.0]])
    groups = Raters(np.tile(row, (raters, 1, 1)), every), Raters(row[None], every)
    model = LatentModel(every, np.zeros(2, int), np.ones(2), False, every, np.ones((2, 1)), groups)
    observed = Observed(
        (seen, prediction_columns(y_pred, 2)), np.ones(size), np.zeros((2, size)), np.arange(size)
    )
    problem = kernel.flatten(model, observed)
    counts = np.stack([y_pred == c for c in every]).astype(float)[:, None].repeat(4, axis=1)
    start = {"symbols": kernel.count_symbols(problem, counts), "key": np.array([0, 1], np.uint32)}

    def run(dtype):  # float64 whatever is asked
        program = device.program_of(problem, True)
        chain, _, _ = device.run(program, start, 50, 50)
        _, kept, p = device.run(program, chain, 50, 50)
        return [np.exp(kept["log_theta"]).mean(axis=(0, 1)), p.mean(axis=1)]

    return Job(run, 400.0 * size, 3 * 400.0 * size, 6 * 400.0 * size, draws=True)


def simulate(samples: int, sets: int) -> Job:
    """Writes a class, a prediction and five labels of each sample."""

    @jax.jit
    def drawn(keys):
        return jax.lax.map(
            lambda key: simulate_difficulty_fallibility(
                key, num_samples=500, num_labelers=5, prior=np.array([0.7, 0.3]), confusion=CONFUSION
            )[:3],
            keys,
        )

    def run(dtype):
        with jax.enable_x64(dtype == "float64"):
            y, y_pred, z = (np.asarray(a) for a in drawn(jax.random.split(jax.random.key(0), sets)))
        right = [(y_pred == y).mean(), y.mean(), (z == y[..., None]).sum() / (z >= 0).sum()]
        return [np.array(right)]

    return Job(run, 500.0 * sets, 0.0, 7 * 500.0 * sets, draws=True)


JOBS = {f.__name__: f for f in (em, means, exact, joint, gibbs, simulate)}


def timed(run: Callable[[], list], repeats: int) -> tuple[float, float, list]:
    """Median seconds, seconds of compiling, and the result."""
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        found = [np.asarray(a, np.float64) for a in jax.block_until_ready(run())]
        seconds.append(time.perf_counter() - began)
    median = float(np.median(seconds[1:]))
    return median, seconds[0] - median, found


def memory_rate(repeats: int) -> float:
    """Bytes a second of reading and writing an array of 256 MB, ten times over."""
    x = jnp.zeros(2**25, jnp.float64)
    ten = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, a: a + 1, x)[:1])
    return 10 * 2 * x.nbytes / timed(lambda: [ten(x)], repeats)[0]


def main() -> None:
    """Print a line for every job and type."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--sets", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], default=[])
    chosen = parser.parse_args()
    chip, cpu = jax.devices()[0], jax.devices("cpu")[0]
    with jax.enable_x64(True):
        rate = memory_rate(chosen.repeats)
        print(f"{chip.device_kind} ({chip.platform}), jax {jax.__version__}; memory {rate / 1e9:.1f} GB/s")
        print("job      type      samples/s   GB/s  share of memory  compile s  largest difference")
        for name in chosen.jobs or JOBS:
            job = JOBS[name](chosen.samples, chosen.sets)
            measured = {t: timed(lambda: job.run(t), chosen.repeats) for t in ("float64", "float32")}  # noqa: B023
            with jax.default_device(cpu):
                reference = [np.asarray(a, np.float64) for a in job.run("float64")]
            for dtype, (seconds, compiling, found) in measured.items():
                moved = (job.numbers * np.dtype(dtype).itemsize + 4 * job.codes) / seconds
                pairs = zip(found, reference, strict=True)
                worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)
                kind = " (draws)" if job.draws and dtype == "float32" else ""
                print(f"{name:8} {dtype} {job.samples / seconds:12.3g} {moved / 1e9:6.2f} "
                      f"{moved / rate:16.3f} {compiling:10.2f}  {worst:.1e}{kind}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
