"""A burn-in of 50 and a look after 200 sweeps against 250 and 3000: do answers stay what they were?

Run: python benchmarks/burn_in.py [--sets 100] [--data FOLDER] [--out FILE] [beginnings of cases' names: all]

One long run of `fit_joint` a data set (50 sweeps of burn-in, then some 500 to 2000 of every chain) holds the
answers of all rules, since a rule only says which of its sweeps count: rules are compared on the same draws.

    old   250 sweeps of burn-in, first look after 3000 sweeps in all (200 of each chain, if that is more), the
          next after half as many again or what the ESS asks for
    new   50, first look after 200 of each chain, the next by `effort.next_target`

each by two standards: "range" (that of the default answer: R-hat 1.02, ESS 300 of the middle and of both ends
of what people ask), "all" (that of `fit_joint`: R-hat 1.01, ESS 400 of every monitored quantity) and "quick"
(planning's: 1.03, 150; old with 2000 sweeps). The reference is the whole run without its first 200 sweeps.

Cases (name: model, classes, samples, labelers, labels a sample); truth is drawn from what each model says,
or, where that is told, from another. Labelers are right in .65-.9 of a class, the classifier in .8.

Columns, over accuracy, precision and recall of class 1 of the samples at hand, the share of class 0 and the
first labeler's accuracy: coverage of 95 % intervals; `ends`: root mean square of the distance of both ends
from the reference's, in widths; `bias`: mean distance of the posterior mean from the reference's in posterior
standard deviations, with its standard error over sets; `sweeps` per chain, burn-in included (median);
`capped`: whole runs that were not enough; `ESS`: of the worst monitored quantity at the end, by the rate of
the whole run: median and 5 % quantile. "prior" cases draw the truth from the prior as `sbc.py` does: p-values
that the ranks of the truth are uniform.

Measured: AMD EPYC, 2 cores (busy), Python 3.11.7, jax 0.10.2, numpy 2.4.6. Root mean squares over the five
numbers; `width` over the reference's; an end may have a standard error of a twentieth of the width.

                             sets     covers    ends  width  bias, rms  sweeps   ESS: median, 5 %
    C=2 T=5         range old 100       .972    .016  1.002       .022     450       1503   718
                          new           .976    .019   .999       .026     250       1503   718
                    all   old           .972    .016  1.001       .022     450       1171   691
                          new           .976    .019   .999       .026     250       1162   673
    C=4 T=4         range old  24       .958    .022  1.000       .018     450       1909  1560
                          new           .958    .037   .998       .028     250       1909  1560
                    all   old           .958    .022  1.000       .017     450        956   682
                          new           .958    .037   .998       .028     250        924   711
    prior copying   range old  24       .942    .027   .993       .018     450        970   453
    C=2                   new           .942    .033  1.003       .028     250        970   446
                    all   old           .942    .023  1.001       .007     850        637   433
                          new           .942    .016   .998       .010     650        631   467
    prior shared    range old  24       .950    .048   .993       .028     450        565   195
    C=2                   new           .950    .078  1.008       .064     250        529   189
                    all   old           .950    .029   .992       .015     704        557   277
                          new           .950    .042   .997       .054     525        538   329
    weak C=2        range old  24      1.000    .008   .997       .014     950        315   162
                          new          1.000    .014  1.001       .030     900        341   208
                    all   old          1.000    .005   .999       .007     950        313   162
                          new          1.000    .012  1.001       .026     950        390   208

Over all 212 sets (four more of each small case) 1058 intervals: the new rule's hold the truth in two where
the old rule's do not, never the other way round (.970 and .968). Ends under shared strata move by .02
widths for shares and labelers; in-sample metrics of 60 samples are counts, and one step of a count is up to
.9 of a width in one set. The largest mean bias: accuracy under copying by "range", -.016 standard
deviations (standard error .005), which is what is left of the start at the mode; by "all" -.003 (.002).
Runs stop where the ESS asked for is there by the rate of the whole run too, but for weak labelers, half of
whose runs were not enough (old 11 and 17 of 24, new 7 and 12), and one of shared strata. Ranks of 24 sets:
the smallest of 20 p-values is .0057 by the old rule and .0043 by the new, both of in-sample recall under
copying: no rule's matter, and too few sets to see small errors. By "quick": ends .014 to .052 old, .031 to
.077 new.

Public, one set each of 400 samples with three labels: bluebirds ends .007 old, .003 new, 850 and 750 sweeps;
rte and restaurant mix badly (ESS 132 to 177 after the whole run, both rules go on to its end and further).
Not run: own, crowd, wrong, shared C=4, three classes from the prior.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import argparse  # noqa: E402
import json  # noqa: E402
import pickle  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NamedTuple  # noqa: E402
from unittest.mock import patch  # noqa: E402

import numpy as np  # noqa: E402
from scipy.stats import kstest  # noqa: E402

from jtruth.labels import Labels  # noqa: E402
from jtruth.learning import Beliefs  # noqa: E402
from jtruth.learning.joint import posterior  # noqa: E402
from jtruth.sampling import Effort  # noqa: E402
from jtruth.sampling.effort import diagnose, good, next_target  # noqa: E402
from jtruth.stats.chains import effective_sample_size, tail_sample_size  # noqa: E402

FIRST = 50
NAMES = ("accuracy", "precision", "recall", "share", "labeler")


class Case(NamedTuple):
    """A model that is fitted, and where its data come from."""

    model: str
    classes: int
    samples: int
    labelers: int
    each: int  # labels of a sample
    right: tuple[float, float] = (0.65, 0.9)
    truth: str = ""  # the model that draws; empty: the one that is fitted
    long: int = 2000  # sweeps of each chain of the whole run


CASES = {
    "C=2 T=5": Case("independent", 2, 200, 5, 5, long=1000),
    "C=4 T=4": Case("independent", 4, 100, 4, 4, long=500),
    "weak C=2": Case("independent", 2, 80, 3, 3, (0.55, 0.75), long=900),
    "crowd C=2": Case("independent", 2, 150, 30, 3),
    "shared C=2": Case("shared_strata", 2, 200, 5, 5),
    "shared C=4": Case("shared_strata", 4, 100, 3, 3, long=1500),
    "own C=2": Case("labeler_strata", 2, 200, 4, 4),
    "copying C=2": Case("copying", 2, 200, 3, 3),
    "prior independent C=2": Case("independent", 2, 60, 5, 5, truth="prior", long=500),
    "prior shared C=2": Case("shared_strata", 2, 60, 5, 5, truth="prior", long=900),
    "prior own C=2": Case("labeler_strata", 2, 60, 5, 5, truth="prior", long=900),
    "prior copying C=2": Case("copying", 2, 60, 5, 5, truth="prior", long=900),
    "prior independent C=3": Case("independent", 3, 60, 4, 4, truth="prior", long=500),
    "prior copying C=3": Case("copying", 3, 60, 4, 4, truth="prior", long=900),
    "prior shared C=3": Case("shared_strata", 3, 60, 4, 4, truth="prior", long=900),
    "public bluebirds": Case("shared_strata", 2, 108, 38, 3, long=1200),
    "public rte": Case("shared_strata", 2, 400, 164, 3, long=1200),
    "public restaurant": Case("copying", 2, 400, 37, 3, long=1200),
    "wrong C=2": Case("shared_strata", 2, 100, 3, 3, truth="independent"),
}


class Rule(NamedTuple):
    """Which sweeps of a run count."""

    burn_in: int
    old: bool
    effort: Effort

    def stop(self, run, monitored):
        """(sweeps kept of each chain, whether they are enough)."""
        chains, sweeps = next(iter(run.values())).shape[:2]
        skip = self.burn_in - FIRST
        target = max(-(-self.effort.min_sweeps // chains), 200)
        while True:
            target = min(target, sweeps - skip)
            seen = {n: run[n][:, skip : skip + target] for n in monitored}
            rhat, ess = diagnose(seen, self.effort.ends)
            if good(rhat, ess, self.effort) or target == sweeps - skip:
                return target, good(rhat, ess, self.effort)
            if self.old:
                fewest = np.nanmin([self.effort.min_ess, *ess.values()])
                target = int(np.ceil(target * np.clip(1.2 * self.effort.min_ess / max(fewest, 1), 1.5, 3)))
            else:
                target = next_target(target, rhat, ess, self.effort)


RANGE = Effort(max_rhat=1.02, min_ess=300, ends=True, nuisance=False)
QUICK = Effort(max_rhat=1.03, min_ess=150)
RULES = {
    "range old": Rule(250, True, RANGE._replace(min_sweeps=3000)),
    "range new": Rule(50, False, RANGE),
    "all old": Rule(250, True, Effort(min_sweeps=3000)),
    "all new": Rule(50, False, Effort()),
    "quick old": Rule(250, True, QUICK._replace(min_sweeps=2000)),
    "quick new": Rule(50, False, QUICK),
}


def symbols(rng, law):
    """One draw of each law (..., classes)."""
    cumulative = np.cumsum(law, axis=-1)
    return (rng.random(law.shape[:-1])[..., None] * cumulative[..., -1:] > cumulative).sum(axis=-1)


def rows_of(right, y, classes):
    """Laws (..., classes): `right` at class `y`, the rest spread evenly."""
    off = ((1 - right) / (classes - 1))[..., None]
    return np.where(np.arange(classes) == y[..., None], right[..., None], off)


def draw(case, seed):
    """(labels, predictions, true values of `NAMES`)."""
    rng, classes, n = np.random.default_rng([seed, 50, len(case.model)]), case.classes, case.samples
    truth = case.truth or case.model
    if truth == "prior":
        return drawn_from_prior(case, seed)
    prior = rng.dirichlet(np.full(classes, 5.0))
    y = rng.choice(classes, n, p=prior)
    right = rng.uniform(*case.right, (case.labelers, classes))
    own = np.clip(0.8 + 0.08 * rng.standard_normal(classes), 0.5, 0.97)
    hard = rng.random(n) < (0.2 if truth.endswith("strata") else 0.0)
    own_right = right[:, y].T * np.where(hard, 0.5, 1.0)[:, None]  # (samples, labelers)
    z = symbols(rng, rows_of(own_right, y[:, None], classes))
    k = own[y] * np.where(hard & (truth == "shared_strata"), 0.6, 1.0)
    y_pred = symbols(rng, rows_of(k, y, classes))
    asked = rng.random(z.shape).argsort(axis=1) < case.each
    if truth == "copying":
        copied = rng.random(n) < 0.3
        y_pred = np.where(copied, z[np.arange(n), rng.integers(0, case.labelers, n)], y_pred)
    n_table = np.zeros((classes, classes))
    np.add.at(n_table, (y, y_pred), 1)
    easy = 0.5 * 0.2 + 0.8 if truth.endswith("strata") else 1.0
    values = [*in_sample(n_table[None])[0], prior[0], easy * prior @ right[0]]
    return Labels.from_matrix(np.where(asked, z, -1), classes), y_pred, np.array(values)


def public(folder, seed):
    """400 samples of a public set with three of their labels, and its first model or else one labeler."""
    rng = np.random.default_rng([seed, 53])
    classes = len(json.loads((folder / "classes.json").read_text())["classes"])
    task, worker, label = np.loadtxt(folder / "labels.csv", int, delimiter=",", skiprows=1).T
    y_pred = np.full(task.max() + 1, -1)
    if (folder / "predictions.csv").exists():
        rows = [row.split(",") for row in (folder / "predictions.csv").read_text().splitlines()[1:]]
        for model, at, symbol in rows:
            if model == rows[0][0] and int(at) < y_pred.size:
                y_pred[int(at)] = int(symbol)
    else:
        judge = np.bincount(worker).argmax()
        y_pred[task[worker == judge]] = label[worker == judge]
        task, worker, label = (a[worker != judge] for a in (task, worker, label))
    order = rng.permutation(task.size)
    task, worker, label = (a[order] for a in (task, worker, label))
    place = np.argsort(np.argsort(task, kind="stable"))
    first = np.r_[0, np.cumsum(np.bincount(task))][task]
    chosen = rng.permutation(np.unique(task[y_pred[task] >= 0]))[:400]
    keep = np.isin(task, chosen) & (place - first < 3)
    worker, sample = (
        np.unique(worker[keep], return_inverse=True)[1],
        np.searchsorted(np.sort(chosen), task[keep]),
    )
    return Labels(sample, worker, label[keep], chosen.size, worker.max() + 1, classes), y_pred[
        np.sort(chosen)
    ]


def drawn_from_prior(case, seed):
    """As `benchmarks/sbc.py` draws them."""
    from sbc import draw_joint

    z, y_pred, found = draw_joint(case.model, np.random.default_rng([seed, 51]), case.classes)
    names = ("in-sample accuracy", "in-sample precision", "in-sample recall", "prior", "accuracy")
    return Labels.from_matrix(z, case.classes), y_pred, np.array([found[n] for n in names])


def in_sample(n):
    """(draws, 3) accuracy, precision and recall of class 1."""
    with np.errstate(invalid="ignore"):
        own = np.diagonal(n, axis1=-2, axis2=-1)
        return np.stack([own.sum(-1) / n.sum((-2, -1)), n[:, 1, 1] / n[:, :, 1].sum(-1),
                         n[:, 1, 1] / n[:, 1].sum(-1)], axis=-1)  # fmt: skip


def long_run(labels, y_pred, case, key):
    """(draws, or None where halves start apart; names monitored by "all"; by "range") of one long run."""
    seen = {}

    def keep(*args, **options):
        seen["run"], seen["digest"] = inner(*args, **options), options["digest"]
        return seen["run"]

    inner, long = posterior.run_gibbs, case.long
    effort = Effort(burn_in=FIRST, min_sweeps=4 * long, max_sweeps=32 * long, min_ess=1e9)
    with patch.object(posterior, "run_gibbs", keep), patch("jtruth.sampling.effort._SHORTEST", long):
        effort = effort._replace(max_sweeps=chains_of(labels, y_pred, case) * long)
        posterior.fit_joint(labels, y_pred=y_pred, key=key, effort=effort, **options_of(case))
    run, digest = seen["run"], seen["digest"]
    return (None if run.apart else run.draws), digest.monitored, digest.essential


def options_of(case):
    """The model, and the prior that sbc.py draws from where the truth comes from it."""
    beliefs = Beliefs(diagonal=8.0, off_diagonal_total=2.0) if case.truth == "prior" else Beliefs()
    return {"dependence": case.model, "beliefs": beliefs}


def chains_of(labels, y_pred, case):
    """How many chains `fit_joint` takes."""
    few = Effort(burn_in=0, min_sweeps=128, max_sweeps=128)
    fit = posterior.fit_joint(labels, y_pred=y_pred, key=0, effort=few, **options_of(case))
    return int(fit.chain[-1]) + 1


def numbers(run, skip, target):
    """(draws, len(NAMES)) of some sweeps, chain after chain."""
    part = {k: v[:, skip : skip + target] for k, v in run.items()}
    flat = {k: v.reshape(-1, *v.shape[2:]) for k, v in part.items()}
    return np.column_stack([in_sample(flat["counts"]), flat["prior"][:, 0], flat["labeler_accuracy"][:, 0]])


def summary(values):
    """(len(NAMES), 4): mean, sd, ends of the 95 % interval."""
    low, high = np.nanquantile(values, [0.025, 0.975], axis=0)
    return np.stack([np.nanmean(values, axis=0), np.nanstd(values, axis=0), low, high], axis=1)


def rates(run, names, ends):
    """Effective draws of a draw of the worst quantity, by the whole run."""
    worst = np.inf
    for name in names:
        draws = run[name][:, 200:].astype(np.float64)
        ess = effective_sample_size(draws)
        if ends:
            ess = np.fmin(ess, tail_sample_size(draws))
        worst = min(worst, np.nanmin(np.r_[np.inf, np.ravel(ess)]) / (draws.shape[0] * draws.shape[1]))
    return worst


def compared(labels, y_pred, case, key, truth):
    """The reference, and of each rule: summary, sweeps, enough, ESS by the rate of the whole run, ranks."""
    run, every, few = long_run(labels, y_pred, case, key)
    if run is None:
        return None
    chains = run["prior"].shape[0]
    found = {}
    rate = {True: rates(run, few, True), False: rates(run, every, False)}
    for name, rule in RULES.items():
        target, enough = rule.stop(run, every if rule.effort.nuisance else few)
        ess = rate[rule.effort.ends] * target * chains
        draws = numbers(run, rule.burn_in - FIRST, target)
        ranks = [place(key, t, d) for t, d in zip(truth, np.nan_to_num(draws, nan=-1).T, strict=True)]
        found[name] = (summary(draws), rule.burn_in + target, enough, ess, ranks)
    return summary(numbers(run, 200, case.long)), found


def place(seed, truth, draws):
    """Where the truth stands among 60 draws far apart, in (0, 1); ties are broken at random."""
    rng, draws = np.random.default_rng([seed, 52]), draws[:: max(1, len(draws) // 60)]
    tie = np.abs(draws - truth) <= 1e-9
    return (((draws < truth) & ~tie).sum() + rng.random() * (tie.sum() + 1)) / (len(draws) + 1)


def drawn(name, case, seed, data):
    """A simulated set, or a public one, whose truth is not looked at."""
    if not name.startswith("public"):
        return draw(case, seed)
    return *public(data / name.split()[1], seed), np.full(len(NAMES), np.nan)


def report(title, rows, truths, prior):
    """A line for each rule."""
    reference = np.array([r[0] for r in rows])
    width = reference[..., 3] - reference[..., 2]
    print(f"{title} ({len(rows)} sets)", flush=True)
    for name in RULES:
        mine = [r[1][name] for r in rows]
        values = np.array([m[0] for m in mine])
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = (values[..., 2:] - reference[..., 2:]) / np.where(width > 0, width, np.nan)[..., None]
            bias = (values[..., 0] - reference[..., 0]) / reference[..., 1]
        error = np.nanstd(bias, axis=0) / np.sqrt(len(rows))
        line = f"    {name:10}"
        if np.isfinite(truths).any():
            inside = (values[..., 2] <= truths + 1e-9) & (truths <= values[..., 3] + 1e-9)
            there = np.where(truths >= 0, 1.0, np.nan)  # 0/0 is no truth
            line += " covers " + " ".join(f"{c:.3f}" for c in np.nanmean(inside * there, axis=0))
        line += f"  ends {np.sqrt(np.nanmean(gap**2)):.3f}  bias " + " ".join(
            f"{b:+.3f}({e:.3f})" for b, e in zip(np.nanmean(bias, axis=0), error, strict=True)
        )
        sweeps, ess = [m[1] for m in mine], [m[3] for m in mine]
        line += f"  sweeps {np.median(sweeps):.0f} capped {sum(not m[2] for m in mine)}"
        line += f"  ESS {np.median(ess):.0f} {np.quantile(ess, 0.05):.0f}"
        if prior:
            ranks = np.array([m[4] for m in mine]).T
            p = [
                2 * min(kstest(u, "uniform").pvalue, kstest(np.abs(2 * u - 1), "uniform").pvalue)
                for u in ranks
            ]
            line += "  ranks p " + " ".join(f"{min(v, 1):.2g}" for v in p)
        print(line, flush=True)


def main():
    """Cases one after the other; what is found is kept in a file as it comes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("burn_in.pickle"))
    parser.add_argument("cases", nargs="*")
    chosen = parser.parse_args()
    kept = pickle.loads(chosen.out.read_bytes()) if chosen.out.exists() else {}
    began = time.process_time()
    cases = {n: c for n, c in CASES.items() if not chosen.cases or n.startswith(tuple(chosen.cases))}
    for seed in range(chosen.first, chosen.first + chosen.sets):
        for name, case in cases.items():
            if (name, seed) in kept or time.process_time() - began > chosen.seconds:
                continue
            labels, y_pred, truth = drawn(name, case, seed, chosen.data)
            kept[name, seed] = compared(labels, y_pred, case, seed, truth), truth
        if seed % 4 == 3:
            chosen.out.write_bytes(pickle.dumps(kept))
            print(f"{seed + 1} sets, {time.process_time() - began:.0f} s of CPU", file=sys.stderr, flush=True)
    chosen.out.write_bytes(pickle.dumps(kept))
    for name, case in cases.items():
        mine = [v for (n, _), v in kept.items() if n == name and v[0] is not None]
        if mine:
            report(name, [m[0] for m in mine], np.array([m[1] for m in mine]), case.truth == "prior")


if __name__ == "__main__":
    main()
