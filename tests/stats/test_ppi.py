"""PPI++ against ppi-python, textbook formulas, and all samples of a tiny population."""

import itertools

import numpy as np
import pytest
from scipy import stats

from jtruth.stats.ppi import gold_sample, ppi_mean, ppi_ratio


def example(seed=0, size=300, gold=40, share=0.3):
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < share) * 1.0
    f = np.clip(0.6 * y + 0.2 + 0.1 * rng.standard_normal(size), 0, 1)
    has_gold = np.zeros(size, bool)
    has_gold[rng.permutation(size)[:gold]] = True
    return y, f, has_gold


def test_ppi_python_gives_the_same():
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed (pip install ppi-python)")
    y, f, has = example()
    rest = ~has
    for power in (0.0, 0.5, 1.0):  # theirs multiplies the mean of the others, ours the mean of all
        ours = ppi_mean(y[has], f, gold_sample(has), power=power)
        theirs = ppi.ppi_mean_pointestimate(y[has], f[has], f[rest], lam=power * rest.mean())
        np.testing.assert_allclose(ours.value, theirs[0], rtol=1e-12)
    # Their interval: z, variances divided by the number, the population. Ours has n - 2 and t.
    ours = ppi_mean(y[has], f, gold_sample(has), power=1.0, target="population", surprise=0.0)
    low, high = ppi.ppi_mean_ci(y[has], f[has], f[rest], lam=rest.mean(), alpha=0.05)
    half = (high - low)[0] / 2 / stats.norm.isf(0.025)
    # Both estimate the same variance, from all predictions or from those of the gold.
    assert ours.standard_error == pytest.approx(half, rel=0.12)
    large = example(1, 40_000, 10_000)
    ours = ppi_mean(large[0][large[2]], large[1], gold_sample(large[2]), target="population")
    low, high = ppi.ppi_mean_ci(large[0][large[2]], large[1][large[2]], large[1][~large[2]], alpha=0.05)
    np.testing.assert_allclose(ours.dist.interval(0.95), [low[0], high[0]], atol=3e-4)


def test_gold_only_is_the_textbook():
    """Of the samples at hand, and of a population: there N does not matter, and their own spread is added."""
    y, f, has = example()
    options = {"power": 0.0, "surprise": 0.0}
    whole = ppi_mean(y[has], f, gold_sample(has), target="population", **options)
    assert whole.standard_error == pytest.approx(y[has].std(ddof=1) / np.sqrt(has.sum()), rel=1e-12)
    found = ppi_mean(y[has], f, gold_sample(has), **options)
    n, size = has.sum(), has.size
    error = y[has].std(ddof=1) * np.sqrt((1 - n / size) / n)
    assert (found.value, found.standard_error) == (pytest.approx(y[has].mean()), pytest.approx(error))
    expected = stats.t.interval(0.95, n - 1, y[has].mean(), error)
    np.testing.assert_allclose(found.dist.interval(0.95), expected, rtol=1e-3)  # the tails outside [0, 1]


def test_best_power_is_least_squares():
    y, f, has = example()
    found = ppi_mean(y[has], f, gold_sample(has), surprise=0.0)
    line = stats.linregress(f[has], y[has])
    n = int(has.sum())
    assert found.power == pytest.approx(line.slope)
    assert found.value == pytest.approx(line.intercept + line.slope * f.mean())
    x = f[has] - f[has].mean()
    residual = y[has] - line.intercept - line.slope * f[has]
    leverage = 1 / n + x**2 / (x @ x)
    expected = np.sqrt((1 - n / has.size) * (residual**2 / (1 - leverage)).sum()) / n
    assert found.standard_error == pytest.approx(expected, rel=1e-12)
    assert found.converged and found.dist.freedom == n - 2


def test_average_over_every_possible_sample():
    """Gold only and plain PPI are unbiased, and so is their variance, over all C(8, 4) samples."""
    rng = np.random.default_rng(3)
    y, f = rng.random(8), rng.random(8)
    for power in (0.0, 1.0):
        found = []
        for chosen in itertools.combinations(range(8), 4):
            has = np.isin(np.arange(8), chosen)
            found.append(ppi_mean(y[has], f, gold_sample(has), power=power, surprise=0.0))
        values = np.array([e.value for e in found])
        np.testing.assert_allclose(values.mean(), y.mean(), rtol=1e-12)
        if power == 0:  # with a fixed power of 1 leverage counts a slope that was not fitted: conservative
            variance = np.mean([e.standard_error**2 for e in found])
            np.testing.assert_allclose(variance, values.var(), rtol=1e-12)


def test_all_gold_is_certain_and_right():
    y, f, _ = example(size=50)
    every = gold_sample(np.ones(50, bool))
    found = ppi_mean(y, f, every)
    assert found.value == pytest.approx(y.mean()) and found.standard_error == 0
    assert found.dist.interval(0.95).low == pytest.approx(y.mean())


def test_ratio_is_the_mean_of_its_linear_form():
    y, f, has = example()
    z = np.random.default_rng(1).random(300) < 0.4 + 0.4 * y
    truth, hat = y * z, f * z
    gold = gold_sample(has)
    found = ppi_ratio((truth[has], y[has]), (hat, f), gold, surprise=0.0)
    # The R at which the PPI estimate of mean(a - R b) vanishes.
    line = ppi_mean((truth - found.value * y)[has], hat - found.value * f, gold, surprise=0.0,
                    bounds=(-9.0, 9.0))  # fmt: skip
    assert line.value == pytest.approx(0, abs=1e-9) and line.power == pytest.approx(found.power)
    bottom = found.power * f.mean() + (y - found.power * f)[has].mean()
    assert found.standard_error == pytest.approx(line.standard_error / bottom)
    only = ppi_ratio((truth[has], y[has]), (hat, f), gold, power=0.0)
    assert only.value == pytest.approx(truth[has].sum() / y[has].sum())
    assert only.num_informative == y[has].sum() and only.dist.freedom == y[has].sum() - 1


def test_strata_are_weighted_by_their_size():
    y, f, _ = example(size=300)
    stratum = (np.arange(300) >= 200).astype(int) * 7  # any whole numbers
    has = np.zeros(300, bool)
    has[:20] = has[200:240] = True
    found = ppi_mean(y[has], f, gold_sample(has, strata=stratum), power=0.0, surprise=0.0)
    parts = [(y[:20], 200), (y[200:240], 100)]
    assert found.value == pytest.approx(sum(v.mean() * size / 300 for v, size in parts))
    variance = sum((size / 300) ** 2 * v.var(ddof=1) / v.size * (1 - v.size / size) for v, size in parts)
    assert found.standard_error == pytest.approx(np.sqrt(variance))
    assert found.dist.freedom == 58
    equal = gold_sample(has, inclusion=np.where(stratum == 0, 0.1, 0.4), strata=stratum)
    again = ppi_mean(y[has], f, equal, power=0.0, surprise=0.0)
    assert (again.value, again.standard_error) == (found.value, pytest.approx(found.standard_error))


def test_inclusion_weights():
    y, f, has = example()
    chance = np.where(f > 0.5, 0.5, 0.1)
    gold = gold_sample(has, inclusion=chance)
    weight = 1 / chance[has]
    found = ppi_mean(y[has], f, gold, power=0.0, surprise=0.0)
    assert found.value == pytest.approx(weight @ y[has] / weight.sum())
    # The linearised variance under independent choices, sum (1 - p) (w e)^2 / (sum w)^2, leverage aside.
    residual = y[has] - found.value
    plain = ((1 - chance[has]) * (weight * residual) ** 2).sum() / weight.sum() ** 2
    assert plain < found.standard_error**2 < 1.15 * plain
    power = ppi_mean(y[has], f, gold).power
    line = np.polyfit(f[has], y[has], 1, w=np.sqrt(weight))
    assert power == pytest.approx(line[0])


@pytest.mark.parametrize(
    ("y", "f"),
    [(np.zeros(30), np.zeros(300)), (np.ones(30), np.full(300, 0.9)), (np.zeros(30), np.linspace(0, 1, 300))],
)
def test_agreeing_gold_is_not_certainty(y, f):
    gold = gold_sample(np.arange(300) < 30)
    dists = [ppi_mean(y, f, gold, surprise=surprise).dist for surprise in (0.5, 0.0)]
    usual, textbook = (np.diff(dist.interval(0.95))[0] for dist in dists)
    assert 0.03 < usual < 0.1 and textbook < 1e-9  # 30 of 30 right: the rule of three says .1


def test_too_little_gold_says_nothing():
    gold, zeros = gold_sample(np.arange(100) < 5), np.zeros(100)
    found = ppi_ratio((zeros[:5], np.eye(5)[0]), (zeros, zeros + 0.2), gold)
    assert found.num_informative == 1 and found.dist.freedom == 1
    assert found.dist.interval(0.9).high > 0.7  # one sample, wrong: the ratio may be nearly anything
    found = ppi_ratio((zeros[:5], zeros[:5]), (zeros + 0.1, zeros + 0.2), gold)
    assert found.num_informative == 0 and np.diff(found.dist.interval(0.9)) == pytest.approx(0.9)
    nothing = ppi_ratio((zeros[:5], zeros[:5]), (zeros, zeros), gold)
    assert np.isinf(nothing.standard_error)  # 0/0 in the gold and in the predictions


@pytest.mark.parametrize(
    ("has_gold", "options", "message"),
    [
        ([0, 0, 0, 0], {}, "no sample has gold"),
        ([1, 0, 1], {"inclusion": [0.5, 1.0, 0.0]}, r"inclusion\[2\] is 0"),
        ([1, 0, 1], {"inclusion": [0.5, 1.0]}, "inclusion has shape .*; it must be .3 samples"),
        ([1, 1, 1, 0], {"strata": ["a"] * 4, "sizes": [2] * 4}, "size of stratum 'a' is 2: .* its gold .3."),
        ([1, 1, 0, 0], {"strata": ["a"] * 4, "sizes": [3, 4, 3, 3]}, "one number for each stratum"),
        ([1, 1, 1, 0], {"strata": ["a"] * 4, "sizes": [5] * 4}, "sizes sum to at most 4"),
        ([1, 1, 1, 0], {"strata": [0.5] * 4}, "strata must hold whole numbers"),
    ],
)
def test_unusable_gold_is_named(has_gold, options, message, as_installed):
    with pytest.raises(ValueError, match=message):
        gold_sample(np.array(has_gold) > 0, **options)


def test_unusable_numbers_are_named(as_installed):
    y, f, has = example()
    with pytest.raises(ValueError, match=r"numerator_hat has shape .*300 samples"):
        ppi_mean(y[has], f[:10], gold_sample(has))
    with pytest.raises(ValueError, match=r"numerator\[0\] is nan"):
        ppi_mean(np.full(40, np.nan), f, gold_sample(has))
    with pytest.raises(ValueError, match="target must be one of"):
        ppi_mean(y[has], f, gold_sample(has), target="sample")


def test_a_surprise_weighs_what_the_sample_it_stands_for_would_weigh():
    """All gold agrees: what is left is half an answer of residual 1, with the weight of a random sample."""
    has, inclusion = np.arange(100) < 10, np.where(np.arange(100) < 5, 0.5, 0.05)
    y = np.zeros(100)
    found = ppi_mean(y[has], y, gold_sample(has, inclusion=inclusion), power=0.0)
    share = np.repeat([2.0, 20.0], 5) / 110
    variance = 0.5 * sum(p * (1 - q) * p**2 for p, q in zip(share, inclusion[has], strict=True))
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-12)
    first = np.repeat([[1.0, 0.0], [1.0, 1.0]], 5, axis=0), np.ones((10, 2))  # that of the others is idle
    found = ppi_mean(y[has], y, gold_sample(has, inclusion=inclusion), power=0.0, possible=first)
    assert found.standard_error == pytest.approx(np.sqrt(0.5 * 0.5 * (2 / 110) ** 2), rel=1e-12)
    even = ppi_mean(y[has], y, gold_sample(has), power=0.0)
    assert even.standard_error == pytest.approx(np.sqrt(0.5 * 0.9 / 10**2), rel=1e-12)


def coverage(size, gold, share, sharp, **options):
    """(covered, width) of nominal 95 % intervals of a share by calibrated predictions."""
    rng, rows = np.random.default_rng([size, gold, int(100 * share), sharp]), []
    for _ in range(400):
        y = (rng.random(size) < share) * 1.0
        x = rng.standard_normal(size) + sharp * (y - 0.5)
        f = 1 / (1 + np.exp(-sharp * x - np.log(share / (1 - share))))
        has = np.zeros(size, bool)
        has[rng.permutation(size)[:gold]] = True
        low, high = ppi_mean(y[has], f, gold_sample(has), **options).dist.interval(0.95)
        rows.append([low <= y.mean() <= high, high - low])
    return np.mean(rows, axis=0)


@pytest.mark.parametrize(
    ("size", "gold", "share", "sharp", "low", "high"),
    [
        (400, 30, 0.5, 1, 0.90, 0.99),
        (400, 30, 0.2, 3, 0.91, 1.0),
        pytest.param(400, 100, 0.2, 1, 0.89, 0.99, marks=pytest.mark.slow),
    ],
)
def test_coverage(size, gold, share, sharp, low, high):
    covered, width = coverage(size, gold, share, sharp)
    assert low < covered < high  # measured value +- 3.9 standard errors of 400 sets: false alarm 1e-4
    assert width < coverage(size, gold, share, sharp, power=0.0)[1]


def test_surprise_helps_where_the_class_is_rare():
    with_it, without = (coverage(400, 30, 0.05, 3, surprise=surprise)[0] for surprise in (0.5, 0.0))
    assert with_it > 0.77 and with_it > without + 0.05


def test_gold_that_is_not_in_proportion_has_unequal_chances():
    """Of 10 and 10 answers in strata of 80 and 20; an answer more or less than 16 and 4 is rounding."""
    strata, gold = np.repeat([0, 1], [80, 20]), np.zeros(100, bool)
    gold[[*range(10), *range(80, 90)]] = True
    np.testing.assert_allclose(gold_sample(gold, strata=strata).inclusion, np.repeat([0.125, 0.5], 10))
    gold[:] = False
    gold[[*range(17), *range(80, 83)]] = True
    np.testing.assert_allclose(gold_sample(gold, strata=strata).inclusion, 0.2)
