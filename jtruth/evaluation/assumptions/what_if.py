"""What each assumption says, one row each: fitted when somebody looks at it.

The predictive answer is made of the majority vote and independence alone (`predictive`). Models that have no
say in it take most of the time, so they wait until rows are asked for: by `Evaluation.assumptions`, a
picture, a page, JSON or the long text.
"""

from dataclasses import dataclass
from functools import cached_property

from jtruth._one_line import one_line
from jtruth._random import Key
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.learned import EFFORT
from jtruth.evaluation.assumptions.registry import INDEPENDENT, How, Progress, entries, sampled
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.parts import Assumption


@dataclass(frozen=True)
class Rows:
    """Rows that are there already."""

    rows: tuple[Assumption, ...] = ()
    doubts: tuple[str, ...] = ()

    __repr__ = one_line


@dataclass
class RowsOnDemand:
    """Rows of all assumptions that are shown."""

    data: Inputs
    key: Key  # of the answer: independence draws here what it drew there
    progress: Progress | None = None

    __repr__ = one_line

    @cached_property
    def _found(self) -> Rows:
        effort = EFFORT._replace(pointwise=True)
        alone = sampled(self.data, INDEPENDENT, self.key, How(effort, self.progress))
        some = [entry for entry in entries(self.data) if entry.shown]
        found, doubts = ranges.members(
            some, self.data, self.key, progress=self.progress, known={INDEPENDENT: alone}, pointwise=True
        )
        each = zip(found, ranges.loo_of(found), strict=True)
        return Rows(tuple(ranges.row(member, self.data, loo) for member, loo in each), tuple(doubts))

    @property
    def rows(self) -> tuple[Assumption, ...]:
        """A row for each assumption that has an answer."""
        return self._found.rows

    @property
    def doubts(self) -> tuple[str, ...]:
        """Sentences on models that are left out or did not converge."""
        return self._found.doubts


WhatIf = Rows | RowsOnDemand
