"""Coverage of intervals of `preferences` for new comparisons. Simulated, nominal 95 %.

Run: python -m benchmarks preferences [sets per setting, 200]
Two systems, shares .5, .3, .2 of first, second and tie, so the first wins .6. Panels: three
judges right in .6 to .8 of 100 comparisons, independent; or with position bias (in .2 of answers the first
shown is taken, both orders seen); or of one family (in 60 % of the comparisons all give one common answer,
right in .65). "As given": the answers' own win rate, correct for one judge and wrong
for judges who err. "Assumed": assume="independent". "Predictive": the
default. Strengths: five systems, four pairs a question, two judges with an order effect of .4, answers
to a question joined by a normal copula of .5. Coverage +- its Monte Carlo error, mean width:

AMD EPYC, 2 cores shared: Python 3.11.7, NumPy 2.4.6, SciPy 1.17.1, JAX 0.10.2

    one judge as given, 20 comparisons               .942 +- .005, .347   (2000 sets)
    one judge as given, 50                           .951 +- .005, .232   (2000)
    one judge as given, 200                          .952 +- .005, .120   (2000)
    position bias of a judge, 50 in both orders      .946 +- .010, .140   (500)
    strengths of five systems, 60 questions          .952 +- .010, .661   (500)
    judges independent, assumed                      .970 +- .017, .244   (100)
    judges independent, predictive                  1.000 +- .000, .648   (100)
    judges with position bias, as given              .570 +- .050, .110   (100)
    judges with position bias, assumed               .970 +- .017, .213   (100)
    judges with position bias, predictive           1.000 +- .000, .643   (100)
    one family, assumed                              .940 +- .024, .178   (100)
    one family, predictive                          1.000 +- .000, .636   (100)
    one family, 30 verified                          .945 +- .016, .234   (200)

Public data, win rate of response 1 for new comparisons: as given; with all verified; without gold.

    autoj_pairwise (1392)  .493 [.470, .518]   .508 [.485, .530]   not identified; the judge repeats himself
                           in .834 [.813, .853] when exchanged, and the second shown wins .526 [.516, .535]
    pandalm_people (999)   .473 [.445, .501]   .475 [.447, .504]   .476 [.181, .798]
    pandalm_judges (999)   .489 [.467, .512]   .475 [.447, .504]   .530 [.204, .829]
"""

import sys
import time
from functools import partial

import numpy as np
from scipy.special import ndtr

from jtruth.pairwise import Comparisons, preferences

SHARES = np.array([0.5, 0.3, 0.2])  # of comparisons: first better, second better, tie
WIN = float(SHARES @ [1, 0, 0.5])


def of_two(answers, judge, exchanged, item, number, gold=None):
    """Comparisons of two systems from columns."""
    nobody = np.full(number, -1)
    names = tuple(f"judge {j}" for j in range(judge.max() + 1))
    return Comparisons(
        ("x", "y"), names, tuple(map(str, range(number))), np.arange(number), np.tile([0, 1], (number, 1)),
        item, judge, exchanged, answers, nobody if gold is None else gold,
    )  # fmt: skip


def two_systems(rng, number=100, judges=3, bias=0.0, family=0.0, gold=0):
    """Judges right with .6 to .8, who see both orders if they favor the first shown; a share errs alike."""
    truth = rng.choice(3, number, p=SHARES)
    orders = (0, 1) if bias else (0,)
    alike = rng.random(number) < family
    common = np.where(rng.random(number) < 0.65, truth, rng.choice(3, number, p=[0.5, 0.4, 0.1]))
    columns = []
    for j in range(judges):
        right = rng.uniform(0.6, 0.8)
        for o in orders:
            own = np.where(rng.random(number) < right, truth, rng.choice(3, number, p=[0.4, 0.4, 0.2]))
            own = np.where(alike, common, own)
            own = np.where(rng.random(number) < bias, o, own)  # 0, the first of the pair, is shown first
            columns.append((own, np.full(number, j), np.full(number, o), np.arange(number)))
    known = np.full(number, -1)
    chosen = rng.choice(number, gold, replace=False)
    known[chosen] = truth[chosen]
    answers, judge, exchanged, item = map(np.concatenate, zip(*columns, strict=True))
    return of_two(answers, judge, exchanged, item, number, known)


def measured(name, times, make, rate, **options):
    """Coverage and width of an interval over simulated sets."""
    hits, widths, start = [], [], time.time()
    for k in range(times):
        found = preferences(make(np.random.default_rng(k)), key=k, **options)
        for low, high, true in rate(found):
            hits.append(low <= true <= high)
            widths.append(high - low)
    p = np.mean(hits)
    error = np.sqrt(p * (1 - p) / times)
    took = f"{times} sets, {time.time() - start:.0f} s"
    print(f"{name:<55} {p:.3f} +- {error:.3f}, width {np.mean(widths):.3f}, {took}", flush=True)


def rate_of(by):
    """Intervals of a row of the win rates, all of which are of WIN here; none if it is not there."""
    rows = lambda found: [one for one in found.win_rates if one["by"] == by]  # noqa: E731
    true = {"x": WIN, "y": 1 - WIN}
    return lambda found: [(one["low"], one["high"], true[one["system"]]) for one in rows(found)]


def bias_of(found):
    """Position bias: with probability .2 the first shown is chosen whatever it is."""
    return [(one["first_shown"]["low"], one["first_shown"]["high"], 0.6) for one in found.judges]


def one_judge(rng, number):
    """One judge who answers once."""
    answers = rng.choice(3, number, p=SHARES)
    zeros = np.zeros(number, int)
    return of_two(answers, zeros, zeros, np.arange(number), number)


STRENGTH = np.array([0.8, 0.3, 0.0, -0.4, -0.7])


def several(rng, questions=60, judges=2, bias=0.4):
    """Five systems, four pairs a question, whose answers hang together through a normal copula of .5."""
    pairs = np.array([(a, b) for a in range(5) for b in range(a + 1, 5)])
    question = np.repeat(np.arange(questions), 4)
    chosen = np.concatenate([rng.choice(10, 4, replace=False) for _ in range(questions)])
    pair = pairs[chosen]
    item, judge = np.tile(np.arange(len(pair)), judges), np.repeat(np.arange(judges), len(pair))
    exchanged = rng.integers(0, 2, len(item))
    d = STRENGTH[pair[item, 0]] - STRENGTH[pair[item, 1]] + bias * (1 - 2 * exchanged)
    score = np.stack([d / 2, -d / 2, np.full(len(d), np.log(0.4))], axis=1)
    z = np.sqrt(0.5) * rng.normal(size=(questions, 3))[question[item]] + np.sqrt(0.5) * rng.normal(
        size=score.shape
    )
    answer = (score - np.log(-np.log(ndtr(z)))).argmax(axis=1)  # Gumbel: shares are Davidson's
    names = tuple(f"{q}-{p}" for q, p in zip(question, chosen, strict=True))
    judges = tuple(f"judge {j}" for j in range(judges))
    return Comparisons(tuple("abcde"), judges, names, question, pair, item, judge, exchanged,
                        answer, np.full(len(pair), -1))  # fmt: skip


def strengths(found):
    """Intervals of all strengths."""
    rows = {one["system"]: one["strength"] for one in found.strengths}
    return [
        (rows[name]["low"], rows[name]["high"], true) for name, true in zip("abcde", STRENGTH, strict=True)
    ]


if __name__ == "__main__":
    few = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for size in (20, 50, 200):
        name = f"one judge as given, {size} comparisons"
        measured(name, 5 * few, partial(one_judge, number=size), rate_of("judge 0"))
    measured("strengths, 5 systems, 60 questions of 4 pairs", 5 * few, several, strengths)
    biased, family = partial(two_systems, bias=0.2), partial(two_systems, family=0.6)
    for name, make, options in (
        ("judges independent, assumed", two_systems, {"assume": "independent"}),
        ("judges independent, predictive", two_systems, {}),
        ("judges with position bias, assumed independent", biased, {"assume": "independent"}),
        ("judges with position bias, predictive", biased, {}),
        ("one family, assumed independent", family, {"assume": "independent"}),
        ("one family, predictive", family, {}),
        ("one family, 30 verified", partial(family, gold=30), {}),
    ):
        measured(name, few, make, rate_of("truth"), **options)
    measured("judges with position bias, as given", few, biased, rate_of("all answers"), assume="independent")
    few_labels = partial(two_systems, bias=0.2, judges=1, number=50)
    measured("position bias of a judge, 50 in both orders", 5 * few, few_labels, bias_of)
