"""Coverage of intervals on simulated sets: exact posterior and Algorithm 1.

Run: python -m benchmarks coverage [SETS]     (4000 sets per setting by default, two processes)
Target: these samples ("in-sample"), as in the paper.

Settings (Su 5.2):
  main    5.2.1: N = 1000, T = 5, pi(1) = .2, (p_D, p_FA) = (.8, .3), delta ~ Beta(1, 5), phi ~ U(0, .4)
  small   5.2.6: N = 70, T = 3, pi(1) = .5, (.85, .2), delta ~ Beta(1, 2), phi ~ U(.2, .5)
  single  5.2.5: N = 1000, T = 1, pi(1) = .6, (.9, .1), eps = .1 for every label
and each with the operating point drawn uniformly on the unit square ("uniform") instead of fixed.
The noise model and the prior are known; phi, eta, delta are drawn anew in every set.

Two checks of the exact posterior.
1. Randomised rank. u = P(M < truth | data) + v P(M = truth | data), v uniform, is uniform if the posterior is
   right and the operating point is drawn from its prior. Central intervals of u then cover exactly the level:
   this is the test against nominal, unaffected by discreteness.
2. Shortest intervals of a discrete posterior contain the level or more; `attained` is their mean probability,
   the reference for their coverage.
With "uniform" both are exact, within Monte Carlo error. At a fixed operating point coverage
is a frequency over labels only; Bayesian intervals need not match, but should be close.

Measured: AMD EPYC, 4 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6, two processes; 2000 sets a setting, 1.2
minutes. Columns: accuracy, precision, recall, false alarms, F1; +- is the Monte Carlo standard error.
"largest" is over 50, 80 and 95 %. With the operating point drawn from its prior the largest of 15 distances
from nominal is about 2 standard errors, which is what the largest of 15 should be. At the fixed point of
`small` (N = 70) coverage over labels alone is 1 to 3 points more than nominal (up to 4.2 standard errors):
a Bayesian interval promises coverage on average over the prior, not at every point.

    main: 2000 sets; Algorithm 1 converged in 100.0 %
      95 exact, by rank               94.5+-0.5    94.5+-0.5    94.9+-0.5    94.5+-0.5    94.4+-0.5
      95 exact, shortest              94.5+-0.5    95.0+-0.5    94.6+-0.5    94.5+-0.5    94.5+-0.5
      95 attained (mean)             95.3    95.5    95.0    95.0    95.0
      95 Algorithm 1                  85.9+-0.8    91.7+-0.6    85.0+-0.8    88.5+-0.7    89.5+-0.7
      largest of 15 distances: rank from nominal 1.2 se, shortest from attained 1.6 se
      rmse exact                    0.0096  0.0159  0.0254  0.0065  0.0176
      rmse Algorithm 1              0.0096  0.0159  0.0255  0.0065  0.0176
    small: 2000 sets; Algorithm 1 converged in 96.6 %
      95 exact, by rank               96.2+-0.4    96.9+-0.4    95.9+-0.4    97.0+-0.4    96.5+-0.4
      95 exact, shortest              96.2+-0.4    97.2+-0.4    95.5+-0.5    96.0+-0.4    96.4+-0.4
      95 attained (mean)             95.6    96.0    95.1    95.1    95.1
      95 Algorithm 1                  63.1+-1.1    71.8+-1.0    62.5+-1.1    66.6+-1.1    63.9+-1.1
      largest of 15 distances: rank from nominal 4.2 se, shortest from attained 3.2 se
      rmse exact                    0.0769  0.0869  0.0812  0.0829  0.0760
      rmse Algorithm 1              0.0826  0.0956  0.0855  0.0887  0.0821
    single: 2000 sets; Algorithm 1 converged in 100.0 %
      95 exact, by rank               95.8+-0.5    95.5+-0.5    95.1+-0.5    95.5+-0.5    95.7+-0.5
      95 exact, shortest              95.8+-0.4    95.7+-0.5    95.2+-0.5    95.5+-0.5    95.6+-0.5
      95 attained (mean)             95.3    95.4    95.0    95.0    95.0
      95 Algorithm 1                  78.5+-0.9    79.3+-0.9    85.2+-0.8    77.8+-0.9    78.5+-0.9
      largest of 15 distances: rank from nominal 1.7 se, shortest from attained 1.7 se
      rmse exact                    0.0116  0.0136  0.0108  0.0182  0.0099
      rmse Algorithm 1              0.0115  0.0134  0.0108  0.0180  0.0099
    main, uniform: 2000 sets; Algorithm 1 converged in 100.0 %
      95 exact, by rank               94.8+-0.5    95.0+-0.5    95.3+-0.5    95.2+-0.5    95.0+-0.5
      95 exact, shortest              95.3+-0.5    95.6+-0.5    95.5+-0.5    95.2+-0.5    95.0+-0.5
      95 attained (mean)             95.3    95.6    95.0    95.0    95.0
      95 Algorithm 1                  88.1+-0.7    89.3+-0.7    85.4+-0.8    89.8+-0.7    88.3+-0.7
      largest of 15 distances: rank from nominal 2.0 se, shortest from attained 1.9 se
      rmse exact                    0.0092  0.0163  0.0225  0.0055  0.0161
      rmse Algorithm 1              0.0092  0.0164  0.0225  0.0055  0.0161
    small, uniform: 2000 sets; Algorithm 1 converged in 98.8 %
      95 exact, by rank               95.5+-0.5    95.4+-0.5    96.0+-0.4    95.0+-0.5    95.7+-0.5
      95 exact, shortest              96.0+-0.4    96.3+-0.4    95.2+-0.5    95.4+-0.5    95.2+-0.5
      95 attained (mean)             95.6    96.0    95.1    95.1    95.1
      95 Algorithm 1                  73.2+-1.0    78.1+-0.9    68.5+-1.0    68.2+-1.0    74.1+-1.0
      largest of 15 distances: rank from nominal 2.2 se, shortest from attained 2.2 se
      rmse exact                    0.0772  0.1091  0.0769  0.0769  0.0812
      rmse Algorithm 1              0.0809  0.1143  0.0804  0.0805  0.0843
    single, uniform: 2000 sets; Algorithm 1 converged in 100.0 %
      95 exact, by rank               94.9+-0.5    96.0+-0.4    95.4+-0.5    95.3+-0.5    95.2+-0.5
      95 exact, shortest              95.1+-0.5    96.2+-0.4    95.4+-0.5    95.2+-0.5    95.3+-0.5
      95 attained (mean)             95.3    95.4    95.0    95.0    95.0
      95 Algorithm 1                  87.2+-0.7    88.6+-0.7    85.7+-0.8    84.8+-0.8    87.5+-0.7
      largest of 15 distances: rank from nominal 2.2 se, shortest from attained 1.8 se
      rmse exact                    0.0113  0.0176  0.0092  0.0144  0.0109
      rmse Algorithm 1              0.0113  0.0177  0.0092  0.0144  0.0109
"""

import multiprocessing
import sys
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jtruth import testing
from jtruth.simulation import simulate_difficulty_fallibility
from jtruth.stats.estimates import PmfEstimate
from jtruth.tables.metrics import METRICS as ENTRIES
from jtruth.tables.metrics import binary_counts, default_metrics

METRICS = {name: ENTRIES[name] for name in default_metrics("01")}
LEVELS = (0.5, 0.8, 0.95)
PROCESSES = 2


class Setting(NamedTuple):
    """What a set is drawn from."""

    num_samples: int
    num_labelers: int
    positive: float
    point: tuple[float, float] | None  # (p_D, p_FA); None: uniform on the unit square
    options: dict[str, Any]


MAIN = Setting(1000, 5, 0.2, (0.8, 0.3), {})
SMALL = Setting(70, 3, 0.5, (0.85, 0.2), {"difficulty": (1, 2), "fallibility": (0.2, 0.5)})
# Difficulties of about 1e-12 stand for 0.
EASY = {"difficulty": (1, 1e12), "fallibility": (0.2, 0.2), "participation": (1, 1)}
SINGLE = Setting(1000, 1, 0.6, (0.9, 0.1), EASY)
SETTINGS = {"main": MAIN, "small": SMALL, "single": SINGLE}
SETTINGS |= {f"{name}, uniform": setting._replace(point=None) for name, setting in SETTINGS.items()}


@partial(jax.jit, static_argnames="name")
def draw_set(key, name):
    """Log-odds, predictions, truth, and what Algorithm 1 ends with: moments and whether it converged."""
    setting = SETTINGS[name]
    key_point, key_data = jax.random.split(key)
    point = jnp.asarray(setting.point) if setting.point else jax.random.uniform(key_point, (2,))
    prior = jnp.asarray([1 - setting.positive, setting.positive])
    data = simulate_difficulty_fallibility(
        key_data,
        num_samples=setting.num_samples,
        num_labelers=setting.num_labelers,
        prior=prior,
        confusion=jnp.stack([jnp.stack([1 - point[1], point[1]]), jnp.stack([1 - point[0], point[0]])]),
        **setting.options,
    )
    x = testing.log_odds_of(data.noise.log_likelihood(data.to_labels()), prior)
    fit = testing.iterate(testing.ratio_step(x, data.y_pred), dtype=x.dtype)
    end = testing.moments(x, data.y_pred, jnp.stack([fit.p_detection, fit.p_false_alarm]))
    return x, data.y_pred, data.y, end, fit.converged


def mass_of_denser(dist, truth):
    """Probability of the values with a higher density than the truth: less than the level of its region."""
    if isinstance(dist, PmfEstimate):  # a point
        return 0.0 if abs(dist.mean - truth) < 1e-12 else 1.0
    height = float(dist.density(truth))
    return float(dist.pdf[dist.pdf > height].sum() / dist.pdf.sum()) if height > 0 else 1.0


def one_set(name, number):
    """For every metric: rank of the truth; per level covered and attained; Algorithm 1 covered; errors."""
    key = jax.random.fold_in(jax.random.key(list(SETTINGS).index(name)), number)
    x, y_pred, y, end, converged = jax.tree.map(np.asarray, draw_set(key, name))
    table = testing.exact_posterior(testing.collapse(x, y_pred))
    coin = np.random.default_rng(number).random(len(METRICS))
    rows = []
    for v, (metric, function) in zip(coin, METRICS.items(), strict=True):
        truth = float(function(*binary_counts(y_pred, y)))
        dist, normal = table.estimate(metric), testing.normal_posterior(end, metric)
        if np.isnan(truth):
            rows.append([np.nan] * (4 + 3 * len(LEVELS)))
            continue
        below = dist.pmf[dist.values < truth - 1e-12].sum()
        equal = dist.pmf[np.abs(dist.values - truth) <= 1e-12].sum()
        denser = mass_of_denser(normal, truth)
        row = [below + v * equal, dist.mean - truth, normal.mean - truth, float(converged)]
        for level in LEVELS:
            interval = dist.interval(level)
            row += [
                interval.low - 1e-12 <= truth <= interval.high + 1e-12,
                interval.mass,
                denser < level,
            ]
        rows.append(row)
    return np.array(rows, float)


def many_sets(job):
    """Results of a share of the sets, (sets, metrics, numbers)."""
    name, numbers = job
    with jax.enable_x64(True):
        return np.array([one_set(name, i) for i in numbers])


def percent(values):
    """Mean in percent with its standard error."""
    values = values[~np.isnan(values)]
    return f"{100 * values.mean():5.1f}+-{100 * values.std() / np.sqrt(values.size):.1f}"


def report(name, found):
    """Print the table of one setting."""
    print(f"{name}: {len(found)} sets; Algorithm 1 converged in {100 * np.nanmean(found[:, :, 3]):.1f} %")
    print("  level %         metric " + "".join(f"{metric:>18s}" for metric in METRICS))
    worst = away = 0.0
    for k, level in enumerate(LEVELS):
        inside = np.abs(found[:, :, 0] - 0.5) < level / 2
        inside = np.where(np.isnan(found[:, :, 0]), np.nan, inside)
        error = np.sqrt(level * (1 - level) / np.sum(~np.isnan(inside), axis=0))
        worst = max(worst, np.abs((np.nanmean(inside, axis=0) - level) / error).max())
        for text, values in (
            ("exact, by rank", inside),
            ("exact, shortest", found[:, :, 4 + 3 * k]),
            ("  attained", found[:, :, 5 + 3 * k]),
            ("Algorithm 1", found[:, :, 6 + 3 * k]),
        ):
            print(f"  {100 * level:2.0f} {text:19s} " + "".join(f"{percent(c):>18s}" for c in values.T))
        gap = found[:, :, 4 + 3 * k] - found[:, :, 5 + 3 * k]
        attained = np.nanmean(found[:, :, 5 + 3 * k], axis=0)
        z = np.nanmean(gap, axis=0) / np.sqrt(attained * (1 - attained) / np.sum(~np.isnan(gap), axis=0))
        away = max(away, np.abs(z).max())
        print("     (shortest-attained)/se " + "".join(f"{v:>+18.1f}" for v in z))
    print(f"  largest of {len(LEVELS) * len(METRICS)} distances: rank from nominal {worst:.1f} se, ", end="")
    print(f"shortest from attained {away:.1f} se")
    for text, column in (("exact", 1), ("Algorithm 1", 2)):
        rmse = np.sqrt(np.nanmean(found[:, :, column] ** 2, axis=0))
        print(f"  rmse {text:17s} " + "".join(f"{v:18.4f}" for v in rmse), flush=True)


def main():
    """All settings."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for name in SETTINGS:
            jobs = [(name, range(i, min(i + 50, sets))) for i in range(0, sets, 50)]
            report(name, np.concatenate(pool.map(many_sets, jobs, chunksize=1)))
    print(f"{(time.perf_counter() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
