"""Inverse of a small block in registers, as an LLVM function."""

from llvmlite import ir

from .columns import Columns, lanes_of
from .emit import (
    BYTES,
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
        if exchange:
            cols = Columns(builder, real, size, lanes=next(n for n in (2, 4, 8) if n >= size))
            builder.ret(_with_exchanges(cols, d, ldd, *_loaded(cols, a, lda, s)))
            continue
        cols = Columns(builder, real, size)
        [(inverse, ratio, large)] = _without_exchanges(cols, [_loaded(cols, a, lda, s)])
        kept = builder.append_basic_block(f"kept.{size}")
        builder.cbranch(builder.icmp_unsigned("==", large, integer(0)), kept, wild)
        builder.position_at_end(kept)
        _store(cols, d, ldd, inverse)
        builder.ret(ratio)
    if not exchange:
        builder.position_at_end(wild)
        builder.ret(builder.call(inverse_function(module, real, True), function.args))
    builder.position_at_end(never)
    builder.unreachable()
    return function


def two_inverses_function(module, real):
    """`inverse_function` of two blocks of one size, their instructions by turns.

    Arguments ``(d, ldd, a, lda, s)`` of the one and of the other, then n; their ratios take the
    places s[0]. In one inverse nearly every instruction waits for the one before.
    """
    element = REAL[real]
    pointer = element.as_pointer()
    names = ["d", "ldd", "a", "lda", "s"]
    function, builder = private_function(
        module,
        f"graphsys_two_inverses_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, pointer] * 2 + [I64],
        [name + which for which in ("", "_2") for name in names] + ["n"],
    )
    if builder is None:
        return function
    blocks, n = (function.args[:5], function.args[5:10]), function.args[10]
    emit = Emitter(builder, real)
    apart = builder.append_basic_block("apart")
    switch = builder.switch(n, apart)
    for size in range(1, SMALL + 1):
        if not _two_fit(real, size):
            continue
        block = builder.append_basic_block(f"size.{size}")
        switch.add_case(integer(size), block)
        builder.position_at_end(block)
        cols = Columns(builder, real, size)
        results = _without_exchanges(cols, [_loaded(cols, *block[2:]) for block in blocks])
        for place, (inverse, ratio, large) in zip(blocks, results, strict=True):
            small = builder.icmp_unsigned("==", large, integer(0))
            with builder.if_else(small) as (tame, wild):
                with tame:
                    _store(cols, *place[:2], inverse)
                    builder.store(ratio, place[4], align=emit.align)
                with wild:
                    exchanged = builder.call(inverse_function(module, real, True), [*place, n])
                    builder.store(exchanged, place[4], align=emit.align)
        builder.ret_void()
    builder.position_at_end(apart)
    for place in blocks:
        ratio = builder.call(inverse_function(module, real), [*place, n])
        builder.store(ratio, place[4], align=emit.align)
    builder.ret_void()
    return function


def _two_fit(real, size):
    """Whether the columns of two blocks leave a quarter of the host's registers for the rest."""
    if host_has("avx512f"):
        registers, width = 32, 64
    elif host_has("avx2"):
        registers, width = 16, 32
    else:
        registers, width = 16, 16
    lanes = lanes_of(real, size)
    each = -(-size // lanes) * -(-lanes * BYTES[real] // width)
    return 2 * size * each <= registers * 3 // 4


def _loaded(cols, a, lda, s):
    """Columns of A, and the largest magnitude of each row now or before."""
    builder, emit = cols.b, cols.emit
    sources = [emit.at(a, builder.mul(integer(k), lda)) for k in range(cols.rows)]
    column = [cols.load(source) for source in sources]
    scale = cols.select(lambda row: row < cols.rows, cols.load(s), cols.fill(1.0))
    for entries in column:
        scale = cols.larger(cols.fabs(entries), scale)
    return column, scale


def _store(cols, d, ldd, column):
    for k, entries in enumerate(column):
        cols.store(entries, cols.emit.at(d, cols.b.mul(integer(k), ldd)))


def _without_exchanges(cols, blocks):
    """(Inverse, its ratio, bits of rows that had too large a multiplier) of each (column, scale).

    Pivots are those of the diagonal. Pivot rows are scaled at the end only. The next pivot is
    computed ahead, apart from its column: the division, by far the slowest instruction, then waits
    for one fma instead of four steps. Blocks take turns, a pivot each.
    """
    builder, emit, n = cols.b, cols.emit, cols.rows
    nothing, ones = cols.fill(0.0), cols.fill(1.0)
    minus_one = ir.Constant(emit.element, -1.0)
    columns = [list(column) for column, _ in blocks]
    inverses = [cols.fill(-1.0) for _ in blocks]
    squares = [nothing for _ in blocks]
    pivots = [cols.entry(column[0], 0) for column in columns]
    for j in range(n):
        for b, column in enumerate(columns):
            inverse = builder.fdiv(minus_one, pivots[b])
            if j + 1 < n:
                left, above = cols.entry(column[j], j + 1), cols.entry(column[j + 1], j)
                corner = cols.entry(column[j + 1], j + 1)
                pivots[b] = emit.intrinsic(
                    "fmuladd", emit.element, builder.fmul(left, above), inverse, corner,
                    vector=False,
                )  # fmt: skip
            inverse = cols.splat(inverse)
            scaled = cols.map(builder.fmul, column[j], inverse)
            multipliers = cols.select(lambda row, j=j: row == j, nothing, scaled)
            inverses[b] = cols.select(lambda row, j=j: row == j, inverse, inverses[b])
            if j + 1 < n:
                grown = cols.fma(multipliers, multipliers, squares[b])
                squares[b] = cols.select(lambda row, j=j: row > j, grown, squares[b])
            for q in range(n):
                if q != j:
                    row = cols.splat(cols.entry(column[q], j))
                    column[q] = cols.fma(multipliers, row, column[q])
            column[j] = cols.select(lambda row, j=j: row == j, ones, multipliers)
    return [
        _finished(cols, column, scale, cols.map(builder.fneg, inverse), grown)
        for column, (_, scale), inverse, grown in zip(
            columns, blocks, inverses, squares, strict=True
        )
    ]


def _finished(cols, column, scale, inverses, squares):
    """Inverse, ratio and bits of `_without_exchanges` before rows are scaled."""
    builder, emit = cols.b, cols.emit
    column = [cols.map(builder.fmul, entries, inverses) for entries in column]
    large = integer(0)
    for piece in squares:  # unordered: a NaN does not pass for small
        wild = builder.fcmp_unordered(">", piece, emit.fill(GROWTH * GROWTH))
        wild = builder.bitcast(wild, ir.IntType(emit.lanes))
        large = builder.or_(large, builder.zext(wild, I64))
    weakness = cols.map(builder.fmul, cols.fabs(inverses), scale)
    return column, _ratio(cols, cols.map(builder.fdiv, cols.fill(1.0), weakness), column), large


def _ratio(cols, ratios, column):
    """Smallest of the pivots' ratios, at most 1; NaN where the inverse is not finite."""
    builder, emit = cols.b, cols.emit
    total = column[0]
    for entries in column[1:]:
        total = cols.map(builder.fadd, total, entries)
    ratios = cols.map(builder.fadd, ratios, cols.map(builder.fsub, total, total))
    ratios = cols.select(lambda row: row < cols.rows, ratios, cols.fill(1.0))
    smallest, unordered = ratios[0], integer(0)
    for piece in ratios:
        smallest = builder.select(builder.fcmp_ordered("<", piece, smallest), piece, smallest)
        lost = builder.bitcast(builder.fcmp_unordered("uno", piece, piece), ir.IntType(emit.lanes))
        unordered = builder.or_(unordered, builder.zext(lost, I64))
    smallest = _extreme_lane(builder, smallest, "<")
    one, nan = (ir.Constant(emit.element, value) for value in (1.0, float("nan")))
    smallest = builder.select(builder.fcmp_ordered("<", smallest, one), smallest, one)
    finite = builder.icmp_unsigned("==", unordered, integer(0))
    return builder.select(finite, smallest, nan)


def _with_exchanges(cols, d, ldd, column, scale):
    """Store the inverse by partial pivoting; returns its ratio. Columns in one piece."""
    builder, emit, n = cols.b, cols.emit, cols.rows
    lanes = emit.lanes
    column, [scale] = [piece for [piece] in column], scale
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
    ratios = builder.fdiv(sizes, emit.load(scale.pointer))
    return _ratio(cols, [ratios], [[entries] for entries in column])


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
