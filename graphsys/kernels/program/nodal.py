"""Nodal program: first-touch factorization of supernodes that are one small node each."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    NEIGHBOUR_FIELDS,
    NODAL_AT,
    NODE_FIELDS,
    NODES,
    REPEATED,
    STARTS_AT,
    UPDATE_FIELDS,
    WORK_AT,
)
from graphsys.kernels.program.updates import block_place


@interpreted
def append_nodal(
    # Tables:
    size,
    row_of,
    super_of,
    fronts,
    symmetric,
    loads,
    nodes,
    # In:
    offset,
    # Work:
    touched,
    by_entry,
    # In and out:
    program,
    at,
):
    """Write the nodal part of the first ``nodes`` steps from place ``at`` of the program.

    Tables as of `append_updates`. ``touched`` has room for n, ``by_entry`` is (3, length of front).
    Returns the next place.
    """
    front_start, front = fronts
    load_start, load_node, load_lower, load_upper, diagonal_at = loads
    edge, touched_lower, touched_upper = by_entry[0], by_entry[1], by_entry[2]
    for k in range(nodes):
        touched[k] = False
        load = load_start[k]
        for e in range(front_start[k], front_start[k + 1]):
            touched_lower[e] = touched_upper[e] = 0
            edge[e] = -1
            if load < load_start[k + 1] and load_node[load] == front[e]:
                edge[e] = load
                load += 1
    program[NODAL_AT], program[NODES] = at, nodes
    starts = program[STARTS_AT]
    zeros = program[WORK_AT]
    for k in range(nodes):
        first, last = front_start[k], front_start[k + 1]
        panel = program[starts + k]
        for field in range(REPEATED):
            program[at] = program[panel + field]
            at += 1
        program[at] = last - first
        program[at + 1] = -1 if touched[k] else diagonal_at[k]
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
                earlier = min(i, j)
                panel = program[starts + super_of[earlier]]
                to, ld = block_place(program, panel, row_of[i], row_of[j])
                source, lds = ~to, ld
                if earlier >= nodes:  # a panel that is loaded
                    pass
                elif i == j:
                    if not touched[i]:
                        source, lds = diagonal_at[i], size[i]
                    touched[i] = True
                else:
                    own, end = front_start[earlier], front_start[earlier + 1]
                    entry = find_entry(front, own, end, max(i, j))
                    if i > j:
                        here, mine = touched_lower[entry], load_lower
                        touched_lower[entry] = True
                    else:
                        here, mine = touched_upper[entry], load_upper
                        touched_upper[entry] = True
                    if not here and edge[entry] >= 0:
                        source, lds = mine[edge[entry]], size[i]
                    elif not here:
                        source, lds = ~zeros, 0
                program[at] = source
                program[at + 1] = lds
                program[at + 2] = to
                program[at + 3] = ld
                at += UPDATE_FIELDS
    return at


@interpreted
def find_entry(front, first, last, k):
    """Place of k in the ascending front[first:last]."""
    while first < last:
        middle = (first + last) // 2
        if front[middle] < k:
            first = middle + 1
        else:
            last = middle
    return first
