"""Ratio of normals against quadrature, simulation of the definition, and the reference values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from jtruth.stats import ratio_of_normals as rn

RATIOS = [
    rn.Ratio(0.3, 0.5, 0.01, 0.02, 0.008),
    rn.Ratio(0.16, 0.2, 1e-4, 1.6e-4, 1e-4),
    rn.Ratio(1.0, 4.0, 1.0, 1.0, -0.3),
]


def by_definition(ratio, q):
    """p(q) = integral of |w| p(qw, w) dw."""
    cov = np.array([[ratio.var_z, ratio.cov], [ratio.cov, ratio.var_w]])
    joint = stats.multivariate_normal([ratio.mean_z, ratio.mean_w], cov)
    sd = np.sqrt(ratio.var_w)
    ends = (ratio.mean_w - 14 * sd, ratio.mean_w + 14 * sd)
    return integrate.quad(
        lambda w: abs(w) * joint.pdf([q * w, w]), *ends, points=[0.0, ratio.mean_w], limit=400
    )[0]


@pytest.mark.parametrize("ratio", RATIOS)
def test_density_is_the_definition(ratio):
    arrays = rn.Ratio(*(jnp.asarray(v, jnp.float64) for v in ratio))
    centre = ratio.mean_z / ratio.mean_w
    for q in centre + np.sqrt(rn.second_order_variance(ratio)) * np.array([-3, -1, 0, 0.5, 4]):
        found = float(rn.density(arrays, jnp.asarray(q, jnp.float64)))
        np.testing.assert_allclose(found, by_definition(ratio, q), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("ratio", RATIOS)
def test_mean_on_the_unit_interval_is_the_integral(ratio):
    arrays = rn.Ratio(*(jnp.asarray(v, jnp.float64) for v in ratio))
    density = jax.jit(rn.density)
    f = lambda q: float(density(arrays, jnp.asarray(q, jnp.float64)))  # noqa: E731
    points = [min(max(ratio.mean_z / ratio.mean_w, 0.01), 0.99)]
    top = integrate.quad(lambda q: q * f(q), 0, 1, points=points, epsabs=1e-12, limit=200)[0]
    mass = integrate.quad(f, 0, 1, points=points, epsabs=1e-12, limit=200)[0]
    np.testing.assert_allclose(rn.mean_on_unit_interval(arrays, normalised=False), top, atol=1e-9)
    np.testing.assert_allclose(rn.mean_on_unit_interval(arrays, normalised=True), top / mass, atol=1e-9)


@pytest.mark.parametrize("name", ["tiny5", "small12", "main_N200", "near_chance", "known_labels"])
def test_reference_values(golden, name):
    for at in golden(f"su_{name}")["at_op"]:
        for block in ("P_D", "P_FA", "F"):
            g = at[block]["ratio"]
            ratio = rn.Ratio(g["muZ"], g["muW"], g["sZ"] ** 2, g["sW"] ** 2, g["cov"])
            arrays = rn.Ratio(*(jnp.asarray(v, jnp.float64) for v in ratio))
            form = rn.marsaglia_form(arrays)
            for field in ("a", "b", "r", "s"):
                np.testing.assert_allclose(getattr(form, field), at[block]["marsaglia"][field], rtol=1e-7)
            np.testing.assert_allclose(rn.marsaglia_mean(arrays), at[block]["paper_mean"], rtol=1e-10)
            np.testing.assert_allclose(rn.marsaglia_variance(arrays), at[block]["paper_var"], rtol=1e-7)
            np.testing.assert_allclose(rn.second_order_mean(ratio), at[block]["delta2_mean"], rtol=1e-10)


def test_second_order_error_vanishes_and_the_printed_mean_does_not():
    base = rn.Ratio(0.3, 0.5, 0.01, 0.02, 0.008)
    error = {}
    for shrink in (1e-3, 1e-4):
        ratio = rn.Ratio(
            base.mean_z, base.mean_w, base.var_z * shrink, base.var_w * shrink, base.cov * shrink
        )
        arrays = rn.Ratio(*(jnp.asarray(v, jnp.float64) for v in ratio))
        exact = float(rn.mean_on_unit_interval(arrays, normalised=True))
        error[shrink] = (
            abs(exact - rn.second_order_mean(ratio)),
            abs(exact - float(rn.marsaglia_mean(arrays))),
        )
    assert error[1e-4][0] < error[1e-3][0] / 50 + 1e-13  # second order in the variance
    assert error[1e-4][1] > 0.5 * error[1e-3][1] > 1e-5
