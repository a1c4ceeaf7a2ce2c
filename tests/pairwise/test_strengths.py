"""Strengths against enumeration on a grid and NUTS; order effects and error matrices against known truth."""

import itertools

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from jtruth.labels import Labels
from jtruth.latent import NutsSettings
from jtruth.latent.infer import nuts
from jtruth.pairwise import Comparisons
from jtruth.pairwise.strengths import PRIOR_SD, Strengths, design, fit_davidson, strengths_of

S = np.array([0.9, 0.1, -1.0])
PAIRS = np.array(list(itertools.combinations(range(3), 2)))


def evidence_of(answer):
    return np.where(np.arange(3) == np.asarray(answer)[:, None], 0.0, -np.inf)


def simulated(rng, number, order=0.0, ties=0.4):
    """(pair, exchanged, answer) by the model."""
    pair, exchanged = PAIRS[rng.integers(0, 3, number)], rng.integers(0, 2, number)
    d = S[pair[:, 0]] - S[pair[:, 1]] + order * (1 - 2 * exchanged)
    score = np.stack([d / 2, -d / 2, np.full(number, np.log(ties))], axis=1)
    return pair, exchanged, (score + rng.gumbel(size=score.shape)).argmax(axis=1)


def test_two_systems_against_enumeration():
    answer = np.repeat([0, 1, 2], [40, 25, 15])
    pair, rows = np.tile([0, 1], (80, 1)), np.arange(80)
    fit = fit_davidson(design(pair, 2), evidence_of(answer), rows, rows, 2)
    d, log_nu = np.meshgrid(np.linspace(-3, 4, 400), np.linspace(-4, 2, 300), indexing="ij")
    total = np.log(np.exp(d / 2) + np.exp(-d / 2) + np.exp(log_nu))
    prior = -0.5 * (d / (PRIOR_SD[0] * np.sqrt(2))) ** 2 - 0.5 * ((log_nu + 1) / PRIOR_SD[1]) ** 2
    log_p = 40 * d / 2 - 25 * d / 2 + 15 * log_nu - 80 * total + prior
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    win = (np.exp(d / 2) + np.exp(log_nu) / 2) / np.exp(total)
    mean, sd = (p * win).sum(), np.sqrt((p * win**2).sum() - (p * win).sum() ** 2)
    found = Strengths.of(fit.draws(np.random.default_rng(0), 20_000), 2).win_rate[:, 0]
    assert abs(found.mean() - mean) < 0.004 and abs(found.std() / sd - 1) < 0.04


def by_hand(theta, pair, order, answer):
    """Log posterior of strengths, log nu and an order effect, one comparison after another."""
    prior = -0.5 * ((theta - [0, 0, 0, -1, 0]) / np.repeat(PRIOR_SD, [3, 1, 1])) ** 2
    value = prior.sum()
    for (a, b), o, y in zip(pair, order, answer, strict=True):
        d = theta[a] - theta[b] + theta[4] * o
        odds = np.exp([d / 2, -d / 2, theta[3]])
        value += np.log(odds[y] / odds.sum())
    return value


def test_the_mode_and_the_curvature_are_those_of_the_posterior_written_out():
    pair, exchanged, answer = simulated(np.random.default_rng(1), 60, order=0.5)
    rows, order = np.arange(60), 1 - 2 * exchanged
    x = design(pair, 3, np.zeros(60, int), order)
    fit = fit_davidson(x, evidence_of(answer), rows, rows, 3)
    at, h = (lambda *steps: by_hand(fit.mode + sum(steps), pair, order, answer)), 1e-3 * np.eye(5)
    assert max(abs(at(e) - at(-e)) / 2e-3 for e in h) < 1e-4
    hessian = [[(at(e, f) - at(e, -f) - at(-e, f) + at(-e, -f)) / 4e-6 for e in h] for f in h]
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(-np.array(hessian)), atol=1e-4)


@pytest.mark.slow
def test_the_normal_approximation_agrees_with_nuts():
    pair, exchanged, answer = simulated(np.random.default_rng(2), 120, order=0.5)
    x = design(pair, 3, np.zeros(120, int), 1 - 2 * exchanged)

    def model(x, y):
        theta = numpyro.sample(
            "theta", dist.Normal(np.array([0, 0, 0, -1.0, 0]), np.repeat(PRIOR_SD, [3, 1, 1]))
        )
        numpyro.sample("y", dist.Categorical(logits=x @ theta), obs=y)

    settings = NutsSettings(num_warmup=500, num_samples=2000)
    run = nuts.run_nuts(model, x, answer, key=jax.random.key(0), settings=settings)
    theta = np.asarray(run.samples["theta"]).reshape(-1, 5)
    exact = Strengths.of(theta, 3)
    rows = np.arange(120)
    fit = fit_davidson(x, evidence_of(answer), rows, rows, 3)
    found = Strengths.of(fit.draws(np.random.default_rng(0), 8000), 3)
    for one, other in ((exact.strength, found.strength), (exact.win_rate, found.win_rate)):
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 0.15 * one.std(axis=0)).all()
        np.testing.assert_allclose(other.std(axis=0), one.std(axis=0), rtol=0.08)
    np.testing.assert_allclose(found.rank_probabilities, exact.rank_probabilities, atol=0.03)


def comparisons(pair, exchanged, answer, judge, item):
    number = item.max() + 1
    first = np.array([np.flatnonzero(item == k)[0] for k in range(number)])
    judges, names = tuple(f"j{k}" for k in range(judge.max() + 1)), tuple(map(str, range(number)))
    return Comparisons(tuple("abc"), judges, names, np.arange(number), pair[first], item, judge, exchanged,
                       answer, np.full(number, -1))  # fmt: skip


def test_answers_given_twice_over_say_no_more_than_once():
    rng = np.random.default_rng(3)
    pair, exchanged, answer = simulated(rng, 300)
    once = comparisons(pair, exchanged, answer, np.zeros(300, int), np.arange(300))
    twice = [
        np.concatenate([one, one]) for one in (pair, exchanged, answer, np.zeros(300, int), np.arange(300))
    ]
    both = comparisons(*twice)
    one, two = (strengths_of(found, rng).strength.std(axis=0) for found in (once, both))
    np.testing.assert_allclose(two, one, rtol=0.15)


def test_an_order_effect_does_not_pass_for_strength():
    """A judge of a strong habit, before whom system a stands first nine times in ten."""
    rng = np.random.default_rng(4)
    pair, exchanged = PAIRS[rng.integers(0, 3, 3000)], (rng.random(3000) < 0.1).astype(int)
    d = 2.0 * (1 - 2 * exchanged)
    answer = (np.stack([d / 2, -d / 2, 0 * d - 1], axis=1) + rng.gumbel(size=(3000, 3))).argmax(axis=1)
    found = strengths_of(comparisons(pair, exchanged, answer, np.zeros(3000, int), np.arange(3000)), rng)
    assert (np.abs(found.strength.mean(axis=0)) < 3.5 * found.strength.std(axis=0)).all()
    hidden = comparisons(pair, np.full(3000, -1), answer, np.zeros(3000, int), np.arange(3000))
    assert strengths_of(hidden, rng).strength.mean(axis=0)[0] > 0.8


def test_error_matrices_turn_answers_into_what_is_true():
    """Two judges in three who cannot see ties and mistake a fifth: strengths shrink unless corrected."""
    rng = np.random.default_rng(5)
    pair, exchanged, truth = simulated(rng, 4000)
    matrix = np.array([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]]) + 1e-9
    matrix /= matrix.sum(axis=1, keepdims=True)
    answer = np.concatenate(
        [(matrix[truth].cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1) for _ in range(3)]
    )
    item, judge = np.tile(np.arange(4000), 3), np.repeat(np.arange(3), 4000)
    found = comparisons(np.tile(pair, (3, 1)), np.tile(exchanged, 3), answer, judge, item)
    labels = Labels.from_long(item, judge, answer, num_classes=3)
    known = np.tile(matrix, (20, 3, 1, 1))
    right = strengths_of(found, rng, (labels, np.full(4000, -1), known)).strength
    given = strengths_of(found, rng).strength
    assert (np.abs(right.mean(axis=0) - S) < 3.5 * right.std(axis=0)).all()
    assert abs(given.mean(axis=0)[0] - S[0]) > 5 * given.std(axis=0)[0]
