"""The weighted normal approximation at the mode: by enumeration, tempering and derivatives; its limits."""

from itertools import product

import numpy as np
import pytest
from scipy.special import comb

from jtruth.labels import Labels
from jtruth.latent import STANDARD
from jtruth.latent.infer import kernel, normal
from jtruth.latent.model import LatentModel, Observed, Raters
from jtruth.latent.rows import gold_offset, label_columns, prediction_columns
from jtruth.learning import fit_joint
from jtruth.learning.joint.inputs import WEAK_PRIORS, DirichletPriors
from jtruth.learning.joint.posterior import with_rows
from tests.learning.crowds import dirichlet_multinomial

LAW, SAMPLED = STANDARD._replace(normal=True), STANDARD._replace(normal=False)


def crowd(size, labelers, classes, seed, skill=0.8):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=size)
    wrong = (y[:, None] + rng.integers(1, classes, (size, labelers + 1))) % classes
    z = np.where(rng.random((size, labelers + 1)) < skill, y[:, None], wrong)
    return Labels.from_matrix(z[:, :labelers], classes), z[:, labelers], y


def test_evidence_and_class_counts_are_those_of_all_assignments():
    """Four kinds of samples, 9 of each: every way to give them classes, weighed."""
    kinds, times = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0]]), 9
    z = np.repeat(kinds, times, axis=0)
    priors = DirichletPriors(diagonal=6.0, off_diagonal_total=2.0)
    fit = fit_joint(Labels.from_matrix(z[:, :2], 2), y_pred=z[:, 2], priors=priors, effort=LAW, key=1)
    row, log_p, ones = np.array([[6.0, 2.0], [2.0, 6.0]]), [], []
    for one in product(range(times + 1), repeat=4):
        one = np.array(one)
        of_class = np.stack([times - one, one])  # (classes, kinds)
        counts = np.stack([of_class @ (kinds == k) for k in (0, 1)], axis=2)  # (classes, raters, symbols)
        total = dirichlet_multinomial(of_class.sum(axis=1), np.ones(2))
        total += dirichlet_multinomial(counts, row[:, None, :])
        log_p.append(total + np.log(comb(times, one)).sum())
        ones.append(one.sum())
    log_p, ones = np.array(log_p), np.array(ones)
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    value, error = fit.evidence
    assert abs(value - np.logaddexp.reduce(log_p)) < max(4 * error, 0.02)
    spread = np.sqrt(p @ ones**2 - (p @ ones) ** 2)
    assert abs(fit.class_counts[:, 1].mean() - p @ ones) < 4 * spread / np.sqrt(
        fit.convergence.ess["weighed draws"]
    )
    assert abs(fit.class_counts[:, 1].std() - spread) < 0.1 * spread


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "labelers", "classes", "width"), [(400, 5, 2, 1.0), (400, 5, 2, 1.15), (600, 3, 3, 1.0)]
)
def test_the_same_posterior_as_tempering(size, labelers, classes, width, monkeypatch):
    monkeypatch.setattr(normal, "_WIDTHS", (width,))
    labels, y_pred, _ = crowd(size, labelers, classes, 5)
    dist, sampled = (fit_joint(labels, y_pred=y_pred, effort=e, key=2) for e in (STANDARD, SAMPLED))
    assert "weighed draws" in dist.convergence.ess and "weighed draws" not in sampled.convergence.ess
    for values in (
        lambda f: f.prior,
        lambda f: f.labeler_accuracy,
        lambda f: f.counts[:, 0, 0],
        lambda f: f.right,
    ):
        a, b = (np.asarray(values(fit), float).reshape(len(fit.prior), -1) for fit in (dist, sampled))
        spread = b.std(axis=0)
        error = spread * np.sqrt(1 / 1000 + 1 / 400)  # draws that each is worth, at least
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error).all()
        assert (np.abs(a.std(axis=0) / spread - 1) < 0.12).all()
    np.testing.assert_allclose(dist.class_posterior, sampled.class_posterior, atol=0.02)
    if classes == 3:  # the evidence of two classes is that of enumeration, above
        error = np.hypot(dist.evidence[1], sampled.evidence[1])
        assert abs(dist.evidence[0] - sampled.evidence[0]) < max(4 * error, 0.3)


def problem_of(gold=True):
    """Three labelers of three classes, five score bins, some classes known."""
    labels, y_pred, y = crowd(60, 3, 3, 1, skill=0.6)
    known = np.where(np.arange(60) < 10, y, -1) if gold else np.full(60, -1)
    rng, state = np.random.default_rng(0), np.arange(3)
    raters = tuple(Raters(rng.uniform(0.5, 3, (n, 3, k)), state) for n, k in ((3, 3), (1, 5)))
    model = LatentModel(np.full(3, 1.5), raters)
    seen = label_columns(labels), prediction_columns(y_pred + 2 * (np.arange(60) % 2), 5)
    observed = Observed(seen, np.ones(60), gold_offset(known, state), np.arange(60))
    return kernel.flatten(model, observed), labels.counts().T / 3.0


def test_information_is_minus_the_second_derivatives():
    """By central differences, in the coordinates softmax(theta); gold, and symbols that are no classes."""
    problem, start = problem_of()
    mode = normal.mode_of(problem, start)
    rows = np.repeat(np.arange(problem.starts.size), problem.length)

    def log_p(theta):
        total = np.logaddexp.reduceat(theta, problem.starts)
        log_theta = theta - total[rows]
        return (
            kernel.log_rows(problem, log_theta[None])[0] @ problem.multiplicity
            + problem.concentration @ log_theta
        )

    theta, step = np.log(mode[1]), 1e-4
    own, unit = normal.information(problem, mode), np.eye(theta.size) * step
    own = own - np.where(rows[:, None] == rows[None, :], 1.0, 0.0)  # the direction that softmax forgets
    for i, j in [(0, 0), (0, 1), (0, 5), (3, 4), (4, 20), (7, 33), (30, 31), (31, 31)]:
        signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        moved = [a * b * log_p(theta + a * unit[i] + b * unit[j]) for a, b in signs]
        assert own[i, j] == pytest.approx(-sum(moved) / (4 * step**2), abs=2e-4)


def test_the_density_of_draws_is_that_of_their_moves():
    """Weights of another distribution of the same draws: the integral of the density ratio is 1."""
    problem, start = problem_of()
    dist, root = normal.dist_around(problem, normal.mode_of(problem, start), np.random.default_rng(0))
    last = problem.starts + problem.length - 1
    of_entry, free = np.repeat(last, problem.length), np.setdiff1d(np.arange(dist.p.size), last)
    for factor in (1.0, 1.2):
        draws, density = dist.draw(factor * root, 20_000, np.random.default_rng(2))
        moves = (draws - draws[:, of_entry])[:, free]
        covariance, centre = np.cov(moves.T), moves.mean(axis=0)
        far = np.linalg.solve(np.linalg.cholesky(covariance), (moves - centre).T)
        wanted = -0.5 * (far**2).sum(0) - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
        assert np.corrcoef(wanted, density)[0, 1] > 0.999
        assert (wanted - density).mean() == pytest.approx(0.0, abs=0.15), factor


@pytest.mark.slow
def test_few_labels_weak_labelers_and_adversaries_are_sampled():
    few, y_few, _ = crowd(30, 5, 2, 3)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    right = rng.random((300, 4)) < np.array([0.9, 0.85, 0.8, 0.12])
    adversary = Labels.from_matrix(np.where(right, y[:, None], 1 - y[:, None])[:, [0, 1, 3]], 2)
    for labels, y_pred in ((few, y_few), (adversary, None)):
        fit = fit_joint(labels, y_pred=y_pred, key=0)
        assert "weighed draws" not in fit.convergence.ess


def test_a_dist_that_misses_what_is_far_away_is_not_taken_for_any_key():
    """60 samples, 4 of them positive: a tenth of the posterior is far from the mode, and weights are uneven.

    Of some keys no draw came there: Pareto's k was below .7, the low end of accuracy .58 instead of .43.
    """
    rng = np.random.default_rng(0)
    y = (np.arange(60) < 4).astype(int)
    z = np.where(rng.random((60, 4)) < 0.8, y[:, None], 1 - y[:, None])
    labels = Labels.from_matrix(z[:, :3], 2)
    fits = [fit_joint(labels, y_pred=z[:, 3], effort=LAW, key=key) for key in range(10)]
    assert any("Pareto k 0.5" in fit.convergence.stopped_by for fit in fits)
    assert not any(fit.converged for fit in fits)


def test_a_key_gives_the_same_draws_and_another_key_others():
    labels, y_pred, _ = crowd(300, 3, 2, 9)
    first, again, other = (fit_joint(labels, y_pred=y_pred, key=key) for key in (4, 4, 5))
    for name in ("prior", "matrices", "classifier", "counts", "class_posterior", "labeler_accuracy"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert (first.counts[: len(other.counts)] != other.counts).any()
    assert first.evidence[0] == pytest.approx(other.evidence[0], abs=0.1)


def test_pointwise_terms_are_those_of_the_draws():
    labels, y_pred, _ = crowd(300, 3, 2, 9)
    fit = fit_joint(labels, y_pred=y_pred, key=4, effort=STANDARD._replace(pointwise=True))
    rows = fit.pointwise
    z, draw = np.stack([labels.labels_of(t) for t in range(3)], axis=1), fit.matrix_draw
    joint = np.log(fit.prior[draw])[:, None, :]
    for t in range(3):
        joint = joint + np.log(fit.matrices[:, t, :, :].astype(float))[:, :, z[:, t]].swapaxes(1, 2)
    joint = joint + np.log(fit.classifier[draw])[:, :, y_pred].swapaxes(1, 2)
    wanted = np.logaddexp.reduce(joint, axis=2).mean(axis=0)
    found = rows.log_p.reshape(-1, rows.log_p.shape[2])[:, rows.row_of_sample].mean(axis=0)
    np.testing.assert_allclose(found, wanted, atol=0.02)


@pytest.mark.parametrize(("labelers", "known"), [(3, 0), (3, 20), (61, 0)])
def test_a_fit_knows_its_pointwise_terms_afterwards(labelers, known):
    """Of weighed draws and (61 labelers) of Gibbs, with gaps, known classes and a known prior."""
    labels, y_pred, y = crowd(80 if labelers > 3 else 300, labelers, 2, 9)
    z, gold = labels.to_matrix(), np.where(np.arange(len(y)) < known, y, -1) if known else None
    z[1::7, 1] = -1
    seen, prior = Labels.from_matrix(z, 2), np.array([0.3, 0.7]) if known else None
    how = {"y_pred": y_pred, "gold": gold, "prior": prior, "priors": WEAK_PRIORS}
    effort = STANDARD._replace(max_sweeps=800, normal=False if labelers > 3 else None)
    asked, alone = (fit_joint(seen, key=4, effort=effort._replace(pointwise=p), **how) for p in (True, False))
    assert alone.pointwise is None and (alone.evidence is None) == (labelers > 3)
    found, wanted = with_rows(alone, seen, **how).pointwise, asked.pointwise
    np.testing.assert_allclose(found.log_p, wanted.log_p, atol=2e-6 * labelers)
    np.testing.assert_array_equal(found.row_of_sample, wanted.row_of_sample)
    assert found.relative_ess == pytest.approx(wanted.relative_ess, rel=1e-4)


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    """Simulation-based calibration: parameters from the prior, 200 sets, whatever way answers."""
    rng, ranks, by_dist = np.random.default_rng(11), [], 0
    priors = DirichletPriors(diagonal=12.0, off_diagonal_total=4.0)
    for k in range(200):
        prior = rng.dirichlet(np.ones(2))
        rows = np.stack([rng.dirichlet([12, 4], 4), rng.dirichlet([4, 12], 4)], axis=1)
        y = (rng.random(200) < prior[1]).astype(int)
        z = (rng.random((200, 4)) < rows[:, y, 1].T).astype(int)
        fit = fit_joint(Labels.from_matrix(z[:, :3], 2), y_pred=z[:, 3], priors=priors, key=k)
        by_dist += "weighed draws" in fit.convergence.ess
        right = (y == z[:, 3]).sum()
        draws = fit.counts[:, 0, 0] + fit.counts[:, 1, 1]
        ranks.append([
            (fit.prior[:, 1] < prior[1]).mean(), (fit.classifier[:, 1, 1] < rows[3, 1, 1]).mean(),
            (fit.mean_matrices[0, 0, 0] > 0) * (fit.labeler_accuracy[:, 0] < prior @ np.diag(rows[0])).mean(),
            (draws < right).mean() + rng.random() * (draws == right).mean(),
        ])  # fmt: skip
    assert by_dist > 130
    for column in np.array(ranks).T:
        counts = np.histogram(column, 10, (0, 1))[0]
        assert ((counts - 20) ** 2 / 20).sum() < 33.7, counts  # chi-squared of 9 degrees, 1e-4


def test_many_labels_are_normal_together(monkeypatch):
    """Error rates and the counts behind them, in one pass over the rows: as Gibbs sampling draws them."""
    monkeypatch.setattr(normal, "_MOST_WORK", 0.0)
    monkeypatch.setattr(normal, "_MOST_ROWS", 1000)  # EM starts from the mode of these
    labels, y_pred, _ = crowd(3000, 9, 2, 7)
    many, drawn = (fit_joint(labels, y_pred=y_pred, effort=e, key=2) for e in (STANDARD, SAMPLED))
    assert "draws" in many.convergence.ess and "draws" not in drawn.convergence.ess
    for name in ("prior", "labeler_accuracy", "right", "class_counts", "counts", "classifier"):
        mine, theirs = (getattr(fit, name).reshape(len(fit.prior), -1) for fit in (many, drawn))
        assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) < 0.25 * theirs.std(axis=0) + 1e-9).all()
        np.testing.assert_allclose(mine.std(axis=0), theirs.std(axis=0), rtol=0.15)
    both = [
        np.corrcoef(np.column_stack([f.right, f.class_counts[:, 0], f.prior[:, 0]]).T) for f in (many, drawn)
    ]
    np.testing.assert_allclose(both[0], both[1], atol=0.15)
    assert (many.counts.sum(axis=(1, 2)) == 3000).all()
    np.testing.assert_allclose(many.class_posterior, drawn.class_posterior, atol=0.02)
    few = fit_joint(labels.restrict(range(100)), effort=STANDARD, key=2)
    assert "draws" not in few.convergence.ess
