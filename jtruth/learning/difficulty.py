"""Samples that differ in difficulty: the model of Su 5.1.2, and GLAD.

**Difficulty and fallibility (Su 5.1.2).** Sample i has a difficulty delta_i, labeler t a fallibility phi_t,
and a label is right with probability

    r = 1/C + (1 - 1/C) (1 - delta_i) (1 - phi_t),                    which is 1 - eps of (60)

and else names each wrong class alike, (59). Difficulties, each seen through a few labels, are summed out
under their prior, Beta(1, 5), exactly: a sample's likelihood is a polynomial in delta, and a Gauss-Jacobi
rule integrates it without error. What is maximised is the posterior of fallibilities and class prior.

**GLAD (Whitehill et al. 2009).** A label of sample i by labeler t is right with probability

    r = 1 / (1 + exp(-alpha_t beta_i)),      beta_i = exp(b_i) > 0

and names each of the C - 1 wrong classes alike. alpha_t is an ability, below 0 against the truth; 1 / beta_i
is a difficulty. As there, alpha ~ N(1, 1) and b ~ N(1, 1), and abilities, difficulties and (here) class
shares are the most probable ones with the classes summed out, by EM whose M step is one Newton step a time.
With C > 2 a label says nothing at r = 1 / C, which needs an ability below 0.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtruth._validation.in_range import check_finite, check_positive
from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning.annotation.models import beta_levels, chances
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
        labels, gold, prior, key: see `jtruth.learning.methods`.
        difficulty, fallibility: (a, b) of Beta laws. Beta(1, 1) of the fallibility is maximum likelihood;
            both of its numbers are at least 1, so that there is a mode.
        max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`. Its own: `fallibility` phi (labelers,), 1/2 for a labeler without labels; `difficulty` and
        `difficulty_sd` (samples,), posterior mean and sd of delta, phi taken as known;
        `label_log_likelihood` (samples, classes), log p(labels of a sample | class), difficulty summed out;
        `log_posterior`, log-likelihood and log density of the fallibilities, without its constant.

    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_difficulty_fallibility(Labels.from_matrix(z, 2))
    >>> print(fit.difficulty.round(2))
    [0.14 0.16 0.14 0.16 0.14 0.14]
    """
    data, known, (shares, prior) = lf.read(labels, gold, prior, max_steps, tol)
    check_positive(difficulty, "difficulty", "(a, b) of a Beta law", size=2)
    check_positive(fallibility, "fallibility", "(a, b) of a Beta law", size=2, least=1)
    most = int(labels.labels_per_sample().max())
    if most > 2 * _MOST_LEVELS:
        raise ValueError(
            f"a sample has {most} labels; a difficulty is summed out exactly for at most {2 * _MOST_LEVELS}"
        )
    levels = beta_levels(*difficulty, most + 2)  # two more: for mean and variance of the difficulty
    start = np.tile([0.3, 0.7], (lf.bucket(labels.num_labelers), 1)), shares
    settings = (*levels, np.tile(np.array(fallibility) - 1.0, (len(start[0]), 1)))
    end = lf.run(difficulty_fallibility, data, start, settings, prior, max_steps=max_steps, tol=tol)
    nodes, level = levels[0], end.posterior[: labels.num_samples].sum(axis=1)
    mean = level @ nodes
    own = {
        "fallibility": end.summit.params[0][: labels.num_labelers, 0],
        "difficulty": mean,
        "difficulty_sd": np.sqrt((level * (nodes - mean[:, None]) ** 2).sum(axis=1)),
    }
    return lf.fitted(labels, known, end, lf.not_heard(labels, "their fallibility means nothing."), **own)


def difficulty_fallibility(data: lf.LongForm, settings: Any) -> lf.Model:
    """The model for `em`: phi and 1 - phi (labelers, 2); `settings`: nodes, log weights, pseudo-counts."""
    nodes, log_weight, counts = settings

    def joint(params):
        phi, other = params[0][data.labeler].T
        right, wrong = chances(phi, other, nodes, params[1].shape[0])
        return lf.even_errors(data, jnp.log(right), jnp.log(wrong), params[1]) + log_weight[None, None]

    number = jnp.zeros_like(counts).at[data.labeler].add(data.each[:, None])
    return lf.of_probabilities(joint, (jnp.where(number > 0, counts, 0),))


def fit_glad(
    labels: Labels,
    *,
    ability: tuple[float, float] = (1.0, 1.0),
    log_ease: tuple[float, float] = (1.0, 1.0),
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable abilities, difficulties and class shares, classes summed out.

    Args:
        labels, gold, prior, key: see `jtruth.learning.methods`; the prior (1/C, ...) is the paper's.
        ability, log_ease: (mean, standard deviation) of normal laws, as in the authors' program.
        max_steps, tol: most steps of EM; it is done when a step changes no parameter by `tol`.

    Returns:
        `Fit`. Its own: `ability` alpha (labelers,); `ease` beta and `difficulty` 1 / beta (samples,);
        `accuracy` (labelers,), the mean of r; `label_log_likelihood` (samples, classes), log p(labels of a
        sample | class), which knows difficulties as `noise_model()` does not; `log_posterior`, without its
        constant.

    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_glad(Labels.from_matrix(z, 2))
    >>> print(fit.ability.round(2), fit.converged)
    [1.32 1.32 0.47] True
    """
    data, known, (shares, prior) = lf.read(labels, gold, prior, max_steps, tol)
    for name, law in (("ability", ability), ("log_ease", log_ease)):
        check_finite(np.asarray(law), name, "give (mean, standard deviation)")
        check_positive(law[1:], f"{name}[1:]", "one standard deviation", size=1)
    labelers = labels.num_labelers
    laws = np.array([ability, log_ease], np.float64)
    start = np.full(lf.bucket(labelers), laws[0, 0]), np.full(data.known.size, laws[1, 0]), shares
    end = lf.run(glad, data, start, laws, prior, max_steps=max_steps, tol=tol)
    able, ease = end.summit.params[0][:labelers], np.exp(end.summit.params[1])[: labels.num_samples]
    own = {"ability": able, "ease": ease, "difficulty": 1 / ease, "accuracy": _mean_accuracy(able, ease)}
    return lf.fitted(labels, known, end, lf.not_heard(labels, "their ability is that of the prior."), **own)


def glad(data: lf.LongForm, laws: Any) -> lf.Model:
    """The model for `em`: ability (labelers,), log ease (samples,); `laws` (2, 2), mean and sd of each.

    The M step is one Newton step for all abilities and then one for all log eases, each of which is alone in
    its terms; curvature is never taken below that of the prior.
    """
    each = data.each

    def joint(params):
        logit = params[0][data.labeler] * jnp.exp(params[1])[data.sample]
        wrong_classes = jnp.log(jnp.asarray(params[-1].shape[0] - 1, logit.dtype))
        wrong = jax.nn.log_sigmoid(-logit) - wrong_classes
        return lf.even_errors(data, jax.nn.log_sigmoid(logit), wrong, params[-1])

    def newton(at, law, where, slope, bend):
        gradient = jnp.zeros_like(at).at[where].add(slope) - (at - law[0]) / law[1] ** 2
        return at + gradient / (jnp.zeros_like(at).at[where].add(bend) + 1 / law[1] ** 2)

    def m_step(params, posterior, _):
        ability, log_ease, _ = params
        own = posterior[data.sample, data.label]  # (labels,) chance that the label is right
        ease = jnp.exp(log_ease)[data.sample]
        r = jax.nn.sigmoid(ability[data.labeler] * ease)
        slope, bend = each * (own - r) * ease, each * r * (1 - r) * ease**2
        able = newton(ability, laws[0], data.labeler, slope, bend)
        logit = able[data.labeler] * ease
        r = jax.nn.sigmoid(logit)
        slope = each * (own - r) * logit
        bend = each * r * (1 - r) * logit**2 + jnp.maximum(-slope, 0)
        return able, newton(log_ease, laws[1], data.sample, slope, bend)

    def log_prior(params):
        return sum(-0.5 * (((x - law[0]) / law[1]) ** 2).sum() for x, law in zip(params, laws, strict=False))

    return lf.Model(joint, m_step, log_prior, lambda far, plain: far)


def _mean_accuracy(ability: np.ndarray, ease: np.ndarray, block: int = 2**22) -> np.ndarray:
    """(labelers,) mean over samples of 1 / (1 + exp(-ability ease)), a block of samples at a time."""
    total, step = np.zeros(ability.size), max(1, block // max(ability.size, 1))
    for k in range(0, ease.size, step):
        total += (0.5 * (1 + np.tanh(0.5 * ability[:, None] * ease[None, k : k + step]))).sum(axis=1)
    return total / ease.size
