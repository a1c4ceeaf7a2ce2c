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

Measured: AMD EPYC, 4 busy cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6. Error / coverage / width; in
brackets how many classifiers were judged. Without gold 10 subsamples of every set, 14 s for an evaluation
(median; models that mix badly stop after 12 s each). With gold it takes longer and there were 5 to 8.

Read: on real classifiers the range covers always, its middle is nearer than majority vote, and the narrow
answer of independence covers two times in three. Where labelers are wrong together against an independent
classifier (dogs, faces) nothing without gold covers. Gold in the default's pooled rule covers in every set;
gold clamped into the model of independent errors does not help. On faces PPI++ alone is nearer than the pool.

    no gold, accuracy
                                 vote               joint              difficulty         range
    bluebirds, independent (10)  .189 / 0.10 / .178 .128 / 0.30 / .214 .174 / 0.60 / .311 .179 / 0.60 / .339
    bluebirds, shared (10)       .157 / 0.00 / .172 .057 / 0.90 / .197 .122 / 0.90 / .293 .134 / 0.90 / .340
    cifar10 1, independent       not identified: no number
    cifar10 1, real              not identified: no number
    cifar10 1, shared            not identified: no number
    cifar10 3, independent (10)  .020 / 1.00 / .080 .009 / 0.10 / .008 .008 / 0.70 / .019 .014 / 1.00 / .080
    cifar10 3, real (20)         .014 / 0.90 / .049 .004 / 0.65 / .009 .004 / 1.00 / .021 .007 / 1.00 / .056
    cifar10 3, shared (10)       .004 / 1.00 / .073 .005 / 0.40 / .006 .009 / 0.90 / .021 .003 / 1.00 / .079
    cifar10 5, independent (10)  .015 / 1.00 / .079 .006 / 0.20 / .005 .006 / 0.80 / .014 .010 / 1.00 / .079
    cifar10 5, real (20)         .011 / 1.00 / .049 .005 / 0.50 / .006 .005 / 0.90 / .019 .006 / 1.00 / .054
    cifar10 5, shared (10)       .004 / 1.00 / .072 .003 / 0.70 / .003 .004 / 0.80 / .012 .002 / 1.00 / .072
    dogs, independent (10)       .183 / 0.00 / .093 .118 / 0.00 / .053 .104 / 0.00 / .099 .143 / 0.00 / .175
    dogs, shared (10)            .118 / 0.00 / .089 .039 / 0.30 / .048 .029 / 0.70 / .074 .072 / 0.80 / .178
    faces, independent (10)      .290 / 0.00 / .096 .239 / 0.00 / .057 .263 / 0.00 / .146 .277 / 0.00 / .210
    faces, shared (10)           .199 / 0.00 / .094 .126 / 0.00 / .055 .153 / 0.00 / .133 .176 / 0.20 / .228
    restaurant, independent (10) .006 / 1.00 / .079 .004 / 0.80 / .011 .006 / 0.90 / .028 .006 / 1.00 / .079
    restaurant, real (20)        .009 / 0.80 / .025 .003 / 0.70 / .007 .006 / 0.95 / .030 .007 / 1.00 / .038
    restaurant, shared (10)      .006 / 1.00 / .044 .045 / 0.00 / .016 .028 / 0.30 / .039 .021 / 1.00 / .080
    rte, independent (10)        .120 / 0.00 / .090 .023 / 0.90 / .099 .034 / 0.90 / .147 .062 / 1.00 / .207
    rte, real (10)               .045 / 0.70 / .096 .021 / 0.90 / .103 .018 / 1.00 / .121 .023 / 1.00 / .168
    rte, shared (10)             .066 / 0.20 / .085 .080 / 0.00 / .090 .023 / 1.00 / .158 .015 / 1.00 / .207
    all, independent (70)        .117 / 0.44 / .099 .075 / 0.33 / .064 .085 / 0.56 / .109 .099 / 0.66 / .167
    all, shared (70)             .079 / 0.46 / .090 .051 / 0.33 / .059 .053 / 0.66 / .104 .060 / 0.84 / .169
    all, real (70)               .016 / 0.87 / .049 .006 / 0.66 / .021 .007 / 0.96 / .038 .009 / 1.00 / .066
    all, true independence (97)  .066 / 0.22 / .082 .008 / 0.98 / .046 .017 / 1.00 / .141 .033 / 1.00 / .177

    no gold, F1 (macro for 10 classes)
                                 vote               joint              difficulty         range
    all, independent (70)        .131 / 0.44 / .129 .101 / 0.31 / .106 .129 / 0.50 / .215 .132 / 0.66 / .273
    all, shared (70)             .103 / 0.49 / .140 .117 / 0.24 / .104 .117 / 0.67 / .250 .113 / 0.79 / .328
    all, real (70)               .034 / 0.91 / .116 .014 / 0.59 / .040 .035 / 0.90 / .187 .034 / 1.00 / .236
    all, true independence (97)  .064 / 0.30 / .091 .009 / 0.98 / .051 .020 / 1.00 / .176 .034 / 1.00 / .217

    30 gold, accuracy
                                 gold only          ppi                gold (default)     clamped
    bluebirds, independent (7)   .018 / 1.00 / .264 .021 / 1.00 / .250 .018 / 1.00 / .205 .022 / 1.00 / .152
    bluebirds, shared (7)        .029 / 0.86 / .223 .025 / 0.86 / .221 .023 / 1.00 / .198 .024 / 1.00 / .146
    cifar10 1, independent (7)   .044 / 1.00 / .287 .021 / 0.86 / .160 .015 / 1.00 / .140 .049 / 0.00 / .058
    cifar10 1, real (14)         .035 / 0.93 / .167 .015 / 0.93 / .124 .008 / 1.00 / .115 .011 / 0.86 / .042
    cifar10 1, shared (7)        .047 / 1.00 / .243 .018 / 1.00 / .122 .017 / 1.00 / .115 .060 / 0.00 / .048
    cifar10 3, independent (7)   .029 / 1.00 / .281 .028 / 1.00 / .141 .014 / 1.00 / .119 .008 / 0.14 / .008
    cifar10 3, real (14)         .029 / 0.79 / .139 .017 / 0.79 / .101 .010 / 0.93 / .092 .004 / 0.64 / .009
    cifar10 3, shared (7)        .050 / 0.86 / .256 .008 / 1.00 / .106 .005 / 1.00 / .088 .005 / 0.29 / .006
    cifar10 5, independent (5)   .056 / 1.00 / .279 .021 / 1.00 / .113 .011 / 1.00 / .094 .006 / 0.20 / .006
    cifar10 5, real (10)         .027 / 1.00 / .147 .009 / 1.00 / .102 .004 / 1.00 / .087 .005 / 0.60 / .008
    cifar10 5, shared (5)        .068 / 0.80 / .251 .007 / 1.00 / .096 .005 / 1.00 / .080 .003 / 0.80 / .004
    dogs, independent (7)        .029 / 1.00 / .281 .037 / 1.00 / .227 .048 / 1.00 / .214 .111 / 0.00 / .053
    dogs, shared (7)             .052 / 1.00 / .293 .048 / 1.00 / .232 .025 / 1.00 / .200 .048 / 0.00 / .047
    faces, independent (7)       .029 / 1.00 / .281 .031 / 1.00 / .267 .071 / 1.00 / .314 .192 / 0.00 / .056
    faces, shared (7)            .037 / 1.00 / .284 .045 / 1.00 / .268 .060 / 1.00 / .270 .101 / 0.00 / .054
    restaurant, independent (8)  .059 / 0.88 / .278 .019 / 1.00 / .118 .007 / 1.00 / .086 .003 / 1.00 / .012
    restaurant, real (16)        .015 / 1.00 / .057 .012 / 1.00 / .050 .007 / 1.00 / .038 .003 / 0.62 / .007
    restaurant, shared (8)       .033 / 1.00 / .174 .021 / 1.00 / .152 .016 / 1.00 / .109 .041 / 0.00 / .016
    rte, independent (7)         .049 / 1.00 / .302 .043 / 1.00 / .240 .034 / 0.86 / .183 .018 / 1.00 / .090
    rte, real (7)                .055 / 1.00 / .373 .028 / 1.00 / .255 .013 / 1.00 / .186 .013 / 1.00 / .094
    rte, shared (7)              .040 / 1.00 / .306 .037 / 1.00 / .242 .022 / 1.00 / .188 .059 / 0.14 / .079
    all, independent (55)        .039 / 0.98 / .282 .028 / 0.98 / .191 .028 / 0.98 / .171 .052 / 0.44 / .056
    all, shared (55)             .043 / 0.95 / .253 .027 / 0.98 / .182 .022 / 1.00 / .158 .044 / 0.25 / .051
    all, real (61)               .029 / 0.93 / .152 .015 / 0.93 / .111 .008 / 0.98 / .093 .007 / 0.72 / .026
    everything (171)             .037 / 0.95 / .226 .023 / 0.96 / .160 .019 / 0.99 / .139 .033 / 0.48 / .043

    30 gold, F1 (two classes)
                                 gold only          ppi                gold (default)
    everything (67)              .094 / 1.00 / .497 .070 / 1.00 / .447 .054 / 0.99 / .340

    100 gold, accuracy
                                 gold only          ppi                gold (default)     clamped
    all, independent (55)        .027 / 0.87 / .128 .016 / 0.95 / .074 .017 / 0.96 / .073 .036 / 0.51 / .035
    all, shared (55)             .024 / 0.96 / .115 .013 / 0.98 / .067 .011 / 1.00 / .068 .028 / 0.31 / .033
    all, real (61)               .013 / 1.00 / .081 .008 / 0.97 / .053 .006 / 0.98 / .045 .006 / 0.79 / .021
    everything (171)             .021 / 0.95 / .107 .012 / 0.96 / .065 .011 / 0.98 / .061 .022 / 0.54 / .029

    100 gold, F1 (two classes)
                                 gold only          ppi                gold (default)
    everything (67)              .042 / 0.99 / .266 .028 / 0.97 / .201 .027 / 0.97 / .165
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
from jtruth.learning.joint.posterior import fit_joint  # noqa: E402

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
