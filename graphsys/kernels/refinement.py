"""Iterative refinement of a solution, all of it in compiled code."""

from .jit import kernel
from .matrix import subtract_matrix_product
from .program import ROWS
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

    ``work`` is for three right-hand sides and one solve; ``norm`` the maximum norm of A, or of its
    transpose. ``info`` (2,) gets the steps taken, at most ``most``, and the backward error. The
    status is 1 where a solution is not finite, else 0.
    """
    length = program[ROWS] * count
    residual, trial = work[:length], work[length : 2 * length]
    following, solving = work[2 * length : 3 * length], work[3 * length :]
    tables = (size, row_start, neighbor_start, neighbor, diagonal_at, block_at)
    _residual(tables, values, transposed, b, count, x, residual)
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
        _residual(tables, values, transposed, b, count, trial, following)
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
def _residual(tables, values, transposed, b, count, x, r):
    """r <- b - A x, or b - A^T x, for all columns."""
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at = tables
    for i in range(r.size):
        r[i] = b[i]
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
        of_r, of_b, of_x = 0.0, 0.0, 0.0
        for i in range(j, j + rows):
            of_r = max(of_r, abs(r[i]))
            of_b = max(of_b, abs(b[i]))
            of_x = max(of_x, abs(x[i]))
        if of_r > 0.0:
            largest = max(largest, of_r / (norm * of_x + of_b))
    return largest
