"""Calibration and dispersion loss by bins: (11)-(14), (33)-(36), and (42)-(45) for any other target.

Class k has its own bins [e_0, e_1), ..., [e_{B-1}, e_B] (Mimori et al. 2021, section 3.2), of equal width or
given, and fixed. In bin b the mean target c-bar is compared with the mean prediction z-bar:

    plugin    (13)  CL_kb = m/N (c-bar - z-bar)^2                     too large: c-bar is noisy
    "paper"   (14)  ... - m/N sigma^2 / (m - 1), sigma^2 = variance of the target in the bin
    "exact"         the same with the variance of target - prediction: unbiased given the bins

(14) treats z-bar as known: the remaining bias is small and negative (-.003 for 30 samples in two bins). A bin
of one sample has no variance: it counts 0 ("zero", the paper) or with its plugin value ("plugin", the
authors' program). DL = EL - CL (33) is the spread of Q around the prediction inside a bin.

Standard errors. Inside a bin the exact estimate is a U-statistic of gaps d = target - prediction: sample i
moves it by 2 d-bar d_i - d-bar^2, and pairs of samples, which matter where d-bar is near 0, add 2/N^2 times
the sum of squared pair products. Both parts keep the covariances between classes. 95 % intervals of CL cover
94.7 to 98.2 % (N = 150 and 400, true CL .0045 to .07), 100 % at CL = 0; targets are losses with these bins
held fixed. Sums run over blocks of samples, so float32 sums of millions of terms stay exact.

`loss_estimates` has Student distributions of N - 1 degrees of freedom, not cut at 0, which would bias losses.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from jtruth._arrays import AnyArray, as_array
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth._validation.words import number_of
from jtruth.histograms import label_counts as counted
from jtruth.histograms.concentration import disagreement_probability
from jtruth.stats.estimates import Estimate
from jtruth.stats.student import StudentEstimate

_BLOCK = 4096
_FEW_EDGES = 65


class MergedBins(NamedTuple):
    """Bins of equal width, merged until each has enough predictions: for few samples."""

    number: int = 15
    at_least: int = 2  # predictions in a bin


def equal_width_edges(num_bins: int, dtype: Any = None) -> Float[Array, " edges"]:
    """0, 1/B, 2/B, ..., 1."""
    if num_bins < 1:
        raise ValueError(f"there must be at least one bin, got {num_bins}")
    return jnp.asarray(np.linspace(0, 1, num_bins + 1), jnp.result_type(float) if dtype is None else dtype)


def merged_edges(predicted: Any, edges: Any, at_least: int) -> np.ndarray:
    """Edges of bins merged from the left until each has `at_least` predictions (on the host)."""
    edges = check_edges(edges)
    number = np.histogram(np.asarray(predicted, np.float64), edges)[0]
    kept, inside = [float(edges[0])], 0
    for b, count in enumerate(number):
        inside += int(count)
        if inside >= at_least:
            kept.append(float(edges[b + 1]))
            inside = 0
    return np.array([*(kept[:-1] or kept), float(edges[-1])])  # what is left over joins the last bin


def merged_by_class(predicted: Any, bins: MergedBins) -> tuple[np.ndarray, str]:
    """`merged_edges` of every class, padded by empty bins, and a note on what was merged."""
    edges = np.asarray(equal_width_edges(bins.number), np.float64)
    merged = [merged_edges(column, edges, bins.at_least) for column in np.asarray(predicted, np.float64).T]
    sizes = [of_class.size for of_class in merged]
    padded = np.stack([np.pad(of_class, (max(sizes) - of_class.size, 0)) for of_class in merged])
    fewest, most = min(sizes) - 1, max(sizes) - 1
    if fewest == bins.number:
        return padded, ""
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    text = f"{bins.number} bins were merged to {number}, so that each has {bins.at_least} samples or more."
    return padded, text


def check_edges(edges: Any) -> np.ndarray:
    """Edges on the host: from 0 to 1, not decreasing."""
    edges = np.asarray(edges, np.float64)
    if edges.shape[-1] < 2 or not ((edges[..., 0] == 0) & (edges[..., -1] == 1)).all():
        raise ValueError(f"bin edges must run from 0 to 1; got {edges.tolist()}")
    if (np.diff(edges, axis=-1) < 0).any():
        raise ValueError(f"bin edges must not decrease; got {edges.tolist()}")
    return edges


def bins_of(
    predicted: Float[Array, "samples classes"], edges: Float[AnyArray, "*classes edges"]
) -> Int[Array, "samples classes"]:
    """The bin of each prediction, the last with its right end; edges of all classes, or (classes, edges)."""
    edges = jnp.asarray(edges, predicted.dtype)
    of_class = jnp.broadcast_to(edges, (predicted.shape[1], edges.shape[-1]))
    # Comparing all of few edges is ten times as fast as searching.
    method = "compare_all" if edges.shape[-1] <= _FEW_EDGES else "scan"
    search = partial(jnp.searchsorted, side="right", method=method)
    above = jax.vmap(search, (0, 1), 1)(of_class, predicted)
    return jnp.clip(above - 1, 0, edges.shape[-1] - 2).astype(jnp.int32)


def bin_sums(
    values: Num[Array, "samples classes"], bins: Int[Array, "samples classes"], num_bins: int
) -> Array:
    """(classes, bins) sums of `values`, first within blocks of samples."""
    samples, classes = bins.shape
    blocks = -(-samples // _BLOCK)
    row = (jnp.arange(samples, dtype=jnp.int32) // _BLOCK)[:, None] * classes
    row = row + jnp.arange(classes, dtype=jnp.int32)[None]
    place = row * num_bins + bins
    sums = jax.ops.segment_sum(values.ravel(), place.ravel(), blocks * classes * num_bins)
    return sums.reshape(blocks, classes, num_bins).sum(axis=0)


def of_bin(table: Float[Array, "classes bins"], bins: Int[Array, "samples classes"]) -> Array:
    """The entry of a sample's own bin, (samples, classes)."""
    return table[jnp.arange(bins.shape[1], dtype=jnp.int32)[None], bins]


DEBIASING = ("paper", "exact", "none")
SINGLETONS = ("zero", "plugin")
Edges = Float[AnyArray, "*classes edges"]


class Calibration(NamedTuple):
    """Calibration loss; `total` sums the classes, and its root is the calibration error CE."""

    count: Int[Array, "classes bins"]
    target: Float[Array, "classes bins"]  # c-bar: mean target, 0 in empty bins
    predicted: Float[Array, "classes bins"]  # z-bar: mean prediction
    gap_spread: Float[Array, "classes bins"]  # mean square of target - prediction less its mean
    by_bin: Float[Array, "classes bins"]
    total: Float[Array, ""]
    standard_error: Float[Array, ""]
    influence: Float[Array, " samples"]  # of each sample on N (total - its expectation), to first order
    pair_variance: Float[Array, ""]  # the second-order part of the variance
    num_singletons: Int[Array, ""]  # bins of one sample, over all classes

    __repr__ = one_line

    @property
    def by_class(self) -> Float[Array, " classes"]:
        """(11): the loss of each class."""
        return self.by_bin.sum(axis=-1)


@eqx.filter_jit
def calibration_loss(
    target: Float[AnyArray, "samples classes"],
    predicted: Float[AnyArray, "samples classes"],
    edges: Edges,
    *,
    debias: str = "paper",
    singletons: str = "zero",
) -> Calibration:
    """Calibration loss of predictions against unbiased observations of their targets.

    Args:
        target: shares of labels (`Histograms.shares`), or one column, such as how often two labels differ.
        predicted: of the same shape.
        edges: (bins + 1,) or (classes, bins + 1).
        debias: "paper" (14), "exact" or "none" (13).
        singletons: rule for bins of one sample, "zero" or "plugin".
    """
    choose("debias", debias, DEBIASING)
    choose("singletons", singletons, SINGLETONS)
    z = as_array(predicted)
    y, edges, total = jnp.asarray(target, z.dtype), jnp.asarray(edges, z.dtype), float(z.shape[0])
    bins, num_bins, d = bins_of(z, edges), edges.shape[-1] - 1, y - z
    count = bin_sums(jnp.ones_like(bins), bins, num_bins)

    def mean(values: Array) -> Array:
        return bin_sums(values, bins, num_bins) / jnp.maximum(count, 1).astype(z.dtype)

    # In two passes, means first, to avoid cancellation.
    target_mean, predicted_mean = mean(y), mean(z)
    gap = of_bin(target_mean - predicted_mean, bins)
    gap_spread, m = mean((d - gap) ** 2), count.astype(z.dtype)
    by_bin = plugin = m / total * (target_mean - predicted_mean) ** 2  # (13)
    if debias != "none":  # (14), or (14) with the variance of the gap
        variance = gap_spread if debias == "exact" else mean((y - of_bin(target_mean, bins)) ** 2)
        by_bin = plugin - m / total * variance / jnp.maximum(m - 1, 1.0)
        by_bin = jnp.where(m > 1, by_bin, plugin if singletons == "plugin" else 0.0)
    influence = (2 * gap * d - gap**2).sum(axis=1)
    pairs = _pair_variance(d - gap, bins, count)
    error = jnp.sqrt(counted.mean_of(influence)[1] ** 2 + pairs)  # of both orders: module docstring
    return Calibration(
        count, target_mean, predicted_mean, gap_spread, by_bin, by_bin.sum(), error, influence, pairs,
        (count == 1).sum(),
    )  # fmt: skip


def _pair_variance(eps: Array, bins: Array, count: Array) -> Array:
    """2 sum_{i != j} h_ij^2, h_ij = sum over common bins of classes of e_i e_j / ((m - 1) N)."""
    m, (classes, num_bins) = count.astype(eps.dtype), count.shape
    scale = jnp.where(count > 1, jnp.sqrt(m) / jnp.maximum(m - 1, 1.0), 0.0)
    a = eps * of_bin(scale, bins)

    def squares(apart: Array) -> Array:
        other, its_bins = jnp.roll(a, -apart, axis=1), jnp.roll(bins, -apart, axis=1)
        sums = bin_sums(a * other, bins * num_bins + its_bins, num_bins**2)
        return (sums**2).sum()

    # Pairs of classes count in both orders, so half of the cyclic distances are enough.
    apart = jnp.arange(1, classes // 2 + 1, dtype=jnp.int32)
    times = jnp.where(2 * apart == classes, 1.0, 2.0).astype(eps.dtype)
    paired = (bin_sums(a**2, bins, num_bins) ** 2).sum() + times @ jax.lax.map(squares, apart)
    paired = paired - ((a**2).sum(axis=1) ** 2).sum()
    return 2 * jnp.maximum(paired, 0.0) / len(eps) ** 2


@eqx.filter_jit
def dispersion_loss(epistemic: Float[Array, "samples classes"], calibration: Calibration) -> counted.Mean:
    """(33)-(36): epistemic less calibration loss DL = EL - CL, both plugin or both debiased."""
    total = epistemic.sum() / len(epistemic) - calibration.total
    _, first = counted.mean_of(epistemic.sum(axis=1) - calibration.influence)
    return total, jnp.sqrt(first**2 + calibration.pair_variance)


Rows = Float[AnyArray, "samples classes"]
_ONE_LABEL = ("squared_loss", "log_loss", "calibration_loss")  # need one label a sample


class LossTable(NamedTuple):
    """Losses of one set of predictions."""

    estimates: dict[str, Estimate]  # debiased, with standard errors
    plugin: dict[str, float]  # plugin forms
    classes: Calibration  # by bin, for reliability diagrams
    disagreement: Calibration
    notes: tuple[str, ...]  # samples left out, rules used

    __repr__ = one_line


@eqx.filter_jit
def loss_values(
    histograms: counted.Histograms,
    probabilities: Rows,
    edges: Edges,
    predicted_disagreement: Float[AnyArray, " samples"],
    *,
    disagreement_edges: Float[AnyArray, " bins"] | None = None,
    debias: str = "paper",
    singletons: str = "zero",
) -> tuple[dict[str, counted.Mean], Calibration, Calibration]:
    """Every loss with its standard error, and both calibrations; samples need two labels each.

    Args:
        histograms, probabilities: of the same samples.
        edges: of the bins of class probabilities.
        predicted_disagreement: probability that two labels differ, for instance `disagreement_probability`.
        disagreement_edges: of its bins; None: `edges` where these are common to all classes, otherwise as
            many bins of equal width.
        debias, singletons: as `calibration_loss`; "none" gives the plugin forms of all.
    """
    z = as_array(probabilities)
    edges = jnp.asarray(edges, z.dtype)
    epistemic = counted.epistemic_loss(histograms, z, debias=debias != "none")
    rules = {"debias": debias, "singletons": singletons}
    classes = calibration_loss(histograms.shares(z.dtype), z, edges, **rules)
    differ, phi = counted.disagreement(histograms, z.dtype), jnp.asarray(predicted_disagreement, z.dtype)
    common = edges if edges.ndim == 1 else equal_width_edges(edges.shape[-1] - 1, z.dtype)
    common = common if disagreement_edges is None else jnp.asarray(disagreement_edges, z.dtype)
    pairs = calibration_loss(differ[:, None], phi[:, None], common, **rules)

    def total(by_class: Array) -> counted.Mean:
        return counted.mean_of(by_class.sum(axis=1))

    values = {
        "squared_loss": total(counted.squared_loss(histograms, z)),
        "epistemic_loss": total(epistemic),
        "calibration_loss": (classes.total, classes.standard_error),
        "dispersion_loss": dispersion_loss(epistemic, classes),
        "log_loss": total(counted.log_loss(histograms, z)),
        "disagreement_loss": counted.mean_of(counted.disagreement_loss(differ, phi)),
        "disagreement_calibration_loss": (pairs.total, pairs.standard_error),
    }
    return values, classes, pairs


def loss_estimates(
    histograms: counted.Histograms,
    probabilities: Rows,
    *,
    concentration: Float[AnyArray, " samples"] | None = None,
    bins: Any = 15,
    drop: bool = False,
    tasks: tuple | None = None,
) -> LossTable:
    """Losses of class probabilities and of the disagreement that they predict, with standard errors.

    Args:
        histograms, probabilities: of the same samples.
        concentration: alpha_0 of each sample; without it all uncertainty is the classifier's.
        bins: a number (of equal width), edges, or `MergedBins(15)`, which merges bins of too few samples.
        drop: leave out samples with one label from the losses that need two; by default they are an error.
        tasks: ids of the samples, for messages.

    Raises:
        ValueError: probabilities that do not fit the histograms, or samples with one label and no `drop`.
    """
    counted.check_probabilities_of(histograms, probabilities)
    z = np.asarray(probabilities, np.float64)
    with jax.enable_x64(True):
        pairs, kept, note = counted.with_at_least(histograms, 2, drop=drop, tasks=tasks)
        alpha = None if concentration is None else np.asarray(concentration, np.float64)
        phi = np.asarray(disagreement_probability(z, alpha))
        edges, of_phi, merged = _edges(bins, z[kept], phi[kept])

        def debiased_and_plugin(h: counted.Histograms, z: np.ndarray, phi: np.ndarray) -> list:
            losses = partial(loss_values, h, z, edges, phi, disagreement_edges=of_phi)
            return [losses(debias=debias) for debias in ("exact", "none")]

        (values, classes, differ), (plugin, _, _) = debiased_and_plugin(pairs, z[kept], phi[kept])
        if kept.size < histograms.num_samples:  # losses of single labels use all samples
            (of_all, classes, _), (plugin_of_all, _, _) = debiased_and_plugin(histograms, z, phi)
            values |= {name: of_all[name] for name in _ONE_LABEL}
            plugin |= {name: plugin_of_all[name] for name in _ONE_LABEL}
        singletons = int(classes.num_singletons) + int(differ.num_singletons)
        notes = [text for text in (note, *merged, *_notes(histograms, z, singletons)) if text]
    dists: dict[str, Estimate] = {}
    for name, (value, error) in values.items():
        size = histograms.num_samples if name in _ONE_LABEL else kept.size
        if np.isfinite(value):
            scale = float(error) if np.isfinite(error) else np.inf
            dists[name] = StudentEstimate(float(value), scale, max(size - 1.0, 1.0))
    return LossTable(dists, {k: float(v[0]) for k, v in plugin.items()}, classes, differ, tuple(notes))


def dist_of_mean(terms: Float[np.ndarray, " samples"]) -> Estimate:
    """Student distribution of the mean of one number for each sample."""
    terms = np.asarray(terms, np.float64)
    error = terms.std(ddof=1) / np.sqrt(terms.size)
    return StudentEstimate(float(terms.mean()), float(error), terms.size - 1.0)


def _edges(bins: Any, z: np.ndarray, phi: np.ndarray) -> tuple[Any, Any, list[str]]:
    """Edges for class probabilities and for disagreement (None: the same), and notes on merged bins."""
    if isinstance(bins, MergedBins):
        edges, merged = merged_by_class(z, bins)
        (of_phi,), pairs = merged_by_class(phi[:, None], bins)
        notes = {"Class probabilities": merged, "Disagreement": pairs}
        return edges, of_phi, [f"{about}: {text}" for about, text in notes.items() if text]
    if np.ndim(bins) == 0:
        return equal_width_edges(int(bins), z.dtype), None, []
    return check_edges(bins), None, []


def _notes(histograms: counted.Histograms, z: np.ndarray, singletons: int) -> Iterator[str]:
    """Classes with predicted probability 0 that occur; bins of one sample."""
    wrong = np.argwhere((z == 0) & (np.asarray(histograms.counts) > 0))
    if len(wrong):
        i, k = map(int, wrong[0])
        yield (
            f"The log loss is infinite: sample {i} has a label of class {k}, which was predicted with "
            f"probability 0 ({len(wrong)} such)."
        )
    if singletons:
        yield (
            f"{number_of(singletons, 'bin has', 'bins have')} one sample, a calibration loss of 0. "
            "Use fewer bins or bins=MergedBins(15)."
        )
