"""Elimination of one small node as an LLVM function: the inner step of `nodal_ldu`.

A node of up to `SMALL` rows keeps its inverse in registers while it meets all of its neighbours:
for blocks this small, going through memory takes as long as the arithmetic. And what goes through
memory is read soon: neighbours of as many rows, of which most are, are written by the same pieces
as they are read, see `columns`. The numba intrinsic on top is in `nodes`.
"""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.base.layout import (
    BELOW,
    FIRST,
    LOWER,
    NEIGHBOUR_FIELDS,
    NEIGHBOURS,
    NODE_FIELDS,
    PIVOTS,
    UPDATE_FIELDS,
    UPPER,
)
from graphsys.kernels.llvm.columns import MaskedColumns, WideColumns
from graphsys.kernels.llvm.emit import I64, REAL, SMALL, Emitter, cases, integer, private_function
from graphsys.kernels.llvm.small_nodes import field


@shared
def eliminate_function(module, real, solving):
    """``W_j <- D^-1 U_j, A_ij <- S_ij - L_i W_j`` for all neighbours i, j of a node.

    Arguments ``(arena, values, panel, node, largest, original, symmetric, scaled)``: the places of
    panel and node in the program, laid out as in `layout` and `nodal_ldu`, magnitudes by row, see
    `growth`, and whether W is there already. With ``solving`` one more, ``x``: forward substitution
    with this node, as by `forward_function`.
    """
    pointer = REAL[real].as_pointer()
    more, tables = ["x"] if solving else [], [I64.as_pointer()] * 2
    function, builder = private_function(
        module,
        f"graphsys_eliminate_{'and_solve_' if solving else ''}{real}",
        ir.VoidType(),
        [pointer, pointer, *tables, pointer, pointer, I64, I64, *[pointer] * len(more)],
        ["arena", "values", "panel", "node", "largest", "original", "symmetric", "scaled", *more],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    w = field(builder, function.args[2], integer(PIVOTS), 0)
    for size in cases(builder, w, range(1, SMALL + 1), skip=True):
        _eliminate(emit, function.args, size)
    builder.ret_void()
    return function


class _Node:
    """Loaded fields of a node of ``size`` rows, for all its neighbours."""

    def __init__(self, emit, arguments, size):
        self.emit, self.size = emit, size
        self.arena, self.values, panel, node, self.largest, self.original, _, _, *solving = (
            arguments
        )
        b, w = emit.b, integer(size)

        def header(place):
            return field(b, panel, integer(place), 0)

        self.upper, self.neighbours = header(UPPER), field(b, node, integer(NEIGHBOURS), 0)
        self.lower = header(LOWER)
        self.m = b.add(header(BELOW), w)
        self.below = b.add(self.lower, w)  # rows of neighbours in the lower panel
        self.table = b.gep(node, [integer(NODE_FIELDS)])  # of neighbours, then of updates
        self.x = solving[0] if solving else None
        self.z = emit.at(self.x, header(FIRST)) if solving else None  # the node's unknowns

    def field(self, at, place):
        return field(self.emit.b, self.table, at, place)

    def source(self, place):
        """Pointer to a place in values, or to ~place in the arena where it is negative."""
        b = self.emit.b
        inside = b.icmp_signed(">=", place, integer(0))
        base = b.select(inside, self.values, self.arena)
        return self.emit.at(base, b.select(inside, place, b.not_(place)))

    def entries(self, columns, start, step=None):
        """One number for each row of the node, each in all rows of a column."""
        emit, found = self.emit, []
        for k in range(self.size):
            at = integer(k) if step is None else emit.b.mul(step, integer(k))
            found.append(columns.splat(emit.load_scalar(emit.at(start, at))))
        return found


def _eliminate(emit, arguments, size):
    """All neighbours of a node of ``size`` rows."""
    builder = emit.b
    node, w = _Node(emit, arguments, size), integer(size)
    symmetric, scaled = arguments[6], arguments[7]
    own = WideColumns(builder, emit.real, size)
    panel, places = emit.at(node.arena, node.lower), range(size)
    inverse = [own.load(emit.at(panel, builder.mul(node.m, integer(k)))) for k in places]
    if node.z is not None:
        own.store(own.combine(inverse, node.entries(own, node.z)), node.z)
    symmetric = builder.icmp_signed("!=", symmetric, integer(0))
    scaled = builder.icmp_signed("!=", scaled, integer(0))
    every = integer(NEIGHBOUR_FIELDS)
    end = builder.mul(node.neighbours, every)
    columns_loop = emit.loop(f"columns.{size}", integer(0), end, every, [end])
    with columns_loop as (j, (update,)):
        columns, place = node.field(j, 0), node.field(j, 1)
        right = emit.at(node.arena, node.upper, builder.mul(place, w))
        left_from, right_from = node.field(j, 3), node.field(j, 4)
        u = builder.select(symmetric, node.source(left_from), node.source(right_from))
        stored = builder.icmp_signed(">=", left_from, integer(0))
        row_step = builder.select(symmetric, builder.select(stored, columns, node.m), integer(1))
        column_step = builder.select(symmetric, integer(1), w)
        unscaled = builder.select(scaled, integer(0), columns)
        scale_loop = emit.loop(f"scale.{size}", integer(0), unscaled, integer(1), [u, right])
        with scale_loop as (_, (from_, to)):
            own.store(own.combine(inverse, node.entries(own, from_, row_step)), to)
            scale_loop.carry([emit.at(from_, column_step), emit.at(to, w)])
        start = builder.select(symmetric, j, integer(0))
        rows_loop = emit.loop(f"rows.{size}", start, end, every, [update])
        with rows_loop as (i, (at,)):
            rows = node.field(i, 0)
            alike = builder.icmp_signed("==", rows, w)  # chains of nodes of 2: 1.42 without
            with builder.if_else(alike) as (same, other):
                with same:
                    _update(node, own, w, i, j, at, columns, right)
                with other:
                    _update(node, MaskedColumns(emit, rows), rows, i, j, at, columns, right)
            rows_loop.carry([builder.add(at, integer(UPDATE_FIELDS))])
        columns_loop.carry([rows_loop.results[0]])


def _update(node, theirs, rows, i, j, at, columns, right):
    """``A_ij <- S_ij - L_i W_j`` for neighbours i and j; for the first j L_i goes to the panel.

    ``theirs`` are columns of as many rows as neighbour i has, ``right`` points to W_j.
    """
    emit, builder, m, w = node.emit, node.emit.b, node.m, integer(node.size)
    row, left_from = node.field(i, 2), node.field(i, 3)
    left, outside = node.source(left_from), builder.icmp_signed(">=", left_from, integer(0))
    step = builder.select(outside, rows, m)
    places = range(node.size)
    block = [theirs.load(emit.at(left, builder.mul(step, integer(k)))) for k in places]
    once = builder.icmp_signed("==", j, integer(0))
    with builder.if_then(builder.and_(once, outside)):
        to = emit.at(node.arena, node.below, node.field(i, 1))
        for k in places:
            theirs.store(block[k], emit.at(to, builder.mul(m, integer(k))))
    if node.z is not None:
        with builder.if_then(once):
            to = emit.at(node.x, row)
            product = theirs.combine(block, node.entries(theirs, node.z))
            theirs.store(theirs.map(builder.fsub, theirs.load(to), product), to)
    source_from, source_step = node.field(at, 0), node.field(at, 1)
    source = node.source(source_from)
    to, to_step = emit.at(node.arena, node.field(at, 2)), node.field(at, 3)
    largest = emit.at(node.largest, row)
    start = [source, to, right, *theirs.load(largest)]
    loop = emit.loop(f"update.{node.size}", integer(0), columns, integer(1), start)
    with loop as (_, (source, to, scaled, *magnitude)):
        old = theirs.load(source)
        product = theirs.combine(block, node.entries(theirs, scaled))
        theirs.store(theirs.map(builder.fsub, old, product), to)
        following = [emit.at(source, source_step), emit.at(to, to_step), emit.at(scaled, w)]
        loop.carry([*following, *theirs.larger(theirs.fabs(old), magnitude)])
    with builder.if_then(builder.icmp_signed("==", i, j)):
        theirs.store(loop.results[3:], largest)
        with builder.if_then(builder.icmp_signed(">=", source_from, integer(0))):
            theirs.store(loop.results[3:], emit.at(node.original, row))  # the first update
