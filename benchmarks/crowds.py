"""Time of evaluate, its picture, compare and clean for crowds of labelers.

Run: python -m benchmarks crowds [evaluate picture compare clean peers millions]
One process, one thread, simulated crowds; CPU seconds of the second call (the first loads compiled programs).
`old` is ae436136, run in turn with this in the same minutes on two busy cores (2026-11-28, Python 3.11.7, jax
0.10.2, numpy 2.4.6).

    evaluate, second call                                   old    new   ratio
    500 x 199 labelers, 5 labels a sample, good            3.86   1.76    2.2
    the same, labelers of .60 to .75                       4.88   2.59    1.9
    300 x 110, 5 classes, 7 labels a sample                5.52   3.56    1.6
    300 x 110, 5 classes, 20 labels a sample               4.41   2.59    1.7
    Since then rows that are alike are drawn in fewer operations. 0054075b and this in turn, load 15: 1.91 and
    1.66, 2.84 and 2.34, 3.76 and 3.12, 2.69 and 2.44. Tried and left out: moves of all labelers together with
    classes summed out (half of the sweeps, each twice as long); a first look after 100 sweeps (as many)
    compare, 8 classifiers, 1000 x 5: 3.56 and 3.51; of a set whose pairs needed tempering (10 of 28) 10.3
    and 7.0 (5 of 28: the others are weighed draws of 1.15 times the width)
    `jtruth clean --features`, whole process, second run: 400 x 8 7.8 and 3.5; digits (1797 x 64) 46.8, 8.6
    crowd-kit 1.4.2 DawidSkene(100), point estimates of such sets: .28, -, .07, .04
    `millions`: 400 000 tasks x 5 labels by 120 labelers, CPU seconds (wall, two cores, load 10), median
    of three, ratios of CPU; pandas 3.1.1, DuckDB 2.0.1 with one thread; equal classes and equal votes:
        Dawid and Skene, 5 steps: crowd-kit (stops at 1e-5) 1.81 (12.7), jtruth .25 (2.1): 7.2
        to 1e-8 in every probability: jtruth .50 (4.5): 3.6 times less than crowd-kit's 5 steps
        majority vote: DuckDB's `mode` and `group by` .10 (1.1), jtruth from codes .02 (.17): 5
        `read_labels` of the data frame, which both of jtruth's need once: .89 (8.5)
    picture of a default answer, 600 x 5: .02 after `evaluate`; the first of a process loads matplotlib (.85)
    Later, by turns with 0054075b on the same two cores beside a test run (user + system, byte code there):
    digits 8.2 and 5.8, since a linear model's answers are kept as slopes in its outputs; 400 x 8 3.2 and
    2.8.
    Whole commands, 2ac7ecc0 and this by turns in the same minutes (user + system, best of the second and
    third run, byte code there, load 5 to 8; imports are .7 and more of each):
        labelers, Parquet of 2 x 10^6 labels of 400 000 tasks by 120 workers      7.6    4.6
        prevalence of it; --by day                                          5.4, 7.8    3.2, 5.0
        agreement of 10^6 labels of 120 workers, Parquet; CSV               2.1, 3.1    1.4, 2.1
        compare, 8 classifiers, 1000 x 5                                         9.9    5.0
        evaluate examples/caries.csv --rater 5                                   1.6    1.0
        evaluate, 600 x 5; with --report; with --full --report     1.6, 5.0, 5.0     .9, .95, 4.9
    .5 of each was the interpreter's last search for cycles, .5 of labelers waiting OpenBLAS threads. A page
    fits nothing; --full fits three more models: 2.2 sampling, 1.3 tracing and loading of programs that the
    cache holds (stored StableHLO saved .9 of it and was left out)
    Poor crowds mix slowly. Gibbs sampling of 500 x 199 labelers of .5 to .6, 5 labels a sample, stopped by
    its work: 10.5 s, an effective 316 draws of 69 088; of 5000 x 300, 4 classes, 3 labels, .4 to .7: 12.9 s
    and 201 of 8256. Tried and left out: Hamiltonian moves of all 407 parameters with classes summed out, from
    Gibbs draws (32 points, lists of labels instead of a dense table, 20 to 32 steps): 4.9 to 5.6 s and good,
    but 300 x 110 of 5 classes took 40 s for 12, and 2000 x 199, which has two modes, 190 s for 10.5 and did
    not converge. The same of the 9 shared parameters alone: as many effective draws a second; random walks of
    them (4, 12 a sweep): 49 and 52 a second, where Gibbs has 45
    Kept: long moves where tempering is far from the prior: 1000 x 50 of .5 to .7, 3 labels each, 41 280 draws
    in 7.4 s, now 8640 in 3.2; and tallies in one pass: a sweep 3.3 and 2.9 ms, 2.5 and 2.2, 5.1 and 4.8
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jtruth as jt

Made = tuple[jt.Labels, np.ndarray, np.ndarray]


def crowd(
    samples: int, labelers: int, each: int, classes: int, right: tuple[float, float], seed: int
) -> Made:
    """Labels (`each` a sample, by random labelers of uniform accuracy), predictions (.85) and the truth."""
    rng = np.random.default_rng(seed)
    y, accuracy = rng.integers(0, classes, samples), rng.uniform(*right, labelers)
    labeler = rng.random((samples, labelers)).argsort(axis=1)[:, :each]
    wrong = (y[:, None] + rng.integers(1, classes, labeler.shape)) % classes
    z = np.full((samples, labelers), -1)
    given = np.where(rng.random(labeler.shape) < accuracy[labeler], y[:, None], wrong)
    np.put_along_axis(z, labeler, given, axis=1)
    y_pred = np.where(rng.random(samples) < 0.85, y, (y + rng.integers(1, classes, samples)) % classes)
    return jt.Labels.from_matrix(z, classes), y_pred, y


def measured(name: str, job: Callable[[], Any]) -> None:
    """CPU seconds of the first and the second call."""
    seconds = []
    for _ in range(2):
        began = time.process_time()
        job()
        seconds.append(time.process_time() - began)
    print(f"{name:45} first {seconds[0]:6.2f}  second {seconds[1]:6.2f}", flush=True)


SIZES = (
    (500, 199, 5, 2, (0.55, 0.95)), (500, 199, 5, 2, (0.6, 0.75)), (300, 110, 7, 5, (0.4, 0.95)),
    (300, 110, 20, 5, (0.55, 0.95)),
)  # fmt: skip


def evaluate() -> None:
    """Many labelers, each of few labels."""
    for size in SIZES:
        labels, y_pred, _ = crowd(*size, seed=0)
        measured(f"evaluate {size}", lambda labels=labels, y_pred=y_pred: jt.evaluate(y_pred, labels))


def picture() -> None:
    """The answer, and what each assumption says."""
    labels, y_pred, _ = crowd(600, 5, 5, 2, (0.55, 0.95), seed=0)
    measured("evaluate and plot 600 x 5", lambda: jt.evaluate(y_pred, labels).plot())


def compare() -> None:
    """Eight classifiers, by pairs."""
    labels, _, y = crowd(1000, 5, 5, 2, (0.55, 0.95), seed=0)
    rng = np.random.default_rng(5)
    named = {f"m{k}": np.where(rng.random(1000) < 0.75 + 0.02 * k, y, 1 - y) for k in range(8)}
    measured("compare 8 classifiers 1000 x 5", lambda: jt.compare_classifiers(named, labels))


def clean() -> None:
    """What `jtruth clean --features` does: rates, a learner, fifty samples to check and advice."""
    from sklearn.datasets import load_digits

    from jtruth.cleaning.request import begin, queue

    labels, _, y = crowd(400, 8, 8, 2, (0.55, 0.95), seed=2)
    x = np.random.default_rng(0).normal(size=(400, 8)) + 0.7 * y[:, None]
    measured("clean 400 x 8", lambda: queue(begin(labels, (None, None), x)[0], 50))
    (x, y), rng = load_digits(return_X_y=True), np.random.default_rng(1)
    z = np.where(rng.random((y.size, 3)) < 0.75, y[:, None], rng.integers(0, 10, (y.size, 3)))
    labels = jt.Labels.from_matrix(z, 10)
    measured("clean digits, 3 labels each", lambda: queue(begin(labels, (None, None), x / 16)[0], 50))


def peers() -> None:
    """Dawid and Skene by crowd-kit, on the same labels, beside fit_dawid_skene and all of evaluate."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    from jtruth.learning import fit_dawid_skene

    for size in SIZES:
        labels, _, _ = crowd(*size, seed=0)
        sample, labeler, label = labels.entries()
        table = pd.DataFrame({"task": sample, "worker": labeler, "label": label})
        measured(f"crowd-kit DawidSkene(100) {size}", lambda table=table: DawidSkene(100).fit(table))
        measured(f"fit_dawid_skene {size}", lambda labels=labels: fit_dawid_skene(labels))


def millions() -> None:
    """Two million labels by 120 labelers: Dawid and Skene by crowd-kit, majority vote by DuckDB, and ours.

    Both start from tables in memory; jtruth also makes `Labels` of the data frame. crowd-kit says how many
    steps it took, and jtruth takes as many, then as many as it takes by default.
    """
    import duckdb
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    from jtruth.learning import fit_dawid_skene

    labels, _, y = crowd(400_000, 120, 5, 2, (0.6, 0.9), seed=0)
    names = ("task", "worker", "label")
    frame = pd.DataFrame(dict(zip(names, labels.entries(), strict=True)))
    theirs = DawidSkene(100)
    theirs.fit(frame)
    steps = len(theirs.loss_history_)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("create table given as select * from frame")
    query = "select task, mode(label) as label from given group by task"
    votes = connection.execute(query).fetchnumpy()
    fit = fit_dawid_skene(labels, max_steps=steps, tol=1e-300)
    chosen = np.asarray(fit.class_posterior).argmax(axis=1)
    print(f"{steps} steps; classes equal {np.mean(chosen == theirs.labels_.sort_index().to_numpy()):.6f}")
    ours = labels.counts().argmax(axis=1)[votes["task"]]
    print(f"votes equal {np.mean(ours == votes['label']):.6f}; right {np.mean(chosen == y):.4f}")

    def fresh() -> jt.Labels:  # nothing counted yet
        return jt.Labels(*labels.entries(), labels.num_samples, labels.num_labelers, labels.num_classes)

    several("crowd-kit DawidSkene", lambda: DawidSkene(100).fit(frame))
    several("fit_dawid_skene, as many steps", lambda: fit_dawid_skene(fresh(), max_steps=steps, tol=1e-300))
    several("fit_dawid_skene", lambda: fit_dawid_skene(fresh()))
    several("Labels of the data frame", lambda: jt.read_labels(frame))
    several("DuckDB group by", lambda: connection.execute(query).fetchnumpy())
    several("majority vote", lambda: fresh().counts().argmax(axis=1))


def several(name: str, job: Callable[[], Any]) -> None:
    """CPU and wall seconds, medians of three after one that is not counted."""
    seconds = []
    for _ in range(4):
        began = time.process_time(), time.perf_counter()
        job()
        seconds.append((time.process_time() - began[0], time.perf_counter() - began[1]))
    cpu, wall = np.median(seconds[1:], axis=0)
    print(f"{name:35} cpu {cpu:7.2f}  wall {wall:7.2f}", flush=True)


if __name__ == "__main__":
    jobs = {job.__name__: job for job in (evaluate, picture, compare, clean, peers, millions)}
    for name in sys.argv[1:] or ["evaluate", "picture", "compare", "clean"]:
        jobs[name]()
