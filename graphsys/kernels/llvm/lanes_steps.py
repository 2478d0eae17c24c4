"""Small blocks of eight systems at once, eliminated without an inverse; layout as in `lanes`.

Gauss-Jordan elimination as in `lanes_inverse`: D^-1 = E_n ... E_1, where E_j differs from I in
column j. Where D^-1 itself is not needed, W = E_n ... E_1 U costs as much as W = D^-1 U.
"""

from llvmlite import ir

from graphsys.kernels.llvm.emit import (
    I64,
    LANES,
    REAL,
    SMALL,
    Emitter,
    cases,
    integer,
    private_function,
)
from graphsys.kernels.llvm.lanes import larger, load_tile, systems_at
from graphsys.kernels.llvm.lanes_inverse import EXCHANGED, lowered_ratio
from graphsys.kernels.llvm.lanes_update import numbers


def steps_function(module, real):
    """E_1 ... E_n of a block, the pivots on its diagonal; 1, or 0 where rows must be exchanged.

    Arguments ``(d, ldd, s, ratio, n, steps)``. The block stays as it is; ``s`` and ``ratio`` are as
    in `lanes_inverse.inverse_function`, where nothing has to be exchanged. Columns of E_j lie in
    ``steps`` one after another.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_steps_{real}",
        I64,
        [pointer, I64, pointer, pointer, I64, pointer],
        ["d", "ldd", "s", "ratio", "n", "steps"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    d, ldd, s, ratio, n, steps = function.args
    ldd = builder.shl(ldd, integer(3))
    for size in cases(builder, n, range(1, SMALL + 1)):
        _find_steps(emit, size, d, ldd, s, ratio, steps)
    builder.unreachable()
    return function


def _find_steps(emit, n, d, ldd, s, ratio, steps):
    builder = emit.b

    def absolute(value):
        return emit.intrinsic("fabs", emit.vector, value)

    def place(j, i):
        return emit.at(steps, integer(LANES * (j * n + i)))

    def entry(q, i):
        return emit.load(emit.at(d, builder.mul(integer(q), ldd), integer(LANES * i)))

    worst = emit.fill(0.0)
    step = []
    for q in range(n):
        column = [entry(q, i) for i in range(n)]
        for j in range(q):
            factor = column[j]
            if j < q - 1:
                step_j = [emit.load(place(j, i)) for i in range(n)]
            else:
                step_j = step
            for i in range(n):
                if i == j:
                    column[i] = builder.fmul(step_j[i], factor)
                else:
                    column[i] = emit.fma(step_j[i], factor, column[i])
        inverse = builder.fdiv(emit.fill(1.0), column[q])
        negative = builder.fneg(inverse)
        step = [builder.fmul(value, negative) for value in column]
        step[q] = inverse
        for i in range(n):
            emit.store(step[i], place(q, i))
        for i in range(q + 1, n):
            worst = larger(emit, absolute(step[i]), worst)
        emit.forget()
    losses = []
    for i in range(n):
        scale = emit.load(emit.at(s, integer(LANES * i)))
        for q in range(n):
            scale = larger(emit, absolute(entry(q, i)), scale)
        emit.store(scale, emit.at(s, integer(LANES * i)))
        losses.append(builder.fmul(absolute(emit.load(place(i, i))), scale))
    tame = builder.fcmp_ordered("<=", worst, emit.fill(EXCHANGED))
    bits = ir.IntType(LANES)
    tame = builder.icmp_unsigned("==", builder.bitcast(tame, bits), ir.Constant(bits, -1))
    emit.store(builder.select(tame, lowered_ratio(emit, ratio, losses), emit.load(ratio)), ratio)
    builder.ret(builder.zext(tame, I64))


def scale_function(module, real, stored):
    """``W <- E_n ... E_1 U``: ``(w, ldw, steps, source, row_step, column_step, n, columns)``.

    Element (i, j) of U is a vector at ``source + i row_step + j column_step`` where it is `stored`;
    W may be U. Else U is n x columns numbers of eight systems, column-major without gaps,
    `column_step` numbers from one to the next, which are transposed in registers.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_scale_{'stored' if stored else 'values'}_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, pointer, I64, I64, I64, I64],
        ["w", "ldw", "steps", "source", "row_step", "column_step", "n", "columns"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    w, ldw, steps, source, row_step, column_step, n, columns = function.args
    ldw = builder.shl(ldw, integer(3))
    if stored:
        row_step, column_step = (builder.shl(k, integer(3)) for k in (row_step, column_step))
    for size in cases(builder, n, range(1, SMALL + 1), skip=True):
        with emit.loop(f"columns.{size}", integer(0), columns, integer(1), []) as (j, _):
            if stored:
                first = emit.at(source, builder.mul(j, column_step))
                entries = load_tile(emit, first, row_step, column_step, size, 1)
            else:
                first = emit.at(source, builder.mul(j, integer(size)))
                entries = numbers(emit, systems_at(emit, first, column_step), size)
            _scale(emit, entries, steps, size)
            to = emit.at(w, builder.mul(j, ldw))
            for i in range(size):
                emit.store(entries[i], emit.at(to, integer(LANES * i)))
    builder.ret_void()
    return function


def _scale(emit, entries, steps, n):
    """A column <- E_n ... E_1 times it, in registers."""
    for j in range(n):
        factor = entries[j]
        for i in range(n):
            step = emit.load(emit.at(steps, integer(LANES * (j * n + i))))
            if i == j:
                entries[i] = emit.b.fmul(step, factor)
            else:
                entries[i] = emit.fma(step, factor, entries[i])
