"""All losses of one set of predictions at once: in JAX as values with errors, on the host as `Estimate`s.

`loss_values` is one pure pass, for jit, vmap and bootstrap; `loss_estimates` checks its input and turns
values and standard errors into Student laws with N - 1 degrees of freedom. Unbiased losses may come out
negative, and the laws are not cut at 0: that would bias them again.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import as_array
from jtruth._one_line import one_line
from jtruth.histograms.calibration import (
    Calibration,
    Edges,
    MergedBins,
    calibration_loss,
    check_edges,
    dispersion_loss,
    equal_mass_edges,
    equal_width_edges,
    merged_by_class,
)
from jtruth.histograms.concentration import disagreement_probability
from jtruth.histograms.label_counts import (
    Histograms,
    Mean,
    check_probabilities_of,
    disagreement,
    disagreement_loss,
    epistemic_loss,
    log_loss,
    mean_of,
    squared_loss,
    with_at_least,
)
from jtruth.stats.estimates import Estimate
from jtruth.stats.student import StudentEstimate

Rows = Float[Array | np.ndarray, "samples classes"]
_ONE_LABEL = ("squared_loss", "log_loss", "calibration_loss")  # can be had from one label a sample


class LossTable(NamedTuple):
    """Losses of one set of predictions."""

    estimates: dict[str, Estimate]  # debiased, with standard errors
    plugin: dict[str, float]  # what the plugin forms say
    classes: Calibration  # by bin, for reliability diagrams
    disagreement: Calibration
    notes: tuple[str, ...]  # what was left out, which rules were used

    __repr__ = one_line


@eqx.filter_jit
def loss_values(
    histograms: Histograms,
    probabilities: Rows,
    edges: Edges,
    predicted_disagreement: Float[Array | np.ndarray, " samples"],
    *,
    disagreement_edges: Float[Array | np.ndarray, " bins"] | None = None,
    debias: str = "paper",
    singletons: str = "zero",
    where: Any = None,
) -> tuple[dict[str, Mean], Calibration, Calibration]:
    """Every loss with its standard error, and both calibrations; samples need two labels each.

    Args:
        histograms, probabilities: of the same samples.
        edges: of the bins of class probabilities.
        predicted_disagreement: probability that two labels differ, for instance `disagreement_probability`.
        disagreement_edges: of its bins; None: `edges` where these are common to all classes, otherwise as
            many bins of equal width.
        debias, singletons, where: as `calibration_loss`; "none" gives the plugin forms of all.
    """
    z = as_array(probabilities)
    edges = jnp.asarray(edges, z.dtype)
    options = {"debias": debias, "singletons": singletons, "where": where}
    epistemic = epistemic_loss(histograms, z, debias=debias != "none")
    classes = calibration_loss(histograms.shares(z.dtype), z, edges, **options)
    differ, phi = disagreement(histograms, z.dtype), jnp.asarray(predicted_disagreement, z.dtype)
    common = edges if edges.ndim == 1 else equal_width_edges(edges.shape[-1] - 1, z.dtype)
    common = common if disagreement_edges is None else jnp.asarray(disagreement_edges, z.dtype)
    pairs = calibration_loss(differ[:, None], phi[:, None], common, **options)

    def total(by_class: Array) -> Mean:
        return mean_of(by_class.sum(axis=1), where=where)

    values = {
        "squared_loss": total(squared_loss(histograms, z)),
        "epistemic_loss": total(epistemic),
        "calibration_loss": Mean(classes.total, classes.standard_error),
        "dispersion_loss": dispersion_loss(epistemic, classes, where=where),
        "log_loss": total(log_loss(histograms, z)),
        "disagreement_loss": mean_of(disagreement_loss(differ, phi), where=where),
        "disagreement_calibration_loss": Mean(pairs.total, pairs.standard_error),
    }
    return values, classes, pairs


def loss_estimates(
    histograms: Histograms,
    probabilities: Rows,
    *,
    concentration: Float[Array | np.ndarray, " samples"] | None = None,
    bins: Any = 15,
    debias: str = "exact",
    singletons: str = "zero",
    drop: bool = False,
    tasks: tuple | None = None,
) -> LossTable:
    """Losses of class probabilities and of the disagreement that they predict, with standard errors.

    Args:
        histograms, probabilities: of the same samples.
        concentration: alpha_0 of each sample; without it all disagreement is taken for doubt of the
            classifier.
        bins: a number (of equal width), "mass" (15 of equal mass), edges, or `MergedBins(15)`, which merges
            bins of too few samples and says so.
        debias: "exact", "paper" or "none", see `calibration`.
        singletons: rule for bins of one sample.
        drop: leave out samples with one label from the losses that need two; by default they are an error.
        tasks: ids of the samples, for messages.

    Raises:
        ValueError: probabilities that do not fit the histograms, or samples with one label and no `drop`.
    """
    check_probabilities_of(histograms, probabilities)
    z = np.asarray(probabilities, np.float64)
    with jax.enable_x64(True):
        pairs, kept, note = with_at_least(histograms, 2, drop=drop, tasks=tasks)
        alpha = None if concentration is None else np.asarray(concentration, np.float64)
        phi = np.asarray(disagreement_probability(z, alpha))
        edges, of_phi, merged = _edges(bins, z[kept], phi[kept])
        options: dict[str, Any] = {"singletons": singletons, "disagreement_edges": of_phi}
        values, classes, differ = loss_values(pairs, z[kept], edges, phi[kept], debias=debias, **options)
        plugin, _, _ = loss_values(pairs, z[kept], edges, phi[kept], debias="none", **options)
        if kept.size < histograms.num_samples:  # the losses that one label suffices for use all samples
            whole, classes, _ = loss_values(histograms, z, edges, phi, debias=debias, **options)
            naive, _, _ = loss_values(histograms, z, edges, phi, debias="none", **options)
            values |= {name: whole[name] for name in _ONE_LABEL}
            plugin |= {name: naive[name] for name in _ONE_LABEL}
        notes = [text for text in (note, *merged) if text]
        notes += _impossible(histograms, z) + _lonely(classes, differ, singletons, debias)
    laws: dict[str, Estimate] = {
        name: _law(mean, histograms.num_samples if name in _ONE_LABEL else kept.size)
        for name, mean in values.items()
        if np.isfinite(mean.value)
    }
    return LossTable(laws, {k: float(v.value) for k, v in plugin.items()}, classes, differ, tuple(notes))


def _law(mean: Mean, samples: int) -> StudentEstimate:
    error = float(mean.standard_error)
    return StudentEstimate(
        float(mean.value), error if np.isfinite(error) else np.inf, max(samples - 1.0, 1.0)
    )


def law_of_mean(terms: Float[np.ndarray, " samples"]) -> Estimate:
    """Student law of the mean of one number for each sample."""
    terms = np.asarray(terms, np.float64)
    error = terms.std(ddof=1) / np.sqrt(terms.size)
    return StudentEstimate(float(terms.mean()), float(error), terms.size - 1.0)


def _edges(bins: Any, z: np.ndarray, phi: np.ndarray) -> tuple[Any, Any, list[str]]:
    """Edges for class probabilities and for disagreement (None: as theirs), and what was merged."""
    if isinstance(bins, MergedBins):
        edges, said = merged_by_class(z, bins)
        (of_phi,), also = merged_by_class(phi[:, None], bins)
        return edges, of_phi, [said and f"Class probabilities: {said}", also and f"Disagreement: {also}"]
    if isinstance(bins, str):
        if bins != "mass":
            raise ValueError(f"bins must be a number, 'mass', edges or MergedBins; got {bins!r}")
        return equal_mass_edges(z, 15), None, []
    if np.ndim(bins) == 0:
        return equal_width_edges(int(bins), z.dtype), None, []
    return check_edges(bins), None, []


def _impossible(histograms: Histograms, z: np.ndarray) -> list[str]:
    """A class that was predicted with probability 0 and given."""
    wrong = np.argwhere((z == 0) & (np.asarray(histograms.counts) > 0))
    if not len(wrong):
        return []
    i, k = map(int, wrong[0])
    return [
        f"log loss is infinite: sample {i} was given class {k}, predicted with probability 0 "
        f"({len(wrong)} such)."
    ]


def _lonely(classes: Calibration, differ: Calibration, singletons: str, debias: str) -> list[str]:
    """Bins of one sample, and the rule for them."""
    number = int(classes.num_singletons) + int(differ.num_singletons)
    if not number or debias == "none":
        return []
    how = "count 0" if singletons == "zero" else "count with their plugin value"
    return [
        f"{number} bins hold one sample: they {how} in the calibration loss. Fewer bins avoid them, or "
        "bins=MergedBins(15)."
    ]
