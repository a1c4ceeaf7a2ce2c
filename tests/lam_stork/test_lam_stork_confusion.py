"""Lam & Stork (5), (6): reference values, derivatives, coverage."""

import itertools

import numpy as np
import pytest

from jtruth.lam_stork import confusion as algebra
from jtruth.lam_stork import estimate_error_rate, recover_confusion, rogan_gladen

LABELER = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.1, 0.85]])
CLASSIFIER = np.array([[0.9, 0.06, 0.04], [0.1, 0.8, 0.1], [0.02, 0.18, 0.8]])
PRIOR = np.array([0.5, 0.3, 0.2])
JOINT = PRIOR[:, None] * CLASSIFIER
FIELDS = ("joint", "prior", "confusion", "precision", "accuracy")


def targets(joint, prior=None):
    """(joint, shares, confusion matrix, precision, accuracy) of J."""
    return tuple(algebra.quotient(u, w, joint) for u, w in algebra.forms(len(joint), prior))


def draw(rng, size, gold=None):
    """Counts of labels and predictions, and of gold answers by class."""
    counts = rng.multinomial(size, (LABELER.T @ JOINT).ravel()).reshape(3, 3)
    return counts, None if gold is None else np.array([rng.multinomial(gold, row) for row in LABELER])


def test_golden(golden):
    cases = [case for case in golden("lam_stork")["cases"] if case["kind"] == "eq5_6"]
    assert len(cases) == 2
    for case in cases:  # the file, like the paper, has true classes in columns
        labeler = np.array(case["P_labeler"]).T
        joint = np.linalg.solve(labeler.T, np.array(case["joint"]))
        for prior in (None, np.array(case["prior"])):
            _, shares, confusion, *_ = targets(joint, prior)
            np.testing.assert_allclose(shares, case["prior"], rtol=0, atol=1e-10)
            np.testing.assert_allclose(confusion, np.array(case["P_classifier"]).T, rtol=0, atol=1e-10)
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
        parts = targets(np.linalg.solve(labeler.T, f), prior)
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


def test_unbiased_joint():
    """Exactly: over all tables of four samples of two classes, weighted by the multinomial."""
    labeler, truth = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.5, 0.1], [0.1, 0.3]])
    cells = (labeler.T @ truth).ravel()
    total = np.zeros((2, 2))
    for picks in itertools.product(range(4), repeat=4):
        counts = np.bincount(picks, minlength=4).reshape(2, 2)
        total += np.prod(cells[list(picks)]) * recover_confusion(counts, labeler).joint.value
    np.testing.assert_allclose(total, truth, atol=1e-12)


def test_what_the_warnings_say():
    found = recover_confusion([[60, 2], [8, 30]], [[0.9, 0.1], [0.2, 0.8]])
    assert not found.inside and "probabilities are negative, which is impossible: 1 of 4" in found.warnings[0]
    poor = recover_confusion([[60, 20], [30, 30]], [[0.52, 0.48], [0.46, 0.54]])
    assert poor.condition > 10 and "condition number" in poor.warnings[0]
    found = recover_confusion([[60, 20], [30, 30]], [[0.9, 0.1], [0.2, 0.8]], prior=[0.5, 0.5])
    assert any("the given prior" in text for text in found.warnings)
    found = recover_confusion([[60, 20], [30, 30]], gold=[[9, 0], [2, 8]])
    assert any("never occur in the gold" in text for text in found.warnings)
    empty = recover_confusion([[60, 0], [30, 0]], [[0.9, 0.1], [0.2, 0.8]])
    assert np.isnan(empty.precision.value[1]) and np.isnan(empty.precision.low[1])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1, 2, 3], [4, 5, 6]], np.eye(2)), {}, "square table"),
        (([[1, 2], [3, -4]], np.eye(2)), {}, r"counts\[1, 1\] is -4 .* whole numbers, 0 or more"),
        (([[0.5, 2], [3, 4]], np.eye(2)), {}, "whole numbers"),
        (([[0, 0], [0, 0]], np.eye(2)), {}, "all 0"),
        (([[1, 2], [3, 4]],), {}, "either as `labeler` or as counts"),
        (([[1, 2], [3, 4]], np.eye(2)), {"gold": np.eye(2, dtype=int)}, "either as"),
        (([[1, 2], [3, 4]], np.eye(3)), {}, "it must be .2 classes, 2 labels"),
        (([[1, 2], [3, 4]], [[0.9, 0.2], [0.1, 0.8]]), {}, r"labeler\[0\] sums to.*transpose"),
        (([[1, 2], [3, 4]], [[0.9, 0.1], [-0.1, 1.1]]), {}, "not a probability"),
        (([[1, 2], [3, 4]], [[0.6, 0.4], [0.6, 0.4]]), {}, "singular"),
        (([[1, 2], [3, 4]],), {"gold": [[3, 1], [0, 0]]}, "class 1 has no verified"),
        (([[1, 2], [3, 4]], np.eye(2)), {"prior": [0.5, 0.6]}, "prior sums to 1.1"),
        (([[1, 2], [3, 4]], np.eye(2)), {"level": 0.0}, "level is 0.0"),
    ],
)
def test_bad_input(arguments, options, message, as_installed):
    with pytest.raises(ValueError, match=message):
        recover_confusion(*arguments, **options)


def test_perfect_labeler_gives_the_table_itself():
    counts = np.array([[5, 2, 0], [1, 6, 1], [0, 0, 4]])
    found = recover_confusion(counts, np.eye(3))
    np.testing.assert_allclose(found.joint.value, counts / 19, atol=1e-12)
    np.testing.assert_allclose(found.confusion.value, counts / counts.sum(1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(found.precision.value, np.diag(counts) / counts.sum(0), atol=1e-12)
    assert found.inside and found.condition == 1 and found.warnings == ()


@pytest.mark.parametrize("size", [10**6, 2**31, 10**12])
def test_counts_of_any_size_have_the_interval_that_their_number_means(size):
    """The width falls with the root of the size, and the share stays; too many have a reason of their own."""
    share = np.array([[4, 1], [1, 4]])
    found = recover_confusion(share * (size // 10), gold=np.array([[9, 1], [1, 9]]) * (size // 10))
    small = recover_confusion(share * 1000, gold=np.array([[9, 1], [1, 9]]) * 1000)
    accuracy, other = found.accuracy, small.accuracy
    np.testing.assert_allclose(accuracy.value, other.value, rtol=1e-9)
    ratio = (accuracy.high - accuracy.low) / (other.high - other.low)
    np.testing.assert_allclose(ratio, np.sqrt(10_000 / (size // 10 * 10)), rtol=1e-6)
    with pytest.raises(ValueError, match=r"counts of 2\^53 and more are too large"):
        recover_confusion(share * 2**53, gold=share)
