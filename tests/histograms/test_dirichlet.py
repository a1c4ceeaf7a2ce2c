"""Dirichlet-multinomial of labels, from alpha_0 = 1e-6 to 1e9 in float32, and its uses."""

import itertools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jtruth import histograms as hist
from jtruth.histograms import concentration, log_dirichlet_multinomial

CASES = [([4, 1], [0.6, 0.4]), ([5, 0, 0], [0.3, 0.3, 0.4]), ([1, 1, 1, 2], [0.1, 0.2, 0.3, 0.4]),
         ([40, 10, 1], [0.7, 0.2, 0.1])]  # fmt: skip


def exact(y, f, alpha):
    """log DirMult and its derivative by log alpha, 40 digits."""
    with mpmath.workdps(40):
        f, a = [mpmath.mpf(float(p)) for p in f], mpmath.mpf(float(alpha))
        value = mpmath.factorial(sum(y)) / mpmath.rf(a, sum(y))
        slope = mpmath.psi(0, a) - mpmath.psi(0, a + sum(y))
        for p, k in zip(f, y, strict=True):
            value *= mpmath.rf(a * p, k) / mpmath.factorial(k)
            slope += p * (mpmath.psi(0, a * p + k) - mpmath.psi(0, a * p))
        return float(mpmath.log(value)), float(a * slope)


@pytest.mark.parametrize("y, f", CASES)
def test_float32_from_1e_minus_6_to_1e9(y, f):
    f, grid = np.array(f, np.float32), 10.0 ** np.arange(-6, 10).astype(np.float32)
    h = hist.from_counts(np.tile(y, (16, 1)))
    rows = np.tile(f, (16, 1))
    value = log_dirichlet_multinomial(h, rows, grid)
    slope = jax.jit(jax.grad(lambda t: log_dirichlet_multinomial(h, rows, jnp.exp(t)).sum()))(np.log(grid))
    assert value.dtype == slope.dtype == jnp.float32
    expected = np.array([exact(y, f, a) for a in grid])
    np.testing.assert_allclose(np.asarray(value, np.float64), expected[:, 0], rtol=1e-6)
    # the terms of the slope sum to n^2 / (1 + alpha) at most; they may cancel, so that scale is asked for
    np.testing.assert_array_less(
        np.abs(np.asarray(slope, np.float64) - expected[:, 1]), 1e-6 * sum(y) ** 2 / (1 + grid)
    )


def test_probabilities_sum_to_one_and_impossible_labels_are_said():
    vectors = np.array([c for c in itertools.product(range(5), repeat=3) if sum(c) == 4])
    h = hist.from_counts(vectors)
    for alpha in (0.01, 3.0):
        logs = log_dirichlet_multinomial(
            h, np.tile([0.2, 0.3, 0.5], (len(vectors), 1)), np.full(len(vectors), alpha)
        )
        np.testing.assert_allclose(np.exp(logs).sum(), 1, rtol=1e-12)
    one, never = hist.from_counts([[1, 1]]), np.array([[1.0, 0.0]])
    assert log_dirichlet_multinomial(one, never, np.ones(1))[0] == -np.inf
    slope = jax.grad(lambda f: log_dirichlet_multinomial(one, f, jnp.ones(1)).sum())(jnp.asarray(never))
    assert np.isfinite(slope).all()


def test_best_concentration_by_enumeration_of_class_probabilities_and_labels():
    """Theorem 1 without its formulas: losses of every alpha_0 on a grid, from all Q, labels and pairs."""
    q, chance = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]), np.array([0.5, 0.3, 0.2])
    z = np.array([0.55, 0.3, 0.15])
    alpha = np.linspace(0.001, 40, 40_000)[:, None]
    labels, differ = np.zeros(40_000), np.zeros(40_000)
    guess = np.asarray(hist.disagreement_probability(np.tile(z, (40_000, 1)), alpha[:, 0]))
    for weight, row in zip(chance, q, strict=True):
        for k, j in itertools.product(range(3), repeat=2):
            differ += weight * row[k] * row[j] * ((k != j) - guess) ** 2
        for k in range(3):
            after = (alpha * z[None] + np.eye(3)[k][None]) / (alpha + 1)
            labels += weight * row[k] * ((after - row[None]) ** 2).sum(axis=1)
    disagreement = 1 - chance @ (q**2).sum(axis=1)
    gaps = 1 - (z**2).sum() - disagreement, chance @ ((z[None] - q) ** 2).sum(axis=1)
    never = (differ * 0 + disagreement * (1 - 2 * (1 - (z**2).sum())) + (1 - (z**2).sum()) ** 2, gaps[1])
    for losses, gap, infinite in zip((differ, labels), gaps, never, strict=True):
        best, least = map(float, jax.jit(hist.best_concentration)(disagreement, gap))
        assert best == pytest.approx(alpha[losses.argmin(), 0], abs=2e-3)
        no_worse = losses <= np.max(infinite) + 1e-12
        assert (
            least == pytest.approx(alpha[no_worse.argmax(), 0], abs=2e-3)
            and no_worse[no_worse.argmax() :].all()
        )
    best, least = hist.best_concentration(np.array([0.3, 0.3, 0.1]), np.array([0.0, -0.1, 0.4]))
    assert best.tolist() == [np.inf, np.inf, 0.25] and least.tolist() == [np.inf, np.inf, 0.0]
    slope = jax.vmap(jax.grad(lambda gap: hist.best_concentration(0.3, gap)[0]))(jnp.array([0.2, 0.0]))
    np.testing.assert_allclose(slope, [-0.3 / 0.04, 0.0], rtol=1e-12)


def test_disagreement_is_that_of_two_draws_of_a_dirichlet_dist():
    """(71): one less the second moments of each class; float32 and slopes of the log pmf of a pair agree."""
    f, alpha = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]), np.array([0.7, 12.0])
    second = f * (alpha[:, None] * f + 1) / (alpha[:, None] + 1)
    np.testing.assert_allclose(hist.disagreement_probability(f, alpha), 1 - second.sum(axis=1), rtol=1e-12)
    pairs = hist.from_counts(2 * np.eye(3, dtype=int))
    for row, a, wanted in zip(f, alpha, 1 - second.sum(axis=1), strict=True):
        same = np.exp(log_dirichlet_multinomial(pairs, np.tile(row, (3, 1)), np.full(3, a))).sum()
        assert 1 - same == pytest.approx(wanted, rel=1e-12)
    single = hist.disagreement_probability(jnp.asarray(f, jnp.float32), alpha)
    assert single.dtype == jnp.float32


def test_gradient_of_the_loss_by_differences():
    """(50) with its penalty, by log alpha_0 of one sample, jitted; masked samples have none."""
    h, f = hist.from_counts([[2, 1], [0, 3], [3, 0]]), np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
    t, where = jnp.array([0.3, -1.0, 2.0]), np.array([True, True, False])
    loss = lambda t: hist.concentration_loss(t, h, f, penalty=0.01, where=where)  # noqa: E731
    slope = np.asarray(jax.jit(jax.grad(loss))(t))
    for k in range(3):
        ends = [float(loss(t.at[k].add(step))) for step in (1e-6, -1e-6)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-9)
    assert slope[2] == 0


@pytest.mark.slow
def test_heads_find_what_concentration_depends_on():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(800, 2))
    alpha = np.exp(1 + x[:, 0])
    f = rng.dirichlet(np.ones(3) * 2, 800)
    q = np.stack([rng.dirichlet(a * row) for a, row in zip(alpha, f, strict=True)])
    h = hist.from_counts(np.stack([rng.multinomial(6, row) for row in q]))
    key = jax.random.key(0)
    found = jax.jit(jax.vmap(lambda k: concentration.fit_concentration_head(k, x, h, f)))(
        jax.random.split(key, 2)
    )
    for weights, bias in zip(*found, strict=True):
        loss, log_alpha = concentration.concentration_loss, x @ weights + bias
        assert loss(log_alpha, h, f) < loss(np.zeros(800), h, f)
        assert np.corrcoef(log_alpha, np.log(alpha))[0, 1] > 0.9


@pytest.mark.parametrize("alpha", [3.0, 10.0])
def test_concentration_is_found_where_labels_are_many(alpha):
    """2000 samples of four labels. With the paper's penalty 2.4 and 4.7, disagreement .02 and .05 too low."""
    rng = np.random.default_rng(5)
    f = 0.97 * rng.dirichlet(np.full(3, 1.5), 2000) + 0.01
    y = rng.multinomial(4, np.stack([rng.dirichlet(alpha * row) for row in f]))
    found = hist.fit_calibrator(jax.random.key(0), hist.from_counts(y), f)(f)
    assert abs(np.log(np.asarray(found.concentration)).mean() / np.log(alpha) - 1) < 0.1
    true = alpha / (alpha + 1) * (1 - (f**2).sum(axis=1)).mean()
    assert abs(np.asarray(found.disagreement).mean() - true) < 0.012


def test_opinion_gain_by_enumeration_of_the_label():
    f, alpha = np.array([[0.6, 0.3, 0.1]]), np.array([2.5])
    before = (f * (1 - f)).sum() / (alpha[0] + 1)
    after = 0.0
    for k in range(3):
        g = np.asarray(hist.posterior_probabilities(hist.one_label(np.array([k]), 3), f, alpha))
        after += f[0, k] * (g * (1 - g)).sum() / (alpha[0] + 2)
    np.testing.assert_allclose(hist.opinion_gain(f, alpha), before - after, rtol=1e-12)
    rng = np.random.default_rng(0)
    zeta = rng.dirichlet(alpha[0] * f[0], 200_000)
    bits = -(f * np.log2(f)).sum() + (zeta * np.log2(np.maximum(zeta, 1e-300))).sum(1)
    found = hist.opinion_gain(f, alpha, unit="bits")[0]
    assert abs(found - bits.mean()) < 4 * bits.std() / np.sqrt(200_000)  # false alarms: 6e-5 of seeds
    assert hist.opinion_gain(f, np.array([1e8]), unit="bits")[0] < 1e-7
