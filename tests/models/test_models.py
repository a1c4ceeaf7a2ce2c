"""NumPyro functions of noisy labels: densities, NumPyro's own tools, the answer by draws, and bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
import pytest
from arviz_base import from_dict
from numpyro import handlers
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.util import log_density, potential_energy, unconstrain_fn
from scipy import stats

from jtruth import models
from jtruth.evaluation import evaluate
from jtruth.evaluation.by_draws import LabelDraws, drawn_tables
from jtruth.labels import Labels
from jtruth.latent import NutsSettings
from jtruth.latent.infer import nuts
from jtruth.learning.annotation import bayes
from jtruth.learning.annotation.functions import NAMES, SPECS
from jtruth.learning.annotation.models import prepare
from jtruth.learning.annotation.posterior import merged_rows
from jtruth.learning.joint.posterior import fit_joint
from jtruth.noise import Symmetric
from jtruth.stats.chains import mean_error
from jtruth.testing import binary_posterior
from tests.learning.crowds import dirichlet_multinomial

pytestmark = pytest.mark.usefixtures("numpyros_rules")


@pytest.fixture
def numpyros_rules():
    """NumPyro's own code promotes dtypes and ranks."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


def crowd(seed=0, samples=400, accuracy=(0.85, 0.75, 0.8, 0.7, 0.9), present=0.8):
    """Labels of two classes, the truth, and predictions that are right in four of five samples."""
    rng = np.random.default_rng(seed)
    y = (rng.random(samples) < 0.4).astype(int)
    z = np.where(rng.random((samples, len(accuracy))) < accuracy, y[:, None], 1 - y[:, None])
    z[:, 1:][rng.random(z[:, 1:].shape) > present] = -1
    return z, y, np.where(rng.random(samples) < 0.8, y, 1 - y)


def run(model, *args, seed=0, number=1000, chains=2, **more):
    mcmc = MCMC(
        NUTS(model), num_warmup=300, num_samples=number, num_chains=chains, chain_method="vectorized",
        progress_bar=False,
    )  # fmt: skip
    mcmc.run(jax.random.key(seed), *args, **more)
    return mcmc


@pytest.fixture(scope="module")
def sampled():
    """Dawid and Skene on a crowd, by NumPyro's own MCMC as it stands."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        z, y, y_pred = crowd()
        return run(models.dawid_skene, Labels.from_matrix(z, 2)), z, y, y_pred


FEW = {models.one_coin}


@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.slow] * (m not in FEW), id=m.__name__) for m in NAMES]
)
def test_density_is_that_of_fit_nuts(model):
    """Of labels, codes and traced codes; the one of `fit_nuts` is compared with plain loops elsewhere."""
    z, _, _ = crowd(1, samples=30)
    labels, name = Labels.from_matrix(z, 2), NAMES[model]
    drawn = Predictive(model, num_samples=1)(jax.random.key(3), labels)
    p = {k: v[0] for k, v in drawn.items() if k != "labels"}
    hyper = prepare(SPECS[name], 2, 5, None)
    with nuts.numpyro_block():
        seen, _ = merged_rows(labels)
        expected = log_density(bayes.numpyro_model(*SPECS[name][:2]), (seen, hyper), {"num_labelers": 5}, p)[
            0
        ]
    density = lambda z: log_density(model, (z,), {"num_classes": 2}, p)[0]  # noqa: E731
    for found in (density(labels), density(z), jax.jit(density)(jnp.asarray(z))):
        assert float(found) == pytest.approx(float(expected), rel=1e-9)
    vmapped = jax.jit(jax.vmap(density))(jnp.stack([z, z[::-1]]))
    np.testing.assert_allclose(vmapped, expected, rtol=1e-9)
    each = log_likelihood(model, {k: v[None] for k, v in p.items()}, z)["labels"]
    prior = log_density(handlers.block(model, hide=["labels"]), (z,), {}, p)[0]
    assert each.shape == (1, 30) and float(prior + each.sum()) == pytest.approx(float(expected), rel=1e-9)


QUICK = {models.difficulty_fallibility, models.glad}


@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.slow] * (m not in QUICK), id=m.__name__) for m in NAMES]
)
def test_prior_settings_may_be_traced(model):
    """The density is that of concrete settings, also where nodes follow; slopes are difference quotients."""
    z, spec = crowd(1, samples=9, present=1.0)[0][:, :3], SPECS[NAMES[model]]
    drawn = Predictive(model, num_samples=1)(jax.random.key(3), z, num_classes=2)
    p = {k: v[0] for k, v in drawn.items() if k != "labels"}
    given = {"class_concentration": 1.5} | spec.defaults(2)
    given = {name: np.asarray(value, float) + 0.0 for name, value in given.items()}
    if "fallibility" in given:
        given["fallibility"] = np.array([1.2, 0.9, 1.1])
    density = lambda h: log_density(model, (z,), {"num_classes": 2, **h}, p)[0]  # noqa: E731
    found, slopes = jax.jit(jax.value_and_grad(density))(given)
    assert float(found) == pytest.approx(float(density(given)), rel=1e-10)
    rng, step = np.random.default_rng(0), 1e-6
    way = {k: step * rng.normal(size=v.shape) for k, v in given.items()}
    for nodes in ("easiness_prior", "position_prior"):
        if nodes in way:
            way[nodes][-1] = 0.0  # their number
    up, down = ({k: v + sign * way[k] for k, v in given.items()} for sign in (1, -1))
    along = sum((np.asarray(slopes[k]) * way[k]).sum() for k in way)
    assert along == pytest.approx(float(density(up) - density(down)) / 2, rel=1e-5)
    many = jax.tree.map(lambda *a: jnp.stack(a), given, up)
    np.testing.assert_allclose(jax.vmap(density)(many), [density(given), density(up)], rtol=1e-10)


@pytest.mark.parametrize("kept", [True, False], ids=["jit_model_args", "sites"])
def test_draws_are_in_the_coordinates_of_the_density(kept):
    """NumPyro's potential energy at each draw is that of its values, where labels or priors are traced."""

    def priors_are_sites(labels):
        highest = numpyro.sample("highest", dist.Uniform(0.3, 1.0))
        models.difficulty_fallibility(labels, fallibility=jnp.stack([1.0, 2.0, highest]))

    z = crowd(1, samples=30)[0]
    model, labels = (
        (models.one_coin, Labels.from_matrix(z, 2)) if kept else (priors_are_sites, jnp.asarray(z))
    )
    mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=10, jit_model_args=kept, progress_bar=False)
    mcmc.run(jax.random.key(0), labels, extra_fields=("potential_energy",))

    def energy(values):
        return potential_energy(model, (labels,), {}, unconstrain_fn(model, (labels,), {}, values))

    found = mcmc.get_extra_fields()["potential_energy"]
    np.testing.assert_allclose(found, jax.vmap(energy)(mcmc.get_samples()), rtol=1e-9)


def test_labels_are_drawn_by_their_probabilities():
    """20 000 samples by two labelers and no third; chi-square, false alarm 1e-4."""
    prior, confusion = jnp.array([0.3, 0.7]), jnp.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]])

    def known(labels):
        models.observe(models.data_of(labels, 2), prior, jnp.concatenate([confusion, confusion[:1]]))

    z = np.tile([0, 0, -1], (20_000, 1))
    drawn = Predictive(handlers.uncondition(known), num_samples=1)(jax.random.key(0), z)["labels"][0]
    assert drawn.shape == z.shape and (drawn[:, 2] == -1).all()
    seen = np.bincount(np.asarray(drawn[:, :2]) @ [2, 1], minlength=4)
    expected = np.einsum("c,ca,cb->ab", prior, *confusion).ravel()
    assert stats.chisquare(seen, expected * len(z)).pvalue > 1e-4


def test_numpyros_mcmc_finds_the_posterior_of_gibbs(sampled):
    """Four standard errors of both for ten numbers: false alarm 6e-4 of all, at a fixed key."""
    mcmc, z, _, _ = sampled
    gibbs, by_chain = fit_joint(Labels.from_matrix(z, 2), key=0), mcmc.get_samples(group_by_chain=True)
    matrices = gibbs.matrices.reshape(int(gibbs.chain.max()) + 1, -1, 5, 2, 2).astype(np.float64)
    for t, c in itertools.product(range(5), range(2)):
        one, other = np.asarray(by_chain["confusion"])[..., t, c, c], matrices[..., t, c, c]
        error = np.hypot(mean_error(one), mean_error(other))
        assert abs(one.mean() - other.mean()) < 4 * error
    p = models.classes_by_draw(models.dawid_skene, mcmc.get_samples(), z)
    assert p.shape == (2000, 400, 2)
    np.testing.assert_allclose(p.mean(0), gibbs.class_posterior, atol=0.03)
    draw = {k: np.asarray(v[7]) for k, v in mcmc.get_samples().items()}
    given = [draw["confusion"][t][:, k] for t, k in enumerate(z[0]) if k >= 0]
    by_hand = draw["prior"] * np.prod(given, axis=0)
    np.testing.assert_allclose(p[7, 0], by_hand / by_hand.sum(), rtol=1e-6)


@pytest.mark.parametrize("optimizer", [numpyro.optim.Adam(0.02), optax.adam(0.02)], ids=["numpyro", "optax"])
def test_variational_inference_is_near(optimizer):
    z, y, _ = crowd()
    guide = AutoNormal(models.one_coin)
    found = SVI(models.one_coin, guide, optimizer, Trace_ELBO()).run(
        jax.random.key(0), 1000, Labels.from_matrix(z, 2), progress_bar=False
    )
    right = [(z[z[:, t] >= 0, t] == y[z[:, t] >= 0]).mean() for t in range(5)]
    np.testing.assert_allclose(guide.median(found.params)["accuracy"], right, atol=0.06)


def test_shapes_of_predictive_under_jit_and_vmap():
    size = {"shape": (7, 4), "num_classes": 3}
    keys = jax.random.split(jax.random.key(0), 5)
    drawn = jax.jit(jax.vmap(lambda k: Predictive(models.one_coin, num_samples=6)(k, None, **size)))(keys)
    assert drawn["labels"].shape == (5, 6, 7, 4) and drawn["accuracy"].shape == (5, 6, 4)
    assert set(np.unique(drawn["labels"])) == {0, 1, 2}
    right = handlers.condition(
        models.one_coin, {"accuracy": jnp.ones(4), "prior": jnp.array([0.0, 0.0, 1.0])}
    )
    assert (Predictive(right, num_samples=2)(keys[0], None, **size)["labels"] == 2).all()


def dawid_skene_of_ones_own(labels, *, num_classes=None):
    data = models.data_of(labels, num_classes)
    shares = numpyro.sample("prior", dist.Dirichlet(jnp.ones(2)))
    rows = dist.Dirichlet(jnp.array([[2.0, 1.0], [1.0, 2.0]])).expand([data.num_labelers, 2]).to_event(2)
    models.observe(data, shares, numpyro.sample("confusion", rows))


def test_a_function_of_ones_own_has_its_density_in_coordinates():
    """As `fit_nuts` samples it: that of the shipped model, in NumPyro's coordinates without bounds."""
    labels = Labels.from_matrix(crowd(1, samples=30)[0], 2)
    (seen, _), hyper = merged_rows(labels), prepare(SPECS["dawid_skene"], 2, 5, None)
    x = {"prior": jnp.array([0.3]), "confusion": jnp.linspace(-1, 1, 10).reshape(5, 2, 1)}
    with nuts.numpyro_block():
        found, expected = (
            potential_energy(
                bayes.numpyro_model(*bayes.resolve(m, labels)[1][:2]), (seen, hyper), {"num_labelers": 5}, x
            )
            for m in (dawid_skene_of_ones_own, "dawid_skene")
        )
    assert float(found) == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.slow
def test_a_function_of_ones_own_is_fitted_like_the_shipped(sampled):
    """Means five standard errors apart at most, and the same evidence within five errors and .05."""
    _, z, _, y_pred = sampled
    labels, settings = Labels.from_matrix(z, 2), NutsSettings(num_warmup=300, num_samples=500)
    own, name, shipped = (
        bayes.fit_nuts(m, labels, key=1, settings=settings)
        for m in (dawid_skene_of_ones_own, "dawid_skene", models.dawid_skene)
    )
    np.testing.assert_array_equal(name.run.samples["prior"], shipped.run.samples["prior"])
    assert own.usable and own.model == "dawid_skene_of_ones_own"
    a, b = (fit.run.samples["confusion"][..., 0, 0, 0] for fit in (own, name))
    assert abs(a.mean() - b.mean()) < 5 * np.hypot(mean_error(a), mean_error(b))
    few = Labels.from_matrix(z[:40], 2)
    logs = [bayes.fit_tempered(m, few, key=2).evidence for m in (dawid_skene_of_ones_own, "dawid_skene")]
    assert abs(logs[0][0] - logs[1][0]) < 5 * np.hypot(logs[0][1], logs[1][1]) + 0.05
    one, other = (evaluate(y_pred, by, key=0).accuracy for by in (own, name))
    assert one.mean == pytest.approx(other.mean, abs=0.005)


def test_tables_by_draws_are_those_of_enumeration():
    """All classes of six samples and three draws of the parameters; five standard errors of 32 chains."""
    rng, y_pred = np.random.default_rng(0), np.array([0, 1, 1, 0, 1, 1])
    rho = rng.dirichlet(np.ones(2), (3, 6))
    weights, right = [], []
    for m, y in itertools.product(range(3), itertools.product([0, 1], repeat=6)):
        table = np.zeros((2, 2))
        np.add.at(table, (list(y), y_pred), 1)
        of_table = dirichlet_multinomial(table, 1 + np.eye(2))
        weights.append(np.exp(of_table) * np.prod(rho[m, np.arange(6), list(y)]))
        right.append(np.trace(table))
    exact = np.average(right, weights=weights)
    found = LabelDraws(rho, np.arange(6), None, None, None, None)
    counts, doubts = drawn_tables(found, y_pred, jax.random.key(0))
    by_chain = np.trace(counts, axis1=1, axis2=2).reshape(32, -1)
    assert doubts == () and abs(by_chain.mean() - exact) < 5 * mean_error(by_chain)


def test_an_answer_by_draws_is_that_of_evaluate(sampled):
    mcmc, z, _, y_pred = sampled
    learned = evaluate(y_pred, Labels.from_matrix(z, 2), assume="independent", key=0)
    p = models.classes_by_draw(models.dawid_skene, mcmc.get_samples(), z)
    named = {"class_posterior": p.reshape(2, -1, 400, 2)}
    for given in (mcmc, {"class_posterior": p}, named, from_dict({"posterior": named})):
        result = evaluate(y_pred, given, key=0)
        assert result.interval_kind == "posterior" and "narrow" not in str(result)
        for name in ("accuracy", "recall", "precision"):
            one, other = result.metrics[name], learned.metrics[name]
            assert one.mean == pytest.approx(other.mean, abs=0.1 * other.sd)
            assert one.sd == pytest.approx(other.sd, rel=0.06)
    checks = {check.name: check.verdict for check in evaluate(y_pred, mcmc).checks}
    assert checks["sampler"] == checks["switching"] == "fits"


def test_a_mirror_image_is_said():
    z, _, y_pred = crowd(samples=80)
    mirror = {
        "prior": jnp.array([0.4, 0.6]),
        "confusion": jnp.tile(jnp.array([[0.1, 0.9], [0.9, 0.1]]), (5, 1, 1)),
    }
    kernel = NUTS(models.dawid_skene, init_strategy=numpyro.infer.init_to_value(values=mirror))
    mcmc = MCMC(kernel, num_warmup=20, num_samples=20, progress_bar=False)
    mcmc.run(jax.random.key(0), z)
    checks = {check.name: check for check in evaluate(y_pred, mcmc).checks}
    assert checks["switching"].verdict == checks["sampler"].verdict == "look first"
    assert "switched" in checks["switching"].message


@pytest.mark.slow
def test_the_testing_model_and_regression():
    """Known error rates: the exact posterior; learned ones: the answer by draws of the labels alone."""
    z, _, y_pred = crowd(samples=120, present=1.0)
    noise = Symmetric(np.array([0.15, 0.25, 0.2, 0.3, 0.1]), 2)
    x = np.asarray(noise.log_likelihood(z))
    exact = binary_posterior(x[:, 1] - x[:, 0], y_pred)
    known = run(models.testing, z, y_pred, noise=noise, prior=np.array([0.5, 0.5]))
    result = evaluate(y_pred, known, target="in-sample")
    assert result.accuracy.mean == pytest.approx(exact.estimate("accuracy").mean, abs=0.003)
    assert result.accuracy.sd == pytest.approx(exact.estimate("accuracy").sd, rel=0.06)
    features = np.stack([y_pred, np.random.default_rng(0).normal(size=120)], axis=1).astype(float)
    fitted = run(models.noisy_label_regression, z, features)
    draws = fitted.get_samples()
    assert draws["weights"].shape == (2000, 2) and draws["confusion"].shape == (2000, 5, 2, 2)
    assert draws["weights"][:, 0].mean() > 3 * abs(draws["weights"][:, 1].mean())
    p = models.classes_by_draw(models.noisy_label_regression, draws, z, features)
    assert ((p.mean(0)[:, 1] > 0.5) == (x[:, 1] > x[:, 0])).mean() > 0.9


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
def test_coverage_of_answers_by_draws():
    """120 sets of 80 samples by 4 labelers: 95 % intervals of accuracy and recall cover as often.

    Fewer than 212 of 240 would happen by chance in less than 1e-4 if pairs were independent.
    """
    hits, settings = [], NutsSettings(num_warmup=200, num_samples=250)
    for seed in range(120):
        rng = np.random.default_rng(1000 + seed)
        z, y, _ = crowd(seed, 80, rng.uniform(0.65, 0.95, 4), present=1.0)
        y_pred = np.where(rng.random(80) < rng.uniform(0.6, 0.95), y, 1 - y)
        fit = bayes.fit_nuts("dawid_skene", Labels.from_matrix(z, 2), key=seed, settings=settings)
        result = evaluate(y_pred, fit, key=seed, target="in-sample", positive=1)
        for name, truth in (("accuracy", (y_pred == y).mean()), ("recall", y_pred[y == 1].mean())):
            low, high = result.metrics[name].interval(0.95)[:2]
            hits.append(low - 1e-9 <= truth <= high + 1e-9)
    assert sum(hits) >= 212, f"{sum(hits)} of 240"


def discrete(labels):
    numpyro.sample("kind", dist.Bernoulli(0.5))
    models.observe(labels, jnp.array([0.5, 0.5]), jnp.full((2, 2), 0.5))


def no_labels(labels):
    numpyro.sample("prior", dist.Dirichlet(jnp.ones(2)))
    numpyro.factor("labels", jnp.zeros(()))


def other_name(labels):
    shares = numpyro.sample("shares", dist.Dirichlet(jnp.ones(2)))
    models.observe(labels, shares, jnp.full((2, 2), 0.5))


CALLS = itertools.count()


def changing(labels):
    numpyro.sample("more", dist.Normal().expand([2 - next(CALLS) % 2]).to_event(1))
    models.observe(labels, jnp.array([0.5, 0.5]), jnp.full((2, 2), 0.5))


def other_shape(labels):
    models.observe(labels, jnp.ones(3) / 3, jnp.full((2, 2), 0.5))


def test_bad_input(sampled):
    mcmc, z, _, y_pred = sampled
    draws, labels = dict(mcmc.get_samples()), Labels.from_matrix(z, 2)
    wrong, own, never = z.copy(), models.dawid_skene, MCMC(NUTS(discrete), num_warmup=1, num_samples=1)
    wrong[3, 1], square = 7, {"class_posterior": np.ones((2, 3))}
    (once, coin), key = (Predictive(m, num_samples=1) for m in (own, models.one_coin)), jax.random.key(0)
    traced = jax.jit(lambda z: log_density(own, (z,), {}, {}))
    for message, call in (
        (r"labels\[3, 1\] is 7", lambda: once(key, wrong, num_classes=2)),
        ("traced array does not tell .*functools.partial", lambda: traced(jnp.asarray(z))),
        ("'accuracy' has shape .3,", lambda: jax.jit(lambda a: coin(key, z, accuracy=a))(jnp.ones(3))),
        ("'strength' is 'two'; give ", lambda: log_density(models.strata, (z,), {"strength": "two"}, {})),
        ("num_classes must be a whole number of at least 2", lambda: once(key, z, num_classes=1)),
        ("prior sums to 1.1", lambda: models.observe(z, np.array([0.5, 0.6]))),
        ("site 'more' of changing: .* shape .1, 1., .*1, 2", lambda: bayes.fit_nuts(changing, labels)),
        ("labels are floating numbers", lambda: once(key, z * 1.0)),
        ("sd must be positive", lambda: Predictive(models.glad, num_samples=1)(key, z, ability=(1, -1))),
        ("without labels say shape=", lambda: once(key)),
        ("no prior setting 'rows'", lambda: once(key, z, rows=3)),
        ("site 'kind' is discrete", lambda: bayes.fit_nuts(discrete, labels)),
        ('no_labels has Unit as its site "labels"', lambda: bayes.fit_nuts(no_labels, labels)),
        ('other_name has no site "prior"', lambda: bayes.fit_nuts(other_name, labels)),
        ("site 'labels': prior has shape", lambda: bayes.fit_nuts(other_shape, labels)),
        ("lack site 'prior'", lambda: models.classes_by_draw(own, {"confusion": draws["confusion"]}, z)),
        ("site 'prior' of dawid_skene: draws have shape", lambda: models.classes_by_draw(
            own, draws | {"prior": draws["prior"][:7]}, z)),
        ("no site 'class_posterior'", lambda: evaluate(y_pred, draws)),
        ("probabilities .draws, samples, classes.", lambda: evaluate(y_pred, square)),
        ("call its run", lambda: evaluate(y_pred, never)),
        ("leave prior out", lambda: evaluate(y_pred, mcmc, prior=[0.5, 0.5])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()
    p = {"prior": jnp.array([0.5, 0.5]), "accuracy": jnp.full(5, 0.8)}
    unchecked = jax.jit(lambda z: log_density(models.one_coin, (z,), {"num_classes": 2}, p)[0])
    assert unchecked(jnp.asarray(wrong)).shape == ()
