"""Table of `batch.scalar_ldu`: that of `single.scalar_ldu`, with factors in place of A."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    NODAL_AT,
    ORDER_AT,
    ROWS,
    SCALAR_FILL_AT,
    SCALAR_FILLS,
    SCALAR_HEADER,
    SCALAR_ROWS,
    SCALAR_SYMMETRIC,
    SCALAR_VECTORS,
    SYMMETRIC,
)


@interpreted
def scalar_lengths(program):
    """Most words of the table, and vectors of the factors with one for what nothing reads."""
    words, vectors, starts = SCALAR_HEADER, 1, program[NODAL_AT]
    for k in range(program[ROWS]):
        count = program[starts + k + 1] - program[starts + k]
        words += 3 + count + (count * (count + 1) // 2 if program[SYMMETRIC] else count * count)
        vectors += 1 + (count if program[SYMMETRIC] else 2 * count)
    return words + vectors, vectors


@interpreted
def fill_scalar_table(
    # Tables:
    program,
    vectors,
    # Work (arena_size,), (vectors,):
    moved,
    used,
    # Out:
    table,
    place,
    row,
):
    """Table; vector of each place in values; elimination step of each of the user's rows."""
    rows, symmetric, starts = program[ROWS], program[SYMMETRIC] != 0, program[NODAL_AT]
    entries, front = program[starts + rows], starts + rows + 1
    first, last, upper = 0, vectors - 1, rows + entries
    used[:] = 0
    used[last] = 1
    for k in range(rows):
        row[program[program[ORDER_AT] + k]] = k
        begin, end = program[starts + k], program[starts + k + 1]
        count = end - begin
        table[SCALAR_HEADER + 2 * k + 1] = first
        moved[k + begin] = first
        for e in range(begin, end):
            moved[upper + e] = first + 1 + e - begin
            moved[k + 1 + e] = first + 1 + e - begin + (0 if symmetric else count)
        first += 1 + (count if symmetric else 2 * count)
    for k in range(place.size):
        place[k] = last
    diagonal = front + entries + 1
    left = diagonal + rows
    right = left + entries
    at, to = right if symmetric else right + entries, SCALAR_HEADER + 2 * rows
    for k in range(rows):
        begin, end = program[starts + k], program[starts + k + 1]
        count, source, pivot = end - begin, program[diagonal + k], table[SCALAR_HEADER + 2 * k + 1]
        table[SCALAR_HEADER + 2 * k] = to
        table[to] = 2 * count + (source < 0)
        to += 1
        if source >= 0:
            place[source] = pivot
            used[pivot] = 1
        for e in range(begin, end):
            table[to] = program[front + e]
            to += 1
            if program[left + e] >= 0:
                place[program[left + e]] = moved[k + 1 + e]
                used[moved[k + 1 + e]] = 1
            if not symmetric and program[right + e] >= 0:
                place[program[right + e]] = moved[upper + e]
                used[moved[upper + e]] = 1
        for j in range(count):
            diagonal_update = at + 2 * (0 if symmetric else j)
            for step in range(-1, count - j if symmetric else count):
                update = diagonal_update if step < 0 else at + 2 * step
                if step >= 0 and update == diagonal_update:
                    continue
                source, target = program[update], moved[program[update + 1]]
                if source >= 0:
                    place[source] = target
                    used[target] = 1
                table[to] = ~target if step < 0 and source >= 0 else target
                to += 1
            at += 2 * (count - j if symmetric else count)
    table[SCALAR_ROWS], table[SCALAR_SYMMETRIC] = rows, symmetric
    table[SCALAR_VECTORS], table[SCALAR_FILL_AT], table[SCALAR_FILLS] = vectors, to, 0
    for k in range(vectors):
        if used[k] == 0:
            table[to + table[SCALAR_FILLS]] = k
            table[SCALAR_FILLS] += 1
