"""Does the fast prediction of an interval's width hold? Approximation against simulation.

Run: python benchmarks/plans.py [known | learned | classes | regimes | all] [sets per plan, 100 or 24]
Predicted: `approximate_width`, milliseconds. Simulated: mean width of the shortest 95 % interval over data
sets drawn under the plan, by the exact posterior (rates known) or `fit_joint` (rates learned).

AMD EPYC, 1 process (busy machine): Python 3.11.7, numpy 2.4.6, jax 0.10.2; 10 minutes for all

Ratio of predicted to simulated width, over random plans of all five metrics and both targets (300 to 3000
samples, 2.5 to 9 labels each with errors .05 to .35, 0 to 100 gold answers, no rare class):

                                lowest  highest  within 10 %   error of one ratio by simulation
    2 classes, rates known       0.991    1.033     20 of 20   .002 to .013
    2 classes, rates learned     0.932    1.031     20 of 20   .004 to .033
    3 classes, rates learned     0.977    1.072     10 of 10   .007 to .059

Where it does not hold (ratio known / learned):

    accuracy, 3 labels of error .2, N = 20, 50, 100, 200   .90 .96 .98 .99 / .79 .87 .88 .89
    recall there                                           1.00 1.01 1.02 .99 / .95 1.02 .99 .95
    recall of a class of share .01, .03, .1 (N = 1000)     1.05 1.06 1.00 / .97 .99 .98
    labelers of error .3, 2, 3, 5 each (N = 1000)          1.01 1.01 1.02 / .99 .93 .96
    labelers of error .4                                   1.07 1.04 1.03 / 1.13 1.10 1.02
    labelers of error .45                                  1.09 1.09 1.10 / .95 .98 -; see below
    accuracy .95, .99, .999, 1 (N = 500)                   1.01 1.04 .89 .54 / .95 .96 .75 .42
    two labelers and no gold, N = 300, 1000, 3000          - / .91 .96 .99; in-sample .89 .95 .99
    one labeler and 10, 30, 100 gold (N = 1000)            - / 1.31 1.18 1.05; in-sample 1.36 1.23 1.07

So: learned rates need 300 samples or more; an almost perfect classifier (fewer than some five errors
expected) is predicted wrongly, and so are rates that only few gold answers identify (as too wide).
`share_of_prior` is above .06 in all cases that are off by more than 10 %, and a warning says so; a search for
a plan simulates its winner. With learned rates and labelers of error .45 half of the runs of the sampler do
not converge in 4 seconds, the prior supplies .8 to .9 of the information, and neither number means much.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402

from jtruth.planning import Plan, Question, approximate_width, labeler, setting, simulated_width  # noqa: E402

METRICS = ("accuracy", "precision", "recall", "f1", "false_alarm_rate")
SETS = {"known": 100, "learned": 24}


def random_plan(rng, rates, number, classes=2):
    """An ordinary plan: 300 to 3000 samples, 2.5 to 9 labels each by one to three kinds of labelers.

    Errors are between .05 and .35, a kind may label only a part; 0, 30 or 100 gold answers. No class is rare:
    of two each has a quarter or more, of three a sixth.
    """
    prior = rng.dirichlet(np.full(classes, 6.0))
    prior = 0.5 * prior + 0.5 / classes
    right = rng.uniform(0.7, 0.95, classes)
    off = (1 - np.eye(classes)) / (classes - 1)
    confusion = np.diag(right) + (1 - right)[:, None] * off
    kinds, labels = [], []
    while sum(labels) < 2.5:
        kinds = [
            labeler("abc"[g], rng.uniform(0.05, 0.35, classes).round(3), people=int(rng.integers(1, 4)))
            for g in range(int(rng.integers(1, 4 if classes == 2 else 3)))
        ]
        labels = [
            k.people if rng.random() < 0.5 else round(float(rng.uniform(0.5, k.people)), 1) for k in kinds
        ]
    size = int(np.exp(rng.uniform(np.log(300), np.log(3000))))
    made = setting(
        prior, confusion, kinds,
        Question(METRICS[number % 5], rates=rates, target=("population", "in-sample")[number // 5 % 2]),
    )  # fmt: skip
    return made, Plan(size, tuple(map(float, labels)), int(rng.choice([0, 0, 30, 100])))


def compare(made, plan, number, sets):
    """One line, and the ratio of predicted to simulated width."""
    predicted = approximate_width(made, plan)
    start = time.perf_counter()
    found = simulated_width(made, plan, key=jax.random.key(number), num_sets=sets)
    ratio = predicted.width / found.mean
    error = found.standard_error / found.mean
    labels = "+".join(f"{x:g}" for x in plan.labels)
    print(
        f"    {made.metric:17}{made.target:11}{plan.num_samples:6}{labels:>12}{plan.num_gold:5}"
        f"{predicted.width:9.4f}{found.mean:9.4f}{ratio:7.3f}{error:7.3f}{predicted.share_of_prior:7.2f}"
        f"{100 * found.covered:5.0f}{time.perf_counter() - start:6.1f}",
        flush=True,
    )
    for text in found.warnings:
        print(f"        {text}")
    return ratio


HEAD = (
    "metric, target, samples, labels, gold, predicted, simulated, ratio, its error, prior's share, covered, s"
)


def random_plans(rates, sets, classes=2, number=20):
    print(f"\n{number} random plans, {classes} classes, rates {rates}, {sets} sets each\n    {HEAD}")
    rng = np.random.default_rng(2023)
    ratios = np.array([compare(*random_plan(rng, rates, i, classes), i, sets) for i in range(number)])
    print(
        f"    ratio of predicted to simulated width: {ratios.min():.3f} to {ratios.max():.3f}, "
        f"{(abs(ratios - 1) <= 0.1).sum()} of {number} within 10 %"
    )


def regimes(sets):
    """Where the prediction may fail, one step after the other."""
    even = np.array([[0.9, 0.1], [0.15, 0.85]])

    def show(title, made, plans):
        print(f"\n{title} ({made.rates})")
        for plan in plans:
            compare(made, plan, 7, sets[made.rates])

    five = lambda error: labeler("a", error, people=5)  # noqa: E731
    for rates in ("known", "learned"):
        for metric in ("accuracy", "recall"):
            made = setting([0.7, 0.3], even, [five(0.2)], Question(metric, rates=rates))
            show("few samples", made, [Plan(n, (3.0,), 0) for n in (20, 50, 100, 200)])
        for share in (0.01, 0.03, 0.1):
            made = setting([1 - share, share], even, [five(0.2)], Question("recall", rates=rates))
            show(f"a class of share {share}", made, [Plan(1000, (5.0,), 0)])
        for error in (0.3, 0.4, 0.45):
            made = setting([0.7, 0.3], even, [five(error)], Question(rates=rates))
            show(f"poor labelers, error {error}", made, [Plan(1000, (t,), 0) for t in (2.0, 3.0, 5.0)])
        for right in (0.95, 0.99, 0.999, 1.0):
            made = setting([0.7, 0.3], right, [five(0.2)], Question(rates=rates))
            show(f"accuracy {right}", made, [Plan(500, (3.0,), 0)])
    for target in ("population", "in-sample"):
        two = [labeler("a", 0.1), labeler("b", 0.2)]
        made = setting([0.7, 0.3], even, two, Question(target=target))
        show(f"two labelers, {target}", made, [Plan(n, (1.0, 1.0), 0) for n in (300, 1000, 3000)])
        show(f"one labeler and gold, {target}", made, [Plan(1000, (1.0, 0.0), g) for g in (10, 30, 100)])


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    sets = {k: int(sys.argv[2]) for k in SETS} if len(sys.argv) > 2 else SETS
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, jax {jax.__version__}"
    print(f"{platform.machine()}, 1 process: {versions}")
    for rates in ("known", "learned"):
        if what in (rates, "all"):
            random_plans(rates, sets[rates])
    if what in ("classes", "all"):
        random_plans("learned", sets["learned"], classes=3, number=10)
    if what in ("regimes", "all"):
        regimes(sets)


if __name__ == "__main__":
    main()
