"""Data for tests: the binary reference cases as log-odds and predictions, simulated and random ones."""

import jax.numpy as jnp
import numpy as np
import pytest

SLOW = ("small12", "near_chance", "yhat_all1")  # like others, but of other sizes: programs of their own
CASES = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))
    for name in ("tiny5", "small12", "known_labels", "near_chance", "yhat_all1", "main_N200")
]
METRIC = {"ACC": "accuracy", "PREC": "precision", "P_D": "recall", "P_FA": "false_alarm_rate", "F": "f1"}


def log_odds(case):
    """logit of the reference rho (infinite where certain), and y_pred."""
    rho = np.array(case["rho"], np.float64)
    with np.errstate(divide="ignore"):
        return np.log(rho) - np.log1p(-rho), np.array(case["input"]["yhat"], np.int32)


def check_dist(dist, expected, *, tolerance=1e-12):
    """A PmfEstimate against a golden block: mean, sd, undefined mass, intervals, and the PMF where given."""
    np.testing.assert_allclose(dist.mean, expected["mean"], rtol=0, atol=tolerance)
    np.testing.assert_allclose(dist.sd, expected["sd"], rtol=0, atol=tolerance)
    np.testing.assert_allclose(
        1 - dist.probability_defined, expected["undefined_mass"], rtol=0, atol=tolerance
    )
    for level, interval in expected["intervals"].items():
        found = dist.interval(float(level))
        np.testing.assert_allclose(
            found[:2], interval[:2], rtol=0, atol=1e-12
        )  # golden ends have 13 decimals
        np.testing.assert_allclose(found.mass, interval[2], rtol=0, atol=tolerance)
    if "pmf" in expected:
        values, pmf = np.array(expected["values"]), np.array(expected["pmf"])
        nearest = np.abs(values[:, None] - dist.values[None, :]).argmin(1) if dist.values.size else []
        for v, p, k in zip(values, pmf, nearest, strict=True):
            found = dist.pmf[k] if abs(dist.values[k] - v) < 1e-12 else 0.0  # atoms below 1e-13 are left out
            np.testing.assert_allclose(found, p, rtol=0, atol=tolerance)


def simulated(seed, n, *, share=0.3, d=0.8, f=0.25, error=0.2, labelers=2, equal=False):
    """Log-odds and predictions of n samples by symmetric labelers.

    `equal` labelers all err with probability `error`: few distinct log-odds; others around it.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < share
    y = (rng.random(n) < np.where(truth, d, f)).astype(int)
    around = 0.6 * error, min(1.4 * error, 0.499)
    rates = np.full((n, labelers), error) if equal else rng.uniform(*around, (n, labelers))
    vote = np.where(rng.random((n, labelers)) < rates, ~truth[:, None], truth[:, None])
    return np.log(share / (1 - share)) + (np.where(vote, 1, -1) * np.log(1 / rates - 1)).sum(1), y


def random_case(seed, samples, classes, symbols):
    """Likelihoods, prior and predictions of several classes."""
    rng = np.random.default_rng(seed)
    lik = rng.dirichlet(np.ones(classes), samples)
    return lik, rng.dirichlet(3 * np.ones(classes)), rng.integers(0, symbols, samples).astype(np.int32)


def log_rho_of(lik, prior):
    """log p(class | labels), up to a constant of each sample."""
    return jnp.asarray(np.log(lik) + np.log(prior)[None, :])
