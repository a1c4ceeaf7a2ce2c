"""Multi-class testing on the example of Su 5.3, over many simulated data sets: errors and coverage."""

import argparse
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from jtruth.noise import DifficultyFallibility
from jtruth.simulate import simulate
from jtruth.testing.multiclass import labeler_tables, multiclass_posterior
from jtruth.testing.multiclass_metrics import named_metric

SAMPLES, LABELERS, CLASSES = 2000, 5, 4
PRIOR = np.array([0.2, 0.3, 0.1, 0.4])
CONFUSION = np.array(
    [[0.75, 0.08, 0.10, 0.07], [0.10, 0.65, 0.12, 0.13], [0.04, 0.06, 0.80, 0.10], [0.10, 0.05, 0.05, 0.80]]
)
METHODS = ("sampling", "exact_means", "plug_in", "no_predictions", "labels", "bayes")
METRICS = ("accuracy", "macro_f1", "macro_recall", "macro_precision", "kappa", "mcc")
PAPER = {  # |ACC - ideal|, mean |C - ideal| over the 16 elements: from Tables 13 and 14
    "sampling": (0.0005, 2.3),
    "labels": (0.0040, 2.4),
    "labelers' mean": (0.1180, 31.8),
    "labelers' median": (0.0953, 23.3),
}


def data_set(seed):
    """One data set: fallibility U(0, .4), participation U(0, 1), no difficulty."""
    key_phi, key_eta, key = jax.random.split(jax.random.key(seed), 3)
    phi = jax.random.uniform(key_phi, (LABELERS,), maxval=0.4)
    eta = jax.random.uniform(key_eta, (LABELERS,))
    noise = DifficultyFallibility(np.zeros(SAMPLES), np.asarray(phi), CLASSES)
    return simulate(key, SAMPLES, PRIOR, CONFUSION, noise, np.asarray(eta))


def inside(law, truth):
    low, high, _ = law.interval(0.95)
    return low <= truth <= high


def one(seed, method, data, labels, log_likelihood):
    """Absolute errors and coverage of one method on one data set, and its time."""
    table = np.zeros((CLASSES, CLASSES))
    y_pred = np.asarray(data.y_pred)
    np.add.at(table, (np.asarray(data.y), y_pred), 1)
    start = time.perf_counter()
    found = multiclass_posterior(log_likelihood, PRIOR, y_pred, key=jax.random.key(seed), method=method)
    pairs = list(np.ndindex(CLASSES, CLASSES))
    cells, rates = [found.cell(*pair) for pair in pairs], [found.rate(*pair) for pair in pairs]
    laws = [found.estimate(name) for name in METRICS]
    seconds = time.perf_counter() - start
    truth = [float(named_metric(name, range(CLASSES))(table)) for name in METRICS]
    share = table / table.sum(1, keepdims=True)
    return {
        "acc error": abs(laws[0].mean - truth[0]),
        "C error": np.mean([abs(law.mean - table[pair]) for law, pair in zip(cells, pairs, strict=True)]),
        "C": np.mean([inside(law, table[pair]) for law, pair in zip(cells, pairs, strict=True)]),
        "K": np.mean([inside(law, share[pair]) for law, pair in zip(rates, pairs, strict=True)]),
        **{name: inside(law, t) for name, law, t in zip(METRICS, laws, truth, strict=True)},
        "converged": 1.0 if found.fit is None else float(found.fit.converged),
        "steps": getattr(found.fit, "num_steps", getattr(found.fit, "num_sweeps", 0)),
        "seconds": seconds,
    }


def labelers(data, labels):
    """Errors of the labelers' mean and median, as in the paper: of ACC by the accuracies' mean and median."""
    y_pred = np.asarray(data.y_pred)
    table = np.zeros((CLASSES, CLASSES))
    np.add.at(table, (np.asarray(data.y), y_pred), 1)
    found = labeler_tables(y_pred, labels)
    active = found.each[~np.isnan(found.each).any(axis=(1, 2))]
    accuracies, truth = active.trace(axis1=1, axis2=2) / SAMPLES, table.trace() / SAMPLES
    yield abs(accuracies.mean() - truth), np.abs(found.mean - table).mean()
    yield abs(np.median(accuracies) - truth), np.abs(found.median - table).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    results = {method: [] for method in METHODS}
    rivals = []
    for seed in range(seeds):
        data = data_set(seed)
        labels = data.to_labels()
        log_likelihood = np.asarray(data.noise.log_likelihood(labels), np.float64)
        rivals.append(list(labelers(data, labels)))
        for method in METHODS:
            results[method].append(one(seed, method, data, labels, log_likelihood))
    print(f"{seeds} data sets; mean absolute errors; paper's single data set in brackets")
    for method, rows in results.items():
        acc, cell = (np.array([row[k] for row in rows]) for k in ("acc error", "C error"))
        paper = "  ({:.4f}, {:.1f})".format(*PAPER[method]) if method in PAPER else ""
        print(f"  {method:16} ACC {acc.mean():.4f} +- {acc.std() / seeds**0.5:.4f}"
              f"   C {cell.mean():6.2f} +- {cell.std() / seeds**0.5:.2f}{paper}")  # fmt: skip
    for k, name in enumerate(("labelers' mean", "labelers' median")):
        acc, cell = np.array([r[k] for r in rivals]).T
        paper = "  ({:.4f}, {:.1f})".format(*PAPER[name])
        print(f"  {name:16} ACC {acc.mean():.4f} +- {acc.std() / seeds**0.5:.4f}"
              f"   C {cell.mean():6.2f} +- {cell.std() / seeds**0.5:.2f}{paper}")  # fmt: skip
    columns = ("C", "K", *METRICS)
    print("coverage of 95 % intervals, % (+- Monte Carlo error between data sets)")
    print("  " + " " * 16 + "".join(f"{c:>16}" for c in columns))
    for method in METHODS:
        if method == "labels":
            continue
        cells = []
        for column in columns:
            x = 100 * np.array([row[column] for row in results[method]], float)
            cells.append(f"{x.mean():6.1f} +- {x.std() / seeds**0.5:.1f}")
        print(f"  {method:16}" + "".join(f"{c:>16}" for c in cells))
    print("steps or sweeps, share converged, median seconds")
    for method, rows in results.items():
        steps, done, seconds = (
            np.array([float(r[k]) for r in rows]) for k in ("steps", "converged", "seconds")
        )
        print(f"  {method:16} {steps.mean():7.1f} {done.mean():5.2f} {np.median(seconds):6.2f}")


if __name__ == "__main__":
    main()
