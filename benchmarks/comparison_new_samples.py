"""Which of two classifiers is better for new samples: coverage of the paired difference, and of P(better).

Run: python benchmarks/comparison_new_samples.py [SETS, 10000] [parts: known noisy]

known: all classes are known. Twelve populations: accuracies (.5, .5), (.8, .8), (.8, .7), (.95, .9), each
with correlation 0, .3 and .6 of being right. Nominal 95 % intervals: `jtruth.tables.pairs.new_difference`
(paired Dirichlet with 1/2 a cell), Newcombe's paired interval (1998, method 10), Wald.
noisy: 200 samples, three labelers wrong in .2 (known), accuracies uniform in .75 to .9, half of the luck
shared: `compare_classifiers` against the accuracies of the population, a twentieth of SETS sets.

Measured on 2 x86 cores, Python 3.11, NumPy 2, SciPy 1.17. known, 5000 sets, Monte Carlo error of a coverage
.003: mean over the populations (the least of twelve), mean width.

   n        paired Dirichlet                Newcombe                    Wald
  20   .954 (.927) width .399    .974 (.948) width .440    .896 (.685) width .383
  50   .948 (.938) width .255    .962 (.943) width .270    .937 (.926) width .252
 100   .949 (.939) width .181    .957 (.947) width .187    .943 (.911) width .180
 200   .950 (.943) width .128    .954 (.945) width .131    .947 (.941) width .128
 500   .950 (.945) width .081    .951 (.945) width .082    .949 (.945) width .081

noisy, 800 sets, error .008: the difference is covered in .949 (width .160), the first accuracy in .958
(.130). The answer about these samples (width .093) covers the population's difference in .736. P(first
better): means .03 .21 .40 .60 .80 .97 in six ranges; it was better in .04 .20 .41 .60 .75 .96 of them (errors
.01 .04 .05 .06 .04 .01).
"""

import sys

import numpy as np

import jtruth as jt
from jtruth.tables.pairs import new_difference
from jtruth.tables.posterior import TableDraws

ACCURACIES, CORRELATIONS = ((0.5, 0.5), (0.8, 0.8), (0.8, 0.7), (0.95, 0.9)), (0.0, 0.3, 0.6)
SIZES = (20, 50, 100, 200, 500)
Z = 1.959964


def population(one, two, correlation):
    """Chances of (both right, only the first, only the second, neither), correlated as far as can be."""
    both = one * two + correlation * np.sqrt(one * (1 - one) * two * (1 - two))
    both = min(both, one, two)
    return np.array([both, one - both, two - both, 1 - one - two + both])


def wilson(hits, n):
    """Score interval of a share."""
    p = hits / n
    middle, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)


def newcombe(both, first, second, neither):
    """Newcombe 1998, method 10, of arrays of counts."""
    n = both + first + second + neither
    one, two = (both + first) / n, (both + second) / n
    (l1, u1), (l2, u2) = wilson(both + first, n), wilson(both + second, n)
    cross, half = both * neither - first * second, n / 2
    cross = np.where(cross > half, cross - half, np.where(cross >= 0, 0.0, cross))
    below = np.sqrt(1.0 * (both + first) * (second + neither) * (both + second) * (first + neither))
    phi = np.where(below > 0, cross / np.where(below > 0, below, 1), 0.0)

    def reach(a, b):
        return np.sqrt(np.maximum(a**2 - 2 * phi * a * b + b**2, 0))

    return one - two - reach(one - l1, u2 - two), one - two + reach(two - l2, u1 - one)


def wald(both, first, second, neither):
    """Normal interval of the difference."""
    n = both + first + second + neither
    gap = (first - second) / n
    half = Z * np.sqrt(np.maximum((first + second) / n - gap**2, 0) / n)
    return gap - half, gap + half


def paired(both, first, second, neither):
    """Ours; it depends on two of the four counts."""
    pairs, which = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    n, ends = int(both[0] + first[0] + second[0] + neither[0]), []
    cells = np.zeros((3, 2, 4))
    cells[0, 1, 2] = cells[1, 1, 1] = 1
    cells[2] = 1
    for f, s in pairs.T.tolist():
        table = TableDraws(np.array([[[0, 0, 0, n - f - s], [0, s, f, 0]]]))
        ends.append(new_difference(table, cells).interval())
    return np.array(ends)[np.ravel(which)].T


def known(sets):
    """Coverage and width of three intervals."""
    ways = {"paired Dirichlet": paired, "Newcombe": newcombe, "Wald": wald}
    print(f"{'n':>4}" + "".join(f"{name:>32}" for name in ways))
    for n in SIZES:
        found = {name: [] for name in ways}
        for k, (one, two) in enumerate(ACCURACIES):
            for c in CORRELATIONS:
                rng = np.random.default_rng([47, n, k, int(10 * c)])
                counts = rng.multinomial(n, population(one, two, c), sets).T
                for name, interval in ways.items():
                    low, high = interval(*counts)
                    held = (low <= one - two) & (one - two <= high)
                    found[name].append([held.mean(), np.mean(high - low)])
        rows = [np.array(each).T for each in found.values()]
        print(f"{n:>4}" + "".join(f"   {h.mean():.3f} (least {h.min():.3f}) {w.mean():.3f}" for h, w in rows))


def noisy(sets):
    """Coverage of differences of the population, and whether P(better) is right."""
    held, width, said, right, size, noise = [], [], [], [], 200, jt.noise.Symmetric(0.2, 2)
    for seed in range(sets):
        rng = np.random.default_rng([48, seed])
        y, rates, common = rng.integers(0, 2, size), rng.uniform(0.75, 0.9, 2), rng.random(size)
        z = np.where(rng.random((size, 3)) < 0.2, 1 - y[:, None], y[:, None])
        luck = [np.where(rng.random(size) < 0.5, common, rng.random(size)) for _ in rates]
        two = {name: np.where(u < a, y, 1 - y) for name, u, a in zip("ab", luck, rates, strict=True)}
        labels = jt.Labels.from_matrix(z, 2)
        found = jt.compare_classifiers(two, labels, noise=noise, prior=[0.5, 0.5])
        dists = [found.differences["a", "b"], found.in_sample.differences["a", "b"], found.values["a"]]
        true = (rates[0] - rates[1], rates[0] - rates[1], rates[0])
        ends = np.array([dist.interval()[:2] for dist in dists])
        held.append((ends[:, 0] <= true) & (true <= ends[:, 1]))
        width.append(ends[:, 1] - ends[:, 0])
        said.append(found.best["a"])
        right.append(rates[0] > rates[1])
    held, width, said, right = map(np.array, (held, width, said, right))
    names = ("difference", "in-sample difference, of the population's", "accuracy")
    for k, name in enumerate(names):
        print(f"{name}: covered {held[:, k].mean():.3f}, width {width[:, k].mean():.3f}")
    bins = np.digitize(said, [0.1, 0.3, 0.5, 0.7, 0.9])
    for b in range(6):
        here = bins == b
        share = right[here].mean()
        error = np.sqrt(share * (1 - share) / here.sum())
        print(f"P(better) {said[here].mean():.3f}: better in {share:.3f} +- {error:.3f} of {here.sum()}")


if __name__ == "__main__":
    words = sys.argv[1:]
    number = int(words[0]) if words else 10_000
    for part in words[1:] or ("known", "noisy"):
        {"known": known, "noisy": noisy}[part](number if part == "known" else number // 20)
