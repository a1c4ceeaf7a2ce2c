"""Next labeler: the expected fall of the entropy by loops, by the chain rule and by the model itself."""

import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.asking import expected_gain_of_labels
from jtruth.asking.labels import _gains
from jtruth.information import mutual_information
from jtruth.labels import Labels
from jtruth.noise import DifficultyFallibility, SharedErrors
from jtruth.posterior import class_posterior
from tests.information.channels import entropy, matrices


def gain_by_loops(posterior, rows):
    """Entropy now, less the mean entropy after the answer, for one sample and labeler."""
    answers = [sum(posterior[c] * rows[c][k] for c in range(len(posterior))) for k in range(len(rows[0]))]
    after = 0.0
    for k, p in enumerate(answers):
        if p > 0:
            after += p * entropy([posterior[c] * rows[c][k] / p for c in range(len(posterior))])
    return entropy(posterior) - after


def expected_gain(rho, rows):
    return np.asarray(_gains(jnp.asarray(rho)[:, None], jnp.asarray(rows)[:, None], None))


def test_expected_gain_equals_loops():
    rho, rows = np.random.default_rng(0).dirichlet([0.3] * 3, 20), matrices(7, 5, 3)
    rho[0], rows[0] = [0, 1, 0], np.eye(3)
    gain = expected_gain(rho, rows)
    expected = [[gain_by_loops(r, m) for m in rows] for r in rho]
    np.testing.assert_allclose(gain, expected, atol=1e-14)
    assert (gain >= -1e-15).all() and (abs(gain[0]) < 1e-15).all()
    np.testing.assert_allclose(gain[:, 0], [entropy(r) for r in rho], atol=1e-14)


def test_expected_gain_is_the_chain_rule():
    """I(Z1; Y) + E[gain of labeler 2 given z1] = I(Z1, Z2; Y)."""
    rows, prior = matrices(8, 2, 3), np.array([0.5, 0.3, 0.2])
    p_z = prior @ rows[0]
    rho = (prior[:, None] * rows[0] / p_z).T
    gain = expected_gain(rho, rows[1:])[:, 0]
    both = mutual_information(rows, prior).bits
    assert mutual_information(rows[:1], prior).bits + p_z @ gain == pytest.approx(both, abs=1e-13)


Z = np.array([[1, 0, -1], [1, 1, -1], [-1, -1, -1], [0, -1, 1]])


def test_gain_of_labels_under_shared_errors_equals_loops():
    """p(y, z_t | labels so far) by summing the model's own likelihood of the labels with one more."""
    model = SharedErrors(matrices(10, 3, 2), matrices(11, 1, 2)[0], [0.5, 0.3, 0.8])
    prior = np.array([0.6, 0.4])
    gain = np.asarray(expected_gain_of_labels(model, Labels.from_matrix(Z, 2, allow_unlabelled=True), prior))
    for (i, t), value in np.ndenumerate(gain):
        if Z[i, t] >= 0:
            assert value == 0
            continue
        more = np.repeat(Z[i][None], 2, axis=0)
        more[:, t] = [0, 1]
        joint = prior * np.exp(np.asarray(model.log_likelihood(Labels.from_matrix(more, 2))))
        rho = joint.sum(0) / joint.sum()
        rows = (joint / joint.sum(0)).T
        assert value == pytest.approx(gain_by_loops(rho, rows), abs=1e-13)


def test_gain_of_labels_with_difficulty_uses_each_sample():
    delta, phi, prior = [0.1, 0.6, 0.1, 0.9], [0.1, 0.2, 0.3], np.array([0.6, 0.4])
    labels = Labels.from_matrix(Z, 2, allow_unlabelled=True)
    model = DifficultyFallibility(delta, phi, 2)
    rho = np.asarray(class_posterior(model.log_likelihood(labels), prior))
    gain = np.asarray(expected_gain_of_labels(model, labels, prior))
    for i, d in enumerate(delta):
        rows = [[[1 - e, e], [e, 1 - e]] for e in ((d + f - d * f) / 2 for f in phi)]
        expected = np.where(Z[i] >= 0, 0, [gain_by_loops(rho[i], r) for r in rows])
        np.testing.assert_allclose(gain[i], expected, atol=1e-14)


def test_other_classes_are_refused(as_installed):
    with pytest.raises(ValueError, match="the labels have 2 classes"):
        expected_gain_of_labels(matrices(1, 3, 3), Labels.from_matrix(Z[:2], 2), np.array([0.6, 0.4]))
