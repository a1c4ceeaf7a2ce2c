"""NUTS for NumPyro models: compiled once per model and shape, in chunks with checkpoints.

A model is a plain function of arrays (and of keyword sizes in `static`), with NumPyro's `sample` statements
and ONE observed site. NumPyro's `MCMC` compiles anew in every run; here its NUTS kernel is driven directly,
with the data as arguments of two compiled programs (`begin`, `advance`) for every (model, static sizes,
settings). Warm-up and sampling are the same program.

NumPyro keeps its handlers in a global stack, so tracing is done under `LOCK`, in float64 and with NumPyro's
own promotion rules. NumPyro is imported only where a model runs.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from jtruth._checkpoint import Checkpoint, Progress, digest
from jtruth._one_line import one_line
from jtruth._random import as_key
from jtruth.latent.walk import STANDARD, by_number, extremes, good
from jtruth.stats.chains import effective_sample_size, split_rhat

LOCK = threading.RLock()
MIN_ESS_PER_CHAIN = 100.0


@contextlib.contextmanager
def arithmetic() -> Iterator[None]:
    """Float64 and NumPy's promotion rules."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


@contextlib.contextmanager
def numpyro_block() -> Iterator[None]:
    """Where NumPyro code may run: one thread at a time, float64, NumPy's promotion rules."""
    with LOCK, arithmetic():
        yield


class NutsSettings(NamedTuple):
    """How to run NUTS."""

    num_warmup: int = 500  # transitions of each chain that are thrown away
    num_samples: int = 1000  # and that are kept
    num_chains: int = 4
    target_accept: float = 0.8
    progress: Progress = Progress()  # where it is reported, and a checkpoint
    chunk: int = 100  # transitions between two looks at it


USUAL = NutsSettings()


class NutsRun(NamedTuple):
    """Draws of every unobserved site, with diagnostics."""

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


class Program:
    """The compiled programs of one model."""

    def __init__(self, model: Callable, static: tuple, settings: NutsSettings, jitter: float):
        from numpyro.infer.hmc import hmc
        from numpyro.infer.util import potential_energy

        self.model, self.settings, self.jitter = functools.partial(model, **dict(static)), settings, jitter
        potential = lambda *args: functools.partial(potential_energy, self.model, args, {})  # noqa: E731
        self.start, self.step = hmc(potential_fn_gen=potential, algo="NUTS")
        self.compiled: dict[Any, Any] = {}

    def call(self, function: Callable, *args: Any) -> Any:
        """Run a function of arrays, compiled ahead of time for their shapes; only tracing holds the lock."""
        leaves, tree = jax.tree.flatten(args)
        key = function.__name__, tree, tuple((x.shape, x.dtype) for x in leaves)
        with LOCK:
            if key not in self.compiled:
                self.compiled[key] = jax.jit(function).lower(*args).compile()
        return self.compiled[key](*args)

    def begin(self, keys, init, args):
        """Start every chain at its initial values plus jitter; the state of NUTS, chains first."""
        from numpyro import handlers
        from numpyro.distributions import biject_to

        def one(key, init):
            key_model, key_jitter, key_run = jax.random.split(key, 3)
            inside = handlers.seed(handlers.substitute(self.model, data=init), key_model)
            sites = handlers.trace(inside).get_trace(*args).items()
            latent = {k: s for k, s in sites if s["type"] == "sample" and not s["is_observed"]}
            z = {k: biject_to(s["fn"].support).inv(s["value"]) for k, s in latent.items()}
            flat, unflatten = ravel_pytree(z)
            wide = self.jitter * jax.random.uniform(key_jitter, flat.shape, flat.dtype, -1.0, 1.0)
            return self.start(
                unflatten(flat + wide),
                self.settings.num_warmup,
                target_accept_prob=self.settings.target_accept,
                model_args=args,
                rng_key=key_run,
            )

        return jax.vmap(one)(keys, init)

    def advance(self, state, args, number):
        """`number` <= chunk transitions: the new state, draws (chains, chunk, ...), and their statistics."""
        from numpyro.infer.util import constrain_fn

        step = jax.vmap(lambda s: self.step(s, model_args=args))

        def kept(s):
            return s.z, {"diverging": s.diverging, "acceptance_rate": s.accept_prob, "n_steps": s.num_steps}

        def one(k, carry):
            s, buffer = carry
            s = step(s)
            return s, jax.tree.map(lambda b, new: b.at[:, k].set(new), buffer, kept(s))

        empty = jax.tree.map(lambda x: jnp.repeat(x[:, None], self.settings.chunk, axis=1), kept(state))
        state, (z, statistics) = jax.lax.fori_loop(0, number, one, (state, empty))

        constrain = lambda z: constrain_fn(self.model, args, {}, z, return_deterministic=True)  # noqa: E731
        return state, jax.vmap(jax.vmap(constrain))(z), statistics


@functools.lru_cache(maxsize=64)
def program(model: Callable, static: tuple, settings: NutsSettings, jitter: float) -> Program:
    """The one `Program` of these arguments in this process; see `compiled_for`."""
    return Program(model, static, settings, jitter)


def compiled_for(settings: NutsSettings) -> NutsSettings:
    """The settings that a program depends on."""
    return settings._replace(num_samples=0, num_chains=0, progress=Progress())


def run_nuts(
    model: Callable,
    *args: Any,
    key: Any = None,
    static: dict[str, Any] | None = None,
    init: dict[str, Any] | None = None,
    jitter: float = 0.5,
    settings: NutsSettings = USUAL,
) -> NutsRun:
    """Sample the posterior of a NumPyro model.

    Args:
        model: function of `args` and the keywords of `static`. A new closure compiles anew.
        args: arrays, or pytrees of them (None allowed).
        key: a whole number or a JAX key; the same key gives the same draws to the last bit, also when a run
            was resumed from its checkpoint.
        static: sizes and other hashable keywords of the model.
        init: site name -> value to start at (model space); other sites start at a prior draw.
        jitter: chains start uniformly within +-jitter of it in unconstrained space.
        settings: numbers of chains and transitions, progress, checkpoint.

    Raises:
        ValueError: impossible arguments, a start of zero density, or a checkpoint of another run.
    """
    num_warmup, num_samples, chains, chunk = (*settings[:3], settings.chunk)
    if num_warmup < 1 or num_samples < 4 or chains < 1 or chunk < 1:
        raise ValueError(
            "need num_warmup >= 1, num_samples >= 4, num_chains >= 1, chunk >= 1; got "
            f"{num_warmup}, {num_samples}, {chains}, {chunk}"
        )
    made, fixed = compiled_for(settings), tuple(sorted((static or {}).items()))
    compiled = program(model, fixed, made, float(jitter))
    with arithmetic():
        data = jax.tree.map(jnp.asarray, args)
        starts = {k: jnp.asarray(v, float) for k, v in (init or {}).items()}
        starts = {k: jnp.broadcast_to(v, (chains, *v.shape)) for k, v in starts.items()}
        keys = jax.random.split(as_key(key), chains)
        state = compiled.call(compiled.begin, keys, starts, data)
        bad = np.flatnonzero(~np.isfinite(np.asarray(state.potential_energy)))
        if bad.size:
            raise ValueError(
                f"the data have probability 0 or NaN at the start of chain {bad[0]} ({bad.size} of {chains} "
                "chains): give `init` values inside the support"
            )
        data_of = jax.tree.leaves((args, starts, jax.random.key_data(keys)))
        mark = digest("nuts", data_of, model, static, tuple(made), jitter, num_samples)
        pieces = _advanced(compiled, state, data, settings, settings.progress.file(mark))
    samples, statistics = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *pieces)
    return gather(samples, statistics, num_warmup)


def _advanced(
    compiled: Program, state: Any, data: Any, settings: NutsSettings, file: Checkpoint
) -> list[tuple[dict, dict]]:
    """Draws and statistics of all transitions after warm-up, chunk by chunk."""
    state, pieces, done = resumed(file, state)
    total = settings.num_warmup + settings.num_samples
    with settings.progress.reporting() as tell:
        tell(done, total)
        while done < total:
            burning = done < settings.num_warmup
            number = min(settings.chunk, (settings.num_warmup if burning else total) - done)
            state, *piece = compiled.call(compiled.advance, state, data, jnp.asarray(number, jnp.int32))
            if not burning:
                pieces.append(jax.tree.map(lambda x, n=number: np.asarray(x)[:, :n], tuple(piece)))
            done += number
            if file.due or (done == total and file.path is not None):
                save(file, state, pieces, done)
            tell(done, total)
    return pieces


def gather(samples: dict, statistics: dict, num_warmup: int) -> NutsRun:
    """Draws and statistics (chains, draws, ...) as a `NutsRun`, with its warnings."""
    rhat = {name: split_rhat(values) for name, values in samples.items()}
    ess = {name: effective_sample_size(values) for name, values in samples.items()}
    chains, draws = statistics["diverging"].shape
    numbers = by_number(rhat), by_number(ess)
    broken = [name for name, values in samples.items() if not np.isfinite(values).all()]  # their R-hat is NaN
    converged = good(*numbers, STANDARD._replace(min_ess=MIN_ESS_PER_CHAIN * chains)) and not broken
    divergences = int(statistics["diverging"].sum())
    warnings = []
    if broken:
        warnings.append(f"Draws of {', '.join(broken)} have NaN or infinity; do not use this run.")
    elif not converged:
        warnings.append(
            f"NUTS did not converge in {draws} draws of {chains} chains: {extremes(*numbers)}. Raise "
            "num_samples and num_warmup."
        )
    if divergences:
        warnings.append(
            f"{divergences} of {chains * draws} transitions diverged: NUTS may have missed a narrow part of "
            "the posterior. Raise target_accept to .95 or .99, or use another model."
        )
    return NutsRun(samples, statistics, rhat, ess, divergences, num_warmup, converged, tuple(warnings))


def save(file: Checkpoint, state: Any, pieces: list, done: int) -> None:
    """Write the state of NUTS and all draws so far."""
    leaves = enumerate(jax.tree.leaves(state))
    parts = {"state": {str(k): np.asarray(jax.random.key_data(x) if _is_key(x) else x) for k, x in leaves}}
    if pieces:
        parts["sample"], parts["statistic"] = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *pieces)
    file.write_parts(parts, {"done": done})


def resumed(file: Checkpoint, state: Any) -> tuple[Any, list, int]:
    """(state, pieces, transitions done) of a file, or those of the start if there is none."""
    content = file.read_parts()
    if content is None:
        return state, [], 0
    parts, words = content
    leaves, tree = jax.tree.flatten(state)
    read = [_restored(parts["state"][str(k)], leaf) for k, leaf in enumerate(leaves)]
    pieces = [(parts["sample"], parts["statistic"])] if parts["sample"] else []
    return jax.tree.unflatten(tree, read), pieces, words["done"]


def _restored(value, like):
    if _is_key(like):
        return jax.random.wrap_key_data(jnp.asarray(value), impl=jax.random.key_impl(like))
    return jax.device_put(jnp.asarray(value, like.dtype), like.sharding)


def _is_key(leaf) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
