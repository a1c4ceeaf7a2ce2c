"""Information of labelers: how exact and how fast is each method, and does equal information mean equal use?

Run: python benchmarks/information.py [draws of Su 5.5, 100]

First table: one number by every method that applies; "counts" and "integral" are exact, "monte_carlo" draws
20 000 samples; median of 3 calls, the first compiles. Sums over counts lose a digit or two at T = 10^4 to the
logarithms of factorials; the integral does not.

Second table: Su 5.5 on Ionosphere (jbrownlee/Datasets, ionosphere.csv, in ../shared/data; left out where that
is absent). Each draw is a stratified 75-25 split with new labels; MMSE training (40) of logistic regression
with lambda = 1 (the paper sweeps 20 values and keeps the best); AUC against the correct held-out labels;
width of the 95 % interval of accuracy when the held-out quarter is graded by that team's noisy labels.

AMD EPYC, 1 thread, shared machine: Python 3.11.7, numpy 2.4.6, jax 0.10.2; 40 s

                             method                     bits std. error        ms
    10^4 equal, eps .49      counts         0.88581205218917    0.0e+00      12.6
    10^4 equal, eps .49      integral       0.88581205219084    0.0e+00       1.8
    20 unequal               counts         0.54592186413469    0.0e+00      82.7
    20 unequal               integral       0.54592186413469    0.0e+00       0.9
    20 unequal               monte_carlo    0.54400838778362    2.3e-03      22.0
    1000 unequal             integral       0.85959092998692    0.0e+00      18.0
    1000 unequal             monte_carlo    0.85920902327529    1.6e-03     927.5
    3 classes, 8 unequal     counts         0.12619305702264    0.0e+00       8.1
    3 classes, 8 unequal     integral       0.12619305702264    0.0e+00      84.2
    3 classes, 8 unequal     monte_carlo    0.12621002173810    7.6e-04      16.1
    3 classes, 100 unequal   integral       1.01754589764919    0.0e+00    1015.0
    3 classes, 100 unequal   monte_carlo    1.01954003099347    3.0e-03     143.4
    ... of whom .4 label     integral       0.55470591844280    0.0e+00    1140.7
    ... of whom .4 label     monte_carlo    0.55518275305306    2.6e-03     135.5
    4 classes, 100 equal     counts         0.73898912901859    0.0e+00      44.1
    4 classes, 100 equal     monte_carlo    0.73596050546149    3.2e-03     136.6
    200 share errors         counts         0.80102735751751    0.0e+00       1.4
    200 share errors         monte_carlo    0.79727822520645    2.3e-03     265.0

    Ionosphere, 100 splits
    team            bits    AUC     sd  width of accuracy
    1 x .05      0.66661 0.9043 0.0346             0.0865
    9 x .25      0.75780 0.9015 0.0348             0.0642
    1 x .01      0.86337 0.9109 0.0303             0.0343
    399 x .45    0.85919 0.9084 0.0320             0.0391
    9 x .25 less 1 x .05: AUC -0.0027 +- 0.0032, ahead in 42%; width -0.0223 +- 0.0012
    399 x .45 less 1 x .01: AUC -0.0025 +- 0.0016, ahead in 41%; width +0.0048 +- 0.0009

Su's single draw has the nine mediocre labelers ahead of the one good labeler. Over 100 draws the two
classifiers cannot be told apart: .09 bits more are worth less in training than the luck of a split (sd .035).
In testing they take a quarter off the width. 399 poor labelers and one expert are comparable in training, as
the paper says; the expert's slightly larger information shows in the width.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import csv  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

import jtruth as jt  # noqa: E402
from jtruth.information import mutual_information  # noqa: E402
from jtruth.noise import SharedErrors, Symmetric  # noqa: E402

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ionosphere"
TEAMS = {"1 x .05": (1, 0.05), "9 x .25": (9, 0.25), "1 x .01": (1, 0.01), "399 x .45": (399, 0.45)}
PAIRS = (("9 x .25", "1 x .05"), ("399 x .45", "1 x .01"))


def cases():
    """name: (noise or matrices, prior, number of labelers, participation, methods)"""
    rng = np.random.default_rng(0)
    two, three = [0.6, 0.4], [0.5, 0.3, 0.2]
    mild = 0.7 / 3 + 0.3 * rng.dirichlet(np.ones(3), (100, 3))
    mild /= mild.sum(axis=2, keepdims=True)
    poor = [[0.8, 0.2], [0.3, 0.7]]
    every, large = ("counts", "integral", "monte_carlo"), ("integral", "monte_carlo")
    yield "10^4 equal, eps .49", Symmetric(0.49, 2), two, 10_000, None, ("counts", "integral")
    yield "20 unequal", Symmetric(rng.uniform(0.3, 0.5, 20), 2), two, None, None, every
    yield "1000 unequal", Symmetric(rng.uniform(0.45, 0.5, 1000), 2), two, None, None, large
    yield "3 classes, 8 unequal", mild[:8], three, None, None, every
    yield "3 classes, 100 unequal", mild, three, None, None, large
    yield "... of whom .4 label", mild, three, None, 0.4, large
    yield "4 classes, 100 equal", Symmetric(0.7, 4), [0.25] * 4, 100, None, ("counts", "monte_carlo")
    yield (
        "200 share errors",
        SharedErrors([poor] * 200, poor, 0.3),
        two,
        None,
        None,
        ("counts", "monte_carlo"),
    )


def table_of_methods() -> None:
    print(f"{'':24} {'method':12} {'bits':>18} {'std. error':>10} {'ms':>9}")
    for name, noise, prior, size, eta, methods in cases():
        for method in methods:
            seconds = []
            for _ in range(3):
                start = time.perf_counter()
                found = mutual_information(
                    noise, prior, num_labelers=size, participation=eta, method=method, key=jax.random.key(0)
                )
                seconds.append(time.perf_counter() - start)
            ms = 1000 * np.median(seconds)
            print(f"{name:24} {method:12} {found.bits:18.14f} {found.standard_error:10.1e} {ms:9.1f}")


def ionosphere() -> tuple[np.ndarray, np.ndarray]:
    def table(name: str) -> np.ndarray:
        with (DATA / name).open() as file:
            return np.array(list(csv.reader(file))[1:], float)

    return table("X.csv"), table("y.csv").ravel().astype(int)


def log_likelihood_of(rng: np.random.Generator, y: np.ndarray, num_labelers: int, error: float) -> np.ndarray:
    """Su (57): `num_labelers` labels of every sample, each wrong with probability `error`."""
    wrong = rng.binomial(num_labelers, error, y.size)
    of_truth, of_other = np.log(1 - error), np.log(error)
    right = (num_labelers - wrong) * of_truth + wrong * of_other
    flipped = wrong * of_truth + (num_labelers - wrong) * of_other
    return np.where(y[:, None] == np.arange(2), right[:, None], flipped[:, None])


def mmse_classifier(x: np.ndarray, log_likelihood: np.ndarray, prior: np.ndarray) -> LogisticRegression:
    """Su (40) of the logistic loss: every sample once with each class, weighted by its class posterior."""
    rho = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)) * prior
    rho /= rho.sum(axis=1, keepdims=True)
    model = LogisticRegression(C=1.0, max_iter=2000)  # lambda = 1 in Su's appendix F
    y = np.repeat([0, 1], len(x))
    return model.fit(np.concatenate([x, x]), y, sample_weight=rho.T.ravel())


def one_draw(seed: int, x: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float]]:
    """Team -> AUC on the held-out quarter, and width of the 95 % interval of accuracy from noisy labels."""
    rng = np.random.default_rng(seed)
    prior = np.array([225, 126]) / 351
    x_in, x_out, y_in, y_out = train_test_split(x, y, test_size=0.25, stratify=y, random_state=seed)
    result = {}
    for name, team in TEAMS.items():
        model = mmse_classifier(x_in, log_likelihood_of(rng, y_in, *team), prior)
        auc = roc_auc_score(y_out, model.decision_function(x_out))
        evidence = log_likelihood_of(rng, y_out, *team)
        low, high, _ = jt.evaluate(model.predict(x_out), evidence, prior=prior).accuracy.interval(0.95)
        result[name] = (float(auc), high - low)
    return result


def table_of_su_5_5(num_draws: int) -> None:
    x, y = ionosphere()
    draws = [one_draw(seed, x, y) for seed in range(num_draws)]
    print(
        f"\nIonosphere, {num_draws} splits\n"
        f"{'team':12} {'bits':>7} {'AUC':>6} {'sd':>6} {'width of accuracy':>18}"
    )
    for name, (size, error) in TEAMS.items():
        bits = mutual_information(Symmetric(error, 2), [225 / 351, 126 / 351], num_labelers=size).bits
        auc, width = np.array([draw[name] for draw in draws]).T
        print(f"{name:12} {bits:7.5f} {auc.mean():6.4f} {auc.std(ddof=1):6.4f} {width.mean():18.4f}")
    for many, one in PAIRS:
        gap = np.array([np.subtract(draw[many], draw[one]) for draw in draws])
        mean, error = gap.mean(axis=0), gap.std(axis=0, ddof=1) / np.sqrt(num_draws)
        print(
            f"{many} less {one}: AUC {mean[0]:+.4f} +- {error[0]:.4f}, ahead in "
            f"{(gap[:, 0] > 0).mean():.0%}; width {mean[1]:+.4f} +- {error[1]:.4f}"
        )


def main() -> None:
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, jax {jax.__version__}"
    print(versions + "\n")
    table_of_methods()
    num_draws = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if DATA.is_dir():
        table_of_su_5_5(num_draws)
    else:
        print(f"\nno {DATA}: Su 5.5 left out")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
