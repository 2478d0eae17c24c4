"""Inverse of a small block in registers, as an LLVM function."""

from llvmlite import ir

from .emit import (
    I32,
    I64,
    REAL,
    Emitter,
    constant_mask,
    declare,
    host_has,
    integer,
    private_function,
)

#: Largest block inverted in registers.
SMALL = 8


#: Largest multiplier for which the diagonal is kept as pivot; the rows are exchanged beyond it.
GROWTH = 10.0


def inverse_function(module, real, exchange=False):
    """``D <- A^-1`` in registers, n <= `SMALL`: ``(d, ldd, a, lda, s, n)``, returns a ratio.

    Gauss-Jordan elimination, first with the pivots on the diagonal; where a multiplier exceeds
    `GROWTH` it starts again with partial pivoting by rows, whose search for pivots takes as long as
    all the rest. ``s`` holds the largest magnitude each row of A had before; the result is the
    smallest |pivot| / s over the pivots' rows, at most 1, and NaN where the inverse is not finite
    or a row was always zero.
    """
    element = REAL[real]
    pointer = element.as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_{'exchanging_' if exchange else ''}inverse_{real}",
        element,
        [pointer, I64, pointer, I64, pointer, I64],
        ["d", "ldd", "a", "lda", "s", "n"],
    )
    if builder is None:
        return function
    d, ldd, a, lda, s, n = function.args
    never = builder.append_basic_block("never")
    wild = None if exchange else builder.append_basic_block("wild")
    switch = builder.switch(n, never)
    for size in range(1, SMALL + 1):
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        lanes = next(width for width in (2, 4, 8) if width >= size)
        emit = Emitter(builder, real, lanes)
        rows = constant_mask(lanes, lambda lane, size=size: lane < size)
        places = [emit.at(d, builder.mul(integer(k), ldd)) for k in range(size)]
        sources = [emit.at(a, builder.mul(integer(k), lda)) for k in range(size)]
        column = [emit.load(source, rows) for source in sources]
        scale = builder.select(rows, emit.load(s, rows), emit.fill(1.0))
        for entries in column:
            magnitude = emit.intrinsic("fabs", emit.vector, entries)
            larger = builder.fcmp_ordered(">", magnitude, scale)
            scale = builder.select(larger, magnitude, scale)
        if exchange:
            builder.ret(_with_exchanges(emit, d, ldd, column, scale, size))
            continue
        inverse, ratio, tame = _without_exchanges(emit, column, scale, size)
        kept = builder.append_basic_block(f"kept.{size}")
        builder.cbranch(tame, kept, wild)
        builder.position_at_end(kept)
        for place, values in zip(places, inverse, strict=True):
            emit.store(values, place, rows)
        builder.ret(ratio)
    if not exchange:
        builder.position_at_end(wild)
        builder.ret(builder.call(inverse_function(module, real, True), function.args))
    builder.position_at_end(never)
    builder.unreachable()
    return function


def _without_exchanges(emit, column, scale, n):
    """Inverse with the diagonal as pivots, its ratio, and whether no multiplier was too large.

    Pivot rows are scaled at the end only. The next pivot is computed ahead, apart from its column:
    the division, by far the slowest instruction, then waits for one fma instead of four steps.
    """
    builder, lanes = emit.b, emit.lanes
    column = list(column)
    nothing, ones = emit.fill(0.0), emit.fill(1.0)
    inverses, squares = emit.fill(-1.0), nothing
    minus_one = ir.Constant(emit.element, -1.0)
    pivot = builder.extract_element(column[0], integer(0))
    for j in range(n):
        is_j = constant_mask(lanes, lambda lane, j=j: lane == j)
        below = constant_mask(lanes, lambda lane, j=j: lane > j)
        ahead = None
        if j + 1 < n:
            left = builder.extract_element(column[j], integer(j + 1))
            above = builder.extract_element(column[j + 1], integer(j))
            ahead = builder.fmul(left, above)
            corner = builder.extract_element(column[j + 1], integer(j + 1))
        inverse = builder.fdiv(minus_one, pivot)
        if j + 1 < n:
            pivot = emit.intrinsic("fmuladd", emit.element, ahead, inverse, corner, vector=False)
        inverse = emit.splat(inverse)
        multipliers = builder.select(is_j, nothing, builder.fmul(column[j], inverse))
        inverses = builder.select(is_j, inverse, inverses)
        if j + 1 < n:
            grown = emit.fma(multipliers, multipliers, squares)
            squares = builder.select(below, grown, squares)
        for q in range(n):
            if q != j:
                row = emit.splat(builder.extract_element(column[q], integer(j)))
                column[q] = emit.fma(multipliers, row, column[q])
        column[j] = builder.select(is_j, ones, multipliers)
    inverses = builder.fneg(inverses)
    column = [builder.fmul(entries, inverses) for entries in column]
    # Ordered: a NaN does not pass for small.
    tame = builder.fcmp_ordered("<=", squares, emit.fill(GROWTH * GROWTH))
    bits = ir.IntType(lanes)
    tame = builder.icmp_unsigned("==", builder.bitcast(tame, bits), ir.Constant(bits, -1))
    weakness = builder.fmul(emit.intrinsic("fabs", emit.vector, inverses), scale)
    return column, _ratio(emit, builder.fdiv(ones, weakness), column, n), tame


def _ratio(emit, ratios, column, n):
    """Smallest of the pivots' ratios, at most 1; NaN where the inverse is not finite."""
    builder, lanes = emit.b, emit.lanes
    total = column[0]
    for q in range(1, n):
        total = builder.fadd(total, column[q])
    rows = constant_mask(lanes, lambda lane: lane < n)
    ratio = builder.fadd(ratios, builder.fsub(total, total))
    ratio = builder.select(rows, ratio, emit.fill(1.0))
    bits = ir.IntType(lanes)
    unordered = builder.bitcast(builder.fcmp_unordered("uno", ratio, ratio), bits)
    smallest = _extreme_lane(builder, ratio, "<")
    one, nan = (ir.Constant(emit.element, value) for value in (1.0, float("nan")))
    smallest = builder.select(builder.fcmp_ordered("<", smallest, one), smallest, one)
    finite = builder.icmp_unsigned("==", unordered, ir.Constant(bits, 0))
    return builder.select(finite, smallest, nan)


def _with_exchanges(emit, d, ldd, column, scale, n):
    """Store the inverse by partial pivoting; returns its ratio."""
    builder, lanes = emit.b, emit.lanes
    column = list(column)
    rows = constant_mask(lanes, lambda lane: lane < n)
    lane_number = ir.Constant(ir.VectorType(ir.IntType(8 * emit.align), lanes), list(range(lanes)))
    ones = emit.fill(1.0)
    home = _Scalars(builder, I64, [integer(lane) for lane in range(lanes)])
    scale = _Scalars(builder, emit.element, scale)
    pivots = _Scalars(builder, emit.element, ones)

    for j in range(n):
        row, rows_splat = _pivot_row(emit, column[j], j, n)
        pick = _picker(emit, row, rows_splat)
        is_row = builder.icmp_signed("==", lane_number, rows_splat)
        is_j = constant_mask(lanes, lambda lane, j=j: lane == j)

        def swapped(vector, into_j, is_row=is_row, is_j=is_j, j=j):
            """Lane `row` gets what lane j held, lane j gets `into_j`."""
            moved = emit.splat(builder.extract_element(vector, integer(j)))
            return builder.select(is_j, into_j, builder.select(is_row, moved, vector))

        pivot = pick(column[j])
        pivots.put(integer(j), builder.extract_element(pivot, integer(0)))
        home.swap(integer(j), row)
        scale.swap(integer(j), row)

        # Lane j of the pivot column is -1 and of the others 0: one fma then also leaves the scaled
        # pivot row in lane j.
        inverse = builder.fdiv(ones, pivot)
        pivot_column = builder.fneg(swapped(column[j], emit.fill(-1.0)))
        for q in range(n):
            if q != j:
                factor = builder.fmul(pick(column[q]), inverse)
                column[q] = emit.fma(pivot_column, factor, swapped(column[q], emit.fill(0.0)))
        column[j] = builder.fmul(pivot_column, inverse)

    for q in range(n):  # columns of the inverse go to the places of the rows they came from
        emit.store(column[q], emit.at(d, builder.mul(home.get(integer(q)), ldd)), rows)

    sizes = emit.intrinsic("fabs", emit.vector, emit.load(pivots.pointer))
    return _ratio(emit, builder.fdiv(sizes, emit.load(scale.pointer)), column, n)


class _Scalars:
    """A few numbers on the stack, swapped at run-time places off the critical path."""

    def __init__(self, builder, element, values):
        self.b = builder
        if isinstance(values, list):
            self.pointer = self._room(element, len(values))
            for lane, value in enumerate(values):
                self.put(integer(lane), value)
        else:
            self.pointer = self._room(element, values.type.count)
            builder.store(values, builder.bitcast(self.pointer, values.type.as_pointer()), align=8)

    def _room(self, element, count):
        with self.b.goto_entry_block():
            return self.b.alloca(element, integer(count))

    def get(self, at):
        return self.b.load(self.b.gep(self.pointer, [at]))

    def put(self, at, value):
        self.b.store(value, self.b.gep(self.pointer, [at]))

    def swap(self, first, second):
        kept, taken = self.get(first), self.get(second)
        self.put(second, kept)
        self.put(first, taken)


def _picker(emit, row, row_splat):
    """Function that spreads the lane `row` of a vector over a whole vector."""
    builder, lanes = emit.b, emit.lanes
    # One permutation where the host has it; LLVM alone would go through memory.
    permutation = {
        ("f64", 8): ("avx512f", "llvm.x86.avx512.permvar.df.512"),
        ("f64", 4): ("avx512vl", "llvm.x86.avx512.permvar.df.256"),
        ("f32", 8): ("avx2", "llvm.x86.avx2.permps"),
    }.get((emit.real, lanes))
    if permutation is None or not host_has(permutation[0]):
        return lambda vector: emit.splat(builder.extract_element(vector, row))
    function = declare(builder.module, permutation[1], emit.vector, [emit.vector, row_splat.type])
    return lambda vector: builder.call(function, [vector, row_splat])


def _pivot_row(emit, column, j, n):
    """Lane of the largest magnitude among the rows from j on, as an i64 and in every lane.

    The lane's number takes the place of the lowest bits of its magnitude: the largest of these
    numbers tells where it came from, with no search. Equal but for these bits, either will do.
    """
    builder, lanes = emit.b, emit.lanes
    bits = ir.VectorType(ir.IntType(8 * emit.align), lanes)
    low = lanes - 1
    sign = 1 << (8 * emit.align - 1)
    kept = ir.Constant(bits, [~(sign | low) & (2 * sign - 1)] * lanes)
    number = ir.Constant(bits, list(range(lanes)))
    size = builder.or_(builder.and_(builder.bitcast(column, bits), kept), number)
    size = builder.bitcast(size, emit.vector)
    below = constant_mask(lanes, lambda lane: j <= lane < n)
    largest = _extreme_lane(builder, builder.select(below, size, emit.fill(-1.0)), ">")
    splat = builder.bitcast(emit.splat(largest), bits)
    splat = builder.and_(splat, ir.Constant(bits, [low] * lanes))
    row = builder.extract_element(splat, integer(0))
    return (row if row.type == I64 else builder.zext(row, I64)), splat


def _extreme_lane(builder, vector, than):
    """Largest (``than`` is ">") or smallest lane by halving; what a NaN gives is unspecified."""
    count = vector.type.count
    while count > 1:
        count //= 2
        halves = [
            ir.Constant(ir.VectorType(I32, count), list(range(first, first + count)))
            for first in (0, count)
        ]
        low, high = (builder.shuffle_vector(vector, vector, half) for half in halves)
        vector = builder.select(builder.fcmp_ordered(than, low, high), low, high)
    return builder.extract_element(vector, integer(0))
