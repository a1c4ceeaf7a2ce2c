"""How much do labels say about the class? I(Z; Y) of any set of labelers, Su sections 4 and 6.3.1.

One entry, four ways to the same number; "auto" takes the first that applies:

- "counts": a sum over the counts of equal labelers, exact, dependent labelers included;
- "integral": independent labelers, however many and unequal, up to three classes (see `law`), exact;
- "enumerate": every label vector of a noise model of your own, from its `log_likelihood` alone, exact;
- "monte_carlo": anything, with a standard error.

By simulation it is E KL(rho || prior), rho the class posterior that drawn labels give, whose entries, of mean
`prior`, are control variates.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp, rel_entr, softmax

from jtruth._arrays import is_concrete
from jtruth._host import log, picked
from jtruth._random import as_key, host_rng, streams
from jtruth._validation import choose
from jtruth._validation.in_range import check_whole
from jtruth.information.law import (
    BITS,
    MOST_CLASSES,
    MOST_TERMS,
    chances_to_label,
    checked_prior,
    counts_information,
    equal_labelers,
    independent_information,
    label_law,
    num_terms,
    table_information,
)
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata

_BLOCK = 1 << 22  # random numbers held at once


def average_information(
    log_likelihood: Float[np.ndarray, "draws classes"], prior: Float[np.ndarray, " classes"]
) -> tuple[float, float]:
    """Mean divergence of posterior and prior in bits, and its standard error, from draws of p(z)."""
    possible = prior > 0
    joint = log_likelihood[:, possible] + np.log(prior[possible])
    rho = softmax(joint, axis=1)
    divergence = rel_entr(rho, prior[possible]).sum(axis=1) * BITS
    design = np.column_stack([np.ones(len(rho)), (rho - prior[possible])[:, 1:]])
    solution = np.linalg.lstsq(design, divergence)[0]
    residual = divergence - design @ solution
    freedom = max(1, len(rho) - design.shape[1])
    return float(solution[0]), float(np.sqrt(residual @ residual / freedom / len(rho)))


def _drawn_log_likelihood(
    rng: np.random.Generator, law: Strata, prior: np.ndarray, size: int
) -> Float[np.ndarray, "draws classes"]:
    """log p(z | y) of `size` samples: class, stratum given the class, and symbols z given both are drawn."""
    y = rng.choice(prior.size, size, p=prior)
    s = picked(law.weights.T[y], rng.random(size))
    z = picked(np.moveaxis(law.rows, 1, 2)[s, y], rng.random((size, law.num_labelers)))
    log_rows, total = log(law.rows), np.repeat(log(law.weights)[..., None], size, axis=-1)
    for t in range(law.num_labelers):
        total += log_rows[:, t][..., z[:, t]]  # (strata, classes, draws)
    return np.asarray(logsumexp(total, axis=0)).T


_METHODS = ("auto", "counts", "integral", "enumerate", "monte_carlo")
_CHEAP_TERMS = 1 << 14  # below this the sum over counts is faster than the integral

Prior = Float[Array | np.ndarray, " classes"] | Sequence[float]


class Information(NamedTuple):
    """Information in bits about the class of one sample."""

    bits: float
    standard_error: float  # of the simulation; 0 for the exact methods
    method: str  # how it was computed
    error: float = float("nan")  # eps' of the one symmetric labeler worth as much (`equivalent_labeler`)


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
        noise: a noise model, an array (labelers, classes, symbols) with rows = true class, or a `Strata`.
        prior: (classes,), sums to 1.
        num_labelers: T, where the model has one number for all labelers.
        participation: eta, a number or (labelers,): how likely a labeler labels a sample. Samples without any
            label count, with 0 bits; divide by the chance of a label for the information given one.
        method: see the module docstring.
        key: a whole number or a JAX key, used by "monte_carlo" only; 0 if None.
        num_draws: simulated samples of "monte_carlo".

    Raises:
        ValueError: bad prior, model or participation; a method that cannot do it.

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
    check_whole(100, num_draws=num_draws)
    model = isinstance(noise, NoiseModel) and is_concrete(noise)
    if method == "enumerate" or (model and noise.strata(num_labelers) is None):
        return _any_model(noise, prior, num_labelers, participation, method, key, num_draws)
    law = label_law(noise, num_labelers=num_labelers, participation=participation)
    checked = checked_prior(prior, law.num_classes)
    return average_over_strata(law, checked, method, key, num_draws)


def average_over_strata(law: Strata, prior: np.ndarray, method: str, key: Any, num_draws: int) -> Information:
    """The mean over the observed strata, or the one value of a law without them."""
    strata = law.known()
    keys = streams(key, "strata", len(strata))
    parts = [_one_law(s, prior, method, k, num_draws) for (_, s), k in zip(strata, keys, strict=True)]
    weights = np.array([w for w, _ in strata])
    errors = np.array([part.standard_error for part in parts])
    used = "+".join(sorted({part.method for part in parts}))
    bits = float(weights @ [part.bits for part in parts])
    return Information(bits, float(np.sqrt((weights**2) @ errors**2)), used)


def _one_law(law: Strata, prior: np.ndarray, method: str, key, num_draws: int) -> Information:
    """One law without observed strata."""
    if law.num_labelers == 0:
        return Information(0.0, 0.0, "counts")
    few = len(law.rows) == 1 and np.count_nonzero(prior) <= MOST_CLASSES
    if method == "auto":
        terms = num_terms(law)
        method = "counts" if terms <= (_CHEAP_TERMS if few else MOST_TERMS) else "monte_carlo"
        method = "integral" if few and terms > _CHEAP_TERMS else method
    if method == "counts":
        return Information(counts_information(law, prior), 0.0, method)
    if method == "integral":
        if not few:
            raise ValueError(
                f"the integral is for independent labelers and at most {MOST_CLASSES} classes; here are "
                f"{len(law.rows)} strata and {np.count_nonzero(prior)} classes: use method='auto'"
            )
        rows, sizes = equal_labelers(law.rows)
        bits = independent_information(law._replace(rows=rows), prior, sizes[None])
        return Information(float(bits[0]), 0.0, method)
    step, rng = max(1, _BLOCK // max(1, law.num_labelers * law.rows.shape[3])), host_rng(key, "information")
    draws = [min(step, num_draws - start) for start in range(0, num_draws, step)]
    blocks = [_drawn_log_likelihood(rng, law, prior, number) for number in draws]
    return Information(*average_information(np.concatenate(blocks), prior), method)


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
    number = noise.num_labelers if num_labelers is None else num_labelers
    if number is None:
        number = np.size(participation)
        if not np.ndim(participation):
            raise ValueError("this noise model does not say how many labelers there are; give num_labelers=")
    eta = chances_to_label(participation, number)
    checked = checked_prior(prior, noise.num_classes)
    size = float(noise.num_classes + 1) ** eta.size
    if method == "enumerate" or (method == "auto" and size <= MOST_VECTORS):
        return Information(enumerated_information(noise, checked, eta), 0.0, "enumerate")
    key_y, key_mask, key_z = jax.random.split(as_key(key), 3)
    y = np.asarray(jax.random.choice(key_y, checked.size, (num_draws,), p=np.asarray(checked)))
    mask = np.asarray(jax.random.uniform(key_mask, (num_draws, eta.size))) < eta
    z = np.asarray(noise.sample(key_z, y, mask))
    return Information(*average_information(_log_likelihood(noise, z), checked), "monte_carlo")


MOST_VECTORS = 1 << 18  # label vectors that `enumerated_information` agrees to list


def enumerated_information(
    noise: NoiseModel, prior: Float[np.ndarray, " classes"], participation: Float[np.ndarray, " labelers"]
) -> float:
    """I(Z; Y) in bits: the sum over every vector of labels, missing ones included, Su section 4."""
    # A labeler names a class, or stays silent (-1).
    symbols = [range(-int(eta < 1), noise.num_classes if eta > 0 else 0) for eta in participation]
    size = np.prod([float(len(s)) for s in symbols])
    if size > MOST_VECTORS:
        raise ValueError(
            f"{size:.3g} label vectors are too many to enumerate (at most {MOST_VECTORS}); use "
            "method='monte_carlo'"
        )
    z = np.array(list(itertools.product(*symbols)), np.int32).reshape(int(size), len(symbols))
    log_silence = np.where(z >= 0, np.log(np.where(participation > 0, participation, 1.0)), 0.0)
    log_silence += np.where(z < 0, np.log(np.where(participation < 1, 1.0 - participation, 1.0)), 0.0)
    joint = prior * np.exp(_log_likelihood(noise, z) + log_silence.sum(axis=1, keepdims=True))
    return table_information(joint.T, prior)


def _log_likelihood(noise: NoiseModel, z: np.ndarray) -> np.ndarray:
    """The model's log-likelihood of label vectors in float64, (vectors, classes)."""
    labels = Labels.from_matrix(z, noise.num_classes, allow_unlabelled=True)
    with jax.enable_x64(True):
        return np.asarray(noise.log_likelihood(labels), np.float64)
