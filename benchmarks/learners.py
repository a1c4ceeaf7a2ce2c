"""Every consensus method on six public crowds: how right, how sure, and at what price?

Run: python benchmarks/learners.py FOLDER [METHOD ...]
     FOLDER holds bluebirds, rte, dogs, faces, restaurant and cifar10h_a (labels.csv, truth.csv).

Each method of `jtruth.learning.METHODS` runs in a process of its own, over the sets from few labels to many,
with its defaults. Columns: share of samples right (tied classes share a sample); mean log p(true class),
"-inf" where a method gave it probability 0, and Brier score; mean probability of the consensus less the share
right (above 0: too sure); distance (total variation) of the labelers' matrices from those that count labels
by true class, rows weighted by their labels; CPU seconds with compilation, and of a second fit; peak memory
of the process until then. Known: majority vote bluebirds 75.9, rte 89.7, dogs 82.2; Dawid-Skene 89.8, 92.75,
84.3 (with pseudo-counts of .01: tests/learning/em/test_dawid_skene.py).

MEASURED
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import gzip  # noqa: E402
import json  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

SETS = ("bluebirds", "faces", "restaurant", "rte", "dogs", "cifar10h_a")  # from few labels to many


def read(folder):
    """Labels, and the true class of each sample."""
    import jtruth as jt

    classes = json.loads((folder / "classes.json").read_text())["classes"]
    codes = [str(c) for c in range(len(classes))]
    labels = jt.read_labels(folder / "labels.csv", classes=codes)
    path = folder / "truth.csv"
    raw = path.read_bytes() if path.exists() else gzip.decompress((folder / "truth.csv.gz").read_bytes())
    truth = dict(line.split(",")[:2] for line in raw.decode().split()[1:])
    return labels, np.array([int(truth[str(task)]) for task in labels.tasks])


def matrix_error(fit, labels, y):
    """Mean total variation from counted rows over the labels given; NaN where no matrices are estimated."""
    if not hasattr(fit, "noise_model"):
        return np.nan
    strata = fit.noise_model().strata(labels.num_labelers)
    found = np.einsum("hc,htck->tck", np.asarray(strata.weights), np.asarray(strata.rows))
    sample, labeler, label = labels.entries()
    counts = np.zeros(found.shape)
    np.add.at(counts, (labeler, y[sample], label), 1)
    number = counts.sum(axis=2)
    own = counts / np.maximum(number, 1)[:, :, None]
    return (number * np.abs(found - own).sum(axis=2)).sum() / number.sum() / 2


def scores(p, y):
    """Share right, log score, Brier score, too sure by."""
    at, best = np.arange(y.size), p.max(axis=1)
    tied = p > best[:, None] - 1e-9
    right = (tied[at, y] / tied.sum(axis=1)).mean()
    with np.errstate(divide="ignore"):
        log_score = np.log(p[at, y]).mean()
    brier = ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean()
    return right, log_score, brier, best.mean() - right


def one(folder, name):
    """A line for each set by one method, in this process."""
    from jtruth.learning import METHODS

    for place in SETS:
        labels, y = read(folder / place)
        reason = METHODS[name].refuses(labels)
        if reason:
            print(f"{name:>22} {place:>11}  {reason}", flush=True)
            continue
        seconds = []
        for _ in range(1 if METHODS[name].draws else 2):
            start = time.process_time()
            fit = METHODS[name].fit(labels, key=0)
            seconds.append(time.process_time() - start)
        right, log_score, brier, sure = scores(fit.class_posterior, y)
        error = matrix_error(fit, labels, y)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:>22} {place:>11}  {100 * right:6.2f}  {log_score:7.3f}  {brier:5.3f}  "
            f"{100 * sure:+6.1f}  {error:5.3f}  {seconds[0]:6.2f} {seconds[-1]:6.2f} s  {peak:5.0f} MB"
            + ("" if fit.converged else "  not converged"),
            flush=True,
        )


def main(folder, names):
    """All methods, or these, each in its own process."""
    from jtruth.learning import METHODS

    print(
        f"{'method':>22} {'set':>11}  {'right':>6}  {'log':>7}  {'Brier':>5}  {'sure':>6}  {'psi':>5}",
        flush=True,
    )
    for name in names or METHODS:
        subprocess.run([sys.executable, __file__, "--one", str(folder), name], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(Path(sys.argv[2]), sys.argv[3])
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
