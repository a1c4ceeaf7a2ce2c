"""Win rates, position bias, self-agreement and error matrices of judges, for new comparisons.

Questions are drawn anew: with one answer a question by the posterior Dirichlet(counts + 1/2), with several by
the Bayesian bootstrap of questions (Rubin 1981). Intervals have equal tails (`benchmarks/preferences.py`).
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._validation.words import plain, quoted
from jtruth.labels import Labels
from jtruth.pairwise.reading import NOBODY, Comparisons

DRAWS = 4000
_PSEUDO = 0.5  # of an answer of each kind
_RARE = 0.1  # of the answers to a pair: a rarer order does not count half
SCORE = np.array([1.0, 0.0, 0.5])  # of first better, second better, tie
ONE_ORDER = "Position bias{} is unknown. Ask again with the two answers swapped to measure it."
NO_ORDER = "Position bias is unknown, because no column holds which came first (order=...)."
BIASED = "{} favors the answer shown {}: it wins {:.0f} % [{:.0f}, {:.0f}]."
UNVERIFIED = "{} may be wrong. Verify 30 random comparisons to see how often (gold=...)."
RANDOM = "The verified comparisons are assumed to be a random sample."


def outcomes(found: Comparisons) -> tuple[str, str, str]:
    """Names of the three answers."""
    first, second = found.systems if len(found.systems) == 2 else ("A", "B")
    return first, second, "tie"


def called(name: str) -> str:
    """A judge in a sentence or a row."""
    return "the judge" if name == NOBODY else name if name.casefold().startswith(NOBODY) else f"judge {name}"


def as_labels(found: Comparisons) -> tuple[Labels, Int[np.ndarray, " samples"]]:
    """The answers as labels of comparisons, with a labeler for each order that a judge saw; and gold."""
    first, second, _ = classes = outcomes(found)
    names, worker = [], 2 * found.judge
    for j, name in enumerate(found.judges):
        mine = found.judge == j
        both = {0, 1} <= set(found.exchanged[mine].tolist())
        worker[mine & (found.exchanged == 1)] += both
        shown = f"{name} ({first} shown first)", f"{name} ({second} shown first)"
        names += shown if both else (name, "")
    by = [names[w] for w in worker]
    items = np.arange(len(found.names))
    labels = Labels.from_long(found.item, by, found.answer, tasks=items.tolist(), classes=classes,
                              repeats="majority")  # fmt: skip
    return labels.with_names(tasks=found.names), found.gold


def new_win_rates(
    counts: Float[np.ndarray, "draws 3"] | Int[np.ndarray, "draws 3"],
    found: Comparisons,
    rng: np.random.Generator,
) -> Float[np.ndarray, " draws"]:
    """Win rate of the first system in new comparisons, Dirichlet given counts over their design effect."""
    number = np.bincount(found.item)
    score = np.bincount(found.item, SCORE[found.answer])[number > 0] / number[number > 0]
    apart = score - score.mean()
    square = np.bincount(found.question[number > 0], apart) ** 2
    effect = max(square.sum() / max((apart**2).sum(), 1e-12), 1.0)
    drawn = rng.gamma(counts / effect + _PSEUDO)
    return drawn @ SCORE / drawn.sum(axis=1)


def dist_of(draws: Float[np.ndarray, " draws"], level: float, mean: float | None = None) -> dict[str, Any]:
    """Mean and interval with equal tails, ready for JSON."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return {"mean": float(draws.mean()) if mean is None else mean, "low": float(low), "high": float(high)}


def _shares(
    rng: np.random.Generator,
    question: Int[np.ndarray, " rows"],
    column: Int[np.ndarray, " rows"],
    blocks: tuple[int, int],
    weight: Float[np.ndarray, " rows"],
) -> Float[np.ndarray, "draws blocks columns"]:
    """Shares of the columns of each block with questions drawn anew, and half of a pseudo-question each."""
    number, place = np.unique(question, return_inverse=True)
    table = np.zeros((len(number), blocks[0] * blocks[1]))
    np.add.at(table, (place, column), weight)
    rows, times = np.unique(table, axis=0, return_counts=True)
    totals = (rng.gamma(times, size=(DRAWS, len(times))) @ rows).reshape(DRAWS, *blocks)
    a_question = table.reshape(-1, *blocks).sum(axis=2)
    size = a_question.sum(axis=0) / np.maximum((a_question > 0).sum(axis=0), 1)
    totals += size[:, None] * rng.gamma(_PSEUDO, size=totals.shape)
    return totals / totals.sum(axis=2, keepdims=True)


def by_order(
    found: Comparisons, rows: Int[np.ndarray, " rows"], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    """Draws of the win rate of the first of a pair, orders half and half; and of the answer shown first."""
    item, order, answer = found.item[rows], found.exchanged[rows], found.answer[rows]
    pair = found.pair[item, 0] * len(found.systems) + found.pair[item, 1]
    question = found.question[item]
    number = np.stack([np.bincount(pair, order == o, minlength=1) for o in (0, 1)])
    rarer = np.minimum(*number)
    both = ((rarer > 0) & (rarer >= _RARE * number.sum(axis=0)))[pair] & (order >= 0)
    if not both.any():
        return _shares(rng, question, answer, (1, 3), np.ones(len(rows)))[:, 0] @ SCORE, None
    pair, order, answer, question = (values[both] for values in (pair, order, answer, question))
    weight = number.sum(axis=0)[pair] / (2 * number[order, pair])  # each pair as often in either order
    first, second = np.moveaxis(_shares(rng, question, 3 * order + answer, (2, 3), weight) @ SCORE, 1, 0)
    return (first + second) / 2, (first + 1 - second) / 2


def judge_row(found: Comparisons, j: int, rng: np.random.Generator, level: float) -> dict[str, Any]:
    """Position bias of a judge, and self-agreement where answers were exchanged."""
    rows = np.flatnonzero(found.judge == j)
    shown = by_order(found, rows, rng)[1]
    given = np.full((2, len(found.names)), -1)
    for o in (0, 1):
        mine = rows[found.exchanged[rows] == o]
        given[o, found.item[mine]] = found.answer[mine]
    both = np.flatnonzero((given >= 0).all(axis=0))
    same, ones = (given[0] == given[1])[both].astype(int), np.ones(len(both))
    again = _shares(rng, found.question[both], same, (1, 2), ones)[:, 0, 1] if both.size else None
    dists = {"first_shown": shown, "same_exchanged": again}
    return {
        "judge": found.judges[j], "num_answers": len(rows), "num_both_orders": len(both),
        "probability_favors_first": None if shown is None else float((shown > 0.5).mean()),
        **{name: None if d is None else dist_of(d, level) for name, d in dists.items()},
    }  # fmt: skip


def remarks(found: Comparisons, rows: tuple[dict[str, Any], ...]) -> list[str]:
    """Notes on position bias (one false alarm in 20 data sets, for all judges), and on verification."""
    notes, unknown = [], [row["judge"] for row in rows if row["first_shown"] is None]
    for row in rows:
        dist, p = row["first_shown"], row["probability_favors_first"]
        if dist is not None and min(p, 1 - p) < 0.025 / len(rows):
            place = "first" if p > 0.5 else "second"
            values = [100 * (dist[k] if place == "first" else 1 - dist[k]) for k in ("mean", "low", "high")]
            notes.append(BIASED.format(plain(called(row["judge"])), place, values[0], *sorted(values[1:])))
    if unknown and (found.exchanged < 0).all():
        notes.append(NO_ORDER)
    elif unknown:
        notes.append(ONE_ORDER.format("" if len(unknown) == len(rows) else f" of {quoted(unknown, 3)}"))
    if not (found.gold >= 0).any():
        notes.append(UNVERIFIED.format("The judge" if len(rows) == 1 else "The judges"))
    elif (found.gold < 0).any():
        notes.append(RANDOM)
    return notes


def error_matrices(
    labels: Labels, gold: Int[np.ndarray, " samples"], fit: Any, rng: np.random.Generator
) -> np.ndarray | None:
    """Draws (draws, labelers, 3, 3) of p(answer | truth): Dirichlet by gold, or those of a fit."""
    sample, who, answer = labels.entries()
    known = gold[sample] >= 0
    if not known.any():
        return None if fit is None else np.asarray(fit.matrices, np.float64)
    counts = np.zeros((labels.num_labelers, 3, 3))
    np.add.at(counts, (who[known], gold[sample[known]], answer[known]), 1.0)
    drawn = rng.gamma(counts + _PSEUDO, size=(1000, *counts.shape))
    return drawn / drawn.sum(axis=3, keepdims=True)


def matrix_rows(labels: Labels, matrices: np.ndarray | None, level: float) -> tuple[dict[str, Any], ...]:
    """A row for each labeler and truth."""
    rows = []
    if matrices is None:
        return ()
    for t, who in enumerate(labels.worker_names):
        for c, truth in enumerate(labels.class_names):
            row = {"row": f"{who}: {truth}", "judge": who, "truth": truth}
            draws = np.ascontiguousarray(matrices[:, t, c].T)
            says = dict(zip(labels.class_names, (dist_of(d, level) for d in draws), strict=True))
            rows.append(row | {"says": says})
    return tuple(rows)
