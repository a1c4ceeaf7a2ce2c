"""The joint posterior of many different samples: drawn by XLA against NumPy, side by side in one process.

    python benchmarks/gibbs_speed.py [--samples 100000] [--repeats 3]

Each sample has five labels by a hundred labelers, so hardly two samples are equal. The same key gives the
same draws both ways (checked); the ratio is of processor seconds of the whole fit, compiling included.

Measured: AMD EPYC, 2 cores (busy), Python 3.11.7, jax 0.10.2, numpy 2.4.6; one thread of BLAS. XLA now and
before its counting without a scatter and its products in a loop, in turn on one machine (the same draws):

    C = 2: 2.8 s (3.4 the first time, compiling), before 5.2 (5.6); 800 sweeps, least ESS 558
    C = 4: 5.5 s (6.1 the first time), before 8.5; 800 sweeps, least ESS 596

NumPy took 1.0 and 1.5 times as long as XLA before (6.9 and 15.7 s, a busier machine). The goal, 4 s, is met
for C = 2 and missed for C = 4. A sweep of four chains there takes 17 ms: 7.6 are 7.2 million probabilities
gathered (1.06 ns each, what XLA needs for one here), 1 uniform numbers, 5 counts, states and the class
posterior, 3.5 what the host does between two sweeps; 250 sweeps of a chain are the least that the rule of
`burn_in.py` makes. So a GPU would wait for the host, and on this CPU C = 4 has its floor near 4.3 s.
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
