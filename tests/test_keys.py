"""A whole number is accepted as a key everywhere, with the answer of the JAX key of that number."""

import dataclasses
import importlib
import json
import pkgutil
from inspect import isfunction, signature

import jax
import numpy as np
import pytest

import jtruth
from jtruth import asking, evaluation, information, planning, simulation
from jtruth.evaluation.calibration import evaluate_calibration
from jtruth.labels import Labels
from jtruth.noise import Symmetric

pytestmark = pytest.mark.usefixtures("few_lineages")

CROWD = planning.Labeler("crowd", 0.2, 0.05, people=3)
SETTING = planning.Setting([0.7, 0.3], 0.9, [CROWD], rates="known", cost_sample=0.02)
PLAN = planning.Plan(60, (1,), 0)
PRIOR, ETA = np.array([0.6, 0.4]), np.array([1.0, 0.5])
LABELS = Labels.from_matrix(np.array([[1, 1, 1], [0, 0, 0], [1, 0, -1], [0, 0, -1]]), 2)
GOOD = np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))

MAY_BE_LEFT_OUT = {
    "simulated_width": lambda **key: planning.widths.simulated_width(SETTING, PLAN, num_sets=2, **key),
    "cheapest plan": lambda **key: planning.best_plan(SETTING, width=0.2, num_sets=2, **key).best,
    "narrowest plan": lambda **key: planning.best_plan(SETTING, budget=5.0, num_sets=2, **key).best,
    "next_labels": lambda **key: asking.next_labels(
        LABELS, np.array([1, 0, 1, 0]), 1, aim=asking.Aim("precision"),
        rates=(GOOD, [0.5, 0.5]), **key,
    ),
}  # fmt: skip
FIRST = {  # the first argument, as in jax.random
    "mutual_information": lambda key: information.mutual_information(
        Symmetric(np.linspace(0.3, 0.6, 30), 4), np.full(4, 0.25), key=key
    ),
    "simulate": lambda key: simulation.simulate(key, 5, PRIOR, GOOD[0], Symmetric(0.2, 2), ETA)[:3],
    "simulate_difficulty_fallibility": lambda key: simulation.simulate_difficulty_fallibility(
        key, num_samples=5, num_labelers=2, prior=PRIOR, confusion=GOOD[0]
    )[:3],
    "sample_difficulty": lambda key: simulation.sample_difficulty(key, 5, 1.0, 5.0),
    "sample_participation": lambda key: simulation.sample_participation(key, ETA, 5),
    "noise model": lambda key: Symmetric(0.2, 2).sample(key, np.arange(20) % 2, np.ones((20, 3), bool)),
    "law": lambda key: evaluation.evaluate(Z[:, 0], MANY, **KNOWN_RATES).recall.sample(key, 50),
}


def same(one, other) -> bool:
    """Equal leaves, NaN included; text as text."""
    one, other = (vars(a) if dataclasses.is_dataclass(a) else a for a in (one, other))  # fields of an answer
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=name, marks=[pytest.mark.slow] * (name == "narrowest plan"))
        for name, call in MAY_BE_LEFT_OUT.items()
    ],
)
def test_zero_is_the_key_that_is_left_out(call):
    found = call(key=0)
    assert same(found, call(key=jax.random.key(0))) and same(found, call()) and same(found, call(key=None))
    with pytest.raises(ValueError, match="key is 'a'"):
        call(key="a")


@pytest.mark.parametrize("call", FIRST.values(), ids=FIRST)
def test_a_number_is_a_key(call):
    found = call(0)
    assert all(same(found, call(key)) for key in (jax.random.key(0), jax.random.PRNGKey(0), None))
    assert not same(found, call(1))
    with pytest.raises(ValueError, match=r"key is 0\.5"):
        call(0.5)


def test_every_exported_function_may_be_called_without_a_key():
    """Where randomness is the question (simulate, sample, draws) the key comes first, as in jax.random."""
    rooms = [jtruth] + [
        importlib.import_module(f"jtruth.{one.name}")
        for one in pkgutil.iter_modules(jtruth.__path__)
        if one.ispkg and not one.name.startswith("_")
    ]
    public = [getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())]
    keys = {f.__name__: signature(f).parameters.get("key") for f in public if isfunction(f)}
    asked = {name: key for name, key in keys.items() if key and key.kind is key.KEYWORD_ONLY}
    assert {"evaluate", "fit_joint", "compare_models", "ask_next"} <= set(asked)
    assert [name for name, key in asked.items() if key.default not in (None, 0)] == []


Z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [20, 15, 3, 2], axis=0)
SAID = np.eye(2)[Z[:, 0]] * 0.8 + 0.1
MANY, KNOWN_RATES = Labels.from_matrix(Z, 2), {"noise": Symmetric(0.2, 2), "prior": [0.5, 0.5]}
STATE_IT = {
    "evaluate": lambda **key: evaluation.evaluate(Z[:, 0], MANY, **KNOWN_RATES, **key),
    "evaluate_labelers": lambda **key: evaluation.evaluate_labelers(MANY, **key),
    "quick_labelers": lambda **key: evaluation.quick_labelers(MANY, **key),
    "prevalence": lambda **key: evaluation.prevalence(MANY, assume="independent", **key),
    "compare_classifiers": lambda **key: evaluation.compare_classifiers(
        {"a": Z[:, 0], "b": Z[:, 1]}, MANY, **KNOWN_RATES, **key
    ),
    "evaluate_scores": lambda **key: evaluation.evaluate_scores(Z.mean(1), MANY, **KNOWN_RATES, **key),
    "evaluate_class_scores": lambda **key: evaluation.evaluate_class_scores(
        np.eye(2)[Z[:, 0]], MANY, **KNOWN_RATES, **key
    ),
    "evaluate_calibration": lambda **key: evaluate_calibration(SAID, MANY, split=2, **key),
    "consensus": lambda **key: evaluation.consensus(MANY, "majority_vote", **key),
}


@pytest.mark.parametrize("call", [
    pytest.param(call, id=name, marks=[pytest.mark.slow] * (name == "evaluate_calibration"))
    for name, call in STATE_IT.items()
])  # fmt: skip
def test_an_answer_can_be_repeated_from_its_json(call):
    """Its key is in the JSON: 0 if none was given, and the words of a key that no number makes do too."""
    given = jax.random.split(jax.random.key(5))[0]
    told = json.loads(json.dumps(call(key=given).to_dict()))
    again = json.loads(json.dumps(call(key=told["key"]).to_dict()))
    assert told == again and told["jtruth"] and told["key"] == jax.random.key_data(given).tolist()
    without = call()
    assert without.key == without.to_dict()["key"] == 0


def test_the_key_in_words():
    found = STATE_IT["evaluate"](key=jax.random.key(5))
    assert "; key 5; assumption: " in " ".join(str(found).split()) and found.key == 5
    assert "; key 5" in str(STATE_IT["prevalence"](key=5))
