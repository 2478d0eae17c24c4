"""Elimination of one small node, and substitution with it: intrinsics over LLVM functions.

Real numbers only; complex ones are compiled along but must not get here.
"""

from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, intrinsic, types
from graphsys.kernels.blocks import reference
from graphsys.kernels.blocks.blocks import _Lower, real_name

scalar_rows = LazyModule("graphsys.kernels.llvm.scalar_residual")
small_elimination = LazyModule("graphsys.kernels.llvm.small_elimination")
small_nodes = LazyModule("graphsys.kernels.llvm.small_nodes")
transposed_nodes = LazyModule("graphsys.kernels.llvm.transposed_nodes")
wide_rows = LazyModule("graphsys.kernels.llvm.wide_residual")


@intrinsic
def _eliminate_node(
    typing, arena, values, program, panel, at, magnitude, given_at, symmetric, scaled, x
):  # fmt: skip
    """W_j <- D^-1 U_j, A_ij <- S_ij - L_i W_j for all neighbours i, j of a node: see `nodal_ldu`.

    Its panel and its node are at these places of the program. ``magnitude[:rows]`` are largest
    magnitudes, and ``magnitude[given_at:]`` what they were given, see `growth`. If ``scaled``, W is
    there already. Unless x is None, also what `forward_nodes` does.
    """
    signature = types.none(
        arena, values, program, panel, at, magnitude, given_at, symmetric, scaled, x
    )
    real = real_name(arena.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        solving = not isinstance(x, types.NoneType)
        function = small_elimination.eliminate_function(builder.module, real, solving)
        arrays = [low.start(0), low.start(1), low.table(2, 3), low.table(2, 4)]
        arrays += [low.start(5), low.pointer(5, 6)]
        more = [low.start(9)] if solving else []
        builder.call(function, [*arrays, low.integer(7), low.integer(8), *more])
        return low.none()

    return signature, generate


def _substitution_parts(x, make):
    """Signature and code generator of a substitution with a stretch of nodes: `small_nodes`."""
    real = real_name(x.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        pointers = [low.start(0), low.start(1), low.table(2), low.table(2, 3)]
        ends = [low.integer(4), low.integer(5)]
        return builder.call(make(builder.module, real), [*pointers, *ends])

    return generate


@intrinsic
def _forward_nodes(typing, x, arena, program, starts, begin, end):
    """z <- D^-1 x_k, x_k <- z, x_i <- x_i - L_i z for one vector and nodes from ``begin`` on.

    The first, up to ``end``, that is not one pivot block of up to `SMALL` rows; real only.
    """
    signature = types.int64(x, arena, program, starts, begin, end)
    return signature, _substitution_parts(x, small_nodes.forward_function)


@intrinsic
def _backward_nodes(typing, x, arena, program, starts, begin, end):
    """x_k <- x_k - sum_j W_kj x_j for one vector and nodes down from ``end``.

    The place after the first, down to ``begin``, that is not one pivot block of up to `SMALL`
    rows, or a weak one of one triangle; real only.
    """
    signature = types.int64(x, arena, program, starts, begin, end)
    return signature, _substitution_parts(x, small_nodes.backward_function)


@intrinsic
def _forward_transposed_nodes(typing, x, arena, program, starts, begin, end):
    """x_j <- x_j - W_kj^T x_k, otherwise as `forward_nodes`."""
    signature = types.int64(x, arena, program, starts, begin, end)
    return signature, _substitution_parts(x, transposed_nodes.forward_transposed_function)


@intrinsic
def _backward_transposed_nodes(typing, x, arena, program, starts, begin, end):
    """x_k <- D_k^-T (x_k - sum_i L_ik^T x_i), otherwise as `backward_nodes`."""
    signature = types.int64(x, arena, program, starts, begin, end)
    return signature, _substitution_parts(x, transposed_nodes.backward_transposed_function)


@intrinsic
def _small_residual(
    typing, r, worst, sizes, b, values, x, floor, fine, enough, size, row_start, neighbor_start,
    neighbor, diagonal_at, block_at,
):  # fmt: skip
    """r <- b - A x, and how large it is: `small_nodes.residual_function`.

    Unless ``sizes`` is None, it gets |A| |x| + |b|.
    """
    tables = size, row_start, neighbor_start, neighbor, diagonal_at, block_at
    real = real_name(r.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        keeping = not isinstance(sizes, types.NoneType)
        function = small_nodes.residual_function(builder.module, real, keeping)
        pointers = [low.start(place) for place in (0, 1, 3, 4, 5)]
        pointers += [*arguments[6:9], *(low.table(place) for place in range(9, 15))]
        more = [low.start(2)] if keeping else []
        builder.call(function, [*pointers, low.length(9), *more])
        return low.none()

    kind = types.float32 if real_name(r.dtype) == "f32" else types.float64
    return types.none(r, worst, sizes, b, values, x, kind, kind, kind, *tables), generate


@intrinsic
def _scalar_residual(typing, r, sizes, b, values, x, neighbor_start, neighbor, diagonal_at):
    """r <- b - A x, sizes <- |A| |x| + |b|, all rows nodes: `scalar_residual`; real only."""
    arguments = r, sizes, b, values, x, neighbor_start, neighbor, diagonal_at
    real = real_name(r.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = scalar_rows.scalar_residual_function(builder.module, real)
        pointers = [*(low.start(place) for place in range(5)), *(low.table(k) for k in (5, 6, 7))]
        builder.call(function, [*pointers, low.length(7)])
        return low.none()

    return types.none(*arguments), generate


@intrinsic
def _wide_residual(
    typing, r, sizes, b, values, x, first, place, rows, own, begin, end, size, row_start, neighbor
):  # fmt: skip
    """r <- b - A x, sizes <- |A| |x| + |b| for the rows of one node: `wide_residual`; real only.

    Its first row is ``first``, and its blocks begin at ``values[place]``.
    """
    arguments = (
        r, sizes, b, values, x, first, place, rows, own, begin, end, size, row_start, neighbor
    )  # fmt: skip
    real = real_name(r.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = wide_rows.wide_residual_function(builder.module, real)
        pointers = [*(low.pointer(k, 5) for k in range(3)), low.pointer(3, 6), low.start(4)]
        numbers = [low.integer(k) for k in range(7, 11)]
        builder.call(function, [*pointers, *numbers, *(low.table(k) for k in (11, 12, 13))])
        return low.none()

    return types.none(*arguments), generate


if DISABLE_JIT:
    wide_residual = reference.wide_residual
    scalar_residual = reference.scalar_residual
    small_residual = reference.small_residual
    eliminate_node = reference.eliminate_node
    forward_nodes = reference.forward_nodes
    backward_nodes = reference.backward_nodes
    forward_transposed_nodes = reference.forward_transposed_nodes
    backward_transposed_nodes = reference.backward_transposed_nodes
else:
    wide_residual = _wide_residual
    scalar_residual = _scalar_residual
    small_residual = _small_residual
    eliminate_node = _eliminate_node
    forward_nodes = _forward_nodes
    backward_nodes = _backward_nodes
    forward_transposed_nodes = _forward_transposed_nodes
    backward_transposed_nodes = _backward_transposed_nodes
