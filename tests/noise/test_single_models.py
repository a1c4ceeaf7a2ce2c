"""Single noise models: limits, gradients, many labelers, known labels, and refused parameters.

Requirements of all models are in test_noise_models.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric, with_known_labels
from jtruth.noise.base import check_known_labels, draw_rows
from tests.learning.crowds import from_matrix

GOOD = [[0.9, 0.1], [0.2, 0.8]]
RNG = np.random.default_rng(0)
MATRICES, SHARED = RNG.dirichlet(np.ones(3), (4, 3)), RNG.dirichlet(np.ones(3), 3)
LOG_LIKELIHOOD = np.log(np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (ConfusionMatrices, (GOOD,), r"shape \(labelers, classes, symbols\).* \(2, 2\)"),
        (ConfusionMatrices, ([[[0.5, 0.5], [0.2, 0.8], [0.3, 0.7]]],), r"\(1, 3, 2\)"),
        (ConfusionMatrices, ([[[1.0]]],), "2 or more classes"),
        (ConfusionMatrices, ([GOOD, [[0.9, 0.2], [0.2, 0.8]]],), r"matrices\[1, 0\] sums to 1\.1"),
        (ConfusionMatrices, ([GOOD, [[0.9, 0.1], [0.2, 0.8 + 2e-6]]],), r"\[1, 1\] sums to 1\.000002"),
        (ConfusionMatrices, ([[[1.1, -0.1], [0.2, 0.8]]],), r"\[0, 0, 0\] is 1\.1, not a probability"),
        (ConfusionMatrices, ([[[np.nan, 0.1], [0.2, 0.8]]],), r"matrices\[0, 0, 0\] is nan"),
        (ConfusionMatrices, ([[[9, 1], [2, 8]]],), r"matrices\[0, 0, 0\] is 9\.0"),
        (ConfusionMatrices, ([[[0.9, 0.1], [0.2]]],), "numbers in a rectangular array"),
        (ConfusionMatrices, ("abc",), "numbers"),
        (SharedErrors, (MATRICES, np.eye(2), 0.5), r"shared must have shape .* \(3, 3\), got \(2, 2\)"),
        (SharedErrors, (MATRICES, 2 * SHARED, 0.5), r"shared\["),
        (SharedErrors, (MATRICES, SHARED.T, 0.5), r"shared\[0\] sums to"),
        (SharedErrors, (MATRICES, SHARED, 1.5), r"copying is 1\.5"),
        (
            SharedErrors,
            (MATRICES, SHARED, [0.5, 0.5]),
            "copying has 2 entries but matrices is for 4 labelers",
        ),
        (SharedErrors, (2 * MATRICES, SHARED, 0.5), "matrices"),
        (Symmetric, (1.2, 2), r"error is 1\.2, not a probability"),
        (Symmetric, ([0.1, -0.1], 2), r"error\[1\] is -0\.1"),
        (Symmetric, ([[0.1]], 2), r"error must have shape .* got \(1, 1\)"),
        (Symmetric, (None, 2), "error is nan"),
        (Symmetric, (0.1, 1), "num_classes must be a whole number of at least 2, got 1"),
        (DifficultyFallibility, ([0.1, 1.5], [0.1], 2), r"difficulty\[1\] is 1\.5"),
        (DifficultyFallibility, ([0.1], [0.1, np.nan], 2), r"fallibility\[1\] is nan"),
        (DifficultyFallibility, ([[0.1]], [0.1], 2), r"difficulty must have shape"),
        (DifficultyFallibility, ([0.1], [[0.1]], 2), r"fallibility must have shape"),
    ],
)
def test_bad_parameters(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(*arguments)


def copied(z, wrong, r):
    """By hand: log-likelihoods of labelers who copy a shared label with probability r and err in `wrong`."""
    expected, numbers = np.zeros((len(z), 2)), {k: (z == k).sum(axis=1) for k in (0, 1)}
    for c in range(2):
        parts = []
        for s in range(2):
            own = {k: (1 - r) * (1 - wrong if c == k else wrong) + r * (k == s) for k in (0, 1)}
            given = sum(numbers[k] * math.log(own[k]) for k in (0, 1))
            parts.append(math.log(1 - wrong if c == s else wrong) + given)
        expected[:, c] = np.logaddexp(*parts)
    return expected


def symmetric(z, wrong):
    errors = np.stack([(z != c).sum(axis=1) for c in (0, 1)], axis=1)
    return errors * math.log(wrong) + (z.shape[1] - errors) * math.log1p(-wrong)


@pytest.mark.parametrize(
    ("num_labelers", "wrong", "r"),
    [(399, 0.45, None), (1500, 0.45, None), (1500, 0.01, None), (1500, 0.45, 0.0), (1500, 0.45, 0.3)],
)
def test_many_labelers_do_not_underflow(num_labelers, wrong, r):
    """The product of 1500 probabilities near 1/2 is 1e-452; its logarithm is an ordinary number."""
    z = (np.random.default_rng(4).random((3, num_labelers)) > wrong).astype(int)
    matrix = np.array([[1 - wrong, wrong], [wrong, 1 - wrong]])
    if r is None:
        model, expected = Symmetric(wrong, 2), symmetric(z, wrong)
    else:
        model, expected = SharedErrors(np.stack([matrix] * num_labelers), matrix, r), copied(z, wrong, r)
    labels = from_matrix(z, 2)
    np.testing.assert_allclose(model.log_likelihood(labels), expected, rtol=1e-12)
    with jax.enable_x64(False):
        single = np.asarray(model.log_likelihood(labels))
    # Summing n terms one by one in float32 errs by at most n roundings of the running sum.
    np.testing.assert_allclose(single, expected, rtol=num_labelers * 2.0**-24 + 1e-6 * (r is None))


def test_parameters_keep_float64_when_x64_is_off():
    matrices = np.array([GOOD]) + np.array([1e-12, -1e-12])
    labels = from_matrix(np.array([[0]]), 2)
    with jax.enable_x64(False):
        model = ConfusionMatrices(matrices)
        assert model.log_likelihood(labels).dtype == jnp.float32
    np.testing.assert_array_equal(model.matrices, matrices)
    assert float(model.log_likelihood(labels)[0, 0]) == np.log(matrices[0, 0, 0])


def test_traced_parameters_are_accepted():
    labels = from_matrix(np.array([[0, 1]]), 2)

    @jax.jit
    def f(logits):
        return ConfusionMatrices(jax.nn.softmax(logits, axis=2)).log_likelihood(labels)

    logits = np.log(np.array([GOOD, GOOD]))
    np.testing.assert_allclose(np.exp(f(logits)), [[0.9 * 0.1, 0.2 * 0.8]], rtol=1e-13)
    with pytest.raises(ValueError, match="shape"):
        f(logits[0][:, :, None])


def test_rows_are_drawn_by_their_dist():
    """Shares of 40 000 draws within 5 standard errors, 18 of them: false alarm 1e-5. 0 is never drawn."""
    rows = np.array([[0.1, 0.7, 0.2, 0, 0, 0], [0, 0, 1 / 3, 1 / 3, 0, 1 / 3], [0, 1e-3, 0, 0, 0.999, 0]])
    many = jnp.asarray(np.repeat(rows[None], 40_000, axis=0))
    drawn = np.asarray(draw_rows(jax.random.key(5), many))
    share = (drawn[:, :, None] == np.arange(6)).mean(axis=0)
    assert (np.abs(share - rows) <= 5 * np.sqrt(rows * (1 - rows) / 40_000)).all()
    long = np.zeros((1, 40))  # more than are added up without a loop; sums that round
    long[0, 3:37:2] = 1 / 17
    many = jnp.asarray(np.repeat(long, 20_000, axis=0), jnp.float32)
    drawn = np.asarray(draw_rows(jax.random.key(6), many)).tolist()
    assert set(drawn) == set(range(3, 37, 2))


def test_gradient_counts_and_is_zero_where_the_probability_is_zero():
    """d sum log-likelihood / d psi[t, c, k] = (number of labels k of labeler t) / psi[t, c, k]."""
    rng = np.random.default_rng(6)
    z, matrices = rng.integers(-1, 3, (30, 4)), rng.dirichlet(np.ones(3), (4, 3))
    matrices[0] = [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]
    labels = from_matrix(z, 3)

    def total(m):
        values = m.log_likelihood(labels)
        return jnp.sum(jnp.where(jnp.isfinite(values), values, 0.0))

    gradient = jax.grad(total)(ConfusionMatrices(matrices)).matrices
    given = ConfusionMatrices(matrices).log_likelihood(labels)
    expected = np.zeros_like(matrices)
    for i, row in enumerate(z):
        for t, label in enumerate(row):
            for c in range(3):
                if label >= 0 and np.isfinite(given[i, c]) and matrices[t, c, label] > 0:
                    expected[t, c, label] += 1 / matrices[t, c, label]
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    assert gradient[0, 0, 1] == 0


def test_gradient_is_finite_where_everything_is_certain():
    labels = from_matrix(np.array([[0, 0], [1, -1], [0, 1]]), 2)
    for r in (0.0, 1.0):

        def at_possible(m):
            values = m.log_likelihood(labels)
            return values[0, 0] + values[1, 1] + jnp.sum(jnp.exp(values[2]))

        model = SharedErrors(np.stack([np.eye(2)] * 2), np.eye(2), r)
        np.testing.assert_array_equal(model.log_likelihood(labels)[2], -np.inf)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.jit(jax.grad(at_possible))(model)))


def test_gradient_of_the_error_is_the_formula():
    """d/d eps log p = wrong / eps - right / (1 - eps), summed over labels; at eps = 0 unused terms add 0."""
    labels = from_matrix(np.array([[1, 1, 0, -1]]), 2)

    def at_class_one(error):
        return Symmetric(error, 2).log_likelihood(labels)[0, 1]

    assert jax.grad(at_class_one)(0.2) == pytest.approx(1 / 0.2 - 2 / 0.8, rel=1e-13)
    agreeing = from_matrix(np.array([[1, 1, 1]]), 2)
    assert jax.grad(lambda e: Symmetric(e, 2).log_likelihood(agreeing)[0, 1])(0.0) == -3
    for certain in (0.0, 1.0):
        gradient = jax.grad(lambda e: jax.nn.softmax(Symmetric(e, 2).log_likelihood(agreeing))[0, 1])(certain)
        assert np.isfinite(gradient)


def test_small_errors_keep_their_digits_in_float32():
    """log(1 - 1e-9) is -1e-9; computed as log of a rounded 1 - eps it would be 0."""
    labels = from_matrix(np.array([[1]]), 2)
    with jax.enable_x64(False):
        value = float(Symmetric(1e-9, 2).log_likelihood(labels)[0, 1])
    assert value == pytest.approx(-1e-9, rel=1e-6)


def test_known_rows_are_zero_and_minus_infinity():
    known = np.array([0, -1, 1])
    expected = [[0, -np.inf], LOG_LIKELIHOOD[1], [-np.inf, 0]]
    np.testing.assert_array_equal(with_known_labels(LOG_LIKELIHOOD, known), expected)
    np.testing.assert_array_equal(jax.jit(with_known_labels)(LOG_LIKELIHOOD, known), expected)
    batch = jax.vmap(with_known_labels)(np.stack([LOG_LIKELIHOOD] * 2), np.array([[0, -1, 1], [-1, -1, -1]]))
    np.testing.assert_array_equal(batch, [expected, LOG_LIKELIHOOD])
    single = with_known_labels(LOG_LIKELIHOOD.astype(np.float32), known)
    assert single.dtype == np.float32


def test_contradicted_known_labels_are_refused():
    labels = Labels.from_matrix(np.array([[1], [0], [1]]), 2)
    log_likelihood = Symmetric(0.0, 2).log_likelihood(labels)
    with pytest.raises(ValueError, match=r"2 sample\(s\) have likelihood 0.*gave another label: 0, 2"):
        with_known_labels(log_likelihood, np.array([0, 0, 0]))
    with pytest.raises(ValueError, match="'x-ray 3'"):
        check_known_labels(log_likelihood, np.array([1, -1, 0]), ("x-ray 1", "x-ray 2", "x-ray 3"))
    many = Symmetric(0.0, 2).log_likelihood(Labels.from_matrix(np.ones((9, 1), int), 2))
    with pytest.raises(ValueError, match="0, 1, 2, 3, 4 and 4 more"):
        with_known_labels(many, np.zeros(9, int))


@pytest.mark.parametrize(
    ("known", "message"),
    [([0, 2, -1], r"known\[1\] is 2"), ([0, 1, -2], r"known\[2\] is -2"), ([0, 1], r"shape \(3,\)")],
)
def test_bad_known_labels(as_installed, known, message):
    with pytest.raises(ValueError, match=message):
        check_known_labels(np.zeros((3, 2)), np.array(known))
