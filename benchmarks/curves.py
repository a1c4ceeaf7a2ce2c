"""Coverage of intervals of the area under the ROC curve, noise known, for several priors of score bins.

Run: python -m benchmarks curves [SETS, 300] [numbers of settings: 5,8,9] [ways: walk coarse "chain 0.1"]

N samples, share of positives, T labelers wrong in e (known, and the prior), scores normal with unit variance
and means 0 and d, cut into B bins. The target is the AUC of the binned scores of these samples. `walk`: the
prior of `jtruth.testing.binary.chain`, which `evaluate_scores` uses; `chain a`: Dirichlet(a) rows over the
bins. Columns: coverage of nominal 95 % (equal tails), mean width, mean error of the posterior mean; "said":
share of sets in which the answer is reported as prior-driven.

Measured on 2 x86 cores, Python 3.11, NumPy 2, 300 sets each, Monte Carlo error .013 at .95.

(B, share, T, N, d, e)           walk              chain .1          said
(10, 0.5, 1, 500, 2.5, 0.1)      0.93 0.039 +0.003 0.95 0.041 +0.005 0.02
(10, 0.5, 1, 400, 1.5, 0.2)      0.94 0.129 +0.010 0.76 0.115 +0.037 0.05
(10, 0.5, 5, 400, 1.5, 0.2)      0.97 0.040 +0.001 0.94 0.041 +0.005 0.00
(10, 0.05, 1, 400, 1.5, 0.2)     0.96 0.452 -0.054 0.89 0.500 -0.129 0.16
(10, 0.05, 5, 400, 1.5, 0.2)     0.97 0.136 +0.004 0.97 0.149 +0.001 0.01
(40, 0.5, 1, 400, 1.5, 0.2)      0.93 0.128 +0.010
(40, 0.5, 5, 400, 1.5, 0.2)      0.98 0.040 +0.001
(40, 0.05, 1, 400, 1.5, 0.2)     0.97 0.446 -0.056
(40, 0.05, 5, 400, 1.5, 0.2)     0.97 0.138 +0.004

The last two with grids of 32 cells a bin (way "coarse", half of the default; .1 to .5 CPU seconds a set).

The first row, an area of .96 with one label a sample, is why the prior is a walk. Polya trees, which assume
similar classes inside every part of the scores, covered .82 there (100 sets; .725 of the first 40,
width .050, error -.017; the walk .95, .039, +.001 on the same 40): labels do not show which of the few
wrongly ranked samples are wrong, and trees spread them evenly over neighbouring bins. The walk learns from
the bins with informative labels how steeply the share of positives increases. Weighting the trees' smoothness
by evidence did not help (.50). Where the share does not increase so (15 % of the positives below all
negatives, area .82; 50 sets, error .04): one label, walk .90, trees .82; three labels and a share of .2, walk
.90, trees .96. Chains with concentrations .3 and 1 covered .66 to .97 and .21 to .94 in eight settings (100
sets).

`symbol_chains`, 100 sets of 300 samples and eight symbols, marginals and 200 draws of each, warm, the same
machine under load: .4 s in float32, .5 s in float64; the host's chain, draws alone, 1.1 s. The host's chain:
2000 samples and 20 symbols .02 s, 20 000 and 20 symbols .2 s; 10 000 draws .7 and 1.2 s.

Curves by Algorithm 1 at 10 000 thresholds of 10 000 samples with five labels (six kinds of log-odds, up to
rounding), warm: .10 s with the step "plug_in", 6.2 s with "ratio" (its integrals are computed for every
threshold); a NumPy loop over thresholds takes 62 s for "plug_in", from which the points differ by 6e-16. AUC
of 10 000 drawn label vectors of 10 000 samples: 34 s under load, peak memory .59 GB, .23 GB of it at the
start. With all log-odds and scores distinct (the whole array would have 10^8 numbers; blocks of 4 * 10^6 are
kept): 83 s under load with "plug_in", peak .76 GB.
"""

import sys

import numpy as np

from jtruth.evaluation.score_tables import bin_edges, prior_driven
from jtruth.tables.curves import curves
from jtruth.testing.binary.chain import symbol_chain, symbol_walk

SETTINGS = [  # (bins, share, labelers, samples, distance, error)
    (20, 0.4, 3, 300, 1.5, 0.2),
    (20, 0.05, 3, 400, 1.5, 0.2),
    (20, 0.4, 1, 400, 1.5, 0.2),
    (20, 0.4, 1, 300, 1.5, 0.2),
    (40, 0.5, 5, 300, 1.0, 0.3),
    (10, 0.5, 1, 500, 2.5, 0.1),
    (20, 0.05, 5, 600, 1.5, 0.2),
    (20, 0.5, 3, 1000, 0.5, 0.3),
]
FACTORS = [
    (bins, share, labelers, 400, 1.5, 0.2)
    for bins in (10, 40)
    for share in (0.5, 0.05)
    for labelers in (1, 5)
]


def walk(odds, coded, bins, share, seed):
    """As in `evaluate_scores`."""
    return symbol_walk(odds, coded, bins, share, seed, 500)[0]


def chain(alpha):
    """Dirichlet(alpha) rows."""
    return lambda odds, coded, bins, share, seed: symbol_chain(odds, coded, bins, alpha).tables(seed, 1000)


def coarse(odds, coded, bins, share, seed):
    """The same with half as many cells in the grid of every bin: a third of the time."""
    return symbol_walk(odds, coded, bins, share, seed, 500, cells=32)[0]


WAYS = {"walk": walk, "coarse": coarse} | {f"chain {a:g}": chain(a) for a in (0.1, 0.3, 1.0)}


def one(rng, bins, share, labelers, samples, distance, error):
    """(true AUC of the bins, log-odds, bins of the samples, number of bins)."""
    y = (rng.random(samples) < share).astype(int)
    votes = np.where(rng.random((samples, labelers)) < error, 1 - y[:, None], y[:, None])
    scores = rng.normal(distance * y, 1.0)
    odds = np.log(share / (1 - share)) + ((2 * votes - 1) * np.log((1 - error) / error)).sum(axis=1)
    edges = bin_edges(scores, bins)
    coded = np.searchsorted(edges, scores, side="right")
    table = np.zeros((1, 2, edges.size + 1))
    np.add.at(table, (0, y, coded), 1)
    return curves(table).auc.mean, odds, coded, edges.size + 1


def main():
    """Simulate and judge; settings by their numbers, with the ways that are named."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    settings = SETTINGS + FACTORS
    which = [int(k) for k in sys.argv[2].split(",")] if len(sys.argv) > 2 else range(len(settings))
    ways = sys.argv[3:] or [name for name in WAYS if name != "coarse"]
    for setting in (settings[k] for k in which):
        rows, driven = {name: [] for name in ways}, []
        for number in range(sets):
            true, *data = one(np.random.default_rng([5, number]), *setting)
            tables = {name: WAYS[name](*data, setting[1], number).counts for name in ways}
            for name in ways:
                draws = curves(tables[name]).auc.draws
                low, high = np.nanquantile(draws, [0.025, 0.975])
                rows[name].append((low <= true <= high, high - low, np.nanmean(draws) - true))
            if number % 50 == 49:
                print(number + 1, {n: np.mean(r, 0).round(3) for n, r in rows.items()}, file=sys.stderr)
            if {"walk", "chain 0.1"} <= set(ways):
                driven.append(bool(prior_driven(tables["walk"], tables["chain 0.1"], 1)))
        cells = (
            f"{name} {c:.2f} {w:.3f} {b:+.3f}"
            for name, (c, w, b) in ((n, np.mean(r, 0)) for n, r in rows.items())
        )
        print(f"    {setting!s:<32}", "  ".join(cells), f"said {np.mean(driven or [np.nan]):.2f}", flush=True)
        if driven:
            missed = [d for d, r in zip(driven, rows["walk"], strict=True) if not r[0]]
            print(f"        said where the walk misses: {sum(missed)} of {len(missed)}", flush=True)


if __name__ == "__main__":
    main()
