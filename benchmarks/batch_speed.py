"""Sets a second of `evaluate_batch` against the same sets one by one: 500 samples, 5 labelers, two classes.

Run: python benchmarks/batch_speed.py [number of sets [methods]]
One process, one thread, CPU seconds after a warm-up; of "joint" also effective draws of the worst metric
(batch) or the accuracy (one by one) a second, since the batch makes a fixed number of sweeps and `fit_joint`
goes on until it has 400 of every quantity. First all labels are there, then 40 % are missing.

Measured: AMD EPYC, 2 quiet cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6, 64 sets (joint: 512):

    missing 0% bayes              1378.6 sets/s, one by one   351.6, ratio   3.9, not ok 0
    missing 0% empirical_bayes    1669.1 sets/s, one by one   348.2, ratio   4.8, not ok 0
    missing 0% em                  891.2 sets/s, one by one   298.1, ratio   3.0, not ok 0
    missing 0% joint               259.7 sets/s, one by one    11.1, ratio  23.4, not ok 0
        effective draws/s 42438 and 40502
    missing 40% bayes             1748.3 sets/s, one by one   266.7, ratio   6.6, not ok 0
    missing 40% empirical_bayes   1643.7 sets/s, one by one   256.3, ratio   6.4, not ok 0
    missing 40% em                 910.6 sets/s, one by one   190.6, ratio   4.8, not ok 0
    missing 40% joint              117.8 sets/s, one by one     6.3, ratio  18.8, not ok 0
        effective draws/s 19244 and 15492

"joint" by weighted draws about the mode (`jtruth/learning/joint/weighted_batch.py`), with chains for sets
that are no hill (here 6 % of those with missing labels); by chains alone it was 20.7 and 19.3 sets/s, 1.7 and
2.4 times. A set has some 160 effective draws then and one of `fit_joint` thousands: for an effective draw
both cost the same. That is what ten times as many sets are paid with; 64 sets with missing labels, fewer than
compiling is worth, have 11.0.
Its law: ranks of accuracy, precision, recall and class count of the truth among the draws, labels drawn from
the prior, sets that are a hill: N = 100, 4 labelers (28 % of 10 000 sets, twice), N = 60, 5 (33 % of 6000),
N = 300, 5 and 30 % missing (39 % of 6000), N = 400, 10 and 30 % missing (77 % of 3000): smallest of 20
p-values .019; 95 % intervals hold .93 to .97 (+- .005).

`jtruth.planning` analyses its simulated sets one by one all the same. Per set at N = 300, 1000, 3000, for
the one metric and target that were asked for: one by one 2.6, 1.9, 2.5 ms, `exact_batch` (all five metrics,
the same widths) 1.2, 1.8, 5.0 ms after 8 to 11 s of compiling for each size, where a plan has 200 sets. With
error rates to learn it takes 16 sets by `fit_joint`, whose prior is learned where labels are few; this one's
is not. Checks by parametric bootstrap draw and fit all their sets at once already (NumPy, `checks.sets`).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402

import jtruth as jt  # noqa: E402
from jtruth.learning import (  # noqa: E402
    Beliefs,
    fit_dawid_skene,
    fit_joint,
)
from jtruth.stats.chains import effective_sample_size  # noqa: E402
from jtruth.tables.metrics import shown  # noqa: E402
from jtruth.testing import binary_posterior  # noqa: E402

PRIOR, SAMPLES, LABELERS = np.array([0.7, 0.3]), 500, 5
NOISE = np.array([[[1 - e, e], [e, 1 - e]] for e in (0.1, 0.15, 0.2, 0.3, 0.35)])


def draw(sets, missing):
    """Predictions (sets, samples) and labels (sets, samples, labelers)."""
    rng = np.random.default_rng(0)
    y = (rng.random((sets, SAMPLES)) < PRIOR[1]).astype(int)
    y_pred = np.where(rng.random(y.shape) < 0.2, 1 - y, y)
    z = np.where(rng.random((*y.shape, LABELERS)) < NOISE[:, 0, 1], 1 - y[..., None], y[..., None])
    z = np.where(rng.random(z.shape) < missing, -1, z)
    z[..., 0] = np.where((z < 0).all(axis=-1), y_pred, z[..., 0])
    return y_pred, z


def one_by_one(method, y_pred, z, seed):
    """What `evaluate` would do for one set, without checks and texts; effective draws of the accuracy."""
    labels = jt.Labels.from_matrix(z, 2)
    if method == "joint":
        fit = fit_joint(labels, y_pred=y_pred, key=seed, beliefs=Beliefs(diagonal=2, off_diagonal_total=1))
        counts = fit.tables("in-sample")
        draws = np.trace(counts, axis1=1, axis2=2).reshape(int(fit.chain.max()) + 1, -1)
        return float(effective_sample_size(draws))
    if method == "em":
        fit = fit_dawid_skene(jt.Labels.from_matrix(np.column_stack([z, y_pred]), 2))
        noise, prior = jt.noise.ConfusionMatrices(fit.matrices[:-1]), fit.prior
        log_lik = np.asarray(noise.log_likelihood(labels))
    else:
        log_lik, prior = np.asarray(jt.noise.ConfusionMatrices(NOISE).log_likelihood(labels)), PRIOR
    x = np.log(prior[1] / prior[0]) + log_lik[:, 1] - log_lik[:, 0]
    way = {"bayes": "bayes", "em": "no_predictions", "empirical_bayes": "exact_means"}[method]
    table = binary_posterior(x, y_pred, method=way).table
    _ = [(law.mean, law.sd, law.interval(0.95)) for law in map(table.estimate, shown("01"))]
    return np.inf


def seconds(run):
    """CPU seconds and result of a second call."""
    run()
    begin = time.process_time()
    found = run()
    return time.process_time() - begin, found


def main():
    """Print the table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print(f"python {platform.python_version()}, jax {jax.__version__}, numpy {np.__version__}, {sets} sets")
    for missing in (0.0, 0.4):
        y_pred, z = draw(sets, missing)
        for method in sys.argv[2:] or ("bayes", "empirical_bayes", "em", "joint"):
            known = {"noise": NOISE, "prior": PRIOR} if method in ("bayes", "empirical_bayes") else {}
            batch, found = seconds(lambda: jt.evaluate_batch(y_pred, z, method=method, **known))  # noqa: B023
            few = min(sets, 8)
            alone, ess = seconds(
                lambda: [one_by_one(method, y_pred[s], z[s], s) for s in range(few)]  # noqa: B023
            )
            line = f"    missing {missing:.0%} {method:16} {sets / batch:8.1f} sets/s, "
            line += f"one by one {few / alone:7.1f}"
            line += f", ratio {(sets / batch) / (few / alone):5.1f}, not ok {int((~found.ok).sum())}"
            if method == "joint":
                line += f"; effective draws/s {found.ess.sum() / batch:.0f} and {sum(ess) / alone:.0f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
