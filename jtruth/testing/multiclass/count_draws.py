"""The posterior of the count table of a classifier with any number of classes and symbols (Su 2.7).

n[c, u] counts the samples of true class c that were predicted u. With row c of the operating matrix K
~ Dirichlet(alpha[c]), labels z of known noise and a known class prior,

    p(n, K | y_pred, z)  is sampled exactly by Gibbs: y given K by (25), K given y conjugate.

Every metric of hard predictions is a function of n, so joint draws of all metrics come with it. The symbol
need not be a class: score bins, pairs of predictions and "abstain" work the same. For alpha >= 1 the
likelihood of K with y summed out is log-concave, so there is one mode, and chains cannot stick in others.

With two classes and two symbols `exact.count_table` gives the same law without sampling.
"""

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jtruth._arrays import safe_log
from jtruth._random import host_rng
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.chains import effective_sample_size, split_rhat
from jtruth.tables.posterior import TableDraws
from jtruth.testing.multiclass import _gibbs as gibbs

_MAX_RHAT = 1.01
_OVERDISPERSION = 4.0  # chains start with this many times the variance of a row given its classes
_SMALLEST_ALPHA = 1e-2  # below, single probabilities underflow


class CountDraws(TableDraws):
    """Draws from the posterior of the count table n and of the operating matrix K, chain after chain.

    `rhat` and `ess` are those of every cell of the table and, where symbols are classes, NaN for a cell that
    never changes. `num_sweeps` counts all sweeps of a chain, `num_chains` the chains.
    """

    confusion: Float[np.ndarray, "draws classes symbols"]
    rhat: Float[np.ndarray, "classes symbols"]
    ess: Float[np.ndarray, "classes symbols"]
    converged: bool
    num_chains: int
    num_sweeps: int


def count_posterior(
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    prior: Float[Array | np.ndarray, " classes"],
    y_pred: Int[Array | np.ndarray, " samples"],
    *,
    key: Key[Array, ""],
    num_symbols: int | None = None,
    alpha: Float[Array | np.ndarray, "classes symbols"] | float = 1.0,
    num_draws: int = 4000,
    num_chains: int = 4,
    min_ess: float = 400.0,
    max_sweeps: int = 64_000,
) -> CountDraws:
    """Draws of the count table and of K from their joint posterior.

    A run of num_draws / num_chains sweeps a chain is tried first. While split R-hat of a cell of the table
    exceeds 1.01 or its effective sample size is below `min_ess`, the next run is as long as all before it
    together, which serve as its warm-up, and is thinned to the same number of draws.

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c); a known class is a row with 0 and -inf.
        prior: (classes,), sums to 1.
        y_pred: (samples,) predicted symbols 0..num_symbols-1.
        key: JAX random key; the same key gives the same draws.
        num_symbols: number of symbols; the number of classes if None.
        alpha: concentration of the Dirichlet prior of each row of K, (classes, symbols) or one number.
        num_draws: draws returned, a multiple of `num_chains`, at least 2 `min_ess`. Give a few thousand: the
            R-hat of fewer draws is too noisy to fall below 1.01, however good they are.
        num_chains: chains, each from its own start, wider than the posterior given the classes.
        min_ess: effective sample size asked for.
        max_sweeps: the most sweeps of a chain after the first run; `converged` is False if too few.

    Raises:
        ValueError: bad prior, predictions, alpha or sizes, or samples that are impossible under every class.

    Example:
        >>> import jax, numpy as np
        >>> log_lik = np.log([[.8, .1, .1], [.1, .8, .1], [.1, .1, .8], [.8, .1, .1]])
        >>> found = count_posterior(log_lik, np.full(3, 1 / 3), np.array([0, 1, 2, 1]), key=jax.random.key(0))
        >>> found.counts.shape, found.converged, bool(0.5 < found.estimate("accuracy").mean < 0.8)
        ((4000, 3, 3), True, True)
    """
    log_lik, y, concentration = checked_inputs(log_likelihood, prior, y_pred, num_symbols, alpha)
    if num_chains < 1 or num_draws < 4 * num_chains or num_draws % num_chains:
        raise ValueError(
            f"num_draws is {num_draws} for {num_chains} chains; give a multiple of num_chains, 4 draws or "
            "more for each"
        )
    if not 0 < min_ess <= num_draws / 2:
        raise ValueError(
            f"min_ess is {min_ess} for {num_draws} draws; it must be above 0 and at most half of them"
        )
    rng = host_rng(key, "count posterior")
    rows = gibbs.distinct_rows(log_lik, np.asarray(prior, np.float64), y, concentration.shape[1])
    centre = concentration + gibbs.starting_table(rows, concentration) / _OVERDISPERSION
    confusion = gibbs.draw_dirichlet(rng, np.broadcast_to(centre, (num_chains, *centre.shape)))
    length, stride, sweeps = num_draws // num_chains, 1, 0
    # The first run has a warm-up too: half its length.
    if length >= 8:
        confusion = gibbs.run_block(rng, rows, concentration, confusion, 1, length // 2).confusion[:, -1]
        sweeps = length // 2
    while True:
        block = gibbs.run_block(rng, rows, concentration, confusion, length, stride)
        confusion, sweeps = block.confusion[:, -1], sweeps + length * stride
        rhat, ess = split_rhat(block.counts), effective_sample_size(block.counts)
        # NaN: a cell that never changed, which has nothing to converge.
        converged = not bool((rhat > _MAX_RHAT).any() or (ess < min_ess).any())
        stride = -(-sweeps // length)
        if converged or sweeps + length * stride > max_sweeps:
            break
    flat = (num_draws, *concentration.shape)
    return CountDraws(
        block.counts.reshape(flat), block.confusion.reshape(flat), rhat, ess, converged, num_chains, sweeps
    )


def checked_inputs(
    log_likelihood, prior, y_pred, num_symbols, alpha
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log_likelihood, y_pred, alpha) as NumPy arrays, or ValueError."""
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
    given = np.asarray(alpha, np.float64)
    if given.ndim and given.shape != (classes, symbols):
        raise ValueError(f"alpha has shape {given.shape}; give one number or shape {(classes, symbols)}")
    if not (np.isfinite(given) & (given >= _SMALLEST_ALPHA)).all():
        raise ValueError(f"alpha must be finite and at least {_SMALLEST_ALPHA}; its minimum is {given.min()}")
    return log_lik, y.astype(np.int64), np.broadcast_to(given, (classes, symbols)).copy()


def collapsed_log_likelihood(
    log_likelihood: Float[Array, "samples classes"],
    log_prior: Float[Array, " classes"],
    y_pred: Int[Array, " samples"],
    confusion: Float[Array, "classes symbols"],
) -> Float[Array, ""]:
    """log p(y_pred | z; K) = sum_i log sum_c p(y_i = c | z_i) K[c, y_pred_i], concave in K.

    With the true classes summed out. Pure JAX; jit, vmap and differentiate it. As a function of K this is
    also log p(y_pred, z; K), up to the constant log p(z) = sum_i log sum_c prior[c] p(z_i | c), which is
    taken off each sample because it would cost digits in float32; it must be added back where the noise
    model varies too.
    """
    joint = log_likelihood + log_prior[None, :]
    with_prediction = joint + safe_log(confusion).T[y_pred]
    logsumexp = jax.scipy.special.logsumexp
    return (logsumexp(with_prediction, axis=1) - logsumexp(joint, axis=1)).sum()
