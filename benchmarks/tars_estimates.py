"""Advice 1 of TARS (Dolatshah et al. 2018, Figures 8 to 10, 14, 15): error, width, coverage, and rivals.

    python benchmarks/tars_estimates.py [runs [fast]]  # needs ../shared/data for Figure 10

Accuracy .8, balanced classes, one label a sample; 400 runs a line, the exact posterior in every fourth.
Coverage is of the population's accuracy and F1 by nominal 95 % intervals (standard error .012); errors
(RMSE) and widths are of the accuracy of the very samples. Python 3.11, jax 0.10.2, numpy 2.4.6.

    N  noise  coverage: CLT  bootstrap  F1  error: TARS  exact  DirtyEval  width: TARS  exact (covers)
    100  (.2, .2)  .950  .953  .948  .067  .063  .126  .261  .240  (.95)
    100  (.4, 0)  .932  .935  .948  .064  .054  .128  .224  .190  (.94)
    100  (.4, .4)  .963  .960  .963  .262  .193  .244  .960  .606  (.95)
    1000  (.2, .2)  .958  .960  .950  .019  .019  .122  .083  .082  (.94)
    1000  (.4, 0)  .958  .955  .953  .018  .017  .121  .072  .063  (.94)
    1000  (.4, .4)  .965  .968  .953  .080  .073  .241  .304  .276  (.92)

Both intervals hold what they promise. The exact posterior is never worse and up to a third narrower. TARS
is worse than taking labels as the truth where labels say little and samples are few: N = 100, noise (.4,
.4), .262 against .244, and so is its F1, .293 against .248 (RMSE of these samples' F1, 400 runs):

    N     noise     TARS  DirtyEval        N     noise     TARS  DirtyEval
    100   (.2, .2)  .068  .131             1000  (.2, .2)  .021  .120
    100   (.4, 0)   .056  .077             1000  (.4, 0)   .016  .068
    100   (.4, .4)  .293  .248             1000  (.4, .4)  .081  .239

At (.4, 0) TARS' F1 is not worse, as was expected from another simulation, whose predictions are others.

Figure 15, good workers (.1) and bad ones (.4), N = 1000, 400 runs: RMSE of TARS, of TARS weighted by inverse
variance, and of DirtyEval, then half widths (the paper's at 50 %: "about .1", DirtyEval more than twice: both
reproduced; the weights are worth more than a doubling of the samples):

    good   TARS   weighted  DirtyEval  half width  weighted
    0 %    .079   .079      .240       .154        .154
    25 %   .065   .031      .195       .134        .064
    50 %   .053   .022      .151       .111        .047
    75 %   .041   .018      .106       .082        .039
    100 %  .016   .016      .061       .034        .034

Figure 10, logistic regression on the half of a set that it has not seen, noise .2, 400 splits: RMSE of TARS
and DirtyEval, and how often the interval of these samples holds: Heart .060, .137, .950 +- .011; German .026,
.098, .973 +- .008; Cancer .059, .093, .950 +- .011. Reproduced, with TARS nearer than DirtyEval on all three;
Restaurant is in `tars_restaurant.py`.
"""

import sys

import numpy as np
from tars_cleaning import data_set

from jtruth.testing import binary_posterior, estimate_counts, labels_as_truth, resampled_table
from jtruth.testing.tars.consolidation import Consolidated

THETA = 0.8  # accuracy of the classifier, whatever the class
EXACT = 4  # one run in so many also asks the exact posterior


def simulated(rng, size, a, b):
    """Truth, predictions, and one noisy label each, with its law."""
    y = rng.integers(0, 2, size)
    y_pred = np.where(rng.random(size) < THETA, y, 1 - y)
    z = np.where(rng.random(size) < np.where(y == 1, b, a), 1 - y, y)
    rates = np.tile(np.array([[1 - a, a], [b, 1 - b]]), (size, 1, 1))
    return y, y_pred, Consolidated(z, rates, np.zeros(size), np.zeros(size, bool), np.array([0.5, 0.5]))


def setting(size, a, b, runs):
    """Coverage (population) of CLT and bootstrap; RMSE and width of TARS, exact posterior and DirtyEval."""
    rng = np.random.default_rng(1)
    covered, errors, widths = np.zeros(3), {"tars": [], "exact": [], "dirty": []}, {"tars": [], "exact": []}
    exact_covered = 0
    for run in range(runs):
        y, y_pred, given = simulated(rng, size, a, b)
        counts = estimate_counts(y_pred, given)
        table = resampled_table(counts, num=400, key=run)
        laws = [
            counts.accuracy_interval(),
            table.estimate("accuracy").interval(),
            table.estimate("f1").interval(),
        ]
        covered += [low <= THETA <= high for low, high, _ in laws]  # F1 of equal classes is theta too
        own = (y == y_pred).mean()
        if run % EXACT == 0:
            odds = np.log([b / (1 - a), (1 - b) / a if a else np.inf])[given.label] if b else np.where(
                given.label == 1, np.log(1 / a), -np.inf)  # fmt: skip
            law = binary_posterior(odds, y_pred).estimate("accuracy")
            low, high, _ = law.interval()
            exact_covered += low <= own <= high
            errors["exact"].append(law.mean - own)
            widths["exact"].append(high - low)
            errors["tars"].append(counts.metric("accuracy") - own)
            low, high, _ = counts.accuracy_interval(target="in-sample")
            widths["tars"].append(high - low)
            dirty = labels_as_truth(y_pred, given)
            errors["dirty"].append(np.trace(dirty) / size - own)
    rmse = {k: np.sqrt(np.mean(np.square(v))) for k, v in errors.items()}
    width = {k: np.mean(v) for k, v in widths.items()}
    cover, checked = covered / runs, len(errors["exact"])
    print(
        f"N {size:5} noise ({a}, {b}): coverage CLT {cover[0]:.3f} bootstrap {cover[1]:.3f}, F1 {cover[2]:.3f} "  # noqa: E501
        f"(+- {np.sqrt(0.06 * 0.94 / runs):.3f}); error of these samples' accuracy: TARS {rmse['tars']:.3f}, exact "  # noqa: E501
        f"{rmse['exact']:.3f}, DirtyEval {rmse['dirty']:.3f}; in-sample width TARS {width['tars']:.3f}, exact "  # noqa: E501
        f"{width['exact']:.3f} (covers {exact_covered / checked:.2f} of {checked})",
        flush=True,
    )


def given_rates(y, rates, rng):
    """One symmetric label a sample, wrong with its own probability."""
    z = np.where(rng.random(y.size) < rates, 1 - y, y)
    law = np.stack([np.stack([1 - rates, rates], -1), np.stack([rates, 1 - rates], -1)], -2)
    return Consolidated(z, law, np.zeros(y.size), np.zeros(y.size, bool), np.array([0.5, 0.5]))


def f1_of(table):
    return 2 * table[1, 1] / (2 * table[1, 1] + table[0, 1] + table[1, 0])


def f1_errors(runs):
    """F1 of these samples: RMSE of TARS and of labels as the truth."""
    for size in (100, 1000):
        for a, b in ((0.2, 0.2), (0.4, 0.0), (0.4, 0.4)):
            rng, off = np.random.default_rng(2), []
            for _ in range(runs):
                y, y_pred, given = simulated(rng, size, a, b)
                true = np.zeros((2, 2))
                np.add.at(true, (y, y_pred), 1)
                tables = estimate_counts(y_pred, given).table, labels_as_truth(y_pred, given)
                off.append([f1_of(t) - f1_of(true) for t in tables])
            said = "  ".join(f"{np.sqrt(np.mean(v**2)):.3f}" for v in np.array(off).T)
            print(f"F1, N {size:5} noise ({a}, {b}): TARS, DirtyEval {said}", flush=True)


def good_workers(runs):
    """Figure 15: labels of good workers (.1 wrong) and bad ones (.4), N = 1000."""
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        rng, off, half = np.random.default_rng(3), [], []
        for _ in range(runs):
            y, y_pred, _ = simulated(rng, 1000, 0.2, 0.2)
            given = given_rates(y, np.where(rng.random(1000) < share, 0.1, 0.4), rng)
            found = [estimate_counts(y_pred, given, weights=w) for w in ("equal", "inverse_variance")]
            dirty = np.trace(labels_as_truth(y_pred, given)) / 1000
            off.append([*(f.metric("accuracy") - THETA for f in found), dirty - THETA])
            half.append([1.96 * f.accuracy_variance() ** 0.5 for f in found])
        rmse, width = np.sqrt(np.mean(np.square(off), axis=0)), np.mean(half, axis=0)
        print(f"good {share:.0%}: RMSE TARS {rmse[0]:.3f}, weighted {rmse[1]:.3f}, DirtyEval {rmse[2]:.3f}; "
              f"half width {width[0]:.3f}, weighted {width[1]:.3f}", flush=True)  # fmt: skip


def real_sets(runs):
    """Figure 10: accuracy of a logistic regression on the half of a set that it has not seen, noise .2."""
    from sklearn.linear_model import LogisticRegression

    for name in ("heart", "german", "cancer"):
        rng, off, held = np.random.default_rng(4), [], 0
        x, y = data_set(name, rng)
        for _ in range(runs):
            order = rng.permutation(y.size)
            train, test = order[: y.size // 2], order[y.size // 2 :]
            y_pred = LogisticRegression(max_iter=1000).fit(x[train], y[train]).predict(x[test])
            given = given_rates(y[test], np.full(test.size, 0.2), rng)
            found, true = estimate_counts(y_pred, given), (y_pred == y[test]).mean()
            low, high, _ = found.accuracy_interval(target="in-sample")
            held += low <= true <= high
            dirty = np.trace(labels_as_truth(y_pred, given)) / test.size
            off.append([found.metric("accuracy") - true, dirty - true])
        rmse = np.sqrt(np.mean(np.square(off), axis=0))
        error = (held / runs * (1 - held / runs) / runs) ** 0.5
        print(f"{name}: RMSE TARS {rmse[0]:.3f}, DirtyEval {rmse[1]:.3f}; interval of these samples holds "
              f"{held / runs:.3f} +- {error:.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    f1_errors(runs)
    good_workers(runs)
    real_sets(runs)
    if "fast" in sys.argv:
        sys.exit()
    for size in (100, 1000):
        for a, b in ((0.2, 0.2), (0.4, 0.0), (0.4, 0.4)):
            setting(size, a, b, runs)
