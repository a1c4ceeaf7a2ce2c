"""One label from many, and how often that one label is wrong: TARS (1)-(5).

The labels of a sample become its most probable class given them (2). What is kept beside it is the law of
this *rule*, r[y, k] = P(consolidated label k | true class y) (3)-(5): how often the rule, applied to labels
that these labelers might have given, says k. It depends on who labelled the sample and on nothing that they
said. That is what makes the estimators of `counts` unbiased.

Samples labelled by equal sets of labelers share one law. Where it comes from:

- two classes and independent labelers: the sign of a sum (`jtruth.stats.vote_law`), exact up to 36 different
  labelers and any number of equal ones, certified bounds beyond (`error` says how far they are apart);
- more classes, or labelers that depend on each other through a hidden stratum: all label vectors, up to a
  few million numbers, else draws (`error` is their largest standard error);
- a difficulty that is known for each sample is a part of who labelled it.

Ties (two reliable labelers who disagree) go to one of the tied classes at random, as in the paper, or to the
first of them. Log-odds that are 0 up to rounding are a tie.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from jtruth._host import log
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth._validation import choose
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.vote_law import TOLERANCE
from jtruth.testing.tars._laws import law_of_rule

TIES = ("random", "first")


class Consolidated(NamedTuple):
    """One label for each sample, and the law of the rule that made it."""

    label: Int[np.ndarray, " samples"]
    rates: Float[np.ndarray, "samples classes classes"]  # P(label | true class), rows true, sum to 1
    error: Float[np.ndarray, " samples"]  # how far `rates` may be off: 0 exact; bounds; standard error
    tied: Bool[np.ndarray, " samples"]
    prior: Float[np.ndarray, " classes"]

    __repr__ = one_line


def consolidate(
    labels: Labels, noise: NoiseModel, prior: Any, *, ties: str = "random", key: Any = None
) -> Consolidated:
    """The most probable class of each sample given its labels, and how often that rule errs (TARS (1)-(5)).

    Args:
        labels: of any number of classes.
        noise: a noise model of known error rates that says the law of a sample's labels (`strata`).
        prior: (classes,), positive. The estimators are unbiased whatever it is; a prior near 0 or 1 makes
            rules that say the same class whatever the labels, from which nothing can be estimated.
        ties: "random", or "first" of the tied classes.
        key: of random ties and of laws by draws; 0 if None.

    Raises:
        ValueError: a model that does not say its law, a prior of 0, or labelers who cannot err and contradict
            each other (the samples are named).

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.noise import Symmetric
        >>> labels = Labels.from_matrix(np.array([[1, 1, 0], [0, -1, -1]]), 2)
        >>> found = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5])
        >>> print(found.label, found.rates[:, 0, 1].round(3))
        [1 0] [0.104 0.2  ]
    """
    choose("ties", ties, TIES)
    prior = _positive_prior(prior, labels.num_classes)
    strata = noise.strata(labels.num_labelers)
    if strata is None:
        raise ValueError(
            f"{type(noise).__name__} does not say the law of the labels of one sample (method `strata`), so "
            "how often a consolidated label is wrong is not known; method='bayes' needs no such law"
        )
    with jax.enable_x64(True):
        log_likelihood = np.asarray(noise.log_likelihood(labels), np.float64)
    check_not_contradictory(log_likelihood, labels.tasks)
    key = as_key(key)
    label, tied = _most_probable(log_likelihood + log(prior)[None, :], ties, key)
    law_of, rates, error = {}, [], []
    for members in _who_labelled(labels, strata):
        if members not in law_of:
            law_of[members] = law_of_rule(strata, members, prior, ties, key)
        law, off = law_of[members]
        rates.append(law)
        error.append(off)
    return Consolidated(label, np.stack(rates), np.array(error), tied, prior)


def _positive_prior(prior: Any, num_classes: int) -> np.ndarray:
    """The class prior, without zeros."""
    found = validate_prior(np.asarray(prior, np.float64), num_classes)
    if (found <= 0).any():
        raise ValueError(f"prior is {found.tolist()}: a class of prior 0 is never the consolidated label")
    return found


def _most_probable(joint: np.ndarray, ties: str, key: Any) -> tuple[np.ndarray, np.ndarray]:
    """(2): the class of largest log prior + log-likelihood, and where several are."""
    best = joint.max(axis=1, keepdims=True)
    sizes = np.where(np.isfinite(joint), np.abs(joint), 1.0).max(axis=1, keepdims=True)
    among = joint >= best - TOLERANCE * np.maximum(sizes, 1.0)
    tied = among.sum(axis=1) > 1
    height = np.where(among, 1.0, 0.0)
    if ties == "random":
        height = height * host_rng(key, "ties of consolidated labels").uniform(0.5, 1.0, joint.shape)
    return height.argmax(axis=1).astype(np.int32), tied


def _who_labelled(labels: Labels, strata: Any) -> list[tuple[int | None, tuple[int, ...]]]:
    """For each sample its known stratum, if any, and its labelers, the first of those that are equal."""
    kinds = np.moveaxis(strata.rows, 1, 0).reshape(labels.num_labelers, -1)
    _, first, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    sample, labeler, label = labels.arrays
    given = label >= 0
    order = np.lexsort((labeler[given], sample[given]))
    alike = first[kind.ravel()][labeler[given]][order]
    ends = np.cumsum(np.bincount(sample[given], minlength=labels.num_samples))
    known = strata.of_sample
    return [
        (None if known is None else int(known[i]), tuple(sorted(alike[start:end].tolist())))
        for i, (start, end) in enumerate(zip(np.concatenate([[0], ends[:-1]]), ends, strict=True))
    ]
