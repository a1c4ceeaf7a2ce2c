"""One Gibbs sweep, and EM for the start, for any `LatentModel`; all chains at once.

What is drawn in a sweep and in which order is written once (`sweep`). Whoever can count, draw Dirichlet rows
and draw states, an engine, makes it: `HostEngine` in NumPy, and one in a traced program of JAX (`device`).

All probabilities of a model lie in one flat vector of Dirichlet rows: pi, the stratum weights, the matrices.
All observations lie in one sparse matrix `design` (rows, columns): a column is "rater t gave symbol k", or
the column of ones through which pi and the weights enter. `place[column, state]` says which probability a
column uses in a state. Then everything is two sparse products:

  log weight of the states of a row = design @ log theta[place]           (rows, states)
  counts that belong to a probability = tie @ (design.T @ state counts)   (probabilities,)

so the time of a sweep follows the number of labels in distinct rows, and tied rows cost nothing.

The states of a row that stands for m samples are multinomial counts, drawn as conditional binomials; those
of a row for one sample come from one uniform number. Nothing else is random but the Dirichlet rows. Gammas
are drawn in the log domain (log G(a+1) - E/a), so that a small concentration cannot give log 0.

Rows that raters have in common, theta[t, r] ~ Dirichlet(a G[r]), G[r] ~ Dirichlet(g[r]).

Given the raters' rows, everything about G[r] is in n raters and L[k] = sum_t log theta[t, r, k]:

  log p(G[r] | theta) = n log Gamma(a) + sum_k [(a G_k - 1) L_k - n log Gamma(a G_k) + (g_k - 1) log G_k]

so the cost follows neither samples nor raters. Metropolis steps move log G at random, at a scale that is
drawn anew each time over two powers of ten and so fits whatever the data say. Raters without labels are left
out: their rows are drawn from the prior and would only slow G down.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jtruth._either import gammaln, log_gamma_draws, metropolis, namespace, replaced
from jtruth.latent.model import LatentModel, Observed
from jtruth.latent.models import alike
from jtruth.latent.models.alike import Alike

_STEPS = 4  # Metropolis steps a sweep
_CACHED = 65_536  # numbers of rows, states and chains that are worked on together
_SMALLEST = -230.0  # of log G: a G that rounds to 0 would forbid a symbol for ever


class Problem(NamedTuple):
    """A model and its data, flattened. P probabilities, S states."""

    design: sparse.csr_array  # (rows, columns)
    single: sparse.csr_array  # (columns, rows for one sample each), the design transposed
    repeated: sparse.csr_array  # (columns, other rows)
    in_single: np.ndarray  # (columns, 1) how often each is in the former rows
    multiplicity: np.ndarray  # (rows,)
    num_single: int  # the first rows, which stand for one sample each
    offset: np.ndarray  # (states, rows)
    only_symbol: np.ndarray | None  # (rows,) where every row has one column: there is nothing to add up
    weight: np.ndarray  # (states, rows) exp(offset), the largest of a row 1
    place: np.ndarray  # (columns, states) 0..P; P is "no probability"
    tie: sparse.csr_array  # (P, columns * states)
    starts: np.ndarray  # (dirichlet rows,) where each begins in the flat vector
    length: np.ndarray  # (dirichlet rows,)
    concentration: np.ndarray  # (P,)
    pooled: tuple["Pooled", ...]  # groups whose concentrations are drawn too
    alike: tuple["Family", ...]  # groups whose rows are drawn by `alike`
    blocks: dict[str, tuple[int, tuple[int, ...]]]  # name -> (first probability, shape)
    columns: dict[str, tuple[int, int]]  # name of a rater group, or "samples" -> its columns


class Pooled(NamedTuple):
    """Rows theta[t, r] ~ Dirichlet(strength * G[r]), G[r] ~ Dirichlet(common_prior[r])."""

    first: int
    shape: tuple[int, int, int]  # (raters, rows, symbols)
    strength: float
    common_prior: np.ndarray  # (rows, symbols)


class Family(NamedTuple):
    """Where the rows of a group that are alike lie."""

    first: int
    shape: tuple[int, int, int]  # (raters, rows, symbols)
    alike: Alike


def flatten(model: LatentModel, observed: Observed) -> Problem:
    """Lay a model and its data out for the sampler."""
    rows, layout, offset = observed.offset.shape[1], _Layout(), observed.offset
    columns, pooled, families = {}, [], []
    if model.class_fixed:
        with np.errstate(divide="ignore"):
            offset = offset + np.log(model.class_prior)[model.state_class][:, None]
    else:
        group = np.zeros(rows, np.int64) if observed.group is None else observed.group
        number = int(group.max(initial=0)) + 1
        every = model.class_prior if observed.group is None else np.tile(model.class_prior, (number, 1))
        first = layout.probabilities("pi", every)
        ones = sparse.csr_array((np.ones(rows), (np.arange(rows), group)), shape=(rows, number))
        of_group = np.arange(number)[:, None] * model.num_classes
        columns["samples"] = layout.observe(ones, first + of_group + model.state_class[None, :])
    if model.num_strata > 1:
        first = layout.probabilities("weights", model.stratum_prior)
        stratum = model.weight_row[model.state_class] * model.num_strata + model.state_stratum
        layout.observe(sparse.csr_array(np.ones((rows, 1))), first + stratum[None, :])
    for number, (group, seen) in enumerate(zip(model.raters, observed.symbols, strict=True)):
        raters, matrix_rows, symbols = group.prior.shape
        first = layout.probabilities(f"raters{number}", group.prior)
        rater, symbol = np.divmod(np.arange(raters * symbols), symbols)
        row = rater[:, None] * matrix_rows + group.row_of_state[None, :]
        place = np.where(group.row_of_state[None, :] < 0, -1, first + row * symbols + symbol[:, None])
        columns[f"raters{number}"] = layout.observe(seen, place)
        if group.strength and group.common_prior is not None:
            pooled.append(Pooled(first, group.prior.shape, float(group.strength), group.common_prior))
        if group.alike is not None:
            families.append(Family(first, group.prior.shape, group.alike))
    return layout.problem(observed.multiplicity, offset, tuple(pooled), tuple(families), columns)


class _Layout:
    """Collects probabilities and columns while a problem is laid out."""

    def __init__(self):
        self.priors: list[np.ndarray] = []
        self.blocks: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.size = 0  # probabilities so far
        self.parts: list[sparse.csr_array] = []
        self.places: list[np.ndarray] = []

    def probabilities(self, name: str, prior: np.ndarray) -> int:
        """Room for Dirichlet rows with these concentrations; where it begins."""
        first = self.size
        self.blocks[name] = (first, prior.shape)
        self.priors.append(prior)
        self.size += prior.size
        return first

    def observe(self, seen: sparse.csr_array, place: np.ndarray) -> tuple[int, int]:
        """Columns (rows, columns) and the probability of each in each state, -1 for none; their range."""
        first = sum(len(p) for p in self.places)
        self.parts.append(seen)
        self.places.append(place)
        return first, first + len(place)

    def problem(self, multiplicity, offset, pooled, families, columns) -> Problem:
        """Everything, put together."""
        place = np.concatenate(self.places)
        place = np.where(place < 0, self.size, place)
        used = np.flatnonzero(place.ravel() < self.size)
        tie = sparse.csr_array(
            (np.ones(used.size), (place.ravel()[used], used)), shape=(self.size, place.size)
        )
        design = sparse.csr_array(sparse.hstack(self.parts, format="csr"))
        length = np.concatenate([np.full(a.size // a.shape[-1], a.shape[-1]) for a in self.priors])
        return Problem(
            **_transposed(design, int(np.count_nonzero(multiplicity == 1))),
            multiplicity=multiplicity,
            offset=offset,
            only_symbol=design.indices if (design.sum(axis=1) == 1).all() else None,
            weight=np.exp(offset - offset.max(axis=0)),
            place=place,
            tie=tie,
            starts=np.cumsum(length) - length,
            length=length,
            concentration=np.concatenate([a.ravel() for a in self.priors]),
            pooled=pooled,
            alike=families,
            blocks=self.blocks,
            columns=columns,
        )


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
    return np.logaddexp.reduce(log_states(problem, log_theta), axis=0)


def state_probabilities(problem: Problem, log_theta: np.ndarray) -> np.ndarray:
    """p(state | the rest) of every row, (states, chains, rows), from log_theta (chains, P).

    Where every row has one column only, they are products of two numbers, and logs are not needed.
    """
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
    """The same rows, some at a time: as many as stay in a processor's cache with the numbers of their states.

    From memory a sweep takes almost three times as long. Rows in several parts are many: p(state) is float32,
    whose last digit is far below what one sample tells; sums over parts are float64.
    """
    rows, (columns, states), small = problem.multiplicity.size, problem.place.shape, np.float32
    number = -(-rows // max(_CACHED // (states * chains), columns))
    if number == 1:
        return [problem]
    parts, ends = [], np.linspace(0, rows, number + 1).astype(int)
    for here in map(slice, ends[:-1], ends[1:]):
        single = int(np.clip(problem.num_single - here.start, 0, here.stop - here.start))
        design, only = problem.design[here].astype(small), problem.only_symbol
        parts.append(problem._replace(
            **_transposed(design, single), multiplicity=problem.multiplicity[here],
            offset=problem.offset[:, here].astype(small), weight=problem.weight[:, here].astype(small),
            only_symbol=None if only is None else only[here],
        ))  # fmt: skip
    return parts


def _transposed(design: sparse.csr_array, num_single: int) -> dict[str, Any]:
    """What a problem holds of a design whose first rows stand for one sample each."""
    single, repeated = (sparse.csr_array(part.T) for part in (design[:num_single], design[num_single:]))
    return {"design": design, "num_single": num_single, "single": single, "repeated": repeated,
            "in_single": single.sum(axis=1)[:, None]}  # fmt: skip


class Drawn(NamedTuple):
    """States of all samples."""

    state: np.ndarray  # (chains, single) of the rows that stand for one sample
    counts: np.ndarray  # (states, chains, rows that stand for several)


def count_symbols(problem: Problem, counts: np.ndarray) -> np.ndarray:
    """Samples behind every column, (columns, states, chains), from state counts (states, chains, rows)."""
    return _samples_behind(problem.design.T, counts)


def count_drawn(problem: Problem, drawn: Drawn) -> np.ndarray:
    """Samples behind every column, (columns, states, chains), of states that were drawn."""
    found = _samples_behind(problem.repeated, drawn.counts)
    if not problem.num_single:
        return found
    # Each state but the last by a product with zeros and ones; the last has what is left of a column.
    states = found.shape[1]
    each = np.arange(states - 1, dtype=drawn.state.dtype)[:, None, None]
    chosen = (drawn.state == each).astype(problem.single.dtype)
    one = _samples_behind(problem.single, chosen) if states > 1 else found[:, :0]
    found[:, :-1] += one
    found[:, -1] += problem.in_single - one.sum(axis=1)
    return found


def _samples_behind(transposed: sparse.sparray, counts: np.ndarray) -> np.ndarray:
    states, chains, rows = counts.shape
    found = transposed @ np.ascontiguousarray(counts.reshape(states * chains, rows).T)
    return found.reshape(-1, states, chains)


def count_probabilities(problem: Problem, symbols: np.ndarray) -> np.ndarray:
    """Counts that belong to each probability, (chains, P)."""
    return np.ascontiguousarray((problem.tie @ symbols.reshape(-1, symbols.shape[2])).T)


def draw_states(problem: Problem, p: np.ndarray, rng: np.random.Generator) -> Drawn:
    """States of the samples behind every row, given p (states, chains, rows)."""
    (states, chains, _), single = p.shape, problem.num_single
    # 1 - random lies in (0, 1], so a state of probability 0 is never chosen, not even by rounding.
    # The total is added up as `below` is, in the order of the states: they never differ by rounding.
    state, below, total = np.zeros((chains, single), np.int16), np.zeros((chains, single), p.dtype), 0.0
    for s in range(states):
        total = total + p[s, :, :single]
    height = (1.0 - rng.random((chains, single), p.dtype)) * total
    for s in range(states - 1):
        below += p[s, :, :single]
        state += below < height
    several = p[:, :, single:].astype(np.float64)
    counts = np.empty_like(several)
    if not several.size:
        return Drawn(state, counts)
    tail = np.cumsum(several[::-1], axis=0)[::-1]
    share = np.divide(several, tail, out=np.ones_like(several), where=tail > 0)
    left = np.broadcast_to(problem.multiplicity[single:].astype(np.int64), several.shape[1:]).copy()
    for s in range(states - 1):
        drawn = rng.binomial(left, share[s])
        counts[s] = drawn
        left -= drawn
    counts[-1] = left
    return Drawn(state, counts)


def draw_dirichlet_logs(
    rows: tuple[np.ndarray, np.ndarray], concentration: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Log of one draw of every Dirichlet row, (chains, P), given the concentrations (chains, P).

    `rows`: where each of them starts, and its length.
    """
    starts, length = rows
    logs = log_gamma_draws(concentration, rng)
    logs -= np.repeat(np.maximum.reduceat(logs, starts, axis=1), length, axis=1)
    total = np.add.reduceat(np.exp(logs), starts, axis=1)
    logs -= np.repeat(np.log(total), length, axis=1)
    return logs


def posterior_means(problem: Problem, concentration: np.ndarray) -> np.ndarray:
    """Log of the means of the Dirichlet rows, (chains, P)."""
    total = np.add.reduceat(concentration, problem.starts, axis=1)
    return np.log(concentration) - np.repeat(np.log(total), problem.length, axis=1)


def em(
    problem: Problem, start: np.ndarray, *, max_steps: int = 500, tol: float = 1e-7
) -> tuple[np.ndarray, int]:
    """State probabilities (states, rows) at a mode, from a start of the same shape, and the number of steps.

    With Dirichlet(1 + concentration) rows this is EM for the mode; it serves as a start only. Pooled rows
    keep the concentrations they have at the mean of G.
    """
    p, step = start[:, None, :], 0
    while step < max_steps:
        step += 1
        symbols = count_symbols(problem, p * problem.multiplicity)
        alpha = problem.concentration + count_probabilities(problem, symbols)
        new = state_probabilities(problem, posterior_means(problem, alpha))
        change = np.abs(new - p).max()
        p = new
        if change < tol:
            break
    return p[:, 0], step


def sweep(engine: Any, chain: dict, rng: Any) -> tuple[dict, Any, Any]:
    """The chain after a sweep, the log rows (chains, P) that it drew, and p as `draw_samples` gives it."""
    common = [chain[f"common{k}"] for k in range(len(engine.pooled))]
    counts = engine.count_probabilities(chain["symbols"])
    last = chain.get("log_theta", counts)
    concentration, common = draw_common_rows(engine, last, counts, common, rng)
    log_theta = namespace(counts).zeros(counts.shape)
    if sum(int(np.prod(group.shape)) for group in engine.alike) < counts.shape[1]:
        log_theta = engine.draw_dirichlet_logs(concentration + counts, rng)
    families = {}
    for k, (first, shape, group) in enumerate(engine.alike):
        here = slice(first, first + int(np.prod(shape)))
        data = alike.seen(group, counts[:, here].reshape(-1, *shape))
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

    `problem` has `concentration` (P,) and `pooled`; `log_theta` (chains, P) are the rows as last drawn,
    `counts` (chains, P) what they were drawn from.
    """
    xp = namespace(log_theta)
    concentration, moved = xp.broadcast_to(problem.concentration, log_theta.shape), []
    for group, start in zip(problem.pooled, log_common, strict=True):
        here = slice(group.first, group.first + int(np.prod(group.shape)))
        shape = (log_theta.shape[0], *group.shape)
        seen = counts[:, here].reshape(shape).sum(axis=(2, 3)) > 0  # (chains, raters): the same in all chains
        seen = seen.astype(np.float64)
        total = xp.einsum("mtrk,mt->mrk", log_theta[:, here].reshape(shape), seen)
        log_g = move_common(rng, start, total, seen.sum(axis=1)[:, None], group)
        spread = xp.broadcast_to(group.strength * xp.exp(log_g)[:, None], shape)
        values = spread.reshape(log_theta.shape[0], -1)
        concentration = replaced(concentration, (slice(None), here), values)
        moved.append(log_g)
    return concentration, moved


def move_common(rng: Any, log_g: Any, total: Any, raters: Any, group: Any) -> Any:
    """log G (chains, rows, symbols) after `_STEPS` moves, given the sums L of log theta and their number."""
    xp, shape = namespace(log_g), (_STEPS, *log_g.shape)
    moves = 10.0 ** -rng.uniform(0.0, 2.0, (*shape[:-1], 1)) * rng.standard_normal(shape)

    def propose(log_g: Any, move: Any) -> Any:
        new = log_g + move
        new = new - new.max(axis=-1, keepdims=True)
        return new - xp.log(xp.exp(new).sum(axis=-1, keepdims=True))

    def density(log_g: Any) -> Any:
        return xp.where(log_g.min(axis=-1) > _SMALLEST, _log_density(log_g, total, raters, group), -np.inf)

    return metropolis(propose, density, log_g, moves, rng.random(shape[:-1]))


def _log_density(log_g: Any, total: Any, raters: Any, group: Any) -> Any:
    """log p(G | theta) as a density of log G, (chains, rows): the Jacobian adds sum_k log G_k."""
    a = group.strength * namespace(log_g).exp(log_g)
    labels = -raters * gammaln(a).sum(axis=-1) + ((a - 1) * total).sum(axis=-1)
    return labels + (group.common_prior[None] * log_g).sum(axis=-1)


class HostEngine:
    """NumPy's sides of a sweep."""

    def __init__(self, problem: Problem, chains: int):
        """Of one problem. Rows that are alike are drawn elsewhere (`alike.draw_rows`), all others here."""
        self.problem, self._parts = problem, in_parts(problem, chains)
        own = np.ones(problem.concentration.size, bool)
        for first, shape, _ in problem.alike:
            own[first : first + int(np.prod(shape))] = False
        length = problem.length[own[problem.starts]]
        self._own, self._rows = np.flatnonzero(own), (np.cumsum(length) - length, length)
        self.concentration, self.pooled, self.alike = problem.concentration, problem.pooled, problem.alike

    def count_probabilities(self, symbols: np.ndarray) -> np.ndarray:
        """Counts that belong to each probability, (chains, P)."""
        return count_probabilities(self.problem, symbols)

    def draw_dirichlet_logs(self, concentration: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Log of one draw of every Dirichlet row that is not alike to others, (chains, P)."""
        logs = np.zeros_like(concentration)
        logs[:, self._own] = draw_dirichlet_logs(self._rows, concentration[:, self._own], rng)
        return logs

    def draw_samples(self, log_theta: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Samples behind every (column, state, chain), and p(state) of every row summed over the chains."""
        symbols, behind = np.zeros(()), []
        for part in self._parts:
            p = state_probabilities(part, log_theta)
            symbols = symbols + count_drawn(part, draw_states(part, p, rng))
            behind.append(p.sum(axis=1, dtype=np.float64))
        return symbols, np.concatenate(behind, axis=1)
