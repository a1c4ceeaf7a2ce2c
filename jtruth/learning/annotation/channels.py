"""From the parameters of an annotation model to p(label | labeler, class): one table for all models.

Every model in `bayes` says the same thing: a sample has a class c ~ pi and, in some models, a difficulty
level h with probability w[h], both unknown; given them labeler t names class k with probability
table[t, k, c, h], independently of everything else. So a model is a function that fills a table, and what
it returns is a `Channel` of one point (`jtruth.latent.density`), whose states are the pairs of class and
level. The likelihood of a sample,

    p(labels) = sum_c sum_h pi[c] w[h] prod_t table[t, z_t, c, h],

is that of all latent-class models. Difficulty is summed out as well as the class: samples with equal labels
then stay equal, and no parameter belongs to a single sample, which leave-one-out comparison needs. The levels
are the nodes of a Gauss rule of the difficulty's prior. Everything here is pure JAX (NumPy for the nodes).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float, Int
from scipy.special import roots_hermitenorm, roots_jacobi

from jtruth._arrays import safe_log
from jtruth.latent import density
from jtruth.latent.density import Channel, Seen

AnyArray = Array | np.ndarray
Parameters = dict[str, Any]


def as_channel(log_prior: Any, log_weight: Any, log_table: Any) -> Channel:
    """A channel of one point.

    Args:
        log_prior: (classes,) log pi.
        log_weight: (levels,) log w.
        log_table: (labelers, labels, classes, levels).
    """
    labelers, labels, classes, levels = log_table.shape
    return Channel(
        jnp.repeat(jnp.asarray(log_prior), levels)[None, :, None],
        jnp.tile(jnp.asarray(log_weight), classes)[:, None],
        log_table.reshape(labelers * labels, classes * levels, 1),
    )


def table_of(channel: Channel, num_labelers: int) -> Float[Array, "labelers labels classes levels"]:
    """The log table of a channel of one point; there are as many labels as classes."""
    labels = len(channel.log_seen) // num_labelers
    return channel.log_seen.reshape(num_labelers, labels, labels, -1)


def matrices(channel: Channel, num_labelers: int) -> Float[Array, "labelers classes classes"]:
    """p(label | class) of each labeler with the difficulty summed out; rows = true class."""
    table = table_of(channel, num_labelers)
    weight = jnp.exp(channel.log_level).reshape(table.shape[2:])
    return jnp.einsum("tkch,ch->tck", jnp.exp(table), weight)


def seen_labels(labeler: Any, label: Any, num_labelers: int, num_classes: int) -> Seen:
    """Rows of labels (rows, width) as `density` takes them; entries with label -1 say nothing."""
    things = num_labelers * num_classes
    code = jnp.where(label >= 0, labeler * num_classes + label, things + 1)
    prior = jnp.full((len(code), 1), things, code.dtype)
    zero = jnp.zeros((len(code), 1))
    return Seen(jnp.concatenate([code, prior], axis=1), zero, zero, zero)


def log_joint(channel: Channel, labeler: Any, label: Any, num_labelers: int) -> Float[Array, "rows states 1"]:
    """log p(state, labels) of each row, by `density`."""
    classes = len(channel.log_seen) // num_labelers
    return density.log_joint(channel, seen_labels(labeler, label, num_labelers, classes))


def draw_labels(
    channel: Channel, key: Array, labeler: Int[AnyArray, "rows width"], num_labelers: int
) -> Int[AnyArray, "rows width"]:
    """Labels drawn from the model, -1 where `labeler` is -1."""
    key_state, key_label = jax.random.split(key)
    of_state = channel.log_class[0, :, 0] + channel.log_level[:, 0]
    state = jax.random.categorical(key_state, of_state, shape=(labeler.shape[0],))
    table = table_of(channel, num_labelers).reshape(num_labelers, -1, of_state.size)
    law = table[jnp.maximum(labeler, 0), :, state[:, None]]
    label = jax.random.categorical(key_label, law, axis=2).astype(labeler.dtype)
    return jnp.where(labeler >= 0, label, -1)


def confusion_channel(
    prior: Float[AnyArray, " classes"],
    matrices: Float[AnyArray, "labelers classes classes"],
) -> Channel:
    """Dawid and Skene: a matrix for every labeler."""
    table = jnp.swapaxes(safe_log(matrices), 1, 2)[..., None]
    return as_channel(safe_log(prior), jnp.zeros(1, prior.dtype), table)


def one_coin_channel(prior: Float[AnyArray, " classes"], accuracy: Float[AnyArray, " labelers"]) -> Channel:
    """A labeler is right with its probability for every class; errors are spread evenly."""
    return even_errors(
        prior, jnp.zeros(1, prior.dtype), safe_log(accuracy)[:, None], safe_log(1 - accuracy)[:, None]
    )


def difficulty(p: Parameters, hyper: Parameters, num_labelers: int) -> Channel:
    """Su (59)-(60): error probability (delta + phi - delta phi) (C - 1) / C, errors spread evenly."""
    classes, phi = p["prior"].shape[0], p["fallibility"]
    right, wrong = chances(phi, 1 - phi, hyper["difficulty"], classes)
    return even_errors(p["prior"], hyper["log_weight"], safe_log(right), safe_log(wrong * (classes - 1)))


def chances(
    phi: Float[AnyArray, " labels"], able: Float[AnyArray, " labels"], delta: AnyArray, classes: int
) -> tuple[Float[AnyArray, "labels levels"], Float[AnyArray, "labels levels"]]:
    """Probability of the right class and of each wrong one, (59)-(60), by phi, 1 - phi, delta (levels,)."""
    wrong = (phi[:, None] + able[:, None] * delta[None, :]) / classes
    return able[:, None] * (1 - delta)[None, :] + wrong, wrong


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
    return as_channel(safe_log(p["prior"]), hyper["log_weight"], table)


def even_errors(prior: AnyArray, log_weight: AnyArray, log_right: Any, log_wrong: Any) -> Channel:
    """Labelers who spread their errors evenly, from log p(right) and log p(wrong) (labelers, levels)."""
    classes = prior.shape[0]
    right = jnp.eye(classes, dtype=bool)[None, :, :, None]
    each = log_wrong - np.log(classes - 1)
    table = jnp.where(right, log_right[:, None, None, :], each[:, None, None, :])
    return as_channel(safe_log(prior), log_weight, table)


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
