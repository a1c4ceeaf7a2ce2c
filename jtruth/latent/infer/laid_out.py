"""The samples of a problem as a program wants them: what is seen on each, and who is behind each column.

A row that stands for few samples is so many rows, since a multinomial count costs as much as some thirty
samples; one for many stays. Who has what does not change from sweep to sweep, so the rows behind each column
are laid out once, in stretches of at most 255: the program adds a stretch up at once (`device`). Every array
has a leading axis of shards, one for each device that shares the samples. What does not divide is filled up
with rows of weight 1 in the first state that are behind no column; a shard may hold such rows alone.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from scipy import sparse

from jtruth.latent.infer import kernel

_PADDING = 3.0  # times as many places as things seen, at most; else rows are parted by how much was seen
_FEW = 32  # samples of a row that are drawn one by one
_STRETCHES = (15, 63, 255)  # rows that are added up at once; a byte holds as many
_STEP, _PIECE = 2000, 16  # numbers that cost as much as one step of a loop, and as what is done to a stretch


class Part(NamedTuple):
    """Some rows, S shards of them."""

    columns: Any  # (S, seen, rows) what was seen on a row; padded with the number of columns
    everywhere: Any  # (S, those) ... on every one, such as the class prior's column
    weight: Any  # (S, states, rows) exp(offset), the largest of a row 1
    times: Any  # (S, rows) samples that a row stands for; None: one each
    behind: Any  # (S, length, stretches) rows behind a column; padded with the number of rows
    of_column: Any  # (S, stretches) ascending; filled up with the number of columns
    total: Any  # (S, columns) how many samples are behind it


def laid_out(problem: kernel.Problem, shards: int) -> tuple[tuple[Part, ...], tuple[np.ndarray, ...]]:
    """All rows in parts, and which row of the problem each place (S * rows) of a part is; -1 for filling."""
    few = np.flatnonzero(problem.multiplicity <= _FEW)
    many = np.flatnonzero(problem.multiplicity > _FEW)
    rows = np.repeat(few, problem.multiplicity[few].astype(np.int64))
    seen = np.asarray(problem.design.sum(axis=1)).ravel()[rows]
    kind = np.zeros(rows.size, np.int64)
    if seen.max(initial=0) * rows.size > _PADDING * seen.sum():
        kind = np.ceil(np.log2(np.maximum(seen, 1)) / 2).astype(np.int64)
    groups = [rows[kind == k] for k in np.unique(kind)]
    parts = [_part(problem, group, shards, None) for group in groups]
    if many.size:
        parts.append(_part(problem, many, shards, problem.multiplicity[many]))
        groups.append(many)
    return tuple(parts), tuple(_filled(group, shards, -1) for group in groups)


def _filled(values: np.ndarray, shards: int, filling: float) -> np.ndarray:
    """The last axis filled up to a multiple of the shards."""
    more = np.full((*values.shape[:-1], -values.shape[-1] % shards), filling, values.dtype)
    return np.concatenate([values, more], axis=-1)


def _shared(values: np.ndarray, shards: int, filling: float) -> np.ndarray:
    """(..., rows) -> (shards, ..., rows of a shard)."""
    filled = _filled(values, shards, filling)
    parts = filled.reshape(*values.shape[:-1], shards, filled.shape[-1] // shards)
    return np.ascontiguousarray(np.moveaxis(parts, -2, 0))


def _part(problem: kernel.Problem, rows: np.ndarray, shards: int, times: np.ndarray | None) -> Part:
    """Some rows of the problem."""
    design = sparse.csr_array(problem.design[rows])
    often = design.data.astype(np.int64)
    seen = np.add.reduceat(np.append(often, 0), design.indptr[:-1]) * (np.diff(design.indptr) > 0)
    row, column = np.repeat(np.arange(rows.size), seen), np.repeat(design.indices, often)
    width = problem.place.shape[0]
    columns = np.full((int(seen.max(initial=0)), rows.size), width, np.int32)
    columns[np.arange(row.size) - np.repeat(np.cumsum(seen) - seen, seen), row] = column
    same = (columns == columns[:, :1]).all(axis=1)
    weight = problem.weight[:, rows]
    fill = np.zeros((len(weight), -rows.size % shards))
    fill[:1] = 1.0
    size = -(-rows.size // shards)
    of_shard = [row // size == s for s in range(shards)]
    behind, of_column = _stretches([(row[k] % size, column[k]) for k in of_shard], size, width)
    each = np.ones(rows.size) if times is None else times
    total = [np.bincount(column[k], each[row[k]], width) for k in of_shard]
    return Part(
        _shared(columns[~same], shards, width),
        np.tile(columns[same, 0], (shards, 1)),
        _shared(np.concatenate([weight, fill], axis=1), shards, 0.0),
        None if times is None else _shared(times, shards, 0.0),
        behind,
        of_column,
        np.stack(total).astype(np.float64),
    )


def _stretches(
    seen: list[tuple[Int[np.ndarray, " seen"], Int[np.ndarray, " seen"]]], rows: int, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """`behind` and `of_column` of a `Part`, from the row and the column of everything seen in each shard."""
    totals = np.stack([np.bincount(column, minlength=columns) for _, column in seen])
    cost = [np.sum(-(-totals // length)) * (length + _PIECE) + _STEP * length for length in _STRETCHES]
    length = _STRETCHES[int(np.argmin(cost))]
    pieces = -(-totals // length)
    most = int(pieces.sum(axis=1).max())
    behind = np.full((len(seen), most * length), rows, np.int32)
    of_column = np.full((len(seen), most), columns, np.int32)
    for s, (row, column) in enumerate(seen):
        order, total = np.argsort(column, kind="stable"), totals[s]
        place = np.arange(column.size) - np.repeat(np.cumsum(total) - total, total)
        place += length * np.repeat(np.cumsum(pieces[s]) - pieces[s], total)  # a column begins a new stretch
        of_column[s, : pieces[s].sum()] = np.repeat(np.arange(columns), pieces[s])
        behind[s, place] = row[order]
    laid = behind.reshape(len(seen), most, length).transpose(0, 2, 1)
    return np.ascontiguousarray(laid), of_column
