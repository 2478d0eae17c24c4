"""Substitution with the transposes of small nodes as LLVM functions: see `small_nodes`."""

from graphsys.kernels.base.jit import shared
from graphsys.kernels.base.layout import BELOW, FIRST, LOWER, RUN_FIELDS, UPPER
from graphsys.kernels.llvm.columns import Columns, Products
from graphsys.kernels.llvm.emit import SMALL, Emitter, cases, integer
from graphsys.kernels.llvm.small_nodes import field, runs_of, small_panel, substitution_function


@shared
def forward_transposed_function(module, real):
    """``x_j <- x_j - W_kj^T x_k`` for small nodes from ``begin`` on.

    Arguments and result as of `forward_function`; nodes store both triangles.
    """
    name = f"graphsys_forward_transposed_{real}"
    function, builder = substitution_function(module, name, real)
    if builder is None:
        return function
    x, arena, table, starts, begin, end = function.args
    emit = Emitter(builder, real)
    with emit.loop("nodes", begin, end, integer(1), []) as (s, _):
        at, w = small_panel(builder, table, builder.load(builder.gep(starts, [s])), s)
        first, upper = field(builder, table, at, FIRST), field(builder, table, at, UPPER)
        runs = runs_of(builder, table, at)
        for size in cases(builder, w, range(1, SMALL + 1), skip=True):
            own = Columns(builder, real, size)
            _forward(own, emit.at(x, first), x, emit.at(arena, upper), *runs)
    builder.ret(end)
    return function


def _forward(own, place, x, panel, runs, fields):
    """All runs of a node whose rows are those of the columns ``own``."""
    builder, emit, w = own.b, own.emit, own.rows
    entries, every = own.load(place), integer(RUN_FIELDS)
    with emit.loop(f"runs.{w}", integer(0), fields, every, []) as (at, _):
        start = emit.at(panel, builder.mul(field(builder, runs, at, 0), integer(w)))
        length, to = field(builder, runs, at, 1), emit.at(x, field(builder, runs, at, 2))

        def subtract(c, count):
            column = emit.at(start, builder.mul(c, integer(w)))
            steps = [integer(w * k) for k in range(count)]
            _subtract_products(own, count, column, steps, entries, emit.at(to, c))

        whole = builder.and_(length, integer(-emit.lanes))
        with emit.loop(f"columns.{w}", integer(0), whole, integer(emit.lanes), []) as (c, _):
            subtract(c, emit.lanes)
        count = emit.lanes // 2
        while count > 0:
            left_over = builder.icmp_signed("!=", builder.and_(length, integer(count)), integer(0))
            with builder.if_then(left_over):
                subtract(builder.and_(length, integer(-2 * count)), count)
            count //= 2


def _subtract_products(own, count, a, steps, entries, place):
    """``y <- y - A^T x``: ``count`` columns of A of the rows of ``own``, which hold x."""
    products = Products(own.b, own.emit.real, count, own.emit.lanes)
    some = Columns(own.b, own.emit.real, count, own.emit.lanes)
    totals = products.totals(_products(own, a, steps, entries))
    some.store(some.map(own.b.fsub, some.load(place), totals), place)


def _products(own, a, steps, entries):
    """A register for each column of A: its products with x, to be summed up over the lanes."""
    sums = []
    for step in steps:
        first, *others = zip(own.load(own.emit.at(a, step)), entries, strict=True)
        total = own.b.fmul(*first)
        for piece, known in others:
            total = own.emit.fma(piece, known, total)
        sums.append(total)
    return sums


@shared
def backward_transposed_function(module, real):
    """``x_k <- D_k^-T (x_k - sum_i L_ik^T x_i)`` for small nodes down from the last before ``end``.

    Arguments and result as of `backward_function`.
    """
    name = f"graphsys_backward_transposed_{real}"
    function, builder = substitution_function(module, name, real)
    if builder is None:
        return function
    x, arena, table, starts, begin, end = function.args
    emit = Emitter(builder, real)
    count = builder.sub(end, begin)
    with emit.loop("nodes", integer(0), count, integer(1), []) as (done, _):
        above = builder.sub(end, done)
        panel = builder.load(builder.gep(starts, [builder.sub(above, integer(1))]))
        at, w = small_panel(builder, table, panel, above)
        first, lower = field(builder, table, at, FIRST), field(builder, table, at, LOWER)
        m = builder.add(w, field(builder, table, at, BELOW))
        runs = runs_of(builder, table, at)
        for size in cases(builder, w, range(1, SMALL + 1), skip=True):
            _backward(emit, size, emit.at(x, first), x, emit.at(arena, lower), m, *runs)
    builder.ret(begin)
    return function


def _backward(emit, w, place, x, panel, m, runs, fields):
    """All runs of a node of w rows, and its pivot block."""
    builder, products = emit.b, Products(emit.b, emit.real, w)
    own = Columns(builder, emit.real, w, products.emit.lanes)
    steps = [builder.mul(m, integer(k)) for k in range(w)]
    every = integer(RUN_FIELDS)
    loop = emit.loop(f"runs.{w}", integer(0), fields, every, products.zeros())
    with loop as (at, sums):
        left = emit.at(panel, integer(w), field(builder, runs, at, 0))
        length, row = field(builder, runs, at, 1), emit.at(x, field(builder, runs, at, 2))
        loop.carry(products.add(sums, left, steps, row, length))
    rest = own.map(builder.fsub, own.load(place), products.totals(loop.results))
    own.store(products.totals(_products(own, panel, steps, rest)), place)
