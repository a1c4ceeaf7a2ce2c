"""The models that `fit_joint` knows, each a function that builds a `LatentModel` (states = class x stratum).

Its argument is the model of one stratum with the class prior and the rows (`inputs.checked_priors`):
labelers, and the classifier as the second group of raters, if there is one.

- independent: given the class, labelers and classifier err independently; one stratum.
- shared_strata: a sample is easy or hard for everybody, labelers and classifier alike.
- labeler_strata: easy or hard for the labelers only.
- random_effect: difficulty is gradual, two classes, for everybody (`latent.models.random_effect`).
- copying: with an unknown probability the classifier repeats a random one of the sample's labels; the stratum
  is whether it did, and is as likely in one class as in another.
- partly_shared (by hand): four labelers or more a sample identify which samples are hard for them, but not
  whether the classifier errs there too (Albert and Dodd 2004; Pepe and Janes 2007). The share rho of the hard
  samples where it does is unknown and integrated: a class has three kinds of samples,

      easy                        labelers easy rows, classifier easy row     1 - w
      hard, not felt              labelers hard rows, classifier easy row     w (1 - rho)
      hard, felt                  labelers hard rows, classifier hard row     w rho

  rho = 0 is `labeler_strata` (with the easy row of `shared_strata`) and rho = 1 `shared_strata`. Weights ~
  Dirichlet(10, 1 - felt, felt) leave w ~ Beta(1, 10) as it is and give rho ~ Beta(felt, 1 - felt); for more
  than two classes w ~ Beta(1, 2). Each class has its own rho.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jtruth import _validation as check
from jtruth._host import diagonal_rows, log
from jtruth.latent.model import LatentModel, Raters
from jtruth.latent.models import random_effect as effect
from jtruth.latent.models.alike import alike_in_strata
from jtruth.latent.rows import Rows, gold_offset

# Beta distributions of how often rows are right, easy and hard, where rows are alike.
_LABELERS = np.array([[9.0, 1.0], [3.0, 3.0]])
_CLASSIFIER = np.array([[3.0, 1.0], [1.5, 1.5]])

_FELT = 0.5  # prior mean of rho; learned on 14 public sets it was .3 to .6
_EASY, _HARD = 0, 1


class Built(NamedTuple):
    """A model with its arrays of every row."""

    model: LatentModel
    offset: np.ndarray  # (states, rows)
    start_strata: np.ndarray  # (strata, rows) where EM starts
    # of a model that is no table of states: groups of samples -> its `latent.model.Kind` and arrays; `model`
    # then has its raters and classes, and `offset` the states of its channel
    other: Callable[[int], tuple[Any, Any]] | None = None


def independent(base: LatentModel, rows: Rows) -> Built:
    """One stratum: Dawid and Skene with the classifier as one more labeler."""
    return Built(base, gold_offset(rows.gold, base.state_class), np.ones((1, rows.gold.size)))


def shared_strata(base: LatentModel, rows: Rows, *, tie_classifier: bool = False) -> Built:
    """Easy and hard samples; `tie_classifier` makes the classifier the same in both.

    A few per cent of this posterior lie where the hard samples of one class look like another class. Chains
    from the mode rarely get there, so the end of an interval on that side is less certain than its effective
    sample size indicates; `ranges` notes that they leave it out.

    Labelers share mean rows: theta[t] ~ Dirichlet(6 G), G ~ Dirichlet(9 on the diagonal, 1 off it) for easy
    and (3, 3) for hard samples; the classifier's rows have (3, 1) and (1.5, 1.5). Share of hard samples:
    weights ~ Dirichlet(10, 1) for two classes, (2, 1) for more. Where labels are few, rows are alike
    (`latent.models.alike`): those of one class and stratum over labelers, those of one stratum over the
    classifier's classes, with family means distributed as these concentrations imply.
    """
    classes, (independent_labelers, *classifier) = base.num_classes, base.raters
    state_class = np.repeat(np.arange(classes), 2)  # class 0 easy, class 0 hard, class 1 easy, ...
    common = _interleave(diagonal_rows(classes, 9, 1), diagonal_rows(classes, 3, 3))
    around = 6 * common / common.sum(axis=1, keepdims=True)
    labelers = np.broadcast_to(around, (len(independent_labelers.prior), *around.shape))
    every = np.arange(2 * classes)
    if independent_labelers.alike is None:
        raters = [Raters(labelers, every, 6.0, common)]
    else:
        families = alike_in_strata(independent_labelers.alike, classes, _LABELERS, by_class=True)
        raters = [Raters(labelers, every, alike=families)]
    for own in classifier:
        if tie_classifier:
            raters.append(own._replace(row_of_state=state_class))
            continue
        concentration, alike = own.prior[0], own.alike
        symbols = concentration.shape[1]
        if symbols == classes:
            easy, hard = diagonal_rows(classes, 3, 1), diagonal_rows(classes, 1.5, 1.5)
        else:  # no diagonal: easy rows as they are given, four samples each, and flat ones
            easy = 4 * concentration / concentration.sum(axis=1, keepdims=True)
            hard = np.full((classes, symbols), 3 / symbols)
        if alike is not None:
            alike = alike_in_strata(alike, classes, _CLASSIFIER, by_class=False)
        raters.append(Raters(_interleave(easy, hard)[None], every, alike=alike))
    weights = np.tile([10.0, 1.0] if classes == 2 else [2.0, 1.0], (classes, 1))
    model = base._replace(stratum_prior=weights, raters=tuple(raters))
    split = (rows.labels.counts() > 0).sum(axis=1) > 1  # not unanimous
    start = np.stack([~split, split]).astype(np.float64)
    return Built(model, gold_offset(rows.gold, state_class), start)


def labeler_strata(base: LatentModel, rows: Rows) -> Built:
    """Easy and hard samples for the labelers only."""
    return shared_strata(base, rows, tie_classifier=True)


def copying(base: LatentModel, rows: Rows) -> Built:
    """p(y_pred = u | c, z) = (1 - r) K[c, u] + r (share of the sample's labels equal to u), r ~ U(0, 1)."""
    classes = base.num_classes
    if len(base.raters) < 2 or base.raters[1].prior.shape[2] != classes:
        raise ValueError("the copying model needs y_pred whose symbols are the classes")
    state_class = np.repeat(np.arange(classes), 2)  # class 0 own, class 0 copied, ...
    own = np.where(np.arange(2 * classes) % 2 == 0, state_class, -1)
    places = zip(base.raters, (state_class, own), strict=True)
    raters = [one._replace(row_of_state=place) for one, place in places]
    model = base._replace(stratum_prior=np.ones((1, 2)), raters=tuple(raters))
    votes = rows.labels.counts()
    total = votes.sum(axis=1)
    equal = np.take_along_axis(votes, np.maximum(rows.y_pred, 0)[:, None], axis=1)[:, 0]
    log_share = log(equal / np.maximum(total, 1))
    log_share = np.where(rows.y_pred < 0, 0.0, log_share)  # nothing was predicted, so nothing is explained
    offset = gold_offset(rows.gold, state_class)
    offset[1::2] += log_share[None, :]
    return Built(model, offset, np.tile([[0.8], [0.2]], (1, total.size)))


def random_effect(base: LatentModel, rows: Rows) -> Built:
    """Every sample has an ease that affects labelers and classifier; two classes.

    The spread of labelers is learned where labels are few.
    """
    classes, labelers = base.num_classes, base.raters[0]
    if any(raters.prior.shape[1:] != (2, 2) for raters in base.raters):
        raise ValueError(
            f"the random-effect model is for two classes, but these labels have {classes}; "
            'use dependence="shared_strata"'
        )
    learned = labelers.alike is not None
    fixed, nodes = base.class_prior if base.class_fixed else None, np.repeat([0, 1], effect.NODES)

    def other(groups: int) -> tuple[Any, Any]:
        return effect.KIND, effect.arrays_of(len(labelers.prior), fixed, groups, learned)

    return independent(base, rows)._replace(offset=gold_offset(rows.gold, nodes), other=other)


def partly_shared(base: LatentModel, rows: Rows) -> Built:
    """Easy samples, and hard ones that are easy or hard for the classifier."""
    if len(base.raters) < 2:
        raise ValueError("partly_shared needs a classifier: give y_pred, or use shared_strata")
    whole = shared_strata(base, rows)
    classes, model = base.num_classes, whole.model
    labelers_see = _states(classes, (_EASY, _HARD, _HARD))
    classifier_sees = _states(classes, (_EASY, _EASY, _HARD))
    labelers, classifier = model.raters
    raters: tuple[Raters, ...] = (
        labelers._replace(row_of_state=labelers.row_of_state[labelers_see]),
        classifier._replace(row_of_state=classifier.row_of_state[classifier_sees]),
    )
    easy, hard = model.stratum_prior.T
    split = model._replace(
        stratum_prior=np.stack([easy, hard * (1 - _FELT), hard * _FELT], axis=1),
        raters=raters,
    )
    start = whole.start_strata[[_EASY, _HARD, _HARD]] * np.array([1.0, 1 - _FELT, _FELT])[:, None]
    return Built(split, whole.offset[labelers_see], start)


def _states(classes: int, strata: tuple[int, ...]) -> np.ndarray:
    """The state of `shared_strata` that each new state is like, class after class."""
    return (2 * np.arange(classes)[:, None] + np.array(strata)).ravel()


Build = Callable[[LatentModel, Rows], Built]
MODELS: dict[str, Build] = {
    "independent": independent,
    "shared_strata": shared_strata,
    "labeler_strata": labeler_strata,
    "random_effect": random_effect,
    "copying": copying,
}
MODEL_NAMES = tuple(MODELS)


def named_model(dependence: str | Build) -> tuple[Build, str]:
    """The function that builds it, and its name."""
    if not isinstance(dependence, str):
        return dependence, getattr(dependence, "func", dependence).__name__  # a partial has no name
    check.choose("dependence", dependence, MODEL_NAMES)
    return MODELS[dependence], dependence


def fixed_share(model: str | Build, share: float) -> Build:
    """The model with a known share of dependent samples (hard ones; copied predictions).

    Raises:
        ValueError: a share outside [0, 1); when it is built, a model without dependent samples.
    """
    if not 0 <= share < 1:
        raise ValueError(f"dependent_share is {share}; it must be at least 0 and below 1")
    build, name = named_model(model)

    def with_share(base: LatentModel, rows: Rows) -> Built:
        built = build(base, rows)
        prior = built.model.stratum_prior
        if prior.shape[1] != 2:
            raise ValueError(
                "dependent_share needs a model with dependent samples: dependence='shared_strata'"
            )
        known = np.maximum([1 - share, share], 1e-9) * 1e9  # a prior of a billion samples
        fixed = built.model._replace(stratum_prior=np.tile(known, (len(prior), 1)), weights_fixed=True)
        return built._replace(model=fixed)

    with_share.__name__ = name
    return with_share


def _interleave(easy: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Rows easy 0, hard 0, easy 1, ..."""
    return np.stack([easy, hard], axis=1).reshape(-1, easy.shape[1])
