"""Tables of `scalar_ldu`: first-touch factorization of single rows."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import HEADER, NODAL_AT, NODES, SCALARS, SHORT, WORK_AT
from graphsys.kernels.program.nodal import find_entry
from graphsys.kernels.program.supernodal import write_header


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
    graph,
    order,
    position,
    fronts,
    symmetric,
    short,
    # Out:
    program,
):
    """Program of single rows: ``graph`` are `BlockGraph.tables`, ``fronts`` their starts and these.

    ``short`` counts the nodes that are short of pivots.
    """
    user_row, neighbor_start, neighbor, diagonal_at, block_at = graph[1:]
    front_start, front = fronts
    n, entries = order.size, front.size
    write_header(program, n, n, symmetric, n + 2 * entries, 1, 0)
    starts = HEADER + n
    program[NODAL_AT], program[NODES], program[SCALARS], program[SHORT] = starts, n, 1, short
    rows = starts + n + 1
    diagonal = rows + entries + 1
    left = diagonal + n
    right = left if symmetric else left + entries
    for k in range(n):
        program[HEADER + k] = user_row[order[k]]
        program[starts + k] = front_start[k]
        program[diagonal + k] = diagonal_at[order[k]]
    program[starts + n] = entries
    for e in range(entries):
        program[rows + e] = front[e]
        program[left + e] = program[right + e] = -1  # no entry of A, and no place of L or W
    program[rows + entries] = -1
    for k in range(n):
        for p in range(neighbor_start[order[k]], neighbor_start[order[k] + 1]):
            j = position[neighbor[p]]
            if j < k:
                e = find_entry(front, front_start[j], front_start[j + 1], k)
                program[left + e] = block_at[p]
            elif not symmetric:
                e = find_entry(front, front_start[k], front_start[k + 1], j)
                program[right + e] = block_at[p]
    _write_updates(n, entries, fronts, symmetric, diagonal, left, right, program)


@interpreted
def _write_updates(n, entries, fronts, symmetric, diagonal, left, right, program):
    """Updates; sources of what they touch become places in the factors."""
    front_start, front = fronts
    upper, zeros = n + entries, program[WORK_AT]  # all of L, then all of W
    at = right + entries
    for k in range(n):
        first, last = front_start[k], front_start[k + 1]
        for e_column in range(first, last):
            j = front[e_column]
            for e_row in range(e_column if symmetric else first, last):
                i = front[e_row]
                if i == j:
                    place, to = diagonal + i, front_start[i] + i
                elif i > j:
                    e = find_entry(front, front_start[j], front_start[j + 1], i)
                    place, to = left + e, e + j + 1
                else:
                    e = find_entry(front, front_start[i], front_start[i + 1], j)
                    place, to = right + e, upper + e
                source = program[place]
                if source >= 0 or i == j:
                    program[at] = source if source >= 0 else ~to
                    program[place] = -1 if i == j else ~to
                else:
                    program[at] = ~zeros if source == -1 else source
                    program[place] = ~to
                program[at + 1] = to
                at += 2
