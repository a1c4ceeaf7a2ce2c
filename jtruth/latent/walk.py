"""Sampling until the draws are good: limits, diagnostics, and the loop of all chains on the host.

A run stops when its draws are good, after its sweeps, or after its work: the numbers that its sweeps compute
(about 5 nanoseconds each on one core, two minutes by default). So results do not depend on how busy the
machine is. Of `max_work` a chain gets its burn-in, at most a third of it, and then as many sweeps as the rest
allows, or `FEWEST`. Burn-in and the first look at R-hat are the constants below.

A mover (`GibbsMover`, `TemperMover`) can `start` its `num_chains` chains, `advance` them (at most `block`
sweeps between two looks), and `settle` them after burn-in. A checkpoint holds the chain, the random stream
and the draws (`Store`).
"""

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jtruth._checkpoint import Checkpoint, Progress
from jtruth._one_line import one_line
from jtruth.stats.chains import effective_sample_size, split_rhat, tail_sample_size

FEWEST = 50  # sweeps of each chain, burn-in and kept each, below which there is no estimate
_AT_ONCE = 1_000_000  # numbers that are ranked and transformed together
_SHORTEST = 200  # sweeps to keep of every chain before the first look, however many chains there are
_LOOK = 50  # sweeps of every chain between two looks, at least
_AT_MODE, _APART = 50, 250  # burn-in by where chains start


class TooLarge(ValueError):
    """The data ask for more work than was allowed."""


class Effort(NamedTuple):
    """How long to sample. Sweeps are counted over all chains without burn-in, unless noted otherwise."""

    chains: int | None = None  # a multiple of 4; None: 4 to 32, as the size of a sweep allows
    burn_in: int | None = None  # sweeps of each chain that are thrown away; None: 50, or 250 (two starts)
    min_sweeps: int = 400
    max_sweeps: int = 200_000
    max_work: float = 2.4e10  # numbers computed by all sweeps together
    max_rhat: float = 1.01
    min_ess: float = 400.0
    max_bytes: int = 200_000_000  # of large arrays; they are thinned to stay below
    ends: bool = False  # True: enough draws at both ends of 95 % intervals too, not only in the middle
    nuisance: bool = True  # False: only what people ask of a classifier must converge, not weights of strata
    give_up: bool = False  # True: refuse data that are too large, instead of making too few sweeps
    pointwise: bool = False  # True: log p(one sample | draw) too, for `jtruth.comparison.leave_one_out`
    device: bool | None = None  # XLA sweeps; None: on an accelerator
    mesh: Any = None  # devices that share the samples, a `jax.sharding.Mesh`; XLA sweeps then
    # Weighed draws of `infer.normal`. None: where weights are even; True:
    # wherever there is such a distribution; False: never.
    normal: bool | None = None
    progress: Progress = Progress()  # where it is reported, and a checkpoint


STANDARD = Effort()


# An effort in sweeps of one chain: burn-in, to keep before a first look, at most, and whether work ends it.
Limits = tuple[int, int, int, bool]


class Convergence(NamedTuple):
    """Whether the draws have converged."""

    converged: bool
    stopped_by: str  # "converged", "max_sweeps" or "max_work"
    rhat: dict[str, float]  # split R-hat of every monitored quantity; NaN where it never changed
    ess: dict[str, float]  # effective sample size of the bulk, or of the ends where it is smaller
    num_sweeps: int  # kept, over all chains
    burn_in: int  # thrown away, each chain
    seconds: float  # of this call

    __repr__ = one_line

    def sentence(self) -> str | None:
        """A sentence if it did not converge."""
        if self.converged:
            return None
        return (
            f"The sampler did not converge: stopped by {self.stopped_by} after {self.num_sweeps} sweeps with "
            f"{extremes(self.rhat, self.ess, ' and ')}. Intervals may be wrong; allow more work or sweeps."
        )


def limits(effort: Effort, chains: int, numbers: float, *, apart: bool = False) -> Limits:
    """What an effort allows for `chains` chains that compute `numbers` a sweep.

    `apart`: half of the chains start away from the mode.

    Raises:
        ValueError: an effort that makes no sense.
        TooLarge: too few sweeps would be left, and `effort.give_up`.
    """
    check_effort(effort)
    allowed = effort.max_work / (chains * max(numbers, 1.0))
    if effort.give_up and allowed < 2 * FEWEST:
        raise TooLarge(
            f"the data are too large for this model: {2 * FEWEST} sweeps of {chains} chains compute "
            f"{2 * FEWEST * chains * numbers:.2g} numbers, but {effort.max_work:.2g} are allowed"
        )
    usual = _APART if apart else _AT_MODE
    burn_in = usual if effort.burn_in is None else effort.burn_in
    burn_in = min(burn_in, max(int(allowed / 3), FEWEST))
    affordable, wanted = max(int(allowed) - burn_in, FEWEST), effort.max_sweeps // chains
    first = min(max(-(-effort.min_sweeps // chains), _SHORTEST), affordable, wanted)
    return burn_in, first, min(affordable, wanted), affordable < wanted


def diagnose(draws: dict[str, np.ndarray], ends: bool = False) -> tuple[dict[str, float], dict[str, float]]:
    """Split R-hat and ESS of every number in these arrays, named like "prior[1]".

    ESS is that of the bulk, with `ends` the smaller one of it and of both ends of the 95 % interval.
    """
    rhat, ess = {}, {}
    for name, values in draws.items():
        flat = values.reshape(*values.shape[:2], int(np.prod(values.shape[2:])))
        parts = np.array_split(flat, np.clip(flat.size // _AT_ONCE, 1, max(flat.shape[2], 1)), axis=2)
        rhat[name] = np.concatenate([split_rhat(part, groups=4) for part in parts]).reshape(values.shape[2:])
        low = [effective_sample_size(part) for part in parts]
        if ends:
            low = [np.fmin(bulk, tail_sample_size(part)) for bulk, part in zip(low, parts, strict=True)]
        ess[name] = np.concatenate(low).reshape(values.shape[2:])
    return by_number(rhat), by_number(ess)


def by_number(values: dict[str, np.ndarray]) -> dict[str, float]:
    """Every number of these arrays by a name like "prior[1]"."""
    return {
        f"{name}[{','.join(map(str, index))}]" if index else name: float(value)
        for name, array in values.items()
        for index, value in np.ndenumerate(array)
    }


def extremes(rhat: dict[str, float], ess: dict[str, float], between: str = ", ") -> str:
    """The worst of both, in words."""
    if not rhat:
        return f"uneven importance weights (effective sample size {min(ess.values(), default=0):.0f})"
    high = max(rhat, key=lambda k: np.nan_to_num(rhat[k]))
    low = min(ess, key=lambda k: np.nan_to_num(ess[k], nan=np.inf), default="nothing")
    return (
        f"split R-hat {rhat.get(high, np.nan):.3f} for {high}{between}effective sample size "
        f"{ess.get(low, np.nan):.0f} for {low}"
    )


def good(rhat: dict[str, float], ess: dict[str, float], effort: Effort) -> bool:
    """Whether all are good; NaN is a quantity that never changed."""
    r, e = np.array(list(rhat.values())), np.array(list(ess.values()))
    return bool((np.isnan(r) | (r < effort.max_rhat)).all() and (np.isnan(e) | (e >= effort.min_ess)).all())


def next_target(
    target: int, rhat: dict[str, float], ess: dict[str, float], effort: Effort, look: int = _LOOK
) -> int:
    """Sweeps of a chain at the next look: what the worst ESS and R-hat ask for, at most three times as many.

    The ESS grows with the sweeps, and R-hat - 1 falls as one over them. It is a multiple of `look`, since
    each look costs as much as some ten sweeps.
    """
    fewest = np.nanmin([effort.min_ess, *ess.values()])
    worst = np.nanmax([effort.max_rhat, *rhat.values()])
    more = max(effort.min_ess / max(fewest, 1.0), (worst - 1) / max(effort.max_rhat - 1, 1e-9))
    wanted = max(target * min(1.1 * more, 3.0), target + look)
    return look * int(np.ceil(wanted / look))


def check_effort(effort: Effort) -> None:
    """Refuse an effort that makes no sense."""
    chains = effort.chains or 4
    possible = 2 <= chains <= 4 or (chains > 4 and chains % 4 == 0)
    if not possible or (effort.burn_in or 0) < 0 or effort.min_sweeps < 4 * chains:
        raise ValueError(
            "effort needs 2 to 4 chains, or a multiple of 4, and 4 sweeps or more of each in min_sweeps; got "
            f"{effort}"
        )
    if not (effort.max_work > 0 and effort.max_sweeps >= effort.min_sweeps):
        raise ValueError(f"effort needs max_work > 0 and max_sweeps >= min_sweeps; got {effort}")


Arrays = dict[str, np.ndarray]
# What one block of sweeps leaves, (chains, sweeps, ...) each: small arrays of every sweep, large ones to be
# thinned, and sums of state probabilities (states, rows) over chains and sweeps.
Kept = tuple[Arrays, Arrays, np.ndarray]


@dataclass
class Store:
    """Draws so far, (chains, sweeps, ...), and the state of the chains. Sweeps are counted per chain.

    Of large arrays above `max_bytes` every second, then fourth, ... sweep is kept; means are over all.
    """

    max_bytes: int
    kept: int = 0  # sweeps after burn-in
    thin: int = 1
    small: dict[str, list[np.ndarray]] = field(default_factory=dict)  # block by block
    large: dict[str, list[np.ndarray]] = field(default_factory=dict)  # sweeps 0, thin, 2 thin, ...
    large_sum: Arrays = field(default_factory=dict)
    state_sum: np.ndarray = field(default_factory=lambda: np.zeros(()))  # (states, rows) of probabilities
    chain: Arrays = field(default_factory=dict)
    done: int = 0  # sweeps, burn-in included
    target: int = 0  # sweeps to keep before the next look at convergence

    def add(self, small: Arrays, large: Arrays, states: np.ndarray) -> None:
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
            self.large = {name: [a[:, ::2].copy()] for name, a in self.joined(self.large).items()}

    @staticmethod
    def joined(blocks: dict[str, list[np.ndarray]]) -> Arrays:
        """Blocks as one array each; the lists are shortened, so that it is not done twice."""
        for parts in blocks.values():
            if len(parts) > 1:
                parts[:] = [np.concatenate(parts, axis=1)]
        return {name: parts[0] for name, parts in blocks.items()}

    def save(self, file: Checkpoint, rng: np.random.Generator) -> None:
        """Write everything that the next sweep depends on."""
        parts = {"small": self.joined(self.small), "large": self.joined(self.large), "sum": self.large_sum,
                 "chain": self.chain, "states": {"sum": np.asarray(self.state_sum)}}  # fmt: skip
        words = {name: getattr(self, name) for name in _COUNTS} | {"stream": rng.bit_generator.state}
        file.write_parts(parts, words)

    def resume(self, file: Checkpoint, rng: np.random.Generator) -> bool:
        """Continue from a file, if there is one."""
        content = file.read_parts()
        if content is None:
            return False
        parts, words = content
        self.small, self.large = ({name: [a] for name, a in parts[k].items()} for k in ("small", "large"))
        self.large_sum, self.chain, self.state_sum = parts["sum"], parts["chain"], parts["states"]["sum"]
        for name in _COUNTS:
            setattr(self, name, words[name])
        rng.bit_generator.state = words["stream"]
        return True


_COUNTS = ("kept", "thin", "done", "target")


def walk(
    mover: Any,
    rng: np.random.Generator,
    monitored: tuple[str, ...],
    effort: Effort,
    limits: Limits,
    mark: str,
) -> tuple[Store, Convergence]:
    """Sample until the draws are good or the effort is spent: its `limits` for these data.

    `monitored` names the kept small arrays that must converge; `mark` is the digest of a checkpoint.
    """
    burn_in, first, most, by_work = limits
    file, store = effort.progress.file(mark), Store(effort.max_bytes, target=first)
    if not store.resume(file, rng):
        store.chain = mover.start(rng)
        if not burn_in:
            store.chain = mover.settle(store.chain)
    began, chains, stopped_by, rhat, ess = time.monotonic(), mover.num_chains, "", {}, {}
    with effort.progress.reporting() as tell:
        while not stopped_by:
            planned = burn_in + store.target
            while store.done < planned:
                burning = store.done < burn_in
                sweeps = min(mover.block, (burn_in if burning else planned) - store.done)
                store.chain, kept = mover.advance(store.chain, rng, sweeps, burning)
                if kept is not None:
                    store.add(*kept)
                store.done += sweeps
                if burning and store.done == burn_in:
                    store.chain = mover.settle(store.chain)
                if file.due:
                    store.save(file, rng)
                tell(store.done * chains, planned * chains)
            draws = store.joined(store.small)
            rhat, ess = diagnose({name: draws[name] for name in monitored}, effort.ends)
            if store.kept * chains >= effort.min_sweeps and good(rhat, ess, effort):
                stopped_by = "converged"
            elif store.kept >= most:
                stopped_by = "max_work" if by_work else "max_sweeps"
            else:
                store.target = min(next_target(store.target, rhat, ess, effort, mover.block), most)
    if file.path is not None:
        store.save(file, rng)
    total, spent = store.kept * chains, time.monotonic() - began
    return store, Convergence(stopped_by == "converged", stopped_by, rhat, ess, total, burn_in, spent)
