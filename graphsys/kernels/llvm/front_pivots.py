"""Pivots of a small symmetric front, one after another, as an LLVM function."""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.base.widths import KEPT
from graphsys.kernels.llvm.emit import (
    I32,
    I64,
    LANES,
    REAL,
    TINY,
    Emitter,
    declare,
    integer,
    private_function,
)


@shared
def leading_pivots_function(module, real):
    """Pivots of 1 x 1 in their order while each is large enough; returns how many.

    Arguments ``(a, ld, m, f, start, first, last, threshold, info)``: the lower triangle of a front
    of m rows, up to date in the f columns that may give pivots, column-major, ``ld`` a multiple of
    `LANES`. The columns ``first`` ... ``last`` are tried. ``info`` holds the least pivot relative
    to its column and the largest l d l^T. A column of at most `KEPT` vectors updates all that
    follow. Otherwise it updates those before f, and columns of L D, from column ``start`` on,
    follow the front. What is above the diagonal is not defined.
    """
    pointer, double = REAL[real].as_pointer(), REAL["f64"]
    function, builder = private_function(
        module,
        f"graphsys_leading_pivots_{real}",
        I64,
        [pointer, *[I64] * 6, double, double.as_pointer()],
        ["a", "ld", "m", "f", "start", "first", "last", "threshold", "info"],
    )
    if builder is None:
        return function
    ld = function.args[1]
    for vectors in range(1, KEPT + 1):
        with builder.if_then(builder.icmp_signed("==", ld, integer(LANES * vectors))):
            _eliminate(builder, real, function.args, vectors)
    _eliminate(builder, real, function.args, None)
    return function


def _eliminate(builder, real, arguments, vectors):
    """All pivots, with so many vectors in registers, or columns in memory."""
    emit = Emitter(builder, real)
    a, ld, m, f, wide_first, first, last, threshold, info = arguments
    if real != "f64":
        threshold = builder.fptrunc(threshold, emit.element)
    places = [builder.gep(info, [integer(field)]) for field in (0, 1)]
    found = [builder.load(place) for place in places]
    if real != "f64":
        found = [builder.fptrunc(value, emit.element) for value in found]
    end = emit.at(a, builder.mul(builder.sub(m, wide_first), ld))
    steps = _InRegisters(emit, ld, m, vectors) if vectors else _InMemory(emit, ld, f, end)
    start = steps.start(emit.at(a, builder.mul(first, ld)), first)
    before = builder.block
    head, test, taken, done = (
        builder.append_basic_block(name) for name in ("pivot", "test", "taken", "done")
    )
    builder.branch(head)
    builder.position_at_end(head)
    carried = [first, *found, *start]
    k, least, largest, *column = phis = [builder.phi(value.type) for value in carried]
    for phi, value in zip(phis, carried, strict=True):
        phi.add_incoming(value, before)
    builder.cbranch(builder.icmp_signed("<", k, last), test, done)
    builder.position_at_end(test)
    place = emit.at(a, builder.mul(k, ld))
    pivot = steps.pivot(place, k, column)
    beyond = steps.largest(place, k, column)
    size = emit.intrinsic("fabs", emit.element, pivot, vector=False)
    good = builder.and_(
        builder.fcmp_ordered(">=", size, ir.Constant(emit.element, TINY[real])),
        builder.fcmp_ordered(">=", size, builder.fmul(threshold, beyond)),
    )
    builder.cbranch(good, taken, done)
    builder.position_at_end(taken)
    larger = builder.select(builder.fcmp_ordered(">", beyond, size), beyond, size)
    ratio = builder.fdiv(size, larger)
    inverse = builder.fdiv(ir.Constant(emit.element, 1.0), pivot)
    product = emit.intrinsic("fabs", emit.element, inverse, vector=False)
    product = builder.fmul(builder.fmul(product, beyond), beyond)
    new_least = builder.select(builder.fcmp_ordered("<", ratio, least), ratio, least)
    new_largest = builder.select(builder.fcmp_ordered(">", product, largest), product, largest)
    following = builder.add(k, integer(1))
    column = steps.update(a, place, k, column, pivot, inverse)
    new = [following, new_least, new_largest, *column]
    for phi, value in zip(phis, new, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    for place, value in zip(places, (least, largest), strict=True):
        builder.store(value if real == "f64" else builder.fpext(value, REAL["f64"]), place)
    builder.ret(builder.sub(k, first))


class _Steps:
    """Masks and magnitudes of the rows of a column that are below its pivot."""

    def __init__(self, emit, ld):
        self.emit, self.ld = emit, ld
        self.integers = ir.VectorType(ir.IntType(8 * emit.align), LANES)
        self.nothing = ir.Constant(self.integers, [0] * LANES)

    def below(self, k, start):
        """Mask of the rows below k among those of a vector that begins at ``start``."""
        b, wide = self.emit.b, ir.VectorType(I32, LANES)
        row = b.trunc(b.sub(k, start), I32)
        lane0 = b.insert_element(ir.Constant(wide, ir.Undefined), row, integer(0))
        zeros = ir.Constant(wide, [0] * LANES)
        splat = b.shuffle_vector(lane0, ir.Constant(wide, ir.Undefined), zeros)
        return b.icmp_signed(">", ir.Constant(wide, list(range(LANES))), splat)

    def raised(self, most, entry, mask):
        """Larger of the magnitudes below k, as integers: a NaN is beyond all numbers."""
        b = self.emit.b
        size = b.bitcast(self.emit.intrinsic("fabs", self.emit.vector, entry), self.integers)
        size = b.select(mask, size, self.nothing)
        return b.select(b.icmp_signed(">", size, most), size, most)

    def extreme(self, most):
        """Largest number of a vector of magnitudes."""
        name = f"llvm.vector.reduce.smax.v{LANES}i{8 * self.emit.align}"
        reduce = declare(self.emit.b.module, name, self.integers.element, [self.integers])
        return self.emit.b.bitcast(self.emit.b.call(reduce, [most]), self.emit.element)


class _InRegisters(_Steps):
    """Columns of few vectors. The pivot and the vectors of a column are carried to its step.

    The division, by far the slowest instruction, then waits for an fma, and not for a column that
    is stored and loaded again.
    """

    def __init__(self, emit, ld, m, vectors):
        super().__init__(emit, ld)
        self.m, self.starts = m, [integer(LANES * v) for v in range(vectors)]

    def start(self, place, k):
        """Pivot and vectors of the first column."""
        emit = self.emit
        return [
            emit.load_scalar(emit.at(place, k)),
            *(emit.load(emit.at(place, start)) for start in self.starts),
        ]

    def pivot(self, place, k, column):
        """Diagonal entry."""
        return column[0]

    def largest(self, place, k, column):
        """Largest magnitude below the diagonal."""
        most = self.nothing
        for entries, start in zip(column[1:], self.starts, strict=True):
            most = self.raised(most, entries, self.below(k, start))
        return self.extreme(most)

    def update(self, a, place, k, column, pivot, inverse):
        """A <- A - l d l^T in all columns after this one, which becomes l; the next one."""
        emit, b, (_, *entries) = self.emit, self.emit.b, column
        lower = [b.fdiv(piece, emit.splat(pivot)) for piece in entries]
        minus = [b.fneg(piece) for piece in lower]
        following = b.add(k, integer(1))
        other = emit.at(place, self.ld)
        factor = emit.load_scalar(emit.at(place, following))
        corner = emit.load_scalar(emit.at(other, following))
        multiplier = b.fneg(b.fmul(factor, inverse))
        new = [emit.intrinsic("fmuladd", emit.element, multiplier, factor, corner, vector=False)]
        for piece, start in zip(minus, self.starts, strict=True):
            at = emit.at(other, start)
            new.append(emit.fma(piece, emit.splat(factor), emit.load(at)))
            emit.store(new[-1], at)
        begin, last = b.add(following, integer(1)), self.m
        for v in range(len(minus)):  # columns whose diagonal is in this vector
            end, whole = last, v + 1 == len(minus)
            if not whole:
                limit = integer(LANES * (v + 1))
                end = b.select(b.icmp_signed("<", last, limit), last, limit)
            with emit.loop("columns", begin, end, integer(1), []) as (c, _):
                other = emit.at(a, b.mul(c, self.ld))
                factor = emit.splat(emit.load_scalar(emit.at(place, c)))
                for u in range(v, len(minus)):
                    at = emit.at(other, self.starts[u])
                    emit.store(emit.fma(minus[u], factor, emit.load(at)), at)
            if not whole:
                begin = b.select(b.icmp_signed(">", begin, limit), begin, limit)
        for piece, kept, start in zip(lower, entries, self.starts, strict=True):
            emit.store(b.select(self.below(k, start), piece, kept), emit.at(place, start))
        return new


class _InMemory(_Steps):
    """Columns of any length: each updates those before ``last``, and d l goes to ``wide``."""

    def __init__(self, emit, ld, last, wide):
        super().__init__(emit, ld)
        self.last, self.wide = last, wide

    def start(self, place, k):
        """Nothing is carried."""
        return []

    def pivot(self, place, k, column):
        """Diagonal entry."""
        return self.emit.load_scalar(self.emit.at(place, k))

    def largest(self, place, k, column):
        """Largest magnitude below the diagonal."""
        emit, begin = self.emit, self.emit.b.and_(k, integer(-LANES))
        loop = emit.loop("rows", begin, self.ld, integer(LANES), [self.nothing])
        with loop as (i, (most,)):
            loop.carry([self.raised(most, emit.load(emit.at(place, i)), self.below(k, i))])
        return self.extreme(loop.results[0])

    def update(self, a, place, k, column, pivot, inverse):
        """A <- A - l d l^T in the columns from k + 1 on; column k becomes l."""
        emit, b = self.emit, self.emit.b
        wide = emit.at(self.wide, b.mul(k, self.ld))
        divisor = emit.splat(pivot)
        with emit.loop("rows", b.and_(k, integer(-LANES)), self.ld, integer(LANES), []) as (i, _):
            at = emit.at(place, i)
            entries = emit.load(at)
            emit.store(entries, emit.at(wide, i))
            emit.store(b.select(self.below(k, i), b.fdiv(entries, divisor), entries), at)
        with emit.loop("columns", b.add(k, integer(1)), self.last, integer(1), []) as (c, _):
            other = emit.at(a, b.mul(c, self.ld))
            minus = emit.splat(b.fneg(emit.load_scalar(emit.at(wide, c))))
            with emit.loop("rows", b.and_(c, integer(-LANES)), self.ld, integer(LANES), []) as (
                i,
                _,
            ):
                at = emit.at(other, i)
                emit.store(emit.fma(emit.load(emit.at(place, i)), minus, emit.load(at)), at)
        return []
