"""The chain in fixed shapes is the host's: evidence and marginals to 1e-12, draws by their own laws."""

import jax
import numpy as np
import pytest

from jtruth.testing import symbol_chain, symbol_chains


@pytest.fixture(scope="module")
def sets():
    """Three sets of 120 samples, four symbols; certain samples, a symbol that never occurs, fewer samples."""
    rng = np.random.default_rng(0)
    x, u = rng.normal(0, 2, (3, 120)), rng.integers(0, 4, (3, 120))
    x[0, :3] = np.inf, -np.inf, 60.0
    u[1][u[1] == 2] = 0
    u[2, 70:] = -1
    x[2, 70:] = np.nan  # of samples that do not exist
    alpha = rng.uniform(0.3, 3, (2, 4))
    return x, u, alpha, symbol_chains(x, u, 4, alpha, key=jax.random.key(1), num_draws=4000)


def test_equal_to_the_host(sets):
    x, u, alpha, found = sets
    for k in range(3):
        there = u[k] >= 0
        host = symbol_chain(x[k, there], u[k, there], 4, alpha)
        np.testing.assert_allclose(found.log_evidence[k], host.log_evidence, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found.sizes[k], host.sizes)
        for symbol in range(4):
            law = host.marginal(symbol)
            full = np.zeros(found.marginal.shape[2])
            full[law.values.astype(int)] = law.pmf
            np.testing.assert_allclose(found.marginal[k, symbol], full, atol=1e-12)
            np.testing.assert_allclose(found.mean[k, symbol], law.mean, atol=1e-10)


def test_draws(sets):
    """Means of every symbol and of the sum within 5 sd, 15 of them: false alarms 1e-5; one key."""
    x, u, alpha, found = sets
    for k in range(3):
        there = u[k] >= 0
        host = symbol_chain(x[k, there], u[k, there], 4, alpha)
        laws = [(host.marginal(s), found.draws[k][:, s]) for s in range(4)]
        for law, drawn in [*laws, (host.positives(), found.draws[k].sum(1))]:
            assert abs(drawn.mean() - law.mean) <= 5 * law.sd / np.sqrt(4000) + 1e-9
            assert abs(drawn.std() - law.sd) <= 0.08 * law.sd + 1e-9  # 7 sd
        np.testing.assert_array_equal(found.tables(k).sum(1), np.tile(found.sizes[k], (4000, 1)))
    assert (found.draws[0] != found.draws[1]).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_odds": np.zeros(3)}, "give .sets, samples. of each"),
        ({"symbols": np.array([[0, 1, 2], [0, 1, 4]])}, r"set 1: symbols\[2\] is 4"),
        ({"log_odds": np.array([[0, np.nan, 1], [0, 0, 0]])}, r"set 0: log_odds\[1\] is NaN"),
        ({"alpha": 0.0}, "positive"),
    ],
)
def test_refused(as_installed, change, message):
    good = {"log_odds": np.zeros((2, 3)), "symbols": np.array([[0, 1, 2], [0, 1, 2]]), "num_symbols": 4}
    with pytest.raises(ValueError, match=message):
        symbol_chains(**{**good, **change}, key=jax.random.key(0))
