"""Posterior draws of a latent-class model by tempering, tables of counts, and pointwise log-likelihoods.

Parameters are drawn with the classes summed out; given parameters the classes of the samples of a row are
multinomial, and tables of counts are sums of these. Pointwise values, log p(labels, prediction and known
class of one sample | draw), are for PSIS-LOO.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._cache import keep_programs
from jtruth._checkpoint import digest as digest_of
from jtruth._one_line import one_line
from jtruth._random import host_rng, key_words
from jtruth.latent.infer import kernel, temper
from jtruth.latent.infer.gibbs import Digest, GibbsRun, run_of
from jtruth.latent.infer.side_by_side import Call, Sampler, alone
from jtruth.latent.model import Kind, LatentModel, Model, Observed
from jtruth.latent.models import strata
from jtruth.latent.rows import number_of_groups, seen_of, work_of
from jtruth.latent.walk import Arrays, Effort, Kept, Limits, TooLarge, check_effort, walk
from jtruth.stats.chains import effective_sample_size

MOST_WORK, MOST_COORDINATES = 1e6, 120  # of a model that is tempered: numbers of an evaluation, coordinates
_FIRST, _USUAL = 20, 100  # moves of every lineage before the first look, and before anything is kept
_COMMUNICATE = 0.1  # share of the smaller part that must change sides in a move
_MOST_DRAWS = 1000
_MOST_NUMBERS = 20_000_000  # draws x rows
_LEAST = 1e-38  # a probability that float32 cannot hold
_BLOCK = 4_000_000  # states x draws x rows handled at once


def model_of(kind: Kind, arrays: Any, observed: Observed, classes: int) -> Model:
    """A kind of model with the data."""
    return Model(kind, arrays, seen_of(observed), classes, observed.multiplicity.size)


def temperable(kind: Kind, arrays: Any, observed: Observed) -> bool:
    """Whether tempering takes seconds."""
    return work_of(observed) <= MOST_WORK and kind.size(arrays) <= MOST_COORDINATES


def run_tempered(model: Model, observed: Observed, wanted: Digest, *, key: Any, effort: Effort) -> GibbsRun:
    """Sample a model by tempering; the number of lineages depends on its size.

    `wanted` gets blocks of draws: "pi", "weights", "raters0", ... as the model names them, and "table0", ...
    (chains, draws, classes, raters * symbols), "samples" (chains, draws, classes, 1).
    """
    keep_programs()
    lineages = temper.lineages_for(model.work)
    mover = TemperMover(model, observed, wanted, lineages)
    words = (key_words(key), model.arrays, model.seen, lineages, effort.max_bytes)
    mark = digest_of("temper", *words) if effort.progress.checkpoint else ""
    allowed = _limits(effort, lineages, model.work)
    store, convergence = walk(mover, host_rng(key, "temper"), wanted.monitored, effort, allowed, mark)
    return run_of(store, convergence, evidence=mover.evidence)


def tempered_model(model: LatentModel, observed: Observed) -> Model | None:
    """The model as a log density; None if tempering would not take seconds."""
    arrays = strata.arrays_of(model, number_of_groups(observed))
    able = temperable(strata.KIND, arrays, observed)
    return model_of(strata.KIND, arrays, observed, model.num_classes) if able else None


def tempered_run(
    model: LatentModel, observed: Observed, wanted: Digest, *, key: Any, effort: Effort
) -> GibbsRun | None:
    """A run by tempering; None if it would take too long or does not reach the posterior."""
    density = tempered_model(model, observed)
    if density is None:
        return None
    try:
        return run_tempered(density, observed, wanted, key=key, effort=effort)
    except TooLarge:
        if effort.give_up:
            raise
        return None


def _limits(effort: Effort, lineages: int, work: float) -> Limits:
    """Looks come after whole blocks. A number of a compiled program costs a sixteenth of one of NumPy's."""
    check_effort(effort)
    block, move = temper.MOVES, lineages * work * (temper.STEPS + 1) / 16
    wanted = max(_FIRST, block * -(-effort.min_sweeps // (lineages * block)))
    affordable = int(effort.max_work / move) - _USUAL
    if effort.give_up and affordable < _FIRST:
        raise TooLarge(
            f"the data are too large for this model: {_USUAL + _FIRST} moves of {lineages} points compute "
            f"{(_USUAL + _FIRST) * move:.2g} numbers, but {effort.max_work:.2g} are allowed"
        )
    most = max(wanted, block * (min(effort.max_sweeps // lineages, affordable) // block))
    return 0, wanted, most, affordable < effort.max_sweeps // lineages


@dataclass
class TemperMover:
    """Lineages of one model, each a chain."""

    model: Model
    observed: Observed
    wanted: Digest
    num_chains: int
    block: int = temper.MOVES
    evidence: tuple[float, float] | None = None

    def start(self, rng: np.random.Generator) -> Arrays:
        """Points of the posterior."""
        state = alone(started(self.model, self.wanted, rng, self.num_chains))
        return {"x": state.x, "step": np.asarray(state.step), "root": state.root,
                "evidence": np.array(state.evidence)}  # fmt: skip

    def settle(self, chain: Arrays) -> Arrays:
        """Nothing is left to do once burn-in is over."""
        return chain

    def advance(
        self, chain: Arrays, rng: np.random.Generator, sweeps: int, burning: bool
    ) -> tuple[Arrays, Kept | None]:
        """Some moves of all lineages."""
        log_z, error, _ = chain["evidence"].tolist()
        self.evidence = log_z, error
        state = temper.Tempered(chain["x"], float(chain["step"]), chain["root"])
        state, kept = alone(moved(self.model, self.observed, self.wanted, state, rng))
        return chain | {"x": state.x}, kept


def started(
    model: Model, wanted: Digest, rng: np.random.Generator, lineages: int
) -> Sampler[temper.Tempered]:
    """Points of the posterior; mirror images that do not communicate with the others are replaced by them."""
    state = yield from temper.temper(model, rng, lineages)
    if wanted.mirrored is None:
        return state
    path = yield from temper.kept(model, rng, state)
    named, _, _ = yield from _dists(model, path, rng)
    mirrored = wanted.mirrored(named)
    x = temper.folded(model, path[-1]).copy()
    wrong, right = np.flatnonzero(mirrored[:, -1]), np.flatnonzero(~mirrored[:, -1])
    crossing = (mirrored[:, 1:] != mirrored[:, :-1]).mean()
    fewer = min(wrong.size, right.size)
    if not fewer or crossing > _COMMUNICATE * fewer / lineages:
        return state._replace(x=x)
    root = temper.root_of(model, x[:, right])
    x[:, wrong] = x[:, right[np.arange(wrong.size) % right.size]]
    return (yield from temper.settled(model, rng, state._replace(x=x, root=root)))


def moved(
    model: Model, observed: Observed, wanted: Digest, state: temper.Tempered, rng: np.random.Generator
) -> Sampler[tuple[temper.Tempered, Kept]]:
    """The state after a few moves, and what is kept of them."""
    path = yield from temper.kept(model, rng, state)
    draws, classes, log_p = yield from _dists(model, path, rng)
    if "pi" in draws and observed.group is None:
        draws["pi"] = draws["pi"][:, :, 0]
    p = np.asarray(classes)[:, : model.rows]
    draws |= tables(observed, class_counts(p, observed.multiplicity, rng))
    small, large = wanted.keep(draws)
    if wanted.pointwise:
        large["log_p"] = np.asarray(log_p)[:, : model.rows].transpose(2, 0, 1)
    behind = p.sum(axis=(0, 3), dtype=np.float64).T
    return state._replace(x=temper.folded(model, path[-1])), (small, large, behind)


def _dists(model: Model, path: Any, rng: np.random.Generator) -> Sampler[tuple[Arrays, Any, Any]]:
    """Natural parameters (chains, draws, ...), class probabilities and log p(row) of points."""
    moves, _, points = path.shape
    u = 1 - rng.random((moves, model.classes, points), dtype=np.float32)
    static = ("kind", model.kind), ("classes", model.classes)
    named, classes, log_p = yield Call(temper.dists, static, (model.arrays, model.seen, path, u))
    draws = {name: np.moveaxis(np.asarray(a, np.float64), (-1, 0), (0, 1)) for name, a in named.items()}
    for name in draws:
        if name.startswith(("pi", "weights", "raters")):  # to the last digit, as sums are looked at
            draws[name] /= draws[name].sum(axis=-1, keepdims=True)
    return draws, classes, log_p


def class_counts(
    p: Float[np.ndarray, "draws rows classes chains"],
    multiplicity: Float[np.ndarray, " rows"],
    rng: np.random.Generator,
) -> Int[np.ndarray, "rows classes chains draws"]:
    """Samples of each class in every row, drawn from the probabilities."""
    p, one = np.asarray(p, np.float64).transpose(2, 1, 3, 0), multiplicity == 1
    counts = np.zeros(p.shape, np.int64)
    counts[:, one] = kernel.draw_states(p[:, one], rng) == np.arange(len(p))[:, None, None, None]
    counts[:, ~one] = kernel.draw_numbers(p[:, ~one], multiplicity[~one][:, None, None], rng)
    return counts.swapaxes(0, 1)


def tables(observed: Observed, counts: Int[np.ndarray, "rows classes chains draws"]) -> Arrays:
    """How many samples of each class got each symbol, by group of raters, and the samples of each class."""
    rows, classes, chains, draws = counts.shape
    flat, by_group = counts.reshape(rows, -1).astype(np.float64), {}
    for k, symbols in enumerate(observed.symbols):
        table = (symbols.T @ flat).reshape(-1, classes, chains, draws)
        by_group[f"table{k}"] = table.transpose(2, 3, 1, 0)
    by_group["samples"] = flat.sum(axis=0).reshape(classes, chains, draws).transpose(1, 2, 0)[..., None]
    return by_group


class RowLikelihood(NamedTuple):
    """log p(row | draw); samples with equal labels are one row."""

    log_p: Float[np.ndarray, "chains draws rows"]
    row_of_sample: Int[np.ndarray, " samples"]
    relative_ess: float  # mean over rows of effective sample size over draws

    __repr__ = one_line


def row_likelihood(log_p: np.ndarray, row_of_sample: np.ndarray) -> RowLikelihood:
    """The values with the effective sample size of 200 of their rows."""
    some = log_p[:, :, np.unique(np.linspace(0, log_p.shape[2] - 1, 200).astype(int))]
    ess = effective_sample_size(some) / (log_p.shape[0] * log_p.shape[1])
    finite = ess[np.isfinite(ess)]
    return RowLikelihood(log_p, row_of_sample, float(np.clip(finite.mean(), 1e-3, 1)) if finite.size else 1.0)


def chosen_draws(chains: int, draws: int, rows: int) -> np.ndarray:
    """Evenly spaced draws of each chain that are used."""
    most = max(-(-200 // chains), 4, min(_MOST_DRAWS, _MOST_NUMBERS // max(rows, 1)) // chains)
    return np.unique(np.linspace(0, draws - 1, min(draws, most)).astype(int))


def of_gibbs(model: LatentModel, observed: Observed, large: dict[str, np.ndarray]) -> RowLikelihood:
    """From draws of class prior, strata weights and rows, (chains, draws, ...) each."""
    chains, draws = large["raters0"].shape[:2]
    problem, chosen = kernel.flatten(model, observed), chosen_draws(chains, draws, observed.offset.shape[1])
    size, parts = chains * chosen.size, []
    flat = [large[name][:, chosen].reshape(size, -1).astype(np.float64) for name in problem.blocks]
    log_theta = np.log(np.maximum(np.concatenate(flat, axis=1), _LEAST))
    step = max(1, _BLOCK // observed.offset.size)
    for begin in range(0, size, step):
        parts.append(kernel.log_rows(problem, log_theta[begin : begin + step]))
    log_p = np.concatenate(parts).reshape(chains, chosen.size, -1)
    return row_likelihood(log_p, observed.row_of_sample)
