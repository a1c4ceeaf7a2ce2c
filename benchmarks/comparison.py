"""Classifiers judged by the same noisy labels: coverage of differences, pairing, P(best), priors of tuples.

Run: python benchmarks/comparison.py [SETS, 300] [parts: pairs tuples best]
Target: these samples ("in-sample"); new samples: benchmarks/comparison_new_samples.py.

N samples, share of positives, T labelers wrong in e (known, and the prior). Classifiers make an error where a
uniform number is large, and share that number with all others in half of the samples. Posterior: the exact
chain with the prior of `compare_classifiers` (`Tuples.prior(2, 1/2)`), 1000 draws.

Measured on 2 x86 cores, Python 3.11, NumPy 2; pairs and P(best) of 300, Monte Carlo error of a coverage .013,
tuples of 200 sets. A minute.

Two classifiers     difference covered   width   to unpaired width   value covered
accuracy, T=3, e=.2               .963    .066                 .81         .970
recall, T=1, e=.2                 .947    .131                 .71         .967
precision of 10 %, T=5, e=.3      .950    .148                 .62         .970
F1, T=3, e=.3                     .950    .209                 .79         .973

K classifiers as one tuple: the difference of the first two is covered in .960 .950 .955 .955 .955 .935 .930
for K = 2..8, the accuracy of the first in .955 .960 .950 .975 .965 .910 .630, with biases -.002 .002 .004
.002 -.006 -.013 -.025: the flat prior over 2^K tuples dominates where tuples have few samples. With one label
a sample and recall it is .96 .97 .97 .90 (K = 5) and .10 (K = 8). So `compare_classifiers` takes four at
once.

P(first is better), 1200 sets: means .02 .14 .24 .35 .45 .54 .66 .75 .85 .98 in ten equal ranges; shares that
were better .02 .16 .37 .42 .44 .57 .62 .81 .90 .97 (375 67 46 46 60 60 61 47 67 371 sets; errors .04 to .07
between the first and the last).
"""

import sys

import numpy as np

from jtruth.tables.metrics import named_metric
from jtruth.tables.pairs import tuples
from jtruth.testing.binary.chain import symbol_chain

SETTINGS = [  # (metric, samples, share, labelers, error)
    ("accuracy", 300, 0.4, 3, 0.2),
    ("recall", 300, 0.5, 1, 0.2),
    ("precision", 400, 0.1, 5, 0.3),
    ("f1", 200, 0.3, 3, 0.3),
]
ACCURACIES = (0.9, 0.86, 0.8, 0.82, 0.75, 0.85, 0.9, 0.7)


def simulated(seed, metric, size, share, labelers, error, classifiers, same=False):
    """(values of the first two at hand, their draws, all draws and values)."""
    rng = np.random.default_rng([12, seed])
    y = (rng.random(size) < share).astype(int)
    votes = np.where(rng.random((size, labelers)) < error, 1 - y[:, None], y[:, None])
    odds = np.log(share / (1 - share)) + ((2 * votes - 1) * np.log((1 - error) / error)).sum(axis=1)
    common = rng.random(size)
    rates = rng.uniform(0.75, 0.9, classifiers) if same else ACCURACIES[:classifiers]
    luck = [np.where(rng.random(size) < 0.5, common, rng.random(size)) for _ in rates]
    y_pred = [np.where(u < a, y, 1 - y) for u, a in zip(luck, rates, strict=True)]
    symbols, coding = tuples(np.array(y_pred), 2)
    chain = symbol_chain(odds, symbols, coding.num_symbols, coding.prior(2.0, 0.5))
    true = np.zeros((1, 2, coding.num_symbols))
    np.add.at(true, (0, y, symbols), 1)
    tables = chain.tables(seed, 1000).counts
    metrics = [coding.of_one(named_metric(metric), k) for k in range(classifiers)]
    drawn = np.stack([m.of_table(tables) for m in metrics], axis=1)
    return np.array([m.of_table(true)[0] for m in metrics]), drawn


def held(true, draws):
    """Whether equal tails of 95 % hold it, their width, the error of the mean."""
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return low <= true <= high, high - low, np.nanmean(draws) - true


def main():
    """Simulate and judge."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    parts = {"pairs": pairs, "tuples": many, "best": best}
    for name in sys.argv[2:] or parts:
        parts[name](sets)


def pairs(sets):
    """Two classifiers."""
    print("two classifiers: difference held, width, to unpaired width; value held")
    for setting in SETTINGS:
        rows = []
        for seed in range(sets):
            true, draws = simulated(seed, *setting, 2)
            unpaired = draws[:, 0] - np.random.default_rng(seed).permutation(draws[:, 1])
            covered, width, _ = held(true[0] - true[1], draws[:, 0] - draws[:, 1])
            rows.append((covered, width, width / held(0, unpaired)[1], held(true[0], draws[:, 0])[0]))
        print(f"    {setting!s:<32}", *(f"{v:.3f}" for v in np.mean(rows, axis=0)), flush=True)


def many(sets):
    """K classifiers as tuples."""
    print("accuracy, K classifiers as tuples: difference held, bias; value held, bias")
    for classifiers in range(2, 9):
        rows = []
        for seed in range(sets):
            true, draws = simulated(seed, "accuracy", 300, 0.4, 2, 0.2, classifiers)
            first = held(true[0] - true[1], draws[:, 0] - draws[:, 1])
            rows.append((first[0], first[2], *held(true[0], draws[:, 0])[::2]))
        a, b, c, d = np.mean(rows, axis=0)
        print(f"    K={classifiers} {a:.3f} {b:+.4f}  {c:.3f} {d:+.4f}", flush=True)


def best(sets):
    """How often the first is better, by the probability that it is."""
    print("P(first is better), accuracies alike from U(.75, .9): mean in each tenth, share that was, number")
    chances, better = [], []
    for seed in range(4 * sets):
        true, draws = simulated(seed, "accuracy", 200, 0.4, 3, 0.25, 2, same=True)
        gap = draws[:, 0] - draws[:, 1]
        chances.append((gap > 0).mean() + 0.5 * (gap == 0).mean())
        better.append(1.0 if true[0] > true[1] else 0.5 if true[0] == true[1] else 0.0)
    chances, better = np.array(chances), np.array(better)
    tenth = np.minimum((chances * 10).astype(int), 9)
    for k in range(10):
        inside = tenth == k
        print(f"    {np.mean(chances[inside]):.2f} {np.mean(better[inside]):.2f} {inside.sum()}")


if __name__ == "__main__":
    main()
