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
from graphsys.kernels.llvm.lanes import four_numbers, larger, load_tile, systems_at
from graphsys.kernels.llvm.lanes_inverse import EXCHANGED, lowered_ratio
from graphsys.kernels.llvm.lanes_update import numbers

#: Columns that are scaled together.
WIDTH = 3


def steps_function(module, real):
    """E_1 ... E_n of a block, the pivots on its diagonal; 1, or 0 where rows must be exchanged.

    Arguments ``(d, ldd, s, ratio, n, steps, left, source, step, ahead)``. The block stays as it is;
    ``s`` and ``ratio`` are as in `lanes_inverse.inverse_function`, where nothing has to be
    exchanged. Columns of E_j lie in ``steps`` one after another. Where `ahead` is not 0, n > 1,
    n x n numbers at ``source`` in eight systems, `step` apart, are transposed into ``left`` on the
    way: every pivot has to wait for the one before.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_steps_{real}",
        I64,
        [pointer, I64, pointer, pointer, I64, pointer, pointer, pointer, I64, I64],
        ["d", "ldd", "s", "ratio", "n", "steps", "left", "source", "step", "ahead"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    d, ldd, s, ratio, n, steps, left, source, step, ahead = function.args
    ldd = builder.shl(ldd, integer(3))
    for size in cases(builder, n, range(1, SMALL + 1)):
        arguments = (emit, size, d, ldd, s, ratio, steps)
        if size > 1:
            with builder.if_then(builder.icmp_signed("!=", ahead, integer(0))):
                _find_steps(
                    *arguments, lambda q, n=size: _transpose(emit, q, n, left, source, step)
                )
        _find_steps(*arguments, lambda q: None)
    builder.unreachable()
    return function


def _transpose(emit, q, n, left, source, step):
    """Part q of n of n x n numbers of eight systems."""
    fours = -(-n * n // 4)
    for four in range(fours * q // n, fours * (q + 1) // n):
        first = min(4 * four, n * n - 4)  # the last four overlap
        systems = systems_at(emit, emit.at(source, integer(first)), step)
        for e, vector in enumerate(four_numbers(emit, systems), first):
            emit.store(vector, emit.at(left, integer(LANES * e)))


def _find_steps(emit, n, d, ldd, s, ratio, steps, meanwhile):
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
        meanwhile(q)
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
        start = integer(0)
        for width in (WIDTH, 1):
            stop = builder.sub(columns, integer(width - 1))
            loop = emit.loop(f"columns.{size}.{width}", start, stop, integer(width), [])
            with loop as (j, _):
                if stored:
                    first = emit.at(source, builder.mul(j, column_step))
                    entries = load_tile(emit, first, row_step, column_step, size, width)
                else:
                    first = emit.at(source, builder.mul(j, integer(size)))
                    entries = numbers(emit, systems_at(emit, first, column_step), size * width)
                _scale(emit, entries, steps, size, width)
                for q in range(width):
                    to = emit.at(w, builder.mul(builder.add(j, integer(q)), ldw))
                    for i in range(size):
                        emit.store(entries[q * size + i], emit.at(to, integer(LANES * i)))
            start = loop.index
    builder.ret_void()
    return function


def _scale(emit, entries, steps, n, width):
    """Columns <- E_n ... E_1 columns, in registers."""
    for j in range(n):
        factors = entries[j::n]
        for i in range(n):
            step = emit.load(emit.at(steps, integer(LANES * (j * n + i))))
            for q in range(width):
                at = q * n + i
                if i == j:
                    entries[at] = emit.b.fmul(step, factors[q])
                else:
                    entries[at] = emit.fma(step, factors[q], entries[at])
