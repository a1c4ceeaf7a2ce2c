"""How assumptions are fitted: each of these is a function (inputs, key, how) -> `Fitted`.

The table of assumptions (`registry`) says which is fitted by which. A latent-class model (classes, and strata
inside them) is `latent_classes(model)`, where the model is a name that `fit_joint` knows or a function that
builds one as those of `jtruth.learning.joint.models` do; anything else that gives draws of the count table is
a function like `majority_votes`. The key is that of the whole answer; every fit takes a stream of its own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import majority
from jtruth._random import host_rng, stream
from jtruth._validation import present
from jtruth.evaluation.inputs import Inputs
from jtruth.learning.joint.models import Build
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.learning.joint.random_effect import fit_random_effect
from jtruth.sampling import Effort
from jtruth.tables.metrics import expected_table

_VOTE_DRAWS = 4000

Progress = Callable[[int, int], None]


class How(NamedTuple):
    """How long to sample, and what else is wanted."""

    effort: Effort
    progress: Progress | None = None
    pointwise: bool = False  # log p(one sample | draw), for `ranges.loo_of`
    share: float | None = None  # of the dependent samples, held at this number (`sensitivity`)


class Fitted(NamedTuple):
    """Draws of the count table in the order of the codes, and the sampler's result, where there was one."""

    counts: Int[np.ndarray, "draws classes symbols"] | Float[np.ndarray, "draws classes symbols"] | None
    fit: JointPosterior | None = None


Fit = Callable[[Inputs, Any, How], Fitted]


def latent_classes(model: str | Build) -> Fit:
    """Fit by `fit_joint` of a model that it knows by name, or of a function that builds one."""
    name = model if isinstance(model, str) else model.__name__

    def fit(data: Inputs, key: Any, how: How) -> Fitted:
        found = fit_joint(
            data.own_labels(), y_pred=data.y_pred, gold=data.some_gold, prior=data.prior, dependence=model,
            dependent_share=how.share, key=stream(key, name), effort=how.effort, progress=how.progress,
            pointwise=how.pointwise,
        )  # fmt: skip
        return Fitted(found.counts, found)

    return fit


def random_effect(data: Inputs, key: Any, how: How) -> Fitted:
    """Difficulty on a continuous scale, felt by everybody."""
    found = fit_random_effect(
        data.own_labels(), y_pred=data.y_pred, gold=data.some_gold, prior=data.prior,
        key=stream(key, "random_effect"), effort=how.effort, progress=how.progress, pointwise=how.pointwise,
    )  # fmt: skip
    return Fitted(found.counts, found)


def majority_votes(data: Inputs, key: Any, how: How) -> Fitted:
    """No model: see `vote_draws`."""
    return Fitted(vote_draws(data, key))


def vote_draws(data: Inputs, key: Any) -> Float[np.ndarray, "draws classes classes"]:
    """Draws of the count table if the majority vote (gold where known) is right.

    Tied classes share a sample. The shares of the cells are Dirichlet(counts + 2/cells), the uncertainty of
    a random sample of that size, times the number of samples: two samples of prior, however many classes.
    """
    labels = data.own_labels()
    truth, known = majority(labels.counts()), data.gold >= 0
    truth[known] = data.gold[known, None] == np.arange(labels.num_classes)[None, :]
    voted = (labels.labels_per_sample() > 0) | known
    table = expected_table(truth[voted], data.y_pred[voted], labels.num_classes)
    rng = host_rng(key, "majority vote")
    shares = rng.dirichlet(table.ravel() + 2.0 / table.size, size=_VOTE_DRAWS)
    return shares.reshape(-1, *table.shape) * labels.num_samples


def share_of_errors(fit: JointPosterior, data: Inputs, copying: float) -> float:
    """Posterior expected share of the classifier's errors that repeat a label, given how often it copies."""
    classifier = present(fit.classifier, "the classifier's matrix")
    votes = data.own_labels().counts().astype(np.float64)
    at = np.arange(len(data.y_pred))
    equal = votes[at, data.y_pred] / np.maximum(votes.sum(axis=1), 1)
    own = classifier.mean(axis=0)[:, data.y_pred].T * (1 - copying)
    copied = copying * equal[:, None] / np.maximum(own + copying * equal[:, None], 1e-300)
    wrong = fit.class_posterior * (np.arange(len(data.classes)) != data.y_pred[:, None])
    return float((wrong * copied).sum() / max(wrong.sum(), 1e-300))
