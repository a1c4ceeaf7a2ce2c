"""The joint posterior of many different samples: drawn by XLA against NumPy, side by side in one process.

    python benchmarks/gibbs_speed.py [--samples 100000] [--repeats 3]

Each sample has five labels by a hundred labelers, so hardly two samples are equal. The same key gives the
same draws both ways (checked); the ratio is of processor seconds of the whole fit, compiling included.

Measured: AMD EPYC, 2 cores (busy, load 5 to 6: everything takes 1.5 to 2 times as long as on an idle core),
Python 3.11.7, jax 0.10.2, numpy 2.4.6; one thread of BLAS; one run.

    C = 2: NumPy 6.9 s, XLA 6.6 s, ratio 1.0; 800 sweeps, least ESS 558
    C = 4: NumPy 15.7 s, XLA 10.2 s, ratio 1.5; 800 sweeps, least ESS 596

With 250 sweeps of burn-in and never less than 3000 kept, and counts by bincount on the host, it was 73.9 and
23.0 s (C = 4: 74.6 and 31.2) on a busier machine, 21.7 and 40 s on a quiet one. So few sweeps hardly pay for
compiling. The goal, 4 s, is missed on this machine. What is left is shared by both ways: EM for the start,
laying the problem out, the rows by gammas, R-hat and ESS; and uniform numbers and counts on the host between
sweeps, so a GPU would wait for the host.
"""

import argparse
import time

import jax
import numpy as np

import jtruth as jt
from jtruth.learning import fit_joint
from jtruth.sampling import Effort


def crowd(
    samples: int, classes: int, seed: int = 0, labelers: int = 100, each: int = 5
) -> tuple[jt.Labels, np.ndarray]:
    """Labels, each by one of twenty labelers, and predictions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, samples)
    who = rng.integers(0, labelers // each, (samples, each)) + np.arange(each) * (labelers // each)
    right = rng.uniform(0.6, 0.9, labelers)[who]
    label = np.where(rng.random(who.shape) < right, y[:, None], rng.integers(0, classes, who.shape))
    rows = np.repeat(np.arange(samples), each)
    labels = jt.Labels(rows, who.ravel(), label.ravel(), samples, labelers, classes)
    return labels, np.where(rng.random(samples) < 0.8, y, rng.integers(0, classes, samples))


def main() -> None:
    """Print a line for every number of classes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    for classes in (2, 4):
        labels, y_pred = crowd(chosen.samples, classes)
        seconds, fits = {False: [], True: []}, {}
        for _ in range(chosen.repeats):
            for device in (True, False):
                began = time.process_time()
                fits[device] = fit_joint(
                    labels, y_pred=y_pred, key=jax.random.key(0), effort=Effort(device=device)
                )
                seconds[device].append(time.process_time() - began)
        same = np.array_equal(fits[True].counts, fits[False].counts)
        numpy, xla = (float(np.median(seconds[device])) for device in (False, True))
        done = fits[True].convergence
        print(
            f"C = {classes}: NumPy {numpy:.1f} s, XLA {xla:.1f} s, ratio {numpy / xla:.2f}; "
            f"{done.num_sweeps} sweeps, least ESS {min(done.ess.values()):.0f}, equal draws: {same}",
            flush=True,
        )


if __name__ == "__main__":
    main()
