"""Elimination of, and substitution with, one small node as LLVM functions: what `narrow` repeats.

A node of up to `SMALL` rows keeps its inverse, or its unknowns, in registers while it meets all of
its neighbours: for blocks this small, going through memory takes as long as the arithmetic. The
numba intrinsics on top are in `nodes`.
"""

from llvmlite import ir

from .columns import Columns, MaskedColumns
from .emit import I64, REAL, SMALL, Emitter, integer, private_function
from .program import NEIGHBOUR_FIELDS, UPDATE_FIELDS


def eliminate_function(module, real):
    """``W_j <- D^-1 U_j, A_ij <- S_ij - L_i W_j`` for all neighbours i, j of a node.

    Arguments ``(arena, values, table, magnitude, lower, upper, w, m, count, symmetric)``: the table
    is that of the node's neighbours, `narrow` says how it is laid out.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_eliminate_{real}",
        ir.VoidType(),
        [pointer, pointer, I64.as_pointer(), pointer, I64, I64, I64, I64, I64, I64],
        ["arena", "values", "table", "magnitude", "lower", "upper", "w", "m", "count", "symmetric"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    w = function.args[6]
    done = builder.append_basic_block("done")
    switch = builder.switch(w, done)
    for size in range(1, SMALL + 1):
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        _eliminate(emit, function.args, size)
        builder.branch(done)
    builder.position_at_end(done)
    builder.ret_void()
    return function


def _field(builder, table, at, place):
    return builder.load(builder.gep(table, [builder.add(at, integer(place))]))


def _source(emit, values, arena, place):
    """Pointer to a place in values, or to ~place in the arena where it is negative."""
    builder = emit.b
    inside = builder.icmp_signed(">=", place, integer(0))
    base = builder.select(inside, values, arena)
    return emit.at(base, builder.select(inside, place, builder.not_(place)))


def _eliminate(emit, arguments, size):
    """All neighbours of a node of ``size`` rows."""
    builder = emit.b
    arena, values, table, magnitude, lower, upper, w, m, count, symmetric = arguments
    neighbours = builder.mul(count, integer(NEIGHBOUR_FIELDS))
    own = Columns(builder, emit.real, size)
    inverse = [own.load(emit.at(arena, lower, builder.mul(m, integer(k)))) for k in range(size)]
    below = builder.add(lower, w)
    symmetric = builder.icmp_signed("!=", symmetric, integer(0))
    columns_loop = emit.loop(
        f"columns.{size}", integer(0), neighbours, integer(NEIGHBOUR_FIELDS), [neighbours]
    )
    with columns_loop as (j, (update,)):
        columns, place = _field(builder, table, j, 0), _field(builder, table, j, 1)
        right = emit.at(arena, upper, builder.mul(place, w))
        left_from, right_from = _field(builder, table, j, 3), _field(builder, table, j, 4)
        u = builder.select(
            symmetric,
            _source(emit, values, arena, left_from),
            _source(emit, values, arena, right_from),
        )
        stored = builder.icmp_signed(">=", left_from, integer(0))
        row_step = builder.select(symmetric, builder.select(stored, columns, m), integer(1))
        column_step = builder.select(symmetric, integer(1), w)
        scale_loop = emit.loop(f"scale.{size}", integer(0), columns, integer(1), [u, right])
        with scale_loop as (_, (from_, to)):
            entries = [
                own.splat(emit.load_scalar(emit.at(from_, builder.mul(row_step, integer(k)))))
                for k in range(size)
            ]
            column = own.combine(inverse, entries)
            own.store(column, to)
            scale_loop.carry([emit.at(from_, column_step), emit.at(to, w)])
        first = builder.select(symmetric, j, integer(0))
        rows_loop = emit.loop(
            f"rows.{size}", first, neighbours, integer(NEIGHBOUR_FIELDS), [update]
        )
        with rows_loop as (i, (at,)):
            rows, place = _field(builder, table, i, 0), _field(builder, table, i, 1)
            left_from = _field(builder, table, i, 3)
            left = _source(emit, values, arena, left_from)
            outside = builder.icmp_signed(">=", left_from, integer(0))
            step = builder.select(outside, rows, m)
            theirs = MaskedColumns(emit, rows)
            block = [theirs.load(emit.at(left, builder.mul(step, integer(k)))) for k in range(size)]
            with builder.if_then(builder.and_(outside, builder.icmp_signed("==", j, integer(0)))):
                to = emit.at(arena, below, place)
                for k in range(size):
                    theirs.store(block[k], emit.at(to, builder.mul(m, integer(k))))
            source = _source(emit, values, arena, _field(builder, table, at, 0))
            source_step = _field(builder, table, at, 1)
            to, to_step = (
                emit.at(arena, _field(builder, table, at, 2)),
                _field(builder, table, at, 3),
            )
            held = emit.at(magnitude, _field(builder, table, i, 2))
            start = [source, to, right, *theirs.load(held)]
            update_loop = emit.loop(f"update.{size}", integer(0), columns, integer(1), start)
            with update_loop as (_, (source, to, scaled, *largest)):
                old = theirs.load(source)
                entries = [
                    theirs.splat(emit.load_scalar(emit.at(scaled, integer(k)))) for k in range(size)
                ]
                theirs.store(theirs.map(builder.fsub, old, theirs.combine(block, entries)), to)
                update_loop.carry(
                    [
                        emit.at(source, source_step),
                        emit.at(to, to_step),
                        emit.at(scaled, w),
                        *theirs.larger(theirs.fabs(old), largest),
                    ]
                )
            with builder.if_then(builder.icmp_signed("==", i, j)):
                theirs.store(update_loop.results[3:], held)
            rows_loop.carry([builder.add(at, integer(UPDATE_FIELDS))])
        columns_loop.carry([rows_loop.results[0]])


def forward_function(module, real):
    """``z <- D^-1 x_k, x_k <- z, x_i <- x_i - L_i z`` for one supernode of one pivot block.

    Arguments ``(x, arena, table, first, lower, w, m, runs)``, w at most `SMALL`; the table is that
    of its runs: (place among the rows below, length, first row).
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_forward_{real}",
        ir.VoidType(),
        [pointer, pointer, I64.as_pointer(), I64, I64, I64, I64, I64],
        ["x", "arena", "table", "first", "lower", "w", "m", "runs"],
    )
    if builder is None:
        return function
    w = function.args[5]
    done = builder.append_basic_block("done")
    switch = builder.switch(w, done)
    for size in range(1, SMALL + 1):
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        _forward(Columns(builder, real, size), function.args)
        builder.branch(done)
    builder.position_at_end(done)
    builder.ret_void()
    return function


def _forward(own, arguments):
    """All runs of a node whose rows are those of the columns ``own``."""
    builder, emit = own.b, own.emit
    x, arena, table, first, lower, w, m, runs = arguments
    panel, place = emit.at(arena, lower), emit.at(x, first)
    steps = [builder.mul(m, integer(k)) for k in range(own.rows)]
    entries = [emit.load_scalar(emit.at(place, integer(k))) for k in range(own.rows)]
    inverse = [own.load(emit.at(panel, step)) for step in steps]
    z = own.combine(inverse, [own.splat(entry) for entry in entries])
    own.store(z, place)
    entries = [own.entry(z, k) for k in range(own.rows)]
    fields = builder.mul(runs, integer(3))
    with emit.loop(f"runs.{own.rows}", integer(0), fields, integer(3), []) as (at, _):
        left = emit.at(panel, w, _field(builder, table, at, 0))
        length, to = _field(builder, table, at, 1), emit.at(x, _field(builder, table, at, 2))

        def subtract(i, rows):
            some = Columns(builder, emit.real, rows)
            columns = [some.load(emit.at(left, i, step)) for step in steps]
            product = some.combine(columns, [some.splat(entry) for entry in entries])
            place = emit.at(to, i)
            some.store(some.map(builder.fsub, some.load(place), product), place)

        fours = builder.and_(length, integer(-4))
        with emit.loop(f"rows.{own.rows}", integer(0), fours, integer(4), []) as (i, _):
            subtract(i, 4)
        for rows in (2, 1):
            left_over = builder.icmp_signed("!=", builder.and_(length, integer(rows)), integer(0))
            with builder.if_then(left_over):
                subtract(builder.and_(length, integer(-2 * rows)), rows)


def backward_function(module, real):
    """``x_k <- x_k - sum_j W_kj x_j`` for one supernode of one pivot block.

    Arguments ``(x, arena, table, first, upper, w, runs)`` as in `forward_function`.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_backward_{real}",
        ir.VoidType(),
        [pointer, pointer, I64.as_pointer(), I64, I64, I64, I64],
        ["x", "arena", "table", "first", "upper", "w", "runs"],
    )
    if builder is None:
        return function
    w = function.args[5]
    done = builder.append_basic_block("done")
    switch = builder.switch(w, done)
    for size in range(1, SMALL + 1):
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        _backward(Columns(builder, real, size), function.args)
        builder.branch(done)
    builder.position_at_end(done)
    builder.ret_void()
    return function


def _backward(own, arguments):
    """All runs of a node whose rows are those of the columns ``own``."""
    builder, emit = own.b, own.emit
    x, arena, table, first, upper, w, runs = arguments
    place = emit.at(x, first)
    pieces = len(own.starts)
    sums = [*own.load(place), *own.fill(0.0)]  # of even columns and of odd ones
    fields = builder.mul(runs, integer(3))
    runs_loop = emit.loop(f"runs.{own.rows}", integer(0), fields, integer(3), sums)
    with runs_loop as (at, sums):
        length, row = _field(builder, table, at, 1), emit.at(x, _field(builder, table, at, 2))
        panel = emit.at(arena, upper, builder.mul(_field(builder, table, at, 0), w))

        def subtract(column, c, total):
            entry = own.splat(emit.load_scalar(emit.at(row, c)))
            return own.fma(own.map(builder.fneg, own.load(column)), entry, total)

        pairs = builder.and_(length, integer(-2))
        start = [panel, *sums]
        loop = emit.loop(f"pairs.{own.rows}", integer(0), pairs, integer(2), start)
        with loop as (c, (column, *sums)):
            even = subtract(column, c, sums[:pieces])
            column = emit.at(column, w)
            odd = subtract(column, builder.add(c, integer(1)), sums[pieces:])
            loop.carry([emit.at(column, w), *even, *odd])
        column, *sums = loop.results
        even = sums[:pieces]
        before = builder.block
        with builder.if_then(builder.icmp_signed("<", pairs, length)):
            more = subtract(column, pairs, even)
            last = builder.block
        for k in range(pieces):
            total = builder.phi(even[k].type)
            total.add_incoming(even[k], before)
            total.add_incoming(more[k], last)
            sums[k] = total
        runs_loop.carry(sums)
    sums = runs_loop.results
    own.store(own.map(builder.fadd, sums[:pieces], sums[pieces:]), place)


def row_function(module, real):
    """``r_i <- r_i - sum_j A_ij x_j, t <- max(t, sum_j |A_ij|)`` for the rows of one small node.

    Arguments ``(r, t, values, x, size, row_start, neighbor, block_at, diagonal, i, first, last)``:
    tables and places of a `BlockGraph`, whose nodes have at most `SMALL` rows. Lane k of t, 8
    numbers, is for row k of all nodes.
    """
    pointer, table = REAL[real].as_pointer(), I64.as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_row_{real}",
        ir.VoidType(),
        [pointer, pointer, pointer, pointer, table, table, table, table, I64, I64, I64, I64],
        ["r", "t", "values", "x", "size", "row_start", "neighbor", "block_at", "diagonal", "i"]
        + ["first", "last"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    r, t, values, x, size, row_start, neighbor, block_at, diagonal, i, first, last = function.args
    entry = builder.block
    own = _field(builder, size, i, 0)
    mask = emit.first_lanes(own)
    place = emit.at(r, _field(builder, row_start, i, 0))
    head = builder.append_basic_block("blocks")
    following = builder.append_basic_block("following")
    done = builder.append_basic_block("done")
    held = emit.load(place, mask)
    builder.branch(head)
    builder.position_at_end(head)
    j, at, p = builder.phi(I64), builder.phi(I64), builder.phi(I64)
    carried = [builder.phi(emit.vector) for _ in range(4)]
    column = emit.at(x, _field(builder, row_start, j, 0))

    def add(from_, c, rest, total):
        entries = emit.load(from_, mask)
        splat = emit.splat(emit.load_scalar(emit.at(column, c)))
        rest = emit.fma(builder.fneg(entries), splat, rest)
        return rest, builder.fadd(total, emit.intrinsic("fabs", emit.vector, entries))

    columns = _field(builder, size, j, 0)
    pairs = builder.and_(columns, integer(-2))
    start = [*carried, emit.at(values, at)]
    loop = emit.loop("pairs", integer(0), pairs, integer(2), start)
    with loop as (c, (even, odd, even_total, odd_total, from_)):
        even, even_total = add(from_, c, even, even_total)
        from_ = emit.at(from_, own)
        odd, odd_total = add(from_, builder.add(c, integer(1)), odd, odd_total)
        loop.carry([even, odd, even_total, odd_total, emit.at(from_, own)])
    even, odd, even_total, odd_total, from_ = loop.results
    before = builder.block
    single = builder.append_basic_block("single")
    after = builder.append_basic_block("after.single")
    builder.cbranch(builder.icmp_signed("<", pairs, columns), single, after)
    builder.position_at_end(single)
    more = add(from_, pairs, even, even_total)
    builder.branch(after)
    builder.position_at_end(after)
    sums = [builder.phi(emit.vector), odd, builder.phi(emit.vector), odd_total]
    for phi, kept, grown in ((sums[0], even, more[0]), (sums[2], even_total, more[1])):
        phi.add_incoming(kept, before)
        phi.add_incoming(grown, single)
    builder.cbranch(builder.icmp_signed("<", p, last), following, done)
    builder.position_at_end(following)
    for phi, start, later in [
        (j, i, _field(builder, neighbor, p, 0)),
        (at, diagonal, _field(builder, block_at, p, 0)),
        (p, first, builder.add(p, integer(1))),
        *((phi, held if k == 0 else emit.fill(0.0), sums[k]) for k, phi in enumerate(carried)),
    ]:
        phi.add_incoming(start, entry)
        phi.add_incoming(later, following)
    builder.branch(head)
    builder.position_at_end(done)
    emit.store(builder.fadd(sums[0], sums[1]), place, mask)
    most, total = emit.load(t), builder.fadd(sums[2], sums[3])
    larger = builder.fcmp_ordered(">", total, most)
    emit.store(builder.select(larger, total, most), t)
    builder.ret_void()
    return function
