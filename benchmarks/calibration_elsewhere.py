"""Coverage and width of shares whose judges' error rates come from other items (`calibration=`).

Two shared CPU cores, Python 3.11, NumPy 2, SciPy 1; `python benchmarks/calibration_elsewhere.py 200 PART`.
Nominal 95 % intervals: coverage of the share of the last class / mean width.
Target: new samples.

One judge, two classes, 1000 new items, by quadrature and summed over all counts: no Monte Carlo error, but
one of nodes. Of 200 items ends are between every third count: six cells done again with every second moved
by 0 to .012, but for .024 in 100 100 (.97, .5) at .98 and more where noted below. The rule was chosen on this
grid with coarser nodes (for 200 items they made every rule look worse for poor judges): error
rates by the calibration alone (Jeffreys' prior), against weights by |det M| to the powers 0, 1/2 and 1,
mixtures, even priors, and clipped draws. Powers 1/2 and 1 missed shares near 0 and 1 with poor judges;
power 0 with an even prior was 37 % wider than the plug-in at a share of .5 with 10 + 10 items (.9, .85).
Columns: true positives and negatives verified, sensitivity, specificity; then the shares .02, .1, .3, .5, .9,
.98. Rows that are missing took too long here; part `exact` makes them.

 10  10 0.9  0.85 ours    1.000/0.211 0.989/0.292 0.971/0.484 0.958/0.585 0.983/0.270 0.995/0.175
 10  10 0.9  0.85 plug-in 1.000/0.232 1.000/0.309 0.996/0.465 0.991/0.523 0.999/0.284 1.000/0.203
 10  10 0.75 0.7  ours    0.972/0.696 0.972/0.738 0.968/0.823 0.965/0.858 0.954/0.731 0.948/0.694
 10  10 0.75 0.7  plug-in 0.971/0.645 0.970/0.683 0.975/0.768 0.992/0.800 0.953/0.660 0.947/0.619
 10  10 0.6  0.55 ours    0.974/0.971 0.979/0.972 0.984/0.974 0.993/0.975 0.986/0.973 0.961/0.971
 10  10 0.6  0.55 plug-in 0.927/0.953 0.957/0.955 0.984/0.958 0.999/0.959 0.958/0.951 0.941/0.948
 10  10 0.51 0.51 ours    0.964/0.986 0.986/0.986 0.988/0.986 0.997/0.986 0.986/0.986 0.965/0.986
 10  10 0.51 0.51 plug-in 0.935/0.977 0.954/0.977 0.989/0.977 1.000/0.977 0.954/0.977 0.935/0.977
 10  10 0.97 0.5  ours    0.974/0.542 0.982/0.597 0.967/0.717 0.962/0.828 0.978/0.439 0.995/0.297
 10  10 0.97 0.5  plug-in 0.945/0.665 0.944/0.698 0.935/0.764 0.938/0.748 0.999/0.410 1.000/0.356
 25  25 0.9  0.85 ours    0.957/0.138 0.953/0.209 0.944/0.322 0.943/0.321 0.934/0.190 0.944/0.114
 25  25 0.9  0.85 plug-in 0.971/0.154 0.967/0.223 0.960/0.315 0.963/0.303 0.970/0.206 0.975/0.134
 25  25 0.75 0.7  ours    0.968/0.356 0.966/0.426 0.955/0.598 0.949/0.681 0.964/0.415 0.968/0.341
 25  25 0.75 0.7  plug-in 0.959/0.408 0.959/0.459 0.967/0.570 0.978/0.613 0.962/0.442 0.962/0.389
 25  25 0.6  0.55 ours    0.964/0.941 0.981/0.946 0.987/0.956 0.991/0.959 0.980/0.945 0.964/0.939
 25  25 0.6  0.55 plug-in 0.935/0.919 0.952/0.924 0.986/0.934 0.999/0.937 0.956/0.920 0.938/0.914
100 100 0.9  0.85 ours    0.951/0.095 0.946/0.155 0.947/0.167 0.949/0.154 0.946/0.140 0.945/0.081
100 100 0.9  0.85 plug-in 0.952/0.100 0.951/0.159 0.951/0.167 0.952/0.153 0.953/0.144 0.953/0.088
100 100 0.75 0.7  ours    0.965/0.180 0.946/0.246 0.945/0.344 0.946/0.341 0.946/0.238 0.964/0.171
100 100 0.75 0.7  plug-in 0.959/0.205 0.958/0.266 0.957/0.336 0.957/0.324 0.959/0.257 0.960/0.195
100 100 0.6  0.55 ours    0.954/0.719 0.975/0.756 0.977/0.830 0.977/0.860 0.975/0.753 0.954/0.716
100 100 0.6  0.55 plug-in 0.939/0.747 0.948/0.768 0.978/0.814 0.995/0.831 0.951/0.761 0.941/0.739
100 100 0.51 0.51 ours    0.945/0.982 0.982/0.982 0.996/0.983 0.999/0.983 0.982/0.982 0.945/0.982
100 100 0.51 0.51 plug-in 0.949/0.982 0.969/0.982 0.996/0.983 1.000/0.983 0.969/0.982 0.949/0.982
100 100 0.97 0.5  ours    0.964/0.189 0.947/0.250 0.946/0.322 0.947/0.266 0.941/0.137 0.948/0.072
100 100 0.97 0.5  plug-in 0.957/0.212 0.956/0.270 0.954/0.320 0.953/0.260 0.977/0.149 0.974/0.086
 14   6 0.9  0.85 ours    1.000/0.259 1.000/0.310 0.989/0.495 0.977/0.605 0.982/0.318 0.986/0.201
 14   6 0.9  0.85 plug-in 1.000/0.266 1.000/0.336 1.000/0.491 0.999/0.560 0.996/0.289 0.997/0.198
 14   6 0.75 0.7  ours    0.991/0.721 0.998/0.759 0.974/0.829 0.965/0.873 0.978/0.754 0.980/0.717
 14   6 0.75 0.7  plug-in 0.980/0.707 0.974/0.733 0.975/0.798 0.991/0.812 0.979/0.638 0.975/0.588
 14   6 0.6  0.55 ours    0.959/0.971 0.970/0.972 0.970/0.974 0.979/0.973 0.991/0.971 0.980/0.969
 14   6 0.6  0.55 plug-in 0.897/0.956 0.925/0.956 0.970/0.953 0.994/0.948 0.977/0.934 0.963/0.927
 14   6 0.51 0.51 ours    0.955/0.982 0.975/0.982 0.975/0.982 0.982/0.982 0.994/0.982 0.983/0.982
 14   6 0.51 0.51 plug-in 0.859/0.966 0.874/0.966 0.975/0.966 0.999/0.966 0.976/0.965 0.966/0.965
 14   6 0.97 0.5  ours    0.984/0.604 0.984/0.631 0.982/0.729 0.969/0.803 0.968/0.527 0.990/0.371
 14   6 0.97 0.5  plug-in 0.950/0.700 0.943/0.724 0.931/0.774 0.930/0.756 0.995/0.359 0.999/0.289
 35  15 0.9  0.85 ours    0.971/0.150 0.955/0.218 0.938/0.354 0.940/0.370 0.946/0.194 0.948/0.112
 35  15 0.9  0.85 plug-in 0.995/0.175 0.989/0.241 0.978/0.356 0.971/0.343 0.959/0.201 0.962/0.126
140  60 0.9  0.85 ours    0.934/0.107 0.947/0.169 0.946/0.203 0.947/0.170 0.946/0.132 0.950/0.076
140  60 0.9  0.85 plug-in 0.954/0.115 0.954/0.177 0.953/0.201 0.953/0.169 0.951/0.134 0.951/0.081
140  60 0.75 0.7  ours    0.958/0.206 0.948/0.268 0.946/0.379 0.945/0.378 0.946/0.233 0.969/0.160
140  60 0.75 0.7  plug-in 0.961/0.246 0.961/0.304 0.961/0.383 0.961/0.355 0.957/0.242 0.958/0.177
140  60 0.6  0.55 ours    0.942/0.778 0.970/0.803 0.978/0.855 0.980/0.875 0.980/0.778 0.963/0.744
140  60 0.6  0.55 plug-in 0.920/0.838 0.924/0.848 0.946/0.861 0.978/0.843 0.977/0.712 0.964/0.682

Ours is below .94 in 140 60 (.9, .85) at .02 and 25 25 (.9, .85) at .9 (both .934), where the plug-in covers;
every second count gave .924 in 100 100 (.97, .5), .98 (.948 above) and .902 in 140 60 (.51, .51),
.02. At shares of .5 it is
wider than the plug-in: by 12 % with 10 + 10 items, 6 % with 25 + 25 and 1 % with 100 + 100 (.9, .85). Near 0
and 1 it is narrower where a judge is good.

Simulated: share .3 before, .9 now (100 sets, standard error .02 to .03): n=50 ours .950/.197, plug-in
.990/.226, judgy .720/.171; n=200 .960/.158, .950/.164, .900/.150; n=1000 .900/.104, .890/.103, .830/.080.
Three classes, 500 new items (50 sets, standard error .03 to .05): one judge n=90 share .05 .960/.146, .4
.960/.291, .8 .960/.254; two judges .960/.135, .980/.280, .880/.272; one judge n=300 share .05 .940/.098.
Three judges, 500 new items, n=200 (50 sets): share .1 .960/.143, .5 1.000/.157, .9 .980/.142; items hard for
all .960/.211, 1.000/.274, .960/.210; five judges, the same 1.000/.214, .960/.259, .980/.214; two judges
.920/.152, 1.000/.177, .940/.159; three, a third of their labels missing .960/.163, .980/.175, .960/.155.
With n=50 coverage was .900 (two judges, share .1) to 1.000.

New items look different (p < .01; 200 sets, three judges, 500 new items, share .5 before and .7 now):
alike n=50 .015, n=200 .000; alike with hard items .020, .015; one judge's specificity .85 to .6: .025, .045;
one judge worse by .2 in both classes: .090, .510.

Groups (`groups`; 100 sets, standard error .02): accuracy of a classifier in three groups of 200, then the
difference of the first and the last. Specificity and sensitivity of each judge are given.
one judge (.85, .9), n=50      .950/.182 .920/.194 .980/.192 .970/.252
two judges (.85, .9), n=50     .960/.167 .940/.188 .960/.184 .940/.235
one judge (.7, .75), n=50      .950/.366 .970/.396 .930/.394 .960/.454
two judges (.7, .75), n=50     .990/.323 .980/.327 .980/.324 1.000/.403
one judge (.85, .9), n=200     .980/.156 .930/.172 .990/.171 .980/.226
two judges (.85, .9), n=200    .970/.144 .960/.162 .990/.168 .980/.217
one judge (.7, .75), n=200     .970/.261 1.000/.269 .990/.282 1.000/.379
two judges (.7, .75), n=200    .980/.233 .960/.240 .960/.253 .970/.339

Scores (`scores`): area of 500 normal scores, 1.2 apart (.80).
Eight settings of one judge (25 + 25 or 100 + 100 items, (.9, .85) or (.75, .7), shares .5 and .1; 20 sets
each, 160 in all): .95, each .90 or more. With bins as groups whose shares are independent, as those of
predictions are: .80, at a share of .1 .35 to .90: each bin's prior pulls the area towards one half.
One judge (.85, .9), n=50, share .5 (60 sets, standard error .03): .967/.183; recall at .6 .917/.243.
Two such judges (40 sets): .950/.155; recall .950/.183. In 60 other sets .933/.154 by one rule of verdicts,
as in the answers; .850/.168 with each item's own truth left out; .917/.181 with verdicts drawn. Three judges
and hard items: .950/.252, .917/.285, 1.000/.501.
Three classes (`class_scores`; 60 sets): judge right .85, n=90 .967/.152, .950/.172, 1.000/.221; .7
.933/.245, .983/.325, .967/.408. Settings that are not here took too long.
"""

import sys
from itertools import product
from unittest.mock import patch

import numpy as np
from scipy.interpolate import RegularGridInterpolator, interp1d
from scipy.stats import beta, binom, norm

import jtruth as jt
from jtruth.evaluation import score_tables
from jtruth.lam_stork import rogan_gladen
from jtruth.stats import elsewhere
from jtruth.tables.new_samples import class_shares

LEVEL, RESAMPLES = 0.95, 400
elsewhere.NODES, elsewhere.DRAWS = 240_000, 1000  # a tenth of the work of an answer


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


PARTS = "exact", "shift", "several", "three_classes", "alike", "groups", "scores", "class_scores"
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


def named(z, prefix):
    return jt.Labels.from_long(
        [f"{prefix}{i}" for i, row in enumerate(z) for _ in row],
        [f"judge {t}" for row in z for t in range(len(row))], [*map(str, z.ravel())],
        classes=[*map(str, range(1 + max(1, z.max())))],
    )  # fmt: skip


def rates(found):
    """Coverage and mean width of rows (sets, numbers, 2)."""
    return " ".join(f"{c:.3f}/{w:.3f}" for c, w in np.mean(found, axis=0))


def groups(sets):
    """Accuracy of a classifier in three groups of 200, and the difference of the first and the last."""
    shares, right = np.array([0.2, 0.5, 0.8]), np.array([[0.9, 0.8], [0.85, 0.85], [0.7, 0.8]])
    true = (1 - shares) * right[:, 0] + shares * right[:, 1]
    for items, rate, judges in product((50, 200), ((0.85, 0.9), (0.7, 0.75)), (1, 2)):
        rng, found, judge = np.random.default_rng(items), [], np.array([rate] * judges).T
        for _ in range(sets):
            truth, by = np.concatenate([[0, 1], rng.choice(2, items - 2)]), np.arange(600) // 200
            y = (rng.random(600) < shares[by]).astype(int)
            y_pred = np.where(rng.random(600) < right[by, y], y, 1 - y)
            pair = named(labels(truth, judge, rng), "old"), truth
            new = named(labels(y, judge, rng), "new")
            one = jt.evaluation.compare_groups(
                y_pred, new, by, calibration=pair, key=int(rng.integers(2**31))
            )
            dists = [*zip(map(one.values.get, "012"), true, strict=True)]
            dists.append((one.differences["0", "2"], true[0] - true[2]))
            ends = [(*dist.interval(LEVEL)[:2], t) for dist, t in dists]
            found.append([(low <= t <= high, high - low) for low, high, t in ends])
        print(f"groups, {judges} judges of {rate}, n={items}: {rates(found)}", flush=True)


def scores(sets):
    """Area under the ROC curve of normal scores, and recall at the middle of the two classes."""
    for items, rate, share, judges in product((50, 200), ((0.85, 0.9), (0.7, 0.75)), (0.5, 0.1), (1, 2)):
        rng, found, judge = np.random.default_rng(items), [], np.array([rate] * judges).T
        for _ in range(sets):
            truth, y = (
                np.concatenate([[0, 1], rng.choice(2, items - 2)]),
                (rng.random(500) < share).astype(int),
            )
            pair = named(labels(truth, judge, rng), "old"), truth
            with patch.multiple(score_tables, _MOST_RATES=100, _WALKS=1000):  # half of the work of an answer
                one = jt.evaluate_scores(
                    rng.normal(size=500) + 1.2 * y, named(labels(y, judge, rng), "new"), calibration=pair,
                    threshold=0.6, positive=1, key=int(rng.integers(2**31)),
                )  # fmt: skip
            dists = (one.auc, norm.cdf(1.2 / np.sqrt(2))), (one.asked[0].recall, norm.cdf(0.6))
            ends = [(*dist.interval(LEVEL)[:2], t) for dist, t in dists]
            found.append([(low <= t <= high, high - low) for low, high, t in ends])
        print(f"scores, {judges} judges of {rate}, share {share}, n={items}: {rates(found)}", flush=True)


def class_scores(sets):
    """Areas of three classes, each against the rest, of normal scores."""
    shares = np.array([0.5, 0.3, 0.2])
    for items, right in product((90, 300), (0.85, 0.7)):
        rng, found, judge = np.random.default_rng(items), [], np.full((3, 1), right)
        for _ in range(sets):
            truth, y = np.concatenate([np.arange(3), rng.choice(3, items - 3)]), rng.choice(3, 500, p=shares)
            pair, x = (named(labels(truth, judge, rng), "old"), truth), rng.normal(size=(500, 3))
            one = jt.evaluation.evaluate_class_scores(
                x + 1.2 * np.eye(3)[y], named(labels(y, judge, rng), "new"), calibration=pair,
                key=int(rng.integers(2**31)),
            )  # fmt: skip
            ends = [(*each.auc.interval(LEVEL)[:2], norm.cdf(1.2 / np.sqrt(2))) for each in one.each.values()]
            found.append([(low <= t <= high, high - low) for low, high, t in ends])
        print(f"three classes of scores, judge right {right}, n={items}: {rates(found)}", flush=True)


if __name__ == "__main__":
    for part in sys.argv[2:] or PARTS:
        globals()[part](int(sys.argv[1]) if len(sys.argv) > 1 else 400)
