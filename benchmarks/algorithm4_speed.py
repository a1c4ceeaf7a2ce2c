"""Algorithm 4 of Su (2023): the deterministic step against sampling, N = 2000, C = 4, six iterations.

Run: python benchmarks/algorithm4_speed.py
One process, one thread, one core, float64; medians after a warm-up, in turn; JAX results are waited for. The
example is Su 5.3 (`su_multiclass.py`). NumPy draws M = 10^4 = 2500 C label vectors in each iteration, in two
forms: all draws at once, and in blocks that stay in the cache with samples sorted by prediction (counting is
then a sum of bytes over slices). `error` is against exact means by convolution of the Poisson-binomial laws.

Measured: AMD EPYC, one of 4 cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6.

    exact means 0.334 ms, error 4.4e-16
    NumPy, M = 10000: plain 3551 ms, in blocks 506 ms; error 5.2e-05
    ratios 10641 and 1515 (.618 ms with exponentials in every step)

Against the same means in NumPy (CPU seconds): N = 10^5 24.1 and 31.0 ms, 1.3 times, apart by 7e-16. The goal
there, twice NumPy, is missed: of 4 ms for a step, .5 are the class posterior, 1.5 one product of the powers
with the symbols, whose samples NumPy has sorted beforehand (a sum of slices instead of a product with zeros
and ones), .7 the powers, and 1.3 a copy of the samples for the way of small counts, which XLA makes whether
that way is gone or not (as a branch, as a loop without a turn, and behind a barrier alike).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import platform  # noqa: E402
import time  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402

from jtruth.noise import DifficultyFallibility  # noqa: E402
from jtruth.simulation import simulate  # noqa: E402
from jtruth.testing.multiclass.steps import exact_step, iterate  # noqa: E402

jax.config.update("jax_enable_x64", True)
SAMPLES, CLASSES, STEPS, DRAWS, BLOCK = 2000, 4, 6, 10_000, 100
PRIOR = np.array([0.2, 0.3, 0.1, 0.4])
CONFUSION = np.array(
    [[0.75, 0.08, 0.10, 0.07], [0.10, 0.65, 0.12, 0.13], [0.04, 0.06, 0.80, 0.10], [0.10, 0.05, 0.05, 0.80]]
)


def data_set(samples=SAMPLES):
    """log rho (samples, classes) and predictions, sorted by prediction."""
    rng = np.random.default_rng(0)
    noise = DifficultyFallibility(np.zeros(samples), rng.uniform(0, 0.4, 5), CLASSES)
    data = simulate(jax.random.key(0), samples, PRIOR, CONFUSION, noise, rng.uniform(0, 1, 5))
    joint = np.asarray(noise.log_likelihood(data.to_labels())) + np.log(PRIOR)
    log_rho = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    order = np.argsort(np.asarray(data.y_pred), kind="stable")
    return log_rho[order], np.asarray(data.y_pred)[order]


def posterior(rho, y_pred, confusion):
    """p(class | labels, prediction), (samples, classes)."""
    p = rho * confusion.T[y_pred]
    return p / p.sum(axis=1, keepdims=True)


def rows(tables):
    """Mean of the conditional matrices of (draws, classes, symbols) tables."""
    with np.errstate(invalid="ignore"):
        return np.nanmean(tables / tables.sum(axis=2, keepdims=True), axis=0)


def adjusted(new, alpha=1e-3):
    """As in the paper: entries kept off 0 and 1, rows sum to 1."""
    new = np.clip(new, alpha, 1 - alpha)
    return new / new.sum(axis=1, keepdims=True)


def numpy_plain(rho, y_pred, rng):
    """All draws of an iteration at once."""
    k = np.full((CLASSES, CLASSES), 1 / CLASSES)
    start = np.searchsorted(y_pred, np.arange(CLASSES))
    for _ in range(STEPS):
        below = np.cumsum(posterior(rho, y_pred, k), axis=1)[:, :-1]
        u = rng.random((DRAWS, SAMPLES))
        y = (u[:, :, None] >= below).sum(axis=2)
        tables = np.stack([np.add.reduceat(y == c, start, axis=1) for c in range(CLASSES)], axis=1)
        k = adjusted(rows(tables))
    return k


def numpy_blocks(rho, y_pred, rng):
    """Draws in blocks; the number of samples above each threshold gives the table by differences."""
    k, buffer = np.full((CLASSES, CLASSES), 1 / CLASSES), np.empty((BLOCK, SAMPLES))
    start = np.searchsorted(y_pred, np.arange(CLASSES))
    size = np.bincount(y_pred, minlength=CLASSES)
    for _ in range(STEPS):
        below = np.cumsum(posterior(rho, y_pred, k), axis=1)
        tables = np.empty((DRAWS, CLASSES, CLASSES))
        for first in range(0, DRAWS, BLOCK):
            rng.random(out=buffer)
            above = size
            for c in range(CLASSES - 1):
                more = (buffer >= below[:, c]).view(np.int8)
                beyond = np.add.reduceat(more, start, axis=1, dtype=np.int64)
                tables[first : first + BLOCK, c] = above - beyond
                above = beyond
            tables[first : first + BLOCK, CLASSES - 1] = above
        k = adjusted(rows(tables))
    return k


def law(p):
    """Law of the number of heads by convolution."""
    found = np.ones(1)
    for q in p:
        found = np.convolve(found, [1 - q, q])
    return found


def reference(rho, y_pred):
    """The same iterations by sums over the laws of each cell and of the rest of its row."""
    k = np.full((CLASSES, CLASSES), 1 / CLASSES)
    for _ in range(STEPS):
        p, new = posterior(rho, y_pred, k), np.empty_like(k)
        for c in range(CLASSES):
            for u in range(CLASSES):
                mine, rest = law(p[y_pred == u, c]), law(p[y_pred != u, c])
                a, b = np.arange(mine.size)[:, None], np.arange(rest.size)[None, :]
                weight = mine[:, None] * rest[None, :] * (a + b > 0)
                new[c, u] = (weight * a / np.maximum(a + b, 1)).sum() / weight.sum()
        k = adjusted(new)
    return k


def numpy_exact_means(rho, y_pred):
    """The same means in NumPy: nine power sums for each class and symbol, samples sorted by prediction."""
    node, weight = np.polynomial.legendre.leggauss(32)
    start = np.searchsorted(y_pred, np.arange(CLASSES))
    k = np.full((CLASSES, CLASSES), 1 / CLASSES)
    for _ in range(STEPS):
        p, sums = posterior(rho, y_pred, k).T, []
        power = p
        for _ in range(9):
            sums.append(np.add.reduceat(power, start, axis=1))  # (classes, symbols)
            power = power * p
        expected = sums[0].sum(axis=1)[:, None]
        reach = np.minimum(1.0, 40 / expected)
        u = 0.5 * reach * (1 + node)
        log_g = -sum(s.sum(axis=1)[:, None] * u**j / j for j, s in enumerate(sums[:8], 1))
        slope = sum(s[:, :, None] * u[:, None] ** j for j, s in enumerate(sums))
        inside = 0.5 * reach * weight * np.exp(log_g)
        k = adjusted((slope * inside[:, None]).sum(axis=2) / -np.expm1(-expected))
    return k


def timed(run):
    """CPU seconds of one call, waited for."""
    begin = time.process_time()
    jax.block_until_ready(run())
    return time.process_time() - begin


@jax.jit
def ours(log_rho, y_pred):
    """Six deterministic steps."""
    step = exact_step(log_rho, y_pred)
    return iterate(step, num_classes=CLASSES, num_symbols=CLASSES, dtype=log_rho.dtype, max_steps=STEPS,
                   tol=0.0).confusion  # fmt: skip


def many(samples=100_000, repeats=9):
    """The same steps, jtruth and NumPy in turn, where samples are many."""
    log_rho, y_pred = data_set(samples)
    rho = np.exp(log_rho)
    apart = np.abs(np.asarray(ours(log_rho, y_pred)) - numpy_exact_means(rho, y_pred)).max()
    pairs = [
        (timed(lambda: ours(log_rho, y_pred)), timed(lambda: numpy_exact_means(rho, y_pred)))
        for _ in range(repeats)
    ]
    here, there = np.median(pairs, axis=0) * 1e3
    print(f"N = {samples}: {here:.1f} ms, NumPy's exact means {there:.1f}, ratio {there / here:.1f}, "
          f"apart by {apart:.0e}")  # fmt: skip


def main():
    """Print times, ratios and errors."""
    log_rho, y_pred = data_set()
    rho, sfc = np.exp(log_rho), np.random.Generator(np.random.SFC64(0))

    exact, found = reference(rho, y_pred), np.asarray(ours(log_rho, y_pred))
    numpy_blocks(rho, y_pred, sfc)
    times = []
    for _ in range(5):
        short = np.median([timed(lambda: ours(log_rho, y_pred)) for _ in range(200)])
        times.append((short, timed(lambda: numpy_blocks(rho, y_pred, sfc)),
                      timed(lambda: numpy_plain(rho, y_pred, sfc))))  # fmt: skip
    short, blocks, plain = np.median(times, axis=0) * 1e3
    sampled = np.abs(numpy_blocks(rho, y_pred, sfc) - exact).max()
    print(f"{platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}")
    print(f"exact means {short:.3f} ms, error {np.abs(found - exact).max():.1e}")
    print(f"NumPy, M = {DRAWS}: plain {plain:.0f} ms, in blocks {blocks:.0f} ms; error {sampled:.1e}")
    print(f"ratios {plain / short:.0f} and {blocks / short:.0f}")
    many()


if __name__ == "__main__":
    main()
