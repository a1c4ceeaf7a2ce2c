"""Time of one Dawid-Skene EM step: jtruth against NumPy (bincount) and SciPy (sparse matrices).

Run: python benchmarks/dawid_skene_speed.py
One process, one thread, one core, float64, data from a fixed seed. All three start from vote shares, do the
same number of steps with the objective computed in each, and must agree on it to 1e-12. Times are medians of
runs in turn (jtruth, NumPy, SciPy, jtruth, ...) after a warm-up, so that other load hits all alike.

The baselines are the fastest of the forms that were tried: classes in the outer loop and `np.repeat` for
bincount; gathers column by column, since one gather of all labels was slower; for SciPy a CSR matrix and its
CSC view, since converting the transpose to CSR was slower.

Measured: AMD EPYC, one of 4 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6, scipy 1.17.1.
Goals at 1e5 samples x 5 labels, C = 4: 5 times NumPy, 2.5 times SciPy. Six runs of this script gave 4.9, 5.5,
5.0, 5.7, 5.5, 5.4 and 2.9, 3.2, 3.4, 3.2, 3.1, 3.2: the first goal is met by a small margin, the second well.
It is not so in every case: with 10 classes, and at a million samples, both ratios are lower. One of the runs:

    samples labels/sample labelers classes | jtruth  numpy  scipy | numpy/jtruth scipy/jtruth   (ms per step)
     100000             5      200       4 |   2.91  15.95   9.43 |          5.5          3.2
      10000             5      200      10 |   1.14   2.94   1.75 |          2.6          1.5
      10000            10      100       2 |   0.34   1.80   1.00 |          5.2          2.9
    1000000             5      200       4 |  54.75 213.42 102.15 |          3.9          1.9
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import functools  # noqa: E402
import platform  # noqa: E402
import time  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
import scipy  # noqa: E402
import scipy.sparse as sparse  # noqa: E402

from jtruth.labels import Labels  # noqa: E402
from jtruth.learning import columns_from_labels, dawid_skene_em  # noqa: E402

jax.config.update("jax_enable_x64", True)
CASES = ((100_000, 5, 200, 4), (10_000, 5, 200, 10), (10_000, 10, 100, 2), (1_000_000, 5, 200, 4))
STEPS, REPEATS = 10, 15


def simulate(size, per_sample, labelers, classes):
    """`per_sample` labels by distinct labelers for each sample, right in 7 cases of 10 or by chance."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size)
    first, stride = rng.integers(0, labelers, (2, size))
    labeler = np.sort((first[:, None] + (1 + stride[:, None] % 3) * np.arange(per_sample)) % labelers, axis=1)
    guess = rng.integers(0, classes, labeler.shape)
    return labeler, np.where(rng.random(labeler.shape) < 0.7, y[:, None], guess)


def softmax(log_joint):
    """Rows to probabilities, and the sum of their log totals."""
    top = log_joint.max(axis=1, keepdims=True)
    joint = np.exp(log_joint - top)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return joint, (np.log(total) + top).sum()


def log_table(counts, labelers, classes):
    """Counts (labeler * classes + label, true class) to log p(label | true class, labeler)."""
    counts = counts.reshape(labelers, classes, classes) + 1e-300  # no log of 0
    return np.log(counts / counts.sum(axis=1, keepdims=True)).reshape(labelers * classes, classes)


def run_numpy(code, start, labelers, classes, steps):
    """EM with bincount."""
    width, flat, posterior = code.shape[1], code.ravel(), start
    columns = [np.ascontiguousarray(column) for column in code.T]
    for _ in range(steps):
        counts = [np.bincount(flat, np.repeat(p, width), labelers * classes) for p in posterior.T]
        table = log_table(np.stack(counts, axis=1), labelers, classes)
        log_joint = np.log(posterior.mean(axis=0)) + table[columns[0]]
        for column in columns[1:]:
            log_joint += table[column]
        posterior, objective = softmax(log_joint)
    return objective


def run_scipy(matrix, start, labelers, classes, steps):
    """EM with a sparse (samples, labeler * classes + label) indicator matrix."""
    posterior = start
    for _ in range(steps):
        table = log_table(matrix.T @ posterior, labelers, classes)
        posterior, objective = softmax(np.log(posterior.mean(axis=0)) + matrix @ table)
    return objective


def run_jtruth(columns, start, pseudo, steps):
    """EM as `fit_dawid_skene` runs it, without its checks."""
    zero = np.zeros(pseudo.shape[1])
    result = dawid_skene_em(columns, start, zero, pseudo, max_steps=steps, tol=0.0)
    return float(jax.block_until_ready(result).objective)


def contestants(size, width, labelers, classes):
    """One function without arguments for each of the three, on the same data."""
    labeler, label = simulate(size, width, labelers, classes)
    code = (labeler * classes + label).astype(np.int32)
    start = np.eye(classes)[label].mean(axis=1)
    labels = Labels(
        np.repeat(np.arange(size), width), labeler.ravel(), label.ravel(), size, labelers, classes
    )
    columns, _ = columns_from_labels(labels, merge=False)
    padded = np.pad(start, ((0, columns.weight.size - size), (0, 0)))
    ours = jax.device_put((columns, padded, np.zeros((labelers, classes, classes))))
    cells = (np.ones(code.size), code.ravel(), np.arange(0, code.size + 1, width))
    matrix = sparse.csr_matrix(cells, shape=(size, labelers * classes))
    return (
        functools.partial(run_jtruth, *ours, STEPS),
        functools.partial(run_numpy, code, start, labelers, classes, STEPS),
        functools.partial(run_scipy, matrix, start, labelers, classes, STEPS),
    )


def main():
    """Print one line for each case."""
    versions = f"jax {jax.__version__}, numpy {np.__version__}, scipy {scipy.__version__}"
    print(f"python {platform.python_version()}, {versions}; 1 thread, float64; ms per EM step, median")
    print("samples labels/sample labelers classes | jtruth  numpy  scipy | numpy/jtruth scipy/jtruth")
    for case in CASES:
        runs = contestants(*case)
        objectives = [run() for run in runs]
        np.testing.assert_allclose(objectives, objectives[0], rtol=1e-12)
        times = np.empty((REPEATS if case[0] < 1_000_000 else 5, 3))
        for row in times:
            for k, run in enumerate(runs):
                begin = time.perf_counter()
                run()
                row[k] = (time.perf_counter() - begin) / STEPS * 1e3
        ours, bincount, csr = np.median(times, axis=0)
        size, width, labelers, classes = case
        print(f"{size:7d} {width:13d} {labelers:8d} {classes:7d} | {ours:6.2f} {bincount:6.2f} ", end="")
        print(f"{csr:6.2f} | {bincount / ours:12.1f} {csr / ours:12.1f}", flush=True)


if __name__ == "__main__":
    main()
