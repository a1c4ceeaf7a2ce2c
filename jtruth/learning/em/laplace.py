"""Gaussian approximation of the posterior of prior and matrices, around the mode that EM finds.

Every row of a matrix, and the class prior, is softmax(theta): EM with pseudo-counts a finds the mode of the
Dirichlet(a) prior in that basis (MacKay 1998), which is the mean of p where classes are known. The curvature
there is that of `jtruth.latent.infer.normal`. No sample is visited twice, so ten million labels take seconds.
Up to `MOST_TOGETHER` parameters they are taken together; beyond, each labeler with the others fixed, which
changes little where each sample is labelled by a few of many labelers. With 80 to 1000 labels of a labeler
95 % intervals cover 90 to 93 % of the accuracies (`benchmarks/streaming.py`); with few labels, or classes
that are hard to distinguish, the posterior is not normal, and Gibbs sampling (`fit_joint`) is better.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._random import host_rng
from jtruth.latent.infer import kernel, normal
from jtruth.latent.infer.normal import MOST_TOGETHER
from jtruth.latent.model import LatentModel, Observed, Raters
from jtruth.latent.rows import label_columns
from jtruth.learning._fit import LabelerDraws, labeler_draws
from jtruth.learning.em.columns import CodedPatterns, expected_counts, posterior_of
from jtruth.learning.em.streaming import Stream

_MOST_ROWS, _PLENTY = 200_000, 1000  # rows that the information is taken from; labels of a labeler there
_MOST_CELLS, _FEWEST, _MOST = 20_000_000, 200, 1000  # numbers drawn in all, and draws


def laplace_draws(
    state: Stream, key: Any, posterior: Float[np.ndarray, "patterns classes"] | None = None
) -> LabelerDraws:
    """Draws of prior and matrices from the Gaussian approximation around a fitted stream.

    Its pseudo-counts must be above 0. `posterior` is that of its rows, if already computed.
    """
    if min(state.smoothing) <= 0:
        raise ValueError(
            f"intervals need positive pseudo-counts; these are {tuple(state.smoothing)}. Start with "
            "Smoothing(diagonal=2, off_diagonal=1 / (classes - 1), prior=1), the prior of fit_joint"
        )
    size, classes = len(state.workers), len(state.classes)
    num = int(np.clip(_MOST_CELLS // (size * classes**2), _FEWEST, _MOST))
    together = (size * classes + 1) * classes <= MOST_TOGETHER
    rng = host_rng(key, "normal law of labelers")
    if posterior is None:
        posterior = posterior_of(state.patterns, state.prior, state.matrices)
    how = f"Gaussian approximation around the EM estimate, {num} draws"
    if together:
        problem, mode = laid_out(state, posterior, _enough(state, rng))
        drawn = _drawn(mode[1].reshape(-1, classes), normal.information(problem, mode), num, rng)
        prior, matrices = drawn[:, 0], drawn[:, 1:].reshape(num, size, classes, classes)
    else:
        prior, matrices = _draw_alone(state, posterior, num, rng)
        how += ", separately for each labeler, with the others fixed"
    return labeler_draws(prior, matrices, posterior[state.pattern], how, state.warnings)


def laid_out(
    state: Stream, posterior: Float[np.ndarray, "patterns classes"], kept: Int[np.ndarray, " kept"]
) -> tuple[kernel.Problem, normal.Mode]:
    """The model and its mode for `normal`; the loss by unknown classes is scaled from `kept` rows to all."""
    patterns, size, classes = state.patterns, len(state.workers), len(state.classes)
    seen = CodedPatterns(patterns.codes(kept), patterns.length[kept], patterns.number[kept])
    times = seen.number * (patterns.number.sum() / max(seen.number.sum(), 1))
    pseudo_prior, pseudo = state.pseudo_counts
    model = LatentModel(pseudo_prior, (Raters(pseudo, np.arange(classes)),))
    symbols = (label_columns(seen.labels(size, classes)),)
    observed = Observed(symbols, times, np.zeros((classes, kept.size)), np.arange(kept.size))
    counts, _ = expected_counts(patterns, posterior, size)
    total = np.append(pseudo_prior + patterns.number @ posterior, pseudo + counts)
    theta = np.append(state.prior, state.matrices)
    return kernel.flatten(model, observed), (posterior[kept].T, theta, total)


def _drawn(
    rows: Float[np.ndarray, "rows classes"], matrix: np.ndarray, num: int, rng: np.random.Generator
) -> Float[np.ndarray, "num rows classes"]:
    """Rows of probabilities with the mode as their mean, and the spread of this information matrix."""
    return normal.around(rows, normal.steps_of(matrix, num, rng).reshape(num, *rows.shape))


def _enough(state: Stream, rng: np.random.Generator) -> np.ndarray:
    """Rows for the information matrix: all, or a random part with plenty of labels of every labeler."""
    patterns, size = state.patterns, state.patterns.length.size
    if size > _MOST_ROWS:
        kept = rng.random(size) < _MOST_ROWS / size
        labeler = patterns.code[np.repeat(kept, patterns.length)] // len(state.classes)
        if np.bincount(labeler, minlength=len(state.workers)).min() >= _PLENTY:
            return np.flatnonzero(kept)
    return np.arange(size)


def _draw_alone(state: Stream, posterior: np.ndarray, num: int, rng: np.random.Generator):
    """Each labeler's matrix by its own block, and the prior by its own."""
    size, classes = len(state.workers), len(state.classes)
    counts, products = expected_counts(state.patterns, posterior, size)
    (pseudo_prior, pseudo), starts = state.pseudo_counts, np.arange(classes) * classes
    matrices = np.empty((num, size, classes, classes), np.float32)
    for t in range(size):
        moments = np.zeros((classes, classes, classes, classes))  # of rho[c] 1[label k]: [c, k, d, l]
        for k in range(classes):
            moments[:, k, :, k] = products[t, k]
        lost = np.diag(counts[t].ravel()) - moments.reshape(classes**2, classes**2)
        total = (counts[t] + pseudo[t]).sum(axis=1)
        block = normal.curvature(lost, state.matrices[t].ravel(), total, starts)
        matrices[:, t] = _drawn(state.matrices[t], block, num, rng)
    number = state.patterns.number.sum()
    share = (state.patterns.number[:, None] * posterior).T @ posterior
    lost = np.diag(share.sum(axis=1)) - share
    block = normal.curvature(lost, state.prior, np.array([pseudo_prior.sum() + number]), starts[:1])
    return _drawn(state.prior[None], block, num, rng)[:, 0], matrices
