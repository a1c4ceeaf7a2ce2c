"""Labels day by day: the fit of all labels together, its file, and refusals."""

import numpy as np
import pytest
from scipy.special import softmax

from jtruth.labels import Labels
from jtruth.latent.infer.normal import around, information
from jtruth.learning import (
    DirichletPriors,
    Smoothing,
    begin_stream,
    fit_dawid_skene,
    read_stream,
    update,
    write_stream,
)
from jtruth.learning.em.columns import CodedPatterns, expected_counts, merge_patterns, posterior_of, rows_of
from jtruth.learning.em.laplace import laid_out, laplace_draws

C, PRIOR = 3, Smoothing(2.0, 0.5, 1.0)


def crowd(seed=0, size=240, labelers=6):
    """Entries (task, worker, label, day): tasks get late labels; the last worker comes on the last day."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, size)
    z = np.where(rng.random((size, labelers)) < 0.7, y[:, None], rng.integers(0, C, (size, labelers)))
    task, worker = np.nonzero(rng.random(z.shape) < 0.7)
    day = np.clip(task // 80 + rng.integers(0, 2, task.size), 0, 2)
    return task, worker, z[task, worker], np.where(worker == labelers - 1, 2, day)


def named(entries, which, **options):
    task, worker, label = (a[which] for a in entries[:3])
    ids = [f"q{i}" for i in task], [f"w{t}" for t in worker]
    return Labels.from_long(*ids, label, num_classes=C, **options)


@pytest.fixture(scope="module")
def entries():
    return crowd()


def by_day(entries, smoothing):
    state = begin_stream(named(entries, entries[3] == 0), smoothing=smoothing, tol=1e-11)
    for day in (1, 2):
        state = update(state, named(entries, entries[3] == day), tol=1e-11)
    return state


@pytest.fixture(scope="module")
def stream(entries):
    return by_day(entries, PRIOR)


@pytest.mark.parametrize("smoothing", [PRIOR, pytest.param(Smoothing(), marks=pytest.mark.slow)])
def test_days_end_where_all_labels_together_do(entries, stream, smoothing):
    state = stream if smoothing is PRIOR else by_day(entries, smoothing)
    every = named(entries, slice(None), tasks=state.tasks, workers=state.workers)
    batch = fit_dawid_skene(every, smoothing=smoothing, tol=1e-11)
    assert state.converged and batch.converged
    np.testing.assert_allclose(state.prior, batch.prior, atol=1e-6)
    np.testing.assert_allclose(state.matrices, batch.matrices, atol=1e-6)
    np.testing.assert_allclose(state.class_posterior, batch.class_posterior, atol=1e-6)
    assert state.log_likelihood == pytest.approx(batch.log_likelihood, abs=1e-6)
    for mine, theirs in zip(state.labels().padded(), every.padded(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert state.patterns.number.sum() == len(state.tasks) == 240


def test_rows_are_merged_as_by_comparing_them_one_by_one(entries):
    """Against a dictionary of tuples; rows of number 0 go, and two rows of one hash stay two rows."""
    rows = rows_of(named(entries, slice(None)))._replace(number=np.arange(240) % 3)
    start = np.cumsum(rows.length) - rows.length
    wanted: dict = {}
    for at, length, number in zip(start, rows.length, rows.number, strict=True):
        key = tuple(rows.code[at : at + length])
        wanted[key] = wanted.get(key, 0) + number
    merged, new = merge_patterns(rows)
    start = np.cumsum(merged.length) - merged.length
    found = {
        tuple(merged.code[s : s + k]): n for s, k, n in zip(start, merged.length, merged.number, strict=True)
    }
    assert found == {key: n for key, n in wanted.items() if n}
    for row in np.flatnonzero(rows.number):
        assert merged.length[new[row]] == rows.length[row]
    ties = CodedPatterns(np.array([0, 1, 0, 2], np.int32), np.array([2, 2]), np.array([1, 1]))
    assert merge_patterns(ties)[0].length.tolist() == [2, 2]


def test_a_labeler_whose_row_was_certain_can_still_surprise(entries):
    """Without pseudo-counts an exact 0 of yesterday must not be one forever."""
    task = np.repeat(np.arange(40), 3)
    worker, truth = np.tile(np.arange(3), 40), np.repeat(np.arange(40) % 2, 3)
    first = named((task, worker, truth), slice(None))
    wrong = np.where((worker == 0) & (task % 4 == 0), 1 - truth, truth)
    state = begin_stream(first)
    assert state.matrices[0, 0, 1] == 0
    state = update(state, named((task + 40, worker, wrong), slice(None)))
    assert state.matrices[0, 0, 1] == pytest.approx(0.25, abs=1e-3)


def one_more():
    return Labels.from_long(["new"] * 6, [f"w{t}" for t in range(6)], [0] * 6, num_classes=C)


def test_the_file_holds_the_state_and_refuses_others(tmp_path, entries, stream):
    path = tmp_path / "state"
    write_stream(path, stream)
    back = read_stream(path)
    names = "patterns", "pattern", "prior", "matrices", "moment", "batch"
    assert back._replace(**dict.fromkeys(names, 0)) == stream._replace(**dict.fromkeys(names, 0))
    after = [update(state, one_more()) for state in (back, stream)]
    np.testing.assert_array_equal(after[0].matrices, after[1].matrices)
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["matrices"] = arrays["matrices"] + 1e-9
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(ValueError, match=r"changed.npz was changed after it was written"):
        read_stream(tmp_path / "changed.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    with pytest.raises(ValueError, match="cannot be used as the state of a stream of labels"):
        read_stream(tmp_path / "other.npz")
    with pytest.raises(ValueError, match="begin_stream makes the first state"):
        read_stream(tmp_path / "nowhere")


def test_what_is_refused(entries, stream):
    with pytest.raises(ValueError, match=r"added before \(set 2 of 3\); nothing was added"):
        update(stream, named(entries, entries[3] == 1))
    with pytest.raises(ValueError, match=r"classes of new_labels are .* those of the state"):
        update(stream, Labels.from_long(["q0"], ["w0"], [1], num_classes=2))
    with pytest.raises(ValueError, match="their worker has already labelled, the first of task 'q"):
        update(stream, named(entries, np.arange(3)))
    with pytest.raises(ValueError, match="matched by names"):
        update(stream, Labels.from_matrix([[0, 1]], C))
    with pytest.raises(ValueError, match="tasks are str in the state and int in new_labels"):
        update(stream, Labels.from_long([5], ["w0"], [1], num_classes=C))
    with pytest.raises(ValueError, match="new_labels has no label"):
        update(stream, Labels.from_matrix([[-1]], C, allow_unlabelled=True))


def test_products_of_expected_counts_row_by_row(stream):
    """Sums of rho[c] and of rho[c] rho[d] over the samples to which a labeler gave a label."""
    size, start = len(stream.workers), np.cumsum(stream.patterns.length) - stream.patterns.length
    posterior = posterior_of(stream.patterns, stream.prior, stream.matrices)
    wanted = np.zeros((size, C, C)), np.zeros((size, C, C, C))
    for row, at in enumerate(start):
        for k in stream.patterns.code[at : at + stream.patterns.length[row]]:
            rho, number = posterior[row], stream.patterns.number[row]
            wanted[0][k // C, :, k % C] += number * rho
            wanted[1][k // C, k % C] += number * np.outer(rho, rho)
    for found, sums in zip(expected_counts(stream.patterns, posterior, size), wanted, strict=True):
        np.testing.assert_allclose(found, sums, atol=1e-9)


@pytest.mark.parametrize("labels", [8.0, 40.0])
def test_draws_have_the_mean_and_the_spread_of_a_dirichlet_dist(labels):
    """Of a row of known class n (diag(p) - p p^T) is known about log p, and its distribution is
    Dirichlet(n p).

    20 000 draws know a standard deviation to half a per cent, in the cell of .4 labels to 2 %; softmax of the
    normal distribution itself has there 1.9 times the spread, and its mean is not p.
    """
    p = np.array([[0.75, 0.2, 0.05], [0.4, 0.35, 0.25]])
    known = labels * (np.eye(3) * p[:, None, :] - p[:, :, None] * p[:, None, :]) + 1.0
    noise = np.random.default_rng(0).normal(size=(20_000, 2, 3))
    step = np.einsum("rij,nrj->nri", np.linalg.cholesky(np.linalg.inv(known)), noise)
    drawn = around(p, step)
    np.testing.assert_allclose(drawn.sum(axis=2), 1, atol=1e-12)
    np.testing.assert_allclose(drawn.mean(axis=0), p, rtol=1e-3)
    np.testing.assert_allclose(drawn.std(axis=0), dirichlet_sd(p, labels), rtol=0.1)
    plain = softmax(np.log(p) + step, axis=2)
    assert plain[:, 0, 2].std() > 1.2 * dirichlet_sd(p, labels)[0, 2] and plain[:, 0, 0].mean() < p[0, 0]


def dirichlet_sd(p, total):
    return np.sqrt(p * (1 - p) / (total + 1))


@pytest.mark.slow
def test_intervals_of_em_are_those_of_gibbs_where_labels_are_many(monkeypatch):
    """800 samples, 5 labelers: sds within a fifth of the sampler's, means within half an sd."""
    from jtruth.learning import fit_joint

    task, worker, label, _ = crowd(3, size=800, labelers=5)
    labels = named((task, worker, label), slice(None))
    state = begin_stream(labels, smoothing=PRIOR)
    quick = laplace_draws(state, 0)
    full = fit_joint(labels, key=0, priors=DirichletPriors(diagonal=2.0, off_diagonal_total=1.0))
    place = [labels.workers.index(name) for name in state.workers]
    ratio = quick.labeler_accuracy.std(axis=0) / full.labeler_accuracy.std(axis=0)[place]
    assert (np.abs(ratio - 1) < 0.2).all()
    off = quick.labeler_accuracy.mean(axis=0) - full.labeler_accuracy.mean(axis=0)[place]
    assert np.abs(off / full.labeler_accuracy.std(axis=0)[place]).max() < 0.5
    monkeypatch.setattr("jtruth.learning.em.laplace.MOST_TOGETHER", 0)
    alone = laplace_draws(state, 0)
    assert (
        "separately" in alone.how
        and (alone.labeler_accuracy.std(axis=0) < 1.1 * quick.labeler_accuracy.std(axis=0)).all()
    )
    with pytest.raises(ValueError, match="intervals need positive pseudo-counts"):
        laplace_draws(state._replace(smoothing=Smoothing()), 0)


def test_the_information_is_minus_the_second_derivatives():
    """By central differences of the log posterior; one labeler never errs, where scores alone say nothing."""
    z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1]], [400, 300, 60, 50, 20], axis=0)
    labels = Labels.from_matrix(z, 2).with_names(tasks=range(len(z)), workers=range(3))
    smoothing = Smoothing(2.0, 1.0, 1.0)
    state = begin_stream(labels, smoothing=smoothing, tol=1e-12)
    rows = np.concatenate([state.prior[None], state.matrices.reshape(-1, 2)])
    start = np.cumsum(state.patterns.length) - state.patterns.length
    pseudo = np.concatenate([np.ones((1, 2)), np.tile([[2.0, 1.0], [1.0, 2.0]], (3, 1))])

    def log_p(theta):
        p = np.exp(theta.reshape(-1, 2))
        p /= p.sum(axis=1, keepdims=True)
        total = (pseudo * np.log(p)).sum()
        for at, number in zip(start, state.patterns.number, strict=True):
            code = state.patterns.code[at : at + 3]
            total += number * np.log(
                sum(p[0, c] * np.prod(p[1 + (code // 2) * 2 + c, code % 2]) for c in (0, 1))
            )
        return total

    theta, step = np.log(rows).ravel(), 1e-3 * np.eye(rows.size)

    def minus_second(a, b):
        return log_p(theta + a - b) + log_p(theta - a + b) - log_p(theta + a + b) - log_p(theta - a - b)

    wanted = np.array([[minus_second(a, b) / 4e-6 for a in step] for b in step])
    posterior = posterior_of(state.patterns, state.prior, state.matrices)
    found = information(*laid_out(state, posterior, np.arange(state.patterns.length.size)))
    np.testing.assert_allclose(found - np.kron(np.eye(len(rows)), np.ones((2, 2))), wanted, atol=1e-3)
    accuracy = laplace_draws(state, 0).labeler_accuracy
    assert accuracy.mean(axis=0).argmin() == 1 and accuracy.std(axis=0)[0] < 0.01
