"""Do the intervals of coefficients of agreement cover the coefficient of the population?

Run: python -m benchmarks agreement [SETS, 400]

Sets of N samples of a population: kinds of samples, and for each kind the probabilities of a labeler's
label. The population's coefficient is that of a table with every combination of labels as often as it is
probable. Nominal 95 %, 1000 draws an interval.

Measured 2026-11-28 on 2 x86 cores, Python 3.11.7, NumPy 2.4.6, SciPy 1.17.1: 400 sets of each setting, Monte
Carlo error .011 (.013 at .93). Coverage / mean width. Gaps: a quarter of the labels is missing.

     labelers      N   alpha       Fleiss      AC1         B-P         Cohen
rare           2   50  .950 / .86  .950 / .87  .980 / .13  .980 / .22  .950 / .86
rare           2  125  .970 / .66  .970 / .67  .943 / .08  .943 / .14  .975 / .66
rare           2  400  .968 / .41  .968 / .41  .953 / .04  .958 / .08  .965 / .40
rare           3   50  .945 / .79  .945 / .80  .953 / .11  .948 / .18  .958 / .86
rare           3  125  .960 / .59  .963 / .59  .948 / .06  .953 / .11  .965 / .66
rare           3  400  .970 / .35  .970 / .35  .938 / .03  .938 / .06  .983 / .41
rare           5   50  .958 / .72  .958 / .73  .953 / .09  .955 / .15  .978 / .86
rare           5  125  .965 / .52  .973 / .52  .945 / .05  .943 / .09  .965 / .65
rare           5  400  .958 / .30  .958 / .30  .945 / .03  .945 / .05  .973 / .42
uneven         2   50  .950 / .61  .950 / .61  .948 / .34  .965 / .41  .943 / .59
uneven         2  125  .955 / .40  .955 / .41  .965 / .21  .960 / .26  .963 / .40
uneven         2  400  .940 / .23  .940 / .23  .948 / .12  .932 / .15  .935 / .23
uneven         3   50  .960 / .48  .960 / .48  .953 / .27  .948 / .32  .968 / .59
uneven         3  125  .935 / .31  .927 / .31  .963 / .17  .960 / .20  .950 / .40
uneven         3  400  .963 / .18  .963 / .18  .945 / .09  .945 / .11  .973 / .23
uneven         5   50  .955 / .38  .963 / .38  .958 / .22  .963 / .25  .960 / .59
uneven         5  125  .950 / .25  .943 / .25  .960 / .14  .958 / .16  .960 / .40
uneven         5  400  .948 / .14  .948 / .14  .948 / .08  .955 / .09  .953 / .23
even           2   50  .973 / .45  .968 / .45  .968 / .44  .973 / .44  .970 / .44
even           2  125  .955 / .28  .955 / .28  .968 / .28  .963 / .28  .965 / .28
even           2  400  .953 / .16  .948 / .16  .953 / .16  .950 / .16  .945 / .16
even           3   50  .975 / .35  .975 / .35  .970 / .34  .973 / .34  .968 / .44
even           3  125  .960 / .22  .960 / .22  .955 / .22  .958 / .21  .950 / .28
even           3  400  .950 / .12  .950 / .12  .958 / .12  .950 / .12  .950 / .16
even           5   50  .963 / .26  .960 / .26  .973 / .26  .963 / .26  .963 / .44
even           5  125  .955 / .16  .958 / .16  .960 / .16  .958 / .16  .943 / .28
even           5  400  .948 / .09  .953 / .09  .948 / .09  .948 / .09  .938 / .16
rare, gaps     3   50  .970 / .86  .958 / 1.03  .975 / .13  .975 / .22  .963 / .94
rare, gaps     3  400  .970 / .41  .953 / .52  .948 / .04  .950 / .08  .973 / .52
uneven, gaps   3   50  .970 / .57  .960 / .63  .948 / .33  .953 / .40  .955 / .74
uneven, gaps   3  400  .958 / .22  .953 / .23  .953 / .11  .953 / .14  .960 / .30
even, gaps     3   50  .970 / .42  .975 / .44  .968 / .42  .968 / .43  .965 / .58
even, gaps     3  400  .968 / .15  .958 / .15  .965 / .15  .960 / .15  .958 / .21
nearly alike   2   50  .980 / .22  .980 / .23  .985 / .20  .978 / .21  .988 / .22
nearly alike   5   50  .940 / .15  .940 / .15  .955 / .14  .950 / .14  .970 / .23
two rare       2   50  .943 / .82  .943 / .82  .970 / .13  .970 / .18  .943 / .81
two rare       5   50  .940 / .67  .945 / .67  .955 / .10  .960 / .13  .968 / .81
five           2   50  .968 / .35  .968 / .36  .970 / .34  .970 / .34  .968 / .34
five           5   50  .955 / .20  .953 / .20  .958 / .20  .960 / .20  .958 / .35

Weighted: two rare 2: alpha ordinal .940 / .84; two rare 2: alpha interval .922 / .85; two rare 2: fleiss
quadratic .925 / .86; two rare 2: ac2 linear .975 / .10; two rare 2: cohen quadratic .925 / .84; two rare 5:
alpha ordinal .935 / .69; two rare 5: alpha interval .915 / .72; two rare 5: fleiss quadratic .917 / .72; two
rare 5: ac2 linear .953 / .07; two rare 5: cohen quadratic .950 / .85; five 2: alpha ordinal .975 / .54; five
2: alpha interval .965 / .55; five 2: fleiss quadratic .968 / .55; five 2: ac2 linear .970 / .40; five 2:
cohen quadratic .970 / .54; five 5: alpha ordinal .978 / .30; five 5: alpha interval .963 / .32; five 5:
fleiss quadratic .965 / .32; five 5: ac2 linear .983 / .24; five 5: cohen quadratic .948 / .54.

The earlier percentile-t intervals of resampled samples covered .457 and .837 for alpha, Fleiss and
Cohen (rare, two labelers, 125 and 400 samples). More than half of these sets have no sample where both
label the rare class, so no resampled set has one. Also tried for the imagined samples (150 to 300 sets
each): a weight of 1 covers .885 for Fleiss there; a weight of 3 covers .83 to .89 with five labelers; a
kappa fixed at 0 covers .89 for AC1 with five labelers and two rare classes.
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
