"""How good is a classifier if difficulty is gradual and everybody feels it? Two classes, one random effect.

The model (`jtruth.latent.models.random_effect`) gives every sample a hidden ease that labelers and classifier
share, more or less strongly; independence is the case lam = kap = 0. It fits data in which hard samples fool
everybody, and pulls the estimate of the classifier down where independence pulls it up.
"""

from typing import Any, NamedTuple

import numpy as np

from jtruth import _validation as check
from jtruth.labels import Labels, must_be_labels
from jtruth.latent import STANDARD, Effort, Watch
from jtruth.latent.checkpoint import UNWATCHED
from jtruth.latent.models import random_effect as effect
from jtruth.latent.rows import Rows, gold_offset
from jtruth.learning.joint.inputs import Beliefs, prior_decides
from jtruth.learning.joint.models import Built, Priors, independent
from jtruth.learning.joint.posterior import JointPosterior, fit_joint


class EffectModel(NamedTuple):
    """What may be chosen of the model."""

    spread: str | None = None  # "fixed": labelers' logits spread by .8; "learned"; None: as labels are few
    shares: str = "one"  # class share: see `fit_joint`


STANDARD_MODEL = EffectModel()


def fit_random_effect(
    labels: Labels,
    *,
    key: Any = None,
    y_pred: Any = None,
    gold: Any = None,
    prior: Any = None,
    model: EffectModel = STANDARD_MODEL,
    effort: Effort = STANDARD,
    watch: Watch = UNWATCHED,
) -> JointPosterior:
    """Sample class share, labelers, classifier and true classes under a difficulty that all share.

    Args:
        labels: noisy labels of two classes.
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        y_pred: (samples,) predicted classes, -1 where there is none; None: only learn the labelers.
        gold: (samples,) known classes, -1 where unknown.
        prior: (2,) known class prior; by default its logit is drawn (uniform share).
        model: spread of labelers (learned where labels say little of each, as for `Beliefs`),
            and class shares.
        effort: when to stop.
        watch: whom to tell how far it is, in moves, and a checkpoint.

    Returns:
        `JointPosterior` with `dependence` "random_effect"; matrices are averaged over ease.

    Raises:
        ValueError: input that cannot be used; more than two classes.

    >>> import jax
    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_random_effect(Labels.from_matrix(z, 2), y_pred=z[:, 0], key=jax.random.key(0))
    >>> fit.usable, fit.converged, fit.tables("in-sample").shape[1:]
    (True, True, (2, 2))
    """
    if must_be_labels(labels).num_classes != 2:
        raise ValueError(
            f"the random-effect model is for two classes, these labels have {labels.num_classes}; "
            'use dependence="shared_strata"'
        )
    check.choose("spread", model.spread or "fixed", ("fixed", "learned"))
    learned = prior_decides(labels) if model.spread is None else model.spread == "learned"

    def random_effect(priors: Priors, rows: Rows) -> Built:
        fixed = priors.class_prior if priors.class_fixed else None
        by_class = independent(priors, rows)
        return Built(
            by_class.model,
            gold_offset(rows.gold, np.repeat([0, 1], effect.NODES)),
            by_class.start_strata,
            lambda groups: (effect.KIND, effect.arrays_of(labels.num_labelers, fixed, groups, learned)),
        )

    beliefs = Beliefs(shares=model.shares)
    return fit_joint(
        labels, key=key, y_pred=y_pred, gold=gold, prior=prior, beliefs=beliefs, dependence=random_effect,
        effort=effort, watch=watch,
    )  # fmt: skip
