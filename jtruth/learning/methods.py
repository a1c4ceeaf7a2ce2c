"""The table of consensus methods, which turn noisy labels into classes.

A new method is a file with its `fit_<name>` and one entry here; `tests/learning/test_common_face.py` tests
what every method must do. A fit is called as

    fit(labels, *, key=None, gold=None, prior=None, ...)

where `key` is of random numbers (few methods use any), `gold` (samples,) holds known classes, -1 elsewhere,
and `prior` (classes,) known class shares. It returns a `Fit`, and a ValueError comes before any JAX call.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Num
from scipy.special import ndtri

from jtruth import _host
from jtruth._validation import quoted
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, clamp, gold_and_prior
from jtruth.learning.em.dawid_skene import fit_dawid_skene, fit_one_coin
from jtruth.learning.joint.hierarchical import fit_hierarchical
from jtruth.learning.minimax_entropy import fit_minimax_entropy, one_class_only
from jtruth.learning.modes import fit_difficulty_fallibility, fit_glad, fit_welinder, not_two_classes
from jtruth.learning.spectral import fit_kos, fit_label_model, kos_refuses, label_model_refuses

_LEVEL = 0.95  # of the one-sided error that an accuracy must be above chance by
_VOTED, _LEFT = 2.0, 0.05  # samples of a class by votes, and the share of them below which it is deserted


def deserted(class_posterior: np.ndarray, labels: Labels) -> Iterator[str]:
    """A sentence for each class that a method gives to hardly any sample, though many votes are for it."""
    votes = labels.counts()
    expected = _host.vote_shares(votes, votes.sum(axis=0) / votes.sum()).sum(axis=0)
    found = class_posterior.sum(axis=0)
    for c in np.flatnonzero((expected >= _VOTED) & (found < _LEFT * expected)).tolist():
        yield (
            f"Hardly any sample is of class {labels.class_names[c]!r} ({found[c]:.1f} expected), but by vote "
            f"shares {expected[c]:.1f} would be: the method may have collapsed onto the other classes. "
            "Compare with another method, or give gold labels for a few samples."
        )


def check_consistency(
    prior: Float[np.ndarray, " classes"],
    matrices: Float[np.ndarray, "labelers classes classes"],
    number: Num[np.ndarray, " labelers"],
    *,
    num_samples: int,
    workers: Any = None,
) -> tuple[str, ...]:
    """A sentence for each condition that estimated rates do not meet for learning without gold; no proof.

    Maximum likelihood finds the rates (Donmez, Lebanon and Balasubramanian 2010) if every labeler is better
    than chance and, for labelers with one error rate each, the prior is uneven or they are three or more.

    Args:
        prior, matrices: estimates.
        number: labels of each labeler; those without are left out.
        num_samples: samples behind the prior.
        workers: names, for the sentences.
    """
    classes = prior.size
    accuracy = np.einsum("c,tcc->t", prior, matrices)
    z = float(ndtri(_LEVEL))
    error = np.sqrt(np.maximum(accuracy * (1 - accuracy), 1e-12) / np.maximum(number, 1))
    weak = (accuracy - z * error > 1 / classes) | (number == 0)
    spread = np.sqrt((classes - 1) / classes**2 / max(num_samples, 1))
    even = bool(np.abs(prior - 1 / classes).max() < z * spread)
    compared = int((weak & (number > 0)).sum()) >= 3
    names = tuple(range(accuracy.size)) if workers is None else workers
    doubts = []
    if not weak.all():
        doubts.append(
            f"Labelers {quoted(names[t] for t in np.flatnonzero(~weak))} are not clearly better than chance. "
            "Rates learned without gold are consistent only if all are (Donmez et al. 2010)."
        )
    if even and not compared:
        doubts.append(
            "The class prior is even, and fewer than three labelers are better than chance, so error rates "
            "cannot be learned without gold (Donmez et al. 2010)."
        )
    return tuple(doubts)


def fit_majority_vote(labels: Labels, *, key: Any = None, gold: Any = None, prior: Any = None) -> Fit:
    """The share of a sample's votes for each class, equal shares without a vote; a prior is refused.

    >>> print(fit_majority_vote(Labels.from_matrix(np.array([[0, 1, 1, 1], [0, 1, -1, -1]]), 2)).prior)
    [0.375 0.625]
    """
    known, prior = gold_and_prior(labels, gold, prior)
    if prior is not None:
        raise ValueError(
            "the majority vote does not use a class prior; leave prior out, or choose another method"
        )
    shares = clamp(_host.vote_shares(labels.counts()), known)
    none = np.count_nonzero((labels.labels_per_sample() == 0) & (known < 0))
    doubts = (
        (f"{number_of(none, 'sample has', 'samples have')} no label, and get equal class probabilities.",)
        if none
        else ()
    )
    return Fit(shares.mean(axis=0), shares, float("nan"), warnings=doubts)


class Method(NamedTuple):
    """One consensus method: its assumption, its fit, and its options."""

    name: str
    sentence: str  # what it takes for granted of the labelers, without a full stop
    fit: Callable[..., Any]
    takes_prior: bool = True  # a known class prior is used; else it is refused
    estimates_noise: bool = True  # what it returns has `noise_model()`
    draws: bool = False  # answers are means over random draws: equal up to their Monte Carlo error
    # why labels cannot be used; the fit raises the same
    refuses: Callable[[Labels], str | None] = lambda labels: None


_METHODS = (
    Method("majority_vote", "every label has the same weight", fit_majority_vote,
           takes_prior=False, estimates_noise=False),
    Method("dawid_skene", "each labeler has a confusion matrix and errs independently of the others",
           fit_dawid_skene),
    Method("kos", "each labeler has one accuracy for both classes and errs independently of the others",
           fit_kos, takes_prior=False, estimates_noise=False, refuses=kos_refuses),
    Method("hierarchical", "confusion matrices of labelers are similar, errors are independent, and all "
           "unknowns are integrated out", fit_hierarchical, draws=True),
    Method("one_coin", "each labeler has one error rate, whatever the class, and errs independently",
           fit_one_coin),
    Method("difficulty_fallibility", "samples differ in difficulty and labelers in fallibility; all wrong "
           "classes are equally likely", fit_difficulty_fallibility),
    Method("glad", "labelers differ in ability and samples in difficulty, which affects able labelers less",
           fit_glad),
    Method("welinder", "samples lie on a line between two classes; labelers differ in precision and "
           "threshold", fit_welinder, refuses=not_two_classes),
    Method("label_model", "each labeler has error rates for two classes and errs independently of the others",
           fit_label_model, refuses=label_model_refuses),
    Method("minimax_entropy", "labelers and samples have additive confusion effects; classes are even",
           fit_minimax_entropy, refuses=one_class_only),
)  # fmt: skip
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}


def method_called(name: str) -> Method:
    """The method of this name.

    Raises:
        ValueError: an unknown name, with all names there are.
    """
    if name not in METHODS:
        raise ValueError(f"method={name!r} is not available; choose one of {', '.join(METHODS)}")
    return METHODS[name]
