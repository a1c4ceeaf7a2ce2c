"""Error rates from samples of known class, by counting (Dawid and Skene 1979, section 2).

Where the class is known the likelihood of a labeler's row is multinomial, so the estimate (2.3) is a share:

    psi_t[c, k] = (n_t[c, k] + pseudo[c, k]) / sum_k (n_t[c, k] + pseudo[c, k]),

n the labels k that t gave to gold samples of class c, and the posterior is exactly Dirichlet(n + pseudo).
Labels of other samples are not used; `fit_joint(labels, gold=gold)` uses them too.

Maximum likelihood finds the rates without gold (Donmez, Lebanon and Balasubramanian 2010) if every labeler is
better than chance and, for labelers with one error rate each, the class prior is not even; with three
labelers or more it may be. `check_consistency` checks both at estimated rates, which is no proof.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Num
from scipy.special import ndtri, softmax

from jtruth._host import diagonal_rows, labels_log_likelihood, log, vote_shares
from jtruth._random import seeded
from jtruth._validation import quoted
from jtruth._validation.in_range import check_not_negative
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, clamp, exchanged, gold_and_prior, one_hot, soft_counts, unlabelled

_LEVEL = 0.95  # of the one-sided error that an accuracy must be above chance by


@seeded
def fit_known_classes(
    labels: Labels, *, key: Any = None, gold: Any = None, prior: Any = None, pseudo: float = 1.0
) -> Fit:
    """Error rates of labelers from the samples whose class is known.

    Args:
        labels, key, gold: see `jtruth.learning.methods`; at least one known class is needed.
        prior: (classes,) known class prior; shares of the gold classes if None, which needs random gold.
        pseudo: pseudo-labels on the diagonal of each row, as many spread over the rest, and as many for the
            prior, spread over the classes.

    Returns:
        A `Fit` with `interval`, at the mean of the posterior. Its own, (labelers, classes, classes) each:
        `matrices`; `counts`, labels of gold samples; `concentration` of the Dirichlet posterior of each row.

    >>> labels = Labels.from_matrix(np.array([[0, 0], [0, 1], [1, 1], [1, 0], [1, 1]]), 2)
    >>> fit = fit_known_classes(labels, gold=np.array([0, 0, 1, 1, -1]))
    >>> print(fit.matrices[1].tolist(), fit.prior, fit.class_posterior[4].round(2))
    [[0.5, 0.5], [0.5, 0.5]] [0.5 0.5] [0.25 0.75]
    """
    known, fixed = gold_and_prior(labels, gold, prior)
    if not (known >= 0).any():
        raise ValueError("gold has no known class, but counting needs samples of known class; use fit_joint")
    check_not_negative(pseudo, "pseudo")
    classes = labels.num_classes
    counts = soft_counts(labels, one_hot(known, classes))
    concentration = counts + diagonal_rows(classes, pseudo, pseudo)[None]
    matrices = vote_shares(concentration.reshape(-1, classes)).reshape(concentration.shape)
    shares = np.bincount(known[known >= 0], minlength=classes) + pseudo / classes
    share = shares / shares.sum() if fixed is None else fixed
    joint = log(share)[None] + labels_log_likelihood(matrices, *labels.arrays, labels.num_samples)
    possible = np.asarray(np.isfinite(joint).any(axis=1))[:, None]
    posterior = softmax(np.where(possible, joint, 0), axis=1)
    joint = np.where(clamp(np.ones_like(joint), known) > 0, joint, -np.inf)
    log_likelihood = float(np.logaddexp.reduce(joint, axis=1).sum())
    doubts = tuple(_doubts(counts, labels, known, ~possible[:, 0]))
    own = {"matrices": matrices, "counts": counts, "concentration": concentration}
    return Fit(share, clamp(posterior, known), log_likelihood, warnings=doubts, own=own)


def _doubts(counts: np.ndarray, labels: Labels, known: np.ndarray, contradicted: np.ndarray) -> Any:
    workers = labels.worker_names
    for c in np.flatnonzero(np.bincount(known[known >= 0], minlength=labels.num_classes) == 0):
        yield f"No verified sample is of class {labels.class_names[c]!r}, so its rows are the pseudo-counts."
    none = np.flatnonzero(counts.sum(axis=(1, 2)) == 0)
    if none.size:
        names = quoted(workers[t] for t in none)
        who = number_of(none.size, "labeler has", "labelers have")
        yield f"{who} no verified label ({names}): rows of only pseudo-counts."
    if contradicted.any():
        what = number_of(contradicted.sum(), "sample is", "samples are")
        yield f"{what} impossible at these rates: all classes get equal shares there."
    yield from unlabelled(labels)
    yield from exchanged(counts.sum(axis=0), labels.class_names)


def check_consistency(
    prior: Float[np.ndarray, " classes"],
    matrices: Float[np.ndarray, "labelers classes classes"],
    number: Num[np.ndarray, " labelers"],
    *,
    num_samples: int,
    workers: Any = None,
) -> tuple[str, ...]:
    """Check the conditions at estimated rates; a sentence for each that is not met.

    Args:
        prior, matrices: estimates.
        number: labels of each labeler; those without are left out.
        num_samples: samples behind the prior.
        workers: names, for the sentences.
    """
    classes = prior.size
    accuracy = np.einsum("c,tcc->t", prior, matrices)
    z = float(ndtri(_LEVEL))
    error = np.sqrt(np.maximum(accuracy * (1 - accuracy), 1e-12) / np.maximum(number, 1))
    weak = (accuracy - z * error > 1 / classes) | (number == 0)
    spread = np.sqrt((classes - 1) / classes**2 / max(num_samples, 1))
    even = bool(np.abs(prior - 1 / classes).max() < z * spread)
    compared = int((weak & (number > 0)).sum()) >= 3
    names = tuple(range(accuracy.size)) if workers is None else workers
    doubts = []
    if not weak.all():
        doubts.append(
            f"Labelers {quoted(names[t] for t in np.flatnonzero(~weak))} are not clearly better than chance. "
            "Rates learned without gold are consistent only if all are (Donmez et al. 2010)."
        )
    if even and not compared:
        doubts.append(
            "The class prior is even, and fewer than three labelers are better than chance, so error rates "
            "cannot be learned without gold (Donmez et al. 2010)."
        )
    return tuple(doubts)
