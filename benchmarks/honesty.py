"""Do intervals of 95 % hold where classes are many and labels few? Rows that are alike against fixed ones.

Run: python benchmarks/honesty.py known [SETS, 40] [C, 4]
     python benchmarks/honesty.py learned [SETS, 40] [KIND, ...: all]

known    Noise model and class prior given and true: three labelers who are right in 70 %, wrong evenly; C
         classes, even or one of share .7, N samples; the classifier's accuracy of each class .8 +- .08,
         its errors Dirichlet(1) over the wrong classes. `count_posterior` with its default and with alpha=1.
learned  Nothing given: crowds of T workers (accuracy of each class Beta(8, 2), every sample labelled by some
         at random), five labelers of .67-.83, five weak ones of .53-.60, C = 2, shares .6/.4; or C = 6.
         N = 300.
         `fit_joint` with its default and with diagonal 2 (Dirichlet rows, the default of the first version).

Columns: coverage of nominal 95 % (equal tails), mean width, mean error of the posterior mean. The metrics of
the samples at hand are meant. Monte Carlo error of a coverage c of n sets: sqrt(c (1 - c) / n).

Measured: AMD EPYC, 2 shared cores, Python 3.11, jax 0.10.2, numpy 2.4. 40 sets a setting: Monte Carlo error
of a coverage .035 at .95. "C, N, share of the first class (0: even)"; seconds of CPU a set.

    4   400 0.0 alike  acc. 0.95 0.057 +0.000  bal. 0.95 0.056 +0.000  F1 0.95 0.057 +0.000  kappa 0.95  0.4 s
    4   400 0.0 fixed  acc. 0.85 0.055 -0.010  bal. 0.88 0.055 -0.010  F1 0.85 0.056 -0.010  kappa 0.85  0.2 s
   10  1000 0.0 alike  acc. 0.93 0.024 +0.001  bal. 0.97 0.024 +0.001  F1 0.93 0.024 +0.001  kappa 0.93  0.9 s
   10  1000 0.0 fixed  acc. 0.45 0.023 -0.012  bal. 0.40 0.023 -0.013  F1 0.45 0.024 -0.012  kappa 0.45  0.6 s
   10   200 0.0 alike  acc. 0.97 0.052 -0.001  bal. 0.95 0.054 -0.000  F1 0.95 0.054 -0.000  kappa 0.97  1.0 s
   10   200 0.0 fixed  acc. 0.15 0.054 -0.040  bal. 0.12 0.056 -0.041  F1 0.12 0.056 -0.042  kappa 0.12  0.7 s
   10   200 0.7 alike  acc. 1.00 0.040 -0.003  bal. 0.97 0.116 -0.001  F1 1.00 0.088 +0.001  kappa 1.00  1.0 s
   10   200 0.7 fixed  acc. 0.17 0.041 -0.030  bal. 0.23 0.128 -0.087  F1 0.10 0.093 -0.069  kappa 0.17  0.7 s
   30  1500 0.0 alike  acc. 0.95 0.015 -0.000  bal. 0.95 0.015 -0.000  F1 0.95 0.015 -0.000  kappa 0.95  3.5 s
   30  1500 0.0 fixed  acc. 0.00 0.014 -0.026  bal. 0.00 0.015 -0.027  F1 0.00 0.014 -0.027  kappa 0.00  2.5 s
   30  1500 0.7 alike  acc. 0.97 0.011 -0.001  bal. 0.95 0.033 -0.002  F1 1.00 0.025 -0.000  kappa 0.97  3.2 s
   30  1500 0.7 fixed  acc. 0.00 0.011 -0.018  bal. 0.00 0.036 -0.060  F1 0.00 0.027 -0.045  kappa 0.00  2.2 s
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import itertools  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from unittest.mock import patch  # noqa: E402

import numpy as np  # noqa: E402

from jtruth.evaluation.checks.prior_driven import prior_check  # noqa: E402
from jtruth.evaluation.inputs import read  # noqa: E402
from jtruth.labels import Labels  # noqa: E402
from jtruth.learning.joint.posterior import fit_joint  # noqa: E402
from jtruth.sampling import Effort, alike  # noqa: E402
from jtruth.tables.posterior import TableDraws  # noqa: E402
from jtruth.testing.multiclass.count_draws import count_posterior  # noqa: E402

CROWDS = {"300 x 3": (300, 3), "100 x 9": (100, 9), "2": (2, 2), "20": (20, 20)}
# Kind: classes, share of class 1 (0: .4), accuracy of labelers.
KINDS = {"five weak": (2, 0.0), "share 1 %": (2, 0.01), "C=3": (3, 0.0), "C=6": (6, 0.0), "C=10": (10, 0.0)}
LEARNED = [*CROWDS, "five", *KINDS]
EFFORT = Effort(min_sweeps=1500, max_rhat=1.02, min_ess=200, max_work=3e9, nuisance=False)


def table(y, y_pred, classes):
    """Count table, (1, classes, classes)."""
    counts = np.zeros((1, classes, classes), np.int64)
    np.add.at(counts, (0, y, y_pred), 1)
    return TableDraws(counts)


def errors_elsewhere(rng, y, right, pattern):
    """`y` where right, else a wrong class by its row of `pattern` (classes, classes), 0 on the diagonal."""
    below = np.cumsum(pattern[y], axis=1) < rng.random(y.size)[:, None]
    return np.where(right, y, np.minimum(below.sum(axis=1), pattern.shape[1] - 1))


def wrong_rows(rng, classes, even=False):
    """Shares of the wrong classes, (classes, classes)."""
    rows = np.ones((classes, classes)) if even else rng.standard_exponential((classes, classes))
    np.fill_diagonal(rows, 0)
    return rows / rows.sum(axis=1, keepdims=True)


def known(rng, classes, samples, share):
    """One set: (true table, log-likelihood, prior, predictions)."""
    rest = (1 - share) / (classes - 1)
    prior = np.array([share, *np.full(classes - 1, rest)]) if share else np.full(classes, 1 / classes)
    y = rng.choice(classes, samples, p=prior)
    own = np.clip(0.8 + 0.08 * rng.standard_normal(classes), 0.3, 0.98)
    y_pred = errors_elsewhere(rng, y, rng.random(samples) < own[y], wrong_rows(rng, classes))
    even = wrong_rows(rng, classes, even=True)
    z = [errors_elsewhere(rng, y, rng.random(samples) < 0.7, even) for _ in range(3)]
    votes = (np.array(z)[:, :, None] == np.arange(classes)).sum(axis=0)
    return table(y, y_pred, classes), votes * np.log(0.7 * (classes - 1) / 0.3), prior, y_pred


def learned(rng, kind, samples=300):
    """One set: (true table, labels, predictions)."""
    classes, share = KINDS.get(kind, (2, 0.0))
    prior = np.array([1 - share, share]) if share else np.array([0.6, 0.4])
    prior = rng.dirichlet(np.full(classes, 5.0)) if classes > 2 else prior
    samples = 1000 if share else samples
    y = rng.choice(classes, samples, p=prior)
    workers, each = CROWDS.get(kind, (5, 5))
    if kind in CROWDS:
        own = (
            rng.beta(8, 2, (workers, classes))
            if workers > 20
            else rng.uniform(0.67, 0.83, (workers, classes))
        )
    elif kind == "five weak":
        own = np.repeat(rng.uniform(0.53, 0.60, (workers, 1)), classes, axis=1)
    else:
        own = 0.75 + 0.08 * rng.uniform(-1, 1, (workers, classes))
    even = wrong_rows(rng, classes, even=True)
    right = rng.random((workers, samples)) < own[:, y]
    z = np.stack([errors_elsewhere(rng, y, each_right, even) for each_right in right], axis=1)
    asked = rng.random((samples, workers)).argsort(axis=1) < each
    right = np.clip(rng.uniform(0.75, 0.92) + 0.08 * rng.uniform(-1, 1, classes), 0.3, 0.98)
    y_pred = errors_elsewhere(rng, y, rng.random(samples) < right[y], even)
    return table(y, y_pred, classes), Labels.from_matrix(np.where(asked, z, -1), classes), y_pred


def judge(truth, draws, names):
    """(metrics, 3): whether the interval holds the truth, its width, the error of the mean."""
    rows = []
    for name in names:
        true, found = truth.estimate(name).mean, draws.estimate(name)
        low, high = np.nanquantile(found.draws, [0.025, 0.975])
        rows.append((low - 1e-12 <= true <= high + 1e-12, high - low, found.mean - true))
    return np.array(rows, float)


def report(setting, way, rows, names, seconds):
    """One line a setting and way."""
    mean = np.nanmean(rows, axis=0)
    cells = "  ".join(f"{n} {c:.2f} {w:.3f} {b:+.3f}" for n, (c, w, b) in zip(names, mean, strict=True))
    print(f"    {setting!s:<18} {way:<9} {cells}   {seconds / len(rows):.1f} s", flush=True)


@contextmanager
def told(classes):
    """Rows that are alike with the law that `known` draws them from: mean .8, sd .08, errors Dirichlet(1)."""
    truth = np.array([np.log(4.0), np.log(24.0), np.log(classes - 1), 0.0])
    held = patch.object(alike, "first_state", lambda group, chains: np.tile(truth, (chains, 1, 1)))
    with held, patch.object(alike, "move", lambda data, state, rng: state):
        yield


def main_known(sets=40, classes=4):
    """Coverage with N/C of 20 and 100, even and with one class of .7; width beside the prior that is told."""
    names = ("accuracy", "balanced_accuracy", "macro_f1", "kappa")
    for setting in itertools.product((classes,), (20 * classes, 100 * classes), (0.0, 0.7)):
        found, both, spent = [], [], 0.0
        for number in range(sets):
            truth, *data = known(np.random.default_rng([12, number]), *setting)
            begin = time.process_time()
            draws = count_posterior(*data, key=number)
            spent += time.process_time() - begin
            found.append(judge(truth, draws, names))
            if number < max(4, sets // 4):
                with told(classes):
                    both.append(judge(truth, count_posterior(*data, key=number), names))
        found, both = np.array(found), np.array(both)
        report(setting, "alike", found, names, spent)
        ratio = found[: len(both), :, 1].mean(axis=0) / both[:, :, 1].mean(axis=0)
        print(f"    {'':<18} width over that of the true prior: {np.round(ratio, 2).tolist()}", flush=True)


def main_learned(sets=40, *kinds):
    """Coverage, and how often the answer says prior-driven, over all sets and over those that miss."""
    names = ("accuracy", "precision[1]", "recall[1]", "macro_f1")
    for kind in kinds or LEARNED:
        rows, said, spent = [], [], 0.0
        for number in range(sets):
            truth, labels, y_pred = learned(np.random.default_rng([13, number]), kind)
            begin = time.process_time()
            fit = fit_joint(labels, y_pred=y_pred, key=number, effort=EFFORT)
            checks = prior_check(read(y_pred, labels, None, None, None, None), fit, 0.95)
            spent += time.process_time() - begin
            rows.append(judge(truth, TableDraws(fit.counts), names))
            said.append(not fit.usable or any(check.verdict == "does not fit" for check in checks))
        rows, said = np.array(rows), np.array(said)
        report(kind, "alike", rows, names, spent)
        missed = rows[:, :, 0].min(axis=1) < 1
        print(f"    {'':<18} prior-driven in {said.mean():.2f}; of {missed.sum()} sets that miss a metric "
              f"{said[missed].sum()} say so", flush=True)  # fmt: skip


if __name__ == "__main__":
    what, number, *more = (*sys.argv[1:], 40)[: max(2, len(sys.argv) - 1)]
    if what == "known":
        main_known(int(number), *map(int, more))
    else:
        main_learned(int(number), *more)
