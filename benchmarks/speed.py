"""Time of the binary testing methods on the main testing example (Su 5.2.1), at N = 1000 and 10^6.

Run: python -m benchmarks speed [empirical_bayes many_means exact_posteriors batches]
One process, one thread, one core, float64; medians of CPU seconds after a warm-up; every JAX result is waited
for.

(a) Empirical Bayes, 7 iterations at N = 1000: `exact_step` against Algorithm 2 in NumPy with M = 5000 draws.
    Three NumPy forms: all draws in one array, as one would write it; and the fastest of those tried (draws in
    blocks that stay in the cache, samples sorted by prediction so that counting is two sums of bytes) with
    NumPy's default generator and with its fastest (SFC64). They run in turn (ours 400 times in its turn), so
    that other load affects all equally. `error` is
    against seven steps of the means by a double sum over the distributions of the two counts, by convolution.
    And the conditional means from 10^5 and 10^6 samples: from the arrays of log-odds and predictions, by one
    pass onto a grid (`on_grid`) and seven steps on its nodes, against the same seven steps in NumPy on
    samples that are sorted by prediction already (the fastest form tried: eight power sums).
(b) Exact posterior with mean, sd, mode, shortest interval and highest-density region of all five metrics,
    from the log-odds.
(c) `exact_batch`: 1000 data sets of N = 1000 in one call; beside it, the same sets one after the other by (b)
    without modes and regions.
(d) `simulate_difficulty_fallibility`, vmapped over keys: 1000 data sets of N = 1000, T = 5.

Measured: AMD EPYC, one of 2 quiet cores, Python 3.11.7, jax 0.10.2, numpy 2.4.6.

    (a) exact means 0.073 ms (0.428 after something else had the cache), error 2.8e-14
        NumPy Algorithm 2: plain 116.8 ms; in blocks, default generator 84.7 ms, SFC64 84.8 ms; error 1.4e-04
        ratios 1594, 1155 and 1156 (six runs: 1420 to 1653 to the plain form). It was .112 ms with an
        exponential in every step and the power sums of 1 - p by themselves
    (a) N = 10^5 2.18 ms, NumPy 9.40 ms, ratio 4.3; N = 10^6 12.4 ms, NumPy 106.9 ms, ratio 8.6; apart by
        1.6e-13. Of 2.2 ms, .23 collapse (x[mask] took four times as long as compress), .73 lay on a grid,
        .47 are the seven steps on the nodes
    (b) N = 10^3, 10^4, 10^5, 10^6, 10^7: 2.5, 12.6, 28.9, 40.3, 159 ms (goals 1, 20, -, 90, 300: met but for
        the first, which is below the floor of this way: a thousand calls of NumPy on arrays of 20 to 10^4
        numbers). Twice that where other work has the memory: 27 ms at 10^4, .44 s at 10^7, of which 245 ms
        are first touches of 160 MB
    (c) exact_batch, window (192, 192): 662 sets/s; not ok: 0
        one after the other on the host: 476 sets/s
    (d) simulate: 7888 sets/s; with log-likelihood and log-odds 5254. A loop of NumPy that does the same
        without log-odds, beside it, float64: 1.3 times as long

On a slower machine (2026-11-26, NumPy's plain Algorithm 2 144 ms), dcf9e18 and this with one table and two
ways to sum, in turn: exact means .199 and .193 ms (724 and 750 times), (b) 2.9, 14.1, 31.3, 46.9, 256 and
2.8, 13.7, 30.9, 47.4, 245 ms, (c) 332 and 333 sets/s, (d) 4282 and 4430.
"""

import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from jtruth.simulation import simulate_difficulty_fallibility
from jtruth.tables.metrics import default_metrics
from jtruth.testing import collapse, exact_posterior, exact_step, iterate, log_odds_of
from jtruth.testing.binary.batch import enough_window, exact_batch
from jtruth.testing.binary.operating_point import merged_samples, on_grid

jax.config.update("jax_enable_x64", True)
PRIOR, CONFUSION = np.array([0.8, 0.2]), np.array([[0.7, 0.3], [0.2, 0.8]])
STEPS, DRAWS, BLOCK = 7, 5000, 250


def draw_set(key, num_samples):
    """Log-odds and predictions of one data set of the main example."""
    data = simulate_difficulty_fallibility(
        key, num_samples=num_samples, num_labelers=5, prior=PRIOR, confusion=CONFUSION
    )
    log_likelihood = data.noise.log_likelihood(data.to_labels())
    return log_odds_of(log_likelihood, jnp.asarray(PRIOR)), data.y_pred


def in_turn(runs, repeats, inner=1):
    """Median CPU seconds of functions without arguments, run in turn after a warm-up.

    `inner`: how many times the first one runs in its turn (it is short); the median of these is its time.
    """
    for run in runs:
        jax.block_until_ready(run())
    times = np.empty((repeats, len(runs)))
    for row in times:
        for k, run in enumerate(runs):
            some = []
            for _ in range(inner if k == 0 else 1):
                begin = time.process_time()
                jax.block_until_ready(run())
                some.append(time.process_time() - begin)
            row[k] = np.median(some)
    return np.median(times, axis=0)


def shifted(x, n1, d, f):
    """p(y_i = 1 | y_pred_i, z_i) of samples sorted by prediction, those predicted 1 first."""
    return expit(x + np.where(np.arange(x.size) < n1, np.log(d / f), np.log((1 - d) / (1 - f))))


def numpy_sampling(x, n1, rng):
    """Algorithm 2 in NumPy, samples sorted by prediction."""
    buffer, counts = np.empty((BLOCK, x.size)), np.empty((DRAWS, 2))
    d = f = 0.5
    for _ in range(STEPS):
        p = shifted(x, n1, d, f)
        for first in range(0, DRAWS, BLOCK):
            rng.random(out=buffer)
            y = (buffer < p).view(np.int8)
            counts[first : first + BLOCK] = np.add.reduceat(y, [0, n1], axis=1, dtype=np.int64)
        a, b = counts.T
        d, f = np.mean(a / (a + b)), np.mean((n1 - a) / (x.size - a - b))
    return d, f


def numpy_plain(x, n1, rng):
    """Algorithm 2 in NumPy, all draws at once."""
    d = f = 0.5
    for _ in range(STEPS):
        y = rng.random((DRAWS, x.size)) < shifted(x, n1, d, f)
        a, b = y[:, :n1].sum(axis=1), y[:, n1:].sum(axis=1)
        d, f = np.mean(a / (a + b)), np.mean((n1 - a) / (x.size - a - b))
    return d, f


def numpy_exact_means(x, n1):
    """Conditional means in NumPy: E[A/(A+B)] as an integral, expanded in power sums (many samples)."""
    node, weight = np.polynomial.legendre.leggauss(32)
    d = f = 0.5
    for _ in range(STEPS):
        p = shifted(x, n1, d, f)
        found = []
        for q in (p, 1 - p):
            reach = min(1.0, 40 / q.sum())
            u, power = 0.5 * reach * (1 + node), np.ones_like(q)
            every, picked = np.empty(8), np.empty(9)
            for k in range(9):
                power *= q
                picked[k] = power[:n1].sum()
                if k < 8:
                    every[k] = picked[k] + power[n1:].sum()
            log_g = -sum(every[k] / (k + 1) * u ** (k + 1) for k in range(8))
            slope = sum(picked[k] * u**k for k in range(9))
            found.append((0.5 * reach * weight * slope * np.exp(log_g)).sum())
        d, f = found
    return d, f


def many_means():
    """(a) at 10^5 and 10^6."""
    on_nodes = jax.jit(
        lambda x, y, w: iterate(exact_step(x, y, weight=w), dtype=x.dtype, max_steps=STEPS, tol=0.0)
    )
    for size, repeats in ((100_000, 11), (1_000_000, 5)):
        x, y_pred = (np.asarray(v) for v in draw_set(jax.random.key(0), size))
        order = np.argsort(-y_pred, kind="stable")
        sorted_x, n1 = x[order], int(y_pred.sum())

        def ours(x=x, y_pred=y_pred):
            return on_nodes(*merged_samples(on_grid(collapse(x, y_pred))))

        fast, plain = in_turn([ours, partial(numpy_exact_means, sorted_x, n1)], repeats) * 1e3
        fit = ours()
        error = np.abs(np.array([fit.p_detection, fit.p_false_alarm]) - numpy_exact_means(sorted_x, n1)).max()
        print(f"(a) N = {size}: {fast:.2f} ms, NumPy {plain:.2f} ms, ratio {plain / fast:.1f}, ", end="")
        print(f"difference {error:.1e}", flush=True)


def count_dist(p):
    """Distribution of the number of heads by convolution."""
    dist = np.ones(1)
    for q in p:
        dist = np.convolve(dist, [1 - q, q])
    return dist


def reference(x, n1):
    """The same seven steps by double sums over the two distributions."""
    d = f = 0.5
    a, b = np.arange(n1 + 1)[:, None], np.arange(x.size - n1 + 1)[None, :]
    for _ in range(STEPS):
        p = shifted(x, n1, d, f)
        weight = count_dist(p[:n1])[:, None] * count_dist(p[n1:])[None, :]
        found = []
        for top, rest in ((a, b), (n1 - a, x.size - n1 - b)):
            total = np.maximum(top + rest, 1)
            some = weight * (top + rest > 0)
            found.append((some * (top / total)).sum() / some.sum())
        d, f = found
    return d, f


def empirical_bayes():
    """(a)."""
    x, y_pred = draw_set(jax.random.key(0), 1000)
    ours = jax.jit(lambda x, y: iterate(exact_step(x, y), dtype=x.dtype, max_steps=STEPS, tol=0.0))
    order = np.argsort(-np.asarray(y_pred), kind="stable")
    sorted_x, n1 = np.asarray(x)[order], int(y_pred.sum())
    sfc = np.random.Generator(np.random.SFC64(0))
    runs = [
        lambda: ours(x, y_pred),
        partial(numpy_sampling, sorted_x, n1, np.random.default_rng(0)),
        partial(numpy_sampling, sorted_x, n1, sfc),
        partial(numpy_plain, sorted_x, n1, np.random.default_rng(0)),
    ]
    fast, default, fastest, plain = in_turn(runs, 15, inner=400) * 1e3
    once = in_turn(runs, 15)[0] * 1e3
    fit = ours(x, y_pred)
    error = np.abs(np.array([fit.p_detection, fit.p_false_alarm]) - reference(sorted_x, n1)).max()
    sampled = np.abs(np.array(numpy_sampling(sorted_x, n1, sfc)) - reference(sorted_x, n1)).max()
    print(f"(a) exact means {fast:.3f} ms ({once:.3f} after something else had the cache), error {error:.1e}")
    print(
        f"    NumPy Algorithm 2: plain {plain:.1f} ms; in blocks, default generator {default:.1f} ms, ",
        end="",
    )
    print(f"SFC64 {fastest:.1f} ms; error {sampled:.1e}")
    print(f"    ratios {plain / fast:.0f}, {default / fast:.0f} and {fastest / fast:.0f}")


def everything(x, y_pred, full=True):
    """All that `evaluate` reads off the exact posterior."""
    table = exact_posterior(collapse(x, y_pred))
    found = []
    for metric in default_metrics("01"):
        dist = table.estimate(metric)
        found += [dist.mean, dist.sd, dist.interval(0.95)]
        found += [dist.mode, dist.region(0.95)] if full else []
    return found


def exact_posteriors():
    """(b)."""
    for size, repeats in ((1000, 31), (10_000, 11), (100_000, 5), (1_000_000, 5), (10_000_000, 3)):
        parts = [
            draw_set(key, min(size, 10**6)) for key in jax.random.split(jax.random.key(1), -(-size // 10**6))
        ]
        x, y_pred = (np.concatenate(v) for v in zip(*parts, strict=True))
        seconds = in_turn([partial(everything, x, y_pred)], repeats)[0]
        print(f"(b) N = {size}: {seconds * 1e3:.1f} ms", flush=True)


def batches():
    """(c) and (d)."""
    keys = jax.random.split(jax.random.key(2), 1000)
    draw = jax.jit(lambda keys: jax.lax.map(partial(draw_set, num_samples=1000), keys, batch_size=50))
    only = jax.jit(
        jax.vmap(
            lambda key: simulate_difficulty_fallibility(
                key, num_samples=1000, num_labelers=5, prior=PRIOR, confusion=CONFUSION
            )[:3]
        )
    )
    x, y_pred = draw(keys)
    window = enough_window(x, y_pred)
    seconds = in_turn([partial(exact_batch, x, y_pred)], 5)[0]
    found = exact_batch(x, y_pred)
    print(f"(c) exact_batch, window {window}: {1000 / seconds:.0f} sets/s; not ok: {int((~found.ok).sum())}")
    host = [np.asarray(v) for v in (x, y_pred)]
    alone = in_turn([lambda: [everything(*s, full=False) for s in zip(*host, strict=True)]], 1)[0]
    print(f"    one after the other on the host: {1000 / alone:.0f} sets/s")
    print(f"(d) simulate: {1000 / in_turn([lambda: only(keys)], 5)[0]:.0f} sets/s", end="; ")
    print(f"with log-likelihood and log-odds {1000 / in_turn([lambda: draw(keys)], 5)[0]:.0f}")


def main():
    """Print the table."""
    for part in (empirical_bayes, many_means, exact_posteriors, batches):
        if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
            part()


if __name__ == "__main__":
    main()
