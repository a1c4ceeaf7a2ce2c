"""What surrounds a NUTS run: its result, its file, its checks; no NumPyro here."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType

from jtruth._one_line import one_line
from jtruth.latent.checkpoint import Checkpoint, Progress
from jtruth.stats.chains import effective_sample_size, split_rhat

# One program, all chains in step (for accelerators and short chains); one chain after the other; or spread
# over the devices, each with its share.
CHAIN_METHODS = ("vectorized", "sequential", "parallel")
MAX_RHAT = 1.01
MIN_ESS_PER_CHAIN = 100.0


@contextlib.contextmanager
def arithmetic() -> Iterator[None]:
    """Float64 and NumPy's promotion rules."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


class NutsSettings(NamedTuple):
    """How to run NUTS, and what to do meanwhile."""

    num_warmup: int = 500  # transitions of each chain that are thrown away
    num_samples: int = 1000  # and that are kept
    num_chains: int = 4
    chain_method: str = "vectorized"  # see `CHAIN_METHODS`
    target_accept: float = 0.8
    max_tree_depth: int = 10
    progress: Progress = Progress()  # where it is reported, and a checkpoint
    chunk: int = 100  # transitions between two looks at it

    def program(self, jitter: float, batched: bool) -> "Settings":
        """What the program is compiled for; ValueError for what makes no sense."""
        warmup, samples, chains, method = self[:4]
        if method not in CHAIN_METHODS:
            raise ValueError(f"chain_method={method!r}; choose one of {', '.join(CHAIN_METHODS)}")
        if warmup < 1 or samples < 4 or chains < 1 or self.chunk < 1:
            raise ValueError(
                "need num_warmup >= 1, num_samples >= 4, num_chains >= 1, chunk >= 1; got "
                f"{warmup}, {samples}, {chains}, {self.chunk}"
            )
        if method == "parallel" and jax.device_count() == 1:
            raise ValueError(
                'chain_method="parallel" spreads chains over devices and there is one; use "vectorized", or '
                "set the environment variable XLA_FLAGS=--xla_force_host_platform_device_count=4 before JAX "
                "starts"
            )
        return Settings(
            warmup, self.chunk, method, float(self.target_accept), self.max_tree_depth, float(jitter), batched
        )


class Settings(NamedTuple):
    """What a compiled program depends on, beside the model and the shapes."""

    num_warmup: int
    chunk: int
    chain_method: str
    target_accept: float
    max_tree_depth: int
    jitter: float
    batched: bool


class NutsRun(NamedTuple):
    """Draws of every unobserved site, and how far to trust them."""

    samples: dict[str, np.ndarray]  # (chains, draws, ...), in the model's own (constrained) space
    statistics: dict[str, np.ndarray]  # (chains, draws): "diverging", "acceptance_rate", "n_steps" (leapfrog)
    rhat: dict[str, np.ndarray]  # split R-hat of every number; NaN where it never changed
    ess: dict[str, np.ndarray]  # effective sample size, likewise
    divergences: int  # after warm-up, over all chains
    num_warmup: int
    converged: bool  # all R-hat < 1.01 and all ESS >= 100 a chain
    warnings: tuple[str, ...]

    __repr__ = one_line

    def flat(self, name: str) -> np.ndarray:
        """Draws of one site, chain after chain."""
        values = self.samples[name]
        return values.reshape(-1, *values.shape[2:])


def gather(samples: dict, statistics: dict, num_warmup: int) -> NutsRun:
    """Draws and statistics (chains, draws, ...) as a `NutsRun`, with its doubts."""
    rhat = {name: split_rhat(values) for name, values in samples.items()}
    ess = {name: effective_sample_size(values) for name, values in samples.items()}
    chains, draws = statistics["diverging"].shape
    least = MIN_ESS_PER_CHAIN * chains
    mixed = all(np.all(np.isnan(r) | (r < MAX_RHAT)) for r in rhat.values())
    enough = all(np.all(np.isnan(e) | (e >= least)) for e in ess.values())
    broken = [name for name, values in samples.items() if not np.isfinite(values).all()]  # their R-hat is NaN
    converged = mixed and enough and not broken
    divergences = int(statistics["diverging"].sum())
    warnings = []
    if broken:
        warnings.append(f"Draws of {', '.join(broken)} hold NaN or infinity; do not use this run.")
    elif not converged:
        high, low = _extreme(rhat, np.nanargmax), _extreme(ess, np.nanargmin)
        warnings.append(
            f"NUTS did not converge in {draws} draws of {chains} chains: split R-hat {high[0]:.3f} for "
            f"{high[1]}, effective sample size {low[0]:.0f} for {low[1]}. Raise num_samples and num_warmup."
        )
    if divergences:
        warnings.append(
            f"{divergences} of {chains * draws} transitions diverged: NUTS may have missed a narrow part of "
            "the posterior. Raise target_accept to .95 or .99, or use another model."
        )
    return NutsRun(samples, statistics, rhat, ess, divergences, num_warmup, converged, tuple(warnings))


def _extreme(values: dict[str, np.ndarray], where: Callable) -> tuple[float, str]:
    """The largest or smallest number and what it belongs to, like "matrices[0,1,1]"."""
    flat = {
        f"{name}[{','.join(map(str, index))}]" if index else name: float(v[index])
        for name, v in values.items()
        for index in np.ndindex(np.shape(v))
    }
    numbers = np.array(list(flat.values()))
    if np.isnan(numbers).all():
        return float("nan"), "nothing"
    k = int(where(numbers))
    return float(numbers[k]), list(flat)[k]


def chain_mesh(chains: int):
    """As many devices as share the chains equally, in a row."""
    size = max(d for d in range(1, jax.device_count() + 1) if chains % d == 0)
    return jax.make_mesh((size,), ("chains",), axis_types=(AxisType.Auto,), devices=jax.devices()[:size])


def save(file: Checkpoint, state: Any, pieces: list, done: int) -> None:
    """State of NUTS and all draws so far."""
    arrays: dict[str, Any] = {f"state{k}": _raw(leaf) for k, leaf in enumerate(jax.tree.leaves(state))}
    if pieces:
        draws = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *pieces)
        for part, values in zip(("sample", "statistic"), draws, strict=True):
            arrays |= {f"{part}/{name}": value for name, value in values.items()}
    file.write(arrays, {"done": done})


def resumed(file: Checkpoint, state: Any) -> tuple[Any, list, int]:
    """(state, pieces, transitions done) of a file; as they are at the start if there is none."""
    found = file.read()
    if found is None:
        return state, [], 0
    arrays, words = found
    leaves, tree = jax.tree.flatten(state)
    read = [_restored(arrays[f"state{k}"], leaf) for k, leaf in enumerate(leaves)]
    parts: tuple[dict, dict] = ({}, {})
    for name, values in arrays.items():
        kind, _, site = name.partition("/")
        if kind in ("sample", "statistic"):
            parts[kind == "statistic"][site] = values
    return jax.tree.unflatten(tree, read), [parts] if parts[0] else [], words["done"]


def _raw(leaf):
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _restored(value, like):
    if _is_key(like):
        return jax.random.wrap_key_data(jnp.asarray(value), impl=jax.random.key_impl(like))
    return jax.device_put(jnp.asarray(value, like.dtype), like.sharding)


def _is_key(leaf) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
