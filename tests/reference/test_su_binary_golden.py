"""The reference of this folder against the golden files, field by field, and against itself (two ways)."""

import itertools
import math

import numpy as np
import pytest

from . import su_binary as su

NAMES = ("tiny5", "small12", "known_labels", "near_chance", "yhat_all1", "main_N200")
CLOSED, INTEGRAL, EXACT = 1e-10, 1e-8, 1e-12
VARIANTS = {
    "alg1_paper": "paper",
    "alg1_quad": "quad",
    "alg1_delta2": "delta2",
    "alg1_plugin": "plugin",
    "alg1_exact_means": "exact",
}
PMF_FIELDS = (
    "eb_exact_at_(.7,.2)",
    "full_bayes_uniform",
    "full_bayes_Beta(2,1)x(1,3)",
    "paper_prior_marginalised_GL32",
)
CHECKED = {
    *(
        "name",
        "note",
        "input",
        "lik",
        "rho",
        "at_op",
        "collapsed_loglik",
        "alg3",
        "alg3_jmax0",
        "labelers",
        "tars",
    ),
    *VARIANTS,
    *("alg1_delta2_converged_1e-12", "alg1_plugin_converged_1e-12", "full_bayes_table_AB"),
    *PMF_FIELDS,
}


class Case:
    """One golden file with its inputs under short names."""

    def __init__(self, data):
        self.data, self.input = data, data["input"]
        self.prior = [1 - self.input["pi1"], self.input["pi1"]]
        self.z, self.y_pred = self.input["z"], self.input["yhat"]
        i = self.input
        self.lik = su.label_likelihood(self.z, 2, i["delta"], i["phi"], i["theta"])
        self.model = (self.lik, self.prior, self.y_pred)

    def moments(self, p_d, p_fa):
        posterior = su.testing_posterior(*self.model, su.operating_matrix(p_d, p_fa))
        return su.moments(posterior[:, 1], self.y_pred)


@pytest.fixture(params=NAMES)
def case(request, golden):
    return Case(golden(f"su_{request.param}"))


def close(got, want, tolerance):
    """Absolute comparison of numbers or arrays; None (null) equals None only."""
    if want is None or got is None:
        assert got is want
        return
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(want, float), rtol=0, atol=tolerance)


def undefined(value):
    return isinstance(value, dict) and "undefined" in value


def base(name):
    """Golden 'F2' is F with beta = 2."""
    return ("F", 2) if name == "F2" else (name, 1)


def test_no_golden_field_is_left_out(case):
    assert set(case.data) <= CHECKED


def test_likelihood_posteriors_and_collapsed_likelihood(case):
    close(case.lik, case.data["lik"], EXACT)
    close(su.class_posterior(case.lik, case.prior)[:, 1], case.data["rho"], EXACT)
    for p_d, p_fa, value in case.data["collapsed_loglik"]:
        close(su.collapsed_log_likelihood(*case.model, su.operating_matrix(p_d, p_fa)), value, CLOSED)


def test_posterior_moments_and_count_pmfs_at_given_operating_points(case):
    for op in case.data["at_op"]:
        k = su.operating_matrix(op["pD"], op["pFA"])
        posterior1 = su.testing_posterior(*case.model, k)[:, 1]
        close(posterior1, op["posterior1"], EXACT)
        m = su.moments(posterior1, case.y_pred)
        assert set(m) == set(op["moments"])
        for name, value in op["moments"].items():
            close(m[name], value, EXACT)
        on, off = su.split_by_prediction(posterior1, case.y_pred)
        close(su.poisson_binomial(on), op["pb_A"], EXACT)
        close(su.poisson_binomial(off), op["pb_B"], EXACT)


def test_ratio_parameters_and_closed_form_means(case):
    for op, name in itertools.product(case.data["at_op"], ("P_D", "P_FA", "F", "F2")):
        want, (metric, beta) = op[name], base(name)
        p = su.ratio_parameters(metric, case.moments(op["pD"], op["pFA"]), beta)
        for field, value in want["ratio"].items():
            close(p[field], value, EXACT)
        close(su.second_order_mean(p), want["delta2_mean"], CLOSED)
        q = su.marsaglia_parameters(p)
        degenerate = q["k"] is not None
        assert degenerate == (0 in su.split_counts(case.y_pred))
        # With rho = 1 the golden a and r are rounding noise (2^26) or a ZeroDivisionError; the rest is not.
        for field in ("b", "s") if degenerate else ("a", "b", "r", "s"):
            if not undefined(want["marsaglia"]):
                close(q[field], want["marsaglia"][field], CLOSED)
        for field, got in (("paper_mean", su.closed_form_mean(q)), ("paper_var", su.closed_form_variance(q))):
            if undefined(want[field]):
                assert degenerate
            else:
                close(got, want[field], CLOSED)
        conditional = want["conditional_mean_given_Y>-4"]
        if isinstance(conditional, float):
            close(su.mean_given_denominator(q), conditional, INTEGRAL)
        else:
            assert degenerate or q["b"] < 4.04  # golden leaves it out too at b = 4.03


def test_densities_and_their_means(case):
    for op, name in itertools.product(case.data["at_op"], ("ACC", "PREC", "P_D", "P_FA", "F", "F2")):
        want, (metric, beta) = op[name], base(name)
        density = su.metric_density(metric, case.moments(op["pD"], op["pFA"]), beta)
        if undefined(want["pdf"]):
            assert density is None  # a point mass
            continue
        close(density(np.array(want["pdf"]["x"])), want["pdf"]["pdf"], INTEGRAL)
        close(su.literal_mean(density), want["mean_quad_literal"], INTEGRAL)
        close(su.renormalised_mean(density), want["mean_quad_renormalised"], INTEGRAL)


@pytest.mark.parametrize("level", [*(pytest.param(x, marks=pytest.mark.slow) for x in (0.5, 0.8)), 0.95])
def test_density_summaries(case, level):
    for op, name in itertools.product(case.data["at_op"], ("ACC", "PREC", "P_D", "P_FA", "F", "F2")):
        want, (metric, beta) = op[name][f"summary_{level}"], base(name)
        m = case.moments(op["pD"], op["pFA"])
        density = su.metric_density(metric, m, beta)
        if undefined(want):
            assert density is None
        elif name in ("ACC", "PREC"):
            mean, variance = su.normal_parameters(name, m)
            close([mean, mean], [want["mean"], want["map"]], CLOSED)
            close(su.normal_interval(mean, variance, level), [want["lo"], want["hi"]], CLOSED)
        else:
            close(su.renormalised_mean(density), want["mean"], INTEGRAL)
            close(su.density_mode(density), want["map"], INTEGRAL)
            close(su.density_interval(density, level), [want["lo"], want["hi"]], INTEGRAL)


def test_joint_densities(case):
    for op in case.data["at_op"]:
        m = case.moments(op["pD"], op["pFA"])
        assert ("joint_roc_17" in op) == (m["varU"] > 0 and m["varV"] > 0)
        for p_d, p_fa, value in op.get("joint_roc_17", []):
            close(su.joint_roc_density(p_d, p_fa, m), value, INTEGRAL)
        for prec, rec, value in op.get("joint_pr_18", []):
            close(su.joint_pr_density(prec, rec, m), value, INTEGRAL)


@pytest.mark.parametrize("field", VARIANTS)
def test_algorithm_1(case, field):
    want = case.data[field]
    got = su.algorithm_1(*case.model, VARIANTS[field])
    close([got["p_d"], got["p_fa"]], [want["pD"], want["pFA"]], CLOSED)
    assert (got["num_steps"], got["converged"]) == (want["iterations"], bool(want["converged"]))
    if "path" in want:
        close(got["path"], want["path"], CLOSED)
    if field in ("alg1_delta2", "alg1_plugin"):
        assert want["mac"] == 1  # not looked at by these two
    elif field != "alg1_exact_means" and 0 not in su.split_counts(case.y_pred):
        m = case.moments(*got["path"][-2])
        q = [su.marsaglia_parameters(su.ratio_parameters(name, m)) for name in ("P_D", "P_FA")]
        assert want["mac"] == all(su.moment_condition(x) for x in q)


@pytest.mark.parametrize("variant", ["delta2", "plugin"])
def test_algorithm_1_converged(case, variant):
    want = case.data[f"alg1_{variant}_converged_1e-12"]
    got = su.algorithm_1(*case.model, variant, tol=1e-12, max_steps=1000)
    close([got["p_d"], got["p_fa"]], [want["pD"], want["pFA"]], CLOSED)
    assert (got["num_steps"], got["converged"]) == (want["iterations"], bool(want["converged"]))


def test_algorithm_3(case):
    want, got = case.data["alg3"], su.algorithm_3(*case.model)
    close(got["path"], want["path"], CLOSED)
    close([got["p_d"], got["p_fa"]], [want["pD"], want["pFA"]], CLOSED)
    assert (got["num_steps"], got["converged"]) == (want["iterations"], bool(want["converged"]))
    for field, options in (("alg3", {}), ("alg3_jmax0", {"max_steps": 0})):
        want, got = case.data[field], su.algorithm_3(*case.model, **options)
        assert got["labels"] == want["labels"]
        for name in su.METRICS:
            close(got["metrics"][name], want["metrics"][name], EXACT)


def test_labelers(case):
    want, got = case.data["labelers"], su.labeler_metrics(case.z, case.y_pred)
    for row, values in zip(got, want["each"], strict=True):
        for name, value in zip(su.METRICS, values, strict=True):
            close(row[name], value, EXACT)
    close(list(su.mean_over_labelers(got).values()), want["mean"], EXACT)
    close(list(su.median_over_labelers(got).values()), want["vardi_zhang"], CLOSED)


@pytest.mark.parametrize(
    "field", [*PMF_FIELDS[:2], *(pytest.param(f, marks=pytest.mark.slow) for f in PMF_FIELDS[2:])]
)
def test_metric_pmfs(case, field):
    if field not in case.data:
        assert case.data["name"] in ("near_chance", "main_N200") and field == PMF_FIELDS[3]
        return
    table = {
        PMF_FIELDS[0]: lambda: su.table_at_operating_point(*case.model, 0.7, 0.2),
        PMF_FIELDS[1]: lambda: su.table_beta(*case.model)[0],
        PMF_FIELDS[2]: lambda: su.table_beta(*case.model, 2, 1, 1, 3)[0],
        PMF_FIELDS[3]: lambda: su.prior_marginal_table(*case.model),
    }[field]()
    if field == "full_bayes_uniform" and "full_bayes_table_AB" in case.data:
        close(table, case.data["full_bayes_table_AB"], EXACT)
    for name in su.METRICS:
        want, (pmf, missing) = case.data[field][name], su.metric_pmf(table, name)
        close(missing, want["undefined_mass"], EXACT)
        close([su.pmf_mean(pmf), su.pmf_sd(pmf)], [want["mean"], want["sd"]], EXACT)
        if "values" in want:
            close([float(v) for v in pmf], want["values"], EXACT)
            close(list(pmf.values()), want["pmf"], EXACT)
        for level, interval in want["intervals"].items():
            close(su.shortest_interval(pmf, float(level)), interval, EXACT)


def test_tars_block(case):
    i, want = case.input, case.data["tars"]
    labels, r = su.consolidate(case.z, i["delta"], i["phi"], i["theta"], case.prior)
    assert labels == want["consolidated"]
    close(r, want["r"], EXACT)
    got = su.unbiased_metrics(labels, r, case.y_pred)
    for name, value in want["metrics"].items():
        close(got[name], value, CLOSED)


@pytest.fixture
def multi(golden):
    d = golden("su_multi3")
    i = d["input"]
    return d, (su.label_likelihood(i["z"], 3, i["delta"], i["phi"]), i["pi"], i["yhat"])


def test_multi_class_golden(multi):
    d, model = multi
    close(model[0], d["lik"], EXACT)
    close(su.class_posterior(*model[:2]), d["class_posterior"], EXACT)
    got, want = su.algorithm_4(*model, "plugin"), d["alg4_deterministic"]
    close(got["k"], want["K"], CLOSED)
    assert (got["num_steps"], got["converged"]) == (want["iterations"], bool(want["converged"]))
    tight = su.algorithm_4(*model, "plugin", tol=1e-12, max_steps=1000)
    close(tight["k"], d["alg4_deterministic_1e12"]["K"], CLOSED)
    assert tight["num_steps"] == d["alg4_deterministic_1e12"]["iterations"]
    # Posteriors and counts are those at the K of tolerance 1e-3.
    posterior = su.testing_posterior(*model, got["k"])
    close(posterior, d["testing_posterior"], CLOSED)
    pmf = su.accuracy_pmf(posterior, model[2])
    close([su.pmf_mean(pmf), su.pmf_sd(pmf) ** 2], [d["acc"]["mean"], d["acc"]["var"]], CLOSED)
    mean, variance = su.expected_confusion(posterior, model[2])
    close(mean, d["E_C"], CLOSED)
    close(variance, d["var_C"], CLOSED)


# ---------------------------------------------------------------- the reference against itself, no golden


def problem(num_classes, num_samples, seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(-1, num_classes, (num_samples, 3))
    prior = rng.dirichlet(np.full(num_classes, 5.0))
    lik = su.label_likelihood(z, num_classes, rng.uniform(0, 0.4, num_samples), [0.1, 0.2, 0.4])
    y_pred = [int(u) for u in rng.integers(0, num_classes, num_samples)]
    return lik, list(prior), y_pred


def test_tables_equal_enumeration():
    model = problem(2, 8, 1)
    posterior, evidence = su.enumerate_labels(*model, k=su.operating_matrix(0.7, 0.2))
    close(su.table_at_operating_point(*model, 0.7, 0.2), su.enumerated_table(posterior, model[2]), EXACT)
    collapsed = su.collapsed_log_likelihood(*model, su.operating_matrix(0.7, 0.2))
    close(collapsed + su.log_label_evidence(*model[:2]), math.log(evidence), EXACT)
    for shape in ((1, 1, 1, 1), (2, 1, 1, 3), (0.5, 2.5, 4, 0.7)):
        posterior, evidence = su.enumerate_labels(*model, alpha=su.beta_rows(*shape))
        table, log_evidence = su.table_beta(*model, *shape)
        close(table, su.enumerated_table(posterior, model[2]), EXACT)
        close(log_evidence, math.log(evidence), EXACT)


def test_integrated_operating_point_equals_quadrature():
    model = problem(2, 6, 2)
    x, w = np.polynomial.legendre.leggauss(12)  # exact for the polynomials of degree <= 6 met here
    table, total = 0.0, 0.0
    for i, j in itertools.product(range(12), repeat=2):
        p_d, p_fa = 0.5 * (x[i] + 1), 0.5 * (x[j] + 1)
        weight = 0.25 * w[i] * w[j]
        weight *= math.exp(su.collapsed_log_likelihood(*model, su.operating_matrix(p_d, p_fa)))
        table, total = table + weight * su.table_at_operating_point(*model, p_d, p_fa), total + weight
    close(su.table_beta(*model)[0], table / total, EXACT)


def test_multi_class_formulas_equal_enumeration():
    model = problem(3, 6, 3)
    k = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
    law, _ = su.enumerate_labels(*model, k=k)
    posterior = su.testing_posterior(*model, k)
    close(
        su.expected_confusion(posterior, model[2])[0],
        su.enumerated_expected_confusion(law, model[2], 3),
        EXACT,
    )
    exact, enumerated = su.accuracy_pmf(posterior, model[2]), su.enumerated_accuracy_pmf(law, model[2])
    close([exact[v] for v in sorted(exact)], [enumerated[v] for v in sorted(exact)], EXACT)
    got = su.expected_conditional_confusion(posterior, model[2])
    for true in range(3):
        seen, mass = np.zeros(3), 0.0
        for y, p in law.items():
            counts = np.array(su.confusion_counts(y, model[2], 3)[true])
            if counts.sum():
                seen, mass = seen + p * counts / counts.sum(), mass + p
        close(got[true], seen / mass, EXACT)


def test_dirichlet_enumeration_with_two_classes_is_the_beta_table():
    model = problem(2, 7, 4)
    law, _ = su.enumerate_labels(*model, alpha=[[3.0, 1.0], [1.0, 2.0]])
    close(su.table_beta(*model, 2, 1, 1, 3)[0], su.enumerated_table(law, model[2]), EXACT)


def test_algorithm_2_agrees_with_its_limit():
    # 20 000 draws: a mean of values in [0, 1] has standard error below .0036; .018 is 5 of them (false-alarm
    # rate below 1e-5; the seed is fixed).
    model = problem(2, 30, 5)
    got = su.algorithm_2(np.random.default_rng(0), *model, num_draws=20_000, max_steps=2, tol=0.0)
    want = su.algorithm_1(*model, "exact", max_steps=2, tol=0.0)
    close(got["path"], want["path"], 0.018)


MOMENTS = {"muU": 0.3, "varU": 4e-4, "muV": 0.05, "varV": 2e-4, "n1": 0.4}


def normal_mass(mean, variance, low, high):
    z = [(x - mean) / math.sqrt(2 * variance) for x in (low, high)]
    return 0.5 * (math.erf(z[1]) - math.erf(z[0]))


def test_joint_densities_hold_the_mass_of_u_and_v():
    # The unit squares are the images of 0 < U < n1 and 0 < V (and V < 1 - n1, far away here).
    m = MOMENTS
    mass = normal_mass(m["muU"], m["varU"], 0, m["n1"]) * normal_mass(m["muV"], m["varV"], 0, 1 - m["n1"])

    def recall_mass(prec):
        return su.integrate(lambda rec: su.joint_pr_density(prec, rec, m), 1e-6, 1.0, 20)

    def detection_mass(p_d):
        return su.integrate(lambda p_fa: su.joint_roc_density(p_d, p_fa, m), 0.0, m["n1"] - 1e-9, 20)

    got = su.integrate(np.vectorize(recall_mass), 0.0, 1.0, 20)
    close(got, mass, INTEGRAL)
    # P_D > n1 if and only if P_FA < n1; the other half of the square holds nothing here.
    got = su.integrate(np.vectorize(detection_mass), m["n1"] + 1e-9, 1.0, 20)
    close(got, mass, INTEGRAL)


def test_ratio_density_equals_the_integral_over_the_denominator():
    for name, beta, x in itertools.product(("P_D", "P_FA", "F"), (1, 2), (0.1, 0.2, 0.6, 0.85, 0.95)):
        p = su.ratio_parameters(name, MOMENTS, beta)
        slope = p["cov"] / p["sW"] ** 2
        rest = p["sZ"] ** 2 - slope * p["cov"]

        def joint(w, p=p, x=x, slope=slope, rest=rest):
            given = su.normal_density(x * w, p["muZ"] + slope * (w - p["muW"]), rest)
            return abs(w) * given * su.normal_density(w, p["muW"], p["sW"] ** 2)

        want = su.integrate(joint, p["muW"] - 12 * p["sW"], p["muW"] + 12 * p["sW"])
        close(su.ratio_density(x, su.marsaglia_parameters(p)), want, INTEGRAL)


def test_degenerate_ratio_is_the_limit():
    # All predictions 1, nearly: V has almost no variance.
    m = {"muU": 0.55, "varU": 6e-3, "muV": 0.0, "varV": 0.0, "n1": 1.0}
    nearly = dict(m, varV=1e-10)
    limit, near = (su.marsaglia_parameters(su.ratio_parameters("F", x)) for x in (m, nearly))
    assert limit["k"] is not None and near["k"] is None
    close(
        [su.ratio_density(x, limit) for x in (0.6, 0.7, 0.8)],
        [su.ratio_density(x, near) for x in (0.6, 0.7, 0.8)],
        1e-4,
    )
    close(su.closed_form_mean(limit), su.closed_form_mean(near), 1e-6)


def test_joint_pmf_obeys_the_definition_of_f():
    table, _ = su.table_beta(*problem(2, 8, 6))
    joint, missing = su.joint_pmf(table, ("PREC", "P_D", "F"), beta=2)
    close(math.fsum(joint.values()), 1.0, EXACT)
    for prec, rec, f in joint:
        assert 4 * prec + rec == 0 or f == 5 * prec * rec / (4 * prec + rec)  # exact Fractions
    assert missing == su.metric_pmf(table, "P_D")[1]


def test_sets_of_a_pmf():
    pmf = {0: 0.1, 1: 0.3, 2: 0.1, 3: 0.3, 4: 0.2}
    assert su.shortest_interval(pmf, 0.5)[:2] == (3, 4)
    # (1, 3) and (2, 4) are equally long; .7 beats .6.
    assert su.shortest_interval(pmf, 0.6)[:2] == (1, 3)
    assert su.highest_density_set(pmf, 0.6)[0] == [1, 3]
    assert su.shortest_interval(pmf, 1.0)[:2] == (0, 4)


def test_geometric_median_at_and_off_a_data_point():
    # Three of five points coincide: the median is that point (Vardi and Zhang's case eta >= |R|).
    close(su.geometric_median([[0, 0], [0, 0], [0, 0], [5, 1], [-2, 9]]), [0, 0], EXACT)
    # An equilateral triangle: the centre, by symmetry.
    close(su.geometric_median([[0, 0], [2, 0], [1, math.sqrt(3)]]), [1, 1 / math.sqrt(3)], CLOSED)
