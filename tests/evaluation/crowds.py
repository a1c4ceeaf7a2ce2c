"""Crowds of many tests; the one with shared difficulty is one set, so that models are fitted once."""

import numpy as np

import jtruth as jt


def crowd(seed=0, size=150, labelers=4, classes=2, hard=0.3):
    """Truth, predictions and labels; a share of samples fools everybody."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    chance = np.where(rng.random(size) < hard, 0.55, 0.93)
    wrong = (y[:, None] + rng.integers(1, classes, (size, labelers + 1))) % classes
    seen = np.where(rng.random((size, labelers + 1)) < chance[:, None], y[:, None], wrong)
    return y, seen[:, 0], jt.Labels.from_matrix(seen[:, 1:], classes)


def careless(classes=2, size=80, labelers=3, seed=0):
    """Truth, predictions and a matrix of labels: right in .85 and in .8, else a guess."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    z = np.where(rng.random((size, labelers)) < 0.8, y[:, None], rng.integers(0, classes, (size, labelers)))
    return y, np.where(rng.random(size) < 0.85, y, rng.integers(0, classes, size)), z


def uneven(seed, workers=56, tasks=400, each=3, classes=2, tail=0.8):
    """Truth, predictions and labels of a crowd in which few label most: chosen by Pareto weights."""
    rng = np.random.default_rng(seed)
    weight, right = rng.pareto(tail, workers) + 0.05, rng.beta(6, 2, workers)
    y, z = rng.integers(0, classes, tasks), np.full((tasks, workers), -1)
    for i in range(tasks):
        who = rng.choice(workers, each, replace=False, p=weight / weight.sum())
        z[i, who] = np.where(rng.random(each) < right[who], y[i], rng.integers(0, classes, each))
    y_pred = np.where(rng.random(tasks) < 0.85, y, rng.integers(0, classes, tasks))
    return y, y_pred, jt.Labels.from_matrix(z, classes)


def some_gold(y, number, seed=1):
    """So many true classes of samples chosen at random, -1 elsewhere."""
    chosen = np.random.default_rng([7, seed]).permutation(y.size)[:number]  # no stream of the data's
    return np.where(np.isin(np.arange(y.size), chosen), y, -1)


def experts(size=150):
    """Labels of experts who disagree, and an overconfident classifier that knows each sample's mean
    posterior."""
    rng = np.random.default_rng(0)
    f = rng.dirichlet(np.ones(3), size)
    q = np.stack([rng.dirichlet(4 * row) for row in f])
    z = np.full((size, 8), -1)
    for i in range(size):
        z[i, rng.choice(8, 5, replace=False)] = rng.choice(3, 5, p=q[i])
    return jt.Labels.from_matrix(z, 3), f**2 / (f**2).sum(axis=1, keepdims=True)
