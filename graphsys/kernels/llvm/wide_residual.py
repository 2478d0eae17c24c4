"""Residual of the rows of one node of any size, as an LLVM function."""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.llvm.emit import I64, LANES, REAL, Emitter, cases, integer, private_function

#: Vectors of rows that are summed up at a time: twice as many sums stay in registers. With one,
#: solves of control problems of 12 + 4 and 27 + 13 by stages take 1.14 to 1.17 times as long.
TOGETHER = 4


@shared
def wide_residual_function(module, real):
    """``r <- b - A x, d <- |A| |x| + |b|`` for the rows of one node.

    Arguments ``(r, d, b, values, x, rows, own, begin, end, size, row_start, neighbor)``: r, d and b
    begin with the node's rows, values with its blocks: first the one of the node ``own`` itself,
    then those of ``neighbor[begin:end]``. x and the other tables are those of all nodes.
    """
    pointer, table = REAL[real].as_pointer(), I64.as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_wide_residual_{real}",
        ir.VoidType(),
        [*[pointer] * 5, *[I64] * 4, *[table] * 3],
        ["r", "d", "b", "values", "x", "rows", "own", "begin", "end"]
        + ["size", "row_start", "neighbor"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    rows, step = function.args[5], LANES * TOGETHER
    with emit.loop("rows", integer(0), rows, integer(step), []) as (first, _):
        left = builder.sub(rows, first)
        fewer = builder.icmp_signed("<", left, integer(step))
        left = builder.select(fewer, left, integer(step))
        vectors = builder.sdiv(builder.add(left, integer(LANES - 1)), integer(LANES))
        for count in cases(builder, vectors, range(1, TOGETHER + 1)):
            _some_rows(emit, function.args, first, left, count)
    builder.ret_void()
    return function


def _some_rows(emit, arguments, first, left, count):
    """Rows from ``first`` on in ``count`` vectors, the last of which holds the end of ``left``."""
    builder = emit.b
    r, d, b, values, x, rows, own, begin, end, size, row_start, neighbor = arguments
    starts = [integer(LANES * v) for v in range(count)]
    masks = [None] * (count - 1) + [emit.first_lanes(builder.sub(left, starts[-1]))]

    def absolute(value):
        return emit.intrinsic("fabs", emit.vector, value)

    right = [
        emit.load(emit.at(b, first, start), mask) for start, mask in zip(starts, masks, strict=True)
    ]
    carried = [emit.at(values, first), *right, *map(absolute, right)]
    before = builder.sub(begin, integer(1))
    blocks = emit.loop(f"blocks.{count}", before, end, integer(1), carried)
    with blocks as (p, carried):
        mine = builder.icmp_signed("==", p, before)
        other = builder.select(mine, emit.at(size, own), emit.at(neighbor, p))
        j = builder.select(mine, own, builder.load(other))
        columns = builder.load(emit.at(size, j))
        known = emit.at(x, builder.load(emit.at(row_start, j)))
        loop = emit.loop(f"columns.{count}", integer(0), columns, integer(1), carried)
        with loop as (c, (column, *sums)):
            factor = emit.splat(emit.load_scalar(emit.at(known, c)))
            size_of_factor, new, sizes = absolute(factor), [], []
            for v, (start, mask) in enumerate(zip(starts, masks, strict=True)):
                entries = emit.load(emit.at(column, start), mask)
                new.append(emit.fma(builder.fneg(entries), factor, sums[v]))
                sizes.append(emit.fma(absolute(entries), size_of_factor, sums[count + v]))
            loop.carry([emit.at(column, rows), *new, *sizes])
        blocks.carry(loop.results)
    _, *sums = blocks.results
    for to, some in ((r, sums[:count]), (d, sums[count:])):
        for total, start, mask in zip(some, starts, masks, strict=True):
            emit.store(total, emit.at(to, first, start), mask)
