"""Su 5.1: every distribution of the simulator, by exact probabilities and by batches of data sets."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from jtruth.posterior import class_posterior
from jtruth.simulation import (
    Simulated,
    sample_difficulty,
    sample_participation,
    simulate,
    simulate_difficulty_fallibility,
    to_labels,
)

PRIOR = np.array([0.8, 0.2])
CONFUSION = np.array([[0.7, 0.3], [0.2, 0.8]])  # p_FA = .3, p_D = .8, the main example


def participation_by_loops(eta):
    """Probability of every set of labelers, given that it is not empty."""
    sets = np.array(list(itertools.product((0, 1), repeat=len(eta))))
    p = np.where(sets, eta, 1 - np.array(eta)).prod(axis=1)
    p[0] = 0.0  # nobody
    return p / p.sum()


def follows(counts, dist):
    """What is impossible never happens, and the rest as often as the distribution says, by chi-square."""
    possible = dist > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        assert scipy.stats.chisquare(counts[possible], counts.sum() * dist[possible]).pvalue >= 1e-4


@pytest.mark.parametrize("eta", [[0.3, 0.6, 0.1], [0.02, 0.01, 0.03], [0.0, 0.5, 1.0], [1.0, 0.2, 0.0]])
def test_participation_dist(eta):
    """Chi-square over all sets of labelers against the distribution of redrawing; false alarm 1e-4 each."""
    mask = np.asarray(sample_participation(jax.random.key(1), np.array(eta), 50_000))
    assert mask.any(axis=1).all()
    counts = np.bincount(mask @ 2 ** np.arange(len(eta))[::-1], minlength=2 ** len(eta))
    follows(counts, participation_by_loops(eta))


def test_a_thousand_data_sets_by_vmap():
    """JoinStudent's t of (y, y_pred, z) of one sample over 1000 data sets of 20 samples; false alarm 1e-4."""
    noise = ConfusionMatrices([[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]])
    eta = np.array([0.6, 0.5])
    run = jax.jit(jax.vmap(lambda key: simulate(key, 20, PRIOR, CONFUSION, noise, eta)[:3]))
    y, y_pred, z = map(np.asarray, run(jax.random.split(jax.random.key(2), 1000)))
    assert y.shape == (1000, 20) and z.shape == (1000, 20, 2)
    cells, expected = {}, []
    who = {(True, True): 0.3 / 0.8, (True, False): 0.3 / 0.8, (False, True): 0.2 / 0.8}
    for c, u, a, b in itertools.product((0, 1), (0, 1), (-1, 0, 1), (-1, 0, 1)):
        if (a, b) == (-1, -1):
            continue
        p = PRIOR[c] * CONFUSION[c, u] * who[(a >= 0, b >= 0)]
        p *= noise.matrices[0][c, a] if a >= 0 else 1
        p *= noise.matrices[1][c, b] if b >= 0 else 1
        cells[(c, u, a, b)] = len(cells)
        expected.append(p)
    assert sum(expected) == pytest.approx(1)
    drawn = np.stack([y, y_pred, z[..., 0], z[..., 1]], axis=-1).reshape(-1, 4)
    counts = np.zeros(len(cells))
    for row, count in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True):
        counts[cells[tuple(row)]] = count
    follows(counts, np.array(expected))


def test_predictions_may_be_any_symbol():
    confusion = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.1, 0.2, 0.7]])
    data = simulate(jax.random.key(4), 20_000, PRIOR, confusion, Symmetric(0.2, 2), np.ones(1))
    for c in range(2):
        follows(np.bincount(np.asarray(data.y_pred)[np.asarray(data.y) == c], minlength=4), confusion[c])


@pytest.mark.slow
def test_class_posterior_of_simulated_data_is_calibrated():
    """Among samples with posterior near p a share p is positive: z-tests, false alarm 1e-4 together.

    This ties the simulator, the noise model and Bayes' rule together.
    """
    noise = SharedErrors([[[0.8, 0.2], [0.3, 0.7]]] * 3, [[0.7, 0.3], [0.2, 0.8]], 0.5)
    data = simulate(jax.random.key(5), 40_000, PRIOR, CONFUSION, noise, np.array([0.9, 0.5, 0.7]))
    rho = np.asarray(class_posterior(noise.log_likelihood(data.to_labels()), PRIOR))[:, 1]
    y = np.asarray(data.y)
    for low in np.arange(0, 1, 0.1):
        bin_ = (rho >= low) & (rho < low + 0.1)
        if bin_.sum() >= 50:
            z = (y[bin_].sum() - rho[bin_].sum()) / np.sqrt((rho[bin_] * (1 - rho[bin_])).sum())
            assert abs(z) < scipy.stats.norm.isf(1e-4 / 20)


def main_example(key):
    return simulate_difficulty_fallibility(
        key, num_samples=200, num_labelers=5, prior=PRIOR, confusion=CONFUSION
    )


@pytest.mark.slow
def test_the_paper_simulator_draws_its_parameters():
    """Kolmogorov-Smirnov over 500 data sets: delta ~ Beta(1, 5), phi ~ U(0, .4), eta ~ U(0, 1); 1e-4 each."""
    run = jax.jit(jax.vmap(main_example))
    data = run(jax.random.split(jax.random.key(6), 500))
    assert isinstance(data, Simulated) and isinstance(data.noise, DifficultyFallibility)
    assert data.noise.num_classes == 2
    for drawn, dist in (
        (data.noise.difficulty, scipy.stats.beta(1, 5)),
        (data.noise.fallibility, scipy.stats.uniform(0, 0.4)),
        (data.participation, scipy.stats.uniform(0, 1)),
    ):
        assert scipy.stats.kstest(np.asarray(drawn).reshape(-1), dist.cdf).pvalue >= 1e-4
    z, y = np.asarray(data.z), np.asarray(data.y)
    assert (z >= 0).any(axis=2).all()
    # The share of wrong labels among the given ones, against the average of (60) over the same cells.
    given = z >= 0
    delta, phi = np.asarray(data.noise.difficulty)[:, :, None], np.asarray(data.noise.fallibility)[:, None, :]
    error = ((delta + phi - delta * phi) / 2)[given]
    wrong = (z != y[:, :, None])[given]
    assert abs(wrong.sum() - error.sum()) < 4 * np.sqrt((error * (1 - error)).sum())  # two-sided 6e-5


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (2, 3), (0.5, 1)])
def test_difficulties_follow_the_beta_dist(shape):
    drawn = sample_difficulty(jax.random.key(7), 20_000, *shape)
    assert drawn.dtype == jnp.float64 and (drawn >= 0).all() and (drawn <= 1).all()
    assert scipy.stats.kstest(np.asarray(drawn), scipy.stats.beta(*shape).cdf).pvalue >= 1e-4


@pytest.mark.slow
def test_float32():
    with jax.enable_x64(False):
        data = main_example(jax.random.key(9))
        assert data.participation.dtype == jnp.float32
        log_likelihood = np.asarray(data.noise.log_likelihood(data.to_labels()))
        assert log_likelihood.dtype == np.float32 and np.isfinite(log_likelihood).all()
        assert (np.asarray(data.z) >= 0).any(axis=1).all()


def test_labels_keep_the_matrix_under_jit_and_vmap_too():
    data = main_example(jax.random.key(10))
    labels, compact = data.to_labels(), Labels.from_matrix(np.asarray(data.z), 2)
    assert (labels.num_samples, labels.num_labelers, labels.num_classes) == (200, 5, 2)
    np.testing.assert_array_equal(np.asarray(labels.label).reshape(200, 5), data.z)
    np.testing.assert_array_equal(data.noise.log_likelihood(labels), data.noise.log_likelihood(compact))
    keys = jax.random.split(jax.random.key(11), 2)

    def log_likelihood(key):
        data = main_example(key)
        return data.z, data.noise.log_likelihood(data.to_labels())

    z, values = jax.jit(jax.vmap(log_likelihood))(keys)
    batch = jax.vmap(lambda matrix: to_labels(matrix, 2))(z)
    assert batch.label.shape == (2, 1000) and batch.num_samples == 200
    one = main_example(keys[1])
    np.testing.assert_allclose(values[1], one.noise.log_likelihood(one.to_labels()), rtol=1e-12)


GIVEN = {"num_samples": 3, "prior": PRIOR, "confusion": CONFUSION}
MODEL = {"noise_model": Symmetric(0.1, 2), "participation": np.array([0.5, 0.5])}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prior": np.array([0.5, 0.6])}, r"prior sums to 1\.1"),
        ({"prior": np.array([0.5, 0.3, 0.2])}, "2 classes"),
        ({"confusion": np.array([[0.5, 0.6], [0.5, 0.5]])}, r"confusion\[0\] sums to 1\.1"),
        ({"confusion": np.eye(3)}, "2 classes"),
        ({"participation": np.array([0.5, 1.5])}, r"participation\[1\] is 1\.5"),
        ({"participation": np.zeros(2)}, "participation is 0 for every labeler"),
        ({"noise_model": Symmetric([0.1], 2)}, "have 2 labelers but error is for 1"),
        ({"noise_model": DifficultyFallibility(np.zeros(4), 0.1, 2)}, "3 samples but difficulty is for 4"),
        ({"num_labelers": 2, "difficulty": (0, 5)}, r"both positive; got \(0, 5\)"),
        ({"num_labelers": 2, "fallibility": (0.4, 0.1)}, "fallibility must be"),
        ({"num_labelers": 2, "participation": (0.0, 1.2)}, "participation must be"),
    ],
)
def test_bad_input(as_installed, changes, message):
    drawn_too = "num_labelers" in changes
    draw, given = (simulate_difficulty_fallibility, GIVEN) if drawn_too else (simulate, GIVEN | MODEL)
    with pytest.raises(ValueError, match=message):
        draw(jax.random.key(0), **given | changes)
