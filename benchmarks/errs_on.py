"""Predictors of a labeler's errors: false findings, power and coverage of `jtruth.evaluation.errs_on`.

Run: python benchmarks/errs_on.py [SETS, 300]
Target: the population that samples come from.

Three judges and n samples with gold, 60 % of them good. Columns: words (log-normal, sd 81), order (1 to n),
price (log-normal with a long tail), flag (1 in 12), day, model (4), topic (8): 17 numbers and categories, two
questions each, 102 tests. Judges pass 85 % of the good and 20 % of the bad answers (lax), or 97 % and 4 %.

none: no column predicts errors; "false" is the share of sets with a finding, at a rate of .05. planted:
judge a passes 15 points more per 100 words, judge b 35 points less of one model (probabilities stay
between .02 and .98), judge c as before; "false" is the mean share of false ones among the findings, "words"
and "model" are how often the two are found. Covered: intervals of all tests; then of the true findings,
whose sizes were chosen for being large (truth: the same of 60 000 samples). Monte Carlo errors in brackets.

Measured: AMD EPYC, 2 cores shared with others, Python 3.11.7, numpy 2.4.6, scipy 1.17.1; 300 sets, about 0.1
CPU seconds each.

                           false          words        model        covered        of findings
    none    lax   n =  50  0.010 (0.006)            -            -  0.987 (0.001)  -
    none    lax   n = 100  0.017 (0.007)            -            -  0.978 (0.001)  -
    none    lax   n = 300  0.013 (0.007)            -            -  0.965 (0.001)  -
    none    sharp n =  50  0.000 (0.000)            -            -  0.999 (0.000)  -
    none    sharp n = 100  0.000 (0.000)            -            -  0.998 (0.000)  -
    none    sharp n = 300  0.007 (0.005)            -            -  0.989 (0.001)  -
    planted lax   n =  50  0.010 (0.006)  0.01 (0.01)  0.00 (0.00)  0.986 (0.001)  1.000 (0.000)
    planted lax   n = 100  0.010 (0.005)  0.09 (0.02)  0.21 (0.02)  0.978 (0.001)  1.000 (0.000)
    planted lax   n = 300  0.026 (0.005)  0.75 (0.03)  0.95 (0.01)  0.967 (0.001)  1.000 (0.000)
    planted sharp n =  50  0.003 (0.003)  0.01 (0.00)  0.02 (0.01)  0.996 (0.000)  1.000 (0.000)
    planted sharp n = 100  0.008 (0.005)  0.08 (0.02)  0.27 (0.03)  0.994 (0.000)  1.000 (0.000)
    planted sharp n = 300  0.013 (0.003)  0.71 (0.03)  0.98 (0.01)  0.982 (0.001)  0.996 (0.002)
"""

import sys

import numpy as np

from jtruth import Labels
from jtruth.evaluation import errs_on

RATES = {"lax": (0.85, 0.20), "sharp": (0.97, 0.04)}
WORKERS = ("a", "b", "c")


def drawn(rng, n, rates, planted):
    """Labels, gold and columns of one set."""
    gold, words = (rng.random(n) < 0.6).astype(int), np.round(np.exp(rng.normal(4.6, 0.6, n)))
    columns = {
        "words": words, "order": rng.permutation(n) + 1, "price": np.round(np.exp(rng.normal(0, 1.5, n)), 2),
        "flag": (rng.random(n) < 1 / 12).astype(int), "model": rng.choice(list("klmn"), n),
        "day": np.array([f"2026-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in rng.integers(0, 336, n)]),
        "topic": rng.choice([f"t{k}" for k in range(8)], n),
    }  # fmt: skip
    chance = np.tile(np.where(gold == 1, *rates)[:, None], 3)
    if planted:
        chance[:, 0] += 0.0015 * (words - 119)
        chance[:, 1] -= 0.35 * (columns["model"] == "k")
        chance = np.clip(chance, 0.02, 0.98)
    labels = Labels.from_matrix((rng.random((n, 3)) < chance).astype(int), classes=["fail", "pass"])
    return labels.with_names(workers=WORKERS), gold, columns


def sizes(found):
    """Size, ends and whether it is clear, by labeler, column, category and question; in steps of 1."""
    rows = {}
    for row in found.rows:
        step = float(row["per"].split()[0].replace(",", "")) if row["per"] else 1.0
        dist = np.array([row["points"], row["low"], row["high"]]) / step
        dist = -dist[[0, 2, 1]] if row["does"] == "says 'fail'" else dist
        key = (row["worker"], row["column"], row["category"], row["does"] == "errs")
        rows[key] = (*dist, row["clear"])
    return rows


def real(key):
    """Whether a finding is of a planted column."""
    return key[:2] == ("a", "words") or key[:2] == ("b", "model")


def shown(values, form=".3f"):
    """Mean, and its Monte Carlo error."""
    values = np.asarray(values, float)
    return (
        f"{values.mean():{form}} ({values.std() / max(values.size, 1) ** 0.5:{form}})" if values.size else "-"
    )


def measure(n, kind, planted, sets, seed):
    """A line of the table."""
    truth = sizes(errs_on(*drawn(np.random.default_rng(0), 60_000, RATES[kind], planted)))
    false, words, model, covered, of_found = [], [], [], [], []
    for k in range(sets):
        rows = sizes(errs_on(*drawn(np.random.default_rng([seed, n, k]), n, RATES[kind], planted)))
        clear = [key for key, row in rows.items() if row[3]]
        wrong = sum(not (planted and real(key)) for key in clear)
        false.append(wrong / max(len(clear), 1) if planted else bool(wrong))
        words.append(any(key[:2] == ("a", "words") for key in clear))
        model.append(any(key[:3] == ("b", "model", "k") for key in clear))
        inside = {
            key: row[1] - 1e-12 <= (truth[key][0] if planted and real(key) else 0.0) <= row[2] + 1e-12
            for key, row in rows.items()
        }
        covered += [np.mean(list(inside.values()))] if inside else []
        of_found += [inside[key] for key in clear if planted and real(key)]
    power = f"{shown(words, '.2f')}  {shown(model, '.2f')}" if planted else f"{'-':>11}  {'-':>11}"
    what = "planted" if planted else "none"
    print(
        f"    {what:7} {kind:5} n = {n:3}  {shown(false)}  {power}  {shown(covered)}  {shown(of_found)}",
        flush=True,
    )


def main():
    """The table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print("                           false          words        model        covered        of findings")
    for planted in (False, True):
        for kind in RATES:
            for n in (50, 100, 300):
                measure(n, kind, planted, sets, 1)


if __name__ == "__main__":
    main()
