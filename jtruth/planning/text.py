"""What a search for a plan found, what it prints, and what it writes."""

from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from jtruth._one_line import one_line
from jtruth._page import Bar, Bars, Facts, Note, Notes, Page, Table, write_page
from jtruth._pictures import as_printed, picture
from jtruth._validation.terminal import plain
from jtruth.planning._candidates import Row
from jtruth.planning.approximation import ApproximateWidth
from jtruth.planning.settings import Plan, Setting
from jtruth.planning.simulation import SimulatedWidth

_INDEPENDENT = (
    "Assumed: given the class, the classifier and all labelers err independently. Where they share errors, "
    "more labels do not narrow an honest interval (`jtruth evaluate` then shows a range); gold does."
)


class PlanSearch(NamedTuple):
    """A plan, how it was confirmed, and what else there is."""

    best: Row  # its width is the simulated one
    simulated: SimulatedWidth
    approximate: ApproximateWidth
    others: tuple[Row, ...]  # the best plan of other mixes, widths by approximation
    neighbours: tuple[
        Row, ...
    ]  # this mix with half and twice the samples, approximation times its error for `best`
    setting: Setting
    wanted: str  # "width" or "budget"
    amount: float
    num_mixes: int
    warnings: tuple[str, ...]

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def page(self) -> Page:
        """The plan as a page."""
        return search_page(self)

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def __str__(self) -> str:
        """The plan in a sentence, a table of alternatives, how it was computed, doubts."""
        return search_text(self)


def search_text(found: PlanSearch) -> str:
    """Answer first, then alternatives, then how it was computed, then doubts."""
    lines = [_sentence(found), "", *_table(found), "", _guesses(found.setting), _how(found), _INDEPENDENT]
    lines += [f"warning: {text}" for text in found.warnings]
    return "\n".join(lines)


def search_page(found: PlanSearch) -> Page:
    """The plan as a page: what to buy, what else there is, what was put in."""
    head, *rows = _cells_of(found)
    asked = found.setting
    row = found.best
    kinds = [
        (plain(k.name), f"{c:g}", f"{k.cost:g}") for c, k in zip(row.plan.labels, asked.labelers, strict=True)
    ]
    bars = [
        Bar(f"{name}: {one.plan.num_samples} samples, {one.plan.num_gold} gold", one.width, None, None,
            (_money(one.cost), f"{one.width:.3f}"), strong=one is row)
        for name, one in _rows(found)
    ]  # fmt: skip
    parts = [
        Table("What to buy", ("labeler", "labels of each sample", "cost of a label"), kinds),
        Bars("How wide the interval would be", ("", "", "cost", "width"), bars, unit=None),
        Table("Alternatives", ("", *head[1:]), [tuple(cells) for cells in rows]),
        Notes("What it takes for granted", [Note("open", _INDEPENDENT)]),
    ]
    parts += [Notes("Warnings", [Note("open", text) for text in found.warnings])] if found.warnings else []
    how = Facts("How it was computed", [("put in", _guesses(asked)), ("computed", _how(found))])
    about = f"{asked.metric}, {100 * asked.level:g} % interval, target {asked.target}"
    return Page("Which labels to buy?", about, _sentence(found), "", (*parts, how))


def _sentence(found: PlanSearch) -> str:
    plan, asked = found.best.plan, found.setting
    what = "cheapest" if found.wanted == "width" else "narrowest"
    limit = f"width {found.amount:g}" if found.wanted == "width" else f"budget {found.amount:g}"
    return (
        f"The {what} plan for {asked.metric} ({asked.target}, {100 * asked.level:g} %), {limit}: "
        f"{plan_text(asked, plan)}; cost {_money(found.best.cost)}, expected width {found.best.width:.3f}."
    )


def plan_text(setting: Setting, plan: Plan) -> str:
    """A plan in words: 500 samples, labels of each by 3 crowd, 30 gold."""
    used = [f"{c:g} x {plain(k.name)}" for c, k in zip(plan.labels, setting.labelers, strict=True) if c]
    gold = "all gold" if plan.num_gold == plan.num_samples else f"{plan.num_gold} gold"
    return f"{plan.num_samples} samples, labels of each by {' + '.join(used) or 'nobody'}, {gold}"


def _rows(found: PlanSearch) -> list[tuple[str, Row]]:
    """The plan and its alternatives by name."""
    lines = [("this plan", found.best), *(("other mix", row) for row in found.others)]
    return lines + [
        ("half" if row.plan.num_samples < found.best.plan.num_samples else "twice", row)
        for row in found.neighbours
    ]


def _cells_of(found: PlanSearch) -> list[list[str]]:
    names = [plain(kind.name) for kind in found.setting.labelers]
    head = ["", "samples", *names, "gold", "cost", "width"]
    return [head, *([name, *_cells(row)] for name, row in _rows(found))]


def _table(found: PlanSearch) -> list[str]:
    cells = _cells_of(found)
    head = cells[0]
    wide = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return ["  ".join([row[0].ljust(wide[0]), *(c.rjust(w) for c, w in zip(row[1:], wide[1:], strict=True))])
            for row in cells]  # fmt: skip


def _cells(row: Row) -> list[str]:
    plan = row.plan
    labels = [f"{count:g}" for count in plan.labels]
    return [str(plan.num_samples), *labels, str(plan.num_gold), _money(row.cost), f"{row.width:.3f}"]


def _money(cost: float) -> str:
    return f"{cost:,.2f}"


def _guesses(setting: Setting) -> str:
    """What was put in."""
    kinds = []
    for kind in setting.labelers:
        errors = np.unique((1 - np.diag(kind.matrix)).round(3))
        rate = "/".join(f"{e:.2g}" for e in (errors if errors.size == 1 else 1 - np.diag(kind.matrix)))
        kinds.append(f"{plain(kind.name)} (error {rate}, cost {kind.cost:g}, at most {kind.people})")
    prior, right = (", ".join(f"{v:.3g}" for v in x) for x in (setting.prior, np.diag(setting.confusion)))
    gold = f"{setting.cost_gold:g}" if np.isfinite(setting.cost_gold) else "not to be had"
    return (
        f"Target {setting.target}, as evaluate(target={setting.target!r}) answers. "
        f"Put in: class prior {prior}; classifier right in each class {right} ({setting.metric} "
        f"{setting.value:.3f}); labelers {', '.join(kinds)}; "
        f"a sample costs {setting.cost_sample:g}, gold {gold}."
    )


def _how(found: PlanSearch) -> str:
    rates = {
        "known": "prior and error rates taken as known",
        "learned": "prior and error rates learned from the same labels",
    }[found.setting.rates]
    return (
        f"Computed: {found.num_mixes} mixes by Fisher information, {rates}; this plan confirmed by "
        f"simulation (width {found.simulated.mean:.3f} +- {found.simulated.standard_error:.3f} in "
        f"{found.simulated.widths.size} sets, {found.simulated.method}; predicted "
        f"{found.approximate.width:.3f}). Widths of the other rows are predicted."
    )


def search_dict(found: PlanSearch) -> dict[str, Any]:
    """The answer as plain numbers and text, ready for JSON."""
    asked = found.setting

    def row(one: Row) -> dict[str, Any]:
        labels = {k.name: c for k, c in zip(asked.labelers, one.plan.labels, strict=True)}
        return {
            "num_samples": one.plan.num_samples, "labels_per_sample": labels, "num_gold": one.plan.num_gold,
            "cost": one.cost, "width": one.width,
        }  # fmt: skip

    labelers = [
        {"name": k.name, "matrix": k.matrix.tolist(), "cost": k.cost, "people": k.people}
        for k in asked.labelers
    ]
    return {
        "wanted": {found.wanted: found.amount},
        "metric": asked.metric, "target": asked.target, "level": asked.level, "rates": asked.rates,
        "prior": asked.prior.tolist(), "classifier": asked.confusion.tolist(), "labelers": labelers,
        "cost_sample": asked.cost_sample,
        "cost_gold": asked.cost_gold if np.isfinite(asked.cost_gold) else None,
        "plan": row(found.best),
        "simulated": {
            "width": found.simulated.mean, "standard_error": found.simulated.standard_error,
            "num_sets": int(found.simulated.widths.size), "method": found.simulated.method,
        },
        "approximate_width": found.approximate.width,
        "others": [row(one) for one in found.others],
        "neighbours": [row(one) for one in found.neighbours],
        "warnings": list(found.warnings),
    }  # fmt: skip
