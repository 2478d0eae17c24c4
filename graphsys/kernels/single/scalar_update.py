"""Numeric factorization of the single rows that a change reaches, as `partial_update`.

Tables are the program of `scalar_ldu` and those of `numeric.scalar_update.RowReach`.
"""

import numpy as np

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    GROWTH,
    NODAL_AT,
    PIVOT_RATIO,
    ROWS,
    SYMMETRIC,
    WEAKEST,
)
from graphsys.kernels.base.pointers import pointer


@kernel
def row_reach_tables(
    # Tables:
    program,
    # Out:
    given,
    pair_start,
    source_start,
    source,
    entry,
):
    """Tables of `RowReach`: places of A in values, first updates of rows, rows that update each."""
    rows, starts = program[ROWS], program[NODAL_AT]
    entries, symmetric = program[starts + rows], program[SYMMETRIC] != 0
    front, upper = starts + rows + 1, rows + entries
    diagonal = front + entries + 1
    left = diagonal + rows
    right = left if symmetric else left + entries
    update = right + entries
    given[:] = -1
    source_start[:] = 0
    pairs = 0
    for k in range(rows):
        begin, end = program[starts + k], program[starts + k + 1]
        given[k + begin] = max(program[diagonal + k], -1)
        pair_start[k] = pairs
        pairs += (end - begin) * (end - begin + 1) // 2 if symmetric else (end - begin) ** 2
        for e in range(begin, end):
            source_start[program[front + e] + 1] += 1
            given[k + 1 + e] = max(program[left + e], -1)
            if not symmetric:
                given[upper + e] = max(program[right + e], -1)
    for pair in range(pairs):
        if program[update + 2 * pair] >= 0:
            given[program[update + 2 * pair + 1]] = program[update + 2 * pair]
    for k in range(rows):
        source_start[k + 1] += source_start[k]
    for k in range(rows):
        for e in range(program[starts + k], program[starts + k + 1]):
            row = program[front + e]
            source[source_start[row]], entry[source_start[row]] = k, e
            source_start[row] += 1
    for k in range(rows, 0, -1):
        source_start[k] = source_start[k - 1]
    source_start[0] = 0


@kernel
def climb_rows(program, rows, mark, reached):
    """Some rows and all their ancestors, in no order; returns how many."""
    starts, count = program[NODAL_AT], 0
    front = starts + program[ROWS] + 1
    for first in rows:
        k = first
        while not mark[k]:
            mark[k] = True
            reached[count] = k
            count += 1
            begin = program[starts + k]
            if begin == program[starts + k + 1]:
                break
            k = program[front + begin]
    for k in range(count):
        mark[reached[k]] = False
    return count


@kernel
def refactorize_rows(
    # Tables:
    program,
    given,
    pair_start,
    source_start,
    source,
    entry,
    reached,
    # In:
    values,
    tolerance,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
):
    """L, D^-1, W of the rows ``reached``, ascending; status and ``info`` as `factorize`.

    ``magnitude`` and ``arena`` are those of the factorization before, ``info`` is that of
    the reached rows alone.
    """
    rows, at = program[ROWS], program[NODAL_AT]
    entries, symmetric = program[at + rows], program[SYMMETRIC] != 0
    starts, upper = pointer(program, at), rows + entries
    at += 2 * rows + (2 if symmetric else 3) * entries + 2
    update, a, f = pointer(program, at), pointer(values, 0), pointer(arena, 0)
    largest, original = pointer(magnitude, 0), pointer(magnitude, rows)
    ratios = pointer(magnitude, 2 * rows)
    info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = 1.0, 0.0, 0.0
    for t in reached:
        begin, end = starts[t], starts[t + 1]
        lower = t + begin
        f[lower] = a[given[lower]]
        for e in range(begin, end):
            place = given[t + 1 + e]
            f[t + 1 + e] = a[place] if place >= 0 else 0.0
            if not symmetric:
                place = given[upper + e]
                f[upper + e] = a[place] if place >= 0 else 0.0
        most = 0.0
        original[t] = abs(f[lower]) if source_start[t] < source_start[t + 1] else np.inf
        for p in range(source_start[t], source_start[t + 1]):
            s, e = source[p], entry[p]
            first, last = starts[s], starts[s + 1]
            count, c = last - first, e - first
            most = max(most, abs(f[lower]))
            scaled = f[upper + e]
            pair = pair_start[s] + c * count
            pair += -(c * (c + 1) // 2) if symmetric else 0
            for i in range(e, last):  # A_it <- A_it - L_i W_t
                to = update[2 * (pair + i - first) + 1]
                f[to] -= f[s + 1 + i] * scaled
            if not symmetric:
                pair = pair_start[s] + c
                for j in range(e + 1, last):  # A_tj <- A_tj - L_t W_j
                    to = update[2 * (pair + (j - first) * count) + 1]
                    f[to] -= f[s + 1 + e] * f[upper + j]
        pivot = f[lower]
        largest[t] = max(most, abs(pivot))
        ratio = abs(pivot) / largest[t]
        f[lower] = 1.0 / pivot
        inverse = f[lower]  # in the precision of the factors
        if not (abs(inverse) < np.inf):
            ratio = np.nan
        if not (ratio > tolerance):
            info[PIVOT_RATIO], info[WEAKEST] = ratio, t
            return t + 1
        ratios[t] = ratio
        for e in range(begin, end):
            f[upper + e] = inverse * (f[t + 1 + e] if symmetric else f[upper + e])
    return 0
