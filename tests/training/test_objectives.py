"""Objectives: loops from the paper's formulas, golden values, optax with certain labels, gradients, masks."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jtruth.noise import with_known_labels
from jtruth.posterior import class_posterior
from jtruth.training import (
    brier,
    cross_entropy,
    discriminative_ml,
    generative_ml,
    log_probabilities,
    logistic,
    mmse_risk,
    risk_variance,
)
from jtruth.training.objectives import empirical_risk, hinge, rounded_hinge, squared_hinge

# Compiled, as in a training loop; called as they are, every primitive in them is a program of its own.
brier, cross_entropy, hinge, logistic = map(jax.jit, (brier, cross_entropy, hinge, logistic))
squared_hinge = jax.jit(squared_hinge)
log_probabilities, mmse_risk, risk_variance = map(jax.jit, (log_probabilities, mmse_risk, risk_variance))
discriminative_ml, generative_ml = jax.jit(discriminative_ml), jax.jit(generative_ml)


def problem(seed=0, n=12, c=3):
    """Logits, label log-likelihood and prior of a small random problem."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 2, (n, c)), np.log(rng.random((n, c))), rng.dirichlet(np.ones(c))


def test_equals_loops():
    logits, log_likelihood, prior = problem()
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    n, classes = logits.shape
    ml = generative = risk = 0.0
    posterior, losses = np.asarray(class_posterior(log_likelihood, prior)), -np.log(p)
    for i in range(n):
        ml -= np.log(sum(np.exp(log_likelihood[i, c]) * p[i, c] for c in range(classes))) / n
        generative -= np.log(sum(np.exp(log_likelihood[i] + logits[i]) * prior)) / n
        mean = sum(posterior[i, c] * losses[i, c] for c in range(classes))
        risk += mean / n
    log_p = log_probabilities(jnp.asarray(logits))
    np.testing.assert_allclose(discriminative_ml(log_p, log_likelihood), ml, rtol=1e-13)
    np.testing.assert_allclose(generative_ml(logits, log_likelihood, prior), generative, rtol=1e-13)
    np.testing.assert_allclose(mmse_risk(losses, posterior), risk, rtol=1e-13)


def test_slopes_of_scores_are_sigmoids():
    """First and second derivatives of log p by a rule of its own, far out as well; and differences."""
    scores = jnp.array([-800.0, -30.0, -1.2, 0.0, 0.4, 30.0, 800.0])
    p, q = (1 / (1 + np.exp(np.clip(sign * np.asarray(scores), -700, 700))) for sign in (-1, 1))

    def of(c):
        return lambda s: log_probabilities(s[None])[0, c]

    for c, first in ((0, -p), (1, q)):
        slope = jax.grad(of(c))
        found, second = (jax.jit(jax.vmap(f))(scores) for f in (slope, jax.grad(slope)))
        np.testing.assert_allclose(found, first, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(second, -p * q, rtol=1e-9, atol=1e-14)
        step = 1e-5
        ahead, behind = (np.asarray(log_probabilities(scores + s))[2:5, c] for s in (step, -step))
        np.testing.assert_allclose(np.asarray(found)[2:5], (ahead - behind) / (2 * step), rtol=1e-8)


def test_rounded_hinge_is_a_parabola_between_two_lines():
    scores, width = jnp.array([-3.0, 0.0, 0.7, 0.9, 1.0, 2.0]), 0.4
    for c, sign in enumerate((-1, 1)):
        gap = 1 - sign * np.asarray(scores)
        expected = [0 if g < 0 else g**2 / (2 * width) if g < width else g - width / 2 for g in gap]
        np.testing.assert_allclose(rounded_hinge(scores, width)[:, c], expected, rtol=1e-12)


def test_losses_by_hand():
    logits = problem()[0]
    scores, margin = jnp.asarray(logits[:, 0]), logits[:, :1] * np.array([[-1, 1]])
    np.testing.assert_allclose(logistic(scores), np.log1p(np.exp(-margin)), rtol=1e-12)
    np.testing.assert_allclose(hinge(scores), np.maximum(0, 1 - margin))
    np.testing.assert_allclose(squared_hinge(scores), np.maximum(0, 1 - margin) ** 2)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = ((p[:, None, :] - np.eye(3)[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(brier(jnp.asarray(logits)), expected, rtol=1e-12)


def test_certain_labels_give_the_losses_of_optax():
    logits, log_likelihood, prior = problem(n=50)
    y = np.random.default_rng(1).integers(0, 3, 50)
    known = with_known_labels(log_likelihood, y)
    posterior, logits = class_posterior(known, prior), jnp.asarray(logits)
    expected = optax.losses.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    for value in (
        mmse_risk(cross_entropy(logits), posterior),
        discriminative_ml(log_probabilities(logits), known),
        empirical_risk(cross_entropy(logits), y),
    ):
        np.testing.assert_allclose(value, expected, atol=1e-7)
    assert risk_variance(cross_entropy(logits), posterior) == 0


def test_golden_risk_and_its_variance(golden):
    case = next(c for c in golden("training")["cases"] if c["kind"] == "mmse_risk")
    losses, posterior = np.array(case["loss"]), np.array(case["post"])
    np.testing.assert_allclose(mmse_risk(losses, posterior), case["risk"], rtol=1e-9)
    np.testing.assert_allclose(risk_variance(losses, posterior), case["var"], rtol=1e-9)


def test_variance_of_the_risk_by_drawing_classes_and_its_slope_by_differences():
    """The variance given the labels; far from 0 it does not cancel in float32."""
    logits, log_likelihood, prior = problem()
    losses = -np.log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True))
    rho = np.asarray(class_posterior(log_likelihood, prior))
    rng, draws = np.random.default_rng(0), 20_000
    y = (rng.random((draws, 12, 1)) > rho.cumsum(axis=1)).sum(axis=2).clip(max=2)
    risks = losses[np.arange(12), y].mean(axis=1)
    error = 4 * risks.var() * np.sqrt(2 / draws)  # false alarms: 6e-5 of seeds
    assert abs(risk_variance(losses, rho) - risks.var()) < error
    slope = jax.grad(lambda a: risk_variance(a, rho))(jnp.asarray(losses))
    step = np.zeros_like(losses)
    step[3, 1] = 1e-5
    gap = risk_variance(losses + step, rho) - risk_variance(losses - step, rho)
    np.testing.assert_allclose(slope[3, 1], gap / 2e-5, rtol=1e-6)
    far = risk_variance(jnp.asarray(losses + 1000, jnp.float32), rho)
    np.testing.assert_allclose(far, risk_variance(losses, rho), rtol=1e-3)  # losses have 5 digits there
    known = jnp.array([[0.1, jnp.inf]]), jnp.array([[1.0, 0.0]])
    assert risk_variance(*known) == 0 and jnp.isfinite(jax.grad(risk_variance)(*known)).all()


def test_risk_is_unbiased_by_enumeration_of_labels_and_outcomes():
    """From every (y, z) of three samples: (40) is unbiased (44), its squared error is (47)."""
    rng = np.random.default_rng(3)
    channel, prior, losses = rng.dirichlet(np.ones(4), 2), np.array([0.3, 0.7]), rng.normal(size=(3, 2))
    posterior = prior[:, None] * channel / (prior @ channel)  # (classes, outcomes)
    mean = error = of_47 = 0.0
    for z in itertools.product(range(4), repeat=3):
        p_z = np.prod((prior @ channel)[list(z)])
        rho = posterior[:, list(z)].T
        estimate = float(mmse_risk(losses, rho))
        of_47 += p_z * float(risk_variance(losses, rho))
        for y in itertools.product(range(2), repeat=3):
            p = p_z * np.prod(rho[range(3), y])
            mean += p * (estimate - losses[range(3), y].mean())
            error += p * (estimate - losses[range(3), y].mean()) ** 2
    np.testing.assert_allclose(mean, 0, atol=1e-15)
    np.testing.assert_allclose(of_47, error, rtol=1e-12)


def test_gradient_is_50_with_one_forward_pass():
    """The gradient is the convex combination of the classes' gradients, and no class adds a product."""
    rng = np.random.default_rng(0)
    x, rho = jnp.asarray(rng.normal(size=(8, 5))), jnp.asarray(rng.dirichlet(np.ones(3), 8))
    w, y = jnp.asarray(rng.normal(size=(5, 3))), jnp.asarray(rng.integers(0, 3, 8))

    def noisy(w):
        return mmse_risk(cross_entropy(x @ w), rho)

    def ordinary(w):
        return optax.losses.softmax_cross_entropy_with_integer_labels(x @ w, y).mean()

    by_class = np.asarray(jax.jit(jax.jacobian(lambda w: cross_entropy(x @ w)))(w))
    expected = sum(np.asarray(rho)[:, c, None, None] * by_class[:, c] for c in range(3)).mean(axis=0)
    np.testing.assert_allclose(jax.jit(jax.grad(noisy))(w), expected, atol=1e-14)
    products = [str(jax.make_jaxpr(jax.value_and_grad(f))(w)).count("dot_general") for f in (noisy, ordinary)]
    assert products[0] == products[1]


def test_log_of_zero_keeps_gradients_finite():
    """Known labels (-inf), classes the model rules out (-inf), and a row that nothing can explain."""
    log_likelihood = jnp.array([[0.0, -jnp.inf], [-jnp.inf, 0.0], [-1.0, -2.0], [-1.0, -jnp.inf]])
    logits = jnp.array([[1.0, 2.0], [-800.0, 800.0], [jnp.inf, -jnp.inf], [0.3, 0.1]])

    def ml(log_p):
        return discriminative_ml(log_p, log_likelihood)

    log_p = jnp.array([[-0.1, -2.0], [-jnp.inf, 0.0], [0.0, -jnp.inf], [-0.5, -0.5]])
    value, gradient = jax.jit(jax.value_and_grad(ml))(log_p)
    assert jnp.isfinite(value) and jnp.isfinite(gradient).all()
    impossible = jnp.full((4, 2), -jnp.inf)
    value, gradient = jax.jit(jax.value_and_grad(lambda s: discriminative_ml(s, impossible)))(log_p)
    assert value == jnp.inf and (gradient == 0).all()
    gradient = jax.jit(jax.grad(lambda q: generative_ml(log_p, log_likelihood, q)))(jnp.array([1.0, 0.0]))
    assert jnp.isfinite(gradient).all()
    posterior = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    risk = jax.jit(jax.value_and_grad(lambda s: mmse_risk(cross_entropy(s), posterior)))
    value, gradient = risk(jnp.asarray(np.where(np.arange(4)[:, None] == 2, 0.0, logits)))
    assert jnp.isfinite(value) and jnp.isfinite(gradient).all()
    infinite = jnp.array([[0.1, jnp.inf]])
    assert mmse_risk(infinite, jnp.array([[1.0, 0.0]])) == jnp.array(0.1)


def test_masked_samples_count_nowhere():
    logits, log_likelihood, prior = problem()
    rho = class_posterior(log_likelihood, prior)
    keep = np.arange(12) % 3 > 0
    log_p, loss = (f(jnp.asarray(logits)) for f in (log_probabilities, cross_entropy))
    for function, *rows in (
        (discriminative_ml, log_p, log_likelihood),
        (lambda a, b, **mask: generative_ml(a, b, prior, **mask), logits, log_likelihood),
        (mmse_risk, loss, rho),
        (risk_variance, loss, rho),
    ):
        spoilt = [jnp.asarray(np.where(keep[:, None], a, np.nan)) for a in rows]
        masked, gradient = jax.jit(jax.value_and_grad(function))(*spoilt, where=keep)
        np.testing.assert_allclose(masked, function(*(a[keep] for a in rows)), rtol=1e-13)
        assert np.isfinite(gradient).all() and (np.asarray(gradient)[~keep] == 0).all()
    assert mmse_risk(loss, rho, where=np.zeros(12, bool)) == 0


def test_float32_stays_float32_and_agrees():
    logits, log_likelihood, prior = problem()
    short = jnp.asarray(logits, jnp.float32)
    rho = class_posterior(log_likelihood, prior)
    value = mmse_risk(cross_entropy(short), rho)
    assert value.dtype == jnp.float32
    np.testing.assert_allclose(value, mmse_risk(cross_entropy(jnp.asarray(logits)), rho), rtol=1e-6)
    value = discriminative_ml(log_probabilities(short), log_likelihood)
    assert value.dtype == jnp.float32
