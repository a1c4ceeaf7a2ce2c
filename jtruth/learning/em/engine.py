"""A stream of labels begun from a table larger than memory: an engine groups it, only patterns come here.

Dawid and Skene's model needs of the samples the distinct rows of labels and how many samples have each, and
that is one query for whatever holds the table (DuckDB, a Polars `LazyFrame`, PySpark). Samples are counted
and not known by name, as after `close`: labels of the same tasks that come later are taken for those of new
ones. But unlike closed samples these learn what later days teach, since their labels are there.
"""

from typing import Any

import numpy as np

from jtruth._validation.lazy_patterns import lazy_patterns
from jtruth.learning.em.dawid_skene import MAXIMUM_LIKELIHOOD, Smoothing
from jtruth.learning.em.kinds import Kinds, merged_kinds
from jtruth.learning.em.streaming import Stream, climbed, first_matrices, fresh_stream
from jtruth.sampling.checkpoint import digest


def stream_of_table(
    frame: Any,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    classes: Any = None,
    missing: str = "error",
    smoothing: Smoothing = MAXIMUM_LIKELIHOOD,
) -> Stream:
    """The fit of all labels of a lazy table, as `begin_stream` would find it, from its distinct patterns.

    Args:
        frame: a Polars LazyFrame, a relation of DuckDB, a PySpark frame, or whatever narwhals calls lazy; a
            row for each label, in any order.
        task, worker, label: names of its columns.
        classes: names in order of their codes; left out, the different labels, sorted.
        missing: "error" or "drop", for rows without a label.
        smoothing: as in `begin_stream`; intervals (`jt.evaluation.quick_labelers`) need some.

    Returns:
        A stream whose samples have no names: `tasks` and `class_posterior` are empty. Its warnings hold what
        `Labels.from_frame` would note.

    Raises:
        ValueError: a table in memory, a worker who labelled a task twice, and what `Labels.from_frame`
            refuses.

    >>> import polars as pl
    >>> rows = {"task": [1, 1, 1, 2, 2, 2, 3, 3, 3], "worker": list("abc" * 3), "label": list("xxxyyyxxy")}
    >>> state = stream_of_table(pl.DataFrame(rows).lazy())
    >>> state.workers, state.classes, state.kinds.number.tolist(), state.converged
    (('a', 'b', 'c'), ('x', 'y'), [1, 1, 1], True)
    """
    found = lazy_patterns(frame, {"task": task, "worker": worker, "label": label}, classes, missing)
    size = len(found.classes)
    code = (found.labeler * size + found.label).astype(np.int32)
    kinds, _ = merged_kinds(Kinds(code, found.length, found.number))
    state = fresh_stream(found.classes, smoothing)._replace(workers=found.workers, kinds=kinds)
    state = first_matrices(state, len(found.workers))
    state = climbed(state, digest("patterns", found.workers, code, found.length, found.number))
    lost = f"{found.unlabelled} tasks have no label at all and were left out"
    notes = (lost,) if found.unlabelled else ()
    return state._replace(warnings=(*state.warnings, *found.notes, *notes))
