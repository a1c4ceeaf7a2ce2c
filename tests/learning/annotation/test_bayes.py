"""Annotation models: densities against plain loops, simulation against probabilities, messages of a fit.

The densities need no compiled NUTS; one program of Dawid and Skene serves all fast tests of fitting, because
every data set here has all 16 patterns of four labelers and two classes and so the same padded shape.
"""

import functools
import itertools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.distributions import biject_to
from numpyro.infer import Predictive
from numpyro.infer.util import log_density
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, expit, logsumexp

from jtruth.labels import Labels
from jtruth.latent import Effort, NutsSettings, density
from jtruth.latent.infer import nuts
from jtruth.latent.models.alike import alike_raters
from jtruth.learning.annotation import bayes
from jtruth.learning.annotation.functions import SPECS, data_of, majority_start, observe, one_coin
from jtruth.learning.annotation.models import beta_levels, confusion, draw_labels, prepare
from jtruth.learning.annotation.posterior import labeler_agreement, merged_rows, pointwise
from jtruth.learning.joint.models import independent
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.chains import mean_error
from tests.learning import crowds
from tests.learning.crowds import dirichlet_multinomial

LABELERS, CLASSES = 3, 3
ANY_CLASSES = [model for model in SPECS if model != "welinder"]  # which is for two, and tested apart
Z = np.array([[0, 1, -1], [2, 2, 2], [0, -1, -1], [1, 0, 2], [2, 2, 2]])


def random_parameters(model, rng):
    """A point of the parameter space and its log prior density by scipy."""
    t, c = LABELERS, CLASSES
    prior = rng.dirichlet(np.ones(c))
    p, log_p = {"prior": prior}, stats.dirichlet(np.ones(c)).logpdf(prior)
    rows = np.where(np.eye(c) > 0, 2.0, 0.5)
    if model == "dawid_skene":
        p["confusion"] = rng.dirichlet(np.ones(c), size=(t, c))
        log_p += sum(
            stats.dirichlet(rows[k]).logpdf(p["confusion"][s, k]) for s in range(t) for k in range(c)
        )
    elif model == "pooled":
        p["matrix"] = rng.dirichlet(np.ones(c), size=c)
        log_p += sum(stats.dirichlet(rows[k]).logpdf(p["matrix"][k]) for k in range(c))
    elif model == "one_coin":
        p["accuracy"] = rng.random(t)
        log_p += stats.beta(2, 1).logpdf(p["accuracy"]).sum()
    elif model == "hierarchical_dawid_skene":
        p |= {"population": rng.normal(size=(c, c - 1)), "spread": rng.random((c, c - 1))}
        p["own"] = rng.normal(size=(t, c, c - 1))
        log_p += stats.norm(-1 - np.log(c - 1), 1).logpdf(p["population"]).sum()
        log_p += stats.halfnorm().logpdf(p["spread"]).sum() + stats.norm().logpdf(p["own"]).sum()
    elif model == "strata":
        p |= {"weights": rng.dirichlet(np.ones(2), c), "common": rng.dirichlet(np.ones(c), (c, 2))}
        p["stratum_confusion"] = rng.dirichlet(np.ones(c), (t, c, 2))
        for k, h in itertools.product(range(c), range(2)):
            own = np.where(np.arange(c) == k, (9.0, 3.0)[h], (0.5, 1.5)[h])
            log_p += stats.dirichlet(own).logpdf(p["common"][k, h])
            rows = stats.dirichlet(6 * p["common"][k, h] + 1e-6)
            log_p += sum(rows.logpdf(row) for row in p["stratum_confusion"][:, k, h])
        log_p += sum(stats.dirichlet([2, 1]).logpdf(w) for w in p["weights"])
    elif model == "difficulty_fallibility":
        p["fallibility"] = 0.4 * rng.random(t)
        log_p += stats.beta(2, 3, scale=0.4).logpdf(p["fallibility"]).sum()
    elif model == "item_difficulty":
        p["ability"] = rng.normal(size=t)
        log_p += stats.norm(1, 1).logpdf(p["ability"]).sum()
    else:
        p |= {"competence": rng.random(t), "spam": rng.dirichlet(np.ones(c), size=t)}
        log_p += stats.beta(0.5, 0.5).logpdf(p["competence"]).sum()
        log_p += sum(stats.dirichlet(np.full(c, 10.0)).logpdf(s) for s in p["spam"])
    return p, log_p


def label_probability(model, p, t, k, y, difficulty=None):
    """p(label k | class y) of labeler t, from the definitions."""
    c = CLASSES
    if model == "dawid_skene":
        return p["confusion"][t, y, k]
    if model == "pooled":
        return p["matrix"][y, k]
    if model == "one_coin":
        return p["accuracy"][t] if k == y else (1 - p["accuracy"][t]) / (c - 1)
    if model == "hierarchical_dawid_skene":
        logits = p["population"][y] + p["spread"][y] * p["own"][t, y]
        exps = np.exp(np.insert(logits, y, 0.0))
        return exps[k] / exps.sum()
    if model == "strata":
        return p["stratum_confusion"][t, y, difficulty, k]
    if model == "difficulty_fallibility":
        phi = p["fallibility"][t]
        error = (difficulty + phi - difficulty * phi) * (c - 1) / c
        return 1 - error if k == y else error / (c - 1)
    if model == "item_difficulty":
        right = expit(p["ability"][t] * np.exp(difficulty) - np.log(c - 1))
        return right if k == y else (1 - right) / (c - 1)
    return p["competence"][t] * (k == y) + (1 - p["competence"][t]) * p["spam"][t, k]


def sample_probability(model, p, z):
    """p(labels z of one sample): sums over classes, and quadrature over the difficulty."""

    def given(difficulty):
        total = 0.0
        for y in range(CLASSES):
            each = [label_probability(model, p, t, k, y, difficulty) for t, k in enumerate(z) if k >= 0]
            weight = p["weights"][y, difficulty] if model == "strata" else 1.0
            total += p["prior"][y] * weight * np.prod(each)
        return total

    if model == "strata":
        return given(0) + given(1)
    if model == "difficulty_fallibility":
        return quad(lambda d: given(d) * stats.beta(1, 5).pdf(d), 0, 1, epsabs=1e-13)[0]
    if model == "item_difficulty":
        x, w = np.polynomial.hermite_e.hermegauss(15)  # the model IS this rule: 15 levels
        return sum(w[h] * given(1 + x[h]) for h in range(15)) / w.sum()
    return given(None)


# What the plain ones say is seen in fits too, here and in tests/test_comparison.py.
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(m, marks=[pytest.mark.slow] * (m in ("dawid_skene", "pooled", "one_coin")))
        for m in ANY_CLASSES
    ],
)
def test_density_is_that_of_the_definitions(model):
    given = {"fallibility": (2.0, 3.0, 0.4)} if model == "difficulty_fallibility" else None
    labels = Labels.from_matrix(Z, CLASSES)
    seen, row_of_sample = merged_rows(labels)
    hyper = prepare(SPECS[model], CLASSES, Z.shape[1], given)
    assert row_of_sample.max() == 3 and seen.times.sum() == 5
    both = jax.jit(functools.partial(joint_and_rows, model))
    for seed in range(3):
        p, log_prior = random_parameters(model, np.random.default_rng(seed))
        by_hand = [np.log(sample_probability(model, p, z)) for z in Z]
        with nuts.numpyro_block():  # rows with weights say the same as samples
            joint, rows = both(seen, hyper, p)
        np.testing.assert_allclose(rows[row_of_sample], by_hand, rtol=1e-10)
        assert float(joint) == pytest.approx(log_prior + sum(by_hand), rel=1e-9)


def joint_and_rows(model, seen, hyper, p):
    """log p(parameters, labels), and log p(labels of each row)."""
    joint, _ = log_density(
        bayes.numpyro_model(*SPECS[model][:2]), (seen, hyper), {"num_labelers": LABELERS}, p
    )
    return joint, density.total(density.log_joint(SPECS[model].channel(p, hyper, LABELERS), seen))[:, 0]


def log_p_rows(channel, z, classes):
    """log p(labels of each row), by the density of all latent-class models."""
    seen, row_of_sample = merged_rows(Labels.from_matrix(z, classes))
    return density.total(density.log_joint(channel, seen))[row_of_sample, 0]


@pytest.mark.slow
def test_prior_predictive_means():
    with nuts.numpyro_block():
        drawn = Predictive(one_coin, num_samples=2000)(jax.random.key(0), shape=(6, 2), num_classes=3)
    drawn = {name: np.asarray(x) for name, x in drawn.items()}
    assert drawn["labels"].shape == (2000, 6, 2) and drawn["labels"].min() == 0 and drawn["labels"].max() == 2
    assert drawn["accuracy"].shape == (2000, 2)
    # accuracy ~ Beta(2, 1): mean 2/3, variance 1/18; two labelers agree when both are right, or err alike.
    assert abs(drawn["accuracy"].mean() - 2 / 3) < 5 * np.sqrt(1 / 18 / 4000)
    same = (drawn["labels"][..., 0] == drawn["labels"][..., 1]).mean(axis=1)
    assert abs(same.mean() - (4 / 9 + 1 / 9 / 2)) < 5 * same.std() / np.sqrt(2000)


def enumerated(model, z):
    """log p(labels) of two classes: a sum over all vectors of classes, rates integrated in closed form."""
    terms = []
    for y in itertools.product([0, 1], repeat=len(z)):
        counts = np.zeros((z.shape[1], 2, 2))
        for t in range(z.shape[1]):
            np.add.at(counts[t], (list(y), z[:, t]), 1)
        value = dirichlet_multinomial(np.bincount(y, minlength=2)[None], np.ones(2))
        if model == "one_coin":
            right = np.einsum("tcc->t", counts)
            value += dirichlet_multinomial(np.stack([right, len(z) - right], axis=1), np.array([2.0, 1.0]))
        else:
            value += dirichlet_multinomial(counts.sum(axis=0) if model == "pooled" else counts, 1 + np.eye(2))
        terms.append(value)
    return logsumexp(terms)


def evidence_by_draws(model, labels, hyper, number):
    """log of the mean likelihood of draws of the prior, and its standard error."""
    with nuts.numpyro_block():
        prior = Predictive(bayes.numpyro_model(*SPECS[model][:2]), num_samples=number)
        drawn = prior(jax.random.key(3), None, hyper, num_labelers=labels.num_labelers)
    drawn = {name: np.asarray(value)[None] for name, value in drawn.items()}
    rows = pointwise(SPECS[model].channel, drawn, merged_rows(labels), hyper, labels.num_labelers)
    likelihood = np.exp(rows.log_p[0][:, rows.row_of_sample].sum(axis=1))
    return np.log(likelihood.mean()), likelihood.std() / likelihood.mean() / np.sqrt(number)


@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.slow] * (m != "one_coin")) for m in SPECS]
)
def test_evidence_is_that_of_enumeration(model):
    """Six samples, or draws of the prior where classes alone are not enough. Four errors of both, and .1."""
    labels = Labels.from_matrix(np.random.default_rng(0).integers(0, 2, (6, 3)), 2)
    hyper = prepare(SPECS[model], 2, 3, None)
    fit = SimpleNamespace(model=model, spec=SPECS[model], labels=labels, hyper=hyper)
    log, error = bayes.evidence_of(fit, 1)
    if model in ("dawid_skene", "pooled", "one_coin"):
        other, its = enumerated(model, labels.to_matrix()), 0.0
    else:
        other, its = evidence_by_draws(model, labels, hyper, 40_000)
    assert its < 0.05 and abs(log - other) < 4 * np.hypot(error, its) + 0.1


LAWS = [
    dist.Dirichlet(np.array([0.5, 2.0, 1.0, 4.0])).expand((2, 3)).to_event(2),
    dist.Beta(0.5, 2.0).expand((5,)),
    dist.Normal(np.array([1.0, -1.0]), 2.0).to_event(1),
    dist.HalfNormal(np.ones((2, 2))).to_event(2),
]


@pytest.mark.parametrize("distribution", LAWS, ids=["Dirichlet", "Beta", "Normal", "HalfNormal"])
def test_draws_of_the_prior_are_numpyros_in_its_coordinates(distribution):
    """Where NumPyro's own transformation takes them: means and second moments; 5 errors of 20 000 draws."""
    free = bayes._drawn_free(distribution, np.random.default_rng(0), 20_000)
    with nuts.numpyro_block():
        x = np.asarray(biject_to(distribution.support)(jnp.asarray(np.clip(free, -30, 30))))
    sd = np.sqrt(np.asarray(distribution.variance))
    assert (np.abs(x.mean(0) - distribution.mean) < 5 * sd / 20_000**0.5).all()
    square = (x - np.asarray(distribution.mean)) ** 2
    assert (np.abs(square.mean(0) - distribution.variance) < 5 * square.std(0) / 20_000**0.5).all()


def test_gauss_jacobi_levels_are_exact_for_polynomials():
    for degree in range(1, 8):
        nodes, log_weight = beta_levels(1.5, 4.0, degree)
        assert (nodes > 0).all() and (nodes < 1).all() and nodes.size == (degree + 2) // 2
        moment = np.exp(betaln(1.5 + degree, 4) - betaln(1.5, 4))
        assert np.exp(log_weight) @ nodes**degree == pytest.approx(moment, rel=1e-12)


@pytest.mark.slow
def test_starts():
    """Every model starts at the accuracies it was given."""
    prior, psi = majority_start(data_of(Labels.from_matrix(Z, CLASSES)))
    right = np.einsum("c,tcc->t", prior, psi)
    for model in ANY_CLASSES:
        spec = SPECS[model]
        hyper = prepare(spec, CLASSES, 2, None)
        channel = spec.channel(jax.tree.map(jnp.asarray, spec.start(prior, psi, hyper)), hyper, LABELERS)
        levels = channel.log_class.shape[1] // CLASSES
        np.testing.assert_allclose(np.exp(channel.log_class[0, ::levels, 0]), prior)
        found = np.einsum("c,tcc->t", prior, confusion(channel, LABELERS))
        if model in ("dawid_skene", "one_coin", "difficulty_fallibility"):
            np.testing.assert_allclose(found, right)
        elif model in ("pooled", "hierarchical_dawid_skene"):
            np.testing.assert_allclose(found, right.mean())
        else:
            np.testing.assert_allclose(found, right, atol=0.1)


PATTERNS = np.array(list(itertools.product([0, 1], repeat=4)))
SETTINGS = NutsSettings(num_warmup=200, num_samples=300)


def crowd(seed):
    """300 samples by four labelers, among them every pattern."""
    rng = np.random.default_rng(seed)
    y = (rng.random(284) < 0.4).astype(int)
    z = np.where(rng.random((284, 4)) < [0.85, 0.75, 0.8, 0.7], y[:, None], 1 - y[:, None])
    return Labels.from_matrix(np.concatenate([z, PATTERNS]), 2)


@pytest.fixture(scope="module")
def fitted():
    return bayes.fit_nuts("dawid_skene", crowd(0), key=jax.random.key(0), settings=SETTINGS)


def test_what_is_computed_from_the_draws(fitted):
    found = fitted.log_likelihood()
    assert found.shape == (1200, 300)
    z, pi, psi = fitted.labels.to_matrix(), fitted.run.flat("prior"), fitted.run.flat("confusion")
    for i in (0, 7, 299):
        joint = pi.copy()
        for t in range(4):
            joint = joint * psi[:, t, :, z[i, t]]
        np.testing.assert_allclose(found[:, i], np.log(joint.sum(axis=1)), rtol=1e-10)
        posterior = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        np.testing.assert_allclose(fitted.class_posterior[i], posterior, rtol=1e-9)
    np.testing.assert_allclose(fitted.mean_matrices, psi.mean(axis=0), rtol=1e-9)


@pytest.mark.slow
def test_second_data_set_compiles_nothing(fitted):
    program = nuts.program(
        bayes.numpyro_model(*SPECS["dawid_skene"][:2]),
        (("num_labelers", 4),),
        nuts.compiled_for(SETTINGS),
        0.5,
    )
    assert len(program.compiled) == 2
    other = bayes.fit_nuts("dawid_skene", crowd(1), key=jax.random.key(0), settings=SETTINGS)
    assert len(program.compiled) == 2
    assert other.usable and other.agreement.p_value >= 0.001


def test_agreement_counts_pairs(fitted):
    z, found = fitted.labels.to_matrix(), fitted.agreement
    np.testing.assert_array_equal(found.pair, list(itertools.combinations(range(4), 2)))
    np.testing.assert_array_equal(found.shared, 300)
    np.testing.assert_array_equal(found.agreed, [(z[:, s] == z[:, t]).sum() for s, t in found.pair])
    # The mean of 200 simulated counts against the mean over draws of 300 sum_c pi_c sum_k psi_s psi_t.
    pi, psi = fitted.run.flat("prior"), fitted.run.flat("confusion")
    for (s, t), mean, sd in zip(found.pair, found.expected, found.sd, strict=True):
        exact = 300 * np.einsum("dc,dck,dck->d", pi, psi[:, s], psi[:, t]).mean()
        assert abs(mean - exact) < 5 * sd / np.sqrt(200)
    assert found.sentence() is None
    assert 0.01 < found.overall_p_value <= 1


def agreement_of(fitted, labels):
    """Of other labels with the draws of this fit."""
    hyper = prepare(SPECS["dawid_skene"], 2, labels.num_labelers, None)
    channel = SPECS["dawid_skene"].channel
    return labeler_agreement(channel, fitted.run.samples, labels, hyper, jax.random.key(0))


def test_a_pair_of_labelers_who_agree_too_often_is_noticed(fitted):
    """The draws of honest labelers against labels in which labeler 1 copies labeler 0."""
    z = fitted.labels.to_matrix().copy()
    z[: 4 * len(z) // 5, 1] = z[: 4 * len(z) // 5, 0]
    copied = Labels.from_matrix(z, 2).with_names(workers=["ann", "bob", "cy", "di"])
    found = agreement_of(fitted, copied)
    assert found.p_value < 0.01
    text = found.sentence(copied.workers)
    assert "contradicts this model" in text and "'ann' and 'bob'" in text


def test_agreement_without_pairs_has_no_verdict(fitted):
    found = agreement_of(fitted, Labels.from_matrix(np.array([[0, -1], [-1, 1], [1, -1]]), 2))
    assert np.isnan(found.p_value) and found.sentence() is None


@pytest.mark.slow
def test_start_in_the_mirror_image_is_caught(fitted):
    mirror = {"prior": np.array([0.6, 0.4]), "confusion": np.tile([[0.1, 0.9], [0.9, 0.1]], (4, 1, 1))}
    switched = bayes.fit_nuts(
        "dawid_skene", fitted.labels, key=jax.random.key(0), start=mirror, settings=SETTINGS
    )
    assert switched.switched and not switched.usable
    assert "Class labels have switched" in " ".join(switched.warnings)
    assert not fitted.switched


def test_bad_input():
    labels, nothing = Labels.from_matrix(Z, CLASSES), Labels(*np.zeros((3, 0), np.int32), 5, 3, 3)
    for message, model, given, hyper in (
        ("model must be one of 'dawid_skene'", "wellinder", labels, None),
        ("no prior setting 'accuracy'; it has class_con", "dawid_skene", labels, {"accuracy": (2, 1)}),
        (r"\(2, 2\); give \(3, 3\)", "dawid_skene", labels, {"row_concentration": np.ones((2, 2))}),
        ("not finite", "dawid_skene", labels, {"class_concentration": np.nan}),
        ("must be positive", "one_coin", labels, {"accuracy": (0, 1)}),
        ("has no label, so", "dawid_skene", nothing, None),
    ):
        with pytest.raises(ValueError, match=message):
            bayes.fit_nuts(model, given, key=0, hyper=hyper)


@pytest.mark.slow
def test_float64_in_a_float32_process():
    with jax.enable_x64(False):
        fit = bayes.fit_nuts("one_coin", crowd(0), key=0, settings=NutsSettings(50, 20))
        assert jnp.ones(1).dtype == "float32" and fit.log_likelihood().dtype == "float64"
    assert {v.dtype.name for v in fit.run.samples.values()} == {"float64"}
    assert fit.class_posterior.dtype == "float64"


@pytest.mark.slow
def test_welinder_against_quadrature_over_positions():
    """log p(labels) of a sample with x integrated out by scipy: 25 nodes are within 1e-6; the start."""
    rng = np.random.default_rng(0)
    w, tau, p = rng.normal(1, 1, 4), rng.normal(0, 1, 4), np.array([0.3, 0.7])
    hyper = prepare(SPECS["welinder"], 2, 4, None)
    given = {"prior": p, "direction": w, "threshold": tau}
    channel = SPECS["welinder"].channel(jax.tree.map(jnp.asarray, given), hyper, 4)
    z = np.array([[1, 0, 1, 1], [0, 0, -1, 1], [1, 1, 1, 1]])

    def both(x, c, row):
        """p(position, labels | class)."""
        said = [stats.norm.cdf((2 * k - 1) * (w[t] * x - tau[t])) for t, k in enumerate(row) if k >= 0]
        return stats.norm.pdf(x, 2 * c - 1, 0.8) * np.prod(said)

    exact = [sum(p[c] * quad(both, -9, 9, (c, row), epsabs=1e-12)[0] for c in (0, 1)) for row in z]
    np.testing.assert_allclose(log_p_rows(channel, z, 2), np.log(exact), atol=1e-6)
    begun = SPECS["welinder"].start(p, np.asarray(confusion(channel, 4)), hyper)
    inside = np.abs(w) < 1.5  # what is steeper starts less steep
    assert inside.sum() >= 2
    np.testing.assert_allclose(begun["direction"][inside], w[inside], atol=1e-3)
    np.testing.assert_allclose(begun["threshold"][inside], tau[inside], atol=1e-3)
    with pytest.raises(ValueError, match="Welinder's model is for two classes, but these are 3"):
        prepare(SPECS["welinder"], 3, 4, None)


@pytest.mark.slow
def test_one_label_a_sample_is_not_identified():
    alone = Labels.from_matrix(np.array([[0], [1], [1], [0], [1]]), 2)
    fit = bayes.fit_nuts("one_coin", alone, key=jax.random.key(0), settings=SETTINGS)
    assert not fit.identified and not fit.usable and "Not identified" in fit.warnings[0]


@pytest.mark.slow
def test_simulated_labels_have_the_probabilities_of_the_model():
    hyper = prepare(SPECS["difficulty_fallibility"], 2, 2, None)
    p = {"prior": np.array([0.3, 0.7]), "fallibility": np.array([0.2, 0.6])}
    channel = SPECS["difficulty_fallibility"].channel(jax.tree.map(jnp.asarray, p), hyper, 2)
    labeler = np.tile(np.array([[0, 1, -1]], np.int32), (20_000, 1))
    label = np.asarray(draw_labels(channel, 2, np.random.default_rng(0), labeler))
    assert (label[:, 2] == -1).all()
    seen = np.bincount(label[:, :2] @ [2, 1], minlength=4)
    patterns = np.array(list(itertools.product([0, 1], repeat=2)), np.int32)
    expected = np.exp(log_p_rows(channel, patterns, 2))
    assert expected.sum() == pytest.approx(1)
    assert stats.chisquare(seen, expected * 20_000).pvalue > 1e-4  # the false-alarm rate


def alike(labels):
    """`latent.models.alike` of two classes with the rows drawn too."""
    data, kappa = data_of(labels), dist.Normal(np.log(10), 1.5).expand([2]).to_event(1)
    shares, kappa = numpyro.sample("prior", dist.Dirichlet(jnp.ones(2))), numpyro.sample("log_kappa", kappa)
    mean, kappa = numpyro.sample("mean", dist.Beta(2.0, 1.0).expand([2]).to_event(1)), jnp.exp(kappa)
    rows = dist.Beta(mean * kappa, (1 - mean) * kappa).expand([data.num_labelers, 2]).to_event(2)
    right = numpyro.sample("right", rows)[..., None]
    observe(data, shares, jnp.where(jnp.eye(2) > 0, right, 1 - right))


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_that_are_alike_are_those_of_gibbs(seed):
    """The distribution that `fit_joint` samples with rows summed out, where no transition diverges.

    Means five standard errors apart at most: 1e-5 for ten numbers.
    """
    z, _ = crowds.simulate(seed, size=60, labelers=5, classes=2, accuracy=0.8, present=1.0)
    labels = Labels.from_matrix(z, 2)

    def alike_rows(base, rows):
        labelers = base.raters[0]._replace(alike=alike_raters(np.ones(2), 5))
        return independent(base._replace(raters=(labelers,)), rows)

    gibbs = fit_joint(labels, key=seed, dependence=alike_rows, effort=Effort(min_ess=2000))
    settings = NutsSettings(target_accept=0.99)
    start = {"right": np.full((5, 2), 0.8), "mean": np.full(2, 0.8), "log_kappa": np.full(2, np.log(10))}
    fit = bayes.fit_nuts(alike, labels, key=jax.random.key(seed), start=start, settings=settings)
    assert fit.run.divergences < 0.001 * fit.run.samples["prior"][..., 0].size
    right = fit.run.samples["right"]  # (chains, draws, labelers, classes)
    for t in range(5):
        for c in (0, 1):
            other = np.asarray(gibbs.matrices[:, t, c, c], np.float64).reshape(
                np.unique(gibbs.chain).size, -1
            )
            both = np.asarray(right[:, :, t, c]), other
            error = np.hypot(*(mean_error(v) for v in both))
            assert abs(both[0].mean() - both[1].mean()) < 5 * error


@pytest.mark.slow
@pytest.mark.usefixtures("optimized")
def test_anaesthetists_as_in_rater():
    # README of the R package rater (Stan): its prior, its posterior mean of pi, itself with ~1e-3 of error.
    rows = np.where(np.eye(4) > 0, 8 * 0.6, 8 * 0.4 / 3)
    fit = bayes.fit_nuts(
        "dawid_skene",
        crowds.anaesthetists(),
        key=jax.random.key(0),
        hyper={"class_concentration": 3.0, "row_concentration": rows},
        settings=NutsSettings(num_warmup=1000, num_samples=4000),
    )
    assert fit.converged and fit.usable
    error = mean_error(fit.run.samples["prior"])
    assert (np.abs(fit.prior - [0.3756, 0.4073, 0.1432, 0.0738]) < 3 * error + 1e-3).all()
