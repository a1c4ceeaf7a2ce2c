"""The chains of a Gibbs sampler on their way: blocks of sweeps, and the file that outlives them.

All that the next sweep depends on is the number of samples behind every (column, state), the rows of pooled
raters and what they have in common, and the state of the random stream. `Checkpoint` writes these with the
draws so far, so a run that was killed goes on from there as if nothing had happened, to the last bit.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jtruth._random import host_rng, key_words
from jtruth.learning import _gibbs_kernel as kernel
from jtruth.learning._gibbs_pooled import draw_common_rows
from jtruth.learning._gibbs_store import Store, load, save

_BLOCK = 50  # sweeps between two looks at the clock
_BLOCK_NUMBERS = 4_000_000  # ... fewer where a block of draws would hold more numbers than this
# What is kept of one block of draws: arrays to keep, and large arrays to keep thinned.
Digest = Callable[[dict[str, np.ndarray]], tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]


@dataclass
class Walk:
    """Where the chains are and what they have seen. Sweeps are counted per chain."""

    problem: kernel.Problem
    words: list[int]  # of the key
    rng: np.random.Generator
    chain: dict[str, np.ndarray]
    store: Store
    burn_in: int
    target: int = 0  # sweeps to keep before the next look at convergence
    done: int = 0  # burn-in included

    @classmethod
    def begin(cls, problem, mode, key, chains, burn_in, max_bytes) -> "Walk":
        """States drawn at the mode (states, rows)."""
        rng = host_rng(key, "gibbs")
        p = np.repeat(mode[:, None, :], chains, axis=1)
        symbols = kernel.count_symbols(problem, kernel.draw_states(problem, p, rng))
        chain = {"symbols": symbols}
        if problem.pooled:
            alpha = problem.concentration + kernel.count_probabilities(problem, symbols)
            chain["log_theta"] = kernel.draw_dirichlet_logs(problem, alpha, rng)
        for k, group in enumerate(problem.pooled):
            mean = group.common_prior / group.common_prior.sum(axis=-1, keepdims=True)
            chain[f"common{k}"] = np.repeat(np.log(mean)[None], chains, axis=0)
        return cls(problem, key_words(key), rng, chain, Store(max_bytes), burn_in)

    @property
    def num_chains(self) -> int:
        """Chains that walk side by side."""
        return self.chain["symbols"].shape[2]

    def block(self, digest: Digest) -> None:
        """Some sweeps; their draws are kept once burn-in is over."""
        numbers = self.num_chains * self.problem.concentration.size
        most = int(np.clip(_BLOCK_NUMBERS // max(numbers, 1), 5, _BLOCK))
        warm = self.done >= self.burn_in
        end = self.burn_in + self.target if warm else self.burn_in
        sweeps = min(most, end - self.done)
        logs, tables, states = [], [], np.zeros(())
        for _ in range(sweeps):
            log_theta, p = self._sweep()
            if warm:
                logs.append(log_theta)
                tables.append(self.chain["symbols"])
                states = states + p.sum(axis=1)
        if warm:
            self.store.add(*digest(named_draws(self.problem, logs, tables)), states)
        self.done += sweeps

    def _sweep(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows given states, then states given rows; log rows (chains, P), p (states, chains, rows)."""
        problem, rng = self.problem, self.rng
        common = [self.chain[f"common{k}"] for k in range(len(problem.pooled))]
        counts = kernel.count_probabilities(problem, self.chain["symbols"])
        last = self.chain.get("log_theta", counts)
        concentration, common = draw_common_rows(problem, last, counts, common, rng)
        log_theta = kernel.draw_dirichlet_logs(problem, concentration + counts, rng)
        p = kernel.state_probabilities(problem, log_theta)
        symbols = kernel.count_symbols(problem, kernel.draw_states(problem, p, rng))
        self.chain = {"symbols": symbols} | {f"common{k}": g for k, g in enumerate(common)}
        if problem.pooled:
            self.chain["log_theta"] = log_theta
        return log_theta, p


def named_draws(problem: kernel.Problem, logs: list, symbols: list) -> dict[str, np.ndarray]:
    """A block of draws by name, (chains, sweeps, ...): "pi", "weights", "raters0", "table0", ..."""
    theta = np.exp(np.stack(logs, axis=1))
    draws = {}
    for name, (first, shape) in problem.blocks.items():
        part = theta[:, :, first : first + int(np.prod(shape))]
        draws[name] = part.reshape(*part.shape[:2], *shape)
    for name, (first, last) in problem.columns.items():
        tables = np.stack([a[first:last] for a in symbols])  # (sweeps, columns, states, chains)
        draws[name.replace("raters", "table")] = tables.transpose(3, 0, 2, 1)
    return draws


class Checkpoint:
    """The file of a walk, or nothing at all if `path` is None."""

    def __init__(self, path: str | Path | None, seconds: float, about: list[np.ndarray]):
        """`about`: arrays beside problem and key that the draws depend on."""
        self.path = None if path is None else Path(path)
        self.seconds, self.about, self.written = seconds, about, time.monotonic()

    def resume(self, walk: Walk) -> None:
        """Go on where the file stopped, if there is one."""
        if self.path is None or not self.path.exists():
            return
        walk.chain, numbers = load(self.path, self._mark(walk), walk.store, walk.rng)
        walk.done, walk.target, walk.burn_in = (int(numbers[k]) for k in ("done", "target", "burn_in"))

    def write(self, walk: Walk) -> None:
        """Write the file."""
        if self.path is None:
            return
        numbers = {"done": walk.done, "target": walk.target, "burn_in": walk.burn_in}
        save(self.path, self._mark(walk), walk.store, walk.chain, walk.rng, numbers)
        self.written = time.monotonic()

    def write_if_due(self, walk: Walk) -> None:
        """Write the file unless that was done a moment ago."""
        if self.path is not None and time.monotonic() - self.written >= self.seconds:
            self.write(walk)

    def _mark(self, walk: Walk) -> str:
        """A hash of all that the draws depend on."""
        problem = walk.problem
        h = hashlib.sha256(repr((walk.words, walk.store.max_bytes)).encode())
        arrays = [problem.design.data, problem.design.indices, problem.design.indptr, problem.multiplicity]
        arrays += [problem.offset, problem.place, problem.concentration, *self.about]
        arrays += [np.append(p.common_prior.ravel(), p.strength) for p in problem.pooled]
        for a in arrays:
            h.update(np.ascontiguousarray(a, np.float64).tobytes())
        return h.hexdigest()
