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

from typing import Any

import jax.numpy as jnp
import numpy as np

from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning.annotation.channels import beta_levels, chances
from jtruth.learning.em import long_form as lf

_MOST_LEVELS = 200  # levels times labels is the memory of one pass


def fit_difficulty_fallibility(
    labels: Labels,
    *,
    difficulty: tuple[float, float] = (1.0, 5.0),
    fallibility: tuple[float, float] = (1.0, 1.0),
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable fallibilities and class prior, and what they say of each sample's difficulty.

    Args:
        labels: the noisy labels.
        difficulty, fallibility: (a, b) of Beta laws. Beta(1, 1) of the fallibility is maximum likelihood;
            both of its numbers are at least 1, so that there is a mode.
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
    data, known, (shares, prior) = lf.read(labels, gold, prior, max_steps, tol)
    _check_law("difficulty", difficulty, 0.0)
    _check_law("fallibility", fallibility, 1.0)
    most = int(labels.labels_per_sample().max())
    if most > 2 * _MOST_LEVELS:
        raise ValueError(
            f"a sample has {most} labels; a difficulty is summed out exactly for at most {2 * _MOST_LEVELS}"
        )
    levels = beta_levels(*difficulty, most + 2)  # two more: for mean and variance of the difficulty
    start = np.tile([0.3, 0.7], (lf.bucket(labels.num_labelers), 1)), shares
    settings = (*levels, np.tile(np.array(fallibility) - 1.0, (len(start[0]), 1)))
    end = lf.run(difficulty_fallibility, data, start, settings, prior, max_steps=max_steps, tol=tol)
    heard, (nodes, _) = labels.labels_per_labeler() > 0, levels
    level = end.posterior[: labels.num_samples].sum(axis=1)
    mean = level @ nodes
    own = {
        "fallibility": np.where(heard, end.summit.params[0][: heard.size, 0], 0.5),
        "difficulty": mean,
        "difficulty_sd": np.sqrt((level * (nodes - mean[:, None]) ** 2).sum(axis=1)),
    }
    return lf.fitted(labels, known, end, lf.not_heard(labels, "their fallibility means nothing."), **own)


def difficulty_fallibility(data: lf.LongForm, settings: Any) -> lf.Model:
    """The model for `em`: its parameters are fallibilities phi and 1 - phi (labelers, 2).

    `settings` are nodes and log weights of the difficulty, and pseudo-counts (labelers, 2) of phi and
    1 - phi, which count where a labeler gave labels.
    """
    nodes, log_weight, counts = settings

    def joint(params):
        right, wrong = chances(*params[0][data.labeler].T, nodes, params[1].shape[0])
        return lf.even_errors(data, jnp.log(right), jnp.log(wrong), params[1]) + log_weight[None, None]

    number = jnp.zeros_like(counts).at[data.labeler].add(data.each[:, None])
    return lf.of_probabilities(joint, (jnp.where(number > 0, counts, 0),))


def _check_law(name: str, law: tuple[float, float], least: float) -> None:
    """Refuse a Beta law that is none, or has no mode."""
    if len(law) != 2 or not all(np.isfinite(x) and (x >= least if least else x > 0) for x in law):
        must = f"at least {least:.0f}" if least else "positive"
        raise ValueError(f"{name} is {law}; give (a, b) of a Beta law, both {must}")
