"""Arrays copied whole: the C library moves 64 bytes at once, where a loop moves one number."""

from dynamics.kernels.base.jit import (
    CHECKED,
    cgutils,
    intrinsic,
    kernel,
    place_of,
    types,
)

if CHECKED:

    @kernel
    def copy_numbers(source, at, target, to, count):
        """target[to:to + count] <- source[at:at + count]."""
        for i in range(count):
            target[to + i] = source[at + i]

else:

    @intrinsic
    def copy_numbers(typing, source, at, target, to, count):
        """target[to:to + count] <- source[at:at + count], float64 without gaps and apart."""

        def generate(context, builder, signature, arguments):
            kinds = signature.args
            first, second, length = (
                context.cast(builder, arguments[k], kinds[k], types.int64) for k in (1, 3, 4)
            )
            step = context.get_abi_sizeof(context.get_data_type(kinds[0].dtype))
            here = builder.gep(place_of(context, builder, kinds[0], arguments[0]), [first])
            there = builder.gep(place_of(context, builder, kinds[2], arguments[2]), [second])
            cgutils.raw_memcpy(builder, there, here, length, step)
            return context.get_dummy_value()

        return types.none(source, at, target, to, count), generate


@kernel
def clear(x):
    """x <- 0."""
    for i in range(x.size):
        x[i] = 0.0


@kernel
def copy(source, target):
    """target <- source."""
    copy_numbers(source, 0, target, 0, source.size)
