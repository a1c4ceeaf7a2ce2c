"""The cheapest plan for a width, and the narrowest one for a budget (Su 6.3.2).

Every mix of labelers is tried, with and without gold, and the fast approximation gives the samples it needs.
The winner is then simulated; if simulation and approximation differ, the mix is corrected by their ratio and
compared again. For a budget the three best mixes are simulated on common random numbers. Whether one or two
`labels` are better is the question of Lam & Stork (their Figure 2).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from jtruth._random import seeded
from jtruth._validation.in_range import check_positive
from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Document, Table, facts, how, sentence_notes, warning_notes
from jtruth.planning.settings import MOST_MIXES, Plan, Setting, plan_cost
from jtruth.planning.widths import (
    Information,
    PlanWidth,
    approximate_width,
    information,
    simulated_width,
    widths,
)

GOLD = (0, *np.unique(np.geomspace(10, 5000, 32).round()))
_MOST_PRIOR = 0.3  # of the information; beyond it the prior would answer, not the data


def mixes(setting: Setting) -> Iterator[Information]:
    """Information of a sample under every mix, from no label to everybody, whole labels per sample."""
    sizes = [kind.people + 1 for kind in setting.labelers]
    if np.prod(sizes, dtype=float) > MOST_MIXES:
        raise ValueError(
            f"there are {np.prod(sizes, dtype=float):.0f} mixes of labelers to try, more than {MOST_MIXES}: "
            "merge kinds with similar error rates, or allow fewer people of a kind"
        )
    for labels in product(*(range(size) for size in sizes)):
        yield information(setting, tuple(map(float, labels)))


def gold_options(setting: Setting, labels: tuple[float, ...], fixed: int | None) -> np.ndarray:
    """Numbers of gold answers to try, more for a `fixed` number of samples; without labels all (inf)."""
    if not np.isfinite(setting.cost_gold):
        return np.array([0.0]) if sum(labels) else np.zeros(0)
    numbers = GOLD if fixed is None else (0, *np.unique(np.geomspace(1, fixed, 80).round()))
    return np.array(numbers, np.float64) if sum(labels) else np.array([np.inf])


def cheapest_of_mix(
    setting: Setting, mix: Information, width: float, smallest: int, largest: int, scale: float = 1.0
) -> PlanWidth | None:
    """The cheapest plan of one mix whose predicted width, times `scale`, is at most `width`."""

    def cheapest(gold: np.ndarray) -> PlanWidth | None:
        """The cheapest plan with one of these numbers of gold answers."""
        low, high = np.full(gold.size, smallest - 1), np.full(gold.size, largest + 1)
        while (high - low > 1).any():  # the width falls with the samples: bisection
            middle = (low + high) // 2
            n = np.maximum(middle, 1)
            predicted = widths(setting, mix, n, np.minimum(gold, n))
            narrow = (predicted["width"] <= width / scale) & (predicted["share_of_prior"] <= _MOST_PRIOR)
            low, high = np.where(narrow, low, middle), np.where(narrow, middle, high)
        plans = [
            Plan(int(n), mix.labels, int(min(n, g)))
            for n, g in zip(high, gold, strict=True)
            if n <= largest and (g < n or np.isinf(g))  # labels of samples that all have gold are of no use
        ]
        rows = [PlanWidth(plan, plan_cost(setting, plan), width) for plan in plans]
        return min(rows, key=lambda row: row.cost, default=None)

    gold = gold_options(setting, mix.labels, smallest if smallest == largest else None)
    best = cheapest(gold)
    if best is None:
        return None
    if best.plan.num_gold and gold.size > 1:  # between the neighbours on the grid
        at = int(np.searchsorted(gold, best.plan.num_gold))
        ends = gold[max(at - 1, 0)], gold[min(at + 1, gold.size - 1)]
        finer = cheapest(np.unique(np.linspace(*ends, 25).round()))
        best = finer if finer is not None and finer.cost < best.cost else best
    predicted = widths(setting, mix, np.array([best.plan.num_samples]), best.plan.num_gold)
    return best._replace(width=scale * float(predicted["width"][0]))


def narrowest_of_mix(
    setting: Setting, mix: Information, budget: float, smallest: int, largest: int
) -> PlanWidth | None:
    """The plan of one mix with the least predicted width within the budget."""
    gold = gold_options(setting, mix.labels, smallest if smallest == largest else None)
    if not gold.size:
        return None
    price = np.float64(plan_cost(setting, Plan(1, mix.labels, 0)))
    # A sample with gold: what it costs more (with known rates its labels are not bought).
    extra = plan_cost(setting, Plan(1, mix.labels, 1)) - price if gold.any() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        left = budget - np.where(gold > 0, gold * extra, 0)
        n = np.where(np.isinf(gold), budget / (price + extra), left / price)
    n = np.floor(np.clip(np.nan_to_num(n, nan=largest, posinf=largest), -1, largest) + 1e-9)
    fits = (n >= smallest) & (np.isinf(gold) | (gold < n))
    if not fits.any():
        return None
    n, gold = n[fits].astype(int), np.minimum(gold[fits], n[fits])
    predicted = widths(setting, mix, n, gold)
    score = np.where(predicted["share_of_prior"] <= _MOST_PRIOR, predicted["width"], np.inf)
    best = int(np.argmin(score))
    if not np.isfinite(score[best]):
        return None
    plan = Plan(int(n[best]), mix.labels, int(gold[best]))
    return PlanWidth(plan, plan_cost(setting, plan), float(score[best]))


_ROUNDS = 6
_ABOVE, _BELOW = 1.005, 0.98  # a simulated width is right between these multiples of the one asked for
_NO_LIMIT = 1e15  # a budget that buys everything
_LEAST = 20  # samples; fewer are no plan
_OTHERS = 2  # other mixes that are simulated besides the cheapest plan
_INDEPENDENT = (
    "The plan assumes that classifier and labelers err independently, given the class. Where they share "
    "errors, more labels do not narrow a valid interval, but verified labels do. `jtruth evaluate` only "
    "assumes this with --assume independent, so its interval without gold is wider."
)


@dataclass(frozen=True, repr=False)
class PlanSearch(Answer):
    """The best plan, its simulation, and alternatives."""

    best: PlanWidth  # simulated
    predicted: float  # its width by Fisher information
    others: tuple[PlanWidth, ...]  # the best plan of other mixes, simulated (`widths`) or by approximation
    setting: Setting
    wanted: str  # "width" or "budget"
    amount: float
    num_mixes: int
    warnings: tuple[str, ...]

    def blocks(self) -> Document:
        """Build the document of the result."""
        asked, best = self.setting, self.best
        shown = [row for row in self.others if row.widths.size]
        named = [("this plan", best), *(("other mix", row) for row in shown)]
        rows = [{"plan": name, **_row(self, row)} for name, row in named]
        columns = (
            Column("num_samples", "samples"),
            *(Column(("labels_per_sample", k.name), plain(k.name), form="g") for k in asked.labelers),
            Column("num_gold", "gold"), Column("cost", "cost", form=",.2f"),
            Column("width", "simulated width"),
        )  # fmt: skip
        labelers = [
            k._asdict() | {"matrix": k.matrix.tolist(), "labels": labels}
            for k, labels in zip(asked.labelers, best.plan.labels, strict=True)
        ]
        blocks = (
            Table("alternatives", "This plan and the best other mixes", "plan",
                  columns, rows, unit=None, draw="width" if self.wanted == "budget" else "cost"),
            facts(labelers=labelers),
            sentence_notes("", "Assumption", (_INDEPENDENT,)), warning_notes(self.warnings),
            how(("input", _guesses(asked)), ("computation", _how(self))),
            facts(
                wanted={self.wanted: self.amount}, metric=asked.metric, target=asked.target,
                level=asked.level, rates=asked.rates, prior=asked.prior, classifier=asked.confusion,
                cost_sample=asked.cost_sample, cost_gold=asked.cost_gold, plan=_row(self, best),
                simulated={"width": best.width, "standard_error": best.standard_error,
                           "num_sets": int(best.widths.size), "method": best.method},
                approximate_width=self.predicted, others=[_row(self, row) for row in self.others],
            ),
        )  # fmt: skip
        about = f"{asked.metric}, {100 * asked.level:g} % interval, target {asked.target}"
        return Document("Which labels should be bought?", about, _sentence(self), blocks)


def _row(search: PlanSearch, row: PlanWidth) -> dict[str, Any]:
    labels = {k.name: c for k, c in zip(search.setting.labelers, row.plan.labels, strict=True)}
    return {
        "num_samples": row.plan.num_samples, "labels_per_sample": labels, "num_gold": row.plan.num_gold,
        "cost": row.cost, "width": row.width if row.widths.size else None,
        "predicted_width": approximate_width(search.setting, row.plan).width,
    }  # fmt: skip


def _sentence(search: PlanSearch) -> str:
    plan, asked = search.best.plan, search.setting
    best = "cheapest" if search.wanted == "width" else "narrowest"
    used = [f"{c:g} x {plain(k.name)}" for c, k in zip(plan.labels, asked.labelers, strict=True) if c]
    gold = "all of them" if plan.num_gold == plan.num_samples else f"{plan.num_gold or 'none'} of them"
    about = "new samples" if asked.target == "population" else "these samples"
    return (
        f"If labelers err independently, the {best} plan for {asked.metric} of {about} with {search.wanted} "
        f"{search.amount:g} is {number_of(plan.num_samples, 'sample')}, each labeled by "
        f"{' + '.join(used) or 'nobody'}, {gold} verified. It costs {search.best.cost:,.2f}, and the "
        f"{100 * asked.level:g} % interval has a simulated width of {search.best.width:.3f}."
    )


def _guesses(setting: Setting) -> str:
    kinds = []
    for kind in setting.labelers:
        errors = np.unique((1 - np.diag(kind.matrix)).round(3))
        rate = "/".join(f"{e:.2g}" for e in (errors if errors.size == 1 else 1 - np.diag(kind.matrix)))
        kinds.append(f"{plain(kind.name)} (error {rate}, cost {kind.cost:g}, at most {kind.people})")
    prior, right = (", ".join(f"{v:.3g}" for v in x) for x in (setting.prior, np.diag(setting.confusion)))
    gold = f"{setting.cost_gold:g}" if np.isfinite(setting.cost_gold) else "not available"
    return (
        f"target {setting.target}; class prior {prior}; accuracy of the classifier in each class {right} "
        f"({setting.metric} {setting.value:.3f}); labelers {', '.join(kinds)}; cost of a sample "
        f"{setting.cost_sample:g}, of a verified label {gold}."
    )


def _how(search: PlanSearch) -> str:
    known = search.setting.rates == "known"
    rates = f"prior and error rates {'known' if known else 'learned from the same labels'}"
    return (
        f"{search.num_mixes} mixes by Fisher information, {rates}; this plan was confirmed by simulation "
        f"(width {search.best.width:.3f} +- {search.best.standard_error:.3f} in {search.best.widths.size} "
        f"sets, {search.best.method}; predicted {search.predicted:.3f})."
    )


@seeded
def best_plan(
    setting: Setting,
    *,
    width: float | None = None,
    budget: float | None = None,
    key: Any = None,
    num_samples: int | None = None,
    max_samples: int = 100_000,
    num_sets: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PlanSearch:
    """Find the cheapest plan with an expected width, or the narrowest one within a budget.

    Args:
        setting: the problem and its costs.
        width, budget: one of them: the largest width of the interval of the metric (high minus low), or the
            largest cost.
        key: seed of the simulation: a whole number or a JAX key; 0 if None.
        num_samples: a fixed number of samples; needed for the in-sample target.
        max_samples: largest number of samples.
        num_sets: data sets of a simulation; None: 200 for known rates, 16 for learned ones.
        progress: called with (sets done, sets planned) of each simulation.

    Raises:
        ValueError: both or neither of width and budget, a width not in (0, 1); no plan within the limits is
            narrow enough, or informative.

    >>> from jtruth.planning import Labeler
    >>> kinds = [Labeler("crowd", 0.2, 0.05, people=5), Labeler("expert", 0.05, 0.5)]
    >>> made = Setting([0.7, 0.3], 0.9, kinds, rates="known", cost_sample=0.02)
    >>> found = best_plan(made, width=0.06, key=0, num_sets=20)
    >>> found.best.plan.labels, 0.055 < found.best.width < 0.065
    ((3.0, 0.0), True)
    """
    if (width is None) == (budget is None):
        raise ValueError("give a goal: either width (--width .05) or budget (--budget 200)")
    if num_samples is None and setting.target == "in-sample":
        raise ValueError(
            "the in-sample target needs num_samples; otherwise the cheapest plan is one verified sample, "
            "whose in-sample metric is known"
        )
    smallest, largest = (_LEAST, max_samples) if num_samples is None else (num_samples, num_samples)
    if smallest < 1 or largest < smallest:
        raise ValueError(f"at least {smallest} samples are needed for a plan; got a limit of {largest}")
    tried = {mix.labels: mix for mix in mixes(setting)}

    def simulate(plan: Plan) -> PlanWidth:
        return simulated_width(setting, plan, key=key, num_sets=num_sets, progress=progress)

    if width is not None:
        if not 0 < width < 1:
            raise ValueError(f"width is {width}; give a width of the interval between 0 and 1")
        wanted, amount, of_mix = "width", width, cheapest_of_mix
    else:
        check_positive(budget, "budget", "what may be spent")
        wanted, amount, of_mix = "budget", float(budget or 0), narrowest_of_mix
    of_mixes = {k: of_mix(setting, mix, amount, smallest, largest) for k, mix in tried.items()}
    rows = {labels: row for labels, row in of_mixes.items() if row is not None}
    if width is not None:
        best, simulated = _confirmed(setting, width, tried, rows, (smallest, largest), simulate)
        known = {row.plan.labels for row in (best, *simulated)}
        left = sorted((row for k, row in rows.items() if k not in known), key=lambda row: row.cost)
        simulated += [simulate(row.plan) for row in left[:_OTHERS]]
    elif rows:
        first = sorted(rows.values(), key=lambda row: row.width)[:3]
        simulated = [simulate(row.plan) for row in first]
        best = min(simulated, key=lambda row: row.width)
    else:
        raise ValueError(
            f"a budget of {budget:g} is too small for an informative plan of {smallest} or more samples"
        )
    for row in simulated:  # what was simulated is shown as such, where it is still the plan of its mix
        if row.plan.labels in rows and rows[row.plan.labels].plan == row.plan:
            rows[row.plan.labels] = row
    return _result(setting, rows, best, (wanted, amount), len(tried))


def _confirmed(
    setting, width, tried, rows, limits: tuple[int, int], simulate
) -> tuple[PlanWidth, list[PlanWidth]]:
    """Simulate the cheapest plan and correct its mix, until it stays the cheapest; returns all simulated."""
    simulated: dict[tuple, PlanWidth] = {}
    for _ in range(_ROUNDS):
        if not rows:
            break
        best = min(rows, key=lambda labels: (rows[labels].cost, rows[labels].width))
        if best in simulated and simulated[best].plan == rows[best].plan:
            break
        simulated[best] = simulate(rows[best].plan)
        reached = simulated[best].width
        if width * _BELOW <= reached <= width * _ABOVE or (limits[0] == limits[1] and reached <= width):
            break
        scale = reached / approximate_width(setting, rows[best].plan).width
        row = cheapest_of_mix(setting, tried[best], width, *limits, scale)
        if row is not None:
            rows[best] = row
        else:
            del rows[best], simulated[best]
    if not rows:
        raise ValueError(_impossible(setting, width, tried, *limits))
    if not simulated:  # every mix that was tried had to be given up
        return simulate(min(rows.values(), key=lambda row: (row.cost, row.width)).plan), []
    every = list(simulated.values())
    enough = [row for row in every if row.width <= width * _ABOVE]
    return min(enough, key=lambda f: f.cost) if enough else min(every, key=lambda f: f.width), every


def _impossible(
    setting: Setting, width: float, tried: dict[tuple, Information], smallest: int, largest: int
) -> str:
    plans = [narrowest_of_mix(setting, mix, _NO_LIMIT, smallest, largest) for mix in tried.values()]
    narrow = min((row.width for row in plans if row is not None), default=None)
    text = f"no plan of at most {largest} samples has an expected width of {width:g}"
    if narrow is None:
        return text + ": these labelers are not informative enough; add labelers, or gold (cost_gold)"
    return f"{text}; the narrowest is {narrow:.3g}. Allow more samples or a wider interval, or add labelers"


def _result(setting, rows, best: PlanWidth, asked, number) -> PlanSearch:
    (wanted, amount), plan = asked, best.plan
    approximate = approximate_width(setting, plan)
    others = sorted((r for k, r in rows.items() if k != plan.labels), key=lambda r: (r.cost, r.width))
    if wanted == "budget":  # what was simulated first: it was predicted to be narrowest, and is known best
        others.sort(key=lambda r: (r.widths.size == 0, r.width))
    ratio = best.width / approximate.width if approximate.width > 0 else 1.0
    warnings = list(approximate.warnings) + list(best.warnings)
    if abs(ratio - 1) > 0.1:
        warnings.append(
            f"The simulated width is {ratio:.2f} times the approximate one; use the simulated one."
        )
    if wanted == "width" and best.width > amount * _ABOVE:
        warnings.append(
            f"The simulated width {best.width:.3g} misses the goal of {amount:g}: allow a margin."
        )
    return PlanSearch(
        best, approximate.width, tuple(others[:4]), setting, wanted, amount, number,
        tuple(warnings),
    )  # fmt: skip
