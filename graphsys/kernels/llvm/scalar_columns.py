"""Substitution with single rows for eight right-hand sides side by side, as LLVM functions.

The numba intrinsics on top are in `blocks.scalar_columns`; tables are those of `single.scalar_ldu`.
"""

from llvmlite import ir

from graphsys.kernels.llvm.emit import I64, LANES, REAL, Emitter, integer, private_function


def forward_function(module, real):
    """z_k <- D_k^-1 x_k, x_i <- x_i - L_ik z_k for rows from ``begin`` to ``end``.

    Arguments ``(x, factors, starts, front, begin, end)``.
    """
    function, builder = _function(module, "forward", real)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    x, factors, starts, front, begin, end = function.args
    with emit.loop("rows", begin, end, integer(1), []) as (k, _):
        first, last = (builder.load(emit.at(starts, k, integer(i))) for i in (0, 1))
        own, panel = _row(emit, x, k), emit.at(factors, k)
        z = builder.fmul(emit.load(own), _number(emit, emit.at(panel, first)))
        emit.store(z, own)
        left = emit.at(panel, integer(1))
        with emit.loop("entries", first, last, integer(1), []) as (e, _):
            to = _row(emit, x, builder.load(emit.at(front, e)))
            entry = builder.fneg(_number(emit, emit.at(left, e)))
            emit.store(emit.fma(entry, z, emit.load(to)), to)
    builder.ret_void()
    return function


def backward_function(module, real):
    """x_k <- x_k - sum_j W_kj x_j for rows from before ``end`` down to ``begin``.

    Arguments as of `forward_function`, ``factors`` being those of W.
    """
    function, builder = _function(module, "backward", real)
    if builder is None:
        return function
    emit = Emitter(builder, real)
    x, factors, starts, front, begin, end = function.args
    with emit.loop("rows", integer(0), builder.sub(end, begin), integer(1), []) as (done, _):
        k = builder.sub(end, builder.add(done, integer(1)))
        first, last = (builder.load(emit.at(starts, k, integer(i))) for i in (0, 1))
        own = _row(emit, x, k)
        loop = emit.loop("entries", first, last, integer(1), [emit.load(own)])
        with loop as (e, (total,)):
            other = emit.load(_row(emit, x, builder.load(emit.at(front, e))))
            entry = builder.fneg(_number(emit, emit.at(factors, e)))
            loop.carry([emit.fma(entry, other, total)])
        emit.store(loop.results[0], own)
    builder.ret_void()
    return function


def _function(module, name, real):
    pointer, table = REAL[real].as_pointer(), I64.as_pointer()
    return private_function(
        module,
        f"graphsys_scalar_columns_{name}_{real}",
        ir.VoidType(),
        [pointer, pointer, table, table, I64, I64],
        ["x", "factors", "starts", "front", "begin", "end"],
    )


def _row(emit, x, k):
    """Pointer to eight numbers of a row."""
    return emit.at(x, emit.b.mul(k, integer(LANES)))


def _number(emit, place):
    """A number in all lanes."""
    return emit.splat(emit.load_scalar(place))
