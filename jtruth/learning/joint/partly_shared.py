"""Partly shared difficulty: labelers show that some samples are hard; how many of them the classifier feels?

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

That this one line could be the answer was measured and is not so: it covers less. It answers to
assume="partly_shared".
"""

import numpy as np

from jtruth.latent.model import Raters
from jtruth.latent.rows import Rows
from jtruth.learning.joint.models import Built, Priors, shared_strata

FELT = 0.5  # prior mean of rho; learned on 14 public sets it was .3 to .6
_EASY, _HARD = 0, 1


def partly_shared(priors: Priors, rows: Rows, *, felt: float = FELT) -> Built:
    """Easy samples, hard ones that the classifier does not feel, and hard ones that it feels.

    Args:
        priors, rows: as for the models of `jtruth.learning.joint.models`.
        felt: prior mean of rho, between 0 and 1.

    Raises:
        ValueError: `felt` is not between 0 and 1, or there is no classifier, of whom rho is.
    """
    if not 0 < felt < 1:
        raise ValueError(f"felt is {felt}; it must be above 0 and below 1: the ends are other models")
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
        stratum_prior=np.stack([easy, hard * (1 - felt), hard * felt], axis=1),
        raters=raters,
    )
    start = whole.start_strata[[_EASY, _HARD, _HARD]] * np.array([1.0, 1 - felt, felt])[:, None]
    return Built(split, whole.offset[labelers_see], start)


def _states(classes: int, strata: tuple[int, ...]) -> np.ndarray:
    """Of every new state, class after class, the state of `shared_strata` that it is like."""
    return (2 * np.arange(classes)[:, None] + np.array(strata)).ravel()
