"""Eight simulations side by side: each number of a kernel is a vector of eight, one of each.

The kernels of a step are compiled once for numbers and once for lanes, from the same source: see
`lane_types`. Conditions that may differ between simulations are asked of `every` one or of `some`;
elsewhere, `lane_types` ends the kernel where they differ.
"""

from dynamics.kernels.base.jit import (
    CHECKED,
    LazyModule,
    cgutils,
    inlined,
    intrinsic,
    ir,
    types,
)

arrayobj = LazyModule("numba.np.arrayobj")
lane_types = LazyModule("dynamics.kernels.base.lane_types")

#: Simulations side by side.
LANES = 8

if CHECKED:

    @inlined
    def every(condition):
        """Whether a condition holds in all lanes."""
        return condition

    @inlined
    def some(condition):
        """Whether a condition holds in any lane."""
        return condition

    @inlined
    def where(condition, x, y):
        """Lane by lane x where a condition holds, else y."""
        return x if condition else y

    @inlined
    def as_lanes(x):
        """x: there are no lanes."""
        return x

    as_numbers = as_lanes

else:

    def _reduced(condition, sign, bits):
        """Signature and code of a comparison of all lanes' flags with some bits."""
        if isinstance(condition, types.Boolean):
            return types.boolean(condition), lambda _, builder, signature, arguments: arguments[0]

        def generate(context, builder, signature, arguments):
            flags = builder.bitcast(arguments[0], ir.IntType(LANES))
            return builder.icmp_unsigned(sign, flags, ir.Constant(flags.type, bits))

        return types.boolean(condition), generate

    @intrinsic
    def every(typing, condition):
        """Whether a condition holds in all lanes."""
        return _reduced(condition, "==", 2**LANES - 1)

    @intrinsic
    def some(typing, condition):
        """Whether a condition holds in any lane."""
        return _reduced(condition, "!=", 0)

    @intrinsic
    def where(typing, condition, x, y):
        """Lane by lane x where a condition holds, else y."""
        of_lanes = any(hasattr(kind, "of_lanes") for kind in (x, y))
        plain = isinstance(condition, types.Boolean) and not of_lanes
        wide = types.float64 if plain else lane_types.lanes

        def generate(context, builder, signature, arguments):
            flags, *values = arguments
            one, two = (
                context.cast(builder, value, kind, wide)
                for value, kind in zip(values, signature.args[1:])
            )
            return builder.select(flags, one, two)

        return wide(condition, x, y), generate

    def _viewed(x, dtype, item):
        """Signature and code of an array without gaps as one of another type of items."""
        kind = types.Array(dtype, x.ndim, "C")

        def generate(context, builder, signature, arguments):
            sizes = [
                ir.Constant(ir.IntType(64), context.get_abi_sizeof(context.get_data_type(one)))
                for one in (x.dtype, dtype)
            ]
            given = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
            shape = cgutils.unpack_tuple(builder, given.shape)
            strides = cgutils.unpack_tuple(builder, given.strides)
            length = builder.mul(shape[-1], sizes[0])
            shape[-1], strides[-1] = builder.sdiv(length, sizes[1]), sizes[1]
            made = arrayobj.make_array(kind)(context, builder)
            arrayobj.populate_array(
                made, builder.bitcast(given.data, item.as_pointer()), shape, strides, sizes[1],
                given.meminfo,
            )  # fmt: skip
            return made._getvalue()

        return kind(x), generate

    @intrinsic
    def as_lanes(typing, x):
        """An array of numbers without gaps as one of lanes: eight of its last axis are one."""
        return _viewed(x, lane_types.lanes, lane_types.VECTOR)

    @intrinsic
    def as_numbers(typing, x):
        """An array of lanes, or the place of one, as that of numbers."""
        if isinstance(x, types.Array):
            return _viewed(x, types.float64, ir.DoubleType())

        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], ir.DoubleType().as_pointer())

        return types.CPointer(types.float64)(x), generate
