"""Simulated information, custom models, the choice of a method, and refused input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.information import label_distribution, mixture, mutual_information
from jtruth.information.mutual import simulated_information
from jtruth.noise import ConfusionMatrices, NoiseModel, SharedErrors, Symmetric
from tests.information.channels import matrices

PRIOR = [225 / 351, 126 / 351]


MODELS = {
    "binary": (ConfusionMatrices(matrices(11, 9, 2)), [0.8, 0.2]),
    "four classes": (Symmetric([0.2, 0.5, 0.6, 0.4], 4), [0.4, 0.3, 0.2, 0.1]),
    "shared errors": (SharedErrors(matrices(12, 7, 3), matrices(13, 1, 3)[0], 0.5), [0.5, 0.3, 0.2]),
    "weak": (Symmetric(np.full(20, 0.45), 2), [0.5, 0.5]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_simulations_and_their_standard_errors(name):
    """100 keys: |z| > 2 in 4.6 % of them, and at most 14 % (false alarm 2e-4), spread 1."""
    model, prior = MODELS[name]
    exact, dist, z = mutual_information(model, prior).bits, label_distribution(model), []
    for seed in range(100):
        found = simulated_information(dist, np.array(prior), jax.random.key(seed), 2000)
        z.append((found.bits - exact) / found.standard_error)
    assert np.mean(np.abs(z) > 2) <= 0.14 and 0.75 < np.std(z) < 1.3 and found.method == "monte_carlo"


class SomebodyElses(NoiseModel):
    """A model that this package knows nothing of: it hides another one."""

    hidden: NoiseModel
    num_classes: int = eqx.field(static=True)

    def log_likelihood(self, labels):
        return self.hidden.log_likelihood(labels)

    def sample(self, key, y, mask):
        return self.hidden.sample(key, y, mask)


def test_a_model_of_somebody_else():
    known = SharedErrors(matrices(12, 5, 2), matrices(13, 1, 2)[0], 0.5)
    model, expected = SomebodyElses(known, 2), mutual_information(known, PRIOR).bits
    exact = mutual_information(model, PRIOR, num_labelers=5)
    assert exact.bits == pytest.approx(expected, abs=1e-13) and exact.method == "enumerate"
    many = Symmetric([0.3] * 20, 2)
    drawn = mutual_information(SomebodyElses(many, 2), PRIOR, num_labelers=20)
    assert (
        abs(drawn.bits - mutual_information(many, PRIOR).bits) < 4 * drawn.standard_error < 0.05
        and drawn.method == "monte_carlo"
    )
    with pytest.raises(ValueError, match="give num_labelers="):
        mutual_information(model, PRIOR)
    with pytest.raises(ValueError, match="only mutual_information works without"):
        label_distribution(model)


def test_it_says_what_it_did_and_does_nothing_under_jit():
    assert mutual_information(Symmetric(0.3, 2), PRIOR, num_labelers=50).method == "counts"
    assert mutual_information(Symmetric(np.linspace(0.1, 0.4, 60), 2), PRIOR).method == "integral"
    given = matrices(3, 30, 5), np.full(5, 0.2)
    crowd = mutual_information(*given)
    assert crowd == mutual_information(*given, key=0)
    assert crowd.method == "monte_carlo" and crowd.standard_error > 0
    with pytest.raises(ValueError, match="outside of jit"):
        jax.jit(lambda e: mutual_information(Symmetric(e, 2), PRIOR, num_labelers=2).bits)(jnp.array(0.1))


BAD = {
    "prior": (Symmetric(0.1, 2), [0.5, 0.6], {"num_labelers": 2}, "sums to 1.1"),
    "length of prior": (Symmetric(0.1, 2), [0.5, 0.3, 0.2], {"num_labelers": 2}, "2 classes"),
    "how many": (Symmetric(0.1, 2), PRIOR, {}, "num_labelers="),
    "two answers": (Symmetric([0.1, 0.2], 2), PRIOR, {"num_labelers": 3}, "is for 2 labelers"),
    "rows": ([[[0.5, 0.4], [0.5, 0.5]]], PRIOR, {}, "sums to 0.9"),
    "shape": ([[0.5, 0.5], [0.5, 0.5]], PRIOR, {}, "(labelers, classes, symbols)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(as_installed, case):
    noise, prior, options, message = BAD[case]
    with pytest.raises(ValueError) as error:
        mutual_information(noise, prior, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(("sizes", "message"), [([2], "one weight for each model"), ([2, 3], "differ in")])
def test_bad_mixtures(as_installed, sizes, message):
    with pytest.raises(ValueError, match=message):
        mixture([matrices(1, size, 2) for size in sizes], [0.5, 0.5])
