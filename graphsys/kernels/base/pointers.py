"""Arrays by the place of their first number."""

import os

from graphsys.kernels.base.jit import DISABLE_JIT, arrayobj, cgutils, inlined, intrinsic, types

#: True if kernels are plain Python, or check every index (``NUMBA_BOUNDSCHECK=1``).
CHECKED = DISABLE_JIT or bool(int(os.environ.get("NUMBA_BOUNDSCHECK") or 0))


def place_of(context, builder, kind, x):
    """LLVM pointer to the first number of x, an array or a `pointer`."""
    if isinstance(kind, types.CPointer):
        return x
    return arrayobj.make_array(kind)(context, builder, x).data


if CHECKED:

    @inlined
    def pointer(x, at):
        """x[at:]."""
        return x[at:]

else:

    @intrinsic
    def pointer(typing, x, at):
        """x[at:] by the place of its first number: negative indices are not wrapped.

        An array that may have gaps stays an array.
        """
        gaps = isinstance(x, types.Array) and x.layout != "C"

        def generate(context, builder, signature, arguments):
            kind = signature.args[0]
            at = context.cast(builder, arguments[1], signature.args[1], types.int64)
            if not gaps:
                return builder.gep(place_of(context, builder, kind, arguments[0]), [at])
            made = arrayobj.make_array(kind)(context, builder, arguments[0])
            step, length = (builder.extract_value(a, 0) for a in (made.strides, made.shape))
            data = cgutils.pointer_add(builder, made.data, builder.mul(at, step))
            rest = arrayobj.make_array(kind)(context, builder)
            arrayobj.populate_array(
                rest, data, [builder.sub(length, at)], [step], made.itemsize, made.meminfo,
            )  # fmt: skip
            return rest._getvalue()

        return (x if gaps else types.CPointer(x.dtype))(x, at), generate
