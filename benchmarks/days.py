"""Shares of days: coverage of daily bands, and the gain from neighbouring days.

Run: python -m benchmarks days [SETS, 20] [gold] [independent] [labels]
Target: the share of each day that samples were drawn from (new samples).
90 days of 20 or 100 samples; three or five judges who are right in .85 (or alike: right in .9, but a tenth of
the samples misleads all of them to .3); the share constant (.2), smooth (its logit a sine, shares .13 to .55)
or jumping (.15, .45 after day 50). Answers: 100 random gold; no gold, independence assumed; no gold.

Measured: 2 shared x86_64 cores under load, Python 3.11, jax 0.10.2, NumPy 2.4, SciPy 1.17; 16 sets (gold and
jump, and no gold: 10). Coverage of 95 % bands over all days, its standard error over sets, mean width; beside
it the same days without neighbours (`smooth=False`).

                                      neighbours             alone
    gold         constant  20  3      1.000 +- .000   .124   .931 +- .008   .366
    gold         constant 100  5      1.000 +- .000   .082   .960 +- .007   .190
    gold         constant  20  5 alike .961 +- .027   .134   .923 +- .011   .381
    gold         constant 100  3 alike .938 +- .062   .114   .942 +- .018   .232
    gold         smooth    20  3       .990 +- .005   .198   .938 +- .006   .407
    gold         smooth   100  5       .994 +- .002   .122   .953 +- .005   .198
    gold         smooth    20  5 alike .954 +- .026   .215   .926 +- .009   .436
    gold         smooth   100  3 alike .951 +- .028   .153   .951 +- .008   .243
    gold         jump      20  3       .983 +- .017   .136   .944 +- .006   .380
    gold         jump     100  5       .909 +- .072   .082   .941 +- .016   .186
    gold         jump      20  5 alike .974 +- .023   .153   .946 +- .008   .409
    gold         jump     100  3 alike .894 +- .066   .128   .947 +- .009   .245
    independent  constant  20  3      1.000 +- .000   .100   .932 +- .007   .358
    independent  constant 100  5       .968 +- .032   .043   .936 +- .007   .169
    independent  smooth    20  3       .991 +- .004   .185   .929 +- .009   .393
    independent  smooth   100  5       .990 +- .005   .095   .944 +- .009   .179
    independent  jump      20  3      1.000 +- .000   .119   .932 +- .008   .376
    independent  jump     100  5       .977 +- .023   .043   .950 +- .006   .171
    labels alone constant  20  3      1.000 +- .000   .725  1.000 +- .000   .760
    labels alone constant 100  5      1.000 +- .000   .704  1.000 +- .000   .711

With gold the mean over the 12 settings is .96. Bands of days of 100 are narrow beside the uncertainty of
the level common to all days, so a set is covered on nearly all days or on few: hence the errors. That
common level was covered in .933 +- .023 (jump, 100, 5) and .925 +- .024 (100, 3, alike) of 120 sets.
"""

import sys
import time

import numpy as np
from scipy.special import expit

import jtruth as jt

DAYS, LEVEL = 90, 0.95
NAMES = [str(np.datetime64("2026-01-01") + k) for k in range(DAYS)]


def truth(shape: str) -> np.ndarray:
    """(days,) the share of each day."""
    day = np.arange(DAYS)
    if shape == "constant":
        return np.full(DAYS, 0.2)
    return np.where(day < 50, 0.15, 0.45) if shape == "jump" else expit(-0.85 + 1.05 * np.sin(day / 14.3))


def labelled(shape: str, size: int, judges: int, alike: bool, rng: np.random.Generator) -> tuple:
    """Day, class and labels of each sample."""
    day = np.repeat(np.arange(DAYS), size)
    y = (rng.random(day.size) < truth(shape)[day]).astype(int)
    right = np.where(alike & (rng.random(day.size) < 0.1), 0.3, 0.85 + 0.05 * alike)
    z = np.where(rng.random((day.size, judges)) < right[:, None], y[:, None], 1 - y[:, None])
    return day, y, z


def one(shape: str, size: int, judges: int, alike: bool, how: str, seed: int) -> np.ndarray:
    """Coverage over the days and mean width: with neighbours, and without."""
    rng = np.random.default_rng([seed, size, judges, len(shape)])
    day, y, z = labelled(shape, size, judges, alike, rng)
    labels, found = jt.Labels.from_matrix(z, 2), []
    gold = np.full(y.size, -1)
    if how == "gold":
        chosen = rng.choice(y.size, 100, replace=False)
        gold[chosen] = y[chosen]
    options = {"gold": {"gold": gold}, "independent": {"assume": "independent"}, "labels": {}}[how]
    for smooth in (None, False):
        by = jt.evaluation.Groups(np.array(NAMES)[day], smooth=smooth)
        dists = jt.prevalence(labels, by=by, key=seed, **options).groups.dists.values
        low, high = np.array([dists[name].interval(LEVEL)[:2] for name in NAMES]).T
        inside = (low <= truth(shape)) & (truth(shape) <= high)
        found += [inside.mean(), (high - low).mean()]
    return np.array(found)


def main(arguments: list[str]) -> None:
    """A row for each setting; the number of repetitions may be given."""
    repeats = int(arguments[0]) if arguments else 20
    print("how          shape     size judges alike  coverage (se)  width   alone: coverage (se)  width")
    start = time.time()
    for how in arguments[1:] or ("gold", "independent", "labels"):
        for shape in ("constant", "smooth", "jump"):
            for size, judges, alike in ((20, 3, False), (100, 5, False), (20, 5, True), (100, 3, True)):
                if how == "independent" and alike:
                    continue
                rows = np.array([one(shape, size, judges, alike, how, seed) for seed in range(repeats)])
                mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(repeats)
                print(
                    f"{how:12} {shape:9} {size:4} {judges:4} {alike!s:>7}    {mean[0]:.3f} ({error[0]:.3f})  "
                    f"{mean[1]:.3f}          {mean[2]:.3f} ({error[2]:.3f})  {mean[3]:.3f}",
                    flush=True,
                )
    print(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
