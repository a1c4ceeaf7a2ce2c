"""The joint posterior of many different samples: sweeps by XLA against NumPy, side by side in one process.

    python -m benchmarks gibbs_speed [--samples 100000] [--repeats 3]

Each sample has five labels by a hundred labelers, so hardly two samples are equal. The law is the same both
ways and the numbers are not; printed are processor seconds of the whole fit, the first time (compiling) and
the median of the later ones, and how far posterior means of the class shares are apart in standard errors.

Measured: AMD EPYC, 2 quiet cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6; one thread of BLAS:

    C = 2: NumPy 2.3 s, XLA 1.3 s (3.7 the first time), ratio 1.76; 800 sweeps, least ESS 501, means apart by
           .4 standard errors
    C = 4: NumPy 4.4 s, XLA 2.6 s (4.7 the first time), ratio 1.71; 800 sweeps, least ESS 558, 1.4 errors

The goal, 4 s, is met once compiled and not the first time. Of 2.8 s of compiling for C = 4 gamma numbers
and keys take 1, states by products .2, by logs (where products underflow) .25, the rest is random bits and
counts. On a CPU whole sweeps by XLA save nothing over XLA for the samples and NumPy for the rows; on an
accelerator nothing waits for the host. XLA is taken from 100 000 different samples on, where compiling is
paid back by 900 to 2100 sweeps. A sweep of four chains, C = 4, takes 10 ms: 5 for 7.2 million probabilities
gathered and states, 2 for random bits, 2 for counts, .6 for rows.

NumPy sweeps small sets because XLA would compile first: noise of three classes takes .65 s of NumPy and some
16 s of XLA the first time (rows that are alike: Metropolis steps by log gamma functions and their branches,
binomial numbers for equal samples, gamma numbers). So the sweep is written once for both
(`latent.infer.sweep`), and only the drawing of the samples twice.
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
