"""Ask until it is known: one more label for each sample whose class is still at risk, and no more for others.

A fixed number of labels a sample pays for easy samples what hard ones lack. Here (Branson, Van Horn and
Perona 2017) a sample is asked about until the risk of deciding its class, the smallest expected loss

    risk_i = min over decisions d of  sum_c p(y_i = c | labels) loss[d, c]

falls below a limit, or nobody is left, or it has had its most. After every round all labels are fitted again
(Dawid and Skene's model, Dirichlet priors), so what is learned of a labeler on one sample tells on all
others, and a sample that was done may be opened again. Who is asked: the labeler whose answer is expected
to tell most of the class for its price (`expected_gain`), or whoever comes next (`choose="any"`), as in a
crowd.

Measured (`benchmarks/acquisition.py`): 3.2 labels a sample had the error of 5 for everybody where labelers
differ and samples do not, 3.6 where a third of the samples are hard; on bluebirds, whose labelers share
errors, nothing was saved, and risks said to be .03 were .18. There "gain" was worse than chance: it keeps
asking those whom the model believes.

The risk is that of the model. Labelers who are wrong together, or hard samples on which all are worse, leave
more errors than the limit says: `benchmarks/acquisition.py` has by how much on real labels. And a limit on
the risk of each sample is not the share of errors in all of them: most samples end well below it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from jtruth._host import diagonal_rows, vote_shares
from jtruth._random import as_key, host_rng
from jtruth._validation import choose as choose_one
from jtruth.asking.entropy import expected_gain
from jtruth.labels import Labels
from jtruth.learning import columns_from_matrix, dawid_skene_em

_MAX_STEPS, _TOL = 500, 1e-6


class Limits(NamedTuple):
    """When a sample has been asked about often enough."""

    risk: float = 0.05  # of its decision; below it the sample is done
    least: int = 2  # labels that every sample gets
    most: int = 10  # labels that no sample exceeds


class Round(NamedTuple):
    """What is known of the samples so far, and whom to ask next."""

    posterior: Float[np.ndarray, "samples classes"]
    decision: Int[np.ndarray, " samples"]  # of least expected loss
    risk: Float[np.ndarray, " samples"]
    samples: Int[np.ndarray, " asked"]  # still open, and somebody may be asked
    labelers: Int[np.ndarray, " asked"]  # whom to ask about each
    prior: Float[np.ndarray, " classes"]
    matrices: Float[np.ndarray, "labelers classes classes"]
    converged: bool  # the EM that learned them


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


_USUAL = Limits()


def next_asks(
    z: Int[np.ndarray, "samples labelers"],
    num_classes: int,
    *,
    limits: Limits = _USUAL,
    available: Any = None,
    prices: Float[np.ndarray, " labelers"] | None = None,
    loss: Float[np.ndarray, "classes classes"] | None = None,
    choose: str = "gain",
    key: Any = None,
) -> Round:
    """Which samples need another label, and from whom.

    Args:
        z: labels so far, -1 where there is none (there may be none at all).
        num_classes: C.
        limits: when a sample is done.
        available: (samples, labelers) booleans: whom one may ask about which sample; None: anybody who has
            not labelled it.
        prices: of a label by each labeler; equal if None.
        loss: loss[d, c] of deciding d where the class is c; 1 for every error if None.
        choose: "gain", the most expected information per price; "any", by chance.
        key: for the choice by chance, a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: codes, limits, prices or losses that cannot be used.

    >>> z = np.array([[1, 1, -1], [0, 1, -1], [-1, -1, -1], [0, 0, -1]])
    >>> asked = next_asks(z, 2, limits=Limits(risk=0.2))
    >>> asked.samples.tolist(), asked.labelers.tolist(), int(asked.decision[0])
    ([1, 2], [2, 0], 1)
    """
    z = np.asarray(z)
    loss, prices, free = _checked(z, num_classes, limits, available, prices, loss)
    choose_one("choose", choose, ("gain", "any"))
    prior, matrices, posterior, converged = _fitted(z, num_classes)
    expected = posterior @ loss.T
    decision, risk = expected.argmin(axis=1), expected.min(axis=1)
    given = (z >= 0).sum(axis=1)
    wanted = (given < limits.least) | ((risk > limits.risk) & (given < limits.most))
    samples = np.flatnonzero(wanted & free.any(axis=1))
    if choose == "any":
        worth = host_rng(as_key(key), "whom to ask", int(given.sum())).random(z.shape)
    else:
        with jax.enable_x64(True):
            worth = np.asarray(expected_gain(posterior, matrices), np.float64) / prices
    labelers = np.where(free, worth, -np.inf)[samples].argmax(axis=1) if samples.size else samples
    return Round(posterior, decision, risk, samples, labelers, prior, matrices, converged)


def acquire(
    ask: Callable[[np.ndarray, np.ndarray], np.ndarray],
    shape: tuple[int, int],
    num_classes: int,
    *,
    budget: float = np.inf,
    key: Any = None,
    **options: Any,
) -> Acquisition:
    """Ask round by round until every sample is done.

    Args:
        ask: called with (samples, labelers), equally long; returns the class that each labeler gives.
        shape: (samples, labelers).
        num_classes: C.
        budget: stop before the prices of all labels exceed it; the last round is cut, riskiest samples first.
        key: for choices by chance.
        options: those of `next_asks`.

    Raises:
        ValueError: an answer that is no class, and what `next_asks` refuses.

    >>> y = np.arange(40) % 2
    >>> done = acquire(lambda sample, labeler: y[sample], (40, 6), 2, choose="any")
    >>> bool((done.decision == y).all()), bool(done.num_labels.max() <= 4)
    (True, True)
    """
    z, rounds, spent = np.full(shape, -1, np.int32), 0, 0.0
    prices = np.ones(shape[1]) if options.get("prices") is None else np.asarray(options["prices"], np.float64)
    now = next_asks(z, num_classes, key=key, **options)
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
        now = next_asks(z, num_classes, key=key, **options)
    limits, given = options.get("limits", _USUAL), (z >= 0).sum(axis=1)
    open_still = np.count_nonzero((now.risk > limits.risk) | (given < limits.least))
    why = "they had their most, nobody was left, or the budget was spent"
    doubts = [f"{open_still} samples ended above the limit: {why}"] if open_still else []
    if not now.converged:
        doubts.append(f"EM did not converge in {_MAX_STEPS} steps")
    labels = Labels.from_matrix(z, num_classes, allow_unlabelled=True)
    return Acquisition(labels, now.decision, now.posterior, now.risk, given, spent, rounds, tuple(doubts))


def _fitted(z: np.ndarray, classes: int):
    """(prior, matrices, posterior, converged) by EM with the prior of `fit_joint`; shapes do not change."""
    pseudo = np.tile(diagonal_rows(classes, 2.0, 1.0), (z.shape[1], 1, 1))
    votes = (z[:, :, None] == np.arange(classes)).sum(axis=1)
    with jax.enable_x64(True):
        columns = columns_from_matrix(z, classes)
        start = vote_shares(votes)
        found = dawid_skene_em(columns, start, np.ones(classes), pseudo, max_steps=_MAX_STEPS, tol=_TOL)
        return (*(np.asarray(a) for a in (found.prior, found.matrices, found.class_posterior)),
                bool(found.converged))  # fmt: skip


def _checked(z, classes, limits, available, prices, loss):
    """Loss, prices and who may be asked, as arrays."""
    if z.ndim != 2 or z.dtype.kind not in "iu" or z.min(initial=0) < -1 or z.max(initial=0) >= classes:
        raise ValueError(f"z must be whole numbers -1 to {classes - 1} of shape (samples, labelers)")
    if not (limits.risk >= 0 and 1 <= limits.least <= limits.most):
        raise ValueError(f"limits need risk >= 0 and 1 <= least <= most; got {tuple(limits)}")
    prices = np.ones(z.shape[1]) if prices is None else np.asarray(prices, np.float64)
    if prices.shape != (z.shape[1],) or not ((prices > 0) & np.isfinite(prices)).all():
        raise ValueError(f"prices must be {z.shape[1]} positive numbers, one for each labeler")
    loss = 1.0 - np.eye(classes) if loss is None else np.asarray(loss, np.float64)
    if loss.shape != (classes, classes) or not np.isfinite(loss).all() or (loss < 0).any():
        raise ValueError(
            f"loss must be ({classes}, {classes}) finite numbers >= 0: rows decided, columns true"
        )
    if available is not None and np.shape(available) != z.shape:
        raise ValueError(f"available has shape {np.shape(available)}; z has {z.shape}")
    return loss, prices, z < 0 if available is None else (z < 0) & np.asarray(available, bool)
