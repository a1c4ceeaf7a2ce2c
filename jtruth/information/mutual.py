"""How much do labels say about the class? I(Z; Y) of any set of labelers, Su sections 4 and 6.3.1.

One entry, four ways to the same number; "auto" takes the first that applies:

- "counts": a sum over the counts of equal labelers (`counts`), exact, dependent labelers included;
- "integral": independent labelers, however many and unequal, up to three classes (`independent`), exact;
- "enumerate": every label vector of a noise model that somebody else wrote (`any_model`), exact;
- "monte_carlo": anything, with a standard error (`monte_carlo`), needs a key.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import is_concrete
from jtruth._random import as_key
from jtruth._validation import choose
from jtruth.information import any_model
from jtruth.information._entropy import checked_prior
from jtruth.information.counts import MOST_TERMS, counts_information, equal_labelers, num_terms
from jtruth.information.independent import MOST_CLASSES, independent_information
from jtruth.information.law import LabelLaw, label_law
from jtruth.information.monte_carlo import monte_carlo_information
from jtruth.noise import NoiseModel

_METHODS = ("auto", "counts", "integral", "enumerate", "monte_carlo")
_CHEAP_TERMS = 1 << 14  # below this the sum over counts is faster than the integral

Prior = Float[Array | np.ndarray, " classes"] | Sequence[float]


class Information(NamedTuple):
    """Information in bits about the class of one sample."""

    bits: float
    standard_error: float  # of the simulation; 0 for the exact methods
    method: str  # how it was computed


def mutual_information(
    noise,
    prior: Prior,
    *,
    num_labelers: int | None = None,
    participation=None,
    method: str = "auto",
    key: Any = None,
    num_draws: int = 20_000,
) -> Information:
    """I(Z; Y): what the labels of a sample say about its class, in bits (Su section 4).

    Between 0 (the labels are noise) and the entropy of the prior (the class is known). With a difficulty
    for each sample it is the mean over samples, difficulty known; if nobody knows it see `mixture`.

    Args:
        noise: a noise model, an array (labelers, classes, symbols) with rows = true class, or a `LabelLaw`.
        prior: (classes,), sums to 1.
        num_labelers: T, where the model has one number for all labelers.
        participation: eta, a number or (labelers,): how likely a labeler labels a sample. Samples without any
            label count, with 0 bits; divide by the chance of a label for the information given one.
        method: see the module docstring.
        key: a whole number or a JAX key, needed and used by "monte_carlo" only.
        num_draws: simulated samples of "monte_carlo".

    Raises:
        ValueError: bad prior, model or participation; a method that cannot do it; no key where one is needed.

    Example:
        >>> from jtruth.information import mutual_information
        >>> from jtruth.noise import Symmetric
        >>> prior = [225 / 351, 126 / 351]
        >>> for labelers, error in ((1, .05), (9, .25), (1, .01), (399, .45)):
        ...     print(f"{mutual_information(Symmetric(error, 2), prior, num_labelers=labelers).bits:.5f}")
        0.66661
        0.75780
        0.86337
        0.85919
    """
    choose("method", method, _METHODS)
    _check_draws(num_draws)
    model = isinstance(noise, NoiseModel) and is_concrete(noise)
    if method == "enumerate" or (model and noise.strata(num_labelers) is None):
        return _any_model(noise, prior, num_labelers, participation, method, key, num_draws)
    law = label_law(noise, num_labelers=num_labelers, participation=participation)
    checked = checked_prior(prior, law.num_classes)
    if method == "monte_carlo":
        _check_key(key)
    return average_over_strata(law, checked, method, key, num_draws)


def average_over_strata(
    law: LabelLaw, prior: np.ndarray, method: str, key: Any, num_draws: int
) -> Information:
    """The mean over the observed strata, or the one value of a law without them."""
    strata = law.strata()
    keys = [None] * len(strata) if key is None else list(jax.random.split(as_key(key), len(strata)))
    parts = [_one_law(s, prior, method, k, num_draws) for (_, s), k in zip(strata, keys, strict=True)]
    weights = np.array([w for w, _ in strata])
    errors = np.array([part.standard_error for part in parts])
    used = "+".join(sorted({part.method for part in parts}))
    bits = float(weights @ [part.bits for part in parts])
    return Information(bits, float(np.sqrt((weights**2) @ errors**2)), used)


def chosen_method(law: LabelLaw, prior: np.ndarray) -> str:
    """What "auto" does for a law without observed strata."""
    terms = num_terms(law)
    if terms <= _CHEAP_TERMS:
        return "counts"
    if len(law.rows) == 1 and np.count_nonzero(prior) <= MOST_CLASSES:
        return "integral"
    return "counts" if terms <= MOST_TERMS else "monte_carlo"


def _one_law(law: LabelLaw, prior: np.ndarray, method: str, key, num_draws: int) -> Information:
    """One law without observed strata."""
    if law.num_labelers == 0:
        return Information(0.0, 0.0, "counts")
    method = chosen_method(law, prior) if method == "auto" else method
    if method == "counts":
        return Information(counts_information(law, prior), 0.0, method)
    if method == "integral":
        _check_integral(law, prior)
        rows, sizes = equal_labelers(law.rows)
        bits = independent_information(law._replace(rows=rows), prior, sizes[None])
        return Information(float(bits[0]), 0.0, method)
    _check_key(key)
    return Information(*monte_carlo_information(key, law, prior, num_draws), method)


def _any_model(noise, prior, num_labelers, participation, method, key, num_draws) -> Information:
    """A model that is known by its two methods only."""
    if not isinstance(noise, NoiseModel) or method in ("counts", "integral"):
        raise ValueError(
            f"method {method!r} does not fit a {type(noise).__name__}; use 'enumerate' or 'monte_carlo' for "
            "a noise model of your own, 'auto' for everything else"
        )
    if noise.hardness is not None:
        raise ValueError(
            f"method {method!r} needs one law for all samples: this {type(noise).__name__} has a hardness "
            "for each; use method='auto', which takes the mean over the samples"
        )
    eta = _participation(noise.num_labelers if num_labelers is None else num_labelers, participation)
    checked = checked_prior(prior, noise.num_classes)
    size = float(noise.num_classes + 1) ** eta.size
    if method == "enumerate" or (method == "auto" and size <= any_model.MOST_VECTORS):
        return Information(any_model.enumerated_information(noise, checked, eta), 0.0, "enumerate")
    _check_key(key)
    result = any_model.simulated_information(as_key(key), noise, checked, eta, num_draws)
    return Information(*result, "monte_carlo")


def _participation(num_labelers: int | None, participation) -> np.ndarray:
    """(labelers,) participation of a model that does not say how many labelers there are."""
    eta = np.asarray(1.0 if participation is None else participation, np.float64)
    if eta.ndim == 0 and num_labelers is None:
        raise ValueError("this noise model does not say how many labelers there are; give num_labelers=")
    eta = np.full(num_labelers or 0, eta) if eta.ndim == 0 else eta
    if eta.ndim != 1 or not ((eta >= 0) & (eta <= 1)).all() or num_labelers not in (None, eta.size):
        raise ValueError(f"participation must be (labelers,) probabilities, got {participation!r}")
    return eta


def _check_integral(law: LabelLaw, prior: np.ndarray) -> None:
    if len(law.rows) > 1 or np.count_nonzero(prior) > MOST_CLASSES:
        raise ValueError(
            f"the integral is for independent labelers and at most {MOST_CLASSES} classes; here are "
            f"{len(law.rows)} strata and {np.count_nonzero(prior)} classes: use method='auto'"
        )


def _check_key(key) -> None:
    if key is None:
        raise ValueError(
            "these labelers have too many label vectors for an exact sum, or simulation was asked for: give "
            "key=jax.random.key(0), and num_draws for the precision"
        )


def _check_draws(num_draws) -> None:
    if not isinstance(num_draws, int | np.integer) or isinstance(num_draws, bool) or num_draws < 100:
        raise ValueError(f"num_draws must be an integer of at least 100; got {num_draws!r}")
