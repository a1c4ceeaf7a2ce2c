"""Difficulty and fallibility learned: how hard is each sample, and how often does each labeler guess?

The model of Su 5.1.2. Sample i has a difficulty delta_i, labeler t a fallibility phi_t, and a label is right
with probability

    r = 1/C + (1 - 1/C) (1 - delta_i) (1 - phi_t),                    which is 1 - eps of (60)

and else names each wrong class alike, (59). Difficulties are not parameters here: there are as many as
samples, each seen through a few labels, so their most probable values jointly are far off. They are summed
out under their prior, Beta(1, 5) as in 5.1.2, exactly: a sample's likelihood is a polynomial in delta, and a
Gauss-Jacobi rule integrates it without error. What is maximised is the posterior of fallibilities and class
prior, and delta_i is returned as its posterior mean and standard deviation at that maximum.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.learning._given import check_steps, read_given
from jtruth.learning.annotation.channels import beta_levels
from jtruth.learning.modes import _long_form as lf
from jtruth.learning.modes._climb import inside_unit
from jtruth.learning.modes._em import Model, em, in_common, silent

_MOST_LEVELS = 200  # levels times labels is the memory of one pass


class DifficultyPriors(NamedTuple):
    """Beta laws, of Su 5.1.2 unless said. Beta(1, 1) of the fallibility is maximum likelihood."""

    difficulty: tuple[float, float] = (1.0, 5.0)
    fallibility: tuple[float, float] = (1.0, 1.0)  # each at least 1, so that there is a mode


SU_5_1_2 = DifficultyPriors()


class LearnedDifficulty(NamedTuple):
    """A fitted difficulty-fallibility model. All arrays are NumPy float64."""

    prior: Float[np.ndarray, " classes"]
    fallibility: Float[np.ndarray, " labelers"]  # phi; 1/2 for a labeler without labels
    difficulty: Float[np.ndarray, " samples"]  # posterior mean of delta_i, given all labels of the sample
    difficulty_sd: Float[np.ndarray, " samples"]  # and its standard deviation, phi taken as known
    class_posterior: Float[np.ndarray, "samples classes"]  # with difficulty summed out
    label_log_likelihood: Float[np.ndarray, "samples classes"]  # log p(labels of i | class), the same
    log_likelihood: float  # log p(labels, gold classes | prior, fallibility)
    log_posterior: float  # log_likelihood + log density of the fallibilities' prior, without its constant
    converged: bool
    num_steps: int
    warnings: tuple[str, ...]  # what is doubtful, one sentence each

    __repr__ = one_line

    def noise_model(self) -> Any:
        """`jtruth.noise.DifficultyFallibility` at mean difficulties; `label_log_likelihood` sums them out."""
        from jtruth.noise import DifficultyFallibility

        return DifficultyFallibility(self.difficulty, self.fallibility, self.prior.size)


def fit_difficulty_fallibility(
    labels: Labels,
    *,
    priors: DifficultyPriors = SU_5_1_2,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> LearnedDifficulty:
    """Most probable fallibilities and class prior, and what they say of each sample's difficulty.

    Args:
        labels: the noisy labels.
        priors: Beta laws of difficulty and fallibility.
        gold, prior, key, max_steps, tol: as for `fit_glad`.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_difficulty_fallibility(Labels.from_matrix(z, 2))
    >>> print(fit.difficulty.round(2))
    [0.14 0.16 0.14 0.16 0.14 0.14]
    """
    known, fixed = read_given(labels, gold, prior)
    check_steps(max_steps, tol)
    _check_priors(priors)
    most = int(labels.labels_per_sample().max())
    if most > 2 * _MOST_LEVELS:
        raise ValueError(
            f"a sample has {most} labels; a difficulty is summed out exactly for at most {2 * _MOST_LEVELS}"
        )
    data = lf.long_form(labels, known)
    levels = beta_levels(*priors.difficulty, most + 2)  # two more: for mean and variance of the difficulty
    shares, prior = lf.start_shares(labels, fixed)
    start = (np.full(lf.bucket(labels.num_labelers), 0.3), shares)
    counts = np.array(priors.fallibility) - 1.0
    with jax.enable_x64(True):
        found, end, (mean, sd) = difficulty_em(
            data, start, levels, counts, prior, max_steps=max_steps, tol=tol
        )
    size, heard = labels.num_samples, labels.labels_per_labeler() > 0
    return LearnedDifficulty(
        fallibility=np.where(heard, np.asarray(found.params[0])[: heard.size], 0.5),
        difficulty=np.asarray(mean)[:size],
        difficulty_sd=np.asarray(sd)[:size],
        **in_common(found, end, labels, known, silent(labels, "their fallibility means nothing.")),
    )


@partial(jax.jit, static_argnames=("max_steps",))
def difficulty_em(data, start, levels, counts, prior, *, max_steps: int, tol):
    """EM, pure and jitted; `vmap` it over starts or `data.weight`: `Summit`, `End`, difficulties and sds.

    A label is careful if neither the sample's difficulty (chance delta) nor the labeler's fallibility (chance
    phi) makes it a guess. The M step makes phi the expected share of labels that fallibility made guesses.

    Args:
        data: a `LongForm`.
        start: fallibilities (labelers,), and the class prior (classes,).
        levels: nodes and log weights of the difficulty.
        counts: (2,) pseudo-counts of a labeler's guesses and of careful labels.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """
    nodes, log_weight = (jnp.asarray(x) for x in levels)
    classes, labelers = start[1].shape[0], start[0].shape[0]
    counts = jnp.asarray(counts)
    each = data.given * data.weight[data.sample]
    number = jnp.zeros(labelers, each.dtype).at[data.labeler].add(each)
    heard = number > 0

    def joint(params, shares, data):
        careful = (1 - params[0])[data.labeler][:, None] * (1 - nodes)[None, :]
        right, wrong = (1 + (classes - 1) * careful) / classes, (1 - careful) / classes
        return lf.log_joint(data, jnp.log(right), jnp.log(wrong), shares) + log_weight[None, None, :]

    def log_prior(params):
        law = xlogy(counts[0], params[0]) + xlogy(counts[1], 1 - params[0])
        return jnp.where(heard, law, 0).sum()

    def m_step(params, posterior):
        able = (1 - params[0])[data.labeler][:, None]  # fallibility does not make it a guess
        clear = (1 - nodes)[None, :]  # nor does difficulty
        guess = 1 - able * clear
        own = posterior[data.sample, data.label]  # (labels, levels): the label is the class
        both = own * (able * clear) / (able * clear + guess / classes)
        level = posterior.sum(axis=1)[data.sample]
        # Guesses that fallibility made, with difficulty or without; and what it did not, so that no rounding
        # brings their share above 1.
        fallible = ((level - both) * (1 - able) / guess).sum(axis=1)
        careful = (both + (level - both) * able * (1 - clear) / guess).sum(axis=1)
        sums = [jnp.zeros(labelers, each.dtype).at[data.labeler].add(each * x) for x in (fallible, careful)]
        made, spared = sums[0] + counts[0], sums[1] + counts[1]
        return (jnp.where(heard, made / jnp.where(heard, made + spared, 1), params[0]),)

    def inside(far, plain):
        return (inside_unit(far[0], plain[0]),)

    model = Model(joint, m_step, log_prior, inside)
    found, end, posterior = em(model, data, start, prior, max_steps=max_steps, tol=tol)
    level = posterior.sum(axis=1)
    mean = (level * nodes[None, :]).sum(axis=1)
    spread = (level * (nodes[None, :] - mean[:, None]) ** 2).sum(axis=1)
    return found, end, (mean, jnp.sqrt(spread))


def _check_priors(priors: DifficultyPriors) -> None:
    """Refuse Beta laws that are none, and those of the fallibility that have no mode."""
    for name, law in priors._asdict().items():
        least = 1 if name == "fallibility" else 0
        good = len(law) == 2 and all(np.isfinite(x) and (x >= 1 if least else x > 0) for x in law)
        if not good:
            raise ValueError(
                f"priors.{name} is {law}; give (a, b) of a Beta law, both "
                + ("at least 1" if least else "positive")
            )
