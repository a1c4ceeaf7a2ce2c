"""Widths that `jtruth plan LABELS.csv` predicts, against those after the labels are bought.

A file of labels is drawn, `more_data` says what 1, 2, 3 more labels of each sample or 30, 100 verified labels
would give; then these are drawn from the truth that made the file, and `prevalence` or `evaluate` answers.
Expected is the mean of two data sets (the default is eight).
Off is |expected / real - 1|; the real width is of one purchase, so its own spread is in it.

Run: python -m benchmarks more_labels [FILES]

Measured on AMD EPYC, 2 shared cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6.
Four files a row, so 12 purchases of labels or 8 of verified labels, which is few: the last column depends on
one or two of them, and its Monte Carlo errors were not computed (a full run prints those of all together).
Columns: median of expected / real, median of off, nine of ten are below.

    | 5 people, independent | prevalence | more label | 1.00 | 0.003 | 0.005 |
    | 5 people, independent | prevalence | verified | 1.02 | 0.123 | 0.295 |
    | 5 people, independent | accuracy | more label | 1.00 | 0.005 | 0.018 |
    | 5 people, independent | accuracy | verified | 1.07 | 0.083 | 0.237 |
    | 5 people, a fifth of the samples hard | prevalence | more label | 1.00 | 0.003 | 0.010 |
    | 5 people, a fifth of the samples hard | prevalence | verified | 0.88 | 0.122 | 0.154 |
    | 5 people, a fifth of the samples hard | accuracy | more label | 0.99 | 0.009 | 0.028 |
    | 5 people, a fifth of the samples hard | accuracy | verified | 0.96 | 0.099 | 0.140 |
    | crowd of 20, 3 labels each | prevalence | more label | 1.00 | 0.004 | 0.013 |
    | crowd of 20, 3 labels each | prevalence | verified | 1.03 | 0.052 | 0.151 |
    | crowd of 20, 3 labels each | accuracy | more label | 1.00 | 0.010 | 0.014 |
    | crowd of 20, 3 labels each | accuracy | verified | 0.93 | 0.093 | 0.120 |
    | crowd of 20, a fifth hard | prevalence | more label | 1.00 | 0.008 | 0.015 |
    | crowd of 20, a fifth hard | prevalence | verified | 0.93 | 0.068 | 0.154 |

More labels seldom change a width without gold, and that is foreseen; a purchase of 30 to 100 verified labels
comes out 12 % (nine of ten: 30 %) wider or narrower at worst. The other worlds were not run.
"""

import sys

import numpy as np

from jtruth import Labels
from jtruth.planning.more import more_data, width_of

WORLDS = {  # samples, labelers, labels of a sample, share of the first class, share of samples that are hard
    "5 people, independent": (600, 5, 5, 0.6, 0.0),
    "5 people, a fifth of the samples hard": (600, 5, 5, 0.6, 0.2),
    "crowd of 20, 3 labels each": (400, 20, 3, 0.6, 0.0),
    "crowd of 20, a fifth hard": (400, 20, 3, 0.6, 0.2),
    "5 people, rare class": (600, 5, 5, 0.9, 0.0),
    "3 people, 150 samples": (150, 3, 3, 0.7, 0.1),
}
METRICS = ("prevalence", "accuracy")


def bought(rng, world, most=3):
    """Labels (labels of 0 to `most` more of each sample), truth, predictions, and an order for gold."""
    samples, people, each, share, hard = world
    y = (rng.random(samples) > share).astype(int)
    right = rng.uniform(0.65, 0.95, people)
    chance = np.where(rng.random(samples)[None] < hard, 0.55, right[:, None])  # (people, samples)
    who = np.argsort(rng.random((samples, people)), axis=1)
    i = np.arange(samples)
    columns, grown = [], []
    for j in range(each + most):
        t = who[:, j] if j < people else rng.integers(people, size=samples)
        label = np.where(rng.random(samples) < chance[t, i], y, 1 - y)
        columns.append((i, t if j < people else np.full(samples, people + j), label))
        if j >= each - 1:
            sample, labeler, given = (np.concatenate(c) for c in zip(*columns, strict=True))
            names = [f"w{t}" for t in labeler]
            grown.append(Labels.from_long(sample, names, given, classes=("0", "1")))
    y_pred = np.where(rng.random(samples) < 0.85, y, 1 - y)
    return grown, y, y_pred, rng.permutation(samples)


def case(seed, world, metric):
    """(expected, real) of every purchase."""
    grown, y, y_pred, order = bought(np.random.default_rng(seed), world)
    predictions = None if metric == "prevalence" else y_pred
    found = more_data(grown[0], y_pred=predictions, metric=metric, key=seed, num_sets=2)
    pairs = []
    for row in found.rows[1:]:
        n, g = row["num_labels"] // y.size, row["num_gold"]
        gold = np.full(y.size, -1)
        gold[order[:g]] = y[order[:g]]
        real = width_of(grown[n], gold, predictions, metric, {"key": seed})
        pairs.append((row["buy"], row["width"] or np.nan, real))
    return pairs


def main():
    """A line for each world and metric, and all together."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    every = []
    for name, world in WORLDS.items():
        for metric in METRICS:
            pairs = [pair for seed in range(files) for pair in case(seed, world, metric)]
            for kind in ("more label", "verified"):
                ratio = np.array([e / r for buy, e, r in pairs if kind in buy])
                off = np.abs(ratio - 1)
                every.append((kind, ratio))
                print(f"| {name} | {metric} | {kind} | {np.nanmedian(ratio):.2f} | {np.nanmedian(off):.3f} | "
                      f"{np.nanquantile(off, 0.9):.3f} |", flush=True)  # fmt: skip
    for kind in ("more label", "verified", "e"):
        ratio = np.concatenate([r for k, r in every if kind in k])
        off, rng = np.abs(ratio - 1), np.random.default_rng(0)
        drawn = rng.choice(off, (400, off.size))
        sd = np.nanmedian(drawn, axis=1).std(), np.nanquantile(drawn, 0.9, axis=1).std()
        print(f"| all | | {kind} | {np.nanmedian(ratio):.2f} | {np.nanmedian(off):.3f} ({sd[0]:.3f}) | "
              f"{np.nanquantile(off, 0.9):.3f} ({sd[1]:.3f}) |")  # fmt: skip


if __name__ == "__main__":
    main()
