"""How wide will the interval be? Without simulation: Fisher information of the collapsed likelihood.

With the true classes summed out, a sample with labels tells I_lab about the parameters, a sample with gold
I_gold; both are sums over the few patterns of `_patterns`. N samples with G gold answers and the priors give

    J = (N - G) I_lab + G I_gold + I_prior.

The metric is a ratio of two linear forms of the count table; u[c, symbol] is its influence (delta method).
Its posterior variance is, in the population and on the samples at hand,

    population:  d' J^-1 d                                     d = E[u s],  s the complete-data score
    in-sample:   (N - G) E[Var(u | x)] / N^2 + e' J^-1 e       e = (N - G)/N E[Cov(u, s | x)]

x being what is seen on a sample: the first term is what is not known of the classes of these samples
if all rates were known, the second what is not known of the rates. Apart from the prior, the population
variance of accuracy is p (1 - p) / N with perfect labels, and with two even classes and one labeler and a
classifier of symmetric errors that of Lam & Stork section 4. A beta law with this variance, its mean moved by
the prior to first order, gives the width of the shortest interval: that matters near 0 and 1.

It is an approximation at the guessed rates. It is off where priors count as much as data (`share_of_prior`):
a handful of samples of a class, labelers near chance, rates that the labels hardly identify.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, ndtri

from jtruth._one_line import one_line
from jtruth.planning._patterns import Patterns, patterns
from jtruth.planning.settings import Plan, Setting, check_plan

_TAILS = 0.5 - 0.5 * np.cos(np.pi * np.arange(14) / 13)  # denser where a tail is empty
_DOUBTFUL = 0.06  # above it predictions were off by more than 10 % (benchmarks/plans.py)
_FEW = 10.0
_NARROW = 1e5  # beta laws with larger a + b are normal to all digits shown


class ApproximateWidth(NamedTuple):
    """Predicted posterior of the metric under a plan."""

    width: float  # of the shortest interval
    sd: float
    mean: float
    share_of_prior: float  # of the information about the metric, that which the priors supply
    warnings: tuple[str, ...]

    __repr__ = one_line


class Information(NamedTuple):
    """What one sample tells, under one mix of labelers. P parameters."""

    labelled: Float[np.ndarray, "parameters parameters"]  # I_lab
    gold: Float[np.ndarray, "parameters parameters"]  # I_gold
    prior: Float[np.ndarray, "parameters parameters"]  # I_prior, once
    pull: Float[np.ndarray, " parameters"]  # gradient of the log prior
    slope: Float[np.ndarray, " parameters"]  # d
    hidden_slope: Float[np.ndarray, " parameters"]  # E[Cov(u, s | x)]
    hidden: float  # E[Var(u | x)]


def information(setting: Setting, labels: tuple[float, ...]) -> Information:
    """Information of one sample about everything unknown, and the metric's slopes."""
    table: Patterns = patterns(setting, labels)
    joint = table.joint
    seen = joint.sum(axis=2)
    share = joint / np.where(seen > 0, seen, 1)[..., None]
    observed = (share[..., None] * table.score).sum(axis=2)
    u = setting.influence.T[None]
    mean_u = (share * u).sum(axis=2)
    slope = np.einsum("xuc,xucp->p", joint * u, table.score)
    flat = table.score.reshape(-1, table.score.shape[-1])
    return Information(
        labelled=np.einsum("xu,xup,xuq->pq", seen, observed, observed, optimize=True),
        gold=(flat * joint.reshape(-1, 1)).T @ flat,
        prior=table.prior_information,
        pull=table.prior_score,
        slope=slope,
        hidden_slope=slope - np.einsum("xu,xup->p", seen * mean_u, observed),
        hidden=float((joint * (u - mean_u[..., None]) ** 2).sum()),
    )


def approximate_width(setting: Setting, plan: Plan) -> ApproximateWidth:
    """Predicted width of the metric's interval under a plan, in milliseconds.

    Args:
        setting: see `setting`.
        plan: samples, labels per sample of every kind, gold answers.

    Returns:
        `ApproximateWidth`; look at its `warnings`.

    Raises:
        ValueError: a plan that is impossible, or too many kinds of labelers at once.

    Source: Su 6.3.2 asks the question; Lam & Stork section 4 is the case of one known symmetric labeler.

    >>> from jtruth.planning import Question, labeler, setting
    >>> made = setting([0.7, 0.3], 0.9, [labeler("crowd", 0.2, people=5)], Question(rates="known"))
    >>> for count in (1, 3, 5):
    ...     print(count, f"{approximate_width(made, Plan(500, (count,), 0)).width:.4f}")
    1 0.1180
    3 0.0703
    5 0.0605
    """
    check_plan(setting, plan)
    found = information(setting, plan.labels)
    return _named(setting, plan, widths(setting, found, np.array([plan.num_samples]), plan.num_gold))


def widths(setting: Setting, found: Information, num_samples: np.ndarray, num_gold) -> dict:
    """Width, sd, mean and share of the prior for many (num_samples, num_gold) of one mix."""
    n = np.atleast_1d(np.asarray(num_samples, np.float64))
    g = np.broadcast_to(np.asarray(num_gold, np.float64), n.shape)
    data = (n - g)[:, None, None] * found.labelled + g[:, None, None] * found.gold
    total = data + found.prior
    in_sample = setting.target == "in-sample"
    slope = ((n - g) / n)[:, None] * found.hidden_slope if in_sample else np.tile(found.slope, (n.size, 1))
    spread = np.linalg.solve(total, slope[..., None])[..., 0]
    rates = (slope * spread).sum(axis=1)
    variance = rates + in_sample * (n - g) / n**2 * found.hidden
    by_prior = np.einsum("np,pq,nq->n", spread, found.prior, spread) / np.maximum(rates, 1e-300)
    value = setting.value
    mean = np.clip(value + spread @ found.pull, 1e-6, 1 - 1e-6)
    return {
        "width": beta_width(mean, variance, setting.level),
        "sd": np.sqrt(variance),
        "mean": mean,
        "share_of_prior": by_prior,
    }


def beta_width(mean: np.ndarray, variance: np.ndarray, level: float) -> np.ndarray:
    """Width of the shortest interval of the beta law with these moments; a narrow law is normal."""
    most = mean * (1 - mean)
    size = most / np.clip(variance, most / _NARROW, 0.999 * most) - 1
    a, b = np.maximum(mean * size, 0.05), np.maximum((1 - mean) * size, 0.05)
    low = (1 - level) * _TAILS[None, :]
    ends = betaincinv(a[:, None], b[:, None], low), betaincinv(a[:, None], b[:, None], low + level)
    normal = 2 * ndtri((1 + level) / 2) * np.sqrt(variance)
    return np.where(variance > most / _NARROW, (ends[1] - ends[0]).min(axis=1), normal)


def _named(setting: Setting, plan: Plan, found: dict) -> ApproximateWidth:
    width, sd, mean, share = (float(found[k][0]) for k in ("width", "sd", "mean", "share_of_prior"))
    said = []
    if share > _DOUBTFUL:
        said.append(
            f"{share:.0%} of what would be known of the rates comes from the priors, not from the data: "
            "predicted widths are rough"
        )
    rarest = plan.num_samples * float(setting.prior.min())
    if rarest < _FEW:
        said.append(f"about {rarest:.0f} samples of the rarest class: predicted widths are rough")
    return ApproximateWidth(width, sd, mean, share, tuple(said))
