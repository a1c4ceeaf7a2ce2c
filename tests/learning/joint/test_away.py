"""Half of the chains start away from the mode of EM: where, when, and the warning if they stay there."""

import jax
import numpy as np

from jtruth.labels import Labels
from jtruth.latent import Effort, run_gibbs
from jtruth.latent.model import Observed
from jtruth.latent.rows import label_columns, merge_samples
from jtruth.learning.joint.draws import joint_digest
from jtruth.learning.joint.guard import SEVERAL, away_from, several_modes
from jtruth.learning.joint.inputs import DirichletPriors, checked_priors
from jtruth.learning.joint.models import MODELS

SHORT = Effort(chains=4, burn_in=20, min_sweeps=200, max_sweeps=200)


def crowd(right, samples=300, seed=0):
    """Two classes, labelers who are right this often; the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, samples)
    z = np.where(rng.random((samples, len(right))) < right, y[:, None], 1 - y[:, None])
    return y, z


def built(name, z):
    labels = Labels.from_matrix(z, 2)
    priors = checked_priors(labels, None, 0, None, None, DirichletPriors(diagonal=2.0))
    rows = merge_samples(labels, None, None)
    return rows, MODELS[name](priors, rows)


def mode_of(rows, y, strata):
    """As if EM had found the classes of most samples of each row; all easy."""
    of_class = np.zeros((2, rows.multiplicity.size))
    np.add.at(of_class, (y, rows.row_of_sample), 1.0)
    of_class /= of_class.sum(axis=0)
    return np.stack([of_class, 0 * of_class], axis=1)[:, :strata].reshape(2 * strata, -1)


def test_adversaries_have_a_second_start_and_good_crowds_have_none():
    y, z = crowd([0.9, 0.85, 0.8, 0.7])
    for name, strata in (("independent", 1), ("shared_strata", 2)):
        rows, model = built(name, z)
        assert away_from(model.model, rows)(mode_of(rows, y, strata)) is None
    y, z = crowd([0.9, 0.85, 0.8, 0.7, 0.15])
    rows, model = built("shared_strata", z)
    mode = mode_of(rows, y, 2)
    other = away_from(model.model, rows)(mode)
    np.testing.assert_allclose(other.sum(axis=0), 1)
    assert np.abs(other - mode).max() > 0.4
    believed = rows.labels.to_matrix()[:, 3]  # the poorest of those whom the others confirm
    np.testing.assert_array_equal(other.reshape(2, 2, -1).sum(axis=1).argmax(axis=0), believed)
    rows, model = built("independent", z)
    other = away_from(model.model, rows)(mode_of(rows, y, 1))
    guess = other.argmax(axis=0)[rows.row_of_sample]
    assert (guess == z[:, 3]).all() and (guess == y).mean() > 0.6  # not the mirror image


def test_two_modes_are_found_and_said():
    """Three labelers speak of one thing and three of another: each reading is a mode that no chain leaves."""
    rng = np.random.default_rng(1)
    first, other = rng.integers(0, 2, 400), rng.permutation(400)
    z = np.where(rng.random((400, 3)) < 0.9, first[:, None], 1 - first[:, None])
    z, second = np.concatenate([z, z[other]], axis=1), first[other]  # so that both are as likely
    rows, model = built("independent", z)
    observed = Observed((label_columns(rows.labels),), rows.multiplicity.astype(float), model.offset,
                        rows.row_of_sample)  # fmt: skip
    run = run_gibbs(
        model.model, observed, key=jax.random.key(0), start=mode_of(rows, first, 1),
        away=lambda mode: mode_of(rows, second, 1), digest=joint_digest(model.model), effort=SHORT,
    )  # fmt: skip
    accuracy = run.draws["labeler_accuracy"].reshape(4, -1, 6).mean(axis=1)
    assert run.apart and not run.convergence.converged
    assert (accuracy[:2, :3] > 0.8).all() and (accuracy[2:, 3:] > 0.8).all()
    assert (np.abs(accuracy[:2, 3:] - 0.5) < 0.15).all()
    said = several_modes({"labeler_accuracy": run.draws["labeler_accuracy"]})
    assert said is not None and said.startswith(SEVERAL[: SEVERAL.index("{")])
    same = {"labeler_accuracy": run.draws["labeler_accuracy"][:2]}
    assert several_modes(same) is None
