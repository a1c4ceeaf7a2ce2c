"""The Gibbs sampler against enumeration of all state vectors, and its robustness."""

import itertools

import jax
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from jtruth._host import diagonal_rows
from jtruth.labels import Labels
from jtruth.latent import Digest, Effort, Progress, run_gibbs
from jtruth.latent.infer import kernel
from jtruth.latent.model import Observed
from jtruth.latent.rows import label_columns, merge_samples, prediction_columns
from jtruth.latent.walk import diagnose
from jtruth.learning.em.dawid_skene import Smoothing, fit_dawid_skene
from jtruth.learning.joint import models
from jtruth.learning.joint.models import partly_shared
from jtruth.stats.chains import mean_error
from tests.learning import crowds
from tests.learning.crowds import dirichlet_multinomial

ERRORS = 5.0  # Monte Carlo errors that a mean may be off: each comparison fails by chance in 6e-7
EFFORT = Effort(min_sweeps=16_000, max_sweeps=16_000, max_rhat=2.0, min_ess=10.0)


NODES = [(x + 1) / 2 if k == 0 else x / 2 for k, x in enumerate(np.polynomial.legendre.leggauss(60))]


def pooled_rows(counts, group):
    """Log of the mean over G of the product over raters; two symbols, quadrature."""
    x, w = NODES
    a, b = group.common_prior.T
    total = 0.0
    for r in range(counts.shape[1]):
        log_g = (a[r] - 1) * np.log(x) + (b[r] - 1) * np.log1p(-x)
        log_g += gammaln(a[r] + b[r]) - gammaln(a[r]) - gammaln(b[r])
        mean = group.strength * np.stack([x, 1 - x], axis=1)  # (nodes, symbols)
        for n in counts[:, r]:
            log_g = log_g + gammaln(group.strength) - gammaln(group.strength + n.sum())
            log_g = log_g + (gammaln(mean + n) - gammaln(mean)).sum(axis=1)
        total += logsumexp(log_g, b=w)
    return total


def enumerated(model, symbols, offset):
    """All state vectors of the samples, not merged, and the log of p(everything seen, states)."""
    states, size = offset.shape
    vectors = np.array(list(itertools.product(range(states), repeat=size)))
    log_p = np.empty(len(vectors))
    for k, s in enumerate(vectors):
        y = model.state_class[s]
        value = offset[s, np.arange(size)].sum()
        if model.class_fixed:
            value += np.log(model.class_prior[y]).sum()
        else:
            value += dirichlet_multinomial(np.bincount(y, minlength=model.num_classes), model.class_prior)
        stratum = np.zeros((len(model.stratum_prior), model.num_strata))
        np.add.at(stratum.ravel(), model.state_weight[s], 1)
        value += dirichlet_multinomial(stratum, model.stratum_prior)
        for group, seen in zip(model.raters, symbols, strict=True):
            raters, rows, width = group.prior.shape
            counts = np.zeros((raters, rows, width))
            used = group.row_of_state[s] >= 0
            given = seen.toarray().reshape(size, raters, width)[used]
            np.add.at(counts.transpose(1, 0, 2), group.row_of_state[s][used], given)
            pooled = group.strength > 0
            value += pooled_rows(counts, group) if pooled else dirichlet_multinomial(counts, group.prior)
        log_p[k] = value
    return vectors, log_p


def keep_everything(draws):
    return dict(draws), {"none": draws["table0"][..., :0]}


def tiny(seed, size, labelers, classes, symbols=None):
    """A few samples on which raters are often wrong, so that the posterior is wide."""
    rng = np.random.default_rng(seed)
    z, _ = crowds.simulate(seed, size=size, labelers=labelers, classes=classes, accuracy=0.6, present=0.85)
    z[(z < 0).all(axis=1), 0] = 0
    y_pred = rng.integers(0, symbols or classes, size)
    return crowds.from_matrix(z, classes), y_pred


MODELS = models.MODELS | {"partly_shared": partly_shared}


def build(name, labels, y_pred, *, gold=None, symbols=None, prior=None, alpha=1.0):
    classes = labels.num_classes
    symbols = symbols or classes
    row = diagonal_rows(classes, 2, 1)
    classifier = row if symbols == classes else np.ones((classes, symbols))
    class_prior = np.full(classes, float(alpha)) if prior is None else np.asarray(prior)
    labelers = np.tile(row, (labels.num_labelers, 1, 1))
    base = crowds.one_stratum(class_prior, labelers, classifier, prior is not None)
    rows = merge_samples(labels, y_pred, gold)
    built = MODELS[name](base, rows)
    seen = (label_columns(rows.labels), prediction_columns(rows.y_pred, symbols))
    observed = Observed(seen, rows.multiplicity.astype(float), built.offset, rows.row_of_sample)
    start = np.full(built.offset.shape, 1 / len(built.offset))
    start += np.random.default_rng(0).random(start.shape)
    return built.model, observed, start / start.sum(axis=0)


CASES = {
    "two classes": ("independent", (1, 7, 3, 2), {}),
    "three classes": ("independent", (2, 6, 2, 3), {}),
    "gold": ("independent", (3, 7, 3, 2), {"gold": np.array([1, -1, 0, -1, -1, -1, -1])}),
    "fixed prior": ("independent", (4, 6, 3, 2), {"prior": [0.3, 0.7]}),
    "more symbols than classes": ("independent", (5, 7, 2, 2), {"symbols": 4}),
    "concentrated prior": ("independent", (6, 6, 3, 2), {"alpha": 3.0}),
    "copying": ("copying", (7, 6, 3, 2), {}),
    "shared strata": ("shared_strata", (8, 5, 3, 2), {}),
    "labeler strata": ("labeler_strata", (9, 5, 3, 2), {"gold": np.array([-1, 1, -1, -1, -1])}),
    "partly shared": ("partly_shared", (8, 4, 3, 2), {}),
    "partly shared, other symbols": ("partly_shared", (8, 4, 2, 2), {"symbols": 3}),
}


def by_default(*names):
    """All cases; the others, which are parts of these, are slow."""
    cases = [pytest.param(one, marks=[] if one in names else pytest.mark.slow) for one in CASES]
    return pytest.mark.parametrize("case", cases)


@by_default("three classes", "more symbols than classes", "labeler strata", "partly shared, other symbols")
def test_equal_to_enumeration(case):
    """Tables of states and predictions: their means, and how often a cell is 0, against all S^N vectors.

    A fixed key and 16000 sweeps; about 20 comparisons a case at 5 Monte Carlo errors.
    """
    name, size, options = CASES[case]
    labels, y_pred = tiny(*size, symbols=options.get("symbols"))
    model, observed, start = build(name, labels, y_pred, **options)
    run = run_gibbs(
        model, observed, key=jax.random.key(1), start=start, digest=Digest(keep_everything, ("table1",)),
        effort=EFFORT,
    )  # fmt: skip
    row = observed.row_of_sample
    seen = [s[row] for s in observed.symbols]
    vectors, log_p = enumerated(model, seen, observed.offset[:, row])
    p = np.exp(log_p - logsumexp(log_p))
    table = run.draws["table1"]  # (chains, sweeps, states, symbols)
    onehot = np.eye(table.shape[2])[vectors]  # (vectors, samples, states)
    exact = np.einsum("vis,iu->vsu", onehot, seen[1].toarray())
    for s, u in np.ndindex(table.shape[2:]):
        draws = table[:, :, s, u]
        assert right(draws, p @ exact[:, s, u]), f"state {s}, symbol {u}"
        assert right((draws == 0).astype(float), p @ (exact[:, s, u] == 0)), f"state {s}, symbol {u}: none"
    for s in range(table.shape[2]):
        mean, wanted = run.state_posterior[row, s], p @ (vectors == s)
        # Rao-Blackwellised, so at most as far off as the share of draws would be.
        error = np.sqrt(wanted * (1 - wanted) / np.nanmin(list(run.convergence.ess.values())))
        assert (np.abs(mean - wanted) <= ERRORS * error + 1e-9).all()


def right(draws, wanted):
    """Whether the mean of draws is this number, within its error; of draws that are all equal they are it."""
    error = mean_error(draws)
    return abs(draws.mean() - wanted) <= (2e-4 if np.isnan(error) else ERRORS * error)


def test_start_is_the_em_of_dawid_skene():
    labels = crowds.from_matrix(crowds.simulate(5, size=80, labelers=6, classes=3)[0], 3)
    row = diagonal_rows(3, 2, 1)
    base = crowds.one_stratum(np.ones(3), np.tile(row, (6, 1, 1)))
    rows = merge_samples(labels, None, None)
    built = models.independent(base, rows)
    observed = Observed((label_columns(rows.labels),), rows.multiplicity.astype(float), built.offset, rows[4])
    votes = rows.labels.counts() / rows.labels.counts().sum(axis=1, keepdims=True)
    mode, _ = kernel.em(kernel.flatten(built.model, observed), votes.T, tol=1e-12)
    fit = fit_dawid_skene(labels, smoothing=Smoothing(2.0, 0.5, 1.0), tol=1e-12)
    np.testing.assert_allclose(mode.T[rows.row_of_sample], fit.class_posterior, atol=1e-8)


def test_merging_samples_changes_nothing_but_their_number():
    labels = crowds.caries()
    split = labels.split_rater(4)
    rows = merge_samples(split.labels, split.y_pred, None)
    assert rows.multiplicity.size == 32 and rows.multiplicity.sum() == 3869
    np.testing.assert_array_equal(np.bincount(rows.row_of_sample), rows.multiplicity)
    np.testing.assert_array_equal(rows.y_pred[rows.row_of_sample], split.y_pred)
    dense = label_columns(rows.labels).toarray()[rows.row_of_sample]
    np.testing.assert_array_equal(dense, label_columns(split.labels).toarray())


def test_impossible_states_are_never_drawn():
    """Probability 0 stays 0 for rows of one sample and of many, at either end of the states."""
    for p, where in (([1.0, 0.0], 0), ([0.0, 1.0], 1)):
        both = np.broadcast_to(np.array(p)[:, None, None], (2, 2, 2)).copy()
        for seed in range(50):
            rng = np.random.default_rng(seed)
            np.testing.assert_array_equal(kernel.draw_states(both, rng), np.full((2, 2), where))
            np.testing.assert_array_equal(
                kernel.draw_numbers(both, np.array([50, 7]), rng)[where], [[50, 7]] * 2
            )


def test_tiny_concentrations_give_finite_logs():
    labels = crowds.from_matrix(np.array([[0, 1], [1, 1]]), 2)
    problem = kernel.flatten(*build("independent", labels, np.array([0, 1]))[:2])
    tiny_rows = np.full((1, problem.concentration.size), 1e-4)
    logs = problem.draw_dirichlet_logs(tiny_rows, np.random.default_rng(0))
    assert np.isfinite(logs).all()
    total = np.add.reduceat(np.exp(logs), problem.starts, axis=1)
    np.testing.assert_allclose(total, 1, rtol=1e-12)


class Killed(Exception):
    pass


@pytest.mark.parametrize("name", ["independent", pytest.param("shared_strata", marks=pytest.mark.slow)])
@pytest.mark.parametrize("after", [7, *(pytest.param(x, marks=pytest.mark.slow) for x in (2, 12))])
def test_resumes_bit_identically_after_a_kill(tmp_path, name, after):
    """Killed during burn-in, soon after it, and later, with large arrays thinned on the way."""
    labels, y_pred = tiny(21, 40, 4, 2)
    model, observed, start = build(name, labels, y_pred)
    effort = Effort(chains=4, min_sweeps=1600, max_sweeps=3200, max_rhat=0.5, max_bytes=20_000)

    def digest(draws):
        return {"pi": draws["pi"], "table1": draws["table1"]}, {"matrices": draws["raters0"]}

    options = {"key": jax.random.key(4), "start": start, "digest": Digest(digest, ("pi",))}
    whole = run_gibbs(model, observed, effort=effort, **options)
    path, calls = tmp_path / "chain.npz", 0

    def kill(done, planned):
        nonlocal calls
        calls += 1
        assert 0 < done <= planned
        if calls == after:
            raise Killed

    with pytest.raises(Killed):
        run_gibbs(
            model, observed, effort=effort._replace(progress=Progress(kill, path, seconds=0)), **options
        )
    steps = []
    again = run_gibbs(
        model,
        observed,
        effort=effort._replace(progress=Progress(lambda d, p: steps.append(d), path)),
        **options,
    )
    assert steps[0] == 4 * 50 * (after + 1)  # went on, did not start again
    assert whole.thin > 1
    for a, b in zip(jax.tree.leaves(whole._replace(convergence=0)), jax.tree.leaves(again[:5]), strict=False):
        np.testing.assert_array_equal(a, b)
    assert whole.convergence._replace(seconds=0.0) == again.convergence._replace(seconds=0.0)
    finished = run_gibbs(model, observed, effort=effort._replace(progress=Progress(kill, path)), **options)
    np.testing.assert_array_equal(finished.draws["pi"], whole.draws["pi"])


def test_diagnosis_names_its_numbers():
    x = np.random.default_rng(0).normal(size=(4, 100, 2, 2))
    rhat, ess = diagnose({"counts": x, "accuracy": x[..., 0, 0]})
    assert list(rhat) == ["counts[0,0]", "counts[0,1]", "counts[1,0]", "counts[1,1]", "accuracy"]
    assert rhat["accuracy"] == rhat["counts[0,0]"] and ess.keys() == rhat.keys()


def test_bad_effort(as_installed):
    labels, y_pred = tiny(31, 10, 3, 2)
    model, observed, start = build("independent", labels, y_pred)
    for bad in (Effort(chains=1), Effort(min_sweeps=4), Effort(max_work=0), Effort(max_sweeps=10)):
        with pytest.raises(ValueError, match="effort needs"):
            run_gibbs(
                model, observed, key=jax.random.key(0), start=start, digest=Digest(keep_everything, ("pi",)),
                effort=bad,
            )  # fmt: skip


def test_copying_needs_class_predictions():
    labels, y_pred = tiny(5, 7, 2, 2, symbols=4)
    with pytest.raises(ValueError, match="symbols are the classes"):
        build("copying", labels, y_pred, symbols=4)


def test_labels_of_no_sample_are_kept_apart():
    """-1 entries are no labels anywhere in the merging."""
    z = np.array([[0, 1, -1], [0, 1, -1], [1, -1, -1]])
    sample, labeler = np.indices(z.shape)
    labels = Labels(sample.ravel(), labeler.ravel(), z.ravel(), 3, 3, 2)
    rows = merge_samples(labels, None, None)
    np.testing.assert_array_equal(np.sort(rows.multiplicity), [1, 2])
    assert label_columns(rows.labels).sum() == 3


def test_common_rows_against_quadrature():
    """Every class known, 4 labelers around common rows: means and squares of their rows, G integrated out."""
    labels, y_pred = tiny(12, 40, 4, 2)
    z, gold = labels.to_matrix(), np.random.default_rng(5).integers(0, 2, 40)
    z[:, 0] = np.where(z[:, 0] < 0, -1, 0)  # one labeler who never says 1
    labels = crowds.from_matrix(z, 2)
    model, observed, start = build("independent", labels, y_pred, gold=gold)
    common = np.array([[1.5, 1.0], [1.0, 2.0]])
    group = model.raters[0]._replace(strength=6.0, common_prior=common)
    model = model._replace(raters=(group, model.raters[1]))
    run = run_gibbs(
        model, observed, key=jax.random.key(3), start=start, digest=Digest(keep_everything, ("raters0",)),
        effort=EFFORT,
    )  # fmt: skip
    n = np.zeros((4, 2, 2))
    sample, labeler = np.nonzero(z >= 0)
    np.add.at(n, (labeler, gold[sample], z[sample, labeler]), 1)
    for r in range(2):
        x, w = NODES
        g = 6 * np.stack([x, 1 - x], axis=1)[:, None] + n[None, :, r]  # (nodes, labelers, symbols)
        log_p = (common[r, 0] - 1) * np.log(x) + (common[r, 1] - 1) * np.log1p(-x)
        log_p += (gammaln(g) - gammaln(g - n[None, :, r])).sum(axis=(1, 2))
        p = w * np.exp(log_p - log_p.max())
        p /= p.sum()
        mean = g[:, :, 1] / g.sum(axis=2)
        square = mean * (g[:, :, 1] + 1) / (g.sum(axis=2) + 1)
        for t in range(4):
            draws = run.draws["raters0"][:, :, t, r, 1]
            assert right(draws, p @ mean[:, t]), f"mean {t} {r}"
            assert right(draws**2, p @ square[:, t]), f"square {t} {r}"


def test_rows_are_beta_given_gold():
    """With every class known the rows are Dirichlet with added counts: compare means and variances."""
    labels, y_pred = tiny(11, 30, 3, 2)
    gold = np.random.default_rng(3).integers(0, 2, 30)
    model, observed, start = build("independent", labels, y_pred, gold=gold)
    run = run_gibbs(
        model, observed, key=jax.random.key(2), start=start, digest=Digest(keep_everything, ("raters0",)),
        effort=EFFORT,
    )  # fmt: skip
    z = labels.to_matrix()
    for t, c in np.ndindex(3, 2):
        n = np.bincount(z[(gold == c) & (z[:, t] >= 0), t], minlength=2) + np.where(np.arange(2) == c, 2, 1)
        mean = n[1] / n.sum()
        draws = run.draws["raters0"][:, :, t, c, 1]
        assert right(draws, mean), f"mean {t} {c}"
        assert right((draws - mean) ** 2, mean * (1 - mean) / (n.sum() + 1)), f"variance {t} {c}"


@pytest.mark.parametrize("symbols", [2, 3])
def test_partly_shared_is_what_it_says(symbols):
    """State by state (class; easy, hard, hard and felt): whose rows the raters have, and the shares."""
    labels, y_pred = tiny(8, 4, 2, 2, symbols=symbols)
    model, _, _ = build("partly_shared", labels, y_pred, symbols=symbols)
    given = np.array([[2.0, 1.0], [1.0, 2.0]]) if symbols == 2 else np.ones((2, 3))
    easy = given + np.eye(2) if symbols == 2 else 4 * given / given.sum(axis=1, keepdims=True)
    hard = np.full((2, symbols), 3 / symbols)
    sharp, dull = np.array([[9.0, 1.0], [1.0, 9.0]]), np.full((2, 2), 3.0)
    labelers, classifier = model.raters
    states = [(c, stratum) for c in range(2) for stratum in range(3)]
    assert list(zip(model.state_class, model.state_weight % 3, strict=True)) == states
    for state, (c, stratum) in enumerate(states):
        seen = sharp[c] if stratum == 0 else dull[c]
        felt = hard[c] if stratum == 2 else easy[c]
        rows = labelers.prior[:, labelers.row_of_state[state]]
        np.testing.assert_allclose(rows, np.broadcast_to(6 * seen / seen.sum(), rows.shape))
        np.testing.assert_allclose(classifier.prior[0, classifier.row_of_state[state]], felt)
    np.testing.assert_allclose(model.stratum_prior[:, 1:].sum(axis=1), 1.0)  # Dirichlet(10, 1), split
