"""Sample until good enough: the one loop of all chains that run on the host.

A `Mover` knows one model: how to start its chains, and how to move them by some sweeps. All that the next
sweep depends on is what it says the chain is, a few arrays, and the state of the random stream. `walk` lets
it burn in, keeps draws, looks at split R-hat and effective sample size of what is monitored, and goes on
until they are good or the effort is spent. A checkpoint holds chain, stream and draws so far, so a run that
was killed goes on from there as if nothing had happened, to the last bit.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from jtruth.sampling.checkpoint import Checkpoint
from jtruth.sampling.effort import Convergence, Effort, Limits, diagnose, good, next_target
from jtruth.sampling.store import Store
from jtruth.sampling.watch import UNWATCHED, Told, Watch

Chain = dict[str, np.ndarray]
Arrays = dict[str, np.ndarray]


class Kept(NamedTuple):
    """What one block of sweeps leaves: (chains, sweeps, ...) each, and sums of state probabilities."""

    small: Arrays  # every sweep is kept
    large: Arrays  # thinned
    states: np.ndarray  # (states, rows), over chains and sweeps


@runtime_checkable
class Mover(Protocol):
    """One model, ready to move."""

    @property
    def num_chains(self) -> int:
        """Chains side by side."""
        ...

    @property
    def block(self) -> int:
        """Most sweeps between two looks at progress and checkpoint."""
        ...

    def start(self, rng: np.random.Generator) -> Chain:
        """Where the chains begin."""
        ...

    def advance(
        self, chain: Chain, rng: np.random.Generator, sweeps: int, burning: bool
    ) -> tuple[Chain, Kept | None]:
        """Some sweeps; what they leave, or None while `burning` in."""
        ...

    def settle(self, chain: Chain) -> Chain:
        """Called once, when burn-in is over."""
        ...


@dataclass
class Walk:
    """Where the chains are and what they have seen. Sweeps are counted per chain."""

    mover: Mover
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
    mover: Mover,
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
