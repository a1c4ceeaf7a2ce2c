"""Sets side by side under models of dependent errors: enumeration, `fit_joint`, and neighbours."""

import numpy as np
import pytest
from scipy.special import logsumexp

import jtruth as jt
from jtruth._host import diagonal_rows
from jtruth.learning.joint.models import MODELS, partly_shared
from jtruth.learning.joint.tempered_batch import tempered_batch
from tests.learning import crowds
from tests.learning.joint.test_gibbs import build, enumerated, tiny


def with_fixed_rows(name, classes, labelers):
    """A model whose rows have fixed priors, as `test_gibbs.build` has it, however few labels there are."""
    row = diagonal_rows(classes, 2, 1)
    base = crowds.one_stratum(np.ones(classes), np.tile(row, (labelers, 1, 1)), row)

    def made(_, rows):
        return (MODELS | {"partly_shared": partly_shared})[name](base, rows)

    made.__name__ = name
    return made


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("labeler_strata", (9, 5, 3, 2)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("shared_strata", (8, 5, 3, 2)),
                ("copying", (7, 6, 3, 2)),
                ("partly_shared", (8, 4, 3, 2)),
                ("independent", (2, 6, 2, 3)),
            )
        ),
    ],
)
def test_draws_have_the_dist_that_enumeration_gives(name, size):
    """Sixteen equal sets have sixteen streams. The mean of their means may lie 8 of its standard errors (from
    the sixteen) away: a false alarm with probability 1e-6 each, by the t distribution with 15 degrees.
    """
    labels, y_pred = tiny(*size)
    classes, sets = labels.num_classes, 16
    z = np.tile(labels.to_matrix(), (sets, 1, 1))
    made = with_fixed_rows(name, classes, labels.num_labelers)
    found = tempered_batch(3, z, np.tile(y_pred, (sets, 1)), classes, made)
    model, observed, _ = build(name, labels, y_pred)
    row = observed.row_of_sample
    vectors, log_p = enumerated(model, [s[row] for s in observed.symbols], observed.offset[:, row])
    p = np.exp(log_p - logsumexp(log_p))
    one_hot = np.eye(classes)[model.state_class[vectors]]  # (vectors, samples, classes)
    exact = np.einsum("v,vic,iu->cu", p, one_hot, np.eye(classes)[y_pred])
    by_class = np.tensordot(p, one_hot, 1)
    for each, wanted in ((found.counts.mean(axis=(1, 2)), exact), (found.class_posterior, by_class)):
        error = each.std(axis=0, ddof=1) / np.sqrt(sets)
        assert (np.abs(each.mean(axis=0) - wanted) < 8 * error + 1e-6).all() and error.max() < 0.05


@pytest.fixture(scope="module")
def crowd():
    """Five sets of 120 samples and four labelers, some samples hard; one filled up, one without labels."""
    rng = np.random.default_rng(5)
    y = (rng.random((5, 120)) < 0.4).astype(int)
    right = np.where(rng.random(y.shape) < 0.2, 0.55, 0.9)[:, :, None]
    seen = np.where(rng.random((5, 120, 5)) < right, y[:, :, None], 1 - y[:, :, None])
    y_pred, z = seen[:, :, 4], seen[:, :, :4]
    z[1], z[3, 90:], y_pred[3, 90:] = -1, -1, -1
    return y_pred, z


def test_a_set_has_its_numbers_whatever_stands_beside_it(crowd):
    y_pred, z = crowd
    every = jt.evaluate_batch(y_pred, z, method="shared_strata", key=1)
    alone = jt.evaluate_batch(y_pred[:1], z[:1], method="shared_strata", key=1)
    np.testing.assert_array_equal(every.mean[0], alone.mean[0])
    assert every.ok.tolist() == [True, False, True, True, True] and np.isnan(every.matrices[1]).all()
    other = jt.evaluate_batch(y_pred[:1], z[:1], method="shared_strata", key=2)
    assert (other.mean[0] != alone.mean[0]).all() and np.isfinite(every.mean[[0, 2, 3, 4]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shared_strata", "labeler_strata", "random_effect", "copying"])
def test_each_set_has_the_dist_of_fit_joint(crowd, name):
    """Mean and ends of the accuracy: 6 standard errors of the smaller effective numbers of both."""
    y_pred, z = crowd
    found = jt.evaluate_batch(y_pred, z, method=name, key=1)
    for s in (0, 3):
        there = y_pred[s] >= 0
        labels = jt.Labels.from_matrix(z[s, there], 2)
        fit = jt.learning.fit_joint(labels, y_pred=y_pred[s, there], dependence=name, key=4)
        accuracy = np.trace(fit.tables("in-sample"), axis1=1, axis2=2) / there.sum()
        worth = 1 / found.ess[s] + 1 / min(fit.convergence.ess.values())
        assert abs(found.mean[s, 0] - accuracy.mean()) < 6 * accuracy.std() * np.sqrt(worth)
        assert abs(np.log(found.sd[s, 0] / accuracy.std())) < 6 * np.sqrt(worth / 2)
        np.testing.assert_allclose(found.matrices[s, :4], fit.mean_matrices, rtol=0, atol=0.06)


@pytest.mark.usefixtures("as_installed")
def test_models_that_do_not_fit_are_refused(crowd):
    y_pred, z = crowd
    with pytest.raises(ValueError, match=r"method must be one of .*'joint', 'independent', 'shared_strata'"):
        jt.evaluate_batch(y_pred, z, method="difficulty")
    with pytest.raises(
        ValueError, match="method='copying' learns the labelers' matrices and the prior: leave"
    ):
        jt.evaluate_batch(y_pred, z, method="copying", prior=np.array([0.5, 0.5]))
    three = np.where(z[:1] == 1, 2, z[:1])
    with pytest.raises(ValueError, match="random-effect model is for two classes, but these labels have 3"):
        jt.evaluate_batch(y_pred[:1], three, method="random_effect")
    rng = np.random.default_rng(0)
    y_pred, z = rng.integers(0, 4, (1, 9000)), rng.integers(0, 4, (1, 9000, 9))
    with pytest.raises(ValueError, match=r"set 0 has 8965 different samples, too many for tempering\. Eval"):
        jt.evaluate_batch(y_pred, z, method="copying")
