"""Posterior of the metrics of one data set, by the methods of Su under their names.

Two classes (2.1-2.6):

`method`            what it is
"bayes"             exact posterior; the operating point is integrated out (default)
"empirical_bayes"   Algorithm 1: operating point by ratios of normals, then plugged in
"sampling"          Algorithm 2: operating point by sampling, metrics of 5000 drawn label vectors
"exact_means"       operating point by exact conditional means, then exact distributions given it
"labels"            Algorithm 3: hard labels; no uncertainty
"no_predictions"    predictions not exploited (operating point 1/2, 1/2); exact distributions given it
"prior_marginal"    the paper's 2.6.2, weighted by the prior of the operating point; a baseline

Any number of classes (2.7), where K is the operating matrix:

"bayes"             draws from the exact posterior; K is integrated out (default)
"sampling"          Algorithm 4: K by sampling, then plugged in; normal distributions (2.7.2)
"exact_means"       the limit of "sampling" for many draws; exact distributions given K
"plug_in"           K by EM (expected counts divided by their row sums); exact distributions given K
"labels"            multi-class Algorithm 3: hard labels; no uncertainty
"no_predictions"    predictions not exploited (K uniform); exact distributions given it

Plugging in ignores the uncertainty of the point or of K: intervals are too short where a class is rare or the
labels are poor.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import AnyArray, must_be_concrete
from jtruth._host import log
from jtruth._one_line import one_line
from jtruth._random import as_key, seeded, stream
from jtruth._validation import choose
from jtruth.stats.estimates import Estimate
from jtruth.stats.ratio_of_normals import MEANS
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import JointDensity, JointEstimate, TableDraws, TablePosterior
from jtruth.testing import steps
from jtruth.testing.baselines import prior_marginal_table
from jtruth.testing.binary import empirical_bayes as eb
from jtruth.testing.binary.empirical_bayes import NormalTable
from jtruth.testing.binary.exact import dist_at, exact_posterior
from jtruth.testing.binary.operating_point import FROM_VALUES, LogOdds, collapse, merged_samples, on_grid
from jtruth.testing.multiclass import EFFORT, PURE, CountDraws, GivenMatrix, checked_inputs, count_posterior

BINARY_METHODS = (
    "bayes",
    "empirical_bayes",
    "sampling",
    "exact_means",
    "labels",
    "no_predictions",
    "prior_marginal",
)
MULTICLASS_METHODS = ("bayes", "sampling", "exact_means", "plug_in", "labels", "no_predictions")
_DRAWS = 4000  # of the count table given K; "bayes" takes as many as it needs
_NO_PREDICTIONS = "The baseline no_predictions does not use the predictions to judge labels."
_PRIOR_MARGINAL = "The baseline prior_marginal weights operating points by their prior, not by the data."


class Tested(NamedTuple):
    """Posterior of the count table of one data set by one method.

    `estimate` and `joint` take names of metrics with the names of the classes in them; `table` has the rest.
    """

    method: str
    table: TablePosterior
    fit: steps.FixedPoint | CountDraws | None  # with `converged`
    log_evidence: float  # log p(y_pred | z): operating point integrated out, or plugged in; NaN if neither
    warnings: tuple[str, ...]
    classes: tuple[str, ...] = ("0", "1")  # names of the rows of the table
    positive: int | None = None  # the class that "recall" means; the second of two if None

    __repr__ = one_line

    def estimate(self, metric: str | Metric) -> Estimate:
        """Distribution of a metric by name ("accuracy", "f2", "macro_f1", "recall[cat]")."""
        return self.table.estimate(self._metric(metric) if isinstance(metric, str) else metric)

    def joint(self, first: str, second: str) -> JointEstimate | JointDensity:
        """Joint distribution of two metrics by name."""
        return self.table.joint(self._metric(first), self._metric(second))

    def _metric(self, name: str) -> Metric:
        return named_metric(name, self.classes, self.positive)


@seeded
def binary_posterior(
    log_odds: Float[np.ndarray, " samples"],
    y_pred: Int[np.ndarray, " samples"],
    *,
    method: str = "bayes",
    point: tuple[float, float] | None = None,
    mean: str | None = None,
    key: Any = None,
) -> Tested:
    """Posterior of the metrics of two classes by a named method.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), float64, +-inf where certain.
        y_pred: (samples,) predictions, 0 or 1.
        method: see the module docstring.
        point: an operating point (p_D, p_FA) to plug in, for the methods that would look for one;
            "empirical_bayes" has the joint posteriors (17) and (18) there.
        mean: of the ratios in Algorithm 1, "second_order" if None; see `jtruth.stats.ratio_mean`.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: unknown names, a point that is not inside (0, 1), or a `point` or `mean` that the method
            does not use.
    """
    must_be_concrete("binary_posterior", PURE, log_odds, y_pred)
    choose("method", method, BINARY_METHODS)
    _check_plugged_in(method, point, mean)
    data = collapse(np.asarray(log_odds, np.float64), np.asarray(y_pred))
    if method == "bayes":
        table, warnings = exact_posterior(data), ()
    elif method == "prior_marginal":
        table, warnings = prior_marginal_table(data), (_PRIOR_MARGINAL,)
    elif method == "no_predictions":
        table, warnings = dist_at(data, 0.5, 0.5), (_NO_PREDICTIONS,)
    else:
        return _plugged_in(data, log_odds, y_pred, method, as_key(key), point, mean)
    return Tested(method, table, None, table.log_evidence, warnings)


def _check_plugged_in(method: str, point: Any, mean: str | None) -> None:
    """Refuse an invalid point, and options that the method does not use."""
    if point is not None and method in ("bayes", "no_predictions", "prior_marginal"):
        raise ValueError(f"method={method!r} uses no operating point; leave out point={point}")
    if point is not None and not (np.shape(point) == (2,) and all(0 < p < 1 for p in point)):
        raise ValueError(f"point is {point}; give (p_D, p_FA), two numbers above 0 and below 1")
    if mean is not None and (method != "empirical_bayes" or point is not None):
        raise ValueError(f"mean={mean!r} is used by method='empirical_bayes' without a point only")
    choose("mean", mean or MEANS[0], MEANS)


def _plugged_in(
    data: LogOdds, log_odds: Any, y_pred: Any, method: str, key: Any, at: Any, mean: str | None
) -> Tested:
    """The operating point, as passed or by an iteration, and the posterior given it."""
    with jax.enable_x64(True):
        x, y, weight = jnp.asarray(log_odds, jnp.float64), jnp.asarray(y_pred, jnp.int32), None
        if method in ("empirical_bayes", "exact_means") and max(side.x.size for side in data) >= FROM_VALUES:
            x, y, weight = map(jnp.asarray, merged_samples(on_grid(data)))
        fit = None
        if at is None:
            fit = jax.tree.map(np.asarray, _fit(key, x, y, weight, method=method, mean=mean or MEANS[0]))
        point = jnp.asarray(at if fit is None else fit.value, jnp.float64)
        exact = table = dist_at(data, *map(float, point))
        if method in ("labels", "sampling"):
            table = _drawn(
                method, stream(key, "binary draws"), eb.class_dist(x), y, eb.matrix_of(point), 5000
            )
        elif method == "empirical_bayes":
            shares = eb.ShareMoments(*map(float, eb.moments(x, y, point, weight)))
            table = NormalTable(**vars(exact), moments=shares)
    return Tested(method, table, fit, exact.log_evidence, _warnings(method, fit, "point"))


@seeded
def multiclass_posterior(
    log_likelihood: Float[AnyArray, "samples classes"],
    prior: Float[AnyArray, " classes"],
    y_pred: Int[AnyArray, " samples"],
    *,
    key: Any = None,
    method: str = "bayes",
    classes: Sequence[Any] | None = None,
) -> Tested:
    """Posterior of the metrics of any number of classes by a named method.

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c); a known class is a row with 0 and -inf.
        prior: (classes,), sums to 1.
        y_pred: (samples,) predicted classes.
        key, method: as of `binary_posterior`.
        classes: names of the classes in metric names, "recall[cat]"; 0, 1, ... if None.

    Raises:
        ValueError: bad prior, predictions or sizes, or impossible samples.

    >>> import jax, numpy as np
    >>> log_lik = np.log([[.8, .1, .1], [.1, .8, .1], [.1, .1, .8], [.8, .1, .1]])
    >>> prior, y_pred, key = np.full(3, 1 / 3), np.array([0, 1, 2, 1]), jax.random.key(0)
    >>> found = multiclass_posterior(log_lik, prior, y_pred, key=key, method="exact_means")
    >>> print(f"{found.estimate('accuracy').mean:.3f}")
    0.799
    """
    must_be_concrete("multiclass_posterior", PURE, log_likelihood, prior, y_pred)
    choose("method", method, MULTICLASS_METHODS)
    log_lik, prior, y, _ = checked_inputs(log_likelihood, prior, y_pred)
    num_classes = log_lik.shape[1]
    names = tuple(map(str, range(num_classes) if classes is None else classes))
    if len(names) != num_classes:
        raise ValueError(f"{len(names)} class names for {num_classes} classes")
    if method == "bayes":
        draws = count_posterior(log_lik, prior, y, key=key, effort=EFFORT)
        return Tested(method, draws, draws, float("nan"), converged_or_not(draws), names)
    key, log_rho = as_key(key), log_lik + log(prior)
    with jax.enable_x64(True):
        x, y_jax = jnp.asarray(log_rho, jnp.float64), jnp.asarray(y, jnp.int32)
        fit, confusion = None, jnp.asarray(steps.uniform_rows(num_classes))
        if method != "no_predictions":
            fit = _fit(key, x, y_jax, method=method)
            confusion = fit.confusion
        log_p = np.asarray(steps.log_testing_posterior(x, y_jax, confusion))
        table = _drawn(method, stream(key, "table draws"), x, y_jax, confusion, _DRAWS)
    fit = jax.tree.map(np.asarray, fit)
    if method != "labels":
        table = GivenMatrix(table.counts, log_p, y, method == "sampling")
    return Tested(method, table, fit, float("nan"), _warnings(method, fit, "matrix"), names)


@partial(jax.jit, static_argnames=("method", "mean"))
def _fit(key, x, y_pred, weight=None, *, method: str, mean: str = MEANS[0]) -> steps.FixedPoint:
    """The fixed point of a method; `x` is log-odds (samples,), of two classes, or log p(class | labels)."""
    two = x.ndim == 1
    log_rho = eb.class_dist(x) if two else x
    step = {
        "empirical_bayes": lambda: eb.ratio_step(x, y_pred, weight=weight, mean=mean),
        "sampling": lambda: steps.sampling_step(key, log_rho, y_pred),
        "exact_means": lambda: steps.exact_step(log_rho, y_pred, weight),
        "plug_in": lambda: steps.plug_in_step(log_rho, y_pred),
        "labels": lambda: steps.labels_step(log_rho, y_pred),
    }[method]()
    if two:
        step = step if method == "empirical_bayes" else eb.of_point(step)
        return steps.iterate(step, dtype=x.dtype)
    start = steps.uniform_rows(x.shape[1])
    return steps.iterate(step, dtype=x.dtype, start=start, max_steps=50)


_draw = jax.jit(steps.draw_tables, static_argnames="num_draws")


def _drawn(method: str, key: Any, log_rho: Array, y_pred: Array, confusion: Array, num: int) -> TableDraws:
    """Tables of `num` label vectors drawn from (25); for "labels" that of the most probable labels."""
    if method == "labels":
        return TableDraws(np.asarray(steps.labels_table(log_rho, y_pred, confusion)[None], np.int64))
    return TableDraws(np.asarray(_draw(key, log_rho, y_pred, confusion, num_draws=num), np.int64))


def _warnings(method: str, fit: Any, what: str) -> tuple[str, ...]:
    if method == "no_predictions":
        return (_NO_PREDICTIONS,)
    first = f"The intervals treat the operating {what} as known and are too narrow; method='bayes' does not."
    if method == "labels":
        first = "method='labels' takes its label estimates as true, so it has no uncertainty."
    if fit is None or bool(fit.converged):
        return (first,)
    return (first, f"The operating {what} did not converge in {int(fit.num_steps)} steps.")


def converged_or_not(draws: CountDraws) -> tuple[str, ...]:
    """A warning for draws that did not converge."""
    if draws.converged:
        return ()
    return (
        f"The draws did not converge in {draws.num_sweeps} sweeps: largest R-hat "
        f"{np.nanmax(draws.rhat):.3f}, smallest effective sample size {np.nanmin(draws.ess):.0f}.",
    )
