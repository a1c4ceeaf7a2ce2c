"""Label issues: probabilities, their sum and its interval, learned rates, labelers, and splits of gold."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.answers.data import answer_dict
from jtruth.cleaning import ask, gold_splits, posterior_draws, start, suspicious_labels
from jtruth.cleaning.loop import estimated_accuracy
from jtruth.cleaning.request import begin, counted_by, queue
from jtruth.learning import fit_noise_layer
from jtruth.learning.joint.posterior import fit_joint
from jtruth.learning.predicted import sharpened
from jtruth.posterior import class_posterior


def crowd(seed, n=200, t=4, error=0.2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    z = np.where(rng.random((n, t)) < error, 1 - y[:, None], y[:, None])
    return y, jt.Labels.from_matrix(z, 2)


def by_independence(noise, labels):
    return np.asarray(class_posterior(noise.log_likelihood(labels), np.array([0.5, 0.5])))


def test_probabilities_are_the_posteriors_and_sorted():
    _, labels = crowd(0)
    p = by_independence(jt.noise.Symmetric(0.2, 2), labels)
    found = suspicious_labels(labels, p)
    np.testing.assert_allclose(found.p_wrong, 1 - p[found.sample, found.label])
    assert (np.diff(found.p_wrong) <= 0).all() and found.label.size == 800
    np.testing.assert_allclose([found.of_labelers.sum(), found.of_classes.sum()], found.expected)
    np.testing.assert_array_equal(found.low, found.high)


@pytest.mark.slow
def test_the_expected_number_is_calibrated():
    """40 crowds: the 95 % interval holds the number of wrong labels at least 33 times (a false alarm 6e-3^..:
    P(Binomial(40, .95) < 33) = 7e-5)."""
    covered, gaps = 0, []
    for seed in range(40):
        y, labels = crowd(seed)
        p = by_independence(jt.noise.Symmetric(0.2, 2), labels)
        found = suspicious_labels(labels, p, key=seed)
        wrong = (y[labels.sample] != labels.label).sum()
        covered += found.interval[0] <= wrong <= found.interval[1]
        gaps.append(found.expected - wrong)
    assert covered >= 33
    assert abs(np.mean(gaps)) < 5 * np.std(gaps) / 40**0.5


def test_known_samples_tell_what_labels_cannot():
    """20 crowds of which every seventh sample misleads all: the model's interval holds nowhere, that by 60
    known samples at least 14 times (P(Binomial(20, .95) < 14) = 3e-5), and its mean is right."""
    held, by_model, gaps = 0, 0, []
    for seed in range(20):
        y, _ = crowd(seed)
        rng = np.random.default_rng(100 + seed)
        seen = np.where(rng.random(200) < 1 / 7, 1 - y, y)  # what all labelers take for the class
        z = np.where(rng.random((200, 4)) < 0.1, 1 - seen[:, None], seen[:, None])
        labels, wrong = jt.Labels.from_matrix(z, 2), (z != y[:, None]).sum()
        chance = (0.9 / 0.1) ** (2.0 * z.sum(axis=1) - 4)
        p = np.stack([1 / (1 + chance), chance / (1 + chance)], axis=1)
        gold = np.where(rng.permutation(200) < 60, y, -1)
        alone, found = (suspicious_labels(labels, p, gold=known, key=seed) for known in (None, gold))
        by_model += alone.interval[0] <= wrong <= alone.interval[1]
        held += found.interval[0] <= wrong <= found.interval[1]
        gaps.append(found.expected - wrong)
    assert by_model == 0 and held >= 14
    assert abs(np.mean(gaps)) < 5 * np.std(gaps) / 20**0.5
    assert "labels cannot show" in alone.caution and "60 verified samples" in found.caution
    sure = gold[found.sample]
    np.testing.assert_array_equal(found.p_wrong[sure >= 0], (sure != found.label)[sure >= 0])
    everything = suspicious_labels(labels, p, gold=y)
    assert everything.interval == (wrong, wrong) and everything.expected == wrong


def test_learned_rates_widen_and_assumptions_are_a_range():
    _, labels = crowd(3, n=60)
    fit = fit_joint(labels, key=0)
    draws = posterior_draws(labels, fit)
    np.testing.assert_allclose(draws.mean(axis=0), fit.class_posterior, atol=0.05)
    for k in (0, -1):  # the first draw of the fit, and the last
        p = np.tile(fit.prior[fit.matrix_draw[k]], (60, 1)).astype(np.float64)
        for i, t, z in zip(*labels.entries(), strict=True):
            p[i] *= fit.matrices[k, t, :, z]
        np.testing.assert_allclose(draws[k], p / p.sum(axis=1, keepdims=True), rtol=1e-5)
    alone = suspicious_labels(labels, fit.class_posterior)
    carried = suspicious_labels(labels, draws)
    assert np.diff(carried.interval) >= np.diff(alone.interval) - 2
    both = suspicious_labels(labels, {"learned": draws, "flat": np.full((60, 2), 0.5)})
    assert (both.low <= both.p_wrong).all() and (both.high >= 0.5 - 1e-12).all()
    assert both.interval[1] >= carried.interval[1]
    with pytest.raises(ValueError, match="this fit is 'labeler_strata'"):
        posterior_draws(labels, fit._replace(dependence="labeler_strata"))


def test_features_say_more_and_rates_are_learned_from_them():
    """One label a sample: error rates by EM from probabilities, against the rates that made the labels."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 4000)
    x = rng.standard_normal(4000) + 3 * y
    probabilities = np.stack([1 / (1 + np.exp(3 * (x - 1.5))), 1 / (1 + np.exp(-3 * (x - 1.5)))], axis=1)
    z = np.where(rng.random(4000) < np.where(y == 1, 0.05, 0.25), 1 - y, y)
    labels = jt.Labels.from_matrix(z[:, None], 2)
    matrix = fit_noise_layer(labels, probabilities, num_bootstrap=20).matrices[0]
    np.testing.assert_allclose([matrix[0, 1], matrix[1, 0]], [0.25, 0.05], atol=0.04)
    p = by_independence(jt.noise.ConfusionMatrices(matrix[None]), labels)
    found = suspicious_labels(labels, p, probabilities=probabilities, prior=np.array([0.5, 0.5]))
    wrong = (y != z)[found.sample]
    assert wrong[: int(found.expected)].mean() > 0.8
    assert abs(found.expected - wrong.sum()) < 60


def test_a_count_by_a_sure_classifier_has_an_error_of_a_fifth():
    """40 of 200 labels contradict it, so 40 +- 1.96 * .2 * 40; 1000 draws know an end to 1.5."""
    label = np.repeat([0, 1, 0, 1], [80, 20, 20, 80])
    sure, labels = np.eye(2)[np.repeat([0, 1], 100)], jt.Labels.from_matrix(label[:, None], 2)
    found = suspicious_labels(labels, np.full((200, 2), 0.5), probabilities=sure, prior=[0.5, 0.5])
    assert found.expected == pytest.approx(40)
    np.testing.assert_allclose(found.interval, [40 - 1.96 * 8, 40 + 1.96 * 8], atol=3)


def test_bad_input():
    _, labels = crowd(0, n=10)
    even = np.full((10, 2), 0.5)
    for match, options in {
        r"'given' has shape .*10 samples": {"class_posterior": even[:3]},
        "not to 1": {"class_posterior": even + 0.2},
        r"gold must have shape \(10,\)": {"gold": np.zeros(3, int)},
        r"gold\[0\] is 2": {"gold": np.full(10, 2)},
        "^gold has 4 known classes": {"gold": np.repeat([-1, 1], [6, 4])},
        "need the class prior": {"probabilities": even},
    }.items():
        with pytest.raises(ValueError, match=match):
            suspicious_labels(labels, **{"class_posterior": even} | options)


def test_splits_of_gold_are_compared_on_the_same_sets():
    splits, options = [(60, 0, 0), (0, 60, 0), (0, 0, 60)], {"num_samples": 120}
    found = gold_splits(splits, num_sims=12, **options)
    noise, train, test = found["rate_error"]
    assert noise < train == test
    assert np.isnan(found["test_error"][0]) and 0 < found["test_error"][2] < 0.15
    assert ((found["accuracy"] > 0.8) & (found["accuracy"] < 0.95)).all()
    with pytest.raises(ValueError, match=r"split \(100, 30, 0\) does not fit 120 samples"):
        gold_splits([(100, 30, 0)], **options)


def layer_log_likelihood(q, z):
    """Maximum over psi of the noise layer, pseudo-counts as there, by EM written out."""
    classes = q.shape[1]
    psi = np.full((classes, classes), 0.2 / (classes - 1)) + (0.8 - 0.2 / (classes - 1)) * np.eye(classes)
    added = np.full((classes, classes), 1 / (classes - 1)) + (1 - 1 / (classes - 1)) * np.eye(classes)
    for _ in range(1000):
        joint = q * psi[:, z].T
        total = joint.sum(axis=1)
        counts = (joint / total[:, None]).T @ np.eye(classes)[z] + added
        psi = counts / counts.sum(axis=1, keepdims=True)
    return np.log(total).sum()


@pytest.fixture(scope="module")
def digits():
    """Scikit-learn's digits, 12 % of the labels wrong, half of these a like digit, as a newcomer had them."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.preprocessing import scale

    x, y = load_digits(return_X_y=True)
    rng, like = np.random.default_rng(3), np.array([6, 7, 3, 8, 9, 6, 5, 1, 3, 4])
    other = (y + rng.integers(1, 10, y.size)) % 10
    z = np.where(rng.random(y.size) < 0.12, np.where(rng.random(y.size) < 0.5, like[y], other), y)
    x = scale(x)
    q = cross_val_predict(LogisticRegression(max_iter=500), x, z, cv=5, method="predict_proba")
    return x, y, z, q


def test_probabilities_of_a_model_of_noisy_labels_are_sharpened(digits):
    """The power is that of highest likelihood, by another EM, and near 1 where nothing is to mend."""
    z, q = digits[2][:500], digits[3][:500]
    labels = jt.Labels.from_matrix(z[:, None], 10)
    sharp = sharpened(labels, q)
    powers = np.geomspace(1.0, 7.0, 10)
    raised = [(p := q**t) / p.sum(axis=1, keepdims=True) for t in powers]
    best = raised[int(np.argmax([layer_log_likelihood(p, z) for p in raised]))]
    np.testing.assert_allclose(sharp, best, atol=1e-6)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(3000) + 2.0 * (truth := rng.integers(0, 2, 3000))
    known = np.stack([1 / (1 + np.exp(2 * (x - 1))), 1 / (1 + np.exp(-2 * (x - 1)))], axis=1)  # p(y | x)
    noisy = np.where(rng.random(3000) < 0.15, 1 - truth, truth)
    again = sharpened(jt.Labels.from_matrix(noisy[:, None], 2), known)
    assert np.abs(again - known).max() < 0.12


def test_the_number_of_wrong_labels_is_counted_by_predictions_and_by_features(digits):
    _, y, z, q = digits
    wrong, labels = (y != z).sum(), jt.Labels.from_matrix(z[:, None], 10)
    before = fit_noise_layer(labels, q, num_bootstrap=20).own["expected_wrong"]
    found = counted_by(labels, q, 0)[0]
    assert found.interval[0] < wrong < found.interval[1]
    assert abs(found.expected - wrong) < 0.25 * wrong and before < 0.9 * wrong
    assert "known" in found.caution and (found.p_wrong <= 1).all() and (found.p_wrong >= 0).all()
    noise = np.random.default_rng(1).dirichlet(np.full(10, 5.0), y.size)  # says nothing
    nothing = counted_by(labels, noise, 0)[0]
    assert nothing.interval[0] == 0 and "say little about the number" in nothing.caution


def test_a_queue_says_how_many_are_wrong_and_no_forecast():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    x = rng.standard_normal((200, 2)) + 2.2 * np.stack([y, -y], axis=1)
    z = np.where(rng.random(200) < 0.2, 1 - y, y)
    state, notes, wrong = begin(jt.Labels.from_matrix(z[:, None], 2), (None, None), x)
    made = queue(state, 5, notes=notes, wrong=wrong)
    assert made.sentence.startswith(wrong.sentence) and "worth" not in made.sentence
    assert wrong.interval[0] <= (y != z).sum() <= wrong.interval[1]
    (table,) = made.tables()
    said = answer_dict(made)
    assert table.columns[0].title == "P(wrong) by features" == said["score_is"]
    np.testing.assert_allclose([row["score"] for row in table.rows], ask(state, 5).scores)
    assert 0 <= said["estimated_accuracy"] <= 1 and "worth_it" not in said["advice"]


def test_an_estimated_accuracy_is_a_share():
    """Labels that are better than their stated error rates: the unbiased count is above 1."""
    x = np.linspace(-2, 2, 40)[:, None]
    labels = jt.Labels.from_matrix((x > 0).astype(int), 2)
    state = start(x, labels, jt.noise.Symmetric(0.3, 2), [0.5, 0.5])
    assert estimated_accuracy(state) == 1.0
