"""The Python in README.md and docs/extending.md works as printed."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtruth as jt
from jtruth import asking, information, planning
from jtruth.cli.reading import noise_of
from jtruth.information.mutual import enumerated_information
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, Symmetric
from tests.source import ROOT, python_of, recipes

pytestmark = pytest.mark.usefixtures("few_lineages")

README, MODEL = python_of(ROOT / "README.md"), recipes("Spammers")[0]


@pytest.mark.parametrize("code", README, ids=range(len(README)))
def test_the_examples_of_the_readme_run(code, capsys):
    exec(code, {})
    assert capsys.readouterr().out


def test_the_noise_model_to_copy_is_one():
    names = {}
    exec(MODEL, names)
    model = names["Spammers"]([0.0, 0.5, 1.0], [0.2, 0.3, 0.5])
    vectors = np.array(list(itertools.product(range(3), repeat=3)))
    likelihood = np.exp(jax.jit(lambda z: model.log_likelihood(z))(Labels.from_matrix(vectors, 3)))
    np.testing.assert_allclose(likelihood.sum(axis=0), 1, rtol=1e-12)

    y = np.repeat(np.arange(3), 4000)
    z = np.asarray(
        jax.jit(lambda *given: model.sample(*given))(
            jax.random.key(0), jnp.asarray(y), jnp.ones((len(y), 3), bool)
        )
    )
    for c in range(3):
        expected = likelihood[:, c]
        share = np.bincount(np.ravel_multi_index(z[y == c].T, (3, 3, 3)), minlength=27) / 4000
        # 5 standard deviations in each of 81 cells: a false alarm for less than one key in 10^4.
        assert (np.abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 4000)).all()


def test_the_noise_model_to_copy_works_everywhere(tmp_path):
    """evaluate, its checks and sensitivity, simulate, information, planning, JSON by the recipe alone."""
    names = {}
    exec(MODEL, names)
    model = names["Spammers"]([0.1, 0.5, 0.3], [0.4, 0.6])
    prior, confusion = np.array([0.6, 0.4]), np.array([[0.9, 0.1], [0.2, 0.8]])
    data = jt.simulate(jax.random.key(1), 120, prior, confusion, model, np.ones(3))
    labels = data.to_labels()
    exact = jt.evaluate(data.y_pred, labels, noise=model, prior=prior)
    assert {"given error rates", "given prior"} <= {check.name for check in exact.checks}
    for what in ("shared_errors", "hard_samples", "labeler_dependence"):
        # They learn error rates under an assumption; rates that are given leave nothing to learn.
        with pytest.raises(ValueError, match=f"'{what}' needs learned error rates"):
            exact.sensitivity_analysis(what)
    twice = exact.sensitivity_analysis("error_rates", values=[0.5, 2.0])
    same = jt.evaluate(data.y_pred, labels, noise=model.scaled(2.0), prior=prior)
    assert twice.metrics["accuracy"][-1].mean == pytest.approx(same.accuracy.mean, abs=4e-3)  # 4000 draws
    shares = exact.sensitivity_analysis("prior", values=[0.3, 0.5]).metrics["accuracy"]
    assert np.isfinite([dist.mean for dist in shares]).all()

    matrices = ConfusionMatrices(model.strata(None).rows[0])  # the same distribution in another form
    bits = information.mutual_information(matrices, prior).bits
    assert information.mutual_information(model, prior).bits == pytest.approx(bits, abs=1e-12)
    assert enumerated_information(model, prior, 3) == pytest.approx(bits, abs=1e-12)
    first, second = (information.labeler_information(m, prior) for m in (model, matrices))
    np.testing.assert_allclose([first.alone, first.last], [second.alone, second.last], atol=1e-12)
    best = [information.best_labelers(m, prior, budget=2) for m in (model, matrices)]
    np.testing.assert_array_equal(best[0].order, best[1].order)
    gains = [asking.expected_gain_of_labels(m, labels, prior) for m in (model, matrices)]
    np.testing.assert_allclose(*gains, atol=1e-12)
    one = [names["Spammers"]([0.3], [0.4, 0.6]), matrices.matrices[2]]
    assert len({information.smallest_team(m, prior, 0.6) for m in one}) == 1
    kinds = [planning.Labeler(name, m) for name, m in zip("ab", one, strict=True)]
    np.testing.assert_array_equal(*(kind.matrix for kind in planning.Setting(prior, 0.9, kinds).labelers))
    sets = data.y_pred[None], labels.to_matrix()[None]
    batches = [jt.evaluate_batch(*sets, noise=m, prior=prior) for m in (model, matrices, matrices.matrices)]
    for found in batches:
        np.testing.assert_array_equal(found.mean, batches[0].mean)
        assert found.mean[0, 0] == pytest.approx(exact.accuracy.mean, abs=1e-9)

    file = tmp_path / "noise.json"
    file.write_text(json.dumps(model.to_dict() | {"prior": [0.6, 0.4]}))
    again, share = noise_of(file, labels)
    np.testing.assert_array_equal(again.spam, model.spam)
    np.testing.assert_array_equal(share, prior)
    assert again.to_dict() == model.to_dict()


def test_noise_models_that_no_matrices_say_are_refused_with_what_to_give():
    hard, even = DifficultyFallibility(np.array([0.1, 0.4]), 0.5, 2), [0.5, 0.5]
    two = ConfusionMatrices(np.full((2, 2, 2), 0.5))
    sets = np.array([[0, 1]]), np.array([[[0, 1], [1, 1]]])
    for wrong, said in (
        (hard, "makes labels of a sample dependent"),
        (two, "of 2 labelers, but this needs 1;"),
    ):
        with pytest.raises(ValueError, match=f"error is a {type(wrong).__name__}.*{said}.*give"):
            planning.Setting(even, 0.9, [planning.Labeler("crowd", wrong)])
    with pytest.raises(ValueError, match=r"noise is a DifficultyFallibility.*give independent labelers"):
        jt.evaluate_batch(*sets, noise=hard, prior=np.array(even))
    with pytest.raises(ValueError, match="num_labelers is 1 but the noise model is for 2"):
        information.smallest_team(two, even, 0.5)
    symmetric = [Symmetric(0.2, 2), ConfusionMatrices([[[0.8, 0.2], [0.2, 0.8]]]), 0.2]
    assert len({information.smallest_team(m, even, 0.9) for m in symmetric}) == 1
    kinds = [planning.Labeler(name, m) for name, m in zip("ab", symmetric[:2], strict=True)]
    np.testing.assert_array_equal(*(kind.matrix for kind in planning.Setting(even, 0.9, kinds).labelers))
    each = [DifficultyFallibility(d, 0.5, 2) for d in (0.1, 0.4)]  # two samples, whose difficulty is seen
    of_team = lambda k: np.mean([information.mutual_information(m, even, num_labelers=k).bits for m in each])  # noqa: E731
    size = information.smallest_team(hard, even, 0.5)
    assert size > 1 and of_team(size) >= 0.5 > of_team(size - 1)
