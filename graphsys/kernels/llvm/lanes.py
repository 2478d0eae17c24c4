"""Products, magnitudes and loads of blocks for eight systems at once, as LLVM functions.

Every number of a block is a vector: the same number of eight systems, one in each lane. Matrices
are column-major, their leading dimensions and steps count vectors. The numba intrinsics on top are
in `batch_blocks`, with their NumPy twins.
"""

from llvmlite import ir

from graphsys.kernels.base.widths import TILE_ROWS
from graphsys.kernels.llvm.emit import (
    I32,
    I64,
    LANES,
    REAL,
    Emitter,
    host_has,
    integer,
    private_function,
    tile_cases,
)


def tile_columns():
    """Columns of a tile: as many as fit the registers of the host besides `TILE_ROWS` rows."""
    return 3 if host_has("avx512f") else 1


def product_function(module, real, mode, transposed=False):
    """``C <- C - A B`` ("subtract") or ``A B`` ("assign"); A^T stands for A where `transposed`.

    Arguments ``(c, ldc, a, lda, b, row_step, column_step, m, n, k)``: C is m x n; element (i, j) of
    B lies at ``b + i row_step + j column_step``. In mode "assign" C may be B when m <= 8.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_{mode}_{'transposed_' if transposed else ''}{real}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, pointer, I64, I64, I64, I64, I64],
        ["c", "ldc", "a", "lda", "b", "row_step", "column_step", "m", "n", "k"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    c, ldc, a, lda, b, row_step, column_step, m, n, k = function.args
    ldc, lda, row_step, column_step = (
        builder.shl(step, integer(3)) for step in (ldc, lda, row_step, column_step)
    )
    steps = (lda, integer(LANES)) if transposed else (integer(LANES), lda)
    columns = tile_columns()
    with emit.loop("columns", integer(0), n, integer(columns), []) as (j, _):
        nc = at_most(builder, builder.sub(n, j), columns)
        c_column = emit.at(c, builder.mul(j, ldc))
        b_column = emit.at(b, builder.mul(j, column_step))
        with emit.loop("rows", integer(0), m, integer(TILE_ROWS), []) as (i, _):
            mr = at_most(builder, builder.sub(m, i), TILE_ROWS)
            c_tile = emit.at(c_column, builder.mul(i, integer(LANES)))
            a_tile = emit.at(a, builder.mul(i, steps[0]))
            places = (c_tile, ldc, a_tile, *steps, b_column, row_step, column_step)
            for rows, width in tile_cases(builder, mr, nc, TILE_ROWS, columns):
                if mode == "subtract":
                    sums = load_tile(emit, c_tile, integer(LANES), ldc, rows, width)
                else:
                    sums = [emit.fill(0.0)] * (rows * width)
                multiply(emit, places, k, rows, width, sums, mode == "subtract")
    builder.ret_void()
    return function


def at_most(builder, count, most):
    """The smaller of an i64 and a number."""
    fewer = builder.icmp_signed("<", count, integer(most))
    return builder.select(fewer, count, integer(most))


def load_tile(emit, first, row_step, column_step, rows, width):
    """Vectors of a tile, column by column."""
    b = emit.b
    return [
        emit.load(emit.at(first, b.mul(integer(q), column_step), b.mul(integer(r), row_step)))
        for q in range(width)
        for r in range(rows)
    ]


def multiply(emit, places, k, rows, width, sums, subtract):
    """C <- sums + A B, or - A B, for one tile in registers, over all k; sums column by column."""
    builder = emit.b
    c, ldc, a, a_row, a_column, b, row_step, column_step = places
    a, b = emit.here(a), emit.here(b)  # LLVM would keep places for every tile on the stack else
    loop = emit.loop("k", integer(0), k, integer(1), [*sums, a, b])
    with loop as (_, values):
        *new, a_at, b_at = values
        right = [
            emit.load(emit.at(b_at, builder.mul(integer(q), column_step))) for q in range(width)
        ]
        for r in range(rows):
            left = emit.load(emit.at(a_at, builder.mul(integer(r), a_row)))
            left = builder.fneg(left) if subtract else left
            for q in range(width):
                new[q * rows + r] = emit.fma(left, right[q], new[q * rows + r])
        loop.carry([*new, emit.at(a_at, a_column), emit.at(b_at, row_step)])
    for q in range(width):
        column = emit.at(c, builder.mul(integer(q), ldc))
        for r in range(rows):
            emit.store(loop.results[q * rows + r], emit.at(column, integer(LANES * r)))


def magnitude_function(module, real):
    """``s_i <- max(s_i, max_j |A_ij|)``: arguments ``(s, a, lda, m, n)``."""
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_magnitude_{real}",
        ir.VoidType(),
        [pointer, pointer, I64, I64, I64],
        ["s", "a", "lda", "m", "n"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    s, a, lda, m, n = function.args
    lda = builder.shl(lda, integer(3))
    end = builder.shl(m, integer(3))
    with emit.loop("rows", integer(0), end, integer(LANES), []) as (i, _):
        loop = emit.loop("columns", integer(0), n, integer(1), [emit.load(emit.at(s, i)), i])
        with loop as (_, (largest, place)):
            entry = emit.intrinsic("fabs", emit.vector, emit.load(emit.at(a, place)))
            loop.carry([larger(emit, entry, largest), builder.add(place, lda)])
        emit.store(loop.results[0], emit.at(s, i))
    builder.ret_void()
    return function


def larger(emit, value, other):
    """Larger lane of two; `other` where `value` is NaN."""
    return emit.b.select(emit.b.fcmp_ordered(">", value, other), value, other)


def load_function(module, real):
    """``B <- block`` of eight systems: arguments ``(b, ldb, a, stride, m, n)``.

    The m x n blocks are column-major without gaps, `stride` numbers from one system to the next.
    Four numbers of eight systems are transposed in registers at a time.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_load_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, I64, I64],
        ["b", "ldb", "a", "stride", "m", "n"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    b, ldb, a, stride, m, n = function.args
    systems = [emit.at(a, builder.mul(integer(lane), stride)) for lane in range(LANES)]
    gap = builder.shl(builder.sub(ldb, m), integer(3))  # from the end of a column to the next one
    total = builder.mul(m, n)
    whole = builder.and_(total, integer(-4))

    def put(vector, place, row):
        """Store a vector; place and row of the next one."""
        emit.store(vector, emit.at(b, place))
        row = builder.add(row, integer(1))
        ends = builder.icmp_signed("==", row, m)
        step = builder.select(ends, builder.add(gap, integer(LANES)), integer(LANES))
        return builder.add(place, step), builder.select(ends, integer(0), row)

    loop = emit.loop("fours", integer(0), whole, integer(4), [integer(0), integer(0)])
    with loop as (e, (place, row)):
        for vector in four_numbers(emit, [emit.at(system, e) for system in systems]):
            place, row = put(vector, place, row)
        loop.carry([place, row])
    rest = emit.loop("rest", whole, total, integer(1), loop.results)
    with rest as (e, (place, row)):
        rest.carry(put(one_number(emit, [emit.at(system, e) for system in systems]), place, row))
    builder.ret_void()
    return function


def systems_at(emit, first, step):
    """Pointers `step` numbers apart, computed where they are needed."""
    first, step = emit.here(first), emit.here(step)
    return [emit.at(first, emit.b.mul(integer(lane), step)) for lane in range(LANES)]


def one_number(emit, pointers):
    """Vector of the numbers at eight pointers."""
    vector = ir.Constant(emit.vector, ir.Undefined)
    for lane, pointer in enumerate(pointers):
        number = emit.load_scalar(pointer)
        vector = emit.b.insert_element(vector, number, ir.Constant(I32, lane))
    return vector


def four_numbers(emit, pointers):
    """Vectors of the numbers 0 to 3 at eight pointers."""
    builder = emit.b

    def shuffle(x, y, places):
        order = ir.Constant(ir.VectorType(I32, len(places)), places)
        return builder.shuffle_vector(x, y, order)

    quarter = ir.VectorType(emit.element, 4).as_pointer()
    fours = [builder.load(builder.bitcast(p, quarter), align=emit.align) for p in pointers]
    # Systems 0 and 2 side by side, 1 and 3, 4 and 6, 5 and 7: then pairs of systems stay pairs.
    halves = [shuffle(fours[s], fours[s + 2], list(range(8))) for s in (0, 1, 4, 5)]
    even, odd = [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]
    low, high = [0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]
    pairs = [[shuffle(halves[s], halves[s + 1], order) for s in (0, 2)] for order in (even, odd)]
    return [shuffle(*pairs[e % 2], low if e < 2 else high) for e in range(4)]


def each_lane(emit, vectors):
    """The four numbers of each lane of four vectors; `four_numbers` the other way."""

    def shuffle(x, y, places):
        order = ir.Constant(ir.VectorType(I32, len(places)), places)
        return emit.b.shuffle_vector(x, y, order)

    even, odd = [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]
    low, high = (
        [shuffle(vectors[v], vectors[v + 1], order) for order in (even, odd)] for v in (0, 2)
    )
    fours = []
    for lane in range(LANES):
        first = lane - lane % 2
        places = [first, first + 1, LANES + first, LANES + first + 1]
        fours.append(shuffle(low[lane % 2], high[lane % 2], places))
    return fours


def gather_function(module, real):
    """``x_i <- b[order_i step]`` of eight systems: ``(x, b, stride, order, step, rows)``."""
    function, builder = _exchange_signature(module, "gather", real)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    x, b, stride, order, step, rows = function.args
    systems = [emit.at(b, builder.mul(integer(lane), stride)) for lane in range(LANES)]
    with emit.loop("rows", integer(0), rows, integer(1), []) as (i, _):
        row = builder.mul(builder.load(emit.at(order, i)), step)
        vector = one_number(emit, [emit.at(system, row) for system in systems])
        emit.store(vector, emit.at(x, builder.shl(i, integer(3))))
    builder.ret_void()
    return function


def scatter_function(module, real):
    """``b[order_i step] <- x_i`` of eight systems; arguments as of `gather_function`."""
    function, builder = _exchange_signature(module, "scatter", real)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    x, b, stride, order, step, rows = function.args
    systems = [emit.at(b, builder.mul(integer(lane), stride)) for lane in range(LANES)]
    with emit.loop("rows", integer(0), rows, integer(1), []) as (i, _):
        row = builder.mul(builder.load(emit.at(order, i)), step)
        vector = emit.at(x, builder.shl(i, integer(3)))
        for lane, system in enumerate(systems):
            number = emit.load_scalar(emit.at(vector, integer(lane)))
            builder.store(number, emit.at(system, row), align=emit.align)
    builder.ret_void()
    return function


def _exchange_signature(module, name, real):
    pointer = REAL[real].as_pointer()
    return private_function(
        module,
        f"graphsys_lanes_{name}_{real}",
        ir.VoidType(),
        [pointer, pointer, I64, I64.as_pointer(), I64, I64],
        ["x", "b", "stride", "order", "step", "rows"],
    )
