"""Samples differ in difficulty: is a classifier's interval still true, with known and with learned labelers?

Run: python benchmarks/difficulty.py [SETS, 300] [SETS of the default range, 30]

A set, as in Su 5.1.2: N = 400 samples, prior .6/.4, difficulty delta ~ Beta(1, 5) of each sample, five
labelers with fallibility phi ~ U(.1, .6), all samples labelled by all; error (60). The classifier is .85 and
.9 right in the two classes, whatever the difficulty ("indifferent"), or errs as one more labeler of
fallibility .15 ("finds hard samples hard"). Ways:

    known              delta, phi and the prior known: `evaluate(noise=DifficultyFallibility(...))`
    phi known          phi and the prior known, delta integrated out under Beta(1, 5)
    learned, plugged   `fit_difficulty_fallibility`: its label likelihood and prior taken as known
    independent        `evaluate(assume="independent")`: matrices learned, difficulty not in the model
    default            the sensitivity range of `evaluate`

Coverage of nominal 95 % intervals in per cent, Monte Carlo error behind it, and mean width, of accuracy,
precision and recall of the samples at hand; correlation of the learned delta with the true one.

Measured: AMD EPYC, 2 shared cores under load, Python 3.11, jax 0.10.2, numpy 2.4; 9 CPU minutes.

indifferent                       accuracy            precision           recall
             known (300 sets)  97.0 +-1.0 .043     98.7 +-.7 .068      95.3 +-1.2 .068
         phi known (300 sets)  97.7 +-.9 .045      98.0 +-.8 .070      96.3 +-1.1 .070
  learned, plugged (300 sets)  95.3 +-1.2 .044     95.0 +-1.3 .070     93.7 +-1.4 .070
        independent (30 sets)  93.3 +-4.6 .048     96.7 +-3.3 .097     86.7 +-6.2 .086
            default (30 sets)  all 100 %  .198     100 %  .485         100 %  .288
finds hard samples hard
             known (300 sets)  83.7 +-2.1 .047     84.0 +-2.1 .073     87.3 +-1.9 .070
         phi known (300 sets)  89.7 +-1.8 .047     90.7 +-1.7 .073     93.0 +-1.5 .072
  learned, plugged (300 sets)  91.3 +-1.6 .047     89.7 +-1.8 .073     91.0 +-1.7 .071
        independent (30 sets)  90.0 +-5.5 .051     93.3 +-4.6 .106     100       .091
            default (30 sets)  all 100 %  .187     100 %  .408         100 %  .286

Where the classifier does not care for difficulty, 95 % is held with psi known and nearly with psi learned.
Where it does, knowing delta makes things worse, not better: easy samples weigh more, and on them the
classifier is better than on all. Nothing short of the default range, four times as wide, holds there; the
labels of the classifier itself would have to be in the model (`assume="shared_difficulty"`). Difficulty can
hardly be learned from five labels: correlation .22 in both, and `difficulty_sd` says how little is known.
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import sys  # noqa: E402
from collections import defaultdict  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402

import jtruth as jt  # noqa: E402
from jtruth.learning import fit_difficulty_fallibility  # noqa: E402

SIZE, PRIOR, ASKED = 400, np.array([0.6, 0.4]), ("accuracy", "precision", "recall")
DIFFICULTY, FALLIBILITY = (1.0, 5.0), (0.1, 0.6)
RIGHT, LIKE_A_LABELER = np.array([0.9, 0.85]), 0.15


def error(delta, phi):
    """(60) for two classes."""
    return (delta + phi - delta * phi) / 2


def one_set(seed, hard):
    """Predictions, labels (samples, labelers), classes, delta, phi."""
    rng = np.random.default_rng([seed, hard])
    y = (rng.random(SIZE) < PRIOR[1]).astype(int)
    delta, phi = rng.beta(*DIFFICULTY, SIZE), rng.uniform(*FALLIBILITY, 5)
    z = np.where(rng.random((SIZE, 5)) < error(delta[:, None], phi), 1 - y[:, None], y[:, None])
    wrong = error(delta, LIKE_A_LABELER) if hard else 1 - RIGHT[y]
    return np.where(rng.random(SIZE) < wrong, 1 - y, y), z, y, delta, phi


def summed_out(z, phi):
    """log p(z_i | y_i = c) with delta ~ Beta(1, 5) integrated out by a midpoint rule on its quantiles."""
    delta = 1 - (1 - (np.arange(2000) + 0.5) / 2000) ** (1 / DIFFICULTY[1])  # of Beta(1, b)
    wrong = error(delta[:, None], phi)  # (nodes, labelers)
    at = [np.where(z[:, None] != c, wrong, 1 - wrong).prod(axis=2).mean(axis=1) for c in (0, 1)]
    return np.log(np.stack(at, axis=1))


def answers(seed, hard, with_default):
    """(way, metric) -> interval; the truth; correlation of the learned difficulty."""
    y_pred, z, y, delta, phi = one_set(seed, hard)
    labels = jt.Labels.from_matrix(z, 2)
    learned = fit_difficulty_fallibility(labels, key=seed)
    found = {
        "known": jt.evaluate(
            y_pred, labels, noise=jt.noise.DifficultyFallibility(delta, phi, 2), prior=PRIOR
        ),
        "phi known": jt.evaluate(y_pred, summed_out(z, phi), prior=PRIOR),
        "learned, plugged": jt.evaluate(y_pred, learned.label_log_likelihood, prior=learned.prior),
    }
    if with_default:
        found["independent"] = jt.evaluate(y_pred, labels, assume="independent", key=seed)
        found["default"] = jt.evaluate(y_pred, labels, key=seed)
    right = y_pred == y
    truth = {"accuracy": right.mean(), "precision": y[y_pred == 1].mean(), "recall": y_pred[y == 1].mean()}
    return found, truth, np.corrcoef(learned.difficulty, delta)[0, 1]


def main(sets, few):
    """A line for each way and kind of classifier."""
    for hard in (False, True):
        held, width, close = defaultdict(list), defaultdict(list), []
        for seed in range(sets):
            found, truth, correlation = answers(seed, hard, seed < few)
            close.append(correlation)
            for way, result in found.items():
                ends = np.array([result.metrics[name].interval(0.95)[:2] for name in ASKED])
                true = np.array([truth[name] for name in ASKED])
                held[way].append((ends[:, 0] - 1e-12 <= true) & (true <= ends[:, 1] + 1e-12))
                width[way].append(ends[:, 1] - ends[:, 0])
            if seed % 20 == 19:
                jax.clear_caches()
        print(
            "finds hard samples hard" if hard else "indifferent", f"correlation of delta {np.mean(close):.2f}"
        )
        for way, rows in held.items():
            share, mean = np.mean(rows, axis=0), np.mean(width[way], axis=0)
            off = np.sqrt(share * (1 - share) / len(rows))
            parts = [
                f"{n} {100 * s:5.1f} +-{100 * e:.1f} {w:.3f}"
                for n, s, e, w in zip(ASKED, share, off, mean, strict=True)
            ]
            print(f"  {way:>17} ({len(rows)} sets)  " + "   ".join(parts), flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    main(*(numbers + [300, 30][len(numbers) :]))
