"""Coverage of intervals of agreement on numbers and on sets.

Run: python -m benchmarks raters [SETS, 400]

Numbers are normal: task, rater and error with the variances of a setting; raters are drawn anew for each set,
for ICC; alpha is about more tasks of the same raters. Sets of four classes: a class is in a task's
set with its own probability, and a labeler errs on each class. Nominal 95 %.

Measured 2026-11-28 on 2 x86 cores, Python 3.11.7, NumPy 2.4.6, SciPy 1.17.1. Coverage / mean width; 1000
draws for an interval of alpha. Numbers: 1000 sets of each setting, Monte Carlo error .007 (.010 at .89).
"each": ratings of a task before the share "gaps" is left out.

variances tasks raters each gaps  ICC(2,1)    ICC(2,k)    ICC(3,1)    alpha
1 .1 .5      10    3    3    0  .955 / .59   .955 / .49   .955 / .57   .913 / .66
1 .1 .5      10    3    3   .3  .963 / .72   .963 / .69   .954 / .71   .946 / .87
1 .1 .5      10    6    6    0  .949 / .48   .949 / .23   .951 / .46   .887 / .53
1 .1 .5      10    6    6   .3  .947 / .52   .947 / .35   .948 / .51   .901 / .59
1 .1 .5      30    3    3    0  .956 / .37   .956 / .25   .956 / .32   .942 / .36
1 .1 .5      30    3    3   .3  .949 / .46   .949 / .38   .947 / .42   .933 / .46
1 .1 .5      30    6    6    0  .946 / .30   .946 / .12   .954 / .27   .922 / .29
1 .1 .5      30    6    6   .3  .933 / .32   .933 / .18   .929 / .29   .922 / .32
1 .1 .5     100    3    3    0  .928 / .24   .928 / .16   .951 / .18   .939 / .19
1 .1 .5     100    3    3   .3  .950 / .28   .950 / .21   .932 / .22   .929 / .24
1 .1 .5     100    6    6    0  .948 / .18   .948 / .07   .937 / .15   .926 / .16
1 .1 .5     100    6    6   .3  .945 / .19   .945 / .10   .939 / .16   .938 / .17
1 1 1        30    3    3    0  .921 / .48   .921 / .55   .955 / .41   .952 / .41
1 1 1        30    6    6   .3  .922 / .39   .922 / .41   .933 / .36   .941 / .36
.2 .1 1      30    4    4    0  .950 / .32   .950 / .57   .945 / .34   .959 / .34
.2 .1 1      30    6    6   .3  .949 / .32   .949 / .56   .938 / .33   .963 / .34
1 .3 .5      50   20    3    0  .938 / .29   .938 / .21   .938 / .27   .934 / .30
1 .3 .5     200   50    3    0  .941 / .15   .941 / .11   .955 / .13   .954 / .15

ICC(2,1) falls to .92 where raters differ as much as tasks do and there are 3 to 6 of them: Satterthwaite's
degrees of freedom are estimated. Alpha covers .92 to .96 from 30 tasks on, and .89 to .95 of 10.

Alpha of sets, by distance (1000 sets of two labelers and even classes, else 400, Monte Carlo error .011):

labelers   tasks   MASI        Jaccard     equal
even   2      50   .956 / .29  .955 / .29  .961 / .31
even   2     200   .950 / .14  .946 / .14  .954 / .15
even   4      50   .935 / .19  .940 / .19  .935 / .20
even   4     200   .945 / .09  .932 / .09  .955 / .10
rare   2      50   .960 / .41  .955 / .41  .958 / .41
rare   2     200   .955 / .21  .958 / .21  .958 / .21
rare   4      50   .958 / .27  .955 / .27  .958 / .27
rare   4     200   .945 / .13  .945 / .13  .945 / .13

Limits of agreement (2000 sets, Monte Carlo error .005), bias and upper limit: .950 and .958 for 5 tasks, .944
and .948 for 20, .957 and .950 for 100.
"""

import sys

import numpy as np

from jtruth.stats.agreement import agreement, krippendorff, point
from jtruth.stats.raters import DISTANCES, alpha_of_numbers, intraclass, limits_of_agreement, set_distances

# variances of task, rater and error; tasks, raters, ratings of a task (all raters if as many), share missing
NUMBERS = [
    *(((1, 0.1, 0.5), n, r, r, gaps) for n in (10, 30, 100) for r in (3, 6) for gaps in (0.0, 0.3)),
    ((1, 1, 1), 30, 3, 3, 0.0),
    ((1, 1, 1), 30, 6, 6, 0.3),
    ((0.2, 0.1, 1), 30, 4, 4, 0.0),
    ((0.2, 0.1, 1), 30, 6, 6, 0.3),
    ((1, 0.3, 0.5), 50, 20, 3, 0.0),
    ((1, 0.3, 0.5), 200, 50, 3, 0.0),
]
SHARES = {"even": (0.5, 0.4, 0.3, 0.3), "rare": (0.3, 0.05, 0.03, 0.02)}  # of the classes
ERRORS = (0.2, 0.02)  # p(not named | class holds), p(named | it does not)
SETS = [(shares, labelers, n) for shares in SHARES for labelers in (2, 4) for n in (50, 200)]


def ratings(rng, variances, tasks, raters, each, missing):
    """(task, rater, value) of tasks with two ratings or more, and the raters' levels."""
    a, b = (np.sqrt(v) * rng.standard_normal(n) for v, n in zip(variances, (tasks, raters), strict=False))
    on = rng.random((tasks, raters)).argsort(axis=1) < each
    on &= rng.random((tasks, raters)) >= missing
    on &= on.sum(axis=1, keepdims=True) > 1
    task, rater = np.nonzero(on)
    y = a[task] + b[rater] + np.sqrt(variances[2]) * rng.standard_normal(task.size)
    task, rater = (np.unique(code, return_inverse=True)[1] for code in (task, rater))
    return task, rater, y, b


def of_numbers(setting, sets):
    """Coverage and mean width of every coefficient."""
    (task, rater, error), found = setting[0], {}
    for seed in range(sets):
        t, r, y, level = ratings(np.random.default_rng([46, seed]), *setting)
        single, apart = task / (task + rater + error), level.var()
        got, k = intraclass(t, r, y)
        got["alpha"] = agreement(alpha_of_numbers(t, y), seed, replicates=1000)
        observed = error + apart * level.size / (level.size - 1)
        true = {"icc_2_1": single, "icc_2_k": k * single / (1 + (k - 1) * single),
                "icc_3_1": task / (task + error), "alpha": 1 - observed / (task + error + apart)}  # fmt: skip
        for name, one in got.items():
            found.setdefault(name, []).append((one.low <= true[name] <= one.high, one.high - one.low))
    return {name: np.mean(cells, axis=0) for name, cells in found.items()}


def named(rng, shares, labelers, n):
    """(samples, labelers) codes of sets of four classes."""
    truth = rng.random((n, 1, 4)) < SHARES[shares]
    p = np.where(truth, 1 - ERRORS[0], ERRORS[1])
    return (rng.random((n, labelers, 4)) < p) @ (1 << np.arange(4))


def of_sets(setting, sets):
    """Coverage and mean width of alpha by each distance."""
    every, found = (np.arange(16)[:, None] >> np.arange(4)) & 1 == 1, {}

    def alphas(z):
        votes = np.stack([(z == c).sum(axis=1) for c in range(16)], axis=1)
        seen = votes.any(axis=0)  # who computes alpha knows the sets that were given
        return {d: krippendorff(votes[:, seen], apart=set_distances(d, every[seen])) for d in DISTANCES}

    true = {d: point(one) for d, one in alphas(named(np.random.default_rng(7), *setting[:2], 10**6)).items()}
    for seed in range(sets):
        for name, alpha in alphas(named(np.random.default_rng([47, seed]), *setting)).items():
            one = agreement(alpha, seed, replicates=1000)
            found.setdefault(name, []).append((one.low <= true[name] <= one.high, one.high - one.low))
    return {name: np.mean(cells, axis=0) for name, cells in found.items()}


def of_limits(n, sets):
    """Coverage of bias and upper limit of normal differences."""
    rng, found = np.random.default_rng(48), []
    for _ in range(sets):
        one = limits_of_agreement(1 + 2 * rng.standard_normal(n))
        for name, true in (("bias", 1.0), ("upper", 1 + 2 * 1.959964)):
            found.append(
                (one[name]["low"] <= true <= one[name]["high"], one[name]["high"] - one[name]["low"])
            )
    return dict(zip(("bias", "upper"), np.reshape(found, (sets, 2, 2)).mean(axis=0), strict=True))


def main():
    """Simulate and judge: coverage / mean width."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    jobs = [(of_numbers, one) for one in NUMBERS] + [(of_sets, one) for one in SETS]
    for job, setting in [*jobs, *((of_limits, n) for n in (5, 20, 100))]:
        text = ", ".join(f"{k} {c:.3f} / {w:.2f}" for k, (c, w) in job(setting, sets).items())
        print(f"{job.__name__} {setting}: {text}", flush=True)


if __name__ == "__main__":
    main()
