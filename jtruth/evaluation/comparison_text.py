"""The text of a comparison: who is better, the table of ranks, differences, and what was assumed."""

from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth.evaluation.amounts import taken_as_true
from jtruth.evaluation.assumptions.ranges import first_and_rest
from jtruth.evaluation.text import interval_text
from jtruth.tables.metrics import title

Comparison = Any  # `compared.Comparison`, which imports this file
_MOST_DIFFERENCES = 10


def comparison_text(found: Comparison) -> str:
    """The answer as text."""
    first_of_all, rest = first_and_rest(found.warnings)
    lines = [_headline(found), *first_of_all, "", *_ranks(found), "", *_differences(found)]
    order = _agreement(found)
    lines += ["", order] if order else []
    if len(found.assumptions) > 1:
        lines += ["", f"P(best) of {plain(found.ranking[0])} by assumption"]
        first, sign = found.names.index(found.ranking[0]), -1.0 if found.smaller_is_better else 1.0
        lines += [f"  {view.best(sign)[first]:.2f}  {view.sentence}" for view in found.assumptions]
    else:
        lines += ["", f"assumed: {found.assumptions[0].sentence}"]
    return "\n".join([*lines, *rest])


def _headline(found: Comparison) -> str:
    first, second = found.ranking[:2]
    truth = taken_as_true(found.num_gold)
    return (
        f"{plain(first)} has the better {title(found.metric)} with probability {found.best[first]}; "
        f"than {plain(second)}{_beyond(found)} {found.better[first, second]} "
        f"({100 * found.level:g} % {_plural(found.interval_kind)}; {truth})."
    )


def _plural(kind: str) -> str:
    return "posterior intervals" if kind == "posterior" else f"{kind}s"


def _beyond(found: Comparison) -> str:
    return f" by more than {found.margin:g}" if found.margin else ""


def _ranks(found: Comparison) -> list[str]:
    width = max(4, *(len(plain(name)) for name in found.names))
    wanted = ""
    if found.at_least is not None:
        wanted = f"P({'at most' if found.smaller_is_better else 'at least'} {found.at_least:g})"
    lines = [f"{'':>{width + 4}}  {title(found.metric):<23} {'P(best)':<13} {wanted}".rstrip()]
    for rank, name in enumerate(found.ranking):
        meets = str(found.meets[name]) if found.meets else ""
        value = interval_text(found.values[name], found.level)
        lines.append(
            f"{rank + 1:>2}  {plain(name):<{width}}  {value:<23} {found.best[name]!s:<13} {meets}".rstrip()
        )
    return lines


def _differences(found: Comparison) -> list[str]:
    """Of neighbours in the ranking first, then of all others, ten at most."""
    order = {name: rank for rank, name in enumerate(found.ranking)}
    pairs = [(a, b) if order[a] < order[b] else (b, a) for a, b in found.differences]  # the better one first
    pairs.sort(key=lambda pair: (order[pair[1]] - order[pair[0]], order[pair[0]]))
    lines = [f"differences, and the probability that the first is better{_beyond(found)}"]
    for a, b in pairs[:_MOST_DIFFERENCES]:
        law, turned = (found.differences[a, b], False) if (a, b) in found.differences else (
            found.differences[b, a], True)  # fmt: skip
        low, high, _ = law.interval(found.level)
        mean, low, high = (-law.mean, -high, -low) if turned else (law.mean, low, high)
        shown = "undefined" if np.isnan(mean) else f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
        lines.append(f"  {plain(a)} - {plain(b)}: {shown}  {found.better[a, b]}")
    if len(pairs) > _MOST_DIFFERENCES:
        lines.append(f"  ... and {len(pairs) - _MOST_DIFFERENCES} more in the JSON and in .differences")
    if found.interval_kind == "pooled interval":
        lines.append("  (gold corrects each metric and each difference by itself: they need not add up)")
    return lines


def _agreement(found: Comparison) -> str:
    """The order that needs no model (Lam and Stork 2003, section 7)."""
    if not found.agreement:
        return ""
    order = sorted(found.agreement, key=lambda name: -found.agreement[name])
    shares = ", ".join(f"{plain(name)} {found.agreement[name]:.3f}" for name in order)
    return (
        f"share of all labels that each repeats: {shares}. Apart from chance this order is that of their "
        "accuracies if labels are wrong less often than right, equally in all classes, and independently of "
        "the classifiers; the probabilities above are of the other kind: they come from the model"
    )
