"""Labels that say little of many samples: nodes of a ridge against the whole table and a closed form."""

import jax
import numpy as np
import pytest
from scipy.special import gammaln

from jtruth.tables.metrics import shown
from jtruth.testing import collapse, exact_posterior
from jtruth.testing.binary import ridge
from jtruth.testing.binary.exact import CountTable, count_table
from jtruth.testing.binary.log_odds_grid import on_grid
from jtruth.testing.binary.operating_point import most_probable


def weak(size, wrong, *, seed=0, share=0.5, apart=0.0):
    """Log-odds by three labelers who are wrong with this chance, and predictions right in .9."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < share).astype(int)
    y_pred = np.where(rng.random(size) < 0.9, y, 1 - y)
    votes = (rng.random((size, 3)) < np.where(y[:, None], 1 - wrong, wrong)).sum(axis=1)
    x = (2 * votes - 3) * np.log((1 - wrong) / wrong) + np.log(share / (1 - share))
    return collapse(x + apart * rng.normal(size=size), y_pred)


@pytest.mark.parametrize(("wrong", "apart"), [(0.5, 0.0), (0.499, 1e-3), (0.48, 1e-3), (0.46, 0.0)])
def test_nodes_say_what_the_whole_table_says(monkeypatch, wrong, apart):
    """N = 3000, where the table of all cells is small; single log-odds and repeated ones."""
    monkeypatch.setattr(ridge, "_FEW", 50)
    data = weak(3000, wrong, apart=apart)
    gridded = on_grid(data)
    whole, nodes = count_table(data), ridge.node_table(data, gridded, most_probable(gridded))
    assert nodes.probability.size < whole.probability.size / 5
    assert nodes.log_evidence == pytest.approx(whole.log_evidence, abs=5e-4)
    for name in shown("01"):
        one, other = whole.estimate(name), nodes.estimate(name)
        assert other.mean == pytest.approx(one.mean, abs=5e-4 * one.sd), name
        assert other.sd == pytest.approx(one.sd, rel=5e-4), name
        width, wide = np.ptp(one.equal_tails()[:2]), np.ptp(other.equal_tails()[:2])
        assert wide == pytest.approx(width, rel=0.015), name
    for axis in (0, 1):
        assert nodes.count_law(axis).mean == pytest.approx(whole.count_law(axis).mean, rel=5e-4)


def test_labels_that_say_nothing_have_a_law_in_closed_form():
    """P(A, B) depends on S = A + B alone, p^S (1-p)^(N-S) / ((S+1)! (N-S+1)!): given S, A is uniform."""
    share, data = 0.3, weak(60_000, 0.5, share=0.3)
    table = exact_posterior(data)
    assert isinstance(table, ridge.NodeTable) and table.probability.size < 5_000_000
    n, n1, n0 = 60_000, data.n1, data.n0
    s = np.arange(n + 1)
    low, high = np.maximum(0, s - n0), np.minimum(s, n1)
    log_p = s * np.log(share) + (n - s) * np.log1p(-share) - gammaln(s + 2) - gammaln(n - s + 2)
    log_p = log_p + np.log(np.maximum(high - low + 1, 1e-300))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean_a = p @ (0.5 * (low + high))
    second = p @ (((high - low + 1.0) ** 2 - 1) / 12 + (0.5 * (low + high)) ** 2)
    a = table.count_law(0)
    assert a.mean == pytest.approx(mean_a, rel=1e-5)
    assert a.sd == pytest.approx(np.sqrt(second - mean_a**2), rel=2e-4)
    right = p @ (low + high - s + n0) / n
    assert table.estimate("accuracy").mean == pytest.approx(right, abs=1e-5)


def test_everything_else_of_a_table_is_there():
    table = exact_posterior(weak(30_000, 0.49))
    assert isinstance(table, ridge.NodeTable)
    cells = table.cells()
    assert (
        np.isfinite(cells.mean).all() and (cells.low < cells.mean).all() and (cells.mean < cells.high).all()
    )
    draws = table.draws(jax.random.key(0), 4000)
    accuracy = (draws[:, 0, 0] + draws[:, 1, 1]) / 30_000
    law = table.estimate("accuracy")
    assert accuracy.mean() == pytest.approx(law.mean, abs=4 * law.sd / np.sqrt(4000))
    joint = table.joint("recall", "precision")
    assert joint.probability_defined == pytest.approx(1)
    assert 0 < law.mode < 1 and law.interval().mass == pytest.approx(0.95, abs=0.01)


def test_small_tables_stay_whole_and_a_few_predictions_too():
    assert type(exact_posterior(weak(1500, 0.5))) is CountTable
    x = np.random.default_rng(0).normal(0, 1e-3, 60_000)
    few = np.arange(60_000) < 5
    table = exact_posterior(collapse(x, few.astype(int)))
    assert type(table) is CountTable and table.a.tolist() == [0, 1, 2, 3, 4, 5]


def test_more_nodes_than_memory_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(ridge, "_MOST", 1000)
    with pytest.raises(ValueError, match=r"say so little of 60000 samples .* judge a random part"):
        exact_posterior(weak(60_000, 0.5))
