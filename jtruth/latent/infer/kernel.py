"""One Gibbs sweep, and EM for the start, for any `LatentModel`; all chains at once.

`sweep` is written once. An engine that can count, draw Dirichlet rows and draw states runs it: a `Problem` in
NumPy, or `device.Data` in a traced program of JAX.

All probabilities of a model lie in one flat vector of Dirichlet rows: pi, the stratum weights, the matrices.
All observations lie in one sparse matrix `design` (rows, columns): a column is "rater t gave symbol k", or
the column of ones through which pi and the weights enter. `place[column, state]` is the probability that a
column uses in a state. Then everything is two sparse products:

  log weight of the states of a row = design @ log theta[place]           (rows, states)
  counts that belong to a probability = tie @ (design.T @ state counts)   (probabilities,)

Rows around common ones, theta[t, r] ~ Dirichlet(a G[r]), G[r] ~ Dirichlet(g[r]), depend on G[r] by n raters
and L[k] = sum_t log theta[t, r, k]:

  log p(G[r] | theta) = n log Gamma(a) + sum_k [(a G_k - 1) L_k - n log Gamma(a G_k) + (g_k - 1) log G_k]

Metropolis steps move log G at a scale drawn anew each time over two powers of ten. Raters without labels are
left out, since their rows are drawn from the prior.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jtruth._arrays import gammaln, log_gamma_draws, metropolis, namespace, replaced
from jtruth._host import log
from jtruth.latent.model import LatentModel, Observed, Raters
from jtruth.latent.models import alike
from jtruth.latent.rows import number_of_groups

_STEPS = 4  # Metropolis steps a sweep
_CACHED = 65_536  # numbers of rows, states and chains that are worked on together
_SMALLEST = -230.0  # of log G: a G that rounds to 0 would forbid a symbol for ever


Group = tuple[slice, Raters]  # raters whose rows depend on one another, and their part of the flat vector


@dataclass(frozen=True)
class Problem:
    """A model and its data, flattened. P probabilities, S states."""

    design: sparse.csr_array  # (rows, columns); rows for one sample each come first
    multiplicity: np.ndarray  # (rows,)
    offset: np.ndarray  # (states, rows)
    place: np.ndarray  # (columns, states) 0..P; P is "no probability"
    concentration: np.ndarray  # (P,)
    pooled: tuple[Group, ...]  # whose concentrations are drawn too
    alike: tuple[Group, ...]  # whose rows are drawn by `alike`
    blocks: dict[str, tuple[int, tuple[int, ...]]]  # name -> (first probability, shape)
    columns: dict[str, tuple[int, int]]  # name of a rater group, or "samples" -> its columns

    @cached_property
    def num_single(self) -> int:
        """Rows that stand for one sample each."""
        return int(np.count_nonzero(self.multiplicity == 1))

    @cached_property
    def transposed(self) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
        """(columns, rows) of the rows for one sample, and of the others; sums (columns, 1) of the first."""
        single, repeated = self.design[: self.num_single], self.design[self.num_single :]
        return sparse.csr_array(single.T), sparse.csr_array(repeated.T), single.sum(axis=0)[:, None]

    @cached_property
    def only_symbol(self) -> np.ndarray | None:
        """(rows,) the column of each row, where every row has one."""
        return self.design.indices if (self.design.sum(axis=1) == 1).all() else None

    @cached_property
    def weight(self) -> np.ndarray:
        """(states, rows) exp(offset), the largest of a row 1."""
        return np.exp(self.offset - self.offset.max(axis=0))

    @cached_property
    def tie(self) -> sparse.csr_array:
        """(P, columns * states) which columns a probability is used by."""
        size, place = self.concentration.size, self.place.ravel()
        used = np.flatnonzero(place < size)
        return sparse.csr_array((np.ones(used.size), (place[used], used)), shape=(size, place.size))

    @cached_property
    def length(self) -> np.ndarray:
        """(dirichlet rows,) symbols of each."""
        shapes = [shape for _, shape in self.blocks.values()]
        return np.concatenate([np.full(int(np.prod(shape[:-1])), shape[-1]) for shape in shapes])

    @cached_property
    def starts(self) -> np.ndarray:
        """(dirichlet rows,) where each begins in the flat vector."""
        return np.cumsum(self.length) - self.length

    @cached_property
    def independent(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Entries of the rows that are not alike; where each of these starts among them, and its length."""
        entries = np.ones(self.concentration.size, bool)
        for here, _ in self.alike:
            entries[here] = False
        length = self.length[entries[self.starts]]
        return np.flatnonzero(entries), (np.cumsum(length) - length, length)

    @cached_property
    def parts(self) -> dict[int, list["Problem"]]:
        """A cache of `in_parts`, by number of chains."""
        return {}

    def count_probabilities(self, symbols: np.ndarray) -> np.ndarray:
        """Counts of each probability, (chains, P)."""
        return np.ascontiguousarray((self.tie @ symbols.reshape(-1, symbols.shape[2])).T)

    def draw_dirichlet_logs(self, concentration: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Log of one draw of every Dirichlet row that is not alike to others, (chains, P)."""
        (entries, (starts, length)), drawn = self.independent, np.zeros_like(concentration)
        logs = log_gamma_draws(concentration[:, entries], rng)
        logs -= np.repeat(np.maximum.reduceat(logs, starts, axis=1), length, axis=1)
        logs -= np.repeat(np.log(np.add.reduceat(np.exp(logs), starts, axis=1)), length, axis=1)
        drawn[:, entries] = logs
        return drawn

    def draw_samples(self, log_theta: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Samples behind every (column, state, chain), and p(state) of every row summed over the chains."""
        chains, symbols, behind = len(log_theta), np.zeros(()), []
        if chains not in self.parts:
            self.parts[chains] = in_parts(self, chains)
        for part in self.parts[chains]:
            p = state_probabilities(part, log_theta)
            symbols = symbols + draw_counts(part, p, rng)
            behind.append(p.sum(axis=1, dtype=np.float64))
        return symbols, np.concatenate(behind, axis=1)


def flatten(model: LatentModel, observed: Observed) -> Problem:
    """The model and its data in one flat layout."""
    names, priors, seen, places = zip(*_laid_out(model, observed), strict=True)
    first = np.cumsum([0, *(prior.size for prior in priors)])
    ends = np.cumsum([len(place) for place in places]).tolist()
    ranges = [(end - len(place), end) for end, place in zip(ends, places, strict=True)]
    size = first[-1]
    moved = [np.where(place < 0, size, at + place) for at, place in zip(first, places, strict=False)]
    blocks = {name: (int(at), prior.shape) for name, at, prior in zip(names, first, priors, strict=False)}
    begins = [blocks[f"raters{k}"][0] for k in range(len(model.raters))]
    groups = [(slice(at, at + r.prior.size), r) for at, r in zip(begins, model.raters, strict=True)]
    known = log(model.class_prior)[model.state_class][:, None] if model.class_fixed else 0.0
    return Problem(
        design=sparse.csr_array(sparse.hstack(seen, format="csr")),
        multiplicity=observed.multiplicity,
        offset=observed.offset + known,
        place=np.concatenate(moved),
        concentration=np.concatenate([prior.ravel() for prior in priors]),
        pooled=tuple(g for g in groups if g[1].strength and g[1].common_prior is not None),
        alike=tuple(g for g in groups if g[1].alike is not None),
        blocks=blocks,
        columns={"samples" if name == "pi" else name: where for name, where in zip(names, ranges, strict=True)
                 if name != "weights"},
    )  # fmt: skip


def _laid_out(model: LatentModel, observed: Observed) -> Iterator[tuple[str, np.ndarray, Any, np.ndarray]]:
    """By block: name, concentrations, columns (rows, columns), and places inside the block (-1: none)."""
    rows, state_class = observed.offset.shape[1], model.state_class
    if not model.class_fixed:
        group = np.zeros(rows, np.int64) if observed.group is None else observed.group
        number = number_of_groups(observed)
        every = model.class_prior if observed.group is None else np.tile(model.class_prior, (number, 1))
        ones = sparse.csr_array((np.ones(rows), (np.arange(rows), group)), shape=(rows, number))
        yield "pi", every, ones, np.arange(number)[:, None] * model.num_classes + state_class
    if model.num_strata > 1:
        yield "weights", model.stratum_prior, sparse.csr_array(np.ones((rows, 1))), model.state_weight[None]
    for number, (group, seen) in enumerate(zip(model.raters, observed.symbols, strict=True)):
        raters, matrix_rows, symbols = group.prior.shape
        rater, symbol = np.divmod(np.arange(raters * symbols), symbols)
        row = rater[:, None] * matrix_rows + group.row_of_state
        place = np.where(group.row_of_state < 0, -1, row * symbols + symbol[:, None])
        yield f"raters{number}", group.prior, seen, place


def log_probabilities(problem: Problem, log_theta: np.ndarray) -> np.ndarray:
    """Log probability of each column in each state, (columns, states, chains), from log_theta (chains, P)."""
    nothing = np.zeros((1, log_theta.shape[0]))  # of a column that uses no probability in a state
    return np.vstack([log_theta.T, nothing]).astype(problem.design.dtype)[problem.place]


def log_states(problem: Problem, log_theta: np.ndarray) -> np.ndarray:
    """log p(row, state) (states, chains, rows)."""
    table = log_probabilities(problem, log_theta)
    _, states, chains = table.shape
    log_p = problem.design @ table.reshape(len(table), states * chains)
    log_p = np.ascontiguousarray(log_p.T).reshape(states, chains, -1)
    log_p += problem.offset[:, None, :]
    return log_p


def log_rows(problem: Problem, log_theta: np.ndarray) -> np.ndarray:
    """log p(row), the state summed out, (chains, rows), from log_theta (chains, P)."""
    log_p = log_states(problem, log_theta)
    top = np.maximum(log_p.max(axis=0), np.finfo(log_p.dtype).min)  # finite, even of an impossible row
    return top + log(np.exp(log_p - top).sum(axis=0))  # of float32 in less time than np.logaddexp


def state_probabilities(problem: Problem, log_theta: np.ndarray) -> np.ndarray:
    """p(state | the rest) of every row, (states, chains, rows), from log_theta (chains, P)."""
    if problem.only_symbol is not None:
        p = np.exp(log_probabilities(problem, log_theta).transpose(1, 2, 0)).take(problem.only_symbol, axis=2)
        p *= problem.weight[:, None, :]
        p /= p.sum(axis=0)
        return p
    log_p = log_states(problem, log_theta)
    log_p -= log_p.max(axis=0)
    p = np.exp(log_p, out=log_p)
    p /= p.sum(axis=0)
    return p


def in_parts(problem: Problem, chains: int) -> list[Problem]:
    """The same rows in parts that stay in a processor's cache; a sweep from memory takes three times as long.

    With several parts p(state) is float32, its last digit far below what one sample tells; sums are float64.
    """
    rows, (columns, states) = problem.multiplicity.size, problem.place.shape
    number = -(-rows // max(_CACHED // (states * chains), columns))
    if number == 1:
        return [problem]
    ends = np.linspace(0, rows, number + 1).astype(int)
    return [replace(problem, design=problem.design[here].astype(np.float32),
                    multiplicity=problem.multiplicity[here],
                    offset=problem.offset[:, here].astype(np.float32))
            for here in map(slice, ends[:-1], ends[1:])]  # fmt: skip


def count_symbols(problem: Problem, counts: np.ndarray) -> np.ndarray:
    """Samples behind every column, (columns, states, chains), from state counts (states, chains, rows)."""
    return _samples_behind(problem.design.T, counts)


def draw_counts(problem: Problem, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Samples behind every column, (columns, states, chains), states drawn given p (states, chains, rows)."""
    (states, _, _), number, (single, repeated, all_single) = p.shape, problem.num_single, problem.transposed
    state = draw_states(p[:, :, :number], rng)
    times = problem.multiplicity[number:]
    behind = _samples_behind(repeated, draw_numbers(p[:, :, number:].astype(np.float64), times, rng))
    if not number:
        return behind
    # Each state but the last by a product with zeros and ones; the last has what is left of a column.
    chosen = (state == np.arange(states - 1, dtype=state.dtype)[:, None, None]).astype(single.dtype)
    one = _samples_behind(single, chosen) if states > 1 else behind[:, :0]
    behind[:, :-1] += one
    behind[:, -1] += all_single - one.sum(axis=1)
    return behind


def _samples_behind(transposed: sparse.sparray, counts: np.ndarray) -> np.ndarray:
    states, chains, rows = counts.shape
    behind = transposed @ np.ascontiguousarray(counts.reshape(states * chains, rows).T)
    return behind.reshape(-1, states, chains)


def draw_states(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state of every place, given p (states, ...) on any scale."""
    # 1 - random lies in (0, 1], so a state of probability 0 is never chosen, not even by rounding.
    # The total is added up as `below` is, in the order of the states: they never differ by rounding.
    state, below, total = np.zeros(p.shape[1:], np.int16), np.zeros(p.shape[1:], p.dtype), 0.0
    for each in p:
        total = total + each
    height = (1.0 - rng.random(p.shape[1:], p.dtype.type)) * total
    for each in p[:-1]:
        below += each
        state += below < height
    return state


def draw_numbers(p: np.ndarray, times: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many of `times` samples are in each state, given p (states, ...) on any scale."""
    counts = np.empty(p.shape)
    if not p.size:
        return counts
    tail = np.cumsum(p[::-1], axis=0)[::-1]
    share = np.divide(p, tail, out=np.ones_like(p), where=tail > 0)
    left = np.broadcast_to(times.astype(np.int64), p.shape[1:]).copy()
    for s in range(len(p) - 1):
        drawn = rng.binomial(left, np.minimum(share[s], 1))
        counts[s] = drawn
        left -= drawn
    counts[-1] = left
    return counts


def posterior_means(problem: Problem, concentration: np.ndarray) -> np.ndarray:
    """Log of the means of the Dirichlet rows, (chains, P)."""
    total = np.add.reduceat(concentration, problem.starts, axis=1)
    return np.log(concentration) - np.repeat(np.log(total), problem.length, axis=1)


def em(
    problem: Problem, start: np.ndarray, *, max_steps: int = 500, tol: float = 1e-7
) -> tuple[np.ndarray, int]:
    """State probabilities (states, rows) at a mode, from such a start, and the number of steps.

    With Dirichlet(1 + concentration) rows this is EM for the mode. Pooled rows are at the mean of G.
    """
    p, step, two = start[:, None, :], 0, len(start) == 2 and problem.only_symbol is None
    every = (problem.design.T @ problem.multiplicity)[:, None, None]
    while step < max_steps:
        step += 1
        symbols = count_symbols(problem, p[:-1] * problem.multiplicity)
        last = np.maximum(every - symbols.sum(axis=1, keepdims=True), 0.0)  # not -1e-12
        symbols = np.concatenate([symbols, last], axis=1)
        log_theta = posterior_means(problem, problem.concentration + problem.count_probabilities(symbols))
        new = _two_states(problem, log_theta) if two else state_probabilities(problem, log_theta)
        change = np.abs(new[two:] - p[two:]).max()
        p = new
        if change < tol:
            break
    return p[:, 0], step


def _two_states(problem: Problem, log_theta: np.ndarray) -> np.ndarray:
    """`state_probabilities` of two states in one chain, from their log odds."""
    table = log_probabilities(problem, log_theta)[:, :, 0]
    log_odds = problem.design @ (table[:, 1] - table[:, 0]) + (problem.offset[1] - problem.offset[0])
    with np.errstate(over="ignore"):
        first = 1 / (1 + np.exp(log_odds))
    return np.stack([first, 1 - first])[:, None]


def sweep(engine: Any, chain: dict, rng: Any) -> tuple[dict, Any, Any]:
    """The chain after a sweep, the log rows (chains, P) that it drew, and p as `draw_samples` gives it."""
    common = [chain[f"common{k}"] for k in range(len(engine.pooled))]
    counts = engine.count_probabilities(chain["symbols"])
    last = chain.get("log_theta", counts)
    concentration, common = draw_common_rows(engine, last, counts, common, rng)
    log_theta = namespace(counts).zeros(counts.shape)
    if sum(raters.prior.size for _, raters in engine.alike) < counts.shape[1]:
        log_theta = engine.draw_dirichlet_logs(concentration + counts, rng)
    families = {}
    for k, (here, raters) in enumerate(engine.alike):
        data = alike.row_counts(raters.alike, counts[:, here].reshape(-1, *raters.prior.shape))
        families[f"alike{k}"] = state = alike.move(data, chain[f"alike{k}"], rng)
        rows = alike.draw_rows(data, state, rng).reshape(len(log_theta), -1)
        log_theta = replaced(log_theta, (slice(None), here), rows)
    symbols, p = engine.draw_samples(log_theta, rng)
    new = {"symbols": symbols} | {f"common{k}": g for k, g in enumerate(common)} | families
    if len(engine.pooled):
        new["log_theta"] = log_theta
    return new, log_theta, p


def draw_common_rows(
    problem: Any, log_theta: Any, counts: Any, log_common: list, rng: Any
) -> tuple[Any, list[Any]]:
    """Concentrations (chains, P) of all rows, after a move of every log G (chains, rows, symbols).

    `log_theta` (chains, P) are the rows as last drawn, `counts` (chains, P) what they were drawn from.
    """
    xp = namespace(log_theta)
    concentration, moved = xp.broadcast_to(problem.concentration, log_theta.shape), []
    for (here, raters), start in zip(problem.pooled, log_common, strict=True):
        shape = log_theta.shape[0], *raters.prior.shape
        seen = counts[:, here].reshape(shape).sum(axis=(2, 3)) > 0  # (chains, raters): the same in all chains
        seen = seen.astype(np.float64)
        total = xp.einsum("mtrk,mt->mrk", log_theta[:, here].reshape(shape), seen)
        log_g = move_common(rng, start, total, seen.sum(axis=1)[:, None], raters)
        spread = xp.broadcast_to(raters.strength * xp.exp(log_g)[:, None], shape)
        values = spread.reshape(log_theta.shape[0], -1)
        concentration = replaced(concentration, (slice(None), here), values)
        moved.append(log_g)
    return concentration, moved


def move_common(rng: Any, log_g: Any, total: Any, number: Any, raters: Any) -> Any:
    """log G (chains, rows, symbols) after `_STEPS` moves, given the sums L of log theta and their number."""
    xp, shape = namespace(log_g), (_STEPS, *log_g.shape)
    moves = 10.0 ** -rng.uniform(0.0, 2.0, (*shape[:-1], 1)) * rng.standard_normal(shape)

    def propose(log_g: Any, move: Any) -> Any:
        new = log_g + move
        new = new - new.max(axis=-1, keepdims=True)
        return new - xp.log(xp.exp(new).sum(axis=-1, keepdims=True))

    def density(log_g: Any) -> Any:  # of log G, (chains, rows): the Jacobian adds sum_k log G_k
        a = raters.strength * xp.exp(log_g)
        labels = -number * gammaln(a).sum(axis=-1) + ((a - 1) * total).sum(axis=-1)
        value = labels + (raters.common_prior[None] * log_g).sum(axis=-1)
        return xp.where(log_g.min(axis=-1) > _SMALLEST, value, -np.inf)

    return metropolis(propose, density, log_g, moves, rng.random(shape[:-1]))
