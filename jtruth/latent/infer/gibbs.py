"""Gibbs sampling of latent-class models.

Given the states every row of probabilities is Dirichlet, given the probabilities the states of the samples
are independent. A sweep draws both in turn, in NumPy: 4 to 32 chains side by side, as many as cost little
more than four. With a mesh or on an accelerator XLA does it (`device`). The same key gives the same draws to
the last bit, also when a run was resumed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._checkpoint import digest as digest_of
from jtruth._one_line import one_line
from jtruth._random import host_rng, key_words, seeded
from jtruth._validation import present
from jtruth.latent.infer import device, kernel
from jtruth.latent.model import LatentModel, Observed
from jtruth.latent.models import alike
from jtruth.latent.walk import STANDARD, Arrays, Convergence, Effort, Kept, Store, limits, walk

_BLOCK = 50  # sweeps between two looks at progress and checkpoint
_BLOCK_NUMBERS = 1_000_000  # ... fewer where a block of draws would hold more numbers than this
_CHEAP = 80_000  # numbers of a step of all chains, below which Python's own time dominates
_GAMMA, _BETA = 20, 60  # numbers that a gamma draw and the moves of a probability's family are worth
_BESIDES = 10.0  # log-likelihood below the best, besides half of the free probabilities


class Digest(NamedTuple):
    """What is kept of the draws, and which of it must converge."""

    keep: Callable[[Arrays], tuple[Arrays, Arrays]]  # of a block: arrays, and large ones to keep thinned
    monitored: tuple[str, ...]  # names of the former
    # of tempering: which draws (chains, draws) are mirror images, and whether log p(row | draw) is kept too
    mirrored: Callable[[Arrays], np.ndarray] | None = None
    pointwise: bool = False


class GibbsRun(NamedTuple):
    """Draws (chains, sweeps, ...) and their diagnostics."""

    draws: dict[str, np.ndarray]
    large: dict[str, np.ndarray]  # every `thin`-th sweep
    large_mean: dict[str, np.ndarray]  # over all sweeps
    thin: int
    state_posterior: Float[np.ndarray, "rows states"]  # mean of p(state | the rest), or of p(class)
    convergence: Convergence
    apart: bool = False  # whether the second half of the chains started away from EM's mode
    evidence: tuple[float, float] | None = None  # log p(everything seen) and its standard error

    __repr__ = one_line


@seeded
def run_gibbs(
    model: LatentModel,
    observed: Observed,
    *,
    key: Any = None,
    start: Float[np.ndarray, "states rows"],
    away: Callable[[np.ndarray], np.ndarray | None] | None = None,
    digest: Digest,
    effort: Effort = STANDARD,
) -> GibbsRun:
    """Sample a latent-class model.

    Args:
        model, observed: see `model`.
        key: a whole number or a JAX key; 0 if None.
        start: state probabilities from which EM starts.
        away: from the mode of EM, (states, rows), to the start of half of the chains; None: all at the mode.
        digest: what is kept of a block of draws, (chains, sweeps, ...), and what of it must converge. It gets
            "pi", "weights", "raters0", ... as far as the model has them; "table0", ... (states, raters *
            symbols), samples of each state with each symbol; of rows that are alike "families0", ...
            (families, 4), see `alike`; of common rows "common0", ... (rows, symbols), see `kernel`; where the
            class prior is drawn "samples" (states, 1), the number in each state.
        effort: when to stop.

    Raises:
        ValueError: the checkpoint belongs to another run, or `effort` makes no sense.
        TooLarge: the data ask for more work than an effort with `give_up` allows.
    """
    problem = kernel.flatten(model, observed)
    numbers = problem.place.shape[1] * problem.multiplicity.size + problem.concentration.size
    chains = effort.chains or int(np.clip(4 * (_CHEAP // (4 * numbers)), 4, 32))
    numbers = numbers_of(problem)
    limits(effort, chains, numbers)  # refuses what is too large before EM
    mode, _ = kernel.em(problem, start)
    other = None if away is None else away(mode)
    allowed = limits(effort, chains, numbers, apart=other is not None)
    if other is not None:  # one step: the rows that it means, and no state that cannot be
        other, _ = kernel.em(problem, other, max_steps=1)
    program = device.program_of(problem, effort.device, effort.mesh)
    shards = 0 if program is None else len(program.data.parts[0][0])
    design, more = problem.design, (start, chains, allowed[0], effort.max_bytes, shards)
    groups = [(here.start, tuple(raters)) for here, raters in (*problem.pooled, *problem.alike)]
    mark = digest_of(
        "gibbs", key_words(key), design.data, design.indices, design.indptr, problem.multiplicity,
        problem.offset, problem.place, problem.concentration, groups, *more,
    )  # fmt: skip
    mover = GibbsMover(problem, mode, chains, digest.keep, program, other)
    store, convergence = walk(mover, host_rng(key, "gibbs"), digest.monitored, effort, allowed, mark)
    return run_of(store, convergence, apart=other is not None)


def run_of(store: Store, convergence: Convergence, **more: Any) -> GibbsRun:
    """The draws with their means over all sweeps."""
    total = convergence.num_sweeps
    means = {name: a / total for name, a in store.large_sum.items()}
    states = (np.asarray(store.state_sum) / total).T
    draws, large = store.joined(store.small), store.joined(store.large)
    return GibbsRun(draws, large, means, store.thin, states, convergence, **more)


@dataclass
class GibbsMover:
    """Chains of one problem: samples behind every (column, state), and rows where pooled."""

    problem: kernel.Problem
    mode: np.ndarray  # (states, rows) where the chains start
    num_chains: int
    digest: Callable[[Arrays], tuple[Arrays, Arrays]]
    program: device.Program | None = None  # where XLA sweeps
    other: np.ndarray | None = None  # (states, rows) where the second half of the chains starts

    @property
    def block(self) -> int:
        """Most sweeps between two looks."""
        numbers = self.num_chains * self.problem.concentration.size
        return int(np.clip(_BLOCK_NUMBERS // max(numbers, 1), 5, _BLOCK))

    def start(self, rng: np.random.Generator) -> Arrays:
        """States drawn at the mode, or at the other start."""
        problem = self.problem
        p = np.repeat(self.mode[:, None, :], self.num_chains, axis=1)
        if self.other is not None:
            p[:, self.num_chains // 2 :] = self.other[:, None, :]
        symbols = kernel.draw_counts(problem, p, rng)
        chain = {"symbols": symbols}
        if problem.pooled:
            alpha = problem.concentration + problem.count_probabilities(symbols)
            chain["log_theta"] = problem.draw_dirichlet_logs(alpha, rng)
        for k, (_, raters) in enumerate(problem.pooled):
            prior = present(raters.common_prior, "a prior of common rows")
            mean = prior / prior.sum(axis=-1, keepdims=True)
            chain[f"common{k}"] = np.repeat(np.log(mean)[None], self.num_chains, axis=0)
        for k, (_, raters) in enumerate(problem.alike):
            chain[f"alike{k}"] = alike.first_state(present(raters.alike, "a family"), self.num_chains)
        if self.program is not None:
            chain["key"] = rng.integers(2**32, size=2, dtype=np.uint32)  # the words of one
        return chain

    def settle(self, chain: Arrays) -> Arrays:
        """Chains whose mode has no weight continue from the others."""
        if self.other is None:
            return chain
        source = sources(self.problem, chain["symbols"])
        moved = {name: a[source] for name, a in chain.items() if name not in ("symbols", "key")}
        return chain | moved | {"symbols": chain["symbols"][..., source]}

    def advance(
        self, chain: Arrays, rng: np.random.Generator, sweeps: int, burning: bool
    ) -> tuple[Arrays, Kept | None]:
        """Some sweeps of all chains."""
        if self.program is not None:
            chain, seen, states = device.run(self.program, chain, sweeps, self.block)
        else:
            each, states = [], np.zeros(())
            for _ in range(sweeps):
                chain, log_theta, p = kernel.sweep(self.problem, chain, rng)
                if not burning:
                    each.append(chain | {"log_theta": log_theta})
                    states = states + p
            seen = {} if burning else {name: np.stack([one[name] for one in each]) for name in each[0]}
        return chain, None if burning else (*self.digest(named_draws(self.problem, seen)), states)


def named_draws(problem: kernel.Problem, seen: Arrays) -> Arrays:
    """A block of draws by name, (chains, sweeps, ...), from arrays (sweeps, ...) and "log_theta"."""
    theta, draws = np.exp(np.moveaxis(seen["log_theta"], 0, 1)), {}
    for name, (first, shape) in problem.blocks.items():
        part = theta[:, :, first : first + int(np.prod(shape))]
        draws[name] = part.reshape(*part.shape[:2], *shape)
    for name, (first, last) in problem.columns.items():
        tables = seen["symbols"][:, first:last]  # (sweeps, columns, states, chains)
        draws[name.replace("raters", "table")] = tables.transpose(3, 0, 2, 1)
    named = {first: name for name, (first, _) in problem.blocks.items()}
    for k, (here, _) in enumerate(problem.alike):
        draws[named[here.start].replace("raters", "families")] = np.moveaxis(seen[f"alike{k}"], 0, 1)
    for k, (here, _) in enumerate(problem.pooled):
        draws[named[here.start].replace("raters", "common")] = np.exp(np.moveaxis(seen[f"common{k}"], 0, 1))
    return draws


def sources(
    problem: kernel.Problem, symbols: Float[np.ndarray, "columns states chains"]
) -> Int[np.ndarray, " chains"]:
    """The chain that each one continues from: itself, or one in the best mode where its own has no weight.

    The weight of a mode is its height times its volume, about half a log of a ratio of widths for each of P
    free probabilities. So a chain more than P / 2 + 10 below the best has none. R-hat shows nearer modes.
    """
    counts = problem.count_probabilities(symbols)
    means = kernel.posterior_means(problem, problem.concentration + counts)
    height = kernel.log_rows(problem, means) @ problem.multiplicity
    seen = counts.sum(axis=0) > 0
    rows = np.add.reduceat(seen.astype(np.int64), problem.starts)
    free = int(np.maximum(rows - 1, 0).sum())
    good = np.flatnonzero(height >= height.max() - (0.5 * free + _BESIDES))
    source = np.arange(height.size)
    poor = np.setdiff1d(source, good)
    source[poor] = good[np.arange(poor.size) % good.size]
    return source


def numbers_of(problem: kernel.Problem) -> float:
    """Numbers that one sweep of one chain computes: two sparse products, the states, and the rows."""
    (columns, states), rows = problem.place.shape, problem.multiplicity.size
    of_rows = _GAMMA * problem.concentration.size + _BETA * sum(r.prior.size for _, r in problem.alike)
    return float(states * (2 * problem.design.nnz + 6 * rows + columns) + of_rows)
