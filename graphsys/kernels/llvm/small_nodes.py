"""Substitution with small nodes, and residuals of matrices of such nodes, as LLVM functions.

A node of up to `SMALL` rows keeps its unknowns in registers while it meets all of its neighbours.
The numba intrinsics on top are in `nodes`, elimination is in `small_elimination`.
"""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.base.layout import (
    BELOW,
    BLOCKS,
    FIRST,
    LOWER,
    PANEL_FIELDS,
    PIVOTS,
    RUN_FIELDS,
    RUNS,
    UPPER,
)
from graphsys.kernels.llvm.columns import Columns, Products
from graphsys.kernels.llvm.emit import (
    I64,
    REAL,
    SMALL,
    TINY,
    Emitter,
    cases,
    integer,
    private_function,
)


def field(builder, table, at, place):
    return builder.load(builder.gep(table, [builder.add(at, integer(place))]))


@shared
def forward_function(module, real):
    """``z <- D^-1 x_k, x_k <- z, x_i <- x_i - L_i z`` for small nodes from ``begin`` on.

    Arguments ``(x, arena, table, starts, begin, end)``: the program and where in it the panels of
    its supernodes begin. The place of the first that is not one pivot block of up to `SMALL` rows,
    or ``end``.
    """
    function, builder = substitution_function(module, f"graphsys_forward_{real}", real)
    if builder is None:
        return function
    x, arena, table, starts, begin, end = function.args
    emit = Emitter(builder, real)
    with emit.loop("nodes", begin, end, integer(1), []) as (s, _):
        at, w = small_panel(builder, table, builder.load(builder.gep(starts, [s])), s)
        first, lower = field(builder, table, at, FIRST), field(builder, table, at, LOWER)
        m = builder.add(w, field(builder, table, at, BELOW))
        runs = runs_of(builder, table, at)
        for size in cases(builder, w, range(1, SMALL + 1), skip=True):
            own = Columns(builder, real, size)
            _forward(own, emit.at(x, first), x, emit.at(arena, lower), m, *runs)
    builder.ret(end)
    return function


def substitution_function(module, name, real):
    pointer, table = REAL[real].as_pointer(), I64.as_pointer()
    return private_function(
        module,
        name,
        I64,
        [pointer, pointer, table, table, I64, I64],
        ["x", "arena", "table", "starts", "begin", "end"],
    )


def small_panel(builder, table, at, otherwise):
    """A panel and its pivots; the function returns ``otherwise`` unless it is one small block."""
    w = field(builder, table, at, PIVOTS)
    large = builder.icmp_unsigned(">", w, integer(SMALL))
    several = builder.icmp_signed("!=", field(builder, table, at, BLOCKS), integer(1))
    with builder.if_then(builder.or_(large, several)):
        builder.ret(otherwise)
    return at, w


def runs_of(builder, table, at):
    """Pointer to the runs of a panel of one pivot block, and how many numbers they are."""
    length = builder.mul(field(builder, table, at, RUNS), integer(RUN_FIELDS))
    return builder.gep(table, [builder.add(at, integer(PANEL_FIELDS + 1))]), length


def _forward(own, place, x, panel, m, runs, fields):
    """All runs of a node whose rows are those of the columns ``own``."""
    builder, emit = own.b, own.emit
    steps = [builder.mul(m, integer(k)) for k in range(own.rows)]
    entries = [emit.load_scalar(emit.at(place, integer(k))) for k in range(own.rows)]
    inverse = [own.load(emit.at(panel, step)) for step in steps]
    z = own.combine(inverse, [own.splat(entry) for entry in entries])
    own.store(z, place)
    entries = [own.entry(z, k) for k in range(own.rows)]
    every = integer(RUN_FIELDS)
    with emit.loop(f"runs.{own.rows}", integer(0), fields, every, []) as (at, _):
        left = emit.at(panel, integer(own.rows), field(builder, runs, at, 0))
        length, to = field(builder, runs, at, 1), emit.at(x, field(builder, runs, at, 2))

        def subtract(i, rows):
            some = Columns(builder, emit.real, rows)
            columns = [some.load(emit.at(left, i, step)) for step in steps]
            product = some.combine(columns, [some.splat(entry) for entry in entries])
            place = emit.at(to, i)
            some.store(some.map(builder.fsub, some.load(place), product), place)

        fours = builder.and_(length, integer(-4))
        with emit.loop(f"rows.{own.rows}", integer(0), fours, integer(4), []) as (i, _):
            subtract(i, 4)
        for rows in (2, 1):
            left_over = builder.icmp_signed("!=", builder.and_(length, integer(rows)), integer(0))
            with builder.if_then(left_over):
                subtract(builder.and_(length, integer(-2 * rows)), rows)


@shared
def backward_function(module, real):
    """``x_k <- x_k - sum_j W_kj x_j`` for small nodes down from the last before ``end``.

    Arguments as in `forward_function`. The place after the first that is not one pivot block of up
    to `SMALL` rows, or a weak one of one triangle; else ``begin``.
    """
    function, builder = substitution_function(module, f"graphsys_backward_{real}", real)
    if builder is None:
        return function
    x, arena, table, starts, begin, end = function.args
    emit = Emitter(builder, real)
    count = builder.sub(end, begin)
    with emit.loop("nodes", integer(0), count, integer(1), []) as (done, _):
        above = builder.sub(end, done)
        place = builder.gep(starts, [builder.sub(above, integer(1))])
        at, w = small_panel(builder, table, builder.load(place), above)
        first, upper = field(builder, table, at, FIRST), field(builder, table, at, UPPER)
        lower = emit.at(arena, field(builder, table, at, LOWER))
        m = builder.add(w, field(builder, table, at, BELOW))
        runs = runs_of(builder, table, at)
        halved = builder.icmp_signed("<", upper, integer(0))
        with builder.if_else(halved) as (one_triangle, both_triangles):
            with one_triangle:
                copy = emit.load_scalar(emit.at(arena, builder.not_(upper)))
                no_copy = ir.Constant(copy.type, float("inf"))
                with builder.if_then(builder.fcmp_unordered("!=", copy, no_copy)):  # weak
                    builder.ret(above)
                for size in cases(builder, w, range(1, SMALL + 1), skip=True):
                    own = Columns(builder, real, size)
                    _backward_one_triangle(own, emit.at(x, first), x, lower, m, *runs)
            with both_triangles:
                for size in cases(builder, w, range(1, SMALL + 1), skip=True):
                    own = Columns(builder, real, size)
                    _backward(own, emit.at(x, first), x, emit.at(arena, upper), *runs)
    builder.ret(begin)
    return function


def _backward_one_triangle(own, place, x, panel, m, runs, fields):
    """``x_k <- x_k - D^-1 L^T x_j``, as `_backward`."""
    builder, emit = own.b, own.emit
    products = Products(builder, emit.real, own.rows)
    steps = [builder.mul(m, integer(k)) for k in range(own.rows)]
    every = integer(RUN_FIELDS)
    loop = emit.loop(f"runs.{own.rows}", integer(0), fields, every, products.zeros())
    with loop as (at, sums):
        left = emit.at(panel, integer(own.rows), field(builder, runs, at, 0))
        length, row = field(builder, runs, at, 1), emit.at(x, field(builder, runs, at, 2))
        loop.carry(products.add(sums, left, steps, row, length))
    inverse = [own.load(emit.at(panel, step)) for step in steps]
    totals = products.totals(loop.results)
    entries = []
    for k in range(own.rows):
        piece, lane = divmod(k, products.emit.lanes)
        entries.append(own.splat(builder.extract_element(totals[piece], integer(lane))))
    own.store(own.map(builder.fsub, own.load(place), own.combine(inverse, entries)), place)


def _backward(own, place, x, panel, runs, fields):
    """All runs of a node whose rows are those of the columns ``own``."""
    builder, emit = own.b, own.emit
    pieces = len(own.starts)
    sums = [*own.load(place), *own.fill(0.0)]  # of even columns and of odd ones
    w = integer(own.rows)
    runs_loop = emit.loop(f"runs.{own.rows}", integer(0), fields, integer(RUN_FIELDS), sums)
    with runs_loop as (at, sums):
        length, row = field(builder, runs, at, 1), emit.at(x, field(builder, runs, at, 2))
        columns = emit.at(panel, builder.mul(field(builder, runs, at, 0), w))

        def subtract(column, c, total):
            entry = own.splat(emit.load_scalar(emit.at(row, c)))
            return own.fma(own.map(builder.fneg, own.load(column)), entry, total)

        pairs = builder.and_(length, integer(-2))
        start = [columns, *sums]
        loop = emit.loop(f"pairs.{own.rows}", integer(0), pairs, integer(2), start)
        with loop as (c, (column, *sums)):
            even = subtract(column, c, sums[:pieces])
            column = emit.at(column, w)
            odd = subtract(column, builder.add(c, integer(1)), sums[pieces:])
            loop.carry([emit.at(column, w), *even, *odd])
        column, *sums = loop.results
        even = sums[:pieces]
        before = builder.block
        with builder.if_then(builder.icmp_signed("<", pairs, length)):
            more = subtract(column, pairs, even)
            last = builder.block
        for k in range(pieces):
            total = builder.phi(even[k].type)
            total.add_incoming(even[k], before)
            total.add_incoming(more[k], last)
            sums[k] = total
        runs_loop.carry(sums)
    sums = runs_loop.results
    own.store(own.map(builder.fadd, sums[:pieces], sums[pieces:]), place)


@shared
def residual_function(module, real, keeping):
    """``r <- b - A x`` for all rows, and how large its entries are: `refinement.refine`.

    Arguments ``(r, worst, b, values, x, floor, fine, enough, size, row_start, neighbor_start,
    neighbor, diagonal_at, block_at, nodes)``: tables of a `BlockGraph`, whose nodes have at most
    `SMALL` rows. With ``d = |A| |x| + |b|`` and the sums s of |A| along rows, ``worst`` (16,) gets
    the largest ``|r| / max(d, floor s)`` and then the largest ``|r| / d``, lane k for row k of
    all nodes; NaN where one is, or where d overflows. A floor that overflows is none. Sums s are
    computed for nodes only whose ``|r| / d`` is beyond ``fine``, which stands for both otherwise.

    Nodes after the first whose ``|r| / d`` is beyond ``fine`` and ``|r| / max(d, floor s)`` beyond
    ``enough`` do not count: such a solution is refined in any case (solves of body/joint chains
    take 14 % less time).

    With ``keeping`` one more argument at the end, ``sizes``, which gets d of all rows.
    """
    element = REAL[real]
    pointer, table = element.as_pointer(), I64.as_pointer()
    tables = ["size", "row_start", "neighbor_start", "neighbor", "diagonal_at", "block_at"]
    function, builder = private_function(
        module,
        f"graphsys_residual_{'and_sizes_' if keeping else ''}{real}",
        ir.VoidType(),
        [*[pointer] * 5, *[element] * 3, *[table] * len(tables), I64, *[pointer] * keeping],
        ["r", "worst", "b", "values", "x", "floor", "fine", "enough", *tables, "nodes"]
        + ["sizes"] * keeping,
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    r, worst, b, values, x, floor, fine, enough = function.args[:8]
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at, nodes = function.args[8:15]
    floor, tiny, infinity = emit.splat(floor), emit.fill(TINY[real]), emit.fill(float("inf"))
    # Without their signs floats are ordered like the integers with the same bits, NaN beyond all.
    integers = ir.VectorType(ir.IntType(8 * emit.align), emit.lanes)
    fine, enough = (builder.bitcast(emit.splat(bound), integers) for bound in (fine, enough))
    none = emit.fill(0.0)

    def absolute(value):
        return emit.intrinsic("fabs", emit.vector, value)

    def larger(value, other):
        return builder.select(builder.fcmp_ordered(">", value, other), value, other)

    def quotients(rest, bound):
        """``|r| / bound`` as integers."""
        overflown = builder.fsub(bound, bound)  # NaN, and no quotient of 0
        quotient = builder.fadd(builder.fdiv(absolute(rest), bound), overflown)
        return builder.bitcast(absolute(quotient), integers)

    def largest(numbers, before):
        return builder.select(builder.icmp_signed(">", numbers, before), numbers, before)

    def any_beyond(numbers, bound):
        beyond = builder.bitcast(builder.icmp_signed(">", numbers, bound), ir.IntType(emit.lanes))
        return builder.icmp_unsigned("!=", beyond, ir.Constant(ir.IntType(emit.lanes), 0))

    def over_blocks(i, start, term):
        """Chains to which ``term(chains, entries, number of x)`` adds each column of node i."""
        rows = field(builder, size, i, 0)
        mask = emit.first_lanes(rows)
        first, last = (field(builder, neighbor_start, i, k) for k in (0, 1))
        before = builder.sub(first, integer(1))
        blocks_loop = emit.loop("blocks", before, last, integer(1), start)
        with blocks_loop as (p, chains):
            own = builder.icmp_signed("==", p, before)  # first the block on the diagonal
            place = builder.select(own, emit.at(diagonal_at, i), emit.at(block_at, p))
            other = builder.select(own, emit.at(size, i), emit.at(neighbor, p))
            j = builder.select(own, i, builder.load(other))
            columns, column = field(builder, size, j, 0), field(builder, row_start, j, 0)
            numbers = emit.at(x, column)
            start = emit.at(values, builder.load(place))
            blocks_loop.carry(_columns(emit, columns, start, rows, mask, numbers, chains, term))
        return blocks_loop.results

    def product(chains, entries, known):
        """r <- r - A x."""
        return [emit.fma(builder.fneg(entries), known, chains[0])]

    def sized_product(chains, entries, known):
        """r <- r - A x, d <- d + |A| |x|."""
        rest = product(chains, entries, known)
        return [*rest, builder.fadd(chains[1], absolute(builder.fmul(entries, known)))]

    def magnitude(chains, entries, known):
        """s <- s + |A|."""
        return [builder.fadd(chains[0], absolute(entries))]

    def one_node(i, sized):
        """Store the residual of node i; return it and, if sized, d."""
        row, mask = field(builder, row_start, i, 0), emit.first_lanes(field(builder, size, i, 0))
        right = emit.load(emit.at(b, row), mask)
        sums = [right, absolute(right)] if sized else [right]
        start = [*sums, *[none] * len(sums)]  # of even columns and of odd ones
        chains = over_blocks(i, start, sized_product if sized else product)
        totals = [builder.fadd(*chains[k :: len(sums)]) for k in range(len(sums))]
        emit.store(totals[0], emit.at(r, row), mask)
        if keeping:
            emit.store(totals[1], emit.at(function.args[15], row), mask)
        return totals

    nothing = ir.Constant(integers, [0] * emit.lanes)
    carried = [integer(0), nothing, nothing]
    sized_loop = emit.loop("sized", integer(0), nodes, integer(1), carried)
    with sized_loop as (i, (_, *most)):
        rest, d = one_node(i, sized=True)
        d = larger(d, tiny)
        strict = quotients(rest, d)
        before = builder.block
        with builder.if_then(any_beyond(strict, fine), likely=False):
            chains = over_blocks(i, [none, none], magnitude)
            raised = builder.fmul(builder.fadd(*chains), floor)
            finite = builder.fcmp_ordered("<", raised, infinity)
            raised = quotients(rest, larger(builder.select(finite, raised, none), d))
            stop = builder.select(any_beyond(raised, enough), nodes, integer(1))
            after = builder.block
        floored, step = builder.phi(integers), builder.phi(I64)
        for phi, usual, other in ((floored, strict, raised), (step, integer(1), stop)):
            phi.add_incoming(usual, before)
            phi.add_incoming(other, after)
        following = map(largest, (floored, strict), most)
        sized_loop.carry([builder.add(i, integer(1)), *following], step)
    done, *most = sized_loop.results
    with emit.loop("rest", done, nodes, integer(1), []) as (i, _):
        one_node(i, sized=keeping)
    for k, numbers in enumerate(most):
        emit.store(builder.bitcast(numbers, emit.vector), emit.at(worst, integer(emit.lanes * k)))
    builder.ret_void()
    return function


def _columns(emit, columns, place, rows, mask, numbers, chains, term):
    """Chains with all columns of a block, up to `SMALL`; odd ones go to the second half.

    Columns stand one after another, with a test between them: a loop carries chains by moves, and
    jumps to the first of so many columns are hard to predict where sizes alternate.
    """
    builder, half = emit.b, len(chains) // 2
    after = builder.append_basic_block("columns.after")
    totals = [[] for _ in chains]
    for c in range(SMALL):
        for total, chain in zip(totals, chains, strict=True):
            total.append((chain, builder.block))
        block = builder.append_basic_block(f"column.{c}")
        builder.cbranch(builder.icmp_signed(">", columns, integer(c)), block, after)
        builder.position_at_end(block)
        known = emit.splat(emit.load_scalar(emit.at(numbers, integer(c))))
        odd = half * (c % 2)
        mine = term(chains[odd : odd + half], emit.load(place, mask), known)
        chains = [*chains[:odd], *mine, *chains[odd + half :]]
        place = emit.at(place, rows)
    for total, chain in zip(totals, chains, strict=True):
        total.append((chain, builder.block))
    builder.branch(after)
    builder.position_at_end(after)
    phis = [builder.phi(chain.type) for chain in chains]
    for phi, total in zip(phis, totals, strict=True):
        for value, block in total:
            phi.add_incoming(value, block)
    return phis
