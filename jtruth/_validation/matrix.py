"""Labels as a wide table: one row per sample, one column per labeler, class codes or class names inside."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jtruth._validation.classes import encode_classes
from jtruth._validation.ids import check_ids, is_frame, is_missing, names_for, read_frame
from jtruth._validation.words import Source, some


class Matrix(NamedTuple):
    """The labels of a (samples, labelers) table, and the names of its axes where it has some."""

    sample: np.ndarray  # (labels,) int32
    labeler: np.ndarray
    label: np.ndarray
    shape: tuple[int, int]
    tasks: tuple | None
    workers: tuple | None
    classes: tuple | None
    notes: tuple


class _Cells(Source):
    """Cells of a matrix: entry k stands in row and column `numbers[k]`."""

    def at(self, indices: Iterable[Any]) -> str:
        """The place of some cells: "z[0, 1], z[4, 2]"."""
        indices = [int(k) for k in indices]
        cells = [list(self.numbers or ())[k] for k in indices[:5]]
        return some([f"z[{cell[0]}, {cell[1]}]" for cell in cells], 5, len(indices))


def matrix_entries(z: Any, num_classes: int | None, classes: Iterable | None, missing: Any) -> Matrix:
    """The labels of a (samples, labelers) array or wide data frame; `missing` marks empty cells.

    Numbers are class codes 0..num_classes-1; names, and numbers without `num_classes`, are read as
    `encode_classes` does. None, and in data frames NaN, is no label either.
    """
    table, tasks, workers = _axes(z)
    if table.ndim != 2 or table.size == 0 or table.dtype.kind not in "biufOU":
        found = f"shape {table.shape}, dtype {table.dtype}"
        raise ValueError(f"z must be a (samples, labelers) matrix of classes; got {found}")
    if table.dtype.kind in "biuf" and classes is None and num_classes is not None:
        if workers is not None and table.dtype.kind == "f":
            table = np.where(np.isnan(table), missing, table)
        return Matrix(*_coded(table, num_classes, missing), table.shape, tasks, workers, None, ())
    cells = table.tolist()
    numbers = [(i, t) for i, row in enumerate(cells) for t, v in enumerate(row) if not _empty(v, missing)]
    values = [cells[i][t] for i, t in numbers]
    advice = "Where there is no label put None, or say what stands there by `missing`."
    found = encode_classes(values, classes, num_classes, _Cells(numbers=numbers), advice)
    sample, labeler = np.array(numbers, np.int32).reshape(-1, 2).T
    return Matrix(sample, labeler, found.codes, table.shape, tasks, workers, found.classes, found.notes)


def _axes(z: Any) -> tuple[np.ndarray, tuple | None, tuple | None]:
    """The cells, and the names of rows and columns where z is a data frame."""
    if not is_frame(z):
        try:
            table = np.asarray(z)
        except ValueError:
            raise ValueError("z must be a (samples, labelers) matrix: its rows differ in length") from None
        return (np.array(z, object) if table.dtype.kind == "U" else table), None, None
    frame = read_frame(z, "z")
    workers = None if list(frame.columns) == list(range(len(frame.columns))) else tuple(frame.columns)
    if getattr(getattr(z, "index", None), "nlevels", 1) > 1:
        raise ValueError("the index of z has several levels, and a task id is one value: keep one level")
    index = z.index.tolist() if hasattr(z, "iloc") else list(range(len(frame)))
    if index == list(range(len(index))):
        return frame.to_numpy(), None, workers
    check_ids(index, "task", Source("the index of z"))
    return frame.to_numpy(), names_for(index, "the index of z", len(index)), workers


def _empty(value: Any, missing: Any) -> bool:
    return is_missing(value) or value == missing


def _coded(z: np.ndarray, num_classes: int, missing: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sample, labeler, label) of the cells of an array of numbers, int32."""
    unmarked = isinstance(missing, float) and np.isnan(missing)
    sample, labeler = np.nonzero(~np.isnan(z) if unmarked else z != missing)
    label = z[sample, labeler]
    with np.errstate(invalid="ignore"):
        codes = label.astype(np.int32)
    bad = np.flatnonzero((label != codes) | (codes < 0) | (codes >= num_classes))
    if bad.size:
        i, t = sample[bad[0]], labeler[bad[0]]
        raise ValueError(
            f"z[{i}, {t}] is {z[i, t]}, not a class code 0..{num_classes - 1} ({bad.size} such entries). "
            f"Where there is no label put {missing}, or say what stands there by `missing`."
        )
    return sample.astype(np.int32), labeler.astype(np.int32), codes
