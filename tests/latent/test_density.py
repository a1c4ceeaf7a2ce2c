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


def point(model, seed=0, groups=1):
    """A tree of parameters away from the prior's middle."""
    u, rng = latent.unconstrain(latent.prior_means(model, groups), model), np.random.default_rng(seed)
    return jax.tree.map(lambda a: jnp.asarray(a + 0.5 * rng.standard_normal(a.shape)), u)


def determinant(u, model, names):
    """log |d p / d u| of the first entries of each row, by automatic differentiation."""

    def free(u):
        return jnp.concatenate([latent.constrain(u, model)[name][..., :-1].ravel() for name in names])

    jacobian = jax.jit(jax.jacfwd(free))(u)
    return np.linalg.slogdet(np.hstack([np.reshape(jacobian[k], (len(free(u)), -1)) for k in names]))[1]


CASES = {
    "two classes": ("independent", Z, {"priors": FIXED}),
    "three classes, gold": (
        "independent",
        Z + (Z > 0),
        {"priors": FIXED, "gold": np.array([-1, 0, 2, -1, -1])},
    ),
    "known prior": ("independent", Z, {"priors": FIXED, "prior": np.array([0.3, 0.7])}),
    "strata": (partly_shared, Z, {"priors": FIXED}),
    "copying": ("copying", Z, {"priors": FIXED}),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_to_the_sum_over_all_truths(case):
    """Every vector of states, labels by loops, Dirichlet densities by SciPy, the Jacobian by JAX."""
    dependence, z, options = CASES[case]
    labels = jt.Labels.from_matrix(z, int(z.max()) + 1)
    y_pred, gold = np.where(Y > 0, z.max(), Y), options.get("gold", np.full(5, -1))
    model, rows = learning.joint_model(labels, y_pred, dependence=dependence, **options)
    u = point(model)
    p = {k: np.asarray(a) for k, a in latent.constrain(u, model).items()}
    of_class = p["pi"][0] if "pi" in p else model.class_prior
    weight, (labelers, classifier) = p.get("weights", np.ones((1, 1))), model.raters
    total = []
    for states in product(range(model.state_class.size), repeat=5):
        value = 0.0
        with np.errstate(divide="ignore"):
            for i, s in enumerate(states):
                c = model.state_class[s]
                value += np.log(of_class[c] * weight.ravel()[model.state_weight[s]] * (gold[i] in (-1, c)))
                value += sum(np.log(p["raters0"][t, labelers.row_of_state[s], z[i, t]])
                             for t in range(3) if z[i, t] >= 0)  # fmt: skip
                if y_pred[i] >= 0 and classifier.row_of_state[s] >= 0:
                    value += np.log(p["raters1"][0, classifier.row_of_state[s], y_pred[i]])
                elif y_pred[i] >= 0:  # copied
                    value += np.log((z[i][z[i] >= 0] == y_pred[i]).mean())
        total.append(value)
    value, names = logsumexp(total), [k for k in p if k in u]
    around = {"pi": np.tile(model.class_prior, (1, 1)), "weights": model.stratum_prior}
    for k, group in enumerate(model.raters):
        if group.common_prior is None:
            around[f"raters{k}"] = group.prior
        else:
            around |= {
                f"raters{k}": group.strength * p[f"common{k}"] + 0 * group.prior,
                f"common{k}": group.common_prior,
            }
    for name in names:
        pairs = zip(
            p[name].reshape(-1, p[name].shape[-1]), around[name].reshape(-1, p[name].shape[-1]), strict=True
        )
        value += sum(dirichlet.logpdf(row / row.sum(), a) for row, a in pairs)
    known = np.asarray(rows.times, float) @ np.asarray(rows.saturated, float)
    found = jax.jit(partial(latent.log_density, model=model))(u, rows) + known
    # 1e-6 is added to concentrations around common rows; log shares of copied labels are float32
    least = 1e-3 if "common0" in p else 1e-7 if dependence == "copying" else 1e-9
    assert float(found) == pytest.approx(value + determinant(u, model, names), abs=least)


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
    slope, step = (
        jax.jit(jax.grad(log_p))(u),
        jax.tree.map(lambda a: jnp.sin(1 + jnp.arange(a.size)).reshape(a.shape), u),
    )
    along = sum(jax.tree.leaves(jax.tree.map(lambda a, b: float((a * b).sum()), slope, step)))
    two = jax.tree.map(lambda a, b: jnp.stack([a - 1e-5 * b, a + 1e-5 * b]), u, step)
    low, high = jax.jit(jax.vmap(log_p))(two)
    assert float(high - low) / 2e-5 == pytest.approx(along, rel=1e-6)
    assert float(low) == pytest.approx(float(log_p(jax.tree.map(lambda a: a[0], two))), rel=1e-12)
    single = log_p(jax.tree.map(lambda a: a.astype(jnp.float32), u))
    assert single.dtype == jnp.float32 and float(single) == pytest.approx(float(log_p(u)), rel=1e-5)


def test_optax_finds_the_mode_of_em(crowd):
    """Log ratios are softmax coordinates, so the mode is that of EM with the concentrations as counts."""
    model, rows = learning.joint_model(*crowd, priors=FIXED)
    _, _, observed, _ = laid_out(*crowd, independent, priors=FIXED)
    problem, votes = kernel.flatten(model, observed), crowd[0].counts()[rows_of(observed)] / 4.0
    theta = normal.mode_of(problem, votes.T)[1]
    solver, u = optax.lbfgs(), latent.unconstrain(latent.prior_means(model), model)

    def loss(u):
        return -latent.log_density(u, rows, model)

    @jax.jit
    def step(_, carry):
        u, state = carry
        value, slope = optax.value_and_grad_from_state(loss)(u, state=state)
        moves, state = solver.update(slope, state, u, value=value, grad=slope, value_fn=loss)
        return optax.apply_updates(u, moves), state

    with usual():
        u, _ = jax.lax.fori_loop(0, 60, step, (u, solver.init(u)))
    p = latent.constrain(u, model)
    flat = np.concatenate([np.ravel(p[name]) for name in problem.blocks])
    np.testing.assert_allclose(flat, theta, atol=1e-4)


def rows_of(observed):
    """The first sample of each row."""
    return np.unique(observed.row_of_sample, return_index=True)[1]


@pytest.mark.slow
def test_numpyro_agrees_with_gibbs(crowd):
    """Means of NUTS on `potential_fn` and of `fit_joint`: 15 shares at 5 standard errors of both."""
    model, rows = learning.joint_model(*crowd, priors=FIXED)
    u = latent.unconstrain(latent.prior_means(model), model)
    mcmc = MCMC(NUTS(potential_fn=lambda u: -latent.log_density(u, rows, model)), num_warmup=500,
                num_samples=2000, progress_bar=False)  # fmt: skip
    with usual():
        mcmc.run(jax.random.key(0), init_params=u)
    p = jax.vmap(lambda u: latent.constrain(u, model))(mcmc.get_samples())
    fit = learning.fit_joint(*crowd[:1], y_pred=crowd[1], priors=FIXED, key=1)
    pairs = [(p["pi"][:, 0], fit.prior), (jnp.diagonal(p["raters1"][:, 0], axis1=1, axis2=2),
             np.diagonal(fit.classifier, axis1=1, axis2=2))]  # fmt: skip
    for ours, theirs in pairs:
        error = 5 * np.std(theirs, axis=0) * np.sqrt(1 / 400 + 1 / 400)
        assert (np.abs(np.mean(ours, axis=0) - theirs.mean(axis=0)) < error).all()


def test_what_cannot_be_a_density_is_a_sentence(crowd):
    labels = jt.Labels.from_matrix(Z, 2)
    model, rows = learning.joint_model(labels, Y, priors=FIXED)
    with pytest.raises(ValueError, match=r"has the parameters \{'pi': \(1, 1\).*got \{'pi': \(1, 2\)"):
        latent.log_density({"pi": jnp.zeros((1, 2))}, rows, model)
    with pytest.raises(ValueError, match="random_effect is no table"):
        learning.joint_model(labels, Y, dependence="random_effect")
    with pytest.raises(ValueError, match=r"give priors\.diagonal too"):
        learning.joint_model(labels, Y, priors=DirichletPriors(pseudo_counts=np.ones((3, 2, 2))))
