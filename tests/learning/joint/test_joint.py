"""The joint posterior on published tables and against enumeration, its guards, its options, thinned draws."""

import itertools

import jax
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.latent import STANDARD, Effort
from jtruth.learning import DirichletPriors
from jtruth.learning.joint.guard import check_switching
from jtruth.learning.joint.models import fixed_share
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.chains import mean_error
from tests.learning import crowds

QUICK = Effort(min_sweeps=800, max_sweeps=800, max_rhat=2.0, min_ess=5.0)
BY_NORMAL_LAW = QUICK._replace(normal=True)  # however good: nothing is compiled
SHORT = STANDARD._replace(min_sweeps=1600, max_sweeps=1600)
KEY = jax.random.key(0)


def by_chain(fit, values):
    return values.reshape(int(fit.chain.max()) + 1, -1, *values.shape[1:])


def simulated(seed=0, size=200, labelers=5, classes=2, accuracy=0.7):
    z, y = crowds.simulate(seed, size=size, labelers=labelers, classes=classes, accuracy=accuracy)
    z[(z < 0).all(axis=1), 0] = 0
    rng = np.random.default_rng(1000 + seed)
    y_pred = np.where(rng.random(size) < 0.7, y, rng.integers(0, classes, size))
    return crowds.from_matrix(z, classes), y_pred, y


@pytest.mark.slow
def test_anaesthetists_with_the_prior_of_rater():
    """Class shares of the R package rater (Stan): .3756 .4073 .1432 .0738, prior alpha = 3, N = 8, p = .6.

    Three of our Monte Carlo errors, and 1e-3 for Stan's.
    """
    effort = Effort(min_sweeps=24_000)
    fit = fit_joint(
        crowds.anaesthetists(), key=KEY, effort=effort,
        priors=DirichletPriors(prior_concentration=3.0, diagonal=4.8, off_diagonal_total=3.2),
    )  # fmt: skip
    error = mean_error(by_chain(fit, fit.prior))
    wanted = np.array([0.37559632, 0.40734481, 0.14321934, 0.07383953])
    assert (error < 1e-3).all()
    assert (np.abs(fit.prior.mean(axis=0) - wanted) < 3 * error + 1e-3).all()
    assert fit.usable and fit.converged and fit.warnings == ()


@pytest.mark.slow
def test_fifth_dentist_of_the_caries_table():
    """Independence: recall .916 [.899, .934], precision .420 [.394, .446], accuracy .737 [.727, .747]."""
    split = crowds.caries().split_rater(4)
    fit = fit_joint(split.labels, y_pred=split.y_pred, key=KEY, effort=Effort(min_sweeps=20_000))
    assert fit.converged and fit.usable and fit.warnings == ()
    n = fit.tables("in-sample")
    found = {
        "recall": (n[:, 1, 1] / n[:, 1].sum(axis=1), 0.916, 0.899, 0.934),
        "precision": (n[:, 1, 1] / n[:, :, 1].sum(axis=1), 0.420, 0.394, 0.446),
        "accuracy": ((n[:, 0, 0] + n[:, 1, 1]) / 3869, 0.737, 0.727, 0.747),
    }
    for draws, mean, low, high in found.values():
        assert draws.mean() == pytest.approx(mean, abs=0.0015)
        assert np.quantile(draws, [0.025, 0.975]) == pytest.approx([low, high], abs=0.003)
    assert fit.prior[:, 1].mean() == pytest.approx(0.195, abs=0.0015)


def test_tables_of_both_targets():
    labels, y_pred, _ = simulated()
    fit = fit_joint(labels, y_pred=y_pred, key=KEY, effort=QUICK)
    assert fit.pointwise is None  # which is computed on demand
    inside, outside = fit.tables("in-sample"), fit.tables("population")
    # Who was predicted what is known, in every draw; populations sum to 1.
    np.testing.assert_array_equal(inside.sum(axis=1), np.tile(np.bincount(y_pred), (len(inside), 1)))
    np.testing.assert_allclose(outside.sum(axis=(1, 2)), 1, rtol=1e-12)
    accuracy = [np.trace(t, axis1=1, axis2=2) / t[0].sum() for t in (inside, outside)]
    assert accuracy[0].mean() == pytest.approx(accuracy[1].mean(), abs=0.02)
    assert accuracy[0].std() < accuracy[1].std()  # the population is harder to know than the samples at hand
    # The mean count table is the sum of class posteriors.
    symbol = np.eye(2)[y_pred]
    np.testing.assert_allclose(inside.mean(axis=0), fit.class_posterior.T @ symbol, atol=3)
    with pytest.raises(ValueError, match="target must be one of"):
        fit.tables("both")


def test_all_gold_is_counting():
    labels, y_pred, y = simulated(classes=3)
    fit = fit_joint(labels, y_pred=y_pred, gold=y, key=KEY, effort=QUICK, priors=crowds.from_votes(labels))
    exact = np.zeros((3, 3))
    np.add.at(exact, (y, y_pred), 1)
    np.testing.assert_array_equal(fit.counts, np.broadcast_to(exact, fit.counts.shape))
    np.testing.assert_array_equal(fit.class_posterior, np.eye(3)[y])
    concentration = exact + np.where(np.eye(3) > 0, 2.0, 0.5)
    wanted = concentration / concentration.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.classifier.mean(axis=0), wanted, atol=0.02)


def test_known_prior_is_held():
    labels, y_pred, _ = simulated()
    fit = fit_joint(
        labels, y_pred=y_pred, prior=[0.7, 0.3], key=KEY, effort=QUICK, priors=crowds.from_votes(labels)
    )
    np.testing.assert_array_equal(fit.prior, np.broadcast_to([0.7, 0.3], fit.prior.shape))
    assert "prior[0]" in fit.convergence.rhat and np.isnan(fit.convergence.rhat["prior[0]"])


def test_symbols_need_not_be_classes():
    labels, y_pred, y = simulated()
    bins = np.where(np.arange(y.size) % 3 == 0, 2, 3 * y_pred)  # symbol 1 never occurs
    fit = fit_joint(labels, y_pred=bins, priors=DirichletPriors(num_symbols=4), key=KEY, effort=BY_NORMAL_LAW)
    assert fit.counts.shape[1:] == (2, 4) and (fit.counts[:, :, 1] == 0).all()
    assert fit.counts[0].sum() == y.size


def test_missing_predictions_are_in_no_table():
    labels, y_pred, _ = simulated()
    y_pred[:50] = -1
    fit = fit_joint(labels, y_pred=y_pred, key=KEY, effort=QUICK)
    assert (fit.counts.sum(axis=(1, 2)) == 150).all() and fit.class_posterior.shape == (200, 2)
    without = fit_joint(labels, key=KEY, effort=QUICK)
    assert without.counts is None
    with pytest.raises(ValueError, match="no y_pred"):
        without.tables("in-sample")


@pytest.mark.parametrize("classes", [2, 3])
def test_a_permuted_start_is_caught(classes):
    labels, y_pred, y = simulated(classes=classes, accuracy=0.8)
    start = np.eye(classes)[(y + 1) % classes]
    fit = fit_joint(labels, y_pred=y_pred, key=KEY, priors=DirichletPriors(start=start), effort=QUICK)
    assert fit.switched and not fit.usable
    assert any("switched" in text for text in fit.warnings)
    assert (fit.class_posterior.argmax(axis=1) == y).mean() < 0.2  # it is indeed a mirror image
    right = fit_joint(
        labels, y_pred=y_pred, key=KEY, priors=DirichletPriors(start=np.eye(classes)[y]), effort=QUICK
    )
    assert right.usable and not right.switched


def test_chains_that_disagree_are_named():
    right = np.broadcast_to([[0.9, 0.1], [0.2, 0.8]], (3, 2, 2))
    verdict = check_switching(np.stack([right, right, right[:, ::-1], right]), ("no", "yes"))
    assert "in 1 of 4 chains" in (verdict or "")
    three = np.eye(3)[[0, 2, 1]][None, None]
    verdict = check_switching(three, ("a", "b", "c"))
    assert "'b' as 'c', 'c' as 'b'" in (verdict or "")


@pytest.mark.parametrize("diagonal", [0.3, 0.45, 0.49, 0.51, 0.7])
def test_two_classes_have_switched_when_raters_are_more_often_wrong_than_right(diagonal):
    """For two classes the guard stands at 1/2: below it the mirror image has the better raters."""
    rows = np.array([[diagonal + 0.1, 0.9 - diagonal], [1.1 - diagonal, diagonal - 0.1]])
    verdict = check_switching(np.tile(rows, (4, 3, 1, 1)), ("no", "yes"))
    assert (verdict is not None) == (diagonal < 0.5) and " chains:" not in (verdict or "")


def test_a_classifier_that_only_copies_errs_as_the_labelers_of_a_random_sample_do():
    """A copied label is one of the sample's labels: busy labelers count for less where they have company."""
    labels, y_pred, y = simulated()
    z = labels.to_matrix().copy()
    z[::2, 1:] = -1  # labeler 0 is alone on every second sample
    some = Labels.from_matrix(np.where((z >= 0).any(axis=1, keepdims=True), z, labels.to_matrix()), 2)
    copies, options = fixed_share("copying", 1 - 1e-9), {"effort": QUICK, "priors": crowds.from_votes(some)}
    fit = fit_joint(some, y_pred=y_pred, gold=y, key=KEY, dependence=copies, **options)
    z = some.to_matrix()
    share = ((z >= 0) / (z >= 0).sum(axis=1, keepdims=True)).mean(axis=0)
    expected = np.einsum("t,ktcu->kcu", share, fit.matrices)
    np.testing.assert_allclose(fit.classifier[fit.matrix_draw], expected, atol=1e-5)
    fit = fit_joint(some, y_pred=y_pred, key=KEY, dependence=fixed_share("copying", 0.3), **options)
    np.testing.assert_allclose(fit.classifier.sum(axis=2), 1, atol=1e-6)


def test_one_labeler_is_not_identified():
    labels, y_pred, y = simulated()
    alone = labels.select_labelers([0])
    fit = fit_joint(alone, y_pred=y_pred, key=KEY, effort=BY_NORMAL_LAW)
    assert not fit.identified and not fit.usable and "Not identified" in fit.warnings[0]
    two = labels.select_labelers([0, 1])
    assert not fit_joint(two, key=KEY, effort=BY_NORMAL_LAW).identified  # two raters a sample
    assert fit_joint(two, y_pred=y_pred, key=KEY, effort=BY_NORMAL_LAW).identified  # three
    gold = np.where(np.arange(y.size) < 30, y, -1)
    assert fit_joint(alone, y_pred=y_pred, gold=gold, key=KEY, effort=BY_NORMAL_LAW).identified


BAD = [
    ({"y_pred": [0, 1]}, r"y_pred must have shape \(20,\)"),
    ({"y_pred": np.full(20, 2)}, r"y_pred\[0\] is 2 .* class codes 0 to 1"),
    ({"y_pred": np.full(20, -1)}, "y_pred has no prediction"),
    ({"priors": DirichletPriors(num_symbols=3)}, "y_pred was not given"),
    ({"priors": DirichletPriors(diagonal=0.0)}, "diagonal is 0.0; give a Dirichlet concentration, above 0"),
    ({"priors": DirichletPriors(start=np.ones((20, 2)))}, r"start\[0\] sums to 2, not to 1"),
    ({"dependence": "no"}, "dependence must be one of"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[said for _, said in BAD])
def test_bad_arguments(options, message, as_installed):
    labels, _, _ = simulated(size=20, labelers=3)
    with pytest.raises(ValueError, match=message):
        fit_joint(labels, **({"key": KEY} | options))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bluebirds", "dogs", "rte", "anaesthetists"])
def test_default_never_switches(name, shared_data):
    """Classes as good as by EM's; whether names are exchanged a chain decides where it starts."""
    if name == "anaesthetists":
        labels, y = crowds.anaesthetists(), None
    else:
        labels, y = crowds.real_set(shared_data(name))
    known = {"bluebirds": 0.88, "dogs": 0.83, "rte": 0.92}
    for seed in range(1 if name == "dogs" else 2):
        fit = fit_joint(labels, key=jax.random.key(seed), effort=SHORT)
        assert fit.usable and not fit.switched
        if y is not None:
            assert (fit.class_posterior.argmax(axis=1) == y).mean() > known[name]


Z = np.array([[0, 0], [1, 1], [1, 0], [0, 1], [1, 1]])
Y_PRED = np.array([0, 1, 1, 0, 0])


def enumerated():
    """{class vector: posterior probability}, pi and every matrix row integrated out."""
    raters = np.column_stack([Z, Y_PRED])
    weight = {}
    for y in itertools.product((0, 1), repeat=len(Z)):
        y = np.array(y)
        log_p = crowds.dirichlet_multinomial(np.bincount(y, minlength=2), np.ones(2))
        for t, c in itertools.product(range(3), (0, 1)):
            row = np.where(np.arange(2) == c, 2.0, 1.0)
            log_p += crowds.dirichlet_multinomial(np.bincount(raters[y == c, t], minlength=2), row)
        weight[tuple(y)] = np.exp(log_p)
    total = sum(weight.values())
    return {y: w / total for y, w in weight.items()}


def test_equal_to_enumeration():
    fit = fit_joint(
        Labels.from_matrix(Z, 2), y_pred=Y_PRED, key=jax.random.key(0), priors=DirichletPriors(diagonal=2.0)
    )
    exact = enumerated()
    chains = int(fit.chain.max()) + 1
    for c, u in itertools.product((0, 1), repeat=2):
        mean = sum(p * np.sum((np.array(y) == c) & (u == Y_PRED)) for y, p in exact.items())
        draws = fit.counts[:, c, u].reshape(chains, -1)
        # 4.5 standard errors: a false alarm in 150 000 comparisons
        assert abs(draws.mean() - mean) < 4.5 * float(mean_error(draws))
    by_class = np.array([sum(p for y, p in exact.items() if y[i] == 1) for i in range(len(Z))])
    np.testing.assert_allclose(fit.class_posterior[:, 1], by_class, atol=0.03)


@pytest.fixture(scope="module")
def fitted():
    """512 lineages of 20 moves, of whose matrices every 8th is kept: blocks of 5 are no multiple of that."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], 1 - y[:, None])
    labels = Labels.from_matrix(z, 2)
    effort = Effort(max_sweeps=512 * 20, min_ess=1e9, max_bytes=512 * 20 * 12 * 4 // 6)
    return labels, fit_joint(labels, key=jax.random.key(4), effort=effort)


def test_every_kept_matrix_belongs_to_the_draw_that_is_named(fitted):
    """sum_c pi[c] psi_t[c, c] of matrix k is the accuracy of draw `matrix_draw[k]`."""
    _, fit = fitted
    thin = fit.matrix_draw[1] - fit.matrix_draw[0]
    assert thin == 8 and len(fit.matrices) == len(fit.matrix_draw) < len(fit.prior) / 6
    np.testing.assert_array_equal(fit.matrix_draw[:3], np.arange(0, 20, 8))  # of the first chain
    own = np.diagonal(fit.matrices, axis1=2, axis2=3).astype(float)
    expected = np.einsum("ktc,kc->kt", own, fit.prior[fit.matrix_draw])
    np.testing.assert_allclose(fit.labeler_accuracy[fit.matrix_draw], expected, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    ["independent", *(pytest.param(m, marks=pytest.mark.slow) for m in ("shared_strata", "random_effect"))],
)
def test_class_counts_and_right_labels_are_those_of_the_class_posterior(fitted, model):
    """Draws of both have the mean that p(y_i = c | labels) gives them: 5 Monte Carlo errors of 300 draws."""
    labels, fit = fitted
    few = Effort(chains=4, burn_in=60, min_sweeps=1200, max_sweeps=6000, max_rhat=1.05, min_ess=300)
    priors = DirichletPriors() if model == "random_effect" else crowds.from_votes(labels)
    if model != "independent":
        fit = fit_joint(labels, key=jax.random.key(4), effort=few, dependence=model, priors=priors)
    p, (sample, labeler, label) = fit.class_posterior, labels.arrays
    assert (fit.class_counts.sum(axis=1) == 60).all() and fit.counts is None and fit.classifier is None
    right = np.bincount(labeler, p[sample, label], 3)
    for drawn, expected in ((fit.class_counts[:, 1], p[:, 1].sum()), *zip(fit.right.T, right, strict=True)):
        assert abs(drawn.mean() - expected) < 5 * (drawn.std() + 0.1) / np.sqrt(300)
