"""Losses are unbiased by enumeration of all label vectors, intervals cover, and errors name bad input."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import histograms as hist
from jtruth.histograms import Histograms, calibration, concentration
from jtruth.histograms.calibration import (
    MergedBins,
    bins_of,
    equal_width_edges,
    merged_by_class,
    merged_edges,
)
from jtruth.labels import Labels

Q, Z = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.1, 0.7])


def every_vector(n, q=Q):
    """Histograms of all label vectors of length n, and their probabilities."""
    vectors = np.array(list(itertools.product(range(len(q)), repeat=n)))
    counts = (vectors[:, :, None] == np.arange(len(q))).sum(axis=1)
    return hist.from_counts(counts), q[vectors].prod(axis=1)


@pytest.mark.parametrize("n", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 5))])
def test_losses_are_unbiased(n):
    h, p = every_vector(n)
    z = np.tile(Z, (len(p), 1))
    close = {"rtol": 1e-12}
    loss = (Q * ((np.eye(3) - Z) ** 2).sum(axis=1)).sum()
    np.testing.assert_allclose(p @ np.asarray(hist.squared_loss(h, z)).sum(axis=1), loss, **close)
    np.testing.assert_allclose(p @ np.asarray(hist.epistemic_loss(h, z)), (Q - Z) ** 2, **close)
    np.testing.assert_allclose(p @ np.asarray(hist.log_loss(h, z)), -Q * np.log(Z), **close)
    np.testing.assert_allclose(p @ np.asarray(hist.disagreement(h)), 1 - (Q**2).sum(), **close)
    plugin = p @ np.asarray(hist.epistemic_loss(h, z, debias=False))
    np.testing.assert_allclose(plugin, (Q - Z) ** 2 + Q * (1 - Q) / n, **close)


@pytest.mark.slow
def test_one_label_says_nothing_about_disagreement():
    h, z = hist.from_counts([[1, 0], [1, 1]]), np.full((2, 2), 0.5)
    assert np.isnan(np.asarray(hist.epistemic_loss(h, z))).tolist() == [[True] * 2, [False] * 2]
    assert np.isnan(np.asarray(hist.disagreement(h))).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"1 of 2 samples has fewer than 2 labels \(0\).*drop=True"):
        hist.loss_estimates(h, z)
    table = hist.loss_estimates(h, z, drop=True)
    assert "1 of 2 samples has fewer than 2 labels (0), left out." in table.notes
    np.testing.assert_allclose(table.estimates["squared_loss"].mean, 0.5)  # of both samples


@partial(jax.jit, static_argnames=("samples", "labels"))
def simulated(key, samples, labels, power):
    """A uniform truth of three classes, and predictions that are off by a power (1: perfect)."""
    first, second = jax.random.split(key)
    q = jax.random.dirichlet(first, jnp.ones(3), (samples,))
    draws = jax.random.categorical(second, jnp.log(q)[:, None], shape=(samples, labels))
    counts = jax.nn.one_hot(draws, 3, dtype=jnp.int32).sum(axis=1)
    z = q**power / (q**power).sum(axis=1, keepdims=True)
    return Histograms(counts, counts.sum(axis=1), labels), q, z


@pytest.mark.slow
def test_intervals_cover():
    """400 sets of 150 samples with 3 labels: 92.8 to 97.2 % of intervals hold the truth, 2 s.e."""
    edges = equal_width_edges(4)

    def one(key):
        h, _, z = simulated(key, 150, 3, 2.0)
        phi = concentration.disagreement_probability(z)
        values, _, _ = calibration.loss_values(h, z, edges, phi, debias="exact")
        return values

    values = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(5), 400))
    _, q, z = simulated(jax.random.key(6), 200_000, 3, 2.0)
    epistemic = ((q - z) ** 2).sum(axis=1).mean()
    expected = hist.calibration_loss(q, z, edges, debias="none").total
    truth = {"epistemic_loss": epistemic, "calibration_loss": expected,
             "dispersion_loss": epistemic - expected}  # fmt: skip
    for name, value in truth.items():
        mean, error = values[name]
        covered = np.mean(np.abs(mean - value) < 1.976 * error)  # t, 149 degrees of freedom
        assert 0.928 <= covered <= 0.972, (name, covered)
        ratio = error.mean() / mean.std()
        assert 0.85 < ratio < 1.2, (name, ratio)  # the error itself; a standard deviation of 400 has 3.5 %


def test_dispersion_agrees_with_loops():
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.ones(3), 60)
    h, z = hist.from_counts(rng.multinomial(4, q)), jnp.asarray(q**1.5 / (q**1.5).sum(axis=1, keepdims=True))
    edges = jnp.asarray([[0, 0.2, 0.6, 1], [0, 0.5, 0.7, 1], [0, 0.1, 0.3, 1.0]])
    phi = concentration.disagreement_probability(z)
    values, classes, _ = jax.jit(partial(calibration.loss_values, debias="exact"))(h, z, edges, phi)
    mu, p, total, dispersion = np.asarray(h.shares()), np.asarray(z), 0.0, 0.0
    for k in range(3):
        bins = np.digitize(p[:, k], edges[k][1:-1])
        for b in range(3):
            d = (mu - p)[bins == b, k]
            if len(d) > 1:
                pairs = sum(x * y for i, x in enumerate(d) for j, y in enumerate(d) if i != j)
                total += pairs / (len(d) - 1) / len(p)
            assert classes.count[k, b] == len(d)
        dispersion += ((mu - p)[:, k] ** 2 - mu[:, k] * (1 - mu[:, k]) / 3).mean()
    np.testing.assert_allclose(values["calibration_loss"][0], total, rtol=1e-10)
    np.testing.assert_allclose(values["dispersion_loss"][0], dispersion - total, rtol=1e-9)


FOUR = hist.from_counts([[2, 0], [1, 1], [0, 2], [2, 0]])


def test_bins():
    z = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.9, 0.1]])
    np.testing.assert_allclose(merged_edges(z[:, 0], np.linspace(0, 1, 11), 2), [0, 1])
    text = merged_by_class(z[:, :1], MergedBins(10, 2))[1]
    assert text == "10 bins were merged to 1, so that each has 2 samples or more."
    table = hist.loss_estimates(FOUR, z)
    assert "bins have one sample, a calibration loss of 0" in table.notes[-1]


@pytest.mark.parametrize("number", [15, 100])
def test_bins_of_few_and_of_many_edges_are_those_of_numpy(number):
    edges = np.linspace(0, 1, number + 1)
    z = np.concatenate([np.random.default_rng(0).random(200), edges])[:, None]
    by_hand = [np.flatnonzero(edges[:-1] <= value)[-1] for value in z[:, 0]]
    np.testing.assert_array_equal(np.asarray(bins_of(jnp.asarray(z), edges))[:, 0], by_hand)


@pytest.mark.slow
def test_few_samples_in_merged_bins_equal_those_bins_given():
    rng = np.random.default_rng(2)
    z = rng.dirichlet(np.ones(3), 8)
    h = hist.from_counts(rng.multinomial(4, np.ones(3) / 3, 8))
    table = hist.loss_estimates(h, z, bins=hist.MergedBins(15))
    said = [note for note in table.notes if "merged" in note]
    assert said[0].startswith("Class probabilities: 15 bins were merged to ") and said[1].startswith("Disagr")
    assert not any("have one sample" in note for note in table.notes)
    count = np.asarray(table.classes.count)
    assert count[count > 0].min() >= 2 and (count.sum(axis=1) == 8).all()
    total = 0.0
    for k in range(3):  # each class in its own merged bins
        edges = merged_edges(z[:, k], np.linspace(0, 1, 16), 2)
        one = hist.calibration_loss(np.asarray(h.shares())[:, [k]], z[:, [k]], edges, debias="exact")
        total += float(one.total)
    assert table.estimates["calibration_loss"].mean == pytest.approx(total, abs=1e-12)
    plenty = hist.loss_estimates(h, z, bins=hist.MergedBins(1))
    assert not any("merged" in note for note in plenty.notes)


@pytest.mark.parametrize("classes", [3, *(pytest.param(c, marks=pytest.mark.slow) for c in (2, 4))])
def test_the_second_order_part_of_the_error_by_pairs(classes):
    """2 / N^2 times the sum, over ordered pairs of samples, of the squared sum over bins that both are in."""
    rng = np.random.default_rng(classes)
    z, y = rng.dirichlet(np.ones(classes), 12), rng.dirichlet(np.ones(classes), 12)
    found = hist.calibration_loss(y, z, np.linspace(0, 1, 4), debias="exact")
    bins = np.minimum((z * 3).astype(int), 2)
    by_pairs = 0.0
    for i in range(12):
        for j in range(12):
            if i != j:
                by_pairs += sum(_shared(y - z, bins, i, j, k) for k in range(classes)) ** 2
    assert float(found.pair_variance) == pytest.approx(2 * by_pairs / 12**2, rel=1e-9)


def _shared(d, bins, i, j, k):
    """e_i e_j m / (m - 1)^2 where both are in one bin of class k, of m samples."""
    inside = np.flatnonzero(bins[:, k] == bins[i, k])
    if bins[i, k] != bins[j, k] or inside.size < 2:
        return 0.0
    e = d[:, k] - d[inside, k].mean()
    return e[i] * e[j] * inside.size / (inside.size - 1) ** 2


H, P = hist.from_counts([[2, 0], [1, 1]]), np.array([[0.5, 0.5], [0.2, 0.8]])
BAD = {
    "negative": (lambda: hist.from_counts([[1, 1], [2, -1]]), r"counts\[1, 1\] is -1"),
    "shares": (lambda: hist.from_counts([[0.5, 0.5]]), r"counts\[0, 0\] is 0.5 .*give counts, not shares"),
    "empty row": (lambda: hist.from_counts([[1, 1], [0, 0]]), "row 1 of counts is all 0"),
    "nan": (lambda: hist.from_counts([[1, np.nan]]), r"counts\[0, 1\] is nan"),
    "text": (lambda: hist.from_counts([["a", "b"]]), "counts must be numbers"),
    "unlabelled": (
        lambda: hist.from_labels(Labels.from_matrix([[0, 1], [-1, -1]], 2, allow_unlabelled=True)),
        "1 sample has no label",
    ),
    "sum": (lambda: hist.loss_estimates(H, P * 0.9), r"probabilities\[0\] sums to 0.9"),
    "outside": (lambda: hist.loss_estimates(H, [[1.2, -0.2], [0.5, 0.5]]), r"probabilities\[0, 0\] is 1.2"),
    "classes": (lambda: hist.loss_estimates(H, np.ones((2, 3)) / 3), "it must be .2 samples, 2 classes"),
    "rows": (lambda: hist.loss_estimates(H, P[:1]), r"shape \(1, 2\); it must be \(2 samples"),
    "all single": (lambda: hist.loss_estimates(hist.from_counts([[1, 0]]), P[:1]), "get a second label"),
    "edges": (lambda: hist.loss_estimates(H, P, bins=[0, 0.7, 0.5, 1]), "must not decrease"),
    "bins": (lambda: hist.loss_estimates(H, P, bins=0), "at least one bin"),
    "no label of a class": (
        lambda: hist.fit_calibrator(
            jax.random.key(0), hist.from_counts([[2, 0]]), np.full((1, 2), 0.5), method="vector"
        ),
        "no label of class 1 in the samples to fit on",
    ),
}


@pytest.mark.parametrize("call, message", BAD.values(), ids=BAD)
def test_bad_input(call, message, as_installed):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_impossible_label_is_said():
    z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    table = hist.loss_estimates(FOUR, z)
    said = "The log loss is infinite: sample 1 has a label of class 1, which was predicted with probability 0"
    assert f"{said} (1 such)." in table.notes
    assert "log_loss" not in table.estimates and table.plugin["log_loss"] == np.inf


@pytest.mark.slow
def test_residual_bias_of_14_and_its_removal():
    """A perfect predictor of two classes: (14) is off by minus the variance of z in the bins over N."""
    edges = equal_width_edges(2)

    def one(key):
        first, second = jax.random.split(key)
        q = jax.random.uniform(first, (30,))
        y = (jax.random.uniform(second, (30, 5)) < q[:, None]).sum(axis=1, dtype=jnp.int32)
        shares, z = jnp.stack([y, 5 - y], 1) / 5, jnp.stack([q, 1 - q], 1)
        return [hist.calibration_loss(shares, z, edges, debias=d).total for d in ("none", "paper", "exact")]

    draws = np.array(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 20_000)))
    mean, error = draws.mean(axis=1), draws.std(axis=1) / np.sqrt(20_000)
    within = 2 * 2 * (1 / 6) / 5 / 30  # classes, bins: E q (1 - q) / n, over N
    expected = np.array([within, -2 * 2 * (0.5**2 / 12) / 30, 0.0])
    assert (np.abs(mean - expected) < 4 * error).all(), (mean, expected, error)  # false alarms: 2e-4 of keys
