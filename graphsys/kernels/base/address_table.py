"""Arrays by their addresses: what many calls work on, handed over once and not every time.

Small systems are solved in the time that it takes to hand a dozen arrays to compiled code. A
*frame*, an int64 array with the address and the length of each, stands for all of them that stay
the same; its last number says whether a thread is at work on them. The maker of a frame keeps its
arrays alive, and makes another frame for a copy of them. Under ``NUMBA_DISABLE_JIT=1`` it holds the
arrays themselves.
"""

import numpy as np

from graphsys.kernels.base.atomic import exchange, publish
from graphsys.kernels.base.jit import DISABLE_JIT, arrayobj, inlined, intrinsic, types


def new_frame(*arrays) -> object:
    """Frame of contiguous arrays, for the functions below."""
    if DISABLE_JIT:
        return *arrays, np.zeros(1, np.int64)
    fields: list[int] = []
    for array in arrays:  # a quarter of the time of array.ctypes.data
        if type(array) is tuple:
            fields += array
        else:
            fields += array.__array_interface__["data"][0], array.size
    return np.array([*fields, 0], np.int64)


def pieces(array, sizes) -> list:
    """Parts of an array of such sizes, one after another, for `new_frame`: 0.1 us each, not 0.5."""
    found, at = [], 0
    address = array.__array_interface__["data"][0]
    for size in sizes:
        found.append(array[at : at + size] if DISABLE_JIT else (address + 8 * at, size))
        at += size
    return found


@inlined
def enter(frame):
    """True if no other thread works on the arrays of a frame; until `leave`, none can then."""
    flag = frame[-1] if DISABLE_JIT else frame
    return exchange(flag, flag.size - 1, 1) == 0


@inlined
def leave(frame):
    """Let other threads work on the arrays of a frame."""
    flag = frame[-1] if DISABLE_JIT else frame
    publish(flag, flag.size - 1, 0)


def _index(like):
    return types.int64


def _integer(like):
    return types.int64


def _number(like):
    return like.dtype


def _real(like):
    return getattr(like.dtype, "underlying_float", like.dtype)


def _double(like):
    return types.float64


def _placed(kind, text):
    """Intrinsic that makes an array of an address, numbers of the type that ``kind`` returns."""

    def typed(typing, frame, k, like):
        # tables are read-only, as where Python hands them over: another type, compiled once more
        made = types.Array(kind(like), 1, "C", readonly=kind is _index)

        def generate(context, builder, signature, arguments):
            frame = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
            k = context.cast(builder, arguments[1], signature.args[1], types.int64)
            place = builder.gep(frame.data, [builder.shl(k, k.type(1))])
            address, length = (
                builder.load(builder.gep(place, [k.type(field)])) for field in (0, 1)
            )
            array = arrayobj.make_array(made)(context, builder)
            data = builder.inttoptr(address, array.data.type)
            size = k.type(context.get_abi_sizeof(context.get_data_type(made.dtype)))
            arrayobj.populate_array(array, data, [length], [size], size, None)
            return array._getvalue()

        return made(frame, k, like), generate

    typed.__name__, typed.__doc__ = f"{kind.__name__[1:]}s", text
    return intrinsic(typed)


def _held(frame, k, like):
    return frame[k]


if DISABLE_JIT:
    indices = integers = numbers = reals = doubles = _held
else:
    indices = _placed(_index, "Array k of a frame, of integers that are not written to.")
    integers = _placed(_integer, "Array k of a frame, of integers.")
    numbers = _placed(_number, "Array k of a frame, of the type of another array.")
    reals = _placed(_real, "Array k of a frame, of real numbers as precise as another array's.")
    doubles = _placed(_double, "Array k of a frame, of numbers of 64 bits.")
