"""Label histograms: numbers of a sample's labels of each class, whoever gave them.

A sample has class probabilities Q, and its n labels are independent draws from them (Mimori et al. 2021,
section 3). This assumes interchangeable labelers; `jtruth.evaluation.calibration` tests it.

Losses of class probabilities z, each by sample and class, with mu the share of labels and E the mean over
samples and labels:

    expected squared loss  L  = E |Y - z|^2        (8), (23): unbiased for any n >= 1
    epistemic loss         EL = E |Q - z|^2        plugin (9), unbiased (10), (28): n >= 2
    expected log loss           E -log z_Y         unbiased for any n >= 1

L = EL + IL where IL = E |Y - Q|^2 is the labelers' own disagreement, which no prediction can reduce. The
binary forms (3) are half of the sums over two classes.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import AnyArray, as_array, is_concrete, safe_log
from jtruth._one_line import one_line
from jtruth._validation import some
from jtruth._validation.in_range import check_counts, check_rows, check_shape
from jtruth._validation.words import number_of, part_of
from jtruth.labels import Labels


class Histograms(eqx.Module):
    """Counts of labels; build one by `from_labels` or `from_counts`.

    A row of zeros (padding) contributes nothing, but the factories refuse it.
    """

    counts: Int[AnyArray, "*batch samples classes"]
    n: Int[AnyArray, "*batch samples"]  # labels of each sample
    most: int = eqx.field(static=True)  # an upper bound of the counts

    __repr__ = one_line

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.counts.shape[-1]

    @property
    def num_samples(self) -> int:
        """Number of samples N."""
        return self.counts.shape[-2]

    def shares(self, dtype: Any = None) -> Float[Array, "*batch samples classes"]:
        """mu-hat, the shares of a sample's labels of each class; 0 in an empty row."""
        dtype = jnp.result_type(float) if dtype is None else dtype
        n = jnp.maximum(jnp.asarray(self.n), 1).astype(dtype)
        return jnp.asarray(self.counts).astype(dtype) / n[..., None]

    def take(self, samples: Any) -> "Histograms":
        """These samples only, in this order (indices or, outside JAX transformations, a mask)."""
        return Histograms(self.counts[samples], self.n[samples], self.most)


def from_counts(counts: Any) -> Histograms:
    """Histograms from a (samples, classes) table of label counts.

    Raises:
        ValueError: a count is negative or not whole, a row is all 0, or there are fewer than two classes.

    >>> h = from_counts([[2, 0, 1], [0, 5, 0]])
    >>> h.n.tolist(), h.most
    ([3, 5], 5)
    """
    counts = np.asarray(counts)
    if counts.ndim != 2 or counts.shape[1] < 2 or not counts.size or counts.dtype.kind not in "iufb":
        raise ValueError(
            f"counts must be numbers of shape (samples, classes) with two classes or more; got shape "
            f"{counts.shape}, dtype {counts.dtype}"
        )
    check_counts(counts, "counts", 31)
    check_counts(counts.sum(axis=1, dtype=np.float64), "the sum of each row of counts", 31)
    whole = counts.astype(np.int32)
    n = whole.sum(axis=1, dtype=np.int32)
    empty = np.flatnonzero(n == 0)
    if empty.size:
        raise ValueError(
            f"row {empty[0]} of counts is all 0 ({some(empty)}): leave out samples without labels"
        )
    return Histograms(whole, n, int(whole.max()))


def from_labels(labels: Labels) -> Histograms:
    """Histograms of `Labels`, whoever gave them. Samples without labels are refused by name."""
    n = labels.labels_per_sample()
    empty = np.flatnonzero(n == 0)
    if empty.size:
        names = some(empty if labels.tasks is None else (labels.tasks[i] for i in empty), total=empty.size)
        which = f"{number_of(empty.size, 'sample has', 'samples have')} no label ({names})"
        raise ValueError(f"{which}: leave them out with Labels.restrict")
    return from_counts(labels.counts())


def with_at_least(
    histograms: Histograms, size: int, *, drop: bool = False, tasks: tuple | None = None
) -> tuple[Histograms, Int[np.ndarray, " kept"], str]:
    """Samples with at least `size` labels, their indices, and a note on those left out ("" if none).

    ValueError where some samples have too few labels and `drop` is False, or none has enough.
    """
    n = np.asarray(histograms.n)
    few = np.flatnonzero(n < size)
    if not few.size:
        return histograms, np.arange(n.size), ""
    named = some(few if tasks is None else (tasks[i] for i in few), total=few.size)
    poor = f"{part_of(few.size, n.size, 'sample')} fewer than {number_of(size, 'label')} ({named})"
    if few.size == n.size:
        raise ValueError(f"{poor}: get a second label for some samples" if size == 2 else poor)
    if not drop:
        raise ValueError(f"{poor} and cannot contribute: get more labels, or leave them out with drop=True")
    kept = np.flatnonzero(n >= size)
    return histograms.take(kept), kept, f"{poor}, left out."


def check_probabilities_of(histograms: Histograms, probabilities: Any) -> None:
    """Check class probabilities against these histograms; traced arrays pass."""
    samples, classes = histograms.counts.shape
    check_shape(probabilities, "probabilities", "samples classes", samples=samples, classes=classes)
    if is_concrete(probabilities):
        check_rows(np.asarray(probabilities), "probabilities")


Probabilities = Float[AnyArray, "samples classes"]
Samples = Float[Array, " samples"]
ByClass = Float[Array, "samples classes"]
Mean = tuple[Float[Array, ""], Float[Array, ""]]  # over samples, and its standard error


@eqx.filter_jit
def squared_loss(histograms: Histograms, probabilities: Probabilities) -> ByClass:
    """(23): (mu - z)^2 + mu (1 - mu), the mean over a sample's labels of (Y_k - z_k)^2, unbiased."""
    z = as_array(probabilities)
    mu = histograms.shares(z.dtype)
    return (mu - z) ** 2 + mu * (1 - mu)


@eqx.filter_jit
def epistemic_loss(histograms: Histograms, probabilities: Probabilities, *, debias: bool = True) -> ByClass:
    """(28): (mu - z)^2 - mu (1 - mu) / (n - 1), unbiased for (Q_k - z_k)^2; without `debias` the plugin (27).

    NaN for a sample with one label (`with_at_least`).
    """
    z = as_array(probabilities)
    mu = histograms.shares(z.dtype)
    plugin = (mu - z) ** 2
    return plugin - mu_variance(histograms, z.dtype) if debias else plugin


def mu_variance(histograms: Histograms, dtype) -> ByClass:
    """mu (1 - mu) / (n - 1): unbiased for Q (1 - Q) / n, the variance of mu given Q. NaN if n = 1."""
    mu, n = histograms.shares(dtype), jnp.asarray(histograms.n)[:, None]
    value = mu * (1 - mu) / jnp.maximum(n - 1, 1).astype(dtype)
    return jnp.where(n == 1, jnp.nan, value)


@eqx.filter_jit
def log_loss(histograms: Histograms, probabilities: Probabilities) -> ByClass:
    """-mu log z: unbiased for -Q_k log z_k; infinite where a class of predicted probability 0 occurs."""
    z = as_array(probabilities)
    mu = histograms.shares(z.dtype)
    return jnp.where(mu > 0, -mu * jnp.where(mu > 0, safe_log(z), 0.0), 0.0)


@eqx.filter_jit
def mean_of(terms: Samples) -> Mean:
    """Mean of one number for each sample, as in (23), and its standard error (25)."""
    terms = as_array(terms)
    return terms.mean(), terms.std(ddof=1) / terms.size**0.5


@eqx.filter_jit
def disagreement(histograms: Histograms, dtype=None) -> Samples:
    """(16) for "two labels differ": 1 - sum y (y - 1) / (n (n - 1)), the Gini-Simpson index; NaN if n = 1."""
    dtype = jnp.result_type(float) if dtype is None else dtype
    n = jnp.asarray(histograms.n).astype(dtype)
    return (n * mu_variance(histograms, dtype).sum(axis=1)).astype(dtype)


def disagreement_loss(differ: Samples, predicted: Float[AnyArray, " samples"]) -> Samples:
    """(40): mean over pairs of labels of ([they differ] - prediction)^2, unbiased for (37)."""
    p = jnp.asarray(predicted, differ.dtype)
    return differ - 2 * p * differ + p**2
