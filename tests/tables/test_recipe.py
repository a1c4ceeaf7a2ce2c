"""The recipe "Add a metric" of docs/extending.md, followed at run time: one line registers it everywhere.

The miss rate is 1 - recall, so every way of computing one checks the other.
"""

import jax
import numpy as np
import pytest
from scipy.special import logit

import jtruth as jt
from jtruth.planning import Labeler, Plan, Setting
from jtruth.planning.widths import approximate_width, simulated_width
from jtruth.tables import metrics
from jtruth.testing import collapse
from jtruth.testing.binary.empirical_bayes import NormalTable
from jtruth.testing.binary.exact import dist_at, node_table
from tests.source import recipes

pytestmark = pytest.mark.usefixtures("few_sweeps")

(LINE,) = recipes("LinearRatio")
KEY = jax.random.key(0)
GIVEN = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.6, 0.4], "key": KEY}


@pytest.fixture(autouse=True)
def miss_rate(monkeypatch):
    entry = eval(LINE, vars(metrics))
    monkeypatch.setitem(metrics.METRICS, entry.name, entry)
    return entry


def crowd(n=120, classes=2, labelers=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    z = np.where(rng.random((n, labelers)) < 0.8, y[:, None], rng.integers(0, classes, (n, labelers)))
    y_pred = np.where(rng.random(n) < 0.85, y, rng.integers(0, classes, n))
    return y, y_pred, jt.Labels.from_matrix(z, classes)


def assert_mirrored(found, atol=1e-9):
    """Distributions of the miss rate and of recall in one answer."""
    one, other = found.metrics["miss_rate"], found.metrics["recall"]
    assert one.mean == pytest.approx(1 - other.mean, abs=atol)
    assert one.probability_defined == pytest.approx(other.probability_defined, abs=1e-9)
    a, b = one.interval(0.9), other.interval(0.9)
    width = a.high - a.low
    np.testing.assert_allclose([a.low, a.high], [1 - b.high, 1 - b.low], atol=max(atol, 0.02 * width))


def test_the_line_is_the_metric(miss_rate):
    assert miss_rate(1, 2, 3, 6) == 3 / 4 and np.isnan(miss_rate(0, 1, 0, 3))


SLOW = ("empirical_bayes", "sampling", "labels", "prior_marginal", "no_predictions")


@pytest.mark.parametrize(
    "method",
    ["bayes", "exact_means", *(pytest.param(m, marks=pytest.mark.slow) for m in SLOW)],
)
def test_every_binary_method(method):
    _, y_pred, labels = crowd()
    found = jt.evaluate(y_pred, labels, method=method, **GIVEN)
    assert_mirrored(found, 1e-6)
    assert "miss rate" in str(found) and "miss_rate" in found.to_dict()["metrics"]
    vote = found.baselines["majority_vote"]
    assert vote["miss_rate"] == pytest.approx(1 - vote["recall"])
    assert jt.plots.plot_metrics(found).get_yticklabels()[-1].get_text() == "miss rate"


@pytest.mark.slow
def test_prior_integrated_out_and_a_sensitivity_range():
    _, y_pred, labels = crowd()
    assert_mirrored(jt.evaluate(y_pred, labels, noise=GIVEN["noise"]))
    learned = jt.evaluate(y_pred, labels, key=KEY)
    assert_mirrored(learned)
    assert "miss_rate" in learned.assumptions[0].metrics


def test_gold():
    y, y_pred, labels = crowd()
    gold = np.where(np.arange(y.size) < 40, y, -1)
    found = jt.evaluate(y_pred, labels, gold=gold, key=KEY)
    assert found.interval_kind == "posterior"
    one, other = found.metrics["miss_rate"], found.metrics["recall"]
    assert one.mean == pytest.approx(1 - other.mean, abs=1e-12)  # of one table in every draw
    parts = {a.name: a.metrics for a in found.assumptions}
    assert parts["ppi"]["miss_rate"].mean == pytest.approx(1 - parts["ppi"]["recall"].mean)


def test_more_classes(miss_rate, monkeypatch):
    """Of the positive class nobody asked for, so not among the overall ones; of each class in their table."""
    monkeypatch.setitem(metrics.METRICS, "miss_rate", miss_rate._replace(each_class=True))
    _, y_pred, labels = crowd(classes=3)
    found = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.25, 3), prior=np.full(3, 1 / 3), key=KEY)
    assert_mirrored(found)
    assert found.estimate("macro_miss_rate").mean == pytest.approx(1 - found.estimate("macro_recall").mean)
    assert found.estimate("miss_rate[2]").mean < 0.5
    lines = found.summary(full=True).splitlines()
    assert not any(line.lstrip().startswith(("miss", "recall", "F1")) for line in lines)
    head = lines.index("Metrics of each class") + 1
    assert lines[head].split() == ["precision", "recall", "F1", "miss", "rate"]
    assert f"{found.estimate('miss_rate[2]').mean:.2f}" in lines[head + 3]


def test_a_million_samples():
    rng = np.random.default_rng(1)
    y = rng.random(400_000) < 0.4
    x = logit(0.4) + logit(0.8) * (2 * rng.binomial(3, np.where(y, 0.8, 0.2)) - 3)
    data = collapse(x, (rng.random(y.size) < np.where(y, 0.8, 0.15)).astype(int))
    table = node_table(data)
    found, other = table.estimate("miss_rate"), table.estimate("recall")
    assert found.mean == pytest.approx(1 - other.mean, abs=1e-9)
    assert found.sd == pytest.approx(other.sd, rel=1e-6)
    np.testing.assert_allclose(found.interval(), np.subtract(1, other.interval())[::-1], atol=1e-6)
    kappa = table.estimate("kappa")  # no ratio: atoms at the nodes, against draws of the table
    drawn = metrics.named_metric("kappa").of_table(table.draws(KEY, 4000))
    assert abs(kappa.mean - drawn.mean()) < 5 * kappa.sd / np.sqrt(4000)
    assert kappa.sd == pytest.approx(drawn.std(), rel=0.08)
    # A metric that does not depend on A at all has the distribution of B.
    npv = metrics.Metric("npv", len, metrics.LinearRatio("npv", (0, 0, 0, 1), (0, 0, 1, 1)), 1)
    assert table.estimate(npv).mean == pytest.approx(1 - table.count_dist(1).mean / table.n0, abs=1e-12)


def test_planning():
    people = [Labeler("crowd", 0.2, people=5)]
    width = [
        approximate_width(Setting([0.7, 0.3], 0.9, people, metric=metric), Plan(500, (3,), 0)).width
        for metric in ("miss_rate", "recall")
    ]
    assert width[0] == pytest.approx(width[1], rel=1e-6)


@pytest.mark.slow
def test_a_metric_that_is_no_ratio_is_served_too(monkeypatch):
    """Shown for two classes: exact, by atoms, at the plug-in point, in gold and in plans."""
    entry = metrics.METRICS["mcc"]._replace(printed=metrics.ALWAYS)
    monkeypatch.setitem(metrics.METRICS, "mcc", entry)
    y, y_pred, labels = crowd()
    for method in ("bayes", "empirical_bayes", "sampling"):
        assert 0.2 < jt.evaluate(y_pred, labels, method=method, **GIVEN).metrics["mcc"].mean < 1
    gold = np.where(np.arange(y.size) < 60, y, -1)
    found = jt.evaluate(y_pred, labels, gold=gold, key=KEY)
    table = np.zeros((2, 2))
    np.add.at(table, (y, y_pred), 1)
    low, high = found.metrics["mcc"].interval(0.99)
    assert low < metrics.named_metric("mcc").of_table(table) < high
    data = collapse(np.array([1.0, -1, 2, -2, 0.5]), np.array([1, 0, 1, 0, 0]))
    moments = jt.testing.moments(jax.numpy.ones(2), jax.numpy.array([0, 1]), jax.numpy.full(2, 0.5))
    normal = NormalTable(**vars(dist_at(data, 0.7, 0.3)), moments=moments)
    assert normal.estimate("mcc").mean == dist_at(data, 0.7, 0.3).estimate("mcc").mean
    with pytest.raises(ValueError, match="'mcc' is not a ratio of counts"):
        jt.testing.normal_posterior(normal.moments, "mcc")
    with pytest.raises(ValueError, match="of one class: name it"):
        metrics.named_metric("miss_rate", "abc")


@pytest.mark.parametrize(
    "metric", ["kappa", *(pytest.param(m, marks=pytest.mark.slow) for m in ("macro_f1", "mcc"))]
)
def test_plans_for_metrics_that_are_no_ratio(metric):
    """Predicted width against simulated sets: the standard error of the simulation, and the approximation."""
    made = Setting([0.6, 0.4], 0.85, [Labeler("crowd", 0.2, people=5)], metric=metric, rates="known")
    predicted = approximate_width(made, Plan(1500, (3,), 0)).width
    simulated = simulated_width(made, Plan(1500, (3,), 0), key=KEY, num_sets=12)
    assert predicted == pytest.approx(simulated.width, rel=0.08)
