"""Factorization and substitution of single rows for eight systems at once, as LLVM functions.

Tables and arrays are those of `graphsys.kernels.batch.scalar_ldu`; each number is a vector.
"""

from llvmlite import ir

from graphsys.kernels.base.layout import SCALAR_HEADER
from graphsys.kernels.base.widths import GROWN
from graphsys.kernels.llvm.emit import I32, I64, LANES, REAL, Emitter, integer, private_function
from graphsys.kernels.llvm.lanes import each_lane, four_numbers, larger, one_number

#: Vectors of the state before those that a row without updates reads as its magnitudes.
IDLE = 3


def factorize_function(module, real, symmetric, solves):
    """D^-1, W and, unless symmetric, L in the places of A; where it solves, x <- D^-1 L^-1 x.

    Arguments ``(table, v, x, magnitude, state)``.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_scalar_lanes_{'symmetric' if symmetric else 'general'}"
        f"{'_solving' if solves else ''}_{real}",
        ir.VoidType(),
        [I64.as_pointer(), pointer, pointer, pointer, pointer],
        ["table", "v", "x", "magnitude", "state"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    table, v, x, magnitude, state = function.args
    ones, zeros = emit.fill(1.0), emit.fill(0.0)
    idle = emit.at(state, integer(IDLE * LANES))
    loop = emit.loop("nodes", integer(0), _word(emit, table), integer(1), [ones, zeros, zeros])
    with loop as (k, (loss, excess, bad)):
        at, place, head = _node(emit, table, v, k)
        count = builder.ashr(head, integer(1))
        updated = builder.trunc(head, ir.IntType(1))
        pivot = emit.load(place)
        inverse = builder.fdiv(ones, pivot)
        emit.store(inverse, place)
        here = builder.select(updated, _vector(emit, magnitude, k, 2), idle)
        largest = larger(emit, _size(emit, pivot), emit.load(here))
        given = emit.load(_vector(emit, here, integer(1)))
        new = builder.fmul(_size(emit, inverse), largest)
        grown = emit.fma(emit.fill(-GROWN), given, largest)
        results = [
            larger(emit, new, loss),
            larger(emit, grown, excess),
            builder.fadd(bad, builder.fsub(new, new)),  # NaN from an infinite number on
        ]
        if solves:
            z = builder.fmul(emit.load(_vector(emit, x, k)), inverse)
            emit.store(z, _vector(emit, x, k))
        upper = _vector(emit, place, integer(1))
        lower = upper if symmetric else _vector(emit, upper, count)
        rows = builder.add(at, integer(1))

        def update(i, t, right, lower=lower):
            """A_ij <- A_ij - L_i W_j."""
            to = _vector(emit, v, _word(emit, table, t))
            left = builder.fneg(emit.load(_vector(emit, lower, i)))
            emit.store(emit.fma(left, right, emit.load(to)), to)

        columns = emit.loop("columns", integer(0), count, integer(1), [builder.add(rows, count)])
        with columns as (j, (t,)):
            source = _vector(emit, upper, j)
            right = builder.fmul(emit.load(source), inverse)
            left = emit.load(_vector(emit, lower, j))
            row = _word(emit, table, builder.add(rows, j))
            _update_pivot(emit, _word(emit, table, t), row, v, magnitude, left, right)
            emit.store(right, source)
            if solves:
                target = _vector(emit, x, row)
                emit.store(emit.fma(builder.fneg(left), z, emit.load(target)), target)
            t = builder.add(t, integer(1))
            ranges = [(builder.add(j, integer(1)), count)]
            for first, last in ranges if symmetric else [(integer(0), j), *ranges]:
                inner = emit.loop("rows", first, last, integer(1), [t])
                with inner as (i, (t,)):
                    update(i, t, right)
                    inner.carry([builder.add(t, integer(1))])
                (t,) = inner.results
            columns.carry([t])
        loop.carry(results)
    for at, vector in enumerate(loop.results):
        emit.store(vector, emit.at(state, integer(LANES * at)))
    builder.ret_void()
    return function


def _update_pivot(emit, target, row, v, magnitude, left, right):
    """A_jj <- A_jj - L_j W_j, and its magnitudes; the first update has a negative target."""
    builder = emit.b
    to = _vector(emit, v, builder.xor(target, builder.ashr(target, integer(63))))
    old = emit.load(to)
    size, place = _size(emit, old), _vector(emit, magnitude, row, 2)
    with builder.if_else(builder.icmp_signed("<", target, integer(0))) as (first, later):
        with first:
            emit.store(size, place)
            emit.store(size, _vector(emit, place, integer(1)))
        with later:
            emit.store(larger(emit, size, emit.load(place)), place)
    emit.store(emit.fma(builder.fneg(left), right, old), to)


def forward_function(module, real, mode):
    """x <- the first half of a solve: arguments ``(table, v, x)``.

    In mode "plain" with L and D^-1, "symmetric" with W^T and D^-1, "transposed" with W^T alone.
    """
    function, builder = _substitution(module, "forward", real, mode)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    table, v, x = function.args
    with emit.loop("nodes", integer(0), _word(emit, table), integer(1), []) as (k, _):
        at, place, head = _node(emit, table, v, k)
        count = builder.ashr(head, integer(1))
        mine = _vector(emit, x, k)
        z, inverse = emit.load(mine), emit.load(place)
        factors = _vector(emit, place, integer(1))
        if mode == "plain":
            factors = _vector(emit, factors, count)
            z = builder.fmul(z, inverse)
            emit.store(z, mine)
        elif mode == "symmetric":
            emit.store(builder.fmul(z, inverse), mine)
        with emit.loop("rows", integer(0), count, integer(1), []) as (i, _):
            row = _word(emit, table, builder.add(at, i), 1)
            target = _vector(emit, x, row)
            left = builder.fneg(emit.load(_vector(emit, factors, i)))
            emit.store(emit.fma(left, z, emit.load(target)), target)
    builder.ret_void()
    return function


def backward_function(module, real, mode):
    """x <- the second half: in mode "plain" with W, "transposed" with L^T and D^-1."""
    function, builder = _substitution(module, "backward", real, mode)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    table, v, x = function.args
    rows = _word(emit, table)
    with emit.loop("nodes", integer(0), rows, integer(1), []) as (step, _):
        k = builder.sub(builder.sub(rows, integer(1)), step)
        at, place, head = _node(emit, table, v, k)
        count = builder.ashr(head, integer(1))
        mine = _vector(emit, x, k)
        factors = _vector(emit, place, integer(1))
        if mode == "transposed":
            factors = _vector(emit, factors, count)
        loop = emit.loop("rows", integer(0), count, integer(1), [emit.load(mine)])
        with loop as (i, (total,)):
            row = _word(emit, table, builder.add(at, i), 1)
            left = builder.fneg(emit.load(_vector(emit, factors, i)))
            loop.carry([emit.fma(left, emit.load(_vector(emit, x, row)), total)])
        (total,) = loop.results
        if mode == "transposed":
            total = builder.fmul(total, emit.load(place))
        emit.store(total, mine)
    builder.ret_void()
    return function


def load_function(module, real):
    """``v[place_e] <- a[min(system + lane, last) stride + e]``.

    Arguments ``(v, place, count, a, stride, system, last)``. Four numbers of eight systems are
    transposed in registers at a time.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_scalar_lanes_load_{real}",
        ir.VoidType(),
        [pointer, I64.as_pointer(), I64, pointer, I64, I64, I64],
        ["v", "place", "count", "a", "stride", "system", "last"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    v, place, count, a, stride, system, last = function.args
    systems = _systems(emit, a, stride, system, last)
    whole = builder.and_(count, integer(-4))
    with emit.loop("fours", integer(0), whole, integer(4), []) as (e, _):
        vectors = four_numbers(emit, [emit.at(one, e) for one in systems])
        for k, vector in enumerate(vectors):
            to = _word(emit, place, builder.add(e, integer(k)))
            emit.store(vector, _vector(emit, v, to))
    with emit.loop("rest", whole, count, integer(1), []) as (e, _):
        vector = one_number(emit, [emit.at(one, e) for one in systems])
        emit.store(vector, _vector(emit, v, _word(emit, place, e)))
    builder.ret_void()
    return function


def unload_function(module, real):
    """``a[min(system + lane, last) stride + e] <- v[place_e]``, NaN into a state if not finite.

    Arguments ``(v, place, count, a, stride, system, last, state)``.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_scalar_lanes_unload_{real}",
        ir.VoidType(),
        [pointer, I64.as_pointer(), I64, pointer, I64, I64, I64, pointer],
        ["v", "place", "count", "a", "stride", "system", "last", "state"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    v, place, count, a, stride, system, last, state = function.args
    systems = _systems(emit, a, stride, system, last)
    whole = builder.and_(count, integer(-4))

    def number(e, bad):
        """Vector e, and what is NaN from an infinite number on."""
        vector = emit.load(_vector(emit, v, _word(emit, place, e)))
        return vector, builder.fadd(bad, builder.fsub(vector, vector))

    fours = emit.loop("fours", integer(0), whole, integer(4), [emit.load(state)])
    with fours as (e, (bad,)):
        vectors = []
        for k in range(4):
            vector, bad = number(builder.add(e, integer(k)), bad)
            vectors.append(vector)
        for one, four in zip(systems, each_lane(emit, vectors), strict=True):
            to = builder.bitcast(emit.at(one, e), four.type.as_pointer())
            builder.store(four, to, align=emit.align)
        fours.carry([bad])
    rest = emit.loop("rest", whole, count, integer(1), fours.results)
    with rest as (e, (bad,)):
        vector, bad = number(e, bad)
        for lane, one in enumerate(systems):
            entry = builder.extract_element(vector, ir.Constant(I32, lane))
            builder.store(entry, emit.at(one, e), align=emit.align)
        rest.carry([bad])
    emit.store(rest.results[0], state)
    builder.ret_void()
    return function


def _systems(emit, a, stride, system, last):
    """Pointers to eight systems, the last one again where there are fewer."""
    builder = emit.b
    pointers = []
    for lane in range(LANES):
        one = builder.add(system, integer(lane))
        one = builder.select(builder.icmp_signed("<", one, last), one, last)
        pointers.append(emit.at(a, builder.mul(one, stride)))
    return pointers


def _substitution(module, name, real, mode):
    pointer = REAL[real].as_pointer()
    return private_function(
        module,
        f"graphsys_scalar_lanes_{name}_{mode}_{real}",
        ir.VoidType(),
        [I64.as_pointer(), pointer, pointer],
        ["table", "v", "x"],
    )


def _word(emit, table, *places):
    """Integer of a table, at the sum of some places."""
    places = [place if isinstance(place, ir.Value) else integer(place) for place in places]
    return emit.b.load(emit.at(table, *places) if places else table)


def _node(emit, table, v, k):
    """Place of a node in the table, of its pivot in v, and its first word."""
    pair = emit.b.shl(k, integer(1))
    at = _word(emit, table, pair, SCALAR_HEADER)
    return at, _vector(emit, v, _word(emit, table, pair, SCALAR_HEADER + 1)), _word(emit, table, at)


def _vector(emit, array, k, each=1):
    """Pointer to vector ``each k`` of an array."""
    shift = {1: 3, 2: 4}[each]
    return emit.at(array, emit.b.shl(k, integer(shift)))


def _size(emit, vector):
    return emit.intrinsic("fabs", emit.vector, vector)
