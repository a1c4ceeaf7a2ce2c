"""Dawid-Skene EM: known tables, plain loops, invariances, gold, priors, restarts, warnings, bad input."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jtruth import _host
from jtruth.labels import Labels
from jtruth.learning import Smoothing, columns_from_labels, fit_dawid_skene
from tests.learning.crowds import anaesthetists, as_counts, caries, from_matrix, real_set, simulate
from tests.reference import dawid_skene as oracle

# ------------------------------------------------------------------------------------------ known tables


def test_caries_table():
    fit = fit_dawid_skene(caries())
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(-7465.3847, abs=5e-5)
    assert fit.prior[1] == pytest.approx(0.19607, abs=5e-6)
    np.testing.assert_allclose(fit.matrices[:, 1, 1], [0.4033, 0.7129, 0.5981, 0.4888, 0.9155], atol=5.1e-5)
    np.testing.assert_allclose(fit.matrices[:, 0, 1], [0.0106, 0.1020, 0.0136, 0.0316, 0.3053], atol=5.1e-5)
    assert fit.warnings == ()


def test_anaesthetists_table():
    fit = fit_dawid_skene(anaesthetists())
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(-192.8909, abs=5e-5)
    np.testing.assert_allclose(fit.prior, [0.3996, 0.4220, 0.1118, 0.0667], atol=5.1e-5)


# ------------------------------------------------------------------------------- the paper, in plain loops


@pytest.mark.parametrize("how", ["plain", "gold", "smoothing", "prior", "repeats"])
def test_every_step_is_the_papers(how):
    z, y = simulate(1, size=25, labelers=4)
    labels = from_matrix(z)
    gold = np.where(np.arange(25) % 4 == 0, y, -1) if how == "gold" else None
    prior = [0.5, 0.2, 0.3] if how == "prior" else None
    smoothing = Smoothing(0.7, 0.2, 1.5) if how == "smoothing" else Smoothing()
    pseudo = np.where(np.eye(3) > 0, smoothing.diagonal, smoothing.off_diagonal)
    if how == "repeats":  # labeler 0 says the same again, and labeler 2 contradicts itself on sample 3
        more = (np.array([0, 3, 3]), np.array([0, 2, 2]), np.array([z[0, 0], 1, 2]))
        entries = (labels.sample, labels.labeler, labels.label)
        labels = Labels(*(np.append(a, b) for a, b in zip(entries, more, strict=True)), 25, 4, 3)
    p, pi, T, path = oracle.em(
        as_counts(labels), steps=12, gold=gold, pseudo=pseudo, pseudo_prior=smoothing.prior, prior=prior
    )
    fit = fit_dawid_skene(
        labels,
        gold=gold,
        smoothing=smoothing,
        prior=None if prior is None else np.array(prior),
        max_steps=12,
        tol=0.0,
    )
    np.testing.assert_allclose(fit.prior, p, rtol=1e-11)
    np.testing.assert_allclose(fit.matrices, pi, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(fit.class_posterior, T, rtol=1e-9, atol=1e-13)
    assert fit.log_likelihood == pytest.approx(path[-1], rel=1e-12)
    assert not fit.converged and fit.num_steps == 12 and "did not converge" in fit.warnings[0]
    if how == "smoothing":
        log_prior = (pseudo * np.log(pi)).sum() + (smoothing.prior * np.log(p)).sum()
        assert fit.log_posterior == pytest.approx(path[-1] + log_prior, rel=1e-12)
    else:
        np.testing.assert_allclose(fit.path, path, rtol=1e-12)
        assert fit.log_posterior == fit.log_likelihood


# -------------------------------------------------------------------------------------------- invariances


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from([0.5, 1.0]))
def test_objective_never_falls_and_rows_sum_to_one(seed, classes, present):
    # Hardly two samples are equal, and one has all ten labels: two programs serve all examples.
    z, y = simulate(seed, 40, 10, classes, accuracy=0.5, present=present)
    z[0] = y[0]
    labels = from_matrix(z, classes)
    fit = fit_dawid_skene(labels, smoothing=Smoothing(0.2, 0.1, 0.3), max_steps=100)
    assert np.diff(fit.path).min(initial=0) > -1e-11
    assert fit.log_posterior == fit.path[-1]
    for rows in (fit.prior, fit.matrices, fit.class_posterior):
        np.testing.assert_allclose(rows.sum(axis=-1), 1, atol=1e-12)
    np.testing.assert_allclose(fit.row_labels.sum(), (labels.label >= 0).sum())


def test_missing_entries_and_unused_labelers_change_nothing():
    z, _ = simulate(5)
    old = fit_dawid_skene(from_matrix(z))
    sample, labeler = np.indices(z.shape)
    written_out = Labels(sample.ravel(), labeler.ravel(), z.ravel(), 60, 7, 3)  # -1 entries, labelers 5 and 6
    new = fit_dawid_skene(written_out)
    np.testing.assert_allclose(new.class_posterior, old.class_posterior, atol=1e-12)
    np.testing.assert_array_equal(new.matrices[5:], np.full((2, 3, 3), 1 / 3))
    assert new.log_likelihood == pytest.approx(old.log_likelihood, rel=1e-13)
    assert any("have no label: " in w and "(5, 0)" in w for w in new.warnings)


@pytest.mark.slow
def test_samples_with_many_more_labels_than_the_rest():
    # 3 samples have 80 labels, 97 have 2: rows of 80 would be 18 cells a label, so samples take several rows.
    z, y = simulate(6, size=100, labelers=80, present=1.0)
    keep = np.random.default_rng(0).random(z.shape).argsort(axis=1) < 2
    z = np.where(keep | (np.arange(100) < 3)[:, None], z, -1)
    columns, _ = columns_from_labels(from_matrix(z))
    assert columns.sample is not None
    assert columns.code.size < 4 * (z >= 0).sum()
    gold = np.where(np.arange(100) % 3 == 0, y, -1)
    fit = fit_dawid_skene(from_matrix(z), gold=gold, smoothing=Smoothing(1.0, 0.5), max_steps=15, tol=0.0)
    pseudo = np.where(np.eye(3) > 0, 1.0, 0.5)
    p, pi, T, _ = oracle.em(as_counts(from_matrix(z)), steps=15, gold=gold, pseudo=pseudo)
    np.testing.assert_allclose(fit.prior, p, rtol=1e-10)
    np.testing.assert_allclose(fit.matrices, pi, rtol=1e-9)
    np.testing.assert_allclose(fit.class_posterior, T, atol=1e-10)


@pytest.mark.slow
def test_thousands_of_labels_on_one_sample_do_not_underflow():
    # The product of 1500 probabilities is 0 in float64; its log is not.
    z, y = simulate(7, size=12, labelers=1500, classes=2, accuracy=0.2, present=1.0)
    fit = fit_dawid_skene(from_matrix(z, 2), smoothing=Smoothing(1.0, 1.0))
    assert np.isfinite(fit.log_likelihood) and fit.log_likelihood < -12 * 700
    assert (fit.class_posterior.argmax(axis=1) == y).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "majority", "dawid_skene"),
    [("bluebirds", 0.7593, 0.8981), ("rte", 0.8969, 0.9275), ("dogs", 0.8222, 0.8426)],
)
def test_public_sets(shared_data, name, majority, dawid_skene):
    labels, truth = real_set(shared_data(name))
    winner = _host.majority(labels.counts())
    assert winner[np.arange(truth.size), truth].mean() == pytest.approx(majority, abs=5.1e-5)
    fit = fit_dawid_skene(labels, smoothing=Smoothing(0.01, 0.01))
    assert fit.converged
    assert (fit.class_posterior.argmax(axis=1) == truth).mean() == pytest.approx(dawid_skene, abs=5.1e-5)


# --------------------------------------------------------------------------------------- gold, start, prior


def test_swapped_classes_are_reported():
    # Labelers who are wrong four times out of five: majority vote takes every class for the other one, and
    # labels alone cannot tell. Gold labels put the names right, and then the matrices show it.
    z, y = simulate(10, size=300, labelers=3, classes=2, accuracy=0.0, present=1.0)
    z = np.where(np.random.default_rng(1).random(z.shape) < 0.8, 1 - y[:, None], y[:, None])
    fit = fit_dawid_skene(from_matrix(z, 2), gold=np.where(np.arange(300) < 60, y, -1))
    assert any("look swapped" in w for w in fit.warnings)
    assert not any("look swapped" in w for w in fit_dawid_skene(from_matrix(z, 2)).warnings)


# ------------------------------------------------------------------------------------- warnings and errors


def test_random_restarts():
    labels = anaesthetists()
    first = fit_dawid_skene(labels)
    fit, again, other = (fit_dawid_skene(labels, num_restarts=20, key=key) for key in (3, 3, 4))
    assert fit.start_objectives.shape == (21,) and fit.start_objectives[0] == first.log_posterior
    assert fit.log_posterior >= fit.start_objectives.max() - 1e-5
    assert fit.log_posterior > first.log_posterior + 0.1  # higher than the maximum next to majority vote
    assert fit.path.size == fit.num_steps and fit.path[-1] == fit.log_posterior
    np.testing.assert_array_equal(fit.start_objectives, again.start_objectives)
    np.testing.assert_array_equal(fit.class_posterior, again.class_posterior)
    assert not np.array_equal(fit.start_objectives, other.start_objectives)
    with pytest.raises(ValueError, match="num_restarts"):
        fit_dawid_skene(labels, num_restarts=-1)


def test_a_restart_at_the_same_maximum_does_not_win():
    z, y = simulate(11, size=300, labelers=6, present=1.0)
    fit = fit_dawid_skene(from_matrix(z), num_restarts=8)
    np.testing.assert_allclose(fit.start_objectives.max(), fit.start_objectives[0], rtol=1e-9)
    assert fit.log_posterior == fit.start_objectives[0]
    assert (fit.class_posterior.argmax(axis=1) == y).mean() > 0.95


def test_doubts_are_said():
    z = np.array([[0, 0, -1], [1, 1, -1], [0, -1, -1], [-1, -1, -1]])
    labels = Labels(*np.array([(i, t, z[i, t]) for i in range(4) for t in range(3)]).T, 4, 3, 3)
    fit = fit_dawid_skene(labels)
    said = " ".join(fit.warnings)
    for part in (
        "1 sample has no label",
        "more than two labels",
        "Class 2 is estimated to have no sample",
        "(2, 0)",
        "uniform and uninformative",
        "5 labels for 18 parameters",
    ):
        assert part in said
    np.testing.assert_allclose(fit.class_posterior[3], fit.prior)
    smooth = " ".join(fit_dawid_skene(labels, smoothing=Smoothing(1, 1)).warnings)
    assert "pseudo-counts" in smooth and "parameters" not in smooth
    named = labels.with_names(classes=["no", "yes", "odd"])
    assert any("Class 'odd'" in w for w in fit_dawid_skene(named).warnings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gold": np.array([0] * 59 + [-2])}, r"gold\[59\] is -2"),
        ({"prior": np.full(3, 1 / 3), "smoothing": Smoothing(prior=1)}, "prior is fixed"),
        ({"smoothing": Smoothing(-0.1)}, "smoothing.diagonal"),
        ({"smoothing": Smoothing(prior=np.nan)}, "smoothing.prior"),
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
    doubts = [text for text in fit.warnings if "have no label: " in text]
    assert len(doubts) == 1 and doubts[0].startswith("1 ")
