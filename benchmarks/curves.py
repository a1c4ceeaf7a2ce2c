"""Does the interval of the area under the ROC curve hold it? Noise known, priors of score bins compared.

Run: python benchmarks/curves.py [SETS, 200]

N samples, share of positives, T labelers wrong in e (known, and the prior), scores normal with unit variance
and means 0 and d, cut into B bins. Judged is the AUC of the binned scores of the samples at hand. `tree`: the
smooth prior of `jtruth.testing.binary.tree`, which `evaluate_scores` uses; `chain a`: Dirichlet(a) rows over
the bins. Columns: coverage of nominal 95 % (equal tails), mean width, mean error of the posterior mean.
Monte Carlo error of a coverage: .015 at .95 and 200 sets.

Measured on 2 x86 cores, Python 3.11, NumPy 2, 100 sets, Monte Carlo error .022 at .95; two minutes.

(B, share, T, N, d, e)           tree              chain .1          chain .3          chain 1
(20, 0.4, 3, 300, 1.5, 0.2)      0.95 0.074 -0.006 0.82 0.071 +0.015 0.94 0.072 -0.003 0.63 0.074 -0.027
(20, 0.05, 3, 400, 1.5, 0.2)     0.94 0.216 -0.029 0.93 0.242 -0.055 0.66 0.234 -0.094 0.21 0.224 -0.137
(20, 0.4, 1, 400, 1.5, 0.2)      0.96 0.135 -0.012 0.76 0.114 +0.031 0.97 0.120 -0.012 0.35 0.119 -0.068
(20, 0.4, 1, 300, 1.5, 0.2)      0.93 0.155 -0.013 0.89 0.134 +0.021 0.89 0.138 -0.023 0.27 0.135 -0.082
(40, 0.5, 5, 300, 1.0, 0.3)      0.97 0.112 -0.002 0.85 0.111 +0.024 0.96 0.109 -0.008 0.58 0.104 -0.047
(10, 0.5, 1, 500, 2.5, 0.1)      0.82 0.049 -0.015 0.92 0.040 +0.005 0.91 0.046 -0.008 0.30 0.049 -0.029
(20, 0.05, 5, 600, 1.5, 0.2)     0.99 0.120 -0.006 0.98 0.128 -0.008 0.89 0.132 -0.034 0.49 0.135 -0.064
(20, 0.5, 3, 1000, 0.5, 0.3)     0.94 0.091 -0.002 0.89 0.098 +0.013 0.90 0.094 +0.005 0.94 0.089 -0.006

Why .82 in the sixth row: the area is .96 and there is one label a sample, so labels do not say which of the
few samples that are ranked wrong are so, nor how far; the tree spreads them evenly, as neighbouring bins are
alike. Weights by evidence do not mend it: among k = 1/32 .. 1 they go to k = 1 (weight .66 to .98), which
covers .50 there and .75 and .85 in the second and fourth rows (60 sets). So `evaluate_scores` asks a second
prior, Dirichlet(.1), and says "prior-driven", with both intervals, where the area moves by more than a third
of the interval's width. 100 sets of each row in the order above: said in .28 .01 .46 .12 .24 .89 .01 .02;
held (shortest intervals) .93 .96 .96 .92 .96 .83 .99 .93, and by the hull of both, where it is said, .93 .96
.97 .92 .97 .96 .99 .93.

`symbol_chains`, 100 sets of 300 samples and eight symbols, marginals and 200 draws of each, warm, the same
machine under load: .4 s in float32, .5 s in float64; the host's chain, draws alone, 1.1 s. The host's chain:
2000 samples and 20 symbols .02 s, 20 000 and 20 symbols .2 s; 10 000 draws .7 and 1.2 s.

Curves by Algorithm 1 at 10 000 thresholds of 10 000 samples with five labels (six kinds of log-odds, up to
rounding), warm: .10 s with the step "plug_in", 6.2 s with "ratio" (its integrals are computed for every
threshold); a NumPy loop over thresholds takes 62 s for "plug_in", from which the points differ by 6e-16. AUC
of 2000 drawn label vectors of 10 000 samples: 17 s, peak memory .8 GB.
"""

import sys

import numpy as np

from jtruth.evaluation.score_tables import bin_edges
from jtruth.tables.curves import curves
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.binary.tree import symbol_tree

SETTINGS = [  # (bins, share, labelers, samples, distance, error); the first three chose k = m^2 / 4
    (20, 0.4, 3, 300, 1.5, 0.2),
    (20, 0.05, 3, 400, 1.5, 0.2),
    (20, 0.4, 1, 400, 1.5, 0.2),
    (20, 0.4, 1, 300, 1.5, 0.2),
    (40, 0.5, 5, 300, 1.0, 0.3),
    (10, 0.5, 1, 500, 2.5, 0.1),
    (20, 0.05, 5, 600, 1.5, 0.2),
    (20, 0.5, 3, 1000, 0.5, 0.3),
]
WAYS = {"tree": lambda *a: symbol_tree(*a)} | {
    f"chain {a:g}": lambda *rest, a=a: symbol_chain(*rest, a) for a in (0.1, 0.3, 1.0)
}


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
    """Simulate and judge."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for setting in SETTINGS:
        rows = {name: [] for name in WAYS}
        for number in range(sets):
            true, *data = one(np.random.default_rng([5, number]), *setting)
            for name, way in WAYS.items():
                draws = curves(way(*data).tables(number, 1000).counts).auc.draws
                low, high = np.nanquantile(draws, [0.025, 0.975])
                rows[name].append((low <= true <= high, high - low, np.nanmean(draws) - true))
        cells = (
            f"{name} {c:.2f} {w:.3f} {b:+.3f}"
            for name, (c, w, b) in ((n, np.mean(r, 0)) for n, r in rows.items())
        )
        print(f"    {setting!s:<32}", "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
