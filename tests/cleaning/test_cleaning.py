"""The cleaning loop: strategies against plain loops, influence against retraining, files, and bad input."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import spearmanr

import jtruth as jt
from jtruth.cleaning import (
    LinearLearner,
    SklearnLearner,
    answer,
    ask,
    clean,
    influence,
    start,
    stopping_advice,
)
from jtruth.cleaning.expected_fall import best_batch, class_chances, possible_evidence, twin, worth
from jtruth.cleaning.loop import STRATEGIES, chance_of_flip, label_posterior
from jtruth.cleaning.request import queue
from jtruth.cleaning.state import read_state, write_state

OTHERS = (("labels", "risk"), ("ml", "emi"))
N, A, B = 90, 0.4, 0.1
NOISE, PRIOR = jt.noise.ConfusionMatrices([[[1 - A, A], [B, 1 - B]]]), [0.5, 0.5]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    x = rng.standard_normal((N, 2)) + np.outer(y, [2.5, 0])
    z = np.where(rng.random(N) < np.where(y == 1, B, A), 1 - y, y)
    return x, y, jt.Labels.from_matrix(z[:, None], 2)


@pytest.fixture(scope="module")
def naive(data):
    x, _, labels = data
    return start(x, labels, NOISE, PRIOR, learner=LinearLearner("labels"), strategy="emi", validation=1 / 3)


@pytest.fixture(scope="module")
def aware(data):
    x, _, labels = data
    return {kind: start(x, labels, NOISE, PRIOR, learner=LinearLearner(kind)) for kind in ("mmse", "ml")}


def scores(state, name):
    return STRATEGIES[name](0, state)


def standard(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def sklearn_fit(x, label):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(x, label)


def test_the_linear_learner_of_labels_is_scikit_learns_of_standardised_features(naive, data):
    x, train, label = data[0], ~naive.validation, naive.consolidated.label
    model = sklearn_fit(standard(x)[train], label[train])
    np.testing.assert_allclose(naive.model.weights * x.std(axis=0), model.coef_[0], atol=1e-5)
    expected = model.predict_proba(standard(x))
    np.testing.assert_allclose(naive.learner.probabilities(naive.model, x), expected, atol=1e-5)


UNITS = {"as they are": (1.0, 0.0), "small": (1e-9, 3e-9), "large, far from 0": (-2e7, 5e9)}


@pytest.mark.parametrize("unit", [*UNITS])
@pytest.mark.parametrize("classes", [2, 3])
def test_units_of_features_change_no_prediction(unit, classes):
    """Nor do columns that are constant, which have no weight; the weights are in the user's units."""
    rng, (scale, shift) = np.random.default_rng(7), UNITS[unit]
    y = rng.integers(0, classes, N)
    x = np.column_stack([rng.normal(2 * y, 1), rng.integers(0, 17, N) * (y > 0), rng.standard_normal(N)])
    labels, noise = jt.Labels.from_matrix(y[:, None], classes), jt.noise.Symmetric(0.2, classes)
    prior = [1 / classes] * classes
    other = np.column_stack([np.full(N, 0.1), x * [scale, -3.0, 1.0] + [shift, 0.7, 0.0], np.full(N, 0.0)])
    plain, moved = (start(features, labels, noise, prior) for features in (x, other))
    chances = [state.learner.probabilities(state.model, state.x) for state in (plain, moved)]
    np.testing.assert_allclose(chances[1], chances[0], atol=2e-6)
    w = moved.model.weights
    np.testing.assert_allclose(w[[1, 2, 3]].T * [scale, -3.0, 1.0], plain.model.weights.T, atol=2e-5)
    np.testing.assert_array_equal(w[[0, 4]], 0.0)
    risk = [scores(state, "risk") for state in (plain, moved)]
    np.testing.assert_allclose(risk[1], risk[0], atol=1e-6 * np.abs(risk[0]).max())
    rows, new = np.array([0, 1]), np.array(plain.evidence[[3, 4]])
    again = [
        s.learner.predictions(s.learner.retrain(s.model, s.x, s.evidence, ~s.validation, rows, new), s.x)
        for s in (plain, moved)
    ]
    np.testing.assert_array_equal(*again)


def test_chance_of_a_flip_is_bayes(naive, golden):
    for case in golden("tars_estimators")["cases"]:
        if case["kind"] != "estimate":
            continue
        label = (np.array(case["yp"]) > 0).astype(int)
        a, b = np.array(case["a"]), np.array(case["b"])
        rates = np.stack([np.stack([1 - a, a], -1), np.stack([b, 1 - b], -1)], -2)
        given = naive.noisy._replace(label=label, rates=rates, prior=np.array([0.6, 0.4]))
        state = naive._replace(noisy=given)
        np.testing.assert_allclose(chance_of_flip(state), case["p_flip_prior04"], atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emi", "emi_split"])
def test_emi_is_a_loop_of_scikit_learn_fits(naive, data, name):
    """(16)-(21) as plain loops: flip, refit, count by (7)."""
    x, train, label = standard(data[0]), ~naive.validation, naive.consolidated.label
    on = naive.validation if name == "emi_split" else np.ones(N, bool)
    w = np.where(label == 1, (1 - A) / (1 - A - B), -A / (1 - A - B))  # (7): weight of class 1

    def accuracy(model, known=None):
        predicted = model.predict(x)
        each = np.where(predicted == 1, w, 1 - w)
        if known is not None:
            each[known[0]] = predicted[known[0]] == known[1]
        return each[on].mean()

    now = accuracy(sklearn_fit(x[train], label[train]))
    posterior, found = label_posterior(naive), scores(naive, name)
    for i in np.flatnonzero(train)[:12]:
        flipped = label.copy()
        flipped[i] = 1 - label[i]
        model = sklearn_fit(x[train], flipped[train])
        then = accuracy(model, (i, flipped[i]) if name == "emi" else None)
        np.testing.assert_allclose(found[i], posterior[i, flipped[i]] * (then - now), atol=1e-9)
    assert np.isneginf(found[~train]).all()


@pytest.mark.slow
def test_the_paper_s_tars_is_uncertainty_sampling(naive):
    """sigmoid(EMI) is one half within a percent, so (22) orders as the model's uncertainty does."""
    emi, tars, unsure = (scores(naive, n) for n in ("emi_split", "emi_split_uncertainty", "uncertainty"))
    open_ = naive.open
    np.testing.assert_allclose(tars[open_], unsure[open_] / (1 + np.exp(-emi[open_])), rtol=1e-12)
    assert spearmanr(tars[open_], unsure[open_]).statistic > 0.999


@pytest.mark.slow
def test_masked_leaves_out_labels_that_cannot_be_wrong(data):
    x, y, _ = data
    one_sided = jt.noise.ConfusionMatrices([[[0.6, 0.4], [0.0, 1.0]]])
    z = np.where((y == 0) & (np.arange(N) % 3 == 0), 1, y)
    state = start(x, jt.Labels.from_matrix(z[:, None], 2), one_sided, PRIOR, learner=LinearLearner("labels"),
                  strategy="masked_tars", validation=1 / 3)  # fmt: skip
    request = ask(state, 5)
    assert (z[request.samples] == 1).all() and not state.validation[request.samples].any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "mmse", "ml"])
def test_influence_ranks_as_retraining_does(naive, aware, kind):
    """The fall of the believed risk, exactly: a model for every sample and answer."""
    state = {"labels": naive, **aware}[kind]
    learner, used = state.learner, ~state.validation
    rows, outcome, chance = np.flatnonzero(state.open), possible_evidence(state), class_chances(state)
    believed = state.evidence if kind == "ml" else chance

    @jax.jit
    @jax.vmap
    def risk(model, evidence):
        losses = jax.vmap(learner.sample_loss, in_axes=(None, 0, 0))(model, jnp.asarray(state.x), evidence)
        mean = jnp.where(jnp.asarray(used), losses, 0).sum() / float(used.sum())
        return mean + learner.penalty(model, float(used.sum()))

    exact, same = (np.zeros(rows.size), jax.tree.map(lambda v: np.repeat(v[None], rows.size, 0), state.model))
    for k in range(2):
        new = outcome[rows, k]
        fits = learner.retrain(state.model, state.x, state.evidence, used, rows, new)
        evidence = np.repeat(believed[None], rows.size, 0)
        evidence[np.arange(rows.size), rows] = new
        exact += chance[rows, k] * np.asarray(risk(same, evidence) - risk(fits, evidence))
    falls = influence(state).falls[rows]
    assert spearmanr(falls, exact).statistic > 0.95
    assert 0.9 < np.median(falls / exact) < 1.35  # one step of 60 or 90 samples goes a little too far


@pytest.mark.slow
def test_a_learner_of_labels_is_judged_by_its_twin(naive, aware):
    """What it is wrong by is the gradient of the risk that the twin believes; one that knows has no gap."""
    learner, used, chance = naive.learner, ~naive.validation, class_chances(naive)
    model, x = learner.standard(naive.model, naive.x)

    def risk(intercept, weights):
        fitted = type(model)(intercept, weights)
        losses = jax.vmap(learner.sample_loss, in_axes=(None, 0, 0))(fitted, x[used], chance[used])
        return losses.mean() + learner.penalty(fitted, float(used.sum()))

    found, slopes = influence(naive), jax.grad(risk, (0, 1))(*map(jnp.asarray, model))
    np.testing.assert_allclose(found.gap, np.concatenate([slopes[0][None], slopes[1]]), atol=1e-6)
    assert np.abs(found.gap).max() > 0.1  # one-sided noise pulls the intercept
    np.testing.assert_array_equal(influence(aware["ml"]).gap, 0)
    wrong = chance[np.arange(N), 1 - naive.consolidated.label][naive.open]
    falls = found.falls[naive.open]
    assert falls[wrong > 0.3].mean() > 10 * abs(falls[wrong < 0.1].mean())


@pytest.mark.slow
def test_probabilities_of_another_model_say_what_to_expect(naive, data):
    """The twin's own change nothing; of the true classes only wrong labels are worth an answer."""
    x, y, labels = data
    kept = naive.validation

    def begun(probabilities):
        return start(x, labels, NOISE, PRIOR, learner=LinearLearner("labels"), validation=kept,
                     probabilities=probabilities)  # fmt: skip

    wise = twin(naive)
    own = begun(wise.learner.probabilities(wise.model, x))
    np.testing.assert_allclose(influence(own).falls, influence(naive).falls, atol=1e-15)
    knows = begun(np.eye(2)[y])
    falls, right = influence(knows).falls, naive.consolidated.label == y
    np.testing.assert_allclose(falls[right], 0, atol=1e-12)
    assert falls[~right & naive.open].max() > 0
    assert len({s.digest for s in (naive, own, knows)}) == 3
    asked = ask(knows)
    i, other = int(asked.samples[0]), int(1 - y[asked.samples[0]])
    np.testing.assert_array_equal(class_chances(answer(asked.state, {i: other}))[i], np.eye(2)[other])
    for match, given in (
        (r"it must be \(90 samples, 2 classes\)", np.ones(N)),
        (r"probabilities\[0\] sums to 2", np.ones((N, 2))),
    ):
        with pytest.raises(ValueError, match=match):
            begun(given)
    sure = jt.noise.Symmetric(0.0, 2)
    with pytest.raises(ValueError, match=r"probabilities\[\d+\] is 0 for every class that its labels"):
        start(x, labels, sure, PRIOR, probabilities=np.eye(2)[1 - y])


@pytest.mark.slow
def test_blocks_of_retrained_copies_are_the_copies(naive, data):
    """90 copies in two blocks, the last of which is filled up, against other blocks and scikit-learn."""
    label, everywhere = naive.consolidated.label, np.ones(N, bool)
    given, new, sd = np.eye(2)[label], np.eye(2)[1 - label], data[0].std(axis=0)
    before, rows = naive.learner.fit(data[0], given, everywhere)[0], np.arange(N)
    whole = naive.learner.retrain(before, data[0], given, everywhere, rows, new)
    assert whole.weights.shape == (N, 2)
    back = naive.learner.retrain(before, data[0], given, everywhere, rows[::-1], new[::-1])
    np.testing.assert_allclose(back.weights[::-1], whole.weights, atol=1e-9)
    for i in (0, 63, 64, 89):
        model = sklearn_fit(standard(data[0]), np.where(rows == i, 1 - label, label))
        np.testing.assert_allclose(whole.weights[i] * sd, model.coef_[0], atol=1e-5)


@pytest.mark.slow
def test_a_far_sample_may_change_its_class(naive, data):
    """One sample far out on its own side: a full Newton step from the fit without the flip goes too far."""
    x, label = data[0].copy(), naive.consolidated.label
    learner, given, everywhere = naive.learner, np.eye(2)[label], np.ones(N, bool)
    far = int(np.argmax(label == 1))
    x[far] = [15.0, 15.0]
    before = learner.fit(x, given, everywhere)[0]
    after = learner.retrain(before, x, given, everywhere, np.array([far]), np.eye(2)[[0]])
    flipped = np.where(np.arange(N) == far, 0, label)
    model = sklearn_fit(standard(x), flipped)
    np.testing.assert_allclose(after.weights[0] * x.std(axis=0), model.coef_[0], atol=1e-5)


def test_logistic_likelihood_has_the_closed_form(aware):
    """p(1 - p) x' H^-1 x / (2 N^2)."""
    state, found = aware["ml"], influence(aware["ml"])
    p = class_chances(state)[:, 1]
    x = np.column_stack([np.ones(N), state.learner.standard(state.model, state.x)[1]])
    leverage = np.einsum("np,pq,nq->n", x, found.inverse, x)
    np.testing.assert_allclose(found.falls, p * (1 - p) * leverage / (2 * N**2), rtol=1e-8)


def test_a_batch_sees_its_overlap(aware):
    """Two copies of the best sample: the greedy batch does not spend itself on both."""
    state = aware["ml"]
    found = influence(state)
    alone = np.argsort(-found.falls)
    rows = [alone[0]] * 40 + list(alone[1:20])
    of_samples = ("slopes", "aimed", "inputs", "chance", "gradients")
    twice = replace(found, **{name: getattr(found, name)[rows] for name in of_samples})
    chosen = best_batch(twice, np.ones(59), 12)
    assert chosen[0] < 40 and sum(c >= 40 for c in chosen) >= 1
    assert best_batch(found, np.ones(N), 1) == [alone[0]]


def test_a_batch_is_that_of_a_hessian_inverted_anew(naive, aware):
    """Greedy by brute force: after each choice H + N E[g g'] and the gap, and all falls from these."""
    for state in (naive, aware["ml"]):
        found, size = influence(state), int((~state.validation).sum())
        hessian, gap, free = np.linalg.pinv(found.inverse, 1e-9, hermitian=True), found.gap.copy(), state.open
        chosen, mean = [], np.einsum("ik,ikp->ip", found.chance, found.changes)
        aims = np.einsum("ik,ikp->ip", found.chance, found.aims)
        for _ in range(8):
            inverse = np.linalg.pinv(hessian, 1e-9, hermitian=True)
            toward = (gap - aims)[:, None, :] + found.aims - 0.5 * found.changes
            falls = np.einsum("ik,ikp,pq,ikq->i", found.chance, toward, inverse, found.changes)
            if not chosen:
                np.testing.assert_allclose(found.falls, falls, rtol=1e-6, atol=1e-14)
            chosen.append(int(np.argmax(np.where(free, falls, -np.inf))))
            free, gap, g = (
                free & (np.arange(N) != chosen[-1]),
                gap - mean[chosen[-1]],
                found.changes[chosen[-1]],
            )
            hessian = hessian + size * np.einsum("k,kp,kq->pq", found.chance[chosen[-1]], g, g)
        assert best_batch(found, state.open.astype(float), 8) == chosen
        assert best_batch(found, state.open.astype(float), 5) == chosen[:5]  # of the batch that is known


def test_a_fall_below_zero_is_the_worse_the_more_it_costs():
    assert worth(np.array([2.0, -2.0, -2.0]), 1 / np.array([2.0, 2.0, 0.5])).tolist() == [1, -4, -1]


def test_costs_and_an_oracle_that_errs_change_what_is_asked(data):
    x, _, labels = data
    plain = start(x, labels, NOISE, PRIOR)
    first = ask(plain).samples[0]
    costs = np.where(np.arange(N) == first, 100.0, 1.0)
    assert ask(start(x, labels, NOISE, PRIOR, costs=costs)).samples[0] != first
    erring = start(x, labels, NOISE, PRIOR, oracle=jt.noise.Symmetric(0.3, 2))
    assert (influence(erring).falls <= influence(plain).falls + 1e-12).all()
    i = int(ask(erring).samples[0])
    after = answer(ask(erring).state, {i: 1})
    np.testing.assert_allclose(after.log_likelihood[i] - erring.log_likelihood[i], np.log([0.3, 0.7]))


OTHER = {"emi_split_uncertainty", "emi_split", "emi", "masked_tars"}  # test_recipe asks by emi


@pytest.mark.parametrize(
    "name", [pytest.param(s, marks=[pytest.mark.slow] * (s in OTHER)) for s in STRATEGIES]
)
def test_every_strategy_cleans_and_follows(naive, data, name):
    x, y, _ = data
    state = clean(naive._replace(strategy=name), lambda i: int(y[i]), 4, batch=2, truth=(x, y))
    assert [number for number, *_ in state.trail] == [0, 2, 4]
    assert all(state.consolidated.label[sample] == y[sample] for sample, _ in state.answers)
    assert len({sample for sample, _ in state.answers}) == 4


@pytest.mark.parametrize("strategy", ["random", "risk"])
def test_a_resumed_run_asks_the_same(tmp_path, data, strategy):
    x, y, labels = data

    def fresh():
        return start(x, labels, NOISE, PRIOR, strategy=strategy, seed=3)

    def go(state, steps):
        for _ in range(steps):
            request = ask(state, 2)
            state = answer(request.state, {int(i): int(y[i]) for i in request.samples})
        return state

    whole = go(fresh(), 4)
    half = ask(go(fresh(), 2), 2)
    write_state(tmp_path / "s.json", half.state)
    resumed = read_state(tmp_path / "s.json", fresh())
    assert resumed.pending == half.state.pending
    resumed = go(answer(resumed, {int(i): int(y[i]) for i in half.samples}), 1)
    assert resumed.answers == whole.answers and resumed.trail == whole.trail
    np.testing.assert_array_equal(resumed.model.weights, whole.model.weights)

    with pytest.raises(ValueError, match=r"a state of other data \(digest\)"):
        read_state(tmp_path / "s.json", start(x + 1, labels, NOISE, PRIOR, strategy=strategy, seed=3))
    with pytest.raises(ValueError, match="a state of other strategy"):
        read_state(tmp_path / "s.json", fresh()._replace(strategy="emi"))
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be used as the state of a cleaning"):
        read_state(tmp_path / "bad.json", fresh())


@pytest.mark.slow
def test_other_learners(data):
    from sklearn.naive_bayes import GaussianNB

    x, y, labels = data
    given = start(x, labels, NOISE, PRIOR, learner=SklearnLearner(GaussianNB()), strategy="uncertainty")
    state = clean(given, lambda i: int(y[i]), 2)
    assert (SklearnLearner(GaussianNB()).probabilities(state.model, x).argmax(1) == y).mean() > 0.7


def test_stopping_advice_falls_silent_where_everything_is_known(data, aware):
    x, y, _ = data
    doubtful = stopping_advice(aware["ml"], 20)
    assert doubtful.low <= doubtful.gain <= doubtful.high and "checks change accuracy" in doubtful.sentence
    sure = start(x, jt.Labels.from_matrix(y[:, None], 2), jt.noise.Symmetric(0.001, 2), PRIOR)
    advice = stopping_advice(sure, 20)
    assert not advice.worth_it and advice.sentence.startswith("More cleaning is not worthwhile")
    assert abs(advice.gain) < 0.002


def test_a_learner_that_ignores_noise_is_not_taken_at_its_word(data):
    """One-sided noise: cleaning a model of raw labels is worth points, and the advice says so."""
    x, y, _ = data
    z = np.where((y == 0) & (np.random.default_rng(5).random(N) < 0.45), 1, y)
    noise = jt.noise.ConfusionMatrices([[[0.55, 0.45], [0.0, 1.0]]])
    labels = jt.Labels.from_matrix(z[:, None], 2)
    state = start(x, labels, noise, PRIOR, learner=LinearLearner("labels"))
    advice = stopping_advice(state, 20)
    assert advice.worth_it and advice.gain > 5 * advice.error


def test_a_class_that_no_label_alone_makes_probable_is_still_cleaned(data):
    """Of 90 labels some say 1, but most of these are wrong: no split, so nothing is missing from one."""
    from sklearn.linear_model import LogisticRegression

    x, _, labels = data
    noise = jt.noise.ConfusionMatrices([[[0.78, 0.22], [0.56, 0.44]]])
    state = start(x, labels, noise, [0.72, 0.28], strategy="wrong_label")
    assert not state.consolidated.label.any() and labels.label.any()
    chances = np.tile([0.9, 0.1], (N, 1))  # whoever is labelled 1 is probably wrong
    asked = ask(start(x, labels, noise, [0.72, 0.28], strategy="wrong_label", probabilities=chances), 5)
    given = labels.label[np.argsort(labels.sample)]
    assert given[asked.samples].all() and all(text.startswith("label: 1") for text in asked.reasons)
    assert ask(state, 5).samples.size == 5 and np.isfinite(stopping_advice(state, 5).gain)
    with pytest.raises(ValueError, match="a class has no sample to learn from"):
        start(x, labels, noise, [0.72, 0.28], learner=SklearnLearner(LogisticRegression(), "labels"))


def test_bad_input(data, naive, aware, tmp_path):
    x, y, labels = data
    hole = np.where(np.arange(2 * N).reshape(N, 2) == 7, np.nan, x)
    contradiction = jt.Labels.from_matrix(np.array([[0, 1]] * N), 2)
    for match, options in {
        "strategy must be one of": {"strategy": "best"},
        r"costs\[0\] is 0.0; give prices of 90 samples, above 0": {"costs": np.zeros(N)},
        "validation part has no sample labelled": {"validation": naive.consolidated.label == 1},
        "validation is 1.5; give a share": {"validation": 1.5},
        "a share or 90 booleans": {"validation": np.ones(3, bool)},
        "oracle must be a noise model of one labeler": {"oracle": jt.noise.Symmetric(0.1, 3)},
    }.items():
        with pytest.raises(ValueError, match=match):
            start(x, labels, NOISE, PRIOR, **options)
    sure = start(x, jt.Labels.from_matrix(y[:, None], 2), jt.noise.Symmetric(0.0, 2), PRIOR)
    never_wrong = ask(sure)
    i = int(never_wrong.samples[0])
    write_state(tmp_path / "s.json", aware["ml"]._replace(answers=((900, 1),)))
    for match, call in {
        r"x\[3, 1\] is nan": lambda: start(hole, labels, NOISE, PRIOR),
        r"it must be \(90 samples, features\)": lambda: start(x[:5], labels, NOISE, PRIOR),
        "impossible under every class": lambda: start(x, contradiction, jt.noise.Symmetric(0.0, 2), PRIOR),
        "prior is": lambda: start(x, labels, NOISE, [1.0, 0.0]),
        "contradicts labelers with error rate 0": lambda: answer(never_wrong.state, {i: int(1 - y[i])}),
        r"answers for samples.*900": lambda: read_state(tmp_path / "s.json", aware["ml"]),
        "num is 91, but 90 samples": lambda: stopping_advice(aware["ml"], N + 1),
        "budget is 91, but 90 samples are left": lambda: clean(aware["ml"], lambda i: 0, N + 1),
        "was never asked for": lambda: answer(aware["ml"], {3: 1}),
        "there is no sample": lambda: answer(aware["ml"], {900: 1}),
        r"classes are 0\.\.1": lambda: answer(ask(aware["ml"]).state, {int(ask(aware["ml"]).samples[0]): 2}),
        "samples are left to ask for": lambda: ask(aware["ml"], N + 1),
        "needs held-out samples": lambda: ask(aware["ml"]._replace(strategy="emi_split")),
    }.items():
        with pytest.raises(ValueError, match=match):
            call()
    request = ask(aware["ml"])
    once = answer(request.state, {int(request.samples[0]): 1})
    assert answer(once, {int(request.samples[0]): 1}).answers == once.answers
    with pytest.raises(ValueError, match="was answered 1 before and 0 now"):
        answer(once, {int(request.samples[0]): 0})


def test_a_learner_that_does_not_converge_is_a_sentence(data, aware, tmp_path):
    class Never(LinearLearner):
        def fit(self, *args):
            return super().fit(*args)[0], False

    request = ask(aware["ml"])
    assert not request.state.doubts
    stuck = request.state._replace(learner=Never("ml"))
    after = answer(stuck, {int(request.samples[0]): 1})
    (doubt,) = after.doubts
    assert doubt.startswith("Never did not converge after 1 answer, so its probabilities are rough.")
    write_state(tmp_path / "a.state", after)
    fresh = aware["ml"]._replace(learner=stuck.learner)
    assert read_state(tmp_path / "a.state", fresh).doubts == after.doubts
    (warned,) = (b for b in queue(after, 3).blocks if getattr(b, "name", "") == "warnings")
    assert [note.text for note in warned.items] == [doubt]


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [("ml", "risk"), *(pytest.param(*p, marks=pytest.mark.slow) for p in (("labels", "emi"), *OTHERS))],
)
def test_three_classes(kind, strategy):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, N)
    x = rng.standard_normal((N, 2)) + 2.5 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    z = np.where(rng.random(N) < 0.3, rng.integers(0, 3, N), y)
    labels, noise = jt.Labels.from_matrix(z[:, None], 3), jt.noise.Symmetric(0.2, 3)
    state = start(x, labels, noise, [1 / 3] * 3, learner=LinearLearner(kind), strategy=strategy)
    done = clean(state, lambda i: int(y[i]), 2, truth=(x, y))
    assert len(done.answers) == 2 and done.trail[-1][2] > 0.6


def test_evidence_is_what_the_kind_of_learner_makes_of_labels():
    """The posterior has the prior once, on the side of the frequent class; by hand, two samples."""
    log_p, prior, label = np.log([[0.8, 0.2], [0.5, 0.5]]), np.array([0.9, 0.1]), np.array([0, 1])
    expected = {"mmse": [[36 / 37, 1 / 37], prior], "ml": log_p, "labels": np.eye(2)}
    for kind, evidence in expected.items():
        np.testing.assert_allclose(LinearLearner(kind).evidence(log_p, prior, label), evidence, rtol=1e-12)
