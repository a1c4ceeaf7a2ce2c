"""PSIS-LOO (Vehtari, Gelman and Gabry 2017) of a pointwise log-likelihood, by ArviZ, imported when needed."""

import warnings
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class PsisLoo(NamedTuple):
    """One term for each observation."""

    elpd: Float[np.ndarray, " observations"]  # log p(observation | all others)
    pareto_k: Float[np.ndarray, " observations"]
    good_k: float  # above it a term is not to be trusted: min(1 - 1/log10(draws), .7)


def psis_loo(log_p: Float[np.ndarray, "chains draws observations"], relative_ess: float | int) -> PsisLoo:
    """Leave-one-out log densities by Pareto-smoothed importance sampling.

    Args:
        log_p: log p(observation | draw).
        relative_ess: effective sample size over the number of draws, in (0, 1].

    Raises:
        ImportError: without arviz-base and arviz-stats.
    """
    from_dict, stats = arviz()
    tree = from_dict({"log_likelihood": {"y": np.asarray(log_p, np.float64)}}, dims={"y": ["row"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about Pareto k, which callers say in their own words
        found = stats.loo(tree, pointwise=True, var_name="y", reff=float(relative_ess))
    terms, k = (np.asarray(a, np.float64) for a in (found.elpd_i, found.pareto_k))
    return PsisLoo(terms, k, float(found.good_k))


def sum_and_error(pointwise: Float[np.ndarray, " observations"]) -> tuple[float, float]:
    """Sum of independent terms and its standard error sqrt(N var)."""
    return float(pointwise.sum()), float(np.sqrt(pointwise.size * pointwise.var()))


def arviz() -> tuple[Any, Any]:
    """`arviz_base.from_dict` and `arviz_stats`, or an ImportError that says what to install."""
    try:
        from arviz_base import from_dict

        stats: Any = import_module("arviz_stats")  # its `loo` is a function and a folder
        stats.loo  # noqa: B018
    except (ImportError, AttributeError) as error:
        raise ImportError(
            "comparing and exporting fits needs ArviZ; install it with: "
            "pip install 'arviz-base>=0.8' 'arviz-stats[xarray]>=0.8'"
        ) from error
    return from_dict, stats
