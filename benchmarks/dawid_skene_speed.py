"""Time of one Dawid-Skene EM step: jtruth against NumPy (bincount) and SciPy (sparse matrices).

Run: python -m benchmarks dawid_skene_speed [samples of a whole fit [CROWD.npz for dawid_skene_elsewhere.py]]
One process, one thread, one core, float64, data from a fixed seed. All three start from vote shares, do the
same number of steps with the objective computed in each, and must agree on it to 1e-12. Times are medians of
runs in turn (jtruth, NumPy, SciPy, jtruth, ...) after a warm-up, so that other load affects all equally.

The baselines are the fastest of the forms that were tried: classes in the outer loop and `np.repeat` for
bincount; gathers column by column, since one gather of all labels was slower; for SciPy a CSR matrix and its
CSC view, since converting the transpose to CSR was slower.

Measured: one of 2 cores (a slow machine), Python 3.11.7, jax 0.10.2, numpy 2.4.6, scipy 1.17.1. A tenth of
the first counts and of the last class posterior is in each step:

    samples labels/sample labelers classes | jtruth  numpy  scipy | numpy/jtruth scipy/jtruth   (ms per step)
     100000             5      200       4 |   5.63  21.96  12.35 |          3.9          2.2
     100000             5      100       4 |   5.61  21.98  12.36 |          3.9          2.2
      10000             5      200      10 |   1.98   4.67   3.84 |          2.4          1.9
      10000            10      100       2 |   0.64   2.47   1.25 |          3.8          1.9
    1000000             5      200       4 |  70.63 279.40 138.63 |          4.0          2.0

Steps by blocks that stay in the cache, products in place of logs where these do not underflow, and rounding
errors carried along in float32, were there until 2026-11. On the same machine they took 3.5, 3.5, 1.9, .8 and
34 ms, with both cores as long as one pass in logs (3.7 to 3.6, 3.4 to 2.7, 8.5 to 7.6 and 34 to 41 ms for 1e5
x 5 with C = 4, 2, 10 and 1e6 x 5), and 1.3 to 1.6 s to compile where the pass in logs takes .8 to 1.25. XLA's
scatter on a CPU goes label by label: 2.9 ms at 1e5 x 5, C = 4.
One EM for every model, by the gradient of its density over labels in long form, took 2.8 to 4.1 times as
long a step (11 ms, 7.4, 33 and 152). By columns it is as fast as the counts that had been written by hand,
because the transpose of the sum of logs adds up column by column (2026-11-27, another machine, before and
after; ms a step, and seconds of the first call):

    samples labels/sample labelers classes |  by hand        one EM
     100000             5      200       4 |  2.72 (1.07)    2.80 (1.32)
     100000             5      100       4 |  2.74 (1.04)    2.81 (1.26)
      10000             5      200      10 |  0.96 (1.03)    1.03 (1.32)
      10000            10      100       2 |  0.32 (1.17)    0.30 (1.65)

So there is one (`jtruth.learning.em.algorithm`).

A whole fit, `python -m benchmarks dawid_skene_speed 1000000`, processor seconds:

    fit 1000000 x 5, T = 100, C = 4: 17 steps, jtruth 1.68 s (first call 3.40), NumPy 5.21 s, SciPy 2.32 s:
    3.1 and 1.4; log-likelihood equal to 5e-15; peak 679 MB, 320 of it before the fit

By blocks 1.13 s (first call 3.80, peak 582 MB). Those were 28 times as quick as crowd-kit 1.4.2 (37.7 s for
18 steps of 5000000 labels, 1.37 s; 500000 labels: 3.5 and .12 s; log-likelihoods equal to 2e-15; a script of
its own on the same labels, from the same start and with as many steps), so about 19 times now.
"""

import functools
import resource
import sys
import time

import jax
import numpy as np
import scipy.sparse as sparse

from jtruth.labels import Labels
from jtruth.learning import columns_from_labels, dawid_skene_em, fit_dawid_skene

jax.config.update("jax_enable_x64", True)
CASES = (
    (100_000, 5, 200, 4),
    (100_000, 5, 100, 4),
    (10_000, 5, 200, 10),
    (10_000, 10, 100, 2),
    (1_000_000, 5, 200, 4),
)
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
    result = dawid_skene_em(columns, start, (zero, pseudo), max_steps=steps, tol=0.0)
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


def random_crowd(size, labelers, classes):
    """Five labels by random labelers for each sample, so that hardly two samples are equal; int32."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, size)
    who = np.sort(rng.integers(0, labelers // 5, (size, 5)) + np.arange(5) * (labelers // 5), axis=1)
    right = rng.random(who.shape) < rng.uniform(0.5, 0.8, labelers)[who]
    label = np.where(right, y[:, None], rng.integers(0, classes, who.shape))
    rows = np.repeat(np.arange(size, dtype=np.int32), 5)
    return rows, who.ravel().astype(np.int32), label.ravel().astype(np.int32)


def fits(size, out=None, labelers=100, classes=4):
    """A whole fit to tol 1e-8 from `Labels`, and as many steps of the others from their arrays."""
    labels = Labels(*random_crowd(size, labelers, classes), size, labelers, classes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = []
    for _ in range(4):
        begin = time.process_time()
        fit = fit_dawid_skene(labels)
        times.append(time.process_time() - begin)
        if len(times) == 1:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sample, labeler, label = (np.asarray(a) for a in (labels.sample, labels.labeler, labels.label))
    begin = time.process_time()
    code = (labeler * classes + label).reshape(size, 5)
    start = np.eye(classes)[label.reshape(size, 5)].mean(axis=1)
    likely = run_numpy(code, start, labelers, classes, fit.num_steps)
    plain = time.process_time() - begin
    begin = time.process_time()
    matrix = sparse.csr_matrix((np.ones(code.size), (sample, code.ravel())), (size, labelers * classes))
    run_scipy(matrix, start, labelers, classes, fit.num_steps)
    by_scipy = time.process_time() - begin
    ours = float(np.median(times[1:]))
    if out is not None:  # for dawid_skene_elsewhere.py
        answer = dict(num_steps=fit.num_steps, seconds=ours, log_likelihood=fit.log_likelihood)
        np.savez(out, sample=sample, labeler=labeler, label=label, **answer)
    print(f"fit {size} x 5, T = {labelers}, C = {classes}: {fit.num_steps} steps, jtruth {ours:.2f} s (first "
          f"call {times[0]:.2f}), NumPy {plain:.2f} s, SciPy {by_scipy:.2f} s: {plain / ours:.1f} and "
          f"{by_scipy / ours:.1f}; log-likelihood equal to {abs(fit.log_likelihood / likely - 1):.0e}; "
          f"peak {peak:.0f} MB, {before:.0f} of it before the fit", flush=True)  # fmt: skip


def main():
    """Print one line for each case."""
    print("1 thread, float64; ms per EM step, median")
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
    if len(sys.argv) > 1:
        fits(int(sys.argv[1]), *sys.argv[2:])
    else:
        main()
