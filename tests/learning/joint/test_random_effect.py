"""The random-effect model: density by plain loops, gradient by differences, posterior by other sampling."""

from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import chisquare, norm, truncnorm

import jtruth as jt
from jtruth.learning.joint._random_effect_density import Density
from jtruth.learning.joint._random_effect_scale import curvature_scale, find_mode
from jtruth.learning.joint._rows import merge_samples
from jtruth.learning.joint.random_effect import fit_random_effect
from jtruth.sampling import Effort

rng = np.random.default_rng(0)
Z = rng.integers(-1, 2, (14, 3))
Z[:3] = [[1, 1, 0], [1, 1, 0], [0, 0, 0]]  # equal samples become one row
Y_PRED = np.where(np.arange(14) % 5 == 4, -1, rng.integers(0, 2, 14))
Y_PRED[:2] = 1
GOLD = np.full(14, -1)
GOLD[[3, 7]] = [1, 0]


def log_posterior(p, z, y_pred, gold, nodes):
    """The density by its definition, sample after sample; `p` holds natural parameters and `logs` of two."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    w = w / w.sum()
    total = 0.0
    for i in range(len(z)):
        value = 0.0
        for c in (0, 1):
            if gold[i] >= 0 and gold[i] != c:
                continue
            for e, weight in zip(x, w, strict=True):
                term = weight * (p["share"] if c else 1 - p["share"])
                for t in range(z.shape[1]):
                    if z[i, t] >= 0:
                        right = expit(p["a"][t, c] + p["m"][c] + p["lam"][c] * e)
                        term *= right if z[i, t] == c else 1 - right
                if y_pred[i] >= 0:
                    right = expit(p["k"][c] + p["kap"][c] * e)
                    term *= right if y_pred[i] == c else 1 - right
                value += term
        total += np.log(value)
    return total


def log_prior(p):
    """Prior density of (share, a, m, lam, k, kap)."""
    value = norm(0, 0.8).logpdf(p["a"]).sum() + norm(1.2, 1).logpdf(p["m"]).sum()
    value += np.log(2) * 2 + norm(0, 1).logpdf(p["lam"]).sum() + norm(1.2, 1.2).logpdf(p["k"]).sum()
    lower = (0 - p["lam"]) / 0.5
    return value + truncnorm(lower, np.inf, p["lam"], 0.5).logpdf(p["kap"]).sum()


def natural(point):
    """A point of the sampler in natural parameters, and log |d natural / d point|."""
    a, (m, lam, k, kap) = point[1:7].reshape(3, 2), point[7:].reshape(4, 2)
    slopes = {name: np.log1p(np.exp(3 * soft)) / 3 for name, soft in (("lam", lam), ("kap", kap))}
    jacobian = (
        log_expit(point[0]) + log_expit(-point[0]) + log_expit(3 * lam).sum() + log_expit(3 * kap).sum()
    )
    return {"share": expit(point[0]), "a": a, "m": m, "k": k, **slopes}, jacobian


@pytest.fixture(scope="module")
def density():
    rows = merge_samples(jt.Labels.from_matrix(Z, 2), Y_PRED, GOLD)
    assert len(rows.multiplicity) < len(Z)
    return Density(rows, None)


def test_density_is_that_of_plain_loops(density):
    points = np.random.default_rng(1).normal(0, 0.7, (6, density.size))
    values, _ = density(points)
    expected = []
    for point in points:
        p, jacobian = natural(point)
        expected.append(log_posterior(p, Z, Y_PRED, GOLD, 15) + log_prior(p) + jacobian)
    gap = values - np.array(expected)  # a constant is left out
    np.testing.assert_allclose(gap, gap[0], atol=1e-10)


def test_what_is_fixed_is_the_prior_of_plain_loops(density):
    """For power scaling, in natural parameters; of a learned spread the spread's, not that of u."""
    points = np.random.default_rng(2).normal(0, 0.7, (6, density.size))
    gap = density.log_prior(points) - [log_prior(natural(point)[0]) for point in points]
    np.testing.assert_allclose(gap, gap[0], atol=1e-10)
    rows = merge_samples(jt.Labels.from_matrix(Z, 2), Y_PRED, GOLD)
    learned = Density(rows, None, learned=True)
    points = np.random.default_rng(3).normal(0, 0.7, (6, learned.size))
    expected = []
    for point in points:
        p, _ = natural(np.concatenate([point[:1], np.zeros(6), point[-8:]]))
        expected.append(log_prior(p) + norm(np.log(0.8), 0.75).logpdf(point[1:3]).sum())
    gap = learned.log_prior(points) - expected
    np.testing.assert_allclose(gap, gap[0], atol=1e-10)


def test_learned_spread_and_shares_of_groups_are_those_of_plain_loops():
    """The likelihood at a = spread u and a share for each group; the priors of u and log spread."""
    rows = merge_samples(jt.Labels.from_matrix(Z, 2), Y_PRED, GOLD)
    group = np.arange(rows.multiplicity.size) % 2
    density = Density(rows, None, learned=True, group=group)
    points = np.random.default_rng(5).normal(0, 0.7, (3, density.size))
    values, gradient = density(points)
    step = 1e-5 * np.eye(density.size)
    slopes = np.stack([(density(points + e)[0] - density(points - e)[0]) / 2e-5 for e in step], 1)
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)
    expected = []
    for point in points:
        p, jacobian = natural(np.concatenate([point[:1], np.zeros(6), point[-8:]]))
        u = point[4:10].reshape(3, 2)
        prior = log_prior(p) - norm(0, 0.8).logpdf(0) * 6 + norm(0, 1).logpdf(u).sum()
        prior += norm(np.log(0.8), 0.75).logpdf(point[2:4]).sum()
        prior += log_expit(point[1]) + log_expit(-point[1]) + jacobian
        p["a"] = u * np.exp(point[2:4])
        for g in (0, 1):
            mine = group[rows.row_of_sample] == g
            prior += log_posterior(p | {"share": expit(point[g])}, Z[mine], Y_PRED[mine], GOLD[mine], 15)
        expected.append(prior)
    gap = values - np.array(expected)
    np.testing.assert_allclose(gap, gap[0], atol=1e-10)


def test_15_nodes_are_enough_where_the_posterior_lies(density):
    mode = find_mode(density)
    p, _ = natural(mode)
    rough, fine = (log_posterior(p, Z, Y_PRED, GOLD, n) for n in (15, 61))
    assert abs(rough - fine) < 1e-4


def test_gradient_by_differences(density):
    points = np.random.default_rng(2).normal(0, 0.7, (4, density.size))
    _, gradient = density(points)
    step = 1e-5 * np.eye(density.size)
    slopes = np.stack([(density(points + e)[0] - density(points - e)[0]) / 2e-5 for e in step], 1)
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)


def test_mode_is_a_mode(density):
    mode = find_mode(density)
    scale = curvature_scale(density, mode)
    value, gradient = density(mode[None])
    assert np.abs(gradient).max() < 1e-2
    nearby = mode + scale.apply(0.3 * np.random.default_rng(3).standard_normal((50, density.size)))
    assert (density(nearby)[0] <= value + 1e-9).all()


@pytest.mark.slow
def test_posterior_means_by_importance_sampling_from_the_prior():
    draw, size = np.random.default_rng(4), 100_000
    share = draw.random(size)
    a = draw.normal(0, 0.8, (size, 3, 2))
    m, k = draw.normal(1.2, 1, (size, 2)), draw.normal(1.2, 1.2, (size, 2))
    lam = np.abs(draw.normal(0, 1, (size, 2)))
    kap = truncnorm.rvs((0 - lam) / 0.5, np.inf, lam, 0.5, random_state=draw)
    x, w = np.polynomial.hermite_e.hermegauss(15)
    w = w / w.sum()
    given = expit(
        (a + m[:, None])[..., None] + (lam[..., None] * x)[:, None]
    )  # (draws, labelers, classes, e)
    own = expit(k[..., None] + kap[..., None] * x)
    log_weight = np.zeros(size)
    for i in range(len(Z)):
        value = np.zeros(size)
        for c in (0, 1):
            if GOLD[i] in (-1, c):
                term = w * np.where(c, share, 1 - share)[:, None]
                for t in range(3):
                    if Z[i, t] >= 0:
                        term = term * (given[:, t, c] if Z[i, t] == c else 1 - given[:, t, c])
                if Y_PRED[i] >= 0:
                    term = term * (own[:, c] if Y_PRED[i] == c else 1 - own[:, c])
                value += term.sum(1)
        log_weight += np.log(value)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    ess = 1 / (weight**2).sum()
    assert ess > 1500
    classifier = own @ w
    fit = fit_random_effect(jt.Labels.from_matrix(Z, 2), y_pred=Y_PRED, gold=GOLD, key=jax.random.key(0))
    assert fit.converged and fit.classifier is not None
    pairs = [(share, fit.prior[:, 1])]
    pairs += [(classifier[:, c], fit.classifier[:, c, c]) for c in (0, 1)]
    for exact, drawn in pairs:
        mean = exact @ weight
        sd = np.sqrt(weight @ (exact - mean) ** 2)
        error = sd * np.sqrt(1 / ess + 1 / 400)
        assert abs(drawn.mean() - mean) < 4.5 * error
        assert 0.85 < drawn.std() / sd < 1.15


@pytest.mark.slow
def test_dentist_5_under_gradual_difficulty():
    """Six keys: .251 [.157, .376], means within .003, ends within .002 and .013 of these."""
    split = jt.read_labels(Path(__file__).parents[3] / "examples" / "caries.csv").split_rater("5")
    fit = fit_random_effect(split.labels, y_pred=split.y_pred, key=jax.random.key(1))
    table = fit.tables("in-sample")
    precision = table[:, 1, 1] / table[:, :, 1].sum(1)
    low, high = np.quantile(precision, [0.025, 0.975])
    assert fit.usable and fit.converged and fit.dependence == "random_effect"
    assert abs(precision.mean() - 0.251) < 0.012 and abs(low - 0.157) < 0.015 and abs(high - 0.376) < 0.035
    assert table.sum() == pytest.approx(3869 * len(table))
    again = fit_random_effect(split.labels, y_pred=split.y_pred, key=jax.random.key(1))
    np.testing.assert_array_equal(again.counts, fit.counts)


@pytest.mark.slow
def test_chains_reach_the_tails():
    """In the far tail class 1 swallows hard samples of class 0, and its slopes are large. 300 x 5 labels.

    6400 draws are worth 150 to 1300 at the worst end of accuracy and recall (four keys). With the logarithm
    of slopes as coordinates 32 000 were worth 47 to 130: chains that got there stayed for hundreds of draws.
    """
    draw = np.random.default_rng(1)
    y = (draw.random(300) < 0.3).astype(int)
    z = np.where(draw.random((300, 5)) < 0.8, y[:, None], 1 - y[:, None])
    y_pred = np.where(draw.random(300) < 0.87, y, 1 - y)
    effort = Effort(chains=32, min_sweeps=6400, max_sweeps=6400, min_ess=1e9, ends=True, nuisance=False)
    fit = fit_random_effect(jt.Labels.from_matrix(z, 2), y_pred=y_pred, key=jax.random.key(2), effort=effort)
    assert fit.convergence.num_sweeps == 6400 and min(fit.convergence.ess.values()) > 140


def test_what_it_cannot_take():
    three = jt.Labels.from_matrix(np.array([[0, 1, 2], [2, 1, 0]]), 3)
    with pytest.raises(ValueError, match="two classes"):
        fit_random_effect(three, y_pred=[0, 1], key=jax.random.key(0))


def test_one_labeler_is_not_identified():
    fit = fit_random_effect(jt.Labels.from_matrix(abs(Z[:, :1]), 2), y_pred=Y_PRED, key=jax.random.key(0))
    assert not fit.usable and "Not identified" in fit.warnings[0]


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    """Simulation-based calibration: 100 sets from the prior, 10 bins; false alarm 1e-4 for each number."""
    draw, ranks = np.random.default_rng(5), []
    effort = Effort(min_ess=100, max_rhat=1.05, max_sweeps=8000)
    while len(ranks) < 100:
        share, m, k = draw.beta(1, 1), draw.normal(1.2, 1, 2), draw.normal(1.2, 1.2, 2)
        lam, a = np.abs(draw.normal(0, 1, 2)), draw.normal(0, 0.8, (4, 2))
        kap = truncnorm.rvs((0 - lam) / 0.5, np.inf, lam, 0.5, random_state=draw)
        y, e = (draw.random(50) < share).astype(int), draw.standard_normal(50)
        right = draw.random((50, 4)) < expit(a[:, y].T + m[y][:, None] + (lam[y] * e)[:, None])
        z = np.where(right, y[:, None], 1 - y[:, None])
        y_pred = np.where(draw.random(50) < expit(k[y] + kap[y] * e), y, 1 - y)
        fit = fit_random_effect(
            jt.Labels.from_matrix(z, 2), y_pred=y_pred, key=jax.random.key(len(ranks)), effort=effort
        )
        table = fit.tables("in-sample").astype(float)
        truth = np.zeros((2, 2))
        np.add.at(truth, (y, y_pred), 1)
        row = []
        for true, drawn in (
            (truth[0, 0] + truth[1, 1], table[:, 0, 0] + table[:, 1, 1]),
            (truth[1].sum(), table[:, 1].sum(1)),
        ):
            drawn = drawn[:: max(1, len(drawn) // 49)]
            tie = (drawn == true).sum()
            row.append(((drawn < true).sum() + draw.random() * (tie + 1)) / (len(drawn) + 1))
        ranks.append(row)
    for column in np.array(ranks).T:
        assert chisquare(np.histogram(column, 10, (0, 1))[0]).pvalue > 1e-4
