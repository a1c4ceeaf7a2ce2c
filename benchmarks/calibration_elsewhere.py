"""Coverage and width of shares whose judges' error rates come from other items (`calibration=`).

Two shared CPU cores, Python 3.11, NumPy 2; `python benchmarks/calibration_elsewhere.py 200 PART`. Coverage of
nominal 95 % intervals of the share of the last class / mean width, 200 sets each (standard error of coverage
.015 at .95, .007 at .99). n: calibration items, half of them of each class; 1000 new items.

One judge                         ours        plug-in     judgy
se .9  sp .85 n=20  share .02     1.000/.192  1.000/.235  .770/.194
                    share .5      .995/.745   .995/.547   .805/.503
                    share .9      1.000/.274  1.000/.290  .690/.249
              n=50  share .02     1.000/.139  .945/.153   .890/.146
                    share .5      .985/.395   .980/.306   .915/.286
                    share .9      1.000/.188  .995/.208   .935/.191
              n=200 share .02     .985/.097   .965/.103   .935/.097
                    share .5      .970/.161   .970/.154   .895/.126
                    share .9      .960/.144   .945/.144   .895/.128
se .6  sp .55 n=20  share .02     .930/.968   .930/.947   .970/.963
                    share .5      .995/.980   1.000/.970  .990/.977
                    share .9      1.000/.978  .965/.963   .970/.981
              n=50  share .02     .965/.932   .955/.916   .975/.938
                    share .5      .985/.959   1.000/.934  .995/.966
                    share .9      1.000/.919  .970/.894   .985/.928
              n=200 share .02     .995/.709   .960/.761   .980/.734
                    share .5      .965/.887   .990/.828   .950/.853
                    share .9      .980/.773   .960/.782   .955/.780
se .52 sp .5  n=20  share .02     .955/.985   .930/.977   .985/.986
                    share .5      1.000/.986  1.000/.969  .985/.977
share .3 before, .9 now: n=50     1.000/.196  .995/.230   .805/.189
                         n=200    .960/.156   .950/.163   .895/.150
                         n=1000   .940/.109   .945/.105   .875/.083

So shares near 0 and 1 have narrower intervals than the plug-in's, and shares of .5 wider ones: by a third
with 20 items, by 5 % with 200. judgy takes the new items' rate as known, and is too narrow for it. Where a
judge is nearly worth nothing all are about [0, 1].

Three classes, 500 new items: one judge n=90 share .05 .990/.132, .4 .940/.361, .8 .945/.259; two judges
.985/.125, .975/.320, .960/.283; one judge n=300 share .05 .970/.099.

Measured with a prior proportional to |det M| (300 sets), which changes little where judges are good: three
judges, 500 new items, n=200: share .1 .963/.147, .5 .957/.158, .9 .960/.145; items hard for all:
.973/.212, .970/.267, .983/.215; five judges, the same: .990/.210, .947/.266, .990/.212; two judges:
.950/.158, .970/.175, .963/.156; three, a third of their labels missing: .970/.158, .970/.175, .947/.155. With
n=50 coverage was .960 to .997.

New items look different (p < .01; 200 sets, three judges, 500 new items, share .5 before and .7 now):
alike n=50 .015, n=200 .000; alike with hard items .020, .015; one judge's specificity .85 to .6: .025, .045;
one judge worse by .2 in both classes: .090, .510.
"""

import sys
from itertools import product

import numpy as np
from scipy.interpolate import RegularGridInterpolator, interp1d
from scipy.stats import beta, binom, norm

from jtruth.lam_stork import rogan_gladen
from jtruth.stats import elsewhere
from jtruth.tables.new_samples import class_shares

LEVEL, RESAMPLES = 0.95, 400
elsewhere._NODES, elsewhere._DRAWS = 240_000, 1000  # a tenth of the work of an answer
elsewhere._RESAMPLED = 300


def ours(z, z_cal, truth, classes, rng):
    """Interval of the last share of new items, as `prevalence(calibration=...)` makes them."""
    h, judged = elsewhere.verdicts(z, z_cal, truth, classes)
    counts, *_ = elsewhere.corrected(h, np.zeros(len(z), int), 1, judged, truth, rng)
    return class_shares(counts[..., -1].sum(axis=2))[-1].interval(LEVEL)[:2]


def plug_in(z, z_cal, truth):
    """Lee et al.: Rogan and Gladen with one right and one wrong answer added, kept to [0, 1]."""
    n1, n0 = int(truth.sum()), int((1 - truth).sum())
    k1, k0 = int(z_cal[truth == 1].sum()), int((1 - z_cal[truth == 0]).sum())
    try:
        found = rogan_gladen((int(z.sum()), z.size), sensitivity=(k1, n1), specificity=(k0, n0))
    except ValueError:  # sensitivity + specificity = 1
        return 0.0, 1.0
    return tuple(np.clip((found.low, found.high), 0, 1))


def judgy(z, z_cal, truth, rng):
    """Percentiles over resampled calibration items, estimates kept to [0, 1]; the new items are fixed."""
    cells = np.bincount(2 * truth + z_cal, minlength=4)
    cells = rng.multinomial(cells.sum(), cells / cells.sum(), RESAMPLES)
    with np.errstate(all="ignore"):
        se, sp = cells[:, 3] / cells[:, 2:].sum(1), cells[:, 0] / cells[:, :2].sum(1)
        value = np.clip((z.mean() + sp - 1) / (se + sp - 1), 0, 1)
    value = value[np.isfinite(value)]
    return np.quantile(value, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if value.size else (0.0, 1.0)


def labels(y, right, rng, shared=0.0):
    """(items, judges): right with `right[class, judge]`; a share of the items is hard for all of them."""
    chance = right[y]
    hard = rng.random(len(y)) < shared
    chance = np.where(hard[:, None], 0.5 * chance + 0.15, chance)
    wrong = rng.integers(1, right.shape[0], chance.shape)
    return np.where(rng.random(chance.shape) < chance, y[:, None], (y[:, None] + wrong) % right.shape[0])


def simulated(right, shares, shares_cal, items, number, sets, seed, shared=0.0, missing=0.0, peers=True):
    """By method: (covered, width) of the share of the last class, means over sets."""
    rng, found, classes = np.random.default_rng(seed), {}, len(shares)
    for _ in range(sets):
        truth = np.concatenate([np.arange(classes), rng.choice(classes, items - classes, p=shares_cal)])
        y = rng.choice(classes, number, p=shares)
        z_cal, z = labels(truth, right, rng, shared), labels(y, right, rng, shared)
        if missing:
            gone = rng.random(z.shape) < missing
            z = np.where(gone & ~gone.all(axis=1)[:, None], -1, z)
        ends = {"ours": ours(z, z_cal, truth, classes, rng)}
        if peers:
            ends["plug-in"] = plug_in(z[:, 0], z_cal[:, 0], truth)
            ends["judgy"] = judgy(z[:, 0], z_cal[:, 0], truth, rng)
        for name, (low, high) in ends.items():
            found.setdefault(name, []).append((low <= shares[-1] <= high, high - low))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def alarms(right, right_new, items, number, sets, seed, shared=0.0):
    """Share of sets in which new items look different."""
    rng, rung = np.random.default_rng(seed), 0
    for _ in range(sets):
        truth = np.concatenate([[0, 1], rng.choice(2, items - 2)])
        y = (rng.random(number) < 0.7).astype(int)
        z_cal, z = labels(truth, right, rng, shared), labels(y, right_new, rng, shared)
        odd = elsewhere.mismatch(z, z_cal, truth, 2, rng)
        rung += odd is not None and odd.p_value < 0.01
    return rung / sets


def told(name, result):
    print(name, " ".join(f"{who} {c:.3f}/{w:.3f}" for who, (c, w) in result.items()), flush=True)


NEW, RATES = 1000, ((0.9, 0.85), (0.75, 0.7), (0.6, 0.55), (0.51, 0.51), (0.97, 0.5))
SHARES, SPLITS = (
    (0.02, 0.1, 0.3, 0.5, 0.9, 0.98),
    ((10, 10), (25, 25), (100, 100), (14, 6), (35, 15), (140, 60)),
)
EDGES, NODES = np.linspace(0, np.pi / 2, 91), (np.arange(32) + 0.5) / 32
SHARE, P = np.sin((EDGES[1:] + EDGES[:-1]) / 2) ** 2, (np.arange(1000) + 0.5) / 1000  # cells of equal prior


def around(n, p, step=1):
    """Counts of n within 4 standard deviations."""
    reach = 4 * np.sqrt(n * p * (1 - p))
    first, last = max(0, int(n * p - reach)), min(n, int(np.ceil(n * p + reach)))
    return np.unique(np.append(np.arange(first, last, step), last))


def ends(k1, n1, k0, n0, likelihood):
    """Ends for each count of the table `likelihood`; k1 of n1 positives and k0 of n0 negatives are right."""
    se, fp = beta.ppf(NODES, k1 + 0.5, n1 - k1 + 0.5), beta.ppf(NODES, n0 - k0 + 0.5, k0 + 0.5)
    p = SHARE[:, None, None] * se[:, None] + (1 - SHARE[:, None, None]) * fp
    each = likelihood[np.minimum((p * len(P)).astype(int), len(P) - 1).reshape(len(p), -1)]
    mass = (each / each.sum(axis=0)).mean(axis=1)  # a posterior of the share for each pair of rates
    below = np.vstack([np.zeros(mass.shape[1]), mass.cumsum(axis=0)])
    tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    return [[np.sin(np.interp(q, c, EDGES)) ** 2 for c in below.T] for q in tails]


def coverage(n1, n0, se, sp, share):
    """Coverage and mean width of ours and of the plug-in, summed over all counts; no draws."""
    called, step = share * se + (1 - share) * (1 - sp), 3 if n1 + n0 > 100 else 1
    first, second, k = around(n1, se, step), around(n0, sp, step), around(NEW, called)
    some = k[np.round(np.linspace(0, k.size - 1, 11)).astype(int)]
    log_likelihood = binom.logpmf(some, NEW, P[:, None])
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=0)) + 1e-300
    found = np.array([[ends(a, n1, b, n0, likelihood) for b in second] for a in first])
    k1, k0 = around(n1, se), around(n0, sp)
    chance = np.outer(binom.pmf(k1, n1, se), binom.pmf(k0, n0, sp)).ravel()
    every = np.stack(np.meshgrid(k1, k0, indexing="ij"), axis=-1).reshape(-1, 2)
    between = interp1d(some, RegularGridInterpolator((first, second), found)(every))(k)
    weight = np.outer(chance, binom.pmf(k, NEW, called))
    for low, high in (between[:, 0], between[:, 1]), plug_in_ends(every, n1, n0, k):
        inside = (low <= share) & (share <= high)
        yield np.array([(weight * inside).sum(), (weight * (high - low)).sum()]) / weight.sum()


def plug_in_ends(right, n1, n0, k):
    """`plug_in` of all counts at once."""
    z = -norm.ppf((1 - LEVEL) / 2)
    (se, sp), p = (
        ((right.T[:, :, None] + 1) / (np.array([n1, n0])[:, None, None] + 2)),
        (k + z**2 / 2) / (NEW + z**2),
    )
    with np.errstate(all="ignore"):
        centre, of_se, of_sp = (
            (p + sp - 1) / (se + sp - 1),
            se * (1 - se) / (n1 + 2),
            sp * (1 - sp) / (n0 + 2),
        )
        error = np.sqrt(p * (1 - p) / (NEW + z**2) + centre**2 * of_se + (1 - centre) ** 2 * of_sp)
        middle, reach = (
            centre + 2 * z**2 * (centre * of_se - (1 - centre) * of_sp),
            z * error / abs(se + sp - 1),
        )
        both = middle - reach, middle + reach
    known = np.abs(se + sp - 1) > 1e-9
    return [np.where(known, np.clip(x, 0, 1), y) for x, y in zip(both, (0.0, 1.0), strict=True)]


def exact(some=0):
    """Of the splits from `some` on."""
    for (n1, n0), (se, sp) in product(SPLITS[some:], RATES):
        found = [[*coverage(n1, n0, se, sp, share)] for share in SHARES]
        for who, each in zip(("ours", "plug-in"), zip(*found, strict=True), strict=True):
            print(n1, n0, se, sp, who, " ".join(f"{c:.3f}/{w:.3f}" for c, w in each), flush=True)


def shift(sets):
    right = np.array([[0.85], [0.9]])
    for items in (50, 200, 1000):
        told(f"share .3 in the calibration, .9 in new items, n={items}:",
             simulated(right, (0.1, 0.9), (0.7, 0.3), items, 1000, sets, items))  # fmt: skip


def three_classes(sets):
    classes = np.array([[0.8, 0.7], [0.75, 0.8], [0.85, 0.7]])
    for items, share in product((90, 300), (0.05, 0.4, 0.8)):
        rest = ((1 - share) / 2, (1 - share) / 2, share)
        for judges in (1, 2):
            told(f"three classes, {judges} judges, n={items} share={share}:",
                 simulated(classes[:, :judges], rest, (0.4, 0.3, 0.3), items, 500, sets, items,
                           peers=False))  # fmt: skip


def several(sets):
    three = np.array([[0.85, 0.75, 0.8], [0.9, 0.8, 0.7]])
    five = np.array([[0.85, 0.75, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.7, 0.65]])
    for name, right, how in (
        ("three judges", three, {}), ("three, hard items", three, {"shared": 0.4}),
        ("five, hard items", five, {"shared": 0.4}), ("two", three[:, :2], {}),
        ("three, a third of the labels missing", three, {"missing": 0.33}),
    ):  # fmt: skip
        for items, share in product((50, 200), (0.1, 0.5, 0.9)):
            told(f"{name}, n={items} share={share}:",
                 simulated(right, (1 - share, share), (0.5, 0.5), items, 500, sets, items, peers=False,
                           **how))  # fmt: skip


def alike(sets):
    right = np.array([[0.85, 0.75, 0.8], [0.9, 0.8, 0.7]])
    for items in (50, 200):
        for name, new, shared in (
            ("alike", right, 0.0), ("alike, hard items", right, 0.4),
            ("one judge lenient: specificity .85 to .6", right - [[0.25, 0, 0], [0, 0, 0]], 0.0),
            ("one judge worse by .2", right - [[0.2, 0, 0], [0.2, 0, 0]], 0.0),
        ):  # fmt: skip
            print(f"{name}, n={items}: {alarms(right, new, items, 500, sets, items, shared):.3f}", flush=True)


if __name__ == "__main__":
    for part in sys.argv[2:] or ("exact", "shift", "several", "three_classes", "alike"):
        globals()[part](int(sys.argv[1]) if len(sys.argv) > 1 else 400)
