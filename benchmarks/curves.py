"""Does the interval of the area under the ROC curve hold it? Noise known, priors of score bins compared.

Run: python benchmarks/curves.py [SETS, 200]

N samples, share of positives, T labelers wrong in e (known, and the prior), scores normal with unit variance
and means 0 and d, cut into B bins. Judged is the AUC of the binned scores of the samples at hand. `tree`: the
smooth prior of `jtruth.testing.binary.tree`, which `evaluate_scores` uses; `chain a`: Dirichlet(a) rows over
the bins. Columns: coverage of nominal 95 % (equal tails), mean width, mean error of the posterior mean.
Monte Carlo error of a coverage: .015 at .95 and 200 sets.

RESULTS
"""

import sys

import numpy as np

from jtruth.evaluation.scores import bin_edges
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
