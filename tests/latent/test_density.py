"""`latent.log_density`: brute force over all truths, derivatives, modes, and NumPyro's sampler on it."""

from contextlib import contextmanager
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpyro.infer import MCMC, NUTS
from scipy.special import logsumexp
from scipy.stats import dirichlet

import jtruth as jt
from jtruth import latent, learning
from jtruth.latent.infer import kernel, normal
from jtruth.learning import DirichletPriors
from jtruth.learning.joint.models import independent, partly_shared
from jtruth.learning.joint.posterior import laid_out

FIXED = DirichletPriors(diagonal=2.0)
Z = np.array([[0, 0, 1], [0, 0, 1], [1, -1, 1], [0, 1, -1], [1, 1, 1]])
Y = np.array([0, 0, 1, -1, 1])


@contextmanager
def usual():
    """JAX as a user has it: other packages promote dtypes and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def point(model):
    """A tree of parameters away from the prior's middle."""
    u, rng = latent.unconstrain(latent.prior_means(model), model), np.random.default_rng(0)
    return jax.tree.map(lambda a: jnp.asarray(a + 0.5 * rng.standard_normal(a.shape)), u)


def jacobian(u, model):
    """log |d p / d u|, p the first entries of each row, by automatic differentiation."""

    def free(u):
        p = latent.constrain(u, model)
        return jnp.concatenate([p[name][..., :-1].ravel() for name in u])

    parts = jax.jit(jax.jacfwd(free))(u)
    return np.linalg.slogdet(np.hstack([np.reshape(part, (len(part), -1)) for part in parts.values()]))[1]


CASES = {
    "two classes": ("independent", Z, {}),
    "three classes, gold": ("independent", Z + (Z > 0), {"gold": np.array([-1, 0, 2, -1, -1])}),
    "known prior": ("independent", Z, {"prior": np.array([0.3, 0.7])}),
    "strata": (partly_shared, Z, {}),
    "copying": ("copying", Z, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_to_the_sum_over_all_truths(case):
    """Every vector of states, labels by loops, Dirichlet densities by SciPy, the Jacobian by JAX."""
    dependence, z, options = CASES[case]
    y, gold = np.where(Y > 0, z.max(), Y), options.get("gold", np.full(5, -1))
    labels = jt.Labels.from_matrix(z, int(z.max()) + 1)
    model, rows = learning.joint_model(labels, y, dependence=dependence, priors=FIXED, **options)
    u, (labelers, classifier) = point(model), model.raters
    p = {name: np.asarray(a) for name, a in latent.constrain(u, model).items()}
    of_class, weight = p.get("pi", model.class_prior[None])[0], p.get("weights", np.ones(1)).ravel()

    def log_p(i, s):
        """Of sample i in state s; where the classifier has no row it copied a label."""
        seen, c = np.flatnonzero(z[i] >= 0), model.state_class[s]
        value = of_class[c] * weight[model.state_weight[s]] * (gold[i] in (-1, c))
        value *= np.prod([p["raters0"][t, labelers.row_of_state[s], z[i, t]] for t in seen])
        row = classifier.row_of_state[s]
        copied = (z[i, seen] == y[i]).mean()
        with np.errstate(divide="ignore"):
            return np.log(value * (1 if y[i] < 0 else copied if row < 0 else p["raters1"][0, row, y[i]]))

    each = np.array([[log_p(i, s) for s in range(model.state_class.size)] for i in range(5)])
    states = np.array(list(product(range(each.shape[1]), repeat=5)))
    value = logsumexp(each[np.arange(5), states].sum(axis=1)) + jacobian(u, model)
    around = {"pi": model.class_prior[None], "weights": model.stratum_prior}
    for k, group in enumerate(model.raters):
        common = group.common_prior
        around[f"common{k}"] = common
        around[f"raters{k}"] = group.prior if common is None else group.strength * p[f"common{k}"]
    for name in u:
        rows_of = p[name].reshape(-1, p[name].shape[-1])
        dists = np.broadcast_to(around[name], p[name].shape).reshape(rows_of.shape)
        value += sum(dirichlet.logpdf(row / row.sum(), a) for row, a in zip(rows_of, dists, strict=True))
    found = jax.jit(partial(latent.log_density, model=model))(u, rows)
    found = float(found) + np.asarray(rows.times, float) @ np.asarray(rows.saturated, float)
    # 1e-6 is added to concentrations around common rows; log shares of copied labels are float32
    least = 1e-3 if "common0" in p else 1e-7 if dependence == "copying" else 1e-9
    assert found == pytest.approx(value, abs=least)


@pytest.fixture(scope="module")
def crowd():
    """120 samples, four labelers of three classes and a classifier; by default rows are alike."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 120)
    z = np.where(rng.random((120, 5)) < 0.75, y[:, None], rng.integers(0, 3, (120, 5)))
    return jt.Labels.from_matrix(z[:, :4], 3), z[:, 4]


@pytest.mark.parametrize("dependence", ["independent", "shared_strata"])
@pytest.mark.parametrize("priors", [FIXED, DirichletPriors()], ids=["fixed", "alike"])
def test_derivatives_batches_precision_and_the_way_back(crowd, dependence, priors):
    """Central differences; vmap is the loop; float32 has its digits; constrain undoes unconstrain."""
    model, rows = learning.joint_model(*crowd, dependence=dependence, priors=priors)
    u = point(model)
    back = latent.unconstrain(latent.constrain(u, model), model)
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-8), back, u)
    log_p = jax.jit(lambda u: latent.log_density(u, rows, model))
    way = jax.tree.map(lambda a: jnp.sin(1 + jnp.arange(a.size)).reshape(a.shape), u)
    _, along = jax.jvp(log_p, (u,), (way,))
    slope = jax.tree.map(lambda a, b: float((a * b).sum()), jax.jit(jax.grad(log_p))(u), way)
    two = jax.tree.map(lambda a, b: jnp.stack([a - 1e-5 * b, a + 1e-5 * b]), u, way)
    low, high = jax.jit(jax.vmap(log_p))(two)
    assert float(high - low) / 2e-5 == pytest.approx(float(along), rel=1e-6)
    assert sum(jax.tree.leaves(slope)) == pytest.approx(float(along), rel=1e-9)
    assert float(low) == pytest.approx(float(log_p(jax.tree.map(lambda a: a[0], two))), rel=1e-12)
    single = log_p(jax.tree.map(lambda a: a.astype(jnp.float32), u))
    assert single.dtype == jnp.float32 and float(single) == pytest.approx(float(log_p(u)), rel=1e-5)


def test_optax_finds_the_mode_of_em(crowd):
    """Log ratios are softmax coordinates, so the mode is that of EM with the concentrations as counts."""
    model, rows = learning.joint_model(*crowd, priors=FIXED)
    _, merged, observed, _ = laid_out(*crowd, independent, priors=FIXED)
    problem = kernel.flatten(model, observed)
    theta = normal.mode_of(problem, merged.labels.counts().T / 4.0)[1]
    solver, u = optax.lbfgs(), latent.unconstrain(latent.prior_means(model), model)

    def loss(u):
        return -latent.log_density(u, rows, model)

    def step(_, carry):
        u, state = carry
        value, slope = optax.value_and_grad_from_state(loss)(u, state=state)
        moves, state = solver.update(slope, state, u, value=value, grad=slope, value_fn=loss)
        return optax.apply_updates(u, moves), state

    with usual():
        p = latent.constrain(jax.lax.fori_loop(0, 60, step, (u, solver.init(u)))[0], model)
    np.testing.assert_allclose(np.concatenate([np.ravel(p[k]) for k in problem.blocks]), theta, atol=1e-4)


@pytest.mark.slow
def test_numpyro_agrees_with_the_joint_fit(crowd):
    """Means of NUTS on `potential_fn` and of `fit_joint`: six at 5 standard errors of 400 draws each."""
    model, rows = learning.joint_model(*crowd, priors=FIXED)
    u = latent.unconstrain(latent.prior_means(model), model)
    nuts = NUTS(potential_fn=lambda u: -latent.log_density(u, rows, model))
    mcmc = MCMC(nuts, num_warmup=500, num_samples=2000, progress_bar=False)
    with usual():
        mcmc.run(jax.random.key(0), init_params=u)
    p = jax.vmap(lambda u: latent.constrain(u, model))(mcmc.get_samples())
    fit = learning.fit_joint(crowd[0], y_pred=crowd[1], priors=FIXED, key=1)
    right = (np.diagonal(a, axis1=1, axis2=2) for a in (p["raters1"][:, 0], fit.classifier))
    for ours, theirs in ((p["pi"][:, 0], fit.prior), tuple(right)):
        error = 5 * np.std(theirs, axis=0) * np.sqrt(2 / 400)
        assert (np.abs(np.mean(ours, axis=0) - theirs.mean(axis=0)) < error).all()


def test_what_cannot_be_a_density_is_a_sentence(crowd):
    labels = jt.Labels.from_matrix(Z, 2)
    model, rows = learning.joint_model(labels, Y, priors=FIXED)
    with pytest.raises(ValueError, match=r"has the parameters \{'pi': \(1, 1\).*got \{'pi': \(1, 2\)"):
        latent.log_density({"pi": jnp.zeros((1, 2))}, rows, model)
    two = DirichletPriors(diagonal=2.0, shares="by_number")
    grouped, of_groups = learning.joint_model(labels, Y, priors=two)
    with pytest.raises(ValueError, match=r"2 groups of samples, pi of 1: prior_means\(model, 2\)"):
        latent.log_density(point(grouped), of_groups, grouped)
    u = latent.unconstrain(latent.prior_means(grouped, 2), grouped)
    assert u["pi"].shape == (2, 1) and np.isfinite(latent.log_density(u, of_groups, grouped))
    with pytest.raises(ValueError, match="random_effect is no table"):
        learning.joint_model(labels, Y, dependence="random_effect")
