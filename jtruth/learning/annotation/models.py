"""The annotation models without their NumPyro sites: what parameters mean, and where chains start.

A sample has a class c ~ prior and, in some models, a difficulty level h with probability w[h], both unknown.
Given both, labeler t gives label k with probability table[t, k, c, h], independently of everything else. So a
model is a function from parameters to a `Channel` of one point (`jtruth.latent.density`) whose states are the
pairs of class and level. Levels are the nodes of a Gauss rule for the prior of the difficulty, so that no
parameter belongs to a single sample, as leave-one-out comparison needs.

Functions named `..._start` go the other way, from class shares and one matrix for each labeler to parameters
near them. `functions.SPECS` has one entry for each model.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float, Int
from scipy.special import ndtri, roots_hermitenorm, roots_jacobi

from jtruth._arrays import AnyArray, is_concrete, namespace, safe_log
from jtruth._host import diagonal_rows
from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.latent.density import Channel

Parameters = dict[str, Any]
Hyper = dict[str, Any]
_MOST_NODES = 40  # of a traced number


def as_channel(log_prior: Any, log_weight: Any, log_table: Any) -> Channel:
    """A channel of one point from log pi (classes,), log w (levels,), table (labelers, labels, c, h).

    log pi may be that of each sample (samples, classes), and log w that of each class (classes, levels).
    """
    labelers, labels, classes, levels = log_table.shape
    return Channel(
        jnp.repeat(jnp.atleast_2d(jnp.asarray(log_prior)), levels, axis=1)[..., None],
        jnp.broadcast_to(jnp.asarray(log_weight), (classes, levels)).reshape(-1, 1),
        log_table.reshape(labelers * labels, classes * levels, 1),
    )


def table_of(channel: Channel, num_labelers: int) -> Float[Array, "labelers labels classes levels"]:
    """The log table of a channel of one point; there are as many labels as classes."""
    labels = len(channel.log_seen) // num_labelers
    return channel.log_seen.reshape(num_labelers, labels, labels, -1)


def confusion(channel: Channel, num_labelers: int) -> Float[Array, "labelers classes classes"]:
    """p(label | class) of each labeler with the difficulty summed out; rows = true class."""
    table = table_of(channel, num_labelers)
    weight = jnp.exp(channel.log_level).reshape(table.shape[2:])
    return jnp.einsum("tkch,ch->tck", jnp.exp(table), weight)


def draw_labels(
    channel: Channel, num_labelers: int, rng: np.random.Generator, labeler: Int[AnyArray, "rows width"]
) -> Int[np.ndarray, "rows width"]:
    """Labels drawn from the model by NumPy, -1 where `labeler` is -1."""
    log_class, log_level, log_seen = (np.asarray(a, np.float64) for a in channel)
    of_state = np.exp(log_class[0, :, 0] + log_level[:, 0])
    state = rng.choice(of_state.size, len(labeler), p=of_state / of_state.sum())
    table = np.exp(log_seen).reshape(num_labelers, -1, of_state.size)
    below = table[np.maximum(labeler, 0), :, state[:, None]].cumsum(axis=2)
    u = (1 - rng.random(labeler.shape)) * below[..., -1]  # so a label of probability 0 is never drawn
    label = (below < u[..., None]).sum(axis=2).astype(labeler.dtype)
    return np.where(labeler >= 0, label, -1)


def confusion_channel(
    prior: Float[AnyArray, " classes"], matrices: Float[AnyArray, "labelers classes classes"]
) -> Channel:
    """The channel of one matrix for every labeler."""
    table = jnp.swapaxes(safe_log(matrices), 1, 2)[..., None]
    return as_channel(safe_log(prior), jnp.zeros(1, prior.dtype), table)


def matrices_channel(p: Parameters, hyper: Hyper, num_labelers: int) -> Channel:
    """Dawid and Skene: a matrix for every labeler."""
    return confusion_channel(p["prior"], p["confusion"])


def pooled(p: Parameters, hyper: Hyper, num_labelers: int) -> Channel:
    """One matrix for all labelers."""
    return confusion_channel(p["prior"], jnp.repeat(p["matrix"][None], num_labelers, axis=0))


def hierarchical(p: Parameters, hyper: Hyper, num_labelers: int) -> Channel:
    """Matrices whose logits are those of the population and each labeler's own part."""
    return confusion_channel(p["prior"], logit_rows(p["population"][None] + p["spread"][None] * p["own"]))


def one_coin(p: Parameters, hyper: Hyper, num_labelers: int) -> Channel:
    """A labeler is right with its probability for every class; errors are spread evenly."""
    prior, accuracy = p["prior"], p["accuracy"][:, None]
    return even_errors(prior, jnp.zeros(1, prior.dtype), safe_log(accuracy), safe_log(1 - accuracy))


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
    """GLAD for C classes: logit of "right" is ability * easiness - log(C - 1), so ability 0 is chance."""
    logit = p["ability"][:, None] * jnp.exp(hyper["log_easiness"])[None, :] - np.log(p["prior"].shape[0] - 1)
    log_right, log_wrong = jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit)
    return even_errors(p["prior"], hyper["log_weight"], log_right, log_wrong)


def mace(p: Parameters, hyper: Parameters, num_labelers: int) -> Channel:
    """MACE (Hovy et al. 2013): the class with probability `competence`, else a draw from `spam`."""
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


def stratified(p: Parameters, hyper: Hyper, num_labelers: int) -> Channel:
    """Rows (labelers, classes, strata, labels), and weights of the strata (classes, strata)."""
    table = jnp.moveaxis(safe_log(p["stratum_confusion"]), 3, 1)
    return as_channel(safe_log(p["prior"]), safe_log(p["weights"]), table)


def even_errors(prior: AnyArray, log_weight: AnyArray, log_right: Any, log_wrong: Any) -> Channel:
    """Labelers with even errors, from log p(right) and log p(wrong) (labelers, levels)."""
    classes = prior.shape[0]
    right = jnp.eye(classes, dtype=bool)[None, :, :, None]
    each = log_wrong - np.log(classes - 1)
    table = jnp.where(right, log_right[:, None, None, :], each[:, None, None, :])
    return as_channel(safe_log(prior), log_weight, table)


def logit_rows(off: Float[AnyArray, "*labelers classes others"]) -> Float[Array, "*labelers classes classes"]:
    """Matrices from logits of the wrong labels, in order without the diagonal; the right one has logit 0."""
    true, observed = np.indices((off.shape[-2], off.shape[-2]))
    logits = off[..., true, np.where(observed < true, observed, np.maximum(observed - 1, 0))]
    return jax.nn.softmax(jnp.where(true == observed, 0.0, logits), axis=-1)


def beta_levels(a: Any, b: Any, most_labels: int) -> tuple[AnyArray, AnyArray]:
    """Nodes and log weights that sum a difficulty ~ Beta(a, b) out EXACTLY for up to `most_labels` labels.

    Each label's probability (59)-(60) is affine in it, and n Gauss-Jacobi nodes integrate degree 2n - 1. For
    traced a and b they are the eigenvalues of a matrix (Golub and Welsch 1969).
    """
    number = (most_labels + 2) // 2
    if is_concrete((a, b)):
        nodes, weights = roots_jacobi(number, b - 1, a - 1)
        return (1 + nodes) / 2, np.log(weights / weights.sum())
    n, total = jnp.arange(1, number, dtype=jnp.result_type(float)), a + b - 2
    centre = jnp.append((a - b) / (a + b), (a - b) * total / ((2 * n + total) * (2 * n + total + 2)))
    share = jnp.where(n == 1, 1, (n + total) / jnp.where(n == 1, 1, 2 * n + total - 1))
    squared = 4 * n * (n + a - 1) * (n + b - 1) * share / ((2 * n + total) ** 2 * (2 * n + total + 1))
    beside = jnp.diag(jnp.sqrt(squared), 1)
    nodes, vectors = jnp.linalg.eigh(jnp.diag(centre) + beside + beside.T)
    return (1 + nodes) / 2, jnp.log(vectors[0] ** 2)


def normal_levels(size: Any) -> tuple[AnyArray, AnyArray]:
    """Nodes and log weights for N(0, 1); for a traced number of nodes, up to `_MOST_NODES`, some are -inf."""
    number = [int(size)] if is_concrete(size) else range(1, _MOST_NODES + 1)
    nodes, log_weight = np.zeros((len(number), number[-1])), np.full((len(number), number[-1]), -np.inf)
    for row, n in enumerate(number):
        nodes[row, :n], weights = roots_hermitenorm(n)
        log_weight[row, :n] = np.log(weights / weights.sum())
    if is_concrete(size):
        return nodes[0], log_weight[0]
    both = jnp.stack([nodes, log_weight], axis=1)
    row = both.at[jnp.asarray(size, jnp.int32) - 1].get(mode="fill", fill_value=jnp.nan)
    return row[0], row[1]


class Spec(NamedTuple):
    """One model. C classes, T labelers. All functions are pure; equal functions share a compiled program."""

    # hyper, T -> parameters beside the class shares "prior" (C,): distributions, or values already sampled
    sites: Callable[[Hyper, int], Parameters]
    channel: Callable[[Parameters, Hyper, int], Channel]  # parameters, hyper, T -> probabilities of labels
    defaults: Callable[[int], Hyper] = lambda classes: {}  # C -> prior settings, all that a user may replace
    # class shares, matrices, hyper -> a start; what is not in it starts at a draw from its prior
    start: Callable[[Any, Any, Hyper], Parameters] = lambda prior, psi, hyper: {"prior": prior}
    rigid: bool = False  # whether two labels of a sample can determine the parameters
    any_sign: tuple[str, ...] = ()  # prior settings that need not be positive

    __repr__ = one_line


def prepare(spec: Spec, num_classes: int, most_labels: int, replaced: Hyper | None) -> Hyper:
    """Prior settings as arrays, checked: defaults, or those that replace them; nodes for difficulties."""
    hyper: Hyper = {"class_concentration": 1.0, **spec.defaults(num_classes)}
    unknown = sorted(set(replaced or {}) - set(hyper))
    if unknown:
        raise ValueError(f"the model has no prior setting {unknown[0]!r}; it has {', '.join(hyper)}")
    shapes = {name: np.shape(value) for name, value in hyper.items()}
    shapes["class_concentration"] = (num_classes,)
    settings = {**hyper, **(replaced or {})}
    arrays = {name: _setting(name, value, shapes[name], spec) for name, value in settings.items()}
    if "difficulty_prior" in arrays:
        a, b = arrays.pop("difficulty_prior")
        arrays["difficulty"], arrays["log_weight"] = beta_levels(a, b, most_labels)
    for prior, name in (("easiness_prior", "log_easiness"), ("position_prior", "position")):
        if prior in arrays:
            *mean, sd, size = arrays.pop(prior)
            nodes, arrays["log_weight"] = normal_levels(size)
            arrays[name] = (mean[0] if mean else 0.0) + sd * nodes
    return arrays


def _setting(name: str, value: Any, shape: tuple[int, ...], spec: Spec) -> AnyArray:
    """A prior setting of this shape; its numbers are checked unless they are traced."""
    traced = not is_concrete(value)
    try:
        given = jnp.asarray(value, jnp.result_type(float)) if traced else np.asarray(value, np.float64)
        array = jnp.broadcast_to(given, shape) if traced else np.array(np.broadcast_to(given, shape))
    except (TypeError, ValueError):
        got = f"is {value!r}" if isinstance(value, str) else f"has shape {np.shape(value)}"
        raise ValueError(f"the prior setting {name!r} {got}; give {shape} or one number") from None
    if traced:
        return array
    given, free = given.tolist(), name in spec.any_sign
    if not np.isfinite(array).all():
        raise ValueError(f"the prior setting {name!r} is not finite: {given}")
    scales = array[1:] if free and array.ndim == 1 else array  # after a mean, which may have any sign
    if not ((free and array.ndim > 1) or (scales > 0).all()):
        raise ValueError(f"the prior setting {name!r} is {given}; {'sd' if free else 'it'} must be positive")
    return array


def default_rows(classes: int) -> Hyper:
    """Concentrations of rows: 2 on the diagonal, 1 spread over the rest."""
    return {"row_concentration": diagonal_rows(classes, 2.0, 1.0)}


def mean_accuracy(prior, matrices):
    """(labelers,) accuracies, kept in [.05, .95]."""
    xp = namespace(prior)
    return xp.clip(xp.einsum("c,tcc->t", prior, matrices), 0.05, 0.95)


def fallibility_start(prior, matrices, hyper):
    """phi from the mean error (60) at the mean difficulty."""
    xp, classes = namespace(prior, *hyper.values()), prior.size
    mean = xp.exp(hyper["log_weight"]) @ hyper["difficulty"]
    error = (1 - mean_accuracy(prior, matrices)) * classes / (classes - 1)
    high = hyper["fallibility"][2]
    return {"prior": prior, "fallibility": xp.clip((error - mean) / (1 - mean), 0.05 * high, 0.95 * high)}


def strata_start(prior, matrices, hyper):
    """Rows as they are for easy samples, halfway to even for hard ones."""
    rows = namespace(prior).stack([matrices, matrices / 2 + 0.5 / prior.size], axis=2)
    weights = hyper["weights"] / hyper["weights"].sum(axis=1, keepdims=True)
    return {"prior": prior, "weights": weights, "common": rows.mean(axis=0), "stratum_confusion": rows}


def hierarchical_start(prior, matrices, hyper):
    """The population at the mean matrix, by `logit_rows` undone; labelers do not differ."""
    shape, mean, xp = hyper["logit_mean"].shape, matrices.mean(axis=0), namespace(prior)
    population = xp.log(mean[~np.eye(prior.size, dtype=bool)].reshape(shape) / xp.diag(mean)[:, None])
    spread, own = 0.5 * hyper["spread"] * np.ones(shape), np.zeros((len(matrices), *shape))
    return {"prior": prior, "population": population, "spread": spread, "own": own}


def ability_start(prior, matrices, hyper):
    """Ability from the mean accuracy at the mean easiness."""
    right, xp = mean_accuracy(prior, matrices), namespace(prior, *hyper.values())
    logit = xp.log(right / (1 - right)) + np.log(prior.size - 1)
    easiness = xp.exp(xp.exp(hyper["log_weight"]) @ hyper["log_easiness"])
    return {"prior": prior, "ability": logit / easiness}


def mace_start(prior, matrices, hyper):
    """Spam is even at the start, so accuracy = competence + (1 - competence) / C."""
    competence = (mean_accuracy(prior, matrices) * prior.size - 1) / (prior.size - 1)
    spam = np.full((len(matrices), prior.size), 1 / prior.size)
    return {"prior": prior, "competence": namespace(prior).clip(competence, 0.05, 0.95), "spam": spam}


def welinder_defaults(classes: int) -> Hyper:
    """Those of `fit_welinder`: w ~ N(1, 1), tau ~ N(0, 3^2), x ~ N(-1 or +1, .8^2) by 25 nodes."""
    if classes != 2:
        raise ValueError(
            f"Welinder's model is for two classes, but these are {classes}: choose item_difficulty (glad), "
            "where samples differ too"
        )
    return {"direction": (1.0, 1.0), "threshold": (0.0, 3.0), "position_prior": (0.8, 25.0)}


def welinder_start(prior, matrices, hyper):
    """w and tau from p(1 | class) = Phi((+-w - tau) / sqrt(1 + sigma^2 w^2)), sigma from the nodes."""
    xp = namespace(prior, *hyper.values())
    quantile = ndtri if xp is np else jax.scipy.special.ndtri
    below, above = quantile(xp.clip(matrices[:, :, 1], 0.02, 0.98)).T
    variance = xp.exp(hyper["log_weight"]) @ hyper["position"] ** 2
    half = xp.clip((above - below) / 2, -0.9 / xp.sqrt(variance), 0.9 / xp.sqrt(variance))
    width = 1 / xp.sqrt(1 - variance * half**2)
    return {"prior": prior, "direction": half * width, "threshold": -width * (above + below) / 2}


_LABELER, _CLASS, _LABEL = "labeler", "true_class", "labeled_as"
# Axes of every site. None is called "label", because `arviz_stats.summary` stacks them into one of that name.
DIMS: dict[str, list[str]] = {
    "prior": [_CLASS], "confusion": [_LABELER, _CLASS, _LABEL], "matrix": [_CLASS, _LABEL],
    "population": [_CLASS, "wrong"], "spread": [_CLASS, "wrong"], "own": [_LABELER, _CLASS, "wrong"],
    "weights": [_CLASS, "stratum"], "common": [_CLASS, "stratum", _LABEL],
    "stratum_confusion": [_LABELER, _CLASS, "stratum", _LABEL], "classifier": [_CLASS, "predicted"],
    "spam": [_LABELER, _LABEL],
} | {
    name: [_LABELER]
    for name in ("accuracy", "fallibility", "ability", "competence", "direction", "threshold")
}  # fmt: skip


def coords(labels: Labels) -> dict[str, list[Any]]:
    """Names of labelers, classes and samples, as ArviZ takes them beside `dims`."""
    classes = list(labels.class_names)
    axes = dict.fromkeys(("true_class", "labeled_as", "predicted"), classes)
    own = {"labeler": list(labels.worker_names), "task": list(labels.task_names)}
    return {**axes, **own, "wrong": list(range(len(classes) - 1))}
