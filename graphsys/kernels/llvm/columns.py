"""Columns of a small block in registers: as many rows as there are, and none more.

A column is loaded and stored in pieces that have no lanes to spare, since a load that reads what a
masked store has just written waits twice as long as after a plain one.
"""

from llvmlite import ir

from graphsys.kernels.llvm.emit import I32, LANES, Emitter, constant_mask, host_has, integer


def lanes_of(real, rows):
    """Lanes of the registers that hold a column; 5 and 6 rows in 8 take 1.2 to 1.36 of the time."""
    if real == "f64" and rows in (5, 6):
        return 4
    return next(lanes for lanes in (1, 2, 4, 8) if lanes >= rows)


class Columns:
    """Vector instructions on columns of ``rows`` rows, each a list of equal pieces.

    Rows that fill no piece are 0 when loaded, and anything later on.
    """

    def __init__(self, builder, real, rows, lanes=None):
        self.b = builder
        self.emit = Emitter(builder, real, lanes or lanes_of(real, rows))
        self.rows = rows
        self.starts = range(0, rows, self.emit.lanes)

    def load(self, pointer):
        return [self._load(self._at(pointer, at), self.rows - at) for at in self.starts]

    def store(self, column, pointer):
        for piece, at in zip(column, self.starts, strict=True):
            self._store(piece, self._at(pointer, at), self.rows - at)

    def _at(self, pointer, row):
        return self.emit.at(pointer, integer(row)) if row else pointer

    def _load(self, pointer, rows):
        emit = self.emit
        if rows >= emit.lanes:
            return emit.load(pointer)
        if not _whole(rows):
            return emit.load(pointer, constant_mask(emit.lanes, lambda lane: lane < rows))
        part = Emitter(self.b, emit.real, rows)
        lanes = [min(lane, rows) for lane in range(emit.lanes)]
        return self.b.shuffle_vector(part.load(pointer), part.fill(0.0), _lanes(lanes))

    def _store(self, piece, pointer, rows):
        emit = self.emit
        if rows >= emit.lanes:
            emit.store(piece, pointer)
        elif not _whole(rows):
            emit.store(piece, pointer, constant_mask(emit.lanes, lambda lane: lane < rows))
        else:
            part = Emitter(self.b, emit.real, rows)
            part.store(self.b.shuffle_vector(piece, piece, _lanes(range(rows))), pointer)

    def fill(self, value):
        return [self.emit.fill(value)] * len(self.starts)

    def entry(self, column, row):
        """One row as a scalar."""
        piece, lane = divmod(row, self.emit.lanes)
        return self.b.extract_element(column[piece], integer(lane))

    def splat(self, scalar):
        """A scalar in all rows: one register for all pieces."""
        wide = self.emit.splat(scalar)
        if len(self.starts) > 1:  # otherwise LLVM would make a second, narrower one
            wide = self.emit.intrinsic("arithmetic.fence", wide.type, wide)
        return [wide] * len(self.starts)

    def select(self, test, x, y):
        """x in the rows with ``test(row)``, else y; lanes after the last row count as rows."""
        chosen = []
        for at, p, q in zip(self.starts, x, y, strict=True):
            mask = constant_mask(self.emit.lanes, lambda lane, at=at: test(at + lane))
            chosen.append(self.b.select(mask, p, q))
        return chosen

    def map(self, operation, *columns):
        return [operation(*pieces) for pieces in zip(*columns, strict=True)]

    def fma(self, x, y, z):
        return self.map(self.emit.fma, x, y, z)

    def fabs(self, x):
        return self.map(lambda piece: self.emit.intrinsic("fabs", piece.type, piece), x)

    def larger(self, x, y):
        """The larger one of two in each row, y where either is NaN."""
        b = self.b
        return self.map(lambda p, q: b.select(b.fcmp_ordered(">", p, q), p, q), x, y)

    def combine(self, columns, entries):
        """sum_k columns_k entries_k, in two chains."""
        # One chain: solves with chains of 100 bodies and joints take 1.13 times as long.
        sums = []
        for first in range(min(2, len(columns))):
            total = self.map(self.b.fmul, columns[first], entries[first])
            for k in range(first + 2, len(columns), 2):
                total = self.fma(columns[k], entries[k], total)
            sums.append(total)
        return sums[0] if len(sums) == 1 else self.map(self.b.fadd, *sums)


class WideColumns(Columns):
    """Columns in one register each: in memory by the same pieces as `Columns` have them."""

    def __init__(self, builder, real, rows):
        self.pieces = Columns(builder, real, rows)
        count = len(self.pieces.starts)
        super().__init__(builder, real, rows, count * self.pieces.emit.lanes)

    def load(self, pointer):
        pieces = self.pieces.load(pointer)
        if len(pieces) == 1:
            return pieces
        return [self.b.shuffle_vector(*pieces, _lanes(range(self.emit.lanes)))]

    def store(self, column, pointer):
        lanes, (whole,) = self.pieces.emit.lanes, column
        if lanes < self.emit.lanes:
            column = [
                self.b.shuffle_vector(whole, whole, _lanes(range(at, at + lanes)))
                for at in self.pieces.starts
            ]
        self.pieces.store(column, pointer)


class MaskedColumns(Columns):
    """Columns of a number of rows, at most `LANES`, that is known at run time only."""

    def __init__(self, emit, rows):
        super().__init__(emit.b, emit.real, LANES)
        self.mask = emit.first_lanes(rows)

    def _load(self, pointer, rows):
        return self.emit.load(pointer, self.mask)

    def _store(self, piece, pointer, rows):
        self.emit.store(piece, pointer, self.mask)


class Products:
    """A^T y for up to `LANES` columns of A at once, each summed up in the lanes of a register."""

    def __init__(self, builder, real, columns, lanes=None):
        narrow = real == "f64" and not host_has("avx512f")  # else there are too few registers
        self.emit = Emitter(builder, real, lanes or (LANES // 2 if narrow else LANES))
        self.columns = columns

    def zeros(self):
        return [self.emit.fill(0.0)] * self.columns

    def add(self, sums, a, steps, y, rows):
        """sums + A^T y in the lanes; column k of A begins ``steps[k]`` after ``a``."""
        emit = self.emit
        every = integer(emit.lanes)
        loop = emit.loop(f"products.{self.columns}", integer(0), rows, every, sums)
        with loop as (i, sums):
            mask = emit.first_lanes(emit.b.sub(rows, i))
            right = emit.load(emit.at(y, i), mask)
            columns = [emit.load(emit.at(a, i, step), mask) for step in steps]
            pairs = zip(columns, sums, strict=True)
            loop.carry([emit.fma(column, right, total) for column, total in pairs])
        return loop.results

    def totals(self, sums):
        """The sums over all lanes, one after another in registers."""
        found = []
        for first in range(0, self.columns, self.emit.lanes):
            some, unit = sums[first : first + self.emit.lanes], 1
            while unit < self.emit.lanes:  # neighbouring lanes of two registers make one
                some = [self._halves(*some[k : k + 2], unit=unit) for k in range(0, len(some), 2)]
                unit *= 2
            found += some
        return found

    def _halves(self, x, y=None, unit=1):
        """Sums of the even and odd units of x, and of y after each."""
        lanes = self.emit.lanes
        y = x if y is None else y
        even = [
            at + t + other * lanes
            for at in range(0, lanes, 2 * unit)
            for other in (0, 1)
            for t in range(unit)
        ]
        b, odd = self.emit.b, _lanes([lane + unit for lane in even])
        return b.fadd(b.shuffle_vector(x, y, _lanes(even)), b.shuffle_vector(x, y, odd))


def _whole(rows):
    """True if there is a register of that many lanes."""
    return rows & (rows - 1) == 0


def _lanes(numbers):
    return ir.Constant(ir.VectorType(I32, len(numbers)), [ir.Constant(I32, n) for n in numbers])
