"""What every noisy-label model is, and the two array helpers that all of them use.

A noise model is p(z | y; psi) of Su section 1.1: the law of the labels that a sample receives, given its
correct class. It answers two questions and no others: how likely are these labels under every class
(`log_likelihood`), and which labels would labelers give to samples of known class (`sample`). Everything
that follows (class posteriors, testing, training) sees only the array that `log_likelihood` returns.

To add a model: subclass `NoiseModel`, give it `num_classes`, and write the two methods. Build
`log_likelihood` from `safe_log` and `sum_over_labels`, so that impossible labels give -inf (never NaN) and
gradients stay finite.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import safe_log
from jtruth.labels import Labels


class NoiseModel(eqx.Module):
    """Law of the noisy labels of a sample given its class. Samples are independent."""

    num_classes: eqx.AbstractVar[int]

    @abc.abstractmethod
    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """log p(z_i | y_i = c; psi_i) for every sample i and class c; 0 where a sample has no label."""

    @abc.abstractmethod
    def sample(
        self,
        key: PRNGKeyArray,
        y: Int[Array | np.ndarray, " samples"],
        mask: Bool[Array | np.ndarray, "samples labelers"],
    ) -> Int[Array, "samples labelers"]:
        """Draw labels for samples of class `y`; -1 where `mask` is False (that labeler gives no label)."""


def sum_over_labels(log_p: Float[Array, "labels classes"], labels: Labels) -> Float[Array, "samples classes"]:
    """Su (58): the sum over the labels of each sample; a missing label (-1) adds 0."""
    given = jnp.asarray(labels.label) >= 0
    log_p = jnp.where(given[:, None], log_p, 0.0)
    return jax.ops.segment_sum(log_p, jnp.asarray(labels.sample), num_segments=labels.num_samples)


def draw_rows(key: PRNGKeyArray, rows: Float[Array, "*shape classes"]) -> Int[Array, "*shape"]:
    """One class from every row of probabilities. A class of probability 0 is never drawn.

    Gumbel draws and not the inverse distribution function: a rounded cumulative sum can put a sliver of
    mass on a class of probability 0, and such a label would have likelihood 0 afterwards.
    """
    return jax.random.categorical(key, safe_log(rows), axis=-1).astype(jnp.int32)


def check_sizes(what: str, in_labels: int, in_model: int, parameter: str) -> None:
    """ValueError unless a size of the labels and a size of the model agree (both are static)."""
    if in_labels != in_model:
        raise ValueError(
            f"the labels have {in_labels} {what} but {parameter} is for {in_model}; "
            f"build the noise model for the {what} of these labels"
        )
