"""False alarms and power of the checks.

Run: python -m benchmarks checks [sets per setting, 400] [processes, 2]
     python -m benchmarks checks drift [sets per setting, 400]
Simulated label sets (two or three classes) from the model, and sets that violate one assumption. Learned:
error rates are learned and checked by `learned_checks`. Given: the true error rates and the true prior are
passed (or, in the first line of violations, error rates that are wrong by half) and checked by
`given_checks`. Each cell is the percentage of sets in which that check's own p-value is at most .05;
"any" is the percentage with at least one verdict "does not fit", which should be 5. Monte Carlo error of 5
from 400 sets: 1.1.

Measured: AMD EPYC, 4 busy cores, Python 3.11.7, numpy 2.4.6; 400 sets a setting. Learned checks take .1 to
1 s on a free core.

    learned                        patterns    pairs   misfit together     hard   single      any    alike
    N=400 T=3                           3.8      2.5      2.2      2.2      3.0      3.2      1.2     72.2
    N=1000 T=5                          6.2      4.5      5.2      3.2      5.2      5.8      5.5     99.8
    N=600 T=8 half                        -      4.8      4.8      3.5      4.8      5.2      3.5     96.0
    N=500 T=5 C=3                         -      4.5      4.2      3.5      4.2      5.2      5.0     97.2
    N=1000 T=5 alike                    4.2      4.2      4.0      3.8      5.2      3.5      3.8      4.8
    error rates off by half             3.2      4.0      4.5      4.5      2.2      4.2      3.2     99.8
    labelers share 30 %                95.5     89.8     95.5     99.2     10.2     37.2     98.5    100.0
    classifier errs on hard ones       98.2     80.8     94.2    100.0     96.2     54.2    100.0     98.2
    classifier shares one's, 10 %      19.2     44.2     39.0      7.0     11.5     50.5     32.8    100.0

    given                             prior    rates   margin   single      any
    N=400 T=3                           4.2      3.8      5.2      2.5      4.0
    N=1000 T=5                          4.2      4.8      4.5      5.2      3.5
    N=600 T=8 half                      5.0      5.0      4.8      4.8      3.5
    N=500 T=5 C=3                       6.0      4.2      2.8      4.0      3.2
    N=1000 T=5 alike                    4.8      4.5      5.2      4.8      5.0
    error rates off by half            16.0    100.0      5.2     11.0    100.0
    labelers share 30 %                14.8    100.0      7.2     21.8    100.0
    classifier errs on hard ones        8.5     86.8      3.8     44.2     84.0
    classifier shares one's, 10 %       4.0      4.0      4.5     43.8     25.0

patterns: label patterns; pairs: pairwise agreement; misfit: labeler misfit; together: labelers share errors;
hard: classifier and hard samples; single: classifier and single labelers; alike: labelers alike (an alarm is
correct wherever labelers differ, which is everywhere but in "alike"); prior, rates: given prior and error
rates; margin: classifier and vote margin. With three labelers of two classes the checks of learned rates are
conservative (2.2 to 3.8, any 1.2): so few labels say little. Elsewhere false alarms are 3 to 6.

Drift (`labeler_behaviour`, p < .05): percentage of 200 sets in which any labeler is named, the one who
changes (the last; without a change one like the others), and any other; Monte Carlo error 1.5 at 5.

    210 samples, 5 labelers                      6.0    0.5    5.5
      one guesses in the last third             99.0   99.0    1.0
    300 samples, 6 unequal labelers              8.5    0.0    8.5
      the best guesses in the last third        95.5   94.0    5.5
    1000 samples, 5 labelers, 7 % positive       5.0    1.0    4.0
      one's recall halves                       57.0   55.0    4.5
    2000 samples, 3 labelers, 7 % positive       5.0    1.0    4.0
      one's recall halves                       91.5   90.0    4.5
    600 samples, 3 labelers, share .15 to .75    4.5    1.0    4.0
    400 samples, 40 labelers of 60 labels        6.0    0.0    6.0
"""

import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import jax
import numpy as np

from jtruth.evaluation.checks.label_sets import with_classifier
from jtruth.evaluation.checks.verdicts import given_checks, learned_checks
from jtruth.evaluation.inputs import read
from jtruth.labels import Labels
from jtruth.learning.behaviour import labeler_behaviour
from jtruth.learning.em.dawid_skene import Smoothing, fit_dawid_skene
from jtruth.noise import ConfusionMatrices

# name: samples, labelers, classes, share of labels that are there, fault
SETTINGS = {
    "N=400 T=3": (400, 3, 2, 1.0, None),
    "N=1000 T=5": (1000, 5, 2, 1.0, None),
    "N=600 T=8 half": (600, 8, 2, 0.5, None),
    "N=500 T=5 C=3": (500, 5, 3, 1.0, None),
    "N=1000 T=5 alike": (1000, 5, 2, 1.0, "alike"),
    "error rates off by half": (1000, 5, 2, 1.0, "rates"),
    "labelers share 30 %": (1000, 5, 2, 1.0, "labelers"),
    "classifier errs on hard ones": (1000, 5, 2, 1.0, "difficulty"),
    "classifier shares one's, 10 %": (1000, 5, 2, 1.0, "one"),
}


def simulate(rng, size, labelers, classes, present, fault):
    """Labels (-1 missing), predictions, error rates by labeler and class, prior."""
    prior = np.array([0.6, 0.4]) if classes == 2 else np.full(classes, 1 / classes)
    wrong = rng.uniform(0.1, 0.35, (labelers, classes))
    if fault == "alike":
        wrong = np.broadcast_to(wrong[0], wrong.shape)
    y = rng.choice(classes, size, p=prior)
    hard = rng.random(size)
    u = rng.random((size, labelers))
    if fault == "labelers":  # for 30 samples in 100 all labelers use one random number
        u = np.where(rng.random((size, 1)) < 0.3, u[:, :1], u)
    rate = wrong[:, y].T
    if fault == "difficulty":
        rate = np.minimum(2 * hard[:, None] * rate, 0.95)
    z = np.where(u < rate, (y[:, None] + rng.integers(1, classes, (size, labelers))) % classes, y[:, None])
    mistaken = rng.random(size) < (0.4 * hard if fault == "difficulty" else 0.2)
    if fault == "one":  # for 1 sample in 10 it errs where the first labeler does
        mistaken = np.where(rng.random(size) < 0.1, z[:, 0] != y, rng.random(size) < 0.2)
    y_pred = np.where(mistaken, (y + rng.integers(1, classes, size)) % classes, y)
    there = rng.random(z.shape) < present
    there[np.arange(size), rng.integers(0, labelers, size)] = True
    return np.where(there, z, -1), y_pred, wrong, prior


def matrices_of(wrong, classes):
    """(labelers, classes, classes) with all wrong classes equally likely."""
    eye = np.eye(classes)
    return eye * (1 - wrong)[:, :, None] + (1 - eye) * (wrong / (classes - 1))[:, :, None]


def one_set(job):
    """p-values and alarms of both kinds of checks, and seconds."""
    name, seed = job
    size, labelers, classes, present, fault = SETTINGS[name]
    rng = np.random.default_rng([seed, list(SETTINGS).index(name)])
    z, y_pred, wrong, prior = simulate(rng, size, labelers, classes, present, fault)
    labels, key = Labels.from_matrix(z, classes), jax.random.key(seed)
    raters = with_classifier(labels, y_pred)
    fit = fit_dawid_skene(raters, smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01))
    begin = time.perf_counter()
    learned = learned_checks(raters, (fit.prior[None], fit.matrices[None]), key)
    seconds = time.perf_counter() - begin
    noise = ConfusionMatrices(matrices_of(1.5 * wrong if fault == "rates" else wrong, classes))
    data = read(y_pred, labels, noise, prior, None, None)
    given = given_checks(data, data.model, key)
    return name, learned, given, seconds


def main(sets=400, processes=2):
    """Print the table."""
    print(f"{processes} processes, {sets} sets a setting")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for name in SETTINGS:
            found = list(pool.map(one_set, [(name, seed) for seed in range(sets)], chunksize=5))
            print(f"\n{name} ({1000 * np.median([f[3] for f in found]):.0f} ms)")
            for kind, which in (("learned", 1), ("given", 2)):
                small, loud = defaultdict(list), []
                for one in found:
                    for check in one[which]:
                        if check.p_value is not None:
                            small[check.name].append(check.p_value <= 0.05)
                    tested = [c for c in one[which] if c.name not in ("labelers alike", "enough labels")]
                    loud.append(any(c.verdict == "does not fit" for c in tested))
                for check, values in {**small, "any": loud}.items():
                    print(f"  {kind:<8} {check:<32} {100 * np.mean(values):5.1f}")


# name: samples, labelers, share of positives (or at both ends of the time), P(right) by class (of the first
# and of the last labeler), and of the last labeler's from some share of the time on
DRIFTS = {
    "210 samples, 5 labelers": (210, 5, 0.5, [[0.9, 0.9]] * 2, None, 0),
    "  one guesses in the last third": (210, 5, 0.5, [[0.9, 0.9]] * 2, [0.5, 0.5], 2 / 3),
    "300 samples, 6 unequal labelers": (300, 6, 0.5, [[0.65, 0.65], [0.9, 0.9]], None, 0),
    "  the best guesses in the last third": (300, 6, 0.5, [[0.65, 0.65], [0.9, 0.9]], [0.5, 0.5], 2 / 3),
    "1000 samples, 5 labelers, 7 % positive": (1000, 5, 0.07, [[0.97, 0.8]] * 2, None, 0),
    "  one's recall halves": (1000, 5, 0.07, [[0.97, 0.8]] * 2, [0.97, 0.4], 1 / 2),
    "2000 samples, 3 labelers, 7 % positive": (2000, 3, 0.07, [[0.97, 0.8]] * 2, None, 0),
    "  one's recall halves ": (2000, 3, 0.07, [[0.97, 0.8]] * 2, [0.97, 0.4], 1 / 2),
    "600 samples, 3 labelers, share .15 to .75": (600, 3, (0.15, 0.75), [[0.85, 0.75]] * 2, None, 0),
    "400 samples, 40 labelers of 60 labels": (400, 40, 0.3, [[0.9, 0.8]] * 2, None, 0),
}


def drifts(sets=400):
    """Share of sets in which anybody, the labeler who changes, and anybody else is named."""
    for name, (size, labelers, share, right, late, since) in DRIFTS.items():
        named = []
        for seed in range(sets):
            rng, number = np.random.default_rng(seed), np.arange(size)
            y = (rng.random(size) < np.linspace(*np.broadcast_to(share, 2), size)).astype(int)
            p = np.linspace(*right, labelers)[:, y].T
            if late is not None:
                p[number >= since * size, -1] = np.array(late)[y][number >= since * size]
            z = np.where(rng.random(p.shape) < p, y[:, None], 1 - y[:, None])
            z = np.where(rng.random(z.shape) < 60 / size, z, -1) if labelers == 40 else z
            labels = Labels.from_matrix(z, 2, allow_unlabelled=True)
            fit = fit_dawid_skene(labels, smoothing=Smoothing(1.0, 0.5, 0.5))
            found = labeler_behaviour(labels, fit.prior, fit.matrices, order=number, key=seed)
            who = (found.drift < 0.05).any(axis=1)
            named.append((who.any(), who[-1], who[:-1].any()))
        print(f"{name:42} " + "  ".join(f"{100 * v:5.1f}" for v in np.mean(named, axis=0)), flush=True)


if __name__ == "__main__":
    if "drift" in sys.argv:
        drifts(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
