"""`metric_posterior`: known classes give the function itself, draws follow the exact distributions."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import metrics

import jtruth as jt
from jtruth.evaluation.any_metric import tied_vectors
from jtruth.testing import of_labels

pytestmark = pytest.mark.usefixtures("few_sets")

NOISE, PRIOR = jt.noise.Symmetric(0.2, 2), [0.6, 0.4]


@pytest.fixture(scope="module")
def case():
    """(classes, predictions, scores, labels) of 200 samples and three labelers."""
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(int)
    z = np.where(rng.random((200, 3)) < 0.2, 1 - y[:, None], y[:, None])
    score = 1 / (1 + np.exp(-rng.normal(2.0 * y - 1, 1.0)))
    return y, (score > 0.5).astype(int), score, jt.Labels.from_matrix(z, 2)


def accuracy(y, y_pred):
    return (y == y_pred).mean()


def test_known_classes_give_the_function_itself(case):
    y, y_pred, score, _ = case
    with np.errstate(divide="ignore"):
        certain = np.log(np.eye(2)[y])
    for function, given, expected in (
        (of_labels.auc, score, metrics.roc_auc_score(y, score)),
        (of_labels.log_loss, np.stack([1 - score, score], 1), metrics.log_loss(y, score)),
        (of_labels.mcc, y_pred, metrics.matthews_corrcoef(y, y_pred)),
    ):
        found = jt.metric_posterior(function, given, certain, prior=PRIOR, num_draws=20)
        np.testing.assert_allclose(found.draws, expected, atol=1e-12)


def test_draws_follow_the_exact_dist_of_the_table(case):
    """Mean within 4.5 standard errors (7e-6), sd within 10 % (4.5 of its errors at 2000 draws: 7 %)."""
    _, y_pred, _, labels = case
    exact = jt.evaluate(y_pred, labels, noise=NOISE, prior=PRIOR, target="in-sample")
    both = lambda y, u: jnp.stack([(y == u).mean(), (y * u).sum() / y.sum()])  # noqa: E731
    found = jt.metric_posterior(both, y_pred, labels, noise=NOISE, prior=PRIOR, num_draws=2000)
    for place, dist in enumerate((exact.accuracy, exact.recall)):
        drawn = found.estimate(place)
        assert abs(drawn.mean - dist.mean) < 4.5 * dist.sd / np.sqrt(2000)
        assert abs(drawn.sd / dist.sd - 1) < 0.1
    with pytest.raises(ValueError, match="give 1 indices"):
        found.estimate()


def test_scores_agree_with_the_curves_of_bins(case):
    """Whole label vectors and count tables of the same bins: one posterior. The key is fixed."""
    _, _, score, labels = case
    curve = jt.evaluate_scores(score, labels, noise=NOISE, prior=PRIOR, target="in-sample")
    asked = []
    found = jt.metric_posterior(of_labels.auc, score, labels, noise=NOISE, prior=PRIOR,
                                progress=lambda done, planned: asked.append((done, planned)))  # fmt: skip
    dist = found.estimate()
    assert abs(dist.mean - curve.auc.mean) < 4.5 * dist.sd / np.sqrt(1000) + curve.hidden
    assert abs(dist.sd / curve.auc.sd - 1) < 0.15
    assert asked[-1] == (1000, 1000) and "independently" in found.summary(full=True)


@pytest.mark.slow
def test_learned_error_rates_and_gold(case):
    """The same posterior as `evaluate`: means within .4 of an interval's half width; the keys are fixed."""
    y, y_pred, score, labels = case
    exact = jt.evaluate(y_pred, labels, assume="independent", target="in-sample").accuracy
    dist = jt.metric_posterior(accuracy, y_pred, labels, assume="independent").estimate()
    assert abs(dist.mean - exact.mean) < 0.4 * exact.sd and abs(dist.sd / exact.sd - 1) < 0.2
    gold = np.where(np.arange(200) < 195, y, -1)
    known = jt.metric_posterior(of_labels.auc, score, labels, assume="independent", gold=gold, num_draws=100)
    assert abs(known.estimate().mean - metrics.roc_auc_score(y, score)) < 0.02
    with pytest.raises(ValueError, match="vouch for it"):
        jt.metric_posterior(accuracy, y_pred, labels, gold=gold)


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
def test_nobody_vouches(case):
    """Under each assumption it is what `evaluate` says; all together are a what-if range: mean and hull."""
    y, y_pred, score, labels = case
    whole = jt.evaluate(y_pred, labels, target="in-sample")
    found = jt.metric_posterior(accuracy, y_pred, labels)
    dists = {one.name: one.metrics["accuracy"] for one in whole.assumptions}
    for name, drawn in found.drawn.items():
        dist = dists[name]
        # The same fits, and vectors that count what their tables say; the vote's ties are drawn again.
        if name != "majority_vote":
            np.testing.assert_allclose([drawn.mean(), drawn.std()], [dist.mean, dist.sd], rtol=0.1)
        else:
            assert abs(drawn.mean() - dist.mean) < 5 * dist.sd / np.sqrt(1000) + 5e-3
            assert abs(drawn.std() - dist.sd) <= 0.15 * dist.sd  # 0 of three labelers: no vote is tied
    low, high = found.estimate().interval(0.95)
    ends = [one.metrics["accuracy"].interval(0.95) for one in whole.assumptions]
    np.testing.assert_allclose([low, high], [min(e.low for e in ends), max(e.high for e in ends)], atol=0.02)
    assert found.estimate().mean == pytest.approx(np.mean([drawn.mean() for drawn in found.drawn.values()]))
    assert found.interval_kind == "what-if range" and "Labels cannot show" in found.summary(full=True)
    assert "what-if range; assumption: unknown" in found.summary(full=True)
    assert "95 %" not in found.summary(full=True)
    with pytest.raises(ValueError, match="no probability distribution"):
        _ = found.draws
    area = jt.metric_posterior(of_labels.auc, score, labels, num_draws=200)
    single = area.drawn["independent"]
    assert abs(single.mean() - metrics.roc_auc_score(y, score)) < 4 * single.std() < 0.12


def test_vectors_count_what_their_tables_say():
    """Three classes, certain and impossible ones: counts are exact, chances are the posterior's."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 60)
    p[:2], p[2] = np.eye(3)[[0, 2]], [0, 0.3, 0.7]
    u = rng.integers(0, 2, 60)
    y = (rng.random((3000, 60))[..., None] > p.cumsum(axis=1)).sum(axis=2)
    tables = np.zeros((3000, 3, 2), int)
    np.add.at(tables, (np.arange(3000)[:, None], y, u[None]), 1)
    found = tied_vectors(p, u, tables, rng)
    counted = np.zeros_like(tables)
    np.add.at(counted, (np.arange(3000)[:, None], found, u[None]), 1)
    np.testing.assert_array_equal(counted, tables)
    share = (found[..., None] == np.arange(3)).mean(axis=0)
    assert np.abs(share - p).max() < 0.05  # 5.4 sd of 3000 draws, and the tables' own
    assert (found[:, 0] == 0).all() and (found[:, 1] == 2).all() and (found[:, 2] > 0).all()


def test_host_functions_are_slow_and_say_so(case):
    _, _, score, labels = case
    options = {"noise": NOISE, "prior": PRIOR, "num_draws": 50}
    slow = jt.metric_posterior(metrics.roc_auc_score, score, labels, **options)
    fast = jt.metric_posterior(of_labels.auc, score, labels, **options)
    np.testing.assert_allclose(slow.draws, fast.draws, atol=1e-12)
    assert "slow" in slow.warnings[-1] and not fast.warnings


def test_a_function_that_is_sometimes_undefined_says_how_often(case):
    _, y_pred, _, labels = case
    undefined = lambda y, u: jnp.where(y[0] == y_pred[0], jnp.nan, y.mean())  # noqa: E731
    found = jt.metric_posterior(undefined, y_pred, labels, noise=NOISE, prior=PRIOR, num_draws=50)
    share = np.isnan(found.draws).mean()
    assert abs(found.estimate().probability_defined + share - 1) < 1e-12
    assert f"Undefined in up to {share:.1%}" in found.summary(full=True)


def test_three_classes():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 150)
    z = np.where(rng.random((150, 3)) < 0.2, (y[:, None] + 1) % 3, y[:, None])
    p = 0.4 * rng.dirichlet(np.ones(3), 150) + 0.6 * np.eye(3)[y]
    labels = jt.Labels.from_matrix(z, 3)
    found = jt.metric_posterior(of_labels.log_loss, p, labels, noise=jt.noise.Symmetric(0.2, 3),
                                prior=np.full(3, 1 / 3), num_draws=200)  # fmt: skip
    assert abs(found.estimate().mean - metrics.log_loss(y, p)) < 5 * found.estimate().sd


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fn": "accuracy"}, r"fn is 'accuracy'; give a function.*estimate\('accuracy'\)"),
        ({"num_draws": 1}, "num_draws is 1"),
        ({"prediction": [0.1, np.nan, 0.3, 0.2]}, r"scores\[1\] is nan"),
        ({"prediction": np.full((4, 2), 0.4)}, r"probabilities\[0\] sums to 0.8, not to 1"),
        ({"prediction": np.full((4, 3), 1 / 3)}, "shape"),
        ({"prediction": [0, 1, 2, 1]}, "2"),
        ({"prior": None}, "class prior too"),
        ({"assume": "luck"}, "assume"),
        ({"fn": lambda y, u: np.zeros(int(np.sum(y)))}, "shape"),
    ],
)
def test_refused(as_installed, change, message):
    good = {
        "fn": accuracy,
        "prediction": [0, 1, 1, 0],
        "labels": np.log([[0.8, 0.2], [0.3, 0.7]] * 2),
        "prior": [0.5, 0.5],
    }
    with pytest.raises(ValueError, match=message):
        jt.metric_posterior(**{**good, **change})
