"""Backward error of a solution and an estimate of its condition number, all in compiled code."""

import math

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import ROWS, WIDEST
from graphsys.kernels.base.widths import LANES, SMALL
from graphsys.kernels.blocks.blocks import largest_of
from graphsys.kernels.blocks.nodes import small_residual
from graphsys.kernels.single.matrix import subtract_matrix_product
from graphsys.kernels.single.refinement import maximum_norm
from graphsys.kernels.single.substitution import solve, solve_transposed

#: Most rows of A^-1 whose sums `certify` computes; a second one is rarely another.
ROWS_OF_INVERSE = 2
#: What it returns: backward error, condition, most entries of a row.
RESULTS = 3
#: Multiples of it modulo 1 repeat nowhere.
GOLDEN = (5.0**0.5 - 1.0) / 2.0


def certificate_work(program) -> int:
    """Numbers of workspace that `certify` needs."""
    return 3 * int(program[ROWS]) + int(program[WIDEST])


@kernel
def certify(
    # Tables (of BlockGraph, then the program):
    tables,
    program,
    # In:
    arena,
    values,
    transposed,
    b,
    x,
    # Work:
    sizes,
    work,
    # Out:
    info,
):
    """Backward error, condition and most entries of a row, of A x = b or A^T x = b, into ``info``.

    The condition is a lower bound of ``max |A^-1| (|A| |x| + |b|) / max |x|``. Vectors that make
    A^-1 times the sizes large choose a row of A^-1; a solve with A^T gives this row, whose signs
    make the next vector (W. W. Hager, Condition estimates, SIAM J. Sci. Stat. Comput. 5, 1984; N.
    J. Higham, ACM TOMS 14, 1988, with one start). The two first vectors are ones, for inverses
    without changes of sign, and irregular signs.

    ``sizes`` is real, for the rows. A condition that overflows is inf, that of x = 0 is 0.
    """
    rows = program[ROWS]
    right, found, solving = work[:rows], work[rows : 2 * rows], work[2 * rows :]
    info[0] = error_and_sizes(tables, values, transposed, b, x, right, sizes, found)
    info[1], info[2] = 0.0, most_entries(tables)
    largest = maximum_norm(x, 0, rows)
    if largest == 0.0:
        return
    for i in range(rows):
        sizes[i] /= largest
    best, row = -1.0, 0
    for start in range(2):
        for i in range(rows):
            right[i] = 1.0
        if start == 1:
            irregular_signs(right)
        for i in range(rows):
            right[i] *= sizes[i]
        if _solve(program, arena, right, transposed, solving, found) != 0:
            info[1] = np.inf
            return
        size = maximum_norm(found, 0, rows)
        if size > best:
            best, row = size, _place_of(size, found)
    for again in range(ROWS_OF_INVERSE):
        for i in range(rows):
            right[i] = 0.0
        right[row] = 1.0
        if _solve(program, arena, right, not transposed, solving, found) != 0:
            best = np.inf
            break
        best = max(best, _weighted_sum(sizes, found))
        if again + 1 == ROWS_OF_INVERSE:
            break
        _weighted_signs(sizes, found, right)
        if _solve(program, arena, right, transposed, solving, found) != 0:
            best = np.inf
            break
        size = maximum_norm(found, 0, rows)
        place = _place_of(size, found)
        best = max(best, size)
        if place == row:
            break
        row = place
    info[1] = best


@kernel
def _solve(program, arena, b, transposed, work, x):
    """A x = b or A^T x = b for one vector; not 0 where x is not finite."""
    if transposed:
        return solve_transposed(program, arena, b, 1, work, x)
    return solve(program, arena, b, 1, work, x)


@kernel
def irregular_signs(signs):
    """1 or -1: a quadratic phase, as random as a formula without a state can be."""
    for i in range(signs.size):
        phase = GOLDEN * i * i
        signs[i] = 1.0 if phase - np.floor(phase) < 0.5 else -1.0


@inlined
def _place_of(size, x):
    """First place of a magnitude."""
    for i in range(x.size):
        if abs(x[i]) == size:
            return i
    return 0


@inlined
def _weighted_sum(sizes, x):
    """sum_i s_i |x_i|, in four chains."""
    a = b = c = d = 0.0
    whole = x.size // 4 * 4
    for i in range(0, whole, 4):
        a += sizes[i] * abs(x[i])
        b += sizes[i + 1] * abs(x[i + 1])
        c += sizes[i + 2] * abs(x[i + 2])
        d += sizes[i + 3] * abs(x[i + 3])
    for i in range(whole, x.size):
        a += sizes[i] * abs(x[i])
    return (a + b) + (c + d)


@inlined
def _weighted_signs(sizes, x, y):
    """y_i <- s_i times the sign of x_i, or its conjugate phase."""
    for i in range(x.size):
        if x.itemsize <= 8:
            y[i] = math.copysign(sizes[i], x[i].real)
        else:
            size = abs(x[i])
            y[i] = sizes[i] if size == 0.0 else sizes[i] * (x[i].conjugate() / size)


@kernel
def error_and_sizes(tables, values, transposed, b, x, r, sizes, work):
    """r <- b - A x, s <- |A| |x| + |b|; returns the largest |r| / s, NaN where one is.

    ``work`` has room for the rows.
    """
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at = tables
    if x.itemsize <= 8 and not transposed and b.size >= 2 * LANES and widest(tables) <= SMALL:
        small_residual(r, work, sizes, b, values, x, 0.0, np.inf, np.inf, *tables)
        error = largest_of(work, LANES, LANES, LANES, 1)
        if error == error:  # no size overflows
            return float(error)
    for i in range(b.size):
        r[i], sizes[i] = b[i], abs(b[i])
    subtract_matrix_product(*tables, values, transposed, x, 0, r)
    for i in range(size.size):
        height, first = size[i], row_start[i]
        for p in range(neighbor_start[i] - 1, neighbor_start[i + 1]):
            if p < neighbor_start[i]:
                j, at = i, diagonal_at[i]
            else:
                j, at = neighbor[p], block_at[p]
            for column in range(row_start[j], row_start[j + 1]):
                if transposed:
                    total = sizes[column]
                    for k in range(height):
                        total += abs(values[at + k]) * abs(x[first + k])
                    sizes[column] = total
                else:
                    known = abs(x[column])
                    for k in range(height):
                        sizes[first + k] += abs(values[at + k]) * known
                at += height
    error = 0.0
    for i in range(b.size):
        rest = abs(r[i])
        if rest != 0.0:
            quotient = rest / sizes[i] if sizes[i] != 0.0 else np.inf
            if not quotient <= error:
                error = quotient
    return error


@inlined
def widest(tables):
    """Rows of the largest node."""
    size, most = tables[0], 0
    for i in range(size.size):
        most = max(most, size[i])
    return most


@kernel
def most_entries(tables):
    """Largest number of entries of a row, or of a column."""
    size, neighbor_start, neighbor = tables[0], tables[2], tables[3]
    most = 0
    for i in range(size.size):
        total = size[i]
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            total += size[neighbor[p]]
        most = max(most, total)
    return most
