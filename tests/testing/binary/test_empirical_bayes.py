"""Algorithms 1 and 3 of Su against sums over count PMFs and enumeration; reference paths: test_golden."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from jtruth.stats.ratio_of_normals import Ratio, density, mean_on_unit_interval, ratio_mean, second_order_mean
from jtruth.tables.metrics import named_metric
from jtruth.testing import (
    binary_posterior,
    exact_step,
    iterate,
    log_odds_of,
    moments,
    precision_recall_density,
    ratio_step,
    roc_density,
    steps,
)
from jtruth.testing.binary.empirical_bayes import (
    ShareMoments,
    class_dist,
    matrix_of,
    metric_ratio,
    normal_posterior,
    of_point,
    posterior_log_odds,
)
from jtruth.testing.steps import mean_shares
from tests.reference import su_binary as su
from tests.testing import golden_cases


def labels_step(x, y):
    return of_point(steps.labels_step(class_dist(x), y))


STEPS = {"second_order": ratio_step, "exact": exact_step, "labels": labels_step}


@jax.jit
def share(p, chosen, weight=None):
    """One set of coins and one choice."""
    return mean_shares(p[None], chosen[None], weight)[0, 0]


@partial(jax.jit, static_argnames="name")
def run(x, y, *, name):
    """`iterate`, compiled once for each algorithm: most data sets here have 40 samples."""
    return iterate(STEPS[name](x, y), dtype=x.dtype)


def simulated(seed, n):
    """Poorer labelers than elsewhere."""
    x, y = golden_cases.simulated(seed, n, share=0.35, error=0.25)
    return jnp.asarray(x), jnp.asarray(y, jnp.int32)


def double_sum(p, chosen):
    """E[A/(A+B) | A+B > 0] by the two count PMFs."""
    pmfs = (su.poisson_binomial(p[chosen]), su.poisson_binomial(p[~chosen]))
    total, undefined = su.exact_ratio_mean(*pmfs)
    return total / (1 - undefined)


def test_log_odds_and_the_posterior_at_an_operating_point():
    """(21) and (10) as logits, certain labels included."""
    lik = np.array([[0.2, 0.6], [0.9, 0.3], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    prior, y = [0.3, 0.7], np.array([1, 0, 1, 1, 0], np.int32)
    with np.errstate(divide="ignore"):
        x = log_odds_of(jnp.asarray(np.log(lik)), jnp.asarray(prior))
    np.testing.assert_allclose(expit(np.array(x)), su.class_posterior(lik, prior)[:, 1], atol=1e-15)
    found = posterior_log_odds(x, jnp.asarray(y), jnp.asarray([0.8, 0.3]))
    expected = su.testing_posterior(lik, prior, list(y), su.operating_matrix(0.8, 0.3))[:, 1]
    np.testing.assert_allclose(expit(np.array(found)), expected, atol=1e-15)


@pytest.mark.parametrize("expected", [0.01, 3.0, 30.0, 60.0, 65.0, 70.0, 120.0, 150.0])
@pytest.mark.parametrize("spread", ["alike", "mixed", "nearly certain"])
def test_mean_share_on_both_sides_of_its_switch(expected, spread):
    """Node by node below an expected count of 64, by power sums above."""
    rng = np.random.default_rng(int(expected * 10))
    base = {"alike": np.full(160, 0.5), "mixed": rng.random(160), "nearly certain": rng.beta(0.05, 0.05, 160)}
    p = base[spread] * expected / base[spread].sum()
    if p.max() > 1:  # keep the sum: the largest are certain, the others as they are scaled
        p = np.where(np.arange(160) < int(expected), 1 - 1e-4 * base[spread], 1e-6)
    chosen = rng.random(160) < 0.6
    np.testing.assert_allclose(share(jnp.asarray(p), jnp.asarray(chosen)), double_sum(p, chosen), rtol=1e-10)
    single = share(jnp.asarray(p, jnp.float32), jnp.asarray(chosen))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, double_sum(p, chosen), rtol=1e-5)


def test_mean_share_at_its_ends():
    p, none, all_ = jnp.asarray([0.2, 0.5, 0.9]), jnp.zeros(3, bool), jnp.ones(3, bool)
    assert float(share(p, none)) == 0
    assert float(share(p, all_)) == pytest.approx(1, abs=1e-13)
    assert np.isnan(float(share(jnp.zeros(3), all_)))  # no head ever: undefined
    known = jnp.asarray([1.0, 1.0, 0.0])
    assert float(share(known, jnp.asarray([True, False, True]))) == pytest.approx(0.5, abs=1e-13)
    tiny = share(jnp.asarray([1e-12, 3e-12, 1e-13]), jnp.asarray([True, False, True]))
    assert float(tiny) == pytest.approx(1.1 / 4.1, rel=1e-10)


def test_hard_labels_and_their_rates():
    """(22); ties go to class 0."""
    x, y = jnp.asarray([2.0, -1.0, 0.0, -0.5, 3.0]), jnp.asarray([1, 1, 1, 0, 0], jnp.int32)
    point = jnp.asarray([0.5, 0.5])
    table = jax.jit(lambda point: steps.labels_table(class_dist(x), y, matrix_of(point)))(point)
    assert table.tolist() == [[1, 2], [1, 1]]
    np.testing.assert_allclose(jax.jit(labels_step(x, y))(point, jnp.asarray(0)), [1 / 2, 2 / 3])


@pytest.mark.parametrize("name", STEPS)
def test_perfect_labels_give_the_empirical_rates_in_two_steps(name):
    """No variance is left: every mean is the plain ratio. With all predictions 1 both rates are 1."""
    i = jnp.arange(40)
    x, y = jnp.where(i < 15, jnp.inf, -jnp.inf), (i % 3 == 0).astype(jnp.int32)
    fit = run(x, y, name=name)
    np.testing.assert_allclose([fit.p_detection, fit.p_false_alarm], [5 / 15, 9 / 25], atol=1e-12)
    assert int(fit.num_steps) == 2 and bool(fit.converged)
    all_1 = run(simulated(7, 40)[0], jnp.ones(40, jnp.int32), name=name)
    np.testing.assert_allclose([all_1.p_detection, all_1.p_false_alarm], 0.999, atol=1e-12)


def test_the_mean_of_a_ratio_is_an_integral_where_moments_do_not_exist():
    for mean_w, mean in ((0.5, second_order_mean), (0.3, mean_on_unit_interval)):
        ratio = Ratio(*(jnp.asarray(v) for v in (0.2, mean_w, 0.01, 0.01, 0.005)))
        assert float(ratio_mean(ratio)) == pytest.approx(float(mean(ratio)), rel=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_a_rate_that_is_never_defined_keeps_its_value(name):
    fit = run(jnp.full(40, -jnp.inf), (jnp.arange(40) < 10).astype(jnp.int32), name=name)
    np.testing.assert_allclose([fit.p_detection, fit.p_false_alarm], [0.5, 0.25], atol=1e-12)


@pytest.mark.parametrize("name", ["exact", pytest.param("second_order", marks=pytest.mark.slow)])
def test_float32_ends_where_float64_does(name):
    x, y = simulated(9, 40)
    double, single = run(x, y, name=name), run(x.astype(jnp.float32), y, name=name)
    assert single.path.dtype == single.p_detection.dtype == jnp.float32
    assert abs(float(single.p_detection) - float(double.p_detection)) < 1e-4
    assert abs(float(single.p_false_alarm) - float(double.p_false_alarm)) < 1e-4


@pytest.mark.parametrize("x", [[np.inf, -np.inf, 3.0, -2.0], [800.0, -800.0, 0.0, 1e-300]])
def test_the_shift_of_log_odds_is_a_product_of_odds(x):
    """`exact_step` takes one exponential for all steps; far and certain log-odds against enumeration."""
    x, y, point = jnp.asarray(x), np.array([1, 0, 1, 0]), jnp.asarray([0.999, 0.001])
    found = np.asarray(jax.jit(lambda x, point: exact_step(x, jnp.asarray(y))(point, 0))(x, point))
    p = np.asarray(jax.nn.sigmoid(posterior_log_odds(x, jnp.asarray(y), point)))
    for k, head in enumerate((p, 1 - p)):
        total = defined = 0.0
        for labels in itertools.product((0, 1), repeat=4):
            label = np.array(labels)
            chance = np.prod(np.where(label, head, 1 - head))
            if label.any():
                total, defined = total + chance * label[y == 1].sum() / label.sum(), defined + chance
        assert found[k] == pytest.approx(total / defined, abs=1e-12)


@pytest.mark.parametrize("point", [(0.8, 0.25), (0.6, 0.5)])
def test_joint_densities_have_the_dists_of_single_metrics(point):
    """(17) and (18) summed over one metric are the distribution of the other; float32, jit, grad, edges."""
    x, y = golden_cases.simulated(3, 300, share=0.35, error=0.15)
    m = moments(jnp.asarray(x), jnp.asarray(y, jnp.int32), jnp.asarray(point))
    grid = np.linspace(0, 1, 4001)
    step = grid[1] - grid[0]
    for function, names in (
        (roc_density, ("recall", "false_alarm_rate")),
        (precision_recall_density, ("precision", "recall")),
    ):
        dists = [normal_posterior(m, name) for name in names]
        at = [dist.mean + dist.sd * np.array([-1.5, 0.0, 0.7]) for dist in dists]
        for k in (0, 1):
            places = (at[0][:, None], grid[None]) if k == 0 else (grid[None], at[1][:, None])
            found = np.asarray(function(m, *places)).sum(axis=1) * step
            np.testing.assert_allclose(found, dists[k].density(at[k]) * dists[k].grid_mass, rtol=2e-3)
        here = [float(dist.mean) for dist in dists]
        value = float(jax.jit(function)(m, *here))
        single = function(jax.tree.map(lambda v: jnp.asarray(v, jnp.float32), m), *map(np.float32, here))
        assert single.dtype == jnp.float32 and float(single) == pytest.approx(value, rel=1e-4)
        slopes = jax.grad(function, argnums=(1, 2))(m, *here)
        for k, slope in enumerate(slopes):
            ends = [
                float(function(m, *(v + s * (j == k) for j, v in enumerate(here)))) for s in (1e-6, -1e-6)
            ]
            assert float(slope) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-4 * value)
        joint = binary_posterior(x, y, method="empirical_bayes", point=point).joint(*names)
        assert float(joint.density(*here)) == pytest.approx(value, rel=1e-9)
    edges = np.array([0.0, -0.1, 0.5]), np.array([0.3, 0.3, 1.1])
    assert (np.asarray(precision_recall_density(m, *edges[::-1])) == 0).all()
    assert float(roc_density(m, 0.4, 0.4)) == 0 == float(jax.grad(roc_density, argnums=1)(m, 0.4, 0.4))


def test_a_point_of_ones_own_is_plugged_in():
    """As if every step gave it: distributions and evidence of the algorithm that ends there."""
    x, y = golden_cases.simulated(3, 60, share=0.35, error=0.15)
    for method in ("empirical_bayes", "exact_means", "labels"):
        whole = binary_posterior(x, y, method=method)
        again = binary_posterior(x, y, method=method, point=tuple(map(float, whole.fit.value)))
        assert again.fit is None and again.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
        for metric in ("recall", "accuracy"):
            assert again.estimate(metric).mean == pytest.approx(whole.estimate(metric).mean, rel=1e-9)
        assert len(again.warnings) == 1
    means = {
        k: binary_posterior(x, y, method="empirical_bayes", mean=k) for k in ("second_order", "marsaglia")
    }
    default = binary_posterior(x, y, method="empirical_bayes").fit
    assert np.array_equal(means["second_order"].fit.path, default.path)
    assert 1e-5 < abs(means["marsaglia"].fit.p_detection - default.p_detection) < 0.02


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"point": (0.8, 0.3)}, "method='bayes' uses no operating point"),
        ({"point": (1.0, 0.3), "method": "exact_means"}, r"point is \(1.0, 0.3\); give \(p_D, p_FA\)"),
        ({"point": (0.8, 0.3, 0.1), "method": "exact_means"}, "give .p_D, p_FA."),
        ({"mean": "marsaglia"}, "mean='marsaglia' is used by method='empirical_bayes' without a point only"),
        ({"mean": "median", "method": "empirical_bayes"}, "mean must be one of"),
    ],
)
def test_what_a_method_does_not_use_is_refused(given, message, as_installed):
    with pytest.raises(ValueError, match=message):
        binary_posterior(np.zeros(3), np.array([0, 1, 1]), **given)


@pytest.mark.parametrize("share", [2.0, 3.0, 4.0, 4.4, 6.0, 11.9, 12.1, 30.0])
@pytest.mark.parametrize("detection", [0.05, 0.97, pytest.param(0.5, marks=pytest.mark.slow)])
def test_recall_with_heavy_tails(share, detection):
    """`share` is mean/sd of the number of positives: below 4.4 the tails reach 14 sd of the delta method.

    The density was cut there: the mean was off by up to 3.8e-3.
    """
    mean_u, mean_v = 0.4 * detection, 0.4 * (1 - detection)  # true positives, false negatives
    variance = (0.4 / share) ** 2
    m = ShareMoments(0.45, mean_u, mean_v, 0.3 * variance, 0.7 * variance)
    dist, ratio = (
        normal_posterior(m, "recall"),
        Ratio(*(np.float64(v) for v in metric_ratio(m, named_metric("recall")))),
    )
    edges = np.linspace(0, 1, 1001)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    q = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
    p = np.asarray(density(ratio, jnp.asarray(q.ravel()))).reshape(q.shape) * half * weights

    def moment(power):
        return (q**power * p).sum()

    mass = moment(0)
    assert dist.grid_mass == pytest.approx(mass, abs=1e-8)
    assert dist.mean == pytest.approx(moment(1) / mass, abs=1e-8)
    assert dist.sd**2 == pytest.approx(moment(2) / mass - (moment(1) / mass) ** 2, abs=1e-8)
