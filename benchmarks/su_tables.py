"""Tables 10, 11 and 12 of Su (2023), over many simulations, beside the printed values.

Run: python benchmarks/su_tables.py [SEEDS] [SAMPLING_SEEDS]     (20 and as many by default, two processes)

The paper shows one simulation for each table; a simulation here is drawn from the same setting, so a printed
number should lie inside the spread over seeds, not equal a mean. Errors are estimate minus ideal in Table 10,
ideal minus estimate (as printed) in Tables 11 and 12; "ideal" is the metric with the correct labels.

Table 10: error of each method's estimate, mean +- sd over seeds, and the printed error. `exact` is ours.
Table 11: 100 starting points on one simulation; mean, sd and largest error over the starts. Printed beside
    the median over seeds and the range of the middle 80 % of seeds.
Table 12: 100 operating points; likewise. The labels are the same at all points, which the printed errors, all
    to one side, suggest; "all redrawn" has other labelers and labels at every point.
Algorithm 1 is run with the paper's closed-form mean ("marsaglia") and with ours ("second order"); Algorithm 2
(5000 draws) takes nearly all of the time in Tables 11 and 12; SAMPLING_SEEDS is for it alone.

Measured: AMD EPYC, 4 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6, two processes, 20 seeds each, 8.2
minutes. "exact means" and the second-order ratios agree with "sampling" in every row and are left out here.
The printed numbers are one draw of what is simulated here: most lie in the middle 80 % of seeds. The mean
errors of Table 12 (p_D -.011, p_FA +.012) lie a little outside it, and far outside if labels are redrawn at
every point, which speaks for one label set at all points, an unlucky one.

    Table 10 (thousandths; columns accuracy, precision, recall, false alarms, F1; last: rmse over all)
      exact                     -2+-9  +1+-14  -10+-22  +1+-6  -1+-16  15
      Algorithm 1               -2+-9 [-12]  +0+-14 [-24]  -11+-22 [-15]  +1+-6 [+12]  -2+-16 [-20]  15
      Algorithm 1, second order -2+-9  +1+-14  -9+-22  +0+-6  -1+-16  15
      Algorithm 2               -2+-9 [-11]  +1+-14 [-24]  -9+-22 [-14]  +0+-6 [+11]  -1+-16 [-19]  15
      labels                    +19+-18 [+8]  +2+-21 [-19]  +84+-60 [+58]  -7+-10 [+0]  +18+-29 [-4]  50
   prior-marginal            -70+-15 [-66]  -67+-18 [-76]  -180+-35 [-146]  +41+-9 [+44]  -102+-23 [-98]  106
   labelers' mean            -74+-18 [-76]  +40+-23 [+10]  -228+-35 [-195]  +21+-24 [+38]  -39+-28 [-48]  114
     labelers' median          -73+-16 [-90]  +34+-18 [+0]  -220+-35 [-205]  +25+-11 [+38]  -35+-20 [-50]  109
    Table 11: printed | median over seeds (10 % to 90 % of seeds)
     ratios, marsaglia, 20 seeds
       p_D mean            0.0149 |  0.002144 (-0.03059 to 0.02559)
       p_D max abs         0.0153 |   0.02156 (0.008352 to 0.03835)
       p_FA mean          -0.0118 | -0.002877 (-0.01283 to 0.003262)
       p_FA max abs        0.0119 |  0.003397 (0.001538 to 0.0129)
       iterations mean        6.6 |     6.795 (5.754 to 9.805)
     labels, 20 seeds
       p_D mean           -0.0473 |   -0.0623 (-0.1647 to -0.02608)
       p_D max abs         0.0715 |    0.0623 (0.0283 to 0.1663)
       p_FA mean          -0.0015 |  0.004176 (-0.002001 to 0.01147)
       p_FA max abs        0.0033 |  0.005612 (0.0002494 to 0.0142)
       iterations mean        6.2 |     5.755 (4.364 to 7.448)
     sampling, 20 seeds
       p_D mean            0.0131 | 0.0008453 (-0.0328 to 0.02442)
       p_D max abs         0.0142 |   0.02311 (0.007975 to 0.04084)
       p_FA mean          -0.0092 | 0.0001198 (-0.009698 to 0.006447)
       p_FA max abs        0.0095 |  0.004112 (0.0005024 to 0.009952)
       iterations mean        6.6 |      6.94 (5.785 to 9.901)
    Table 12: printed | median over seeds (10 % to 90 % of seeds)
     ratios, marsaglia, 20 seeds
       p_D mean           -0.0113 |  0.002609 (-0.0081 to 0.01837)
       p_D max abs         0.0314 |   0.03975 (0.03015 to 0.05578)
       p_FA mean            0.012 | -0.001877 (-0.01812 to 0.00965)
       p_FA max abs        0.0442 |   0.04086 (0.03088 to 0.05965)
       iterations mean       10.9 |     11.04 (9.483 to 14.05)
     labels, 20 seeds
       p_D mean           -0.0141 |  0.005524 (-0.02733 to 0.03712)
       p_D max abs          0.359 |    0.3618 (0.2492 to 0.6014)
       p_FA mean            0.021 |  0.003551 (-0.03396 to 0.02146)
       p_FA max abs        0.3369 |    0.3803 (0.2627 to 0.5131)
       iterations mean       10.4 |     11.08 (9.087 to 11.63)
     sampling, 20 seeds
       p_D mean           -0.0114 |  0.002548 (-0.008017 to 0.01915)
       p_D max abs          0.031 |   0.03846 (0.02998 to 0.05511)
       p_FA mean           0.0122 | -0.001854 (-0.01878 to 0.009608)
       p_FA max abs        0.0381 |   0.04096 (0.02765 to 0.05708)
       iterations mean       11.2 |     11.33 (9.648 to 14.62)
    Table 12, all redrawn: printed | median over seeds (10 % to 90 % of seeds)
     ratios, marsaglia, 20 seeds
       p_D mean           -0.0113 | 0.0004836 (-0.001994 to 0.003546)
       p_D max abs         0.0314 |   0.06005 (0.05276 to 0.07694)
       p_FA mean            0.012 | -0.0007152 (-0.004332 to 0.00207)
       p_FA max abs        0.0442 |    0.0613 (0.05269 to 0.07153)
       iterations mean       10.9 |     11.59 (11.38 to 11.78)
     labels, 20 seeds
       p_D mean           -0.0141 |  0.005099 (-0.0096 to 0.01429)
       p_D max abs          0.359 |    0.5576 (0.4507 to 0.6206)
       p_FA mean            0.021 | -0.002072 (-0.01697 to 0.01464)
       p_FA max abs        0.3369 |    0.5291 (0.4536 to 0.6629)
       iterations mean       10.4 |     10.28 (10.07 to 10.6)
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import multiprocessing  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from functools import partial  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from jtruth import testing  # noqa: E402
from jtruth.simulation import simulate_difficulty_fallibility  # noqa: E402
from jtruth.tables.metrics import METRICS as ENTRIES  # noqa: E402
from jtruth.tables.metrics import binary_counts, shown  # noqa: E402

METRICS = {name: ENTRIES[name] for name in shown("01")}
recall, false_alarm_rate = ENTRIES["recall"], ENTRIES["false_alarm_rate"]
PROCESSES = 2
MAIN = {"positive": 0.2, "difficulty": (1, 5), "fallibility": (0, 0.4)}
WIDE = {"positive": 0.5, "difficulty": (1, 1), "fallibility": (0, 0.5)}
GRID = np.stack(np.meshgrid(np.arange(0.05, 1, 0.1), np.arange(0.05, 1, 0.1), indexing="ij"), -1).reshape(
    -1, 2
)
KINDS = ("ratios, marsaglia", "ratios, second order", "exact means", "labels", "sampling")
ROWS = [f"{rate} {what}" for rate in ("p_D", "p_FA") for what in ("mean", "sd", "max abs")]
ROWS += [f"iterations {what}" for what in ("mean", "sd", "max")]

# estimate: accuracy, precision, recall, false alarms, F1
TABLE_10 = {
    "ideal": (0.712, 0.421, 0.810, 0.316, 0.554),
    "Algorithm 1": (0.700, 0.397, 0.795, 0.328, 0.534),
    "Algorithm 2": (0.701, 0.397, 0.796, 0.327, 0.535),
    "labels": (0.720, 0.402, 0.868, 0.316, 0.550),
    "labelers' mean": (0.636, 0.431, 0.615, 0.354, 0.506),
    "labelers' median": (0.622, 0.421, 0.605, 0.354, 0.504),
    "prior-marginal": (0.646, 0.345, 0.664, 0.360, 0.456),
}
# columns ratios, sampling, labels; rows as ROWS
TABLE_11 = {
    "ratios": (0.0149, 3.20e-4, 0.0153, -0.0118, 6.34e-5, 0.0119, 6.6, 1.08, 8),
    "sampling": (0.0131, 4.15e-4, 0.0142, -0.0092, 8.56e-5, 0.0095, 6.6, 1.05, 8),
    "labels": (-0.0473, 1.61e-2, 0.0715, -0.0015, 1.49e-3, 0.0033, 6.2, 2.35, 10),
}
TABLE_12 = {
    "ratios": (-0.0113, 1.04e-2, 0.0314, 0.0120, 1.36e-2, 0.0442, 10.9, 3.15, 17),
    "sampling": (-0.0114, 9.56e-3, 0.0310, 0.0122, 1.14e-2, 0.0381, 11.2, 3.46, 18),
    "labels": (-0.0141, 1.95e-1, 0.3590, 0.0210, 2.03e-1, 0.3369, 10.4, 3.39, 21),
}


def draw(key, point, positive, difficulty, fallibility):
    """Log-odds, predictions, truth and noisy labels of a set of 1000 samples and 5 labelers."""
    prior = jnp.asarray([1 - positive, positive])
    data = simulate_difficulty_fallibility(
        key,
        num_samples=1000,
        num_labelers=5,
        prior=prior,
        confusion=jnp.stack([jnp.stack([1 - point[1], point[1]]), jnp.stack([1 - point[0], point[0]])]),
        difficulty=difficulty,
        fallibility=fallibility,
    )
    labels = data.to_labels()
    return testing.log_odds_of(data.noise.log_likelihood(labels), prior), data.y_pred, data.y, labels


def fit(kind, key, x, y_pred, start):
    """Final operating point and number of iterations of one algorithm."""
    step = {
        "ratios, marsaglia": lambda: testing.ratio_step(x, y_pred, mean="marsaglia"),
        "ratios, second order": lambda: testing.ratio_step(x, y_pred),
        "exact means": lambda: testing.exact_step(x, y_pred),
        "labels": lambda: testing.labels_step(x, y_pred),
        "sampling": lambda: testing.sampling_step(key, x, y_pred),
    }[kind]()
    found = testing.iterate(step, dtype=x.dtype, start=start)
    return jnp.stack([found.p_detection, found.p_false_alarm]), found.num_steps


def ideal_point(y_pred, y):
    """(p_D, p_FA) with the correct labels."""
    counts = [c.astype(jnp.float64) for c in binary_counts(y_pred, y)]
    return jnp.stack([recall(*counts), false_alarm_rate(*counts)])


@partial(jax.jit, static_argnames="kind")
def starts(key, kind):
    """Table 11: errors (100, 2) and iterations (100,) from 100 starting points on one simulation."""
    x, y_pred, y, _ = draw(key, jnp.asarray([0.8, 0.3]), **MAIN)
    keys = jax.random.split(jax.random.fold_in(key, 1), len(GRID))
    found, steps = jax.lax.map(lambda a: fit(kind, a[0], x, y_pred, a[1]), (keys, jnp.asarray(GRID)))
    return ideal_point(y_pred, y)[None, :] - found, steps


@partial(jax.jit, static_argnames=("kind", "redraw"))
def points(key, kind, redraw=False):
    """Table 12: errors and iterations at 100 operating points, from (1/2, 1/2).

    The same key for all points gives the same truth and noisy labels, and predictions that differ only as
    much as the operating points do; `redraw` makes everything anew at every point.
    """

    def one(point, key):
        x, y_pred, y, _ = draw(key, point, **WIDE)
        found, steps = fit(kind, jax.random.fold_in(key, 1), x, y_pred, (0.5, 0.5))
        return ideal_point(y_pred, y) - found, steps

    keys = jax.random.split(key, len(GRID))
    keys = keys if redraw else jnp.broadcast_to(keys[:1], keys.shape)
    return jax.lax.map(lambda a: one(*a), (jnp.asarray(GRID), keys))


def summary(errors, steps):
    """The nine numbers of Tables 11 and 12."""
    e, n = np.asarray(errors), np.asarray(steps)
    rates = [v for r in e.T for v in (r.mean(), r.std(ddof=1), np.abs(r).max())]
    return [*rates, n.mean(), n.std(ddof=1), n.max()]


def one_iterative(job):
    """Summary of Table 11 or 12 for one seed and kind."""
    table, kind, seed = job
    with jax.enable_x64(True):
        run = {"11": starts, "12": points, "12, all redrawn": partial(points, redraw=True)}[table]
        return summary(*run(jax.random.fold_in(jax.random.key(int(table[:2])), seed), kind))


def one_table_10(seed):
    """Estimates (methods, metrics) of one simulation, ideal first."""
    with jax.enable_x64(True):
        key = jax.random.key(10_000 + seed)
        x, y_pred, y, labels = jax.tree.map(
            np.asarray, jax.jit(partial(draw, **MAIN))(key, jnp.asarray([0.8, 0.3]))
        )
        ideal = [float(metric(*binary_counts(y_pred, y))) for metric in METRICS.values()]
        found = {"ideal": ideal}
        for name, options in (
            ("exact", {}),
            ("Algorithm 1", {"method": "empirical_bayes", "mean": "marsaglia"}),
            ("Algorithm 1, second order", {"method": "empirical_bayes"}),
            ("Algorithm 2", {"method": "sampling", "key": jax.random.fold_in(key, 2)}),
            ("labels", {"method": "labels"}),
            ("prior-marginal", {"method": "prior_marginal"}),
        ):
            posterior = testing.binary_posterior(x, y_pred, **options)
            found[name] = [posterior.estimate(metric).mean for metric in METRICS]
        each = testing.labeler_metrics(y_pred, labels)
        return found | {"labelers' mean": each.mean, "labelers' median": each.median}


def print_table_10(found):
    """Mean and sd of the errors beside the printed error."""
    print(f"Table 10, {len(found)} seeds: mean error +- sd [printed error]; rmse over metrics and seeds")
    print(" " * 26 + "".join(f"{metric:>24s}" for metric in METRICS))
    ideal = np.array([f["ideal"] for f in found])
    for method in [name for name in found[0] if name != "ideal"]:
        error = np.array([f[method] for f in found]) - ideal
        printed = [""] * 5
        if method in TABLE_10:
            printed = [f"[{a - b:+.3f}]" for a, b in zip(TABLE_10[method], TABLE_10["ideal"], strict=True)]
        cells = [
            f"{e.mean():+.4f}+-{e.std(ddof=1):.4f} {p:8s}" for e, p in zip(error.T, printed, strict=True)
        ]
        print(f"{method:26s}" + "".join(f"{c:>24s}" for c in cells) + f" {np.sqrt((error**2).mean()):.4f}")


def print_iterative(table, results):
    """Median and middle 80 % over seeds beside the printed numbers."""
    printed = {"11": TABLE_11, "12": TABLE_12}[table[:2]]
    print(f"Table {table}: printed | median over seeds (10 % to 90 % of seeds)")
    for kind, rows in results.items():
        rows, paper = np.array(rows), printed.get(kind.split(",")[0], [np.nan] * 9)
        print(f" {kind}, {len(rows)} seeds")
        for name, value, column in zip(ROWS, paper, rows.T, strict=True):
            low, middle, high = np.quantile(column, (0.1, 0.5, 0.9))
            print(f"   {name:16s} {value:9.4g} | {middle:9.4g} ({low:.4g} to {high:.4g})")


def main():
    """All three tables."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    sampling_seeds = int(sys.argv[2]) if len(sys.argv) > 2 else seeds
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        print_table_10(pool.map(one_table_10, range(seeds), chunksize=-(-seeds // PROCESSES)))
        for table in ("11", "12", "12, all redrawn"):
            results = {}
            for kind in KINDS:
                number = sampling_seeds if kind == "sampling" else seeds
                if kind == "sampling" and table == "12, all redrawn":
                    continue
                jobs = [(table, kind, seed) for seed in range(number)]
                results[kind] = pool.map(one_iterative, jobs, chunksize=-(-number // PROCESSES))
            print_iterative(table, results)
            sys.stdout.flush()
    print(f"{(time.perf_counter() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
