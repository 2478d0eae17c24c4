"""Products, magnitudes and copies of small blocks as LLVM functions.

Plain numba loops do not vectorise blocks this small. Matrices are column-major with a leading
dimension; masked loads and stores handle the last rows. A complex matrix is read as a real one of
twice the rows: products with the real and the imaginary part of the right factor are accumulated
apart and joined once at the end. The numba intrinsics on top are in `blocks`, the NumPy twins in
`reference`.
"""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.llvm.columns import Columns, Products
from graphsys.kernels.llvm.emit import (
    I8,
    I32,
    I64,
    LANES,
    REAL,
    Emitter,
    cases,
    declare,
    host_has,
    integer,
    private_function,
    tile,
    tile_cases,
)

#: Terms of a product from which on its result is prefetched: the caches hold that of shorter ones.
#: A tenth of the time of crystal(40) of scalars, crystal(15) of 6 x 6 blocks.
FETCHED = 16
#: Bytes of a cache line.
LINE = 64
#: Modes of products that write C without reading it.
ASSIGN = "assign", "conjugate"


@shared
def product_function(module, real, is_complex, mode):
    """``C <- C - A B`` ("subtract"), ``C + A B`` ("add") or ``A B`` ("assign").

    Arguments ``(c, ldc, a, lda, b, row_step, column_step, m, n, k)``: C is m x n and A m x k,
    both column-major; element (i, j) of B lies at ``b + i row_step + j column_step``. Counts and
    steps are in reals but n and k. In mode "assign" C may be B when m fits one tile of rows; mode
    "conjugate" is C <- A conj(B) of complex numbers.

    One vector of rows and few columns, the everyday case, is done on the spot; anything larger is
    cut into tiles by a second function. Kept apart, LLVM leaves the short way short.
    """
    function, builder = _product_signature(module, "product", real, is_complex, mode)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    _, _, _, _, _, _, _, m, n, _ = function.args
    _, columns, narrow = _product_tile_sizes(real, is_complex, mode)
    large = builder.append_basic_block("large")
    small = builder.append_basic_block("small")
    fits = builder.and_(
        builder.icmp_signed("<=", m, integer(LANES)), builder.icmp_signed("<=", n, integer(narrow))
    )
    builder.cbranch(fits, small, large)
    builder.position_at_end(small)
    for pieces in _row_cases(emit, m, 1):
        switch = builder.switch(n, large)
        for nc in range(1, narrow + 1):
            block = builder.append_basic_block(f"columns.{nc}")
            switch.add_case(integer(nc), block)
            builder.position_at_end(block)
            _product_tile(pieces, function.args[:7], function.args[9], nc, is_complex, mode)
            builder.ret_void()
    builder.position_at_end(large)
    builder.call(_large_product_function(module, real, is_complex, mode), function.args)
    builder.ret_void()
    return function


def _product_signature(module, name, real, is_complex, mode):
    pointer = REAL[real].as_pointer()
    kind = f"c{real}" if is_complex else real
    return private_function(
        module,
        f"graphsys_{name}_{mode}_{kind}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, pointer, I64, I64, I64, I64, I64],
        ["c", "ldc", "a", "lda", "b", "row_step", "column_step", "m", "n", "k"],
    )


def _product_tile_sizes(real, is_complex, mode):
    """Most vectors and columns of a tile, and most columns when there is one vector."""
    vectors, columns = tile(real)
    if is_complex:  # two accumulators an element
        if mode in ASSIGN:  # 8 rows are 16 reals and must fit one tile: C may be B
            columns, vectors = columns * vectors // max(vectors, 2), max(vectors, 2)
        columns = max(1, columns // 2)
        return vectors, columns, columns
    return vectors, columns, 8 if vectors > 1 else columns


def _large_product_function(module, real, is_complex, mode):
    """`product_function` for any size: tiles of rows inside tiles of columns."""
    function, builder = _product_signature(module, "large_product", real, is_complex, mode)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    c, ldc, a, lda, b, row_step, column_step, m, n, k = function.args
    max_vectors, max_columns, _ = _product_tile_sizes(real, is_complex, mode)
    columns_loop = emit.loop("columns", integer(0), n, integer(0), [])
    with columns_loop as (j, _):
        left, widest = builder.sub(n, j), integer(max_columns)
        columns = builder.select(builder.icmp_signed("<=", left, widest), left, widest)
        c_column = emit.at(c, builder.mul(j, ldc))
        b_column = emit.at(b, builder.mul(j, column_step))
        with emit.loop("rows", integer(0), m, integer(LANES * max_vectors), []) as (i, _):
            left = builder.sub(m, i)
            vectors = builder.ashr(builder.add(left, integer(LANES - 1)), integer(3))
            many = builder.icmp_signed(">", vectors, integer(max_vectors))
            vectors = builder.select(many, integer(max_vectors), vectors)
            arguments = [emit.at(c_column, i), ldc, emit.at(a, i), lda, b_column]
            arguments += [row_step, column_step, left, k]
            for mv, nc in tile_cases(builder, vectors, columns, max_vectors, max_columns):
                builder.call(_tile_function(module, real, is_complex, mode, mv, nc), arguments)
        columns_loop.carry([], step=columns)
    builder.ret_void()
    return function


def _tile_function(module, real, is_complex, mode, mv, nc):
    """One tile as a function: ``(c, ldc, a, lda, b, row_step, column_step, rows left, k)``."""
    pointer = REAL[real].as_pointer()
    kind = f"c{real}" if is_complex else real
    function, builder = private_function(
        module,
        f"graphsys_tile_{mode}_{kind}_{mv}_{nc}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, pointer, I64, I64, I64, I64],
        ["c", "ldc", "a", "lda", "b", "row_step", "column_step", "rows", "k"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    rows, k = function.args[7:]
    if mode not in ASSIGN:
        _prefetch_tile(emit, *function.args[:2], k, LANES * mv, nc)
    for pieces in _row_cases(emit, rows, mv):
        _product_tile(pieces, function.args[:7], k, nc, is_complex, mode)
        builder.ret_void()
    return function


def _prefetch_tile(emit, c, ldc, k, rows, columns):
    """Ask for the rows of C that a product of more than `FETCHED` terms updates at its end."""
    with emit.b.if_then(emit.b.icmp_signed(">", k, integer(FETCHED))):
        with emit.loop("fetched", integer(0), integer(columns), integer(1), []) as (j, _):
            column = emit.at(c, emit.b.mul(j, ldc))
            for row in (*range(0, rows, LINE // emit.align), rows - 1):
                emit.prefetch(emit.at(column, integer(row)))


def _row_cases(emit, rows, vectors):
    """Pieces of a tile's rows, with code for each case: ``for pieces in _row_cases(...)``.

    A piece is (emitter, first row, mask). Without registers of their own, masks push accumulators
    out of the vector registers, which costs more than the product: then rows get pieces that need
    none as far as they can.
    """
    builder, start = emit.b, LANES * (vectors - 1)
    whole = [(emit, at, None) for at in range(0, start, LANES)]
    left = builder.sub(rows, integer(start)) if start else rows
    if host_has("avx512f"):
        yield [*whole, (emit, start, emit.first_lanes(left))]
        return
    half = Emitter(builder, emit.real, LANES // 2)
    quarter = Emitter(builder, emit.real, LANES // 4)
    full = builder.append_basic_block("full")
    six = builder.append_basic_block("six")
    many = builder.append_basic_block("many")
    few = builder.append_basic_block("few")
    part = builder.append_basic_block("part")
    builder.cbranch(builder.icmp_signed(">=", left, integer(LANES)), full, part)
    builder.position_at_end(full)
    yield [*whole, (emit, start, None)]
    builder.position_at_end(part)
    rest = builder.append_basic_block("rest")
    builder.cbranch(builder.icmp_signed("==", left, integer(6)), six, rest)
    builder.position_at_end(six)
    yield [*whole, (half, start, None), (quarter, start + half.lanes, None)]
    builder.position_at_end(rest)
    builder.cbranch(builder.icmp_signed(">", left, integer(half.lanes)), many, few)
    builder.position_at_end(many)
    mask = half.first_lanes(builder.sub(left, integer(half.lanes)))
    yield [*whole, (half, start, None), (half, start + half.lanes, mask)]
    builder.position_at_end(few)
    yield [*whole, (half, start, half.first_lanes(left))]


def _product_tile(pieces, places, k, nc, is_complex, mode):
    """Pieces of rows times nc columns in registers, over all k."""
    emit = pieces[0][0]
    builder, emitters = emit.b, {piece for piece, _, _ in pieces}
    c, ldc, a, lda, b, row_step, column_step = places
    parts = 2 if is_complex else 1
    # One column alone is bound by the latency of its chain of fma: several chains then. With one,
    # the solution of case9241pegase with b = 1 needs a refinement, 1.22 of the time.
    chains = (4 if len(pieces) == 1 else 2) if nc == 1 else 1
    if is_complex and not host_has("avx512f"):
        chains = max(1, chains // parts)
    b_column = [emit.at(b, builder.mul(integer(q), column_step)) for q in range(nc)]
    count = nc * parts * len(pieces)

    def step(a_at, b_at, sums):
        left = [p.load(p.at(a, a_at, integer(first)), mask) for p, first, mask in pieces]
        for q in range(nc):
            place = emit.at(b_column[q], b_at)
            for part in range(parts):
                number = emit.load_scalar(emit.at(place, integer(part)))
                right = {piece.lanes: piece.splat(number) for piece in emitters}
                for v, (piece, _, _) in enumerate(pieces):
                    at = (q * parts + part) * len(pieces) + v
                    sums[at] = piece.fma(left[v], right[piece.lanes], sums[at])
        return sums

    zeros = [piece.fill(0.0) for _ in range(nc * parts) for piece, _, _ in pieces]
    sums, start, at = zeros, integer(0), [integer(0), integer(0)]
    if chains > 1:
        start = builder.and_(k, integer(-chains))
        carried = zeros * chains + at
        loop = emit.loop("k", integer(0), start, integer(chains), carried)
        with loop as (_, values):
            a_at, b_at = values[-2:]
            new = []
            for chain in range(chains):
                new += step(a_at, b_at, list(values[chain * count : (chain + 1) * count]))
                a_at, b_at = builder.add(a_at, lda), builder.add(b_at, row_step)
            loop.carry([*new, a_at, b_at])
        sums, at = loop.results[:-2], loop.results[-2:]
        while len(sums) > count:
            half = len(sums) // 2
            sums = [builder.fadd(x, y) for x, y in zip(sums[:half], sums[half:], strict=True)]
    loop = emit.loop("k", start, k, integer(1), [*sums, *at])
    with loop as (_, values):
        a_at, b_at = values[-2:]
        new = step(a_at, b_at, list(values[:-2]))
        loop.carry([*new, builder.add(a_at, lda), builder.add(b_at, row_step)])
    sums = loop.results[:-2]

    # All loads of C before its first store: a masked store delays a load of the bytes it masks.
    totals = []
    for q in range(nc):
        c_column = emit.at(c, builder.mul(integer(q), ldc))
        for v, (piece, first, mask) in enumerate(pieces):
            place = piece.at(c_column, integer(first))
            total = sums[q * parts * len(pieces) + v]
            if is_complex:
                other = sums[(q * parts + 1) * len(pieces) + v]
                total = _join_complex(piece, total, other, mode == "conjugate")
            if mode not in ASSIGN:
                old = piece.load(place, mask)
                total = builder.fsub(old, total) if mode == "subtract" else builder.fadd(old, total)
            totals.append((piece, total, place, mask))
    for piece, total, place, mask in totals:
        piece.store(total, place, mask)


def _join_complex(emit, with_real, with_imaginary, conjugated):
    """(a Re b, a Im b) of interleaved a -> a b or a conj(b): the second turned and added."""
    swap = ir.Constant(ir.VectorType(I32, emit.lanes), [lane ^ 1 for lane in range(emit.lanes)])
    swapped = emit.b.shuffle_vector(with_imaginary, with_imaginary, swap)
    negative = int(conjugated)
    sign = emit.constant([-1.0 if lane % 2 == negative else 1.0 for lane in range(emit.lanes)])
    return emit.fma(swapped, sign, with_real)


def transposed_function(module, real):
    """``C <- C - A^T B``: arguments ``(c, ldc, a, lda, b, ldb, m, n, k)``, all real.

    C is m x n, A is k x m; all are column-major.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_subtract_transposed_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, pointer, I64, I64, I64, I64],
        ["c", "ldc", "a", "lda", "b", "ldb", "m", "n", "k"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    c, ldc, a, lda, b, ldb, m, n, k = function.args
    with emit.loop("rows", integer(0), m, integer(LANES), []) as (i, _):
        left = builder.sub(m, i)
        many = builder.icmp_signed(">", left, integer(LANES))
        a_column = emit.at(a, builder.mul(i, lda))
        for rows in cases(builder, builder.select(many, integer(LANES), left), range(1, LANES + 1)):
            products = Products(builder, real, rows)
            own = Columns(builder, real, rows, products.emit.lanes)
            steps = [builder.mul(lda, integer(q)) for q in range(rows)]
            with emit.loop("columns", integer(0), n, integer(1), []) as (j, _):
                b_column = emit.at(b, builder.mul(j, ldb))
                sums = products.add(products.zeros(), a_column, steps, b_column, k)
                place = emit.at(c, i, builder.mul(j, ldc))
                own.store(own.map(builder.fsub, own.load(place), products.totals(sums)), place)
    builder.ret_void()
    return function


def magnitude_function(module, real, mode):
    """``s_i <- max(s_i, max_j |A_ij|)`` ("raise") or ``s_i + sum_j |A_ij|`` ("add").

    Arguments ``(s, a, lda, m, n)``, all real.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_{mode}_magnitude_{real}",
        ir.VoidType(),
        [pointer, pointer, I64, I64, I64],
        ["s", "a", "lda", "m", "n"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    s, a, lda, m, n = function.args
    with emit.loop("rows", integer(0), m, integer(LANES), []) as (i, _):
        mask = emit.first_lanes(builder.sub(m, i))
        loop = emit.loop("columns", integer(0), n, integer(1), [emit.load(emit.at(s, i), mask)])
        with loop as (j, (carried,)):
            entry = emit.load(emit.at(a, i, builder.mul(j, lda)), mask)
            entry = emit.intrinsic("fabs", emit.vector, entry)
            if mode == "add":
                loop.carry([builder.fadd(carried, entry)])
            else:
                larger = builder.fcmp_ordered(">", entry, carried)
                loop.carry([builder.select(larger, entry, carried)])
        emit.store(loop.results[0], emit.at(s, i), mask)
    builder.ret_void()
    return function


def largest_function(module, real):
    """Largest ``|A_ij|``; NaN where there is one: ``(a, lda, m, n)``, all real.

    The result is 0 for no entries. Without their signs floats are ordered like the integers with
    the same bits, and a NaN is beyond all of them.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_largest_{real}",
        REAL[real],
        [pointer, I64, I64, I64],
        ["a", "lda", "m", "n"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    a, lda, m, n = function.args
    integers = ir.VectorType(ir.IntType(8 * emit.align), LANES)
    nothing = ir.Constant(integers, [0] * LANES)
    rows = emit.loop("rows", integer(0), m, integer(LANES), [nothing])
    with rows as (i, (carried,)):
        mask = emit.first_lanes(builder.sub(m, i))
        columns = emit.loop("columns", integer(0), n, integer(1), [carried])
        with columns as (j, (most,)):
            entry = emit.load(emit.at(a, i, builder.mul(j, lda)), mask)
            size = builder.bitcast(emit.intrinsic("fabs", emit.vector, entry), integers)
            larger = builder.icmp_signed(">", size, most)
            columns.carry([builder.select(larger, size, most)])
        rows.carry([columns.results[0]])
    name = f"llvm.vector.reduce.smax.v{LANES}i{8 * emit.align}"
    reduce = declare(module, name, integers.element, [integers])
    builder.ret(builder.bitcast(builder.call(reduce, rows.results), REAL[real]))
    return function


def beyond_function(module, real):
    """Not 0 where any ``s_i > limit t_i``: arguments ``(s, t, limit, n)``, all real."""
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_beyond_{real}",
        I64,
        [pointer, pointer, REAL[real], I64],
        ["s", "t", "limit", "n"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    s, t, limit, n = function.args
    factor = emit.splat(limit)
    with_rows = emit.loop("rows", integer(0), n, integer(LANES), [ir.Constant(I8, 0)])
    with with_rows as (i, (found,)):
        mask = emit.first_lanes(builder.sub(n, i))
        bound = builder.fmul(emit.load(emit.at(t, i), mask), factor)
        large = builder.fcmp_ordered(">", emit.load(emit.at(s, i), mask), bound)
        with_rows.carry([builder.or_(found, builder.bitcast(large, I8))])
    builder.ret(builder.zext(with_rows.results[0], I64))
    return function


def copy_function(module, real, mode):
    """``B <- A`` ("copy") or ``B + A`` ("add"): ``(b, ldb, a, lda, m, n)``, all counts in reals.

    A and B are column-major. Taller blocks than a vector go to a second function, and there column
    by column, as they lie in memory: masked stores with a stride take three times as long beyond
    the caches.
    """
    function, builder = _copy_signature(module, mode, real)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    m, n = function.args[4:]
    with builder.if_then(builder.icmp_signed(">", m, integer(LANES)), likely=False):
        builder.call(_tall_copy_function(module, real, mode), function.args)
        builder.ret_void()
    mask = emit.first_lanes(m)
    with emit.loop("columns", integer(0), n, integer(1), []) as (j, _):
        _copy_piece(emit, function.args, mode, integer(0), j, mask)
    builder.ret_void()
    return function


def _copy_signature(module, name, real):
    pointer = REAL[real].as_pointer()
    return private_function(
        module,
        f"graphsys_{name}_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, I64, I64],
        ["b", "ldb", "a", "lda", "m", "n"],
    )


def _copy_piece(emit, places, mode, i, j, mask):
    """Rows i ... of column j, one vector."""
    b, ldb, a, lda = places[:4]
    place = emit.at(b, i, emit.b.mul(j, ldb))
    entry = emit.load(emit.at(a, i, emit.b.mul(j, lda)), mask)
    if mode == "add":
        entry = emit.b.fadd(emit.load(place, mask), entry)
    emit.store(entry, place, mask)


def _tall_copy_function(module, real, mode):
    """`copy_function` for more rows than a vector has."""
    function, builder = _copy_signature(module, f"tall_{mode}", real)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    m, n = function.args[4:]
    whole = builder.and_(m, integer(-LANES))
    mask = emit.first_lanes(builder.sub(m, whole))
    partial = builder.icmp_signed("<", whole, m)
    with emit.loop("columns", integer(0), n, integer(1), []) as (j, _):
        with emit.loop("rows", integer(0), whole, integer(LANES), []) as (i, _):
            _copy_piece(emit, function.args, mode, i, j, None)
        with builder.if_then(partial):
            _copy_piece(emit, function.args, mode, whole, j, mask)
    builder.ret_void()
    return function
