"""Fronts, supernodes and program of an elimination order: what is counted, and what is written."""

from graphsys.kernels.analysis.elimination import earlier_blocks, fronts, reverse_edges
from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    HEADER,
    LOAD_FIELDS,
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    NODES,
    REPEATED,
    SHORT,
    UPDATE_FIELDS,
)
from graphsys.kernels.program.nodal import append_nodal
from graphsys.kernels.program.scalars import scalars_length
from graphsys.kernels.program.supernodal import (
    PIVOT_ROWS,
    build_program,
    measure_program,
    supernodes,
)
from graphsys.kernels.program.updates import append_updates, place_rows, targets_length

#: The first-touch program of small nodes is faster up to a third as many updates as blocks have
#: entries: supernodes of small blocks save more.
NODAL_UPDATES = 1 / 3
#: The same bound per node where all have one row and supernodes have fewer than four, as those of
#: circuits and planar networks: `scalar_ldu` takes 0.3 to 0.7 of their time to refactorize and
#: solve, a batch 0.1 to 0.5. Wider supernodes save more in substitutions: a solve with a ladder,
#: of six rows each, would take 2.4 times as long.
SCALAR_UPDATES, SCALAR_MERGE = 20.0, 0.25
#: Fewest single rows that are sorted by their depth: the analysis of a tree of 30 would take 1.25
#: times as long, its solves 0.9 of the time.
DEPTH_NODES = 50
#: Largest number of supernodes per node for which a matrix with monitored pivots uses supernodes:
#: their pivot blocks have more rows to exchange. With more, they are hardly larger than nodes.
FEW_MERGE = 0.9
#: Entries of pivot blocks per node from which on symmetric matrices with monitored pivots use nodes
#: all the same: chains of bodies of 4 rows and joints of 1 to 3 take 0.6 to 0.75 of the time of
#: supernodes, of bodies of 3 and joints of 1 row 1.2 times (solutions of supernodes are often good
#: without refinement).
SADDLE_ENTRIES = 6.0
#: Other graphs: nodes of at most so many neighbours, without descendants of more, come
#: first and are nodes of the nodal program, if they are such a part of all. On average they have
#: at most so many rows times updates, and supernodes would have fewer than so many of them. Power
#: flow of thousands of buses takes 0.6 to 0.75 of the time of supernodes alone. Where supernodes
#: are wider it would be 0.8 to 1.2, and eight solves at once up to three times as long.
BOTTOM_NEIGHBOURS, BOTTOM_PART = 4, 0.5
BOTTOM_UPDATES, BOTTOM_MERGE = 12.0, 3.0
#: Key of steps that stay above the bottom.
LAST = 2**62
#: Given as a number of nodes: to be found, in an order that may change or is fixed.
FREE, FIXED = -1, -2
#: Numbers for each step, each block of an edge and each front entry that the kernels share.
STEP_ROWS, BLOCK_ROWS, ENTRY_ROWS = 11, 5, 4
#: Places in ``sizes``: those of `measure_program`.
PANELS, COLUMNS, LENGTH, SCALED, SIZES = range(5)


@interpreted
def _choose_nodes(
    node_size, elimination, joined, needy, n_last, fixed, symmetric, size, super_of, super_start,
    keys,
):  # fmt: skip
    """How many steps the nodal program eliminates once steps are sorted by ``keys``.

    ``elimination`` as in `choose_structure`. All or none, which stay in place, or the bottom of the
    elimination tree, which moves to its front unless the order is ``fixed``: children before their
    parents, and then steps alike after each other. Branches are hard to predict where they
    alternate: solves with case9241pegase, 2 x 2 and 1 x 1 blocks, take 0.7 of the time so. Single
    rows are sorted by their depth in the tree and their neighbours: solves with planar networks
    take 0.6 of the time.
    """
    order, _, parent, below, front_start = elimination
    n = order.size
    least, most, entries, updates = PIVOT_ROWS, 0, 0.0, 0.0
    alone, regular = n > 0 and n_last == 0, True
    for k in range(n):
        d, count = node_size[order[k]], front_start[k + 1] - front_start[k]
        size[k] = d
        least, most = min(least, d), max(most, d)
        entries += float(d) * d
        updates += float(count) * count
        alone = alone and not joined[k]
        regular = regular and not needy[k]
    if not alone or least == 0 or most > PIVOT_ROWS:
        return 0
    merged = supernodes(size, parent, below, joined, n_last, 0, super_of, super_start)
    scalar = most == 1 and merged >= SCALAR_MERGE * n
    limit = n * SCALAR_UPDATES if scalar else NODAL_UPDATES * entries
    alike = merged >= FEW_MERGE * n or (symmetric and entries >= SADDLE_ENTRIES * n)
    if (regular or alike) and updates <= limit:
        if most == 1 and n >= DEPTH_NODES and not fixed:
            _sort_by_depth(parent, front_start, super_of, keys)
        else:
            keys[:n] = 0
        return n
    if fixed or not regular:
        return 0
    bottom = super_start  # whether a step belongs to it
    nodes, own, last, updates = 0, 0, -1, 0.0
    for k in range(n):
        bottom[k] = 1
    for k in range(n):
        count = front_start[k + 1] - front_start[k]
        if count > BOTTOM_NEIGHBOURS:
            bottom[k] = 0
        if bottom[k] == 0:
            if parent[k] >= 0:
                bottom[parent[k]] = 0
            continue
        nodes += 1
        own += super_of[k] != last  # supernodes that its nodes would be
        last = super_of[k]
        updates += float(size[k] * count) * count
    wide = nodes >= BOTTOM_MERGE * own
    if wide or nodes < BOTTOM_PART * n or updates > BOTTOM_UPDATES * nodes:
        return 0
    level = super_of  # so many steps of the bottom lie below, one above the other
    for k in range(n):
        level[k] = 0
    for k in range(n):
        if bottom[k] == 0:
            keys[k] = LAST
            continue
        count, above = front_start[k + 1] - front_start[k], parent[k]
        if above >= 0:
            level[above] = max(level[above], level[k] + 1)
        keys[k] = (level[k] * PIVOT_ROWS + size[k]) * (BOTTOM_NEIGHBOURS + 1) + count
        keys[k] = keys[k] * (BOTTOM_NEIGHBOURS * PIVOT_ROWS + 1) + below[k]
    return nodes


@interpreted
def _sort_by_depth(parent, front_start, depth, keys):
    """Keys by which the deepest steps come first, and those with as many neighbours together."""
    n = parent.size
    deepest = widest = 0
    for k in range(n - 1, -1, -1):
        depth[k] = depth[parent[k]] + 1 if parent[k] >= 0 else 0
        deepest = max(deepest, depth[k])
        widest = max(widest, front_start[k + 1] - front_start[k])
    for k in range(n):
        count = front_start[k + 1] - front_start[k]
        keys[k] = (deepest - depth[k]) * (widest + 1) + count


@interpreted
def _ascend(keys, n):
    """True if the first n keys are in order."""
    for k in range(1, n):
        if keys[k] < keys[k - 1]:
            return False
    return True


@interpreted
def choose_structure(
    # Tables:
    graph,
    edges,
    elimination,
    joined,
    cut,
    needy,
    n_last,
    nodes,
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
    in panels; single rows need none of these. Returns how many steps the nodal program eliminates,
    the number of supernodes, and the length of the program without loads and targets. ``nodes`` is
    the first of these, or -1: it is chosen here. If that needs another order, keys by which steps
    are sorted for it are all that is written: last in ``by_step``.
    """
    order, position, parent, below, front_start = elimination
    n = order.size
    size, super_of, work = by_step[0, :n], by_step[3], by_step[10]
    if nodes < 0:
        nodes = _choose_nodes(
            graph[0],
            elimination,
            joined,
            needy,
            n_last,
            nodes == FIXED,
            symmetric,
            size,
            super_of,
            super_start,
            work,
        )
        if nodes > 0 and not _ascend(work, n):
            return nodes, 0, 0
    fronts(
        edges[0], edges[1], order, position, parent, front_start,
        size, super_of, work, front, fill,
    )  # fmt: skip
    if single_rows(nodes, graph):
        for k in range(n + 1):
            row_of[k] = super_start[k] = k
        return nodes, n, scalars_length(front_start, symmetric)
    list_blocks(graph, order, position, row_of, by_step, by_block)
    count = supernodes(size, parent, below, joined, n_last, nodes, super_of, super_start)
    sizes = by_block[by_block.size - SIZES :]
    measure_program(
        size, joined, cut, (front_start, front), (super_of, super_start[: count + 1]), row_of,
        symmetric, nodes, by_entry[0], by_step[4:9], sizes,
    )  # fmt: skip
    pairs = met = 0
    for k in range(nodes):
        several = front_start[k + 1] - front_start[k]
        met += several
        pairs += several * (several + 1) // 2 if symmetric else several * several
    nodal = nodes * (REPEATED + NODE_FIELDS) + met * NEIGHBOUR_FIELDS + pairs * UPDATE_FIELDS
    return nodes, count, HEADER + row_of[n] + count + sizes[LENGTH] + nodal


@interpreted
def single_rows(nodes, graph):
    """True if `write_scalars` writes the program, of nodes that all are single rows."""
    return 0 < nodes == graph[0].size == graph[1][graph[0].size]


@interpreted
def list_blocks(graph, order, position, row_of, by_step, by_block):
    """Sizes, rows and blocks by steps, as `choose_structure` has them."""
    node_size, user_start, neighbor_start, neighbor, diagonal_at, block_at = graph
    n, m = order.size, neighbor.size // 2
    row_of[0] = 0
    for k in range(n):
        node = order[k]
        by_step[0, k], by_step[1, k] = node_size[node], user_start[node]
        by_step[2, k] = diagonal_at[node]
        row_of[k + 1] = row_of[k] + node_size[node]
    reverse = by_block[3 * m : 5 * m]
    reverse_edges(neighbor_start, neighbor, by_step[4, :n], reverse)
    earlier_blocks(
        node_size, neighbor_start, neighbor, block_at, reverse, order, position,
        by_step[9], by_block[:m], by_block[m : 2 * m], by_block[2 * m : 3 * m],
    )  # fmt: skip


@interpreted
def write_program(
    # Tables:
    step_fronts,
    joined,
    cut,
    short,
    symmetric,
    nodes,
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
    size, user_row, super_of, work = by_step[0, :n], by_step[1], by_step[3], by_step[10]
    loads = _loads(by_step, by_block, m)
    at = build_program(
        size, user_row, joined, cut, step_fronts, (super_of, super_start), row_of, symmetric,
        by_entry[0], by_step[4:9], by_block[5 * m :], program,
    )  # fmt: skip
    program[SHORT] = short
    if nodes > 0:
        append_nodal(
            size, row_of, super_of, step_fronts, symmetric, loads, nodes,
            by_entry[0], work, by_entry[1:], program, at,
        )  # fmt: skip


@interpreted
def updates_length(row_of, symmetric, by_step, by_block, program, super_of_row):
    """Length of loads and targets; supernode of each row."""
    n, load_start, nodes = row_of.size - 1, by_step[9], program[NODES]
    place_rows(program, super_of_row)
    loads = (load_start[n] - load_start[nodes]) * (1 if symmetric else 2)
    for k in range(nodes, n):
        loads += row_of[k + 1] > row_of[k]
    return LOAD_FIELDS * loads + targets_length(program, super_of_row)


@interpreted
def write_updates(row_of, symmetric, by_step, by_block, super_of_row, program, at):
    """Loads and targets, of what `list_blocks` found, from place ``at`` of the program on."""
    n, m = row_of.size - 1, (by_block.size - SIZES) // BLOCK_ROWS
    loads = _loads(by_step, by_block, m)
    append_updates(by_step[0, :n], row_of, symmetric, loads, super_of_row, program, at)


@interpreted
def _loads(by_step, by_block, m):
    """Blocks by steps, as `append_updates` takes them."""
    later, lower, upper = by_block[:m], by_block[m : 2 * m], by_block[2 * m : 3 * m]
    return by_step[9], later, lower, upper, by_step[2]
