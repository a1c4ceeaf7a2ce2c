"""Simulated information, models of somebody else, the choice of a method, and refused input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.information import label_law, mixture, mutual_information
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, NoiseModel, SharedErrors, Symmetric
from tests.information.channels import matrices

PRIOR = [225 / 351, 126 / 351]


# Two-sided 4 standard errors: false alarm 6e-5 for each of the four keys if the error were exactly normal.
MODELS = {
    "binary": (ConfusionMatrices(matrices(11, 9, 2)), [0.8, 0.2]),
    "four classes": (Symmetric([0.2, 0.5, 0.6, 0.4], 4), [0.4, 0.3, 0.2, 0.1]),
    "shared errors": (SharedErrors(matrices(12, 7, 3), matrices(13, 1, 3)[0], 0.5), [0.5, 0.3, 0.2]),
    "weak": (Symmetric(np.full(20, 0.45), 2), [0.5, 0.5]),
}


SLOW = ("four classes", "weak")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in MODELS])
def test_monte_carlo_within_four_standard_errors(name):
    model, prior = MODELS[name]
    exact = mutual_information(model, prior).bits
    key = jax.random.key(0)
    result = mutual_information(model, prior, method="monte_carlo", key=key, num_draws=5000)
    assert abs(result.bits - exact) < 4 * result.standard_error < 0.05
    assert result.method == "monte_carlo"


@pytest.mark.slow
def test_standard_errors_are_honest():
    """200 keys: |z| > 2 in 4.6 % of them, and at most 12 % (false alarm < 1e-5)."""
    model, prior = MODELS["shared errors"]
    exact = mutual_information(model, prior).bits
    z = []
    for seed in range(200):
        key = jax.random.key(seed)
        result = mutual_information(model, prior, method="monte_carlo", key=key, num_draws=2000)
        z.append((result.bits - exact) / result.standard_error)
    assert np.mean(np.abs(z) > 2) <= 0.12 and 0.8 < np.std(z) < 1.2


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
    model, eta = SomebodyElses(known, 2), np.array([1.0, 0.5, 1.0, 0.0, 0.9])
    expected = mutual_information(known, PRIOR, participation=eta).bits
    exact = mutual_information(model, PRIOR, participation=eta)
    assert exact.bits == pytest.approx(expected, abs=1e-13) and exact.method == "enumerate"
    key = jax.random.key(2)
    drawn = mutual_information(model, PRIOR, participation=eta, method="monte_carlo", key=key, num_draws=4000)
    assert abs(drawn.bits - expected) < 4 * drawn.standard_error < 0.05
    with pytest.raises(ValueError, match="give num_labelers="):
        mutual_information(model, PRIOR)
    with pytest.raises(ValueError, match="does not fit"):
        mutual_information(model, PRIOR, num_labelers=5, method="counts")
    with pytest.raises(ValueError, match="participation has"):
        mutual_information(model, PRIOR, num_labelers=4, participation=eta)
    with pytest.raises(ValueError, match="only mutual_information does without"):
        label_law(model)


def test_enumeration_of_models_that_know_their_labelers():
    """It said that the model does not say how many labelers there are, although it does."""
    for model in (ConfusionMatrices(matrices(3, 4, 2)), Symmetric([0.1, 0.3, 0.2], 2),
                  DifficultyFallibility(0.2, [0.1, 0.5], 2),
                  SharedErrors(matrices(4, 3, 2), matrices(5, 1, 2)[0], 0.4)):  # fmt: skip
        found = mutual_information(model, PRIOR, method="enumerate")
        assert found.method == "enumerate"
        assert found.bits == pytest.approx(mutual_information(model, PRIOR).bits, abs=1e-12)
    with pytest.raises(ValueError, match="needs one law for all samples"):
        mutual_information(DifficultyFallibility([0.2, 0.3], [0.1, 0.5], 2), PRIOR, method="enumerate")


def test_not_under_jit():
    with pytest.raises(ValueError, match="outside of jit"):
        jax.jit(lambda e: mutual_information(Symmetric(e, 2), PRIOR, num_labelers=2).bits)(jnp.array(0.1))


def test_auto_says_what_it_did():
    assert mutual_information(Symmetric(0.3, 2), PRIOR, num_labelers=50).method == "counts"
    assert mutual_information(Symmetric(np.linspace(0.1, 0.4, 60), 2), PRIOR).method == "integral"
    given = matrices(3, 30, 5), np.full(5, 0.2)
    assert mutual_information(*given, num_draws=100) == mutual_information(*given, num_draws=100, key=0)
    crowd = mutual_information(*given, key=jax.random.key(1), num_draws=200)
    assert crowd.method == "monte_carlo" and crowd.standard_error > 0


BAD = {
    "prior": (Symmetric(0.1, 2), [0.5, 0.6], {"num_labelers": 2}, "sums to 1.1"),
    "length of prior": (Symmetric(0.1, 2), [0.5, 0.3, 0.2], {"num_labelers": 2}, "2 classes"),
    "how many": (Symmetric(0.1, 2), PRIOR, {}, "num_labelers="),
    "two answers": (Symmetric([0.1, 0.2], 2), PRIOR, {"num_labelers": 3}, "is for 2 labelers"),
    "rows": ([[[0.5, 0.4], [0.5, 0.5]]], PRIOR, {}, "sums to 0.9"),
    "shape": ([[0.5, 0.5], [0.5, 0.5]], PRIOR, {}, "(labelers, classes, symbols)"),
    "method": (Symmetric(0.1, 2), PRIOR, {"num_labelers": 2, "method": "guess"}, "method must be one of"),
    "participation": (Symmetric(0.1, 2), PRIOR, {"num_labelers": 2, "participation": 1.5}, "participation"),
    "draws": (Symmetric(0.1, 2), PRIOR, {"num_labelers": 2, "num_draws": 3}, "num_draws"),
    "terms": (matrices(1, 40, 2), PRIOR, {"method": "counts"}, "too many to sum"),
    "integral": (matrices(1, 3, 4), np.full(4, 0.25), {"method": "integral"}, "at most 3 classes"),
    "enumerate": (matrices(1, 3, 2), PRIOR, {"method": "enumerate"}, "does not fit"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(as_installed, case):
    noise, prior, options, message = BAD[case]
    with pytest.raises(ValueError) as error:
        mutual_information(noise, prior, **options)
    assert message in str(error.value)


def test_bad_mixtures(as_installed):
    with pytest.raises(ValueError, match="one weight for each model"):
        mixture([label_law(matrices(1, 2, 2))], [0.5, 0.5])
    with pytest.raises(ValueError, match="differ in"):
        mixture([matrices(1, 2, 2), matrices(1, 3, 2)], [0.5, 0.5])
