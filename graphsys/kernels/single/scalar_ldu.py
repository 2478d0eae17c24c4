"""First-touch factorization of single rows, as `nodal_ldu`, and substitution with its factors.

Their program has arrays of their own instead of panels. L and W have an entry for each entry e of
the fronts. L of row k lies after D_k^-1, at ``k + e + 1``; W after all of L, at ``rows + entries +
e``. From ``program[NODAL_AT]`` on:

========  ==========================================================================================
starts    rows + 1 places: the front of row k is ``front[starts[k]:starts[k + 1]]``
front     later rows that share an entry with each row, ascending; then -1
diagonal  for each row: source of its pivot
left      for each entry of the fronts: source of L
right     the same of W; a symmetric matrix has none
updates   (source, destination) for each pair of rows (i, j) of a front, j outermost, i >= j only
          when symmetric: A_ij <- source - L_i W_j
========  ==========================================================================================

Sources as in `nodal_ldu`; that of a pivot is -1 where it was updated. A tree has 8 numbers per row.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, lazy
from graphsys.kernels.base.layout import (
    GROWTH,
    NODAL_AT,
    ORDER_AT,
    PIVOT_RATIO,
    ROWS,
    SYMMETRIC,
    WEAKEST,
    WORK_AT,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.blocks import largest_of
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.blocks.prefetch import fetch, is_far
from graphsys.kernels.blocks.scalar_columns import backward_columns, forward_columns
from graphsys.kernels.single.permutation import gather, scatter

#: Rows between a prefetch and its use, of matrices that do not stay in the caches. A tree of 10^6
#: rows at random is factorized in 0.6 of the time; 8 to 32 are as good.
AHEAD = 16


@inlined
def factorize_scalars(
    # Tables:
    program,
    # In:
    values,
    tolerance,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
    # In and out:
    x,
):
    """L, D^-1, W of A = L D W, as `nodal_ldu.factorize_nodal`."""
    rows, at = program[ROWS], program[NODAL_AT]
    entries, symmetric = program[at + rows], program[SYMMETRIC] != 0
    starts, front = pointer(program, at), pointer(program, at + rows + 1)
    at += rows + entries + 2
    diagonal, lefts = pointer(program, at), pointer(program, at + rows)
    at += rows
    rights = pointer(program, at if symmetric else at + entries)
    update = pointer(program, at + (entries if symmetric else 2 * entries))
    a, f, upper = pointer(values, 0), pointer(arena, 0), rows + entries
    largest, original = pointer(magnitude, 0), pointer(magnitude, rows)
    ratios = pointer(magnitude, 2 * rows)
    for k in range(rows):
        largest[k] = 0.0
        original[k] = np.inf
    f[program[WORK_AT]] = 0.0  # what is read where nothing was
    info[GROWTH] = 0.0
    smallest, weakest, begin, pair = 1.0, 0, 0, 0
    ahead = AHEAD if is_far(values.size + arena.size, arena) else rows
    for first in range(rows):
        if first + ahead < rows:
            _fetch_source(values, diagonal[first + ahead])
            if begin + ahead < entries:  # about where that row will be
                row, update_at = front[begin + ahead], pair + 2 * ahead
                _fetch_source(values, lefts[begin + ahead])
                _fetch_source(values, rights[begin + ahead])
                _fetch_source(values, update[update_at])
                fetch(arena, update[update_at + 1])
                fetch(magnitude, row)
                fetch(magnitude, rows + row)
                if x is not None:
                    fetch(x, row)
        end, lower = starts[first + 1], first + begin
        source = diagonal[first]
        pivot = a[source] if source >= 0 else f[lower]
        size = abs(pivot)
        if size > largest[first]:
            largest[first] = size
        ratio = size / largest[first]
        if not (ratio > tolerance):
            info[PIVOT_RATIO], info[WEAKEST] = ratio, first
            return first + 1
        ratios[first] = ratio
        if ratio < smallest:
            smallest, weakest = ratio, first
        f[lower] = 1.0 / pivot
        inverse = f[lower]  # in the precision of the factors
        if not (abs(inverse) < np.inf):
            info[PIVOT_RATIO], info[WEAKEST] = np.nan, first
            return first + 1
        if x is not None:
            z = inverse * x[first]
            x[first] = z
        for j in range(begin, end):
            source = rights[j]
            right = inverse * (a[source] if source >= 0 else f[~source])
            f[upper + j] = right
            for i in range(j if symmetric else begin, end):
                source, row = lefts[i], front[i]
                left = a[source] if source >= 0 else f[~source]
                if j == begin:
                    f[first + 1 + i] = left
                    if x is not None:
                        x[row] -= left * z
                source = update[pair]
                old = a[source] if source >= 0 else f[~source]
                f[update[pair + 1]] = old - left * right
                if i == j:
                    if abs(old) > largest[row]:
                        largest[row] = abs(old)
                    if source >= 0:
                        original[row] = abs(old)
                pair += 2
        begin = end
    info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = (
        smallest,
        weakest,
        pivot_growth(program, magnitude),
    )
    return 0


@inlined
def _fetch_source(values, source):
    """Prefetch a source in values."""
    if source >= 0:
        fetch(values, source)


@lazy("int")
def factorize_rows(program, values, tolerance, magnitude, arena, info):
    """`factorize_scalars` without a vector."""
    return factorize_scalars(program, values, tolerance, magnitude, arena, info, None)


@lazy("int")
def solve_scalars(
    # Tables:
    program,
    # In:
    arena,
    b,
    # Work:
    x,
    # Out:
    out,
):
    """`substitution.solve` for one vector."""
    order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
    gather(b, order, 1, x)
    forward_scalars(program, arena, x)
    backward_scalars(program, arena, x)
    return scatter(x, order, 1, out)


@inlined
def forward_scalars(program, arena, x):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k."""
    rows, at = program[ROWS], program[NODAL_AT]
    starts, front = pointer(program, at), pointer(program, at + rows + 1)
    f, z, e = pointer(arena, 0), pointer(x, 0), 0
    for k in range(rows):
        entry = f[k + e] * z[k]
        z[k] = entry
        end = starts[k + 1]
        while e < end:
            z[front[e]] -= f[k + 1 + e] * entry
            e += 1


@inlined
def backward_scalars(program, arena, x):
    """x_k = z_k - sum_j W_kj x_j."""
    rows, at = program[ROWS], program[NODAL_AT]
    starts, front = pointer(program, at), pointer(program, at + rows + 1)
    end = starts[rows]
    f, z = pointer(arena, rows + end), pointer(x, 0)
    for k in range(rows - 1, -1, -1):
        begin, total = starts[k], z[k]
        for e in range(begin, end):
            total -= f[e] * z[front[e]]
        z[k] = total
        end = begin


@lazy("int")
def solve_scalars_transposed(program, arena, b, x, out):
    """`substitution.solve_transposed` for one vector of a matrix without symmetry."""
    rows, at = program[ROWS], program[NODAL_AT]
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, 1, x)
    starts, front = pointer(program, at), pointer(program, at + rows + 1)
    f, z, entries = pointer(arena, 0), pointer(x, 0), starts[rows]
    w = pointer(arena, rows + entries)
    for k in range(rows):  # x_j <- x_j - W_kj x_k
        entry = z[k]
        for e in range(starts[k], starts[k + 1]):
            z[front[e]] -= w[e] * entry
    end = entries
    for k in range(rows - 1, -1, -1):  # x_k = D_k^-1 (x_k - sum_i L_ik x_i)
        begin, total = starts[k], z[k]
        for e in range(begin, end):
            total -= f[k + 1 + e] * z[front[e]]
        z[k] = f[k + begin] * total
        end = begin
    return scatter(x, order, 1, out)


@lazy("None")
def solve_scalars_side_by_side(program, first, last, arena, x):
    """`multiple_rhs.solve_side_by_side`."""
    rows, starts = program[ROWS], program[NODAL_AT]
    front = starts + rows + 1
    forward_columns(x, arena, 0, program, starts, front, first, rows)
    upper = rows + program[starts + rows]
    backward_columns(x, arena, upper, program, starts, front, last, rows)


@lazy("int")
def solve_scalar_columns(program, arena, b, count, x, out):
    """`substitution.solve` for at least eight vectors, eight at a time."""
    rows, lost = program[ROWS], 0
    order = pointer(program, program[ORDER_AT])
    for done in range(0, count, LANES):
        column = min(done, count - LANES)  # the last eight may overlap those before
        for i in range(rows):
            for j in range(LANES):
                x[LANES * i + j] = b[(column + j) * rows + order[i]]
        solve_scalars_side_by_side(program, 0, 0, arena, x)
        for i in range(rows):
            for j in range(LANES):
                out[(column + j) * rows + order[i]] = x[LANES * i + j]
        if not largest_of(x, 0, LANES * rows, LANES * rows, 1) < np.inf:
            lost = 1
    return lost
