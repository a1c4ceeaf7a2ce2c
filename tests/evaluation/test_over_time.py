"""Shares of many groups and of days: exact likelihoods, simulated walks, one error model, sentences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import jtruth as jt
from jtruth.evaluation import Groups, compare_groups, labelers_by_group
from jtruth.evaluation.compared import Dists
from jtruth.evaluation.group_labelers import LabelersByGroup
from jtruth.evaluation.groups import in_order
from jtruth.evaluation.over_time import (
    JUMP,
    JUMP_SD,
    SIGMAS,
    Evidence,
    evidence_of,
    shares_apart,
    shares_in_order,
    symbols_of,
    table_of,
    tables_of,
)
from jtruth.stats.draws import DrawsEstimate

pytestmark = pytest.mark.usefixtures("few_sets")
ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])


def rng(seed=0):
    return np.random.default_rng(seed)


def evidence(counts, gold=0, rows=ROWS, draws=250):
    counts = np.array(counts)
    gold = np.broadcast_to(np.array(gold), (len(counts), 2))
    return Evidence(counts, gold, np.tile(rows, (draws, 1, 1)))


def test_a_group_by_itself_has_the_posterior_of_its_share():
    """Against Beta where labels are certain (one sample, none, none of the class), else a fine grid."""
    certain = evidence([[1, 0], [0, 0], [400, 0], [30, 70]], rows=np.eye(2))
    drawn = shares_apart(certain, rng())
    for column, (k, n) in zip(drawn.T, ((0, 1), (0, 0), (0, 400), (70, 100)), strict=True):
        # 2000 draws: a false alarm once in 10 000; shares are cut at 1e-4 of a sample.
        assert stats.kstest(column, stats.beta(k + 0.5, n - k + 0.5).cdf).pvalue > 1e-4
    assert abs(np.median(drawn[:, 1]) - 0.5) < 0.06
    noisy, theta = evidence([[3, 2, 7]], [[1, 4]]), (np.arange(20_000) + 0.5) / 20_000
    mixed = theta[:, None] * ROWS[1] + (1 - theta)[:, None] * ROWS[0]
    weight = (mixed ** [3, 2, 7]).prod(axis=1) * theta ** (4 - 0.5) * (1 - theta) ** (1 - 0.5)
    cdf = np.cumsum(weight) / weight.sum()
    column = shares_apart(noisy, rng(1))[:, 0]
    assert stats.kstest(column, lambda x: np.interp(x, theta, cdf)).pvalue > 1e-4
    here = noisy.in_samples(rng(2), np.repeat(column[:, None], 1, axis=1))
    chance = theta[:, None] * ROWS[1] / mixed
    assert 17 * here.mean() == pytest.approx(4 + weight @ (chance @ [3, 2, 7]) / weight.sum(), abs=0.12)
    assert set(np.unique(np.rint(17 * here))) <= set(range(4, 17))


def test_days_in_order_have_the_posterior_of_the_walk():
    """Against paths drawn from the prior and weighed by the likelihood: 400 000, three days and a gap."""
    found = evidence([[9, 1, 0], [3, 3, 2], [0, 2, 6], [1, 2, 1]], [[0, 0], [1, 0], [0, 0], [0, 2]])
    when, draw = np.array([0.0, 1.0, 2.0, 5.0]), rng(3)
    size, gap = 400_000, np.diff(when)
    sigma, x = draw.choice(SIGMAS, size), [logit(draw.beta(0.5, 0.5, size))]
    for length in gap:
        jumps = draw.random(size) > (1 - JUMP) ** length
        step = np.where(jumps, JUMP_SD, sigma * np.sqrt(length))
        x.append(x[-1] + step * draw.standard_normal(size))
    share = expit(np.array(x))[:, :, None]
    log_p = (found.counts[:, None] * np.log(share * ROWS[1] + (1 - share) * ROWS[0])).sum(axis=(0, 2))
    share = share[:, :, 0]
    log_p += (found.gold[:, 1:] * np.log(share) + found.gold[:, :1] * np.log1p(-share)).sum(axis=0)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    mean = share @ weight
    sd = np.sqrt((share - mean[:, None]) ** 2 @ weight)
    drawn = shares_in_order(found, when, rng(4))
    # 1000 draws, and about 30 000 of the weighed ones: a standard error of .033 sd, and of .022 of an sd.
    assert np.abs(drawn.mean(axis=0) - mean).max() < 4 * 0.035 * sd.max()
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.1)
    gaps = np.corrcoef(drawn.T)[0, 1] - np.cov(share[:2], aweights=weight)[0, 1] / sd[0] / sd[1]
    assert abs(gaps) < 0.1


def test_what_rows_have_in_common_is_not_smoothed_away():
    """Two draws of the rows disagree: so do all days together, however many there are."""
    counts = np.tile([14, 0, 6], (60, 1))
    other = np.array([[0.9, 0.0, 0.1], [0.1, 0.0, 0.9]])
    both = Evidence(counts, np.zeros((60, 2), int), np.tile(np.stack([np.eye(3)[[0, 2]], other]), (60, 1, 1)))
    levels = shares_in_order(both, np.arange(60.0), rng(5)).mean(axis=1).reshape(-1, 2, 4).mean(axis=(0, 2))
    assert levels[0] == pytest.approx(0.3, abs=0.02) and levels[1] == pytest.approx(0.25, abs=0.02)


def test_symbols_and_tables():
    p = rng(6).random(5000)
    symbol = symbols_of(p)
    order = np.argsort(p)
    assert (np.diff(symbol[order]) >= 0).all() and 5 <= symbol.max() < 16
    assert not {*symbol[p < 0.5]} & {*symbol[p >= 0.5]}
    (table,) = table_of(p, symbol)
    np.testing.assert_allclose(table.sum(axis=0), np.bincount(symbol))
    assert table[1].sum() == pytest.approx(p.sum())
    z = np.array([[1, 1], [1, 0], [0, 0], [1, 1]])
    rates = np.array([[[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.4, 0.6]]]])
    symbol, tables = tables_of(jt.Labels.from_matrix(z, 2), 1, np.array([[0.6, 0.4]]), rates)
    own = [0.4 * 0.7 * 0.6, 0.4 * 0.7 * 0.4, 0.4 * 0.3 * 0.4]
    rest = [0.6 * 0.2 * 0.1, 0.6 * 0.2 * 0.9, 0.6 * 0.8 * 0.9]
    expected = np.array(own) / (np.array(own) + rest)
    np.testing.assert_allclose(tables[0][1, symbol[:3]], expected * [2, 1, 1], rtol=1e-6)
    made = evidence_of(np.array([0, 0, 1, 1]), 2, symbol, np.array([-1, 1, -1, 0]), tables)
    assert made.gold.tolist() == [[0, 1], [1, 0]] and made.counts.sum(axis=1).tolist() == [1, 1]
    np.testing.assert_allclose(made.rows.sum(axis=2), 1)


def test_ranks_share_ties():
    columns = rng(7).integers(0, 4, (300, 5)).astype(float)
    values = {str(k): DrawsEstimate(column) for k, column in enumerate(columns.T)}
    for sign in (1.0, -1.0):
        expected = np.zeros((5, 5))
        for row in sign * columns:
            for k in range(5):
                above, equal = (row > row[k]).sum(), (row == row[k]).sum()
                expected[k, above : above + equal] += 1 / equal / 300
        np.testing.assert_allclose(Dists(values, {}, columns, sign).ranks, expected, atol=1e-12)


DAYS, PER_DAY = 60, 20
TRUTH = np.where(np.arange(DAYS) < 35, 0.25, 0.6)
DAY = np.repeat(np.arange(DAYS), PER_DAY)
DATES = np.array([str(np.datetime64("2026-01-01") + k) for k in DAY])


@pytest.fixture(scope="module")
def stream():
    """60 days of 20 samples; the third of four judges passes fewer of class 1 from the 35th on."""
    draw = rng(11)
    y = (draw.random(DAY.size) < TRUTH[DAY]).astype(int)
    right = np.full((DAY.size, 4), 0.85)
    right[(DAY >= 35) & (y == 1), 2] = 0.45
    z = np.where(draw.random(right.shape) < right, y[:, None], 1 - y[:, None])
    labels = jt.Labels.from_matrix(z, 2).with_names(workers=list("abcd"), tasks=np.arange(DAY.size))
    return y, z, labels, np.where(draw.random(DAY.size) < 0.1, y, -1)


@pytest.mark.usefixtures("few_lineages")
@pytest.mark.parametrize("how", ["gold", "independent", "labels"])
def test_days_borrow_from_their_neighbours(stream, how):
    y, z, _, gold = stream
    labels = jt.Labels.from_matrix(z[:, [0, 1, 3]], 2)
    options = {"gold": {"gold": gold}, "independent": {"assume": "independent"}, "labels": {}}[how]
    found, alone = (
        jt.prevalence(labels, by=Groups(DATES, smooth=s), key=1, **options) for s in (None, False)
    )
    groups, widths = found.groups, []
    assert groups.names == tuple(np.unique(DATES)) and groups.dated and tuple(groups.sizes) == (20,) * 60
    for one in (groups, alone.groups):
        ends = np.array([one.dists.values[name].interval()[:2] for name in one.names])
        inside = (ends[:, 0] <= TRUTH) & (ends[:, 1] >= TRUTH)
        assert inside.mean() > 0.8  # of 60 days with a common error; see benchmarks/days.py
        widths.append(np.ptp(ends, axis=1).mean())
    assert widths[0] < (0.75 if how != "labels" else 1.05) * widths[1]
    assert any("smooth=False" in text for text in found.warnings)
    assert not any("smooth=False" in text for text in alone.warnings)
    if how != "labels":
        rise = groups.dists.p_better(groups.names[-1], groups.names[0])
        document = found.blocks()
        assert rise > 0.95 and f"rose with probability {rise:.2f}, from 2026-01-01" in document.sentence
        curve = next(one for one in document.blocks if getattr(one, "name", "") == "by.curve")
        assert curve.x == "time" and curve.series[""]["x"] == list(map(float, range(60)))
        assert tuple(curve.named.values()) == groups.names and curve.ticks()[1] == (12.0, "2026-01-13")
        assert found.in_sample.groups.dists is groups.in_sample
        rows = document.tables()[0]
        brief, _, out = rows.shown(8, 2, full=False)
        kept, ends = [row["group"] for row in brief], groups.dists.ranking[:: len(groups.names) - 1]
        assert kept == sorted(kept) and {*ends, groups.names[0], groups.names[-1]} <= set(kept)
        assert len(kept) == 60 - out <= 8 and len(rows.shown(20, 5)[0]) == 60
        assert f"({out} more rows: summary(full=True))" in found.summary(width=80)
        rise = groups.dists.p_better(*groups.names[1::-1])
        gaps = next(one for one in document.blocks if getattr(one, "name", "") == "by.differences").rows
        assert (gaps[0]["first"], gaps[0]["second"]) == groups.names[:-3:-1]
        assert "above previous" not in found.summary(width=120)
        assert rows.rows[1]["above_previous"] == rise and rows.rows[0]["above_previous"] is None
        mean = np.array([row["mean"] for row in rows.rows])
        assert mean[40:].mean() - mean[:30].mean() == pytest.approx(
            y[DAY >= 40].mean() - y[DAY < 30].mean(), abs=0.07
        )
        assert len(found.summary(width=80).splitlines()) <= 20
    same = jt.prevalence(labels, by=DATES, key=1, target="in-sample", **options).groups
    here = same.dists.values["2026-01-03"].mean
    assert here == same.in_sample.values["2026-01-03"].mean == groups.in_sample.values["2026-01-03"].mean


@pytest.mark.usefixtures("few_lineages")
def test_any_number_of_groups_and_groups_of_one_sample():
    """Every group of one sample: what is known of it alone, and no more; their differences are few."""
    draw, names = rng(9), np.array([f"g{k}" for k in range(300)])
    y = draw.integers(0, 2, 300)
    labels = jt.Labels.from_matrix(np.repeat(y[:, None], 3, axis=1), 2)
    found = jt.prevalence(labels, by=names, key=0, gold=y)
    dists = found.groups.dists
    for k in (0, 7):
        dist, jeffreys = dists.values[f"g{k}"], stats.beta(y[k] + 0.5, 1.5 - y[k])
        np.testing.assert_allclose(np.quantile(dist.draws, [0.1, 0.9]), jeffreys.interval(0.8), atol=0.04)
        assert dist.mean == pytest.approx(jeffreys.mean(), abs=0.03)
        assert found.groups.in_sample.values[f"g{k}"].mean == y[k]
    assert len(dists.differences) == 300 and sum(dists.best.values()) == pytest.approx(1)
    assert "fewer than 5 samples" in " ".join(found.warnings)
    assert len(found.to_dict()["by"]["groups"]) == 300
    compared = compare_groups(y, labels, np.repeat(names[:60], 5), key=0, gold=y)
    assert len(compared.values) == 60 and compared.values["g0"].mean == pytest.approx(1, abs=0.1)
    assert len(compared.differences) < 200
    turns = np.repeat([10, 9, 2], 100)
    shown = compare_groups(np.where(turns == 10, 1 - y, y), labels, turns, key=0, gold=y).blocks()
    assert [row["name"] for row in shown.tables()[0].rows] == ["2", "9", "10"]
    assert shown.blocks[1].series[""]["x"] == [2.0, 9.0, 10.0]
    assert "P(10, the last, is better than 2, the first) = 0.00" in shown.sentence


def test_the_order_of_groups():
    months = ("2026-01", "2025-12", "2026-03")
    names, code, when, dated, _ = in_order(months, np.array([0, 1, 2, 0]))
    assert names == ("2025-12", "2026-01", "2026-03") and code.tolist() == [1, 0, 2, 1] and dated
    assert np.diff(when).tolist() == [31 * 86400.0, 59 * 86400.0]
    assert in_order(("10", "9.5", "-1"), np.arange(3))[0] == ("-1", "9.5", "10")
    assert in_order(("b", "a"), np.arange(2))[2] is None
    kept, _, when, _, notes = in_order(("01/02/2026", "05/01/2026", "03/03/2026"), np.arange(3))
    assert kept[0] == "01/02/2026" and when is None and "2026-02-01 or 2026-01-02" in notes[0]
    assert in_order(("13/02/2026", "05/01/2026"), np.arange(2))[0][0] == "05/01/2026"
    assert in_order(("2026-Q1", "2025-Q4"), np.arange(2))[0] == ("2025-Q4", "2026-Q1")
    assert in_order(("2026-01-06 00:00:00", "2026-01-05T00:00:00.000"), np.arange(2))[0][0] == "2026-01-05"


@pytest.mark.usefixtures("few_lineages")
def test_labelers_over_days(stream):
    """The judge who changed does so in his own row alone, and differences name days before and after."""
    y, z, labels, gold = stream
    found = labelers_by_group(labels, DATES, gold=gold, key=2)
    assert isinstance(found, LabelersByGroup) and len(found.rows) == 240
    low = [row for row in found.rows if row["low"] is None or row["high"] < 0.85]
    assert {row["worker"] for row in low} <= {"c"} and all(row["num_labels"] == 20 for row in found.rows)
    mean = {w: [dists.values[name].mean for name in np.unique(DATES)] for w, dists in found.dists.items()}
    for t, worker in enumerate("abcd"):
        truth = [(z[:, t] == y)[part].mean() for part in (DAY < 30, DAY >= 40)]
        here = np.mean(mean[worker][:30]), np.mean(mean[worker][40:])
        np.testing.assert_allclose(here, truth, atol=0.08)
    document = found.blocks()
    assert "60 groups" in document.about and "c is better in 2026-0" in document.sentence
    curve = next(one for one in document.blocks if getattr(one, "name", "") == "by.curve")
    assert next(iter(curve.series)) == "c" and len(curve.series["c"]["x"]) == 60
    free = labelers_by_group(labels, DATES, key=2)
    assert free.rows[0]["worker"] == "c" and free.rows[0]["high"] - free.rows[0]["low"] > 0.3


@pytest.mark.usefixtures("few_lineages")
def test_drift_in_a_stream_names_class_and_date(stream):
    """By dates where they are known, else by the set; and the file keeps both."""
    _, _, labels, _ = stream
    from jtruth.evaluation.by_one_model import quick_labelers, the_prior
    from jtruth.learning.em.streaming import begin_stream, update

    seconds = np.array(DATES, "M8[s]").astype(float)
    parts = [np.flatnonzero(k == DAY // 15) for k in range(4)]
    for when in (seconds, None):
        times = [None if when is None else when[part] for part in parts]
        state = begin_stream(labels.restrict(parts[0]), smoothing=the_prior(2), when=times[0])
        for part, one in zip(parts[1:], times[1:], strict=True):
            state = update(state, labels.restrict(part), when=one)
        report = quick_labelers(state, key=0)
        (drift,) = [one.message for one in report.suspicious if one.name == "drift"]
        assert drift.startswith("Recall of class '1' changed: that of 'c' fell from ")
        assert ("after 2026-0" if when is not None else "after set 2 ") in drift
        mine = next(row["drift"] for row in report.rows if row["worker"] == "c")
        assert when is None or "2026-01-25" < mine["date"] < "2026-02-12"
        assert mine["class"] == "1" and mine["p_value"] < 0.05 and mine["before"] > mine["after"] + 0.2
        assert replace(report).checks[0].name == "drift"
