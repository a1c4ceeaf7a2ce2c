"""EM on the host: from majority vote and, if asked, from random starts; the best of them, in float64.

What `fit_dawid_skene` and `fit_one_coin` share: the options they check, the starts, and the result as NumPy.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from jtruth.labels import Labels
from jtruth.learning._given import check_steps, read_given
from jtruth.learning.em._steps import dawid_skene_em
from jtruth.learning.em.columns import (
    LabelColumns,
    bucket,
    columns_from_labels,
    random_trust,
    starting_shares,
)
from jtruth.learning.em.hosts import em_on, here, in_common, place, place_owners

_LEAST_TOL = 1e-5  # in float32
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


class Starts(NamedTuple):
    """From where EM climbs, and how far."""

    num_restarts: int = 0  # beside majority vote
    key: Any = None
    max_steps: int = 10_000
    tol: float = 1e-8
    mesh: jax.sharding.Mesh | None = None  # devices that share the samples
    dtype: str = "float64"  # or "float32": half the memory


class Climbed(NamedTuple):
    """The best start's end, NumPy float64; the fields of `DawidSkene`."""

    prior: Float[np.ndarray, " classes"]
    matrices: Float[np.ndarray, "labelers classes classes"]
    class_posterior: Float[np.ndarray, "samples classes"]
    log_likelihood: float
    log_posterior: float
    row_labels: Float[np.ndarray, "labelers classes"]
    converged: bool
    num_steps: int
    monotone: bool
    path: Float[np.ndarray, " steps"]
    start: int
    start_objectives: Float[np.ndarray, " starts"]


def best_of_starts(
    labels: Labels,
    gold: Int[np.ndarray, " samples"] | None,
    prior: Float[np.ndarray, " classes"] | None,
    smoothing: Smoothing,
    starts: Starts,
    *,
    one_coin: bool = False,
) -> Climbed:
    """Climb from each start, in the type of `starts`; a random one wins only by more than rounding.

    Raises:
        RuntimeError: if a step lowered the objective by more than rounding, which EM cannot do.
    """
    size, labelers = labels.num_labelers, bucket(labels.num_labelers)
    columns, row = columns_from_labels(labels, gold=gold, num_labelers=labelers)
    if starts.mesh is not None:
        columns = in_common(columns, starts.mesh, labelers * labels.num_classes)
    columns = columns._replace(weight=columns.weight.astype(starts.dtype))
    prior = None if prior is None else prior.astype(starts.dtype)
    run = partial(_climb, columns, _pseudo_counts(labels, labelers, smoothing, starts.dtype), prior, starts,
                  one_coin)  # fmt: skip
    with jax.enable_x64(True):
        best, winner = run(np.ones(labelers)), 0
        objectives = [float(best.objective)]
        for k in range(1, starts.num_restarts + 1):
            result = run(random_trust(starts.key, k, labelers))
            objectives.append(float(result.objective))
            if objectives[k] > objectives[winner] + _TIE * (1 + abs(objectives[winner])):
                best, winner = result, k
    return _on_host(best, size, row, winner, objectives)


def _pseudo_counts(labels, labelers, smoothing, dtype):
    """Those of the class prior, and of matrices (labelers, classes, classes); padding has none."""
    classes = labels.num_classes
    of_matrices = np.zeros((labelers, classes, classes), dtype)
    every = np.where(np.eye(classes) > 0, smoothing.diagonal, smoothing.off_diagonal)
    of_matrices[: labels.num_labelers] = every
    return np.full(classes, smoothing.prior, dtype), of_matrices


def _climb(columns, pseudo_counts, prior, starts, one_coin, trust):
    """EM from votes in which each labeler has a weight."""
    votes = starting_shares(columns, pseudo_counts[0].size, trust).astype(starts.dtype)
    data, start = _placed(starts.mesh, columns, votes)
    result = em_on(starts.mesh, dawid_skene_em)(
        data, start, pseudo_counts, prior, max_steps=starts.max_steps, tol=starts.tol, one_coin=one_coin,
        block=None if starts.mesh is None else 0,
    )  # fmt: skip
    if drop := float(result.largest_drop):
        raise RuntimeError(
            f"an EM step lowered the objective by {drop:.3g}, more than rounding. "
            "EM cannot do that: this is a fault in jtruth. Please report it together with the labels."
        )
    return result


def _on_host(best, size, row, winner, objectives) -> Climbed:
    """The start that won, as NumPy arrays of the labelers and samples that there are."""
    return Climbed(
        prior=np.asarray(best.prior, np.float64),
        matrices=np.asarray(best.matrices, np.float64)[:size],
        class_posterior=_of_samples(best.class_posterior, row),
        log_likelihood=float(best.log_likelihood),
        log_posterior=float(best.objective),
        row_labels=np.asarray(best.row_labels, np.float64)[:size],
        converged=bool(best.converged),
        num_steps=int(best.num_steps),
        monotone=float(best.largest_drop) == 0,
        path=np.asarray(best.path, np.float64)[: int(best.num_steps)],
        start=winner,
        start_objectives=np.array(objectives),
    )


def _of_samples(rows: jax.Array, row: np.ndarray) -> Float[np.ndarray, "samples classes"]:
    """Row `row` of the rows for every sample, float64; no copy where they are the samples."""
    found = here(rows).astype(np.float64, copy=False)
    return found[: row.size] if (row == np.arange(row.size)).all() else found[row]


def _placed(mesh: jax.sharding.Mesh | None, columns: LabelColumns, start: np.ndarray) -> tuple:
    """Columns and start with their samples shared over the mesh, if there is one."""
    if mesh is None:
        return columns, start
    data = LabelColumns(
        place(mesh, columns.code, 1),
        place(mesh, columns.weight, 0),
        place(mesh, columns.known, 0),
        None if columns.sample is None else place_owners(mesh, columns.sample, columns.weight.size),
    )
    return data, place(mesh, start, 0)


def check_arguments(labels, smoothing, gold, prior, starts):
    """Refuse what cannot be used; gold and prior as NumPy arrays or None."""
    known, fixed = read_given(labels, gold, prior)
    for name, value in smoothing._asdict().items():
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(
                f"smoothing.{name} is a pseudo-count and must be finite and not negative; got {value}"
            )
    if fixed is not None and smoothing.prior:
        raise ValueError("prior is held fixed, so smoothing.prior has nothing to act on; give one of the two")
    check_steps(starts.max_steps, starts.tol)
    if starts.num_restarts < 0:
        raise ValueError(f"need num_restarts >= 0; got {starts.num_restarts}")
    if starts.dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32'; got {starts.dtype!r}")
    if starts.dtype == "float32" and starts.tol < _LEAST_TOL:
        raise ValueError(
            f"float32 cannot tell changes below about {_LEAST_TOL}; give tol={_LEAST_TOL} or more"
        )
    if starts.num_restarts and starts.key is None:
        raise ValueError("random restarts need a key; pass key=jax.random.key(0), or any other seed")
    return (None if gold is None else known), fixed
