"""Karger, Oh and Shah (2014): samples and labelers tell each other how much to be believed.

Two classes, labels A_it = +1 or -1. Along every label two messages go back and forth ((3), (4) there):

    sample i to labeler t:   x[i, t] = sum of A[i, s] y[s, i] over the other labelers s of i
    labeler t to sample i:   y[t, i] = sum of A[j, t] x[j, t] over the other samples j of t

x is what the others think of sample i; y how often t agrees with what others think, which is how reliable t
looks without sample i. The answer is the sign of sum_t A[i, t] y[t, i]. It is a power iteration that leaves
out what came from the receiver; on a random regular assignment (`jtruth.planning.regular_assignment`) with
enough labels it needs, up to a constant, as few labels as any method could.

There is no probability in it: the class posterior here is 1 or 0, or 1/2 where the sum is 0. The paper draws
first messages from N(1, 1); here all are 1, their mean, unless a random start is asked for. Messages are
scaled in every step, which changes no sign. A sample of known class sends +-1, the root mean square of what
others send.

Why not one class against the rest, for more than two: "the rest" is a mixture of classes in which a labeler's
error rate is not one number, and scores of different classes have no common unit to be compared by. Karger,
Oh and Shah (2013) take another way for many classes, by low-rank approximation, which is not here.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._random import host_rng
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, check_steps, clamp, not_converged, read_given

_NO_PRIOR = "KOS has no use for a class prior; leave prior out, or choose another method"


@partial(jax.jit, static_argnames=("num_labelers", "max_steps"))
def kos_messages(
    sample: Int[Array | np.ndarray, " labels"],
    labeler: Int[Array | np.ndarray, " labels"],
    sign: Float[Array | np.ndarray, " labels"],
    known: Float[Array | np.ndarray, " samples"],
    start: Float[Array | np.ndarray, " labels"],
    *,
    num_labelers: int,
    max_steps: int,
    tol: float | Float[Array, ""],
) -> tuple[Float[Array, " samples"], Float[Array, " labelers"], Bool[Array, ""], Int[Array, ""]]:
    """The messages until they change no more; pure, to be vmapped over starts.

    Args:
        sample, labeler: of each label.
        sign: +1 for class 1, -1 for class 0, 0 for no label.
        known: +1 or -1 for samples of known class, 0 for the others.
        start: first messages of labelers to samples.
        num_labelers, max_steps: static.
        tol: largest change of a scaled message at the end.

    Returns:
        Sum of A y over the labels of each sample, sum of A x over those of each labeler, whether messages
        came to rest, and number of steps.
    """
    sign, known = jnp.asarray(sign), jnp.asarray(known)
    fixed = known[sample]
    free = jnp.where(fixed == 0, jnp.abs(sign), 0)

    def scaled(message, on):
        size = jnp.sqrt((on * message**2).sum() / jnp.maximum(on.sum(), 1))
        return message / jnp.where(size > 0, size, 1)

    def others(message, group, number):
        """Sum of sign * message over the other labels of the same sample or labeler."""
        each = sign * message
        total = jax.ops.segment_sum(each, group, number)
        return total[group] - each, total

    def step(state):
        y, _, _, count = state
        x, _ = others(y, sample, known.shape[0])
        x = jnp.where(fixed != 0, fixed, scaled(x, free))
        new, weight = others(x, labeler, num_labelers)
        new = scaled(new, jnp.abs(sign))
        return new, weight, jnp.abs(sign * (new - y)).max(), count + 1

    first = (jnp.asarray(start), jnp.zeros(num_labelers, sign.dtype), jnp.array(jnp.inf, sign.dtype))
    y, weight, moved, count = jax.lax.while_loop(
        lambda s: (s[2] >= tol) & (s[3] < max_steps), step, (*first, jnp.array(0, jnp.int32))
    )
    return others(y, sample, known.shape[0])[1], weight, moved < tol, count


def refuses(labels: Labels) -> str | None:
    """Why KOS cannot take these labels."""
    if labels.num_classes != 2:
        return (
            f"KOS knows two classes and the labels have {labels.num_classes}; for more choose dawid_skene "
            "(a matrix for each labeler) or one_coin (one error rate each)"
        )
    return None


def fit_kos(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    prior: Any = None,
    random_start: bool = False,
    max_steps: int = 1000,
    tol: float = 1e-10,
) -> Fit:
    """Consensus by message passing between samples and labelers (Karger, Oh and Shah 2014).

    Args:
        labels: of two classes. A labeler who labels a sample twice sends two messages.
        key: of a random start; 0 if None.
        gold: (samples,) known classes, -1 where unknown.
        prior: refused: messages have none.
        random_start: first messages from N(1, 1) as in the paper, instead of 1.
        max_steps, tol: of the iteration.

    Returns:
        `Fit`. Its own: `score` (samples,), above 0 for class 1, its size has no unit; `weight` (labelers,),
        how much a labeler is believed, below 0 who says the opposite.

    Raises:
        ValueError: input that cannot be used, a prior, or more classes.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 60)
    >>> z = np.where(rng.random((60, 5)) < [0.9, 0.9, 0.8, 0.5, 0.1], y[:, None], 1 - y[:, None])
    >>> fit = fit_kos(Labels.from_matrix(z, 2))
    >>> print((fit.class_posterior.argmax(axis=1) == y).mean().round(2), fit.weight.argmin(), fit.converged)
    0.95 4 True
    """
    known, prior = read_given(labels, gold, prior)
    if prior is not None:
        raise ValueError(_NO_PRIOR)
    if (reason := refuses(labels)) is not None:
        raise ValueError(reason)
    check_steps(max_steps, tol)
    sample, labeler, label = (np.asarray(part, np.int32) for part in labels.arrays)
    sign = np.where(label >= 0, 2.0 * label - 1, 0.0)
    start = np.ones(sign.size)
    if random_start:
        start += host_rng(key, "KOS start").standard_normal(sign.size)
    pushed = np.where(known >= 0, 2.0 * known - 1, 0.0)
    with jax.enable_x64(True):
        score, weight, converged, steps = map(np.asarray, kos_messages(
            sample, labeler, sign, pushed, start,
            num_labelers=labels.num_labelers, max_steps=max_steps, tol=float(tol),
        ))  # fmt: skip
    even = np.abs(score) <= 1e-12 * max(float(np.abs(score).max()), 1e-300)
    one = np.where(even, 0.5, score > 0)
    posterior = clamp(np.stack([1 - one, one], axis=1), known)
    doubts = [*not_converged("Message passing", bool(converged), int(steps))]
    if tied := int((even & (known < 0)).sum()):
        doubts.append(f"Messages about {tied} samples cancel or are missing; both classes have 1/2 there.")
    return Fit(
        posterior.mean(axis=0),
        posterior,
        float("nan"),
        bool(converged),
        int(steps),
        tuple(doubts),
        {"score": score, "weight": weight},
    )
