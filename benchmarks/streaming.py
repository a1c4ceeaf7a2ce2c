"""Streams of labels and `--fast`: time, memory, and coverage.

Run: python -m benchmarks streaming [times|coverage]
T = 100 labelers of accuracy .6 to .95, C = 4, five labels a sample, float64, data from fixed seeds.

Measured: 2 shared cores of an AMD EPYC under other load, Python 3.11, jax 0.10.2. One run of `times`:

                                             10^6 labels   10^7 labels
    begin_stream                                 4.2 s        24.9 s
    update by 10^5 labels                        0.7 s         4.6 s     (12, 11 steps; compiling: 3 s more)
    peak memory                                 0.5 GB        1.6 GB

Parquet to answers (other processes busy; CPU seconds of the whole command, imports included, second run;
old and new of labelers and agreement by turns, of prevalence 20 minutes apart; 5 labels
a task, accuracies .65 to .95, 2 classes):
    command                                         before   now
    labelers, 2 x 10^6 labels, 120 workers           15.6    10.0, then 8.8 before and 6.5 now by turns
    prevalence of it                                 17.2     6.5, then 5.9 before and 4.6 now by turns
    prevalence --by day                              19.1     8.0
    agreement, 10^6 labels                            4.4     4.1, then 3.6 before and 2.5 now by turns
    The 6.5 by part: imports 1.1 (.3 of it JAX, which looks through all installed packages), reading .6,
    error rates 1.4, checks 1.1, who copies or guesses .6, intervals .5, what is odd in the labels .5.
    Ends of intervals differ from those before by .001 (sd), as between two seeds (.0012).
    fit_joint of the first (no reading), sampled: 12.9; in one pass: 2.3. Means, standard deviations and 95 %
    ends of both differ by no more than draws do (class shares by .08 of a standard deviation).
    10^8 labels, 20 000 000 tasks, 12 workers: `stream_of_table` by Polars, 50 CPU s, 420 s of a very busy
    machine's wall clock, 0.83 GB at most; the same query before (one group of all tasks) left DuckDB's 1 GB.
    By DuckDB with 1 GB: more than 120 CPU s, 1.4 GB; it did not finish within 560 s of the wall at load 20.
    10^7 labels, 12 workers: 3.9 CPU s and .72 GB by Polars, 5.4 and .73 by DuckDB.
    The commands whole, on an AMD EPYC with two cores (Polars 2.1, DuckDB 2.0.1): CPU s, wall s, GB
        labelers, 2.1 x 10^7 labels     7.0     4.9   .75      prevalence    6.5     6.2   .72
        labelers, 10^8 labels          30.5    19.0   .79      prevalence   32.7    39.5   .74
        labelers, 10^8, by DuckDB      68      110   1.37      (other processes busy)
    PySpark 4.3: `stream_of_table` of 12 000 labels gives the accuracies of the same labels in memory.

Coverage and mean width of nominal 95 % intervals of accuracy (60 sets; together, each alone), of Gibbs
sampling with the same prior on the same sets, and of this normal distribution before, when draws were softmax
of a normal distribution of logarithms: accuracies moved down by .01 to .03 and were 1.1 to 1.3 times as wide
as the sampler's.
                                                 together       width  alone   sampler     before
    N = 1000, T = 5, C = 2, 5 labels a sample    .933 +- .016   .056   .933   .933, .056   .930
    N = 300, T = 5, C = 3, 5 labels              .907 +- .015   .093   .903   .917, .093   .873
    N = 1000, T = 5, C = 3, 3 labels             .920 +- .017   .080   .920   .940, .080   .887
    N = 1000, T = 60, C = 3, 5 labels            .931 +- .005   .193   .920                .892
    N = 2000, T = 30, C = 4, 3 labels            .910 +- .006   .142   .896                .802
"""

import resource
import sys
import time

import numpy as np

import jtruth.learning.em.laplace as laplace
from jtruth.evaluation.by_one_model import quick_labelers, the_prior
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.learning import DirichletPriors, begin_stream, fit_joint, update

WAYS = ("together", "alone", "gibbs")
DIAGONAL = DirichletPriors(diagonal=2.0, off_diagonal_total=1.0)  # the prior that `the_prior` stands for
EFFORT = Effort(chains=4, burn_in=200, min_sweeps=800, max_sweeps=800)


def simulate(rng, first, size, labelers=100, classes=4, each=5, low=0.6):
    """Labels of samples first, first + 1, ...: who is right how often is the same for every call."""
    skill = np.linspace(low, 0.95, labelers)
    y = rng.integers(0, classes, size).astype(np.int32)
    step = rng.integers(1, max(labelers // each, 2), (size, 1))
    worker = (rng.integers(0, labelers, (size, 1)) + np.arange(each) * step) % labelers
    right = rng.random((size, each)) < skill[worker]
    wrong = (y[:, None] + rng.integers(1, classes, (size, each))) % classes
    task = np.repeat(np.arange(size, dtype=np.int32), each)
    label = np.where(right, y[:, None], wrong).ravel().astype(np.int32)
    found = Labels(task, worker.ravel().astype(np.int32), label, size, labelers, classes)
    names = [f"q{i}" for i in range(first, first + size)], [f"w{t}" for t in range(labelers)]
    return found.with_names(tasks=names[0], workers=names[1]), y, skill


def clock(what, function, *arguments, **options):
    start = time.perf_counter()
    found = function(*arguments, **options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:48} {time.perf_counter() - start:7.2f} s   peak so far {peak:.2f} GB", flush=True)
    return found


def times(sizes=(200_000, 2_000_000)):
    """One day of 10^5 labels on 10^6 and 10^7."""
    for size in sizes:
        rng = np.random.default_rng(0)
        labels, _, _ = simulate(rng, 0, size)
        today, _, _ = simulate(rng, size, 20_000)
        print(f"-- {5 * size} labels")
        state = clock("begin", begin_stream, labels, smoothing=the_prior(4))
        after = clock("update by 10^5 labels, compiling", update, state, today)
        after = clock("update by 10^5 labels", update, state, today)
        print(f"   steps: {state.num_steps} on the first day, {after.num_steps} to update; "
              f"{after.patterns.length.size} rows for {len(after.tasks)} samples")  # fmt: skip
        clock("draws of the normal law", laplace.laplace_draws, after, 0)
        clock("quick_labelers from labels to report", quick_labelers, labels)


def coverage(sets=60):
    """Share of 95 % intervals that hold a labeler's accuracy: together, each alone, Gibbs sampling."""
    most = laplace.MOST_TOGETHER
    for size, labelers, classes, each, low in (
        (1000, 5, 2, 5, 0.6), (300, 5, 3, 5, 0.6), (1000, 5, 3, 3, 0.6), (1000, 60, 3, 5, 0.5),
        (2000, 30, 4, 3, 0.5),
    ):  # fmt: skip
        held, width = {name: [] for name in WAYS}, {name: [] for name in WAYS}
        for seed in range(sets):
            labels, _, skill = simulate(
                np.random.default_rng([2, seed]), 0, size, labelers, classes, each, low
            )
            state = begin_stream(labels, smoothing=the_prior(classes))
            for name in WAYS:
                laplace.MOST_TOGETHER = 0 if name == "alone" else most
                if name == "gibbs":
                    fit, who = fit_joint(labels, key=seed, priors=DIAGONAL, effort=EFFORT), labels.workers
                else:
                    fit, who = laplace.laplace_draws(state, seed), state.workers
                true = skill[[int(worker[1:]) for worker in who]]
                low_end, high_end = np.quantile(fit.labeler_accuracy, [0.025, 0.975], axis=0)
                held[name].append(((low_end <= true) & (true <= high_end)).mean())
                width[name].append((high_end - low_end).mean())
        laplace.MOST_TOGETHER = most
        text = "; ".join(
            f"{k} {np.mean(held[k]):.3f} +- {np.std(held[k]) / sets**0.5:.3f} width {np.mean(width[k]):.3f}"
            for k in WAYS
        )
        print(f"N={size} T={labelers} C={classes} {each} labels each: {text}", flush=True)


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["times", "coverage"]
    for name in chosen:
        {"times": times, "coverage": coverage}[name]()
