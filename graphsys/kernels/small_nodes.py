"""Elimination of, and substitution with, one small node as LLVM functions: what `narrow` repeats.

A node of up to `SMALL` rows keeps its inverse, or its unknowns, in registers while it meets all of
its neighbours: for blocks this small, going through memory takes as long as the arithmetic. The
numba intrinsics on top are in `nodes`.
"""

from llvmlite import ir

from .emit import I64, LANES, REAL, SMALL, Emitter, integer, private_function
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
    room = builder.alloca(emit.vector, integer(LANES))
    room.align = LANES * emit.align
    scaled = builder.bitcast(room, pointer)
    w = function.args[6]
    done = builder.append_basic_block("done")
    switch = builder.switch(w, done)
    for size in range(1, SMALL + 1):
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        _eliminate(emit, function.args, scaled, size)
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


def _eliminate(emit, arguments, scaled, size):
    """All neighbours of a node of ``size`` rows."""
    builder = emit.b
    arena, values, table, magnitude, lower, upper, w, m, count, symmetric = arguments
    neighbours = builder.mul(count, integer(NEIGHBOUR_FIELDS))
    own = emit.first_lanes(w)
    inverse = [
        emit.load(emit.at(arena, lower, builder.mul(m, integer(k))), own) for k in range(size)
    ]
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
        scale_loop = emit.loop(f"scale.{size}", integer(0), columns, integer(1), [u, right, scaled])
        with scale_loop as (_, (from_, to, kept)):
            entries = [
                emit.splat(emit.load_scalar(emit.at(from_, builder.mul(row_step, integer(k)))))
                for k in range(size)
            ]
            column = _combine(emit, inverse, entries)
            emit.store(column, to, own)
            emit.store(column, kept)
            scale_loop.carry(
                [emit.at(from_, column_step), emit.at(to, w), emit.at(kept, integer(LANES))]
            )
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
            mask = emit.first_lanes(rows)
            block = [
                emit.load(emit.at(left, builder.mul(step, integer(k))), mask) for k in range(size)
            ]
            with builder.if_then(builder.and_(outside, builder.icmp_signed("==", j, integer(0)))):
                to = emit.at(arena, below, place)
                for k in range(size):
                    emit.store(block[k], emit.at(to, builder.mul(m, integer(k))), mask)
            source = _source(emit, values, arena, _field(builder, table, at, 0))
            source_step = _field(builder, table, at, 1)
            to, to_step = (
                emit.at(arena, _field(builder, table, at, 2)),
                _field(builder, table, at, 3),
            )
            held = emit.at(magnitude, _field(builder, table, i, 2))
            largest = emit.load(held, mask)
            update_loop = emit.loop(
                f"update.{size}", integer(0), columns, integer(1), [source, to, scaled, largest]
            )
            with update_loop as (_, (source, to, kept, most)):
                old = emit.load(source, mask)
                entries = [
                    emit.splat(emit.load_scalar(emit.at(kept, integer(k)))) for k in range(size)
                ]
                new = builder.fsub(old, _combine(emit, block, entries))
                emit.store(new, to, mask)
                magnitude_of = emit.intrinsic("fabs", emit.vector, old)
                larger = builder.fcmp_ordered(">", magnitude_of, most)
                update_loop.carry(
                    [
                        emit.at(source, source_step),
                        emit.at(to, to_step),
                        emit.at(kept, integer(LANES)),
                        builder.select(larger, magnitude_of, most),
                    ]
                )
            with builder.if_then(builder.icmp_signed("==", i, j)):
                emit.store(update_loop.results[3], held, mask)
            rows_loop.carry([builder.add(at, integer(UPDATE_FIELDS))])
        columns_loop.carry([rows_loop.results[0]])


def _combine(emit, columns, entries):
    """sum_k columns_k entries_k, in two chains."""
    builder = emit.b
    sums = []
    for first in range(min(2, len(columns))):
        total = builder.fmul(columns[first], entries[first])
        for k in range(first + 2, len(columns), 2):
            total = emit.fma(columns[k], entries[k], total)
        sums.append(total)
    return sums[0] if len(sums) == 1 else builder.fadd(*sums)


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
    emit = Emitter(builder, real)
    x, arena, table, first, lower, w, m, runs = function.args
    own = emit.at(x, first)
    panel = emit.at(arena, lower)
    fields = builder.mul(runs, integer(3))
    mask = emit.first_lanes(w)
    done = builder.append_basic_block("done")
    switch = builder.switch(w, done)
    for size in range(1, SMALL + 1):
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        steps = [builder.mul(m, integer(k)) for k in range(size)]
        entries = [emit.splat(emit.load_scalar(emit.at(own, integer(k)))) for k in range(size)]
        z = _combine(emit, [emit.load(emit.at(panel, step), mask) for step in steps], entries)
        emit.store(z, own, mask)
        spread = [emit.splat(builder.extract_element(z, integer(k))) for k in range(size)]
        with emit.loop(f"runs.{size}", integer(0), fields, integer(3), []) as (at, _):
            left = emit.at(panel, w, _field(builder, table, at, 0))
            length, to = _field(builder, table, at, 1), emit.at(x, _field(builder, table, at, 2))
            with emit.loop(f"rows.{size}", integer(0), length, integer(LANES), []) as (i, _):
                some = emit.first_lanes(builder.sub(length, i))
                columns = [emit.load(emit.at(left, i, step), some) for step in steps]
                place = emit.at(to, i)
                new = builder.fsub(emit.load(place, some), _combine(emit, columns, spread))
                emit.store(new, place, some)
        builder.branch(done)
    builder.position_at_end(done)
    builder.ret_void()
    return function


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
    emit = Emitter(builder, real)
    x, arena, table, first, upper, w, runs = function.args
    own = emit.at(x, first)
    mask = emit.first_lanes(w)
    sums = [emit.load(own, mask), emit.fill(0.0)]
    runs_loop = emit.loop("runs", integer(0), builder.mul(runs, integer(3)), integer(3), sums)
    with runs_loop as (at, sums):
        length, row = _field(builder, table, at, 1), emit.at(x, _field(builder, table, at, 2))
        column = emit.at(arena, upper, builder.mul(_field(builder, table, at, 0), w))
        pairs = builder.and_(length, integer(-2))
        loop = emit.loop("pairs", integer(0), pairs, integer(2), [*sums, column])
        with loop as (c, (even, odd, column)):
            step = [column, emit.at(column, w)]
            entries = [emit.splat(emit.load_scalar(emit.at(row, c, integer(k)))) for k in (0, 1)]
            even, odd = (
                emit.fma(builder.fneg(emit.load(at, mask)), entry, total)
                for at, entry, total in zip(step, entries, (even, odd), strict=True)
            )
            loop.carry([even, odd, emit.at(step[1], w)])
        even, odd, column = loop.results
        before = builder.block
        last = builder.append_basic_block("last")
        after = builder.append_basic_block("after.last")
        builder.cbranch(builder.icmp_signed("<", pairs, length), last, after)
        builder.position_at_end(last)
        entry = emit.splat(emit.load_scalar(emit.at(row, pairs)))
        more = emit.fma(builder.fneg(emit.load(column, mask)), entry, even)
        builder.branch(after)
        builder.position_at_end(after)
        total = builder.phi(emit.vector)
        total.add_incoming(even, before)
        total.add_incoming(more, last)
        runs_loop.carry([total, odd])
    emit.store(builder.fadd(*runs_loop.results), own, mask)
    builder.ret_void()
    return function


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
