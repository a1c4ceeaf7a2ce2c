"""The text of a labelers' report, from its dictionary: what `print(report)` and `jtruth labelers` show.

Without gold the intervals rest on labelers who err independently. Where a check speaks against that, no
accuracy stands in the headline: `evaluate` answers with a range over assumptions there, and a labelers'
report, which has no such range, says that it has no answer to headline and whose numbers the table holds.
"""

from typing import Any

from jtruth._validation.terminal import plain
from jtruth.evaluation.gold.labelers import ESTIMAND
from jtruth.evaluation.text import check_lines, loudest, odd_lines

DOUBTS = ("label patterns", "pairwise agreement", "labeler misfit", "labelers share errors")
_SHOWN, _LAST = 15, 5  # of more labelers: the worst and the best


def contradicted(checks: list[dict[str, Any]]) -> bool:
    """Whether a check speaks against the independence on which the intervals rest."""
    return any(c["name"] in DOUBTS and c["verdict"] == "does not fit" for c in checks)


def labelers_headline(d: dict[str, Any]) -> str:
    """One sentence with the answer, or why there is none."""
    rows = d["labelers"]
    if not rows:
        return "These labels do not determine how good the labelers are."
    number = f"{len(rows)} labelers"
    if contradicted(d["checks"]):
        return f"{number}: no accuracy is headlined, because the labels contradict independent errors."
    ends = [f"{row['accuracy']:.2f} ({plain(row['worker'])})" for row in (rows[0], rows[-1])]
    return f"{number}: accuracy from {ends[0]} to {ends[1]}; {100 * d['level']:g} % posterior intervals."


def labelers_text(d: dict[str, Any]) -> str:
    """The whole text; `d` is what `LabelerReport.to_dict` returns."""
    if not d["labelers"]:
        return "\n".join(["No answer.", *d["warnings"]])
    doubt = loudest(d["checks"])
    lines = [labelers_headline(d), *([doubt] if doubt else [])]
    lines += [*(f"assumed: {sentence}" for sentence in d["assumed"]), "", *_by_gold(d), *_table(d)]
    lines += [*check_lines(d["checks"]), *odd_lines(d["suspicious"])]
    if d["warnings"]:
        lines += ["", "warnings", *(f"  {text}" for text in d["warnings"])]
    return "\n".join(lines)


def _by_gold(d: dict[str, Any]) -> list[str]:
    """What gold says of each labeler, whatever they share; nothing without gold."""
    found = [(plain(r["worker"]), r["right_by_gold"]) for r in d["labelers"] if r.get("right_by_gold")]
    if not found:
        return []
    width = max(6, *(len(worker) for worker, _ in found))
    lines = [
        f"{worker:>{width}}  {g['mean']:.2f} [{g['low']:.2f}, {g['high']:.2f}]  "
        f"{g['num_gold']} labels of known truth, {g['rule']}"
        for worker, g in found
    ]
    if len(lines) > _SHOWN + _LAST:
        left = f"{'...':>{width}}  {len(lines) - _SHOWN - _LAST} more labelers in the JSON"
        lines = [*lines[:_SHOWN], left, *lines[-_LAST:]]
    head = f"by gold, even if labelers share errors: {ESTIMAND} [{100 * d['level']:g} % interval]"
    return [head, *lines, "", "by the model, gold taken as known classes:"]


def _table(d: dict[str, Any]) -> list[str]:
    """A line for each labeler: accuracy, number of labels, and the diagonal of the matrix."""
    rows, classes = d["labelers"], d["classes"]
    width = max(6, *(len(plain(r["worker"])) for r in rows))
    columns = "  ".join(f"{plain(c)[:14]:>14}" for c in classes)
    what = "labeler, accuracy [interval] of a new sample, labels, and chance to be right when the class is"
    what = f"if errors were independent: {what}" if contradicted(d["checks"]) else what
    lines = [what, f"{'':>{width}}  {'':>4} {'':<12} {'labels':>6}  {columns}"]
    shown = [_line(r, width, len(classes)) for r in rows]
    if len(rows) <= _SHOWN + _LAST:
        return lines + shown
    left = f"{'...':>{width}}  {len(rows) - _SHOWN - _LAST} more labelers in the JSON"
    return [*lines, *shown[:_SHOWN], left, *shown[-_LAST:]]


def _line(r: dict[str, Any], width: int, classes: int) -> str:
    m = r["confusion_matrix"]
    own = [f"{m['mean'][c][c]:.2f} [{m['low'][c][c]:.2f}, {m['high'][c][c]:.2f}]" for c in range(classes)]
    accuracy = f"{r['accuracy']:.2f} [{r['low']:.2f}, {r['high']:.2f}]"
    head = f"{plain(r['worker']):>{width}}  {accuracy} {r['num_labels']:>6}"
    return head + "  " + "  ".join(f"{v:>14}" for v in own)
