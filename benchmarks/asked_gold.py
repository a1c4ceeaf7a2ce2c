"""Thirty true classes of 400: at random, by chances (`ask_next`) or in strata (`ask_strata`)?

Run: python benchmarks/asked_gold.py [SETS, 200]

Sets of 400 samples, three labelers, share of positives .3 or .1. A sample is hard with probability .3;
labelers are wrong in .12 of the easy ones and .35 of the hard ones, the classifier in .08 and .3. The class
posterior that foretells is the smoothed share of votes: it knows nothing of who is good. PPI++ alone, so
that designs and nothing else differ; nominal 95 %.

Measured on 2 x86 cores, Python 3.11, NumPy 2, share .3, 30 gold, 150 sets: coverage (Monte Carlo error .018
at .95), mean width, mean error. The other settings were not run.
                at random          by chances         in strata
    accuracy    .973 .201 .033     .967 .196 .036     .993 .184 .029
    recall     1.000 .426 .052     .993 .448 .060    1.000 .497 .057
    precision   .987 .467 .060     .987 .309 .052     .987 .247 .040
    F1          .967 .335 .048     .987 .302 .046     .993 .292 .042
Strata make precision's interval half as wide, accuracy's and F1's a tenth narrower, and recall's a sixth
wider: of 30 gold about nine are positive, and four strata and the power take five of their degrees of
freedom. Other allocations (class posteriors mixed with up to .3 of the even one, twice as many by size) leave
recall at .47 to .50 (60 other sets; its error there is .052 in strata and .061 at random). For recall ask at
random. With a share of .1 (60 sets, widths at random and in strata): precision .70 and .26, accuracy .20 and
.16, recall .83 and .88, which says nothing.
"""

import sys

import numpy as np

from jtruth._host import smoothed_vote_shares
from jtruth.asking import ask_next, ask_strata
from jtruth.evaluation.gold.measured import ppi_metric
from jtruth.io.gold import Gold
from jtruth.stats.ppi import gold_sample
from jtruth.tables.metrics import expected_table, named_metric

METRICS, SHARES, SIZES = ("accuracy", "recall", "precision", "f1", "kappa"), (0.3, 0.1), (30, 100)
CLASSES = ("no", "yes")


def one(seed, share):
    """(classes, predictions, smoothed vote shares)."""
    rng = np.random.default_rng([11, seed])
    y = (rng.random(400) < share).astype(int)
    hard = rng.random(400) < 0.3
    wrong = rng.random((400, 3)) < np.where(hard, 0.35, 0.12)[:, None]
    z = np.where(wrong, 1 - y[:, None], y[:, None])
    y_pred = np.where(rng.random(400) < np.where(hard, 0.3, 0.08), 1 - y, y)
    return y, y_pred, smoothed_vote_shares(np.stack([(z == c).sum(axis=1) for c in (0, 1)], axis=1))


def designs(seed, y_pred, p, metric, num):
    """(name, who is asked, how that was chosen)."""
    rng, nobody = np.random.default_rng([12, seed]), np.full(400, -1)
    chosen = np.isin(np.arange(400), rng.choice(400, num, replace=False))
    yield "random", chosen, gold_sample(chosen)
    options = {"key": seed, "classes": CLASSES, "metric": metric}
    asked = ask_next(y_pred, p, Gold(nobody), num, **options)
    chosen = np.isin(np.arange(400), asked.samples)
    yield "chances", chosen, gold_sample(chosen, inclusion=asked.inclusion)
    strata = ask_strata(y_pred, p, num, **options)
    chosen = np.isin(np.arange(400), strata.samples)
    yield "strata", chosen, gold_sample(chosen, strata=strata.strata)


def true_value(metric, y, y_pred):
    """Of the samples at hand."""
    return float(named_metric(metric, CLASSES).of_table(expected_table(np.eye(2)[y], y_pred, 2)))


def main():
    """Simulate and judge."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for share in SHARES:
        for num in SIZES:
            for metric in METRICS:
                rows = {}
                for seed in range(sets):
                    y, y_pred, p = one(seed, share)
                    true = true_value(metric, y, y_pred)
                    for name, chosen, sample in designs(seed, y_pred, p, metric, num):
                        gold = np.where(chosen, y, -1)
                        found = ppi_metric(metric, y_pred, p, gold, sample=sample, classes=CLASSES)
                        low, high, _ = found.law.equal_tails(0.95)
                        cell = (low <= true <= high, high - low, abs(found.law.mean - true))
                        rows.setdefault(name, []).append(cell)
                cells = (f"{n} {c:.3f} {w:.3f} {e:.3f}" for n, (c, w, e) in
                         ((n, np.mean(r, axis=0)) for n, r in rows.items()))  # fmt: skip
                print(f"    {metric:<10} share {share} gold {num:<4}", "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
