"""What draws of an annotation model say about samples and labelers, and a check of them against the labels.

The check compares how often each pair of labelers agrees with how often it agrees in label sets simulated
from the posterior (Gelman, Meng and Stern 1996). Labelers who share errors agree too often; so do pairs where
the model forgets that samples differ in difficulty.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jtruth._nuts_run import arithmetic, typed_key
from jtruth.labels import Labels
from jtruth.learning import _bayes_channels as channels
from jtruth.learning._bayes_rows import LabelRows

_REPLICATES = 200
_MOST_PAIRS = 2_000_000  # pairs of labels in one simulated set; larger data are checked on some samples
_ALARM = 0.01


class Digest(NamedTuple):
    """Functions of the draws."""

    log_likelihood: Float[np.ndarray, "chains draws rows"]
    class_posterior: Float[np.ndarray, "rows classes"]  # mean over all draws
    mean_matrices: Float[np.ndarray, "chains labelers classes classes"]


def digest(
    channel: Callable, samples: dict[str, np.ndarray], rows: LabelRows, hyper: dict, num_labelers: int
) -> Digest:
    """Pointwise log-likelihood, class posterior and mean matrices of draws (chains, draws, ...)."""
    with arithmetic():
        found = _digest(channel, num_labelers, *jax.tree.map(jnp.asarray, (samples, rows, hyper)))
        return Digest(*(np.asarray(x) for x in found))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _digest(channel, num_labelers, samples, rows, hyper):
    chains, draws = samples["prior"].shape[:2]

    def one(draw):
        now = channel(draw, hyper, num_labelers)
        joint = channels.log_joint(now, rows.labeler, rows.label)
        total = jax.nn.logsumexp(joint, axis=1)
        return total, jnp.exp(joint - total[:, None]), now.matrices()

    def step(sums, draw):
        total, posterior, matrices = jax.vmap(one)(draw)
        return (sums[0] + posterior.sum(axis=0), sums[1] + matrices), total

    by_draw = {name: jnp.swapaxes(x, 0, 1) for name, x in samples.items()}
    shapes = jax.eval_shape(jax.vmap(one), jax.tree.map(lambda x: x[0], by_draw))
    zero = jnp.zeros(shapes[1].shape[1:], shapes[1].dtype), jnp.zeros(shapes[2].shape, shapes[2].dtype)
    (posterior, matrices), total = jax.lax.scan(step, zero, by_draw)
    return jnp.swapaxes(total, 0, 1), posterior / (chains * draws), matrices / draws


class Agreement(NamedTuple):
    """Agreement of pairs of labelers, seen and expected."""

    pair: Int[np.ndarray, "pairs 2"]  # labelers t < s with a sample in common
    shared: Int[np.ndarray, " pairs"]  # pairs of labels of a same sample
    agreed: Int[np.ndarray, " pairs"]
    expected: Float[np.ndarray, " pairs"]  # mean of `agreed` in simulated sets
    sd: Float[np.ndarray, " pairs"]
    discrepancy: float  # sum over pairs of ((agreed - expected) / sd)^2
    p_value: float  # share of simulated sets at least as far from `expected`; NaN without pairs
    samples_checked: int

    def sentence(self) -> str | None:
        """What to say when the labelers agree otherwise than the model expects."""
        if np.isnan(self.p_value) or self.p_value >= _ALARM:
            return None
        surplus = (self.agreed - self.expected).sum() / self.shared.sum()
        how = "more" if surplus > 0 else "less"
        return (
            f"Pairs of labelers do not agree as this model says (posterior predictive p = {self.p_value:.3f}"
            f"; over all pairs {100 * abs(surplus):.1f} points {how} often). They may share errors, or "
            "samples may differ in difficulty: compare other models."
        )


def labeler_agreement(
    channel: Callable,
    samples: dict[str, np.ndarray],
    labels: Labels,
    hyper: dict,
    key: Any,
    *,
    replicates: int = _REPLICATES,
) -> Agreement:
    """Compare agreement of all pairs of labelers with sets of labels simulated from the posterior."""
    labeler, label = labels.padded()
    first, second = np.triu_indices(labeler.shape[1], 1)
    if labeler.shape[0] * first.size > _MOST_PAIRS:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(typed_key(key))).ravel().tolist())
        some = rng.choice(labeler.shape[0], max(_MOST_PAIRS // first.size, 1), replace=False)
        labeler, label = labeler[some], label[some]
    low, high = np.sort([labeler[:, first], labeler[:, second]], axis=0)
    both = (low >= 0) & (low != high)  # a labeler's repeated labels say nothing about pairs
    code = low[both].astype(np.int64) * labels.num_labelers + high[both]
    kinds, kind, shared = np.unique(code, return_inverse=True, return_counts=True)
    pair = np.stack(np.divmod(kinds, labels.num_labelers), axis=1)
    row, column = np.nonzero(both)
    places = row, first[column], second[column]
    if not kinds.size:
        none = np.zeros(0)
        return Agreement(pair, shared, shared, none, none, 0.0, float("nan"), labeler.shape[0])
    total = samples["prior"].shape[0] * samples["prior"].shape[1]
    used = np.linspace(0, total - 1, min(replicates, total)).astype(int)
    draws = {name: x.reshape(total, *x.shape[2:])[used] for name, x in samples.items()}
    with arithmetic():
        keys = jax.random.split(jax.random.fold_in(typed_key(key), 1), used.size)
        data = jax.tree.map(jnp.asarray, (draws, labeler, places, kind.ravel(), hyper))
        simulated = np.asarray(_simulated(channel, labels.num_labelers, kinds.size, keys, *data))
    agreed = np.bincount(kind.ravel(), label[places[:2]] == label[places[0], places[2]], kinds.size)
    mean, sd = simulated.mean(axis=0), simulated.std(axis=0)
    scale = np.where(sd > 0, sd, 1.0)
    seen = float((((agreed - mean) / scale) ** 2).sum())
    far = (((simulated - mean) / scale) ** 2).sum(axis=1)
    p_value = float((1 + (far >= seen).sum()) / (1 + far.size))
    return Agreement(pair, shared, agreed.astype(np.int64), mean, sd, seen, p_value, labeler.shape[0])


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _simulated(channel, num_labelers, num_pairs, keys, draws, labeler, places, kind, hyper):
    def one(inputs):
        key, draw = inputs
        _, label = channels.draw_labels(channel(draw, hyper, num_labelers), key, labeler)
        same = label[places[0], places[1]] == label[places[0], places[2]]
        return jnp.zeros(num_pairs, jnp.int32).at[kind].add(same.astype(jnp.int32))

    return jax.lax.map(one, (keys, draws))
