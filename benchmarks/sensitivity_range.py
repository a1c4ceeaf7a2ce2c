"""What may be believed on real label sets? Error, coverage and width by rule, with and without gold.

Run: python benchmarks/sensitivity_range.py DATA [SUBSAMPLES, 10] [PROCESSES, 2] [GOLD, 0,30,100]
DATA is the folder of public label sets; or the word `simulated` (no files needed, 100 subsamples or more):
400 samples, 4 labelers and a classifier whose errors are independent, with error rates and shares at random.

Sets: restaurant, rte, dogs, faces, bluebirds, cifar10h_a (1, 3 and 5 labels an image, drawn from the
histogram of its 50 human labels; labelers exchangeable). Each subsample has 400 samples (108 bluebirds) with
3 labels a sample, taken at random from those there are. Classifiers: the predictions shipped with a set
("real"), and two simulated with 80 % accuracy: errors independent of the labelers' ("independent"), and
errors with a chance proportional to the share of the sample's wrong labels among all labels of the full set
("shared"). Judged are accuracy and F1 (macro over classes where there are more than two) of the subsample,
nominal 95 %:

  vote         majority vote, binomial interval          labels        Dawid-Skene on the labels, plugged in
  joint        joint posterior, errors independent       difficulty    assume="shared_difficulty"
  range        the default
and with gold
  gold only, ppi (PPI++ of the majority vote), gold (the default with gold), clamped (joint posterior with
  gold)

Columns: mean absolute error of the point, coverage, mean width.

MEASURED
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import csv  # noqa: E402
import gzip  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections import defaultdict  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from multiprocessing import get_context  # noqa: E402
from pathlib import Path  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.metrics import f1_score  # noqa: E402

import jtruth as jt  # noqa: E402
from jtruth.learning import Smoothing, fit_dawid_skene  # noqa: E402
from jtruth.learning.joint import fit_joint  # noqa: E402

SETS = ("restaurant", "rte", "dogs", "faces", "bluebirds", "cifar10h_a")
SIZE, LABELS = 400, 3
METRICS = ("accuracy", "f1")


def table(folder, name):
    """Rows of a csv, gzipped or not, without the header; None if it is not there."""
    for path, opener in ((folder / f"{name}.csv", open), (folder / f"{name}.csv.gz", gzip.open)):
        if path.exists():
            with opener(path, "rt", newline="") as file:
                return list(csv.reader(file))[1:]
    return None


def load(folder):
    """Truth (-1 unknown), predictions by model, labels of every sample as lists of (labeler, label)."""
    truth_rows = [(int(task), int(label)) for task, label in table(folder, "truth")]
    size = 1 + max(task for task, _ in truth_rows)
    truth = np.full(size, -1)
    for task, label in truth_rows:
        truth[task] = label
    labels = [[] for _ in range(size)]
    if (folder / "histograms.npz").exists():
        counts = np.load(folder / "histograms.npz")["counts"]
        labels = [[(0, c) for c in np.repeat(np.arange(len(row)), row)] for row in counts]
    else:
        for task, worker, label in table(folder, "labels"):
            if int(task) < size:
                labels[int(task)].append((int(worker), int(label)))
    models = defaultdict(lambda: np.full(size, -1))
    for model, task, label in table(folder, "predictions") or []:
        models[model][int(task)] = int(label)
    return truth, dict(models), labels


def simulated(seed):
    """Labels and classifier whose errors are independent: 400 samples, 4 labelers, two classes."""
    rng = np.random.default_rng([seed, 99])
    prior, right = rng.uniform(0.2, 0.8), rng.uniform(0.65, 0.95, (4, 2))
    y = (rng.random(SIZE) < prior).astype(int)
    z = np.where(rng.random((SIZE, 4)) < right[:, y].T, y[:, None], 1 - y[:, None])
    y_pred = np.where(rng.random(SIZE) < rng.uniform(0.7, 0.95), y, 1 - y)
    return y, jt.Labels.from_matrix(z, 2), {"true independence": y_pred}, rng


def subsample(folder, seed, per_sample):
    """One subsample: truth, labels, share of wrong labels in the full set, and predictions by classifier."""
    if folder.name == "simulated":
        return simulated(seed)
    truth, models, labels = load(folder)
    rng = np.random.default_rng([seed, per_sample])
    classes = 1 + int(truth.max())
    usable = [i for i in np.flatnonzero(truth >= 0) if labels[i]]
    chosen = rng.choice(usable, min(SIZE, len(usable)), replace=False)
    y = truth[chosen]
    exchangeable = (folder / "histograms.npz").exists()
    rows = []
    for k, i in enumerate(chosen):
        picked = rng.choice(len(labels[i]), min(per_sample, len(labels[i])), replace=False)
        rows += [(k, j if exchangeable else labels[i][p][0], labels[i][p][1]) for j, p in enumerate(picked)]
    sample, worker, label = (np.array(v) for v in zip(*rows, strict=True))
    _, worker = np.unique(worker, return_inverse=True)
    found = jt.Labels.from_long(sample, worker, label, num_classes=classes, repeats="keep")
    wrong = np.array([np.mean([lab != truth[i] for _, lab in labels[i]]) for i in chosen])
    other = (y + rng.integers(1, classes, y.size)) % classes
    predictions = {f"real {m}": p[chosen] for m, p in models.items()}
    predictions["independent"] = np.where(rng.random(y.size) < 0.2, other, y)
    chance = np.minimum(1, 0.2 * wrong / max(wrong.mean(), 1e-9))
    predictions["shared"] = np.where(rng.random(y.size) < chance, other, y)
    return y, found, predictions, rng


def ideal(y, y_pred, classes):
    """(accuracy, F1) with the true labels."""
    average = "binary" if classes == 2 else "macro"
    return (y == y_pred).mean(), f1_score(y, y_pred, average=average, zero_division=0)


def rows_of(result, classes, prefix=""):
    """rule -> metric -> (mean, low, high) of an evaluation; its assumptions become rules of their own."""
    names = ("accuracy", "f1" if classes == 2 else "macro_f1")

    def read(metrics):
        if np.isnan(metrics[names[0]].mean):
            return {}  # not identified
        shown = [(m, metrics[n]) for m, n in zip(METRICS, names, strict=True) if n in metrics]
        return {m: (law.mean, *law.interval(0.95)[:2]) for m, law in shown}  # no macro F1 with gold

    found = {prefix: read(result.metrics)}
    if len(result.assumptions) > 1:
        found |= {f"  {a.name}": read(a.metrics) for a in result.assumptions}
    return found


def pooled(result, classes):
    """assume="shared_difficulty": the draws of its models together."""
    names = ("accuracy", "f1" if classes == 2 else "macro_f1")
    models = [a for a in result.assumptions if a.name in ("shared_strata", "random_effect")]
    if not models:
        return {}
    found = {}
    for metric, name in zip(METRICS, names, strict=True):
        draws = [a.metrics[name].draws for a in models]
        most = min(map(len, draws))
        both = np.concatenate([d[np.linspace(0, len(d) - 1, most).astype(int)] for d in draws])
        found[metric] = (both.mean(), *np.quantile(both, [0.025, 0.975]))
    return found


def labels_only(labels, y_pred, classes):
    """Dawid-Skene on the labels alone, plugged in."""
    fit = fit_dawid_skene(labels, smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01))
    p = np.log(np.maximum(np.asarray(fit.class_posterior), 1e-300))
    flat = np.full(classes, 1 / classes)
    return rows_of(jt.evaluate(y_pred, p, prior=flat), classes, "labels")


def one_job(job):
    """All rules on one classifier of one subsample."""
    folder, seed, per_sample, golds = job
    y, labels, predictions, rng = subsample(folder, seed, per_sample)
    classes, out = labels.num_classes, []
    order = rng.permutation(y.size)
    for model, y_pred in predictions.items():
        kind = model.split()[0]
        truth = dict(zip(METRICS, ideal(y, y_pred, classes), strict=True))
        found, seconds = {}, {}
        for gold in golds:
            known = np.full(y.size, -1)
            known[order[:gold]] = y[order[:gold]]
            begin = time.perf_counter()
            if gold == 0:
                result = jt.evaluate(y_pred, labels, key=jax.random.key(seed))
                found |= rows_of(result, classes, "range")
                found |= labels_only(labels, y_pred, classes)
                found["difficulty"] = pooled(result, classes)
            else:
                result = jt.evaluate(y_pred, labels, gold=known, key=jax.random.key(seed))
                found |= {f"{k} {gold}".strip(): v for k, v in rows_of(result, classes, "gold").items()}
                fit = fit_joint(labels, y_pred=y_pred, gold=known, key=jax.random.key(seed))
                found[f"clamped {gold}"] = {"accuracy": accuracy(fit)}
            seconds[str(gold)] = time.perf_counter() - begin
        out.append((folder.name, per_sample, kind, found, truth, seconds))
    return out


def accuracy(fit):
    """Mean and equal-tailed interval of the in-sample accuracy."""
    draws = np.einsum("mcc->m", fit.tables("in-sample")) / fit.counts[0].sum()
    return (draws.mean(), *np.quantile(draws, [0.025, 0.975]))


def report(rows):
    """Print the tables."""
    groups = defaultdict(list)
    for name, per_sample, kind, found, truth, _ in rows:
        for group in (f"{name} {per_sample} {kind}", f"all {kind}"):
            groups[group].append((found, truth))
    for metric in METRICS:
        print(f"\n{metric}: error / coverage / width")
        for group, pairs in sorted(groups.items()):
            print(f"  {group} ({len(pairs)})")
            for rule in dict.fromkeys(r for found, _ in pairs for r in found):
                cells = [(f[rule][metric], t[metric]) for f, t in pairs if metric in f.get(rule, {})]
                if cells:
                    v = [(abs(m - t), lo - 1e-9 <= t <= hi + 1e-9, hi - lo) for (m, lo, hi), t in cells]
                    error, covered, width = np.mean(v, axis=0)
                    print(f"    {rule:<22} {error:.3f} / {covered:.2f} / {width:.3f}")
    for gold in rows[0][5]:
        print(f"seconds with {gold} gold: median {np.median([r[5][gold] for r in rows]):.1f}")


def main(data, subsamples=10, processes=2, golds="0,30,100"):
    """All sets, subsample by subsample. JTRUTH_ROWS=FILE: append rows to it, and report all that it holds."""
    golds = tuple(int(g) for g in golds.split(","))
    file = Path(os.environ.get("JTRUTH_ROWS", os.devnull))
    jobs = [
        (Path(data) / name, seed, per_sample, golds)
        for seed in range(int(subsamples))
        for name in SETS
        for per_sample in ((1, 3, 5) if name == "cifar10h_a" else (LABELS,))
    ]
    if data == "simulated":
        jobs = [(Path("simulated"), seed, 4, golds) for seed in range(int(subsamples))]
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    with ProcessPoolExecutor(int(processes), mp_context=get_context("spawn")) as pool:
        for part in pool.map(one_job, jobs):
            rows += part
            with file.open("a") as out:
                out.writelines(json.dumps(row) + "\n" for row in part)
    report(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
