"""Tables of a sparse LU factorization: pivots chosen by values, places of entries, operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis.block_triangular import BlockTriangularForm
from graphsys.kernels.analysis.markowitz import (
    FULL,
    LENGTH,
    LIMITS,
    LINE_FIELDS,
    ROOM,
    START,
    STATE,
    choose_pivots,
)
from graphsys.kernels.analysis.one_pass import LEAST_PIVOT
from graphsys.kernels.program.sparse_lu import (
    AFTER,
    DENSE_AT,
    FIRST,
    LONG,
    PART_FIELDS,
    REST,
    count_entries,
    find_levels,
    write_operations,
    write_tables,
)
from graphsys.matrix.equilibration import balanced, exponents, matched, scaled

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

#: Part of entries from which the rest of a block is dense, and cubed rows of it that take as long
#: as one operation on sparse rows.
DENSE, OF_DENSE = 0.7, 30.0

#: Pivot relative to its row, in machine epsilons, that may be cancellation.
CANCELLED = 64.0
#: Largest entry of a row relative to that of the first values, so that its pivot can be judged.
GROWS = 1024.0
#: Largest entries of L and U, rows and columns scaled, that are not doubtful: growth of L as in
#: `kernels.blocks.growth`, and of U what `LEAST_PIVOT` allows at first, and rounding of scales. The
#: last is of U in dense rests: 400 is common in random matrices, with residuals of 1e-13.
LARGEST = 64.0, 16.0, 512.0
#: Exponent of the smallest entry, rows and columns scaled, below which errors of small unknowns may
#: be invisible in the rows that are used to judge factors.
WILD = 17
#: The same for scales relative to geometric means of rows and columns: a place without an entry may
#: be scaled by as much, so that growth there counts for less than it is.
APART = 14.0
#: Numbers of the factors at most: 16 GB, and places in operations have 32 bits.
MOST_NUMBERS = 2**31
#: Numbers of room for rows and columns in elimination, per entry, before there are twice as many.
#: Room that is not used takes no memory.
ROOM_AT_FIRST = 16
#: Mean length of rows of U from which loops over them take less time than a list of operations:
#: 0.7 against 1.1 ns each.
LONG_ROWS = 16


@dataclass(frozen=True, slots=True, eq=False)
class SparseLU:
    """Order of pivots, and all that the kernels of `kernels.single.sparse_lu` read.

    Diagonal blocks of more than one row are *parts*. Rows of L are raw, those of U divided by
    their pivots.

    Attributes
    ----------
    row, column : ndarray of int, shape (N,)
        Row and column of the matrix of each pivot.
    part : ndarray of int, shape (5 P,)
        Blocks of more than one row: see `kernels.program.sparse_lu`.
    before_start, before_at, before_column : ndarray of int
        Entries of the matrix outside the diagonal blocks, by rows of parts.
    lower_start, lower_column, upper_start, upper_column : ndarray of int
        Entries of L and U by rows, with columns of the matrix.
    single, single_at : ndarray of int
        Blocks of one row, and their entry of the matrix.
    load_at, load_to : ndarray of int
        Entries inside the parts, and their places in the factors.
    step : ndarray of int
        Where operations, pivots and entries of U of each level begin: see
        `kernels.single.sparse_lu`.
    pivots : ndarray of int
        Rows of parts, by levels.
    place : ndarray of int, shape (N,)
        Pivot of each column.
    fourth : ndarray of int, shape (N,)
        In parts of long rows, the last of four pivots whose rows of U each begin with the next
        one, and go on with its columns; -1 where this is not the first of such four.
    mirrored : ndarray of int
        Of a symmetric matrix whose pivots are on its diagonal, entries above it and then those
        across it, which have to be equal; else empty.
    operation, scaled : ndarray of int32
        Places of three numbers each: see `kernels.single.sparse_lu`.
    bound : ndarray, shape (nnz,)
        Largest magnitudes of values for which these pivots serve.
    floor : ndarray, shape (N,)
        Magnitudes of pivots that may be cancellation.
    limit : ndarray
        Largest magnitudes of the entries of L and U that are not doubtful, and of the columns of
        U in dense rests.
    rest_scale : ndarray, shape (N,)
        Powers of two that scale the rows of dense rests.
    wild : bool
        Whether entries differ so much that solves must check their backward error.
    size : int
        Numbers of the factors.
    widest : int
        Rows of the largest dense rest.
    """

    row: Ints
    column: Ints
    part: Ints
    before_start: Ints
    before_at: Ints
    before_column: Ints
    lower_start: Ints
    lower_column: Ints
    upper_start: Ints
    upper_column: Ints
    single: Ints
    single_at: Ints
    load_at: Ints
    load_to: Ints
    step: Ints
    pivots: Ints
    place: Ints
    fourth: Ints
    mirrored: Ints
    operation: npt.NDArray[np.int32]
    scaled: npt.NDArray[np.int32]
    bound: npt.NDArray[np.float64]
    floor: npt.NDArray[np.float64]
    limit: npt.NDArray[np.float64]
    rest_scale: npt.NDArray[np.float64]
    wild: bool
    size: int
    widest: int


def sparse_lu(
    rows: Any,
    form: BlockTriangularForm,
    data: Array,
    most: int,
    once: bool = False,
    mirrored: Ints | None = None,
) -> SparseLU | None:
    """Choose pivots of a matrix, and write the tables.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical; its values are not read.
    form : BlockTriangularForm
    data : ndarray
        Values by which pivots are chosen.
    most : int
        Operations that the factorization may take.
    once : bool, optional
        Whether there is one factorization, which does not repay a list of operations.
    mirrored : ndarray of int, shape (nnz,), optional
        Entry across the diagonal of each one, of a symmetric pattern. If values are symmetric,
        too, and all pivots on the diagonal, half of the operations do.

    Returns
    -------
    SparseLU or None
        None if a block has no pivots, or takes more operations or too much room.
    """
    n, block, part = rows.shape[0], form.block, _parts(form.block)
    i = np.repeat(_inverse(form.row), np.diff(rows.indptr))
    j = _inverse(form.column)[rows.indices]
    size = np.diff(block)
    block_of = np.repeat(np.arange(size.size), size)
    in_part, is_inside = size[block_of[i]] > 1, block_of[i] == block_of[j]
    inside = np.flatnonzero(is_inside & in_part)
    i_in, j_in, entries = i[inside], j[inside], data[inside]
    scales = _scales(n, i_in, j_in, entries)
    if scales is None:
        return None
    row_scale, column_scale, apart = scales
    info = np.finfo(data.dtype)
    if _range(row_scale[i_in], column_scale[j_in]) > -info.minexp - 2 * info.nmant:
        return None  # entries of L and U, and inverses of pivots, may leave the range of numbers
    exponent = row_scale[i_in] + column_scale[j_in]
    wild = apart > APART or bool(
        (exponents(entries[entries != 0]) + exponent[entries != 0] < -WILD).any()
    )
    lines = _Lines(n, i_in, j_in, scaled(entries, exponent))
    order = lines.eliminate(part, most)
    if order is None:
        return None
    level = _Rows.of(part, order, lines).level
    _sort_by_level(part, order, level)
    factors = _Rows.of(part, order, lines)
    lower_start, upper_start, upper = factors.lower_start, factors.upper_start, factors.upper
    widths = part[:, AFTER] - part[:, REST]
    factors_end = int(lower_start[-1] + upper_start[-1]) + n
    if factors_end + int((widths**2).sum()) >= MOST_NUMBERS:
        return None
    part[:, DENSE_AT] = factors_end + np.cumsum(widths**2) - widths**2

    k, column = _inverse(order[0])[i_in], _inverse(order[1])[j_in]
    by_row = np.argsort(k, kind="stable")
    load_to = np.empty(inside.size, np.int64)
    _set_long(part, factors, once)
    fourth = np.full(n, -1) if once else _fourth(part, factors)
    matrix_row, matrix_column = form.row[order[0]], form.column[order[1]]
    pairs = np.zeros(0, np.int64)
    if mirrored is not None and not part[:, LONG].any():
        if np.array_equal(matrix_row, matrix_column) and np.array_equal(data, data[mirrored]):
            above = np.flatnonzero(mirrored > np.arange(mirrored.size))
            pairs = np.concatenate([above, mirrored[above]])
    step, pivots, operation, to_scale = _program(
        part, factors, _starts(k, n), column[by_row], pairs.size > 0, load_to
    )
    r, c = row_scale[order[0]], column_scale[order[1]]
    dense = np.zeros(n, np.bool_)
    dense[_ranges(part[:, [REST, AFTER]])] = True
    bound = np.full(rows.nnz, info.max)
    in_row = np.repeat(np.arange(n), np.diff(upper_start))
    of_lower = np.repeat(np.arange(n), np.diff(lower_start))
    with np.errstate(all="ignore"):
        largest = GROWS * np.exp2(-1.0 * row_scale[i_in] - column_scale[j_in])
        floor = CANCELLED * GROWS * info.eps * np.exp2(-1.0 * np.where(dense, 0, r) - c)
        lower_limit = LARGEST[0] * np.exp2(-1.0 * r[of_lower] - c[factors.lower])
        upper_limit = LARGEST[1] * np.exp2(1.0 * c[in_row] - c[upper])
        rest_limit = LARGEST[2] * np.exp2(-1.0 * c)
    bound[inside] = np.minimum(largest, info.max)
    single = np.flatnonzero(is_inside & ~in_part)
    outside = np.flatnonzero(~is_inside & in_part)
    at_row = _inverse(order[0])[i[outside]]
    before_at = outside[np.argsort(at_row, kind="stable")]
    return SparseLU(
        row=matrix_row,
        column=matrix_column,
        part=part.ravel(),
        before_start=_starts(at_row, n),
        before_at=before_at,
        before_column=rows.indices[before_at].astype(np.int64),
        lower_start=lower_start,
        lower_column=matrix_column[factors.lower],
        upper_start=upper_start,
        upper_column=matrix_column[upper],
        single=i[single],
        single_at=single,
        load_at=inside[by_row],
        load_to=load_to,
        step=step,
        pivots=pivots,
        place=_inverse(matrix_column),
        fourth=fourth,
        mirrored=pairs,
        operation=operation,
        scaled=to_scale,
        bound=bound.astype(np.float64),
        floor=floor,
        limit=np.concatenate([lower_limit, upper_limit, rest_limit]),
        rest_scale=np.exp2(1.0 * r),
        wild=wild,
        size=factors_end + int((widths**2).sum()),
        widest=int(widths.max(initial=0)),
    )


def _parts(block: Ints) -> Ints:
    """Blocks of more than one row, their other fields still 0."""
    large = np.flatnonzero(np.diff(block) > 1)
    part = np.zeros((large.size, PART_FIELDS), np.int64)
    part[:, FIRST], part[:, AFTER] = block[large], block[large + 1]
    return part


def _scales(n: int, i: Ints, j: Ints, entries: Array) -> tuple[Ints, Ints, float] | None:
    """Powers of two for rows and columns, after which entries are at most 1 and pivots can be 1.

    The third number says how far they are apart from geometric means. None if the entries that
    are not zero have no perfect matching: the matrix is singular.
    """
    row_scale, column_scale, apart = np.zeros(n, np.int64), np.zeros(n, np.int64), 0.0
    places = np.unique(i)  # of parts: rows and columns have the same
    if places.size:
        size, number = exponents(entries), np.zeros(n, np.int64)
        some, number[places] = size > -np.inf, np.arange(places.size)
        some_entries = number[i[some]], number[j[some]], size[some]
        found = matched(*some_entries, places.size)
        if found is None:
            return None
        means = balanced(*some_entries, places.size)
        apart = max(float(np.ptp(x - y)) for x, y in zip(found, means))
        row_scale[places], column_scale[places] = np.rint(found[0]), np.rint(found[1])
    return row_scale, column_scale, apart


def _range(r: Ints, c: Ints) -> int:
    """Largest exponent that undoing scales of rows, columns and pairs of columns can take."""
    low, high = r.min(initial=0) + c.min(initial=0), r.max(initial=0) + c.max(initial=0)
    return int(max(-low, high, np.ptp(c) if c.size else 0))


class _Lines:
    """Rows and columns of the parts, of which elimination makes those of U and L.

    Parameters
    ----------
    n : int
    i, j : ndarray of int
    values : ndarray
        Rows, columns and numbers of the entries.
    """

    def __init__(self, n: int, i: Ints, j: Ints, values: Array) -> None:
        self.n, self.values = n, values
        self.entries = [(j, np.argsort(i, kind="stable"), np.bincount(i, minlength=n)),
                        (i, np.argsort(j, kind="stable"), np.bincount(j, minlength=n))]  # fmt: skip

    def eliminate(self, part: Ints, most: int) -> Ints | None:
        """Order of rows and columns, with the dense rests of parts; None if there is none."""
        n, count = self.n, self.values.size
        room, status = ROOM_AT_FIRST * count + 64, FULL
        order, head = np.empty((2, n), np.int64), np.empty((2, n + 1), np.int64)
        rest, blocks = np.empty(len(part), np.int64), part[:, [FIRST, AFTER]]
        lines, index = np.empty((2, LINE_FIELDS, n), np.int64), np.empty((2, room), np.int64)
        value, limits = np.empty((2, room), self.values.dtype), np.empty(LIMITS)
        for side, (other, by_line, counts) in enumerate(self.entries):
            lines[side, START] = np.cumsum(counts) - counts
            lines[side, LENGTH] = lines[side, ROOM] = counts
            index[side, :count] = other[by_line]
        value[0, :count] = self.values[self.entries[0][1]]
        order[:] = np.arange(n)
        limits[:] = LEAST_PIVOT, most, np.inf, DENSE, OF_DENSE
        work = np.empty(n), np.empty(n, np.int64), np.zeros(STATE, np.int64)
        while status == FULL:
            status = choose_pivots(
                blocks, limits, *lines, index[0], value[0], index[1], value[1], *head, *work,
                order, rest,
            )  # fmt: skip
            if status == FULL:
                index, value = longer(index), longer(value)
        self.row, self.column = lines
        self.row_index, self.column_index = index
        part[:, REST] = rest
        return None if status else order


def longer(lists: Array) -> Array:
    """Rows of an array with twice as much room."""
    found = np.empty((lists.shape[0], 2 * lists.shape[1]), lists.dtype)
    found[:, : lists.shape[1]] = lists
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of L and U, their columns by pivots, and the level of each row.

    Attributes
    ----------
    lower_start, lower, upper_start, upper : ndarray of int
    level : ndarray of int, shape (N,)
    """

    lower_start: Ints
    lower: Ints
    upper_start: Ints
    upper: Ints
    level: Ints

    @classmethod
    def of(cls, part: Ints, order: Ints, lines: _Lines) -> _Rows:
        """Rows in an order of pivots."""
        n, parts = order.shape[1], part.ravel()
        row_place, column_place = _inverse(order[0]), _inverse(order[1])
        lower_start, upper_start = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
        count_entries(
            parts, order[1], lines.row, lines.column, lines.column_index, row_place,
            lower_start, upper_start,
        )  # fmt: skip
        lower, upper = np.empty(lower_start[-1], np.int64), np.empty(upper_start[-1], np.int64)
        level = np.empty(n, np.int64)
        write_tables(
            parts, order[0], order[1], lines.row, lines.column, lines.row_index,
            lines.column_index, row_place, column_place, lower_start, upper_start,
            level, lower, upper,
        )  # fmt: skip
        find_levels(parts, lower_start, lower, upper_start, upper, level)
        return cls(lower_start, lower, upper_start, upper, level)


def _sort_by_level(part: Ints, order: Ints, level: Ints) -> None:
    """Pivots of each part level by level: those of one do not depend on each other."""
    for ends in ([FIRST, REST], [REST, AFTER]):
        places = _ranges(part[:, ends])
        of_part = np.repeat(part[:, FIRST], part[:, ends[1]] - part[:, ends[0]])
        order[:, places] = order[:, places[np.lexsort((level[places], of_part))]]


def _operations(part: Ints, factors: _Rows) -> Ints:
    """Operations f[t] -= f[l] f[u] of each part."""
    counts = np.diff(factors.upper_start)
    done = np.concatenate([[0], np.cumsum(counts[factors.lower])])[factors.lower_start]
    found: Ints = np.diff(done[part[:, [FIRST, AFTER]]], axis=1)[:, 0]
    return found


def _set_long(part: Ints, factors: _Rows, once: bool) -> None:
    """Choose the parts whose rows of U are subtracted in loops over them."""
    entries = np.diff(factors.lower_start[part[:, [FIRST, AFTER]]], axis=1)[:, 0]
    part[:, LONG] = once | (_operations(part, factors) > LONG_ROWS * entries)


def _fourth(part: Ints, factors: _Rows) -> Ints:
    """`SparseLU.fourth`; rows of U of long parts are put in the order of pivots."""
    n, start, upper = factors.level.size, factors.upper_start, factors.upper
    following = np.full(n + 1, -1)  # and none of none
    if not part[:, LONG].any():
        return following[:n]
    rows = _ranges(part[part[:, LONG] != 0][:, [FIRST, REST]])
    at = _ranges(np.stack([start[rows], start[rows + 1]], axis=1))
    keys = np.repeat(rows, start[rows + 1] - start[rows]) * n + upper[at]
    keys.sort()
    upper[at] = keys % n
    length = np.diff(start)
    rows = rows[length[rows] > 1]
    second = upper[start[rows]]  # the first column of a row of U is the next pivot, if one follows
    alike = length[second] == length[rows] - 1
    rows, second = rows[alike], second[alike]
    own = upper[_ranges(np.stack([start[rows] + 1, start[rows + 1]], axis=1))]
    other = upper[_ranges(np.stack([start[second], start[second + 1]], axis=1))]
    ends = np.cumsum(length[second])
    different = np.concatenate([[0], np.cumsum(own != other)])
    same = different[ends] == different[ends - length[second]]
    following[rows[same]] = second[same]
    found: Ints = following[following[following]][:n]
    return found


def _program(
    part: Ints,
    factors: _Rows,
    load_start: Ints,
    load_column: Ints,
    symmetric: bool,
    load_to: Ints,
) -> tuple[Ints, Ints, Any, Any]:
    """Steps, pivots, operations and scaled entries, level by level; fills ``load_to``."""
    counts, level = np.diff(factors.upper_start), factors.level
    operations = _operations(part, factors)
    total = int(operations[part[:, LONG] == 0].sum())
    operation, moment = np.empty((total, 3), np.int32), np.empty(total, np.int64)
    total = write_operations(
        part.ravel(), factors.lower_start, factors.lower, factors.upper_start, factors.upper,
        load_start, load_column, level, symmetric, np.empty(level.size, np.int64), operation,
        moment, load_to,
    )  # fmt: skip
    operation, moment = operation[:total], moment[:total]
    by_time = np.argsort(moment, kind="stable")
    pivots = _ranges(part[part[:, LONG] == 0][:, [FIRST, REST]])
    pivots = pivots[np.argsort(level[pivots], kind="stable")]
    starts = factors.upper_start[pivots]
    upper = _ranges(np.stack([starts, starts + counts[pivots]], axis=1))
    upper_at = factors.lower_start[-1]
    source = _across(factors)[upper] if symmetric else upper_at + upper
    scaled = np.stack([upper_at + upper, source, np.repeat(pivots, counts[pivots])], axis=1)
    levels = np.arange(int(level.max(initial=0)) + 2)
    steps = [3 * np.searchsorted(moment[by_time] >> 32, levels),
             np.searchsorted(level[pivots], levels),
             3 * np.searchsorted(level[scaled[:, 2]], levels)]  # fmt: skip
    return (
        np.stack(steps, axis=1).ravel(),
        pivots,
        operation.take(by_time, axis=0).ravel(),
        scaled.astype(np.int32).ravel(),
    )


def _across(factors: _Rows) -> Ints:
    """Entry of L across the diagonal of each one of U, of a symmetric pattern."""
    n = factors.level.size
    lower = factors.lower * n + np.repeat(np.arange(n), np.diff(factors.lower_start))
    upper = np.repeat(np.arange(n), np.diff(factors.upper_start)) * n + factors.upper
    by_column = np.argsort(lower)
    found: Ints = by_column[np.searchsorted(lower[by_column], upper)]
    return found


def _inverse(order: Ints) -> Ints:
    """Place of each number in an order."""
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place


def _starts(rows: Ints, n: int) -> Ints:
    """Where the entries of each row begin, once they are sorted by rows."""
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=starts[1:])
    return starts


def _ranges(ends: Ints) -> Ints:
    """All numbers of ranges one after another."""
    length = ends[:, 1] - ends[:, 0]
    first = np.cumsum(length) - length
    numbers: Ints = np.arange(int(length.sum())) + np.repeat(ends[:, 0] - first, length)
    return numbers
