"""Information of labels about the class: I(Z; Y) of any set of labelers, Su sections 4 and 6.3.1.

The first of four methods that applies:

- "counts": a sum over the counts of equal labelers, exact, dependent labelers included;
- "integral": independent labelers, any number, unequal, up to three classes (see `dist`), exact;
- "enumerate": every label vector of a custom noise model, from its `log_likelihood` alone, exact;
- "monte_carlo": any model, with a standard error, by 20 000 simulated samples.

The simulation estimates E KL(rho || prior), with rho the class posterior given drawn labels, whose entries
(of mean `prior`) are control variates.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, rel_entr, softmax

from jtruth._arrays import AnyArray, is_concrete
from jtruth._host import log, picked
from jtruth._random import as_key, host_rng, seeded, streams
from jtruth.information import dist as exact
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata

_BLOCK = 1 << 22  # random numbers in one array


def average_information(
    log_likelihood: Float[np.ndarray, "draws classes"], prior: exact.ClassShares
) -> tuple[float, float]:
    """Mean divergence of posterior and prior in bits, and its standard error, from draws of p(z)."""
    possible = prior > 0
    joint = log_likelihood[:, possible] + np.log(prior[possible])
    rho = softmax(joint, axis=1)
    divergence = rel_entr(rho, prior[possible]).sum(axis=1) * exact.BITS
    design = np.column_stack([np.ones(len(rho)), (rho - prior[possible])[:, 1:]])
    solution = np.linalg.lstsq(design, divergence)[0]
    residual = divergence - design @ solution
    freedom = max(1, len(rho) - design.shape[1])
    return float(solution[0]), float(np.sqrt(residual @ residual / freedom / len(rho)))


def _drawn_log_likelihood(
    rng: np.random.Generator, dist: Strata, prior: np.ndarray, size: int
) -> Float[np.ndarray, "draws classes"]:
    """log p(z | y) of `size` samples: class, stratum given the class, and labels given both are drawn."""
    y = rng.choice(prior.size, size, p=prior)
    s = picked(dist.weights.T[y], rng.random(size))
    z = picked(np.moveaxis(dist.rows, 1, 2)[s, y], rng.random((size, dist.num_labelers)))
    log_rows, total = log(dist.rows), np.repeat(log(dist.weights)[..., None], size, axis=-1)
    for t in range(dist.num_labelers):
        total += log_rows[:, t][..., z[:, t]]  # (strata, classes, draws)
    return np.asarray(logsumexp(total, axis=0)).T


_DRAWS = 20_000  # simulated samples
_CHEAP_TERMS = 1 << 14  # below this the sum over counts is faster than the integral

Prior = Float[AnyArray, " classes"] | Sequence[float]


class Information(NamedTuple):
    """Information in bits about the class of one sample."""

    bits: float
    standard_error: float  # of the simulation; 0 for the exact methods
    method: str  # how it was computed
    error: float = float("nan")  # eps' of the `equivalent_labeler`


@seeded
def mutual_information(
    noise, prior: Prior, *, num_labelers: int | None = None, key: Any = None
) -> Information:
    """I(Z; Y): information of the labels of a sample about its class, in bits (Su section 4).

    Between 0 (uninformative labels) and the entropy of the prior (the class is known). With a known
    difficulty for each sample it is the mean over samples; for an unknown one see `mixture`.

    Args:
        noise: a noise model, an array (labelers, classes, symbols) with rows = true class, or a `Strata`.
        prior: (classes,), sums to 1.
        num_labelers: T, where the model has one number for all labelers.
        key: a whole number or a JAX key, of simulations; 0 if None.

    Raises:
        ValueError: bad prior or model.

    >>> from jtruth.noise import Symmetric
    >>> prior = [225 / 351, 126 / 351]
    >>> for labelers, error in ((1, .05), (9, .25), (1, .01), (399, .45)):
    ...     print(f"{mutual_information(Symmetric(error, 2), prior, num_labelers=labelers).bits:.5f}")
    0.66661
    0.75780
    0.86337
    0.85919
    """
    model = isinstance(noise, NoiseModel) and is_concrete(noise)
    if model and noise.strata(num_labelers) is None:
        return _any_model(noise, prior, num_labelers, key)
    dist = exact.label_distribution(noise, num_labelers=num_labelers)
    return average_over_strata(dist, exact.checked_prior(prior, dist.num_classes), key)


def average_over_strata(dist: Strata, prior: np.ndarray, key: Any) -> Information:
    """The mean over the observed strata."""
    strata = dist.known()
    keys = streams(key, "strata", len(strata))
    parts = [_one_dist(s, prior, k) for (_, s), k in zip(strata, keys, strict=True)]
    weights = np.array([w for w, _ in strata])
    errors = np.array([part.standard_error for part in parts])
    used = "+".join(sorted({part.method for part in parts}))
    bits = float(weights @ [part.bits for part in parts])
    return Information(bits, float(np.sqrt((weights**2) @ errors**2)), used)


def _one_dist(dist: Strata, prior: np.ndarray, key: Any) -> Information:
    """Information of a distribution without observed strata."""
    if dist.num_labelers == 0:
        return Information(0.0, 0.0, "counts")
    few, terms = len(dist.rows) == 1 and np.count_nonzero(prior) <= exact.MOST_CLASSES, exact.num_terms(dist)
    if terms <= (_CHEAP_TERMS if few else exact.MOST_TERMS):
        return Information(exact.counts_information(dist, prior), 0.0, "counts")
    if few:
        rows, sizes = exact.equal_labelers(dist.rows)
        bits = exact.independent_information(dist._replace(rows=rows), prior, sizes[None])
        return Information(float(bits[0]), 0.0, "integral")
    return simulated_information(dist, prior, key)


def simulated_information(dist: Strata, prior: np.ndarray, key: Any, num: int = _DRAWS) -> Information:
    """Information by draws of labels."""
    step, rng = max(1, _BLOCK // max(1, dist.num_labelers * dist.rows.shape[3])), host_rng(key, "information")
    draws = [min(step, num - start) for start in range(0, num, step)]
    blocks = [_drawn_log_likelihood(rng, dist, prior, number) for number in draws]
    return Information(*average_information(np.concatenate(blocks), prior), "monte_carlo")


def _any_model(noise: NoiseModel, prior, num_labelers, key) -> Information:
    """Information of a model with `log_likelihood` and `sample` only."""
    if noise.hardness is not None:
        raise ValueError(
            f"this {type(noise).__name__} has a difficulty for each sample but no distribution of the labels "
            "of one sample (`strata`): give a model of one sample"
        )
    number = noise.num_labelers if num_labelers is None else num_labelers
    if number is None:
        raise ValueError("the number of labelers is unknown for this noise model; give num_labelers=")
    checked = exact.checked_prior(prior, noise.num_classes)
    if float(noise.num_classes) ** number <= MOST_VECTORS:
        return Information(enumerated_information(noise, checked, number), 0.0, "enumerate")
    key_y, _, key_z = jax.random.split(as_key(key), 3)
    y = np.asarray(jax.random.choice(key_y, checked.size, (_DRAWS,), p=np.asarray(checked)))
    z = np.asarray(noise.sample(key_z, y, np.ones((_DRAWS, number), bool)))
    return Information(*average_information(_log_likelihood(noise, z), checked), "monte_carlo")


MOST_VECTORS = 1 << 18  # label vectors that are enumerated


def enumerated_information(noise: NoiseModel, prior: exact.ClassShares, num_labelers: int) -> float:
    """I(Z; Y) in bits: the sum over every vector of labels, Su section 4."""
    z = np.array(list(itertools.product(range(noise.num_classes), repeat=num_labelers)), np.int32)
    return exact.table_information((prior * np.exp(_log_likelihood(noise, z))).T, prior)


def _log_likelihood(noise: NoiseModel, z: np.ndarray) -> np.ndarray:
    """The model's log-likelihood of label vectors in float64, (vectors, classes)."""
    labels = Labels.from_matrix(z, noise.num_classes)
    with jax.enable_x64(True):
        return np.asarray(noise.log_likelihood(labels), np.float64)
