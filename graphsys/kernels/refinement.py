"""Iterative refinement of a solution, all of it in compiled code."""

from .blocks import SMALL, largest_of
from .jit import kernel
from .matrix import subtract_matrix_product
from .nodes import subtract_row
from .program import ROWS, WIDEST
from .substitution import solve, solve_transposed


@kernel
def refine(
    # Tables (of BlockGraph, then the program):
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    program,
    # In:
    arena,
    values,
    norm,
    enough,
    most,
    transposed,
    b,
    count,
    # Work:
    work,
    # Out:
    x,
    info,
):
    """x <- x + A^-1 (b - A x) until |b - A x| / (|A| |x| + |b|) is ``enough`` or stalls; a status.

    ``work`` is for three right-hand sides, one solve and 8 numbers; ``norm`` the maximum norm of A,
    or of its transpose. `SMALL` nodes with real blocks need not be told it: -1 will do. ``info``
    (3,) gets the steps taken, at most ``most``, the backward error, and the norm. The status is 1
    where a solution is not finite, else 0.
    """
    length = program[ROWS] * count
    residual, trial = work[:length], work[length : 2 * length]
    following, sums = work[2 * length : 3 * length], work[3 * length : 3 * length + SMALL]
    solving = work[3 * length + SMALL :]
    tables = (size, row_start, neighbor_start, neighbor, diagonal_at, block_at)
    quick = program[WIDEST] <= SMALL and count == 1 and not transposed and x.itemsize <= 8
    for k in range(SMALL):
        sums[k] = 0.0
    _residual(tables, values, transposed, b, count, quick, x, sums, residual)
    if norm < 0.0:
        norm = largest_of(sums, 0, SMALL, SMALL, 1)
    info[2] = norm
    error = _backward_error(norm, count, residual, b, x)
    steps = 0
    while error > enough and steps < most:
        if transposed:
            failed = solve_transposed(program, arena, residual, count, solving, trial)
        else:
            failed = solve(program, arena, residual, count, solving, trial)
        if failed != 0:
            return 1
        for i in range(length):
            trial[i] += x[i]
        _residual(tables, values, transposed, b, count, quick, trial, sums, following)
        new_error = _backward_error(norm, count, following, b, trial)
        if not (new_error < error):
            break
        stalled = new_error > error / 2.0
        for i in range(length):
            x[i], residual[i] = trial[i], following[i]
        error = new_error
        steps += 1
        if stalled:
            break
    info[0], info[1] = steps, error
    return 0


@kernel
def _residual(tables, values, transposed, b, count, quick, x, sums, r):
    """r <- b - A x, or b - A^T x, for all columns; row sums of |A| on the way where ``quick``."""
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at = tables
    for i in range(r.size):
        r[i] = b[i]
    if quick:
        for i in range(size.size):
            if size[i] > 0:
                subtract_row(
                    r, sums, values, x, size, row_start, neighbor, block_at,
                    diagonal_at[i], i, neighbor_start[i], neighbor_start[i + 1],
                )  # fmt: skip
        return
    rows = r.size // max(count, 1)
    for j in range(count):
        subtract_matrix_product(
            size, row_start, neighbor_start, neighbor, diagonal_at, block_at,
            values, transposed, x, j * rows, r,
        )  # fmt: skip


@kernel
def _backward_error(norm, count, r, b, x):
    """Largest |r| / (|A| |x| + |b|) of the columns, in the maximum norm."""
    largest = 0.0
    rows = r.size // max(count, 1)
    for j in range(0, r.size, max(rows, 1)):
        of_r, of_b, of_x = _size(r, j, rows), _size(b, j, rows), _size(x, j, rows)
        if not (of_r == 0.0):
            largest = max(largest, of_r / (norm * of_x + of_b))
    return largest


@kernel
def _size(x, first, rows):
    """Maximum norm of ``rows`` numbers."""
    whole = 8 * (rows // 8)
    largest = largest_of(x, first, 8, 8, rows // 8)
    return max(largest, largest_of(x, first + whole, 8, rows - whole, 1))
