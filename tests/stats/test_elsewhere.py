"""Shares from error rates measured elsewhere, against quadrature, chi-square and loops."""

import numpy as np
import pytest
from scipy.special import softmax, xlogy
from scipy.stats import beta, chi2

from jtruth.stats import elsewhere
from jtruth.tables.new_samples import class_shares


def draws(z, z_cal, truth, classes=2, seed=0, group=None):
    h, judged = elsewhere.verdicts(z, z_cal, truth, classes)
    group = np.zeros(len(z), int) if group is None else group
    rng = np.random.default_rng(seed)
    return elsewhere.corrected(h, group, int(group.max()) + 1, judged, truth, rng)


def of_counts(k1, n1, k0, n0, k, n):
    """One judge: labels of new items, of the calibration, and its truth."""
    truth = np.repeat([1, 0], [n1, n0])
    return (
        np.repeat([1, 0], [k, n - k])[:, None],
        np.repeat([1, 0, 0, 1], [k1, n1 - k1, k0, n0 - k0])[:, None],
        truth,
    )


@pytest.mark.parametrize(
    "counts", [(14, 15, 12, 15, 500, 1000), (55, 100, 52, 100, 480, 1000), (18, 20, 20, 20, 3, 60)]
)
def test_one_judge_is_the_posterior_by_quadrature(counts):
    """Rates by the calibration alone, share given each by Jeffreys' prior: draws, and new samples."""
    k1, n1, k0, n0, k, n = counts
    u = (np.arange(60) + 0.5) / 60
    phi = (np.arange(400) + 0.5) / 400 * np.pi / 2
    theta = np.sin(phi) ** 2  # evenly spaced for Jeffreys' prior
    se, fp = beta.ppf(u, k1 + 0.5, n1 - k1 + 0.5)[:, None], beta.ppf(u, n0 - k0 + 0.5, k0 + 0.5)
    p = theta[:, None, None] * se + (1 - theta[:, None, None]) * fp
    log_p = k * np.log(p) + (n - k) * np.log1p(-p)
    density = softmax(log_p, axis=0).mean(axis=(1, 2))
    below = np.cumsum(density) / density.sum()
    exact = np.interp([0.025, 0.5, 0.975], below, theta)
    tables, _, shares = draws(*of_counts(*counts))
    dist = class_shares(tables[..., -1].sum(axis=2))[1]
    for found in (
        np.quantile(shares[:, 0, 1], [0.025, 0.5, 0.975]),
        dist._quantile(np.array([0.025, 0.5, 0.975])),
    ):
        np.testing.assert_allclose(found, exact, atol=0.025)


def test_known_error_rates_are_rogan_and_gladen():
    """With very many calibration items the share is (p + sp - 1) / (se + sp - 1), its sd that of p's."""
    z, z_cal, truth = of_counts(900_000, 1_000_000, 700_000, 1_000_000, 600, 1000)
    tables, rates, shares = draws(z, z_cal, truth)
    np.testing.assert_allclose(rates.mean(axis=0), [[0.7, 0.3], [0.1, 0.9]], atol=1e-3)
    assert shares[:, -1, 1].mean() == pytest.approx((0.6 + 0.7 - 1) / 0.6, abs=0.004)
    assert shares[:, -1, 1].std() == pytest.approx(np.sqrt(0.24 / 1000) / 0.6, rel=0.06)
    assert (tables.sum(axis=(1, 2))[:, -1] == 1000).all()  # every item is of one class
    called = tables[:, 1, 1, -1] / tables[:, :, 1, -1].sum(axis=1)  # precision by Bayes' rule
    assert called.mean() == pytest.approx(0.5 * 0.9 / 0.6, abs=0.006)


def simulated(rng, n, shares, right, missing=0.0):
    classes = len(shares)
    y = rng.choice(classes, n, p=shares)
    wrong = (y[:, None] + rng.integers(1, classes, (n, right.shape[1]))) % classes
    z = np.where(rng.random(wrong.shape) < right[y], y[:, None], wrong)
    gone = rng.random(z.shape) < missing
    return y, np.where(gone & ~gone.all(axis=1)[:, None], -1, z)


RIGHT = np.array([[0.85, 0.7, 0.75], [0.8, 0.9, 0.7], [0.75, 0.8, 0.8]])


@pytest.mark.parametrize(
    "classes, judges, missing", [(2, 3, 0.0), (2, 2, 0.4), (2, 3, 0.4), (3, 2, 0.0), (3, 1, 0.0)]
)
def test_large_sets_find_the_shares(classes, judges, missing):
    """Another share, judges who share errors, labels missing in one set only, groups: within 4.5 sd."""
    rng, right = np.random.default_rng(1), RIGHT[:classes, :judges]
    old, new = np.full(classes, 1 / classes), np.arange(1, classes + 1) / np.arange(1, classes + 1).sum()
    truth, z_cal = simulated(rng, 6000, old, right)
    if judges > 2:  # the second copies the first
        z_cal[::2, 1] = z_cal[::2, 0]
    y, z = simulated(rng, 8000, new, right, missing)
    if judges > 2:
        z[::2, 1] = np.where(z[::2, 1] < 0, -1, np.where(z[::2, 0] < 0, z[::2, 1], z[::2, 0]))
    if missing and judges > 2:
        z_cal, z = z_cal[:, [0, 2]], z[:, [0, 2]]
        keep = (z >= 0).any(axis=1)
        y, z = y[keep], z[keep]
    group = (np.arange(len(z)) % 3 == 0).astype(int)
    _, _, shares = draws(z, z_cal, truth, classes, group=group)
    for u, part in enumerate((group == 0, group == 1, group >= 0)):
        true = np.bincount(y[part], minlength=classes) / part.sum()
        off = (shares[:, u].mean(axis=0) - true) / shares[:, u].std(axis=0)
        assert np.abs(off).max() < 4.5 and shares[:, u].std(axis=0).max() < 0.04


def test_verdicts_leave_the_items_own_truth_out():
    rng = np.random.default_rng(2)
    truth, z_cal = simulated(rng, 30, [0.5, 0.5], RIGHT[:2])
    z_cal[rng.random(z_cal.shape) < 0.2] = -1
    z_cal[(z_cal < 0).all(axis=1), 0] = 1
    z = np.array([[1, -1, 0], [1, 1, 0], [1, 1, 1]])
    h, judged = elsewhere.verdicts(z, z_cal, truth, 2)
    every = [(y, t, s) for y, row in zip(truth, z_cal, strict=True) for t, s in enumerate(row) if s >= 0]

    def probability(items, judges, own=None):
        """p(class 1) from labels (judge, label); `own`: one label of each is taken out of that class."""
        p = []
        for c in (0, 1):
            product = 1.0
            for t, s in zip(judges, items, strict=True):
                mine = [one for one in every if one[0] == c and one[1] == t]
                pooled = [one for one in every if one[0] == c]
                share = (sum(one[2] == s for one in pooled) + 0.5) / (len(pooled) + 1)
                out = own == c
                product *= (sum(one[2] == s for one in mine) - out + 2 * share) / (len(mine) - out + 2)
            p.append(product)
        return p[1] / sum(p)

    assert h[0, 1] == pytest.approx(probability([1, 0], [0, 2]))
    for i in range(8):
        ways = [judges for judges in ([0, 2], [0, 1, 2], [0, 1, 2]) if (z_cal[i, judges] >= 0).all()]
        ways = ways or [np.flatnonzero(z_cal[i] >= 0)]
        expected = np.mean([probability(z_cal[i, j], j, truth[i]) for j in ways])
        assert judged[i, 1] == pytest.approx(expected)


def test_mismatch_is_the_likelihood_ratio_test():
    """Two judges, calibration so large that the null is known: Pearson's and Wilks' chi-square with 2 df."""
    rng = np.random.default_rng(3)
    truth, z_cal = simulated(rng, 200_000, [0.5, 0.5], RIGHT[:2, :2])
    _, z = simulated(rng, 400, [0.2, 0.8], RIGHT[:2, :2])
    z[:25] = [1, 0]
    code = z @ [2, 1]
    q = np.stack([np.bincount(z_cal[truth == c] @ [2, 1], minlength=4) for c in (0, 1)]).astype(float)
    q /= q.sum(axis=1, keepdims=True)
    m, theta = np.bincount(code, minlength=4), np.linspace(0.001, 0.999, 4000)[:, None]
    ratio = 2 * (
        xlogy(m, m / m.sum()).sum() - (m * np.log(theta * q[1] + (1 - theta) * q[0])).sum(axis=1).max()
    )
    p, pattern, found, expected = elsewhere.mismatch(z, z_cal, truth, 2, rng)
    assert p == pytest.approx(chi2.sf(ratio, 2), abs=0.02) and 0.001 < p < 0.2
    assert pattern == (1, 0) and found == (code == 2).sum() > expected


def test_mismatch_of_one_judge_needs_a_share_that_no_mixture_has():
    rng = np.random.default_rng(4)
    for k in (100, 500, 880):
        z, z_cal, truth = of_counts(90, 100, 90, 100, k, 1000)
        assert elsewhere.mismatch(z, z_cal, truth, 2, rng)[0] > 0.01
    z, z_cal, truth = of_counts(70, 100, 90, 100, 900, 1000)
    assert elsewhere.mismatch(z, z_cal, truth, 2, rng)[0] < 0.01
    assert elsewhere.mismatch(z[:10], z_cal, truth, 2, rng) is None


def test_the_table_of_one_judge_uses_the_others():
    """Judges who know nothing change nothing; good ones who share errors say more, and what is true."""
    rng = np.random.default_rng(5)
    z, z_cal, truth = of_counts(80, 100, 70, 100, 480, 1000)
    alone = draws(z, z_cal, truth)[0][..., -1]
    same = elsewhere.of_one_judge(z[:, 0], z[:, 0], (z_cal[:, 0], z_cal[:, 0]), truth, 2, rng)
    for found in (alone, same):
        assert (found.sum(axis=1) == [520, 480]).all()
    ends = [np.quantile(found[:, 1, 1] / 480, [0.025, 0.5, 0.975]) for found in (alone, same)]
    np.testing.assert_allclose(*ends, atol=0.04)
    truth, z_cal = simulated(rng, 4000, [0.5, 0.5], np.array([[0.7, 0.95], [0.8, 0.95]]))
    y, z = simulated(rng, 2000, [0.8, 0.2], np.array([[0.7, 0.95], [0.8, 0.95]]))
    for one, true in ((z_cal, truth), (z, y)):
        one[::2, 1] = np.where(one[::2, 0] != true[::2], one[::2, 0], one[::2, 1])
    found = elsewhere.of_one_judge(z[:, 0], z[:, 1], (z_cal[:, 0], z_cal[:, 1]), truth, 2, rng)
    exact = np.array([[((y == c) & (z[:, 0] == s)).sum() for s in (0, 1)] for c in (0, 1)])
    assert (np.abs(found.mean(axis=0) - exact) < 4.5 * found.std(axis=0)).all()
    alone = draws(z[:, :1], z_cal[:, :1], truth)[0][..., -1]
    assert found[:, 1, 1].std() < 0.8 * alone[:, 1, 1].std()


def test_verdicts_by_one_rule_are_those_of_patterns():
    """Equal labels get equal verdicts, by the classes that have them; the second judge may be gone."""
    equal = np.array([[0.85, 0.85], [0.9, 0.9]])
    truth, z_cal = simulated(np.random.default_rng(6), 4000, [0.5, 0.5], equal)
    _, z = simulated(np.random.default_rng(7), 4000, [0.5, 0.5], equal)
    new, old = elsewhere.verdicts_by_one_rule(z, z_cal, truth, 2)
    for pattern in range(4):
        here, there = (h[labels @ [1, 2] == pattern] for h, labels in ((new, z), (old, z_cal)))
        assert np.ptp(np.concatenate([here, there])[:, 1]) < 1e-12
        true = (truth[z_cal @ [1, 2] == pattern] == 1).mean()
        assert here[0, 1] == pytest.approx(true, abs=0.06)
    alone, kept = elsewhere.verdicts_by_one_rule(np.where([True, False], z, -1), z_cal, truth, 2)
    for label in (0, 1):  # the first judge only
        both = np.concatenate([alone[z[:, 0] == label], kept[z_cal[:, 0] == label]])[:, 1]
        assert np.ptp(both) < 1e-12 and both[0] == pytest.approx((0.15, 0.86)[label], abs=0.06)
