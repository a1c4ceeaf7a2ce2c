"""From the parameters of an annotation model to p(label | labeler, class): one table for all models.

Every model in `bayes` says the same thing: a sample has a class c ~ pi and, in some models, a difficulty
level h with probability w[h], both unknown; given them labeler t names class k with probability
table[t, k, c, h], independently of everything else. So a model is a function that fills `log_table`, and the
likelihood of a sample,

    p(labels) = sum_c sum_h pi[c] w[h] prod_t table[t, z_t, c, h],

is written once. Difficulty is summed out as well as the class: samples with equal labels then stay equal, and
no parameter belongs to a single sample, which leave-one-out comparison needs. The levels are the nodes of a
Gauss rule of the difficulty's prior. Everything here is pure JAX (NumPy for the nodes).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float, Int
from scipy.special import roots_hermitenorm, roots_jacobi

from jtruth._arrays import safe_log
from jtruth._one_line import one_line

AnyArray = Array | np.ndarray
Parameters = dict[str, Any]


class Channel(NamedTuple):
    """What a model says about one sample."""

    log_prior: Any  # (classes,) log pi
    log_weight: Any  # (levels,) log w
    log_table: Any  # (labelers, labels, classes, levels)

    __repr__ = one_line

    def matrices(self) -> Float[AnyArray, "labelers classes classes"]:
        """p(label | class) of each labeler with the difficulty summed out; rows = true class."""
        return jnp.einsum("tkch,h->tck", jnp.exp(self.log_table), jnp.exp(self.log_weight))


def log_joint(
    channel: Channel,
    labeler: Int[AnyArray, "rows width"],
    label: Int[AnyArray, "rows width"],
) -> Float[AnyArray, "rows classes"]:
    """log p(class = c, labels) of each row, difficulty summed out; entries with label -1 say nothing."""
    labelers, labels, classes, levels = channel.log_table.shape
    flat = channel.log_table.reshape(labelers * labels, classes, levels)
    nothing = jnp.zeros((1, classes, levels), flat.dtype)
    code = jnp.where(label >= 0, labeler * labels + label, labelers * labels)
    given = jnp.concatenate([flat, nothing])[code].sum(axis=1) + channel.log_weight[None, None, :]
    return jax.nn.logsumexp(given, axis=2) + channel.log_prior[None, :]


def log_likelihood(
    channel: Channel,
    labeler: Int[AnyArray, "rows width"],
    label: Int[AnyArray, "rows width"],
) -> Float[AnyArray, " rows"]:
    """log p(labels) of each row, class and difficulty summed out."""
    return jax.nn.logsumexp(log_joint(channel, labeler, label), axis=1)


def draw_labels(
    channel: Channel, key: Array, labeler: Int[AnyArray, "rows width"]
) -> tuple[Int[AnyArray, " rows"], Int[AnyArray, "rows width"]]:
    """Classes and labels drawn from the model, label -1 where `labeler` is -1."""
    key_class, key_level, key_label = jax.random.split(key, 3)
    rows = labeler.shape[0]
    y = jax.random.categorical(key_class, channel.log_prior, shape=(rows,))
    level = jax.random.categorical(key_level, channel.log_weight, shape=(rows,))
    law = channel.log_table[jnp.maximum(labeler, 0), :, y[:, None], level[:, None]]
    label = jax.random.categorical(key_label, law, axis=2).astype(labeler.dtype)
    return y.astype(labeler.dtype), jnp.where(labeler >= 0, label, -1)


def confusion_channel(
    prior: Float[AnyArray, " classes"],
    matrices: Float[AnyArray, "labelers classes classes"],
) -> Channel:
    """Dawid and Skene: a matrix for every labeler."""
    table = jnp.swapaxes(safe_log(matrices), 1, 2)[..., None]
    return Channel(safe_log(prior), jnp.zeros(1, prior.dtype), table)


def one_coin_channel(prior: Float[AnyArray, " classes"], accuracy: Float[AnyArray, " labelers"]) -> Channel:
    """A labeler is right with its probability for every class; errors are spread evenly."""
    return even_errors(
        prior, jnp.zeros(1, prior.dtype), safe_log(accuracy)[:, None], safe_log(1 - accuracy)[:, None]
    )


def difficulty(p: Parameters, hyper: Parameters, num_labelers: int) -> Channel:
    """Su (59)-(60): error probability (delta + phi - delta phi) (C - 1) / C, errors spread evenly."""
    wrong = p["prior"].shape[0] - 1
    phi, delta = p["fallibility"][:, None], hyper["difficulty"][None, :]
    error = (delta + phi - delta * phi) * wrong / (wrong + 1)
    return even_errors(p["prior"], hyper["log_weight"], safe_log(1 - error), safe_log(error))


def ability(p: Parameters, hyper: Parameters, num_labelers: int) -> Channel:
    """GLAD for C classes: logit of "right" is ability * easiness - log(C - 1), so ability 0 is chance.

    With two classes it is the model of Whitehill et al. (2009): sigmoid(ability * easiness).
    """
    logit = p["ability"][:, None] * jnp.exp(hyper["log_easiness"])[None, :] - np.log(p["prior"].shape[0] - 1)
    log_right, log_wrong = jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit)
    return even_errors(p["prior"], hyper["log_weight"], log_right, log_wrong)


def mace(p: Parameters, hyper: Parameters, num_labelers: int) -> Channel:
    """MACE (Hovy et al. 2013): the class with probability `competence`, else a draw from `spam`.

    Whether a label is spam is summed out.
    """
    look = p["competence"][:, None, None]
    right = jnp.eye(p["prior"].shape[0], dtype=p["prior"].dtype)[None]  # (1, classes, labels)
    return confusion_channel(p["prior"], look * right + (1 - look) * p["spam"][:, None, :])


def welinder(p: Parameters, hyper: Parameters, num_labelers: int) -> Channel:
    """Welinder et al. (2010), two classes: x = -1 or +1, plus `position`; p(label 1 | x) = Phi(w x - tau)."""
    centre = jnp.array([-1.0, 1.0], p["prior"].dtype)
    x = centre[:, None] + hyper["position"][None, :]  # (classes, levels)
    z = p["direction"][:, None, None] * x[None] - p["threshold"][:, None, None]
    table = jnp.stack([log_ndtr(-z), log_ndtr(z)], axis=1)
    return Channel(safe_log(p["prior"]), hyper["log_weight"], table)


def even_errors(prior: AnyArray, log_weight: AnyArray, log_right: Any, log_wrong: Any) -> Channel:
    """Labelers who spread their errors evenly, from log p(right) and log p(wrong) (labelers, levels)."""
    classes = prior.shape[0]
    right = jnp.eye(classes, dtype=bool)[None, :, :, None]
    each = log_wrong - np.log(classes - 1)
    table = jnp.where(right, log_right[:, None, None, :], each[:, None, None, :])
    return Channel(safe_log(prior), log_weight, table)


def logit_rows(
    off: Float[AnyArray, "*labelers classes others"],
) -> Float[Array, "*labelers classes classes"]:
    """Matrices from logits of the wrong labels, in order without the diagonal; the right one has logit 0."""
    classes = off.shape[-2]
    true, given = np.indices((classes, classes))
    place = np.where(given < true, given, np.maximum(given - 1, 0))
    logits = jnp.where(np.eye(classes, dtype=bool), 0.0, off[..., true, place])
    return jax.nn.softmax(logits, axis=-1)


def right_and_wrong_rows(
    right: Float[AnyArray, "labelers classes"], wrong: Float[AnyArray, "labelers classes others"] | None
) -> Float[Array, "labelers classes classes"]:
    """Matrices from how often a row is right and how its wrong labels are shared, in order; None: evenly."""
    classes = right.shape[-1]
    true, given = np.indices((classes, classes))
    place = np.where(given < true, given, np.maximum(given - 1, 0))
    share = jnp.full((1, classes, classes), 1 / (classes - 1)) if wrong is None else wrong[..., true, place]
    return jnp.where(np.eye(classes, dtype=bool), right[..., None], (1 - right)[..., None] * share)


def wrong_shares(
    log_share: Float[AnyArray, " classes"], pull: Float[AnyArray, " classes"]
) -> Float[Array, "classes others"]:
    """Mean shares of the wrong labels of each class, share[u]^pull[c], in order without the diagonal."""
    others = np.array([[u for u in range(len(log_share)) if u != c] for c in range(len(log_share))])
    return jax.nn.softmax(pull[:, None] * jnp.asarray(log_share)[others], axis=-1)


def beta_levels(a: float, b: float, most_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and log weights that sum a difficulty ~ Beta(a, b) out EXACTLY for up to `most_labels` labels.

    Each label's probability (59)-(60) is affine in the difficulty, so a sample's is a polynomial of degree
    `most_labels`, and n Gauss-Jacobi nodes integrate degree 2n - 1 exactly.
    """
    nodes, weights = roots_jacobi((most_labels + 2) // 2, b - 1, a - 1)
    return (1 + nodes) / 2, np.log(weights / weights.sum())


def normal_levels(mean: float, sd: float, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and log weights of a Gauss-Hermite rule for Normal(mean, sd)."""
    nodes, weights = roots_hermitenorm(size)
    return mean + sd * nodes, np.log(weights / weights.sum())
