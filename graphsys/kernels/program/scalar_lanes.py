"""Table of `batch.scalar_ldu`: the nodal program of single rows, with factors in place of A."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    NEIGHBOUR_FIELDS,
    NODAL_AT,
    NODE_FIELDS,
    ORDER_AT,
    ROWS,
    SCALAR_FILL_AT,
    SCALAR_FILLS,
    SCALAR_HEADER,
    SCALAR_ROWS,
    SCALAR_SYMMETRIC,
    SCALAR_VECTORS,
    STARTS_AT,
    SYMMETRIC,
    UPDATE_FIELDS,
)


@interpreted
def scalar_lengths(program):
    """Most words of the table, and vectors of the factors with one for what nothing reads."""
    words, vectors, at = SCALAR_HEADER, 1, program[NODAL_AT]
    for _ in range(program[ROWS]):
        count = program[at]
        pairs = count * (count + 1) // 2 if program[SYMMETRIC] else count * count
        words += 3 + count + pairs
        vectors += 1 + (count if program[SYMMETRIC] else 2 * count)
        at += NODE_FIELDS + NEIGHBOUR_FIELDS * count + UPDATE_FIELDS * pairs
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
    rows, symmetric = program[ROWS], program[SYMMETRIC] != 0
    first, at, last = 0, program[NODAL_AT], vectors - 1
    used[:] = 0
    used[last] = 1
    for k in range(rows):
        row[program[program[ORDER_AT] + k]] = k
        panel = program[program[STARTS_AT] + k]
        count, lower, upper = program[at], program[panel + 3], program[panel + 4]
        table[SCALAR_HEADER + 2 * k + 1] = first
        moved[lower] = first
        for i in range(count):
            moved[upper + i] = first + 1 + i
            moved[lower + 1 + i] = first + 1 + (i if symmetric else count + i)
        pairs = count * (count + 1) // 2 if symmetric else count * count
        first += 1 + (count if symmetric else 2 * count)
        at += NODE_FIELDS + NEIGHBOUR_FIELDS * count + UPDATE_FIELDS * pairs
    for k in range(place.size):
        place[k] = last
    at, to = program[NODAL_AT], SCALAR_HEADER + 2 * rows
    for k in range(rows):
        panel = program[program[STARTS_AT] + k]
        count, source, pivot = program[at], program[at + 1], table[SCALAR_HEADER + 2 * k + 1]
        lower, upper = program[panel + 3] + 1, program[panel + 4]
        table[SCALAR_HEADER + 2 * k] = to
        table[to] = 2 * count + (source < 0)
        to += 1
        if source >= 0:
            place[source] = pivot
            used[pivot] = 1
        begin = at + NODE_FIELDS
        end = begin + NEIGHBOUR_FIELDS * count
        for j in range(begin, end, NEIGHBOUR_FIELDS):
            table[to] = program[j + 2]
            to += 1
            if program[j + 3] >= 0:
                place[program[j + 3]] = moved[lower + program[j + 1]]
                used[moved[lower + program[j + 1]]] = 1
            if program[j + 4] >= 0 and not symmetric:
                place[program[j + 4]] = moved[upper + program[j + 1]]
                used[moved[upper + program[j + 1]]] = 1
        at = end
        for j in range(count):
            diagonal = at + UPDATE_FIELDS * (0 if symmetric else j)
            for step in range(-1, count - j if symmetric else count):
                update = diagonal if step < 0 else at + UPDATE_FIELDS * step
                if step >= 0 and update == diagonal:
                    continue
                source, target = program[update], moved[program[update + 2]]
                if source >= 0:
                    place[source] = target
                    used[target] = 1
                table[to] = ~target if step < 0 and source >= 0 else target
                to += 1
            at += UPDATE_FIELDS * (count - j if symmetric else count)
    table[SCALAR_ROWS], table[SCALAR_SYMMETRIC] = rows, symmetric
    table[SCALAR_VECTORS], table[SCALAR_FILL_AT], table[SCALAR_FILLS] = vectors, to, 0
    for k in range(vectors):
        if used[k] == 0:
            table[to + table[SCALAR_FILLS]] = k
            table[SCALAR_FILLS] += 1
