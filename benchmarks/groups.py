"""Pass rates of groups and their differences, judged by the same labelers.

Run: python benchmarks/groups.py simulate [SETS, 60]
     python benchmarks/groups.py real DATA [DRAWS of gold, 3]
     python benchmarks/groups.py narrow DATA         no gold, with the errors of shares of all samples
     python benchmarks/groups.py paired [SETS, 50]   two systems, the same questions; beside truescore
     python benchmarks/groups.py accuracy [SETS, 50] a judge's accuracy for two systems, the same questions
     python benchmarks/groups.py slices [SETS, 50]   shares of four groups, beside truescore's slices

Nominal 95 % intervals of `prevalence(labels, by=...)`, of the shares of groups and of the differences of
all pairs. Each cell: covered / mean width. Then: of the pairs for which P(the first is larger) is at least
.95 or at most .05 ("told"), the share whose sign is right, and the share of these pairs among all.

simulate: 4 groups of n samples with pass rates drawn from U(.4, .9); three judges who pass .95, .75, .85 of
the good and .30, .05, .20 of the bad answers, independently given the truth. Alike: in every group.
Kinder: in two of the four groups each judge passes .2 more of the bad answers. 100 gold: at random, of all
groups. The table is of 16 sets; Monte Carlo error of a covered .95: .027 for shares (64, nearly independent),
.04 for differences.

real: public sets whose samples come in groups: 16 summarizers of 100 articles (strict judges, and cut for
each on other articles, 50), 25 queries of about 180 passages (dl23, relevant or not), 40 programming
problems of 20 programs (python, java). LLM judges and metrics, with `labelers_are`; gold of a tenth and of a
third of the samples (means of 3 draws).

Measured: AMD EPYC, 2 cores shared with others, Python 3.11.7, jax 0.10.2, numpy 2.4.6, scipy 1.17.1; narrow
takes 25 CPU seconds, two sets of each setting of simulate 28.

    simulate                             shares           differences      told, right
    alike  n =  50 no gold               1.000 / 0.756    1.000 / 1.114        - of 0.00
    alike  n =  50 independent           0.984 / 0.176    0.990 / 0.203    1.000 of 0.80
    alike  n =  50 100 gold              0.984 / 0.128    1.000 / 0.185    1.000 of 0.82
    alike  n = 150 no gold               1.000 / 0.773    1.000 / 1.085        - of 0.00
    alike  n = 150 independent           0.953 / 0.112    0.948 / 0.122    1.000 of 0.86
    alike  n = 150 100 gold              1.000 / 0.174    0.990 / 0.241    1.000 of 0.69
    alike  n = 500 no gold               1.000 / 0.755    1.000 / 1.087        - of 0.00
    alike  n = 500 independent           0.922 / 0.058    0.927 / 0.065    1.000 of 0.94
    alike  n = 500 100 gold              0.969 / 0.178    0.990 / 0.252    1.000 of 0.67
    kinder n =  50 no gold               1.000 / 0.744    1.000 / 1.144        - of 0.00
    kinder n =  50 independent           0.844 / 0.238    0.802 / 0.257    0.985 of 0.69
    kinder n =  50 100 gold              0.953 / 0.149    0.979 / 0.221    1.000 of 0.76
    kinder n = 150 no gold               1.000 / 0.756    1.000 / 1.106        - of 0.00
    kinder n = 150 independent           0.688 / 0.153    0.427 / 0.150    0.922 of 0.80
    kinder n = 150 100 gold              0.969 / 0.208    0.958 / 0.295    1.000 of 0.58
    kinder n = 500 no gold               1.000 / 0.738    1.000 / 1.104        - of 0.00
    kinder n = 500 independent           0.516 / 0.085    0.250 / 0.084    0.918 of 0.89
    kinder n = 500 100 gold              0.953 / 0.214    0.958 / 0.305    1.000 of 0.58

    real                                         shares           differences      told, right
    alt_summeval_consistency no gold          0.750 / 0.727    1.000 / 1.082     1.000 of 0.07
    alt_summeval_consistency gold of 1 in 10  0.979 / 0.204    0.961 / 0.362     1.000 of 0.35
    alt_summeval_consistency gold of 1 in 3   1.000 / 0.103    1.000 / 0.183     1.000 of 0.55
    alt_summeval_cut no gold                  1.000 / 0.613    1.000 / 1.124     1.000 of 0.08
    alt_summeval_cut gold of 1 in 10          0.979 / 0.264    0.989 / 0.449     1.000 of 0.30
    alt_summeval_cut gold of 1 in 3           0.958 / 0.120    0.942 / 0.218     0.983 of 0.49
    llmjudge_dl23 no gold                     0.920 / 0.635    0.970 / 1.088     0.846 of 0.04
    llmjudge_dl23 gold of 1 in 10             0.933 / 0.261    0.919 / 0.386     0.985 of 0.45
    llmjudge_dl23 gold of 1 in 3              0.960 / 0.139    0.941 / 0.205     0.992 of 0.69
    code_python no gold                       0.800 / 0.735    0.909 / 1.121     1.000 of 0.05
    code_python gold of 1 in 10               0.983 / 0.628    0.951 / 0.954     0.989 of 0.16
    code_python gold of 1 in 3                0.992 / 0.372    0.967 / 0.582     0.994 of 0.48
    code_java no gold                         0.850 / 0.663    0.901 / 1.178     1.000 of 0.01
    code_java gold of 1 in 10                 0.958 / 0.625    0.953 / 1.008     0.981 of 0.18
    code_java gold of 1 in 3                  0.908 / 0.367    0.913 / 0.579     0.970 of 0.49

    narrow                                       shares           differences      told, right
    alt_summeval_consistency no gold          0.250 / 0.535    0.983 / 0.810     1.000 of 0.32
    alt_summeval_cut no gold                  1.000 / 0.395    1.000 / 0.775     1.000 of 0.28
    llmjudge_dl23 no gold                     0.760 / 0.416    0.810 / 0.742     0.778 of 0.33
    code_python no gold                       0.750 / 0.551    0.787 / 0.848     0.919 of 0.28
    code_java no gold                         0.675 / 0.444    0.767 / 0.815     0.924 of 0.13

With a third of the truth, drawn at random in each group, a ninth of the items is known in both groups of a
pair. Differences of summarizers from these items alone were .44 and .39 wide, so pairs are used only if at
least half of the gold of both groups is of items known in both.

paired: two systems answer the same n questions (pass rates from U(.5, .8), in seven of ten questions one
difficulty decides for both; three judges as above, who misjudge both answers to .15 of the questions more
often; gold of both answers to half of the questions, at most 60), 300 sets. The difference in these
questions, and in new ones like them; beside it `truescore` 0.7.4 (compare: PPI++ of the paired difference,
by majority vote of the judges) and the paired difference of gold alone, both of new questions. Covered /
mean width, 50 sets each (standard error of a covered .95: .03):

                    these           new             gold alone      truescore
    alike  n =  50   1.00 / 0.203   0.94 / 0.355   0.96 / 0.395   0.96 / 0.331
    alike  n = 150   0.98 / 0.145   0.96 / 0.226   0.96 / 0.265   0.94 / 0.218
    alike  n = 500   0.98 / 0.168   1.00 / 0.192   0.96 / 0.263   0.98 / 0.191
    kinder n =  50   1.00 / 0.230   0.98 / 0.371   0.96 / 0.395   0.94 / 0.351
    kinder n = 150   0.98 / 0.167   0.96 / 0.240   0.96 / 0.265   0.96 / 0.232
    kinder n = 500   0.98 / 0.194   1.00 / 0.217   0.96 / 0.263   0.96 / 0.215

Without pairing new questions took .42 (n = 50) and .27 (150; 25 sets). Of new questions jtruth and
truescore are about as wide at the same coverage, where judges are alike and where they favor one:
jtruth is wider by up to 7 per cent. Of these questions, which is what `prevalence` answers, jtruth takes six
to nine tenths of that.

slices: shares of the four groups of `simulate` by 100 gold answers of all, in these samples, beside
`truescore` 0.7.4 (estimate_slices, majority vote, five gold answers of a slice are enough), 50 sets of each
setting (standard error of a covered .97: .012):

                       jtruth           truescore
    alike  n =  50   0.965 / 0.135   1.000 / 0.284
    alike  n = 150   0.990 / 0.167   0.995 / 0.236
    alike  n = 500   0.980 / 0.181   0.960 / 0.207
    kinder n =  50   0.970 / 0.160   1.000 / 0.300
    kinder n = 150   0.965 / 0.204   0.980 / 0.267
    kinder n = 500   0.975 / 0.216   0.935 / 0.243

accuracy: a judge's accuracy for one system less that for the other, same questions, a quarter of which
mislead it in both; gold of half of the questions, at most 60; 60 sets (standard error: .03):

                gold alone      paired          not paired
    n =  50   0.967 / 0.291   1.000 / 0.204   1.000 / 0.214
    n = 150   0.933 / 0.208   0.933 / 0.141   0.933 / 0.143
    n = 500   0.917 / 0.250   0.983 / 0.169   0.983 / 0.167

Where nearly all of its mistakes are common to both (25 sets) pairing takes .135 instead of .195 at n = 60
and .099 instead of .153 at n = 200; all intervals covered.

So groups use the wider row of errors, that of metrics of one class: chosen on these very sets, so its
coverage there is optimistic. People as labelers: no set with groups was available. Without gold hardly any
pair is distinguishable, and those that are had the right sign but on dl23; shares are not covered where
judges are far too strict with all (summeval, consistency). Independence is right where judges err equally in
all groups, and badly wrong where they do not. With gold both are covered.
"""

import csv
import sys
from pathlib import Path

import numpy as np

import jtruth as jt
from jtruth.evaluation.assumptions import model_error
from jtruth.evaluation.groups import Groups

RATES = {0: (0.30, 0.05, 0.20), 1: (0.95, 0.75, 0.85)}
KINDER = 0.2


def simulated(seed, size, kinder):
    """Labels, true classes and groups of 4 groups of `size` samples."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(4), size)
    y = (rng.random(group.size) < rng.uniform(0.4, 0.9, 4)[group]).astype(int)
    chance = np.where(
        y[:, None] == 1, RATES[1], np.array(RATES[0]) + KINDER * (kinder & (group < 2))[:, None]
    )
    return (rng.random(chance.shape) < chance).astype(int), y, group


def same_questions(seed, size, kinder):
    """Labels (size, 2, 3), classes (size, 2), pass rates of two systems; what is hard is hard for both."""
    rng = np.random.default_rng(seed)
    rate, hard = rng.uniform(0.5, 0.8, 2), rng.random(size)
    own, odd = rng.random((size, 2)), rng.random(size) < 0.15  # odd: judges misjudge both answers more often
    y = (np.where(rng.random((size, 2)) < 0.7, hard[:, None], own) < rate).astype(int)
    kind = np.array(RATES[0]) + KINDER * (kinder & (np.arange(2) == 0))[:, None]
    chance = np.where(y[..., None] == 1, RATES[1], kind)
    chance = np.where(odd[:, None, None], 0.5 * chance + 0.25, chance)
    return (rng.random(chance.shape) < chance).astype(int), y, rate


def paired(sets=50):
    try:
        from truescore.compare import ppi_compare
    except ImportError:
        ppi_compare = None
    for kinder in (False, True):
        for size in (50, 150, 500):
            found, known = {}, min(size // 2, 60)
            for seed in range(sets):
                z, y, rate = same_questions(1000 * size + seed, size, kinder)
                some = np.sort(np.random.default_rng(seed).choice(size, known, replace=False))
                gold = np.full((size, 2), -1)
                gold[some] = y[some]
                by = Groups(np.tile([0, 1], size), np.repeat(np.arange(size), 2))
                labels = jt.Labels.from_matrix(z.reshape(-1, 3), 2)
                answer = jt.prevalence(labels, by=by, gold=gold.ravel(), key=seed).groups
                sign = 1 if answer.names[0] == "0" else -1
                gap, vote = y[some, 0] - y[some, 1], (z.sum(axis=2) > 1).astype(float)
                half = 1.96 * gap.std(ddof=1) / np.sqrt(known)
                here, everywhere = (y[:, 0] - y[:, 1]).mean(), rate[0] - rate[1]
                rules = {
                    "these items": (*answer.in_sample.differences["0", "1"].interval(), sign * here),
                    "new items": (*answer.dists.differences["0", "1"].interval(), sign * everywhere),
                    "gold alone, new": (gap.mean() - half, gap.mean() + half, everywhere),
                }
                if ppi_compare is not None:
                    theirs = ppi_compare(vote[:, 0], vote[:, 1], y[some, 0], y[some, 1], some)
                    rules["truescore, new"] = (theirs.low, theirs.high, everywhere)
                for name, (low, high, truth) in rules.items():
                    found.setdefault(name, []).append((low - 1e-9 <= truth <= high + 1e-9, high - low))
            cells = (
                f"{name} {np.mean(one, axis=0)[0]:.2f} / {np.mean(one, axis=0)[1]:.3f}"
                for name, one in found.items()
            )
            print(f"{'kinder' if kinder else 'alike':6} n = {size:3}  {'  '.join(cells)}", flush=True)


def accuracy(sets=50):
    """A fourth judge, whom the same questions mislead: his accuracy for one system and for the other."""
    from jtruth.evaluation.compare import compare_groups

    for size in (50, 150, 500):
        found, known = {}, min(size // 2, 60)
        for seed in range(sets):
            z, y, _ = same_questions(1000 * size + seed, size, False)
            rng = np.random.default_rng(seed)
            hard, right = rng.random(size) < 0.25, np.array([0.9, 0.85])
            right = np.where(hard[:, None], right - 0.5, right)
            y_pred = np.where(rng.random((size, 2)) < right, y, 1 - y)
            gold = np.full((size, 2), -1)
            some = np.sort(rng.choice(size, known, replace=False))
            gold[some] = y[some]
            labels = jt.Labels.from_matrix(z.reshape(-1, 3), 2)
            gap = (y_pred == y).astype(float) @ [1, -1]
            half = 1.96 * gap[some].std(ddof=1) / np.sqrt(known) * np.sqrt(1 - known / size)
            rules = {"gold alone": (gap[some].mean() - half, gap[some].mean() + half)}
            for name, item in (("paired", np.repeat(np.arange(size), 2)), ("not paired", None)):
                by = Groups(np.tile([0, 1], size), item)
                answer = compare_groups(y_pred.ravel(), labels, by, gold=gold.ravel(), key=seed)
                rules[name] = answer.differences["0", "1"].interval()
            for name, (low, high) in rules.items():
                found.setdefault(name, []).append((low - 1e-9 <= gap.mean() <= high + 1e-9, high - low))
        print(f"n = {size:3}  {cells(found)}", flush=True)


def cells(found):
    """Held and mean width of every rule."""
    means = ((name, np.mean(one, axis=0)) for name, one in found.items())
    return "  ".join(f"{name} {mean[0]:.3f} / {mean[1]:.3f}" for name, mean in means)


def slices(sets=50):
    """Shares of four groups by 100 gold answers of all: `prevalence(by=...)` and `estimate_slices`."""
    from truescore.slices import estimate_slices

    for kinder in (False, True):
        for size in (50, 150, 500):
            found = {}
            for seed in range(sets):
                z, y, group = simulated(1000 * size + seed, size, kinder)
                some = np.sort(np.random.default_rng(seed).choice(y.size, 100, replace=False))
                gold = np.full(y.size, -1)
                gold[some] = y[some]
                ours = jt.prevalence(jt.Labels.from_matrix(z, 2), by=group, gold=gold, key=seed).groups
                vote = (z.sum(axis=1) > 1).astype(float)
                theirs = estimate_slices(vote, y[some].astype(float), some, group, min_gold=5).estimates
                for one in theirs:
                    truth = y[group == int(one.name)].mean()
                    found.setdefault("jtruth", []).append(within(ours.dists.values[one.name], truth))
                    if one.corrected is not None:
                        low, high = one.corrected.low, one.corrected.high
                        found.setdefault("truescore", []).append((low <= truth <= high, high - low))
            print(f"{'kinder' if kinder else 'alike':6} n = {size:3}  {cells(found)}", flush=True)


def judged(answer, y, group):
    """(shares held, widths), (differences held, widths), signs of the twos that are told."""
    found = answer.groups
    truth = {name: y[group == int(name)].mean() for name in found.names}
    shares = [
        within(dist, value) for dist, value in zip(found.dists.values.values(), truth.values(), strict=True)
    ]
    pairs, signs = [], []
    for (a, b), dist in found.dists.differences.items():
        gap = truth[a] - truth[b]
        pairs.append(within(dist, gap))
        p = found.dists.p_better(a, b)
        if gap and max(p, 1 - p) >= 0.95:
            signs.append((p > 0.5) == (gap > 0))
    return np.array(shares), np.array(pairs), np.array(signs)


def within(dist, value):
    """Whether the interval holds a value, and its width."""
    low, high = dist.interval()
    return low - 1e-9 <= value <= high + 1e-9, high - low


def row(name, parts):
    """One line of the table."""
    shares, pairs, signs = (np.concatenate(part) for part in zip(*parts, strict=True))
    told = f"{signs.mean():.3f} of {signs.size / len(pairs):.2f}" if signs.size else "- of 0.00"
    cells = [f"{part[:, 0].mean():.3f} / {part[:, 1].mean():.3f}" for part in (shares, pairs)]
    print(f"{name:38} {cells[0]:>16} {cells[1]:>16} {told:>16}", flush=True)


def simulate(sets=60):
    print(f"{'':38} {'shares':>16} {'differences':>16} {'told, right':>16}")
    for kinder in (False, True):
        for size in (50, 150, 500):
            by_rule = {}
            for seed in range(sets):
                z, y, group = simulated(1000 * size + seed, size, kinder)
                labels = jt.Labels.from_matrix(z, 2)
                gold = np.full(y.size, -1)
                chosen = np.random.default_rng(seed).choice(y.size, 100, replace=False)
                gold[chosen] = y[chosen]
                rules = {"no gold": {}, "independent": {"assume": "independent"}, "100 gold": {"gold": gold}}
                for name, how in rules.items():
                    found = jt.prevalence(labels, by=group, key=seed, **how)
                    by_rule.setdefault(name, []).append(judged(found, y, group))
            for name, parts in by_rule.items():
                row(f"{'kinder' if kinder else 'alike':6} n = {size:3} {name}", parts)


def narrow(folder):
    model_error.CLASS = model_error.SHARE
    for name, (z, y, group, _) in public(Path(folder)).items():
        found = jt.prevalence(jt.Labels.from_matrix(z, 2), by=group, labelers_are="llm_judges")
        row(f"{name} no gold", [judged(found, y, group)])


def real(folder, draws=3):
    print(f"{'':38} {'shares':>16} {'differences':>16} {'told, right':>16}")
    for name, (z, y, group, item) in public(Path(folder)).items():
        labels = jt.Labels.from_matrix(z, 2)
        by = Groups(group, item)
        row(f"{name} no gold", [judged(jt.prevalence(labels, by=by, labelers_are="llm_judges"), y, group)])
        for part in (10, 3):
            found = []
            for seed in range(draws):
                known = np.random.default_rng(seed).random(y.size) < 1 / part
                answer = jt.prevalence(labels, by=by, gold=np.where(known, y, -1), key=seed)
                found.append(judged(answer, y, group))
            row(f"{name} gold of 1 in {part}", found)


def public(folder):
    """By name: labels, true classes, group and item of each sample."""
    found = {}
    for name in ("alt_summeval_consistency", "alt_summeval_cut"):
        z, y = loaded(folder / name)
        found[name] = (z, y, np.arange(y.size) % 16, np.arange(y.size) // 16)
    z, y = loaded(folder / "llmjudge_dl23", cut=2)
    found["llmjudge_dl23"] = (z, y, column(folder / "llmjudge_dl23" / "task_query.csv"), None)
    for name in ("code_python", "code_java"):
        z, y = loaded(folder / name)
        problem = np.unique(column(folder / name / "task_problem.csv"), return_inverse=True)[1]
        some = problem < 40
        found[name] = (z[some], y[some], problem[some], None)
    return found


def loaded(folder, cut=1):
    """(samples, labelers) labels, -1 where there is none, and true classes; 1 from `cut` on."""
    y = (column(folder / "truth.csv") >= cut).astype(int)
    rows = list(csv.DictReader((folder / "labels.csv").open()))
    z = np.full((y.size, 1 + max(int(one["worker"]) for one in rows)), -1)
    for one in rows:
        z[int(one["task"]), int(one["worker"])] = int(one["label"]) >= cut
    return z, y


def column(path):
    """The second column of a table whose first counts the samples."""
    rows = list(csv.reader(path.open()))[1:]
    assert [int(one[0]) for one in rows] == list(range(len(rows)))
    return np.array([int(one[1]) for one in rows])


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["simulate"]
    {
        "simulate": simulate,
        "real": real,
        "narrow": narrow,
        "paired": paired,
        "accuracy": accuracy,
        "slices": slices,
    }[what](*(int(x) if x.isdigit() else x for x in rest))
