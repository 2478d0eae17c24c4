"""Supernodes, length and text of the program, from an elimination order and its fronts."""

from graphsys.kernels.analysis.elimination import earlier_blocks, reverse_edges
from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    HEADER,
    LOAD_FIELDS,
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    UPDATE_FIELDS,
)
from graphsys.kernels.program.nodal import append_nodal
from graphsys.kernels.program.supernodal import (
    PIVOT_ROWS,
    build_program,
    measure_program,
    supernodes,
)

#: The first-touch program of small nodes is faster up to a third as many updates as blocks have
#: entries: supernodes of small blocks save more. It always is where a node updates one other.
NODAL_UPDATES = 1 / 3
#: Largest number of supernodes per node for which a matrix with monitored pivots uses supernodes:
#: their pivot blocks have more rows to exchange. With more, they are hardly larger than nodes.
FEW_MERGE = 0.9
#: Numbers for each step, and for each step and one more, that the two kernels share.
STEP_ROWS, START_ROWS = 9, 2
#: Places in ``sizes``: those of `measure_program`, supernodes, lengths of both parts.
ARENA, WIDEST_BLOCK, PANELS, SUPERS, LENGTH, NODAL_LENGTH, SIZES = range(7)


@interpreted
def choose_structure(
    # Tables:
    graph,
    elimination,
    fronts,
    joined,
    needy,
    n_last,
    symmetric,
    # Out:
    by_step,
    starts,
    blocks,
    offset,
    row_of,
    super_start,
    sizes,
):
    """Supernodes, places of their panels, blocks by their earlier step, lengths of the program.

    ``graph`` are `BlockGraph.tables`, ``elimination`` order, position, parent and rows below by
    steps, ``fronts`` as in `measure_program`. ``by_step`` (STEP_ROWS, n) gets sizes, rows and
    diagonal blocks of the user, supernodes, and five numbers for each of these; ``starts`` (2, n +
    1) where blocks begin; ``blocks`` (5 m,) later steps and places of both, with room for 2 m.
    """
    node_size, user_start, neighbor_start, neighbor, diagonal_at, block_at = graph
    order, position, parent, below = elimination
    front_start, front = fronts
    n, m = order.size, neighbor.size // 2
    size, super_of = by_step[0], by_step[3]
    row_of[0] = 0
    least, most, entries, updates = PIVOT_ROWS, 0, 0.0, 0.0
    alone, regular = n > 0 and n_last == 0, True
    for k in range(n):
        node = order[k]
        d, count = node_size[node], front_start[k + 1] - front_start[k]
        size[k], by_step[1, k], by_step[2, k] = d, user_start[node], diagonal_at[node]
        row_of[k + 1] = row_of[k] + d
        least, most = min(least, d), max(most, d)
        entries += float(d) * d
        updates += float(count) * count
        alone = alone and not joined[k]
        regular = regular and not needy[k]
    count = supernodes(size, parent, below, joined, n_last, super_of, super_start)
    nodal = alone and least > 0 and most <= PIVOT_ROWS
    nodal = nodal and (regular or count >= FEW_MERGE * n)
    nodal = nodal and updates <= max(n, NODAL_UPDATES * entries)
    sizes[NODAL_LENGTH] = 0
    if nodal:
        count = n
        pairs = 0
        for k in range(n + 1):
            super_start[k] = k
        for k in range(n):
            super_of[k] = k
            later = front_start[k + 1] - front_start[k]
            pairs += later * (later + 1) // 2 if symmetric else later * later
        more = n * NODE_FIELDS + front.size * NEIGHBOUR_FIELDS + pairs * UPDATE_FIELDS
        sizes[NODAL_LENGTH] = more
    load_start, runs_of = starts[0], starts[1]
    reverse_edges(neighbor_start, neighbor, by_step[4], blocks[3 * m :])
    earlier_blocks(
        node_size, neighbor_start, neighbor, block_at, blocks[3 * m :], order, position,
        load_start, blocks[:m], blocks[m : 2 * m], blocks[2 * m : 3 * m],
    )  # fmt: skip
    of_targets = measure_program(
        size, joined, fronts, (super_of, super_start[: count + 1]), row_of, runs_of,
        offset, by_step[4:], sizes,
    )  # fmt: skip
    loaded = n + load_start[n] * (1 if symmetric else 2)
    sizes[SUPERS] = count
    sizes[LENGTH] = HEADER + row_of[n] + LOAD_FIELDS * loaded + count + sizes[PANELS] + of_targets


@interpreted
def write_program(
    # Tables:
    fronts,
    joined,
    symmetric,
    row_of,
    super_start,
    # In:
    by_step,
    blocks,
    offset,
    sizes,
    # Work:
    starts,
    by_entry,
    # Out:
    program,
):
    """Program of what `choose_structure` found; ``by_entry`` is (3, e)."""
    size, user_row, diagonal_at, super_of = by_step[0], by_step[1], by_step[2], by_step[3]
    m = blocks.size // 5
    loads = starts[0], blocks[:m], blocks[m : 2 * m], blocks[2 * m : 3 * m], diagonal_at
    build_program(
        size, user_row, joined, fronts, (super_of, super_start), row_of, symmetric, loads,
        offset, by_step[4:], sizes, starts[1], program,
    )  # fmt: skip
    if sizes[NODAL_LENGTH] > 0:
        append_nodal(
            size, row_of, fronts, symmetric, loads, offset, starts[1], by_entry, program,
            sizes[LENGTH],
        )  # fmt: skip
