"""Advice 1 of TARS (Dolatshah et al. 2018, Figures 8, 9, 14): error, width and coverage, beside its rivals.

    python benchmarks/tars_estimates.py [runs]

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
.4), .262 against .244. Restaurant (Figure 10) is not repeated here; see `training_restaurant.py`.
"""

import sys

import numpy as np

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


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for size in (100, 1000):
        for a, b in ((0.2, 0.2), (0.4, 0.0), (0.4, 0.4)):
            setting(size, a, b, runs)
