"""Models of difficulty and of positions, fitted at their most probable parameters by EM.

All are models for `em.algorithm`, of labels in long form.

**Difficulty and fallibility (Su 5.1.2).** Sample i has a difficulty delta_i ~ Beta(1, 5), labeler t a
fallibility phi_t. A label is right with probability r, (60), and otherwise each wrong class is equally
likely, (59):

    r = 1/C + (1 - 1/C) (1 - delta_i) (1 - phi_t).

Difficulties are summed out exactly: a sample's likelihood is a polynomial in delta, integrated by a
Gauss-Jacobi rule. The likelihood of fallibilities and class prior is maximized.

**GLAD (Whitehill et al. 2009).** A label is right with probability r = 1 / (1 + exp(-alpha_t beta_i)), beta_i
= exp(b_i), and otherwise each wrong class is equally likely. alpha_t is an ability; 1 / beta_i is a
difficulty. alpha ~ N(1, 1) and b ~ N(1, 1). These and (here) the class shares are the most probable ones with
the classes summed out, by EM with one Newton step per M step.

**Positions (Welinder et al. 2010).** Two classes, one dimension. Sample i has a position x_i ~ N(-1 or +1,
sigma^2) by its class, and labeler t gives label 1 with probability Phi(w_t x_i - tau_t): |w_t| is the
expertise, tau_t / |w_t| the bias. x, w and tau are the most probable ones jointly, as in the paper. Priors
are ours: w ~ N(1, 1), tau ~ N(0, 3^2); sigma .8. With few labels per sample the class probabilities are not
calibrated (`benchmarks/learners.py`); `fit_nuts("welinder", ...)` averages over positions.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from jtruth import _host
from jtruth._random import seeded
from jtruth._validation.words import part_of
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, unlabelled
from jtruth.learning.annotation.models import beta_levels, chances
from jtruth.learning.em import algorithm as em

_MOST_LEVELS = 200  # levels times labels is the memory of one pass
_SDS = (0.8, 1.0, 3.0)  # of x around the mean of its class, of w around 1, of tau around 0
_AGAINST = 0.25  # share of samples whose class is not that of most votes, above which there is a warning


@seeded
def fit_difficulty_fallibility(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable fallibilities and class prior, and the posterior of each sample's difficulty.

    Args:
        labels, gold, prior, key: see `jtruth.learning.methods`.
        max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`. Its own: `fallibility` phi (labelers,), 1/2 for a labeler without labels; `difficulty` and
        `difficulty_sd` (samples,), posterior mean and sd of delta given phi; `label_log_likelihood` (samples,
        classes), log p(its labels | class), difficulty summed out; `log_posterior`, as `log_likelihood`.

    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_difficulty_fallibility(Labels.from_matrix(z, 2))
    >>> print(fit.difficulty.round(2))
    [0.14 0.16 0.14 0.16 0.14 0.14]
    """
    data, known, (shares, prior) = em.read(labels, gold, prior, max_steps, tol)
    most = int(labels.labels_per_sample().max())
    if most > 2 * _MOST_LEVELS:
        raise ValueError(
            f"a sample has {most} labels, but difficulty is summed out exactly for at most {2 * _MOST_LEVELS}"
        )
    levels = beta_levels(1.0, 5.0, most + 2)  # two more: for mean and variance of the difficulty
    start = np.tile([0.3, 0.7], (em.bucket(labels.num_labelers), 1)), shares
    end = em.run(difficulty_fallibility, data, start, levels, prior, max_steps=max_steps, tol=tol)
    nodes, level = levels[0], end.kept[0][: labels.num_samples].sum(axis=1)
    mean = level @ nodes
    own = {
        "fallibility": end.params[0][: labels.num_labelers, 0],
        "difficulty": mean,
        "difficulty_sd": np.sqrt((level * (nodes - mean[:, None]) ** 2).sum(axis=1)),
    }
    doubts = unlabelled(labels, labelers="their fallibility is that of the prior.")
    return em.fitted(labels, known, end, doubts, **own)


def difficulty_fallibility(data: em.LongForm, settings: Any) -> em.Model:
    """The model for EM: phi and 1 - phi (labelers, 2); `settings`: nodes, log weights."""
    nodes, log_weight = settings

    def joint(params):
        phi, other = params[0][data.labeler].T
        right, wrong = chances(phi, other, nodes, params[1].shape[0])
        return em.even_errors(data, jnp.log(right), jnp.log(wrong), params[1]) + log_weight[None, None]

    return em.of_probabilities(joint, (jnp.zeros((1, 2), nodes.dtype),))


@seeded
def fit_glad(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable abilities, difficulties and class shares, classes summed out.

    Args:
        labels, gold, prior, key: see `jtruth.learning.methods`; the paper's prior is (1/C, ...).
        max_steps, tol: most steps of EM, which stops when a step changes no parameter by `tol`.

    Returns:
        `Fit`. Its own: `ability` alpha (labelers,); `ease` beta and `difficulty` 1 / beta (samples,);
        `accuracy` (labelers,), the mean of r; `label_log_likelihood` (samples, classes), log p(labels of a
        sample | class) at these difficulties; `log_posterior`, without its constant.

    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_glad(Labels.from_matrix(z, 2))
    >>> print(fit.ability.round(2), fit.converged)
    [1.32 1.32 0.47] True
    """
    data, known, (shares, prior) = em.read(labels, gold, prior, max_steps, tol)
    labelers, dists = labels.num_labelers, np.ones((2, 2))  # mean and sd of both, as in the authors' program
    start = np.full(em.bucket(labelers), dists[0, 0]), np.full(data.known.size, dists[1, 0]), shares
    end = em.run(glad, data, start, dists, prior, max_steps=max_steps, tol=tol)
    able, ease = end.params[0][:labelers], np.exp(end.params[1])[: labels.num_samples]
    own = {"ability": able, "ease": ease, "difficulty": 1 / ease, "accuracy": _mean_accuracy(able, ease)}
    doubts = unlabelled(labels, labelers="their ability is that of the prior.")
    return em.fitted(labels, known, end, doubts, **own)


def glad(data: em.LongForm, dists: Any) -> em.Model:
    """The model for EM: ability (labelers,), log ease (samples,); `dists` (2, 2), mean and sd of each.

    The M step is a Newton step for all abilities, then for all log eases, of at least the prior's curvature.
    """
    each = data.each

    def joint(params):
        logit = params[0][data.labeler] * jnp.exp(params[1])[data.sample]
        wrong_classes = jnp.log(jnp.asarray(params[-1].shape[0] - 1, logit.dtype))
        wrong = jax.nn.log_sigmoid(-logit) - wrong_classes
        return em.even_errors(data, jax.nn.log_sigmoid(logit), wrong, params[-1])

    def newton(at, dist, where, slope, bend):
        gradient = jnp.zeros_like(at).at[where].add(slope) - (at - dist[0]) / dist[1] ** 2
        return at + gradient / (jnp.zeros_like(at).at[where].add(bend) + 1 / dist[1] ** 2)

    def m_step(params, posterior, _):
        ability, log_ease, _ = params
        own = posterior[data.sample, data.label]  # (labels,) chance that the label is right
        ease = jnp.exp(log_ease)[data.sample]
        r = jax.nn.sigmoid(ability[data.labeler] * ease)
        slope, bend = each * (own - r) * ease, each * r * (1 - r) * ease**2
        able = newton(ability, dists[0], data.labeler, slope, bend)
        logit = able[data.labeler] * ease
        r = jax.nn.sigmoid(logit)
        slope = each * (own - r) * logit
        bend = each * r * (1 - r) * logit**2 + jnp.maximum(-slope, 0)
        return able, newton(log_ease, dists[1], data.sample, slope, bend)

    def log_prior(params):
        return sum(
            -0.5 * (((x - dist[0]) / dist[1]) ** 2).sum() for x, dist in zip(params, dists, strict=False)
        )

    return em.Model(joint, m_step, log_prior, lambda far, plain: far)


def _mean_accuracy(ability: np.ndarray, ease: np.ndarray) -> np.ndarray:
    """(labelers,) mean over samples of 1 / (1 + exp(-ability ease)), a block of samples at a time."""
    total, step = np.zeros(ability.size), max(1, 2**22 // max(ability.size, 1))
    for k in range(0, ease.size, step):
        total += (0.5 * (1 + np.tanh(0.5 * ability[:, None] * ease[None, k : k + step]))).sum(axis=1)
    return total / ease.size


def not_two_classes(labels: Labels) -> str | None:
    """Why labels cannot be used: the model is for two classes."""
    if labels.num_classes == 2:
        return None
    return (
        f"Welinder's model is for two classes; these labels have {labels.num_classes}: choose glad or "
        "minimax_entropy, where samples differ too"
    )


@seeded
def fit_welinder(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable positions, directions and thresholds, jointly; two classes.

    Args:
        labels, gold, key: see `jtruth.learning.methods`.
        prior: (2,) class shares; (1/2, 1/2) if None, as in the paper: learned beside positions, they would
            move all samples to the more frequent class.
        max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`; its log-likelihood is NaN, since positions are not summed out. Its own: `position` x (samples,
        1); `direction` w (labelers, 1), `threshold` tau, `expertise` |w| and `bias` tau / |w| (labelers,),
        NaN at expertise 0, above 0 class 0 is favored; `matrices` with x summed out, p(1 | z) = Phi((+-w -
        tau) / sqrt(1 + sigma^2 w^2)); `spread` sigma; `log_posterior`, up to a constant.

    >>> z = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> fit = fit_welinder(Labels.from_matrix(z, 2))
    >>> print(fit.class_posterior.argmax(axis=1), fit.expertise.argmin())
    [0 0 1 1 0 1] 2
    """
    data, known, (shares, _) = em.read(labels, gold, prior, max_steps, tol)
    if reason := not_two_classes(labels):
        raise ValueError(reason)
    shares = np.full(2, 0.5) if prior is None else shares
    votes = 2 * _host.vote_shares(labels.counts())[:, 1] - 1
    size, labelers = em.bucket(labels.num_labelers), labels.num_labelers
    start = np.pad(votes, (0, data.known.size - votes.size)), np.ones(size), np.zeros(size), shares
    end = em.run(welinder, data, start, np.array(_SDS), shares, max_steps=max_steps, tol=tol)
    doubts = unlabelled(labels, "their position is that of the more frequent class.",
                        "their direction and threshold are those of the prior.")  # fmt: skip
    fit = em.fitted(labels, known, end, (*doubts, *_against_votes(end.kept[0], labels)))
    direction, threshold, spread = end.params[1][:labelers], end.params[2][:labelers], _SDS[0]
    expertise, nowhere = np.abs(direction), np.full(labelers, np.nan)
    far = direction[:, None] * np.array([-1.0, 1.0]) - threshold[:, None]
    one = ndtr(far / np.sqrt(1 + spread**2 * direction**2)[:, None])
    own = {
        "position": end.params[0][: votes.size, None],
        "direction": direction[:, None],
        "threshold": threshold,
        "spread": spread,
        "expertise": expertise,
        "bias": np.divide(threshold, expertise, out=nowhere, where=expertise > 0),
        "matrices": np.stack([1 - one, one], axis=2),
        "log_posterior": fit.log_posterior,
    }
    return fit._replace(log_likelihood=float("nan"), own=own)


def welinder(data: em.LongForm, sds: Any) -> em.Model:
    """The model for EM: position (samples,), direction and threshold (labelers,); `sds` of their priors.

    A step moves all positions, then all labelers, by Newton steps with a diagonal that bounds the curvature.
    """
    sample_sd, direction_sd, threshold_sd = sds
    each, mass = data.each, data.weight
    centre = jnp.asarray([-1.0, 1.0], each.dtype)
    sign = jnp.where(data.label == 1, 1.0, -1.0).astype(each.dtype)

    def slopes(position, direction, threshold):
        """log p(label), its slope and -curvature in how far above the line a sample looks."""
        far = direction[data.labeler] * position[data.sample] - threshold[data.labeler]
        log_p = jax.scipy.stats.norm.logcdf(sign * far)
        mills = jnp.exp(jax.scipy.stats.norm.logpdf(far) - log_p)
        return log_p, each * sign * mills, each * mills * (mills + sign * far)

    def joint(params):
        apart = (params[0][:, None] - centre[None, :]) ** 2
        of_labels = data.by_sample(slopes(*params[:3])[0])
        return em.log_shares(data, params[3]) - 0.5 * apart / sample_sd**2 + of_labels[:, None]

    def m_step(params, of_class, _):
        position, direction, threshold, _ = params
        _, slope, bend = slopes(position, direction, threshold)
        w, none = direction[data.labeler], jnp.zeros_like(position)
        pull = (of_class * centre[None, :]).sum(axis=1) - position
        gradient = none.at[data.sample].add(slope * w) + mass * pull / sample_sd**2
        stiff = none.at[data.sample].add(bend * w**2) + jnp.maximum(mass, 1) / sample_sd**2
        moved = position + gradient / stiff

        _, slope, bend = slopes(moved, direction, threshold)
        x, none = moved[data.sample], jnp.zeros_like(direction)
        gradient = none.at[data.labeler].add(slope * x) - (direction - 1) / direction_sd**2
        stiff = none.at[data.labeler].add(2 * bend * x**2) + 1 / direction_sd**2
        lower = none.at[data.labeler].add(-slope) - threshold / threshold_sd**2
        firm = none.at[data.labeler].add(2 * bend) + 1 / threshold_sd**2
        return moved, direction + gradient / stiff, threshold + lower / firm

    def log_prior(params):
        off = ((params[1] - 1) ** 2).sum() / direction_sd**2
        return -0.5 * (off + (params[2] ** 2).sum() / threshold_sd**2)

    return em.Model(joint, m_step, log_prior, lambda far, plain: far)


def _against_votes(posterior: Any, labels: Labels) -> Iterator[str]:
    """A sentence where the positions follow few labelers against the majority of the others."""
    votes, posterior = labels.counts(), posterior[: labels.num_samples]
    clear = (votes[:, 0] != votes[:, 1]) & (posterior[:, 0] != posterior[:, 1])
    against = (posterior.argmax(axis=1) != votes.argmax(axis=1)) & clear
    if against.sum() > _AGAINST * clear.sum():
        yield (
            f"{part_of(against.sum(), clear.sum(), 'sample')} another class than the majority of labels: "
            'the estimated positions may follow one labeler. Compare with fit_nuts("welinder") or another '
            "method."
        )
