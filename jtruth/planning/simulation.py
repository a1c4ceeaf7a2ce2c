"""How wide will the interval be? By simulation: draw data sets under a plan, analyse each, average.

How each set is analysed is decided by what will be known:

rates="known"     two classes: the exact posterior of the counts (`testing.exact`). For the population metric
                  the operating point is added: given the counts its rows are beta laws, exactly. More
                  classes: draws of the count table (`testing.multiclass`).
rates="learned"   the joint posterior `learning.fit_joint`: class prior, every person's matrix and the
                  classifier's matrix are drawn together; gold is clamped.

Plans are compared on common random numbers (`_data`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._random import as_key, stream
from jtruth.planning._analysis import SetInterval, set_interval
from jtruth.planning._data import draw
from jtruth.planning.settings import Plan, Setting, check_plan
from jtruth.sampling import Effort

_QUICK = Effort(max_work=8e8, max_rhat=1.03, min_ess=150.0)
_ANALYSED = {"known": "exact posterior at known error rates", "learned": "joint posterior (fit_joint)"}


class SimulatedWidth(NamedTuple):
    """Widths of the metric's interval in simulated data sets."""

    plan: Plan
    mean: float  # expected width
    standard_error: float  # of that mean
    widths: Float[np.ndarray, " sets"]
    covered: float  # share of the intervals that held the truth
    method: str
    warnings: tuple[str, ...]

    __repr__ = one_line

    def __str__(self) -> str:
        """One line: expected width, its error, how many sets and how they were analysed."""
        return (
            f"expected width {self.mean:.3f} +- {self.standard_error:.3f} in {self.widths.size} simulated "
            f"sets; {self.method}"
        )


def simulated_widths(
    setting: Setting,
    plans: Sequence[Plan],
    *,
    key: Any = None,
    num_sets: int | None = None,
    effort: Effort = _QUICK,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[SimulatedWidth, ...]:
    """Expected posterior width of the metric under each plan, on common random numbers.

    Args:
        setting: see `setting`; `setting.rates` says how a set is analysed.
        plans: what to compare. `a.widths - b.widths` is what one plan costs or saves on the same data.
        key: a whole number or a JAX key; left out, it is 0. The same key gives the same uniform
            numbers to every plan.
        num_sets: data sets per plan; 200 for known rates, 16 for learned ones.
        effort: of the sampler of a learned set.
        progress: called with (sets done, sets planned).

    Raises:
        ValueError: a plan that is impossible, or fewer than two sets.

    >>> import jax
    >>> from jtruth.planning import Question, labeler, setting
    >>> made = setting([0.7, 0.3], 0.9, [labeler("crowd", 0.2, people=5)], Question(rates="known"))
    >>> one, three = simulated_widths(
    ...     made, [Plan(500, (1,), 0), Plan(500, (3,), 0)], key=jax.random.key(0), num_sets=10)
    >>> bool(one.mean > 1.3 * three.mean), three.method
    (True, 'exact posterior at known error rates')
    """
    key = as_key(key)
    number = (200 if setting.rates == "known" else 16) if num_sets is None else num_sets
    if number < 2:
        raise ValueError(f"num_sets is {number}; a mean with an error needs at least 2")
    found, done = [], 0
    for plan in [check_plan(setting, plan) for plan in plans]:
        rows = []
        for s in range(number):
            data = draw(setting, plan, key, s)
            rows.append(set_interval(setting, data, stream(key, "analysis", s), effort))
            done += 1
            if progress is not None:
                progress(done, number * len(plans))
        found.append(_summary(setting, plan, rows))
    return tuple(found)


def simulated_width(setting: Setting, plan: Plan, **options: Any) -> SimulatedWidth:
    """Expected posterior width under one plan; options as in `simulated_widths`."""
    return simulated_widths(setting, [plan], **options)[0]


def _summary(setting: Setting, plan: Plan, rows: list[SetInterval]) -> SimulatedWidth:
    low, high, truth = (np.array([row[i] for row in rows]) for i in range(3))
    width = high - low
    defined = np.isfinite(width)
    said = []
    if not defined.all():
        said.append(f"the metric was undefined in {(~defined).sum()} of {len(rows)} sets; they are left out")
    doubts = sorted({text for row in rows for text in row.doubts})
    said += [f"{sum(d in row.doubts for row in rows)} of {len(rows)} sets {d}" for d in doubts]
    width, inside = width[defined], ((low <= truth + 1e-9) & (truth <= high + 1e-9))[defined]
    error = float(width.std(ddof=1) / np.sqrt(width.size)) if width.size > 1 else float("nan")
    mean = float(width.mean()) if width.size else float("nan")
    covered = float(inside.mean()) if width.size else float("nan")
    return SimulatedWidth(plan, mean, error, width, covered, _ANALYSED[setting.rates], tuple(said))
