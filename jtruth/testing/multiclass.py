"""Any number of classes: posterior of the count table, and of metrics given the matrix (Su 2.7).

`count_posterior` samples p(n, K | y_pred, z), where n[c, u] counts the samples of true class c that were
predicted u. It runs Gibbs sampling on the engine of `jtruth.latent`: y given K by (25), K given y conjugate.
The log-likelihood of the labels is the offset of the states, and the classifier is the only rater. For
Dirichlet rows with alpha >= 1 the likelihood of K with y summed out is log-concave: it has one mode. Three or
more classes have rows with a common prior (`jtruth.latent.models.alike`). Two classes have independent draws
of the exact chain (`binary.chain`), up to 20 000 samples.

`GivenMatrix` is 2.7.2. Given K the classes are independent with the density (25), so accuracy and the cells
of the table are sums of independent coin flips. A metric of one class l is a function of two such sums: A,
the samples of class l among those predicted n, and B, those among the others. `normal` makes the sums normal
and ratios ratios of normals, as the paper does. Metrics of several classes (macro averages, kappa, MCC) have
no closed distribution given K and use joint draws. Host side, float64.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_softmax

from jtruth._arrays import AnyArray, must_be_concrete
from jtruth._host import log, log_odds
from jtruth._random import seeded, stream
from jtruth._validation.in_range import check_codes
from jtruth.latent import Digest, Effort, LatentModel, Observed, Raters, run_gibbs
from jtruth.latent.infer.kernel import Problem, draw_counts, state_probabilities
from jtruth.latent.models.alike import alike_classes, centre, log_prior
from jtruth.latent.rows import equal_rows, prediction_columns
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.chains import effective_sample_size, split_rhat
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import TableDraws
from jtruth.testing.binary.chain import checked_alpha, symbol_chain
from jtruth.testing.binary.empirical_bayes import ShareMoments, normal_estimate, normal_posterior
from jtruth.testing.binary.exact import dist_at
from jtruth.testing.binary.operating_point import collapse

_SMALLEST_ALPHA = 1e-2  # below, single probabilities underflow
_MANY_CELLS = 1000  # of a table, from which draws are thinned to the effort's `max_bytes`
# Tables mix in a few sweeps, and EM starts them at the only mode.
EFFORT = Effort(burn_in=50, min_sweeps=2000)
_CHAIN_DRAWS, _CHAIN_SAMPLES = 4000, 20_000  # of two classes; the chain's time grows with samples squared
PURE = "jtruth.testing.count_draws, or exact_counts for two classes"
_EXACT = 2**24  # counts below are exact in float32, which thinned draws are kept in


class CountDraws(TableDraws):
    """Draws from the posterior of the count table n and of the operating matrix K, chain after chain.

    `rhat` and `ess` have an entry for every cell, NaN where a cell never changes. `converged` looks at every
    cell, or of many classes at the diagonal and the size of every class. Independent draws (two classes) are
    one chain with R-hat NaN. `num_sweeps` counts all sweeps of a chain.
    """

    confusion: Float[np.ndarray, "draws classes symbols"]
    converged: bool
    num_chains: int
    num_sweeps: int
    # Log prior of the parameters that rows share, for `jtruth.stats.loo`.
    log_prior: Float[np.ndarray, " draws"] | None = None
    run: Any = None  # of NUTS, where the draws are by it

    @property
    def rhat(self) -> Float[np.ndarray, "classes symbols"]:
        """Split R-hat of every cell, computed on request: it may take longer than sampling."""
        if self.num_chains == 1:
            return np.full(self.counts.shape[1:], np.nan)
        return split_rhat(self._by_chain(), groups=4)

    @property
    def ess(self) -> Float[np.ndarray, "classes symbols"]:
        """Effective sample size of every cell, computed on request."""
        if self.num_chains == 1:
            return np.where(np.ptp(self.counts, axis=0) > 0, float(len(self.counts)), np.nan)
        return effective_sample_size(self._by_chain())

    def _by_chain(self) -> np.ndarray:
        return self.counts.reshape(self.num_chains, -1, *self.counts.shape[1:])


@seeded
def count_posterior(
    log_likelihood: Float[AnyArray, "samples classes"],
    prior: Float[AnyArray, " classes"],
    y_pred: Int[AnyArray, " samples"],
    *,
    key: Any = None,
    num_symbols: int | None = None,
    alpha: Float[AnyArray, "classes symbols"] | float | int | None = None,
    effort: Effort = EFFORT,
) -> CountDraws:
    """Draw the count table and K from their joint posterior.

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c); a known class is a row with 0 and -inf.
        prior: (classes,), sums to 1.
        y_pred: (samples,) predicted symbols 0..num_symbols-1.
        key: a whole number or a JAX key; 0 if None.
        num_symbols: number of symbols; the number of classes if None.
        alpha: concentration of the Dirichlet prior of each row of K, (classes, symbols) or one number. None:
            1, or a learned common prior where three or more classes are the symbols.
        effort: when to stop.

    Raises:
        ValueError: bad prior, predictions, alpha or sizes, or samples that are impossible under every class.

    >>> import jax, numpy as np
    >>> log_lik = np.log([[.8, .1, .1], [.1, .8, .1], [.1, .1, .8], [.8, .1, .1]])
    >>> found = count_posterior(log_lik, np.full(3, 1 / 3), np.array([0, 1, 2, 1]), key=jax.random.key(0))
    >>> found.counts.shape[1:], found.converged, round(found.estimate("accuracy").mean, 1)
    ((3, 3), True, 0.8)
    """
    must_be_concrete("count_posterior", PURE, log_likelihood, prior, y_pred, key)
    log_lik, prior, y, concentration = checked_inputs(log_likelihood, prior, y_pred, num_symbols, alpha)
    key, shape = stream(key, "count posterior"), concentration.shape
    classes, symbols = shape
    if classes == 2 and y.size <= _CHAIN_SAMPLES:  # independent draws: nothing has to converge
        chain = symbol_chain(log_odds(log_lik, prior), y, symbols, concentration)
        number = max(effort.min_sweeps, _CHAIN_DRAWS)
        counts = chain.tables(key, number).counts
        rows = chain.shares(counts[:, 1], stream(key, "rows of a count posterior"))
        return CountDraws(counts, rows, True, 1, number)
    learned = alpha is None and classes == symbols > 2
    log_rho = class_dist(log_lik, prior)
    model, observed = table_problem(log_rho, y, concentration, learned=learned)
    with np.errstate(under="ignore"):
        start = np.exp(observed.offset)
    digest = _digest(classes, symbols, y.size)
    run = run_gibbs(model, observed, key=key, start=start, digest=digest, effort=effort)
    counts = run.draws["counts"] if "counts" in run.draws else run.large["counts"].astype(np.int64)
    confusion = run.large["confusion"].astype(np.float64)
    counts = counts[:, :: -(-counts.shape[1] // confusion.shape[1])]
    family, done, chains = model.raters[0].alike, run.convergence, len(counts)
    of_family = None if family is None else log_prior(family, run.large["families0"]).ravel()
    counts, confusion = counts.reshape(-1, *shape), confusion.reshape(-1, *shape)
    return CountDraws(counts, confusion, done.converged, chains, done.num_sweeps // chains, of_family)


def class_dist(log_lik: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log p(y_i = c | z_i) (21), (samples, classes)."""
    return log_softmax(log_lik + log(prior), axis=1)


def table_problem(
    log_rho: Float[np.ndarray, "samples classes"],
    y_pred: Int[np.ndarray, " samples"],
    concentration: Float[np.ndarray, "classes symbols"],
    *,
    learned: bool,
) -> tuple[LatentModel, Observed]:
    """The engine's input: one rater, the classifier; equal samples are merged."""
    classes, symbols = concentration.shape
    codes = [np.unique(column, return_inverse=True)[1] for column in log_rho.T]
    first, row, count = equal_rows(np.stack([*codes, y_pred], axis=1))
    raters = Raters(concentration[None], np.arange(classes))
    if learned:
        family = alike_classes(np.bincount(y_pred, minlength=classes))
        raters = raters._replace(prior=centre(family), alike=family)
    model = LatentModel(np.ones(classes), (raters,), class_fixed=True)  # the prior is inside log_rho
    symbols_of = (prediction_columns(y_pred[first], symbols),)
    return model, Observed(symbols_of, count.astype(np.float64), log_rho[first].T.copy(), row)


def draw_tables(
    problem: Problem, confusion: Float[np.ndarray, "draws classes symbols"], rng: np.random.Generator
) -> Int[np.ndarray, "draws classes symbols"]:
    """Count tables of classes drawn from (25) for each K; `problem` is that of `table_problem`."""
    p = state_probabilities(problem, log(confusion.reshape(len(confusion), -1)))
    tables = draw_counts(problem, p, rng)  # (symbols, classes, draws)
    return np.rint(tables.transpose(2, 1, 0)).astype(np.int64)


def _digest(classes: int, symbols: int, samples: int) -> Digest:
    """Which parts of the draws to keep, and which must converge."""
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
    log_likelihood, prior, y_pred, num_symbols=None, alpha=None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(log_likelihood, prior, y_pred, alpha) as arrays, or ValueError."""
    log_lik, y = np.asarray(log_likelihood, np.float64), np.asarray(y_pred)
    samples, classes = log_lik.shape
    symbols = classes if num_symbols is None else num_symbols
    prior = np.asarray(validate_prior(prior, classes), np.float64)
    check_not_contradictory(log_lik, prior=prior)
    check_codes(y, symbols, "y_pred", size=samples)
    alpha = checked_alpha(1.0 if alpha is None else alpha, (classes, symbols), _SMALLEST_ALPHA)
    return log_lik, prior, y.astype(np.int64), alpha


class GivenMatrix(TableDraws):
    """Posterior of the table given K.

    `log_p` is the logarithm of (25); `normal` uses the central limit theorem, else distributions are exact.
    `counts` are joint draws of the table, for pairs of metrics and metrics of several classes.
    """

    log_p: Float[np.ndarray, "samples classes"]
    y_pred: Int[np.ndarray, " samples"]
    normal: bool

    def cell(self, true: int, symbol: int) -> Estimate:
        """Distribution of C[l, n]."""
        chosen = self.y_pred == symbol
        if not self.normal:
            return self._exact(self._is_class(true), chosen).count_dist(0)
        m, n = self._moments(self._is_class(true), chosen), chosen.size
        return normal_estimate(m.mean_u * n, m.var_u * n**2)

    def rate(self, true: int, symbol: int) -> Estimate:
        """Distribution of K[l, n] = C[l, n] / (number of samples of class l)."""
        return self._binary(named_metric("recall"), self._is_class(true), self.y_pred == symbol)

    def estimate(self, metric: str | Metric) -> Estimate:
        """Posterior of accuracy or of a ratio of one class in closed form, of others by the draws."""
        metric = self.metric(metric)
        if metric.is_ratio and metric.position is not None:
            chosen = self.y_pred == metric.position
            return self._binary(metric.alone, self._is_class(metric.position), chosen)
        if metric.name != "accuracy":
            return super().estimate(metric)
        right = self.y_pred[:, None] == np.arange(self.shape[0])[None, :]
        return self._binary(named_metric("accuracy"), right, np.ones(len(right), bool))

    def _binary(self, metric: Metric, inside: np.ndarray, chosen: np.ndarray) -> Estimate:
        """Posterior of a two-class metric: `inside` (samples, classes) positive, `chosen` predicted."""
        if self.normal:
            return normal_posterior(self._moments(inside, chosen), metric)
        return self._exact(inside, chosen).estimate(metric)

    def _is_class(self, true: int) -> Bool[np.ndarray, "1 classes"]:
        return np.arange(self.shape[0])[None] == true

    def _split(self, inside: np.ndarray) -> list[np.ndarray]:
        """Log probabilities inside and outside, each from its own sum to avoid cancellation."""
        with np.errstate(divide="ignore"):
            parts = (np.where(part, self.log_p, -np.inf) for part in (inside, ~inside))
            return [np.logaddexp.reduce(part, axis=1) for part in parts]

    def _exact(self, inside: np.ndarray, chosen: np.ndarray):
        """Posterior of (A, B); the log-odds contain (25) already, so the point is (1/2, 1/2)."""
        positive, negative = self._split(inside)
        return dist_at(collapse(positive - negative, chosen.astype(np.int64)), 0.5, 0.5)

    def _moments(self, inside: np.ndarray, chosen: np.ndarray) -> ShareMoments:
        p, not_p = map(np.exp, self._split(inside))
        parts, n = (chosen, ~chosen), chosen.size
        (u, v), (var_u, var_v) = ([terms[part].sum() for part in parts] for terms in (p, p * not_p))
        return ShareMoments(u / n, var_u / n**2, v / n, var_v / n**2, chosen.mean())
