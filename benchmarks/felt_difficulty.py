"""Does a classifier feel what is hard for labelers? An unknown share rho of it, beside the hull and the pool.

Run: python benchmarks/felt_difficulty.py fit DATA CACHE           every model on every case, once; 8 minutes
     python benchmarks/felt_difficulty.py rho CACHE [METRIC]       rho unknown against the hull, no gold
     python benchmarks/felt_difficulty.py comb CACHE               the "comb" and a mixture of taus, with gold

Models: `jtruth.learning.joint.partly_shared` (rho ~ Beta(m, 1 - m); m = .5, or learned: the m under which the
truths of all other sets and families have the largest density, by importance weights on the draws) and those
of the range. Cases: with five labels a sample, each public set that has as many (not restaurant) with its
shipped classifiers (3), two simulated ones of accuracy .8 (10) and up to three of its labelers graded by the
others (12); and two of each of six simulated families with four labelers (12). N = 400, bluebirds 108. Every
number is a mean over sets (families) of means over cases, 4 draws of gold. Independent units are the 5 sets
and 6 families: sets differ so much that the error of a coverage over five sets is about .14; but all rules
are judged on the same cases. Draws of gold add .02.
Measured: AMD EPYC, 2 shared cores, Python 3.11, jax 0.10.2. Coverage / width / error, nominal 95 %.
    no gold                       public sets (25 cases)     families (12 cases)
    accuracy   hull (shipped)     .730 / .172 / .076         .833 / .307 / .056
               rho, m = .5        .480 / .107 / .079         .750 / .176 / .057
               rho, m learned     .520 / .107 / .078         .750 / .176 / .061      m .6 (.4 to .7)
               hull, rho for strata .730 / .164 / .077       .833 / .275 / .064
               pool of its models .610 / .146 / .076         .833 / .236 / .056
               pool of two strata .650 / .119 / .076         .833 / .200 / .054
    precision  hull (shipped)     .800 / .551 / .170         1.000 / .642 / .053     2 sets, 11 + 12 cases
               rho, m learned     .800 / .376 / .143         .833 / .312 / .065      m .1
    recall     hull (shipped)     1.000 / .424 / .072        1.000 / .466 / .082
               rho, m learned     .717 / .237 / .087         .750 / .260 / .093      m .4 (.1 to .7)
               hull, rho for strata 1.000 / .398 / .070      1.000 / .431 / .090

Read: rho alone is not as honest as the hull with five labels a sample (.52 against .73 of accuracies, .72
against 1 of recalls), nor as the pool of its own two ends: it replaces nothing and is an option
(assume="partly_shared"). In the hull, in place of the two strata, it holds as many at 5 to 10 % less width
(with m learned instead of .5 fewer recalls, .90): within the error of so few sets, and not adopted. The mean
of rho that is learned differs by metric (.1, .4, .6): the data do not know it. What all of them miss is the
same: labelers wrong together (faces, dogs, the family "together").
    gold       accuracy           public sets                families
    10 gold    shipped            .918 / .309 / .059         .958 / .302 / .053
               comb               .885 / .220 / .060         .938 / .237 / .051
    30 gold    PPI++ alone        .938 / .218 / .046         1.000 / .233 / .037
               shipped            .927 / .192 / .043         1.000 / .200 / .031
               comb               .844 / .155 / .045         .958 / .174 / .030
               half comb          .927 / .190 / .042         1.000 / .196 / .029
               mixture of taus    .880 / .178 / .043         .979 / .190 / .029
    100 gold   PPI++ alone        .968 / .085 / .017         .938 / .106 / .022
               shipped            .957 / .083 / .016         .958 / .102 / .021
               comb               .939 / .073 / .016         .958 / .097 / .022
               mixture of taus    .957 / .079 / .016         .958 / .100 / .022

"comb": the pooled draws of the hull's models, smoothed, 90 %, and 10 % uniform, times the law of PPI++. In
another run (30 gold: .862 / .152) it was .852 / .153 where PPI++ takes the posterior of shared strata for a
guess, .852 / .160 with the flat part learned on other sets. "half comb": its density and the shipped law's,
half each. "mixture of taus": five from .05 to 1.5 with weights learned on the other sets. None is .8 of PPI++
and holds .93; half the comb buys 1 % of width. So what is shipped stays: .88 of PPI++ at 30 gold here.

"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import sys  # noqa: E402
import time  # noqa: E402
from collections import defaultdict  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NamedTuple  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
import shared_errors  # noqa: E402
from scipy.ndimage import gaussian_filter1d  # noqa: E402
from scipy.stats import t as student  # noqa: E402

from jtruth._host import smoothed_vote_shares  # noqa: E402
from jtruth.evaluation import inputs  # noqa: E402
from jtruth.evaluation.assumptions.missed import FAMILIES, FLAT, SETS, kind_of  # noqa: E402
from jtruth.evaluation.assumptions.registry import How, entries  # noqa: E402
from jtruth.evaluation.gold.measured import judged_samples  # noqa: E402
from jtruth.evaluation.gold.pooled import together  # noqa: E402
from jtruth.sampling import Effort  # noqa: E402
from jtruth.stats.predictive import opinion, predictive  # noqa: E402
from jtruth.tables.metrics import named_metric  # noqa: E402

KEPT, LABELS, BOUNDS = 1000, 5, (0.0, 1.0)
EFFORT = Effort(max_rhat=1.03, min_ess=200, max_work=6e8, nuisance=False)
HULL = ("majority_vote", "labeler_strata", "shared_strata", "random_effect")
NEW, FELT = "partly_shared", np.arange(1, 10) / 10
TAUS = np.array([0.05, 0.15, 0.4, 0.8, 1.5])
PLACES = np.linspace(0, 1, 2001)
GOLD_DRAWS = 4


def cases(data):
    """(set, case, truth, labels, predictions): five labels a sample on public sets, four in families."""
    shared_errors.LABELS = LABELS
    for name in SETS:
        if name != "restaurant":  # has three labels a sample
            for case in shared_errors.real_cases(data / name, 0):
                yield name, *case
    for family in FAMILIES:
        for k in range(2):
            yield f"sim {family}", str(k), *shared_errors.simulated(family, k)


def fit_all(data, cache):
    """Every model on every case, once, into the folder `cache`."""
    for number, (name, case, y, labels, y_pred) in enumerate(cases(Path(data))):
        file = Path(cache) / f"{number:03d}.npz"
        if file.exists():
            continue
        begin = time.process_time()
        given = inputs.read(y_pred, labels, None, None, None, None)
        out = {"y": y, "y_pred": y_pred, "votes": labels.counts(), "set": name, "case": case}
        for entry in entries(given):
            if entry.shown or entry.name == NEW:
                found, fit = entry.fit(given, jax.random.key(number), How(EFFORT))
                kept = np.linspace(0, len(found) - 1, KEPT).astype(int)
                out[f"tables {entry.name}"] = found[kept]
                if fit is not None:
                    out[f"mixing {entry.name}"] = [fit.usable, max(fit.convergence.rhat.values())]
                    out[f"posterior {entry.name}"] = fit.class_posterior
                if entry.name == NEW:
                    out["weights"] = fit.weights[kept]
        np.savez_compressed(file, **out)
        print(number, name, case, f"{time.process_time() - begin:.1f} s", flush=True)


class Case(NamedTuple):
    """A metric of one classifier on one set."""

    unit: str  # the set or family
    truth: float
    draws: dict  # of the metric, by model
    log_odds_rho: np.ndarray | None  # (draws,) sum over classes, for other priors of rho
    y: np.ndarray
    y_pred: np.ndarray
    guess: np.ndarray  # what PPI++ takes the classes for
    metric: object

    def said(self):
        """What each model of the pool says, on the logit scale."""
        return {name: opinion(v, float(self.y.size)) for name, v in self.draws.items() if name != NEW}


def cached(cache, name):
    """Cases where the metric is defined, two classes only but for accuracy; models whose chains agree."""
    found = []
    for file in sorted(Path(cache).glob("*.npz")):
        case = dict(np.load(file))
        classes = case["votes"].shape[1]
        metric, table = named_metric(name, range(classes), 1), np.zeros((classes, classes))
        np.add.at(table, (case["y"], case["y_pred"]), 1)
        models = [key.removeprefix("tables ") for key in case if key.startswith("tables ")]
        models = [m for m in models if f"mixing {m}" not in case
                  or (case[f"mixing {m}"][0] and case[f"mixing {m}"][1] < 1.15)]  # fmt: skip
        truth = float(metric.of_table(table))
        if np.isnan(truth) or (classes > 2 and name != "accuracy") or NEW not in models:
            continue
        draws = {m: np.asarray(metric.of_table(case[f"tables {m}"].astype(float))) for m in models}
        rho = np.clip(case["weights"][:, :, 2] / case["weights"][:, :, 1:].sum(axis=2), 1e-12, 1 - 1e-12)
        votes = smoothed_vote_shares(case["votes"])
        some = [case[f"posterior {m}"] for m in models if f"posterior {m}" in case and m != NEW]
        guess = 0.5 * (votes + np.mean(some, axis=0)) if some else votes
        odds = np.log(rho / (1 - rho)).sum(axis=1)
        guess /= guess.sum(axis=1, keepdims=True)
        given = (str(case["set"]), truth, draws, odds, case["y"], case["y_pred"], guess, metric)
        found.append(Case(*given))
    return found


def without(cases, value):
    """By unit, the sum over all other units of the mean of value(case) over the cases of a unit."""
    by_unit = defaultdict(list)
    for case in cases:
        by_unit[case.unit].append(value(case))
    means = {unit: np.mean(values, axis=0) for unit, values in by_unit.items()}
    return {unit: sum(means.values()) - mean for unit, mean in means.items()}


def reweighted(case, felt):
    """Weights of the draws for a prior mean of rho other than 1/2: Beta(felt, 1 - felt)."""
    log_weight = (felt - 0.5) * case.log_odds_rho
    weight = np.exp(log_weight - log_weight.max()) * ~np.isnan(case.draws[NEW])
    return weight / weight.sum()


def density_by_felt(case):
    """Log density of the truth's logit for each prior mean of rho, smoothed, 2 % flat."""
    size, draws = float(case.y.size), case.draws[NEW]
    z = np.array([opinion(np.array([v]), size).centre if v == v else 0.0 for v in draws])
    true, width = opinion(np.array([case.truth]), size).centre, max(0.4 * z.std(), 0.05)
    near = np.exp(-0.5 * ((true - z) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    flat = FLAT / (1 + np.exp(-true)) / (1 + np.exp(true))
    return [np.log((1 - FLAT) * reweighted(case, felt) @ near + flat) for felt in FELT]


def judge_rho(cache, name="accuracy"):
    """Without gold: the hull, pools, rho unknown with a fixed prior mean and with a learned one."""
    found, cases = defaultdict(list), cached(cache, name)
    chosen = {u: FELT[np.argmax(d)] for u, d in without(cases, density_by_felt).items()}
    print("prior mean of rho, learned without the set:", {u: round(float(f), 1) for u, f in chosen.items()})
    for case in cases:
        draws, some = case.draws, [m for m in HULL if m in case.draws]
        tails = {m: np.nanquantile(v, [0.025, 0.975]) for m, v in draws.items()}
        for felt, rule in ((0.5, "rho, mean .5"), (chosen[case.unit], "rho, learned")):
            weight, order = reweighted(case, felt), np.argsort(draws[NEW])
            upto = np.cumsum(weight[order])
            low, high = draws[NEW][order][np.searchsorted(upto, [0.025, 0.975])]
            add(found, rule, case, weight @ np.nan_to_num(draws[NEW]), low, high)
        outer = [m for m in some if not m.endswith("_strata")]
        for rule, names in (("hull", some), ("hull, rho for strata", [*outer, NEW])):
            ends, point = np.array([tails[m] for m in names]), [np.nanmean(draws[m]) for m in names]
            add(found, rule, case, np.mean(point), ends[:, 0].min(), ends[:, 1].max())
        for rule, names in (("pool", some), ("pool of strata", [m for m in some if m not in outer] or some)):
            together_ = np.concatenate([np.resize(draws[m], KEPT) for m in names])
            add(found, rule, case, np.nanmean(together_), *np.nanquantile(together_, [0.025, 0.975]))
    report(found, cases)


def log_densities(said, true):
    """Log density of the truth for each of TAUS, (taus,)."""
    scales = [np.hypot([o.scale for o in said.values()], tau) for tau in TAUS]
    away = true - np.array([o.centre for o in said.values()])
    return np.array([np.mean(student.pdf(away / s, 3) / s) for s in scales])


def weights_of_taus(cases, left):
    """Weights of a mixture of TAUS by EM on all units but `left`, every unit alike; 5 % even."""
    names = [case.unit for case in cases if case.unit != left]
    rows = np.array([log_densities(c.said(), opinion(np.array([c.truth]), float(c.y.size)).centre)
                     for c in cases if c.unit != left])  # fmt: skip
    share, weight = np.array([1 / names.count(n) for n in names]), np.full(TAUS.size, 1 / TAUS.size)
    for _ in range(300):
        part = weight * rows
        weight = share @ (part / part.sum(axis=1, keepdims=True)) / share.sum()
    return 0.95 * weight + 0.05 / TAUS.size


def smooth(draws):
    """Density of draws at PLACES, sum 1; Silverman's width for 400 draws."""
    draws = draws[~np.isnan(draws)]
    counts = np.histogram(draws, bins=np.append(PLACES - 0.00025, 1.00025))[0].astype(float)
    width = max(0.9 * draws.std() * 400**-0.2, 1e-3) / 0.0005
    return gaussian_filter1d(counts, width, mode="reflect") / counts.sum()


def judge_comb(cache):
    """With gold: PPI++, what is shipped, the comb, halves of both, a mixture of taus learned elsewhere."""
    found, cases = defaultdict(list), cached(cache, "accuracy")
    learned = {unit: weights_of_taus(cases, unit) for unit in {case.unit for case in cases}}
    for number, case in enumerate(cases):
        said, size = case.said(), float(case.y.size)
        scaled = [
            o._replace(scale=float(np.hypot(o.scale, tau)), weight=float(w))
            for o in said.values()
            for tau, w in zip(TAUS, learned[case.unit], strict=True)
        ]
        teeth = 0.9 * np.mean([smooth(case.draws[m]) for m in HULL if m in case.draws], axis=0)
        teeth += 0.1 / PLACES.size
        for gold_size in (10, 30, 100):
            for draw in range(GOLD_DRAWS if gold_size < size else 0):
                rng, gold = np.random.default_rng([number, gold_size, draw]), np.full(case.y.size, -1)
                chosen = rng.choice(case.y.size, gold_size, replace=False)
                gold[chosen] = case.y[chosen]
                ppi = judged_samples(case.y_pred, case.guess, gold).ppi(case.metric)
                law = together(said, kind_of(case.metric), ppi.law, BOUNDS, size).law
                alone, mixed = (
                    ppi.law.interval(),
                    predictive(scaled, FLAT, ppi.law, BOUNDS, size).law,
                )
                add(found, f"{gold_size} PPI++", case, np.clip(ppi.value, 0, 1), *alone[:2])
                add(found, f"{gold_size} shipped", case, law.mean, *law.interval()[:2])
                add(found, f"{gold_size} mixture of taus", case, mixed.mean, *mixed.interval()[:2])
                comb = teeth * np.asarray(ppi.law.density(PLACES)) if ppi.law.scale else smooth(law.draws)
                comb = comb / comb.sum()
                for rule, p in (("comb", comb), ("half comb", 0.5 * (comb + smooth(law.draws)))):
                    upto = np.cumsum(p)
                    ends = PLACES[np.minimum(np.searchsorted(upto, [0.025, 0.975]), PLACES.size - 1)]
                    add(found, f"{gold_size} {rule}", case, p @ PLACES, *ends)
    report(found, cases)


def add(found, rule, case, point, low, high):
    """Held, width and error of one answer."""
    step = 0.5 / case.y.size  # accuracies are whole numbers of samples, places on a grid are not
    held = low - step <= case.truth <= high + step
    found[rule].append((case.unit, (held, high - low, abs(point - case.truth))))


def report(found, cases):
    """Means over sets of means over cases, public and simulated."""
    print(len(cases), "cases of", sorted({case.unit for case in cases}))
    for rule, rows in found.items():
        parts = []
        for sim in (False, True):
            units = {u for u, _ in rows if u.startswith("sim") == sim}
            mean = np.mean([np.mean([v for u, v in rows if u == unit], axis=0) for unit in units], axis=0)
            parts.append(" / ".join(f"{v:.3f}" for v in mean))
        print(f"    {rule:<24} {parts[0]}   {parts[1]}")


if __name__ == "__main__":
    {"fit": fit_all, "rho": judge_rho, "comb": judge_comb}[sys.argv[1]](*sys.argv[2:])
