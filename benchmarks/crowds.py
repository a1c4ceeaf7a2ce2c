"""Where many people label: how long do evaluate, its picture, compare and clean take?

Run: python -m benchmarks crowds [evaluate picture compare clean peers]
One process, one thread, simulated crowds; CPU seconds of the second call (the first loads compiled programs).
`old` is ae436136, run in turn with this in the same minutes on two busy cores (2026-11-28, Python 3.11.7, jax
0.10.2, numpy 2.4.6).

    evaluate, second call                                   old    new   ratio
    500 x 199 labelers, 5 labels a sample, good            3.86   1.76    2.2
    the same, labelers of .60 to .75                       4.88   2.59    1.9
    300 x 110, 5 classes, 7 labels a sample                5.52   3.56    1.6
    300 x 110, 5 classes, 20 labels a sample               4.41   2.59    1.7
    compare, 8 classifiers, 1000 x 5: 3.56 and 3.51; of a set whose pairs needed tempering (10 of 28) 10.3
    and 7.0 (5 of 28: the others are weighed draws of 1.15 times the width)
    `jtruth clean --features`, whole process, second run: 400 x 8 7.8 and 3.5; digits (1797 x 64) 46.8, 8.6
    crowd-kit 1.4.2 DawidSkene(100), point estimates of such sets: .28, -, .07, .04
    picture of a default answer, 600 x 5: 2.0 and .04 after `evaluate` (.14): only `plot(assumptions=True)`
    fits three more models; `jtruth evaluate --report`, whole process, shows them: 4.9, without a page 1.6
    Later, by turns with 0054075b on the same two cores at a load of 15 to 20, with byte code (user + system):
    --report 5.6 and 4.6, clean 400 x 8 3.3 and 2.5, digits 8.4 and 5.7. Programs are no longer traced again
    (`kept_jit`), and a cleaning works with slopes in outputs: its queue and advice for digits 4.2 and 1.2.
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


if __name__ == "__main__":
    for name in sys.argv[1:] or ["evaluate", "picture", "compare", "clean"]:
        {"evaluate": evaluate, "picture": picture, "compare": compare, "clean": clean, "peers": peers}[name]()
