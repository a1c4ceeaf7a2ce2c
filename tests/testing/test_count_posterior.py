"""Draws of the count table against enumeration of all label vectors, and against the exact binary table.

Every comparison of draws with an exact number allows `LIMIT` Monte Carlo standard errors, computed from the
effective sample size; 5.5 sd of 2000 such comparisons gives a false alarm in fewer than 1 run in 10 000, and
the keys are fixed.
"""

import jax
import numpy as np
import pytest
from scipy.special import logit

from jtruth._host import cross_table
from jtruth.latent import Effort
from jtruth.stats.chains import effective_sample_size
from jtruth.tables.metrics import named_metric
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.operating_point import BetaPrior, collapse
from jtruth.testing.multiclass import EFFORT, CountDraws, count_posterior
from tests.reference import su_binary as su
from tests.testing.golden_cases import random_case, simulated

LIMIT = 5.5
KEY = jax.random.key(7)
MANY = EFFORT._replace(min_sweeps=20_000, chains=4)


def enumerated_tables(lik, prior, y_pred, alpha):
    """All count tables and their probabilities; K is (classes, symbols) and integrated out."""
    posterior, _ = su.enumerate_labels(lik, prior, y_pred, alpha=alpha)
    return su.count_tables(posterior, y_pred, *alpha.shape)


def assert_means(draws, expected, chains=4):
    """Means of draws (draws, ...) equal `expected` to within LIMIT Monte Carlo standard errors."""
    each = draws.astype(float).reshape(chains, -1, *draws.shape[1:])
    ess = effective_sample_size(each, ranked=False)
    error = each.std(axis=(0, 1)) / np.sqrt(np.where(np.isnan(ess), 1.0, ess))
    worst = np.abs(each.mean(axis=(0, 1)) - expected) / np.where(error > 0, error, 1e-12)
    assert worst.max() < LIMIT, worst


@pytest.mark.parametrize(
    ("seed", "samples", "classes", "symbols"),
    [
        (2, 5, 3, 4),
        *(pytest.param(*c, marks=pytest.mark.slow) for c in ((3, 8, 2, 3), (1, 7, 3, 2), (0, 6, 3, 3))),
    ],
)
def test_draws_equal_enumeration(seed, samples, classes, symbols):
    lik, prior, y_pred = random_case(seed, samples, classes, symbols)
    alpha = np.random.default_rng(seed).uniform(0.5, 3.0, (classes, symbols))
    cells, p = enumerated_tables(lik, prior, y_pred, alpha)
    found = count_posterior(
        np.log(lik), prior, y_pred, key=KEY, num_symbols=symbols, alpha=alpha, effort=MANY
    )
    assert found.converged and found.counts.shape == (20_000, classes, symbols)
    predicted = np.bincount(y_pred, minlength=symbols)
    np.testing.assert_array_equal(found.counts.sum(1), np.tile(predicted, (20_000, 1)))
    assert_means(found.counts, np.einsum("k,kcs->cs", p, cells))
    assert_means(found.counts**2, np.einsum("k,kcs->cs", p, cells**2))
    # The operating matrix given the table is Dirichlet, so its mean is known too.
    rows = cells + alpha
    assert_means(found.confusion, np.einsum("k,kcs->cs", p, rows / rows.sum(2, keepdims=True)))
    # Single tables, not only moments.
    top = np.argsort(-p)[:20]
    hit = (found.counts[:, None] == cells[top][None]).all(axis=(2, 3))
    assert_means(hit, p[top])
    if symbols == classes:
        accuracy = cells.trace(axis1=1, axis2=2) / samples
        assert_means(found.estimate("accuracy").draws, p @ accuracy)


def test_everything_known_gives_one_table():
    y, y_pred = np.array([0, 1, 2, 1, 0]), np.array([0, 1, 1, 1, 2])
    with np.errstate(divide="ignore"):
        found = count_posterior(np.log(np.eye(3)[y]), np.full(3, 1 / 3), y_pred, key=KEY, alpha=1.0)
    expected = cross_table(y, y_pred, (3, 3))
    assert (found.counts == expected).all() and found.converged
    dist = found.estimate("macro_f1")
    assert dist.sd == 0 and dist.probability_defined == 1
    # K still is uncertain: its rows are Dirichlet(1 + counts).
    rows = 1.0 + expected
    assert_means(found.confusion, rows / rows.sum(1, keepdims=True))
    assert found.rate(0, 2).mean == 0.5 and found.cell(1, 1).mean == 2
    assert np.isnan(found.rhat).all()


def test_the_key_decides_and_the_sweeps_are_reported():
    lik, prior, y_pred = random_case(21, 30, 3, 3)
    short = Effort(chains=4, burn_in=10, min_sweeps=80, max_sweeps=80, min_ess=40)
    one = count_posterior(np.log(lik), prior, y_pred, key=KEY, effort=short)
    again = count_posterior(np.log(lik), prior, y_pred, key=KEY, effort=short)
    other = count_posterior(np.log(lik), prior, y_pred, key=jax.random.key(8), effort=short)
    np.testing.assert_array_equal(one.confusion, again.confusion)
    assert (one.confusion != other.confusion).any()
    assert not one.converged and one.num_sweeps == 20 and one.num_chains == 4
    assert np.nanmax(one.rhat) > 1.01  # 20 draws a chain; the run says so
    longer = count_posterior(np.log(lik), prior, y_pred, key=KEY, effort=EFFORT)
    assert longer.converged and len(longer.counts) == longer.num_sweeps * longer.num_chains >= 2000


@pytest.mark.slow
def test_draws_of_large_tables_are_thinned_together():
    """40 classes: 1600 cells, so draws are held within `max_bytes`, and counts belong to their matrices."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 40, 400)
    y_pred = np.where(rng.random(400) < 0.7, y, rng.integers(0, 40, 400))
    log_lik = np.where(np.arange(40) == y[:, None], 0.0, -6.0)
    small = Effort(chains=4, burn_in=10, min_sweeps=800, max_sweeps=800, max_bytes=4_000_000)
    found = count_posterior(log_lik, np.full(40, 1 / 40), y_pred, key=KEY, effort=small)
    assert found.counts.shape == found.confusion.shape and found.counts.shape[0] < 800
    assert found.counts.nbytes // 2 <= 4_000_000 and found.num_sweeps == 200
    assert (found.counts.sum(1) == np.bincount(y_pred, minlength=40)).all()
    # A row of K given its table is centred at the counts: far from independent of them.
    right = np.einsum("dcc->dc", found.counts)[:, :5] / found.counts.sum(2)[:, :5]
    rates = np.einsum("dcc->dc", found.confusion)[:, :5]
    assert np.abs(right - rates).mean() < 0.15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": np.array([0, 3])}, r"y_pred\[1\] is 3 .* class codes 0 to 2"),
        ({"y_pred": np.array([0, -1])}, r"y_pred\[1\] is -1"),
        ({"y_pred": np.array([0])}, "y_pred must have shape"),
        ({"prior": np.array([0.5, 0.5, 0.5])}, "sums to 1.5"),
        ({"prior": np.array([0.5, 0.5])}, "3 classes"),
        ({"alpha": np.ones((2, 3))}, "alpha has shape"),
        ({"alpha": 0.0}, "at least 0.01"),
        ({"effort": EFFORT._replace(min_sweeps=10)}, "4 sweeps or more of each"),
        ({"log_likelihood": np.full((2, 3), -np.inf)}, "impossible under every class"),
    ],
)
def test_bad_input(as_installed, change, message):
    good = {
        "log_likelihood": np.zeros((2, 3)),
        "prior": np.full(3, 1 / 3),
        "y_pred": np.array([0, 1]),
        "effort": Effort(chains=4, burn_in=0, min_sweeps=16, max_sweeps=16),
    }
    with pytest.raises(ValueError, match=message):
        count_posterior(**{**good, **change}, key=KEY)
    assert isinstance(count_posterior(**good, key=KEY), CountDraws)


def test_binary_draws_equal_the_exact_table():
    x, y_pred = simulated(5, 150, error=0.25, equal=True)
    log_lik = np.stack([np.zeros(150), x - logit(0.3)], axis=1)
    prior = BetaPrior(2.0, 1.5, 1.0, 3.0)
    table = count_table(collapse(x, y_pred), prior)
    alpha = np.array([[prior.b_f, prior.a_f], [prior.b_d, prior.a_d]])
    found = count_posterior(
        log_lik, np.array([0.7, 0.3]), y_pred, key=KEY, alpha=alpha, effort=MANY._replace(min_ess=4000)
    )
    assert found.converged and found.num_chains == 1 and found.ess[1, 1] == len(found.counts) == 20_000
    assert np.isnan(found.rhat).all()
    for metric, name in (("recall", "recall[1]"), ("precision", "precision[1]"), ("accuracy", "accuracy")):
        exact, draws = table.estimate(metric), found.estimate(name).draws
        assert_means(draws, exact.mean)
        assert_means((draws - exact.mean) ** 2, exact.sd**2)
        for q in exact.equal_tails(0.9):
            below = exact.pmf[exact.values < q - 1e-12].sum()
            assert_means(draws < q - 1e-12, below)


def test_impossible_classes_never_get_a_sample_and_known_labels_are_counted():
    log_lik = np.array([[0, -np.inf, -np.inf], [-1.0, -2.0, -np.inf], [-np.inf, -1.0, -1.0]])
    log_lik = np.repeat(log_lik, [3, 400, 400], axis=0)
    y_pred = np.tile([0, 1], 402)[:803]
    # The labels cannot tell classes 1 and 2 apart here, so the chains are slow; what is tested here
    # holds for every draw.
    few = Effort(chains=4, burn_in=10, min_sweeps=400, max_sweeps=400)
    found = count_posterior(log_lik, np.array([0.2, 0.5, 0.3]), y_pred, key=KEY, num_symbols=2, effort=few)
    np.testing.assert_array_equal(found.counts.sum(1), np.tile(np.bincount(y_pred), (400, 1)))
    assert (found.counts[:, 0].sum(1) <= 403).all() and (found.counts[:, 2].sum(1) <= 400).all()
    assert (found.counts[:, 0] >= [2, 1]).all()


def test_undefined_metrics_are_reported():
    """A class of probability about 1/2 of not occurring: its recall is undefined as often."""
    log_lik = np.log([[0.5, 0.5, 1e-9], [1e-9, 1.0, 1e-9], [1e-9, 1.0, 1e-9]])
    few, given = MANY._replace(min_sweeps=4000), (np.full(3, 1 / 3), np.array([0, 1, 1]))
    found = count_posterior(log_lik, *given, key=KEY, alpha=1.0, effort=few)
    cells, p = enumerated_tables(np.exp(log_lik), *given, np.ones((3, 3)))
    absent = p[cells[:, 0].sum(axis=1) == 0].sum()
    defined = found.estimate("recall[0]").probability_defined
    assert abs(defined - (1 - absent)) < LIMIT * np.sqrt(absent * (1 - absent) / 2000)
    named = named_metric("recall[cat]", ["cat", "dog", "eel"])
    assert found.estimate(named).mean == found.estimate("recall[0]").mean
    assert found.rate(2, 0).probability_defined < 0.01
