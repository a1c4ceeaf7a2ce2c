"""Areas by gold: draws of the table of bins hold them whatever labels say, and all gold is exact."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from jtruth.evaluation.gold.tables import gold_tables
from jtruth.stats.ppi import gold_sample
from jtruth.tables.curves import against_rest, curves


def case(seed, gold, size=400, bins=8):
    """(classes, bins, curves by gold and class posteriors that are too sure and wrong with the score)."""
    rng = np.random.default_rng([3, seed])
    y = (rng.random(size) < 0.4).astype(int)
    score = np.clip(np.round(rng.normal(3 + 1.5 * y, 1.5)), 0, bins - 1).astype(int)
    wrong = rng.random(size) < np.where(score == 4, 0.5, 0.1)  # the score's doubtful bin fools the labels too
    sure = np.where(np.where(wrong, 1 - y, y) == 1, 0.95, 0.05)
    known = np.full(size, -1)
    chosen = rng.choice(size, gold, replace=False)
    known[chosen] = y[chosen]
    posterior = np.stack([1 - sure, sure], axis=1)
    tables = gold_tables(score, bins, posterior, known, gold_sample(known >= 0), seed, rising=1)
    return y, score, curves(against_rest(tables.counts[::4], 1)), sure


@pytest.mark.slow
def test_intervals_hold_the_area_whatever_the_labels_share():
    """200 sets, 60 gold answers each: 174 or fewer held have probability 1e-5 at 95 %; the keys are fixed."""
    held, width, plain = 0, [], 0
    for seed in range(200):
        y, score, found, sure = case(seed, 60)
        low, high = found.auc.interval(0.95)
        held += low <= roc_auc_score(y, score) <= high
        width.append(high - low)
        plain += abs(roc_auc_score(sure > 0.5, score) - roc_auc_score(y, score)) < 0.02
    assert held > 174 and np.mean(width) < 0.2, (held, np.mean(width))
    assert plain < 150  # what the labels alone say is not the truth


def test_all_gold_is_exact():
    y, score, found, _ = case(0, 400)
    assert found.auc.mean == pytest.approx(roc_auc_score(y, score), abs=1e-12) and found.auc.sd < 1e-12
    assert found.at("detection", 4).mean == pytest.approx((score >= 4)[y == 1].mean(), abs=1e-12)
