"""Numbers that several threads read and write: numba intrinsics over LLVM's atomic instructions."""

from graphsys.kernels.base.jit import DISABLE_JIT, intrinsic, ir, types


def _place(context, builder, signature, arguments):
    """Pointer to the element of the first two arguments, an int64 array and an index."""
    made = context.make_array(signature.args[0])(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.int64)
    return builder.gep(made.data, [index])


@intrinsic
def _take_next(typing, array, at):
    """array[at], which becomes one more."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", place, one, "seq_cst")

    return types.int64(array, at), generate


@intrinsic
def _exchange(typing, array, at, value):
    """array[at], which becomes ``value``."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        value = context.cast(builder, arguments[2], signature.args[2], types.int64)
        return builder.atomic_rmw("xchg", place, value, "seq_cst")

    return types.int64(array, at, value), generate


@intrinsic
def _read(typing, array, at):
    """array[at], and with it whatever its writer wrote before."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(array, at), generate


@intrinsic
def _publish(typing, array, at, value):
    """array[at] <- value, and with it whatever was written before."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        value = context.cast(builder, arguments[2], signature.args[2], types.int64)
        builder.store_atomic(value, place, "release", 8)
        return context.get_dummy_value()

    return types.none(array, at, value), generate


def _take_next_loop(array, at):
    array[at] += 1
    return array[at] - 1


def _exchange_loop(array, at, value):
    before = array[at]
    array[at] = value
    return before


def _read_loop(array, at):
    return array[at]


def _publish_loop(array, at, value):
    array[at] = value


if DISABLE_JIT:  # Python runs one thread at a time then, and none leaves a kernel half-way
    take_next, exchange = _take_next_loop, _exchange_loop
    read, publish = _read_loop, _publish_loop
else:
    take_next, exchange, read, publish = _take_next, _exchange, _read, _publish
