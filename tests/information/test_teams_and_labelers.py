"""Closed form, equivalent labeler, smallest team, contributions of labelers: two ways for each."""

import itertools
import math

import numpy as np
import pytest

from jtruth.information import (
    best_labelers,
    bsbc_information,
    equivalent_error,
    equivalent_labeler,
    label_distribution,
    labeler_information,
    mutual_information,
    smallest_team,
)
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from tests.information.channels import entropy, matrices

PRIOR = [225 / 351, 126 / 351]


@pytest.mark.parametrize("error", [0.0, 0.05, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("num_labelers", [0, 1, 2, 7])
def test_closed_form_is_entropy_of_labels_less_noise(num_labelers, error):
    """The corrected formula of Su 4.1 as it stands: H(Z) - T h(eps), summed over all 2^T label vectors."""
    of_z = []
    for z in itertools.product((0, 1), repeat=num_labelers):
        ones = sum(z)
        zero = 0.7 * error**ones * (1 - error) ** (num_labelers - ones)
        of_z.append(zero + 0.3 * (1 - error) ** ones * error ** (num_labelers - ones))
    expected = entropy(of_z) - num_labelers * entropy([error, 1 - error])
    assert bsbc_information(num_labelers, error, 0.3) == pytest.approx(expected, abs=1e-13)


@pytest.mark.slow
def test_golden_equivalent_labeler_and_smallest_team(golden):
    cases = golden("su_mutual_information")
    for prior, num_labelers, error, bits, single in cases["equivalent_single"]:
        team = equivalent_labeler(Symmetric(error, 2), [1 - prior, prior], num_labelers=num_labelers)
        assert team.bits == pytest.approx(bits, abs=1e-10) and team.standard_error == 0
        assert team.error == pytest.approx(single, abs=1e-10)
    for prior, error, single, num_labelers in cases["minimum_T"]:
        target = float(bsbc_information(1, single, prior))
        assert smallest_team(error, [1 - prior, prior], target) == num_labelers


def test_the_equivalents_of_su_5_5():
    for num_labelers, error, single in ((9, 0.25, 0.02927), (399, 0.45, 0.01066)):
        team = equivalent_labeler(Symmetric(error, 2), PRIOR, num_labelers=num_labelers)
        assert team.error == pytest.approx(single, abs=6e-6)
    assert smallest_team(0.25, PRIOR, float(bsbc_information(1, 0.05, PRIOR[1]))) == 7
    assert smallest_team(0.45, PRIOR, float(bsbc_information(1, 0.01, PRIOR[1]))) == 409


@pytest.mark.parametrize("num_classes", [2, 3, 5])
@pytest.mark.parametrize("num_labelers", [1, 4])
def test_equivalent_error_inverts(num_classes, num_labelers):
    prior = np.arange(1, num_classes + 1) / sum(range(num_classes + 1))
    chance = 1 - 1 / num_classes
    for error in (0.0, 0.2, 0.9 * chance, chance):
        bits = mutual_information(Symmetric(error, num_classes), prior, num_labelers=num_labelers).bits
        found = equivalent_error(bits, prior, num_labelers=num_labelers)
        assert found == pytest.approx(error, abs=1e-7 if error == chance else 1e-11)


def test_smallest_team_is_smallest():
    labeler, prior = matrices(3, 1, 3)[0] * 0.5 + np.eye(3) * 0.5, [0.5, 0.3, 0.2]
    for target in (0.4, 0.9, 1.3):
        size = smallest_team(labeler, prior, target)
        bits = [mutual_information(np.repeat(labeler[None], n, axis=0), prior).bits for n in (size - 1, size)]
        assert bits[0] < target <= bits[1]


def test_a_simulated_team_says_so():
    crowd = Symmetric(np.linspace(0.3, 0.6, 30), 4)
    team = equivalent_labeler(crowd, np.full(4, 0.25))
    assert team.standard_error > 0 and 0 <= team.error < 0.3


@pytest.mark.parametrize("kind", ["independent", "shared", "four classes", "difficulty"])
def test_worth_of_labelers_by_single_sums(kind):
    num_classes = 4 if kind == "four classes" else 2
    rows, prior = matrices(4, 4, num_classes), np.arange(1, num_classes + 1) / sum(range(num_classes + 1))
    noise = ConfusionMatrices(rows)
    if kind == "shared":
        noise = SharedErrors(rows, matrices(5, 1, 2)[0], 0.5)
    if kind == "difficulty":
        noise = DifficultyFallibility([0.1, 0.5, 0.1], [0.1, 0.2, 0.3, 0.4], 2)

    def bits(team):
        dist = label_distribution(noise)
        return mutual_information(dist._replace(rows=dist.rows[:, list(team)]), prior).bits

    worth = labeler_information(noise, prior)
    np.testing.assert_allclose(worth.alone, [bits([t]) for t in range(4)], atol=1e-13)
    others = [bits([s for s in range(4) if s != t]) for t in range(4)]
    np.testing.assert_allclose(worth.last, bits(range(4)) - np.array(others), atol=1e-13)


def test_greedy_order_against_every_team():
    rows, prior = matrices(6, 6, 2), [0.5, 0.5]
    found = best_labelers(rows, prior)
    assert sorted(found.order) == list(range(6)) and found.cost[-1] == 6
    for size in range(1, 7):
        of_all = [
            mutual_information(rows[list(team)], prior).bits
            for team in itertools.combinations(range(6), size)
        ]
        mine = mutual_information(rows[found.order[:size]], prior).bits
        assert found.bits[size - 1] == pytest.approx(mine, abs=1e-13)
        assert (1 - 1 / math.e) * max(of_all) <= mine <= max(of_all) + 1e-13
    assert (np.diff(np.diff(np.concatenate([[0], found.bits]))) <= 1e-13).all()  # ever less to add


def test_budget_is_kept():
    costs = np.array([3.0, 1.0, 2.0, 5.0])
    found = best_labelers(Symmetric([0.1, 0.3, 0.2, 0.01], 2), [0.5, 0.5], costs=costs, budget=6)
    np.testing.assert_array_equal(found.cost, np.cumsum(costs[found.order]))
    assert found.cost[-1] <= 6 and found.order[0] == 3
    assert best_labelers(Symmetric([0.1, 0.3], 2), [0.5, 0.5], costs=[3, 3], budget=1).order.size == 0


BAD = [
    (lambda: bsbc_information(3, 1.2, 0.5), "error is 1.2, not a probability"),
    (lambda: bsbc_information([1.0, 2.5], 0.2, 0.5), "num_labelers must be a whole number from 0; got 2.5"),
    (lambda: equivalent_error(1.2, [0.5, 0.5]), "between 0 and 1 bits"),
    (lambda: smallest_team(0.5, [0.5, 0.5], 0.1, most=64), "64 such labelers do not convey"),
    (lambda: smallest_team(0.1, [0.5, 0.5], 1.1, most=64), "(of 1)"),
    (lambda: best_labelers(matrices(1, 2, 2), PRIOR, costs=[1, 0]), "prices of 2 labelers, above 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[said for _, said in BAD])
def test_bad_input(as_installed, call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
