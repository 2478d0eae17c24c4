"""Products of a block with rows of eight right-hand sides, as LLVM functions."""

from llvmlite import ir

from graphsys.kernels.base.widths import TILE_ROWS
from graphsys.kernels.llvm.emit import I64, LANES, REAL, Emitter, cases, integer, private_function
from graphsys.kernels.llvm.lanes import at_most


def rows_function(module, real, mode, transposed=False):
    """``C <- C - A B`` ("subtract") or ``A B`` ("assign"), rows of B and C vectors of eight.

    Arguments ``(c, a, lda, b, m, k)``: C has m rows, A is column-major; A^T stands for A where
    `transposed`. In mode "assign" C may be B when m <= 8.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_rows_{mode}_{'transposed_' if transposed else ''}{real}",
        ir.VoidType(),
        [pointer, pointer, I64, pointer, I64, I64],
        ["c", "a", "lda", "b", "m", "k"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    c, a, lda, b, m, k = function.args
    steps = (lda, integer(1)) if transposed else (integer(1), lda)
    with emit.loop("rows", integer(0), m, integer(TILE_ROWS), []) as (i, _):
        mr = at_most(builder, builder.sub(m, i), TILE_ROWS)
        a_tile = emit.at(a, builder.mul(i, steps[0]))
        tile = (emit.at(c, builder.shl(i, integer(3))), a_tile, steps, b)
        for rows in cases(builder, mr, range(1, TILE_ROWS + 1)):
            _tile(emit, tile, k, rows, mode)
    builder.ret_void()
    return function


def _tile(emit, places, k, rows, mode):
    """One tile in registers, over all k."""
    builder = emit.b
    c, a, (row_step, column_step), b = places
    c_rows = [emit.at(c, integer(LANES * r)) for r in range(rows)]
    subtract = mode == "subtract"
    sums = [emit.load(row) if subtract else emit.fill(0.0) for row in c_rows]
    loop = emit.loop("k", integer(0), k, integer(1), [*sums, integer(0), integer(0)])
    with loop as (_, values):
        *new, a_at, b_at = values
        right = emit.load(emit.at(b, b_at))
        if subtract:
            right = builder.fneg(right)
        for r in range(rows):
            entry = emit.load_scalar(emit.at(a, a_at, builder.mul(integer(r), row_step)))
            new[r] = emit.fma(emit.splat(entry), right, new[r])
        loop.carry([*new, builder.add(a_at, column_step), builder.add(b_at, integer(LANES))])
    for total, row in zip(loop.results, c_rows, strict=False):
        emit.store(total, row)
