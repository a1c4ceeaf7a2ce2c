"""Which labels are wrong? `suspicious_labels` and confident learning beside cleanlab, on labels of known
truth.

Run: python -m benchmarks label_issues FOLDER [CLEANLAB_PYTHON]
     python -m benchmarks label_issues features [FOLDER] [CLEANLAB_PYTHON]
     python -m benchmarks label_issues counts FOLDER [SEEDS]

FOLDER holds `labelerrors_mnist` and `cifar10h_a` (labels, truth, predicted probabilities).
CLEANLAB_PYTHON is the interpreter of another environment that has cleanlab; jtruth does not depend on it.

Measured: Intel Xeon, 2 shared cores, Python 3.11, jax 0.10.2, numpy 2.4; cleanlab 2.9.0. Average precision +-
its bootstrap error over labels; expected number of wrong labels [95 % interval] (found).

    one label a sample              suspicious_labels  self-confidence  margin (cleanlab)  expected (found)
    MNIST, 10 of 10000 corrected       .478 +- .147       .474             .477             2.7 [0, 6] (10)
    or ambiguous, 15                   .499 +- .118       .504             .507             2.7 [0, 6] (15)
    CIFAR-10H, one human, 249 of 5000  .804 +- .024       .783             .766             260 [244, 276]
    (249)
    confident joint instead: 15.9 on MNIST, 330 on CIFAR-10H
    every label of 2563 people on 228 images; 664 of 11743 are wrong
      independent errors, labels alone .873 +- .015       cleanlab multiannotator, with     626 [624, 628]
      the same with the classifier     .873 +- .015       the classifier: .977 +- .003      626 [624, 628]
      shared confusion, labels alone   .973 +- .003                                   626 [624, 626]
      the same with the classifier     .982 +- .003                                   627 [626, 641]

Shared confusion (`shared_confusion`) beside Dawid and Skene's EM on six crowds, labels alone; "effect" is how
many labels of a sample say what one independent label does; average precision and number of wrong labels:

    set         effect  EM            wrong labels       shared confusion  wrong labels       (found)
    bluebirds   1.6     .887 +- .010  1376 [1374, 1387]  .898 +- .007      1359 [1330, 1385]  (1535)
    dogs        1.5     .713 +- .010  2001 [1989, 2014]  .745 +- .008      2020 [1990, 2055]  (2450)
    faces       2.5     .691 +- .011  1255 [1248, 1265]  .668 +- .011      1420 [1302, 1750]  (2169)
    rte         1.1     .849 +- .008  2092 [2079, 2105]  .928 +- .004      2130 [2103, 2165]  (2167)
    restaurant  1.3     .815 +- .033  117 [115, 120]     .810 +- .033      122 [116, 130]     (143)
    cifar10h_a  7.8     .317 +- .015  2455 [2216, 2686]  .973 +- .003      626 [624, 626]     (664)

True classes of samples drawn at random (`gold`), 200 draws (100 where there is one label a sample): how often
the 95 % interval holds the number (standard error .020 at most), and the median interval:

    set                  found  30 known             100 known
    bluebirds            1535   .995  [1276, 1775]   .960  [1502, 1573]
    dogs                 2450   .975  [1771, 3081]   .960  [2152, 2758]
    faces                2169   .915  [1513, 2786]   .975  [1871, 2464]
    rte                  2167   1.00  [1723, 2567]   .990  [1998, 2323]
    restaurant           143    1.00  [2, 375]       1.00  [38, 202]
    cifar10h_a, crowd    664    1.00  [144, 1118]    1.00  [530, 800]
    cifar10h_a, 1 label  249    1.00  [3, 491]       .970  [103, 395]
    MNIST              10 or 15 1.00  [0, 484]       1.00  [0, 142]

Features alone (`python -m benchmarks label_issues features`), one noisy label a sample, a fifth wrong (of two
classes 10 and 30 %): wrong labels among the 60 that `jtruth clean --features` asks for first, and among the
60 of least self-confidence by scikit-learn's logistic regression out of fold (cleanlab's order); where fewer
are wrong, the share times 60. Mean of three seeds:

    set              jtruth  self-confidence  cleanlab    accuracy of each, afterwards
    digits            59.3        58.0          58.0          90.3, 90.8, 90.6
    breast_cancer     57.7        55.0          55.0          92.1, 92.0, 92.0
    wine              52.4        52.1          52.1          96.4, 95.7, 95.5
    iris              56.6        50.0          50.4          95.3, 95.1, 95.3
    made, 3 classes   44.3        47.0          47.0          64.3, 63.8, 63.8
    made, 2 classes   52.3        48.0          48.0          84.5, 82.5, 82.5
    mean              53.8        51.7          51.8          87.2, 86.7, 86.6

cleanlab is cleanlab 2.9.0 itself (`CleanLearning` of the same model: its issues first, then by quality).
The posterior of label and features together (the noise layer) finds 51.7; it is worse where classes overlap.

On sets on which nothing was chosen (`features FOLDER`, the folder of public sets; five seeds), and the
accuracy out of fold, in per cent, of logistic regression after these 60 labels were put right:

    set              jtruth  self-confidence      cleanlab        accuracy of each, afterwards
    german            29.4    30.8 (+- 1.2)    30.8 (+- 1.2)      74.4, 74.4, 74.4
    heart             32.6    32.3 (+- 0.9)    32.5 (+- 0.9)      80.9, 81.1, 81.3
    ionosphere        37.2    30.4 (+- 1.4)    31.0 (+- 1.6)      87.1, 86.5, 86.1
    breast_cancer     21.4    20.3 (+- 1.5)    20.6 (+- 1.3)      72.3, 70.2, 71.1
    optdigits         59.0    57.8 (+- 0.6)    57.6 (+- 0.6)      89.4, 89.0, 88.9
    labelme           55.8    55.2 (+- 0.4)    55.2 (+- 0.4)      81.0, 81.0, 81.2
    made, 3 classes   36.8    40.2 (+- 1.5)    40.2 (+- 1.5)      65.2, 65.1, 65.1
    made again        37.4    38.2 (+- 1.1)    38.2 (+- 1.1)      61.6, 61.1, 61.1
    mean              38.7    38.2             38.3               76.5, 76.1, 76.2

(+- is the standard error of the difference from jtruth.) So over all sets it finds what cleanlab finds, five
times a little more and three times less, and the model that follows is as accurate. German credit was refused
for most seeds before: most labels of its rare class are wrong, so that the class that prior and label make
probable is the common one for all samples, and that was taken for the label.

Where it loses, a linear model cannot be right (each class of the made data is two clusters, and the features
of german say little): trained with rates known it is sure of itself, and takes what it does not fit for wrong
labels; trained on labels as they are it stays blunt. Which of the two predicts labels out of fold better (the
first, nearly always) does not tell which finds more. The mean of both (four seeds) finds 38.2 of each made
set where the first finds 35.8 and 36.5, and 31.8 instead of 28.2 on german, but 33.0 instead of 36.7 on
ionosphere.

How many labels are wrong (`python -m benchmarks label_issues counts FOLDER 1`): one noisy label a sample, 5,
12 and 25 % wrong, evenly or by class (half of these one other class), and the labels that people gave to
LabelMe. "predictions" are those of logistic regression and of 15 neighbors out of fold, trained on the noisy
labels; "features" is what `clean --features` does. Counted over true number (geometric mean; in brackets what
the noise layer says of the same probabilities as they are), how often the 95 % interval covers, and its width
as a share of all labels. There are two sets called breast_cancer.

                        predictions                       features
    set             runs  counted/true  covered/width     runs  counted/true  covered/width
    digits            12  1.03 (.75)    1.00 / .147          6  1.02 (.97)    1.00 / .151
    optdigits         12  1.04 (.79)    1.00 / .154          6  1.03 (1.02)   1.00 / .161
    iris              12  1.03 (.59)    1.00 / .170          6  1.02 (.80)    1.00 / .135
    wine              12  1.01 (.66)    1.00 / .154          6  1.09 (.93)    1.00 / .143
    breast_cancer     24  1.55 (1.06)    .96 / .292         12  1.79 (1.61)   1.00 / .316
    german            12  1.48 (1.29)   1.00 / .342          6  2.63 (2.62)   1.00 / .409
    heart             12  1.24 (.88)     .92 / .249          6  1.56 (1.39)   1.00 / .225
    ionosphere        12  1.48 (1.14)    .92 / .192          6  1.43 (1.34)    .83 / .186
    labelme           12  1.51 (1.18)   1.00 / .309          6  1.23 (1.25)   1.00 / .214
    labelme, people    8   .69 (.60)    1.00 / .331          4   .73 (.73)    1.00 / .227
    mean over sets                       .98 / .234                            .98 / .217

So the count is right where a model can be right (first four rows). It is too high where classes overlap,
since what the model gets wrong passes for a wrong label, and too low where people err as models do. The two
shares that widen the interval (`_OWN_ERRORS`, `_OF_COUNT` in `jtruth/cleaning/issues.py`) were chosen on the
same sets with other seeds and on CIFAR-10H (249 wrong labels of one person a picture: 257 counted by one
classifier, 174 by another that was trained on noisy labels). With their scale chosen on the others of these
twelve sets, .95 of the runs of the one left out were covered on average, and .42 of breast_cancer, where no
classifier beats a constant; there the interval now begins at 0 and a note says why. The interval of the noise
layer alone covered in 37 % of 180 such runs.

The forecast of `stopping_advice` is not on the first line of `jtruth clean`, and this is why. On such data:
27 runs on 8 sets (12 % even, 25 % by class; 20 answers asked by `risk`), sign right in 52 % (+- 10), 90 %
intervals covered in 67 % (+- 9), correlation with the true gain .13. On digits it said -.04 to -.06 where the
truth was +.003 to +.008. In 9 runs it forecast less than .002, and all 9 gained more than that. P(wrong) by
features alone is too sure: of the first twenty it says .98 on average, and .84 of them were wrong (.35 to 1).

What does not hold, without gold. On MNIST the expected number is too low: five of the ten wrong labels have
p(wrong) < .01, because the classifier, trained on such labels, believes them too. On CIFAR-10H the sum is
right but small probabilities are too small (p < .01: 1.3 expected, 21 found) and large ones too large (p >
.9: 157 expected, 140 found); `slope` (-10) says that this classifier is too sure of itself. Of the crowd's
labels no interval holds 664, nor does the range of all assumptions (nor on the other five crowds either
interval): the consensus of 50 people differs from the truth file on four of 228 images, whose labels are all
misjudged together. Independent errors make it certain (p = 0 or 1) and rank worse than cleanlab; shared
confusion ranks as cleanlab does (.982 +- .003 and .977 +- .003, both with the classifier). An interval
without gold is that of the model, and every answer says so (`caution`): what all get wrong alike leaves no
trace in the labels.

A temperature of the probabilities by maximum likelihood (noise layer of q^(1/T)) was tried and is not
offered. MNIST: T = 1.2, .7 wrong labels expected (10 found). CIFAR-10H, one human: T = 1.5, 158 (249); a
classifier that is too timid (resnet18_noisytrain): T of .5 to .7, 160 to 245 instead of 55 (249). It mends
timid classifiers and makes others worse: people err where the classifier errs, which makes its mistakes look
right.

Confident learning. MNIST: thresholds, confident joint (all 9468 counts), all five rules and the ranking equal
cleanlab's; the calibrated joint differs by 1.4e-5, because cleanlab rounds it to whole labels. CIFAR-10H: the
same (4503 counts; 1.2e-4); rules "class" and "noise_rate" differ by 1 + 4 of 330 labels, "both" by 6 of 286:
cleanlab rounds the joint so that rows keep their sums, keeps at least one label right, and leaves out labels
that the classifier prefers. Where several thresholds are reached cleanlab takes the most probable of ALL
classes, the paper (and jtruth) of those that are reached; here the two agree.
"""

import csv
import gzip
import json
import subprocess
import sys
import tempfile
from itertools import pairwise, product
from pathlib import Path

import numpy as np

import jtruth as jt
from jtruth.cleaning import layer_draws, posterior_draws, shared_confusion, suspicious_labels
from jtruth.learning import fit_confident, fit_dawid_skene, fit_joint, fit_noise_layer

CLEANLAB = """
import sys, json, numpy as np
from cleanlab import count, filter, rank, multiannotator
d = np.load(sys.argv[1]); out = {}
if "x" in d:
    from cleanlab.classification import CleanLearning
    from sklearn.linear_model import LogisticRegression
    learning = CleanLearning(LogisticRegression(max_iter=1000), seed=int(d["seed"]))
    found = learning.find_label_issues(d["x"], d["one"])
    out["order"] = np.lexsort((found["label_quality"], ~found["is_label_issue"])).tolist()
elif "z" in d:
    import pandas as pd
    frame = pd.DataFrame(np.where(d["z"] < 0, np.nan, d["z"]))
    found = multiannotator.get_label_quality_multiannotator(frame, d["q"], verbose=False)
    each = found["detailed_label_quality"].to_numpy()
    out["each"] = np.nan_to_num(each, nan=-1).tolist()
else:
    z, q = d["label"], d["q"]
    joint, wrong = count.compute_confident_joint(z, q, calibrate=False, return_indices_of_off_diagonals=True)
    out["counts"] = joint.T.tolist(); out["thresholds"] = count.get_confident_thresholds(z, q).tolist()
    out["joint"] = count.estimate_joint(z, q).T.tolist()
    out["calibrated"] = count.compute_confident_joint(z, q).T.tolist()
    for score in ("self_confidence", "normalized_margin"):
        out[score] = rank.get_label_quality_scores(z, q, method=score).tolist()
json.dump(out, open(sys.argv[2], "w"))
"""


def table(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return np.array([[int(v) for v in row] for row in list(csv.reader(file))[1:]])


def by_cleanlab(python, **arrays):
    """What cleanlab says, computed in its own environment."""
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        given, said = Path(folder) / "in.npz", Path(folder) / "out.json"
        np.savez(given, **arrays)
        subprocess.run([python, "-c", CLEANLAB, given, said], check=True, capture_output=True)
        return json.loads(said.read_text())


def average_precision(score, wrong):
    """Mean over the wrong labels of the share of wrong ones among those at least as suspicious."""
    order = np.argsort(-score, kind="stable")
    hits = wrong[order]
    return float((np.cumsum(hits) / np.arange(1, hits.size + 1))[hits].mean())


def with_error(score, wrong, repeats=400):
    """Average precision and its bootstrap error over labels."""
    rng, n = np.random.default_rng(0), wrong.size
    again = []
    for _ in range(repeats):
        some = rng.integers(0, n, n)
        if wrong[some].any():
            again.append(average_precision(score[some], wrong[some]))
    return f"{average_precision(score, wrong):.3f} +- {np.std(again):.3f}"


def calibration(p, wrong):
    """Expected and found number of wrong labels, by p(wrong)."""
    ends = [0, 0.01, 0.1, 0.5, 0.9, 1.0001]
    return "  ".join(
        f"{low:g}-{min(high, 1):g}: {p[inside].sum():.1f}/{wrong[inside].sum()} of {inside.sum()}"
        for low, high in pairwise(ends)
        if (inside := (p >= low) & (p < high)).any()
    )


def single(name, labels, q, sets, python):
    """One label a sample and probabilities; `sets` are readings of what is wrong, by name."""
    label = labels.counts().argmax(axis=1)
    confident, layer = fit_confident(labels, q), fit_noise_layer(labels, q)
    found = suspicious_labels(labels, layer_draws(labels, layer), probabilities=q, prior=layer.prior)
    p = np.empty(label.size)
    p[found.sample] = found.p_wrong
    theirs = by_cleanlab(python, label=label, q=q)
    own = q[np.arange(label.size), label]
    for reading, wrong in sets.items():
        truth = np.where(wrong, (label + 1) % q.shape[1], label)  # which class it is has no say
        few = layer_draws(labels, layer)[:3]
        by_gold(f"{name}, {reading}", labels, few, truth, probabilities=q, prior=layer.prior)
    for reading, wrong in sets.items():
        print(f"{name}, {reading}: {wrong.sum()} of {wrong.size} labels are wrong")
        print(f"  average precision: suspicious_labels {with_error(p, wrong)}")
        if theirs:
            margin = with_error(-np.array(theirs["normalized_margin"]), wrong)
            print(f"    self-confidence {with_error(-own, wrong)}  normalized margin (cleanlab) {margin}")
        ends = f"[{found.interval[0]:.0f}, {found.interval[1]:.0f}]"
        print(f"  expected number: noise layer {found.expected:.1f} {ends}, "
              f"confident joint {confident.expected_wrong:.1f}; slope {layer.slope:+.1f}")  # fmt: skip
        print(f"  expected/found, by p(wrong)  {calibration(p, wrong)}")
    print("  " + " ".join(layer.warnings))
    if theirs:
        same(confident, theirs, labels, q)


def same(confident, theirs, labels, q):
    """Where jtruth and cleanlab differ."""
    print(f"  thresholds differ by {np.abs(confident.thresholds - theirs['thresholds']).max():.1e}")
    counts = np.array(theirs["counts"]) - confident.counts
    whole = np.abs(np.array(theirs["calibrated"]) - confident.joint * labels.num_samples).max()
    joint = np.abs(np.array(theirs["joint"]) - confident.joint).max()
    print(f"  confident joint: {np.abs(counts).sum():.0f} of {confident.counts.sum():.0f} counts differ")
    print(f"  joint differs by {joint:.1e}, calibrated counts by {whole:.2f}")


def mnist(folder, python):
    data = np.load(folder / "predictions.npz")
    q = np.empty((10000, 10))
    q[data["cleanlab_cv_task"]] = data["cleanlab_cv_prob"]
    given, truth = table(folder / "labels.csv.gz"), table(folder / "truth_corrected.csv.gz")
    labels = jt.Labels.from_long(given[:, 0], given[:, 1], given[:, 2], num_classes=10)
    label, truth = labels.counts().argmax(axis=1), truth[np.argsort(truth[:, 0])]
    corrected = truth[:, 1] != label
    sets = {"corrected": corrected, "corrected or ambiguous": corrected | (truth[:, 2] == 1)}
    single("labelerrors_mnist", labels, q / q.sum(axis=1, keepdims=True), sets, python)


def cifar(folder, python):
    data, truth = np.load(folder / "predictions.npz"), table(folder / "truth.csv.gz")
    truth = truth[np.argsort(truth[:, 0]), 1]
    q = np.empty((truth.size, 10))
    q[data["cleanlab_cv_task"]] = data["cleanlab_cv_prob"]
    q /= q.sum(axis=1, keepdims=True)
    counts = np.load(folder / "histograms.npz")["counts"]
    rng = np.random.default_rng(0)
    one = np.array([rng.choice(10, p=row / row.sum()) for row in counts.astype(float)])
    labels = jt.Labels.from_matrix(one[:, None], 10)
    single("cifar10h_a, one human label an image", labels, q, {"truth": one != truth}, python)
    crowd(folder, truth, q, python)


def crowd(folder, truth, q, python):
    """Every label of 2563 people on 228 images, under two assumptions, with and without the classifier."""
    entries = table(folder / "labels.csv")
    labels = jt.Labels.from_long(entries[:, 0], entries[:, 1], entries[:, 2], num_classes=10)
    tasks = np.array(labels.tasks)
    fit, together = fit_joint(labels, key=0), shared_confusion(labels, key=0)
    beliefs = {"independent": (posterior_draws(labels, fit), fit.prior.mean(axis=0)),
               "shared confusion": (together.draws, together.prior)}  # fmt: skip
    theirs = by_cleanlab(python, z=labels.to_matrix(), q=q[tasks])
    for name, (draws, prior) in beliefs.items():
        for what, options in {"labels": {}, "labels and classifier": {
                "probabilities": q[tasks], "prior": prior}}.items():  # fmt: skip
            found = suspicious_labels(labels, draws, **options)
            wrong = truth[tasks][found.sample] != found.label
            said = f"{wrong.sum()} of {wrong.size} labels are wrong"
            print(f"cifar10h_a, {labels.num_labelers} people, {name}, {what}: {said}")
            print(f"  average precision: suspicious_labels {with_error(found.p_wrong, wrong)}")
            low, high = found.interval
            print(f"  expected number {found.expected:.1f} [{low:.0f}, {high:.0f}]")
            print(f"  expected/found, by p(wrong)  {calibration(found.p_wrong, wrong)}")
    if theirs is not None:
        score = -np.array(theirs["each"])[found.sample, found.labeler]
        print(f"  cleanlab get_label_quality_multiannotator {with_error(score, wrong)}")


def by_gold(name, labels, posterior, truth, repeats=200, **features):
    """How often the interval by known samples drawn at random holds the number of wrong labels."""
    wrong, rng = (truth[labels.sample] != labels.label).sum(), np.random.default_rng(0)
    for size in (30, 100):
        ends = np.zeros((repeats, 2))
        for r in range(repeats):
            gold, chosen = np.full(truth.size, -1), rng.choice(truth.size, size, replace=False)
            gold[chosen] = truth[chosen]
            ends[r] = suspicious_labels(labels, posterior, gold=gold, **features).interval
        held, (low, high) = ((ends[:, 0] <= wrong) & (wrong <= ends[:, 1])).mean(), np.median(ends, axis=0)
        error = (held * (1 - held) / repeats) ** 0.5
        print(f"{name:10} {size} known: holds {wrong} in {held:.3f} +- {error:.3f}, "
              f"median interval [{low:.0f}, {high:.0f}]", flush=True)  # fmt: skip


def six_crowds(folder):
    """Average precision, expected and true number of wrong labels by EM and under shared confusion."""
    for name in ("bluebirds", "dogs", "faces", "rte", "restaurant", "cifar10h_a"):
        entries, truth = (table(next((folder / name).glob(f"{part}.csv*"))) for part in ("labels", "truth"))
        known = dict(truth.tolist())
        classes = int(max(entries[:, 2].max(), truth[:, 1].max())) + 1
        labels = jt.Labels.from_long(*entries.T[:3], num_classes=classes)
        together = shared_confusion(labels, key=0)
        effect = together.design_effect(labels.label.size / labels.num_samples)
        em = np.asarray(fit_dawid_skene(labels).class_posterior, np.float64)
        beliefs = {"EM": em / em.sum(axis=1, keepdims=True), "shared confusion": together.draws}
        for method, posterior in beliefs.items():
            found = suspicious_labels(labels, posterior)
            true = np.array([known.get(labels.tasks[i], -1) for i in found.sample])
            wrong = (true != found.label)[true >= 0]
            low, high = found.interval
            print(f"{name:10} effect {effect:.1f} {method:16} {with_error(found.p_wrong[true >= 0], wrong)}  "
                  f"{found.expected:.0f} [{low:.0f}, {high:.0f}] ({wrong.sum()})", flush=True)  # fmt: skip
        true = np.array([known.get(task, -1) for task in labels.tasks])
        with_truth = labels.restrict(np.flatnonzero(true >= 0))
        by_gold(name, with_truth, together.class_posterior[true >= 0], true[true >= 0])


def feature_sets(folder=None):
    """Name, features and classes of data that scikit-learn holds or makes; or of a folder of public sets."""
    from sklearn import datasets, decomposition

    made = {"n_informative": 6, "class_sep": 1.2}
    if folder is not None:
        for name, file in {
            "german": "X_onehot",
            "heart": "X",
            "ionosphere": "X",
            "breast_cancer": "X_numeric",
        }.items():
            x, y = (
                np.genfromtxt(folder / name / f"{part}.csv", delimiter=",", skip_header=1)
                for part in (file, "y")
            )
            yield name, np.nan_to_num(x), y.astype(int)
        digits, scenes = (np.load(folder / name) for name in ("optdigits/train.npz", "labelme/X.npz"))
        yield "optdigits", digits["X"][:1500].astype(float), digits["y"][:1500].astype(int)
        x = decomposition.PCA(60, random_state=0).fit_transform(scenes["X"].astype(float))
        yield "labelme", x, table(folder / "labelme" / "truth.csv")[:, 1]
        for seed in (30, 31):
            yield (
                f"made, {seed}",
                *datasets.make_classification(600, 12, n_classes=3, random_state=seed, **made),
            )
        return

    for name in ("digits", "breast_cancer", "wine", "iris"):
        data = getattr(datasets, f"load_{name}")()
        yield name, data.data, data.target
    yield "made, 3 classes", *datasets.make_classification(600, 12, n_classes=3, random_state=3, **made)
    yield "made, 2 classes", *datasets.make_classification(800, 20, n_informative=5, random_state=5)


def features_alone(folder=None, python=None, first=60, seeds=3):
    """Wrong labels among the first by "wrong_label", self-confidence and cleanlab itself; accuracy after."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.preprocessing import scale

    from jtruth.cleaning import ask, start
    from jtruth.cleaning.request import counted_by, crossed_probabilities

    for name, x, y in feature_sets(folder):
        x, classes, found = scale(x), y.max() + 1, []
        rates = np.full((classes, classes), 0.2 / (classes - 1)) + np.eye(classes) * (
            0.8 - 0.2 / (classes - 1)
        )
        rates = np.array([[0.9, 0.1], [0.3, 0.7]]) if classes == 2 else rates
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            z = np.array([rng.choice(classes, p=rates[c]) for c in y])
            wrong = z != y
            budget = min(first, int(wrong.sum()))
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            plain = LogisticRegression(max_iter=1000)
            p = cross_val_predict(plain, x, z, cv=folds, method="predict_proba")
            theirs = np.argsort(p[np.arange(z.size), z])[:budget]
            labels = jt.Labels.from_matrix(z[:, None], int(classes))
            p = crossed_probabilities(x, labels, seed)
            _, prior, _, noise = counted_by(labels, p, seed)
            state = start(x, labels, noise, prior, strategy="wrong_label", seed=seed, probabilities=p)
            ours = ask(state, budget).samples
            numbers, itself = [], by_cleanlab(python, x=x, one=z, seed=seed)
            itself = theirs if itself is None else np.array(itself["order"][:budget])
            for rows in (np.array(ours, int), theirs, itself):
                right = z.copy()
                right[rows] = y[rows]
                accuracy = (cross_val_predict(plain, x, right, cv=folds) == y).mean()
                numbers += [60 * wrong[rows].mean(), 100 * accuracy]
            found.append(numbers)
        mean, found = np.mean(found, axis=0), np.array(found)
        said = [f"{mean[k]:.1f} (accuracy {mean[k + 1]:.1f})" for k in (0, 2, 4)]
        gap = [f"{np.std(found[:, 0] - found[:, k]) / seeds**0.5:.1f}" for k in (2, 4)]
        print(f"{name:18} jtruth {said[0]}, self-confidence {said[1]} +- {gap[0]}, "
              f"cleanlab {said[2]} +- {gap[1]}", flush=True)  # fmt: skip


def counted(folder, seeds=2):
    """Wrong labels that `clean --predictions` and `clean --features` count, one noisy label a sample."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import scale

    from jtruth.cleaning.request import counted_by, crossed_probabilities

    every = [one for one in (*feature_sets(), *feature_sets(folder)) if not one[0].startswith("made")]
    entries, truth = (table(folder / "labelme" / f"{part}.csv") for part in ("labels", "truth"))
    place, x_people = {task: k for k, task in enumerate(truth[:, 0])}, every[-1][1]
    runs = []
    for name, x, y in every:
        y = np.unique(y, return_inverse=True)[1]
        for kind, rate, seed in product(("even", "by class"), (0.05, 0.12, 0.25), range(seeds)):
            runs.append((name, scale(x), y, one_noisy(y, kind, rate, seed), seed))
    for seed in range(4):  # one label of each image, by whoever of the people gave it
        mixed = np.random.default_rng(seed).permutation(entries)
        _, first = np.unique(mixed[:, 0], return_index=True)
        rows = np.array([place[task] for task in mixed[first, 0]])
        runs.append(("labelme, people", scale(x_people[rows]), truth[rows, 1], mixed[first, 2], seed))
    found = {}
    for name, x, y, z, seed in runs:
        folds, classes = StratifiedKFold(5, shuffle=True, random_state=seed), int(y.max()) + 1
        if np.bincount(z, minlength=classes).min() < 8:
            continue
        labels = jt.Labels.from_matrix(z[:, None], classes)
        for model in (LogisticRegression(max_iter=1000), KNeighborsClassifier(15), None):
            if model is None:
                way, p = "features", crossed_probabilities(x, labels, seed)
            else:
                way, p = "predictions", cross_val_predict(model, x, z, cv=folds, method="predict_proba")
            said, (low, high) = (count := counted_by(labels, p, seed)[0]).expected, count.interval
            old = fit_noise_layer(labels, p, key=seed, num_bootstrap=20).own["expected_wrong"]
            wrong = (y != z).sum()
            found.setdefault((name, way), []).append(
                (
                    np.log(said / wrong),
                    np.log(max(old, 0.5) / wrong),
                    low <= wrong <= high,
                    (high - low) / z.size,
                )
            )
    for (name, way), values in sorted(found.items()):
        off, old, held, width = np.array(values).T
        ratio, before = np.exp(off.mean()), np.exp(old.mean())
        print(f"{name:16} {way:12} {len(values):3}  {ratio:.2f} ({before:.2f})  "
              f"{held.mean():.2f} / {width.mean():.3f}", flush=True)  # fmt: skip


def one_noisy(y, kind, rate, seed):
    """One label a sample: "even", or "by class", which errs more in later classes, half to the next one."""
    rng, classes = np.random.default_rng([seed, int(100 * rate)]), y.max() + 1
    chance = rate if kind == "even" else rate * np.linspace(0.4, 1.6, classes)[y]
    shift = rng.integers(1, classes, y.size)
    shift = shift if kind == "even" else np.where(rng.random(y.size) < 0.5, 1, shift)
    return np.where(rng.random(y.size) < chance, (y + shift) % classes, y)


if __name__ == "__main__":
    if "counts" in sys.argv:
        counted(Path(sys.argv[2]), *map(int, sys.argv[3:]))
        sys.exit()
    if "features" in sys.argv:
        given = [Path(one) for one in sys.argv[1:] if one != "features"]
        folders, pythons = (
            [one for one in given if one.is_dir()],
            [str(one) for one in given if one.is_file()],
        )
        features_alone(*folders[:1] or [None], *pythons[:1], seeds=5 if folders else 3)
        sys.exit()
    place, interpreter = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    six_crowds(place)
    if "fast" in sys.argv:
        sys.exit()
    mnist(place / "labelerrors_mnist", interpreter)
    cifar(place / "cifar10h_a", interpreter)
