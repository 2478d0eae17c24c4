"""What complex arrays need and real ones do not: no code is made for arrays of real numbers."""

from graphsys.kernels.base.jit import DISABLE_JIT, intrinsic, types


def _conjugate_loop(a, at, count):
    for i in range(at, at + count):
        a[i] = a[i].conjugate()


if DISABLE_JIT:

    def is_real(array):
        """True for an array of real numbers."""
        return array.dtype.kind != "c"

    conjugate = _conjugate_loop

else:

    @intrinsic
    def is_real(typing, array):
        """True for an array of real numbers, known when the kernel is compiled."""
        real = not isinstance(array.dtype, types.Complex)

        def generate(context, builder, signature, arguments):
            return context.get_constant(types.boolean, real)

        return types.boolean(array), generate

    @intrinsic
    def conjugate(typing, a, at, count):
        """``a[at:at + count]`` <- its complex conjugate."""
        signature = types.none(a, at, count)

        def generate(context, builder, signature, arguments):
            if not isinstance(signature.args[0].dtype, types.Complex):
                return context.get_dummy_value()
            return context.compile_internal(
                builder, _conjugate_loop, types.none(*signature.args), arguments
            )

        return signature, generate
