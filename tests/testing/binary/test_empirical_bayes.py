"""Algorithms 1, 2 and 3 of Su against sums over count PMFs and plain Python; reference paths: test_golden."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from jtruth.stats.ratio_of_normals import Ratio, density
from jtruth.tables.metrics import named_metric
from jtruth.testing import exact_step, iterate, log_odds_of, moments, ratio_step, steps
from jtruth.testing.binary.empirical_bayes import (
    ShareMoments,
    class_law,
    matrix_of,
    metric_ratio,
    normal_law,
    of_point,
    plug_in_step,
    posterior_log_odds,
    ratio_mean,
)
from jtruth.testing.steps import mean_shares
from tests.reference import su_binary as su
from tests.testing import golden_cases


def labels_step(x, y):
    return of_point(steps.labels_step(class_law(x), y))


STEPS = {
    "paper": lambda x, y: ratio_step(x, y, mean="marsaglia"),
    "integral": lambda x, y: ratio_step(x, y, mean="integral"),
    "second_order": ratio_step,
    "plugin": plug_in_step,
    "exact": exact_step,
    "labels": labels_step,
}


shares_of = jax.jit(mean_shares, static_argnames="complementary")


@jax.jit
def share(p, chosen, weight=None):
    """One set of coins and one choice."""
    return mean_shares(p[None], chosen[None], weight)[0, 0]


@partial(jax.jit, static_argnames=("tol", "alpha", "name", "max_steps"))
def run(x, y, start=(0.5, 0.5), tol=1e-3, alpha=1e-3, *, name, max_steps=30):
    """`iterate`, compiled once for each algorithm: most data sets here have 40 samples."""
    return iterate(STEPS[name](x, y), dtype=x.dtype, start=start, tol=tol, alpha=alpha, max_steps=max_steps)


def simulated(seed, n):
    """Poorer labelers than elsewhere."""
    x, y = golden_cases.simulated(seed, n, share=0.35, error=0.25)
    return jnp.asarray(x), jnp.asarray(y, jnp.int32)


def reference_of(x):
    """(lik, prior) with the log-odds x."""
    rho = expit(np.asarray(x, np.float64))
    return np.stack([1 - rho, rho], axis=1), [0.5, 0.5]


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


def test_moments_and_the_three_ratios_of_table_16():
    x, y = simulated(0, 80)
    point = jnp.asarray([0.7, 0.2])
    m = moments(x, y, point)
    posterior = su.testing_posterior(*reference_of(x), [int(v) for v in y], su.operating_matrix(0.7, 0.2))
    expected = su.moments(posterior[:, 1], [int(v) for v in y])
    np.testing.assert_allclose(m, [expected[k] for k in ("muU", "varU", "muV", "varV", "n1")], rtol=1e-12)
    ratios = {
        ("P_D", 1): metric_ratio(m, named_metric("recall")),
        ("P_FA", 1): metric_ratio(m, named_metric("false_alarm_rate")),
        ("F", 0.5): metric_ratio(m, named_metric("f0.5")),
    }
    for (name, beta), ratio in ratios.items():
        p = su.ratio_parameters(name, expected, beta)
        wanted = (p["muZ"], p["muW"], p["sZ"] ** 2, p["sW"] ** 2, p["cov"])
        np.testing.assert_allclose(ratio, wanted, rtol=1e-11)


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
    assert steps.labels_table(class_law(x), y, matrix_of(point)).tolist() == [[1, 2], [1, 1]]
    np.testing.assert_allclose(labels_step(x, y)(point, jnp.asarray(0)), [1 / 2, 2 / 3])


@pytest.mark.slow
def test_the_name_of_a_mean():
    x, y = simulated(1, 40)
    mean = jax.jit(ratio_mean, static_argnums=1)
    names = ("second_order", "marsaglia", "integral", "second_order_always")
    ratio_of = jax.jit(
        lambda x, y: metric_ratio(moments(x, y, jnp.asarray([0.6, 0.3])), named_metric("recall"))
    )
    ratio = ratio_of(x, y)
    values = {name: float(mean(ratio, name)) for name in names}
    assert values["second_order"] == values["second_order_always"]  # the moment condition holds
    assert len(set(values.values())) == 3 and max(values.values()) - min(values.values()) < 0.02
    with pytest.raises(ValueError, match="mean='median'; choose second_order, marsaglia, integral"):
        ratio_mean(ratio, "median")
    poor = ratio_of(x[:6] - 2, y[:6])
    assert float(mean(poor, "second_order")) == float(mean(poor, "integral"))  # and here it fails


def compare_with_plain_python(fit, plain, tolerance=1e-10):
    assert int(fit.num_steps) == plain["num_steps"] and bool(fit.converged) == plain["converged"]
    path = np.array(fit.path)
    np.testing.assert_allclose(path[: plain["num_steps"] + 1], plain["path"], rtol=0, atol=tolerance)
    last = [float(fit.p_detection), float(fit.p_false_alarm)]
    assert (path[plain["num_steps"] :] == last).all()


@pytest.mark.parametrize("name", ["paper", "plugin", "exact", "labels"])
def test_every_algorithm_equals_the_reference_loop(name):
    """With options; the paths by default are those of the golden files."""
    x, y = simulated(6, 40)
    options = {"tol": 1e-8, "max_steps": 7, "start": (0.9, 0.05), "alpha": 0.1}
    model = (*reference_of(x), [int(v) for v in y])
    plain = su.algorithm_3(*model, **options) if name == "labels" else su.algorithm_1(*model, name, **options)
    compare_with_plain_python(run(x, y, name=name, **options), plain)


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


@pytest.mark.parametrize("name", STEPS)
def test_a_rate_that_is_never_defined_keeps_its_value(name):
    fit = run(jnp.full(40, -jnp.inf), (jnp.arange(40) < 10).astype(jnp.int32), name=name)
    np.testing.assert_allclose([fit.p_detection, fit.p_false_alarm], [0.5, 0.25], atol=1e-12)


def test_no_steps_is_the_start_and_not_converged():
    fit = run(*simulated(8, 40), (0.7, 0.1), name="labels", max_steps=0)
    assert fit.path.tolist() == [[0.7, 0.1]] and not bool(fit.converged) and int(fit.num_steps) == 0


@pytest.mark.parametrize("name", ["second_order", "exact"])
def test_float32_ends_where_float64_does(name):
    x, y = simulated(9, 40)
    double, single = run(x, y, name=name), run(x.astype(jnp.float32), y, name=name)
    assert single.path.dtype == single.p_detection.dtype == jnp.float32
    assert abs(float(single.p_detection) - float(double.p_detection)) < 1e-4
    assert abs(float(single.p_false_alarm) - float(double.p_false_alarm)) < 1e-4


@pytest.mark.slow
def test_power_sums_by_blocks_are_those_of_all_samples_at_once(monkeypatch):
    """Blocks that do not divide the samples, several sets and choices, weights; against NumPy's sums."""
    rng = np.random.default_rng(0)
    p, chosen, weight = rng.random((3, 1001)), rng.random((2, 1001)) < 0.4, rng.random(1001)
    for often in (None, weight):
        columns = np.stack([np.ones(1001), *chosen]) * (1 if often is None else often)
        wanted = np.stack([p**k @ columns.T for k in range(1, 10)], axis=1)
        for block in (100, 1001):
            monkeypatch.setattr(steps, "_BLOCK", block)
            found = steps._power_sums(*(x if x is None else jnp.asarray(x) for x in (p, chosen, often)))
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("tails", "samples", "dtype"),
    [(5e-4, 40_000, jnp.float64), (0.1, 400, jnp.float32),
     pytest.param(0.5, 400, jnp.float64, marks=pytest.mark.slow),
     pytest.param(0.1, 40_000, jnp.float64, marks=pytest.mark.slow),
     pytest.param(2e-3, 40_000, jnp.float32, marks=pytest.mark.slow)],
)  # fmt: skip  # .0005 is rare: its sums are taken by themselves
def test_tails_from_the_power_sums_of_heads_are_tails_by_themselves(tails, samples, dtype):
    """Both ways to the tails of a coin, from single coins and from merged ones."""
    rng = np.random.default_rng(2)
    q = np.clip(rng.beta(0.5, 0.5 / tails - 0.5, samples), 1e-12, 1 - 1e-12)
    p, chosen = jnp.asarray(np.stack([1 - q, q]), dtype), jnp.asarray(rng.random((1, samples)) < 0.3)
    for weight in (None, jnp.asarray(rng.integers(0, 30, samples), dtype)):
        apart, together = (shares_of(p, chosen, weight, complementary=both) for both in (False, True))
        np.testing.assert_allclose(together, apart, rtol=0, atol=1e-10 if dtype == jnp.float64 else 0)


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


@pytest.mark.parametrize("share", [2.0, 3.0, 4.0, 4.4, 6.0, 11.9, 12.1, 30.0])
@pytest.mark.parametrize("detection", [0.05, 0.5, 0.97])
def test_recall_with_heavy_tails(share, detection):
    """`share` is mean/sd of the number of positives: below 4.4 the tails reach 14 sd of the delta method.

    The density was cut there: the mean was off by up to 3.8e-3.
    """
    mean_u, mean_v = 0.4 * detection, 0.4 * (1 - detection)  # true positives, false negatives
    variance = (0.4 / share) ** 2
    m = ShareMoments(0.45, mean_u, mean_v, 0.3 * variance, 0.7 * variance)
    law, ratio = (
        normal_law(m, "recall"),
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
    assert law.grid_mass == pytest.approx(mass, abs=1e-8)
    assert law.mean == pytest.approx(moment(1) / mass, abs=1e-8)
    assert law.sd**2 == pytest.approx(moment(2) / mass - (moment(1) / mass) ** 2, abs=1e-8)
