"""The metrics of an evaluation as a data frame of any library, and as a table in a notebook."""

from html import escape
from typing import Any

from jtruth._frames import frame
from jtruth.evaluation.text import _number, _title, headline, no_number, unasked


def metrics_frame(d: dict[str, Any], backend: str | None = None) -> Any:
    """Metrics as a data frame, one a row.

    Args:
        d: what `Evaluation.to_dict` returns.
        backend: "pandas", "polars" or "pyarrow"; the first of them that is installed if None.

    Raises:
        ValueError: no such library.
    """
    naive = d["baselines"].get("majority_vote", {})
    rows = [{"metric": name, **row, "majority_vote": naive.get(name)} for name, row in d["metrics"].items()]
    return frame(rows, backend)


def notebook_table(d: dict[str, Any]) -> str:
    """HTML: the sentence, the metrics with intervals and what the majority vote says, warnings."""
    naive = d["baselines"].get("majority_vote", {})
    heads = ["", "mean", "sd", f"{100 * d['level']:g} % {d['interval_kind']}", "majority vote"]
    parts = [f"<p><b>{escape(headline(d))}</b></p>", "<table><thead><tr>"]
    parts += [*(f"<th>{escape(head)}</th>" for head in heads), "</tr></thead><tbody>"]
    for name, row in d["metrics"].items():
        if unasked(name, d):
            continue
        ends = no_number(d) if row["low"] is None else f"[{_number(row['low'])}, {_number(row['high'])}]"
        cells = [_title(name), _number(row["mean"]), _number(row["sd"]), ends, _number(naive.get(name))]
        parts.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    parts.append("</tbody></table>")
    said = [*(c["message"] for c in d["checks"] if c["verdict"] != "fits"), *d["warnings"]]
    if said:
        parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in said) + "</ul>")
    return "".join(parts)
