"""The models that `fit_joint` knows, each a function that builds a `LatentModel` (states = class x stratum).

- independent: given the class, labelers and classifier err independently; one stratum.
- shared_strata: a sample is easy or hard for everybody, labelers and classifier alike.
- labeler_strata: easy or hard for the labelers; the classifier does not notice.
- random_effect: difficulty is gradual, two classes, and everybody feels it (`latent.models.random_effect`,
  where independence is lam = kap = 0). It fits data in which hard samples fool everybody, and pulls the
  estimate of the classifier down where independence pulls it up. Matrices are averaged over ease.
- copying: with an unknown probability the classifier repeats one of the sample's labels, picked at random;
  the stratum says whether it did, and is as likely in one class as in another.

Their priors were chosen on real and simulated label sets; under shared strata the prior on the share of hard
samples matters, because labels alone say little about it.

`partly_shared`: labelers show that some samples are hard; how many of them does the classifier feel?
Four labelers or more a sample identify which samples are hard for labelers and how hard; that the classifier
errs there too they do not tell (Albert and Dodd 2004; Pepe and Janes 2007): on hard samples a classifier that
is wrong half of the time looks like one that is right while labelers guess. What is not identified is the
share rho of the hard samples where the classifier is another one than on the easy ones. Here it is unknown
and integrated. A class has three kinds of samples,

    easy                        labelers easy rows, classifier easy row     1 - w
    hard, not felt              labelers hard rows, classifier easy row     w (1 - rho)
    hard, felt                  labelers hard rows, classifier hard row     w rho

so on hard samples the classifier's row is (1 - rho) K_easy + rho K_hard: rho = 0 is `labeler_strata` and
rho = 1 `shared_strata`, whose rows and share w of hard samples these are. (With symbols that are the classes
the classifier's easy row is that of `shared_strata`, Dirichlet(3, 1), where `labeler_strata` has (2, 1).)

A Dirichlet draw is its sums of parts and, independently, the shares inside them. If the share of hard samples
is w ~ Beta(1, 10), weights ~ Dirichlet(10, 1 - felt, felt) leave it as it is and give rho ~ Beta(felt,
1 - felt) of mean `felt`: it likes the ends 0 and 1, since a classifier mostly either shares what makes
samples hard (it reads the same text) or does not. For more than two classes w ~ Beta(1, 2). Each class has
its own rho.

It answers to assume="partly_shared".
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jtruth import _validation as check
from jtruth._host import diagonal_rows, log
from jtruth.latent.model import LatentModel, Raters
from jtruth.latent.models import random_effect as effect
from jtruth.latent.models.alike import Alike, alike_in_strata
from jtruth.latent.rows import Rows, gold_offset

# Beta laws of how often rows are right, easy and hard, where rows are alike.
_LABELERS = np.array([[9.0, 1.0], [3.0, 3.0]])
_CLASSIFIER = np.array([[3.0, 1.0], [1.5, 1.5]])

_FELT = 0.5  # prior mean of rho; learned on 14 public sets it was .3 to .6
_EASY, _HARD = 0, 1


class Priors(NamedTuple):
    """Dirichlet concentrations of the rows, and the class prior."""

    class_prior: np.ndarray  # (classes,) concentrations, or probabilities if fixed
    class_fixed: bool
    labelers: np.ndarray  # (labelers, classes, classes)
    classifier: np.ndarray | None  # (classes, symbols)
    labelers_alike: Alike | None = None  # instead of fixed concentrations, see there
    classifier_alike: Alike | None = None


class Built(NamedTuple):
    """A model with what it needs to know about every row."""

    model: LatentModel
    offset: np.ndarray  # (states, rows)
    start_strata: np.ndarray  # (strata, rows) where EM starts
    # of a model that is no table of states: groups of samples -> its `latent.model.Kind` and arrays; `model`
    # then says what its raters and classes are, and `offset` has the states of its channel
    other: Callable[[int], tuple[Any, Any]] | None = None


def independent(priors: Priors, rows: Rows) -> Built:
    """One stratum: Dawid and Skene with the classifier as one more labeler."""
    classes = priors.class_prior.size
    every = np.arange(classes)
    raters = _raters(priors, every, every)
    model = _model(priors, np.ones((classes, 1)), every, raters)
    return Built(model, gold_offset(rows.gold, every), np.ones((1, rows.gold.size)))


def shared_strata(priors: Priors, rows: Rows, *, tie_classifier: bool = False) -> Built:
    """Easy and hard samples; `tie_classifier` makes the classifier the same in both.

    A few per cent of this posterior lie where the hard samples of one class look like another class. Chains
    that start at the mode come there rarely, so the end of an interval on that side is known less well than
    its effective sample size says; ranges say in words that they leave it out.

    Labelers share mean rows: theta[t] ~ Dirichlet(6 G), G ~ Dirichlet(9 on the diagonal, 1 off it) for easy
    and (3, 3) for hard samples; the classifier's rows have (3, 1) and (1.5, 1.5). Share of hard samples:
    weights ~ Dirichlet(10, 1) for two classes, (2, 1) for more. Where labels are few, rows are alike
    (`latent.models.alike`): those of one class and stratum over labelers, those of one stratum over the
    classifier's classes; the means of these families have the laws that the concentrations above give.
    """
    classes = priors.class_prior.size
    state_class = np.repeat(np.arange(classes), 2)  # class 0 easy, class 0 hard, class 1 easy, ...
    common = _interleave(diagonal_rows(classes, 9, 1), diagonal_rows(classes, 3, 3))
    base = 6 * common / common.sum(axis=1, keepdims=True)
    labelers = np.broadcast_to(base, (priors.labelers.shape[0], *base.shape))
    every = np.arange(2 * classes)
    if priors.labelers_alike is None:
        raters = [Raters(labelers, every, 6.0, common)]
    else:
        families = alike_in_strata(priors.labelers_alike, classes, _LABELERS, by_class=True)
        raters = [Raters(labelers, every, alike=families)]
    if priors.classifier is not None:
        if tie_classifier:
            raters.append(Raters(priors.classifier[None], state_class, alike=priors.classifier_alike))
        else:
            symbols = priors.classifier.shape[1]
            if symbols == classes:
                easy, hard = diagonal_rows(classes, 3, 1), diagonal_rows(classes, 1.5, 1.5)
            else:  # no diagonal: easy rows as they are given, four samples each, and flat ones
                easy = 4 * priors.classifier / priors.classifier.sum(axis=1, keepdims=True)
                hard = np.full((classes, symbols), 3 / symbols)
            own = priors.classifier_alike
            own = None if own is None else alike_in_strata(own, classes, _CLASSIFIER, by_class=False)
            raters.append(Raters(_interleave(easy, hard)[None], every, alike=own))
    weights = np.tile([10.0, 1.0] if classes == 2 else [2.0, 1.0], (classes, 1))
    model = _model(priors, weights, np.arange(classes), raters)
    split = (rows.labels.counts() > 0).sum(axis=1) > 1  # not unanimous
    start = np.stack([~split, split]).astype(np.float64)
    return Built(model, gold_offset(rows.gold, state_class), start)


def labeler_strata(priors: Priors, rows: Rows) -> Built:
    """Easy and hard samples for the labelers only."""
    return shared_strata(priors, rows, tie_classifier=True)


def copying(priors: Priors, rows: Rows) -> Built:
    """p(y_pred = u | c, z) = (1 - r) K[c, u] + r (share of the sample's labels equal to u), r ~ U(0, 1)."""
    classes = priors.class_prior.size
    if priors.classifier is None or priors.classifier.shape[1] != classes:
        raise ValueError("the copying model needs y_pred whose symbols are the classes")
    state_class = np.repeat(np.arange(classes), 2)  # class 0 own, class 0 copied, ...
    own = np.where(np.arange(2 * classes) % 2 == 0, state_class, -1)
    raters = _raters(priors, state_class, own)
    model = _model(priors, np.ones((1, 2)), np.zeros(classes, np.int64), raters)
    votes = rows.labels.counts()
    total = votes.sum(axis=1)
    equal = np.take_along_axis(votes, np.maximum(rows.y_pred, 0)[:, None], axis=1)[:, 0]
    log_share = log(equal / np.maximum(total, 1))
    log_share = np.where(rows.y_pred < 0, 0.0, log_share)  # nothing was predicted, so nothing is explained
    offset = gold_offset(rows.gold, state_class)
    offset[1::2] += log_share[None, :]
    return Built(model, offset, np.tile([[0.8], [0.2]], (1, total.size)))


def random_effect(priors: Priors, rows: Rows, *, spread: str | None = None) -> Built:
    """Every sample has an ease that labelers and classifier feel.

    Args:
        priors, rows: as for the others; the logit of the class share is drawn, with a uniform share.
        spread: "fixed": labelers' logits spread by .8; "learned"; None: learned where labels say little of
            each labeler, as rows are alike there in other models.

    Raises:
        ValueError: more than two classes, or symbols that are no classes.
    """
    classes = priors.class_prior.size
    if classes != 2 or (priors.classifier is not None and priors.classifier.shape[1] != 2):
        raise ValueError(
            f"the random-effect model is for two classes, these labels have {classes}; "
            'use dependence="shared_strata"'
        )
    check.choose("spread", spread or "fixed", ("fixed", "learned"))
    learned = priors.labelers_alike is not None if spread is None else spread == "learned"
    by_class, fixed = independent(priors, rows), priors.class_prior if priors.class_fixed else None
    labelers, nodes = len(priors.labelers), np.repeat([0, 1], effect.NODES)
    return Built(
        by_class.model,
        gold_offset(rows.gold, nodes),
        by_class.start_strata,
        lambda groups: (effect.KIND, effect.arrays_of(labelers, fixed, groups, learned)),
    )


def partly_shared(priors: Priors, rows: Rows) -> Built:
    """Easy samples, hard ones that the classifier does not feel, and hard ones that it feels."""
    if priors.classifier is None:
        raise ValueError("partly_shared is about a classifier, give y_pred; of labelers it is shared_strata")
    whole = shared_strata(priors, rows)
    classes, model = priors.class_prior.size, whole.model
    labelers_see = _states(classes, (_EASY, _HARD, _HARD))
    classifier_sees = _states(classes, (_EASY, _EASY, _HARD))
    labelers, classifier = model.raters
    raters: tuple[Raters, ...] = (
        labelers._replace(row_of_state=labelers.row_of_state[labelers_see]),
        classifier._replace(row_of_state=classifier.row_of_state[classifier_sees]),
    )
    easy, hard = model.stratum_prior.T
    split = model._replace(
        state_class=model.state_class[labelers_see],
        state_stratum=np.tile(np.arange(3), classes),
        stratum_prior=np.stack([easy, hard * (1 - _FELT), hard * _FELT], axis=1),
        raters=raters,
    )
    start = whole.start_strata[[_EASY, _HARD, _HARD]] * np.array([1.0, 1 - _FELT, _FELT])[:, None]
    return Built(split, whole.offset[labelers_see], start)


def _states(classes: int, strata: tuple[int, ...]) -> np.ndarray:
    """Of every new state, class after class, the state of `shared_strata` that it is like."""
    return (2 * np.arange(classes)[:, None] + np.array(strata)).ravel()


Build = Callable[[Priors, Rows], Built]
MODELS: dict[str, Build] = {
    "independent": independent,
    "shared_strata": shared_strata,
    "labeler_strata": labeler_strata,
    "random_effect": random_effect,
    "copying": copying,
}


class FixedShare(NamedTuple):
    """A model whose share of dependent samples (hard ones; copied predictions) is fixed."""

    model: str | Build
    dependent_share: float


def named_model(dependence: str | Build | FixedShare) -> tuple[Build, str, float | None]:
    """The function that builds it, its name, and the share that is fixed."""
    model, share = dependence if isinstance(dependence, FixedShare) else (dependence, None)
    if not isinstance(model, str):
        return model, getattr(model, "func", model).__name__, share  # a partial has no name
    check.choose("dependence", model, tuple(MODELS))
    return MODELS[model], model, share


def hold_share(model: LatentModel, share: float) -> LatentModel:
    """The model with the share of its second stratum held at a number, by a prior of a billion samples."""
    if model.num_strata != 2:
        raise ValueError("dependent_share needs a model with dependent samples: dependence='shared_strata'")
    if not 0 <= share < 1:
        raise ValueError(f"dependent_share is {share}; it must be at least 0 and below 1")
    weights = np.maximum([1 - share, share], 1e-9) * 1e9
    return model._replace(stratum_prior=np.tile(weights, (len(model.stratum_prior), 1)), held=True)


def _interleave(easy: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Rows easy 0, hard 0, easy 1, ..."""
    return np.stack([easy, hard], axis=1).reshape(-1, easy.shape[1])


def _raters(priors: Priors, row_of_labelers: np.ndarray, row_of_classifier: np.ndarray) -> list[Raters]:
    """Labelers, and the classifier if there is one, with one row for each class."""
    raters = [Raters(priors.labelers, row_of_labelers, alike=priors.labelers_alike)]
    if priors.classifier is not None:
        raters.append(Raters(priors.classifier[None], row_of_classifier, alike=priors.classifier_alike))
    return raters


def _model(priors: Priors, stratum_prior: np.ndarray, weight_row: np.ndarray, raters: list) -> LatentModel:
    classes, strata = priors.class_prior.size, stratum_prior.shape[1]
    return LatentModel(
        state_class=np.repeat(np.arange(classes), strata),
        state_stratum=np.tile(np.arange(strata), classes),
        class_prior=priors.class_prior,
        class_fixed=priors.class_fixed,
        weight_row=weight_row,
        stratum_prior=stratum_prior,
        raters=tuple(raters),
    )
