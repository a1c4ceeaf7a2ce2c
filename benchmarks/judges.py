"""Three LLM judges and a few gold answers: coverage and width of intervals of the true pass rate.

Run: python benchmarks/judges.py [sets per setting, 200] [processes, 2]
A thousand answers, a pass rate drawn from U(.4, .9), three judges: a lenient one (passes .95 of the good, .30
of the bad), a strict one (.75, .05) and a noisy one (.85, .20). They err independently given the truth; or
share mistakes (for 4 answers in 10 all three use one random number, so the less accurate ones err too);
or the third repeats the first in 9 of 10 answers. Gold: a random sample of the answers. Target: the pass rate
of these thousand. Nominal 95 % intervals; each cell is coverage in per cent / mean width.

    mean of judges     pass rate of all judgements, binomial interval of the answers
    gold only          t interval of the gold, finite-population correction
    Rogan-Gladen       majority vote corrected by sensitivity and specificity from the gold, delta method
    ppi-python         PPI++ as published (z interval), fed with votes or h; only if `ppi-python` is installed
    PPI++ votes        jtruth.stats.ppi fed with the votes (t, in-sample, half an answer of surprise)
    PPI++ h            the same fed with h, the joint posterior of the labels alone
    jtruth             `prevalence(labels, gold=...)`: post-stratification; without gold the joint posterior
    jtruth indep.      `prevalence(..., assume="independent")`: the joint posterior with gold clamped

Monte Carlo error of a coverage of 95 % from 200 sets: 1.5, from 300: 1.3.

AMD EPYC, 1 process, 300 sets: Python 3.11.7, numpy 2.4.6, jax 0.10.2, ppi-python 0.2.3; 15 minutes

    independent             0 gold     10 gold     30 gold    100 gold    300 gold
    mean of judges     34.0 / 0.059 34.0 / 0.059 34.0 / 0.059 34.0 / 0.059 34.0 / 0.059
    gold only                    - 94.0 / 0.557 92.7 / 0.328 94.7 / 0.169 95.7 / 0.085
    Rogan-Gladen                 - 100.0 / 1.037 100.0 / 0.280 99.7 / 0.137 99.7 / 0.092
    ppi-python votes             - 84.7 / 0.278 90.3 / 0.179 97.3 / 0.108 99.3 / 0.073
    ppi-python h                 - 85.3 / 0.230 91.0 / 0.156 97.7 / 0.098 99.7 / 0.069
    PPI++ votes                  - 96.3 / 0.418 94.3 / 0.203 95.7 / 0.098 95.7 / 0.048
    PPI++ h                      - 95.0 / 0.387 97.3 / 0.181 95.7 / 0.086 94.7 / 0.043
    jtruth             100.0 / 0.534 100.0 / 0.336 96.0 / 0.178 94.0 / 0.091 92.0 / 0.045
    jtruth indep.                - 94.7 / 0.065 94.3 / 0.061 97.0 / 0.051 94.3 / 0.035

    shared mistakes         0 gold     10 gold     30 gold    100 gold    300 gold
    mean of judges     37.0 / 0.059 37.0 / 0.059 37.0 / 0.059 37.0 / 0.059 37.0 / 0.059
    gold only                    - 93.0 / 0.564 95.7 / 0.336 95.7 / 0.171 97.0 / 0.086
    Rogan-Gladen                 - 100.0 / 1.094 100.0 / 0.375 98.7 / 0.182 100.0 / 0.117
    ppi-python votes             - 83.3 / 0.300 94.3 / 0.203 94.3 / 0.118 100.0 / 0.077
    ppi-python h                 - 83.7 / 0.278 95.7 / 0.199 96.3 / 0.117 99.7 / 0.077
    PPI++ votes                  - 95.7 / 0.443 98.3 / 0.227 93.0 / 0.109 95.3 / 0.054
    PPI++ h                      - 96.0 / 0.436 98.3 / 0.225 95.3 / 0.109 96.0 / 0.054
    jtruth             100.0 / 0.546 100.0 / 0.344 93.0 / 0.204 96.0 / 0.109 96.0 / 0.055
    jtruth indep.                - 43.0 / 0.038 40.7 / 0.037 47.0 / 0.033 52.0 / 0.027

    one copies another      0 gold     10 gold     30 gold    100 gold    300 gold
    mean of judges     39.3 / 0.058 39.3 / 0.058 39.3 / 0.058 39.3 / 0.058 39.3 / 0.058
    gold only                    - 96.0 / 0.584 95.3 / 0.342 95.3 / 0.173 95.3 / 0.087
    Rogan-Gladen                 - 98.7 / 2.77 99.7 / 0.481 98.0 / 0.218 99.3 / 0.138
    ppi-python votes             - 88.3 / 0.315 91.7 / 0.202 95.0 / 0.119 99.3 / 0.078
    ppi-python h                 - 80.7 / 0.337 91.3 / 0.226 95.0 / 0.133 98.3 / 0.084
    PPI++ votes                  - 97.3 / 0.459 95.7 / 0.226 92.7 / 0.110 96.7 / 0.055
    PPI++ h                      - 98.0 / 0.500 94.7 / 0.252 94.3 / 0.126 94.7 / 0.063
    jtruth             100.0 / 0.509 99.0 / 0.358 95.0 / 0.217 92.0 / 0.118 94.0 / 0.061
    jtruth indep.                - 5.0 / 0.013 3.7 / 0.012 5.0 / 0.010 9.3 / 0.012

    one judge, no gold: Not identified: these labels do not determine the share of any class.

Rows "jtruth": 100 sets (error 2.2), another machine. With 30 gold answers. Independent judges and
assume="independent": 94.3 % at .061, which is .39 of ppi-python's width from the same h. Copying judges,
default rule: 95 % at .217, which is .96 of ppi-python's width with h, and .96 and .86 of PPI++ with votes and
h. A recalibration of h stood here before post-stratification. It was narrower on these sets (.153, .184,
.190), on which its settings were chosen. On public sets both covered as much at nearly the same width
(`prevalence`, people, 30 gold: .986 at .148 and .986 at .166), and only post-stratification knows how gold
was chosen.
ppi-python's target is the population, so it stays wide when gold is a large part of the sample. In 4 sets of
copying judges with 10 gold Rogan-Gladen divides by 0; they count as not covered.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import importlib.util  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from multiprocessing import get_context  # noqa: E402
from pathlib import Path  # noqa: E402

# The coverage.py beside this file hides the package of that name, which a dependency of ppi-python wants.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

import jax  # noqa: E402
import numpy as np  # noqa: E402
from scipy.stats import norm  # noqa: E402

from jtruth.evaluation.gold.shares import prevalence  # noqa: E402
from jtruth.labels import Labels  # noqa: E402
from jtruth.learning.joint.posterior import fit_joint  # noqa: E402
from jtruth.stats.ppi import gold_sample, ppi_mean  # noqa: E402

SIZE = 1000
GOLD = (0, 10, 30, 100, 300)
PASSES_GOOD = np.array([0.95, 0.75, 0.85])
PASSES_BAD = np.array([0.30, 0.05, 0.20])
KINDS = ("independent", "shared mistakes", "one copies another")
HAS_PPI = importlib.util.find_spec("ppi_py") is not None
METHODS = (
    "mean of judges",
    "gold only",
    "Rogan-Gladen",
    "ppi-python votes",
    "ppi-python h",
    "PPI++ votes",
    "PPI++ h",
    "jtruth",
    "jtruth indep.",
)


def simulate(rng, kind, size=SIZE, pass_rate=None):
    """True classes (1: passes) and judgements (answers, judges)."""
    y = (rng.random(size) < (rng.uniform(0.4, 0.9) if pass_rate is None else pass_rate)).astype(int)
    u = rng.random((size, 3))
    if kind == "shared mistakes":
        u = np.where(rng.random((size, 1)) < 0.4, u[:, :1], u)
    right = np.where(y[:, None] == 1, PASSES_GOOD, 1 - PASSES_BAD)
    z = np.where(u < right, y[:, None], 1 - y[:, None])
    if kind == "one copies another":
        z[:, 2] = np.where(rng.random(size) < 0.9, z[:, 0], z[:, 2])
    return y, z


def rogan_gladen(voted, gold):
    """(rate + specificity - 1)/(sensitivity + specificity - 1) with all three estimated; delta method."""
    some = gold >= 0
    table = np.array([[((gold == c) & (voted == k) & some).sum() + 0.5 for k in (0, 1)] for c in (0, 1)])
    size = table.sum(axis=1)
    specificity, sensitivity = table[0, 0] / size[0], table[1, 1] / size[1]
    rate, slope = voted.mean(), sensitivity + specificity - 1
    value = (rate + specificity - 1) / slope
    variance = (
        rate * (1 - rate) / voted.size
        + (1 - value) ** 2 * specificity * (1 - specificity) / size[0]
        + value**2 * sensitivity * (1 - sensitivity) / size[1]
    ) / slope**2
    return value - 1.96 * np.sqrt(variance), value + 1.96 * np.sqrt(variance)


def binomial(rate, size):
    """Normal interval of a share."""
    half = norm.isf(0.025) * np.sqrt(rate * (1 - rate) / size)
    return rate - half, rate + half


def intervals(z, gold, h, seed):
    """95 % interval of every method that can give one."""
    labels, key, votes = Labels.from_matrix(z, 2), jax.random.key(seed), z.mean(axis=1)
    found = {"mean of judges": binomial(z.mean(), len(z))}
    some = gold >= 0
    if some.any():
        sample, truth = gold_sample(some), gold[some] * 1.0
        found["gold only"] = ppi_mean(truth, votes, sample, power=0.0).dist.interval(0.95)
        found["Rogan-Gladen"] = rogan_gladen((votes > 0.5).astype(int), gold)
        found["PPI++ votes"] = ppi_mean(truth, votes, sample).dist.interval(0.95)
        found["PPI++ h"] = ppi_mean(truth, h, sample).dist.interval(0.95)
        if HAS_PPI:
            import ppi_py

            for source, f in (("votes", votes), ("h", h)):
                low, high = ppi_py.ppi_mean_ci(truth, f[some], f[~some], alpha=0.05)
                found[f"ppi-python {source}"] = (low[0], high[0])
        found["jtruth indep."] = (
            prevalence(labels, gold=gold, assume="independent", key=key, target="in-sample")
            .shares["1"]
            .interval(0.95)
        )
    found["jtruth"] = prevalence(labels, gold=gold, key=key, target="in-sample").shares["1"].interval(0.95)
    return found


def one_set(job):
    """(gold counts, methods, [covered, width]) of one simulated set."""
    kind, seed = job
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    y, z = simulate(rng, kind)
    h = fit_joint(Labels.from_matrix(z, 2), key=jax.random.key(seed)).class_posterior[:, 1]
    order, truth = rng.permutation(SIZE), y.mean()
    rows = np.full((len(GOLD), len(METHODS), 2), np.nan)
    for i, number in enumerate(GOLD):
        gold = np.full(SIZE, -1)
        gold[order[:number]] = y[order[:number]]
        for name, (low, high) in intervals(z, gold, h, seed).items():
            covered = low - 1e-9 <= truth <= high + 1e-9
            rows[i, METHODS.index(name)] = covered, high - low
    return rows


def _mean_defined(widths):
    """Mean over the sets where there is a width (Rogan-Gladen may divide by 0), NaN where there is none."""
    return np.ma.masked_invalid(widths).mean(axis=0).filled(np.nan)


def main(sets=200, processes=2):
    """Print one table for each kind of judges."""
    machine, python = platform.processor() or platform.machine(), platform.python_version()
    print(f"{machine}, {processes} processes, Python {python}, numpy {np.__version__}, {sets} sets")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for kind in KINDS:
            rows = np.array(list(pool.map(one_set, [(kind, seed) for seed in range(sets)], chunksize=5)))
            print(f"\n{kind:<18} " + " ".join(f"{f'{n} gold':>11}" for n in GOLD))
            for m, name in enumerate(METHODS):
                covered, width = rows[:, :, m, 0].mean(axis=0), _mean_defined(rows[:, :, m, 1])
                pairs = zip(covered, width, strict=True)
                cells = ["-" if np.isnan(c) else f"{100 * c:.1f} / {w:.3f}" for c, w in pairs]
                print(f"{name:<18} " + " ".join(f"{c:>11}" for c in cells), flush=True)
    single = prevalence(Labels.from_matrix(simulate(np.random.default_rng(0), KINDS[0])[1][:, :1], 2),
                        key=jax.random.key(0))  # fmt: skip
    print("\none judge, no gold:", str(single).splitlines()[0])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
