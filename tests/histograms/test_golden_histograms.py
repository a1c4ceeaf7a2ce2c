"""The reference values of `histograms.json`: metrics, alpha-calibration and scaling, to 1e-10."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import histograms as hist
from jtruth.histograms import calibration, concentration

EXACT = {"rtol": 0, "atol": 1e-10}


@pytest.fixture(scope="module")
def cases(golden):
    return golden("histograms")["cases"]


def of_kind(cases, kind):
    found = [case for case in cases if case["kind"] == kind]
    assert found
    return found


@pytest.mark.slow
def test_losses_with_every_rule(cases):
    for case in of_kind(cases, "metrics"):
        h, z, edges = hist.from_counts(case["y"]), np.array(case["z"]), calibration.equal_width_edges(15)
        phi = np.asarray(hist.disagreement_probability(z))
        rules = {"CL_plugin": ("none", "zero"), "CL_hat_paper": ("paper", "zero"),
                 "CL_hat_code": ("paper", "plugin"), "CL_hat_exact": ("exact", "zero")}  # fmt: skip
        for name, (debias, singletons) in rules.items():
            values, classes, pairs = calibration.loss_values(
                h, z, edges, phi, debias=debias, singletons=singletons
            )
            np.testing.assert_allclose(values["calibration_loss"][0], case[name], **EXACT)
            np.testing.assert_allclose(classes.by_class.sum(), case[name], **EXACT)
            np.testing.assert_allclose(values["squared_loss"][0], case["L_sq"], **EXACT)
            epistemic = case["EL_plugin" if debias == "none" else "EL_hat"]
            np.testing.assert_allclose(values["epistemic_loss"][0], epistemic, **EXACT)
            np.testing.assert_allclose(values["dispersion_loss"][0], epistemic - case[name], **EXACT)
            if name == "CL_hat_code":  # (36) leaves bins of one sample uncorrected
                np.testing.assert_allclose(values["dispersion_loss"][0], case["DL_hat_eq36"], **EXACT)
            if name == "CL_hat_paper":
                np.testing.assert_allclose(pairs.total, case["CL_phi"][1], **EXACT)
            if name == "CL_plugin":
                np.testing.assert_allclose(values["dispersion_loss"][0], case["DL_plugin"], **EXACT)
                np.testing.assert_allclose(pairs.total, case["CL_phi"][0], **EXACT)
            np.testing.assert_allclose(values["disagreement_loss"][0], case["L_phi"], **EXACT)
        np.testing.assert_allclose(hist.disagreement(h), case["mu_disagree"], **EXACT)


def test_what_a_dirichlet_dist_predicts(cases):
    for case in of_kind(cases, "metrics"):
        h, z, alpha = hist.from_counts(case["y"]), np.array(case["z"]), np.array(case["alpha0"])
        np.testing.assert_allclose(hist.disagreement_probability(z, alpha), case["dpe_alpha"], **EXACT)
        np.testing.assert_allclose(hist.posterior_probabilities(h, z, alpha), case["post"], **EXACT)
        members, a = np.swapaxes(np.array(case["F"]), 0, 1), np.array(case["A0"]).T
        of_member = jax.vmap(hist.disagreement_probability)
        np.testing.assert_allclose(of_member(members).mean(axis=0), case["dpe_ens"], **EXACT)
        np.testing.assert_allclose(of_member(members, a).mean(axis=0), case["dpe_ens_alpha"], **EXACT)


def test_alpha_objective_slope_and_optimum(cases):
    for case in of_kind(cases, "alpha"):
        h, f, t = hist.from_counts(case["y"]), np.array(case["f"]), np.log(np.array(case["alpha0"]))
        options = {"penalty": case["lam"]}
        log_p = hist.log_dirichlet_multinomial(h, f, np.array(case["alpha0"]))
        np.testing.assert_allclose(log_p, case["logpmf"], **EXACT)
        loss = hist.concentration_loss(t, h, f, **options)
        np.testing.assert_allclose(loss, case["loss50_with_coef"], **EXACT)
        loss = hist.concentration_loss(t, h, f, coefficient=False, **options)
        np.testing.assert_allclose(loss, case["loss50_no_coef"], **EXACT)
        # the labels are equally many, so (51) is N times the gradient of (50)
        slope = jax.jit(jax.grad(partial(hist.concentration_loss, histograms=h, probabilities=f, **options)))
        np.testing.assert_allclose(len(f) * slope(t), case["grad51_per_instance"], **EXACT)
        best = np.array(case["opt_log_alpha0"])
        np.testing.assert_allclose(slope(best), 0, **EXACT)


def test_golden_best_concentration(cases):
    (case,) = of_kind(cases, "theorem1")
    for gap, name in ((case["uQ"] - case["sZ"], "dpe"), (case["EL"], "post")):
        expected = [case[f"{name}_opt"], case[f"{name}_low"]]
        np.testing.assert_allclose(hist.best_concentration(1 - case["uQ"], gap), expected, **EXACT)


@pytest.mark.parametrize(
    "kind, method",
    [
        ("vs", "vector"),
        *(pytest.param(*c, marks=pytest.mark.slow) for c in (("ts", "temperature"), ("ms", "matrix"))),
    ],
)
def test_scaling(cases, kind, method):
    (case,) = of_kind(cases, f"scaling_{kind}")
    h, u = hist.from_counts(case["y"]), np.array(case["u"])
    penalties = {"bias_penalty": float(case["lambda_b"]), "weight_penalty": float(case["lambda_w"])}
    fit = jax.jit(lambda p: concentration.fit_scaling(u, h, method=method, **p))
    (weights, bias), value, converged = fit(penalties)
    assert converged
    np.testing.assert_allclose(value, case["loss"], **EXACT)
    np.testing.assert_allclose(weights, case["W"], atol=1e-7)
    np.testing.assert_allclose(bias, case["b"], atol=1e-7)
    start = concentration.scaling_loss(jnp.eye(3), jnp.zeros(3), u, h, **penalties)
    assert value < start
