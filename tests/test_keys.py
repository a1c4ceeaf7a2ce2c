"""A whole number is a key wherever users give one: the same answer as from the JAX key of that number."""

import jax
import numpy as np
import pytest

from jtruth import asking, information, planning, simulation
from jtruth._random import as_key
from jtruth.labels import Labels
from jtruth.noise import Symmetric

pytestmark = pytest.mark.usefixtures("few_sweeps")

CROWD = planning.labeler("crowd", 0.2, 0.05, people=3)
KNOWN, TWO = planning.Question(rates="known"), planning.Limits(num_sets=2)
SETTING = planning.setting([0.7, 0.3], 0.9, [CROWD], KNOWN, planning.Costs(0.02))
PLAN = planning.Plan(60, (1,), 0)
PRIOR, ETA = np.array([0.6, 0.4]), np.array([1.0, 0.5])
LABELS = Labels.from_matrix(np.array([[1, 1, 1], [0, 0, 0], [1, 0, -1], [0, 0, -1]]), 2)
GOOD = np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))

MAY_BE_LEFT_OUT = {
    "simulated_width": lambda **key: planning.simulated_width(SETTING, PLAN, num_sets=2, **key),
    "cheapest_plan": lambda **key: planning.cheapest_plan(SETTING, 0.2, limits=TWO, **key).simulated,
    "narrowest_plan": lambda **key: planning.narrowest_plan(SETTING, 5.0, limits=TWO, **key).simulated,
    "plan_request": lambda **key: planning.plan_request(
        planning.People(["crowd:0.2:0.05:3"]), budget=5.0, question=KNOWN, limits=TWO, **key
    ).simulated,
    "next_labels": lambda **key: asking.next_labels(
        LABELS, np.array([1, 0, 1, 0]), 1, aim=asking.Aim("precision"),
        rates=asking.Rates(GOOD, [0.5, 0.5], 50), **key,
    ),
}  # fmt: skip
NEEDED = {
    "mutual_information": lambda key: information.mutual_information(
        Symmetric(0.2, 2), PRIOR, num_labelers=3, method="monte_carlo", key=key, num_draws=100
    ),
    "simulate": lambda key: simulation.simulate(key, 5, PRIOR, GOOD[0], Symmetric(0.2, 2), ETA)[:3],
    "simulate_difficulty_fallibility": lambda key: simulation.simulate_difficulty_fallibility(
        key, num_samples=5, num_labelers=2, prior=PRIOR, confusion=GOOD[0]
    )[:3],
    "sample_difficulty": lambda key: simulation.sample_difficulty(key, 5, 1.0, 5.0),
    "sample_participation": lambda key: simulation.sample_participation(key, ETA, 5),
}


def same(one, other) -> bool:
    """Equal leaves, NaN included; text as text."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)


@pytest.mark.parametrize("call", MAY_BE_LEFT_OUT.values(), ids=MAY_BE_LEFT_OUT)
def test_zero_is_the_key_that_is_left_out(call):
    found = call(key=0)
    assert same(found, call(key=jax.random.key(0))) and same(found, call()) and same(found, call(key=None))
    with pytest.raises(ValueError, match="key is 'a'"):
        call(key="a")


@pytest.mark.parametrize("call", NEEDED.values(), ids=NEEDED)
def test_a_number_is_a_key(call):
    assert same(call(0), call(jax.random.key(0))) and same(call(0), call(jax.random.PRNGKey(0)))
    assert not same(call(0), call(1))
    for key, part in ((None, "key"), (0.5, "key is 0.5")):
        with pytest.raises(ValueError, match=part):
            call(key)


def test_keys_may_be_traced():
    draw = jax.vmap(lambda key: simulation.sample_difficulty(key, 4, 1.0, 5.0))
    keys = jax.random.split(as_key(3), 2)
    assert same(draw(keys)[1], simulation.sample_difficulty(keys[1], 4, 1.0, 5.0))
