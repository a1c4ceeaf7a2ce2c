"""`preferences`: win rates of systems, errors of judges, and strengths of several systems.

Every number is about new comparisons. Answers as given: each order that a judge saw counts half (`judges`).
True win rates of two systems: verified preferences correct the answers, or estimates are widened by their
errors on public data (`jtruth.evaluation.gold.shares`). Several systems: strengths (`strengths`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._random import Stated, as_key, host_rng, seeded, stated, stream
from jtruth._validation import choose
from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Document, Table, facts, how, warning_notes
from jtruth.answers.blocks import dist_column, share_text
from jtruth.evaluation.assumptions import model_error, ranges
from jtruth.evaluation.assumptions.registry import INDEPENDENT
from jtruth.evaluation.gold.shares import POST_STRATIFIED, prevalence
from jtruth.evaluation.gold.tables import NO_MODEL, RANDOM_GOLD, too_few_labels
from jtruth.evaluation.inputs import read_labels_alone
from jtruth.evaluation.parts import INDEPENDENT_ERRORS
from jtruth.labels import Labels
from jtruth.pairwise import judges as of_judges
from jtruth.pairwise.judges import dist_of, new_win_rates
from jtruth.pairwise.reading import TIE, Comparisons, read_preferences
from jtruth.pairwise.strengths import Strengths, strengths_of
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import check_level

_MOST_PAIRS, _MOST_JUDGES, _MOST_RANKS = 500, 200, 12
TRUTH, _ALLOWING = "truth", "allowing for judge errors"
_NO_MODEL = NO_MODEL.partition(" ({}")[0]  # only about judges' answers, which are not used with gold
AS_GIVEN = "answers as given, not corrected for the judges' errors"
NOT_CORRECTED = (
    "Strengths are not corrected for the judges' errors: that needs gold, or three answers per comparison."
)


@dataclass(frozen=True, repr=False)
class Preferences(Answer):
    """Win rates, judges and strengths; the rows are dictionaries ready for JSON."""

    level: float
    systems: tuple[str, ...]
    rule: str  # what the headline is about: "post-stratification", "joint posterior", "predictive", "answers"
    assumption: str
    win_rates: tuple[dict[str, Any], ...]  # of two systems by source, else by pair
    strengths: tuple[dict[str, Any], ...]  # the strongest first; of two systems none
    order_probability: float | None  # P(the systems are in the order of `strengths`)
    judges: tuple[dict[str, Any], ...]
    matrices: tuple[dict[str, Any], ...]
    matrices_by: str
    warnings: tuple[str, ...]
    key: Stated
    comparisons: Comparisons

    def blocks(self) -> Document:
        """Build the document of the result."""
        found, kind = self.comparisons, f"{100 * self.level:g} % intervals"
        names, several = list(map(plain, self.systems)), len(self.systems) > 2
        answers, ranks = Column("num_answers", "answers"), range(1, len(names) + 1)
        first, other = (plain(self.win_rates[0][name]) for name in ("system", "against"))
        of, better = ("each pair", "first") if several else (f"{first} against {other}", first)
        of += ", corrected for the judges' errors" * (self.rule == "corrected")
        a_and_b = "; A is the system of a pair that comes first in the file" * several
        places = any(row["first_shown"] or row["same_exchanged"] for row in self.judges)
        about = (
            f"{number_of(len(found.names), 'comparison')} of {len(names)} systems, "
            f"{number_of(len(found.item), 'answer')} by {number_of(len(found.judges), 'judge')}, "
            f"{int((found.gold >= 0).sum())} verified; key {self.key}"
        )
        blocks = (
            Table("strengths", f"Strength of each system (logits), with {kind}", "system", (
                dist_column("strength", "strength", ".2f"),
                dist_column("win_rate", "wins against the others"),
                Column("probability_best", "P(best)"), Column("expected_rank", "mean rank", form=".1f"),
            ), self.strengths, unit=None, draw="strength"),
            Table("win_rates", f"Win rate of {of}, ties half, with {kind}", "by",
                  (Column("mean", f"{better} wins [interval]", ("low", "high")),
                   Column("probability_better", f"P({better} better)"), answers), self.win_rates,
                  say=lambda name: _ALLOWING if name == TRUTH else plain(name)),
            Table("judges", f"Position bias of the judges, with {kind}", "judge", (
                dist_column("first_shown", "win rate if shown first"),
                dist_column("same_exchanged", "same verdict if swapped"), answers)[0 if places else 2:],
                self.judges),
            Table("", "Probability of each rank", "system",
                  tuple(Column(("ranks", str(k)), f"P(rank {k})") for k in ranks[:_MOST_RANKS]),
                  self.strengths),
            Table("matrices", f"Verdicts of judges by the truth ({self.matrices_by}){a_and_b}", "row", tuple(
                Column(("says", name, "mean"), f"says {plain(name)}",
                       (("says", name, "low"), ("says", name, "high")))
                for name in of_judges.outcomes(found)), self.matrices),
            warning_notes(self.warnings),
            how(("rule", self.rule), ("assumes", self.assumption), ("columns", found.how)),
            facts(target="population", level=self.level, key=self.key, systems=self.systems, rule=self.rule,
                  assumption=self.assumption, order_probability=self.order_probability,
                  num_comparisons=len(found.names), num_answers=len(found.item)),
        )  # fmt: skip
        return Document("Which system is preferred?", about, self._sentence(), blocks)

    def _sentence(self) -> str:
        if self.rule == "answers" and (self.comparisons.answer == TIE).all():
            return "Every answer is a tie: nothing distinguishes the systems."
        if self.strengths:
            names = [plain(row["system"]) for row in self.strengths]
            best, order = self.strengths[0]["probability_best"], " > ".join(names[:6])
            if best < 0.5:
                return f"No system is clearly preferred: {names[0]} is best with probability {best:.2f}."
            more = f"; the order {order} has probability {self.order_probability:.2f}" * (len(names) <= 6)
            return f"{names[0]} is preferred to all others with probability {best:.2f}{more}."
        row, *others = self.win_rates
        a, b = plain(row["system"]), plain(row["against"])
        lead = _ALLOWING if row["by"] == TRUTH else f"by {plain(row['by'])}"
        interval = f"{100 * self.level:g} % interval {100 * row['low']:.0f} to {100 * row['high']:.0f} %"
        text = f"{lead[0].upper()}{lead[1:]}, {a} wins {100 * row['mean']:.0f} % of new comparisons with {b} "
        text += f"({interval}; ties count half). P({a} better) = {row['probability_better']:.2f}."
        text += " Neither is clearly preferred." * (row["low"] < 0.5 < row["high"])
        if row["by"] != TRUTH or not others:
            return text
        ends = [others[0][name] for name in ("mean", "low", "high")]
        return f"{text} Uncorrected, the verdicts say {share_text(ends)}."


def _turned(row: Mapping[str, Any]) -> dict[str, Any]:
    more = {"in_sample": 1 - row["in_sample"]} if "in_sample" in row else {}
    turned = {k: 1 - row[other] for k, other in (("mean", "mean"), ("low", "high"), ("high", "low"))}
    better = {"probability_better": 1 - row["probability_better"]}
    return {**row, "system": row["against"], "against": row["system"], **turned, **better, **more}


@seeded
def preferences(
    data: Any,
    *,
    key: Any = None,
    gold: Any = None,
    assume: str | None = None,
    labelers_are: str | None = None,
    correct: bool | None = None,
    level: float = 0.95,
    **reading: Any,
) -> Preferences:
    """Win rates for new comparisons, position bias and errors of judges, strengths of several systems.

    Args:
        data: a file or data frame of comparisons, or `Comparisons`.
        key: a whole number or a JAX key; 0 if None.
        gold: verified preferences, "column:NAME", "worker:NAME" or a table; see `read_preferences`.
        assume: "independent" if judges err independently; else estimates are widened.
        labelers_are: "people", "experts", "llm_judges" or None, as for `evaluate`.
        correct: whether strengths are corrected by the judges' error rates, or of the answers as given; None:
            corrected if there are verified preferences.
        level: probability of the printed intervals.
        reading: systems, order, plan and sep of `read_preferences`.

    Raises:
        ValueError: unusable input.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"question": range(40), "model_a": "x", "model_b": "y",
    ...                       "winner": ["model_a"] * 24 + ["tie"] * 4 + ["model_b"] * 12})
    >>> found = preferences(table, key=0)
    >>> print(f"{found.win_rates[0]['mean']:.2f}", found.rule)
    0.64 answers
    """
    choose("assume", assume or "independent", ("independent",))
    level, kind = check_level(level), model_error.check_kind(labelers_are, assume is None)
    found = data if isinstance(data, Comparisons) else read_preferences(data, gold=gold, **reading)
    rng, two = host_rng(as_key(key), "preferences"), len(found.systems) == 2
    labels, known = of_judges.as_labels(found)
    has_gold = bool((known >= 0).any())
    correct = has_gold if correct is None else correct
    rule, dist, fit, notes = "answers", None, None, []
    if two or (correct and not has_gold):
        asked = {"key": stream(as_key(key), "preferences"), "assume": assume, "labelers_are": labelers_are}
        rule, dist, fit, notes = _what_is_true(found, labels, known if has_gold else None, asked, rng)
    few = labels.num_labelers <= _MOST_JUDGES
    matrices = of_judges.error_matrices(labels, known, fit, rng) if few else None
    strengths = None
    if not two:
        corrected = None if matrices is None or not correct else (labels, known, matrices)
        rule = "answers" if corrected is None else "corrected"
        notes += [NOT_CORRECTED] * (correct and corrected is None)
        strengths = strengths_of(found, rng, corrected)
    rows, order = _strength_rows(found, strengths, level)
    most = np.sort(np.argsort(-np.bincount(found.judge), kind="stable")[:_MOST_JUDGES]).tolist()
    judges = tuple(of_judges.judge_row(found, j, rng, level) for j in most)
    wins = tuple(_win_rows(found, dist, strengths if rule == "corrected" else None, most, rng, level))
    wins = _by_rank(wins, [row["system"] for row in rows]) if rows else _of_the_better(wins)
    pairs = len(np.unique(found.pair, axis=0)) if rows else 0
    for many, most_rows, what in ((len(found.judges), len(judges), "judges"), (pairs, len(wins), "pairs")):
        notes += [f"The table shows {most_rows} of {many} {what}."] * (most_rows < many)
    assumed = _ASSUMED.get(rule) or model_error.width_assumption(kind)
    return Preferences(
        level, found.systems, rule, assumed, wins, rows, order, judges,
        of_judges.matrix_rows(labels, matrices, level),
        "verified preferences" if has_gold else "if judges err independently",
        (*of_judges.remarks(found, judges), *notes, *found.notes), stated(key), found,
    )  # fmt: skip


_ASSUMED = {"answers": AS_GIVEN, "post-stratification": POST_STRATIFIED,
            "joint posterior": INDEPENDENT_ERRORS, "corrected": INDEPENDENT_ERRORS}  # fmt: skip


def _what_is_true(
    found: Comparisons, labels: Labels, gold: np.ndarray | None, asked: dict[str, Any], rng: Any
) -> tuple[str, DrawsEstimate | None, Any, list[str]]:
    """(rule, win rate of new comparisons, posterior of the judges' error rates, warnings)."""
    if gold is None and too_few_labels(labels):
        return "answers", None, None, []
    if gold is not None or asked["assume"]:
        answer = prevalence(labels, gold=gold, **asked)
        doubts = [text for text in answer.warnings if not text.startswith((_NO_MODEL, RANDOM_GOLD))]
        if not answer.shares:
            return "answers", None, None, doubts
        by_gold = answer.rule == "post-stratification"
        counts = answer.source.counts.sum(axis=2) if by_gold else answer.source.class_counts
        dist = DrawsEstimate(new_win_rates(counts, found, rng))
        return answer.rule, dist, None if by_gold else answer.source, doubts
    data = read_labels_alone(labels, key=asked["key"], labelers_are=asked["labelers_are"])
    fit = ranges.labels_fit(data)
    members, doubts = ranges.base_models(data, asked["key"], known={INDEPENDENT: fit}, keep_all=True)
    drawn = {m.name: new_win_rates(m.posterior.counts.sum(axis=2), found, rng) for m in members}
    if not fit.usable or not drawn:
        return "answers", None, None, doubts
    return "predictive", model_error.dist_of(drawn, model_error.SHARE, data.labelers_are, np.inf), fit, doubts


def _win_rows(
    found: Comparisons, dist: DrawsEstimate | None, true: Strengths | None, judges: list[int],
    rng: np.random.Generator, level: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Win rates of the first system: true, by all answers, by each judge; with several systems by pair."""
    code, every = found.pair[found.item], np.arange(len(found.item))
    if len(found.systems) > 2:
        for a, b in np.unique(code, axis=0)[:_MOST_PAIRS].tolist():
            rows, pair = every[(code == (a, b)).all(axis=1)], (found.systems[a], found.systems[b])
            if true is None:
                yield _win_row("", found, rows, rng, level)
            else:
                dist_of_pair = DrawsEstimate(true.against(a, b))
                yield {"by": "", **_better(dist_of_pair, level, pair), "num_answers": len(rows)}
        return
    if dist is not None:
        yield {"by": TRUTH, **_better(dist, level, found.systems), "num_answers": len(every)}
    if len(found.judges) > 1:
        yield _win_row("all answers", found, every, rng, level)
    for j in judges:
        yield _win_row(of_judges.called(found.judges[j]), found, every[found.judge == j], rng, level)


def _by_rank(rows: Iterable[dict[str, Any]], ranked: list[str]) -> tuple[dict[str, Any], ...]:
    """Pairs from the strongest system down, each with the win rate of the stronger one."""
    place = {name: k for k, name in enumerate(ranked)}
    rows = [row if place[row["system"]] < place[row["against"]] else _turned(row) for row in rows]
    rows.sort(key=lambda row: (place[row["system"]], place[row["against"]]))
    return tuple(row | {"by": f"{row['system']} against {row['against']}"} for row in rows)


def _of_the_better(rows: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """All rows for the system that wins in the headline, the first if they are equal."""
    return rows if round(rows[0]["mean"], 2) >= 0.5 else tuple(map(_turned, rows))


def _win_row(
    by: str, found: Comparisons, rows: np.ndarray, rng: np.random.Generator, level: float
) -> dict[str, Any]:
    dist = DrawsEstimate(of_judges.by_order(found, rows, rng)[0])
    counted = float(of_judges.SCORE[found.answer[rows]].mean())  # of these answers, whatever their order
    pair = [found.systems[k] for k in found.pair[found.item[rows[0]]]]
    return {"by": by, **_better(dist, level, pair), "num_answers": len(rows), "in_sample": counted}


def _better(dist: DrawsEstimate, level: float, pair: Sequence[str]) -> dict[str, Any]:
    """Win rate of the first of a pair: mean and interval, and P(more than a half)."""
    above = float((dist.draws > 0.5).mean() + (dist.draws == 0.5).mean() / 2)
    names = {"system": pair[0], "against": pair[1]}
    return names | dist_of(dist.draws, level, dist.mean) | {"probability_better": above}


def _strength_rows(
    found: Comparisons, strengths: Strengths | None, level: float
) -> tuple[tuple[dict[str, Any], ...], float | None]:
    """A row for each system, the strongest first, and the probability of this order."""
    if strengths is None:
        return (), None
    order = np.argsort(-strengths.strength.mean(axis=0), kind="stable")
    ranks, rows = strengths.rank_probabilities, []
    for k in order:
        dists = {"strength": strengths.strength[:, k], "win_rate": strengths.win_rate[:, k]}
        rows.append({
            "system": found.systems[k],
            **{name: dist_of(draws, level) for name, draws in dists.items()},
            "probability_best": float(ranks[k, 0]),
            "expected_rank": float(ranks[k] @ np.arange(1, len(order) + 1)),
            "ranks": {str(r): float(p) for r, p in enumerate(ranks[k], 1)},
        })  # fmt: skip
    same = (np.argsort(-strengths.strength, axis=1) == order).all(axis=1)
    return tuple(rows), float(same.mean())
