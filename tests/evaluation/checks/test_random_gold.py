"""Is gold a random sample: false alarms, power, and the exact p-value of a tiny set."""

from itertools import combinations

import jax
import numpy as np
import pytest

from jtruth.evaluation.checks.columns import random_gold_check

CLASSES = ("no", "yes")


def posterior(rng, size=300):
    return rng.dirichlet([0.5, 0.5], size)


@pytest.mark.slow
def test_false_alarms_and_power():
    """150 random choices: at most 9 alarms of 1 % (false-alarm rate of this test below 1e-4)."""
    rng, alarms = np.random.default_rng(0), 0
    for number in range(150):
        h, gold = posterior(rng), np.full(300, -1)
        gold[rng.choice(300, 30, replace=False)] = np.arange(30) % 2
        (found,) = random_gold_check(h, gold, jax.random.key(number), CLASSES)
        alarms += found.verdict == "does not fit"
    assert alarms <= 9
    for sign, word in ((-1, "more"), (1, "less")):
        gold = np.full(300, -1)
        gold[np.argsort(sign * (1 - h.max(axis=1)))[:30]] = np.arange(30) % 2
        (found,) = random_gold_check(h, gold, jax.random.key(0), CLASSES)
        assert found.verdict == "does not fit" and f"{word} uncertain than the others" in found.message


def test_p_value_is_that_of_all_choices():
    rng = np.random.default_rng(1)
    h, gold = posterior(rng, 9), np.array([0, 1, 0, -1, -1, -1, -1, -1, -1])
    doubt = 1 - h.max(axis=1)
    every = np.array([doubt[list(c)].mean() for c in combinations(range(9), 3)]) - doubt.mean()
    exact = (np.abs(every) >= abs(every[0]) - 1e-12).mean()
    (found,) = random_gold_check(h, gold, jax.random.key(0), CLASSES)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 1999) + 1e-3)


def test_nothing_to_say():
    h = posterior(np.random.default_rng(2), 9)
    for gold in (np.full(9, -1), np.zeros(9, int)):
        assert random_gold_check(h, gold, jax.random.key(0), CLASSES) == ()
    assert random_gold_check(np.full((9, 2), 0.5), np.arange(9) % 2 - 1, jax.random.key(0), CLASSES) == ()


def test_gold_of_one_class_is_hardly_random_where_half_are_of_another():
    h = posterior(np.random.default_rng(3))
    share = h[:, 1].mean()
    for many, loud in ((5, False), (30, True)):
        gold = np.full(300, -1)
        gold[:many] = 1
        (found,) = random_gold_check(h, gold, jax.random.key(0), CLASSES)
        assert (found.verdict == "does not fit" and "'yes'" in found.message) == loud
        if loud:
            assert found.p_value == pytest.approx(share**many)
