"""exact_batch against the exact tables of one data set at a time."""

from functools import partial

import jax
import numpy as np
import pytest

from jtruth.tables.metrics import default_metrics
from jtruth.testing.binary import batch
from jtruth.testing.binary.batch import enough_window, exact_batch
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.operating_point import BetaPrior, collapse

WINDOW = (96, 96)


def make_sets(number=6, samples=150):
    """Labels of good and poor labelers, classifiers good, poor and upside down; some labels certain."""
    rng = np.random.default_rng(0)
    y = rng.random((number, samples)) < rng.uniform(0.1, 0.9, (number, 1))
    informative = rng.uniform(0.8, 4, (number, 1))
    x = np.where(y, 1, -1) * informative + rng.normal(size=y.shape) * informative**0.5
    y_pred = rng.random(y.shape) < np.where(y, rng.random((number, 1)), rng.random((number, 1)))
    x[1, :20], x[1, 20:50] = np.inf, -np.inf
    x[2, :3] = 700.0
    y_pred[3], y_pred[4] = True, False
    return x, y_pred.astype(np.int32)


@pytest.fixture(scope="module")
def sets():
    return make_sets()


@pytest.fixture(scope="module")
def found(sets):
    return jax.tree.map(np.asarray, exact_batch(*sets, window=WINDOW))


def dists(x, y_pred, prior=BetaPrior()):
    table = count_table(collapse(x, y_pred), prior)
    return [table.estimate(name) for name in default_metrics("01")], table


@pytest.mark.parametrize("prior", [BetaPrior(), BetaPrior(2.0, 1.5, 0.7, 3.0)])
def test_means_sd_and_evidence_equal_the_exact_table(sets, prior):
    """Which is compared with all label vectors: test_enumeration."""
    found = jax.tree.map(np.asarray, exact_batch(*sets, prior=prior, window=WINDOW))
    assert found.ok.all()
    for i, (x, y_pred) in enumerate(zip(*sets, strict=True)):
        exact, table = dists(x, y_pred, prior)
        for name in ("mean", "sd", "probability_defined"):
            expected = [getattr(dist, name) for dist in exact]
            tolerance = (
                1e-7 if name == "sd" and i in (3, 4) else 1e-12
            )  # distributions that are all at one value
            np.testing.assert_allclose(getattr(found, name)[i], expected, rtol=0, atol=tolerance)
        assert found.log_evidence[i] == pytest.approx(table.log_evidence, abs=1e-10)


def test_lattice_intervals_are_exact_and_ratio_intervals_within_two_bins(sets, found):
    for i, (x, y_pred) in enumerate(zip(*sets, strict=True)):
        exact, _ = dists(x, y_pred)
        for m, dist in enumerate(exact):
            low, high = ends = dist.interval(0.95)
            step = found.resolution[i, m]
            if m < 2:
                assert step == 0
                np.testing.assert_allclose(
                    (found.low[i, m], found.high[i, m], found.mass[i, m]), (low, high, ends.mass), atol=1e-10
                )
                continue
            width = found.high[i, m] - found.low[i, m]
            assert high - low - 1e-7 <= width <= high - low + 2 * step + 1e-7
            assert step <= dist.sd / 128 + 1e-9
            inside = (dist.values >= found.low[i, m] - 1e-12) & (dist.values <= found.high[i, m] + 1e-12)
            assert dist.pmf[inside].sum() == pytest.approx(found.mass[i, m], abs=1e-9)
            assert found.mass[i, m] >= 0.95 - 1e-9


@pytest.mark.slow
def test_float32_is_good_to_a_hundred_thousandth_of_the_sd(sets, found):
    x, y_pred = sets
    single = jax.tree.map(np.asarray, exact_batch(x.astype(np.float32), y_pred, window=WINDOW))
    assert single.mean.dtype == np.float32 and single.ok.all()
    spread = found.sd > 1e-6  # not the distributions that are all at one value
    error = np.where(spread, np.abs(single.mean - found.mean) / np.where(spread, found.sd, 1), 0)
    assert 1e-9 < np.nanmax(error) < 3e-5
    np.testing.assert_allclose(np.where(spread, single.sd, 0), np.where(spread, found.sd, 0), rtol=1e-4)
    np.testing.assert_allclose(single.log_evidence, found.log_evidence, rtol=0, atol=2e-3)


@pytest.mark.slow
def test_jit_vmap_and_chunks_do_not_change_the_answer(sets, found, monkeypatch):
    x, y_pred = sets
    plain = partial(exact_batch, window=WINDOW)
    monkeypatch.setattr(batch, "_SETS_AT_ONCE", 4)
    mapped = jax.jit(jax.vmap(plain))(x.reshape(2, 3, -1), y_pred.reshape(2, 3, -1))
    mapped = jax.tree.map(lambda leaf: leaf.reshape(6, *leaf.shape[2:]), mapped)
    for other in (plain(x[:5], y_pred[:5]), mapped):
        for name in ("mean", "sd", "low", "high", "log_evidence"):
            ours = getattr(other, name)
            np.testing.assert_allclose(ours, getattr(found, name)[: len(ours)], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_the_automatic_window_is_enough_and_no_larger_than_need_be(sets):
    x, y_pred = sets
    window = enough_window(x, y_pred)
    assert max(window) <= 160  # 151 counts are possible
    assert np.asarray(exact_batch(x, y_pred).ok).all()
    easy = enough_window(np.where(x > 0, 3.0, -3.0)[:1], y_pred[:1])
    assert max(easy) < 160


@pytest.mark.slow
def test_a_window_that_is_too_small_is_flagged(sets):
    x, y_pred = sets
    small = exact_batch(x, y_pred, window=(24, 24))
    lost = np.abs(np.asarray(small.mean) - np.asarray(exact_batch(x, y_pred, window=WINDOW).mean)).max(1)
    assert not np.asarray(small.ok).all()
    assert (np.asarray(small.ok) <= (lost < 1e-9)).all()  # ok only where nothing was lost
    assert (np.asarray(small.edge_mass)[~np.asarray(small.ok)] > 1e-12).all()


@pytest.mark.slow
def test_numbers_that_underflow_are_flagged():
    rng = np.random.default_rng(2)
    x, y_pred = rng.normal(size=(1, 2000)) * 0.3, rng.integers(0, 2, (1, 2000)).astype(np.int32)
    single = exact_batch(x.astype(np.float32), y_pred, window=(1024, 1024))
    assert not np.asarray(single.ok)[0]


@pytest.mark.parametrize(
    ("options", "message"), [({"level": 1.0}, "level is 1.0"), ({"window": (0, 8)}, "window is .0, 8.")]
)
def test_bad_options(sets, options, message):
    with pytest.raises(ValueError, match=message):
        exact_batch(*sets, **{"window": WINDOW, **options})


def test_shapes_that_differ(as_installed):
    with pytest.raises(ValueError, match="both must be"):
        exact_batch(np.zeros((2, 3)), np.zeros((2, 4), np.int32), window=(8, 8))
