"""Ratio of normals against quadrature, simulation of the definition, and the reference values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from jtruth.stats import ratio_of_normals as rn
from tests.reference import su_binary as su

# compiled: called as they are, every operation in them is a program of its own
density, marsaglia_mean = jax.jit(rn.density), jax.jit(rn.marsaglia_mean)
mean_on_unit_interval = jax.jit(rn.mean_on_unit_interval, static_argnames="normalised")

RATIOS = [
    rn.Ratio(0.3, 0.5, 0.01, 0.02, 0.008),
    rn.Ratio(0.16, 0.2, 1e-4, 1.6e-4, 1e-4),
    rn.Ratio(1.0, 4.0, 1.0, 1.0, -0.3),
]


def as_arrays(ratio, dtype=jnp.float64):
    return rn.Ratio(*(jnp.asarray(v, dtype) for v in ratio))


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
    arrays = as_arrays(ratio)
    centre = ratio.mean_z / ratio.mean_w
    for q in centre + np.sqrt(rn.second_order_variance(ratio)) * np.array([-3, -1, 0, 0.5, 4]):
        found = float(density(arrays, jnp.asarray(q, jnp.float64)))
        np.testing.assert_allclose(found, by_definition(ratio, q), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("ratio", RATIOS)
def test_mean_on_the_unit_interval_is_the_integral(ratio):
    arrays = as_arrays(ratio)
    f = lambda q: float(density(arrays, jnp.asarray(q, jnp.float64)))  # noqa: E731
    points = [min(max(ratio.mean_z / ratio.mean_w, 0.01), 0.99)]
    top = integrate.quad(lambda q: q * f(q), 0, 1, points=points, epsabs=1e-12, limit=200)[0]
    mass = integrate.quad(f, 0, 1, points=points, epsabs=1e-12, limit=200)[0]
    np.testing.assert_allclose(mean_on_unit_interval(arrays, normalised=False), top, atol=1e-9)
    np.testing.assert_allclose(mean_on_unit_interval(arrays, normalised=True), top / mass, atol=1e-9)


def test_second_order_error_vanishes_and_the_printed_mean_does_not():
    base = rn.Ratio(0.3, 0.5, 0.01, 0.02, 0.008)
    error = {}
    for shrink in (1e-3, 1e-4):
        ratio = rn.Ratio(
            base.mean_z, base.mean_w, base.var_z * shrink, base.var_w * shrink, base.cov * shrink
        )
        arrays = as_arrays(ratio)
        exact = float(mean_on_unit_interval(arrays, normalised=True))
        error[shrink] = (abs(exact - rn.second_order_mean(ratio)), abs(exact - float(marsaglia_mean(arrays))))
    assert error[1e-4][0] < error[1e-3][0] / 50 + 1e-13  # second order in the variance
    assert error[1e-4][1] > 0.5 * error[1e-3][1] > 1e-5


def arrays_of(reference):
    """`su.ratio_parameters` as a Ratio of arrays."""
    numbers = (reference[k] for k in ("muZ", "muW"))
    return as_arrays((*numbers, reference["sZ"] ** 2, reference["sW"] ** 2, reference["cov"]))


@pytest.mark.parametrize("name", ["tiny5", "small12", "main_N200", "near_chance", "known_labels"])
def test_reference_densities_and_means(golden, name):
    density = jax.jit(jax.vmap(rn.density, in_axes=(None, 0)))
    for at in golden(f"su_{name}")["at_op"]:
        for block in ("P_D", "P_FA", "F", "F2"):
            ratio, expected = arrays_of(at[block]["ratio"]), at[block]
            found = density(ratio, jnp.asarray(expected["pdf"]["x"], jnp.float64))
            np.testing.assert_allclose(found, expected["pdf"]["pdf"], rtol=1e-8, atol=1e-12)
            for normalised, field in ((False, "mean_quad_literal"), (True, "mean_quad_renormalised")):
                mean = mean_on_unit_interval(ratio, normalised=normalised)
                np.testing.assert_allclose(mean, expected[field], rtol=0, atol=1e-10)
            if block != "F2":
                np.testing.assert_allclose(marsaglia_mean(ratio), expected["paper_mean"], rtol=1e-10)
                np.testing.assert_allclose(rn.second_order_mean(ratio), expected["delta2_mean"], rtol=1e-10)


# Z = k + s W: every predicted negative has a certain label (k = 1/4 and 0), or the positives have.
LINEAR = [
    {"muU": 0.3, "varU": 0.002, "muV": 0.1, "varV": 0.0, "n1": 0.5},
    {"muU": 0.3, "varU": 0.0, "muV": 0.1, "varV": 0.002, "n1": 0.5},
    {"muU": 0.3, "varU": 0.002, "muV": 0.0, "varV": 0.0, "n1": 1.0},
]


@pytest.mark.parametrize("moments", LINEAR)
@pytest.mark.parametrize("name", ["P_D", "P_FA", "F"])
def test_a_ratio_whose_numerator_is_linear_in_its_denominator(moments, name):
    """h = 0 makes Marsaglia's a and r infinite; density and means are then those of s + k/W, and finite."""
    parameters = su.ratio_parameters(name, moments)
    q, ratio = su.marsaglia_parameters(parameters), arrays_of(parameters)
    if parameters["sW"] == 0:
        pytest.fail("the cases above have a random denominator")
    np.testing.assert_allclose(marsaglia_mean(ratio), su.closed_form_mean(q), rtol=1e-12)
    if q["k"] == 0:  # a point mass at s
        for normalised in (True, False):
            mean = mean_on_unit_interval(ratio, normalised=normalised)
            np.testing.assert_allclose(mean, q["s"], rtol=1e-12)
        return
    centre, spread = parameters["muZ"] / parameters["muW"], 0.02
    at = centre + spread * np.array([-1.0, 0.0, 0.5, 2.0])
    expected = [su.ratio_density(x, q) for x in at]
    np.testing.assert_allclose(density(ratio, jnp.asarray(at, jnp.float64)), expected, rtol=1e-9)
    mean = mean_on_unit_interval(ratio, normalised=True)
    np.testing.assert_allclose(mean, su.renormalised_mean(lambda x: su.ratio_density(x, q)), rtol=1e-9)


def test_no_variance_at_all_is_a_point():
    ratio = arrays_of({"muZ": 0.2, "muW": 0.5, "sZ": 0.0, "sW": 0.0, "cov": 0.0})
    for mean in (
        rn.second_order_mean(ratio),
        marsaglia_mean(ratio),
        mean_on_unit_interval(ratio, normalised=True),
        mean_on_unit_interval(ratio, normalised=False),
    ):
        assert float(mean) == pytest.approx(0.4, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_float32_keeps_six_digits(ratio):
    single, double = as_arrays(ratio, jnp.float32), as_arrays(ratio)
    for function in (
        rn.second_order_mean,
        rn.marsaglia_mean,
        lambda r: mean_on_unit_interval(r, normalised=True),
        lambda r: density(r, jnp.asarray(0.4, r.mean_z.dtype)),
    ):
        found = function(single)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, function(double), rtol=1e-5, atol=1e-30)
