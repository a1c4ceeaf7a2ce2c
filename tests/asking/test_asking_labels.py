"""Next label: against the sum over all class vectors, and behaviour on larger sets."""

import itertools
from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy.special import gammaln

import jtruth as jt
from jtruth.asking import Aim, next_labels
from jtruth.asking import labels as asking
from jtruth.labels import Labels
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.learning.joint.posterior import fit_joint
from jtruth.tables.metrics import named_metric
from jtruth.testing.multiclass import count_posterior

KEY = jax.random.key(0)


def by_enumeration(z, y_pred, psi, pi, metric):
    """Variance of the metric now, and its expected drop (samples, labelers): all class vectors, all answers.

    The variance after every possible answer is computed by itself; nothing of `_answers` is used.
    """
    classes, size = len(pi), len(z)
    vectors = np.array(list(itertools.product(range(classes), repeat=size)))
    terms = named_metric(metric, range(classes), 1).terms(np.ones((classes, classes)))
    weight, value = np.zeros(len(vectors)), np.zeros(len(vectors))
    for r, y in enumerate(vectors):
        table = np.zeros((classes, classes))
        np.add.at(table, (y, y_pred), 1)
        weight[r] = np.log(pi[y]).sum() + (gammaln(table + 1).sum(1) - gammaln(table.sum(1) + classes)).sum()
        weight[r] += sum(np.log(psi[t, y[i], z[i, t]]) for i, t in np.argwhere(z >= 0))
        below = (terms[1] * table).sum()
        value[r] = (terms[0] * table).sum() / below if below > 0 else np.nan
    defined = ~np.isnan(value)
    y, value, p = vectors[defined], value[defined], np.exp(weight[defined] - weight.max())
    p = p / p.sum()
    drop = np.zeros(z.shape)
    for i, t in np.argwhere(z < 0):
        drop[i, t] = fall(value, p, [p * psi[t, y[:, i], k] for k in range(classes)])
    return variance(value, p), drop


def variance(value, weight):
    mean = weight @ value / weight.sum()
    return weight @ value**2 / weight.sum() - mean**2


def fall(value, weight, answers):
    """Of the variance, expected over the answers; `answers`: the weights with each of them."""
    return variance(value, weight) - sum(w.sum() * variance(value, w) for w in answers)


def small(classes, size, seed=0):
    rng = np.random.default_rng(seed)
    psi = 0.3 * rng.dirichlet(np.ones(classes), (4, classes)) + 0.7 * np.eye(classes)
    pi, y = np.full(classes, 1 / classes), np.arange(size) % classes
    y_pred = np.where(rng.random(size) < 0.2, (y + 1) % classes, y)
    z = np.where(rng.random((size, 4)) < 0.5, y[:, None], rng.integers(0, classes, (size, 4)))
    z = np.where(rng.random((size, 4)) < 0.5, -1, z)
    return z, y_pred, psi, pi, Labels.from_matrix(z, classes, allow_unlabelled=True)


@pytest.mark.parametrize("metric", ["accuracy", "recall", "precision", "f1", "false_alarm_rate"])
def test_two_classes_exactly(metric):
    z, y_pred, psi, pi, labels = small(2, 7)
    now, drop = by_enumeration(z, y_pred, psi, pi, metric)
    found = next_labels(labels, y_pred, 3, key=KEY, aim=Aim(metric), rates=(psi, pi))
    assert found.method == "exact, rates known"
    assert found.variance == pytest.approx(now, rel=1e-10)
    np.testing.assert_allclose(found.reductions, drop, atol=1e-13)
    best = drop.max(axis=1)
    assert set(found.samples) == set(np.argsort(-best)[:3])
    assert found.drop[0] == pytest.approx(best.max())


def test_three_classes_by_draws(monkeypatch):
    monkeypatch.setattr(asking, "count_posterior", partial(count_posterior, alpha=1.0))
    z, y_pred, psi, pi, labels = small(3, 6)
    now, drop = by_enumeration(z, y_pred, psi, pi, "accuracy")
    monkeypatch.setattr(asking, "_DRAWS", 4000)
    found = next_labels(labels, y_pred, 2, key=KEY, rates=(psi, pi))
    assert found.variance == pytest.approx(now, rel=0.05)  # 4000 draws
    np.testing.assert_allclose(found.reductions, drop, atol=0.05 * drop.max())
    for metric in ("recall", "f1"):  # linearised: six samples are few, the order is right
        now, drop = by_enumeration(z, y_pred, psi, pi, metric)
        found = next_labels(labels, y_pred, 1, key=KEY, aim=Aim(metric), rates=(psi, pi))
        assert np.corrcoef(found.reductions.ravel(), drop.ravel())[0, 1] > 0.9


def crowd(size=400):
    rng = np.random.default_rng(5)
    errors = np.array([0.08, 0.2, 0.3, 0.35])
    y = (rng.random(size) < 0.3).astype(int)
    z = np.where(rng.random((size, 4)) < errors, 1 - y[:, None], y[:, None])
    z = np.where(rng.random((size, 4)) < 0.4, -1, z)
    y_pred = np.where(rng.random(size) < 0.12, 1 - y, y)
    matrices = np.array([[[1 - e, e], [e, 1 - e]] for e in errors])
    return y, z, y_pred, Labels.from_matrix(z, 2, allow_unlabelled=True), matrices


@pytest.mark.slow
def test_draws_agree_with_exact_tables(monkeypatch):
    _, _, y_pred, labels, matrices = crowd()
    options = {"key": KEY, "aim": Aim("recall"), "rates": (matrices, [0.7, 0.3])}
    monkeypatch.setattr(asking, "_DRAWS", 2000)
    monkeypatch.setattr(asking, "_MOST_TABLES", 1000)
    exact = next_labels(labels, y_pred, 20, **options)
    monkeypatch.setattr(asking, "_MOST_TABLES", 0)
    drawn = next_labels(labels, y_pred, 20, **options)
    assert exact.method != drawn.method
    assert np.corrcoef(exact.reductions.ravel(), drawn.reductions.ravel())[0, 1] > 0.999
    assert drawn.reductions.sum() == pytest.approx(exact.reductions.sum(), rel=0.1)
    assert drawn.variance == pytest.approx(exact.variance, rel=0.1)


@pytest.mark.slow
def test_asked_as_expected():
    """Precision needs predicted positives; the good labeler is asked first; nobody is asked twice; costs."""
    y, z, y_pred, labels, matrices = crowd()
    options = {"key": KEY, "aim": Aim("precision"), "rates": (matrices, [0.7, 0.3])}
    found = next_labels(labels, y_pred, 20, **options)
    assert (y_pred[found.samples] == 1).all() and (found.labelers == 0).mean() > 0.6
    assert (z[found.samples, found.labelers] < 0).all()
    assert np.all(np.diff(found.drop) <= 1e-15) and (found.reductions[z >= 0] == 0).all()
    assert (found.gold_reductions[:, None] >= found.reductions - 1e-12).all()
    dear = next_labels(labels, y_pred, 20, **options, prices=([100.0, 1.0, 1.0, 1.0], np.inf))
    assert (dear.labelers != 0).all()
    truth = np.where(np.arange(400) < 100, y, -1)
    gold = next_labels(labels, y_pred, 20, **options, gold=truth, prices=(None, 1.0))
    assert (gold.labelers == -1).all() and (gold.samples >= 100).all()
    assert (gold.reductions[:100] == 0).all() and "gold" in gold.summary(full=True)
    population = next_labels(labels, y_pred, 20, **options | {"aim": Aim("precision", target="population")})
    assert population.variance > found.variance


def log_evidence(counts, alpha):
    """Rows of counts, their probabilities integrated out: Dirichlet-multinomial."""
    total = gammaln(counts + alpha).sum(-1) - gammaln((counts + alpha).sum(-1))
    return (total - gammaln(alpha).sum(-1) + gammaln(alpha.sum(-1))).sum()


def test_learned_rates_by_enumeration(monkeypatch):
    """Accuracy: all class vectors, with prior, matrices and classifier integrated out, after every answer."""
    y = np.repeat([0, 1], 6)
    z = np.tile(y[:, None], (1, 4))
    z[0, 1] = z[3, 3] = 1
    z[7, 2] = z[9, 0] = 0
    z[[1, 2, 8, 10, 11], 3] = z[4, 1] = z[7, 0] = z[9, 2] = z[0, 0] = -1
    y_pred, alpha, eye = np.where(np.isin(np.arange(12), [5, 11]), 1 - y, y), np.eye(2) + 1, np.eye(2)
    vectors = np.array(list(itertools.product((0, 1), repeat=12)))
    value, weight = (vectors == y_pred).mean(axis=1), np.zeros(len(vectors))
    answers = np.zeros((len(vectors), *z.shape, 2))
    for r, classes in enumerate(vectors):
        table = lambda seen, on: eye[classes[on]].T @ eye[seen[on]]  # noqa: B023, E731
        weight[r] = log_evidence(np.bincount(classes, minlength=2)[None], np.ones((1, 2)))
        weight[r] += log_evidence(table(y_pred, y >= 0), alpha)
        for t in range(4):
            counts = table(z[:, t], z[:, t] >= 0)
            weight[r] += log_evidence(counts, alpha)
            answers[r, :, t] = ((counts + alpha) / (counts + alpha).sum(1, keepdims=True))[classes]
    p = np.exp(weight - weight.max())
    p = p / p.sum()
    drop = np.array([fall(value, p, p * answers[:, i, t].T) for i, t in np.argwhere(z < 0)])
    fixed = partial(fit_joint, priors=DirichletPriors(diagonal=2.0))  # rows of fixed priors
    monkeypatch.setattr(asking, "fit_joint", fixed)
    monkeypatch.setattr(asking, "_DRAWS", 3000)
    found = next_labels(Labels.from_matrix(z, 2), y_pred, 2, key=KEY)
    assert found.variance == pytest.approx(variance(value, p), rel=0.1)  # some 400 effective draws
    np.testing.assert_allclose(found.reductions[z < 0], drop, atol=0.1 * drop.max())
    assert np.corrcoef(found.reductions[z < 0], drop)[0, 1] > 0.99


def test_what_is_refused(as_installed, monkeypatch):
    _, y_pred, psi, pi, labels = small(2, 7)
    ask = lambda **o: next_labels(labels, o.pop("y_pred", y_pred), o.pop("num", 1), key=KEY, **o)  # noqa: E731
    for options, message in (
        ({"rates": (psi[:2], pi)}, "4"),
        ({"rates": (psi, pi), "num": 99}, "num is 99"),
        ({"rates": (psi, pi), "prices": ([1.0, 0.0, 1.0, 1.0], 1.0)}, "above 0"),
        ({"rates": (psi, pi), "prices": ([1.0], 1.0)}, "4 labelers"),
        ({"y_pred": y_pred[:3]}, r"shape \(7,\)"),
        ({"gold": np.full(7, 5)}, "class codes 0 to 1"),
        ({"rates": (psi, pi), "aim": Aim(target="luck")}, "target"),
        ({"rates": (psi, pi), "aim": Aim("luck")}, "luck"),
    ):
        with pytest.raises(ValueError, match=message):
            ask(**options)
    poor = SimpleNamespace(usable=False, warnings=("one labeler",))
    monkeypatch.setattr(asking, "fit_joint", lambda *_, **__: poor)
    with pytest.raises(ValueError, match="cannot be learned from these labels: one labeler"):
        ask()


def test_the_sd_is_that_of_evaluate_under_the_assumption_named_in_its_line():
    """What `ask` prints is the sd of evaluate if errors are independent, and its line says so."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    z = np.where(rng.random((300, 4)) < 0.8, y[:, None], 1 - y[:, None])
    z[rng.random(z.shape) < 0.3] = -1
    y_pred = np.where(rng.random(300) < 0.85, y, 1 - y)
    labels = Labels.from_matrix(z, 2, allow_unlabelled=True)
    chosen = next_labels(labels, y_pred, 3, key=0)
    alone = jt.evaluate(y_pred, labels, assume="independent", key=0).in_sample.accuracy.sd
    assert chosen.variance**0.5 == pytest.approx(alone, rel=0.1)  # draws of the rates, 400 and some
    assert jt.evaluate(y_pred, labels, key=0).accuracy.sd > 3 * alone
    line = chosen.blocks().sentence
    assert "err independently" in line and f"{chosen.variance**0.5:.4f}" in line
