"""Dawid and Skene (1979): learn every labeler's confusion matrix and the class prior from the labels alone.

The model: a sample's class is drawn from a prior, and each labeler, shown a sample of class c, gives label k
with a probability psi[c, k] of its own, independently of the other labelers. `fit_dawid_skene` finds the
prior and the matrices of highest likelihood (or, with pseudo-counts, of highest posterior density) by EM from
majority vote, and from random starts if asked; in float64, unless float32 is asked for, whatever JAX's
default is. The pure function under it, `dawid_skene_em`, is there for `jit` and for `vmap` over simulated
data sets, weights or starts.

Three things to know. EM finds a local maximum; restarts look for better ones. Labels alone do not name the
classes: swapping two of them everywhere gives the same likelihood, and only the start (majority vote), gold
labels or pseudo-counts tie class c to label c; a result that looks swapped says so in `warnings`. And the
model takes labelers to err independently, several labels of one sample by one labeler included, as the paper
does; where they do not, the class posterior is too sure of itself.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._processes import together
from jtruth.labels import Labels
from jtruth.learning._given import exchanged, not_converged, unlabelled
from jtruth.learning.em.hosts import agree, is_shared
from jtruth.learning.em.starts import (
    MAXIMUM_LIKELIHOOD,
    Smoothing,
    Starts,
    best_of_starts,
    check_arguments,
)

_NO_LABELS = 1e-6  # a matrix row that rests on less than this expected number of labels was not learned


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

    __repr__ = one_line

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
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
    mesh: jax.sharding.Mesh | None = None,
    dtype: str = "float64",
) -> DawidSkene:
    """Fit by EM from majority vote, and say what is doubtful about the result.

    Args:
        labels: the noisy labels, for any number of classes; missing labels and several labels of one sample
            by one labeler are allowed.
        smoothing: pseudo-counts; the default is maximum likelihood, as in the paper.
        gold: (samples,) known classes, -1 where unknown; samples of a known class keep it.
        prior: (classes,) a known class prior, held fixed. By default the prior is learned.
        num_restarts: further starts, from votes in which each labeler has a random weight: they believe
            different labelers, and hardly ever swap classes, which wholly random starts often do. One of
            them wins only by an objective that is higher by more than rounding.
        key: a whole number or a JAX key; needed with restarts.
        max_steps: most EM steps from each start.
        tol: a start is done when EM changes no probability, and the objective per label, by this much.
        mesh: devices that share the samples; counts are added up once a step (docs/many_devices.md). Of
            several processes, each gives its part of the labels (`jtruth.io.read_shard`) and gets the class
            posterior of it; what is doubtful is then said of that part.
        dtype: "float32" computes with half the memory, to about 1e-4 in a probability; needs tol >= 1e-5.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.
        RuntimeError: if a step lowered the objective by more than rounding, which EM cannot do.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_dawid_skene(Labels.from_matrix(z, 2))
    >>> print(fit.prior.round(3), fit.matrices[2].round(3).tolist(), fit.converged)
    [0.5 0.5] [[0.667, 0.333], [0.333, 0.667]] True
    """
    starts = Starts(num_restarts, key, max_steps, tol, mesh, dtype)
    known, fixed = _read(labels, mesh, (smoothing, gold, prior, starts))
    found = best_of_starts(labels, known, fixed, smoothing, starts)
    fit = DawidSkene(**found._asdict(), warnings=())
    return fit._replace(warnings=tuple(_doubts(fit, labels, known, smoothing)))


def _read(labels, mesh, given):
    """Gold and prior, checked; in several processes by all of them, and a shard may be empty."""
    if not is_shared(mesh):
        return check_arguments(labels, *given)
    together(lambda: None if labels.num_samples == 0 else check_arguments(labels, *given))
    agree(labels, mesh)
    if labels.num_samples:
        return check_arguments(labels, *given)
    prior = given[2]
    return None, None if prior is None else np.asarray(prior, np.float64) / np.sum(prior)


def _doubts(fit, labels, gold, smoothing):
    """Sentences about what the data could not settle; where shards are fitted, what this one shows of it."""
    workers = labels.workers or tuple(range(labels.num_labelers))
    classes = labels.classes or tuple(range(labels.num_classes))
    yield from not_converged("EM", fit.converged, fit.num_steps)
    if not labels.num_samples:
        return
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
    free = labels.num_labelers * labels.num_classes * (labels.num_classes - 1)
    given = int((np.asarray(labels.label) >= 0).sum())
    if free > given and not any(smoothing[:2]):
        yield (
            f"{given} labels for {free} free numbers: maximum likelihood fits the noise, and classes "
            "are far too sure or wrong. Give smoothing, or use the method 'hierarchical'."
        )
    pooled = np.einsum("tc,tck->ck", fit.row_labels, fit.matrices)
    pooled = pooled / np.maximum(pooled.sum(axis=1, keepdims=True), _NO_LABELS)
    yield from exchanged(pooled, classes)
