"""Predicted widths with more labels or gold, against the widths after they are collected."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

import jtruth as jt
from jtruth.planning.more import Offer, drawn_from, more_data, width_of, with_new

RIGHT = np.array([0.9, 0.8, 0.75, 0.7])


def labels_of(rng, samples=120, each=4):
    """Labels of four people, some of whom see a sample, and the truth."""
    y = (rng.random(samples) < 0.4).astype(int)
    z = np.where(rng.random((samples, 4)) < RIGHT, y[:, None], 1 - y[:, None])
    z[np.argsort(rng.random(z.shape), axis=1) >= each] = -1
    return jt.Labels.from_matrix(z, classes=["no", "yes"]), y


def test_labels_and_gold_are_drawn_as_they_would_be_bought():
    """Nobody labels a sample twice while others are left; new labels and truth have the learned rates."""
    rng = np.random.default_rng(1)
    labels, _ = labels_of(rng, 4000, each=2)
    posterior = np.tile([0.7, 0.3], (4000, 1))
    matrices = np.stack([[[r, 1 - r], [(1 - r) / 2, (1 + r) / 2]] for r in RIGHT])
    known = np.where(np.arange(4000) < 100, 1, -1)
    fit = SimpleNamespace(class_posterior=posterior, mean_matrices=matrices)
    truth, grown, order = inspect.unwrap(drawn_from)(labels, known, fit, 3, rng)
    assert (truth[:100] == 1).all() and truth[100:].mean() == pytest.approx(0.3, abs=0.03)
    assert sorted(order) == list(range(100, 4000))
    assert [len(one.label) for one in grown] == [8000, 12000, 16000, 20000]
    assert [one.num_labelers for one in grown] == [4, 5, 6, 7]
    sample, who, label = (column[8000:16000] for column in grown[2].arrays)
    pairs = set(zip(grown[2].sample.tolist(), grown[2].labeler.tolist(), strict=True))
    assert len(pairs) == 16000 and (who < 4).mean() > 0.99
    for t in range(4):
        for c in (0, 1):
            mine = (who == t) & (truth[sample] == c)
            sd = 4 * np.sqrt(0.25 / mine.sum())
            assert (label[mine] == 1).mean() == pytest.approx(matrices[t, c, 1], abs=sd)
    new = grown[3].labeler[16000:]
    assert (new == 6).mean() > 0.98


def test_widths_are_those_of_the_questions_themselves():
    """Now: what `prevalence` and `evaluate` print; with gold: about what real gold gives (known truth)."""
    rng = np.random.default_rng(2)
    labels, y = labels_of(rng)
    y_pred = np.where(rng.random(120) < 0.85, y, 1 - y)
    names = np.array(["no", "yes"])
    for metric, asked in (("prevalence", {"positive": "yes"}), ("recall", {"positive": "no"})):
        predictions = None if metric == "prevalence" else names[y_pred]
        found = more_data(
            labels, y_pred=predictions, metric=metric, offer=Offer((1,), (30, 500)), key=3, **asked
        )
        assert [row["buy"] for row in found.rows[1:]] == ["1 more label each", "30 verified labels",
                                                          "120 verified labels"]  # fmt: skip
        if metric == "prevalence":
            low, high = jt.prevalence(labels, key=3).shares["yes"].interval(0.95)
        else:
            low, high = jt.evaluate(y_pred, labels, key=3, positive="no").metrics[metric].interval(0.95)
        assert found.rows[0]["width"] == pytest.approx(high - low)
        real = width_of(labels, y, y_pred, metric, {"key": 3, **asked})
        assert found.rows[3]["width"] == pytest.approx(real, rel=0.25)
        assert found.rows[2]["width"] > found.rows[3]["width"]
    costs = more_data(labels, offer=Offer((2,), (30,), 0.5, 4.0), num_sets=1, assume="independent").rows
    assert [row["cost"] for row in costs] == [0, 120, 120] and [row["num_labels"] for row in costs] == [
        0,
        240,
        0,
    ]
    assert costs[1]["width"] < costs[0]["width"]
    with pytest.raises(ValueError, match="metric must be one of 'prevalence', 'accuracy'"):
        more_data(labels, y_pred=names[y_pred], metric="speed", num_sets=1)
    alone = jt.Labels.from_matrix(np.random.default_rng(0).integers(0, 2, (20, 1)), 2)
    with pytest.raises(ValueError, match="the labelers cannot be learned from these labels"):
        more_data(alone, num_sets=1)


def test_where_all_is_verified_new_samples_are_offered():
    """Copies of verified samples with their labels; widths are those of Jeffreys' interval."""
    rng = np.random.default_rng(3)
    labels, y = labels_of(rng, each=3)
    found = more_data(labels, y, offer=Offer((1,), (30,), new=(40, 400)), num_sets=4, key=3)
    said = ["nothing", "40 new verified samples", "400 new verified samples"]
    assert [row["buy"] for row in found.rows] == said and [row["num_labels"] for row in found.rows] == [
        0,
        120,
        1200,
    ]
    for row in found.rows:
        n = 120 + row["num_new"]
        low, high = beta.interval(0.95, n * y.mean() + 0.5, n * (1 - y.mean()) + 0.5)
        assert row["width"] == pytest.approx(high - low, rel=0.03)
    spread = max(row["sd"] / row["width"] for row in found.rows[1:])
    assert f"up to {max(1, round(100 * spread))} % for verified labels" in " ".join(
        found.summary(full=True).split()
    )
    inside = more_data(labels, y, offer=Offer((1,), (30,)), num_sets=1, target="in-sample")
    assert len(inside.rows) == 1  # all is known of these
    known = np.where(np.arange(120) < 100, y, -1)
    buys = [
        row["buy"] for row in more_data(labels, known, offer=Offer((1,), (30,), new=(50,)), num_sets=1).rows
    ]
    assert buys[1:] == ["1 more label each", "20 verified labels", "50 new verified samples"]
    grown, codes, guesses = inspect.unwrap(with_new)(labels, known, 10 * np.arange(120), 50, rng)
    old = (guesses[120:] / 10).astype(int)
    assert (old < 100).all() and (codes[120:] == y[old]).all() and grown.num_samples == 170
    one, new = (grown.restrict(rows).counts().tolist() for rows in (np.arange(120), np.arange(120, 170)))
    assert one == labels.counts().tolist() and new == labels.counts()[old].tolist()
