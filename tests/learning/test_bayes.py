"""Annotation models: densities against plain loops, simulation against probabilities, what a fit says.

The densities need no compiled NUTS; one program of Dawid and Skene serves all fast tests of fitting, because
every data set here holds all 16 patterns of four labelers and two classes and so has the same padded shape.
"""

import itertools
import warnings

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, expit

from jtruth import _nuts
from jtruth.labels import Labels
from jtruth.learning import bayes
from jtruth.learning._bayes_channels import beta_levels, draw_labels, log_likelihood, logit_rows
from jtruth.learning._bayes_digest import labeler_agreement
from jtruth.learning._bayes_rows import blank_rows, merged_rows
from jtruth.learning._bayes_spec import SPECS, prepare
from jtruth.learning.joint import fit_joint
from jtruth.stats.chains import mean_error
from tests.learning import crowds

LABELERS, CLASSES = 3, 3
Z = np.array([[0, 1, -1], [2, 2, 2], [0, -1, -1], [1, 0, 2], [2, 2, 2]])


def random_parameters(model, rng):
    """A point of the parameter space and its log prior density by scipy."""
    t, c = LABELERS, CLASSES
    prior = rng.dirichlet(np.ones(c))
    p, log_p = {"prior": prior}, stats.dirichlet(np.ones(c)).logpdf(prior)
    rows = np.where(np.eye(c) > 0, 2.0, 0.5)
    if model == "dawid_skene":
        p["matrices"] = rng.dirichlet(np.ones(c), size=(t, c))
        log_p += sum(stats.dirichlet(rows[k]).logpdf(p["matrices"][s, k]) for s in range(t) for k in range(c))
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
        return p["matrices"][t, y, k]
    if model == "pooled":
        return p["matrix"][y, k]
    if model == "one_coin":
        return p["accuracy"][t] if k == y else (1 - p["accuracy"][t]) / (c - 1)
    if model == "hierarchical_dawid_skene":
        logits = p["population"][y] + p["spread"][y] * p["own"][t, y]
        exps = np.exp(np.insert(logits, y, 0.0))
        return exps[k] / exps.sum()
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
            total += p["prior"][y] * np.prod(each)
        return total

    if model == "difficulty_fallibility":
        return quad(lambda d: given(d) * stats.beta(1, 5).pdf(d), 0, 1, epsabs=1e-13)[0]
    if model == "item_difficulty":
        x, w = np.polynomial.hermite_e.hermegauss(15)  # the model IS this rule: 15 levels
        return sum(w[h] * given(1 + x[h]) for h in range(15)) / w.sum()
    return given(None)


@pytest.mark.parametrize("model", bayes.MODELS)
def test_density_is_that_of_the_definitions(model):
    hyper = {"fallibility": (2.0, 3.0, 0.4)} if model == "difficulty_fallibility" else None
    data = merged_rows(Labels.from_matrix(Z, CLASSES))
    spec = prepare(model, CLASSES, Z.shape[1], hyper)
    static = {"num_labelers": LABELERS}
    assert data.size == 4 and data.rows.weight.sum() == 5
    for seed in range(3):
        p, log_prior = random_parameters(model, np.random.default_rng(seed))
        by_hand = [np.log(sample_probability(model, p, z)) for z in Z]
        draw = {name: value[None] for name, value in p.items()}
        rows = _nuts.pointwise_log_likelihood(bayes.MODELS[model], draw, data.rows, spec.hyper, static=static)
        np.testing.assert_allclose(rows[0, data.row_of_sample], by_hand, rtol=1e-10)
        with _nuts.numpyro_block():
            from numpyro.infer.util import log_density

            joint, _ = log_density(bayes.MODELS[model], (data.rows, spec.hyper), static, p)
        assert float(joint) == pytest.approx(log_prior + sum(by_hand), rel=1e-9)


def test_gauss_jacobi_levels_are_exact_for_polynomials():
    for degree in range(1, 8):
        nodes, log_weight = beta_levels(1.5, 4.0, degree)
        assert (nodes > 0).all() and (nodes < 1).all() and nodes.size == (degree + 2) // 2
        moment = np.exp(betaln(1.5 + degree, 4) - betaln(1.5, 4))
        assert np.exp(log_weight) @ nodes**degree == pytest.approx(moment, rel=1e-12)


def test_logit_rows_against_a_loop():
    off = np.random.default_rng(0).normal(size=(2, 4, 3))
    for t, c in itertools.product(range(2), range(4)):
        expected = np.exp(np.insert(off[t, c], c, 0.0))
        np.testing.assert_allclose(logit_rows(jax.numpy.asarray(off))[t, c], expected / expected.sum())


@pytest.mark.parametrize("model", ["mace", "difficulty_fallibility"])
def test_simulated_labels_have_the_probabilities_of_the_model(model):
    spec = prepare(model, 2, 2, None)
    p = {
        "prior": np.array([0.3, 0.7]),
        "competence": np.array([0.5, 0.8]),
        "fallibility": np.array([0.2, 0.6]),
    }
    p["spam"] = np.array([[0.9, 0.1], [0.4, 0.6]])
    channel = SPECS[model].channel(jax.tree.map(jax.numpy.asarray, p), spec.hyper, 2)
    channel = jax.tree.map(jax.numpy.asarray, channel)
    labeler = np.tile(np.array([[0, 1]], np.int32), (20_000, 1))
    _, label = draw_labels(channel, jax.random.key(0), jax.numpy.asarray(labeler))
    seen = np.bincount(np.asarray(label) @ [2, 1], minlength=4)
    patterns = np.array(list(itertools.product([0, 1], repeat=2)), np.int32)
    expected = np.exp(log_likelihood(channel, jax.numpy.asarray(labeler[:4]), jax.numpy.asarray(patterns)))
    assert expected.sum() == pytest.approx(1)
    assert stats.chisquare(seen, expected * 20_000).pvalue > 1e-4  # the false-alarm rate
    hidden = draw_labels(channel, jax.random.key(0), jax.numpy.asarray(np.array([[1, -1]], np.int32)))[1]
    assert hidden[0, 1] == -1


PATTERNS = np.array(list(itertools.product([0, 1], repeat=4)))
OPTIONS = {"num_warmup": 200, "num_samples": 300, "chunk": 100}


def crowd(seed):
    """300 samples by four labelers, among them every pattern."""
    rng = np.random.default_rng(seed)
    y = (rng.random(284) < 0.4).astype(int)
    z = np.where(rng.random((284, 4)) < [0.85, 0.75, 0.8, 0.7], y[:, None], 1 - y[:, None])
    return Labels.from_matrix(np.concatenate([z, PATTERNS]), 2), np.concatenate([y, PATTERNS[:, 0]])


@pytest.fixture(scope="module")
def fitted():
    labels, _ = crowd(0)
    return bayes.fit_bayes(labels, key=jax.random.key(0), **OPTIONS)


def test_agrees_with_the_gibbs_sampler(fitted):
    gibbs = fit_joint(fitted.labels, key=jax.random.key(1))
    draws = fitted.run.samples
    other = gibbs.prior.reshape(gibbs.chain.max() + 1, -1, 2)
    error = np.hypot(mean_error(draws["prior"]), mean_error(other))
    assert (np.abs(fitted.prior - gibbs.prior.mean(axis=0)) < 5 * error).all()
    error = np.sqrt(2) * mean_error(draws["matrices"])  # Gibbs has more draws
    assert (np.abs(fitted.mean_matrices - gibbs.mean_matrices) < 5 * error).all()
    np.testing.assert_allclose(fitted.class_posterior, gibbs.class_posterior, atol=0.05)
    assert fitted.usable and fitted.run.divergences == 0


def test_what_is_computed_from_the_draws(fitted):
    draws = {name: fitted.run.flat(name)[::50] for name in ("prior", "matrices")}
    data = merged_rows(fitted.labels)
    spec = prepare("dawid_skene", 2, 4, None)
    rows = _nuts.pointwise_log_likelihood(
        bayes.dawid_skene, draws, data.rows, spec.hyper, static={"num_labelers": 4}
    )
    found = fitted.log_likelihood()
    assert found.shape == (1200, 300)
    np.testing.assert_allclose(found[::50], rows[:, data.row_of_sample], rtol=1e-10)
    z, pi, psi = fitted.labels.to_matrix(), fitted.run.flat("prior"), fitted.run.flat("matrices")
    for i in (0, 7):
        joint = pi.copy()
        for t in range(4):
            joint = joint * psi[:, t, :, z[i, t]]
        posterior = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        np.testing.assert_allclose(fitted.class_posterior[i], posterior, rtol=1e-9)
    np.testing.assert_allclose(fitted.mean_matrices, psi.mean(axis=0), rtol=1e-9)


def test_second_data_set_compiles_nothing(fitted):
    labels, _ = crowd(1)
    program = _nuts.program(
        bayes.dawid_skene,
        (("num_labelers", 4),),
        _nuts.Settings(200, 100, "vectorized", 0.8, 10, 0.5, False),
    )
    assert len(program.compiled) == 2
    bayes.fit_bayes(labels, key=jax.random.key(0), **OPTIONS)
    assert len(program.compiled) == 2
    assert fitted.agreement.p_value >= 0.01


@pytest.mark.slow
def test_a_labeler_who_copies_another_one_is_noticed():
    """With 4 labelers 9 parameters explain 6 agreements and nothing is seen; 7 have 21 against 15."""
    rng = np.random.default_rng(2)
    y = (rng.random(300) < 0.4).astype(int)
    z = np.where(rng.random((300, 7)) < 0.75, y[:, None], 1 - y[:, None])
    z[:, 1] = np.where(rng.random(300) < 0.9, z[:, 0], z[:, 1])
    copied = bayes.fit_bayes(Labels.from_matrix(z, 2), key=jax.random.key(0), **OPTIONS)
    assert copied.agreement.p_value < 0.01
    assert "do not agree as this model says" in " ".join(copied.warnings)


def test_agreement_counts_pairs(fitted):
    z, found = fitted.labels.to_matrix(), fitted.agreement
    np.testing.assert_array_equal(found.pair, list(itertools.combinations(range(4), 2)))
    np.testing.assert_array_equal(found.shared, 300)
    np.testing.assert_array_equal(found.agreed, [(z[:, s] == z[:, t]).sum() for s, t in found.pair])
    # The mean of 200 simulated counts against the mean over draws of 300 sum_c pi_c sum_k psi_s psi_t.
    pi, psi = fitted.run.flat("prior"), fitted.run.flat("matrices")
    for (s, t), mean, sd in zip(found.pair, found.expected, found.sd, strict=True):
        exact = 300 * np.einsum("dc,dck,dck->d", pi, psi[:, s], psi[:, t]).mean()
        assert abs(mean - exact) < 5 * sd / np.sqrt(200)


def test_agreement_without_pairs_has_no_verdict(fitted):
    alone = Labels.from_matrix(np.array([[0, -1], [-1, 1], [1, -1]]), 2)
    samples = {
        name: values[:, :, :2] if name == "matrices" else values
        for name, values in fitted.run.samples.items()
    }
    found = labeler_agreement(
        SPECS["dawid_skene"].channel,
        samples,
        alone,
        prepare("dawid_skene", 2, 1, None).hyper,
        jax.random.key(0),
    )
    assert np.isnan(found.p_value) and found.sentence() is None


def test_start_in_the_mirror_image_is_caught(fitted):
    mirror = {"prior": np.array([0.6, 0.4]), "matrices": np.tile([[0.1, 0.9], [0.9, 0.1]], (4, 1, 1))}
    switched = bayes.fit_bayes(fitted.labels, key=jax.random.key(0), init=mirror, **OPTIONS)
    assert switched.switching.switched and not switched.usable
    assert "Class labels have switched" in " ".join(switched.warnings)
    assert not fitted.switching.switched


def test_prior_simulation_has_the_shapes_and_the_means():
    sizes = {"num_samples": 6, "num_labelers": 2, "num_classes": 3}
    drawn = bayes.simulate_from_prior("one_coin", key=jax.random.key(0), num=2000, **sizes)
    assert drawn["label"].shape == (2000, 6, 2) and drawn["label"].min() == 0 and drawn["label"].max() == 2
    assert drawn["accuracy"].shape == (2000, 2)
    # accuracy ~ Beta(2, 1): mean 2/3, variance 1/18; two labelers agree when both are right, or err alike.
    assert abs(drawn["accuracy"].mean() - 2 / 3) < 5 * np.sqrt(1 / 18 / 4000)
    same = (drawn["label"][..., 0] == drawn["label"][..., 1]).mean(axis=1)
    assert abs(same.mean() - (4 / 9 + 1 / 9 / 2)) < 5 * same.std() / np.sqrt(2000)
    assert blank_rows(6, 2).labeler.shape == (6, 2)


def test_bad_input():
    labels, key = Labels.from_matrix(Z, CLASSES), jax.random.key(0)
    with pytest.raises(ValueError, match="model must be one of 'dawid_skene'"):
        bayes.fit_bayes(labels, key=key, model="welinder")
    with pytest.raises(ValueError, match="no prior setting 'accuracy'; it has class_concentration, row"):
        bayes.fit_bayes(labels, key=key, hyper={"accuracy": (2, 1)})
    with pytest.raises(ValueError, match=r"has shape \(2, 2\); give \(3, 3\)"):
        bayes.fit_bayes(labels, key=key, hyper={"row_concentration": np.ones((2, 2))})
    with pytest.raises(ValueError, match="not finite"):
        bayes.fit_bayes(labels, key=key, hyper={"class_concentration": np.nan})
    with pytest.raises(ValueError, match="needs a key"):
        bayes.fit_bayes(labels, key=None)
    nothing = Labels(labels.sample[:0], labels.labeler[:0], labels.label[:0], 5, 3, 3)
    with pytest.raises(ValueError, match="no label at all"):
        bayes.fit_bayes(nothing, key=key)


@pytest.mark.slow
@pytest.mark.parametrize("model", bayes.MODELS)
def test_every_model_finds_the_classes(model):
    z, y = crowds.simulate(0, size=200, labelers=5, classes=3, accuracy=0.75, present=1.0)
    fit = bayes.fit_bayes(Labels.from_matrix(z, 3), key=jax.random.key(0), model=model)
    assert (fit.class_posterior.argmax(axis=1) == y).mean() > 0.85
    assert fit.usable and fit.run.divergences == 0
    np.testing.assert_allclose(fit.prior, np.bincount(y) / 200, atol=0.1)
    np.testing.assert_allclose(
        np.einsum("tcc->t", fit.mean_matrices) / 3, (z == y[:, None]).mean(axis=0), atol=0.1
    )
    np.testing.assert_allclose(fit.mean_matrices.sum(axis=2), 1)


@pytest.mark.slow
def test_one_label_a_sample_is_not_identified():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = bayes.fit_bayes(
            Labels.from_matrix(np.array([[0], [1], [1], [0], [1]]), 2),
            key=jax.random.key(0),
            model="one_coin",
            **OPTIONS,
        )
    assert not fit.identified and "Not identified" in fit.warnings[0]


@pytest.mark.slow
def test_anaesthetists_as_in_rater():
    # README of the R package rater (Stan): its prior, its posterior mean of pi, itself with ~1e-3 of error.
    rows = np.where(np.eye(4) > 0, 8 * 0.6, 8 * 0.4 / 3)
    fit = bayes.fit_bayes(
        crowds.anaesthetists(),
        key=jax.random.key(0),
        hyper={"class_concentration": 3.0, "row_concentration": rows},
        num_warmup=1000,
        num_samples=4000,
    )
    assert fit.converged and fit.usable
    error = mean_error(fit.run.samples["prior"])
    print(fit.prior, error)
    assert (np.abs(fit.prior - [0.3756, 0.4073, 0.1432, 0.0738]) < 3 * error + 1e-3).all()


def test_ability_of_zero_is_chance():
    spec = prepare("item_difficulty", 3, 1, None)
    p = {"prior": np.ones(3) / 3, "ability": np.array([0.0, 2.0])}
    channel = SPECS["item_difficulty"].channel(jax.tree.map(jax.numpy.asarray, p), spec.hyper, 2)
    np.testing.assert_allclose(np.exp(channel.log_table[0]), 1 / 3)
    right = expit(2 * np.exp(spec.hyper["log_easiness"]) - np.log(2))
    np.testing.assert_allclose(np.exp(channel.log_table[1, 0, 0]), right)
