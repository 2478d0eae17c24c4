"""The first-touch program of a factorization in which every supernode is one small node."""

import numpy as np

from .jit import allocating
from .layout import _find
from .program import (
    NARROW_AT,
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    STARTS_AT,
    UPDATE_FIELDS,
    WORK_AT,
)


@allocating
def append_narrow(
    # Tables:
    program,
    size,
    row_of,
    front_start,
    front,
    watched,
    symmetric,
    load_start,
    load_node,
    load_lower,
    load_upper,
    diagonal_at,
):
    """The program with its first-touch part behind it; arguments as in `build_program`."""
    n = size.size
    length = n * NODE_FIELDS + front.size * NEIGHBOUR_FIELDS
    offset = np.empty(front.size, np.int64)
    edge = np.full(front.size, -1)
    for k in range(n):
        count = front_start[k + 1] - front_start[k]
        length += UPDATE_FIELDS * (count * (count + 1) // 2 if symmetric else count * count)
        rows, load = 0, load_start[k]
        for e in range(front_start[k], front_start[k + 1]):
            offset[e] = rows
            rows += size[front[e]]
            if load < load_start[k + 1] and load_node[load] == front[e]:
                edge[e] = load
                load += 1
    longer = np.empty(program.size + length, np.int64)
    for p in range(program.size):
        longer[p] = program[p]
    longer[NARROW_AT] = program.size
    touched = np.zeros(n, np.bool_)
    touched_lower = np.zeros(front.size, np.bool_)
    touched_upper = np.zeros(front.size, np.bool_)
    starts = program[program[STARTS_AT] : program[STARTS_AT] + n]
    at, zeros = program.size, program[WORK_AT]
    before = at
    for k in range(n):
        first, last = front_start[k], front_start[k + 1]
        longer[at] = size[k]
        longer[at + 1] = program[starts[k] + 1]
        longer[at + 2] = row_of[k]
        longer[at + 3] = program[starts[k] + 3]
        longer[at + 4] = program[starts[k] + 4]
        longer[at + 5] = last - first
        longer[at + 6] = -1 if touched[k] else diagonal_at[k]
        longer[at + 7] = 1 if watched[k] else 0
        longer[at + 8] = 0
        apart = first == front_start[k - 1] or front[front_start[k - 1]] != k if k > 0 else False
        if apart and size[k - 1] == size[k] and longer[before + 8] == 0:
            longer[before + 8], longer[at + 8] = at, -1
        before = at
        at += NODE_FIELDS
        for e in range(first, last):
            left = program[starts[k] + 3] + size[k] + offset[e]
            right = program[starts[k] + 4] + size[k] * offset[e]
            longer[at] = size[front[e]]
            longer[at + 1] = offset[e]
            longer[at + 2] = row_of[front[e]]
            longer[at + 3] = ~left if touched_lower[e] else load_lower[edge[e]]
            longer[at + 4] = ~right if touched_upper[e] else load_upper[edge[e]]
            longer[at + 5] = 1 if watched[front[e]] else 0
            at += NEIGHBOUR_FIELDS
        for e_column in range(first, last):
            j = front[e_column]
            for e_row in range(e_column if symmetric else first, last):
                i = front[e_row]
                panel = starts[min(i, j)]
                p, m = program[panel], program[panel] + program[panel + 1]
                if i == j:
                    to, ld = program[panel + 3], m
                    source, lds = (~to, m) if touched[i] else (diagonal_at[i], size[i])
                    touched[i] = True
                else:
                    entry = _find(
                        front, front_start[min(i, j)], front_start[min(i, j) + 1], max(i, j)
                    )
                    if i > j:
                        to, ld = program[panel + 3] + p + offset[entry], m
                        here, mine, lds = touched_lower[entry], load_lower, size[i]
                        touched_lower[entry] = True
                    else:
                        to, ld = program[panel + 4] + offset[entry] * p, p
                        here, mine, lds = touched_upper[entry], load_upper, size[i]
                        touched_upper[entry] = True
                    if here:
                        source, lds = ~to, ld
                    elif edge[entry] >= 0:
                        source = mine[edge[entry]]
                    else:
                        source, lds = ~zeros, 0
                longer[at] = source
                longer[at + 1] = lds
                longer[at + 2] = to
                longer[at + 3] = ld
                at += UPDATE_FIELDS
    return longer
