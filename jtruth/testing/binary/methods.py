"""One binary data set in, the posterior of its metrics out: the methods of Su 2.1-2.6 under one name.

`method`            what it is
"bayes"             exact posterior; the operating point is integrated out (default)
"empirical_bayes"   Algorithm 1: operating point by ratios of normals, then plugged in
"sampling"          Algorithm 2: operating point by sampling, metrics of 5000 drawn label vectors
"exact_means"       operating point by exact conditional means, then exact laws given it
"labels"            Algorithm 3: hard labels; no uncertainty
"no_predictions"    predictions not exploited (operating point 1/2, 1/2); exact laws given it
"prior_marginal"    the paper's 2.6.2, weighted by the prior of the operating point; a baseline

Majority vote and single labelers need the votes and live in `baselines`.
"""

from contextlib import suppress

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jtruth._random import stream
from jtruth.tables.posterior import TableDraws
from jtruth.testing.baselines import prior_marginal_table
from jtruth.testing.binary import empirical_bayes as eb
from jtruth.testing.binary.exact import CountTable, count_table
from jtruth.testing.binary.large import NotSmooth, SmoothTable, smooth_table
from jtruth.testing.binary.log_odds_grid import FROM_VALUES, merged_samples, on_grid
from jtruth.testing.binary.operating_point import BetaPrior, LogOdds, collapse, most_probable
from jtruth.testing.binary.plug_in import NormalTable, law_at
from jtruth.testing.binary.ridge import node_table, window_cells
from jtruth.testing.tested import Tested

BINARY_METHODS = (
    "bayes",
    "empirical_bayes",
    "sampling",
    "exact_means",
    "labels",
    "no_predictions",
    "prior_marginal",
)
NUM_DRAWS = 5000
_LARGEST_TABLE = 5_000_000  # cells that are written down: .04 GB for each array of them
_LARGE_TABLE = 150_000  # cells above which the posterior is computed by quadrature where that is possible


def exact_posterior(data: LogOdds, prior: BetaPrior = BetaPrior()) -> CountTable | SmoothTable:
    """The exact posterior of the counts: a table, or quadrature when the table would be very large."""
    gridded = on_grid(data)
    mode = most_probable(gridded, prior)
    cells = float(np.prod(18.0 * np.sqrt(np.diag(mode.count_covariance)) + 12.0))
    if cells > _LARGE_TABLE:
        with suppress(NotSmooth):
            return smooth_table(data, prior, gridded=gridded)
        if window_cells(gridded, mode) > _LARGEST_TABLE:
            return node_table(data, gridded, mode, prior)
    as_it_was = gridded.x1 is data.x1 and gridded.x0 is data.x0
    return count_table(data, prior, mode if as_it_was else None)


def binary_posterior(
    log_odds: Float[np.ndarray, " samples"],
    y_pred: Int[np.ndarray, " samples"],
    *,
    method: str = "bayes",
    operating_point_prior: BetaPrior = BetaPrior(),
    mean: str = "second_order",
    key: Key[Array, ""] | None = None,
) -> Tested:
    """Posterior of the metrics by a named method.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), float64, +-inf where certain.
        y_pred: (samples,) predictions, 0 or 1.
        method: see the module docstring.
        operating_point_prior: Beta priors of p_D and p_FA ("bayes" only).
        mean: of "empirical_bayes": see `empirical_bayes.ratio_mean`.
        key: PRNG key, needed by "sampling".

    Raises:
        ValueError: unknown method, or "sampling" without a key.
    """
    if method not in BINARY_METHODS:
        raise ValueError(f"method={method!r}; choose one of {', '.join(BINARY_METHODS)}")
    if method == "sampling" and key is None:
        raise ValueError(
            'method="sampling" draws random numbers: give key=jax.random.key(0), or another seed'
        )
    data = collapse(np.asarray(log_odds, np.float64), np.asarray(y_pred))
    if method == "bayes":
        return _of_table(method, exact_posterior(data, operating_point_prior))
    if method == "prior_marginal":
        warning = "prior_marginal weights operating points by their prior, not by the data; it is a baseline"
        return _of_table(method, prior_marginal_table(data))._replace(warnings=(warning,))
    if method == "no_predictions":
        warning = "no_predictions ignores what the predictions say about the labels; it is a baseline"
        return _of_table(method, law_at(data, 0.5, 0.5))._replace(warnings=(warning,))
    with jax.enable_x64(True):
        x, y, weight = jnp.asarray(log_odds, jnp.float64), jnp.asarray(y_pred, jnp.int32), None
        if method in ("empirical_bayes", "exact_means") and max(data.x1.size, data.x0.size) >= FROM_VALUES:
            x, y, weight = merged_samples(on_grid(data))
        fit = jax.tree.map(np.asarray, _fit(x, y, key, method, mean, weight))
        return _plugged_in(method, data, x, y, fit, key, weight)


def _of_table(method: str, table: CountTable | SmoothTable) -> Tested:
    return Tested(method, table, None, table.log_evidence, ())


def _fit_one(x, y, key, method, mean, weight):
    steps = {
        "empirical_bayes": lambda: eb.ratio_step(x, y, mean=mean, weight=weight),
        "exact_means": lambda: eb.exact_step(x, y, weight=weight),
        "labels": lambda: eb.labels_step(x, y),
        "sampling": lambda: eb.sampling_step(key, x, y, num_draws=NUM_DRAWS),
    }
    return eb.iterate(steps[method](), dtype=x.dtype)


_fit = jax.jit(_fit_one, static_argnames=("method", "mean"))


def _plugged_in(method, data: LogOdds, x, y, fit: eb.OperatingPointFit, key, weight) -> Tested:
    d, f = float(fit.p_detection), float(fit.p_false_alarm)
    point = jnp.stack([jnp.asarray(d, x.dtype), jnp.asarray(f, x.dtype)])
    warnings = ("intervals take the operating point as known; use method='bayes' for intervals that cover",)
    if not bool(fit.converged):
        warnings += (f"the operating point did not converge in {int(fit.num_steps)} steps",)
    table = law_at(data, d, f)
    exact = _of_table(method, table)._replace(fit=fit, warnings=warnings)
    if method == "exact_means":
        return exact
    if method == "labels":
        labels = np.asarray(eb.map_labels(x, y, point), np.int64)
        one = np.zeros((1, 2, 2), np.int64)
        np.add.at(one[0], (labels, np.asarray(y)), 1)
        none = ("method='labels' takes its label estimates as true: it has no uncertainty",)
        return exact._replace(table=TableDraws(one), warnings=none + warnings[1:])
    if method == "sampling":
        counts = np.asarray(eb.draw_counts(stream(key, "binary draws"), x, y, point, NUM_DRAWS))
        return exact._replace(table=TableDraws(counts[:, [3, 1, 2, 0]].reshape(-1, 2, 2).astype(np.int64)))
    moments = eb.ShareMoments(*(float(v) for v in eb.moments(x, y, point, weight)))
    return exact._replace(table=NormalTable(moments, table))
