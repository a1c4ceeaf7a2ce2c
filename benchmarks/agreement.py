"""Do the intervals of coefficients of agreement cover the coefficient of the population?

Run: python -m benchmarks agreement [SETS, 400]

Sets of N samples of a population: kinds of samples, and for each kind the probabilities of a labeler's
label. The population's coefficient is that of a table with every combination of labels as often as it is
probable. Nominal 95 %, 1000 draws an interval.

HEAD
"""

import itertools
import sys

import numpy as np

from jtruth.stats.agreement import agreement, brennan_prediger, cohen, fleiss, gwet_ac1, krippendorff, point

# Shares of the kinds of samples, and p(label | kind). Pairs of labels, rare: (.955, .02, .02, .005).
POPULATIONS = {
    "rare": ((0.989, 0.011), [[0.9819, 0.0181], [0.3563, 0.6437]]),
    "uneven": ((0.85, 0.15), [[0.93, 0.07], [0.25, 0.75]]),
    "even": ((0.5, 0.5), [[0.8873, 0.1127], [0.1127, 0.8873]]),
    "nearly alike": ((0.6, 0.4), [[0.99, 0.01], [0.03, 0.97]]),
    "two rare": ((0.98, 0.012, 0.008), [[0.98, 0.012, 0.008], [0.3, 0.7, 0.0], [0.4, 0.0, 0.6]]),
    "five": ((0.4, 0.3, 0.15, 0.1, 0.05), (0.7 * np.eye(5) + 0.06).tolist()),
}
# (population, labelers, samples, share of labels that are missing)
SETTINGS = [
    *itertools.product(("rare", "uneven", "even"), (2, 3, 5), (50, 125, 400), (0.0,)),
    *itertools.product(("rare", "uneven", "even"), (3,), (50, 400), (0.25,)),
    *itertools.product(("nearly alike", "two rare", "five"), (2, 5), (50,), (0.0,)),
]
BY_VOTES = {
    "alpha": krippendorff,
    "fleiss": fleiss,
    "ac1": gwet_ac1,
    "brennan_prediger": brennan_prediger,
}
WEIGHTED = {
    "alpha ordinal": lambda v: krippendorff(v, "ordinal"),
    "alpha interval": lambda v: krippendorff(v, "interval"),
    "fleiss quadratic": lambda v: fleiss(v, "quadratic"),
    "ac2 linear": lambda v: gwet_ac1(v, "linear"),
}


def ratings(rng, population, labelers, samples, missing):
    """(samples, labelers) labels, -1 where none."""
    shares, p = POPULATIONS[population]
    below = np.cumsum(p, axis=1)[rng.choice(len(shares), samples, p=shares)][:, None, :-1]
    z = (rng.random((samples, labelers, 1)) > below).sum(axis=2)
    return np.where(rng.random(z.shape) < missing, -1, z)


def whole(population, labelers, missing):
    """A table of ratings in which every combination is as frequent as it is probable."""
    shares, p = POPULATIONS[population]
    p = np.concatenate([np.full((len(p), 1), missing), (1 - missing) * np.asarray(p)], axis=1)
    every = np.array(list(itertools.product(range(p.shape[1]), repeat=labelers)))
    chance = np.asarray(shares) @ p[:, every].prod(axis=2)
    return np.repeat(every - 1, np.round(1e6 * chance).astype(int), axis=0)


def coefficients(z, classes):
    """All of them, of one table of ratings."""
    votes = np.stack([(z == c).sum(axis=1) for c in range(classes)], axis=1)
    by_votes = {name: make(votes) for name, make in (BY_VOTES | (WEIGHTED if classes > 2 else {})).items()}
    kinds = ("nominal", "quadratic") if classes > 2 else ("nominal",)
    return by_votes | {f"cohen {kind}": cohen(z[:, 0], z[:, 1], classes, kind) for kind in kinds}


def main():
    """Simulate and judge: coverage and mean width of each coefficient."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for population, labelers, samples, missing in SETTINGS:
        classes = len(POPULATIONS[population][1][0])
        true = {k: point(c) for k, c in coefficients(whole(population, labelers, missing), classes).items()}
        found = {name: [] for name in true}
        for seed in range(sets):
            rng = np.random.default_rng([13, seed])
            z = ratings(rng, population, labelers, samples, missing)
            for name, values in coefficients(z, classes).items():
                one = agreement(values, seed, replicates=1000)
                found[name].append((one.low <= true[name] <= one.high, one.high - one.low))
        rows = {name: np.mean(cells, axis=0) for name, cells in found.items()}
        text = ", ".join(f"{name} {cover:.3f} / {width:.2f}" for name, (cover, width) in rows.items())
        print(f"{population:<12} {labelers} {samples:>3} {missing:>4}: {text}", flush=True)


if __name__ == "__main__":
    main()
