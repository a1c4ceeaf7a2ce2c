"""The queue of `jtruth clean` as a page to forward: what to check, why, and when to stop."""

from typing import Any

from jtruth._page import Bar, Bars, Facts, Note, Notes, Page, Table, few, number

Row = dict[str, Any]


def clean_page(d: Row) -> Page:
    """What `clean_request` answers as a page: a queue for a model, or labels that may be wrong."""
    return _queue_page(d) if "strategy" in d else _issues_page(d)


def _queue_page(d: Row) -> Page:
    """Which labels an expert should check, so that a model becomes better."""
    first, last, out = few(d["queue"])
    rows = [(str(r["task"]), f"{r['expected_gain']:.2e}", str(r["reason"])) for r in (*first, *last)]
    note = f"{out} tasks between these are left out here; the JSON has all." if out else ""
    table = Table("Check these tasks, in this order", ("task", "expected gain", "why"), rows, note)
    facts = [("strategy", d["strategy"]), ("answers so far", str(d["num_answers"]))]
    if d["estimated_accuracy"] is not None:
        facts.append(("estimated accuracy of the model", number(d["estimated_accuracy"])))
    about = f"{len(d['queue'])} tasks to check, {d['num_answers']} answers so far"
    parts = (table, *_warnings(d), Facts("How it was computed", facts))
    return Page("Which labels should an expert check?", about, f"{d['advice']['sentence']}.", "", parts)


def _issues_page(d: Row) -> Page:
    """Which labels are wrong, without an expert."""
    bars = [
        Bar(f"{r['task']}, {r['worker']}: {r['label']}", r["p_wrong"], r["low"], r["high"],
            (number(r["p_wrong"]),))
        for r in d["queue"]
    ]  # fmt: skip
    low, high = d["interval"]
    number_ = f"{d['expected_wrong']:.1f} [{low:.0f}, {high:.0f}]"
    by_whom = [(r["worker"], r["expected_wrong"]) for r in d["labelers"]]
    parts = (
        Bars("Labels that may be wrong", ("task, labeler: label", "", "P(wrong)"), bars),
        _counts("Of which labeler", by_whom),
        _counts("Of which class", list(d["classes"].items())),
        *_warnings(d),
    )
    about = f"the {len(bars)} most suspicious labels of {len(by_whom)} labelers"
    return Page("Which labels are wrong?", about, f"{number_} labels are expected to be wrong.", "", parts)


def _counts(title: str, numbers: list[tuple[Any, float]]) -> Table:
    """Expected wrong labels, the most first."""
    ordered = sorted(numbers, key=lambda one: -one[1])
    first, last, out = few(ordered)
    note = f"{out} between these are left out here." if out else ""
    rows = [(str(name), number(value, 1)) for name, value in (*first, *last)]
    return Table(title, ("", "expected wrong labels"), rows, note)


def _warnings(d: Row) -> list[Notes]:
    return [Notes("Warnings", [Note("open", text) for text in d["warnings"]])] if d["warnings"] else []
