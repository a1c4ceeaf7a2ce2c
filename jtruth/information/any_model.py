"""Information of labelers under any noise model, from nothing but its `log_likelihood` and `sample`.

For models that somebody else wrote, and as a second way to every number of this package. Small teams by
enumerating all label vectors, larger ones by simulation.
"""

import itertools

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from jtruth.information._entropy import table_information
from jtruth.information.monte_carlo import average_information
from jtruth.labels import Labels
from jtruth.noise import NoiseModel

MOST_VECTORS = 1 << 18  # label vectors that `enumerated_information` agrees to list


def enumerated_information(
    noise: NoiseModel, prior: Float[np.ndarray, " classes"], participation: Float[np.ndarray, " labelers"]
) -> float:
    """I(Z; Y) in bits: the sum over every vector of labels, missing ones included, Su section 4.

    Args:
        noise: any model whose parameters do not depend on the sample.
        prior: (classes,), float64.
        participation: eta, (labelers,): how likely each labeler gives a label.

    Raises:
        ValueError: more than `MOST_VECTORS` vectors.

    Example:
        >>> from jtruth.noise import Symmetric
        >>> bits = enumerated_information(Symmetric(.25, 2), np.array([225, 126]) / 351, np.ones(9))
        >>> print(f"{bits:.5f}")
        0.75780
    """
    symbols = [_symbols(eta, noise.num_classes) for eta in participation]
    size = np.prod([float(len(s)) for s in symbols])
    if size > MOST_VECTORS:
        raise ValueError(
            f"{size:.3g} label vectors are too many to enumerate (at most {MOST_VECTORS}); use "
            "method='monte_carlo' with a key"
        )
    z = np.array(list(itertools.product(*symbols)), np.int32).reshape(int(size), len(symbols))
    log_silence = np.where(z >= 0, np.log(np.where(participation > 0, participation, 1.0)), 0.0)
    log_silence += np.where(z < 0, np.log(np.where(participation < 1, 1.0 - participation, 1.0)), 0.0)
    joint = prior * np.exp(_log_likelihood(noise, z) + log_silence.sum(axis=1, keepdims=True))
    return table_information(joint.T, prior)


def simulated_information(
    key: PRNGKeyArray,
    noise: NoiseModel,
    prior: Float[np.ndarray, " classes"],
    participation: Float[np.ndarray, " labelers"],
    num_draws: int,
) -> tuple[float, float]:
    """I(Z; Y) in bits and its standard error, from labels that the model draws.

    A model with one parameter for each sample (difficulty) must have it for `num_draws` samples.
    """
    key_y, key_mask, key_z = jax.random.split(key, 3)
    y = np.asarray(jax.random.choice(key_y, prior.size, (num_draws,), p=np.asarray(prior)))
    mask = np.asarray(jax.random.uniform(key_mask, (num_draws, participation.size))) < participation
    z = np.asarray(noise.sample(key_z, y, mask))
    return average_information(_log_likelihood(noise, z), prior)


def _symbols(eta: float, num_classes: int) -> range:
    """What a labeler can do: name a class, or stay silent (-1)."""
    return range(0 if eta >= 1 else -1, num_classes if eta > 0 else 0)


def _log_likelihood(noise: NoiseModel, z: np.ndarray) -> np.ndarray:
    """The model's log-likelihood of label vectors in float64, (vectors, classes)."""
    labels = Labels.from_matrix(z, noise.num_classes, allow_unlabelled=True)
    with jax.enable_x64(True):
        return np.asarray(noise.log_likelihood(labels), np.float64)
