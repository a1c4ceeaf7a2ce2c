"""A whole Dawid-Skene fit by crowd-kit on the labels and to the likelihood of `dawid_skene_speed.py`.

    python benchmarks/dawid_skene_speed.py SAMPLES CROWD.npz       with jtruth: fits, and writes labels and
    answer python benchmarks/dawid_skene_elsewhere.py CROWD.npz [STEPS]   where crowd-kit is (jtruth need not
    be)

crowd-kit starts from the same vote shares and makes the same steps, as many as jtruth made unless STEPS says
fewer, with its own stopping rule switched off: so both end at the same parameters, and the log-likelihood
that is computed here from crowd-kit's (prior and error matrices, which belong to the last class posterior but
one) has to be that of jtruth. Seconds are of the processor in `fit`, one thread, the frame of labels made
before. What was measured stands in the head of `dawid_skene_speed.py`.
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import resource  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from importlib.metadata import version  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from crowdkit.aggregation.classification import DawidSkene  # noqa: E402


def log_likelihood(model, sample, labeler, label):
    """sum_i log sum_c prior[c] prod_t errors[t, label, c], from crowd-kit's frames."""
    prior = model.priors_.sort_index().to_numpy()
    errors = model.errors_.sort_index()
    errors = errors[sorted(errors.columns)]
    classes = prior.size
    table = np.zeros((errors.index.get_level_values(0).max() + 1, classes, classes))
    at = [errors.index.get_level_values(k).to_numpy() for k in (0, 1)]
    table[at[0], at[1]] = errors.to_numpy()
    each = np.log(np.maximum(table, 1e-300))[labeler, label]
    joint = np.log(prior) + np.stack([np.bincount(sample, column) for column in each.T], axis=1)
    top = joint.max(axis=1)
    return float((top + np.log(np.exp(joint - top[:, None]).sum(axis=1))).sum())


def main(path, steps=None):
    """One line: seconds of both, their ratio, log-likelihoods, peak memory."""
    found = np.load(path)
    sample, labeler, label = (found[name] for name in ("sample", "labeler", "label"))
    made, ours, likely = int(found["num_steps"]), float(found["seconds"]), float(found["log_likelihood"])
    steps = made if steps is None else steps
    frame = pd.DataFrame({"task": sample, "worker": labeler, "label": label})
    model = DawidSkene(n_iter=steps, tol=-np.inf)
    begin = time.process_time()
    model.fit(frame)
    seconds = time.process_time() - begin
    whole = seconds * made / steps
    theirs = log_likelihood(model, sample, labeler, label)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{label.size} labels: crowd-kit {version('crowd-kit')} {seconds:.1f} s for {steps} steps, so "
        f"{whole:.1f} s for {made}, jtruth {ours:.2f} s: {whole / ours:.0f} times; log-likelihood "
        f"{theirs:.6f} and {likely:.6f}, apart by {abs(theirs / likely - 1):.0e}; peak {peak:.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
