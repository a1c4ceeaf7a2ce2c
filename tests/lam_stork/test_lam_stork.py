"""Lam & Stork (2003): reference values, printed tables, bounds, intervals, and the posterior of section 7."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from jtruth.lam_stork import (
    apparent_breakeven,
    apparent_error_rate,
    error_bounds,
    error_rate_posterior,
    estimate_bounds,
    estimate_error_rate,
    labels_per_perfect_label,
    policy_boundary,
    true_error_rate,
)
from jtruth.lam_stork.rates import true_error_variance


def test_golden_rates_and_bounds(golden):
    cases = [case for case in golden("lam_stork")["cases"] if case["kind"] in ("rates", "degenerate")]
    assert len(cases) == 14
    for case in cases:
        m, a = case["mislabel"], case["apparent"]
        bounds = error_bounds(a, m)
        values = {"back": true_error_rate(a, m), "upper": bounds.upper, "lower_any": bounds.lower}
        if case["kind"] == "rates":
            values |= {
                "apparent": apparent_error_rate(case["true"], m),
                "var_l500": true_error_variance(case["true"], m, 500),
                "ratio_eq3": labels_per_perfect_label(case["true"], m),
                "boundary": policy_boundary(m),
            }
            boundary = values["boundary"]
            assert (boundary < case["true"] < 1 - boundary) == case["more_samples"]
            if not np.isnan(boundary):
                np.testing.assert_allclose((0.5 - boundary) ** 2, case["lhs_eq4"], rtol=0, atol=1e-12)
        case["back"] = case.get("back", case.get("eq2"))
        for name, value in values.items():
            np.testing.assert_allclose(value, float(case[name]), rtol=0, atol=1e-10, err_msg=name)
        # The paper's own may be weaker than the one that needs no assumption: the result has the better.
        least = max(case["lower_any"], case["lower_nonneg"])
        np.testing.assert_allclose(bounds.lower_nonnegative, least, rtol=0, atol=1e-10)


def test_golden_breakeven_points_and_the_rate_from_which_the_boundary_is_none(golden):
    cases = {case["kind"]: [] for case in golden("lam_stork")["cases"]}
    for case in golden("lam_stork")["cases"]:
        cases[case["kind"]].append(case)
    assert len(cases["table2"]) == 18
    for case in cases["table2"]:
        found = apparent_breakeven(case["r"], case["s"], case["p2"])
        np.testing.assert_allclose(found, case["value"], rtol=0, atol=1e-12)
    threshold = cases["threshold"][0]["value"]
    assert policy_boundary(threshold - 1e-9) < 0.5 and np.isnan(policy_boundary(threshold + 1e-9))


@pytest.mark.parametrize(("r", "s", "share"), [(0.7, 0.95, 0.1), (0.9, 0.8, 0.3), (1.0, 0.6, 0.5)])
def test_breakeven_from_both_confusion_matrices(r, s, share):
    """As many false positives as false negatives make precision and recall equal; labels likewise."""
    sizes = np.array([1 - share, share])
    classifier, labeler = (
        np.array([[1 - share * (1 - v) / (1 - share), share * (1 - v) / (1 - share)], [1 - v, v]])
        for v in (r, s)
    )
    joint = np.einsum("c,ca,cb->ab", sizes, labeler, classifier)
    found = apparent_breakeven(r, s, share)
    assert found == pytest.approx(joint[1, 1] / joint[1].sum(), rel=1e-12)
    assert found == pytest.approx(joint[1, 1] / joint[:, 1].sum(), rel=1e-12)


def test_policies_are_variances_of_shares():
    for e, m in itertools.product((0.02, 0.1, 0.3), (0.01, 0.1, 0.3)):
        a = apparent_error_rate(e, m)
        variance = a * (1 - a) / (1 - 2 * m) ** 2
        assert labels_per_perfect_label(e, m) == pytest.approx(variance / (e * (1 - e)), rel=1e-12)
        same = apparent_error_rate(e, m**2)
        twice_better = variance / 2 < same * (1 - same) / (1 - 2 * m**2) ** 2
        assert (policy_boundary(m) < e < 1 - policy_boundary(m)) == twice_better
    assert labels_per_perfect_label(np.array([[0.0], [0.1]]), np.array([0.0, 0.1])).tolist()[0] == [1, np.inf]


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (apparent_error_rate, (0.1, 0.03)),
        (labels_per_perfect_label, (0.1, 0.03)),
        (policy_boundary, (0.03,)),
        (apparent_breakeven, (0.8, 0.9, 0.2)),
    ],
)
def test_rates_in_jax(function, at):
    """jit, vmap, grad and float32 give what NumPy and differences of it give."""
    columns = [np.array([v, 0.7 * v]) for v in at]
    found = jax.jit(jax.vmap(function))(*map(jnp.asarray, columns))
    np.testing.assert_allclose(found, function(*columns), rtol=1e-12)
    single = function(*(jnp.asarray(column, jnp.float32) for column in columns))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, found, rtol=1e-6)
    for k, slope in enumerate(jax.grad(function, argnums=tuple(range(len(at))))(*at)):
        ends = [function(*(v + sign * 1e-6 * (j == k) for j, v in enumerate(at))) for sign in (1, -1)]
        assert float(slope) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)
    small = jnp.asarray(1e-6, jnp.float32)
    assert float(policy_boundary(small)) == pytest.approx(policy_boundary(1e-6), rel=1e-5)


def test_estimate_is_unbiased_and_has_this_variance():
    """Exactly: over all counts, weighted by the binomial."""
    e, m, size = 0.07, 0.12, 40
    k = np.arange(size + 1)
    weight = stats.binom.pmf(k, size, apparent_error_rate(e, m))
    values = true_error_rate(k / size, m)
    assert weight @ values == pytest.approx(e, rel=1e-12)
    assert weight @ (values - e) ** 2 == pytest.approx(true_error_variance(e, m, size), rel=1e-10)


def joint_dists(rng, number, num_classes):
    """Random (error, mislabeling, apparent, P(both wrong)) of posteriors of truth, label and prediction."""
    concentration = rng.choice([0.05, 0.3, 1.0], size=number)
    p = np.array([rng.dirichlet(np.full(num_classes**3, c)) for c in concentration])
    p = p.reshape(number, *[num_classes] * 3)
    y, z, u = np.indices([num_classes] * 3)
    return [(p * cells).sum(axis=(1, 2, 3)) for cells in (u != y, z != y, u != z, (u != y) & (z != y))]


@pytest.mark.parametrize("num_classes", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_bounds_hold_for_every_dist(num_classes):
    rng, seen = np.random.default_rng(num_classes), 0
    for e, m, a, both in zip(*joint_dists(rng, 3000, num_classes), strict=True):
        found = error_bounds(min(a, 1.0), min(m, 1.0), num_classes=num_classes)
        assert found.lower - 1e-12 <= e <= found.upper + 1e-12
        if both >= e * m:
            assert found.lower_nonnegative - 1e-12 <= e
            seen += 1
    assert seen > 300


def test_bounds_of_two_classes_are_attained():
    """All distributions of (prediction wrong, label wrong) on a lattice: their extremes are the bounds."""
    steps, extremes = 12, {}
    for both, only_u, only_z in itertools.product(range(steps + 1), repeat=3):
        if both + only_u + only_z <= steps:
            e, m, a = both + only_u, both + only_z, only_u + only_z
            low, high, least = extremes.get((a, m), (99, -1, 99))
            least = min(least, e) if both * steps >= e * m else least
            extremes[a, m] = min(low, e), max(high, e), least
    for (a, m), (low, high, least) in extremes.items():
        found = error_bounds(a / steps, m / steps)
        assert (found.lower, found.upper) == pytest.approx((low / steps, high / steps))
        if 2 * m < steps and least < 99:
            assert found.lower_nonnegative <= least / steps + 1e-12
            assert least / steps < found.lower_nonnegative + 2.5 / steps  # e has steps of 2/steps


def test_exact_interval_is_clopper_pearson_moved():
    found = estimate_error_rate((3, 50), mislabeling=0.1, method="exact", level=0.9)
    low, high = stats.binomtest(3, 50).proportion_ci(0.9, "exact")
    assert (found.low, found.high) == pytest.approx(((low - 0.1) / 0.8, (high - 0.1) / 0.8))
    assert found.value < 0 and not found.inside and "outside [0, 1]" in found.warnings[0]


def test_exact_interval_and_bounds_hold_their_level():
    """Exactly: coverage over all counts, at every point of a grid of rates."""
    size, audit = 30, 12
    d, k = np.arange(size + 1), np.arange(audit + 1)
    exact, bounds = {}, {}
    for i, j in itertools.product(d.tolist(), k.tolist()):
        if j != audit / 2:
            exact[i, j] = estimate_error_rate((i, size), mislabeling=(j, audit), method="exact", level=0.8)
        bounds[i, j] = estimate_bounds((i, size), mislabeling=(j, audit), level=0.8)
    for e, m in itertools.product((0.0, 0.1, 0.4), (0.02, 0.2)):
        weight = np.outer(stats.binom.pmf(d, size, apparent_error_rate(e, m)), stats.binom.pmf(k, audit, m))
        held = sum(weight[i, j] for (i, j), f in exact.items() if f.low - 1e-12 <= e <= f.high + 1e-12)
        assert held > 0.8 - weight[:, audit // 2].sum()
        for apparent in (abs(e - m), e + m):  # the two extremes of dependence
            weight = np.outer(stats.binom.pmf(d, size, apparent), stats.binom.pmf(k, audit, m))
            assert sum(weight[i, j] for (i, j), f in bounds.items() if f.lower <= e <= f.upper) > 0.8
            if apparent <= e:  # both wrong as often as can be
                held = sum(weight[i, j] for (i, j), f in bounds.items() if f.lower_nonnegative <= e)
                assert held > 0.8


@pytest.mark.parametrize("num_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "counts",
    [
        ((3, 40), (9, 30)),
        ((30, 40), (2, 30)),
        ((9, 40), 0.3),
        *(pytest.param(c, marks=pytest.mark.slow) for c in (((38, 40), (3, 60)), ((39, 40), (45, 60)))),
        ((1, 40), (20, 30)),
    ],
)
def test_estimated_bounds_are_the_worst_over_both_intervals(counts, num_classes):
    differ, wrong = counts
    found = estimate_bounds(differ, mislabeling=wrong, num_classes=num_classes, level=0.9)
    risk = 0.1 if isinstance(wrong, float) else 0.05
    a_ends = stats.binomtest(*differ).proportion_ci(1 - risk, "exact")
    m_ends = (
        (wrong, wrong)
        if isinstance(wrong, float)
        else stats.binomtest(*wrong).proportion_ci(1 - risk, "exact")
    )
    box = itertools.product(np.linspace(*a_ends, 61).tolist(), np.linspace(*m_ends, 61).tolist())
    every = [error_bounds(a, m, num_classes=num_classes) for a, m in box]
    # The grid of 61 x 61 points misses interior extremes (a = m, a + m = 1) by less than a step.
    for value, ends in ((found.lower, [b.lower for b in every]), (found.upper, [-b.upper for b in every])):
        assert abs(value) == pytest.approx(abs(min(ends)), abs=0.01)
    assert found.lower_nonnegative == pytest.approx(min(b.lower_nonnegative for b in every), abs=0.01)


def test_what_the_warnings_say():
    assert estimate_error_rate((68, 1000), mislabeling=0.01).warnings == ()
    found = estimate_error_rate((0, 40), mislabeling=(2, 40))
    assert found.value == pytest.approx(-1 / 18) and "share the labels' errors" in found.warnings[0]
    assert any("all 40 observations of differ agree" in text for text in found.warnings)
    assert "mostly wrong" in estimate_error_rate((30, 40), mislabeling=0.9).warnings[0]
    wide = estimate_error_rate((20, 40), mislabeling=(2, 5), method="exact")
    assert (wide.low, wide.high) == (-np.inf, np.inf) and "unbounded" in wide.warnings[0]
    assert "above 1" in error_bounds(0.8, 0.4).warnings[0]
    assert "no bound" in error_bounds(0.3, 0.6).warnings[0]
    assert "no bound" in estimate_bounds((3, 10), mislabeling=(4, 10)).warnings[0]
    odd = estimate_error_rate((1, 4), mislabeling=(1, 4), method="bootstrap")
    assert any("The rate is undefined in" in text for text in odd.warnings) and odd.high == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: true_error_rate(0.1, 0.5), "mislabeling is 0.5"),
        (lambda: true_error_rate(6.8, 0.05), "apparent is 6.8.*not percentages"),
        (lambda: apparent_error_rate(np.array([0.1, np.nan]), 0.1), r"error\[1\] is nan"),
        (lambda: true_error_variance(0.1, 0.1, 0), "num_samples is 0"),
        (lambda: labels_per_perfect_label(0.1, 0.5), "mislabeling is 0.5"),
        (lambda: policy_boundary(0.6), "mislabeling is 0.6; give rates below 0.5"),
        (lambda: apparent_breakeven(0.9, 0.9, 0.0), "share is 0.0"),
        (lambda: error_bounds(0.1, 0.1, num_classes=1), "num_classes is 1"),
        (lambda: estimate_error_rate(0.1, mislabeling=0.1), "give the pair"),
        (lambda: estimate_error_rate((5, 3), mislabeling=0.1), r"differ is \(5, 3\)"),
        (lambda: estimate_error_rate((1, 3), mislabeling=(1, 0)), r"mislabeling is \(1, 0\)"),
        (lambda: estimate_error_rate((1, 3), mislabeling=5.0), "mislabeling is 5.0, not a probability"),
        (lambda: estimate_error_rate((1, 9), mislabeling=(2, 4)), "mislabeling is 0.5"),
        (lambda: estimate_error_rate((1, 9), mislabeling=0.1, method="wald"), "method must be one of"),
        (lambda: estimate_error_rate((1, 9), mislabeling=0.1, level=95.0), "level is 95"),
        (lambda: estimate_bounds(0.1, mislabeling=0.1), "give the pair"),
        (lambda: error_rate_posterior(3, mislabeling=0.1), "give the pair"),
        (lambda: error_rate_posterior((1, 9), mislabeling=(4, 3)), r"mislabeling is \(4, 3\)"),
    ],
)
def test_bad_input(call, message, as_installed):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("counts", [((8, 60), (2, 20)), ((0, 15), (0, 3)), ((40, 90), (9, 25))])
def test_posterior_is_the_double_integral(counts):
    (d, size), (k, audit) = counts
    constant = 2 * special.binom(size, d) / special.beta(k + 0.5, audit - k + 0.5)

    def density(e):
        def inner(v):
            """Beta(k + 1/2, audit - k + 1/2) at m = v^2, so that it is finite at 0, times the binomial."""
            m = v * v
            p = e + m - 2 * e * m
            prior = constant * v ** (2 * k) * (1 - m) ** (audit - k - 0.5)
            return prior * p**d * (1 - p) ** (size - d)

        return integrate.quad(inner, 0, 1, limit=200, epsabs=1e-13, points=[0.05, 0.2, 0.5, 0.9])[0]

    node, weight = np.polynomial.legendre.leggauss(80)
    e = 0.5 * (node + 1)
    pdf = np.array([density(v) for v in e])
    total = 0.5 * weight @ pdf
    found = error_rate_posterior(counts[0], mislabeling=counts[1])
    np.testing.assert_allclose(found.error.density(e), pdf / total, atol=2e-4 * pdf.max() / total)
    mean = 0.5 * weight @ (pdf * e) / total
    assert found.error.mean == pytest.approx(mean, rel=1e-4)
    square = 0.5 * weight @ (pdf * e**2) / total
    assert found.error.sd == pytest.approx(np.sqrt(square - mean**2), rel=1e-3)


def test_posterior_with_a_known_rate_is_a_truncated_beta():
    found = error_rate_posterior((70, 1_000_000), mislabeling=0.00005).error
    dist = stats.beta(71, 999_931)
    left, right = dist.cdf(0.00005), dist.cdf(0.99995)
    for u in (0.01, 0.5, 0.99):
        expected = (dist.ppf(left + u * (right - left)) - 0.00005) / 0.9999
        assert float(found._quantile(np.array([u]))[0]) == pytest.approx(expected, rel=1e-4)
    assert error_rate_posterior((3, 40), mislabeling=0.0).error.mean == pytest.approx(4 / 42, rel=1e-6)


def test_posterior_of_large_and_lopsided_problems():
    """Ten million tests, an audit of ten: the posterior of e is that of a minus m, wide; and it learns m
    from a."""
    found = error_rate_posterior((1_000_000, 10_000_000), mislabeling=(0, 10))
    assert found.error.interval(0.999).high < 0.1005 and 0 < found.mislabeling_mean < 0.1
    audit = stats.beta(0.5, 10.5)
    m = np.linspace(0, 0.1, 200_001)[1:-1] - 2.5e-7
    weight = audit.pdf(m) / (1 - 2 * m)  # Beta of the audit, Jacobian of e(a, m), a nearly known
    assert found.mislabeling_mean == pytest.approx(weight @ m / weight.sum(), rel=5e-3)
    confused = error_rate_posterior((30, 100), mislabeling=(1, 2))
    conflict = error_rate_posterior((5, 1000), mislabeling=(30, 100))
    assert "contradict the mislabeling rate 0.3" in conflict.warnings[0]
    assert "contradict" in error_rate_posterior((5, 1000), mislabeling=0.02).warnings[0]
    assert error_rate_posterior((12, 1000), mislabeling=0.02).warnings == ()
    assert 0.2 < confused.probability_reversed < 0.8 and "more often than right" in confused.warnings[0]


def test_one_rate_among_many_that_says_nothing_is_refused():
    from jtruth.lam_stork import policy_boundary, true_error_rate

    with pytest.raises(ValueError, match=r"mislabeling is 0\.5"):
        true_error_rate(0.3, np.array([0.1, 0.5]))
    np.testing.assert_array_equal(np.isnan(policy_boundary(np.array([0.1, 0.165, 0.167, 0.3]))), [0, 0, 1, 1])
