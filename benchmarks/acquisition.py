"""Labels bought until the class is known (`jtruth.asking.acquire`) against 3 and 5 labels for every sample.

Run: python benchmarks/acquisition.py            (bluebirds: ../shared/data/bluebirds)
Simulated: 300 samples, 20 labelers, 2 classes, 50 sets; accuracies Beta around .75 (`alike`), or the same
with a third of the samples hard, on which everybody is right with .6 (`hard`). Bluebirds: every labeler of
the set labelled every sample, so any order can be replayed; 20 orders. Everybody is fitted by the same EM
with the same prior; labelers come by chance (`any`) or by expected gain (`gain`). "Equal error": labels a
sample at which the sequential rule, interpolated over its limits, has the error of the fixed number.

Measured on 2 shared cores, jax 0.10.2: error of the decision with its Monte Carlo error, labels a sample,
and the risk that the model says.

               3 fixed       5 fixed       risk .1, any           risk .05, any          equal error to 5
               fixed
    alike      .146 +- .005  .086 +- .004  .049 +- .002 4.1 .037  .029 +- .002 5.1 .022  3.2 any, 3.1 gain
    hard       .231 +- .005  .172 +- .004  .118 +- .003 5.5 .052  .107 +- .003 7.0 .047  3.6 any, 3.2 gain
    bluebirds  .395 +- .013  .276 +- .009  .344 +- .022 3.4 .037  .212 +- .015 6.6 .032  5.0 any, 8.9 gain

The error of 3 fixed was met with fewer labels than the loosest limit gives: 2.3 (alike) and 2.6 (hard) a
sample at most. On bluebirds nothing is saved and the risk is far too low, since its labelers are wrong
together; "gain" does harm there, because it goes on asking the labelers whom the model believes.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from jtruth.asking import Limits, acquire

RISKS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)


def simulate(rng, hard, size=300, labelers=20):
    y = rng.integers(0, 2, size)
    skill = rng.beta(9, 3, labelers)
    p = np.where((rng.random(size) < hard)[:, None], 0.6, skill)
    return y, np.where(rng.random((size, labelers)) < p, y[:, None], 1 - y[:, None])


def bluebirds():
    folder = Path(__file__).resolve().parents[2] / "shared" / "data" / "bluebirds"
    with open(folder / "labels.csv") as labels, open(folder / "truth.csv") as truth:
        rows = np.array([[int(v) for v in row] for row in list(csv.reader(labels))[1:]])
        known = np.array([[int(v) for v in row] for row in list(csv.reader(truth))[1:]])
    z = np.full(rows[:, :2].max(axis=0) + 1, -1)
    z[rows[:, 0], rows[:, 1]] = rows[:, 2]
    y = np.empty(len(z), int)
    y[known[:, 0]] = known[:, 1]
    return y, z


def bought(y, z, key, choose, limits):
    done = acquire(lambda i, t: z[i, t], z.shape, 2, limits=limits, choose=choose, key=key)
    return (done.decision != y).mean(), done.num_labels.mean(), done.risk.mean()


def study(name, sets):
    fixed = {
        k: np.array([bought(y, z, s, "any", Limits(0, k, k)) for s, (y, z) in enumerate(sets)])
        for k in (3, 5)
    }
    for k, values in fixed.items():
        sd = values[:, 0].std() / len(sets) ** 0.5
        error, _, said = values.mean(axis=0)
        print(f"{name} fixed {k}: error {error:.4f} +- {sd:.4f}, risk said {said:.4f}")
    for choose in ("any", "gain"):
        curve = []
        for risk in RISKS:
            found = np.array([bought(y, z, s, choose, Limits(risk, 1, 12)) for s, (y, z) in enumerate(sets)])
            curve.append(found.mean(axis=0))
            print(f"{name} {choose} risk {risk}: error {curve[-1][0]:.4f} +- "
                  f"{found[:, 0].std() / len(sets) ** 0.5:.4f}, labels {curve[-1][1]:.2f}, "
                  f"risk said {curve[-1][2]:.4f}", flush=True)  # fmt: skip
        curve = np.array(curve)
        for k, values in fixed.items():
            at = np.interp(-values[:, 0].mean(), -curve[:, 0], curve[:, 1], left=np.nan, right=np.nan)
            print(f"{name} {choose}: {at:.2f} labels a sample at the error of {k} fixed", flush=True)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for name, hard in (("alike", 0.0), ("hard", 1 / 3)):
        study(name, [simulate(np.random.default_rng([7, s]), hard) for s in range(number)])
    study("bluebirds", [bluebirds()] * 20)
