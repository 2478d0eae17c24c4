"""Iterative refinement of a solution, all of it in compiled code.

The backward error is taken row by row (W. Oettli and W. Prager, Numer. Math. 6, 1964; M. Arioli,
J. W. Demmel and I. S. Duff, SIAM J. Matrix Anal. Appl. 10, 1989): the largest ``|b - A x| / d``
with ``d = |A| |x| + |b|``, so that no scale of rows hides another. Where d is no more than rounding
noise, as in parts of a system where nothing happens, `FLOOR` of ``(sum_j |A_ij|) max |x|`` takes
its place.
"""

import numpy as np

from graphsys.kernels.base.complex_numbers import is_real
from graphsys.kernels.base.jit import kernel, lazy
from graphsys.kernels.base.layout import ROWS, WIDEST
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import LANES, SMALL
from graphsys.kernels.blocks.blocks import largest_of
from graphsys.kernels.blocks.nodes import scalar_residual, small_residual, wide_residual
from graphsys.kernels.single.matrix import (
    is_scalar,
    raise_sizes,
    subtract_matrix_product,
    widest_node,
)
from graphsys.kernels.single.substitution import solve, solve_transposed

#: Beyond this many times ``eps``, a backward error is not good.
GOOD = 1e3
#: Times ``eps`` from which on a backward error is at rounding level: residuals of rows with tens
#: of entries are themselves no better (body/joint chains took one step more without).
REACHED = 4.0
#: The same without `FLOOR`, 7.1e-15 in double precision. The residual of a row of n entries is
#: itself off by up to (n + 1) / 2 of these units: 1e-14 for rows of up to 24 entries.
FINE = 32.0
#: Power of ``eps`` that bounds from below what a residual is compared with.
FLOOR = 2.0 / 3.0
#: Power of ``eps`` that bounds how errors of the factors may cancel each other in a residual, see
#: `refine`.
CANCELLED = 1.0 / 3.0


def refined_work(program, count) -> int:
    """Numbers of workspace that `refine` needs for ``count`` right-hand sides."""
    rows = int(program[ROWS])
    return 4 * rows * count + 2 * max(rows, LANES) + int(program[WIDEST])


@kernel
def solve_refined(
    # Tables (of BlockGraph, joined; then the program):
    joined,
    program,
    # In:
    arena,
    values,
    b,
    eps,
    floor,
    most,
    # Work:
    work,
    info,
    # Out:
    x,
):
    """A x = b for one real vector, refined: steps, or -1 where that is not good, and the error."""
    if b.size != program[ROWS] or solve(program, arena, b, 1, work, x) != 0:
        return -1, 0.0
    steps = refine_solution(joined, program, arena, values, b, eps, floor, most, work, info, x)
    return steps, float(info[1])


@lazy("int")
def refine_solution(
    # Tables (of BlockGraph, joined; then the program):
    joined,
    program,
    # In:
    arena,
    values,
    b,
    eps,
    floor,
    most,
    # Work:
    work,
    # Out:
    info,
    # In and out:
    x,
):
    """`refine` for one real vector: steps, or -1 where that is not good.

    Without a floor nothing short of `FINE` is.
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
    tables = size, row_start, neighbor_start, neighbor, diagonal_at, block_at
    failed = refine(
        tables, program, arena, values, eps, floor, most, False, b, 1, work, x, info
    )  # fmt: skip
    enough = (GOOD if floor > 0.0 else FINE) * eps
    return int(info[0]) if failed == 0 and info[2] <= enough else -1


@kernel
def refine(
    # Tables (of BlockGraph, then the program):
    tables,
    program,
    # In:
    arena,
    values,
    eps,
    floor,
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
    """x <- x + A^-1 (b - A x) until the backward error is at rounding level or stalls; a status.

    That is `REACHED` with a ``floor``, `FLOOR` or 0, or `FINE` without.

    With factors of A + E, x has the residual E x, and after a correction d it has E d. If no
    unknown changes by more than a part p of it, that is at most p |E| |x|. So the backward error is
    below `REACHED` without another residual if p times the one of the first x is below
    ``eps**CANCELLED`` of that, unless the terms of a row of E x cancel each other by more digits, 5
    in double precision. Residuals of later x are no measure of E: they are those of corrections. Of
    11,051 first corrections of interior-point systems, bodies and joints, the 3,091 that passed
    left errors below 8e-16, and 2,977 of the others left some above 1e-14.

    As long as small unknowns are noise, their rows hold the backward error at 1 while corrections
    become smaller. So it stalls where neither the error nor the correction falls to a half.

    ``info`` (3,) gets the steps taken, at most ``most``, the backward error, and what it would be
    without `FLOOR`, or `REACHED` for both where no residual was needed. The status is 1 where a
    solution is not finite, else 0.
    """
    length, rows, widest = program[ROWS] * count, program[ROWS], widest_node(tables[0])
    residual, trial = work[:length], work[length : 2 * length]
    following = work[2 * length : 3 * length]
    sizes = work[3 * length : 3 * length + 2 * max(rows, LANES)]
    solving = work[3 * length + 2 * max(rows, LANES) :]
    reached, fine = REACHED * eps, FINE * eps
    certain = reached * eps**CANCELLED
    known = max(reached, certain**0.5)
    error, strict = residual_error(
        tables, widest, values, transposed, b, count, x, eps, floor, known, sizes, residual
    )
    steps, last, first = 0, np.inf, strict
    while error > reached and not strict <= fine and steps < most:
        if transposed:
            failed = solve_transposed(program, arena, residual, count, solving, trial)
        else:
            failed = solve(program, arena, residual, count, solving, trial)
        if failed != 0:
            return 1
        if first <= known and add_small(x, trial, certain / first):  # first is of all rows
            info[0], info[1], info[2] = steps + 1, reached, reached
            return 0
        correction = maximum_norm(trial, 0, length)
        for i in range(length):
            trial[i] += x[i]
        new_error, new_strict = residual_error(
            tables, widest, values, transposed, b, count, trial, eps, floor, np.inf, sizes,
            following,
        )  # fmt: skip
        converging = new_error <= error / 2.0 or correction <= last / 2.0
        if not (new_error < error or (converging and new_error < np.inf)):
            break
        for i in range(length):
            x[i], residual[i] = trial[i], following[i]
        error, strict = new_error, new_strict
        steps += 1
        last = correction
        if not converging:
            break
    if steps == 0 and error > reached and not strict <= fine:  # of the first rows that are so
        error, strict = residual_error(
            tables, widest, values, transposed, b, count, x, eps, floor, np.inf, sizes, residual
        )
    info[0], info[1], info[2] = steps, error, strict
    return 0


@kernel
def add_small(x, change, part):
    """x <- x + d if each ``|d| <= part |x + d|``; whether that is so."""
    larger = 0
    for i in range(x.size):
        larger += 0 if abs(change[i]) <= part * abs(x[i] + change[i]) else 1
    if larger == 0:
        for i in range(x.size):
            x[i] += change[i]
    return larger == 0


@kernel
def residual_error(
    tables, widest, values, transposed, b, count, x, eps, floor, enough, sizes, r
):  # fmt: skip
    """r <- b - A x, or b - A^T x, for all columns; backward error with and without a ``floor``.

    Where the former is larger than ``enough`` and the latter than `FINE`, both may be those of some
    rows only. Nodes of up to `FINE` may count by the latter in both. No block has more than
    ``widest`` rows. ``sizes`` is workspace, ``2 max(rows, LANES)``.
    """
    rows = tables[1][tables[0].size]
    scalar = is_real(x) and is_scalar(tables[0], rows)
    if widest <= SMALL and count == 1 and not transposed and not scalar and is_real(x):
        least = floor * maximum_norm(x, 0, rows)
        small_residual(r, sizes, None, b, values, x, least, FINE * eps, enough, *tables)
        return (
            float(largest_of(sizes, 0, LANES, LANES, 1)),
            float(largest_of(sizes, LANES, LANES, LANES, 1)),
        )
    worst = strict = 0.0
    if transposed:
        for i in range(r.size):
            r[i] = b[i]
    for j in range(count):
        if transposed:
            subtract_matrix_product(*tables, values, True, x, j * rows, r)
            floored, plain = transposed_error(tables, values, b, x, j * rows, floor, sizes, r)
        else:
            own = slice(j * rows, (j + 1) * rows)
            if scalar:
                floored, plain = scalar_error(
                    tables, values, b[own], x[own], eps, floor, sizes, r[own]
                )
            else:
                floored, plain = vector_error(
                    tables, values, b[own], x[own], eps, floor, sizes, r[own]
                )
        worst, strict = _larger(floored, worst), _larger(plain, strict)
    return worst, strict


@kernel
def scalar_error(tables, values, b, x, eps, floor, sizes, r):
    """`vector_error` of a graph whose nodes are single rows, of real numbers."""
    _, _, neighbor_start, neighbor, diagonal_at, _ = tables
    worst = strict = 0.0
    floor, fine = floor * maximum_norm(x, 0, x.size), FINE * eps
    scalar_residual(r, sizes, b, values, x, neighbor_start, neighbor, diagonal_at)
    for i in range(diagonal_at.size):
        rest, d = abs(r[i]), sizes[i].real
        if rest <= worst * d < np.inf:  # no division where this row is not the worst
            continue
        plain = floored = _quotient(rest, d)
        if not plain <= fine:
            place, total = diagonal_at[i], 0.0
            for entry in range(place, place + 1 + neighbor_start[i + 1] - neighbor_start[i]):
                total += abs(values[entry])
            total *= floor
            if d < total < np.inf:
                floored = _quotient(rest, total)
        worst, strict = _larger(floored, worst), _larger(plain, strict)
    return worst, strict


@kernel
def vector_error(tables, values, b, x, eps, floor, sizes, r):
    """r <- b - A x for one vector; its backward error with and without a ``floor``.

    The blocks of a node follow each other: it is a dense matrix, by columns, beside x.
    """
    size, row_start, neighbor_start, neighbor, diagonal_at, _ = tables
    worst = strict = 0.0
    entries, known, others = pointer(values, 0), pointer(x, 0), pointer(neighbor, 0)
    starts, widths = pointer(row_start, 0), pointer(size, 0)
    floor, fine = floor * maximum_norm(x, 0, x.size), FINE * eps
    for i in range(size.size):
        height, first, place = size[i], row_start[i], diagonal_at[i]
        own, last = neighbor_start[i] - 1, neighbor_start[i + 1]
        if height == 1:  # refined solves of complex single rows: 0.8 to 0.9 of the time
            right = b[first]
            term = entries[place] * known[first]
            rest, d, place = right - term, abs(right) + abs(term), place + 1
            for p in range(neighbor_start[i], last):
                j = others[p]
                column, width = starts[j], widths[j]
                if width == 1:
                    term = entries[place] * known[column]
                    rest -= term
                    d += abs(term)
                else:
                    for k in range(width):
                        term = entries[place + k] * known[column + k]
                        rest -= term
                        d += abs(term)
                place += width
            r[first], sizes[first] = rest, d
        elif is_real(x):
            wide_residual(
                r, sizes, b, values, x, first, place, height, i, own + 1, last, size, row_start,
                neighbor,
            )  # fmt: skip
        else:
            rests, ds = r[first : first + height], sizes[first : first + height]
            for k in range(height):
                rests[k], ds[k] = b[first + k], abs(b[first + k])
            for p in range(own, last):
                j = i if p == own else neighbor[p]
                for column in range(row_start[j], row_start[j + 1]):
                    block, factor = values[place : place + height], x[column]
                    for k in range(height):
                        term = block[k] * factor
                        rests[k] -= term
                        ds[k] += abs(term)
                    place += height
        for k in range(height):
            rest, d = abs(r[first + k]), sizes[first + k].real
            if rest <= worst * d < np.inf:  # no division where this row is not the worst
                continue
            plain = floored = _quotient(rest, d)
            if not plain <= fine:
                width, total = size[i], 0.0
                for p in range(own + 1, last):
                    width += size[neighbor[p]]
                begin = diagonal_at[i] + k
                for entry in range(begin, begin + height * width, height):
                    total += abs(values[entry])
                total *= floor
                if d < total < np.inf:
                    floored = _quotient(rest, total)
            worst, strict = _larger(floored, worst), _larger(plain, strict)
    return worst, strict


@kernel
def transposed_error(tables, values, b, x, at, floor, sizes, r):
    """Backward errors as of `vector_error`, of one x[at:] whose residual b - A^T x is r[at:]."""
    size, row_start = tables[0], tables[1]
    rows = row_start[size.size]
    worst = strict = 0.0
    for i in range(rows):
        sizes[i], sizes[rows + i] = abs(b[at + i]), 0.0
    raise_sizes(tables, values, True, x, at, sizes)
    floor *= maximum_norm(x, at, rows)
    for i in range(rows):
        rest, d = abs(r[at + i]), sizes[i].real
        if rest != 0.0:
            floored = floor * sizes[rows + i].real
            bound = floored if d < floored < np.inf else d
            worst = _larger(_quotient(rest, bound), worst)
            strict = _larger(_quotient(rest, d), strict)
    return worst, strict


@kernel
def _quotient(rest, bound):
    """``rest / bound``, and not 0 where the bound overflows."""
    return rest / bound if 0.0 < bound < np.inf else np.inf


@kernel
def maximum_norm(x, first, rows):
    """Maximum norm of ``rows`` numbers."""
    whole = 8 * (rows // 8)
    largest = largest_of(x, first, 8, 8, rows // 8)
    return _larger(largest_of(x, first + whole, 8, rows - whole, 1), largest)


@kernel
def _larger(x, largest):
    """The larger one, NaN where either is: `max` drops it."""
    return largest if largest != largest or x <= largest else x
