"""Graph, plan and constants of a near model: those of the whole model and parts of its pairs."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    AB_AT,
    AJ_AT,
    ALL_ROWS,
    BA_AT,
    BODIES,
    BODY_SIZE,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACTS,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_CONSTANT_AT,
    GROUP_FIELDS,
    GROUP_SIZE,
    GROUPS,
    HEADER,
    JA_AT,
    NEXT,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    SLOT,
    TWIST,
    A,
    B,
)
from graphsys.kernels.base.layout import BY_CONDITION, NO_BLOCKS, REFINED
from graphsys.kernels.program.given_order import (
    FOUND_SIZE,
    FRONTS,
    LENGTH,
    NEIGHBOURS,
    NNZ,
    lay_graph,
    program_in_order,
    room_of,
)

__all__ = [
    "FOUND_SIZE", "FRONTS", "LENGTH", "NEIGHBOURS", "NNZ", "THE_PLANE", "THE_WORLD", "TIE_ROWS",
    "join", "join_edges", "join_graph", "room_of",
]  # fmt: skip

#: Ends of touches that are no body of the model.
THE_WORLD, THE_PLANE = -1, -2
#: Rows of a plane's tie.
TIE_ROWS = 6


@kernel
def copy_run(source, first, count, target, at):
    """target[at:at + count] <- source[first:first + count]."""
    for k in range(count):
        target[at + k] = source[first + k]


@kernel
def copy_row(source, row, target, at):
    """target[at:at + columns] <- source[row]."""
    for k in range(source.shape[1]):
        target[at + k] = source[row, k]


@kernel
def place_of_block(graph, i, j):
    """Place of block (i, j) in the matrix values; -1 where the nodes share no edge."""
    neighbor_start, neighbor, diagonal_at, block_at = graph
    if i == j:
        return diagonal_at[i]
    low, end = neighbor_start[i], neighbor_start[i + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if neighbor[middle] < j:
            low = middle + 1
        else:
            high = middle
    return block_at[low] if low < end and neighbor[low] == j else -1


@kernel
def join(whole, ties, touches, graph, numbers, plan, constant, plane_of, slots):
    """Plan after its header, constants before those of added mass, planes and slots of contacts.

    ``whole`` are plan and constants of the whole model, the places of blocks in its groups, the two
    nodes of each of these, and its number of contacts; ``ties`` and ``touches`` arrays of
    `dynamics.tables.near_tables.PairParts`; ``slots`` begins with those of its contacts.
    """
    old, old_constant, block_place, block_nodes, head = whole
    for i in range(plan[BODIES]):
        plan[HEADER + i] = graph[2][i]
    copy_run(old, HEADER + old[BODIES], old[BODIES], plan, HEADER + plan[BODIES])
    join_groups(
        (old, old_constant, block_place, block_nodes), ties, graph, numbers, plan, constant,
        plane_of,
    )  # fmt: skip
    join_contacts(
        (old, old_constant, head), touches, graph, numbers, plane_of, plan, constant, slots
    )


@kernel
def join_groups(whole, ties, graph, numbers, plan, constant, plane_of):
    """Groups and rows of the whole model, then those of the ties of planes, which are numbered."""
    old, old_constant, where, nodes = whole
    plane, owner, body, group, rows, group_constant, row_constants = ties
    n, many, every, N = old[BODIES], old[GROUPS], old[ALL_ROWS], plan[BODIES]
    at, row_at = plan[GROUP_AT], plan[ROW_AT]
    body_at, number_at = n * BODY_SIZE, plan[GROUP_CONSTANT_AT]
    row_number_at = plan[ROW_CONSTANT_AT]
    copy_run(old, old[GROUP_AT], many * GROUP_FIELDS, plan, at)
    copy_run(old, old[ROW_AT], every * ROW_FIELDS, plan, row_at)
    copy_run(old_constant, 0, body_at, constant, 0)
    copy_run(old_constant, old[GROUP_CONSTANT_AT], many * GROUP_SIZE, constant, number_at)
    copy_run(old_constant, old[ROW_CONSTANT_AT], every * ROW_SIZE, constant, row_number_at)
    for k in range(many):
        for side in (A, B):
            if plan[at + k * GROUP_FIELDS + side] == n:
                plan[at + k * GROUP_FIELDS + side] = N
    for k in range(where.size):
        i, j = nodes[0, k], nodes[1, k]
        i, j = i + (N - n if i >= n else 0), j + (N - n if j >= n else 0)
        plan[at + where[k]] = place_of_block(graph, i, j)
    more = 0
    for q in range(numbers.size):
        tie, own = plane[numbers[q]], n + more
        if tie < 0:
            plane_of[q] = -1
            continue
        plane_of[q] = own
        g, first = at + (many + more) * GROUP_FIELDS, every + TIE_ROWS * more
        copy_row(group, tie, plan, g)
        copy_row(rows, tie, plan, row_at + first * ROW_FIELDS)
        copy_row(body, tie, constant, own * BODY_SIZE)
        copy_row(group_constant, tie, constant, number_at + (many + more) * GROUP_SIZE)
        copy_row(row_constants, tie, constant, row_number_at + first * ROW_SIZE)
        plan[g + A], plan[g + B] = own, owner[numbers[q]]
        plan[HEADER + N + own] = plan[HEADER + N + plan[g + B]]
        plan[g + FIRST_ROW] = plan[g + EQUATION] = first
        plan[g + NEXT] = many + more
        plan[g + AJ_AT] = place_of_block(graph, own, plan[g + B])
        plan[g + JA_AT] = place_of_block(graph, plan[g + B], own)
        more += 1


@kernel
def copy_contacts(old, old_constant, first, count, more, plan, constant, to):
    """Contacts of the whole model from number ``first``, whose slots are ``more`` later."""
    n, N = old[BODIES], plan[BODIES]
    c, number = plan[CONTACT_AT] + to * CONTACT_FIELDS, plan[CONTACT_CONSTANT_AT]
    copy_run(old, old[CONTACT_AT] + first * CONTACT_FIELDS, count * CONTACT_FIELDS, plan, c)
    copy_run(
        old_constant, old[CONTACT_CONSTANT_AT] + first * CONTACT_SIZE, count * CONTACT_SIZE,
        constant, number + to * CONTACT_SIZE,
    )  # fmt: skip
    for k in range(count):
        for side in (A, B):
            if plan[c + k * CONTACT_FIELDS + side] == n:
                plan[c + k * CONTACT_FIELDS + side] = N
        plan[c + k * CONTACT_FIELDS + SLOT] += more


@kernel
def join_contacts(whole, touches, graph, numbers, plane_of, plan, constant, slots):
    """Contacts of the whole model, those of the pairs, then limits and dry friction of joints."""
    old, old_constant, head = whole
    spans, records, record_constants, sizes = touches
    copy_contacts(old, old_constant, 0, head, 0, plan, constant, 0)
    first, k = slots[head], head
    slot = first
    for q in range(numbers.size):
        start, count = spans[numbers[q], 0], spans[numbers[q], 1]
        for touch in range(start, start + count):
            c = plan[CONTACT_AT] + k * CONTACT_FIELDS
            copy_row(records, touch, plan, c)
            copy_row(
                record_constants, touch, constant, plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
            )
            for side in (A, B):
                if plan[c + side] == THE_PLANE:
                    plan[c + side] = plane_of[q]
                elif plan[c + side] == THE_WORLD:
                    plan[c + side] = plan[BODIES]
            plan[c + SLOT] = slots[k] = slot
            slot += sizes[touch]
            k += 1
    copy_contacts(old, old_constant, head, old[CONTACTS] - head, slot - first, plan, constant, k)
    slots[k] = slot
    for k in range(plan[CONTACTS]):
        c = plan[CONTACT_AT] + k * CONTACT_FIELDS
        if plan[c + AB_AT] >= 0:
            plan[c + AB_AT] = place_of_block(graph, plan[c + A], plan[c + B])
            plan[c + BA_AT] = place_of_block(graph, plan[c + B], plan[c + A])


@kernel
def join_edges(edges, n, planes, plane, ends, numbers, joined):
    """Edges of the whole model and of pairs, of which two bodies or one and a plane; how many.

    The nodes of so many planes come after the n bodies and before the joints. Loops at the first
    node, which are no edges, fill what is left of ``joined``.
    """
    for k in range(edges.shape[1]):
        for side in range(2):
            i = edges[side, k]
            joined[side, k] = i + planes if i >= n else i
    count, own = edges.shape[1], n
    for q in range(numbers.size):
        a, b = ends[numbers[q], 0], ends[numbers[q], 1]
        if plane[numbers[q]] >= 0:
            for end in (a, b):
                if end >= 0:
                    joined[0, count], joined[1, count] = own, end
                    count += 1
            own += 1
        elif a >= 0 and b >= 0:
            joined[0, count], joined[1, count] = a, b
            count += 1
    for k in range(count, joined.shape[1]):
        joined[0, k] = joined[1, k] = 0
    return count


@kernel
def order_with_planes(order, n, planes, joined):
    """Planes, then the nodes in the order of the whole model."""
    for k in range(planes):
        joined[k] = n + k
    for k in range(order.size):
        joined[planes + k] = order[k] + (planes if order[k] >= n else 0)


@kernel
def join_graph(whole, n, planes, touching, pairs, numbers, room, graph, programs, found):
    """Graph with contacts of pairs, and its programs in one or two orders.

    Pivot blocks are looked at by their condition where bodies touch: see `Symbolic.refining`.

    ``whole`` are edges, sizes and orders of the whole model, ``pairs`` planes and ends of parts,
    ``graph`` room for `BlockGraph.tables` and ``programs`` for programs. ``room`` is one of
    `graphsys.kernels.program.given_order`, edges, an order and lists. ``found`` gets a row of
    numbers for each order.
    """
    edges, sizes, orders = whole
    inner, joined, order, bucket = room
    size, row_start, start, neighbor, diagonal_at, block_at = graph
    count = join_edges(edges, n, planes, pairs[0], pairs[1], numbers, joined)
    for i in range(size.size):
        size[i] = TWIST if n <= i < n + planes else sizes[i - (planes if i >= n else 0)]
    lay_graph(
        joined, size, bucket, inner, row_start, start, neighbor, diagonal_at, block_at, found[0]
    )
    last = found[0, NEIGHBOURS]
    near = size, row_start, start, neighbor[:last], diagonal_at, block_at[:last]
    for k in range(orders.shape[0]):
        order_with_planes(orders[k], n, planes, order)
        program_in_order(near, order, inner, programs[k], found[k])
        programs[k, REFINED] = BY_CONDITION if touching or count > edges.shape[1] else NO_BLOCKS
