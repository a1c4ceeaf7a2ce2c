"""Simulation-based calibration of every assumption: is the truth's rank among the draws uniform?

Run: python -m benchmarks calibration [sets [name of an assumption ...]]
Everything is drawn from the model's own prior, then 100 samples, 4 labelers and a classifier of two classes
from its channel; the class of a random tenth of the samples is known, which names the classes. `fit_joint`
fits by its default method for such data. If the posterior is right, the share of draws below the
truth is uniform (Talts et al. 2018), for the class share, the first labeler's accuracy, recall of the
classifier for a new sample, and how often it was right on these. A p-value is of chi-squared over ten bins.

Rows have fixed priors, 12 on the diagonal and 4 off it or an assumption's own, for any labels: by default the
prior of the rows is learned where labels hardly agree, and would depend on the labels. "alike" has 30
samples, so few that rows always have a learned common prior. Copying leaves recall out: its classifier's
matrix depends on the labels.

Measured: 2 cores, Python 3.11.7, jtruth 0.1.0, jax 0.10.2, numpy 2.4.6, scipy 1.17.1; 100 sets each, all
usable and converged but five of "independent, alike":

                         class share  labeler's accuracy  recall  right in sample
    independent                 .367                .027    .163             .192
    independent, alike          .437                .575    .514             .720
    shared_strata               .699                .898    .008             .071
    shared_strata, alike        .798                .740    .163             .834
    labeler_strata              .475                .798    .554             .868
    partly_shared               .033                .456    .817             .817
    random_effect               .964                .798    .679             .040
    copying                     .779                .924       -             .658

400 sets of shared_strata (2026-11-26): .269, .243, .259, .078; all usable and converged.

`calibration SETS alpha`: alpha-calibration of N samples of four labels, three classes, one true alpha.
Median of the alpha found, and the mean error of the predicted disagreement with its Monte Carlo error (30, 10
and 3 sets), 2026-11-28. The paper's lambda = .005 stays biased; 1 / (18 sum n) does not:

                      lambda = .005            1 / (18 sum n)
    N      true   found  disagreement      found  disagreement
    100       3    2.10  -.048 +- .009      2.68  -.005 +- .006
    1000      3    2.38  -.025 +- .002      3.00   .001 +- .002
    10000     3    2.47  -.020 +- .0003     3.06   .002 +- .0002
    100      10    4.09  -.061 +- .005      8.40  -.008 +- .004
    1000     10    4.68  -.046 +- .002     11.05   .002 +- .002
    10000    10    4.82  -.044 +- .0002     9.85  -.001 +- .0006

The fit starts at the best constant: from alpha = 1 early stopping left 2.42 and 6.57 at N = 100.
"""

import itertools
import sys

import jax
import numpy as np
from scipy.stats import chisquare

from jtruth.histograms import fit_calibrator, from_counts
from jtruth.labels import Labels
from jtruth.latent.models import strata
from jtruth.latent.rows import merge_samples
from jtruth.learning import DirichletPriors, fit_joint
from jtruth.learning.joint.inputs import checked_priors
from jtruth.learning.joint.models import MODELS, partly_shared

LABELERS, BINS = 4, 10
NAMES = ("class share", "labeler's accuracy", "recall", "right in sample")
FIXED, LEARNED = DirichletPriors(diagonal=12.0, off_diagonal_total=4.0), DirichletPriors()
CASES = {name: (model, FIXED, 100) for name, model in (MODELS | {"partly_shared": partly_shared}).items()}
CASES |= {f"{name}, alike": (MODELS[name], LEARNED, 30) for name in ("independent", "shared_strata")}


def kind_of(model, priors, samples):
    """The assumption as a log density: functions and arrays. Labels say how many there are, no more."""
    blank = Labels.from_matrix(np.tile([[0] * LABELERS, [1] * LABELERS], (samples // 2, 1)), 2)
    y_pred = np.tile([0, 1], samples // 2)
    own = model not in (MODELS["independent"], MODELS["copying"])
    checked = checked_priors(blank, y_pred, 2, None, None, priors, own_rows=own)
    built = model(checked, merge_samples(blank, y_pred, None))
    return built.other(1) if built.other else (strata.KIND, strata.arrays_of(built.model, 1))


def truth_and_data(kind, arrays, samples, rng):
    """Numbers that are known, labels, predictions and classes."""
    x = kind.draw(arrays, rng, 1)
    channel = jax.tree.map(lambda a: np.asarray(a, np.float64), kind.channel(arrays, x))
    of_class = np.exp(channel.log_class[0, :, 0])
    level = np.exp(channel.log_level[:, 0])
    states, seen = of_class.size, np.exp(channel.log_seen[:, :, 0]).reshape(LABELERS + 1, 2, -1)
    of_state = np.repeat([0, 1], states // 2)
    p = of_class * level
    state = rng.choice(states, samples, p=p / p.sum())
    z = (rng.random((LABELERS, samples)) < seen[:LABELERS, 1, state]).astype(int).T
    copied = seen[LABELERS, :, state].sum(axis=1) > 1.5  # nothing is said of the symbol
    y_pred = (rng.random(samples) < seen[LABELERS, 1, state]).astype(int)
    y_pred[copied] = z[copied, rng.integers(LABELERS, size=copied.sum())]
    share = np.array([p[of_state == c].sum() for c in (0, 1)])
    within = np.array([[p[of_state == c] @ row[c, of_state == c] for c in (0, 1)] for row in seen])
    y = of_state[state]
    known = share[1], within[0].sum(), within[LABELERS, 1] / share[1], (y_pred == y).sum()
    return known, z, y_pred, y


def rank(draws, truth, rng):
    """The share of draws below the truth, ties broken at random."""
    return (draws < truth).mean() + rng.random() * (draws == truth).mean()


def ranks_of(name, sets):
    """(sets, 4) and how many were not usable or did not converge."""
    model, priors, samples = CASES[name]
    kind, arrays = kind_of(model, priors, samples)
    rng, ranks, doubtful = np.random.default_rng(17), [], 0
    for number in range(sets):
        known, z, y_pred, y = truth_and_data(kind, arrays, samples, rng)
        gold = np.where(rng.random(samples) < 0.1, y, -1)
        fit = fit_joint(
            Labels.from_matrix(z, 2), y_pred=y_pred, gold=gold, priors=priors, key=number,
            dependence=model,
        )  # fmt: skip
        doubtful += not (fit.usable and fit.converged)
        counts = fit.tables("in-sample")
        right, recall = counts[:, 0, 0] + counts[:, 1, 1], np.asarray(fit.classifier)[:, 1, 1]
        drawn = fit.prior[:, 1], fit.labeler_accuracy[:, 0], recall, right
        ranks.append([rank(a, b, rng) for a, b in zip(drawn, known, strict=True)])
    return np.array(ranks), doubtful


def alpha_calibrated(samples, alpha, seed):
    """Mean concentration found (of logarithms), and the error of the predicted disagreement."""
    rng = np.random.default_rng([seed, samples])
    f = np.clip(rng.dirichlet(np.full(3, 1.5), samples), 0.01, None)
    f /= f.sum(axis=1, keepdims=True)
    y = rng.multinomial(4, [rng.dirichlet(alpha * row) for row in f])
    found = fit_calibrator(jax.random.key(seed), from_counts(y), f)(f)
    true = alpha / (alpha + 1) * (1 - (f**2).sum(axis=1)).mean()
    return np.exp(np.log(found.concentration).mean()), np.asarray(found.disagreement).mean() - true


def main():
    """A line for each assumption."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    if sys.argv[2:] == ["alpha"]:
        for alpha, samples in itertools.product((3, 10), (100, 1000, 10_000)):
            found, error = np.array([alpha_calibrated(samples, alpha, seed) for seed in range(sets)]).T
            print(samples, alpha, np.median(found), error.mean(), error.std() / np.sqrt(sets), flush=True)
        return
    print(f"{sets} sets; p-values of {', '.join(NAMES)}; sets in doubt")
    for name in sys.argv[2:] or CASES:
        ranks, doubtful = ranks_of(name, sets)
        p_values = [f"{chisquare(np.histogram(column, BINS, (0, 1))[0]).pvalue:.3f}" for column in ranks.T]
        if name == "copying":
            p_values[2] = "    -"
        print(f"{name:20s} {' '.join(p_values)}  {doubtful}", flush=True)


if __name__ == "__main__":
    main()
