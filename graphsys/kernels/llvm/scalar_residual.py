"""Residual of a matrix whose nodes are single rows, as an LLVM function."""

from llvmlite import ir

from graphsys.kernels.base.jit import shared
from graphsys.kernels.llvm.emit import (
    I64,
    LANES,
    REAL,
    Emitter,
    declare,
    integer,
    private_function,
)


@shared
def scalar_residual_function(module, real):
    """``r <- b - A x, d <- |A| |x| + |b|`` of a graph whose nodes have one row each.

    Arguments ``(r, d, b, values, x, neighbor_start, neighbor, diagonal_at, nodes)``: tables of a
    `BlockGraph`. Where `LANES` neighbours follow each other, x is loaded as a vector.
    """
    pointer, table = REAL[real].as_pointer(), I64.as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_scalar_residual_{real}",
        ir.VoidType(),
        [*[pointer] * 5, *[table] * 3, I64],
        ["r", "d", "b", "values", "x", "neighbor_start", "neighbor", "diagonal_at", "nodes"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    r, d, b, values, x, neighbor_start, neighbor, diagonal_at, nodes = function.args
    zero, none = ir.Constant(emit.element, 0.0), emit.fill(0.0)

    def absolute(value, vector=False):
        kind = emit.vector if vector else emit.element
        return emit.intrinsic("fabs", kind, value, vector=vector)

    def number(table, *at):
        return builder.load(emit.at(table, *at))

    def less(total, size, entry, known, vector=False):
        term = builder.fmul(entry, known)
        return builder.fsub(total, term), builder.fadd(size, absolute(term, vector))

    def total(vector, value):
        name = f"llvm.vector.reduce.fadd.v{LANES}{real}"
        reduce = declare(module, name, emit.element, [emit.element, emit.vector])
        return builder.fadd(builder.call(reduce, [zero, vector], fastmath=("reassoc",)), value)

    with emit.loop("rows", integer(0), nodes, integer(1), []) as (i, _):
        place, first = number(diagonal_at, i), number(neighbor_start, i)
        last = number(neighbor_start, i, integer(1))
        entries = emit.at(values, builder.sub(builder.add(place, integer(1)), first))
        right = number(b, i)
        rest, size = less(right, absolute(right), number(values, place), number(x, i))
        loop = emit.loop("entries", first, last, integer(1), [none, none, rest, size])
        with loop as (p, (wide, wide_size, rest, size)):
            names = ("vector", "many", "one", "after")
            vector, many, one, after = (builder.append_basic_block(k) for k in names)
            left, j = builder.sub(last, p), number(neighbor, p)
            builder.cbranch(builder.icmp_signed("<", left, integer(LANES)), one, many)
            builder.position_at_end(many)
            end = number(neighbor, p, integer(LANES - 1))
            follows = builder.icmp_signed("==", builder.sub(end, j), integer(LANES - 1))
            builder.cbranch(follows, vector, one)
            builder.position_at_end(vector)
            entry, known = emit.load(emit.at(entries, p)), emit.load(emit.at(x, j))
            eight = [*less(wide, wide_size, entry, known, vector=True), rest, size]
            builder.branch(after)
            builder.position_at_end(one)
            single = [wide, wide_size, *less(rest, size, number(entries, p), number(x, j))]
            builder.branch(after)
            builder.position_at_end(after)
            step, new = builder.phi(I64), [builder.phi(v.type) for v in loop.values]
            for block, count, found in ((vector, LANES, eight), (one, 1, single)):
                step.add_incoming(integer(count), block)
                for phi, value in zip(new, found, strict=True):
                    phi.add_incoming(value, block)
            loop.carry(new, step)
        wide, wide_size, rest, size = loop.results
        builder.store(total(wide, rest), emit.at(r, i))
        builder.store(total(wide_size, size), emit.at(d, i))
    builder.ret_void()
    return function
