"""Labels missing by class: false alarms, power, the class that is named, and when the check is skipped."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.checks.of_labels import _LEVEL, MISSING, missing_check
from jtruth.learning import Smoothing, fit_dawid_skene


def verdict(seed, kept):
    """The check of 300 samples of which labels are kept with these chances by class, None: five of each."""
    rng = np.random.default_rng(seed)
    y = (rng.random(300) < 0.4).astype(int)
    z = np.where(rng.random((300, 5)) < rng.uniform(0.75, 0.85, (5, 2))[:, y].T, y[:, None], 1 - y[:, None])
    if kept is not None:
        z = np.where(rng.random(z.shape) < np.array(kept)[y][:, None], z, -1)
    labels = jt.Labels.from_matrix(z[(z >= 0).any(axis=1)], 2)
    fit = fit_dawid_skene(labels, smoothing=Smoothing(diagonal=0.01, off_diagonal=0.01))
    return missing_check(labels, fit.class_posterior)


@pytest.mark.slow
def test_false_alarms_and_power():
    """At 1 % seven or more of 60 sets have probability 2e-6; the effect is seen in every set."""
    assert _LEVEL == 0.01
    assert sum(verdict(seed, (0.8, 0.8))[0].verdict == "does not fit" for seed in range(60)) < 7
    for seed in range(5):
        (found,) = verdict(seed, (0.35, 0.85))
        assert found.name == MISSING and found.verdict == "does not fit" and found.p_value < 1e-4
        assert "class '1' have more" in found.message or "class '0' have fewer" in found.message


def test_by_hand():
    """Classes known for sure: the statistic is (sum a r)^2 / sum (a r)^2 with a, r centred."""
    y, number = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 2, 2, 3, 3])
    z = np.where(np.arange(3) < number[:, None], y[:, None], -1)
    a, r = number - number.mean(), y - y.mean()
    (found,) = missing_check(jt.Labels.from_matrix(z, 2), np.eye(2)[y])
    assert np.isclose(found.statistic, (a @ r) ** 2 / ((a * r) ** 2).sum())


def test_no_check_where_all_have_equally_many():
    assert verdict(0, None) == ()


@pytest.mark.usefixtures("few_lineages")
def test_shares_are_learned_for_each_number_of_labels_where_they_differ():
    """The answer's fit is then the second one, and whoever learned it first is not asked to again."""
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    z = np.where(rng.random((300, 5)) < 0.8, y[:, None], 1 - y[:, None])
    kept = {"gone": np.array([0.35, 0.85])[y][:, None], "same": 0.6}
    for name, chance in kept.items():
        some = np.where(rng.random(z.shape) < chance, z, -1)
        labels = jt.Labels.from_matrix(some[(some >= 0).any(axis=1)], 2)
        data = inputs.read_labels_alone(labels, assume="independent", key=0)
        first = ranges.sampled(data, "independent", data.key, ranges.STANDARD)
        fit = ranges.labels_fit(data)
        answered = [check.verdict for check in data.missing]
        assert answered == (["worth knowing"] if name == "gone" else [])
        assert np.array_equal(fit.class_posterior, first.class_posterior) == (name == "same")
        assert ranges.learn_shares(data, fit) is False
        again = inputs.read_labels_alone(labels, assume="independent", key=0)
        assert ranges.learn_shares(again, first) is (name == "gone")
