"""Curves and areas of a classifier's scores as a page to forward, from their dictionaries."""

from collections.abc import Mapping

from jtruth._page import Bar, Bars, Chart, Facts, Page, Part, Series, Table, few, number
from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.evaluation.page import Row, warnings_notes

AREAS = {"auc": "area under the ROC curve", "average_precision": "average precision"}
_MOST_CLASSES = 6  # curves that can be told apart in one chart


def score_page(d: Row, headline: str) -> Page:
    """What `ScoreEvaluation.to_dict` returns, and its first sentence, as a page."""
    gold = number_of(d["num_gold"], "gold label") if d["num_gold"] else "no gold label"
    about = f"positive {plain(d['positive'])!r}, {d['num_bins']} bins of scores, {gold}"
    ends = d["auc_of_scores"]
    note = (
        f"Bins hide at most {number(d['hidden_by_bins'])} of the area: that of the scores themselves is in "
        f"[{number(ends['low'])}, {number(ends['high'])}]."
    )
    areas = Bars("Areas", ("", "", "interval"), [_bar(AREAS[name], d[name]) for name in AREAS], note)
    parts: list[Part | None] = [areas, _by_assumption(d), *_charts({"": d}), _thresholds(d)]
    return _page("How well do the scores rank?", about, headline, parts, d, d)


def class_score_page(d: Row, headline: str) -> Page:
    """What `ClassScores.to_dict` returns, and its first sentence, as a page."""
    each: Mapping[str, Row] = d["each"]
    first, last, out = few(list(each))
    note = f"{out} more classes are left out here." if out else ""
    parts: list[Part | None] = [
        Bars(
            f"{text[0].upper()}{text[1:]}, one class against the rest",
            ("", "", "interval"),
            [_bar(plain(name), each[name][key]) for name in (*first, *last)]
            + [_bar(f"{name} average", row) for name, row in d["averages"][key].items()],
            note,
        )
        for key, text in AREAS.items()
    ]
    parts += _charts({plain(name): each[name] for name in list(each)[:_MOST_CLASSES]})
    some = next(iter(each.values()))
    return _page("How well do the scores rank?", f"{len(each)} classes", headline, parts, d, some)


def _page(title: str, about: str, answer: str, parts: list[Part | None], d: Row, one: Row) -> Page:
    how = [("interval", f"{100 * d['level']:g} % {one['interval_kind']}"), ("target", d["target"])]
    how.append(("assumed", one["assumption"]))
    parts += [warnings_notes(d["warnings"]), Facts("How it was computed", how)]
    return Page(title, about, answer, "", tuple(part for part in parts if part is not None))


def _bar(name: str, row: Row) -> Bar:
    cell = f"{number(row['mean'])} [{number(row['low'])}, {number(row['high'])}]"
    return Bar(name, row["mean"], row["low"], row["high"], (cell,))


def _by_assumption(d: Row) -> Bars | None:
    """The area under every assumption, where nobody vouched for one."""
    bars = [_bar(view["sentence"], view["auc"]) for view in d["assumptions"]]
    return Bars(f"What the {AREAS['auc']} depends on", ("", "", "interval"), bars) if bars else None


def _charts(found: Mapping[str, Row]) -> list[Part]:
    """Both curves, each with its pointwise band."""
    roc, pr = ([_series(name, d["curves"][kind]) for name, d in found.items()] for kind in
               ("roc", "precision_recall"))  # fmt: skip
    note = "Bands hold each point with the stated probability; of a range they hold every assumption's."
    return [
        Chart("ROC curve", "false alarm rate", "recall", tuple(roc), note, diagonal=True),
        Chart("Precision and recall", "recall", "precision", tuple(pr), note),
    ]


def _series(name: str, curve: Row) -> Series:
    rows = zip(curve["x"], curve["mean"], curve["low"], curve["high"], strict=True)
    known = [row for row in rows if None not in row]
    x, mean, low, high = ([row[k] for row in known] for k in range(4))
    return Series(name, x, mean, low, high)


def _thresholds(d: Row) -> Table | None:
    """What thresholds and costs that were stated bring."""
    names = ("false_alarm_rate", "recall", "precision", "cost")
    rows = [
        (
            _from(one),
            *(_bar("", one[name]).cells[0] if one[name] is not None else "-" for name in names),
        )
        for one in d["thresholds"]
    ]
    head = ("positive from", "false alarm rate", "recall", "precision", "mean cost")
    return Table("At a threshold", head, rows) if rows else None


def _from(one: Row) -> str:
    """A threshold in words where it is infinite: above all scores, or below."""
    if one["threshold"] is not None:
        return f"{one['threshold']:g}"
    return "everything" if one["false_alarm_rate"]["mean"] == 1 else "nothing"
