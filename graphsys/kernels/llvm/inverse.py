"""Inverse of a small block in registers, as an LLVM function."""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.base.widths import EXCHANGED
from graphsys.kernels.llvm.columns import Columns
from graphsys.kernels.llvm.emit import (
    I32,
    I64,
    REAL,
    SMALL,
    Emitter,
    cases,
    integer,
    private_function,
)


@shared
def inverse_function(module, real):
    """``D <- A^-1, K <- A`` in registers, n <= `SMALL`: ``(d, ldd, a, lda, k, s, n)``; a ratio.

    Gauss-Jordan elimination, pivots on the diagonal; where a multiplier would exceed `EXCHANGED`,
    the row with the largest one takes the pivot's place. ``s`` holds the largest magnitude each row
    of A had before, and is raised to what it has; the result is the smallest |pivot| / s over the
    pivots' rows, at most 1, and NaN where the inverse is not finite or a row was always zero.
    """
    element = REAL[real]
    pointer = element.as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_inverse_{real}",
        element,
        [pointer, I64, pointer, I64, pointer, pointer, I64],
        ["d", "ldd", "a", "lda", "k", "s", "n"],
    )
    if builder is None:
        return function
    d, ldd, a, lda, k, s, n = function.args
    rows = _Rows(builder, real)
    for size in cases(builder, n, range(1, SMALL + 1)):
        cols = Columns(builder, real, size)
        inverse, ratio, exchanged = _with_exchanges(cols, rows, *_loaded(cols, a, lda, k, s))
        with builder.if_else(builder.icmp_unsigned("==", exchanged, integer(0))) as (
            in_place,
            not_,
        ):
            with in_place:
                _store(cols, d, ldd, inverse)
            with not_:  # columns of the inverse go to the places of the rows they came from
                _store(cols, d, ldd, inverse, rows)
        builder.ret(ratio)
    builder.unreachable()
    return function


def _loaded(cols, a, lda, kept, s):
    """Columns of A, also kept, and the largest magnitude of each row now or before."""
    builder, emit = cols.b, cols.emit
    sources = [emit.at(a, builder.mul(integer(k), lda)) for k in range(cols.rows)]
    column = [cols.load(source) for source in sources]
    _store(cols, kept, integer(cols.rows), column)
    scale = cols.select(lambda row: row < cols.rows, cols.load(s), cols.fill(1.0))
    for entries in column:
        scale = cols.larger(cols.fabs(entries), scale)
    cols.store(scale, s)
    return column, scale


def _store(cols, d, ldd, column, rows=None):
    for k, entries in enumerate(column):
        place = integer(k) if rows is None else rows.home(k)
        cols.store(entries, cols.emit.at(d, cols.b.mul(place, ldd)))


def _with_exchanges(cols, rows, column, scale):
    """Inverse, its ratio, and 1 where rows were exchanged: ``rows`` knows its columns' places."""
    builder, pieces = cols.b, len(scale)
    inverses, pivot, exchanged = cols.fill(-1.0), cols.entry(column[0], 0), integer(0)
    for j in range(cols.rows):
        inverse, scaled = _scaled(cols, column, j, pivot)
        if j + 1 < cols.rows:
            sizes = cols.select(lambda row, j=j: row > j, cols.fabs(scaled), cols.fill(0.0))
            large = builder.icmp_unsigned("!=", _rows_beyond(cols, sizes, EXCHANGED), integer(0))
            vectors = [scaled, scale, *column]
            kept = [exchanged, inverse, *(piece for vector in vectors for piece in vector)]
            before = builder.block
            with builder.if_then(large, likely=False):
                column, scale = rows.exchange(cols, column, scale, j, exchanged)
                inverse, scaled = _scaled(cols, column, j, cols.entry(column[j], j))
                vectors = [scaled, scale, *column]
                other = [integer(1), inverse, *(piece for vector in vectors for piece in vector)]
                after = builder.block
            either = [builder.phi(value.type) for value in kept]
            for phi, *values in zip(either, kept, other, strict=True):
                phi.add_incoming(values[0], before)
                phi.add_incoming(values[1], after)
            exchanged, inverse, *either = either
            vectors = [either[k : k + pieces] for k in range(0, len(either), pieces)]
            scaled, scale, *column = vectors
        pivot = _next_pivot(cols, column, j, inverse)
        _eliminate(cols, column, j, scaled)
        inverses = _put(cols, j, cols.splat(inverse), inverses)
    return *_finished(cols, column, scale, inverses), exchanged


def _scaled(cols, column, j, pivot):
    """-1 / pivot, and column j times that."""
    inverse = cols.b.fdiv(ir.Constant(cols.emit.element, -1.0), pivot)
    return inverse, cols.map(cols.b.fmul, column[j], cols.splat(inverse))


def _next_pivot(cols, column, j, inverse):
    """The pivot of column j + 1, ahead of its column and apart from it.

    The division, by far the slowest instruction, then waits for a product and an fma instead of
    four steps. The multiplier comes first: the product of two entries may leave the range of
    numbers where the pivot does not.
    """
    if j + 1 == cols.rows:
        return None
    left, above = cols.entry(column[j], j + 1), cols.entry(column[j + 1], j)
    multiplier, corner = cols.b.fmul(left, inverse), cols.entry(column[j + 1], j + 1)
    emit = cols.emit
    return emit.intrinsic("fmuladd", emit.element, multiplier, above, corner, vector=False)


def _eliminate(cols, column, j, scaled):
    """Column j out of the others; the pivot row is scaled at the end only."""
    multipliers = _put(cols, j, cols.fill(0.0), scaled)
    for q in range(cols.rows):
        if q != j:
            row = cols.splat(cols.entry(column[q], j))
            column[q] = cols.fma(multipliers, row, column[q])
    column[j] = _put(cols, j, cols.fill(1.0), multipliers)


def _put(cols, j, x, y):
    """y with row j of x."""
    return cols.select(lambda row: row == j, x, y)


def _rows_beyond(cols, column, limit):
    """Bits of the rows that are larger than a limit, or NaN."""
    builder, emit = cols.b, cols.emit
    large = integer(0)
    for piece in column:
        beyond = builder.fcmp_unordered(">", piece, emit.fill(limit))
        beyond = builder.bitcast(beyond, ir.IntType(emit.lanes))
        large = builder.or_(large, builder.zext(beyond, I64))
    return large


def _finished(cols, column, scale, inverses):
    """Inverse and ratio, the pivots being -1 / ``inverses``."""
    builder = cols.b
    inverses = cols.map(builder.fneg, inverses)
    column = [cols.map(builder.fmul, entries, inverses) for entries in column]
    weakness = cols.map(builder.fmul, cols.fabs(inverses), scale)
    return column, _ratio(cols, cols.map(builder.fdiv, cols.fill(1.0), weakness), column)


def _ratio(cols, ratios, column):
    """Smallest of the pivots' ratios, at most 1; NaN where the inverse or a pivot is not finite."""
    builder, emit = cols.b, cols.emit
    zero = cols.fill(0.0)
    lost = zero  # 0, or NaN once there is an inf or a NaN
    for entries in column:
        lost = cols.fma(entries, zero, lost)
    ratios = cols.fma(ratios, lost, ratios)  # infinite ones too: the inverse of that pivot is 0
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


class _Rows:
    """Exchange of rows in registers; where they came from, and room for a column, on the stack."""

    def __init__(self, builder, real):
        self.b, self.emit = builder, Emitter(builder, real)
        self.places = builder.alloca(I64, integer(SMALL))
        self.block = builder.alloca(REAL[real], integer((SMALL + 1) * SMALL))

    def home(self, k):
        """Place of column k of the inverse."""
        return self.b.load(self.b.gep(self.places, [integer(k)]))

    def exchange(self, cols, column, scale, j, again):
        """Columns and scale with row j for the one from j on that is largest in column j."""
        builder, emit = self.b, cols.emit
        with builder.if_then(builder.icmp_unsigned("==", again, integer(0))):
            for k in range(cols.rows):
                builder.store(integer(k), builder.gep(self.places, [integer(k)]))
        row = self._largest(cols, column[j], j)
        first, second = (builder.gep(self.places, [k]) for k in (integer(j), row))
        kept, taken = builder.load(first), builder.load(second)
        builder.store(taken, first)
        builder.store(kept, second)
        lanes = ir.VectorType(I64, emit.lanes)
        wide = _splat_integer(builder, row, lanes)
        tests = [
            builder.icmp_signed("==", ir.Constant(lanes, [at + k for k in range(emit.lanes)]), wide)
            for at in cols.starts
        ]
        found = []
        whole = Columns(builder, emit.real, len(cols.starts) * emit.lanes, emit.lanes)
        for k, vector in enumerate([*column, scale]):
            place = self.emit.at(self.block, integer(SMALL * k))
            whole.store(vector, place)
            taken = cols.splat(emit.load_scalar(emit.at(place, row)))
            kept = cols.splat(cols.entry(vector, j))
            vector = [builder.select(*one) for one in zip(tests, kept, vector, strict=True)]
            found.append(_put(cols, j, taken, vector))
        *column, scale = found
        return column, scale

    def _largest(self, cols, column, j):
        """Row from j on with the largest magnitude, the first of several; none that is NaN."""
        builder, emit = self.b, cols.emit
        sizes = cols.fabs(column)
        sizes = cols.map(
            lambda p: builder.select(builder.fcmp_ordered("ord", p, p), p, emit.fill(-1.0)), sizes
        )
        sizes = cols.select(lambda row: j <= row < cols.rows, sizes, cols.fill(-2.0))
        largest = sizes[0]
        for piece in sizes[1:]:
            largest = builder.select(builder.fcmp_ordered(">", piece, largest), piece, largest)
        largest = _extreme_lane(builder, largest, ">")
        bits = integer(0)
        for at, piece in zip(cols.starts, sizes, strict=True):
            equal = builder.fcmp_ordered("==", piece, emit.splat(largest))
            equal = builder.zext(builder.bitcast(equal, ir.IntType(emit.lanes)), I64)
            bits = builder.or_(bits, builder.shl(equal, integer(at)))
        return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))


def _splat_integer(builder, value, kind):
    """An integer in all lanes of a vector of a kind."""
    lane0 = builder.insert_element(ir.Constant(kind, ir.Undefined), value, integer(0))
    zeros = ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(lane0, ir.Constant(kind, ir.Undefined), zeros)


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
