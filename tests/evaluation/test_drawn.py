"""Error rates given by draws: against the sum over all classes and all draws, and the sentences."""

import itertools

import numpy as np
import pytest
from scipy.special import beta

import jtruth as jt

pytestmark = pytest.mark.usefixtures("few_sets")

DRAWS, SIZE = 20, 6
RNG = np.random.default_rng(5)
MATRICES = RNG.dirichlet([3.0, 1.0], (DRAWS, 3, 2))
MATRICES[..., 1, :] = MATRICES[..., 1, ::-1]
PRIOR = RNG.dirichlet([4.0, 6.0], DRAWS)
Z = RNG.integers(0, 2, (SIZE, 3))
Y_PRED = np.array([0, 1, 1, 0, 1, 1])
LABELS = jt.Labels.from_matrix(Z, 2)
NOISE = jt.noise.DrawnMatrices(MATRICES, PRIOR)


def test_two_classes_equal_the_sum_over_classes_and_draws():
    """p(y, r | y_pred, z) for draws from the posterior given z: p(y | z, psi_r) p(y_pred | y), summed."""
    mass = np.zeros(SIZE + 1)  # by the number of right predictions
    for matrices, prior in zip(MATRICES, PRIOR, strict=True):
        p = np.prod([matrices[t][:, Z[:, t]] for t in range(3)], axis=0).T * prior
        p /= p.sum(axis=1, keepdims=True)
        for y in itertools.product((0, 1), repeat=SIZE):
            y = np.array(y)
            cells = np.zeros((2, 2), int)
            np.add.at(cells, (y, Y_PRED), 1)
            of_predictions = np.prod([beta(*(1 + row)) for row in cells])  # rows of K uniform, integrated out
            mass[(y == Y_PRED).sum()] += np.prod(p[np.arange(SIZE), y]) * of_predictions
    mass /= mass.sum()
    found = jt.evaluate(Y_PRED, LABELS, noise=NOISE, target="in-sample")
    share = np.arange(SIZE + 1) / SIZE
    np.testing.assert_allclose(found.accuracy.mean, mass @ share, rtol=1e-12)
    np.testing.assert_allclose(found.accuracy.sd, np.sqrt(mass @ share**2 - (mass @ share) ** 2), rtol=1e-10)
    assert any("given as 20 draws" in warning for warning in found.warnings)
    assert not any("uses their mean" in warning for warning in found.warnings)


def test_equal_draws_are_known_error_rates():
    same = jt.noise.DrawnMatrices(np.repeat(MATRICES[:1], DRAWS, 0), np.repeat(PRIOR[:1], DRAWS, 0))
    known = jt.evaluate(Y_PRED, LABELS, noise=jt.noise.ConfusionMatrices(MATRICES[0]), prior=PRIOR[0])
    found = jt.evaluate(Y_PRED, LABELS, noise=same)
    for name, dist in known.metrics.items():
        np.testing.assert_allclose(found.metrics[name].mean, dist.mean, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(found.metrics[name].interval(), dist.interval(), atol=1e-12, err_msg=name)


def test_a_given_prior_goes_before_the_drawn_ones():
    drawn = jt.noise.DrawnMatrices(MATRICES, np.tile([0.4, 0.6], (DRAWS, 1)))
    found = jt.evaluate(Y_PRED, LABELS, noise=NOISE, prior=[0.4, 0.6])
    np.testing.assert_array_equal(found.prior, [0.4, 0.6])
    np.testing.assert_array_equal(
        found.in_sample.accuracy.pmf, jt.evaluate(Y_PRED, LABELS, noise=drawn).in_sample.accuracy.pmf
    )


def test_methods_that_take_one_set_of_matrices_say_so():
    found = jt.evaluate(Y_PRED, LABELS, noise=NOISE, method="exact_means")
    assert any("uses their mean" in warning for warning in found.warnings)


@pytest.mark.slow
def test_more_classes_are_drawn_from_every_draw(monkeypatch):
    monkeypatch.setattr("jtruth.evaluation.methods._MORE", 4)
    rng = np.random.default_rng(1)
    y, size = rng.integers(0, 3, 60), 60
    wide = rng.dirichlet([1.0, 1, 1], (DRAWS, 2, 3)) * 0.5 + 0.5 * np.eye(3)
    z = np.stack([(y + (rng.random(size) < 0.3)) % 3 for _ in range(2)], axis=1)
    labels, even = jt.Labels.from_matrix(z, 3), np.full((DRAWS, 3), 1 / 3)
    found = jt.evaluate(y, labels, noise=jt.noise.DrawnMatrices(wide, even))
    one = jt.evaluate(y, labels, noise=jt.noise.ConfusionMatrices(wide.mean(axis=0)), prior=even[0])
    assert found.accuracy.sd > one.accuracy.sd
    assert found.posterior.shape == (3, 3)


@pytest.mark.parametrize(
    ("matrices", "prior", "message"),
    [
        (MATRICES[:5], PRIOR[:5], "5 draws are too few"),
        (MATRICES, PRIOR[:3], r"got \(20, 3, 2, 2\) and \(3, 2\)"),
        (MATRICES * 0.9, PRIOR, "sum"),
        (MATRICES, PRIOR * 1.1, "sum"),
    ],
)
def test_bad_draws_are_refused(as_installed, matrices, prior, message):
    with pytest.raises(ValueError, match=message):
        jt.noise.DrawnMatrices(matrices, prior)


def test_the_mean_of_drawn_matrices_is_that_of_each_labeler():
    rows = np.random.default_rng(0).dirichlet(np.ones(2), (40, 3, 2))
    mean = jt.noise.DrawnMatrices(rows, np.full((40, 2), 0.5)).mean
    np.testing.assert_allclose(mean.matrices, rows.mean(axis=0))
