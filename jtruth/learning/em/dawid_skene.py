"""Dawid and Skene (1979): learn every labeler's confusion matrix and the class prior from the labels alone.

The model: a sample's class is drawn from a prior, and each labeler, shown a sample of class c, gives label k
with a probability psi[c, k] of its own, independently of the other labelers. `fit_dawid_skene` finds the
prior and the matrices of highest likelihood (or, with pseudo-counts, of highest posterior density) by EM from
majority vote, and from random starts if asked. It works in float64 whatever JAX's default is. The pure
function under it, `dawid_skene_em`, is there for `jit` and for `vmap` over simulated data sets, weights or
starts.

Three things to know. EM finds a local maximum; restarts look for better ones. Labels alone do not name the
classes: swapping two of them everywhere gives the same likelihood, and only the start (majority vote), gold
labels or pseudo-counts tie class c to label c; a result that looks swapped says so in `warnings`. And the
model takes labelers to err independently, several labels of one sample by one labeler included, as the paper
does; where they do not, the class posterior is too sure of itself.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from jtruth.labels import Labels
from jtruth.learning._given import check_steps, exchanged, not_converged, read_given, unlabelled
from jtruth.learning.em._steps import dawid_skene_em
from jtruth.learning.em.columns import bucket, columns_from_labels, random_trust, vote_shares

_NO_LABELS = 1e-6  # a matrix row that rests on less than this expected number of labels was not learned
_TIE = 1e-8  # relative; a start must win by more, because the swapped twin of an optimum is equally high


class Smoothing(NamedTuple):
    """Pseudo-counts: Dirichlet priors with concentration 1 + pseudo-count; all 0 is maximum likelihood.

    With them EM finds the mode of the posterior of (pi, psi). `Smoothing(0.01, 0.01)` only keeps
    probabilities off 0; `Smoothing(diagonal=1, off_diagonal=0.5)` says labelers are better than chance.
    """

    diagonal: float = 0.0  # to every psi_t[c, c]
    off_diagonal: float = 0.0  # to every psi_t[c, k], k != c
    prior: float = 0.0  # to every pi[c]


MAXIMUM_LIKELIHOOD = Smoothing()


class DawidSkene(NamedTuple):
    """A fitted Dawid-Skene model. All arrays are NumPy float64."""

    prior: Float[np.ndarray, " classes"]
    matrices: Float[np.ndarray, "labelers classes classes"]  # rows: true class; columns: given label
    class_posterior: Float[np.ndarray, "samples classes"]  # p(y_i = c | labels, prior, matrices, gold)
    log_likelihood: float  # log p(labels, gold classes | prior, matrices)
    log_posterior: float  # log_likelihood + sum of pseudo-count * log probability (no normalising constant)
    row_labels: Float[np.ndarray, "labelers classes"]  # expected number of labels behind each matrix row
    converged: bool
    num_steps: int
    monotone: bool  # no step lowered the objective by more than rounding
    path: Float[np.ndarray, " steps"]  # objective after each step of the start that won
    start: int  # the start that won: 0 is majority vote, then the random ones
    start_objectives: Float[np.ndarray, " starts"]  # final objective of each start
    warnings: tuple[str, ...]  # what is doubtful, one sentence each

    def noise_model(self) -> Any:
        """The matrices as `jtruth.noise.ConfusionMatrices`, the form that testing and training take."""
        from jtruth.noise import ConfusionMatrices

        return ConfusionMatrices(self.matrices)


def fit_dawid_skene(
    labels: Labels,
    *,
    smoothing: Smoothing = MAXIMUM_LIKELIHOOD,
    gold: Any = None,
    prior: Any = None,
    num_restarts: int = 0,
    key: Array | None = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> DawidSkene:
    """Fit by EM from majority vote, in float64, and say what is doubtful about the result.

    Args:
        labels: the noisy labels, for any number of classes; missing labels and several labels of one sample
            by one labeler are allowed.
        smoothing: pseudo-counts; the default is maximum likelihood, as in the paper.
        gold: (samples,) known classes, -1 where unknown; samples of a known class keep it.
        prior: (classes,) a known class prior, held fixed. By default the prior is learned.
        num_restarts: further starts, from votes in which each labeler has a random weight: they believe
            different labelers, and hardly ever swap classes, which wholly random starts often do. One of
            them wins only by an objective that is higher by more than rounding.
        key: PRNG key; needed with restarts.
        max_steps: most EM steps from each start.
        tol: a start is done when EM changes no probability, and the objective per label, by this much.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.
        RuntimeError: if a step lowered the objective by more than rounding, which EM cannot do.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_dawid_skene(Labels.from_matrix(z, 2))
    >>> print(fit.prior.round(3), fit.matrices[2].round(3).tolist(), fit.converged)
    [0.5 0.5] [[0.667, 0.333], [0.333, 0.667]] True
    """
    gold, prior = _check_arguments(labels, smoothing, gold, prior, num_restarts, key, max_steps, tol)
    size, classes, labelers = labels.num_labelers, labels.num_classes, bucket(labels.num_labelers)
    columns, row = columns_from_labels(labels, gold=gold, num_labelers=labelers)
    pseudo_prior = np.full(classes, float(smoothing.prior))
    pseudo_matrices = np.zeros((labelers, classes, classes))  # padding has no pseudo-counts
    pseudo_matrices[:size] = np.where(np.eye(classes) > 0, smoothing.diagonal, smoothing.off_diagonal)

    def run(trust):
        start = vote_shares(columns, classes, trust)
        result = dawid_skene_em(
            columns, start, pseudo_prior, pseudo_matrices, prior, max_steps=max_steps, tol=tol
        )
        if drop := float(result.largest_drop):
            raise RuntimeError(
                f"an EM step lowered the objective by {drop:.3g}, more than rounding. "
                "EM cannot do that: this is a fault in jtruth. Please report it together with the labels."
            )
        return result

    with jax.enable_x64(True):
        best, winner = run(np.ones(labelers)), 0
        objectives = [float(best.objective)]
        for k in range(1, num_restarts + 1):
            result = run(random_trust(key, k, labelers))
            objectives.append(float(result.objective))
            if objectives[k] > objectives[winner] + _TIE * (1 + abs(objectives[winner])):
                best, winner = result, k
    fit = DawidSkene(
        prior=np.asarray(best.prior),
        matrices=np.asarray(best.matrices)[:size],
        class_posterior=np.asarray(best.class_posterior)[row],
        log_likelihood=float(best.log_likelihood),
        log_posterior=float(best.objective),
        row_labels=np.asarray(best.row_labels)[:size],
        converged=bool(best.converged),
        num_steps=int(best.num_steps),
        monotone=float(best.largest_drop) == 0,
        path=np.asarray(best.path)[: int(best.num_steps)],
        start=winner,
        start_objectives=np.array(objectives),
        warnings=(),
    )
    return fit._replace(warnings=tuple(_doubts(fit, labels, gold, smoothing)))


def _check_arguments(labels, smoothing, gold, prior, num_restarts, key, max_steps, tol):
    """Refuse what cannot be used; gold and prior as NumPy arrays or None."""
    known, fixed = read_given(labels, gold, prior)
    for name, value in smoothing._asdict().items():
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(
                f"smoothing.{name} is a pseudo-count and must be finite and not negative; got {value}"
            )
    if fixed is not None and smoothing.prior:
        raise ValueError("prior is held fixed, so smoothing.prior has nothing to act on; give one of the two")
    check_steps(max_steps, tol)
    if num_restarts < 0:
        raise ValueError(f"need num_restarts >= 0; got {num_restarts}")
    if num_restarts and key is None:
        raise ValueError("random restarts need a key; pass key=jax.random.key(0), or any other seed")
    return (None if gold is None else known), fixed


def _doubts(fit, labels, gold, smoothing):
    """Sentences about what the data could not settle."""
    workers = labels.workers or tuple(range(labels.num_labelers))
    classes = labels.classes or tuple(range(labels.num_classes))
    yield from not_converged("EM", fit.converged, fit.num_steps)
    yield from unlabelled(labels)
    if labels.labels_per_sample().max() < 3 and gold is None:
        yield (
            "No sample has more than two labels: labels alone do not determine the matrices, and the result "
            "depends on the start. Get a third label for some samples, or gold labels."
        )
    empty = fit.class_posterior.sum(axis=0) < _NO_LABELS
    for c in np.flatnonzero(empty):
        yield f"No sample seems to be of class {classes[c]!r}."
    unlearned = np.argwhere((fit.row_labels < _NO_LABELS) & ~empty[None, :])
    if unlearned.size:
        shown = ", ".join(f"({workers[t]!r}, {classes[c]!r})" for t, c in unlearned[:5].tolist())
        yield (
            f"{len(unlearned)} matrix rows (labeler, true class) rest on no label: {shown}"
            f"{', ...' if len(unlearned) > 5 else ''}. They "
            + ("come from the pseudo-counts." if any(smoothing[:2]) else "are uniform and mean nothing.")
        )
    pooled = np.einsum("tc,tck->ck", fit.row_labels, fit.matrices)
    pooled = pooled / np.maximum(pooled.sum(axis=1, keepdims=True), _NO_LABELS)
    yield from exchanged(pooled, classes)
