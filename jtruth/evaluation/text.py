"""The text of an evaluation, from its dictionary: what `print(result)` and the command line show."""

from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.evaluation.amounts import counts_text, taken_as_true
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import of_one_class, title

INDEPENDENT = "given the true class, the labelers err independently of one another"
MORE_RIGHT = "labelers are more often right than wrong (else the same labels would mean the opposite)"
PREDICTIVE = "if shared errors are like those of the public data sets"  # of which docs tell
IN_SAMPLE, POPULATION = "in-sample", "population"
TARGETS = (IN_SAMPLE, POPULATION)
OF_LABELERS = {
    IN_SAMPLE: "share of the labels given that are right",
    POPULATION: "chance that a label for a new sample is right",
}
_LABELERS_SHOWN, _IN_A_LINE = 9, 3
_CHECKS_SHOWN = 3  # with what to do; the others by name
_DETERMINED = 0.5  # width of an interval above which nothing is determined
_CLASSES_SHOWN, _ERRORS_SHOWN, _MOST_SQUARE = 12, 6, 8
OF_ONE_CLASS = ("recall", "precision", "accuracy")
OF_ALL_CLASSES = ("accuracy", "macro_recall", "macro_f1")

_TAKEN = {  # methods that know no uncertainty
    "labels": "the most probable class of each sample was taken as true",
    "majority_vote": "the majority vote was taken as true",
    "smyth": "the most probable classes by EM were taken as true",
}


def _number(value: float | None) -> str:
    if value is None:
        return "  -"
    return f"{value:.3f}".removeprefix("0") if 0 <= value < 1 else f"{value:.3f}"


def no_number(d: dict[str, Any]) -> str:
    """What stands where a metric has no number: all of them by the labels, some by the predictions."""
    return "not identified" if all(row["mean"] is None for row in d["metrics"].values()) else "undefined"


def _range(row: dict[str, Any], d: dict[str, Any]) -> str:
    if row["low"] is None:
        return no_number(d)
    if d["method"] in _TAKEN:
        return "-"
    return f"[{_number(row['low'])}, {_number(row['high'])}]"


def _value(row: dict[str, Any], d: dict[str, Any]) -> str:
    if row["low"] is None:
        return no_number(d)
    return _number(row["mean"]) + ("" if d["method"] in _TAKEN else f" {_range(row, d)}")


def _title(name: str) -> str:
    """A metric as people call it; the name of a class, recall[my_class], stays what it is."""
    metric, bracket, of_class = name.partition("[")
    return title(metric) + (f"[{plain(of_class[:-1])}]" if bracket else "")


def undetermined(row: dict[str, Any]) -> bool:
    """Whether an interval is so wide that its middle is no answer, and no headline."""
    return row["low"] is not None and row["high"] - row["low"] > _DETERMINED


def headline(d: dict[str, Any]) -> str:
    """One sentence with the answer."""
    percent = f"{100 * d['level']:g} %"
    if no_number(d) == "not identified":
        return "Not identified: these labels do not determine how good the classifier is."
    names = [n for n in d["headline"] if n in d["metrics"]]
    open_ = [_title(n) for n in names if undetermined(d["metrics"][n])]
    parts = [f"{_title(n)} {_value(d['metrics'][n], d)}" for n in names if not undetermined(d["metrics"][n])]
    parts += [f"not determined: {' and '.join(open_)}"] if open_ else []
    kind = f"{percent} {d['interval_kind']}" + ("s" if d["interval_kind"] != "posterior" else " intervals")
    of = f" of class {d['positive']!r}" if d["positive"] is not None and "recall" in d["headline"] else ""
    truth = taken_as_true(d["num_gold"])
    if (taken := _TAKEN.get(d["method"])) is not None:
        kind, truth = "no intervals", taken
    text = ", ".join(parts) + f" ({kind}{of}; {truth})."
    return text[0].upper() + text[1:]


def _doubt(d: dict[str, Any]) -> list[str]:
    """What stands above everything else: predictions that agree with the labels no better than chance."""
    return [
        "Look first: " + check["message"] + "."
        for check in d["checks"]
        if check["name"] == "better than chance" and check["verdict"] == "does not fit"
    ]


def loudest(checks: list[dict[str, Any]]) -> str:
    """How many checks speak against what the answer rests on, in a sentence; empty if none does."""
    against = [c["name"] for c in checks if c["verdict"] == "does not fit"]
    if not against:
        return ""
    number = f"{len(against)} checks speak" if len(against) > 1 else "1 check speaks"
    return f"{number} against what this rests on: {', '.join(against)}."


def _metric_table(d: dict[str, Any]) -> list[str]:
    naive = d["baselines"].get("majority_vote", {})
    lines = [f"{'':>16}  {'mean':>5}  {'sd':>5}  {'interval':<14}  {'majority vote says':>18}"]
    for name, row in d["metrics"].items():
        if _of_class(name, d) or unasked(name, d):
            continue
        other, difference = naive.get(name), ""
        if other is not None:
            gap = "" if row["mean"] is None else f" ({other - row['mean']:+.3f})"
            difference = f"{_number(other)}{gap}"
        numbers = f"{_number(row['mean']):>5}  {_number(row['sd']):>5}  {_range(row, d):<14}"
        line = f"{_title(name):>16}  {numbers}  {difference:>18}"
        if row["probability_defined"] is not None and 0 < row["probability_defined"] < 1 - 1e-6:
            line += f"  (undefined with probability {1 - row['probability_defined']:.2g})"
        lines.append(line.rstrip())
    return lines


def _of_class(name: str, d: dict[str, Any]) -> bool:
    """Whether a metric is that of one class, among more than two: those have a table of their own."""
    return len(d["classes"]) > 2 and name.endswith("]") and name.partition("[")[2][:-1] in d["classes"]


def unasked(name: str, d: dict[str, Any]) -> bool:
    """Whether a metric is that of the positive class where nobody said which of many classes that is."""
    return of_one_class(name) and "recall" not in d["headline"]


def of_each_class(d: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Which metrics are there for every class, and for which classes: none unless there are more than two."""
    classes = [c for c in d["classes"] if any(name.endswith(f"[{c}]") for name in d["metrics"])]
    if len(d["classes"]) < 3 or not classes:
        return [], []
    end = f"[{classes[0]}]"
    return [name.removesuffix(end) for name in d["metrics"] if name.endswith(end)], classes


def _class_table(d: dict[str, Any]) -> list[str]:
    """Precision, recall and F1 of every class, as scikit-learn's report has them."""
    metrics, classes = of_each_class(d)
    if not classes:
        return []
    shown = classes[:_CLASSES_SHOWN]
    width = max(5, *(len(plain(name)) for name in shown))
    lines = ["", f"{'class':>{width + 2}}" + "".join(f"  {_title(m):<17}" for m in metrics).rstrip()]
    for name in shown:
        cells = "".join(f"  {_value(d['metrics'][f'{m}[{name}]'], d):<17}" for m in metrics)
        lines.append(f"{plain(name):>{width + 2}}{cells}".rstrip())
    if len(shown) < len(classes):
        lines.append(f"  ... and {len(classes) - len(shown)} more classes in the JSON")
    return lines


def _largest_errors(d: dict[str, Any]) -> list[str]:
    """Where most samples are lost, where there are too many classes for the whole table."""
    mean, low, high = (d["confusion_matrix"][k] for k in ("mean", "low", "high"))
    names, size = [plain(name) for name in d["classes"]], len(d["classes"])
    cells = [(mean[a][b], a, b) for a in range(size) for b in range(len(mean[a])) if a != b and b < size]
    lines = ["", "largest expected errors (true class -> predicted)"]
    for value, a, b in sorted(cells, key=lambda cell: -cell[0])[:_ERRORS_SHOWN]:
        lines.append(f"  {names[a]} -> {names[b]}  {value:.0f} [{low[a][b]:.0f}, {high[a][b]:.0f}] samples")
    return lines


def _confusion(d: dict[str, Any]) -> list[str]:
    mean, low, high = (d["confusion_matrix"][k] for k in ("mean", "low", "high"))
    if not mean or mean[0][0] is None:
        return []
    if len(mean) > _MOST_SQUARE:
        return _largest_errors(d)
    classes = [plain(name) for name in d["classes"]]
    symbols = classes if len(mean[0]) == len(classes) else [str(k) for k in range(len(mean[0]))]
    cells = [
        [f"{m:.0f} [{lo:.0f}, {hi:.0f}]" for m, lo, hi in zip(*rows, strict=True)]
        for rows in zip(mean, low, high, strict=True)
    ]
    width = max(len(cell) for row in cells for cell in row)
    width = max(width, *map(len, symbols))
    name = max(map(len, classes))
    lines = ["", "samples (rows true, columns predicted)"]
    lines.append(" " * (name + 4) + "  ".join(f"{s:>{width}}" for s in symbols))
    lines += [
        f"  {c:>{name}}  " + "  ".join(f"{cell:>{width}}" for cell in row)
        for c, row in zip(classes, cells, strict=True)
    ]
    return lines


def _labelers(d: dict[str, Any]) -> list[str]:
    """The worst labelers, some to a line."""
    rows = d["labelers"]
    if not rows:
        return []
    shown = [_labeler(r) for r in rows[:_LABELERS_SHOWN]]
    lines = ["", f"labelers, worst first ({len(shown)} of {len(rows)})"]
    if d["interval_kind"] == "sensitivity range":
        lines[-1] += f", ranges of the {OF_LABELERS[d['target']]}"
    return lines + [f"  {';  '.join(shown[k : k + _IN_A_LINE])}" for k in range(0, len(shown), _IN_A_LINE)]


def _labeler(r: dict[str, Any]) -> str:
    ends = f" [{_number(r['low'])}, {_number(r['high'])}]" if r.get("low") is not None else ""
    size = number_of(r["num_labels"], "label")
    return f"{plain(r['worker'])} accuracy {_number(r['accuracy'])}{ends} ({size})"


def _assumptions(d: dict[str, Any]) -> list[str]:
    """A line for each assumption: the metrics of the headline, then what is assumed."""
    if len(d["assumptions"]) < 2:
        return [f"assumed: {a['sentence']}" for a in d["assumptions"]]
    shown = [n for n in d["headline"] if n in d["metrics"]]
    head = "".join(f"{_title(n):<20}" for n in shown) + "what it depends on"
    if any(a.get("loo") for a in d["assumptions"]):
        head += " (elpd: how well a model predicts the labels, not who is right about the truth)"
    lines = ["", f"  {head}"]
    for a in d["assumptions"]:
        values = [_value(a["metrics"][n], d) for n in shown]
        lines.append(f"  {''.join(f'{v:<20}' for v in values)}{a['sentence']}{_loo(a.get('loo'))}")
    return lines


def _predictive(d: dict[str, Any]) -> list[str]:
    """What is to be expected of a range, by what the models missed elsewhere."""
    shown = [n for n in d["headline"] if n in d["predictive"]]
    values = ", ".join(f"{_title(n)} {_value(d['predictive'][n], d)}" for n in shown)
    return [f"{PREDICTIVE}: {values} ({100 * d['level']:g} % predictive intervals)"] if values else []


def _loo(loo: dict[str, Any] | None) -> str:
    """Leave-one-out density and its difference to the first model."""
    if loo is None:
        return ""
    gap = f", {loo['difference']:+.0f} +- {loo['difference_se']:.0f}" if loo["difference_se"] else ""
    return f"; elpd {loo['elpd']:.0f}{gap}" + (f" ({loo['num_bad']} bad terms)" if loo["num_bad"] else "")


def check_lines(checks: list[dict[str, Any]]) -> list[str]:
    """Loud checks with what to do, one line each; quiet ones, and the loud beyond the first, by name."""
    if not checks:
        return []
    against = [c for c in checks if c["verdict"] == "does not fit"]
    more = against[_CHECKS_SHOWN:]
    loud = [f"  {c['verdict']}: {c['message']}" for c in checks if c["verdict"] != "fits" and c not in more]
    loud += (
        [f"  does not fit either: {', '.join(c['name'] for c in more)} (in full in JSON and report)"]
        if more
        else []
    )
    quiet = [c["name"] for c in checks if c["verdict"] == "fits"]
    if quiet:
        loud.append(
            f"  fits: {', '.join(quiet)}. A quiet check is no proof: most shared mistakes leave no trace"
        )
    return ["", "checks", *loud]


def interval_text(law: Estimate, level: float) -> str:
    """Mean and interval of a law that may be undefined."""
    if np.isnan(law.mean):
        return "undefined"
    low, high, _ = law.interval(level)
    return f"{law.mean:.3f} [{low:.3f}, {high:.3f}]"


def odd_lines(findings: list[dict[str, Any]]) -> list[str]:
    """What is odd in the labels, in the words of `inspect_labels`."""
    return ["", "look at", *(f"  {one['message']}" for one in findings)] if findings else []


def summary_text(d: dict[str, Any], brief: bool = False) -> str:
    """The whole text, or what fits a small terminal; `d` is what `Evaluation.to_dict` returns."""
    size = counts_text(d)
    size += f"; method {d['method']}; target: {d['target']}; key {d['key']}"
    doubt = [text] if (text := loudest(d["checks"])) else []
    lines = [*_doubt(d), headline(d), *doubt, size, "", *_metric_table(d)]
    if brief:
        more = [("assumptions", len(d["assumptions"])), ("labelers", len(d["labelers"])),
                ("checks", len(d["checks"])), ("odd things", len(d["suspicious"])),
                ("warnings", len(d["warnings"]))]  # fmt: skip
        left = ", ".join(f"{number} {name}" for name, number in more if number)
        return "\n".join([*lines, f"not shown: {left}"])
    lines += [*_class_table(d), *_confusion(d), *_assumptions(d)]
    lines += _predictive(d)
    lines += [f"assumed throughout: {sentence}" for sentence in d["assumed"]]
    lines += _labelers(d)
    lines += check_lines(d["checks"])
    lines += odd_lines(d["suspicious"])
    if d["warnings"]:
        lines += ["warnings", *(f"  {w}" for w in d["warnings"])]
    if d["advice"]:
        lines += ["", "what would help", *(f"  {a}" for a in d["advice"])]
    return "\n".join(lines)
