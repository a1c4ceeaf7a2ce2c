"""What was observed, as arrays for `density`: the rows of a merge, their number rounded up.

A program is compiled for each number of rows, so it is rounded up to a few sizes, and what is filled up
stands for no samples.
"""

import numpy as np

from jtruth.latent.density import Seen
from jtruth.sampling.model import Observed

_IMPOSSIBLE = -1e30  # a log probability that float32 can subtract from itself


def seen_of(observed: Observed) -> Seen:
    """Arrays of what was observed."""
    groups = number_of_groups(observed)
    group = np.zeros(observed.multiplicity.size, np.int64) if observed.group is None else observed.group
    design = np.concatenate([*(s.toarray() for s in observed.symbols), np.eye(groups)[group]], axis=1)
    return _filled(design, np.maximum(observed.offset.T, _IMPOSSIBLE), observed.multiplicity)


def _filled(design: np.ndarray, offset: np.ndarray, times: np.ndarray) -> Seen:
    """With rows that stand for nothing."""
    parts = (design, offset, times, np.log(times / times.sum()))
    fill = rounded(times.size) - times.size
    return Seen(*(np.pad(a, [(0, fill), *[(0, 0)] * (a.ndim - 1)]).astype(np.float32) for a in parts))


def saturated(seen: Seen) -> float:
    """What the saturated model says of all samples."""
    return float(seen.times.astype(np.float64) @ seen.saturated.astype(np.float64))


def number_of_groups(observed: Observed) -> int:
    """Groups of samples with a class prior of their own."""
    return 1 if observed.group is None else int(observed.group.max(initial=0)) + 1


def rounded(rows: int) -> int:
    """The next of 32, 48, 64, 96, 128, ..."""
    size = 32
    while size < rows:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size
