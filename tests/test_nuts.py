"""The NUTS runner on a model whose posterior is known; one compiled program serves all the fast tests."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from jtruth.latent import NutsSettings, Progress
from jtruth.latent.infer import nuts
from jtruth.stats.chains import mean_error

TRACES = []  # one entry for every time that the model is traced
SIZES = NutsSettings(num_warmup=150, num_samples=300, chunk=60)


def normal_model(y, weight, scale, *, width):
    """mu ~ N(0, 1)^width, y_i ~ N(sum mu, scale); `weight` copies of each y_i."""
    TRACES.append(1)
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0).expand([width]).to_event(1))
    total = numpyro.deterministic("total", mu.sum())
    with numpyro.plate("samples", weight.shape[0]), numpyro.handlers.scale(scale=weight):
        numpyro.sample("y", dist.Normal(total, scale), obs=y)


def run(y, weight, *, seed=0, **options):
    data = np.asarray(y, float), np.asarray(weight, float), 2.0
    return nuts.run_nuts(
        normal_model, *data, key=jax.random.key(seed), static={"width": 2}, settings=SIZES._replace(**options)
    )


def exact(y, weight):
    """Mean and sd of mu_1 + mu_2, whose prior is N(0, 2)."""
    precision = 1 / 2 + np.sum(weight) / 4
    return np.dot(weight, y) / 4 / precision, precision**-0.5


@pytest.fixture(scope="module")
def first():
    return run([1.0, 2.0, 4.0], [1, 3, 0])


def test_posterior_is_the_known_one(first):
    total = first.samples["total"]
    assert total.shape == (4, 300)
    assert first.samples["mu"].shape == (4, 300, 2)
    np.testing.assert_allclose(first.samples["mu"].sum(axis=2), total)
    mean, sd = exact([1, 2, 4], [1, 3, 0])
    error = mean_error(total)
    # Five Monte Carlo errors: fails by chance in 6e-7. A row of weight 0 (padding) says nothing.
    assert abs(total.mean() - mean) < 5 * error
    assert abs(((total - mean) ** 2).mean() - sd**2) < 5 * mean_error((total - mean) ** 2)
    assert first.divergences == 0 and (first.statistics["n_steps"] >= 1).all()
    assert set(first.rhat) == set(first.ess) == {"mu", "total"} and first.rhat["mu"].shape == (2,)


def test_second_data_set_of_equal_shape_compiles_nothing(first):
    compiled = nuts.program(normal_model, (("width", 2),), nuts.compiled_for(SIZES), 0.5).compiled
    before = len(TRACES), len(compiled)
    assert before[1] == 2  # begin and advance
    second = run([-1.0, 0.0, 3.0], [2, 2, 2], seed=1)
    assert (len(TRACES), len(compiled)) == before
    mean, _ = exact([-1, 0, 3], [2, 2, 2])
    assert abs(second.samples["total"].mean() - mean) < 5 * mean_error(second.samples["total"])


def test_same_key_same_draws_other_key_other_draws(first):
    again, other = run([1.0, 2.0, 4.0], [1, 3, 0]), run([1.0, 2.0, 4.0], [1, 3, 0], seed=5)
    np.testing.assert_array_equal(first.samples["mu"], again.samples["mu"])
    assert (first.samples["mu"] != other.samples["mu"]).all()


class Killed(Exception):
    pass


@pytest.mark.parametrize("transitions", [60, 270])  # in warm-up; after two chunks of draws
def test_killed_run_resumes_to_the_last_bit(first, tmp_path, transitions):
    file, seen = tmp_path / "run.npz", []

    def kill(done, total):
        if done >= transitions:
            raise Killed

    with pytest.raises(Killed):
        run([1.0, 2.0, 4.0], [1, 3, 0], progress=Progress(kill, file, seconds=0))
    resumed = run(
        [1.0, 2.0, 4.0], [1, 3, 0], progress=Progress(lambda done, total: seen.append((done, total)), file)
    )
    assert seen[0] == (transitions, 450) and seen[-1] == (450, 450)
    for name, values in first.samples.items():
        np.testing.assert_array_equal(resumed.samples[name], values)
    for name, values in first.statistics.items():
        np.testing.assert_array_equal(resumed.statistics[name], values)


def test_checkpoint_of_another_run_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    run([1.0, 2.0, 4.0], [1, 3, 0], progress=Progress(checkpoint=file))
    with pytest.raises(ValueError, match="another run"):
        run([1.0, 2.0, 5.0], [1, 3, 0], progress=Progress(checkpoint=file))
    with pytest.raises(ValueError, match="another run"):
        run([1.0, 2.0, 4.0], [1, 3, 0], progress=Progress(checkpoint=file), seed=1)


def test_short_run_says_that_it_did_not_converge():
    short = run([1.0, 2.0, 4.0], [1, 3, 0], num_samples=8)
    assert not short.converged
    assert "did not converge in 8 draws of 4 chains" in short.warnings[0]


def test_impossible_data_and_arguments_that_make_no_sense():
    with pytest.raises(ValueError, match="num_samples >= 4"):
        run([1.0, 2.0, 4.0], [1, 3, 0], num_samples=0)
    with pytest.raises(ValueError, match="probability 0 or NaN"):
        run([np.nan, 1.0, 2.0], [1, 1, 1])
