"""The block kernels: numba intrinsics over the LLVM functions of `vector`.

Arguments come in the order out, in, sizes; a matrix is ``(array, offset, leading dimension)`` in a
flat array, column-major. Arrays are of float64, float32 or their complex
numbers; `s` is real. Under
``NUMBA_DISABLE_JIT=1`` the NumPy twins of `reference` stand in.
"""

from graphsys.kernels.base.complex_numbers import conjugate, drop_imaginary, magnitude
from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, intrinsic, ir, types
from graphsys.kernels.base.widths import KEPT, LANES
from graphsys.kernels.blocks import reference
from graphsys.kernels.blocks.large import invert_large

emit = LazyModule("graphsys.kernels.llvm.emit")
front_pivots = LazyModule("graphsys.kernels.llvm.front_pivots")
inverse = LazyModule("graphsys.kernels.llvm.inverse")
vector = LazyModule("graphsys.kernels.llvm.vector")


def real_name(dtype):
    """LLVM's name of the real numbers of one of numba's types."""
    return {"float64": "f64", "float32": "f32", "complex128": "f64", "complex64": "f32"}[dtype.name]


def _is_complex(array):
    return isinstance(array.dtype, types.Complex)


class _Lower:
    """Arguments of a code generator: pointers to reals, and counts of reals."""

    def __init__(self, context, builder, signature, arguments):
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments

    def pointer(self, array, offset):
        """Pointer to the real part of ``array[offset]``, given their argument places."""
        kind = self.types[array]
        made = self.context.make_array(kind)(self.context, self.builder, self.arguments[array])
        place = self.builder.gep(made.data, [self.integer(offset)])
        real = emit.REAL[real_name(kind.dtype)]
        return self.builder.bitcast(place, real.as_pointer())

    def start(self, array):
        """Pointer to the real part of the first number."""
        kind = self.types[array]
        made = self.context.make_array(kind)(self.context, self.builder, self.arguments[array])
        return self.builder.bitcast(made.data, emit.REAL[real_name(kind.dtype)].as_pointer())

    def table(self, array, offset=None):
        """Pointer to ``array[offset]`` of an array of int64, or to its first number."""
        kind = self.types[array]
        made = self.context.make_array(kind)(self.context, self.builder, self.arguments[array])
        return made.data if offset is None else self.builder.gep(made.data, [self.integer(offset)])

    def length(self, array):
        """Number of entries of an array."""
        kind = self.types[array]
        made = self.context.make_array(kind)(self.context, self.builder, self.arguments[array])
        return made.nitems

    def integer(self, argument, double=False):
        value = self.context.cast(
            self.builder, self.arguments[argument], self.types[argument], types.int64
        )
        if double:
            value = self.builder.shl(value, ir.Constant(value.type, 1))
        return value

    def constant(self, value):
        """A number of 64 bits."""
        return self.context.get_constant(types.int64, value)

    def none(self):
        return self.context.get_dummy_value()


def _call_product(low, kind, mode):
    """Call the product of a mode with the first 13 arguments of an intrinsic, C of numba's type."""
    double = _is_complex(kind)
    function = vector.product_function(low.builder.module, real_name(kind.dtype), double, mode)
    low.builder.call(
        function,
        [
            low.pointer(0, 1),
            low.integer(2, double),
            low.pointer(3, 4),
            low.integer(5, double),
            low.pointer(6, 7),
            low.integer(8, double),
            low.integer(9, double),
            low.integer(10, double),
            low.integer(11),
            low.integer(12),
        ],
    )


def _product(mode, text):
    def typed(typing, c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
        signature = types.none(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            _call_product(low, signature.args[0], mode)
            return low.none()

        return signature, generate

    typed.__name__ = f"{mode}_product"
    typed.__doc__ = text
    return intrinsic(typed)


@intrinsic
def _assign_product_of(
    typing, c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k, conjugated
):  # fmt: skip
    """C <- A B, or A conj(B) if ``conjugated``: as `assign_product`."""
    signature = types.none(
        c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k, types.boolean
    )

    def generate(context, builder, signature, arguments):
        low, kind = _Lower(context, builder, signature, arguments), signature.args[0]
        if not _is_complex(kind):
            _call_product(low, kind, "assign")
            return low.none()
        with builder.if_else(arguments[13]) as (then, otherwise):
            with then:
                _call_product(low, kind, "conjugate")
            with otherwise:
                _call_product(low, kind, "assign")
        return low.none()

    return signature, generate


def _transposed_loop(c, c_at, ldc, a, a_at, lda, b, b_at, ldb, m, n, k):
    for j in range(n):
        right, out = b_at + j * ldb, c_at + j * ldc
        for i in range(0, m - 3, 4):  # four sums: one waits for its own additions, +13 % a solve
            left = a_at + i * lda
            w, x, y, z = c[out + i], c[out + i + 1], c[out + i + 2], c[out + i + 3]
            for q in range(k):
                factor = b[right + q]
                w -= a[left + q] * factor
                x -= a[left + lda + q] * factor
                y -= a[left + 2 * lda + q] * factor
                z -= a[left + 3 * lda + q] * factor
            c[out + i], c[out + i + 1], c[out + i + 2], c[out + i + 3] = w, x, y, z
        for i in range(m & -4, m):
            total = c[out + i]
            for q in range(k):
                total -= a[a_at + i * lda + q] * b[right + q]
            c[out + i] = total


def _raise_loop(s, s_at, a, a_at, lda, m, n):
    for j in range(n):
        for i in range(m):
            size = magnitude(a[a_at + j * lda + i])
            if size > s[s_at + i]:
                s[s_at + i] = size


def _add_loop(s, s_at, a, a_at, lda, m, n):
    for j in range(n):
        for i in range(m):
            s[s_at + i] += abs(a[a_at + j * lda + i])


def _compiled_loop(loop, result):
    """Code generator that compiles plain loops in place, for complex numbers."""

    def generate(context, builder, signature, arguments):
        return context.compile_internal(builder, loop, result(*signature.args), arguments)

    return generate


@intrinsic
def _subtract_transposed(typing, c, c_at, ldc, a, a_at, lda, b, b_at, ldb, m, n, k):
    """C <- C - A^T B for a k x m matrix A and n columns."""
    signature = types.none(c, c_at, ldc, a, a_at, lda, b, b_at, ldb, m, n, k)
    if _is_complex(c):
        return signature, _compiled_loop(_transposed_loop, types.none)
    real = real_name(c.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = vector.transposed_function(builder.module, real)
        places = []
        for block in (0, 3, 6):
            places += [low.pointer(block, block + 1), low.integer(block + 2)]
        builder.call(function, [*places, low.integer(9), low.integer(10), low.integer(11)])
        return low.none()

    return signature, generate


def _magnitude(mode, loop, text):
    def typed(typing, s, s_at, a, a_at, lda, m, n):
        signature = types.none(s, s_at, a, a_at, lda, m, n)
        if _is_complex(a):
            return signature, _compiled_loop(loop, types.none)
        real = real_name(a.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = vector.magnitude_function(builder.module, real, mode)
            builder.call(
                function,
                [
                    low.pointer(0, 1),
                    low.pointer(2, 3),
                    low.integer(4),
                    low.integer(5),
                    low.integer(6),
                ],
            )
            return low.none()

        return signature, generate

    typed.__name__ = f"{mode}_magnitude"
    typed.__doc__ = text
    return intrinsic(typed)


def _largest_loop(a, a_at, lda, m, n):
    largest = 0.0
    for j in range(n):
        for i in range(m):
            size = magnitude(a[a_at + j * lda + i])
            if largest == largest and not (size <= largest):  # a NaN is taken, and stays
                largest = size
    return largest


@intrinsic
def _largest_of(typing, a, a_at, lda, m, n):
    """Largest `magnitude` of A_ij, NaN where there is one, 0 for none."""
    real = real_name(a.dtype)
    if _is_complex(a):
        return types.float64(a, a_at, lda, m, n), _compiled_loop(_largest_loop, types.float64)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = vector.largest_function(builder.module, real)
        return builder.call(
            function, [low.pointer(0, 1), low.integer(2), low.integer(3), low.integer(4)]
        )

    return a.dtype(a, a_at, lda, m, n), generate


@intrinsic
def _any_beyond(typing, s, s_at, t, t_at, limit, n):
    """Not 0 where any s_i > limit t_i; both real."""
    real = real_name(s.dtype)
    signature = types.int64(s, s_at, t, t_at, s.dtype, n)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = vector.beyond_function(builder.module, real)
        return builder.call(
            function, [low.pointer(0, 1), low.pointer(2, 3), arguments[4], low.integer(5)]
        )

    return signature, generate


def _copy(mode, text):
    def typed(typing, b, b_at, ldb, a, a_at, lda, m, n):
        double, real = _is_complex(a), real_name(a.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = vector.copy_function(builder.module, real, mode)
            places = low.pointer(0, 1), low.integer(2, double)
            places += low.pointer(3, 4), low.integer(5, double)
            builder.call(function, [*places, low.integer(6, double), low.integer(7)])
            return low.none()

        return types.none(b, b_at, ldb, a, a_at, lda, m, n), generate

    typed.__name__ = f"{mode}_block"
    typed.__doc__ = text
    return intrinsic(typed)


def _pivots_loop(a, a_at, ld, m, f, start, first, last, threshold, info, hermitian):
    end, wide = m if ld <= KEPT * LANES else f, a_at + (m - start) * ld
    for k in range(first, last):
        at = a_at + k * ld
        if hermitian:
            drop_imaginary(a, at + k, 1, 1)
        pivot, largest = a[at + k], 0.0
        for i in range(k + 1, m):
            size = abs(a[at + i].real) + abs(a[at + i].imag)
            if largest == largest and not (size <= largest):
                largest = size
        size = abs(pivot.real) + abs(pivot.imag)
        if not (size > 0.0 and size >= threshold * largest):
            return k - first
        info[0] = min(info[0], size / max(size, largest))
        info[1] = max(info[1], largest / size * largest)
        for i in range(k, m):
            a[wide + k * ld + i] = a[at + i]
        if hermitian:
            conjugate(a, wide + k * ld + k, m - k)
        for i in range(k + 1, m):
            a[at + i] /= pivot
        for c in range(k + 1, end):
            factor = a[wide + k * ld + c]
            for i in range(c, m):
                a[a_at + c * ld + i] -= a[at + i] * factor
    return last - first


@intrinsic
def _leading_pivots(typing, a, a_at, ld, m, f, start, first, last, threshold, info, hermitian):
    """Pivots of columns of a symmetric front while each is large enough: see `front_pivots`."""
    signature = types.int64(a, a_at, ld, m, f, start, first, last, types.float64, info, hermitian)
    if _is_complex(a):
        return signature, _compiled_loop(_pivots_loop, types.int64)
    real = real_name(a.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = front_pivots.leading_pivots_function(builder.module, real)
        sizes = [low.integer(place) for place in range(2, 8)]
        return builder.call(function, [low.pointer(0, 1), *sizes, arguments[8], low.start(9)])

    return signature, generate


@intrinsic
def _invert_small(typing, d, d_at, ldd, a, a_at, lda, k, k_at, s, s_at, n):
    """D <- A^-1 for n <= 8 with partial pivoting, K <- A; smallest |pivot| / s, at most 1."""
    signature = s.dtype(d, d_at, ldd, a, a_at, lda, k, k_at, s, s_at, n)
    if _is_complex(d):
        return signature, _compiled_loop(_copied_and_inverted, s.dtype)
    real = real_name(d.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = inverse.inverse_function(builder.module, real)
        return builder.call(
            function,
            [
                low.pointer(0, 1),
                low.integer(2),
                low.pointer(3, 4),
                low.integer(5),
                low.pointer(6, 7),
                low.pointer(8, 9),
                low.integer(10),
            ],
        )

    return signature, generate


def _copied_and_inverted(d, d_at, ldd, a, a_at, lda, k, k_at, s, s_at, n):
    for j in range(n):
        for i in range(n):
            k[k_at + j * n + i] = a[a_at + j * lda + i]
    return invert_large(d, d_at, ldd, a, a_at, lda, s, s_at, n)


if DISABLE_JIT:
    subtract_product = reference.subtract_product
    add_product = reference.add_product
    assign_product = reference.assign_product
    assign_product_of = reference.assign_product_of
    subtract_transposed = reference.subtract_transposed
    raise_magnitude = reference.raise_magnitude
    add_magnitude = reference.add_magnitude
    largest_of = reference.largest_of
    any_beyond = reference.any_beyond
    copy_block = reference.copy_block
    add_block = reference.add_block
    invert_small = reference.invert_small
    leading_pivots = _pivots_loop
else:
    subtract_product = _product("subtract", "C <- C - A B; B is strided.")
    add_product = _product("add", "C <- C + A B; B is strided.")
    assign_product = _product("assign", "C <- A B; C may be B when m <= 8.")
    assign_product_of = _assign_product_of
    subtract_transposed = _subtract_transposed
    raise_magnitude = _magnitude(
        "raise", _raise_loop, "s_i <- max(s_i, max_j |A_ij|), by `magnitude`."
    )
    add_magnitude = _magnitude("add", _add_loop, "s_i <- s_i + sum_j |A_ij|.")
    largest_of = _largest_of
    any_beyond = _any_beyond
    copy_block = _copy("copy", "B <- A.")
    add_block = _copy("add", "B <- B + A.")
    invert_small = _invert_small
    leading_pivots = _leading_pivots
