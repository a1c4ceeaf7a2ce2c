"""What `compare_classifiers` answers, as blocks: who is better, ranks, differences, and what was assumed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import Column, Shown, Table, check_notes, facts, how, law_row, warning_notes
from jtruth.evaluation.parts import PREDICTIVE, first_lines
from jtruth.evaluation.text import IN_SAMPLE, assumption_table, interval_title, taken_as_true
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.metrics import title

Comparison = Any  # `compared.Comparison`, which imports this file
_ENDS = ("low", "high")
_AGREEMENT = (
    "Share of all labels that each repeats (Lam and Stork 2003, section 7): apart from chance this order is "
    "that of their accuracies if labels are wrong less often than right, equally in all classes, and "
    "independently of the classifiers. Probabilities come from the model."
)
_APART = "Each metric and each difference has a law by itself: they need not add up."


def comparison_blocks(found: Comparison) -> Shown:
    """The answer, for all faces."""
    metric, better = title(found.metric), found.better
    blocks = (
        _classifiers(found, metric), _differences(found, better),
        assumption_table(
            "assumptions",
            [{"sentence": t, "values": dict(zip(found.names, v, strict=True))} for t, v in found.assumptions],
            [Column(("values", name), plain(name)) for name in found.ranking],
        ),
        check_notes(found.checks), warning_notes(found.warnings),
        how(("metric", metric), ("interval", interval_title(found.level, found.interval_kind)),
            ("rests on", found.assumption)),
        facts(**{f"comparison.{name}": value for name, value in _facts(found).items()}, key=found.key),
    )  # fmt: skip
    gold = number_of(found.num_gold, "gold label")
    about = f"{len(found.names)} classifiers, {number_of(found.num_samples, 'sample')}, {gold}; "
    about += f"positive {found.positive!r}; key {found.key}"
    alarms = tuple(first_lines(found.checks, found.warnings))
    sentence = _sentence(found, better, metric)
    return Shown(f"Which classifier has the better {metric}?", about, sentence, blocks, alarms)


def _facts(found: Comparison) -> dict[str, Any]:
    return {
        "metric": found.metric, "positive": found.positive, "level": found.level, "target": IN_SAMPLE,
        "interval_kind": found.interval_kind, "assumption": found.assumption,
        "num_samples": found.num_samples, "num_gold": found.num_gold,
        "smaller_is_better": found.smaller_is_better, "margin": found.margin, "at_least": found.at_least,
        "ranking": found.ranking, "told": found.told,
        "gold_to_tell": None if found.told else found.gold_to_tell,
    }  # fmt: skip


def _sentence(found: Comparison, better: Any, metric: str) -> str:
    first, second = found.ranking[:2]
    p, names = better[first, second], (plain(first), plain(second))
    kind = f"{interval_title(found.level, found.interval_kind)}s; {taken_as_true(found.num_gold)}"
    if np.isnan(p):
        return f"The better {metric} of {names[0]} and {names[1]} is undefined ({kind})."
    if found.interval_kind == PREDICTIVE and not found.told and not found.margin:
        needed = found.gold_to_tell
        help_ = f"about {needed} gold answers would" if needed else "gold may not tell either: they are close"
        return (
            f"Labels alone cannot tell whether {names[0]} or {names[1]} has the better {metric} "
            f"({names[0]} with probability {p:.2f}); {help_} ({kind})."
        )
    return (
        f"{names[0]} has the better {metric} with probability {found.best[first]:.2f}; "
        f"than {names[1]}{_beyond(found)} {p:.2f} ({kind})."
    )


def _beyond(found: Comparison) -> str:
    return f" by more than {found.margin:g}" if found.margin else ""


def _classifiers(found: Comparison, metric: str) -> Table:
    """The ranking, best first."""
    values, best, meets, place = found.values, found.best, found.meets, found.names.index
    rows = [
        {
            "name": name,
            **law_row(values[name], found.level),
            "best": best[name],
            "meets": meets.get(name),
            "ranks": found.ranks[place(name)],
            "agreement_with_labels": found.agreement.get(name),
        }
        for name in found.ranking
    ]
    columns = [Column("mean", metric, _ENDS), Column("best", "P(best)", form=".2f")]
    if meets:
        side = "at most" if found.smaller_is_better else "at least"
        columns.append(Column("meets", f"P({side} {found.at_least:g})", form=".2f"))
    columns += [Column("agreement_with_labels", "labels repeated")] if found.agreement else []
    note = _AGREEMENT if found.agreement else ""
    return Table("comparison.classifiers", "Classifiers, the best first", "name", tuple(columns), rows, note)


def _differences(found: Comparison, better: Any) -> Table:
    """Of neighbours in the ranking first, then of all others; the better one first."""
    rows = [
        row | {"first_better": better[row["first"], row["second"]],
               "second_better": better[row["second"], row["first"]]}
        for row in difference_rows(found.differences, found.ranking, found.level)
    ]  # fmt: skip
    columns = (
        Column("mean", "difference", _ENDS, "+.3f"),
        Column("first_better", f"P(the first is better{_beyond(found)})", form=".2f"),
    )
    note = _APART if found.interval_kind == PREDICTIVE else ""
    return Table("comparison.differences", "Differences", "difference", columns, rows, note, unit=None,
                 missing="undefined", aside=("difference",), say=str)  # fmt: skip


def difference_rows(
    differences: Mapping[tuple[str, str], DrawsEstimate], ranking: Sequence[str], level: float
) -> list[dict[str, Any]]:
    """A row for every two, the better one first: neighbours in the ranking, then all others."""
    order, rows = {name: rank for rank, name in enumerate(ranking)}, []
    for (a, b), law in differences.items():
        row = law_row(law, level)
        if order[a] > order[b]:
            a, b = b, a
            low, high = row["low"], row["high"]
            turned = {"mean": row["mean"], "mode": row["mode"], "low": high, "high": low}
            row |= {name: None if value is None else -value for name, value in turned.items()}
        rows.append({"first": a, "second": b, **row, "difference": f"{plain(a)} - {plain(b)}"})
    rows.sort(key=lambda row: (order[row["second"]] - order[row["first"]], order[row["first"]]))
    return rows
