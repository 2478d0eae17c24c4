"""Inverses of small blocks of eight systems at once, as an LLVM function; layout as in `lanes`."""

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
from graphsys.kernels.llvm.lanes import larger

#: Largest multiplier for which the diagonal entry stays the pivot. It is larger than that of one
#: system, `widths.EXCHANGED`, because one lane beyond it repeats the elimination of all eight.
EXCHANGED = 10.0


def inverse_function(module, real):
    """``D <- D^-1``, n <= `SMALL`: ``(d, ldd, s, ratio, n)``.

    ``s`` holds the largest magnitude each row had before, and is raised. ``ratio`` becomes the
    smaller of itself and the smallest |pivot| / s, NaN where a pivot is zero or not finite.
    Gauss-Jordan elimination with the pivots on the diagonal. If a multiplier exceeds `EXCHANGED` in
    any lane, it starts again, with rows exchanged in each lane by itself.

    The steps are matrices E_j that differ from I in column j: D^-1 = E_n ... E_1. Each column goes
    through all that concern it while it is in registers; the E_j are read from a workspace.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_lanes_inverse_{real}",
        ir.VoidType(),
        [pointer, I64, pointer, pointer, I64],
        ["d", "ldd", "s", "ratio", "n"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    d, ldd, s, ratio, n = function.args
    steps = builder.alloca(emit.vector, SMALL * SMALL)
    steps.align = LANES * emit.align
    ldd = builder.shl(ldd, integer(3))
    for size in cases(builder, n, range(1, SMALL + 1)):
        inverse = _Inverse(emit, size, d, ldd, s, steps)
        losses, tame = inverse.find_steps(exchange=False)
        with builder.if_else(tame) as (kept, exchanged):
            with kept:
                inverse.apply_steps()
                emit.store(lowered_ratio(emit, ratio, losses), ratio)
            with exchanged:
                losses, _ = inverse.find_steps(exchange=True)
                inverse.apply_steps()
                inverse.exchange_columns()
                emit.store(lowered_ratio(emit, ratio, losses), ratio)
    builder.ret_void()
    return function


def lowered_ratio(emit, ratio, losses):
    """min(ratio, 1 / max of the losses); NaN where one is not finite, or 0 as of inf as pivot."""
    builder, zero = emit.b, emit.fill(0.0)
    worst = least = losses[0]
    lost = builder.fmul(losses[0], zero)  # 0, or NaN once there is an inf or a NaN
    for loss in losses[1:]:
        worst, lost = larger(emit, loss, worst), emit.fma(loss, zero, lost)
        least = builder.select(builder.fcmp_ordered("<", loss, least), loss, least)
    new = builder.fadd(builder.fdiv(emit.fill(1.0), worst), lost)
    new = builder.select(builder.fcmp_unordered("==", least, zero), emit.fill(float("nan")), new)
    old = emit.load(ratio)
    smaller = builder.fcmp_unordered("<", new, old)  # a NaN is taken, and stays
    lost = builder.fcmp_unordered("uno", old, old)
    return builder.select(builder.and_(smaller, builder.not_(lost)), new, old)


class _Inverse:
    """The inverse of blocks of one size: its steps, and what becomes of each column."""

    def __init__(self, emit, n, d, ldd, s, steps):
        self.emit, self.n, self.steps = emit, n, steps
        self.columns = [emit.at(d, emit.b.mul(integer(q), ldd)) for q in range(n)]
        entries = [[emit.load(self._entry(q, i)) for q in range(n)] for i in range(n)]
        self.scale = []
        for i in range(n):
            scale = emit.load(emit.at(s, integer(LANES * i)))
            for entry in entries[i]:
                scale = larger(emit, emit.intrinsic("fabs", emit.vector, entry), scale)
            emit.store(scale, emit.at(s, integer(LANES * i)))
            self.scale.append(scale)
        self.exchanges = [[] for _ in range(n)]

    def _entry(self, q, i):
        return self.emit.at(self.columns[q], integer(LANES * i))

    def _step(self, j, i):
        return self.emit.b.gep(self.steps, [integer(j * self.n + i)])

    def _apply(self, column, j):
        """Column <- E_j P_j column."""
        emit = self.emit
        self._exchange(column, j)
        factor = column[j]
        for i in range(self.n):
            step = emit.b.load(self._step(j, i))
            column[i] = emit.fma(step, factor, column[i]) if i != j else emit.b.fmul(step, factor)

    def _exchange(self, column, j):
        """Swap entry j with the one that became its pivot, lane by lane."""
        builder, pivot_row = self.emit.b, column[j]
        for i, mask in self.exchanges[j]:
            column[j] = builder.select(mask, column[i], column[j])
            column[i] = builder.select(mask, pivot_row, column[i])

    def find_steps(self, exchange):
        """Store the E_j; scale / |pivot| of each, and whether every multiplier is small."""
        emit, builder, n = self.emit, self.emit.b, self.n
        scale, losses = list(self.scale), []
        tame = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES)
        for q in range(n):
            column = [emit.load(self._entry(q, i)) for i in range(n)]
            for j in range(q):
                self._apply(column, j)
            if exchange:
                self.exchanges[q] = self._choose(column, q)
                self._exchange(column, q)
                self._exchange(scale, q)
            inverse = builder.fdiv(emit.fill(1.0), column[q])
            size = emit.intrinsic("fabs", emit.vector, inverse)
            losses.append(builder.fmul(size, scale[q]))
            for i in range(n):
                step = inverse if i == q else builder.fmul(builder.fneg(column[i]), inverse)
                builder.store(step, self._step(q, i))
                if i > q and not exchange:  # ordered: a NaN does not pass for small
                    size = emit.intrinsic("fabs", emit.vector, step)
                    small = builder.fcmp_ordered("<=", size, emit.fill(EXCHANGED))
                    tame = builder.and_(tame, small)
        bits = ir.IntType(LANES)
        tame = builder.icmp_unsigned("==", builder.bitcast(tame, bits), ir.Constant(bits, -1))
        return losses, tame

    def _choose(self, column, q):
        """Pairs (row, mask of lanes) of the largest entry among the rows from q on."""
        emit, builder = self.emit, self.emit.b
        largest = emit.intrinsic("fabs", emit.vector, column[q])
        found = []
        for i in range(q + 1, self.n):
            size = emit.intrinsic("fabs", emit.vector, column[i])
            found.append((i, builder.fcmp_ordered(">", size, largest)))
            largest = larger(emit, size, largest)
        chosen, later = [], ir.Constant(ir.VectorType(ir.IntType(1), LANES), [0] * LANES)
        for i, is_larger in reversed(found):  # the last that was larger is the largest
            chosen.append((i, builder.and_(is_larger, builder.not_(later))))
            later = builder.or_(later, is_larger)
        return chosen

    def apply_steps(self):
        """Columns of E_n ... E_1 in place of the block."""
        emit = self.emit
        for q in range(self.n):
            column = [emit.b.load(self._step(q, i)) for i in range(self.n)]
            for j in range(q + 1, self.n):
                self._apply(column, j)
            for i in range(self.n):
                emit.store(column[i], self._entry(q, i))

    def exchange_columns(self):
        """D^-1 <- D^-1 P_n ... P_1, lane by lane."""
        emit = self.emit
        for i in range(self.n):
            row = [emit.load(self._entry(q, i)) for q in range(self.n)]
            for j in range(self.n - 1, -1, -1):
                self._exchange(row, j)
            for q in range(self.n):
                emit.store(row[q], self._entry(q, i))
