"""Substitution with single rows for eight right-hand sides: numba intrinsics, and NumPy twins.

Tables are those of `graphsys.kernels.single.scalar_ldu`; x has eight numbers for each row.
"""

import numpy as np

from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, intrinsic, types
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.blocks import _Lower, real_name

scalar_columns = LazyModule("graphsys.kernels.llvm.scalar_columns")


def _substitution(name, text):
    def typed(typing, x, arena, at, table, starts, front, begin, end):
        signature = types.none(x, arena, at, table, starts, front, begin, end)
        real = real_name(x.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = getattr(scalar_columns, f"{name}_function")(builder.module, real)
            tables = low.table(3, 4), low.table(3, 5)
            places = [low.start(0), low.pointer(1, 2), *tables, low.integer(6), low.integer(7)]
            builder.call(function, places)
            return low.none()

        return signature, generate

    typed.__name__, typed.__doc__ = f"{name}_columns", text
    return intrinsic(typed)


@np.errstate(all="ignore")
def _forward_twin(x, arena, at, table, starts, front, begin, end):
    rows, f = x[: x.size // LANES * LANES].reshape(-1, LANES), arena[at:]
    for k in range(begin, end):
        first, last = table[starts + k], table[starts + k + 1]
        rows[k] *= f[k + first]
        for e in range(first, last):
            rows[table[front + e]] -= f[k + 1 + e] * rows[k]


@np.errstate(all="ignore")
def _backward_twin(x, arena, at, table, starts, front, begin, end):
    rows, f = x[: x.size // LANES * LANES].reshape(-1, LANES), arena[at:]
    for k in range(end - 1, begin - 1, -1):
        for e in range(table[starts + k], table[starts + k + 1]):
            rows[k] -= f[e] * rows[table[front + e]]


if DISABLE_JIT:
    forward_columns, backward_columns = _forward_twin, _backward_twin
else:
    forward_columns = _substitution("forward", "z_k <- D_k^-1 x_k, x_i <- x_i - L_ik z_k.")
    backward_columns = _substitution("backward", "x_k <- x_k - sum_j W_kj x_j.")
