"""One judge against verified labels alone: coverage of the intervals for new samples, beside the plug-in's.

Run: python benchmarks/one_judge.py [SETS, 200]   6 CPU minutes

A judge passes the good with probability `se` and fails the bad with `sp`; a share `p` of the samples is good.
Of n samples all or some have a verified class, chosen at random. Covered / mean width of nominal 95 %; kappa,
Youden's index and the share are those of the population. Last the normal (Wald) interval of the accuracy of
the verified samples. Sets without a verified sample of each class are left out.

Measured: Intel Xeon, 2 shared cores, Python 3.11.7, jax 0.10, numpy 2.4; 200 sets, Monte Carlo error .015.
                         accuracy  recall    specificity kappa   Youden    share       Wald
20, 20, 0.7, 0.9, 0.7     .935/.295 .965/.291 .970/.592 .915/.656 .915/.667 .965/.367 | .780/.298
50, 50, 0.7, 0.9, 0.7     .955/.197 .950/.193 .950/.423 .930/.460 .950/.469 .940/.246 | .940/.200
100, 100, 0.7, 0.9, 0.7   .930/.141 .970/.136 .940/.314 .910/.336 .940/.347 .920/.176 | .930/.142
100, 100, 0.9, 0.95, 0.5  .955/.113 .960/.087 .970/.537 .935/.520 .945/.545 .970/.116 | .905/.112
100, 40, 0.7, 0.9, 0.7    .960/.222 .950/.187 .965/.434 .950/.517 .945/.515 .970/.243 | .915/.220
400, 40, 0.7, 0.9, 0.7    .960/.226 .950/.171 .960/.411 .930/.518 .935/.514 .950/.228 | .870/.221
400, 40, 0.9, 0.95, 0.3  .949/.179 .985/.077 .949/.615 .929/.665 .929/.652 .949/.181 | .935/.187
"""

import sys

import numpy as np

import jtruth as jt
from jtruth.evaluation.one_judge import youden

SETTINGS = [  # samples, verified, p, se, sp
    (20, 20, 0.7, 0.9, 0.7), (50, 50, 0.7, 0.9, 0.7), (100, 100, 0.7, 0.9, 0.7), (100, 100, 0.9, 0.95, 0.5),
    (100, 40, 0.7, 0.9, 0.7), (400, 40, 0.7, 0.9, 0.7), (400, 40, 0.9, 0.95, 0.3),
]  # fmt: skip
NAMES = ("accuracy", "recall", "specificity", "kappa", "youden", "share")


def truth(p, se, sp):
    """The numbers of the drawing."""
    right = p * se + (1 - p) * sp
    passes = p * se + (1 - p) * (1 - sp)
    chance = p * passes + (1 - p) * (1 - passes)
    return dict(zip(NAMES, (right, se, sp, (right - chance) / (1 - chance), se + sp - 1, p), strict=True))


def main(sets=200):
    """A row for each setting."""
    print("n, verified, p, se, sp:", ", ".join(NAMES), "| Wald, accuracy")
    for n, verified, p, se, sp in SETTINGS:
        rng, true = np.random.default_rng(n + verified), truth(p, se, sp)
        hits, widths = np.zeros((sets, len(NAMES))), np.zeros((sets, len(NAMES)))
        wald = np.zeros((sets, 2))
        for k in range(sets):
            y = (rng.random(n) < p).astype(int)
            said = np.where(rng.random(n) < np.where(y == 1, se, sp), y, 1 - y)
            gold = np.where(rng.permutation(n) < verified, y, -1)
            found = jt.evaluate(said, gold=gold, key=k)
            if not found.verified.any(axis=1).all():
                hits[k] = widths[k] = np.nan
                continue
            for j, name in enumerate(NAMES):
                dist = found.estimate(name) if name != "youden" else youden(found.posterior)
                low, high = dist.interval(0.95)[:2]
                hits[k, j], widths[k, j] = low <= true[name] <= high, high - low
            share = (said == y)[gold >= 0].mean()
            half = 1.96 * np.sqrt(share * (1 - share) / verified)
            wald[k] = abs(share - true["accuracy"]) <= half, 2 * half
        cells = [f"{h:.3f}/{w:.3f}" for h, w in zip(np.nanmean(hits, 0), np.nanmean(widths, 0), strict=True)]
        cells.append("| {:.3f}/{:.3f}".format(*wald.mean(axis=0)))
        print(f"{n}, {verified}, {p}, {se}, {sp}:", *cells, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
