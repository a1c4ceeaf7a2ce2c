"""Dawid-Skene: gold labels, priors, restarts, warnings, and input that cannot be used."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import Smoothing, Starts, fit_dawid_skene
from tests.learning.crowds import anaesthetists, from_matrix, simulate

# --------------------------------------------------------------------------------------- gold, start, prior


def test_swapped_classes_are_reported():
    # Labelers who are wrong four times out of five: majority vote takes every class for the other one, and
    # labels alone cannot tell. Gold labels put the names right, and then the matrices show it.
    z, y = simulate(10, size=300, labelers=3, classes=2, accuracy=0.0, present=1.0)
    z = np.where(np.random.default_rng(1).random(z.shape) < 0.8, 1 - y[:, None], y[:, None])
    fit = fit_dawid_skene(from_matrix(z, 2), gold=np.where(np.arange(300) < 60, y, -1))
    assert any("look swapped" in w for w in fit.warnings)
    assert not any("look swapped" in w for w in fit_dawid_skene(from_matrix(z, 2)).warnings)


def test_random_restarts():
    labels = anaesthetists()
    first = fit_dawid_skene(labels)
    fit = fit_dawid_skene(labels, starts=Starts(20), key=jax.random.key(3))
    again = fit_dawid_skene(labels, starts=Starts(20), key=jax.random.key(3))
    other = fit_dawid_skene(labels, starts=Starts(20), key=jax.random.key(4))
    assert fit.start_objectives.shape == (21,)
    assert fit.start_objectives[0] == first.log_posterior
    assert fit.log_posterior == fit.start_objectives[fit.start] >= fit.start_objectives.max() - 1e-5
    assert fit.start > 0  # this table has maxima higher than the one next to majority vote
    assert fit.log_posterior > first.log_posterior + 0.1
    assert fit.path.size == fit.num_steps and fit.path[-1] == fit.log_posterior
    np.testing.assert_array_equal(fit.start_objectives, again.start_objectives)
    np.testing.assert_array_equal(fit.class_posterior, again.class_posterior)
    assert not np.array_equal(fit.start_objectives, other.start_objectives)


def test_a_restart_at_the_same_maximum_does_not_win():
    z, y = simulate(11, size=300, labelers=6, present=1.0)
    fit = fit_dawid_skene(from_matrix(z), starts=Starts(8), key=jax.random.PRNGKey(0))
    np.testing.assert_allclose(fit.start_objectives.max(), fit.start_objectives[0], rtol=1e-9)
    assert fit.start == 0
    assert (fit.class_posterior.argmax(axis=1) == y).mean() > 0.95


# ------------------------------------------------------------------------------------- warnings and errors


def test_doubts_are_said():
    z = np.array([[0, 0, -1], [1, 1, -1], [0, -1, -1], [-1, -1, -1]])
    labels = Labels(*np.array([(i, t, z[i, t]) for i in range(4) for t in range(3)]).T, 4, 3, 3)
    fit = fit_dawid_skene(labels)
    said = " ".join(fit.warnings)
    for part in (
        "1 samples have no label",
        "more than two labels",
        "No sample seems to be of class 2",
        "(2, 0)",
        "uniform and mean nothing",
        "5 labels for 18 free numbers",
    ):
        assert part in said
    np.testing.assert_allclose(fit.class_posterior[3], fit.prior)
    smooth = " ".join(fit_dawid_skene(labels, smoothing=Smoothing(1, 1)).warnings)
    assert "pseudo-counts" in smooth and "free numbers" not in smooth
    named = labels.with_names(classes=["no", "yes", "odd"])
    assert any("class 'odd'" in w for w in fit_dawid_skene(named).warnings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gold": np.array([0] * 59 + [-2])}, r"gold\[59\] is -2"),
        ({"prior": np.full(3, 1 / 3), "smoothing": Smoothing(prior=1)}, "held fixed"),
        ({"smoothing": Smoothing(-0.1)}, "smoothing.diagonal"),
        ({"smoothing": Smoothing(prior=np.nan)}, "smoothing.prior"),
        ({"starts": Starts(-1)}, "num_restarts"),
        ({"max_steps": 0}, "max_steps"),
        ({"tol": np.nan}, "tol"),
    ],
)
def test_unusable_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        fit_dawid_skene(from_matrix(simulate(0)[0]), **options)


def test_unusable_labels():
    one = np.zeros(1, np.int32)
    for name, value in (("sample", 3), ("labeler", 2), ("label", 2), ("label", -2)):
        entries = {"sample": one, "labeler": one, "label": one, name: one + value}
        bad = Labels(
            *(np.append(v, 0) for v in entries.values()), num_samples=3, num_labelers=2, num_classes=2
        )
        with pytest.raises(ValueError, match=rf"{name}\[0\] of these Labels is {value}"):
            fit_dawid_skene(bad)


def test_noise_model_carries_the_fit():
    labels = from_matrix(simulate(17)[0])
    fit = fit_dawid_skene(labels)
    log_joint = np.asarray(fit.noise_model().log_likelihood(labels)) + np.log(fit.prior)
    total = np.logaddexp.reduce(log_joint, axis=1)
    assert total.sum() == pytest.approx(fit.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(np.exp(log_joint - total[:, None]), fit.class_posterior, atol=1e-12)


def test_pseudo_counts_are_added_to_the_counts_and_one_label_is_enough_to_have_learned_a_row():
    """All classes known: (count + pseudo-count) / sum, by hand; labeler 1 never saw class 1."""
    y = np.array([0, 0, 0, 1, 1, 0])
    z = np.array([[0, 0], [0, 1], [1, 0], [1, -1], [-1, -1], [-1, 0]])
    labels = Labels.from_matrix(z, 2, allow_unlabelled=True)
    smoothing = Smoothing(diagonal=2.0, off_diagonal=0.5, prior=3.0)
    fit = fit_dawid_skene(labels, gold=jnp.asarray(y), smoothing=smoothing)
    pseudo = np.array([[2.0, 0.5], [0.5, 2.0]])
    for t, counts in enumerate(([[2, 1], [0, 1]], [[3, 1], [0, 0]])):
        expected = np.array(counts) + pseudo
        np.testing.assert_allclose(fit.matrices[t], expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(fit.prior, np.array([7.0, 5.0]) / 12, rtol=1e-9)
    doubts = [text for text in fit.warnings if "rest on no label" in text]
    assert len(doubts) == 1 and doubts[0].startswith("1 ")
