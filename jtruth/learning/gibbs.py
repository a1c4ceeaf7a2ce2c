"""Gibbs sampling of latent-class models: draws of states and probabilities until they are good enough.

The model is conjugate (see `_gibbs_spec`): given the states every row of probabilities is Dirichlet, given
the probabilities the states of the samples are independent. A sweep draws both in turn, in NumPy on the host:
nothing is compiled, equal samples are one row, and 4 to 32 chains run side by side: as many as cost
little more than four.

`run_gibbs` starts all chains at a mode found by EM, leaves out a burn-in, and then goes on until split R-hat
is below 1.01 and the effective sample size is at least 400 for every monitored quantity, or until time or
sweeps run out; which of them it was is part of the result. The same key gives the same draws to the last bit,
also when the run was killed and resumed from its checkpoint (a time limit that strikes does depend on the
machine).
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth.learning import _gibbs_kernel as kernel
from jtruth.learning._gibbs_spec import LatentModel, Observed
from jtruth.learning._gibbs_walk import Checkpoint, Digest, Walk
from jtruth.stats.chains import effective_sample_size, split_rhat


class Effort(NamedTuple):
    """How long to sample. Sweeps are counted over all chains, burn-in left out unless said otherwise."""

    chains: int | None = None  # a multiple of 4; None: 4 to 32, as the size of a sweep allows
    burn_in: int = 250  # sweeps of each chain that are thrown away
    min_sweeps: int = 3000
    max_sweeps: int = 200_000
    max_seconds: float = 120.0
    max_rhat: float = 1.01
    min_ess: float = 400.0
    max_bytes: int = 200_000_000  # of large arrays; they are thinned to stay below
    nuisance: bool = True  # False: only what people ask of a classifier must converge, not weights of strata


STANDARD = Effort()
_SHORTEST = 200  # sweeps to keep of every chain, however many there are
_CHEAP = 80_000


class Convergence(NamedTuple):
    """Whether to trust the draws."""

    converged: bool
    stopped_by: str  # "converged", "max_sweeps" or "max_seconds"
    rhat: dict[str, float]  # split R-hat of every monitored quantity; NaN where it never changed
    ess: dict[str, float]  # bulk effective sample size
    num_sweeps: int  # kept, over all chains
    burn_in: int  # thrown away, each chain
    seconds: float  # of this call

    def sentence(self) -> str | None:
        """What to say when it did not converge."""
        if self.converged:
            return None
        worst = max(self.rhat, key=lambda k: np.nan_to_num(self.rhat[k]), default="nothing")
        fewest = min(self.ess, key=lambda k: np.nan_to_num(self.ess[k], nan=np.inf), default="nothing")
        return (
            f"The sampler did not converge: stopped by {self.stopped_by} after {self.num_sweeps} sweeps with "
            f"split R-hat {self.rhat.get(worst, np.nan):.3f} for {worst} and effective sample size "
            f"{self.ess.get(fewest, np.nan):.0f} for {fewest}. Intervals may be off; allow more time or "
            "sweeps."
        )


class GibbsRun(NamedTuple):
    """Draws (chains, sweeps, ...) and how they came about."""

    draws: dict[str, np.ndarray]
    large: dict[str, np.ndarray]  # every `thin`-th sweep
    large_mean: dict[str, np.ndarray]  # over all sweeps
    thin: int
    state_posterior: Float[np.ndarray, "rows states"]  # mean over sweeps of p(state | labels, probabilities)
    convergence: Convergence
    em_steps: int


def run_gibbs(
    model: LatentModel,
    observed: Observed,
    *,
    key: Any,
    start: Float[np.ndarray, "states rows"],
    digest: Digest,
    monitored: tuple[str, ...],
    effort: Effort = STANDARD,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float | int = 10.0,
) -> GibbsRun:
    """Sample a latent-class model.

    Args:
        model, observed: see `_gibbs_spec`.
        key: JAX random key; chain k draws from stream k of its words.
        start: state probabilities from which EM starts.
        digest: block of draws -> (arrays to keep, large arrays to keep thinned), all (chains, sweeps, ...).
            It is given "pi", "weights", "raters0", ... as far as the model has them, and "table0", ...:
            (chains, sweeps, states, raters * symbols), how many samples of each state got each symbol.
        monitored: names of the kept arrays that must converge.
        effort: when to stop.
        progress: called after every block with sweeps done and sweeps planned so far, all chains together.
        checkpoint: file to resume from if it exists, and to write.
        checkpoint_seconds: least time between two writings.

    Raises:
        ValueError: the checkpoint belongs to another run, or `effort` makes no sense.
    """
    _check_effort(effort)
    problem = kernel.flatten(model, observed)
    mode, em_steps = kernel.em(problem, start)
    chains = effort.chains or _affordable_chains(problem)
    walk = Walk.begin(problem, mode, key, chains, effort.burn_in, effort.max_bytes)
    walk.target = max(-(-effort.min_sweeps // chains), _SHORTEST)
    file = Checkpoint(checkpoint, checkpoint_seconds, [start, np.array([chains, effort.burn_in])])
    file.resume(walk)
    began, stopped_by, rhat, ess = time.monotonic(), "", {}, {}
    while not stopped_by:
        in_time = _advance(walk, digest, effort, file, progress, began)
        rhat, ess = diagnose({name: walk.store.draws()[name] for name in monitored})
        enough = walk.store.kept * chains >= effort.min_sweeps
        if enough and _good(rhat, ess, effort):
            stopped_by = "converged"
        elif not in_time:
            stopped_by = "max_seconds"
        elif walk.store.kept >= effort.max_sweeps // chains:
            stopped_by = "max_sweeps"
        else:
            most = effort.max_sweeps // chains
            walk.target = min(_next_target(walk.target, rhat, ess, effort), most)
    file.write(walk)
    store, total = walk.store, walk.store.kept * chains
    seconds = time.monotonic() - began
    return GibbsRun(
        draws=store.draws(),
        large=store.thinned(),
        large_mean={name: a / total for name, a in store.large_sum.items()},
        thin=store.thin,
        state_posterior=(np.asarray(store.state_sum) / total).T,
        convergence=Convergence(
            stopped_by == "converged", stopped_by, rhat, ess, total, walk.burn_in, seconds
        ),
        em_steps=em_steps,
    )


def _affordable_chains(problem: kernel.Problem) -> int:
    """4 to 32 chains: together some 80 000 numbers a step, below which Python's own time dominates."""
    numbers = problem.place.shape[1] * problem.multiplicity.size + problem.concentration.size
    return int(np.clip(4 * (_CHEAP // (4 * numbers)), 4, 32))


def _advance(walk, digest, effort, file, progress, began):
    """Blocks of sweeps up to the target; False if the time ran out first."""
    while walk.done < walk.burn_in + walk.target:
        walk.block(digest)
        spent = time.monotonic() - began
        if spent > effort.max_seconds / 2 and walk.done < walk.burn_in:
            walk.burn_in = walk.done  # half of the time is gone: keep what comes now
        file.write_if_due(walk)
        if progress is not None:
            progress(walk.done * walk.num_chains, (walk.burn_in + walk.target) * walk.num_chains)
        if spent > effort.max_seconds and walk.store.kept >= 4:
            return False
    return True


def diagnose(draws: dict[str, np.ndarray]) -> tuple[dict[str, float], dict[str, float]]:
    """Split R-hat and bulk ESS of every number in these arrays, named like "prior[1]"."""
    rhat, ess = {}, {}
    for name, values in draws.items():
        r, e = split_rhat(values, groups=4), effective_sample_size(values)
        for index in np.ndindex(r.shape):
            label = f"{name}[{','.join(map(str, index))}]" if index else name
            rhat[label], ess[label] = float(r[index]), float(e[index])
    return rhat, ess


def _good(rhat, ess, effort):
    """NaN means that a quantity never changed, in no chain: there is nothing to converge."""
    r, e = np.array(list(rhat.values())), np.array(list(ess.values()))
    return bool((np.isnan(r) | (r < effort.max_rhat)).all() and (np.isnan(e) | (e >= effort.min_ess)).all())


def _next_target(target, rhat, ess, effort):
    """Half as much again, or what the smallest ESS asks for, at most three times as much."""
    fewest = np.nanmin(list(ess.values()))
    return int(np.ceil(target * np.clip(1.2 * effort.min_ess / max(fewest, 1.0), 1.5, 3.0)))


def _check_effort(effort):
    chains = effort.chains or 4
    if chains < 2 or (chains > 4 and chains % 4) or effort.burn_in < 0 or effort.min_sweeps < 4 * chains:
        raise ValueError(
            "effort needs 2 to 4 chains, or a multiple of 4, and 4 sweeps or more of each in min_sweeps; got "
            f"{effort}"
        )
    if not (effort.max_seconds > 0 and effort.max_sweeps >= effort.min_sweeps):
        raise ValueError(f"effort needs max_seconds > 0 and max_sweeps >= min_sweeps; got {effort}")
