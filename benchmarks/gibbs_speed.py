"""The joint posterior of many different samples: sweeps by XLA against NumPy, side by side in one process.

    python -m benchmarks gibbs_speed [--samples 100000] [--repeats 3]

Each sample has five labels by a hundred labelers, so hardly two samples are equal. The distribution is the
same both ways and the numbers are not; printed are processor seconds of the whole fit, the first time
(compiling) and the median of the later ones, and how far posterior means of the class shares are apart in
standard errors.

Measured: AMD EPYC, 2 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6; one thread of BLAS, load 2:

    C = 2: NumPy 7.8 s, XLA 16.7 s (19.4 the first time), ratio .47; 800 sweeps, least ESS 422, means apart
           by .6 standard errors
    C = 4: NumPy 13.4 s, XLA 27.3 s (26.8 the first time), ratio .49; 800 sweeps, least ESS 503, 1.3 errors

(On two quiet cores of another day NumPy took 2.3 and 4.4 s.) Since then NumPy goes through the rows block by
block, as many as a cache holds, in float32: 10^5 samples, C = 4, T = 100, 1000 kept sweeps in 4 chains, 15.2
s before and 5.8 s now, in turn on one machine (Intel Xeon, 2 cores, numpy 2.4; a sweep 41 and 15 ms; 9.0 s in
float64). So a CPU is NumPy's, whatever the size, and XLA is for accelerators and for samples that devices
share. A layout of the samples of its own, with products instead of sums of logs and counts in packed bytes,
made XLA 1.7 times as fast as NumPy on a CPU, once it was compiled, and 1.05 times slower the first time; its
250 lines are gone.

Two threads, each with parts of the rows and a random stream of its own (10^5 samples, C = 4, T = 100, 25
parts of a cache's size, 2 quiet cores, 2026-11-27): a sweep of four chains takes 41 ms of wall where one
thread takes 25; with 7 parts 47 and 36. Sparse products alone run side by side (1.7 s and .96), but most
steps of NumPy are so short that handing Python over costs more than it saves. Larger parts leave the cache.

(What is drawn in a sweep and in which order is written once, `kernel.sweep`; NumPy and XLA differ in three
operations: counts, Dirichlet rows, states.) One program for all sizes, so that NumPy's could go, was tried
and does not pay. Compiling costs, CPU seconds with tracing (600 x 3 of three classes, fixed rows; 400 x 5,
shared strata; 4000 x 5, two classes; 60 x 6 of three classes, rows that are alike):

    as it was: a row for many samples by binomial numbers, Metropolis steps unrolled      9.9   19    8.4   -
    as it is: rows for one sample each, random numbers of all steps at once, rbg keys     3.6   5.4   3.9   13
    leanest: dense tables, one gamma loop for everything, uniform numbers in stretches    3.8   5.1   3.4   -
    the same with binomial numbers in one loop (inversion and BTRS side by side)          4.5   7.9   5.7   -

A sweep of 32 chains, ms: NumPy 1.1 to 1.5, 2.0, 1.0; leanest 2.1, 2.3, 4.6; with binomial numbers 3.8, 14,
5.5; as it is 1.8, 3.0, 9.2. A whole run of usual size is .65 s of NumPy. Every new shape would compile for
four seconds or more, and load for half a second where the cache has it. What costs is one call for random
numbers each: threefry .5 to 1.8 s, rbg .25; `jax.random.binomial` 2.6; a loop of gamma numbers 1.
"""

import argparse
import time

import jax
import numpy as np

import jtruth as jt
from jtruth.latent import Effort
from jtruth.learning import fit_joint
from jtruth.stats.chains import effective_sample_size


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
        for _ in range(chosen.repeats + 1):
            for device in (True, False):
                began = time.process_time()
                fits[device] = fit_joint(
                    labels, y_pred=y_pred, key=jax.random.key(0), effort=Effort(device=device)
                )
                seconds[device].append(time.process_time() - began)
        numpy, xla = (float(np.median(seconds[device][1:])) for device in (False, True))
        done, moments = fits[True].convergence, []
        for fit in fits.values():
            draws = fit.prior.reshape(fit.chain.max() + 1, -1, classes)
            size = effective_sample_size(draws, ranked=False)
            moments.append((fit.prior.mean(axis=0), fit.prior.var(axis=0) / size))
        (a, v), (b, w) = moments
        print(
            f"C = {classes}: NumPy {numpy:.1f} s, XLA {xla:.1f} s ({seconds[True][0]:.1f} the first time), "
            f"ratio {numpy / xla:.2f}; {done.num_sweeps} sweeps, least ESS {min(done.ess.values()):.0f}, "
            f"means apart by {np.abs((a - b) / np.sqrt(v + w)).max():.1f} standard errors",
            flush=True,
        )


if __name__ == "__main__":
    main()
