"""Nodal program: first-touch factorization in which every supernode is one small node."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    NEIGHBOUR_FIELDS,
    NODAL_AT,
    NODE_FIELDS,
    STARTS_AT,
    UPDATE_FIELDS,
    WORK_AT,
)
from graphsys.kernels.program.supernodal import _find


@interpreted
def append_nodal(
    # Tables:
    size,
    row_of,
    fronts,
    symmetric,
    loads,
    # In:
    offset,
    # Work:
    touched,
    by_entry,
    # In and out:
    program,
    at,
):
    """Write the nodal part from place ``at`` of the program; tables as in `build_program`.

    ``touched`` has room for n, ``by_entry`` is (3, length of front).
    """
    front_start, front = fronts
    load_start, load_node, load_lower, load_upper, diagonal_at = loads
    n = size.size
    edge, touched_lower, touched_upper = by_entry[0], by_entry[1], by_entry[2]
    for k in range(n):
        touched[k] = False
        load = load_start[k]
        for e in range(front_start[k], front_start[k + 1]):
            touched_lower[e] = touched_upper[e] = 0
            edge[e] = -1
            if load < load_start[k + 1] and load_node[load] == front[e]:
                edge[e] = load
                load += 1
    program[NODAL_AT] = at
    starts = program[STARTS_AT]
    zeros = program[WORK_AT]
    for k in range(n):
        first, last = front_start[k], front_start[k + 1]
        panel = program[starts + k]
        program[at] = size[k]
        program[at + 1] = program[panel + 1]
        program[at + 2] = row_of[k]
        program[at + 3] = program[panel + 3]
        program[at + 4] = program[panel + 4]
        program[at + 5] = last - first
        program[at + 6] = -1 if touched[k] else diagonal_at[k]
        at += NODE_FIELDS
        for e in range(first, last):
            left = program[panel + 3] + size[k] + offset[e]
            right = program[panel + 4] + size[k] * offset[e]
            program[at] = size[front[e]]
            program[at + 1] = offset[e]
            program[at + 2] = row_of[front[e]]
            program[at + 3] = ~left if touched_lower[e] else load_lower[edge[e]]
            program[at + 4] = ~right if touched_upper[e] else load_upper[edge[e]]
            at += NEIGHBOUR_FIELDS
        for e_column in range(first, last):
            j = front[e_column]
            for e_row in range(e_column if symmetric else first, last):
                i = front[e_row]
                earlier, later = i, j
                if i > j:
                    earlier, later = j, i
                panel = program[starts + earlier]
                p, m = program[panel], program[panel] + program[panel + 1]
                if i == j:
                    to, ld = program[panel + 3], m
                    source, lds = diagonal_at[i], size[i]
                    if touched[i]:
                        source, lds = ~to, m
                    touched[i] = True
                else:
                    entry = _find(front, front_start[earlier], front_start[earlier + 1], later)
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
                program[at] = source
                program[at + 1] = lds
                program[at + 2] = to
                program[at + 3] = ld
                at += UPDATE_FIELDS
