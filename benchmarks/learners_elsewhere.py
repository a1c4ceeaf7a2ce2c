"""The consensus methods of crowd-kit, snorkel and peerannot on the crowds of `learners.py`, for its table.

Run in an environment with these packages (jtruth is not needed, and must not be: their versions of its
dependencies may differ), then show the file with `learners.py`:

    python benchmarks/learners_elsewhere.py FOLDER OUT.npz [METHOD ...]
    python benchmarks/learners.py FOLDER elsewhere:OUT.npz

Each method runs with its defaults in this process, over the sets from few labels to many; seconds are those
of the CPU. What gives classes and no probabilities (MMSR, KOS) is written as certain. A method that refuses
or fails has a message and no row. The measured table is in the head of `learners.py`.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

SETS = ("bluebirds", "faces", "restaurant", "rte", "dogs", "cifar10h_a")
CROWD_KIT = ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "Wawa", "ZeroBasedSkill",
             "MMSR", "KOS")  # fmt: skip
PEERANNOT = ("DawidSkene", "GLAD", "WDS", "IWMV")


def read(folder):
    """Labels as a frame of whole numbers, and the number of classes."""
    frame = pd.read_csv(folder / "labels.csv", usecols=["task", "worker", "label"])
    return frame, len(json.loads((folder / "classes.json").read_text())["classes"])


def crowd_kit(name, frame, classes):
    """(tasks, probabilities)."""
    from crowdkit.aggregation import classification

    model = getattr(classification, name)()
    if hasattr(model, "fit_predict_proba"):
        p = model.fit_predict_proba(frame).reindex(columns=range(classes), fill_value=0.0).fillna(0.0)
        return p.index.to_numpy(), p.to_numpy()
    said = model.fit_predict(frame)
    return said.index.to_numpy(), np.eye(classes)[said.to_numpy().astype(int)]


def snorkel(name, frame, classes):
    """The label model on the matrix of labels, -1 where there is none."""
    from snorkel.labeling.model import LabelModel

    table = frame.drop_duplicates(["task", "worker"]).pivot(index="task", columns="worker", values="label")
    model = LabelModel(cardinality=classes, verbose=False)
    matrix = table.fillna(-1).to_numpy().astype(int)
    model.fit(matrix, progress_bar=False, seed=0)
    return table.index.to_numpy(), model.predict_proba(matrix)


def peerannot(name, frame, classes):
    """Answers by task and worker."""
    from peerannot import models

    tasks, task = np.unique(frame["task"].to_numpy(), return_inverse=True)
    workers, worker = np.unique(frame["worker"].to_numpy(), return_inverse=True)
    answers = {i: {} for i in range(tasks.size)}
    for i, t, z in zip(task.tolist(), worker.tolist(), frame["label"].tolist(), strict=True):
        answers[i][t] = z
    found = getattr(models, name)(answers=answers, n_workers=workers.size, n_classes=classes)
    if hasattr(found, "run"):
        found.run()
    p = np.asarray(found.get_probas(), float)
    return tasks, np.eye(classes)[p.astype(int)] if p.ndim == 1 else p  # IWMV gives classes


TOO_LARGE = {("snorkel LabelModel", "cifar10h_a")}  # a square of 25 710 rows (labelers x classes), 13 GB
METHODS = {
    **{f"crowd-kit {name}": (crowd_kit, name, "crowd-kit") for name in CROWD_KIT},
    "snorkel LabelModel": (snorkel, "LabelModel", "snorkel"),
    **{f"peerannot {name}": (peerannot, name, "peerannot") for name in PEERANNOT},
}


def main(folder, out, names):
    """Every method on every set; the file is written after each, and what it has is not done again."""
    found = dict(np.load(out)) if Path(out).exists() else {}
    for name in names or METHODS:
        how, inner, package = METHODS[name]
        for place in SETS:
            key = f"{name} {version(package)}|{place}"
            if f"{key}|p" in found or (name, place) in TOO_LARGE:
                continue
            frame, classes = read(folder / place)
            start = time.process_time()
            try:
                tasks, p = how(inner, frame, classes)
            except Exception as problem:  # whatever another package raises: it has no row, and says why
                print(f"{name} on {place}: {type(problem).__name__}: {problem}"[:150], flush=True)
                continue
            seconds = time.process_time() - start
            found |= {f"{key}|tasks": tasks.astype(str), f"{key}|p": p, f"{key}|seconds": np.array(seconds)}
            print(f"{key}  {seconds:.2f} s", flush=True)
            np.savez(out, **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
