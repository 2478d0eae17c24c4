"""Fronts, supernodes and program of an elimination order: what is counted, and what is written."""

from graphsys.kernels.analysis.elimination import earlier_blocks, fronts, reverse_edges
from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    HEADER,
    LOAD_FIELDS,
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    SHORT,
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
#: The same bound per node where all have one row and supernodes have fewer than two, as those of
#: circuits: `scalar_ldu` takes a quarter of their time (1000 rows, 2 updates per node), 0.6 at 17,
#: twice their time at 100. Wider supernodes save more in substitutions.
SCALAR_UPDATES, SCALAR_MERGE = 20.0, 0.5
#: Largest number of supernodes per node for which a matrix with monitored pivots uses supernodes:
#: their pivot blocks have more rows to exchange. With more, they are hardly larger than nodes.
FEW_MERGE = 0.9
#: Numbers for each step, each block of an edge and each front entry that the two kernels share.
STEP_ROWS, BLOCK_ROWS, ENTRY_ROWS = 11, 5, 4
#: Places in ``sizes``: those of `measure_program`, and the lengths of both parts.
PANELS, COLUMNS, LENGTH, NODAL_LENGTH, SIZES = range(2, 7)


@interpreted
def choose_structure(
    # Tables:
    graph,
    edges,
    elimination,
    joined,
    needy,
    n_last,
    symmetric,
    # Out:
    front,
    fill,
    row_of,
    super_start,
    # Out, for `write_program`:
    by_step,
    by_block,
    by_entry,
):
    """Fronts, supernodes, places of their panels, blocks by their earlier step.

    ``graph`` are `BlockGraph.tables`, ``edges`` the lists that `fronts` takes, ``elimination``
    order, position, parent, rows below and where the front begins, by steps.

    ``by_step`` (STEP_ROWS, n + 1) gets sizes, rows and diagonal blocks of the user, supernodes,
    five numbers for each of these, and where blocks begin; ``by_block`` (BLOCK_ROWS m + SIZES,)
    later steps and places of both blocks of an edge, and sizes; ``by_entry`` (ENTRY_ROWS, e) rows
    in panels. Returns the number of supernodes and the length of the program.
    """
    node_size, user_start, neighbor_start, neighbor, diagonal_at, block_at = graph
    order, position, parent, below, front_start = elimination
    n, m = order.size, neighbor.size // 2
    size, super_of, load_start, work = by_step[0, :n], by_step[3], by_step[9], by_step[10]
    later, lower, upper = by_block[:m], by_block[m : 2 * m], by_block[2 * m : 3 * m]
    reverse, sizes = by_block[3 * m : 5 * m], by_block[5 * m :]
    fronts(
        edges[0], edges[1], order, position, parent, front_start,
        size, super_of, work, front, fill,
    )  # fmt: skip
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
    scalar = most == 1 and count >= SCALAR_MERGE * n
    limit = n * SCALAR_UPDATES if scalar else max(n, NODAL_UPDATES * entries)
    nodal = nodal and updates <= limit
    sizes[NODAL_LENGTH] = 0
    if nodal:
        count = n
        pairs = 0
        for k in range(n + 1):
            super_start[k] = k
        for k in range(n):
            super_of[k] = k
            met = front_start[k + 1] - front_start[k]
            pairs += met * (met + 1) // 2 if symmetric else met * met
        more = n * NODE_FIELDS + front.size * NEIGHBOUR_FIELDS + pairs * UPDATE_FIELDS
        sizes[NODAL_LENGTH] = more
    reverse_edges(neighbor_start, neighbor, by_step[4, :n], reverse)
    earlier_blocks(
        node_size, neighbor_start, neighbor, block_at, reverse, order, position,
        load_start, later, lower, upper,
    )  # fmt: skip
    of_targets = measure_program(
        size, joined, (front_start, front), (super_of, super_start[: count + 1]), row_of,
        symmetric and not nodal, work, by_entry[0], by_step[4:9], sizes,
    )  # fmt: skip
    loaded = n + load_start[n] * (1 if symmetric else 2)
    sizes[LENGTH] = HEADER + row_of[n] + LOAD_FIELDS * loaded + count + sizes[PANELS] + of_targets
    return count, sizes[LENGTH] + sizes[NODAL_LENGTH]


@interpreted
def write_program(
    # Tables:
    step_fronts,
    joined,
    short,
    symmetric,
    row_of,
    super_start,
    # In:
    by_step,
    by_block,
    by_entry,
    # Out:
    program,
):
    """Program of what `choose_structure` found, with how many nodes are ``short`` of pivots."""
    n, m = row_of.size - 1, (by_block.size - SIZES) // BLOCK_ROWS
    size, user_row, diagonal_at = by_step[0, :n], by_step[1], by_step[2]
    super_of, load_start, work = by_step[3], by_step[9], by_step[10]
    later, lower, upper = by_block[:m], by_block[m : 2 * m], by_block[2 * m : 3 * m]
    loads, sizes = (load_start, later, lower, upper, diagonal_at), by_block[5 * m :]
    build_program(
        size, user_row, joined, step_fronts, (super_of, super_start), row_of, symmetric, loads,
        by_entry[0], by_step[4:9], sizes, work, program,
    )  # fmt: skip
    program[SHORT] = short
    if sizes[NODAL_LENGTH] > 0:
        append_nodal(
            size, row_of, step_fronts, symmetric, loads, by_entry[0], work, by_entry[1:], program,
            sizes[LENGTH],
        )  # fmt: skip
