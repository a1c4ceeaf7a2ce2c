"""Sample until good enough: the one loop of all chains that run on the host.

A mover (`GibbsMover`, `TemperMover`) knows one model: how to `start` its `num_chains` chains, to `advance`
them by some sweeps (at most `block` between two looks), and what to do once burn-in is over (`settle`). All
that the next sweep depends on is what it says the chain is, a few arrays, and the state of the random stream.
`walk` lets it burn in, keeps draws, looks at split R-hat and effective sample size of what is monitored, and
goes on until they are good or the effort is spent. A checkpoint holds chain, stream and draws so far, so a
run that was killed goes on from there as if nothing had happened, to the last bit.

`Store` holds the draws after burn-in, block by block. Large arrays (the matrices) are thinned: once they
outgrow `max_bytes` only every second, then every fourth, ... sweep is kept, while their mean is taken over
all sweeps.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jtruth.latent.checkpoint import UNWATCHED, Checkpoint, Told, Watch
from jtruth.latent.effort import Convergence, Effort, Limits, diagnose, good, next_target

Chain = dict[str, np.ndarray]
Arrays = dict[str, np.ndarray]


# What one block of sweeps leaves, (chains, sweeps, ...) each: small arrays of every sweep, large ones to be
# thinned, and sums of state probabilities (states, rows) over chains and sweeps.
Kept = tuple[Arrays, Arrays, np.ndarray]


@dataclass
class Store:
    """Draws so far. Arrays are (chains, sweeps, ...)."""

    max_bytes: int
    kept: int = 0  # sweeps per chain after burn-in
    thin: int = 1
    small: dict[str, list[np.ndarray]] = field(default_factory=dict)  # block by block
    large: dict[str, list[np.ndarray]] = field(default_factory=dict)  # sweeps 0, thin, 2 thin, ...
    large_sum: dict[str, np.ndarray] = field(default_factory=dict)
    state_sum: np.ndarray = field(default_factory=lambda: np.zeros(()))  # (states, rows) of probabilities

    def add(self, small: dict[str, np.ndarray], large: dict[str, np.ndarray], states: np.ndarray) -> None:
        """Append one block of sweeps."""
        sweeps = next(iter(small.values())).shape[1]
        for name, values in small.items():
            self.small.setdefault(name, []).append(values)
        first = -self.kept % self.thin
        for name, values in large.items():
            self.large.setdefault(name, []).append(values[:, first :: self.thin].astype(np.float32))
            self.large_sum[name] = self.large_sum.get(name, 0.0) + values.sum(axis=(0, 1), dtype=np.float64)
        self.state_sum = self.state_sum + states
        self.kept += sweeps
        while sum(a.nbytes for parts in self.large.values() for a in parts) > self.max_bytes:
            if self.thin >= self.kept:
                break
            self.thin *= 2
            self.large = {name: [a[:, ::2].copy()] for name, a in self._joined(self.large).items()}

    def draws(self) -> dict[str, np.ndarray]:
        """All draws of the small arrays."""
        return self._joined(self.small)

    def thinned(self) -> dict[str, np.ndarray]:
        """Every `thin`-th draw of the large arrays."""
        return self._joined(self.large)

    @staticmethod
    def _joined(blocks: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
        """Blocks as one array each; the lists are shortened on the way, so it is not done twice."""
        for parts in blocks.values():
            if len(parts) > 1:
                parts[:] = [np.concatenate(parts, axis=1)]
        return {name: parts[0] for name, parts in blocks.items()}

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Everything as named arrays and words."""
        kinds = {"small": self.draws(), "large": self.thinned(), "sum": self.large_sum}
        arrays = {f"{kind}/{name}": a for kind, some in kinds.items() for name, a in some.items()}
        return arrays | {"state_sum": np.asarray(self.state_sum)}, {"kept": self.kept, "thin": self.thin}

    def unpack(self, arrays: dict[str, np.ndarray], words: dict[str, Any]) -> None:
        """Take over what `pack` gave."""

        def named(kind: str) -> dict[str, np.ndarray]:
            return {name[len(kind) + 1 :]: a for name, a in arrays.items() if name.startswith(kind + "/")}

        self.kept, self.thin = words["kept"], words["thin"]
        self.small = {name: [a] for name, a in named("small").items()}
        self.large = {name: [a] for name, a in named("large").items()}
        self.large_sum, self.state_sum = named("sum"), arrays["state_sum"]


@dataclass
class Walk:
    """Where the chains are and what they have seen. Sweeps are counted per chain."""

    mover: Any
    rng: np.random.Generator
    store: Store
    burn_in: int
    target: int  # sweeps to keep before the next look at convergence
    done: int = 0  # burn-in included
    chain: Chain = field(default_factory=dict)

    def block(self) -> None:
        """Some sweeps; their draws are kept once burn-in is over."""
        burning = self.done < self.burn_in
        end = self.burn_in if burning else self.burn_in + self.target
        sweeps = min(self.mover.block, end - self.done)
        self.chain, kept = self.mover.advance(self.chain, self.rng, sweeps, burning)
        if kept is not None:
            self.store.add(*kept)
        self.done += sweeps
        if burning and self.done == self.burn_in:
            self.chain = self.mover.settle(self.chain)

    def save(self, file: Checkpoint) -> None:
        """Write everything that the next sweep depends on."""
        arrays, words = self.store.pack()
        arrays |= {f"chain/{name}": a for name, a in self.chain.items()}
        words |= {"stream": self.rng.bit_generator.state, "done": self.done, "target": self.target}
        file.write(arrays, words)

    def resume(self, file: Checkpoint) -> bool:
        """Go on from a file, if there is one."""
        found = file.read()
        if found is None:
            return False
        arrays, words = found
        self.store.unpack(arrays, words)
        self.chain = {name[6:]: a for name, a in arrays.items() if name.startswith("chain/")}
        self.rng.bit_generator.state = words["stream"]
        self.done, self.target = words["done"], words["target"]
        return True


def walk(
    mover: Any,
    rng: np.random.Generator,
    *,
    monitored: Callable[[Arrays], Arrays],
    effort: Effort,
    limits: Limits,
    watch: Watch = UNWATCHED,
    mark: str = "",
) -> tuple[Store, Convergence]:
    """Sample until the draws are good or the effort is spent.

    Args:
        mover: the model.
        rng: the stream of random numbers.
        monitored: the kept arrays -> those that must converge.
        effort, limits: when to stop; `limits` are the effort's for these data (`effort.limits`).
        watch: whom to tell, and the file to resume from and to write.
        mark: what that file must carry: a digest of all that the draws depend on.
    """
    file = watch.file(mark)
    now = Walk(mover, rng, Store(effort.max_bytes), limits.burn_in, limits.first)
    if not now.resume(file):
        now.chain = mover.start(rng)
        if not now.burn_in:
            now.chain = mover.settle(now.chain)
    began, stopped_by, rhat, ess = time.monotonic(), "", {}, {}
    with watch.telling() as tell:
        while not stopped_by:
            in_time = _to_target(now, effort, file, tell, began)
            rhat, ess = diagnose(monitored(now.store.draws()), effort.ends)
            enough = now.store.kept * mover.num_chains >= effort.min_sweeps
            if enough and good(rhat, ess, effort):
                stopped_by = "converged"
            elif not in_time:
                stopped_by = "max_seconds"
            elif now.store.kept >= limits.most:
                stopped_by = "max_work" if limits.by_work else "max_sweeps"
            else:
                now.target = min(next_target(now.target, rhat, ess, effort, mover.block), limits.most)
    if file.path is not None:
        now.save(file)
    total, spent = now.store.kept * mover.num_chains, time.monotonic() - began
    return now.store, Convergence(stopped_by == "converged", stopped_by, rhat, ess, total, now.burn_in, spent)


def _to_target(now: Walk, effort: Effort, file: Checkpoint, tell: Told, began: float) -> bool:
    """Blocks of sweeps up to the target; False if an explicit wall limit struck first."""
    chains = now.mover.num_chains
    while now.done < now.burn_in + now.target:
        now.block()
        if file.due:
            now.save(file)
        tell(now.done * chains, (now.burn_in + now.target) * chains)
        late = effort.max_seconds is not None and time.monotonic() - began > effort.max_seconds
        if late and now.store.kept >= 4:
            return False
    return True
