"""Thousands of sampled label vectors in one compiled program: sets a second against a loop and NumPy.

    python benchmarks/vmap.py [--sets 10000] [--small] [names of jobs: all]

Su (2023), 5.2.1: 1000 samples and 5 labelers in each set, float32. Every job is one compiled program over all
sets. "loop" calls the compiled program of one set in a Python loop, "NumPy" is the same in NumPy. Rates are
sets per CPU second, of all cores together; on an accelerator per second. "apart" is the largest difference to
NumPy.

    posteriors    log-likelihoods and class posteriors
    algorithm_1   operating points by ratios of normals
    algorithm_2   operating points by counts of 5000 sampled label vectors a step
    algorithm_3   operating points by the most probable labels
    exact_means   exact posterior means of five metrics, from all count tables
    nuts          NUTS of the testing model, one chain of 200 + 400 transitions a set; few sets
    coverage      empirical against full Bayes: 95 % intervals of 1000 sets, and their mean widths

Measured on a CPU (x86-64, 2 cores under load 20, jax 0.10.2, numpyro 0.22.0), so wall seconds say nothing:

    job            sets   cpu s  sets/cpu s   loop   NumPy   apart
    posteriors    10000    0.94       10689   4261    6050   3.8e-06
    algorithm_1   10000    0.16       62494   8752    4775   1.8e-07
    algorithm_2   10000   37.6          266    221       8   8.6e-04   draws of both differ
    algorithm_3   10000    1.47        6808   7844    7728   6.0e-08
    exact_means   10000    2.53        3955   1296     235   1.3e-07
    nuts            100    7.70          13     13       -         -

Algorithm 2 took 252 CPU ms a set, so 42 minutes, when it drew each of 5000 x 1000 labels in each of some
seven steps. Counts of such label vectors are Poisson-binomials, independent of each other: they are drawn
themselves now (`steps.draw_counts`).

    coverage (standard error)  empirical Bayes  mean width   full Bayes     mean width
    accuracy                   .868 (.011)      .027         .951 (.007)    .035
    precision                  .929 (.008)      .053         .948 (.007)    .058
    recall                     .845 (.011)      .069         .948 (.007)    .094
    false_alarm_rate           .886 (.010)      .020         .942 (.007)    .024
    f1                         .897 (.010)      .055         .942 (.007)    .065

Nothing was run on an accelerator: none was at hand.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from numpyro.infer.hmc import hmc
from numpyro.infer.util import initialize_model

import jtruth as jt
from jtruth import testing
from jtruth.testing import steps
from jtruth.testing.bayes import testing_model
from jtruth.testing.binary.batch import enough_window

jax.config.update("jax_num_cpu_devices", os.cpu_count())  # one for each core: nothing else shares work
PRIOR, CONFUSION = np.array([0.8, 0.2], np.float32), np.array([[0.7, 0.3], [0.2, 0.8]], np.float32)
METRICS = ("accuracy", "precision", "recall", "false_alarm_rate", "f1")
WARM_UP, DRAWS = 200, 400  # of NUTS, one chain for each set


class Sets(NamedTuple):
    """Simulated data sets: label vectors, predictions, what the labelers are like, and the truth."""

    z: Any  # (sets, samples, labelers)
    noise: Any
    y_pred: Any
    y: Any
    log_odds: Any  # of the labels, which the testing jobs start from
    window: tuple[int, int]  # of counts, for exact posteriors

    def first(self, number: int) -> "Sets":
        """Some of them."""
        kept = jax.tree.map(lambda leaf: leaf[:number], self._replace(window=()))
        return kept._replace(window=self.window)


def over_devices(one: Callable[..., Any], batch: int = 16) -> Callable[..., Any]:
    """`one` for every set: `vmap` over some at a time on every device, one compiled program."""
    mesh = jax.make_mesh((jax.device_count(),), ("sets",), axis_types=(AxisType.Auto,))
    spec, size = PartitionSpec("sets"), batch if jax.default_backend() == "cpu" else 1024

    def of_device(*data: Any) -> Any:
        return jax.lax.map(lambda row: one(*row), data, batch_size=size)

    run = jax.jit(jax.shard_map(of_device, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))
    return lambda *data: run(*jax.device_put(data, NamedSharding(mesh, spec)))


def log_odds_of(noise: Any, z: Any) -> Any:
    return testing.log_odds_of(noise.log_likelihood(z), jnp.asarray(PRIOR, jnp.float32))


def simulated(sets: int, samples: int) -> Sets:
    """Su 5.2.1: 5 labelers, difficulty and fallibility; two in ten are positive, (p_D, p_FA) = (.8, .3)."""
    draw = partial(jt.simulate_difficulty_fallibility, num_samples=samples, num_labelers=5)
    found = over_devices(lambda key: draw(key, prior=PRIOR, confusion=CONFUSION))(
        jax.random.split(jax.random.key(0), sets)
    )
    log_odds = over_devices(log_odds_of)(found.noise, found.z)
    window = enough_window(np.asarray(log_odds[:200]), np.asarray(found.y_pred[:200]))
    # In float32 six standard deviations are as good as eight; `ok` says so of every set.
    return Sets(found.z, found.noise, found.y_pred, found.y, log_odds, tuple(3 * w // 4 for w in window))


# ---- the programs, of one set each -------------------------------------------------------------------------


def posteriors(noise: Any, z: Any) -> Any:
    """Log-likelihoods and class posteriors."""
    log_likelihood = noise.log_likelihood(z)
    return log_likelihood, jt.class_posterior(log_likelihood, PRIOR)


def algorithm_1(log_odds: Any, y_pred: Any) -> Any:
    return testing.iterate(testing.ratio_step(log_odds, y_pred), dtype=log_odds.dtype).value


def algorithm_2(key: Any, log_odds: Any, y_pred: Any) -> Any:
    return of_matrices(steps.sampling_step(key, both(log_odds), y_pred), log_odds.dtype)


def algorithm_3(log_odds: Any, y_pred: Any) -> Any:
    return of_matrices(steps.labels_step(both(log_odds), y_pred), log_odds.dtype)


def both(log_odds: Any) -> Any:
    """Log probabilities of the classes."""
    return jnp.stack([jax.nn.log_sigmoid(-log_odds), jax.nn.log_sigmoid(log_odds)], axis=1)


def of_matrices(step: Any, dtype: Any) -> Any:
    return testing.iterate(step, dtype=dtype, start=steps.uniform_rows(2)).value[::-1, 1]


def exact_means(log_odds: Any, y_pred: Any, *, window: tuple[int, int]) -> Any:
    found = testing.exact_counts(log_odds, y_pred, window=window)
    return jnp.stack([*(found.mean(name) for name in METRICS), jnp.where(found.ok, 0, jnp.nan)])


def nuts(samples: int) -> Callable[..., Any]:
    """NUTS of the testing model, the classes summed out: the mean accuracy over the draws of K."""
    shapes = jnp.full((samples, 2), np.log(0.5)), jnp.zeros(samples, int), jnp.ones(samples), jnp.ones((2, 2))
    info = initialize_model(jax.random.key(0), testing_model, dynamic_args=True, model_args=shapes)
    begin, advance = hmc(potential_fn_gen=info.potential_fn, algo="NUTS")

    def of_set(key: Any, log_odds: Any, y_pred: Any) -> Any:
        log_rho = both(log_odds)
        given = log_rho, y_pred, jnp.ones(samples, log_rho.dtype), jnp.ones((2, 2), log_rho.dtype)
        state = begin(info.param_info.z, WARM_UP, model_args=given, rng_key=key)

        def sweep(state: Any, _: Any) -> Any:
            state = advance(state, given)
            confusion = info.postprocess_fn(*given)(state.z)["classifier"]
            table, _ = steps.expected_counts(log_rho, y_pred, confusion)
            return state, jnp.trace(table) / samples

        return jax.lax.scan(sweep, state, length=WARM_UP + DRAWS)[1][WARM_UP:].mean()

    return of_set


# ---- the same in NumPy -------------------------------------------------------------------------------------


def numpy_posteriors(noise: Any, z: Any) -> Any:
    """Su (57)-(60) for two classes, all sets in one array."""
    delta, phi = np.asarray(noise.difficulty), np.asarray(noise.fallibility)
    wrong = (delta[:, :, None] + phi[:, None, :] * (1 - delta[:, :, None])) / 2
    right, wrong = np.log1p(-wrong), np.log(wrong)
    log_p = np.stack([np.where(z == -1, 0, np.where(z == c, right, wrong)).sum(-1) for c in (0, 1)], -1)
    joint = np.exp(log_p - log_p.max(-1, keepdims=True)) * PRIOR
    return log_p, joint / joint.sum(-1, keepdims=True)


def numpy_algorithm_1(log_odds: Any, y_pred: Any) -> Any:
    """Ratios of normals to second order, all sets in one array; a set stops when it has converged."""
    chosen, point = y_pred == 1, np.full((len(y_pred), 2), 0.5, log_odds.dtype)
    n1, moving = chosen.mean(1), np.ones(len(y_pred), bool)
    for _ in range(30):
        d, f = point[moving].T[:, :, None]
        here = chosen[moving]
        tilt = np.where(here, np.log(d / f), np.log((1 - d) / (1 - f)))
        p = 1 / (1 + np.exp(-log_odds[moving] - tilt))
        (u, var_u), (v, var_v) = (
            (np.where(side, p, 0).mean(1), np.where(side, p * (1 - p), 0).mean(1) / p.shape[1])
            for side in (here, ~here)
        )
        new = []
        for z, w, cov, var in (
            (u, u + v, var_u, var_u + var_v),
            (n1[moving] - u, 1 - u - v, var_u, var_u + var_v),
        ):
            new.append(z / w - cov / w**2 + z * var / w**3)
        new = np.clip(np.stack(new, 1), 1e-3, 1 - 1e-3)
        change = np.abs(new - point[moving]).max(1)
        point[moving] = new
        moving[np.flatnonzero(moving)[change < 1e-3]] = False
        if not moving.any():
            break
    return point


def numpy_algorithm_2(key: Any, log_odds: Any, y_pred: Any) -> Any:
    """5000 label vectors a step, one set at a time: shares of the classes that were predicted 1."""
    rng, points = np.random.default_rng(0), []
    for x, y in zip(log_odds, y_pred, strict=True):
        point, chosen = np.full(2, 0.5), y == 1
        for _ in range(30):
            d, f = point
            p = 1 / (1 + np.exp(-x - np.where(chosen, np.log(d / f), np.log((1 - d) / (1 - f)))))
            drawn = rng.random((5000, x.size), np.float32) < p
            hits, ones = drawn[:, chosen].sum(1), drawn.sum(1)
            shares = hits / ones, (chosen.sum() - hits) / (x.size - ones)
            new = np.clip(np.mean(shares, axis=1), 1e-3, 1 - 1e-3)
            change, point = np.abs(new - point).max(), new
            if change < 1e-3:
                break
        points.append(point)
    return np.array(points)


def numpy_algorithm_3(log_odds: Any, y_pred: Any) -> Any:
    """Shares of the most probable classes that were predicted 1, one set at a time."""
    points: list[Any] = []
    for x, y in zip(log_odds, y_pred, strict=True):
        point, chosen = np.full(2, 0.5, np.float32), y == 1
        for _ in range(30):
            d, f = point
            one = x + np.where(chosen, np.log(d / f), np.log((1 - d) / (1 - f))) > 0
            shares = [chosen[part].mean() if part.any() else old for part, old in ((one, d), (~one, f))]
            new = np.clip(np.array(shares, np.float32), 1e-3, 1 - 1e-3)
            change, point = float(np.abs(new - point).max()), new
            if change < 1e-3:
                break
        points.append(point)
    return np.array(points)


def numpy_exact_means(log_odds: Any, y_pred: Any) -> Any:
    """What the package itself does with one set: the exact table in NumPy, float64."""
    answers = [
        testing.binary_posterior(np.float64(x), y).table for x, y in zip(log_odds, y_pred, strict=True)
    ]
    return np.array([[*(table.estimate(name).mean for name in METRICS), 0] for table in answers])


# ---- sets a second -----------------------------------------------------------------------------------------


class Job(NamedTuple):
    """One question: its program, the same in NumPy, what it takes, and how many sets each gets."""

    program: Callable[..., Any]
    in_numpy: Callable[..., Any] | None
    data: tuple[Any, ...]
    sets: int
    loop: int  # sets of the Python loop
    few: int  # sets of NumPy


def jobs(data: Sets, samples: int) -> Mapping[str, Job]:
    sets, number = (data.log_odds, data.y_pred), len(data.y)
    keys = jax.random.split(jax.random.key(1), number)
    exact = partial(exact_means, window=data.window)
    return {
        "posteriors": Job(posteriors, numpy_posteriors, (data.noise, data.z), number, 200, min(number, 500)),
        "algorithm_1": Job(algorithm_1, numpy_algorithm_1, sets, number, 200, min(number, 500)),
        "algorithm_2": Job(algorithm_2, numpy_algorithm_2, (keys, *sets), number, 50, 5),
        "algorithm_3": Job(algorithm_3, numpy_algorithm_3, sets, number, 200, min(number, 500)),
        "exact_means": Job(exact, numpy_exact_means, sets, number, 200, 50),
        "nuts": Job(nuts(samples), None, (keys, *sets), max(2, number // 100), 2, 0),
    }


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """The answer, wall seconds, and the seconds that count: of all cores, or wall on an accelerator."""
    start, cpu = time.perf_counter(), time.process_time()
    answer = jax.block_until_ready(call())
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return answer, wall, cpu if jax.default_backend() == "cpu" else wall


def report(name: str, job: Job) -> None:
    """One line: first and second run of the program, then the loop and NumPy on fewer sets."""
    data, run = jax.tree.map(lambda leaf: leaf[: job.sets], job.data), over_devices(job.program)
    first = timed(lambda: run(*data))[1]
    found, wall, seconds = timed(lambda: run(*data))
    alone, rows = (
        jax.jit(job.program),
        [jax.tree.map(lambda leaf, k=k: leaf[k], data) for k in range(job.loop)],
    )
    jax.block_until_ready(alone(*rows[0]))
    looped, _, loop_seconds = timed(lambda: [alone(*row) for row in rows])
    away, numpy_rate = np.nan, "-"
    if job.in_numpy is not None:
        few = jax.tree.map(lambda leaf: leaf[: job.few], data)
        arrays = jax.tree.map(lambda leaf: leaf if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
                              else np.asarray(leaf), few)  # fmt: skip
        of_numpy, _, numpy_seconds = timed(lambda: job.in_numpy(*arrays))
        numpy_rate = f"{job.few / numpy_seconds:.0f}"
        pairs = zip(jax.tree.leaves(of_numpy), jax.tree.leaves(found), strict=True)
        away = max(float(np.abs(a - np.asarray(b)[: job.few]).max()) for a, b in pairs)
    same = zip(jax.tree.leaves(looped[0]), jax.tree.leaves(found), strict=True)
    assert all(np.allclose(a, np.asarray(b)[0], atol=0.02) for a, b in same), name
    rates = f"{job.sets / seconds:9.0f} {job.loop / loop_seconds:8.0f} {numpy_rate:>8}"
    print(f"{name:12} {job.sets:6} {first:8.2f} {wall:7.2f} {seconds:7.2f} {rates} {away:9.1e}", flush=True)


# ---- empirical against full Bayes --------------------------------------------------------------------------


def coverage(data: Sets) -> None:
    """How often 95 % intervals cover the truth: Algorithm 1's point plugged in, and the exact posterior."""
    x, y_pred, y = data.log_odds, data.y_pred, np.asarray(data.y)
    points = over_devices(algorithm_1)(x, y_pred)
    hit, true = np.asarray(y_pred) == 1, y == 1
    counts = [(hit & true).sum(1), (hit & ~true).sum(1), (~hit & true).sum(1), (~hit & ~true).sum(1)]
    wide = tuple(4 * w // 3 for w in data.window)
    found = {
        "empirical": testing.exact_batch(x, y_pred, prior=points, window=wide),
        "full": testing.exact_batch(x, y_pred, window=wide),
    }
    left_out = sum((~np.asarray(one.ok)).sum() for one in found.values())
    print(
        f"\ncoverage of 95 % intervals, {len(y)} sets (standard error in brackets); {left_out} not computed"
    )
    print("metric            empirical Bayes  mean width   full Bayes     mean width")
    for m, name in enumerate(METRICS):
        truth, line = testing.METRICS[name](*counts), f"{name:17}"
        for one in found.values():
            low, high, good = (np.asarray(part) for part in (one.low[:, m], one.high[:, m], one.ok))
            inside = ((low <= truth + 1e-6) & (truth <= high + 1e-6))[good]
            error = np.sqrt(inside.mean() * (1 - inside.mean()) / inside.size)
            line += f" {inside.mean():.3f} ({error:.3f})    {(high - low)[good].mean():.3f}    "
        print(line.rstrip(), flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "jobs", nargs="*", help="posteriors algorithm_1 algorithm_2 algorithm_3 exact_means nuts coverage"
    )
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--small", action="store_true", help="400 sets of 100 samples: whether it runs")
    asked = parser.parse_args(arguments)
    sets, samples = (400, 100) if asked.small else (asked.sets, 1000)
    device = f"{jax.device_count()} x {jax.devices()[0].device_kind}, {os.cpu_count()} cores"
    print(f"{device}; jax {jax.__version__}, numpyro {numpyro.__version__}; {samples} samples x 5 labelers")
    data = simulated(sets, samples)
    print("job            sets  first s  wall s   cpu s  sets/cpu s  loop    NumPy     apart")
    for name, job in jobs(data, samples).items():
        if not asked.jobs or name in asked.jobs:
            report(name, job)
    if not asked.jobs or "coverage" in asked.jobs:
        coverage(data.first(min(sets, 1000)))


if __name__ == "__main__":
    main()
