"""A comparison of classifiers as a page to forward, from its dictionary."""

from typing import Any

from jtruth._page import Bar, Bars, Facts, Page, Part, number
from jtruth._validation.words import number_of
from jtruth.evaluation.page import Row, warnings_notes
from jtruth.tables.metrics import title

_MOST_PAIRS = 40


def comparison_page(d: Row, headline: str) -> Page:
    """What `Comparison.to_dict` returns, and its first sentence, as a page."""
    c = d["comparison"]
    gold = number_of(c["num_gold"], "gold label") if c["num_gold"] else "no gold label"
    about = (
        f"{len(c['classifiers'])} classifiers, {c['num_samples']} samples, {gold}; positive {c['positive']!r}"
    )
    parts: list[Part | None] = [
        _values(c),
        _differences(c),
        *_by_assumption(d),
        warnings_notes(d["warnings"]),
    ]
    how = [("metric", title(c["metric"])), ("interval", f"{100 * c['level']:g} % {c['interval_kind']}")]
    how += [("assumed", view["sentence"]) for view in d["assumptions"][:1] if len(d["assumptions"]) == 1]
    parts.append(Facts("How it was computed", how))
    kept = tuple(part for part in parts if part is not None)
    return Page(f"Which classifier has the better {title(c['metric'])}?", about, headline, "", kept)


def _chance(found: Row | None) -> str:
    """A probability, or its range over assumptions."""
    if found is None or found["low"] is None:
        return "-"
    if found["high"] - found["low"] < 5e-3:
        return number(found["mean"], 2)
    return f"{number(found['low'], 2)} to {number(found['high'], 2)}"


def _law(row: Row) -> str:
    ends = "" if row["low"] is None else f" [{number(row['low'])}, {number(row['high'])}]"
    return number(row["mean"]) + ends


def _values(c: Row) -> Bars:
    by_name = {row["name"]: row for row in c["classifiers"]}
    rows = [by_name[name] for name in c["ranking"]]
    wanted = c["at_least"] is not None
    bars = [
        Bar(r["name"], r["mean"], r["low"], r["high"],
            (_law(r), _chance(r["best"]), *((_chance(r["meets"]),) if wanted else ())),
            middle=c["interval_kind"] == "sensitivity range")
        for r in rows
    ]  # fmt: skip
    side = "at most" if c["smaller_is_better"] else "at least"
    head = ("", "", title(c["metric"]), "P(best)", *((f"P({side} {c['at_least']:g})",) if wanted else ()))
    return Bars(
        "Classifiers, the best first", head, bars, "Judged by the same labels, so look at differences."
    )


def _differences(c: Row) -> Bars | None:
    pairs = c["differences"][:_MOST_PAIRS]
    bars = [
        Bar(
            f"{p['first']} - {p['second']}",
            p["mean"],
            p["low"],
            p["high"],
            (_law(p), _chance(p["first_better"])),
        )
        for p in pairs
    ]
    beyond = f" by more than {c['margin']:g}" if c["margin"] else ""
    out = len(c["differences"]) - len(pairs)
    note = f"{out} more differences are left out here." if out else ""
    head = ("", "", "difference", f"P(the first is better{beyond})")
    return Bars("Differences", head, bars, note, unit=None) if bars else None


def _by_assumption(d: Row) -> list[Bars]:
    """The metric of the first two classifiers under every assumption."""
    c = d["comparison"]
    if len(d["assumptions"]) < 2:
        return []
    names = [row["name"] for row in c["classifiers"]]
    found = []
    for name in c["ranking"][:2]:
        k = names.index(name)
        rows: list[Any] = [(view["sentence"], view["values"][k]) for view in d["assumptions"]]
        bars = [Bar(text, r["mean"], r["low"], r["high"], (_law(r),)) for text, r in rows]
        found.append(Bars(f"What {title(c['metric'])} of {name!r} depends on", ("", "", "interval"), bars))
    return found
