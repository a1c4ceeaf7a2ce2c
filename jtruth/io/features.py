"""Numbers of each task: features of samples, or what an answer about each costs."""

from typing import Any

import numpy as np
from jaxtyping import Float

from jtruth.io.parsing import as_table
from jtruth.io.tables import align_rows, numbers
from jtruth.labels import Labels


def read_features(
    path: Any, labels: Labels, *, task: str = "task", sep: str | None = None
) -> Float[np.ndarray, "samples columns"]:
    """All columns of a table with one row per task but the task itself, as numbers, in the labels' order.

    Raises:
        ValueError: a column that is no finite numbers (categories must be encoded first), tasks that are not
            those of the labels, or no column beside the task.
    """
    table = as_table(path, sep)
    names = [name for name in table.header if name != task]
    if not names:
        raise ValueError(table.source.says(f"there is no column beside {task!r}"))
    rows, _, _ = align_rows(table, task, labels, common_only=None, complete=True)
    return np.stack([numbers(table, name) for name in names], axis=1)[rows]
