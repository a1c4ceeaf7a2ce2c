"""Labelers and class shares, without and with gold: how often do intervals hold, and how wide are they?

Run: python benchmarks/labelers.py DATA CACHE        every set and family, once each; 5 minutes

Each of six public sets (400 samples, 3 and 5 labels a sample, two subsamples), and the six simulated
families of `shared_errors` (400 samples, 4 labelers, two sets each). A labeler counts with 10 or more labels;
the truth is the share of right labels among those given. Gold: 30 or 100 random samples, two draws each.
Cases of a set share samples, so independent units are the 6 sets (6 families): every number is a mean over
sets of means over cases. Coverage differs more between sets than by chance; in brackets the lowest set.

"one model": what was printed before there were ranges, the model of independent errors.

Measured: AMD EPYC, 2 shared cores, Python 3.11, jax 0.10.2. Coverage / width / error (least coverage).

                        public sets                          simulated families
    labelers
    one model           .71 / .200 / .091 (faces .21)        .60 / .104 / .064 (gradual .00)
    range               .85 / .263 / .083 (faces .42)        .90 / .289 / .056 (together .38)
    expected            .99 / .447 / .085 (faces .92)        1.00 / .510 / .063
    30 gold alone       .98 / .555 / .125 (dogs .96)         .95 / .249 / .043 (gradual .88)
    30 gold and models  .98 / .399 / .078 (faces .90)        .93 / .213 / .038 (together .75)
    100 gold alone      .98 / .329 / .068 (cifar10h_a .96)   .97 / .119 / .021 (independent .88)
    100 gold and models .97 / .253 / .047 (faces .92)        .97 / .115 / .020 (independent .94)
    shares of classes
    one model           .72 / .117 / .058 (faces .19)        .83 / .141 / .039 (shared .50)
    range               .83 / .222 / .075 (faces .31)        1.00 / .635 / .036
    expected            .93 / .310 / .069 (faces .56)        1.00 / .650 / .040

Rank correlation of the points with the truth (labelers of sets with five or more): range .43, one model .35.
The rows "range" keep members whose chains disagree (R-hat up to 1.25 here), as ranges do now. Without these
labelers .82 / .242 (faces .31), shares .82 / .190 / .070 (faces .25) on public sets, simulated ones as now.

Tried on half of the cases (one subsample: 11 public cases, 250 labelers; 6 of families, 24), three draws of
gold; what is learned is learned without the set or family that is judged.
    no gold  range without such members    .784 / .231 / .083   .833 / .247 / .059
             all members kept (now)        .823 / .253 / .083   .833 / .247 / .059  (faces .26 -> .37)
             without the random effect     .765 / .208 / .083   .833 / .197 / .059  (bluebirds .82 -> .71)
             expected, tau .4 (shipped)    .986 / .452 / .086   1.000 / .494 / .064
             expected, tau learned         .927 / .357 / .085   .833 / .378 / .062  (together .00)
    30 gold  PPI++                         .979 / .455 / .079   .986 / .257 / .041
             tau .4 (shipped)              .955 / .311 / .056   .972 / .220 / .037  (faces .82, together .92)
             tau learned (.14 to .26)      .927 / .259 / .058   .958 / .202 / .039  (faces .71, together .83)
             ... by two classes or more    .923 / .265 / .058   .931 / .195 / .041  (together .67)
             five taus, weights learned    .935 / .274 / .057   .958 / .202 / .039  (faces .75, together .83)
             tau .8                        .945 / .369 / .061   .972 / .243 / .038  (faces .81, together .92)
             tau .4, flat part .1          .955 / .326 / .056   .972 / .223 / .036  (faces .82, together .92)
    10 gold  tau .4 (shipped)              .979 / .332 / .065   .958 / .325 / .054  (together .83)
             tau .8                        .995 / .428 / .072   .986 / .396 / .056  (together 1.00)
So a tau of labelers' own does not help: most sets teach a smaller one (.02 to .23; faces and bluebirds .56,
together .94), none can foretell another's, and one twice as large is wider at 30 gold without holding more.
Labelers wrong together are wrong by one common shift; a law that treats them one by one cannot say so.
"gold alone" counts below five labels of known truth and is PPI++ above, "gold and models" what is printed.
The majority of the others without any noise is a member; of all votes, the own one among them, it held .25.
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
os.environ["JAX_PLATFORMS"] = "cpu"

import sys  # noqa: E402
from collections import defaultdict  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import shared_errors  # noqa: E402
from scipy.stats import spearmanr  # noqa: E402
from sensitivity_range import load  # noqa: E402

from jtruth.evaluation.assumptions import ranges  # noqa: E402
from jtruth.evaluation.assumptions.missed import FAMILIES, SETS  # noqa: E402
from jtruth.evaluation.assumptions.of_labelers import labeler_draws, labeler_ranges  # noqa: E402
from jtruth.evaluation.assumptions.of_shares import expected_shares, share_laws, share_ranges  # noqa: E402
from jtruth.evaluation.assumptions.registry import entries, nobody_judged  # noqa: E402
from jtruth.evaluation.gold.answer import labels_posterior  # noqa: E402
from jtruth.evaluation.gold.labelers import pooled_shares, right_shares  # noqa: E402
from jtruth.sampling import Effort  # noqa: E402
from jtruth.stats.draws import DrawsEstimate  # noqa: E402

SIZE, FEWEST, LEVEL = 400, 10, 0.95
ranges.EFFORT = Effort(max_rhat=1.03, min_ess=200, max_work=8e8, ends=True, nuisance=False)


def cases(data):
    """(set, truth, labels)."""
    for seed in range(2):
        for name in SETS:
            truth, _, labels = load(data / name)
            for number in (3, 5):
                rng = np.random.default_rng([seed, number, 77])
                usable = [i for i in np.flatnonzero(truth >= 0) if len(labels[i]) >= number]
                if len(usable) < 50:
                    continue
                chosen = rng.choice(usable, min(SIZE, len(usable)), replace=False)
                crowd, shared_errors.LABELS = (data / name / "histograms.npz").exists(), number
                found = shared_errors.some_labels(rng, chosen, labels, 1 + int(truth.max()), crowd)
                yield name, truth[chosen], found
        for family in FAMILIES:
            y, labels, _ = shared_errors.simulated(family, seed)
            yield f"sim {family}", y, labels


def judge(laws, truth):
    """(numbers, 3): held, width, error."""
    ends = np.array([law.interval(LEVEL)[:2] for law in laws])
    error = np.abs([law.mean for law in laws] - truth)
    held = (ends[:, 0] - 1e-9 <= truth) & (truth <= ends[:, 1] + 1e-9)
    return np.column_stack([held, ends[:, 1] - ends[:, 0], error])


def of_labelers(found, y, labels, number):
    """{rule: (labelers, 3)}, and the rank correlation of the points with the truth."""
    sample, labeler, label = labels.arrays
    given = labels.labels_per_labeler()
    kept = np.flatnonzero(given >= FEWEST)
    truth = np.bincount(labeler, y[sample] == label, labels.num_labelers)[kept] / given[kept]
    draws = labeler_draws(found, labels, "in-sample", number)
    some = {name: values[:, kept] for name, values in draws.items()}
    posterior, none = labels_posterior(found, labels), np.full(y.size, -1)
    rules = {
        "range": labeler_ranges(some),
        "no gold, expected": pooled_shares(draws, labels, posterior, none),
    }
    one = next((m.fit for m in found if m.name == "independent"), None)
    if one is not None:
        rules["one model"] = [DrawsEstimate(one.labeler_accuracy[:, t]) for t in kept]
    out = {}
    for size in (30, 100):
        for draw in range(2):
            rng = np.random.default_rng([size, draw, number])
            gold = np.where(rng.permutation(y.size) < size, y, -1)
            rules[f"{size} gold {draw}"] = pooled_shares(draws, labels, posterior, gold)
            alone = right_shares(labels, posterior, gold, LEVEL)
            rows = [
                (r.low - 1e-9 <= t <= r.high + 1e-9, r.high - r.low, abs(r.mean - t))
                for r, t in zip((alone[k] for k in kept), truth, strict=True) if r is not None
            ]  # fmt: skip
            out[f"{size} gold alone {draw}"] = np.array(rows, float).reshape(-1, 3)
    for rule, laws in rules.items():
        laws = laws if len(laws) == kept.size else [laws[k] for k in kept]
        out[rule] = judge(laws, truth)
        if kept.size > 4 and rule in ("range", "one model"):
            rank = spearmanr([law.mean for law in laws], truth)[0]
            out[f"{rule}, rank"] = np.array([[np.nan, np.nan, rank]])
    return out


def of_shares(found, y, labels):
    """{rule: (classes, 3)}."""
    truth = np.bincount(y, minlength=labels.num_classes) / y.size
    rules = {"range": share_ranges(found), "no gold, expected": expected_shares(found, y.size)}
    one = next((m for m in found if m.name == "independent"), None)
    rules |= {} if one is None else {"one model": share_laws(one)}
    return {f"share: {rule}": judge(laws, truth) for rule, laws in rules.items()}


def main():
    """Fit every case once, judge every rule, print means over sets."""
    found = defaultdict(lambda: defaultdict(list))
    for number, (name, y, labels) in enumerate(cases(Path(sys.argv[1]))):
        file = Path(sys.argv[2]) / f"{number:02d}.npz"
        if not file.exists():
            data = nobody_judged(labels)
            members, _ = ranges.members([e for e in entries(data) if e.shown], data, number, keep_all=True)
            parts = of_labelers(members, y, labels, number) | of_shares(members, y, labels)
            np.savez(file, **parts)
            print(name, labels.num_labelers, flush=True, file=sys.stderr)
        for rule, rows in np.load(file).items():
            rule = rule[:-2] if rule[-2:] in (" 0", " 1") else rule
            if len(rows):
                found[rule][name].append(np.nanmean(rows, axis=0) if len(rows) > 1 else rows[0])
    for rule in sorted(found):
        cells = []
        for kind in (False, True):
            of = {n: np.mean(v, axis=0) for n, v in found[rule].items() if n.startswith("sim") == kind}
            if of:
                c, w, e = np.mean(list(of.values()), axis=0)
                least = min(of, key=lambda n: of[n][0])
                cells.append(f"{c:.2f} / {w:.3f} / {e:.3f} ({least} {of[least][0]:.2f})")
        print(f"    {rule:<26} " + "   ".join(f"{cell:<42}" for cell in cells))


if __name__ == "__main__":
    main()
