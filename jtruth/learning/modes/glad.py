"""GLAD (Whitehill et al. 2009): labelers of different ability, samples of different difficulty.

A label of sample i by labeler t is right with probability

    r = 1 / (1 + exp(-alpha_t beta_i)),      beta_i = exp(b_i) > 0

and names each of the C - 1 wrong classes alike. alpha_t is an ability: 0 guesses between right and wrong, a
negative one is against the truth. 1 / beta_i is the difficulty of a sample: the harder, the less ability
helps. As there, alpha ~ N(1, 1) and b ~ N(1, 1), and abilities, difficulties and (here) class shares are the
most probable ones with the classes summed out. This is their EM, except that its M step, which has no closed
form, is one Newton step a time and not gradient ascent to its end.

With two classes and r = 1/2 a label says nothing. With C > 2 that is so at r = 1 / C, which needs an ability
below 0: at ability 0 the right class is still named more often than any wrong one.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning._given import check_steps, read_given
from jtruth.learning.modes import _em
from jtruth.learning.modes._em import End, bucket


class GladPriors(NamedTuple):
    """(mean, standard deviation) of normal laws, as in the authors' program."""

    ability: tuple[float, float] = (1.0, 1.0)
    log_ease: tuple[float, float] = (1.0, 1.0)


WHITEHILL = GladPriors()


def fit_glad(
    labels: Labels,
    *,
    priors: GladPriors = WHITEHILL,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable abilities, difficulties and class shares, classes summed out.

    Args:
        labels: the noisy labels.
        priors: normal laws of ability and log ease.
        gold: (samples,) known classes, -1 where unknown.
        prior: (classes,) a known class prior, held fixed; (1/C, ...) is the paper's.
        key: has no say: nothing is drawn.
        max_steps, tol: most steps of EM; it is done when a step changes no parameter by `tol`.

    Returns:
        `Fit`. Its own: `ability` alpha (labelers,); `ease` beta and `difficulty` 1 / beta (samples,);
        `accuracy` (labelers,), the mean of r over all samples; `label_log_likelihood` (samples, classes), log
        p(labels of a sample | class), which knows difficulties as `noise_model()` does not; `log_posterior`,
        log-likelihood and log density of ability and log ease, without its constant.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.

    >>> from jtruth.labels import Labels
    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_glad(Labels.from_matrix(z, 2))
    >>> print(fit.ability.round(2), fit.converged)
    [1.32 1.32 0.47] True
    """
    known, fixed = read_given(labels, gold, prior)
    check_steps(max_steps, tol)
    for name, law in priors._asdict().items():
        if len(law) != 2 or not np.isfinite(law).all() or not law[1] > 0:
            raise ValueError(f"priors.{name} is {law}; give (mean, standard deviation), the second positive")
    data = _em.long_form(labels, known)
    size, labelers = labels.num_samples, labels.num_labelers
    shares, prior = _em.start_shares(labels, fixed)
    able, clear = (float(mean) for mean, _ in priors)
    start = np.full(bucket(labelers), able), np.full(data.known.size, clear), shares
    with jax.enable_x64(True):
        end = glad_em(data, start, np.array(priors), prior, max_steps=max_steps, tol=tol)
    ability, ease = np.asarray(end.summit.params[0])[:labelers], np.exp(end.summit.params[1])[:size]
    doubts = _em.silent(labels, "their ability is that of the prior.")
    accuracy = _mean_accuracy(ability, ease)
    return _em.fitted(
        labels, known, end, doubts, ability=ability, ease=ease, difficulty=1 / ease, accuracy=accuracy
    )


@partial(jax.jit, static_argnames=("max_steps",))
def glad_em(data, start, laws, prior, *, max_steps: int, tol) -> End:
    """EM, pure and jitted; `vmap` it over starts or `data.weight`.

    The M step is one Newton step for all abilities and then one for all log eases, each of which is alone in
    its terms; curvature is never taken below that of the prior.

    Args:
        data: a `LongForm`.
        start: ability (labelers,), log ease (samples,), class prior (classes,).
        laws: (2, 2) means and standard deviations of ability and of log ease.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """
    (ability_mean, ability_sd), (ease_mean, ease_sd) = laws = jnp.asarray(laws)
    wrong_classes = jnp.log(jnp.asarray(start[2].shape[0] - 1, laws.dtype))
    each = data.each

    def joint(params, data):
        logit = params[0][data.labeler] * jnp.exp(params[1])[data.sample]
        wrong = jax.nn.log_sigmoid(-logit) - wrong_classes
        return _em.even_errors(data, jax.nn.log_sigmoid(logit), wrong, params[-1])

    def newton(at, mean, sd, where, slope, bend):
        gradient = jnp.zeros_like(at).at[where].add(slope) - (at - mean) / sd**2
        return at + gradient / (jnp.zeros_like(at).at[where].add(bend) + 1 / sd**2)

    def m_step(params, posterior, _):
        ability, log_ease, _ = params
        own = posterior[data.sample, data.label]  # (labels,) chance that the label is right
        ease = jnp.exp(log_ease)[data.sample]
        r = jax.nn.sigmoid(ability[data.labeler] * ease)
        slope, bend = each * (own - r) * ease, each * r * (1 - r) * ease**2
        able = newton(ability, ability_mean, ability_sd, data.labeler, slope, bend)
        logit = able[data.labeler] * ease
        r = jax.nn.sigmoid(logit)
        slope = each * (own - r) * logit
        bend = each * r * (1 - r) * logit**2 + jnp.maximum(-slope, 0)
        return able, newton(log_ease, ease_mean, ease_sd, data.sample, slope, bend)

    def log_prior(params):
        return sum(-0.5 * (((x - mean) / sd) ** 2).sum() for x, (mean, sd) in zip(params, laws, strict=False))

    model = _em.Model(joint, m_step, log_prior, lambda far, plain: far)
    return _em.em(model, data, start, prior, max_steps=max_steps, tol=tol)


def _mean_accuracy(ability: np.ndarray, ease: np.ndarray, block: int = 2**22) -> np.ndarray:
    """(labelers,) mean over samples of 1 / (1 + exp(-ability ease)), a block of samples at a time."""
    total, step = np.zeros(ability.size), max(1, block // max(ability.size, 1))
    for k in range(0, ease.size, step):
        total += (0.5 * (1 + np.tanh(0.5 * ability[:, None] * ease[None, k : k + step]))).sum(axis=1)
    return total / ease.size
