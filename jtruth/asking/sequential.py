"""Ask until it is known: one more label for each sample whose class is still at risk, and no more for others.

A fixed number of labels a sample pays for easy samples what hard ones lack. Here (Branson, Van Horn and
Perona 2017) a sample is asked about until the risk of deciding its class, the smallest expected loss

    risk_i = min over decisions d of  sum_c p(y_i = c | labels) loss[d, c]

falls below a limit, or nobody is left, or it has had its most. After every round all labels are fitted again,
so what is learned of a labeler on one sample tells on all others, and a sample that was done may be opened
again. Who is asked: whoever comes next (`Whom("any")`), as in a crowd, or the labeler whose answer is
expected to tell most of the class for its price ("gain", `expected_gain`).

The fit is Dawid and Skene's model with Dirichlet priors, each sample judged by what all OTHER samples say of
its labelers: p(y_i = c | labels) is proportional to (N_c + 1) prod_t (n_t[c, z_it] + a) / (n_t[c] + A) with
expected counts that leave sample i out (Asuncion et al. 2009, CVB0). EM, which plugs in rates that sample i
helped to make, believes itself where labels are few.

HOW FAR THE RISK IS TO BE BELIEVED. It is that of independent labelers. Where they are wrong together, labels
agree and are wrong, and no check of labels can show it: on bluebirds a risk said to be .05 was .2. So give
`gold`, the classes of 30 samples or more, chosen at random: they are labelled as all others are, the model is
not told, and the class probabilities are read as `recalibrate` learns from them. Without gold the answer says
that nobody has looked. Measured: `benchmarks/acquisition.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth._host import diagonal_rows, vote_shares
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth._validation import choose as choose_one
from jtruth._validation.in_range import check_codes
from jtruth.asking.entropy import expected_gain
from jtruth.labels import Labels
from jtruth.learning.recalibration import recalibrate

_MAX_STEPS, _TOL = 1000, 1e-6
_DRAWS = 1000  # of how class probabilities are to be read
NOBODY_LOOKED = (
    "The risk is that of labelers who err independently, and no label can show whether they do: where they "
    "were wrong together, a risk said to be 5 % was 20 %, and 10 % where a third of the samples were hard. "
    "Give gold, the classes of 30 random samples."
)


class StoppingRule(NamedTuple):
    """When a sample has been asked about often enough."""

    risk: float = 0.05  # of its decision; below it the sample is done
    least: int = 2  # labels that every sample gets
    most: int = 10  # labels that no sample exceeds


class Whom(NamedTuple):
    """Who may be asked, and who is."""

    choose: str = "any"  # by chance; or "gain": the most expected information per price
    available: Any = None  # (samples, labelers) booleans; None: anybody who has not labelled the sample
    prices: Any = None  # (labelers,) of a label by each; equal if None


class Round(NamedTuple):
    """What is known of the samples so far, and whom to ask next."""

    posterior: Float[np.ndarray, "samples classes"]
    decision: Int[np.ndarray, " samples"]  # of least expected loss
    risk: Float[np.ndarray, " samples"]
    samples: Int[np.ndarray, " asked"]  # still open, and somebody may be asked
    labelers: Int[np.ndarray, " asked"]  # whom to ask about each
    prior: Float[np.ndarray, " classes"]
    matrices: Float[np.ndarray, "labelers classes classes"]
    converged: bool  # the fit that learned them
    warnings: tuple[str, ...]  # how far the risk is to be believed

    __repr__ = one_line


class Acquisition(NamedTuple):
    """Labels bought one by one."""

    labels: Labels
    decision: Int[np.ndarray, " samples"]
    posterior: Float[np.ndarray, "samples classes"]
    risk: Float[np.ndarray, " samples"]
    num_labels: Int[np.ndarray, " samples"]
    cost: float  # sum of the prices of the labels
    rounds: int
    warnings: tuple[str, ...]

    __repr__ = one_line


_USUAL, _ANYBODY = StoppingRule(), Whom()


def next_asks(
    z: Int[np.ndarray, "samples labelers"],
    num_classes: int,
    *,
    limits: StoppingRule = _USUAL,
    whom: Whom = _ANYBODY,
    loss: Float[np.ndarray, "classes classes"] | None = None,
    gold: Any = None,
    key: Any = None,
) -> Round:
    """Which samples need another label, and from whom.

    Args:
        z: labels so far, -1 where there is none (there may be none at all).
        num_classes: C.
        limits: when a sample is done.
        whom: who may be asked, at which price, and who is.
        loss: loss[d, c] of deciding d where the class is c; 1 for every error if None.
        gold: (samples,) classes that are known, -1 elsewhere; they only teach how class probabilities are to
            be read, and these samples are asked about like all others. Best chosen at random, 30 or more.
        key: for choices by chance and the draws of `recalibrate`, a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: codes, limits, prices or losses that cannot be used.

    >>> z = np.array([[1, 1, -1], [0, 1, -1], [-1, -1, -1], [0, 0, -1]])
    >>> asked = next_asks(z, 2, limits=StoppingRule(risk=0.4))
    >>> asked.samples.tolist(), asked.labelers.tolist(), int(asked.decision[0])
    ([1, 2], [2, 1], 1)
    """
    z = np.asarray(z)
    loss, prices, free = _checked(z, num_classes, limits, whom, loss)
    prior, matrices, posterior, converged = _fitted(z, num_classes)
    if gold is not None:
        posterior = _as_gold_says(posterior, gold, as_key(key))
    expected = posterior @ loss.T
    decision, risk = expected.argmin(axis=1), expected.min(axis=1)
    given = (z >= 0).sum(axis=1)
    wanted = (given < limits.least) | ((risk > limits.risk) & (given < limits.most))
    samples = np.flatnonzero(wanted & free.any(axis=1))
    if whom.choose == "any":
        worth = host_rng(as_key(key), "whom to ask", int(given.sum())).random(z.shape)
    else:
        with jax.enable_x64(True):
            worth = np.asarray(expected_gain(posterior, matrices), np.float64) / prices
    labelers = np.where(free, worth, -np.inf)[samples].argmax(axis=1) if samples.size else samples
    doubts = () if converged else (f"The fit did not converge in {_MAX_STEPS} steps.",)
    doubts += (NOBODY_LOOKED,) if gold is None else ()
    return Round(posterior, decision, risk, samples, labelers, prior, matrices, converged, doubts)


def acquire(
    ask: Callable[[np.ndarray, np.ndarray], np.ndarray],
    shape: tuple[int, int],
    num_classes: int,
    *,
    budget: float = np.inf,
    **options: Any,
) -> Acquisition:
    """Ask round by round until every sample is done.

    Args:
        ask: called with (samples, labelers), equally long; returns the class that each labeler gives.
        shape: (samples, labelers).
        num_classes: C.
        budget: stop before the prices of all labels exceed it; the last round is cut, riskiest samples first.
        options: those of `next_asks`.

    Raises:
        ValueError: an answer that is no class, and what `next_asks` refuses.

    >>> y = np.arange(40) % 2
    >>> done = acquire(lambda sample, labeler: y[sample], (40, 6), 2)
    >>> bool((done.decision == y).all()), bool(done.num_labels.max() <= 4)
    (True, True)
    """
    z, rounds, spent = np.full(shape, -1, np.int32), 0, 0.0
    prices = _prices(options.get("whom", _ANYBODY), shape[1])
    now = next_asks(z, num_classes, **options)
    while now.samples.size:
        order = np.argsort(-now.risk[now.samples], kind="stable")
        paid = spent + np.cumsum(prices[now.labelers[order]])
        order = order[paid <= budget]
        if not order.size:
            break
        samples, labelers = now.samples[order], now.labelers[order]
        answers = np.asarray(ask(samples, labelers))
        if answers.shape != samples.shape or not np.isin(answers, np.arange(num_classes)).all():
            raise ValueError(
                f"ask must return {samples.size} classes 0 to {num_classes - 1}; got {answers.tolist()[:5]}"
            )
        z[samples, labelers] = answers
        spent, rounds = float(paid[order.size - 1]), rounds + 1
        now = next_asks(z, num_classes, **options)
    limits, given = options.get("limits", _USUAL), (z >= 0).sum(axis=1)
    open_still = np.count_nonzero((now.risk > limits.risk) | (given < limits.least))
    why = "they had their most, nobody was left, or the budget was spent"
    doubts = [f"{open_still} samples ended above the limit: {why}."] if open_still else []
    labels = Labels.from_matrix(z, num_classes, allow_unlabelled=True)
    return Acquisition(
        labels, now.decision, now.posterior, now.risk, given, spent, rounds, (*doubts, *now.warnings)
    )


def _fitted(z: np.ndarray, classes: int):
    """(prior, matrices, posterior, converged) by CVB0 with the prior of `fit_joint`, from shares of votes."""
    pseudo = diagonal_rows(classes, 2.0, 1.0)
    sample, labeler = np.nonzero(z >= 0)
    code, num = labeler * classes + z[sample, labeler], z.shape[1] * classes  # of (labeler, label)
    prior = np.tile(pseudo.T, (z.shape[1], 1))[code]  # (labels, classes)
    rho = vote_shares((z[:, :, None] == np.arange(classes)).sum(axis=1))
    moved, steps = np.inf, 0
    while moved >= _TOL and steps < _MAX_STEPS:
        own = rho[sample]
        counts = _sums(code, own, num)
        total = counts.reshape(-1, classes, classes).sum(axis=1)[labeler] - own + pseudo.sum(axis=1)
        each = np.log((counts[code] - own + prior) / total)
        joint = np.log(rho.sum(axis=0) - rho + 1) + _sums(sample, each, len(z))
        new = softmax(joint, axis=1)
        moved, steps, rho = float(np.abs(new - rho).max(initial=0)), steps + 1, new
    counts = counts.reshape(-1, classes, classes)  # (labeler, given, class)
    rows, shares = counts.swapaxes(1, 2) + pseudo, rho.sum(axis=0) + 1
    return shares / shares.sum(), rows / rows.sum(axis=2, keepdims=True), rho, moved < _TOL


def _sums(group: np.ndarray, values: np.ndarray, num: int) -> np.ndarray:
    """(num, classes) sums of the rows of `values` in each group."""
    return np.stack([np.bincount(group, column, num) for column in values.T], axis=1)


def _as_gold_says(posterior: np.ndarray, gold: Any, key: Any) -> np.ndarray:
    """Class probabilities as gold teaches to read them, those of the gold samples too (as if not known)."""
    gold, classes = np.asarray(gold), posterior.shape[1]
    check_codes(gold, classes, "gold", size=len(posterior), missing=True, kinds="iu")
    told = np.flatnonzero(gold >= 0)
    if not told.size:
        raise ValueError("gold holds no class; leave it out, or give the classes of 30 samples or more")
    both = np.concatenate([posterior, posterior[told]])
    known = np.concatenate([np.full(len(posterior), -1), gold[told]])
    return recalibrate(both, known, key=key, num_draws=_DRAWS).class_posterior[: len(posterior)]


def _prices(whom: Whom, num_labelers: int) -> np.ndarray:
    """(labelers,) price of a label."""
    prices = np.ones(num_labelers) if whom.prices is None else np.asarray(whom.prices, np.float64)
    if prices.shape != (num_labelers,) or not ((prices > 0) & np.isfinite(prices)).all():
        raise ValueError(f"prices must be {num_labelers} positive numbers, one for each labeler")
    return prices


def _checked(z, classes, limits, whom, loss):
    """Loss, prices and who may be asked, as arrays."""
    if z.ndim != 2 or z.dtype.kind not in "iu" or z.min(initial=0) < -1 or z.max(initial=0) >= classes:
        raise ValueError(f"z must be whole numbers -1 to {classes - 1} of shape (samples, labelers)")
    if not (limits.risk >= 0 and 1 <= limits.least <= limits.most):
        raise ValueError(f"limits need risk >= 0 and 1 <= least <= most; got {tuple(limits)}")
    choose_one("choose", whom.choose, ("any", "gain"))
    prices, available = _prices(whom, z.shape[1]), whom.available
    loss = 1.0 - np.eye(classes) if loss is None else np.asarray(loss, np.float64)
    if loss.shape != (classes, classes) or not np.isfinite(loss).all() or (loss < 0).any():
        raise ValueError(
            f"loss must be ({classes}, {classes}) finite numbers >= 0: rows decided, columns true"
        )
    if available is not None and np.shape(available) != z.shape:
        raise ValueError(f"available has shape {np.shape(available)}; z has {z.shape}")
    return loss, prices, z < 0 if available is None else (z < 0) & np.asarray(available, bool)
