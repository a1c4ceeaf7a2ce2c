"""Coverage and width of answers about new samples.

Run: python -m benchmarks new_samples [sets, 2000]
Samples are drawn from a population whose table of true and predicted class is known. "all known": every class
is verified. "noise known": three labelers and the class share have known rates; exact posterior. "30 gold":
three labelers, rates learned, 30 random gold answers. Nominal 95 %: coverage of the population's value in per
cent / mean width for new samples; then of the same value by the answer about these samples (`in_sample`).

2 cores (x86_64, loaded), Python 3.11.7, jtruth 0.1.0, jax 0.10.2, numpy 2.4.6, scipy 1.17.1; 2000 sets, Monte
Carlo error of 95 %: 0.5. Coverage / width for new samples, then coverage by the answer about these samples,
in this order: accuracy, precision, recall, F1, share.

    share 0.5, recall 0.8, specificity 0.9
    known n=20   94.9/.291  0.0   97.0/.383  0.0   94.8/.436  5.1   94.5/.348  4.2   96.1/.403 16.3
    known n=50   96.2/.191  0.0   93.5/.247  0.0   94.4/.295  4.4   94.0/.222  1.1   94.0/.268 11.6
    known n=100  94.3/.138  0.0   94.7/.178  0.0   94.3/.215  2.3   93.7/.157  0.7   94.5/.193  7.8
    known n=500  94.5/.062  0.0   94.3/.082  0.0   94.6/.099  1.2   94.7/.071  0.4   94.8/.087  3.5
    noise n=50   96.8/.250 78.0   97.8/.319 78.8   95.3/.346 68.0   96.4/.280 77.8
    noise n=200  95.7/.129 79.8   96.5/.168 81.9   94.8/.183 72.3   95.5/.142 77.5
"""

import sys

import numpy as np

import jtruth as jt
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.metrics import named_metric
from jtruth.tables.new_samples import NewSamples, class_shares
from jtruth.tables.posterior import TableDraws
from jtruth.testing import binary_posterior

NAMES = ("accuracy", "precision", "recall", "f1")


def draw(rng, n, share, recall, specificity):
    y = (rng.random(n) < share).astype(int)
    right = rng.random(n) < np.where(y == 1, recall, specificity)
    return y, np.where(right, y, 1 - y)


def truth_of(share, recall, specificity):
    table = np.array([[specificity, 1 - specificity], [1 - recall, recall]]) * [[1 - share], [share]]
    return {name: float(named_metric(name).of_table(table)) for name in NAMES}


def labels_of(rng, y, error=0.2, labelers=3):
    z = np.where(rng.random((y.size, labelers)) < error, 1 - y[:, None], y[:, None])
    return jt.Labels.from_matrix(z, 2)


def answers(name, y, y_pred, labels, key, rng, share):
    """Distributions for new samples and for these, by metric; and of the share of class 1."""
    if name == "all known":
        tables = np.zeros((1, 2, 2), int)
        np.add.at(tables[0], (y, y_pred), 1)
        table, counts = TableDraws(tables), np.array([[(y == 0).sum(), (y == 1).sum()]])
        return NewSamples(table), table, class_shares(counts)[1], DrawsEstimate(np.array([y.mean()]))
    if name == "noise known":
        log_p = np.asarray(jt.noise.Symmetric(0.2, 2).log_likelihood(labels), float)
        table = binary_posterior(log_p[:, 1] - log_p[:, 0] + np.log(share / (1 - share)), y_pred).table
        return NewSamples(table, key), table, None, None
    gold = np.full(y.size, -1)
    some = rng.choice(y.size, 30, replace=False)
    gold[some] = y[some]
    found, known = (
        jt.evaluate(y_pred, labels, key=key, gold=gold, positive=1),
        jt.prevalence(labels, gold=gold, key=key),
    )
    return found.posterior, found.in_sample.posterior, known.shares["1"], known.in_sample.shares["1"]


def setting(name, n, sets, population):
    """Coverage and width of every number."""
    rng, truth = np.random.default_rng(n), truth_of(*population) | {"share": population[0]}
    found = {}
    for k in range(sets):
        y, y_pred = draw(rng, n, *population)
        new, these, *shares = answers(name, y, y_pred, labels_of(rng, y), k, rng, population[0])
        for target, table, share in (("new", new, shares[0]), ("these", these, shares[1])):
            dists = {m: table.estimate(m) for m in NAMES} | ({} if share is None else {"share": share})
            for metric, dist in dists.items():
                low, high = dist.interval(0.95)
                found.setdefault(metric, {}).setdefault(target, []).append(
                    (np.nan, np.nan) if np.isnan(low) else (low <= truth[metric] <= high, high - low)
                )
    cells = []
    for pair in found.values():
        both = [np.nanmean(np.array(rows), axis=0) for rows in pair.values()]
        cells.append("; ".join(f"{100 * c:5.1f} / {w:.3f}" for c, w in both))
    print(f"{name:12} n={n:4}  " + "  |  ".join(cells), flush=True)


def main(sets="2000"):
    sets = int(sets)
    print(f"{sets} sets; Monte Carlo error of 95 %: {100 * np.sqrt(0.05 * 0.95 / sets):.1f}")
    print("new samples; these samples, of: " + ", ".join((*NAMES, "share")))
    for population in ((0.5, 0.8, 0.9), (0.15, 0.9, 0.97)):
        print(f"share {population[0]}, recall {population[1]}, specificity {population[2]}")
        for n in (20, 50, 100, 500):
            setting("all known", n, sets, population)
        for n in (50, 200):
            setting("noise known", n, sets, population)
        setting("30 gold", 200, max(sets // 10, 1), population)


if __name__ == "__main__":
    main(*sys.argv[1:])
