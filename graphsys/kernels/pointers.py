"""Arrays by the place of their first number."""

from numba import config, types
from numba.extending import intrinsic

from .jit import DISABLE_JIT, inlined

if DISABLE_JIT or config.BOUNDSCHECK:

    @inlined
    def pointer(x, at):
        """x[at:]."""
        return x[at:]

else:

    @intrinsic
    def pointer(typing, x, at):
        """x[at:] by the place of its first number: no index is looked at for being negative."""

        def generate(context, builder, signature, arguments):
            made = context.make_array(signature.args[0])(context, builder, arguments[0])
            at = context.cast(builder, arguments[1], signature.args[1], types.int64)
            return builder.gep(made.data, [at])

        return types.CPointer(x.dtype)(x, at), generate
