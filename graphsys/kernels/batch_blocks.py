"""The block kernels for eight systems at once: numba intrinsics over `lanes`, and NumPy twins.

A block is ``(array, offset, leading dimension)``: the offset counts numbers, leading dimensions and
steps count vectors of eight. Under ``NUMBA_DISABLE_JIT=1`` the twins at the top stand in.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from . import lanes, lanes_inverse
from .blocks import _REAL_NAME, _Lower
from .emit import LANES
from .jit import DISABLE_JIT


def _block(array, at, row_step, column_step, m, n):
    """View, shape (m, n, 8)."""
    step = array.itemsize
    steps = (step * LANES * row_step, step * LANES * column_step, step)
    return np.lib.stride_tricks.as_strided(array[at:], (m, n, LANES), steps, writeable=True)


def _product_twin(mode, transposed):
    def twin(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
        left = _block(a, a_at, lda, 1, m, k) if transposed else _block(a, a_at, 1, lda, m, k)
        right = _block(b, b_at, row_step, column_step, k, n)
        product = np.einsum("ikl,kjl->ijl", left, right)
        out = _block(c, c_at, 1, ldc, m, n)
        out[...] = out - product if mode == "subtract" else product

    return twin


def _magnitude_twin(s, s_at, a, a_at, lda, m, n):
    """s_i <- max(s_i, max_j |A_ij|)."""
    if n:
        held = _block(s, s_at, 1, 1, m, 1)[:, 0]
        held[...] = np.fmax(held, np.fmax.reduce(np.abs(_block(a, a_at, 1, lda, m, n)), axis=1))


def _load_twin(b, b_at, ldb, a, a_at, stride, m, n):
    """B <- blocks of eight systems."""
    out = _block(b, b_at, 1, ldb, m, n)
    for lane in range(LANES):
        at = a_at + lane * stride
        out[:, :, lane] = a[at : at + m * n].reshape((m, n), order="F")


def _invert_twin(d, d_at, ldd, s, s_at, ratio, ratio_at, n):
    """D <- D^-1 with partial pivoting; ratio <- min(ratio, |pivot| / s)."""
    block, held = _block(d, d_at, 1, ldd, n, n), _block(s, s_at, 1, 1, n, 1)[:, 0]
    with np.errstate(all="ignore"):
        for lane in range(LANES):
            rows = np.column_stack([block[:, :, lane], np.eye(n)])
            scale = np.fmax(held[:, lane], np.fmax.reduce(np.abs(rows[:, :n]), axis=1))
            least = ratio[ratio_at + lane]
            for j in range(n):
                pivot = j + int(np.argmax(np.abs(rows[j:, j])))
                rows[[j, pivot]], scale[[j, pivot]] = rows[[pivot, j]], scale[[pivot, j]]
                least = np.minimum(least, np.abs(rows[j, j]) / scale[j])
                rows[j] /= rows[j, j]
                others = np.arange(n) != j
                rows[others] -= np.outer(rows[others, j], rows[j])
            block[:, :, lane] = rows[:, n:]
            ratio[ratio_at + lane] = least if np.isfinite(rows).all() else np.nan


def _gather_twin(x, x_at, b, b_at, stride, order, order_at, step, rows):
    """x_i <- b[order_i step] of eight systems."""
    places = b_at + order[order_at : order_at + rows] * step
    x[x_at : x_at + LANES * rows] = b[places[:, None] + stride * np.arange(LANES)].ravel()


def _scatter_twin(x, x_at, b, b_at, stride, order, order_at, step, rows):
    """b[order_i step] <- x_i of eight systems."""
    places = b_at + order[order_at : order_at + rows] * step
    b[places[:, None] + stride * np.arange(LANES)] = x[x_at : x_at + LANES * rows].reshape(-1, 8)


def _product(mode, transposed, text):
    def typed(typing, c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
        signature = types.none(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k)
        real = _REAL_NAME[c.dtype]

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = lanes.product_function(builder.module, real, mode, transposed)
            places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4), low.integer(5)]
            places.append(low.pointer(6, 7))
            builder.call(function, places + [low.integer(k) for k in range(8, 13)])
            return low.none()

        return signature, generate

    typed.__name__ = f"lanes_{mode}"
    typed.__doc__ = text
    return intrinsic(typed)


@intrinsic
def _magnitude(typing, s, s_at, a, a_at, lda, m, n):
    """s_i <- max(s_i, max_j |A_ij|)."""
    signature = types.none(s, s_at, a, a_at, lda, m, n)
    real = _REAL_NAME[a.dtype]

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes.magnitude_function(builder.module, real)
        places = [low.pointer(0, 1), low.pointer(2, 3)]
        builder.call(function, places + [low.integer(k) for k in range(4, 7)])
        return low.none()

    return signature, generate


@intrinsic
def _load(typing, b, b_at, ldb, a, a_at, stride, m, n):
    """B <- blocks of eight systems."""
    signature = types.none(b, b_at, ldb, a, a_at, stride, m, n)
    real = _REAL_NAME[a.dtype]

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes.load_function(builder.module, real)
        places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4)]
        builder.call(function, places + [low.integer(k) for k in range(5, 8)])
        return low.none()

    return signature, generate


@intrinsic
def _invert(typing, d, d_at, ldd, s, s_at, ratio, ratio_at, n):
    """D <- D^-1; ratio <- min(ratio, |pivot| / s)."""
    signature = types.none(d, d_at, ldd, s, s_at, ratio, ratio_at, n)
    real = _REAL_NAME[d.dtype]

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes_inverse.inverse_function(builder.module, real)
        places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4), low.pointer(5, 6)]
        builder.call(function, [*places, low.integer(7)])
        return low.none()

    return signature, generate


def _exchange(emit_function, text):
    def typed(typing, x, x_at, b, b_at, stride, order, order_at, step, rows):
        signature = types.none(x, x_at, b, b_at, stride, order, order_at, step, rows)
        real = _REAL_NAME[x.dtype]

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            made = context.make_array(signature.args[5])(context, builder, arguments[5])
            places = [low.pointer(0, 1), low.pointer(2, 3), low.integer(4)]
            places.append(builder.gep(made.data, [low.integer(6)]))
            function = emit_function(builder.module, real)
            builder.call(function, [*places, low.integer(7), low.integer(8)])
            return low.none()

        return signature, generate

    typed.__name__ = emit_function.__name__
    typed.__doc__ = text
    return intrinsic(typed)


if DISABLE_JIT:
    subtract_lanes = _product_twin("subtract", False)
    subtract_lanes_transposed = _product_twin("subtract", True)
    assign_lanes = _product_twin("assign", False)
    assign_lanes_transposed = _product_twin("assign", True)
    raise_lanes = _magnitude_twin
    load_lanes = _load_twin
    invert_lanes = _invert_twin
    gather_lanes = _gather_twin
    scatter_lanes = _scatter_twin
else:
    subtract_lanes = _product("subtract", False, "C <- C - A B in every lane.")
    subtract_lanes_transposed = _product("subtract", True, "C <- C - A^T B in every lane.")
    assign_lanes = _product("assign", False, "C <- A B in every lane; C may be B when m <= 8.")
    assign_lanes_transposed = _product("assign", True, "C <- A^T B; C may be B when m <= 8.")
    raise_lanes = _magnitude
    load_lanes = _load
    invert_lanes = _invert
    gather_lanes = _exchange(lanes.gather_function, "x_i <- b[order_i step] of eight systems.")
    scatter_lanes = _exchange(lanes.scatter_function, "b[order_i step] <- x_i of eight systems.")
