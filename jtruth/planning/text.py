"""What a search for a plan found, what it prints, and what it writes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth.answers import (
    Answer,
    Column,
    Curve,
    Series,
    Shown,
    Table,
    facts,
    how,
    sentence_notes,
    warning_notes,
)
from jtruth.planning.approximation import ApproximateWidth
from jtruth.planning.settings import Plan, Row, Setting
from jtruth.planning.simulation import SimulatedWidth

_INDEPENDENT = (
    "Assumed: given the class, the classifier and all labelers err independently. Where they share errors, "
    "more labels do not narrow an honest interval (`jtruth evaluate` then shows a range); gold does."
)


@dataclass(frozen=True, repr=False)
class PlanSearch(Answer):
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

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return plan_blocks(self)


def plan_blocks(found: PlanSearch) -> Shown:
    """The plan, what else there is, and what was put in, for all faces."""
    asked, names = found.setting, [plain(kind.name) for kind in found.setting.labelers]
    rows = [{"plan": name, **_row(found, one)} for name, one in _rows(found)]
    columns = (
        Column("num_samples", "samples"), *(Column(("labels_per_sample", k.name), name, form="g")
                                            for k, name in zip(asked.labelers, names, strict=True)),
        Column("num_gold", "gold"), Column("cost", "cost", form=",.2f"), Column("width", "width"),
    )  # fmt: skip
    labelers = [
        {"name": k.name, "matrix": k.matrix.tolist(), "cost": k.cost, "people": k.people,
         "labels": found.best.plan.labels[i]}
        for i, k in enumerate(asked.labelers)
    ]  # fmt: skip
    mine = sorted((found.best, *found.neighbours), key=lambda row: row.plan.num_samples)
    points = {"x": [row.plan.num_samples for row in mine], "mean": [row.width for row in mine]}
    blocks = (
        Table("alternatives", "This plan, and what else there is", "plan", columns, rows, unit=None,
              draw="cost" if found.wanted == "width" else "width"),
        Curve("", "Width by the number of samples, this mix", "samples", "width", (Series("", points),)),
        facts(labelers=labelers),
        sentence_notes("", "What it takes for granted", (_INDEPENDENT,)), warning_notes(found.warnings),
        how(("put in", _guesses(asked)), ("computed", _how(found))), _facts(found),
    )  # fmt: skip
    about = f"{asked.metric}, {100 * asked.level:g} % interval, target {asked.target}"
    return Shown("Which labels to buy?", about, _sentence(found), blocks)


def _facts(found: PlanSearch) -> Any:
    asked = found.setting
    return facts(
        wanted={found.wanted: found.amount}, metric=asked.metric, target=asked.target, level=asked.level,
        rates=asked.rates, prior=asked.prior, classifier=asked.confusion, cost_sample=asked.cost_sample,
        cost_gold=asked.cost_gold, plan=_row(found, found.best),
        simulated={
            "width": found.simulated.mean, "standard_error": found.simulated.standard_error,
            "num_sets": int(found.simulated.widths.size), "method": found.simulated.method,
        },
        approximate_width=found.approximate.width, others=[_row(found, one) for one in found.others],
        neighbours=[_row(found, one) for one in found.neighbours],
    )  # fmt: skip


def _row(found: PlanSearch, one: Row) -> dict[str, Any]:
    labels = {k.name: c for k, c in zip(found.setting.labelers, one.plan.labels, strict=True)}
    return {
        "num_samples": one.plan.num_samples, "labels_per_sample": labels, "num_gold": one.plan.num_gold,
        "cost": one.cost, "width": one.width,
    }  # fmt: skip


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
