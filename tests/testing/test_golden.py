"""Binary testing against the reference files: exact posterior, plug-in posteriors, algorithms, baselines."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.stats.ratio_of_normals import second_order_mean
from jtruth.tables.metrics import named_metric
from jtruth.testing import (
    BetaPrior,
    binary_posterior,
    collapse,
    exact_step,
    iterate,
    moments,
    normal_posterior,
    precision_recall_density,
    ratio_step,
    roc_density,
    steps,
)
from jtruth.testing.baselines import prior_marginal_table
from jtruth.testing.binary.empirical_bayes import class_dist, metric_ratio, of_point
from jtruth.testing.binary.exact import count_table, dist_at
from tests.testing.golden_cases import CASES, METRIC, check_dist, log_odds

pytestmark = pytest.mark.parametrize("name", CASES)
PRIORS = {"full_bayes_uniform": BetaPrior(), "full_bayes_Beta(2,1)x(1,3)": BetaPrior(2.0, 1.0, 1.0, 3.0)}
RATES = named_metric("recall"), named_metric("false_alarm_rate")
PRECISION_RECALL = "precision", "recall"
moments = jax.jit(moments)  # called as it is, every primitive in it is a program of its own


def by_second_order(x, y):
    """Algorithm 1 by this mean, whether or not moments exist."""
    return lambda point, _: jnp.stack(
        [second_order_mean(metric_ratio(moments(x, y, point), rate)) for rate in RATES]
    )


STEPS = {
    "alg1_paper": partial(ratio_step, mean="marsaglia"),
    "alg1_quad": partial(ratio_step, mean="integral"),
    "alg1_delta2": by_second_order,
    "alg1_plugin": lambda x, y: of_point(steps.plug_in_step(class_dist(x), y)),
    "alg1_exact_means": exact_step,
    "alg3": lambda x, y: of_point(steps.labels_step(class_dist(x), y)),
}


def arrays(case):
    x, y = log_odds(case)
    return jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.int32)


@pytest.mark.parametrize("field", PRIORS)
def test_exact_posterior(golden, name, field):
    case = golden(f"su_{name}")
    table = count_table(collapse(*log_odds(case)), PRIORS[field])
    for block, metric in METRIC.items():
        check_dist(table.estimate(metric), case[field][block])


def test_dists_at_an_operating_point_exact(golden, name):
    case = golden(f"su_{name}")
    table = dist_at(collapse(*log_odds(case)), 0.7, 0.2)
    for block, metric in METRIC.items():
        check_dist(table.estimate(metric), case["eb_exact_at_(.7,.2)"][block])


def test_moments_and_normal_dists(golden, name):
    case = golden(f"su_{name}")
    x, y = arrays(case)
    for at in case["at_op"]:
        m = moments(x, y, jnp.asarray([at["pD"], at["pFA"]], jnp.float64))
        expected = [at["moments"][k] for k in ("muU", "varU", "muV", "varV", "n1")]
        np.testing.assert_allclose(np.array(m), expected, rtol=1e-12, atol=1e-15)
        for block, metric in METRIC.items():
            if at[block] and at[block].get("ratio"):
                of = at[block]["ratio"]
                wanted = of["muZ"], of["muW"], of["sZ"] ** 2, of["sW"] ** 2, of["cov"]
                np.testing.assert_allclose(
                    metric_ratio(m, named_metric(metric)), wanted, rtol=1e-11, atol=1e-15
                )
            if not at[block] or "pdf" not in at[block] or not at[block]["pdf"]:
                continue
            dist = normal_posterior(m, metric)
            if not hasattr(dist, "grid"):
                continue  # a point mass has no density to compare
            x_at, density = np.array(at[block]["pdf"]["x"]), at[block]["pdf"]["pdf"]
            inside = (x_at >= dist.grid[0]) & (x_at <= dist.grid[-1])
            found = dist.density(x_at) * dist.grid_mass
            np.testing.assert_allclose(found[inside], np.array(density)[inside], rtol=1e-8, atol=1e-8)
            mean, mode = dist.mean, dist.mode
            for level in ("0.5", "0.8", "0.95"):
                summary, region = at[block][f"summary_{level}"], dist.region(float(level))
                np.testing.assert_allclose(mean, summary["mean"], atol=1e-8)
                np.testing.assert_allclose(mode, summary["map"], atol=1e-7)  # golden: good to 5e-9
                ends = (region.intervals[0][0], region.intervals[-1][1])
                np.testing.assert_allclose(ends, (summary["lo"], summary["hi"]), atol=1e-8)


@pytest.mark.parametrize(
    "field", [pytest.param(f, marks=[pytest.mark.slow] * (f == "alg1_quad")) for f in STEPS]
)
def test_iterative_algorithms(golden, name, field):
    case = golden(f"su_{name}")
    x, y = arrays(case)
    fit = jax.jit(lambda x, y: iterate(STEPS[field](x, y), dtype=x.dtype))(x, y)
    expected = case[field]
    np.testing.assert_allclose(fit.p_detection, expected["pD"], atol=1e-10)
    np.testing.assert_allclose(fit.p_false_alarm, expected["pFA"], atol=1e-10)
    assert int(fit.num_steps) == expected["iterations"]
    assert bool(fit.converged) == bool(expected["converged"])
    if "path" in expected:
        path = np.array(fit.path[: int(fit.num_steps) + 1])
        np.testing.assert_allclose(path, expected["path"], atol=1e-10)


def test_joint_densities(golden, name):
    case = golden(f"su_{name}")
    x, y = arrays(case)
    for at in case["at_op"]:
        m = moments(x, y, jnp.asarray([at["pD"], at["pFA"]], jnp.float64))
        for block, function in (("joint_roc_17", roc_density), ("joint_pr_18", precision_recall_density)):
            rows = [[float(v) for v in row] for row in at.get(block) or [] if None not in row]
            for first, second, value in rows:
                if np.isfinite(value):
                    np.testing.assert_allclose(function(m, first, second), value, rtol=1e-8, atol=1e-12)
                    names = ("recall", "false_alarm_rate") if function is roc_density else PRECISION_RECALL
                    there = {"method": "empirical_bayes", "point": (at["pD"], at["pFA"])}
                    joint = binary_posterior(*log_odds(case), **there).joint(*names)
                    np.testing.assert_allclose(joint.density(first, second), value, rtol=1e-8, atol=1e-12)


def test_prior_marginal_baseline(golden, name):
    case = golden(f"su_{name}")
    field = "paper_prior_marginalised_GL32"
    if field not in case:
        pytest.skip("this reference case holds no prior-marginal result")
    table = prior_marginal_table(collapse(*log_odds(case)))
    for block, metric in METRIC.items():
        check_dist(table.estimate(metric), case[field][block], tolerance=1e-10)


def test_labelers(golden, name):
    from jtruth.labels import Labels
    from jtruth.testing import labeler_metrics

    case = golden(f"su_{name}")
    labels = Labels.from_matrix(np.array(case["input"]["z"]), 2)
    found = labeler_metrics(np.array(case["input"]["yhat"]), labels)
    expected = np.array(case["labelers"]["each"], np.float64)
    np.testing.assert_allclose(found.each, expected, atol=1e-12)
    np.testing.assert_allclose(found.mean, np.array(case["labelers"]["mean"], np.float64), atol=1e-12)
    median = np.array(case["labelers"]["vardi_zhang"], np.float64)
    np.testing.assert_allclose(found.median, median, atol=1e-6)


def test_joint_estimate_is_a_sum_over_the_table(golden, name):
    table = count_table(collapse(*log_odds(golden(f"su_{name}"))))
    joint = table.joint("precision", "recall")
    dist = table.estimate("recall")
    np.testing.assert_allclose(joint.mean[1], dist.mean, atol=1e-10)
    np.testing.assert_allclose(np.sqrt(joint.covariance[1, 1]), dist.sd, atol=1e-10)
