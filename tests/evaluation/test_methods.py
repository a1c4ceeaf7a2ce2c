"""All methods by noise, prior and gold, given or not: the named method runs, or is refused."""

from itertools import product

import numpy as np
import pytest

import jtruth as jt
from jtruth._host import majority
from jtruth.evaluation.methods import check_method
from jtruth.testing.methods import BINARY_METHODS

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, 40)
Z = np.where(RNG.random((40, 3)) < 0.8, Y[:, None], 1 - Y[:, None])
PRED = np.where(RNG.random(40) < 0.75, Y, 1 - Y)
LABELS, NOISE, PRIOR = jt.Labels.from_matrix(Z, 2), jt.noise.Symmetric(0.2, 2), [0.5, 0.5]
GOLD = np.where(np.arange(40) < 10, Y, -1)
LEARN = ("laplace", "plug_in", "smyth")  # known rates leave nothing to learn
METHODS = (*BINARY_METHODS, *LEARN, "majority_vote", "tars")


def asked(method, noise, prior, gold, labels=LABELS):
    given = {"noise": NOISE} if noise else {}
    given |= {"prior": PRIOR} if prior else {}
    given |= {"gold": GOLD} if gold else {}
    return jt.evaluate(PRED, labels, method=method, **given)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_answers_or_is_refused_by_what_is_given(method):
    check_method(method)
    for noise, prior, gold in product((False, True), repeat=3):
        refused = method in LEARN if noise else method == "tars"
        refused |= noise and not prior and method not in ("bayes", "majority_vote")
        if refused:
            with pytest.raises(ValueError, match=f"method='{method}'"):
                asked(method, noise, prior, gold)
        else:
            found = asked(method, noise, prior, gold)
            assert found.method == method and 0.4 < found.accuracy.mean < 1.1


def test_no_two_methods_are_the_same_answer_under_two_names():
    for noise in (False, True):
        means = {
            m: asked(m, noise, True, False).accuracy
            for m in METHODS
            if m not in ("labels", "smyth", "majority_vote", *(LEARN if noise else ("tars",)))
        }
        numbers = {name: (dist.mean, dist.sd) for name, dist in means.items()}
        for a, b in product(numbers, repeat=2):  # those of hard classes may agree
            assert a == b or numbers[a] != pytest.approx(numbers[b], abs=1e-6), (a, b, numbers[a])


def test_majority_vote_needs_nothing_learned_and_takes_gold():
    vote = majority(LABELS.counts())
    vote[GOLD >= 0] = np.eye(2)[GOLD[GOLD >= 0]]
    found = asked("majority_vote", False, False, True)
    assert found.accuracy.mean == pytest.approx(vote[np.arange(40), PRED].mean(), abs=1e-12)
    assert not any("plugged in" in text for text in found.warnings)
    one = jt.Labels.from_matrix(Z[:, :1], 2)  # error rates could not be learned
    assert asked("majority_vote", False, False, False, one).accuracy.mean == (Z[:, 0] == PRED).mean()
    assert any(
        "does not use the given noise and prior" in text
        for text in asked("majority_vote", True, True, False).warnings
    )


def test_no_predictions_does_not_see_them_where_rates_are_learned():
    same = {jt.evaluate(p, LABELS, method="no_predictions").prior[1] for p in (PRED, 1 - PRED)}
    assert len(same) == 1


@pytest.mark.parametrize("assume", ["shared_difficulty", "partly_shared"])
def test_an_assumption_is_used_or_refused(assume):
    two = {"a": PRED, "b": Z[:, 0]}
    known = {"noise": NOISE, "prior": PRIOR, "assume": assume}
    for call in (
        lambda: jt.evaluate(PRED, LABELS, **known),
        lambda: jt.compare_classifiers(two, LABELS, **known),
        lambda: jt.evaluate_scores(PRED + 0.1 * Z[:, 1], LABELS, **known),
        lambda: jt.evaluate(PRED, LABELS, method="plug_in", assume=assume),
        lambda: jt.evaluate(PRED, LABELS, method="laplace", assume=assume),
    ):
        with pytest.raises(ValueError, match="assume"):
            call()


def test_tars_of_three_classes_needs_the_prior_too():
    labels = jt.Labels.from_matrix(np.concatenate([Z, Z[:, :1] * 2], axis=1), 3)
    with pytest.raises(ValueError, match="needs the class prior"):
        jt.evaluate(PRED, labels, method="tars", noise=jt.noise.Symmetric(0.2, 3))


def test_a_batch_refuses_what_a_method_would_not_use():
    y, z, noise = PRED[None], Z[None], np.full((3, 2, 2), 0.2) + 0.6 * np.eye(2)
    for method, given in product(
        ("bayes", "empirical_bayes", "em", "joint", "independent"), product((0, 1), repeat=2)
    ):
        known = ({"noise": noise} if given[0] else {}) | ({"prior": np.array(PRIOR)} if given[1] else {})
        if given != ((1, 1) if method in ("bayes", "empirical_bayes") else (0, 0)):
            with pytest.raises(ValueError, match=f"method='{method}'"):
                jt.evaluate_batch(y, z, method=method, **known)
