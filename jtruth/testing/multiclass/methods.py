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

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jtruth._host import log
from jtruth._random import stream
from jtruth.tables.posterior import TableDraws
from jtruth.testing.multiclass import steps
from jtruth.testing.multiclass._labelers import LabelerTables, labeler_tables
from jtruth.testing.multiclass._laws import GivenMatrix
from jtruth.testing.multiclass.count_draws import EFFORT, CountDraws, checked_inputs, count_posterior
from jtruth.testing.multiclass.steps import ConfusionFit
from jtruth.testing.tested import Tested

__all__ = [
    "MULTICLASS_METHODS",
    "ConfusionFit",
    "LabelerTables",
    "Tested",
    "labeler_tables",
    "multiclass_posterior",
]

_DRAWS = 4000  # of the count table; "bayes" takes as many as it needs, a step of Algorithm 4 2500 a class
MULTICLASS_METHODS = ("bayes", "sampling", "exact_means", "plug_in", "labels", "no_predictions")


def multiclass_posterior(
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    prior: Float[Array | np.ndarray, " classes"],
    y_pred: Int[Array | np.ndarray, " samples"],
    *,
    key: Key[Array, ""],
    method: str = "bayes",
    num_symbols: int | None = None,
    alpha: Float[Array | np.ndarray, "classes symbols"] | float | int | None = None,
    classes: Sequence[Any] | None = None,
) -> Tested:
    """Posterior of the metrics by a named method.

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c); a known class is a row with 0 and -inf.
        prior: (classes,), sums to 1.
        y_pred: (samples,) predicted symbols 0..num_symbols-1.
        key: JAX random key.
        method: see the module docstring.
        num_symbols: number of symbols; the number of classes if None.
        alpha: Dirichlet concentration of the rows of K, (classes, symbols) or one number; None as in
            `count_posterior` ("bayes" only).
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
    if method not in MULTICLASS_METHODS:
        raise ValueError(f"method={method!r}; choose one of {', '.join(MULTICLASS_METHODS)}")
    log_lik, y, concentration = checked_inputs(log_likelihood, prior, y_pred, num_symbols, alpha)
    num_classes, symbols = concentration.shape
    names = tuple(map(str, range(num_classes) if classes is None else classes))
    if len(names) != num_classes:
        raise ValueError(f"{len(names)} class names for {num_classes} classes")
    if method == "bayes":
        found = count_posterior(log_lik, prior, y, key=key, num_symbols=symbols, alpha=alpha, effort=EFFORT)
        return Tested(method, found, found, float("nan"), converged_or_not(found), names)
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
        counts = np.asarray(_draw(draws_key, x, y_jax, confusion, num_draws=_DRAWS))
    fit = jax.tree.map(np.asarray, fit)
    confusion = np.asarray(confusion)
    if method == "labels":  # everything is read off the most probable labels
        counts = np.zeros((1, num_classes, symbols), np.int64)
        np.add.at(counts[0], (log_p.argmax(axis=1), y), 1)
        table = TableDraws(counts)
    else:
        table = GivenMatrix(log_p, y, method == "sampling", confusion, counts)
    return Tested(method, table, fit, float("nan"), _warnings(method, fit), names)


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


def converged_or_not(found: CountDraws) -> tuple[str, ...]:
    """What is to be said of draws that did not converge; nothing of good ones."""
    if found.converged:
        return ()
    return (
        f"the draws did not converge in {found.num_sweeps} sweeps: largest R-hat "
        f"{np.nanmax(found.rhat):.3f}, smallest effective sample size {np.nanmin(found.ess):.0f}",
    )
