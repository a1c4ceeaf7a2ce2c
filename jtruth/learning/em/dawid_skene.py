"""Dawid and Skene (1979): learn every labeler's confusion matrix and the class prior from the labels alone.

EM (`matrices`) finds a local maximum of the likelihood (with pseudo-counts: of the posterior density), from
the majority vote, in float64. Labels alone do not name the classes: only the start, gold labels or
pseudo-counts tie class c to label c, and `warnings` tell where a result looks swapped. Labelers are assumed
to err independently, also in several labels of a sample by one; else the class posterior is overconfident.

With devices of several processes each process has the samples of its shard, filled up to the largest by
samples of weight 0, and counts are added up each step. Parameters come back to every process, the class
posterior only where its samples are.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Float

from jtruth import _mesh
from jtruth._mesh import as_auto, mesh_axis, together
from jtruth._random import host_rng, seeded
from jtruth._validation.in_range import check_not_negative, check_whole
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.learning import _fit
from jtruth.learning._fit import Fit, exchanged, gold_and_prior, known_prior, not_converged, unlabelled
from jtruth.learning.em.columns import LabelColumns, bucket, columns_from_labels, longer
from jtruth.learning.em.matrices import EMResult, dawid_skene_em

_TIE = 1e-8  # relative; a swapped twin of an optimum is equally high, up to rounding
_NO_LABELS = 1e-6  # a matrix row with fewer expected labels was not learned


class Smoothing(NamedTuple):
    """Pseudo-counts: Dirichlet priors with concentration 1 + pseudo-count; all 0 is maximum likelihood.

    `Smoothing(0.01, 0.01)` only keeps probabilities off 0; `Smoothing(diagonal=1, off_diagonal=0.5)` is the
    prior of labelers who are better than chance.
    """

    diagonal: float = 0.0  # to every psi_t[c, c]
    off_diagonal: float = 0.0  # to every psi_t[c, k], k != c
    prior: float = 0.0  # to every pi[c]

    def rows(self, classes: int) -> Float[np.ndarray, "classes classes"]:
        """Those of one labeler's matrix."""
        return np.where(np.eye(classes) > 0, float(self.diagonal), float(self.off_diagonal))


MAXIMUM_LIKELIHOOD = Smoothing()


@seeded
def fit_dawid_skene(
    labels: Labels,
    *,
    smoothing: Smoothing = MAXIMUM_LIKELIHOOD,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    num_restarts: int = 0,
    mesh: jax.sharding.Mesh | None = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Confusion matrices, class prior and classes by EM from the majority vote, and from random starts.

    Args:
        labels: the noisy labels, of any number of classes, with gaps, or several of a sample by one labeler.
        smoothing: pseudo-counts; the default is maximum likelihood, as in the paper.
        gold: (samples,) known classes, -1 where unknown.
        prior: (classes,) a known class prior. By default the prior is learned.
        key: seed of the restarts: a whole number or a JAX key; 0 if None.
        num_restarts: further starts, from votes in which each labeler has a random weight. One of them wins
            only if its objective is higher by more than rounding.
        mesh: devices that share the samples (docs/many_devices.md). Each of several processes gives its part
            of the labels (`jtruth.io.read_shard`) and gets the class posterior and warnings of that part.
        max_steps: most EM steps.
        tol: EM stops when a step would change no probability by this much.

    Returns:
        `Fit`. Its own: `matrices` (labelers, classes, classes), rows true class, columns label;
        `row_labels` (labelers, classes), the expected number of labels behind each row; `log_posterior`,
        log-likelihood and sum of pseudo-count * log probability; `path` (steps,), its value after each step;
        `start_objectives` (1 + num_restarts,), its value at the end of each start, the majority vote first.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.
        RuntimeError: if a step lowered the objective by more than rounding, which EM cannot do.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_dawid_skene(Labels.from_matrix(z, 2))
    >>> print(fit.prior.round(3), fit.matrices[2].round(3).tolist(), fit.converged)
    [0.5 0.5] [[0.667, 0.333], [0.333, 0.667]] True
    """
    known, fixed = _read(labels, smoothing, gold, prior, mesh, max_steps, tol)
    check_whole(0, num_restarts=num_restarts)
    rng = host_rng(key, "restart", 0)
    trusts = [None, *(rng.standard_exponential((num_restarts, labels.num_labelers)) ** 2 + 1e-6)]
    fit = _fitted(labels, known, fixed, smoothing, mesh, trusts, max_steps=max_steps, tol=tol)
    return fit._replace(warnings=tuple(_doubts(fit, labels, known, smoothing)))


@seeded
def fit_one_coin(
    labels: Labels,
    *,
    smoothing: Smoothing = MAXIMUM_LIKELIHOOD,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """One accuracy for each labeler, for crowds in which nobody has enough labels for a matrix.

        p(z_t = k | y = c) = q_t if k = c, else (1 - q_t) / (C - 1)

    Arguments and errors are those of `fit_dawid_skene`. Pseudo-counts are those of a matrix:
    `Smoothing(diagonal=1, off_diagonal=.5)` adds C right labels and C (C - 1) / 2 wrong ones to each labeler.

    Returns:
        `Fit`. Its own: `accuracy` q (labelers,), 1 / C for a labeler without labels and pseudo-counts; and
        `log_posterior` and `path` as of `fit_dawid_skene`.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_one_coin(Labels.from_matrix(z, 2))
    >>> print(fit.accuracy.round(3), fit.converged)
    [1.    1.    0.667] True
    """
    known, fixed = _read(labels, smoothing, gold, prior, None, max_steps, tol)
    fit = _fitted(labels, known, fixed, smoothing, max_steps=max_steps, tol=tol, one_coin=True)
    doubts = (
        *not_converged("EM", fit.converged, fit.num_steps),
        *unlabelled(labels, labelers="their accuracy is undefined."),
        *exchanged(np.einsum("tc,tck->ck", fit.row_labels, fit.matrices), labels.class_names),
    )
    own = {"log_posterior": fit.log_posterior, "path": fit.path, "accuracy": fit.matrices[:, 0, 0]}
    return fit._replace(warnings=doubts, own=own)


def _read(labels, smoothing, gold, prior, mesh, max_steps, tol):
    """Gold and prior, checked, or None; with several processes by all of them, and a shard may be empty."""

    def check():
        known, fixed = gold_and_prior(labels, gold, prior)
        for name, value in smoothing._asdict().items():
            check_not_negative(value, f"smoothing.{name}")
        if fixed is not None and smoothing.prior:
            raise ValueError("prior is fixed, so smoothing.prior has no effect; give one of the two")
        _fit.check_steps(max_steps, tol)
        return (None if gold is None else known), fixed

    if not is_shared(mesh):
        return check()
    together(lambda: None if labels.num_samples == 0 else check())
    _agree(labels, mesh)
    if labels.num_samples:
        return check()
    return None, None if prior is None else known_prior(prior, labels.class_names, np.zeros(0, np.int64))


def _doubts(fit, labels, gold, smoothing):
    """Sentences about what the data of this shard could not settle."""
    workers = labels.worker_names
    classes = labels.classes or tuple(range(labels.num_classes))
    yield from not_converged("EM", fit.converged, fit.num_steps)
    if not labels.num_samples:
        return
    yield from unlabelled(labels)
    if labels.labels_per_sample().max() < 3 and gold is None:
        yield (
            "No sample has more than two labels, so the labels do not determine the matrices, and the result "
            "depends on the start. Collect a third label for some samples, or gold labels."
        )
    empty = fit.class_posterior.sum(axis=0) < _NO_LABELS
    for c in np.flatnonzero(empty):
        yield f"Class {classes[c]!r} is estimated to have no sample."
    unlearned = np.argwhere((fit.row_labels < _NO_LABELS) & ~empty[None, :])
    if unlearned.size:
        first = ", ".join(f"({workers[t]!r}, {classes[c]!r})" for t, c in unlearned[:5].tolist())
        yield (
            f"{number_of(len(unlearned), 'matrix row')} (labeler, true class) have no label: {first}"
            f"{' and others' if len(unlearned) > 5 else ''}. They "
            + ("come from the pseudo-counts." if any(smoothing[:2]) else "are uniform and uninformative.")
        )
    free = labels.num_labelers * labels.num_classes * (labels.num_classes - 1)
    if free > labels.num_labels and not any(smoothing[:2]):
        yield (
            f"Maximum likelihood overfits: there are {labels.num_labels} labels for {free} parameters, so "
            "class probabilities are too extreme. Give smoothing, or use the method 'hierarchical'."
        )
    pooled = np.einsum("tc,tck->ck", fit.row_labels, fit.matrices)
    pooled = pooled / np.maximum(pooled.sum(axis=1, keepdims=True), _NO_LABELS)
    yield from exchanged(pooled, classes)


def _fitted(labels, gold, prior, smoothing, mesh=None, trusts=(None,), **steps) -> Fit:
    """The best EM from vote shares, weighted by each of `trusts`; `steps` are those of EM."""
    size, classes = labels.num_labelers, labels.num_classes
    padded = bucket(size)
    columns, row = columns_from_labels(labels, gold=gold, num_labelers=padded)
    if mesh is not None:
        columns = _in_common(columns, mesh, padded * classes)
    pseudo_counts = np.full(classes, smoothing.prior), np.tile(smoothing.rows(classes), (size, 1, 1))
    ends = []
    for trust in trusts:
        shares = np.zeros((columns.weight.size, classes))
        shares[row] = _fit.first_guess(labels, gold, trust)
        ends.append(climbed(columns, shares, pseudo_counts, prior, mesh, **steps))
    objectives, winner = [float(one.objective) for one in ends], 0
    for k, objective in enumerate(objectives):
        if objective > objectives[winner] + _TIE * (1 + abs(objectives[winner])):
            winner = k
    end = ends[winner]
    p = here(end.class_posterior).astype(np.float64, copy=False)  # no copy where rows are the samples
    p = p[: row.size] if (row == np.arange(row.size)).all() else p[row]
    num_steps = int(end.num_steps)
    own = {
        "matrices": np.asarray(end.matrices, np.float64)[:size],
        "row_labels": np.asarray(end.row_labels, np.float64)[:size],
        "log_posterior": float(end.objective),
        "path": np.asarray(end.path, np.float64)[:num_steps],
        "start_objectives": np.array(objectives),
    }
    prior, log_likelihood = np.asarray(end.prior, np.float64), float(end.log_likelihood)
    return Fit(prior, p, log_likelihood, bool(end.converged), num_steps, own=own)


def climbed(
    columns: LabelColumns, start: np.ndarray, pseudo_counts: Any, prior: Any, mesh: Any = None, **steps: Any
) -> EMResult:
    """`dawid_skene_em` in float64, its samples shared over the mesh; parameters come to every process.

    Pseudo-counts are those of the labelers that there are; the others, padding, have none.

    Raises:
        RuntimeError: if a step lowered the objective by more than rounding, which EM cannot do.
    """
    of_prior, of_matrices = pseudo_counts
    more = bucket(len(of_matrices)) - len(of_matrices)
    pseudo_counts = of_prior, np.pad(of_matrices, ((0, more), (0, 0), (0, 0)))
    run = dawid_skene_em
    with jax.enable_x64(True):
        if mesh is not None:
            columns, start = _placed(mesh, columns, start)
        if mesh is not None and is_shared(mesh):
            everywhere = NamedSharding(as_auto(mesh), PartitionSpec())
            rows = NamedSharding(as_auto(mesh), PartitionSpec(mesh_axis(mesh, hosts=True)))
            placed: Any = EMResult  # of shardings here, one for each result
            shardings = placed(*(rows if k == "class_posterior" else everywhere for k in EMResult._fields))
            run, steps = jax.jit(partial(run, **steps), out_shardings=shardings), {}
        result = run(columns, start, pseudo_counts, prior, **steps)
        if drop := float(result.largest_drop):
            raise RuntimeError(
                f"an EM step lowered the objective by {drop:.3g}, more than rounding allows. This is a bug "
                "in jtruth; please report it together with the labels."
            )
    return result


def _placed(mesh: jax.sharding.Mesh, columns: LabelColumns, start: np.ndarray) -> tuple:
    """Columns and start with their samples shared over the mesh; each process hands over its part."""
    axis, shared, owner = mesh_axis(mesh, hosts=True), is_shared(mesh), columns.sample

    def place(array: np.ndarray, *dimensions: Any) -> jax.Array:
        sharding = NamedSharding(as_auto(mesh), PartitionSpec(*dimensions))
        if shared:
            return jax.make_array_from_process_local_data(sharding, array)
        return jax.device_put(array, sharding)

    if owner is not None:  # numbered through over the processes, each of which has as many samples
        first = jax.process_index() * columns.weight.size if shared else 0
        owner = place(owner + np.asarray(first, owner.dtype), axis)
    data = LabelColumns(
        place(columns.code, None, axis), place(columns.weight, axis), place(columns.known, axis), owner
    )
    return data, place(start, axis)


def is_shared(mesh: Any) -> bool:
    """Whether a mesh has devices of several processes."""
    return isinstance(mesh, jax.sharding.Mesh) and len({d.process_index for d in mesh.devices.flat}) > 1


def _agree(labels: Labels, mesh: Any) -> None:
    """Refuse shards whose codes mean different things, and a mesh that not all processes share evenly.

    Raises:
        ValueError: in every process, showing what two of them have.
    """
    _mesh.same_everywhere("class names", labels.class_names)
    _mesh.same_everywhere("labelers", [str(name) for name in labels.worker_names])
    owners = [device.process_index for device in mesh.devices.flat]
    even = np.repeat(np.arange(jax.process_count()), len(owners) // jax.process_count())
    if owners != even.tolist():
        raise ValueError(
            f"devices of the mesh belong to processes {owners}; give all of them, as many of each: "
            "jax.make_mesh((jax.device_count(),), ('samples',))"
        )


def _in_common(columns: LabelColumns, mesh: Any, nothing: int) -> LabelColumns:
    """Columns whose sizes the devices divide; on several processes, of one size and numbered through."""
    axis = mesh_axis(mesh, hosts=True)  # refuses what is no mesh
    devices = mesh.shape[axis]
    (width, rows), samples = columns.code.shape, columns.weight.size
    if not is_shared(mesh):
        return longer(columns, -rows % devices, -samples % devices, nothing)
    every = _mesh.gathered([width, rows, samples, columns.sample is not None])
    most = np.max(np.array(every, int), axis=0).tolist()
    local = devices // jax.process_count()
    rows_each, samples_each = (
        size + -size % local for size in (most[1], max(most[2], most[1] * (not most[3])))
    )
    code = np.pad(columns.code, ((0, most[0] - width), (0, 0)), constant_values=nothing)
    if most[3] and columns.sample is None:  # the sample of each row
        columns = columns._replace(sample=np.arange(rows, dtype=np.int32))
    return longer(columns._replace(code=code), rows_each - rows, samples_each - samples, nothing)


def here(array: jax.Array) -> np.ndarray:
    """The rows of an array that this process has, in order."""
    if array.is_fully_addressable:
        return np.asarray(array)
    parts = sorted(array.addressable_shards, key=lambda part: part.index[0].start or 0)
    return np.concatenate([np.asarray(part.data) for part in parts])
