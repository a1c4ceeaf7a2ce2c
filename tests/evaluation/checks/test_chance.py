"""Predictions that agree with labels at random: the posterior by enumeration, false alarms, and text."""

import itertools

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.checks.first_look import CHANCE, chance_verdict, correlation
from jtruth.stats.agreement import krippendorff, point


def test_mean_and_variance_by_all_permutations():
    rng = np.random.default_rng(0)
    for classes in (2, 3):
        votes, y_pred = rng.integers(0, 4, (6, classes)).astype(float), np.arange(6) % 5 % classes
        agreed = [votes[np.arange(6), y_pred[list(p)]].sum() for p in itertools.permutations(range(6))]
        shares, label_shares = np.bincount(y_pred, minlength=classes) / 6, votes.sum(axis=0) / votes.sum()
        scale = votes.sum() * np.sqrt((1 - shares @ shares) * (1 - label_shares @ label_shares))
        value, error = correlation(votes, np.eye(classes)[y_pred])
        assert error == pytest.approx(np.std(agreed) / scale, rel=1e-12)
        here = votes[np.arange(6), y_pred].sum()
        assert value == pytest.approx((here - np.mean(agreed)) / scale, abs=1e-12)


def test_nothing_is_said_of_constant_predictions_or_labels():
    assert correlation(np.ones((5, 2)), np.eye(2)[[0] * 5]) is None
    assert correlation(np.eye(2)[[1, 1, 1]], np.eye(2)[[0, 1, 0]]) is None


def drawn(rng, n=300, share=0.5, error=0.2, right=0.85, classes=2):
    """Votes of three labelers, a fifth missing, and predictions."""
    y = rng.choice(classes, size=n, p=[1 - share, *[share / (classes - 1)] * (classes - 1)])
    wrong = (y[:, None] + rng.integers(1, classes, (n, 3))) % classes
    z = np.where(rng.random((n, 3)) < error, wrong, y[:, None])
    z[rng.random(z.shape) < 0.2] = -1
    z[:, 0] = np.where((z < 0).all(axis=1), y, z[:, 0])
    return z, np.where(rng.random(n) < right, y, (y + rng.integers(1, classes, n)) % classes)


def alarm(z, y_pred, classes=2):
    votes = np.stack([(z == c).sum(axis=1) for c in range(classes)], axis=1)
    shared = max(point(krippendorff(votes)), 0) ** 0.5
    found = chance_verdict(votes.astype(float), shared, np.eye(classes)[y_pred])
    return any(check.verdict == "look first" for check in found)


@pytest.mark.parametrize("classes", [2, 4])
def test_shuffled_and_swapped_predictions_raise_it(classes):
    """Of 200 shuffled sets at least 180 (97 % are expected; fewer has probability below 1e-5)."""
    rng, found = np.random.default_rng(2), 0
    for _ in range(200):
        z, y_pred = drawn(rng, classes=classes, share=1 - 1 / classes)
        found += alarm(z, rng.permutation(y_pred), classes)
    assert found >= 180
    z, y_pred = drawn(rng)
    assert alarm(z, 1 - y_pred)


@pytest.mark.parametrize(
    ("n", "share", "error", "right", "most"),
    [  # predictions of correlation .5 to .7 with the truth; false alarms of 300 sets
        (300, 0.5, 0.2, 0.75, 3),
        (300, 0.5, 0.3, 0.85, 3),
        (100, 0.5, 0.2, 0.8, 6),
        (30, 0.5, 0.2, 0.8, 6),
        (300, 0.1, 0.2, 0.9, 6),
        (30, 0.1, 0.3, 0.9, 12),
    ],
)
def test_false_alarms_are_rare(n, share, error, right, most):
    rng = np.random.default_rng(3)
    assert sum(alarm(*drawn(rng, n, share, error, right)) for _ in range(300)) <= most


def test_labels_that_say_nothing_raise_no_alarm():
    rng = np.random.default_rng(4)
    noise = rng.integers(0, 2, (300, 3))
    alpha = point(krippendorff(jt.Labels.from_matrix(noise, 2).counts()))
    assert alpha < 0.05 and not alarm(noise, rng.integers(0, 2, 300))


def test_known_noise_is_taken_into_account():
    """Labelers known to be wrong in 80 % vote against good predictions; the class posterior does not."""
    rng = np.random.default_rng(5)
    z, y_pred = drawn(rng, error=0.8)
    labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.8, 2)
    good = jt.evaluate(y_pred, labels, noise=noise, prior=[0.5, 0.5])
    assert good.checks[-1].name == CHANCE and good.checks[-1].verdict == "fits"
    assert good.checks[-1].statistic == pytest.approx(0.7, abs=0.2)  # 2 * .85 - 1
    array = np.asarray(noise.log_likelihood(labels), np.float64)
    swapped = jt.evaluate(1 - y_pred, array, prior=[0.5, 0.5])
    assert str(swapped).startswith("Look first: predictions agree with the labels worse than chance")
    assert swapped.to_dict()["checks"][0]["verdict"] == "look first"  # alarms stand first
