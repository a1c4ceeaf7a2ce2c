"""Time and accuracy of the engine for unknown error rates (`jtruth.latent`).

Run: python -m benchmarks engine            (one process; `first` holds tracing, compiling or loading)
     python -m benchmarks engine ends       (ends of caries under both kinds of strata, ten keys)
     python -m benchmarks engine command    (README's first command in fresh processes, cache empty and full)
     python -m benchmarks engine nuts       (z of means against long chains of NUTS on the same density)
     python -m benchmarks engine batch      (`evaluate_batch` where errors depend, against a loop)

Simulated: labelers .8, classifier .85, a quarter of the samples hard for everybody (.5). Members of the
default range one after the other, `first` with a cold program, `next` with another key.

Measured: AMD EPYC, 2 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6; wall seconds beside little other work,
before lineages were at least 128. The later runs shared the cores with ten
processes, so seconds are not comparable:

    samples labelers classes   independent   labeler strata   shared strata   random effect   (first, next)
        400        5       2    2.0  .4       2.9  .4          2.8  .4         2.4  .5
       4000        5       2    (.5) .5       (.5) .8          (.5) .5         (.7) 1.3   programs were there
        600        3       3    3.4  .7       5.8 1.5          5.4 1.7

Between two programs of moves tempering is on the host (folding, temperature, drawing, root): wall beside ten
processes, of a block of five moves 12.9 ms are program and random numbers and 2.2 the rest (caries,
independence), 48 and 4 (shared strata), 72 and 7 (4000 x 5), 263 and 13 (600 x 3, three classes). One loop on
the device would save 5 to 15 % and compile random numbers, bisection, drawing and a Cholesky root: left.

Compiling a program of moves, CPU seconds with tracing (300 x 4 beside other work, two runs each), with sums
of few terms instead of small products of matrices, two exponentials for a hyperbolic sine and the slope of
log Gamma by its own series: shared strata 8.7 and 9.2 before, 6.1 and 5.7 since; independence 4.5, 5.1 and
4.9, 3.5; labeler strata of three classes 9.2, 7.9 and 8.0, 7.5. Moves take as long as before. Of those of
shared strata (512 points, 23 coordinates, 4 states of 32 rows) a gradient is 1.4 to 2 ms in some 200 kernels.

100 coordinates and more (400 x 6, three classes) have an ESS of two or three for each lineage; models of
strata with four classes, 4000 x 5 (175), are Gibbs sampling's.

From t distributions about the modes (`latent.infer.laplace`; independence, 4000 x 5, four classes, 75
coordinates, 776 rows): 2 temperatures where the prior took 43 to 48, twice, as islands disagreed; tempering
.6 s of CPU, 1.3 s for the climb (3 to 6.6 s from the prior). Log evidence -21395.6 (.1); by 16 384 draws of
the t distributions, worth 4735, -21395.6. From the prior it had been -21388 to -21392, islands up to 7 apart:
six leapfrog steps a move are too few on so long a way (twenty: -21396.2 to -21397.2). 4000 x 10, strata:
modes lie along a ridge, so these start at the prior. With the distribution forced on six samples
(enumeration): all ten models right.

Weighted draws of the normal distribution around the mode (`latent.infer.normal`), NumPy, against tempering
(first, programs cached on disk), CPU seconds on two quiet cores, and the effective number of 4000
draws: caries .15 and 1.1 (3571), 400 x 5 .11 and 4.6 (3535), 600 x 3 of three classes .21 and 5.6 (1224), 400
x 6 .38 and 9.5 (1684), 4000 x 5 of four classes 1.7 and 9.7 (2914). Log evidence with an error of .002 to
.04 where tempering has .07 to .33. README's command with it: 3.8 the first time (bytecode and programs
made), 2.2 the second. On caries `evaluate --fast` takes 1.5, `labelers --fast` 1.5 (2.5 by EM), `labelers`
1.55, programs cached.

When that distribution is reliable (2026-11-27; labelers and classifier equally accurate; of ten keys each
those with Pareto's k below .7 and 400 effective of 4000 draws; largest distance of an end of the 95 %
intervals of class share, accuracies and recall from tempering's, in widths, and that of tempering itself
over three keys):

    samples  share  right  labelers   worth, of all draws   an end is off by   tempering
         60    .06    .8         3    .13  .16              .40                .07
         60    .5     .8         3    .12 to .27            .08 to .14         .04
        300    .3     .75        3    .17 to .26            .11 to .16         .04
        150    .3     .8         4    .24; .32 to .42       .17; .06           .02
        200    .1     .8         4    .20  .21  .27; .39    .05 to .07; .04    .04
        120    .2     .85        3    .26 to .49            .03 to .08         .01
        100    .5     .9         3    .49 to .67            .02 to .06         .01
        300    .5     .8         3    .51 to .78            .02 to .04         .02

k does not distinguish them (.51 to .68, .31 to .66): where no draw reaches a distant mode the weights look
even. So the effective number must be three tenths of the draws, else the posterior is tempered.

`evaluate_batch`, error rates learned, CPU seconds a set of 200 x 5 (right .65 to .9), Intel Xeon, 2 cores,
beside other work: a batch, then in this process loops over its first sets (15 of two classes, 5 of three).
Programs are kept on disk, so compiling is in the first column only. Times a loop of `evaluate` (`fit_joint`):

                             cache empty   cache full   `evaluate`   `fit_joint`   empty       full
    1000 sets, two classes       .022         .0111         .337         .281     15 (13)    30 (25)
    64 sets, three classes       .247         .134         2.51         2.81      10 (11)    19 (21)

The normal distribution in place of the split t distribution of batches (traced, 1000 draws): weights are good
and worth 100 in 74 of 100 of these sets of two classes (noise of a t distribution of 10 degrees of freedom:
87; the split t: 99), and in 4 of 50 of three classes. So batches keep the split t distribution for two
classes, and chains for more.

Effective number of the weighted draws of a batch (2026-11-27; ten sets each, 25 keys, with good weights and
one mode; largest distance of an end of the 95 % intervals of class share, accuracy and recall from
tempering's, in widths; median, 9 of 10, all; two keys of tempering differ by .03 to .06, 500 draws alone make
.08):

    effective of 1000        125 to 175       175 to 225       225 to 275       275 to 350
    200 x 4, share .1     .07 .11 .13      .08 .14 .34      .08 .13 .17      .06 .09 .09
    150 x 4, share .3     .09 .10 .10      .08 .11 .16      .07 .11 .15      .07 .11 .14
    150 x 4, share .15    .09 .17 .40      .09 .13 .30      .08 .12 .26      .06 .09 .13
    400 x 4, share .05    .08 .13 .18      .10 .13 .19      .09 .13 .20      .10 .10 .10

Chains in their place, for ten sets each of three settings and two keys, are off by as much (.00 to .18). So
an effective number of 125 (an ESS of 100) stays: from 200 on a tenth of the sets of 200 x 5 would need chains
(now 1.7 %).

`evaluate_batch` where errors depend (`batch`; 64 sets of 200 x 5, two classes; AMD EPYC, 2 quiet cores,
Python 3.11.7, jax 0.10.2, numpy 2.4.6; a slow machine: NumPy's plain Algorithm 2 takes 280 ms), ms of wall
and CPU a set, `fit_joint` one by one, the median of 12, and the median ESS of the batch:

    shared strata   268 (393)   1392   5.2 times   408
    labeler strata  237 (386)   1134   4.8         635
    random effect   486 (865)    839   1.7         902
    copying         176 (258)    633   3.6        2257

All were ok. A set has 128 lineages here and 128 to 512 alone. Sets of one call are worked on one after the
other on a CPU and two calls at a time: under `vmap`, shared strata, eight at a time took 571 ms beside other
work, thirty-two 1183, one after the other 420, with two calls 333 to 371.

README's first command prints what needs independence alone; models behind "what each assumption says" are
fitted when they are shown (`--full`, a page, JSON). CPU seconds: 4.9, with an empty cache, 2.5 from then on
(20 and 8.2 when all were fitted; `--full` still takes 17 and 8). Later, on another machine and beside ten
processes, 621324e and this in turn, from the second time on: 4.8 and 4.2, medians of nine (the first time
9.6 and 9.4); beside fewer 4.3 and 3.4. Of the 3.4: modules 1.7 (JAX .65, SciPy .3, equinox .2), tracing,
lowering and loading two programs .6, moves .5, checks and distributions .5. Exporting programs would save .4
and needs flatbuffers, which is no dependency. A clone run without Python's compiled files takes a second
more.

Default `evaluate`, first and next,
wall beside other work (CPU): 400 x 5 5.4 (3.4), 1.0 (.7); 4000 x 5 1.2 (.8); 40 000 x 5 1.6 (1.1); 4000 x 5
of four classes (8.9), (5.5), from the prior (15), (11.6); 600 x 3 of three 5.6 (4.2), 1.5; 400 x 6 of three
9.8 (5.1), 3.3 (2.3). Default `evaluate_labelers` of the last two converges: 2.3 (.9) and 10 (4.9), next 1.1
and 4.8 (2.8).

On a quicker machine (AMD EPYC, 2 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6; 2026-11-27, light other
work), wall seconds, cache empty at first, default `evaluate` first and next: 400 x 5 .2, .2; 4000 x 5 .2, .2;
of four classes 2.3, 2.2; 40 000 x 5 .2, .2; 600 x 3 of three classes .2, .2; 400 x 6 of three 2.4, 1.1.
Default `evaluate_labelers` of the last two 1.4 and 2.2. README's command 1.1, with an empty cache too. 10^5 x
5 by a hundred labelers, four classes (the crowd of gibbs_speed.py), to an ESS of 400 and R-hat below 1.01:
2.7 to 2.9 in eleven of twelve fits (800 sweeps), 3.9 in one (1200); where a quarter of the samples is hard
5.0 to 7.1 (1600 and 2400 sweeps). A batch of 200 sets of 200 x 5, two classes, 2.1 ms of CPU a set.

Sizes for which nothing is made, default answers, CPU seconds beside ten processes (two to three times as
long on the wall; before, none within 150 s of wall but the first): 2000 labelers x 10 samples, `evaluate` 37
(65) and `evaluate_labelers` 25; 100 classes, 2000 x 5, `evaluate` 46; one sample x 10 000 labels 54.
`evaluate` of 10^6 samples x 5 labelers with known rates and prior, two classes, second call of a process on
(`Labels.from_matrix` and printing apart): 1.7 to 2.0 when every check went through all samples, .20 to .26
since equal rows are counted once (2026-11-24, 2 cores beside ten processes, Python 3.11.7, jax 0.10.2, numpy
2.4.6; first call of a process 1.2). Of .31 under a profiler: rows as numbers and
their likelihood .09, the other input .05, table and metrics .08, all checks .07. `from_matrix` .10 to .12
(.18 to .29), at most 640 MB.

Caries, dentist 5: shared strata accuracy .653 [.625, .680], precision .200 [.128, .275] (Gibbs .653 [.625,
.679], .198 [.126, .271]); ten keys: ends of both within .004 and .008 (2026-11-26; the numbers of draws
predict .008, and .010 and .012 occurred before).
Labeler strata .791 [.768, .821], ten keys: ends within .002. Gibbs says .797 [.774, .828]: it stays
in the one of two images where class 1 is mostly "hard", of weight .39, in which we find .797 [.774, .829].
Random effect .673 [.640, .711] (HMC .674 [.640, .713]). Evidence -7503.3, -7464.2, -7455.3, -7458.3 (+- .2).

NUTS of the same density, 20 sets of 300 x 4 (32 chains of 300 and 500 steps, R-hat at most 1.003; beside ten
processes, 2026-11-26), five numbers each: largest |z| of 100 is 3.0 (recall of one set of independence, by
the normal distribution), the next 2.8. Spreads are .96 to 1.08 times NUTS's but for one number of partly
shared (1.13). Over twelve keys means of independence by the normal distribution differ
1.1 to 1.7 times as much as if its draws were independent, and neither they nor those of tempering are off
(recall .8000 and .7999, standard errors .0003 and .0002). A set of shared strata that had |z| of 4.7 was one
of coordinates, which have long tails, after 20 moves and no look at convergence; as above it has 2.0 at most,
and over twelve keys means differ 1.0 to 1.4 times their error.
Before that it was 7 to 9, and NUTS was right: points that had crossed to the image in which easy and hard
samples exchange names were folded back, but moved by a covariance of one image alone, so that moves did not
leave the posterior as it is.

Standard error of the log evidence, caries, 20 keys: log evidence differs by .17 and .23 from key to key
(shared and labeler strata). By islands, which are four, .18 and .17 in the square mean and as little as .02;
by differences between islands at single temperatures .12 and .13, never below .09. Six samples enumerated, 24
keys, where temperatures are two or three: by the larger of these z is 1.1 and 1.2 in the square mean and up
to 5.6; with the differences between lineages, .9 and 1.0 and at most 2.1. The largest is stated.

Lineages that do not move in 20 moves (partly shared, 300 x 4, of 512; six keys): 3.8 in the mean where all
steps are alike (17 of one key), none where a fifth of them is a fifth as long. The mean of the class share
has a standard deviation of .0037 and .0012 over keys, its 2.5 % end of .021 and .015.
"""

import os
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import jax  # noqa: E402
import numpy as np  # noqa: E402

import jtruth as jt  # noqa: E402
from jtruth.evaluation.assumptions.ranges import EFFORT  # noqa: E402
from jtruth.learning import fit_joint  # noqa: E402

SIZES = ((400, 5, 2), (4000, 5, 2), (40_000, 5, 2), (600, 3, 3))
MODELS = ("independent", "labeler_strata", "shared_strata")
AGAINST_NUTS = ("independent", "labeler_strata", "shared_strata", "random_effect", "partly_shared")


def crowd(samples: int, labelers: int, classes: int) -> tuple[jt.Labels, np.ndarray]:
    """Labels and predictions of samples a quarter of which are hard."""
    rng = np.random.default_rng(0)
    y, hard = rng.integers(0, classes, samples), rng.random(samples) < 0.25

    def given(accuracy: float) -> np.ndarray:
        right = rng.random(samples) < np.where(hard, 0.5, accuracy)
        return np.where(right, y, (y + rng.integers(1, classes, samples)) % classes)

    z = np.stack([given(0.8) for _ in range(labelers)], axis=1)
    return jt.Labels.from_matrix(z, classes), given(0.85)


def fitted(name: str, labels: jt.Labels, y_pred: np.ndarray, key: int):
    """A fit of one member."""
    return fit_joint(labels, y_pred=y_pred, key=key, dependence=name, effort=EFFORT)


def seconds() -> None:
    """A line for each size and member: wall and CPU seconds, and what came out."""
    for size in SIZES:
        labels, y_pred = crowd(*size)
        for name in MODELS + (("random_effect",) if size[2] == 2 else ()):
            spent = []
            for key in (0, 1):
                wall, cpu = time.perf_counter(), time.process_time()
                fit = fitted(name, labels, y_pred, key)
                spent.append(f"{time.perf_counter() - wall:6.2f} ({time.process_time() - cpu:5.2f})")
            right = np.trace(fit.counts, axis1=1, axis2=2) / size[0]
            low, high = np.quantile(right, [0.025, 0.975])
            print(
                f"{size!s:>16} {name:<15} first {spent[0]} next {spent[1]}  accuracy {right.mean():.3f} "
                f"[{low:.3f}, {high:.3f}] evidence {fit.evidence[0]:.1f} +- {fit.evidence[1]:.1f} "
                f"{fit.convergence.stopped_by} ESS {min(fit.convergence.ess.values()):.0f}"
            )


def ends() -> None:
    """Ends of accuracy and precision of dentist 5 over keys."""
    split = jt.read_labels("examples/caries.csv").split_rater("5")
    for name in ("labeler_strata", "shared_strata"):
        found = []
        for key in range(10):
            n = fitted(name, split.labels, split.y_pred, key).counts
            for metric in (np.trace(n, axis1=1, axis2=2) / 3869, n[:, 1, 1] / n[:, :, 1].sum(axis=1)):
                found.append([metric.mean(), *np.quantile(metric, [0.025, 0.975])])
        for k, metric in enumerate(("accuracy", "precision")):
            some = np.array(found[k::2])
            print(
                f"{name:<15} {metric:<9} {some.mean(0).round(4)}, over keys {np.ptp(some, axis=0).round(4)}"
            )


def command() -> None:
    """README's first command."""
    with tempfile.TemporaryDirectory() as folder:
        for what in ("cache empty", "cache full", "cache full"):
            wall, before = time.perf_counter(), os.times()
            args = [sys.executable, "-m", "jtruth", "evaluate", "examples/caries.csv", "--rater", "5"]
            subprocess.run(args, env=os.environ | {"JTRUTH_CACHE": folder}, check=True, capture_output=True)
            cpu = sum(os.times()[2:4]) - sum(before[2:4])
            print(f"{what}: {time.perf_counter() - wall:.1f} s, {cpu:.1f} s of CPU")


def batch() -> None:
    """Sets of 200 x 5 under models of dependent errors, side by side and one after the other."""
    rng = np.random.default_rng(0)
    y = (rng.random((64, 200)) < 0.4).astype(int)
    right = np.where(rng.random(y.shape) < 0.1, 0.55, 0.85)[:, :, None]
    seen = np.where(rng.random((*y.shape, 6)) < right, y[:, :, None], 1 - y[:, :, None])
    y_pred, z = seen[:, :, 5], seen[:, :, :5]
    for name in ("shared_strata", "labeler_strata", "random_effect", "copying"):
        jt.evaluate_batch(y_pred[:8], z[:8], method=name, key=0)  # compiles
        began, before = time.perf_counter(), time.process_time()
        found = jt.evaluate_batch(y_pred, z, method=name, key=1)
        wall, cpu = time.perf_counter() - began, time.process_time() - before
        each = []
        for s in range(12):
            began, labels = time.perf_counter(), jt.Labels.from_matrix(z[s], 2)
            fit_joint(labels, y_pred=y_pred[s], dependence=name, key=s)
            each.append(time.perf_counter() - began)
        loop = float(np.median(each))
        print(
            f"{name:15s} {1e3 * wall / 64:5.0f} ms a set ({1e3 * cpu / 64:.0f} CPU), alone {1e3 * loop:5.0f} "
            f"ms: {64 * loop / wall:.1f} times; ok {found.ok.mean():.2f}, ESS {np.median(found.ess):.0f}",
            flush=True,
        )


def nuts() -> None:
    """Means of what people ask for, 20 sets of 300 x 4, against NUTS of the same density."""
    worst = [against_nuts(seed, model) for model in AGAINST_NUTS for seed in range(4)]
    print(f"{len(worst)} sets: largest |z| {max(worst):.1f}")


def against_nuts(seed: int, name: str) -> float:
    """The largest |z| of the means of one set; NUTS starts at points that another key has tempered."""
    from numpyro.infer import MCMC, NUTS

    from jtruth.latent import density
    from jtruth.latent.infer import temper
    from jtruth.latent.infer.side_by_side import alone
    from jtruth.learning.joint.models import MODELS, partly_shared
    from jtruth.learning.joint.posterior import density_of, laid_out
    from jtruth.stats.chains import mean_error, split_rhat

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    z = np.where(rng.random((300, 4)) < 0.8, y[:, None], 1 - y[:, None])
    labels = jt.Labels.from_matrix(z[:, :3], 2)
    build = (MODELS | {"partly_shared": partly_shared})[name]
    built, _, observed, _ = laid_out(labels, z[:, 3], build)
    model = density_of(built, observed)
    assert model is not None

    def potential(point):
        x = point[:, None]
        value = density.log_likelihood(model.kind.channel(model.arrays, x), model.seen)
        return -(value + model.kind.log_prior(model.arrays, x))[0]

    start = alone(temper.temper(model, np.random.default_rng(seed + 100), 128))
    mcmc = MCMC(NUTS(potential_fn=potential), num_warmup=300, num_samples=500, num_chains=32,
                chain_method="vectorized", progress_bar=False)  # fmt: skip
    mcmc.run(jax.random.key(seed), init_params=jax.numpy.asarray(start.x[:, :32].T))
    path = np.asarray(mcmc.get_samples(group_by_chain=True)).transpose(1, 2, 0)  # (draws, size, chains)
    long = asked_of(model, np.stack([temper.folded(model, x) for x in path]))
    fit = fit_joint(labels, y_pred=z[:, 3], dependence=build, key=seed)
    shape = (fit.chain.max() + 1, -1)
    short = [fit.prior[:, 1], *fit.labeler_accuracy.T, fit.classifier[:, 1, 1]]
    short = np.stack([a.reshape(shape) for a in short], axis=-1)
    gap = short.mean(axis=(0, 1)) - long.mean(axis=(0, 1))
    worth = fit.convergence.ess.get(
        "weighed draws"
    )  # of the normal distribution; chosen draws repeat each other
    error = mean_error(short) if worth is None else short.std(axis=(0, 1)) / np.sqrt(worth)
    z_score = np.abs(gap / np.hypot(error, mean_error(long)))
    spread = short.std(axis=(0, 1)) / long.std(axis=(0, 1))
    print(
        f"{name:15s} set {seed}: |z| {z_score.round(1)}, spreads {spread.min():.3f} {spread.max():.3f}, "
        f"NUTS R-hat {split_rhat(long, groups=4).max():.3f}",
        flush=True,
    )
    return float(z_score.max())


def asked_of(model, path: np.ndarray) -> np.ndarray:
    """Share of class 1, labelers' accuracy, the classifier's recall, (chains, draws, 5), by the channel."""
    found = []
    for x in path:
        channel = jax.tree.map(lambda a: np.asarray(a, np.float64), model.kind.channel(model.arrays, x))
        of_state = np.exp(channel.log_class[0] + channel.log_level)  # (states, chains)
        of_state /= of_state.sum(axis=0)
        first, second = np.split(of_state, 2)
        seen = np.exp(channel.log_seen).reshape(4, 2, len(of_state), -1)  # (raters, symbols, states, chains)
        zero, one = np.split(seen, 2, axis=2)
        right = (first * zero[:3, 0]).sum(axis=1) + (second * one[:3, 1]).sum(axis=1)
        recall = (second * one[3, 1]).sum(axis=0) / second.sum(axis=0)
        found.append([second.sum(axis=0), *right, recall])
    return np.array(found).transpose(2, 0, 1)


if __name__ == "__main__":
    {"ends": ends, "command": command, "batch": batch, "nuts": nuts}.get(" ".join(sys.argv[1:]), seconds)()
