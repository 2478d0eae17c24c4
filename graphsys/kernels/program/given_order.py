"""Graph and program of an order that is given, in one call: what `analyze` makes of it.

For compiled code and for models that change while they run: no labels, no checks.
"""

from typing import Any

import numpy as np

from graphsys.kernels.analysis.elimination import renumber
from graphsys.kernels.analysis.graph import lay_blocks, list_neighbors
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.program.factor_structure import (
    BLOCK_ROWS,
    ENTRY_ROWS,
    FIXED,
    SIZES,
    STEP_ROWS,
    choose_structure,
    single_rows,
    updates_length,
    write_program,
    write_updates,
)
from graphsys.kernels.program.scalars import write_scalars

# Places of ``found``
NEIGHBOURS = 0  # numbers in the lists of neighbours
NNZ = 1  # entries of all blocks
FRONTS = 2  # entries of all fronts
LENGTH = 3  # of the program
FOUND_SIZE = 4
#: Rows of ``by_node``.
NODE_ROWS = 7


def room_of(nodes: int, edges: int, entries: int, rows: int) -> tuple[Any, ...]:
    """Work arrays for graphs of n nodes, and of up to m edges, e entries of fronts and r rows.

    Of shapes (6, n), (NODE_ROWS, n + 1), (STEP_ROWS, n + 1), (BLOCK_ROWS m + SIZES,),
    (ENTRY_ROWS, e), (e,), (r,) and, of marks, (n + e,).
    """
    return (
        np.empty((6, nodes), np.int64), np.empty((NODE_ROWS, nodes + 1), np.int64),
        np.empty((STEP_ROWS, nodes + 1), np.int64), np.empty(BLOCK_ROWS * edges + SIZES, np.int64),
        np.empty((ENTRY_ROWS, entries), np.int64), np.empty(entries, np.int64),
        np.empty(rows, np.int64), np.empty(nodes + entries, np.bool_),
    )  # fmt: skip


@kernel
def lay_graph(
    # In:
    ends,
    size,
    # Work:
    bucket,
    # Work and out:
    room,
    # Out:
    row_start,
    start,
    neighbor,
    diagonal_at,
    block_at,
    found,
):
    """Neighbours and places of blocks as in `BlockGraph`, of edges ``ends`` (2, k)."""
    count = list_neighbors(ends, room[0], bucket, start, neighbor)
    found[NEIGHBOURS] = count
    found[NNZ] = lay_blocks(
        size, start, neighbor[:count], 2.0**62, row_start, diagonal_at, block_at
    )


@kernel
def program_in_order(
    # Tables:
    graph,
    order,
    # Work:
    room,
    # Out:
    program,
    found,
):
    """LDU program of nodes that have rows, none of which waits for another's pivots.

    ``graph`` are `BlockGraph.tables`. Nothing is written but FRONTS where ``room`` has too few
    entries for them, and LENGTH where ``program`` is too short.
    """
    tree, by_node, by_step, by_block, by_entry, front, rows, flags = room
    size, row_start, start, neighbor, diagonal_at, block_at = graph
    n, m = order.size, neighbor.size // 2
    step_node, position, parent = by_node[0, :n], by_node[1, :n], by_node[2, :n]
    below, front_start, row_of, super_start = by_node[3, :n], by_node[4], by_node[5], by_node[6]
    renumber(
        start, neighbor, size, order, 0, False, tree,
        step_node, position, parent, below, front_start,
    )  # fmt: skip
    entries = front_start[n]
    found[FRONTS] = entries
    if entries > front.size:
        return
    none, front, fill = flags[:n], front[:entries], flags[n : n + entries]
    for k in range(n):
        none[k] = False
    blocks = by_block[: BLOCK_ROWS * m + SIZES]
    nodes, count, length = choose_structure(
        graph, (start, neighbor), (step_node, position, parent, below, front_start), none, none,
        none, 0, FIXED, False, front, fill, row_of, super_start, by_step, blocks, by_entry,
    )  # fmt: skip
    found[LENGTH] = length
    if length > program.size:
        return
    panels = program[:length]
    if single_rows(nodes, graph):
        write_scalars(graph, step_node, position, (front_start, front), False, 0, panels)
        return
    write_program(
        (front_start, front), none, none, 0, False, nodes, row_of, super_start[: count + 1],
        by_step, blocks, by_entry, panels,
    )  # fmt: skip
    if nodes < n:
        super_of_row = rows[: row_start[n]]
        more = updates_length(row_of, False, by_step, blocks, panels, super_of_row)
        found[LENGTH] = length + more
        if length + more <= program.size:
            write_updates(
                row_of, False, by_step, blocks, super_of_row, program[: length + more], length
            )
