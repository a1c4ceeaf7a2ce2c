"""The grid of plans: every mix of labelers, and for each how many samples and gold answers it takes."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from jtruth._one_line import one_line
from jtruth.planning.approximation import Information, information, widths
from jtruth.planning.settings import Plan, Setting, plan_cost

GOLD = (0, *np.unique(np.geomspace(10, 5000, 32).round()))
MOST_MIXES = 600
_MOST_PRIOR = 0.3  # of the information; beyond it the prior would answer, not the data


class Row(NamedTuple):
    """A plan with its price and its predicted width."""

    plan: Plan
    cost: float
    width: float

    __repr__ = one_line


class Mix(NamedTuple):
    """Labels per sample of every kind, and what one sample then tells."""

    labels: tuple[float, ...]
    information: Information


def mixes(setting: Setting) -> Iterator[Mix]:
    """From no label to everybody, whole labels per sample.

    Raises:
        ValueError: more than 600 mixes.
    """
    sizes = [kind.people + 1 for kind in setting.labelers]
    if np.prod(sizes, dtype=float) > MOST_MIXES:
        raise ValueError(
            f"{np.prod(sizes, dtype=float):.0f} mixes of labelers to try, at most {MOST_MIXES}: put "
            "labelers of like error into one kind, or allow fewer people of a kind"
        )
    for labels in product(*(range(size) for size in sizes)):
        found = tuple(map(float, labels))
        yield Mix(found, information(setting, found))


def gold_options(setting: Setting, labels: tuple[float, ...], fixed: int | None) -> np.ndarray:
    """Numbers of gold answers to try, more for a `fixed` number of samples; without labels all (inf)."""
    if not np.isfinite(setting.cost_gold):
        return np.array([0.0]) if sum(labels) else np.zeros(0)
    some = GOLD if fixed is None else (0, *np.unique(np.geomspace(1, fixed, 80).round()))
    return np.array(some, np.float64) if sum(labels) else np.array([np.inf])


def cheapest_of_mix(
    setting: Setting, mix: Mix, width: float, least: int, most: int, scale: float = 1.0
) -> Row | None:
    """The cheapest plan of one mix whose predicted width, times `scale`, is at most `width`."""
    gold = gold_options(setting, mix.labels, least if least == most else None)
    best = _cheapest_on(setting, mix, gold, width / scale, least, most)
    if best is not None and best.plan.num_gold and gold.size > 1:  # between the neighbours on the grid
        at = int(np.searchsorted(gold, best.plan.num_gold))
        near = np.unique(np.linspace(gold[max(at - 1, 0)], gold[min(at + 1, gold.size - 1)], 25).round())
        finer = _cheapest_on(setting, mix, near, width / scale, least, most)
        best = finer if finer is not None and finer.cost < best.cost else best
    return None if best is None else _with_width(setting, mix, best, scale)


def _cheapest_on(
    setting: Setting, mix: Mix, gold: np.ndarray, width: float, least: int, most: int
) -> Row | None:
    """The cheapest plan with one of these numbers of gold answers."""
    low, high = np.full(gold.size, least - 1), np.full(gold.size, most + 1)
    while (high - low > 1).any():  # the width falls with the samples: bisection
        middle = (low + high) // 2
        enough = _reached(setting, mix, np.maximum(middle, 1), gold, width)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    rows = [
        Row(plan, plan_cost(setting, plan), width)
        for n, g in zip(high, gold, strict=True)
        if n <= most and (g < n or np.isinf(g))  # labels of samples that all have gold are of no use
        for plan in [Plan(int(n), mix.labels, int(min(n, g)))]
    ]
    return min(rows, key=lambda row: row.cost, default=None)


def _with_width(setting: Setting, mix: Mix, row: Row, scale: float) -> Row:
    found = widths(setting, mix.information, np.array([row.plan.num_samples]), row.plan.num_gold)
    return row._replace(width=scale * float(found["width"][0]))


def _reached(setting: Setting, mix: Mix, n: np.ndarray, gold: np.ndarray, width: float) -> np.ndarray:
    found = widths(setting, mix.information, n, np.minimum(gold, n))
    return (found["width"] <= width) & (found["share_of_prior"] <= _MOST_PRIOR)


def narrowest_of_mix(setting: Setting, mix: Mix, budget: float, least: int, most: int) -> Row | None:
    """The plan of one mix with the least predicted width that the budget buys."""
    gold = gold_options(setting, mix.labels, least if least == most else None)
    if not gold.size:
        return None
    each = np.float64(plan_cost(setting, Plan(1, mix.labels, 0)))
    # A sample with gold: what it costs more (with known rates its labels are not bought).
    extra = plan_cost(setting, Plan(1, mix.labels, 1)) - each if gold.any() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(
            np.isinf(gold), budget / (each + extra), (budget - np.where(gold > 0, gold * extra, 0)) / each
        )
    n = np.floor(np.clip(np.nan_to_num(n, nan=most, posinf=most), -1, most) + 1e-9)
    fits = (n >= least) & (np.isinf(gold) | (gold < n))
    if not fits.any():
        return None
    n, gold = n[fits].astype(int), np.minimum(gold[fits], n[fits])
    found = widths(setting, mix.information, n, gold)
    score = np.where(found["share_of_prior"] <= _MOST_PRIOR, found["width"], np.inf)
    best = int(np.argmin(score))
    if not np.isfinite(score[best]):
        return None
    plan = Plan(int(n[best]), mix.labels, int(gold[best]))
    return Row(plan, plan_cost(setting, plan), float(score[best]))
