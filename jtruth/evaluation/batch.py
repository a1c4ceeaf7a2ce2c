"""`evaluate_batch`: thousands of label sets evaluated in one call, for simulations and bootstraps.

Sets of equal (or padded) size are evaluated in a few compiled programs. The methods:

    "bayes"             known error rates; exact posterior of the count table (`testing.binary.batch`)
    "empirical_bayes"   known error rates; operating point by exact conditional means, then plugged in
    "joint"             joint posterior of classes, labelers and classifier with independent errors: weighted
                        draws if they are enough (two classes), else chains (`learning.joint.batch`)
    "shared_strata"...  the same under any model of `fit_joint`, by name or as a function that builds it:
                        tempering (`learning.joint.tempered_batch`)
    "em"                Dawid and Skene's EM for labelers and classifier, then plugged in

The methods with known rates and "em" are for two classes. A smaller set is padded with samples without labels
and without a prediction (-1). Do not use a set that is not `ok`: it has no label, its posterior did not fit
the window, its chains disagree or are short (R-hat above 1.05, fewer than 100 effective draws), EM did not
converge, or the learned raters are on average no better than chance (classes exchanged names). All work is in
float64 except the chains of "joint".
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Shaped

from jtruth import _host
from jtruth._arrays import AnyArray
from jtruth._cache import keep_programs
from jtruth._mesh import over_sets
from jtruth._one_line import one_line
from jtruth._random import as_key, seeded
from jtruth._validation import by_class, choose, present
from jtruth._validation.in_range import check_codes, check_rows
from jtruth._validation.words import some
from jtruth.learning import dawid_skene_em
from jtruth.learning.em.columns import columns_from_matrix
from jtruth.learning.joint.batch import MOST_RATERS, JointBatch, joint_batch, weighted_batch
from jtruth.learning.joint.models import MODEL_NAMES, Build
from jtruth.learning.joint.tempered_batch import tempered_batch
from jtruth.noise.base import NoiseModel, as_matrices
from jtruth.stats.chains import effective_sample_size, split_rhat
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import check_level
from jtruth.tables.metrics import default_metrics, named_metric, of_one_class
from jtruth.testing.binary.batch import exact_batch
from jtruth.testing.binary.empirical_bayes import exact_step
from jtruth.testing.binary.operating_point import BetaPrior
from jtruth.testing.steps import iterate

_KNOWN, _PLUGGED_IN = ("bayes", "empirical_bayes"), ("bayes", "empirical_bayes", "em")  # rates
_PSEUDO = 0.01  # count in every cell of EM, which keeps probabilities off 0
_MAX_RHAT, _MIN_ESS = 1.05, 100.0


class BatchEvaluation(NamedTuple):
    """One row for each set; metrics in the order of `metrics`, each given that it is defined."""

    metrics: tuple[str, ...]
    mean: Float[np.ndarray, "sets metrics"]
    sd: Float[np.ndarray, "sets metrics"]
    low: Float[np.ndarray, "sets metrics"]  # shortest interval of `level` that contains the mean
    high: Float[np.ndarray, "sets metrics"]
    ok: Bool[np.ndarray, " sets"]  # see the module docstring
    prior: Float[np.ndarray, "sets classes"]  # given, learned, or posterior mean
    matrices: Float[np.ndarray, "sets raters classes symbols"]  # given, or learned: the classifier's is last
    ess: Float[np.ndarray, " sets"]  # "joint": smallest effective sample size of the metrics; else infinite

    __repr__ = one_line


@seeded
def evaluate_batch(
    y_pred: Shaped[AnyArray, "sets samples"],
    labels: Shaped[AnyArray, "sets samples labelers"],
    *,
    noise: NoiseModel | Float[AnyArray, "*sets labelers classes symbols"] | None = None,
    prior: Float[AnyArray, " classes"] | None = None,
    method: str | Build | None = None,
    level: float = 0.95,
    key: Any = None,
    mesh: jax.sharding.Mesh | None = None,
) -> BatchEvaluation:
    """Evaluate every set of predictions and labels.

    Args:
        y_pred: predicted classes, -1 where there is no sample.
        labels: codes 0..C-1, -1 for no label; of symbols 0..S-1 if `noise` has so many columns.
        noise, prior: matrices of the labelers, of all sets or of each, rows are true classes, or a noise
            model of independent labelers; and the class prior.
        method: see the module; None: "bayes" with `noise`, else "joint".
        level: probability of the intervals.
        key: seed: a whole number or a JAX key; 0 if None. Each set has its own stream.
        mesh: devices that share the sets.

    Raises:
        ValueError: shapes that do not match, codes out of range, a method that does not fit the input, labels
            that are impossible under `noise`, sets that are too large for a model.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> found = evaluate_batch(z[None, :, 0], z[None], noise=np.full((3, 2, 2), 0.1) + 0.8 * np.eye(2),
    ...                        prior=np.array([0.5, 0.5]))
    >>> found.metrics[0], round(float(found.mean[0, 0]), 2), bool(found.ok[0])
    ('accuracy', 1.0, True)
    """
    keep_programs()
    check_level(level)
    method = method or ("joint" if noise is None else "bayes")
    if isinstance(method, str):
        choose("method", method, (*_PLUGGED_IN, "joint", *MODEL_NAMES))
    y, z, classes, noise, prior = _checked(y_pred, labels, noise, prior, method)
    labelled = (z >= 0).any(axis=(1, 2))  # nothing is learned of a set without any label
    if method not in _PLUGGED_IN:
        if method == "joint":
            result = _joint(y, z, classes, level, as_key(key), mesh)
        else:
            result = _read(tempered_batch(key, z, y, classes, method, mesh=mesh), classes, level)
        return result._replace(ok=result.ok & labelled)
    with jax.enable_x64(True):
        known: Any = BetaPrior()  # of the operating point, or the point itself
        if method == "em":  # the matrices of all raters, the classifier's last
            raters = jnp.asarray(np.concatenate([z, y[:, :, None]], axis=2), jnp.int32)
            prior, noise, converged = map(np.asarray, over_sets(_em, mesh, raters))
            known = noise[:, -1, [1, 0], 1]
            labelled &= converged & _beyond_chance(noise)
        matrices, each = np.asarray(noise), np.broadcast_to(prior, (len(y), 2))
        x = _log_odds(z, matrices if method != "em" else matrices[:, :-1], each)
        if method == "empirical_bayes":
            there = jnp.where(jnp.asarray(y) < 0, 0.0, jnp.asarray(x))
            known = np.asarray(over_sets(_fixed_points, mesh, there, jnp.asarray(y, jnp.int32)))
        result = exact_batch(x, y, prior=known, level=level, mesh=mesh)
        result = jax.tree.map(np.asarray, result)
    low, high = np.minimum(result.low, result.mean), np.maximum(result.high, result.mean)
    matrices = np.broadcast_to(matrices, (len(y), *matrices.shape[-3:]))
    return BatchEvaluation(
        default_metrics("01"), result.mean, result.sd, low, high, result.ok & labelled, each, matrices,
        np.full(len(y), np.inf),
    )  # fmt: skip


def _joint(y, z, classes, level, key, mesh) -> BatchEvaluation:
    """Summarize draws of the count tables: weighted ones, chains if those are too few."""
    parts, chosen = [], np.arange(len(y))
    if classes == 2 and z.shape[2] < MOST_RATERS:
        weighed = weighted_batch(key, z, y, classes, mesh=mesh)
        ess = np.asarray(present(weighed.ess, "effective draws"))
        good = np.asarray(weighed.ok) & (ess >= _MIN_ESS)
        numbers = _read(jax.tree.map(lambda a: a[good], weighed), classes, level)
        parts.append((np.flatnonzero(good), numbers._replace(ess=ess[good])))
        chosen = np.flatnonzero(~good)
    if chosen.size:
        # Filled up to a few sizes, since each is compiled for itself.
        size = min(len(y), max(8, 1 << int(chosen.size - 1).bit_length()))
        filled = np.resize(chosen, size)
        chains = joint_batch(key, z[filled], y[filled], classes, numbers=filled, mesh=mesh)
        chains = jax.tree.map(lambda a: np.asarray(a)[: chosen.size], chains)
        parts.append((chosen, _read(chains, classes, level)))
    order = np.concatenate([which for which, _ in parts]).argsort()
    fields = zip(*[numbers[1:] for _, numbers in parts], strict=True)
    return BatchEvaluation(parts[0][1].metrics, *(np.concatenate(field)[order] for field in fields))


def _read(batch: JointBatch, classes: int, level: float) -> BatchEvaluation:
    codes, counts = [str(c) for c in range(classes)], np.asarray(batch.counts, np.float64)
    names = tuple(name for name in default_metrics(codes) if classes == 2 or not of_one_class(name))
    numbers = np.empty((len(counts), len(names), 4))
    ess, rhat = np.full(numbers.shape[:2], np.inf), np.ones(numbers.shape[:2])
    for k, name in enumerate(names):
        metric = named_metric(name, codes)
        draws = np.moveaxis(metric.of_table(counts), 0, 2)  # (chains, sweeps, sets)
        if len(draws) > 1:
            filled = np.where(np.isnan(draws), 0.0, draws)  # undefined: as good as any number for mixing
            ess[:, k] = np.nan_to_num(effective_sample_size(filled), nan=np.inf)
            rhat[:, k] = np.nan_to_num(split_rhat(filled, groups=4), nan=1.0)
        for s in range(len(counts)):
            dist = DrawsEstimate(draws[:, :, s].ravel())
            low, high = dist.interval(level)
            numbers[s, k] = dist.mean, dist.sd, low, high
    prior, matrices = np.asarray(batch.prior), np.asarray(batch.matrices)
    ok = (rhat.max(axis=1) < _MAX_RHAT) & (ess.min(axis=1) >= _MIN_ESS) & _beyond_chance(matrices)
    mean, sd, low, high = np.moveaxis(numbers, 2, 0)
    return BatchEvaluation(names, mean, sd, low, high, ok, prior, matrices, ess.min(axis=1))


def _beyond_chance(matrices: Float[np.ndarray, "sets raters classes classes"]) -> Bool[np.ndarray, " sets"]:
    """Whether raters are on average better than guessing; if not, classes exchanged names."""
    right = np.diagonal(matrices, axis1=2, axis2=3).mean(axis=(1, 2))
    return right > 1.0 / matrices.shape[-1]


@jax.jit
def _em(labels):
    def one(labels):
        columns = columns_from_matrix(labels, 2)
        classes = jnp.arange(2, dtype=labels.dtype)[None, None, :]
        votes = (labels[:, :, None] == classes).sum(axis=1).astype(columns.weight.dtype)
        total = votes.sum(axis=1, keepdims=True)
        columns = columns._replace(weight=(total[:, 0] > 0).astype(total.dtype))
        shares = jnp.where(total > 0, votes / jnp.maximum(total, 1), 0.5)
        pseudo = jnp.full((labels.shape[1], 2, 2), _PSEUDO, total.dtype)
        fit = dawid_skene_em(columns, shares, (pseudo[0, 0], pseudo), max_steps=1000, tol=1e-8)
        return fit.prior, fit.matrices, fit.converged

    return jax.lax.map(one, labels)


@jax.jit
def _fixed_points(x, y):
    """Fixed points of the conditional means; `lax.map`, so that each set takes only its own branch."""

    def one(data):
        x, y = data
        fit = iterate(exact_step(x, y, weight=(y >= 0).astype(x.dtype)), dtype=x.dtype)
        return jnp.stack([fit.p_detection, fit.p_false_alarm])

    return jax.lax.map(one, (x, y))


def _log_odds(z, matrices, prior) -> Float[np.ndarray, "sets samples"]:
    """logit p(y_i = 1 | z_i)."""
    (sets, size, labelers), (s, i, t) = z.shape, np.nonzero(z >= 0)  # labelers of each set by themselves
    matrices = np.broadcast_to(np.asarray(matrices, np.float64), (sets, *matrices.shape[-3:]))
    matrices, label = matrices.reshape(sets * labelers, 2, -1), z[s, i, t].astype(np.int64)
    total = _host.labels_log_likelihood(matrices, s * size + i, s * labelers + t, label, sets * size)
    total = total.reshape(sets, size, 2) + _host.log(prior)[:, None, :]
    bad = np.argwhere(np.isneginf(total).all(axis=2))
    if len(bad):
        s, i = bad[0]
        raise ValueError(
            f"labels[{s}, {i}] ({some(z[s, i].tolist(), 8)}) are impossible under both classes ({len(bad)} "
            "such), because labelers with error rate 0 disagree; correct the labels, or give those "
            "labelers a small error rate"
        )
    return total[:, :, 1] - total[:, :, 0]


def _whole(codes: Any) -> np.ndarray:
    """Codes on the host; booleans and whole numbers of a floating type as integers."""
    codes = np.asarray(codes)
    if codes.dtype.kind == "f" and not (np.isfinite(codes) & (codes == np.floor(codes))).all():
        return codes
    return codes.astype(np.int64) if codes.dtype.kind in "bf" else codes


def _checked(y_pred, labels, noise, prior, method):
    y, z = _whole(y_pred), _whole(labels)
    if y.ndim != 2 or z.ndim != 3 or z.shape[:2] != y.shape or not z.size:
        raise ValueError(
            f"y_pred has shape {y.shape} and labels {z.shape}; they must be (sets, samples) and (sets, "
            "samples, labelers), not empty"
        )
    unknown = method not in _KNOWN
    if unknown != (noise is None) or unknown != (prior is None):
        raise ValueError(
            f"method={method!r} {'learns' if unknown else 'needs'} the labelers' matrices and the prior: "
            f"{'leave noise and prior out' if unknown else 'give noise and prior'}"
        )
    if noise is not None:
        sets, labelers = len(y), z.shape[2]
        noise = np.asarray(as_matrices(noise, labelers, "noise"), np.float64)
        prior = np.asarray(by_class(prior, range(2)), np.float64)
        each = noise.shape[:-2] in ((labelers,), (sets, labelers))
        if not (each and noise.shape[-2] == 2 <= noise.shape[-1] and prior.shape == (2,)):
            raise ValueError(
                f"noise has shape {noise.shape} and prior {prior.shape}; known labelers are of two classes: "
                f"give ({labelers}, 2, symbols), or one for each of the {sets} sets, and (2,)"
            )
        check_rows(noise, "noise")
        check_rows(prior, "prior")
    sizes = [int(codes.max()) + 1 if codes.dtype.kind in "iu" else 2 for codes in (y, z)]
    classes = 2 if method in _PLUGGED_IN else max(2, *sizes)
    if method == "em" and max(sizes) > 2:
        raise ValueError(
            f"method='em' handles two classes, but there is a code {max(sizes) - 1}: use method='joint', or "
            "merge classes"
        )
    symbols = classes if noise is None else noise.shape[-1]
    for name, codes, number in (("y_pred", y, classes), ("labels", z, symbols)):
        wrong = np.argwhere((codes < -1) | (codes >= number) if codes.dtype.kind in "iu" else False)
        row = tuple(wrong[0][:-1].tolist()) if len(wrong) else ()  # set, and sample where there are labelers
        named = f"{name}[{', '.join(map(str, row))}]" if row else name
        check_codes(codes[row].ravel(), number, named, missing=True, kinds="iu")
    bad = np.argwhere((y < 0) & (z >= 0).any(axis=2))
    if len(bad):
        raise ValueError(
            f"y_pred[{bad[0][0]}, {bad[0][1]}] is -1, but the sample has labels; give each a prediction"
        )
    return y.astype(np.int32), z.astype(np.int32), classes, noise, prior
