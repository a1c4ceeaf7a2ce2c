"""The posterior of the count table of a classifier with any number of classes and symbols (Su 2.7).

n[c, u] counts the samples of true class c that were predicted u. With labels z of known noise, a known class
prior and a prior of the rows of the operating matrix K,

    p(n, K | y_pred, z)  is sampled by Gibbs: y given K by (25), K given y conjugate,

on the engine of `jtruth.latent`: the log-likelihood of the labels is the offset of the states, and the
classifier is the only rater. Every metric of hard predictions is a function of n, so joint draws of all
metrics come with it. The symbol need not be a class: score bins, pairs of predictions and "abstain" work the
same. For Dirichlet rows with alpha >= 1 the likelihood of K with y summed out is log-concave, so there is one
mode, and chains cannot stick in others.

The prior of the rows matters where classes are many: see `jtruth.latent.models.alike`, the default for three
classes and more. With two classes nothing has to be sampled step by step: whatever the symbols, the draws are
independent ones of the exact chain (`jtruth.testing.binary.chain`), up to 20 000 samples.
"""

from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import stream
from jtruth.latent import Digest, Effort, LatentModel, Observed, Raters, run_gibbs
from jtruth.latent.infer.kernel import Problem, count_drawn, draw_states, state_probabilities
from jtruth.latent.models.alike import alike_classes, centre, log_prior
from jtruth.latent.rows import prediction_columns
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.chains import effective_sample_size, split_rhat
from jtruth.tables.posterior import TableDraws
from jtruth.testing.binary.chain import SymbolChain, symbol_chain

_SMALLEST_ALPHA = 1e-2  # below, single probabilities underflow
_MANY_CELLS = 1000  # of a table, from which draws are thinned to the effort's `max_bytes`
# Tables forget where they were in a few sweeps, and EM starts them at the only mode.
EFFORT = Effort(burn_in=50, min_sweeps=2000)
_CHAIN_DRAWS, _CHAIN_SAMPLES = 4000, 20_000  # of two classes; the chain's time grows with samples squared
_EXACT = 2**24  # counts below are exact in float32, which thinned draws are kept in


class CountDraws(TableDraws):
    """Draws from the posterior of the count table n and of the operating matrix K, chain after chain.

    `rhat` and `ess` are those of every cell of the table, NaN for a cell that never changes; `converged` is
    about what metrics are made of: every cell, or of many classes the diagonal and the size of every class.
    Independent draws (two classes) are one chain, with R-hat NaN and as many effective draws as there are.
    `num_sweeps` counts all sweeps of a chain, `num_chains` the chains.
    """

    confusion: Float[np.ndarray, "draws classes symbols"]
    converged: bool
    num_chains: int
    num_sweeps: int
    # Of rows that are alike: log prior of what they have in common, for `jtruth.stats.loo`.
    log_prior: Float[np.ndarray, " draws"] | None = None

    @property
    def rhat(self) -> Float[np.ndarray, "classes symbols"]:
        """Split R-hat of every cell; computed when asked for, which may take longer than sampling."""
        if self.num_chains == 1:
            return np.full(self.counts.shape[1:], np.nan)
        return split_rhat(self._by_chain(), groups=4)

    @property
    def ess(self) -> Float[np.ndarray, "classes symbols"]:
        """Effective sample size of every cell; computed when asked for."""
        if self.num_chains == 1:
            return np.where(np.ptp(self.counts, axis=0) > 0, float(len(self.counts)), np.nan)
        return effective_sample_size(self._by_chain())

    def _by_chain(self) -> np.ndarray:
        return self.counts.reshape(self.num_chains, -1, *self.counts.shape[1:])


def count_posterior(
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    prior: Float[Array | np.ndarray, " classes"],
    y_pred: Int[Array | np.ndarray, " samples"],
    *,
    key: Any = None,
    num_symbols: int | None = None,
    alpha: Float[Array | np.ndarray, "classes symbols"] | float | int | None = None,
    effort: Effort = EFFORT,
) -> CountDraws:
    """Draws of the count table and of K from their joint posterior.

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c); a known class is a row with 0 and -inf.
        prior: (classes,), sums to 1.
        y_pred: (samples,) predicted symbols 0..num_symbols-1.
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        num_symbols: number of symbols; the number of classes if None.
        alpha: concentration of the Dirichlet prior of each row of K, (classes, symbols) or one number. None:
            rows that are alike, with nothing fixed, for three classes and more whose symbols are the classes;
            otherwise 1.
        effort: when to stop.

    Raises:
        ValueError: bad prior, predictions, alpha or sizes, or samples that are impossible under every class.

    Example:
        >>> import jax, numpy as np
        >>> log_lik = np.log([[.8, .1, .1], [.1, .8, .1], [.1, .1, .8], [.8, .1, .1]])
        >>> found = count_posterior(log_lik, np.full(3, 1 / 3), np.array([0, 1, 2, 1]), key=jax.random.key(0))
        >>> found.counts.shape[1:], found.converged, round(found.estimate("accuracy").mean, 1)
        ((3, 3), True, 0.8)
    """
    log_lik, y, concentration = checked_inputs(log_likelihood, prior, y_pred, num_symbols, alpha)
    key = stream(key, "count posterior")
    if len(concentration) == 2 and y.size <= _CHAIN_SAMPLES:
        odds = log_odds(log_lik, np.asarray(prior, np.float64))
        return _independent_draws(symbol_chain(odds, y, concentration.shape[1], concentration), key, effort)
    log_rho = class_law(log_lik, np.asarray(prior, np.float64))
    model, observed = table_problem(log_rho, y, concentration, learned=learns_rows(concentration, alpha))
    classes, symbols = concentration.shape
    with np.errstate(under="ignore"):
        start = np.exp(observed.offset)
    run = run_gibbs(model, observed, key=key, start=start, digest=_digest(classes, symbols, y.size),
                    effort=effort)  # fmt: skip
    counts = run.draws["counts"] if "counts" in run.draws else run.large["counts"].astype(np.int64)
    confusion = run.large["confusion"].astype(np.float64)
    thin = -(-counts.shape[1] // confusion.shape[1])
    counts, shape = counts[:, ::thin], concentration.shape
    family, done = model.raters[0].alike, run.convergence
    return CountDraws(
        counts.reshape(-1, *shape), confusion.reshape(-1, *shape), done.converged, len(counts),
        done.num_sweeps // len(counts),
        None if family is None else log_prior(family, run.large["families0"]).ravel(),
    )  # fmt: skip


def _independent_draws(chain: SymbolChain, key: Any, effort: Effort) -> CountDraws:
    """Two classes: as many draws as sweeps are asked for, at least 4000; nothing has to converge."""
    number = max(effort.min_sweeps, _CHAIN_DRAWS)
    positives = chain.draws(key, number)
    counts = np.stack([chain.sizes - positives, positives], axis=1)
    rows = chain.shares(positives, stream(key, "rows of a count posterior"))
    return CountDraws(counts, rows, True, 1, number)


def learns_rows(concentration: np.ndarray, alpha: Any) -> bool:
    """Whether rows of K are alike: nobody gave concentrations, and there are enough rows to learn from."""
    classes, symbols = concentration.shape
    return alpha is None and classes == symbols > 2


def class_law(log_lik: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log p(y_i = c | z_i) (21), (samples, classes)."""
    joint = log_lik + log(prior)
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def table_problem(
    log_rho: Float[np.ndarray, "samples classes"],
    y_pred: Int[np.ndarray, " samples"],
    concentration: Float[np.ndarray, "classes symbols"],
    *,
    learned: bool,
) -> tuple[LatentModel, Observed]:
    """The engine's input: one rater, whose symbols are explained by class; equal samples merged."""
    classes, symbols = concentration.shape
    kinds = [np.unique(column, return_inverse=True)[1] for column in log_rho.T]
    first, row, count = check.collapse_rows(np.stack([*kinds, y_pred], axis=1))
    order = np.argsort(count != 1, kind="stable")  # rows for one sample come first
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    first, count = first[order], count[order]
    raters = Raters(concentration[None], np.arange(classes))
    if learned:
        family = alike_classes(np.bincount(y_pred, minlength=classes))
        raters = raters._replace(prior=centre(family), alike=family)
    model = LatentModel(
        state_class=np.arange(classes),
        state_stratum=np.zeros(classes, np.int64),
        class_prior=np.ones(classes),  # it is inside log_rho
        class_fixed=True,
        weight_row=np.zeros(classes, np.int64),
        stratum_prior=np.ones((1, 1)),
        raters=(raters,),
    )
    seen = (prediction_columns(y_pred[first], symbols),)
    return model, Observed(seen, count.astype(np.float64), log_rho[first].T.copy(), place[row])


def draw_tables(
    problem: Problem, confusion: Float[np.ndarray, "draws classes symbols"], rng: np.random.Generator
) -> Int[np.ndarray, "draws classes symbols"]:
    """A draw of all classes from (25) for each K, as count tables; `problem` is that of `table_problem`."""
    p = state_probabilities(problem, log(confusion.reshape(len(confusion), -1)))
    tables = count_drawn(problem, draw_states(problem, p, rng))  # (symbols, classes, draws)
    return np.rint(tables.transpose(2, 1, 0)).astype(np.int64)


def _digest(classes: int, symbols: int, samples: int) -> Digest:
    """What is kept of a block of sweeps, and what of it must converge."""
    thinned = classes * symbols > _MANY_CELLS and samples < _EXACT

    def kept(draws: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        counts = np.rint(draws["table0"]).astype(np.int64)
        large = {"confusion": draws["raters0"][:, :, 0]}
        large |= {name: draws[name] for name in ("families0",) if name in draws}
        if not thinned:
            return {"counts": counts}, large
        right = counts[..., 0] if classes != symbols else np.diagonal(counts, axis1=-2, axis2=-1).copy()
        return {"right": right, "class": counts.sum(axis=-1)}, large | {"counts": counts}

    return Digest(kept, ("right", "class") if thinned else ("counts",))


def checked_inputs(
    log_likelihood, prior, y_pred, num_symbols, alpha
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log_likelihood, y_pred, alpha) as NumPy arrays, alpha 1 where it is None; or ValueError."""
    log_lik, y = np.asarray(log_likelihood, np.float64), np.asarray(y_pred)
    samples, classes = log_lik.shape
    symbols = classes if num_symbols is None else num_symbols
    validate_prior(prior, classes)
    check_not_contradictory(log_lik, prior=np.asarray(prior))
    if y.shape != (samples,):
        raise ValueError(f"y_pred has shape {y.shape} but log_likelihood has {samples} samples")
    bad = np.flatnonzero((y < 0) | (y >= symbols))
    if bad.size:
        raise ValueError(
            f"y_pred[{bad[0]}] is {y[bad[0]]} but there are {symbols} symbols, 0 to {symbols - 1} "
            f"({bad.size} such predictions); set num_symbols, or leave these samples out"
        )
    given = np.asarray(1.0 if alpha is None else alpha, np.float64)
    if given.ndim and given.shape != (classes, symbols):
        raise ValueError(f"alpha has shape {given.shape}; give one number or shape {(classes, symbols)}")
    if not (np.isfinite(given) & (given >= _SMALLEST_ALPHA)).all():
        raise ValueError(f"alpha must be finite and at least {_SMALLEST_ALPHA}; its minimum is {given.min()}")
    return log_lik, y.astype(np.int64), np.broadcast_to(given, (classes, symbols)).copy()
