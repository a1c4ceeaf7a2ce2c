"""Does the range of the AUC hold it if nobody vouches for how labelers err? `evaluate_scores` without a word.

Run: python benchmarks/score_ranges.py [SETS, 20] [independent hard] [alone: gold without models]

300 samples, 40 % positive, four labelers, eight bins. "independent": all wrong in .2, scores normal with
means 0 and 1.5. "hard": a quarter of the samples where labelers are wrong in .55 and the score says nothing.
Judged are the AUC of the binned scores and of the scores themselves, of the samples at hand.

Measured on 2 x86 cores, Python 3.11, JAX 0.10, seven minutes. 20 sets each: where all are held a coverage of
.86 is still possible, and the others have a Monte Carlo error of .05 to .11. Held / mean width:
              range        majority vote  independent  labeler strata  shared strata
independent   1.00 / .255  .10 / .105     .95 / .064   .85 / .101      1.00 / .216
hard          1.00 / .287  .35 / .115     .65 / .093   .40 / .145      1.00 / .217
The range's point is low by .054 and .036. The AUC of the scores themselves is held as often as of the bins.

With gold answers at random and PPI++ alone, whose guess of the classes are shares of votes, 300 sets each:
30 gold .910 / .211 and .920 / .300, 100 gold .943 / .104 and .953 / .139, errors of the mean below .003. So
30 gold answers, some 12 of them positive, are few for an area by normal laws. With the models in the pool, as
`evaluate_scores` answers, 20 sets each beside PPI++ alone on the same sets (ten seconds a set; held / width):
              30 gold       PPI++ alone   100 gold      PPI++ alone
independent   .95 / .153    .90 / .178    1.00 / .081   1.00 / .085
hard          .95 / .237    .90 / .287    1.00 / .121   1.00 / .125
Narrower by a sixth at 30 gold, as often held; 19 of 20 leave a coverage of .75 to 1.00 possible.
"""

import sys
from dataclasses import replace

import numpy as np
from sklearn.metrics import roc_auc_score

import jtruth as jt
from jtruth._random import as_key
from jtruth.evaluation.gold.answer import labels_posterior
from jtruth.evaluation.gold.measured import judged_samples
from jtruth.evaluation.gold.pooled import GoldPosterior
from jtruth.evaluation.judging import Judged, read_judged
from jtruth.evaluation.score_gold import GoldCurves
from jtruth.evaluation.score_ranges import BINS, score_members
from jtruth.evaluation.score_tables import bin_edges
from jtruth.tables.curves import curves
from jtruth.tables.posterior import thinned
from jtruth.tables.several import RangeEstimate

GOLD = (30, 100)


def simulated(seed, hard, size=300, labelers=4):
    """(classes, scores, labels)."""
    rng = np.random.default_rng([7, seed])
    y = (rng.random(size) < 0.4).astype(int)
    difficult = rng.random(size) < 0.25 if hard else np.zeros(size, bool)
    error = np.where(difficult, 0.55, 0.2)[:, None]
    votes = np.where(rng.random((size, labelers)) < error, 1 - y[:, None], y[:, None])
    mean = np.where(difficult, 0, 1.5) * y + np.where(difficult, 0.75, 0)
    return y, rng.normal(mean, 1.0), jt.Labels.from_matrix(votes, 2)


def judged(seed, hard):
    """{answer: (held, width, error)} of the AUC of the bins: the range, its members, models with gold."""
    y, scores, labels = simulated(seed, hard)
    coded = np.searchsorted(bin_edges(scores, BINS), scores, side="right")
    data = read_judged(None, labels, Judged())
    found, asked, _ = score_members(data, coded, lambda e: e.shown or e.gold, as_key(seed))
    true, laws = roc_auc_score(y, coded), {}
    lines = [curves(thinned([one.posterior], 2000).counts).auc for one in found]
    hull, point = ([v for v, m in zip(lines, found, strict=True) if getattr(m.entry, kind) and m.entry.shown]
                   for kind in ("hull", "point"))  # fmt: skip
    laws["range"] = RangeEstimate(tuple(point), tuple(hull))
    laws |= {one.name: law for one, law in zip(found, lines, strict=True) if one.entry.shown}
    models = {m.name: thinned([m.posterior], 2000) for m in found if m.entry.gold}
    p = labels_posterior([m for m in found if m.entry.gold], labels)
    for number in GOLD:
        for name, some in ((f"{number} gold", models), (f"{number} gold, PPI++ alone", {})):
            laws[name] = with_gold((y, coded, asked.num_symbols), p, some, number, seed)
    return cells_of(laws, true)


def alone(seed, hard):
    """The same of PPI++ without models, which guesses the classes by shares of votes: quick."""
    y, scores, labels = simulated(seed, hard)
    coded = np.searchsorted(bin_edges(scores, BINS), scores, side="right")
    p = labels_posterior([], labels)
    laws = {
        f"{number} gold, PPI++ of votes": with_gold((y, coded, BINS), p, {}, number, seed) for number in GOLD
    }
    return cells_of(laws, roc_auc_score(y, coded))


def with_gold(given, p, models, number, seed):
    """Law of the AUC; the same samples are gold whatever the models are."""
    y, coded, symbols = given
    known = np.full(y.size, -1)
    rows = np.random.default_rng([8, seed]).choice(y.size, number, replace=False)
    known[rows] = y[rows]
    of_gold = replace(judged_samples(coded, p, known), num_symbols=symbols)
    pool = GoldPosterior(models, of_gold, (2, symbols), y.size)
    return GoldCurves(pool, 1, of_gold.table).law(lambda c: c.auc)


def cells_of(laws, true):
    """{name: (held, width, error)}."""
    cells = {}
    for name, law in laws.items():
        low, high, _ = law.interval(0.95)
        cells[name] = (low <= true <= high, high - low, law.mean - true)
    return cells


def main():
    """Simulate and judge."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    kinds = [kind for kind in sys.argv[2:] if kind != "alone"] or ("independent", "hard")
    judge, step = (alone, sets) if "alone" in sys.argv else (judged, 5)
    for kind in kinds:
        names = {}
        for seed in range(sets):
            for name, cell in judge(seed, kind == "hard").items():
                names.setdefault(name, []).append(cell)
            if seed % step == step - 1:
                print(kind, seed + 1, "sets: held, width, error")
                for name, each in names.items():
                    print(f"    {name:<26} {np.mean(each, axis=0).round(3)} of {len(each)}", flush=True)


if __name__ == "__main__":
    main()
