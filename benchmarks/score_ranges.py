"""Does the range of the AUC hold it if nobody vouches for how labelers err? `evaluate_scores` without a word.

Run: python benchmarks/score_ranges.py [SETS, 20]

300 samples, 40 % positive, four labelers, eight bins. "independent": all wrong in .2, scores normal with
means 0 and 1.5. "hard": a quarter of the samples where labelers are wrong in .55 and the score says nothing.
Judged are the AUC of the binned scores and of the scores themselves, of the samples at hand.

Measured on 2 x86 cores, Python 3.11, JAX 0.10, seven minutes. 20 sets each: where all are held a coverage of
.86 is still possible, and the others have a Monte Carlo error of .05 to .11. Held / mean width:
              range        majority vote  independent  labeler strata  shared strata
independent   1.00 / .255  .10 / .105     .95 / .064   .85 / .101      1.00 / .216
hard          1.00 / .287  .35 / .115     .65 / .093   .40 / .145      1.00 / .217
The range's point is low by .054 and .036. The AUC of the scores themselves is held as often as of the bins.
"""

import sys

import numpy as np
from sklearn.metrics import roc_auc_score

import jtruth as jt


def simulated(seed, hard, size=300, labelers=4):
    """(classes, scores, labels)."""
    rng = np.random.default_rng([7, seed])
    y = (rng.random(size) < 0.4).astype(int)
    difficult = rng.random(size) < 0.25 if hard else np.zeros(size, bool)
    error = np.where(difficult, 0.55, 0.2)[:, None]
    votes = np.where(rng.random((size, labelers)) < error, 1 - y[:, None], y[:, None])
    mean = np.where(difficult, 0, 1.5) * y + np.where(difficult, 0.75, 0)
    return y, rng.normal(mean, 1.0), jt.Labels.from_matrix(votes, 2)


def main():
    """Simulate and judge."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for hard in (False, True):
        rows, names = [], {}
        for seed in range(sets):
            y, scores, labels = simulated(seed, hard)
            found = jt.evaluate_scores(scores, labels, key=seed)
            true = roc_auc_score(y, np.searchsorted(found.edges, scores, side="right"))
            low, high, _ = found.auc.interval(0.95)
            rows.append((low <= true <= high, low <= roc_auc_score(y, scores) <= high, high - low,
                         found.auc.mean - true))  # fmt: skip
            for view in found.assumptions:
                a, b, _ = view.curves.auc.interval(0.95)
                names.setdefault(view.name, []).append((a <= true <= b, b - a))
        print("hard" if hard else "independent", np.mean(rows, axis=0).round(3))
        for name, each in names.items():
            print(f"    {name:<16} {np.mean(each, axis=0).round(3)} of {len(each)}", flush=True)


if __name__ == "__main__":
    main()
