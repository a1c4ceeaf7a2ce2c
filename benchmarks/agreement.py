"""Do the intervals of coefficients of agreement hold the coefficient of the population?

Run: python -m benchmarks agreement [TABLES, 300]

Tables of N samples whose labels come from a population with classes, difficulties and labelers; the
population's coefficient is that of 400 000 samples. Percentile-t bootstrap over samples, 1000 replicates,
nominal 95 %; error of a coverage at 300 tables: .013.

Measured on 2 x86 cores, Python 3.11, NumPy 2: 300 tables of each setting in 46 CPU seconds. Held, of those
that have an interval (all; 288 of 300 where few differ, the others agree throughout), and mean width:

                     40 even       100, one rare   60 with gaps    60, few differ
Fleiss               .987 / .38    .980 / .67      .953 / .29      .993 / .35
  quadratic          same          same            .950 / .45      same
Brennan, Prediger    .963 / .33    .973 / .19      .947 / .28      .976 / .33
Gwet's AC1           .960 / .33    .977 / .13      .950 / .28      .979 / .31
alpha                .987 / .38    .980 / .67      .940 / .27      .993 / .34
  ordinal, interval  same          same            .967, .960      same
Cohen's kappa        .990 / .62    .983 / .76      .983 / .64      .983 / .35
  linear, quadratic  same          same            .980, .977      same

With two classes the weights make no difference. Where few samples disagree many replicates have no standard
error. Ratios with those as infinite held as often (.976 to .993) at a width of 1.40: the lower end was -1 in
64 % of the tables of the last setting. So a quarter of a sample is added to the squared errors
(`jtruth.stats.agreement`). A tenth: as often, .40 to .44 wide; a half: .85 to .89 held there, as much as
before elsewhere; a whole one: .85 to .86.
"""

import sys

import numpy as np

from jtruth.stats.agreement import agreement, brennan_prediger, cohen, fleiss, gwet_ac1, krippendorff, point

# (samples, shares of the classes, labelers, error, chance of a label): even, rare, with gaps, few differ
SETTINGS = [
    (40, (0.7, 0.3), 4, 0.2, 1.0),
    (100, (0.95, 0.05), 3, 0.1, 1.0),
    (60, (0.4, 0.3, 0.2, 0.1), 5, 0.3, 0.6),
    (60, (0.6, 0.4), 2, 0.05, 1.0),
]
BY_VOTES = {
    "fleiss": fleiss,
    "fleiss quadratic": lambda v: fleiss(v, "quadratic"),
    "brennan_prediger": brennan_prediger,
    "gwet_ac1": gwet_ac1,
    "alpha nominal": krippendorff,
    "alpha ordinal": lambda v: krippendorff(v, "ordinal"),
    "alpha interval": lambda v: krippendorff(v, "interval"),
}
OF_TWO = {f"cohen {kind}": kind for kind in ("nominal", "linear", "quadratic")}


def ratings(rng, samples, shares, labelers, error, labelled):
    """(samples, labelers) labels, -1 where none; some samples are hard for all."""
    y = rng.choice(len(shares), samples, p=shares)
    hard = np.where(rng.random(samples) < 0.3, 2 * error, 0.6 * error)
    other = rng.integers(0, len(shares), (samples, labelers))
    z = np.where(rng.random((samples, labelers)) < hard[:, None], other, y[:, None])
    return np.where(rng.random(z.shape) < labelled, z, -1)


def coefficients(z, classes):
    """All of them, of one table of ratings."""
    votes = np.stack([(z == c).sum(axis=1) for c in range(classes)], axis=1)
    by_votes = {name: make(votes) for name, make in BY_VOTES.items()}
    return by_votes | {name: cohen(z[:, 0], z[:, 1], classes, kind) for name, kind in OF_TWO.items()}


def main():
    """Simulate and judge."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for setting in SETTINGS:
        classes = len(setting[1])
        whole = coefficients(ratings(np.random.default_rng(0), 400_000, *setting[1:]), classes)
        held = {name: [] for name in whole}
        for seed in range(tables):
            rng = np.random.default_rng([13, seed])
            for name, values in coefficients(ratings(rng, *setting), classes).items():
                law, true = agreement(values, seed, replicates=1000), point(whole[name])
                if not np.isnan(law.low):
                    held[name].append((law.low <= true <= law.high, law.high - law.low, law.low == -1))
        for name, cells in held.items():
            means = " ".join(f"{value:.3f}" for value in np.mean(cells, axis=0))
            true = f"{point(whole[name]):.3f}"
            print(f"    {setting!s:<40} {name:<17} {true} {means} of {len(cells)}", flush=True)


if __name__ == "__main__":
    main()
