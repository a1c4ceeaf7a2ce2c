"""Which of two classifiers is better for new samples: coverage of the paired difference, and of P(better).

Run: python benchmarks/comparison_new_samples.py [SETS, 10000] [parts: known noisy]

known: all classes are known. Twelve populations: accuracies (.5, .5), (.8, .8), (.8, .7), (.95, .9), each with
correlation 0, .3 and .6 of being right. Nominal 95 % intervals: `jtruth.tables.pairs.new_difference` (paired
Dirichlet with 1/2 a cell), Newcombe's paired interval (1998, method 10), Wald.

noisy: 200 samples, three labelers wrong in .2 (known), accuracies uniform in .75 to .9, half of the luck
shared: `compare_classifiers` against the accuracies of the population, a twentieth of SETS sets.
"""

import sys

import numpy as np

import jtruth as jt
from jtruth.tables.pairs import new_difference
from jtruth.tables.posterior import TableDraws

ACCURACIES, CORRELATIONS, SIZES = (
    ((0.5, 0.5), (0.8, 0.8), (0.8, 0.7), (0.95, 0.9)),
    (0.0, 0.3, 0.6),
    (20, 50, 100, 200, 500),
)
Z = 1.959964


def population(one, two, correlation):
    """Chances of (both right, only the first, only the second, neither); correlation as far as there is one."""
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
    print(f"{'n':>4}" + "".join(f"{name:>32}" for name in ("paired Dirichlet", "Newcombe", "Wald")))
    for n in SIZES:
        found = {name: [] for name in ("paired", "newcombe", "wald")}
        for k, (one, two) in enumerate(ACCURACIES):
            for c in CORRELATIONS:
                counts = (
                    np.random.default_rng([47, n, k, int(10 * c)])
                    .multinomial(n, population(one, two, c), sets)
                    .T
                )
                for name, interval in (("paired", paired), ("newcombe", newcombe), ("wald", wald)):
                    low, high = interval(*counts)
                    gap = one - two
                    found[name].append([np.mean((low <= gap) & (gap <= high)), np.mean(high - low)])
        row = "".join(
            f"   {np.mean(v, axis=0)[0]:.3f} (least {np.min(v, axis=0)[0]:.3f}) {np.mean(v, axis=0)[1]:.3f}"
            for v in map(np.array, found.values())
        )
        print(f"{n:>4}{row}")


def noisy(sets):
    held, width, said, right, size, noise = [], [], [], [], 200, jt.noise.Symmetric(0.2, 2)
    for seed in range(sets):
        rng = np.random.default_rng([48, seed])
        y, rates, common = rng.integers(0, 2, size), rng.uniform(0.75, 0.9, 2), rng.random(size)
        z = np.where(rng.random((size, 3)) < 0.2, 1 - y[:, None], y[:, None])
        luck = [np.where(rng.random(size) < 0.5, common, rng.random(size)) for _ in rates]
        two = {name: np.where(u < a, y, 1 - y) for name, u, a in zip("ab", luck, rates, strict=True)}
        labels = jt.Labels.from_matrix(z, 2)
        found = jt.compare_classifiers(two, labels, noise=noise, prior=[0.5, 0.5])
        laws = [found.differences["a", "b"], found.in_sample.differences["a", "b"], found.values["a"]]
        true = (rates[0] - rates[1], rates[0] - rates[1], rates[0])
        ends = np.array([law.interval()[:2] for law in laws])
        held.append((ends[:, 0] <= true) & (true <= ends[:, 1]))
        width.append(ends[:, 1] - ends[:, 0])
        said.append(found.best["a"]), right.append(rates[0] > rates[1])
    held, width, said, right = map(np.array, (held, width, said, right))
    names = ("difference", "in-sample difference, of the population's", "accuracy")
    for k, name in enumerate(names):
        print(f"{name}: covered {held[:, k].mean():.3f}, width {width[:, k].mean():.3f}")
    bins = np.digitize(said, [0.1, 0.3, 0.5, 0.7, 0.9])
    for b in range(6):
        here = bins == b
        error = np.sqrt(right[here].mean() * (1 - right[here].mean()) / here.sum())
        print(
            f"P(better) {said[here].mean():.3f}: was better in {right[here].mean():.3f} +- {error:.3f} of {here.sum()}"
        )


if __name__ == "__main__":
    words = sys.argv[1:]
    number = int(words[0]) if words else 10_000
    for part in words[1:] or ("known", "noisy"):
        {"known": known, "noisy": noisy}[part](number if part == "known" else number // 20)
