"""Tables of `scalar_ldu`: first-touch factorization of single rows."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import HEADER, NODAL_AT, NODES, SCALARS, SHORT, WORK_AT
from graphsys.kernels.program.nodal import find_entry
from graphsys.kernels.program.supernodal import write_header, write_order


@interpreted
def scalars_length(front_start, symmetric):
    """Length of the program."""
    n, updates = front_start.size - 1, 0
    entries = front_start[n]
    for k in range(n):
        count = front_start[k + 1] - front_start[k]
        updates += count * (count + 1) // 2 if symmetric else count * count
    return HEADER + 3 * n + 2 + (2 if symmetric else 3) * entries + 2 * updates


@interpreted
def write_scalars(
    # Tables:
    size,
    user_row,
    fronts,
    symmetric,
    loads,
    short,
    # Work:
    touched,
    by_entry,
    # Out:
    program,
):
    """Program of single rows; tables and work as of `append_nodal`."""
    front_start, front = fronts
    load_start, load_node, load_lower, load_upper, diagonal_at = loads
    edge, touched_lower, touched_upper = by_entry[0], by_entry[1], by_entry[2]
    n, entries = size.size, front_start[size.size]
    upper = n + entries  # all of L, then all of W
    write_header(program, n, n, symmetric, n + 2 * entries, 1, 0)
    starts = write_order(program, size, user_row)
    program[NODAL_AT], program[NODES], program[SCALARS], program[SHORT] = starts, n, 1, short
    zeros = program[WORK_AT]
    rows = starts + n + 1
    for k in range(n + 1):
        program[starts + k] = front_start[k]
    for k in range(n):
        touched[k] = False
        load = load_start[k]
        for e in range(front_start[k], front_start[k + 1]):
            program[rows + e] = front[e]
            touched_lower[e] = touched_upper[e] = 0
            edge[e] = -1
            if load < load_start[k + 1] and load_node[load] == front[e]:
                edge[e] = load
                load += 1
    program[rows + entries] = -1
    diagonal = rows + entries + 1
    left = diagonal + n
    right = left if symmetric else left + entries
    at = right + entries
    for k in range(n):
        first, last = front_start[k], front_start[k + 1]
        program[diagonal + k] = -1 if touched[k] else diagonal_at[k]
        for e in range(first, last):
            if not symmetric:
                source = ~(upper + e) if touched_upper[e] else load_upper[edge[e]]
                program[right + e] = source
            program[left + e] = ~(e + k + 1) if touched_lower[e] else load_lower[edge[e]]
        for e_column in range(first, last):
            j = front[e_column]
            for e_row in range(e_column if symmetric else first, last):
                i = front[e_row]
                earlier = min(i, j)
                if i == j:
                    to = front_start[i] + i
                    source = ~to if touched[i] else diagonal_at[i]
                    touched[i] = True
                else:
                    entry = find_entry(
                        front, front_start[earlier], front_start[earlier + 1], max(i, j)
                    )
                    if i > j:
                        to = entry + earlier + 1
                        here, mine = touched_lower[entry], load_lower
                        touched_lower[entry] = True
                    else:
                        to = upper + entry
                        here, mine = touched_upper[entry], load_upper
                        touched_upper[entry] = True
                    source = ~to
                    if not here:
                        source = mine[edge[entry]] if edge[entry] >= 0 else ~zeros
                program[at] = source
                program[at + 1] = to
                at += 2
    return at
