"""What training on noisy labels costs: a sweep of Su 5.4 in one program, and a minibatch step.

Run: python benchmarks/training_speed.py
One process, one thread, one core; medians after a warm-up, with the methods taking turns, so that other load
hits all alike; every JAX result is waited for.

(a) MMSE training of App. F on Ionosphere (../shared/data, 263 samples, 34 features): 20 lambdas x 20 draws of
    the labels as one vmapped program, against the same 400 problems one after the other by SciPy's BFGS with
    the gradient of F.2 in NumPy (the paper's method), and by scikit-learn's LogisticRegression (L-BFGS) on
    doubled samples with weights. `gap` is the largest excess of J over the best of all for a problem.
(b) One step of Adam on a convolutional network, batch 128 of 28 x 28 images, C = 10, float32: MMSE
    cross-entropy with a class posterior against optax's cross-entropy with integer labels.

AMD EPYC, 1 core of a busy shared machine; Python 3.11.7, jax 0.10.2, optax 0.2.8, scipy, scikit-learn 1.9.1.
The second number in (a) is the ratio to the first line.

    (a) one program, float32      0.60 s    1.0   gap 2.0e-05
    (a) one program, float64      1.11 s    1.9   gap 2.8e-06
    (a) SciPy BFGS                1.84 s    3.1   gap 0.0e+00
    (a) scikit-learn              0.68 s    1.1   gap 2.9e-06
    (b) ordinary step 35.81 ms, MMSE 34.65 ms, ratio 0.968

So one program takes a third of the time of SciPy's BFGS, and about that of scikit-learn's compiled solver.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import time  # noqa: E402
from functools import partial  # noqa: E402

import equinox as eqx  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from scipy.special import expit  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from training_ionosphere import LAMBDAS, draw_labels, evidence_of, load  # noqa: E402

from jtruth.training import Linear, Stop, conv_net, mmse, outputs_of, solve_linear  # noqa: E402


def problems():
    """Features (263, 34) and class posteriors (20 draws, 263, 2) of five labelers."""
    x, y = load()
    rng = np.random.default_rng(0)
    keep = rng.permutation(351)[:263]
    rho = []
    for _ in range(20):
        z, delta, phi = draw_labels(rng, y[keep])
        rho.append(evidence_of(z, delta, phi, np.array([225, 126]) / 351)[1][1])
    return x[keep], np.array(rho, np.float64)


def objective(theta, x, rho, lam):
    """J and its gradient, F.2."""
    scores = theta[0] + x @ theta[1:]
    weight = theta.copy()
    weight[0] = 0
    value = (rho[:, 1] * np.logaddexp(0, -scores) + rho[:, 0] * np.logaddexp(0, scores)).mean()
    slope = (expit(scores) - rho[:, 1]) / len(x)
    gradient = np.append(slope.sum(), slope @ x) + lam / len(x) * weight
    return value + lam / 2 / len(x) * (weight**2).sum(), gradient


def by_scipy(x, rho):
    """theta (20, 20, 35)."""
    start = np.zeros(35)
    return np.array(
        [[minimize(objective, start, (x, r, lam), "BFGS", jac=True).x for lam in LAMBDAS] for r in rho]
    )


def by_scikit_learn(x, rho):
    """The same by weights on doubled samples."""
    xs, ys, found = np.tile(x, (2, 1)), np.repeat([0, 1], len(x)), []
    for r in rho:
        for lam in LAMBDAS:
            fit = LogisticRegression(C=1 / lam, max_iter=1000).fit(xs, ys, sample_weight=r.T.ravel())
            found.append(np.append(fit.intercept_, fit.coef_[0]))
    return np.array(found).reshape(20, 20, 35)


def by_one_program(dtype):
    """A function of (x, rho): the sweep, compiled for this dtype."""
    lam, start = jnp.asarray(LAMBDAS, dtype), Linear(jnp.zeros((), dtype), jnp.zeros(34, dtype))
    solve = partial(solve_linear, stop=Stop(tol=1e-4 if dtype == jnp.float64 else 3e-4))
    over_lambda = jax.vmap(solve, in_axes=(None, None, 0, None))
    program = jax.jit(jax.vmap(over_lambda, in_axes=(None, 0, None, None)))

    def run(x, rho):
        model = program(jnp.asarray(x, dtype), jnp.asarray(rho, dtype), lam, start).model
        return np.concatenate([np.asarray(model.intercept)[..., None], model.weights], axis=-1)

    return run


def in_turn(functions, repeats):
    """Median seconds of each, after one call of each; and what that call returned."""
    first = {name: f() for name, f in functions.items()}
    seconds = {name: [] for name in functions}
    for _ in range(repeats):
        for name, f in functions.items():
            start = time.perf_counter()
            f()
            seconds[name].append(time.perf_counter() - start)
    return first, {name: float(np.median(values)) for name, values in seconds.items()}


def sweep():
    """Part (a)."""
    x, rho = problems()
    with jax.enable_x64(True):
        single, double = by_one_program(jnp.float32), by_one_program(jnp.float64)
        methods = {
            "one program, float32": lambda: single(x, rho),
            "one program, float64": lambda: double(x, rho),
            "SciPy BFGS": lambda: by_scipy(x, rho),
            "scikit-learn": lambda: by_scikit_learn(x, rho),
        }
        found, seconds = in_turn(methods, 3)
    pairs = [(d, k) for d in range(20) for k in range(20)]
    values = {
        name: np.array([objective(theta[d, k], x, rho[d], LAMBDAS[k])[0] for d, k in pairs])
        for name, theta in found.items()
    }
    best = np.minimum.reduce(list(values.values()))
    for name, time_taken in seconds.items():
        ratio = time_taken / seconds["one program, float32"]
        print(f"(a) {name:22}{time_taken:8.2f} s {ratio:6.1f}   gap {(values[name] - best).max():.1e}")


def step():
    """Part (b)."""
    keys = jax.random.split(jax.random.key(0), 4)
    model = conv_net(keys[0], (1, 28, 28), 10)
    images = jax.random.normal(keys[1], (128, 1, 28, 28))
    y = jax.random.randint(keys[2], (128,), 0, 10)
    rho = jax.nn.softmax(jax.random.normal(keys[3], (128, 10)), axis=1)
    optimiser = optax.adam(1e-3)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def plain(model):
        logits = outputs_of(model, images)
        return optax.losses.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def noisy(model):
        return mmse("cross_entropy")(outputs_of(model, images), rho)

    def compiled(loss):
        @eqx.filter_jit
        def advance(model, state):
            gradient = eqx.filter_grad(loss)(model)
            updates, state = optimiser.update(gradient, state)
            return eqx.apply_updates(model, updates), state

        return lambda: jax.block_until_ready(advance(model, state)[1])

    _, seconds = in_turn({"plain": compiled(plain), "noisy": compiled(noisy)}, 100)
    print(
        f"(b) ordinary step {1e3 * seconds['plain']:.2f} ms, MMSE {1e3 * seconds['noisy']:.2f} ms, ", end=""
    )
    print(f"ratio {seconds['noisy'] / seconds['plain']:.3f}")


if __name__ == "__main__":
    sweep()
    step()
