"""Calls of a user's function by its address, so that no kernel depends on its type.

The functions are C functions of pointers to doubles (`dynamics.tables.callbacks` makes them from
Python ones); arrays come in with the place where the argument starts.
"""

import ctypes

import numpy as np

from dynamics.kernels.base.jit import DISABLE_JIT, intrinsic, ir, place_of, types

POINTER = ctypes.POINTER(ctypes.c_double)


def _caller(n_arrays, text):
    """An intrinsic ``call(address, x0, at0, x1, at1, ...)`` of a function of that many pointers."""

    def generate(context, builder, signature, arguments):
        if any(hasattr(getattr(kind, "dtype", None), "of_lanes") for kind in signature.args):
            return ir.Constant(ir.IntType(64), 1)  # it failed: it takes no lanes
        double = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [double] * n_arrays)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        places = []
        for i in range(n_arrays):
            first = place_of(context, builder, signature.args[1 + 2 * i], arguments[1 + 2 * i])
            at = context.cast(builder, arguments[2 + 2 * i], signature.args[2 + 2 * i], types.int64)
            places.append(builder.gep(first, [at]))
        return builder.sext(builder.call(function, places), ir.IntType(64))

    def four(typing, address, w, w_at, x, x_at, y, y_at, z, z_at):
        return types.int64(types.int64, w, w_at, x, x_at, y, y_at, z, z_at), generate

    def three(typing, address, x, x_at, y, y_at, z, z_at):
        return types.int64(types.int64, x, x_at, y, y_at, z, z_at), generate

    typed = four if n_arrays == 4 else three
    typed.__doc__ = text
    return intrinsic(typed)


def _interpreted(n_arrays):
    """The same for kernels that run as plain Python."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *[POINTER] * n_arrays)

    def call(address, *arrays):
        places = [np.asarray(arrays[2 * i])[arrays[2 * i + 1] :] for i in range(n_arrays)]
        return prototype(int(address))(*[place.ctypes.data_as(POINTER) for place in places])

    return call


if DISABLE_JIT:
    call_four, call_three = _interpreted(4), _interpreted(3)
else:
    call_four = _caller(4, "status of f(w, x, y, z)")
    call_three = _caller(3, "status of f(x, y, z)")


def call_rows(address, pose, g, row, G, at):
    """Status of a user's function: values and slopes of a group's rows at the bodies' poses."""
    return call_three(address, pose, 0, g, row, G, at)


if not DISABLE_JIT:
    from dynamics.kernels.base.jit import kernel

    call_rows = kernel(call_rows)
