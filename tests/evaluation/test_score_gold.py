"""PPI++ of an area: its projection, intervals that hold it whatever labels say, and all gold is exact."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from jtruth.evaluation.gold.measured import judged_samples
from jtruth.evaluation.gold.pooled import GoldPosterior
from jtruth.evaluation.score_gold import GoldCurves
from jtruth.tables.curves import against_rest, curves


def case(seed, gold, size=400, bins=8):
    """(classes, bins, curves by gold alone and class posteriors that are too sure and wrong together)."""
    rng = np.random.default_rng([3, seed])
    y = (rng.random(size) < 0.4).astype(int)
    score = np.clip(np.round(rng.normal(3 + 1.5 * y, 1.5)), 0, bins - 1).astype(int)
    wrong = rng.random(size) < np.where(score == 4, 0.5, 0.1)  # the score's doubtful bin fools the labels too
    sure = np.where(np.where(wrong, 1 - y, y) == 1, 0.95, 0.05)
    known = np.full(size, -1)
    chosen = rng.choice(size, gold, replace=False)
    known[chosen] = y[chosen]
    judged = replace(judged_samples(score, np.stack([1 - sure, sure], axis=1), known), num_symbols=bins)
    return y, score, GoldCurves(GoldPosterior({}, judged, (2, bins), size), 1, judged.table), sure


@pytest.mark.slow
def test_intervals_hold_the_area_whatever_the_labels_share():
    """200 sets, 60 gold answers each: 174 or fewer held have probability 1e-5 at 95 %; the keys are fixed."""
    held, width, plain = 0, [], 0
    for seed in range(200):
        y, score, found, sure = case(seed, 60)
        low, high, _ = found.law(lambda c: c.auc).interval(0.95)
        held += low <= roc_auc_score(y, score) <= high
        width.append(high - low)
        plain += abs(roc_auc_score(sure > 0.5, score) - roc_auc_score(y, score)) < 0.02
    assert held > 174 and np.mean(width) < 0.2
    assert plain < 150  # what the labels alone say is not the truth


def test_all_gold_is_exact_and_terms_are_hajeks_projection():
    """A sample adds the share of the other class that it outranks, ties half: the derivative by its cell."""
    y, score, found, _ = case(0, 400)
    area = roc_auc_score(y, score)
    assert found.law(lambda c: c.auc).mean == pytest.approx(area, abs=1e-9)
    assert found.law(lambda c: c.recall_at(4)).mean == pytest.approx((score >= 4)[y == 1].mean(), abs=1e-9)
    table = found.at
    step = 1e-6
    for true, symbol in ((1, 5), (0, 2)):
        more = table.copy()
        more[true, symbol] += step
        slope = [curves(against_rest(t[None], 1)).auc.mean for t in (more, table)]
        other, size = table[1 - true], table[true].sum()
        rank = (other[:symbol].sum() + 0.5 * other[symbol]) / other.sum()
        outranked = rank if true == 1 else 1 - rank
        np.testing.assert_allclose((slope[0] - slope[1]) / step, (outranked - area) / size, rtol=1e-4)
