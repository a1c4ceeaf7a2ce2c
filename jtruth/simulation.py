"""Simulated classifiers and labelers: Su section 5.1.

Correct classes are drawn from the prior; a prediction from the row of its class in the conditional confusion
matrix (5.1.1; the printed index y-hat of K is a slip for y); who labels what (5.1.2); and noisy labels from a
noise model. Given its class, prediction and labels are independent (7).

Labeler t labels a sample with probability eta_t, given that every sample has a label. `sample_participation`
draws from that distribution without rejection, so everything here has a fixed cost and runs under jit and
vmap; `jax.vmap` over keys makes thousands of data sets at once.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import AnyArray, is_concrete
from jtruth._mesh import even_rows
from jtruth._one_line import one_line
from jtruth._random import as_key
from jtruth._validation.in_range import check_probabilities
from jtruth.labels import Labels
from jtruth.noise import DifficultyFallibility, NoiseModel
from jtruth.noise.base import as_parameter, check_ndim, current, draw_rows, uniform_numbers
from jtruth.posterior import validate_confusion, validate_prior

Pair = tuple[float | int, float | int]


class Simulated(NamedTuple):
    """A simulated data set, with the truth and its parameters."""

    y: Int[AnyArray, " samples"]  # correct classes
    y_pred: Int[AnyArray, " samples"]  # predicted symbols of the simulated classifier
    z: Int[AnyArray, "samples labelers"]  # noisy labels, -1 = none; at least one in every row
    noise: NoiseModel  # of the noisy labels
    participation: Float[AnyArray, " labelers"]  # eta

    __repr__ = one_line

    def to_labels(self) -> Labels:
        """The noisy labels in long form (see `to_labels`)."""
        return to_labels(self.z, self.noise.num_classes)


def simulate(
    key: Any,
    num_samples: int,
    prior: Float[AnyArray, " classes"],
    confusion: Float[AnyArray, "classes symbols"],
    noise_model: NoiseModel,
    participation: Float[AnyArray, " labelers"],
    *,
    mesh: Any = None,
) -> Simulated:
    """Simulate classes, predictions and noisy labels with given parameters (Su 5.1).

    Args:
        key: a whole number or a JAX key.
        num_samples: N.
        prior: (classes,).
        confusion: K, (classes, symbols): row y is the distribution of the prediction of a sample of class y.
            For two classes [[1 - p_FA, p_FA], [1 - p_D, p_D]].
        noise_model: distribution of the noisy labels given the class.
        participation: eta, (labelers,): probability that a labeler labels a sample, before conditioning on at
            least one label.
        mesh: devices that share the samples, whose number they must divide; the draws do not depend on it
            (docs/many_devices.md).

    Raises:
        ValueError: bad prior, confusion matrix or participation, or sizes that do not match; no key; a mesh
            that does not divide the samples.

    >>> from jtruth.noise import Symmetric
    >>> K = np.array([[.7, .3], [.2, .8]])
    >>> data = simulate(jax.random.key(0), 4, np.array([.8, .2]), K, Symmetric(.1, 2), np.array([1., .5]))
    >>> data.z.shape, bool((data.z[:, 0] >= 0).all())
    ((4, 2), True)
    """
    key, num_classes = as_key(key), noise_model.num_classes
    if is_concrete(prior):
        prior = validate_prior(prior, num_classes)
    if is_concrete(confusion):
        confusion = validate_confusion(confusion)
    if confusion.shape[0] != num_classes:
        raise ValueError(
            f"confusion has shape {confusion.shape} but the noise model has {num_classes} classes"
        )
    _check_participation(participation)
    arrays = current(prior, confusion, participation)
    rows = None if mesh is None else even_rows(mesh, num_samples)
    y, y_pred, z = _draw_all(key, *arrays, noise_model, num_samples=num_samples, rows=rows)
    return Simulated(y, y_pred, z, noise_model, participation)


def simulate_difficulty_fallibility(
    key: Any,
    *,
    num_samples: int,
    num_labelers: int,
    prior: Float[AnyArray, " classes"],
    confusion: Float[AnyArray, "classes symbols"],
    difficulty: Pair = (1.0, 5.0),
    fallibility: Pair = (0.0, 0.4),
    participation: Pair = (0.0, 1.0),
) -> Simulated:
    """Simulate with random difficulty, fallibility and participation, as the paper does (Su 5.1.2).

    The defaults are those of the main testing example, Su 5.2.1. For samples on several devices pass a
    `DifficultyFallibility` to `simulate`.

    Args:
        key: a whole number or a JAX key.
        num_samples, num_labelers: N and T.
        prior: (classes,).
        confusion: K, (classes, symbols).
        difficulty: (a, b) of the beta distribution of delta, one draw per sample; (1, 1) is uniform.
        fallibility, participation: (low, high) of the uniform distributions of phi and eta, one draw per
            labeler.

    Raises:
        ValueError: bad prior or confusion matrix, a range that is not inside [0, 1], or a, b not positive; no
            key.
    """
    for name, (low, high) in (("fallibility", fallibility), ("participation", participation)):
        if not 0 <= low <= high <= 1:
            raise ValueError(f"{name} must be (low, high) with 0 <= low <= high <= 1, got {(low, high)}")
    key_delta, key_phi, key_eta, key_data = jax.random.split(as_key(key), 4)
    delta = sample_difficulty(key_delta, num_samples, *difficulty)
    phi = jax.random.uniform(key_phi, (num_labelers,), minval=fallibility[0], maxval=fallibility[1])
    eta = jax.random.uniform(key_eta, (num_labelers,), minval=participation[0], maxval=participation[1])
    noise = DifficultyFallibility(delta, phi, len(prior))
    return simulate(key_data, num_samples, prior, confusion, noise, eta)


def sample_difficulty(key: Any, num_samples: int, a: float | int, b: float | int) -> Float[Array, " samples"]:
    """Draw difficulties from Beta(a, b); the parameters are Python numbers.

    For a = 1 or b = 1 (all of the paper's settings) the distribution function has a closed inverse.
    """
    if not (a > 0 and b > 0):
        raise ValueError(f"difficulty must be (a, b) of a beta distribution, both positive; got ({a}, {b})")
    key = as_key(key)
    if a == 1:
        return -jnp.expm1(jnp.log1p(-jax.random.uniform(key, (num_samples,))) / b)
    if b == 1:
        return jax.random.uniform(key, (num_samples,)) ** (1 / a)
    return jax.random.beta(key, float(a), float(b), (num_samples,))


def sample_participation(
    key: Any, participation: Float[AnyArray, " labelers"], num_samples: int
) -> Bool[Array, "samples labelers"]:
    """Draw who labels which sample: independent with probability eta_t, given that every sample has a label.

    The first labeler F who takes part has P(F = t) ~ eta_t prod_{s < t} (1 - eta_s); the labelers after F are
    independent of the condition.
    """
    _check_participation(participation)
    (eta,) = current(participation)
    return _draw_participation(as_key(key), eta, num_samples=num_samples)


def _check_participation(participation: Float[AnyArray, " labelers"]) -> None:
    """Check that participation is (labelers,), in [0, 1], and not 0 for all."""
    check_ndim(participation, "participation", (1,), "(labelers,)")
    if is_concrete(participation):
        eta = as_parameter(participation, "participation")
        check_probabilities(eta, "participation")
        if not (np.asarray(eta) > 0).any():
            raise ValueError("participation is 0 for every labeler, so no sample can have a label")


def to_labels(z: Int[AnyArray, "samples labelers"], num_classes: int) -> Labels:
    """Labels with samples x labelers entries, -1 where there is no label; works under jit and vmap.

    `Labels.from_matrix` leaves the missing entries out, so its size depends on the data. For a batch of
    matrices use `jax.vmap(lambda z: to_labels(z, num_classes))(batch)`.
    """
    num_samples, num_labelers = z.shape
    sample = jnp.repeat(jnp.arange(num_samples, dtype=jnp.int32), num_labelers)
    labeler = jnp.tile(jnp.arange(num_labelers, dtype=jnp.int32), num_samples)
    label = jnp.asarray(z, jnp.int32).reshape(-1)
    return Labels(sample, labeler, label, num_samples, num_labelers, num_classes)


@partial(jax.jit, static_argnames=("num_samples", "rows"))
def _draw_all(key, prior, confusion, eta, noise_model: NoiseModel, *, num_samples: int, rows: Any = None):
    """(y, y_pred, z), compiled as a whole; `rows` is the sharding of the samples."""
    key_y, key_pred, key_mask, key_z = jax.random.split(key, 4)
    y = draw_rows(key_y, jnp.broadcast_to(prior, (num_samples, prior.shape[0])))
    y_pred = draw_rows(key_pred, confusion[y])
    mask = _draw_participation(key_mask, eta, num_samples=num_samples)
    drawn = y, y_pred, noise_model.sample(key_z, y, mask)
    return drawn if rows is None else tuple(jax.lax.with_sharding_constraint(a, rows) for a in drawn)


@partial(jax.jit, static_argnames="num_samples")
def _draw_participation(
    key: PRNGKeyArray, eta: Float[Array, " labelers"], *, num_samples: int
) -> Bool[Array, "samples labelers"]:
    num_labelers = eta.shape[0]
    absent = jnp.cumsum(jnp.log1p(-eta))  # log P(labelers 0..t all absent)
    before = jnp.concatenate([jnp.zeros((1,), eta.dtype), absent[:-1]])
    key_first, key_later = jax.random.split(key)
    log_first = jnp.log(eta) + before
    dist = jnp.exp(log_first - log_first.max())
    first = draw_rows(key_first, jnp.broadcast_to(dist, (num_samples, num_labelers)))[:, None]
    labelers = jnp.arange(num_labelers, dtype=first.dtype)[None, :]
    later = uniform_numbers(key_later, (num_samples, num_labelers), eta.dtype) < eta[None, :]
    return (labelers == first) | ((labelers > first) & later)
