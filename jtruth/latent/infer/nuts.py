"""Run a NumPyro model by NUTS: compile once per model and shape, in chunks that survive a kill.

A model is a plain function of arrays (and of keyword sizes in `static`), with NumPyro's `sample` statements
and ONE observed site. NumPyro's `MCMC` compiles anew in every run; here its NUTS kernel is driven directly:
data are arguments of two compiled programs (`begin`, `advance`), which are kept for every (model, static
sizes, settings) and reused for all data of the same shapes. Warm-up and sampling are the same program.

- `run_nuts`: draws of all unobserved sites, with R-hat, effective sample size and divergences. The same key
  gives the same draws to the last bit, also when a run was killed and resumed from its checkpoint.
- `simulate`: the model run forwards, from the prior or from draws (posterior predictive).

NumPyro keeps its handlers in a global stack, which threads would share; tracing is done under `LOCK`. All of
it runs in float64 with NumPyro's own (lenient) promotion rules, whatever the caller's settings are.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import NamedSharding, PartitionSpec
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.hmc import hmc
from numpyro.infer.util import constrain_fn, potential_energy

from jtruth._random import as_key
from jtruth.latent.checkpoint import digest
from jtruth.latent.infer import nuts_run as around
from jtruth.latent.infer.nuts_run import NutsRun, NutsSettings, Settings

LOCK = threading.RLock()
CHAINS = PartitionSpec("chains")


@contextlib.contextmanager
def numpyro_block() -> Iterator[None]:
    """Where NumPyro code may run: one thread at a time, float64, NumPy's promotion rules."""
    with LOCK, around.arithmetic():
        yield


class Program:
    """The compiled programs of one model, and a record of what was compiled."""

    def __init__(self, model: Callable, static: tuple[tuple[str, Any], ...], settings: Settings):
        self.model, self.settings = functools.partial(model, **dict(static)), settings
        self.start, self.step = hmc(potential_fn_gen=self._potential, algo="NUTS")
        self.axis = 0 if settings.batched else None
        self.compiled: dict[Any, Any] = {}

    def call(self, function: Callable, *args: Any) -> Any:
        """Run a function of arrays, compiled ahead of time for their shapes; only tracing holds the lock."""
        leaves, tree = jax.tree.flatten(args)
        key = function.__name__, tree, tuple((x.shape, x.dtype, getattr(x, "sharding", None)) for x in leaves)
        with LOCK:
            if key not in self.compiled:
                self.compiled[key] = jax.jit(function).lower(*args).compile()
        return self.compiled[key](*args)

    def begin(self, keys, init, args):
        """Start every chain at its initial values plus jitter; the state of NUTS, chains first."""
        return jax.vmap(self._begin_one, in_axes=(0, 0, self.axis))(keys, init, args)

    def _begin_one(self, key, init, args):
        key_model, key_jitter, key_run = jax.random.split(key, 3)
        sites = _trace(self.model, (), init, key_model, args)
        z = {k: biject_to(s["fn"].support).inv(s["value"]) for k, s in sites.items() if _is_latent(s)}
        flat, unflatten = ravel_pytree(z)
        wide = self.settings.jitter * jax.random.uniform(key_jitter, flat.shape, flat.dtype, -1.0, 1.0)
        return self.start(
            unflatten(flat + wide),
            self.settings.num_warmup,
            target_accept_prob=self.settings.target_accept,
            max_tree_depth=self.settings.max_tree_depth,
            model_args=args,
            rng_key=key_run,
        )

    def advance(self, state, args, number):
        """`number` <= chunk transitions: the new state, draws (chains, chunk, ...), and their statistics."""
        if self.settings.chain_method != "parallel":
            return self._advance(state, args, number)
        mesh, everywhere = around.chain_mesh(state.i.shape[0]), PartitionSpec()
        specs = (CHAINS, CHAINS if self.settings.batched else everywhere, everywhere)
        return jax.shard_map(self._advance, mesh=mesh, in_specs=specs, out_specs=CHAINS, check_vma=False)(
            state, args, number
        )

    def _advance(self, state, args, number):
        step = jax.vmap(lambda s, a: self.step(s, model_args=a), in_axes=(0, self.axis))

        def kept(s):
            return s.z, {"diverging": s.diverging, "acceptance_rate": s.accept_prob, "n_steps": s.num_steps}

        def one(k, carry):
            s, buffer = carry
            s = step(s, args)
            return s, jax.tree.map(lambda b, new: b.at[:, k].set(new), buffer, kept(s))

        empty = jax.tree.map(lambda x: jnp.repeat(x[:, None], self.settings.chunk, axis=1), kept(state))
        state, (z, statistics) = jax.lax.fori_loop(0, number, one, (state, empty))

        def constrain(z_one, a):
            return constrain_fn(self.model, a, {}, z_one, return_deterministic=True)

        by_chain = jax.vmap(jax.vmap(constrain, in_axes=(0, None)), in_axes=(0, self.axis))
        return state, by_chain(z, args), statistics

    def _potential(self, *args):
        return functools.partial(potential_energy, self.model, args, {})


@functools.lru_cache(maxsize=64)
def program(model: Callable, static: tuple[tuple[str, Any], ...], settings: Settings) -> Program:
    """The one `Program` of these arguments in this process."""
    return Program(model, static, settings)


def run_nuts(
    model: Callable,
    *args: Any,
    key: Any = None,
    static: dict[str, Any] | None = None,
    init: dict[str, Any] | None = None,
    jitter: float | int = 0.5,
    settings: NutsSettings = NutsSettings(),
    batched: bool = False,
) -> NutsRun:
    """Sample the posterior of a NumPyro model.

    Args:
        model: function of `args` and the keywords of `static`. Reuse the same function object: a new closure
            compiles anew.
        args: arrays, or pytrees of them (None allowed).
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        static: sizes and other hashable keywords of the model.
        init: site name -> value to start at (model space); other sites start at a prior draw. With
            `batched` values have a leading axis.
        jitter: chains start uniformly within +-jitter of it in unconstrained space.
        settings: numbers of chains and transitions, whom to tell, checkpoint.
        batched: every array in `args` has a leading axis of data sets, and each set gets one chain. R-hat
            then compares different posteriors and means nothing.

    Raises:
        ValueError: impossible arguments, a start of zero density, or a checkpoint of another run.
    """
    made = settings.program(jitter, batched)
    num_warmup, num_samples, chunk = settings.num_warmup, settings.num_samples, settings.chunk
    compiled = program(model, _sorted(static), made)
    with around.arithmetic():
        data = jax.tree.map(jnp.asarray, args)
        chains = jax.tree.leaves(data)[0].shape[0] if batched else settings.num_chains
        starts = {} if init is None else {k: jnp.asarray(v, float) for k, v in init.items()}
        if not batched:
            starts = {k: jnp.broadcast_to(v, (chains, *v.shape)) for k, v in starts.items()}
        keys = jax.random.split(as_key(key), chains)
        state = compiled.call(compiled.begin, keys, starts, data)
        bad = np.flatnonzero(~np.isfinite(np.asarray(state.potential_energy)))
        if bad.size:
            raise ValueError(
                f"the start of chain {bad[0]} has probability 0 or NaN ({bad.size} of {chains} chains): the "
                "data are impossible there; give `init` values inside the support"
            )
        if settings.chain_method == "parallel":
            state = jax.device_put(state, NamedSharding(around.chain_mesh(chains), CHAINS))
        data_of = jax.tree.leaves((args, starts, jax.random.key_data(keys)))
        file = settings.progress.file(digest("nuts", data_of, model, static, made, num_samples))
        state, pieces, done = around.resumed(file, state)
        total = num_warmup + num_samples
        with settings.progress.reporting() as tell:
            tell(done, total)
            while done < total:
                number = min(chunk, (num_warmup if done < num_warmup else total) - done)
                state, piece = _advance_chains(compiled, state, data, number)
                if done >= num_warmup:
                    pieces.append(jax.tree.map(lambda x, n=number: np.asarray(x)[:, :n], piece))
                done += number
                if file.due or (done == total and file.path is not None):
                    around.save(file, state, pieces, done)
                tell(done, total)
    samples, statistics = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *pieces)
    return around.gather(samples, statistics, num_warmup)


def simulate(
    model: Callable,
    *args: Any,
    key: Any,
    num: int | None = None,
    draws: dict[str, Any] | None = None,
    static: dict[str, Any] | None = None,
) -> dict[str, np.ndarray]:
    """Run a model forwards: every site, (num, ...). Pass None for the observed argument to have it drawn.

    Args:
        model, args, static: as in `run_nuts`.
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        num: number of runs from the prior.
        draws: instead of `num`, values (num, ...) of the unobserved sites, for the posterior predictive.
    """
    draws = {} if draws is None else draws
    size = next(iter(draws.values())).shape[0] if draws else num
    if size is None:
        raise ValueError("give num, the number of runs from the prior, or draws")
    with numpyro_block():
        keys = jax.random.split(as_key(key), size)
        values = {name: jnp.asarray(value) for name, value in draws.items()}
        data = jax.tree.map(jnp.asarray, args)
        return jax.tree.map(np.asarray, _forward(model, _sorted(static), keys, values, data))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _forward(model, static, keys, draws, args):
    def one(key, draw):
        sites = _trace(model, static, draw, key, args)
        return {k: s["value"] for k, s in sites.items() if s["type"] in ("sample", "deterministic")}

    return jax.vmap(one)(keys, draws)


def _trace(model, static, values, key, args):
    """All sites of one run of the model, with these values put in."""
    runner = handlers.substitute(functools.partial(model, **dict(static)), data=values)
    return handlers.trace(handlers.seed(runner, key)).get_trace(*args)


def _sorted(static):
    return tuple(sorted((static or {}).items()))


def _is_latent(site) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def _advance_chains(compiled, state, data, number):
    """One chunk of all chains, or of one after the other."""
    count = jnp.asarray(number, jnp.int32)
    if compiled.settings.chain_method != "sequential":
        state, *piece = compiled.call(compiled.advance, state, data, count)
        return state, tuple(piece)
    parts = []
    for k in range(state.i.shape[0]):
        alone = jax.tree.map(lambda x, k=k: x[k : k + 1], state)
        mine = jax.tree.map(lambda x, k=k: x[k : k + 1], data) if compiled.settings.batched else data
        parts.append(compiled.call(compiled.advance, alone, mine, count))
    state, *piece = jax.tree.map(lambda *x: jnp.concatenate(x), *parts)
    return state, tuple(piece)
