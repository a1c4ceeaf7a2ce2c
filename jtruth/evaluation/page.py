"""Answers as pages to forward, from their dictionaries: question, answer, what it depends on, what to do.

The same words as on the screen (`text`), in the same order, with pictures. A page shows what its reader can
act on; long lists are cut with a count, and the JSON beside it holds everything.
"""

from collections.abc import Sequence
from typing import Any

from jtruth._page import Bar, Bars, Facts, Matrix, Note, Notes, Page, Part, Table, number
from jtruth._validation.words import number_of
from jtruth.evaluation.amounts import counts_text
from jtruth.evaluation.labelers_text import labelers_headline
from jtruth.evaluation.text import (
    PREDICTIVE,
    _title,
    headline,
    loudest,
    no_number,
    of_each_class,
    unasked,
)

_KINDS = {"does not fit": "bad", "cannot be seen": "open", "fits": "good", "worth knowing": "say"}
_MOST_SQUARE, _MOST_CLASSES, _MOST_ERRORS = 12, 60, 25
_BY_GOLD = (
    "The first row weighs what each model of the labels says without gold and what gold says; it is no hull "
    "of the rows below, which may reach further."
)

Row = dict[str, Any]


def evaluation_page(d: Row) -> Page:
    """What `Evaluation.to_dict` returns as a page."""
    truth = (
        f"{number_of(d['num_gold'], 'true label')} known"
        if d["num_gold"]
        else "nobody knowing the true labels"
    )
    about = f"{counts_text(d)}; classes {_listed(d['classes'])}" + (
        f"; positive {d['positive']!r}" if d["positive"] and "recall" in d["headline"] else ""
    )
    parts: list[Part | None] = [_metrics(d), *_depends(d), *_classes(d), _confusion(d)]
    parts += [
        labelers_bars(d["labelers"], d["level"]),
        checks_notes(d["checks"]),
        _odd_notes(d["suspicious"]),
        warnings_notes(d["warnings"]),
    ]
    parts += [Notes("What would help", [Note("say", text) for text in d["advice"]]) if d["advice"] else None]
    doubt = loudest(d["checks"])
    return Page(
        f"How good is the classifier, with {truth}?", about, headline(d), doubt, _only([*parts, _how(d)])
    )


def labelers_page(d: Row) -> Page:
    """What `LabelerReport.to_dict` returns as a page."""
    rows = d["labelers"]
    about = (
        f"{number_of(len(rows), 'labeler')}, {number_of(sum(r['num_labels'] for r in rows), 'label')}; "
        f"classes {_listed(d['classes'])}"
    )
    parts = [labelers_bars(rows, d["level"], d["estimand"]), _right_by_class(d), checks_notes(d["checks"])]
    parts.append(_odd_notes(d["suspicious"]))
    how = Facts("How it was computed", [("class prior", _prior(d)), *(("assumed", s) for s in d["assumed"])])
    parts += [warnings_notes(d["warnings"]), how]
    return Page("How good is every labeler?", about, labelers_headline(d), loudest(d["checks"]), _only(parts))


def prevalence_page(d: Row) -> Page:
    """What `Prevalence.to_dict` returns as a page."""
    gold = number_of(d["num_gold"], "gold label") if d["num_gold"] else "no gold label"
    about = f"{counts_text(d)}, {gold}"
    said = d["label_shares"]
    expected = d.get("expected")
    bars = [
        Bar(name, row["mean"], row["low"], row["high"],
            (number(row["mean"]), _ends(row), *([_ends(expected[name])] if expected else []),
             number(said[name])), said[name])
        for name, row in d["shares"].items()
    ]  # fmt: skip
    kind = f"{100 * d['level']:g} % interval"
    note = "Dot: posterior mean; cross: the share of the labels as given."
    most = max(d["shares"].items(), key=lambda one: one[1]["mean"], default=None)
    answer = "Not identified: these labels do not determine the share of any class."
    if most is not None:
        answer = f"Class {most[0]!r}: {number(most[1]['mean'])} {_ends(most[1])} of the samples ({kind}s)."
    how = [("rule", d["rule"]), ("assumed", d["assumption"])]
    parts = [
        Bars(
            "Share of each class",
            ("", "", "mean", kind, *([PREDICTIVE] if expected else []), "of the labels"),
            bars,
            note,
        )
        if bars
        else None
    ]
    parts += [warnings_notes(d["warnings"]), Facts("How it was computed", how)]
    return Page("How many samples are of each class?", about, answer, "", _only(parts))


def _only(parts: Sequence[Part | None]) -> tuple[Part, ...]:
    return tuple(part for part in parts if part is not None)


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more


def _ends(row: Row) -> str:
    return "not identified" if row["low"] is None else f"[{number(row['low'])}, {number(row['high'])}]"


def _metrics(d: Row) -> Bars:
    """Metrics of the whole table with intervals; those of single classes have a table of their own."""
    naive = d["baselines"].get("majority_vote", {})
    rows = []
    for name, row in d["metrics"].items():
        if name.endswith("]") or unasked(name, d):
            continue
        other = naive.get(name)
        ends = no_number(d) if row["low"] is None else _ends(row)
        cells = (number(row["mean"]), ends, number(other))
        rows.append(
            Bar(_title(name), row["mean"], row["low"], row["high"], cells, other, middle=_is_range(d))
        )
    kind = f"{100 * d['level']:g} % {d['interval_kind']}"
    point = "ring: the middle of a range, not a likeliest value" if _is_range(d) else "dot: the mean"
    note = f"Bar: {kind}; {point}" + ("; cross: what the majority vote says." if naive else ".")
    never = [_title(n) for n, r in d["metrics"].items() if (r["probability_defined"] or 0.0) < 1 - 1e-6]
    note += f" May be undefined: {', '.join(never[:10])}." if never else ""
    return Bars("The numbers", ("", "", "mean", kind, "majority vote"), rows, note)


def _is_range(d: Row) -> bool:
    return d["interval_kind"] == "sensitivity range"


def _depends(d: Row) -> list[Part]:
    """One picture a headline metric: its interval under every assumption, and what all of them span."""
    if len(d["assumptions"]) < 2:
        return []
    gold, parts = d["interval_kind"] == "pooled interval", []
    whole = "models and gold together" if gold else "all of them"
    for name in (n for n in d["headline"] if n in d["metrics"]):
        one = d["metrics"][name]
        rows = [Bar(whole, one["mean"], one["low"], one["high"], (_ends(one),), strong=True, middle=True)]
        for a in d["assumptions"]:
            r = a["metrics"][name]
            rows.append(Bar(a["sentence"], r["mean"], r["low"], r["high"], (_ends(r),)))
        note = _BY_GOLD if gold else "Nobody can choose between these from the labels alone."
        note = "" if parts else note
        parts.append(Bars(f"What {_title(name)} depends on", ("", "", "interval"), rows, note))
    return parts


def _classes(d: Row) -> list[Part]:
    """Precision, recall and F1 of every class, as scikit-learn's report has them."""
    metrics, classes = of_each_class(d)
    names = classes[:_MOST_CLASSES]
    if not names:
        return []
    rows = [(str(c), *(_with_ends(d["metrics"][f"{m}[{c}]"]) for m in metrics)) for c in names]
    out = len(classes) - len(names)
    note = f"{out} more classes are left out here." if out else ""
    return [Table("Every class", ("class", *map(_title, metrics)), rows, note)]


def _with_ends(row: Row | None) -> str:
    if row is None:
        return "-"
    ends = f"[{number(row['low'], 2)}, {number(row['high'], 2)}]"
    return "undefined" if row["low"] is None else f"{number(row['mean'], 2)} {ends}"


def _confusion(d: Row) -> Part | None:
    """The table of counts; of many classes the largest expected errors."""
    mean, low, high = (d["confusion_matrix"][k] for k in ("mean", "low", "high"))
    if not mean or mean[0][0] is None:
        return None
    classes = d["classes"]
    symbols = classes if len(mean[0]) == len(classes) else [str(k) for k in range(len(mean[0]))]
    title, note = "Samples by true and predicted class", "Rows true, columns predicted; expected counts."
    if max(len(classes), len(symbols)) <= _MOST_SQUARE:
        top = max(max(row) for row in mean) or 1.0
        cells = [
            [_count(*cell) for cell in zip(*rows, strict=True)] for rows in zip(mean, low, high, strict=True)
        ]
        weight = [[value / top for value in row] for row in mean]
        return Matrix(title, tuple(classes), tuple(symbols), cells, weight, note)
    pairs = [(mean[a][b], a, b) for a in range(len(classes)) for b in range(len(symbols)) if a != b]
    pairs.sort(key=lambda pair: -pair[0])
    rows = [
        (classes[a], symbols[b], _count(mean[a][b], low[a][b], high[a][b]))
        for _, a, b in pairs[:_MOST_ERRORS]
    ]
    out = len(pairs) - len(rows)
    note = f"The {len(rows)} largest expected errors; {out} smaller ones are left out here."
    return Table("Largest expected errors", ("true class", "predicted", "samples"), rows, note)


def _count(mean: float, low: float, high: float) -> str:
    return f"{mean:.0f} [{low:.0f}, {high:.0f}]"


def labelers_bars(rows: Sequence[Row], level: float, what: str = "accuracy") -> Bars | None:
    """A forest of the labelers' accuracies."""
    if not rows:
        return None
    ranged = any(r.get("expected") and r["expected"]["low"] != r["low"] for r in rows)
    bars = [
        Bar(r["worker"], r["accuracy"], r.get("low"), r.get("high"),
            (_accuracy(r), *([_ends(r["expected"])] if ranged else []), str(r["num_labels"])))
        for r in rows
    ]  # fmt: skip
    note = f"{what[0].upper()}{what[1:]}, worst first, with {100 * level:g} % intervals."
    return Bars("Labelers", ("", "", "accuracy", *([PREDICTIVE] if ranged else []), "labels"), bars, note)


def _accuracy(row: Row) -> str:
    ends = "" if row.get("low") is None else f" [{number(row['low'])}, {number(row['high'])}]"
    return number(row["accuracy"]) + ends


def _right_by_class(d: Row) -> Part | None:
    """The chance to give the right label, by class, of the labelers with the most labels."""
    if not d["labelers"] or len(d["classes"]) > _MOST_SQUARE:
        return None
    most = sorted(d["labelers"], key=lambda r: -r["num_labels"])[:_MOST_ERRORS]
    rows = []
    for r in most:
        m = r["confusion_matrix"]
        own = [{k: m[k][c][c] for k in ("mean", "low", "high")} for c in range(len(d["classes"]))]
        rows.append((r["worker"], *map(_with_ends, own)))
    out = len(d["labelers"]) - len(rows)
    note = f"The {len(rows)} labelers with the most labels; {out} more are left out here." if out else ""
    heads = tuple(f"if {name!r} is true" for name in d["classes"])
    return Table("The chance to give the right label", ("", *heads), rows, note)


def checks_notes(checks: Sequence[Row]) -> Notes | None:
    """Checks, the loud ones first."""
    order = {"does not fit": 0, "cannot be seen": 1}
    found = sorted(checks, key=lambda c: order.get(c["verdict"], 2))
    items = [Note(_KINDS[c["verdict"]], c["message"], c["name"]) for c in found]
    quiet = "A quiet check is no proof: most shared mistakes leave no trace"
    if any(c["verdict"] == "fits" for c in checks):
        items.append(Note("say", quiet))
    return Notes("Do the labels contradict what this rests on?", items) if items else None


def _odd_notes(findings: Sequence[Row]) -> Notes | None:
    """What is odd in the labels, in the words of `inspect_labels`."""
    items = [Note("open", one["message"], one["name"].replace("_", " ")) for one in findings]
    return Notes("What is odd in the labels", items) if items else None


def warnings_notes(warnings: Sequence[str]) -> Notes | None:
    """Warnings."""
    return Notes("Warnings", [Note("open", text) for text in warnings]) if warnings else None


def _how(d: Row) -> Facts:
    """Method, what it takes for granted, prior."""
    some = [a["sentence"] for a in d["assumptions"]] if len(d["assumptions"]) == 1 else []
    items = [("method", d["method"]), ("interval", f"{100 * d['level']:g} % {d['interval_kind']}")]
    items += [("assumed", sentence) for sentence in (*some, *d["assumed"])]
    if _is_range(d):
        items.append(("range", "from the lowest to the highest end under the assumptions above"))
    return Facts("How it was computed", [*items, ("class prior", _prior(d))])


def _prior(d: Row) -> str:
    pairs = [f"{name!r} {number(p)}" for name, p in zip(d["classes"], d["prior"] or (), strict=False)]
    return ", ".join(pairs[:12]) + (f" and {len(pairs) - 12} more" if len(pairs) > 12 else "")
