"""500 labelers, a median of 3 labels each: do intervals of their accuracies hold, and what does pooling buy?

Run: python benchmarks/sparse_labelers.py FILE FIRST LAST [WAY ...]     adds a line a set to FILE
     python benchmarks/sparse_labelers.py show FILE ...                  what all of them say

A set: 500 labelers, each gives round(exp(N(log 3, 1))) labels, at least 1 (median 3, mean 5), five on a
sample; two classes of .6 and .4; the accuracy of a labeler in each class is Beta(8, 2). "pooled" is
`fit_hierarchical` (`fit_joint` does the same by itself on such data), "unpooled" `Beliefs(diagonal=2)`:
Dirichlet(2, 1) rows for each labeler alone, the default of the first version. Coverage is that of nominal
95 % shortest intervals of sum_c pi[c] psi_t[c, c] at the true shares, over all labelers, and over those with
at most 2 and more than 10 labels; the Monte Carlo error is that of the mean over sets.

Measured: AMD EPYC, 2 shared cores, Python 3.11, jax 0.10.2, numpy 2.4; pooled 300 sets (keys 0 to 299),
unpooled the first 60 of them.

      pooled  all 93.7 % (+-0.2) width .302   <= 2 labels 93.7 (+-0.2) .318   > 10 labels 93.6 (+-0.3) .253
    unpooled  all 98.6 % (+-0.1) width .519   <= 2 labels 99.2 (+-0.1) .581   > 10 labels 97.2 (+-0.3) .364

Pooled intervals are .58 as wide and hold a little less than they say; unpooled ones are too wide everywhere.
Consensus wrong: pooled 5.72 % (+-.06), majority 5.77, Dawid-Skene by maximum likelihood 10.87; in the first
60 sets pooled 5.77, unpooled 6.57 (+-.16). 2.4 and .8 CPU seconds a set for 1600 sweeps.
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from jtruth.labels import Labels  # noqa: E402
from jtruth.learning import (  # noqa: E402
    Beliefs,
    fit_dawid_skene,
    fit_hierarchical,
    fit_joint,
    majority_winner,
)
from jtruth.sampling import Effort  # noqa: E402
from jtruth.stats.draws import DrawsEstimate  # noqa: E402

LABELERS, PER_SAMPLE, SHARES = 500, 5, np.array([0.6, 0.4])
EFFORT = Effort(chains=4, burn_in=250, min_sweeps=1600, max_sweeps=1600)


def crowd(seed):
    """Labels, classes, accuracies (labelers,) of a sparse crowd."""
    rng = np.random.default_rng(seed)
    wanted = np.maximum(np.round(np.exp(rng.normal(np.log(3), 1, LABELERS))), 1).astype(int)
    size = max(wanted.sum() // PER_SAMPLE, wanted.max())
    # Labelers by number of labels, dealt round the samples: nobody meets a sample twice.
    labeler = np.repeat(rng.permutation(LABELERS), wanted)[: size * PER_SAMPLE]
    labeler = np.repeat(np.arange(LABELERS), np.bincount(labeler, minlength=LABELERS))
    sample = rng.permutation(size)[np.arange(labeler.size) % size]
    y = (rng.random(size) < SHARES[1]).astype(int)
    right = rng.beta(8, 2, (LABELERS, 2))
    label = np.where(rng.random(labeler.size) < right[labeler, y[sample]], y[sample], 1 - y[sample])
    return Labels(sample, labeler, label, size, LABELERS, 2), y, right @ SHARES


def judged(draws, truth, number):
    """Coverage and mean width: all labelers, those with few labels, those with many."""
    ends = np.array([DrawsEstimate(column).interval(0.95)[:2] for column in draws.T])
    held, width = (ends[:, 0] <= truth) & (truth <= ends[:, 1]), ends[:, 1] - ends[:, 0]
    parts = (number >= 0, number <= 2, number > 10)
    return [x for part in parts for x in (held[part].mean(), width[part].mean())]


def one_set(seed, ways):
    """{way: numbers of `judged`, error of the consensus, seconds} and errors of other consensus methods."""
    labels, y, truth = crowd(seed)
    number = labels.labels_per_labeler()
    found = {"median": [float(np.median(number))]}
    for way in ways:
        start = time.process_time()
        if way == "pooled":
            fit = fit_hierarchical(labels, key=seed, effort=EFFORT).posterior
        else:
            fit = fit_joint(labels, key=seed, beliefs=Beliefs(diagonal=2), effort=EFFORT)
        seconds = time.process_time() - start
        wrong = (fit.class_posterior.argmax(axis=1) != y).mean()
        found[way] = [*judged(fit.labeler_accuracy, truth, number), wrong, seconds]
    found["others"] = [1 - majority_winner(labels)[np.arange(y.size), y].mean(),
                       (fit_dawid_skene(labels).class_posterior.argmax(axis=1) != y).mean()]  # fmt: skip
    return found


def run(path, first, last, ways):
    """One line a set, written as it is done."""
    for seed in range(first, last):
        line = json.dumps({name: [float(v) for v in row] for name, row in one_set(seed, ways).items()})
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def show(paths):
    """Coverage and width with Monte Carlo errors, error of the consensus, seconds."""
    lines = [json.loads(line) for path in paths for line in Path(path).read_text().splitlines()]
    print(f"median labels of a labeler {np.mean([line['median'] for line in lines]):.2f}")
    for way in [way for way in ("pooled", "unpooled") if any(way in line for line in lines)]:
        values = np.array([line[way] for line in lines if way in line])
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        named = ("all", "<= 2 labels", "> 10 labels")
        parts = [
            f"{name}: {100 * mean[2 * k]:.1f} % (+-{100 * error[2 * k]:.1f}) width {mean[2 * k + 1]:.3f}"
            for k, name in enumerate(named)
        ]
        wrong = f"consensus wrong {100 * mean[6]:.2f} % (+-{100 * error[6]:.2f})"
        print(f"{way:>9} ({len(values)} sets)", *parts, wrong, f"{mean[7]:.1f} s", sep="  ")
    majority, em = 100 * np.array([line["others"] for line in lines]).mean(axis=0)
    print(f"consensus wrong: majority {majority:.2f} %, Dawid-Skene by maximum likelihood {em:.2f} %")


if __name__ == "__main__":
    if sys.argv[1] == "show":
        show(sys.argv[2:])
    else:
        run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] or ["pooled", "unpooled"])
