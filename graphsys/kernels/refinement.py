"""Iterative refinement of a solution, all of it in compiled code."""

import numpy as np

from .blocks import largest_of
from .emit import SMALL
from .jit import kernel
from .matrix import absolute_sums, subtract_matrix_product
from .nodes import small_residual, small_residual_and_sums
from .program import ROWS, WIDEST
from .substitution import solve, solve_transposed

#: Beyond this many times ``enough``, a backward error is not good.
GOOD = 1e4


def refined_work(program, count) -> int:
    """Numbers of workspace that `refine` needs for ``count`` right-hand sides."""
    return 4 * int(program[ROWS]) * count + int(program[WIDEST]) + SMALL


@kernel
def solve_refined(
    # Tables (of BlockGraph, joined; then the program):
    joined,
    program,
    # In:
    arena,
    values,
    b,
    norm,
    enough,
    most,
    # Work:
    work,
    info,
    # Out:
    x,
):
    """A x = b for one real vector, refined: what `refine` tells; -1 steps where that is not good.

    ``norm`` may be -1: it is computed then.
    """
    nodes, neighbors = joined[0], joined[1]
    at = 2
    size = joined[at : at + nodes]
    at += nodes
    row_start = joined[at : at + nodes + 1]
    at += nodes + 1
    neighbor_start = joined[at : at + nodes + 1]
    at += nodes + 1
    neighbor = joined[at : at + neighbors]
    at += neighbors
    diagonal_at = joined[at : at + nodes]
    at += nodes
    block_at = joined[at : at + neighbors]
    if b.size != program[ROWS] or solve(program, arena, b, 1, work, x) != 0:
        return -1, 0.0, norm
    if norm < 0.0 and program[WIDEST] > SMALL:
        absolute_sums(
            size, row_start, neighbor_start, neighbor, diagonal_at, block_at, values, False,
            work[: b.size],
        )  # fmt: skip
        norm = _size(work, 0, b.size)
    failed = refine(
        size, row_start, neighbor_start, neighbor, diagonal_at, block_at, program, arena, values,
        norm, enough, most, False, b, 1, work, x, info,
    )  # fmt: skip
    good = failed == 0 and info[1] <= GOOD * enough
    return int(info[0]) if good else -1, float(info[1]), float(info[2])


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
    if quick and norm < 0.0:
        for k in range(SMALL):
            sums[k] = 0.0
        small_residual_and_sums(residual, sums, b, values, x, *tables)
        norm = largest_of(sums, 0, SMALL, SMALL, 1)
    else:
        _residual(tables, values, transposed, b, count, quick, x, residual)
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
        _residual(tables, values, transposed, b, count, quick, trial, following)
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
def _residual(tables, values, transposed, b, count, quick, x, r):
    """r <- b - A x, or b - A^T x, for all columns."""
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at = tables
    if quick:
        small_residual(r, b, values, x, *tables)
        return
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
        of_r, of_b, of_x = _size(r, j, rows), _size(b, j, rows), _size(x, j, rows)
        if not (of_r == 0.0):
            scale = norm * of_x + of_b
            if scale < np.inf:
                largest = _larger(of_r / scale, largest)
            else:  # no quotient of 0 where |A| |x| overflows
                largest = _larger(of_r / of_x / norm if norm < np.inf else np.nan, largest)
    return largest


@kernel
def _size(x, first, rows):
    """Maximum norm of ``rows`` numbers."""
    whole = 8 * (rows // 8)
    largest = largest_of(x, first, 8, 8, rows // 8)
    return _larger(largest_of(x, first + whole, 8, rows - whole, 1), largest)


@kernel
def _larger(x, largest):
    """The larger one, NaN where either is: `max` drops it."""
    return largest if largest != largest or x <= largest else x
