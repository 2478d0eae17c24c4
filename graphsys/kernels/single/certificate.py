"""Backward error of a solution and an estimate of its condition number, all in compiled code."""

import numpy as np

from graphsys.kernels.base.complex_numbers import is_real
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import ROWS
from graphsys.kernels.base.widths import LANES, SMALL
from graphsys.kernels.blocks.blocks import largest_of
from graphsys.kernels.blocks.nodes import small_residual
from graphsys.kernels.single.matrix import subtract_matrix_product
from graphsys.kernels.single.refinement import maximum_norm
from graphsys.kernels.single.substitution import solve, solve_transposed

#: Starts of the estimate: entry i of one is 1 - f or f - 3/2, by the fraction f of
#: ``PHASES[j] i^2``, in both halves of [0, 1). Ones are best for inverses without changes of sign;
#: irrational phases repeat nowhere. Of 24,000 random matrices of 17 kinds, of 1 to 60 rows, 0.3 %
#: were estimated below a third, the worst 22 times too low. With signs alone 0.6 % were, and rows
#: that are nearly multiples of each other can cancel exactly: the worst was 1e7 times too low.
PHASES = (0.0, (5.0**0.5 - 1.0) / 2.0, 2.0**0.5)
#: Numbers that `certify` returns: backward error, condition, most entries of a row.
RESULTS = 3


def certificate_work(rows, widest) -> int:
    """Numbers of workspace that `certify` needs."""
    return 3 * len(PHASES) * rows + widest


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

    The condition is a lower bound of ``max |A^-1| s / max |x|``, ``s = |A| |x| + |b|``: the sum of
    one row of ``|A^-1| s``. It is that with the largest entry in any of ``A^-1 diag(s) y``, y being
    the starts of `PHASES`, solved with at once; another solve with A^T gives the row. This is half
    a step of Hager's method from three starts (W. W. Hager, Condition estimates, SIAM J. Sci. Stat.
    Comput. 5, 1984; N. J. Higham and F. Tisseur, A block algorithm for matrix 1-norm estimation,
    SIAM J. Matrix Anal. Appl. 21, 2000).

    ``sizes`` is real, for the rows. A condition that overflows is inf, that of x = 0 is 0, and that
    where all sizes underflow.
    """
    rows, length = program[ROWS], len(PHASES) * program[ROWS]
    right, found, solving = work[:length], work[length : 2 * length], work[2 * length :]
    info[0] = error_and_sizes(tables, values, transposed, b, x, right[:rows], sizes, found)
    info[1], info[2] = 0.0, most_entries(tables)
    largest = maximum_norm(x, 0, rows)
    if largest == 0.0 or maximum_norm(sizes, 0, rows) == 0.0:
        return
    start_vectors(sizes, largest, right)
    count = len(PHASES)
    if transposed:
        failed = solve_transposed(program, arena, right, count, solving, found)
    else:
        failed = solve(program, arena, right, count, solving, found)
    place = _place_of_largest(found)
    size, row = abs(found[place]), place % rows
    for i in range(rows):
        right[i] = 0.0
    middle = _middle(sizes)
    right[row] = middle / largest
    if transposed:
        failed |= solve(program, arena, right[:rows], 1, solving, found[:rows])
    else:
        failed |= solve_transposed(program, arena, right[:rows], 1, solving, found[:rows])
    info[1] = np.inf if failed != 0 else max(size, _weighted_sum(sizes, middle, found))


@kernel
def start_vectors(sizes, largest, vectors):
    """Columns ``s_i / largest`` times the numbers of `PHASES`."""
    rows = sizes.size
    for j in range(len(PHASES)):
        for i in range(rows):
            phase = PHASES[j] * i * i
            part = phase - np.floor(phase)
            start = 1.0 - part if part < 0.5 else part - 1.5
            vectors[j * rows + i] = sizes[i] / largest * start


@inlined
def _place_of_largest(x):
    """First place of the largest magnitude."""
    place = 0
    for i in range(x.size):
        if abs(x[i]) > abs(x[place]):
            place = i
    return place


@inlined
def _middle(sizes):
    """Geometric mean of the largest and the smallest number that is not 0: a unit of ``|A^-1| s``.

    Entries of the inverse alone may leave the range of numbers.
    """
    least, most = np.inf, 0.0
    for i in range(sizes.size):
        if sizes[i] > 0.0:
            least, most = min(least, float(sizes[i])), max(most, float(sizes[i]))
    return most**0.5 * least**0.5


@inlined
def _weighted_sum(sizes, unit, x):
    """sum_i s_i / unit |x_i|."""
    total = 0.0
    for i in range(sizes.size):
        total += sizes[i] / unit * abs(x[i])
    return total


@kernel
def error_and_sizes(tables, values, transposed, b, x, r, sizes, work):
    """r <- b - A x, s <- |A| |x| + |b|; returns the largest |r| / s, NaN where one is.

    ``work`` has room for the rows.
    """
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at = tables
    if is_real(x) and not transposed and b.size >= 2 * LANES and _widest(size) <= SMALL:
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
def _widest(size):
    """Rows of the largest node."""
    most = 0
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
