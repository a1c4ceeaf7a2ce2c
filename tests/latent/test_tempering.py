"""Tempering against enumeration of all vectors of states: tables, class posteriors, and the evidence."""

from functools import partial

import jax
import numpy as np
import pytest
from scipy.special import digamma, expit, gammaln, logsumexp
from scipy.stats import truncnorm

import jtruth as jt
from jtruth import _arrays
from jtruth._random import host_rng
from jtruth.latent import Digest, Effort, bijections
from jtruth.latent.fit import class_counts, model_of, run_tempered
from jtruth.latent.infer import laplace, temper
from jtruth.latent.infer.side_by_side import alone
from jtruth.latent.models import alike, strata
from jtruth.latent.models import random_effect as effect
from jtruth.latent.models.strata import arrays_of
from jtruth.learning import DirichletPriors, fit_joint
from jtruth.stats.chains import mean_error
from tests.evaluation.crowds import uneven
from tests.learning.joint.test_gibbs import CASES, build, by_default, enumerated, keep_everything, tiny

ERRORS = 5.0  # Monte Carlo errors that a mean may be off: each comparison fails by chance in 6e-7
EFFORT = Effort(min_sweeps=16_000, max_sweeps=32_000)


def tempered(model, observed, key=1):
    found = model_of(strata.KIND, arrays_of(model), observed, model.num_classes)
    asked = Digest(keep_everything, ("table1",))
    return run_tempered(found, observed, asked, key=jax.random.key(key), effort=EFFORT)


# By default one case each is in joint/test_joint.py, joint/test_tempered_batch.py and the next test.
@by_default()
def test_equal_to_enumeration(case):
    """About 20 comparisons a case at 5 Monte Carlo errors; the evidence within 5 of its own."""
    name, size, options = CASES[case]
    labels, y_pred = tiny(*size, symbols=options.get("symbols"))
    model, observed, _ = build(name, labels, y_pred, **options)
    run = tempered(model, observed)
    row = observed.row_of_sample
    seen = [s[row] for s in observed.symbols]
    vectors, log_p = enumerated(model, seen, observed.offset[:, row])
    log, error = run.evidence
    assert abs(log - logsumexp(log_p)) < 5 * error
    p, y = np.exp(log_p - logsumexp(log_p)), model.state_class[vectors]
    table = run.draws["table1"]  # (chains, draws, classes, symbols)
    onehot = np.eye(table.shape[2])[y]  # (vectors, samples, classes)
    exact = np.einsum("vic,iu->vcu", onehot, seen[1].toarray())
    for c, u in np.ndindex(table.shape[2:]):
        for drawn, wanted in (
            (table[:, :, c, u], p @ exact[:, c, u]),
            ((table[:, :, c, u] == 0).astype(float), p @ (exact[:, c, u] == 0)),
        ):
            error = mean_error(drawn)
            assert abs(drawn.mean() - wanted) <= ERRORS * (0 if np.isnan(error) else error) + 2e-4, (c, u)
    by_class = np.stack([p @ (y == c) for c in range(table.shape[2])], axis=1)
    np.testing.assert_allclose(run.state_posterior[row], by_class, atol=0.02)


@pytest.mark.parametrize("case", ["gold", pytest.param("three classes", marks=pytest.mark.slow)])
def test_from_a_dist_about_the_modes_equal_to_enumeration(case, monkeypatch):
    """The distribution is far too narrow for six samples; weights and moves must mend all of it."""
    monkeypatch.setattr(temper, "HEAVY", 0.0)
    test_equal_to_enumeration(case)


@pytest.mark.slow
def test_both_starts_tell_the_same_evidence(monkeypatch):
    """Three classes, where six exchanges of names are modes of almost no weight."""
    labels, y_pred = tiny(3, 150, 4, 3)
    model, observed, _ = build("independent", labels, y_pred)
    found = model_of(strata.KIND, arrays_of(model), observed, 3)
    from_prior = alone(temper.temper(found, np.random.default_rng(1), 256))
    monkeypatch.setattr(temper, "HEAVY", 0.0)
    from_modes = alone(temper.temper(found, np.random.default_rng(2), 256))
    (one, error, few), (other, more, many) = from_modes.evidence, from_prior.evidence
    assert few < many
    assert abs(one - other) < 5 * np.hypot(error, more)


def test_without_a_mode_the_run_starts_at_the_prior(monkeypatch):
    """As from the prior by choice, draw for draw; a start that raises or is NaN is never drawn from."""
    labels, y_pred = tiny(2, 12, 3, 3)
    model, observed, _ = build("independent", labels, y_pred)
    found = model_of(strata.KIND, arrays_of(model), observed, 2)
    from_prior = alone(temper.temper(found, np.random.default_rng(1), 64))
    monkeypatch.setattr(temper, "HEAVY", 0.0)
    nan = np.full((found.size, found.size), np.nan)
    monkeypatch.setattr(laplace, "polished", lambda slopes, x: (x, nan))
    assert laplace.start_of(found, np.random.default_rng(1)) is None
    without_modes = alone(temper.temper(found, np.random.default_rng(1), 64))
    (one, error, _), (other, more, _) = without_modes.evidence, from_prior.evidence
    assert np.isfinite(without_modes.x).all() and abs(one - other) < 5 * np.hypot(error, more)


@pytest.mark.parametrize("seed", [0, 2])
def test_uneven_crowds_have_a_finite_posterior(seed):
    """On f1d762d a Newton step went to NaN, or to a density that only rounding makes high."""
    y, y_pred, labels = uneven(seed)
    answer = jt.evaluate(y_pred, labels, assume="independent", key=jax.random.key(0))
    found = answer.metrics["accuracy"]
    assert not any("converge" in text for text in answer.warnings)
    assert abs(found.mean - (y == y_pred).mean()) < 4 * found.sd + 1 / y.size


SHAPES = [  # workers, tasks, labels of each task, classes, tail of the weights
    (20, 400, 3, 2, 0.8), (56, 400, 3, 2, 0.8), (56, 400, 3, 2, 0.5), (120, 400, 3, 2, 0.8),
    (300, 400, 2, 2, 0.8), (20, 300, 3, 3, 0.8), (35, 400, 3, 3, 0.5), (60, 300, 2, 4, 0.8),
    (25, 300, 4, 5, 0.8), (40, 120, 1, 2, 0.8),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("key", [0, 1, 2])
def test_no_shape_of_a_crowd_fails(shape, key):
    """Some with one label. "Not identified" is an answer too; |z| of 30 is above 4.5 by chance in 2e-4."""
    workers, tasks, each, classes, tail = shape
    y, y_pred, labels = uneven(17 + key, workers, tasks, each, classes, tail)
    found = jt.evaluate(y_pred, labels, assume="independent", key=jax.random.key(key)).metrics["accuracy"]
    assert np.isnan(found.mean) or abs(found.mean - (y == y_pred).mean()) < 4.5 * found.sd + 1 / tasks


def test_islands_that_agree_by_luck_do_not_make_the_evidence_certain():
    """Two temperatures whose differences cancel, and lineages that differ: the largest error is stated."""
    parts = np.array([[-7.0] * 4, [0.1, -0.1, 0.1, -0.1], [-0.1, 0.1, -0.1, 0.1]])
    log, error, temperatures = temper._evidence([(None, None, parts, None, 0.0)])
    assert log == pytest.approx(-7) and temperatures == 2
    assert error == pytest.approx(np.sqrt(2 * 0.01 * 4 / 3 / 4))
    apart = parts + np.array([[0.0], [0.5], [0.5]]) * [1, 1, -1, -1]
    ends = np.tanh(1) * np.sqrt(4 / 3) / 2
    assert temper._evidence([(None, None, apart, None, 0.0)])[1] == pytest.approx(ends)
    assert temper._evidence([(None, None, parts, None, 0.04)] * 4)[1] == pytest.approx(0.1)


def test_a_mixture_of_t_dists_has_the_density_that_its_draws_have():
    """One coordinate, two modes: the density integrates to 1, and shares of draws are its integrals."""
    start = laplace.mixture([(0.0, np.array([-2.0]), np.array([[0.5]])), (1.0, np.array([3.0]), np.eye(1))])
    grid = np.linspace(-60, 60, 20_001)
    p = np.exp(np.asarray(start.log_density(jax.numpy.asarray(grid[None], np.float32)), np.float64))
    assert abs(p.sum() * (grid[1] - grid[0]) - 1) < 1e-3
    x = start.draw(np.random.default_rng(0), 40_000)[0]
    share = p[grid < 0.5].sum() / p.sum()
    assert abs((x < 0.5).mean() - share) < 5 * np.sqrt(share * (1 - share) / x.size)


def test_strata_that_exchange_names_have_the_same_likelihood():
    """Images of a point: equal likelihoods, priors of their own; a fold is one of them, and its own."""
    labels, y_pred = tiny(8, 30, 3, 3)
    model, observed, _ = build("shared_strata", labels, y_pred)
    arrays = arrays_of(model)
    found = model_of(strata.KIND, arrays, observed, 3)
    x = strata.draw(arrays, np.random.default_rng(0), 50)
    assert len(x) == strata.size_of(arrays)
    folded = strata.fold(arrays, x)
    assert (folded != x).any() and (np.abs(np.sort(np.abs(folded), 0) - np.sort(np.abs(x), 0)) < 1e-6).all()
    np.testing.assert_allclose(strata.fold(arrays, folded), folded)
    images = strata.unfold(arrays, folded, np.random.default_rng(1).random((3, 50), dtype=np.float32))
    likelihood = jax.jit(lambda a: temper.density.log_likelihood(strata.channel(arrays, a), found.seen))
    values = [np.asarray(likelihood(a)) for a in (x, folded, images)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-4)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-4)
    prior = jax.jit(partial(strata.log_prior, arrays))
    np.testing.assert_allclose(prior(folded), prior(x), rtol=1e-4)


def test_classes_are_multinomial_given_the_parameters():
    rng = host_rng(0, "test")
    p = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.1, 0.3]])
    drawn = class_counts(np.tile(p[None, :, :, None], (1, 1, 1, 20_000)), np.array([7.0, 5.0, 1.0]), rng)
    assert (drawn.sum(axis=1)[:, :, 0].T == [7, 5, 1]).all() and (drawn[1, 1] == 5).all()
    np.testing.assert_allclose(drawn[..., 0].mean(axis=2), p * [[7], [5], [1]], atol=0.05)
    np.testing.assert_allclose(drawn[0, :, :, 0].var(axis=1), 7 * p[0] * (1 - p[0]), atol=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("spread", ["learned", "fixed"])
def test_random_effect_against_draws_of_its_prior(spread):
    """14 samples, some labels missing, some classes known: by the likelihoods of draws of the prior."""
    rng = np.random.default_rng(0)
    z, number, size = rng.integers(-1, 2, (14, 3)), np.arange(14), 100_000
    z[:3] = [[1, 1, 0], [1, 1, 0], [0, 0, 0]]  # equal samples become one row
    y_pred = np.where(number % 5 == 4, -1, rng.integers(0, 2, 14))
    y_pred[:2], gold = 1, np.where(number % 4 == 3, number % 8 // 4, -1)
    z[:, 0] = np.maximum(z[:, 0], 0)
    share, a = rng.random(size), rng.normal(0, 0.8, (size, 3, 2))
    if spread == "learned":
        a = a * np.exp(effect.SPREAD_SD * rng.normal(size=(size, 1, 2)))
    m, k = rng.normal(1.2, 1, (size, 2)), rng.normal(1.2, 1.2, (size, 2))
    lam = np.abs(rng.normal(0, 1, (size, 2)))
    kap = truncnorm.rvs((0 - lam) / 0.5, np.inf, lam, 0.5, random_state=rng)
    x, w = np.polynomial.hermite_e.hermegauss(15)
    given = expit((a + m[:, None])[..., None] + (lam[..., None] * x)[:, None])
    own, log_p = expit(k[..., None] + kap[..., None] * x), np.zeros(size)
    for i in range(14):
        value = 0.0
        for c in (0, 1) if gold[i] < 0 else (gold[i],):
            term = w / w.sum() * np.where(c, share, 1 - share)[:, None]
            for t in np.flatnonzero(z[i] >= 0):
                term = term * (given[:, t, c] if z[i, t] == c else 1 - given[:, t, c])
            if y_pred[i] >= 0:
                term = term * (own[:, c] if y_pred[i] == c else 1 - own[:, c])
            value = value + term.sum(axis=1)
        log_p += np.log(value)
    weight = np.exp(log_p - logsumexp(log_p))
    priors = DirichletPriors(diagonal=None if spread == "learned" else 2.0)
    fit = fit_joint(jt.Labels.from_matrix(z, 2), y_pred=y_pred, gold=gold, key=0, effort=EFFORT,
                    priors=priors, dependence="random_effect")  # fmt: skip
    log, error = fit.evidence
    assert abs(log - (logsumexp(log_p) - np.log(size))) < 4 * error + 0.1
    classifier = own @ (w / w.sum())
    pairs = [(share, fit.prior[:, 1]), *((classifier[:, c], fit.classifier[:, c, c]) for c in (0, 1))]
    for exact, drawn in pairs:
        mean = weight @ exact
        assert abs(drawn.mean() - mean) < 0.02
        assert 0.85 < drawn.std() / np.sqrt(weight @ (exact - mean) ** 2) < 1.15


def test_random_effect_is_that_of_loops():
    """log p(row) of a channel against sums over classes and nodes."""
    arrays = effect.arrays_of(3, None, groups=1, learned=True)
    x = effect.draw(arrays, np.random.default_rng(1), 4)
    assert len(x) == effect.size_of(arrays)
    p, _ = jax.tree.map(np.asarray, jax.jit(partial(effect.split, arrays))(x))
    channel = jax.jit(partial(effect.channel, arrays))(x)
    nodes, weight = np.polynomial.hermite_e.hermegauss(effect.NODES)
    seen = np.zeros(8)
    z = np.array([1, 0, 1, 0])  # three labelers and the classifier
    seen[2 * np.arange(4) + z] = 1
    joint = np.einsum("k,ksp->sp", seen, np.asarray(channel.log_seen, float))
    joint += np.asarray(channel.log_class[0] + channel.log_level)
    for d in range(4):
        value = 0.0
        for c in (0, 1):
            share = expit(p["logit_share"][0, d])
            for e, w in zip(nodes, weight / weight.sum(), strict=True):
                right = [expit(p["a"][t, c, d] + p["m"][c, d] + p["lam"][c, d] * e) for t in range(3)]
                right.append(expit(p["k"][c, d] + p["kap"][c, d] * e))
                each = [r if label == c else 1 - r for r, label in zip(right, z, strict=True)]
                value += (share if c else 1 - share) * w * np.prod(each)
        assert logsumexp(joint[:, d]) == pytest.approx(np.log(value), abs=2e-5)


def test_gold_of_every_class_names_the_classes():
    """Labelers who are wrong more often than right are then a finding, not a mirror image."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    z = np.where(rng.random((200, 4)) < 0.2, y[:, None], 1 - y[:, None])
    gold = np.where(np.arange(200) < 20, y, -1)
    fit = fit_joint(jt.Labels.from_matrix(z, 2), gold=gold, key=0)
    assert fit.usable and (fit.labeler_accuracy.mean(axis=0) < 0.35).all()


@pytest.mark.slow
def test_a_mirror_image_is_assumed_away():
    """Weak labelers whose rows are alike: the prior hardly tells the images apart, and one is kept."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    z = np.where(rng.random((300, 5)) < 0.7, y[:, None], 1 - y[:, None])
    fit = fit_joint(jt.Labels.from_matrix(z, 2), key=0)
    assert fit.usable and (fit.class_posterior.argmax(axis=1) == y).mean() > 0.7


@pytest.fixture(scope="module")
def exchanging():
    """Shared strata of 45 samples, whose strata may exchange names."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 45)
    z = np.where(rng.random((45, 4)) < 0.8, y[:, None], 1 - y[:, None])
    model, observed, _ = build("shared_strata", jt.Labels.from_matrix(z[:, :3], 2), z[:, 3])
    return model_of(strata.KIND, arrays_of(model), observed, model.num_classes)


def test_moves_go_by_the_same_covariance_from_every_image(exchanging):
    x = strata.draw(exchanging.arrays, np.random.default_rng(0), 200)
    root = temper.root_of(exchanging, temper.folded(exchanging, x))
    images = strata.images(exchanging.arrays)
    assert len(images) == 2
    for place, sign in images:
        covariance = root @ root.T
        np.testing.assert_allclose(
            sign[:, None] * covariance[np.ix_(place, place)] * sign, covariance, rtol=2e-3, atol=1e-4
        )
        exchanged = x[place] * sign[:, None]
        np.testing.assert_allclose(
            strata.log_prior(exchanging.arrays, exchanged), strata.log_prior(exchanging.arrays, x), atol=1e-3
        )


@pytest.mark.slow
def test_moves_that_are_folded_leave_the_posterior_as_it_is(exchanging, monkeypatch):
    """Whatever the moves: three kinds of them agree with draws of the prior weighted by the likelihood.

    Log odds of a stratum: .917 (standard error .027) and, of the other class, 1.451 (.015), by 1.5 million
    draws of the prior, worth 2845. Means of 2048 lineages have errors of .03 and .018; each of the six
    comparisons fails by chance in 1e-5. Without equal covariances short moves gave .71.
    """
    rng = np.random.default_rng(11)
    state = alone(temper.temper(exchanging, rng, 2048))
    for steps, factor in ((6, 1.0), (6, 0.5), (20, 0.5)):
        found, moved = [], state._replace(step=factor * state.step)
        monkeypatch.setattr(temper, "STEPS", steps)
        for _ in range(25):
            path, _, _ = alone(temper.advance(exchanging, rng, moved, 0.0))
            moved = moved._replace(x=temper.folded(exchanging, path[-1]))
            found.append(moved.x[1:3].mean(axis=1))
        mean = np.mean(found[5:], axis=0)
        assert abs(mean[0] - 1.451) < 4.4 * np.hypot(0.018, 0.015)
        assert abs(mean[1] - 0.917) < 4.4 * np.hypot(0.03, 0.027)


def test_the_top_of_a_paraboloid_and_its_curvature():
    """Newton's steps end at the top, and the root is one of the inverse of the curvature."""
    curvature, top = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0.3, -0.7])

    def paraboloid(x):
        slope = -curvature @ (x - top[:, None])
        return 0.5 * ((x - top[:, None]) * slope).sum(axis=0), slope

    found, root = laplace.polished(paraboloid, np.zeros(2))
    np.testing.assert_allclose(found, top, atol=1e-6)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(curvature), rtol=1e-4)


def test_newtons_steps_stay_where_numbers_are():
    """From 1.3 the whole step on -log cosh goes to -2.1 and the next ones away; beyond 2 all is NaN."""

    def hill(x):
        with np.errstate(invalid="ignore"):
            gone = np.abs(x).max(axis=0) > 2
        return np.where(gone, -np.inf, -np.log(np.cosh(x)).sum(axis=0)), np.where(gone, 0.0, -np.tanh(x))

    found, root = laplace.polished(hill, np.array([1.3, -0.4]))
    np.testing.assert_allclose(found, 0, atol=0.01)
    np.testing.assert_allclose(root @ root.T, np.eye(2), atol=0.01)


@pytest.mark.parametrize(("curvature", "mode"), [(-1.0, False), (0.04, False), (0.06, True)])
def test_a_saddle_is_no_mode_nor_is_what_is_flatter_than_any_prior(curvature, mode):
    def ridge(x):
        return -0.5 * (x[0] ** 2 + curvature * x[1] ** 2), np.stack([-x[0], -curvature * x[1]])

    assert np.isfinite(laplace.polished(ridge, np.zeros(2))[1]).all() == mode


def test_families_far_out_do_not_rise_by_rounding():
    """log kappa of 40: log Gamma has no digit behind the point in float32, and 112 rows add that up."""
    family = alike.by_family(alike.alike_raters(np.array([200, 200]), 56))
    group = jax.tree.map(partial(strata._as, dtype=np.float32), family)
    z = (
        np.random.default_rng(0)
        .standard_normal((56, 2, 1, 60))
        .astype(np.float32)[..., :1]
        .repeat(60, axis=3)
    )
    f = np.zeros((2, 2, 60), np.float32)
    f[:, 1] = np.linspace(0, 80, 60)
    log_p = np.asarray(alike.rows(group, f, z)[1] + alike.log_families(group, f))
    assert np.isfinite(log_p).all() and (np.diff(log_p[f[0, 1] > 13]) < 0).all()
    assert log_p[f[0, 1] > 11].max() < log_p.max() - 20


@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 2e-6), (np.float64, 3e-8)])
def test_log_gamma_and_its_slope_are_those_of_scipy(dtype, digits):
    a = np.logspace(-6, 5, 500).astype(dtype)
    value, slope = jax.jit(jax.vmap(jax.value_and_grad(_arrays.gammaln)))(a)
    for ours, exact in ((value, gammaln(a.astype(float))), (slope, digamma(a.astype(float)))):
        np.testing.assert_allclose(ours, exact, rtol=digits, atol=digits)


def test_coordinates_come_back_and_their_slope_is_the_derivative():
    x = np.linspace(-15, 15, 61)
    u, log_slope = bijections.stretched(x)
    np.testing.assert_allclose(bijections.unstretched(np.asarray(u)), x, rtol=1e-6)
    derivative = jax.vmap(jax.grad(lambda x: bijections.stretched(x)[0]))(x)
    np.testing.assert_allclose(log_slope, np.log(derivative), rtol=1e-12)
    ratios = np.linspace(-2, 3, 4)[:, None]  # of five symbols
    back = bijections.ratios(np.asarray(bijections.log_rows(jax.numpy.asarray(ratios))))
    np.testing.assert_allclose(back, ratios, atol=1e-6)
