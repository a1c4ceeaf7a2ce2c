"""Lam & Stork (5), (6), solved and fitted: reference values, derivatives, optimality, coverage."""

import itertools

import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from jtruth.lam_stork import estimate_error_rate, fit_confusion, recover_confusion, rogan_gladen
from jtruth.lam_stork import fit as fitting
from jtruth.lam_stork import matrix as algebra

LABELER = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.1, 0.85]])
CLASSIFIER = np.array([[0.9, 0.06, 0.04], [0.1, 0.8, 0.1], [0.02, 0.18, 0.8]])
PRIOR = np.array([0.5, 0.3, 0.2])
JOINT = PRIOR[:, None] * CLASSIFIER
FIELDS = ("joint", "prior", "confusion", "precision", "accuracy")
TRUTH = algebra.targets(JOINT)


def draw(rng, size, gold=None):
    """Counts of labels and predictions, and of gold answers by class."""
    counts = rng.multinomial(size, (LABELER.T @ JOINT).ravel()).reshape(3, 3)
    return counts, None if gold is None else np.array([rng.multinomial(gold, row) for row in LABELER])


def test_golden(golden):
    cases = [case for case in golden("lam_stork")["cases"] if case["kind"] == "eq5_6"]
    assert len(cases) == 2
    for case in cases:  # the file, like the paper, has true classes in columns
        labeler = np.array(case["P_labeler"]).T
        joint = algebra.solve_joint(labeler, np.array(case["joint"]))
        np.testing.assert_allclose(algebra.class_shares(joint), case["prior"], rtol=0, atol=1e-10)
        expected = np.array(case["P_classifier"]).T
        np.testing.assert_allclose(algebra.confusion_matrix(joint), expected, rtol=0, atol=1e-10)
        known = algebra.confusion_matrix(joint, np.array(case["prior"]))
        np.testing.assert_allclose(known, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(np.linalg.cond(labeler), case["cond"], rtol=1e-10)


def test_two_classes_are_rogan_gladen_and_equation_2():
    counts = np.array([[412, 88], [60, 240]])
    gold = np.array([[40, 10], [6, 54]])
    for options, rates in (
        ({"labeler": [[0.8, 0.2], [0.1, 0.9]]}, {"sensitivity": 0.9, "specificity": 0.8}),
        ({"gold": gold}, {"sensitivity": (54, 60), "specificity": (40, 50)}),
    ):
        found = recover_confusion(counts, **options).prior
        share = rogan_gladen((300, 800), method="delta", **rates)
        assert found.value[1] == pytest.approx(share.value)
        assert (found.standard_error[1], found.high[1]) == pytest.approx((share.standard_error, share.high))
    found = recover_confusion(counts, [[0.9, 0.1], [0.1, 0.9]]).accuracy
    error = estimate_error_rate((148, 800), mislabeling=0.1)
    assert 1 - found.value == pytest.approx(error.value)
    assert found.standard_error == pytest.approx(error.standard_error)


def numerical_errors(counts, gold, prior):
    """Standard errors of the targets from central differences and multinomial covariances."""
    seen = counts / counts.sum()
    given = gold / gold.sum(axis=1, keepdims=True)

    def values(f, labeler):
        parts = algebra.targets(np.linalg.solve(labeler.T, f), prior)
        return np.concatenate([np.ravel(v) for v in parts])

    h, slopes = 1e-6, []
    for k in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[k] = h
        slopes.append((values(seen + step, given) - values(seen - step, given)) / (2 * h))
    slopes = np.array(slopes)
    p = seen.ravel()
    variance = np.einsum("ik,ij,jk->k", slopes, np.diag(p) - np.outer(p, p), slopes) / counts.sum()
    for c in range(3):
        slopes = []
        for a in range(3):
            step = np.zeros((3, 3))
            step[c, a] = h
            slopes.append((values(seen, given + step) - values(seen, given - step)) / (2 * h))
        slopes, p = np.array(slopes), given[c]
        variance += np.einsum("ik,ij,jk->k", slopes, np.diag(p) - np.outer(p, p), slopes) / gold[c].sum()
    return np.sqrt(variance)


@pytest.mark.parametrize("prior", [None, PRIOR])
def test_delta_method_by_numerical_derivatives(prior):
    counts, gold = draw(np.random.default_rng(1), 900, 70)
    found = recover_confusion(counts, gold=gold, prior=prior)
    errors = np.concatenate([np.ravel(getattr(found, name).standard_error) for name in FIELDS])
    np.testing.assert_allclose(errors, numerical_errors(counts, gold, prior), rtol=1e-6)


def test_bootstrap_agrees_with_delta_where_samples_are_large():
    counts, gold = draw(np.random.default_rng(2), 40_000, 8000)
    delta = recover_confusion(counts, gold=gold)
    found = recover_confusion(counts, gold=gold, method="bootstrap", key=jax.random.key(4))
    for name in FIELDS:
        a, b = getattr(delta, name), getattr(found, name)
        np.testing.assert_allclose(a.value, b.value, rtol=1e-12)
        # An sd of 2000 draws: 4.5 standard errors, false alarm 1e-5 each; ends of normal quantiles likewise.
        np.testing.assert_allclose(a.standard_error, b.standard_error, rtol=4.5 / np.sqrt(4000) + 0.02)
        np.testing.assert_allclose((a.low - b.low) / a.standard_error, 0, atol=0.3)
        np.testing.assert_allclose((a.high - b.high) / a.standard_error, 0, atol=0.3)


def test_unbiased_joint():
    """Exactly: over all tables of four samples of two classes, weighted by the multinomial."""
    labeler, truth = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.5, 0.1], [0.1, 0.3]])
    cells = (labeler.T @ truth).ravel()
    total = np.zeros((2, 2))
    for picks in itertools.product(range(4), repeat=4):
        counts = np.bincount(picks, minlength=4).reshape(2, 2)
        total += np.prod(cells[list(picks)]) * recover_confusion(counts, labeler).joint.value
    np.testing.assert_allclose(total, truth, atol=1e-12)


def test_perfect_labeler_gives_the_table_itself():
    counts = np.array([[5, 2, 0], [1, 6, 1], [0, 0, 4]])
    for found in (
        recover_confusion(counts, np.eye(3)),
        fit_confusion(counts, np.eye(3), key=jax.random.key(0)),
    ):
        np.testing.assert_allclose(found.joint.value, counts / 19, atol=1e-12)
        np.testing.assert_allclose(found.confusion.value, counts / counts.sum(1, keepdims=True), atol=1e-12)
        np.testing.assert_allclose(found.precision.value, np.diag(counts) / counts.sum(0), atol=1e-12)
        assert found.inside and found.condition == 1 and found.warnings == ()


def test_fit_is_the_solution_where_that_is_a_table_of_probabilities():
    counts, _ = draw(np.random.default_rng(5), 5000)
    solved = recover_confusion(counts, LABELER)
    fitted = fit_confusion(counts, LABELER, key=jax.random.key(0), num_draws=100)
    assert solved.inside and fitted.converged
    for name in FIELDS:
        np.testing.assert_allclose(getattr(fitted, name).value, getattr(solved, name).value, atol=1e-5)


def best_by_slsqp(counts, labeler):
    """The same maximum by a general optimiser."""
    size = len(labeler)

    def negative(v):
        return -(counts * np.log(labeler.T @ v.reshape(size, size))).sum()

    def slope(v):
        return -(labeler @ (counts / (labeler.T @ v.reshape(size, size)))).ravel()

    total = {"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like}
    start = np.full(size * size, 1 / size**2)
    found = minimize(negative, start, jac=slope, bounds=[(1e-12, 1)] * size**2, constraints=[total],
                     method="SLSQP", options={"ftol": 1e-13, "maxiter": 500})  # fmt: skip
    return found.x.reshape(size, size), -found.fun


def test_fit_is_the_maximum():
    rng = np.random.default_rng(6)
    for _ in range(10):
        counts, _ = draw(rng, 100)
        fit = fitting.maximise(counts.astype(float), LABELER)
        other, value = best_by_slsqp(counts, LABELER)
        assert fit.gap < 1e-6 and fit.log_likelihood > value - 1e-6
        np.testing.assert_allclose(fit.joint, other, atol=2e-3)  # flat where SLSQP stops
        assert fit.joint.sum() == pytest.approx(1) and (fit.joint >= 0).all()
        # The certificate: no random table is better by more than the gap, from any point of the climb.
        early = fitting.maximise(counts.astype(float), LABELER, max_steps=0)
        assert early.log_likelihood + early.gap >= fit.log_likelihood


def test_em_never_descends():
    counts, joint = np.array([[30.0, 1.0], [9.0, 2.0]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    labeler, before = np.array([[0.7, 0.3], [0.4, 0.6]]), -np.inf
    for _ in range(50):
        joint = fitting.em_step(joint, labeler, counts)
        value = float(fitting.log_likelihood(joint, labeler, counts))
        assert value >= before - 1e-12 and joint.sum() == pytest.approx(1)
        before = value


def test_extrapolated_steps_never_descend():
    rng = np.random.default_rng(12)
    joint = rng.dirichlet(np.full(9, 0.3), 500).reshape(-1, 3, 3) + 1e-9
    joint /= joint.sum(axis=(1, 2), keepdims=True)
    counts = rng.integers(0, 12, (500, 3, 3)).astype(float)
    for _ in range(10):
        before = fitting.log_likelihood(joint, LABELER, counts)
        joint = fitting._extrapolated(joint, LABELER, counts)
        assert (fitting.log_likelihood(joint, LABELER, counts) >= before - 1e-9).all()
        assert (joint >= 0).all() and np.allclose(joint.sum(axis=(1, 2)), 1)


# Labels right at rate .75, classifier at .80, errors uniform, shares .5, .3, .2; 2000 sets of each size:
# samples   solutions outside   rmse of the confusion matrix, solve   fit
#   100     .71                 .216                                  .107
#   300     .40                 .083                                  .070
#  1000     .07                 .043                                  .042
@pytest.mark.slow
def test_small_samples_leave_the_simplex_and_the_fit_helps():
    rng = np.random.default_rng(0)
    labeler = np.full((3, 3), 0.125) + 0.625 * np.eye(3)
    classifier = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    joint = PRIOR[:, None] * classifier
    counts = rng.multinomial(100, (labeler.T @ joint).ravel(), 2000).reshape(-1, 3, 3).astype(float)
    solved, fitted = algebra.solve_joint(labeler, counts / 100), fitting.maximise(counts, labeler)
    outside = (solved < 0).any(axis=(1, 2)).mean()
    assert 0.67 < outside < 0.75  # measured .71 +- 3.9 standard errors: false alarm 1e-4
    error = [
        np.sqrt(np.nanmean((algebra.confusion_matrix(v) - classifier) ** 2)) for v in (solved, fitted.joint)
    ]
    assert (fitted.gap < 1e-6).all() and error[1] < 0.6 * error[0]


def test_coverage_of_the_delta_intervals():
    rng, held = np.random.default_rng(9), []
    for _ in range(400):
        counts, gold = draw(rng, 2000, 200)
        found = recover_confusion(counts, gold=gold)
        parts = [getattr(found, name) for name in FIELDS]
        held.append(np.concatenate([
            np.ravel((p.low <= t) & (t <= p.high)) for p, t in zip(parts, TRUTH, strict=True)
        ]))  # fmt: skip
    rates = np.mean(held, axis=0)
    assert (rates > 0.95 - 4.5 * 0.0109).all()  # 25 targets, 4.5 standard errors: false alarm 1e-4
    assert 0.935 < rates.mean() < 0.965


def test_bootstrap_of_the_fit_stays_inside():
    counts, gold = draw(np.random.default_rng(11), 100, 20)
    found = fit_confusion(counts, gold=gold, key=jax.random.key(1), num_draws=300)
    for name in FIELDS:
        part = getattr(found, name)
        assert (part.low >= 0).all() and (part.high <= 1 + 1e-12).all()
        assert (part.low <= part.value + 1e-9).all() and (part.value <= part.high + 1e-9).all()
    assert found.method == "maximum likelihood" and found.inside


def test_what_the_warnings_say():
    found = recover_confusion([[60, 2], [8, 30]], [[0.9, 0.1], [0.2, 0.8]])
    assert not found.inside and "1 of 4 joint probabilities are negative" in found.warnings[0]
    poor = recover_confusion([[60, 20], [30, 30]], [[0.52, 0.48], [0.46, 0.54]])
    assert poor.condition > 10 and "condition number" in poor.warnings[0]
    found = recover_confusion([[60, 20], [30, 30]], [[0.9, 0.1], [0.2, 0.8]], prior=[0.5, 0.5])
    assert any("the given prior" in text for text in found.warnings)
    found = recover_confusion([[60, 20], [30, 30]], gold=[[9, 0], [2, 8]])
    assert any("never occur in the gold" in text for text in found.warnings)
    odd = recover_confusion(
        [[60, 20], [30, 30]], gold=[[3, 1], [1, 3]], method="bootstrap", key=jax.random.key(0)
    )
    assert any("labelers are singular" in text for text in odd.warnings) and np.isinf(odd.prior.high[0])
    empty = recover_confusion([[60, 0], [30, 0]], [[0.9, 0.1], [0.2, 0.8]])
    assert np.isnan(empty.precision.value[1]) and np.isnan(empty.precision.low[1])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1, 2, 3], [4, 5, 6]], np.eye(2)), {}, "square table"),
        (([[1, 2], [3, -4]], np.eye(2)), {}, "whole numbers, 0 or more"),
        (([[0.5, 2], [3, 4]], np.eye(2)), {}, "whole numbers"),
        (([[0, 0], [0, 0]], np.eye(2)), {}, "all 0"),
        (([[1, 2], [3, 4]],), {}, "either as `labeler` or as counts"),
        (([[1, 2], [3, 4]], np.eye(2)), {"gold": np.eye(2, dtype=int)}, "either as"),
        (([[1, 2], [3, 4]], np.eye(3)), {}, "counts are of 2 classes"),
        (([[1, 2], [3, 4]], [[0.9, 0.2], [0.1, 0.8]]), {}, r"labeler\[0\] sums to.*transpose"),
        (([[1, 2], [3, 4]], [[0.9, 0.1], [-0.1, 1.1]]), {}, "not a probability"),
        (([[1, 2], [3, 4]], [[0.6, 0.4], [0.6, 0.4]]), {}, "singular"),
        (([[1, 2], [3, 4]],), {"gold": [[3, 1], [0, 0]]}, "class 1 has no gold"),
        (([[1, 2], [3, 4]], np.eye(2)), {"prior": [0.5, 0.6]}, "prior must hold 2 shares"),
        (([[1, 2], [3, 4]], np.eye(2)), {"method": "exact"}, "method must be one of"),
        (([[1, 2], [3, 4]], np.eye(2)), {"method": "bootstrap"}, "pass key="),
        (([[1, 2], [3, 4]], np.eye(2)), {"level": 0.0}, "level is 0.0"),
    ],
)
def test_bad_input(arguments, options, message, as_installed):
    with pytest.raises(ValueError, match=message):
        recover_confusion(*arguments, **options)
