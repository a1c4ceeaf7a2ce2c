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

from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning._given import check_steps, read_given
from jtruth.learning.annotation.channels import beta_levels
from jtruth.learning.modes import _em

_MOST_LEVELS = 200  # levels times labels is the memory of one pass


class DifficultyPriors(NamedTuple):
    """Beta laws, of Su 5.1.2 unless said. Beta(1, 1) of the fallibility is maximum likelihood."""

    difficulty: tuple[float, float] = (1.0, 5.0)
    fallibility: tuple[float, float] = (1.0, 1.0)  # each at least 1, so that there is a mode


SU_5_1_2 = DifficultyPriors()


def fit_difficulty_fallibility(
    labels: Labels,
    *,
    priors: DifficultyPriors = SU_5_1_2,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable fallibilities and class prior, and what they say of each sample's difficulty.

    Args:
        labels: the noisy labels.
        priors: Beta laws of difficulty and fallibility.
        gold, prior, key, max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`. Its own: `fallibility` phi (labelers,), 1/2 for a labeler without labels; `difficulty` and
        `difficulty_sd` (samples,), the posterior mean and standard deviation of delta given all labels of the
        sample, phi taken as known; `label_log_likelihood` (samples, classes), log p(labels of a sample |
        class) with difficulty summed out, as it is in the class posterior; `log_posterior`, log-likelihood
        and log density of the fallibilities, without its constant.

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
    data = _em.long_form(labels, known)
    levels = beta_levels(*priors.difficulty, most + 2)  # two more: for mean and variance of the difficulty
    shares, prior = _em.start_shares(labels, fixed)
    start = np.tile([0.3, 0.7], (_em.bucket(labels.num_labelers), 1)), shares
    counts = np.array(priors.fallibility) - 1.0
    with jax.enable_x64(True):
        end = difficulty_em(data, start, levels, counts, prior, max_steps=max_steps, tol=tol)
    heard = labels.labels_per_labeler() > 0
    level = np.asarray(end.posterior)[: labels.num_samples].sum(axis=1)
    mean = level @ levels[0]
    return _em.fitted(
        labels,
        known,
        end,
        _em.silent(labels, "their fallibility means nothing."),
        fallibility=np.where(heard, np.asarray(end.summit.params[0])[: heard.size, 0], 0.5),
        difficulty=mean,
        difficulty_sd=np.sqrt((level * (levels[0] - mean[:, None]) ** 2).sum(axis=1)),
    )


@partial(jax.jit, static_argnames=("max_steps",))
def difficulty_em(data, start, levels, counts, prior, *, max_steps: int, tol) -> _em.End:
    """EM, pure and jitted; `vmap` it over starts or `data.weight`.

    Args:
        data: a `LongForm`.
        start: fallibilities phi and 1 - phi (labelers, 2), class prior (classes,).
        levels: nodes and log weights of the difficulty.
        counts: (2,) pseudo-counts of phi and 1 - phi, for labelers who gave labels.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """
    nodes, log_weight = (jnp.asarray(x) for x in levels)
    start = jax.tree.map(jnp.asarray, start)
    classes, each = start[1].shape[0], data.each
    number = jnp.zeros_like(start[0]).at[data.labeler].add(each[:, None])

    def joint(params, data):
        guess, able = params[0][data.labeler].T  # with fallibility; and if not, with difficulty
        clear = able[:, None] * (1 - nodes)[None, :]
        wrong = (guess[:, None] + able[:, None] * nodes[None, :]) / classes
        return (
            _em.even_errors(data, jnp.log(clear + wrong), jnp.log(wrong), params[1]) + log_weight[None, None]
        )

    pseudo = jnp.where(number > 0, jnp.asarray(counts)[None, :], 0)
    model = _em.of_probabilities(joint, (pseudo,))
    return _em.em(model, data, start, prior, max_steps=max_steps, tol=tol)


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
