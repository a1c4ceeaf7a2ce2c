"""The text of a labelers' report, from its dictionary: what `print(report)` and `jtruth labelers` show.

The estimand is named in the first line and above the table. Without gold every number is a range over the
assumptions that are listed; an interval wider than one half determines nothing and is not headlined.
"""

from typing import Any

from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.evaluation.text import (
    IN_SAMPLE,
    OF_LABELERS,
    PREDICTIVE,
    check_lines,
    loudest,
    odd_lines,
    undetermined,
)

_SHOWN, _LAST = 15, 5  # of more labelers: the worst and the best


def labelers_headline(d: dict[str, Any]) -> str:
    """One sentence with the answer, or why there is none."""
    rows = [row for row in d["labelers"] if row["low"] is not None]
    if not rows:
        return "These labels do not determine how good the labelers are."
    sure = [row for row in rows if not undetermined(row)]
    worst_and_best = sure[:1] + sure[1:][-1:]
    ends = [
        f"{row['accuracy']:.2f} [{row['low']:.2f}, {row['high']:.2f}] ({plain(row['worker'])})"
        for row in worst_and_best
    ]
    parts = [f"from {ends[0]} to {ends[-1]}"] if len(sure) > 1 else ends
    parts += [f"not determined for {len(rows) - len(sure)}"] if len(sure) < len(rows) else []
    kind = f"{100 * d['level']:g} % {d['interval_kind']}s"
    more = ""
    if _is_range(d) and sure and "expected" in sure[0]:
        ends = [_ends(row["expected"]) for row in worst_and_best]
        more = f"; {PREDICTIVE} {' and '.join(ends)}"
    return f"{number_of(len(rows), 'labeler')}: {d['estimand']}, {', '.join(parts)} ({kind}){more}."


def labelers_text(d: dict[str, Any]) -> str:
    """The whole text; `d` is what `LabelerReport.to_dict` returns."""
    if not d["labelers"]:
        return "\n".join(["No answer.", *d["warnings"]])
    doubt = loudest(d["checks"])
    lines = [labelers_headline(d), *([doubt] if doubt else [])]
    lines += [*(f"assumed: {sentence}" for sentence in d["assumed"]), *_range(d)]
    lines += ["", *_by_gold(d), *_table(d)]
    lines += [*check_lines(d["checks"]), *odd_lines(d["suspicious"])]
    if d["warnings"]:
        lines += ["", "warnings", *(f"  {text}" for text in d["warnings"])]
    return "\n".join(lines)


def _range(d: dict[str, Any]) -> list[str]:
    """Which assumptions the ranges are hulls of."""
    if not _is_range(d):
        return []
    return ["each range: " + "; ".join(a["sentence"] for a in d["assumptions"])]


def _by_gold(d: dict[str, Any]) -> list[str]:
    """What gold says of each labeler, whatever they share; nothing without gold."""
    found = [(plain(r["worker"]), r["right_by_gold"]) for r in d["labelers"] if r.get("right_by_gold")]
    if not found:
        return []
    width = max(6, *(len(worker) for worker, _ in found))
    lines = [
        f"{worker:>{width}}  {g['mean']:.2f} [{g['low']:.2f}, {g['high']:.2f}]  "
        f"{number_of(g['num_gold'], 'label')} of known truth, {g['rule']}"
        for worker, g in found
    ]
    if len(lines) > _SHOWN + _LAST:
        left = f"{'...':>{width}}  {len(lines) - _SHOWN - _LAST} more labelers in the JSON"
        lines = [*lines[:_SHOWN], left, *lines[-_LAST:]]
    head = f"by gold alone: {OF_LABELERS[IN_SAMPLE]} [{100 * d['level']:g} % interval]"
    return [
        head,
        *lines,
        "",
        "by models and gold together; chances given the class are ranges over models without gold:",
    ]


def _table(d: dict[str, Any]) -> list[str]:
    """A line for each labeler: accuracy, number of labels, and the diagonal of the matrix."""
    rows, classes = d["labelers"], d["classes"]
    width = max(6, *(len(plain(r["worker"])) for r in rows))
    columns = "  ".join(f"{plain(c)[:14]:>14}" for c in classes)
    more = f"; {PREDICTIVE}" if _is_range(d) else ""
    what = f"labeler, accuracy [interval]{more}; labels, and chance to be right when the class is"
    wide = f"  {'':<12}" if _is_range(d) else ""
    lines = [what, f"{'':>{width}}  {'':>4} {'':<12}{wide} {'labels':>6}  {columns}"]
    shown = [_line(r, width, len(classes), _is_range(d)) for r in rows]
    if len(rows) <= _SHOWN + _LAST:
        return lines + shown
    left = f"{'...':>{width}}  {len(rows) - _SHOWN - _LAST} more labelers in the JSON"
    return [*lines, *shown[:_SHOWN], left, *shown[-_LAST:]]


def _is_range(d: dict[str, Any]) -> bool:
    return d["interval_kind"] == "sensitivity range"


def _line(r: dict[str, Any], width: int, classes: int, expected: bool) -> str:
    m = r["confusion_matrix"]
    own = [f"{m['mean'][c][c]:.2f} [{m['low'][c][c]:.2f}, {m['high'][c][c]:.2f}]" for c in range(classes)]
    accuracy = f"{'no label given':<17}" if r["low"] is None else f"{r['accuracy']:.2f} {_ends(r)}"
    more = f"  {_ends(r['expected'])}" if expected else ""
    return f"{plain(r['worker']):>{width}}  {accuracy}{more} {r['num_labels']:>6}  " + "  ".join(
        f"{v:>14}" for v in own
    )


def _ends(row: dict[str, Any]) -> str:
    return f"[{row['low']:.2f}, {row['high']:.2f}]"
