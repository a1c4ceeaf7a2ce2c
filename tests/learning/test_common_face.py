"""Requirements of every consensus method, for each entry of `jtruth.learning.methods.METHODS`.

All tests use one crowd (24 samples, 5 labelers, two classes; a second one of three classes), so that a method
compiles few programs here. A method that cannot use a crowd has a reason in `refuses`, which is its error.
"""

import pickle
from dataclasses import replace

import jax
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import Fit, begin_stream, check_consistency, fit_joint, update
from jtruth.learning.methods import METHODS, fit_majority_vote, method_called
from jtruth.noise import NoiseModel
from tests.learning.crowds import from_matrix, simulate

SIZE, LABELERS = 24, 5
NAMES = list(METHODS)
OF_LONG_FORM = {"one_coin", "difficulty_fallibility", "welinder"}  # read and climbed as "glad" is


def quick(*slow):
    """All methods, some left to the slow tests; "hierarchical" samples, and has tests of its own."""
    slow = {"hierarchical", *slow}
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in NAMES]


def crowd(classes):
    """Labels and true classes: labelers are right about nine times in ten, some labels are missing."""
    z, y = simulate(5, SIZE, LABELERS, classes, accuracy=0.85, present=0.85)
    return from_matrix(z, classes), y


@pytest.fixture(scope="module")
def fitted():
    """`fitted(name, classes)`: labels, true classes and the fit, None where the method refuses the crowd."""
    made = {}

    def fit(name, classes=2):
        if (name, classes) not in made:
            labels, y = crowd(classes)
            able = METHODS[name].refuses(labels) is None
            made[name, classes] = (
                labels,
                y,
                METHODS[name].fit(labels, key=jax.random.key(0)) if able else None,
            )
        return made[name, classes]

    return fit


def again(name, labels, **given):
    return METHODS[name].fit(labels, key=jax.random.key(0), **given)


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", quick())
def test_what_comes_back(fitted, name, classes):
    labels, y, fit = fitted(name, classes)
    if fit is None:
        with pytest.raises(ValueError) as error:
            again(name, labels)
        assert METHODS[name].refuses(labels) in str(error.value)
        return
    assert isinstance(fit, Fit)
    assert fit.prior.shape == (classes,) and fit.class_posterior.shape == (SIZE, classes)
    assert fit.prior.dtype == fit.class_posterior.dtype == np.float64
    np.testing.assert_allclose(fit.class_posterior.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(fit.prior.sum(), 1, atol=1e-12)
    assert (fit.class_posterior >= 0).all() and (fit.prior >= 0).all()
    assert type(fit.converged) is bool and fit.converged and type(fit.num_steps) is int
    assert type(fit.log_likelihood) is float and (np.isnan(fit.log_likelihood) or fit.log_likelihood < 0)
    assert type(fit.warnings) is tuple and all(text.endswith(".") for text in fit.warnings)
    # Five labelers of .85 + .15 / C: exchanged classes would leave less than half right.
    assert (fit.class_posterior.argmax(axis=1) == y).mean() > 0.8


@pytest.mark.parametrize("name", quick())
def test_a_noise_model_where_noise_is_estimated(fitted, name):
    labels, _, fit = fitted(name)
    if not METHODS[name].estimates_noise:
        with pytest.raises(ValueError, match="this fit has no error rates"):
            fit.noise_model()
    if METHODS[name].estimates_noise:
        model = fit.noise_model()
        assert isinstance(model, NoiseModel)
        given = model.log_likelihood(labels)
        assert given.shape == (SIZE, 2) and not np.isnan(given).any()


def test_what_only_one_method_says_is_read_like_a_field(fitted):
    fit = fitted("dawid_skene")[2]
    assert fit.matrices is fit.own["matrices"] and "matrices" in dir(fit) and not hasattr(fit, "ability")
    with pytest.raises(AttributeError, match=r"no 'ability'; it has prior, .*, matrices, row_labels"):
        _ = fit.ability
    again = pickle.loads(pickle.dumps(fit))
    assert type(again) is type(fit) and again.warnings == fit.warnings
    np.testing.assert_array_equal(again.matrices, fit.matrices)


def named(name, labels, classes=2, **given):
    """The error that a method raises for what it is given."""
    with pytest.raises(ValueError) as error:
        METHODS[name].fit(labels, **({"key": jax.random.key(0)} | given))
    return str(error.value)


REFUSED = {
    "a matrix": ({"labels": np.zeros((3, 2), int)}, "labels is a ndarray; it looks like a label matrix"),
    "no label": ({"labels": from_matrix(np.full((4, 3), -1), 2)}, "labels has no label"),
    "short gold": ({"gold": np.array([0, 1])}, "gold must have shape (24,)"),
    "gold of no class": ({"gold": np.full(SIZE, 2)}, "gold[0] is 2 (24 such"),
    "gold of decimals": ({"gold": np.zeros(SIZE)}, "gold must hold class codes 0 to 1; got dtype float64"),
}
BAD_PRIORS = {
    "long prior": ({"prior": [0.2, 0.3, 0.5]}, "prior has shape (3,) but there are 2 classes"),
    "prior that sums to 1.1": ({"prior": [0.6, 0.5]}, "prior sums to 1.1"),
    "negative prior": ({"prior": [-0.5, 1.5]}, "prior[0] is -0.5"),
    "gold of prior 0": (
        {"prior": [0.0, 1.0], "gold": np.zeros(SIZE, int)},
        "a class has prior 0 but occurs in gold",
    ),
}


OTHERS = {  # learners that are no consensus method of the table
    "joint": fit_joint,
}


@pytest.mark.parametrize("case", REFUSED | BAD_PRIORS)
@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_the_same_is_refused_by_the_same_sentence(name, case, as_installed):
    given, sentence = (REFUSED | BAD_PRIORS)[case]
    with pytest.raises(ValueError) as error:
        (OTHERS | {n: METHODS[n].fit for n in NAMES})[name](**({"labels": crowd(2)[0]} | given))
    assert sentence in str(error.value)


def test_a_stream_refuses_what_are_no_labels(as_installed):
    with pytest.raises(ValueError, match="labels is a ndarray"):
        begin_stream(np.zeros((3, 2), int))
    state = begin_stream(crowd(2)[0].with_names(tasks=range(SIZE), workers=range(LABELERS)))
    with pytest.raises(ValueError, match="new_labels is a list"):
        update(state, [[0, 1]])


# The maximum of minimax entropy with a prior is in test_modes.
@pytest.mark.parametrize("name", quick("minimax_entropy", *OF_LONG_FORM))
def test_a_prior_has_a_say_or_is_refused(fitted, name):
    labels, _, _ = fitted(name)
    if not METHODS[name].takes_prior:
        assert "leave prior out" in named(name, labels, prior=[0.5, 0.5])
        return
    known = again(name, labels, prior=[0.9, 0.1])
    np.testing.assert_allclose(known.prior, [0.9, 0.1])
    assert (
        known.class_posterior[:, 0].sum() > again(name, labels, prior=[0.1, 0.9]).class_posterior[:, 0].sum()
    )


@pytest.mark.parametrize("name", quick())
def test_order_of_samples_labelers_and_classes_has_no_say(fitted, name):
    labels, _, fit = fitted(name)
    rng = np.random.default_rng(1)
    # Means over draws of 400 and more that count: the two differ by less than .035 (sd), mostly far less.
    atol = 0.15 if METHODS[name].draws else 1e-6
    sample, labeler = rng.permutation(SIZE), rng.permutation(LABELERS)
    swapped = again(name, replace(labels, sample=sample[labels.sample]))
    np.testing.assert_allclose(swapped.class_posterior[sample], fit.class_posterior, atol=atol)
    swapped = again(name, replace(labels, labeler=labeler[labels.labeler]))
    np.testing.assert_allclose(swapped.class_posterior, fit.class_posterior, atol=atol)
    swapped = again(name, replace(labels, label=1 - labels.label))
    np.testing.assert_allclose(swapped.class_posterior[:, ::-1], fit.class_posterior, atol=atol)


@pytest.mark.parametrize("name", quick())
def test_an_entry_without_label_says_nothing(fitted, name):
    labels, _, fit = fitted(name)
    more = Labels(
        np.append(labels.sample, [0, 7]),
        np.append(labels.labeler, [1, 2]),
        np.append(labels.label, [-1, -1]),
        SIZE,
        LABELERS,
        2,
    )
    np.testing.assert_allclose(again(name, more).class_posterior, fit.class_posterior, atol=1e-9)


@pytest.mark.parametrize("name", quick())
def test_gold_stays_what_it_is(fitted, name):
    labels, y, fit = fitted(name)
    gold = np.where(np.arange(SIZE) % 4 == 0, y, -1)
    gold[0] = 1 - y[0]  # against most votes
    known = again(name, labels, gold=gold)
    told = gold >= 0
    np.testing.assert_array_equal(known.class_posterior[told], np.eye(2)[gold[told]])
    assert (known.class_posterior[~told].argmax(axis=1) == y[~told]).mean() > 0.75
    nothing = again(name, labels, gold=np.full(SIZE, -1))
    np.testing.assert_allclose(nothing.class_posterior, fit.class_posterior, atol=1e-9)


@pytest.mark.parametrize("name", quick())
def test_labels_that_are_all_equal_give_that_class(name):
    """Nobody ever gives the other class: every method says so, or gives the class; none divides by 0."""
    labels = from_matrix(np.where(crowd(2)[0].to_matrix() >= 0, 1, -1), 2)
    reason = METHODS[name].refuses(labels)
    if reason is not None:
        assert reason in named(name, labels)
        return
    fit = again(name, labels)
    assert np.isfinite(fit.class_posterior).all() and np.isfinite(fit.prior).all()
    assert (fit.class_posterior.argmax(axis=1) == 1).all()
    assert not METHODS[name].estimates_noise or isinstance(fit.noise_model(), NoiseModel)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_labeler_without_labels_changes_nothing(fitted, name):
    """He is kept, in his place, and nobody else's answer moves."""
    labels, _, fit = fitted(name)
    more = again(name, replace(labels, labeler=labels.labeler + 1, num_labelers=LABELERS + 1))
    atol = 0.15 if METHODS[name].draws else 1e-6  # as for permuted labelers
    np.testing.assert_allclose(more.class_posterior, fit.class_posterior, atol=atol)
    if METHODS[name].estimates_noise:
        assert more.noise_model().num_labelers == LABELERS + 1


# Sampling goes on long where a class is without labels: 10 seconds.
@pytest.mark.parametrize("name", quick("minimax_entropy", *OF_LONG_FORM))
def test_a_class_that_nobody_gives_is_no_answer(fitted, name):
    labels = replace(crowd(2)[0], num_classes=3)
    if (reason := METHODS[name].refuses(labels)) is not None:
        assert reason in named(name, labels)
        return
    fit = again(name, labels)
    assert np.isfinite(fit.class_posterior).all() and np.isfinite(fit.prior).all()
    assert fit.class_posterior.shape == (SIZE, 3) and fit.class_posterior.mean(axis=0).argmin() == 2
    assert (fit.class_posterior.argmax(axis=1) != 2).all()


def test_an_unknown_method_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"method='vote' is not available; choose one of majority_vote, "):
        method_called("vote")
    assert all(name == method.name and not method.sentence.endswith(".") for name, method in METHODS.items())


def test_majority_vote_is_the_share_of_votes():
    labels = Labels.from_matrix(
        [[0, 1, 1, 2], [2, 2, -1, -1], [0, 1, -1, -1], [-1, -1, -1, -1]], 3, allow_unlabelled=True
    )
    shares = [[0.25, 0.5, 0.25], [0, 0, 1], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(fit_majority_vote(labels).class_posterior, shares, rtol=1e-15)
    fit = fit_majority_vote(labels, gold=np.array([-1, 0, 1, 2]))
    np.testing.assert_allclose(fit.class_posterior, [shares[0], *np.eye(3)], rtol=1e-15)


def test_conditions_of_consistency():
    """A labeler at chance, one without labels, an even prior with fewer than three to compare."""
    good, chance = np.array([[0.9, 0.1], [0.2, 0.8]]), np.full((2, 2), 0.5)
    number = np.array([200, 200, 0])
    found = check_consistency(
        np.array([0.7, 0.3]), np.stack([good, chance, chance]), number, num_samples=200, workers="abc"
    )
    assert len(found) == 1 and found[0].startswith("Labelers 'b' are not clearly better than chance")
    even = check_consistency(np.array([0.5, 0.5]), np.stack([good] * 2), number[:2], num_samples=200)
    assert len(even) == 1 and "The class prior is even" in even[0]
    assert not check_consistency(np.array([0.5, 0.5]), np.stack([good] * 3), np.full(3, 200), num_samples=200)
