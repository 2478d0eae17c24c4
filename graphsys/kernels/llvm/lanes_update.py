"""Updates that also load what they update, for eight systems at once; layout as in `lanes`."""

from llvmlite import ir

from graphsys.kernels.base.widths import TILE_ROWS
from graphsys.kernels.llvm.emit import (
    I64,
    LANES,
    REAL,
    Emitter,
    integer,
    private_function,
    tile_cases,
)
from graphsys.kernels.llvm.lanes import (
    at_most,
    four_numbers,
    larger,
    load_tile,
    multiply,
    one_number,
    systems_at,
    tile_columns,
)


def update_function(module, real, stored):
    """``C <- S - A B``, m <= 8; ``s_i <- max(s_i, max_j |S_ij|)`` where `raises` is not 0.

    Arguments ``(c, ldc, source, step, a, lda, b, ldb, m, n, k, raises, s)``. S is m x n like C:
    vectors with the leading dimension `step` where it is `stored`, else blocks of eight systems,
    column-major without gaps, `step` numbers from one to the next, which are transposed in
    registers.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_update_{'stored' if stored else 'values'}_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, I64, pointer, I64, pointer, I64, I64, I64, I64, I64, pointer],
        ["c", "ldc", "source", "step", "a", "lda", "b", "ldb", "m", "n", "k", "raises", "s"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    c, ldc, source, step, a, lda, b, ldb, m, n, k, raises, s = function.args
    raises = builder.icmp_signed("!=", raises, integer(0))
    ldc, lda, ldb = (builder.shl(ld, integer(3)) for ld in (ldc, lda, ldb))
    if stored:
        step = builder.shl(step, integer(3))
    columns = tile_columns()
    with emit.loop("columns", integer(0), n, integer(columns), []) as (j, _):
        nc = at_most(builder, builder.sub(n, j), columns)
        c_tile, b_tile = emit.at(c, builder.mul(j, ldc)), emit.at(b, builder.mul(j, ldb))
        s_tile = emit.at(source, builder.mul(j, step if stored else m))
        places = (c_tile, ldc, a, integer(LANES), lda, b_tile, integer(LANES), ldb)
        for rows, width in tile_cases(builder, m, nc, TILE_ROWS, columns):
            if stored:
                sums = load_tile(emit, s_tile, integer(LANES), step, rows, width)
            else:
                sums = numbers(emit, systems_at(emit, s_tile, step), rows * width)
            with builder.if_then(raises):
                _raise(emit, s, sums, rows)
            multiply(emit, places, k, rows, width, sums, subtract=True)
    builder.ret_void()
    return function


def numbers(emit, pointers, count):
    """Vectors of the first numbers at eight pointers."""
    if count < 4:
        return [one_number(emit, [emit.at(p, integer(e)) for p in pointers]) for e in range(count)]
    vectors = []
    for first in range(0, count, 4):
        first = min(first, count - 4)  # the last four overlap
        four = four_numbers(emit, [emit.at(p, integer(first)) for p in pointers])
        vectors = [*vectors[:first], *four]
    return vectors


def _raise(emit, s, entries, rows):
    """s_i <- max(s_i, max_j |S_ij|)."""
    for r in range(rows):
        place = emit.at(s, integer(LANES * r))
        largest = emit.load(place)
        for entry in entries[r::rows]:
            largest = larger(emit, emit.intrinsic("fabs", emit.vector, entry), largest)
        emit.store(largest, place)
