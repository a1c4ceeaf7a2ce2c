"""Ratio of normals against quadrature, simulation of the definition, and the reference values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from jtruth.stats import marsaglia_mean, ratio_mean
from jtruth.stats import ratio_of_normals as rn

# compiled: called as they are, every operation in them is a program of its own
density = jax.jit(rn.density)
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
    how = {"points": points, "epsabs": 1e-12, "limit": 200}
    top, mass = (integrate.quad(g, 0, 1, **how)[0] for g in (lambda q: q * f(q), f))
    np.testing.assert_allclose(mean_on_unit_interval(arrays), top / mass, atol=1e-9)


def arrays_of(reference):
    """The golden numbers as a Ratio of arrays."""
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
                np.testing.assert_allclose(rn.marsaglia_mean(ratio), expected["paper_mean"], rtol=1e-10)
                np.testing.assert_allclose(rn.second_order_mean(ratio), expected["delta2_mean"], rtol=1e-10)


@pytest.mark.parametrize(("k", "s"), [(0.25, -0.2), (-0.1, 1.0), (0.0, 0.75)])
def test_a_ratio_whose_numerator_is_linear_in_its_denominator(k, s):
    """Z = k + s W: density and mean are those of s + k/W, or a point."""
    mean, sd = 0.4, 0.045
    ratio = as_arrays((k + s * mean, mean, s**2 * sd**2, sd**2, s * sd**2))
    if k == 0:
        assert float(mean_on_unit_interval(ratio)) == pytest.approx(s, rel=1e-12)
        return

    def exact(q):
        w = k / (q - s)
        return abs(w / (q - s)) * stats.norm(mean, sd).pdf(w)

    at = s + k / mean + 0.02 * np.array([-1.0, 0.0, 0.5, 2.0])
    found = density(ratio, jnp.asarray(at, jnp.float64))
    np.testing.assert_allclose(found, [exact(x) for x in at], rtol=1e-9)
    q = (np.arange(20_000) + 0.5) / 20_000
    p = exact(q)
    np.testing.assert_allclose(mean_on_unit_interval(ratio), q @ p / p.sum(), rtol=1e-9)


@pytest.mark.parametrize("ratio", [rn.Ratio(0.3, 0.5, 0.002, 0.004, 0.001), RATIOS[1]])
def test_means_of_numbers_by_drawing_and_their_slopes(ratio):
    """Closed forms within 1 %; every choice of `ratio_mean`, of Python numbers too."""
    rng, cov = np.random.default_rng(0), [[ratio.var_z, ratio.cov], [ratio.cov, ratio.var_w]]
    z, w = rng.multivariate_normal([ratio.mean_z, ratio.mean_w], cov, size=400_000).T
    q, whole = z / w, as_arrays(ratio)
    inside = q[(q >= 0) & (q <= 1)]
    error = 4 * q.std() / np.sqrt(q.size)  # false alarms: 6e-5 of seeds
    for mean, drawn, near in (("second_order", q, 0.005), ("marsaglia", q, 0.01), ("integral", inside, 0.0)):
        assert abs(float(ratio_mean(ratio, mean)) - drawn.mean()) < error + near * drawn.mean()
        choice = lambda z, mean=mean: ratio_mean(whole._replace(mean_z=z), mean)  # noqa: E731
        ends = [float(choice(ratio.mean_z + step)) for step in (1e-5, -1e-5)]
        slope = float(jax.jit(jax.grad(choice))(whole.mean_z))
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)
    assert float(marsaglia_mean(ratio)) == float(ratio_mean(ratio, "marsaglia"))
    small = as_arrays(ratio._replace(var_w=ratio.mean_w**2 / 9))  # no moments, so both are integrals
    for mean, normalised in (("marsaglia", False), ("second_order", True)):
        integral = float(mean_on_unit_interval(small, normalised=normalised))
        assert float(ratio_mean(small, mean)) == pytest.approx(integral, rel=1e-12)
    with pytest.raises(ValueError, match="mean must be one of"):
        ratio_mean(ratio, "median")


def test_no_variance_at_all_is_a_point():
    ratio = arrays_of({"muZ": 0.2, "muW": 0.5, "sZ": 0.0, "sW": 0.0, "cov": 0.0})
    for mean in (rn.second_order_mean(ratio), mean_on_unit_interval(ratio)):
        assert float(mean) == pytest.approx(0.4, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_float32_keeps_six_digits(ratio):
    single, double = as_arrays(ratio, jnp.float32), as_arrays(ratio)
    for function in (
        rn.second_order_mean,
        rn.marsaglia_mean,
        mean_on_unit_interval,
        lambda r: density(r, jnp.asarray(0.4, r.mean_z.dtype)),
    ):
        found = function(single)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, function(double), rtol=1e-5, atol=1e-30)
