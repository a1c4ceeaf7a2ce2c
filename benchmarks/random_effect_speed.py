"""The gradient of the random-effect model: written by hand in NumPy, against `jax.grad` of one log density.

Run: python benchmarks/random_effect_speed.py
One process, one thread, float64, CPU seconds; no compilation cache. The density in JAX is written here once
more, as one pure function of a point, vmapped; what is seen on a row enters by a matrix of zeros and ones. It
must agree with `Density` in value and gradient. `first`: tracing, compiling and one evaluation.

Measured: AMD EPYC, 2 cores (busy), Python 3.11.7, jax 0.10.2, numpy 2.4.6; the whole fit beside it:

    samples labelers each   rows chains | by hand     JAX  first | fit
        400        5    5     63     32 |  1.3 ms  1.5 ms  1.4 s | 1.9 s
       4000       10   10    960      4 |  3.0 ms  1.9 ms  1.4 s | 5.0 s
      30000       50    5  29991      4 |  122 ms  171 ms  2.5 s |

Gathering what was seen, instead of the matrix, took 2.5, 6.4 and 308 ms in JAX where by hand took 1.2, 1.9
and 79 (a gradient of gathers is a scatter). A fit needs three shapes (one point for the mode, pairs for the
curvature, the chains), so three such compilations. Where samples are few they cost as much as the whole fit;
where they are many the product by hand, of sparse matrices, is faster. So the gradient stays written by hand,
and the sampler on the host. On an accelerator it was not tried.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)

import time  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.scipy.special import log_ndtr  # noqa: E402

from jtruth.labels import Labels  # noqa: E402
from jtruth.learning.joint._random_effect_density import Density  # noqa: E402
from jtruth.learning.joint._rows import merge_samples  # noqa: E402

jax.config.update("jax_enable_x64", True)


def crowd(samples: int, labelers: int, each: int) -> tuple[Labels, np.ndarray]:
    """Labels and predictions of samples whose ease all feel."""
    rng = np.random.default_rng(0)
    y, ease = rng.random(samples) < 0.4, rng.standard_normal(samples)

    def given(logit: float) -> np.ndarray:
        right = rng.random(samples) < 1 / (1 + np.exp(-(1.2 + logit + 0.7 * ease)))
        return np.where(right, y, ~y).astype(int)

    z = np.stack([given(logit) for logit in rng.normal(0, 0.6, labelers)], axis=1)
    order = np.argsort(rng.random(z.shape), axis=1)
    z[np.arange(samples)[:, None], order[:, each:]] = -1
    return Labels.from_matrix(z, 2), given(0.3)


def log_density(density: Density):
    """log p(point, everything seen) as a function of one point, with class share and fixed spread drawn."""
    design = jnp.asarray(density.design.toarray())
    ease, offset = jnp.asarray(density.ease), jnp.asarray(density.offset)
    times, labelers = jnp.asarray(density.multiplicity), density.labelers

    def log_p(point):
        share, a, (m, soft_lam, k, soft_kap) = point[0], point[1:-8].reshape(-1, 2), point[-8:].reshape(4, 2)
        lam, kap = jnp.logaddexp(0, 3 * soft_lam) / 3, jnp.logaddexp(0, 3 * soft_kap) / 3
        prior = -0.5 * ((m - 1.2) ** 2 + ((k - 1.2) / 1.2) ** 2 + ((kap - lam) / 0.5) ** 2 + lam**2)
        prior += jax.nn.log_sigmoid(3 * soft_lam) + jax.nn.log_sigmoid(3 * soft_kap) - log_ndtr(lam / 0.5)
        flat = jax.nn.log_sigmoid(share) + jax.nn.log_sigmoid(-share) - 0.5 * (a**2).sum() / 0.8**2
        logit = jnp.concatenate([a + m, k[None]])[..., None]
        logit += jnp.concatenate([jnp.tile(lam, (labelers, 1)), kap[None]])[..., None] * ease
        right = jnp.eye(2, dtype=bool)[None, :, :, None]  # symbol k is right in class k
        table = jax.nn.log_sigmoid(jnp.where(right, logit[:, None], -logit[:, None]))
        states = (design @ table.reshape(design.shape[1], -1)).T + offset
        shares = jnp.repeat(jax.nn.log_sigmoid(jnp.stack([-share, share])), ease.size)
        return flat + prior.sum() + jax.nn.logsumexp(states + shares[:, None], axis=0) @ times

    return jax.jit(jax.vmap(jax.value_and_grad(log_p)))


def milliseconds(run, repeats: int) -> float:
    """Median processor time."""
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        jax.block_until_ready(run())
        taken.append(time.process_time() - began)
    return 1e3 * float(np.median(taken))


def main() -> None:
    """Print a line for each size."""
    for samples, labelers, each, chains in ((400, 5, 5, 32), (4000, 10, 10, 4), (30_000, 50, 5, 4)):
        labels, y_pred = crowd(samples, labelers, each)
        density = Density(merge_samples(labels, y_pred, None), None)
        start = np.zeros(density.size)
        start[-8:] = [1.2, 1.2, 0.5, 0.5, 1.2, 1.2, 0.5, 0.5]
        points = start + 0.1 * np.random.default_rng(1).standard_normal((chains, density.size))
        by_jax, began = log_density(density), time.process_time()
        found = jax.block_until_ready(by_jax(points))
        first, expected = time.process_time() - began, density(points)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-7)
        repeats = 7 if density.multiplicity.size > 5000 else 30
        hand, jaxs = (milliseconds(lambda f=f, p=points: f(p), repeats) for f in (density, by_jax))
        print(f"{samples:>8} {labelers:>4} {each:>3} rows {density.multiplicity.size:>6} chains {chains:>2}: "
              f"by hand {hand:.1f} ms, JAX {jaxs:.1f} ms, first {first:.1f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
