"""One multi-class data set in, the posterior of its metrics out: the methods of Su 2.7 under one name.

`method`           what it is
"bayes"            draws from the exact posterior; the operating matrix K is integrated out (default)
"sampling"         Algorithm 4: K by sampling, then plugged in; normal laws (2.7.2)
"exact_means"      what "sampling" tends to with many draws, without sampling; exact laws given K
"plug_in"          K by EM (expected counts divided by their row sums); exact laws given K
"labels"           multi-class Algorithm 3: hard labels; no uncertainty
"no_predictions"   predictions not exploited (K uniform); exact laws given it

Plugging K in leaves out that K is itself uncertain: its intervals are too short where a class is rare or the
labels are poor, see benchmarks/su_multiclass.py. Metrics that involve several classes (macro averages, kappa,
MCC) have no closed law given K, and are taken from joint draws of the count table; so all metrics of one
result are drawn together. With two classes, `binary` gives "bayes" without sampling.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jtruth._host import log
from jtruth._random import stream
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.testing import _multiclass_steps as steps
from jtruth.testing._multiclass_labelers import LabelerTables, labeler_tables
from jtruth.testing._multiclass_laws import PlugIn
from jtruth.testing._multiclass_steps import ConfusionFit
from jtruth.testing.count_posterior import CountDraws, checked_inputs, count_posterior
from jtruth.testing.multiclass_metrics import named_metric
from jtruth.testing.plug_in import point_estimate

__all__ = [
    "METHODS",
    "ConfusionFit",
    "LabelerTables",
    "MulticlassPosterior",
    "labeler_tables",
    "multiclass_posterior",
]

METHODS = ("bayes", "sampling", "exact_means", "plug_in", "labels", "no_predictions")


class MulticlassPosterior(NamedTuple):
    """Posterior of the metrics of one data set with any number of classes."""

    method: str
    estimate: Callable[[str], Estimate]  # metric name ("accuracy", "macro_f1", "recall[2]") -> its law
    cell: Callable[[int, int], Estimate]  # l, n -> law of C[l, n], the samples of class l predicted n
    rate: Callable[[int, int], Estimate]  # l, n -> law of K[l, n] = C[l, n] / (samples of class l)
    counts: Int[np.ndarray, "draws classes symbols"]  # joint draws of C; of "labels", the one table
    confusion: Float[np.ndarray, "classes symbols"]  # K: plugged in, or its posterior mean
    fit: ConfusionFit | CountDraws | None  # how K was found: converged, number of steps or sweeps
    warnings: tuple[str, ...]
    classes: tuple[str, ...]  # the names that metric names use

    def joint(self, *metrics: str) -> Float[np.ndarray, "draws metrics"]:
        """Joint draws of several metrics by name; NaN where one is undefined."""
        found = [named_metric(metric, self.classes)(self.counts) for metric in metrics]
        return np.stack(found, axis=1).astype(np.float64)


def multiclass_posterior(
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    prior: Float[Array | np.ndarray, " classes"],
    y_pred: Int[Array | np.ndarray, " samples"],
    *,
    key: Key[Array, ""],
    method: str = "bayes",
    num_symbols: int | None = None,
    alpha: Float[Array | np.ndarray, "classes symbols"] | float = 1.0,
    num_draws: int = 4000,
    classes: Sequence[Any] | None = None,
) -> MulticlassPosterior:
    """Posterior of the metrics by a named method.

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c); a known class is a row with 0 and -inf.
        prior: (classes,), sums to 1.
        y_pred: (samples,) predicted symbols 0..num_symbols-1.
        key: JAX random key.
        method: see the module docstring.
        num_symbols: number of symbols; the number of classes if None.
        alpha: Dirichlet concentration of the rows of K, (classes, symbols) or one number ("bayes" only).
        num_draws: joint draws of the count table. (Algorithm 4 itself always uses 2500 a class.)
        classes: names of the classes in metric names, "recall[cat]"; 0, 1, ... if None.

    Raises:
        ValueError: unknown method, bad prior, predictions, alpha or sizes, or impossible samples.

    Example:
        >>> import jax, numpy as np
        >>> log_lik = np.log([[.8, .1, .1], [.1, .8, .1], [.1, .1, .8], [.8, .1, .1]])
        >>> prior, y_pred, key = np.full(3, 1 / 3), np.array([0, 1, 2, 1]), jax.random.key(0)
        >>> found = multiclass_posterior(log_lik, prior, y_pred, key=key, method="exact_means")
        >>> print(f"{found.estimate('accuracy').mean:.3f}")
        0.799
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}; choose one of {', '.join(METHODS)}")
    log_lik, y, concentration = checked_inputs(log_likelihood, prior, y_pred, num_symbols, alpha)
    num_classes, symbols = concentration.shape
    names = tuple(map(str, range(num_classes) if classes is None else classes))
    if len(names) != num_classes:
        raise ValueError(f"{len(names)} class names for {num_classes} classes")
    if method == "bayes":
        found = count_posterior(
            log_lik,
            np.asarray(prior),
            y,
            key=key,
            num_symbols=symbols,
            alpha=concentration,
            num_draws=num_draws,
        )
        return _bayes(found, names)
    log_rho = log_lik + log(np.asarray(prior, np.float64))
    with jax.enable_x64(True):
        x, y_jax = jnp.asarray(log_rho, jnp.float64), jnp.asarray(y, jnp.int32)
        if method == "no_predictions":
            fit, confusion = None, jnp.full((num_classes, symbols), 1.0 / symbols, jnp.float64)
        else:
            fit = _fit(key, x, y_jax, method=method, num_symbols=symbols)
            confusion = fit.confusion
        log_p = np.asarray(steps.log_testing_posterior(x, y_jax, confusion))
        draws_key = stream(key, "table draws")
        counts = np.asarray(_draw(draws_key, x, y_jax, confusion, num_draws=num_draws))
    fit = jax.tree.map(np.asarray, fit)
    if method == "labels":
        return _labels(log_p, y, np.asarray(confusion), fit, names)
    laws = PlugIn(log_p, y, normal=method == "sampling")

    def estimate(metric: str) -> Estimate:
        law = laws.estimate(metric, names)
        return DrawsEstimate(np.asarray(named_metric(metric, names)(counts), float)) if law is None else law

    return MulticlassPosterior(
        method,
        estimate,
        laws.cell,
        laws.rate,
        counts,
        np.asarray(confusion),
        fit,
        _warnings(method, fit),
        names,
    )


def _fit_one(key, log_rho, y_pred, *, method: str, num_symbols: int) -> ConfusionFit:
    step = {
        "sampling": lambda: steps.sampling_step(key, log_rho, y_pred),
        "exact_means": lambda: steps.exact_step(log_rho, y_pred),
        "plug_in": lambda: steps.plug_in_step(log_rho, y_pred),
        "labels": lambda: steps.labels_step(log_rho, y_pred),
    }[method]()
    return steps.iterate(step, num_classes=log_rho.shape[1], num_symbols=num_symbols, dtype=log_rho.dtype)


_fit = jax.jit(_fit_one, static_argnames=("method", "num_symbols"))
_draw = jax.jit(steps.draw_tables, static_argnames="num_draws")


def _warnings(method: str, fit: ConfusionFit | None) -> tuple[str, ...]:
    if fit is None:
        return ("no_predictions ignores what the predictions say about the labels; it is a baseline",)
    first = "intervals take the operating matrix as known; use method='bayes' for intervals that cover"
    if method == "labels":
        first = "method='labels' takes its label estimates as true: it has no uncertainty"
    if bool(fit.converged):
        return (first,)
    return (first, f"the operating matrix did not converge in {int(fit.num_steps)} steps")


def _bayes(found: CountDraws, names: tuple[str, ...]) -> MulticlassPosterior:
    warnings = ()
    if not found.converged:
        warnings = (
            f"the draws did not converge in {found.num_sweeps} sweeps: largest R-hat "
            f"{np.nanmax(found.rhat):.3f}, smallest effective sample size {np.nanmin(found.ess):.0f}",
        )

    def estimate(metric: str) -> Estimate:
        return found.estimate(metric, names)

    mean = found.confusion.mean(axis=0)
    return MulticlassPosterior(
        "bayes", estimate, found.cell, found.rate, found.counts, mean, found, warnings, names
    )


def _labels(log_p, y_pred, confusion, fit: ConfusionFit, names: tuple[str, ...]) -> MulticlassPosterior:
    """Algorithm 3: everything is read off the most probable labels."""
    table = np.zeros(confusion.shape, np.int64)
    np.add.at(table, (log_p.argmax(axis=1), y_pred), 1)

    def estimate(metric: str) -> Estimate:
        return point_estimate(float(named_metric(metric, names)(table)))

    def cell(true: int, symbol: int) -> Estimate:
        return point_estimate(float(table[true, symbol]))

    def rate(true: int, symbol: int) -> Estimate:
        total = table[true].sum()
        return point_estimate(table[true, symbol] / total if total else float("nan"))

    warnings = _warnings("labels", fit)
    return MulticlassPosterior("labels", estimate, cell, rate, table[None], confusion, fit, warnings, names)
