"""How good is a classifier if difficulty is gradual and everybody feels it? Two classes, one random effect.

The model (`jtruth.latent.models.random_effect`) gives every sample a hidden ease that labelers and classifier
share, more or less strongly; independence is the case lam = kap = 0. It fits data in which hard samples fool
everybody, and pulls the estimate of the classifier down where independence pulls it up.
"""

from typing import Any, NamedTuple

import numpy as np

from jtruth import _validation as check
from jtruth.labels import Labels, must_be_labels
from jtruth.latent import STANDARD, Digest, Effort, LatentModel, Observed, Raters, Watch
from jtruth.latent.fit import TemperedDigest, model_of, run_tempered
from jtruth.latent.models import random_effect as effect
from jtruth.latent.pointwise import of_tempering
from jtruth.latent.rows import (
    Rows,
    gold_offset,
    label_columns,
    merge_samples,
    number_of_groups,
    prediction_columns,
)
from jtruth.latent.walk import Arrays
from jtruth.latent.watch import UNWATCHED
from jtruth.learning._given import known_prior
from jtruth.learning.joint._digest import JointDigest
from jtruth.learning.joint.inputs import (
    checked_gold,
    checked_predictions,
    prior_decides,
    share_groups,
)
from jtruth.learning.joint.log_prior import EFFECT, LogPrior
from jtruth.learning.joint.posterior import JointPosterior, gather


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
    predicted, _ = checked_predictions(labels, y_pred, None if y_pred is None else 2)
    known = checked_gold(labels, gold)
    rows = merge_samples(labels, predicted, known)
    fixed = None if prior is None else known_prior(prior, 2, np.zeros(0, int) if known is None else known)
    group, group_share = share_groups(model.shares, labels, rows, prior)
    observed = observed_of(rows, group)
    arrays = effect.arrays_of(
        labels.num_labelers, fixed, groups=number_of_groups(observed), learned=_learns_spread(model, labels)
    )
    digest = _EffectDigest(labels, fixed, group_share, judged=predicted is not None)
    named = known is not None and np.unique(known[known >= 0]).size == 2
    run = run_tempered(
        model_of(effect.KIND, arrays, observed, 2),
        observed,
        TemperedDigest(Digest(digest, digest.monitored(effort.nuisance)), None if named else digest.mirrored,
              effort.pointwise),
        key=key,
        effort=effort,
        watch=watch,
    )  # fmt: skip
    found = gather(run, labels, rows, predicted, known, False, "random_effect")
    values = run.draws["log_prior"].reshape(-1)[found.matrix_draw]
    found = found._replace(log_prior=LogPrior(values, 1.0, (EFFECT,)))
    return (
        found._replace(pointwise=of_tempering(run.large["log_p"], rows.row_of_sample))
        if effort.pointwise
        else found
    )


def observed_of(rows: Rows, group: np.ndarray | None) -> Observed:
    """Labels and predictions, and the states that the gold class allows."""
    seen = (label_columns(rows.labels), prediction_columns(rows.y_pred, 2))
    offset = gold_offset(rows.gold, np.repeat([0, 1], effect.NODES))
    return Observed(seen, rows.multiplicity.astype(np.float64), offset, rows.row_of_sample, group)


def _learns_spread(model: EffectModel, labels: Labels) -> bool:
    check.choose("spread", model.spread or "fixed", ("fixed", "learned"))
    return prior_decides(labels) if model.spread is None else model.spread == "learned"


class _EffectDigest:
    """What is kept of draws: as of independence, ease averaged over, and what everybody feels."""

    def __init__(self, labels: Labels, prior: np.ndarray | None, group_share: Any, *, judged: bool):
        """`judged`: whether there is a classifier; `group_share`: of the samples in each group of shares."""
        every, rows = np.arange(2), np.ones((labels.num_labelers, 2, 2))
        raters = [Raters(rows, every), *([Raters(rows[:1], every)] if judged else [])]
        fixed = prior is not None
        model = LatentModel(
            every, np.zeros(2, int), np.ones(2) if prior is None else prior, fixed, every * 0,
            np.ones((1, 1)), tuple(raters),
        )  # fmt: skip
        self.judged, self.by_class = judged, JointDigest(model, group_share=group_share)
        self.fixed = fixed

    def monitored(self, nuisance: bool) -> tuple[str, ...]:
        """What must converge: of a classifier its metrics, of labelers alone the samples of class 1."""
        asked = ("prior", "counts", "accuracy", "recall") if self.judged else ("prior", "class_counts")
        return (*asked, "shared") if nuisance else asked

    def mirrored(self, draws: Arrays) -> np.ndarray:
        """Draws whose raters would be right more often if the classes exchanged names."""
        return self.by_class.mirrored(draws)

    def __call__(self, draws: Arrays) -> tuple[Arrays, Arrays]:
        """One block of draws, (chains, draws, ...)."""
        given = dict(draws)
        if self.fixed:
            given.pop("pi")
        elif self.by_class.group_share is None:
            given["pi"] = given["pi"].reshape(*given["pi"].shape[:2], 2)
        small, large = self.by_class(given)
        small["shared"], small["log_prior"] = given["shared"], given["log_prior"][..., 0]
        return small, large
