"""Checked arguments of methods that learn from labels, and their result, `Fit`.

What only one method estimates, such as matrices or abilities, is in `own`, is listed in the docstring of the
function that fits, and is read like a field: `fit.matrices`.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth import _host
from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes
from jtruth._validation.words import number_of
from jtruth.labels import Labels, must_be_labels
from jtruth.posterior import validate_prior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import check_level


class Fit(NamedTuple):
    """A fitted method. All arrays are NumPy float64."""

    prior: Float[np.ndarray, " classes"]  # class shares
    class_posterior: Float[np.ndarray, "samples classes"]  # rows sum to 1; a known class has 1
    log_likelihood: float  # log p(labels, gold classes) at the estimate; NaN where a method has none
    converged: bool = True  # whether an iteration came to its end; True where there is none
    num_steps: int = 0
    warnings: tuple[str, ...] = ()  # what is doubtful, one sentence each
    own: Mapping[str, Any] = MappingProxyType({})  # what only this method estimates, by name

    __repr__ = one_line

    def __getattr__(self, name: str) -> Any:
        if name in self.own:
            return self.own[name]
        known = ", ".join([*self._fields, *self.own])
        raise AttributeError(f"this fit has no {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.own]

    def __reduce__(self) -> tuple:
        return type(self), (*self[:-1], dict(self.own))

    def interval(self, level: float = 0.95) -> Float[np.ndarray, "two *rows classes"]:
        """Low and high ends of every entry of the labelers' matrices, equal tails of a bootstrap.

        Raises:
            ValueError: a level outside (0, 1), or a method without a bootstrap.
        """
        check_level(level)
        if "bootstrap" not in self.own:
            raise ValueError("this fit has no intervals; use quick_labelers, fit_joint or fit_nuts")
        return np.quantile(self.own["bootstrap"], ((1 - level) / 2, (1 + level) / 2), axis=0)

    def accuracy_interval(self, level: float = 0.95) -> Float[np.ndarray, "labelers 2"]:
        """Shortest interval of each labeler's accuracy.

        Raises:
            ValueError: another method than `fit_hierarchical`.
        """
        if "posterior" not in self.own:
            raise ValueError("this fit has no draws of accuracies; use fit_hierarchical")
        draws = self.own["posterior"].labeler_accuracy
        return np.array([DrawsEstimate(column).interval(level) for column in draws.T])

    def noise_model(self) -> Any:
        """A model of `jtruth.noise`: matrices, else difficulties and fallibilities, else accuracies.

        Raises:
            ValueError: the method does not estimate error rates.
        """
        from jtruth import noise

        own, classes = self.own, self.prior.size
        if "matrices" in own:
            return noise.ConfusionMatrices(own["matrices"])
        if "fallibility" in own:
            return noise.DifficultyFallibility(own["difficulty"], own["fallibility"], classes)
        if "accuracy" in own:
            return noise.Symmetric(1.0 - own["accuracy"], classes)
        raise ValueError(
            "this fit has no error rates, so it gives no model of `jtruth.noise`; choose a method that "
            "estimates error rates, or use its array by_class, if it has one"
        )


class LabelerDraws(NamedTuple):
    """Draws of class prior and matrices, by a Gaussian approximation or by NUTS."""

    prior: Float[np.ndarray, "draws classes"]
    matrices: Float[np.ndarray, "draws labelers classes classes"]  # float32
    mean_matrices: Float[np.ndarray, "labelers classes classes"]
    labeler_accuracy: Float[np.ndarray, "draws labelers"]  # sum_c pi[c] psi_t[c, c]
    class_posterior: Float[np.ndarray, "samples classes"]
    how: str  # a sentence: what the draws are of
    warnings: tuple[str, ...] = ()

    __repr__ = one_line


def labeler_draws(
    prior: Float[np.ndarray, "draws classes"],
    matrices: Float[np.ndarray, "draws labelers classes classes"],
    class_posterior: Float[np.ndarray, "samples classes"],
    how: str,
    warnings: tuple[str, ...] = (),
) -> LabelerDraws:
    """The draws with their means and accuracies."""
    right = np.einsum("mc,mtcc->mt", prior, matrices, dtype=np.float64)
    mean = matrices.mean(axis=0, dtype=np.float64)
    return LabelerDraws(prior, matrices.astype(np.float32), mean, right, class_posterior, how, warnings)


def gold_and_prior(labels: Any, gold: Any, prior: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Gold as (samples,) codes, -1 where unknown, and the prior as (classes,) float64 or None, checked."""
    must_be_labels(labels)
    check.check_entries(labels.arrays, (labels.num_samples, labels.num_labelers, labels.num_classes))
    if not labels.num_labels:
        raise ValueError("labels has no label, so there is nothing to learn from")
    known = np.full(labels.num_samples, -1, np.int64)
    if gold is not None:
        gold = np.asarray(gold)
        check_codes(gold, labels.num_classes, "gold", size=labels.num_samples, missing=True, kinds="iu")
        known = gold.astype(np.int64)
    if prior is None:
        return known, None
    return known, known_prior(prior, labels.class_names, known)


def known_prior(prior: Any, classes: Sequence[Any], known: np.ndarray) -> np.ndarray:
    """A class prior as float64 that sums to 1, with no 0 for a class in gold."""
    prior = validate_prior(prior, len(classes), classes).astype(np.float64)
    if (prior[known[known >= 0]] == 0).any():
        raise ValueError("a class has prior 0 but occurs in gold; raise its prior")
    return prior / prior.sum()


def check_steps(max_steps: int, tol: float) -> None:
    """Refuse an iteration that cannot run."""
    if max_steps < 1 or not tol >= 0:
        raise ValueError(f"need max_steps >= 1 and tol >= 0; got {max_steps}, {tol}")


def one_hot(known: np.ndarray, classes: int) -> np.ndarray:
    """(samples, classes), 1 at each known class; rows of unknown samples are 0."""
    return (known[:, None] == np.arange(classes)[None, :]).astype(np.float64)


def clamp(p: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Class probabilities with 1 at the class of every sample whose class is known."""
    return np.where(known[:, None] >= 0, one_hot(known, p.shape[1]), p) if (known >= 0).any() else p


def first_guess(labels: Labels, known: np.ndarray | None, trust: np.ndarray | None = None) -> np.ndarray:
    """(samples, classes) vote shares, weighted by `trust`; those of all votes where a sample has none."""
    votes = labels.counts()
    if trust is not None:
        sample, labeler, label = labels.entries()
        votes = _host.cross_table(sample, label, votes.shape, trust[labeler])
    pooled = votes.sum(axis=0) if votes.any() else np.ones(labels.num_classes)  # a shard without samples
    shares = _host.vote_shares(votes, pooled / pooled.sum())
    return shares if known is None else clamp(shares, known)


def soft_counts(labels: Labels, p: np.ndarray) -> np.ndarray:
    """(labelers, true classes, labels) expected labels, by class probabilities `p` (samples, classes)."""
    sample, labeler, label = labels.entries()
    return counts_of_labels(p[sample], labeler, label, labels.num_labelers)


def counts_of_labels(
    q: np.ndarray, labeler: np.ndarray, label: np.ndarray, num_labelers: int
) -> Float[np.ndarray, "labelers classes classes"]:
    """The same by the class probabilities of each label, `q` (labels, classes)."""
    cells, place = (num_labelers, q.shape[1]), labeler * q.shape[1] + label
    return np.stack([np.bincount(place, of, cells[0] * cells[1]).reshape(cells) for of in q.T], axis=1)


def unlabelled(
    labels: Labels, samples: str = "their class posterior is the prior.", labelers: str = ""
) -> Iterator[str]:
    """Sentences if some samples or labelers have no label."""
    if none := np.count_nonzero(labels.labels_per_sample() == 0):
        yield f"{number_of(none, 'sample has', 'samples have')} no label; {samples}"
    if labelers and (none := np.count_nonzero(labels.labels_per_labeler() == 0)):
        yield f"{number_of(none, 'labeler')} gave no label; {labelers}"


def not_converged(name: str, converged: bool, num_steps: int) -> Iterator[str]:
    """A sentence if an iteration did not converge."""
    if not converged:
        yield f"{name} did not converge in {num_steps} steps; raise max_steps."


def exchanged(confusion: np.ndarray, classes: tuple) -> Iterator[str]:
    """A sentence for each pair of classes that the labelers together (`confusion`) seem to exchange."""
    own = np.diag(confusion)
    for a, b in np.argwhere(np.triu(own[:, None] + own[None, :] < confusion + confusion.T, 1)).tolist():
        yield (
            f"Classes {classes[a]!r} and {classes[b]!r} look swapped: the labelers use each name more often "
            "for the other class. Gold labels for a few samples would settle it."
        )
