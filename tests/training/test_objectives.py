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
)
from jtruth.training.objectives import empirical_risk

# Compiled, as in a training loop; called as they are, every primitive in them is a program of its own.
brier, cross_entropy, logistic = map(jax.jit, (brier, cross_entropy, logistic))
log_probabilities, mmse_risk = map(jax.jit, (log_probabilities, mmse_risk))
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
        np.testing.assert_allclose(jax.vmap(jax.grad(of(c)))(scores), first, rtol=1e-9, atol=1e-300)
        second = jax.vmap(jax.grad(jax.grad(of(c))))(scores)
        np.testing.assert_allclose(second, -p * q, rtol=1e-9, atol=1e-14)
        near, step = scores[2:5], 1e-5
        slope = (log_probabilities(near + step)[:, c] - log_probabilities(near - step)[:, c]) / (2 * step)
        np.testing.assert_allclose(jax.vmap(jax.grad(of(c)))(near), slope, rtol=1e-8)


def test_golden_risk_and_variance(golden):
    case = next(c for c in golden("training")["cases"] if c["kind"] == "mmse_risk")
    losses, posterior = np.array(case["loss"]), np.array(case["post"])
    np.testing.assert_allclose(mmse_risk(losses, posterior), case["risk"], rtol=1e-9)


def test_losses_by_loops():
    logits = problem()[0]
    scores, n = logits[:, 0], len(logits)
    for i, c in itertools.product(range(n), range(2)):
        sign = 2 * c - 1
        np.testing.assert_allclose(
            logistic(jnp.asarray(scores))[i, c], np.log1p(np.exp(-sign * scores[i])), rtol=1e-12
        )
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    for i, c in itertools.product(range(n), range(3)):
        expected = sum((p[i, k] - (k == c)) ** 2 for k in range(3))
        np.testing.assert_allclose(brier(jnp.asarray(logits))[i, c], expected, rtol=1e-12)


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
    gradient = jax.grad(lambda q: generative_ml(log_p, log_likelihood, q))(jnp.array([1.0, 0.0]))
    assert jnp.isfinite(gradient).all()
    posterior = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    value, gradient = jax.value_and_grad(lambda s: mmse_risk(cross_entropy(s), posterior))(
        logits.at[2].set(0)
    )
    assert jnp.isfinite(value) and jnp.isfinite(gradient).all()
    infinite = jnp.array([[0.1, jnp.inf]])
    assert mmse_risk(infinite, jnp.array([[1.0, 0.0]])) == jnp.array(0.1)


def test_masked_samples_count_nowhere():
    logits, log_likelihood, prior = problem()
    rho = class_posterior(log_likelihood, prior)
    keep = np.arange(12) % 3 > 0
    spoilt = {
        name: jnp.where(keep[:, None], jnp.asarray(a), jnp.nan)
        for name, a in {"s": logits, "l": log_likelihood, "rho": rho}.items()
    }
    spoilt["log_p"] = jnp.where(keep[:, None], log_probabilities(jnp.asarray(logits)), jnp.nan)
    loss = jnp.where(keep[:, None], cross_entropy(jnp.asarray(logits)), jnp.nan)
    part = logits[keep], log_likelihood[keep], rho[keep]
    pairs = [
        (
            discriminative_ml(spoilt["log_p"], spoilt["l"], where=keep),
            discriminative_ml(log_probabilities(jnp.asarray(part[0])), part[1]),
        ),
        (mmse_risk(loss, spoilt["rho"], where=keep), mmse_risk(loss[keep], part[2])),
    ]
    for masked, alone in pairs:
        np.testing.assert_allclose(masked, alone, rtol=1e-13)
    gradient = jax.grad(lambda s: discriminative_ml(s, spoilt["l"], where=keep))(spoilt["log_p"])
    assert jnp.isfinite(gradient).all() and (gradient[~keep] == 0).all()
    gradient = jax.grad(lambda s: mmse_risk(s, spoilt["rho"], where=keep))(loss)
    assert jnp.isfinite(gradient).all() and (gradient[~keep] == 0).all()
    assert mmse_risk(loss, rho, where=np.zeros(12, bool)) == 0
